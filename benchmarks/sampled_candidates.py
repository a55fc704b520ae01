"""Whether bounds and intervals from sampled candidates hold the full values, and how wide they are.

    python benchmarks/sampled_candidates.py [--repeats 250] [--bounds 5] [--sizes 50,500,5000] [--shared] [--seed 0]
    python benchmarks/sampled_candidates.py --chosen 3000 [--sizes 100,500]
    python benchmarks/sampled_candidates.py --coverage 1000 [--sizes 500] [--shares 0,0.5] [--repeats 250] [--bounds 5]
    python benchmarks/sampled_candidates.py --time 200 --sizes 500 [--entities 2500604] [--dimensions 200]

Draws candidates for each answer of eight systems on FB15k-237, whose exact ranks are known, and computes the bounds of
``kgtrec.meta.sampled_bounds``. Prints a row for each size of the sample and measure: the mean over systems of the full
value, of the value in the sample, of the point estimate of a model, the mean ends of the bounds without and with the
assumption that no rank is more frequent than a better one, and in how many of all repetitions each held the full value.
Bounds, which take seconds, are computed in the first ``--bounds`` repetitions, the linear measures in all.
With ``--shared`` all answers of a question are ranked among the same sample.

With ``--chosen`` that many questions are scored, and their answers ranked among ``kgtrec.meta.candidate_lists``, half
of which are plausible ones, beside a uniform sample of the same size; all answers of a question share them.
With ``--coverage`` the draws of the random part are repeated, with seeds of 0, 1, ... that the systems share, for each
share of chosen candidates; the systems' questions, and the chosen candidates, are always the same.
With ``--time`` that many questions are ranked among all entities of a synthetic model (a product, float16 in a mapped
file), and among listed ones; and lists are chosen from as many random triples as there are entities. Processor time is
that of one thread: OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sizes import SYSTEMS, data_folder, parsed
from tiles import synthetic_block, synthetic_vectors

from kgtrec import AnswerRanks, Collection, Triples, Vocabulary, build_questions, rank_system, read_triples
from kgtrec.data.sampled_ranks import SampledRanks
from kgtrec.data.triples import SPLITS
from kgtrec.kernels.ranking.panels import PANEL
from kgtrec.meta.candidate_lists import candidate_lists
from kgtrec.meta.sampled import sampled_bounds
from kgtrec.ranking.tiles import Candidates, Tiling, count_tile
from kgtrec.systems import read_system

MEASURES = ("micro.MRR", "micro.Hits@10", "micro.MR", "micro.AMRI")


def exact_ranks() -> list[AnswerRanks]:
    """Of the eight systems."""
    folder = data_folder()
    splits = (read_triples(folder / "fb15k-237" / f"{split}.tsv.gz") for split in ("train", "valid", "test"))
    collection = build_questions(*splits)
    systems = folder / "systems" / "fb15k-237"
    return [rank_system(collection, read_system(systems / f"{name}.npz"), depth=0).answer_ranks for name in SYSTEMS]


def drawn(ranks: AnswerRanks, size: int, rng: np.random.Generator, *, shared: bool) -> SampledRanks:
    """Ranks among samples; where one is shared, it is of places in the question's list."""
    counts = np.stack([ranks.above, ranks.tied, ranks.n_other - ranks.above - ranks.tied], axis=1).astype(np.int64)
    above = np.empty((len(ranks), 2), np.int64)
    if not shared:
        above[:, 0] = rng.hypergeometric(counts[:, 0], counts[:, 1:].sum(axis=1), size)
        rest = np.maximum(size - above[:, 0], 0)
        tied = (counts[:, 1] > 0) & (rest > 0)
        above[:, 1] = 0
        above[tied, 1] = rng.hypergeometric(counts[tied, 1], counts[tied, 2], rest[tied])
    else:
        starts = np.flatnonzero(np.r_[True, ranks.question[1:] != ranks.question[:-1]])
        for first, last in zip(starts, np.r_[starts[1:], len(ranks)], strict=True):
            place = np.sort(rng.choice(int(ranks.n_other[first]), size, replace=False))
            own = counts[first:last]
            above[first:last, 0] = np.searchsorted(place, own[:, 0])
            above[first:last, 1] = np.searchsorted(place, own[:, :2].sum(axis=1)) - above[first:last, 0]
    sample = ranks.question if shared else None
    return SampledRanks.of(ranks.name, *above.T, n_sampled=size, n_candidates=ranks.n_other, sample=sample)


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a system for the questions of a collection, and where their answers are."""

    name: str
    score: NDArray[np.float32]  # (questions, entities)
    question: NDArray[np.int64]  # (answers,)
    positive: NDArray[np.float32]  # (answers,)
    n_others: NDArray[np.int64]  # (questions,) candidates besides the answers
    truth: dict[str, float]  # from the full ranks

    def among(self, lists: NDArray[np.int32], n_certain: int) -> SampledRanks:
        """The ranks among candidates, (questions, n), of which the first ``n_certain`` are chosen."""
        scores = np.take_along_axis(self.score, lists, axis=1)[self.question]
        n = self.n_others[self.question] - n_certain
        return SampledRanks.of_scores(
            self.name, self.positive, scores, n_certain=n_certain, n_candidates=n, sample=self.question
        )


def part_of(collection: Collection, rows: NDArray[np.int64]) -> Collection:
    """The collection of some questions."""
    place = np.full(len(collection.questions), -1, np.int32)
    place[rows] = np.arange(len(rows))
    questions = collection.questions.take(rows)
    qrels, filtered = (
        replace(table.take(own := place[table.question] >= 0), question=place[table.question[own]])
        for table in (collection.qrels, collection.filtered)
    )
    return replace(collection, questions=questions, qrels=replace(qrels, questions=questions.ids), filtered=filtered)


def fb15k_237(n_questions: int, seed: int) -> Collection:
    """Some questions of the data set."""
    folder = data_folder() / "fb15k-237"
    whole = build_questions(*(read_triples(folder / f"{split}.tsv.gz") for split in SPLITS))
    n = len(whole.questions)
    return part_of(whole, np.sort(np.random.default_rng(seed).choice(n, min(n_questions, n), replace=False)))


def no_candidates(collection: Collection) -> NDArray[np.bool_]:
    """(questions, entities) Which are answers, or known ones."""
    out = np.zeros((len(collection.questions), len(collection.entities)), np.bool_)
    out.ravel()[np.concatenate(collection.answers_and_filtered(SPLITS))] = True
    return out


def scored(collection: Collection) -> Iterator[Scored]:
    """Each of the eight systems."""
    folder, asked, width = data_folder() / "systems" / "fb15k-237", collection.questions, len(collection.entities)
    code = collection.entities.encode((folder / "entities.txt").read_text().splitlines())
    of_relation = asked.relations.encode((folder / "relations.txt").read_text().splitlines())
    out = no_candidates(collection)
    question, answer = np.divmod(collection.answers_and_filtered(SPLITS)[0], width)
    for name in SYSTEMS:
        arrays = dict(np.load(folder / f"{name}.npz"))
        is_head, relation, anchor = arrays["questions"].T
        row = asked.rows(is_head == 1, of_relation[relation], code[anchor])
        score = np.empty((len(asked), width), np.float32)
        vectors = arrays["Q"][row >= 0].astype(np.float64), arrays["E"].T.astype(np.float64)
        score[np.ix_(row[row >= 0], code)] = vectors[0] @ vectors[1] + arrays.get("b", 0)
        positive, above = score[question, answer], np.empty(len(question))
        for one in range(len(asked)):
            others, own = np.sort(score[one, ~out[one]]), question == one
            places = [np.searchsorted(others, positive[own], side) for side in ("left", "right")]
            above[own] = len(others) - np.mean(places, axis=0)
        truth = dict(zip(MEASURES, ((1 / (1 + above)).mean(), (above < 10).mean(), 1 + above.mean()), strict=False))
        yield Scored(name, score, question, positive, (~out).sum(axis=1), truth)


def lists_of(collection: Collection, size: int, n_certain: int, seed: int) -> NDArray[np.int32]:
    """Candidates of each question, of which the first ``n_certain`` are chosen, the others drawn at random."""
    if n_certain == size // 2:
        return candidate_lists(collection, size, seed=seed)
    out, rng = no_candidates(collection), np.random.default_rng(seed)
    chosen = np.empty((len(out), 0), np.int32)
    if n_certain:
        chosen = candidate_lists(collection, 2 * n_certain)[:, :n_certain]
        np.put_along_axis(out, chosen, values=True, axis=1)
    drawn = [rng.choice(np.flatnonzero(~row), size - n_certain, replace=False) for row in out]
    return np.concatenate([chosen, np.array(drawn, np.int32)], axis=1)


def beside_chosen(n_questions: int, size: int, seed: int) -> None:
    """Print a row for each system and measure, of candidates half of which are chosen, and of sampled ones."""
    collection = fb15k_237(n_questions, seed)
    lists = [(n_certain, lists_of(collection, size, n_certain, seed)) for n_certain in (size // 2, 0)]
    for system in scored(collection):
        found = [
            sampled_bounds(system.among(own, n_certain), MEASURES[:3], model=True)["bounds"].to_pylist()
            for n_certain, own in lists
        ]
        for measure, value in system.truth.items():
            cells = [f"{value:.3f}"]
            for table in found:
                of = {row["assumption"]: row for row in table if row["measure"] == measure}
                cells.append(f"{of['none']['low']:.3f} to {of['none']['high']:.3f}")
                cells.append(f"{of.get('model', of['none'])['value']:.3f}")
            print(f"| {size:,} | {system.name} | {measure} | {' | '.join(cells)} |", flush=True)


def coverage_of_chosen(options: argparse.Namespace, size: int, n_certain: int) -> None:
    """Print a row for each system: how wide bounds are, and how often they hold the full values."""
    collection = fb15k_237(options.coverage, options.seed)
    lists = [lists_of(collection, size, n_certain, options.seed + draw) for draw in range(options.repeats)]
    for system in scored(collection):
        found: dict[str, list[tuple[float, float, bool]]] = {}
        for draw, own in enumerate(lists):
            measures = MEASURES[2 * (draw >= options.bounds) : 3]
            for row in sampled_bounds(system.among(own, n_certain), measures)["bounds"].to_pylist():
                if row["assumption"] == "none":
                    ends = row["low"], row["high"]
                    held = ends[0] <= system.truth[row["measure"]] <= ends[1]
                    found.setdefault(row["measure"], []).append((*ends, held))
        cells = []
        for measure, rows in found.items():
            low, high, held = np.mean(rows, axis=0)
            digits = 1 if measure == "micro.MR" else 3
            cells.append(f"{system.truth[measure]:.{digits}f} | {low:.{digits}f} to {high:.{digits}f} | {held:.1%}")
        print(f"| {n_certain}+{size - n_certain} | {system.name} | {' | '.join(cells)} |", flush=True)


def time_saved(n_questions: int, size: int, n_entities: int, dimensions: int) -> None:
    """Print what it takes to rank among all entities of a large model, and among lists of candidates."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        vectors = synthetic_vectors(Path(folder), n_entities, dimensions, rng)
        block = synthetic_block(vectors, range(n_questions), rng)
        order, tiling = rng.permutation(n_entities).astype(np.int32), Tiling.of(n_entities)
        candidates = Candidates(vectors, np.arange(n_entities), order, 0)
        count_tile(candidates, block, (0, min(PANEL, n_entities)), tiling)
        start = time.process_time()
        count_tile(candidates, block, (0, n_entities), tiling)
        whole = time.process_time() - start
        lists = np.array([rng.choice(n_entities, size, replace=False) for _ in range(n_questions)])
        answers = rng.integers(0, n_entities, n_questions)
        start = time.process_time()
        queries = np.asarray(block.queries, np.float32)
        positive = np.einsum("qd,qd->q", vectors.E[answers].astype(np.float32), queries)
        negative = np.stack(
            [vectors.E[own].astype(np.float32) @ query for own, query in zip(lists, queries, strict=True)]
        )
        SampledRanks.of_scores("listed", positive, negative, n_certain=size // 2, n_candidates=n_entities - size)
        listed = time.process_time() - start
    entities = Vocabulary.of([f"Q{code}" for code in range(n_entities)])
    relations = Vocabulary.of([f"P{code}" for code in range(500)])

    def triples(n: int) -> Triples:
        head = rng.permutation(n_entities)[:n].astype(np.int32)
        relation = np.minimum(rng.pareto(0.7, n) * 5, 499).astype(np.int32)
        tail = (n_entities * rng.random(n) ** 4).astype(np.int32)
        return Triples(head, relation, tail, entities, relations)

    collection = build_questions(triples(n_entities), test=triples(20 * n_questions))
    n_asked, took = len(collection.questions), []
    for part in (part_of(collection, np.arange(1)), collection):
        rounds = []
        for _ in range(3):
            start = time.process_time()
            candidate_lists(part, size)
            rounds.append(time.process_time() - start)
        took.append(min(rounds))
    choosing = (took[1] - took[0]) / (n_asked - 1) * n_questions
    print(
        f"{n_questions:,} questions, {n_entities:,} entities x {dimensions}, seconds of processor time: among all "
        f"{whole:.3f}; among {size} listed {listed:.3f}, {whole / listed:.0f} times less; to choose the lists "
        f"{choosing:.3f}, and {took[0]:.2f} once for any number of questions; listed and chosen "
        f"{whole / (listed + choosing):.0f} times less"
    )


def full(ranks: AnswerRanks) -> dict[str, float]:
    """The full values."""
    rank = 1.0 + ranks.above + ranks.tied / 2
    share = float((rank - 1).sum() / ranks.n_other.sum())
    values: list[float | NDArray[np.float64]] = [(1 / rank).mean(), (rank <= 10).mean(), rank.mean(), 1 - 2 * share]
    return dict(zip(MEASURES, map(float, values), strict=True))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=250)
    parser.add_argument("--bounds", type=int, default=5)
    parser.add_argument("--sizes", default="50,500,5000")
    parser.add_argument("--chosen", type=int, default=0)
    parser.add_argument("--coverage", type=int, default=0)
    parser.add_argument("--shares", default="0.5")
    parser.add_argument("--time", type=int, default=0)
    parser.add_argument("--entities", type=int, default=2_500_604)
    parser.add_argument("--dimensions", type=int, default=200)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    smallest = {"repeats": 1, "bounds": 1, "sizes": "5", "chosen": 5, "coverage": 5, "shares": "0,0.4"}
    options = parsed(parser, **smallest, time=4, entities=200, dimensions=4)
    sizes = [*map(int, options.sizes.split(","))]
    if options.time:
        for size in sizes:
            time_saved(options.time, size, options.entities, options.dimensions)
    if options.coverage:
        print("| chosen+drawn | system | MRR | any law | held | Hits@10 | any law | held | MR | interval | held |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for size, share in product(sizes, map(float, options.shares.split(","))):
            coverage_of_chosen(options, size, round(size * share))
    if options.chosen:
        print("| candidates | system | measure | full | half chosen | model | uniform | model |")
        print("|---|---|---|---|---|---|---|---|")
        for size in sizes:
            beside_chosen(options.chosen, size, options.seed)
    if (options.time or options.coverage or options.chosen) and not options.smallest:
        return
    systems = exact_ranks()
    truth = [full(ranks) for ranks in systems]
    print("| sampled | measure | full | in the sample | model | any law | held | falling law | held |")
    print("|---|---|---|---|---|---|---|---|---|")
    for size in sizes:
        rng = np.random.default_rng([options.seed, size])
        found: dict[tuple[str, str], list[tuple[float, float, float, bool]]] = {}
        for repeat in range(options.repeats):
            for ranks, own in zip(systems, truth, strict=True):
                sampled = drawn(ranks, size, rng, shared=options.shared)
                for row in sampled_bounds(sampled, MEASURES[2 * (repeat >= options.bounds) :], model=True)[
                    "bounds"
                ].to_pylist():
                    name = row["measure"].replace("sampled.", "micro.").replace(f"({size})", "")
                    held = row["low"] <= own[name] <= row["high"]
                    found.setdefault((name, row["assumption"]), []).append(
                        (row["value"], row["low"], row["high"], held)
                    )
        for name in MEASURES[2 * (options.bounds == 0) :]:
            digits = 1 if name == "micro.MR" else 4 if name == "micro.AMRI" else 3
            mean = {key: np.mean(rows, axis=0) for key, rows in found.items()}
            cells = [f"{np.mean([own[name] for own in truth]):.{digits}f}", f"{mean[name, 'sample'][0]:.{digits}f}"]
            cells.append(f"{mean[name, 'model'][0]:.{digits}f}" if (name, "model") in mean else "")
            for assumption in ("none", "falls"):
                if (name, assumption) not in mean:
                    cells += ["", ""]
                    continue
                _, low, high, held = mean[name, assumption]
                cells += [f"{low:.{digits}f} to {high:.{digits}f}", f"{held:.1%}"]
            print(f"| {size:,} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
