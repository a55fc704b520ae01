"""Triple questions: by hand, by law, and on the data sets that everybody uses."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions, categorize
from kgtrec.data.collection import CATEGORIES
from kgtrec.data.triples import Splits, Triples
from kgtrec.data.vocabulary import WHITE_SPACE
from kgtrec.errors import KgtrecError
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.kernels.statistics.divergence import kl_divergence

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "tea"), ("ann", "knows", "bob"), ("ann", "likes", "tea")]
VALID = [("bob", "likes", "jam")]
TEST = [("ann", "likes", "jam"), ("cid", "likes", "tea"), ("ann", "likes", "jam"), ("ann", "likes", "pie")]


def built(train=TRAIN, valid=VALID, test=TEST, **options):
    return build_questions(Triples.of(train), Triples.of(valid), Triples.of(test), **options)


def topics(collection):
    questions = collection.questions
    columns = questions.entities.decode(questions.anchor), questions.relations.decode(questions.relation)
    return list(zip(questions.ids, *(column.to_pylist() for column in columns), strict=True))


def answers(collection):
    qrels = collection.qrels
    columns = qrels.questions.decode(qrels.question), qrels.entities.decode(qrels.entity)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def filtered(collection):
    rows = collection.filtered
    columns = collection.questions.ids.decode(rows.question), collection.entities.decode(rows.entity)
    return list(zip(*(column.to_pylist() for column in columns), rows.split.tolist(), strict=True))


def test_a_tiny_graph_by_hand():
    """Two questions of ann's likes would be one: same side, relation and anchor."""
    collection = built()
    assert topics(collection) == [
        ("head0", "jam", "likes"),
        ("head1", "tea", "likes"),
        ("head2", "pie", "likes"),
        ("tail0", "ann", "likes"),
        ("tail1", "cid", "likes"),
    ]
    assert collection.questions.is_head.tolist() == [True, True, True, False, False]
    assert sorted(answers(collection)) == [
        ("head0", "ann"),
        ("head1", "cid"),
        ("head2", "ann"),
        ("tail0", "jam"),
        ("tail0", "pie"),
        ("tail1", "tea"),
    ]
    assert collection.qrels.grade.tolist() == [1] * 6
    assert filtered(collection) == [("head0", "bob", 1), ("head1", "ann", 0), ("head1", "bob", 0), ("tail0", "tea", 0)]
    assert list(collection.entities) == ["ann", "tea", "bob", "jam", "cid", "pie"]


def test_the_report_of_the_tiny_graph():
    """One repeated triple in train and in test; cid, jam and pie are not in train, jam being in valid."""
    report = built().report
    assert report["triples_read"] == {"train": 4, "valid": 1, "test": 4}
    assert report["triples"] == {"train": 3, "valid": 1, "test": 3}
    assert report["repeated"] == {"policy": "drop", "train": 1, "valid": 0, "test": 1}
    assert report["unseen_entities"] == {"policy": "keep", "entities": 3, "test_triples": 3, "valid_triples": 1}
    assert report["unseen_relations"] == {"policy": "keep", "relations": 0, "test_triples": 0, "valid_triples": 0}
    assert report["answers_per_question"]["tail"] == {"min": 1, "median": 1.5, "mean": 1.5, "max": 2}
    assert report["histogram"] == [{"from": 1, "to": 1, "questions": 4}, {"from": 2, "to": 2, "questions": 1}]
    # likes: 6 distinct triples, 3 heads, 3 tails
    assert report["categories"]["N-N"] == {"relations": 1, "test_triples": 3}
    assert report["categories"]["1-1"] == {"relations": 1, "test_triples": 0}
    json.dumps(report)


def test_a_leaked_triple_is_an_answer_unless_dropped():
    """Kept, it is an answer and so not filtered; dropped, its question may vanish, and elsewhere it is filtered."""
    test = [("ann", "likes", "tea"), ("ann", "likes", "jam"), ("bob", "likes", "jam")]
    kept = built(test=test)
    assert kept.report["leaked"] == {
        "policy": "keep",
        "test_in_train": 1,
        "test_in_valid": 1,
        "test_in_either": 2,
        "valid_in_train": 0,
    }
    assert ("tail0", "tea") in answers(kept)
    assert ("tail0", "tea", 0) not in filtered(kept)
    dropped = built(test=test, leaked="drop")
    assert topics(dropped) == [("head0", "jam", "likes"), ("tail0", "ann", "likes")]
    assert filtered(dropped) == [("head0", "bob", 1), ("tail0", "tea", 0)]


def test_dropping_unseen_entities_takes_them_out_of_the_candidates():
    """Only train's entities are left, and valid's triples with others go too."""
    collection = built(test=[*TEST, ("bob", "knows", "ann")], unseen_entities="drop")
    assert list(collection.entities) == ["ann", "tea", "bob"]
    assert topics(collection) == [("head0", "ann", "knows"), ("tail0", "bob", "knows")]
    assert collection.report["triples"] == {"train": 3, "valid": 0, "test": 1}


