from __future__ import annotations

import hashlib
import math
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure as Grid

from kgtrec.report import figures
from kgtrec.report.cells import label_text
from kgtrec.report.drawing import draw, pdf, png, svg
from kgtrec.report.figures import KINDS, gist, panels
from tests.report import sample
from tests.report.sample import HOSTILE, all_figures, sparse_against_full

FIGURES = all_figures()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [("tau_by_depth", "depth", "tau"), ("stability", "share", "mean"), ("p_value_curves", "place", "p")],
)
def test_lines_are_the_data(kind: str, x: str, y: str):
    """Every line's points are its measure's rows, undefined ones as gaps."""
    figure = FIGURES[kind]
    for axes, panel in zip(draw(figure).axes, panels(figure), strict=False):
        lines = {line.get_label(): line for line in axes.lines if not str(line.get_label()).startswith("_")}
        assert list(lines) == [label_text(measure)[:26] for measure in dict.fromkeys(panel.rows["measure"])]
        for measure, line in zip(dict.fromkeys(panel.rows["measure"]), lines.values(), strict=True):
            rows = [
                row
                for row in zip(panel.rows["measure"], panel.rows[x], panel.rows[y], strict=True)
                if row[0] == measure
            ]
            assert np.array_equal(line.get_xydata(), [row[1:] for row in rows], equal_nan=True)


@pytest.mark.parametrize(("kind", "low", "high"), [("tau_by_depth", "low", "high"), ("stability", "low", "high")])
def test_bars_of_lines_are_the_data(kind: str, low: str, high: str):
    """Bars for each line, from low to high of every point that has both."""
    figure = FIGURES[kind]
    for axes, panel in zip(draw(figure).axes, panels(figure), strict=False):
        measures = list(dict.fromkeys(panel.rows["measure"]))
        for measure, bars in zip(measures, axes.collections, strict=True):
            drawn = [segment[:, 1].tolist() for segment in bars.get_segments() if len(segment)]
            rows = zip(panel.rows["measure"], panel.rows[low], panel.rows[high], strict=True)
            assert drawn == [ends for label, *ends in rows if label == measure and ends[0] == ends[0]]


def test_bars_of_several_lines_stand_beside_one_another():
    """So that one can tell whose they are: those of one size do not reach those of the next, however near it is."""
    names, shares = ("RR", "AP", "nDCG"), (0.01, 0.05, 0.5)
    n = len(names) * len(shares)
    rows = {"measure": [name for name in names for _ in shares], "share": list(shares) * len(names)}
    (axes,) = draw(figures.stability(pa.table({**rows, "mean": [0.5] * n, "low": [0.25] * n, "high": [0.75] * n}))).axes
    data = axes.transData.inverted()
    places = np.array(
        [
            [(bars.get_transform() + data).transform(segment)[0, 0] for segment in bars.get_segments()]
            for bars in axes.collections
        ]
    )
    assert np.all(np.diff(places, axis=0) > 0.005)
    assert np.all(np.diff(places.T.ravel()) > 0.005)


def slopes(*values: tuple[float, float], better: str = "RR") -> Any:
    """The axes of a slope chart of systems a, b, ... under two label sets."""
    rows = [
        {"system": "abcdefgh"[place], "labels": labels, "value": float(pair[n])}
        for n, labels in enumerate("KT")
        for place, pair in enumerate(values)
    ]
    (axes,) = draw(figures.slope_chart(pa.Table.from_pylist(rows), measure=better)).axes
    return axes


def test_a_slope_chart_has_a_line_per_system():
    """Its score under each label set, told at both ends beside its name."""
    axes = slopes((0.25, 0.5), (0.75, 1.0))
    lines = {line.get_label(): line.get_ydata().tolist() for line in axes.lines if line.get_label()[0] != "_"}
    assert lines == {"a": [0.25, 0.5], "b": [0.75, 1.0]}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["K", "T"]
    assert {text.get_text() for text in axes.texts} == {"a  0.2500", "b  0.7500", "0.5000  a", "1.0000  b"}


