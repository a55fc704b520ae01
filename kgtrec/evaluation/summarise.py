"""From values of items to the numbers of a table: means, and adjustment for chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import MeasureError, warn
from kgtrec.kernels.chance import ranks as chance
from kgtrec.kernels.statistics.exact_sums import group_sums
from kgtrec.measures.aggregate import LINKS, MedianRanks, aggregate_groups
from kgtrec.measures.names import AnyMeasure
from kgtrec.measures.record import Measure

Floats = NDArray[np.float64]
MONTE_CARLO_REPEATS = 1000
_MONTE_CARLO_SEED = 0  # for the chance level of medians and the like, which has no closed form


@dataclass(frozen=True, slots=True, eq=False)
class ItemValues:
    """The items of one measure for one system: answers, or questions."""

    value: Floats  # (n,)
    group: NDArray[np.int32]  # (n,) row of the table that the item is part of
    question: NDArray[np.int32]  # (n,) row in the questions of the qrels
    weight: Floats | None  # (n,) None: each item counts the same
    candidates: NDArray[np.int64] | None  # (n,) size of the list that the item was ranked in; None if it is cut
    relevant: NDArray[np.int64] | None  # (n,) relevant entities of a question; None for answers
    # (n,) each: best and worst rank of the answers, for a median while the order of ties is left open
    open_ranks: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @property
    def sizes(self) -> tuple[NDArray[np.int64], ...]:
        """The arguments of the functions of a chance record."""
        return tuple(column for column in (self.relevant, self.candidates) if column is not None)


def summarise(measure: AnyMeasure, items: ItemValues, size: int, name: str) -> Floats:
    """Compute one number for each group of items, adjusted for chance if the measure says so.

    Parameters
    ----------
    measure : ParsedMeasure or ProvidedMeasure
    items : ItemValues
    size : int
        How many groups there are.
    name : str
        The system's name, for messages.

    Returns
    -------
    (size,) float array
        NaN for a group without items, or where chance gives the best value too (all lists have one candidate).

    Raises
    ------
    MeasureError
        If the adjustment needs the length of lists that are cut.
    """
    record = measure.record
    if items.open_ranks is None:
        in_order = items.relevant is not None  # questions
        plain = aggregate_groups(items.value, items.group, size, record.aggregate, items.weight, in_order=in_order)
    else:
        weight = np.ones(len(items.value)) if items.weight is None else items.weight
        plain = MedianRanks(*items.open_ranks, items.group, size)(weight)
    nothing = np.count_nonzero(np.bincount(items.group, weights=items.weight, minlength=size) == 0)
    if nothing and record.aggregate != "sum":
        warn_undefined(measure, name, f"there are no {measure.items} to take the mean of ({nothing} of {size} values)")
    if record.form == "plain":
        return plain
    with np.errstate(divide="ignore", invalid="ignore"):
        adjusted, undefined = _adjusted(measure, items, size, name, plain)
    undefined &= ~np.isnan(plain)  # for which there was a warning already
    if np.any(undefined):
        n = np.count_nonzero(undefined)
        why = f"chance gives the best value too, as when every list has one candidate ({n} of {size} values)"
        warn_undefined(measure, name, why)
    return np.where(undefined, np.nan, adjusted + 0.0)  # which turns -0.0 into 0.0


def sign_of(measure: AnyMeasure) -> float:
    """Return -1 for a z form whose sign is reversed since lower is better, else 1."""
    return -1.0 if measure.record.lower_is_better and measure.parameters.get("flipped") else 1.0


def _adjusted(
    measure: AnyMeasure, items: ItemValues, size: int, name: str, plain: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """(size,) each: the numbers adjusted for chance, and for which chance gives the best value too."""
    record, flip = measure.record, sign_of(measure)
    require_candidates(measure, items, name)
    if record.chance is None:
        expectation, variance = chance_level(measure, items, size, name)
        if record.form == "z":
            return flip * (plain - expectation) / np.sqrt(variance), variance == 0
        return (plain - expectation) / (record.optimum - expectation), expectation == record.optimum
    # differences are computed item by item, so that a value that should be 0, 1 or -1 is exact
    above, below = (group_sums(items.group, part, size) for part in fraction(measure, items))
    if record.form == "z":
        variance = chance_level(measure, items, size, name)[1]
        return flip * (above / below) / np.sqrt(variance), variance == 0
    no_room = below == 0
    if record.form == "index" and items.relevant is not None:
        # a group of questions of which none has a relevant entity: 0 is the only possible value
        answered = np.bincount(items.group, weights=items.relevant > 0, minlength=size)
        no_room |= (answered == 0) & (np.bincount(items.group, minlength=size) > 0)
    return above / below, no_room


def fraction(measure: AnyMeasure, items: ItemValues) -> tuple[Floats, Floats]:
    """Split each group's number, (n,) each: sum of the first over sum of the second, with the link inverted."""
    record = measure.record
    weight = np.ones(len(items.value)) if items.weight is None else items.weight
    if record.form == "plain" or record.chance is None:
        with np.errstate(divide="ignore"):
            return weight * LINKS[record.aggregate].to(items.value), weight
    expectation = _per_item(record.chance.expectation, items, measure)
    if record.form == "ratio":
        return weight * items.value, weight * expectation
    gained = weight * (items.value - expectation)
    return gained, weight if record.form == "z" else weight * (record.optimum - expectation)


