"""The same systems under sparser and fuller labels: how much a measure's ranking depends on what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.run import Run
from kgtrec.data.scores import ScoreTable
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, each_warned_once, nearest, one_of
from kgtrec.evaluation.evaluate import evaluate, systems_and_measures
from kgtrec.evaluation.given import System
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.meta.correlation import Correlations, correlate
from kgtrec.meta.known_measures import Better

if TYPE_CHECKING:
    import pandas as pd

LABELS = "labels"  # the key column of label sets
PER = ("side", "category", "relation")


def sparsity(
    tables: ScoreTable | Sequence[ScoreTable],
    measures: Any = None,
    *,
    by: str | None = None,
    reference: str | None = None,
    coefficients: str | Sequence[str] = "tau",
    better: Mapping[str, Better] | None = None,
) -> Correlations:
    """Correlate the ranking of systems under each of several label sets with that under one, for each measure.

    Parameters
    ----------
    tables : ScoreTable, or several of different names
        One table with a key column of label sets, such as the pool depth; or one table for each label set. Other keys,
        such as relation categories, are ranked separately.
    measures : str, measure, or several of them, optional
        Default: all that the tables have.
    by : str, optional
        The key column of label sets; may be left out if there is only one, or one called ``labels``
        or ``depth``.
    reference : str, optional
        The label set that the others are compared with. Default: the first, which is the shallowest depth.
    coefficients, better
        As for :func:`kgtrec.meta.correlate`.

    Returns
    -------
    Correlations
        Rows ``first`` (the reference), ``second`` (each label set, the reference too), ``measure``, and other keys.

    Raises
    ------
    KgtrecError
        If there is only one label set, no such reference or key column, or as ``correlate``.

    References
    ----------
    Zhou et al. (2022), Re-thinking Knowledge Graph Completion Evaluation from an Information Retrieval Perspective,
    SIGIR, figures 3 to 5 and table 4.

    Examples
    --------
    >>> values = np.array([[[0.9, 0.1]], [[0.8, 0.2]], [[0.7, 0.3]]])
    >>> table = ScoreTable(("a", "b", "c"), ("micro_mrr",), values, {"Depth": ("0", "1")})
    >>> sparsity(table).value.ravel().tolist()
    [1.0, -1.0]
    """
    several = _by_label(tables, by) if isinstance(tables, ScoreTable) else list(tables)
    names = [table.name for table in several]
    if len(several) < 2:
        raise KgtrecError(f"expected at least two label sets to compare, found {', '.join(names) or 'none'}")
    if len(set(names)) < len(names) or "" in names:
        raise KgtrecError(f"expected label sets of different names, found {', '.join(map(repr, names))}")
    chosen = names[0] if reference is None else str(reference)
    one_of("a reference among the label sets", chosen, names)
    base = several[names.index(chosen)]
    with each_warned_once(set()):
        found = [
            correlate(base, table, None, measures, coefficients, names=(base.name, table.name), better=better)
            for table in several
        ]
    return _joined(found)


def _by_label(table: ScoreTable, by: str | None) -> list[ScoreTable]:
    """A table for each label of a key column."""
    columns = list(table.keys)
    if by is None:
        known = [name for name in columns if name.casefold() in (LABELS, "depth")] or columns
        if len(known) != 1:
            raise KgtrecError(
                "expected one key column of label sets, such as a depth, found "
                + (f"{', '.join(columns)}; name one" if columns else "none")
            )
        by = known[0]
    if by not in table.keys:
        raise KgtrecError(
            f"expected a key column of the table ({', '.join(columns) or 'none'}), found {by!r}{nearest(by, columns)}"
        )
    return [replace(table.at(**{by: label}), name=label) for label in dict.fromkeys(table.keys[by])]


def _joined(several: Sequence[Correlations]) -> Correlations:
    """The rows of all, grouped by measure and key; measures and keys that one lacks are left out there."""
    first = several[0]
    columns = {name: [label for found in several for label in found.rows[name]] for name in first.rows}
    keys = list(zip(*(labels for name, labels in columns.items() if name not in ("first", "second")), strict=True))
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    order = sorted(range(len(keys)), key=lambda row: number[keys[row]])
    return Correlations(
        {name: tuple(labels[row] for row in order) for name, labels in columns.items()},
        first.coefficients,
        np.concatenate([found.value for found in several])[order],
        first.systems,
        tuple(dict.fromkeys(name for found in several for name in found.left_out)),
    )


def label_scores(
    labels: Mapping[str, Qrels | Collection],
    systems: System | pd.DataFrame | Iterable[System] | Mapping[str, System | pd.DataFrame],
    measures: Any = None,
    *,
    per: str | Sequence[str] = (),
    relations: str | Mapping[str, float] | None = None,
    reduced_from: Qrels | None = None,
    **scoring: Unpack[ScoringOptions],
) -> ScoreTable:
    """Score the same systems under several label sets, as input of :func:`sparsity`.

    Parameters
    ----------
    labels : mapping from names to Qrels or Collection
        Such as the qrels of every pool depth, the shallowest first.
    systems, measures, **scoring
        As :func:`kgtrec.evaluate` takes them: collection, ties, missing, unlisted_answers, sides, seed, mixed. Answer
        ranks need a row for all that is judged (kgtrec rank --judged).
    per : {"side", "category", "relation"}, or "side" with one of the others
        Scores of each part of the questions; the parts become keys.
    relations : str or mapping from relation to share, optional
        Fix the distribution of relations: to that of the answers of the label set of this name, or to the given
        shares. A relation without answers in a label set drops out, and the others share its part.
    reduced_from : Qrels, optional
        The judgements that the label sets are parts of, as qrels by pool depth are of the deepest. An answer among them
        that a label set lacks is a missing label, and stays a candidate whatever ``unlisted_answers`` is.

    Returns
    -------
    ScoreTable
        Keys ``labels`` and ``per``.

    Raises
    ------
    KgtrecError
        If parts or relations are asked for without a collection, an option is unknown, or as ``evaluate``.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 5: sparse and full labels by relation category, and with the relation
    distribution of the sparse ones.
    """
    given, parsed = systems_and_measures(systems, measures)
    found = list(given)
    if not labels:
        raise KgtrecError("expected at least one label set, found none")
    columns = _parts(per)
    how = Scoring(**scoring).without("weights")
    if isinstance(relations, str):
        one_of("the relations of one of the label sets", relations, labels)
        relations = relation_shares(labels[relations], how.collection)
    if reduced_from is not None:
        found = list(without_unlisted_answers(found, reduced_from, how, parsed))
        scoring["unlisted_answers"] = "candidates"
    scoring["weights"] = relations
    tables = [_scored(name, judged, found, parsed, columns, scoring) for name, judged in labels.items()]
    first = tables[0]
    keys = {LABELS: tuple(table.name for table in tables for _ in table.key_rows)}
    keys |= {column: tuple(label for table in tables for label in table.keys[column]) for column in columns}
    return ScoreTable(first.systems, first.measures, np.concatenate([table.values for table in tables], axis=2), keys)


def _parts(per: str | Sequence[str]) -> list[str]:
    columns = [per] if isinstance(per, str) else list(dict.fromkeys(per))
    for name in columns:
        one_of("parts by", name, PER)
    if len(columns) > 2 or (len(columns) == 2 and "side" not in columns):
        raise KgtrecError(
            f"expected parts by one of {', '.join(PER)}, or by side and another, found {', '.join(columns)}"
        )
    return sorted(columns, key=lambda name: name != "side")


def relation_shares(qrels: Qrels | Collection, collection: Collection | None = None) -> dict[str, float]:
    """Return the share of the answers that each relation has.

    Raises
    ------
    KgtrecError
        If there is no collection with the relations.
    """
    if isinstance(qrels, Collection):
        collection, qrels = qrels, qrels.qrels
    if collection is None:
        raise KgtrecError("relations need the questions' topics, and qrels alone have none: give a collection")
    relation = collection.questions.relation[collection.topics_of(qrels.questions)]
    count = np.bincount(relation[qrels.question[qrels.grade >= 1]], minlength=len(collection.relations))
    used = np.flatnonzero(count)
    labels = collection.relations.decode(used).to_pylist()
    return dict(zip(labels, (count[used] / count.sum()).tolist(), strict=True))


def _scored(
    name: str,
    judged: Qrels | Collection,
    systems: Sequence[System],
    measures: Any,
    columns: Sequence[str],
    scoring: ScoringOptions,
) -> ScoreTable:
    whole = judged if isinstance(judged, Collection) else scoring.get("collection")

    def table(qrels: Qrels | Collection, per: str | None, side: bool = False) -> ScoreTable:
        own = [_on_side(system, qrels, judged) for system in systems] if side else systems
        scores = evaluate(qrels, own, measures, per=per, **scoring | {"collection": whole})
        return ScoreTable.of_scores(scores, name)

    if len(columns) < 2:
        return table(judged, columns[0] if columns else None)
    parts = [(side, _of_side(judged, whole, side)) for side in SIDES]
    tables = [(side, table(qrels, columns[1], side=True)) for side, qrels in parts if qrels is not None]
    keys = {
        "side": tuple(side for side, part in tables for _ in part.key_rows),
        columns[1]: tuple(label for _, part in tables for label in part.keys[columns[1]]),
    }
    return replace(tables[0][1], values=np.concatenate([part.values for _, part in tables], axis=2), keys=keys)


def _on_side(system: System, qrels: Qrels | Collection, judged: Qrels | Collection) -> System:
    """A system whose run answers none of one side's questions, but some of the other's, has empty lists there."""
    side, whole = (found.qrels if isinstance(found, Collection) else found for found in (qrels, judged))
    if isinstance(system, AnswerRanks) or np.any(side.questions.encode(system.questions.labels) >= 0):
        return system
    if not np.any(whole.questions.encode(system.questions.labels) >= 0):
        return system  # of another collection, which is reported later
    none = np.zeros(0, np.int32)
    return Run(system.name, none, none, np.zeros(0), Vocabulary.of([]), system.entities, system.collection)


def _of_side(judged: Qrels | Collection, collection: Collection | None, side: str) -> Qrels | None:
    """The judgements of one side's questions; None if there are none."""
    if collection is None:
        raise KgtrecError("parts by side need the questions' topics, and qrels alone have none: give a collection")
    qrels = judged.qrels if isinstance(judged, Collection) else judged
    is_own = collection.questions.is_head[collection.topics_of(qrels.questions)] == (side == SIDES[0])
    found = replace(qrels.of_questions(np.flatnonzero(is_own)), collection="")
    return found if len(found) else None