def test_lines_that_cross_are_thick_and_each_has_its_own_dash_and_mark():
    """So that print without colour shows the changes of order; the others are thin and grey."""
    axes = slopes((0.3, 0.4), (0.4, 0.3), (0.9, 0.9))
    looks = {line.get_label(): line for line in axes.lines if line.get_label()[0] != "_"}
    assert looks["a"].get_linewidth() == looks["b"].get_linewidth() > 1.5 * looks["c"].get_linewidth()
    assert looks["a"].get_linestyle() != looks["b"].get_linestyle()
    assert looks["a"].get_marker() != looks["b"].get_marker()


def test_the_best_stands_on_top_where_lower_is_better():
    assert slopes((3, 4), (1, 2), better="micro.MR").yaxis_inverted()


@pytest.mark.parametrize("better", ["RR", "micro.MR"])
def test_names_of_a_slope_chart_do_not_cover_one_another(better: str):
    """Seven of eight systems have one score."""
    axes = slopes(*[(0.5, 0.5)] * 7, (0.9, 0.1), better=better)
    bottom, top = sorted(axes.get_ylim())
    for side in (0, 1):
        heights = sorted(text.xy[1] for text in axes.texts if (text.xy[0] > 0.5) == side)
        assert len(heights) == 8
        assert min(np.diff(heights)) >= 0.05 * (top - bottom)
        assert bottom <= heights[0] <= heights[-1] <= top


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_for_a_paper_has_its_width_and_small_text(kind: str):
    """3.3 inches, one panel below the other, text of 7 to 8 pt; two panels side by side where they fit."""
    root = ET.fromstring(svg(FIGURES[kind], width=3.3))  # noqa: S314
    assert root.get("width") == "237.6pt"
    sizes = {float(node.get("font-size")) for node in root.iter() if node.get("font-size")}
    assert 7 <= min(sizes) <= max(sizes) <= 8
    wide = ET.fromstring(svg(FIGURES[kind], width=7))  # noqa: S314
    assert wide.get("width") == "504pt"
    if len(panels(FIGURES[kind])) == 2:
        assert float(wide.get("height").removesuffix("pt")) < 0.6 * float(root.get("height").removesuffix("pt"))


def test_the_last_of_three_panels_has_a_row_for_itself():
    """No panel is empty."""
    figure = FIGURES["p_value_curves"]
    assert len(panels(figure)) == 3
    widths = [axes.get_position().width for axes in draw(figure).axes]
    assert widths[2] > 1.8 * widths[0]


def test_dots_and_bars_are_the_data():
    """Each dot at its value in the order of the rows, each bar from low to high."""
    figure = FIGURES["score_intervals"]
    for axes, panel in zip(draw(figure).axes, panels(figure), strict=True):
        dots = axes.lines[0]
        assert np.array_equal(dots.get_xdata(), panel.rows["value"], equal_nan=True)
        assert [tick.get_text() for tick in axes.get_yticklabels()] == list(map(label_text, panel.rows["system"]))
        bars = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments() if len(segment)]
        ends = zip(panel.rows["low"], panel.rows["high"], strict=True)
        assert bars == [[low, high] for low, high in ends if low == low]


def test_ties_are_the_data():
    """A range per system, from its lowest to its highest policy, and a mark at each end."""
    figure = FIGURES["tie_report"]
    systems = list(dict.fromkeys(figure.data["system"].to_pylist()))
    for axes, panel in zip(draw(figure).axes, panels(figure), strict=True):
        values: dict[str, list[float]] = {}
        for system, value in zip(panel.rows["system"], panel.rows["value"], strict=True):
            if value == value:
                values.setdefault(system, []).append(value)
        ranges = {
            systems[int(ends[0, 1])]: ends[:, 0].tolist() for ends in axes.collections[0].get_segments() if len(ends)
        }
        assert ranges == {system: [min(own), max(own)] for system, own in values.items()}
        assert [line.get_xdata().tolist() for line in axes.lines] == [
            list(ends) for ends in zip(*ranges.values(), strict=True)
        ]


