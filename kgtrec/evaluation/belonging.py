"""The one place where systems that cannot be compared are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection, has_validation, why_another
from kgtrec.data.pair_set import Pairs
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.run import AnyRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, warn
from kgtrec.evaluation.given import System
from kgtrec.evaluation.matching import unranked
from kgtrec.evaluation.plausibility import of_other_questions
from kgtrec.measures.names import AnyMeasure, ParsedMeasure

Measures = Sequence[AnyMeasure]
_SAME_IDS = "; or declare that the ids are the same (--mixed; in Python, dataclasses.replace(system, collection=''))"


def different_systems(
    systems: Iterable[System],
    collection: Collection | None,
    qrels: Qrels | None = None,
    measures: Measures = (),
    mixed: bool = False,
) -> Iterator[System]:
    """Yield the systems one by one, checked to have different names and to belong together; see :class:`Belonging`.

    Raises
    ------
    KgtrecError
        If two have one name, or there are none.
    CollectionError
        If they do not belong together.
    """
    names: set[str] = set()
    checks = Belonging(collection, qrels, measures, mixed)
    for system in systems:
        if system.name in names:
            raise KgtrecError(f"expected systems of different names, found {system.name!r} twice; rename one")
        names.add(system.name)
        checks(system)
        yield system
    if not names:
        raise KgtrecError("expected at least one system, found none")


class Belonging:
    """Checks, system by system, that all belong to one collection, and that their numbers can be compared.

    Answer ranks belong together if they are of one collection and were filtered by the same splits: otherwise the
    candidates differ, and with them every measure. The answers at the time of ranking do not matter, since
    :func:`kgtrec.evaluation.matching.match` gives the same result as ranking again with the qrels; and an answer of the
    qrels without a rank is an error there. Candidates that are judged wrong need a rank for the measures that use them
    (bpref, infAP, Judged, unj, ...): if one of those is asked for, all systems must have ranks for the same ones; for
    infAP also for those with a negative grade, which were pooled and not sampled.

    Runs that kgtrec wrote name their collection and how they were filtered, and are checked in the same way.
    Runs of other programs do not; a warning names those that seem to be made for other questions
    (:func:`kgtrec.evaluation.plausibility.of_other_questions`), and kgtrec check finds filtered answers in them.

    Parameters
    ----------
    collection : Collection, optional
        Of the qrels.
    qrels : Qrels, optional
        With which the systems are compared.
    measures : sequence of measures
        By which the systems are compared.
    mixed : bool
        Warn of systems that cannot be compared instead of refusing them. Those of different collections are refused in
        any case.
    """

    def __init__(
        self, collection: Collection | None, qrels: Qrels | None = None, measures: Measures = (), mixed: bool = False
    ) -> None:
        self._collection = collection
        self._qrels = qrels
        own = [measure for measure in measures if isinstance(measure, ParsedMeasure)]  # others accept only runs
        of_unsampled = next((measure.label for measure in own if measure.sees_unsampled), None)
        self._of_wrong = of_unsampled or next((measure.label for measure in own if measure.sees_wrong), None)
        self._least_grade = -np.inf if of_unsampled else 0  # of the non-answers that a measure uses
        self._mixed = mixed
        self._stamp: tuple[str, str] | None = None
        self._filtered: System | None = None  # the first that is known to be filtered, and how
        self._first: AnswerRanks | None = None
        self._lacking: NDArray[np.intp] | None = None

    def __call__(self, system: System) -> None:
        """Check one more system.

        Raises
        ------
        CollectionError
            If it does not belong to the collection, or to the systems before it.

        Warns
        -----
        KgtrecWarning
            If a run has entities that the collection lacks, or none of the qrels if there is no collection; or for
            allowed mixtures.
        """
        self.check_collection(system)
        self.check_filter(system)
        if isinstance(system, AnswerRanks):
            self._check_sides(system)
            self._check_filtered(system)
            self._check_alike(system)
            _warn_cut(system)
        elif self._collection is not None:
            _check_entities(system, self._collection.entities)
            if (other := of_other_questions(system, self._collection)) is not None:
                warn(f"{system.name}: {other.message}")
        elif self._qrels is not None:
            _warn_foreign(system, self._qrels.entities)

    def check_collection(self, system: System) -> None:
        """Refuse a system that names another collection."""
        if not system.collection:
            return
        of_qrels = "" if self._qrels is None else self._qrels.collection
        expected = self._collection.stamp if self._collection is not None else of_qrels
        if expected and system.collection != expected:
            raise CollectionError(
                f"{system.name} was ranked on collection {system.collection}, these qrels are of collection "
                f"{expected}, {why_another(system.collection, expected)}rank its scores on this one (kgtrec "
                f"rank){_SAME_IDS}"
            )
        if self._stamp is None:
            self._stamp = system.name, system.collection
        elif self._stamp[1] != system.collection:
            raise CollectionError(
                f"{self._stamp[0]} and {system.name} were ranked on different collections "
                f"({self._stamp[1]}, {system.collection}) and cannot be compared: the second is of one "
                f"{why_another(self._stamp[1], system.collection)}rank its scores on the first{_SAME_IDS}"
            )

    def check_filter(self, system: System) -> None:
        """Refuse a system that was filtered differently from those before."""
        if system.filtered_by is None:
            return
        if self._collection is not None and not has_validation(self._collection.report):
            system = replace(system, filtered_by=tuple(split for split in system.filtered_by if split != "valid"))
        first = self._filtered
        if first is None:
            self._filtered = system
        elif first.filtered_by != system.filtered_by:
            kind = "answer ranks" if isinstance(system, AnswerRanks) and isinstance(first, AnswerRanks) else "systems"
            self._refuse(
                f"expected {kind} that were filtered in the same way, found {_called(first)} {_filter(first)} and "
                f"{_called(system)} {_filter(system)}, so that their candidates differ",
                "rank the scores of one of them again (kgtrec rank --filter)",
            )

    def _check_sides(self, ranks: AnswerRanks) -> None:
        """Refuse answer ranks of one side where the qrels have both."""
        if self._collection is None or self._qrels is None:
            return
        topics = self._collection.questions
        judged, ranked = (
            {bool(each) for each in topics.is_head[row[row >= 0]]}
            for row in (
                topics.ids.encode(each.questions.labels)[np.unique(each.question)] for each in (self._qrels, ranks)
            )
        )
        if len(ranked) == 1 < len(judged):
            side = SIDES[0] if ranked.pop() else SIDES[1]
            raise CollectionError(
                f"{_called(ranks)}: expected answers to all questions, found those of {side} questions only; "
                f"kgtrec evaluate --sides {side} (sides=['{side}'] in Python) compares all systems on these, and its "
                "numbers cannot be compared with those over both sides"
            )

    def _check_filtered(self, ranks: AnswerRanks) -> None:
        """An answer that is no longer in the qrels is a candidate again, unless a split that is filtered by has it."""
        collection = self._collection
        if collection is None:
            return
        answers = Pairs.of(ranks).take(ranks.answer)
        gone = answers.take(~answers.among(Pairs.of(collection.qrels).take(collection.qrels.grade >= 1)))
        if len(gone) and len(gone := gone.take(gone.among(collection.filtered_pairs(ranks.filtered_by)))):
            raise CollectionError(
                f"{_called(ranks)}: expected answers of the qrels, or candidates, found {len(gone):,} answers that the "
                f"qrels lack now and that are filtered by {', '.join(ranks.filtered_by)}, such as "
                f"({gone.questions[gone.question[0]]}, {gone.entities[gone.entity[0]]}); rank its scores again (kgtrec "
                "rank)"
            )

    def _check_alike(self, ranks: AnswerRanks) -> None:
        lacking = None
        if self._of_wrong is not None and self._qrels is not None:
            lacking = unranked(ranks, self._qrels)
            lacking = lacking[self._looked_at(self._qrels)[lacking]]
        first, before = self._first, self._lacking
        if first is None:
            self._first, self._lacking = ranks, lacking
            return
        if lacking is None or before is None or self._qrels is None or np.array_equal(lacking, before):
            return
        n_wrong = np.count_nonzero(self._looked_at(self._qrels))
        others = " others" if len(lacking) == len(before) else ""
        self._refuse(
            f"expected ranks of the same judged non-answers, which {self._of_wrong} uses, found that "
            f"{_called(first)} lacks {len(before):,} of {n_wrong:,} and {_called(ranks)} {len(lacking):,}{others}",
            "rank the scores of both with these qrels (kgtrec rank --judged), leave out the measure",
        )

    def _looked_at(self, qrels: Qrels) -> NDArray[np.bool_]:
        """(len(qrels),) which rows are non-answers that one of the measures uses."""
        return (qrels.grade <= 0) & (qrels.grade >= self._least_grade)

    def _refuse(self, wrong: str, way_out: str) -> None:
        if not self._mixed:
            raise CollectionError(
                f"{wrong}; {way_out}, or allow mixtures (--mixed; mixed=True in Python, mixed = true in a study)"
            )
        warn(f"a mixture: {wrong}")


def of_collection(qrels: Qrels, collection: Collection | None) -> Qrels:
    """Declare the qrels to be those of a collection, whose question ids they have.

    Raises
    ------
    CollectionError
        If they are known to belong to another one.
    """
    if collection is None:
        return qrels
    if qrels.collection and qrels.collection != collection.stamp:
        raise CollectionError(
            f"expected qrels of collection {collection.stamp}, found those of collection {qrels.collection}, "
            f"{why_another(qrels.collection, collection.stamp, 'QRELS')}give the collection of the qrels"
        )
    return replace(qrels, collection=collection.stamp)


def warn_mixed_runs(filtered_listed: Mapping[str, int]) -> None:
    """Warn if some runs list filtered triples, as raw lists should, and others none, as if filtered.

    A run does not say how it was filtered, and a short raw list may contain no filtered triple by chance. So none is
    refused. If filtered triples are removed before ranks are given, it makes no difference.
    """
    without = [name for name, number in filtered_listed.items() if not number]
    if not without or len(without) == len(filtered_listed):
        return
    name = max(filtered_listed, key=lambda each: (filtered_listed[each], each))
    n_with, others = len(filtered_listed) - len(without), ", ".join(sorted(without))
    warn(
        f"expected raw runs for a raw cut, found filtered triples in {n_with} of {len(filtered_listed)} runs "
        f"({filtered_listed[name]:,} of them in {name}) and none in {others}; "
        "make raw runs of these too (kgtrec rank --filter raw), or take filtered triples out before the cut of all "
        "(--cut filtered)"
    )


def _warn_cut(ranks: AnswerRanks) -> None:
    if ranks.cut is not None and (below := np.count_nonzero(ranks.cut & ranks.answer)):
        warn(
            f"{ranks.name}: {below:,} of {np.count_nonzero(ranks.answer):,} answers are below the ends of its lists; "
            "they count as tied with all that is not listed; kgtrec evaluate gives bounds of each value, [least, most]"
        )


def _called(system: System) -> str:
    return (system.source or system.name) if isinstance(system, AnswerRanks) else system.name


def _filter(system: System) -> str:
    return f"filtered by {', '.join(system.filtered_by)}" if system.filtered_by else "not filtered (raw)"


def _check_entities(run: AnyRun, entities: Vocabulary) -> None:
    unknown = np.flatnonzero(entities.encode(run.entities.labels) < 0)
    if len(unknown) == 0:
        return
    if len(unknown) == len(run.entities):
        raise CollectionError(
            f"{run.name} has no entity of the collection (its first is {run.entities[0]!r}, the collection's "
            f"{entities[0]!r}): they are of different collections"
        )
    warn(
        f"{run.name}: {len(unknown)} of its {len(run.entities)} entities are not in the collection, such as "
        f"{run.entities[int(unknown[0])]!r}; they count as unjudged (see kgtrec check)"
    )


def _warn_foreign(run: AnyRun, entities: Vocabulary) -> None:
    """Warn of a run without any entity of the qrels; it may be just bad, so it is not refused."""
    if len(run.entities) and len(entities) and np.all(entities.encode(run.entities.labels) < 0):
        warn(
            f"{run.name} has no entity of the qrels (its first is {run.entities[0]!r}, the qrels' {entities[0]!r}), so "
            "that it finds no answer: are they of one collection?"
        )
