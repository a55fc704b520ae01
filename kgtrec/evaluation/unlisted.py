"""Answers of the collection that the qrels lack: known true answers, which are filtered out unless asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrays import PairSet
from kgtrec.data.collection import Collection
from kgtrec.data.columns import Columns
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.data.triples import SPLITS
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, counted, warn
from kgtrec.evaluation.given import System
from kgtrec.evaluation.scoring import Scoring, UnlistedAnswers
from kgtrec.measures.names import AnyMeasure, ParsedMeasure
from kgtrec.ranking.rank import answers_and_filtered

_WAYS_OUT = {
    "filtered": "--unlisted-answers candidates, in Python unlisted_answers='candidates', keeps them as candidates",
    "candidates": "--unlisted-answers filtered, in Python unlisted_answers='filtered', filters them out",
}


def without_unlisted_answers(
    systems: Iterable[System], qrels: Qrels, scoring: Scoring, measures: Sequence[AnyMeasure] = ()
) -> Iterator[System]:
    """Yield the systems one by one, without the answers of the collection that the qrels lack.

    These are filtered triples then: they are in no list, and no other answer's rank counts them, as if the scores had
    been ranked for a collection in which they are known. Answer ranks carry the answers; a run needs its collection.
    Systems that were not filtered by test triples keep them, since such lists hold all other answers too.

    Parameters
    ----------
    systems : iterable of Run, StreamedRun and AnswerRanks
        Checked to belong to the collection.
    qrels : Qrels
    scoring : Scoring
        ``unlisted_answers="candidates"``: they stay, as for trec_eval, apart from those that train or valid triples
        make known too.
    measures : sequence of measures
        How far down they look under the rule for ties decides whether a cut run can be filtered.

    Raises
    ------
    CollectionError
        If a list of a run is cut, and without these answers shorter than what a measure looks at; or if a run has no
        collection, and the answers are filtered out of answer ranks beside it.

    Warns
    -----
    KgtrecWarning
        Once: how many answers the qrels lack, and which reading was used.
    """
    collection, unlisted_answers = scoring.collection, scoring.unlisted_answers
    judged, warned = _pairs_of(qrels), set[str]()
    as_it_is = ""  # a run without a collection, of which nothing is known
    for system in systems:
        answers, reading = _answers(system, collection), _reading_of(system, unlisted_answers)
        if answers is None:
            as_it_is = as_it_is or system.name
            if system.collection and unlisted_answers == "filtered" and "unknown" not in warned:
                warned.add("unknown")
                warn(
                    "no collection is given (--collection; in Python collection=): answers of it that the qrels lack, "
                    "if any, stay candidates in runs, as for trec_eval"
                )
        else:
            code = qrels.questions.encode(answers.questions.labels)
            is_asked = (code >= 0) & np.isin(code, qrels.question)
            unlisted = is_asked[answers.question] & ~answers.among(judged)
            if number := int(unlisted.sum()):
                gone = answers.take(unlisted & _is_filtered(answers, system, collection, reading))
                system = _without(system, gone, collection, measures, scoring.ties)
                if reading not in warned:
                    warned.add(reading)
                    warn(_message(number, reading, unlisted_answers, system.name))
        if as_it_is and "filtered" in warned:
            raise CollectionError(
                "expected one reading of the answers that the qrels lack, found that they are filtered out of answer "
                f"ranks and stay candidates in the run {as_it_is}; give the collection (--collection; in Python "
                f"collection=), or keep them as candidates everywhere ({_WAYS_OUT['filtered']})"
            )
        yield system


def filtered_if_unlisted(
    system: System, qrels: Qrels, collection: Collection, unlisted_answers: UnlistedAnswers
) -> NDArray[np.bool_]:
    """Find the judgements that :func:`without_unlisted_answers` would filter out if the qrels lacked them, (n,)."""
    answers, reading = _answers(system, collection), _reading_of(system, unlisted_answers)
    if answers is None:
        return np.zeros(len(qrels), np.bool_)
    judged = _pairs_of(qrels)
    return judged.among(answers) & _is_filtered(judged, system, collection, reading)


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs(Columns):
    """Pairs of question and entity, and their labels."""

    question: NDArray[np.int32]  # (n,) row in questions
    entity: NDArray[np.int32]  # (n,) row in entities
    questions: Vocabulary
    entities: Vocabulary

    def among(self, others: _Pairs) -> NDArray[np.bool_]:
        """Return which of the pairs are among the others, (n,)."""
        own = self.recoded(questions=others.questions, entities=others.entities)
        is_among: NDArray[np.bool_] = (own.question >= 0) & (own.entity >= 0)
        pairs = PairSet(others.question, others.entity, len(others.entities))
        is_among[is_among] = pairs.holds(own.question[is_among], own.entity[is_among])
        return is_among


def _pairs_of(table: Qrels | Run | AnswerRanks) -> _Pairs:
    return _Pairs(table.question, table.entity, table.questions, table.entities)


def _answers(system: System, collection: Collection | None) -> _Pairs | None:
    """The answers of the collection that are not filtered yet; None: they are unknown."""
    if isinstance(system, AnswerRanks):
        own = system.answer if system.filtered is None else system.answer & ~system.filtered
        return _pairs_of(system).take(own)
    if collection is None:
        return None
    return _pairs_of(collection.qrels).take(collection.qrels.grade >= 1)


def _splits(system: System) -> tuple[str, ...]:
    """The splits that a system was filtered by: all of them, if it does not say."""
    return SPLITS if system.filtered_by is None else system.filtered_by


def _reading_of(system: System, unlisted_answers: UnlistedAnswers) -> UnlistedAnswers:
    """What becomes of the answers: they stay where the system was not filtered by test triples, as all others do."""
    is_filtered = system.filtered_by is None or "test" in system.filtered_by
    return unlisted_answers if is_filtered else "candidates"


def _is_filtered(
    answers: _Pairs, system: System, collection: Collection | None, reading: UnlistedAnswers
) -> NDArray[np.bool_]:
    """Which of the answers are filtered out: all, or those that another split makes known too, (n,)."""
    if reading == "filtered":
        return np.ones(len(answers.question), np.bool_)
    if collection is None:
        return np.zeros(len(answers.question), np.bool_)
    known, questions = collection.known, collection.questions
    splits = np.isin(known.split, [SPLITS.index(split) for split in _splits(system)])
    return answers.among(_Pairs(known.question, known.entity, questions.ids, questions.entities).take(splits))


def _message(number: int, reading: str, asked: str, name: str) -> str:
    lacking = f"the qrels lack {counted(number, 'answer')} that the collection has for their questions"
    if reading == "filtered":
        return f"{lacking}; they are filtered out as known true answers ({_WAYS_OUT[asked]})"
    if reading == asked:
        return f"{lacking}; they stay candidates, as for trec_eval ({_WAYS_OUT[asked]})"
    return f"{lacking}; they stay candidates of {name}, which is not filtered by test triples"


def _without(
    system: System, gone: _Pairs, collection: Collection | None, measures: Sequence[AnyMeasure], ties: str | None
) -> System:
    """The system without some answers."""
    if isinstance(system, AnswerRanks):
        filtered = _pairs_of(system).among(gone)
        return replace(system, filtered=filtered if system.filtered is None else filtered | system.filtered)
    if len(gone.question) == 0 or collection is None:
        return system

    def stays(part: Run) -> NDArray[np.bool_]:
        return ~_pairs_of(part).among(gone)

    length, left = np.zeros((2, len(system.questions)), np.int64)
    for part in system.parts():
        length += np.bincount(part.question, minlength=len(length))
        left += np.bincount(part.question[stays(part)], minlength=len(length))
    whole = length >= candidates_of(system, collection)[collection.questions.ids.encode(system.questions.labels)]
    require_deep(system.name, system.questions, left, (left < length) & ~whole, measures, ties)
    return system.each(lambda part: part.take(stays(part)))


def candidates_of(run: AnyRun, collection: Collection) -> NDArray[np.int64]:
    """Return (questions of the collection,) how many candidates the whole list of a run has."""
    _, filtered = answers_and_filtered(collection, _splits(run))
    width = len(collection.entities)
    return width - np.bincount(filtered // width, minlength=len(collection.questions))


def require_deep(
    name: str,
    questions: Vocabulary,
    left: NDArray[np.int64],
    is_short: NDArray[np.bool_],
    measures: Sequence[AnyMeasure],
    ties: str | None,
) -> None:
    """Refuse a run of which a list that is cut and loses answers is shorter than what a measure looks at.

    Parameters
    ----------
    name : str
        Of the run.
    questions : Vocabulary
        Of its lists.
    left : (questions,) int array
        Places that each list has without the answers.
    is_short : (questions,) bool array
        Which lists are cut and lose an answer.
    measures : sequence of measures
    ties : str, optional
        Rules that count the candidates which tie at a cutoff look at whole lists.

    Raises
    ------
    CollectionError
    """
    for measure in measures:
        cutoff = None
        if isinstance(measure, ParsedMeasure) and ties in (None, "trec"):
            cutoff = measure.parameters.get("cutoff")
        short = np.flatnonzero(is_short if cutoff is None else is_short & (left < cutoff))
        if len(short):
            looks = "whole lists" if cutoff is None else f"the first {counted(cutoff, 'place')}"
            rule = "" if ties in (None, "trec") else f" with ties {ties}"
            raise CollectionError(
                f"{name}: {measure.label} looks at {looks}{rule}, but without the answers that the qrels lack, which "
                f"are filtered out as known true answers, {counted(len(short), 'cut list')}, such as that of "
                f"{questions[int(short[0])]}, may have as few as {counted(int(left[short].min()), 'place')}; evaluate "
                "its answer ranks, a longer run, or a measure with a smaller cutoff under the default rule for ties "
                f"({_WAYS_OUT['filtered']})"
            )
