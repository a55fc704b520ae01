from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgtrec.data.scores import Scores, ScoreTable
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.given import each_system
from kgtrec.evaluation.item_scores import ItemScores, item_scores
from kgtrec.kernels.statistics.correlation import rank_biased_overlap, tau_ap
from kgtrec.meta.coefficients import COEFFICIENTS, correlated
from kgtrec.meta.correlation import between_measures, correlate, swaps
from kgtrec.meta.known_measures import known_measure
from tests.examples import examples


def table(measures: dict[str, list[float]], systems: str = "", name: str = "") -> ScoreTable:
    """A table of one number per measure and system; systems are called a, b, c, ..."""
    values = np.array(list(measures.values()), float).T[:, :, None]
    return ScoreTable(tuple(systems or "abcdefghij"[: len(values)]), tuple(measures), values, name=name)


def items_of(
    value: np.ndarray, measure: str = "RR", *, questions: list[str] | None = None, question: np.ndarray | None = None
) -> dict[str, ItemScores]:
    """Scores of systems a, b, c, ... on each item; by default every item is a question of its own."""
    names = [f"q{i:03}" for i in range(value.shape[1])] if questions is None else questions
    row = np.arange(value.shape[1], dtype=np.int32) if question is None else question
    over_answers = measure.startswith("micro.")
    known = known_measure(measure)
    assert known is not None
    return {
        measure: ItemScores(
            measure,
            "answers" if over_answers else "questions",
            known.higher_is_better,
            "mean",
            tuple("abcdefghij"[: len(value)]),
            value,
            row,
            Vocabulary.of(names),
        )
    }


def noisy(n_systems: int, n: int, seed: int, apart: float = 0.1) -> np.ndarray:
    """Systems whose quality rises by ``apart`` standard deviations from one to the next."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_systems, n)) + apart * np.arange(n_systems)[:, None]


def test_better_systems_are_compared_with_better_ones():
    """A rank, where lower is better, and a reciprocal rank agree; the tables' own order of systems does not matter."""
    first = table({"micro_mr": [10, 20, 30], "recip_rank": [0.1, 0.5, 0.3]})
    second = table({"RR": [0.3, 0.1, 0.5], "micro.MR": [30, 10, 20]}, systems="cab")
    found = correlate(first, second)
    assert found.rows == {"first": ("first",) * 2, "second": ("second",) * 2, "measure": ("micro.MR", "RR")}
    np.testing.assert_allclose(found.value, 1)
    # tau_AP and RBO look at the top, which is the other end for a measure where lower is better
    reference, ranked = [40, 30, 20, 10], [40, 30, 10, 20]
    turned = correlate(table({"micro.MR": reference}), table({"micro.MR": ranked}), coefficients=("tau_ap", "rbo"))
    straight = correlate(table({"RR": reference}), table({"RR": ranked}), coefficients=("tau_ap", "rbo"))
    assert turned.of("tau_ap") == pytest.approx(1 / 3)
    assert straight.of("tau_ap") == pytest.approx(7 / 9)
    assert turned.of("rbo") < straight.of("rbo")


def test_tau_ap_judges_the_second_by_the_order_of_the_first():
    """The weights are those of the second ranking's places."""
    first, second = np.array([4.0, 3, 2, 1]), np.array([1.0, 4, 3, 2])
    found = correlate(table({"RR": list(first)}), table({"RR": list(second)}))
    assert found.of("tau_ap") == float(tau_ap(second, first)) != float(tau_ap(first, second))
    assert found.of("rbo") == float(rank_biased_overlap(first, second))


def test_a_table_without_keys_is_compared_with_each_key():
    """Rows are measures, and within them the keys."""
    values = np.array([[[1.0, 2], [1, 2]], [[2, 1], [2, 1]]])
    keyed = ScoreTable(("a", "b"), ("RR", "micro.MR"), values, {"Depth": ("0", "1")})
    for found in (
        correlate(table({"RR": [1, 2], "micro.MR": [1, 2]}), keyed, coefficients="tau"),
        correlate(keyed, table({"RR": [1, 2], "micro.MR": [1, 2]}), coefficients="tau"),
    ):
        assert found.rows["measure"] == ("RR", "RR", "micro.MR", "micro.MR")
        assert found.rows["Depth"] == ("0", "1", "0", "1")
        assert found.value.tolist() == [[1], [-1], [1], [-1]]


