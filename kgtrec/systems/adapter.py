"""What every module of this folder offers: how a framework's files are recognised and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from kgtrec.formats.files import PathLike
from kgtrec.systems.kinds import SystemOutput


class ReadKeywords(TypedDict, total=False):
    """The fields of :class:`ReadOptions`, as keywords of :func:`kgtrec.read_system`."""

    entities: PathLike | None
    relations: PathLike | None
    topics: PathLike | None
    data: PathLike | None
    trust: bool
    device: str | None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What :func:`kgtrec.read_system` explains; each adapter takes what it needs."""

    #: labels of entities in the order of their numbers; of a source that has names, each label with its name
    entities: Path | None = None
    relations: Path | None = None  # the same of relations
    topics: Path | None = None  # questions in the order of a matrix's rows
    data: Path | None = None  # the framework's own folder of the data set, with its ids or its test triples in order
    trust: bool = False  # whether files that run code when they are read may be read
    device: str | None = None  # where a model computes, such as "cuda"; None: where it was saved for, or the processor


Reader = Callable[[Path, ReadOptions], SystemOutput]


@dataclass(frozen=True, slots=True)
class Adapter:
    """One kind of source."""

    name: str  # what --from takes
    title: str  # the framework, with the version that was tried
    reads: str  # what the path leads to
    gives: str  # "scores", "factors", "ranked lists" or "ranks"
    needs: str  # packages and options; "" where there are none
    recognises: Callable[[Path], bool]  # by what lies in it; opens at most the first lines, and runs nothing
    read: Reader

    @classmethod
    def of(
        cls, name: str, title: str, reads: str, gives: str, needs: str, recognises: Callable[[Path], bool]
    ) -> Callable[[Reader], Adapter]:
        """Turn the function that reads a source, as a decorator, into its adapter."""
        return lambda read: cls(name, title, reads, gives, needs, recognises, read)
