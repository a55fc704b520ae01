"""Agreement out of counts: worked examples of the papers, other people's programs, and laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from kgtrec.kernels.statistics.agreement import (
    gwet_ac1,
    krippendorff_alpha,
    pooled_kappa,
    raw_agreement,
    specific_agreement,
)

YES, NO = 1, 0


def counts_of(rows: list[str]) -> np.ndarray:
    """Items x categories of raters' rows of one sign per item; `.` is missing."""
    categories = sorted(set("".join(rows)) - {"."})
    return np.array([[column.count(sign) for sign in categories] for column in map("".join, zip(*rows, strict=True))])


def table_counts(both_yes: int, only_first: int, only_second: int, both_no: int) -> np.ndarray:
    """Counts of two raters' fourfold table, columns N and Y."""
    return np.repeat([[0, 2], [1, 1], [1, 1], [2, 0]], [both_yes, only_first, only_second, both_no], axis=0)


@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        (["0100000010", "1110010000"], 0.095),
        (["aabbdcccedda", "babbbccceddd"], 0.692),
        (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),
    ],
)
def test_krippendorffs_own_examples(rows: list[str], alpha: float):
    """Binary, nominal, and nominal with missing values, of Krippendorff (2011), Computing Krippendorff's
    Alpha-Reliability, sections A to C, to the three digits printed there."""
    assert krippendorff_alpha(counts_of(rows)) == pytest.approx(alpha, abs=0.0005)


def test_fourfold_table_by_hand():
    """20 both yes, 5 and 10 one yes, 15 both no: each formula on paper."""
    counts, table = table_counts(20, 5, 10, 15), np.array([[[20, 5], [10, 15]]])
    assert raw_agreement(counts) == pytest.approx(35 / 50)
    assert specific_agreement(counts, YES) == pytest.approx(40 / 55)
    assert specific_agreement(counts, NO) == pytest.approx(30 / 45)
    assert pooled_kappa(table) == pytest.approx((0.7 - (25 * 30 + 25 * 20) / 2500) / 0.5)  # chance 0.5
    chance = 2 * 0.55 * 0.45  # 55 of the 100 verdicts are yes
    assert gwet_ac1(counts) == pytest.approx((0.7 - chance) / (1 - chance))
    differing = 2 * 55 * 45 / (100 * 99)
    assert krippendorff_alpha(counts) == pytest.approx(1 - 0.3 / differing)


def test_gwets_ac1_of_three_raters_and_three_categories_by_hand():
    """Items aaa, aab, abc, bb: pairs agree 1, 1/3, 0, 1; shares of a, b, c are 2, 5/3, 1/3 out of 4 items."""
    counts = np.array([[3, 0, 0], [2, 1, 0], [1, 1, 1], [0, 2, 0]])
    used = np.array([2, 5 / 3, 1 / 3]) / 4
    chance = sum(used * (1 - used)) / 2
    assert gwet_ac1(counts) == pytest.approx(((1 + 1 / 3 + 0 + 1) / 4 - chance) / (1 - chance))


def test_an_item_of_one_rater_tells_how_often_categories_are_used():
    """In AC1 it counts for the shares only; nowhere else does it count at all."""
    counts = np.array([[2, 0], [1, 1], [0, 2], [0, 1], [0, 0]])
    alone = counts[:3]
    assert raw_agreement(counts) == raw_agreement(alone)
    assert krippendorff_alpha(counts) == krippendorff_alpha(alone)
    chance = 2 * (1.5 / 4) * (2.5 / 4)
    assert gwet_ac1(counts) == pytest.approx((2 / 3 - chance) / (1 - chance))


def test_pooled_kappa_by_hand():
    """Two pairs, 50 and 25 items: agreements 35 and 20, by chance 25 and 13."""
    tables = np.array([[[20, 5], [10, 15]], [[10, 5], [0, 10]]])
    assert pooled_kappa(tables) == pytest.approx((35 + 20 - 25 - (15 * 10 + 10 * 15) / 25) / (75 - 25 - 12))


@pytest.mark.parametrize(
    ("counts", "known"),
    [
        ([[0, 2], [0, 2]], {"raw": 1, "yes": 1, "AC1": 1}),  # all Y
        ([[2, 0], [3, 0]], {"raw": 1, "no": 1, "AC1": 1}),  # all N
        ([[0, 1], [1, 0]], {}),  # no pairs
        ([[1, 1]], {"raw": 0, "yes": 0, "no": 0, "AC1": -1, "alpha": 0}),
    ],
)
def test_what_has_no_value_is_nan(counts: list[list[int]], known: dict[str, float]):
    """And numpy says nothing, for a warning is an error here."""
    array = np.array(counts)
    found = {
        "raw": raw_agreement(array),
        "yes": specific_agreement(array, YES),
        "no": specific_agreement(array, NO),
        "AC1": gwet_ac1(array),
        "alpha": krippendorff_alpha(array),
    }
    assert {name: float(value) for name, value in found.items() if not np.isnan(value)} == known


