"""How many-to-many each relation of a knowledge graph is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import distinct, first_places

_Ints = NDArray[np.int32] | NDArray[np.int64]
_Floats = NDArray[np.float64]


def relation_fanout(head: _Ints, relation: _Ints, tail: _Ints, n_relations: int) -> tuple[_Floats, _Floats]:
    """Mean number of tails of a (head, relation), and of heads of a (relation, tail), per relation.

    A repeated triple counts once: both means are numbers of distinct triples over numbers of distinct pairs.

    Parameters
    ----------
    head, relation, tail : (n_triples,) int arrays, codes from 0
    n_relations : int
        Relations have the codes 0 to ``n_relations - 1``.

    Returns
    -------
    tails_per_head, heads_per_tail : (n_relations,) float arrays, entities, >= 1
        NaN for a relation without triples.

    References
    ----------
    Bordes et al. (2013), Translating embeddings for modeling multi-relational data, section 4.2.

    Examples
    --------
    >>> relation_fanout(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1, 2, 2]), 1)
    (array([1.5]), array([1.5]))
    """
    with_head, head_pair = np.unique(_paired(relation, head), return_inverse=True)
    with_tail = distinct(_paired(relation, tail))
    triples = first_places(_paired(head_pair, tail))
    n_triples = np.bincount(relation[triples], minlength=n_relations).astype(np.float64)
    n_heads = np.bincount(with_head // _base(head), minlength=n_relations)
    n_tails = np.bincount(with_tail // _base(tail), minlength=n_relations)
    n_triples[n_triples == 0] = np.nan
    return n_triples / np.maximum(n_heads, 1), n_triples / np.maximum(n_tails, 1)


def relation_category(tails_per_head: _Floats, heads_per_tail: _Floats, threshold: float = 1.5) -> NDArray[np.int8]:
    """Category of each relation: 0 = 1-1, 1 = 1-N, 2 = N-1, 3 = N-N; -1 where a mean is NaN.

    A side is N when its mean is at least ``threshold``: Bordes et al. call the means below 1.5 "1". (OpenKE's
    ``n-n.py`` also calls a mean of exactly 1.5 "1"; one relation of FB15k-237 has such a mean.)

    Parameters
    ----------
    tails_per_head, heads_per_tail : (n_relations,) float arrays, entities
    threshold : float

    Returns
    -------
    (n_relations,) int8 array

    References
    ----------
    Bordes et al. (2013), Translating embeddings for modeling multi-relational data, section 4.2.

    Examples
    --------
    >>> relation_category(np.array([1.0, 1.5, 1.0, 9.0]), np.array([1.0, 1.2, 3.0, 2.0])).tolist()
    [0, 1, 2, 3]
    """
    category = (tails_per_head >= threshold) + 2 * (heads_per_tail >= threshold)
    missing = np.isnan(tails_per_head) | np.isnan(heads_per_tail)
    return np.where(missing, -1, category).astype(np.int8)


def _base(second: _Ints) -> int:
    return int(second.max()) + 1 if len(second) else 1


def _paired(first: _Ints | NDArray[np.intp], second: _Ints) -> NDArray[np.int64]:
    """One integer per pair; both parts are below 2^31, so it fits."""
    return first.astype(np.int64) * _base(second) + second
