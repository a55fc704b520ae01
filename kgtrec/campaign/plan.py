"""Plans of how much of a pool people judge: what widths a share of the judgements buys, and what it costs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.rounds import design_of
from kgtrec.campaign.sampled import is_decided, opened_and_done, sampled_qrels
from kgtrec.campaign.work_times import work_left, work_times
from kgtrec.data.arrow import labels_of, long_table
from kgtrec.data.campaign import Campaign
from kgtrec.data.design import PRIOR, Design
from kgtrec.data.judgements import ANNOTATOR, Judgements
from kgtrec.data.lazy import imported
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.table import Column, Figure, PlottedResult, Table
from kgtrec.data.triples import triple_keys
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, between_0_and_1, counted
from kgtrec.evaluation.given import each_system
from kgtrec.evaluation.sampled import sample_estimates
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.kernels.statistics.work_time import WorkTimes
from kgtrec.measures.names import parse_measures
from kgtrec.pooling.designs import drawing

SHARES = (0.05, 0.1, 0.2, 0.33, 0.5)  # of a table without others
CONFIDENCE = 0.95
_LEAST_WORLDS, _MOST_WORLDS = 3, 30
_MONTE_CARLO = 0.05  # error of a mean width that is small enough, in shares of it
_FINEST = 1000  # shares are multiples of 1 / _FINEST
_STEPS = 8  # widths that are computed at most on the way to a target
_ROUNDING = 1e-9  # a width that is not above it is 0
_NEAR = 0.97  # of the target: a width that need not come nearer


@dataclass(frozen=True, slots=True, eq=False)
class SamplePlan(PlottedResult):
    """What shares of a pool's judgements buy and cost, a row for each share and measure."""

    #: share; questions opened and triples drawn in all, verdicts and hours still to give; measure, the expected
    #: half_width of the interval of a system (mean over systems), and difference, that of a pair of systems (median)
    data: pa.Table
    strategy: str
    own: float  # the share that people judge already; 0: none yet
    per_triple: int
    worlds: int  # sets of labels of which each width is the mean, at most
    error: float  # largest Monte Carlo error of a width, in shares of it
    yes: float  # the mean probability of Y of what is not judged
    times: WorkTimes

    @property
    def shares(self) -> list[float]:
        """The planned shares, ascending."""
        return sorted(set(self.data["share"].to_pylist()))

    def tables(self) -> tuple[Table, ...]:
        """Make tables of the half-widths for ``systems``, and of those for ``differences`` of pairs."""
        facts = (
            Column("share", form="share", digits=1),
            Column("questions"),
            Column("triples"),
            Column("verdicts", "verdicts left"),
            Column("hours", "hours left", digits=1),
        )
        source = f"from {self.times.n_steps:,} steps of work" if self.times.n_steps else "of laymen on DBpedia facts"
        unknown = f"what is not judged is Y with probability {self.yes:.3f} on average"
        if math.isnan(self.yes):
            unknown = "all is judged"
        note = (
            f"Expected half-widths of {CONFIDENCE:.0%} intervals for what judging the whole pool would give, "
            f"{self.strategy}; {unknown}. Means over up to "
            f"{counted(self.worlds, 'set')} of labels, Monte Carlo error at most {self.error:.1%} of a width. "
            f"{counted(self.per_triple, 'verdict')} per triple, {self.times.opening:.0f} s to open a question and "
            f"{self.times.candidate:.0f} s for a candidate ({source}); adjudication is not in it."
        )
        about = {"systems": ("half_width", "mean over the systems"), "differences": ("difference", "median of pairs")}
        return tuple(
            Table(key, "", f"Half-widths, {what}", self.data, (*facts, Column(name, across="measure")), note=note)
            for key, (name, what) in about.items()
        )

    def figures(self) -> tuple[Figure, ...]:
        """Make a figure of the half-widths by share, a line per measure."""
        return (imported("report.figures", "half_widths")(self.data, confidence=CONFIDENCE),)


