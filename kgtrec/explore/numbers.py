"""Scores of all systems under all label sets, pairs of systems, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import tee
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.run import AnyRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, unwarned, warn
from kgtrec.evaluation.given import System
from kgtrec.evaluation.intervals import LEAST_BOUNDED, Intervals, drawn_triples
from kgtrec.evaluation.item_scores import ItemScores, as_terms, stacked, totals
from kgtrec.evaluation.matching import match, unranked
from kgtrec.evaluation.prepared import Prepared, breakdown_of, prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.evaluation.strata import cut
from kgtrec.evaluation.summarise import ItemValues
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.explore.labels import LabelSet
from kgtrec.explore.systems import NamedSystem
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.ratio_intervals import Units, quotients
from kgtrec.measures.aggregate import LINKS, aggregate_groups
from kgtrec.measures.names import AnyMeasure, parse_measures
from kgtrec.measures.record import Aggregate
from kgtrec.meta.power import Power, paired_sample, power, rising_terms, spread, t_tests

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Kind = Literal["own", "ranks", "run"]
ALPHA = 0.05
CONFIDENCE = 0.95
DEFAULTS = ("macro.MRR", "macro.Hits@1", "macro.Hits@10", "AP@20", "nDCG@20")
OF_RANKS = ("micro.MRR", "micro.Hits@1", "micro.Hits@10", "macro.MRR", "AP@20")
#: kind of stratum -> the breakdown of kgtrec evaluate
STRATA = {"side": "side", "relation": "relation", "category": "category", "popularity": "anchor-popularity"}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """All systems under one label set and one measure."""

    items: ItemScores
    total: Floats  # (systems,) as kgtrec evaluate gives it
    ends: Floats  # (2, systems) of its interval

    @property
    def adds(self) -> bool:
        """Whether the total is a sum over questions."""
        return self.items.aggregate in ("mean", "sum")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """All pairs of systems under one label set and one measure: the tests of kgtrec meta power, with intervals."""

    tested: Power
    low: Floats  # (pairs,) NaN where the difference is not that of the measure itself
    high: Floats

    @property
    def better(self) -> NDArray[np.int8]:
        """(pairs,) 0 or 1: the first or second is better by the adjusted test; -1: it does not say."""
        apart = self.tested.difference[0] * (1 if self.tested.higher_is_better[0] else -1)
        significant = self.tested.adjusted[0, 0] < ALPHA
        return np.select([significant & (apart > 0), significant & (apart < 0)], [0, 1], -1).astype(np.int8)


def default_measures(systems: Sequence[NamedSystem]) -> tuple[str, ...]:
    """Return the measures that the page shows by default."""
    return OF_RANKS if all(system.ranks is not None for system in systems) else DEFAULTS


class Jobs:
    """What is scored under which label set, from answer ranks or from lists.

    The numbers of a system come from its answer ranks, else from its run. If the answer ranks lack an answer of a label
    set, and there are runs of all systems, measures over questions are those of the runs under all label sets, so that
    they can be compared, and measures over answers are left out there.
    """

    def __init__(self, systems: Sequence[NamedSystem], labels: Sequence[LabelSet], measures: Any) -> None:
        parsed = parse_measures(default_measures(systems) if measures is None else measures)
        ranked = [system.ranks for system in systems if system.ranks is not None]
        lacking = [any(lacks(own, label) for own in ranked) for label in labels]
        self.by_lists = any(lacking) and all(system.read is not None for system in systems)
        self.jobs: list[tuple[int, list[AnyMeasure], Kind]] = []
        if not self.by_lists:
            self.jobs = [(place, parsed, "own") for place in range(len(labels))]
            return
        over = {kind: [each for each in parsed if each.items == kind] for kind in ("answers", "questions")}
        for place, is_lacking in enumerate(lacking):
            if over["answers"] and not is_lacking:
                self.jobs.append((place, over["answers"], "ranks"))
            if over["questions"]:
                self.jobs.append((place, over["questions"], "run"))
        without = ", ".join(label.name for label, is_lacking in zip(labels, lacking, strict=True) if is_lacking)
        warn(
            f"the answer ranks lack answers of {without}: measures over questions are those of the runs under all "
            "label sets, and measures over answers have no value there; kgtrec rank --judged gives ranks to all"
        )


def lacks(ranks: AnswerRanks, label: LabelSet) -> bool:
    """Check whether answer ranks lack an answer of a label set."""
    return bool((label.qrels.grade[unranked(ranks, label.qrels)] >= 1).any())


def scored_systems(
    collection: Collection,
    systems: Iterable[tuple[NamedSystem, AnyRun | None]],
    n_systems: int,
    labels: Sequence[LabelSet],
    jobs: Jobs,
) -> dict[tuple[int, str], Scored]:
    """Score all systems, each of which is read once, under every label set; by label set and measure."""
    feeds = tee(systems, len(jobs.jobs))
    scoring = Scoring(collection=collection)
    parts = []
    for feed, (place, measures, kind) in zip(feeds, jobs.jobs, strict=True):
        qrels = labels[place].qrels
        chosen = _fed(feed, kind, qrels.questions)
        parts.append(_Part(prepared(qrels if place else collection, chosen, measures, scoring), place, collection))
    for _ in range(n_systems + 1):  # in step, so that one system is in memory; the last step ends the checks
        for part in parts:
            part.advance()
    return {key: scored for part in parts for key, scored in part.scored()}


def _fed(feed: Iterable[tuple[NamedSystem, AnyRun | None]], kind: Kind, asked: Vocabulary) -> Iterator[System]:
    for system, run in feed:
        chosen: System | None = system.ranks
        if run is not None and (kind == "run" or (kind == "own" and chosen is None)):
            chosen = run if len(asked) >= len(run.questions) else run.of_questions(asked)  # others are no mistake
        if chosen is None:
            raise KgtrecError(f"expected answer ranks of {system.name}, as of the other systems, found its run only")
        yield chosen


class _Part:
    """One label set and the measures that are computed from one kind of systems."""

    def __init__(self, inputs: Prepared, place: int, collection: Collection) -> None:
        self.inputs, self.place, self.names = inputs, place, list[str]()
        self.intervals = Intervals(CONFIDENCE, inputs.qrels, drawn_triples(None, inputs.qrels, collection))
        self.found: dict[str, list[tuple[ItemValues, Floats]]] = {each.label: [] for each in inputs.measures}

    def advance(self) -> None:
        """Score the next system, if there is one."""
        system = next(self.inputs.systems, None)
        if system is None:
            return
        matched = self.inputs.matched(system)
        self.names.append(matched.name)
        for measure in self.inputs.measures:
            items = self.inputs.items_of(measure, matched)
            alike = self.inputs.weighting.by_question(measure)
            ends = self.intervals.of(measure, items, 1, matched.name, alike=alike).ends[:, 0]
            self.found[measure.label].append((as_terms(measure, items, matched.name), ends))

    def scored(self) -> Iterator[tuple[tuple[int, str], Scored]]:
        for measure in self.inputs.measures:
            items, ends = zip(*self.found[measure.label], strict=True)
            whole = _in_byte_order(stacked(measure, tuple(self.names), list(items), self.inputs.qrels))
            yield (self.place, measure.label), Scored(whole, totals(whole), np.array(ends).T)


def _in_byte_order(scores: ItemScores) -> ItemScores:
    """The same items in an order that depends on labels only."""
    keys = [scores.questions.byte_order[scores.question]]
    if scores.entity is not None and scores.entities is not None:
        keys.insert(0, scores.entities.byte_order[scores.entity])
    order = np.lexsort(keys)
    return replace(
        scores,
        value=scores.value[:, order],
        question=scores.question[order],
        entity=None if scores.entity is None else scores.entity[order],
        weight=None if scores.weight is None else scores.weight[order],
    )


def exact_ranks(ranks: AnswerRanks, label: LabelSet, collection: Collection) -> Floats | None:
    """Return (3, answers): rank of a label set's answers, the best and the worst over ties; None if some have none."""
    if lacks(ranks, label):
        return None
    with unwarned():  # reported when the systems were scored
        (system,) = without_unlisted_answers([ranks], label.qrels, Scoring(collection=collection))
        answers = match(system, label.qrels).answers
    return None if answers is None else np.array([answers.rank, answers.best, answers.worst], np.float64)


