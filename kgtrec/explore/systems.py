"""Systems of which answer ranks, lists, or both are given: one system where both have one name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import AnyRun
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.given import RANKS_SUFFIXES, each_system, files_of_folder, system_of
from kgtrec.formats.parquet import holds_ranks, is_in_parts
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.streamed_runs import read_any_run


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
    for part in _each(systems):
        before = found.get(part.name, part)
        if before is not part and (before.read if part.ranks is None else before.ranks) is not None:
            kind = "runs" if part.ranks is None else "answer ranks"
            raise KgtrecError(f"expected systems of different names, found {kind} of {part.name!r} twice; rename one")
        found[part.name] = replace(before, ranks=before.ranks or part.ranks, read=before.read or part.read)
    if not found:
        raise KgtrecError("expected at least one system, found none")
    return sorted(found.values(), key=lambda system: system.name.encode())


def _each(systems: Any) -> Iterator[NamedSystem]:
    if isinstance(systems, str | os.PathLike):
        path = os.fspath(systems)
        if Path(path).is_dir() and not is_in_parts(path):
            files = files_of_folder(path)
            if files[0].endswith(RANKS_SUFFIXES):
                with suppress(KgtrecError):  # there are no runs beside them
                    files += files_of_folder(path, runs=True)
            for file in files:
                yield _of_file(file)
        else:
            yield _of_file(path)
    elif isinstance(systems, Iterable) and not isinstance(systems, Mapping) and not hasattr(systems, "columns"):
        for system in systems:
            yield from _each(system)
    else:
        for own in each_system(systems):
            if isinstance(own, AnswerRanks):
                yield NamedSystem(own.name, own)
            else:
                yield NamedSystem(own.name, None, partial(own.renamed, own.name))


def _of_file(path: str) -> NamedSystem:
    name = default_name(path)
    if not holds_ranks(path):
        return NamedSystem(name, None, partial(read_any_run, path, name=name))
    ranks = system_of(path)
    return NamedSystem(name, ranks if isinstance(ranks, AnswerRanks) else None)
