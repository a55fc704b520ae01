"""How measures withstand missing labels: which keep the order of systems, whatever the labels are missing for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.collection.popularity import degrees
from kgtrec.data.arrow import long_table
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Framed, frame_of_table
from kgtrec.data.progress import Progress
from kgtrec.data.qrels import Qrels
from kgtrec.data.table import Column, Figure, PlottedResult, Table
from kgtrec.data.triples import Triples, label_hashes, triple_keys
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, between_0_and_1, is_number, one_of, whole_number
from kgtrec.evaluation.given import System, judgements_of
from kgtrec.evaluation.item_scores import ItemScores, item_scores, totals
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.prepared import Prepared, prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.kernels.sampling.label_draws import correlation_ends, missing_in_correlation, whole_share
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.kernels.statistics.paired_tests import pairs
from kgtrec.meta.coefficients import correlated, without_noise
from kgtrec.meta.correlation import p_values
from kgtrec.workers.results import Helper, number_of_workers, results

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: why labels are missing; for the last two, because only some systems were pooled
REASONS = ("random", "popularity", "correlated", "pooled", "left-out")
#: shares of the true facts that keep their labels, unless others are asked for
DENSITIES = (0.25, 0.5, 0.75)
MEASURES = (
    *("micro.MRR", "micro.Hits@1", "micro.Hits@10", "micro.logMRR", "micro.pMRR(p=0.5)"),
    *("micro.PROBE(alpha=0.5)", "micro.PROBE(alpha=0.5,beta=0.5)"),
    *("macro.MRR", "nDCG@20", "AP@20", "Q@20", "RBP"),
)
#: measures made for judged pools, which have false candidates
POOL_MEASURES = ("nDCG(judged_only=True)@20", "AP(judged_only=True)@20", "Bpref", "infAP")
#: the level of the tests and of the intervals, and a tau at which two rankings are commonly taken for the same
ALPHA, CONFIDENCE, SAME = 0.05, 0.95, 0.9
#: what is found under each set of labels -> the range of its values, and what it is
NUMBERS: dict[str, tuple[float, float, str]] = {
    "tau": (-1, 1, "Kendall's tau-b between the orders of the systems with a part of the labels and with all"),
    "significant": (0, 1, "share of the pairs of systems that a t-test distinguishes"),
    "wrong": (0, 1, "share of the pairs of systems that a t-test distinguishes in the wrong order"),
    "bias": (-np.inf, np.inf, "score minus that with all labels, mean over systems"),
    "favour": (-np.inf, np.inf, "bias of the systems that the labels come from minus that of the others"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Withstanding(Framed, PlottedResult):
    """The result of :func:`kgtrec.meta.withstand`: numbers of each measure under each set of labels; NaN: undefined.

    ``tau`` correlates the order of the systems with that under the complete labels. ``significant`` is the share of the
    pairs of systems that a test distinguishes, and ``wrong`` the share that it distinguishes in the opposite of their
    order under the complete labels. ``bias`` is the score minus that under the complete labels, mean over systems.
    ``favour`` is the bias of the systems that the labels come from minus that of the others: of those that were pooled
    minus those that were not, or of all other systems minus those that missing labels are correlated with. Both
    are in the measure's own units, and below 0 is better where lower is.
    """

    systems: tuple[str, ...]
    #: a row per set of labels (world, reason, density, draw) and measure: ``achieved`` density, and ``NUMBERS``
    draws: pa.Table

    @classmethod
    def of_worlds(cls, worlds: Mapping[str, Withstanding]) -> Withstanding:
        """Return the results of several worlds with the same systems as one, whose intervals are over worlds.

        Raises
        ------
        KgtrecError
            If there are none, or they have other systems.
        """
        systems = {one.systems for one in worlds.values()}
        if len(systems) != 1:
            raise KgtrecError(f"expected worlds of the same systems, found {', '.join(worlds) or 'none'}")
        tables = [one.draws.set_column(0, "world", pa.array([name] * len(one.draws))) for name, one in worlds.items()]
        return cls(systems.pop(), pa.concat_tables(tables).combine_chunks())

    @property
    def unit(self) -> str:
        """What the intervals are over."""
        return "world" if pc.count_distinct(self.draws["world"]).as_py() > 1 else "draw"

    def to_table(self) -> pa.Table:
        """Return a row per reason, density and measure: means of all numbers, with ends ``_low`` and ``_high``.

        They are over the ``units``: the worlds, each the mean of its draws, or the draws of a single world. The
        intervals are those of Student's t; NaN for a single unit, which has none. Where all n units agree, Student's
        has no width; but up to a share 1 - .025 ** (1 / n) of all units may then be others (Clopper, Pearson 1934), and
        these are taken to differ in one pair of systems. No interval of tau or of a share of pairs is narrower.
        """
        from scipy.special import stdtrit

        cell = ["reason", "density", "measure"]
        of_units = frame_of_table(self.draws).groupby([*cell, self.unit], sort=False)[["achieved", *NUMBERS]].mean()
        grouped = of_units.groupby(level=cell, sort=False)
        n, mean = grouped.count(), grouped.mean()
        reach = grouped.std() / n**0.5 * stdtrit((n - 1).clip(lower=1), (1 + CONFIDENCE) / 2)
        unseen = 1 - ((1 - CONFIDENCE) / 2) ** (1 / n)
        table = grouped.size().rename("units").to_frame().join(mean["achieved"])
        for name, (least, most, _) in NUMBERS.items():
            one_pair = (most - least) / math.comb(len(self.systems), 2) if most < np.inf else 0.0
            table[name], off = mean[name], reach[name].clip(lower=one_pair * unseen[name])
            table[f"{name}_low"] = (mean[name] - off).clip(lower=least)
            table[f"{name}_high"] = (mean[name] + off).clip(upper=most)
        return pa.table({name: column.to_numpy() for name, column in table.reset_index().items()})

    def holds_table(self) -> pa.Table:
        """Return a row per measure and reason: the lowest density from which on the measure holds; NaN where none is.

        It holds where the interval of tau is at least ``SAME`` at this density and at all higher ones.
        """
        rows = frame_of_table(self.to_table()).sort_values("density", ascending=False, kind="stable")
        is_held = (rows.tau_low >= SAME).astype(int).groupby([rows.measure, rows.reason]).cummin()
        rows["holds"] = rows.density.where(is_held == 1)
        lowest = rows.groupby(["measure", "reason"], sort=False).holds.min().reset_index()
        return pa.table({name: column.to_numpy() for name, column in lowest.items()})

    def tables(self) -> tuple[Table, ...]:
        """Return ``summary``, from which density on measures hold; ``numbers``; and ``draws``, all sets of labels."""
        numbers, (unit, n) = self.to_table(), (self.unit, len(self.systems))
        about = f"{n} systems; {CONFIDENCE:.0%} intervals over {unit}s; where all agree, they allow for one swapped "
        about += f"pair in as many further {unit}s as so few cannot exclude"
        lowest = f"Lowest share of labelled facts from which on the interval of tau is at least {SAME:g}; -: none"
        alike = 1 - (1 - SAME) * math.comb(n, 2) / 2  # the share that has to agree, if others differ in one pair
        needed = math.ceil(math.log((1 - CONFIDENCE) / 2) / math.log(alike)) if alike > 0 else 2
        if needed > (fewest := pc.min(numbers["units"]).as_py()):
            lowest += f"\n{fewest} {unit}s of {n} systems cannot show this; at least {needed} are needed"
        holds = Column("measure"), Column("holds", across="reason", form="share", digits=0)
        shares = Column("density", digits=2), Column("achieved", digits=3)
        columns = [Column("reason"), *shares, Column("units"), Column("measure")]
        for name in NUMBERS:
            form: Any = {"form": "share", "digits": 1} if name in ("significant", "wrong") else {"digits": 3}
            columns.append(Column(name, low=f"{name}_low", high=f"{name}_high", **form))
        return (
            Table("summary", "Which measures hold", f"{lowest}\n{about}", self.holds_table(), holds),
            Table("numbers", "Each reason, density and measure", f"Means: {about}", numbers, tuple(columns)),
            Table("draws", "All sets of labels", "", self.draws),
        )

    def figures(self) -> tuple[Figure, ...]:
        """Return tau, and the share of pairs significantly in the wrong order, by density; a panel per measure."""
        rows, found = self.to_table(), []
        for name, title in (("tau", "Which measure keeps the order?"), ("wrong", "Which measure misleads?")):
            columns = "measure", "reason", "density", name, f"{name}_low", f"{name}_high"
            data = rows.select(columns).rename_columns(["measure", "reason", "share", "mean", "low", "high"])
            about = f"{NUMBERS[name][2]}, for each reason why labels are missing; bars: {CONFIDENCE:.0%} intervals"
            y = "share of pairs, significantly wrong" if name == "wrong" else name
            axes = {"x": "share of the facts that are labelled", "y": y, "at": "share", "fitted": True}
            about = f"{about[0].upper()}{about[1:]} over {self.unit}s."
            found.append(Figure(f"missing-labels-{name}", "missing_labels", title, about, data, axes))
        return tuple(found)

    def __repr__(self) -> str:
        n_measures = pc.count_distinct(self.draws["measure"]).as_py()
        sets = f"{len(self.draws) // n_measures} sets of labels"
        return f"<Withstanding: {len(self.systems)} systems x {n_measures} measures, {sets}>"


def withstand(
    complete: Collection | Qrels,
    systems: Any,
    measures: Any = None,
    *,
    reasons: str | Sequence[str] = REASONS,
    densities: Sequence[float] = DENSITIES,
    draws: int = 5,
    depth: int = 20,
    correlated_with: Sequence[str] | None = None,
    correlation: float = 0.2,
    workers: int | None = None,
    executor: Helper | None = None,
    progress: Progress | None = None,
    **scoring: Any,
) -> Withstanding:
    """Take labels away for several reasons, and compare the scores of the systems with those under all labels.

    A triple loses its label in its head question and in its tail question together; a judged false one in the same way
    as a fact. What has no label stays in the lists as an unjudged candidate. A question without a labelled answer is
    left out. The reasons are:

    - ``random``: each triple alike.
    - ``popularity``: triples of entities with few train facts are more often without label. The order in which they
      lose it is drawn with weights: 1 + the number of train facts of the head and of the tail.
    - ``correlated``: that a fact lacks its label, and that one of ``correlated_with`` finds the answer, are correlated.
      Found: among the first R of its list, with R the number of the question's answers. False triples: at random.
    - ``pooled``: half of the systems, drawn at random, were pooled, and people judged their lists from the top down to
      the place at which a share ``density`` of the facts was found, or to ``depth``.
    - ``left-out``: the same, but all systems except one were pooled; each is left out once.

    Measures that know of candidates which were pooled and not sampled (infAP) see what lacks a label for one of the
    first three reasons as such. With pools it was not pooled.

    Parameters
    ----------
    complete : Collection or Qrels
        The complete labels. Measures made for pools need judged false candidates.
    systems : AnswerRanks or Run, or several of them, or a mapping from names
        At least two. Answer ranks need a row for all that is judged (``kgtrec rank --judged``).
    measures : str, measure, or several of them, optional
        Default: ``MEASURES``, with ``POOL_MEASURES`` if there are judged false candidates; those over answers need
        answer ranks.
    reasons : str, or several of REASONS
        Why labels are taken away, see above. Default: all.
    densities : sequence of float
        Shares of the facts that keep their labels, in (0, 1].
    draws : int
        Sets of labels per reason and density; of ``left-out`` there is one per system.
    depth : int
        Greatest depth of a pool.
    correlated_with : sequence of str, optional
        Names of systems. Default: of those with the same text before ``@`` as the one that finds most.
    correlation : float
        From -1 to 1; where it is not possible at a density, the nearest possible one.
    workers : int, optional
        Processes to share the work, for the same bytes. Default: 1, this one.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the work instead; see docs/scale.md.
    progress : function, optional
        Called with 1 for each set of labels.
    **scoring
        As for :func:`kgtrec.evaluate`: collection (if ``complete`` is none), ties, missing, unlisted_answers (those
        that the complete labels lack), seed (also of the labels), mixed.

    Returns
    -------
    Withstanding

    Raises
    ------
    KgtrecError
        If there is no collection, only one system, or an option is out of range.
    MeasureError, CollectionError
        As :func:`kgtrec.evaluate`.

    References
    ----------
    Yang et al. (2022), NeurIPS: labels missing at random and in correlation. Efraimidis, Spirakis (2006), Information
    Processing Letters 97: weighted order. Buckley, Voorhees (2004), SIGIR: judgements taken away at random. Sakai
    (2008), SIGIR: systems that were not pooled. Voorhees (2001), SIGIR: tau of .9.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.ranking.rank import rank_scores
    >>> train, test = [("a", "r", "b")], [("b", "r", "c"), ("c", "r", "a"), ("a", "r", "d"), ("d", "r", "b")]
    >>> collection = build_questions(*(Triples.of(rows) for rows in (train, [], test)))
    >>> own, rng = {"questions": collection, "entities": collection}, np.random.default_rng(0)
    >>> shape = len(collection.questions), len(collection.entities)
    >>> ranked = {name: rank_scores(collection, rng.random(shape), **own, depth=0).answer_ranks for name in "xyz"}
    >>> found = withstand(collection, ranked, "micro.MRR AP", reasons="random", densities=[0.5, 1.0], draws=2)
    >>> found
    <Withstanding: 3 systems x 2 measures, 4 sets of labels>
    >>> [found.draws[name].to_pylist()[4:] for name in ("tau", "bias")]  # with all labels
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    chosen = [reasons] if isinstance(reasons, str) else list(reasons)
    for reason in chosen:
        one_of("reasons among", reason, REASONS)
    for density in densities:
        if not (is_number(density) and density == 1):
            between_0_and_1("a density", density)
    if not (is_number(correlation) and -1 <= correlation <= 1):
        raise KgtrecError(f"expected a correlation from -1 to 1, found {correlation!r}")
    draws, depth = whole_number("draws", draws, 1), whole_number("a depth", depth, 1)
    if not chosen or not len(densities):
        raise KgtrecError("expected at least one reason and one density, found none")
    number_of_workers(workers, executor)
    if measures is None:
        measures = MEASURES + (POOL_MEASURES if np.any(judgements_of(complete).grade == 0) else ())
    inputs = prepared(complete, systems, measures, Scoring(**scoring).without("sides", "weights"))
    work = _Work.of(inputs, correlated_with, depth, float(correlation))
    n_draws = {reason: len(work.systems) if reason == "left-out" else draws for reason in chosen}
    pieces = [
        (reason, float(density), draw) for reason in chosen for density in densities for draw in range(n_draws[reason])
    ]
    found = []
    for values in results(work, pieces, workers=workers, executor=executor, name="withstand"):
        found.append(values)
        if progress is not None:
            progress(1)
    values = np.stack(found)
    names, shares, numbers = zip(*pieces, strict=True)
    columns: dict[str, Any] = {"world": "", "reason": (0, names), "density": (0, np.array(shares))}
    columns |= {"draw": (0, np.array(numbers)), "achieved": values[..., 0], "measure": (1, list(work.full))}
    columns |= {name: values[..., place] for place, name in enumerate(NUMBERS, 1)}
    return Withstanding(tuple(system.name for system in work.systems), long_table(values.shape[:2], columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What gives the numbers under one set of labels."""

    complete: Qrels
    systems: list[System]
    options: dict[str, Any]  # of scoring
    full: Mapping[str, ItemScores]
    triple: NDArray[np.intp]  # (rows of the complete labels,) the triple that each is about
    triples: Triples  # each once
    weight: Floats  # (triples,) popularity
    answers: NDArray[np.int64]  # (triples,) in how many questions it is true
    found: NDArray[np.int64]  # (triples,) in how many of these a system of the family finds it
    place: Floats  # (systems, triples) the best one in a list of the system; infinite: in none
    is_family: Mask  # (systems,)
    depth: int
    correlation: float

    @classmethod
    def of(cls, inputs: Prepared, correlated_with: Sequence[str] | None, depth: int, correlation: float) -> _Work:
        systems, qrels, collection = list(inputs.systems), inputs.qrels, inputs.scoring.collection
        if collection is None or collection.is_alignment:
            raise KgtrecError("expected qrels with a collection of triple questions, found none: give the collection")
        if len(systems) < 2:
            raise KgtrecError("expected at least two systems to rank, found one")
        # what the complete labels lack is settled; an answer that a part of them lacks is a candidate
        scoring = replace(inputs.scoring, unlisted_answers="candidates")
        options = {field.name: getattr(scoring, field.name) for field in fields(scoring)}
        of, triples, weight = _distinct_triples(qrels, collection)
        place, found = _places(systems, qrels, scoring, of)
        is_family = _correlated([system.name for system in systems], found, correlated_with)
        rows = qrels.grade >= 1, found[is_family].any(axis=0)
        answers, of_family = (np.bincount(of[own], minlength=len(triples)) for own in rows)
        full = item_scores(qrels, systems, inputs.measures, **options)
        return cls(
            qrels, systems, options, full, of, triples, weight, answers, of_family, place, is_family, depth, correlation
        )

    def __call__(self, reason: str, density: float, draw: int) -> Floats:
        """(measures, 1 + NUMBERS) of one set of labels; the first is the share of the facts that it has."""
        kept, favoured = self.kept(reason, density, draw)
        found = np.full((len(self.full), 1 + len(NUMBERS)), np.nan)
        found[:, 0] = kept[self.answers > 0].mean()
        is_kept, qrels = kept[self.triple], self.complete
        is_asked = np.bincount(qrels.question[is_kept & (qrels.grade >= 1)], minlength=len(qrels.questions)) > 0
        # a grade of -1: pooled and not sampled
        rows = is_asked[qrels.question] & (is_kept if reason in ("pooled", "left-out") else True)
        if not rows.any():
            return found
        labels = replace(qrels, grade=np.where(is_kept, qrels.grade, -1).astype(np.int32)).with_rows(rows)
        sparse = item_scores(labels, self.systems, list(self.full), **self.options)
        one, other = pairs(len(self.systems))
        for row, (name, items) in zip(found, self.full.items(), strict=True):
            full, part = totals(items), totals(sparse[name])
            tau = correlated(part, full, "tau", higher_is_better=items.higher_is_better)
            is_sure = p_values(sparse, name, items.systems, len(one)) < ALPHA
            off, part, full = part - full, without_noise(part), without_noise(full)
            is_wrong = is_sure & ((part[one] - part[other]) * (full[one] - full[other]) < 0)
            parts = (np.sort(off[which]) for which in (slice(None), favoured, ~favoured))  # the same in any order
            bias, *sides = (part.mean() if len(part) else np.nan for part in parts)
            row[1:] = tau, is_sure.mean(), is_wrong.mean(), bias, sides[0] - sides[1]
        return found

    def kept(self, reason: str, density: float, draw: int) -> tuple[Mask, Mask]:
        """(triples,) which ones keep their labels, and (systems,) which systems the labels come from."""
        n_systems, is_true, seed = len(self.systems), self.answers > 0, int(self.options["seed"])
        key, favoured = triple_keys(self.triples, seed, draw), np.zeros(n_systems, np.bool_)
        order = (key >> np.uint64(11)).astype(np.float64) * 2.0**-53
        if reason in ("pooled", "left-out"):
            names = [system.name for system in self.systems]
            drawn = np.argsort(hashed(seed, draw, label_hashes(Vocabulary.of(names))))
            favoured[drawn[: n_systems // 2] if reason == "pooled" else np.delete(np.argsort(names), draw)] = True
            place = self.place[favoured].min(axis=0)
            order = np.ceil(place) + order
            is_above = order <= np.inf if density == 1 else order <= _last(order[is_true], density)
            return is_above & (place <= self.depth), favoured
        if reason == "popularity":
            order = -np.log1p(-order) / self.weight
        kept: Mask = order <= np.where(is_true, _last(order[is_true], density), _last(order[~is_true], density))
        if reason == "correlated":
            favoured, n_missing = ~self.is_family, int((is_true & ~kept).sum())
            counts = self.answers[is_true], self.found[is_true]
            low, high = correlation_ends(*counts, n_missing)
            wanted = min(max(self.correlation, low), high)
            if not np.isnan(low) and wanted != 0:
                kept[is_true] = ~missing_in_correlation(key[is_true], *counts, n_missing, wanted)
        return kept, favoured


def _distinct_triples(qrels: Qrels, collection: Collection) -> tuple[NDArray[np.intp], Triples, Floats]:
    """The triple of each judgement, these triples, and their popularity."""
    entities = collection.entities.extended(qrels.entities.labels)
    topic, entity = collection.topics_of(qrels.questions), entities.encode(qrels.entities.labels)
    every = collection.questions.triples(topic[qrels.question], entity[qrels.entity])
    every = replace(every, entities=entities)
    _, first, of = np.unique(every.keys(), return_index=True, return_inverse=True)
    triples, degree = every.take(first), degrees(replace(collection.train, entities=entities))
    return of, triples, (1 + degree[triples.head] + degree[triples.tail]).astype(np.float64)


def _places(systems: Sequence[System], qrels: Qrels, scoring: Scoring, of: NDArray[np.intp]) -> tuple[Floats, Mask]:
    """(systems, triples) the best place in a list, and (systems, judgements) whether an answer is found."""
    relevant = qrels.grade >= 1
    size = np.bincount(qrels.question[relevant], minlength=len(qrels.questions))
    place, found = np.full((len(systems), of.max() + 1), np.inf), np.zeros((len(systems), len(qrels)), np.bool_)
    for own, is_found, system in zip(place, found, systems, strict=True):
        places = match(system, qrels, scoring.ties, scoring.seed).places
        np.minimum.at(own, of[places.judged], places.position)
        is_found[places.judged] = places.position <= size[qrels.question[places.judged]]
    return place, found & relevant


def _correlated(names: Sequence[str], found: Mask, chosen: Sequence[str] | None) -> Mask:
    """(systems,) the chosen ones, or those named like the one that finds most."""
    for name in chosen or ():
        one_of("correlated_with among the systems", name, names)
    first_name = max(zip(found.sum(axis=1).tolist(), names, strict=True))[1].partition("@")[0]
    return np.isin(names, chosen or [name for name in names if name.partition("@")[0] == first_name])


def _last(order: Floats, density: float) -> float:
    """The end of a share of some triples in an order."""
    return float(np.sort(order)[max(1, whole_share(density, len(order))) - 1]) if len(order) else 0.0
