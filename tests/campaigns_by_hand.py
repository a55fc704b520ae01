"""A small campaign with labels of every kind, for tests of what people are given and send back."""

from __future__ import annotations

import numpy as np

from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from tests.judged_pools import judgements_of

ENTITIES = ("'n", "<script>alert(1)</script>", "=lyon", "berlin", "de", "fr", "paris")  # in byte order, as files give
NAMES = {"fr": "France", "de": "Germany {tail}", "paris": "Paris"}
TEMPLATES = {"capital": "Is {tail} the capital of {head}?"}
# head, relation, tail as rows, in the order of a pool: by relation, head, tail
ROWS = ((6, 0, 4), (4, 1, 0), (4, 1, 3), (5, 1, 1), (5, 1, 2), (5, 1, 6))


def campaign_of(events=(), templates=TEMPLATES, annotators=("ann", "bob")) -> Campaign:
    """Six triples of three tail questions; each annotator has all of them, bob the other way round.

    events: (triple, person, role, verdict, source, note), oldest first.
    """
    entities, relations = Vocabulary.of(ENTITIES), Vocabulary.of(["@near", "capital"])
    anchors = np.array([5, 4, 6], np.int32)
    relation_of = np.array([1, 1, 0], np.int32)
    ids = Vocabulary.of(["tail0", "tail1", "tail2"])
    questions = Questions(ids, np.zeros(3, bool), relation_of, anchors, entities, relations)
    head, relation, tail = np.array(ROWS, np.int32).T
    triples = Triples(head.copy(), relation.copy(), tail.copy(), entities, relations)
    each = np.arange(len(ROWS), dtype=np.int32)
    question = np.array([2, 1, 1, 0, 0, 0], np.int32)
    pool = Pool.of(triples, each, question, each * 0, each + 1, ["secret-run"], questions)
    names = Vocabulary.of(annotators)
    n = len(annotators)
    people = People(names, np.arange(n, dtype=np.int32), np.zeros(n, np.int8), np.ones(n, np.bool_))
    order = [each if place % 2 == 0 else each[::-1] for place in range(n)]
    assignments = Assignments(np.repeat(np.arange(n, dtype=np.int32), len(ROWS)), np.concatenate(order), names)
    none = np.zeros(0, np.int32)
    known_answers = Qrels.of(none, none, none, ids, entities)
    return Campaign(
        pool,
        known_answers,
        Automatic.none(len(ROWS)),
        people,
        assignments,
        judgements_of(events),
        templates,
        ("en.wikipedia.org",),
        NAMES,
        {"seed": 0},
    )
