"""Descriptions of figures in words, for readers who cannot see them.

Each function takes the rows of a figure, or of one of its panels, and the figure's options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kgtrec.measures.names import better_of, digits_of
from kgtrec.report.cells import count_text, number_text, p_text

ColumnValues = Mapping[str, list[Any]]  # column -> values
_MOST = 8  # most series that are described; the others are only counted


def _joined(sentences: Sequence[str], more: str) -> str:
    if len(sentences) > _MOST:
        sentences = [*sentences[:_MOST], f"{count_text(len(sentences) - _MOST)} more {more}"]
    return "; ".join(sentences) + "."


def _series(rows: ColumnValues, by: str, *names: str) -> dict[str, list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {}
    for label, *cells in zip(rows[by], *(rows[name] for name in names), strict=True):
        found.setdefault(label, []).append(tuple(cells))
    return found


def of_lines(rows: ColumnValues, options: Mapping[str, Any], x: str, y: str) -> str:
    """Describe the first, the last and the lowest value of each measure."""
    sentences = []
    for label, points in _series(rows, "measure", x, y).items():
        known = sorted(point for point in points if not math.isnan(point[1]))
        if not known:
            sentences.append(f"{label}: undefined")
            continue
        (first_x, first), (last_x, last) = known[0], known[-1]
        text = f"{label}: from {number_text(first, 3, typeset=True)} at {_at(options, first_x)}"
        text += f" to {number_text(last, 3, typeset=True)} at {_at(options, last_x)}" if len(known) > 1 else ""
        lowest_x, lowest = min(known, key=lambda point: point[1])
        if lowest < min(first, last) - 0.0005:
            text += f", lowest {number_text(lowest, 3, typeset=True)} at {_at(options, lowest_x)}"
        sentences.append(text)
    return _joined(sentences, "measures")


def _at(options: Mapping[str, Any], x: float) -> str:
    return f"{x:.0%}" if options["at"] == "share" else f"{options['at']} {x:g}"


def of_p_values(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe how many pairs each measure distinguishes, and its mean p."""
    sentences = []
    for label, points in _series(rows, "measure", "p").items():
        known = [p for (p,) in points if not math.isnan(p)]
        below = sum(p < options["level"] for p in known)
        mean = f", mean p {p_text(sum(known) / len(known))}" if known else ""
        pairs = f"{count_text(below)} of {count_text(len(points))} pairs below {options['level']:g}"
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
    sentences = []
    for measure, points in _series(rows, "measure", "system", "value").items():
        known = [point for point in points if not math.isnan(point[1])]
        if not known:
            sentences.append(f"{measure}: undefined")
            continue
        sign = -1 if better_of(measure) == "lower" else 1
        best, worst = max(known, key=lambda point: sign * point[1]), min(known, key=lambda point: sign * point[1])
        text = f"{measure}: from {best[0]} with {number_text(best[1], 4, typeset=True)}"
        text += f" to {worst[0]} with {number_text(worst[1], 4, typeset=True)}" if len(known) > 1 else ""
        sentences.append(text)
    return _joined(sentences, "measures")


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


def of_slopes(rows: ColumnValues, options: Mapping[str, Any]) -> str:
    """Describe the first system under each label set, and the systems whose lines cross."""
    sign, digits = -1 if options["better"] == "lower" else 1, digits_of(options["measure"])
    sentences = []
    for label, points in _series(rows, "labels", "system", "value").items():
        known = [point for point in points if not math.isnan(point[1])]
        if known:
            system, value = max(known, key=lambda point: sign * point[1])
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
    sentences = []
    named = [
        f"{missing}, {density:.0%} labelled" for missing, density in zip(rows["missing"], rows["density"], strict=True)
    ]
    for label, points in _series({**rows, "named": named}, "named", "full", "sparse").items():
        known = sorted(point for point in points if not any(map(math.isnan, point)))
        if not known:
            sentences.append(f"{label}: undefined")
            continue
        ends = [number_text(of(cells), 3, typeset=True) for cells in zip(*known, strict=True) for of in (min, max)]
        text = f"{label}: sparse {' to '.join(ends[2:])} for full {' to '.join(ends[:2])}"
        neighbours = [(low, high) for low, high in pairwise(known) if low[0] < high[0]]
        wrong = sum(low[1] > high[1] for low, high in neighbours)
        sentences.append(f"{text}, {wrong} of {len(neighbours)} neighbouring pairs reversed")
    return _joined(sentences, "densities")
