"""Discriminative power: kgtrec's tests of all pairs of systems beside plain numpy and scipy.

    python benchmarks/power.py [--peer-pairs 3] [COLLECTION NAME.ranks.parquet ...]

Reciprocal ranks of the systems given, such as FB15k-237's 8 (kgtrec questions, kgtrec rank), else made-up ones of that
size.

bootstrap   Sakai's achieved significance level with 1,000 samples for all pairs, over questions (macro.MRR) and over
            answers drawn by question (micro.MRR). The peer is the algorithm as it is printed, a loop over samples for
            each pair in plain numpy, on the same draws; it is timed on a few pairs and multiplied to all of them.
permutation scipy.stats.permutation_test of the mean of paired differences, 1,000 shuffles, on a few pairs, multiplied
            too; beside kgtrec's randomised Tukey HSD, which shuffles all systems at once.
t           paired t-tests of all pairs beside scipy.stats.ttest_rel, pair by pair.

What is multiplied is marked with ~. The p-values of both sides are compared; they must agree where they are of the same
draws.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from sizes import parsed

from kgtrec import Vocabulary
from kgtrec.evaluation import ItemScores
from kgtrec.kernels.statistics.paired_tests import pairs
from kgtrec.meta import power
from kgtrec.meta.power import paired_sample

SYSTEMS = 8
REPEATS = 1000
MEASURES = ("macro.MRR", "micro.MRR")


def real_scores(folder: str, ranks: list[str]) -> dict[str, ItemScores]:
    """What real systems scored, of their answer ranks."""
    from kgtrec import read_answer_ranks, read_collection
    from kgtrec.evaluation import item_scores

    return item_scores(read_collection(folder), map(read_answer_ranks, ranks), MEASURES)


def made_up_scores(n_questions: int, n_answers: int) -> dict[str, ItemScores]:
    """Ranks with a long tail, alike within a question."""
    rng = np.random.default_rng(0)
    question = np.sort(np.append(np.arange(n_questions), rng.integers(0, n_questions, n_answers - n_questions)))
    labels = Vocabulary.of([f"q{place}" for place in range(n_questions)])
    names = tuple(f"s{place}" for place in range(SYSTEMS))
    found = {}
    for measure, rows in zip(MEASURES, (np.arange(n_questions), question), strict=True):
        hard = rng.gamma(1.5, 1.5, n_questions)[rows]
        rank = np.ceil(np.exp(hard + rng.normal(0, 0.5, (SYSTEMS, len(rows))) + 0.02 * np.arange(SYSTEMS)[:, None]))
        items = "questions" if measure.startswith("macro") else "answers"
        found[measure] = ItemScores(measure, items, True, "mean", names, 1 / rank, rows.astype(np.int32), labels)
    return found


def sakai(value: np.ndarray, cluster: np.ndarray, repeats: int, seed: int) -> float:
    """The algorithm of Sakai's figure 2 for one pair, with clusters drawn whole and errors that are robust to them."""
    difference = value[0] - value[1]
    place = np.unique(cluster, return_inverse=True)[1]
    n_clusters = place.max() + 1
    size = np.bincount(place).astype(float)

    def studentised(sums: np.ndarray, sizes: np.ndarray) -> float:
        mean = sums.sum() / sizes.sum()
        left = sums - sizes * mean
        return float(mean / (np.sqrt(n_clusters / (n_clusters - 1) * (left**2).sum()) / sizes.sum()))

    sums = np.bincount(place, weights=difference)
    observed = abs(studentised(sums, size))
    shifted = np.bincount(place, weights=difference - difference.mean())
    rng = np.random.default_rng(seed)
    beyond = 0
    for _ in range(repeats):
        drawn = rng.integers(0, n_clusters, n_clusters)
        beyond += abs(studentised(shifted[drawn], size[drawn])) >= observed * (1 - 1e-12)
    return beyond / repeats


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came out."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main() -> None:
    """Print times, ratios and whether the p-values agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-pairs", type=int, default=3)
    parser.add_argument("collection", nargs="?")
    parser.add_argument("ranks", nargs="*")
    parser.add_argument("--questions", type=int, default=22_850, help="made-up ones, where no collection is given")
    parser.add_argument("--answers", type=int, default=40_932)
    options = parsed(parser, peer_pairs=1, questions=100, answers=200)
    n_peer = options.peer_pairs
    if options.collection:
        scores = real_scores(options.collection, options.ranks)
    else:
        scores = made_up_scores(options.questions, options.answers)
    n_systems = len(scores[MEASURES[0]].systems)
    first, second = pairs(n_systems)
    chosen = np.linspace(0, len(first) - 1, n_peer).astype(int)
    print(f"{options.collection or 'made-up scores'}: {n_systems} systems, {len(first)} pairs, {REPEATS:,} repeats")
    print(f"{'test':<12}{'measure':<12}{'items':>8}{'kgtrec s':>10}{'peer s':>11}{'ratio':>9}  p-values")
    for measure in MEASURES:
        own = {measure: scores[measure]}
        sample = paired_sample(scores[measure])
        n = sample.value.shape[1]

        def line(test: str, seconds: float, peer: float, agree: str, name: str = measure, n_items: int = n) -> None:
            # of as many pairs as were timed, to all
            whole = peer * len(first) / n_peer
            print(
                f"{test:<12}{name:<12}{n_items:>8,}{seconds:>10.3f}{'~' + format(whole, '.2f'):>11}"
                f"{whole / seconds:>8.1f}x  {agree}"
            )

        seconds, found = timed(lambda own=own: power(own, tests=["bootstrap"], repeats=REPEATS))
        peer, levels = timed(
            lambda sample=sample: [
                sakai(sample.value[[first[pair], second[pair]]], sample.cluster, REPEATS, 0) for pair in chosen
            ]
        )
        line("bootstrap", seconds, peer, f"apart by {np.abs(found.p[0, 0, chosen] - levels).max():.1e}, same draws")
        seconds, found = timed(lambda own=own: power(own, tests=["tukey"], repeats=REPEATS, resample="item"))
        peer, _ = timed(
            lambda sample=sample: [
                stats.permutation_test(
                    (sample.value[first[pair]] - sample.value[second[pair]],),
                    np.mean,
                    permutation_type="samples",
                    vectorized=True,
                    n_resamples=REPEATS,
                    batch=50,
                    rng=0,
                )
                for pair in chosen
            ]
        )
        line("permutation", seconds, peer, "not the same test: Tukey's holds for all pairs at once")
        seconds, found = timed(lambda own=own: power(own, tests=["t"]))
        peer, tested = timed(
            lambda sample=sample: [
                stats.ttest_rel(sample.value[first[pair]], sample.value[second[pair]]).pvalue for pair in chosen
            ]
        )
        line("t", seconds, peer, f"apart by {np.abs(found.p[0, 0, chosen] - tested).max():.1e}")


if __name__ == "__main__":
    main()
