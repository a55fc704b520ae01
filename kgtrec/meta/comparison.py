"""Comparison of two systems: their differences, the uncertainty of these, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import arrow_of, labels_of, long_table
from kgtrec.data.collection import CATEGORIES, Collection
from kgtrec.data.frames import Framed
from kgtrec.data.identity import entity_names
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.table import Column, Result, Table, lower_text
from kgtrec.errors import KgtrecError, legible, nearest, unwarned, warn
from kgtrec.evaluation.given import System, each_system, judgements_of, qrels_of
from kgtrec.evaluation.item_scores import ItemScores, item_scores, totals
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.paired_outcomes import outcomes
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval, resampled_quotients
from kgtrec.measures.aggregate import LINKS, Medians, aggregate_groups
from kgtrec.measures.names import parse_measure
from kgtrec.measures.record import Aggregate
from kgtrec.meta.known_measures import some_of
from kgtrec.meta.pair_tests import paired_sample, rising_terms
from kgtrec.meta.question_draws import Bootstrap

if TYPE_CHECKING:
    import pandas as pd

_ANSWERS_SHOWN = 3  # of a question


@dataclass(frozen=True, slots=True, eq=False)
class GroupOutcomes:
    """The scores of two systems on each part of the questions: a side, a category, or a relation.

    Items are the measure's: answers or questions. A win is an item on which the first system is better.
    """

    labels: pa.StringArray  # (groups,)
    n_items: NDArray[np.int64]  # (measures, groups)
    value: NDArray[np.float64]  # (measures, groups, 2) the measure's number for the first and for the second system
    wins: NDArray[np.int64]  # (measures, groups)
    losses: NDArray[np.int64]  # (measures, groups)
    ties: NDArray[np.int64]  # (measures, groups)
    share: NDArray[np.float64]  # (measures, groups) contribution of the group to the difference of the means

    @property
    def difference(self) -> NDArray[np.float64]:
        """(measures, groups) the first system's number minus the second's."""
        return self.value[:, :, 0] - self.value[:, :, 1]


@dataclass(frozen=True, slots=True)
class AnswerPlaces:
    """One answer of a question, and its rank in each system; NaN below the cut of a run."""

    entity: str
    name: str  # "" where there is none
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """One question on which two systems differ."""

    question: str  # id
    side: str  # "head" or "tail", asked for; "" if the question's topic is unknown
    anchor: str
    anchor_name: str  # "" where there is none
    relation: str
    value: tuple[float, float]  # the measure's value on this question, for the first and the second system
    better: str  # name of the better system
    answers: tuple[AnswerPlaces, ...]  # by their better rank

    @property
    def asks(self) -> str:
        """The question, such as ``(?, capital_of, austria)``; - if the topic is unknown."""
        if not self.side:
            return "-"
        anchor = self.anchor_name or self.anchor
        return f"(?, {self.relation}, {anchor})" if self.side == "head" else f"({anchor}, {self.relation}, ?)"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Framed, Result):
    """Two systems on the same items; a difference is the first one's number minus the second's.

    So for a measure where lower is better, a positive one is in favour of the second: ``better`` names the system.

    Undefined values, such as p without variance or for a median, are NaN.
    """

    first: str
    second: str
    measures: tuple[str, ...]  # as spelled by the caller
    items: tuple[str, ...]  # per measure, "answers" or "questions"
    higher_is_better: tuple[bool, ...]  # per measure
    n_items: NDArray[np.int64]  # (measures,)
    n_questions: NDArray[np.int64]  # (measures,) questions with an item
    value: NDArray[np.float64]  # (measures, 2)
    low: NDArray[np.float64]  # (measures,) lower end of the difference's interval over resampled questions
    high: NDArray[np.float64]  # (measures,) upper end
    confidence: float
    d_z: NDArray[np.float64]  # (measures,) mean difference divided by the standard deviation of the differences
    t: NDArray[np.float64]  # (measures,) Student's t over items
    p: NDArray[np.float64]  # (measures,)
    t_clustered: NDArray[np.float64]  # (measures,) t with errors clustered by question
    p_clustered: NDArray[np.float64]  # (measures,)
    wins: NDArray[np.int64]  # (measures,) items on which the first system is better
    losses: NDArray[np.int64]  # (measures,)
    ties: NDArray[np.int64]  # (measures,)
    groups: Mapping[str, GroupOutcomes]  # "side", "category", "relation"; empty if topics are unknown
    by: str  # the measure by which questions were chosen
    questions: tuple[QuestionDifference, ...]  # those that differ most, the largest difference first
    relations: int = 10  # number of relations to show, those that contribute most to the difference

    def __repr__(self) -> str:
        return f"<Comparison: {self.first} and {self.second}, {len(self.measures)} measures>"

    @property
    def difference(self) -> NDArray[np.float64]:
        """(measures,) the first system's number minus the second's."""
        return self.value[:, 0] - self.value[:, 1]

    @property
    def better(self) -> tuple[str, ...]:
        """(measures,) the better system by the measure's value and direction; "" for equal values."""
        return tuple(self._better(self.difference, np.array(self.higher_is_better)))

    def better_on(self, kind: str) -> list[list[str]]:
        """Return the better system of each group of one kind, (measures, groups)."""
        rising = np.array(self.higher_is_better)[:, None]
        apart = self.groups[kind].difference
        return [self._better(own, up) for own, up in zip(apart, rising, strict=True)]

    def _better(self, apart: NDArray[np.float64], rising: NDArray[np.bool_]) -> list[str]:
        named = np.array(["", self.first, self.second], object)
        ahead = np.where(rising, apart, -apart)
        return named[np.select([ahead > 0, ahead < 0], [1, 2], 0)].tolist()

    def to_table(self) -> pa.Table:
        """Return a row per measure.

        measure, items, n_items, n_questions, first, second, difference, better, low, high, d_z, t, p, t_clustered,
        p_clustered, wins, losses, ties.
        """
        columns: dict[str, Any] = {"measure": (0, self.measures), "items": (0, self.items)}
        columns |= {"n_items": self.n_items, "n_questions": self.n_questions}
        columns |= {"first": self.value[:, 0], "second": self.value[:, 1], "difference": self.difference}
        columns["better"] = 0, self.better
        tests = "low", "high", "d_z", "t", "p", "t_clustered", "p_clustered", "wins", "losses", "ties"
        return long_table(self.low.shape, columns | {name: getattr(self, name) for name in tests})

    def group_table(self, kind: str) -> pa.Table:
        """Return a row per measure and group of one kind.

        measure, KIND, n_items, first, second, difference, better, share, wins, losses, ties.
        """
        found = self.groups[kind]
        columns: dict[str, Any] = {"measure": (0, self.measures), kind: (1, found.labels), "n_items": found.n_items}
        columns |= {"first": found.value[:, :, 0], "second": found.value[:, :, 1], "difference": found.difference}
        columns["better"] = np.array(self.better_on(kind), object)
        counts = "share", "wins", "losses", "ties"
        return long_table(found.wins.shape, columns | {name: getattr(found, name) for name in counts})

    def question_table(self) -> pa.Table:
        """Return a row per answer of the questions that differ most.

        place, question, side, anchor, anchor_name, relation, measure, first, second, better, entity, name, first_rank,
        second_rank.
        """
        rows = [(place, found, answer) for place, found in enumerate(self.questions, 1) for answer in found.answers]

        def texts(part: int, *names: str) -> dict[str, Any]:
            return {name: np.array([getattr(row[part], name) for row in rows], object) for name in names}

        value = np.array([found.value for _, found, _ in rows], np.float64).reshape(-1, 2)
        ranks = np.array([(answer.first, answer.second) for _, _, answer in rows], np.float64).reshape(-1, 2)
        columns = {
            "place": np.array([place for place, _, _ in rows], np.int64),
            **texts(1, "question", "side", "anchor", "anchor_name", "relation"),
            "measure": self.by,
            "first": value[:, 0],
            "second": value[:, 1],
            **texts(1, "better"),
            **texts(2, "entity", "name"),
            "first_rank": ranks[:, 0],
            "second_rank": ranks[:, 1],
        }
        return long_table((len(rows),), columns)

    def about(self) -> dict[str, Any]:
        """Return the compared systems and measures."""
        return {"first": self.first, "second": self.second, "by": self.by, "confidence": self.confidence}

    def tables(self) -> tuple[Table, ...]:
        """Return ``measures``; under the measure ``by`` each of ``groups``; and ``questions``, a row per answer."""
        return self._measures(), *map(self._group, self.groups), self._questions()

    def _measures(self) -> Table:
        columns = (
            Column("measure"),
            *self._numbers(),
            Column("low", f"{self.confidence * 100:g}% from", form="difference"),
            Column("high", "to", form="difference"),
            Column("better", names={"": "-"}),
            Column("d_z", digits=3),
            Column("p", form="p"),
            Column("p_clustered", "p, clustered", form="p"),
            *map(Column, ("wins", "losses", "ties")),
        )
        first, second = legible(self.first), legible(self.second)
        caption = (
            f"{first} against {second}; differences are {first} minus {second}, a win is an answer (micro) or question "
            f"on which {first} is better{lower_text(self.measures, self.higher_is_better)}"
        )
        return Table("measures", "Measures", caption, self.to_table(), columns)

    def _numbers(self) -> tuple[Column, ...]:
        values = (Column(name, label, "measure") for name, label in (("first", self.first), ("second", self.second)))
        return *values, Column("difference", form="difference")

    def _group(self, kind: str) -> Table:
        groups, place = self.groups[kind], self.measures.index(self.by)
        known = groups.n_items[place] > 0
        shown, title = np.flatnonzero(known), f"{self.by} by {kind}"
        if kind == "relation":
            apart = groups.difference[place] * (1 if self.higher_is_better[place] else -1)
            level = np.abs(apart) <= 1e-12 * np.abs(groups.value[place]).max(axis=1)
            ahead, behind = ((known & ~level & side).sum() for side in (apart > 0, apart < 0))
            weight = np.abs(apart if np.isnan(groups.share[place]).all() else groups.share[place])
            order = np.argsort(-weight, kind="stable")
            title += (
                f": {self.first} leads on {ahead:,} relations, {self.second} on {behind:,}, equal on "
                f"{(known & level).sum():,}"
            )
            if self.relations < len(shown):
                title += f"; the {self.relations:,} that contribute most to the difference"
            shown = order[known[order]][: self.relations]
        columns = (
            Column(kind),
            Column("n_items", self.items[place]),
            *self._numbers(),
            Column("better", names={"": "-"}),
            *map(Column, ("wins", "losses", "ties")),
        )
        return Table(kind, title, "", self.group_table(kind), columns, (shown + place * len(known)).tolist())

    def _questions(self) -> Table:
        counts = [len(question.answers) for question in self.questions]
        rows = [
            at - count + place
            for at, count in zip(np.cumsum(counts), counts, strict=True)
            for place in range(min(count, _ANSWERS_SHOWN))
        ]
        asks = {question.question: question.asks for question in self.questions}
        names = {own.entity: own.name for question in self.questions for own in question.answers if own.name}
        columns = (
            Column("question"),
            Column("question", "asks for", names=asks),
            Column("entity", "answer", names=names),
            Column("better", names={"": "-"}),
            *self._numbers()[:2],
            Column("first_rank", f"rank in {self.first}", 1),
            Column("second_rank", f"rank in {self.second}", 1),
        )
        title = f"questions that differ most by {self.by}, with up to {_ANSWERS_SHOWN} answers of each"
        return Table("questions", title, "", self.question_table(), columns, rows)


Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def compare(
    qrels: Any,
    systems: System | pd.DataFrame | Iterable[System] | Mapping[str, System | pd.DataFrame],
    measures: Any = None,
    *,
    by: str | None = None,
    top: int = 20,
    names: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    relations: int = 10,
    **scoring: Unpack[ScoringOptions],
) -> Comparison:
    """Compare two systems.

    Parameters
    ----------
    qrels
        The judgements, and with a collection the topics of the questions, as for :func:`kgtrec.evaluate`.
    systems
        The two systems, as for :func:`kgtrec.evaluate`.
    measures, **scoring
        As :func:`kgtrec.evaluate` takes them: collection, ties, missing, unlisted_answers, weights, mixed, and the
        seed, which is that of the bootstrap samples too.
    by : str, optional
        The measure by whose value on each question those that differ most are chosen. Default: the first one that is
        not a rank, since ranks differ most where both systems fail; the first one if all are ranks.
    top : int
        Number of questions to choose: half of them those on which the first system is better by most, half those on
        which the second is, if there are so many.
    names : mapping of str to str, optional
        Names of entities in plain language, by their labels.
    confidence : float
        Of the percentile bootstrap intervals of the differences.
    resamples : int
        Bootstrap samples; the same ones are used for both systems, and for all measures over the same questions.
    relations : int
        Number of relations to show, those that contribute most to the difference; the data has all.

    Returns
    -------
    Comparison

    Raises
    ------
    KgtrecError
        If the systems are not two, or an option is out of range.
    MeasureError
        If a measure cannot be computed for these systems, or has no values of items.
    CollectionError
        If systems and judgements do not belong together.

    References
    ----------
    Efron, Tibshirani (1993). An Introduction to the Bootstrap, chapter 13, for the interval.
    Cameron, Miller (2015). A practitioner's guide to cluster-robust inference. Journal of Human Resources 50.

    Examples
    --------
    >>> from kgtrec.data.run import Run
    >>> import pandas as pd
    >>> qrels = Qrels.from_frame(
    ...     pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    ... )
    >>> def run(name, *lists):
    ...     rows = [(f"q{q}", entity, -place) for q, own in enumerate(lists, 1) for place, entity in enumerate(own)]
    ...     return Run.from_frame(pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]), name)
    >>> found = compare(qrels, [run("A", "ax", "xb"), run("B", "xa", "xyb")], "RR", resamples=100)
    >>> found.difference.round(4).tolist(), found.wins.tolist(), found.losses.tolist()
    ([0.3333], [2], [0])
    >>> found.questions[0].question, found.questions[0].answers[0]
    ('q1', AnswerPlaces(entity='a', name='', first=1.0, second=2.0))
    """
    given = qrels_of(qrels)
    judgements = judgements_of(given)
    if isinstance(given, Collection):
        scoring["collection"] = given
    how = Scoring(**scoring).without("sides")
    samples = Bootstrap(confidence, repeats=resamples, seed=how.seed)
    if top < 0:
        raise KgtrecError(f"expected a number of questions of at least 0 as top, found {top}")
    both = tuple(islice(each_system(systems), 3))
    if len(both) != 2:
        raise KgtrecError(f"expected two systems to compare, found {'more' if len(both) > 2 else len(both)}")
    scores = item_scores(given, both, measures, **scoring)
    by = (
        parse_measure(by).label
        if by
        else next((own for own in scores if np.isfinite(parse_measure(own).record.bounds[1])), next(iter(scores)))
    )
    if by not in scores:
        raise KgtrecError(
            f"expected one of the measures as by ({some_of(list(scores))}), found {by!r}{nearest(by, scores)}"
        )
    every = list(scores.values())
    low, high = _intervals(every, samples).T
    tests = np.array([_tests(own) for own in every]).T
    counts = np.array([_outcomes(own, np.zeros(len(own), np.int32), 1) for own in every])[:, :, 0].T
    names_of_tests = ("d_z", "t", "p", "t_clustered", "p_clustered", "wins", "losses", "ties")
    chosen = _chosen(scores[by], top)
    with unwarned():  # reported when the systems were scored
        places = []
        if len(chosen):
            seen = without_unlisted_answers(both, judgements, how)
            places = _places(seen, judgements, chosen, how)
    return Comparison(
        both[0].name,
        both[1].name,
        tuple(scores),
        tuple(own.items for own in every),
        tuple(own.higher_is_better for own in every),
        np.array([len(own) for own in every], np.int64),
        np.array([len(np.unique(own.question)) for own in every], np.int64),
        np.array([totals(own) for own in every]),
        low,
        high,
        confidence,
        groups={} if how.collection is None else _groups(every, judgements, how.collection),
        by=by,
        questions=_described(scores[by], chosen, places, judgements, how.collection, names or {}, both),
        relations=relations,
        **dict(zip(names_of_tests, (*tests, *counts), strict=True)),
    )


