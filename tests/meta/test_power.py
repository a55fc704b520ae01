"""Discriminative power, against scipy and worked values, and laws of the curve."""

from __future__ import annotations

import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.item_scores import item_scores
from kgtrec.kernels.statistics import resampled_tests, resampling
from kgtrec.kernels.statistics.paired_tests import clustered_errors, holm
from kgtrec.meta.power import POWER_TESTS, Power, power
from tests.examples import examples
from tests.kernels.statistics.whole_tests import achieved_significance
from tests.meta.item_tables import answer_scores, question_scores


def of(scores, **options) -> Power:
    return power({scores.measure: scores}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_t_is_that_of_scipy_pair_by_pair(seed: int):
    """scipy.stats.ttest_rel on the same two columns, and statsmodels' Holm."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    scores = answer_scores(seed)
    found = of(scores, tests=["t"])
    for pair, (one, other) in enumerate(zip(*found.pairs, strict=True)):
        expected = stats.ttest_rel(scores.value[one], scores.value[other])
        assert found.statistic[0, 0, pair] == pytest.approx(expected.statistic, rel=1e-9)
        assert found.p[0, 0, pair] == pytest.approx(expected.pvalue, rel=1e-9)
    np.testing.assert_allclose(found.adjusted[0, 0], multitest.multipletests(found.p[0, 0], method="holm")[1])


def test_a_case_by_hand():
    """Differences 3, 1, 2 of ranks: mean 2, deviation 1, t = 2 * sqrt(3) with two degrees of freedom."""
    found = of(question_scores([[4, 3, 3], [1, 2, 1]], "macro.MR", higher=False), tests=["t"])
    assert found.difference.tolist() == [[2.0]]
    assert found.statistic[0, 0, 0] == pytest.approx(2 * 3**0.5)
    assert found.p[0, 0, 0] == pytest.approx(0.0742, abs=5e-5)  # a table of Student's t: 2.920 at 0.10, 4.303 at 0.05
    assert found.d_z[0, 0] == pytest.approx(2.0)
    assert found.d_pooled[0, 0] == pytest.approx(2 / (1 / 3) ** 0.5)  # both variances are 1/3
    assert found.value.tolist() == [[10 / 3, 4 / 3]]
    assert found.better.tolist() == [[found.systems[1]]]  # the lower rank
    assert found.to_table()["better"].to_pylist() == [found.systems[1]]
    rising = of(question_scores([[4, 3, 3], [1, 2, 1]], "macro.MRR"), tests=["t"])
    assert rising.better.tolist() == [[rising.systems[0]]]
    level = of(question_scores([[1, 2, 3], [3, 2, 1]], "macro.MRR"), tests=["t"])
    assert level.better.tolist() == [[""]]


def test_shares_area_and_smallest_difference_by_hand():
    """Three pairs: p of .01, .04, .07; Holm .03, .08, .08."""
    p = np.array([[[0.04, 0.01, 0.07]]])
    tested = of(question_scores(np.random.default_rng(0).random((3, 9)), "RR"), tests=["t"])
    found = replace(tested, difference=np.array([[0.2, -0.3, 0.4]]), p=p, adjusted=np.array([[holm(p[0, 0])]]))
    assert found.curve("RR").tolist() == [0.07, 0.04, 0.01]
    assert found.area[0, 0] == pytest.approx(0.12 / 3)
    assert found.share[0, 0] == pytest.approx(2 / 3)
    assert found.share_adjusted[0, 0] == pytest.approx(1 / 3)
    assert found.smallest[0, 0] == 0.2
    assert found.largest_missed[0, 0] == 0.4


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=examples(25))
def test_the_curve_descends_and_its_area_is_the_mean(seed: int, systems: int):
    """And Holm's shares are never above the plain ones."""
    found = of(answer_scores(seed, systems, 12), tests=["t", "clustered"])
    for place, test in enumerate(found.tests):
        curve = found.curve("micro.MRR", test)
        assert (np.diff(curve) <= 0).all()
        assert found.area[0, place] == pytest.approx(curve.mean())
        assert len(curve) == systems * (systems - 1) // 2
    assert (found.share_adjusted <= found.share).all()


def test_clusters_are_questions():
    """Micro: the kernel's clustered errors; over questions each item is its own cluster, and nothing changes."""
    scores = answer_scores(3)
    found = of(scores, tests=["t", "clustered"])
    error, n_clusters = clustered_errors(scores.value, scores.question.astype(np.int64))
    np.testing.assert_allclose(found.statistic[0, 1], found.difference[0] / error)
    np.testing.assert_allclose(found.p[0, 1], 2 * stats.t.sf(np.abs(found.difference[0] / error), n_clusters - 1))
    macro = of(question_scores(np.random.default_rng(0).random((3, 30))), tests=["t", "clustered"])
    np.testing.assert_array_equal(macro.p[0, 0], macro.p[0, 1])


def test_answers_copied_within_a_question_move_the_plain_test_alone():
    """Four copies of each answer look like four times the data to the t-test, and like nothing new to the others."""
    rng = np.random.default_rng(2)
    value = rng.random((3, 50))
    once = question_scores(value)
    copied = replace(
        answer_scores(systems=3),
        value=np.repeat(value, 4, axis=1),
        questions=once.questions,
        question=np.repeat(np.arange(50, dtype=np.int32), 4),
        entity=None,
        entities=None,
    )
    one, other = (of(scores, tests=POWER_TESTS, repeats=100) for scores in (once, copied))
    assert (other.p[0, 0] < one.p[0, 0]).all()
    np.testing.assert_allclose(other.p[0, 1:], one.p[0, 1:])


def test_geometric_means_are_tested_by_their_logarithms():
    """GMR: ln rank; its inverse turned, so that a positive difference means a higher number."""
    scores = answer_scores(1, measure="micro.GMR", aggregate="geometric mean", ranks=True)
    found = of(scores, tests=["t"])
    expected = stats.ttest_rel(np.log(scores.value[0]), np.log(scores.value[1]))
    assert found.statistic[0, 0, 0] == pytest.approx(expected.statistic)
    assert found.scale == ("ln value",)
    inverse = replace(scores, measure="micro.IGMR", aggregate="inverse geometric mean", higher_is_better=True)
    turned = of(inverse, tests=["t"])
    np.testing.assert_allclose(turned.difference, -found.difference)
    for measured in (found, turned):
        first, second = measured.pairs
        np.testing.assert_array_equal(
            np.sign(measured.difference[0]), np.sign(measured.value[0, first] - measured.value[0, second])
        )


def test_a_median_is_refused_with_the_way_out():
    scores = answer_scores(1, measure="micro.MedianRank", aggregate="median", ranks=True)
    with pytest.raises(MeasureError, match=r"micro\.MedianRank is a median, not a mean of items.*micro\.GMR"):
        of(scores)


def test_no_variance_is_told_and_left_out():
    """Two equal systems and a third: one pair of three has no p; shares and area are of the two others."""
    rng = np.random.default_rng(1)
    value = rng.random(20)
    scores = question_scores([value, value, rng.random(20)], systems=("a", "b", "c"))
    with pytest.warns(KgtrecWarning, match=r"macro\.MRR has no variance for 1 of 3 pairs of systems, such as a and b"):
        found = of(scores, tests=POWER_TESTS, repeats=50)
    assert np.isnan(found.p[0, :3, 0]).all()
    assert found.p[0, 3, 0] == 1.0  # shuffling the names of equals changes nothing
    assert found.undefined.tolist() == [[1, 1, 1, 0, 1]]
    assert found.area[0, 0] == pytest.approx(np.nanmean(found.p[0, 0]))
    assert len(found.curve("macro.MRR", "t")) == 2


def test_a_system_without_values_does_not_spoil_the_others():
    """NaN of one: its pairs are undefined, and the other pair is what it is without it."""
    value = np.random.default_rng(1).random((3, 20))
    alone = of(question_scores(value[[0, 2]]), tests=POWER_TESTS, repeats=50)
    value[1, 4] = np.nan
    with pytest.warns(KgtrecWarning, match="has no value for some questions of s1: their pairs have no p-value"):
        found = of(question_scores(value), tests=POWER_TESTS, repeats=50)
    assert np.isnan(found.p[0][:, [0, 2]]).all()
    np.testing.assert_array_equal(found.p[0, :, 1], alone.p[0, :, 0])


def test_one_item_has_no_test():
    with pytest.warns(KgtrecWarning, match="no variance"):
        assert np.isnan(of(question_scores([[1.0], [0.5]])).p).all()


THREE = {name: answer_scores(seed, measure=name) for seed, name in enumerate(("micro.MRR", "micro.Hits@1", "x"))}


def same(one: Power, other: Power) -> bool:
    names = ("p", "statistic", "adjusted", "difference", "d_z")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


@given(st.integers(1, 5), st.integers(0, 400), st.sampled_from(["question", "item"]))
@settings(max_examples=examples(20))
def test_any_workers_and_parts_of_any_size_change_no_byte(workers: int, cells: int, resample):
    """All tests of three measures; the parts of Tukey's are those that the size of the data says, whoever does them."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(workers) as pool:
        patch.setattr(resampled_tests, "_SHUFFLED", cells)
        options = {"tests": POWER_TESTS, "repeats": 40, "resample": resample}
        alone = power(THREE, **options)
        patch.setattr(resampling, "_CELLS", cells)
        assert same(alone, power(THREE, executor=pool, **options))


@pytest.mark.slow
def test_processes_change_no_byte(monkeypatch):
    monkeypatch.setattr(import_module("kgtrec.workers.results"), "_WORTH", 0)
    alone, shared = (power(THREE, tests=POWER_TESTS, repeats=40, workers=workers) for workers in (None, 2))
    assert same(alone, shared)


def test_progress_counts_each_test_of_each_measure():
    """Also where systems lack values, so that nothing is tested."""
    told = []
    lacking = replace(THREE["x"], value=np.full_like(THREE["x"].value, np.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        power({**THREE, "x": lacking}, tests=POWER_TESTS, repeats=10, progress=told.append)
    assert told == [1] * 15


@given(st.integers(0, 1000))
@settings(max_examples=examples(10))
def test_no_order_of_rows_or_systems_changes_a_p_value(seed: int):
    """Items, questions' codes and systems in another order: the same bytes for the same labels, signs turned."""
    rng = np.random.default_rng(seed)
    scores = answer_scores(seed, 3, 15)
    rows, systems, codes = rng.permutation(len(scores)), rng.permutation(3), rng.permutation(15).astype(np.int32)
    labels = np.empty(15, object)
    labels[codes] = list(scores.questions)
    other = replace(
        scores,
        value=scores.value[systems][:, rows],
        systems=tuple(scores.systems[place] for place in systems),
        question=codes[scores.question][rows],
        entity=scores.entity[rows],
        questions=Vocabulary.of(labels.tolist()),
    )
    found, again = (of(own, tests=POWER_TESTS, repeats=30) for own in (scores, other))
    place = {(found.systems[i], found.systems[j]): pair for pair, (i, j) in enumerate(zip(*found.pairs, strict=True))}
    for pair, (i, j) in enumerate(zip(*again.pairs, strict=True)):
        names = again.systems[i], again.systems[j]
        turned = names not in place
        same = place[names[::-1] if turned else names]
        np.testing.assert_array_equal(again.p[0, :, pair], found.p[0, :, same])
        assert again.difference[0, pair] == (-1 if turned else 1) * found.difference[0, same]


def test_the_bootstrap_is_that_of_the_kernel():
    """On the questions in order of their labels."""
    scores = question_scores(np.random.default_rng(4).random((3, 9)))
    found = of(scores, tests=["bootstrap"], repeats=100, seed=7)
    np.testing.assert_array_equal(found.p[0, 0], achieved_significance(scores.value, None, 100, 7))


def test_preferences_by_hand():
    """Of 5 questions a is better on three, b on one: p = 2 (1 + 4) / 16; c equals b; ranks prefer the lower one.

    Decided are 4, 4 and 0 of 5; 3 of 4 agree with the means 3.4, 3 and 3, the pair of equals counts nowhere.
    """
    value = np.array([[5, 4, 3, 3, 2], [4, 3, 2, 4, 2], [4, 3, 2, 4, 2]], float)
    found = of(question_scores(value, systems=("a", "b", "c")), tests=["sign"])
    assert found.preferred.tolist() == [[[3, 1], [3, 1], [0, 0]]]
    assert found.p[0, 0, :2].tolist() == [2 * (1 + 4) / 16] * 2
    assert np.isnan(found.p[0, 0, 2])
    assert (found.decided[0], found.agreeing[0]) == pytest.approx((8 / 15, 6 / 8))
    lower = of(question_scores(value, "macro.MR", systems=("a", "b", "c"), higher=False), tests=["sign", "t"])
    assert lower.preferred.tolist() == [[[1, 3], [1, 3], [0, 0]]]
    frame = lower.to_frame()
    assert frame[frame.test == "sign"].second_preferred.tolist() == [3, 3, 0]
    assert {"decided", "agreeing"} <= set(lower.summary())
    assert not {"decided", "agreeing"} & set(of(question_scores(value), tests=["t"]).summary())
    assert [np.isnan(part).all() for part in (found.decided, of(question_scores(value)).decided)] == [False, True]


@settings(max_examples=examples(30))
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 2)] * 2), min_size=1, max_size=3), min_size=1, max_size=7))
def test_signs_are_those_of_whole_questions(questions: list[list[tuple[int, int]]]):
    """Answers of a question are added up; p by enumeration of all signs of the questions that are not level."""
    value = np.array([pair for own in questions for pair in own], float).T
    question = np.repeat(np.arange(len(questions)), [len(own) for own in questions]).astype(np.int32)
    made = question_scores(value, "micro.MRR")
    entities = Vocabulary.of([f"e{row}" for row in range(len(question))])
    made = replace(made, items="answers", question=question, entity=np.arange(len(question), dtype=np.int32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        found = of(replace(made, entities=entities), tests=["sign"])
    gaps = [sum(one - other for one, other in own) for own in questions]
    first, second = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    assert found.preferred.tolist() == [[[first, second]]]
    signs = list(itertools.product([-1, 1], repeat=first + second))
    extreme = [abs(sum(own)) >= abs(first - second) for own in signs]
    assert found.p[0, 0, 0] == pytest.approx(np.mean(extreme) if first + second else np.nan, nan_ok=True)
    assert found.decided[0] == pytest.approx((first + second) / len(questions))


def test_frames_are_tidy():
    """A row per measure, pair and test; the summary a row per measure and test."""
    found = of(answer_scores(0, 3), tests=["t", "bootstrap"], repeats=20)
    frame = found.to_frame()
    assert len(frame) == 3 * 2
    assert frame.loc[frame.test == "bootstrap", "t"].isna().all()
    row = frame[(frame["first"] == "s0") & (frame["second"] == "s2") & (frame.test == "t")].iloc[0]
    assert (row.difference, row.p) == (found.difference[0, 1], found.p[0, 0, 1])
    assert found.summary()["pairs"].tolist() == [3, 3]
    assert found.curve_table().to_pandas().groupby("test").p.apply(list)["t"] == sorted(found.p[0, 0], reverse=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tests": ["tuky"]}, r"found 'tuky'; did you mean tukey\?"),
        ({"tests": []}, "at least one test"),
        ({"alpha": 1.5}, "an alpha between 0 and 1, found 1.5"),
        ({"repeats": 0}, "at least 1 repeat, found 0"),
        ({"resample": "answer"}, "question, item, found 'answer'"),
        ({"workers": 0}, "expected workers to be a whole number from 1 on, found 0"),
    ],
)
def test_wrong_options_are_refused(options, message: str):
    with pytest.raises(KgtrecError, match=message):
        of(answer_scores(), **options)


def test_what_cannot_be_paired_is_refused():
    """No measure, one system, other systems under another measure."""
    with pytest.raises(KgtrecError, match="at least one measure, found none"):
        power({})
    with pytest.raises(KgtrecError, match="at least two systems to distinguish, found 1"):
        of(answer_scores(systems=1))
    with pytest.raises(KgtrecError, match="the same systems in the same order under every measure, found others at b"):
        power({"a": answer_scores(), "b": answer_scores(systems=3)})


def test_power_takes_what_evaluate_takes():
    """Or what item_scores gives: the same tests."""
    qrels = {f"q{place}": {"a": 1} for place in range(5)}
    runs = {
        name: {f"q{place}": {"a": float(place % step == 0), "b": 0.5} for place in range(5)}
        for name, step in (("one", 1), ("two", 2), ("three", 3))
    }
    given = power(qrels, runs, "RR", tests=["t"])
    scored = power(item_scores(qrels, runs, "RR"), tests=["t"])
    assert given.p.tolist() == scored.p.tolist()
    with pytest.raises(KgtrecError, match="expected systems to score, found none"):
        power(qrels, measures="RR")