def plan(
    campaign: Campaign,
    systems: Any = None,
    measures: Any = None,
    *,
    shares: Iterable[float] | None = None,
    target: tuple[str, float] | None = None,
    budget: int | None = None,
    hours: float | None = None,
    strategy: str | None = None,
    prior: float = PRIOR,
    progress: Callable[[int], None] | None = None,
    **scoring: Unpack[ScoringOptions],
) -> SamplePlan:
    """Plan which share of a campaign's pool people judge: the widths of intervals that it buys, and its cost.

    The sample of each share is drawn as :func:`draw_round` would, labels are simulated for what it asks of people, and
    the interval of each measure is estimated as :func:`kgtrec.evaluate` would: at least three times, until the Monte
    Carlo error of each mean width is below 5% of it. What is judged stays as it is; the rest is Y with the probability
    that estimates predict from the verdicts so far, or, before any question is done, with ``prior``. So a plan is as
    good as this probability: after a first round, plan again.

    Parameters
    ----------
    campaign : Campaign
        With a sample or without one yet.
    systems : Run, AnswerRanks, path, DataFrame or mapping, or several of them, optional
        Whose scores get intervals, as for :func:`kgtrec.evaluate`. Default: the first ranks of the pooled runs, see
        :func:`pooled_runs`.
    measures : str, measure, or several of them, optional
        Names as for :func:`kgtrec.evaluate`. Default: P, nDCG and AP at the depth of the pool.
    shares : iterable of float, optional
        Of the triples, those below what people judge already are left out. Default: a few.
    target : (str, float), optional
        A measure, and the half-width that its intervals should have on average over the systems: the smallest share
        that is expected to reach it is planned.
    budget : int, optional
        Verdicts still to give: the greatest share that needs no more is planned.
    hours : float, optional
        Likewise in hours of work.
    strategy : {"two-level", "whole-questions"}, optional
        Default: that of the sample that people judge, or two-level.
    prior : float
        Probability of Y before any question is done.
    progress : callable, optional
        Called with 1 after each share whose widths are known.
    **scoring
        How the systems are scored: options of :func:`kgtrec.evaluate`, such as ``ties``, ``sides`` and ``seed``.

    Returns
    -------
    SamplePlan

    Raises
    ------
    KgtrecError
        If more than one goal is given, it cannot be reached, or a share is below what people judge already.

    Examples
    --------
    See ``kgtrec campaign plan``.
    """
    goals = {"shares": shares, "target": target, "budget": budget, "hours": hours}
    if len(given := [name for name, goal in goals.items() if goal is not None]) > 1:
        raise KgtrecError(f"expected one of {', '.join(goals)}, found {' and '.join(given)}")
    between_0_and_1("a prior", prior)
    wanted = measures or _measures_of(campaign.pool)
    labels = [measure.label for measure in parse_measures([*([target[0]] if target else []), *_listed(wanted)])]
    lists = list(each_system(systems)) if systems is not None else pooled_runs(campaign.pool, campaign.known_answers)
    worlds = _Worlds(campaign, lists, labels, Scoring(**scoring), strategy, prior, progress)
    own = worlds.own
    if target:
        chosen = [worlds.share_for(*target)]
    elif budget is not None or hours is not None:
        chosen = [worlds.share_within(budget if budget is not None else math.inf, math.inf if hours is None else hours)]
    else:
        chosen = sorted({*(shares or SHARES), *([own] if own and not shares else [])})
        if shares and chosen[0] < own:
            raise KgtrecError(f"expected shares of {own:g} or more, which people judge already, found {chosen[0]:g}")
        chosen = [share for share in chosen if share >= own]
    widths = [worlds.widths(share) for share in chosen]
    work = np.array([worlds.work(share) for share in chosen])
    columns: dict[str, Any] = {"share": (0, np.array(chosen, np.float64))}
    columns |= {
        name: (0, work[:, row].astype(np.int64)) for row, name in enumerate(("questions", "triples", "verdicts"))
    }
    columns |= {"hours": (0, work[:, 3]), "measure": (1, labels)}
    columns |= {"half_width": np.array([each.level for each in widths])}
    columns |= {"difference": np.array([each.difference for each in widths])}
    return SamplePlan(
        long_table((len(chosen), len(labels)), columns),
        worlds.strategy,
        own,
        campaign.per_triple,
        max(each.worlds for each in widths),
        max(each.error for each in widths),
        worlds.yes,
        worlds.times,
    )


