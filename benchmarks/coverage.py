"""How often the intervals of `kgtrec evaluate --confidence` hold the true value, on test sets drawn from a real one.

    python benchmarks/coverage.py --system FB15k-237 C ranks/tucker.ranks.parquet [--system ...] [--full]

The answer ranks of a real system stand for the population. Test sets are drawn from them, with replacement, in the two
ways that `--drawn` speaks of: so many triples, each with its head and its tail question, or so many questions, each
with all its answers. The true value is that of the population; that of a measure over questions, when triples are
drawn, is the mean over the test sets, as it depends on how many triples are drawn (a triple that is drawn again is
another answer of its rank). The table has, of the test sets whose numbers have an interval, the share whose interval
holds the true value, and, where some have none, how many have one; and of the cells in which fewer than one in twenty
has one, the median effective number.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sizes import collection_and_ranks, parsed

from kgtrec import read_answer_ranks, read_collection
from kgtrec.evaluation.intervals import DRAWN, Drawn, answer_triples, interval_of, least_effective, units_of_lists
from kgtrec.evaluation.prepared import prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.evaluation.summarise import fraction
from kgtrec.kernels.statistics.ratio_intervals import Units, quotients
from kgtrec.measures.aggregate import LINKS
from kgtrec.measures.names import ParsedMeasure, parse_measures

MEASURES = ("micro.MRR", "micro.MR", "micro.Hits@10", "micro.AMRI", "micro.GMR", "macro.MRR", "AP@20")
SIZES = {False: (100, 1_000), True: (100, 1_000, 5_000, 20_000)}  # questions, twice as many as triples
SETS = {False: 300, True: 1_000}
CONFIDENCE = 0.95
_CELLS = 1 << 22  # units drawn at a time

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Population:
    """One system on one collection: its triples, its questions, and their parts in each measure."""

    measures: tuple[ParsedMeasure, ...]
    sums: Mapping[tuple[Drawn, str], tuple[Floats, Floats]]  # what is drawn, measure -> (units,) above and below
    question: Places  # (triples, 2) questions of each triple
    rank: Floats  # (triples, 2) its ranks

    def units(self, drawn: Drawn) -> int:
        """How many triples, or questions, there are."""
        return len(self.sums[drawn, MEASURES[0]][0])

    def truth(self, drawn: Drawn, measure: ParsedMeasure, found: Floats) -> float:
        """The value of the whole, or the mean of those that were found."""
        if (drawn, measure.label) not in self.sums:
            return float(found.mean())
        above, below = self.sums[drawn, measure.label]
        return float(LINKS[measure.record.aggregate].back(above.sum() / below.sum()))


def population(folder: str, path: str) -> Population:
    """What the collection and the answer ranks hold."""
    collection = read_collection(folder)
    qrels = collection.qrels
    measures = tuple(measure for measure in parse_measures(MEASURES) if isinstance(measure, ParsedMeasure))
    made = prepared(collection, read_answer_ranks(path), MEASURES, Scoring(missing="zero"))
    seen = made.matched(next(made.systems))
    triple = answer_triples(qrels, collection)
    sums: dict[tuple[Drawn, str], tuple[Floats, Floats]] = {}
    for measure in measures:
        items = made.items_of(measure, seen)
        parts = fraction(measure, items)
        sums["question", measure.label] = tuple(np.bincount(items.question, weights=part) for part in parts)
        if measure.items == "answers":
            sums["triple", measure.label] = tuple(np.bincount(triple, weights=part) for part in parts)
    by_triple = np.argsort(triple, kind="stable").reshape(-1, 2)
    return Population(measures, sums, seen.answers.question[by_triple].astype(np.intp), seen.answers.rank[by_triple])


def draws(units: int, size: int, sets: int, rng: np.random.Generator) -> Iterator[Places]:
    """Blocks of (b, size) units drawn with replacement."""
    at_once = max(1, _CELLS // size)
    for first in range(0, sets, at_once):
        yield rng.integers(0, units, (min(at_once, sets - first), size))


def tally(measure: ParsedMeasure, drawn: Drawn, units: Units, above: Floats, below: Floats) -> Floats:
    """(4, test sets) value, ends of the interval, and effective number of units of every test set."""
    found = quotients(units, above, below)
    ends = np.sort(interval_of(measure, found, CONFIDENCE), axis=0)
    value = LINKS[measure.record.aggregate].back(found.value)
    given = found.effective >= least_effective(measure, drawn, alike=False)
    return np.vstack([value, np.where(given, ends, np.nan), found.effective])


def lists(rank: Floats, question: Places, triple: Places, group: Places, size: int) -> tuple[Units, Floats, Floats]:
    """What test sets of triples make of questions: the units, and the values of macro.MRR and of AP@20."""
    order = np.lexsort((rank, question, group))
    rank, question, triple, group = (column[order] for column in (rank, question, triple, group))
    starts = np.flatnonzero(np.r_[True, (question[1:] != question[:-1]) | (group[1:] != group[:-1])])
    members = np.diff(np.r_[starts, len(rank)])
    own = np.repeat(np.arange(len(starts)), members)
    number = np.arange(len(rank)) - np.repeat(starts, members)  # of the answer within its list, from 0
    position = rank + number
    precision = np.where(position <= 20, (number + 1) / position, 0.0)
    units = units_of_lists(triple, own, np.arange(len(starts)), group[starts], size)
    return units, 1 / rank[starts], np.add.reduceat(precision, starts) / members


def simulated(own: Population, drawn: Drawn, size: int, sets: int, seed: int) -> dict[str, Floats]:
    """For each measure (4, sets): what `tally` tells of the test sets."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Floats]] = {measure.label: [] for measure in own.measures}
    for block in draws(own.units(drawn), size, sets, rng):
        b = len(block)
        group, unit = np.repeat(np.arange(b), size), np.tile(np.arange(size), b)
        units = Units.of(unit, group, b)
        for measure in own.measures:
            if (drawn, measure.label) in own.sums:
                above, below = (part[block].ravel() for part in own.sums[drawn, measure.label])
                found[measure.label].append(tally(measure, drawn, units, above, below))
        if drawn == "triple":
            rank, question = (part[block].reshape(-1) for part in (own.rank, own.question))
            met, *values = lists(rank, question, np.repeat(unit, 2), np.repeat(group, 2), b)
            for measure, value in zip(own.measures[-2:], values, strict=True):
                found[measure.label].append(tally(measure, drawn, met, value, np.ones(len(value))))
    return {label: np.concatenate(parts, axis=1) for label, parts in found.items()}


