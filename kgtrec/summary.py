"""From values of items to the numbers of a table: means, what chance would give, and bootstrap intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.measures.aggregate import LINKS, aggregate_groups
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure
from kgtrec.measures.record import Measure

Floats = NDArray[np.float64]
Resample = Literal["question", "answer"]
MONTE_CARLO_REPEATS = 1000
_MONTE_CARLO_SEED = 0  # of the chance level of medians and the like, which has no closed form


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The items of one measure for one system: answers, or questions."""

    value: Floats  # (n,)
    group: NDArray[np.int32]  # (n,) row of the table that the item is part of
    question: NDArray[np.int32]  # (n,) what is resampled together
    weight: Floats | None  # (n,) None: each item counts the same
    candidates: NDArray[np.int64] | None  # (n,) size of the list that the item was ranked in; None where it is cut
    relevant: NDArray[np.int64] | None  # (n,) relevant entities of a question; None for answers

    @property
    def sizes(self) -> tuple[NDArray[np.int64], ...]:
        """What the functions of a chance record are given."""
        return tuple(column for column in (self.relevant, self.candidates) if column is not None)


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are drawn."""

    confidence: float = 0.95
    resample: Resample = "question"
    repeats: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise KgtrecError(f"expected a confidence between 0 and 1, found {self.confidence}")
        if self.repeats < 2:
            raise KgtrecError(f"expected at least 2 bootstrap samples, found {self.repeats}")
        if self.resample not in ("question", "answer"):
            raise KgtrecError(f"expected to resample 'question' or 'answer', found {self.resample!r}")


def summarise(measure: ParsedMeasure | ProvidedMeasure, items: Items, size: int, name: str) -> Floats:
    """One number for each group of items, adjusted for chance if the measure says so.

    Parameters
    ----------
    measure : ParsedMeasure or ProvidedMeasure
    items : Items
    size : int
        How many groups there are.
    name : str
        The system's name, for messages.

    Returns
    -------
    (size,) float array
        NaN for a group without items, or where chance leaves no room (all lists of one candidate).

    Raises
    ------
    MeasureError
        If chance needs the length of lists that are cut.
    """
    record = measure.record
    plain = aggregate_groups(items.value, items.group, size, record.aggregate, items.weight)
    nothing = np.count_nonzero(np.bincount(items.group, weights=items.weight, minlength=size) == 0)
    if nothing and record.aggregate != "sum":
        _tell(measure, name, f"there are no {measure.items} to take the mean of ({nothing} of {size} values)")
    if record.form == "plain" or isinstance(measure, ProvidedMeasure):
        return plain
    expectation, variance = chance_level(measure, items, size, name)
    with np.errstate(divide="ignore", invalid="ignore"):
        if record.form == "ratio":
            return plain / expectation
        if record.form == "index":
            adjusted = (plain - expectation) / (record.optimum - expectation)
            undefined = (expectation == record.optimum) | _without_relevant(items, size)
        else:
            flip = -1.0 if record.lower_is_better and measure.parameters["flipped"] else 1.0
            adjusted = flip * (plain - expectation) / np.sqrt(variance)
            undefined = variance == 0
    undefined &= ~np.isnan(plain)  # of which there has been a warning
    if np.any(undefined):
        n = np.count_nonzero(undefined)
        why = f"chance leaves no room, as when every list has one candidate ({n} of {size} values)"
        _tell(measure, name, why)
    return np.where(undefined, np.nan, adjusted)


def _tell(measure: ParsedMeasure | ProvidedMeasure, name: str, why: str) -> None:
    warnings.warn(f"{measure.label} of {name} is undefined where {why}", KgtrecWarning, stacklevel=5)


def _without_relevant(items: Items, size: int) -> NDArray[np.bool_]:
    """(size,) whether a group has questions, but none with a relevant entity: then 0 is all there is to be had."""
    if items.relevant is None:
        return np.zeros(size, np.bool_)
    answered = np.bincount(items.group, weights=items.relevant > 0, minlength=size)
    without: NDArray[np.bool_] = (answered == 0) & (np.bincount(items.group, minlength=size) > 0)
    return without


def chance_level(measure: ParsedMeasure, items: Items, size: int, name: str) -> tuple[Floats, Floats]:
    """(size,) expectation and variance of each group's number when every order is equally likely."""
    if items.candidates is None:
        raise MeasureError(
            f"{measure.label} needs to know how many candidates there were, which the cut run {name} does not tell; "
            "evaluate the system's NAME.ranks.parquet (kgtrec rank)"
        )
    if measure.record.chance is not None:
        expectation = _per_item(measure.record.chance.expectation, items, measure)
        variance = _per_item(measure.record.chance.variance, items, measure)
        counted = np.ones(len(items.value)) if items.weight is None else items.weight
        whole = np.bincount(items.group, weights=counted, minlength=size)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.bincount(items.group, weights=counted**2 * variance, minlength=size) / whole**2
        return aggregate_groups(expectation, items.group, size, "mean", items.weight), spread
    moments = np.full((2, size), np.nan)
    order = np.argsort(items.group, kind="stable")
    bounds = np.searchsorted(items.group[order], np.arange(size + 1))
    for own_group in np.flatnonzero(np.diff(bounds)):
        rows = order[bounds[own_group] : bounds[own_group + 1]]
        weight = None if items.weight is None else items.weight[rows]
        if weight is not None and not np.any(weight):
            continue
        moments[:, own_group] = _moments_of_all(measure.record, items.candidates[rows], weight)
    return moments[0], moments[1]


