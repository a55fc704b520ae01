"""Bootstrap intervals, and chance levels of single groups."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation import evaluate
from kgtrec.kernels.resampling import bootstrap_counts
from kgtrec.measures.names import parse_measure
from kgtrec.summary import Bootstrap, Items, chance_level, interval, summarise
from tests.laws.tables import Table


def items(value, question=None, candidates=20, group=None, weight=None) -> Items:
    n = len(value)
    return Items(
        np.asarray(value, float), np.zeros(n, np.int32) if group is None else np.asarray(group, np.int32),
        np.arange(n, dtype=np.int32) if question is None else np.asarray(question, np.int32),
        weight, np.full(n, candidates), None,
    )  # fmt: skip


def width(ends: np.ndarray) -> float:
    return float(ends[1, 0] - ends[0, 0])


def test_intervals_hold_their_level():
    """Mean reciprocal ranks of 60 uniform ranks: about 9 of 10 intervals of 90% cover the true mean, 200 times."""
    rng = np.random.default_rng(5)
    measure = parse_measure("micro.MRR")
    truth = np.mean(1 / np.arange(1, 21))
    covered = 0
    for repeat in range(200):
        drawn = items(1 / rng.integers(1, 21, 60))
        low, high = interval(measure, drawn, 1, "s", Bootstrap(0.9, "answer", 200, repeat))[:, 0]
        covered += low <= truth <= high
    # four standard errors, and the percentile interval of a skewed mean is a little narrow
    assert 0.9 - 0.085 - 0.03 < covered / 200 < 0.9 + 0.085


def test_an_interval_is_as_wide_as_the_normal_one():
    """Of 400 answers, 2 * 1.96 standard errors within a tenth."""
    value = np.random.default_rng(1).random(400)
    ends = interval(parse_measure("micro.MRR"), items(value), 1, "s", Bootstrap(0.95, "answer", 2000, 0))
    assert width(ends) == pytest.approx(2 * 1.96 * value.std() / 20, rel=0.1)
    assert ends[0, 0] < value.mean() < ends[1, 0]


def test_equal_copies_in_a_question_tell_no_more_than_one():
    """Nine copies of each answer: clustered, the interval is that of one copy; per answer it is a third as wide."""
    value = np.random.default_rng(2).random(100)
    measure, copies = parse_measure("micro.MRR"), items(np.repeat(value, 9), np.repeat(np.arange(100), 9))
    one = interval(measure, items(value), 1, "s", Bootstrap(0.95, "question", 1000, 0))
    clustered = interval(measure, copies, 1, "s", Bootstrap(0.95, "question", 1000, 0))
    per_answer = interval(measure, copies, 1, "s", Bootstrap(0.95, "answer", 1000, 0))
    np.testing.assert_allclose(clustered, one, rtol=1e-12)
    assert width(clustered) / width(per_answer) == pytest.approx(3, rel=0.15)


def test_the_same_seed_gives_the_same_bytes():
    """Through evaluate; another seed gives others; the numbers themselves do not depend on the seed."""
    rng = np.random.default_rng(3)
    table = Table((9,) * 30, tuple(tuple(rng.integers(0, 10, 1 + i % 3).tolist()) for i in range(30)))
    qrels, ranks = table.inputs()
    wanted = ["micro.MRR", "micro.AMRI", "micro.MedianRank", "micro.AGMRI", "macro.AMRR", "AP@3"]
    one, same, other = (evaluate(qrels, ranks, wanted, confidence=0.95, resamples=100, seed=seed) for seed in (1, 1, 2))
    assert (one.low.tobytes(), one.high.tobytes()) == (same.low.tobytes(), same.high.tobytes())
    assert one.low.tobytes() != other.low.tobytes()
    assert one.values.tobytes() == other.values.tobytes()
    assert (one.low <= one.values).all()
    assert (one.values <= one.high).all()


def test_an_interval_is_the_same_alone_and_in_company():
    """To the last bit: with other measures, other systems, and in any order."""
    rng = np.random.default_rng(8)
    table = Table((9,) * 40, tuple(tuple(rng.integers(0, 10, 1 + i % 4).tolist()) for i in range(40)))
    qrels, ranks = table.inputs()
    wanted = [f"micro.Hits@{k}" for k in range(1, 10)]
    wanted += ["micro.MR", "micro.MRR", "micro.AMRI", "micro.GMR", "macro.MRR", "AP@3", "micro.MedianRank", "P@2"]
    both = evaluate(qrels, [ranks, ranks.renamed("t")], wanted, confidence=0.9, resamples=50)
    turned = evaluate(qrels, ranks, wanted[::-1], confidence=0.9, resamples=50)
    for place, label in enumerate(wanted):
        alone = evaluate(qrels, ranks, label, confidence=0.9, resamples=50)
        for end in ("low", "high"):
            own = getattr(alone, end)[0, 0, 0]
            assert getattr(both, end)[:, place, 0].tolist() == [own, own], label
            assert getattr(turned, end)[0, len(wanted) - 1 - place, 0] == own, label


def test_intervals_are_those_of_a_slow_bootstrap():
    """Every sample written out and scored anew, for means, linked means, medians and indexes."""
    rng = np.random.default_rng(9)
    question = np.repeat(np.arange(12), rng.integers(1, 4, 12)).astype(np.int32)
    n = len(question)
    own = items(rng.integers(1, 21, n).astype(float), question, candidates=20, weight=rng.random(n) + 0.1)
    how = Bootstrap(0.8, "question", 60, 5)
    counts = np.concatenate(list(bootstrap_counts(12, 60, 5)))
    for name in ("MR", "GMR", "HMR", "IMR", "MedianRank", "AMRI", "AMR"):
        measure = parse_measure(f"micro.{name}")
        samples = []
        for drawn in counts:
            rows = np.repeat(np.arange(n), drawn[question].astype(int))
            again = items(own.value[rows], question[rows], candidates=20, weight=own.weight[rows])
            samples.append(summarise(measure, again, 1, "s")[0])
        expected = np.quantile(samples, [0.1, 0.9])
        assert interval(measure, own, 1, "s", how)[:, 0] == pytest.approx(expected, rel=1e-9), name


def test_intervals_of_open_ranks():
    """A median under ties in expectation is resampled as such: equal answers of ranks 1 to 3 have 2 in every sample."""
    ranks = np.ones(9, np.int64), np.full(9, 3)
    own = replace(items([2.0] * 9), open_ranks=ranks)
    measure = parse_measure("micro.MedianRank")
    assert interval(measure, own, 1, "s", Bootstrap(0.95, "answer", 40, 0))[:, 0].tolist() == [2.0, 2.0]


def test_intervals_of_an_index_are_those_of_the_number_where_all_lists_are_equally_long():
    """(M - E) / (1 - E) with one E for all samples; where lower is better the ends change places."""
    rng = np.random.default_rng(4)
    table = Table((9,) * 25, tuple((int(above),) for above in rng.integers(0, 10, 25)))
    qrels, ranks = table.inputs()
    for plain, index, level in (
        ("micro.MRR", "micro.AMRR", np.mean(1 / np.arange(1, 11))),
        ("micro.MR", "micro.AMRI", 5.5),
    ):
        scores = evaluate(qrels, ranks, [plain, index], confidence=0.9, resamples=200)
        ends = (np.array([scores.low[0, 0, 0], scores.high[0, 0, 0]]) - level) / (1 - level)
        found = [scores.low[0, 1, 0], scores.high[0, 1, 0]]
        assert found == pytest.approx(sorted(ends), rel=1e-9)


def test_z_forms_and_sums_have_no_interval():
    """A z form's spread is chance's own; a number of questions has none."""
    qrels, ranks = Table((9, 9), ((1,), (3,))).inputs()
    scores = evaluate(qrels, ranks, ["micro.ZMRR", "NumQ"], confidence=0.9, resamples=20)
    assert np.isnan([scores.low, scores.high]).all()


def test_an_interval_of_equal_items_has_no_width():
    """Every sample is the same."""
    ends = interval(parse_measure("micro.GMR"), items([4.0] * 9), 1, "s", Bootstrap(0.95, "answer", 50, 0))
    assert ends[:, 0].tolist() == pytest.approx([4, 4])


def test_groups_get_their_own_intervals():
    """Two groups in one call are the two groups of two calls whose questions are drawn together."""
    rng = np.random.default_rng(6)
    value = rng.random(40)
    both = interval(
        parse_measure("micro.MRR"), items(value, group=np.repeat([0, 1], 20)), 2, "s", Bootstrap(0.9, "answer", 400, 0)
    )
    for group in (0, 1):
        own = value[20 * group : 20 * group + 20]
        assert both[0, group] < own.mean() < both[1, group]
        assert both[1, group] - both[0, group] == pytest.approx(2 * 1.645 * own.std() / 20**0.5, rel=0.25)


def test_a_small_group_has_an_interval_and_one_with_an_undefined_item_has_none():
    """Samples that happen to miss the one are left out; those that miss the other do not hide it."""
    drawn = items([0.1] * 5 + [0.7] + [np.nan, 0.5, 0.5], group=[0] * 5 + [1] + [2] * 3)
    ends = interval(parse_measure("micro.MRR"), drawn, 3, "s", Bootstrap(0.95, "answer", 100, 0))
    assert ends[:, 0].tolist() == pytest.approx([0.1, 0.1])
    assert ends[:, 1].tolist() == pytest.approx([0.7, 0.7])
    assert np.isnan(ends[:, 2]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "expected a confidence between 0 and 1, found 1.0"),
        ({"repeats": 1}, "expected at least 2 bootstrap samples, found 1"),
        ({"resample": "triple"}, "expected to resample 'question' or 'answer', found 'triple'"),
    ],
)
def test_what_is_wrong_with_a_bootstrap_is_named(options, message):
    """With what was expected."""
    with pytest.raises(KgtrecError, match=message):
        Bootstrap(**options)


def test_adjusted_numbers_by_hand():
    """Ranks 1 and 3 of 4 and 6 candidates: E[MR] = 3, Var = (15 + 35) / 12 / 4."""
    two = Items(np.array([1.0, 3.0]), np.zeros(2, np.int32), np.arange(2, dtype=np.int32), None, np.array([4, 6]), None)
    variance = (15 + 35) / 12 / 4
    expected = {
        "AMR": 2 / 3,
        "AMRI": (2 - 3) / (1 - 3),
        "ZMR": 1 / variance**0.5,
        "ZMR(flipped=False)": -1 / variance**0.5,
    }
    found = {name: summarise(parse_measure(f"micro.{name}"), two, 1, "s")[0] for name in expected}
    assert found == pytest.approx(expected, rel=1e-12)


def test_weighted_moments_by_hand():
    """Weights 1 and 3 of 2 and 5 candidates: E = (1.5 + 3 * 3) / 4, Var = (0.25 + 9 * 2) / 16; any scale."""
    for scale in (1.0, 1e-9):
        two = Items(
            np.array([1.0, 3.0]), np.zeros(2, np.int32), np.arange(2, dtype=np.int32), scale * np.array([1.0, 3.0]),
            np.array([2, 5]), None,
        )  # fmt: skip
        expectation, variance = chance_level(parse_measure("micro.AMRI"), two, 1, "s")
        assert expectation[0] == pytest.approx(10.5 / 4)
        assert variance[0] == pytest.approx(18.25 / 16)


def test_an_index_holds_its_ends_to_the_last_bit():
    """All ranks last: AMRI is -1; all first: 1; all in the middle: 0, and never -0."""
    candidates = np.array([3, 7, 11, 13, 29, 5, 9])
    for rank, index in ((candidates, "-1.0"), (np.ones(7), "1.0"), ((candidates + 1) / 2, "0.0")):
        own = replace(items(rank), candidates=candidates)
        assert str(summarise(parse_measure("micro.AMRI"), own, 1, "s")[0].item()) == index


def test_a_cut_list_has_no_chance_level():
    """The message names measure and system."""
    cut = Items(np.array([1.0]), np.zeros(1, np.int32), np.zeros(1, np.int32), None, None, np.array([1]))
    with pytest.raises(MeasureError, match=r"AAP@20 needs to know how many candidates there were, which the cut run x"):
        chance_level(parse_measure("AAP@20"), cut, 1, "x")


@pytest.mark.parametrize("name", ["AHMRI", "ZHMR", "AIMR", "AMedianRankI", "AGMRI", "AIGMR", "AMRI"])
def test_lists_of_one_candidate_leave_no_room(name):
    """Whether chance is simulated or not, any number of them: NaN and a warning."""
    for n in (1, 6, 19):
        with pytest.warns(KgtrecWarning, match=rf"micro\.{name} of s is undefined where chance leaves no room"):
            assert math.isnan(summarise(parse_measure(f"micro.{name}"), items([1.0] * n, candidates=1), 1, "s")[0])


def test_simulated_levels_hang_on_the_candidates_alone():
    """The same for any order of the answers and any system: two calls, two orders."""
    candidates = np.array([3, 50, 900, 7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        levels = [
            chance_level(
                parse_measure("micro.MedianRank"),
                Items(np.ones(4), np.zeros(4, np.int32), np.arange(4, dtype=np.int32), None, order, None), 1, "s",
            )
            for order in (candidates, candidates[::-1])
        ]  # fmt: skip
    np.testing.assert_array_equal(levels[0], levels[1])
