"""Triples judged N without a person: worked by hand, as laws, and on the published pool of FB15k-237."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.triples import EntityTypes, RelationTypes, Triples
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.formats.triples import read_triples
from kgtrec.pooling.trivial import RULES, judge_trivial, trivial_counts
from kgtrec.report.show import shown

TRAIN = [
    ("fr", "capital", "paris"),
    ("it", "capital", "rome"),
    ("es", "borders", "fr"),
    ("ann", "likes", "tea"),
    ("bob", "likes", "tea"),
    ("ann", "likes", "jam"),
    ("ann", "born_in", "paris"),
    ("bob", "born_in", "paris"),
    ("cid", "born_in", "rome"),
    ("cid", "likes", "rome"),
    ("fr", "borders", "es"),
    ("dan", "born_in", "paris"),
    ("fay", "born_in", "rome"),
]
TEST = [("es", "capital", "madrid"), ("eve", "born_in", "madrid"), ("bob", "likes", "jam")]
TYPES = EntityTypes.of(
    [(c, "country") for c in ("fr", "it", "es")]
    + [(c, "city") for c in ("paris", "rome")]
    + [(p, "person") for p in ("ann", "bob", "cid", "eve", "ana")]
    + [("rome", "dish"), ("nobody", "ghost")]
)
WANTED = RelationTypes.of(
    [("capital", "country", "city"), ("born_in", "person", "city"), ("likes", "person", "food"), ("x", "city", "y")]
)


def collection_of(train=TRAIN, test=TEST):
    return build_questions(Triples.of(train), Triples.of([]), Triples.of(test))


def pool_of(collection, rows):
    """A pool of triples, each put in by one run at each of its questions that the collection has."""
    triples = Triples.of(rows).recoded(entities=collection.entities, relations=collection.relations)
    questions = collection.questions
    at = [
        questions.rows(np.full(len(triples), is_head), triples.relation, anchor)
        for is_head, anchor in ((True, triples.tail), (False, triples.head))
    ]
    triple, question = (
        np.concatenate(part) for part in zip(*((np.flatnonzero(a >= 0), a[a >= 0]) for a in at), strict=True)
    )
    zeros = np.zeros(len(triple), np.int32)
    return Pool.of(triples, triple.astype(np.int32), question.astype(np.int32), zeros, zeros + 1, ["mine"], questions)


def labels(triples):
    columns = (
        triples.entities.decode(triples.head),
        triples.relations.decode(triples.relation),
        triples.entities.decode(triples.tail),
    )
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def rules_of(pool, automatic):
    """{triple: rule} of those that a rule takes."""
    names = [automatic.rules[code] if code >= 0 else None for code in automatic.rule]
    return {triple: name for triple, name in zip(labels(pool.triples), names, strict=True) if name}


POOLED = [
    ("es", "capital", "rome"),
    ("ann", "capital", "madrid"),
    ("it", "capital", "madrid"),
    ("paris", "born_in", "madrid"),
    ("eve", "born_in", "tea"),
    ("eve", "born_in", "paris"),
    ("ann", "born_in", "madrid"),
    ("rome", "likes", "jam"),
    ("bob", "likes", "rome"),
    ("madrid", "born_in", "madrid"),
]


def test_types_of_files():
    """Known types disjoint from those wanted; madrid, tea and jam have none, and no entity is of the type food."""
    collection = collection_of()
    pool = pool_of(collection, POOLED)
    with pytest.warns(
        KgtrecWarning,
        match="8 of 10 triples could not be checked against known types on both sides, which "
        "is not a reason to judge them N: 3 entities and 1 relations have none",
    ):
        automatic = judge_trivial(pool, collection, entity_types=TYPES, relation_types=WANTED)
    assert rules_of(pool, automatic) == {
        ("ann", "capital", "madrid"): "head type",
        ("paris", "born_in", "madrid"): "head type",
        ("rome", "likes", "jam"): "head type",
    }
    assert automatic.rules == ("head type",)


def test_observed_types():
    """ann is no country: she fills no slot that a country fills; rome is a thing that people like, so it fits there."""
    collection = collection_of()
    pool = pool_of(collection, POOLED)
    with pytest.warns(KgtrecWarning, match="observed types"):
        automatic = judge_trivial(pool, collection, observed=True)
    assert rules_of(pool, automatic) == {
        ("ann", "capital", "madrid"): "observed head type",
        ("paris", "born_in", "madrid"): "observed head type",
        ("rome", "likes", "jam"): "observed head type",
    }


def test_second_answers():
    """capital is 1-1 and born_in N-1: who has one cannot have another. likes is N-N, and nothing is said of it."""
    collection = collection_of()
    pool = pool_of(collection, POOLED)
    assert rules_of(pool, judge_trivial(pool, collection, by="category")) == {
        ("ann", "capital", "madrid"): "1-1 head question",
        ("it", "capital", "madrid"): "1-1 head question",
        ("es", "capital", "rome"): "1-1 tail question",
        ("eve", "born_in", "tea"): "N-1 tail question",
        ("eve", "born_in", "paris"): "N-1 tail question",
    }


def test_second_answers_of_1_n_relations():
    """A child that has a mother has no other; a mother may have further children."""
    train = [("eva", "mother_of", name) for name in ("abel", "cain", "seth")]
    collection = collection_of([*train, ("ada", "sister_of", "eva")], [("eva", "mother_of", "awan")])
    pool = pool_of(collection, [("ada", "mother_of", "awan"), ("eva", "mother_of", "ada")])
    assert rules_of(pool, judge_trivial(pool, collection, by="category")) == {
        ("ada", "mother_of", "awan"): "1-N head question"
    }


def test_a_question_without_an_answer_takes_nothing():
    """The rule rests on there being an answer: with none, the first may be the one."""
    collection = collection_of()
    pool = pool_of(collection, [("es", "capital", "rome")])
    assert judge_trivial(pool, collection, by="category").is_automatic.all()
    object.__setattr__(collection.qrels, "grade", np.zeros_like(collection.qrels.grade))
    assert not judge_trivial(pool, collection, by="category").is_automatic.any()


def test_a_question_that_was_not_pooled_for_takes_nothing():
    """Only questions of the pool: that rome is a capital already is said of no question that was asked."""
    collection = collection_of()
    pool = pool_of(collection, [("es", "capital", "rome"), ("it", "capital", "madrid")])
    kept = np.flatnonzero(collection.questions.is_head)
    questions = collection.questions
    fewer = Questions(
        type(questions.ids).of(questions.ids.decode(kept)),
        questions.is_head[kept],
        questions.relation[kept],
        questions.anchor[kept],
        questions.entities,
        questions.relations,
    )
    row = int(np.flatnonzero(np.isin(kept, pool.question))[0])
    one = np.ones(2, np.int32)
    smaller = Pool.of(pool.triples, np.arange(2, dtype=np.int32), one * row, one * 0, one, ["mine"], fewer)
    assert list(rules_of(smaller, judge_trivial(smaller, collection, by="category"))) == [("it", "capital", "madrid")]


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_the_first_rule_is_recorded_and_nothing_is_taken_twice():
    """All ways together take what each takes alone, and the order is that of RULES."""
    collection = collection_of()
    pool = pool_of(collection, POOLED)
    types = {"entity_types": TYPES, "relation_types": WANTED}
    alone = [
        judge_trivial(pool, collection, **types),
        judge_trivial(pool, collection, observed=True),
        judge_trivial(pool, collection, by=["category"]),
    ]
    together = judge_trivial(pool, collection, by=["category", "types"], observed=True, **types)
    assert np.array_equal(together.is_automatic, np.any([each.is_automatic for each in alone], axis=0))
    for triple, rule in rules_of(pool, together).items():
        assert RULES.index(rule) == min(
            RULES.index(rules_of(pool, each)[triple]) for each in alone if triple in rules_of(pool, each)
        )


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_no_train_triple_is_of_the_wrong_observed_type():
    """Whatever train says fits."""
    collection = collection_of(test=TRAIN)
    pool = pool_of(collection, sorted(set(TRAIN)))
    assert not judge_trivial(pool, collection, observed=True, share=0.99).is_automatic.any()


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_ids_for_entities_do_not_matter():
    """Types name entities as the triples did, also where the collection calls them e0, e1, ..."""
    plain = collection_of()
    ids = build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST), ids=True)
    pool = pool_of(plain, POOLED)
    named = pool.triples
    renamed = Triples(named.head, named.relation, named.tail, ids.entities, ids.relations)
    other = Pool(
        renamed,
        *(getattr(pool, name) for name in ("probability", "triple", "question", "run", "rank", "runs")),
        ids.questions,
    )
    types = {"entity_types": TYPES, "relation_types": WANTED}
    assert np.array_equal(judge_trivial(pool, plain, **types).rule, judge_trivial(other, ids, **types).rule)


def test_counts_and_their_text():
    """Rows sum to what is taken; the text has a line per rule and relation."""
    collection = collection_of()
    pool = pool_of(collection, POOLED)
    counts = trivial_counts(pool, judge_trivial(pool, collection, by="category"))
    assert counts["relations"].to_pylist() == [
        {"rule": "1-1 head question", "relation": "capital", "triples": 2, "pooled": 3},
        {"rule": "1-1 tail question", "relation": "capital", "triples": 1, "pooled": 3},
        {"rule": "N-1 tail question", "relation": "born_in", "triples": 2, "pooled": 5},
    ]
    text = shown(counts, "table")
    assert text.splitlines()[4:6] == ["all rules                5  50.00%", "left to judge            5  50.00%"]
    assert text.splitlines()[-1].split() == ["N-1", "tail", "question", "born_in", "2", "5"]
    nothing = pool.where(pool.triple < 0)
    text = shown(trivial_counts(nothing, judge_trivial(nothing, collection, by="category")), "table")
    assert text.splitlines()[-1].split() == ["left", "to", "judge", "0", "-"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"by": ["type"]}, "expected ways among types, category, found 'type'; did you mean types?"),
        ({}, "expected types of entities and relations, found none; give both "),
        ({"entity_types": TYPES}, "expected types of both entities and relations, found no types of relations;"),
        ({"by": "category", "observed": True}, "expected types only where triples are judged by types, found them "),
        ({"observed": True, "share": 1.0}, "expected a share from 0 to below 1, found 1.0"),
    ],
)
def test_wrong_options(options, expected):
    """Say what to give."""
    collection = collection_of()
    with pytest.raises(KgtrecError) as caught:
        judge_trivial(pool_of(collection, POOLED), collection, **options)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("entities", "relations", "what"),
    [
        ([("france", "country")], [("capital", "country", "city")], "an entity"),
        ([("fr", "country")], [("capitals", "country", "city")], "a relation"),
        ([("fr", "country")], [("capital", "Country", "City")], "a type"),
    ],
)
def test_types_of_another_data_set(entities, relations, what):
    """Nothing in common means the wrong files, not that all is trivial."""
    collection = collection_of()
    with pytest.raises(CollectionError, match=f"to have {what} in common, found '"):
        judge_trivial(
            pool_of(collection, POOLED),
            collection,
            entity_types=EntityTypes.of(entities),
            relation_types=RelationTypes.of(relations),
        )


def test_a_pool_of_another_collection():
    """Is refused by the label that is missing."""
    pool = pool_of(collection_of(), POOLED)
    other = collection_of([("a", "capital", "b")], [("a", "born_in", "b")])
    with pytest.raises(CollectionError, match="expected a pool of this collection, found the entity '"):
        judge_trivial(pool, other, by="category")


def lines_of(path):
    return [tuple(line.split("\t")[:3]) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def published(data):
    """The collection of FB-Test-S, and the published pool and what people found in it."""
    folder = data / "kgc-sparsity" / "data"
    train, valid, test = (read_triples(data / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test"))
    known_answers = lines_of(folder / "FB-Test-S" / "samples.txt")
    others = sorted(set(labels(test)) - set(known_answers))
    # what was not sampled is filtered; the published categories come out of train alone
    collection = build_questions(
        train, Triples.of([*labels(valid), *others]), Triples.of(known_answers), categories_from=["train"]
    )
    pool = pool_of(collection, lines_of(folder / "FB-Test-S-C" / "supplementary" / "pooling_depth.txt"))
    rows = labels(pool.triples)
    positive = set(lines_of(folder / "FB-Test-S-C" / "test.txt"))
    filtered = set(lines_of(folder / "FB-Test-S-C" / "supplementary" / "filtered.txt"))
    return collection, pool, np.array([row in positive for row in rows]), np.array([row in filtered for row in rows])


@pytest.mark.slow
def test_the_published_filter_is_the_rule_of_categories(published):
    """It takes all 8,899 triples that were filtered, and 3 that were judged all the same, one of them Y."""
    collection, pool, positive, filtered = published
    taken = judge_trivial(pool, collection, by="category").is_automatic
    assert (len(pool), positive.sum(), filtered.sum()) == (21_469, 1_715, 8_899)
    assert taken[filtered].all()
    assert (taken.sum(), (taken & positive).sum()) == (8_902, 1)


@pytest.mark.parametrize(
    ("share", "taken", "judged", "lost"), [(0.0, 4_340, 466, 9), (0.1, 4_512, 614, 21), (0.5, 5_180, 1_014, 34)]
)
def test_what_observed_types_cost(published, share, taken, judged, lost):
    """Of the published pool: triples taken, those of them that people judged, and positives among these."""
    collection, pool, positive, filtered = published
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        mask = judge_trivial(pool, collection, observed=True, share=share).is_automatic
    assert (mask.sum(), (mask & ~filtered).sum(), (mask & positive).sum()) == (taken, judged, lost)
