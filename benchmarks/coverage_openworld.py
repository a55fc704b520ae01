"""How often the intervals of `kgtrec openworld estimate` hold what is true, in worlds where that is known.

    python benchmarks/coverage_openworld.py [--quick]
    python benchmarks/coverage_openworld.py [--quick] --world NAME C RANKS... [--world ...]

Without files: questions whose numbers of answers have a long tail, of which four systems find some. *independent*: each
system finds each answer with a probability of its own. *alike*: an answer is found with a probability that its question
has, lower for large questions. *all found*: by two systems at least. Each set draws the questions anew, and the labels
of a share of all answers. Of a collection with answer ranks, such as a family tree (`kgtrec openworld world`), the
systems find what they rank ``--depth`` or better, and each set draws a share of the facts, each of which is an answer
of two questions.

A cell is the share of sets whose interval holds the true value, and, where fewer than all have one, how many have one.
That of *filtered* is the score on all answers of all questions, asked or not.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sizes import parsed

import kgtrec
from kgtrec import AnswerRanks, Qrels, Questions, Vocabulary
from kgtrec.openworld import MissingEstimate
from kgtrec.openworld.estimate import METHODS, Interval
from kgtrec.openworld.labels import TrueFacts, hide_labels

MEASURE = "micro.MRR"
DEEP, LAST = 1_000, 100_000  # a pool that holds all that is found, and the rank of what is not
MOST = 300  # answers of a question
ALONE = (0.5, 0.4, 0.3, 0.3)  # probabilities of the systems that find independently
KINDS = ("independent", "alike", "all found")
DENSITIES = (0.1, 0.3, 0.7)
COLUMNS = ("answers, labels", "beta, labels", "estimated", "filtered", "answers, runs", "beta, runs", "beta, found")

Drawn = tuple[Qrels, Qrels, list[AnswerRanks], Questions | None]  # labels, truth, systems, what is asked


def sizes(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many answers each of n questions has."""
    return np.minimum(1 + rng.pareto(1.5, n) * 1.5, MOST).astype(np.int64)


