"""Confidence intervals of the values in a table, over other test sets of the same population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import plain
from kgtrec.errors import KgtrecError, between_0_and_1, one_of
from kgtrec.evaluation.summarise import ItemValues, chance_level, fraction
from kgtrec.kernels.statistics.ratio_intervals import Quotients, Units, quotients, t_interval
from kgtrec.kernels.statistics.training_seeds import both_sources, seed_components
from kgtrec.measures.aggregate import GEOMETRIC_FLOOR, LINKS, MedianRanks, Medians
from kgtrec.measures.names import AnyMeasure
from kgtrec.measures.record import Aggregate

Floats = NDArray[np.float64]
Drawn = Literal["triple", "question"]
DRAWN: tuple[Drawn, ...] = get_args(Drawn)
LEAST_EFFECTIVE = 60.0  # units, if one that was not sampled may outweigh all others; see least_effective
LEAST_BOUNDED = 5.0  # units, if none can: Student's t is no wider than 1.4 times the normal interval
# bounds of the mean of linked values, if they are not the bounds of the measure
_LINKED_BOUNDS: dict[Aggregate, tuple[float, float]] = {
    "geometric mean": (0.0, np.inf),
    "inverse geometric mean": (0.0, np.inf),
    "floored geometric mean": (float(np.log(GEOMETRIC_FLOOR)), 0.0),
    "harmonic mean": (0.0, 1.0),
    "inverse mean": (1.0, np.inf),
}


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """The interval of each group's value, and the number of units that it is computed from."""

    ends: Floats  # (2, size) lower and upper; NaN where there is none
    effective: Floats  # (size,) effective number of the sampled units; NaN where they do not vary


