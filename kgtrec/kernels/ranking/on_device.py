"""Counts and lists of score blocks that are torch tensors, by torch, on the device where they are.

torch is never imported from here: whoever has a tensor has imported it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import begins
from kgtrec.kernels.ranking.answer_ranks import Counts, ScoreError, without_themselves
from kgtrec.kernels.ranking.pairs import Aside, Index, Pairs, aside_counts, aside_of_rows
from kgtrec.kernels.ranking.top_k import TopK

Tensor = Any

# At most this many scores are worked on together; more would need memory and save no time.
_MOST_SCORES = 1 << 25
# What the work on one score of a block takes at its highest: copies, 64-bit keys and what selecting from them needs.
_BYTES_PER_SCORE = 64
# From about this many pairs in a row, one sort and a bisection per pair cost less than two comparisons per pair.
_SORT_FROM = 256
_TYPES = ("bfloat16", "bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8")


def stays_on_device(scores: object) -> bool:
    """Return whether scores are a torch tensor that :class:`DeviceRanker` is to rank where it is.

    Tensors in the processor's memory are not: numpy reads them without a copy, and its kernels are faster there. On two
    cores they counted a block of 512 x 14,541 float32 in 7 ms and listed its best 1,000 in 34 ms; torch's operators
    took 120 ms and 170 ms.

    Examples
    --------
    >>> stays_on_device(np.zeros((2, 3)))
    False
    """
    return is_rankable_tensor(scores) and scores.device.type not in ("cpu", "meta")  # type: ignore[attr-defined]


def is_rankable_tensor(scores: object) -> bool:
    """Return whether :class:`DeviceRanker` can rank scores, on any device: a dense tensor of a known type."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(scores, torch.Tensor):
        return False
    return scores.layout == torch.strided and str(scores.dtype).removeprefix("torch.") in _TYPES


def extremes(scores: Tensor) -> tuple[int, int]:
    """The largest and the smallest score of a tensor of 64-bit integers; zeros for other types and empty tensors."""
    torch = sys.modules["torch"]
    if scores.dtype != torch.int64 or scores.numel() == 0:
        return 0, 0
    smallest, largest = torch.stack(torch.aminmax(scores)).tolist()
    return largest, smallest


