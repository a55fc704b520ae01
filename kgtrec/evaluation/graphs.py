"""Systems on several graphs: a value for each, and their mean over graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.data.table import Column, Table, TabledResult, interval_columns
from kgtrec.errors import KgtrecError, between_0_and_1, warn
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import is_collection
from kgtrec.formats.files import PathLike
from kgtrec.kernels.statistics.training_seeds import deviation, seeds_reach

RANKS = "ranks"  # the folder in that of a collection


def graphs_in(folder: PathLike) -> dict[str, Path]:
    """Find the collections in a folder, by name; none if it has none.

    Examples
    --------
    >>> graphs_in(os.curdir)
    {}
    """
    path = Path(folder)
    return {one.name: one for one in sorted(path.iterdir()) if is_collection(one)} if path.is_dir() else {}


def evaluate_graphs(
    graphs: Mapping[str, tuple[Any, Any]] | PathLike, measures: Any = None, *, confidence: float = 0.95, **scoring: Any
) -> TabledResult:
    """Score systems on several graphs, and take the mean over graphs, each of which counts the same.

    Parameters
    ----------
    graphs : mapping, or path
        Name of a graph to its collection and the systems that ranked it, as :func:`kgtrec.evaluate` takes them; or a
        folder of collections, each with its answer ranks in a folder ``ranks`` inside. A system has the same name for
        each graph.
    measures : as for :func:`kgtrec.evaluate`
    confidence : float
        Of the intervals of the means: Student's t, over other graphs like these.
    **scoring
        Options of :func:`kgtrec.evaluate`, such as ``ties`` and ``sides``.

    Returns
    -------
    TabledResult
        ``graphs``: system, graph, measure, value. ``means``: system, measure, graphs (how many it has a value for),
        value, low, high; NaN for the interval of one graph.

    Raises
    ------
    KgtrecError
        If there is no graph.

    Warns
    -----
    KgtrecWarning
        If a system lacks graphs that others have: its mean is another one.

    Examples
    --------
    >>> train, test = [("ann", "likes", "tea"), ("bob", "likes", "jam")], [("ann", "likes", "jam")]
    >>> from kgtrec import build_questions
    >>> collection = build_questions(train, test=test)
    >>> runs = {"mine": {"head0": {"ann": 1.0}, "tail0": {"tea": 2.0, "jam": 1.0}}}
    >>> found = evaluate_graphs({"one": (collection, runs), "two": (collection, runs)}, "macro.MRR")
    >>> found["means"].to_pylist()
    [{'system': 'mine', 'measure': 'macro.MRR', 'graphs': 2, 'value': 0.75, 'low': 0.75, 'high': 0.75}]
    """
    between_0_and_1("a confidence", confidence)
    if not isinstance(graphs, Mapping):
        graphs = {name: (path, path / RANKS) for name, path in graphs_in(graphs).items()}
    if not graphs:
        raise KgtrecError("expected collections of one or several graphs, found none")
    tables = []
    for name, (collection, systems) in graphs.items():
        if isinstance(systems, os.PathLike) and not Path(systems).is_dir():
            raise KgtrecError(f"{os.fspath(systems)}: expected a folder of answer ranks; kgtrec rank writes it")
        found = evaluate(collection, systems, measures, **scoring).to_table().select(["system", "measure", "value"])
        tables.append(found.add_column(1, "graph", pa.repeat(name, len(found))))
    data = pa.concat_tables(tables)
    values: dict[tuple[str, str], list[float]] = {}
    for system, _, measure, value in zip(*(column.to_pylist() for column in data.columns), strict=True):
        values.setdefault((system, measure), []).append(value)
    kept = {key: np.array(own)[~np.isnan(own)] for key, own in values.items()}
    n = np.array([len(own) for own in kept.values()])
    if len(fewer := [key for key, size in zip(kept, n, strict=True) if size < len(graphs)]):
        lacking = ", ".join(dict.fromkeys(system for system, _ in fewer))
        warn(f"{lacking}: no value for some of {len(graphs)} graphs; means over other graphs cannot be compared")
    mean = np.array([own.mean() if len(own) else np.nan for own in kept.values()])
    reach = seeds_reach(np.array([deviation(own) for own in kept.values()]), n, confidence)
    system, measure = zip(*kept, strict=True)
    rows = {"system": system, "measure": measure, "graphs": n, "value": mean, "low": mean - reach, "high": mean + reach}
    value = Column("value", digits="measure", better="measure", across="measure", among=("graph",))
    means = Column("value", "mean", digits="measure", better="measure", among=("measure",))
    note = f"intervals: Student's t over other graphs like these, which are taken for a sample; {len(graphs)} graphs"
    return TabledResult(
        (
            Table("graphs", "Graphs", "value for each graph", data, (Column("system"), Column("graph"), value)),
            Table(
                "means",
                "Means over graphs",
                "mean over graphs, each of which counts the same",
                pa.table(rows),
                (Column("system"), Column("measure"), Column("graphs", digits=0), means, *interval_columns(confidence)),
                note=note,
            ),
        )
    )
