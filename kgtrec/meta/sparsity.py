"""The same systems under sparser and fuller labels: how much a measure's ranking depends on what is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.scores import ScoreTable
from kgtrec.data.triples import plain
from kgtrec.errors import KgtrecError, each_warned_once, nearest, one_of
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import System, Systems
from kgtrec.evaluation.prepared import systems_and_measures
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.meta.correlation import Correlations, correlate
from kgtrec.meta.known_measures import Better

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
        correlations = [
            correlate(base, table, None, measures, coefficients, names=(base.name, table.name), better=better)
            for table in several
        ]
    return _joined(correlations)


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
    columns = {name: [label for part in several for label in part.rows[name]] for name in first.rows}
    keys = list(zip(*(labels for name, labels in columns.items() if name not in ("first", "second")), strict=True))
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    order = sorted(range(len(keys)), key=lambda row: number[keys[row]])
    return Correlations(
        {name: tuple(labels[row] for row in order) for name, labels in columns.items()},
        first.coefficients,
        np.concatenate([part.value for part in several])[order],
        first.systems,
        tuple(dict.fromkeys(name for part in several for name in part.left_out)),
    )


def label_scores(
    labels: Mapping[str, Qrels | Collection],
    systems: Systems,
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
    compared = list(given)
    if not labels:
        raise KgtrecError("expected at least one label set, found none")
    columns = _parts(per)
    how = Scoring(**scoring).without("weights")
    if isinstance(relations, str):
        one_of("the relations of one of the label sets", relations, labels)
        relations = relation_shares(labels[relations], how.collection)
    if reduced_from is not None:
        compared = list(without_unlisted_answers(compared, reduced_from, how, parsed))
        scoring["unlisted_answers"] = "candidates"
    scoring["weights"] = relations
    tables = {name: _scored(name, judged, compared, parsed, columns, scoring) for name, judged in labels.items()}
    return _stacked(tables, LABELS)


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
    asked = plain(collection.questions)
    relation = asked.relation[collection.topics_of(qrels.questions)]
    count = np.bincount(relation[qrels.question[qrels.grade >= 1]], minlength=len(asked.relations))
    used = np.flatnonzero(count)
    labels = asked.relations.decode(used).to_pylist()
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

    def table(per: str | None, **sides: Any) -> ScoreTable:
        options: dict[str, Any] = {**scoring, "collection": whole, **sides}
        return ScoreTable.of_scores(evaluate(judged, systems, measures, per=per, **options), name)

    if len(columns) < 2:
        return table(columns[0] if columns else None)
    if whole is None:
        raise KgtrecError("parts by side need the questions' topics, and qrels alone have none: give a collection")
    qrels = judged.qrels if isinstance(judged, Collection) else judged
    is_head = whole.questions.is_head[whole.topics_of(qrels.questions)]
    tables = {side: table(columns[1], sides=(side,)) for side in SIDES if np.any(is_head == (side == SIDES[0]))}
    return _stacked(tables, "side")


def _stacked(tables: Mapping[str, ScoreTable], column: str) -> ScoreTable:
    """The rows of all tables, whose names are a first key."""
    keys = {column: tuple(name for name, table in tables.items() for _ in table.key_rows)}
    for key in next(iter(tables.values())).keys:
        keys[key] = tuple(label for table in tables.values() for label in table.keys[key])
    values = np.concatenate([table.values for table in tables.values()], axis=2)
    return replace(next(iter(tables.values())), values=values, keys=keys, name="")
