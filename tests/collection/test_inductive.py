"""Inductive collections: a model that was trained on one graph is asked about the entities of another."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.triples import POLICIES_LIKE, Triples
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.plausibility import doubtful_triples
from kgtrec.formats.collections import read_collection, report_text, write_collection
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import BASELINES, baseline_blocks

Rows = list[tuple[str, str, str]]
TRAIN = [("a", "likes", "b"), ("b", "liked_by", "a"), ("c", "likes", "a"), ("a", "liked_by", "c"), ("a", "fears", "b")]
GRAPH = [("x", "likes", "y"), ("z", "liked_by", "x"), ("y", "likes", "z")]
VALID = [("x", "likes", "w")]
TEST = [("x", "likes", "z"), ("x", "owns", "z")]


def built(train: Rows = TRAIN, **options: object) -> Collection:
    return build_questions(train, VALID, TEST, inference=GRAPH, **options)


def filtered_of(collection: Collection) -> set[tuple[str, str, str, str]]:
    """(question, label, entity, split) of each filtered answer."""
    found, asked = collection.filtered, collection.questions
    return {
        (asked.ids[question], "HT"[not asked.is_head[question]], collection.entities[entity], str(split))
        for question, entity, split in zip(found.question, found.entity, found.split, strict=True)
    }


def test_candidates_and_filter_are_those_of_the_inference_graph():
    """Of (x, likes, ?) y is known in the graph and w in valid; nothing of a, b, c is anywhere."""
    collection = built()
    assert list(collection.entities) == ["x", "y", "z", "w"]
    assert filtered_of(collection) == {("tail0", "T", "y", "0"), ("tail0", "T", "w", "1"), ("head0", "H", "y", "0")}
    assert [collection.train.labels_at(row) for row in range(3)] == GRAPH
    assert list(collection.relations) == ["likes", "liked_by", "owns"]


def test_the_training_graph_is_kept_with_its_entities_and_the_relations_that_the_collection_has():
    training = built().training
    assert training is not None
    assert list(training.entities) == ["a", "b", "c"]
    assert [training.labels_at(row) for row in range(len(training))] == TRAIN[:4]  # nobody fears here


def test_what_both_graphs_have_is_counted():
    """One entity, one relation; of two test triples one is in the training graph."""
    collection = built([*TRAIN, ("x", "likes", "z")])
    assert collection.report["training"] == {
        "triples": 6,
        "entities": 5,
        "relations": 3,
        "entities_in_both": 2,
        "relations_in_both": 2,
        "inference_triples_of_other_relations": 0,
        "test_triples_with_its_entities": 2,
        "test_triples_in_it": 1,
    }
    assert "entities 5, 2 of them candidates, relations 3, 2 of them here" in report_text(collection.report)
    assert built().report["unseen_relations"] == {
        "policy": "keep",
        "relations": 1,
        "test_triples": 1,
        "valid_triples": 0,
    }


def test_a_test_triple_that_the_model_was_trained_on_is_leaked():
    collection = built([*TRAIN, ("x", "likes", "z")], leaked="drop")
    assert list(collection.questions.ids) == ["head0", "tail0"]
    with pytest.raises(KgtrecError, match="neither train nor valid"):
        built([*TRAIN, ("x", "likes", "z")], leaked="error")


def test_a_relation_that_no_training_triple_has_is_dropped_everywhere_and_its_entities_stay():
    collection = build_questions(TRAIN, VALID, TEST, inference=[*GRAPH, ("v", "owns", "z")], unseen_relations="drop")
    assert list(collection.relations) == ["likes", "liked_by"]
    assert len(collection.train) == 3
    assert "v" in list(collection.entities)


rows = st.lists(st.tuples(*(st.sampled_from(labels) for labels in ("abcde", "rs", "abcde"))), min_size=1, max_size=14)


@given(rows, rows, st.lists(st.tuples(*(st.sampled_from(labels) for labels in ("abcde", "rs", "abcde")))), rows)
def test_filter_and_ranks_equal_an_obvious_reading(train: Rows, graph: Rows, valid: Rows, test: Rows):
    """Each answer among the entities of graph, valid and test that complete no known triple, whatever train has."""
    collection = build_questions(train, valid or None, test, inference=graph)
    entities = {label for h, _, t in (*graph, *valid, *test) for label in (h, t)}
    assert set(collection.entities) == entities
    known = {*graph, *valid, *test}
    score = {(r, a, b): 7 * ord(r) * ord(a) * (ord(b) + 3) % 5 for r, a, b in product("rs", "abcde", "abcde")}
    asked = collection.questions
    scores = np.zeros((len(asked), len(asked.entities)))
    for row, (is_head, relation, anchor) in enumerate(zip(asked.is_head, asked.relation, asked.anchor, strict=True)):
        for code, label in enumerate(asked.entities):
            ends = (label, asked.entities[anchor]) if is_head else (asked.entities[anchor], label)
            scores[row, code] = score[(asked.relations[relation], *ends)]
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    found = {}
    for question, entity, above, tied in zip(ranks.question, ranks.entity, ranks.above, ranks.tied, strict=True):
        row = asked.ids[question]
        triple = asked.triples(np.array([question]), np.array([entity])).labels_at(0)
        found[row[0], triple] = (above, tied)
    expected = {}
    for side, (h, r, t) in product("ht", set(test)):
        others = [(e, r, t) if side == "h" else (h, r, e) for e in entities]
        rest = [score[(r, a, b)] for a, _, b in others if (a, r, b) not in known]
        own = score[(r, h, t)]
        expected[side, (h, r, t)] = (sum(other > own for other in rest), sum(other == own for other in rest))
    assert found == expected


@pytest.mark.slow
@given(rows, rows, rows)
def test_names_of_training_entities_change_nothing(train: Rows, graph: Rows, test: Rows):
    """Questions, filter, stamp, and the scores of rules, whatever the entities of the training graph are called."""
    new = dict(zip("abcde", ["e", "zz", "1", "b", "qq"], strict=True))
    one = build_questions(train, test=test, inference=graph)
    other = build_questions([(new[h], r, new[t]) for h, r, t in train], test=test, inference=graph)
    assert one.stamp == other.stamp
    assert filtered_of(one) == filtered_of(other)
    own, renamed = (np.vstack([scores for _, scores in baseline_blocks("rules", each)]) for each in (one, other))
    assert own.tolist() == renamed.tolist()


@pytest.mark.slow
@given(rows, rows)
def test_trained_on_the_inference_graph_is_transductive(graph: Rows, test: Rows):
    """The stamp, the filter and the scores of every baseline are the same."""
    inductive, plain = (build_questions(graph, test=test, inference=own) for own in (graph, None))
    assert inductive.stamp == plain.stamp
    assert filtered_of(inductive) == filtered_of(plain)
    for name in (name for name, record in BASELINES.items() if not record.knows):  # of times
        own, other = (np.vstack([scores for _, scores in baseline_blocks(name, each)]) for each in (inductive, plain))
        assert own.tolist() == other.tolist(), name


@pytest.mark.filterwarnings("ignore:left out 3 entities")
@given(st.integers(0, 1000))
def test_scores_of_training_entities_never_matter(seed: int):
    """A model that knows both graphs scores a, b, c too."""
    collection, rng = built(), np.random.default_rng(seed)
    labels = ["a", "x", "b", "y", "z", "c", "w"]
    scores = rng.integers(0, 3, (len(collection.questions), len(labels))).astype(float)
    other = scores.copy()
    other[:, [0, 2, 5]] = rng.normal(0, 9, (len(scores), 3))
    one, two = (
        rank_scores(collection, each, questions=collection, entities=labels, depth=0).answer_ranks
        for each in (scores, other)
    )
    assert one.digest() == two.digest()


def test_filtering_by_training_numbers_is_off_where_numbers_meet():
    """By label order a, b, c are read as w, x, y; so that a likes b filters (w, likes, x): here of (x, likes, ?)."""
    with_c = [("b", "likes", "c"), ("a", "likes", "b"), ("d", "likes", "b")]
    collection = build_questions(with_c, VALID, TEST, inference=GRAPH, training_ids=True)
    assert filtered_of(collection) == {("tail0", "T", "y", "0"), ("tail0", "T", "w", "1")}
    assert collection.fingerprint != build_questions(with_c, VALID, TEST, inference=GRAPH).fingerprint
    beyond = [("b", "likes", f"e{number}") for number in range(4)]
    with pytest.warns(match="IndexError at 1 of the 4 questions"):
        build_questions([*with_c, *beyond], VALID, TEST, inference=GRAPH, training_ids=True)
    with pytest.raises(KgtrecError, match="expected an inference graph"):
        build_questions(TRAIN, VALID, TEST, training_ids=True)


def test_rules_of_the_training_graph_hold_in_the_inference_graph():
    """likes is liked_by backwards: 2 of 2 pairs, confidence 2 / (2 + 5), of z, and of nobody else."""
    collection = built()
    scores = np.vstack([scores for _, scores in baseline_blocks("inverse", collection)])
    row = list(collection.questions.ids).index("tail0")
    assert scores[row].round(12).tolist() == [0, 0, round(2 / 7, 12), 0]


def test_baselines_without_common_relations_know_nothing():
    """Rules of other relations conclude nothing here: all candidates tie."""
    collection = build_questions([("a", "q", "b")], VALID, TEST, inference=GRAPH)
    for name in ("rules", "inverse"):
        assert not np.vstack([scores for _, scores in baseline_blocks(name, collection)]).any()


def test_values_per_what_of_a_question_was_seen():
    """(x, likes, ?) has a relation of the training graph, and since x is there too, an anchor; owns is new."""
    collection = built([*TRAIN, ("x", "fears", "a")])
    scores = np.zeros((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    found = evaluate(collection, ranks, ["micro.MRR", "macro.MRR"], per="seen")
    assert found.items["seen"].to_pylist() == ["relation and anchor", "relation only", "anchor only", "neither"]


def test_a_collection_of_tail_questions_only():
    """``sides`` are recorded, and head questions are asked by nobody."""
    collection = build_questions(GRAPH, VALID, TEST, sides="tail")
    assert collection.report["options"]["sides"] == ["tail"]
    assert collection.report["questions"] == {"head": 0, "tail": 2, "all": 2}
    assert not collection.questions.is_head.any()
    assert {question for question, *_ in filtered_of(collection)} == {"tail0"}
    assert report_text(collection.report)
    with pytest.raises(KgtrecError, match="head, tail or both"):
        build_questions(GRAPH, VALID, TEST, sides=())


@pytest.mark.parametrize("ids", [False, True])
def test_it_reads_back_as_it_was(tmp_path: Path, ids: bool):
    collection = built([*TRAIN, ("the x", "likes", "a")], ids=ids)
    write_collection(tmp_path / "C", collection)
    again = read_collection(tmp_path / "C")
    assert again.stamp == collection.stamp
    assert again.training is not None
    assert collection.training is not None
    assert again.training.keys().tolist() == collection.training.keys().tolist()
    assert list(again.training.entities) == list(collection.training.entities)
    for name in ("training.parquet", "training_entities.txt"):
        kept = (tmp_path / "C" / name).read_bytes()
        (tmp_path / "C" / name).write_bytes(kept + b"x")
        with pytest.raises(FormatError, match=name):
            read_collection(tmp_path / "C")
        (tmp_path / "C" / name).unlink()
        with pytest.raises(FormatError, match=name):
            read_collection(tmp_path / "C")
        (tmp_path / "C" / name).write_bytes(kept)


def test_a_transductive_collection_has_none_of_it(tmp_path: Path):
    """Neither files nor options, so that its bytes are as before."""
    write_collection(tmp_path / "C", build_questions(GRAPH, VALID, TEST))
    manifest = json.loads((tmp_path / "C" / "manifest.json").read_text())
    assert not [name for name in manifest["files"] if "training" in name]
    assert not {"sides", "training_ids"} & set(manifest["report"]["options"])
    assert "training" not in manifest["report"]


OTHERS = {f"kg/{name}": TRAIN for name in ("train", "valid", "test")}
LAYOUTS = {
    "grail": OTHERS | {"kg_ind/train": GRAPH, "kg_ind/valid": VALID, "kg_ind/test": TEST},
    "ilpc": {"kg/train": TRAIN, "kg/inference": GRAPH, "kg/inference_validation": VALID, "kg/inference_test": TEST},
    "ingram": {"kg/train": TRAIN, "kg/msg": GRAPH, "kg/valid": VALID, "kg/test": TEST},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_read_unmodified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, capsys):
    """By the command and in Python, folders and files, all to the same collection."""
    monkeypatch.chdir(tmp_path)
    for name, triples in LAYOUTS[layout].items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(f"{name}.txt").write_text("".join("\t".join(row) + "\n" for row in triples))
    folder = layout != "grail"
    graph = "kg_ind/train" if not folder else "kg/inference" if layout == "ilpc" else "kg/msg"
    files = [f"{name}.txt" for name in list(LAYOUTS[layout])[-2:]]
    main(["questions", *(["kg"] if folder else ["--train", "kg", "--inference", "kg_ind"]), "--out", "C"])
    main(["questions", "--train", "kg/train.txt", "--inference", f"{graph}.txt", *files, "--out", "D"])
    found = build_questions("kg", inference=None if folder else "kg_ind")
    assert read_collection("C").stamp == read_collection("D").stamp == found.stamp == built().stamp
    assert read_collection("C").training is not None
    splits = [item["split"] for item in json.loads(Path("C/manifest.json").read_text())["inputs"]]
    assert splits == ["train", "inference", "valid", "test"]
    assert main(["check", "C"]) in (None, 0)


def test_like_pykeen_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its policies and its filter, which the manifest records."""
    monkeypatch.chdir(tmp_path)
    for name, triples in (("t", TRAIN), ("g", GRAPH), ("v", VALID), ("e", TEST)):
        Path(f"{name}.txt").write_text("".join("\t".join(row) + "\n" for row in triples))
    main(["questions", "--train", "t.txt", "--inference", "g.txt", "v.txt", "e.txt", "--like", "pykeen", "--out", "C"])
    options = json.loads(Path("C/manifest.json").read_text())["command"]
    assert options["training_ids"] is True
    assert read_collection("C").stamp == built(**POLICIES_LIKE["pykeen"], training_ids=True).stamp


