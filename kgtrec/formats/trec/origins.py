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

A run and answer ranks of one name, ``NAME.run.gz`` and ``NAME.ranks.parquet``, are of the same scores, or refused.
Whoever writes both notes the digest of the ranks beside or in the run and in the ranks. Copies by other tools may lack
it, and are accepted.
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
from kgtrec.errors import FormatError, KgtrecError, warn
from kgtrec.formats.contents import ORIGIN
from kgtrec.formats.files import FileState, PathLike, sha256_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import content_of, remove, require_file, require_folder, write_text
from kgtrec.formats.parquet import digest_in, is_parquet, parts_of
from kgtrec.formats.versions import FORMATS, require_version

Kind = Literal["run", "scores"]
_WHAT = "the origin of a file"
_KEYS = ("origin", "version", "collection", "filtered_by", "sha256")


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known about a file beyond its contents."""

    collection: str  # stamp
    filtered_by: tuple[str, ...] | None = None  # of a run; () = raw; None: unknown
    ranks: str = ""  # of a run; see require_pair


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
    digest = sha256_of(content_of(Path(os.path.realpath(path))))
    recorded = dict(zip(_KEYS, (kind, FORMATS[_WHAT][-1], origin.collection, origin.filtered_by, digest), strict=True))
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
    places = (origin_path(path), origin_path(os.path.realpath(path)))  # for a link, also beside its target
    beside = next((place for place in places if place.is_file()), None)
    if beside is None:
        return None
    way_out = f"or write it again with kgtrec convert --stamp COLLECTION {path}"
    recorded = read_json(beside, way_out=f"move it away, {way_out}")
    if not isinstance(recorded, dict) or recorded.get("origin") is None:
        return None  # another file with the same name
    require_version(recorded.get("version"), _WHAT, beside, f"move it away, {way_out}")
    splits = recorded.get("filtered_by")
    texts = [recorded.get("collection"), recorded.get("sha256"), recorded.get("ranks", "")]
    if (
        recorded["origin"] not in get_args(Kind)
        or not set(_KEYS) <= recorded.keys()
        or not all(isinstance(text, str) for text in texts)
        or not STAMP.fullmatch(recorded["collection"])
        or not (splits is None or are_splits(splits))
    ):
        raise FormatError(
            f"expected {', '.join(_KEYS)}, as kgtrec writes them, found others; move the file away, {way_out}",
            path=beside,
        )
    if recorded["origin"] != kind:
        return None  # the reader of another kind reports it
    if recorded["sha256"] != _sum_of(os.fspath(path), FileState.of(path)):
        raise FormatError(
            f"expected the origin of {Path(path).name}, found that of another file: {Path(path).name} was changed "
            f"or replaced since; move this file away, {way_out}",
            path=beside,
        )
    return Origin(recorded["collection"], None if splits is None else tuple(splits), recorded.get("ranks", ""))


@lru_cache(maxsize=1024)
def _sum_of(path: str, _: FileState | None) -> str:
    """The SHA-256 of a file in a state, computed once: a matrix of gigabytes is checked several times."""
    return sha256_of(path)


_RANKS = ".ranks.parquet"
_RUNS = (".run", ".run.gz", ".run.zst", ".parquet")  # of a run that kgtrec writes; .run may be a folder of parts


def require_pair(path: PathLike, digest: str | None = None) -> None:
    """Refuse a run, or answer ranks, if the other of the two is beside it and was written with other scores.

    Parameters
    ----------
    path : path
    digest : str, optional
        What the run is known to record, ``""`` for nothing. Default: it is read.

    Raises
    ------
    FormatError
    """
    place = Path(path)
    name = next((place.name.removesuffix(end) for end in (_RANKS, *_RUNS) if place.name.endswith(end)), None)
    if name is None or not (ranks := place.with_name(name + _RANKS)).is_file():
        return
    for run in _runs_beside(ranks) if place.name == ranks.name else [place]:
        if _differ(_digest_in(run) if digest is None else digest, _digest_in(ranks)):
            raise FormatError(
                f"does not belong to {ranks}: they are of different scores; rank again with --force", path=run
            )


def require_no_runs(ranks: Path) -> None:
    """Refuse runs of other answer ranks where these will be written, unless they may be replaced as outputs may be.

    Raises
    ------
    FormatError
    """
    for run in _runs_beside(ranks):
        if _digest_in(run) and run.is_dir():
            require_folder(run, lambda folder: [part.name for part in parts_of(folder)])
        elif _digest_in(run):
            require_file(run, kind="a run")


def remove_other_runs(ranks: Path, digest: str, *, written: Path | None) -> None:
    """Remove the runs beside answer ranks that belong to answer ranks of another digest, but not ``written``."""
    for run in _runs_beside(ranks):
        if run != written and _differ(_digest_in(run), digest):
            parts = parts_of(run) if run.is_dir() else []
            is_whole = not parts or len(parts) == len(list(run.iterdir()))  # nothing else is in the folder
            for path in [run, origin_path(run)] if is_whole else parts:
                remove(path)
            warn(f"{run}: removed, since it is of other scores than the answer ranks that are written now")


def _runs_beside(ranks: Path) -> list[Path]:
    return [run for end in _RUNS if (run := ranks.with_name(ranks.name.removesuffix(_RANKS) + end)).exists()]


def _differ(of_run: str, of_ranks: str) -> bool:
    return "" != of_run != of_ranks != ""


def _digest_in(path: Path) -> str:
    """The digest that answer ranks have, or a run of the answer ranks that it was written with; ``""``: not known."""
    try:
        if path.is_dir():
            path = parts_of(path)[-1]  # which is written when all is ranked
        if is_parquet(path):
            return digest_in(path)
        beside = origin_path(path)
        record = read_json(beside) if beside.is_file() else None
    except KgtrecError:  # the reader of that file says so
        return ""
    return str(record.get("ranks", "")) if isinstance(record, dict) else ""
