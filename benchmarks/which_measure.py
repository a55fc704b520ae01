"""Which measures withstand missing labels: the numbers and tables of docs/which-measure.md.

    python benchmarks/which_measure.py [--worlds 6] [--people 150] [--draws 3] [--workers 2] [--docs docs]

takes labels away by `kgtrec.meta.withstand` from three complete sets of labels, and writes ``which-measure.csv`` and
the part of ``which-measure.md`` between its marks; ``python docs/figures.py`` draws the page's figures of the CSV.

- *family trees*: closed worlds of which all is known, with ten systems of three families (rules, SVD, RESCAL), and a
  pool of depth 10 of all systems judged; intervals are over worlds.
- *FB15k-237*: its test labels, with the eight systems of examples/fb15k-237; intervals are over sets of labels.
- *judged*: the labels of Zhou et al. (2022), FB-Test-S-C, with the same systems; and the test labels of the same
  questions, FB-Test-S, against them, with intervals over resampled questions.

Any number of workers gives the same bytes. Four minutes with one worker on a core that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sizes import data_folder, parsed

import kgtrec
from kgtrec import Collection, Qrels
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.evaluation.item_scores import item_scores, totals
from kgtrec.meta import Withstanding, correlate, swaps, withstand
from kgtrec.meta.withstand import ALPHA, DENSITIES, MEASURES
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.systems.baselines import baseline_checkpoints, score_blocks

ROOT = Path(__file__).parents[1]
DEPTH, DIGITS = 10, 4
SYSTEMS: dict[str, dict[str, Any]] = {
    "rules": {"most": [1, 4, 30]},
    "svd": {"factors": [8, 32, 96]},
    "rescal": {"factors": [16, 48], "iterations": [1, 4]},
}
#: of the page's figures, which do not hold all
DRAWN = ("micro.MRR", "micro.Hits@10", "macro.MRR", "nDCG@20", "AP@20", "nDCG(judged_only=True)@20", "Bpref", "infAP")
#: of the page's tables; the CSV holds all
SHOWN = (*DRAWN[:2], "micro.Hits@1", "micro.pMRR(p=0.5)", "micro.PROBE(alpha=0.5,beta=0.5)", *DRAWN[2:])
BEGIN, END = "<!-- begin: benchmarks/which_measure.py -->", "<!-- end: benchmarks/which_measure.py -->"


def tree(people: int, seed: int) -> tuple[Collection, Qrels, list[AnswerRanks]]:
    """A closed world, the verdicts on all true answers and on the pool of all systems, and these."""
    hidden = hide_facts(family_tree(people, seed=seed).facts, hidden=0.5, density=1.0, seed=seed)
    collection = kgtrec.build_questions(hidden.splits.train, hidden.splits.valid, hidden.complete)
    own: dict[str, Any] = {"questions": collection, "entities": collection}
    models = {
        f"{name}@{number}": model
        for name, options in SYSTEMS.items()
        for number, (_, model) in enumerate(baseline_checkpoints(name, collection.train, **options), 1)
    }

    def ranked(depth: int, **judged: Any) -> list[Any]:
        return [
            kgtrec.rank_scores(collection, score_blocks(model, collection), **own, name=name, depth=depth, **judged)
            for name, model in models.items()
        ]

    runs = [system.run for system in ranked(DEPTH)]
    true, width = collection.qrels, len(collection.entities)
    listed = np.unique(np.concatenate([run.question.astype(np.int64) * width + run.entity for run in runs]))
    false = np.setdiff1d(listed, true.question.astype(np.int64) * width + true.entity)
    question, entity = (
        np.r_[a, b].astype(np.int32) for a, b in ((true.question, false // width), (true.entity, false % width))
    )
    grade = np.r_[true.grade, np.zeros(len(false), np.int32)].astype(np.int32)
    judged = Qrels.of(question, entity, grade, true.questions, true.entities, collection=collection.stamp)
    return collection, judged, [system.answer_ranks for system in ranked(0, judged=judged)]


def published(folder: Path) -> tuple[Collection, Qrels, Qrels, list[AnswerRanks]]:
    """FB15k-237, the published labels, the test labels of the same questions, and the systems."""
    data, C, L = data_folder(), folder / "C", folder / "L"
    for words in (
        ("questions", data / "fb15k-237", "--out", C),
        ("campaign", "import-kgc-sparsity", data / "kgc-sparsity", "--topics", C / "topics.tsv", "--out", L),
        ("campaign", "qrels", L, "--out", folder / "qrels"),
    ):
        subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)
    paths = sorted((ROOT / "examples/fb15k-237/ranks").glob("*.parquet"))
    full, sparse = (kgtrec.read_qrels(folder / "qrels" / f"qrels{depth}.txt") for depth in ("", ".depth0"))
    return kgtrec.read_collection(C), full, sparse, [kgtrec.read_answer_ranks(path) for path in paths]


def against(sparse: Qrels, full: Qrels, systems: list[AnswerRanks], collection: Collection) -> pd.DataFrame:
    """A row per measure: what one set of labels says of the order under another, as :meth:`Withstanding.to_table`."""
    items = [item_scores(labels, systems, MEASURES, collection=collection) for labels in (sparse, full)]
    n_pairs = len(systems) * (len(systems) - 1) // 2
    rows = []
    for name in MEASURES:
        own = [{name: scores[name]} for scores in items]
        tau = correlate(*own, coefficients="tau", confidence=0.95, seed=0)
        numbers = {"tau": tau.value, "tau_low": tau.low, "tau_high": tau.high}
        numbers |= {"wrong": np.sum(swaps(*own).first_p < ALPHA) / n_pairs}
        numbers |= {"bias": np.mean(totals(items[0][name]) - totals(items[1][name]))}
        rows.append({"reason": "test labels", "measure": name, **{of: float(np.sum(n)) for of, n in numbers.items()}})
    return pd.DataFrame(rows)


def table_of(frame: pd.DataFrame, cell: Callable[[Any], str]) -> list[str]:
    """The lines of a table with a row per measure and a column per reason."""
    reasons = list(dict.fromkeys(frame.reason))
    cells = {(row.measure, row.reason): cell(row) for row in frame.itertuples()}
    head = ["", f"| | {' | '.join(reasons)} |", f"|---|{'---:|' * len(reasons)}"]
    rows = ((name, " | ".join(cells[name, reason] for reason in reasons)) for name in dict.fromkeys(frame.measure))
    return [*head, *(f"| {name} | {row} |" for name, row in rows), ""]


def number(of: str, form: str) -> Callable[[Any], str]:
    """The text of a number with its interval."""

    def cell(row: Any) -> str:
        values = [getattr(row, f"{of}{end}") for end in ("", "_low", "_high")]
        if np.isnan(values[0]):
            return ""
        text = [form.format(value).replace("0.", ".", 1) if "%" not in form else form.format(value) for value in values]
        return f"{text[0]} ({text[1]} to {text[2]})"

    return cell


def page_lines(tables: dict[str, pd.DataFrame]) -> list[str]:
    """The tables of the page, from the numbers in the CSV."""
    lines = [""]
    if "FB15k-237" in tables:
        quarter = tables["FB15k-237"][tables["FB15k-237"].density == 0.25]
        lines += ["Tau on FB15k-237 with a quarter of the facts labelled:"]
        lines += table_of(quarter[quarter.measure.isin(SHOWN)], number("tau", "{:.2f}"))
    worst = []
    for name, title in (("family trees", "family trees"), ("FB15k-237", "FB15k-237"), ("judged", "FB-Test-S-C")):
        if name in tables:
            quarter = tables[name][tables[name].density == 0.25]
            most = quarter.loc[quarter.wrong.idxmax()]
            worst.append(f"{title} {most.wrong:.1%} ({most.measure}, {most.reason})")
    lines += [
        *textwrap.wrap(f"Most pairs significantly in the wrong order, with a quarter: {', '.join(worst)}.", 120),
        "",
    ]
    return lines


def main() -> None:
    """Write the CSV and the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--people", type=int, default=150)
    parser.add_argument("--draws", type=int, default=3, help="sets of labels per reason and density of a tree")
    parser.add_argument("--sets", type=int, default=10, help="sets of labels per reason and density of FB15k-237")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    given = parsed(parser, worlds=2, people=30, draws=1, sets=2, workers=1, docs=Path(tempfile.mkdtemp()))
    warnings.simplefilter("ignore", kgtrec.KgtrecWarning)
    started = time.time()

    def said(what: str) -> None:
        sys.stderr.write(f"{time.time() - started:6.0f} s: {what}\n")

    trees = {}
    for seed in range(given.worlds):
        collection, judged, ranks = tree(given.people, seed)
        how: dict[str, Any] = {"densities": DENSITIES, "depth": DEPTH, "workers": given.workers, "seed": seed}
        trees[f"tree {seed}"] = withstand(judged, ranks, collection=collection, draws=given.draws, **how)
        said(f"tree {seed}: {len(collection.questions):,} questions, {len(judged):,} judgements")
    found, tables = {"family trees": Withstanding.of_worlds(trees)}, {}
    if not given.smallest:
        with tempfile.TemporaryDirectory() as folder:
            collection, full, sparse, systems = published(Path(folder))
        tables["S against S-C"] = against(sparse, full, systems, collection).round(DIGITS)
        how = {"depth": DEPTH, "workers": given.workers, "draws": given.sets}
        found["FB15k-237"] = withstand(collection, systems, densities=DENSITIES[:2], **how)
        said("FB15k-237")
        found["judged"] = withstand(full, systems, collection=collection, densities=DENSITIES, **how)
        said("judged")
    tables = {name: result.to_table().to_pandas().round(DIGITS) for name, result in found.items()} | tables
    write(given.docs, tables)
    said("written")


def write(docs: Path, tables: dict[str, pd.DataFrame]) -> None:
    """Both files."""
    whole = pd.concat([frame.assign(labels=name) for name, frame in tables.items()])
    columns = ["labels", *(name for name in whole.columns if name != "labels")]
    docs.mkdir(parents=True, exist_ok=True)
    whole[columns].to_csv(docs / "which-measure.csv", index=False, lineterminator="\n")
    put(docs / "which-measure.md", page_lines(tables))


def put(page: Path, lines: list[str]) -> None:
    """Replace what is between the marks of the page."""
    text = page.read_text(encoding="utf-8") if page.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
