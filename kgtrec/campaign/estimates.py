"""Estimates for a whole pool from a judged sample of it: the number of positives, and average precision."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import require_whole
from kgtrec.data.arrow import arrow_of
from kgtrec.data.collection import Collection
from kgtrec.data.columns import Columns
from kgtrec.data.judgements import AUTOMATIC, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completed_rows
from kgtrec.data.run import AnyRun
from kgtrec.data.scores import Scores
from kgtrec.data.triples import plain
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, one_of
from kgtrec.evaluation.belonging import different_systems
from kgtrec.evaluation.given import each_run, each_system
from kgtrec.evaluation.matching import match
from kgtrec.kernels.sampling.inverse_probability import estimated_totals
from kgtrec.kernels.sampling.pooling import stratum_of
from kgtrec.kernels.sampling.sampled_precision import (
    ExpectedShares,
    expected_average_precision,
    expected_shares,
    share_by_place,
    share_model,
)


@dataclass(frozen=True, slots=True, eq=False)
class PositiveEstimates(Columns):
    """Number of positive triples in the whole pool, estimated from a sample, one row per group of triples."""

    by: str  # kind of the groups
    groups: pa.StringArray  # (g,) their labels
    judged: NDArray[np.int64]  # (g,) judged triples of the sample
    found: NDArray[np.int64]  # (g,) positives among them
    positives: NDArray[np.float64]  # (g,) estimated, in the whole pool
    error: NDArray[np.float64]  # (g,) standard error; NaN where a stratum has one judged triple of several

    def __repr__(self) -> str:
        return f"<PositiveEstimates: {len(self)} by {self.by}>"

    def to_table(self) -> pa.Table:
        """List a row per group."""
        numbers = {name: arrow_of(getattr(self, name)) for name in ("judged", "found", "positives", "error")}
        return pa.table({self.by: self.groups} | numbers)


GROUPS = ("all", "relation", "stratum")
_MOST_KINDS = 12  # of strata that average precision distinguishes


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """The strata that were sampled separately, and their kinds.

    A kind is a stratum of ranks over all questions, or, if these are unknown, one inclusion probability; triples that
    rules have judged are separate kinds. The kinds are also the strata if some question has too few verdicts of a kind,
    and if a share of each kind was sampled over all questions.
    """

    kind: NDArray[np.intp]  # (n,) per triple of the pool
    labels: tuple[str, ...]  # (k,) of the kinds
    stratum: NDArray[np.intp]  # (n,)
    drawn: NDArray[np.int64]  # (h,) judged triples
    population: NDArray[np.int64]  # (h,) triples that the sample was drawn from
    weight: NDArray[np.float64]  # (n,) triples that each one represents, including itself; 0 without a verdict

    @classmethod
    def of(cls, pool: Pool, decisions: Decisions) -> _Strata:
        # rules judge all that they apply to, people perhaps a part: verdicts of rules do not represent the rest
        by_rule, settled = decisions.state == AUTOMATIC, decisions.verdict >= 0
        level = stratum_of(pool.depth, pool.strata) if pool.strata else pool.probability
        (levels, is_by_rule), kind = np.unique(np.stack([level, by_rule]), axis=1, return_inverse=True)
        kind, n_kinds = kind.reshape(-1), len(levels)
        called = [f"ranks to {pool.strata[int(each)]}" if pool.strata else f"{each:.6g}" for each in levels]
        labels = tuple(name + ", by rule" * bool(rule) for name, rule in zip(called, is_by_rule, strict=True))
        size, drawn = np.bincount(kind, minlength=n_kinds), np.bincount(kind[settled], minlength=n_kinds)
        if np.any(drawn == 0):
            place = int(np.argmin(drawn))
            what = f"of {called[place]}" if pool.strata else f"that were drawn with probability {levels[place]:.4g}"
            raise KgtrecError(
                f"expected a settled triple in each stratum, found none among the {size[place]:,} {what}; "
                "judge some first"
            )
        stands_for = 1.0 / pool.probability
        wanted = np.bincount(kind, weights=stands_for, minlength=n_kinds)
        seen = np.bincount(kind[settled], weights=stands_for[settled], minlength=n_kinds)
        weight = np.where(settled, stands_for * (wanted / seen)[kind], 0.0)
        stratum = kind
        if pool.strata and np.all(settled):
            _, own = np.unique(np.stack([kind, pool.home]), axis=1, return_inverse=True)
            own = own.reshape(-1)
            of_own, population = np.bincount(own), np.bincount(own, weights=stands_for)
            if np.all((of_own > 1) | (population < 1.5)):
                stratum, drawn, wanted = own, of_own, population
        return cls(kind, labels, stratum, drawn, np.round(wanted).astype(np.int64), weight)


def triple_weights(pool: Pool, decisions: Decisions) -> NDArray[np.float64]:
    """Find how many triples, sampled or not, each settled triple of a pool represents, (n,); 0 for undecided ones.

    Raises
    ------
    KgtrecError
        As :func:`estimate_positives`.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47.
    """
    _verdicts(pool, decisions)
    return _Strata.of(pool, decisions).weight


def estimate_positives(pool: Pool, decisions: Decisions, *, by: str = "all") -> PositiveEstimates:
    """Estimate the number of positives in the pool that was sampled from.

    A stratum of ranks was sampled at random without replacement, question by question or over all of them; its triples
    without a verdict are assumed to be missing at random, and those that a rule has judged are a separate stratum. If
    some are undecided, the error is that of a sample over all questions, which is conservative.

    Parameters
    ----------
    pool : Pool
        With inclusion probabilities, such as strategy ``stratified`` of :func:`kgtrec.pool_runs` stores.
    decisions : Decisions
        One per triple of the pool.
    by : {"all", "relation", "stratum"}
        One estimate for the whole pool, or one for each relation or stratum. Default: "all".

    Raises
    ------
    KgtrecError
        If the decisions are of another pool, the pool is empty, or a stratum has no settled triple.

    See Also
    --------
    kgtrec.campaign.estimate_ap : The scores of runs from the same sample.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import questions_of
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam"), ("ann", "likes", "pie")])
    >>> three, none = np.arange(3), np.zeros(3, np.int32)
    >>> pool = Pool.of(
    ...     triples, three, none + 3, none, three + 1, ["mine"], questions_of(triples), np.array([1, 0.25, 0.25])
    ... )
    >>> decisions = Decisions(np.full(3, 2, np.int8), np.array([1, 1, 0], np.int8))  # agreed: Y, Y, N
    >>> estimate_positives(pool, decisions).to_table().to_pylist()
    [{'all': 'pool', 'judged': 3, 'found': 2, 'positives': 5.0, 'error': 3.4641016151377544}]
    """
    one_of("groups by", by, GROUPS)
    verdict = _verdicts(pool, decisions)
    strata = _Strata.of(pool, decisions)
    settled = verdict >= 0
    group, labels = _groups(pool, strata, by)
    # in units of the triples that each one of its stratum represents on average
    unit = (strata.population / strata.drawn)[strata.stratum]
    estimate = estimated_totals(
        np.where(verdict == 1, strata.weight / unit, 0.0)[settled],
        strata.stratum[settled],
        strata.population,
        group=group[settled],
        n_groups=len(labels),
    )
    judged = np.bincount(group[settled], minlength=len(labels))
    hits = np.bincount(group[verdict == 1], minlength=len(labels))
    return PositiveEstimates(by, labels, judged, hits, estimate.total, np.sqrt(estimate.variance))


def estimate_ap(
    collection: Collection,
    runs: AnyRun | Iterable[AnyRun],
    pool: Pool,
    decisions: Decisions,
    *,
    whole: Pool | None = None,
    bounds: Sequence[int] = (),
    by: str | None = None,
) -> Scores:
    """Estimate the average precision of runs from a judged sample of a pool.

    The answers of the collection are certain. Each of the other candidates of a question and a stratum is relevant with
    the same probability, whose distribution over the questions is estimated from all judgements, and the estimate is
    average precision in expectation: a question with few judgements borrows from the others. See
    :mod:`kgtrec.kernels.sampling.sampled_precision`. If everything is judged it is average precision itself.

    The quotients of the papers, which estimate the number of positives from each question's own sample, are up to
    64% too high on small samples; docs/pooling-average-precision.csv has a simulation of both.

    Parameters
    ----------
    collection : Collection
        For which the pool was made.
    runs : Run or iterable of Run
        The runs to score; an iterable is read one run at a time.
    pool : Pool
        With inclusion probabilities.
    decisions : Decisions
        One per triple of the pool.
    whole : Pool, optional
        The pool that was sampled from: the depth pool of the same runs down to the last stratum. With it the measure is
        ``xinfAP``, which uses the positions of unsampled candidates; without it, it is ``statAP``, in which the sampled
        ones of their stratum represent them.
    bounds : sequence of int
        For ``whole``: last rank of each sampled stratum. Default: the pool's.
    by : {None, "question"}
        The mean over all questions of the pool that have a positive, or a value for each of these. The value of a
        question with few judgements may be above 1; the mean is 1 at most.

    Returns
    -------
    Scores
        Of one measure, ``statAP`` or ``xinfAP``. A question that a run does not answer counts 0.

    Raises
    ------
    KgtrecError
        If the decisions are of another pool, the strata do not fit, a stratum has no settled triple, there are answer
        ranks instead of runs or no runs, or two have one name.
    CollectionError
        If the pool or a run is of another collection, or a run has no question in common with the pool.

    See Also
    --------
    kgtrec.campaign.estimate_positives : The number of positives from the same sample.

    References
    ----------
    Aslam, Pavlu (2007), A practical sampling strategy for efficient retrieval evaluation, for statAP; Yilmaz,
    Kanoulas, Aslam (2008), SIGIR, for xinfAP; Laird (1978), Journal of the American Statistical Association 73, for the
    distribution of the shares.
    """
    if by not in (None, "question"):
        raise KgtrecError(f"expected a value for each question or one for all (by None), found {by!r}")
    verdict = _verdicts(pool, decisions)
    row = collection.questions.ids.encode(pool.questions.ids.labels)
    is_asked = (row >= 0) & (row == pool.questions.rows_in(collection.questions))
    if not is_asked.all():
        raise CollectionError(
            f"expected the collection of the pool, found one without {np.sum(~is_asked):,} of the pool's "
            f"{len(is_asked):,} questions, such as {pool.questions.ids[int(is_asked.argmin())]!r}"
        )
    judged = (
        _sampled_rows(collection, pool, decisions)
        if whole is None
        else _whole_rows(collection, pool, verdict, whole, tuple(bounds) or pool.strata)
    )
    named = list(each_run(different_systems(each_system(runs), collection)))
    values = np.array([judged.estimate(run) for run in named]).reshape(len(named), 1, -1)
    has_positive = np.zeros(len(pool.questions), np.bool_)
    has_positive[judged.qrels.question[judged.relevant[judged.qrels.grade]]] = True
    values = values[:, :, has_positive]
    measure = "statAP" if whole is None else "xinfAP"
    systems = tuple(run.name for run in named)
    if by is None:
        # the estimate of a single question may be above 1, which compensates for others; that of a mean may not
        return Scores(systems, (measure,), np.minimum(values.mean(axis=2, keepdims=True), 1.0))
    return Scores(systems, (measure,), values, {"question": pool.questions.ids.labels.filter(pa.array(has_positive))})


@dataclass(frozen=True, slots=True, eq=False)
class _JudgedRows:
    """The qrels of a pool, whose grades are row numbers, by which the columns below are looked up."""

    qrels: Qrels  # grade: row in the columns below
    judged: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    kind: NDArray[np.intp]  # of stratum
    stands_for: NDArray[np.float64]  # unjudged candidates of its kind
    unjudged: NDArray[np.int64]  # (n_questions, n_kinds)
    shares: ExpectedShares
    is_whole: bool  # whether each unjudged candidate has a row of its own

    @classmethod
    def of(
        cls,
        qrels: Qrels,
        verdict: NDArray[np.int32],
        kind: NDArray[np.intp],
        stands_for: NDArray[np.float64],
        *,
        is_whole: bool,
    ) -> _JudgedRows:
        """Columns by the grades of the qrels; a verdict is 1, 0 or -1 for none, a kind -1 if certain."""
        row, n, n_kinds = qrels.grade, len(qrels.questions), int(kind.max(initial=0)) + 1
        cell = qrels.question.astype(np.int64) * n_kinds + kind[row]

        def counted(mask: NDArray[np.bool_], worth: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
            own = mask & (kind[row] >= 0)
            counts = np.bincount(cell[own], weights=None if worth is None else worth[own], minlength=n * n_kinds)
            return counts.reshape(n, n_kinds).astype(np.float64)

        own, everything = verdict[row], np.ones(len(row), np.bool_)
        judged, hits = (counted(mask).astype(np.int64) for mask in (own >= 0, own == 1))
        unjudged = np.round(counted(everything, stands_for[row])).astype(np.int64)
        relevant = np.bincount(qrels.question[own == 1], minlength=n)
        # a completely judged stratum represents only itself
        is_open = unjudged.any(axis=0)
        shares = expected_shares(relevant, unjudged, share_model(judged * is_open, hits * is_open))
        return cls(qrels, verdict >= 0, verdict == 1, kind, stands_for, unjudged, shares, is_whole)

    def estimate(self, run: AnyRun) -> NDArray[np.float64]:
        """(n_questions,) average precision of a run."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # about questions that were not pooled for
            ranking = match(run, self.qrels).ranking
        position = np.full(len(self.qrels), np.inf)
        position[ranking.grade] = ranking.position
        position = position[self.qrels.grade]  # in the order of the qrels
        order = np.lexsort((position, self.qrels.question))
        row, position = self.qrels.grade[order], position[order]
        relevant, kind = self.relevant[row], self.kind[row]
        question, stands_for = self.qrels.question[order], self.stands_for[row]
        likely = share_by_place(position, self.judged[row], relevant, kind, self.unjudged.shape[1])
        # mean over the question's own unjudged candidates, if they are known, else over those of all questions
        cell = np.maximum(kind, 0) + (question.astype(np.int64) * self.unjudged.shape[1] if self.is_whole else 0)
        number = np.bincount(cell, weights=stands_for)
        total = np.bincount(cell, weights=stands_for * likely)
        average = np.divide(total, number, out=np.ones(len(number)), where=total > 0)[cell]
        return expected_average_precision(
            self.shares, self.unjudged, question, position, relevant, kind, stands_for, likely / average
        )


