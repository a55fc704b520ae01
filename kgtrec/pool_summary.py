"""What a pool holds, in numbers: how large it is, and what each run has put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.campaign import Automatic
from kgtrec.data.pool import Pool


@dataclass(frozen=True, slots=True, eq=False)
class PoolSummary:
    """Counts of a pool; triples are distinct wherever they are counted."""

    triples: int
    stood_for: float  # how many triples there were to sample from; that of triples where nothing was sampled
    contributions: int
    questions: int
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
    pool: Pool, families: Mapping[str, str] | None = None, automatic: Automatic | None = None
) -> PoolSummary:
    """Count what a pool holds.

    Parameters
    ----------
    pool : Pool
    families : mapping, optional
        Run to family.
    automatic : Automatic, optional
        Which of its triples are judged N without a person.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples = Triples.of([("paris", "in", "france"), ("rome", "in", "france")])
    >>> asked = Questions.of([("head0", "in", "france")], triples.entities, triples.relations)  # doctest: +SKIP
    """
    n, n_runs, n_questions = len(pool), len(pool.runs), len(pool.questions)
    # a triple that a run put in for both its questions counts once
    pair = np.sort(pool.triple.astype(np.int64) * n_runs + pool.run)
    pair = pair[np.append(True, pair[1:] != pair[:-1])[: len(pair)]]
    triple, run = np.divmod(pair, max(n_runs, 1))
    in_runs = np.bincount(triple, minlength=n)
    asked = np.sort(pool.question.astype(np.int64) * max(n, 1) + pool.triple)
    asked = asked[np.append(True, asked[1:] != asked[:-1])[: len(asked)]]
    per_question = np.bincount(asked // max(n, 1), minlength=n_questions)
    shared = np.zeros((n_runs, n_runs), np.int64)
    has = np.zeros(n, np.bool_)
    for place in range(n_runs):
        has[:] = False
        has[triple[run == place]] = True
        shared[place] = np.bincount(run[has[triple]], minlength=n_runs)
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
        unique=np.bincount(run[in_runs[triple] == 1], minlength=n_runs),
        shared=shared,
        by_runs=np.bincount(in_runs, minlength=n_runs + 1)[1:],
    )  # fmt: skip
