"""Pools and judgements built row by row, for tests that need no runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import ROLES, VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary


def pool_of(sizes: Sequence[int], relations: Sequence[int] | None = None) -> Pool:
    """A pool of tail questions with so many triples each, of the relations given; rows follow (relation, question)."""
    relation = np.zeros(len(sizes), np.int32) if relations is None else np.array(relations, np.int32)
    n_relations = int(relation.max(initial=0)) + 1
    entities = Vocabulary.of([f"e{i}" for i in range(len(sizes) + max(sizes, default=0))])
    names = Vocabulary.of([f"r{i}" for i in range(n_relations)])
    rows = np.arange(len(sizes), dtype=np.int32)
    ids = Vocabulary.of([f"tail{i}" for i in rows])
    questions = Questions(ids, np.zeros(len(sizes), bool), relation, rows, entities, names)
    question = np.repeat(rows, sizes)
    place = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes] or [np.zeros(0, np.int32)])
    triples = Triples(question, relation[question], (len(sizes) + place).astype(np.int32), entities, names)
    each = np.arange(len(triples), dtype=np.int32)
    return Pool.of(triples, each, question, np.zeros(len(each), np.int32), place + 1, ["mine"], questions)


def judgements_of(events: Iterable[tuple[int, str, str, str] | tuple[int, str, str, str, str, str]]) -> Judgements:
    """Events (triple, person, role, verdict), or also source and note, oldest first."""
    listed = list(events)
    people, person = Vocabulary.encoding([event[1] for event in listed])
    source, note = (labels_of([(*event, "", "")[place] for event in listed]) for place in (4, 5))
    return Judgements(
        np.array([event[0] for event in listed], np.int32),
        person,
        np.array([ROLES.index(event[2]) for event in listed], np.int8),
        np.array([VERDICTS.index(event[3]) for event in listed], np.int8),
        source,
        note,
        labels_of(["2026-11-21T20:00:00Z"] * len(listed)),
        people,
    )
