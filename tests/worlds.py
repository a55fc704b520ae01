"""Small random worlds with many ties, and what an obvious reading of the definitions says about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class World:
    """Scores of one system for a few questions, which entities are filtered, and which are answers."""

    scores: list[list[float]]  # question x entity
    filtered: list[set[int]]
    answers: list[set[int]]  # answers when the scores were ranked
    grades: dict[tuple[int, int], int]  # what the qrels say now

    @property
    def questions(self) -> Vocabulary:
        return Vocabulary.of([f"q{i}" for i in range(len(self.scores))])

    @property
    def entities(self) -> Vocabulary:
        return Vocabulary.of([f"e{i}" for i in range(len(self.scores[0]))])

    def candidates(self, question: int) -> list[int]:
        everything = range(len(self.scores[question]))
        return [e for e in everything if e not in self.filtered[question] or e in self.answers[question]]

    def qrels(self) -> Qrels:
        pairs = sorted(self.grades)
        columns = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
        grade = np.array([self.grades[pair] for pair in pairs], np.int32)
        return Qrels.of(*columns, grade, self.questions, self.entities)

    def answer_ranks(self, filtered_by: tuple[str, ...] = ("train", "valid", "test")) -> AnswerRanks:
        rows = []
        for question, scores in enumerate(self.scores):
            others = [e for e in self.candidates(question) if e not in self.answers[question]]
            judged = {e for q, e in self.grades if q == question} | self.answers[question]
            for entity in sorted(judged):
                rest = [scores[e] for e in others if e != entity]
                above = sum(score > scores[entity] for score in rest)
                tied = sum(score == scores[entity] for score in rest)
                own = entity in self.answers[question]
                rows.append((question, entity, own, above, tied, len(rest), scores[entity]))
        kinds = (np.int32, np.int32, np.bool_, np.int32, np.int32, np.int32, np.float64)
        columns = [np.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
        return AnswerRanks("w", *columns, self.questions, self.entities, filtered_by, "")

    def run(self) -> Run:
        rows = [(q, e, self.scores[q][e]) for q in range(len(self.scores)) for e in self.candidates(q)]
        question, entity, score = (np.array(column) for column in zip(*rows, strict=True))
        return Run.of(
            "w", question.astype(np.int32), entity.astype(np.int32), score.astype(float), self.questions, self.entities
        )


@st.composite
def worlds(draw: st.DrawFn, *, regraded: bool = False) -> World:
    """Worlds of up to 4 questions and 9 entities; ``regraded``: the qrels differ from what was ranked."""
    n_entities = draw(st.integers(1, 9))
    n_questions = draw(st.integers(1, 4))
    score = st.sampled_from([0.0, 1.0, 2.0, -np.inf, 0.5])
    entity = st.integers(0, n_entities - 1)
    scores = draw(
        st.lists(st.lists(score, min_size=n_entities, max_size=n_entities), min_size=n_questions, max_size=n_questions)
    )
    answers = [draw(st.sets(entity, min_size=1)) for _ in scores]
    filtered = [draw(st.sets(entity)) - answers[question] for question in range(n_questions)]
    world = World(scores, filtered, answers, {(q, e): 1 for q in range(n_questions) for e in answers[q]})
    if regraded:
        grades = {}
        for question in range(n_questions):
            for candidate in world.candidates(question):
                grade = draw(st.sampled_from([None, 0, 1, 2]))
                if grade is not None:
                    grades[question, candidate] = grade
        if not grades:
            grades[0, world.candidates(0)[0]] = 1
        world = World(scores, filtered, answers, grades)
    return world
