"""TorchKGE's models: ranks are those of its own evaluator, ties aside."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.system import rank_system
from kgtrec.systems.torchkge import torchkge_system
from tests.systems.model_worlds import ENTITIES, RELATIONS, world

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # TorchKGE and what it imports are not ours
    torch = pytest.importorskip("torch", reason="models of TorchKGE need torch")
    pytest.importorskip("torchkge", reason="models of TorchKGE need torchkge")
    pd = pytest.importorskip("pandas")
    from torchkge.data_structures import KnowledgeGraph
    from torchkge.evaluation import LinkPredictionEvaluator
    from torchkge.models import (
        AnalogyModel,
        ComplExModel,
        DistMultModel,
        HolEModel,
        RESCALModel,
        TorusEModel,
        TransDModel,
        TransEModel,
        TransHModel,
        TransRModel,
    )

pytestmark = pytest.mark.filterwarnings("ignore")

MODELS = {
    "TransE-L1": lambda n, m: TransEModel(6, n, m, "L1"),
    "TransE-L2": lambda n, m: TransEModel(6, n, m, "L2"),
    "TransH": lambda n, m: TransHModel(6, n, m),
    "TransR": lambda n, m: TransRModel(6, 5, n, m),
    "TransD": lambda n, m: TransDModel(6, 5, n, m),
    "TorusE": lambda n, m: TorusEModel(6, n, m, "torus_L1"),
    "RESCAL": lambda n, m: RESCALModel(6, n, m),
    "DistMult": lambda n, m: DistMultModel(6, n, m),
    "HolE": lambda n, m: HolEModel(6, n, m),
    "ComplEx": lambda n, m: ComplExModel(6, n, m),
    "Analogy": lambda n, m: AnalogyModel(6, n, m),
}


def graphs(splits):
    """One graph with numbers of all, and the part of test, which shares its filter."""
    rows = [row for split in splits for row in split]
    frame = pd.DataFrame(rows, columns=["from", "rel", "to"])
    whole = KnowledgeGraph(frame)
    first = len(rows) - len(splits[2])
    return whole, whole.split_kg(sizes=(first, len(splits[2])))[1]


def drawn(seed):
    """Train, valid and test triples, each once; all labels are in train."""
    rng = np.random.default_rng(seed)
    n, m = len(ENTITIES), len(RELATIONS)
    codes = rng.permutation(n * m * n)[:70]
    rows = [(ENTITIES[code // (m * n)], RELATIONS[code // n % m], ENTITIES[code % n]) for code in codes]
    whole = [row for row in ((ENTITIES[i], RELATIONS[i % m], ENTITIES[i - 1]) for i in range(n)) if row not in rows]
    return whole + rows[:30], rows[30:40], rows[40:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MODELS)
def test_ranks_are_those_of_its_own_evaluator(name: str, seed: int):
    """Filtered by all triples; answer by answer, and in MRR, Hits@3 and mean rank."""
    splits = drawn(seed)
    kg, test = graphs(splits)
    torch.manual_seed(seed)
    model = MODELS[name](kg.n_ent, kg.n_rel)
    evaluator = LinkPredictionEvaluator(model, test)
    evaluator.evaluate(b_size=7, verbose=False)

    collection = build_questions(*map(Triples.of, splits))
    ranks = rank_system(collection, torchkge_system(model, kg), block=4).answer_ranks
    place = {
        (int(q), int(e)): (above, tied)
        for q, e, above, tied in zip(ranks.question, ranks.entity, ranks.above, ranks.tied, strict=True)
    }
    questions = collection.questions
    for row, (head, relation, tail) in enumerate(splits[2]):
        r = np.array(collection.relations.encode([relation]))
        h, t = (collection.entities.encode([label]) for label in (head, tail))
        for is_head, anchor, answer, theirs in (
            (True, t, h, evaluator.filt_rank_true_heads),
            (False, h, t, evaluator.filt_rank_true_tails),
        ):
            question = int(questions.rows(np.array([is_head]), r, anchor)[0])
            above, tied = place[question, int(answer[0])]
            assert above + tied + 1 == int(theirs[row])  # TorchKGE counts those that tie, as if all stood above
    found = evaluate(
        collection.qrels, ranks, ["micro.MRR", "micro.Hits@3", "micro.MR"], ties="pessimistic", collection=collection
    ).values[0, :, 0]
    expected = [evaluator.mrr()[1], evaluator.hit_at_k(3)[1], evaluator.mean_rank()[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["TransH", "TransR", "TransD"])
def test_weights_that_change_after_a_ranking_count(name: str):
    """Projections that TorchKGE keeps from an earlier evaluation are computed again."""
    splits = drawn(0)
    kg, _ = graphs(splits)
    collection = build_questions(*map(Triples.of, splits))
    torch.manual_seed(0)
    model, other = MODELS[name](kg.n_ent, kg.n_rel), MODELS[name](kg.n_ent, kg.n_rel)
    rank_system(collection, torchkge_system(model, kg))
    model.load_state_dict(other.state_dict())
    again, expected = (rank_system(collection, torchkge_system(each, kg), depth=0) for each in (model, other))
    np.testing.assert_array_equal(again.answer_ranks.above, expected.answer_ranks.above)


def test_a_model_that_scores_all_alike_is_last_there_and_in_the_middle_here():
    """A minimal case of docs/systems.md: of two candidates that tie, the answer is second there, and ties here."""
    splits = [("a", "r", "b"), ("b", "r", "c")], [("c", "r", "a")], [("a", "r", "c")]
    kg, test = graphs(splits)
    model = DistMultModel(2, kg.n_ent, kg.n_rel)
    with torch.no_grad():
        model.ent_emb.weight.zero_()
    evaluator = LinkPredictionEvaluator(model, test)
    evaluator.evaluate(b_size=1, verbose=False)
    # b is a filtered tail of (a, r, ?), so that a and c are left
    assert evaluator.filt_rank_true_tails.tolist() == [2]
    collection = build_questions(*map(Triples.of, splits))
    ranks = rank_system(collection, torchkge_system(model, kg)).answer_ranks
    tail = ~collection.questions.is_head[ranks.question]
    assert (ranks.above[tail].tolist(), ranks.tied[tail].tolist()) == ([0], [1])


def test_a_graph_of_test_alone_filters_by_test_alone():
    """A minimal case of docs/systems.md: what is known from train stands above the answer there."""
    splits = [("a", "r", "b"), ("c", "r", "a")], [("c", "r", "a")], [("a", "r", "c")]
    kg, _ = graphs(splits)
    alone = KnowledgeGraph(pd.DataFrame(splits[2], columns=["from", "rel", "to"]), ent2ix=kg.ent2ix, rel2ix=kg.rel2ix)
    model = DistMultModel(1, kg.n_ent, kg.n_rel)
    with torch.no_grad():
        model.rel_emb.weight.fill_(1.0)
        model.ent_emb.weight.copy_(torch.tensor([[1.0], [3.0], [2.0]]))  # a, b, c: (a, r, b) scores 3, (a, r, c) 2
    evaluator = LinkPredictionEvaluator(model, alone)
    evaluator.evaluate(b_size=1, verbose=False)
    assert evaluator.filt_rank_true_tails.tolist() == [2]
    collection = build_questions(*map(Triples.of, splits))
    ranks = rank_system(collection, torchkge_system(model, kg)).answer_ranks
    assert ranks.above[~collection.questions.is_head[ranks.question]].tolist() == [0]


def test_labels_of_another_graph_are_refused():
    kg, _ = graphs(drawn(1))
    model = TransEModel(4, kg.n_ent + 1, kg.n_rel)
    with pytest.raises(KgtrecError, match="model"):
        torchkge_system(model, kg)
    with pytest.raises(KgtrecError, match="found list"):
        torchkge_system(model, [])
    with pytest.raises(KgtrecError, match="expected a TorchKGE model, found SimpleNamespace"):
        torchkge_system(SimpleNamespace(), kg)


def test_a_system_is_named_and_computes_where_it_is_asked_to():
    rng = np.random.default_rng(1)
    collection = world(rng)
    splits = drawn(1)
    kg, _ = graphs(splits)
    system = torchkge_system(TransEModel(4, kg.n_ent, kg.n_rel), kg, device="cpu")
    assert (system.name, system.kind) == ("transe", "a TorchKGE model (TransEModel)")
    assert torchkge_system(TransEModel(4, kg.n_ent, kg.n_rel), kg, name="mine").name == "mine"
    assert len(rank_system(collection, system).answer_ranks.above) == len(collection.qrels)
