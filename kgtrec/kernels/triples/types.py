"""Whether entities have the type that a side of a relation takes: by known types, or by their triples in train.

A *slot* is one side of one relation. Both functions classify (entity, slot) pairs: `FITS`, `UNFIT`, or that nothing
is known about the entity or, if it is known, about the slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import is_among_sorted, ranges

if TYPE_CHECKING:
    from scipy import sparse

Codes = NDArray[np.int32] | NDArray[np.int64]

FITS, UNFIT, UNKNOWN_ENTITY, UNKNOWN_SLOT = 1, 0, -1, -2
_PAIRS_AT_A_TIME = 1 << 20


def fits_types(
    entity: Codes,
    slot: Codes,
    *,
    types_of_entities: tuple[Codes, Codes],
    types_of_slots: tuple[Codes, Codes],
    shape: tuple[int, int, int],
) -> NDArray[np.int8]:
    """Return whether each entity has one of the types that the slot takes.

    A type that no entity has gives no evidence against an entity, so a slot that takes only such types is unknown.

    Parameters
    ----------
    entity, slot : (n,) int arrays
        The pairs asked about.
    types_of_entities : two (m,) int arrays
        Entity and type, each pair once.
    types_of_slots : two (k,) int arrays
        Slot and type, each pair once.
    shape : three ints
        Numbers of entities, slots and types.

    Returns
    -------
    (n,) int8 array of `FITS`, `UNFIT`, `UNKNOWN_ENTITY`, `UNKNOWN_SLOT`

    Examples
    --------
    >>> entities = np.array([0, 1]), np.array([0, 1])  # entity 0 is of type 0, entity 1 of type 1, 2 of no type
    >>> slots = np.array([0]), np.array([0])  # slot 0 takes type 0
    >>> asked = np.array([0, 1, 2]), np.zeros(3, int)
    >>> fits_types(*asked, types_of_entities=entities, types_of_slots=slots, shape=(3, 1, 2))
    array([ 1,  0, -1], dtype=int8)
    """
    n_entities, n_slots, n_types = shape
    is_used = np.zeros(n_types, np.bool_)
    is_used[types_of_entities[1]] = True
    wanted = is_used[types_of_slots[1]]
    of_entity = _incidence(*types_of_entities, (n_entities, n_types))
    of_slot = _incidence(types_of_slots[0][wanted], types_of_slots[1][wanted], (n_slots, n_types))
    return _answers(of_entity, of_slot.T.tocsr(), np.diff(of_slot.indptr) > 0, entity, slot)


def fits_observed(
    entity: Codes, slot: Codes, *, seen: tuple[Codes, Codes], shape: tuple[int, int], share: float = 0.0
) -> NDArray[np.int8]:
    r"""Return whether each entity shares a slot in train with the entities that fill the slot asked about.

    Let :math:`F(s)` be the entities that fill slot s in train. Entity e fits s if e fills some slot a for which
    :math:`|F(a) \cap F(s)| > \text{share} \cdot |F(s)|`. So every entity that fills s fits it, and with ``share = 0``
    so does every entity that has a slot in common with one of those.

    Parameters
    ----------
    entity, slot : (n,) int arrays
        The pairs asked about.
    seen : two (m,) int arrays
        Entity and slot of each end of each train triple, in any order, repeated or not.
    shape : two ints
        Numbers of entities and slots.
    share : float, 0 <= share < 1
        The larger, the more entities do not fit.

    Returns
    -------
    (n,) int8 array of `FITS`, `UNFIT`, `UNKNOWN_ENTITY` (it is not in train), `UNKNOWN_SLOT` (no entity fills it)

    Examples
    --------
    >>> seen = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 2])  # 0 and 1 fill slot 0, 1 fills slot 1, 2 fills slot 2
    >>> fits_observed(np.array([0, 0, 2, 3]), np.array([1, 2, 0, 0]), seen=seen, shape=(4, 3))
    array([ 1,  0,  0, -1], dtype=int8)
    """
    filled = _incidence(*seen, shape)
    together = (filled.T @ filled).tocoo()
    size = np.bincount(filled.indices, minlength=shape[1])
    kept = together.data > share * size[together.row]
    akin = _incidence(together.col[kept], together.row[kept], (shape[1], shape[1]))  # slot filled, slot asked about
    return _answers(filled, akin, size > 0, entity, slot)


def sharing_types(
    entity: Codes, slot: Codes, *, types_of_entities: tuple[Codes, Codes], shape: tuple[int, int, int]
) -> tuple[Codes, Codes]:
    """Find the entities that share a type with one of those that fill a slot: entity and slot, each pair once.

    Parameters
    ----------
    entity, slot : (n,) int arrays
        Which entities fill which slots.
    types_of_entities, shape
        As for :func:`fits_types`.

    Examples
    --------
    >>> types = np.array([0, 1, 2]), np.array([0, 0, 1])  # entities 0 and 1 are of one type
    >>> entity, slot = sharing_types(np.array([0]), np.array([0]), types_of_entities=types, shape=(3, 1, 2))
    >>> sorted(entity.tolist()), slot.tolist()
    ([0, 1], [0, 0])
    """
    n_entities, n_slots, n_types = shape
    of_entity = _incidence(*types_of_entities, (n_entities, n_types))
    slots, entities = (_incidence(slot, entity, (n_slots, n_entities)) @ of_entity @ of_entity.T).nonzero()
    return entities, slots


def _incidence(row: Codes, column: Codes, shape: tuple[int, int]) -> sparse.csr_array:
    """A matrix with a 1 at each of the places."""
    from scipy import sparse

    matrix = sparse.csr_array((np.ones(len(row), np.int64), (row.astype(np.int64), column.astype(np.int64))), shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _answers(
    of_entity: sparse.csr_array, leads_to: sparse.csr_array, is_known: NDArray[np.bool_], entity: Codes, slot: Codes
) -> NDArray[np.int8]:
    """Whether a path leads from each entity to its slot, for any number of pairs."""
    has_any = (np.diff(of_entity.indptr) > 0)[entity]
    answer = np.where(has_any, UNKNOWN_SLOT, UNKNOWN_ENTITY).astype(np.int8)
    known = np.flatnonzero(has_any & is_known[slot])
    width = leads_to.shape[1]
    cells = np.repeat(np.arange(leads_to.shape[0]), np.diff(leads_to.indptr)) * width + leads_to.indices
    cells.sort()
    for first in range(0, len(known), _PAIRS_AT_A_TIME):
        rows = known[first : first + _PAIRS_AT_A_TIME]
        answer[rows] = _is_joined(of_entity, cells, width, entity[rows], slot[rows])
    return answer


def _is_joined(
    of_entity: sparse.csr_array, cells: NDArray[np.int64], width: int, entity: Codes, slot: Codes
) -> NDArray[np.bool_]:
    """The cells of the product of two matrices that the pairs need; ``cells`` are the second matrix's, ascending."""
    start = of_entity.indptr.astype(np.int64)
    pair, place = ranges(start[entity], np.diff(start)[entity])
    inner = of_entity.indices[place].astype(np.int64)
    joined = np.zeros(len(entity), np.bool_)
    joined[pair[is_among_sorted(inner * width + slot[pair], cells)]] = True
    return joined
