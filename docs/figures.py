"""Make the figures of the documentation that come from formulas or from committed numbers.

    python docs/figures.py

writes, to docs/images, rewards-answers.svg and rewards-questions.svg (what one answer contributes to a measure, by its
rank; `kgtrec.evaluate` computes every value), and which-measure-tau.svg and which-measure-wrong.svg (of
docs/which-measure.csv, which benchmarks/which_measure.py writes).

    python docs/figures.py --curve FOLDER

writes open-world-pykeen-mrr.svg from the figures of `kgtrec openworld curve ... --out FOLDER`, with the commands of
docs/open-world.md. Every figure is drawn for a column of a paper, 85 mm, and shown a third larger on a screen.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Drawing

import kgtrec
from kgtrec.data.table import Figure
from kgtrec.report.drawing import svg
from kgtrec.report.svg import tidied

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
COLUMN, SHOWN = 85 / 25.4, 1.3  # inches; times as large on a screen
TEXT = 7.5  # points
N_CANDIDATES = 1_000
RANKS = np.unique(np.geomspace(1, N_CANDIDATES, 60).astype(int))
#: figure -> what it says in words, and its panels -> measures
REWARDS = {
    "answers": (
        "What one answer contributes to the measures over answers, by its rank among 1,000 candidates: MRR falls "
        "fastest, pMRR and logMRR reward deeper ranks, Hits@10 is 1 down to rank 10.",
        {
            "MRR rewards the top, logMRR deeper ranks": (
                "micro.MRR",
                "micro.pMRR(p=0.5)",
                "micro.logMRR",
                "micro.Hits@10",
            ),
            "Adjusted for chance, 0 is a random order": ("micro.AMRI", "micro.AMRR", "micro.AHits@10"),
        },
    ),
    "questions": (
        "What a question with one relevant entity contributes, by its rank: AP@20 is the reciprocal rank down to rank "
        "20 and 0 below, nDCG@20 falls more slowly. Adjusted for chance they end a little below 0.",
        {
            "AP@20 is MRR down to rank 20": ("AP@20", "macro.MRR", "nDCG@20", "P@10"),
            "Adjusted for chance, 0 is a random order": ("AAP@20", "macro.AMRR", "AnDCG@20", "macro.AHits@10"),
        },
    ),
}
#: column of docs/which-measure.csv -> title, axis, what it says in words
WITHSTAND = {
    "tau": (
        "Bpref and condensed lists lose\nthe order of systems",
        "tau to the order by all labels",
        "Tau between the order of ten systems with a quarter of the labels of six family trees and with all, for each "
        "measure and reason why labels are missing. Bpref and nDCG over judged candidates are lowest, by far where "
        "labels come from a pool.",
    ),
    "wrong": (
        "Only Bpref and condensed lists get\nmany pairs significantly wrong",
        "pairs significantly wrong",
        "Share of pairs of ten systems that a quarter of the labels of six family trees puts significantly in the "
        "wrong order, for each measure and reason why labels are missing. Bpref and nDCG over judged candidates have "
        "the largest shares, where labels come from a pool.",
    ),
}
MEASURES = (
    "micro.MRR",
    "micro.Hits@10",
    "macro.MRR",
    "nDCG@20",
    "AP@20",
    "infAP",
    "nDCG(judged_only=True)@20",
    "Bpref",
)
#: colour, dash, marker; colours of Okabe and Ito
LOOKS = (
    ("#0072b2", "-", "o"),
    ("#d55e00", (0, (5, 2.5)), "s"),
    ("#009e73", (0, (6, 2, 1.2, 2)), "^"),
    ("#000000", (0, (1.2, 1.4)), "v"),
    ("#cc79a7", "-", "D"),
)


def one_answer() -> kgtrec.Collection:
    """One test triple, whose answers have as many candidates as the figures say."""
    others = [(f"e{nth:04}", "is", "other") for nth in range(N_CANDIDATES - 3)]
    train = kgtrec.Triples.of([*others, ("answer", "is", "other")])
    test = kgtrec.Triples.of([("anchor", "asks", "answer")])
    return kgtrec.build_questions(train, test.take([]), test)


def values(measures: tuple[str, ...]) -> dict[str, list[float]]:
    """What each measure gives where the only answer of the only question has each of the ranks."""
    collection = one_answer()
    at = collection.entities.encode(kgtrec.Vocabulary.of(["answer"]).labels)[0]
    found: dict[str, list[float]] = {name: [] for name in measures}
    for rank in RANKS.tolist():
        scores = -np.arange(len(collection.entities), dtype=float)
        scores[at] = -0.5 - (rank - 2 + (at <= rank - 2))  # below rank - 1 others
        own = np.broadcast_to(scores, (len(collection.questions), len(scores)))
        ranked = kgtrec.rank_scores(collection, own, questions=collection, entities=collection, sides=("tail",))
        scored = kgtrec.evaluate(collection, ranked.answer_ranks, list(measures), sides=("tail",)).to_frame()
        for name, value in zip(scored.measure, scored.value, strict=True):
            found[name].append(value)
    return found


def draw_rewards(name: str, alt: str, panels: Mapping[str, tuple[str, ...]]) -> None:
    """One figure, its panels one below the other; lines become thinner, so that one below another is seen."""
    figure, axes = plt.subplots(len(panels), figsize=(COLUMN, 2.1 * len(panels)), layout="constrained", sharex=True)
    for own, (title, measures) in zip(axes, panels.items(), strict=True):
        for place, (measure, found) in enumerate(values(measures).items()):
            colour, dash, _ = LOOKS[place]
            own.plot(RANKS, found, color=colour, linestyle=dash, label=measure, linewidth=2.6 - 0.45 * place)
        own.set(title=title, xscale="log", ylim=(-0.05, 1.05), ylabel="value")
        own.xaxis.set_major_formatter(lambda rank, _: f"{rank:,.0f}")
        own.axhline(0, color="#555555", linewidth=0.7)
        own.legend(loc=(0.38, 0.22) if "micro.AMRI" in measures else "upper right")
    axes[-1].set_xlabel(f"rank of the answer among {N_CANDIDATES:,} candidates")
    write(figure, f"rewards-{name}", "; ".join(panels), alt)


def draw_withstand(column: str, rows: pd.DataFrame) -> None:
    """One figure: a row for each measure, a marker for each reason."""
    title, label, alt = WITHSTAND[column]
    reasons = list(dict.fromkeys(rows.reason))
    figure, axes = plt.subplots(figsize=(COLUMN, 3.9), layout="constrained")
    for place, reason in enumerate(reasons):
        own = rows[rows.reason == reason].set_index("measure").loc[list(MEASURES)]
        y = np.arange(len(own)) + 0.15 * (place - (len(reasons) - 1) / 2)
        colour, _, mark = LOOKS[place]
        axes.hlines(y, own[f"{column}_low"], own[f"{column}_high"], color=colour, linewidth=0.8)
        axes.plot(own[column], y, mark, color=colour, label=reason, markersize=3.5)
    axes.set_yticks(range(len(MEASURES)), [name.replace("(judged", "\n(judged") for name in MEASURES])
    axes.set_ylim(len(MEASURES) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(label)
    if column == "wrong":
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    figure.suptitle(title, weight="bold", fontsize=TEXT + 0.5)
    figure.legend(loc="outside lower center", ncols=3, title="labels are missing")
    write(figure, f"which-measure-{column}", title.replace("\n", " "), alt)


def write(figure: Drawing, name: str, title: str, alt: str) -> None:
    """One file, larger than a column."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    (IMAGES / f"{name}.svg").write_text(enlarged(tidied(out.getvalue(), name, title, alt)), encoding="utf-8")


