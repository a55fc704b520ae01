"""Figures from tidy tables: the numbers in the order of drawing, a caption, and a description in words.

A figure is data; ``kgtrec.report.drawing`` draws it. Each function takes a ``pyarrow.Table`` from any source. ``key``,
``title`` and ``caption`` are optional and replace the default ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.data.arrow import long_table
from kgtrec.data.table import Figure
from kgtrec.errors import KgtrecError, one_of
from kgtrec.measures.names import better_of
from kgtrec.report import gists
from kgtrec.report.gists import ColumnValues

#: how coefficients and tests are called in figures and reports
CORRELATIONS = {"tau": "Kendall's tau-b", "tau_ap": "tau_AP", "spearman": "Spearman's rho", "rbo": "RBO"}
TESTS = {
    "clustered": "t-tests with errors clustered by question",
    "t": "paired t-tests",
    "bootstrap": "bootstrap tests",
    "tukey": "randomised Tukey HSD tests",
    "sign": "sign tests of preferences, question by question",
    "pool": "t-tests of what judging the whole pool would give",
    "questions": "t-tests over other questions, of a sample of the judgements",
    "seeds": "t-tests over training seeds and questions",
    "best": "t-tests between the best seeds, over questions only",
}
SERIES_PER_PANEL = 6  # more lines in one panel than this are hard to distinguish


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes of a figure: some rows of its data, with a title and a description in words."""

    title: str
    rows: ColumnValues  # column -> values
    alt: str


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties that all figures of a kind share."""

    labels: tuple[str, ...]  # columns of text
    numbers: tuple[str, ...]  # columns of numbers; one that ends in ? may be missing
    panels_by: Callable[[ColumnValues], list[tuple[str, ColumnValues]]]  # rows -> title and rows of each panel
    gist: Callable[[ColumnValues, Mapping[str, Any]], str]  # rows, options -> text


def tau_by_depth(
    table: pa.Table, *, correlation: str = "Kendall's tau-b", reference: str = "the labels of depth 0", **shown: str
) -> Figure:
    """Show the correlation of the ranking of systems at each pool depth with a reference ranking, a line per measure.

    Parameters
    ----------
    table : pa.Table
        measure, depth, tau; low and high, ends of an interval, if known.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    correlation, reference : str
        The names of the correlation in ``tau``, and of the labels of the reference ranking.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.

    Examples
    --------
    >>> rows = {"measure": ["RR", "RR"], "depth": [0, 1], "tau": [1.0, 0.5]}
    >>> gist(tau_by_depth(pa.table(rows)))
    'RR: from 1.000 at depth 0 to 0.500 at depth 1.'
    """
    usual = (
        f"{correlation} between the ranking of systems with {reference} and with the labels of each pool depth, "
        "for each measure. 1: the same order; 0: no relation; below 0: the order tends to be reversed. "
        "A measure that stays near 1 gives similar rankings with few and with more labels."
    )
    options = {"x": "pool depth", "y": _short(correlation), "at": "depth"}
    usual += " Bars: resampling range, questions resampled." if "low" in table.column_names else ""
    return _figure("tau_by_depth", table, usual, options, shown)


def stability(
    table: pa.Table, *, correlation: str = "Kendall's tau-b", band: str = "the middle 95% of the repeats", **shown: str
) -> Figure:
    """Show the mean correlation of the rankings on samples and on the whole test set, by size, a line per measure.

    Parameters
    ----------
    table : pa.Table
        measure, share (of the test triples, 0 to 1), mean; low and high, if known.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    correlation, band : str
        The name of the correlation, and of the interval from ``low`` to ``high``.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    usual = (
        f"Mean {correlation} between the ranking of systems on random samples of the test triples and on all of them, "
        "by the size of the sample. If a curve rises early, its measure needs few labels."
        + (f" Bars: {band}." if "low" in table.column_names else "")
    )
    options = {"x": "share of the test triples", "y": f"mean {_short(correlation)}", "at": "share"}
    return _figure("stability", table, usual, options, shown)


