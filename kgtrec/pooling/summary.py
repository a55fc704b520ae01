"""The size of a pool, and the contributions of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.campaign import Automatic
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import Triples
from kgtrec.errors import counted
from kgtrec.kernels.integer_keys import distinct, first_places

_EACH = 10  # ranks with a line of their own; those below are grouped, in steps of 1, 2 and 5 times a power of ten


@dataclass(frozen=True, slots=True, eq=False)
class PoolSummary(Result):
    """Counts of a pool; every triple is counted once."""

    triples: int
    stood_for: float  # number of triples before sampling; equal to that of triples without sampling
    contributions: int
    questions: int
    known_answers: int | None  # triples of the answers known before; None: these were not given
    empty_questions: int  # without a triple in the pool
    per_question: tuple[int, float, int]  # smallest, median and largest number of triples of a question
    new_by_depth: NDArray[np.int64]  # (d,) triples whose lowest rank is 1, 2, ...
    automatic: Mapping[str, int]  # rule -> triples judged N by it
    runs: tuple[str, ...]
    families: tuple[str, ...]  # per run, "" for none
    size: NDArray[np.int64]  # (r,) triples that each run contributed
    unique: NDArray[np.int64]  # (r,) those that no other run contributed
    shared: NDArray[np.int64]  # (r, r) triples that both runs contributed; on the diagonal, size
    by_runs: NDArray[np.int64]  # (r,) triples that 1, 2, ... runs contributed

    def tables(self) -> tuple[Table, ...]:
        """Make tables ``size``, ``ranks`` and ``runs``, what each adds; for several ``overlap`` and ``agreement``.

        The last two show the share of its triples that each run has in common with each other one, and how many triples
        are from 1, 2, ... runs.
        """
        share = Column("share", form="share", digits=1)
        runs = pa.table(
            {
                "run": pa.array(self.runs, pa.string()),
                "family": pa.array(self.families, pa.string()),
                "triples": self.size,
                "unique": self.unique,
                "share": self.unique / np.maximum(self.size, 1),
            }
        )
        by_run = (
            Column("run"),
            Column("family", names={"": "-"}),
            Column("triples"),
            Column("unique", "no other run's"),
            share,
        )
        alone = self._size(), self._ranks(), Table("runs", "", "", runs, by_run)
        if len(self.runs) < 2:
            return alone
        number = pa.array([counted(place, "run") for place in range(1, len(self.by_runs) + 1)], pa.string())
        by_number = {"runs": number, "triples": self.by_runs, "share": self.by_runs / max(self.triples, 1)}
        columns = (Column("runs", "put in by"), Column("triples"), share)
        return *alone, self._overlap(), Table("agreement", "", "", pa.table(by_number), columns)

    def _size(self) -> Table:
        least, median, most = self.per_question
        rows: dict[str, float] = {"triples": self.triples}
        if round(self.stood_for) != self.triples:
            rows["sampled from"] = self.stood_for
        rows |= {
            "contributions": self.contributions,
            "questions": self.questions,
            **({} if self.known_answers is None else {"known answers": self.known_answers}),
            "questions with nothing pooled": self.empty_questions,
            "triples a question, min": least,
            "triples a question, median": median,
            "triples a question, max": most,
        }
        if self.automatic:
            automatic = sum(self.automatic.values())
            rows |= {"judged N without a person": automatic, **self.automatic}
            rows["for people to judge"] = self.triples - automatic
        count = pa.array(rows.values(), pa.float64())
        data = pa.table({"what": [*rows], "count": count, "is_part": [name in self.automatic for name in rows]})
        digits = [int(number % 1 > 0 and name != "sampled from") for name, number in rows.items()]
        columns = Column("what", " ", parts="is_part"), Column("count", " ", digits=digits)
        return Table("size", "", "", data, columns)

    def _ranks(self) -> Table:
        new = self.new_by_depth
        bounds = [*range(1, min(_EACH, len(new)) + 1)]
        power = _EACH
        while power < len(new):
            bounds += [step * power for step in (2, 5, 10) if step * power < len(new)]
            power *= 10
        if bounds and bounds[-1] < len(new):
            bounds.append(len(new))
        total = np.cumsum(new)
        rank = np.arange(1, len(new) + 1)
        data = pa.table({"rank": rank, "new": new, "so_far": total})
        first, last = np.array([1, *(np.array(bounds[:-1]) + 1)])[: len(bounds)], np.array(bounds, np.intp)
        names = [f"{one}" if one == other else f"{one}-{other}" for one, other in zip(first, last, strict=True)]
        so_far = total[last - 1]
        view = pa.table({"rank": pa.array(names, pa.string()), "new": np.diff(so_far, prepend=0), "so_far": so_far})
        columns = Column("rank"), Column("new", "new triples"), Column("so_far", "so far")
        return Table("ranks", "", "", data, columns, view=view)

    def _overlap(self) -> Table:
        share = np.where(np.eye(len(self.runs), dtype=bool), np.nan, self.shared / np.maximum(self.size, 1)[:, None])
        data = {"run": (0, self.runs), "other": (1, self.runs), "triples": self.shared, "share": share}
        columns = Column("run"), Column("share", form="share", digits=1, across="other")
        title = "share of the row's triples that the column put in too"
        return Table("overlap", title, "", long_table(share.shape, data), columns)


def summarise_pool(
    pool: Pool,
    families: Mapping[str, str] | None = None,
    automatic: Automatic | None = None,
    known_answers: Qrels | None = None,
) -> PoolSummary:
    """Count the triples of a pool.

    Parameters
    ----------
    pool : Pool
    families : mapping, optional
        Run to family.
    automatic : Automatic, optional
        Which of its triples are judged N without a person.
    known_answers : Qrels, optional
        The answers known before, with the vocabularies of the pool's questions.

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
    automatic = automatic or Automatic.none(n)
    families = families or {}
    return PoolSummary(
        triples=n,
        stood_for=float(np.sum(1 / pool.probability)),
        contributions=len(pool.triple),
        questions=n_questions,
        known_answers=None if known_answers is None else len(triples_of(known_answers, pool.questions)),
        empty_questions=int(np.count_nonzero(per_question == 0)),
        per_question=(
            int(per_question.min(initial=n)),
            float(np.median(per_question)) if n_questions else 0.0,
            int(per_question.max(initial=0)),
        ),
        new_by_depth=np.bincount(pool.depth, minlength=1)[1:],
        automatic={name: int(np.sum(automatic.rule == code)) for code, name in enumerate(automatic.rules)},
        runs=pool.runs,
        families=tuple(families.get(name, "") for name in pool.runs),
        size=np.diagonal(shared).copy(),
        unique=(is_from & (in_runs == 1)).sum(axis=1),
        shared=shared,
        by_runs=np.bincount(in_runs, minlength=n_runs + 1)[1:],
    )


def triples_of(qrels: Qrels, questions: Questions) -> Triples:
    """Find the distinct triples of the answers in qrels of these questions, by first row.

    One triple may answer both of its questions.
    """
    answer = qrels.grade >= 1
    triples = questions.triples(qrels.question[answer], qrels.entity[answer])
    return triples.take(np.sort(first_places(triples.keys())))


def shared_triples(is_from: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count the triples that both of two runs contributed, (runs, runs), from (runs, n) :attr:`Pool.is_from`.

    One row at a time, so that no more memory than for the table itself is needed.

    Examples
    --------
    >>> shared_triples(np.array([[True, True], [False, True]])).tolist()
    [[2, 1], [1, 1]]
    """
    n_runs = len(is_from)
    counts = np.array([np.count_nonzero(is_from & own, axis=1) for own in is_from], np.int64)
    return counts.reshape(n_runs, n_runs)
