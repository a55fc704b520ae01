"""What the verdicts on a designed share of a pool tell of the whole pool: half-widths and coverage of the intervals.

    python benchmarks/judged_share.py [--share 0.2] [--replications 300] [--labels LABELS --ranks RANKS] [--seed 0]

The published labels of FB15k-237 (KGTREC_DATA) and the ranks of eight systems in examples/fb15k-237 are the world. In
each replication a part of the questions is opened, min(1, 2.5 share) of them, and in these each triple that people
judged is drawn independently, with a probability that grows with what a Yes would change in nDCG@20 and AP@20 of the
systems, before anything is judged. Every triple is predicted to be true with probability .15. The tables show, for the
systems' values and for the differences of all pairs, the mean half-width of the 95% intervals, 1.96 standard deviations
of the estimates, the largest bias of a system or pair in mean half-widths, and the mean and the lowest coverage.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sizes import data_folder, parsed

from kgtrec.kernels.sampling import uncertain_labels as labels

ROOT = Path(__file__).parents[1]
OPENED, FLOOR, PREDICTED = 2.5, 0.3, 0.15
CREDITS = {
    "nDCG@20": labels.ndcg(20),
    "AP@20": labels.average_precision(20),
    "macro.MRR": labels.of_best(lambda rank: 1.0 / rank),
    "P@10": labels.precision(10),
    "micro.MRR": labels.of_each(lambda rank: 1.0 / rank),  # of a question: the sum over its answers
}
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """The candidates of a pool in the lists of several systems."""

    question: Rows  # (n,) of each candidate
    label: Floats  # (n,) 0 or 1
    is_judged: NDArray[np.bool_]  # (n,) by people; the others' labels are known before
    lists: list[tuple[Rows, Rows, Rows]]  # questions (q,), their candidates and positions (systems, q, length)
    n_systems: int

    def each(self, values: Floats) -> list[tuple[Rows, Rows, Floats, Rows]]:
        """Questions, candidates, values and positions, with one row a system and question."""
        return [
            (
                rows,
                candidate,
                values[candidate].reshape(-1, candidate.shape[-1]),
                position.reshape(-1, position.shape[-1]),
            )
            for rows, candidate, position in self.lists
        ]

    def expected(self, probability: Floats, credit: labels.Credit) -> Floats:
        """(systems, questions) the measure's expectation."""
        values = np.zeros((self.n_systems, self.question.max() + 1))
        for rows, _, chance, position in self.each(probability):
            values[:, rows] = labels.expected_value(chance, position, credit).reshape(self.n_systems, -1)
        return values


def world_of(question: Rows, label: Floats, is_judged: NDArray[np.bool_], position: Rows) -> World:
    """Sort the candidates of each question by the positions (systems, n), questions of one length together."""
    size = np.bincount(question)
    order = np.argsort(question, kind="stable")
    start = np.cumsum(size) - size
    lists = []
    for length in np.unique(size):
        rows = np.flatnonzero(size == length)
        candidate = order[start[rows][:, None] + np.arange(length)]
        by_position = np.argsort(position[:, candidate], axis=-1, kind="stable")
        sorted_position = np.take_along_axis(position[:, candidate], by_position, axis=-1)
        lists.append(
            (rows, np.take_along_axis(np.broadcast_to(candidate, by_position.shape), by_position, -1), sorted_position)
        )
    return World(question, label, is_judged, lists, len(position))


