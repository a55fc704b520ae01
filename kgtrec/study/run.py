"""Run a study: one step after the other; each step is kept, and is not computed again."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kgtrec.errors import KgtrecError, counted, naming
from kgtrec.formats.files import PathLike, alone_in
from kgtrec.formats.output.folders import LOCK, MANIFEST, STEPS, STUDY_CONFIG, UNFINISHED
from kgtrec.formats.output.outputs import claim_folder, clear_parts, is_same_file, require_file, writing
from kgtrec.ranking.rank import ShowProgress
from kgtrec.report.files import PAGE
from kgtrec.study.bench import Bench, silent, unseen
from kgtrec.study.collections import Collections
from kgtrec.study.config import Study, StudyConfig
from kgtrec.study.config_file import read_study_config
from kgtrec.study.folder import BY, FACTS, read_study, write_study_manifest
from kgtrec.study.labels import Labels
from kgtrec.study.parts import Parts
from kgtrec.study.ranks import Ranks
from kgtrec.study.write_report import BY as REPORT
from kgtrec.study.write_report import FOLDERS, write_report
from kgtrec.workers.results import Helper

_VERSIONS = ("kgtrec", "numpy", "scipy", "pyarrow", "pandas", "ir-measures", "pytrec-eval-terrier", "matplotlib")


def run_study(
    config: PathLike | StudyConfig,
    out: PathLike | None = None,
    *,
    workers: int | None = None,
    executor: Helper | None = None,
    prune: bool = False,
    say: Callable[[str], None] = silent,
    progress: ShowProgress = unseen,
) -> Study:
    """Run a whole study, from triples and scores to the report.

    Each step is kept in the study's folder with the checksums of its inputs, and is not computed again as long as they
    are the same.

    Parameters
    ----------
    config : path or StudyConfig
        A TOML file, see docs/study.md.
    out : path, optional
        Folder of the study. Default: the folder that the configuration names.
    workers : int, optional
        Processes that share the work of one step. The result does not depend on it. Default: 1, this one.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the work of the steps that can be shared, with the same result; see docs/scale.md.
    prune : bool
        Whether steps of earlier inputs or options are removed at the end.
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
    given = None if isinstance(config, StudyConfig) else Path(config)
    read = config if isinstance(config, StudyConfig) else read_study_config(config)
    folder = Path(out) if out is not None else read.out
    bench = Bench(read, folder, workers, executor, say=say, progress=progress)
    collections = Collections(bench)
    labels = Labels(bench, collections)
    ranks = Ranks(bench, collections, labels)
    with nullcontext() if given is None else naming(given):
        _check(bench, ranks)
    with _alone(folder):
        is_own = given is not None and is_same_file(given, folder / STUDY_CONFIG)
        _require_own(folder, with_config=not is_own, with_page=not read.formats or "html" in read.formats)
        computed = _compute(bench, collections, labels, ranks)
        if not is_own:
            with writing(folder / STUDY_CONFIG, by=BY) as stream:
                stream.write(read.written)  # the configuration that was run, even if the file was changed meanwhile
        write_study_manifest(folder, _about(bench) | computed)
        if prune and (removed := bench.steps.remove_others()):
            say(f"removed {removed:,} steps of earlier inputs or options")
        write_report(folder, folder / PAGE, read.formats, beside=True, say=say)
        return read_study(folder)


def _check(bench: Bench, ranks: Ranks) -> None:
    """Raise KgtrecError for impossible settings before anything is computed."""
    if len(bench.systems) < 2:
        raise KgtrecError(f"expected at least two systems to compare, found only {bench.systems[0].name}")
    _ = bench.main
    ranks.require_alike()
    for part, usual in (("power", bench.measures), ("stability", bench.measures), ("ties", bench.main)):
        _ = bench.measures_of(part, usual)


def _compute(bench: Bench, collections: Collections, labels: Labels, ranks: Ranks) -> dict[str, Any]:
    """Run every step and return their part of ``manifest.json``."""
    config, parts = bench.config, Parts(bench, collections, labels, ranks)
    for each in config.labels:
        labels.do(each)
    for system in bench.systems:
        ranks.step(system)
    shutil.rmtree(bench.folder / UNFINISHED, ignore_errors=True)  # of systems that are no longer asked for
    for each in config.labels:
        parts.scores(each)
    for name in bench.asked("power", [each.name for each in config.labels]):
        parts.power(config.label_set(name))
    for one, other in config.pairs:
        parts.correlation(config.label_set(one), config.label_set(other))
    for each in config.labels:
        if len(labels.depths(each)) > 1:
            parts.depths(each)
    first = [config.labels[0].name]
    for name in bench.asked("ties", first):
        parts.ties(config.label_set(name))
    for name in bench.asked("stability", first):
        parts.stability(config.label_set(name))
    steps = bench.steps
    bench.say(f"{counted(steps.done, 'step')} computed, {len(steps.record) - steps.done:,} already there")
    return {
        "systems": [system.name for system in bench.systems],
        "measures": list(bench.measures),
        "main": list(bench.main),
        "labels": [json.loads((step / FACTS).read_text("utf-8")) for step in labels.steps.values()],
        "collections": {name: str(step.name) for name, step in collections.steps.items()},
        "tables": bench.tables,
        "steps": steps.record,
    }


def _require_own(folder: Path, *, with_config: bool, with_page: bool) -> None:
    """Raise KgtrecError at the start, not after hours, for files that the study may not replace at its end."""
    require_file(folder / MANIFEST, by=BY)
    if with_config:
        require_file(folder / STUDY_CONFIG, by=BY)
    if with_page:
        require_file(folder / PAGE, by=REPORT)


def _about(bench: Bench) -> dict[str, Any]:
    """The manifest's part about the study as a whole; without times and local paths."""
    config = bench.config
    settings = {
        "seed": str(config.seed),
        "measures": " ".join(bench.measures),
        "ties": config.ties or "usual",
        "unlisted answers": config.unlisted_answers,
        "bootstrap": f"{config.resamples:,} samples, {config.options.confidence:.0%} intervals",
    }
    for part, options in config.parts.items():
        if options:
            settings[part] = ", ".join(f"{name} {_shown(value)}" for name, value in options.items())
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
            for each in sorted(bench.inputs.read.values(), key=lambda each: each.name)
        ],
    }


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder against a second study, and remove unfinished files of a study that was killed."""
    claim_folder(folder, BY)
    try:
        (folder / STEPS).mkdir(exist_ok=True)
    except OSError as error:
        raise KgtrecError(
            f"{folder}: cannot write the study here: {error.strerror}; choose another folder with --out"
        ) from None
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(folder / LOCK, wait=False))
        except BlockingIOError:
            raise KgtrecError(f"{folder}: another kgtrec study is writing to it; wait until it ends") from None
        for place in (folder / STEPS, folder, *(folder / name for name in FOLDERS)):
            clear_parts(place)
        yield