def _tests(scores: ItemScores) -> tuple[float, float, float, float, float]:
    """d_z; t and p over items; t and p clustered by question."""
    nothing = (np.nan,) * 5
    if scores.aggregate != "sum" and scores.aggregate not in LINKS:
        return nothing
    sample = paired_sample(scores)
    if not sample.known.all():
        without = [name for name, known in zip(scores.systems, sample.known, strict=True) if not known]
        warn(f"{scores.measure} has no value for some {scores.items} of {' and '.join(without)}, and so no p-value")
        return nothing
    n = len(scores)
    mean, deviation = paired_tests.differences(sample.value)
    d_z = paired_tests.effect_sizes(sample.value)[0]
    t, p = paired_tests.t_test(mean, deviation / np.sqrt(n), n - 1)
    clustered = t, p
    if scores.items == "answers":
        error, n_clusters = paired_tests.clustered_errors(sample.value, sample.cluster)
        clustered = paired_tests.t_test(mean, error, n_clusters - 1)
    if np.isnan(clustered[1][0]):
        warn(
            f"{scores.measure} has no variance for {scores.systems[0]} and {scores.systems[1]}, which differ by the "
            "same amount on every item: p is undefined"
        )
    return float(d_z[0]), float(t[0]), float(p[0]), float(clustered[0][0]), float(clustered[1][0])


