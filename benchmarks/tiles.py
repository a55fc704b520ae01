"""Ranking by tiles: what shards and workers cost, and what a model of 2.5 million entities takes.

    python benchmarks/tiles.py [--rounds 3] [--questions 512] [--entities 2500604] [--dimensions 200] [--depth 100]

Prints

1. for FB15k-237 and a trained system (KGTREC_DATA), the processor time of its tiles in 2 and 8 shards, each counted on
   its own and then merged, as workers do, beside that of whole blocks; the seconds of two workers beside one, and the
   processor time of the process that collects their results;
2. for a synthetic model of ogbl-wikikg2's size, float16 in a mapped file, one piece at a time: processor time of the
   product (with reading and widening of the vectors), of counting and of the lists, their ratio, and the largest
   resident memory; and what 8 shards cost there;
3. how long a Dask scheduler takes for a piece, if ``distributed`` is installed;
4. from these rates the hours of large rankings on more cores: see :mod:`tiles_simulated`.

Processor time is that of one thread: OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import importlib.util
import pickle
import resource
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from sizes import data_folder, parsed
from tiles_simulated import Rates, print_table, seconds_of_scheduling

from kgtrec import build_questions, read_system, read_triples
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.kernels.ranking.pairs import Pairs
from kgtrec.kernels.ranking.panels import PANEL, Vectors
from kgtrec.ranking import grid_of, tiles
from kgtrec.ranking.tiles import Candidates, QuestionBlock, Tiling, count_tile, merged
from kgtrec.workers.processes import local_workers

FILTERED = 30  # filtered answers of a question of the synthetic model, at random
UNIT, COLLECTING, SCHEDULING = 0.02, 0.002, 0.002  # seconds a piece, where data or Dask are not there to measure them


def fb15k_237(rounds: int, depth: int) -> tuple[float, float]:
    """Shards and workers on a small model; seconds besides the tile that a piece takes, and its collecting."""
    splits = [read_triples(data_folder() / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test")]
    collection = build_questions(*splits)
    system = read_system(data_folder() / "systems" / "fb15k-237" / "rotate.npz")
    costs: dict[int, list[float]] = {1: [], 2: [], 8: []}
    grid = grid_of(collection, system, depth=depth)
    for _ in range(rounds):
        for n_shards, own in costs.items():
            grid.tiling = replace(grid.tiling, n_shards=n_shards)
            start = time.process_time()
            for number in range(len(grid)):
                block = grid.block(number)
                grid.ranked(block, grid.joined(block, grid.counted(block)))
            own.append(time.process_time() - start)
    for n_shards, own in costs.items():
        ratio = statistics.median(each / one for each, one in zip(own, costs[1], strict=True))
        print(f"FB15k-237, shards: {n_shards}; {statistics.median(own):.2f} s of processor time, {ratio:.2f} of one")
    grid = grid_of(collection, system, depth=depth, block=256)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    collecting = []
    for _ in range(rounds):
        for workers, own in seconds.items():
            with tempfile.TemporaryDirectory() as folder, local_workers(workers) as pool:  # started before the clock
                start, used = time.perf_counter(), time.process_time()
                for _ in grid.parts(executor=pool, unfinished=Path(folder, "unfinished")):
                    pass
                own.append(time.perf_counter() - start)
                collecting.append(time.process_time() - used)
    one, two = (statistics.median(own) for own in seconds.values())
    print(
        f"FB15k-237, 2 workers: {two:.2f} s, {one / two:.2f} times as fast as one ({one:.2f} s); the process that "
        f"collects takes {statistics.median(collecting):.2f} s of processor time for {len(grid)} pieces"
    )
    took = []
    for number in range(min(30, len(grid))):
        start = time.perf_counter()
        block = pickle.loads(pickle.dumps(grid.block(number)))  # noqa: S301  # as a worker receives it
        pickle.dumps(count_tile(grid.candidates, block, (0, PANEL), grid.tiling))
        took.append(time.perf_counter() - start)
    print(f"a piece of 256 questions and 1,024 entities: {statistics.median(took):.4f} s")
    return statistics.median(took), statistics.median(collecting) / len(grid)


def synthetic_vectors(folder: Path, n_entities: int, dimensions: int, rng: np.random.Generator) -> Vectors:
    """Random vectors, float16 in a mapped file."""
    path = folder / "E.npy"
    E = np.lib.format.open_memmap(path, "w+", np.float16, (n_entities, dimensions))
    for first in range(0, n_entities, 1 << 16):
        E[first : first + (1 << 16)] = rng.normal(size=E[first : first + (1 << 16)].shape)
    E.flush()
    del E
    return Vectors(np.load(path, mmap_mode="r"), None, PRODUCT)


def synthetic_block(vectors: Vectors, rows: range, rng: np.random.Generator) -> QuestionBlock:
    """Questions with random vectors, an answer each, and filtered answers."""
    n, n_entities = len(rows), len(vectors.E)
    aside = np.unique(rng.integers(0, n * n_entities, n * FILTERED))
    placed = np.unique(rng.integers(0, n * n_entities, n))
    return QuestionBlock(
        np.arange(rows.start, rows.stop),
        np.asarray(vectors.E[np.sort(rng.integers(0, n_entities, n))], np.float64),
        Pairs(*np.divmod(placed, n_entities)),
        np.ones(len(placed), np.bool_),
        *(Pairs(*np.divmod(aside, n_entities)),) * 2,
    )


def wikikg2(n_questions: int, n_entities: int, dimensions: int, depth: int) -> tuple[float, float]:
    """Seconds of one core: of the product, for a question, an entity and a dimension; and of the rest."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        vectors = synthetic_vectors(Path(folder), n_entities, dimensions, rng)
        order = rng.permutation(n_entities).astype(np.int32)
        candidates = Candidates(vectors, np.arange(n_entities), order, depth)
        tiling = Tiling.of(n_entities)
        spent = {"product": 0.0, "counting": 0.0, "lists": 0.0}
        starts = range(0, n_questions, tiling.rows)
        blocks = [synthetic_block(vectors, range(at, min(at + tiling.rows, n_questions)), rng) for at in starts]
        shards = {}
        for n_shards in (1, 8):
            start = time.process_time()
            cut = replace(tiling, n_shards=n_shards).shards(n_entities)
            merged(candidates, blocks[0], [count_tile(candidates, blocks[0], shard, tiling) for shard in cut])
            shards[n_shards] = time.process_time() - start
        _timed(spent)
        start, used = time.perf_counter(), time.process_time()
        for block in blocks:
            count_tile(candidates, block, (0, n_entities), tiling)
        whole, used = time.perf_counter() - start, time.process_time() - used
    rest = spent["counting"] + spent["lists"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{n_entities:,} entities x {dimensions}, {n_questions:,} questions: {whole:.1f} s, {used:.1f} s of processor "
        "time ("
        + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items())
        + f"); counting and lists {rest / spent['product']:.0%} of the product; {memory:.2f} GiB at most, of which "
        f"{n_entities * dimensions * 2 / 2**30:.2f} GiB are the mapped file; a block in 8 shards takes "
        f"{shards[8] / shards[1]:.2f} of the processor time of one shard"
    )
    each = n_questions * n_entities
    return spent["product"] / each / dimensions, rest / each