class DeviceRanker:
    """What :func:`count_above_and_tied` and :func:`top_k` give, of blocks that are tensors on any device.

    All integers are those that the numpy kernels find. Scores are compared in the block's own type; what is not to be
    counted is NaN in a copy (below all others for integers), which is neither above nor tied. Lists come from 64-bit
    keys, score above tie order, no two of which are equal: selecting from them leaves torch no choice between ties.
    Only counts, lists and their scores come to the host, once for each block.

    Parameters
    ----------
    n_entities : int
    column : (n_entities,) int array, optional
        Column of each entity in the blocks; without it, columns are entities.
    tie_order : (n_entities,) int array, optional
        Each entity's place among equal scores, a permutation; the highest comes first. Only lists need it.

    Examples
    --------
    For a tensor ``scores`` of one row, [4, 3, 2, 2, 1], the first set aside, as for :func:`count_above_and_tied`::

        counts, _ = DeviceRanker(5).rank(scores, third, first, 0, none)
        counts.above, counts.tied, counts.n_other  # 1, 1, 3
    """

    def __init__(
        self, n_entities: int, column: Index | None = None, tie_order: NDArray[np.int32] | None = None
    ) -> None:
        self._n_entities = n_entities
        self._tables = column, tie_order
        self._sent: dict[Any, list[Tensor | None]] = {}

    def rank(
        self, scores: Tensor, pairs: Pairs, uncounted: Aside, k: int, left_out: Aside
    ) -> tuple[Counts, TopK | None]:
        """Counts of the pairs, and the best ``k`` of each row.

        Parameters
        ----------
        scores : (n_rows, n_columns) float or integer tensor
            A block of scores, higher is better; 64-bit integers within +-2**53.
        pairs : Pairs of (n,)
            Those to place. A pair never counts itself.
        uncounted : Pairs of (m,), sorted by (row, entity), each pair once; or a mask, (n_rows, n_entities)
            Entities that are not counted in their row.
        k : int
            Length of a list; 0 for no lists.
        left_out : Pairs of (l,), each pair once; or a mask
            Entities that are not listed in their row.

        Returns
        -------
        Counts
            One row per pair, scores in a type that numpy has.
        TopK or None
            At most ``n_rows * k`` rows.

        Raises
        ------
        ScoreError
            If a score is NaN or +inf, whether or not it would be counted.
        """
        torch = sys.modules["torch"]
        scores = scores.detach()
        column, tie_order = self._on(scores.device)
        n_rows, width = len(scores), self._n_entities
        k = min(k, width)
        most = _most_scores(scores)
        step = max(1, most // max(width, 1))
        parts = []
        for first in range(0, max(n_rows, 1), step):  # a block without rows has one chunk, without rows
            chunk = scores[first : first + step]
            chunk = _widened(chunk.contiguous() if column is None else chunk.index_select(1, column))
            of_chunk = pairs.of_rows(first, first + len(chunk))
            own, above, tied = _counted(chunk, of_chunk, _flat(uncounted, first, chunk), most)
            lists = _listed(chunk, k, _flat(left_out, first, chunk), tie_order) if k else ()
            parts.append((~(chunk.amax(dim=1) < np.inf), own, above, tied, *lists))
        columns = [torch.cat(part).cpu().numpy() for part in zip(*parts, strict=True)]
        is_wrong, own, above, tied = columns[:4]
        if is_wrong.any():
            wrong = int(np.flatnonzero(is_wrong)[0])
            values = scores[wrong] if column is None else scores[wrong].index_select(0, column)
            place = int(np.argmin((values < np.inf).cpu().numpy()))
            raise ScoreError(wrong, place, float(values[place]))
        counts = without_themselves(above, tied, own, pairs, uncounted, (n_rows, width))
        if not k:
            return counts, None
        n_listed = np.minimum(k, width - aside_counts(left_out, n_rows))
        is_listed = np.arange(k) < n_listed[:, None]
        best, score = columns[4:]
        return counts, TopK(np.repeat(np.arange(n_rows), n_listed), best[is_listed].astype(np.intp), score[is_listed])

    def _on(self, device: Any) -> list[Tensor | None]:
        """Columns and tie order on a device, where there are any; they are sent there once."""
        if device not in self._sent:
            self._sent[device] = [None if table is None else _sent(table, device) for table in self._tables]
        return self._sent[device]


def _most_scores(scores: Tensor) -> int:
    """How many scores are worked on together, by the memory that is free."""
    if scores.device.type != "cuda":
        return _MOST_SCORES
    cuda = sys.modules["torch"].cuda
    # what torch holds and does not use is free too
    free = cuda.mem_get_info(scores.device)[0]
    free += cuda.memory_reserved(scores.device) - cuda.memory_allocated(scores.device)
    return max(1, min(_MOST_SCORES, int(free) // (2 * _BYTES_PER_SCORE)))


def _sent(array: NDArray[Any], device: Any) -> Tensor:
    return sys.modules["torch"].tensor(array, device=device)


def _flat(aside: Aside, first: int, chunk: Tensor) -> Tensor:
    """Places of what is left out in the flattened chunk, whose first row is ``first``."""
    own = aside_of_rows(aside, first, first + len(chunk))
    if not isinstance(own, Pairs):
        return _sent(own, chunk.device).view(-1).nonzero().view(-1)
    row, entity = own
    return _sent(row * chunk.shape[1] + entity, chunk.device)


def _widened(chunk: Tensor) -> Tensor:
    """The chunk in a type that has a value for what is not counted: floats as they are, integers of twice the size."""
    torch = sys.modules["torch"]
    if chunk.is_floating_point():
        return chunk
    return chunk.to(torch.int64 if chunk.dtype in (torch.int32, torch.int64) else torch.int32)


def _not_counted(dtype: Any) -> float:
    return float("nan") if dtype.is_floating_point else sys.modules["torch"].iinfo(dtype).min


def _order_code(values: Tensor) -> Tensor:
    """64-bit integers between -2**31 and 2**31 in the order of ``values``, equal exactly where the values are equal."""
    torch = sys.modules["torch"]
    if values.dtype in (torch.float64, torch.int64):
        return torch.unique(values + 0, return_inverse=True)[1]
    if not values.is_floating_point():
        return values.long()
    # adding zero turns -0.0 into 0.0; positive floats are then in the order of their bits, negative ones reversed
    bits = (values.float() + 0.0).view(torch.int32)
    return torch.where(bits < 0, bits ^ (2**31 - 1), bits).long()


def _counted(chunk: Tensor, pairs: Pairs, aside: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """(n,) score of each pair, and its above and tied among what is not aside, itself included where it is not."""
    torch = sys.modules["torch"]
    (n_rows, width), (row, entity) = chunk.shape, pairs
    many = np.bincount(row, minlength=n_rows)[row] >= _SORT_FROM
    is_first = begins(row)
    # first pairs of all rows, then the further ones: the former need no gathering where each row has a pair
    compared = np.concatenate([np.flatnonzero(~many & is_first), np.flatnonzero(~many & ~is_first)])
    bisected = np.flatnonzero(many)
    own = chunk.view(-1)[_sent(row * width + entity, chunk.device)]
    counted = chunk.clone()
    counted.view(-1).index_fill_(0, aside, _not_counted(chunk.dtype))
    counts = torch.zeros((2, len(row)), dtype=torch.int64, device=chunk.device)
    step = max(1, most // max(width, 1))
    for start in range(0, len(compared), step):
        place = compared[start : start + step]
        strip, where = _gathered(counted, row[place]), _sent(place, chunk.device)
        score = own[where, None]
        counts[0, where] = (strip > score).sum(dim=1)
        counts[1, where] = (strip == score).sum(dim=1)
    if len(bisected):
        counts[:, _sent(bisected, chunk.device)] = _by_bisection(chunk, counted, row[bisected], entity[bisected])
    return (own.float() if chunk.dtype == torch.bfloat16 else own), counts[0], counts[1]


def _gathered(chunk: Tensor, row: Index) -> Tensor:
    start, stop = int(row[0]), int(row[-1]) + 1
    ascending = stop - start == len(row) and bool(np.all(row[1:] > row[:-1]))
    return chunk[start:stop] if ascending else chunk.index_select(0, _sent(row, chunk.device))


def _by_bisection(chunk: Tensor, counted: Tensor, row: Index, entity: Index) -> Tensor:
    """(2, n) above and tied, by sorting the rows; what is not counted comes before all others."""
    torch = sys.modules["torch"]
    rows, first, place = np.unique(row, return_index=True, return_inverse=True)
    width = chunk.shape[1]
    taken = _sent(rows, chunk.device)
    code = _order_code(chunk.index_select(0, taken))
    aside = counted.index_select(0, taken)
    aside = aside.isnan() if chunk.is_floating_point() else aside == _not_counted(chunk.dtype)
    which = place, np.arange(len(row)) - first[place]  # of the row's pairs, side by side
    where = _sent(which[0], chunk.device), _sent(which[1], chunk.device)
    own = torch.zeros((len(rows), int(which[1].max()) + 1), dtype=torch.int64, device=chunk.device)
    own[where] = code[where[0], _sent(entity, chunk.device)]
    ordered = code.masked_fill_(aside, -(2**62)).sort(dim=1).values
    at_most = torch.searchsorted(ordered, own, right=True)[where]
    return torch.stack([width - at_most, at_most - torch.searchsorted(ordered, own)[where]])


def _listed(chunk: Tensor, k: int, left_out: Tensor, tie_order: Tensor) -> tuple[Tensor, Tensor]:
    """(n_rows, k) entities and their scores; rows with fewer candidates end in entities that are left out."""
    torch = sys.modules["torch"]
    key = _order_code(chunk).mul_(2**32).add_(tie_order)
    key.view(-1).index_fill_(0, left_out, torch.iinfo(torch.int64).min)  # below all codes
    entity = key.topk(k, dim=1).indices
    score = chunk.gather(1, entity)
    return entity.int(), (score.float() if chunk.dtype == torch.bfloat16 else score)
