"""From runs or answer ranks, and qrels, to scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.run import Run
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.scores import Scores
from kgtrec.errors import CollectionError, KgtrecError, counted, unwarned, warn
from kgtrec.evaluation.families import families_of, family_of_each
from kgtrec.evaluation.given import AnyQrels, Systems
from kgtrec.evaluation.intervals import Drawn, Intervals, drawn_triples, least_effective, without_interval
from kgtrec.evaluation.matching import BELOW, MatchedSystem, match
from kgtrec.evaluation.plausibility import AgainstChance, against_chance, no_better_than_chance
from kgtrec.evaluation.prepared import Prepared, prepared
from kgtrec.evaluation.sampled import estimated_scores
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.summarise import ItemValues, summarise
from kgtrec.kernels.statistics.ratio_intervals import Quotients, t_interval
from kgtrec.kernels.statistics.training_seeds import deviation
from kgtrec.measures.names import AnyMeasure, ParsedMeasure, ProvidedMeasure, digits_of


def evaluate(
    qrels: AnyQrels | SampledQrels,
    systems: Systems,
    measures: Any = None,
    *,
    per: str | None = None,
    quantiles: int | None = None,
    float32: bool = False,
    confidence: float | None = None,
    drawn: str | None = None,
    families: str | Mapping[str, str] | None = None,
    **options: Unpack[ScoringOptions],
) -> Scores:
    """Score systems against qrels.

    Parameters
    ----------
    qrels : Qrels, Collection, SampledQrels, path, DataFrame, mapping or iterable
        The judgements, as for :func:`kgtrec.evaluation.given.qrels_of`. Of a designed sample
        (:func:`kgtrec.campaign.sampled_qrels`) the values are estimates of those that judging the whole pool would
        give, always with intervals; see :func:`kgtrec.evaluation.sampled.estimated_scores` for the measures.
    systems : Run, AnswerRanks, Ranked, path, DataFrame or mapping, or several of them
        One system, as for :func:`kgtrec.evaluation.given.system_of`, an iterable, a mapping from names, or the path
        of a folder of answer ranks or runs; an iterable is read one system at a time.
    measures : str, measure, or several of them, optional
        Names such as ``"micro.MRR"``, ``"macro.Hits@10"``, ``"AP@20"``, trec_eval's (``"map_cut_20"``), or
        ir-measures' own objects. Measures over answers (``micro.``) need answer ranks.
    per : str, optional
        "question", "answer", "side", "relation", "category", "popularity", "anchor-popularity", "half-link", "seen",
        "time" or "missing-links": one value for each of these instead of one total. All but the first two need a
        collection. Popularity is the degree in train, of the answer or of the question's anchor; half-link says which
        of (anchor, relation) and (relation, answer) train triples have: both, that of the anchor, that of the answer,
        or none; missing-links how many links of the easiest explanation of an answer to a complex query have to be
        predicted, for each structure. Measures over questions have no strata of answers: popularity, half-link,
        missing-links. Times are in their order.
    quantiles : int, optional
        How many strata of popularity (default: 4), of about as many answers each; equal degrees are never separated.
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
    weights : {"question", "relation", "question-relation", "popularity"} or mapping, optional
        Each question or each relation counts equally, or each relation and each question of it; each answer counts
        1 / its degree in train; or a mapping from relation to its share, on any scale, for the values under another
        relation distribution. All but the first need a collection. Relations that are left out have a share of 0.
    confidence : float, optional
        Adds intervals of this level, such as 0.95, over other test sets; see
        :class:`kgtrec.evaluation.intervals.Intervals`.
    drawn : {"triple", "question"}, optional
        What other test sets are sampled from: test triples of the same graph, so that large questions stay large, or
        questions with all their answers. Default: triples, if the qrels' answers are the test triples of the
        collection, else questions.
    families : "seeds" or mapping of str to str, optional
        Systems that were trained several times, system to family; "seeds" recognises names such as ``transe.s1`` and
        ``transe-seed2``. One row for each family: mean and standard deviation over its seeds, and with a confidence the
        intervals over test sets, over seeds, and over both.
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

    See Also
    --------
    kgtrec.evaluation.item_scores : The values of each answer or question.
    kgtrec.evaluation.compare_ties : Every policy for ties.
    kgtrec.evaluation.evaluate_graphs : Several graphs.

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
    scoring = Scoring(**options)
    if isinstance(qrels, SampledQrels):
        given = (("per", per), ("quantiles", quantiles is not None), ("float32", float32), ("drawn", drawn))
        if idle := [name for name, used in (*given, ("families", families)) if used]:
            raise KgtrecError(f"expected no --{idle[0]} with a sample of the judgements, found one; leave it out")
        return estimated_scores(qrels, systems, measures, 0.95 if confidence is None else confidence, scoring)
    if families is not None:
        family_of_each(list(systems) if isinstance(systems, Mapping) else None, families)
    inputs = prepared(qrels, systems, measures, scoring, per, quantiles)
    collection, judgements = inputs.scoring.collection, inputs.qrels
    intervals = None
    if confidence is not None:
        if per in ("answer", "question"):
            raise KgtrecError(f"expected means for intervals, found one value per {per}; leave out the confidence")
        intervals = Intervals(confidence, judgements, drawn_triples(drawn, judgements, collection))
    elif drawn is not None:
        raise KgtrecError(f"expected a confidence, such as 0.95, for intervals over other {drawn}s, found none")

    topics = None if collection is None else collection.questions.ids.encode(judgements.questions.labels)
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
            n = len(system.entities) if collection is None else collection.sizes[topics]
            if (own := against_chance(matched, n)) is not None:
                compared_with_chance.append(own)
            if scoring.ties is None and per is None:
                moved.extend(_moved_by_ties(inputs, matched))
            # the ends of what each value can be: answers below the ends of lists right there, or last of all
            how = scoring.ties, scoring.seed
            yield (matched, *(match(system, judgements, *how, below) for below in BELOW if matched.is_cut))

    scores = _scored(inputs, matched_systems(), intervals, families)
    for _, line in no_better_than_chance(compared_with_chance):
        warn(line)
    n_systems = sum(scores.seeds) or len(scores.systems)
    _warn_moved(moved, n_systems * sum(isinstance(measure, ParsedMeasure) for measure in inputs.measures))
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