def test_a_study_of_two_graphs_takes_their_collection(tmp_path: Path):
    """A folder with both graphs is no data set of one."""
    for name in ("train", "msg", "valid", "test"):
        (tmp_path / f"{name}.txt").write_text("a\tr\tb\n")
    with pytest.raises(FormatError, match="expected one graph, found an inductive data set with msg triples"):
        find_splits(tmp_path)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--train", "t.txt", "g.txt"), "expected --train TRAIN and --inference GRAPH together"),
        (("--inference", "t.txt", "g.txt"), "expected --train TRAIN and --inference GRAPH together"),
        (
            ("--train", "t.txt", "--inference", "t.txt", "a", "b", "c"),
            "VALID TEST, or TEST, follow --train and --inference",
        ),
        (("--train", "t.txt", "--inference", "t.txt"), "t.txt: expected a folder of train, valid and test"),
        ((), "expected the files TRAIN TEST or TRAIN VALID TEST"),
    ],
)
def test_what_is_wrong_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, args, message: str):
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text("a\tr\tb\n")
    with pytest.raises(SystemExit):
        main(["questions", *args, "--out", "C"])
    assert message in capsys.readouterr().err
    assert not Path("C").exists()


def test_graphs_of_the_public_data_set(data: Path):
    """fb237_v1: 1,594 entities to train on, 1,093 to answer about, none in both; 142 of 180 relations."""
    folder = data / "inductive"
    collection = build_questions(folder / "fb237_v1", inference=folder / "fb237_v1_ind")
    training = collection.report["training"]
    assert [training[name] for name in ("triples", "entities", "relations")] == [4245, 1594, 180]
    assert [len(collection.entities), training["entities_in_both"], training["relations_in_both"]] == [1093, 0, 142]
    assert len(collection.questions) == 365
    valid, test = (len(read_triples(folder / "fb237_v1_ind" / f"{name}.txt")) for name in ("valid", "test"))
    assert (test, valid + test) == (205, 411)
    assert collection.stamp == build_questions(folder / "fb237_v1_ind").stamp
    with pytest.warns(match="IndexError at 3 of the 365 questions"):
        mistaken = build_questions(folder / "fb237_v1", inference=folder / "fb237_v1_ind", training_ids=True)
    by_number = mistaken.filtered.split == 0
    assert [int(by_number.sum()), len(np.unique(mistaken.filtered.question[by_number]))] == [8, 5]


def test_swapped_graphs_are_noticed():
    """Test triples whose entities the training graph has and the inference graph lacks are doubtful."""
    one, other = Triples.of([("a", "r", "b"), ("b", "r", "c")]), Triples.of([("x", "r", "y"), ("y", "r", "z")])
    test = Triples.of([("x", "r", "z")])
    (doubt,) = doubtful_triples(build_questions(other, test=test, inference=one))
    assert doubt.startswith("1 test triples have both entities in the training graph, 0 in the inference graph")
    assert doubtful_triples(build_questions(one, test=test, inference=other)) == []