def published_world(folder: Path) -> World:
    """The published labels, and the positions of all pooled candidates in the lists of the systems."""
    data = data_folder()
    for words in (
        ("questions", data / "fb15k-237", "--out", folder / "C"),
        (
            "campaign",
            "import-kgc-sparsity",
            data / "kgc-sparsity",
            "--topics",
            folder / "C/topics.tsv",
            "--out",
            folder / "L",
        ),
        ("campaign", "qrels", folder / "L", "--out", folder / "qrels"),
    ):
        subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)
    pairs = ["question", "entity"]
    qrels = pd.read_csv(folder / "qrels/qrels.txt", sep=" ", names=["question", "zero", "entity", "grade"])
    topics = pd.read_csv(folder / "L/topics.tsv", sep="\t", names=["question", "anchor", "relation"])
    table = qrels.merge(topics, on="question").sort_values(pairs, kind="stable", ignore_index=True)
    is_head = table.question.str.startswith("head")
    triples = pd.DataFrame(
        {
            "head": table.entity.where(is_head, table.anchor),
            "relation": table.relation,
            "tail": table.anchor.where(is_head, table.entity),
        }
    )
    by_rule = pd.read_csv(folder / "L/automatic.tsv", sep="\t", dtype=str)
    is_ruled = triples.merge(by_rule, how="left", on=["head", "relation", "tail"]).rule.notna().to_numpy()
    question = pd.factorize(table.question)[0]
    positions = []
    for path in sorted((ROOT / "examples/fb15k-237/ranks").glob("*.parquet")):
        ranks = table.merge(pd.read_parquet(path), how="left", on=pairs, validate="1:1")
        is_answer = ranks.answer.to_numpy(bool)
        # a rank is counted without the other test answers, which are in the list
        test = ranks[is_answer].groupby(question[is_answer]).score.apply(np.sort)
        better = [
            len(test[row]) - np.searchsorted(test[row], score, side="right") if row in test.index else 0
            for row, score in zip(question, ranks.score, strict=True)
        ]
        positions.append(1 + ranks.above.to_numpy() + better)
    keep = ~is_ruled  # a candidate that is known to be wrong changes nothing
    return world_of(
        question[keep],
        (table.grade > 0).to_numpy(float)[keep],
        ~is_answer[keep],
        np.array(positions, np.int64)[:, keep],
    )


def drawn_world(rng: np.random.Generator, n_questions: int = 40, n_systems: int = 3) -> World:
    """Random candidates at random positions, of which the first of each question is a test answer."""
    size = rng.integers(1, 8, n_questions)
    question = np.repeat(np.arange(n_questions), size)
    is_answer = np.r_[True, np.diff(question) > 0]
    position = np.empty((n_systems, len(question)), np.int64)
    for row in range(n_questions):
        position[:, question == row] = [rng.permutation(12)[: size[row]] + 1 for _ in range(n_systems)]
    return world_of(question, np.where(is_answer, 1.0, rng.random(len(question)) < 0.2), ~is_answer, position)


def rates(world: World, prediction: Floats, mean: float) -> Floats:
    """How likely each candidate of an opened question is judged: by what a Yes would change in the systems' lists."""
    effect = np.zeros(len(world.label))
    for name in ("nDCG@20", "AP@20"):
        for _, candidate, chance, position in world.each(prediction):
            rows = candidate.reshape(chance.shape)
            for i in range(chance.shape[1]):
                values = [chance.copy(), chance.copy()]
                values[0][:, i], values[1][:, i] = 0.0, 1.0
                no, yes = (labels.expected_value(value, position, CREDITS[name]) for value in values)
                np.add.at(effect, rows[:, i], np.abs(yes - no))
    effect = np.maximum(effect, FLOOR * effect[world.is_judged].mean())
    scale = mean / effect[world.is_judged].mean()
    for _ in range(100):  # rates are at most 1
        scale *= mean / np.minimum(1.0, scale * effect[world.is_judged]).mean()
    return np.where(world.is_judged, np.minimum(1.0, scale * effect), 1.0)


def estimates(
    world: World, prediction: Floats, rate: Floats, opened: Rows, is_drawn: NDArray[np.bool_], credit: labels.Credit
) -> tuple[Floats, Floats]:
    """The orders (3, systems, opened) and what each verdict changes (systems, n)."""
    verdict = np.where(is_drawn, world.label, np.nan)
    at = np.full(world.question.max() + 1, -1)
    at[opened] = np.arange(len(opened))
    orders, influence = np.zeros((3, world.n_systems, len(opened))), np.zeros((world.n_systems, len(world.label)))
    for rows, candidate, position in world.lists:
        kept = np.flatnonzero(at[rows] >= 0)
        flat = candidate[:, kept].reshape(-1, candidate.shape[-1])
        sample = labels.label_estimates(
            prediction[flat], verdict[flat], rate[flat], position[:, kept].reshape(flat.shape), credit
        )
        orders[:, :, at[rows[kept]]] = sample.orders.reshape(3, world.n_systems, -1)
        np.put_along_axis(
            influence, flat.reshape(world.n_systems, -1), sample.influence.reshape(world.n_systems, -1), 1
        )
    return orders, influence


