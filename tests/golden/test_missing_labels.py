"""Missing labels of FB-Test-S, estimated out of what systems find, against the test set that it was sampled from."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completions
from kgtrec.formats.triples import read_triples
from kgtrec.openworld.estimate import estimate_missing
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import read_system

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def estimate(fb15k_237, data):
    """Two systems to rank 10, judged by the whole test set."""
    sample = read_triples(data / "kgc-sparsity/data/FB-Test-S/samples.txt")
    collection = fb15k_237
    question, entity = completions(
        collection.questions,
        sample.recoded(entities=collection.questions.entities, relations=collection.questions.relations),
    )
    ids, entities = collection.questions.ids, collection.entities
    labels = Qrels.of(question, entity, np.ones(len(question), np.int32), ids, entities)
    runs = [
        rank_system(collection, read_system(data / f"systems/fb15k-237/{name}.npz"), depth=100).run
        for name in ("transe", "distmult")
    ]
    return estimate_missing(labels, collection.qrels, runs, truth=collection.qrels)


@pytest.mark.long
def test_labels_as_a_sample_tell_what_the_systems_did_not_find(estimate):
    """10,873 true answers are within the interval of "labels", and far above those of the other two methods."""
    assert (estimate.n_questions, estimate.n_labels, estimate.true_answers) == (1_745, 2_046, 10_873)
    found, runs, labels = range(3)
    assert estimate.answers.low[labels] < 10_873 < estimate.answers.high[labels]
    assert estimate.missing.low[labels] < estimate.true_missing < estimate.missing.high[labels]
    assert estimate.answers.value[found] < estimate.answers.value[runs] < 10_873
    assert estimate.true_share == pytest.approx(1 - 2_046 / 10_873)
    assert estimate.true_missing == pytest.approx(0.95, abs=0.002)  # 1,023 of 20,466 test triples are labels


def test_scores_with_all_labels_are_estimated_and_those_with_found_labels_are_off(estimate):
    """By micro.MRR: filtered within .01 of the truth, estimated within its interval, completed far above it."""
    mrr = estimate.measures.index("micro.MRR")
    assert np.abs(estimate.filtered.value - estimate.true_filtered)[mrr].max() < 0.01
    assert np.all(estimate.estimated.low < estimate.true)
    assert np.all(estimate.true < estimate.estimated.high)
    assert np.all(estimate.completed.low[mrr] > 1.5 * estimate.true[mrr])
