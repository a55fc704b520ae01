"""kgtrec as one of ir-measures' providers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from ir_measures import Evaluator, Measure, Metric, Provider

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.errors import MeasureError, kind_of
from kgtrec.evaluation.given import judgements_of, qrels_of, system_of
from kgtrec.evaluation.listed_ranks import ranks_of_lists
from kgtrec.ir_measures.measures import CANDIDATES, LISTED, KgtrecMeasure
from kgtrec.ir_measures.values import Evaluated, QuestionValue
from kgtrec.measures.names import ParsedMeasure, parse_measure


class KgtrecProvider(Provider):
    """Computes the measures that kgtrec has, ir-measures' own among them, from whatever :func:`kgtrec.evaluate` takes.

    Qrels may be a collection and a run may be answer ranks, which have exact ranks and numbers of candidates.
    """

    NAME = "kgtrec"

    def supports(self, measure: Measure) -> bool:
        """Return whether kgtrec computes a measure itself."""
        measure.validate_params()
        try:
            return isinstance(_parsed(measure), ParsedMeasure)
        except MeasureError:
            return False

    def _evaluator(self, measures: Iterable[Measure], qrels: Any) -> KgtrecEvaluator:
        return KgtrecEvaluator(measures, qrels)


class KgtrecEvaluator(Evaluator):
    """Several measures with one set of qrels, for several runs."""

    def __init__(self, measures: Iterable[Measure], qrels: Any) -> None:
        self._qrels = qrels_of(qrels)
        self._judged = judgements_of(self._qrels)
        super().__init__(list(measures), self._judged.questions.labels.to_pylist())

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        system = system_of(run)
        groups: dict[int | str | None, list[Measure]] = {}  # of measures that see the same lists
        for measure in self.measures:
            candidates = measure.candidates if isinstance(measure, KgtrecMeasure) else None
            groups.setdefault(candidates, []).append(measure)
        for candidates, measures in groups.items():
            seen = _ranked(system, self._judged, candidates, measures)
            parsed = [cast(ParsedMeasure, _parsed(measure)) for measure in measures]
            evaluated = Evaluated(self._qrels, seen, parsed)
            for row, (measure, values) in enumerate(zip(measures, evaluated.per_question(), strict=True)):
                for place, (question, value) in enumerate(zip(self.qrel_qids, values.tolist(), strict=True)):
                    yield Metric(question, measure, QuestionValue(value, evaluated, row, place))


def _parsed(measure: Measure) -> Any:
    return measure.parsed if isinstance(measure, KgtrecMeasure) else parse_measure(measure)


def _ranked(
    system: AnyRun | AnswerRanks, qrels: Qrels, candidates: int | str | None, measures: Iterable[Measure]
) -> AnyRun | AnswerRanks:
    """The system as it is, or the answer ranks of its lists, if the number of candidates was given.

    Raises
    ------
    MeasureError
        If a measure needs the number and it was not given, or the system has its own.
    """
    if isinstance(system, AnswerRanks):
        if candidates is not None:
            raise MeasureError(
                f"expected no {CANDIDATES}= for the answer ranks {system.name}, which have their own numbers, found "
                f"{candidates!r}"
            )
        return system
    if candidates is not None:
        if not isinstance(system, Run):
            raise MeasureError(f"expected a run in memory for {CANDIDATES}=, found {kind_of(system)}")
        return ranks_of_lists(system, qrels, None if candidates == LISTED else int(candidates))
    for measure in measures:
        if isinstance(measure, KgtrecMeasure) and measure.needs_candidates:
            raise MeasureError(
                f"{measure!r} needs to know how many candidates each question has, which a run does not say: write "
                f"{measure(candidates=LISTED)!r} if it lists all of them, {measure(candidates=14541)!r} if there are "
                "14,541 for each question, or give kgtrec.read_answer_ranks('NAME.ranks.parquet') as the run"
            )
    return system
