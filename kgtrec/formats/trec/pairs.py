"""The run of a system and its answer ranks, ``NAME.run.gz`` and ``NAME.ranks.parquet``: of the same scores, or refused.

Whoever writes both notes the digest of the ranks beside or in the run and in the ranks. Copies by other tools may lack
it, and are accepted.
"""

from __future__ import annotations

from pathlib import Path

from kgtrec.errors import FormatError, KgtrecError, warn
from kgtrec.formats.files import PathLike
from kgtrec.formats.json_text import read_json
from kgtrec.formats.output.outputs import remove, require_file, require_folder
from kgtrec.formats.parquet import digest_in, is_parquet, parts_of
from kgtrec.formats.trec.origins import origin_path

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
    name = ranks.name.removesuffix(_RANKS)
    return [run for end in _RUNS if (run := ranks.with_name(name + end)).exists()]


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
        said = read_json(beside) if beside.is_file() else None
    except KgtrecError:  # the reader of that file says so
        return ""
    return str(said.get("ranks", "")) if isinstance(said, dict) else ""
