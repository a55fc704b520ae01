"""A judged sample of a pool -> what the whole pool would have said: how many positives, and average precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.decisions import AUTOMATIC, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.sample_estimates import PositiveEstimates
from kgtrec.data.scores import Scores
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, nearest
from kgtrec.judging import judge
from kgtrec.kernels.inverse_probability import estimated_totals, extended_inferred_ap, sampled_ap
from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.kernels.pooling import stratum_of

GROUPS = ("all", "relation", "stratum")


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """The strata of a sampled pool: triples of one probability are of one, and those judged by a rule of another."""

    stratum: NDArray[np.intp]  # (n,) per triple of the pool
    drawn: NDArray[np.int64]  # (h,) judged triples
    population: NDArray[np.int64]  # (h,) triples that the sample was drawn from
    probability: NDArray[np.float64]  # (h,) as it was drawn
    by_rule: NDArray[np.bool_]  # (h,) judged by a rule

    @classmethod
    def of(cls, pool: Pool, decisions: Decisions) -> _Strata:
        # rules judge all that they apply to, people perhaps a part: verdicts of rules tell nothing of what is left
        by_rule = decisions.state == AUTOMATIC
        pairs = np.stack([pool.probability, by_rule])
        (probability, is_by_rule), stratum = np.unique(pairs, axis=1, return_inverse=True)
        stratum = stratum.ravel()
        size = np.bincount(stratum, minlength=len(probability))
        drawn = np.bincount(stratum[decisions.verdict >= 0], minlength=len(probability))
        if np.any(drawn == 0):
            place = int(np.argmin(drawn))
            raise KgtrecError(
                f"expected a settled triple in each stratum, found none among the {size[place]:,} that were drawn with "
                f"probability {probability[place]:.4g}; judge some first"
            )
        population = np.round(size / probability).astype(np.int64)
        return cls(stratum, drawn, population, probability, is_by_rule > 0)


def triple_weights(pool: Pool, decisions: Decisions) -> NDArray[np.float64]:
    """(n,) how many triples, sampled or not, each settled triple of a pool stands for; 0 for what is not settled.

    Raises
    ------
    KgtrecError
        As :func:`estimate_positives`.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47.
    """
    verdict = _verdicts(pool, decisions)
    strata = _Strata.of(pool, decisions)
    weight: NDArray[np.float64] = (strata.population / strata.drawn)[strata.stratum]
    return np.where(verdict >= 0, weight, 0.0)


def estimate_positives(pool: Pool, decisions: Decisions, *, by: str = "all") -> PositiveEstimates:
    """How many positives the pool that was sampled from holds.

    Triples of one inclusion probability are taken for one stratum, sampled at random without replacement, and within
    it those without a verdict for missing at random; those that a rule has judged are a stratum of their own.

    Parameters
    ----------
    pool : Pool
        With inclusion probabilities, such as strategy ``stratified`` of :func:`kgtrec.pooling.pool_runs` stores.
    decisions : Decisions
        One per triple of the pool.
    by : {"all", "relation", "stratum"}

    Raises
    ------
    KgtrecError
        If the decisions are of another pool, nothing is pooled, or nothing of a stratum is settled.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.questions import questions_of
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam"), ("ann", "likes", "pie")])
    >>> three, none = np.arange(3), np.zeros(3, np.int32)
    >>> pool = Pool.of(
    ...     triples, three, none + 3, none, three + 1, ["mine"], questions_of(triples), np.array([1, 0.25, 0.25])
    ... )
    >>> decisions = Decisions(np.full(3, 2, np.int8), np.array([1, 1, 0], np.int8))  # agreed: Y, Y, N
    >>> estimate_positives(pool, decisions).to_table().to_pylist()
    [{'all': 'pool', 'judged': 3, 'found': 2, 'positives': 5.0, 'error': 3.4641016151377544}]
    """
    if by not in GROUPS:
        raise KgtrecError(f"expected groups by {', '.join(GROUPS)}, found {by!r}{nearest(str(by), GROUPS)}")
    verdict = _verdicts(pool, decisions)
    strata = _Strata.of(pool, decisions)
    settled = verdict >= 0
    group, labels = _groups(pool, strata, by)
    found = estimated_totals(
        (verdict[settled] == 1).astype(np.float64), strata.stratum[settled], strata.population,
        group=group[settled], n_groups=len(labels),
    )  # fmt: skip
    judged = np.bincount(group[settled], minlength=len(labels))
    hits = np.bincount(group[verdict == 1], minlength=len(labels))
    return PositiveEstimates(by, labels, judged, hits, found.total, np.sqrt(found.variance))


def estimate_ap(
    collection: Collection,
    runs: Run | Iterable[Run],
    pool: Pool,
    decisions: Decisions,
    *,
    whole: Pool | None = None,
    bounds: Sequence[int] = (),
    by: str | None = None,
) -> Scores:
    """Average precision of runs, estimated from a judged sample of a pool.

    The answers of the collection are known for certain; positives are them and those that the sample stands for.

    Parameters
    ----------
    collection : Collection
        The one that was pooled for.
    runs : Run or iterable of Run
    pool : Pool
        With inclusion probabilities.
    decisions : Decisions
        One per triple of the pool.
    whole : Pool, optional
        All that was sampled from: the depth pool of the same runs down to the last stratum. With it the measure is
        ``xinfAP``, which knows where unsampled candidates stand; without it, it is ``statAP``, which does not.
    bounds : sequence of int
        For ``whole``: last rank of each stratum, as they were sampled.
    by : {None, "question"}
        The mean over all questions that were pooled for and have a positive, or a value for each of these.

    Returns
    -------
    Scores
        Of one measure, ``statAP`` or ``xinfAP``. A question that a run does not answer counts 0.

    Raises
    ------
    KgtrecError
        If the decisions are of another pool, the strata do not fit, or nothing of a stratum is settled.
    CollectionError
        If a run has no question in common with the pool.

    References
    ----------
    Aslam, Pavlu (2007), A practical sampling strategy for efficient retrieval evaluation, for statAP; Yilmaz,
    Kanoulas, Aslam (2008), SIGIR, for xinfAP.
    """
    if by not in (None, "question"):
        raise KgtrecError(f"expected a value for each question or one for all (by None), found {by!r}")
    verdict = _verdicts(pool, decisions)
    judged = (
        _sampled_rows(collection, pool, decisions)
        if whole is None
        else _whole_rows(collection, pool, verdict, whole, bounds)
    )
    named = [runs] if isinstance(runs, Run) else list(runs)
    values = np.array([judged.estimate(run) for run in named]).reshape(len(named), 1, -1)
    has_positive = np.zeros(len(pool.questions), np.bool_)
    has_positive[judged.qrels.question[judged.verdict[judged.qrels.grade] == 1]] = True
    values = values[:, :, has_positive]
    measure = "statAP" if whole is None else "xinfAP"
    systems = tuple(run.name for run in named)
    if by is None:
        return Scores(systems, (measure,), values.mean(axis=2, keepdims=True))
    return Scores(systems, (measure,), values, {"question": pool.questions.ids.labels.filter(pa.array(has_positive))})


@dataclass(frozen=True, slots=True, eq=False)
class _JudgedRows:
    """The qrels of a pool, whose grades are numbers of rows, so that what is known of each can be looked up."""

    qrels: Qrels  # grade: row in the columns below
    verdict: NDArray[np.int32]  # 1, 0, or -1: in the pool, without a verdict
    stratum: NDArray[np.intp]
    drawn: NDArray[np.int64]  # (h,); of none: strata are the question's own, and so are their sizes
    population: NDArray[np.int64]  # (h,)

    def estimate(self, run: Run) -> NDArray[np.float64]:
        """(n_questions,) average precision of a run."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # of questions that were not pooled for
            numbered = judge(run, self.qrels).ranking
        rows, judged = numbered.grade, numbered.judged_grade
        ranking: JudgedRanking = replace(numbered, grade=self.verdict[rows], judged_grade=self.verdict[judged])
        if len(self.population) == 0:
            return extended_inferred_ap(ranking, self.stratum[rows], self.stratum[judged])
        return sampled_ap(ranking, self.stratum[rows], self.stratum[judged], self.drawn, self.population)


