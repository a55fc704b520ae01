"""Answers of the collection that the qrels lack: known true answers, which are filtered out unless asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.pair_set import Pairs
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.data.triples import SPLITS
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, counted, warn
from kgtrec.evaluation.given import System
from kgtrec.evaluation.scoring import Scoring, UnlistedAnswers
from kgtrec.measures.names import AnyMeasure, ParsedMeasure

_WAYS_OUT = {
    "filtered": "--unlisted-answers candidates, in Python unlisted_answers='candidates', keeps them as candidates",
    "candidates": "--unlisted-answers filtered, in Python unlisted_answers='filtered', filters them out",
}


def without_unlisted_answers(
    systems: Iterable[System], qrels: Qrels, scoring: Scoring, measures: Sequence[AnyMeasure] = ()
) -> Iterator[System]:
    """Yield the systems one by one, without the answers of the collection that the qrels lack.

    These are filtered triples then: they are in no list, and no other answer's rank counts them, as if the scores had
    been ranked for a collection in which they are filtered. Answer ranks carry the answers; a run needs its collection.
    Systems that were not filtered by test triples keep them, since such lists hold all other answers too.

    Parameters
    ----------
    systems : iterable of Run, StreamedRun and AnswerRanks
        Checked to belong to the collection.
    qrels : Qrels
    scoring : Scoring
        ``unlisted_answers="candidates"``: they stay, as for trec_eval, apart from those that train or valid triples
        filter too.
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
    judged, warned = Pairs.of(qrels), set[str]()
    as_it_is = ""  # a run without a collection, of which nothing is known
    for system in systems:
        reading = _Reading(system, collection, unlisted_answers)
        answers = reading.answers()
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
                gone = answers.take(unlisted & reading.is_filtered(answers))
                system = reading.without(gone, measures, scoring.ties)
                if reading.kind not in warned:
                    warned.add(reading.kind)
                    warn(reading.message(number))
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
    reading, judged = _Reading(system, collection, unlisted_answers), Pairs.of(qrels)
    answers = reading.answers()
    return np.zeros(len(qrels), np.bool_) if answers is None else judged.among(answers) & reading.is_filtered(judged)


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What becomes of the answers that the qrels lack, in one system."""

    system: System
    collection: Collection | None
    asked: UnlistedAnswers

    @property
    def kind(self) -> UnlistedAnswers:
        """They stay where the system was not filtered by test triples, as all others do."""
        return self.asked if "test" in _splits(self.system) else "candidates"

    def answers(self) -> Pairs | None:
        """The answers of the collection that are not filtered yet; None: they are unknown."""
        if isinstance(self.system, AnswerRanks):
            is_open = self.system.answer if self.system.filtered is None else self.system.answer & ~self.system.filtered
            return Pairs.of(self.system).take(is_open)
        if self.collection is None:
            return None
        return Pairs.of(self.collection.qrels).take(self.collection.qrels.grade >= 1)

    def is_filtered(self, answers: Pairs) -> NDArray[np.bool_]:
        """Which of the answers are filtered out: all, or those that another split filters too, (n,)."""
        if self.kind == "filtered":
            return np.ones(len(answers.question), np.bool_)
        if self.collection is None:
            return np.zeros(len(answers.question), np.bool_)
        return answers.among(self.collection.filtered_pairs(_splits(self.system)))

    def without(self, answers: Pairs, measures: Sequence[AnyMeasure], ties: str | None) -> System:
        """The system without some answers."""
        system = self.system
        if isinstance(system, AnswerRanks):
            filtered = Pairs.of(system).among(answers)
            return replace(system, filtered=filtered if system.filtered is None else filtered | system.filtered)
        if len(answers.question) == 0 or self.collection is None:
            return system

        def stays(part: Run) -> NDArray[np.bool_]:
            return ~Pairs.of(part).among(answers)

        length, left = np.zeros((2, len(system.questions)), np.int64)
        for part in system.parts():
            length += np.bincount(part.question, minlength=len(length))
            left += np.bincount(part.question[stays(part)], minlength=len(length))
        row = self.collection.questions.ids.encode(system.questions.labels)
        is_cut = length < candidates_of(system, self.collection)[row]
        require_deep(system.name, system.questions, left, (left < length) & is_cut, measures, ties)
        return system.each(lambda part: part.take(stays(part)))

    def message(self, number: int) -> str:
        """Warn that the qrels lack a number of answers."""
        lacking = f"the qrels lack {counted(number, 'answer')} that the collection has for their questions"
        if self.kind == "filtered":
            return f"{lacking}; they are filtered out as known true answers ({_WAYS_OUT[self.asked]})"
        if self.kind == self.asked:
            return f"{lacking}; they stay candidates, as for trec_eval ({_WAYS_OUT[self.asked]})"
        return f"{lacking}; they stay candidates of {self.system.name}, which is not filtered by test triples"


def _splits(system: System) -> tuple[str, ...]:
    """The splits that a system was filtered by: all of them, if it does not say."""
    return SPLITS if system.filtered_by is None else system.filtered_by


def candidates_of(run: AnyRun, collection: Collection) -> NDArray[np.int64]:
    """Return (questions of the collection,) how many candidates the whole list of a run has."""
    _, filtered = collection.answers_and_filtered(_splits(run))
    width = len(collection.entities)
    return collection.sizes - np.bincount(filtered // width, minlength=len(collection.questions))


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
        Name of the run.
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
