"""Systems on ever smaller test sets: how much a measure's ranking depends on which triples are in the test set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Unpack, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Framed
from kgtrec.data.lazy import imported
from kgtrec.data.progress import Progress
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun
from kgtrec.data.table import Column, Figure, PlottedResult, Table
from kgtrec.data.triples import label_hashes, plain
from kgtrec.errors import KgtrecError, MeasureError, count_of, unwarned, warn, whole_number
from kgtrec.evaluation.belonging import of_collection
from kgtrec.evaluation.given import System, Systems, judgements_of, qrels_of
from kgtrec.evaluation.item_scores import higher_is_better
from kgtrec.evaluation.matching import MatchedSystem, leaves_order_open
from kgtrec.evaluation.prepared import Prepared, prepared
from kgtrec.evaluation.scoring import Missing, Scoring, ScoringOptions
from kgtrec.evaluation.summarise import ItemValues, summarise
from kgtrec.evaluation.unlisted import candidates_of, filtered_if_unlisted, require_deep
from kgtrec.kernels.ranking.positions import TIES, Ties
from kgtrec.kernels.sampling.kept_patterns import KeptPatterns
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.kernels.sampling.subsamples import (
    JudgedRows,
    ListedRows,
    MicroRanks,
    Part,
    Sample,
    drawn,
    sample_of,
    subsample_means,
    sums_of_rows,
)
from kgtrec.measures.aggregate import LINKS
from kgtrec.measures.names import ParsedMeasure, parse_measures
from kgtrec.meta.coefficients import correlated
from kgtrec.workers.results import Helper, number_of_workers, results


@dataclass(frozen=True, slots=True, eq=False)
class Stability(Framed, PlottedResult):
    """Scores of several systems on random subsamples, and the correlation of each ranking with that on the full set.

    NaN where a score, or a correlation, is undefined: there all systems have the same score, or one has none.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as spelled by the caller
    triples: NDArray[np.int64]  # (sizes,) test triples of a subsample, rising
    n_triples: int  # in the full test set
    full: NDArray[np.float64]  # (measures, systems) scores on it
    scores: NDArray[np.float64]  # (measures, sizes, repeats, systems)
    correlation: NDArray[np.float64]  # (measures, sizes, repeats) of each subsample's scores with the full ones
    coefficient: str  # which correlation
    unlisted_answers: str  # what becomes of discarded answers: "filtered" or "candidates"
    seed: int
    confidence: float = 0.95  # of the intervals: the share of the repeats in them

    @property
    def share(self) -> NDArray[np.float64]:
        """(sizes,) share of the test triples that a subsample has."""
        return self.triples / self.n_triples

    @property
    def mean(self) -> NDArray[np.float64]:
        """(measures, sizes) mean correlation over the repeats that have one; NaN where none has."""
        return _over_repeats(self.correlation, self.confidence)[0]

    @property
    def interval(self) -> NDArray[np.float64]:
        """(2, measures, sizes) the ends of the interval of the middle share ``confidence`` of the repeats."""
        return _over_repeats(self.correlation, self.confidence)[1]

    def to_table(self) -> pa.Table:
        """Return a row per measure and size: measure, share, triples, repeats, mean, low, high, undefined.

        ``undefined`` is the number of repeats without a correlation; the other columns are over those with one.
        """
        mean, (low, high) = _over_repeats(self.correlation, self.confidence)
        columns = {
            "repeats": self.correlation.shape[2],
            "mean": mean,
            "low": low,
            "high": high,
            "undefined": np.count_nonzero(np.isnan(self.correlation), axis=2),
        }
        return long_table(mean.shape, self._sizes | columns)

    @property
    def _sizes(self) -> dict[str, tuple[int, Any]]:
        """The first columns of every table."""
        return {"measure": (0, self.measures), "share": (1, self.share), "triples": (1, self.triples)}

    def repeats_table(self) -> pa.Table:
        """Return a row per measure, size and repeat: measure, share, triples, repeat (from 0), correlation."""
        columns = {"repeat": (2, np.arange(self.correlation.shape[2])), "correlation": self.correlation}
        return long_table(self.correlation.shape, self._sizes | columns)

    def scores_table(self) -> pa.Table:
        """Return a row per measure, size and system: measure, share, triples, system, full, mean, low, high.

        ``full`` is the score on the full test set, the others are over the repeats whose score is defined.
        """
        mean, (low, high) = _over_repeats(self.scores, self.confidence)
        columns = {"system": (2, self.systems), "full": self.full[:, None, :], "mean": mean, "low": low, "high": high}
        return long_table(mean.shape, self._sizes | columns)

    def tables(self) -> tuple[Table, ...]:
        """Return ``summary``, means by size with measures across, ``repeats`` and ``scores``."""
        caption = (
            f"mean {self.coefficient} to the full test set; {self.n_triples:,} test triples; "
            f"{len(self.systems)} systems; {self.correlation.shape[2]:,} repeats of each size; discarded answers: "
            f"{self.unlisted_answers}; seed {self.seed}"
        )
        size = Column("share", form="share", digits=1), Column("triples")
        means = *size, Column("mean", across="measure")
        repeats = Column("measure"), *size, Column("repeat"), Column("correlation")
        scores = (
            Column("measure"),
            Column("system"),
            *size,
            Column("full", digits="measure"),
            Column("mean", digits="measure", low="low", high="high"),
        )
        return (
            Table("summary", "Stability", caption, self.to_table(), means),
            Table("repeats", "Correlations of the repeats", "", self.repeats_table(), repeats),
            Table("scores", "Scores of the systems", "", self.scores_table(), scores),
        )

    def figures(self) -> tuple[Figure, ...]:
        """Return the mean correlations by size, with a line per measure and the intervals of the repeats."""
        correlation = imported("report.figures", "CORRELATIONS")[self.coefficient]
        band = f"the middle {self.confidence * 100:g}% of the repeats"
        return (imported("report.figures", "stability")(self.to_table(), correlation=correlation, band=band),)

    def __repr__(self) -> str:
        n_measures, n_sizes, repeats = self.correlation.shape
        return (
            f"<Stability: {self.coefficient} of {len(self.systems)} systems, {n_measures} measures, "
            f"{n_sizes} sizes x {repeats} repeats>"
        )