def _intervals(every: list[ItemScores], how: Bootstrap) -> Floats:
    """(measures, 2) ends of the interval of each difference; NaN for sums, and where items have no value."""
    ends = np.full((len(every), 2), np.nan)
    drawn: dict[bytes, list[int]] = {}  # measures whose items are of the same questions
    for place, scores in enumerate(every):
        if scores.aggregate != "sum" and len(scores) and not np.isnan(scores.value).any():
            drawn.setdefault(scores.question.tobytes(), []).append(place)
    samples: dict[int, BootstrapSamples] = {}
    for places in drawn.values():
        alike = [every[place] for place in places]
        cluster = np.unique(alike[0].questions.byte_order[alike[0].question], return_inverse=True)[1]
        n = int(cluster.max()) + 1
        own = samples.setdefault(n, BootstrapSamples(n, how.repeats, how.seed))
        for place, numbers in zip(places, _resampled(alike, cluster, own), strict=True):
            with np.errstate(invalid="ignore"):
                ends[place] = percentile_interval(numbers[0] - numbers[1], how.confidence)
    return ends


def _resampled(alike: list[ItemScores], cluster: NDArray[np.intp], samples: BootstrapSamples) -> list[Floats]:
    """(2, repeats) values of both systems in every sample, for each of some measures over the same items."""
    found: list[Floats] = [np.empty(0)] * len(alike)
    above, below, means = [], [], []
    for place, scores in enumerate(alike):
        weight = np.ones(len(scores)) if scores.weight is None else scores.weight
        if scores.aggregate not in LINKS:
            group = np.zeros(len(scores), np.int32)
            medians = [Medians(value, group, 1) for value in scores.value]
            found[place] = np.array(
                [[median(weight * counts[cluster])[0] for block in samples for counts in block] for median in medians]
            )
            continue
        with np.errstate(divide="ignore"):
            linked = LINKS[cast(Aggregate, scores.aggregate)].to(scores.value)
        above += [weight * value for value in linked]
        below += [weight, weight]
        means.append(place)
    if means:
        group = np.zeros(len(cluster), np.int32)
        quotients = resampled_quotients(samples, cluster, group, 1, above, below)[:, :, 0]
        for number, place in enumerate(means):
            back = LINKS[cast(Aggregate, alike[place].aggregate)].back
            found[place] = back(quotients[2 * number : 2 * number + 2])
    return found


