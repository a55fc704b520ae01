"""Systems on several graphs: a value for each, and their mean over graphs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.table import Column, Table, TabledResult, interval_columns
from kgtrec.errors import KgtrecError, between_0_and_1, warn
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import is_collection
from kgtrec.formats.files import PathLike
from kgtrec.kernels.statistics.training_seeds import deviation

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
    measures : str, measure, or several of them, optional
        As for :func:`kgtrec.evaluate`.
    confidence : float
        Of the intervals of the means: Student's t, over other graphs like these.
    **scoring
        Options of :func:`kgtrec.evaluate`, such as ``ties`` and ``sides``.

    Returns
    -------
    TabledResult
        ``graphs``: system, graph, measure, value. ``means``: system, measure, graphs (how many it has a value for),
        value, low, high; NaN for the interval of one graph. ``differences``, of several systems: system, than, measure,
        and the same of the difference on each graph, which does not vary with how hard graphs are.

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
    names, measures, cube = _cube(data, list(graphs))
    if lacking := [name for name, own in zip(names, cube, strict=True) if np.isnan(own).any()]:
        means_of = f"no value for some of {len(graphs)} graphs; means over other graphs cannot be compared"
        warn(f"{', '.join(lacking)}: {means_of}")
    pairs = list(combinations(range(len(names)), 2))
    note = f"intervals: Student's t over {len(graphs)} graphs, which are taken for a sample of graphs like these"
    across = Column("value", digits="measure", better="measure", across="measure", among=("graph",))
    parts = [Table("graphs", "Graphs", "value for each graph", data, (Column("system"), Column("graph"), across))]

    def add(
        name: str, title: str, caption: str, labels: Mapping[str, Sequence[str]], own: NDArray[Any], value: Column
    ) -> None:
        columns = *map(Column, [*labels, "measure"]), Column("graphs", digits=0), value, *interval_columns(confidence)
        parts.append(Table(name, title, caption, _means(labels, measures, own, confidence), columns, note=note))

    value = Column("value", "mean", digits="measure", better="measure", among=("measure",))
    caption = "mean over graphs, each of which counts the same"
    add("means", "Means over graphs", caption, {"system": names}, cube, value)
    if pairs:
        labels = {"system": [names[one] for one, _ in pairs], "than": [names[other] for _, other in pairs]}
        differences = np.array([cube[one] - cube[other] for one, other in pairs])
        caption = "mean over graphs of the difference on the same graph, each interval by itself"
        value = Column("value", "mean difference", form="difference")
        add("differences", "Differences of two systems", caption, labels, differences, value)
    return TabledResult(tuple(parts))


def _cube(data: pa.Table, graphs: list[str]) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Systems, measures, and (systems, measures, graphs) values; NaN where there is none."""
    systems, measures = (data[name].unique().to_pylist() for name in ("system", "measure"))
    cube = np.full((len(systems), len(measures), len(graphs)), np.nan)
    places = [
        np.array([labels.index(label) for label in data[name].to_pylist()])
        for name, labels in (("system", systems), ("measure", measures), ("graph", graphs))
    ]
    cube[tuple(places)] = data["value"].to_numpy()
    return systems, measures, cube


def _means(
    labels: Mapping[str, Sequence[str]], measures: list[str], cube: NDArray[np.float64], confidence: float
) -> pa.Table:
    """A row for each label and measure: the mean over graphs, and its interval, Student's t; NaN for one graph."""
    from scipy.special import stdtrit

    n = (~np.isnan(cube)).sum(axis=2).ravel()
    own = [values[~np.isnan(values)] for values in cube.reshape(-1, cube.shape[2])]
    mean = np.array([np.sort(values).mean() if len(values) else np.nan for values in own])
    error = np.array([deviation(values) for values in own]) / np.sqrt(np.maximum(n, 1))
    reach = error * stdtrit(np.maximum(n - 1, 1), (1 + confidence) / 2)
    names = {name: np.repeat(np.array(each, object), len(measures)) for name, each in labels.items()}
    ends = {"value": mean, "low": mean - reach, "high": mean + reach}
    return pa.table({**names, "measure": measures * (len(n) // len(measures)), "graphs": n, **ends})