def wrong_above(kind: str, size: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
    """(systems, answers) how many wrong candidates are above each answer."""
    n, s = int(size.sum()), len(ALONE)
    if kind == "independent":
        found = rng.random((s, n)) < np.array(ALONE)[:, None]
    elif kind == "alike":
        ease = np.repeat(rng.beta(2, 2, len(size)) * np.minimum(1, 2 / np.sqrt(size)), size)
        shared = np.where(rng.random(n) < 0.75, rng.random(n), rng.random((s, n)))
        found = shared < ease
    else:
        found = np.arange(s)[:, None] < 2 + rng.integers(0, s - 1, n)
    return np.where(found, rng.geometric(0.2, (s, n)) - 1, LAST).astype(np.int32)


def score_of_all(system: AnswerRanks) -> float:
    """What a system scores on all answers of all questions, asked or not."""
    true = system.answer
    return float((1 / (1 + system.above[true] + system.tied[true] / 2)).mean())


def simulated(kind: str, n_questions: int, density: float, sets: int, seed: int) -> Iterator[Drawn]:
    """Questions drawn anew, and labels."""
    rng = np.random.default_rng(seed)
    questions, entities = (
        Vocabulary.of([f"{letter}{i}" for i in range(n)]) for letter, n in (("q", n_questions), ("e", MOST))
    )
    for _ in range(sets):
        size = sizes(n_questions, rng)
        question = np.repeat(np.arange(n_questions, dtype=np.int32), size)
        entity = (np.arange(len(question)) - np.repeat(np.cumsum(size) - size, size)).astype(np.int32)
        n, true, nothing = len(question), np.ones(len(question), np.bool_), np.zeros(len(question), np.int32)
        systems = [
            AnswerRanks(
                f"s{i}",
                question,
                entity,
                true,
                above,
                nothing,
                nothing + 2 * LAST,
                -above - rng.random(n) / 2,
                questions,
                entities,
                ("test",),
                "",
            )
            for i, above in enumerate(wrong_above(kind, size, rng))
        ]
        labels, truth = (
            Qrels.of(question[kept], entity[kept], np.ones(int(kept.sum()), np.int32), questions, entities)
            for kept in (rng.random(n) < density, true)
        )
        yield labels, truth, systems, None


def collected(folder: str, paths: list[str], density: float, sets: int) -> Iterator[Drawn]:
    """Labels of a share of the facts of a collection."""
    true = TrueFacts.of(kgtrec.read_collection(folder))
    systems = [kgtrec.read_answer_ranks(path) for path in paths]
    truth = hide_labels(true, 1.0).qrels()
    for draw in range(sets):
        yield hide_labels(true, density, draw=draw).qrels(), truth, systems, true.collection.questions


def held(drawn: Drawn, depth: int, density: float) -> tuple[int, dict[str, float]]:
    """How many questions are asked, and for each column whether its interval holds the truth; NaN without one."""
    labels, truth, systems, questions = drawn
    told: MissingEstimate = kgtrec.openworld.estimate_missing(
        labels, truth, systems, MEASURE, depth=depth, truth=truth, questions=questions, top=1
    )

    def holds(interval: Interval, place: int | tuple[int, int], true: float) -> float:
        low, high = interval.low[place], interval.high[place]
        return float("nan") if np.isnan([low, high, true]).any() else float(low <= true <= high)

    by_found, by_runs, by_labels = range(len(METHODS))
    values = (
        holds(told.answers, by_labels, told.true_answers),
        holds(told.missing, by_labels, 1 - density),
        holds(told.estimated, (0, 0), told.true[0, 0]),
        holds(told.filtered, (0, 0), score_of_all(systems[0])),
        holds(told.answers, by_runs, told.true_answers),
        holds(told.missing, by_runs, 1 - density),
        holds(told.missing, by_found, 1 - density),
    )
    return told.n_questions, dict(zip(COLUMNS, values, strict=True))


def tell(name: str, density: float, rows: list[tuple[int, dict[str, float]]]) -> None:
    """A line of the table."""
    cells = []
    for column in COLUMNS:
        found = np.array([row[column] for _, row in rows])
        given = found[~np.isnan(found)]
        some = f" (of {len(given) / len(found):.0%})" if len(given) < len(found) else ""
        cells.append(f"{given.mean():.0%}{some}" if len(given) >= len(found) / 20 else "-")
    asked = np.mean([asked for asked, _ in rows])
    sys.stdout.write(f"| {' | '.join([name, f'{density:g}', f'{asked:,.0f}', *cells])} |\n")
    sys.stdout.flush()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--world",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME C RANKS",
        help="a collection and answer ranks, in place of simulated questions",
    )
    parser.add_argument("--quick", action="store_true", help="40 sets, in place of 300 of questions and 100 of facts")
    parser.add_argument("--depth", type=int, default=10, help="of the pools of a collection")
    options = parsed(parser)
    sets, of_facts = (2, 2) if options.smallest else (40, 40) if options.quick else (300, 100)
    warnings.simplefilter("ignore", kgtrec.KgtrecWarning)

    sys.stdout.write(f"| world | labels | questions asked | {' | '.join(COLUMNS)} |\n")
    sys.stdout.write("|---|---:|---:|" + "---:|" * len(COLUMNS) + "\n")
    for kind in () if options.world else KINDS:
        for n_questions in (300,) if kind == "all found" else (100, 300, 1_000):
            for density in DENSITIES:
                drawn = simulated(kind, n_questions, density, sets, seed=n_questions)
                tell(kind, density, [held(one, DEEP, density) for one in drawn])
    for name, folder, *paths in options.world:
        for density in DENSITIES:
            drawn = collected(folder, paths, density, of_facts)
            tell(name, density, [held(one, options.depth, density) for one in drawn])


if __name__ == "__main__":
    main()
