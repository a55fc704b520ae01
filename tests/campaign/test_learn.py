"""Verdicts predicted from runs: out of fold, the same in any order, and no better than the report says."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from kgtrec.campaign.learn import STATISTICS, learn
from kgtrec.data.campaign import Automatic
from kgtrec.data.pool import Pool
from kgtrec.data.questions import completed_rows
from kgtrec.data.triples import label_hashes
from kgtrec.errors import KgtrecError
from kgtrec.kernels.statistics.calibration import fold_of
from kgtrec.pooling.designs import draw_design
from tests.campaign.learnable import family, judged


@pytest.fixture(autouse=True)
def fewer_folds(monkeypatch):
    """So that a test takes less time."""
    monkeypatch.setattr(import_module("kgtrec.campaign.learn"), "_FOLDS", 3)


def probabilities(campaign, collection, **options):
    return learn(campaign, collection, resamples=20, **options).verdicts.of_pool(len(campaign.pool))[1]


def test_the_runs_tell_true_triples_from_false_ones():
    """Rules and relatives know a family: the log loss is lower than that of the share of Y, and says so."""
    campaign, collection, truth = family()
    verdicts, report = learn(campaign, collection, resamples=100)
    assert len(verdicts) == len(campaign.pool)
    assert np.array_equal(verdicts.verdict == 1, verdicts.probability >= 0.5)
    assert verdicts.probability.mean() == pytest.approx(truth.mean(), abs=0.02)
    table = report["learned"]
    assert table["statistic"].to_pylist() == list(STATISTICS)
    auc, phi, loss, of_share, difference = table["value"].to_pylist()
    assert (auc > 0.85, phi > 0.4) == (True, True)
    assert difference == pytest.approx(loss - of_share)
    assert table["high"].to_pylist()[-1] < 0
    assert "The log loss is lower than that of predicting the share of Y." in report.tables()[0].caption
    assert report["features"].num_rows == 23
    assert report["reliability"]["triples"].to_numpy().sum() == len(truth)
    assert len(report.figures()) == 1


def test_labels_of_noise_are_not_predicted():
    """Verdicts that depend on nothing: the report does not claim that the log loss is lower."""
    campaign, collection, truth = family()
    noise = np.random.default_rng(3).permutation(truth).astype(int)
    report = learn(judged(campaign, noise), collection, resamples=50).report
    assert report["learned"]["high"].to_pylist()[-1] > 0
    assert "not shown to be lower" in report.tables()[0].caption


def test_a_prediction_depends_on_no_verdict_of_its_questions_folds():
    """With all verdicts on questions of one fold turned round, the triples that answer one of them keep theirs."""
    campaign, collection, truth = family()
    pool = campaign.pool
    question, _, row = completed_rows(pool.questions, pool.triples)
    in_fold = np.zeros(len(pool), bool)
    in_fold[row[fold_of(label_hashes(pool.questions.ids), 3, 0)[question] == 1]] = True
    before = probabilities(campaign, collection)
    after = probabilities(judged(campaign, np.where(in_fold, ~truth, truth).astype(int)), collection)
    assert np.array_equal(before[in_fold], after[in_fold])
    assert not np.array_equal(before[~in_fold], after[~in_fold])


def test_the_order_of_rows_and_codes_does_not_matter():
    """A pool read from a shuffled table, with entities under other codes, has the same predictions."""
    campaign, collection, truth = family()
    before = probabilities(campaign, collection)
    frame = campaign.pool.to_frame().sample(frac=1, random_state=0)
    questions = collection.questions.take(np.random.default_rng(0).permutation(len(collection.questions)))
    pool = Pool.from_frame(frame, questions)
    place = campaign.pool.rows(pool.triples.head, pool.triples.relation, pool.triples.tail)
    known = campaign.known_answers.recoded(questions=questions.ids, entities=questions.entities)
    other = judged(replace(campaign, pool=pool, known_answers=known), truth[place].astype(int))
    assert np.array_equal(probabilities(other, collection), before[place])


def test_what_a_rule_has_judged_is_left_out():
    """And so are its labels: they are no verdicts of people."""
    campaign, collection, truth = family()
    rule = np.where(np.arange(len(truth)) % 2, np.int8(-1), np.int8(0))
    verdicts = learn(replace(campaign, automatic=Automatic(rule, ("types",))), collection, resamples=20).verdicts
    assert np.array_equal(verdicts.triple, np.flatnonzero(rule < 0))


@pytest.mark.slow
def test_a_sample_counts_each_verdict_by_how_unlikely_it_was():
    """From a third of the verdicts, drawn where a Y changes most, the mean prediction is near the share of Y."""
    campaign, collection, truth = family()
    design = draw_design(campaign.pool, campaign.known_answers, share=0.33)
    sampled = replace(campaign, design=design, automatic=campaign.automatic.with_design(design))
    got = probabilities(sampled, collection)
    drawn = design.asked(len(truth))
    assert truth[drawn].mean() > 1.5 * truth.mean()
    assert got.mean() == pytest.approx(truth.mean(), rel=0.35)


def test_nothing_to_learn_from():
    """No verdict, or one: the error says what is needed."""
    campaign, collection, truth = family()
    for n in (0, 1):
        few = np.where(np.arange(len(truth)) < n, 0, -1)
        with pytest.raises(KgtrecError, match=f"at least 2 questions .* found those of {n}; judge some first"):
            learn(judged(campaign, few), collection)


def test_verdicts_of_one_kind():
    """Only N: the area and phi are undefined, and all is predicted to be unlikely."""
    campaign, collection, truth = family()
    verdicts, report = learn(judged(campaign, np.zeros(len(truth), int)), collection, resamples=20)
    assert verdicts.probability.max() < 0.05
    assert np.isnan(report["learned"]["value"].to_pylist()[:2]).all()
