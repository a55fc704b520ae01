"""Small random collections and runs for tests of pools, and what a slow reading of the definitions says of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.arrow import bytes_and_offsets
from kgtrec.data.collection import Collection
from kgtrec.data.pool import Pool
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.sampling.random_order import hashed, hashes_of_texts

Labels = tuple[str, str, str]
Scores = dict[str, dict[tuple[str, str], float]]  # run -> (question id, entity label) -> score


@dataclass(frozen=True)
class PoolWorld:
    """A collection, and the scores of some runs."""

    collection: Collection
    scores: Scores

    def runs(self, order: list[int] | None = None, reverse: bool = False) -> list[Run]:
        """The runs in any order, each out of rows in any order, under vocabularies of their own."""
        names = list(self.scores)
        return [run_of(name, self.scores[name], reverse) for name in (names[i] for i in order or range(len(names)))]

    def triple(self, question: str, entity: str) -> Labels:
        asked = self.collection.questions
        row = list(asked.ids).index(question)
        anchor, relation = asked.entities[asked.anchor[row]], asked.relations[asked.relation[row]]
        return (entity, relation, anchor) if asked.is_head[row] else (anchor, relation, entity)

    def filtered(self) -> set[tuple[str, str]]:
        filtered, asked = self.collection.filtered, self.collection.questions
        return {(asked.ids[q], asked.entities[e]) for q, e in zip(filtered.question, filtered.entity, strict=True)}

    def answers(self) -> set[Labels]:
        qrels = self.collection.qrels
        pairs = zip(qrels.question[qrels.grade >= 1], qrels.entity[qrels.grade >= 1], strict=True)
        return {self.triple(qrels.questions[q], qrels.entities[e]) for q, e in pairs}

    def contributions(self, depth: int, cut: str, seed: int) -> set[tuple[Labels, str, str, int]]:
        """(triple, question, run, rank), run by run and question by question."""
        entities, filtered, answers = set(self.collection.entities), self.filtered(), self.answers()
        found = set()
        for name, scores in self.scores.items():
            for question in self.collection.questions.ids:
                listed = [pair for pair in scores if pair[0] == question and pair[1] in entities]
                if cut == "filtered":
                    listed = [pair for pair in listed if pair not in filtered]
                listed.sort(key=lambda pair: (-scores[pair], key_of(seed, *pair)))
                for rank, pair in enumerate(listed[:depth], 1):
                    triple = self.triple(*pair)
                    if pair not in filtered and triple not in answers:
                        found.add((triple, question, name, rank))
        return found


def key_of(seed: int, question: str, entity: str) -> int:
    """What orders candidates of one score."""
    hashes = (hashes_of_texts(*bytes_and_offsets(Vocabulary.of([label]).labels)) for label in (question, entity))
    return int(hashed(seed, *hashes)[0])


def run_of(name: str, scores: dict[tuple[str, str], float], reverse: bool = False) -> Run:
    rows = sorted(scores, reverse=reverse)
    questions, question = Vocabulary.encoding([pair[0] for pair in rows])
    entities, entity = Vocabulary.encoding([pair[1] for pair in rows])
    return Run.of(name, question, entity, np.array([scores[pair] for pair in rows]), questions, entities)


def contributions_of(pool: Pool) -> set[tuple[Labels, str, str, int]]:
    """The contributions of a pool by their labels."""
    triples = labels_of_triples(pool)
    return {
        (triples[triple], pool.questions.ids[int(question)], pool.runs[run], int(rank))
        for triple, question, run, rank in zip(pool.triple, pool.question, pool.run, pool.rank, strict=True)
    }


def labels_of_triples(pool: Pool) -> list[Labels]:
    triples = pool.triples
    return list(
        zip(
            triples.entities.decode(triples.head).to_pylist(),
            triples.relations.decode(triples.relation).to_pylist(),
            triples.entities.decode(triples.tail).to_pylist(),
            strict=True,
        )
    )


@st.composite
def pool_worlds(draw: st.DrawFn) -> PoolWorld:
    """Up to 7 entities, 2 relations and 4 runs, with many ties, filtered triples in the lists, and strangers."""
    labels = [f"e{i}" for i in range(draw(st.integers(2, 7)))]
    entity, relation = st.sampled_from(labels), st.sampled_from(["r", "s"])
    triple = st.tuples(entity, relation, entity)
    test = draw(st.lists(triple, min_size=1, max_size=4, unique=True))
    train = [row for row in draw(st.lists(triple, max_size=9, unique=True)) if row not in test]
    everything = [(one, "all", other) for one, other in pairwise(labels)]  # names every entity
    collection = build_questions(Triples.of(train + everything), Triples.of([]), Triples.of(test))
    ids = list(collection.questions.ids)
    pair = st.tuples(st.sampled_from(ids), st.sampled_from([*labels, "stranger"]))
    score = st.sampled_from([0.0, 1.0, 2.0, -np.inf, 0.5])
    scores: Scores = {}
    for name in draw(st.lists(st.sampled_from(["b", "a", "é", "Z"]), min_size=1, max_size=4, unique=True)):
        scores[name] = draw(st.dictionaries(pair, score, max_size=25))
        scores[name][ids[0], labels[0]] = draw(score)  # none without question or entity of the collection
    return PoolWorld(collection, scores)
