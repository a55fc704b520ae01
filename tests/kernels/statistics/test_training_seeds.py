"""Variance over seeds and questions, against an analysis of variance, restricted likelihood, and scipy's t-tests."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.statistics.paired_tests import clustered_mean_errors, differences, t_test
from kgtrec.kernels.statistics.training_seeds import both_sources, deviation, pairs_over_both, seed_components


def systems_of(seed, sizes, n_questions=12, spread=0.3):
    """(seeds, questions) values of systems of some numbers of seeds: question, seed, and what is left."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, n_questions)
    return [
        hard + rng.normal(0, 0.5, n_questions) + rng.normal(0, spread, (n, 1)) + rng.normal(0, 0.4, (n, n_questions))
        for n in sizes
    ]


def errors(value):
    """Standard error over questions of the mean of each row."""
    return value.std(axis=-1, ddof=1) / np.sqrt(value.shape[-1])


def components(several):
    return np.array([seed_components(own.mean(axis=1), errors(own), errors(own.mean(axis=0))) for own in several]).T


def compared(several):
    """Difference, error and degrees of freedom of each pair of systems."""
    means = np.array([own.mean(axis=0) for own in several])
    n = means.shape[1]
    mean, sd = differences(means)
    found = pairs_over_both(
        sd / np.sqrt(n), np.full(len(mean), n - 1.0), *components(several), np.array([len(own) for own in several])
    )
    return mean, *found


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 20))
def test_noise_is_the_residual_mean_square_of_two_way_analysis_of_variance(seed, n_seeds, n_questions):
    """Sums of squares cell by cell: what the means of rows and columns leave, over (S - 1)(Q - 1), over Q."""
    (own,) = systems_of(seed, [n_seeds], n_questions)
    whole = own.mean()
    left = sum(
        (own[s, q] - own[s].mean() - own[:, q].mean() + whole) ** 2 for s in range(n_seeds) for q in range(n_questions)
    )
    between = sum((own[s].mean() - whole) ** 2 for s in range(n_seeds)) / (n_seeds - 1)
    (found, noise) = components([own])[:, 0]
    assert found == pytest.approx(between)
    assert noise == pytest.approx(left / (n_seeds - 1) / (n_questions - 1) / n_questions)


@pytest.mark.slow
def test_the_error_of_a_mean_is_that_of_restricted_likelihood():
    """Crossed random effects of a balanced table: statsmodels' error of the mean, to the precision of its search."""
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    import pandas as pd

    (own,) = systems_of(5, [4], 9)
    frame = pd.DataFrame({"y": own.ravel(), "s": np.repeat(range(4), 9), "q": np.tile(range(9), 4), "all": 1})
    parts = {"s": "0 + C(s)", "q": "0 + C(q)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = mixed.MixedLM.from_formula("y ~ 1", groups="all", vc_formula=parts, re_formula="0", data=frame).fit()
    between, noise = components([own])[:, [0]]
    error, _ = both_sources(errors(own.mean(axis=0)), np.array(8.0), between, noise, [0.25], [4])
    assert between > noise
    assert error == pytest.approx(fit.bse["Intercept"], rel=1e-3)


def test_satterthwaites_freedom_of_unequal_numbers_of_seeds():
    """Variances and squares added one by one."""
    several = systems_of(2, [2, 5])
    d = several[0].mean(axis=0) - several[1].mean(axis=0)
    question = d.var(ddof=1) / 12
    (b1, b2), (n1, n2) = components(several)
    total = question + (b1 - n1) / 2 + (b2 - n2) / 5
    below = question**2 / 11
    for b, noise, n in ((b1, n1, 2), (b2, n2, 5)):
        below += (b / n) ** 2 / (n - 1) + (noise / n) ** 2 / (n - 1) / 11
    mean, error, freedom = compared(several)
    assert mean[0] == pytest.approx(d.mean())
    assert error[0] ** 2 == pytest.approx(total)
    assert freedom[0] == pytest.approx(total**2 / below)


@given(st.integers(0, 10_000))
def test_one_seed_each_is_the_paired_t_test(seed):
    several = systems_of(seed, [1, 1])
    mean, error, freedom = compared(several)
    known = scipy.stats.ttest_rel(several[0][0], several[1][0])
    t, p = t_test(mean, error, round(freedom[0]))
    assert freedom[0] == pytest.approx(11)
    assert (t[0], p[0]) == pytest.approx((known.statistic, known.pvalue))


@given(st.integers(0, 10_000), st.lists(st.integers(2, 6), min_size=2, max_size=2))
def test_without_questions_it_is_welchs_test_of_the_seeds(seed, sizes):
    """Seeds shift every question by the same: the difference has no variance over questions."""
    rng = np.random.default_rng(seed)
    one, other = (rng.normal(0, 1, (n, 1)) + np.zeros((n, 7)) for n in sizes)
    mean, error, freedom = compared([one, other])
    known = scipy.stats.ttest_ind(one[:, 0], other[:, 0], equal_var=False)
    assert mean[0] / error[0] == pytest.approx(known.statistic)
    assert freedom[0] == pytest.approx(known.df)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_seeds_add_to_the_error_over_questions(seed, sizes):
    """Never less than the error over questions; the same for questions in any order, and on another scale times it."""
    several = systems_of(seed, sizes)
    mean, error, freedom = compared(several)
    alone = differences(np.array([own.mean(axis=0) for own in several]))[1] / np.sqrt(12)
    assert (error >= alone * (1 - 1e-12)).all()
    order = np.random.default_rng(seed).permutation(12)
    again = compared([5 - 3 * own[::-1, order] for own in several])
    np.testing.assert_allclose(again, [-3 * mean, 3 * error, freedom])


def test_equal_seeds_add_nothing():
    several = [np.repeat(own, 3, axis=0) for own in systems_of(1, [1, 1])]
    _, error, freedom = compared(several)
    assert error == pytest.approx(errors(several[0][0] - several[1][0]))
    assert freedom == pytest.approx(11)
    assert deviation(several[0][:, :2]).tolist() == [0, 0]


def test_a_single_seed_is_as_uncertain_as_one_of_the_other_system():
    """Beside a system of four seeds: 1/4 + 1 times its variance."""
    several = systems_of(4, [4, 1])
    between, noise = components(several)[:, 0]
    d = several[0].mean(axis=0) - several[1][0]
    assert between > noise
    assert compared(several)[1] ** 2 == pytest.approx(errors(d) ** 2 + 1.25 * (between - noise))


def test_clusters_of_one_question_change_nothing():
    """Components from errors of clusters, as those of answers of a question are."""
    (own,) = systems_of(3, [3])
    *alone, of_mean = clustered_mean_errors(np.vstack([own, own.mean(axis=0)]), np.arange(12))
    np.testing.assert_allclose(seed_components(own.mean(axis=1), alone, of_mean), components([own])[:, 0])


def test_the_variance_is_unbiased_over_all_samples_of_seeds_and_questions():
    """Two of three seeds and three of four questions, with replacement: all 576 samples of one table."""
    table = np.random.default_rng(0).normal(0, 1, (3, 4)) + np.array([[0.0], [1.0], [3.0]])
    mean, variance = [], []
    for rows in itertools.product(range(3), repeat=2):
        for columns in itertools.product(range(4), repeat=3):
            own = table[np.ix_(rows, columns)]
            between, noise = components([own])[:, 0]
            mean.append(own.mean())
            variance.append(errors(own.mean(axis=0)) ** 2 + (between - noise) / 2)
    assert np.mean(variance) == pytest.approx(np.var(mean))
