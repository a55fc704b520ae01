"""What SimKGC and KG-BERT write of each test triple, against the ranks that it came from."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import FormatError
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import refused

TRAIN = [("Q1", "P40", "Q2"), ("Q3", "P40", "Q4"), ("Q5", "P40", "Q2")]
TEST = [("Q1", "P40", "Q3"), ("Q1", "P40", "Q4"), ("Q5", "P26", "Q3")]
NAMES = {"Q1": "Ann", "Q2": "Bob", "Q3": "Bob", "Q4": "Cid", "Q5": "Dot Lee"}  # two Bobs
RELATIONS = {"P40": "child of", "P26": "spouse"}


@pytest.fixture
def collection():
    return build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST), unseen_relations="keep")


@pytest.fixture
def exact(collection):
    """The ranks of scores without ties."""
    rng = np.random.default_rng(7)
    scores = rng.permuted(np.tile(np.arange(5.0), (len(collection.questions), 1)), axis=1)
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks


def rank_of(collection, exact, is_head, triple):
    """The rank of one side of a test triple."""
    head, relation, tail = triple
    anchor, answer = (tail, head) if is_head else (head, tail)
    questions, code = collection.questions, list(collection.entities).index
    for row in range(len(exact)):
        question = exact.question[row]
        if (
            questions.is_head[question] == is_head
            and questions.anchor[question] == code(anchor)
            and questions.relations[questions.relation[question]] == relation
            and exact.entity[row] == code(answer)
        ):
            return int(exact.above[row]) + 1
    raise AssertionError(triple)


@pytest.fixture
def simkgc(tmp_path, collection, exact):
    """The folder of a model with both evaluations, and that of the data."""
    data, model = tmp_path / "data", tmp_path / "simkgc-1"
    data.mkdir()
    model.mkdir()
    triples = [
        {"head_id": h, "head": NAMES[h], "relation": RELATIONS[r], "tail_id": t, "tail": NAMES[t]} for h, r, t in TEST
    ]
    (data / "test.txt.json").write_text(json.dumps(triples, indent=4))
    (data / "relations.json").write_text(json.dumps(RELATIONS))
    for side in ("forward", "backward"):
        rows = []
        for (h, r, t), triple in zip(TEST, triples, strict=True):
            ends = (triple["head"], triple["tail"])
            head, tail = ends if side == "forward" else ends[::-1]
            rows.append(
                {
                    "head": head,
                    "relation": triple["relation"] if side == "forward" else f"inverse {triple['relation']}",
                    "tail": tail,
                    "pred_tail": "Ann",
                    "pred_score": 0.7593,
                    "topk_score_info": '{"Ann": 0.759, "Bob": 0.671, "Cid": 0.648}',
                    "rank": rank_of(collection, exact, side == "backward", (h, r, t)),
                    "correct": False,
                }
            )
        (model / f"eval_test.txt.json_{side}_model_best.mdl.json").write_text(json.dumps(rows, indent=4))
    return model, data


def test_both_evaluations_of_simkgc_are_the_ranks_of_the_answers(collection, exact, simkgc):
    """By the ids of its data: names may be those of two entities."""
    model, data = simkgc
    assert adapter_of(model).name == "simkgc"
    found = read_system(model, data=data)
    assert (found.name, found.kind) == ("simkgc-1", "SimKGC's ranks of tails and heads")
    ranks = rank_system(collection, found).answer_ranks
    assert ranks.above.tolist() == exact.above.tolist()
    assert ranks.n_other.tolist() == exact.n_other.tolist()
    assert ranks.tied.max() == 0


@pytest.mark.parametrize(("side", "word"), [("tail", "forward"), ("head", "backward")])
def test_one_evaluation_of_simkgc_is_of_one_side(collection, exact, simkgc, side, word):
    """The file alone."""
    model, data = simkgc
    path = model / f"eval_test.txt.json_{word}_model_best.mdl.json"
    assert adapter_of(path).name == "simkgc"
    found = read_system(path, data=data)
    assert found.name == f"eval_test.txt.json_{word}_model_best"
    ranks = rank_system(collection, found, sides=[side]).answer_ranks
    own = collection.questions.is_head[exact.question] == (side == "head")
    assert ranks.above.tolist() == exact.above[own].tolist()


def change(path, **fields):
    """The same predictions, the second one with other fields."""
    rows = json.loads(path.read_text())
    rows[1] |= fields
    path.write_text(json.dumps(rows))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rank": None}, "prediction"),
        ({"rank": 0}, "expected ranks from 1 on, found 0 in number 2"),
        ({"rank": 2**40}, "found 1099511627776 in number"),
        ({"rank": "1"}, "expected SimKGC's predictions, found other values"),
        ({"head": None}, "found number 2 without"),
        ({"tail": "Ann"}, "tail"),
        ({"relation": "inverse child of"}, "inverse"),
    ],
)
def test_predictions_of_other_data_are_refused(simkgc, fields, message):
    """By the triples that the data have in that place."""
    model, data = simkgc
    path = model / "eval_test.txt.json_forward_model_best.mdl.json"
    change(path, **fields)
    assert refused(re.escape(message), model, "simkgc", data=data).startswith(str(path))


def test_what_simkgc_needs_is_told(simkgc, tmp_path):
    """The data, one model, a name with a direction, as many predictions as triples, names of relations."""
    model, data = simkgc
    forward = model / "eval_test.txt.json_forward_model_best.mdl.json"
    for path, own, message in ((model, None, "--data"), (model, tmp_path / "none", "no such file")):
        refused(message, path, "simkgc", data=own)
    nameless = tmp_path / "predictions.json"
    nameless.write_text(forward.read_text())
    refused("backward", nameless, "simkgc", data=data)
    (data / "relations.json").write_text('{"P40": "child of"}')
    refused(r"relations.json:.*spouse", model, "simkgc", data=data)
    (data / "relations.json").write_text('{"P40": "child of", "P41": "child of"}')
    refused("found 'child of' for P40", model, "simkgc", data=data)
    (model / "eval_test.txt.json_forward_other.mdl.json").write_text("[]")
    refused("found eval_test", model, "simkgc", data=data)
    forward.write_text(json.dumps(json.loads(forward.read_text())[:2]))
    refused("rank", forward, "simkgc", data=data)
    forward.write_text("{}")
    refused("predictions", forward, "simkgc", data=data)


@pytest.fixture
def kg_bert(tmp_path, collection, exact):
    data = tmp_path / "WN18RR"
    data.mkdir()
    (data / "test.tsv").write_text("".join("\t".join(triple) + "\n" for triple in TEST))
    path = tmp_path / "WN18RR_32_5e-05_50_3.0_ranks.txt"
    ranks = [[rank_of(collection, exact, is_head, triple) - 1 for is_head in (True, False)] for triple in TEST]
    path.write_text("".join(f"{head}\t{tail}\n" for head, tail in ranks))
    return path, data


def test_kg_berts_ranks_are_those_of_heads_and_tails_in_the_order_of_its_data(collection, exact, kg_bert):
    """From 0, the head first."""
    path, data = kg_bert
    assert adapter_of(path).name == "kg-bert"
    for own in (data, data / "test.tsv"):
        found = read_system(path, data=own)
        assert found.name == "WN18RR_32_5e-05_50_3.0"
        assert rank_system(collection, found).answer_ranks.above.tolist() == exact.above.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text * 2, "appends"),
        (lambda text: text[:4], "line"),
        (lambda text: text + "1\n", r"_ranks.txt:4:.*tail"),
        (lambda text: text.replace("\t", "\t-", 1), r"_ranks.txt:1:.*rank"),
        (lambda text: text.replace("\t", "\t1.", 1), r"_ranks.txt:1:.*rank"),
        (lambda text: text.replace("\t", "\t" + "9" * 30, 1), r"_ranks.txt:1:.*rank"),
    ],
)
def test_damaged_ranks_of_kg_bert_are_refused(kg_bert, change, message):
    """With the line, where it is one."""
    path, data = kg_bert
    path.write_text(change(path.read_text()))
    refused(message, path, "kg-bert", data=data)


def test_kg_bert_needs_its_data(kg_bert, tmp_path):
    """Its file has numbers alone; a file of another name, or with other lines, is none of it."""
    path, _ = kg_bert
    refused("--data", path)
    for name, text in (("a_ranks.txt", "1 2\n"), ("b_ranks.txt", ""), ("ranks.txt", "1\t2\n")):
        (tmp_path / name).write_text(text)
        with pytest.raises(FormatError, match="of a known kind, found a file of none of them"):
            adapter_of(tmp_path / name)