def _listed(measures: Any) -> Sequence[Any]:
    return [measures] if isinstance(measures, str) else list(measures)


def pooled_runs(pool: Pool, known_answers: Qrels) -> list[Run]:
    """Make runs of the first ranks of the pooled runs, as far as the pool has them.

    Known answers are not in a pool. They stand at the ranks that a run has left free, in any order; where there are
    more free ranks, as in a pool of raw lists, the others are skipped.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples, one = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam")]), np.ones(1, np.int32)
    >>> ids, zero = Vocabulary.of(["tail0"]), one * 0
    >>> asked = Questions(ids, zero > 0, zero, zero, triples.entities, triples.relations)
    >>> pool = Pool.of(triples.take(zero), zero, zero, zero, one + 1, ["mine"], asked)
    >>> jam = triples.entities.encode(["jam"])
    >>> [run] = pooled_runs(pool, Qrels.of(zero, jam, one, ids, triples.entities))
    >>> run.to_dict()
    {'tail0': {'jam': -1.0, 'tea': -2.0}}
    """
    depth = int(pool.rank.max(initial=1))
    known = known_answers.take(known_answers.grade >= 1)
    nth = np.arange(len(known)) - np.searchsorted(known.question, known.question)
    entity, runs = pool.entity, []
    for row, name in enumerate(pool.runs):
        own = np.flatnonzero(pool.run == row)
        is_free = np.ones((len(pool.questions), depth), np.bool_)
        is_free[pool.question[own], pool.rank[own] - 1] = False
        place = np.cumsum(is_free, axis=1)  # of each free rank among those of its question
        rank = 1 + np.argmax(place[known.question] > nth[:, None], axis=1)
        fits = place[known.question, -1] > nth
        columns = (
            np.r_[pool.question[own], known.question[fits]],
            np.r_[entity[own], known.entity[fits]],
            -np.r_[pool.rank[own], rank[fits]].astype(np.float64),
        )
        runs.append(Run.of(name, *columns, pool.questions.ids, pool.questions.entities))
    return runs


class SampleState(NamedTuple):
    """How much of a sample is judged, and how well the values of the whole pool are known by it."""

    questions: tuple[int, int]  # done, and all with a drawn triple
    triples: tuple[int, int]  # decided, and drawn
    #: measures at the depth of the pool, and half-widths of their intervals, mean over the pooled runs; empty before
    #: two questions are done
    widths: dict[str, float]


def sample_state(campaign: Campaign) -> SampleState | None:
    """Find how much of a campaign's sample is judged, and what is known of the pooled runs; None without a sample.

    The values of the runs are those of their first ranks, see :func:`pooled_runs`.
    """
    design, decisions = campaign.design, decisions_of(campaign)
    if design is None:
        return None
    drawn = campaign.automatic.for_people
    decided = int(np.count_nonzero(drawn & is_decided(decisions)))
    is_done = opened_and_done(campaign.pool.questions.ids, design, decisions)
    done, opened = (len(np.unique(design.question[design.is_drawn & part])) for part in (is_done, design.is_opened))
    widths: dict[str, float] = {}
    if done > 1:
        lists, measures = pooled_runs(campaign.pool, campaign.known_answers), _measures_of(campaign.pool)
        sample = replace(sampled_qrels(campaign, warns=False), collection="")
        parts = sample_estimates(sample, lists, measures, Scoring())
        half = parts.quantile(CONFIDENCE) * parts.levels()[1].mean(axis=0)
        widths = dict(zip(measures, half.tolist(), strict=True))
    return SampleState((done, opened), (decided, int(drawn.sum())), widths)


