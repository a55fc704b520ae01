"""The input of a benchmark: as large as its options say, or with ``--smallest`` just what shows that it runs."""

from __future__ import annotations

import argparse
import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec import Triples, build_questions

SYSTEMS = ("complex", "conve", "cp", "distmult", "rescal", "rotate", "transe", "tucker")  # of shared data
_IS_SMALLEST = "--smallest" in sys.argv


def parsed(parser: argparse.ArgumentParser, **smallest: Any) -> argparse.Namespace:
    """The options, of which ``--smallest`` sets those that are named here."""
    parser.add_argument("--smallest", action="store_true", help="the smallest input, to see that it runs")
    if _IS_SMALLEST:
        parser.set_defaults(**smallest)
    return parser.parse_args()


@cache
def data_folder() -> Path:
    """The shared data (KGTREC_DATA), which may be missing; with ``--smallest`` a miniature of FB15k-237 and systems."""
    if not _IS_SMALLEST:
        return Path(os.environ.get("KGTREC_DATA") or Path(__file__).parents[2] / "shared" / "data")
    folder, rng = _temporary(), np.random.default_rng(0)
    splits = []
    for name, n in (("train", 150), ("valid", 10), ("test", 30)):
        rows = np.unique(rng.integers(0, (40, 4, 40), (n, 3)), axis=0)
        lines = [(f"/m/{head}", f"/r/{relation}", f"/m/{tail}") for head, relation, tail in rows.tolist()]
        splits.append(Triples.of(lines))
        (folder / "fb15k-237").mkdir(exist_ok=True)
        (folder / "fb15k-237" / f"{name}.tsv").write_text("".join("\t".join(line) + "\n" for line in lines))
        subprocess.run(["gzip", str(folder / "fb15k-237" / f"{name}.tsv")], check=True)
    collection = build_questions(*splits)
    asked, systems = collection.questions, folder / "systems" / "fb15k-237"
    systems.mkdir(parents=True)
    for name, labels in (("entities", asked.entities), ("relations", asked.relations)):
        (systems / f"{name}.txt").write_text("".join(f"{label}\n" for label in labels))
    questions = np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32)
    for name in SYSTEMS:
        E, Q = (rng.normal(size=(n, 4)).astype(np.float32) for n in (len(asked.entities), len(asked)))
        np.savez(systems / f"{name}.npz", E=E, Q=Q, questions=questions)
    return folder


def collection_and_ranks() -> tuple[str, list[str]]:
    """A collection of the example's cities, and answer ranks of the baselines on it."""
    folder, example = _temporary(), Path(__file__).parents[1] / "examples" / "cities"
    collection, ranks = folder / "C", folder / "ranks"
    for words in (
        ("questions", example, "--out", collection),
        ("rank", collection, "--baseline", "all", "--out", ranks),
    ):
        subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)
    return str(collection), sorted(map(str, ranks.glob("*.ranks.parquet")))


def _temporary() -> Path:
    """A folder that goes when the benchmark ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)
