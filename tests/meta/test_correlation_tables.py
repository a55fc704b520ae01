from __future__ import annotations

import json

import numpy as np

from kgtrec.meta.correlation import Correlations, Swaps
from kgtrec.report.show import shown

ROWS = {"first": ("O", "O"), "second": ("S", "S"), "measure": ("micro.MR", "RR")}
FOUND = Correlations(
    ROWS,
    ("tau", "rbo"),
    np.array([[-0.23077, 0.5], [np.nan, np.nan]]),
    ("a", "b", "c"),
    (),
    0.9,
    np.array([[-0.5, 0.25], [np.nan, np.nan]]),
    np.array([[-0.00001, 0.75], [np.nan, np.nan]]),
)


def test_intervals_stand_behind_values_and_the_undefined_is_a_dash():
    """Four decimals; no sign on zero."""
    assert shown(FOUND, "table") == (
        "first: O; second: S; 3 systems; 90% ranges over resampled questions\n"
        "\n"
        "measure                         tau                      rbo\n"
        "micro.MR  -0.2308 [-0.5000, 0.0000]  0.5000 [0.2500, 0.7500]\n"
        "RR                                -                        -\n"
    )


def test_the_undefined_is_an_empty_cell_or_null():
    """In CSV and JSON, which hold every digit."""
    lines = shown(FOUND, "csv").splitlines()
    assert lines[0] == "first,second,measure,coefficient,value,low,high,systems"
    assert lines[1] == "O,S,micro.MR,tau,-0.23077,-0.5,-1e-05,3"
    assert lines[3] == "O,S,RR,tau,,,,3"
    records = json.loads(shown(FOUND, "json"))
    assert [record["value"] for record in records] == [-0.23077, 0.5, None, None]


def test_latex_escapes_labels():
    """A key's label with an underscore or an ampersand."""
    found = Correlations(
        {"labels": ("O",), "first": ("RR",), "second": ("AP",), "side": ("a_&b",)},
        ("tau_ap", "tau"),
        np.array([[0.5, 1.0]]),
        ("x", "y"),
    )
    assert r"RR & AP & a\_\&b & 0.5000 & 1.0000 \\" in shown(found, "latex")
    assert r"tau\_ap" in shown(found, "latex")


def test_several_keys_or_coefficients_stay_in_rows():
    """Only a single key and a single coefficient are turned across."""
    rows = {"first": ("O",) * 2, "second": ("S",) * 2, "measure": ("RR",) * 2, "side": ("h", "t")}
    two = Correlations(rows, ("tau", "rbo"), np.array([[1.0, 1.0], [0.5, 0.25]]), ("x", "y"))
    assert shown(two, "table").splitlines()[2].split() == ["measure", "side", "tau", "rbo"]
    one = Correlations(rows, ("tau",), np.array([[1.0], [0.5]]), ("x", "y"))
    assert [line.split() for line in shown(one, "table").splitlines()[2:]] == [
        ["measure", "/", "side", "h", "t"],
        ["RR", "1.0000", "0.5000"],
    ]


def test_no_swaps_are_told_as_a_count():
    """And a measure that kgtrec does not know has four decimals."""
    nothing = np.empty(0)
    none = Swaps({"measure": ()}, (), (), nothing, nothing, nothing, nothing, {"RR": 3}, names=("O", "S"))
    assert shown(none, "table") == (
        "pairs of systems in opposite order under O (first) and S (second)\n"
        "\n"
        "measure  swapped  pairs\n"
        "RR             0      3\n"
    )
    unknown = np.array([np.nan])
    some = Swaps({"measure": ("seconds",)}, ("a",), ("b",), np.array([-0.5]), np.array([0.25]), unknown, unknown, {})
    assert "seconds  a       b      -0.5000  0.2500" in shown(some, "table")


def test_a_p_value_is_never_shown_as_zero():
    """Four decimals, or less than the least of them."""
    p = np.array([1e-9]), np.array([0.0123])
    found = Swaps({"measure": ("RR",)}, ("a",), ("b",), np.array([0.5]), np.array([-0.25]), *p, {"RR": 1})
    cells = shown(found, "table").splitlines()[3].split()
    assert cells == ["RR", "a", "b", "0.5000", "-0.2500", "<0.0001", "0.0123", "both"]
