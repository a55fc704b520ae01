"""Values of measures by chance on a data set, from its triples alone, and published numbers compared with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.scores import ChanceTable
from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.errors import CollectionError, KgtrecError, MeasureError, nearest, one_of
from kgtrec.evaluation.summarise import ItemValues, chance_level
from kgtrec.evaluation.weighting import Weighting
from kgtrec.measures.names import (
    AnyMeasure,
    ParsedMeasure,
    named_by_pykeen,
    parse_measure,
    parse_measures,
    two_meanings,
)
from kgtrec.measures.registry import registered

SIDES = ("both", "head", "tail")
_ROOMS = ("micro.", "macro.")
_CUTOFFS = {"micro.Hits": (1, 3, 5, 10), "macro.Hits": (1, 3, 5, 10)}


def adjustable_measures() -> list[str]:
    """Return every measure whose chance level is known, as names; Hits at the usual cutoffs.

    Examples
    --------
    >>> adjustable_measures()[:4]
    ['micro.MR', 'micro.MRR', 'micro.Hits@1', 'micro.Hits@3']
    """
    names = []
    for measure in registered():
        if measure.has_chance and measure.form == "plain":
            cutoffs = _CUTOFFS.get(measure.name, ())
            names += [f"{measure.name}@{cutoff}" for cutoff in cutoffs] if cutoffs else [measure.name]
    return [*names, "AP@20", "nDCG@20"]


def chance_table(collection: Collection, measures: Any = None, *, filtered_by: Sequence[str] = SPLITS) -> ChanceTable:
    """Compute expectation and variance of measures when every order of the candidates is equally likely.

    Parameters
    ----------
    collection : Collection
        Questions, answers and filtered triples; no system is needed.
    measures : str, measure, or several of them, optional
        Default: every measure whose chance level is known.
    filtered_by : sequence of {"train", "valid", "test"}
        Splits whose triples are not candidates, as for :func:`kgtrec.rank_scores`.

    Returns
    -------
    ChanceTable
        One row per measure and side.

    Raises
    ------
    MeasureError
        If a measure's chance level is not known.

    See Also
    --------
    kgtrec.evaluation.adjust : Adjust a published number by the table.
    kgtrec.evaluation.chance_of_split : The same from triples.

    References
    ----------
    Hoyt et al. (2022), arXiv:2203.07544; for measures over questions, a hypergeometric urn.
    """
    rows: list[tuple[str, str, int, float, float]] = []
    list_length, relevant = candidate_counts(collection, filtered_by)
    n, answered = len(list_length), collection.qrels.question[collection.qrels.grade >= 1]
    # where test triples are filtered, the other answers of a question are not candidates of an answer
    others = relevant[answered] - 1 if "test" in filtered_by else 0
    all_items = {
        "questions": (np.arange(n, dtype=np.int32), list_length, relevant),
        "answers": (answered, list_length[answered] - others, None),
    }
    for named in parse_measures(adjustable_measures() if measures is None else measures):
        measure = _knowing_chance(named)
        question, candidates, answers = all_items[measure.items]
        group = np.zeros(len(question), np.int32)
        items = ItemValues(np.zeros(len(question)), group, question, None, candidates, answers)
        items = replace(items, weight=Weighting(None, collection.qrels, collection).of(items, measure))
        is_tail = ~collection.questions.is_head[items.question]
        for sides, group in ((SIDES[:1], np.zeros(len(is_tail), np.int32)), (SIDES[1:], is_tail.astype(np.int32))):
            expectation, variance = chance_level(measure, replace(items, group=group), len(sides), "chance")
            count = np.bincount(group, minlength=len(sides))
            rows += zip([named.label] * len(sides), sides, count, expectation, variance, strict=True)
    return ChanceTable.of(rows)


def chance_of_split(
    train: Triples,
    valid: Triples | None,
    test: Triples,
    split: str,
    measures: Any = None,
    *,
    filtered_by: Sequence[str] = SPLITS,
) -> ChanceTable:
    """Compute :func:`chance_table` for the questions of any split's triples; those of the other two are filtered.

    Parameters
    ----------
    train, valid, test : Triples
        ``valid`` may be None.
    split : {"train", "valid", "test"}
        Whose triples are asked for: repeated ones count once, and those that are in another split too, or whose
        entities train lacks, are kept.
    measures : str, measure, or several of them, optional
        The rows of the table, as for :func:`chance_table`.
    filtered_by : sequence of {"train", "valid", "test"}
        Splits whose triples are not candidates; including that of the questions, other answers of a question are not
        candidates either.

    Raises
    ------
    KgtrecError
        If there is no such split, or it has no triples.
    MeasureError
        If a measure's chance level is not known.

    Examples
    --------
    >>> none = Triples.of([])
    >>> valid = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> table = chance_of_split(Triples.of([("ann", "likes", "jam")]), valid, none, "valid", "micro.MR")
    >>> table.level("micro.MR", "tail")[0]  # ann has three candidates, since jam is filtered; bob has four
    2.25
    """
    triples = dict(zip(SPLITS, (train, Triples.of([]) if valid is None else valid, test), strict=True))
    one_of("a split of", split, SPLITS)
    if len(triples[split]) == 0:
        raise KgtrecError(f"expected {split} triples to ask for, found none")
    # questions are made from the third argument, whichever split it is
    order = [*(name for name in SPLITS if name != split), split]
    role = dict(zip(order, SPLITS, strict=True))
    collection = build_questions(*(triples[name] for name in order), ids=True)  # ids: any label is allowed
    return chance_table(collection, measures, filtered_by=[role[name] for name in filtered_by])


def _knowing_chance(measure: AnyMeasure) -> ParsedMeasure:
    """The measure, or the form of it that has its chance level: for AP@20 it is AAP@20."""
    if isinstance(measure, ParsedMeasure):
        if measure.record.has_chance and measure.record.form == "plain":
            return measure
        if measure.record.name in ("AP", "nDCG"):
            return cast(ParsedMeasure, parse_measure(f"A{measure.label}"))
    names, label = adjustable_measures(), measure.label
    plain = _plain_of(measure)
    if plain is not None:
        raise MeasureError(f"{label} is adjusted for chance already; expected a plain measure, such as {plain}")
    same = [f"{room}{label}" for room in _ROOMS if f"{room}{label}" in names]
    hint = f"; did you mean {' or '.join(same)}?" if same else nearest(label, names)
    raise MeasureError(f"{label}: its value by chance is unknown{hint}")


def _plain_of(measure: AnyMeasure) -> str | None:
    """The name of the measure that an adjusted one belongs to; None if it is not adjusted."""
    if measure.record.form == "plain":
        return None
    cutoff = measure.parameters.get("cutoff")
    return measure.record.adjusts if cutoff is None else f"{measure.record.adjusts}@{cutoff}"


def candidate_counts(
    collection: Collection, filtered_by: Sequence[str] = SPLITS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (n_questions,) candidates and answers of each question.

    Filtered entities of the splits in ``filtered_by`` are not candidates, unless they are answers.

    Raises
    ------
    CollectionError
        If the collection is an entity alignment.
    """
    if collection.is_alignment:
        raise CollectionError(
            "this is the collection of an entity alignment, whose candidates are the entities of one side only; "
            "evaluate its answer ranks, which have the numbers of candidates (micro.AMRI, micro.ZMR, ...)"
        )
    width = len(collection.entities)
    answers, removed = (
        np.bincount(keys // width, minlength=len(collection.questions)).astype(np.int64)
        for keys in collection.answers_and_filtered(filtered_by)
    )
    return collection.sizes - removed, answers


def _not_in_table(measure: str, names: Sequence[str]) -> str:
    """The message about a measure that a chance table lacks."""
    try:
        parsed = parse_measure(measure)
        name, plain = parsed.label, _plain_of(parsed)
        if plain is not None:
            return f"{name} is adjusted for chance already; expected a plain measure, such as {plain}"
        _knowing_chance(parsed)
        return (
            f"the chance table has no {name}; make one with it: kgtrec chance COLLECTION -m {name} --out FILE. "
            f"It has {', '.join(names)}"
        )
    except MeasureError:
        pass
    hint = nearest(f"micro.{measure}", names)
    return f"the chance table has no measure {measure!r}{hint}{'' if hint else ';'} it has {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Adjusted(Result):
    """A published number, compared with chance."""

    measure: str
    side: str
    value: float
    expectation: float
    variance: float
    index: float  # 0 = chance, 1 = best
    z: float  # standard deviations better than chance
    ratio: float  # value / expectation

    def tables(self) -> tuple[Table]:
        """Return ``adjusted``, a single row."""
        columns = (
            Column("measure"),
            Column("side"),
            Column("value", form="significant", digits=6),
            Column("expectation", "chance", digits="measure"),
            Column("index"),
            Column("z", digits=2),
        )
        return (Table("adjusted", "", "", pa.Table.from_pylist([asdict(self)]), columns, upright=True),)


def adjust(measure: Any, value: float, table: ChanceTable, *, side: str = "both") -> Adjusted:
    """Adjust a number that was published without its ranks.

    Parameters
    ----------
    measure : str or measure
        Its name, ``"micro.MRR"``, or PyKEEN's (``"inverse_harmonic_mean_rank"``); or one of ir-measures' objects.
    value : float
        The published number.
    table : ChanceTable
        Of the same data set, with the same filter.
    side : {"both", "head", "tail"}
        The questions that the number is a mean over. Default: both sides.

    Raises
    ------
    KgtrecError
        If the table has no such measure or side, or the value is outside the measure's bounds.

    See Also
    --------
    kgtrec.evaluation.chance_table : Make the table.

    Examples
    --------
    >>> table = ChanceTable.of([("micro.MR", "both", 10, 5.0, 0.5)])
    >>> adjust("micro.MR", 2.0, table).index
    0.75
    """
    names = list(dict.fromkeys(table.measure))
    measure = measure if isinstance(measure, str) else parse_measure(measure).label
    if measure.startswith("sampled."):
        parse_measure(measure)  # refuses it
    if wrong := two_meanings(measure):
        raise MeasureError(wrong)
    name = named_by_pykeen(measure) or measure
    if name not in names:
        raise KgtrecError(_not_in_table(measure, names))
    one_of("a side of", side, SIDES)
    expectation, variance = table.level(name, side)
    record = parse_measure(name).record
    low, high = record.bounds
    if not low <= value <= high:
        raise KgtrecError(f"expected a value of {name} from {low:g} to {high:g}, found {value:g}")
    room, spread = record.optimum - expectation, math.sqrt(variance)
    flip = -1.0 if record.better == "lower" else 1.0
    return Adjusted(
        name,
        side,
        value,
        expectation,
        variance,
        index=(value - expectation) / room if room else math.nan,
        z=flip * (value - expectation) / spread if spread else math.nan,
        ratio=value / expectation if expectation else math.nan,
    )
