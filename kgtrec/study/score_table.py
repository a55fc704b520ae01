"""Totals with their intervals and the groups of systems that a test does not distinguish, as a table of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.scores import Scores
from kgtrec.data.table import Column, Table
from kgtrec.kernels.statistics.compact_letters import compact_letters
from kgtrec.measures.names import better_of, digits_of, parse_measure
from kgtrec.report.cells import letters_of


def score_table(
    scores: Scores,
    differ: Mapping[str, NDArray[np.bool_]] | None = None,
    *,
    key: str = "scores",
    title: str = "Scores",
    interval: str = "95% interval",
    test: str = "",
) -> Table:
    """Return a table with a row per system and a column per measure, sorted by the first measure, best on top.

    Parameters
    ----------
    scores : Scores
        Totals, with or without intervals.
    differ : mapping, optional
        Measure -> (n, n) symmetric bool array over ``scores.systems``: which pairs differ significantly. Systems that
        share a letter in the table do not differ significantly.
    key, title : str
    interval, test : str
        The names of the interval from ``scores.low`` to ``scores.high``, and of the test behind ``differ``.

    Returns
    -------
    Table

    Examples
    --------
    >>> scores = Scores(("a", "b"), ("RR",), np.array([[[0.2]], [[0.3]]]))
    >>> score_table(scores, {"RR": np.array([[False, True], [True, False]])}).data.to_pydict()
    {'system': ['b', 'a'], 'RR': [0.3, 0.2], 'RR groups': ['a', 'b']}
    """
    order = _best_first(scores.values[:, 0, 0], scores.measures[0]) if scores.measures else np.arange(0)
    columns: dict[str, pa.Array] = {"system": pa.array([scores.systems[place] for place in order], pa.string())}
    ends = {end: values for end, values in (("low", scores.low), ("high", scores.high)) if values is not None}
    shown = [Column("system")]
    for place, measure in enumerate(scores.measures):
        columns[measure] = pa.array(scores.values[order, place, 0])
        beside: dict[str, Any] = {end: f"{measure} {end}" for end in ends}
        columns |= {beside[end]: pa.array(values[order, place, 0]) for end, values in ends.items()}
        if differ is not None and measure in differ:
            beside["groups"] = f"{measure} groups"
            own = _best_first(scores.values[:, place, 0], measure)  # a is the letter of the best system
            letters = letters_of(compact_letters(differ[measure][np.ix_(own, own)]))
            of_system = dict(zip(own.tolist(), letters, strict=True))
            columns[beside["groups"]] = pa.array([of_system[system] for system in order], pa.string())
        shown.append(Column(measure, digits=digits_of(measure), better=parse_measure(measure).record.better, **beside))
    usual = [
        f"Below each score: {interval}." if scores.low is not None else "",
        "Bold: the best score of a measure." if len(scores.systems) > 1 else "",
        f"Systems that share a letter do not differ significantly{f' ({test})' if test else ''}." if differ else "",
    ]
    return Table(key, title, " ".join(filter(None, usual)), pa.table(columns), tuple(shown))


def _best_first(values: NDArray[np.float64], measure: str) -> NDArray[np.intp]:
    """Rows from the best to the worst, undefined ones last."""
    sign = 1.0 if better_of(measure) == "lower" else -1.0
    return np.argsort(sign * values, kind="stable")  # numpy puts NaN last