def cell(own: Population, drawn: Drawn, measure: ParsedMeasure, told: Floats) -> str:
    """Share of the intervals that hold the true value, and of the test sets that got one."""
    value, low, high, effective = told
    truth = own.truth(drawn, measure, value)
    given = ~np.isnan(low)
    if given.mean() < 0.05:
        return f"none: {np.median(effective[~np.isnan(effective)]):.1f} effective"
    covered = ((low <= truth) & (truth <= high))[given].mean()
    return f"{covered:.1%}" + (f" (of {given.mean():.0%})" if given.mean() < 0.995 else "")


def main() -> None:
    """Print the table, as docs/coverage.csv has it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--system",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "COLLECTION", "RANKS"),
        help="a name for the table, a collection, and answer ranks on it",
    )
    parser.add_argument("--full", action="store_true", help="more test sets, and up to 20,000 questions")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser)
    if options.smallest:
        collection, ranks = collection_and_ranks()
        options.system = [("cities", collection, ranks[0])]
    if not options.system:
        parser.error("expected --system NAME COLLECTION RANKS")
    sizes, sets = (SIZES[options.full], SETS[options.full]) if not options.smallest else ((20,), 20)
    began = time.perf_counter()
    everything = [(name, population(folder, ranks)) for name, folder, ranks in options.system]
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(("drawn", "system", "size", *MEASURES))
    for drawn in DRAWN:
        for name, own in everything:
            for size in (size // 2 if drawn == "triple" else size for size in sizes):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    found = simulated(own, drawn, size, sets, options.seed)
                rows.writerow(
                    (drawn, name, size, *(cell(own, drawn, each, found[each.label]) for each in own.measures))
                )
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
