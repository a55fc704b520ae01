"""Simulated worlds against the closed forms, against every order written out, and against themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from kgtrec.errors import KgtrecError
from kgtrec.kernels.openworld import simulation as kernel
from kgtrec.openworld.simulate import simulate
from kgtrec.openworld.theory import OpenWorld, expected_score, question_variance, wrong_order_probability

MEASURES = "MRR Hits@3 logMRR pMRR(p=0.3)"
AVERAGES = ("labels", "questions")


@pytest.mark.slow
@pytest.mark.parametrize("n_answers", [1, 2, 7, 43])
@pytest.mark.parametrize("missing", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("correlation", [-0.1, 0.0, 0.1])
def test_means_and_variances_are_those_of_theory(n_answers, missing, correlation):
    """Within 4.5 standard errors over the grid; variances within 10%, where 40,000 questions have any."""
    world, strength = OpenWorld(n_answers, missing, correlation), np.array([0.3, 0.6, 0.8])
    found = simulate(world, MEASURES, strength, n_questions=40_000, seed=n_answers)
    error = np.sqrt(found.variance / found.scored)
    for place, average in enumerate(AVERAGES):
        for row, measure in enumerate(found.measures):
            exact = expected_score(world, measure, strength, average=average)
            assert (np.abs(found.mean[place, row] - exact) < 4.5 * error[place, row]).all()
            variance = question_variance(world, measure, strength, average=average)
            np.testing.assert_allclose(found.variance[place, row], variance, rtol=0.1)


def test_the_spread_of_repeats_is_the_variance_over_the_questions():
    """A score over 300 questions varies by an n-th of a question's variance, over labels too."""
    world, strength = OpenWorld(6, 0.3, 0.1), [0.5]
    found = simulate(world, "MRR", strength, n_questions=300, repeats=3000, seed=5)
    for place, average in enumerate(AVERAGES):
        expected = question_variance(world, "MRR", strength, average=average)[0] / 300
        # the variance of 3,000 draws has a relative error of sqrt(2 / 3000) = 2.6%
        assert found.repeats[place, 0, 0].var() == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("shared", ["labels", "nothing"])
def test_wrong_orders_are_as_frequent_as_theory_says(shared):
    """Two systems on 100 questions, 4,000 times, with labels in common and without."""
    world, repeats = OpenWorld(43, 0.5), 4000
    found = simulate(world, "MRR logMRR", [0.6, 0.65], n_questions=100, repeats=repeats, shared=shared, seed=1)
    for place, average in enumerate(AVERAGES):
        for row, measure in enumerate(found.measures):
            weak, strong = found.repeats[place, row]
            expected = wrong_order_probability(
                world, measure, 0.6, 0.65, 100, average=average, shared_labels=shared == "labels"
            )
            # 4 standard errors of a share, and 1% for taking the difference as normal
            assert abs((strong < weak).mean() - expected) < 4 * math.sqrt(expected / repeats) + 0.01


def every_order(n_answers, n_entities, missing, on_missing, on_labelled, weights):
    """Mean over labels and over questions of every labelling, set of found answers and order of all entities."""
    total = labels = value = scored = 0.0
    entities = range(n_entities)
    for labelled in itertools.product((False, True), repeat=n_answers):
        if not any(labelled):
            continue
        for found in itertools.product((False, True), repeat=n_answers):
            chance = 1.0
            for has_label, is_found in zip(labelled, found, strict=True):
                strength = on_labelled if has_label else on_missing
                chance *= (1 - missing if has_label else missing) * (strength if is_found else 1 - strength)
            worth = 0.0
            for order in itertools.permutations(entities):
                ranked = sorted(order, key=lambda entity: entity >= n_answers or not found[entity])
                left = [entity for entity in ranked if entity >= n_answers or not labelled[entity]]
                for answer in range(n_answers):
                    if labelled[answer]:
                        above = sum(ranked.index(entity) < ranked.index(answer) for entity in left)
                        worth += weights(above + 1)
            worth /= math.factorial(n_entities)
            total += chance * worth
            labels += chance * sum(labelled)
            value += chance * worth / sum(labelled)
            scored += chance
    return total / labels, value / scored


@pytest.mark.slow
def test_few_entities_are_as_in_every_order_written_out():
    """Two answers among five entities: what is not found is ranked at random among the rest."""
    exact = every_order(2, 5, 0.4, 0.7, 0.7, lambda rank: 1 / rank)
    found = simulate(OpenWorld(2, 0.4), "MRR", 0.7, n_questions=400_000, n_entities=5)
    error = np.sqrt(found.variance / found.scored)[:, 0, 0]
    assert (np.abs(found.mean[:, 0, 0] - exact) < 4.5 * error).all()


def test_more_entities_come_near_to_infinitely_many():
    """The found ones are the same; the others add the less the more candidates there are, and Hits@3 less than MRR."""
    world = OpenWorld(20, 0.3)
    limit = simulate(world, "MRR Hits@3 logMRR", [0.2, 0.7], n_questions=2000)
    gaps = [
        simulate(world, "MRR Hits@3 logMRR", [0.2, 0.7], n_questions=2000, n_entities=n).mean - limit.mean
        for n in (20, 200, 20_000, 1_000_000)
    ]
    for more, fewer in itertools.pairwise(gaps):
        assert (fewer[:, [0, 2]] < more[:, [0, 2]]).all()
    assert (gaps[-1][:, :2] < 1e-4).all()
    # a rank among a million is still worth 1 / 20 to logMRR, for each of the answers that are not found
    assert gaps[-1][0, 2, 0] == pytest.approx(0.8 * 0.0536, rel=0.03)