def pairs_of(items: Mapping[str, ItemScores]) -> dict[str, Pairs]:
    """Test all pairs of systems under each measure that is a mean, as ``kgtrec meta power``; with intervals."""
    found = {}
    for label, own in items.items():
        if own.aggregate not in ("sum", *LINKS) or len(own.systems) < 2 or not len(own):
            continue
        with unwarned():  # of pairs that do not differ
            tested = power({label: own}, tests=["clustered"])
        sample = paired_sample(own)
        known = np.flatnonzero(sample.known)
        error, n_clusters = paired_tests.clustered_errors(sample.value[known], sample.cluster)
        every = spread(error, known, len(own.systems), turns=False)
        ends = t_tests(tested.difference[:, None], every[None, None], np.array(n_clusters - 1.0), ALPHA)
        is_own = tested.scale[0] == "value"
        low, high = (np.where(is_own, ends[name][0, 0], np.nan) for name in ("low", "high"))
        found[label] = Pairs(tested, low, high)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """The questions in groups of one kind."""

    labels: list[str]
    group: Ints  # (questions of the collection,) row in labels


def strata_of(collection: Collection) -> dict[str, Stratum]:
    """Group the questions by side, relation, category, popularity of the anchor, and number of answers."""
    found = {}
    for kind, per in STRATA.items():
        with suppress(KgtrecError):  # without train triples there is no popularity
            parts = breakdown_of(per, collection.qrels, collection, [], None)
            labels = parts.items[per].to_pylist()
            order = sorted(range(len(labels)), key=lambda at: labels[at].encode()) if kind == "relation" else None
            group = parts.group
            if order is not None:
                place = np.empty(len(order), np.int32)
                place[order] = np.arange(len(order), dtype=np.int32)
                labels, group = [labels[at] for at in order], place[group]
            found[kind] = Stratum(labels, group)
    n = np.bincount(collection.qrels.question[collection.qrels.grade >= 1], minlength=len(collection.questions))
    group, labels = cut(n, n, 4)
    found["answers"] = Stratum(labels, group)
    return found


