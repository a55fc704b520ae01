"""How often a range of resampled correlations holds the tau of all questions, and whether another interval would.

    kgtrec questions fb15k-237 --out C
    python benchmarks/coverage_correlation.py C examples/fb15k-237/ranks/*.parquet > docs/comparing-coverage.csv

The answer ranks of real systems are the population. Test sets are drawn from its questions, with replacement, each
question with all its answers. Two rankings of the systems are compared: under all labels and under half of them, drawn
at random, or by two measures. Beside the systems given stand five made of them, each of which takes every question from
one of two. Each cell is the share of test sets, the first with the systems given and the second with the five too, in
which an interval of level 95% holds the tau-b of the population:

- range: the percentiles of the samples' taus, which ``kgtrec meta correlate --confidence`` gives;
- low end: the range's lower end is not above that tau;
- basic: twice the value less the percentiles;
- symmetric: the value plus and less the 95th percentile of the samples' distances from it;
- pairs: a bound that takes every pair of systems for open whose difference is not above the 95th percentile of the
  largest studentised difference, under both rankings; with its mean width.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sizes import collection_and_ranks, parsed

import kgtrec
from kgtrec.evaluation import ItemScores, item_scores
from kgtrec.evaluation.item_scores import higher_terms_are_better, terms
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval
from kgtrec.meta import kendall_tau_b

CONFIDENCE = 0.95
MEASURES = ("micro.MRR", "micro.Hits@1", "micro.MR", "macro.MRR")
COMPARED = (
    ("all micro.MRR", "half micro.MRR"),
    ("all micro.Hits@1", "half micro.Hits@1"),
    ("all macro.MRR", "half macro.MRR"),
    ("all micro.MRR", "all macro.MRR"),
    ("all micro.MRR", "all micro.MR"),
)
MADE = 5
KINDS = ("range", "low end", "basic", "symmetric", "pairs")

Floats = NDArray[np.float64]


def per_question(scores: ItemScores) -> Floats:
    """(questions, systems + 1) sums of what each system scored on a question, the better the higher, and its items."""
    n = len(scores.questions)
    value = terms(scores) if higher_terms_are_better(scores) else -terms(scores)
    rows = [np.bincount(scores.question, row, n) for row in [*value, np.ones(value.shape[1])]]
    return np.stack(rows, axis=1)


def with_mixtures(sums: Floats, n_systems: int, rng: np.random.Generator) -> Floats:
    """Five systems more, before the column of items; each takes every question from one of two of those given."""
    pairs = [rng.choice(n_systems, 2, replace=False) for _ in range(MADE)]
    made = [np.where(rng.random(len(sums)) < 0.5, sums[:, one], sums[:, other]) for one, other in pairs]
    return np.column_stack([sums[:, :n_systems], *made, sums[:, n_systems]])


def population(folder: str, paths: Sequence[str], seed: int) -> tuple[dict[str, Floats], int]:
    """The sums of every ranking of COMPARED, by name, and how many systems were given."""
    collection = kgtrec.read_collection(folder)
    systems = [kgtrec.read_answer_ranks(path) for path in paths]
    qrels = collection.qrels
    kept = np.random.default_rng(seed).random(len(qrels)) < 0.5
    half = dataclasses.replace(qrels, question=qrels.question[kept], entity=qrels.entity[kept], grade=qrels.grade[kept])
    found = {}
    for name, labels in (("all", qrels), ("half", half)):
        for measure, scores in item_scores(labels, systems, MEASURES).items():
            mixing = np.random.default_rng(seed + 1)  # the same questions of the same systems each time
            found[f"{name} {measure}"] = with_mixtures(per_question(scores), len(systems), mixing)
    return found, len(systems)


def intervals(value: float, taus: Floats, first: Sequence[Floats], second: Sequence[Floats]) -> dict[str, Floats]:
    """Ends by kind; ``first`` and ``second`` are the systems' scores and those in the samples, under either ranking."""
    low, high = percentile_interval(taus, CONFIDENCE)
    far = np.nanquantile(np.abs(taus - value), CONFIDENCE)
    one, other = np.triu_indices(len(first[0]), 1)
    sign, largest = np.ones(len(one)), np.zeros(len(taus))
    studentised = []
    for scores, drawn in (first, second):
        gap, gaps = scores[one] - scores[other], drawn[:, one] - drawn[:, other]
        error = gaps.std(axis=0)
        largest = np.maximum(largest, np.max(np.abs(gaps - gap) / error, axis=1))
        sign = sign * np.sign(gap)
        studentised.append(np.abs(gap) / error)
    known = np.minimum(*studentised) > np.quantile(largest, CONFIDENCE)
    middle, half = float((sign * known).sum()), float((~known).sum())
    return {
        "range": np.array([low, high]),
        "low end": np.array([low, 1.0]),
        "basic": np.array([2 * value - high, 2 * value - low]),
        "symmetric": np.array([value - far, value + far]),
        "pairs": np.array([middle - half, middle + half]) / len(one),
    }


def main() -> None:
    """Print CSV."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", nargs="?")
    parser.add_argument("systems", nargs="*", help="answer ranks")
    parser.add_argument("--quick", action="store_true", help="few test sets, of 300 and 1,000 questions")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser)
    sizes, sets, resamples = ((300, 1_000), 50, 200) if options.quick else ((300, 1_000, 2_000, 5_000), 200, 500)
    if options.smallest:
        options.collection, options.systems = collection_and_ranks()
        sizes, sets, resamples = (20,), 2, 20
    if not options.systems:
        parser.error("expected a collection and answer ranks")

    sums, given = population(options.collection, options.systems, options.seed)
    names = list(sums)
    columns = np.concatenate(list(sums.values()), axis=1)

    def scored(totals: Floats) -> dict[str, Floats]:
        parts = np.split(totals, len(names), axis=-1)
        return {name: part[..., :-1] / part[..., -1:] for name, part in zip(names, parts, strict=True)}

    true, rng = scored(columns.sum(axis=0)), np.random.default_rng(options.seed)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["first", "second", "questions", "systems", "tau", *KINDS, "width of pairs"])
    for size in sizes:
        held, width = defaultdict(list), defaultdict(list)
        for number in range(sets):
            own = columns[rng.integers(0, len(columns), size)]
            samples = BootstrapSamples(size, resamples, options.seed + number)
            found = scored(own.sum(axis=0))
            drawn = scored(np.concatenate([block.astype(np.float64) @ own for block in samples]))
            for compared in COMPARED:
                for n in (given, given + MADE):
                    tau = kendall_tau_b(*(true[name][:n] for name in compared))
                    value = float(kendall_tau_b(*(found[name][:n] for name in compared)))
                    taus = kendall_tau_b(*(drawn[name][:, :n] for name in compared))
                    ends = intervals(value, taus, *((found[name][:n], drawn[name][:, :n]) for name in compared))
                    for kind, (low, high) in ends.items():
                        held[compared, n, kind].append(low - 1e-9 <= tau <= high + 1e-9)
                    width[compared, n].append(np.diff(ends["pairs"])[0])
        for compared in COMPARED:
            for n in (given, given + MADE):
                tau = kendall_tau_b(*(true[name][:n] for name in compared))
                shares = [f"{np.mean(held[compared, n, kind]):.3f}" for kind in KINDS]
                rows.writerow([*compared, size, n, f"{tau:.3f}", *shares, f"{np.mean(width[compared, n]):.2f}"])
            sys.stdout.flush()


if __name__ == "__main__":
    main()