def _measures_of(pool: Pool) -> list[str]:
    """P, nDCG and AP at the depth of a pool."""
    return [f"{name}@{int(pool.rank.max(initial=1))}" for name in ("P", "nDCG", "AP")]


@dataclass(frozen=True, slots=True, eq=False)
class _Widths:
    level: NDArray[np.float64]  # (measures,)
    difference: NDArray[np.float64]  # (measures,)
    worlds: int
    error: float


class _Worlds:
    """Sets of labels of a campaign's pool, by which samples of any share are judged."""

    def __init__(
        self,
        campaign: Campaign,
        systems: list[Any],
        measures: list[str],
        scoring: Scoring,
        strategy: str | None,
        prior: float,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.campaign, self.systems, self.measures, self.scoring = campaign, systems, measures, scoring
        self.progress = progress or (lambda _: None)
        self.strategy, self.own = design_of(campaign, strategy)
        self.pool, self.decisions, self.times = campaign.pool, decisions_of(campaign), work_times(campaign)
        self.is_settled = is_decided(self.decisions)
        self.probability = self._probability(prior)
        is_open = ~self.is_settled & ~campaign.automatic.is_automatic
        self.yes = float(self.probability[is_open].mean()) if is_open.any() else math.nan
        self._known: dict[float, _Widths] = {}
        self._warned = False

    @cached_property
    def draw(self) -> Callable[[float], Design]:
        """The function that draws the sample of a share."""
        own = self.campaign
        seed = int(own.settings.get("seed", 0))
        return drawing(own.pool, own.known_answers, own.automatic, strategy=self.strategy, seed=seed)

    def design(self, share: float) -> Design:
        """The sample of a share: that of the campaign, or a greater one."""
        return self.campaign.design if self.campaign.design and share == self.own else self.draw(share)

    def _probability(self, prior: float) -> NDArray[np.float64]:
        """(triples,) of Y, where nobody has judged."""
        probability = np.full(len(self.pool), prior)
        design = self.campaign.design
        ids = self.pool.questions.ids
        if design is not None and np.any(design.is_drawn & opened_and_done(ids, design, self.decisions)):
            sample = sampled_qrels(self.campaign, warns=False)
            sample = sample.take(sample.is_uncertain)
            asked = self.pool.questions.triples(sample.question, sample.entity)
            probability[self.pool.rows(asked.head, asked.relation, asked.tail)] = sample.prediction
        return probability

    def widths(self, share: float) -> _Widths:
        """The expected half-widths of a share."""
        if share in self._known:
            return self._known[share]
        design = self.design(share)
        found: list[NDArray[np.float64]] = []
        while len(found) < _LEAST_WORLDS or (len(found) < _MOST_WORLDS and not _relative_error(found) < _MONTE_CARLO):
            found.append(self._widths_in(design, len(found)))
        level, difference = np.mean(found, axis=0)
        self._known[share] = _Widths(level, difference, len(found), _relative_error(found))
        self.progress(1)
        return self._known[share]

    def _widths_in(self, design: Design, world: int) -> NDArray[np.float64]:
        """(2, measures) half-widths under one set of labels: of systems, and of pairs."""
        asked = self.campaign.automatic.with_design(design)
        key = triple_keys(self.pool.triples, self.scoring.seed, world)
        is_yes = (key >> np.uint64(11)) * 2.0**-53 < self.probability
        verdict = np.where(self.is_settled, self.decisions.verdict == 1, is_yes).astype(np.int8)
        triple, text = np.flatnonzero(asked.for_people).astype(np.int32), labels_of([""])
        code, texts = np.zeros(len(triple), np.int8), text.take(np.zeros(len(triple), np.int64))
        people = Vocabulary.of(["simulated"])
        said = Judgements(triple, code.astype(np.int32), code + ANNOTATOR, verdict[triple], texts, texts, texts, people)
        settings = dict(self.campaign.settings) | {"annotators_per_triple": 1}
        judged = replace(self.campaign, design=design, automatic=asked, judgements=said, settings=settings)
        sample = sampled_qrels(judged)
        if self.scoring.mixed:
            sample = replace(sample, collection="")
        with warnings.catch_warnings():
            if self._warned:  # each world would give the same warnings again
                warnings.simplefilter("ignore", KgtrecWarning)
            parts, self._warned = sample_estimates(sample, self.systems, self.measures, self.scoring), True
        of_pairs = parts.differences()[1] if len(parts.systems) > 1 else np.full((1, len(self.measures)), np.nan)
        return parts.quantile(CONFIDENCE) * np.array([parts.levels()[1].mean(axis=0), np.median(of_pairs, axis=0)])

    def work(self, share: float) -> tuple[int, int, int, float]:
        """Questions that are opened and triples that are drawn; verdicts and hours that are left."""
        design = self.design(share)
        asked = self.campaign.automatic.with_design(design)
        openings, verdicts = work_left(self.campaign, asked)
        seconds = self.times.opening * openings + self.times.candidate * verdicts
        opened = len(np.unique(design.question[design.is_opened]))
        return opened, int(asked.for_people.sum()), verdicts, seconds / 3600

    def share_within(self, verdicts: float, hours: float) -> float:
        """The greatest share that leaves at most this number of verdicts and hours of work."""

        def fits(thousandths: int) -> bool:
            _, _, needed, time = self.work(thousandths / _FINEST)
            return needed <= verdicts and time <= hours

        low, high = math.ceil(round(self.own * _FINEST, 6)), _FINEST + 1
        if self.own and not fits(low):
            raise self._too_little(self.own, ", left of what people judge already")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        if low == 0:
            raise self._too_little(1 / _FINEST)
        return low / _FINEST

    def _too_little(self, share: float, what: str = "") -> KgtrecError:
        """The error where there is less than a share needs."""
        (_, _, verdicts, hours), per_triple = self.work(share), self.campaign.per_triple
        needed = f"{counted(verdicts, 'verdict')} ({per_triple} per triple), {hours:.1f} hours{what}"
        way_out = "; ask for fewer: kgtrec campaign assign --per-triple 1" if per_triple > 1 else ""
        return KgtrecError(f"expected at least {needed}, found less{way_out}")

    def share_for(self, measure: str, half_width: float) -> float:
        """The smallest share at which the mean half-width of a measure is at most this one, or nearly the smallest."""
        if not 0 < half_width < math.inf:
            raise KgtrecError(f"expected a half-width above 0 as target, found {half_width}")
        place = self.measures.index(parse_measures(measure)[0].label)
        # of a simple sample the squared width is linear in 1 / share, and 0 at share 1
        low, high, wide, narrow = self.own, 1.0, math.nan, 0.0
        share = self.own or SHARES[2]
        for _ in range(_STEPS):
            width = float(self.widths(share).level[place])
            if width <= half_width:
                high, narrow = share, width
                if width >= _NEAR * half_width or share == self.own:
                    break
            else:
                low, wide = share, width
            if not (steep := _slope(low, wide, high, narrow)):
                break
            share = 1 / (1 / high + (half_width**2 * _NEAR - narrow**2) / steep)
            share = math.ceil(max(share, 1 / _FINEST) * _FINEST) / _FINEST
            if not low < share < high:
                break
        return high


def _slope(low: float, wide: float, high: float, narrow: float) -> float:
    """Of the squared width along 1 / share, between two shares or, without the lower one, from ``high`` to 1."""
    if math.isnan(wide):
        return narrow**2 / (1 / high - 1)
    return (wide**2 - narrow**2) / (1 / low - 1 / high)


def _relative_error(found: Sequence[NDArray[np.float64]]) -> float:
    """The largest standard error of the mean half-widths of systems, in shares of them."""
    each = np.array(found)[:, 0]
    error, mean = each.std(axis=0, ddof=1) / math.sqrt(len(each)), each.mean(axis=0)
    return float(np.max(np.divide(error, mean, out=np.zeros_like(mean), where=mean > _ROUNDING)))
