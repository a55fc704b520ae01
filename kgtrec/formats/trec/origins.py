"""``NAME.json`` beside a run or a score matrix ``NAME``: its collection, which the file itself cannot name.

A comment in a run would break trec_eval 9, pytrec_eval, ir_measures, ranx and trectools; only trec_eval 10 skips it.
Parquet files have it in their metadata. It is one JSON object:

===============  ================================================================================================
``origin``       ``"run"`` or ``"scores"``: what ``NAME`` is
``version``      2
``collection``   stamp of the collection of the question ids (of a run), or of rows and columns (of a matrix)
``filtered_by``  of a run: the splits whose triples were filtered out; null if unknown
``sha256``       of ``NAME``, so that another file of this name is noticed
``ranks``        of a run: the digest of the answer ranks that were written with it, if any were
===============  ================================================================================================
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from kgtrec.data.collection import STAMP
from kgtrec.data.triples import are_splits
from kgtrec.errors import FormatError
from kgtrec.formats.contents import ORIGIN
from kgtrec.formats.files import FileState, PathLike, sha256_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import remove, require_file, write_text
from kgtrec.formats.output.together import content_of

Kind = Literal["run", "scores"]
VERSION = 2
_KEYS = ("origin", "version", "collection", "filtered_by", "sha256")


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known about a file beyond its contents."""

    collection: str  # stamp
    filtered_by: tuple[str, ...] | None = None  # of a run; () = raw; None: unknown
    ranks: str = ""  # of a run; see kgtrec.formats.trec.pairs


def origin_path(path: PathLike) -> Path:
    """Return the path of the origin of a file.

    Examples
    --------
    >>> origin_path("runs/transe.run.gz").name
    'transe.run.gz.json'
    """
    return Path(f"{os.fspath(path)}.json")


def is_origin_path(path: PathLike) -> bool:
    """Return whether a file is the origin of the file that it is named after."""
    name = os.fspath(path)
    return name.endswith(".json") and Path(name.removesuffix(".json")).is_file()


def require_origin_place(path: PathLike, *, force: bool = True) -> None:
    """Raise FormatError if something else is where the origin of a file goes, or, without ``force``, its origin."""
    require_file(origin_path(path), kind=ORIGIN, force=force)


def write_origin(path: PathLike, kind: Kind, origin: Origin) -> None:
    """Write the origin of a file beside it; without a collection, remove an earlier one."""
    beside = origin_path(path)
    if not origin.collection:
        if beside.is_file():
            require_origin_place(path)
            remove(beside)
        return
    splits = None if origin.filtered_by is None else list(origin.filtered_by)
    written = content_of(Path(os.path.realpath(path)))
    recorded = dict(zip(_KEYS, (kind, VERSION, origin.collection, splits, sha256_of(written)), strict=True))
    if origin.ranks:
        recorded["ranks"] = origin.ranks
    write_text(beside, json.dumps(recorded, indent=1) + "\n", kind=ORIGIN, force=True)


def read_origin(path: PathLike, kind: Kind) -> Origin | None:
    """Read the origin of a file; None if there is none beside it.

    Raises
    ------
    FormatError
        If the file beside it is damaged, or is about another file.
    """
    beside = origin_path(path)
    if not beside.is_file():
        beside = origin_path(os.path.realpath(path))  # for a link, beside its target
    if not beside.is_file():
        return None
    way_out = f"move it away, or write it again with kgtrec convert --stamp COLLECTION {path}"
    recorded = read_json(beside, way_out=way_out)
    if not isinstance(recorded, dict) or recorded.get("origin") is None:
        return None  # another file with the same name
    splits = recorded.get("filtered_by")
    texts = [recorded.get("collection"), recorded.get("sha256"), recorded.get("ranks", "")]
    if (
        recorded["origin"] not in get_args(Kind)
        or recorded.get("version") != VERSION
        or not set(_KEYS) <= recorded.keys()
        or not all(isinstance(text, str) for text in texts)
        or not STAMP.fullmatch(recorded["collection"])
        or not (splits is None or are_splits(splits))
    ):
        raise FormatError(
            f"expected {', '.join(_KEYS)} of version {VERSION}, as kgtrec writes them, found others; move the "
            f"file away, or write it again with kgtrec convert --stamp COLLECTION {path}",
            path=beside,
        )
    if recorded["origin"] != kind:
        return None  # the reader of another kind reports it
    if recorded["sha256"] != _sum_of(os.fspath(path), FileState.of(path)):
        raise FormatError(
            f"expected the origin of {Path(path).name}, found that of another file: {Path(path).name} was changed "
            f"or replaced since; move this file away, or write it again with kgtrec convert --stamp COLLECTION {path}",
            path=beside,
        )
    return Origin(recorded["collection"], None if splits is None else tuple(splits), recorded.get("ranks", ""))


@lru_cache(maxsize=1024)
def _sum_of(path: str, _: FileState | None) -> str:
    """The SHA-256 of a file in a state, computed once: a matrix of gigabytes is checked several times."""
    return sha256_of(path)
