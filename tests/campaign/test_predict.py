"""What is predicted of each candidate of a pool from people's decisions and a machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgtrec.campaign.predict import FOLDS, predict
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples, label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.statistics.calibration import fold_of
from tests.campaign.test_machine_report import campaign_of, said_of
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of


def two_sided(n: int, verdicts) -> Campaign:
    """Triples (a_i, likes, b_j), each pooled for its head question and for its tail question."""
    labels = [f"a{i}" for i in range(n)] + [f"b{i}" for i in range(n)]
    entities, relations = Vocabulary.of(labels), Vocabulary.of(["likes"])
    head, tail = (codes.ravel().astype(np.int32) for codes in np.meshgrid(np.arange(n), np.arange(n, 2 * n)))
    triples = Triples(head, 0 * head, tail, entities, relations)
    ids = Vocabulary.of([f"{side}{i}" for side in ("tail", "head") for i in range(n)])
    anchor = np.arange(2 * n, dtype=np.int32)
    questions = Questions(ids, anchor >= n, 0 * anchor, anchor, entities, relations)
    row, none = np.arange(n * n, dtype=np.int32), np.zeros(0, np.int32)
    question = np.concatenate([head, tail])
    pool = Pool.of(triples, np.tile(row, 2), question, 0 * question, 1 + 0 * question, ["mine"], questions)
    who = people_of(("ann", "annotator", True))
    events = [(place, "ann", "annotator", "NY"[says]) for place, says in enumerate(verdicts) if says >= 0]
    known, settings = Qrels.of(none, none, none, ids, entities), {"annotators_per_triple": 1}
    nobody = Assignments.none(who.names)
    return Campaign(pool, known, Automatic.none(n * n), who, nobody, judgements_of(events), settings=settings)


def test_without_a_machine_the_share_of_the_other_folds():
    """A fold without a label of its own gets (3 + 1/2) / (4 + 1)."""
    verdicts = [1, 1, 1, 0] + [-1] * 26
    campaign = campaign_of([4] + [1] * 26, verdicts)
    fold = fold_of(label_hashes(campaign.pool.questions.ids), FOLDS, 0)
    got = predict(campaign)
    assert np.isnan(got.skill.value)
    expected = np.where(fold[got.question] == fold[0], 0.5, 3.5 / 5)
    np.testing.assert_allclose(got.probability, expected, rtol=1e-9)


def test_no_verdict_on_a_question_changes_its_predictions():
    """Nor where a triple answers two questions that are in different folds."""
    rng = np.random.default_rng(0)
    verdicts = rng.integers(0, 2, 144)
    said = said_of(np.where(rng.random(144) < 0.9, verdicts, 1 - verdicts), np.clip(verdicts * 0.6 + 0.2, 0, 1))
    first = predict(two_sided(12, verdicts), said, resamples=200)
    assert first.skill.is_shown
    assert len(first.triple) == 288
    for asked in (0, 15):
        concerned = np.isin(np.arange(144), first.triple[first.question == asked])
        other = predict(two_sided(12, np.where(concerned, 1 - verdicts, verdicts)), said, resamples=200)
        own = first.question == asked
        np.testing.assert_array_equal(other.probability[own], first.probability[own])
        assert not np.array_equal(other.probability, first.probability)


def test_a_machine_without_skill_is_left_out():
    """The predictions are those without it, and its skill says why."""
    rng = np.random.default_rng(0)
    campaign = campaign_of([3] * 40, rng.integers(0, 2, 120))
    got = predict(campaign, said_of(rng.integers(0, 2, 120), rng.random(120)), resamples=200)
    assert not got.skill.is_shown
    np.testing.assert_array_equal(got.probability, predict(campaign).probability)


def test_what_a_rule_judges_is_no_verdict():
    """It would pull the share of Y down."""
    campaign = campaign_of([1] * 20, [1] * 10 + [0] * 10, automatic=range(10, 20))
    assert (predict(campaign).probability > 0.8).all()
    without = replace(campaign, automatic=Automatic.none(20))
    assert (predict(without).probability < 0.7).all()
