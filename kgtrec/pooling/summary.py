"""A pool -> how large it is, and what each run has put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.campaign import Automatic
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.kernels.integer_keys import distinct


@dataclass(frozen=True, slots=True, eq=False)
class PoolSummary:
    """Counts of a pool; triples are distinct wherever they are counted."""

    triples: int
    stood_for: float  # how many triples there were to sample from; that of triples where nothing was sampled
    contributions: int
    questions: int
    seeds: int  # triples that were known before to answer them
    empty_questions: int  # with nothing in the pool
    per_question: tuple[int, float, int]  # least, median and largest number of triples of a question
    new_by_depth: NDArray[np.int64]  # (d,) triples whose least rank is 1, 2, ...
    automatic: Mapping[str, int]  # rule -> triples judged N by it
    runs: tuple[str, ...]
    families: tuple[str, ...]  # per run, "" for none
    size: NDArray[np.int64]  # (r,) triples that each run put in
    unique: NDArray[np.int64]  # (r,) those that no other run did
    shared: NDArray[np.int64]  # (r, r) triples that both runs put in; on the diagonal, size
    by_runs: NDArray[np.int64]  # (r,) triples that 1, 2, ... runs put in

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""
        least, median, most = self.per_question
        return {
            "triples": self.triples,
            "stood_for": self.stood_for,
            "contributions": self.contributions,
            "questions": self.questions,
            "seeds": self.seeds,
            "empty_questions": self.empty_questions,
            "triples_per_question": {"min": least, "median": median, "max": most},
            "new_by_depth": self.new_by_depth.tolist(),
            "triples_by_number_of_runs": self.by_runs.tolist(),
            "automatic": dict(self.automatic),
            "runs": [
                {
                    "run": run, "family": family, "triples": int(size), "unique": int(unique),
                    "shared": dict(zip(self.runs, shared.tolist(), strict=True)),
                }
                for run, family, size, unique, shared in zip(
                    self.runs, self.families, self.size, self.unique, self.shared, strict=True
                )
            ],
        }  # fmt: skip


def summarise_pool(
    pool: Pool,
    families: Mapping[str, str] | None = None,
    automatic: Automatic | None = None,
    seeds: Qrels | None = None,
) -> PoolSummary:
    """Count what a pool holds.

    Parameters
    ----------
    pool : Pool
    families : mapping, optional
        Run to family.
    automatic : Automatic, optional
        Which of its triples are judged N without a person.
    seeds : Qrels, optional
        The answers known before, under the vocabularies of the pool's questions.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import questions_of
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam")])
    >>> asked = questions_of(triples)
    >>> tail0 = np.full(3, list(asked.ids).index("tail0"))
    >>> pool = Pool.of(triples, np.array([0, 1, 1]), tail0, np.array([0, 0, 1]), np.array([1, 2, 1]), ["a", "b"], asked)
    >>> found = summarise_pool(pool)
    >>> found.triples, found.size.tolist(), found.unique.tolist(), found.new_by_depth.tolist()
    (2, [2, 1], [1, 0], [2])
    """
    n, n_runs, n_questions = len(pool), len(pool.runs), len(pool.questions)
    is_from = pool.is_from
    in_runs = is_from.sum(axis=0)
    shared = shared_triples(is_from)
    asked = distinct(pool.question.astype(np.int64) * max(n, 1) + pool.triple)
    per_question = np.bincount(asked // max(n, 1), minlength=n_questions)
    by_rule = (
        {}
        if automatic is None
        else {name: int(np.count_nonzero(automatic.rule == code)) for code, name in enumerate(automatic.rules)}
    )
    families = families or {}
    return PoolSummary(
        triples=n,
        stood_for=float(np.sum(1 / pool.probability)),
        contributions=len(pool.triple),
        questions=n_questions,
        seeds=0 if seeds is None else _n_triples(pool, seeds),
        empty_questions=int(np.count_nonzero(per_question == 0)),
        per_question=(
            int(per_question.min(initial=n)), float(np.median(per_question)) if n_questions else 0.0,
            int(per_question.max(initial=0)),
        ),
        new_by_depth=np.bincount(pool.depth, minlength=1)[1:],
        automatic=by_rule,
        runs=pool.runs,
        families=tuple(families.get(name, "") for name in pool.runs),
        size=np.diagonal(shared).copy(),
        unique=(is_from & (in_runs == 1)).sum(axis=1),
        shared=shared,
        by_runs=np.bincount(in_runs, minlength=n_runs + 1)[1:],
    )  # fmt: skip


def _n_triples(pool: Pool, qrels: Qrels) -> int:
    """How many triples the answers make; the same one may answer both of its questions."""
    answer = qrels.grade >= 1
    return len(distinct(pool.questions.triples(qrels.question[answer], qrels.entity[answer]).keys()))


def shared_triples(is_from: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(runs, runs) how many triples both of two runs put in, of (runs, n) :attr:`Pool.is_from`.

    One row at a time, so that no more than the table itself is held.

    Examples
    --------
    >>> shared_triples(np.array([[True, True], [False, True]])).tolist()
    [[2, 1], [1, 1]]
    """
    n_runs = len(is_from)
    counts = np.array([np.count_nonzero(is_from & own, axis=1) for own in is_from], np.int64)
    return counts.reshape(n_runs, n_runs)
