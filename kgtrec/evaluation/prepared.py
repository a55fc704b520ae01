"""The checked arguments of the verbs that score systems, and the values of items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.collection import CATEGORIES, Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.scores import BREAKDOWNS, OF_POPULARITY
from kgtrec.data.triples import plain, qualifiers_of, steps_of
from kgtrec.errors import KgtrecError, MeasureError, one_of, warn
from kgtrec.evaluation.belonging import different_systems, of_collection
from kgtrec.evaluation.given import System, each_system, qrels_of
from kgtrec.evaluation.matching import MatchedSystem, leaves_order_open, match
from kgtrec.evaluation.scoring import (
    MACRO_DEFAULTS,
    MICRO_DEFAULTS,
    OF_ANSWERS,
    OVER_ANSWERS,
    Missing,
    Scoring,
    has_only_answers,
)
from kgtrec.evaluation.strata import SEEN, TrainStrata, by_missing_links, seen_strata
from kgtrec.evaluation.summarise import ItemValues
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.evaluation.weighting import Weighting
from kgtrec.measures.names import AnyMeasure, ParsedMeasure, ProvidedMeasure, parse_measures

_OF_LINKS = ("half-link", "seen", "time")  # of questions of one link


def default_measures(*, ranks: bool, only_answers: bool = False) -> tuple[str, ...]:
    """Return the measures that are computed by default; ``ranks``: all systems are answer ranks.

    ``only_answers``: those over answers, where questions have no value.

    Parameters
    ----------
    ranks : bool
        Whether all systems are answer ranks, which have measures over answers too.
    only_answers : bool
        Return only measures over answers, for breakdowns in which questions have no value. Default: no.

    Examples
    --------
    >>> default_measures(ranks=False)
    ('macro.MRR', 'macro.Hits@1', 'macro.Hits@3', 'macro.Hits@10', 'AP@20', 'nDCG@20')
    """
    if only_answers:
        return MICRO_DEFAULTS[:-1]
    return (*MICRO_DEFAULTS, *MACRO_DEFAULTS) if ranks else MACRO_DEFAULTS


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The checked arguments of the verbs that score systems."""

    qrels: Qrels
    systems: Iterator[System]  # one by one, checked to belong together, without the answers that the qrels lack
    measures: list[AnyMeasure]
    scoring: Scoring  # with the collection of the topics
    weighting: Weighting
    breakdown: Breakdown

    def matched(self, system: System) -> MatchedSystem:
        """Match a system with the qrels; warn of questions that it lacks, if a measure is over questions."""
        matched = match(system, self.qrels, self.scoring.ties, self.scoring.seed)
        if any(measure.items == "questions" for measure in self.measures):
            warn_of_lacking(matched, self.qrels, self.scoring)
        return matched

    def items_of(self, measure: AnyMeasure, matched: MatchedSystem) -> ItemValues:
        """Compute the items of one measure for one system, with their weights; warn if some have no value.

        Raises
        ------
        MeasureError
            If the measure cannot be computed for this kind of system.
        """
        if isinstance(measure, ParsedMeasure) and measure.items == "answers":
            items = _items_of_answers(measure, matched, self.breakdown)
        else:
            items = _items_of_questions(measure, matched, self.qrels, self.breakdown, self.scoring.missing)
        if unknown := np.count_nonzero(np.isnan(items.value)):
            warn(
                f"{measure.label} of {matched.name} is undefined for {unknown} of {len(items.value)} {measure.items}, "
                "and so are the means over them" + (": no answer is in the cut run" if matched.run is not None else "")
            )
        return replace(items, weight=self.weighting.of(items, measure))


def prepared(
    qrels: Any, systems: Any, measures: Any, scoring: Scoring, per: str | None = None, quantiles: int | None = None
) -> Prepared:
    """Check the common arguments of every verb that scores systems.

    Raises
    ------
    KgtrecError
        If there is no judgement.
    MeasureError
        If a measure is unknown.

    Warns
    -----
    KgtrecWarning
        Of measures that fix other weights.
    """
    judgements = qrels_of(qrels)
    whole = judgements if isinstance(judgements, Collection) else None
    if isinstance(judgements, Collection):
        judgements, scoring = judgements.qrels, replace(scoring, collection=whole)
    if len(judgements) == 0:
        raise KgtrecError("expected qrels with at least one judgement, found none")
    only_answers = has_only_answers(per, scoring.weights)
    systems, measures = systems_and_measures(systems, measures, only_answers=only_answers)
    collection = scoring.collection
    judgements = of_collection(judgements, collection)
    if scoring.sides != SIDES:
        judgements = _of_sides(judgements, collection, scoring.sides)
        systems = (
            system if isinstance(system, AnswerRanks) else system.of_questions(judgements.questions)
            for system in systems
        )
    systems = different_systems(systems, whole, qrels=judgements, measures=measures, mixed=scoring.mixed)
    weighting = Weighting(scoring.weights, judgements, collection)
    weighting.warn_fixed(measures)
    if scoring.weights == "popularity":
        _refuse_over_questions(measures, f"whose answers differ in popularity; {OVER_ANSWERS}")
    systems = without_unlisted_answers(systems, judgements, scoring, measures)
    breakdown = breakdown_of(per, judgements, collection, measures, quantiles)
    return Prepared(judgements, systems, measures, scoring, weighting, breakdown)


