"""``NAME.json`` beside a run or a score matrix ``NAME``: the collection that it is of, which its own form cannot say.

A comment in a run would break trec_eval 9, pytrec_eval, ir_measures, ranx and trectools; only trec_eval 10 skips one.
Parquet files have it in their metadata. It is one JSON object:

===============  ================================================================================================
``origin``       ``"run"`` or ``"scores"``: what ``NAME`` is
``version``      1
``collection``   the collection's fingerprint: question ids (of a run), or rows and columns (of a matrix), are its
``filtered_by``  of a run: the splits whose known triples were removed; null where nobody knows
``sha256``       of ``NAME``, so that a file that took its place is not mistaken for it
===============  ================================================================================================
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from kgtrec.data.triples import are_splits
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, sha256_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import FILE, remove_file, require_file, write_text

Kind = Literal["run", "scores"]
VERSION = 1
_KEYS = ("origin", "version", "collection", "filtered_by", "sha256")
_FINGERPRINT, _SHA256 = re.compile(r"[0-9a-f]{16}"), re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a file beyond what it holds."""

    collection: str  # fingerprint
    filtered_by: tuple[str, ...] | None = None  # of a run; () = raw; None: unknown


def origin_path(path: PathLike) -> Path:
    """Where the origin of a file stands.

    Examples
    --------
    >>> origin_path("runs/transe.run.gz").name
    'transe.run.gz.json'
    """
    return Path(f"{os.fspath(path)}.json")


def is_origin_path(path: PathLike) -> bool:
    """Whether a file is the origin of the file that it is named after."""
    name = os.fspath(path)
    return name.endswith(".json") and Path(name.removesuffix(".json")).is_file()


def require_origin_place(path: PathLike) -> None:
    """Raise FormatError if :func:`write_origin` would refuse to write beside a file."""
    require_file(origin_path(path))


def write_origin(path: PathLike, kind: Kind, origin: Origin) -> None:
    """Write where a file comes from, beside it; without a collection, what was said of a file before it goes."""
    beside = origin_path(path)
    if not origin.collection:
        if beside.is_file():
            remove_file(beside, by=FILE)
        return
    splits = None if origin.filtered_by is None else list(origin.filtered_by)
    said = dict(zip(_KEYS, (kind, VERSION, origin.collection, splits, sha256_of(path)), strict=True))
    write_text(beside, json.dumps(said, indent=1) + "\n")


def read_origin(path: PathLike, kind: Kind) -> Origin | None:
    """Where a file comes from; None if nothing beside it tells.

    Raises
    ------
    FormatError
        If what stands beside it is damaged, or is about another file.
    """
    beside = origin_path(path)
    if not beside.is_file():
        beside = origin_path(os.path.realpath(path))  # of a link, what stands beside the file itself
    if not beside.is_file():
        return None
    said = read_json(beside, way_out=f"move it away, or write it anew with kgtrec stamp COLLECTION {path}")
    if not isinstance(said, dict) or said.get("origin") is None:
        return None  # a file of somebody's with the same name
    if not _is_whole(said):
        raise FormatError(
            f"expected {', '.join(_KEYS)} of version {VERSION}, as kgtrec writes them, found others; move the "
            f"file away, or write it anew with kgtrec stamp COLLECTION {path}",
            path=beside,
        )
    if said["origin"] != kind:
        return None  # whoever reads the file as another kind is told so
    if said["sha256"] != _sum_of(os.fspath(path), _state_of(path)):
        raise FormatError(
            f"expected what is known of {Path(path).name}, found that of another file: {Path(path).name} was changed "
            f"or replaced since; move this file away, or write it anew with kgtrec stamp COLLECTION {path}",
            path=beside,
        )
    splits = said["filtered_by"]
    return Origin(said["collection"], None if splits is None else tuple(splits))


def _state_of(path: PathLike) -> tuple[int, ...]:
    found = Path(path).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@lru_cache(maxsize=1024)
def _sum_of(path: str, _: tuple[int, ...]) -> str:
    """The SHA-256 of a file in a state; a matrix of gigabytes is tried before it is ranked, and summed once."""
    return sha256_of(path)


def _is_whole(said: dict[str, Any]) -> bool:
    splits = said.get("filtered_by")
    return (
        set(_KEYS) <= said.keys()
        and said["origin"] in ("run", "scores")
        and said["version"] == VERSION
        and isinstance(said["collection"], str)
        and _FINGERPRINT.fullmatch(said["collection"]) is not None
        and isinstance(said["sha256"], str)
        and _SHA256.fullmatch(said["sha256"]) is not None
        and (splits is None or are_splits(splits))
    )
