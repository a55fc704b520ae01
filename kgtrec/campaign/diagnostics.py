"""Diagnostics of a judged pool: the contribution of each run, and its effect on the systems' scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import require_whole
from kgtrec.campaign.qrels import deepest_rank, question_level
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table
from kgtrec.data.judgements import Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completions
from kgtrec.data.run import AnyRun
from kgtrec.data.table import Column, Table, TabledResult
from kgtrec.errors import KgtrecError, KgtrecWarning, nearest
from kgtrec.evaluation.belonging import Belonging
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import System, each_system
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.prepared import warn_lacking
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

MEASURES = ("AP@20", "nDCG@20")
_RATE = Column("rate", form="share", digits=1)

_Group = tuple[str, str, tuple[str, ...]]  # run or family, name, runs
_Masks = tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]  # of all triples: each, settled, settled as Y


class Diagnostics(TabledResult):
    """A judged pool in the tables ``runs``, ``overlap``, ``depths``, ``questions``, ``systems`` and ``left_out``.

    Contributions are counted in triples, each once per run. Ranks are among all the systems, 1 for the best; equal
    scores share the better rank. ``left_out`` has the systems with qrels that lack the unique contributions of a run or
    a family: ``tau_b`` is Kendall's between the systems' scores before and after, NaN if one is flat, and ``tau_ap``
    the AP correlation of the order after, judged by the order before.
    """

    __slots__ = ()


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
        The pool that was judged.
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
        Warn of systems that cannot be compared instead of refusing them, as :func:`kgtrec.evaluate` does.

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
    >>> found["runs"].select(["contributed", "unique", "unique_positive"]).to_pydict()
    {'contributed': [2, 1], 'unique': [1, 0], 'unique_positive': [1, 0]}
    """
    families = dict(families or {})
    if unknown := next((run for run in families if run not in pool.runs), None):
        raise KgtrecError(f"expected families of the pool's runs, found {unknown!r}{nearest(unknown, pool.runs)}")
    if judged_at < 1:
        raise KgtrecError(f"expected k of 1 or more for judged@k, found {judged_at}")
    require_whole(decisions)
    qrels = question_level(pool, known_answers, decisions)
    parsed = parse_measures(measures)
    asked = [*(measure.label for measure in parsed), f"Judged@{judged_at}"]
    better = np.array([measure.record.better != "lower" for measure in map(parse_measure, asked[:-1])], np.bool_)
    groups: list[_Group] = [("run", run, (run,)) for run in pool.runs]
    groups += [
        ("family", family, tuple(run for run in pool.runs if families.get(run) == family))
        for family in sorted(set(families.values()) - {""}, key=str.encode)
    ]
    lost = _lost_by(pool, [members for _, _, members in groups])
    names, scores = _scores(qrels, pool, lost, systems, asked, mixed)
    masks = np.ones(len(pool), np.bool_), decisions.verdict >= 0, decisions.verdict == 1
    return Diagnostics(
        (
            _runs(pool, masks, families),
            _overlap(pool),
            _depths(pool, masks),
            _questions(pool, masks, known_answers),
            _systems(names, scores, asked, better),
            _left_out(groups, names, scores, asked[:-1], better, (lost, lost & masks[2])),
        )
    )