def _sampled_rows(collection: Collection, pool: Pool, decisions: Decisions) -> _JudgedRows:
    verdict = decisions.verdict
    strata = _Strata.of(pool, decisions)
    certain = len(strata.drawn)
    kept = verdict >= 0
    qrels, triple = _qrels(collection, pool, kept)
    known = triple < 0
    seeds = np.array([known.sum()])
    return _JudgedRows(
        qrels,
        np.where(known, 1, verdict[triple]).astype(np.int32),
        np.where(known, certain, strata.stratum[triple]),
        np.append(strata.drawn, seeds),
        np.append(strata.population, seeds),
    )


def _whole_rows(
    collection: Collection, pool: Pool, verdict: NDArray[np.int8], whole: Pool, bounds: Sequence[int]
) -> _JudgedRows:
    depth = whole.depth
    if not bounds or list(bounds) != sorted(set(bounds)) or (len(depth) and bounds[-1] < depth.max()):
        raise KgtrecError(
            f"expected ascending last ranks of the strata down to rank {depth.max(initial=0)}, found {list(bounds)}"
        )
    same = pool.questions.ids.same_as(whole.questions.ids)
    if not same or not pool.triples.entities.same_as(whole.triples.entities):
        raise CollectionError("expected a sample and a whole pool of the same questions of one collection")
    ours = pool.triples
    row = whole.rows(ours.head, ours.relation, ours.tail)
    if np.any(row < 0):
        raise CollectionError(f"expected a sample of the whole pool, found {np.sum(row < 0):,} triples outside of it")
    settled = np.full(len(whole), -1, np.int32)
    settled[row] = verdict
    qrels, triple = _qrels(collection, whole, np.ones(len(whole), np.bool_))
    none = np.zeros(0, np.int64)
    stratum = stratum_of(depth, tuple(bounds))
    known = triple < 0
    return _JudgedRows(
        qrels, np.where(known, 1, settled[triple]).astype(np.int32), np.where(known, len(bounds), stratum[triple]),
        none, none,
    )  # fmt: skip


