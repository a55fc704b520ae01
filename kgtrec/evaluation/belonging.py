"""What belongs together: the one place where systems that cannot be compared are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, warn
from kgtrec.evaluation.matching import unranked
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure

Measures = Sequence[ParsedMeasure | ProvidedMeasure]
_TRUST = "; or say that the ids stand for the same (--trust-ids; in Python, dataclasses.replace(system, collection=''))"


def different_systems(
    systems: Iterable[Run | AnswerRanks],
    collection: Collection | None,
    *,
    qrels: Qrels | None = None,
    measures: Measures = (),
    mixed: bool = False,
) -> Iterator[Run | AnswerRanks]:
    """The systems one by one, which have different names and belong together; see :class:`Belonging`.

    Raises
    ------
    KgtrecError
        If two have one name, or there are none.
    CollectionError
        If they do not belong together.
    """
    names: set[str] = set()
    checks = Belonging(collection, qrels=qrels, measures=measures, mixed=mixed)
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

    Answer ranks belong together if they are of one collection and were filtered by the same splits: the candidates are
    others otherwise, and with them every measure. What was an answer when each was ranked does not matter, since
    :func:`kgtrec.evaluation.matching.match` counts as ranking again with the qrels would; and an answer of the qrels
    without a rank is an error there. Candidates that are judged wrong need a rank for the measures that look at them
    (bpref, infAP, Judged, unj, ...): if one of those is asked for, all systems must have the same ones; for infAP also
    of those with a negative grade, which were pooled and not sampled.

    Runs that kgtrec wrote say of which collection they are and how they were filtered, and are held to it likewise.
    Those of others say neither; kgtrec check finds known answers in them.

    Parameters
    ----------
    collection : Collection, optional
        That the qrels are of.
    qrels : Qrels, optional
        What the systems are held against.
    measures : sequence of measures
        What they are compared by.
    mixed : bool
        Warn of systems that cannot be compared instead of refusing them. Those of different collections are refused
        all the same.
    """

    def __init__(
        self, collection: Collection | None, *, qrels: Qrels | None = None, measures: Measures = (), mixed: bool = False
    ) -> None:
        self._collection = collection
        self._qrels = qrels
        own = [measure for measure in measures if isinstance(measure, ParsedMeasure)]  # others take runs alone
        of_unsampled = next((measure.label for measure in own if measure.sees_unsampled), None)
        self._of_wrong = of_unsampled or next((measure.label for measure in own if measure.sees_wrong), None)
        self._least_grade = -np.inf if of_unsampled else 0  # of the non-answers that a measure looks at
        self._mixed = mixed
        self._fingerprint: tuple[str, str] | None = None
        self._filtered: Run | AnswerRanks | None = None  # the first that says how
        self._first: AnswerRanks | None = None
        self._lacking: NDArray[np.intp] | None = None

    def __call__(self, system: Run | AnswerRanks) -> None:
        """Check one more system.

        Raises
        ------
        CollectionError
            If it does not belong to the collection, or to the systems before it.

        Warns
        -----
        KgtrecWarning
            If a run has entities that the collection lacks, or none of the qrels where there is no collection; or of
            mixtures that are allowed.
        """
        self.check_collection(system)
        self.check_filter(system)
        if isinstance(system, AnswerRanks):
            self._check_known(system)
            self._check_alike(system)
        elif self._collection is not None:
            _check_entities(system, self._collection.entities)
        elif self._qrels is not None:
            _tell_foreign(system, self._qrels.entities)

    def check_collection(self, system: Run | AnswerRanks) -> None:
        """Refuse a system that says that it is of another collection."""
        if not system.collection:
            return
        of_qrels = "" if self._qrels is None else self._qrels.collection
        expected = self._collection.fingerprint if self._collection is not None else of_qrels
        if expected and system.collection != expected:
            raise CollectionError(
                f"{system.name} was ranked on collection {system.collection}, these qrels are of collection "
                f"{expected}, where the same ids may stand for other questions; rank its scores on this one (kgtrec "
                f"rank){_TRUST}"
            )
        if self._fingerprint is None:
            self._fingerprint = system.name, system.collection
        elif self._fingerprint[1] != system.collection:
            raise CollectionError(
                f"{self._fingerprint[0]} and {system.name} were ranked on different collections "
                f"({self._fingerprint[1]}, {system.collection}) and cannot be compared{_TRUST}"
            )

    def check_filter(self, system: Run | AnswerRanks) -> None:
        """Refuse a system that says that it was filtered otherwise than those before."""
        if system.filtered_by is None:
            return
        first = self._filtered
        if first is None:
            self._filtered = system
        elif first.filtered_by != system.filtered_by:
            kind = "answer ranks" if isinstance(system, AnswerRanks) and isinstance(first, AnswerRanks) else "systems"
            self._tell(
                f"expected {kind} that were filtered alike, found {_called(first)} {_filter(first)} and "
                f"{_called(system)} {_filter(system)}, so that they stand among other candidates",
                "rank the scores of one of them again (kgtrec rank --filter)",
            )

    def _check_known(self, ranks: AnswerRanks) -> None:
        """An answer that left the qrels is a candidate again, unless it is known from a split that is filtered by."""
        collection = self._collection
        if collection is None:
            return
        questions, entities = collection.questions.ids, collection.entities
        own, relevant = ranks.answer, collection.qrels.grade >= 1
        question = questions.encode(ranks.questions.labels)[ranks.question[own]].astype(np.int64)
        entity = entities.encode(ranks.entities.labels)[ranks.entity[own]]
        answers = _keys(collection.qrels.question[relevant], collection.qrels.entity[relevant], entities)
        gone = np.setdiff1d(_keys(question, entity, entities)[(question >= 0) & (entity >= 0)], answers)
        if len(gone) == 0:
            return
        known = collection.known
        removed = np.isin(known.split, [SPLITS.index(split) for split in ranks.filtered_by])
        gone = gone[np.isin(gone, _keys(known.question[removed], known.entity[removed], entities))]
        if len(gone):
            first = questions[int(gone[0]) // len(entities)], entities[int(gone[0]) % len(entities)]
            raise CollectionError(
                f"{_called(ranks)}: expected answers of the qrels, or candidates, found {len(gone):,} answers that the "
                f"qrels lack now and that are known from {', '.join(ranks.filtered_by)}, such as ({first[0]}, "
                f"{first[1]}); rank its scores again (kgtrec rank)"
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
        self._tell(
            f"expected ranks of the same judged non-answers, which {self._of_wrong} looks at, found that "
            f"{_called(first)} lacks {len(before):,} of {n_wrong:,} and {_called(ranks)} {len(lacking):,}{others}",
            "rank the scores of both with these qrels (kgtrec rank --judged), leave out the measure",
        )

    def _looked_at(self, qrels: Qrels) -> NDArray[np.bool_]:
        """(len(qrels),) which rows are non-answers that one of the measures looks at."""
        looked_at: NDArray[np.bool_] = (qrels.grade <= 0) & (qrels.grade >= self._least_grade)
        return looked_at

    def _tell(self, wrong: str, way_out: str) -> None:
        if not self._mixed:
            raise CollectionError(
                f"{wrong}; {way_out}, or allow mixtures (--mixed; mixed=True in Python, mixed = true in a study)"
            )
        warn(f"a mixture: {wrong}")


def of_collection(qrels: Qrels, collection: Collection | None) -> Qrels:
    """The qrels as those of a collection, whose questions their ids are said to stand for.

    Raises
    ------
    CollectionError
        If they are known to be of another one.
    """
    if collection is None:
        return qrels
    if qrels.collection and qrels.collection != collection.fingerprint:
        raise CollectionError(
            f"expected qrels of collection {collection.fingerprint}, found those of collection {qrels.collection}, "
            "where the same ids may stand for other questions; give the collection that they are of"
        )
    return replace(qrels, collection=collection.fingerprint)


def tell_mixed_runs(known_listed: Mapping[str, int]) -> None:
    """Warn of runs some of which list known triples, where raw lists are due, and others none, as if filtered.

    A run does not say how it was filtered: a short raw list may hold no known triple by chance. So none is refused.
    Where known triples leave the lists before ranks are given, it makes no difference.
    """
    without = [name for name, number in known_listed.items() if not number]
    if not without or len(without) == len(known_listed):
        return
    name = max(known_listed, key=lambda each: (known_listed[each], each))
    n_with, others = len(known_listed) - len(without), ", ".join(sorted(without))
    warn(
        f"expected raw runs for a raw cut, found known triples in {n_with} of {len(known_listed)} runs "
        f"({known_listed[name]:,} of them in {name}) and none in {others}; "
        "make raw runs of these too (kgtrec rank --filter raw), or take known triples out before the cut of all "
        "(--cut filtered)"
    )


def _keys(question: NDArray[Any], entity: NDArray[Any], entities: Vocabulary) -> NDArray[np.int64]:
    keys: NDArray[np.int64] = question.astype(np.int64) * len(entities) + entity
    return keys


def _called(system: Run | AnswerRanks) -> str:
    return system.name if isinstance(system, Run) else system.source or system.name


def _filter(system: Run | AnswerRanks) -> str:
    return f"filtered by {', '.join(system.filtered_by)}" if system.filtered_by else "not filtered (raw)"


def _check_entities(run: Run, entities: Vocabulary) -> None:
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
        f"{run.entities[int(unknown[0])]!r}; they count as unjudged (kgtrec check tells more)"
    )


def _tell_foreign(run: Run, entities: Vocabulary) -> None:
    """Warn of a run without any entity of the qrels; it may be a bad one, so that it is not refused."""
    if len(run.entities) and len(entities) and np.all(entities.encode(run.entities.labels) < 0):
        warn(
            f"{run.name} has no entity of the qrels (its first is {run.entities[0]!r}, the qrels' {entities[0]!r}), so "
            "that it finds no answer: are they of one collection?"
        )
