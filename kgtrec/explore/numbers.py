"""Scores of all systems under all label sets, pairs of systems, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import tee, zip_longest
from typing import Any, Literal

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
from kgtrec.measures.aggregate import LINKS
from kgtrec.measures.names import AnyMeasure, parse_measures
from kgtrec.meta.comparison import outcomes
from kgtrec.meta.power import Power, paired_sample, power, rising_terms, spread, t_tests

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Kind = Literal["own", "ranks", "run"]
Job = tuple[int, list[AnyMeasure], Kind]  # label set, measures, and what they are computed from
ALPHA = 0.05
CONFIDENCE = 0.95
DEFAULTS = ("macro.MRR", "macro.Hits@1", "macro.Hits@10", "AP@20", "nDCG@20")
OF_RANKS = ("micro.MRR", "micro.Hits@1", "micro.Hits@10", "macro.MRR", "AP@20")
#: kind of stratum -> the breakdown of kgtrec evaluate
STRATA = {"side": "side", "relation": "relation", "category": "category", "anchor popularity": "anchor-popularity"}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """All systems under one label set and one measure, and the tests of kgtrec meta power of all pairs of them."""

    items: ItemScores
    total: Floats  # (systems,) as kgtrec evaluate gives it
    ends: Floats  # (2, systems) of its interval
    tested: Power | None  # None for a median, or one system
    low: Floats  # (pairs,) of the difference, by the same test; NaN where it is not that of the measure itself
    high: Floats

    @classmethod
    def of(cls, items: ItemScores, ends: Floats) -> Scored:
        """Test the systems, whose values have intervals that end at ``ends``."""
        n_systems = len(items.systems)
        unknown = np.full(n_systems * (n_systems - 1) // 2, np.nan)
        if items.aggregate not in ("sum", *LINKS) or n_systems < 2 or not len(items):
            return cls(items, totals(items), ends, None, unknown, unknown)
        with unwarned():  # of pairs that do not differ
            tested = power({items.measure: items}, tests=["clustered"])
        sample = paired_sample(items)
        known = np.flatnonzero(sample.known)
        error, n_clusters = paired_tests.clustered_errors(sample.value[known], sample.cluster)
        every = spread(error, known, n_systems, turns=False)
        found = t_tests(tested.difference[:, None], every[None, None], np.array(n_clusters - 1.0), ALPHA)
        low, high = (found[name][0, 0] if tested.scale[0] == "value" else unknown for name in ("low", "high"))
        return cls(items, totals(items), ends, tested, low, high)

    @property
    def adds(self) -> bool:
        """Whether the total is a sum over questions."""
        return self.items.aggregate in ("mean", "sum")

    @property
    def p(self) -> Floats:
        """(pairs,) adjusted over all pairs."""
        return self.low * np.nan if self.tested is None else self.tested.adjusted[0, 0]

    @property
    def better(self) -> NDArray[np.int8]:
        """(pairs,) 0 or 1: the first or second is better by the adjusted test; -1: it does not say."""
        first, second = paired_tests.pairs(len(self.total))
        apart = (self.total[first] - self.total[second]) * (1 if self.items.higher_is_better else -1)
        tested = self.p < ALPHA
        return np.select([tested & (apart > 0), tested & (apart < 0)], [0, 1], -1).astype(np.int8)


def lacks(ranks: AnswerRanks, label: LabelSet) -> bool:
    """Check whether answer ranks lack an answer of a label set."""
    return bool((label.qrels.grade[unranked(ranks, label.qrels)] >= 1).any())


def jobs_of(systems: Sequence[NamedSystem], labels: Sequence[LabelSet], measures: Any) -> list[Job]:
    """Return which measures of which label set are computed from what.

    The numbers of a system come from its answer ranks, else from its run. If the answer ranks lack an answer of a label
    set, and there are runs of all systems, measures over questions are those of the runs under all label sets, so that
    they can be compared, and measures over answers are left out there.
    """
    ranked = [system.ranks for system in systems if system.ranks is not None]
    parsed = parse_measures(measures or (OF_RANKS if len(ranked) == len(systems) else DEFAULTS))
    lacking = [any(lacks(own, label) for own in ranked) for label in labels]
    if not any(lacking) or any(system.read is None for system in systems):
        return [(place, parsed, "own") for place in range(len(labels))]
    names = ", ".join(label.name for label, is_lacking in zip(labels, lacking, strict=True) if is_lacking)
    warn(
        f"the answer ranks lack answers of {names}: measures over questions are those of the runs under all label "
        "sets, and measures over answers have no value there; kgtrec rank --judged gives ranks to all"
    )
    over = {kind: [each for each in parsed if each.items == kind] for kind in ("answers", "questions")}
    jobs: list[Job] = [(place, over["answers"], "ranks") for place, is_lacking in enumerate(lacking) if not is_lacking]
    jobs += [(place, over["questions"], "run") for place in range(len(labels))]
    return [job for job in jobs if job[1]]


def scored_systems(
    collection: Collection,
    systems: Iterable[tuple[NamedSystem, AnyRun | None]],
    labels: Sequence[LabelSet],
    jobs: Sequence[Job],
) -> dict[tuple[int, str], Scored]:
    """Score all systems, each of which is read once, under every label set; by label set and measure."""
    found: dict[tuple[int, str], Scored] = {}
    running = []
    for feed, (place, measures, kind) in zip(tee(systems, len(jobs)), jobs, strict=True):
        qrels, scoring = labels[place].qrels, Scoring(collection=collection)
        chosen = _fed(feed, kind, qrels.questions)
        inputs = prepared(qrels if place else collection, chosen, measures, scoring)
        intervals = Intervals(CONFIDENCE, inputs.qrels, drawn_triples(None, inputs.qrels, collection))
        running.append(_scoring(place, inputs, intervals, found))
    for _ in zip_longest(*running):  # in step, so that one system is in memory
        pass
    return dict(sorted(found.items(), key=lambda each: each[0][0]))


def _scoring(
    place: int, inputs: Prepared, intervals: Intervals, found: dict[tuple[int, str], Scored]
) -> Iterator[None]:
    """Score a system at each step, and after the last one put all into ``found``, under the label set ``place``."""
    names: list[str] = []
    values: list[list[tuple[ItemValues, Floats]]] = [[] for _ in inputs.measures]
    for system in inputs.systems:
        matched = inputs.matched(system)
        names.append(matched.name)
        for measure, own in zip(inputs.measures, values, strict=True):
            items, alike = inputs.items_of(measure, matched), inputs.weighting.by_question(measure)
            ends = intervals.of(measure, items, 1, matched.name, alike=alike).ends[:, 0]
            own.append((as_terms(measure, items, matched.name), ends))
        yield
    for measure, own in zip(inputs.measures, values, strict=True):
        every, bounds = zip(*own, strict=True)
        whole = _in_byte_order(stacked(measure, tuple(names), list(every), inputs.qrels))
        found[place, measure.label] = Scored.of(whole, np.array(bounds).T)


def _fed(feed: Iterable[tuple[NamedSystem, AnyRun | None]], kind: Kind, asked: Vocabulary) -> Iterator[System]:
    for system, run in feed:
        chosen: System | None = system.ranks
        if run is not None and (kind == "run" or (kind == "own" and chosen is None)):
            chosen = run if len(asked) >= len(run.questions) else run.of_questions(asked)  # others are no mistake
        if chosen is None:
            raise KgtrecError(f"expected answer ranks of {system.name}, as of the other systems, found its run only")
        yield chosen


def _in_byte_order(scores: ItemScores) -> ItemScores:
    """The same items in an order that depends on labels only."""
    order = scores.label_order
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
            labels, group = Vocabulary(parts.items[per]), parts.group
            if kind == "relation":
                labels, group = Vocabulary(labels.decode(np.argsort(labels.byte_order))), labels.byte_order[group]
            found[kind] = Stratum(list(labels), group)
    n = np.bincount(collection.qrels.question[collection.qrels.grade >= 1], minlength=len(collection.questions))
    group, names = cut(n, n, 4)
    return found | {"number of answers": Stratum(names, group)}


def stratum_tests(scored: Scored, strata: Mapping[str, Stratum], row: Ints) -> Iterator[dict[str, NDArray[Any]]]:
    """Compare both systems of each pair on each group of each kind, with p-values adjusted over the groups of a kind.

    Parameters
    ----------
    scored : Scored
    strata : mapping of str to Stratum
    row : (items,) int array
        The row of each item's question in the collection.

    Yields
    ------
    dict of str to array
        Columns of a pair and a kind: pair, kind, group, n, first, second, difference, p, wins, losses.
    """
    items = scored.items
    averaged = None if scored.tested is None else rising_terms(items)
    for kind, stratum in enumerate(strata.values()):
        size, group = len(stratum.labels), stratum.group[row]
        n = np.bincount(group, minlength=size)
        used = np.flatnonzero(n)
        units = Units.of(items.questions.byte_order[items.question], group, size)
        n_units = np.bincount(units.own_group, minlength=size)
        value = items.by_group(group, size)
        for pair, (a, b) in enumerate(zip(*paired_tests.pairs(len(items.systems)), strict=True)):
            wins, losses, _ = outcomes(items, group, size, (a, b))
            p = np.full(size, np.nan)
            if averaged is not None:
                apart = quotients(units, averaged[a] - averaged[b], np.ones(len(items)))
                at = (n_units >= LEAST_BOUNDED) & (apart.error > 0)
                found = t_tests(apart.value[None, None, at], apart.error[None, None, at], n_units[at] - 1.0, ALPHA)
                p[at] = found["adjusted"][0, 0]
            columns = {"n": n, "first": value[a], "second": value[b], "difference": value[a] - value[b], "p": p}
            columns |= {"wins": wins, "losses": losses, "pair": np.full(size, pair), "kind": np.full(size, kind)}
            yield {"group": used, **{key: column[used] for key, column in columns.items()}}
