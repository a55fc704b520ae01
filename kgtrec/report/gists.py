"""Descriptions of figures in words, for readers who cannot see them.

Each function takes the rows of a figure, or of one of its panels, and the figure's options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from kgtrec.measures.names import better_of, digits_of
from kgtrec.report.cells import count_text, number_text, p_text

ColumnValues = Mapping[str, list[Any]]  # column -> values
_Points = list[tuple[Any, ...]]
_MOST = 8  # most series that are described; the others are only counted


def _joined(sentences: Sequence[str], more: str) -> str:
    if len(sentences) > _MOST:
        sentences = [*sentences[:_MOST], f"{count_text(len(sentences) - _MOST)} more {more}"]
    return "; ".join(sentences) + "."


def _series(rows: ColumnValues, by: str, *names: str) -> dict[str, _Points]:
    """The points of each label that have a value in every column."""
    points_of: dict[str, _Points] = {}
    for label, *cells in zip(rows[by], *(rows[name] for name in names), strict=True):
        points = points_of.setdefault(label, [])
        if not any(isinstance(cell, float) and math.isnan(cell) for cell in cells):
            points.append(tuple(cells))
    return points_of


def _of_each(points_of: Mapping[str, _Points], describe: Callable[[str, _Points], str], more: str) -> str:
    """A sentence on each label."""
    texts = [f"{label}: {describe(label, points) if points else 'undefined'}" for label, points in points_of.items()]
    return _joined(texts, more)


def of_lines(rows: ColumnValues, options: Mapping[str, Any], x: str, y: str, by: str = "measure") -> str:
    """Describe the first, the last and the lowest value of each measure, or other line."""

    def described(point: tuple[float, float]) -> str:
        at = f"{point[0]:.0%}" if options["at"] == "share" else f"{options['at']} {point[0]:g}"
        return f"{number_text(point[1], 3, typeset=True)} at {at}"

    def line(_: str, points: _Points) -> str:
        first, last = min(points), max(points)
        text = f"from {described(first)}"
        text += f" to {described(last)}" if len(points) > 1 else ""
        lowest = min(sorted(points), key=lambda point: point[1])
        return text + (f", lowest {described(lowest)}" if lowest[1] < min(first[1], last[1]) - 0.0005 else "")

    return _of_each(_series(rows, by, x, y), line, f"{by}s")


def of_p_values(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe how many pairs each measure distinguishes, and its mean p."""
    sentences = []
    for label, points in _series(rows, "measure", "p").items():
        values = [p for (p,) in points]
        below = sum(p < options["level"] for p in values)
        mean = f", mean p {p_text(sum(values) / len(values))}" if values else ""
        pairs = f"{count_text(below)} of {count_text(rows['measure'].count(label))} pairs below {options['level']:g}"
        sentences.append(f"{label}: {pairs}{mean}")
    return _joined(sentences, "measures")


