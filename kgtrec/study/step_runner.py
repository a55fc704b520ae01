"""Shared by all steps of a study: the configuration, the inputs with their checksums, and the folder of steps."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kgtrec.data.progress import ShowProgress
from kgtrec.data.table import Input
from kgtrec.errors import KgtrecError, KgtrecWarning, in_file, one_of
from kgtrec.formats.files import FileState, sha256_of
from kgtrec.formats.output.folders import STEPS
from kgtrec.formats.output.outputs import write_text
from kgtrec.study.config import Source, StudyConfig
from kgtrec.study.folder import NOTES, step_table
from kgtrec.study.steps import Steps
from kgtrec.workers.results import Helper, number_of_workers


@dataclass(frozen=True, slots=True)
class System:
    """One system, and the source of its scores, answer ranks or run."""

    name: str
    source: Source | None  # None: a baseline
    kind: str  # "scores", "baseline", "ranks" or "run"


def systems_of(config: StudyConfig) -> tuple[System, ...]:
    """Return the systems of a configuration, sorted by name; KgtrecError if two have the same name."""
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.systems.baselines import baselines_of

    names = [record.name for name in config.systems.baselines for record in baselines_of(name)]
    found = [System(source.path.stem, source, "scores") for source in config.systems.scores]
    found += [System(name, None, "baseline") for name in dict.fromkeys(names)]
    found += [System(default_name(source.path), source, "ranks") for source in config.systems.ranks]
    found += [System(default_name(source.path), source, "run") for source in config.systems.runs]
    first: dict[str, System] = {}
    for system in found:
        other = first.setdefault(system.name, system)
        if other is not system:
            places = " and ".join(each.source.shown if each.source else "a baseline" for each in (other, system))
            raise KgtrecError(f"expected systems of different names, found {system.name!r} twice: {places}")
    return tuple(sorted(found, key=lambda system: system.name))


def spelled(measures: Iterable[str]) -> list[str]:
    """Return measures in kgtrec's spelling, each once, as in correlations: recip_rank is RR."""
    from kgtrec.measures.names import parse_measures
    from kgtrec.meta.known_measures import known_measure

    known = [known_measure(measure.label) for measure in parse_measures(list(measures))]
    return list(dict.fromkeys(each.name for each in known if each is not None))


def silent(_: str) -> None:
    """Print nothing."""


def unseen(description: str, total: int, unit: str) -> AbstractContextManager[Callable[[int], None]]:
    """Show no progress."""
    return nullcontext(lambda _: None)


class StepRunner:
    """Computes the steps of a study.

    Parameters
    ----------
    config : StudyConfig
    folder : path
        The study's folder; its steps are in ``steps``.
    workers : int, optional
        Processes that share the work of one step.
    executor : Executor, or a function that starts one, optional
        Does it instead.
    say : callable
        Called with a line for the user.
    progress : callable
        Shows how far a long step is.
    """

    def __init__(
        self,
        config: StudyConfig,
        folder: Path,
        workers: int | None = None,
        executor: Helper | None = None,
        *,
        say: Callable[[str], None] = silent,
        progress: ShowProgress = unseen,
    ) -> None:
        self.config, self.say, self.progress = config, say, progress
        #: who does the work of a step, as arguments of what shares it
        self.sharing: dict[str, Any] = {"workers": workers, "executor": executor}
        number_of_workers(workers, executor)
        self.folder = folder
        self.steps = Steps(folder / STEPS, lambda name: say(f"computing {name}"))
        self.read: dict[str, Input] = {}  # the files that the study reads
        self._sums: dict[Path, str] = {}
        self._states: dict[Path, FileState | None] = {}  # of each file, when its checksum was computed
        self._said: set[str] = set()
        self.tables: dict[str, str] = {}  # PART/LABELS -> file within steps

    def sums_of(self, sources: Sequence[Source]) -> dict[str, str]:
        """Return the checksums of several files, each computed once, by the names that the configuration gives them."""
        for source in sources:
            if source.path not in self._sums:
                self._states[source.path] = FileState.of(source.path)
                self._sums[source.path] = digest = sha256_of(source.path)
                self.read[source.shown] = Input(source.shown, source.path.stat().st_size, digest)
        return {source.shown: self._sums[source.path] for source in sources}

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """The systems that are compared, sorted by name."""
        return systems_of(self.config)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures of the study, in kgtrec's spelling."""
        from kgtrec.evaluation.prepared import default_measures

        ranks = not any(system.kind == "run" for system in self.systems)
        return tuple(spelled(self.config.measures or default_measures(ranks=ranks)))

    @cached_property
    def main(self) -> tuple[str, ...]:
        """The measures that the report shows first."""
        wanted = tuple(spelled(self.config.main)) if self.config.main else ()
        for name in wanted:
            one_of("main measures among", name, self.measures)
        usual = [name for name in ("micro.MRR", "macro.MRR", "AP@20") if name in self.measures]
        return wanted or tuple(usual) or self.measures[:1]

    def measures_of(self, part: str, usual: Sequence[str]) -> list[str]:
        """Return the measures that a part is computed for."""
        given = self.config.parts[part].get("measures")
        return list(usual) if given is None else spelled(given)

    def options(self, part: str, *names: str, **usual: Any) -> dict[str, Any]:
        """Return the options of a part: the given ones, and the default for all others."""
        given = self.config.parts[part]
        return usual | {name: given[name] for name in names if name in given}

    def do(
        self,
        name: str,
        make: Callable[[Path], None],
        *,
        inputs: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
    ) -> Path:
        """Return the folder of a step, computed if it does not exist, with the warnings of the step in it."""

        def with_notes(folder: Path) -> None:
            with noting() as notes, in_file(Path(name)):
                make(folder)
            for path, state in self._states.items():
                if FileState.of(path) != state:
                    raise KgtrecError(
                        f"{path}: expected a file that does not change while the study runs, found a changed file; run "
                        "the study again"
                    )
            for note in notes:
                if note not in self._said:  # the report says which label sets a warning is about
                    self._said.add(note)
                    self.say(f"note: {note}")
            write_text(folder / NOTES, json.dumps(notes, ensure_ascii=False, indent=1) + "\n")

        return self.steps.do(name, with_notes, inputs=inputs, options=options)

    def add_table(self, step: Path, part: str, *names: str) -> None:
        """Add a table of a step to the tables of the report."""
        self.tables["/".join([part, *names])] = f"{step.name}/{step_table(part)}"


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect kgtrec's warnings, each once; other warnings are passed on."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if not issubclass(warning.category, KgtrecWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif (text := str(warning.message)) not in notes:
            notes.append(text)
