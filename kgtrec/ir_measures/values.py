"""Values of questions that know the total they are part of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.scores import Scores
from kgtrec.data.streamed_run import AnyRun
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.measures.names import ParsedMeasure


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One system, scored by several measures."""

    qrels: Qrels | Collection
    system: AnyRun | AnswerRanks
    measures: Sequence[ParsedMeasure]

    @property
    def judgements(self) -> Qrels:
        return self.qrels.qrels if isinstance(self.qrels, Collection) else self.qrels

    def per_question(self) -> NDArray[np.float64]:
        """(measures, questions) values, in the order of the questions of the qrels.

        Raises
        ------
        MeasureError
            If answers below the ends of cut lists leave a value open.
        """
        if not isinstance(self.system, AnswerRanks) or self.system.cut is None:
            return _of_one(evaluate(self.qrels, self.system, self.measures, per="question"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # that values have bounds, while none is returned that has
            scores = evaluate(self.qrels, self.system, self.measures, per="question")
        self._require_exact(scores)
        return _of_one(scores)

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """(measures,) as :func:`kgtrec.evaluate` gives them."""
        return self._totals(self.qrels)

    def totals_of(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """(measures,) over some questions, given as rows of those of the qrels."""
        if len(rows) == len(self.judgements.questions):
            return self.totals
        return self._totals(self.judgements.of_questions(np.unique(rows)))

    def _totals(self, qrels: Qrels | Collection) -> NDArray[np.float64]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # given with the values of the questions already
            return _of_one(evaluate(qrels, self.system, self.measures))[:, 0]

    def _require_exact(self, scores: Scores) -> None:
        if scores.least is None or scores.most is None:
            return
        least, most, value = scores.least[0], scores.most[0], scores.values[0]
        wrong = np.argwhere((least != most) & ~(np.isnan(least) & np.isnan(most) & np.isnan(value)))
        if len(wrong):
            measure, question = wrong[0]
            between = f", from {least[tuple(wrong[0])]:.4g} to {most[tuple(wrong[0])]:.4g}"
            raise MeasureError(
                f"{self.measures[measure].label}: expected lists that have the answers, found that of question "
                f"{self.judgements.questions[int(question)]} to end above one of them, or in a tie with it; its value "
                f"is open{'' if np.isnan(least[tuple(wrong[0])]) else between}. Longer lists have it, and kgtrec "
                "evaluate shows the least and the most of systems that were ranked from lists"
            )


def _of_one(scores: Scores) -> NDArray[np.float64]:
    """(measures, items) values of the only system."""
    values: NDArray[np.float64] = scores.values[0]
    return values


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
        found = super().__new__(cls, value)
        found.evaluated, found.measure, found.question = evaluated, measure, question
        return found

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
    """One number of the values of questions: kgtrec's total over these questions.

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
    return float(first.evaluated.totals_of(rows)[first.measure])
