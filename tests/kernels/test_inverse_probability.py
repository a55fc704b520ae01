"""Estimates from samples: unbiased over all samples that could be drawn, and equal to others' where they meet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.inverse_probability import (
    estimated_totals,
    extended_inferred_ap,
    sampled_ap,
    sampled_precision_sum,
)
from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.kernels.preference import inferred_average_precision


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


@settings(max_examples=40)
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


def ranking_of_rows(grade, places, length, retrieved=None):
    """One question: candidates at some places of a list with their grades; those not retrieved are judged only."""
    retrieved = np.ones(len(grade), bool) if retrieved is None else retrieved
    zeros = np.zeros(len(grade), np.int32)
    return JudgedRanking(
        1, np.array([length]), zeros[retrieved], places[retrieved].astype(float), grade[retrieved].astype(np.int32),
        zeros, grade.astype(np.int32),
    )  # fmt: skip


def average_precision(grade, places, retrieved):
    """As everybody defines it."""
    hits = sorted(place for g, place, r in zip(grade, places, retrieved, strict=True) if g and r)
    return sum((number + 1) / place for number, place in enumerate(hits)), int(sum(grade))


@settings(max_examples=40)
@given(world=strata(), data=st.data())
def test_both_parts_of_stat_ap_are_unbiased(world, data):
    """Over all samples: the sum of precisions, and the number of relevant candidates."""
    stratum, sizes, drawn = world
    n = len(stratum)
    grade = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    retrieved = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    places = np.cumsum(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    parts = []
    for rows in samples(stratum, drawn):
        ranking = ranking_of_rows(grade[rows], places[rows], 30, retrieved[rows])
        own = stratum[rows]
        parts.append(sampled_precision_sum(ranking, own[retrieved[rows]], own, drawn, sizes))
    means = np.array(parts).mean(axis=0).ravel()
    assert means == pytest.approx(average_precision(grade, places, retrieved))


@given(world=strata(), data=st.data())
def test_where_all_are_judged_both_are_average_precision(world, data):
    """Of the list, as trec_eval's map."""
    stratum, sizes, _ = world
    n = len(stratum)
    grade = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    retrieved = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    places = np.cumsum(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    ranking = ranking_of_rows(grade, places, 30, retrieved)
    total, relevant = average_precision(grade, places, retrieved)
    expected = total / relevant if relevant else 0.0
    own = stratum[retrieved], stratum
    assert sampled_ap(ranking, *own, sizes, sizes)[0] == pytest.approx(expected)
    assert extended_inferred_ap(ranking, *own)[0] == pytest.approx(expected, abs=1e-4)  # it smooths


grades = st.lists(st.sampled_from([-1, 0, 1, None]), min_size=1, max_size=12)


@given(lists=st.lists(grades, min_size=1, max_size=3))
def test_of_one_stratum_xinf_ap_is_trec_evals_inf_ap(lists):
    """Candidates of a stratum are sampled uniformly, which is what infAP supposes."""
    qrels, run, rows, judged = {}, {}, [], []
    for number, listed in enumerate(lists):
        name = f"q{number}"
        run[name] = {f"d{place}": -float(place) for place in range(len(listed))}
        qrels[name] = {f"d{place}": grade for place, grade in enumerate(listed) if grade is not None} | {"other": 1}
        rows += [(number, place + 1, grade) for place, grade in enumerate(listed) if grade is not None]
        judged += [(number, grade) for grade in qrels[name].values()]
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    pairs = np.array(judged, np.int32).T
    ranking = JudgedRanking(
        len(lists), np.array([len(listed) for listed in lists]), columns[0], columns[1].astype(float), columns[2],
        pairs[0], pairs[1],
    )  # fmt: skip
    found = extended_inferred_ap(ranking, np.zeros(len(rows), int), np.zeros(len(judged), int))
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"infAP"}).evaluate(run)
    assert found == pytest.approx([expected[f"q{number}"]["infAP"] for number in range(len(lists))], rel=1e-6)
    assert found == pytest.approx(inferred_average_precision(ranking))


def test_xinf_ap_by_hand():
    """A stratum judged whole (ranks 1, 2) and one of which half is judged (ranks 3 to 6).

    Relevant and judged: rank 1, precision 1, standing for 1; rank 5, standing for 2, with 1 of 2 relevant above in the
    first stratum, and of the 2 above in the second 1 judged and not relevant: (1 + 1 + 0) / 5. AP = (1 + 2 * 0.4) / 3.
    """
    grade, stratum = np.array([1, 0, 0, -1, 1, -1]), np.array([0, 0, 1, 1, 1, 1])
    ranking = ranking_of_rows(grade, np.arange(1, 7), 6)
    assert extended_inferred_ap(ranking, stratum, stratum)[0] == pytest.approx(0.6, abs=1e-4)
