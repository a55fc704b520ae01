"""What a system's lists, the label sets and the collection say of each question: its candidates, one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.columns import Columns
from kgtrec.data.identity import entity_names
from kgtrec.data.run import AnyRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.explore.labels import ANSWERS, KNOWN, UNJUDGED, LabelSet
from kgtrec.kernels.integer_keys import begins, distinct, is_among_sorted

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Keys = NDArray[np.int64]
BLOCK = 256  # questions of a slice
_STEPS = 100  # into which at least the range of a system's scores is divided for display


class Numbering:
    """The rows of the page: questions, entities and relations in byte order of their labels, whatever order came in."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.question: Ints = collection.questions.ids.byte_order  # (questions,) row on the page
        names = entity_names(collection)
        self.entity: Ints = names.byte_order  # (entities,) row on the page
        self.relation: Ints = collection.relations.byte_order
        self.labels = list(Vocabulary(names.decode(np.argsort(self.entity))))  # those that only runs have come last
        self._foreign: dict[str, int] = {}

    @property
    def anchors(self) -> Ints:
        """(questions of the collection,) row of each question's anchor; after all entities where there is none."""
        return np.append(self.entity, np.int32(len(self.all_labels())))[self.collection.questions.anchor]

    def __len__(self) -> int:
        return len(self.question)

    def entities_of(self, run: AnyRun) -> Ints:
        """Return the row of each entity of a run; what the collection lacks is added."""
        code = self.collection.entities.encode(run.entities.labels)
        row = np.append(self.entity, np.int32(-1))[code]
        foreign = {run.entities[at]: at for at in np.flatnonzero(code < 0).tolist()}
        for label in sorted(foreign):
            row[foreign[label]] = self._foreign.setdefault(label, len(self.labels) + len(self._foreign))
        return row

    def all_labels(self) -> list[str]:
        return [*self.labels, *self._foreign]


@dataclass(frozen=True, slots=True, eq=False)
class Lists(Columns):
    """The first candidates of each question in one system's lists, sorted by question, in the system's order."""

    question: Ints  # (n,) row on the page
    entity: Ints  # (n,) row on the page
    score: Floats  # (n,) for display: rounded
    tie: Ints  # (n,) equal where the stored scores of a list are equal


def kept_lists(run: AnyRun, numbering: Numbering, depth: int) -> Lists:
    """Keep the first ``depth`` candidates of each question; a streamed run is read once, part by part."""
    code = numbering.collection.questions.ids.encode(run.questions.labels)
    question_of = np.append(numbering.question, np.int32(-1))[code]
    entity_of = numbering.entities_of(run)
    columns: list[tuple[Ints, Ints, Floats]] = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for part in run.parts():
        kept = part.cut(depth)
        columns.append((question_of[kept.question], entity_of[kept.entity], kept.score))
    question, entity, score = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(question, kind="stable")
    order = order[question[order] >= 0]
    question, entity, score = question[order], entity[order], score[order]
    new = begins(question, score)
    tie = np.cumsum(new)
    first = np.maximum.accumulate(np.where(begins(question), tie, 0))
    return Lists(question, entity, rounded(score), (tie - first).astype(np.int32))


