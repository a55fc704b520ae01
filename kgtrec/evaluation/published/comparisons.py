"""Numbers of several rows: filtered beside raw, both sides beside head and tail, and leads that may mean nothing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

from kgtrec.errors import some_of
from kgtrec.evaluation.published.findings import DEFINITION, TOLERANCE, WAYS, PaperFinding, Row, shown
from kgtrec.kernels.ranking.mean_bounds import SharesUpTo, reciprocal_rank_bounds

_LOWER = ("MR", "AMR")
_Z = 1.96  # standard errors: a 95% interval
_APART_FROM_SETTING = attrgetter("system", "size.data_set", "side", "part", "level", "place")
_APART_FROM_SIDE = attrgetter("system", "size.data_set", "setting", "part", "level")
_COLUMN = attrgetter("size.data_set", "setting", "side", "part", "level")


def filtered_and_raw(rows: Sequence[Row]) -> Iterator[PaperFinding]:
    """Yield findings about filtered numbers that are worse than the raw ones of the same system."""
    raw = {_APART_FROM_SETTING(row): row for row in rows if row.setting == "raw"}
    for row in rows:
        other = raw.get(_APART_FROM_SETTING(row))
        if other is None or row.setting == "raw":
            continue
        for name in _shared(row, other):
            sign = -1 if name in _LOWER else 1
            possible = (
                max(sign * end for end in row.ends(name, way)) >= min(sign * end for end in other.ends(name, way))
                for way in WAYS
            )
            low, high = other.ends(name, WAYS[0])
            reason = f"no rank is worse without the other answers, and raw it is {other.values[name].text}"
            limits = (-math.inf, high) if sign < 0 else (low, math.inf)
            yield from row.unless_possible(possible, name, reason, DEFINITION, *limits)


def both_sides(rows: Sequence[Row]) -> Iterator[PaperFinding]:
    """Yield findings about numbers of both sides that are not the mean of those of head and tail."""
    one = {(_APART_FROM_SIDE(row), row.side): row for row in rows if row.side != "both"}
    for row in rows:
        if row.side != "both" or row.level != "micro":
            continue
        head, tail = (one.get((_APART_FROM_SIDE(row), side)) for side in ("head", "tail"))
        if head is None or tail is None:
            continue
        for name in _shared(row, head, tail):
            means = [
                [sum(ends) / 2 for ends in zip(head.ends(name, way), tail.ends(name, way), strict=True)] for way in WAYS
            ]
            possible = (
                row.ends(name, way)[0] <= high + TOLERANCE and row.ends(name, way)[1] >= low - TOLERANCE
                for way, (low, high) in zip(WAYS, means, strict=True)
            )
            reason = (
                "each test triple has one rank on either side, and this is their mean: "
                f"{head.values[name].text} (head), {tail.values[name].text} (tail)"
            )
            yield from row.unless_possible(possible, name, reason, DEFINITION, *means[0])


def small_leads(rows: Sequence[Row]) -> Iterator[PaperFinding]:
    """Yield notes about the best number of each column where its lead over others may mean nothing.

    A lead is nothing where both numbers may be rounded from the same one; one test answer can make up for it where it
    is at most what one rank can change, :math:`1/n` for Hits@k and MRR; and it is within sampling noise where it is
    smaller than 1.96 standard errors of the difference of two independent samples of n ranks. The variance of Hits@k is
    p (1 - p); that of 1 / rank is the largest that the printed Hits allow. Systems on the same test triples are no
    independent samples, so that a test of paired ranks may still find a difference.
    """
    columns: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        for name in row.values:
            columns[(*_COLUMN(row), name)].append(row)
    for (*_, name), own in columns.items():
        sign = -1 if name in _LOWER else 1
        best = max(own, key=lambda row: sign * row.values[name].value)
        kinds: dict[str, list[str]] = defaultdict(list)
        least: dict[str, float] = {}
        for row in own:
            if row is best:
                continue
            kind, needed = _lead(best, row, name)
            if kind:
                kinds[kind].append(row.system)
                least[kind] = max(least.get(kind, 0.0), needed)
        for kind, systems in kinds.items():
            bound = best.values[name].value - sign * least[kind]
            limits = (math.nan, bound) if sign > 0 else (bound, math.nan)
            yield best.finding(
                "note", name, f"its lead over {some_of(systems)} {kind}", "two-sample comparison", *limits
            )


def _lead(best: Row, row: Row, name: str) -> tuple[str, float]:
    """What may explain the lead of the best over another, and how large a lead is not explained so; or "" and 0."""
    first, second = best.values[name], row.values[name]
    lead = abs(first.value - second.value)
    if first.rounded[0] <= second.rounded[1] and second.rounded[0] <= first.rounded[1]:
        return "is no larger than rounding", (first.unit + second.unit) / 2
    n = min((each.ranks or 0) for each in (best, row))
    if n == 0 or name not in {"MR", "MRR", *best.hits.values()}:
        return "", 0.0
    one = 1 / n if name != "MR" else ((best.size.entities or 0) - 1) / n
    if lead <= one:
        return f"is no larger than what one of {n:,} ranks can change, {shown(one)}", one
    if name == "MR":
        return "", 0.0
    needed = _Z * math.sqrt(sum(_variance(each, name) for each in (best, row)) / n)
    if lead >= needed:
        return "", 0.0
    return (
        f"is smaller than {_Z} standard errors of two independent samples of {n:,} ranks; a paired test may find "
        "a difference",
        needed,
    )


def _variance(row: Row, name: str) -> float:
    """Of Hits@k; of 1 / rank the largest that the row's numbers allow."""
    mean = min(max(row.values[name].value, 0.0), 1.0)
    if name != "MRR":
        return mean * (1 - mean)
    ends = [row.ends(hits, WAYS[0]) for hits in row.hits.values()]
    shares = SharesUpTo.of(list(row.hits), [low for low, _ in ends], [high for _, high in ends])
    square = reciprocal_rank_bounds(shares, power=2)[1]
    # 1 / rank is at most 1, so its square is at most itself
    return max(min(mean if math.isnan(square) else square, mean) - mean**2, 0.0)


def _shared(first: Row, *others: Row) -> list[str]:
    """The means of ranks, not of what is adjusted for chance, that all rows have."""
    names = ("MRR", "MR", *first.hits.values())
    return [name for name in names if all(name in row.values for row in (first, *others))]