def systems_and_measures(
    systems: Any, measures: Any, *, only_answers: bool = False
) -> tuple[Iterable[System], list[AnyMeasure]]:
    """Return the systems of a caller one by one, and the measures, or the default ones of such systems."""
    systems = each_system(systems)
    if measures is None:
        systems = list(systems)
        ranks = all(isinstance(system, AnswerRanks) for system in systems)
        measures = default_measures(ranks=ranks, only_answers=only_answers)
    return systems, parse_measures(measures)


def _of_sides(qrels: Qrels, collection: Collection | None, sides: Sequence[str]) -> Qrels:
    """The judgements of the questions of some sides."""
    if collection is None:
        raise KgtrecError(
            "expected a collection, which has the sides of the questions, found qrels alone (--collection)"
        )
    asked = np.isin(collection.topics_of(qrels.questions), collection.questions.rows_of(sides))
    qrels = qrels.of_questions(np.flatnonzero(asked))
    if len(qrels) == 0:
        raise KgtrecError(f"expected judgements of questions that ask for the {' or '.join(sides)}, found none")
    return qrels


@dataclass(frozen=True, slots=True)
class Breakdown:
    """How values are broken down: a group for each question, or for each answer."""

    group: NDArray[np.int32]  # (questions,) row in items, or (answers,)
    size: int  # number of items
    items: Mapping[str, pa.Array]
    of_answers: bool = False  # whether the group is that of an answer


def breakdown_of(
    per: str | None, qrels: Qrels, collection: Collection | None, measures: Iterable[AnyMeasure], quantiles: int | None
) -> Breakdown:
    """Return the groups of questions, or of answers, that each have a value: one group of all if ``per`` is None.

    Raises
    ------
    KgtrecError
        If ``per`` is unknown, or needs topics or train triples that there are not; or if there are quantiles and
        nothing is cut at them.
    MeasureError
        If a measure over questions is asked for values of answers, or of strata of answers.
    """
    n = len(qrels.questions)
    if quantiles is not None and per not in OF_POPULARITY:
        raise KgtrecError(f"expected quantiles only of {' or '.join(OF_POPULARITY)} (--per), found {quantiles}")
    if per is None:
        return Breakdown(np.zeros(n, np.int32), 1, {})
    if per == "question":
        return Breakdown(np.arange(n, dtype=np.int32), n, {"question": qrels.questions.labels})
    if per in OF_ANSWERS:
        _refuse_over_questions(measures, OF_ANSWERS[per])
    if per == "answer":
        relevant = qrels.grade >= 1
        items = {
            "question": qrels.questions.decode(qrels.question[relevant]),
            "entity": qrels.entities.decode(qrels.entity[relevant]),
        }
        n = int(relevant.sum())
        return Breakdown(np.arange(n, dtype=np.int32), n, items, of_answers=True)
    one_of("per to be one of", per, BREAKDOWNS)
    if collection is not None and collection.missing_links is not None and per in _OF_LINKS:
        raise KgtrecError(
            f"expected questions of one link, to score them per {per}, found complex queries; score them per relation "
            "(their structure), or per missing-links"
        )
    if per in (*OF_POPULARITY, "half-link"):
        group, names = TrainStrata(qrels, collection, f"--per {per}").of(per, quantiles)
        return _used(per, group, labels_of(names), of_answers=per in OF_ANSWERS)
    if per == "missing-links":
        group, items = by_missing_links(qrels, collection)
        return Breakdown(group, len(items[per]), items, of_answers=True)
    if collection is None:
        raise KgtrecError(f"scores per {per} need the questions' topics, and qrels alone have none: give a collection")
    topics, row = collection.questions, collection.topics_of(qrels.questions)
    if per == "time":
        relation, step = topics.relation[row], steps_of(topics.relations)[topics.relation[row]]
        if (step < 0).any():
            raise KgtrecError("expected questions with a time, to score them per time, found some without")
        _, first, place = np.unique(step, return_index=True, return_inverse=True)
        _, _, times, time = qualifiers_of(topics.relations)
        return Breakdown(place.astype(np.int32), len(first), {per: times.decode(time[relation[first]])})
    if per == "side":
        code, labels = (~topics.is_head[row]).astype(np.int32), labels_of(SIDES)
    elif per == "seen":
        code, labels = seen_strata(collection)[row], labels_of(SEEN)
    elif per == "relation":
        code, labels = plain(topics).relation[row], plain(topics).relations.labels
    else:
        code = collection.categories.category[topics.relation[row]].astype(np.int32)
        code, labels = np.where(code < 0, np.int32(len(CATEGORIES)), code), labels_of([*CATEGORIES, "none"])
    return _used(per, code, labels)


