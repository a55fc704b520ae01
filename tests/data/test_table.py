from __future__ import annotations

import pyarrow as pa
import pytest

from kgtrec.data.table import Column, Figure, Report, Section, Table
from kgtrec.errors import KgtrecError

DATA = pa.table({"system": ["a"], "RR": [0.5]})


def test_keys_are_fit_for_links_and_files():
    """A key with a slash, a blank or a capital would be a path or no anchor."""
    for key in ("../x", "a b", "A", "", "a--b", "-a"):
        with pytest.raises(KgtrecError, match="expected a key of lower-case letters"):
            Table(key, "T", "", DATA)


def test_a_tables_columns_are_in_its_data():
    """The error names those that are there."""
    with pytest.raises(KgtrecError, match="table t: expected a column 'low' in the data, found system, RR"):
        Table("t", "T", "", DATA, (Column("RR", low="low"),))
    with pytest.raises(KgtrecError, match="at least one column"):
        Table("t", "T", "", pa.table({}))


def test_a_table_without_columns_shows_all_its_data():
    """In their order."""
    assert [column.name for column in Table("t", "T", "", DATA).columns] == ["system", "RR"]


def test_a_figure_has_a_title_and_a_caption():
    """Neither may be empty."""
    for missing in ("title", "caption"):
        texts = {"title": "T", "caption": "C", missing: " "}
        with pytest.raises(KgtrecError, match=f"expected a {missing}, found none"):
            Figure("f", "heat_map", data=DATA, **texts)


def test_two_tables_of_one_key_are_refused():
    """They would be one file; a table and a figure may share a key."""
    twice = Table("t", "T", "", DATA)
    with pytest.raises(KgtrecError, match="each table of a report to have a key of its own, found 't' twice"):
        Report("R", (Section("a", "A", (twice,)), Section("b", "B", (twice,))))
    same = Report("R", (Section("t", "A", (twice, Figure("t", "heat_map", "T", "C", "A", DATA))),))
    assert (len(same.tables), len(same.figures)) == (1, 1)
