"""Stability of 8 systems on FB15k-237 over 19 sizes x 50 repeats x 8 measures, beside re-running pytrec_eval.

    python benchmarks/stability.py [--data ../shared/data] [--workers 2] [--rounds 3] [--depth 1000 100]

Ours is timed as a whole process, reading included. The peer has its run in memory, as dicts; it makes the qrels of a
subsample and evaluates them, for one system and a few subsamples of three sizes each, and what all of them would take
is extrapolated from there, a straight line through the sizes. Its lists are cut at 1,000, as in TREC's runs, and at
100, or at --depth; ours are not cut. It has the measures over questions only, since ranks of answers are not in a cut
run. Beside the seconds that pass stand those of processors (CPU), which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from processes import measured
from sizes import SYSTEMS, data_folder, parsed

from kgtrec import Run, build_questions, rank_system, read_system, read_triples, write_answer_ranks, write_collection
from kgtrec.meta import subsample

MEASURES = "micro.MRR micro.Hits@10 micro.MR macro.MRR macro.Hits@10 macro.MR AP@20 nDCG@20"
PEER_MEASURES = {"recip_rank", "success_10", "map_cut_20", "ndcg_cut_20"}
SIZES = tuple(percent / 100 for percent in range(5, 100, 5))
PEER_SIZES = (0.05, 0.5, 0.95)


def as_dicts(run: Run) -> dict[str, dict[str, float]]:
    """A run as pytrec_eval takes it."""
    questions, entities = list(run.questions), list(run.entities)
    found: dict[str, dict[str, float]] = {}
    for question, entity, score in zip(run.question.tolist(), run.entity.tolist(), run.score.tolist(), strict=True):
        found.setdefault(questions[question], {})[entities[entity]] = score
    return found


def clocks() -> np.ndarray:
    """Seconds that have passed, and seconds of processors that this process has had."""
    return np.array([time.perf_counter(), time.process_time()])


def peer_seconds(collection, run: Run, rounds: int) -> np.ndarray:
    """Mean of both clocks for one system on one subsample, over all sizes."""
    import pytrec_eval

    lists = as_dicts(run)
    seconds = []
    for size in PEER_SIZES:
        own = []
        for repeat in range(rounds):
            part = subsample(collection, size, repeat=repeat)
            pairs = part.questions.decode(part.question).to_pylist(), part.entities.decode(part.entity).to_pylist()
            gc.disable()  # which would walk through the run's dicts
            start = clocks()
            qrels: dict[str, dict[str, int]] = {}
            for question, entity in zip(*pairs, strict=True):
                qrels.setdefault(question, {})[entity] = 1
            values = pytrec_eval.RelevanceEvaluator(qrels, PEER_MEASURES).evaluate(lists)
            for name in PEER_MEASURES:
                sum(value[name] for value in values.values()) / len(qrels)
            own.append(clocks() - start)
            gc.enable()
        seconds.append(np.median(own, axis=0))
        wall, processor = seconds[-1]
        print(f"  one system, {size:.0%} of the triples: {wall:.2f} s, {processor:.2f} s CPU (medians of {rounds})")
    slope, start_of_line = np.polyfit(PEER_SIZES, np.array(seconds), 1)
    return start_of_line + slope * np.mean(SIZES)


def main() -> None:
    """Rank the systems, run ours, time the peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--repeats", type=int, default=50, help="subsamples of each size")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--depth", type=int, nargs="+", default=[1000, 100], help="length of the peer's lists")
    options = parsed(parser, workers=1, rounds=1, repeats=2, depth=[10])
    if not options.data.is_dir():
        sys.exit(f"no data at {options.data}: name the folder with --data or KGTREC_DATA")
    splits = (read_triples(options.data / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test"))
    collection = build_questions(*splits)
    with tempfile.TemporaryDirectory() as folder:
        write_collection(Path(folder, "C"), collection)
        ranks = Path(folder, "ranks")
        ranks.mkdir()
        for name in SYSTEMS:
            system = read_system(options.data / "systems" / "fb15k-237" / f"{name}.npz")
            ranked = rank_system(collection, system, depth=0)
            write_answer_ranks(ranks / f"{name}.ranks.parquet", ranked.answer_ranks)
        sizes = " ".join(f"{size:g}" for size in SIZES)
        ours = measured(
            [
                sys.executable,
                "-m",
                "kgtrec",
                "meta",
                "stability",
                f"{folder}/C",
                str(ranks),
                "-m",
                MEASURES,
                "--sizes",
                sizes,
                "--repeats",
                str(options.repeats),
                "--workers",
                str(options.workers),
            ]
        )
    runs = len(SYSTEMS) * len(SIZES) * options.repeats
    print(f"{len(SYSTEMS)} systems x {len(SIZES)} sizes x {options.repeats} repeats x {len(MEASURES.split())} measures")
    print(
        f"kgtrec: {ours.seconds:.1f} s with {options.workers} workers on {os.cpu_count()} processors, "
        f"{ours.processor:.1f} s CPU, {ours.peak_mb:.0f} MB in the largest process"
    )
    if importlib.util.find_spec("pytrec_eval") is None:
        print("pytrec_eval is not installed: pip install 'kgtrec[peers]'")
        return
    for depth in options.depth:
        system = read_system(options.data / "systems" / "fb15k-237" / f"{SYSTEMS[0]}.npz")
        run = rank_system(collection, system, depth=depth).run
        print(f"pytrec_eval, lists of {len(run) / len(run.questions):,.0f} candidates:")
        wall, processor = runs * peer_seconds(collection, run, options.rounds)
        print(f"  {wall / runs:.2f} s for a system and subsample; {wall / 3600:.1f} h for all {runs:,}, extrapolated")
        print(
            f"  ratio: {wall / ours.seconds:,.0f} (its one process beside {options.workers}); "
            f"{processor / ours.processor:,.0f} of CPU"
        )


if __name__ == "__main__":
    main()
