"""Sampled candidates: what a sample of them shows of full ranks, and what full ranks would show in a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.sampled_ranks import DRAWS, Draw, SampledRanks
from kgtrec.data.table import Column, Table, TabledResult, interval_columns
from kgtrec.errors import KgtrecError, MeasureError, between_0_and_1, kind_of, one_of, warn, whole_number
from kgtrec.kernels.ranking.positions import TIES, Ties, higher_and_equal
from kgtrec.kernels.sampling.candidate_draws import cumulative_band, law_bounds, mean_share_above, sampled_moments
from kgtrec.measures.names import ParsedMeasure, parse_measures

#: what published evaluations on sampled candidates draw, as keywords of expected_sampled
PROTOCOLS: dict[str, dict[str, Any]] = {
    # test_ranking.py: a list of 50 that begins with the answer; drawn from all that the graph itself does not have, the
    # answer too
    "grail": {"n_sampled": 49, "draw": "with replacement", "with_answers": True},
    "ultra": {"n_sampled": 49, "draw": "with replacement", "ties": "pessimistic"},  # script/run.py: hits@10_50
    "adaprop": {"n_sampled": 50, "draw": "with replacement"},  # inductive/utils.py: the same with one more
    "pykeen": {"n_sampled": 50},  # SampledRankBasedEvaluator
}
#: measures by default
SAMPLED_MEASURES = ("micro.MRR", "micro.Hits@1", "micro.Hits@10", "micro.MR")
_CERTAIN = (1, 2, 3, 5, 9, 20)  # where groups of answers begin, by chosen candidates above
_ABOUT = {
    "sample": "of the sample itself",
    "none": "none",
    "falls": "no rank is more frequent than a better one",
    "model": "model: all candidates are like the sample",
}

Counts = NDArray[np.int64]


def sampled_bounds(
    systems: SampledRanks | Iterable[SampledRanks],
    measures: Any = SAMPLED_MEASURES,
    *,
    confidence: float = 0.95,
    model: bool = False,
) -> TabledResult:
    r"""Find what ranks among sampled candidates say of the same answers' ranks among all.

    The mean rank and AMRI are estimated without bias. MRR, Hits\@k and other means of a value that falls with the rank
    are not determined by samples. For these the bounds are the least and the greatest value over all laws of full ranks
    that agree with the law of the sampled ranks, within a band that has it with the given confidence: over every law,
    and over those where no rank is more frequent than a better one.

    Where some candidates were chosen, as by :func:`kgtrec.meta.candidate_lists`, how many of these are above is known,
    and the bounds are over every law of the others.

    Bounds and intervals are about the draw of the candidates, with these answers: where samples have all candidates,
    the value is the full one, and the interval has no width. Tied candidates count half, as in realistic ranks: lower
    bounds are those of pessimistic ranks, upper ones those of optimistic ranks.

    Parameters
    ----------
    systems : SampledRanks, or several
        Ranks among sampled candidates.
    measures : str, or sequence of str
        Means over answers, such as micro.MRR, micro.Hits\@k, micro.MR, micro.AMRI.
    confidence : float
        Level of the band, and of the intervals. Default: 0.95.
    model : bool
        Whether to add a point estimate that supposes a model: that the share of candidates above an answer is as in its
        sample. It is not unbiased.

    Returns
    -------
    TabledResult
        ``bounds``: system, measure, assumption ("sample", "none", "falls", "model"), value, low, high. A value of the
        sample itself has its own name, such as ``sampled.MRR(500)``, since it is no estimate of the full one. NaN where
        there is none.

    Raises
    ------
    MeasureError
        If a measure is not a mean over answers of a value of the rank.
    KgtrecError
        If the confidence is not between 0 and 1.

    Warns
    -----
    KgtrecWarning
        If no law agrees with the sampled ranks: they are not those of uniform samples, or the assumption is wrong.

    See Also
    --------
    kgtrec.meta.expected_sampled : From ranks among all candidates to those among sampled ones.

    References
    ----------
    Krichene, Rendle (2020), KDD, for the model; Li et al. (2023) for the blind spot of samples at the top.

    Examples
    --------
    >>> ranks = SampledRanks.of("mine", [0, 0, 1, 7], [0, 0, 0, 0], n_sampled=20, n_candidates=100)
    >>> found = sampled_bounds(ranks, "micro.MR")["bounds"]
    >>> found.select(["measure", "assumption", "value"]).to_pylist()[1]
    {'measure': 'micro.MR', 'assumption': 'none', 'value': 11.0}
    """
    between_0_and_1("a confidence", confidence)
    parsed = _of_ranks(measures, more=("micro.AMRI",))
    rows = [row for ranks in _several(systems, SampledRanks) for row in _bounds(ranks, parsed, confidence, model=model)]
    names = ("system", "measure", "assumption", "value", "low", "high")
    data = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    about = Column("assumption", names=_ABOUT)
    columns = Column("system"), Column("measure"), about, Column("value"), *interval_columns(confidence)
    caption = "full values of the same answers, from ranks among sampled candidates; no value: not determined"
    return TabledResult((Table("bounds", "Full values from sampled candidates", caption, data, columns),))


def _bounds(
    ranks: SampledRanks, measures: list[ParsedMeasure], confidence: float, *, model: bool
) -> Iterator[tuple[str, str, str, float, float, float]]:
    """The rows of one system."""
    is_whole = not ranks.replace and bool((ranks.n_candidates == ranks.n_sampled).all())
    to_bound = [measure for measure in measures if not (is_whole or _is_linear(measure))]
    bounds = _law_bounds(ranks, to_bound, confidence)
    among_sample = ranks.above + ranks.tied / 2.0
    certain = 0.0 if ranks.certain is None else ranks.certain @ [1.0, 0.5]
    among_all = certain + among_sample * ranks.n_candidates / ranks.n_sampled
    n_drawn, n_ranked = float(ranks.n_candidates.mean()), ranks.n_sampled + ranks.n_certain
    for measure in measures:
        rows: dict[str, tuple[float, float, float]] = {}
        if _is_linear(measure):
            found = mean_share_above(
                *(ranks.above, ranks.tied, ranks.n_candidates, ranks.n_sampled, ranks.sample, confidence),
                replace=ranks.replace,
            )
            above = [float(np.mean(certain)) + share * n_drawn for share in found]
            of_sample, _, _ = _of_above(measure, [float(np.mean(certain + among_sample))] * 3, n_ranked)
            rows["none"] = _of_above(measure, above, n_drawn + ranks.n_certain)
        else:
            of_sample = float(measure(certain + among_sample + 1.0).mean())
            rows |= {name: (np.nan, *ends) for name, ends in bounds.get(measure.label, {}).items()}
            if is_whole:
                rows["none"] = of_sample, of_sample, of_sample
            if model:
                rows["model"] = float(measure(among_all + 1.0).mean()), np.nan, np.nan
        size = f"{ranks.n_certain}+{ranks.n_sampled}" if ranks.n_certain else str(ranks.n_sampled)
        yield ranks.name, sampled_name(measure.label, size), "sample", of_sample, np.nan, np.nan
        for assumption, row in rows.items():
            yield ranks.name, measure.label, assumption, *row


def _of_above(measure: ParsedMeasure, found: Sequence[float], candidates: float) -> tuple[float, float, float]:
    """Value, low and high of a linear measure, from those of the mean number of candidates above the answers."""
    is_index = measure.record.form == "index"
    value, *ends = (1.0 - 2.0 * above / candidates if is_index else 1.0 + above for above in found)
    return value, min(ends), max(ends)


def _law_bounds(
    ranks: SampledRanks, measures: list[ParsedMeasure], confidence: float
) -> dict[str, dict[str, tuple[float, float]]]:
    """Measure -> assumption -> bounds: those of pessimistic ranks from below, of optimistic ones from above."""
    certain = np.zeros((len(ranks), 2), np.int64) if ranks.certain is None else ranks.certain
    has_ties = bool(ranks.tied.any() or certain[:, 1].any())
    level = 1 - (1 - confidence) / (1 + has_ties)
    found: dict[str, dict[str, tuple[float, float]]] = {measure.label: {} for measure in measures}
    assumptions = ("none", "falls") if ranks.certain is None else ("none",)
    for assumption in assumptions if measures else ():
        ties = [1, 0][: 1 + has_ties]
        of_rule = partial(_bounds_of_groups, ranks, measures, level, falls=assumption == "falls")
        sides = [of_rule(ranks.above + tie * ranks.tied, certain[:, 0] + tie * certain[:, 1]) for tie in ties]
        ends = np.stack([sides[0][:, 0], sides[-1][:, 1]], axis=1)
        for of_measure, own in zip(found.values(), ends, strict=True):
            of_measure[assumption] = float(own[0]), float(own[1])
        if np.isnan(ends).any():
            warn(
                f"{ranks.name}: no law of ranks{f' where {_ABOUT[assumption]}' if assumption == 'falls' else ''} "
                "agrees with the ranks in the samples: they are not uniform samples of that many candidates"
                f"{', or the assumption is wrong' if assumption == 'falls' else ''}"
            )
    return found


def _bounds_of_groups(
    ranks: SampledRanks, measures: list[ParsedMeasure], level: float, above: Counts, certain: Counts, *, falls: bool
) -> NDArray[np.float64]:
    """(measures, 2) bounds; answers with about as many chosen candidates above them share a law."""
    group = np.searchsorted(_CERTAIN, certain, side="right")
    ends = np.zeros((len(measures), 2))
    for one in (groups := np.unique(group)):
        own = group == one
        sample = None if ranks.sample is None else np.unique(ranks.sample[own], return_inverse=True)[1]
        at, band = cumulative_band(above[own], ranks.n_sampled, sample, 1 - (1 - level) / len(groups))
        ends += own.mean() * law_bounds(
            *(at, band, ranks.n_candidates[own], ranks.n_sampled, measures),
            replace=ranks.replace,
            falls=falls,
            others=(int(certain[own].min()), int(certain[own].max())),
        )
    return ends


def expected_sampled(
    systems: AnswerRanks | Iterable[AnswerRanks],
    n_sampled: int,
    measures: Any = SAMPLED_MEASURES,
    *,
    draw: Draw = "without replacement",
    ties: Ties = "realistic",
    with_answers: bool = False,
) -> TabledResult:
    r"""Compute what an evaluation on sampled candidates would give, from exact ranks, over all samples.

    Each answer has another sample, drawn from the candidates that a full filtered rank counts. With ``n_sampled``
    of 49, draws with replacement and pessimistic ties, Hits\@10 is ULTRA's ``hits@10_50``. ``PROTOCOLS`` has the
    arguments of published protocols: ``expected_sampled(ranks, **PROTOCOLS["grail"])``.

    Parameters
    ----------
    systems : AnswerRanks, or several
        Exact ranks among all candidates.
    n_sampled : int
        Candidates in a sample, without the answer.
    measures : str, or sequence of str
        Means over answers, such as micro.MRR, micro.Hits\@k, micro.MR.
    draw : {"without replacement", "with replacement"}
        How the candidates of a sample are drawn. Default: "without replacement".
    ties : {"realistic", "optimistic", "pessimistic"}
        How the rank in the sample counts candidates that are tied with the answer; realistic is OGB's rule.
    with_answers : bool
        Whether the draw is also from the answers of the question, the answer itself among them, which is then tied with
        itself: GraIL's negatives are only no triples of the graph. Of ranks that are filtered by train alone.

    Returns
    -------
    TabledResult
        ``sampled``: system, measure (``sampled.MRR(500)``), value, the expectation, and deviation, the standard
        deviation of the mean over answers between samples.

    Raises
    ------
    MeasureError
        If a measure is not a mean over answers of a value of the rank.
    KgtrecError
        If ranks are those of a cut list, or a sample has more candidates than there are.

    See Also
    --------
    kgtrec.meta.sampled_bounds : From ranks among sampled candidates to those among all.

    References
    ----------
    Galkin et al. (2024), ICLR, ULTRA, and its script/run.py for ``hits@10_50``.

    Examples
    --------
    >>> from kgtrec import Triples, build_questions, rank_scores
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> scores = np.array([[0.5, 0.1, 0.9, 0.1], [0.2, 0.8, 0.4, 0.4]])
    >>> ranks = rank_scores(collection, scores, questions=collection, entities=collection).answer_ranks
    >>> ranks.above, ranks.tied, ranks.n_other
    (array([0, 0], dtype=int32), array([0, 1], dtype=int32), array([2, 2], dtype=int32))
    >>> found = expected_sampled(ranks, 1, "micro.MRR")["sampled"]  # (1 + (1 + 2 / 3) / 2) / 2
    >>> found.column("measure")[0].as_py(), round(found.column("value")[0].as_py(), 4)
    ('sampled.MRR(1)', 0.9167)
    """
    n_sampled = whole_number("the number of sampled candidates", n_sampled, 1)
    one_of("a draw", draw, DRAWS)
    one_of("ties", ties, TIES)
    parsed = _of_ranks(measures)
    rows = []
    for ranks in _several(systems, AnswerRanks):
        counts = _counts(ranks, n_sampled, draw, with_answers)
        mean, variance = sampled_moments(*counts, n_sampled, parsed, replace=draw != DRAWS[0], ties=ties)
        n = mean.shape[1]
        for measure, value, spread in zip(parsed, mean.sum(axis=1) / n, np.sqrt(variance.sum(axis=1)) / n, strict=True):
            rows.append((ranks.name, sampled_name(measure.label, n_sampled), float(value), float(spread)))
    data = pa.table(dict(zip(("system", "measure", "value", "deviation"), zip(*rows, strict=True), strict=True)))
    columns = Column("system"), Column("measure"), Column("value"), Column("deviation", "standard deviation", digits=5)
    caption = f"expectation over samples of {n_sampled:,} candidates {draw}; {ties} ties"
    return TabledResult((Table("sampled", "What sampled candidates would give", caption, data, columns),))


def _counts(ranks: AnswerRanks, n_sampled: int, draw: Draw, with_answers: bool) -> tuple[Counts, Counts, Counts]:
    """Candidates above, tied and in all, of each answer."""
    if ranks.cut is not None and ranks.cut.any():
        raise KgtrecError(f"{ranks.name}: expected exact ranks, found those of a cut list; rank the scores")
    above, tied, others = (column[ranks.answer].astype(np.int64) for column in (ranks.above, ranks.tied, ranks.n_other))
    if with_answers:
        if not set(ranks.filtered_by) <= {"train"}:
            raise KgtrecError(
                f"{ranks.name}: expected ranks filtered by train alone, since the draw is from all that the graph does "
                f"not have, found {', '.join(ranks.filtered_by)}; rank again with --filter train"
            )
        own = ranks.take(ranks.answer)
        higher, equal = higher_and_equal(own.question, own.score, np.ones(len(own), np.bool_))
        above, tied = above + higher, tied + equal + 1
        others = others + np.bincount(own.question, minlength=len(own.questions))[own.question]
    least = int(others.min(initial=n_sampled))
    if least < (n_sampled if draw == DRAWS[0] else 1) or not len(others):
        raise KgtrecError(
            f"{ranks.name}: expected answers with at least {n_sampled:,} candidates to draw from, found "
            f"{f'one with {least:,}' if len(others) else 'no answers'}; sample fewer, or with replacement"
        )
    return above, tied, others


def sampled_name(label: str, n_sampled: int | str) -> str:
    """Return the name of a measure over sampled candidates.

    Examples
    --------
    >>> sampled_name("micro.Hits@10", 500)
    'sampled.Hits@10(500)'
    """
    return f"sampled.{label.removeprefix('micro.')}({n_sampled})"


def _is_linear(measure: ParsedMeasure) -> bool:
    """Whether it is a linear function of the mean share of candidates above the answers."""
    return measure.record.name in ("micro.MR", "micro.AMRI")


def _of_ranks(measures: Any, more: tuple[str, ...] = ()) -> list[ParsedMeasure]:
    parsed = []
    for measure in parse_measures(measures):
        record = measure.record
        is_mean = (measure.items, record.form, record.aggregate, record.weighting) == ("answers", "plain", "mean", None)
        if not isinstance(measure, ParsedMeasure) or not (is_mean or record.name in more):
            raise MeasureError(
                f"{measure.label}: expected a mean over answers of a value of the rank, such as "
                f"{', '.join((*SAMPLED_MEASURES, *more))}; lists of sampled candidates have no other measures"
            )
        parsed.append(measure)
    return parsed


def _several(systems: Any, kind: type[SampledRanks | AnswerRanks]) -> Iterator[Any]:
    """The systems one by one: at least one, of different names."""
    names: set[str] = set()
    for one in [systems] if isinstance(systems, kind) else systems:
        if not isinstance(one, kind):
            raise KgtrecError(f"expected {kind.__name__}, found {kind_of(one)}")
        if one.name in names:
            raise KgtrecError(f"expected systems of different names, found {one.name!r} twice; rename one")
        names.add(one.name)
        yield one
    if not names:
        raise KgtrecError("expected at least one system, found none")
