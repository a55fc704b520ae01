from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.decide import decide
from kgtrec.campaign.qrels import of_topics, question_level, report_qrels, triple_level, with_judgements
from kgtrec.collection.questions import build_questions, questions_of
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.identity import entity_names
from kgtrec.data.judgements import AGREED, AUTOMATIC, OPEN, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, completions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.formats.campaign.kgc_sparsity import read_kgc_sparsity

ENTITIES, RELATIONS = "abcde", "rs"


@st.composite
def worlds(draw: st.DrawFn):
    """Seeds, a pool of other triples for some of the seeds' questions, and what was decided on each."""
    triple = st.tuples(st.sampled_from(ENTITIES), st.sampled_from(RELATIONS), st.sampled_from(ENTITIES))
    known_answers = draw(st.lists(triple, min_size=1, max_size=5, unique=True))
    asked = {(True, r, t) for h, r, t in known_answers} | {(False, r, h) for h, r, t in known_answers}
    fitting = triple.filter(
        lambda x: x not in known_answers and ((True, x[1], x[2]) in asked or (False, x[1], x[0]) in asked)
    )
    pooled = draw(st.dictionaries(fitting, st.tuples(st.integers(1, 4), st.sampled_from([-1, 0, 1])), max_size=8))
    return known_answers, pooled


def built(world):
    """Pool, known answers and decisions of a world; a triple is put in for both questions, the rank of one is worse."""
    known_answers, pooled = world
    every = Triples.of([*known_answers, *pooled, *((e, r, e) for e in ENTITIES for r in RELATIONS)])
    known = every.take(np.arange(len(known_answers)))
    candidates = every.take(np.arange(len(known_answers), len(known_answers) + len(pooled)))
    questions = questions_of(known)
    question, entity = completions(questions, known)
    answers = Qrels.of(question, entity, np.ones(len(question), np.int32), questions.ids, questions.entities)
    contributions = []
    for row in range(len(pooled)):
        rank = list(pooled.values())[row][0]
        asked, _ = completions(questions, candidates.take(np.array([row])))
        contributions += [(row, own, rank + place) for place, own in enumerate(asked.tolist())]
    columns = np.array(contributions, np.int32).reshape(-1, 3).T
    pool = Pool.of(
        candidates, columns[0], columns[1], np.zeros(len(contributions), np.int32), columns[2], ["x"], questions
    )
    named = {triple: verdict for triple, (_, verdict) in pooled.items()}
    verdict = np.array([named[label(pool.triples, row)] for row in range(len(pool))], np.int8)
    return pool, answers, Decisions(np.where(verdict < 0, OPEN, AGREED).astype(np.int8), verdict)


def label(triples, row):
    return (
        triples.entities[triples.head[row]],
        triples.relations[triples.relation[row]],
        triples.entities[triples.tail[row]],
    )


def as_rows(questions, qrels):
    """{(is_head, relation, anchor, entity): grade} in labels."""
    rows = {}
    for question, entity, grade in zip(qrels.question, qrels.entity, qrels.grade, strict=True):
        place = (
            bool(questions.is_head[question]),
            questions.relations[questions.relation[question]],
            questions.entities[questions.anchor[question]],
            qrels.entities[entity],
        )
        rows[place] = int(grade)
    assert len(rows) == len(qrels)
    return rows


def obvious(world, depth, level):
    """The same by going through the triples one by one."""
    known_answers, pooled = world
    grades = dict.fromkeys(known_answers, 1) | {
        triple: verdict for triple, (rank, verdict) in pooled.items() if rank <= depth and verdict >= 0
    }
    make = known_answers if level == "question" else [triple for triple, grade in grades.items() if grade == 1]
    asked = {(True, r, t) for h, r, t in make} | {(False, r, h) for h, r, t in make}
    rows = {(True, r, t, h): grade for (h, r, t), grade in grades.items() if (True, r, t) in asked}
    return rows | {(False, r, h, t): grade for (h, r, t), grade in grades.items() if (False, r, h) in asked}, asked