def _per_item(function: Callable[..., Floats], items: Items, measure: ParsedMeasure) -> Floats:
    """(n,) what a function of the chance record says of each item, worked out once for each distinct size."""
    sizes = np.stack(items.sizes)
    key = sizes[0] if len(sizes) == 1 else sizes[0] * (int(sizes[1].max(initial=0)) + 1) + sizes[1]
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return function(*sizes[:, first], **measure.own_parameters)[place]


def _moments_of_all(measure: Measure, candidates: NDArray[np.int64], weight: Floats | None) -> tuple[float, float]:
    """Expectation and variance of a number that is no mean over items."""
    from kgtrec.kernels import chance

    if np.all(candidates == 1):  # exactly, where a simulation would round
        return measure.optimum, 0.0

    if measure.aggregate == "geometric mean":
        return chance.geometric_mean_moments(chance.group_candidates(candidates, weight), sign=1)
    if measure.aggregate == "inverse geometric mean":
        return chance.geometric_mean_moments(chance.group_candidates(candidates, weight), sign=-1)
    statistic = {"median": "MedianRank", "harmonic mean": "HMR", "inverse mean": "IMR"}[measure.aggregate]
    drawn = chance.monte_carlo(statistic, candidates, weight, seed=_MONTE_CARLO_SEED, repeats=MONTE_CARLO_REPEATS)
    return drawn.expectation, drawn.variance


def interval(measure: ParsedMeasure | ProvidedMeasure, items: Items, size: int, name: str, how: Bootstrap) -> Floats:
    """(2, size) the percentile bootstrap interval of each group's number.

    Questions are drawn with all their items (or single answers, if told so), as many as there are, with replacement.
    The same seed draws the same questions for every system and measure. NaN for z forms, whose variance is chance's
    own, and for sums.
    """
    from kgtrec.kernels.resampling import bootstrap_counts, percentile_interval

    if measure.record.form == "z" or measure.record.aggregate == "sum" or len(items.value) == 0:
        return np.full((2, size), np.nan)
    cluster = np.arange(len(items.value))
    if how.resample == "question":
        cluster = np.unique(items.question, return_inverse=True)[1]
    samples = [
        _resampled(measure, items, size, name, counts, cluster)
        for counts in bootstrap_counts(int(cluster.max()) + 1, how.repeats, how.seed)
    ]
    ends = percentile_interval(np.concatenate(samples), how.confidence)
    # samples that miss an undefined item have a value, but what they would be an interval of has none
    ends[:, np.bincount(items.group, weights=np.isnan(items.value), minlength=size) > 0] = np.nan
    return ends


def _resampled(
    measure: ParsedMeasure | ProvidedMeasure,
    items: Items,
    size: int,
    name: str,
    counts: Floats,
    cluster: NDArray[np.intp],
) -> Floats:
    """(b, size) the number of each group in each of b samples."""
    weight = np.ones(len(items.value)) if items.weight is None else items.weight
    record = measure.record
    if record.aggregate == "median":
        plain = np.array([
            aggregate_groups(items.value, items.group, size, "median", weight * drawn[cluster]) for drawn in counts
        ])  # fmt: skip
    else:
        link = LINKS[record.aggregate]
        with np.errstate(divide="ignore", invalid="ignore"):
            plain = link.back(_ratio(counts, cluster, items.group, size, weight * link.to(items.value), weight))
    if record.form == "plain" or isinstance(measure, ProvidedMeasure):
        return plain
    if record.chance is None:
        # the chance level of a geometric mean and the like hardly moves with the sample; that of the whole stands in
        expectation = chance_level(measure, items, size, name)[0]
    else:
        own = _per_item(record.chance.expectation, items, measure)
        expectation = _ratio(counts, cluster, items.group, size, weight * own, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        if record.form == "ratio":
            return plain / expectation
        adjusted: Floats = (plain - expectation) / (record.optimum - expectation)
    return adjusted


def _ratio(
    counts: Floats, cluster: NDArray[np.intp], group: NDArray[np.int32], size: int, above: Floats, below: Floats
) -> Floats:
    """(b, size) sums of ``above`` over sums of ``below`` of each group, each cluster as often as it was drawn."""
    if size == 1:
        n = counts.shape[1]
        sums = np.stack([np.bincount(cluster, weights=column, minlength=n) for column in (above, below)], axis=1)
        totals = counts @ sums
        with np.errstate(divide="ignore", invalid="ignore"):
            return totals[:, :1] / totals[:, 1:]
    order = np.argsort(group, kind="stable")
    filled, starts = np.unique(group[order], return_index=True)
    ratio = np.full((len(counts), size), np.nan)
    for place, drawn in enumerate(counts):
        times = drawn[cluster[order]]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio[place, filled] = np.add.reduceat(times * above[order], starts) / np.add.reduceat(
                times * below[order], starts
            )
    return ratio
