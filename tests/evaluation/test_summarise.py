"""Numbers set against chance, and chance levels of single groups."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from kgtrec.errors import KgtrecWarning, MeasureError
from kgtrec.evaluation.summarise import ItemValues, chance_level, summarise
from kgtrec.measures.names import parse_measure


def items(value, question=None, candidates=20, group=None, weight=None) -> ItemValues:
    n = len(value)
    return ItemValues(
        np.asarray(value, float),
        np.zeros(n, np.int32) if group is None else np.asarray(group, np.int32),
        np.arange(n, dtype=np.int32) if question is None else np.asarray(question, np.int32),
        weight,
        np.full(n, candidates),
        None,
    )


def test_adjusted_numbers_by_hand():
    """Ranks 1 and 3 of 4 and 6 candidates: E[MR] = 3, Var = (15 + 35) / 12 / 4."""
    two = ItemValues(
        np.array([1.0, 3.0]), np.zeros(2, np.int32), np.arange(2, dtype=np.int32), None, np.array([4, 6]), None
    )
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
        two = ItemValues(
            np.array([1.0, 3.0]),
            np.zeros(2, np.int32),
            np.arange(2, dtype=np.int32),
            scale * np.array([1.0, 3.0]),
            np.array([2, 5]),
            None,
        )
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
    cut = ItemValues(np.array([1.0]), np.zeros(1, np.int32), np.zeros(1, np.int32), None, None, np.array([1]))
    with pytest.raises(MeasureError, match=r"AAP@20 needs the number of candidates, which the cut run x"):
        chance_level(parse_measure("AAP@20"), cut, 1, "x")


@pytest.mark.parametrize("name", ["AMedianRankI", "ZMedianRank", "AGMRI", "ZGMR", "AMRI"])
def test_lists_of_one_candidate_leave_no_room(name):
    """Whether chance is simulated or not, any number of them: NaN and a warning."""
    for n in (1, 6, 19):
        with pytest.warns(KgtrecWarning, match=rf"micro\.{name} of s is undefined where chance gives the best"):
            assert math.isnan(summarise(parse_measure(f"micro.{name}"), items([1.0] * n, candidates=1), 1, "s")[0])


def test_simulated_levels_hang_on_the_candidates_alone():
    """The same for any order of the answers and any system: two calls, two orders."""
    candidates = np.array([3, 50, 900, 7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        levels = [
            chance_level(
                parse_measure("micro.MedianRank"),
                ItemValues(np.ones(4), np.zeros(4, np.int32), np.arange(4, dtype=np.int32), None, order, None),
                1,
                "s",
            )
            for order in (candidates, candidates[::-1])
        ]
    np.testing.assert_array_equal(levels[0], levels[1])
