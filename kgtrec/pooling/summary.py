"""The size of a pool, and the contributions of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.campaign import NOT_DRAWN, Automatic
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.table import Column, Table, TabledResult
from kgtrec.data.triples import Triples
from kgtrec.errors import counted
from kgtrec.kernels.integer_keys import distinct, first_places

_SHARE = Column("share", form="share", digits=1)
_EACH = 10  # ranks with a line of their own; those below are grouped, in steps of 1, 2 and 5 times a power of ten


def summarise_pool(
    pool: Pool,
    families: Mapping[str, str] | None = None,
    automatic: Automatic | None = None,
    known_answers: Qrels | None = None,
) -> TabledResult:
    """Count the triples of a pool, each once.

    Parameters
    ----------
    pool : Pool
        What is counted.
    families : mapping, optional
        Run to family.
    automatic : Automatic, optional
        Which of its triples are judged N without a person.
    known_answers : Qrels, optional
        The answers known before, with the vocabularies of the pool's questions.

    Returns
    -------
    TabledResult
        ``size``, ``ranks`` and ``runs``, what each adds; for several runs ``overlap`` and ``agreement``: the share of
        its triples that each run has in common with each other one, and how many triples are from 1, 2, ... runs.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import questions_of
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam")])
    >>> asked = questions_of(triples)
    >>> tail0 = np.full(3, list(asked.ids).index("tail0"))
    >>> pool = Pool.of(triples, np.array([0, 1, 1]), tail0, np.array([0, 0, 1]), np.array([1, 2, 1]), ["a", "b"], asked)
    >>> summarise_pool(pool)["runs"].select(["run", "triples", "unique"]).to_pydict()
    {'run': ['a', 'b'], 'triples': [2, 1], 'unique': [1, 0]}
    """
    known = None if known_answers is None else len(triples_of(known_answers, pool.questions))
    tables = _size(pool, automatic or Automatic.none(len(pool)), known), _ranks(pool), _runs(pool, families or {})
    return TabledResult((*tables, *_common(pool)) if len(pool.runs) > 1 else tables)


def _size(pool: Pool, automatic: Automatic, n_known_answers: int | None) -> Table:
    n = len(pool)
    asked = distinct(pool.question.astype(np.int64) * max(n, 1) + pool.triple)
    per_question = np.bincount(asked // max(n, 1), minlength=len(pool.questions))
    rows: dict[str, float] = {"triples": n}
    if round(stood_for := float(np.sum(1 / pool.probability))) != n:
        rows["sampled from"] = stood_for
    rows |= {"contributions": len(pool.triple), "questions": len(pool.questions)}
    if n_known_answers is not None:
        rows["known answers"] = n_known_answers
    rows |= {
        "questions with nothing pooled": int(np.count_nonzero(per_question == 0)),
        "triples a question, min": int(per_question.min(initial=n)),
        "triples a question, median": float(np.median(per_question)) if len(per_question) else 0.0,
        "triples a question, max": int(per_question.max(initial=0)),
    }
    if automatic.rules:
        rows["judged N without a person"] = int(automatic.is_automatic.sum())
        rows |= {name: int(np.sum(automatic.rule == code)) for code, name in enumerate(automatic.rules)}
    if not_drawn := int(np.sum(automatic.rule == NOT_DRAWN)):
        rows["not in the sample"] = not_drawn
    if automatic.rules or not_drawn:
        rows["for people to judge"] = int(automatic.for_people.sum())
    count = pa.array(rows.values(), pa.float64())
    data = pa.table({"what": [*rows], "count": count, "is_part": [name in automatic.rules for name in rows]})
    digits = [int(number % 1 > 0 and name != "sampled from") for name, number in rows.items()]
    columns = Column("what", " ", parts="is_part"), Column("count", " ", digits=digits)
    return Table("size", "", "", data, columns)


def _ranks(pool: Pool) -> Table:
    """How many triples have their lowest rank at 1, 2, ...; shown are groups of ranks."""
    new = np.bincount(pool.depth, minlength=1)[1:]
    bounds = [*range(1, min(_EACH, len(new)) + 1)]
    power = _EACH
    while power < len(new):
        bounds += [step * power for step in (2, 5, 10) if step * power < len(new)]
        power *= 10
    if bounds and bounds[-1] < len(new):
        bounds.append(len(new))
    total = np.cumsum(new)
    data = pa.table({"rank": np.arange(1, len(new) + 1), "new": new, "so_far": total})
    first, last = np.array([1, *(np.array(bounds[:-1]) + 1)])[: len(bounds)], np.array(bounds, np.intp)
    names = [f"{one}" if one == other else f"{one}-{other}" for one, other in zip(first, last, strict=True)]
    so_far = total[last - 1]
    view = pa.table({"rank": pa.array(names, pa.string()), "new": np.diff(so_far, prepend=0), "so_far": so_far})
    columns = Column("rank"), Column("new", "new triples"), Column("so_far", "so far")
    return Table("ranks", "", "", data, columns, view=view)


def _runs(pool: Pool, families: Mapping[str, str]) -> Table:
    is_from = pool.is_from
    size, unique = is_from.sum(axis=1), (is_from & (is_from.sum(axis=0) == 1)).sum(axis=1)
    data = pa.table(
        {
            "run": pa.array(pool.runs, pa.string()),
            "family": pa.array([families.get(name, "") for name in pool.runs], pa.string()),
            "triples": size,
            "unique": unique,
            "share": unique / np.maximum(size, 1),
        }
    )
    columns = (
        Column("run"),
        Column("family", names={"": "-"}),
        Column("triples"),
        Column("unique", "no other run's"),
        _SHARE,
    )
    return Table("runs", "", "", data, columns)


def _common(pool: Pool) -> tuple[Table, Table]:
    is_from = pool.is_from
    shared, by_runs = shared_triples(is_from), np.bincount(is_from.sum(axis=0), minlength=len(is_from) + 1)[1:]
    share = np.where(np.eye(len(shared), dtype=bool), np.nan, shared / np.maximum(np.diagonal(shared), 1)[:, None])
    overlap = {"run": (0, pool.runs), "other": (1, pool.runs), "triples": shared, "share": share}
    columns = Column("run"), replace(_SHARE, across="other")
    title = "share of the row's triples that the column put in too"
    numbers = pa.array([counted(place, "run") for place in range(1, len(by_runs) + 1)], pa.string())
    agreement = pa.table({"runs": numbers, "triples": by_runs, "share": by_runs / max(len(pool), 1)})
    return (
        Table("overlap", title, "", long_table(share.shape, overlap), columns),
        Table("agreement", "", "", agreement, (Column("runs", "put in by"), Column("triples"), _SHARE)),
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
