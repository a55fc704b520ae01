"""kgtrec study."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.common import naming, say
from kgtrec.cli.options import workers_option
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    from kgtrec.data.study import StudyConfig

_VERSIONS = ("kgtrec", "numpy", "scipy", "pyarrow", "pandas", "ir-measures", "pytrec-eval-terrier", "matplotlib")


@click.command(name="study")
@click.argument("config", type=click.Path())
@click.option("--out", type=click.Path(), help="Folder of the study. Default: the one that CONFIG names.")
@workers_option("Processes", 1)
@click.option("--prune", is_flag=True, help="Remove steps of earlier inputs or options in the end.")
def command(config: str, out: str | None, workers: int, prune: bool) -> None:
    """Run a whole study, from triples and scores to the report, as CONFIG, a TOML file, says.

    Rank the systems, score them under each label set, correlate the label sets, look at every pool depth, test all
    pairs of systems, subsample the test set, compare policies for ties, and write report.html with its figures and
    tables. docs/study.md tells what CONFIG may hold.

    Each step is kept with the checksums of what it was made of, and is not computed again: a study that was stopped
    goes on where it was when the command is given again, and after a change only what depends on it is computed.

    \b
    kgtrec study study.toml
    kgtrec study examples/fb15k-237/study.toml --out fb15k-237 --workers 2
    kgtrec report fb15k-237 --out report.html
    """
    from kgtrec.cli.report import write_report
    from kgtrec.cli.study_steps import StudyRun
    from kgtrec.formats.folders import STUDY_CONFIG
    from kgtrec.formats.outputs import is_same_file, writing
    from kgtrec.formats.studies import BY, write_study_manifest
    from kgtrec.formats.study_configs import read_study_config
    from kgtrec.report.files import PAGE

    read = read_study_config(config)
    folder = Path(out) if out else read.out
    run = StudyRun(read, folder, workers)
    with naming(Path(config)):
        run.check()
    with _alone(folder):
        _require_own(folder, config, with_page=not read.formats or "html" in read.formats)
        computed = run.compute()
        if not is_same_file(config, folder / STUDY_CONFIG):
            with writing(folder / STUDY_CONFIG, by=BY) as stream:
                stream.write(read.written)  # what was run, should somebody have changed it meanwhile
        write_study_manifest(folder, _about(read, run) | computed)
        if prune and (removed := run.steps.remove_others()):
            say(f"removed {removed:,} steps of earlier inputs or options")
        write_report(folder, folder / PAGE, read.formats, beside=True)
    say(f"wrote {folder / PAGE if not read.formats or 'html' in read.formats else folder}")


def _require_own(folder: Path, config: str, *, with_page: bool) -> None:
    """Refuse, before hours are spent, what could not be replaced in the end."""
    from kgtrec.cli.report import BY as REPORT
    from kgtrec.formats.folders import MANIFEST, STUDY_CONFIG
    from kgtrec.formats.outputs import is_same_file, require_file
    from kgtrec.formats.studies import BY
    from kgtrec.report.files import PAGE

    require_file(folder / MANIFEST, by=BY)
    if not is_same_file(config, folder / STUDY_CONFIG):
        require_file(folder / STUDY_CONFIG, by=BY)
    if with_page:
        require_file(folder / PAGE, by=REPORT)


def _about(config: StudyConfig, run: Any) -> dict[str, Any]:
    """What the manifest says of the study as a whole; no times, and no place of this machine."""
    from kgtrec.formats.folders import STUDY_CONFIG

    settings = {"seed": str(config.seed), "measures": " ".join(run.measures), "ties": config.ties or "usual",
                "bootstrap": f"{config.resamples:,} samples, {config.options.confidence:.0%} intervals"}  # fmt: skip
    for part, options in config.parts.items():
        if options:
            settings[part] = ", ".join(f"{name} {_shown(value)}" for name, value in options.items())
    return {
        "title": config.title, "subtitle": config.subtitle, "about": list(config.about),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}},
        "settings": settings,
        "commands": [f"kgtrec study {STUDY_CONFIG}"],
        "config": config.settings,
        "options": asdict(config.options),
        "inputs": [
            {"name": each.name, "bytes": each.size, "sha256": each.sha256}
            for each in sorted(run.inputs.values(), key=lambda each: each.name)
        ],
    }  # fmt: skip


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder, so that no second study writes to it; remove what one that was killed had left half done."""
    from kgtrec.cli.report import FOLDERS
    from kgtrec.formats.files import alone_in
    from kgtrec.formats.folders import LOCK, STEPS
    from kgtrec.formats.outputs import claim_folder, clear_parts
    from kgtrec.formats.studies import BY

    claim_folder(folder, BY)
    try:
        (folder / STEPS).mkdir(exist_ok=True)
    except OSError as error:
        raise KgtrecError(f"{folder}: cannot write the study here: {error.strerror}; choose another folder with --out"
                          ) from None  # fmt: skip
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(folder / LOCK, wait=False))
        except BlockingIOError:
            raise KgtrecError(f"{folder}: another kgtrec study is writing to it; wait for its end") from None
        for place in (folder / STEPS, folder, *(folder / name for name in FOLDERS)):
            clear_parts(place)
        yield
