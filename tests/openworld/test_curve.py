"""Sparse against full scores: laws, and a slow way to the same numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.openworld.curve import degradation, inconsistency, open_world_curve
from kgtrec.openworld.labels import TrueFacts, hide_labels
from kgtrec.openworld.theory import OpenWorld, expected_score
from tests.examples import examples
from tests.openworld.test_labels import built_anew, ranked, world

MEASURES = (
    "micro.MRR",
    "micro.Hits@2",
    "micro.logMRR",
    "micro.pMRR(p=0.3)",
    "pykeen.macro.MRR",
    "macro.MRR",
    "macro.Hits@2",
    "nDCG",
    "AP@3",
    "micro.MR",
)


def systems(seed: int, n: int = 4):
    collection, _ = world(seed)
    rng = np.random.default_rng(seed + 1)
    shape = len(collection.questions), len(collection.entities)
    scores = {f"s@{number}": rng.integers(0, 5, shape).astype(float) for number in range(n)}
    return collection, scores, {name: ranked(collection, own) for name, own in scores.items()}


@pytest.mark.slow
@given(st.integers(0, 10_000), st.floats(0.1, 0.9))
@settings(max_examples=examples(25), deadline=None)
def test_sparse_scores_are_those_of_collections_built_for_each_density(seed, density):
    """Every measure, against evaluate on a collection of the labelled facts and scores ranked anew."""
    collection, scores, ranks = systems(seed, 2)
    found = open_world_curve(collection, ranks, MEASURES, densities=[density], draws=2, seed=seed)
    for draw in range(2):
        sparse = hide_labels(TrueFacts.of(collection), density, seed=seed, draw=draw)
        for place, own in enumerate(scores.values()):
            anew, expected = built_anew(sparse, own)
            values = evaluate(anew, expected, MEASURES).values[0, :, 0]
            np.testing.assert_allclose(found.sparse[0, 0, draw, :, place], values, rtol=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=examples(15), deadline=None)
def test_at_full_density_sparse_is_full_and_no_pair_is_wrong(seed):
    """To the last bit."""
    collection, _, ranks = systems(seed)
    found = open_world_curve(collection, ranks, MEASURES, densities=[1.0], seed=seed)
    assert np.array_equal(found.sparse[0, 0, 0], found.full)
    wrong = inconsistency(found)
    assert set(wrong["wrong"].to_pylist()) <= {0.0}
    assert set(wrong["max_gap"].to_pylist()) <= {0.0}
    full = evaluate(collection, ranks, MEASURES).values[:, :, 0].T
    assert np.array_equal(found.full, full)


def test_wrong_pairs_are_counted_one_by_one():
    """Against a loop over pairs, for every cell; checkpoints of one family and others apart."""
    collection, _, ranks = systems(3, 6)
    ranks = dict(zip(("a@1", "a@2", "a@3", "b@1", "b@2", "c"), ranks.values(), strict=True))
    found = open_world_curve(collection, ranks, ["micro.MRR", "AP"], densities=[0.2, 0.6], draws=3)
    assert found.families == ("a", "a", "a", "b", "b", "c")
    assert found.checkpoints.tolist() == [1, 2, 3, 1, 2, 0]
    for row in inconsistency(found).to_pylist():
        d, m = found.densities.index(row["density"]), found.measures.index(row["measure"])
        told, gaps = 0, []
        for draw in range(3):
            for i in range(6):
                for j in range(i):
                    same = found.families[i] == found.families[j]
                    gap = found.full[m, i] - found.full[m, j]
                    if gap == 0 or row["pairs"] == ("across" if same else "within"):
                        continue
                    told += 1
                    shown = found.sparse[0, d, draw, m, i] - found.sparse[0, d, draw, m, j]
                    gaps += [abs(gap)] if gap * shown < 0 else []
        assert row["distinguished"] == told // 3
        assert row["wrong"] == pytest.approx(len(gaps) / told)
        assert row["mean_gap"] == pytest.approx(np.mean(gaps) if gaps else 0.0)
        assert row["max_gap"] == max(gaps, default=0.0)


def test_the_theory_is_averaged_over_the_questions_numbers_of_answers():
    """At full density, the strength itself; below, the expectation at each number, weighted by its answers."""
    collection, _, ranks = systems(8)
    found = open_world_curve(
        collection, ranks, ["micro.MRR", "pykeen.macro.MRR", "macro.MRR"], densities=[0.5, 1.0], correlations=[0.0]
    )
    np.testing.assert_allclose(found.theory[0, 1, 0], found.strength, rtol=1e-12)
    assert np.isnan(found.theory[0, :, 2]).all()
    true = TrueFacts.of(collection)
    labels = hide_labels(true, 0.5)
    missing = 1 - labels.density
    for place, name in enumerate(ranks):
        row = ranks[name]
        is_found = (row.above == 0) & (row.tied == 0)
        is_missing = ~labels.labelled[true.fact]
        rho = np.corrcoef(is_found, is_missing)[0, 1]
        sizes = np.bincount(collection.qrels.question)
        for m, average, weight in ((0, "labels", sizes), (1, "questions", 1 - missing**sizes)):
            expected = [
                expected_score(OpenWorld(int(n), missing, rho), "MRR", is_found.mean(), average=average) for n in sizes
            ]
            assert found.theory[0, 0, m, place] == pytest.approx(np.average(expected, weights=weight), rel=1e-9)
        assert found.own_correlation[0, 0, place] == pytest.approx(rho, abs=1e-12)


def test_a_system_that_finds_everything_scores_as_the_theory_says():
    """Facts of one relation, all found, in a random order: measured within four deviations of the expectation."""
    collection, _ = world(2, facts=200)
    rng = np.random.default_rng(0)
    qrels = collection.qrels
    scores = np.zeros((len(collection.questions), len(collection.entities)))
    scores[qrels.question, qrels.entity] = 1 + rng.random(len(qrels))
    found = open_world_curve(collection, [ranked(collection, scores)], "micro.MRR", densities=[0.5], draws=200)
    measured = found.sparse[0, 0, :, 0, 0]
    assert found.strength.tolist() == [1.0]
    # the order is one and the same in all draws, which adds its own deviation
    assert abs(measured.mean() - found.theory[0, 0, 0, 0]) < 4 * measured.std()


def test_curves_bend_where_the_best_find_what_is_missing():
    """Exact points of y = x - x^2 / 2: a line of slope 1/2, steeper below, flatter above."""
    collection, _, ranks = systems(4, 5)
    found = open_world_curve(collection, ranks, "micro.MRR", densities=[0.5])
    x = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    from dataclasses import replace

    bent = replace(found, full=x[None], sparse=(x - x**2 / 2)[None, None, None, None])
    row = degradation(bent).to_pylist()[0]
    assert row["slope"] == pytest.approx(0.5)
    assert (row["lower_slope"], row["upper_slope"]) == pytest.approx((0.7, 0.3))
    assert row["bend"] == pytest.approx(0.4)
    assert row["loss"] == pytest.approx((x**2 / 2).mean())
    log = replace(found, full=x[None], sparse=(np.log(x) + 3)[None, None, None, None])
    gained = degradation(replace(log, sparse=log.sparse + np.array([1e-3, -1e-3, 0, 1e-3, 0]))).to_pylist()[0]
    assert gained["log_gain"] > 10
    assert gained["r2_log"] > gained["r2_line"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"densities": []}, r"^expected densities as a list of numbers, found \[\]$"),
        ({"densities": [0.5, 0.5]}, r"^expected different densities, found 0\.5, 0\.5$"),
        ({"densities": [1.5]}, r"^expected a density above 0 and at most 1, found 1\.5$"),
        ({"densities": [True]}, r"^expected densities as a list of numbers, found \[True\]$"),
        ({"densities": [1j]}, r"^expected densities as a list of numbers, found \[1j\]$"),
        ({"draws": 0}, r"^expected draws to be a whole number from 1 to 100,000, found 0$"),
        ({"draws": 10**20}, r"^expected draws to be a whole number from 1 to 100,000, found 100000000000000000000$"),
        ({"seed": "x"}, r"^expected seed to be a whole number from 0 on, found 'x'$"),
        ({"seed": -1}, r"^expected seed to be a whole number from 0 on, found -1$"),
        (
            {"correlated_with": "s@9"},
            r"^expected correlated_with among the systems s@0, .*, found 's@9'; did you mean s@",
        ),
        ({"correlated_with": 3}, r"^expected correlated_with among the systems s@0, .*, found 3$"),
        (
            {"correlations": [0.1], "correlated_with": "s@9"},
            r"^expected correlated_with among the systems s@0, s@1, s@2, s@3,",
        ),
        ({"found_at": 0}, r"^expected the rank at which an answer is found to be a whole number from 1 on, found 0"),
        ({"found_at": 1.5}, r"^expected the rank at which an answer is found to be a whole number from 1 on, found 1"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    collection, _, ranks = systems(1)
    with pytest.raises(KgtrecError, match=message):
        open_world_curve(collection, ranks, "micro.MRR", **options)


def test_a_single_system_has_no_pairs_and_is_degraded_all_the_same():
    """Tables have their columns with or without rows, and the same types as those of several systems."""
    collection, _, ranks = systems(3, 3)
    several = open_world_curve(collection, ranks, "micro.MRR", densities=[0.5])
    one = open_world_curve(collection, next(iter(ranks.values())), "micro.MRR", densities=[0.5])
    assert inconsistency(one).num_rows == 0
    assert inconsistency(one).schema == inconsistency(several).schema
    (row,) = degradation(one).to_pylist()
    assert row["systems"] == 1
    assert row["loss"] == pytest.approx(float(one.full[0, 0] - one.mean[0, 0, 0, 0]))
    assert np.isnan([row["slope"], row["bend"], row["log_gain"]]).all()


def test_a_single_family_has_no_pairs_across():
    collection, _, ranks = systems(3, 3)
    found = inconsistency(open_world_curve(collection, ranks, "micro.MRR", densities=[0.5]))
    assert found["pairs"].to_pylist() == ["all", "within"]


def test_densities_of_any_number_type_are_taken():
    collection, _, ranks = systems(2, 2)
    one = open_world_curve(collection, ranks, "micro.MRR", densities=np.array([0.25, 0.5], np.float32))
    other = open_world_curve(collection, ranks, "micro.MRR", densities=[0.25, 0.5])
    assert np.array_equal(one.sparse, other.sparse)


def test_a_measure_over_questions_is_told_by_what_it_is_not_by_its_name():
    """The theory of pykeen.macro.Hits@k, with its own cutoff, is that of Hits@k over questions."""
    collection, _, ranks = systems(8, 2)
    found = open_world_curve(collection, ranks, ["pykeen.macro.Hits@1", "pykeen.macro.Hits@3"], densities=[0.5])
    missing, sizes = 1 - found.density[0, 0, 0], np.arange(len(found.answers))
    for place in range(2):
        for m, hits in enumerate(("Hits@1", "Hits@3")):
            used = [n for n in sizes[1:].tolist() if found.answers[n]]
            rho = float(found.own_correlation[0, 0, place])
            expected = [
                expected_score(OpenWorld(n, missing, rho), hits, found.strength[place], average="questions")
                for n in used
            ]
            weight = [found.answers[n] * (1 - missing**n) for n in used]
            assert found.theory[0, 0, m, place] == pytest.approx(np.average(expected, weights=weight), rel=1e-9)


def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_systems():
    collection, _, ranks = systems(6)
    options = {"densities": [0.4], "correlations": [0.0, 0.1], "correlated_with": "s@0", "draws": 2, "seed": 5}
    one = open_world_curve(collection, ranks, "micro.MRR AP", **options)
    other = open_world_curve(collection, dict(reversed(ranks.items())), "micro.MRR AP", **options)
    assert one.sparse.tobytes() == np.ascontiguousarray(other.sparse[..., ::-1]).tobytes()
    assert np.array_equal(one.correlation, other.correlation)


def test_what_ties_change_is_reported_once_a_system():
    """Of the complete labels; not again for each sparse set."""
    collection, _, ranks = systems(6)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        open_world_curve(collection, ranks, "micro.MRR", densities=[0.4, 0.6], draws=3)
    assert len([one for one in given if "on the order of ties" in str(one.message)]) == len(ranks)