def _timed(spent: dict[str, float]) -> None:
    """Add up the processor seconds that parts of a tile take."""

    def timed(owner: object, name: str, part: str) -> None:
        plain = getattr(owner, name)

        def call(*arguments: object, **options: object) -> object:
            start = time.process_time()
            found = plain(*arguments, **options)
            spent[part] += time.process_time() - start
            return found

        setattr(owner, name, call)

    timed(tiles, "scores_of", "product")
    timed(tiles, "count_against", "counting")
    timed(tiles, "require_numbers", "counting")
    timed(tiles.RunningTopK, "add", "lists")
    timed(tiles.RunningTopK, "best", "lists")


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=512)
    parser.add_argument("--entities", type=int, default=2_500_604)
    parser.add_argument("--dimensions", type=int, default=200)
    parser.add_argument("--depth", type=int, default=100)
    options = parsed(parser, rounds=1, questions=8, entities=2_000, dimensions=4, depth=5)
    unit, collecting = fb15k_237(options.rounds, options.depth) if data_folder().is_dir() else (UNIT, COLLECTING)
    product, rest = wikikg2(options.questions, options.entities, options.dimensions, options.depth)
    scheduling, about = SCHEDULING, "assumed"
    if importlib.util.find_spec("distributed") is not None:
        scheduling, about = seconds_of_scheduling(), "measured now"
    print(f"Dask: {1000 * scheduling:.2f} ms a piece, {about}")
    print_table(Rates(product, rest, unit, collecting, scheduling))


if __name__ == "__main__":
    main()
