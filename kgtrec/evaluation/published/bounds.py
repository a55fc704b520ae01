"""Whether any ranks can have the numbers of one row: ranges, Hits that do not fall, bounds of MRR and MR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kgtrec.evaluation.published.findings import DEFINITION, TOLERANCE, WAYS, MeanBounds, PaperFinding, Row, Way, shown
from kgtrec.kernels.ranking.mean_bounds import SharesUpTo, mean_rank_bounds, reciprocal_rank_bounds

Bounds = tuple[float, float]


def within_range(row: Row) -> tuple[Row, list[PaperFinding]]:
    """Leave out the numbers that are outside the range of their measure, with a finding about each."""
    findings: list[PaperFinding] = []
    for name in row.values:
        low, high, reason = _range(row, name)
        possible = (_meet(row.ends(name, way), (low, high)) for way in WAYS)
        findings += row.unless_possible(possible, name, reason, low=low, high=high)
    outside = {finding.measure.partition(".")[2] for finding in findings if finding.severity == "impossible"}
    return replace(row, values={name: value for name, value in row.values.items() if name not in outside}), findings


def _range(row: Row, name: str) -> tuple[float, float, str]:
    """Lowest and highest value of a measure on the row's data set, and why."""
    most = float(row.size.entities or np.inf)
    if name == "MR":
        level = row.size.level("micro.MR", row.side) if row.level == "micro" and row.setting != "raw" else None
        if level is not None:
            most = 2 * level[0] - 1
            return 1, most, f"a mean rank is at least 1 and at most the mean number of candidates, {shown(most)}"
        of_all = f" and at most the number of entities, {shown(most)}" if np.isfinite(most) else ""
        return 1, most, f"a mean rank is at least 1{of_all}"
    if name == "MRR":
        return 1 / most, 1, "a mean of 1 / rank is above 0 and at most 1"
    if name == "AMRI":
        return -np.inf, 1, "an index of 1 is a mean rank of 1, and none is better"
    if name == "AMR":
        return 0, 2, "a mean rank is at most the number of candidates, which is below twice the rank by chance"
    if int(name[5:]) >= most:
        return 1, 1, f"no rank is above {name[5:]} among {shown(most)} candidates"
    return 0, 1, "a share of ranks is from 0 to 1"


def falling_hits(row: Row) -> Iterator[PaperFinding]:
    """Yield findings about Hits that are lower than Hits at a smaller cutoff."""
    names = list(row.hits.values())
    for place, larger in enumerate(names[1:], start=1):
        before = names[:place]
        smaller = max(before, key=lambda name: row.ends(name, WAYS[0])[0])
        reason = f"every rank up to {smaller[5:]} is up to {larger[5:]}, and {smaller} = {row.values[smaller].text}"
        possible = [max(row.ends(name, way)[0] for name in before) <= row.ends(larger, way)[1] for way in WAYS]
        yield from row.unless_possible(possible, larger, reason, low=row.ends(smaller, WAYS[0])[0])


def bounds_of(row: Row, known: Sequence[PaperFinding]) -> tuple[list[MeanBounds], list[PaperFinding]]:
    """Return bounds of MRR and MR by the other numbers of the row, and findings about those that are outside.

    A number is held against more and more of the others; what is ``known`` of them, or found of fewer, is not repeated.
    """
    bounds: list[MeanBounds] = []
    findings: list[PaperFinding] = []
    hits = list(row.hits.values())
    of_hits = (
        f"with {_printed(row, hits)}, the mean is between these bounds, where every rank is at its worst or at its best"
    )

    def hold(name: str, of: Callable[[Way], Bounds], others: Sequence[str], what: str, source: str) -> None:
        tried: list[Bounds] = []

        def is_possible(way: Way) -> bool:
            tried.append(of(way))
            return _meet(row.ends(name, way), tried[-1])

        finding = next(row.unless_possible(map(is_possible, WAYS), name, what, source), None)
        value, (low, high) = row.values[name], tried[0]
        if not np.isnan(low):
            kinds = " and ".join(dict.fromkeys(other.partition("@")[0] for other in others))
            whose = (row.size.data_set, row.setting or row.part)
            bounds.append(MeanBounds(row.system, value.measure, value.text, low, high, kinds, *whose))
        of_these = {row.values[other].measure for other in (name, *others)}
        shown_already = {other.severity for other in (*known, *findings) if other.measure in of_these}
        if finding is not None and not shown_already & {"impossible", finding.severity}:
            low, high = next((ends for ends in tried if not np.isnan(ends[0])), tried[0])
            findings.append(replace(finding, low=low, high=high))

    if "MRR" in row.values and hits:
        hold("MRR", lambda way: reciprocal_rank_bounds(_shares(row, way), step=way.step), hits, of_hits, DEFINITION)
    if "MR" in row.values and hits:
        hold("MR", lambda way: mean_rank_bounds(_shares(row, way), step=way.step), hits, of_hits, DEFINITION)
    if {"MR", "MRR"} <= row.values.keys() and row.size.entities is not None:
        of_all = f"no ranks have another mean of 1 / rank with {_printed(row, ['MR', *hits])}"
        hold("MRR", lambda way: _joint(row, way), [*hits, "MR"], of_all, "linear program over all ranks")
    return bounds, findings


def _printed(row: Row, names: Sequence[str]) -> str:
    return ", ".join(f"{name} = {row.values[name].text}" for name in names)


def _joint(row: Row, way: Way) -> Bounds:
    low, high = row.ends("MR", way)
    room = TOLERANCE * high
    return reciprocal_rank_bounds(_shares(row, way), step=way.step, mean_rank=(max(low - room, 1.0), high + room))


def _shares(row: Row, way: Way) -> SharesUpTo:
    """The limits that the row's Hits give."""
    ends = [row.ends(name, way) for name in row.hits.values()]
    largest = row.size.entities or np.inf
    return SharesUpTo.of(list(row.hits), [low for low, _ in ends], [high for _, high in ends], largest)


def _meet(ends: Bounds, bounds: Bounds) -> bool:
    """Whether a printed number can be within bounds; never within NaN, which no ranks have."""
    room = TOLERANCE * max([1.0, *(abs(end) for end in bounds if np.isfinite(end))])
    return ends[1] >= bounds[0] - room and ends[0] <= bounds[1] + room
