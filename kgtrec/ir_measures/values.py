"""Values of questions that know the total they are part of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun
from kgtrec.data.scores import Scores
from kgtrec.errors import KgtrecError, MeasureError, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import judgements_of
from kgtrec.measures.names import ParsedMeasure


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One system, scored by several measures."""

    qrels: Qrels | Collection
    system: AnyRun | AnswerRanks
    measures: Sequence[ParsedMeasure]

    def per_question(self) -> NDArray[np.float64]:
        """Return the (measures, questions) values, in the order of the questions of the qrels.

        Raises
        ------
        MeasureError
            If answers below the ends of cut lists leave a value open.
        """
        if not isinstance(self.system, AnswerRanks) or self.system.cut is None:
            return evaluate(self.qrels, self.system, self.measures, per="question").values[0]
        scores = self._quiet_scores(self.qrels, per="question")  # it would warn of bounds, and none is returned
        if len(wrong := np.argwhere(_is_open(scores))):
            measure, question = map(int, wrong[0])
            holder = f"that of question {judgements_of(self.qrels).questions[question]}"
            raise self._refused(scores, measure, question, holder, "value")
        return scores.values[0]

    @cached_property
    def _whole(self) -> Scores:
        return self._quiet_scores(self.qrels)  # the warnings were given with the values of the questions

    def total(self, measure: int, rows: Sequence[int]) -> float:
        """Return the total of one measure over some questions, given as rows of those of the qrels.

        Raises
        ------
        MeasureError
            If answers below the ends of cut lists leave it open. The median over all answers may be, where the median
            of each question is known.
        """
        judgements = judgements_of(self.qrels)
        is_part = len(rows) != len(judgements.questions)
        scores = self._quiet_scores(judgements.of_questions(np.unique(rows))) if is_part else self._whole
        if _is_open(scores)[measure, 0]:
            raise self._refused(scores, measure, 0, "that of some question", "total")
        return float(scores.values[0, measure, 0])

    def _quiet_scores(self, qrels: Qrels | Collection, per: str | None = None) -> Scores:
        with unwarned():
            return evaluate(qrels, self.system, self.measures, per=per)

    def _refused(self, scores: Scores, measure: int, item: int, holder: str, what: str) -> MeasureError:
        least, most = (float(end[measure, item]) for end in _ends(scores))
        between = "" if np.isnan(least) else f", from {least:.4g} to {most:.4g}"
        return MeasureError(
            f"{self.measures[measure].label}: expected lists that have the answers, found {holder} to end above one of "
            f"them, or in a tie with it; its {what} is open{between}. Longer lists have it, and kgtrec evaluate shows "
            "the least and the most of systems that were ranked from lists"
        )


def _ends(scores: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(measures, items) the least and the most of the only system: its values, if no list of it is cut."""
    value, least, most = scores.values, scores.least, scores.most
    return (value if least is None else least)[0], (value if most is None else most)[0]


def _is_open(scores: Scores) -> NDArray[np.bool_]:
    """(measures, items) which values have a least and a most that differ."""
    least, most = _ends(scores)
    return (least != most) & ~(np.isnan(least) & np.isnan(most) & np.isnan(scores.values[0]))


class QuestionValue(float):
    """The value of one question, and where it is from.

    Values of which the total is not the mean refuse to be added up, as programs do that ignore the measure's
    aggregator.
    """

    __slots__ = ("evaluated", "measure", "question")

    evaluated: Evaluated
    measure: int  # row of its measures
    question: int  # row of the questions of its qrels

    def __new__(cls, value: float, evaluated: Evaluated, measure: int, question: int) -> QuestionValue:
        """A number as any other, with notes."""
        number = super().__new__(cls, value)
        number.evaluated, number.measure, number.question = evaluated, measure, question
        return number

    def _plus(self, other: float) -> float:
        record = self.evaluated.measures[self.measure].record
        if record.items == "questions" and record.form == "plain" and record.aggregate == "mean":
            return float(self) + float(other)
        raise KgtrecError(
            f"{record.name}: expected its total from the measure's aggregator, found a sum of values of questions, "
            "whose mean is another number; ir_measures.calc_aggregate and pt.Evaluate give the total, pt.Experiment "
            "with perquery=True the values"
        )

    __add__ = __radd__ = _plus

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)


def total(label: str, values: Sequence[float]) -> float:
    """Return one number of the values of questions: kgtrec's total over these questions.

    Raises
    ------
    KgtrecError
        If they are of several systems, or have lost where they are from.
    """
    if not values:
        return math.nan
    first = values[0]
    if not isinstance(first, QuestionValue) or not all(
        isinstance(value, QuestionValue) and value.evaluated is first.evaluated and value.measure == first.measure
        for value in values
    ):
        raise KgtrecError(
            f"{label}: expected the values that ir_measures.iter_calc gave for one run, found others; its total is not "
            "their mean, so evaluate the whole run at once"
        )
    rows = [value.question for value in values if isinstance(value, QuestionValue)]
    return first.evaluated.total(first.measure, rows)