def reliability(table: pa.Table, **shown: str) -> Figure:
    """Show how often triples are true to which a machine gives a probability, a line per machine.

    Parameters
    ----------
    table : pa.Table
        machine, mean (of the probabilities in a bin), share (of Y by people); low and high, if known.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.

    Examples
    --------
    >>> rows = {"machine": ["llama", "llama"], "mean": [0.05, 0.95], "share": [0.25, 0.5]}
    >>> gist(reliability(pa.table(rows)))
    'llama: from 0.250 at 5% to 0.500 at 95%.'
    """
    usual = (
        "Share of true triples by people among those to which a machine gives about the same probability. On the "
        "dotted line the probabilities are right; below it the machine says Y too often."
    )
    usual += " Bars: bootstrap intervals, questions resampled." if "low" in table.column_names else ""
    options = {"x": "probability that the machine gives", "y": "share of Y by people", "at": "share", "diagonal": True}
    columns = ["measure" if name == "machine" else name for name in table.column_names]
    return _figure("reliability", table.rename_columns(columns), usual, options, shown)


def half_widths(table: pa.Table, *, confidence: float = 0.95, **shown: str) -> Figure:
    """Show the expected half-widths of intervals by the share of a pool that people judge, a line per measure.

    Parameters
    ----------
    table : pa.Table
        measure, share (of the triples, 0 to 1), half_width.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    confidence : float
        Of the intervals.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    usual = (
        f"Expected half-width of the {confidence:.0%} interval for what judging the whole pool would give, mean over "
        "the systems, by the share of the triples that people judge, for each measure."
    )
    options = {"x": "share of the triples judged", "y": "half-width", "at": "share"}
    return _figure("half_widths", table, usual, options, shown)


def p_value_curves(
    table: pa.Table, *, test: str = "paired two-tailed t-tests", alpha: float = 0.05, **shown: str
) -> Figure:
    """Show p-values of all pairs of systems in descending order, a line per measure.

    Parameters
    ----------
    table : pa.Table
        measure, place (1 is the pair with the largest p), p.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    test : str
        The name of the test.
    alpha : float
        The significance level, which is marked.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    usual = (
        f"p-values of {test} between all pairs of systems, from the largest to the smallest, for each measure. "
        f"Dotted: {alpha:g}. {'' if test == TESTS['tukey'] else 'Not adjusted for the number of pairs. '}The area "
        "under a curve is the mean p; whether the measure orders the systems correctly is another question."
    )
    options = {"x": "pairs of systems, largest p first", "y": "p-value", "level": float(alpha)}
    return _figure("p_value_curves", table, usual, options, shown)


def heat_map(table: pa.Table, *, value: str = "score", diverging: bool = False, **shown: str) -> Figure:
    """Show a value for every row label and relation category, a panel per side.

    Parameters
    ----------
    table : pa.Table
        system (or another label of the rows), category, side, value.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    value : str
        The name of the values, such as ``"micro.MRR"``.
    diverging : bool
        Whether values may be above and below 0, as for a correlation; the colours then cover -1 to 1.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    shade = "blue: above 0; orange: below 0; white: 0" if diverging else "darker is higher"
    usual = f"{value} by relation category, with separate panels for head and tail questions ({shade}). -: undefined."
    return _figure("heat_map", table, usual, {"value": value, "diverging": diverging}, shown)


def pool_growth(table: pa.Table, **shown: str) -> Figure:
    """Show the number of pooled triples, and of positives among them, by depth.

    Parameters
    ----------
    table : pa.Table
        depth, triples and positives down to that depth.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.

    Returns
    -------
    Figure
        Its data has two more columns, ``new_triples`` and ``new_positives``: the numbers that a depth adds.

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.

    Examples
    --------
    >>> grown = pool_growth(pa.table({"depth": [1, 2], "triples": [10, 15], "positives": [4, 5]}))
    >>> grown.data.column("new_positives").to_pylist()
    [4, 1]
    """
    checked = _checked("pool_growth", table).select(["depth", "triples", "positives"]).sort_by("depth")
    for name in ("triples", "positives"):
        steps = pa.array(np.diff(checked[name].to_numpy(), prepend=0), checked[name].type)
        checked = checked.append_column(f"new_{name}", steps)
    usual = (
        "The number of triples pooled down to each depth, the number judged true, and the number of true triples that "
        "each depth adds. As long as each depth adds at least as many as the one before, a deeper pool would find many "
        "more."
    )
    return _figure("pool_growth", checked, usual, {}, shown)


def tie_report(table: pa.Table, **shown: str) -> Figure:
    """Show the range of a measure over the policies for tied scores, a row per system.

    Parameters
    ----------
    table : pa.Table
        system, measure, policy, value.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    usual = (
        "The range of each system's score over the policies for tied scores. The longer it is, the more the score "
        "depends on how ties are broken."
    )
    return _figure("tie_report", table, usual, {}, shown)


