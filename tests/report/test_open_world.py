"""The page of sparse against full scores."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.data.open_world_curve import OpenWorldCurve
from kgtrec.data.report import Figure
from kgtrec.report.open_world import curve_report


def curve(densities: tuple[float, ...], measures: tuple[str, ...] = ("micro.MRR",)) -> OpenWorldCurve:
    """Three systems, two draws at random and correlated by -0.1: at random 1/2 of the full score on average."""
    c, d, m = 2, len(densities), len(measures)
    full = np.tile([0.2, 0.6, 0.4], (m, 1))
    at_random = np.stack([full * 0.4, full * 0.6])
    sparse = np.broadcast_to(np.stack([at_random, at_random / 2])[:, None], (c, d, 2, m, 3)).copy()
    cell = np.zeros((c, d, 2))
    return OpenWorldCurve(
        ("a@1", "a@2", "b"), ("a", "a", "b"), np.array([1, 2, 0]), np.array([0.2, 0.6, 0.4]), measures, (0.0, -0.1),
        densities, "a@2", 0, 10, 5, np.array([0, 2, 3]), full, sparse, np.full((c, d, m, 3), np.nan), cell, cell,
        np.zeros((c, d, 3)),
    )  # fmt: skip


def test_each_measure_has_a_figure_with_both_ways_of_missing():
    """Points are means over draws."""
    found = curve_report(curve((0.5, 0.1), ("micro.MRR", "micro.pMRR(p=0.5)")))
    figures = list(found.figures)
    assert [figure.key for figure in figures] == ["sparse-full-1-micro-mrr", "sparse-full-2-micro-pmrr-p-0-5"]
    rows = figures[0].data.to_pylist()
    assert len(rows) == 2 * 2 * 3
    assert rows[0] == {"missing": "missing at random", "system": "a@1", "family": "a", "density": 0.1, "full": 0.2,
                       "sparse": pytest.approx(0.1)}  # fmt: skip
    assert rows[-1] == {"missing": "missing correlated by -0.1", "system": "b", "family": "b", "density": 0.5,
                        "full": 0.4, "sparse": pytest.approx(0.1)}  # fmt: skip


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
    (figure,) = curve_report(curve(densities)).figures
    assert isinstance(figure, Figure)
    assert sorted(set(figure.data.column("density").to_pylist())) == drawn
