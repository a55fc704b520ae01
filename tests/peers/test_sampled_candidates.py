"""Ranks among sampled candidates beside the evaluators of OGB and PyKEEN."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.data.sampled_ranks import SampledRanks
from kgtrec.errors import FormatError, unwarned
from kgtrec.meta.sampled import sampled_bounds
from kgtrec.systems.sampled_scores import read_sampled_scores

torch = pytest.importorskip("torch", reason="torch is not installed; pip install kgtrec[peers]")


def scores(n: int, m: int, seed: int):
    """With many ties."""
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.integers(0, 9, n) / 8), torch.tensor(rng.integers(0, 9, (n, m)) / 8)


def of_sample(ranks: SampledRanks, measures: str) -> list[float]:
    with unwarned():  # of scores that are no uniform samples
        rows = sampled_bounds(ranks, measures)["bounds"].to_pylist()
    return [row["value"] for row in rows if row["assumption"] == "sample"]


@pytest.mark.parametrize("name", ["ogbl-wikikg2", "ogbl-biokg"])
def test_equal_to_ogbs_evaluator_on_tensors(name):
    """Its numpy path stops with an error."""
    ogb = pytest.importorskip("ogb.linkproppred", reason="OGB is not installed; pip install kgtrec[peers]")
    evaluator, (positive, negative) = ogb.Evaluator(name), scores(200, 30, 0)
    theirs = evaluator.eval({"y_pred_pos": positive, "y_pred_neg": negative})
    ours = of_sample(
        SampledRanks.of_scores("s", positive, negative, n_candidates=99),
        "micro.MRR micro.Hits@1 micro.Hits@3 micro.Hits@10",
    )
    keys = ("mrr_list", "hits@1_list", "hits@3_list", "hits@10_list")
    assert ours == pytest.approx([float(theirs[key].double().mean()) for key in keys], rel=1e-6)


def test_a_torch_file_of_tensors(tmp_path):
    """Holds the same ranks; one that would run code, also that of numpy's arrays, is refused."""
    positive, negative = scores(20, 5, 1)
    expected = SampledRanks.of_scores("s", positive, negative, n_candidates=99)
    torch.save({"y_pred_pos": positive, "y_pred_neg": negative, "sample": torch.arange(20)}, tmp_path / "s.pt")
    ranks = read_sampled_scores(tmp_path / "s.pt", n_candidates=99)
    np.testing.assert_array_equal(ranks.above, expected.above)
    np.testing.assert_array_equal(ranks.tied, expected.tied)
    assert ranks.sample is not None
    for other in (print, negative.numpy()):
        torch.save({"y_pred_pos": positive, "y_pred_neg": other}, tmp_path / "code.pt")
        with pytest.raises(FormatError, match=r"code.pt: expected a dict of y_pred_pos and y_pred_neg of tensors"):
            read_sampled_scores(tmp_path / "code.pt", n_candidates=99)
    torch.save({"y_pred_pos": positive}, tmp_path / "lacking.pt")
    with pytest.raises(FormatError, match="found y_pred_pos"):
        read_sampled_scores(tmp_path / "lacking.pt", n_candidates=99)


def test_equal_to_pykeens_sampled_evaluator():
    """Mean rank, MRR and Hits@10 of both sides."""
    pytest.importorskip("pykeen", reason="PyKEEN is not installed; pip install kgtrec[peers]")
    from pykeen.datasets import Nations
    from pykeen.evaluation import SampledRankBasedEvaluator
    from pykeen.models import TransE

    nations = Nations()
    model = TransE(triples_factory=nations.training, random_seed=0)
    evaluator = SampledRankBasedEvaluator(nations.testing, num_negatives=5, clear_on_finalize=False)
    results = evaluator.evaluate(model, nations.testing.mapped_triples, use_tqdm=False, batch_size=32)
    ranks = SampledRanks.of_pykeen("TransE", evaluator, nations.num_entities - 1)
    assert (len(ranks), ranks.n_sampled) == (2 * nations.testing.num_triples, 5)
    theirs = [
        results.get_metric(f"both.realistic.{name}") for name in ("mean_rank", "mean_reciprocal_rank", "hits_at_1")
    ]
    assert of_sample(ranks, "micro.MR micro.MRR micro.Hits@1") == pytest.approx(theirs)