@pytest.mark.parametrize("tables", [np.zeros((0, 2, 2)), np.zeros((1, 2, 2)), [[[5, 0], [0, 0]], [[0, 0], [0, 3]]]])
def test_kappa_of_no_variation_is_nan(tables):
    """No pairs, no items, or pairs that each use one category only."""
    assert np.isnan(pooled_kappa(np.asarray(tables)))


VERDICTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


@given(VERDICTS)
def test_cohens_kappa_is_that_of_scikit_learn_and_statsmodels(pairs):
    """For one pair of people, and without regard to who is first."""
    first, second = map(np.array, zip(*pairs, strict=True))
    table = confusion_matrix(first, second, labels=[0, 1, 2])
    assume(len({*first, *second}) > 1)
    expected = cohen_kappa_score(first, second)
    assert pooled_kappa(table[None]) == pytest.approx(expected, abs=1e-12)
    assert pooled_kappa(table.T[None]) == pytest.approx(expected, abs=1e-12)
    assert cohens_kappa(table, return_results=False) == pytest.approx(expected, abs=1e-12)


COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=12).map(np.array)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=12))
def test_alpha_is_fleiss_kappa_with_a_small_sample_correction(ratings):
    """With N items of r raters each, alpha = kappa + (1 - kappa) / (N r); kappa is statsmodels'."""
    counts = np.array([[row.count(k) for k in range(3)] for row in ratings])
    assume(np.count_nonzero(counts.sum(axis=0)) > 1)
    kappa = fleiss_kappa(counts)
    assert krippendorff_alpha(counts) == pytest.approx(kappa + (1 - kappa) / counts.sum(), abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=12))
def test_pooled_kappa_of_complete_data_is_congers(ratings):
    """The mean agreement of all pairs, against the mean of their chance agreements (Conger 1980)."""
    columns = np.array(ratings).T
    tables = [confusion_matrix(a, b, labels=[0, 1]) / len(ratings) for a, b in itertools.combinations(columns, 2)]
    alike = np.mean([np.trace(table) for table in tables])
    chance = np.mean([table.sum(axis=0) @ table.sum(axis=1) for table in tables])
    assume(chance < 1 - 1e-9)
    whole = np.round(np.array(tables) * len(ratings)).astype(int)
    assert pooled_kappa(whole) == pytest.approx((alike - chance) / (1 - chance), abs=1e-12)


@given(COUNTS)
def test_raw_is_what_all_pairs_say(counts):
    """Counted pair by pair, as are the specific ones."""
    alike = total = 0
    of = {0: [0, 0], 1: [0, 0], 2: [0, 0]}
    for row in counts:
        people = [k for k, n in enumerate(row) for _ in range(n)]
        for a, b in itertools.permutations(people, 2):
            alike, total = alike + (a == b), total + 1
            of[a][0] += a == b
            of[a][1] += 1
    assert raw_agreement(counts) == pytest.approx(alike / total if total else np.nan, nan_ok=True)
    for k, (same, all_of_it) in of.items():
        assert specific_agreement(counts, k) == pytest.approx(same / all_of_it if all_of_it else np.nan, nan_ok=True)


@given(COUNTS, st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_times_are_repetitions(counts, times):
    """An item drawn twice is two items, and a stack of samples gives one value each."""
    drawn = np.array([times[: len(counts)], [1] * len(counts)], float)
    repeated = np.repeat(counts, drawn[0].astype(int), axis=0)
    for statistic in (raw_agreement, gwet_ac1, krippendorff_alpha, lambda *a: specific_agreement(a[0], 1, *a[1:])):
        found = statistic(counts, drawn)
        assert found == pytest.approx([float(statistic(repeated)), float(statistic(counts))], nan_ok=True)


@given(COUNTS)
def test_bounds(counts):
    """No coefficient exceeds 1, and each is 1 where all agree."""
    for statistic in (raw_agreement, gwet_ac1, krippendorff_alpha):
        value = statistic(counts)
        assert np.isnan(value) or -1 - 1e-12 <= value <= 1
        unanimous = np.diag([2, 3, 2])
        assert statistic(unanimous) == 1
