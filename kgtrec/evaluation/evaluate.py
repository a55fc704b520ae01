"""From runs or answer ranks, and qrels, to scores."""

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
from kgtrec.data.run import Run
from kgtrec.data.scores import BREAKDOWNS, Scores
from kgtrec.errors import KgtrecError, MeasureError, counted, one_of, unwarned, warn
from kgtrec.evaluation.belonging import different_systems, of_collection
from kgtrec.evaluation.given import AnyQrels, System, Systems, each_system, qrels_of
from kgtrec.evaluation.intervals import Drawn, Intervals, drawn_triples, least_effective
from kgtrec.evaluation.matching import BELOW, MatchedSystem, leaves_order_open, match
from kgtrec.evaluation.plausibility import AgainstChance, against_chance, no_better_than_chance
from kgtrec.evaluation.scoring import MACRO_DEFAULTS, MICRO_DEFAULTS, Missing, Scoring, UnlistedAnswers
from kgtrec.evaluation.summarise import ItemValues, summarise
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.evaluation.weighting import Weighting
from kgtrec.measures.names import AnyMeasure, ParsedMeasure, ProvidedMeasure, digits_of, parse_measures


def default_measures(*, ranks: bool) -> tuple[str, ...]:
    """Return the measures that are computed by default; ``ranks``: all systems are answer ranks.

    Examples
    --------
    >>> default_measures(ranks=False)
    ('macro.MRR', 'macro.Hits@1', 'macro.Hits@3', 'macro.Hits@10', 'AP@20', 'nDCG@20')
    """
    return (*MICRO_DEFAULTS, *MACRO_DEFAULTS) if ranks else MACRO_DEFAULTS