def _over_repeats(values: NDArray[np.float64], confidence: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means along the third axis, and ends of the intervals (2, ...), without NaN; NaN where all values are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tail = (1 - confidence) / 2
        return np.nanmean(values, axis=2), np.nanquantile(values, [tail, 1 - tail], axis=2)


SIZES = (0.01, *(percent / 100 for percent in range(5, 100, 5)))
_AT_A_TIME = 10  # repeats of one size in one piece of work
_FEW_ANSWERS = 7  # a question with so many has 127 cases, which are scored beforehand
_MAX_CELLS = 1 << 23  # values of these in memory: 64 MB
_ROWS_AT_A_TIME = 1 << 17  # of several systems that are scored together
Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]


def stability(
    qrels: Qrels | Collection,
    systems: Systems,
    measures: Any = None,
    *,
    sizes: Sequence[int | float] = SIZES,
    repeats: int = 50,
    coefficient: str = "tau",
    confidence: float = 0.95,
    workers: int | None = None,
    executor: Helper | None = None,
    progress: Progress | None = None,
    **scoring: Unpack[ScoringOptions],
) -> Stability:
    """Score systems on random subsamples of the test triples, and correlate the scores with those on all of them.

    A subsample has a number of test triples, each with the answers to its head question and to its tail question.
    The scores of the systems are not read again: the rank of an answer follows from its rank when all are judged.

    Parameters
    ----------
    qrels : Collection or Qrels
        The judgements. Relevant ones are sampled; an entity judged wrong is kept as long as its question has an answer
        left.
    systems : Run, AnswerRanks or DataFrame, or several of them
        As for :func:`kgtrec.evaluate`, at least two.
    measures : str, measure, or several of them, optional
        All except those of ir-measures' own providers. Means over answers and over questions take almost no time,
        medians, sums, measures adjusted for chance, those of ``missing="skip"``, and those over answers if discarded
        answers are candidates, take some milliseconds per system and subsample; ``micro.AGMRI`` and the like, whose
        chance level is not a mean, take seconds.
    sizes : sequence of int or float
        Numbers of test triples, or shares of them (a float in (0, 1]). Default: 1%, 5%, 10%, ..., 95%.
    repeats : int
        Subsamples of each size. A subsample depends only on the seed, its size, its number and the labels of the
        triples.
    coefficient : {"tau", "tau_ap", "spearman", "rbo"}
        Kendall's tau-b, tau_AP with the full set as reference, Spearman's rho, rank-biased overlap.
    confidence : float, between 0 and 1
        Share of the subsamples, the middle ones, that the intervals contain. Default: 0.95.
    workers : int, optional
        Processes to share the work, started if it takes more than some seconds. Any number gives the same bytes.
        Default: 1, this one. With more, a program must guard its entry point with ``if __name__ == "__main__"``, as for
        :mod:`multiprocessing`.
    executor : concurrent.futures.Executor, or a function that starts one, optional
        Does the work instead, with the same bytes; see docs/scale.md.
    progress : function, optional
        Called with the number of further subsamples that are done.
    **scoring
        As for :func:`kgtrec.evaluate`, of each subsample, whose qrels lack the answers that it discards: collection,
        ties, missing, unlisted_answers, seed, mixed.

    Returns
    -------
    Stability

    Raises
    ------
    KgtrecError
        If a size, a reading or another option is out of range, there is only one system, or the triples are unknown.
    MeasureError
        As :func:`kgtrec.evaluate`, and for measures of ir-measures' providers.

    Warns
    -----
    KgtrecWarning
        Once per measure with undefined correlations.

    References
    ----------
    Zhou et al. (2022), Re-thinking Knowledge Graph Completion Evaluation from an Information Retrieval Perspective,
    SIGIR, section 5.3, whose ranks over answers are filtered while the lists keep discarded answers as candidates.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.ranking.rank import rank_scores
    >>> train, test = [("a", "r", "b")], [("b", "r", "c"), ("c", "r", "a"), ("a", "r", "d")]
    >>> collection = build_questions(*(Triples.of(rows) for rows in (train, [], test)))
    >>> rng = np.random.default_rng(0)
    >>> own = {"questions": collection, "entities": collection}
    >>> ranked = {name: rank_scores(collection, rng.random((6, 4)), **own, depth=0).answer_ranks for name in "xyz"}
    >>> found = stability(collection, ranked, ["micro.MRR", "AP"], sizes=[1, 1.0], repeats=4)
    >>> found.correlation[:, 1].tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    how = Scoring(**scoring).without("sides", "weights")
    qrels, collection = _judged(qrels, how.collection)
    repeats = whole_number("repeats", repeats, 1)
    whole_number("seed", how.seed)
    number_of_workers(workers, executor)
    correlated(np.zeros((1, 2)), np.zeros(2), coefficient)  # a misspelt name is reported before the computation
    inputs = prepared(qrels, systems, measures, replace(how, collection=collection))
    parsed, compared = _parsed(inputs.measures), list(inputs.systems)
    if len(compared) < 2:
        raise KgtrecError("expected at least two systems to rank, found one")
    test_set = _test_set(inputs.qrels, collection)
    counts = sorted({count_of(size, len(test_set.hashes)) for size in sizes})
    if not counts:
        raise KgtrecError("expected at least one size of subsamples, found none")
    work = _Work(
        test_set,
        [_listed(system, inputs, collection, test_set, parsed) for system in compared],
        [measure.label for measure in parsed],
        how.missing,
        int(how.seed),
    )
    _require_computable(parsed, work, inputs.qrels)
    work.prepare()
    full = work.full()
    scores = np.empty((len(parsed), len(counts), repeats, len(compared)))
    at_a_time = _AT_A_TIME if work.is_quick else 1
    pieces = [  # a size, the first repeat, and the one after the last
        (size, first, min(first + at_a_time, repeats))
        for size in reversed(counts)  # the longest first
        for first in range(0, repeats, at_a_time)
    ]
    shared = results(work, pieces, workers=workers, executor=executor, name="stability")
    for (size, first, last), values in zip(pieces, shared, strict=True):
        scores[:, counts.index(size), first:last] = values.transpose(1, 0, 2)
        if progress is not None:
            progress(last - first)
    correlation = np.stack(
        [
            correlated(values, of_all, coefficient, higher_is_better=higher_is_better(measure))
            for measure, values, of_all in zip(parsed, scores, full, strict=True)
        ]
    )
    result = Stability(
        tuple(system.name for system in compared),
        tuple(work.labels),
        np.array(counts),
        len(test_set.hashes),
        full,
        scores,
        correlation,
        coefficient,
        how.unlisted_answers,
        work.seed,
        confidence,
    )
    _warn_undefined(result)
    return result


def subsample(
    qrels: Qrels | Collection,
    size: int | float,
    *,
    collection: Collection | None = None,
    seed: int = 0,
    repeat: int = 0,
) -> Qrels:
    """Return the judgements of one subsample, as sampled by :func:`stability`, for inspection.

    Parameters
    ----------
    qrels, collection, seed
        As there.
    size : int or float
        A number of test triples, or a share of them (a float in (0, 1]).
    repeat : int
        Number of the subsample of that size, from 0.

    Returns
    -------
    Qrels
        Of the questions that have an answer left, with new codes.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> test = Triples.of([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    >>> collection = build_questions(Triples.of([]), Triples.of([]), test)
    >>> len(subsample(collection, 2))
    4
    """
    whole, collection = _judged(qrels, collection)
    judgements = of_collection(judgements_of(whole), collection)
    test_set = _test_set(judgements, collection)
    mask = drawn(test_set.hashes, count_of(size, len(test_set.hashes)), seed, repeat)
    return judgements.with_rows(_sample(test_set.rows, mask[test_set.triple]).kept[test_set.row])


def _judged(qrels: Any, collection: Collection | None) -> tuple[Qrels | Collection, Collection]:
    """The judgements, as the collection if they are all of it, and the collection that has their test triples."""
    judged = qrels_of(qrels)
    if isinstance(judged, Collection):
        return judged, judged
    if collection is None:
        raise KgtrecError("subsamples are of test triples, and qrels alone do not have them: give a collection")
    return collection if judged is collection.qrels else judged, collection


def _sample(rows: JudgedRows, kept: Masks) -> Sample:
    """The subsample that keeps these of the relevant rows."""
    chosen = rows.grade >= 1
    chosen[chosen] = kept
    return sample_of(rows, chosen)


def _parsed(measures: Any) -> list[ParsedMeasure]:
    parsed = parse_measures(measures)
    if other := next((measure for measure in parsed if not isinstance(measure, ParsedMeasure)), None):
        raise MeasureError(
            f"{other.label} is computed by another library from a run, not from places in a list; choose a measure "
            "that kgtrec evaluate --list-measures names"
        )
    return cast("list[ParsedMeasure]", parsed)


@dataclass(frozen=True, slots=True, eq=False)
class _TestSet:
    """The judgements, in an order that depends only on labels."""

    rows: JudgedRows
    row: NDArray[np.intp]  # (judgements,) position of each row of the qrels in it
    question_code: NDArray[np.intp]  # (questions,) row in the qrels' questions
    relation: NDArray[np.int32]  # (questions,)
    relevant: NDArray[np.intp]  # (answers,) rows of the answers
    triple: NDArray[np.intp]  # (answers,) the triple that each is part of
    hashes: NDArray[np.uint64]  # (triples,)


def _test_set(qrels: Qrels, collection: Collection) -> _TestSet:
    topics = collection.questions
    topic = collection.topics_of(qrels.questions)
    question_code = np.argsort(qrels.questions.byte_order)
    place_of_question = qrels.questions.byte_order
    order = np.lexsort((qrels.entities.byte_order[qrels.entity], place_of_question[qrels.question]))
    row = np.empty(len(order), np.intp)
    row[order] = np.arange(len(order))
    grade = qrels.grade[order]
    rows = JudgedRows(place_of_question[qrels.question[order]].astype(np.int32), grade, len(qrels.questions))
    relevant = np.flatnonzero(grade >= 1)
    if len(relevant) == 0:
        raise KgtrecError("expected qrels with at least one answer to sample, found none of grade 1 or more")
    code = order[relevant]
    own_topic = topic[qrels.question[code]]
    answer = label_hashes(qrels.entities)[qrels.entity[code]]
    anchor = label_hashes(topics.entities)[topics.anchor[own_topic]]
    is_head = topics.is_head[own_topic]
    hashes, triple = np.unique(
        hashed(
            np.where(is_head, answer, anchor),
            label_hashes(topics.relations)[topics.relation[own_topic]],
            np.where(is_head, anchor, answer),
        ),
        return_inverse=True,
    )
    return _TestSet(rows, row, question_code, plain(topics).relation[topic][question_code], relevant, triple, hashes)


@dataclass(frozen=True, slots=True, eq=False)
class _System:
    """The data of one system that subsamples need."""

    name: str
    listed: ListedRows
    ranks: Any  # MicroRanks of the answers, in the order of the test set; None for a run
    rule: Ties | None  # of the ranks; None: candidates have one order
    ties: str | None  # as of MatchedSystem: which measures leave the order of ties open
    recounts: bool  # discarded answers, which the ranks do not count, may become candidates


def _listed(
    system: System, inputs: Prepared, collection: Collection, test_set: _TestSet, measures: Sequence[ParsedMeasure]
) -> _System:
    seen, qrels, unlisted_answers = inputs.matched(system), inputs.qrels, inputs.scoring.unlisted_answers
    if not isinstance(system, AnswerRanks) and unlisted_answers == "filtered":
        _require_deep_lists(system, seen, qrels, collection, measures)
    rule: Ties | None = next((rule for rule in TIES if rule == seen.ties), None)
    if seen.tied_ranking is not None:
        rule = "realistic"  # whose ranks are the mean ranks
    removable = filtered_if_unlisted(system, qrels, collection, unlisted_answers)
    places = seen.places
    listed = ListedRows(
        test_set.rows,
        test_set.row[places.judged],
        places.first,
        places.size,
        places.position,
        qrels.entities.byte_order[qrels.entity[places.judged]],
        seen.ranking.num_retrieved[test_set.question_code],
        rule,
        removable=removable[places.judged],
    )
    relevant, ranks = qrels.grade >= 1, None
    if (answers := seen.answers) is not None:
        of_all = MicroRanks(answers.rank, answers.candidates, answers.best, answers.worst)
        ranks = of_all.take(np.argsort(test_set.row[relevant]))
    is_filtered = isinstance(system, AnswerRanks) and "test" in system.filtered_by
    recounts = is_filtered and not removable[relevant].all()
    return _System(seen.name, listed, ranks, rule, seen.ties, recounts)


def _require_deep_lists(
    run: AnyRun, seen: MatchedSystem, qrels: Qrels, collection: Collection, measures: Sequence[ParsedMeasure]
) -> None:
    """Refuse a run whose cut lists may be too short for a measure when a subsample discards answers that they list."""
    length, relevant = seen.ranking.num_retrieved, seen.ranking.num_relevant()
    listed = seen.ranking.per_question(seen.ranking.question[seen.ranking.grade >= 1])
    most = np.minimum(listed, relevant - 1)  # that can be discarded while the question has an answer left
    whole = length >= candidates_of(run, collection)[collection.topics_of(qrels.questions)]
    require_deep(run.name, qrels.questions, length - most, (most > 0) & ~whole, measures, seen.ties)


def _require_computable(measures: Sequence[ParsedMeasure], work: _Work, qrels: Qrels) -> None:
    """Refuse before the computation what evaluate would refuse."""
    for measure in measures:
        if measure.record.weighting == "beta" and measure.parameters["beta"]:
            raise MeasureError(
                f"{measure.label}: its weights depend on which answers are drawn; use beta=0, or kgtrec meta withstand"
            )
        if measure.items == "answers":
            runs = [system.name for system in work.systems if system.ranks is None]
            if runs:
                raise MeasureError(
                    f"{measure.label} needs exact ranks, which the cut run {runs[0]} does not have; give the system's "
                    "NAME.ranks.parquet (kgtrec rank)"
                )
        elif measure.record.binary and np.any(qrels.grade > 1):
            raise MeasureError(
                f"{measure.label} has a chance level for binary grades only, and these qrels have grades above 1"
            )


@dataclass(slots=True, eq=False)
class _Work:
    """The data that a process needs to score subsamples."""

    test_set: _TestSet
    systems: list[_System]
    labels: list[str]  # of the measures; their records have functions, which cannot be sent to processes
    missing: Missing
    seed: int
    questions: _QuestionMeans | None = None  # from which means over questions are computed

    @property
    def is_quick(self) -> bool:
        """Whether all measures are such that a subsample takes milliseconds."""
        return all(map(self._is_quick, _parsed(self.labels)))

    def prepare(self) -> None:
        """Do the common work of all subsamples."""
        measures = [own for own in _parsed(self.labels) if own.items == "questions" and self._is_quick(own)]
        if measures:
            self.questions = _QuestionMeans(self.test_set.rows, self.systems, measures)

    def full(self) -> Floats:
        """Return (measures, systems) scores on the full test set."""
        with unwarned():  # undefined values are reported once, for all sizes
            return np.asarray(self._scores(np.ones((1, len(self.test_set.hashes)), np.bool_))[0])

    def __call__(self, size: int, first: int, last: int) -> Floats:
        """(repeats, measures, systems) scores on the subsamples ``first`` to ``last`` of one size."""
        return self._scores(
            np.stack([drawn(self.test_set.hashes, size, self.seed, repeat) for repeat in range(first, last)])
        )

    def _scores(self, triples: Masks) -> Floats:
        measures = _parsed(self.labels)
        answers = triples[:, self.test_set.triple]  # (repeats, answers)
        scores = np.empty((len(triples), len(measures), len(self.systems)))
        places: dict[Any, list[int]] = {}
        for place, measure in enumerate(measures):
            way: Any = self._one_by_one
            if self._is_quick(measure):
                way = self._answer_means if measure.items == "answers" else self.questions
            places.setdefault(way, []).append(place)
        for way, own in places.items():
            scores[:, own] = way(answers, [measures[place] for place in own])
        return scores

    def _is_quick(self, measure: ParsedMeasure) -> bool:
        """Whether a measure is a mean, or a function of one, over all remaining items, with values that do not change.

        The value of an answer does not depend on what is discarded; that of a question not on what is discarded of
        others.
        """
        record = measure.record
        is_mean = record.form == "plain" and record.aggregate in LINKS and record.weighting is None
        recounts = any(system.recounts for system in self.systems)
        return is_mean and (not recounts if measure.items == "answers" else self.missing == "zero")

    def _answer_means(self, answers: Masks, measures: Sequence[ParsedMeasure]) -> Floats:
        """(repeats, measures, systems) the values of measures that are such means."""
        columns = [
            LINKS[measure.record.aggregate].to(_values(measure, system, system.ranks))
            for measure in measures
            for system in self.systems
        ]
        means = subsample_means(answers, np.stack(columns, axis=1))
        return _brought_back(measures, means.reshape(len(answers), len(measures), len(self.systems)))

    def _one_by_one(self, answers: Masks, measures: Sequence[ParsedMeasure]) -> Floats:
        """(repeats, measures, systems) the values of other measures."""
        scores = np.empty((len(answers), len(measures), len(self.systems)))
        for repeat, kept in enumerate(answers):
            sample = _sample(self.test_set.rows, kept)
            for number, system in enumerate(self.systems):
                pairs = zip(measures, self._items(system, sample, kept, measures), strict=True)
                scores[repeat, :, number] = [summarise(measure, own, 1, system.name)[0] for measure, own in pairs]
        return scores

    def _items(
        self, system: _System, sample: Sample, kept: Masks, measures: Sequence[ParsedMeasure]
    ) -> Iterator[ItemValues]:
        """The items of one system on one subsample under each measure."""
        ranked, ranks, rows = _ranked(system.listed, system.ties, sample), None, self.test_set.rows
        if any(measure.items == "answers" for measure in measures):
            ranks = system.ranks.take(kept)
            if system.recounts:
                ranks = ranks.among(*system.listed.come_back(sample), system.rule)
        for measure in measures:
            if ranks is not None and measure.items == "answers":
                is_open = leaves_order_open(system.ties, measure) and measure.record.aggregate == "median"
                value, question = _values(measure, system, ranks), rows.question[self.test_set.relevant[kept]]
                others: tuple[Any, ...] = ranks.candidates, None, (ranks.best, ranks.worst) if is_open else None
            else:
                ranking, value = ranked(measure)
                there = (ranking.num_retrieved > 0) | (self.missing == "zero")
                value, question = value[there], sample.questions[there].astype(np.int32)
                candidates = None if system.ranks is None else ranking.num_retrieved[there]
                others = candidates, sample.num_relevant[there], None
            # the units that always count equally by the measure's definition; if there are none each item does
            alike = None if measure.record.weighting == "beta" else measure.record.weighting
            unit = question if alike == "question" else self.test_set.relation[question]
            weight = None if alike is None else (1.0 / np.maximum(np.bincount(unit), 1))[unit]
            yield ItemValues(value, np.zeros(len(value), np.int32), question, weight, *others)


def _ranked(listed: ListedRows, ties: str | None, sample: Sample) -> Callable[[ParsedMeasure], tuple[Any, Floats]]:
    """Lists with only the rows of a sample judged, in the form that a measure takes, and its (questions,) values."""
    ranking_of = cache(lambda is_open: (listed.tied_ranking if is_open else listed.ranking)(sample))

    def ranked(measure: ParsedMeasure) -> tuple[Any, Floats]:
        is_open = leaves_order_open(ties, measure)
        ranking = ranking_of(is_open)
        return ranking, measure.expected(ranking) if is_open else measure(ranking)

    return ranked


def _brought_back(measures: Sequence[ParsedMeasure], means: Floats) -> Floats:
    """(repeats, measures, systems) the values of measures from these means of linked values."""
    links = [LINKS[measure.record.aggregate] for measure in measures]
    return np.stack([link.back(means[:, place]) for place, link in enumerate(links)], axis=1)


class _QuestionMeans:
    """Means over questions: those of few answers are looked up, the others scored for each subsample."""

    def __init__(self, rows: JudgedRows, systems: Sequence[_System], measures: Sequence[ParsedMeasure]) -> None:
        columns = len(measures) * len(systems)
        few = max(most for most in range(_FEW_ANSWERS + 1) if KeptPatterns.count(rows, most) * columns <= _MAX_CELLS)
        self.patterns = KeptPatterns(rows, few)
        part, chosen = self.patterns.cases()
        cases = sample_of(part.rows, chosen)
        table = np.empty((self.patterns.n_cases, len(measures), len(systems)))
        for lists in _stacked(systems, part, 1):
            table[:, :, lists.systems] = lists.values(measures, cases).transpose(2, 0, 1)
        self.table = table.reshape(len(table), columns)  # linked values of the questions of few answers
        others, self.answers = self.patterns.others()  # which of all answers belong to the other questions
        self.rows = others.rows
        self.lists = list(_stacked(systems, others, max(1, _ROWS_AT_A_TIME // max(1, len(others.row)))))

    def __call__(self, answers: Masks, measures: Sequence[ParsedMeasure]) -> Floats:
        """(repeats, measures, systems) the means of the subsamples that keep the ``answers``, (repeats, r)."""
        cases, count = self.patterns.of(answers)
        totals = sums_of_rows(cases, count, self.table).reshape(len(answers), len(measures), -1)
        for repeat, kept in enumerate(answers):
            sample = _sample(self.rows, kept[self.answers])
            count[repeat] += len(sample.questions)
            for lists in self.lists:
                totals[repeat][:, lists.systems] += lists.values(measures, sample).sum(axis=2)
        return _brought_back(measures, totals / count[:, None, None])


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The lists of systems with one rule for ties, combined as those of one system."""

    listed: ListedRows
    systems: list[int]
    ties: str | None  # as of MatchedSystem

    def values(self, measures: Sequence[ParsedMeasure], sample: Sample) -> Floats:
        """Return (measures, systems, questions) linked values of the questions that remain in a sample."""
        ranked = _ranked(self.listed, self.ties, sample.copies(len(self.systems)))
        linked = np.stack([LINKS[measure.record.aggregate].to(ranked(measure)[1]) for measure in measures])
        return linked.reshape(len(measures), len(self.systems), len(sample.questions))


def _stacked(systems: Sequence[_System], part: Part, together: int) -> Iterator[_Lists]:
    """The lists of some questions, for at most so many systems together."""
    kinds: dict[str | None, list[int]] = {}
    for number, system in enumerate(systems):
        kinds.setdefault(system.ties, []).append(number)
    for ties, alike in kinds.items():
        for first in range(0, len(alike), together):
            own = alike[first : first + together]
            yield _Lists(ListedRows.stacked([systems[number].listed.part(part) for number in own]), own, ties)


def _values(measure: ParsedMeasure, system: _System, ranks: MicroRanks) -> Floats:
    return measure.of_answers(ranks, is_open=leaves_order_open(system.ties, measure))


def _warn_undefined(found: Stability) -> None:
    """One warning for each measure with an undefined correlation."""
    for measure, full, values in zip(found.measures, found.full, found.correlation, strict=True):
        undefined = int(np.count_nonzero(np.isnan(values)))
        if undefined == 0:
            continue
        nothing = [name for name, score in zip(found.systems, full, strict=True) if np.isnan(score)]
        why = f"it is undefined for {nothing[0]}" if nothing else "there all systems score equally, or one has no score"
        warn(f"{measure}: {undefined} of {values.size} correlations are undefined and left out of the means: {why}")
