"""Columns as bytes, read back by a reader that goes number by number."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.explore.slices import packed
from tests.examples import examples
from tests.explore.reading import columns_of

WHOLE = st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 300), max_size=12)
FLOATS = st.lists(st.floats() | st.integers(-3000, 3000).map(lambda n: n / 100), max_size=12)
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=6), max_size=5)


@given(WHOLE, FLOATS, TEXTS)
@settings(max_examples=examples(60), deadline=None)
def test_columns_come_back(whole, floats, texts):
    """Of whole numbers of every width, of floats bit for bit but the sign of zero and NaN, and of text."""
    given_columns = {
        "whole": np.array(whole, np.int64),
        "table": np.array([floats, floats], np.float64),
        "text": pa.array(texts, pa.string()),
    }
    found = columns_of(gzip.decompress(packed(given_columns)))
    assert found["whole"].tolist() == whole
    np.testing.assert_array_equal(found["table"], given_columns["table"])
    assert found["text"] == texts


def test_many_floats_are_stored_as_they_are():
    """More than 65,536 distinct values have no codes."""
    values = np.random.default_rng(0).random(70_000)
    raw = gzip.decompress(packed({"x": values}))
    np.testing.assert_array_equal(columns_of(raw)["x"], values)


def test_rising_numbers_are_stored_as_differences():
    """The offsets of 20 rows each compress to next to nothing."""
    assert len(packed({"at": np.arange(257) * 20})) < 150
