"""The kinds of source, and which of them a path is."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from kgtrec.errors import FormatError, one_of
from kgtrec.formats.files import PathLike
from kgtrec.systems.adapter import Adapter, ReadKeywords, ReadOptions
from kgtrec.systems.kinds import SystemOutput

#: in the order in which a path is tried; a module has those of one framework
_MODULES = (
    "score_files",
    "factor_folders",
    "pykeen",
    "libkge",
    "dglke",
    "biggraph",
    "anyburl",
    "own_ranks",
    "json_lists",
    "text_models",
    "ogb",
    "run_files",
)
_SHOWN = 6  # names in a message
_TRIED = 20  # of what lies in a folder


@cache
def adapters() -> dict[str, Adapter]:
    """List every kind of source by its name, in the order in which a path is tried.

    Examples
    --------
    >>> adapters()["pykeen"].gives
    'scores'
    """
    every = (value for module in _MODULES for value in vars(import_module(f"kgtrec.systems.{module}")).values())
    return {adapter.name: adapter for adapter in every if isinstance(adapter, Adapter)}


def adapter_of(path: PathLike, name: str | None = None) -> Adapter:
    """Find the kind of a source, as ``name`` says, or from its files.

    Raises
    ------
    KgtrecError
        If there is no kind of that name.
    FormatError
        If the path does not exist, or is of no known kind.
    """
    known = adapters()
    if name is not None:
        one_of("a kind of source among", name, known)
    if not Path(path).exists():
        raise FormatError("no such file or folder", path)
    if name is not None:
        return known[name]
    adapter = next((adapter for adapter in known.values() if adapter.recognises(Path(path))), None)
    if adapter is None:
        raise FormatError(
            f"expected scores, a trained model, ranked lists or ranks of a known kind, found {_other(Path(path))}; "
            "kgtrec rank --list-sources shows the kinds, and --from says which it is",
            path,
        )
    return adapter


def _other(path: Path) -> str:
    """What a path of no known kind leads to, and which path beside it may be meant."""
    if not path.is_dir():
        whole = next((each for each in adapters().values() if each.recognises(path.parent)), None)
        return "a file of none of them" + ("" if whole is None else f"; name its folder {path.parent} ({whole.title})")
    inside = sorted(path.iterdir())
    systems = [str(each) for each in inside[:_TRIED] if any(kind.recognises(each) for kind in adapters().values())]
    found = f"a folder with {', '.join(each.name for each in inside[:_SHOWN]) or 'nothing'}"
    return found + (f"; name what is in it, such as {' '.join(systems[:2])}" if systems else "")


def read_system(path: PathLike, kind: str | None = None, **options: Unpack[ReadKeywords]) -> SystemOutput:
    """Read a system of some other program, for :func:`kgtrec.ranking.rank_system`.

    Parameters
    ----------
    path : path
        A checkpoint, a folder, a file of scores, of ranked lists or of ranks.
    kind : str, optional
        Which one it is; one of :func:`adapters`. Default: detected from the files.
    entities, relations : path, optional
        Labels in the order of their numbers; of a source that has names, each label with its name.
    topics : path, optional
        Questions in the order of a matrix's rows.
    data : path, optional
        The framework's own folder of the data set, with its ids or its test triples in order.
    trust : bool
        Whether files that run code when they are read may be read.
    device : str, optional
        Where a model computes, such as "cuda". Default: where it was saved for, or the processor.

    Raises
    ------
    FormatError
        If it is of no known kind, or is damaged.
    """
    chosen: dict[str, Any] = {**options}
    chosen |= {name: Path(chosen[name]) for name in ("entities", "relations", "topics", "data") if chosen.get(name)}
    return adapter_of(path, kind).read(Path(os.fspath(path)), ReadOptions(**chosen))
