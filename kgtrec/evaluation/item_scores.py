"""From runs or answer ranks, and qrels, to the score of each system on each answer or question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, Unpack

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.frames import frame_of_table
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, MeasureError
from kgtrec.evaluation.given import AnyQrels, Systems
from kgtrec.evaluation.prepared import prepared
from kgtrec.evaluation.scoring import Scoring, ScoringOptions
from kgtrec.evaluation.summarise import ItemValues, chance_level, fraction, require_candidates, sign_of, warn_undefined
from kgtrec.measures.aggregate import LINKS, aggregate_groups
from kgtrec.measures.names import AnyMeasure
from kgtrec.measures.record import Aggregate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """A value per system and item; column i is the same answer, or question, for every system.

    Answers are in the order of the qrels; questions in byte order of their ids. NaN where a measure has no value for
    an item. ``aggregate`` and ``weight`` say how values become one number: see
    ``kgtrec.evaluation.item_scores.totals``.
    """

    measure: str  # as spelled by the caller
    items: Literal["answers", "questions"]
    higher_is_better: bool
    aggregate: Aggregate  # how the values of the items become one number
    systems: tuple[str, ...]
    value: NDArray[np.float64]  # (systems, n)
    question: NDArray[np.int32]  # (n,) row in questions; answers of one question are not independent
    questions: Vocabulary
    entity: NDArray[np.int32] | None = None  # (n,) row in entities; None where items are questions
    entities: Vocabulary | None = None
    weight: NDArray[np.float64] | None = None  # (n,) of at least 0, on any scale; None: each item counts the same

    def __len__(self) -> int:
        return len(self.question)

    def __repr__(self) -> str:
        return f"<ItemScores: {self.measure}, {len(self.systems)} systems x {len(self):,} {self.items}>"

    @property
    def label_order(self) -> NDArray[np.intp]:
        """(n,) the items by the bytes of their questions' labels, then of their entities'."""
        keys = [self.questions.byte_order[self.question]]
        if self.entity is not None and self.entities is not None:
            keys.insert(0, self.entities.byte_order[self.entity])
        return np.lexsort(keys)

    def by_group(self, group: NDArray[np.int32], size: int) -> NDArray[np.float64]:
        """Return (systems, size) the measure's value on each group of items, of which ``group`` has the numbers."""
        how, in_order = self.aggregate, self.items == "questions"
        found = [aggregate_groups(own, group, size, how, self.weight, in_order=in_order) for own in self.value]
        return np.stack(found)

    def to_frame(self) -> pd.DataFrame:
        """Return the long form: system, measure, question, entity of answers, value, weight if any; items innermost."""
        columns: dict[str, Any] = {"system": (0, self.systems), "measure": self.measure}
        columns["question"] = 1, self.questions.decode(self.question)
        if self.entity is not None and self.entities is not None:
            columns["entity"] = 1, self.entities.decode(self.entity)
        columns["value"] = self.value
        if self.weight is not None:
            columns["weight"] = self.weight
        return frame_of_table(long_table(self.value.shape, columns))


def item_scores(
    qrels: AnyQrels, systems: Systems, measures: Any = None, **scoring: Unpack[ScoringOptions]
) -> dict[str, ItemScores]:
    """Score each system on each item, with the items of a measure aligned over the systems.

    Parameters
    ----------
    qrels, systems, measures, **scoring
        As for :func:`kgtrec.evaluate`: collection, ties, missing, unlisted_answers, sides, weights, seed, mixed.

    Returns
    -------
    dict of str to ItemScores
        By the measures' names as given. Means over the items (:func:`totals`) are the values of
        :func:`kgtrec.evaluate`: a measure that is adjusted for chance has the items' differences from chance, scaled
        so that their mean is the measure.

    Raises
    ------
    MeasureError
        As :func:`kgtrec.evaluate`; or if a measure has no values of items, such as ``micro.AGMRI``, or is a median
        while the order of ties is left open.
    CollectionError
        As :func:`kgtrec.evaluate`; or if the systems were not scored on the same items, which ``missing="skip"`` may
        cause.

    Warns
    -----
    KgtrecWarning
        As :func:`kgtrec.evaluate`.

    See Also
    --------
    kgtrec.evaluate : Their means.

    Examples
    --------
    >>> import pandas as pd
    >>> qrels = pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    >>> one = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["x", "a"], "score": [2.0, 1.0]})
    >>> two = pd.DataFrame({"query_id": ["q2"], "doc_id": ["b"], "score": [1.0]})
    >>> item_scores(qrels, {"one": one, "two": two}, "RR")["RR"].value.tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """
    inputs = prepared(qrels, systems, measures, Scoring(**scoring))
    names: list[str] = []
    items: dict[str, list[ItemValues]] = {measure.label: [] for measure in inputs.measures}
    for system in inputs.systems:
        matched = inputs.matched(system)
        names.append(matched.name)
        for measure in inputs.measures:
            items[measure.label].append(as_terms(measure, inputs.items_of(measure, matched), matched.name))
    return {
        measure.label: stacked(measure, tuple(names), items[measure.label], inputs.qrels) for measure in inputs.measures
    }


def is_scored(scores: Any) -> TypeGuard[Mapping[str, ItemScores]]:
    """Check whether a caller holds what :func:`item_scores` gives."""
    return isinstance(scores, Mapping) and all(isinstance(items, ItemScores) for items in scores.values())