def _scored(
    inputs: Prepared,
    systems: Iterable[tuple[MatchedSystem, ...]],
    intervals: Intervals | None,
    families: str | Mapping[str, str] | None,
) -> Scores:
    """The numbers of every system, one after the other, their ends where its lists are cut, and their intervals."""
    measures, breakdown, is_alike = inputs.measures, inputs.breakdown, inputs.weighting.by_question
    names: list[str] = []
    values, ends, spans, tied = [], [], [], []
    kept: list[list[ItemValues]] = []  # of each system, if families need them
    is_cut = False
    for matched, *bounds in systems:
        items = [(measure, inputs.items_of(measure, matched)) for measure in measures]
        values.append([summarise(*own, breakdown.size, matched.name) for own in items])
        ends.append([_ends_of(inputs, measure, bounds, values[-1][i]) for i, measure in enumerate(measures)])
        is_cut |= bool(bounds)
        if families is not None:
            kept.append([own for _, own in items])
        elif intervals is not None:
            spans.append([intervals.of(*own, breakdown.size, matched.name, alike=is_alike(own[0])) for own in items])
        names.append(matched.name)
        tied.append(matched.tied)
    labels = (measure.label for measure in measures)
    scores = Scores(tuple(names), tuple(labels), np.array(values), breakdown.items, tuple(tied))
    if is_cut:
        both = np.array(ends)
        scores = replace(scores, least=both.min(axis=2), most=both.max(axis=2))
    if families is not None:
        return _by_family(scores, kept, families_of(names, families), inputs, intervals)
    if intervals is None:
        return scores
    low, high = np.array([[own.ends for own in row] for row in spans]).transpose(2, 0, 1, 3)
    effective = np.array([[own.effective for own in row] for row in spans])
    drawn, confidence = intervals.drawn, intervals.confidence
    scores = replace(scores, low=low, high=high, effective=effective, drawn=drawn, confidence=confidence)
    _warn_without_interval(scores, drawn, inputs)
    return scores


