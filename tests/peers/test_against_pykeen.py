"""PyKEEN's metric classes as an oracle for micro measures, their chance levels and adjusted forms, on random ranks."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.summarise import ItemValues, chance_level
from kgtrec.measures.names import parse_measure

peer = pytest.importorskip("pykeen.metrics.ranking")

# ours -> PyKEEN's; its z-scores of falling measures are turned round, as ours are
VALUES = {
    "micro.MR": lambda: peer.ArithmeticMeanRank(),
    "micro.GMR": lambda: peer.GeometricMeanRank(),
    "micro.HMR": lambda: peer.HarmonicMeanRank(),
    "micro.IMR": lambda: peer.InverseArithmeticMeanRank(),
    "micro.IGMR": lambda: peer.InverseGeometricMeanRank(),
    "micro.MRR": lambda: peer.InverseHarmonicMeanRank(),
    "micro.MedianRank": lambda: peer.MedianRank(),
    "micro.Hits@1": lambda: peer.HitsAtK(1),
    "micro.Hits@10": lambda: peer.HitsAtK(10),
    "micro.AMR": lambda: peer.AdjustedArithmeticMeanRank(),
    "micro.AMRI": lambda: peer.AdjustedArithmeticMeanRankIndex(),
    "micro.AMRR": lambda: peer.AdjustedInverseHarmonicMeanRank(),
    "micro.AGMRI": lambda: peer.AdjustedGeometricMeanRankIndex(),
    "micro.AHits@10": lambda: peer.AdjustedHitsAtK(k=10),
    "micro.ZMR": lambda: peer.ZArithmeticMeanRank(),
    "micro.ZMRR": lambda: peer.ZInverseHarmonicMeanRank(),
    "micro.ZGMR": lambda: peer.ZGeometricMeanRank(),
    "micro.ZHits@10": lambda: peer.ZHitsAtK(k=10),
}
WITH_CHANCE = ("micro.MR", "micro.GMR", "micro.MRR", "micro.MedianRank", "micro.Hits@1", "micro.Hits@10")


def drawn(seed: int, n: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks, candidates and the question of n answers; better ranks are likelier, as of a trained system."""
    rng = np.random.default_rng(seed)
    question = np.sort(rng.integers(0, n // 3, n))
    question = np.unique(question, return_inverse=True)[1]
    candidates = rng.integers(1, 500, question.max() + 1)[question]
    ranks = 1 + np.floor(candidates * rng.random(n) ** 3).astype(int)
    return ranks, candidates, question


def as_tables(ranks: np.ndarray, candidates: np.ndarray, question: np.ndarray) -> tuple[Qrels, AnswerRanks]:
    n = len(ranks)
    questions = Vocabulary.of([f"q{i}" for i in range(int(question.max()) + 1)])
    entities = Vocabulary.of([f"e{i}" for i in range(n)])
    asked, entity = question.astype(np.int32), np.arange(n, dtype=np.int32)
    table = AnswerRanks(
        "s",
        asked,
        entity,
        np.ones(n, np.bool_),
        (ranks - 1).astype(np.int32),
        np.zeros(n, np.int32),
        (candidates - 1).astype(np.int32),
        -ranks.astype(float) - entity / (2 * n),
        questions,
        entities,
        ("train", "valid", "test"),
        "",
    )
    return Qrels.of(asked, entity, np.ones(n, np.int32), questions, entities), table


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("label", VALUES)
def test_values_and_adjusted_forms_are_pykeens(label: str, weighted: bool, seed: int):
    """Unweighted, and with 1 / |answers of the question| as PyKEEN's macro evaluator weighs."""
    ranks, candidates, question = drawn(seed)
    weight = 1.0 / np.bincount(question)[question] if weighted else None
    qrels, table = as_tables(ranks, candidates, question)
    found = evaluate(qrels, table, label, weights="question" if weighted else None).values[0, 0, 0]
    expected = VALUES[label]()(ranks=ranks.astype(float), num_candidates=candidates, weights=weight)
    if weighted and label == "micro.MedianRank":
        # where exactly half of the weight lies below a rank PyKEEN takes one of the two middle ranks, we their mean
        assert abs(found - expected) <= 0.5 * np.diff(np.unique(ranks)).max()
        return
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("label", WITH_CHANCE)
def test_expectation_and_variance_are_pykeens(label: str, weighted: bool):
    """To nine digits; a median, which both simulate, within the error of the simulation."""
    ranks, candidates, question = drawn(4)
    weight = 1.0 / np.bincount(question)[question] if weighted else None
    n = len(ranks)
    measure = parse_measure(label)
    items = ItemValues(ranks.astype(float), np.zeros(n, np.int32), question.astype(np.int32), weight, candidates, None)
    expectation, variance = (float(level[0]) for level in chance_level(measure, items, 1, "s"))
    metric = VALUES[label]()
    if label == "micro.MedianRank":
        np.random.seed(0)  # noqa: NPY002  (PyKEEN draws from the global generator)
        theirs = metric.numeric_expected_value(num_candidates=candidates, num_samples=4000, weights=weight)
        assert abs(expectation - theirs) < 5 * (variance * (1 / 4000 + 1 / 1000)) ** 0.5
        return
    assert expectation == pytest.approx(metric.expected_value(num_candidates=candidates, weights=weight), rel=1e-9)
    assert variance == pytest.approx(metric.variance(num_candidates=candidates, weights=weight), rel=1e-6)