def test_equal_keys_are_compared_and_others_told():
    """In the first's order; different key columns do not fit."""

    def keyed(depths: list[str], column: str = "Depth") -> ScoreTable:
        values = np.array([[[float(depth) for depth in depths]], [[1.0] * len(depths)]])
        return ScoreTable(("a", "b"), ("RR",), values, {column: tuple(depths)})

    with pytest.warns(KgtrecWarning, match="^only second has Depth 5, left out"):
        found = correlate(keyed(["0", "3"]), keyed(["5", "3", "0"]), coefficients="tau")
    assert (found.rows["Depth"], found.value.tolist()) == (("0", "3"), [[1], [1]])
    with pytest.raises(KgtrecError, match="expected the same key columns, or none on one side, found: first has Depth"):
        correlate(keyed(["0"]), keyed(["0"], "side"))
    with pytest.raises(KgtrecError, match="expected Depth in common, found none in first and second"):
        correlate(keyed(["0"]), keyed(["1"]))


def test_systems_and_measures_of_one_side_only_are_told():
    """They are left out; fewer than two systems in common rank nothing."""
    first = table({"RR": [1, 2, 3], "P@5": [1, 2, 3]}, "abc", "O")
    second = table({"RR": [1, 2, 3]}, "xbc", "S")
    with pytest.warns(KgtrecWarning) as told:
        found = correlate(first, second, coefficients="tau")
    assert [str(one.message) for one in told] == [
        "only O has scores of a, left out",
        "only S has scores of x, left out",
        "only O has P@5, left out",
    ]
    assert (found.systems, found.left_out) == (("b", "c"), ("a", "x"))
    with pytest.raises(
        KgtrecError, match=r"expected at least 2 systems in common, found 1: O has a, b, c; S has x, y, c"
    ):
        correlate(first, table({"RR": [1, 2, 3]}, "xyc", "S"))
    with pytest.raises(MeasureError, match="expected measures in common, found none: first has RR; second has AP"):
        correlate(table({"RR": [1, 2]}), table({"map": [1, 2]}))
    with pytest.raises(MeasureError, match=r"expected measures of S, found P@5, which has no scores there"):
        correlate(table({"RR": [1, 2], "P@5": [1, 2]}), table({"RR": [1, 2]}, name="S"), measures="P_5")


def test_a_constant_measure_has_no_correlation():
    """NaN and a warning that names measure and label set; so does a system without a score."""
    first = table({"RR": [1, 1, 1], "P@5": [1, 2, 3], "AP": [1, 2, 3]}, name="O")
    second = table({"RR": [1, 2, 3], "P@5": [1, np.nan, 3], "AP": [3, 2, 1]}, name="S")
    with pytest.warns(KgtrecWarning) as told:
        found = correlate(first, second)
    assert [str(one.message) for one in told] == [
        "RR under O ranks no systems: all systems score alike; its correlation is undefined",
        "P@5 under S ranks no systems: a system has no score; its correlation is undefined",
    ]
    assert np.all(np.isnan(found.value[:2]))
    assert found.of("tau", measure="AP") == -1


def test_measures_that_kgtrec_does_not_know_need_a_direction():
    """Without one they are left out; with one they are compared."""
    first, second = (table({"seconds": values, "RR": [1, 2]}) for values in ([1, 2], [2, 1]))
    with pytest.warns(KgtrecWarning, match="left out seconds: kgtrec knows no measure of that name") as told:
        assert correlate(first, second).rows["measure"] == ("RR",)
    assert [str(one.message).partition(":")[0] for one in told] == ["first", "second"]
    found = correlate(first, second, None, "seconds", "rbo", better={"seconds": "lower"})
    assert found.of("rbo") == float(rank_biased_overlap(np.array([-1.0, -2]), np.array([-2.0, -1])))
    with pytest.raises(KgtrecError, match="expected seconds to be better one of higher, lower, found 'faster'"):
        correlate(first, second, measures="seconds", better={"seconds": "faster"})
    with pytest.raises(KgtrecError, match="expected each measure once, found both 'P_5' and 'P@5', which are P@5"):
        correlate(table({"P_5": [1, 2], "P@5": [1, 2]}), table({"P@5": [1, 2]}))