def evaluate(
    qrels: AnyQrels,
    systems: Systems,
    measures: Any = None,
    *,
    per: str | None = None,
    collection: Collection | None = None,
    ties: str | None = None,
    missing: Missing = "zero",
    unlisted_answers: UnlistedAnswers = "filtered",
    sides: Sequence[str] = SIDES,
    float32: bool = False,
    weights: str | Mapping[str, float] | None = None,
    confidence: float | None = None,
    drawn: str | None = None,
    seed: int = 0,
    mixed: bool = False,
) -> Scores:
    """Score systems against qrels.

    Parameters
    ----------
    qrels : Qrels, Collection, path, DataFrame, mapping or iterable
        The judgements, as for :func:`kgtrec.evaluation.given.qrels_of`.
    systems : Run, AnswerRanks, Ranked, path, DataFrame or mapping, or several of them
        One system, as for :func:`kgtrec.evaluation.given.system_of`, an iterable, a mapping from names, or the path
        of a folder of answer ranks or runs; an iterable is read one system at a time.
    measures : str, measure, or several of them, optional
        Names such as ``"micro.MRR"``, ``"macro.Hits@10"``, ``"AP@20"``, trec_eval's (``"map_cut_20"``), or
        ir-measures' own objects. Measures over answers (``micro.``) need answer ranks.
    per : {"question", "answer", "side", "relation", "category"}, optional
        One value for each of these instead of one total. The last three need a collection.
    collection : Collection, optional
        For sides, relations and categories of the questions, and for the answers that runs list and ``qrels`` lack,
        if ``qrels`` is not a collection.
    ties : {"trec", "realistic", "optimistic", "pessimistic", "expected", "nondeterministic"}, optional
        How equal scores are ordered. "expected" is the exact mean over all orders, "nondeterministic" one random order
        of ``seed``. Default: by label, as trec_eval does, for runs; for answer ranks "expected" for the measures over
        questions that have such a mean, and "realistic" for all others.
    missing : {"zero", "skip"}
        Questions of the qrels that a run lacks count as empty lists (as ``trec_eval -c``) or are left out.
    unlisted_answers : {"filtered", "candidates"}
        What becomes of the answers of the collection that the qrels lack: they are filtered out as known true answers,
        or stay candidates, as for trec_eval. Answer ranks carry the answers; a run needs its collection.
    sides : sequence of {"head", "tail"}
        Which questions count; for systems that answer one side only. One side needs a collection.
    float32 : bool
        Compare the scores of runs as 32-bit floats, as trec_eval 9 and pytrec_eval do.
    weights : {"question", "relation"} or mapping, optional
        Each question or each relation counts equally; or a mapping from relation to its share, on any scale, for the
        values under another relation distribution. Relations need a collection; those that are left out have a share
        of 0.
    confidence : float, optional
        Adds intervals of this level, such as 0.95, over other test sets; see
        :class:`kgtrec.evaluation.intervals.Intervals`.
    drawn : {"triple", "question"}, optional
        What other test sets are sampled from: test triples of the same graph, so that large questions stay large, or
        questions with all their answers. Default: triples, if the qrels' answers are the test triples of the
        collection, else questions.
    seed : int
        Random seed.
    mixed : bool
        Warn of systems that cannot be compared, such as answer ranks of different filters, instead of refusing them;
        see :class:`kgtrec.evaluation.belonging.Belonging`.

    Returns
    -------
    Scores
        With the least and the most that each value can be, if a system has answers below the ends of cut lists: NaN
        for measures that a better rank can lower, such as Judged@k, and for those of grades where lists of one question
        end at different places, so that answers of different grades may be in any order.

    Raises
    ------
    MeasureError
        If a measure is unknown or cannot be computed for this kind of system.
    CollectionError
        If a system and the qrels, or two systems, do not belong together.

    Warns
    -----
    KgtrecWarning
        Once per system that lacks questions of the qrels, if a measure over questions is asked for: the number of
        questions, and whether they count zero or are left out.

    References
    ----------
    Zhou et al. (2022), SIGIR, for micro and macro; trec_eval 10 for every measure that it has; McSherry, Najork (2008),
    ECIR, for ties in expectation.

    Examples
    --------
    >>> import pandas as pd
    >>> qrels = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    >>> run = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["x", "a"], "score": [2.0, 1.0]})
    >>> evaluate(qrels, {"mine": run}, ["RR", "AP@20"]).to_frame()
      system measure  value
    0   mine      RR   0.50
    1   mine   AP@20   0.25
    """
    scoring = Scoring(
        collection=collection,
        ties=ties,
        missing=missing,
        unlisted_answers=unlisted_answers,
        sides=sides,
        weights=weights,
        seed=seed,
        mixed=mixed,
    )
    inputs = prepared(qrels, systems, measures, scoring, per)
    collection, judgements = inputs.scoring.collection, inputs.qrels
    intervals = None
    if confidence is not None:
        if per in ("answer", "question"):
            raise KgtrecError(f"expected means for intervals, found one value per {per}; leave out the confidence")
        intervals = Intervals(confidence, judgements, drawn_triples(drawn, judgements, collection))
    elif drawn is not None:
        raise KgtrecError(f"expected a confidence, such as 0.95, for intervals over other {drawn}s, found none")

    compared_with_chance: list[AgainstChance] = []
    moved: list[Moved] = []

    def matched_systems() -> Iterator[tuple[MatchedSystem, ...]]:
        for system in inputs.systems:
            if float32:
                if isinstance(system, AnswerRanks):
                    raise KgtrecError(
                        f"{system.name}: expected a run, whose scores --float32 (float32=True) compares, found answer "
                        "ranks, whose ties are counted already; leave it out"
                    )
                system = system.each(_in_float32)
            matched = inputs.matched(system)
            n_entities = len(system.entities if collection is None else collection.entities)
            if (own := against_chance(matched, n_entities)) is not None:
                compared_with_chance.append(own)
            if ties is None and per is None:
                moved.extend(_moved_by_ties(inputs, matched))
            # the ends of what each value can be: answers below the ends of lists right there, or last of all
            yield (matched, *(match(system, judgements, ties, seed, below) for below in BELOW if matched.is_cut))

    scores = _scored(inputs, matched_systems(), intervals)
    for _, line in no_better_than_chance(compared_with_chance):
        warn(line)
    _warn_moved(moved, len(scores.systems) * sum(isinstance(measure, ParsedMeasure) for measure in inputs.measures))
    return scores


Moved = tuple[str, str, str, str]


