"""Scores as tables of a paper: intervals apart from the values, and letters of significance."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from kgtrec import evaluate
from kgtrec.errors import KgtrecError
from kgtrec.meta import power

QRELS = {f"q{number}": {"a": 1} for number in range(40)}
RUNS = {
    name: {f"q{number}": {"a": 0.5, **{f"x{place}": 1.0 for place in range(number % most)}} for number in range(40)}
    for name, most in (("good", 2), ("middle", 5), ("bad", 9), ("worst", 10))
}
MEASURES = "RR macro.MR"


@pytest.fixture(scope="module")
def tests():
    return power(QRELS, RUNS, MEASURES)


def test_each_value_has_the_letters_of_the_systems_that_it_is_significantly_better_than(tests):
    """By Holm's p-values of all pairs, also where lower is better; in the order of the rows."""
    scores = evaluate(QRELS, RUNS, MEASURES).sorted_by("macro.MR")
    rows = {row.split(" & ")[0]: row for row in scores.to_latex(letters=tests).splitlines()}
    significant = {
        (row["measure"], row["better"], row["first"] if row["second"] == row["better"] else row["second"])
        for row in tests.to_table().to_pylist()
        if row["test"] == "clustered" and row["p_adjusted"] < 0.05
    }
    letter = dict(zip(scores.systems, "abcd", strict=True))
    for measure, place in (("RR", 1), ("macro.MR", 2)):
        for system, own in letter.items():
            raised = re.search(r"superscript{(\w+)}", rows[f"({own}) {system}"].split(" & ")[place])
            expected = {letter[other] for name, winner, other in significant if (name, winner) == (measure, system)}
            assert set(raised[1] if raised else "") == expected
    assert len({measure for measure, *_ in significant}) == 2
    assert 0 < len(significant) < 12


def test_letters_are_those_of_the_shown_systems_and_measures(tests):
    """A subset of what was tested; a measure without tests has none."""
    two = {name: RUNS[name] for name in ("bad", "good")}
    shown = evaluate(QRELS, two, "macro.MR AP@20").to_markdown(letters=tests)
    assert re.search(r"\(b\) good \| \*\*\S+ a\*\* \| \*\*[\d.]+\*\* \|", shown)
    assert "letters of macro.MR: better" in shown
    with pytest.raises(KgtrecError, match="power"):
        evaluate(QRELS, two, "RR").to_latex(letters=True)
    with pytest.raises(KgtrecError, match="tests of AP@20"):
        evaluate(QRELS, two, "AP@20").to_latex(letters=tests)
    with pytest.raises(KgtrecError, match="tested"):
        evaluate(QRELS, {"other": RUNS["bad"]}, "RR").to_latex(letters=tests)
    with pytest.raises(KgtrecError, match="totals"):
        evaluate(QRELS, RUNS, "RR", per="question").to_latex(letters=tests)


GOOD = r"good & \textbf{1.00} & \textbf{0.5000} \\"
BAD = r"bad & 3.00 & 0.2500 \\"


@pytest.mark.parametrize(
    ("intervals", "lines"),
    [
        ("beside", [r"good & \textbf{1.00 [1.00, 2.00]} & \textbf{0.5000 [0.4000, 0.6000]} \\", BAD]),
        ("none", [GOOD, BAD]),
        ("row", [GOOD, r" & [1.00, 2.00] & [0.4000, 0.6000] \\", BAD]),
        (
            "column",
            [
                r"good & \textbf{1.00} & [1.00, 2.00] & \textbf{0.5000} & [0.4000, 0.6000] \\",
                r"bad & 3.00 &  & 0.2500 &  \\",
            ],
        ),
    ],
)
def test_intervals_stand_where_they_are_wanted(intervals, lines):
    """Apart from the values they are not in bold; a system without any has no row of them."""
    scores = evaluate(QRELS, {"good": RUNS["good"], "bad": RUNS["bad"]}, "macro.MR AP@20")
    ends = np.array([[[1.0], [0.4]], [[np.nan], [np.nan]]]), np.array([[[2.0], [0.6]], [[np.nan], [np.nan]]])
    values = np.array([[[1.0], [0.5]], [[3.0], [0.25]]])
    shown = replace(scores, values=values, low=ends[0], high=ends[1], drawn="question").to_latex(intervals=intervals)
    assert shown.split("\\midrule\n")[1].split("\n\\bottomrule")[0].splitlines() == lines
    with pytest.raises(KgtrecError, match="intervals"):
        scores.to_latex(intervals="above")
