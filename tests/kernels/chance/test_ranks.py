"""Chance moments of rank measures: by hand, by enumeration, against mpmath, simulation, PyKEEN and published tables."""

from __future__ import annotations

import csv
import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.chance import ranks as chance
from kgtrec.kernels.chance.ranks import geometric_mean_moments, median_rank, monte_carlo
from tests.kernels.chance.published import Items, continuous_reciprocal_rank, mean_moments

PER_ITEM = {
    "rank": (lambda r: r, {}),
    "reciprocal_rank": (lambda r: 1 / r, {}),
    "hit": (lambda r: 1.0 * (r <= 3), {"cutoff": 3}),
    "log_reciprocal_rank": (lambda r: 1 / np.log2(r + 1), {}),
    "power_rank": (lambda r: r**-0.3, {"p": 0.3}),
}
counts = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def functions(name):
    return getattr(chance, f"expected_{name}"), getattr(chance, f"variance_{name}")


def mean_power(n, t):
    """E[r^t] in high precision: the sum, or Euler-Maclaurin about n."""
    t = mpmath.mpf(t)
    if n <= 2000:
        return mpmath.fsum(mpmath.mpf(r) ** t for r in range(1, n + 1)) / n
    if t == -1:
        return mpmath.harmonic(n) / n
    n = mpmath.mpf(n)
    total = mpmath.zeta(-t) + n ** (t + 1) / (t + 1) + n**t / 2
    for k in range(1, 12):
        total += mpmath.bernoulli(2 * k) / mpmath.factorial(2 * k) * mpmath.ff(t, 2 * k - 1) * n ** (t - 2 * k + 1)
    return total / n


@pytest.mark.parametrize("name", PER_ITEM)
@given(n=st.one_of(st.integers(1, 60), st.integers(1, 5000)))
def test_a_closed_form_is_the_mean_and_variance_over_all_ranks(name, n):
    """Each rank from 1 to N once."""
    of, parameters = PER_ITEM[name]
    values = of(np.arange(1, n + 1, dtype=np.longdouble))
    expected, variance = functions(name)
    assert expected([n], **parameters)[0] == pytest.approx(float(values.mean()), rel=1e-12)
    assert variance([n], **parameters)[0] == pytest.approx(float(values.var()), rel=1e-10, abs=0)


@pytest.mark.parametrize("n", [1025, 14_541, 10**6, 10**8])
def test_moments_hold_nine_digits_at_any_size(n):
    """Against 40 digits: 1/r, its logarithmic and its power form."""
    with mpmath.workdps(40):
        n_, h = mpmath.mpf(n), mpmath.harmonic(n)
        h2 = mpmath.zeta(2) - mpmath.zeta(2, n + 1)
        wanted = {"rank": ((n_ + 1) / 2, (n_**2 - 1) / 12), "reciprocal_rank": (h / n_, (n_ * h2 - h**2) / n_**2)}
        for name, (mean, variance) in wanted.items():
            expected, spread = functions(name)
            assert abs(expected([n])[0] / mean - 1) < 1e-14, name
            assert abs(spread([n])[0] / variance - 1) < 1e-12, name
        for p in (0.001, 0.06, 0.3, 0.5, 0.9, 1.0):
            mean = mean_power(n, -p)
            variance = mean_power(n, -2 * mpmath.mpf(p)) - mean**2
            assert abs(chance.expected_power_rank([n], p)[0] / mean - 1) < 1e-13, p
            assert abs(chance.variance_power_rank([n], p)[0] / variance - 1) < 1e-11, p


@pytest.mark.parametrize("n", [1025, 3000, 10**6])
def test_the_logarithmic_moments_are_those_of_the_sum(n):
    """Against a sum in extended precision, pairwise, over every rank."""
    terms = 1 / np.log2(np.arange(2, n + 2, dtype=np.longdouble))
    assert chance.expected_log_reciprocal_rank([n])[0] == pytest.approx(float(terms.mean()), rel=1e-13)
    assert chance.variance_log_reciprocal_rank([n])[0] == pytest.approx(float(terms.var()), rel=1e-10)


def geometric_in_high_precision(rows):
    """rows: (N, weight, count)."""
    with mpmath.workdps(60):
        total = mpmath.fsum(mpmath.mpf(w) * c for _, w, c in rows)
        first = second = mpmath.mpf(0)
        for n, w, c in rows:
            t = mpmath.mpf(w) / total
            first += c * mpmath.log(mean_power(n, t))
            second += c * mpmath.log(mean_power(n, 2 * t))
        return mpmath.exp(first), mpmath.exp(second) - mpmath.exp(2 * first)