def by_policy(table: pa.Table) -> pa.Table:
    """Return the columns of :func:`tie_report` from the table of a comparison of ties, with a column for each policy.

    Examples
    --------
    >>> wide = pa.table({"system": ["a"], "measure": ["AP"], "optimistic": [1.0], "pessimistic": [0.5], "apart": [0.5]})
    >>> by_policy(wide).to_pylist()[1]
    {'system': 'a', 'measure': 'AP', 'policy': 'pessimistic', 'value': 0.5}
    """
    names = table.column_names
    policies = names[names.index("measure") + 1 : names.index("apart")]
    value = np.array([table[policy].to_numpy() for policy in policies]).T
    labels = {name: (0, table[name].to_pylist()) for name in ("system", "measure")}
    return long_table(value.shape, {**labels, "policy": (1, policies), "value": value})


def score_intervals(table: pa.Table, *, interval: str = "95% interval", **shown: str) -> Figure:
    """Show a dot with an interval per system, a panel per measure; all panels have the order of the first, best on top.

    Parameters
    ----------
    table : pa.Table
        system, measure, value; low and high, if known.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    interval : str
        The name of the interval from ``low`` to ``high``.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.
    """
    checked = _checked("score_intervals", table)
    measures = _distinct(checked["measure"].to_pylist())
    low = checked["low"].to_numpy() if "low" in checked.column_names else math.nan
    lacks_intervals = np.any(np.isnan(low) & ~np.isnan(checked["value"].to_numpy()))
    usual = (
        (f"Systems in the order of {measures[0]}, best on top" if measures else "Systems, best on top")
        + (" in all panels." if len(measures) > 1 else ".")
        + (f" Bar: {interval}." if "low" in table.column_names else "")
        + (" Open dot: no interval." if lacks_intervals else "")
    )
    return _figure("score_intervals", _best_first(checked, measures), usual, {}, shown)


def slope_chart(table: pa.Table, *, measure: str = "score", **shown: str) -> Figure:
    """Show the scores of the systems under each label set, a line each; those that cross show who rises.

    Parameters
    ----------
    table : pa.Table
        system, labels (label sets, in the order of drawing), value.
    **shown : str
        ``key``, ``title`` and ``caption``, instead of the default ones.
    measure : str
        The name of the measure.

    Returns
    -------
    Figure

    Raises
    ------
    KgtrecError
        If a column is missing, or a column of numbers has other values.

    Examples
    --------
    >>> rows = {"system": ["a", "b"] * 2, "labels": ["K", "K", "T", "T"], "value": [0.5, 0.25, 0.75, 1.0]}
    >>> gist(slope_chart(pa.table(rows)))
    'First under K: a with 0.5000; first under T: b with 1.0000; from K to T, the lines of a and b cross.'
    """
    checked = _checked("slope_chart", table)
    options = {"measure": measure, "better": better_of(measure)}
    crossing = gists.order_changes(checked.to_pydict(), options)
    usual = f"{measure} of each system under each label set, with a line per system and the best on top. " + (
        "Lines that cross others are thick: blue and solid if the system gains places, orange and dashed if "
        "it loses some, black if it ends where it began. That two lines cross does not show that a difference is "
        "significant."
        if any(pairs for _, _, pairs in crossing)
        else "No two lines cross."
    )
    return _figure("slope_chart", checked, usual, options, shown)


