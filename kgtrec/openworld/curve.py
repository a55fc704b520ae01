"""Scores on sparse labels against scores on complete labels: shape of the curve, and pairs of systems out of order."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Framed
from kgtrec.data.progress import Progress
from kgtrec.data.table import Column, Facts, Figure, PlottedResult, Report, Section, Table, Text, key_text
from kgtrec.errors import KgtrecError, MeasureError, is_number, one_of, whole_number
from kgtrec.evaluation.belonging import different_systems
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import each_system
from kgtrec.kernels.openworld.moments import mixed_mean
from kgtrec.kernels.sampling.label_draws import Shares, shares_found
from kgtrec.kernels.statistics.curve_fits import fitted, wrong_pairs
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure, parse_measures
from kgtrec.openworld.labels import SparseLabels, TrueFacts, found_answers, hide_labels
from kgtrec.openworld.theory import weights_of

Floats = NDArray[np.float64]
#: shares of the facts that keep their labels, unless others are asked for
DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: names of the tables of a curve, which are also the names of their files
CURVE_TABLES = ("points", "degradation", "inconsistency", "labels")
_TITLES = {
    "points": ("Points", "Full and sparse score of each system."),
    "degradation": ("Degradation", "The sparse score as a function of the full score, over all systems."),
    "inconsistency": (
        "Wrongly ordered pairs",
        "Pairs of systems whose order under sparse labels differs from their order under all labels.",
    ),
    "labels": ("Labels", "Requested and achieved density and correlation."),
}
_SHOWN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("wrong", "wrongly ordered pairs", {"form": "share", "digits": 1}),
    ("slope", "slope of sparse against full", {"digits": 3}),
    ("bend", "slope of the weaker half of the systems minus slope of the stronger half", {"digits": 3}),
    ("log_gain", "AIC of a line minus AIC of a logarithm; above 0 the logarithm fits better", {"digits": 1}),
)
_MOST_LINES = 5  # most densities in a figure; if there are more, evenly spaced ones from the lowest to the highest


@dataclass(frozen=True, slots=True, eq=False)
class OpenWorldCurve(Framed, PlottedResult):
    """The result of :func:`kgtrec.openworld.open_world_curve`.

    A cell is a pair of correlation and density. Several sets of labels are drawn for each cell. Undefined values are
    NaN.
    """

    systems: tuple[str, ...]  # (s,)
    families: tuple[str, ...]  # (s,) the family that each system is a checkpoint of
    checkpoints: NDArray[np.int64]  # (s,) number of the checkpoint in its family
    strength: Floats  # (s,) share of all answers that the system finds
    measures: tuple[str, ...]  # (m,)
    correlations: tuple[float, ...]  # (c,) requested
    densities: tuple[float, ...]  # (d,) requested
    correlated_with: str  # system whose found answers missing labels are correlated with; "" without correlation
    seed: int
    n_facts: int  # of the complete labels
    n_questions: int
    answers: NDArray[np.int64]  # (longest list + 1,) how many questions have 0, 1, 2, ... answers
    full: Floats  # (m, s) on complete labels
    sparse: Floats  # (c, d, draws, m, s)
    theory: Floats  # (c, d, m, s) by the open-world model; NaN for measures that it does not cover
    density: Floats  # (c, d, draws) achieved
    correlation: Floats  # (c, d, draws) achieved for correlated_with; NaN without one
    own_correlation: Floats  # (c, d, s) between missing and found by each system, mean over draws

    @property
    def draws(self) -> int:
        """Number of sets of labels per cell."""
        return int(self.sparse.shape[2])

    @property
    def mean(self) -> Floats:
        """(c, d, m, s) sparse scores, means over draws."""
        return self.sparse.mean(axis=2)

    def to_table(self) -> pa.Table:
        """Return one row per cell, measure and system: full and sparse score, theory, and the system's strength."""
        columns = {
            "measure": (2, self.measures),
            "family": (3, self.families),
            "checkpoint": (3, self.checkpoints),
            "system": (3, self.systems),
            "strength": (3, self.strength),
            "full": self.full,
            "sparse": self.mean,
            "deviation": self.sparse.std(axis=2),
            "theory": self.theory,
            "own_correlation": self.own_correlation[:, :, None, :],
        }
        return long_table(self.mean.shape, self.of_cells | columns)

    @property
    def of_cells(self) -> dict[str, Any]:
        """The first columns of every long table."""
        return {"correlation": (0, np.array(self.correlations)), "density": (1, np.array(self.densities))}

    def labels_table(self) -> pa.Table:
        """Return one row per set of labels: requested and achieved density and correlation."""
        columns = {"draw": (2, np.arange(self.draws)), "achieved_density": self.density}
        return long_table(self.density.shape, self.of_cells | columns | {"achieved_correlation": self.correlation})

    def tables(self) -> tuple[Table, ...]:
        """Return all of ``CURVE_TABLES``; then, for each correlation, some columns with one column per density."""
        parts = {"degradation": degradation(self), "inconsistency": inconsistency(self)}
        data = {"points": self.to_table(), **parts, "labels": self.labels_table()}
        whole = (Table(name, *_TITLES[name], data[name]) for name in CURVE_TABLES)
        numbers = _SHOWN if len(self.systems) > 1 else _SHOWN[1:]  # one system has no pairs
        return (*whole, *(self._across(c, *shown, parts) for c in range(len(self.correlations)) for shown in numbers))

    def _across(self, c: int, name: str, title: str, form: dict[str, Any], parts: Mapping[str, pa.Table]) -> Table:
        correlation = self.correlations[c]
        caption = _missing(correlation) + (
            f" with the answers that {self.correlated_with} finds" if correlation else ""
        )
        table = parts["inconsistency" if name == "wrong" else "degradation"]
        rows = [
            place
            for place, row in enumerate(table.to_pylist())
            if row["correlation"] == correlation and row.get("pairs", "all") == "all"
        ]
        densities = [f"{density:g}" for density in table["density"].to_pylist()]
        view = table.set_column(table.column_names.index("density"), "density", pa.array(densities, pa.string()))
        columns = Column("measure"), Column(name, across="density", **form)
        caption = f"{title}, {caption}"
        return Table(f"{key_text(name)}-{c}", caption, "", table, columns, rows, view, note=caption)

    def figures(self) -> tuple[Figure, ...]:
        """Return sparse against full scores: a figure per measure, with a panel per correlation."""
        drawn = np.unique(np.linspace(0, len(self.densities) - 1, _MOST_LINES).round().astype(int))
        found = []
        for m, measure in enumerate(self.measures):
            chosen = np.argsort(self.densities)[drawn]
            sparse = self.mean[:, chosen, m]
            columns = {
                "missing": (0, list(map(_missing, self.correlations))),
                "system": (2, self.systems),
                "family": (2, self.families),
                "density": (1, np.array(self.densities)[chosen]),
                "full": self.full[m],
                "sparse": sparse,
            }
            caption = (
                f"{measure} on sparse labels against {measure} on all true facts, for each share of labelled facts. "
                "A line joins the systems of a family in the order of the full score. Markers show families, if "
                "there are at most nine. Where a line falls, sparse labels put two systems in the wrong order. "
                "Dotted: sparse equals full."
            )
            key, title = f"sparse-full-{m + 1}-{key_text(measure)}", f"{measure}, sparse against full"
            axes = {"x": f"{measure} with all labels", "y": "with sparse labels"}
            found.append(Figure(key, "sparse_against_full", title, caption, long_table(sparse.shape, columns), axes))
        return tuple(found)

    def report(self) -> Report:
        """Return a page: what was scored, the figures, and the tables."""
        counts = {
            "true facts": self.n_facts,
            "questions": self.n_questions,
            "systems": len(self.systems),
            "sets of labels": self.density.size,
        }
        facts = Facts(tuple((what, f"{count:,}") for what, count in counts.items()))
        tables = (table for table in self.tables() if table.key in CURVE_TABLES[1:] and table.data.num_rows)
        return Report(
            "What missing labels do to measures",
            (
                Section("made", "What was scored", (facts, Text((self.summary(),)))),
                Section("curves", "Sparse against full", self.figures()),
                Section("numbers", "In numbers", tuple(tables)),
            ),
        )

    def summary(self) -> str:
        """Return a short description of what was scored."""
        size = np.arange(len(self.answers))
        lists, total = int(size**2 @ self.answers), int(size @ self.answers)
        low, high = f"{self.strength.min():.1%}", f"{self.strength.max():.1%}"
        several = len(self.systems) > 1
        systems = f"{len(self.systems)} systems that find {low} to {high}" if several else f"1 system that finds {low}"
        return (
            f"{self.n_facts:,} true facts, {self.n_questions:,} questions; {total / self.n_questions:.2f} answers per "
            f"question, {lists / total:.2f} if averaged over answers; {systems}; {self.draws} "
            f"set{'s' if self.draws > 1 else ''} of labels per density; seed {self.seed}"
            + ("" if several else "\nThere is only one system, so no pair can be in the wrong order.")
        )

    def __repr__(self) -> str:
        return (
            f"<OpenWorldCurve: {len(self.systems)} systems x {len(self.measures)} measures, "
            f"{len(self.densities)} densities x {len(self.correlations)} correlations, {self.draws} draws>"
        )


