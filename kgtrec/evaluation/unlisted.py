"""Answers of the collection that the qrels lack: known true answers, which are filtered out unless asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.pair_set import PairSet
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.streamed_run import AnyRun
from kgtrec.data.triples import SPLITS
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, one_of, warn
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure

UnlistedAnswers = Literal["filtered", "candidates"]
#: what becomes of the answers of the collection that the qrels lack; the first is the default
UNLISTED_ANSWERS: tuple[UnlistedAnswers, ...] = get_args(UnlistedAnswers)
_WAYS_OUT = {
    "filtered": "--unlisted-answers candidates, in Python unlisted_answers='candidates', keeps them as candidates",
    "candidates": "--unlisted-answers filtered, in Python unlisted_answers='filtered', filters them out",
}


def without_unlisted_answers(
    systems: Iterable[AnyRun | AnswerRanks],
    qrels: Qrels,
    collection: Collection | None,
    unlisted_answers: UnlistedAnswers = "filtered",
    measures: Sequence[ParsedMeasure | ProvidedMeasure] = (),
) -> Iterator[AnyRun | AnswerRanks]:
    """The systems one by one, without the answers of the collection that the qrels lack.

    These are filtered triples then: they are in no list, and no other answer's rank counts them, as if the scores had
    been ranked for a collection in which they are known. Answer ranks carry the answers; a run needs its collection.
    Systems that were not filtered by test triples keep them, since such lists hold all other answers too.

    Parameters
    ----------
    systems : iterable of Run, StreamedRun and AnswerRanks
        Checked to belong to the collection.
    qrels : Qrels
    collection : Collection, optional
    unlisted_answers : {"filtered", "candidates"}
        ``"candidates"``: they stay, as for trec_eval, apart from those that train or valid triples make known too.
    measures : sequence of measures
        How far down they look decides whether a cut run can be filtered.

    Raises
    ------
    CollectionError
        If a list of a run is cut, and without these answers shorter than what a measure looks at.

    Warns
    -----
    KgtrecWarning
        Once: how many answers the qrels lack, and which reading was used.
    """
    one_of("unlisted_answers to be one of", unlisted_answers, UNLISTED_ANSWERS)
    lacking = None if collection is None else _Lacking(qrels, collection)
    told: set[str] = set()
    for system in systems:
        reading = unlisted_answers
        if system.filtered_by is not None and "test" not in system.filtered_by:
            reading = "candidates"  # as are the other answers
        if isinstance(system, AnswerRanks):
            unlisted = _unlisted(system, qrels)
            number = int(unlisted.sum())
            if reading == "candidates":
                unlisted &= False if lacking is None else lacking.holds_known(system)
            if system.filtered is not None:
                unlisted |= system.filtered
            if unlisted.any():
                system = replace(system, filtered=unlisted)
        else:
            number = 0 if lacking is None else len(lacking)
            if lacking is not None and number:
                system = lacking.taken_from(system, reading, measures)
            if lacking is None and system.collection and "unknown" not in told:
                told.add("unknown")
                warn(
                    "no collection is given (--collection; in Python collection=): answers of it that the qrels lack, "
                    "if any, stay candidates in runs, as for trec_eval"
                )
        if number and reading not in told:
            told.add(reading)
            warn(_message(number, reading, unlisted_answers, system.name))
        yield system


def _message(number: int, reading: str, asked: str, name: str) -> str:
    found = f"the qrels lack {number:,} answers that the collection has for their questions"
    if reading == "filtered":
        return f"{found}; they are filtered out as known true answers ({_WAYS_OUT[asked]})"
    if reading == asked:
        return f"{found}; they stay candidates, as for trec_eval ({_WAYS_OUT[asked]})"
    return f"{found}; they stay candidates of {name}, which is not filtered by test triples"


def _unlisted(ranks: AnswerRanks, qrels: Qrels) -> NDArray[np.bool_]:
    """(n,) answers to the questions of the qrels that these lack, and that are not filtered yet."""
    question = qrels.questions.encode(ranks.questions.labels)[ranks.question]
    entity = qrels.entities.encode(ranks.entities.labels)[ranks.entity]
    unlisted: NDArray[np.bool_] = ranks.answer & (question >= 0)
    if ranks.filtered is not None:
        unlisted &= ~ranks.filtered
    rows = np.flatnonzero(unlisted & (entity >= 0))
    pairs = PairSet(qrels.question, qrels.entity, len(qrels.entities))
    unlisted[rows[pairs.holds(question[rows], entity[rows])]] = False
    return unlisted


class _Lacking:
    """The answers of a collection, to the questions of the qrels, that these lack; in the collection's codes."""

    def __init__(self, qrels: Qrels, collection: Collection) -> None:
        self._collection, own = collection, collection.qrels
        asked = qrels.questions.encode(own.questions.labels)[own.question]
        entity = qrels.entities.encode(own.entities.labels)[own.entity]
        lacks = (own.grade >= 1) & (asked >= 0)
        rows = np.flatnonzero(lacks & (entity >= 0))
        if qrels is own:
            lacks[:] = False
        else:
            judged = PairSet(qrels.question, qrels.entity, len(qrels.entities))
            lacks[rows[judged.holds(asked[rows], entity[rows])]] = False
        self._question, self._entity = own.question[lacks], own.entity[lacks]

    def __len__(self) -> int:
        return len(self._question)

    def _known(self, splits: Sequence[str]) -> PairSet:
        known = self._collection.known
        own = np.isin(known.split, [SPLITS.index(split) for split in splits])
        return PairSet(known.question[own], known.entity[own], len(self._collection.entities))

    def holds_known(self, ranks: AnswerRanks) -> NDArray[np.bool_]:
        """(n,) rows of the ranks that a split which they were filtered by makes known besides."""
        question = self._collection.questions.ids.encode(ranks.questions.labels)[ranks.question]
        entity = self._collection.entities.encode(ranks.entities.labels)[ranks.entity]
        found = (question >= 0) & (entity >= 0)
        found[found] = self._known(ranks.filtered_by).holds(question[found], entity[found])
        return found

    def taken_from(
        self, run: AnyRun, reading: UnlistedAnswers, measures: Sequence[ParsedMeasure | ProvidedMeasure]
    ) -> AnyRun:
        """The run without these answers; ``candidates``: without those that are known besides."""
        collection, n_entities = self._collection, len(self._collection.entities)
        gone = np.ones(len(self), np.bool_)
        if reading == "candidates":
            gone = self._known(_splits_of(run)).holds(self._question, self._entity)
        pairs = PairSet(self._question[gone], self._entity[gone], n_entities)
        question_of = collection.questions.ids.encode(run.questions.labels)
        entity_of = collection.entities.encode(run.entities.labels)

        def stays(part: Run) -> NDArray[np.bool_]:
            question, entity = question_of[part.question], entity_of[part.entity]
            rows = np.flatnonzero((question >= 0) & (entity >= 0))
            kept = np.ones(len(part), np.bool_)
            kept[rows[pairs.holds(question[rows], entity[rows])]] = False
            return kept

        length, removed = np.zeros((2, len(run.questions)), np.int64)
        for part in run.parts():
            length += np.bincount(part.question, minlength=len(length))
            removed += np.bincount(part.question[~stays(part)], minlength=len(length))
        is_whole = length >= candidates_of(run, collection)[question_of]
        require_deep(run.name, run.questions, length - removed, (removed > 0) & ~is_whole, measures)
        return run.each(lambda part: part.rows(stays(part)))


