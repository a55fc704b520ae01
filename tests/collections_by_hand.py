"""Small collections built row by row, for tests that need no triples."""

from __future__ import annotations

import numpy as np

from kgtrec.data.collection import Candidates, Collection, FilteredAnswers, RelationCategories
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary


def columns(rows, n):
    """The first n columns of a list of tuples as int32 arrays."""
    array = np.array(sorted(rows), np.int32).reshape(-1, n)
    return [array[:, i].copy() for i in range(n)]


def collection_of(n_questions, n_entities, grades, filtered=(), candidates=None):
    """A collection of tail questions (anchor = question number, one relation).

    grades: {(question, entity): grade}; filtered: {(question, entity, split)}; candidates: {(relation, entity)} of two
    relations, the second one of every other question.
    """
    entities = Vocabulary.of([f"e{i}" for i in range(n_entities)])
    relations = Vocabulary.of(["r"] if candidates is None else ["r", "s"])
    ids = Vocabulary.of([f"tail{i}" for i in range(n_questions)])
    anchor = np.arange(n_questions, dtype=np.int32)
    questions = Questions(ids, np.zeros(n_questions, bool), anchor % len(relations), anchor, entities, relations)
    if candidates is not None:
        relation, entity = columns(candidates, 2)
        candidates = Candidates(relation.astype(np.int64) * 2, entity)
    question, entity, grade = columns([(*pair, value) for pair, value in grades.items()], 3)
    filtered_question, filtered_entity, split = columns(filtered, 3)
    none = np.zeros(0, np.int32)
    return Collection(
        questions,
        Qrels.of(question, entity, grade, ids, entities),
        FilteredAnswers(filtered_question, filtered_entity, split.astype(np.int8)),
        RelationCategories(np.zeros(len(relations), np.int8), np.ones(len(relations)), np.ones(len(relations))),
        Triples(none, none, none, entities, relations),
        candidates=candidates,
    )
