"""Results that draw themselves with matplotlib."""

from __future__ import annotations

import ast
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes

import kgtrec
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.table import PlottedResult
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.ties import TieComparison, compare_ties
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.meta.correlation import correlate
from kgtrec.meta.power import POWER_TESTS, power
from kgtrec.meta.stability import stability
from kgtrec.report import figures

PACKAGE = Path(kgtrec.__file__).parent
CITIES = PACKAGE.parent / "examples" / "cities"
MEASURES = ("micro.MRR", "micro.MR", "macro.MRR", "AP@20")


@pytest.fixture(autouse=True)
def pyplot(monkeypatch: pytest.MonkeyPatch):
    """Without a screen; figures are closed at the end."""
    monkeypatch.setattr("matplotlib.rcParams", mpl.rcParams)
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def cities() -> Collection:
    return kgtrec.build_questions(
        *(kgtrec.read_triples(CITIES / f"{split}.tsv") for split in ("train", "valid", "test"))
    )


@pytest.fixture(scope="module")
def systems(cities: Collection) -> list[AnswerRanks]:
    """Of whole scores, so that there are ties."""
    rng, shape = np.random.default_rng(5), (len(cities.questions), len(cities.entities))
    return [
        kgtrec.rank_scores(
            cities, rng.integers(0, levels, shape).astype(np.float64), questions=cities, entities=cities, name=name
        ).answer_ranks
        for name, levels in (("three", 3), ("five", 5), ("many", 1000))
    ]


def dots(ax: Axes) -> dict[str, float]:
    """The place of each system's dot on axes with a row per system."""
    (line,) = (line for line in ax.lines if line.get_marker() == "o")
    rows = [label.get_text() for label in ax.get_yticklabels()]
    return dict(zip((rows[int(y)] for y in line.get_ydata()), line.get_xdata(), strict=True))


