"""Stability of 8 systems on FB15k-237 over 19 sizes x 50 repeats x 8 measures, beside re-running pytrec_eval.

    python benchmarks/stability.py [--data ../shared/data] [--workers 2] [--rounds 3] [--depth 1000]

Ours is timed as a whole process, reading included. The peer has its run and qrels in memory; it is timed on a few
subsamples of one system, a size at a time, and what all of them would take is extrapolated from there, a straight line
through the sizes. Its lists are cut at 1,000, as kgtrec rank cuts them, or at --depth; ours are not cut. It has
the measures over questions only, since ranks of answers are not in a cut run.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from processes import measured

from kgtrec.data.run import Run
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.factorised import read_factorised
from kgtrec.formats.triples import read_triples
from kgtrec.meta.stability import subsample
from kgtrec.questions import build_questions
from kgtrec.ranking import rank_scores

SYSTEMS = ("complex", "conve", "cp", "distmult", "rescal", "rotate", "transe", "tucker")
MEASURES = "micro.MRR micro.Hits@10 micro.MR macro.MRR macro.Hits@10 macro.MR AP@20 nDCG@20"
PEER_MEASURES = {"recip_rank", "success_10", "map_cut_20", "ndcg_cut_20"}
SIZES = tuple(percent / 100 for percent in range(5, 100, 5))
PEER_SIZES = (0.05, 0.5, 0.95)
REPEATS = 50


def as_dicts(run: Run) -> dict[str, dict[str, float]]:
    """A run as pytrec_eval takes it."""
    questions, entities = list(run.questions), list(run.entities)
    found: dict[str, dict[str, float]] = {}
    for question, entity, score in zip(run.question.tolist(), run.entity.tolist(), run.score.tolist(), strict=True):
        found.setdefault(questions[question], {})[entities[entity]] = score
    return found


def peer_seconds(collection, run: Run, rounds: int) -> float:
    """Mean seconds of one system on one subsample, over all sizes."""
    import pytrec_eval

    lists = as_dicts(run)
    seconds = []
    for size in PEER_SIZES:
        own = []
        for repeat in range(rounds):
            part = subsample(collection, size, repeat=repeat)
            qrels: dict[str, dict[str, int]] = {}
            pairs = part.questions.decode(part.question).to_pylist(), part.entities.decode(part.entity).to_pylist()
            for question, entity in zip(*pairs, strict=True):
                qrels.setdefault(question, {})[entity] = 1
            start = time.perf_counter()
            values = pytrec_eval.RelevanceEvaluator(qrels, PEER_MEASURES).evaluate(lists)
            for name in PEER_MEASURES:
                sum(value[name] for value in values.values()) / len(qrels)
            own.append(time.perf_counter() - start)
        seconds.append(statistics.median(own))
        print(f"  pytrec_eval, one system, {size:.0%} of the triples: {seconds[-1]:.2f} s (median of {rounds})")
    return float(np.polyval(np.polyfit(PEER_SIZES, seconds, 1), SIZES).mean())


def main() -> None:
    """Rank the systems, run ours, time the peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KGTREC_DATA", "../shared/data")))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--depth", type=int, default=1000, help="length of the peer's lists")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}: name the folder with --data or KGTREC_DATA")
    splits = (read_triples(options.data / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test"))
    collection = build_questions(*splits)
    run: Run | None = None
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder, "C"), collection)
        ranks = Path(folder, "ranks")
        ranks.mkdir()
        for name in SYSTEMS:
            scores = read_factorised(options.data / "systems" / "fb15k-237" / f"{name}.npz", collection)
            ranked = rank_scores(collection, scores, depth=options.depth if run is None else 0, name=name)
            write_answer_ranks(ranks / f"{name}.ranks.parquet", ranked.answer_ranks)
            run = run or ranked.run
        sizes = " ".join(f"{size:g}" for size in SIZES)
        ours = measured(
            [sys.executable, "-m", "kgtrec", "meta", "stability", f"{folder}/C", str(ranks), "-m", MEASURES,
             "--sizes", sizes, "--repeats", str(REPEATS), "--workers", str(options.workers)]
        )  # fmt: skip
    runs = len(SYSTEMS) * len(SIZES) * REPEATS
    print(f"{len(SYSTEMS)} systems x {len(SIZES)} sizes x {REPEATS} repeats x {len(MEASURES.split())} measures")
    print(
        f"kgtrec: {ours.seconds:.1f} s with {options.workers} workers on {os.cpu_count()} processors, "
        f"{ours.peak_mb:.0f} MB in the largest process"
    )
    if importlib.util.find_spec("pytrec_eval") is None or run is None:
        print("pytrec_eval is not installed: pip install 'kgtrec[peers]'")
        return
    each = peer_seconds(collection, run, options.rounds)
    hours = runs * each / 3600
    print(f"pytrec_eval: {each:.2f} s for a system and subsample; {hours:.1f} h for all {runs:,}, extrapolated")
    print(f"ratio: {runs * each / ours.seconds:,.0f}")


if __name__ == "__main__":
    main()
