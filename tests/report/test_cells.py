from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.table import Column, Table
from kgtrec.report.cells import count_text, difference_text, label_text, letters_of, number_text, table_cells


def test_numbers_have_a_real_minus_and_no_sign_on_zero():
    """U+2212 below zero; what rounds to zero is plain; the undefined a dash."""
    values = (-1.234, -0.001, 1234.5, math.nan, math.inf, -math.inf)
    assert [number_text(value, 2, typeset=True) for value in values] == [
        "\N{MINUS SIGN}1.23",
        "0.00",
        "1,234.50",
        "-",
        "∞",
        "\N{MINUS SIGN}∞",
    ]
    assert [count_text(count) for count in (0, 20466, -3, math.nan)] == ["0", "20,466", "-3", "-"]


def test_a_number_of_numpy_and_one_of_python_are_rounded_alike():
    """The float 0.43125 is a little above a half of the fourth decimal; numpy's round takes it for a half, to even."""
    for number in (0.43125, np.float64(0.43125)):
        shown = (*(number_text(number, typeset=typeset) for typeset in (False, True)), difference_text(number))
        assert shown == ("0.4313", "0.4313", "0.4313")


@given(st.text())
def test_labels_stay_on_one_line_and_fit_into_xml(label: str):
    """Whatever a label holds, what is shown is legal in XML and has no line break."""
    from xml.etree import ElementTree as ET

    shown = label_text(label)
    assert "\n" not in shown
    node = ET.Element("text")
    node.text = shown
    assert (ET.fromstring(ET.tostring(node)).text or "") == shown  # noqa: S314


def test_a_label_cannot_turn_the_text_around_it():
    """Marks that override direction, which could make a name read otherwise, are replaced."""
    assert label_text("abc\u202etxt") == "abc\ufffdtxt"
    assert label_text("مرحبا") == "مرحبا"


def test_best_interval_letters_and_undefined():
    """A cell holds the number, what to sort by, the interval, the letters, and whether it is best."""
    data = pa.table(
        {"s": ["a", "b"], "RR": [0.25, math.nan], "low": [0.2, math.nan], "high": [0.3, math.nan], "g": ["a", ""]}
    )
    table = Table("t", "T", "", data, (Column("s"), Column("RR", better="higher", low="low", high="high", groups="g")))
    first, second = (row[1] for row in table_cells(table))
    assert (first.text, first.key, first.interval, first.groups, first.is_best) == (
        "0.2500",
        "0.25",
        "[0.2000, 0.3000]",
        "a",
        True,
    )
    assert (second.text, second.key, second.interval, second.is_best) == ("-", "", "", False)


def test_a_single_system_is_not_best():
    """There is nobody to be better than."""
    table = Table("t", "T", "", pa.table({"RR": [0.5]}), (Column("RR", better="higher"),))
    assert not table_cells(table)[0][0].is_best


def test_nulls_infinities_and_counts():
    """A null is undefined, infinity sorts as JavaScript reads it, a count has no decimals."""
    data = pa.table({"n": pa.array([1234, None], pa.int64()), "x": [math.inf, -math.inf], "s": ["a", None]})
    cells = table_cells(Table("t", "T", "", data))
    assert [[cell.text for cell in row] for row in cells] == [["1,234", "∞", "a"], ["-", "\N{MINUS SIGN}∞", ""]]
    assert [row[1].key for row in cells] == ["Infinity", "-Infinity"]


def test_letters_go_on_after_z():
    """52 letters, then numbers in brackets, so that no two groups have one name."""
    letters = letters_of(np.eye(54, dtype=np.bool_))
    assert letters[0] == "a"
    assert letters[26] == "A"
    assert letters[52] == "(53)"
    assert len(set(letters)) == 54