def _splits_of(run: AnyRun) -> Sequence[str]:
    """The splits that a run was filtered by; all, if it does not say."""
    return SPLITS if run.filtered_by is None else run.filtered_by


def candidates_of(run: AnyRun, collection: Collection) -> NDArray[np.int64]:
    """(questions of the collection,) how many candidates the whole list of a run has."""
    known = collection.known
    filtered = np.isin(known.split, [SPLITS.index(split) for split in _splits_of(run)])
    return len(collection.entities) - np.bincount(known.question[filtered], minlength=len(collection.questions))


def require_deep(
    name: str,
    questions: Vocabulary,
    left: NDArray[np.int64],
    is_short: NDArray[np.bool_],
    measures: Sequence[ParsedMeasure | ProvidedMeasure],
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

    Raises
    ------
    CollectionError
    """
    for measure in measures:
        cutoff = measure.parameters.get("cutoff") if isinstance(measure, ParsedMeasure) else None
        short = np.flatnonzero(is_short if cutoff is None else is_short & (left < cutoff))
        if len(short):
            looks = "whole lists" if cutoff is None else f"the first {cutoff:,} places"
            raise CollectionError(
                f"{name}: {measure.label} looks at {looks}, but {len(short):,} lists, such as that of "
                f"{questions[int(short[0])]}, are cut, and have {left[short].min():,} places or more without the "
                "answers that the qrels lack, which are filtered out as known true answers; evaluate its answer ranks, "
                f"a longer run, or a measure with a smaller cutoff ({_WAYS_OUT['filtered']})"
            )
