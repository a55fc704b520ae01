"""Designs: which part of a pool people judge, drawn such that the values of the whole pool can be estimated from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.campaign import Automatic
from kgtrec.data.design import DESIGNS as DESIGNS
from kgtrec.data.design import PRIOR, Design
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completed_rows
from kgtrec.data.triples import label_hashes
from kgtrec.errors import KgtrecError, one_of, whole_number
from kgtrec.kernels.lists import credit
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.kernels.sampling.two_level import changes, rates
from kgtrec.kernels.sampling.uncertain_labels import Lists

_OPENED = 2.5  # share of the questions that are opened, in shares of the triples
_STEEP = 0.3  # share of the triples up to which this holds; above it, both shares grow to 1 together
_FLOOR = 0.3
_CREDITS = (partial(credit.ndcg, cutoff=20), partial(credit.average_precision, cutoff=20))


def draw_design(
    pool: Pool,
    known_answers: Qrels,
    automatic: Automatic | None = None,
    *,
    strategy: str = "two-level",
    share: float = 0.2,
    seed: int = 0,
) -> Design:
    """Draw the part of a pool that people judge.

    ``two-level``: of the questions a simple random sample is opened, 2.5 times the share of the triples up to 30% of
    these, from there on less (75% to all); in these each triple is drawn independently of the others, with a
    probability that grows with what a Yes would change in nDCG@20 and AP@20 of the pooled runs. ``whole-questions``:
    all triples of the opened questions are drawn.

    A greater share of the same seed contains the sample of a smaller one, so that judging can go on.

    Parameters
    ----------
    pool : Pool
        A whole pool, in which nothing was sampled.
    known_answers : Qrels
        With the vocabularies of the pool's questions.
    automatic : Automatic, optional
        Triples that a rule has judged; they are not drawn. Default: none.
    strategy : {"two-level", "whole-questions"}
        Which triples of the opened questions are drawn, see above. Default: "two-level".
    share : float
        Of the triples, to be judged; a sample's own share varies a little around it.
    seed : int
        The result depends on it and on labels, not on the order of triples or questions.

    Raises
    ------
    KgtrecError
        If the pool is a sample already, an option is out of range, or nothing is drawn.

    References
    ----------
    Cochran (1977), Sampling Techniques, chapters 10 and 11; Hajek (1964), Annals of Mathematical Statistics 35, for
    independent draws.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.data.run import Run
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.pooling.pool_runs import known_answers_of, pool_runs
    >>> import pandas as pd
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "likes", "tea")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> rows = {"query_id": ["tail0"] * 3, "doc_id": ["tea", "jam", "cid"], "score": [3.0, 2.0, 1.0]}
    >>> pool = pool_runs(collection, [Run.from_frame(pd.DataFrame(rows), "mine")])
    >>> draw_design(pool, known_answers_of(pool, collection), share=1.0)
    <Design: 1 of 1 pairs drawn in 1 of 1 questions>
    """
    design = drawing(pool, known_answers, automatic, strategy=strategy, seed=seed)(share)
    if len(design) and not design.is_drawn.any():
        raise KgtrecError(f"expected a share that draws a triple, found {share:g}; give a greater one (--share)")
    return design


def drawing(
    pool: Pool, known_answers: Qrels, automatic: Automatic | None = None, *, strategy: str = "two-level", seed: int = 0
) -> Callable[[float], Design]:
    """Prepare what designs of all shares have in common, and return a function that draws one of a share.

    It takes and refuses what :func:`draw_design` does.
    """
    one_of("a design of", strategy, DESIGNS)
    whole_number("seed", seed)
    if pool.strata or np.any(pool.probability < 1):
        raise KgtrecError("expected a whole pool to draw from, found a sample (strategy stratified)")
    automatic = automatic or Automatic.none(len(pool))
    question, entity, triple = _pairs(pool, ~automatic.is_automatic)
    questions, row = np.unique(question, return_inverse=True)
    question_key = hashed(seed, label_hashes(pool.questions.ids))
    by_key = np.argsort(question_key[questions], kind="stable")
    key = hashed(question_key[question], label_hashes(pool.questions.entities)[entity])
    uniform = (key >> np.uint64(11)) * 2.0**-53
    change = _changes(pool, known_answers, question, triple) if strategy == "two-level" else None

    def draw(share: float) -> Design:
        if not 0 < share <= 1:
            raise KgtrecError(f"expected a share above 0 and up to 1, found {share}")
        theta = share if change is None else _theta(share)
        n_opened = min(len(questions), max(round(theta * len(questions)), 2))
        opened = np.zeros(len(questions), np.bool_)
        opened[by_key[:n_opened]] = True
        rate = np.ones(len(question))
        if change is not None:
            rate = rates(change, max(share / theta, 1 / _OPENED), _FLOOR)
        is_opened, exact = opened[row], n_opened / max(len(questions), 1)
        return Design(
            question, triple, np.full(len(question), exact), exact * rate, is_opened, is_opened & (uniform < rate)
        )

    return draw


def _theta(share: float) -> float:
    """Which share of the questions is opened; it grows with the share of the triples, and so does their quotient."""
    steep, rest = min(share, _STEEP), max(share - _STEEP, 0.0)
    return _OPENED * steep + (1.0 - _OPENED * _STEEP) * rest / (1.0 - _STEEP)


def _pairs(pool: Pool, kept: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Question, entity and triple of each question that a kept triple answers, sorted by (question, triple)."""
    rows = np.flatnonzero(kept).astype(np.int32)
    question, entity, row = completed_rows(pool.questions, pool.triples.take(rows))
    triple = rows[row]
    order = np.lexsort((triple, question))
    return question[order], entity[order], triple[order]


def _changes(
    pool: Pool, known_answers: Qrels, question: NDArray[np.int32], triple: NDArray[np.int32]
) -> NDArray[np.float64]:
    """(n,) by how much a Yes would change the measures of all runs, of which the pool has the first ranks."""
    n = len(pool.questions)
    key, own = (row.astype(np.int64) * n + of for row, of in ((pool.triple, pool.question), (triple, question)))
    order = np.argsort(own)
    at = order[np.minimum(np.searchsorted(own[order], key), len(own) - 1)] if len(own) else key[:0]
    is_there = own[at] == key if len(own) else np.zeros(len(key), np.bool_)
    size = np.bincount(question, minlength=n)
    first = np.cumsum(size) - size
    known = np.bincount(known_answers.question[known_answers.grade >= 1], minlength=n)
    change = np.zeros(len(question))
    for run in range(len(pool.runs)):
        position = np.full(len(question), credit.UNLISTED)
        kept = is_there & (pool.run == run)
        position[at[kept]] = pool.rank[kept]
        for length in np.unique(size[size > 0]):
            some = np.flatnonzero(size == length)
            pair = first[some, None] + np.arange(length)
            pair = np.take_along_axis(pair, np.argsort(position[pair], axis=1, kind="stable"), axis=1)
            none = np.zeros((len(some), 0), np.int64)
            lists = Lists(position[pair], none, known[some], known[some] + length)
            change[pair] += changes(lists, np.full(pair.shape, PRIOR), _CREDITS)
    return change
