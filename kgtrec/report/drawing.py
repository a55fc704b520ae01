"""Drawing of figures: SVG for the page, PDF and SVG for a paper, PNG for a slide. The same data give the same bytes.

Colours are those of Okabe and Ito, which people with any kind of colour vision can distinguish. Every line also has a
dash pattern and a marker of its own, so that figures are readable in black and white.
"""

from __future__ import annotations

import io
import logging
import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.table import Figure
from kgtrec.errors import KgtrecError
from kgtrec.measures.names import digits_of
from kgtrec.report.cells import label_text, number_text
from kgtrec.report.figures import SERIES_PER_PANEL, Panel, gist, grouped, panels
from kgtrec.report.gists import order_changes, places_moved
from kgtrec.report.svg import tidied

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9")
_WORDS = ("#005f94", "#a84a00", "#00704f", "#96406f", "#000000", "#805600", "#1f6a94")  # darker, for text
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2.5)),
    (0, (1.2, 1.4)),
    (0, (6, 2, 1.2, 2)),
    (0, (3, 2)),
    "-",
    (0, (6, 1.5, 1, 1.5, 1, 1.5)),
)
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_MOVES = {1: 0, -1: 1, 0: 4}  # looks of lines that gain places, lose some, and cross without either
_INK, _SOFT = "#222222", "#555555"  # as in figures.mplstyle
_WIDTH, _HEIGHT = 4.4, 3.15  # of a panel, inches: readable on a phone, and half of a wide page
_ROOM = 0.8  # share of the distance between two x that bars side by side take
_THICKEST, _THINNER = 1.5, 0.15  # of lines, which become thinner from one to the next: one is seen below another
_LONGEST = 26  # characters of a label that are drawn; the data has the whole label
_MOST_BESIDE = 14  # characters of a label above a diagonal
_IN_PAPER = 7.5 / 9  # size of text in a figure of a given width, relative to the usual size: 7 to 8 pt
_COLUMN = 3.3  # inches: the width of a column of a paper, which has room for one panel


def svg(figure: Figure, panel: int | None = None, width: float | None = None) -> str:
    """Draw a figure, or one panel of it, as an SVG document that refers to no other files.

    Parameters
    ----------
    figure : Figure
    panel : int, optional
        Index of the panel. Default: all panels.
    width : float, optional
        Width in inches, for a paper: text has 7 to 8 pt, and panels are one below the other if two do not fit side by
        side. Default: 4.4 inches per panel and text of 9 pt, for a screen.

    Raises
    ------
    KgtrecError
        If the figure is of an unknown kind.
    """
    parts = panels(figure)
    chosen, name = (parts, figure.key) if panel is None else ((parts[panel],), f"{figure.key}-{panel + 1}")
    alt = gist(figure) if panel is None else parts[panel].alt
    metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    drawn = _saved(figure, chosen, width, format="svg", metadata=metadata).decode()
    title = figure.title if panel is None or not parts[panel].title else f"{figure.title}: {parts[panel].title}"
    return tidied(drawn, name, label_text(title), label_text(alt))


def pdf(figure: Figure, width: float | None = None) -> bytes:
    """Draw a figure as a PDF page of its size, with its fonts and without a date; for ``width`` see :func:`svg`."""
    metadata = dict.fromkeys(("CreationDate", "Creator", "Producer")) | {"Title": label_text(figure.title)}
    return _saved(figure, panels(figure), width, format="pdf", metadata=metadata)


def png(figure: Figure, width: float | None = None, dpi: int | None = None) -> bytes:
    """Draw a figure as a PNG image; default ``dpi``: 200, or 300 if ``width`` is given, for which see :func:`svg`."""
    dots = dpi or (200 if width is None else 300)
    return _saved(figure, panels(figure), width, format="png", dpi=dots, metadata={"Software": None})


def _saved(figure: Figure, parts: Sequence[Panel], width: float | None, **options: Any) -> bytes:
    out = io.BytesIO()
    with _styled(width):
        _drawn(figure, parts, width).savefig(out, **options)
    return out.getvalue()