@given(worlds(), st.integers(0, 5))
def test_qrels_are_what_going_through_the_triples_gives(world, depth):
    """Both levels, at every depth: grades go to both questions of a triple, where both are there."""
    pool, known_answers, decisions = built(world)
    assert (
        as_rows(pool.questions, question_level(pool, known_answers, decisions, depth))
        == obvious(world, depth, "question")[0]
    )
    questions, qrels = triple_level(pool, known_answers, decisions, depth)
    expected, asked = obvious(world, depth, "triple")
    assert as_rows(questions, qrels) == expected
    assert len(questions) == len(asked)
    assert len(set(questions.ids)) == len(questions)


@given(worlds())
def test_a_deeper_pool_adds_and_changes_nothing(world):
    """Rows of depth k are rows of depth k + 1, and a question keeps its id; depth 0 is the known answers alone."""
    pool, known_answers, decisions = built(world)
    found = [triple_level(pool, known_answers, decisions, depth) for depth in range(6)]
    ids = [dict(zip(zip(q.is_head, q.relation, q.anchor, strict=True), q.ids, strict=True)) for q, _ in found]
    for (shallow, few), (deep, many) in itertools.pairwise(zip(found, ids, strict=True)):
        assert as_rows(*shallow).items() <= as_rows(*deep).items()
        assert few.items() <= many.items()
    assert as_rows(pool.questions, question_level(pool, known_answers, decisions, 0)) == as_rows(
        pool.questions, known_answers
    )
    whole = as_rows(pool.questions, question_level(pool, known_answers, decisions))
    assert whole == as_rows(pool.questions, question_level(pool, known_answers, decisions, 9))


@given(worlds(), st.sampled_from(["question", "triple"]), st.integers(0, 5))
def test_the_report_counts_what_is_there(world, level, depth):
    """Its numbers are those of the qrels, at each depth."""
    pool, known_answers, decisions = built(world)
    state = decisions.state.copy()
    rule = np.full(len(pool), -1, np.int8)
    rule[(decisions.verdict == 0) & (np.arange(len(pool)) % 2 == 0)] = 0
    state[rule == 0] = AUTOMATIC
    decisions = Decisions(state, decisions.verdict)
    report = report_qrels(pool, known_answers, Automatic(rule, ("category",)), decisions, depth, level=level)
    rows, asked = obvious(world, depth, level)
    assert (report.judgements, report.level, report.depth) == (len(rows), level, depth)
    n_questions = len(pool.questions) if level == "question" else len(asked)
    by_depth = report.depths.to_pydict()
    assert report.questions == n_questions == by_depth["questions"][-1]
    pooled_for = obvious(world, depth, "question")[1]
    assert report.never_pooled == len(asked - pooled_for)
    triples = [(rank, verdict) for rank, verdict in world[1].values() if rank <= depth]
    assert report.positives == len(world[0]) + sum(verdict == 1 for _, verdict in triples)
    assert report.negatives == sum(verdict == 0 for _, verdict in triples)
    assert report.unjudged["open"] == sum(verdict == -1 for _, verdict in triples)
    assert report.positives_from["agreed"] == by_depth["new_positives_down_to"][-1]
    assert sum(by_depth["judged"]) == report.positives + report.negatives
    assert by_depth["pooled"][1:] == [sum(rank == at for rank, _ in triples) for at in range(1, depth + 1)]
    assert report.negatives_from.get("rule: category", 0) == np.count_nonzero((rule == 0) & (pool.depth <= depth))
    assert sum(entry["positive"] for entry in report.to_dict()["depths"]) == report.positives