def _moved_by_ties(inputs: Prepared, matched: MatchedSystem) -> Iterator[Moved]:
    """Yield each total whose printed digits depend on the order of tied candidates.

    That is its name, its values in the worst and in the best order, and the measure, if it has no exact mean over them.
    """
    if not matched.tied:
        return
    ends = [matched.in_order(ties, inputs.qrels) for ties in ("pessimistic", "optimistic")]
    for measure in inputs.measures:
        if isinstance(measure, ProvidedMeasure) or (measure.items == "answers" and matched.answers is None):
            continue  # refused for a run, or without another order
        with unwarned():  # of values that are undefined, as those of the system
            values = [summarise(measure, inputs.items_of(measure, end), 1, end.name)[0] for end in ends]
        worst, best = (f"{value:.{digits_of(measure.label)}f}" for value in values)
        if worst != best:
            has_mean = matched.ties is not None or measure.items == "answers" or measure.record.expected is not None
            yield f"{measure.label} of {matched.name}", worst, best, "" if has_mean else measure.label


def _warn_moved(moved: Sequence[Moved], n_totals: int) -> None:
    """Warn of those totals in one line, and of measures that have no mean over the orders in another."""
    if moved:
        name, worst, best, _ = moved[0]
        depend = "depends" if len(moved) == 1 else "depend"
        warn(
            f"{len(moved):,} of {counted(n_totals, 'total')} {depend} on the order of ties: {name} is "
            f"{worst} in the worst order and {best} in the best; kgtrec evaluate --ties all shows all"
        )
    if realistic := dict.fromkeys(label for *_, label in moved if label):
        warn(
            f"{', '.join(realistic)}: no exact mean over the orders of ties is known; tied answers have the "
            "middle places (--ties realistic)"
        )


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


def prepared(qrels: Any, systems: Any, measures: Any, scoring: Scoring, per: str | None = None) -> Prepared:
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
    systems, measures = systems_and_measures(systems, measures)
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
    systems = without_unlisted_answers(systems, judgements, scoring, measures)
    breakdown = breakdown_of(per, judgements, collection, measures)
    return Prepared(judgements, systems, measures, scoring, weighting, breakdown)


def systems_and_measures(systems: Any, measures: Any) -> tuple[Iterable[System], list[AnyMeasure]]:
    """Return the systems of a caller one by one, and the measures, or the default ones of such systems."""
    systems = each_system(systems)
    if measures is None:
        systems = list(systems)
        measures = default_measures(ranks=all(isinstance(system, AnswerRanks) for system in systems))
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


def _scored(inputs: Prepared, systems: Iterable[tuple[MatchedSystem, ...]], intervals: Intervals | None) -> Scores:
    """The numbers of every system, one after the other, their ends where its lists are cut, and their intervals."""
    measures, breakdown, is_alike = inputs.measures, inputs.breakdown, inputs.weighting.by_question
    names: list[str] = []
    values, ends, spans, tied = [], [], [], []
    is_cut = False
    for matched, *bounds in systems:
        items = [(measure, inputs.items_of(measure, matched)) for measure in measures]
        values.append([summarise(*own, breakdown.size, matched.name) for own in items])
        ends.append([_ends_of(inputs, measure, bounds, values[-1][i]) for i, measure in enumerate(measures)])
        is_cut |= bool(bounds)
        if intervals is not None:
            spans.append([intervals.of(*own, breakdown.size, matched.name, alike=is_alike(own[0])) for own in items])
        names.append(matched.name)
        tied.append(matched.tied)
    labels = (measure.label for measure in measures)
    scores = Scores(tuple(names), tuple(labels), np.array(values), breakdown.items, tuple(tied))
    if is_cut:
        both = np.array(ends)
        scores = replace(scores, least=both.min(axis=2), most=both.max(axis=2))
    if intervals is None:
        return scores
    low, high = np.array([[own.ends for own in row] for row in spans]).transpose(2, 0, 1, 3)
    effective = np.array([[own.effective for own in row] for row in spans])
    scores = replace(scores, low=low, high=high, effective=effective, drawn=intervals.drawn)
    _warn_without_interval(scores, intervals.drawn, inputs)
    return scores