def enlarged(drawn: str) -> str:
    """The same drawing, shown larger where there is room."""
    head, rest = drawn.split(">", 1)
    larger = re.sub(r'(width|height)="([\d.]+)pt"', lambda found: f'{found[1]}="{SHOWN * float(found[2]):.4g}pt"', head)
    return f"{larger}>{rest}"


def withstand(docs: Path = DOCS) -> None:
    """The figures of docs/which-measure.csv: family trees, a quarter of the labels."""
    rows = pd.read_csv(docs / "which-measure.csv")
    rows = rows[(rows.labels == "family trees") & (rows.density == 0.25)]
    for column in WITHSTAND:
        draw_withstand(column, rows)


def curve(folder: Path) -> None:
    """The figure of micro.MRR of a folder that `kgtrec openworld curve` has written."""
    points = pd.read_csv(folder / "points.csv")
    points = points[(points.measure == "micro.MRR") & points.density.isin((0.1, 0.5, 0.9))]
    missing = points.correlation.map(lambda own: "missing at random" if own == 0 else f"missing correlated by {own:g}")
    columns = ["missing", "system", "family", "density", "full", "sparse"]
    rows = pa.Table.from_pandas(points.assign(missing=missing)[columns], preserve_index=False)
    axes = {"x": "micro.MRR with all labels", "y": "with sparse labels"}
    title = "With sparse labels MRR falls, and labels correlated with RotatE@50 put it below weaker systems"
    drawn = svg(Figure("open-world-pykeen-mrr", "sparse_against_full", title, title, rows, axes), width=COLUMN)
    (IMAGES / "open-world-pykeen-mrr.svg").write_text(enlarged(drawn), encoding="utf-8")


def main() -> None:
    """All figures, or that of a curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curve", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.curve:
        curve(given.curve)
        return
    mpl.rcdefaults()
    style = mpl.rc_params_from_file(str(files("kgtrec.report") / "figures.mplstyle"), use_default_template=False)
    sizes = {"font.size": TEXT, "axes.titlesize": TEXT + 0.5, "legend.fontsize": TEXT, "legend.title_fontsize": TEXT}
    mpl.rcParams.update({**style, **sizes})
    for name, (alt, panels) in REWARDS.items():
        draw_rewards(name, alt, panels)
    withstand()


if __name__ == "__main__":
    main()
