"""Small answer-rank tables for laws: what stands above each answer is drawn, the rest follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection, FilteredAnswers, RelationCategories
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.measures.names import parse_measures
from kgtrec.measures.record import Measure


def names(measures: str) -> tuple[str, ...]:
    """The measures of a text, each as it is written there."""
    return tuple(measure.label for measure in parse_measures(measures))


_AT = {"cutoff": ("@3", "@1"), "recall": ("@0.5",), "multiple": ("@1.5",)}


def spelled(measure: Measure) -> list[str]:
    """The ways to write a measure, with a cutoff where it takes one."""
    with_cutoff = [] if measure.cutoff == "none" else [measure.name + at for at in _AT[measure.at]]
    return with_cutoff if measure.cutoff == "required" else [measure.name, *with_cutoff]


@dataclass(frozen=True)
class Table:
    """Questions with their non-answers, and for each answer how many of them stand above it; no ties."""

    others: tuple[int, ...]
    above: tuple[tuple[int, ...], ...]  # question x answer
    relation: tuple[int, ...] = ()

    @property
    def places(self) -> list[tuple[int, int]]:
        return [(question, answer) for question, own in enumerate(self.above) for answer in range(len(own))]

    def with_above(self, question: int, answer: int, above: int) -> Table:
        rows = [list(row) for row in self.above]
        rows[question][answer] = above
        return replace(self, above=tuple(tuple(row) for row in rows))

    def twice(self) -> Table:
        return Table(self.others * 2, self.above * 2, self.relation * 2)

    def inputs(self, order: Sequence[int] | None = None, entities: Sequence[int] | None = None):
        """Qrels and answer ranks; questions and entities stored in these orders, under the same labels."""
        n_entities = max(len(own) for own in self.above)
        order = range(len(self.others)) if order is None else order
        entities = range(n_entities) if entities is None else entities
        ids = Vocabulary.of([f"q{question}" for question in order])
        labels = Vocabulary.of([f"e{entity}" for entity in entities])
        rows = []
        for row, question in enumerate(order):
            own = self.above[question]
            for column, answer in enumerate(entities):
                if answer < len(own):
                    # answers that the same non-answers stand above follow each other in the order of their numbers
                    score = -own[answer] - 0.5 * answer / n_entities
                    rows.append((row, column, True, own[answer], 0, self.others[question], score))
        kinds = (np.int32, np.int32, np.bool_, np.int32, np.int32, np.int32, np.float64)
        columns = [np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
        qrels = Qrels.of(columns[0], columns[1], np.ones(len(rows), np.int32), ids, labels)
        return qrels, AnswerRanks("s", *columns, ids, labels, ("train", "valid", "test"), "")

    def collection(self, order: Sequence[int] | None = None, entities: Sequence[int] | None = None) -> Collection:
        """The questions with their relations; sides alternate."""
        qrels, _ = self.inputs(order, entities)
        question = np.array([int(label[1:]) for label in qrels.questions])
        relation = np.array(self.relation or [0] * len(self.others), np.int32)[question]
        n = int(relation.max()) + 1
        relations = Vocabulary.of([f"r{i}" for i in range(n)])
        topics = Questions(
            qrels.questions, question % 2 == 0, relation, np.zeros(len(question), np.int32), qrels.entities, relations
        )
        nothing = np.zeros(0, np.int32)
        return Collection(
            topics,
            qrels,
            FilteredAnswers(nothing, nothing, nothing.astype(np.int8)),
            RelationCategories(np.zeros(n, np.int8), np.ones(n), np.ones(n)),
            Triples.of([]),
        )


@st.composite
def tables(draw: st.DrawFn, *, single: bool = False, most_answers: int = 3) -> Table:
    """Up to 4 questions of up to 3 answers among up to 11 candidates and 2 relations; ``single``: one answer each."""
    others = draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))
    above = [
        draw(st.lists(st.integers(0, n), min_size=1, max_size=1 if single else most_answers).map(tuple)) for n in others
    ]
    relation = [draw(st.integers(0, 1)) for _ in others]
    return Table(tuple(others), tuple(above), tuple(relation))