def _runs(pool: Pool, masks: _Masks, families: Mapping[str, str]) -> Table:
    is_from = pool.is_from
    contributed, judged, positive = (is_from & mask for mask in masks)
    alone = contributed.sum(axis=0) == 1
    data = pa.table(
        {
            "run": pa.array(pool.runs, pa.string()),
            "family": pa.array([families.get(run, "") for run in pool.runs], pa.string()),
            "contributed": contributed.sum(axis=1),
            "unique": (contributed & alone).sum(axis=1),
            "judged": judged.sum(axis=1),
            "positive": positive.sum(axis=1),
            "unique_positive": (positive & alone).sum(axis=1),
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


def _overlap(pool: Pool) -> Table:
    """Jaccard of the triples of two runs; NaN if neither has any."""
    common = shared_triples(pool.is_from)
    size = np.diagonal(common)
    union = size[:, None] + size - common
    jaccard = common / np.where(union > 0, union, np.nan)
    data = long_table(jaccard.shape, {"run": (0, pool.runs), "other": (1, pool.runs), "jaccard": jaccard})
    columns = Column("run", " "), Column("jaccard", digits=3, across="other")
    return Table("overlap", "overlap of two runs (Jaccard)", "", data, columns)


def _depths(pool: Pool, masks: _Masks) -> Table:
    deepest = deepest_rank(pool)
    pooled, judged, positive = (np.bincount(pool.depth[mask], minlength=deepest + 1)[1:] for mask in masks)
    counts = {"depth": np.arange(1, deepest + 1), "pooled": pooled, "judged": judged, "positive": positive}
    data = pa.table({**counts, "positive_down_to": np.cumsum(positive)})
    columns = (*map(Column, counts), Column("positive_down_to", "down to here"), _RATE)
    return Table("depths", "new positives per depth", "", data, columns, view=_rated(data))


def _questions(pool: Pool, masks: _Masks, known_answers: Qrels) -> Table:
    """Shown are quantiles of the rates, a single row."""
    n = len(pool.questions)
    asked = (completions(pool.questions, pool.triples.take(mask))[0] for mask in masks)
    pooled, judged, positive = (np.bincount(question, minlength=n) for question in asked)
    is_empty = np.bincount(pool.question, minlength=n) == 0
    data = pa.table(
        {
            "question": pool.questions.ids.labels,
            "seeds": np.bincount(known_answers.question[known_answers.grade >= 1], minlength=n),
            "pooled": pooled,
            "judged": judged,
            "positive": positive,
            "positive_rate": _rate(positive, judged),
            "nothing_pooled": pa.array(is_empty),
        }
    )
    rate = _rate(positive, judged)[judged > 0]
    caption = (
        f"positive rate per question: {n:,} questions, {is_empty.sum():,} with nothing pooled, "
        f"{n - len(rate):,} with nothing judged"
    )
    names = ("least", "quarter", "median", "three quarters", "most", "mean")
    values = [*np.quantile(rate, (0, 0.25, 0.5, 0.75, 1)), np.sort(rate).mean()] if len(rate) else [np.nan] * len(names)
    columns = (*(Column(name, form="share", digits=1) for name in names), Column("all N"), Column("all Y"))
    shown = [*map(float, values), int(np.sum(rate == 0)), int(np.sum(rate == 1))]
    view = pa.table({column.name: [value] for column, value in zip(columns, shown, strict=True)})
    return Table("questions", "positive rate per question", caption, data, columns, view=view)


def _systems(
    names: Sequence[str], scores: NDArray[np.float64], asked: Sequence[str], better: NDArray[np.bool_]
) -> Table:
    """Shown are systems down, measures across, each with the rank beside it."""
    *measures, judged_at = asked
    values, judged = scores[:, 0, :-1], scores[:, 0, -1]
    ranks = _ranks(values, better)
    data = long_table(
        values.shape,
        {
            "system": (0, names),
            "judged_at": int(judged_at.partition("@")[2]),
            "judged": (0, judged),
            "measure": (1, measures),
            "value": values,
            "rank": ranks,
        },
    )
    wide: dict[str, Any] = {"system": pa.array(names, pa.string()), "judged": judged}
    columns = [Column("system"), Column("judged", judged_at)]
    for place, measure in enumerate(measures):
        value, rank, name = (f"{what} {place}" for what in ("value", "rank", "measure"))
        wide |= {value: values[:, place], rank: ranks[:, place], name: [measure] * len(names)}
        columns += [Column(value, measure, digits=name), Column(rank, "rank")]
    return Table("systems", "systems under all judgements", "", data, tuple(columns), view=pa.table(wide))


def _left_out(
    groups: Sequence[_Group],
    names: Sequence[str],
    scores: NDArray[np.float64],
    measures: Sequence[str],
    better: NDArray[np.bool_],
    lost: tuple[NDArray[np.bool_], NDArray[np.bool_]],
) -> Table:
    """Shown is a row per group and measure: of its own systems the one that loses most, and the order's change.

    ``lost`` are the triples that the pool loses without each group, (g, n), and those of them that were judged Y.
    """
    before, after = scores[:, 0, :-1], scores[:, 1:, :-1].transpose(1, 0, 2)
    signed = np.where(better, after, -after).transpose(0, 2, 1), np.where(better, before, -before).T
    is_member = np.array([[name in members for name in names] for _, _, members in groups], np.bool_)
    data = long_table(
        after.shape,
        {
            "kind": (0, [kind for kind, _, _ in groups]),
            "name": (0, [name for _, name, _ in groups]),
            "triples": (0, lost[0].sum(axis=1)),
            "positives": (0, lost[1].sum(axis=1)),
            "system": (1, names),
            "is_left_out": is_member.reshape(*after.shape[:2], 1),
            "measure": (2, measures),
            "before": before,
            "after": after,
            "rank_before": _ranks(before, better),
            "rank_after": _ranks(after, better),
            "tau_b": kendall_tau_b(*signed)[:, None],
            "tau_ap": tau_ap(*signed)[:, None],
        },
    )
    rows_of: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in data.to_pylist():
        rows_of.setdefault((row["kind"], row["name"], row["measure"]), []).append(row)
    shown = []
    for rows in rows_of.values():
        own = [row for row in rows if row["is_left_out"]]
        nobody = rows[0] | {"system": "-", "before": None, "after": None}
        row = max(own, key=lambda row: np.nan_to_num(abs(row["after"] - row["before"])), default=nobody)
        change = row["after"] / row["before"] - 1 if row["before"] else None
        shown.append(row | {"change": change, "rank": f"{row['rank_before']} > {row['rank_after']}" if own else "-"})
    schema = data.schema.append(pa.field("change", pa.float64())).append(pa.field("rank", pa.string()))
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
    return Table("left_out", title, "", data, columns, view=pa.Table.from_pylist(shown, schema))


def _rated(data: pa.Table) -> pa.Table:
    """With the share of positives among the judged triples."""
    rate = _rate(data.column("positive").to_numpy(), data.column("judged").to_numpy())
    return data.append_column("rate", pa.array(rate))


def _rate(positive: NDArray[np.int64], judged: NDArray[np.int64]) -> NDArray[np.float64]:
    return positive / np.where(judged > 0, judged, np.nan)


def _lost_by(pool: Pool, groups: Sequence[tuple[str, ...]]) -> NDArray[np.bool_]:
    """(groups, n) which triples only members of each group contributed."""
    is_from = pool.is_from
    n_runs_of = is_from.sum(axis=0)
    lost = [is_from[np.isin(pool.runs, members)].sum(axis=0) == n_runs_of for members in groups]
    return np.array(lost, np.bool_).reshape(len(groups), len(pool))


def _scores(
    qrels: Qrels, pool: Pool, lost: NDArray[np.bool_], systems: Any, asked: Sequence[str], mixed: bool
) -> tuple[list[str], NDArray[np.float64]]:
    """Names, and (systems, 1 + g, measures) scores with all judgements, then without what each group contributed."""
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
        values.append(system_scores(qrels, kept, system, asked))
    return names, np.array(values).reshape(len(names), len(kept), len(asked))


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


def system_scores(qrels: Qrels, kept: NDArray[np.bool_], system: System, labels: Sequence[str]) -> NDArray[np.float64]:
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


def _ranks(scores: NDArray[np.float64], better: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(..., s, m) 1-based rank of each system by each measure; equal scores share the better rank."""
    signed = np.where(better, scores, -scores)
    higher = signed[..., None, :, :] > signed[..., :, None, :]
    return np.asarray(1 + np.count_nonzero(higher, axis=-2), np.int64)
