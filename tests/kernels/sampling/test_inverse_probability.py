"""Estimates of totals from samples: unbiased over all samples that could be drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.inverse_probability import estimated_totals
from tests.examples import examples


def samples(stratum, drawn):
    """Every stratified sample, as lists of places."""
    strata = [np.flatnonzero(stratum == h) for h in range(len(drawn))]
    for parts in itertools.product(*(itertools.combinations(own, n) for own, n in zip(strata, drawn, strict=True))):
        yield np.array(sorted(itertools.chain.from_iterable(parts)), int)


@st.composite
def strata(draw, least=2):
    """The stratum of up to 8 items, and how many of each stratum are drawn: at least two, or all."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    drawn = [draw(st.integers(min(size, least), size)) for size in sizes]
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    return np.array(draw(st.permutations(stratum.tolist()))), np.array(sizes), np.array(drawn)


@settings(max_examples=examples(40))
@given(world=strata(), data=st.data())
def test_totals_and_their_variances_are_unbiased(world, data):
    """Over all samples: the mean estimate is the total, and the mean variance estimate is the estimates' variance."""
    stratum, sizes, drawn = world
    n = len(stratum)
    value = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n, max_size=n)))
    group = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    estimates = [
        estimated_totals(value[rows], stratum[rows], sizes, group=group[rows], n_groups=2)
        for rows in samples(stratum, drawn)
    ]
    totals = np.array([estimate.total for estimate in estimates])
    assert totals.mean(axis=0) == pytest.approx([value[group == g].sum() for g in (0, 1)])
    variances = np.array([estimate.variance for estimate in estimates])
    assert variances.mean(axis=0) == pytest.approx(totals.var(axis=0), abs=1e-9)


def test_totals_by_hand():
    """2 of 3 sampled out of 30 are positive, and all 2 of another stratum: 20 + 1; s^2 = 1/3, V = 900 * 0.9 / 9."""
    found = estimated_totals(np.array([1.0, 1, 0, 1, 0]), np.array([0, 0, 0, 1, 1]), np.array([30, 2]))
    assert found.total == pytest.approx([21.0])
    assert found.variance == pytest.approx([90.0])


def test_a_sample_of_one_has_no_variance():
    """Nothing is known of how much it would vary; where it is everything, it does not."""
    assert np.isnan(estimated_totals(np.ones(1), np.zeros(1, int), np.array([5])).variance[0])
    assert estimated_totals(np.ones(1), np.zeros(1, int), np.array([1])).variance[0] == 0