def rounded(score: Floats) -> Floats:
    """Return scores as they are displayed: as many decimals as divide their range into 100 to 1,000 steps.

    Examples
    --------
    >>> rounded(np.array([0.123456, 0.9, 0.5])).tolist()
    [0.123, 0.9, 0.5]
    """
    known = score[np.isfinite(score)]
    span = float(np.ptp(known)) if len(known) else 0.0
    decimals = 4 if span == 0 else int(np.clip(np.ceil(np.log10(_STEPS / span)), 0, 15))
    return np.round(score, decimals) + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """All candidates that are listed, judged or answers, sorted by question and entity, and where lists have them."""

    key: Keys  # (n,) question * width + entity
    width: int
    status: list[NDArray[np.uint8]]  # per label set (n,)
    answer: Keys  # (m,) sorted keys of the answers under any label set
    rank: Mapping[int, Floats]  # per system (3, m): rank, best and worst; NaN: unknown
    lists: Mapping[int, Lists]  # per system
    known: tuple[Keys, NDArray[np.uint8]]  # what train and valid have: key and split, sorted

    @classmethod
    def of(
        cls,
        numbering: Numbering,
        labels: Sequence[LabelSet],
        lists: Mapping[int, Lists],
        ranks: Mapping[int, Sequence[Floats | None]],
    ) -> Candidates:
        """Put all candidates together.

        Parameters
        ----------
        numbering : Numbering
        labels : sequence of LabelSet
        lists : mapping of int to Lists
            Of some systems.
        ranks : mapping of int to sequence
            Of some systems, for each label set: (3, answers of its qrels), or None.
        """
        width = len(numbering.all_labels())

        def keys(question: Ints, entity: Ints) -> Keys:
            return numbering.question[question].astype(np.int64) * width + numbering.entity[entity]

        said = [keys(label.question, label.entity) for label in labels]
        listed = [own.question.astype(np.int64) * width + own.entity for own in lists.values()]
        key = distinct(np.concatenate([*said, *listed]))
        filtered = numbering.collection.filtered
        known = keys(filtered.question, filtered.entity)
        order = np.lexsort((filtered.split, known))
        known, split = known[order], filtered.split[order].astype(np.uint8)
        status = []
        for label, pairs in zip(labels, said, strict=True):
            column = np.full(len(key), UNJUDGED, np.uint8)
            among = np.flatnonzero(is_among_sorted(key, known))
            column[among] = KNOWN + np.minimum(split[np.searchsorted(known, key[among])], 1)
            column[np.searchsorted(key, pairs)] = label.status
            status.append(column)
        answer = key[np.isin(status, ANSWERS).any(axis=0)]
        rank = {}
        for system, of_labels in ranks.items():
            columns = np.full((3, len(answer)), np.nan)
            for label, own in reversed(list(zip(labels, of_labels, strict=True))):  # the first label set holds
                if own is None:
                    continue
                asked = label.qrels.take(label.qrels.grade >= 1)
                coded = asked.recoded(
                    questions=numbering.collection.questions.ids, entities=numbering.collection.entities
                )
                in_both = coded.entity >= 0
                place = np.searchsorted(answer, keys(coded.question[in_both], coded.entity[in_both]))
                columns[:, place] = own[:, in_both]
            rank[system] = columns
        return cls(key, width, status, answer, rank, dict(lists), (known, split))

    def unjudged_at_top(self, n_questions: int) -> Ints:
        """Count, (questions,), the systems with the same first candidate, of those that no label set has judged."""
        count = np.zeros(n_questions, np.int32)
        first = [(own, np.flatnonzero(begins(own.question))) for own in self.lists.values()]
        key = np.concatenate([own.question[at].astype(np.int64) * self.width + own.entity[at] for own, at in first])
        key, n_systems = np.unique(key, return_counts=True)
        unjudged = (np.array(self.status)[:, np.searchsorted(self.key, key)] == UNJUDGED).all(axis=0)
        np.maximum.at(count, key[unjudged] // self.width, n_systems[unjudged])
        return count

    def block(self, first: int, last: int) -> dict[str, NDArray[Any]]:
        """Return the columns of the questions ``first`` to ``last - 1``."""
        bounds = np.arange(first, last + 1) * self.width
        pool_at = np.searchsorted(self.key, bounds)
        columns: dict[str, NDArray[Any]] = {"pool_at": pool_at - pool_at[0]}
        rows = slice(pool_at[0], pool_at[-1])
        columns["pool"] = self.key[rows] % self.width
        columns |= {f"status.{at}": status[rows] for at, status in enumerate(self.status)}

        def places(key: Keys) -> NDArray[np.intp]:
            return np.searchsorted(self.key, key) - pool_at[key // self.width - first]

        for system, own in self.lists.items():
            at = np.searchsorted(own.question, np.arange(first, last + 1))
            rows = slice(at[0], at[-1])
            key = own.question[rows].astype(np.int64) * self.width + own.entity[rows]
            columns |= {f"list_at.{system}": at - at[0], f"list.{system}": places(key)}
            columns |= {f"score.{system}": own.score[rows], f"tie.{system}": own.tie[rows]}
        at = np.searchsorted(self.answer, bounds)
        rows = slice(at[0], at[-1])
        columns |= {"answer_at": at - at[0], "answer": places(self.answer[rows])}
        for system, ranks in self.rank.items():
            rank, low, high = ranks[:, rows]
            columns[f"rank.{system}"] = rank
            if not np.array_equal(low, high, equal_nan=True):  # some answers are tied
                columns |= {f"low.{system}": low, f"high.{system}": high}
        known, split = self.known
        at = np.searchsorted(known, bounds)
        rows = slice(at[0], at[-1])
        return columns | {"known_at": at - at[0], "known": known[rows] % self.width, "known_split": split[rows]}
