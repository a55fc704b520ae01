r"""How the order of systems changes when people judge more answers: one measure's scores under two sets of labels.

    python examples/before_and_after.py BEFORE AFTER --title "Mine" --out mine.svg

BEFORE and AFTER are tables of scores: those of a paper (a row per system, a column per measure), those that
`kgtrec evaluate --format csv` prints, or data/scores-LABELS.csv of `kgtrec study STUDY --formats csv`. A system that
gains places is drawn in blue, solid, one that loses places in orange, dashed. README's first figures are

    R=$KGTREC_DATA/kgc-sparsity/result       # from the repository of Zhou et al. (2022)
    python examples/before_and_after.py $R/FB-Test-S/evaluation.csv $R/FB-Test-S-C/evaluation.csv \
        --title "13 systems of Zhou et al." --out docs/images/before-and-after-zhou.svg
    kgtrec study examples/fb15k-237/study.toml --out fb15k-237
    kgtrec study fb15k-237 --out page/report.html --formats html,csv
    python examples/before_and_after.py page/data/scores-S.csv page/data/scores-S-C.csv \
        --title "Our eight systems" --out docs/images/before-and-after-ours.svg
"""

from __future__ import annotations

import argparse
import os.path
from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
from matplotlib import pyplot as plt

from kgtrec import meta
from kgtrec.meta.known_measures import named
from kgtrec.report.figures import gist, slope_chart
from kgtrec.report.svg import tidied

NAMES = ("before judging", "after judging")
SIZE = (4.2, 3.2)  # inches: two stand side by side on a page, and one fills the width of a telephone
# plain text, and the same bytes for the same tables
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "kgtrec", "font.size": 9})


def main() -> None:
    """Draw the figure, and print tau and the pairs that change places."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--measure", default="micro.MRR")
    parser.add_argument("--title", default="Systems")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    before, after = (
        named(meta.read_score_table(path, name=name))[0]
        for path, name in zip((given.before, given.after), NAMES, strict=True)
    )
    tau = meta.correlate(before, after, measures=given.measure, coefficients=["tau"]).of("tau")
    n_systems, n_swaps = len(before.systems), len(meta.swaps(before, after, measures=given.measure))
    common = os.path.commonprefix(before.systems)  # noqa: RUF071  (letters, such as a data set's name and a hyphen)
    prefix = common[: common.rfind("-") + 1]
    rows = [
        {"system": system.removeprefix(prefix), "labels": table.name, "value": score}
        for table in (before, after)
        for system, score in zip(table.systems, table.values[:, table.measures.index(given.measure), 0], strict=True)
    ]
    title = f"{given.title}: tau {tau:.2f}".replace("-", "\N{MINUS SIGN}")
    figure = slope_chart(pa.Table.from_pylist(rows), key=given.out.stem, title=title, measure=given.measure)
    drawing, axes = plt.subplots(figsize=SIZE, layout="constrained")
    drawing.suptitle(title, weight="bold")
    figure.plot(axes)
    axes.set_title("", loc="left")
    drawing.savefig(given.out, metadata={"Date": None})
    alt = f"{given.measure} of {n_systems} systems {NAMES[0]} and {NAMES[1]}. {gist(figure)}"
    given.out.write_text(tidied(given.out.read_text(), given.out.stem, title, alt))
    n_pairs = n_systems * (n_systems - 1) // 2
    print(f"{given.title}: tau {tau:.3f}, {n_swaps} of {n_pairs} pairs change places by {given.measure}")


if __name__ == "__main__":
    main()
