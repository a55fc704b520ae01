"""Tables of data as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.formats.csv_text import unguarded
from kgtrec.report.records import records_of, table_csv, table_json, tables_json

LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
ROWS = st.lists(st.tuples(LABELS, st.floats(), st.integers(-(2**63), 2**63 - 1)), max_size=5)


def table_of(rows: list[tuple[str, float, int]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    kinds = (pa.string(), pa.float64(), pa.int64())
    return pa.table(
        {
            name: pa.array(list(cells), kind, from_pandas=False)
            for name, cells, kind in zip(("a,b", "value", "n"), columns, kinds, strict=True)
        }
    )


@given(ROWS)
def test_csv_gives_back_labels_and_numbers(rows: list[tuple[str, float, int]]):
    """Numbers to the last bit; an undefined one is an empty cell."""
    header, *found = csv.reader(io.StringIO(table_csv(table_of(rows)), newline=""))
    assert header == ["a,b", "value", "n"]
    assert [(unguarded(label), int(n)) for label, _, n in found] == [(label, n) for label, _, n in rows]
    values = [math.nan if text == "" else float(text) for _, text, _ in found]
    assert [value.hex() for value in values] == [(value if value == value else math.nan).hex() for _, value, _ in rows]


@given(
    st.lists(st.sampled_from(["", " ", "\u3000", "a;", "\t"]) | LABELS, max_size=3).map("".join),
    st.sampled_from("=+-@'\uff1d"),
)
def test_no_text_of_a_csv_file_is_a_formula(before: str, sign: str):
    """A label or a heading that a spreadsheet would run has an apostrophe before it; a negative number has none."""
    label = f"{before}{sign}HYPERLINK(A1)"
    text = table_csv(pa.table({label: [label, "plain"], "agreement": [-0.5, -1.0]}))
    header, first, second = csv.reader(io.StringIO(text, newline=""))
    for cell in (header[0], first[0]):
        for part in re.split("[;\t\r\n]", cell):
            assert not part.lstrip(" \u00a0\u3000").startswith(("=", "+", "-", "@", "\uff1d"))
        assert unguarded(cell) == label
    assert (first[1], second) == ("-0.5", ["plain", "-1.0"])


@given(st.lists(st.floats() | st.none() | st.integers(-20, 20).map(lambda n: 10.0**n), max_size=20))
def test_csv_has_numbers_as_python_writes_them(values: list[float | None]):
    """Or, where it is to be short, without the fraction of a whole number."""
    table = pa.table({"x": pa.array(values, pa.float64(), from_pandas=False)})
    assert table_csv(table).splitlines()[1:] == ["" if x is None or x != x else repr(x) for x in values]
    short = table_csv(table, is_short=True).splitlines()[1:]
    assert [math.nan if text == "" else float(text) for text in short] == pytest.approx(
        [math.nan if x is None else x for x in values], rel=0, abs=0, nan_ok=True
    )
    assert not any(text.endswith(".0") for text in short)


@given(ROWS)
def test_json_gives_back_the_records_one_a_line(rows: list[tuple[str, float, int]]):
    """What JSON has no number for is null, so that every reader of JSON takes it."""
    text = table_json(table_of(rows))
    expected = [{"a,b": label, "value": value if math.isfinite(value) else None, "n": n} for label, value, n in rows]
    assert json.loads(text, parse_constant=lambda name: f"not JSON: {name}") == expected
    assert text.count("\n") == max(len(rows), 1) + 2


def test_a_missing_cell_is_empty_in_csv_and_null_in_json():
    table = pa.table({"label": pa.array([None, "NA"], pa.string()), "n": pa.array([None, 7], pa.int64())})
    assert table_csv(table) == "label,n\n,\nNA,7\n"
    assert list(records_of(table)) == [{"label": None, "n": None}, {"label": "NA", "n": 7}]


def test_only_what_would_end_a_cell_is_quoted():
    labels = ["007", "a;b", 'say "so"', "two\nlines", "carriage\rreturn", "知识", ""]
    assert table_csv(pa.table({"label": labels})) == (
        'label\n007\na;b\n"say ""so"""\n"two\nlines"\n"carriage\rreturn"\n知识\n\n'
    )


def test_several_tables_are_one_object():
    text = tables_json({"name": "知识", "alpha": 0.05}, {"pairs": table_of([("x", math.inf, 1)]), "none": table_of([])})
    assert json.loads(text) == {
        "name": "知识",
        "alpha": 0.05,
        "pairs": [{"a,b": "x", "value": None, "n": 1}],
        "none": [],
    }
