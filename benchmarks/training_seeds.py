"""How often tests of two families of trained systems are wrong where the families do not differ.

    python benchmarks/training_seeds.py [--data umls] [--repeats 4000] [--trained 60] [--ranks FOLDER]

Two families of equal quality, and four two-tailed tests at 5%: over seeds and questions (`kgtrec meta power --family`);
the paired t-test of the means over seeds; of one seed of each; of the best seed of each. The first table is of normal
values of 200 questions; "seeds" is the share of the variance of the difference that other seeds cause; "holds" is how
often the 95% interval over seeds and questions holds the difference 0. In the last rows the seeds of the first family
have three times the standard deviation of the second's.

The second table is of models trained here, on the data set: DistMult, ComplEx and CP, each with many seeds, by softmax
over all entities and Adagrad. The seeds of one model are split at random into two families of five, whose questions are
the same, and tested by micro.MRR, clustered by question. With --ranks the answer ranks of the first five seeds of each
model are written too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.stats
from numpy.typing import NDArray
from sizes import data_folder, parsed

from kgtrec import Collection, build_questions, rank_scores, read_triples
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.kernels.statistics.paired_tests import clustered_errors, clustered_mean_errors
from kgtrec.kernels.statistics.training_seeds import pairs_over_both, seed_components

Floats = NDArray[np.float64]
SIZES = ((2, 2), (3, 3), (5, 5), (2, 5), (1, 5))
SHARES = (0.0, 0.25, 0.5, 0.75)
N_QUESTIONS = 200
TESTS = ("holds", "seeds and questions", "means", "one seed", "best seeds")
MODELS = ("distmult", "complex", "cp")


def outcomes(one: Floats, other: Floats, cluster: NDArray[np.int64], rng: np.random.Generator) -> list[bool]:
    """Whether the interval holds 0, and which tests are significant; one, other: (seeds, items)."""

    def significant(first: Floats, second: Floats) -> bool:
        error, n = clustered_errors(np.stack([first, second]), cluster)
        return bool(abs((first - second).mean()) > scipy.stats.t.ppf(0.975, n - 1) * error[0])

    means = np.stack([own.mean(axis=0) for own in (one, other)])
    error, n = clustered_errors(means, cluster)
    of_mean = clustered_mean_errors(means, cluster)
    parts = [
        seed_components(own.mean(axis=1), clustered_mean_errors(own, cluster), alone)
        for own, alone in zip((one, other), of_mean, strict=True)
    ]
    sizes = np.array([len(one), len(other)])
    both, freedom = pairs_over_both(error, np.array([n - 1.0]), *np.array(parts).T, sizes)
    differs = bool(abs((means[0] - means[1]).mean()) > scipy.stats.t.ppf(0.975, freedom[0]) * both[0])
    single = [own[rng.integers(len(own))] for own in (one, other)]
    best = [own[own.mean(axis=1).argmax()] for own in (one, other)]
    return [not differs, differs, significant(*means), significant(*single), significant(*best)]


def drawn(rng: np.random.Generator, sizes: tuple[int, int], share: float, first: float = 1.0) -> list[Floats]:
    """Values of two families without a difference: effects of family and question, of seeds, and what is left."""
    residual, own = 0.15, 0.1
    questions = (2 * own**2 + residual**2 * sum(1 / n for n in sizes)) / N_QUESTIONS
    spread = np.sqrt(share / (1 - share) * questions / (first**2 / sizes[0] + 1 / sizes[1]))
    hard = rng.normal(0.5, 0.3, N_QUESTIONS)
    return [
        hard
        + rng.normal(0, own, N_QUESTIONS)
        + rng.normal(0, spread * times, (n, 1))
        + rng.normal(0, residual, (n, N_QUESTIONS))
        for n, times in zip(sizes, (first, 1.0), strict=True)
    ]


def of_normal_values(repeats: int, seed: int, first: float, several: Sequence[tuple[int, int]]) -> None:
    """Print the rows of families of normal values."""
    rng, cluster = np.random.default_rng(seed), np.arange(N_QUESTIONS)
    for sizes in several:
        for share in SHARES if first == 1 else SHARES[1:]:
            found = [outcomes(*drawn(rng, sizes, share, first), cluster, rng) for _ in range(repeats)]
            line(f"{sizes[0]}{' (times 3)' * (first > 1)} and {sizes[1]}, {share:.0%}", found)


def trained(model: str, collection: Collection, seed: int, epochs: int = 20, width: int = 32) -> Floats:
    """(questions, entities) scores of a model: softmax over all entities of each question, Adagrad, batches of 512."""
    rng = np.random.default_rng([MODELS.index(model), seed])
    train, n, size = collection.train, len(collection.entities), len(collection.relations)
    anchor = np.concatenate([train.head, train.tail])
    relation = np.concatenate([train.relation, train.relation + size])
    answer = np.concatenate([train.tail, train.head])
    tables = [rng.normal(0, 0.1, (rows, width)) for rows in (n, 2 * size, n)]
    if model != "cp":
        tables[2] = tables[0]
    squares = [np.full(table.shape, 1e-8) for table in tables]
    half = width // 2

    def product(a: Floats, b: Floats, *, conjugate: bool = False) -> Floats:
        if model != "complex":
            return a * b
        re, im = a[..., :half], a[..., half:]
        other_re, other_im = b[..., :half], b[..., half:] * (-1 if conjugate else 1)
        return np.concatenate([re * other_re - im * other_im, re * other_im + im * other_re], axis=-1)

    for _ in range(epochs):
        order = rng.permutation(len(anchor))
        for rows in np.array_split(order, max(1, len(order) // 512)):
            a, r = tables[0][anchor[rows]], tables[1][relation[rows]]
            query = product(a, r)
            score = query @ tables[2].T
            p = np.exp(score - score.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(rows)), answer[rows]] -= 1
            slope = p @ tables[2]
            # the real part of the sum of q times conj(e) is the plain dot product, so products turn back by conjugates
            gradients = [
                np.eye(n)[:, anchor[rows]] @ product(slope, r, conjugate=True),
                np.eye(2 * size)[:, relation[rows]] @ product(slope, a, conjugate=True),
                p.T @ query,
            ]
            if model != "cp":
                gradients[0] += gradients.pop()
            for table, square, gradient in zip(tables, squares, gradients, strict=False):
                gradient = gradient / len(rows) + 1e-4 * table
                square += gradient**2
                table -= 0.1 * gradient / np.sqrt(square)
    asked = collection.questions
    code = asked.relation + np.where(asked.is_head, size, 0)
    return product(tables[0][asked.anchor], tables[1][code]) @ tables[2].T


def of_trained(options: argparse.Namespace) -> Iterator[tuple[str, list[list[bool]]]]:
    """Outcomes of random splits of the seeds of each model."""
    folder = data_folder()
    folder = folder / "fb15k-237" if options.smallest else folder / "small" / options.data
    splits = [read_triples(next(folder.glob(f"{name}.tsv*"))) for name in ("train", "valid", "test")]
    collection = build_questions(*splits)
    rng = np.random.default_rng(options.seed)
    for model in MODELS:
        values = []
        for seed in range(options.trained):
            name = f"{model}.s{seed + 1}"
            scores = trained(model, collection, seed, options.epochs)
            ranks = rank_scores(collection, scores, questions=collection, entities=collection, name=name).answer_ranks
            values.append(1 / (1 + ranks.above + ranks.tied / 2))
            if options.ranks and seed < 5:
                write_answer_ranks(Path(options.ranks, f"{name}.ranks.parquet"), ranks)
        value = np.array(values)
        cluster = np.unique(ranks.question, return_inverse=True)[1].astype(np.int64)
        means = value.mean(axis=1)
        label = f"{model}: {means.mean():.4f} ± {means.std(ddof=1):.4f}"
        found = []
        for _ in range(options.repeats // 4):
            one, other = rng.permutation(len(value))[:10].reshape(2, -1)
            found.append(outcomes(value[one], value[other], cluster, rng))
        yield label, found


def head(first: str) -> None:
    """Print the head of a table."""
    sys.stdout.write(f"| {first} | {' | '.join(TESTS)} |\n|---|{'---:|' * len(TESTS)}\n")


def line(label: str, found: list[list[bool]]) -> None:
    """Print how often each outcome was."""
    sys.stdout.write(f"| {label} | {' | '.join(f'{share:.1%}' for share in np.mean(found, axis=0))} |\n")
    sys.stdout.flush()


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="umls", help="a data set of shared/data/small")
    parser.add_argument("--repeats", type=int, default=4000, help="pairs of families of each row; a quarter if trained")
    parser.add_argument("--trained", type=int, default=60, help="seeds of each model")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--ranks", help="folder for answer ranks of five seeds of each model")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, repeats=20, trained=10, epochs=1)
    head("seeds of each, share of their variance")
    of_normal_values(options.repeats, options.seed, 1.0, SIZES)
    of_normal_values(options.repeats, options.seed, 3.0, SIZES[-3:])
    sys.stdout.write("\n")
    head("model, micro.MRR over seeds")
    for label, found in of_trained(options):
        line(label, found)


if __name__ == "__main__":
    main()
