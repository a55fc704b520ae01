"""Ranking by tiles: what shards and workers cost, and what a model of 2.5 million entities takes.

    python benchmarks/tiles.py [--rounds 3] [--questions 512] [--entities 2500604] [--dimensions 200] [--depth 100]

Prints

1. for FB15k-237 and a trained system (KGTREC_DATA), the processor time of ranking in 2 and 8 shards beside one, and the
   seconds of two workers beside one;
2. for a synthetic model of ogbl-wikikg2's size, float16 in a mapped file, one unit at a time: seconds of the product
   (with reading and widening of the vectors), of counting and of the lists, their ratio, and the largest resident
   memory;
3. from these rates the hours of all 1.2 million questions on more cores, by a simulation of units, stragglers and the
   time that a scheduler takes for each.
"""

from __future__ import annotations

import argparse
import heapq
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from kgtrec.collection.questions import build_questions
from kgtrec.formats.triples import read_triples
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.kernels.ranking.panels import Vectors
from kgtrec.ranking import tiles
from kgtrec.ranking.executors import done_in_order
from kgtrec.ranking.plans import read_plan, write_plan
from kgtrec.ranking.system import grid_of
from kgtrec.ranking.tiles import Block, Candidates, Tiling, count_block
from kgtrec.systems import read_system
from kgtrec.workers.processes import local_workers

DATA = Path(os.environ.get("KGTREC_DATA") or Path(__file__).parents[2] / "shared" / "data")
WIKIKG2_QUESTIONS, FILTERED = 1_197_086, 30  # two for each test triple; known answers of a question, at random
SCHEDULING, STRAGGLERS, SLOWER = 0.002, 0.01, 5.0  # seconds a unit of one scheduler; a share of units is slower


def fb15k_237(rounds: int, depth: int) -> None:
    """Shards and workers on a small model."""
    splits = [read_triples(DATA / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test")]
    collection = build_questions(*splits)
    system = read_system(DATA / "systems" / "fb15k-237" / "rotate.npz")
    costs: dict[int, list[float]] = {1: [], 2: [], 8: []}
    for _ in range(rounds):
        for n_shards, own in costs.items():
            grid = grid_of(collection, system, depth=depth, n_shards=n_shards)
            start = time.process_time()
            for _ in grid.in_turn():
                pass
            own.append(time.process_time() - start)
    one = statistics.median(costs[1])
    for n_shards, own in costs.items():
        found = statistics.median(own)
        print(f"FB15k-237, {n_shards} shards: {found:.2f} s of processor time, {found / one:.2f} of one")
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, own in seconds.items():
            with tempfile.TemporaryDirectory() as folder:
                write_plan(Path(folder, "plan"), grid_of(collection, system, depth=depth, block=256))
                plan = read_plan(Path(folder, "plan"))
                with local_workers(workers) as pool:  # started before the clock
                    pool.submit(os.getpid).result()
                    start = time.perf_counter()
                    for _ in done_in_order(plan, collection, lambda pool=pool: _Kept(pool)):
                        pass
                    own.append(time.perf_counter() - start)
    one, two = (statistics.median(own) for own in seconds.values())
    print(f"FB15k-237, 2 workers: {two:.2f} s, {one / two:.2f} times as fast as one ({one:.2f} s)")


class _Kept:
    """An executor that stays open."""

    def __init__(self, pool: object) -> None:
        self.pool = pool

    def __enter__(self) -> object:
        return self.pool

    def __exit__(self, *_: object) -> None:
        pass


def wikikg2(n_questions: int, n_entities: int, dimensions: int, depth: int) -> float:
    """Seconds of a question on one core of this machine."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "E.npy")
        E = np.lib.format.open_memmap(path, "w+", np.float16, (n_entities, dimensions))
        for first in range(0, n_entities, 1 << 16):
            E[first : first + (1 << 16)] = rng.normal(size=E[first : first + (1 << 16)].shape)
        E.flush()
        del E
        vectors = Vectors(np.load(path, mmap_mode="r"), None, PRODUCT)
        order = rng.permutation(n_entities).astype(np.int32)
        candidates = Candidates(vectors, np.arange(n_entities), order, depth)
        tiling = Tiling.of(n_entities)
        spent = {"product": 0.0, "counting": 0.0, "lists": 0.0}
        _timed(spent)
        start = time.perf_counter()
        for first in range(0, n_questions, tiling.rows):
            n = min(tiling.rows, n_questions - first)
            aside = np.unique(rng.integers(0, n * n_entities, n * FILTERED))
            placed = np.unique(rng.integers(0, n * n_entities, n))
            block = Block(
                np.arange(first, first + n),
                np.asarray(vectors.E[rng.integers(0, n_entities, n)], np.float64),
                placed // n_entities,
                placed % n_entities,
                np.ones(len(placed), np.bool_),
                *(aside // n_entities, aside % n_entities) * 2,
            )
            count_block(candidates, block, tiling)
        whole = time.perf_counter() - start
    rest = spent["counting"] + spent["lists"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n_entities:,} entities x {dimensions}, {n_questions:,} questions: {whole:.1f} s ("
        + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items())
        + f"); counting and lists {rest / spent['product']:.0%} of the product; {memory:.2f} GiB at most, of which "
        f"{n_entities * dimensions * 2 / 2**30:.2f} GiB are the mapped file"
    )
    return whole / n_questions


def _timed(spent: dict[str, float]) -> None:
    """Add up the seconds that parts of a tile take."""

    def timed(owner: object, name: str, part: str) -> None:
        plain = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            start = time.perf_counter()
            found = plain(*arguments, **options)
            spent[part] += time.perf_counter() - start
            return found

        setattr(owner, name, call)

    timed(tiles, "scores_of", "product")
    timed(tiles, "count_against", "counting")
    timed(tiles, "refuse_nan", "counting")
    timed(tiles.RunningTopK, "add", "lists")
    timed(tiles.RunningTopK, "best", "lists")


def simulated(seconds_of_question: float, rows: int, cores: int, n_questions: int) -> float:
    """Hours of all questions on so many cores: units in order, some of them slow, each handed out by one scheduler."""
    rng = np.random.default_rng(0)
    n_units = -(-n_questions // rows)
    took = seconds_of_question * rows * np.where(rng.random(n_units) < STRAGGLERS, SLOWER, 1.0)
    free = [0.0] * cores
    scheduler = 0.0
    for seconds in took.tolist():
        scheduler = max(scheduler, free[0]) + SCHEDULING
        heapq.heapreplace(free, scheduler + seconds)
    return max(free) / 3600


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=512)
    parser.add_argument("--entities", type=int, default=2_500_604)
    parser.add_argument("--dimensions", type=int, default=200)
    parser.add_argument("--depth", type=int, default=100)
    options = parser.parse_args()
    if DATA.is_dir():
        fb15k_237(options.rounds, options.depth)
    each = wikikg2(options.questions, options.entities, options.dimensions, options.depth)
    rows = Tiling.of(options.entities).rows
    for cores in (2, 32, 256, 1024):
        hours = simulated(each, rows, cores, WIKIKG2_QUESTIONS)
        alone = each * WIKIKG2_QUESTIONS / 3600
        print(
            f"simulated, all questions on {cores:,} cores: {hours:.2f} h, {alone / hours / cores:.0%} of the cores used"
        )


if __name__ == "__main__":
    main()