def test_a_system_without_an_interval_has_an_open_dot_and_is_called_so():
    """A full dot without a bar would look like one without an error; the caption explains the open one."""
    rows = {"system": ["a", "b", "c"], "measure": ["RR"] * 3, "value": [0.5, 0.4, math.nan]}
    some = figures.score_intervals(
        pa.table({**rows, "low": [0.4, math.nan, math.nan], "high": [0.6, math.nan, math.nan]})
    )
    (axes,) = draw(some).axes
    assert [(line.get_fillstyle(), line.get_xdata().tolist()[0]) for line in axes.lines] == [
        ("full", 0.5),
        ("none", 0.4),
    ]
    assert [(text.get_text(), text.xy) for text in axes.texts] == [("no interval", (0.4, 1))]
    assert some.caption.endswith("Bar: 95% interval. Open dot: no interval.")
    none = figures.score_intervals(pa.table(rows))
    (axes,) = draw(none).axes
    assert [line.get_fillstyle() for line in axes.lines if not np.isnan(line.get_xdata()).all()] == ["none"]
    assert (none.caption.endswith("Open dot: no interval."), len(axes.texts)) == (True, 0)


@pytest.mark.parametrize(("low", "bottom"), [(0.85, 0.0), (0.0, 0.0), (-0.1, -1.0)])
def test_axes_of_a_correlation_go_from_0_or_from_minus_1_to_1(low: float, bottom: float):
    """Whatever the values are, so that a small difference does not look large; ends of ranges count."""
    rows = {"measure": ["RR"] * 2, "depth": [0, 1], "tau": [0.95, 0.9], "low": [0.9, low], "high": [1.0, 0.95]}
    (axes,) = draw(figures.tau_by_depth(pa.table(rows))).axes
    space = 0.04 * (1 - bottom)
    assert axes.get_ylim() == (pytest.approx(bottom - space), pytest.approx(1 + space))


def test_cells_show_the_data():
    """The numbers in the cells are the values, row by row; the undefined is a dash."""
    figure = FIGURES["heat_map"]
    for axes, panel in zip(draw(figure).axes, panels(figure), strict=True):
        shown = [text.get_text() for text in axes.texts]
        assert shown == ["-" if value != value else f"{value:.2f}" for value in panel.rows["value"]]


def test_pool_bars_are_the_data():
    """Heights are counts."""
    whole, added = draw(FIGURES["pool_growth"]).axes
    assert [bar.get_height() for bar in whole.patches] == [1000, 1900, 2700, 200, 300, 350]
    assert [bar.get_height() for bar in added.patches] == [200, 100, 50]


CURVES = {
    "missing": ["at random"] * 4 + ["correlated"] * 2,
    "density": [0.1, 0.1, 0.1, 0.9, 0.1, 0.9],
    "system": ["a@1", "b@1", "a@2", "a@1", "a@1", "a@1"],
    "family": ["a", "b", "a", "a", "a", "a"],
    "full": [0.3, 0.1, 0.2, 0.3, 0.3, 0.3],
    "sparse": [0.25, 0.05, 0.15, 0.3, 0.02, 0.2],
}


def test_a_line_joins_the_systems_of_one_family_at_one_density():
    """The highest density first; families have a mark each; both panels have the same axes and each its own rows."""
    axes = draw(sparse_against_full(pa.table(CURVES))).axes
    drawn = [[line.get_xydata().tolist() for line in ax.lines if line.get_linestyle() != "None"] for ax in axes]
    assert drawn[0][1:4] == [[[0.3, 0.3]], [[0.2, 0.15], [0.3, 0.25]], [[0.1, 0.05]]]
    assert drawn[1][1:3] == [[[0.3, 0.2]], [[0.3, 0.02]]]
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert [text.get_text() for text in axes[0].texts] == ["10% labelled", "90% labelled"]
    points = {tuple(xy): line.get_marker() for line in axes[0].lines[1:4] for xy in line.get_xydata().tolist()}
    assert points[0.1, 0.05] != points[0.2, 0.15] == points[0.3, 0.25] == points[0.3, 0.3]


