"""Agreement of the annotators of a campaign, also beyond chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import require_judgements_of
from kgtrec.data.arrow import long_table
from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.columns import Columns
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import ANNOTATOR, NO, UNSURE, VERDICTS, YES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.table import Column, Result, Table, interval_columns
from kgtrec.data.triples import plain
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, between_0_and_1, counted, one_of, warn
from kgtrec.kernels.statistics.agreement import (
    gwet_ac1,
    krippendorff_alpha,
    pooled_kappa,
    raw_agreement,
    specific_agreement,
)
from kgtrec.kernels.statistics.resampling import bootstrap_counts, percentile_interval

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

#: prevalence is not agreement, but is needed to interpret the others
STATISTICS = ("prevalence", "raw", "positive", "negative", "kappa", "AC1", "alpha")


@dataclass(frozen=True, slots=True, eq=False)
class AgreementReport(Framed, Result):
    """One row per group (one where nothing is broken down), one column per statistic; NaN where one has no value."""

    values: NDArray[np.float64]  # (groups, statistics), columns as in STATISTICS
    triples: NDArray[np.int64]  # (groups,) judged by at least two annotators
    pairs: NDArray[np.int64]  # (groups,) pairs of verdicts on one triple
    annotators: NDArray[np.int64]  # (groups,) people with these verdicts
    questions: NDArray[np.int64]  # (groups,) of these triples
    groups: Mapping[str, pa.Array] = field(default_factory=dict)  # column name -> (groups,) labels; empty = one total
    low: NDArray[np.float64] | None = None  # (groups, statistics) lower ends of intervals; NaN where there is none
    high: NDArray[np.float64] | None = None  # (groups, statistics) upper ends
    unsure: str = "own category"  # treatment of the verdict "unsure"
    resample: str = "question"  # the unit that was resampled for the intervals
    confidence: float | None = None

    def __repr__(self) -> str:
        per = f" per {', '.join(self.groups)} ({len(self.pairs):,})" if self.groups else ""
        return f"<AgreementReport: {len(STATISTICS)} statistics{per}>"

    def value(self, statistic: str) -> float:
        """Look up one statistic of all annotators.

        Raises
        ------
        KgtrecError
            If the report is broken down, so that there are several.
        """
        if self.groups:
            raise KgtrecError(f"expected totals, found agreement per {', '.join(self.groups)}; use to_frame()")
        return float(self.values[0, STATISTICS.index(statistic)])

    def to_table(self) -> pa.Table:
        """List groups and statistics: their columns, triples, questions, pairs, statistic, value, and the interval."""
        sizes = {"triples": self.triples, "questions": self.questions, "pairs": self.pairs}
        columns: dict[str, Any] = {name: (0, labels) for name, labels in (*self.groups.items(), *sizes.items())}
        ends = {"value": self.values, "low": self.low, "high": self.high}
        ends = {name: end for name, end in ends.items() if end is not None}
        return long_table(self.values.shape, {**columns, "statistic": (1, STATISTICS), **ends})

    def tables(self) -> tuple[Table, ...]:
        """Make one table, ``agreement``: statistics down, or groups down and statistics across."""
        data, title = self.to_table(), "Agreement of annotators"
        if not self.groups:
            ends = () if self.confidence is None else interval_columns(self.confidence)
            return (Table("agreement", title, self._caption(), data, (Column("statistic"), Column("value"), *ends)),)
        low, high = ("", "") if self.low is None else ("low", "high")
        value = Column("value", low=low, high=high, across="statistic")
        columns = (*map(Column, (*self.groups, "triples", "questions", "pairs")), value)
        return (Table("agreement", title, self._caption(), data, columns),)

    def _caption(self) -> str:
        if self.groups:
            text = f"{counted(len(self.pairs), 'group')}; in each only the triples that at least two annotators judged"
        else:
            text = (
                f"{self.triples[0]:,} triples of {self.questions[0]:,} questions judged by at least two of "
                f"{self.annotators[0]:,} annotators, {self.pairs[0]:,} pairs of verdicts"
            )
        text += "; unsure is" + (" left out" if self.unsure == "leave out" else " a verdict like Y and N")
        if self.confidence is not None:
            text += f"; {self.confidence * 100:g}% bootstrap intervals, {self.resample}s resampled"
            if self.low is not None and np.isnan(self.low).all(axis=1).any():
                text += ", where there are at least two"
        return text


PER = ("relation", "pair")
DOUBTS = ("own category", "leave out")
RESAMPLED = ("question", "triple")
_CELLS = 1 << 22  # sums of bootstrap samples in memory at a time, 32 MB
_WHY_NOT = {
    "positive": "nobody says Y",
    "negative": "nobody says N",
    "kappa": "all verdicts of each pair of annotators are the same",
    "alpha": "all verdicts are the same",
}


def annotator_agreement(
    pool: Pool,
    judgements: Judgements,
    *,
    per: Literal["relation", "pair"] | None = None,
    unsure: Literal["own category", "leave out"] = "own category",
    confidence: float | None = 0.95,
    resample: Literal["question", "triple"] = "question",
    question: NDArray[np.int32] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    warns: bool = True,
) -> AgreementReport:
    """Measure the agreement between annotators, with bootstrap intervals.

    The last verdict of each annotator on each triple counts; those of adjudicators and experts do not. Triples that
    fewer than two annotators judged are left out of everything, also of the prevalence.

    Parameters
    ----------
    pool : Pool
        The triples that were judged.
    judgements : Judgements
        Events of that pool, oldest first.
    per : {"relation", "pair"}, optional
        Report each relation, or each pair of annotators with a triple in common, separately.
    unsure : {"own category", "leave out"}
        How "unsure" counts: as a verdict like Y and N, so that Y and unsure disagree, or not at all.
    confidence : float, optional
        Of the intervals, between 0 and 1; None for no intervals. With fewer than two questions (or triples, if these
        are resampled) the ends are NaN.
    resample : {"question", "triple"}
        What is drawn with replacement. One search is used for all candidates of a question, so their verdicts are
        dependent.
    question : (n,) int array, optional
        The question with which each triple of the pool is judged, row in its questions. Default: that of
        :func:`kgtrec.campaign.assign.groups_of` without automatic triples.
    resamples : int
        Bootstrap samples.
    seed : int
        Equal seeds give equal intervals, for any order of events, people and questions.
    warns : bool
        Whether to warn of statistics without a value.

    Returns
    -------
    AgreementReport
        ``prevalence`` is the share of Y among the verdicts; ``raw`` the share of pairs of verdicts that agree;
        ``positive`` and ``negative`` the specific agreement on Y and N; ``kappa`` Cohen's, pooled over the pairs of
        annotators; ``AC1`` Gwet's; ``alpha`` Krippendorff's for nominal data. NaN, and a warning, where one is
        undefined.

    Raises
    ------
    KgtrecError
        If an option is unknown or out of range, or the events are of another pool.

    See Also
    --------
    kgtrec.campaign.annotator_errors : What each annotator gets wrong, without gold.
    kgtrec.campaign.calibration : The same by gold.

    References
    ----------
    See :mod:`kgtrec.kernels.statistics.agreement` for each statistic; Efron, Tibshirani (1993),
    An Introduction to the Bootstrap.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples = Triples.of([("ann", "knows", "bob"), ("ann", "knows", "eve")])
    >>> asked = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...                   triples.entities, triples.relations)
    >>> both, none = np.array([0, 1]), np.array([0, 0])
    >>> pool = Pool.of(triples, both, none, none, both + 1, ["mine"], asked)
    >>> empty = pa.array([""] * 4)
    >>> said = Judgements(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4, int), np.array([1, 1, 0, 1]),
    ...                   empty, empty, empty, Vocabulary.of(["kim", "lee"]))
    >>> report = annotator_agreement(pool, said)
    >>> report.value("raw"), report.value("prevalence")
    (0.5, 0.75)
    """
    if per is not None:
        one_of("per to be one of", per, PER)
    one_of("unsure to be one of", unsure, DOUBTS)
    one_of("resample to be one of", resample, RESAMPLED)
    if confidence is not None:
        between_0_and_1("a confidence", confidence)
    if resamples < 1:
        raise KgtrecError(f"expected at least 1 bootstrap sample, got {resamples}")
    asked = questions_in_order(pool, question)
    cluster = np.arange(len(pool), dtype=np.int32) if resample == "triple" else asked
    verdicts = _verdicts(pool, judgements, cluster, leave_out_unsure=unsure == "leave out")
    n_categories = 2 if unsure == "leave out" else len(VERDICTS)
    groups = list(_grouped(pool, judgements.annotators, verdicts, per))
    values = np.full((len(groups), len(STATISTICS)), np.nan)
    ends = np.full((2, *values.shape), np.nan)
    sizes = np.zeros((4, len(groups)), np.int64)
    for group, (_, own) in enumerate(groups):
        sums = _Sums.of(own, n_categories)
        values[group] = sums.statistics(np.asarray(sums.columns.sum(axis=0), np.float64).ravel())
        n_triples, n_people, n_questions = (len(np.unique(c)) for c in (own.triple, own.annotator, asked[own.triple]))
        sizes[:, group] = n_triples, len(own.pairs()[0]), n_people, n_questions
        if confidence is not None and sums.columns.shape[0] > 1:
            ends[:, group] = percentile_interval(sums.of_samples(resamples, seed), confidence)
    if warns:
        _warn_undefined(values, sizes[1], per)
    names = {"relation": ("relation",), "pair": ("annotator", "other")}.get(per or "", ())
    labels = {name: pa.array([label[i] for label, _ in groups], pa.string()) for i, name in enumerate(names)}
    low, high = (None, None) if confidence is None else ends
    counts = sizes[0], sizes[1], sizes[2], sizes[3]
    return AgreementReport(values, *counts, labels, low, high, unsure, resample, confidence)


def campaign_agreement(campaign: Campaign, **options: Any) -> AgreementReport:
    """Measure the agreement between the annotators of a campaign, in which triples are judged with their questions.

    Parameters
    ----------
    campaign : Campaign
    **options
        As for :func:`annotator_agreement`.

    Raises
    ------
    KgtrecError
        If an option is unknown or out of range.

    Examples
    --------
    See ``kgtrec campaign agreement``.
    """
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)
    return annotator_agreement(campaign.pool, campaign.judgements, question=question, **options)


def questions_in_order(pool: Pool, question: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Number the questions with which the triples of a pool are judged, (n,), so that they can be resampled.

    In byte order of their ids, so that the same ones are drawn for any order of the questions. ``question`` is as for
    :func:`annotator_agreement`.
    """
    if question is None:
        question = groups_of(pool, Automatic.none(len(pool)))
    elif len(question) != len(pool):
        raise CollectionError(
            f"expected the questions of {len(pool):,} triples, those of the pool, got {len(question):,}"
        )
    return pool.questions.ids.byte_order[question]


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts(Columns):
    """Verdicts that count, sorted by (triple, annotator); each triple has at least two."""

    triple: NDArray[np.int32]
    annotator: NDArray[np.int32]  # position of the name in byte order
    verdict: NDArray[np.int8]
    cluster: NDArray[np.int32]  # what is resampled together

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of both verdicts of each pair on one triple, sorted by annotator."""
        pairs = [np.zeros((2, 0), np.intp)]
        _, most = np.unique(self.triple, return_counts=True)
        for apart in range(1, int(most.max(initial=1))):
            rows = np.flatnonzero(self.triple[apart:] == self.triple[:-apart])
            pairs.append(np.stack([rows, rows + apart]))
        first, second = np.concatenate(pairs, axis=1)
        return first, second


def _verdicts(pool: Pool, judgements: Judgements, cluster: NDArray[np.int32], *, leave_out_unsure: bool) -> _Verdicts:
    require_judgements_of(pool, judgements)
    latest = judgements.take(judgements.role == ANNOTATOR).latest()
    if leave_out_unsure:
        latest = latest.take(latest.verdict != UNSURE)
    annotator = judgements.annotators.byte_order[latest.annotator]
    order = np.lexsort((annotator, latest.triple))
    triple = latest.triple[order]
    verdicts = _Verdicts(triple, annotator[order], latest.verdict[order], cluster[triple])
    return verdicts.take(np.bincount(triple, minlength=len(pool))[triple] >= 2)


def _grouped(
    pool: Pool, people: Vocabulary, verdicts: _Verdicts, per: str | None
) -> Iterator[tuple[tuple[str, ...], _Verdicts]]:
    """The verdicts of each group by its labels, groups in byte order of these."""
    if per is None:
        yield (), verdicts
        return
    if per == "relation":
        triples = plain(pool.triples)
        relation = triples.relation[verdicts.triple]
        order = np.argsort(triples.relations.byte_order)
        for row in order[np.isin(order, relation)]:
            yield (triples.relations[row],), verdicts.take(relation == row)
        return
    names = sorted(people, key=str.encode)
    first, second = verdicts.pairs()
    key = verdicts.annotator[first].astype(np.int64) * len(names) + verdicts.annotator[second]
    by_pair = np.argsort(key, kind="stable")
    keys, start = np.unique(key[by_pair], return_index=True)
    for pair, rows in zip(keys.tolist(), np.split(by_pair, start[1:]), strict=bool(len(keys))):
        both = np.sort(np.concatenate([first[rows], second[rows]]))
        yield (names[pair // len(names)], names[pair % len(names)]), verdicts.take(both)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """The counts behind the statistics, summed per cluster, so that a bootstrap sample is one product of matrices.

    Triples with the same counts have one pattern. The columns are the number of triples of each pattern, then the cells
    of the table of each pair of annotators.
    """

    patterns: NDArray[np.int64]  # (p, c) people per category
    n_tables: int
    columns: csr_matrix  # (clusters, p + tables * c * c)

    @classmethod
    def of(cls, verdicts: _Verdicts, n_categories: int) -> _Sums:
        from scipy.sparse import coo_matrix

        c = n_categories
        triples, item = np.unique(verdicts.triple, return_inverse=True)
        clusters, cluster = np.unique(verdicts.cluster, return_inverse=True)
        counts = np.bincount(item * c + verdicts.verdict, minlength=len(triples) * c).reshape(-1, c)
        patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
        of_item = np.zeros(len(triples), np.intp)
        of_item[item] = cluster
        first, second = verdicts.pairs()
        people = verdicts.annotator.astype(np.int64)
        tables, table = np.unique(people[first] * (people.max(initial=0) + 1) + people[second], return_inverse=True)
        cell = (table * c + verdicts.verdict[first]) * c + verdicts.verdict[second]
        row = np.concatenate([of_item, cluster[first]])
        column = np.concatenate([pattern.ravel(), len(patterns) + cell])
        shape = len(clusters), len(patterns) + len(tables) * c * c
        return cls(patterns, len(tables), coo_matrix((np.ones(len(row)), (row, column)), shape).tocsr())

    def of_samples(self, repeats: int, seed: int) -> NDArray[np.float64]:
        """(repeats, statistics) from bootstrap samples of the clusters."""
        at_once = max(1, _CELLS // self.columns.shape[1])
        samples = [
            self.statistics(np.asarray(counts[first : first + at_once] @ self.columns))
            for counts in bootstrap_counts(self.columns.shape[0], repeats, seed)
            for first in range(0, len(counts), at_once)
        ]
        return np.concatenate(samples)

    def statistics(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """(..., statistics) in the order of ``STATISTICS``, from (..., columns)."""
        patterns, c = self.patterns, self.patterns.shape[1]
        times = sums[..., : len(patterns)]
        tables = sums[..., len(patterns) :].reshape(*sums.shape[:-1], self.n_tables, c, c)
        verdicts = times @ patterns.astype(np.float64)
        n = verdicts.sum(axis=-1)
        statistics: Mapping[str, NDArray[np.float64]] = {
            "prevalence": np.divide(verdicts[..., YES], n, out=np.full_like(n, np.nan), where=n > 0),
            "raw": raw_agreement(patterns, times),
            "positive": specific_agreement(patterns, YES, times),
            "negative": specific_agreement(patterns, NO, times),
            "kappa": pooled_kappa(tables),
            "AC1": gwet_ac1(patterns, times),
            "alpha": krippendorff_alpha(patterns, times),
        }
        return np.stack([statistics[name] for name in STATISTICS], axis=-1)


def _warn_undefined(values: NDArray[np.float64], pairs: NDArray[np.int64], per: str | None) -> None:
    """Warn of statistics without a value, once each, with the reason."""
    if not pairs.any():
        warn(f"no triple was judged by two annotators, so there is no value for any of {', '.join(STATISTICS)}")
        return
    for column, name in enumerate(STATISTICS):
        missing = int(np.isnan(values[:, column]).sum())
        if missing:
            where = "" if per is None else f" for {missing:,} of {len(values):,} {per}s"
            warn(f"{name} has no value{where}: {_WHY_NOT[name]}")
