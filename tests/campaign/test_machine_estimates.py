"""A machine in the estimates from a designed sample: recalibrated out of fold, and left out where it has no skill."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kgtrec.campaign.machine_report import machine_report
from kgtrec.campaign.predict import FOLDS, predict_pairs
from kgtrec.campaign.sampled import sampled_qrels
from kgtrec.data.arrow import labels_of
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.triples import label_hashes
from kgtrec.errors import KgtrecWarning
from kgtrec.kernels.statistics.calibration import fold_of
from kgtrec.pooling.designs import draw_design
from tests.campaign.learnable import family, judged


@cache
def sample():
    """Half of the family's triples are judged."""
    campaign, _, truth = family()
    design = draw_design(campaign.pool, campaign.known_answers, share=0.5, strategy="whole-questions")
    sampled = replace(campaign, design=design, automatic=campaign.automatic.with_design(design))
    return judged(sampled, np.where(design.asked(len(truth)), truth, -1).astype(int)), truth


def machine(probability) -> MachineVerdicts:
    rows = np.flatnonzero(~np.isnan(probability)).astype(np.int32)
    p, text = np.asarray(probability, float)[rows], labels_of([""] * len(rows))
    return MachineVerdicts(rows, (p >= 0.5).astype(np.int8), p, text, text, text)


def test_without_a_machine_it_is_by_ranks():
    """Equal for pairs of one fold with equal best rank and number of runs; labels known before are their own."""
    campaign, _ = sample()
    pool, got = campaign.pool, sampled_qrels(campaign)
    rows = got.take(got.is_uncertain)
    answers = pool.questions.triples(rows.question, rows.entity)
    triple = pool.rows(answers.head, answers.relation, answers.tail)
    fold = fold_of(label_hashes(got.questions), FOLDS, 0)[rows.question]
    alike = np.stack([fold, pool.depth[triple], pool.is_from.sum(axis=0)[triple]])
    _, first, group = np.unique(alike, axis=1, return_index=True, return_inverse=True)
    np.testing.assert_allclose(rows.prediction, rows.prediction[first][group.reshape(-1)], rtol=1e-12)
    assert len(np.unique(rows.prediction.round(9))) > FOLDS
    assert np.array_equal(got.prediction[~got.is_uncertain], got.label[~got.is_uncertain])


def test_no_verdict_of_the_own_fold_matters():
    """Nor one on a triple that answers a question of the fold."""
    campaign, _ = sample()
    design, pool = campaign.design, campaign.pool
    fold = fold_of(label_hashes(pool.questions.ids), FOLDS, 0)[design.question]
    rng, weight = np.random.default_rng(1), np.ones(len(design))
    label = np.where(design.is_drawn, rng.random(len(design)) < 0.3, np.nan)
    of_fold = np.isin(design.triple, design.triple[fold == 2])
    changed = np.where(of_fold, 1 - label, label)
    before, after = (
        predict_pairs(pool, design.triple, design.question, said, weight, by_ranks=True)[0] for said in (label, changed)
    )
    assert np.array_equal(before[fold == 2], after[fold == 2])
    assert not np.array_equal(before, after)


def test_a_machine_that_knows_is_believed():
    """One that is right about nine triples of ten: its Y are predicted higher than its N, and no label changes."""
    campaign, truth = sample()
    p = np.where(truth ^ (np.random.default_rng(0).random(len(truth)) < 0.1), 0.9, 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = sampled_qrels(campaign, machine(p))
    before = sampled_qrels(campaign)
    assert np.array_equal(got.label, before.label, equal_nan=True)
    assert np.nanmean((got.label - got.prediction) ** 2) < 0.9 * np.nanmean((got.label - before.prediction) ** 2)


@pytest.mark.parametrize("kind", ["random", "always Y", "turned round", "of nothing judged"])
def test_a_machine_without_skill_is_left_out(kind):
    """With a warning, and the predictions are those without a machine."""
    campaign, truth = sample()
    p = {
        "random": np.random.default_rng(5).random(len(truth)),
        "always Y": np.full(len(truth), 0.99),
        "turned round": np.where(truth, 0.1, 0.9),
        "of nothing judged": np.where(campaign.design.asked(len(truth)), np.nan, 0.9),
    }[kind]
    with pytest.warns(KgtrecWarning, match=r"machine left out: No skill is shown: .*by ranks in finished questions"):
        got = sampled_qrels(campaign, machine(p))
    assert np.array_equal(got.prediction, sampled_qrels(campaign).prediction)


def test_a_prediction_depends_on_no_label_of_its_fold():
    """With a few verdicts on its questions turned round, too few to decide on skill, its predictions are the same."""
    campaign, truth = sample()
    p, design = np.where(truth, 0.9, 0.1), campaign.design
    before = sampled_qrels(campaign, machine(p))
    fold = fold_of(label_hashes(before.questions), FOLDS, 0)
    turned = truth.copy()
    turned[design.triple[design.is_drawn & (fold[design.question] == 1)][:3]] ^= True
    after = sampled_qrels(judged(campaign, np.where(design.asked(len(truth)), turned, -1).astype(int)), machine(p))
    own = fold[before.question] == 1
    assert not np.array_equal(before.label[own & before.judged], after.label[own & after.judged])
    assert np.array_equal(before.prediction[own & before.is_uncertain], after.prediction[own & after.is_uncertain])


def test_the_report_says_that_estimates_have_another_test():
    """It uses all settled triples, and the share of Y; they use finished questions, and a prediction by ranks."""
    campaign, truth = sample()
    said = machine(np.random.default_rng(5).random(len(truth)))
    caption = machine_report(campaign, {"a": said}, resamples=50).tables()[0].caption
    assert "of the squared error of the share of Y" in caption
    assert "kgtrec evaluate tests machines anew: in finished questions alone, beyond a prediction by ranks" in caption
    assert "Estimates leave it out" not in caption
    with pytest.warns(KgtrecWarning, match="squared error of a prediction by ranks in finished questions"):
        sampled_qrels(campaign, said)