@pytest.mark.slow
def test_the_published_levels(data):
    """Zhou et al.'s labels: new positives by depth, 2,883 triple-level questions, 1,138 of them never pooled."""
    found = read_kgc_sparsity(data / "kgc-sparsity" / "data")
    decided = decide(found.pool, found.automatic, found.judgements, per_triple=1)
    by_question = report_qrels(found.pool, found.known_answers, found.automatic, decided)
    by_triple = report_qrels(found.pool, found.known_answers, found.automatic, decided, level="triple")
    for report in (by_question, by_triple):
        assert report.depths["new_positives_down_to"].to_pylist() == [
            0,
            118,
            287,
            428,
            614,
            786,
            965,
            1168,
            1327,
            1520,
            1715,
        ]
        assert (report.positives, report.negatives) == (2738, 19754)
        assert report.positives_from == {"seeds": 1023, "agreed": 1715, "adjudicated": 0}
        assert report.negatives_from == {"agreed": 10794, "adjudicated": 61, "rule: filtered by Zhou et al.": 8899}
        assert (report.pooled_questions, report.nothing_pooled, sum(report.unjudged.values())) == (1745, 107, 0)
    assert (by_question.questions, by_question.never_pooled) == (1745, 0)
    assert (by_triple.questions, by_triple.never_pooled) == (2883, 1138)
    questions, qrels = triple_level(found.pool, found.known_answers, decided)
    assert (int(questions.is_head.sum()), int((~questions.is_head).sum())) == (1406, 1477)
    assert int((qrels.grade == 1).sum()) == 2 * 2738
    assert len(triple_level(found.pool, found.known_answers, decided, 0)[0]) == 1745


def small_collection():
    """Train, valid and test triples; ann's jam was pooled for, and is judged true."""
    train = Triples.of([("ann", "likes", "pie"), ("bob", "likes", "tea"), ("eve", "likes", "jam"), ("eve", "has", "x")])
    valid = Triples.of([("bob", "likes", "jam"), ("eve", "likes", "pie")])
    test = Triples.of([("ann", "likes", "tea"), ("eve", "likes", "tea")])
    collection = build_questions(train, valid, test)
    questions = collection.questions
    e = collection.entities.encode(["ann", "jam", "bob", "x"])
    triples = Triples(e[[0, 2]], np.zeros(2, np.int32), e[[1, 3]], collection.entities, collection.relations)
    tail = questions.ids.encode(["tail0"])
    zeros = np.zeros(2, np.int32)
    asked = np.array([tail[0], questions.ids.encode(["head0"])[0]])
    pool = Pool.of(triples, np.array([0, 1], np.int32), asked, zeros, zeros + 1, ["mine"], questions)
    return collection, valid, pool


def test_a_collection_takes_judgements_of_its_own_questions():
    """The stamp stays; a grade goes to every question of the collection that the triple completes."""
    collection, _, pool = small_collection()
    verdict = np.where(pool.triples.tail == collection.entities.encode(["jam"])[0], 1, -1).astype(np.int8)
    judged = with_judgements(collection, pool, Decisions(np.full(2, AGREED, np.int8), verdict))
    assert judged.stamp == collection.stamp
    rows = as_rows(judged.questions, judged.qrels)
    assert rows == as_rows(collection.questions, collection.qrels) | {(False, "likes", "ann", "jam"): 1}


