"""Comparison of two systems: their differences, the uncertainty of these, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Unpack

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
from kgtrec.data.triples import plain
from kgtrec.errors import KgtrecError, legible, nearest, some_of, unwarned
from kgtrec.evaluation.given import System, Systems, each_system, judgements_of, qrels_of
from kgtrec.evaluation.item_scores import ItemScores, item_scores, totals
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.exact_sums import group_sums
from kgtrec.kernels.statistics.influence import n_of_share
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval, resampled_quotients
from kgtrec.measures.aggregate import LINKS
from kgtrec.measures.names import parse_measure
from kgtrec.meta.power import power, rising_terms
from kgtrec.meta.question_draws import Bootstrap, resampled_medians

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
    questions: pa.Table  # a row per answer of the questions that differ most, the largest difference first
    n_of_90: int | None = (
        None  # questions that make 90% of the absolute difference under `by`; None: it does not add up
    )
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
        return tuple(self._better(self.difference))

    def better_on(self, kind: str) -> list[list[str]]:
        """Return the better system of each group of one kind, (measures, groups)."""
        return self._better(self.groups[kind].difference)

    def _better(self, apart: NDArray[np.float64]) -> list[Any]:
        """The better systems, by (measures, ...) differences."""
        named = np.array(["", self.first, self.second], object)
        ahead = np.where(self.higher_is_better, apart.T, -apart.T).T
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
        parts = self.groups[kind]
        columns: dict[str, Any] = {"measure": (0, self.measures), kind: (1, parts.labels), "n_items": parts.n_items}
        columns |= {"first": parts.value[:, :, 0], "second": parts.value[:, :, 1], "difference": parts.difference}
        columns["better"] = np.array(self.better_on(kind), object)
        counts = "share", "wins", "losses", "ties"
        return long_table(parts.wins.shape, columns | {name: getattr(parts, name) for name in counts})

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
        answers = self.questions.to_pylist()
        place, shown = [answer["place"] for answer in answers], _ANSWERS_SHOWN
        rows = [row for row in range(len(place)) if row < shown or place[row - shown] != place[row]]
        names = {answer["entity"]: answer["name"] for answer in answers if answer["name"]}
        columns = (
            Column("question"),
            Column("question", "asks for", names={answer["question"]: _asks(**answer) for answer in answers}),
            Column("entity", "answer", names=names),
            Column("better", names={"": "-"}),
            *self._numbers()[:2],
            Column("first_rank", f"rank in {self.first}", 1),
            Column("second_rank", f"rank in {self.second}", 1),
        )
        title = f"questions that differ most by {self.by}, with up to {_ANSWERS_SHOWN} answers of each"
        if self.n_of_90 is not None:
            n = int(self.n_questions[self.measures.index(self.by)])
            title += f"; {self.n_of_90:,} of {n:,} questions make 90% of the absolute differences"
        return Table("questions", title, "", self.questions, columns, rows)


def _asks(side: str, anchor: str, anchor_name: str, relation: str, **_: Any) -> str:
    """A question, such as ``(?, capital_of, austria)``; - if the topic is unknown."""
    asked = {"head": f"(?, {relation}, {anchor_name or anchor})", "tail": f"({anchor_name or anchor}, {relation}, ?)"}
    return asked.get(side, "-")


Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def compare(
    qrels: Any,
    systems: Systems,
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

    See Also
    --------
    kgtrec.meta.power : All pairs of systems.

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
    >>> found.questions.select(["question", "entity", "first_rank", "second_rank"]).to_pylist()[0]
    {'question': 'q1', 'entity': 'a', 'first_rank': 1.0, 'second_rank': 2.0}
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
        found = ", ".join(system.name for system in both[:2]) or "none"
        found += " and more" if len(both) > 2 else ""
        raise KgtrecError(f"expected two systems to compare, found {found}; name two")
    scores = item_scores(given, both, measures, **scoring)
    if by:
        by = parse_measure(by).label
    else:
        by = next((own for own in scores if np.isfinite(parse_measure(own).record.bounds[1])), next(iter(scores)))
    if by not in scores:
        raise KgtrecError(
            f"expected one of the measures as by ({some_of(list(scores))}), found {by!r}{nearest(by, scores)}"
        )
    every = list(scores.values())
    low, high = _intervals(every, samples).T
    tests = np.full((5, len(every)), np.nan)
    if testable := {label: own for label, own in scores.items() if own.aggregate in ("sum", *LINKS)}:
        tested = power(testable)
        (t, t_clustered), (p, p_clustered) = (part[:, :, 0].T for part in (tested.statistic, tested.p))
        tests[:, [label in testable for label in scores]] = tested.d_z[:, 0], t, p, t_clustered, p_clustered
    counts = np.array([outcomes(own, np.zeros(len(own), np.int32), 1) for own in every])[:, :, 0].T
    most_different = _most_different(scores[by], top)
    names_of_tests = ("d_z", "t", "p", "t_clustered", "p_clustered", "wins", "losses", "ties")
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
        questions=_question_table(*most_different[:3], scores[by].measure, both, judgements, how, names or {}),
        n_of_90=most_different[3],
        relations=relations,
        **dict(zip(names_of_tests, (*tests, *counts), strict=True)),
    )


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
            found[place] = resampled_medians(scores.value, weight, samples, cluster).T
            continue
        with np.errstate(divide="ignore"):
            linked = LINKS[scores.aggregate].to(scores.value)
        above += [weight * value for value in linked]
        below += [weight, weight]
        means.append(place)
    if means:
        group = np.zeros(len(cluster), np.int32)
        quotients = resampled_quotients(samples, cluster, group, 1, above, below)[:, :, 0]
        for number, place in enumerate(means):
            back = LINKS[alike[place].aggregate].back
            found[place] = back(quotients[2 * number : 2 * number + 2])
    return found


def outcomes(
    scores: ItemScores, group: Ints, size: int, pair: tuple[int, int] = (0, 1)
) -> tuple[NDArray[np.int64], ...]:
    """Return, (size,) each, wins, losses and ties of the first of two systems in each group of items."""
    higher, lower, same = paired_tests.outcomes(scores.value[pair[0]], scores.value[pair[1]], group, size)
    # an item's value rises with the measure's value, except where that is the inverse of a mean
    better = scores.higher_is_better != (scores.aggregate in ("inverse mean", "inverse geometric mean"))
    return (higher, lower, same) if better else (lower, higher, same)


def _groups(every: list[ItemScores], qrels: Qrels, topics: Collection) -> dict[str, GroupOutcomes]:
    row, asked = topics.topics_of(qrels.questions), plain(topics.questions)
    category = topics.categories.category[topics.questions.relation[row]].astype(np.int32)
    return {
        "side": _group_outcomes(every, (~topics.questions.is_head[row]).astype(np.int32), labels_of(SIDES)),
        "category": _group_outcomes(
            every, np.where(category < 0, len(CATEGORIES), category), labels_of([*CATEGORIES, "none"])
        ),
        "relation": _group_outcomes(every, asked.relation[row], asked.relations.labels),
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
        share = np.full(size, np.nan)
        if scores.aggregate in LINKS or scores.aggregate == "sum":
            averaged = rising_terms(scores)
            share = group_sums(group, averaged[0] - averaged[1], size) / len(scores)
        value = scores.by_group(group, size).T
        parts.append((np.bincount(group, minlength=size), value, *outcomes(scores, group, size), share))
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    return GroupOutcomes(labels.take(arrow_of(used.astype(np.int32))), *columns)


def per_question(scores: ItemScores, group: Ints, size: int) -> tuple[Floats, Floats]:
    """Return the value of each system on each question, and the share of each question in the measure's value.

    Parameters
    ----------
    scores : ItemScores
    group : (items,) int array
        The number of each item's question.
    size : int
        How many questions there are.

    Returns
    -------
    (systems, size) float array
        NaN where a question has no items.
    (size,) float array
        Where the measure's value is a mean or a sum, it is the sum of the products with the values.
    """
    value = (replace(scores, aggregate="mean") if scores.aggregate == "sum" else scores).by_group(group, size)
    weight = np.bincount(group, weights=scores.weight, minlength=size).astype(np.float64)
    return value, weight if scores.aggregate == "sum" else weight / max(weight.sum(), 1e-300)


def n_of_difference(scores: ItemScores, value: Floats, weight: Floats, pair: tuple[int, int] = (0, 1)) -> int | None:
    """Return how many questions make 90% of the absolute difference of two systems, by :func:`per_question`.

    None where the measure's value is not a sum over questions.
    """
    if scores.aggregate not in ("mean", "sum"):
        return None
    return n_of_share(weight * (value[pair[0]] - value[pair[1]]), 0.9)


def _most_different(scores: ItemScores, top: int) -> tuple[Ints, Floats, NDArray[np.bool_], int | None]:
    """The questions that differ most, the most different first: rows, (2, n) values, whether the first is better.

    And how many questions make 90% of the difference.
    """
    used, place_of = np.unique(scores.question, return_inverse=True)
    group = place_of.astype(np.int32)
    value, weight = per_question(scores, group, len(used))
    apart = value[0] - value[1]
    n_items = np.bincount(group, minlength=len(used))
    # equal differences: more answers first, then by the question's id
    order = np.lexsort((scores.questions.byte_order[used], -n_items, -np.abs(apart)))
    differs = np.abs(apart) > 1e-12 * np.abs(value).max(axis=0)  # False for NaN
    ahead = (apart > 0) == scores.higher_is_better
    best, worst = (order[(differs & side)[order]] for side in (ahead, ~ahead))
    n_best = min(len(best), max((top + 1) // 2, top - len(worst)))
    chosen = order[np.isin(order, np.concatenate([best[:n_best], worst[: top - n_best]]))]
    return used[chosen], value[:, chosen], ahead[chosen], n_of_difference(scores, value, weight)


def _ranks(systems: Iterable[System], qrels: Qrels, row: NDArray[np.intp], scoring: Scoring) -> Floats:
    """(systems, rows) the rank of some answers of the qrels; NaN below the cut of a run."""
    ranks = np.full((2, len(qrels)), np.nan)
    for system, rank in zip(systems, ranks, strict=True):
        if not isinstance(system, AnswerRanks):
            places = match(system, qrels).places
            rank[places.judged] = places.position
        elif (answers := match(system, qrels, scoring.ties, scoring.seed).answers) is not None:
            rank[qrels.grade >= 1] = answers.rank
    return ranks[:, row]


def _question_table(
    question: Ints,
    value: Floats,
    ahead: NDArray[np.bool_],
    measure: str,
    systems: Sequence[System],
    qrels: Qrels,
    scoring: Scoring,
    names: Mapping[str, str],
) -> pa.Table:
    """A row per answer of the questions that differ most, the answers of a question by their better rank."""
    n, topics = len(question), scoring.collection
    place_of = np.full(len(qrels.questions), -1)
    place_of[question] = np.arange(n)
    row = np.flatnonzero((qrels.grade >= 1) & (place_of[qrels.question] >= 0))
    ranks = np.empty((2, 0))
    if n:
        with unwarned():  # reported when the systems were scored
            ranks = _ranks(without_unlisted_answers(systems, qrels, scoring), qrels, row, scoring)
    entity, side, anchor, relation = qrels.entities.decode(qrels.entity[row]).to_pylist(), [""] * n, [""] * n, [""] * n
    if topics is not None:
        topic, called = topics.topics_of(qrels.questions)[question], entity_names(topics)
        side = [SIDES[0] if is_head else SIDES[1] for is_head in topics.questions.is_head[topic]]
        anchor = called.decode(topics.questions.anchor[topic]).to_pylist()
        relation = topics.relations.decode(topics.questions.relation[topic]).to_pylist()
        code_of = zip(entity, topics.entities.encode(entity), strict=True)
        entity = [label if code < 0 else called[code] for label, code in code_of]
    per_question = {
        "place": np.arange(1, n + 1),
        "question": (0, qrels.questions.decode(question)),
        "side": (0, side),
        "anchor": (0, anchor),
        "anchor_name": (0, [names.get(label, "") for label in anchor]),
        "relation": (0, relation),
        "measure": measure,
        "first": value[0],
        "second": value[1],
        "better": (0, [systems[0 if first_is_better else 1].name for first_is_better in ahead]),
    }
    place, best = place_of[qrels.question[row]], np.nan_to_num(np.fmin(*ranks), nan=np.inf)
    order = sorted(range(len(row)), key=lambda at: (place[at], best[at], entity[at]))
    table, entity = long_table((n,), per_question).take(arrow_of(place[order])), [entity[at] for at in order]
    per_answer = {"entity": labels_of(entity), "name": labels_of([names.get(label, "") for label in entity])}
    per_answer |= {"first_rank": arrow_of(ranks[0][order]), "second_rank": arrow_of(ranks[1][order])}
    for name, column in per_answer.items():
        table = table.append_column(name, column)
    return table
