"""What the judgements of a designed sample of a pool say of the values that the whole pool would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.scores import Scores
from kgtrec.errors import KgtrecError, MeasureError, between_0_and_1, counted, warn
from kgtrec.evaluation.matching import MatchedSystem, match
from kgtrec.evaluation.prepared import Prepared, prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.kernels.lists.credit import UNLISTED, Credit, Place
from kgtrec.kernels.sampling.uncertain_labels import Lists, expected_values, label_estimates, mean_of_opened
from kgtrec.measures.names import AnyMeasure, ParsedMeasure

_LEAST_FOR_SLOPE = 30  # questions
_FEW = 100  # questions, for quotients of sums: docs/pooling.md
_ROUNDING = 1e-20  # squares of differences that are as small in comparison are zero

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def estimated_scores(qrels: SampledQrels, systems: Any, measures: Any, confidence: float, scoring: Scoring) -> Scores:
    """Estimate the values of systems that judging the whole pool would give, with intervals.

    Parameters
    ----------
    qrels : SampledQrels
    systems, measures
        As for :func:`kgtrec.evaluate`; every measure that is a mean over questions or answers of a sum over the
        relevant candidates.
    confidence : float
        Of the intervals, over all samples that the design could have drawn.
    scoring : Scoring
        Without ``missing``, ``sides`` and ``weights``.

    Returns
    -------
    Scores

    Raises
    ------
    MeasureError
        If a measure has another form.
    KgtrecError
        If candidates are tied under a rule that depends on the labels.

    Warns
    -----
    KgtrecWarning
        If a measure over answers is estimated from fewer than 100 questions.
    """
    between_0_and_1("a confidence", confidence)
    sample = sample_estimates(qrels, systems, measures, scoring)
    sample.warn_of_few_questions()
    value, error = sample.levels()
    half = sample.quantile(confidence) * error
    low, values, high = (column[:, :, None] for column in (value - half, value, value + half))
    labels = tuple(measure.label for measure in sample.measures)
    return Scores(sample.systems, labels, values, low=low, high=high, drawn="pool", confidence=confidence)


def sample_estimates(qrels: SampledQrels, systems: Any, measures: Any, scoring: Scoring) -> SampleEstimates:
    """Compute what estimates of levels and differences are made of, for each system; see :func:`estimated_scores`."""
    inputs = prepared(qrels.pairs, systems, measures, scoring.without("missing", "sides", "weights"))
    qrels = qrels.recoded(questions=inputs.qrels.questions, entities=inputs.qrels.entities)
    qrels = qrels.take(np.lexsort((qrels.entity, qrels.question)))
    of_measures = [_credit_of(measure) for measure in inputs.measures]
    names, position = [], []
    for system in inputs.systems:
        matched = match(system, inputs.qrels, inputs.scoring.ties, inputs.scoring.seed)
        names.append(matched.name)
        position.append(_positions(matched, qrels, inputs))
        if not isinstance(system, AnswerRanks):
            _refuse_ranks(inputs.measures, matched.name)
    measures = tuple(measure for measure in inputs.measures if isinstance(measure, ParsedMeasure))
    return _at_positions(tuple(names), np.array(position), qrels, measures, of_measures)


def _credit_of(measure: AnyMeasure) -> Credit:
    """What one relevant candidate adds to a measure, before the mean over questions or answers is taken."""
    if isinstance(measure, ParsedMeasure) and measure.record.form == "plain" and measure.record.aggregate == "mean":
        record, own = measure.record, dict(measure.own_parameters)
        own.pop("judged_only", None)
        binary = own.pop("rel", 1) in (None, 1) and own.pop("gains", None) is None
        own.pop("dcg", None)  # all agree on gains of 0 and 1
        if record.items == "answers" and record.weighting in (None, "question"):
            per_question = record.weighting == "question"

            def of_answers(place: Place) -> Floats:
                value = record.value(np.maximum(place.position - place.above, 1.0), **own)
                return value / place.relevant if per_question else value

            return of_answers
        if record.credit is not None and binary:
            return lambda place: record.credit(place, **own)  # type: ignore[misc]
    raise MeasureError(
        f"{measure.label}: no estimate from a part of the judgements is known, as it is not a mean over questions or "
        "answers of a sum over the relevant candidates by their places alone; those with one are micro.MRR, "
        "micro.Hits@k, micro.MR, macro.MRR, macro.Hits@k, AP@k, nDCG@k, P@k, R@k, Rprec, Bpref, RBP and their like"
    )


def _is_quotient(measure: ParsedMeasure) -> bool:
    """Whether the mean is over answers, whose number is estimated too."""
    return measure.items == "answers" and measure.record.weighting is None


@dataclass(frozen=True, slots=True, eq=False)
class _Bucket:
    """Questions with about as many uncertain pairs, and about as many pairs known to be relevant."""

    question: Rows  # (q,) row in the questions
    uncertain: Rows  # (q, u) rows of the sampled qrels; -1 where there are fewer
    relevant: Rows  # (q, r) rows of the sampled qrels; -1 where there are fewer


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """The pairs of sampled qrels by questions, in the shapes that the kernel takes."""

    qrels: SampledQrels
    buckets: tuple[_Bucket, ...]
    has_pair: NDArray[np.bool_]  # (questions,)
    is_sampled: NDArray[np.bool_]  # (questions,) those with an uncertain pair
    opened: Rows  # (o,) rows of the questions that were opened
    judged: Rows  # (j,) rows of the pairs judged in these
    judged_at: Rows  # (j,) where each one's question is in `opened`

    @classmethod
    def of(cls, qrels: SampledQrels) -> _Layout:
        n = len(qrels.questions)
        uncertain, known = np.flatnonzero(qrels.is_uncertain), np.flatnonzero(~qrels.is_uncertain & (qrels.label == 1))
        n_uncertain, n_known = (np.bincount(qrels.question[rows], minlength=n) for rows in (uncertain, known))
        has_pair = np.bincount(qrels.question, minlength=n) > 0
        steps = np.unique(np.r_[0, 1.25 ** np.arange(60)].astype(np.int64))
        width = steps[np.searchsorted(steps, n_uncertain)]
        shape = np.stack([width, np.ceil(np.log2(n_known + 1)).astype(np.int64)])
        buckets = []
        for u, r in np.unique(shape[:, has_pair], axis=1).T:
            question = np.flatnonzero(has_pair & (shape[0] == u) & (shape[1] == r))
            most = int(n_known[question].max())
            parts = [
                _rows_of(rows, counts, question, width)
                for rows, counts, width in ((uncertain, n_uncertain, int(u)), (known, n_known, most))
            ]
            buckets.append(_Bucket(question, *parts))
        opened = np.unique(qrels.question[qrels.is_uncertain & qrels.is_opened]).astype(np.intp)
        judged = np.flatnonzero(qrels.judged)
        at = np.searchsorted(opened, qrels.question[judged])
        return cls(qrels, tuple(buckets), has_pair, n_uncertain > 0, opened, judged, at)

    @property
    def n_questions(self) -> int:
        """How many questions have a pair, over which means are taken."""
        return int(self.has_pair.sum())

    @property
    def n_fitted(self) -> int:
        """How many numbers the opened questions determine: the mean, and the slope if enough are judged whole."""
        is_part = _LEAST_FOR_SLOPE <= len(self.opened) < self.is_sampled.sum()
        return 1 + (is_part and bool(np.all(self.qrels.rate == 1)))


def _rows_of(rows: Rows, counts: NDArray[np.int64], question: Rows, width: int) -> Rows:
    """(q, width) those of some questions, of ``rows``, which are sorted by question; -1 where there are fewer."""
    at = (np.cumsum(counts) - counts)[question, None] + np.arange(width)
    is_there = np.arange(width) < counts[question, None]
    return np.where(is_there, np.append(rows, -1)[np.where(is_there, at, -1)], -1)


def _at_positions(
    names: tuple[str, ...],
    position: NDArray[np.int64],
    qrels: SampledQrels,
    measures: tuple[ParsedMeasure, ...],
    of_measures: Sequence[Credit],
) -> SampleEstimates:
    """The estimates of systems that have the pairs at positions, (systems, n).

    The measure in addition is the number of relevant candidates.
    """
    layout = _Layout.of(qrels)
    if len(layout.opened) < min(2, layout.is_sampled.sum()):
        raise KgtrecError(
            f"expected at least two questions whose drawn triples are settled, found {len(layout.opened)} of "
            f"{layout.is_sampled.sum():,}, which gives no interval; judge more first"
        )
    judged = np.bincount(qrels.question, minlength=len(qrels.questions))
    shape = len(names), len(of_measures) + 1
    predicted = np.zeros((*shape, len(qrels.questions)))
    orders, influence = np.zeros((*shape, 3, len(layout.opened))), np.zeros((*shape, len(layout.judged)))
    verdict, prediction, rate = (
        np.append(part, end)
        for part, end in (
            (np.where(qrels.is_uncertain, qrels.label, np.nan), np.nan),
            (qrels.prediction, 0.0),
            (qrels.rate, 1.0),
        )
    )
    place_of, opened_at = np.full(len(qrels) + 1, -1), np.full(len(qrels.questions), -1)
    place_of[layout.judged] = np.arange(len(layout.judged))
    opened_at[layout.opened] = np.arange(len(layout.opened))
    system = np.arange(len(names))[:, None, None]
    for places, rows, some in _by_kind(position, qrels, measures, of_measures):
        places = np.pad(places, ((0, 0), (0, 1)), constant_values=UNLISTED)  # of row -1
        for bucket in layout.buckets:
            order = np.argsort(places[:, bucket.uncertain], axis=2, kind="stable")
            pair = np.take_along_axis(bucket.uncertain[None], order, axis=2)
            known = np.where(bucket.relevant >= 0, places[:, bucket.relevant], 0)
            n_lists = len(names) * len(bucket.question)
            lists = Lists(
                places[system, pair].reshape(n_lists, pair.shape[2]),
                np.where(known < UNLISTED, known, 0).reshape(n_lists, known.shape[2]),
                (known == UNLISTED).sum(axis=2).ravel(),
                np.tile(judged[bucket.question], len(names)),
            )
            expected = expected_values(lists, prediction[pair].reshape(lists.position.shape), some)
            predicted[system, rows[:, None], bucket.question] = expected.reshape(len(some), *pair.shape[:2]).swapaxes(
                0, 1
            )
            kept = opened_at[bucket.question] >= 0
            if not kept.any() or not pair.shape[2]:
                continue
            opened, pair = opened_at[bucket.question[kept]], pair[:, kept]
            own, judgements, chance = (part[pair].reshape(-1, pair.shape[2]) for part in (prediction, verdict, rate))
            of_opened = lists.take(np.flatnonzero(np.tile(kept, len(names))))
            found = label_estimates(of_opened, own, judgements, chance, some)
            of_orders = found.orders.reshape(len(some), 3, *pair.shape[:2])
            orders[system[..., None], rows[:, None, None], np.arange(3)[:, None], opened] = np.moveaxis(of_orders, 2, 0)
            of_pair = found.influence.reshape(len(some), *pair.shape)
            at = np.nonzero(place_of[pair] >= 0)
            influence[at[0], rows[:, None], place_of[pair[at]]] = np.array([of_measure[at] for of_measure in of_pair])
    return SampleEstimates(names, measures, layout, predicted, orders, influence)


def _by_kind(
    position: NDArray[np.int64], qrels: SampledQrels, measures: Sequence[AnyMeasure], of_measures: Sequence[Credit]
) -> Iterator[tuple[NDArray[np.int64], Rows, list[Credit]]]:
    """The positions among all candidates, and among the judged ones, with the measures that look at these."""
    of_judged = [
        isinstance(measure, ParsedMeasure)
        and (measure.record.name == "Bpref" or measure.parameters.get("judged_only") is True)
        for measure in measures
    ]
    every: list[Credit] = [*of_measures, lambda place: np.ones(np.broadcast_shapes(*(part.shape for part in place)))]
    plain, others = (np.flatnonzero([*of_judged, False] == kind) for kind in (np.False_, np.True_))
    yield position, plain, [every[row] for row in plain]
    if len(others):
        order = np.array([np.lexsort((of_system, qrels.question)) for of_system in position])
        first = np.searchsorted(qrels.question, qrels.question)
        index = np.empty_like(position)
        np.put_along_axis(index, order, np.arange(len(qrels)) - first + 1, axis=1)
        yield np.where(position < UNLISTED, index, UNLISTED), others, [every[row] for row in others]


def _positions(matched: MatchedSystem, qrels: SampledQrels, inputs: Prepared) -> NDArray[np.int64]:
    """(n,) the position of each pair in its list; UNLISTED where the list lacks it."""
    places, ties = matched.places, matched.ties
    may_be_relevant = qrels.is_uncertain | (qrels.label == 1)
    if ties not in ("trec", "nondeterministic") and (places.size[may_be_relevant[places.judged]] > 1).any():
        raise KgtrecError(
            f"{matched.name}: expected candidates without ties, found some, whose places under --ties "
            f"{ties or 'expected'} depend on verdicts that nobody has given; use --ties nondeterministic, one random "
            "order" + ("" if matched.run is None else ", or --ties trec")
        )
    position = np.full(len(qrels), UNLISTED)
    position[places.judged] = places.position
    return position


def _refuse_ranks(measures: Sequence[AnyMeasure], name: str) -> None:
    """Refuse measures that need exact ranks of what a run may lack."""
    for measure in measures:
        if measure.items == "answers" or (isinstance(measure, ParsedMeasure) and measure.record.name == "macro.MR"):
            raise MeasureError(
                f"{measure.label} needs exact ranks of all pooled candidates, which the run {name} does not have; give "
                "answer ranks of them (kgtrec rank), or use measures over questions"
            )


@dataclass(frozen=True, eq=False)
class SampleEstimates:
    """What the estimates of levels and of differences are made of; the last measure is the number of relevant pairs."""

    systems: tuple[str, ...]
    measures: tuple[ParsedMeasure, ...]
    layout: _Layout
    predicted: Floats  # (systems, measures + 1, questions)
    orders: Floats  # (systems, measures + 1, 3, opened)
    influence: Floats  # (systems, measures + 1, judged)

    def quantile(self, confidence: float) -> float:
        """Return how many standard errors an interval reaches to each side."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, 0.5 + confidence / 2))

    @property
    def freedom(self) -> int:
        """The degrees of freedom of a t-test: those of the spread between the opened questions."""
        return max(len(self.layout.opened) - self.layout.n_fitted, 1)

    def warn_of_few_questions(self) -> None:
        """Warn of measures over answers, whose number is estimated from few questions."""
        n_opened, few = len(self.layout.opened), [each.label for each in self.measures if _is_quotient(each)]
        if few and n_opened < min(_FEW, self.layout.is_sampled.sum()):
            warn(
                f"intervals of {', '.join(few)} rest on {counted(n_opened, 'judged question')} and may be too narrow: "
                "with 40, 95% intervals held 91% of the differences in replications; judge more questions, or use "
                "measures over questions"
            )

    def levels(self) -> tuple[Floats, Floats]:
        """Return the values of each system, and their standard errors: (systems, measures), up to the second order."""
        value, error, _ = self._means(lambda part: part)
        return value, error

    def differences(self) -> tuple[Floats, Floats, Floats]:
        """Return the differences of all pairs (0, 1), (0, 2), ..., (1, 2), ... of systems: (pairs, measures).

        First minus second, equal to the differences of the levels, with two standard errors: over other samples of the
        pool, and over other questions too. Up to the second order: what this adds to two systems does not cancel where
        one has more relevant candidates on top.
        """
        first, second = np.triu_indices(len(self.systems), 1)
        return self._means(lambda part: part[first] - part[second])

    def _means(self, combine: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        columns = [self._mean(place, combine) for place in range(len(self.measures))]
        value, error, error_of_questions = (np.stack(part, axis=1) for part in zip(*columns, strict=True))
        return value, error, error_of_questions

    def _mean(self, place: int, combine: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        """Of one measure: (...,) means, and their standard errors over other samples, and over other questions too."""
        layout = self.layout
        predicted, orders, influence = (part[:, place] for part in (self.predicted, self.orders, self.influence))
        value, extra = orders.sum(axis=1), orders[:, 2]
        if layout.n_fitted > 1:
            slope = _slope(value, predicted[:, layout.opened])[:, None]
            predicted = np.where(layout.is_sampled, slope * predicted, predicted)
        mean, whole = self._total(predicted, value) / layout.n_questions, np.full(len(value), layout.n_questions)
        if _is_quotient(self.measures[place]):
            of_count = self.predicted[:, -1], self.orders[:, -1].sum(axis=1), self.influence[:, -1]
            whole = self._total(*of_count[:2])
            mean = self._total(predicted, value) / whole
            predicted, value, influence = (
                part - mean[:, None] * count
                for part, count in zip((predicted, value, influence), of_count, strict=True)
            )
        parts = (combine(part / whole[:, None]) for part in (predicted, value, influence, extra))
        predicted, value, influence, extra = parts
        n_opened, is_sampled = len(layout.opened), layout.is_sampled
        within = np.array([np.bincount(layout.judged_at, row**2, n_opened) for row in influence]) + extra**2
        opened = np.searchsorted(np.flatnonzero(is_sampled), layout.opened)
        _, variance = mean_of_opened(predicted[:, is_sampled], opened, value, within, layout.n_fitted)
        variance *= is_sampled.sum() ** 2
        return combine(mean), np.sqrt(variance), np.sqrt(variance + self._between(predicted, value, within))

    def _between(self, predicted: Floats, value: Floats, within: Floats) -> Floats:
        """(...,) variance of the sums over all questions between sets of as many questions like these; NaN of one."""
        layout = self.layout
        n, known = layout.n_questions, predicted[:, layout.has_pair & ~layout.is_sampled]
        represents = layout.is_sampled.sum() / len(layout.opened)
        mean = (known.sum(axis=1) + represents * value.sum(axis=1)) / n
        squares = ((known.T - mean) ** 2).sum(axis=0) + represents * ((value.T - mean) ** 2 - within.T).sum(axis=0)
        return np.maximum(squares, 0.0) * (n / (n - 1) if n > 1 else np.nan)

    def _total(self, predicted: Floats, value: Floats) -> Floats:
        """(systems,) the sums over all questions."""
        layout = self.layout
        added = (value - predicted[:, layout.opened]).mean(axis=1)
        return predicted.sum(axis=1) + layout.is_sampled.sum() * added


def _slope(value: Floats, predicted: Floats) -> Floats:
    """(systems,) of the regression of the opened questions' values on predictions; 1 where either are all equal."""
    apart = predicted - predicted.mean(axis=1, keepdims=True)
    squares = (apart**2).sum(axis=1)
    differ = (squares > _ROUNDING * (predicted**2).sum(axis=1)) & (np.ptp(value, axis=1) > 0)
    return np.where(differ, (apart * value).sum(axis=1) / np.where(differ, squares, 1.0), 1.0)