def of_cells(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the highest and the lowest cell, and the mean of each column."""
    known = [
        cell
        for cell in zip(rows["value"], rows["system"], rows["category"], rows["side"], strict=True)
        if not math.isnan(cell[0])
    ]
    if not known:
        return "All values are undefined."
    ends = []
    for what, (value, system, category, side) in (
        ("highest", max(known, key=lambda cell: cell[0])),
        ("lowest", min(known, key=lambda cell: cell[0])),
    ):
        ends.append(
            f"{what} {number_text(value, 3, typeset=True)} ({', '.join(filter(None, (system, category, side)))})"
        )
    means = [
        " ".join(filter(None, (side, category, number_text(math.fsum(values) / len(values), 3, typeset=True))))
        for side in dict.fromkeys(cell[3] for cell in known)
        for category in dict.fromkeys(cell[2] for cell in known if cell[3] == side)
        if (values := [cell[0] for cell in known if cell[2:] == (category, side)])
    ]
    return f"{options['value']}: {', '.join(ends)}. Means: {_joined(means, 'groups')}"


def of_growth(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the number of triples and of true triples at the first and the last depth."""
    new = "" if "triples" in rows else "new_"
    parts = []
    for place in sorted({0, len(rows["depth"]) - 1}):
        triples, positives = rows[f"{new}triples"][place], rows[f"{new}positives"][place]
        share = f" ({positives / triples:.1%})" if triples else ""
        counted = f"{count_text(triples)} {'more ' if new else ''}triples, {count_text(positives)} of them true"
        parts.append(f"depth {rows['depth'][place]:g}: {counted}{share}")
    return _joined(parts, "depths")


def of_ties(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the greatest difference between policies for each measure, and its system."""
    known: dict[str, dict[str, list[float]]] = {}
    for measure, system, value in zip(rows["measure"], rows["system"], rows["value"], strict=True):
        if not math.isnan(value):
            known.setdefault(measure, {}).setdefault(system, []).append(value)
    widest = {}
    for measure, by_system in known.items():
        spread = {system: max(values) - min(values) for system, values in by_system.items()}
        system = max(spread, key=spread.__getitem__)
        widest[measure] = (spread[system], system)
    sentences = [
        f"{measure}: policies differ by at most {number_text(spread, 4, typeset=True)} ({system})"
        for measure, (spread, system) in widest.items()
    ]
    return _joined(sentences, "measures") if sentences else "All values are undefined."


def of_scores(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the highest and the lowest place of each measure."""

    def places(measure: str, points: _Points) -> str:
        sign = -1 if better_of(measure) == "lower" else 1
        best, worst = (end(points, key=lambda point: sign * point[1]) for end in (max, min))
        text = f"from {best[0]} with {number_text(best[1], 4, typeset=True)}"
        return text + (f" to {worst[0]} with {number_text(worst[1], 4, typeset=True)}" if len(points) > 1 else "")

    return _of_each(_series(rows, "measure", "system", "value"), places, "measures")


def order_changes(rows: ColumnValues, options: Mapping[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """List pairs of systems whose order changes: a label set, the next one, pairs (new leader, other)."""
    sign = -1 if options["better"] == "lower" else 1
    by_labels: dict[str, dict[str, float]] = {}
    for label, system, value in zip(rows["labels"], rows["system"], rows["value"], strict=True):
        by_labels.setdefault(label, {})[system] = sign * value
    found = []
    for (one, first), (other, second) in pairwise(by_labels.items()):
        both = [system for system in second if system in first]
        passing = [(a, b) for a in both for b in both if first[a] < first[b] and second[a] > second[b]]
        found.append((one, other, passing))
    return found


def places_moved(rows: ColumnValues, options: Mapping[str, Any]) -> dict[str, int]:
    """Count the places that each system rises from the first label set to the last; below 0 if it falls.

    Among the systems with a score under both. Equal scores are one place.
    """
    sign = -1 if options["better"] == "lower" else 1
    by_labels: dict[str, dict[str, float]] = {}
    for label, system, value in zip(rows["labels"], rows["system"], rows["value"], strict=True):
        if not math.isnan(value):
            by_labels.setdefault(label, {})[system] = sign * value
    ends = list(dict.fromkeys(rows["labels"]))
    first, last = (by_labels.get(label, {}) for label in (ends[0], ends[-1]))
    both = first.keys() & last.keys()

    def place(scores: Mapping[str, float], system: str) -> int:
        return sum(scores[other] > scores[system] for other in both)

    return {system: place(first, system) - place(last, system) for system in both}


def of_slopes(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the first system under each label set, and the systems whose lines cross."""
    sign, digits = -1 if options["better"] == "lower" else 1, digits_of(options["measure"])
    sentences = []
    for label, points in _series(rows, "labels", "system", "value").items():
        if points:
            system, value = max(points, key=lambda point: sign * point[1])
            sentences.append(f"first under {label}: {system} with {number_text(value, digits, typeset=True)}")
        else:
            sentences.append(f"undefined under {label}")
    for one, other, passing in order_changes(rows, options):
        crossings = [f"the lines of {b} and {a} cross" for a, b in passing[:_MOST]]
        crossings += [f"{count_text(len(passing) - _MOST)} more pairs cross"] if len(passing) > _MOST else []
        sentences.append(f"from {one} to {other}, {', '.join(crossings) or 'no lines cross'}")
    text = "; ".join(sentences)
    return f"{text[:1].upper()}{text[1:]}."


def of_curves(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the range of each line, and the number of neighbouring pairs in reversed order."""
    named = [
        f"{missing}, {density:.0%} labelled" for missing, density in zip(rows["missing"], rows["density"], strict=True)
    ]

    def ranges(_: str, points: _Points) -> str:
        ends = [number_text(of(cells), 3, typeset=True) for cells in zip(*points, strict=True) for of in (min, max)]
        neighbours = [(low, high) for low, high in pairwise(sorted(points)) if low[0] < high[0]]
        wrong = sum(low[1] > high[1] for low, high in neighbours)
        of_pairs = f"{wrong} of {len(neighbours)} neighbouring pairs reversed"
        return f"sparse {' to '.join(ends[2:])} for full {' to '.join(ends[:2])}, {of_pairs}"

    return _of_each(_series({**rows, "named": named}, "named", "full", "sparse"), ranges, "densities")
