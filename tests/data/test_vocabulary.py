"""Codes of few labels are those of many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.vocabulary import Vocabulary


@given(st.lists(st.text(max_size=3), unique=True, max_size=12), st.lists(st.text(max_size=3), max_size=12))
def test_labels_are_found_alone_as_among_others(own: list[str], asked: list[str]):
    """One by one or by a table of the vocabulary: the same code, and -1 for what is not in it."""
    vocabulary = Vocabulary.of(own)
    codes = {label: code for code, label in enumerate(own)}
    asked = asked + own
    expected = [codes.get(label, -1) for label in asked]
    assert vocabulary.encode(asked).tolist() == expected
    assert [vocabulary.encode([label]).tolist() for label in asked] == [[code] for code in expected]