def _ends_of(
    inputs: Prepared, measure: AnyMeasure, bounds: Sequence[MatchedSystem], value: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The two ends of each value of one system: NaN where they are unknown, the value itself where no list is cut."""
    if not bounds:
        return [value, value]
    highest = int(bounds[0].ranking.judged_grade.max(initial=0))
    if (
        isinstance(measure, ProvidedMeasure)
        or not measure.by_relevance(highest)
        or (measure.sees_grades and any(end.grades_open for end in bounds))
    ):
        return [np.full_like(value, np.nan)] * 2
    with unwarned():  # of values that are undefined, as those of the system
        return [summarise(measure, inputs.items_of(measure, end), len(value), end.name) for end in bounds]


def _warn_without_interval(scores: Scores, drawn: Drawn, inputs: Prepared) -> None:
    """Warn of the measures with too few units for an interval, and give their number."""
    lacking, way_out = [], False
    for place, measure in enumerate(inputs.measures):
        if scores.low is None or scores.effective is None or measure.record.form == "z":
            continue
        without = np.isnan(scores.low[:, place]) & ~np.isnan(scores.values[:, place])
        if measure.record.aggregate == "sum" or not without.any():
            continue
        effective = scores.effective[:, place][without]
        least = least_effective(measure, drawn, alike=inputs.weighting.by_question(measure))
        few = effective[effective < least]
        why = [f"one {drawn}, or all equal"] * bool(np.isnan(effective).any())
        if len(few):
            way_out |= drawn == "question" and measure.items == "answers"
            ends = dict.fromkeys((f"{few.min():.1f}", f"{few.max():.1f}"))
            why.insert(0, f"{' to '.join(ends)} effective {drawn}s, {least:g} needed")
        of = f"; {len(effective)} of {without.size} values" if without.size > 1 else ""
        lacking.append(f"{measure.label} ({' or '.join(why)}{of})" if why else measure.label)
    if lacking:
        warn(
            f"no interval for {', '.join(lacking)}"
            + ("; intervals over test triples (--drawn triple) may have one" if way_out else "")
        )


@dataclass(frozen=True, slots=True)
class Breakdown:
    """How values are broken down: a group for each question, or one row per answer."""

    group: NDArray[np.int32] | None  # (questions,) row in items; None if items are answers
    size: int  # number of items
    items: Mapping[str, pa.Array]


def breakdown_of(
    per: str | None, qrels: Qrels, collection: Collection | None, measures: Iterable[AnyMeasure]
) -> Breakdown:
    """Return the groups of questions that each have a value: one group of all if ``per`` is None.

    Raises
    ------
    KgtrecError
        If ``per`` is unknown, or needs topics and there is no collection.
    MeasureError
        If a measure over questions is asked for values of answers.
    """
    n = len(qrels.questions)
    if per is None:
        return Breakdown(np.zeros(n, np.int32), 1, {})
    if per == "question":
        return Breakdown(np.arange(n, dtype=np.int32), n, {"question": qrels.questions.labels})
    if per == "answer":
        if over_questions := [measure.label for measure in measures if measure.items == "questions"]:
            raise MeasureError(f"{over_questions[0]} has one value per question, not per answer; use --per question")
        relevant = qrels.grade >= 1
        items = {
            "question": qrels.questions.decode(qrels.question[relevant]),
            "entity": qrels.entities.decode(qrels.entity[relevant]),
        }
        return Breakdown(None, int(relevant.sum()), items)
    one_of("per to be one of", per, BREAKDOWNS)
    if collection is None:
        raise KgtrecError(f"scores per {per} need the questions' topics, and qrels alone have none: give a collection")
    topics, row = collection.questions, collection.topics_of(qrels.questions)
    if per == "side":
        code, labels = (~topics.is_head[row]).astype(np.int32), labels_of(SIDES)
    elif per == "relation":
        code, labels = topics.relation[row], topics.relations.labels
    else:
        code, labels = collection.categories.category[topics.relation[row]].astype(np.int32), labels_of(CATEGORIES)
    used, group = np.unique(code, return_inverse=True)
    return Breakdown(group.astype(np.int32), len(used), {per: labels.take(arrow_of(used))})


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
    value = measure.expected(*ranks) if is_open else measure(answers.rank)
    group = np.arange(len(value), dtype=np.int32) if breakdown.group is None else breakdown.group[answers.question]
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
    group = order if breakdown.group is None else breakdown.group[order]  # measures over questions have no answers
    return ItemValues(value[order], group, order, None, candidates, matched.ranking.num_relevant()[order])


def _in_float32(run: Run) -> Run:
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32).astype(np.float64)
    made = Run.of(run.name, run.question, run.entity, score, run.questions, run.entities)
    return replace(made, collection=run.collection, filtered_by=run.filtered_by)