def test_measures_of_one_label_set_are_compared_pair_by_pair():
    """A perfect agreement of MR and MRR, turned round; both ways of tau_AP are averaged."""
    scores = {"micro.MR": [10, 20, 30, 40], "micro.MRR": [0.9, 0.8, 0.7, 0.6], "RR": [0.6, 0.9, 0.8, 0.7]}
    found = between_measures(table(scores, name="O"))
    assert found.rows["labels"] == ("O",) * 3
    assert list(zip(found.rows["first"], found.rows["second"], strict=True)) == list(combinations(scores, 2))
    assert found.of("tau", first="micro.MR", second="micro.MRR") == 1
    x, y = np.array(scores["micro.MRR"]), np.array(scores["RR"])
    expected = (float(tau_ap(x, y)) + float(tau_ap(y, x))) / 2
    assert found.of("tau_ap", first="micro.MRR", second="RR") == pytest.approx(expected)
    with pytest.raises(MeasureError, match="expected at least 2 measures to compare, found RR"):
        between_measures(table(scores), measures="RR")


def test_swapped_pairs_come_with_both_differences():
    """In the measure's own unit, the largest under the first labels on top; a tie is no swap."""
    first = table({"micro.MR": [10, 20, 50, 50], "RR": [0.1, 0.2, 0.3, 0.4]})
    second = table({"micro.MR": [30, 25, 20, 40], "RR": [0.2, 0.2, 0.1, 0.9]})
    found = swaps(first, second)
    rows = list(zip(found.rows["measure"], found.better, found.worse, found.first, found.second, strict=True))
    assert [row[:3] for row in rows] == [
        ("micro.MR", "a", "c"),
        ("micro.MR", "b", "c"),
        ("micro.MR", "a", "b"),
        ("RR", "c", "a"),
        ("RR", "c", "b"),
    ]
    np.testing.assert_allclose([row[3:] for row in rows], [(-40, 10), (-30, 5), (-10, 5), (0.2, -0.1), (0.1, -0.1)])
    assert found.n_pairs == {"micro.MR": 6, "RR": 6}
    assert found.to_table().column_names == ["measure", "better", "worse", "first", "second"]


@settings(max_examples=examples(40))
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_swaps_are_what_tau_counts(x: list[int], y: list[int]):
    """Without ties, tau is 1 - 2 * swapped / pairs."""
    first, second = (table({"micro.MR": list(map(float, values))}) for values in (x, y))
    tau = correlate(first, second, coefficients="tau").of("tau")
    assert tau == pytest.approx(1 - 2 * len(swaps(first, second)) / 15)


def test_p_values_of_swaps_are_those_of_the_paired_t_test():
    """Over questions scipy's; the differences are of the totals."""
    one, other = noisy(4, 60, 1), noisy(4, 60, 2)[::-1]
    found = swaps(items_of(one), items_of(other))
    assert len(found) >= 3
    for place, (better, worse) in enumerate(zip(found.better, found.worse, strict=True)):
        i, j = "abcd".index(better), "abcd".index(worse)
        for value, gap, p in ((one, found.first, found.first_p), (other, found.second, found.second_p)):
            assert gap[place] == pytest.approx(value[i].mean() - value[j].mean())
            assert p[place] == pytest.approx(stats.ttest_rel(value[i], value[j]).pvalue)
    shown = found.to_frame()
    expected = [
        "both" if a and b else "first" if a else "second" if b else "neither"
        for a, b in zip(found.first_p < 0.05, found.second_p < 0.05, strict=True)
    ]
    assert list(shown["significant"]) == expected


def test_answers_of_one_question_count_as_one_in_the_t_test():
    """Every answer ten times over: the p-value is that of the questions, not of ten times as many answers."""
    one, other = noisy(3, 40, 3), noisy(3, 40, 4)[::-1]
    names = [f"q{i:03}" for i in range(40)]
    question = np.repeat(np.arange(40, dtype=np.int32), 10)
    single = swaps(items_of(one, "micro.MRR"), items_of(other, "micro.MRR"))
    tenfold = swaps(
        *(
            items_of(np.repeat(value, 10, axis=1), "micro.MRR", questions=names, question=question)
            for value in (one, other)
        )
    )
    assert len(single) == len(tenfold) > 0
    np.testing.assert_allclose(tenfold.first_p, single.first_p)
    np.testing.assert_allclose(tenfold.second_p, single.second_p)