def test_a_point_without_a_finite_score_is_left_out_of_its_line():
    """And the line goes on."""
    system = ["a@1", "a@3", "a@2", "a@1", "a@1", "a@1"]
    rows = {**CURVES, "system": system, "family": ["a"] * 6, "sparse": [0.25, 0.05, math.nan, math.inf, 0.02, 0.2]}
    axes = draw(sparse_against_full(pa.table(rows))).axes
    lines = [line.get_xydata().tolist() for line in axes[0].lines if line.get_linestyle() != "None"]
    assert [[0.1, 0.05], [0.3, 0.25]] in lines
    assert [text.get_text() for text in axes[0].texts] == ["10% labelled"]


def test_no_line_joins_systems_of_different_families():
    """Families of one system each: points only, with a colour and a marker for each density, and no legend."""
    system = ["a", "b", "c"] * 2
    rows = {"missing": ["at random"] * 6, "density": [0.1] * 3 + [0.5] * 3, "system": system, "family": system}
    rows |= {"full": [0.1, 0.2, 0.3] * 2, "sparse": [0.05, 0.02, 0.1, 0.1, 0.15, 0.2]}
    (axes,) = draw(sparse_against_full(pa.table(rows))).axes
    points = axes.lines[1:7]
    assert {line.get_linestyle() for line in points} == {"None"}
    assert [line.get_marker() for line in points] == ["o"] * 3 + ["s"] * 3
    assert axes.get_legend() is None


def test_more_families_than_marks_are_not_told_apart():
    """One mark for all and no legend, rather than two families that look alike."""
    n = 20
    names = [f"s{k}" for k in range(n)]
    rows = {
        "missing": ["at random"] * 2 * n,
        "density": [0.5] * 2 * n,
        "system": [f"{name}@{part}" for name in names for part in range(2)],
        "family": [name for name in names for _ in range(2)],
        "full": [0.1 * k for k in range(2 * n)],
        "sparse": [0.1] * 2 * n,
    }
    (axes,) = draw(sparse_against_full(pa.table(rows))).axes
    assert axes.get_legend() is None
    assert len({line.get_marker() for line in axes.lines[1 : n + 1]}) == 1


def test_seven_densities_have_a_colour_and_a_name_each():
    """The name stands at the end of its line, so that nobody has to distinguish colours or dashes."""
    density = [0.1 * n for n in range(1, 8)]
    rows = {
        "missing": ["at random"] * 14,
        "density": density * 2,
        "system": ["a@1"] * 7 + ["a@2"] * 7,
        "family": ["a"] * 14,
        "full": [0.1] * 7 + [0.9] * 7,
        "sparse": [0.1] * 7 + density,
    }
    (axes,) = draw(sparse_against_full(pa.table(rows))).axes
    lines = [line for line in axes.lines[1:] if len(line.get_xydata()) == 2]
    assert len({line.get_color() for line in lines[:7]}) == 7
    assert len({text.get_text() for text in axes.texts}) == 7


def test_a_line_that_rises_and_one_that_falls_look_different_in_grey():
    """By dash and marker; what no line crosses is thin, and a line that ends at its place is black."""
    values = {"up": [0.1, 0.3], "down": [0.2, 0.15], "top": [0.9, 0.8]}
    rows = {
        "system": [name for name in values for _ in range(2)],
        "labels": ["K", "T"] * 3,
        "value": [value for own in values.values() for value in own],
    }
    (axes,) = draw(figures.slope_chart(pa.table(rows), measure="micro.MRR")).axes
    looks = {line.get_label(): (line.get_linestyle(), line.get_marker()) for line in axes.lines[:3]}
    assert (looks["up"], looks["down"]) == (("-", "o"), ("--", "s"))
    assert axes.lines[0].get_label() == "top"
    assert axes.lines[0].get_linewidth() < axes.lines[1].get_linewidth()
    rows = {"system": ["a", "b"] * 3, "labels": ["K"] * 2 + ["J"] * 2 + ["T"] * 2, "value": [2.0, 1, 1, 2, 2, 1]}
    (axes,) = draw(figures.slope_chart(pa.table(rows))).axes
    assert {line.get_color() for line in axes.lines[:2]} == {"#000000"}