GEOMETRIC = {
    "one answer": [(7, 1.0, 1)],
    "one answer of 15 candidates": [(15, 1.0, 1)],
    "one answer of 16 candidates": [(16, 1.0, 1)],
    "one answer of a hundred million": [(10**8, 1.0, 1)],
    "two answers": [(5, 1.0, 1), (14_541, 1.0, 1)],
    "three unequal": [(2, 0.9, 1), (40, 0.05, 1), (10**6, 0.05, 1)],
    "around the switch of forms": [(20, 0.126, 1), (30, 0.124, 1), (14_000, 0.125, 6)],
    "FB15k-237 in size": [(14_541, 1.0, 20_000), (14_000, 1.0, 20_932)],
    "five million": [(10**8, 1.0, 2_500_000), (3, 1.0, 2_499_999), (10**5, 1.0, 1)],
    "weights over 12 orders": [(100, 1e-12, 3), (10**8, 1.0, 1), (10**4, 1e-6, 1000), (2, 1e-3, 7)],
    "no choice and much choice": [(1, 1.0, 5), (10**6, 1.0, 2)],
}


@pytest.mark.parametrize("rows", GEOMETRIC.values(), ids=list(GEOMETRIC))
def test_geometric_moments_hold_nine_digits(rows):
    """Expectation and variance of GMR, against 60 digits."""
    n, w, c = (np.array(column) for column in zip(*rows, strict=True))
    found = geometric_mean_moments(np.repeat(n, c), np.repeat(w, c))
    mean, variance = geometric_in_high_precision(rows)
    assert abs(found.expectation / mean - 1) < 1e-12
    assert abs(found.variance / variance - 1) < 1e-11


def test_geometric_moments_are_those_of_all_outcomes():
    """Three answers of 2, 3 and 4 candidates with weights 1, 2, 5: 24 outcomes."""
    n, w = [2, 3, 4], np.array([1, 2, 5]) / 8
    outcomes = [np.prod(np.array(r) ** w) for r in itertools.product(*(range(1, k + 1) for k in n))]
    found = geometric_mean_moments(n, w)
    assert found == pytest.approx((np.mean(outcomes), np.var(outcomes)), rel=1e-13)


@given(counts, st.integers(2, 4))
def test_repeating_every_item_keeps_means_and_divides_variance(candidates, times):
    """The mean of a mean-type measure stays, and its variance falls by the number of copies."""
    once, more = Items(candidates), Items(candidates * times)
    for name, (_, parameters) in PER_ITEM.items():
        a, b = (mean_moments(groups, *functions(name), **parameters) for groups in (once, more))
        assert b.expectation == pytest.approx(a.expectation, rel=1e-12)
        assert b.variance == pytest.approx(a.variance / times, rel=1e-12)


@given(counts, st.randoms())
def test_neither_order_nor_the_scale_of_weights_matters(candidates, random):
    """Shuffled items with weights a million times as large have the same moments, to the last bits."""
    weights = [random.random() + 1e-6 for _ in candidates]
    order = list(range(len(candidates)))
    random.shuffle(order)
    one = Items(candidates, weights)
    other = Items([candidates[i] for i in order], [weights[i] * 1e6 for i in order])
    assert geometric_mean_moments(*one) == pytest.approx(geometric_mean_moments(*other), rel=1e-12)
    moments = [mean_moments(g, chance.expected_rank, chance.variance_rank) for g in (one, other)]
    assert moments[0] == pytest.approx(moments[1], rel=1e-12)


@given(counts)
def test_equal_weights_are_no_weights(candidates):
    """Any constant weight."""
    plain, weighted = Items(candidates), Items(candidates, np.full(len(candidates), 0.3))
    assert geometric_mean_moments(*plain) == pytest.approx(geometric_mean_moments(*weighted), rel=1e-12)


def test_no_items_give_nan_and_single_candidates_one():
    """n = 0: NaN; all N = 1: expectation exactly 1, variance exactly 0."""
    empty, single = Items([]), Items([1, 1, 1])
    for name, (_, parameters) in PER_ITEM.items():
        assert np.isnan(mean_moments(empty, *functions(name), **parameters)).all()
        assert mean_moments(single, *functions(name), **parameters) == pytest.approx((1, 0), abs=0, rel=1e-15)
    assert np.isnan(geometric_mean_moments(*empty)).all()
    assert geometric_mean_moments(*single) == (1.0, 0.0)
    assert np.isnan(monte_carlo(median_rank, [], seed=0)).all()
    assert monte_carlo(median_rank, [1, 1], seed=0) == (1.0, 0.0)
    assert np.isnan(continuous_reciprocal_rank([]))
    assert continuous_reciprocal_rank([1]) == 1.0


@pytest.mark.slow
def test_five_million_answers_take_the_distinct_ones_only():
    """5 million weights over 12 orders on N up to 1e8: finite moments."""
    rng = np.random.default_rng(0)
    n = rng.choice(np.geomspace(1, 1e8, 500).astype(np.int64), 5_000_000)
    w = rng.choice(10.0 ** np.arange(-12, 1), n.size)
    groups = Items(n, w)
    assert np.isfinite(geometric_mean_moments(*groups)).all()