def test_dropping_unseen_relations():
    """A relation without a train triple asks nothing."""
    test = [("ann", "hates", "tea"), ("bob", "likes", "ann")]
    assert "hates" in list(built(test=test).relations)
    collection = built(test=test, unseen_relations="drop")
    assert list(collection.relations) == ["likes", "knows"]
    assert topics(collection) == [("head0", "ann", "likes"), ("tail0", "bob", "likes")]


def test_keeping_repeated_triples_leaves_them_in_train_only():
    """A pair is judged once."""
    collection = built(repeated="keep")
    assert len(collection.train) == 4
    assert answers(collection) == answers(built())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeated": "error"}, "found 1 of 4"),
        ({"leaked": "error", "test": VALID}, "found 1 of 1"),
        ({"unseen_entities": "error"}, "found 3 of 3"),
        ({"unseen_relations": "error", "test": [("ann", "hates", "tea")]}, "--unseen-relations keep or"),
        ({"leaked": "ignore"}, "found 'ignore'"),
        ({"threshold": 1}, "expected a threshold above 1"),
        ({"seed": -1}, "seed"),
        ({"categories_from": ["dev"]}, "categories_from"),
        ({"test": []}, "triple"),
        ({"unseen_entities": "drop"}, "repeated"),
        ({"sample": 4}, "sample"),
        ({"sample": 1.5}, "found 1.5"),
        ({"sample": True}, "found True"),
        ({"test": [("ann", "likes", "")]}, "every"),
        ({"test": [("ann", "", "tea")]}, "every"),
        (
            {"test": [("ann", "likes", "ice cream"), ("a\u00a0b", "likes", "c d"), ("e f", "likes", "tea")]},
            "found 'ice cream'",
        ),
        ({"test": [("ann", "likes\t", "tea")]}, "breaks"),
        ({"test": [("ann", "likes", "t\nea")], "ids": True}, "expected entity labels without tabs, line breaks"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    """What was expected, what was found, and the way out."""
    with pytest.raises(KgtrecError) as caught:
        built(**options)
    assert message in str(caught.value)


def test_ids_stand_for_labels_with_white_space():
    """e0, e1, ... by byte order, and the labels beside; relations may hold blanks, since no file is split there."""
    test = [("ann", "is fond of", "ice cream")]
    collection = built(test=test, ids=True)
    assert topics(collection) == [("head0", "e2", "is fond of"), ("tail0", "e0", "is fond of")]
    assert list(collection.labels) == ["ann", "tea", "bob", "jam", "ice cream"]
    assert list(collection.entities) == list(collection.train.entities) == ["e0", "e4", "e1", "e3", "e2"]


def test_every_white_space_character_is_refused():
    """The pattern holds exactly what str.isspace says, and NUL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    found = pc.match_substring_regex(pa.array(characters), WHITE_SPACE).to_pylist()
    assert found == [character.isspace() or character == "\0" for character in characters]


names = st.sampled_from(["a", "b", "c", "d"])
triples = st.lists(st.tuples(names, st.sampled_from(["r", "s"]), names), max_size=12)
some_triples = triples.filter(len)


@given(triples, triples, some_triples)
def test_questions_part_the_test_triples(train, valid, test):
    """Each distinct test triple is an answer of one question per side, and nothing else is."""
    collection = built(train, valid, test)
    asked = {label: (anchor, relation) for label, anchor, relation in topics(collection)}
    for side, given_at, wanted_at in (("head", 2, 0), ("tail", 0, 2)):
        found = [(asked[q], e) for q, e in answers(collection) if q.startswith(side)]
        assert sorted(found) == sorted({((t[given_at], t[1]), t[wanted_at]) for t in test})
        order = list(dict.fromkeys((t[given_at], t[1]) for t in test))
        assert [asked[f"{side}{i}"] for i in range(len(order))] == order
    assert len(asked) == len(set(topics(collection)))


@given(triples, triples, some_triples)
def test_filtered_are_the_other_completions(train, valid, test):
    """By definition, over every question, entity and split; never an answer."""
    collection = built(train, valid, test)
    judged = set(answers(collection))
    expected = []
    for (label, anchor, relation), entity, split in product(topics(collection), "abcd", (0, 1)):
        triple = (entity, relation, anchor) if label.startswith("head") else (anchor, relation, entity)
        if triple in (train, valid)[split] and (label, entity) not in judged:
            expected.append((label, entity, split))
    assert sorted(filtered(collection)) == sorted(expected)
    rows = collection.filtered
    keys = list(zip(rows.question.tolist(), rows.entity.tolist(), rows.split.tolist(), strict=True))
    assert keys == sorted(set(keys))


@given(triples, some_triples, st.data())
def test_a_sample_moves_the_other_test_triples_to_filtered(train, test, data):
    """Answers of the sample and filtered test entities are together the completions by all test triples."""
    distinct = list(dict.fromkeys(test))
    n = data.draw(st.integers(1, len(distinct)))
    collection = built(train, [], test, sample=n, seed=data.draw(st.integers(0, 5)))
    assert len(collection.qrels) == 2 * n
    asked = {label: (anchor, relation) for label, anchor, relation in topics(collection)}
    pairs = {(q, e) for q, e, split in filtered(collection) if split == 2} | set(answers(collection))
    for label, (anchor, relation) in asked.items():
        one, other = (2, 0) if label.startswith("head") else (0, 2)
        completed = {t[other] for t in test if t[one] == anchor and t[1] == relation}
        assert {e for q, e in pairs if q == label} == completed
    assert collection.report["sample"]["kl_nats"] >= 0


def test_a_whole_sample_is_the_full_set():
    """Nothing is left out, no divergence, same order."""
    whole = built(sample=3)
    assert topics(whole) == topics(built())
    assert whole.report["sample"]["kl_nats"] == 0
    assert whole.fingerprint == built().fingerprint


def test_the_same_seed_draws_the_same_sample():
    """And another seed another one."""
    test = [(f"h{i}", "r", f"t{i}") for i in range(50)]
    one, same, other = (built(test=test, sample=0.2, seed=seed) for seed in (1, 1, 2))
    assert len(one.qrels) == 20
    assert one.fingerprint == same.fingerprint != other.fingerprint


# --- the data sets

FACTS = {
    # questions (head, tail), test triples, entities, entities not in train, test triples with one
    "fb15k-237": (9_113, 13_737, 20_466, 14_541, 36, 28),
    "wn18rr": (2_694, 3_022, 3_134, 40_943, 384, 210),
    "small/nations": (145, 143, 201, 14, 0, 0),
    "small/kinships": (674, 744, 1_074, 104, 0, 0),
    "small/umls": (342, 362, 661, 135, 0, 0),
}


@pytest.fixture(scope="module")
def read(data):
    cache = {}

    def splits(name):
        if name not in cache:
            cache[name] = [read_triples(path) for path in find_splits(data / name)]
        return cache[name]

    return splits


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTS)
def test_the_usual_data_sets(read, name):
    """Questions per side, and what train lacks; none of them repeats or leaks a triple."""
    report = build_questions(*read(name)).report
    head, tail, n_test, n_entities, unseen, unseen_test = FACTS[name]
    assert report["questions"] == {"head": head, "tail": tail, "all": head + tail}
    assert report["triples"]["test"] == n_test
    assert report["answers"] == 2 * n_test
    assert report["entities"] == n_entities
    assert (report["unseen_entities"]["entities"], report["unseen_entities"]["test_triples"]) == (unseen, unseen_test)
    assert {report["repeated"][split] for split in ("train", "valid", "test")} == {0}
    assert report["leaked"]["test_in_either"] == report["leaked"]["valid_in_train"] == 0


def test_fb15k237_has_the_question_list_of_zhou_et_al(read, data):
    """Ids, anchors, relations and their order, FB-Test-O/trec_queries.txt."""
    lines = (data / "kgc-sparsity/data/FB-Test-O/trec_queries.txt").read_text().splitlines()
    assert topics(build_questions(*read("fb15k-237"))) == [tuple(line.split("\t")) for line in lines]


@pytest.mark.parametrize(
    ("name", "mean"),
    [("small/nations", 7.955224), ("small/kinships", 94.438082), ("fb15k-237", 14_270.3379), ("wn18rr", 40_544.0959)],
)
def test_candidates_after_dropping_unseen_entities(read, name, mean):
    """Mean number of filtered candidates per answer, as Hoyt et al. (2022) used it for their expectations."""
    collection = build_questions(*read(name), unseen_entities="drop")
    n_questions, n_entities = len(collection.questions), len(collection.entities)
    pairs = np.unique(collection.filtered.question.astype(np.int64) * n_entities + collection.filtered.entity)
    n_filtered = np.bincount(pairs // n_entities, minlength=n_questions)
    n_answers = np.bincount(collection.qrels.question, minlength=n_questions)
    candidates = n_entities - n_filtered - n_answers + 1
    assert np.average(candidates, weights=n_answers) == pytest.approx(mean, abs=6e-5 if mean > 1000 else 1e-6)


LISTS = dict(zip(CATEGORIES, ("one_to_one", "one_to_many", "many_to_one", "many_to_many"), strict=True))


@pytest.mark.parametrize(
    ("splits", "agree"), [(("train",), 237), (("train", "valid"), 237), (("train", "valid", "test"), 232)]
)
def test_categories_against_the_lists_of_zhou_et_al(read, data, splits, agree):
    """All 237 relations agree over train alone; over all three splits five N-1 relations reach 1.5 tails per head."""
    listed = {
        relation: category
        for category, name in LISTS.items()
        for relation in (data / f"fb15k-237/relations_{name}.txt").read_text().split()
    }
    all_splits = Splits.of(*read("fb15k-237"))
    found = categorize(all_splits, categories_from=splits)
    names = {relation: CATEGORIES[code] for relation, code in zip(all_splits.relations, found.category, strict=True)}
    assert names.keys() == listed.keys()
    differing = {relation for relation in listed if names[relation] != listed[relation]}
    assert len(listed) - len(differing) == agree
    assert {(listed[relation], names[relation]) for relation in differing} <= {("N-1", "N-N")}
    assert all(
        1.5 <= mean < 1.55
        for mean, relation in zip(found.tails_per_head, all_splits.relations, strict=True)
        if relation in differing
    )


def test_divergence_of_the_sample_of_zhou_et_al(read, data):
    """FB-Test-S from FB-Test-O: 0.103 nats; FB-Test-O from all triples: 0.178."""
    all_splits = Splits.of(*read("fb15k-237"))
    sample = read_triples(data / "kgc-sparsity/data/FB-Test-S/samples.txt").recoded(
        entities=all_splits.entities, relations=all_splits.relations
    )
    parts = (all_splits.train, all_splits.valid, all_splits.test)
    everything = np.bincount(np.concatenate([part.relation for part in parts]))
    full = np.bincount(all_splits.test.relation, minlength=237)
    assert len(sample) == 1_023
    assert kl_divergence(np.bincount(sample.relation, minlength=237), full) == pytest.approx(0.103, abs=5e-4)
    assert kl_divergence(full, everything) == pytest.approx(0.178, abs=5e-4)


def test_a_sample_may_be_given_as_triples():
    """Those left out are filtered, under whatever vocabulary the sample has; one that is no test triple is refused."""
    train, valid = Triples.of([("a", "r", "b")]), Triples.of([])
    test = Triples.of([("a", "r", "c"), ("b", "r", "c"), ("c", "r", "a")])
    collection = build_questions(train, valid, test, sample=Triples.of([("b", "r", "c")]))
    assert collection.report["sample"]["triples"] == 1
    assert collection.report["sample"]["seed"] is None
    filtered = [
        (collection.questions.ids[q], collection.entities[e], int(s))
        for q, e, s in zip(
            collection.filtered.question, collection.filtered.entity, collection.filtered.split, strict=True
        )
    ]
    assert filtered == [("head0", "a", 2)]
    with pytest.raises(KgtrecError, match="found 1 of 1"):
        build_questions(train, valid, test, sample=Triples.of([("c", "r", "x")]))
    with pytest.raises(KgtrecError, match="a sample of at least one test triple"):
        build_questions(train, valid, test, sample=Triples.of([]))


def test_splits_may_be_files_lists_arrays_and_frames(tmp_path):
    """Or one folder with all three; what is none of these is one error that names the split."""
    splits = {"train": TRAIN, "valid": VALID, "test": TEST}
    for name, rows in splits.items():
        (tmp_path / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    wanted = built().fingerprint
    frame = pd.DataFrame(TEST, columns=["head", "relation", "tail"])
    assert build_questions(TRAIN, tmp_path / "valid.tsv", frame).fingerprint == wanted
    assert build_questions(str(tmp_path / "train.tsv"), np.array(VALID), iter(TEST)).fingerprint == wanted
    assert build_questions(tmp_path).fingerprint == wanted
    with pytest.raises(KgtrecError, match=r"valid:.*found int"):
        build_questions(TRAIN, 3, TEST)
    with pytest.raises(KgtrecError, match=r"test:.*found NoneType"):
        build_questions(TRAIN, VALID)
    with pytest.raises(KgtrecError, match=r"train:.*astype"):
        build_questions(np.array([[1, 2, 3]]), test=TEST)


@pytest.mark.parametrize("threshold", [float("inf"), float("nan"), 1.0])
def test_a_threshold_is_a_finite_number_above_1(threshold):
    one = Triples.of([("a", "r", "b")])
    with pytest.raises(KgtrecError, match="expected a threshold above 1"):
        build_questions(one, one, one, threshold=threshold)


def test_the_fingerprint_knows_what_ids_stand_for():
    """Two graphs of one form: the same under e0, e1, ..., and not the same collection."""
    one, other = (
        build_questions(
            Triples.of([(f"{name}1", "r", f"{name}2")]), test=Triples.of([(f"{name}2", "r", f"{name}1")]), ids=True
        )
        for name in "ab"
    )
    assert list(one.entities) == list(other.entities)
    assert one.fingerprint != other.fingerprint