def test_a_line_below_another_is_seen():
    """Two measures with the same values: the first line is thicker, and the dashes of the second are apart."""
    rows = {"measure": ["AP", "AP", "RR", "RR"], "depth": [0, 1] * 2, "tau": [1.0, 0.5] * 2}
    (axes,) = draw(figures.tau_by_depth(pa.table(rows))).axes
    below, above = axes.lines[:2]
    assert below.get_linewidth() > above.get_linewidth()
    assert below.get_linestyle() != above.get_linestyle()


def test_names_at_line_ends_do_not_cover_one_another():
    """Six lines that end at one point have six names at a distance."""
    rows = {"measure": [f"P@{n}" for n in range(6)] * 2, "depth": [0] * 6 + [1] * 6, "tau": [1.0] * 6 + [0.5] * 6}
    (axes,) = draw(figures.tau_by_depth(pa.table(rows))).axes
    heights = sorted(text.xy[1] for text in axes.texts)
    bottom, top = axes.get_ylim()
    assert min(np.diff(heights)) >= 0.06 * (top - bottom)
    assert bottom <= heights[0] <= heights[-1] <= top


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_svg_needs_nothing_and_leaks_nothing(kind: str):
    """No style attribute, no script, no address but XML's names; ids are its own, references lead to them."""
    figure = FIGURES[kind]
    text = svg(figure)
    root = ET.fromstring(text)  # noqa: S314
    assert root.get("role") == "img"
    assert root.find(f"{SVG}desc").text == label_text(gist(figure))  # type: ignore[union-attr]
    ids = [node.get("id") for node in root.iter() if node.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith(figure.key) for name in ids)  # type: ignore[union-attr]
    for node in root.iter():
        assert node.get("style") is None
        assert node.tag.removeprefix(SVG) in {
            "svg",
            "title",
            "desc",
            "g",
            "defs",
            "path",
            "use",
            "text",
            "tspan",
            "clipPath",
            "rect",
        }
        for name, value in node.attrib.items():
            for target in [value[1:]] if name.endswith("href") else re.findall(r"url\(#(.+)\)", value):
                assert target in ids
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_hostile_labels_are_text():
    """Markup, dollars and other scripts stand in the picture as they were given."""
    text = svg(FIGURES["score_intervals"])
    assert HOSTILE not in text
    words = [node.text for node in ET.fromstring(text).iter(f"{SVG}text")]  # noqa: S314
    assert HOSTILE in words
    assert "知识图谱 $x_1^2$ & \"q\" 'r'" in words


def test_long_and_broken_labels_are_shown_on_one_short_line():
    """Control characters that XML forbids do not break the file."""
    rows = {"system": ["a\x00\x1b[1m\nb", "x" * 300], "measure": ["RR"] * 2, "value": [0.1, 0.2]}
    words = {node.text for node in ET.fromstring(svg(figures.score_intervals(pa.table(rows)))).iter(f"{SVG}text")}  # noqa: S314
    assert {"a\ufffd\ufffd[1m b", "x" * 25 + "…"} <= words