def test_a_collection_of_other_topics_knows_what_the_first_one_did():
    """Filtered answers come out of train and of those of any question; valid ones of no question are given."""
    collection, valid, pool = small_collection()
    verdict = np.where(pool.triples.tail == collection.entities.encode(["jam"])[0], 1, 0).astype(np.int8)
    decisions = Decisions(np.full(2, AGREED, np.int8), verdict)
    questions, qrels = triple_level(pool, collection.qrels, decisions, named=collection.questions)
    assert list(questions.ids) == ["head0", "head-new0", "tail0", "tail1"]  # head-new0: who likes jam?

    def filtered(made):
        return {
            (made.questions.ids[q], made.entities[e], int(split))
            for q, e, split in zip(made.filtered.question, made.filtered.entity, made.filtered.split, strict=True)
        }

    without = filtered(of_topics(collection, questions, qrels))
    expected = {
        ("head0", "bob", 0),
        ("head-new0", "eve", 0),
        ("tail0", "pie", 0),
        ("tail1", "jam", 0),
        ("tail1", "pie", 1),
    }
    assert without == expected
    assert filtered(of_topics(collection, questions, qrels, valid)) == expected | {("head-new0", "bob", 1)}
    # the answers of the first collection that these qrels lack are filtered as left out
    fewer = triple_level(
        pool,
        Qrels.of(
            *(column[:0] for column in (qrels.question, qrels.entity, qrels.grade)),
            collection.questions.ids,
            collection.entities,
        ),
        decisions,
    )
    assert ("tail0", "tea", 2) in filtered(of_topics(collection, *fewer))


def test_judgements_of_something_filtered_are_of_another_collection():
    """They are refused, and so are labels that the collection does not have."""
    collection, _, pool = small_collection()
    decisions = Decisions(np.full(2, AGREED, np.int8), np.ones(2, np.int8))
    questions, qrels = triple_level(pool, collection.qrels, decisions)
    train = Triples.of([("ann", "likes", "jam"), ("bob", "likes", "x")])
    with pytest.raises(CollectionError, match=r"expected judgements of candidates only"):
        of_topics(collection, questions, qrels, train)
    other = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "tea")]))
    with pytest.raises(CollectionError, match=r"\(tail0, jam\), which is a filtered triple of the collection"):
        with_judgements(other, pool, decisions)
    none = build_questions(Triples.of([("a", "b", "c")]), Triples.of([]), Triples.of([("a", "b", "d")]))
    with pytest.raises(CollectionError, match="found the entity 'ann'"):
        with_judgements(none, pool, decisions)


def test_what_does_not_fit_is_refused():
    """A negative depth, decisions of another pool, an unknown level, a seed in the pool."""
    pool, known_answers, decisions = built(([("a", "r", "b")], {("a", "r", "c"): (1, 1)}))
    with pytest.raises(KgtrecError, match=r"expected a depth of 0 or more, found -1"):
        question_level(pool, known_answers, decisions, -1)
    with pytest.raises(CollectionError, match=r"decisions on the pool's 1 triples, found 0"):
        question_level(pool, known_answers, Decisions(decisions.state[:0], decisions.verdict[:0]))
    with pytest.raises(KgtrecError, match=r"'question' or 'triple', found 'pair'"):
        report_qrels(pool, known_answers, Automatic.none(1), decisions, level="pair")
    again = Qrels.of(pool.question, pool.entity, np.ones(1, np.int32), known_answers.questions, known_answers.entities)
    with pytest.raises(CollectionError, match=r"without the answers known before, found \('a', 'r', 'c'\) in both"):
        question_level(pool, again, decisions)


def test_further_filtered_triples_have_labels_where_the_collection_has_ids():
    """A valid triple of a new question is filtered for it, whichever names the collection has for its entities."""
    train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam"), ("zoe", "likes", "tea")])
    valid, test = Triples.of([("zoe", "likes", "jam")]), Triples.of([("ann", "likes", "jam")])
    for ids in (False, True):
        collection = build_questions(train, Triples.of([]), test, ids=ids)
        zoe, bob = entity_names(collection).encode(labels_of(["zoe", "bob"]))
        asked = Questions(
            Vocabulary.of(["tail-new0"]),
            np.array([False]),
            np.array([0]),
            np.array([zoe]),
            collection.entities,
            collection.relations,
        )
        qrels = Qrels.of(np.array([0]), np.array([bob]), np.array([1]), asked.ids, collection.entities)
        filtered = of_topics(collection, asked, qrels, valid).filtered
        assert sorted(filtered.split.tolist()) == [0, 1]