def scored_items(
    qrels: Any, systems: Any = None, measures: Any = None, **scoring: Unpack[ScoringOptions]
) -> Mapping[str, ItemScores]:
    """Call :func:`item_scores`; its result, in place of ``qrels`` and without systems, is returned as it is.

    Raises
    ------
    KgtrecError
        If there is neither; or as :func:`item_scores`.

    Examples
    --------
    >>> scores = scored_items({"q1": {"a": 1}}, {"one": {"q1": {"a": 0.5}}}, "RR")
    >>> scored_items(scores) is scores
    True
    """
    if systems is not None:
        return item_scores(qrels, systems, measures, **scoring)
    if not is_scored(qrels) or measures is not None or scoring.keys() - {"seed"}:
        raise KgtrecError("expected systems to score, found none; item scores are scored already")
    return qrels


def as_terms(measure: AnyMeasure, items: ItemValues, name: str) -> ItemValues:
    """Return items from whose values the measure is aggregated directly."""
    record = measure.record
    if items.open_ranks is not None:
        raise MeasureError(
            f"{measure.label} has no values of answers while the order of ties is left open; choose another rule for "
            "ties: realistic, optimistic or pessimistic"
        )
    if record.form == "plain":
        return items
    if record.chance is None:
        raise MeasureError(
            f"{measure.label} compares one number of all items with chance, and so has no values of items; use "
            f"{record.adjusts or 'the plain measure'}, which orders systems in the same way"
        )
    require_candidates(measure, items, name)
    above, below = fraction(measure, items)
    spread = float(np.sqrt(chance_level(measure, items, 1, name)[1][0])) if record.form == "z" else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        value = sign_of(measure) * above / (below.mean() * spread)
    if below.mean() * spread == 0:
        value = np.full(len(value), np.nan)
        warn_undefined(measure, name, "chance gives the best value too, as when every list has one candidate")
    return replace(items, value=value, weight=None)


def stacked(measure: AnyMeasure, names: tuple[str, ...], several: list[ItemValues], qrels: Qrels) -> ItemScores:
    """Return the items of several systems, as :func:`as_terms` gives each, checked to be the same ones."""
    first = several[0]
    for name, items in zip(names, several, strict=True):
        if not np.array_equal(items.question, first.question):
            raise CollectionError(
                f"{measure.label}: {name} was scored on {len(items.question)} {measure.items}, {names[0]} on "
                f"{len(first.question)} or on others, and paired values need the same ones; count questions that a "
                "run lacks as empty lists (missing='zero')"
            )
    relevant = np.flatnonzero(qrels.grade >= 1) if measure.items == "answers" else None
    return ItemScores(
        measure.label,
        measure.items,
        higher_is_better(measure),
        "mean" if measure.record.form != "plain" else measure.record.aggregate,
        names,
        np.array([items.value for items in several]),
        first.question,
        qrels.questions,
        None if relevant is None else qrels.entity[relevant],
        None if relevant is None else qrels.entities,
        first.weight,
    )


def higher_is_better(measure: AnyMeasure) -> bool:
    """Check whether a better system has the higher value.

    Examples
    --------
    >>> from kgtrec.measures.names import parse_measures
    >>> [higher_is_better(measure) for measure in parse_measures("micro.MR micro.ZMR micro.ZMR(flipped=False) AP")]
    [False, True, False, True]
    """
    if measure.parameters.get("flipped") is False:
        return not measure.record.lower_is_better
    return measure.record.better != "lower"


def terms(scores: ItemScores) -> NDArray[np.float64]:
    """Return (systems, n) values whose plain mean per system determines the measure's value.

    They are the values themselves for means; their logarithms for geometric means, their inverses for harmonic ones;
    and each times its weight divided by the mean weight. Paired tests of a measure are tests of the means of these.
    The direction is that of the linked values: see :func:`higher_terms_are_better`.

    Raises
    ------
    MeasureError
        If the value is not a mean of items, such as a median.

    Examples
    --------
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> rank = np.array([[1.0, 100.0]])
    >>> row, questions = np.arange(2), Vocabulary.of(["q1", "q2"])
    >>> gmr = ItemScores("micro.GMR", "answers", False, "geometric mean", ("a",), rank, row, questions)
    >>> float(np.exp(terms(gmr).mean()).round(6)), totals(gmr).round(6).tolist()
    (10.0, [10.0])
    """
    if scores.aggregate == "sum":
        return scores.value
    if scores.aggregate not in LINKS:
        raise MeasureError(f"{scores.measure} is a {scores.aggregate}, not a mean of items, and has no paired test")
    with np.errstate(divide="ignore"):
        linked = LINKS[scores.aggregate].to(scores.value)
    return linked if scores.weight is None else linked * (scores.weight / scores.weight.mean())


def higher_terms_are_better(scores: ItemScores) -> bool:
    """Check whether a better system has the higher mean of :func:`terms`.

    It is the opposite of the measure's direction where that falls as the mean rises: harmonic means and the inverses
    of means.
    """
    falls = scores.aggregate in ("harmonic mean", "inverse mean", "inverse geometric mean")
    return scores.higher_is_better != falls


def totals(scores: ItemScores) -> NDArray[np.float64]:
    """Return (systems,) the measure's value, as in :func:`kgtrec.evaluate`."""
    return scores.by_group(np.zeros(len(scores), np.int32), 1)[:, 0]
