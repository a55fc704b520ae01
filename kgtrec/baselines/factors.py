"""Baselines that factorise: truncated SVD of a relation-wise incidence, and RESCAL by alternating least squares.

Factors are rounded to so few bits that every product and sum of them is exact in float64. So scores depend neither on
the order in which a matrix library adds, nor on the block that a question stands in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.baselines.graph import Graph, Places
from kgtrec.baselines.record import Baseline, Option, Scorer, Settings

Matrix = NDArray[np.float64]
_DIGITS = 9


def on_grid(factors: Matrix) -> Matrix:
    """Each row rounded to multiples of a power of two, so coarse that a dot product of two such rows is exact.

    With b bits to a number of at most k factors, a sum of k products needs 2 b + log2(k) bits; float64 has 53.

    Parameters
    ----------
    factors : (n, k) float array

    Returns
    -------
    (n, k) float array
        Off by at most 2^-b of the row's largest number, b = 22 for up to 512 factors.

    Examples
    --------
    >>> on_grid(np.array([[1.0, 1e-9]])).tolist()
    [[1.0, 0.0]]
    """
    bits = (53 - int(np.ceil(np.log2(max(factors.shape[1], 2))))) // 2
    largest = np.abs(factors).max(axis=1, keepdims=True, initial=0)
    exponent = np.frexp(largest)[1] - bits
    rounded: Matrix = np.ldexp(np.round(np.ldexp(factors, -exponent)), exponent)
    return rounded


def _fit_svd(graph: Graph, *, seed: int, factors: int) -> Scorer:
    ((_, score),) = _fit_svds(graph, [{"factors": factors}], seed=seed)
    return score


def _fit_svds(graph: Graph, several: Sequence[Settings], *, seed: int) -> Iterator[tuple[Settings, Scorer]]:
    """One decomposition at the largest rank, of which the others are the first columns.

    Rows are anchors, columns are the (direction, answer) pairs of train, cells say whether the fact is there.
    """
    from scipy.sparse import csr_array

    n = graph.n_entities
    place = graph.direction * n + graph.answer
    columns, column = np.unique(place, return_inverse=True)
    incidence = csr_array((np.ones(len(column)), (graph.anchor, column)), shape=(n, len(columns)))
    left, right = _truncated_svd(incidence, max(int(settings["factors"]) for settings in several), seed)
    bounds = np.searchsorted(columns, np.arange(graph.n_directions + 1) * n)
    for settings in several:
        rank = slice(int(settings["factors"]))
        yield settings, _svd_scorer(on_grid(left[:, rank]), on_grid(right[:, rank]), columns, bounds, n)


def _svd_scorer(left: Matrix, right: Matrix, columns: Places, bounds: Places, n: int) -> Scorer:
    def score(anchor: Places, direction: Places) -> Matrix:
        block = np.full((len(anchor), n), -1.0)
        for one in np.unique(direction):
            rows = np.flatnonzero(direction == one)
            of_direction = slice(bounds[one], bounds[one + 1])
            values = np.maximum(np.round(left[anchor[rows]] @ right[of_direction].T, _DIGITS), -1 + 10.0**-_DIGITS)
            block[rows[:, None], columns[of_direction] - one * n] = values
        return block

    return score


def _truncated_svd(matrix: Any, factors: int, seed: int) -> tuple[Matrix, Matrix]:
    """(rows, k) and (columns, k) whose product is the best approximation of rank k, the largest part first."""
    least = min(matrix.shape)
    if least <= max(2 * factors, 64):  # small enough to do in full
        u, s, vt = np.linalg.svd(matrix.toarray(), full_matrices=False)
        u, s, vt = u[:, :factors], s[:factors], vt[:factors]
    else:
        from scipy.sparse.linalg import svds

        start = np.random.Generator(np.random.PCG64(seed)).standard_normal(least)
        u, s, vt = svds(matrix, k=factors, v0=start, solver="arpack")
        order = np.argsort(-s, kind="stable")
        u, s, vt = u[:, order], s[order], vt[order]
    return u * np.sqrt(s), vt.T * np.sqrt(s)


def _fit_rescal(graph: Graph, *, seed: int, factors: int, iterations: int, decay: float) -> Scorer:
    return _rescal_scorer(
        *rescal(graph, seed=seed, factors=factors, iterations=iterations, decay=decay), graph.n_relations
    )


def _fit_rescals(graph: Graph, several: Sequence[Settings], *, seed: int) -> Iterator[tuple[Settings, Scorer]]:
    """One run of least squares for all that differ in the number of its rounds only."""
    groups: dict[tuple[int, float], dict[int, Settings]] = {}
    for settings in several:
        own = groups.setdefault((int(settings["factors"]), float(settings["decay"])), {})
        own[int(settings["iterations"])] = settings
    for (factors, decay), wanted in groups.items():
        rounds = rescal_rounds(graph, seed=seed, factors=factors, decay=decay)
        for number, (entity, core) in enumerate(itertools.islice(rounds, max(wanted) + 1)):
            if number in wanted:
                yield wanted[number], _rescal_scorer(entity, core, graph.n_relations)


def _rescal_scorer(entity: Matrix, core: Matrix, n_relations: int) -> Scorer:
    # by one grid for all of a relation's numbers, as both its rows and its columns are summed over
    entity = on_grid(entity)
    core = on_grid(core.reshape(len(core), -1)).reshape(core.shape)

    def score(anchor: Places, direction: Places) -> Matrix:
        query = np.empty((len(anchor), entity.shape[1]))
        for one in np.unique(direction):
            rows = np.flatnonzero(direction == one)
            mixing = core[one] if one < n_relations else core[one - n_relations].T
            query[rows] = entity[anchor[rows]] @ mixing
        return np.round(on_grid(query) @ entity.T, _DIGITS)

    return score


def rescal(graph: Graph, *, seed: int, factors: int, iterations: int, decay: float) -> tuple[Matrix, Matrix]:
    r"""Entity factors A and one core matrix per relation with :math:`X_r \approx A R_r A^\top`, by least squares.

    Parameters
    ----------
    graph : Graph
    seed, factors, iterations : int
    decay : float
        Weight of the squared norms of A and R.

    Returns
    -------
    (n_entities, k) and (n_relations, k, k) float arrays

    References
    ----------
    Nickel, Tresp, Kriegel. A three-way model for collective learning on multi-relational data. ICML 2011.
    """
    rounds = rescal_rounds(graph, seed=seed, factors=factors, decay=decay)
    return next(itertools.islice(rounds, iterations, None))


def rescal_rounds(graph: Graph, *, seed: int, factors: int, decay: float) -> Iterator[tuple[Matrix, Matrix]]:
    """What :func:`rescal` gives after 0, 1, 2, ... rounds of least squares, without end."""
    facts = graph.direction < graph.n_relations
    slices = _slices(graph.anchor[facts], graph.direction[facts], graph.answer[facts], graph)
    entity = _leading_eigenvectors(graph, factors, seed)
    while True:
        core = _cores(slices, entity, decay)
        yield entity, core
        entity = _entities(slices, entity, core, decay)


def _leading_eigenvectors(graph: Graph, factors: int, seed: int) -> Matrix:
    """Where the squares begin: the eigenvectors of all slices and their transposes, summed, of largest magnitude."""
    from scipy.sparse import csr_array

    n = graph.n_entities
    # a row per direction of a fact: the sum of a slice and its transpose
    total = csr_array((np.ones(len(graph.anchor)), (graph.anchor, graph.answer)), shape=(n, n))
    if n <= max(2 * factors, 64):
        values, vectors = np.linalg.eigh(total.toarray())
        chosen: Matrix = vectors[:, np.argsort(-np.abs(values), kind="stable")[:factors]]
        return chosen
    from scipy.sparse.linalg import eigsh

    start = np.random.Generator(np.random.PCG64(seed)).standard_normal(n)
    found: Matrix = eigsh(total, k=factors, which="LM", v0=start)[1]
    return found


def _slices(head: Places, relation: Places, tail: Places, graph: Graph) -> list[tuple[Places, Places, Any]]:
    """Per relation its distinct heads, its distinct tails, and which of them go together, as a sparse matrix."""
    from scipy.sparse import csr_array

    order = np.argsort(relation, kind="stable")
    bounds = np.searchsorted(relation[order], np.arange(graph.n_relations + 1))
    found = []
    for first, last in itertools.pairwise(bounds):
        rows = order[first:last]
        heads, row = np.unique(head[rows], return_inverse=True)
        tails, column = np.unique(tail[rows], return_inverse=True)
        found.append((heads, tails, csr_array((np.ones(len(rows)), (row, column)), shape=(len(heads), len(tails)))))
    return found


def _entities(slices: list[tuple[Places, Places, Any]], entity: Matrix, core: Matrix, decay: float) -> Matrix:
    gram = entity.T @ entity
    numerator: Matrix = np.zeros_like(entity)
    denominator: Matrix = decay * np.eye(entity.shape[1])
    for (heads, tails, links), mixing in zip(slices, core, strict=True):
        if len(heads):
            numerator[heads] += (links @ entity[tails]) @ mixing.T
            numerator[tails] += (links.T @ entity[heads]) @ mixing
        denominator += mixing @ gram @ mixing.T + mixing.T @ gram @ mixing
    solved: Matrix = np.linalg.solve(denominator, numerator.T).T.astype(np.float64, copy=False)
    return solved


def _cores(slices: list[tuple[Places, Places, Any]], entity: Matrix, decay: float) -> Matrix:
    """Ridge regression of each slice on the products of entity factors, by one SVD for all of them."""
    u, s, vt = np.linalg.svd(entity, full_matrices=False)
    product = s[:, None] * s[None, :]
    shrink = product / (product**2 + decay)
    core = np.zeros((len(slices), entity.shape[1], entity.shape[1]))
    for matrix, (heads, tails, links) in zip(core, slices, strict=True):
        if len(heads):
            matrix[...] = vt.T @ (shrink * (u[heads].T @ (links @ u[tails]))) @ vt
    return core


SVD = Baseline(
    "svd",
    _fit_svd,
    "Truncated SVD of the incidence of anchors and (relation, side, entity): anchors with like facts get like answers; "
    "entities never seen at the asked place get -1.",
    "Deerwester et al., Indexing by latent semantic analysis, JASIS 1990; Cremonesi et al., Performance of recommender "
    "algorithms on top-n recommendation tasks, RecSys 2010 (PureSVD)",
    {"factors": Option(100, "rank of the approximation")},
    fit_several=_fit_svds,
)
RESCAL = Baseline(
    "rescal",
    _fit_rescal,
    "RESCAL: one factor vector per entity and one matrix per relation, by alternating least squares.",
    "Nickel, Tresp, Kriegel, A three-way model for collective learning on multi-relational data, ICML 2011",
    {
        "factors": Option(100, "length of an entity's vector"),
        "iterations": Option(15, "rounds of least squares"),
        "decay": Option(3.0, "weight of the squared norms; too much of it makes every score 0", least=0.001),
    },
    fit_several=_fit_rescals,
)