@pytest.mark.slow
def test_every_result_that_has_figures_can_be_plotted():
    """Whoever gives figures gives `plot`; reports hold figures, and are drawn one by one."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(getattr(one, "name", "") == "figures" for one in node.body):
                found[node.name] = [ast.unparse(base) for base in node.bases]
    assert {"Scores", "Power", "Stability", "Correlations", "TieComparison", "OpenWorldCurve"} <= set(found)
    assert {name for name, bases in found.items() if "PlottedResult" not in bases} == {"PlottedResult", "Report"}


def test_scores_are_dots_with_a_panel_per_measure(cities: Collection, systems: list[AnswerRanks]):
    """The place of each is its value, on axes that say so."""
    scores = kgtrec.evaluate(cities, systems, MEASURES)
    axes = scores.plot()
    assert isinstance(axes, np.ndarray)
    assert [ax.get_xlabel() for ax in axes] == list(MEASURES)
    for ax, measure in zip(axes, MEASURES, strict=True):
        assert dots(ax) == {name: pytest.approx(scores.value(name, measure)) for name in scores.systems}


def test_given_axes_are_drawn_on_and_returned(cities: Collection, systems: list[AnswerRanks], pyplot):
    """Beside whatever else the figure has; one panel of it."""
    scores = kgtrec.evaluate(cities, systems, MEASURES)
    drawing, (left, right) = pyplot.subplots(1, 2)
    assert scores.plot(left, panel=2) is left
    assert scores.plot(panel=2).get_xlabel() == left.get_xlabel() == "macro.MRR"
    assert dots(left) == {name: pytest.approx(scores.value(name, "macro.MRR")) for name in scores.systems}
    assert (drawing.axes, len(right.lines)) == ([left, right], 0)
    with pytest.raises(
        KgtrecError, match="expected one panel to draw on axes, found several; give panel= one of 0: mi"
    ):
        scores.plot(right)
    with pytest.raises(KgtrecError, match=r"expected a panel among 0: micro.MRR; .*, found 4"):
        scores.plot(panel=4)
    with pytest.raises(KgtrecError, match="expected a figure among 0: Scores, found 1"):
        scores.plot(figure=1)


def test_the_users_style_is_left_alone(cities: Collection, systems: list[AnswerRanks]):
    """Whatever it was before."""
    mpl.rcParams["font.size"] = 23.0
    try:
        before = dict(mpl.rcParams)
        kgtrec.evaluate(cities, systems, "RR").plot()
        assert {name: value for name, value in mpl.rcParams.items() if name != "backend"} == {
            name: value for name, value in before.items() if name != "backend"
        }
    finally:
        mpl.rcdefaults()


def test_breakdowns_are_heat_maps_or_refused(cities: Collection, systems: list[AnswerRanks]):
    """A figure per measure, entitled with it; a column per part."""
    by_side = kgtrec.evaluate(cities, systems, MEASURES, per="side")
    assert [figure.title for figure in by_side.figures()] == [f"{measure} by side" for measure in MEASURES]
    ax = by_side.plot(figure=1)
    assert ax.get_title("left") == "micro.MR by side"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["head", "tail"]
    shown = [text.get_text() for text in ax.texts]
    assert shown == [f"{value:.2f}" for value in by_side.values[:, 1].ravel()]
    many = kgtrec.Scores(("a",), ("RR",), np.zeros((1, 1, 41)), {"question": pa.array(map(str, range(41)))})
    with pytest.raises(KgtrecError, match=r"of at most 40 parts to draw, found 41 per question; use to_frame\(\)"):
        many.plot()


def test_ties_power_and_stability_draw_their_tables(cities: Collection, systems: list[AnswerRanks]):
    """The data of the figures are the numbers of the results."""
    ties = compare_ties(cities, systems, ["AP"])
    drawn = ties.figures()[0].data.to_pylist()
    assert isinstance(ties, TieComparison)
    assert all(row["value"] == ties.value(row["system"], "AP", row["policy"]) for row in drawn)
    assert len(drawn) == ties.values.size
    tested = power(cities, systems, ["micro.MRR", "macro.MRR"], tests=POWER_TESTS, repeats=50)
    assert [figure.key for figure in tested.figures()] == [
        f"p-values-{test}" for test in ("clustered", "t", "bootstrap", "tukey", "sign")
    ]
    left, right = tested.plot(figure=1)
    for ax, measure in ((left, "micro.MRR"), (right, "macro.MRR")):
        line = next(line for line in ax.lines if line.get_label() == measure)
        np.testing.assert_array_equal(line.get_ydata(), tested.curve(measure, "t"))
    found = stability(cities, systems, ["macro.MRR"], sizes=(0.25, 0.5, 1.0), repeats=4, confidence=0.9)
    ax = found.plot()
    assert ax.get_title("left") == "macro measures"
    np.testing.assert_array_equal(next(iter(ax.lines)).get_ydata(), found.mean[0])
    assert "Bars: the middle 90% of the repeats" in found.figures()[0].caption


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_two_label_sets_are_a_dot_per_measure(cities: Collection, systems: list[AnswerRanks], confidence: float | None):
    """A figure per coefficient, with ranges if they are known."""
    labels = kgtrec.Qrels.from_frame(cities.qrels.to_frame().iloc[::2])
    found = correlate(cities.qrels, labels, systems, ["AP", "RR"], confidence=confidence, resamples=20)
    several = found.figures()
    assert [figure.title for figure in several] == [
        f"{figures.CORRELATIONS[name]} of 3 systems" for name in COEFFICIENTS
    ]
    for place, figure in enumerate(several):
        assert figure.kind == "score_intervals"
        by_measure = {row["system"]: row for row in figure.data.to_pylist()}
        assert {name: row["value"] for name, row in by_measure.items()} == {
            name: pytest.approx(found.of(COEFFICIENTS[place], measure=name), nan_ok=True) for name in ("AP", "RR")
        }
        assert ("low" in figure.data.column_names) == (confidence is not None)
        assert isinstance(figure.plot(), Axes)


def test_a_result_without_figures_has_no_plot():
    """The base class says what is missing; nothing is drawn in silence."""
    with pytest.raises(NotImplementedError):
        PlottedResult().plot()