def _outcomes(scores: ItemScores, group: Ints, size: int) -> tuple[NDArray[np.int64], ...]:
    """(size,) wins, losses and ties of the first system."""
    higher, lower, same = outcomes(scores.value[0], scores.value[1], group, size)
    # an item's value rises with the measure's value, except where that is the inverse of a mean
    better = scores.higher_is_better != (scores.aggregate in ("inverse mean", "inverse geometric mean"))
    return (higher, lower, same) if better else (lower, higher, same)


def _groups(every: list[ItemScores], qrels: Qrels, topics: Collection) -> dict[str, GroupOutcomes]:
    row = topics.topics_of(qrels.questions)
    relation = topics.questions.relation[row]
    category = topics.categories.category[relation].astype(np.int32)
    return {
        "side": _group_outcomes(every, (~topics.questions.is_head[row]).astype(np.int32), labels_of(SIDES)),
        "category": _group_outcomes(
            every, np.where(category < 0, len(CATEGORIES), category), labels_of([*CATEGORIES, "none"])
        ),
        "relation": _group_outcomes(every, relation, topics.relations.labels),
    }


def _group_outcomes(every: list[ItemScores], code: NDArray[Any], labels: pa.Array) -> GroupOutcomes:
    """The scores of both systems on the groups of questions; ``code``: of each question of the qrels."""
    used = np.unique(np.concatenate([code[scores.question] for scores in every]))
    number = np.zeros(len(labels), np.int32)
    number[used] = np.arange(len(used), dtype=np.int32)
    size = len(used)
    parts = []
    for scores in every:
        group = number[code[scores.question]]
        how = cast(Aggregate, scores.aggregate)
        value = np.stack([aggregate_groups(own, group, size, how, scores.weight) for own in scores.value], axis=1)
        share = np.full(size, np.nan)
        if scores.aggregate in LINKS or scores.aggregate == "sum":
            averaged = rising_terms(scores)
            share = np.bincount(group, weights=averaged[0] - averaged[1], minlength=size) / len(scores)
        parts.append((np.bincount(group, minlength=size), value, *_outcomes(scores, group, size), share))
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    return GroupOutcomes(labels.take(arrow_of(used.astype(np.int32))), *columns)