def _missing(correlation: float) -> str:
    return f"missing correlated by {correlation:g}" if correlation else "missing at random"


MEASURES = (
    "micro.MRR",
    "micro.Hits@1",
    "micro.Hits@10",
    "micro.logMRR",
    "micro.pMRR(p=0.5)",
    "pykeen.macro.MRR",
    "macro.MRR",
    "macro.Hits@10",
    "nDCG",
    "AP",
)
_CHECKPOINT = re.compile(r"(?P<family>.+)@(?P<number>[0-9]{1,9})", re.DOTALL)
_MOST_DRAWS = 100_000


def open_world_curve(
    complete: Collection,
    systems: Iterable[AnswerRanks] | Mapping[str, AnswerRanks],
    measures: Any = MEASURES,
    *,
    densities: Sequence[float] = DENSITIES,
    correlations: Sequence[float] = (0.0,),
    correlated_with: str | None = None,
    draws: int = 1,
    found_at: int = 1,
    ties: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    mixed: bool = False,
) -> OpenWorldCurve:
    """Score systems under sparse labels of many densities, from their answer ranks under complete labels.

    Missing answers stay in the lists as unjudged candidates, and labelled answers below them have a worse rank.
    :mod:`kgtrec.openworld.labels` describes which facts systems, filter and judges know. The scores of candidates are
    not read again.

    Parameters
    ----------
    complete : Collection
        Its answers are all true ones of its questions, except those in train and valid.
    systems : AnswerRanks, several, or a mapping from names
        Ranked for that collection. ``NAME@NUMBER`` is a checkpoint of NAME; any other name is a family of its own.
    measures : str, measure, or several of them
        What is computed at each density. Default: ``MEASURES`` of this module.
    densities : sequence of float
        Shares of the facts that are labelled, in (0, 1].
    correlations : sequence of float
        Correlation of two events: the label of an answer is missing, and the system ``correlated_with`` finds the
        answer. 0: missing at random. A fact loses the labels of both its answers, so the possible range is narrower
        than that of single answers; what is impossible is refused, with the range.
    correlated_with : str, optional
        The system that missing labels are correlated with. Default: the strongest.
    draws : int
        Number of sets of labels per density and correlation.
    found_at : int
        An answer is found if its rank, among false candidates only, is this or better.
    ties, mixed
        See :func:`kgtrec.evaluate`.
    seed : int
        Random seed of the labels.
    progress : function, optional
        Called with 1 each time a system has been scored under one set of labels.

    Returns
    -------
    OpenWorldCurve
        It includes the theory: the expected score in the model of :mod:`kgtrec.openworld.theory`, averaged over the
        questions' numbers of answers. The model's system finds missing answers, and labelled answers, each as often as
        this system does.

    Raises
    ------
    KgtrecError
        If an option is out of range, or a correlation is not possible; the message then gives the possible range.
    CollectionError
        If a system was not ranked for the complete collection.

    References
    ----------
    Yang et al. (2022), NeurIPS, sections 4 and 5.

    Examples
    --------
    >>> from kgtrec.systems.baselines import baseline_checkpoints, score_blocks
    >>> from kgtrec.openworld.family_tree import family_tree, hide_facts
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.ranking.rank import rank_scores
    >>> world = hide_facts(family_tree(60).facts, hidden=0.5, density=1.0)
    >>> complete = build_questions(world.splits.train, world.splits.valid, world.complete)
    >>> ranks = [
    ...     rank_scores(complete, score_blocks(model, complete), questions=complete, entities=complete,
    ...                 name=f"rules@{number}", depth=0).answer_ranks
    ...     for number, (_, model) in enumerate(baseline_checkpoints("rules", complete.train, most=[1, 4, 16]))]
    >>> found = open_world_curve(complete, ranks, "micro.MRR", densities=[0.2, 1.0])
    >>> found
    <OpenWorldCurve: 3 systems x 1 measures, 2 densities x 1 correlations, 1 draws>
    >>> bool((found.sparse[0, 1, 0] == found.full).all())
    True
    """
    parsed = parse_measures(measures)
    ranked = list(different_systems(each_system(systems), complete, mixed=mixed))
    if wrong := next((system for system in ranked if not isinstance(system, AnswerRanks)), None):
        raise KgtrecError(f"expected answer ranks, found the run {wrong.name}, which does not have all ranks")
    several = [system for system in ranked if isinstance(system, AnswerRanks)]
    densities, correlations = _numbers("densities", densities), _numbers("correlations", correlations)
    draws, seed = whole_number("draws", draws, 1, _MOST_DRAWS), whole_number("seed", seed)
    true = TrueFacts.of(complete)
    found = np.stack([found_answers(true, system, at=found_at) for system in several])
    strength = found.mean(axis=1)
    names = [system.name for system in several]
    asked = names[int(strength.argmax())] if correlated_with is None else correlated_with
    one_of("correlated_with among the systems", asked, names)
    chosen = names.index(asked) if any(correlations) else None

    def labels(c: int, d: int, draw: int) -> SparseLabels:
        known = None if chosen is None else found[chosen]
        return hide_labels(true, densities[d], found=known, correlation=correlations[c], seed=seed, draw=draw)

    shape = len(correlations), len(densities), draws
    for c, d in np.ndindex(shape[:2]):
        labels(c, d, 0)  # an impossible correlation is refused before anything is scored
    options: dict[str, Any] = {"collection": complete, "ties": ties, "seed": seed}
    whole = hide_labels(true, 1.0).qrels()
    full = [evaluate(whole, system, parsed, **options).values[0, :, 0] for system in several]
    sparse = np.empty((*shape, len(parsed), len(several)))
    density, correlation = np.empty(shape), np.empty(shape)
    hidden, both = np.empty(shape), np.empty((*shape, len(several)))
    for place in np.ndindex(shape):  # one set of labels at a time: all of them may not fit into memory
        one = labels(*place)
        qrels = one.qrels()
        for number, system in enumerate(several):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".* on the order of ties")  # reported for the complete labels
                scored = evaluate(qrels, one.ranks(system), parsed, **options)
            sparse[(*place, slice(None), number)] = scored.values[0, :, 0]
            if progress is not None:
                progress(1)
        missing = ~one.labelled[true.fact]
        density[place], correlation[place] = one.density, one.correlation
        hidden[place], both[place] = missing.mean(), (found & missing).mean(axis=1)
    parts = [_CHECKPOINT.fullmatch(name) for name in names]
    n_answers = np.bincount(np.bincount(complete.qrels.question[true.row], minlength=len(complete.questions)))
    shares = shares_found(hidden.mean(axis=2), both.mean(axis=2), strength)
    return OpenWorldCurve(
        tuple(names),
        tuple(part["family"] if part else name for part, name in zip(parts, names, strict=True)),
        np.array([int(part["number"]) if part else 0 for part in parts]),
        strength,
        tuple(measure.label for measure in parsed),
        correlations,
        densities,
        "" if chosen is None else names[chosen],
        seed,
        len(true),
        int(n_answers[1:].sum()),
        n_answers,
        np.stack(full, axis=-1),
        sparse,
        _theory(parsed, n_answers, shares, strength),
        density,
        correlation,
        shares.correlation,
    )


