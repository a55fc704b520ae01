"""The best k entities of each row of a score block, exactly, without sorting whole rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.ranking.answer_ranks import Rows, Scores, contiguous, order_code, strip_rows

# One score in this many is sampled for the threshold. A larger sample costs more than what its tighter threshold saves.
_SAMPLE_EVERY = 16
# Below this width, and for lists longer than a quarter of the row, a sorted row costs less than its threshold.
_LEAST_WIDTH = 1024


@dataclass(frozen=True, slots=True, eq=False)
class TopK:
    """Ranked lists of the rows of a block, one row per listed entity, in list order, rows of the block ascending."""

    row: Rows  # (m,)
    entity: Rows  # (m,)
    score: Scores  # (m,) in the block's type


def top_k(scores: Scores, k: int, left_out_row: Rows, left_out_entity: Rows, tie_order: NDArray[np.int32]) -> TopK:
    """The ``k`` best entities of each row, score descending; equal scores by ``tie_order`` descending.

    A threshold from a sample of the row lets few scores through, and only these are sorted. A row that lets too few
    through is taken whole, so the result never depends on the sample: it is a prefix of the list for a larger ``k``.

    Parameters
    ----------
    scores : (n_rows, n_entities) float or integer array, without NaN
        A block of scores, higher is better.
    k : int
        Length of a list; a row with fewer candidates gives them all.
    left_out_row, left_out_entity : (m,) int arrays, sorted by row, each pair once
        Entities that are no candidates in their row.
    tie_order : (n_entities,) int array
        Each entity's place among equal scores, a permutation; the highest comes first.

    Returns
    -------
    TopK
        At most ``n_rows * k`` rows.

    Examples
    --------
    >>> none = np.zeros(0, np.intp)
    >>> best = top_k(np.array([[1.0, 5.0, 5.0, 2.0]]), 3, none, none, np.arange(4, dtype=np.int32))
    >>> best.entity.tolist()
    [2, 1, 3]
    """
    at_place = np.empty(len(tie_order), np.intp)
    at_place[tie_order] = np.arange(len(tie_order))
    tie_key = tie_order.astype(np.uint64)
    step = strip_rows(scores)
    passes = np.zeros((min(step, len(scores)), scores.shape[1]), np.bool_)
    parts = []
    for first in range(0, len(scores), step):
        strip = contiguous(scores[first : first + step])
        low, high = np.searchsorted(left_out_row, [first, first + step])
        out_row, out_entity = left_out_row[low:high] - first, left_out_entity[low:high]
        flags = passes[: len(strip)]
        _let_through(strip, k, out_row, out_entity, flags)
        row, entity = _sorted_lists(strip, k, flags, tie_key, at_place)
        row += first
        parts.append((row, entity, scores[row, entity]))
    if not parts:
        return TopK(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, scores.dtype))
    return TopK(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _let_through(strip: Scores, k: int, out_row: Rows, out_entity: Rows, flags: NDArray[np.bool_]) -> None:
    """Set ``flags`` for candidates that include each row's best k, ties at the cut with them."""
    n_rows, width = strip.shape
    n_left_out = np.bincount(out_row, minlength=n_rows)
    # entities left out may be the best of the row, so the threshold must let them through as well
    wanted = k + n_left_out
    if width < _LEAST_WIDTH or 4 * k > width:
        flags[:] = True
        flags[out_row, out_entity] = False
        return
    sample = np.sort(strip[:, ::_SAMPLE_EVERY], axis=1)
    expected = wanted / _SAMPLE_EVERY
    # three standard deviations of a Poisson count: about one row in a thousand of randomly ordered entities falls short
    place = sample.shape[1] - np.ceil(expected + 3 * np.sqrt(expected) + 2).astype(np.intp)
    threshold = sample[np.arange(n_rows), np.maximum(place, 0)]
    np.greater_equal(strip, threshold[:, None], out=flags)
    flags[place < 0] = True
    flags[out_row, out_entity] = False
    short = np.count_nonzero(flags, axis=1) < np.minimum(k, width - n_left_out)
    if short.any():
        flags[short] = True
        flags[out_row, out_entity] = False


def _sorted_lists(
    strip: Scores, k: int, flags: NDArray[np.bool_], tie_key: NDArray[np.uint64], at_place: Rows
) -> tuple[Rows, Rows]:
    """(m,) row and (m,) entity of the flagged entities' first k per row."""
    n_rows, width = strip.shape
    flat = np.flatnonzero(flags)
    bounds = np.searchsorted(flat, np.arange(n_rows + 1) * width)
    counts = np.diff(bounds)
    row = np.repeat(np.arange(n_rows), counts)
    entity = flat - row * width
    # one 64-bit key per entity, score above tie order, so that one sort without indices settles both
    keys = np.zeros((n_rows, int(counts.max(initial=0))), np.uint64)
    score_key = order_code(strip.reshape(-1)[flat]) << np.uint64(32)
    keys[row, np.arange(len(flat)) - bounds[row]] = score_key | tie_key[entity]
    keys.sort(axis=1)  # a flagged entity's key is never 0, so the padding comes first and is cut off below
    best = keys[:, ::-1][:, :k]
    listed = np.arange(best.shape[1]) < counts[:, None]
    place = (best[listed] & np.uint64(2**32 - 1)).astype(np.intp)
    return np.repeat(np.arange(n_rows), listed.sum(axis=1)), at_place[place]