def _by_family(
    scores: Scores,
    kept: list[list[ItemValues]],
    families: Mapping[str, NDArray[np.intp]],
    inputs: Prepared,
    intervals: Intervals | None,
) -> Scores:
    """The numbers of every family: means over its seeds, with their deviations and intervals."""

    def means(cube: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([np.sort(cube[own], axis=0).mean(axis=0) for own in families.values()])

    for place, measure in enumerate(inputs.measures):
        for family, own in families.items():
            first, *others = (kept[seed][place].question for seed in own)
            if different := [len(other) for other in others if not np.array_equal(first, other)]:
                raise CollectionError(
                    f"{measure.label}: expected the same questions for all seeds of {family}, found {len(first)} and "
                    f"{different[0]}, or others; count questions that a run lacks as empty lists (missing='zero')"
                )
    values, tied = means(scores.values), tuple(means(np.array(scores.tied)).tolist())
    seeds = tuple(len(own) for own in families.values())
    over_seeds = {"deviation": np.array([deviation(scores.values[own]) for own in families.values()])}
    found = replace(scores, systems=tuple(families), values=values, tied=tied, seeds=seeds, over_seeds=over_seeds)
    if scores.least is not None and scores.most is not None:
        found = replace(found, least=means(scores.least), most=means(scores.most))
    if intervals is None:
        return found
    size, is_alike = inputs.breakdown.size, inputs.weighting.by_question
    spans = [
        [
            intervals.of_seeds(measure, [kept[seed][place] for seed in own], size, family, alike=is_alike(measure))
            for place, measure in enumerate(inputs.measures)
        ]
        for family, own in families.items()
    ]
    *of_test, low, high, effective = np.array(spans).transpose(2, 0, 1, 3)
    drawn, confidence = intervals.drawn, intervals.confidence
    n = np.array(seeds)[:, None]
    error, of_seeds = over_seeds["deviation"] / np.sqrt(n[:, None]), []
    for place, measure in enumerate(inputs.measures):
        parts = Quotients(values[:, place], error[:, place], n)
        of_seeds.append(t_interval(parts, confidence, measure.record.bounds))
    ends = (*of_test, *np.array(of_seeds).transpose(1, 2, 0, 3))
    over_seeds |= zip(("test_low", "test_high", "seeds_low", "seeds_high"), ends, strict=True)
    found = replace(found, low=low, high=high, effective=effective, drawn=drawn, confidence=confidence)
    _warn_without_interval(found, drawn, inputs)
    return found


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
    has_links = inputs.scoring.collection is not None and inputs.scoring.collection.missing_links is not None
    for place, measure in enumerate(inputs.measures):
        low = scores.over_seeds.get("test_low", scores.low)
        if low is None or scores.effective is None or measure.record.form == "z":
            continue
        without = np.isnan(low[:, place]) & ~np.isnan(scores.values[:, place])
        if measure.record.aggregate == "sum" or not without.any():
            continue
        effective = scores.effective[:, place][without]
        if scores.seeds and measure.record.aggregate != "mean":
            lacking.append(f"{measure.label} (means over seeds are no means over {measure.items})")
            continue
        least = least_effective(measure, drawn, alike=inputs.weighting.by_question(measure))
        way_out |= (
            bool((effective < least).any()) and drawn == "question" and measure.items == "answers" and not has_links
        )
        lacking.append(without_interval(measure.label, effective, least, drawn, f"{without.size} values"))
    if lacking:
        warn(
            f"no interval for {', '.join(lacking)}"
            + ("; intervals over test triples (--drawn triple) may have one" if way_out else "")
        )


def _in_float32(run: Run) -> Run:
    with np.errstate(over="ignore"):
        score = run.score.astype(np.float32).astype(np.float64)
    made = Run.of(run.name, run.question, run.entity, score, run.questions, run.entities)
    return replace(made, collection=run.collection, filtered_by=run.filtered_by)