def test_a_p_value_is_unknown_where_there_are_only_totals():
    """One side a table, the other items."""
    value = noisy(3, 50, 5, apart=1.0)
    totals = table({"RR": list(-value.mean(axis=1))})
    found = swaps(items_of(value), totals)
    assert len(found) == 3
    assert np.all(np.isnan(found.second_p)) and np.all(found.first_p < 0.05)  # noqa: PT018
    assert set(found.to_frame()["significant"]) == {"unknown"}


def test_intervals_need_items():
    """A table of totals says nothing of how they would vary."""
    with pytest.raises(KgtrecError, match="resampling ranges need what each system scored on each question"):
        correlate(table({"RR": [1, 2]}), table({"RR": [2, 1]}), confidence=0.95)
    with pytest.raises(KgtrecError, match=r"expected a confidence between 0 and 1, found 95"):
        correlate(items_of(noisy(3, 9, 0)), items_of(noisy(3, 9, 0)), confidence=95)


def test_the_interval_is_the_percentile_of_resampled_correlations():
    """A slow loop over the same draws: questions that both have, drawn for both at once."""
    one, other = noisy(5, 30, 6), noisy(5, 30, 7)
    found = correlate(items_of(one), items_of(other), confidence=0.9, resamples=200, seed=11)
    rng = np.random.default_rng(11)
    taus = []
    for _ in range(200):
        drawn = rng.integers(0, 30, 30)
        taus.append(stats.kendalltau(one[:, drawn].mean(axis=1), other[:, drawn].mean(axis=1)).statistic)
    assert found.low is not None and found.high is not None  # noqa: PT018
    np.testing.assert_allclose([found.low[0, 0], found.high[0, 0]], np.quantile(taus, [0.05, 0.95]), atol=1e-12)


def test_the_draws_hang_on_ids_and_not_on_their_order():
    """Questions in another order give the same interval."""
    one, other = noisy(5, 30, 6), noisy(5, 30, 7)
    names = [f"q{i:03}" for i in range(30)]
    order = np.random.default_rng(0).permutation(30)
    straight = correlate(items_of(one), items_of(other), confidence=0.9, resamples=50)
    shuffled = [items_of(value[:, order], questions=[names[i] for i in order]) for value in (one, other)]
    for second in (shuffled[1], items_of(other)):
        found = correlate(shuffled[0], second, confidence=0.9, resamples=50)
        np.testing.assert_allclose(found.low, straight.low, atol=1e-12)


def test_labels_over_the_same_questions_are_resampled_together():
    """The same scores twice: every sample agrees with itself, so the interval is a point; drawn apart, it is not."""
    items = items_of(noisy(6, 40, 8))
    together = correlate(items, dict(items), coefficients="tau", confidence=0.95, resamples=200)
    assert (together.low, together.high) == (1, 1)
    apart = correlate(items, dict(items), coefficients="tau", confidence=0.95, resamples=200, paired=False)
    assert apart.of("tau") == 1
    assert apart.low is not None
    assert apart.low[0, 0] < 0.9


def test_label_sets_without_common_questions_are_resampled_apart():
    """Other ids: the same as asking for it."""
    items = items_of(noisy(6, 40, 8))
    renamed = items_of(noisy(6, 40, 8), questions=[f"other{i:03}" for i in range(40)])
    by_ids = correlate(items, renamed, confidence=0.95, resamples=100)
    asked = correlate(items, dict(items), confidence=0.95, resamples=100, paired=False)
    np.testing.assert_array_equal(by_ids.low, asked.low)


def test_part_of_the_questions_in_common():
    """A sample has the questions it shares drawn with those of the whole: the interval is narrower than apart."""
    whole = noisy(6, 200, 9)
    names = [f"q{i:03}" for i in range(200)]
    some = items_of(whole[:, 50:], questions=names[50:])
    together = correlate(items_of(whole), some, coefficients="tau", confidence=0.95, resamples=300)
    apart = correlate(items_of(whole), some, coefficients="tau", confidence=0.95, resamples=300, paired=False)
    assert together.low is not None and apart.low is not None  # noqa: PT018
    assert together.low[0, 0] > apart.low[0, 0]