def _sampled_rows(collection: Collection, pool: Pool, decisions: Decisions) -> _JudgedRows:
    strata, verdict = _Strata.of(pool, decisions), decisions.verdict
    kind = strata.kind
    if len(strata.labels) > _MOST_KINDS:  # for a pool with many probabilities: group orders of magnitude
        _, kind = np.unique(np.round(np.log10(pool.probability)), return_inverse=True)
    qrels, triple = _qrels(collection, pool, verdict >= 0)
    known = triple < 0
    return _JudgedRows.of(
        qrels,
        np.where(known, 1, verdict[triple]).astype(np.int32),
        np.where(known, -1, kind[triple]),
        np.where(known, 0.0, strata.weight[triple] - 1.0),
        is_whole=False,
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
    known = triple < 0
    own = np.where(known, 1, settled[triple]).astype(np.int32)
    kind = np.where(known, -1, stratum_of(depth, tuple(bounds))[triple])
    return _JudgedRows.of(qrels, own, kind, (own < 0).astype(np.float64), is_whole=True)


def _qrels(collection: Collection, pool: Pool, kept: NDArray[np.bool_]) -> tuple[Qrels, NDArray[np.intp]]:
    """Some triples of the pool, and the collection's answers, as qrels of the pool's questions.

    A grade is the row number, and the second value has each row's triple, -1 for an answer.
    """
    questions, rows = pool.questions, np.flatnonzero(kept)
    question, entity, row = completed_rows(questions, pool.triples.take(rows))
    answers = collection.qrels.recoded(questions=questions.ids, entities=questions.entities)
    answers = answers.take((answers.question >= 0) & (answers.entity >= 0) & (answers.grade >= 1))
    triple = np.concatenate([rows[row], np.full(len(answers), -1)])
    number = np.arange(len(triple), dtype=np.int32)
    question = np.concatenate([question, answers.question])
    entity = np.concatenate([entity, answers.entity])
    return Qrels.of(question, entity, number, questions.ids, questions.entities), triple


def _groups(pool: Pool, strata: _Strata, by: str) -> tuple[NDArray[np.intp], pa.StringArray]:
    """(n,) the group of each triple, and the labels of the groups."""
    if by == "stratum":
        return strata.kind, pa.array(strata.labels, pa.string())
    if by == "relation":
        triples = plain(pool.triples)
        codes, group = np.unique(triples.relation, return_inverse=True)
        return group, triples.relations.decode(codes)
    return np.zeros(len(pool), np.intp), pa.array(["pool"], pa.string())


def _verdicts(pool: Pool, decisions: Decisions) -> NDArray[np.int8]:
    if len(decisions) != len(pool):
        raise KgtrecError(f"expected one decision per triple of the pool, found {len(decisions):,} of {len(pool):,}")
    if len(pool) == 0:
        raise KgtrecError("expected a pool with triples, found an empty one")
    require_whole(decisions)
    return decisions.verdict
