"""Diagnostics of a judged pool: the contribution of each run, and its effect on the systems' scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.qrels import deepest_rank, question_level
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table
from kgtrec.data.columns import Columns
from kgtrec.data.judgements import Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completions
from kgtrec.data.run import AnyRun
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, nearest
from kgtrec.evaluation.belonging import Belonging
from kgtrec.evaluation.evaluate import evaluate, warn_lacking
from kgtrec.evaluation.given import System, each_system
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.scoring import Scoring
from kgtrec.evaluation.summarise import ItemValues, summarise
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.kernels.integer_keys import is_among
from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.statistics.correlation import kendall_tau_b, tau_ap
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure, parse_measure, parse_measures
from kgtrec.pooling.summary import shared_triples

if TYPE_CHECKING:
    import pandas as pd

LEFT_OUT_KINDS = ("run", "family")


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut(Columns):
    """The systems with qrels that lack the unique contributions of some runs; one row per run, then per family.

    Ranks are among all the systems, 1 for the best; equal scores share the better rank.
    """

    kind: NDArray[np.int8]  # (g,) row in LEFT_OUT_KINDS
    names: tuple[str, ...]  # (g,) of the run or the family
    members: tuple[tuple[str, ...], ...]  # (g,) the runs that are left out
    triples: NDArray[np.int64]  # (g,) that no other run contributed
    positives: NDArray[np.int64]  # (g,) of them, judged Y
    negatives: NDArray[np.int64]  # (g,) of them, judged N
    scores: NDArray[np.float64]  # (g, s, m) of every system
    ranks: NDArray[np.int64]  # (g, s, m)
    tau: NDArray[np.float64]  # (g, m) Kendall's tau-b between the systems' scores before and after; NaN if one is flat
    tau_ap: NDArray[np.float64]  # (g, m) AP correlation of the order after, judged by the order before


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics(Result):
    """Tables about a judged pool: by run, by depth, by question, and by what is left out.

    Contributions are counted in triples, each once per run.
    """

    runs: tuple[str, ...]  # (r,)
    families: tuple[str, ...]  # (r,) "" where a run has none
    contributed: NDArray[np.int64]  # (r,) triples that the run contributed
    unique: NDArray[np.int64]  # (r,) of them, by no other run
    run_judged: NDArray[np.int64]  # (r,) of its contributions, settled
    positive: NDArray[np.int64]  # (r,) of them, Y
    unique_positive: NDArray[np.int64]  # (r,) of those, by no other run
    overlap: NDArray[np.float64]  # (r, r) Jaccard of the triples of two runs; NaN if neither has any
    pooled_at: NDArray[np.int64]  # (depth,) triples of pool depth 1, 2, ...
    judged_at: NDArray[np.int64]  # (depth,) of them, settled
    positive_at: NDArray[np.int64]  # (depth,) of them, Y
    questions: Vocabulary  # (q,)
    question_pooled: NDArray[np.int64]  # (q,) triples of the pool for the question, right or wrong
    question_judged: NDArray[np.int64]  # (q,) of them, settled
    question_positive: NDArray[np.int64]  # (q,) of them, Y
    question_seeds: NDArray[np.int64]  # (q,) answers known before
    nothing_pooled: NDArray[np.bool_]  # (q,) no run contributed a triple for it
    systems: tuple[str, ...]  # (s,) those evaluated, not sorted by score; may be empty
    measures: tuple[str, ...]  # (m,)
    scores: NDArray[np.float64]  # (s, m) under all the judgements
    ranks: NDArray[np.int64]  # (s, m)
    cutoff: int  # k of judged@k
    judged: NDArray[np.float64]  # (s,) mean share of a question's first k candidates that are judged
    left_out: LeftOut

    def __repr__(self) -> str:
        return f"<Diagnostics: {len(self.runs)} runs, {len(self.questions):,} questions, {len(self.systems)} systems>"

    @property
    def positive_rate(self) -> NDArray[np.float64]:
        """(q,) share of positives among the settled triples of each question; NaN where none is settled."""
        judged = np.where(self.question_judged > 0, self.question_judged, np.nan)
        return np.asarray(self.question_positive / judged)

    def tables(self) -> tuple[Table, ...]:
        """Make the tables ``runs``, ``overlap``, ``depths``, ``questions``, ``systems`` and ``left_out``."""
        return self._runs(), self._overlap(), self._depths(), self._questions(), self._systems(), self._left_out()

    def _runs(self) -> Table:
        data = pa.table(
            {
                "run": pa.array(self.runs, pa.string()),
                "family": pa.array(self.families, pa.string()),
                "contributed": self.contributed,
                "unique": self.unique,
                "judged": self.run_judged,
                "positive": self.positive,
                "unique_positive": self.unique_positive,
            }
        )
        columns = (
            Column("run"),
            Column("family", names={"": "-"}),
            Column("contributed", "triples"),
            *map(Column, ("unique", "judged", "positive")),
            Column("unique_positive", "unique positive"),
            _RATE,
        )
        return Table("runs", "contributions of each run, in triples", "", data, columns, view=_rated(data))

    def _overlap(self) -> Table:
        data = long_table(self.overlap.shape, {"run": (0, self.runs), "other": (1, self.runs), "jaccard": self.overlap})
        columns = Column("run", " "), Column("jaccard", digits=3, across="other")
        return Table("overlap", "overlap of two runs (Jaccard)", "", data, columns)

    def _depths(self) -> Table:
        data = pa.table(
            {
                "depth": np.arange(1, len(self.pooled_at) + 1),
                "pooled": self.pooled_at,
                "judged": self.judged_at,
                "positive": self.positive_at,
                "positive_down_to": np.cumsum(self.positive_at),
            }
        )
        counts = map(Column, ("depth", "pooled", "judged", "positive"))
        columns = (*counts, Column("positive_down_to", "down to here"), _RATE)
        return Table("depths", "new positives per depth", "", data, columns, view=_rated(data))

    def _questions(self) -> Table:
        """Shown are quantiles of the rates, a single row."""
        data = pa.table(
            {
                "question": self.questions.labels,
                "seeds": self.question_seeds,
                "pooled": self.question_pooled,
                "judged": self.question_judged,
                "positive": self.question_positive,
                "positive_rate": self.positive_rate,
                "nothing_pooled": pa.array(self.nothing_pooled),
            }
        )
        rate = self.positive_rate[self.question_judged > 0]
        n = len(self.questions)
        caption = (
            f"positive rate per question: {n:,} questions, {self.nothing_pooled.sum():,} with nothing pooled, "
            f"{n - len(rate):,} with nothing judged"
        )
        names = ("least", "quarter", "median", "three quarters", "most", "mean")
        values = [*np.quantile(rate, (0, 0.25, 0.5, 0.75, 1)), rate.mean()] if len(rate) else [np.nan] * len(names)
        columns = (*(Column(name, form="share", digits=1) for name in names), Column("all N"), Column("all Y"))
        shown = [*map(float, values), int(np.sum(rate == 0)), int(np.sum(rate == 1))]
        view = pa.table({column.name: [value] for column, value in zip(columns, shown, strict=True)})
        return Table("questions", "positive rate per question", caption, data, columns, view=view)

    def _systems(self) -> Table:
        """Shown are systems down, measures across, each with the rank beside it."""
        data = long_table(
            self.scores.shape,
            {
                "system": (0, self.systems),
                "judged_at": self.cutoff,
                "judged": (0, self.judged),
                "measure": (1, self.measures),
                "value": self.scores,
                "rank": self.ranks,
            },
        )
        wide: dict[str, Any] = {"system": pa.array(self.systems, pa.string()), "judged": self.judged}
        columns = [Column("system"), Column("judged", f"Judged@{self.cutoff}")]
        for place, measure in enumerate(self.measures):
            value, rank, name = (f"{what} {place}" for what in ("value", "rank", "measure"))
            wide |= {value: self.scores[:, place], rank: self.ranks[:, place], name: [measure] * len(self.systems)}
            columns += [Column(value, measure, digits=name), Column(rank, "rank")]
        return Table("systems", "systems under all judgements", "", data, tuple(columns), view=pa.table(wide))

    def _left_out(self) -> Table:
        """Shown is a row per group and measure: of its own systems the one that loses most, and the order's change."""
        left, shape = self.left_out, self.left_out.scores.shape
        is_member = np.array([[name in members for name in self.systems] for members in left.members], np.bool_)
        data = long_table(
            shape,
            {
                "kind": (0, [LEFT_OUT_KINDS[kind] for kind in left.kind]),
                "name": (0, left.names),
                "triples": (0, left.triples),
                "positives": (0, left.positives),
                "system": (1, self.systems),
                "is_left_out": is_member.reshape(*shape[:2], 1),
                "measure": (2, self.measures),
                "before": self.scores,
                "after": left.scores,
                "rank_before": self.ranks,
                "rank_after": left.ranks,
                "tau_b": left.tau[:, None],
                "tau_ap": left.tau_ap[:, None],
            },
        )
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in data.to_pylist():
            groups.setdefault((row["kind"], row["name"], row["measure"]), []).append(row)
        shown = []
        for rows in groups.values():
            own = [row for row in rows if row["is_left_out"]]
            if not own:
                shown.append(rows[0] | {"system": "-", "before": None, "after": None, "rank": "-"})
                continue
            row = max(own, key=lambda row: np.nan_to_num(abs(row["after"] - row["before"])))
            change = row["after"] / row["before"] - 1 if row["before"] else None
            shown.append(row | {"change": change, "rank": f"{row['rank_before']} > {row['rank_after']}"})
        view = data.schema.append(pa.field("change", pa.float64())).append(pa.field("rank", pa.string()))
        columns = (
            Column("name", "left out"),
            Column("kind", " "),
            Column("triples"),
            Column("positives", "positive"),
            *map(Column, ("measure", "system")),
            Column("before", digits="measure"),
            Column("after", digits="measure"),
            Column("change", form="change", digits=1),
            Column("rank"),
            Column("tau_b", "tau", digits=3),
            Column("tau_ap", "tau_AP", digits=3),
        )
        title = "without the unique contributions"
        return Table("left_out", title, "", data, columns, view=pa.Table.from_pylist(shown, view))