class Intervals:
    """Confidence intervals over other test sets, of any number of measures and systems.

    A test set is a sample of units: triples, each with its answers to its questions, or questions with all their
    answers. Intervals are computed from the units' parts of the value, see
    :mod:`kgtrec.kernels.statistics.ratio_intervals`; nothing is random.

    Parameters
    ----------
    confidence : float, between 0 and 1
    qrels : Qrels
    triple : (n_answers,) int array, optional
        The triple of each answer, in the order of the qrels, if triples are sampled; see :func:`drawn_triples`.

    Raises
    ------
    KgtrecError
        If the confidence is out of range.
    """

    def __init__(self, confidence: float, qrels: Qrels, triple: NDArray[np.int64] | None = None) -> None:
        between_0_and_1("a confidence", confidence)
        self.confidence, self._triple = confidence, triple
        self._question, self._by_label = qrels.question[qrels.grade >= 1], qrels.questions.byte_order
        self._key: tuple[str, bytes, bytes] | None = None
        self._units: Units

    @property
    def drawn(self) -> Drawn:
        """The unit of sampling."""
        return "question" if self._triple is None else "triple"

    def of(self, measure: AnyMeasure, items: ItemValues, size: int, name: str, *, alike: bool) -> Interval:
        """Compute the interval of each group's value; ``alike``: each question counts equally.

        Its ends are NaN for z forms, which are relative to a spread already, for sums, and where the value has fewer
        than :func:`least_effective` units. Its effective number of units is NaN where they do not vary.
        """
        record = measure.record
        if record.form == "z" or record.aggregate == "sum" or not len(items.value):
            return Interval(np.full((2, size), np.nan), np.full(size, np.nan))
        units = self._units_of(measure, items, size)
        if record.aggregate == "median":
            ends, effective = _of_medians(items, units, self.confidence)
        else:
            parts = quotients(units, *fraction(measure, items))
            ends, effective = interval_of(measure, parts, self.confidence), parts.effective
        return self._shown(measure, ends, effective, items, name, alike=alike)

    def of_seeds(
        self, measure: AnyMeasure, seeds: Sequence[ItemValues], size: int, name: str, *, alike: bool
    ) -> Floats:
        """Compute the intervals of the mean over the seeds of a system, over other test sets, and other seeds too.

        (5, size): the ends of both, and the effective number of units. The items of all seeds are the same. NaN as for
        one system, whose interval one seed has alone; and where the value is no mean, so that the mean of those of
        seeds is another number than the value of their mean.
        """
        if len(seeds) == 1:
            alone = self.of(measure, seeds[0], size, name, alike=alike)
            return np.vstack([alone.ends, np.full((2, size), np.nan), alone.effective])
        record = measure.record
        if record.form == "z" or record.aggregate != "mean" or not len(seeds[0].value):
            return np.full((5, size), np.nan)
        units = self._units_of(measure, seeds[0], size)
        parts = [fraction(measure, items) for items in seeds]
        own = [quotients(units, *part) for part in parts]
        whole = quotients(units, *(np.mean(sums, axis=0) for sums in zip(*parts, strict=True)))
        between, noise = seed_components([each.value for each in own], [each.error for each in own], whole.error)
        error, freedom = both_sources(
            whole.error, whole.effective - 1, [between], [noise], [[1 / len(seeds)]], [[len(seeds)]]
        )
        both = Quotients(whole.value, error, freedom + 1)
        over = (interval_of(measure, each, self.confidence) for each in (whole, both))
        shown = [self._shown(measure, ends, whole.effective, seeds[0], name, alike=alike) for ends in over]
        return np.vstack([*(own.ends for own in shown), whole.effective])

    def _shown(
        self, measure: AnyMeasure, ends: Floats, effective: Floats, items: ItemValues, name: str, *, alike: bool
    ) -> Interval:
        """The interval, adjusted for chance, where it has enough units."""
        record = measure.record
        if record.form != "plain" and record.chance is None:
            # the chance level of a geometric mean and the like hardly varies with the test set, so this one's is used
            expectation = chance_level(measure, items, len(effective), name)[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = (ends - expectation) / (record.optimum - expectation)
        is_enough = effective >= least_effective(measure, self.drawn, alike=alike)
        return Interval(np.where(is_enough, np.sort(ends, axis=0), np.nan), effective)

    def _units_of(self, measure: AnyMeasure, items: ItemValues, size: int) -> Units:
        """The units of the items; usually those of the measure before."""
        key = measure.items, items.question.tobytes(), items.group.tobytes()
        if key != self._key:
            self._key = key
            if self._triple is None:
                self._units = Units.of(self._by_label[items.question], items.group, size)
            elif measure.items == "answers":
                self._units = Units.of(self._triple, items.group, size)
            else:
                self._units = units_of_lists(self._triple, self._question, items.question, items.group, size)
        return self._units


def units_of_lists(
    triple: NDArray[np.int64],
    question: NDArray[np.int32],
    listed: NDArray[np.int32],
    group: NDArray[np.int32],
    size: int,
) -> Units:
    """Make triples the units of questions: each has a part in the questions that it answers.

    A question of m answers gives each of its triples 1 / m of its part. That is exact for one answer; with more, the
    others keep the question in the test set when one is not sampled, with a similar value. Compared with questions as
    units, the head and the tail question of a triple are sampled together.

    Parameters
    ----------
    triple, question : (n_answers,) int arrays
        The triple and the question of each answer.
    listed, group : (n_items,) int arrays
        The question of each item, each only once, and its group.
    size : int
        How many groups there are.
    """
    item = np.full(max(question.max(initial=-1), listed.max(initial=-1)) + 1, -1, np.intp)
    item[listed] = np.arange(len(listed))
    item_of = item[question]
    kept = item_of >= 0
    return Units.of(triple[kept], group, size, item_of[kept], 1 / np.bincount(item_of[kept])[item_of[kept]])


def interval_of(measure: AnyMeasure, parts: Quotients, confidence: float) -> Floats:
    """Return (2, size) the ends of an interval, before adjustment for chance, in either order."""
    how = measure.record.aggregate
    with np.errstate(divide="ignore", over="ignore"):
        return LINKS[how].back(t_interval(parts, confidence, _LINKED_BOUNDS.get(how, measure.record.bounds)))


def least_effective(measure: AnyMeasure, drawn: Drawn, *, alike: bool = False) -> float:
    """Return the number of effective units that an interval needs; ``alike``: each question counts equally.

    If one unit that was not sampled may outweigh all others, a test set with few effective units gives no information
    about it: for means of ranks, and for measures over answers when questions are sampled, which have any number of
    answers. Otherwise a unit's part is bounded, and a few are enough.
    """
    record = measure.record
    of_ranks = record.aggregate == "inverse mean" or (
        record.aggregate == "mean" and (record.better == "lower" or record.lower_is_better)
    )
    of_any_size = drawn == "question" and measure.items == "answers" and not alike
    return LEAST_EFFECTIVE if of_ranks or of_any_size else LEAST_BOUNDED


def without_interval(label: str, effective: Floats, least: float, drawn: Drawn, of: str) -> str:
    """Return a measure and why values have no interval, from their effective numbers of units; ``of`` so many values.

    Examples
    --------
    >>> without_interval("micro.MRR", np.array([2.84, 3.1, np.nan]), 60, "question", "4 values")
    'micro.MRR (2.8 to 3.1 effective questions, 60 needed or one question, or all equal; 3 of 4 values)'
    """
    few = effective[effective < least]
    why = [f"one {drawn}, or all equal"] * bool(np.isnan(effective).any())
    if len(few):
        ends = dict.fromkeys((f"{few.min():.1f}", f"{few.max():.1f}"))
        why.insert(0, f"{' to '.join(ends)} effective {drawn}s, {least:g} needed")
    several = "" if of.startswith("1 ") else f"; {len(effective)} of {of}"
    return f"{label} ({' or '.join(why)}{several})" if why else label


def _of_medians(items: ItemValues, units: Units, confidence: float) -> tuple[Floats, Floats]:
    """Ends of intervals of medians, and their effective numbers of units, by Woodruff's method.

    The share of the weight at or below the median has an interval, and the quantiles at its ends are the ends of the
    median's.

    References
    ----------
    Woodruff (1952). Confidence intervals for medians and other position measures. JASA 47.
    """
    weight = np.ones(len(items.value)) if items.weight is None else items.weight
    if items.open_ranks is None:
        medians: Medians | MedianRanks = Medians(items.value, items.group, units.size)
        below = np.where(np.isnan(items.value), np.nan, items.value <= medians(weight)[items.group])
    else:
        best, worst = items.open_ranks
        medians = MedianRanks(best, worst, items.group, units.size)
        reached = np.floor(medians(weight))[items.group]
        below = np.clip(reached - best + 1, 0, worst - best + 1) / (worst - best + 1)
    parts = quotients(units, weight * below, weight)
    half = Quotients(np.where(np.isnan(parts.value), np.nan, 0.5), parts.error, parts.effective)
    return medians.at(weight, t_interval(half, confidence, (0.0, 1.0))), parts.effective


def drawn_triples(drawn: str | None, qrels: Qrels, collection: Collection | None) -> NDArray[np.int64] | None:
    """Return the triples of the answers, if triples are sampled; None if questions are.

    Parameters
    ----------
    drawn : {"triple", "question"}, optional
        None: triples, if the relevant judgements are the collection's own answers, which are its test triples; else
        questions, whose answers were completed by people or systems.
    qrels : Qrels
    collection : Collection, optional

    Raises
    ------
    KgtrecError
        If ``drawn`` is unknown, or triples are asked for and there is no collection.
    """
    if drawn is not None:
        one_of("drawn to be one of", drawn, DRAWN)
    if drawn == "question" or (drawn is None and (collection is None or not _judges_test_triples(qrels, collection))):
        return None
    if collection is not None and collection.missing_links is not None:
        if drawn is None:
            return None
        raise KgtrecError("expected intervals over questions, since answers of complex queries are no test triples")
    if collection is None:
        raise KgtrecError(
            "intervals over triples need the questions' topics, and qrels alone have none: give a collection, or draw "
            "questions"
        )
    return answer_triples(qrels, collection)


def answer_triples(qrels: Qrels, collection: Collection) -> NDArray[np.int64]:
    """Number the triples of the relevant judgements, (n_answers,); a head and a tail answer may share one.

    A fact is one triple at all its times: its answers are not independent.
    """
    question, entity = _answers_in(collection, qrels)
    triples = plain(collection.questions).triples(question, entity)
    return np.unique(triples.keys(), return_inverse=True)[1].astype(np.int64)


def _judges_test_triples(qrels: Qrels, collection: Collection) -> bool:
    """Whether the relevant judgements are the collection's own answers, no more and no less."""
    if qrels is collection.qrels:
        return True
    own, asked = (np.stack(_answers_in(collection, each)) for each in (collection.qrels, qrels))
    return np.array_equal(own[:, np.lexsort(own)], asked[:, np.lexsort(asked)])


def _answers_in(collection: Collection, qrels: Qrels) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(n_answers,) each: question and entity of the relevant judgements, in the codes of the collection."""
    relevant = np.flatnonzero(qrels.grade >= 1)
    question = collection.topics_of(qrels.questions)[qrels.question[relevant]]
    return question, collection.entities.encode(qrels.entities.labels)[qrels.entity[relevant]]