def _qrels(collection: Collection, pool: Pool, kept: NDArray[np.bool_]) -> tuple[Qrels, NDArray[np.intp]]:
    """Some triples of the pool and the collection's answers as qrels of the pool's questions.

    A grade is the number of the row, and the second value has each row's triple, -1 for an answer.
    """
    questions, triples = pool.questions, pool.triples
    rows = np.flatnonzero(kept)
    head, relation, tail = triples.head[rows], triples.relation[rows], triples.tail[rows]
    at_head = questions.rows(np.ones(len(rows), np.bool_), relation, tail)
    at_tail = questions.rows(np.zeros(len(rows), np.bool_), relation, head)
    answers = collection.qrels
    own = questions.ids.encode(answers.questions.labels)[answers.question]
    own_entity = questions.entities.encode(answers.entities.labels)[answers.entity]
    is_ours = (own >= 0) & (own_entity >= 0) & (answers.grade >= 1)
    question = np.concatenate([at_head, at_tail, own[is_ours]]).astype(np.int32)
    entity = np.concatenate([head, tail, own_entity[is_ours]])
    triple = np.concatenate([rows, rows, np.full(int(is_ours.sum()), -1)])
    there = question >= 0
    question, entity, triple = question[there], entity[there], triple[there]
    number = np.arange(len(triple), dtype=np.int32)
    return Qrels.of(question, entity, number, questions.ids, questions.entities), triple


def _groups(pool: Pool, strata: _Strata, by: str) -> tuple[NDArray[np.intp], pa.StringArray]:
    """(n,) the group of each triple, and the labels of the groups."""
    if by == "stratum":
        labels = [
            f"{share:.6g}, by rule" if by_rule else f"{share:.6g}"
            for share, by_rule in zip(strata.probability, strata.by_rule, strict=True)
        ]
        return strata.stratum, pa.array(labels, pa.string())
    if by == "relation":
        codes, group = np.unique(pool.triples.relation, return_inverse=True)
        return group, pool.triples.relations.decode(codes)
    return np.zeros(len(pool), np.intp), pa.array(["pool"], pa.string())


def _verdicts(pool: Pool, decisions: Decisions) -> NDArray[np.int8]:
    if len(decisions) != len(pool):
        raise KgtrecError(f"expected one decision per triple of the pool, found {len(decisions):,} of {len(pool):,}")
    if len(pool) == 0:
        raise KgtrecError("expected a pool with triples, found an empty one")
    return decisions.verdict