def degradation(curve: OpenWorldCurve) -> pa.Table:
    """Describe the sparse score as a function of the full score, for each correlation, density and measure.

    Columns, after ``correlation, density, measure, systems``:

    - ``slope``: slope of the least-squares line.
    - ``lower_slope``, ``upper_slope``: slopes of the lines through the weaker and the stronger half of the systems.
      They are equal if the curve is straight; the upper slope is smaller if the curve is concave.
    - ``bend``: lower slope minus upper slope.
    - ``r2_line``, ``r2_log``: leave-one-out R² of a line in the full score, and of a line in its logarithm. This is 1 -
      sum of squared errors at the left-out points / sum of squares about the mean.
    - ``log_gain``: AIC (Akaike's criterion) of the line minus AIC of the logarithm. Above 0, the logarithm fits better.
      Both have the same number of parameters. NaN where one of them fits exactly.
    - ``off``: mean absolute distance of the points from the line.
    - ``loss``: mean of full minus sparse score.

    Parameters
    ----------
    curve : OpenWorldCurve
        What :func:`open_world_curve` gives.

    Returns
    -------
    pa.Table
    """
    names = ("slope", "lower_slope", "upper_slope", "bend", "r2_line", "r2_log", "log_gain", "off", "loss")
    shape = curve.mean.shape[:3]
    found = np.empty((*shape, len(names)))
    for c, d, m in np.ndindex(shape):
        x, y = curve.full[m], curve.mean[c, d, m]
        line, log = fitted(x, y), fitted(np.log(np.where(x > 0, x, np.nan)), y)
        order = np.argsort(x, kind="stable")
        half = (len(x) + 1) // 2
        lower, upper = (fitted(x[part], y[part]).slope for part in (order[:half], order[len(x) - half :]))
        off = np.abs(y - line.intercept - line.slope * x).mean()
        gain, loss = line.aic - log.aic, (x - y).mean()
        found[c, d, m] = line.slope, lower, upper, lower - upper, line.r2, log.r2, gain, off, loss
    columns = {"measure": (2, curve.measures), "systems": len(curve.systems)}
    return long_table(shape, curve.of_cells | columns | {name: found[..., place] for place, name in enumerate(names)})