_RATE = Column("rate", form="share", digits=1)


def _rated(data: pa.Table) -> pa.Table:
    """With the share of positives among the judged triples."""
    judged = data.column("judged").to_numpy()
    rate = data.column("positive").to_numpy() / np.where(judged > 0, judged, np.nan)
    return data.append_column("rate", pa.array(rate))


MEASURES = ("AP@20", "nDCG@20")

_Group = tuple[int, str, tuple[str, ...]]  # kind (0 run, 1 family), name, runs


def diagnose(
    pool: Pool,
    decisions: Decisions,
    known_answers: Qrels,
    systems: System | pd.DataFrame | Iterable[System] | Mapping[str, System | pd.DataFrame] = (),
    measures: Any = MEASURES,
    families: Mapping[str, str] | None = None,
    *,
    judged_at: int = 10,
    mixed: bool = False,
) -> Diagnostics:
    """Measure the contribution of each run to a pool, and the scores, ranks and order of the systems without it.

    To leave a run out is to remove from the qrels the triples that no other run contributed, down to the depth of the
    pool: those judged Y become unjudged, and so do those judged N. The answers known before are kept. The result shows
    whether the collection is fair to a system that was not pooled. Similar systems find similar answers, so families
    are also left out as a whole. Triples that a pool with a fixed budget would have contained instead are unknown.

    Parameters
    ----------
    pool : Pool
    decisions : Decisions
        For the pool's triples.
    known_answers : Qrels
        The answers known before, with the vocabularies of the pool's questions.
    systems : Run, AnswerRanks or DataFrame, or several of them
        The systems to score, as for :func:`kgtrec.evaluate`; may be empty. Usually the runs of the pool,
        with the same names. An iterable is read one system at a time.
    measures : str, measure, or several of them
        Answer ranks need a row for every positive (``kgtrec rank --judged``); runs need nothing.
    families : mapping, optional
        Run to family; runs that are not in it, or that have the family "", have none.
    judged_at : int, ranks
        The k of judged@k.
    mixed : bool
        As for :func:`kgtrec.evaluate`.

    Returns
    -------
    Diagnostics

    Raises
    ------
    KgtrecError
        If a family is given to a run that the pool does not have; as :func:`kgtrec.evaluate`.
    CollectionError
        As :func:`kgtrec.campaign.question_level`.

    References
    ----------
    Zobel (1998), How reliable are the results of large-scale information retrieval experiments?, SIGIR; Buettcher,
    Clarke, Yeung, Soboroff (2007), Reliable information retrieval evaluation with incomplete and biased judgements,
    SIGIR, for groups of runs.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam"), ("ann", "likes", "pie")])
    >>> tail0 = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...                   triples.entities, triples.relations)
    >>> known_answers = Qrels.of(  # ann likes tea
    ...     np.array([0]), np.array([1]), np.array([1]), tail0.ids, triples.entities
    ... )
    >>> both, tail = np.array([0, 1, 1]), np.array([0, 0, 0])
    >>> pool = Pool.of(triples.take(np.array([1, 2])), both, tail, np.array([0, 0, 1]), np.array([1, 2, 1]),
    ...                ["one", "other"], tail0)
    >>> found = diagnose(pool, Decisions(np.array([2, 2]), np.array([1, 0])), known_answers)
    >>> found.contributed.tolist(), found.unique.tolist(), found.unique_positive.tolist(), float(found.overlap[0, 1])
    ([2, 1], [1, 0], [1, 0], 0.5)
    """
    families = dict(families or {})
    if unknown := next((run for run in families if run not in pool.runs), None):
        raise KgtrecError(f"expected families of the pool's runs, found {unknown!r}{nearest(unknown, pool.runs)}")
    if judged_at < 1:
        raise KgtrecError(f"expected k of 1 or more for judged@k, found {judged_at}")
    qrels = question_level(pool, known_answers, decisions)
    parsed = parse_measures(measures)
    labels = tuple(measure.label for measure in parsed)
    is_from = pool.is_from
    groups = _groups(pool, families)
    positive = decisions.verdict == 1
    lost = _lost_by(is_from, pool, [members for _, _, members in groups])
    names, scores, without, judged = _scores(qrels, pool, lost, systems, labels, judged_at, mixed)
    better = [parse_measure(label).record.better != "lower" for label in labels]
    alone = is_from & (is_from.sum(axis=0) == 1)
    # for all triples, for those judged, and for those judged Y
    at_depth, per_question = _counts(pool, (np.ones(len(pool), np.bool_), decisions.verdict >= 0, positive))
    n = len(pool.questions)
    return Diagnostics(
        runs=pool.runs,
        families=tuple(families.get(run, "") for run in pool.runs),
        contributed=is_from.sum(axis=1),
        unique=alone.sum(axis=1),
        run_judged=(is_from & (decisions.verdict >= 0)).sum(axis=1),
        positive=(is_from & positive).sum(axis=1),
        unique_positive=(alone & positive).sum(axis=1),
        overlap=_overlap(is_from),
        pooled_at=at_depth[0],
        judged_at=at_depth[1],
        positive_at=at_depth[2],
        questions=pool.questions.ids,
        question_pooled=per_question[0],
        question_judged=per_question[1],
        question_positive=per_question[2],
        question_seeds=np.bincount(known_answers.question[known_answers.grade >= 1], minlength=n).astype(np.int64),
        nothing_pooled=np.bincount(pool.question, minlength=n) == 0,
        systems=names,
        measures=labels,
        scores=scores,
        ranks=_ranks(scores, better),
        cutoff=judged_at,
        judged=judged,
        left_out=_left_out(groups, lost, decisions, scores, without, better),
    )


