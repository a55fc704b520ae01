"""The filter ``test`` and realistic ties against TGB's own negative edges and evaluator (py-tgb)."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.system import rank_model

generator = pytest.importorskip("tgb.linkproppred.tkg_negative_generator")
evaluator = pytest.importorskip("tgb.linkproppred.evaluate")
sampler = pytest.importorskip("tgb.linkproppred.tkg_negative_sampler")

N_ENTITIES, N_RELATIONS, N_TIMES = 30, 3, 12


class _Column:
    """A tensor, as far as the generator asks."""

    def __init__(self, values):
        self.values = np.array(values, np.int64)

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def test_mrr_of_temporal_facts_is_that_of_tgb(tmp_path):
    """With inverse quadruples, facts repeated at several times, and scores of which many tie."""
    random = np.random.default_rng(3)
    quads = np.unique(random.integers(0, (N_ENTITIES, N_RELATIONS, N_ENTITIES, N_TIMES), (900, 4)), axis=0)
    quads = np.concatenate([quads, np.stack([np.arange(N_ENTITIES)] * 4, axis=1) % (30, N_RELATIONS, 30, N_TIMES)])
    quads = np.unique(quads, axis=0)
    train, test = (quads[quads[:, 3] < 9], quads[quads[:, 3] >= 9])
    table = random.integers(0, 6, (N_ENTITIES, 2 * N_RELATIONS, N_TIMES, N_ENTITIES)).astype(float)

    inverse = test[:, [2, 1, 0, 3]] + (0, N_RELATIONS, 0, 0)
    source, relation, destination, time = np.concatenate([test, inverse]).T
    data = SimpleNamespace(src=_Column(source), dst=_Column(destination), t=_Column(time), edge_type=_Column(relation))
    ends = 0, N_ENTITIES - 1
    generator.TKGNegativeEdgeGenerator("tkgl-yago", *ends).generate_negative_samples(data, "test", str(tmp_path))
    negatives = sampler.TKGNegativeEdgeSampler("tkgl-yago", *ends)
    negatives.load_eval_set(str(tmp_path / "tkgl-yago_test_ns.pkl"), "test")
    theirs = []
    for edge, others in zip(
        zip(source, relation, destination, time, strict=True),
        negatives.query_batch(source, destination, time, relation, "test"),
        strict=True,
    ):
        scores = table[edge[0], edge[1], edge[3]]
        given = {"y_pred_pos": scores[[edge[2]]], "y_pred_neg": scores[None, others], "eval_metric": ["mrr"]}
        found = evaluator.Evaluator("tkgl-yago").eval(given)
        theirs.append((found["mrr"], found["hits@10"]))

    splits = [Triples.of([tuple(map(str, row)) for row in part.tolist()]) for part in (train, test)]
    collection = build_questions(splits[0], test=splits[1])
    places = [tuple(map(int, label.split(" @ "))) for label in collection.relations]
    own_relation, own_time = np.array(places).T
    ranks = rank_model(
        collection,
        lambda heads, asked: table[heads, own_relation[asked], own_time[asked]],
        lambda tails, asked: table[tails, own_relation[asked] + N_RELATIONS, own_time[asked]],
        entities=[str(entity) for entity in range(N_ENTITIES)],
        relations=list(collection.relations),
        filtered_by=["test"],
        depth=0,
    ).answer_ranks
    values = evaluate(collection, ranks, "micro.MRR micro.Hits@10", ties="realistic").values.ravel()
    assert len(ranks) == len(theirs)
    assert values.tolist() == pytest.approx(np.mean(theirs, axis=0).tolist(), rel=1e-6)
