"""The registry of measures."""

from __future__ import annotations

import dataclasses

import pytest

from kgtrec.measures import lists  # noqa: F401
from kgtrec.measures.registry import lookup, register, registered


def test_a_taken_name_is_refused():
    """Two measures of one name, or of one alias, would depend on the order of imports."""
    measure = registered("questions")[0]
    with pytest.raises(ValueError, match=f"a measure named {measure.name} is already registered"):
        register(measure)
    with pytest.raises(ValueError, match="a measure named bpref is already registered"):
        register(dataclasses.replace(measure, name="new", trec_eval=(), aliases={"bpref": {}}))
    assert lookup("new") is None


def test_measures_are_listed_by_what_they_are_one_number_of():
    """Over questions and over answers, together all."""
    names = {measure.name for measure in registered()}
    assert {measure.name for measure in registered("questions")} | {m.name for m in registered("answers")} == names
    assert "AP" in names


def test_a_name_with_its_cutoff_gives_the_cutoff():
    """As it is written; the parser makes a number of it."""
    found = lookup("map_cut_20")
    assert found is not None
    assert (found[0].name, dict(found[1])) == ("AP", {"cutoff": "20"})
    assert lookup("map_cut_x") is None
    assert lookup("Map") is None
