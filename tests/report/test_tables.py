from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.scores import Scores
from kgtrec.report.show import shown
from kgtrec.report.tables import _LATEX, aligned, booktabs

TWO = Scores(("a", "bb"), ("micro.MR", "RR"), np.array([[[12.5], [0.25]], [[3.0], [np.nan]]]))


def test_table_is_aligned_and_rounded():
    """Ranks have two decimals, shares four, the undefined a dash."""
    assert shown(TWO, "table") == ("system  micro.MR      RR\na          12.50  0.2500\nbb          3.00       -\n")


def test_a_table_too_wide_for_the_terminal_is_turned():
    """Measures go down where that fits and the other way does not."""
    many = Scores(("a",), tuple(f"P@{k}" for k in range(1, 9)), np.full((1, 8, 1), 0.5))
    lines = shown(many, "table", width=40).splitlines()
    assert lines[0].split() == ["measure", "a"]
    assert len(lines) == 9
    assert shown(many, "table").splitlines()[0].startswith("system")


def test_best_values_are_bold():
    """Lower is better for mean rank, higher for RR; an undefined value is never best."""
    text = shown(TWO, "table", bold=True)
    assert "\x1b[1m    3.00\x1b[0m" in text
    assert "\x1b[1m0.2500\x1b[0m" in text
    assert "12.50\x1b" not in text


def test_wide_characters_keep_the_columns_aligned():
    """A CJK name takes two cells a character."""
    from rich.cells import cell_len

    scores = Scores(("知识", "b"), ("RR",), np.array([[[0.5]], [[1.0]]]))
    assert len({cell_len(line) for line in shown(scores, "table").splitlines()}) == 1


def test_csv_is_long_and_exact():
    """system, measure, item, value; full precision; hostile labels quoted; undefined empty."""
    labels = pa.array(["a,b", 'he"said', "NA"])
    scores = Scores(("s",), ("RR",), np.array([[[1 / 3, np.nan, 1e-300]]]), {"question": labels})
    rows = list(csv.reader(io.StringIO(shown(scores, "csv"))))
    assert rows[0] == ["system", "measure", "question", "value"]
    assert [row[2] for row in rows[1:]] == ["a,b", 'he"said', "NA"]
    assert float(rows[1][3]) == 1 / 3
    assert rows[2][3] == ""
    assert float(rows[3][3]) == 1e-300


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_csv_and_json_read_back_exactly(values: list[float]):
    """No digit is lost on the way out."""
    scores = Scores(("s",), ("RR",), np.array([[values]]), {"question": pa.array([str(i) for i in range(len(values))])})
    rows = list(csv.DictReader(io.StringIO(shown(scores, "csv"))))
    assert [float(row["value"]) for row in rows] == values
    assert [record["value"] for record in json.loads(shown(scores, "json"))] == values


def test_json_is_a_list_of_records():
    """Undefined is null; one record a line."""
    assert json.loads(shown(TWO, "json"))[3] == {"system": "bb", "measure": "RR", "value": None}
    assert len(shown(TWO, "json").splitlines()) == 6


def test_latex_is_booktabs_with_names_escaped():
    """Underscores, percent signs and braces in names do not break the paper."""
    text = shown(Scores(("a_b%{", "c"), ("P@5",), np.array([[[0.5]], [[0.25]]])), "latex")
    assert r"\toprule" in text
    assert r"\bottomrule" in text
    assert r"a\_b\%\{ & \textbf{0.5000} \\" in text
    assert r"c & 0.2500 \\" in text


def test_frame_has_the_long_columns():
    """`to_frame` is the CSV as a data frame."""
    frame = TWO.to_frame()
    assert list(frame.columns) == ["system", "measure", "value"]
    assert frame["value"].tolist()[:3] == [12.5, 0.25, 3.0]
    assert TWO.value("bb", "micro.MR") == 3.0
    with pytest.raises(ValueError, match="expected a system of a, bb"):
        TWO.value("zz", "micro.MR")


def rows_as_tex_reads_them(latex: str) -> list[list[str]]:
    r"""The cells below the header, by TeX's rules.

    ``\midrule`` and ``\\`` skip blanks and line ends, and take a star or a bracket that follows as theirs.
    """
    body = latex.split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    rows, rest = [], body
    while True:
        rest = rest.lstrip()
        star = re.match(r"\*\s*", rest) if rows else None  # a rule has no starred form
        rest = rest[star.end() :] if star else rest
        argument = re.match(r"\[.*?\]", rest, re.DOTALL)
        rest = rest[argument.end() :] if argument else rest
        row, end, rest = rest.partition(r"\\")
        if not end:
            return rows
        rows.append([cell.strip().removeprefix("{}") for cell in row.split("&")])


@pytest.mark.parametrize("label", ["[base]", "*star", " [x]", "*", "[", "[]", "**[a]", "base", "a[b]", "\\[x]", "{}"])
@pytest.mark.parametrize("bold", [False, True])
def test_a_label_in_a_first_cell_is_no_argument_of_the_row_above(label: str, bold: bool):
    r"""``[base]`` after ``\midrule`` would be the width of the rule, and ``*`` after ``\\`` would vanish."""
    cells = [["system", "RR"], [label, "0.5"], [label, "0.25"], ["b", "-"]]
    latex = booktabs(cells, 1, np.array([[False, False], [bold, False], [False, False], [False, False]]))
    plain = booktabs([["system", "RR"], ["b", "1"], ["x" + label, "1"]], 1)
    escaped = rows_as_tex_reads_them(plain)[1][0].removeprefix("x").strip()
    first = rf"\textbf{{{label.translate(_LATEX)}}}" if bold else escaped
    assert rows_as_tex_reads_them(latex) == [[first, "0.5"], [escaped, "0.25"], ["b", "--"]]


def test_other_rows_are_as_they_were():
    """No group where none is needed; the header is a row like any other."""
    assert "{}" not in shown(TWO, "latex")
    assert "\\toprule\n{}[a] & [b] \\\\\n\\midrule\nc & [d] \\\\\n" in booktabs([["[a]", "[b]"], ["c", "[d]"]], 2)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4), st.integers(0, 1))
def test_a_table_shows_any_labels_on_a_line_each(labels: list[str], left: int):
    """Nothing in it moves the cursor or turns the direction of reading."""
    lines = aligned([["label"], *([label] for label in labels)], left).split("\n")
    assert len(lines) == len(labels) + 2
    for line, label in zip(lines[1:], labels, strict=False):
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", line)
        if label.isprintable():
            assert line.strip() == label.strip()