@pytest.mark.parametrize("label", ["W" * 300, "知" * 300, "", " "])
def test_any_label_leaves_room_for_the_data(label: str):
    """However long, wide or empty, without a complaint of the drawing library."""
    rows = {"measure": [label, label], "depth": [0, 1], "tau": [1.0, 0.5]}
    assert "<path" in svg(figures.tau_by_depth(pa.table(rows)))
    cells = {"system": [label] * 8, "category": [label + str(n) for n in range(8)], "side": ["head"] * 8}
    values = [-0.5, 0.0, 0.5, 1.0, float("nan"), -1.0, float("inf"), 0.1]
    assert "<path" in svg(figures.heat_map(pa.table({**cells, "value": values}), diverging=True))


def test_infinite_values_are_gaps():
    """No axis reaches there; the data keep them."""
    rows = {"measure": ["RR"] * 3, "depth": [0, 1, 2], "tau": [1.0, float("inf"), 0.5]}
    figure = figures.tau_by_depth(pa.table(rows))
    (axes,) = draw(figure).axes
    assert np.array_equal(axes.lines[0].get_ydata(), [1.0, np.nan, 0.5], equal_nan=True)
    assert figure.data["tau"].to_pylist()[1] == float("inf")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_and_no_defined_value_are_drawn(kind: str):
    """An empty table, and one whose numbers are all NaN."""
    make, data = getattr(figures, kind, None) or getattr(sample, kind), FIGURES[kind].data
    assert "no data" in svg(make(data.slice(0, 0)))
    undefined = {
        name: pa.array([float("nan")] * len(data)) if pa.types.is_floating(data[name].type) else data[name]
        for name in data.column_names
    }
    if kind != "pool_growth":
        assert "<svg" in svg(make(pa.table(undefined)))


@pytest.mark.slow
def test_same_data_same_bytes_in_another_process():
    """SVG, PDF and PNG, under another hash seed, and though the user's own matplotlib style is another."""
    figure = FIGURES["sparse_against_full"]
    with mpl.rc_context({"lines.linewidth": 9, "svg.fonttype": "path", "font.size": 20}):
        here = hashlib.sha256(svg(figure).encode() + pdf(figure) + png(figure, 50)).hexdigest()
        assert mpl.rcParams["lines.linewidth"] == 9
    program = (
        "import hashlib; from kgtrec.report.drawing import svg, pdf, png; from tests.report.sample import all_figures\n"
        "f = all_figures()['sparse_against_full']\n"
        "print(hashlib.sha256(svg(f).encode() + pdf(f) + png(f, 50)).hexdigest())"
    )
    there = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1", "TZ": "Asia/Tokyo"},
    )
    assert there.stdout.strip() == here


@pytest.mark.slow
def test_pdf_embeds_its_fonts_and_has_no_date():
    """TrueType, as publishers ask; nothing that changes from day to day."""
    document = pdf(FIGURES["pool_growth"])
    assert document.startswith(b"%PDF")
    assert b"/Subtype /TrueType" in document or b"/CIDFontType2" in document
    assert b"/Type3" not in document
    assert b"Date" not in document


def test_png_is_a_picture_without_the_time():
    """Of the size asked for."""
    picture = png(FIGURES["pool_growth"], dpi=100)
    assert picture.startswith(b"\x89PNG")
    assert b"Software" not in picture
    assert int.from_bytes(picture[16:20], "big") == 880


@pytest.mark.parametrize("make", [svg, pdf, draw])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_a_figure_is_drawn(make, number: int, monkeypatch: pytest.MonkeyPatch):
    """Inside a callback from C its exception would be lost, or become a TypeError."""
    drawn = []

    def interrupted(self: Grid, *args: object, **more: object) -> object:
        signal.raise_signal(number)
        drawn.append(True)
        return subplot(self, *args, **more)

    subplot = Grid.add_subplot
    monkeypatch.setattr(Grid, "add_subplot", interrupted)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            make(FIGURES["pool_growth"])
        assert drawn == [True, True]  # of both panels
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_a_figure_is_drawn_outside_of_the_main_thread():
    """Where signals never come, and no handler may be set."""
    with ThreadPoolExecutor(1) as worker:
        assert worker.submit(svg, FIGURES["pool_growth"]).result() == svg(FIGURES["pool_growth"])
