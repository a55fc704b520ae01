"""How far average precision that is estimated from stratified pools is off, beside the published quotient.

    python benchmarks/sampled_pools.py [--questions 200] [--samples 20] [--seed 0]

Simulates questions with 60 candidates each: the known answer at rank 1, and relevant ones below rank 10, which one
system ranks at random places there, while the other one prefers them to the others. Prints, for several strata and
numbers of relevant candidates, by how much the mean estimate of many samples differs from the average precision of the
whole pool: statAP and xinfAP of `kgtrec.campaign.estimate_ap`, and the quotient of Aslam and Pavlu (2007) on the same
samples. The second figure of each is the standard deviation of a single estimate. All are in percent of the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sizes import parsed

from kgtrec import Collection, Pool, Run, Triples, build_questions, pool_runs
from kgtrec.campaign import Decisions, estimate_ap
from kgtrec.data.judgements import AGREED

LENGTH, TOP = 60, 10
STRATA = (((10, 1.0), (100, 0.1)), ((10, 1.0), (30, 0.3), (100, 0.1)), ((10, 1.0), (100, 0.3)), ((10, 0.3), (100, 0.3)))
BELOW: dict[str, Callable[[np.random.Generator], int]] = {
    "11 each": lambda rng: 11,
    "geometric, mean 11": lambda rng: min(LENGTH - TOP, int(rng.geometric(1 / 12)) - 1),
    "0 or 22": lambda rng: int(rng.choice([0, 22])),
}
Truth = NDArray[np.bool_]


def world(n: int, below: Callable[[np.random.Generator], int], rng: np.random.Generator) -> tuple[Truth, list[Truth]]:
    """(n, LENGTH) which candidates are relevant, and each system's order of them."""
    truth = np.zeros((n, LENGTH), bool)
    truth[:, 0] = True
    for row in truth:
        row[TOP + rng.choice(LENGTH - TOP, below(rng), replace=False)] = True
    place = np.arange(LENGTH)
    shift = 2.0 * (place < TOP) + 2.0 * (place == 0)
    orders = [np.argsort(rng.random(truth.shape) - shift - skill * truth, axis=1) for skill in (0.0, 0.7)]
    return truth, orders


def collection_and_runs(n: int, orders: list[NDArray[np.int64]]) -> tuple[Collection, NDArray[np.int32], list[Run]]:
    """The answer of each question is candidate 0; only tail questions are pooled for."""
    names = [f"e{place}" for place in range(LENGTH)]
    train = Triples.of([(name, "all", names[0]) for name in names])
    made = build_questions(train, Triples.of([]), Triples.of([(f"q{row}", "r", names[0]) for row in range(n)]))
    rows = np.flatnonzero(~made.questions.is_head).astype(np.int32)
    entity = made.entities.encode(names)
    scores = -np.tile(np.arange(LENGTH, dtype=float), n)
    runs = [
        Run.of(name, np.repeat(rows, LENGTH), entity[order].ravel(), scores, made.questions.ids, made.entities)
        for name, order in zip(("random below", "better below"), orders, strict=True)
    ]
    return made, rows, runs


def judged(pool: Pool, truth: Truth) -> Decisions:
    """What somebody who knows says."""
    labels = pool.triples.entities
    question = np.array([int(labels[code][1:]) for code in pool.triples.head])
    candidate = np.array([int(labels[code][1:]) for code in pool.triples.tail])
    return Decisions(np.full(len(pool), AGREED, np.int8), truth[question, candidate].astype(np.int8))


def published(pool: Pool, decisions: Decisions, orders: list[NDArray[np.int64]], n: int) -> NDArray[np.float64]:
    """(systems,) Aslam and Pavlu's quotient; candidates of one probability are drawn together."""
    labels = pool.triples.entities
    question = np.array([int(labels[code][1:]) for code in pool.triples.head])
    candidate = np.array([int(labels[code][1:]) for code in pool.triples.tail])
    chance, relevant = np.ones((n, LENGTH)), np.zeros((n, LENGTH))
    chance[question, candidate], relevant[question, candidate] = pool.probability, decisions.verdict
    relevant[:, 0] = 1.0
    is_in = np.zeros((n, LENGTH), bool)
    is_in[question, candidate] = True
    found = []
    for order in orders:
        own, share, drawn = (np.take_along_axis(each, order, axis=1) for each in (relevant, chance, is_in))
        total = np.zeros(n)
        for row in range(n):
            at = np.flatnonzero(own[row])
            size = np.array([np.sum(drawn[row] & (share[row] == share[row, place])) for place in at])
            both = np.outer(share[row, at], share[row, at])  # the probability that two are drawn
            together = (share[row, at][:, None] == share[row, at]) & (share[row, at] < 1)
            many = np.round(size / share[row, at])
            with np.errstate(all="ignore"):
                both = np.where(together, size * (size - 1) / (many * (many - 1)), both)
            above = np.tril(1.0 / both, -1).sum(axis=1)
            total[row] = ((1.0 / share[row, at] + above) / (at + 1)).sum()
        found.append((total / (own / share).sum(axis=1)).mean())
    return np.array(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, questions=5, samples=2)
    n = options.questions
    print("| relevant below | strata | system | AP | statAP | xinfAP | published quotient |")
    print("|---|---|---|---|---|---|---|")
    for name, below in BELOW.items():
        truth, orders = world(n, below, np.random.default_rng(options.seed))
        collection, rows, runs = collection_and_runs(n, orders)
        whole = pool_runs(collection, runs, depth=100, questions=rows)
        expected = estimate_ap(collection, runs, whole, judged(whole, truth)).values.ravel()
        for strata in STRATA:
            found = []
            for seed in range(options.samples):
                pool = pool_runs(collection, runs, strategy="stratified", strata=strata, questions=rows, seed=seed)
                decisions = judged(pool, truth)
                found.append(
                    [
                        estimate_ap(collection, runs, pool, decisions).values.ravel(),
                        estimate_ap(collection, runs, pool, decisions, whole=whole).values.ravel(),
                        published(pool, decisions, orders, n),
                    ]
                )
            mean, deviation = np.mean(found, axis=0) / expected - 1.0, np.std(found, axis=0) / expected
            shown = ",".join(f"{last}:{share:g}" for last, share in strata)
            for place, run in enumerate(runs):
                cells = [f"{mean[way, place]:+.1%} ({deviation[way, place]:.1%})" for way in range(3)]
                print(f"| {name} | {shown} | {run.name} | {expected[place]:.4f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
