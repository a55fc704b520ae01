"""Systems of which answer ranks, lists, or both are given: one system where both have one name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import AnyRun
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.given import RANKS_SUFFIXES, files_of_folder, is_named, system_of


@dataclass(frozen=True, slots=True)
class NamedSystem:
    """The answer ranks of one system, and how its run is read, where there are such."""

    name: str
    ranks: AnswerRanks | None = None
    read: Callable[[], AnyRun] | None = None


def named_systems(systems: Any) -> list[NamedSystem]:
    """Join what is given of each system, by names; in byte order of these.

    Parameters
    ----------
    systems
        As :func:`kgtrec.evaluate` takes them. A folder means both its answer ranks and its runs. Answer ranks are read
        now, runs when they are needed.

    Raises
    ------
    KgtrecError
        If there is no system, or one of them has two runs, or twice answer ranks.
    """
    found: dict[str, NamedSystem] = {}
    for name, ranks, read in _each(systems):
        before = found.get(name, NamedSystem(name))
        if (before.ranks if read is None else before.read) is not None:
            kind = "answer ranks" if read is None else "runs"
            raise KgtrecError(f"expected systems of different names, found {kind} of {name!r} twice; rename one")
        found[name] = replace(before, ranks=ranks or before.ranks, read=read or before.read)
    if not found:
        raise KgtrecError("expected at least one system, found none")
    return sorted(found.values(), key=lambda system: system.name.encode())


def _each(systems: Any) -> Iterator[tuple[str, AnswerRanks | None, Callable[[], AnyRun] | None]]:
    from kgtrec.formats.parquet import holds_ranks, is_in_parts
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.formats.trec.streamed_runs import read_any_run

    if isinstance(systems, str | os.PathLike):
        path = os.fspath(systems)
        if Path(path).is_dir() and not is_in_parts(path):
            files = files_of_folder(path)
            if files[0].endswith(RANKS_SUFFIXES):
                with suppress(KgtrecError):  # there are no runs beside them
                    files += files_of_folder(path, runs=True)
            for file in files:
                yield from _each(Path(file)) if not Path(file).is_dir() else _each_object(system_of(file))
        elif holds_ranks(path):
            yield from _each_object(system_of(path))
        else:
            yield default_name(path), None, lambda: read_any_run(path, name=default_name(path))
    elif isinstance(systems, Mapping):
        for name, system in systems.items():
            yield from _each_object(system_of(system, name))
    elif is_named(systems):
        yield from _each_object(system_of(systems))
    elif isinstance(systems, Iterable):
        for system in systems:
            if not is_named(system):
                raise KgtrecError("expected runs, answer ranks or paths; give others as a mapping from names")
            yield from _each(system)
    else:
        raise KgtrecError(f"expected systems, found {systems!r}")


def _each_object(system: Any) -> Iterator[tuple[str, AnswerRanks | None, Callable[[], AnyRun] | None]]:
    if isinstance(system, AnswerRanks):
        yield system.name, system, None
    else:
        yield system.name, None, lambda: system