def replicate(
    world: World,
    prediction: Floats,
    rate: Floats,
    whole: dict[str, tuple[Floats, Floats]],
    n_opened: int,
    rng: np.random.Generator,
) -> dict[tuple[str, str], tuple[Floats, Floats]]:
    """(measure, levels or pairs) -> the error of each estimate, and its standard error.

    ``whole``: of each measure what is predicted, (systems, questions), and the true mean, (systems,).
    """
    n_questions = int(world.question.max()) + 1
    opened = np.sort(rng.permutation(n_questions)[:n_opened])
    is_drawn = world.is_judged & np.isin(world.question, opened) & (rng.random(len(rate)) < rate)
    residual = np.where(is_drawn, (world.label - prediction) / rate, 0.0)
    relevant_predicted = np.bincount(world.question, prediction, n_questions)
    relevant = (relevant_predicted + np.bincount(world.question, residual, n_questions))[opened]
    first, second = np.triu_indices(world.n_systems, 1)
    results = {}
    for name, credit in CREDITS.items():
        orders, influence = estimates(world, prediction, rate, opened, is_drawn, credit)
        predicted, truth = whole[name]
        for what, n_orders in (("levels", 3), ("pairs", 2)):
            value, within, base = orders[:n_orders].sum(axis=0), influence, predicted
            extra = orders[2] if n_orders == 3 else np.zeros_like(value)
            target = truth
            if name == "micro.MRR":  # a quotient of sums: the values linearised around it
                target = truth / world.label.sum() * n_questions
                nothing = np.zeros_like(value)
                above = labels.mean_of_opened(base, opened, value, nothing)[0]
                below = labels.mean_of_opened(relevant_predicted, opened, relevant, nothing[0])[0]
                quotient = (above / below)[:, None]
                value, base, extra = (
                    (value - quotient * relevant) / below,
                    (base - quotient * relevant_predicted) / below,
                    extra / below,
                )
                within = (within - quotient * residual * np.sqrt(1 - rate)) / below
                target = target - quotient[:, 0]
            if what == "pairs":
                value, within, base, extra, target = (
                    x[first] - x[second] for x in (value, within, base, extra, target)
                )
            variance = np.stack([np.bincount(world.question, row**2, n_questions)[opened] for row in within]) + extra**2
            mean, error = labels.mean_of_opened(base, opened, value, variance)
            results[name, what] = mean - target, np.sqrt(error)
    return results


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.2, help="of the triples, to be judged")
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drawn", action="store_true", help="a small random world instead of the published one")
    options = parsed(parser, replications=3, drawn=True)
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        world = drawn_world(rng) if options.drawn else published_world(Path(folder))
    n_questions, n_judged = int(world.question.max()) + 1, int(world.is_judged.sum())
    share_opened = min(1.0, OPENED * options.share)
    prediction = np.where(world.is_judged, PREDICTED, world.label)
    rate = rates(world, prediction, options.share / share_opened)
    print(f"{n_questions:,} questions, {n_judged:,} triples to judge, {options.share:.0%} of them drawn")
    whole = {
        name: (world.expected(prediction, credit), world.expected(world.label, credit).mean(axis=1))
        for name, credit in CREDITS.items()
    }
    n_opened, start = round(share_opened * n_questions), time.perf_counter()
    results = [replicate(world, prediction, rate, whole, n_opened, rng) for _ in range(options.replications)]
    print(f"{options.replications} replications, {(time.perf_counter() - start) / options.replications:.2f} s each")
    for what in ("levels", "pairs"):
        print(f"\n{what:10} half-width   1.96 SD   bias  coverage  lowest")
        for name in CREDITS:
            off, error = (np.array([result[name, what][i] for result in results]) for i in (0, 1))
            half = 1.96 * error.mean()
            is_in = (np.abs(off) <= 1.96 * error).mean(axis=0)
            bias = np.abs(off.mean(axis=0)).max() / half
            spread = 1.96 * off.std(axis=0).mean()
            print(f"{name:10} {half:10.4f} {spread:9.4f} {bias:6.3f} {is_in.mean():9.3f} {is_in.min():7.3f}")


if __name__ == "__main__":
    main()