#: a question on which the systems differ: its row in the qrels, the value of each, and whether the first is better
_Chosen = tuple[int, tuple[float, float], bool]


def _chosen(scores: ItemScores, top: int) -> list[_Chosen]:
    """The questions that differ most, the largest difference first."""
    used, place_of = np.unique(scores.question, return_inverse=True)
    group = place_of.astype(np.int32)
    how = cast(Aggregate, scores.aggregate)
    value = np.stack([aggregate_groups(own, group, len(used), how, scores.weight) for own in scores.value])
    apart = value[0] - value[1]
    n_items = np.bincount(group, minlength=len(used))
    # equal differences: more answers first, then by the question's id
    order = np.lexsort((scores.questions.byte_order[used], -n_items, -np.abs(apart)))
    differs = np.abs(apart) > 1e-12 * np.abs(value).max(axis=0)  # False for NaN
    ahead = (apart > 0) == scores.higher_is_better
    best, worst = (order[(differs & side)[order]] for side in (ahead, ~ahead))
    n_best = min(len(best), max((top + 1) // 2, top - len(worst)))
    places = np.concatenate([best[:n_best], worst[: top - n_best]])
    return [
        (int(used[place]), (float(value[0, place]), float(value[1, place])), bool(ahead[place]))
        for place in order[np.isin(order, places)]
    ]


def _places(
    both: Iterable[System], qrels: Qrels, chosen: list[_Chosen], scoring: Scoring
) -> list[dict[tuple[int, int], float]]:
    """For each system, the rank of every answer of the chosen questions, by the qrels' question and entity."""
    questions = np.array([question for question, _, _ in chosen], np.int32)
    row = np.flatnonzero((qrels.grade >= 1) & np.isin(qrels.question, questions))
    pairs = list(zip(qrels.question[row].tolist(), qrels.entity[row].tolist(), strict=True))
    found = []
    for system in both:
        rank = np.full(len(qrels), np.nan)
        if not isinstance(system, AnswerRanks):
            places = match(system, qrels).places
            rank[places.judged] = places.position  # in the lists; NaN below the cut
        elif (answers := match(system, qrels, scoring.ties, scoring.seed).answers) is not None:
            rank[qrels.grade >= 1] = answers.rank
        found.append(dict(zip(pairs, rank[row].tolist(), strict=True)))
    return found


def _described(
    scores: ItemScores,
    chosen: list[_Chosen],
    places: list[dict[tuple[int, int], float]],
    qrels: Qrels,
    topics: Collection | None,
    names: Mapping[str, str],
    both: tuple[System, ...],
) -> tuple[QuestionDifference, ...]:
    """The chosen questions in words."""
    if not chosen:
        return ()

    def label_of(entity: str) -> str:
        code = -1 if topics is None or topics.labels is None else int(topics.entities.encode([entity])[0])
        return entity if code < 0 or topics is None else entity_names(topics)[code]

    rows = None if topics is None else topics.topics_of(qrels.questions)
    described = []
    for question, value, first_is_better in chosen:
        side = anchor = relation = ""
        if topics is not None and rows is not None:
            row = int(rows[question])
            side = SIDES[0] if topics.questions.is_head[row] else SIDES[1]
            anchor = label_of(topics.entities[int(topics.questions.anchor[row])])
            relation = topics.relations[int(topics.questions.relation[row])]
        answers = [
            AnswerPlaces(label := label_of(qrels.entities[pair[1]]), names.get(label, ""), rank, places[1][pair])
            for pair, rank in places[0].items()
            if pair[0] == question
        ]
        answers.sort(key=lambda answer: (np.fmin(answer.first, answer.second), answer.entity))
        described.append(
            QuestionDifference(
                qrels.questions[question],
                side,
                anchor,
                names.get(anchor, ""),
                relation,
                value,
                both[0 if first_is_better else 1].name,
                tuple(answers),
            )
        )
    return tuple(described)
