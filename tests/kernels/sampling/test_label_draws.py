"""Which facts lose their labels: values by hand, and how near a correlation comes to the one asked for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.label_draws import (
    correlation_ends,
    correlation_of,
    missing_at_random,
    missing_in_correlation,
    shares_found,
    whole_share,
)
from tests.examples import examples


def facts(seed: int, n: int, two: float, strength: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, numbers of answers (a share of the facts has two), and how many of them are found."""
    rng = np.random.default_rng(seed)
    answers = np.where(rng.random(n) < two, 2, 1)
    return rng.integers(0, 2**64, n, np.uint64), answers, rng.binomial(answers, strength)


def test_a_share_of_a_hundred_is_that_many_percent():
    assert [whole_share(percent / 100, 100) for percent in range(101)] == list(range(101))
    assert whole_share(0.5, 7) == 3


def test_the_highest_keys_are_missing():
    key = np.array([4, 1, 3, 2**64 - 1, 0], np.uint64)
    missing = [np.flatnonzero(missing_at_random(key, n)).tolist() for n in range(6)]
    assert missing == [[], [3], [0, 3], [0, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0, 1), st.floats(0.1, 0.9), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_the_correlation_is_that_of_the_two_bits_of_every_answer(seed, n, two, strength, data):
    """Against numpy, answer by answer."""
    key, answers, found = facts(seed, n, two, strength)
    missing = missing_at_random(key, data.draw(st.integers(1, n - 1)))
    rows = zip(missing, answers, found, strict=True)
    bits = [(lost, place < hits) for lost, size, hits in rows for place in range(size)]
    if found.sum() in (0, answers.sum()):
        assert np.isnan(correlation_of(missing, answers, found))
    else:
        assert correlation_of(missing, answers, found) == pytest.approx(np.corrcoef(np.array(bits).T)[0, 1], abs=1e-12)


def test_shares_by_hand():
    """Of 10 answers 4 are missing, 3 of these found; 6 found in all, so 3 of the 6 labelled ones."""
    found = shares_found(np.array(0.4), np.array([0.3]), np.array([0.6]))
    assert (found.on_missing[0], found.on_labelled[0]) == pytest.approx((0.75, 0.5))
    assert found.correlation[0] == pytest.approx((0.3 - 0.24) / np.sqrt(0.4 * 0.6 * 0.6 * 0.4))


def test_where_nothing_is_missing_or_all_is_found_nothing_correlates():
    """And what is found of the missing answers, of which there are none, is what is found in all."""
    found = shares_found(np.array([0.0, 0.5]), np.array([[0.0, 0.0], [0.5, 0.2]]), np.array([1.0, 0.3]))
    assert found.on_missing[0].tolist() == [1.0, 0.3]
    assert np.isnan(found.correlation).tolist() == [[True, True], [True, False]]


@given(st.integers(0, 10_000), st.integers(3, 7), st.floats(0, 1), st.floats(0.2, 0.8), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_the_ends_are_those_of_every_choice_where_facts_have_as_many_answers(seed, n, two, strength, data):
    """By trying all; two, rounded, is how many answers each has."""
    _, answers, found = facts(seed, n, round(two), strength)
    n_missing = data.draw(st.integers(1, n - 1))
    every = []
    for chosen in itertools.combinations(range(n), n_missing):
        missing = np.zeros(n, np.bool_)
        missing[list(chosen)] = True
        every.append(correlation_of(missing, answers, found))
    low, high = correlation_ends(answers, found, n_missing)
    if np.isnan(every).all():
        assert np.isnan([low, high]).all()
    else:
        assert (low, high) == pytest.approx((min(every), max(every)))


def test_half_way_to_the_end_half_of_the_excess_is_found():
    """Ten facts of one answer, 5 found, 4 missing: at random 2 of the missing are found, at the end all 4."""
    key, answers, found = np.arange(10, dtype=np.uint64), np.ones(10, int), np.repeat([1, 0], 5)
    low, high = correlation_ends(answers, found, 4)
    assert (low, high) == pytest.approx((-np.sqrt(2 / 3), np.sqrt(2 / 3)))
    for part, hits in ((-1, 0), (-0.5, 1), (0.5, 3), (1, 4), (7, 4)):
        missing = missing_in_correlation(key, answers, found, 4, part * high)
        assert (missing.sum(), found[missing].sum()) == (4, hits)
        # within a kind those of the highest keys
        assert np.flatnonzero(missing).tolist() == [*range(5 - hits, 5), *range(6 + hits, 10)]


@pytest.mark.parametrize("n", [40, 5000])
@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(0.1, 0.9), st.floats(0.05, 0.95), st.floats(0, 1))
@settings(max_examples=examples(60), deadline=None)
def test_the_correlation_comes_within_two_answers_of_the_one_asked_for(n, seed, two, strength, share, place):
    """However many facts there are, and where some have one answer and others two."""
    key, answers, found = facts(seed, n, two, strength)
    n_missing = max(1, int(share * n))
    low, high = correlation_ends(answers, found, n_missing)
    if np.isnan(low):
        return
    asked = low + place * (high - low)
    if asked == 0:
        return
    missing = missing_in_correlation(key, answers, found, n_missing, asked)
    assert missing.sum() == n_missing
    total = answers.sum()
    beta, found_share = answers[missing].sum() / total, found.sum() / total
    spread = np.sqrt(beta * (1 - beta) * found_share * (1 - found_share))
    assert abs(correlation_of(missing, answers, found) - asked) * spread * total <= 2


@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(0.1, 0.9), st.integers(1, 59))
@settings(max_examples=examples(40), deadline=None)
def test_the_ends_are_reached(seed, two, strength, n_missing):
    key, answers, found = facts(seed, 60, two, strength)
    for end in correlation_ends(answers, found, n_missing):
        if not np.isnan(end) and end != 0:
            missing = missing_in_correlation(key, answers, found, n_missing, end)
            assert correlation_of(missing, answers, found) == pytest.approx(end, abs=1e-9)