def _used(per: str, code: NDArray[np.int32], labels: pa.Array, *, of_answers: bool = False) -> Breakdown:
    """The groups that are not empty."""
    used, group = np.unique(code, return_inverse=True)
    return Breakdown(group.astype(np.int32), len(used), {per: labels.take(arrow_of(used))}, of_answers)


def _refuse_over_questions(measures: Iterable[AnyMeasure], why: str) -> None:
    if labels := [measure.label for measure in measures if measure.items == "questions"]:
        raise MeasureError(f"{labels[0]} has one value per question, {why}")


def warn_lacking(name: str, lacking: int, qrels: Qrels, missing: Missing | None, side: str = "") -> None:
    """Warn of the questions that a system lacks, and say what becomes of them; None: there is no choice.

    ``side`` is the only side that the system answers, if it does.
    """
    if not lacking:
        return
    then = {
        "zero": "they count zero (--missing skip, in Python missing='skip', leaves them out)",
        "skip": "they are left out",
        None: "they count zero",
    }[missing]
    if side:
        then += f"; it answers {side} questions only, on which kgtrec evaluate --sides {side} compares all systems"
    warn(f"{name} lacks {lacking:,} of the {len(qrels.questions):,} questions of the qrels; {then}")


def warn_of_lacking(matched: MatchedSystem, qrels: Qrels, scoring: Scoring) -> None:
    """Call :func:`warn_lacking` for a system that is matched with the qrels."""
    lacking, side, collection = matched.ranking.num_retrieved == 0, "", scoring.collection
    if collection is not None and lacking.any() and not lacking.all():
        is_head = collection.questions.is_head[collection.topics_of(qrels.questions)]
        for name, own in zip(SIDES, (is_head, ~is_head), strict=True):
            side = name if lacking[~own].all() else side
    warn_lacking(matched.name, int(lacking.sum()), qrels, scoring.missing, side)


def _items_of_answers(measure: ParsedMeasure, matched: MatchedSystem, breakdown: Breakdown) -> ItemValues:
    answers = matched.answers
    if answers is None:
        over_questions = measure.label.replace("micro.", "macro.", 1)
        of_runs = over_questions.startswith(("macro.MR", "macro.Hits@"))  # the others need candidates
        raise MeasureError(
            f"{measure.label} needs exact ranks, which the cut run {matched.name} does not have; evaluate the "
            f"system's NAME.ranks.parquet (kgtrec rank)" + (f", or use {over_questions}" if of_runs else "")
        )
    ranks, is_open = (answers.best, answers.worst), leaves_order_open(matched.ties, measure)
    value = measure.of_answers(answers, is_open=is_open)
    group = breakdown.group if breakdown.of_answers else breakdown.group[answers.question]
    open_ranks = ranks if is_open and measure.record.aggregate == "median" else None
    return ItemValues(value, group, answers.question, None, answers.candidates, None, open_ranks)


def _items_of_questions(
    measure: AnyMeasure, matched: MatchedSystem, qrels: Qrels, breakdown: Breakdown, missing: Missing
) -> ItemValues:
    if isinstance(measure, ProvidedMeasure):
        value = measure.per_question(qrels, matched.run, matched.ties)
    else:
        if measure.record.binary and np.any(qrels.grade > 1):
            raise MeasureError(
                f"{measure.label} has a chance level for binary grades only, and these qrels have grades above 1"
            )
        is_open = leaves_order_open(matched.ties, measure)
        value = measure.expected(matched.tied_ranking) if is_open else measure(matched.ranking)
    # added up in byte order of the ids, as in trec_eval: then the last bit does not depend on the line order of a file
    order = np.argsort(qrels.questions.byte_order).astype(np.int32)
    if missing == "skip":
        order = order[matched.ranking.num_retrieved[order] > 0]
    candidates = matched.ranking.num_retrieved[order] if matched.run is None else None
    return ItemValues(
        value[order], breakdown.group[order], order, None, candidates, matched.ranking.num_relevant()[order]
    )
