"""A judged pool -> how many answers lack a label, and how this changes the scores and the order of systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.estimates import triple_weights
from kgtrec.campaign.qrels import question_level
from kgtrec.data.arrow import long_table
from kgtrec.data.judgements import Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, between_0_and_1, one_of, whole_number
from kgtrec.evaluation.given import Systems, judgements_of
from kgtrec.evaluation.intervals import LEAST_EFFECTIVE, Drawn, least_effective
from kgtrec.kernels.openworld.moments import Weights
from kgtrec.kernels.sampling.capture_recapture import (
    FOUND,
    FOUND_PAIRS,
    LABELS,
    MORE,
    ONCE,
    PAIRS,
    TWICE,
    Estimates,
    FoundAnswers,
    estimates,
    found_by_none,
    question_sums,
    standing_for_more,
)
from kgtrec.kernels.sampling.recapture_errors import chao_variance, error_variances, positive_interval
from kgtrec.kernels.statistics.ratio_intervals import Quotients, Units, quotients, t_interval
from kgtrec.measures.names import ParsedMeasure
from kgtrec.openworld.known_answers import KnownAnswers, Placings
from kgtrec.openworld.theory import MixedWorld, named_weights, needed_questions, wrong_order_quantile

Floats = NDArray[np.float64]
#: how missing answers are estimated; see :mod:`kgtrec.kernels.sampling.capture_recapture`
METHODS = ("found", "runs", "labels")
FEWEST_FOUND = 10  # found labels; with fewer, it cannot be tested whether systems find answers independently
_ASSUMES = {
    "found": "what was found is all there is",
    "runs": "systems find independently of each other",
    "labels": "labels are a random sample of what is true",
    "truth": "",
}
_ALL_JUDGED = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A value with its interval, arrays of one shape; NaN where there is no estimate, and as the ends of a count."""

    value: Floats
    low: Floats
    high: Floats