def _groups(pool: Pool, families: Mapping[str, str]) -> list[_Group]:
    """The groups that are left out, one after the other: every run, then every family."""
    groups: list[_Group] = [(0, run, (run,)) for run in pool.runs]
    return groups + [
        (1, family, tuple(run for run in pool.runs if families.get(run) == family))
        for family in sorted(set(families.values()) - {""}, key=str.encode)
    ]


def _left_out(
    groups: Sequence[_Group],
    lost: NDArray[np.bool_],
    decisions: Decisions,
    scores: NDArray[np.float64],
    without: NDArray[np.float64],
    better: Sequence[bool],
) -> LeftOut:
    """The triples that the pool loses without each group, and the systems' scores and ranks then.

    ``lost`` is (g, n) as given by :func:`_lost_by`, ``scores`` (s, m), ``without`` (g, s, m), ``better`` (m,).
    """
    sign = np.where(better, 1.0, -1.0)[:, None]
    before = sign * (scores.T if len(scores) else np.zeros((len(better), 0)))
    after = sign * without.transpose(0, 2, 1)
    return LeftOut(
        kind=np.array([kind for kind, _, _ in groups], np.int8),
        names=tuple(name for _, name, _ in groups),
        members=tuple(members for _, _, members in groups),
        triples=lost.sum(axis=1),
        positives=(lost & (decisions.verdict == 1)).sum(axis=1),
        negatives=(lost & (decisions.verdict == 0)).sum(axis=1),
        scores=without,
        ranks=_ranks(without, better),
        tau=kendall_tau_b(after, before),
        tau_ap=tau_ap(after, before),
    )