def test_the_seed_fixes_the_interval_and_systems_may_come_in_any_order():
    """Other systems' order gives the same ends up to rounding; another seed gives others."""
    one, other = noisy(6, 50, 1), noisy(6, 50, 2)
    first = correlate(items_of(one), items_of(other), confidence=0.95, resamples=100, seed=3)
    again = correlate(items_of(one), items_of(other), confidence=0.95, resamples=100, seed=3)
    np.testing.assert_array_equal(first.low, again.low)
    plain = items_of(other)["RR"]
    turned = {"RR": replace(plain, systems=plain.systems[::-1], value=plain.value[::-1])}
    np.testing.assert_allclose(
        correlate(items_of(one), turned, confidence=0.95, resamples=100, seed=3).high, first.high, atol=1e-12
    )
    moved = correlate(items_of(one), items_of(other), confidence=0.95, resamples=100, seed=4)
    assert not np.array_equal(moved.low, first.low)


def test_an_executor_changes_no_byte():
    """Of two label sets, paired or not, and between measures; each measure is told once."""
    one = {**items_of(noisy(5, 40, 1)), **items_of(noisy(5, 40, 3), "AP")}
    other = {**items_of(noisy(5, 40, 2)), **items_of(noisy(5, 40, 4), "AP")}
    how = {"confidence": 0.95, "resamples": 60}
    for compared in (
        lambda **who: correlate(one, other, **how, **who),
        lambda **who: correlate(one, other, paired=False, **how, **who),
        lambda **who: between_measures(one, **how, **who),
    ):
        told, alone = [], compared()
        with ThreadPoolExecutor(3) as pool:
            found = compared(executor=pool, progress=told.append)
        assert (found.low.tobytes(), found.high.tobytes()) == (alone.low.tobytes(), alone.high.tobytes())
        assert told == [1, 1]


@pytest.mark.parametrize("aggregate", ["median", "geometric mean", "harmonic mean"])
def test_resampled_numbers_are_turned_as_the_measure_is(aggregate: str):
    """A measure where lower is better agrees with itself in every sample, and MR with its like."""
    rng = np.random.default_rng(0)
    rank = rng.integers(1, 50, (4, 30)) + 20.0 * np.arange(4)[:, None]
    measure = {"median": "micro.MedianRank", "geometric mean": "micro.GMR", "harmonic mean": "micro.HMR"}[aggregate]
    row, questions = np.arange(30, dtype=np.int32), Vocabulary.of([f"q{i:03}" for i in range(30)])
    several = {
        "micro.MR": ItemScores("micro.MR", "answers", False, "mean", tuple("abcd"), rank, row, questions),
        measure: ItemScores(measure, "answers", False, aggregate, tuple("abcd"), rank, row, questions),
    }
    found = between_measures(several, confidence=0.9, resamples=60, coefficients="tau")
    assert found.value[0, 0] == 1
    assert found.low is not None
    assert found.low[0, 0] > 0


def test_scores_of_evaluate_are_taken_as_they_are():
    """Their items are keys."""
    scores = Scores(("a", "b"), ("RR",), np.array([[[0.5]], [[0.25]]]))
    assert correlate(scores, scores, coefficients="tau", names=("O", "S")).rows == {
        "first": ("O",),
        "second": ("S",),
        "measure": ("RR",),
    }
    with pytest.raises(KgtrecError, match="expected systems to score, found none; item scores are scored already"):
        correlate([1], scores)
    with pytest.raises(KgtrecError, match="expected no systems beside what is scored already, found str; measures= "):
        correlate(scores, scores, "RR")


LABELS = st.dictionaries(st.sampled_from("abcde"), st.integers(0, 1), min_size=1).map(lambda own: {**own, "f": 1})
QRELS = st.lists(LABELS, min_size=4, max_size=4).map(lambda several: {f"q{i}": own for i, own in enumerate(several)})