_SEPARATIONS = pa.schema(
    [
        ("measure", pa.string()),
        ("higher", pa.string()),  # the system that the sparse labels put first
        ("lower", pa.string()),
        ("difference", pa.float64()),  # of their sparse scores
        ("by_data", pa.int64()),  # questions, from the variance over the questions; null: no number is enough
        ("by_theory", pa.int64()),  # questions, from the model with the strengths of the two systems
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class MissingEstimate(Result):
    """Missing labels, estimated from a judged pool; ``METHODS`` is the axis of intervals with a value per method."""

    depth: int  # an answer is found if a system ranks it at this rank or better, in every order of tied candidates
    n_questions: int  # with a label
    n_labels: int
    found_labels: int  # of them
    found_missing: float  # true answers found without a label; a sampled one counts as all that it represents
    set_aside: int  # true answers without a label that no system finds
    label_pairs: int  # a found label with another label of its question; "labels" is estimated from these pairs
    missed_by_runs: float  # labels that systems would miss if they found independently; NaN where it is not known
    independent: bool  # whether the labels are consistent with independence; if not, "runs" has no interval
    by_fact: bool  # whether intervals take into account that the two answers of a fact are labelled together
    judged: Floats  # (s,) share of a system's candidates down to the depth that is judged; NaN where it is not known
    answers: Interval  # (3,) number of true answers of the questions
    share: Interval  # (3,) share of them that lack a label
    missing: Interval  # (3,) beta, the probability that a true answer lacks its label
    method: str  # the member of METHODS that scores and separations assume
    systems: tuple[str, ...]  # (s,)
    measures: tuple[str, ...]  # (m,)
    sparse: Floats  # (m, s) scores on the labels
    filtered: Interval  # (m, s) on the labels, with found answers removed from the lists
    completed: Interval  # (m, s) on the labels and the found answers; no interval where too few questions contribute
    estimated: Interval  # (m, s) on all true answers of the questions, if labels are a random sample of them
    strength: Interval  # (m, s) at which the model expects the sparse score; its ends come from the ends of beta
    separations: pa.Table  # a row per measure and pair of neighbours, best first: how many questions distinguish them
    p: float  # accepted probability of a wrong order, for the separations
    confidence: float
    true_answers: float  # NaN where the truth was not given
    true_share: float
    true_missing: float
    true_filtered: Floats  # (m, s) on the labels, with all true answers removed from the lists; NaN without the truth
    true: Floats  # (m, s) on all true answers

    @property
    def knows_truth(self) -> bool:
        """Whether the estimates can be compared with the truth."""
        return bool(np.isfinite(self.true_answers))

    def missing_table(self) -> pa.Table:
        """Return one row per method, and one row for the truth if it was given."""
        methods: Sequence[str] = METHODS
        table = pa.table({"method": list(methods), **self._intervals("answers", "share", "missing")})
        if not self.knows_truth:
            return table
        truth = [self.true_answers, self.true_share, self.true_missing]
        row = {name: [value] for name, value in zip(table.column_names[1:], np.repeat(truth, 3), strict=True)}
        return pa.concat_tables([table, pa.table({"method": ["truth"], **row})])

    def scores_table(self) -> pa.Table:
        """Return one row per measure and system."""
        columns: dict[str, Any] = {"measure": (0, self.measures), "system": (1, self.systems), "sparse": self.sparse}
        columns |= self._intervals("filtered", "completed", "estimated", "strength")
        if self.knows_truth:
            columns |= {"true_filtered": self.true_filtered, "true": self.true}
        return long_table(self.sparse.shape, columns)

    def _intervals(self, *names: str) -> dict[str, Any]:
        """Columns of intervals: each value and its ends."""
        found = {name: getattr(self, name) for name in names}
        ends = {"": "value", "_low": "low", "_high": "high"}
        return {f"{name}{end}": getattr(own, part) for name, own in found.items() for end, part in ends.items()}

    def about(self) -> dict[str, Any]:
        """Return the counts and options behind the tables."""
        names = (
            "depth n_questions n_labels found_labels found_missing set_aside label_pairs independent by_fact method p"
        )
        about = {name: getattr(self, name) for name in (*names.split(), "confidence")}
        about["missed_by_runs"] = None if math.isnan(self.missed_by_runs) else self.missed_by_runs
        judged = [None if math.isnan(share) else share for share in self.judged.tolist()]
        return about | {"judged": dict(zip(self.systems, judged, strict=True))}

    def tables(self) -> tuple[Table, ...]:
        """Return ``missing``, a row per method, ``scores``, and ``separations``."""
        return self._missing(), self._scores(), self._separations()

    def _missing(self) -> Table:
        table = view = self.missing_table()
        for place, name in enumerate(table.column_names):
            if self.knows_truth and name.endswith(("_low", "_high")):  # the truth has no interval
                view = view.set_column(place, name, [[*table[name].to_pylist()[:-1], None]])
        columns = (
            Column("method"),
            Column("method", "assumes", names=_ASSUMES),
            _within("answers", "true answers", form="count", digits=0),
            _within("share", "without a label"),
            _within("missing", "beta"),
        )
        return Table("missing", "", "\n".join(self._counted()), table, columns, view=view)

    def _scores(self) -> Table:
        columns = [Column("measure"), Column("system"), Column("sparse", digits="measure")]
        known = [name for name in ("estimated", "strength") if not np.isnan(getattr(self, name).value).all()]
        columns += [_within(name, digits="measure") for name in ("filtered", "completed", *known)]
        if self.knows_truth:
            columns += [Column(name, name.replace("_", " "), digits="measure") for name in ("true_filtered", "true")]
        return Table("scores", "", "", self.scores_table(), tuple(columns))

    def _separations(self) -> Table:
        is_known = not math.isnan(self.missing.value[METHODS.index(self.method)])
        title = f"questions that keep a wrong order of sparse scores below {self.p:g}, here {self.n_questions:,}; " + (
            f"theory with beta by {self.method}" if is_known else "no theory, as beta is not known"
        )
        columns = (
            Column("measure"),
            Column("higher"),
            Column("lower"),
            Column("difference", digits="measure"),
            Column("by_data", "questions by data"),
            Column("by_theory", "by theory"),
        )
        return Table("separations", title, "", self.separations, columns if is_known else columns[:-1])

    def _counted(self) -> list[str]:
        lines = [
            f"{_several(self.n_questions, 'question')}, {_several(self.n_labels, 'label')}; to rank {self.depth:,}, "
            f"{_several(len(self.systems), 'system')} found {self.found_labels:,} of the labels "
            f"({self.found_labels / self.n_labels:.1%}) and {_several(self.found_missing, 'true answer')} without a "
            "label"
        ]
        known = self.judged[~np.isnan(self.judged)]
        if len(known) and known.min() < _ALL_JUDGED:
            lines.append(
                f"{known.min():.1%} to {known.max():.1%} of a system's first {self.depth:,} candidates are judged; an "
                "unjudged candidate counts as not true, so all estimates are too low"
            )
        elif not len(known):
            lines.append(
                "the share of judged candidates is not known (answer ranks, or nothing judged wrong); an unjudged "
                "candidate counts as not true"
            )
        if self.set_aside:
            lines.append(f"left out: {_several(self.set_aside, 'true answer')} without a label that no system found")
        lines.append(
            f'"labels" depends on {_several(self.label_pairs, "pair")} of a found label and another label of its '
            "question" + ("" if self.label_pairs else ", so it gives no estimate")
        )
        if math.isnan(self.missed_by_runs) and len(self.systems) > 1:
            lines.append(
                f"fewer than {FEWEST_FOUND} labels are found, too few to test whether systems find answers "
                'independently: "runs" has no interval'
            )
        elif not self.independent and len(self.systems) > 1:
            missed = self.n_labels - self.found_labels
            which = "low" if missed > self.missed_by_runs else "high"
            lines.append(
                f'"runs" expects the systems to miss {_several(self.missed_by_runs, "label")}, and they miss '
                f"{missed:,}: systems do not find answers independently, so its numbers are too {which} and have no "
                "interval"
            )
        labelled = "facts" if self.by_fact else "answers of these questions"
        lines.append(
            f"{self.confidence * 100:g}% intervals are over which {labelled} have labels; those of completed are over "
            "resampled questions; a score with too few of these has no interval"
        )
        if not np.isnan(self.estimated.value).all():
            lines.append(
                f"estimated is too low where true answers that no system found to rank {self.depth:,} are ranked above "
                "labels; filtered is too low by less; their intervals do not include this"
            )
        return lines

    def __repr__(self) -> str:
        place = METHODS.index(self.method)
        return (
            f"<MissingEstimate: {self.share.value[place]:.3f} of the answers of {self.n_questions:,} questions lack a "
            f"label, by {self.method}; {len(self.systems)} systems x {len(self.measures)} measures>"
        )


def _several(number: float, noun: str) -> str:
    return f"{number:,.0f} {noun}{'' if round(number) == 1 else 's'}"


def _within(name: str, label: str = "", **options: Any) -> Column:
    """A value with its interval."""
    return Column(name, label, low=f"{name}_low", high=f"{name}_high", **options)


MEASURES = ("micro.MRR", "micro.Hits@10")
_FEWEST_PAIRS = 10  # pairs of labels from which on "labels" is the default method
_SURE = 0.95  # confidence with which independence of the systems is rejected


def judged_answers(pool: Pool, known_answers: Qrels, decisions: Decisions) -> tuple[Qrels, Floats]:
    """Return the qrels of a judged pool, and how many answers each row represents.

    Parameters
    ----------
    pool : Pool
        Its inclusion probabilities give how many answers a found one represents.
    known_answers : Qrels
        The answers known before judging, with the vocabularies of the pool's questions.
    decisions : Decisions
        Of the pool's triples. Triples without a decision are assumed to be missing at random among triples of the same
        inclusion probability.

    Returns
    -------
    judged : Qrels
        See :func:`kgtrec.campaign.question_level`.
    weight : (n,) float array
        1 for known answers.

    Raises
    ------
    KgtrecError
        If there is an inclusion probability none of whose triples has a decision.
    CollectionError
        If known answers or decisions belong to another pool, or a known answer is in the pool.

    References
    ----------
    Horvitz, Thompson (1952), Journal of the American Statistical Association 47.

    Examples
    --------
    It was known that Ann likes tea. Two other answers were pooled. One of them has a decision, and represents both.

    >>> from kgtrec.data.judgements import AGREED, OPEN
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples = Triples.of([("ann", "likes", thing) for thing in ("tea", "jam", "pie")])
    >>> question = Questions(Vocabulary.of(["q"]), np.array([False]), np.array([0]), np.array([0]), triples.entities,
    ...                      triples.relations)
    >>> tea = Qrels.of(np.array([0]), triples.tail[:1], np.array([1]), question.ids, triples.entities)
    >>> which, none = np.array([0, 1]), np.zeros(2, int)
    >>> pool = Pool.of(triples.take(which + 1), which, none, none, none + 1, ["mine"], question)
    >>> judged, weight = judged_answers(pool, tea, Decisions(np.array([AGREED, OPEN]), np.array([1, -1])))
    >>> [judged.entities[entity] for entity in judged.entity], weight.tolist()
    (['tea', 'jam'], [1.0, 2.0])
    """
    judged = question_level(pool, known_answers, decisions)
    weight = np.ones(len(judged))
    if len(pool):
        triples = pool.questions.triples(judged.question, judged.entity)
        row = pool.rows(triples.head, triples.relation, triples.tail)
        weight[row >= 0] = triple_weights(pool, decisions)[row[row >= 0]]
    return judged, weight


def estimate_missing(
    labels: Any,
    judged: Any,
    systems: Systems,
    measures: Any = MEASURES,
    *,
    depth: int = 10,
    weight: Floats | None = None,
    known: Any = None,
    truth: Any = None,
    questions: Questions | None = None,
    method: str | None = None,
    top: int = 5,
    p: float = 0.05,
    confidence: float = 0.95,
    mixed: bool = False,
) -> MissingEstimate:
    r"""Estimate how many true answers lack a label, and what the scores would be with complete labels.

    An answer is found if one of the systems ranks it at rank ``depth`` or better, in every order of tied candidates.
    Judgements should therefore reach that depth. Judgements of answers that no system found are left out.

    Three methods are compared:

    - "found" assumes that the found answers are all true answers. It is a lower bound.
    - "runs" assumes that systems find answers independently of each other (Chao's estimate). Systems are similar, so
      it is usually too low. The method also predicts how many labels the systems miss. If this prediction is wrong,
      the method has no interval.
    - "labels" assumes that labels are a random sample of the true answers. It needs questions with two labels. It is
      biased where labels and systems favour the same answers.

    The score of a system on the labels alone is called sparse. Four other values are compared with it:

    - filtered: the score on the labels, with the found answers removed from the lists. If labels are a random sample
      of all that is true in the world, this estimates the score on complete labels of the world.
    - completed: the score on the labels and the found answers, as after a campaign. It favours the systems that were
      pooled.
    - estimated: the score on all true answers of these questions. A label that no system found represents
      :math:`1 / (1 - \beta)` answers. This is another average than that over labels: a question with many answers is
      more likely to be asked, and contributes all of its answers.
    - strength: the strength at which the open-world model expects the sparse score. It estimates filtered, and depends
      on beta and the numbers of answers only.

    Parameters
    ----------
    labels : Qrels, or what :func:`kgtrec.evaluate` takes as qrels
        The sparse labels; the other judgements may be of these kinds too.
    judged : Qrels
        The judgements that were added; grade 1 or more is true. Questions without a label are left out.
    systems : Run or AnswerRanks, or several of them
        The systems that were pooled. An answer that a run does not list counts 0, and tied candidates of a run are
        ordered by label. Answer ranks need a row for every true answer (``kgtrec rank --judged``); their ranks are
        realistic.
    measures : str, measure, function, or several of them
        Means over answers of a function of ranks; see :func:`kgtrec.openworld.theory.weights_of`.
    depth : int, ranks
        Depth of the pool.
    weight : (n,) float array, optional
        How many answers each row of ``judged`` represents, if a sample was judged; see :func:`judged_answers`. Answers
        in ``labels`` or ``known`` count once.
    known : Qrels, optional
        Answers known to be true from another source, such as the whole test set from which labels were sampled.
    truth : Qrels, optional
        All true answers of the questions, for comparison with the estimates.
    questions : Questions, optional
        Anchor and relation of each question. A fact is an answer of two questions, and is labelled for both or for
        neither. With this argument, intervals take this into account. Without it, labels count as independent, and
        intervals are a little too narrow.
    method : {"found", "runs", "labels"}, optional
        The method that strengths and separations assume. Default: "labels" if there are at least 10 pairs of labels,
        else "runs" if there are several systems, else "found".
    top : int
        Separations are computed for this many of the best systems.
    p : float
        Accepted probability of a wrong order, in (0, 0.5).
    confidence : float
        Confidence of the intervals. They are over which answers have labels. Intervals of completed scores are over
        resampled questions, as in :func:`kgtrec.evaluate`; a score over few questions has none. All intervals are
        computed without random draws.
    mixed : bool
        See :func:`kgtrec.evaluate`.

    Returns
    -------
    MissingEstimate

    Raises
    ------
    KgtrecError
        If an option is out of range, there is no label, labels and judgements disagree, or a label is not in the truth.
    CollectionError
        If a system has no question of the labels, if its answer ranks have no row for a true answer, or if systems and
        qrels are known to belong to different collections.
    MeasureError
        If a measure is not a mean over answers of a function of their ranks.

    References
    ----------
    :mod:`kgtrec.kernels.sampling.capture_recapture`; Yang et al. (2022), NeurIPS, for the model.

    Examples
    --------
    >>> import pandas as pd
    >>> def qrels(*answers):
    ...     return Qrels.from_frame(pd.DataFrame({"query_id": "q", "doc_id": list(answers), "relevance": 1}))
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": list("abcx"), "score": [4.0, 3, 2, 1]})
    >>> found = estimate_missing(qrels("a", "b"), qrels("a", "b", "c"), {"mine": run}, depth=3)
    >>> found.share.value.round(3).tolist(), found.missing.value.round(3).tolist()
    ([0.333, nan, 0.333], [0.5, nan, 0.5])
    """
    weights = named_weights(measures, bare=False)
    depth, top = whole_number("depth", depth, 1), whole_number("top", top, 1)
    wrong_order_quantile(p)
    between_0_and_1("a confidence", confidence)
    if method is not None:
        one_of("a method of", method, METHODS)
    own, added = judgements_of(labels), judgements_of(judged)
    others = (None if given is None else judgements_of(given) for given in (known, truth))
    answers = KnownAnswers.of(own, added, weight, *others)
    places = Placings.of(answers, systems, depth, mixed=mixed)
    question, n_questions, labelled = answers.qrels.question, len(answers.qrels.questions), answers.labelled
    times = places.found.sum(axis=0)
    used = labelled | (answers.known & (times > 0))
    found = FoundAnswers(question[used].astype(np.intp), labelled[used], times[used], answers.weight[used])

    twin = None if questions is None else _twins(answers.qrels, used, questions)
    totals = _Totals.of(found, places.worth(weights, question, used), twin, n_questions, len(places.systems))
    missed, independent = _missed_by_runs(found, totals.n_systems)
    intervals = _of_known_answers(totals, weights, confidence)
    intervals |= _of_these_questions(totals, confidence, independent=independent)
    chosen = _chosen(method, totals)
    world = _mixed_world(totals, chosen)
    sparse_worth = places.worth(weights, question, labelled)
    sparse = sparse_worth.mean(axis=2)
    ends = [getattr(intervals["missing"], end)[METHODS.index(chosen)] for end in ("value", "low", "high")]
    strength = np.array([world.with_missing(end).strengths(weights, sparse) for end in ends])
    separations = _separations(world, weights, places.systems, question[labelled], sparse_worth, strength[0], top, p)
    truth_and_intervals: dict[str, Any] = {**_truth(answers, places, weights), **intervals}
    return MissingEstimate(
        depth=depth,
        n_questions=n_questions,
        n_labels=int(labelled.sum()),
        found_labels=int((labelled & (times > 0)).sum()),
        found_missing=float(totals.by_question[:, FOUND].sum()),
        set_aside=int((answers.known & ~used).sum()),
        label_pairs=int(totals.sums[FOUND_PAIRS]),
        missed_by_runs=missed,
        independent=independent,
        by_fact=questions is not None,
        judged=places.judged,
        method=chosen,
        systems=places.systems,
        measures=tuple(weights),
        sparse=sparse,
        strength=Interval(strength[0], strength.min(axis=0), strength.max(axis=0)),
        separations=pa.Table.from_pylist(list(separations), _SEPARATIONS),
        p=p,
        confidence=confidence,
        **truth_and_intervals,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Totals:
    """The known answers, sums over their questions, and the estimates from these."""

    found: FoundAnswers
    worth: Floats  # (m, s, n) value of each answer under each measure
    twin: NDArray[np.intp] | None  # (n,) see `_twins`; None: not known
    by_question: Floats  # (questions, 8) of `question_sums`
    sums: Floats  # (8,) over all questions
    whole: Estimates
    standing: Floats  # (m, s) value of the labels that represent several answers
    estimated: Floats  # (m, s) scores on all true answers of the questions, if labels are a random sample of them
    n_systems: int

    @classmethod
    def of(
        cls, found: FoundAnswers, worth: Floats, twin: NDArray[np.intp] | None, n_questions: int, n_systems: int
    ) -> _Totals:
        def total(value: Floats) -> Floats:
            flat = value.reshape(-1, value.shape[-1])
            rows = [np.bincount(found.question, row, n_questions) for row in flat]  # added up per question first
            per_question = np.stack(rows, axis=1, dtype=np.float64).reshape(n_questions, *value.shape[:-1])
            return np.asarray(per_question.sum(axis=0))

        by_question = question_sums(found, n_questions)
        sums = by_question.sum(axis=0)
        whole, standing = estimates(sums, n_systems), total(worth * standing_for_more(found, n_questions))
        n_answers = total(found.weight) + whole.odds * sums[MORE]
        estimated = (total(worth * found.weight) + whole.odds * standing) / n_answers
        return cls(found, worth, twin, by_question, sums, whole, standing, estimated, n_systems)


def _missed_by_runs(found: FoundAnswers, n_systems: int) -> tuple[float, bool]:
    """Number of labels that independent systems would miss, and whether the systems may be independent.

    The number of labels that the systems do miss is known. Independence is rejected if the interval of the estimate
    does not contain this number. (NaN, False) if there is one system, or if too few labels are found for the test.
    """
    times = found.times[found.labelled]
    if n_systems == 1 or np.count_nonzero(times) < FEWEST_FOUND:
        return math.nan, False
    once, twice, actual = (int(np.count_nonzero(times == number)) for number in (1, 2, 0))
    missed = float(found_by_none(np.array(once), np.array(twice), n_systems))
    low, high = positive_interval(missed, chao_variance(once, twice, n_systems), _SURE).tolist()
    # the interval is rounded outwards to whole numbers; where there is none, at most one label may be missed
    return missed, actual <= 1 if math.isnan(low) else math.floor(low) <= actual <= math.ceil(high)


def _twins(qrels: Qrels, used: NDArray[np.bool_], questions: Questions) -> NDArray[np.intp]:
    """(n,) for each used answer, the row where the same fact answers its other question; -1 if there is no such row."""
    own = qrels.take(used).recoded(questions=questions.ids, entities=questions.entities)
    known = np.flatnonzero((own.question >= 0) & (own.entity >= 0))
    key = questions.triples(own.question[known], own.entity[known]).keys()
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    one, other = known[order[same]], known[order[same + 1]]
    twin = np.full(len(own), -1, np.intp)
    twin[one], twin[other] = other, one
    return twin


def _of_known_answers(totals: _Totals, weights: Mapping[str, Weights], confidence: float) -> dict[str, Interval]:
    """Intervals of filtered scores, over which facts have labels, and of completed scores, over resampled questions."""
    found, worth, twin = totals.found, totals.worth, totals.twin
    rows, labelled = np.arange(len(found.question)), found.labelled
    fact = rows if twin is None else np.where(twin >= 0, np.minimum(rows, twin), rows)
    one_group = np.zeros(len(rows), np.int32)

    def interval(drawn: Drawn, unit: NDArray[np.intp], of: Any, weight: Floats, variable: float) -> Interval:
        units = Units.of(unit[of], one_group[of], 1)
        ends = np.full((3, *worth.shape[:2]), np.nan)
        for measure, own in enumerate(weights.values()):
            bounds, least = (-np.inf, np.inf), LEAST_EFFECTIVE  # a function may have any bounds
            if isinstance(own, ParsedMeasure):
                bounds, least = own.record.bounds, least_effective(own, drawn)
            for system in range(worth.shape[1]):
                score = quotients(units, (worth[measure, system] * weight)[of], weight[of])
                error = np.where(score.effective >= least, score.error * math.sqrt(variable), np.nan)
                error[error == 0] = np.nan
                within = t_interval(Quotients(score.value, error, score.effective), confidence, bounds)
                ends[:, measure, system] = [score.value[0], *within[:, 0]]
        return Interval(*ends)

    # finite population: the labels are the share 1 - beta of the facts, so the variance is multiplied by beta; by 1
    # where too few pairs of labels estimate beta
    beta = float(totals.whole.missing[METHODS.index("labels")]) if totals.sums[FOUND_PAIRS] >= _FEWEST_PAIRS else 1.0
    return {
        "filtered": interval("triple", fact, labelled, np.ones(len(rows)), beta),
        "completed": interval("question", found.question, slice(None), found.weight, 1.0),
    }


def _of_these_questions(totals: _Totals, confidence: float, *, independent: bool) -> dict[str, Interval]:
    """Estimates for the true answers of these questions, with intervals over which of them have labels."""
    found, worth, twin, estimated = totals.found, totals.worth, totals.twin, totals.estimated
    n_questions, n_systems, sums = len(totals.by_question), totals.n_systems, totals.sums
    whole, sampled = totals.whole, bool((found.weight > 1).any())
    answers, odds = np.full((2, len(METHODS)), np.nan), np.full((2, len(METHODS)), np.nan)
    certain = sums[LABELS] + np.count_nonzero(~found.labelled)  # the number of observed true answers
    nothing, one = np.zeros((1, len(found.question))), np.ones((1, len(found.question)))

    def of_odds(answers: FoundAnswers, odds: float, pairs: float) -> float:
        return float(error_variances(answers, n_questions, odds, nothing, np.array([1 / pairs]), twin)[0])

    as_found = found._replace(times=np.ones_like(found.times))
    value = whole.missing / (1 - whole.missing)
    if sums[PAIRS] > 0:
        variance = of_odds(as_found, value[0], sums[PAIRS])
        odds[:, 0] = positive_interval(value[0], variance, confidence, sums[PAIRS])
    if sampled:
        variance = float((found.weight * (found.weight - 1))[~found.labelled].sum())
        answers[:, 0] = sums[LABELS] + positive_interval(sums[FOUND], variance, confidence)
    elif independent:
        missed, variance = whole.answers[1] - whole.answers[0], chao_variance(sums[ONCE], sums[TWICE], n_systems)
        answers[:, 1] = whole.answers[0] + positive_interval(missed, variance, confidence)
        if sums[PAIRS] > 0 and sums[FOUND] > 0:
            more = 1 + missed / sums[FOUND]
            of_all = as_found._replace(weight=np.where(found.labelled, 1.0, more))
            own = of_odds(of_all, value[1], sums[PAIRS]) + (value[1] / more / sums[FOUND]) ** 2 * variance
            odds[:, 1] = positive_interval(value[1], own, confidence, sums[PAIRS])
    ends = np.full((2, *estimated.shape), np.nan)
    if whole.odds > 0:
        pairs, by_labels = sums[FOUND_PAIRS], float(whole.odds)
        odds[:, 2] = positive_interval(by_labels, of_odds(found, by_labels, pairs), confidence, pairs)
        variance = error_variances(found, n_questions, by_labels, one, np.array([sums[MORE] / pairs]), twin)[0]
        missed = by_labels * sums[MORE]
        answers[:, 2] = whole.answers[0] + positive_interval(missed, variance, confidence, pairs)
        apart = (worth - estimated[:, :, None]).reshape(-1, len(found.question))
        pull = (totals.standing - estimated * sums[MORE]).ravel() / pairs
        error = error_variances(found, n_questions, by_labels, apart, pull, twin) / whole.answers[2] ** 2
        ends = positive_interval(estimated, error.reshape(estimated.shape), confidence, pairs)
    answers[0] = np.maximum(answers[0], certain)
    return {
        "answers": Interval(whole.answers, *answers),
        "share": Interval(whole.share, *(1 - sums[LABELS] / answers)),
        "missing": Interval(whole.missing, *(odds / (1 + odds))),
        "estimated": Interval(estimated, *ends),
    }


def _chosen(method: str | None, totals: _Totals) -> str:
    """The method that strengths and separations assume."""
    if method is None:
        enough = totals.sums[FOUND_PAIRS] >= _FEWEST_PAIRS
        return "labels" if enough else "runs" if totals.n_systems > 1 else "found"
    if np.isnan(totals.whole.missing[METHODS.index(method)]):
        pair = "a question with two labels" + (", one of which is found" if method == "labels" else "")
        needs = "two systems" if method == "runs" and totals.n_systems == 1 else pair
        raise KgtrecError(f"expected {needs} for the method {method!r}, found none; choose another method")
    return method


def _mixed_world(totals: _Totals, method: str) -> MixedWorld:
    """The model's world: on average, the question of a label has as many missing answers as the method estimates.

    The missing answers of each question are its found ones times a common factor.
    """
    sums, found = totals.sums, totals.whole
    place, factor = METHODS.index(method), 1.0
    if method == "labels":
        factor = sums[PAIRS] / sums[FOUND_PAIRS]
    elif method == "runs" and sums[FOUND] > 0:
        factor = (found.answers[place] - sums[LABELS]) / sums[FOUND]
    sizes = totals.by_question[:, LABELS] + factor * totals.by_question[:, FOUND]
    return MixedWorld.of(sizes, found.missing[place])


def _separations(
    world: MixedWorld,
    weights: Mapping[str, Weights],
    systems: Sequence[str],
    question: NDArray[np.int32],
    worth: Floats,
    strength: Floats,
    top: int,
    p: float,
) -> Iterator[dict[str, Any]]:
    """Neighbouring systems in the order of their mean (m, s, labels) values, best first, as rows of a table."""
    labels = np.bincount(question)  # every question has one
    names = Vocabulary.of(systems).byte_order
    for measure, (name, own) in enumerate(weights.items()):
        score = worth[measure].mean(axis=1)
        order = np.lexsort((names, -score))[:top]
        for first, second in pairwise(order.tolist()):
            difference = float(score[first] - score[second])
            apart = np.bincount(question, worth[measure, first] - worth[measure, second])
            # the linear part of a ratio of sums over questions, as in the theory
            linear = (apart - difference * labels) / labels.mean()
            strengths = strength[measure, [first, second]]
            yield {
                "measure": name,
                "higher": systems[first],
                "lower": systems[second],
                "difference": difference,
                "by_data": needed_questions(float(linear.var()), difference, p),
                "by_theory": world.questions_needed(own, strengths, p) if strengths[0] > strengths[1] else None,
            }


def _truth(answers: KnownAnswers, places: Placings, weights: Mapping[str, Weights]) -> dict[str, Any]:
    """How many answers are true, and (m, s) scores with all of them removed from the lists; NaN without the truth."""
    if answers.true is None:
        unknown = np.full((len(weights), len(places.systems)), np.nan)
        counts = dict.fromkeys(("true_answers", "true_share", "true_missing"), math.nan)
        return {**counts, "true_filtered": unknown, "true": unknown}
    question, labelled = answers.qrels.question, answers.labelled[answers.true]
    one = np.ones(len(labelled))
    everything = FoundAnswers(question[answers.true].astype(np.intp), labelled, one.astype(np.int64), one)
    found = estimates(question_sums(everything, len(answers.qrels.questions)).sum(axis=0), 1)
    numbers = {f"true_{name}": float(getattr(found, name)[0]) for name in ("answers", "share", "missing")}
    worth = places.worth(weights, question, answers.true)
    return {**numbers, "true_filtered": worth[:, :, labelled].mean(axis=2), "true": worth.mean(axis=2)}