def inconsistency(curve: OpenWorldCurve) -> pa.Table:
    """Count the pairs of systems whose order under sparse labels differs from their order under complete labels.

    Columns, after ``correlation, density, measure`` and ``pairs`` ("all", "within" a family, "across" families):

    - ``distinguished``: number of pairs whose full scores differ.
    - ``wrong``: share of these pairs whose order is reversed by the sparse score, mean over draws.
    - ``tied``: share of these pairs whose sparse scores are equal, mean over draws.
    - ``mean_gap``: mean difference of the full scores over the wrong pairs of all draws.
    - ``max_gap``: greatest difference of the full scores of a wrong pair.

    Parameters
    ----------
    curve : OpenWorldCurve
        What :func:`open_world_curve` gives.

    Returns
    -------
    pa.Table
        No rows for a kind of ``pairs`` that does not occur; no rows at all for a single system.
    """
    family = np.array(curve.families)
    same = family[:, None] == family[None, :]
    kinds = {"all": np.ones_like(same), "within": same, "across": ~same}
    kinds = {name: counted for name, counted in kinds.items() if np.triu(counted, 1).any()}
    names = ("wrong", "tied", "mean_gap", "max_gap")
    shape = (*curve.mean.shape[:3], len(kinds))
    compared, numbers = np.zeros(shape, np.int64), np.full((*shape, len(names)), np.nan)
    for c, d, m in np.ndindex(shape[:3]):
        for kind, counted in enumerate(kinds.values()):
            found = [wrong_pairs(curve.full[m], sparse, counted) for sparse in curve.sparse[c, d, :, m]]
            compared[c, d, m, kind] = found[0].pairs
            wrong, every = sum(one.wrong for one in found), found[0].pairs * len(found)
            shares = (wrong / every, sum(one.tied for one in found) / every) if every else (np.nan, np.nan)
            mean_gap = sum(one.mean_gap * one.wrong for one in found) / wrong if wrong else 0.0
            numbers[c, d, m, kind] = *shares, mean_gap, max(one.max_gap for one in found)
    columns = {"measure": (2, curve.measures), "pairs": (3, list(kinds)), "distinguished": compared}
    return long_table(shape, curve.of_cells | columns | {name: numbers[..., at] for at, name in enumerate(names)})


