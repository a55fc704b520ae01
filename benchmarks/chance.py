"""Expectation and variance under random ranks: kgtrec beside PyKEEN on FB15k-237's candidate counts.

    python benchmarks/chance.py [--rounds 7]

The counts are those of the 40,932 filtered candidate sets where the data are at hand (KGTREC_DATA), else random ones of
that size. Both sides get the same int64 array; kgtrec's time includes the grouping of equal counts. Times are medians
over rounds; memory is the peak that Python and numpy allocate during one call.
WMR weighs each relation alike, so that its weights differ between answers. N*1000 is the same with a thousand times as
many candidates, the size of a large knowledge graph: PyKEEN's tables grow with N, kgtrec's do not.
PyKEEN comes with ``pip install kgtrec[peers]``.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sizes import data_folder, parsed

from kgtrec import build_questions, parse_measure, read_triples
from kgtrec.evaluation.summarise import ItemValues, chance_level
from kgtrec.kernels.chance.ranks import Moments

ANSWERS, ENTITIES = 40_932, 14_541
LARGE = 1000  # how many times as many candidates the large case has
Work = Callable[[], Moments]


def candidate_counts() -> tuple[str, np.ndarray, np.ndarray]:
    """Name, (40,932,) filtered candidate counts, the true answer included, and weights by which relations are equal."""
    if not (data_folder() / "fb15k-237").is_dir():
        removed = np.minimum(np.random.default_rng(0).zipf(1.3, ANSWERS), ENTITIES) - 1
        relation = np.minimum(np.random.default_rng(1).zipf(1.5, ANSWERS), 237) - 1
        return "made-up counts of FB15k-237's size", ENTITIES - removed, 1.0 / np.bincount(relation)[relation]
    folder = data_folder() / "fb15k-237"
    train, valid, test = (read_triples(folder / f"{name}.tsv.gz") for name in ("train", "valid", "test"))
    collection = build_questions(train, valid, test)
    n_questions = len(collection.questions)
    filtered = np.bincount(collection.filtered.question, minlength=n_questions)
    answers = np.bincount(collection.qrels.question, minlength=n_questions)
    counts = (len(collection.entities) - filtered - answers + 1)[collection.qrels.question]
    relation = collection.questions.relation[collection.qrels.question]
    return "FB15k-237", counts, 1.0 / np.bincount(relation)[relation]


def measure(work: Work, rounds: int) -> tuple[float, float, Moments]:
    """Median seconds of a call, its peak memory in MB, and what it finds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return statistics.median(times), peak / 1e6, found


def own_works(counts: np.ndarray, weights: np.ndarray) -> dict[str, Work]:
    """Both moments of each measure by kgtrec."""

    def both(measure: str, counts: np.ndarray, weights: np.ndarray | None = None) -> Work:
        nothing = np.zeros(len(counts), np.int32)
        items = ItemValues(nothing.astype(float), nothing, nothing, weights, counts, None)
        known = parse_measure(measure)
        return lambda: Moments(*(float(moment[0]) for moment in chance_level(known, items, 1, "chance")))

    return {
        "MR": both("micro.MR", counts),
        "MRR": both("micro.MRR", counts),
        "Hits@10": both("micro.Hits@10", counts),
        "GMR": both("micro.GMR", counts),
        "WMR": both("micro.WMR", counts, weights),
        f"MRR, N*{LARGE}": both("micro.MRR", counts * LARGE),
        f"GMR, N*{LARGE}": both("micro.GMR", counts * LARGE),
    }


def peer_works(counts: np.ndarray, weights: np.ndarray) -> dict[str, Work]:
    """The same by PyKEEN, none where it is not installed."""
    if importlib.util.find_spec("pykeen") is None:
        return {}
    from pykeen.metrics import ranking

    def both(metric: ranking.RankBasedMetric, counts: np.ndarray, weights: np.ndarray | None = None) -> Work:
        return lambda: Moments(
            metric.expected_value(num_candidates=counts, weights=weights),
            metric.variance(num_candidates=counts, weights=weights),
        )

    return {
        "MR": both(ranking.ArithmeticMeanRank(), counts),
        "MRR": both(ranking.InverseHarmonicMeanRank(), counts),
        "Hits@10": both(ranking.HitsAtK(10), counts),
        "GMR": both(ranking.GeometricMeanRank(), counts),
        "WMR": both(ranking.GeometricMeanRank(), counts, weights),
        f"MRR, N*{LARGE}": both(ranking.InverseHarmonicMeanRank(), counts * LARGE),
        f"GMR, N*{LARGE}": both(ranking.GeometricMeanRank(), counts * LARGE),
    }


def main() -> None:
    """Print times, memory, ratios and how far apart the moments lie."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parsed(parser, rounds=1).rounds
    origin, counts, weights = candidate_counts()
    print(f"{origin}: {counts.size:,} answers, {np.unique(counts).size:,} distinct counts up to {counts.max():,}")
    peers = peer_works(counts, weights)
    if not peers:
        print("PyKEEN is not installed, so it is left out: pip install kgtrec[peers]")
    print(f"{'':<14}{'ms':>9}{'MB':>8}{'PyKEEN ms':>12}{'MB':>9}{'time ratio':>12}{'apart: E':>11}{'Var':>10}")
    for name, work in own_works(counts, weights).items():
        seconds, memory, own = measure(work, rounds)
        line = f"{name:<14}{seconds * 1e3:>9.2f}{memory:>8.2f}"
        if name in peers:
            peer_seconds, peer_memory, peer = measure(peers[name], rounds)
            apart = [abs(a / b - 1) for a, b in zip(own, peer, strict=True)]
            line += f"{peer_seconds * 1e3:>12.2f}{peer_memory:>9.2f}{peer_seconds / seconds:>11.1f}x"
            line += f"{apart[0]:>11.1e}{apart[1]:>10.1e}"
        print(line)


if __name__ == "__main__":
    main()