class StratumTests:
    """Both systems of each pair on each group, with a test that the adjusted p-values of a kind share."""

    def __init__(self, scored: Scored, groups: Mapping[str, Ints], sizes: Mapping[str, int]) -> None:
        self._items, self._groups, self._sizes = scored.items, groups, sizes

    @cached_property
    def _averaged(self) -> Floats | None:
        is_mean = self._items.aggregate in ("sum", *LINKS)
        return rising_terms(self._items) if is_mean else None

    def rows(self) -> Iterator[tuple[int, int, dict[str, NDArray[Any]]]]:
        """Yield the number of the kind, that of the pair, and a column for each number of its groups."""
        items = self._items
        first, second = paired_tests.pairs(len(items.systems))
        how = cast(Aggregate, items.aggregate)
        for kind, (name, group_of) in enumerate(self._groups.items()):
            size = self._sizes[name]
            group = group_of[items.question]
            n = np.bincount(group, minlength=size)
            used = np.flatnonzero(n)
            units = Units.of(items.questions.byte_order[items.question], group, size)
            n_units = np.bincount(units.own_group, minlength=size)
            value = np.stack([aggregate_groups(own, group, size, how, items.weight) for own in items.value])
            one = np.ones(len(items))
            for pair, (a, b) in enumerate(zip(first, second, strict=True)):
                higher, lower, _ = paired_tests.outcomes(items.value[a], items.value[b], group, size)
                falls = items.aggregate in ("inverse mean", "inverse geometric mean")
                wins, losses = (higher, lower) if items.higher_is_better != falls else (lower, higher)
                p = np.full(size, np.nan)
                if self._averaged is not None:
                    apart = quotients(units, self._averaged[a] - self._averaged[b], one)
                    tested = (n_units >= LEAST_BOUNDED) & (apart.error > 0)
                    freedom = np.maximum(n_units - 1.0, 1.0)
                    p[tested] = t_tests(
                        apart.value[None, None, tested], apart.error[None, None, tested], freedom[tested], ALPHA
                    )["adjusted"][0, 0]
                columns = {"n": n, "first": value[a], "second": value[b], "difference": value[a] - value[b]}
                columns |= {"p": p, "wins": wins, "losses": losses}
                yield kind, pair, {"group": used, **{key: column[used] for key, column in columns.items()}}