def warn_undefined(measure: AnyMeasure, name: str, why: str) -> None:
    """Warn that a measure of the system ``name`` is undefined somewhere, and why."""
    warn(f"{measure.label} of {name} is undefined where {why}")


def chance_level(measure: AnyMeasure, items: ItemValues, size: int, name: str) -> tuple[Floats, Floats]:
    """Compute expectation and variance of each group's number when every order is equally likely, (size,) each."""
    candidates = require_candidates(measure, items, name)
    if measure.record.chance is not None:
        expectation = _per_item(measure.record.chance.expectation, items, measure)
        variance = _per_item(measure.record.chance.variance, items, measure)
        counted = np.ones(len(items.value)) if items.weight is None else items.weight
        total = group_sums(items.group, counted, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = group_sums(items.group, counted**2 * variance, size) / total**2
        return aggregate_groups(expectation, items.group, size, "mean", items.weight), spread
    moments = np.full((2, size), np.nan)
    order = np.argsort(items.group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(items.group[order])) + 1):
        weight = None if items.weight is None else items.weight[rows]
        if len(rows) and (weight is None or np.any(weight)):
            moments[:, items.group[rows[0]]] = _moments_of_all(measure.record, candidates[rows], weight)
    return moments[0], moments[1]


def require_candidates(measure: AnyMeasure, items: ItemValues, name: str) -> NDArray[np.int64]:
    """Return (n,) the number of candidates that each item was ranked among.

    Raises
    ------
    MeasureError
        If lists are cut, so that this is unknown.
    """
    if items.candidates is None:
        raise MeasureError(
            f"{measure.label} needs the number of candidates, which the cut run {name} does not have; "
            "evaluate the system's NAME.ranks.parquet (kgtrec rank)"
        )
    return items.candidates


def _per_item(function: Callable[..., Floats], items: ItemValues, measure: AnyMeasure) -> Floats:
    """(n,) values of a function of the chance record for each item, computed once for each distinct size."""
    sizes = np.stack(items.sizes)
    key = sizes[0] if len(sizes) == 1 else sizes[0] * (int(sizes[1].max(initial=0)) + 1) + sizes[1]
    _, first, row_of_size = np.unique(key, return_index=True, return_inverse=True)
    return function(*sizes[:, first], **measure.own_parameters)[row_of_size]


def _moments_of_all(measure: Measure, candidates: NDArray[np.int64], weight: Floats | None) -> tuple[float, float]:
    """Expectation and variance of a number that is not a mean over items."""
    if np.all(candidates == 1):  # exact, while a simulation would round
        return measure.optimum, 0.0
    if measure.aggregate == "geometric mean":
        return chance.geometric_mean_moments(candidates, weight)
    return chance.monte_carlo(
        chance.median_rank, candidates, weight, seed=_MONTE_CARLO_SEED, repeats=MONTE_CARLO_REPEATS
    )
