"""Sparse against full scores as tables, figures and a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgtrec.data.table import Figure
from kgtrec.openworld.curve import CURVE_TABLES, OpenWorldCurve
from kgtrec.report.files import report_files
from kgtrec.report.show import shown


def curve(densities: tuple[float, ...], measures: tuple[str, ...] = ("micro.MRR",)) -> OpenWorldCurve:
    """Three systems, two draws at random and correlated by -0.1: at random 1/2 of the full score on average."""
    c, d, m = 2, len(densities), len(measures)
    full = np.tile([0.2, 0.6, 0.4], (m, 1))
    at_random = np.stack([full * 0.4, full * 0.6])
    sparse = np.broadcast_to(np.stack([at_random, at_random / 2])[:, None], (c, d, 2, m, 3)).copy()
    cell = np.zeros((c, d, 2))
    return OpenWorldCurve(
        ("a@1", "a@2", "b"),
        ("a", "a", "b"),
        np.array([1, 2, 0]),
        np.array([0.2, 0.6, 0.4]),
        measures,
        (0.0, -0.1),
        densities,
        "a@2",
        0,
        10,
        5,
        np.array([0, 2, 3]),
        full,
        sparse,
        np.full((c, d, m, 3), np.nan),
        cell,
        cell,
        np.zeros((c, d, 3)),
    )


def across(found: OpenWorldCurve) -> str:
    """The tables that are printed, which come behind those that hold all numbers."""
    return shown(found, "table", [table.key for table in found.tables()[len(CURVE_TABLES) :]])


def alone(found: OpenWorldCurve) -> OpenWorldCurve:
    """The first of the systems."""
    return replace(
        found,
        systems=found.systems[:1],
        families=found.families[:1],
        checkpoints=found.checkpoints[:1],
        strength=found.strength[:1],
        full=found.full[:, :1],
        sparse=found.sparse[..., :1],
        theory=found.theory[..., :1],
        own_correlation=found.own_correlation[..., :1],
    )


def test_each_measure_has_a_figure_with_both_ways_of_missing():
    """Points are means over draws."""
    figures = curve((0.5, 0.1), ("micro.MRR", "micro.pMRR(p=0.5)")).figures()
    assert [figure.key for figure in figures] == ["sparse-full-1-micro-mrr", "sparse-full-2-micro-pmrr-p-0-5"]
    rows = figures[0].data.to_pylist()
    assert len(rows) == 2 * 2 * 3
    first = ["missing at random", "a@1", "a", 0.1, 0.2, pytest.approx(0.1)]
    last = ["missing correlated by -0.1", "b", "b", 0.5, 0.4, pytest.approx(0.1)]
    assert list(rows[0]) == ["missing", "system", "family", "density", "full", "sparse"]
    assert [list(row.values()) for row in (rows[0], rows[-1])] == [first, last]


@pytest.mark.parametrize(
    ("densities", "drawn"),
    [
        ((0.3,), [0.3]),
        ((0.1, 0.9, 0.5), [0.1, 0.5, 0.9]),
        (tuple(n / 10 for n in range(1, 10)), [0.1, 0.3, 0.5, 0.7, 0.9]),
        (tuple(n / 20 for n in range(1, 21)), [0.05, 0.3, 0.55, 0.75, 1.0]),
    ],
)
def test_no_more_than_five_densities_are_drawn_from_the_lowest_to_the_highest(densities, drawn):
    (figure,) = curve(densities).figures()
    assert isinstance(figure, Figure)
    assert sorted(set(figure.data.column("density").to_pylist())) == drawn


def test_the_text_has_a_table_of_each_number_and_way_of_missing():
    """Sparse scores are half of the full ones at random, a quarter where correlated; orders stay; lines are exact."""
    found = curve((0.5, 0.1))
    tables = across(found).split("\n\n")
    # 2 questions of one answer and 3 of two: 8 answers, of lists of (2 * 1 + 6 * 2) / 8 on average
    assert found.summary() == (
        "10 true facts, 5 questions; 1.60 answers per question, 1.75 if averaged over answers; 3 systems that find "
        "20.0% to 60.0%; 2 sets of labels per density; seed 0"
    )
    assert [table.splitlines()[0] for table in tables] == [
        f"{title}, {told}"
        for told in ("missing at random", "missing correlated by -0.1 with the answers that a@2 finds")
        for title in (
            "wrongly ordered pairs",
            "slope of sparse against full",
            "slope of the weaker half of the systems minus slope of the stronger half",
            "AIC of a line minus AIC of a logarithm; above 0 the logarithm fits better",
        )
    ]
    rows = [[line.split() for line in table.splitlines()[1:]] for table in tables]
    assert {tuple(one[0]) for one in rows} == {("measure", "0.5", "0.1")}
    # an exact line has no AIC, and a half of three systems, which are two, no line
    numbers = [["0.0%"] * 2, ["0.500"] * 2, *[["-"] * 2] * 2, ["0.0%"] * 2, ["0.250"] * 2, *[["-"] * 2] * 2]
    assert [one[1][1:] for one in rows] == numbers


def test_the_share_of_wrong_pairs_is_the_mean_over_draws():
    """One of two draws turns all three pairs round."""
    found = curve((0.5,))
    sparse = found.sparse.copy()
    sparse[0, 0, 0] = 1 - sparse[0, 0, 0]
    found = replace(found, sparse=sparse)
    assert "missing at random\nmeasure      0.5\nmicro.MRR  50.0%\n" in across(found)


@pytest.mark.slow
def test_a_single_system_is_told_to_have_no_pairs():
    """In the text and on the page, which is there all the same; its table has its columns and no rows."""
    one = alone(curve((0.5, 0.1)))
    told = "There is only one system, so no pair can be in the wrong order."
    assert one.summary().endswith(f"; 1 system that finds 20.0%; 2 sets of labels per density; seed 0\n{told}")
    assert "wrongly ordered pairs" not in across(one)
    inconsistency = next(table for table in one.tables() if table.key == "inconsistency")
    assert inconsistency.data.num_rows == 0
    assert "wrong" in inconsistency.data.column_names
    found = one.report()
    assert told in report_files(found)["report.html"].decode()
    assert [table.key for table in found.tables] == ["degradation", "labels"]
    assert told not in report_files(curve((0.5, 0.1)).report())["report.html"].decode()


def test_the_page_has_the_numbers_of_each_way_of_missing_in_tables():
    """Every pair, within the family and across, at each density; degradation at each density."""
    tables = {table.key: table for table in curve((0.5, 0.1)).report().tables}
    assert list(tables) == ["degradation", "inconsistency", "labels"]
    assert tables["inconsistency"].data.num_rows == 2 * 2 * 3
    slopes = [row["slope"] for row in tables["degradation"].data.to_pylist() if row["correlation"] == -0.1]
    assert slopes == pytest.approx([0.25, 0.25])
