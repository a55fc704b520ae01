"""Run a study: one step after the other; each step is kept, and is not computed again."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgtrec.data.progress import ShowProgress
from kgtrec.errors import KgtrecError, counted, in_file
from kgtrec.formats.files import PathLike, alone_in, sha256_of
from kgtrec.formats.output.folders import EXPLORATION, MANIFEST, STEPS, STUDY_CONFIG, UNFINISHED, write_git_files
from kgtrec.formats.output.outputs import (
    clear_parts,
    existing,
    is_replacing,
    is_same_file,
    remove,
    replacing,
    require_folder,
    together,
    updating,
)
from kgtrec.ranking.journal import remove_unfinished
from kgtrec.report.cells import numbered
from kgtrec.report.files import PAGE, USUAL_FORMATS, report_files
from kgtrec.report.records import table_csv
from kgtrec.study.config import Study
from kgtrec.study.config_file import read_study_config
from kgtrec.study.folder import FACTS, is_study, read_study, study_manifest, write_study_manifest
from kgtrec.study.labels import Collections, Labels
from kgtrec.study.parts import Parts
from kgtrec.study.ranks import Ranks
from kgtrec.study.report import study_report
from kgtrec.study.step_runner import StepRunner, silent, unseen
from kgtrec.workers.results import Helper

_VERSIONS = ("kgtrec", "numpy", "scipy", "pyarrow", "pandas", "ir-measures", "pytrec-eval-terrier", "matplotlib")


def run_study(
    config: PathLike,
    out: PathLike | None = None,
    *,
    workers: int | None = None,
    executor: Helper | None = None,
    prune: bool = False,
    force: bool = False,
    say: Callable[[str], None] = silent,
    progress: ShowProgress = unseen,
) -> Study:
    """Run a whole study, from triples and scores to the report.

    Each step is kept in the study's folder with the checksums of its inputs, and is not computed again as long as they
    are the same.

    Parameters
    ----------
    config : path
        A TOML file, see docs/study.md.
    out : path, optional
        Folder of the study. Default: the folder that the configuration names.
    workers : int, optional
        Processes that share the work of one step. The result does not depend on it. Default: 1, this one.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the work of the steps that can be shared, with the same result; see docs/scale.md.
    prune : bool
        Whether steps of earlier inputs or options are removed at the end.
    force : bool
        Whether other files that are where the study writes are replaced.
    say : callable
        Called with a line for the user. Default: nothing is shown.
    progress : callable
        Called with description, total and unit of a long step. It returns a context manager with a function, which is
        called with the amount of work done since the last call. Default: nothing is shown.

    Returns
    -------
    Study
        The same as from :func:`kgtrec.study.read_study`.

    Raises
    ------
    KgtrecError
        If there is an error in the configuration or in an input, or if the folder cannot be used.
    """
    read = read_study_config(config)
    folder = Path(out) if out is not None else read.out
    with_page = not read.formats or "html" in read.formats
    runner = StepRunner(read, folder, workers, executor, say=say, progress=progress)
    collections = Collections(runner)
    labels = Labels(runner, collections)
    ranks = Ranks(runner, collections, labels)
    with in_file(config):
        _check(runner, ranks)
    # the configuration that is run, even if the file is changed meanwhile
    config_files = {} if is_same_file(config, folder / STUDY_CONFIG) else {STUDY_CONFIG: read.written}
    with replacing(force), _alone(folder, config_files, with_page=with_page):
        computed = _compute(runner, collections, labels, ranks)
        manifest = _about(runner) | computed
        write_git_files(folder, folder)
        write_study_manifest(folder, {**manifest, "files": study_manifest(folder)["files"]})
        if prune and (removed := runner.steps.remove_others()):
            say(f"removed {removed:,} steps of earlier inputs or options")
        files = {**config_files, **contents_of_report(folder, read.formats)}
        for name in write_own_files(folder, files, manifest):
            say(f"note: {folder / name} belongs to an earlier report and was changed since; it is kept")
        say(f"wrote {folder / PAGE if with_page else folder}")
        return read_study(folder)


def _check(runner: StepRunner, ranks: Ranks) -> None:
    """Raise KgtrecError for impossible settings before anything is computed."""
    if len(runner.systems) < 2:
        raise KgtrecError(f"expected at least two systems to compare, found only {runner.systems[0].name}")
    _ = runner.main
    ranks.require_alike()
    for part, usual in (("power", runner.measures), ("stability", runner.measures), ("ties", runner.main)):
        _ = runner.measures_of(part, usual)


def _compute(runner: StepRunner, collections: Collections, labels: Labels, ranks: Ranks) -> dict[str, Any]:
    """Run every step and return their part of ``manifest.json``."""
    config, parts = runner.config, Parts(runner, collections, labels, ranks)
    for each in config.labels:
        labels.do(each)
    for system in runner.systems:
        ranks.step(system)
    for unfinished in (*runner.folder.glob(f"{UNFINISHED}/*"), runner.folder / UNFINISHED):
        remove_unfinished(unfinished)  # of systems that are no longer asked for
    for each in config.labels:
        parts.scores(each)
    for name in config.parts["power"].get("labels", [each.name for each in config.labels]):
        parts.power(config.label_set(name))
    for one, other in config.pairs:
        parts.correlation(config.label_set(one), config.label_set(other))
    for each in config.labels:
        if len(labels.depths(each)) > 1:
            parts.depths(each)
    first = [config.labels[0].name]
    for name in config.parts["ties"].get("labels", first):
        parts.ties(config.label_set(name))
    for name in config.parts["stability"].get("labels", first):
        parts.stability(config.label_set(name))
    exploration = parts.exploration() if not config.formats or "html" in config.formats else ""
    steps = runner.steps
    runner.say(f"{counted(steps.done, 'step')} computed, {len(steps.record) - steps.done:,} already there")
    return {
        "systems": [system.name for system in runner.systems],
        "measures": list(runner.measures),
        "main": list(runner.main),
        "labels": [json.loads((step / FACTS).read_text("utf-8")) for step in labels.steps.values()],
        "collections": {name: str(step.name) for name, step in collections.steps.items()},
        "tables": runner.tables,
        "steps": steps.record,
        "exploration": exploration,
    }


def _about(runner: StepRunner) -> dict[str, Any]:
    """The manifest's part about the study as a whole; without times and local paths."""
    config = runner.config
    settings = {
        "seed": str(config.seed),
        "measures": " ".join(runner.measures),
        "ties": config.ties or "usual",
        "unlisted answers": config.unlisted_answers,
        "bootstrap": f"{config.resamples:,} samples, {config.options.confidence:.0%} intervals",
    }
    for part, options in config.parts.items():
        if options:
            texts = (" ".join(map(str, value if isinstance(value, list) else [value])) for value in options.values())
            settings[part] = ", ".join(map(" ".join, zip(options, texts, strict=True)))
    return {
        "title": config.title,
        "subtitle": config.subtitle,
        "about": list(config.about),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}},
        "settings": settings,
        "commands": [f"kgtrec study {STUDY_CONFIG}"],
        "config": config.settings,
        "options": asdict(config.options),
        "inputs": [
            {"name": each.name, "bytes": each.size, "sha256": each.sha256}
            for each in sorted(runner.read.values(), key=lambda each: each.name)
        ],
    }