def gist(figure: Figure) -> str:
    """Return a description of a figure in words, for readers who cannot see it."""
    return KINDS[figure.kind].gist(figure.data.to_pydict(), figure.options) if figure.data.num_rows else "No data."


def panels(figure: Figure) -> tuple[Panel, ...]:
    """Return the panels of a figure, each with its rows of the data; at least one, even if there are no rows.

    Raises
    ------
    KgtrecError
        If the figure is of an unknown kind.
    """
    one_of(f"a kind of figure {figure.key} among", figure.kind, KINDS)
    kind = KINDS[figure.kind]
    rows = figure.data.to_pydict()
    parts = kind.panels_by(rows) if figure.data.num_rows else [("", rows)]
    alts = (kind.gist(part, figure.options) if figure.data.num_rows else "No data." for _, part in parts)
    return tuple(Panel(title, part, alt) for (title, part), alt in zip(parts, alts, strict=True))


def _figure(kind: str, table: pa.Table, caption: str, options: Mapping[str, Any], shown: Mapping[str, str]) -> Figure:
    """A figure; ``shown`` has the key, title and caption that replace those of its kind."""
    key, title = _NAMES[kind]
    names = {"key": key, "title": title, "caption": caption, **shown}
    return Figure(kind=kind, data=_checked(kind, table), options=options, **names)


def _checked(kind: str, table: pa.Table) -> pa.Table:
    """The columns of a kind, with labels as text and a missing number as NaN."""
    labels, numbers = KINDS[kind].labels, KINDS[kind].numbers
    required = [name for name in (*labels, *numbers) if not name.endswith("?")]
    if not set(required) <= set(table.column_names):
        found = ", ".join(table.column_names) or "no columns"
        raise KgtrecError(f"figure {_NAMES[kind][0]}: expected columns {', '.join(required)}, found {found}")
    names = (name.removesuffix("?") for name in (*labels, *numbers))
    columns = {name: table[name].combine_chunks() for name in names if name in table.column_names}
    kept = {name: own.cast(pa.string()) if name in labels else _numbers(own) for name, own in columns.items()}
    return pa.table(kept)


def _numbers(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type) and not column.null_count:
        return column.cast(pa.int64())
    return column.cast(pa.float64()).fill_null(math.nan)


def _best_first(table: pa.Table, measures: Sequence[str]) -> pa.Table:
    """Rows by measure, and within a measure by the systems' order under the first measure; undefined values last."""
    rows = table.to_pylist()
    sign = 1 if not measures or better_of(measures[0]) == "lower" else -1
    systems = _distinct(table["system"].to_pylist())
    of_first = {row["system"]: sign * row["value"] for row in reversed(rows) if row["measure"] == measures[0]}
    first = dict.fromkeys(systems, math.nan) | of_first
    systems.sort(key=lambda system: (math.isnan(first[system]), first[system]))
    places = {system: place for place, system in enumerate(systems)}
    order = sorted(range(len(rows)), key=lambda at: (measures.index(rows[at]["measure"]), places[rows[at]["system"]]))
    return table.take(pa.array(order, pa.int64()))


def _distinct(labels: Iterable[str]) -> list[str]:
    """The distinct labels in order of first appearance."""
    return list(dict.fromkeys(labels))


# the rows of each panel


def _growth(rows: ColumnValues) -> list[tuple[str, ColumnValues]]:
    names = {"down to each depth": ("triples", "positives"), "added by each depth": ("new_triples", "new_positives")}
    return [(title, {name: rows[name] for name in ("depth", *own)}) for title, own in names.items()]


def grouped(rows: ColumnValues, by: str) -> dict[str, ColumnValues]:
    """Return the rows of each label separately, labels in order of first appearance."""
    places: dict[str, list[int]] = {}
    for place, label in enumerate(rows[by]):
        places.setdefault(label, []).append(place)
    return {label: _taken(rows, chosen) for label, chosen in places.items()}


def _by(column: str) -> Callable[[ColumnValues], list[tuple[str, ColumnValues]]]:
    return lambda rows: list(grouped(rows, column).items())


