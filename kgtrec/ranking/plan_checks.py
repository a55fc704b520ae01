"""What must hold for the files of a plan, so that its units can be done and joined."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.kernels.ranking.comparisons import ShiftedProduct
from kgtrec.ranking.tiles import Block, Candidates, Counted, Tiling

_AGAIN = "make the plan again"


def require_tiling(tiling: Tiling, depth: int, questions: tuple[int, ...]) -> None:
    """Refuse numbers that cut nothing.

    Raises
    ------
    ValueError
    """
    sizes = (tiling.rows, tiling.width, tiling.n_shards, tiling.panel, *questions)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        raise ValueError(
            f"expected sizes from 1 on, found {tiling} and blocks of {min(questions, default=0)} questions"
        )
    if tiling.width % tiling.panel or isinstance(depth, bool) or not isinstance(depth, int) or depth < 0:
        raise ValueError(f"expected whole panels and a depth from 0 on, found {tiling} and {depth}")


def require_candidates(candidates: Candidates, path: PathLike) -> None:
    """Refuse entities that do not go with the model's vectors.

    Raises
    ------
    FormatError
    """
    E, b, entity, order = (*_vectors(candidates), candidates.entity, candidates.tie_order)
    if (
        len(E.shape) != 2
        or E.dtype.kind not in "fiu"
        or (b is not None and (b.shape != (len(E),) or b.dtype.kind not in "fiu"))
    ):
        raise FormatError("expected vectors of as many entities as the plan has, found others; " + _AGAIN, path=path)
    if entity.ndim != 1 or entity.dtype.kind != "i" or len(entity) < len(E) or np.any(entity < -1):
        raise FormatError(f"expected a number for each of {len(E):,} entities, found others; {_AGAIN}", path=path)
    if order.shape != entity.shape or order.dtype != np.int32 or np.any(order[entity >= 0] < 0):
        raise FormatError(f"expected an order of {len(entity):,} entities, found another; {_AGAIN}", path=path)
    if candidates.depth > len(entity):
        raise FormatError(f"expected lists of at most {len(entity):,} entities, found {candidates.depth:,}", path=path)


def _vectors(candidates: Candidates) -> tuple[Any, Any]:
    return candidates.vectors.E, candidates.vectors.b


def require_block(block: Block, n_questions: int, candidates: Candidates, path: PathLike) -> None:
    """Refuse a block whose pairs are not of its questions and of the plan's entities, or not in their order.

    Raises
    ------
    FormatError
    """
    n, d = n_questions, candidates.vectors.E.shape[1]
    if block.rows.shape != (n,) or block.rows.dtype.kind != "i" or np.any(block.rows < 0):
        raise FormatError(f"expected the rows of {n:,} questions, found others; {_AGAIN}", path=path)
    width = d + isinstance(candidates.vectors.comparison, ShiftedProduct)
    if block.queries is not None and (block.queries.shape != (n, width) or block.queries.dtype != np.float64):
        raise FormatError(
            f"expected queries of {n:,} x {width:,} numbers, found {block.queries.dtype} of shape "
            f"{block.queries.shape}; {_AGAIN}",
            path=path,
        )
    for kind, is_once in (("placed", False), ("aside", True), ("out", True)):
        row, entity = getattr(block, f"{kind}_row"), getattr(block, f"{kind}_entity")
        if not _are_pairs(row, entity, n, candidates.entity, is_once=is_once):
            raise FormatError(
                f"expected pairs of its questions and entities ({kind}), found others; {_AGAIN}", path=path
            )
    if block.is_answer.shape != block.placed_row.shape:
        raise FormatError(f"expected an answer or not for each pair, found others; {_AGAIN}", path=path)


def _are_pairs(row: NDArray[Any], entity: NDArray[Any], n: int, candidate: NDArray[np.int64], *, is_once: bool) -> bool:
    if row.ndim != 1 or row.shape != entity.shape or row.dtype.kind != "i" or entity.dtype.kind != "i":
        return False
    if len(row) == 0:
        return True
    if row[0] < 0 or row[-1] >= n or entity.min() < 0 or entity.max() >= len(candidate) or np.any(np.diff(row) < 0):
        return False
    key = row.astype(np.int64) * len(candidate) + entity
    return bool(np.all(candidate[entity] >= 0) and (not is_once or np.all(np.diff(key) > 0)))


def require_result(arrays: dict[str, NDArray[Any]], block: Block, candidates: Candidates, path: PathLike) -> None:
    """Refuse a result that is not of its block.

    Raises
    ------
    FormatError
    """
    pairs = block.placed_row.shape
    counts, scores = (arrays["above"], arrays["tied"], arrays["by_rounding"]), (arrays["used"], arrays["found"])
    fits = all(each.shape == pairs and each.dtype == np.int64 for each in counts)
    fits &= all(each.shape == pairs and each.dtype == np.float32 for each in scores)
    if not fits or any(np.any((each < 0) | (each > len(candidates))) for each in counts):
        raise FormatError(
            f"expected counts of {pairs[0]:,} pairs, found others; remove it, and do the unit again", path=path
        )
    if "lengths" not in arrays:
        return
    lengths, entity, score = (arrays[name] for name in ("lengths", "entity", "score"))
    fits = lengths.shape == (len(block),) and lengths.dtype.kind == "i" and entity.dtype.kind == "i"
    fits = fits and not np.any((lengths < 0) | (lengths > candidates.depth))
    fits = fits and entity.shape == score.shape == (int(lengths.sum()),) and score.dtype == np.float32
    fits = fits and not (len(entity) and (entity.min() < 0 or entity.max() >= len(candidates)))
    if not fits or np.any(candidates.entity[entity] < 0) or not np.all(score < np.inf):
        raise FormatError(
            f"expected lists of {len(block):,} questions, found others; remove it, and do the unit again", path=path
        )


def require_own_scores(own: NDArray[np.float32], counted: list[Counted], path: PathLike) -> None:
    """Refuse results of which none has a pair's own score.

    Raises
    ------
    FormatError
    """
    if np.any(np.isnan(own)) or any(np.any(np.isnan(each.used)) for each in counted):
        raise FormatError(
            "expected the score of each pair in one of the results, found none; make the plan again", path=path
        )