def require_near(simulated, exact, repeats):
    """Within 5 standard errors; that of the variance is one of values of no heavier tails than the normal's."""
    assert abs(simulated[0] - exact[0]) < 5 * np.sqrt(simulated[1] / repeats)
    assert abs(simulated[1] - exact[1]) < 5 * simulated[1] * np.sqrt(2 / repeats)


def test_simulation_covers_the_exact_moments_of_a_small_case():
    """All outcomes of three answers with 2, 3 and 5 candidates, within 5 standard errors."""
    n, w = [2, 3, 5], np.array([0.25, 0.5, 0.25])
    ranks = np.array(list(itertools.product(*(range(1, k + 1) for k in n))), float)
    values = median_rank(ranks, w)
    found = monte_carlo(median_rank, n, w, seed=1, repeats=20_000)
    require_near(found, (values.mean(), values.var()), repeats=20_000)


@pytest.mark.parametrize("weighted", [False, True])
def test_simulation_does_not_depend_on_block_or_order(weighted):
    """The same bytes for a seed."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 1000, 333)
    w = rng.random(333) if weighted else None
    order = rng.permutation(333)
    runs = {monte_carlo(median_rank, n, w, seed=7, repeats=50, block=block) for block in (1, 1000, 5000, 1 << 22)}
    runs.add(monte_carlo(median_rank, n[order], None if w is None else w[order], seed=7, repeats=50))
    assert len(runs) == 1


def test_closed_forms_lie_within_the_simulated_interval():
    """GMR and MRR simulated, within 5 standard errors."""
    n, w = np.array([3, 50, 900, 20_000, 7]), np.array([1, 2, 3, 4, 5.0])
    groups = Items(n, w)
    for exact, statistic in (
        (geometric_mean_moments(*groups), lambda r, w: np.exp(np.log(r) @ w)),
        (
            mean_moments(groups, chance.expected_reciprocal_rank, chance.variance_reciprocal_rank),
            lambda r, w: (1 / r) @ w,
        ),
    ):
        found = monte_carlo(statistic, n, w, seed=3, repeats=40_000)
        require_near(found, exact, repeats=40_000)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=9).filter(
        lambda items: any(times for _, times in items)
    )
)
def test_a_weighted_median_is_that_of_repeated_ranks(items):
    """Whole-number weights are repeats."""
    ranks, times = (np.array(column) for column in zip(*items, strict=True))
    found = median_rank(ranks[None].astype(float), times / times.sum())
    assert found[0] == np.median(np.repeat(ranks, times))


def test_the_exact_rows_of_hoyt_et_al_are_reproduced(data):
    """candidates.tsv has N answers of N candidates: MR, MRR, Hits@k and E[GMR] are exact, the other rows simulated."""
    exact = {
        ("arithmetic_mean_rank", "False"): lambda g: mean_moments(g, *functions("rank")),
        ("harmonic_mean_rank", "True"): lambda g: mean_moments(g, *functions("reciprocal_rank")),
        ("geometric_mean_rank", "False"): lambda g: geometric_mean_moments(*g),
    }
    for k in (1, 10, 100):
        exact[f"hits_at_{k}", "True"] = lambda g, k=k: mean_moments(g, *functions("hit"), cutoff=k)
    seen = 0
    with (data / "rank-metrics" / "candidates.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            key = row["metric"], row["inverted"]
            if key not in exact:
                continue
            n = int(row["candidate"])
            found = exact[key](Items(np.full(n, n)))
            # the file's GMR adds up a million logarithms one by one, which costs it 8 digits at the upper end
            digits = 1e-8 if key[0] == "geometric_mean_rank" else 1e-12
            assert found.expectation == pytest.approx(float(row["expectation"]), rel=digits), row
            if key[0] != "geometric_mean_rank":
                assert found.variance == pytest.approx(float(row["variance"]), rel=1e-9, abs=1e-25), row
            seen += 1
    assert seen == 240


@pytest.mark.parametrize("weighted", [False, True])
def test_pykeen_finds_the_same_moments(weighted):
    """Its closed forms on random candidate counts."""
    ranking = pytest.importorskip("pykeen.metrics.ranking")
    rng = np.random.default_rng(5)
    n = rng.integers(1, 3000, 60)
    w = rng.random(60) if weighted else None
    groups = Items(n, w)
    for peer, found in (
        (ranking.ArithmeticMeanRank(), mean_moments(groups, *functions("rank"))),
        (ranking.InverseHarmonicMeanRank(), mean_moments(groups, *functions("reciprocal_rank"))),
        (ranking.HitsAtK(10), mean_moments(groups, *functions("hit"), cutoff=10)),
        (ranking.GeometricMeanRank(), geometric_mean_moments(*groups)),
    ):
        assert found.expectation == pytest.approx(peer.expected_value(num_candidates=n, weights=w), rel=1e-9)
        assert found.variance == pytest.approx(peer.variance(num_candidates=n, weights=w), rel=1e-6)
