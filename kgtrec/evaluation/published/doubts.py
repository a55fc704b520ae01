"""Doubtful numbers of one row: Hits@k that are no count, systems like a random order, AMR and AMRI that do not fit MR.

Whether a printed mean of n numbers is one that n such numbers can have, GRIM asks of means of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kgtrec.evaluation.chance import adjust
from kgtrec.evaluation.published.findings import WAYS, PaperFinding, Row, shown
from kgtrec.measures.names import parse_measure

_OF_COUNTS = "GRIM, Brown and Heathers 2017"
_OF_CHANCE = "Berrendorf et al. 2020, Hoyt et al. 2022"
_LIKE_CHANCE = 1.96  # standard deviations: the 95% interval of chance
_WHAT = {
    ("micro", "both"): "ranks on both sides",
    ("micro", "head"): "ranks of heads",
    ("micro", "tail"): "ranks of tails",
    ("macro", "both"): "questions",
}


def of_no_count(row: Row) -> Iterator[PaperFinding]:
    """Yield findings about Hits@k that are no count divided by the number of ranks.

    With one rank on either side of each test triple, n is twice their number: what is a mean over one side, of half as
    many ranks, is a multiple of 1/n too. Means over several runs are left out.
    """
    n = row.ranks
    if n is None:
        return
    for name in row.hits.values():
        value = row.values[name]
        if value.is_mean or any(_is_multiple(row.ends(name, way), n) for way in WAYS):
            continue
        below = math.floor(value.value * n)
        what = _WHAT.get((row.level, row.side), "ranks")
        reason = (
            f"of {n:,} {what}, {below:,} and {below + 1:,} give these two; another number comes from other test "
            "triples, a mean over runs, or an expectation over ties"
        )
        if row.level == "micro" and row.side == "both" and n % 2 == 0:
            reason += f", and not from one side, {n // 2:,} ranks"
        yield row.finding("doubtful", name, reason, _OF_COUNTS, below / n, (below + 1) / n)


def _is_multiple(ends: tuple[float, float], n: int) -> bool:
    """Whether a count divided by n is between the ends.

    Examples
    --------
    >>> _is_multiple((0.2495, 0.2505), 402), _is_multiple((0.2485, 0.2495), 402)
    (False, True)
    """
    room = 1e-9 * n
    return math.floor(ends[1] * n + room) >= math.ceil(ends[0] * n - room)


def against_chance(row: Row) -> Iterator[PaperFinding]:
    """Yield findings about numbers that a random order would have too, or that are worse."""
    if row.setting == "raw":
        return
    for name, value in row.values.items():
        level = row.size.level(value.measure, row.side)
        if level is None or row.size.chance is None:
            continue
        record = parse_measure(value.measure).record
        best = value.rounded[1] if record.better == "higher" else value.rounded[0]
        best = min(max(best, record.bounds[0]), record.bounds[1])
        z = adjust(value.measure, best, row.size.chance, side=row.side).z
        if not math.isnan(z) and z <= _LIKE_CHANCE:
            low, high = (level[0] + sign * _LIKE_CHANCE * math.sqrt(level[1]) for sign in (-1, 1))
            reason = (
                f"a random order has {shown(level[0])} on this data set, in 95% of cases between these bounds, and the "
                f"number is {'worse' if z < -_LIKE_CHANCE else 'between them'}"
            )
            yield row.finding("doubtful", name, reason, _OF_CHANCE, low, high)


def unfitting_indices(row: Row) -> Iterator[PaperFinding]:
    """Yield findings about AMR and AMRI that are not those of the printed MR."""
    level = row.size.level(f"{row.level}.MR", row.side)
    of_other_triples = row.ranks is not None and row.ranks != row.size.ranks(row.level, row.side)
    if level is None or "MR" not in row.values or row.level != "micro" or row.setting == "raw" or of_other_triples:
        return
    expected = level[0]
    for name, (scale, offset) in {"AMR": (expected, 0.0), "AMRI": (1 - expected, expected)}.items():
        if name not in row.values:
            continue
        limits = [sorted((rank - offset) / scale for rank in row.ends("MR", way)) for way in WAYS[:2]]
        printed = [row.ends(name, way) for way in WAYS[:2]]
        if not any(ends[0] <= high and ends[1] >= low for ends, (low, high) in zip(printed, limits, strict=True)):
            reason = (
                f"MR = {row.values['MR'].text} has these bounds where the mean rank by chance is {shown(expected)}, as "
                "on this data set; other test triples or another filter have another"
            )
            yield row.finding("doubtful", name, reason, _OF_CHANCE, *limits[0])
