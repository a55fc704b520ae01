"""Hours of large rankings on many cores, from rates that were measured on one.

A simulation of units that are handed out in order by one scheduler, and collected by one process. It assumes, and does
not measure, that one unit in a hundred takes five times as long as the others, and that each machine has 32 cores,
holds the vectors in memory, and reads them once, a gigabyte a second, before it begins.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace

import numpy as np

from kgtrec.ranking.tiles import Tiling

STRAGGLERS, SLOWER = 0.01, 5.0  # a share of units is slower
MACHINE, READING = 32, 1e9  # cores; bytes a second
ROWS = 256  # questions in a block
CORES = (2, 32, 256)  # as many as there are pieces under way, see kgtrec.workers.results
MANY = 4000  # units that a scheduler is measured with


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds."""

    product: float  # for a question, an entity and a dimension
    rest: float  # counting and lists, for a question and an entity
    unit: float  # for a unit besides: to send its block, and its result
    collecting: float  # for a unit, by the process that collects
    scheduling: float  # for a unit, by the scheduler
    stragglers: float = STRAGGLERS


@dataclass(frozen=True, slots=True)
class Ranking:
    """A model and its questions."""

    name: str
    n_questions: int
    n_entities: int
    dimensions: int  # of float16

    def alone(self, rates: Rates) -> float:
        """Seconds of one core."""
        return self.n_questions * self.n_entities * (rates.product * self.dimensions + rates.rest)


RANKINGS = (
    Ranking("ogbl-wikikg2, all 1,197,086 questions", 1_197_086, 2_500_604, 200),
    Ranking("WikiKG90Mv2, 15,000 questions", 15_000, 91_230_610, 400),
)


def simulated(ranking: Ranking, rates: Rates, cores: int, n_shards: int) -> float:
    """Seconds until all is collected."""
    rng = np.random.default_rng(0)
    n_blocks = -(-ranking.n_questions // ROWS)
    one = ranking.alone(rates) / n_blocks / n_shards + rates.unit
    took = one * np.where(rng.random(n_blocks * n_shards) < rates.stragglers, SLOWER, 1.0)
    begun = ranking.n_entities * ranking.dimensions * 2 / READING
    free = [begun] * cores
    scheduler, collector, ready = 0.0, 0.0, 0.0
    for unit, seconds in enumerate(took.tolist(), 1):
        scheduler = max(scheduler, free[0]) + rates.scheduling
        ready = max(ready, scheduler + seconds)
        heapq.heapreplace(free, scheduler + seconds)
        if unit % n_shards == 0:  # a block is whole; blocks are collected in order
            collector = max(collector, ready) + rates.collecting * n_shards
    return collector


def held_up(ranking: Ranking, rates: Rates, cores: int, n_shards: int) -> str:
    """What most time is lost by, beyond an even share of the work."""
    seconds = simulated(ranking, rates, cores, n_shards)
    only_work = Rates(rates.product, rates.rest, 0.0, 0.0, 0.0, stragglers=0.0)
    reading = ranking.n_entities * ranking.dimensions * 2 / READING
    lost = {
        "slow units": seconds - simulated(ranking, replace(rates, stragglers=0.0), cores, n_shards),
        "the scheduler": seconds - simulated(ranking, replace(rates, scheduling=0.0), cores, n_shards),
        "the process that collects": seconds - simulated(ranking, replace(rates, collecting=0.0), cores, n_shards),
        "sending blocks and results": seconds - simulated(ranking, replace(rates, unit=0.0), cores, n_shards),
        "reading the model": reading,
        "a last round of units that not all cores have": simulated(ranking, only_work, cores, n_shards)
        - reading
        - ranking.alone(rates) / cores,
    }
    return max(lost, key=lost.__getitem__)


def print_table(rates: Rates) -> None:
    """Hours by cores."""
    for ranking in RANKINGS:
        alone = ranking.alone(rates)
        print(f"simulated: {ranking.name} x {ranking.n_entities:,} entities x {ranking.dimensions}")
        for cores in CORES:
            n_shards = Tiling.of(ranking.n_entities, ROWS).n_shards
            seconds = simulated(ranking, rates, cores, n_shards)
            n_units = -(-ranking.n_questions // ROWS) * n_shards
            print(
                f"  {cores:>5,} cores, {n_shards:>2} shards, {n_units:>7,} units: {seconds / 3600:8.3f} h, "
                f"{alone / seconds / cores:.0%} of the cores used; most of the rest is lost by "
                f"{held_up(ranking, rates, cores, n_shards)}"
            )


def nothing(work: str, unit: int) -> None:
    """A unit without work."""


def seconds_of_scheduling() -> float:
    """What a Dask scheduler, its client and two workers take for a unit without work, one after the other."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
        client.get_executor(pure=False) as executor,
    ):
        for future in [executor.submit(nothing, "work", unit) for unit in range(100)]:
            future.result()
        start = time.perf_counter()
        for future in [executor.submit(nothing, "work", unit) for unit in range(MANY)]:
            future.result()
        return (time.perf_counter() - start) / MANY