def test_only_wrong_candidates_and_answers_are_ranked():
    """No wrong candidates, nothing missing: every answer is first once the other labelled ones are taken out."""
    found = simulate(OpenWorld(4, 0.0), "MRR", [0.0, 0.5], n_questions=500, n_entities=4)
    np.testing.assert_array_equal(found.mean, 1.0)


@pytest.mark.parametrize("shared", ["everything", "labels", "nothing"])
@pytest.mark.parametrize("n_entities", [None, 60])
def test_what_is_held_at_a_time_changes_no_bit(monkeypatch, shared, n_entities):
    """Blocks of 37 questions or of all, sums buffered by one segment or by many."""
    options = {"n_questions": 1100, "repeats": 2, "shared": shared, "n_entities": n_entities, "seed": 9}
    world, strength = OpenWorld(5, 0.4, 0.1), [0.2, 0.7]
    one = simulate(world, "MRR Hits@2", strength, **options)
    monkeypatch.setattr(kernel, "_CELLS", 185)
    monkeypatch.setattr(kernel, "_BUFFERED", 1)
    other = simulate(world, "MRR Hits@2", strength, **options)
    for name in ("mean", "variance", "repeats", "scored"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_repeats_do_not_hang_on_those_after_them():
    world = OpenWorld(5, 0.4)
    few, many = (simulate(world, "MRR", [0.5], n_questions=700, repeats=n).repeats for n in (2, 5))
    np.testing.assert_array_equal(few, many[..., :2])


def test_another_seed_gives_other_scores():
    world = OpenWorld(5, 0.4)
    assert simulate(world, "MRR", 0.5, seed=1).mean[0, 0, 0] != simulate(world, "MRR", 0.5, seed=2).mean[0, 0, 0]


def test_curves_over_strengths_are_smooth():
    """With everything shared a stronger system finds whatever a weaker one finds, so Hits at any rank never falls."""
    strength = np.linspace(0, 1, 101)
    found = simulate(OpenWorld(43, 0.2), "Hits@43 MRR", strength, n_questions=200)
    assert (np.diff(found.mean[:, 0]) >= 0).all()
    # the steps of MRR vary by less than those of a curve whose points are drawn anew
    anew = simulate(OpenWorld(43, 0.2), "Hits@43 MRR", strength, n_questions=200, shared="nothing")
    assert np.diff(found.mean[0, 1]).std() < np.diff(anew.mean[0, 1]).std() / 3


def test_intervals_hold_what_they_promise():
    """Of 300 simulations about 95% have the expected score in their normal interval; percentiles hold the repeats."""
    world = OpenWorld(10, 0.3)
    exact = {average: expected_score(world, "MRR", 0.6, average=average) for average in AVERAGES}
    inside = np.zeros(2)
    for seed in range(300):
        low, high = simulate(world, "MRR", 0.6, n_questions=200, seed=seed).interval()
        inside += [low[place, 0, 0] < exact[average] < high[place, 0, 0] for place, average in enumerate(AVERAGES)]
    assert (inside >= 270).all()
    found = simulate(world, "MRR", 0.6, n_questions=200, repeats=1000)
    low, high = found.interval("percentile", confidence=0.9)
    held = (found.repeats >= low[..., None]) & (found.repeats <= high[..., None])
    assert held.mean() == pytest.approx(0.9, abs=0.002)


def test_the_frame_is_tidy():
    found = simulate(OpenWorld(4, 0.2), ["MRR", "Hits@1"], [0.2, 0.5, 0.9], n_questions=100)
    frame = found.to_frame()
    assert list(frame.columns) == ["average", "measure", "strength", "mean", "low", "high"]
    assert len(frame) == 12
    row = frame[(frame.average == "questions") & (frame.measure == "micro.Hits@1") & (frame.strength == 0.5)]
    assert row["mean"].item() == found.mean[1, 1, 1]
    assert (frame.low <= frame["mean"]).all()
    assert (frame["mean"] <= frame.high).all()


def test_no_label_at_all_is_no_score():
    """One question whose one answer hardly ever has a label: NaN, not 0."""
    found = simulate(OpenWorld(1, 0.999999), "MRR", 0.5, n_questions=1)
    assert found.scored.tolist() == [0]
    assert np.isnan(found.mean).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_questions": 0}, "expected n_questions to be a whole number from 1 on, found 0"),
        ({"repeats": 1.5}, "expected repeats to be a whole number from 1 on, found 1.5"),
        ({"seed": -1}, "expected seed to be a whole number from 0 on, found -1"),
        ({"n_entities": 4}, "expected n_entities to be a whole number from 5 to 10,000,000, found 4"),
        ({"shared": "all"}, "expected shared to be one of everything, labels, nothing, found 'all'"),
    ],
)
def test_options_out_of_their_domain_are_refused(options, message):
    with pytest.raises(KgtrecError, match=message):
        simulate(OpenWorld(5, 0.5), "MRR", 0.5, **options)


def test_percentiles_need_repeats():
    with pytest.raises(KgtrecError, match="expected at least 2 repeats"):
        simulate(OpenWorld(5, 0.5), "MRR", 0.5, n_questions=10).interval("percentile")
