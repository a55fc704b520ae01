"""What is checked of numbers that callers give, and how warnings are given."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.errors import (
    KgtrecError,
    KgtrecWarning,
    between_0_and_1,
    each_warned_once,
    is_number,
    nearest,
    unwarned,
    warn,
    whole_number,
)


@given(st.integers(), st.integers(0, 100), st.integers(0, 100))
def test_a_whole_number_is_taken_between_its_ends_and_refused_beyond(value, below, above):
    assert whole_number("n", value, value - below, value + above) == value
    assert whole_number("n", value, least=None) == value
    with pytest.raises(KgtrecError, match="expected n to be a whole number"):
        whole_number("n", value, value + 1)
    with pytest.raises(KgtrecError, match="expected n to be a whole number"):
        whole_number("n", value, None, value - 1)


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3), np.array(3), 3])
def test_whole_numbers_of_any_type_become_int(value):
    found = whole_number("n", value)
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize("value", [True, False, np.True_, 2.0, np.float64(2), "2", None, [2], Decimal(2), float("nan")])
def test_what_is_no_whole_number_is_refused(value):
    told = rf"^expected n to be a whole number from 0 on, found {re.escape(repr(value))}$"
    with pytest.raises(KgtrecError, match=told):
        whole_number("n", value)


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [(None, None, ""), (1, None, " from 1 on"), (None, 9, " up to 9"), (0, 1_000_000, " from 0 to 1,000,000")],
)
def test_the_range_is_told(least, most, told):
    with pytest.raises(KgtrecError, match=rf"^expected n to be a whole number{told}, found 'x'$"):
        whole_number("n", "x", least, most)


@pytest.mark.parametrize("value", [0, -1.5, np.float16(0.5), np.float32(0.5), np.int8(1), Fraction(1, 3)])
def test_finite_real_numbers_are_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize("value", [float("inf"), np.float32("nan"), True, np.True_, 1j, "1", None, [1.0], np.ones(1)])
def test_what_is_not_finite_or_real_is_no_number(value):
    assert not is_number(value)


def test_of_names_that_are_equally_near_those_that_begin_alike_are_offered():
    """A letter is wrong in the middle: micro.ZMR, micro.WMR and micro.MRR differ by as much."""
    choices = ["micro.ZMR", "micro.WMR", "micro.AMR", "micro.MRR", "micro.MR"]
    assert nearest("micro.MMR", choices) == "; did you mean micro.MR or micro.MRR or micro.ZMR?"


def test_a_warning_of_several_parts_is_given_once_and_as_of_the_caller():
    """Not as of the module of the block's own machinery; another package's warning stays what it is."""
    told: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with each_warned_once(told):
                warn("one")
                warnings.warn("two", RuntimeWarning, stacklevel=1)
        with unwarned():
            warn("three")
    ours = [warning for warning in caught if warning.category is KgtrecWarning]
    assert [str(warning.message) for warning in ours] == ["one"]
    assert ours[0].filename == __file__
    assert [warning.category for warning in caught if warning not in ours] == [RuntimeWarning] * 2


@pytest.mark.parametrize("value", [0, 1, -0.5, 95, 1e-13, 1 - 2**-53, float("nan"), "0.5"])
def test_a_share_at_0_or_1_or_next_to_them_is_refused(value):
    """The quantile of 0.5 + confidence / 2 would be infinite."""
    with pytest.raises(KgtrecError, match=r"expected a confidence (between|at least 1e-12 away from) 0 and 1, found"):
        between_0_and_1("a confidence", value)