@settings(deadline=None, max_examples=examples(25))
@given(QRELS, QRELS, st.integers(0, 99))
def test_label_sets_are_scored_as_item_scores_are(first: dict, second: dict, seed: int):
    """Qrels with systems give what their item scores give; a table on one side needs none."""
    rng = np.random.default_rng(seed)
    runs = {name: {question: dict(zip("abcdef", rng.random(6), strict=True)) for question in first} for name in "xyz"}
    scored = [item_scores(qrels, runs, "RR AP", seed=seed) for qrels in (first, second)]
    how = {"confidence": 0.9, "resamples": 20, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        given_qrels = correlate(first, second, runs, "RR AP", **how)
        expected = correlate(*scored, **how)
        one_side = correlate(scored[0], second, runs, "RR AP", **how)
        assert swaps(first, second, runs, "RR AP").to_table().equals(swaps(*scored).to_table())
        within, expected_within = between_measures(first, runs, "RR AP"), between_measures(scored[0])
    for found in (given_qrels, one_side):
        assert found.rows == expected.rows
        for name in ("value", "low", "high"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(within.value, expected_within.value)


def test_systems_that_can_be_read_once_are_scored_under_both_label_sets():
    """An iterator of runs."""
    first, second = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1, "b": 1}, "q2": {"b": 1}}
    runs = {
        "one": {"q1": {"a": 0.9, "b": 0.1}, "q2": {"a": 0.9, "b": 0.1}},
        "two": {"q1": {"b": 0.9, "a": 0.1}, "q2": {"a": 0.9, "x": 0.1}},
    }
    several = list(each_system(runs))
    found = correlate(first, second, iter(several), "RR", "tau")
    assert found.systems == ("one", "two")
    assert found.of("tau") == 1


def test_unknown_coefficients_and_levels_are_refused():
    """With the nearest name."""
    one = table({"RR": [1, 2]})
    with pytest.raises(KgtrecError, match="expected coefficients among tau, tau_ap, spearman, rbo, found 'taub'"):
        correlate(one, one, coefficients="taub")
    with pytest.raises(KgtrecError, match="found none"):
        correlate(one, one, coefficients=())
    with pytest.raises(KgtrecError, match="expected an alpha between 0 and 1, found 5"):
        swaps(one, one, alpha=5)


def test_the_long_form_has_a_line_per_coefficient():
    """What was compared, coefficient, value, ends where known, systems."""
    items = items_of(noisy(4, 20, 0))
    frame = correlate(items, dict(items), confidence=0.95, resamples=20).to_frame()
    assert list(frame.columns) == ["first", "second", "measure", "coefficient", "value", "low", "high", "systems"]
    assert list(frame["coefficient"]) == list(COEFFICIENTS)


@pytest.mark.filterwarnings("ignore:micro.MRR under second ranks no systems:kgtrec.errors.KgtrecWarning")
def test_no_answers_give_no_interval_and_no_p_value():
    """Qrels that call everything wrong leave a micro measure without items: neither a mean nor a draw of them."""
    some, none = items_of(noisy(3, 20, seed=1), "micro.MRR"), items_of(np.empty((3, 0)), "micro.MRR", questions=["q1"])
    found = correlate(some, none, coefficients="tau", confidence=0.9, resamples=20)
    assert found.low is not None
    assert np.isnan([found.value[0, 0], found.low[0, 0]]).all()
    assert len(swaps(some, none).better) == 0


def test_scores_of_any_size_are_swapped():
    """A product of differences that overflows, or that underflows to 0, has a sign all the same."""
    for size in (1e308, 1e-300):
        first, second = table({"RR": [size, -size]}), table({"RR": [-size, size]})
        assert swaps(first, second).better == ("a",)


def test_columns_are_known_with_a_line_or_a_dot():
    """However they are capitalised."""
    for column in ("micro_hits@10", "micro.hits@10", "MICRO.Hits@10"):
        known = known_measure(column)
        assert known is not None
        assert known.name == "micro.Hits@10"


@pytest.mark.parametrize("coefficient", ["tau", "spearman"])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_scores_that_differ_by_rounding_alone_tie(coefficient: str, scale: float):
    """0.1 + 0.2 is 0.3, in either of the two rankings."""
    exact, noisy, other = (np.array([0.3, third, 0.5]) * scale for third in (0.3, 0.1 + 0.2, 0.4))
    assert correlated(noisy, other, coefficient) == correlated(exact, other, coefficient)
    assert correlated(other, noisy, coefficient) == correlated(other, exact, coefficient)