def _counts(pool: Pool, kinds: Sequence[NDArray[np.bool_]]) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """How many triples of each kind were pooled at every rank, and for every question."""
    deepest, n = deepest_rank(pool), len(pool.questions)
    at_depth = [np.bincount(pool.depth[rows], minlength=deepest + 1)[1:].astype(np.int64) for rows in kinds]
    asked = [completions(pool.questions, pool.triples.take(rows))[0] for rows in kinds]
    return at_depth, [np.bincount(question, minlength=n).astype(np.int64) for question in asked]


def _lost_by(is_from: NDArray[np.bool_], pool: Pool, groups: Sequence[tuple[str, ...]]) -> NDArray[np.bool_]:
    """(groups, n) which triples only members of each group contributed."""
    n_runs_of = is_from.sum(axis=0)
    lost = [is_from[np.isin(pool.runs, members)].sum(axis=0) == n_runs_of for members in groups]
    return np.array(lost, np.bool_).reshape(len(groups), len(pool))


def _overlap(is_from: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(runs, runs) Jaccard."""
    size, common = is_from.sum(axis=1), shared_triples(is_from)
    union = size[:, None] + size - common
    return np.asarray(common / np.where(union > 0, union, np.nan))


def _scores(
    qrels: Qrels, pool: Pool, lost: NDArray[np.bool_], systems: Any, labels: Sequence[str], judged_at: int, mixed: bool
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Names, (s, m) scores, (g, s, m) scores without the contributions of each group, and (s,) judged@k."""
    asked = [*labels, f"Judged@{judged_at}"]
    # with all judgements first, then without those of each group
    kept = np.vstack([np.ones(len(qrels), np.bool_), _kept_rows(qrels, pool, lost)])
    names: list[str] = []
    values = []
    belongs = Belonging(None, qrels=qrels, measures=parse_measures(asked), mixed=mixed)
    for system in each_system(systems):
        if system.name in names:
            raise KgtrecError(f"expected systems of different names, found {system.name!r} twice; rename one")
        belongs(system)
        warn_lacking(system.name, _n_lacking(system, qrels), qrels, None)
        names.append(system.name)
        values.append(_system_scores(qrels, kept, system, asked))
    cube = np.array(values).reshape(len(names), len(kept), len(asked))
    return tuple(names), cube[:, 0, :-1], cube[:, 1:, :-1].transpose(1, 0, 2), cube[:, 0, -1]


def _n_lacking(system: System, qrels: Qrels) -> int:
    """How many questions of the qrels a system lacks."""
    asked = np.zeros(len(system.questions), np.bool_)
    for part in [system] if isinstance(system, AnswerRanks) else system.parts():
        asked[part.question] = True
    return len(qrels.questions) - int(np.sum(qrels.questions.encode(system.questions.labels)[asked] >= 0))


def _kept_rows(qrels: Qrels, pool: Pool, lost: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(groups, rows of the qrels) which judgements are kept without a group's triples."""
    n = np.int64(max(len(qrels.entities), 1))
    key = qrels.question * n + qrels.entity
    kept = np.ones((len(lost), len(qrels)), np.bool_)
    for row, triples in enumerate(lost):
        question, entity = completions(pool.questions, pool.triples.take(triples))
        kept[row] = ~is_among(key, question * n + entity)
    return kept


def _system_scores(qrels: Qrels, kept: NDArray[np.bool_], system: System, labels: Sequence[str]) -> NDArray[np.float64]:
    """(kept, m) one system's scores with the kept judgements; the first row of ``kept`` has all of them."""
    parsed = parse_measures(labels)
    quick = [one for one in parsed if _is_quick(one)]
    if not isinstance(system, AnswerRanks) and len(quick) == len(parsed):
        values = _run_scores(qrels, kept, system, quick)
        if not np.isnan(values[0]).any():
            return values
    values = np.full((len(kept), len(labels)), np.nan)
    # answers that even all judgements lack are filtered out; those that a group of runs loses are missing labels
    system = next(without_unlisted_answers([system], qrels, Scoring(), parsed))
    with warnings.catch_warnings():
        for reported_before in (".* lacks .* questions of the qrels", "the qrels lack "):
            warnings.filterwarnings("ignore", reported_before, KgtrecWarning)
        values[0] = evaluate(qrels, system, labels, unlisted_answers="candidates").values[0, :, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)  # reported for all judgements
        for row in range(1, len(kept)):
            if kept[row].any():
                fewer = qrels.take(kept[row])
                values[row] = evaluate(fewer, system, labels, unlisted_answers="candidates").values[0, :, 0]
    return values


def _is_quick(measure: ParsedMeasure | ProvidedMeasure) -> TypeGuard[ParsedMeasure]:
    """Whether a measure over questions needs only the positions of the judged entities."""
    if not isinstance(measure, ParsedMeasure) or measure.items != "questions":
        return False
    return measure.record.form == "plain" and measure.record.weighting is None


def _run_scores(
    qrels: Qrels, kept: NDArray[np.bool_], run: AnyRun, measures: Sequence[ParsedMeasure]
) -> NDArray[np.float64]:
    """The same for a run, which is long: the positions of the judged entities are looked up once.

    Positions are those of trec_eval's order, which does not depend on grades. So the run is matched with qrels whose
    grades are their own row numbers, which then show the rows to leave out.
    """
    numbered = replace(qrels, grade=np.arange(len(qrels), dtype=np.int32))
    whole = match(run, numbered).ranking
    order = np.argsort(qrels.questions.byte_order).astype(np.int32)
    none = np.zeros(len(order), np.int32)
    values = np.empty((len(kept), len(measures)))
    for row, stays in enumerate(kept):
        is_kept = stays[whole.grade]
        ranking = JudgedRanking(
            n_questions=whole.n_questions,
            num_retrieved=whole.num_retrieved,
            question=whole.question[is_kept],
            position=whole.position[is_kept],
            grade=qrels.grade[whole.grade[is_kept]],
            judged_question=qrels.question[stays],
            judged_grade=qrels.grade[stays],
        )
        relevant = ranking.num_relevant()[order]
        for column, measure in enumerate(measures):
            items = ItemValues(measure(ranking)[order], none, order, None, None, relevant)
            values[row, column] = summarise(measure, items, 1, run.name)[0]
    return values


def _ranks(scores: NDArray[np.float64], better: Sequence[bool]) -> NDArray[np.int64]:
    """(..., s, m) 1-based rank of each system by each measure; equal scores share the better rank."""
    signed = np.where(np.asarray(better, np.bool_), scores, -scores)
    higher = signed[..., None, :, :] > signed[..., :, None, :]
    return np.asarray(1 + np.count_nonzero(higher, axis=-2), np.int64)