def draw(figure: Figure) -> Drawing:
    """Draw a figure with all its panels as a matplotlib figure, which can be changed further."""
    with _styled():
        return _drawn(figure, panels(figure))


def plot(figure: Figure, ax: Axes | None = None, panel: int | None = None) -> Axes | NDArray[Any]:
    """Draw a figure by pyplot, or one panel of it on given axes; see :meth:`kgtrec.data.table.Figure.plot`."""
    parts = panels(figure)
    known = "; ".join(f"{place}: {part.title or figure.title}" for place, part in enumerate(parts))
    if panel is not None and not 0 <= panel < len(parts):
        raise KgtrecError(f"figure {figure.key}: expected a panel among {known}, found {panel}")
    chosen = parts if panel is None else (parts[panel],)
    if ax is not None:
        if len(chosen) > 1:
            raise KgtrecError(
                f"figure {figure.key}: expected one panel to draw on axes, found several; give panel= one of {known}"
            )
        with _styled():
            _entitled(ax, chosen, figure)
            ax.set_axisbelow(True)
            ax.grid(visible=True, color="#dddddd", linewidth=0.7)
            ax.spines[["top", "right"]].set_visible(False)
            _draw_panel(ax, chosen[0], figure)
        return ax
    from matplotlib import pyplot as plt

    drawing = plt.figure()  # in the user's style, so that a notebook shows it
    with _styled():
        axes = _drawn(figure, chosen, drawing=drawing).axes[: len(chosen)]
        _entitled(axes[0], chosen, figure)
    return axes[0] if len(axes) == 1 else np.array(axes, object)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C and similar signals until the end of the block, which takes at most a second.

    Compiled parts of matplotlib call Python functions. If a signal raises an exception there, the exception is lost and
    the program continues, or it becomes a TypeError about wrong arguments.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    numbers = (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
    handlers = {number: signal.getsignal(number) for number in numbers if number is not None}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    came: list[int] = []
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def _styled(width: float | None = None) -> Iterator[None]:
    """Our style within the block, whatever the user has set; the user's style again after it."""
    import matplotlib as mpl

    size = 1.0 if width is None else _IN_PAPER
    fonts = logging.getLogger("matplotlib.font_manager")
    level = fonts.level
    with _uninterrupted(), mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the reader's browser has the font
        warnings.filterwarnings("ignore", message="constrained_layout not applied")  # it is drawn anyway
        mpl.rcdefaults()
        style: Any = mpl.rc_params_from_file(
            str(files("kgtrec.report") / "figures.mplstyle"), use_default_template=False
        )
        scaled: Any = ("font.size", "axes.titlesize", "legend.fontsize", "lines.linewidth", "lines.markersize")
        mpl.rcParams.update({**style, **{name: size * style[name] for name in scaled}})
        fonts.setLevel(logging.ERROR)
        try:
            yield
        finally:
            fonts.setLevel(level)


def _small() -> Any:
    """The font size of names and numbers within a figure."""
    import matplotlib as mpl

    return mpl.rcParams["legend.fontsize"]


def _entitled(ax: Axes, parts: Sequence[Panel], figure: Figure) -> None:
    """The figure's title where its only panel has none."""
    if len(parts) == 1 and not parts[0].title:
        ax.set_title(_label(figure.title, 48))


def _drawn(
    figure: Figure, parts: Sequence[Panel], width: float | None = None, drawing: Drawing | None = None
) -> Drawing:
    """The drawing of some panels, on an empty one if it is given."""
    from matplotlib.figure import Figure as Drawing

    # the last of an odd number of panels has a row of its own
    across = 1 if len(parts) == 1 or (width is not None and width < 1.5 * _COLUMN) else 2
    scale = 1.0 if width is None else _IN_PAPER
    height_of = _KINDS[figure.kind][1]
    heights = [scale * max(map(height_of, parts[row : row + across])) for row in range(0, len(parts), across)]
    drawing = drawing or Drawing()
    drawing.set_size_inches(_WIDTH * across if width is None else width, sum(heights))
    drawing.set_facecolor("white")
    drawing.set_layout_engine("constrained")
    engine: Any = drawing.get_layout_engine()
    engine.set(w_pad=0.08 * scale, h_pad=0.08 * scale)
    grid = drawing.add_gridspec(len(heights), across, height_ratios=heights)
    for place, panel in enumerate(parts):
        row, column = divmod(place, across)
        is_alone = place == len(parts) - 1 and column == 0
        ax = drawing.add_subplot(grid[row, :] if is_alone else grid[row, column])
        _draw_panel(ax, panel, figure)
    return drawing


def _draw_panel(ax: Axes, panel: Panel, figure: Figure) -> None:
    import matplotlib as mpl

    if panel.title:
        title, size = _label(panel.title, 40), mpl.rcParams["axes.titlesize"]
        ax.set_title(title, fontsize=size * min(1.0, _LONGEST / len(title)))
    if not panel.rows or not len(next(iter(panel.rows.values()))):
        ax.set_axis_off()
        ax.text(0.5, 0.5, "no data", ha="center", va="center", color=_SOFT, transform=ax.transAxes)
    else:
        rows = {
            name: [math.nan if isinstance(cell, float) and math.isinf(cell) else cell for cell in column]
            for name, column in panel.rows.items()
        }  # an axis cannot show infinite values
        _KINDS[figure.kind][0](ax, replace(panel, rows=rows), figure)


# lines


def _lines(
    x_name: str, y_name: str, legend: Literal["ends", "lower right", "upper right"], by: str = "measure"
) -> Callable[[Axes, Panel, Figure], None]:
    """A drawing function with a line per measure; names are at the ends of lines, or in a legend in a free corner."""

    def draw_panel(ax: Axes, panel: Panel, figure: Figure) -> None:
        import matplotlib as mpl
        from matplotlib.transforms import Affine2D

        ends = []
        series = grouped(panel.rows, by)
        gaps = np.diff(np.unique([x for x in panel.rows[x_name] if math.isfinite(x)]))
        step = float(gaps.min() if len(gaps) else 1.0) * min(0.3, _ROOM / len(series)) if "low" in panel.rows else 0.0
        step *= 0.3 if "fitted" in figure.options else 1.0  # of few points, which are far apart
        for place, (label, rows) in enumerate(series.items()):
            order = np.argsort(np.array(rows[x_name], float), kind="stable")
            x, y = (np.array(rows[name], float)[order] for name in (x_name, y_name))
            every = max(1, len(x) // 12)
            marked = slice(place * every // 4 % every, None, every)
            aside = Affine2D().translate(step * (place - (len(series) - 1) / 2), 0) + ax.transData
            if "low" in rows:  # bars side by side instead of bands, which overlap in print
                low, high = (np.array(rows[name], float)[order][marked] for name in ("low", "high"))
                ax.vlines(x[marked], low, high, color=_COLOURS[place % len(_COLOURS)], linewidth=0.9, transform=aside)
            size = _THICKEST - _THINNER * min(place, SERIES_PER_PANEL - 1)
            look = _line(place) | {"linewidth": size * mpl.rcParams["lines.linewidth"]}
            look |= {"markersize": 3.5} if "fitted" in figure.options else {}  # bars are seen beside
            ax.plot(x, y, label=_label(label), **look, markevery=(marked.start, every), transform=aside)
            known = np.flatnonzero(~np.isnan(y))
            if len(known):
                ends.append((float(y[known[-1]]), _label(label), _WORDS[place % len(_WORDS)]))
        ax.set_xlabel(figure.options["x"])
        ax.set_ylabel(figure.options["y"])
        ax.grid(visible=False, axis="x")
        shown = [name for name in (y_name, "low", "high") if name in figure.data.column_names]
        everything = [value for name in shown for value in figure.data.column(name).to_pylist()]
        _limits(ax, figure.data.column(x_name).to_pylist(), everything, step * (len(series) - 1) / 2)
        if "fitted" in figure.options:
            shown_y = [value for value in everything if math.isfinite(value)] or [0.0, 1.0]
            space = 0.04 * (max(shown_y) - min(shown_y) or 1.0)
            ax.set_ylim(min(shown_y) - space, max(shown_y) + space)
        if "diagonal" in figure.options:
            ax.axline((0, 0), slope=1, color=_INK, linewidth=0.9, linestyle=":")
        if "level" in figure.options:
            ax.axhline(figure.options["level"], color=_INK, linewidth=0.9, linestyle=":")
        if figure.options.get("at") == "share":
            ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        elif "labels" in panel.rows:  # upright where they would overlap, and every second or third if there are many
            names = dict(zip(panel.rows[x_name], [_label(label, 14) for label in panel.rows["labels"]], strict=True))
            every = math.ceil(len(names) / 20)
            ax.set_xticks(list(names)[::every], list(names.values())[::every])
            ax.tick_params(axis="x", rotation=90 if _is_crowded(list(names.values())) else 0)
        elif x_name in ("depth", "place"):
            _whole_numbers(ax)
        if legend == "ends":
            _names_at_ends(ax, ends, space=0.165 / (_of_slopes(panel) - 0.45) if by == "system" else 0.062)
        elif ax.get_legend_handles_labels()[0]:
            ax.legend(loc=legend)

    return draw_panel


def _whole_numbers(ax: Axes) -> None:
    locator: Any = ax.xaxis.get_major_locator()
    locator.set_params(integer=True)


def _limits(ax: Axes, x: Sequence[float], y: Sequence[float], aside: float) -> None:
    """The same limits of axes in all panels of a figure; correlations and p-values are shown from 0, or -1, to 1."""
    low = -1.0 if any(value < 0 for value in y) else 0.0
    space = 0.04 * (1.0 - low)
    ax.set_ylim(low - space, 1.0 + space)
    if low < 0:
        ax.axhline(0, color=_SOFT, linewidth=0.7)
    known = [value for value in x if math.isfinite(value)]
    if known and min(known) < max(known):
        edge = 0.02 * (max(known) - min(known)) + aside
        ax.set_xlim(min(known) - edge, max(known) + edge)


def _names_at_ends(
    ax: Axes, ends: Sequence[tuple[float, str, str]], side: Literal["left", "right"] = "right", space: float = 0.062
) -> None:
    """The name of each line to the right of its end, or to the left, moved apart if ends are close to each other."""
    bottom, top = sorted(ax.get_ylim())
    ordered = sorted(ends, key=lambda end: end[0])
    gap = space * (top - bottom)
    edge, out = (1.0, 1.0) if side == "right" else (0.0, -1.0)
    for (value, text, colour), y in zip(ordered, _spread([end[0] for end in ordered], gap, bottom, top), strict=True):
        if abs(y - value) > 0.2 * gap:
            start, end = (ax.transAxes.inverted().transform(ax.transData.transform((0, v)))[1] for v in (value, y))
            ax.plot(
                [edge, edge + 0.035 * out],
                [start, end],
                transform=ax.transAxes,
                color=colour,
                linewidth=0.6,
                clip_on=False,
            )
        ax.annotate(
            text,
            (edge + 0.045 * out, y),
            xycoords=("axes fraction", "data"),
            color=colour,
            va="center",
            ha="left" if side == "right" else "right",
            fontsize=_small(),
            annotation_clip=False,
        )


def _spread(wanted: Sequence[float], gap: float, bottom: float, top: float) -> NDArray[np.float64]:
    """Increasing positions at least ``gap`` apart, as close to the wanted ones as possible, within bottom and top."""
    from scipy.optimize import isotonic_regression

    if not len(wanted):
        return np.empty(0)
    steps = gap * np.arange(len(wanted))
    return np.clip(isotonic_regression(np.array(wanted) - steps).x, bottom, max(bottom, top - steps[-1])) + steps


def _line(place: int) -> dict[str, Any]:
    turn = place // len(_COLOURS)  # markers are shifted after seven lines, so that no two lines look the same
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": _DASHES[place % len(_DASHES)],
        "marker": _MARKS[(place + turn) % len(_MARKS)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.5,
    }


# rows of systems


def _intervals(ax: Axes, panel: Panel, figure: Figure) -> None:
    rows = panel.rows
    y = np.arange(len(rows["system"]))
    value = np.array(rows["value"], float)
    low, high = (np.array(rows.get(end, [math.nan] * len(y)), float) for end in ("low", "high"))
    is_open = np.isnan(low) & ~np.isnan(value)  # a full dot without a bar would look like one without an error
    fills: tuple[tuple[Any, Literal["full", "none"]], ...] = ((~is_open, "full"), (is_open, "none"))
    for chosen, fill in fills:
        if chosen.any():
            ax.plot(value[chosen], y[chosen], "o", color=_COLOURS[0], markersize=5.5, fillstyle=fill)
    ax.hlines(y, low, high, color=_COLOURS[0], linewidth=1.4)
    for row in np.flatnonzero(is_open) if "low" in rows else ():
        ax.annotate(
            "no interval",
            (value[row], y[row]),
            (7, 0),
            textcoords="offset points",
            va="center",
            fontsize=_small(),
            color=_SOFT,
        )
    _system_axis(ax, rows["system"], panel)


def _ties(ax: Axes, panel: Panel, figure: Figure) -> None:
    systems = list(dict.fromkeys(figure.data.column("system").to_pylist()))
    scores = grouped(panel.rows, "system")
    values = [np.array(scores[system]["value"] if system in scores else [math.nan], float) for system in systems]
    low, high = (np.array([end.reduce(own) for own in values]) for end in (np.fmin, np.fmax))
    there = ~np.isnan(low)
    ax.hlines(np.flatnonzero(there), low[there], high[there], color=_COLOURS[0], linewidth=1.4)
    for end in (low, high):
        ax.plot(end[there], np.flatnonzero(there), "|", color=_COLOURS[0], markersize=9, markeredgewidth=1.4)
    _system_axis(ax, systems, panel)


def _system_axis(ax: Axes, systems: Sequence[str], panel: Panel) -> None:
    ax.set_xlabel(_label(panel.title))
    ax.set_title("")
    ax.set_yticks(range(len(systems)), [_label(system) for system in systems])
    ax.set_ylim(len(systems) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(visible=True, axis="both")


def _cells(ax: Axes, panel: Panel, figure: Figure) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    rows = list(dict.fromkeys(figure.data.column("system").to_pylist()))
    columns = list(dict.fromkeys(figure.data.column("category").to_pylist()))
    values = np.full((len(rows), len(columns)), np.nan)
    for system, category, value in zip(*(panel.rows[name] for name in ("system", "category", "value")), strict=True):
        values[rows.index(system), columns.index(category)] = value
    everything = [value for value in figure.data.column("value").to_pylist() if math.isfinite(value)]
    if figure.options["diverging"]:
        shades, low, high = ("#b35806", "#f1a340", "#f7f7f7", "#74a9cf", "#045a8d"), -1.0, 1.0
    else:
        shades = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
        low, high = (min(everything), max(everything)) if everything else (0.0, 1.0)
    colours = LinearSegmentedColormap.from_list("kgtrec", shades)
    share = np.clip((values - low) / ((high - low) or 1), 0, 1)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            known = not math.isnan(value)
            red, green, blue, _ = colours(float(share[row, column])) if known else (0.93, 0.93, 0.93, 1)
            ax.fill(
                [column, column + 1, column + 1, column],
                [row, row, row + 1, row + 1],
                color=(red, green, blue),
                edgecolor="white",
                linewidth=1,
            )
            dark = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 < 0.3
            text = number_text(value, 2 if abs(value) < 100 else 0, typeset=True) if known else "-"
            ax.text(
                column + 0.5,
                row + 0.5,
                text,
                ha="center",
                va="center_baseline",
                fontsize=_small(),
                color="white" if dark else _INK,
            )
    ax.set_xlim(0, len(columns))
    ax.set_ylim(len(rows), 0)
    ax.set_xticks(np.arange(len(columns)) + 0.5, [_label(category, 14) for category in columns])
    if _is_crowded(columns):
        ax.tick_params(axis="x", rotation=35)
    ax.set_yticks(np.arange(len(rows)) + 0.5, [_label(system) for system in rows])
    ax.set_xlabel(_label(figure.options["value"]))
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _is_crowded(categories: Sequence[str]) -> bool:
    """Whether the names of columns would overlap."""
    return sum(len(_label(category, 14)) for category in categories) > 44


# other drawings


def _slopes(ax: Axes, panel: Panel, figure: Figure) -> None:
    rows = panel.rows
    labels = list(dict.fromkeys(rows["labels"]))
    systems = grouped(rows, "system")
    crossing = {name for _, _, pairs in order_changes(rows, figure.options) for pair in pairs for name in pair}
    moved = places_moved(rows, figure.options)
    order = [*(name for name in systems if name not in crossing), *(name for name in systems if name in crossing)]
    ends: dict[Literal["left", "right"], list[tuple[float, str, str]]] = {"left": [], "right": []}
    digits = digits_of(figure.options["measure"])
    for name in order:
        own = dict(zip(systems[name]["labels"], systems[name]["value"], strict=True))
        value = np.array([own.get(label, math.nan) for label in labels], float)
        word = _SOFT
        look: dict[str, Any] = {"color": "#8c8c8c", "linewidth": 0.9, "marker": "o", "markersize": 2.5}
        if name in crossing:
            style = _MOVES[int(np.sign(moved.get(name, 0)))]
            look, word = {**_line(style), "linewidth": 1.8}, _WORDS[style]
        ax.plot(range(len(labels)), value, label=_label(name), clip_on=False, **look)
        for (side, own_ends), end in zip(ends.items(), (value[0], value[-1]), strict=True):
            if not math.isnan(end):
                texts = [_label(name, 18), number_text(end, digits, typeset=True)]
                own_ends.append((float(end), "  ".join(texts if side == "left" else texts[::-1]), word))
    known = [value for value in rows["value"] if math.isfinite(value)]
    edge = 0.04 * ((max(known) - min(known)) or 1) if known else 1.0
    low, high = (min(known) - edge, max(known) + edge) if known else (0.0, 1.0)
    ax.set_ylim(*((high, low) if figure.options["better"] == "lower" else (low, high)))
    ax.set_xlim(0, max(1, len(labels) - 1))
    names = [_label(label, 16) for label in labels]
    ax.set_xticks(range(len(labels)), names, fontweight="bold")
    if sum(map(len, names)) > 30:
        ax.tick_params(axis="x", rotation=25)
    ax.set_yticks([])
    legend = "; solid: gains places, dashed: loses places" if crossing else ""
    ax.set_xlabel(_label(figure.options["measure"]) + legend, fontsize=_small())
    ax.grid(visible=True, axis="x")
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0, pad=8)
    for side, own_ends in ends.items():
        _names_at_ends(ax, own_ends, side, 0.165 / (_of_slopes(panel) - 0.45))


def _growth(ax: Axes, panel: Panel, figure: Figure) -> None:
    rows = {name: np.array(column, float) for name, column in panel.rows.items()}
    whole = "triples" in rows
    new = "" if whole else "new_"
    if whole:
        ax.bar(rows["depth"], rows["triples"], color="#c6d9ea", label="pooled", width=0.8)
    ax.bar(rows["depth"], rows[f"{new}positives"], color=_COLOURS[0], label="judged true", width=0.8)
    ax.set_xlabel("pool depth")
    ax.set_ylabel("triples" if whole else "true triples")
    ax.grid(visible=False, axis="x")
    _whole_numbers(ax)
    ax.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    if whole:
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * 1.2)  # room for the legend
        ax.legend(loc="upper left", ncols=2)


def _curves(ax: Axes, panel: Panel, figure: Figure) -> None:
    families = list(dict.fromkeys(figure.data.column("family").to_pylist()))
    marks = dict(zip(families, _MARKS, strict=False)) if len(families) <= len(_MARKS) else {}
    densities = sorted(set(figure.data.column("density").to_pylist()), reverse=True)
    for name, limits in (("full", ax.set_xlim), ("sparse", ax.set_ylim)):  # the same in all panels
        known = [cell for cell in figure.data.column(name).to_pylist() if math.isfinite(cell)]
        if known:
            space = 0.04 * (max(known) - min(known) or 1)
            limits(min(known) - space, max(known) + space)
    ax.axline((0, 0), slope=1, color=_SOFT, linewidth=0.9, linestyle=":")
    rows = {name: np.array(column) for name, column in panel.rows.items()}
    finite = np.isfinite(rows["full"].astype(float)) & np.isfinite(rows["sparse"].astype(float))
    are_single = len(set(figure.data.column("system").to_pylist())) == len(families)
    ends = []
    for place, density in enumerate(densities):
        chosen = np.flatnonzero((rows["density"] == density) & finite)
        chosen = chosen[np.lexsort((rows["sparse"][chosen], rows["full"][chosen]))]
        if not len(chosen):
            continue
        look = _line(place)
        for family in families:
            own = chosen[rows["family"][chosen] == family]
            if are_single:  # a marker for each share instead of each family
                ax.plot(rows["full"][own], rows["sparse"][own], **{**look, "linestyle": ""})
            elif len(own):
                style = {"linewidth": 1.2, "marker": marks.get(family, _MARKS[0]), "markersize": 4.5}
                ax.plot(rows["full"][own], rows["sparse"][own], **{**look, **style})
        ends.append((float(rows["sparse"][chosen[-1]]), f"{density:.0%} labelled", _WORDS[place % len(_WORDS)]))
    ax.set_xlabel(figure.options["x"])
    ax.set_ylabel(figure.options["y"])
    _names_at_ends(ax, ends)
    if len(marks) > 1 and not are_single:
        for family, mark in marks.items():
            ax.plot([], [], color=_INK, linestyle="", marker=mark, label=_label(family, _MOST_BESIDE))
        ax.legend(loc="upper left", handlelength=1.0)


def _label(text: str, longest: int = _LONGEST) -> str:
    """A label, cut off at a width of ``longest`` letters; wide characters of East Asian scripts count twice."""
    shown = label_text(text)
    ends = np.cumsum([2 if east_asian_width(sign) in "WF" else 1 for sign in shown])
    return shown if len(ends) == 0 or ends[-1] <= longest else shown[: int(np.sum(ends < longest))] + "…"


def _level(panel: Panel) -> float:
    return _HEIGHT


def _of_slopes(panel: Panel) -> float:
    return max(_HEIGHT - 0.35, 0.6 + 0.18 * len(set(panel.rows["system"])))


def _per_row(inches: float, space: float) -> Callable[[Panel], float]:
    return lambda panel: space + inches * max(1, len(dict.fromkeys(panel.rows.get("system", ()))))


def _of_cells(panel: Panel) -> float:
    rotated = 0.8 if _is_crowded(list(dict.fromkeys(panel.rows.get("category", ())))) else 0.0
    return _per_row(0.24, 0.65)(panel) + rotated


_KINDS: dict[str, tuple[Callable[[Axes, Panel, Figure], None], Callable[[Panel], float]]] = {
    "tau_by_depth": (_lines("depth", "tau", "ends"), _level),
    "stability": (_lines("share", "mean", "lower right"), _level),
    "missing_labels": (_lines("share", "mean", "ends", by="reason"), _level),
    "half_widths": (_lines("share", "half_width", "upper right"), _level),
    "reliability": (_lines("mean", "share", "ends"), _level),
    "p_value_curves": (_lines("place", "p", "upper right"), _level),
    "heat_map": (_cells, _of_cells),
    "pool_growth": (_growth, lambda panel: 2.7),
    "tie_report": (_ties, _per_row(0.24, 0.65)),
    "score_intervals": (_intervals, _per_row(0.24, 0.65)),
    "slope_chart": (_slopes, _of_slopes),
    "strata": (_lines("place", "value", "ends", by="system"), lambda panel: _of_slopes(panel) + 0.5),
    "sparse_against_full": (_curves, _level),
}
