"""What every step of a study shares: the configuration, the inputs with their checksums, and the folder of steps."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from kgtrec.data.table import Input
from kgtrec.errors import KgtrecError, KgtrecWarning, naming, nearest
from kgtrec.formats.files import sha256_of
from kgtrec.formats.output.folders import STEPS
from kgtrec.formats.output.outputs import write_text
from kgtrec.study.config import Source, StudyConfig
from kgtrec.study.folder import NOTES, step_table
from kgtrec.study.steps import Steps
from kgtrec.study.systems import System, spelled, systems_of

#: what shows how far a long step is: description, total and unit to a function that takes how much more is done
ShowProgress = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]


def silent(_: str) -> None:
    """Say nothing."""


def unseen(description: str, total: int, unit: str) -> AbstractContextManager[Callable[[int], None]]:
    """Show no progress."""
    return nullcontext(lambda _: None)


class Inputs:
    """The files that a study reads, with the checksums under which its steps name them."""

    def __init__(self) -> None:
        self.read: dict[str, Input] = {}
        self._sums: dict[Path, str] = {}
        self._states: dict[Path, tuple[int, int]] = {}  # when an input was changed, and its size, as its sum was taken

    def sum_of(self, source: Source) -> str:
        """The checksum of a file, taken once."""
        if source.path not in self._sums:
            self._states[source.path] = _state_of(source.path)
            self._sums[source.path] = digest = sha256_of(source.path)
            self.read[source.shown] = Input(source.shown, source.path.stat().st_size, digest)
        return self._sums[source.path]

    def require_unchanged(self) -> None:
        """A step says which inputs it was made of: they may not change while it is made."""
        for path, state in self._states.items():
            if _state_of(path) != state:
                raise KgtrecError(
                    f"{path}: expected a file that stays as it is, found that it changed while the study "
                    "ran; run the study again"
                )

    def sums_of(self, sources: Iterable[Source]) -> dict[str, str]:
        """The checksums of several files, by the names that the configuration gives them."""
        return {source.shown: self.sum_of(source) for source in sources}


class Bench:
    """Where a study's steps are made.

    Parameters
    ----------
    config : StudyConfig
    folder : path
        The study's folder; its steps are in ``steps``.
    workers : int
        Processes, or threads, that share the work of one step.
    say : callable
        Takes a line for the person who waits.
    progress : callable
        Shows how far a long step is.
    """

    def __init__(
        self,
        config: StudyConfig,
        folder: Path,
        workers: int = 1,
        *,
        say: Callable[[str], None] = silent,
        progress: ShowProgress = unseen,
    ) -> None:
        self.config, self.workers, self.say, self.progress = config, workers, say, progress
        self.steps = Steps(folder / STEPS, lambda name: say(f"computing {name}"))
        self.inputs = Inputs()
        self._said: set[str] = set()
        self.tables: dict[str, str] = {}  # PART/LABELS -> file within steps

    @cached_property
    def systems(self) -> tuple[System, ...]:
        """Those that are compared, by name."""
        return systems_of(self.config)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Those of the study, in kgtrec's spelling."""
        from kgtrec.evaluation.evaluate import default_measures

        ranks = not any(system.kind == "run" for system in self.systems)
        return tuple(spelled(self.config.measures or default_measures(ranks=ranks)))

    @cached_property
    def main(self) -> tuple[str, ...]:
        """Those that the report tells first."""
        wanted = tuple(spelled(self.config.main)) if self.config.main else ()
        for name in wanted:
            if name not in self.measures:
                raise KgtrecError(
                    f"expected main measures among {', '.join(self.measures)}, found {name!r}"
                    f"{nearest(name, self.measures)}"
                )
        usual = [name for name in ("micro.MRR", "macro.MRR", "AP@20") if name in self.measures]
        return wanted or tuple(usual) or self.measures[:1]

    def asked(self, part: str, usual: Sequence[str]) -> Sequence[str]:
        """The label sets that a part is computed for."""
        found: Sequence[str] = self.config.parts[part].get("labels", usual)
        return found

    def measures_of(self, part: str, usual: Sequence[str]) -> list[str]:
        """The measures that a part is computed for."""
        given = self.config.parts[part].get("measures")
        return list(usual) if given is None else spelled(given)

    def options(self, part: str, *names: str, **usual: Any) -> dict[str, Any]:
        """The options of a part, the usual ones unless they are given."""
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
        """A step's folder, made unless it is there; what is warned of meanwhile is kept beside its files."""

        def with_notes(folder: Path) -> None:
            with noting() as notes, naming(Path(name)):
                make(folder)
            self.inputs.require_unchanged()
            for note in notes:
                if note not in self._said:  # of which label sets it is true the report tells
                    self._said.add(note)
                    self.say(f"note: {note}")
            write_text(folder / NOTES, json.dumps(notes, ensure_ascii=False, indent=1) + "\n")

        return self.steps.do(name, with_notes, inputs=inputs, options=options)

    def add_table(self, step: Path, part: str, *names: str) -> None:
        """Name a step's table for the report."""
        self.tables["/".join([part, *names])] = f"{step.name}/{step_table(part)}"


@contextmanager
def noting() -> Iterator[list[str]]:
    """Gather what is warned of, each warning once; others than ours go on."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if not issubclass(warning.category, KgtrecWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif (text := str(warning.message)) not in notes:
            notes.append(text)


def _state_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