def _by_family(rows: ColumnValues) -> list[tuple[str, ColumnValues]]:
    """Micro, macro and other measures in separate panels, with at most six measures per panel."""
    families: dict[str, list[str]] = {}
    for measure in _distinct(rows["measure"]):
        head, dot, _ = measure.partition(".")
        families.setdefault(head if dot and head in ("micro", "macro") else "", []).append(measure)
    several = len(families) > 1
    found = []
    for family, measures in families.items():
        parts = math.ceil(len(measures) / SERIES_PER_PANEL)
        name = (family or "other") if several else family
        for part, chosen in enumerate(np.array_split(np.array(measures, object), parts)):
            members = set(chosen.tolist())
            places = [place for place, measure in enumerate(rows["measure"]) if measure in members]
            turn = f"{part + 1} of {parts}" if parts > 1 else ""
            whole = f"{name} measures" if name else "measures" if turn else ""
            found.append((", ".join(filter(None, (whole, turn))), _taken(rows, places)))
    return found


def _taken(rows: ColumnValues, places: Sequence[int]) -> ColumnValues:
    return {name: [column[place] for place in places] for name, column in rows.items()}


def _short(correlation: str) -> str:
    """The axis label of a correlation: "tau-b" for "Kendall's tau-b"."""
    return correlation.removeprefix("Kendall's ")


KINDS = {
    "tau_by_depth": Kind(
        ("measure",), ("depth", "tau", "low?", "high?"), _by_family, partial(gists.of_lines, x="depth", y="tau")
    ),
    "stability": Kind(
        ("measure",), ("share", "mean", "low?", "high?"), _by_family, partial(gists.of_lines, x="share", y="mean")
    ),
    "missing_labels": Kind(
        ("measure", "reason"),
        ("share", "mean", "low?", "high?"),
        _by("measure"),
        partial(gists.of_lines, x="share", y="mean", by="reason"),
    ),
    "half_widths": Kind(
        ("measure",), ("share", "half_width"), _by_family, partial(gists.of_lines, x="share", y="half_width")
    ),
    "reliability": Kind(
        ("measure",), ("mean", "share", "low?", "high?"), _by_family, partial(gists.of_lines, x="mean", y="share")
    ),
    "p_value_curves": Kind(("measure",), ("place", "p"), _by_family, gists.of_p_values),
    "heat_map": Kind(("system", "category", "side"), ("value",), _by("side"), gists.of_cells),
    "pool_growth": Kind(
        (), ("depth", "triples", "positives", "new_triples?", "new_positives?"), _growth, gists.of_growth
    ),
    "tie_report": Kind(("system", "measure", "policy"), ("value",), _by("measure"), gists.of_ties),
    "score_intervals": Kind(("system", "measure"), ("value", "low?", "high?"), _by("measure"), gists.of_scores),
    "slope_chart": Kind(("system", "labels"), ("value",), lambda rows: [("", rows)], gists.of_slopes),
    "sparse_against_full": Kind(
        ("missing", "system", "family"), ("density", "full", "sparse"), _by("missing"), gists.of_curves
    ),
}

KINDS["strata"] = KINDS["slope_chart"]  # drawn on axes, with place, low? and high?

#: kind -> key and title of a figure, unless others are given
_NAMES = {
    "tau_by_depth": ("tau-by-depth", "Does a ranking of systems survive deeper pools?"),
    "stability": ("stability", "How many test triples does a measure need?"),
    "reliability": ("reliability", "Are a machine's probabilities right?"),
    "half_widths": ("half-widths", "What does a share of the judgements buy?"),
    "p_value_curves": ("p-values", "Which measure distinguishes systems?"),
    "heat_map": ("by-category", "Scores by relation category and side"),
    "pool_growth": ("pool-growth", "What does each pool depth add?"),
    "tie_report": ("ties", "How much do ties change a score?"),
    "score_intervals": ("scores", "Scores with their intervals"),
    "slope_chart": ("slopes", "Do the label sets order the systems in the same way?"),
}