def _numbers(what: str, values: Sequence[float]) -> tuple[float, ...]:
    found = tuple(values) if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else ()
    if not found or not all(is_number(value) for value in found):
        raise KgtrecError(f"expected {what} as a list of numbers, found {values!r}")
    if len(set(found)) < len(found):
        raise KgtrecError(f"expected different {what}, found {', '.join(f'{value:g}' for value in found)}")
    return tuple(float(value) for value in found)


def _theory(
    measures: Sequence[ParsedMeasure | ProvidedMeasure], n_answers: NDArray[np.int64], shares: Shares, strength: Floats
) -> Floats:
    """(c, d, m, s) expected scores in the model, for questions of these numbers of answers; NaN beyond the model."""
    theory = np.full((*shares.missing.shape, len(measures), len(strength)), np.nan)
    sizes = np.flatnonzero(n_answers[1:]) + 1
    for place, measure in enumerate(measures):
        over_questions = isinstance(measure, ParsedMeasure) and measure.record.weighting == "question"
        # the model itself averages over questions, so it needs the value of a single answer
        plain = replace(measure, record=replace(measure.record, weighting=None)) if over_questions else measure
        try:
            weights = weights_of(plain)[1]
        except MeasureError:
            continue
        for c, d in np.ndindex(*shares.missing.shape):
            missing = float(shares.missing[c, d])
            apart = (np.clip(part[c, d], 0.0, 1.0) for part in (shares.on_missing, shares.on_labelled))
            scored = n_answers[sizes] * (1 - missing**sizes)
            theory[c, d, place] = mixed_mean(weights, sizes, scored, missing, *apart, per_label=not over_questions)
    return theory
