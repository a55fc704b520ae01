"""Sets of integer keys are what Python's sets say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.integer_keys import distinct, first_places, is_among

keys = st.lists(st.integers(-3, 2**40) | st.integers(0, 5), max_size=20)


@given(keys)
def test_distinct_is_a_sorted_set(values):
    """Ascending, each once."""
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(keys)
def test_first_places_are_those_of_a_dict(values):
    """A dict keeps the order of first appearance."""
    assert np.array(values, np.int64)[first_places(np.array(values, np.int64))].tolist() == list(dict.fromkeys(values))


@given(keys, keys)
def test_is_among_is_membership(values, others):
    """Also with nothing on either side."""
    found = is_among(np.array(values, np.int64), np.array(others, np.int64))
    assert found.tolist() == [value in others for value in values]