@contextmanager
def _alone(folder: Path, files: Mapping[str, bytes], *, with_page: bool) -> Iterator[None]:
    """Lock the folder against a second study; at the start, not after hours, refuse what the study may not replace."""
    if "study_format" not in study_manifest(folder):
        own = [place.name for place in folder.glob("[!.]*")] == [STUDY_CONFIG] and STUDY_CONFIG not in files
        if not is_study(folder) and not own:
            require_folder(folder)
        for name in (MANIFEST, PAGE) if with_page else (MANIFEST,):
            require_own(folder, name)
    for name, contents in files.items():
        require_own(folder, name, contents)
    try:
        (folder / STEPS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KgtrecError(
            f"{folder}: cannot write the study here: {error.strerror}; choose another folder with --out"
        ) from None
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(folder / STEPS, wait=False))
        except BlockingIOError:
            raise KgtrecError(f"{folder}: another kgtrec study is writing to it; wait until it ends") from None
        for place in (folder, *folder.glob("*/")):
            clear_parts(place)
        yield


def contents_of_report(
    study: Path, formats: Sequence[str], *, width: float | None = None, with_intervals: bool = False
) -> dict[str, bytes]:
    """Return the report of a study: file -> contents; the page, ``report.html``, comes last.

    For ``width`` (of figures, in inches) and ``with_intervals`` see :func:`kgtrec.report.report_files`.
    """
    found = read_study(study)
    chosen = list(formats or USUAL_FORMATS)
    files = report_files(study_report(found), chosen, width=width, with_intervals=with_intervals)
    if found.exploration and "html" in chosen:
        files[EXPLORATION] = (study / STEPS / found.exploration).read_bytes()
    if "csv" in chosen:
        names = numbered(table.replace("/", "-") for table in found.tables)  # unique, even where label sets have dashes
        tables = zip(names, found.tables.values(), strict=True)
        files |= {f"data/{name}.csv": table_csv(table).encode() for name, table in tables}
    return dict(sorted(files.items(), key=lambda file: file[0] == PAGE))


def require_own(folder: Path, name: str, contents: bytes | None = None) -> None:
    """Raise FormatError for a file in a study's folder that the study did not write, or that was changed since.

    ``contents``: what the study will write there; the same may stand there already.
    """
    path = folder / name
    if is_replacing() or not path.exists() or not path.stat().st_size:
        return
    if path.is_dir() or (
        path.read_bytes() != contents and sha256_of(path) != study_manifest(folder)["files"].get(name)
    ):
        raise existing(path)


def write_own_files(folder: Path, files: Mapping[str, bytes], manifest: Mapping[str, Any]) -> list[str]:
    """Write files into a study's folder, and its manifest, which lists them; those of before that are not there go.

    Returns
    -------
    list of str
        Those of before that were changed since, and stay.
    """
    before = study_manifest(folder)["files"]
    for name, contents in files.items():
        require_own(folder, name, contents)
    gone = [name for name in before if name not in files and (folder / name).is_file()]
    changed = [name for name in gone if sha256_of(folder / name) != before[name]]
    with together():
        for name, contents in files.items():
            with updating(folder / name) as stream:
                stream.write(contents)
        for name in gone:
            if name not in changed:
                remove(folder / name)
        sums = {name: hashlib.sha256(contents).hexdigest() for name, contents in sorted(files.items())}
        write_study_manifest(folder, {**manifest, "files": sums})
    return changed
