"""How many true triples each pooling strategy finds with how many judgements, in two worlds whose labels are known.

    python benchmarks/pooling_strategies.py [--budgets 1000 2000 4000 10000] [--out docs/pooling-strategies.csv]

- family: the six baselines on the questions of examples/family; truth.txt has all true answers.
- published: eight systems on the 1,745 questions of FB-Test-S of FB15k-237, with the labels of FB-Test-S-C (Zhou et al.
  2022; KGTREC_DATA). A triple without a label counts as false, so these numbers are lower bounds.

Lists are read to depth 100 where there is a budget and by first-yes; the known labels answer the strategies that ask
for one judgement at a time. "rules" is what --trivial leaves to people of the pool of depth 10. Prints CSV: world,
strategy, the triples that are judged, and how many of these are true.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sizes import SYSTEMS, data_folder, parsed

import kgtrec
from kgtrec import Collection, Pool, Qrels, Run, Triples
from kgtrec.data.questions import completions
from kgtrec.pooling import judge_trivial, pool_runs, read_entity_types, read_relation_types, replay
from kgtrec.systems import read_system

ROOT = Path(__file__).parents[1]
FAMILY = ROOT / "examples" / "family"
DEPTHS = (1, 2, 3, 5, 10)
AT_ONCE: dict[str, dict[str, Any]] = {
    "take": {},
    "take, by question": {"by_question": True},
    **{name: {} for name in ("rrf", "borda", "combsum", "rbp")},
}
ASKING = [(name, turns) for name in ("mtf", "max-mean", "thompson") for turns in ("each", "best")]


@dataclass(frozen=True)
class World:
    """Runs for questions, and the labels that people would give."""

    name: str
    collection: Collection
    runs: list[Run]
    truth: Qrels
    rules: dict[str, dict[str, Any]]

    def n_true(self, pool: Pool) -> int:
        """How many triples of a pool are true."""
        known = self.truth.recoded(questions=pool.questions.ids, entities=pool.triples.entities)
        known = known.take((known.question >= 0) & (known.entity >= 0) & (known.grade >= 1))
        triples = pool.questions.triples(known.question, known.entity)
        rows = pool.rows(triples.head, triples.relation, triples.tail)
        return len(np.unique(rows[rows >= 0]))

    def rows(self, budgets: list[int]) -> Iterator[tuple[str, str, int, int]]:
        """Strategy by strategy."""
        for depth in DEPTHS:
            yield self.row(f"depth {depth}", pool_runs(self.collection, self.runs, depth=depth))
        for budget in budgets:
            for name, options in AT_ONCE.items():
                strategy = name.partition(",")[0]
                pool = pool_runs(self.collection, self.runs, strategy=strategy, budget=budget, **options)
                yield self.row(name, pool)
            for name, turns in ASKING:
                asked = replay(self.collection, self.runs, self.truth, strategy=name, budget=budget, turns=turns)
                yield self.row(f"{name}, turns {turns}", asked)
        yield self.row("first-yes", replay(self.collection, self.runs, self.truth, strategy="first-yes"))
        for name, options in self.rules.items():
            pool = pool_runs(self.collection, self.runs, depth=10)
            left = ~judge_trivial(pool, self.collection, **options).is_automatic
            yield self.row(f"rules: {name}", pool.where(left[pool.triple]))

    def row(self, strategy: str, pool: Pool) -> tuple[str, str, int, int]:
        """What is written of a pool."""
        return self.name, strategy, len(pool), self.n_true(pool)


def family() -> World:
    """The collection and the ranks with which the sessions of the documentation begin."""
    with tempfile.TemporaryDirectory() as work:
        for words in (
            ("questions", FAMILY, "--out", "family"),
            ("rank", "family", "--baseline", "all", "--judged", FAMILY / "truth.txt", "--out", "ranks"),
        ):
            subprocess.run(
                [sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True, cwd=work
            )
        collection = kgtrec.read_collection(Path(work, "family"))
        runs = [kgtrec.read_run(path) for path in sorted(Path(work, "ranks").glob("*.run.gz"))]
    types = {
        "entity_types": read_entity_types(FAMILY / "entity_types.tsv"),
        "relation_types": read_relation_types(FAMILY / "relation_types.tsv"),
    }
    rules = {
        "category": {"by": "category"},
        "types": {"by": "types", **types},
        "types, category": {"by": ("types", "category"), **types},
    }
    return World("family", collection, runs, kgtrec.read_qrels(FAMILY / "truth.txt"), rules)


def published() -> World:
    """FB-Test-S: the test triples that are not in the sample are filtered."""
    data = data_folder()
    splits = [kgtrec.read_triples(data / "fb15k-237" / f"{name}.tsv.gz") for name in ("train", "valid", "test")]
    train, valid, test = splits
    labels = data / "kgc-sparsity" / "data"
    sample, true = (lines_of(labels / name) for name in ("FB-Test-S/samples.txt", "FB-Test-S-C/test.txt"))
    rest = sorted(set(lines_in(test)) - set(sample))
    collection = kgtrec.build_questions(train, Triples.of([*lines_in(valid), *rest]), Triples.of(sample))
    systems = data / "systems" / "fb15k-237"
    runs = [kgtrec.rank_system(collection, read_system(systems / f"{name}.npz"), depth=100).run for name in SYSTEMS]
    asked = collection.questions
    judged = Triples.of(true).recoded(entities=asked.entities, relations=asked.relations)
    question, entity = completions(asked, judged)
    truth = Qrels.of(question, entity, np.ones(len(question), np.int32), asked.ids, asked.entities)
    return World("published", collection, runs, truth, {})


def lines_of(path: Path) -> list[tuple[str, ...]]:
    """The triples of a file, as names."""
    return [tuple(line.split("\t")[:3]) for line in path.read_text().splitlines()]


def lines_in(triples: Triples) -> list[tuple[str, ...]]:
    """The same of triples that are read."""
    return [tuple(triples.labels_at(row)) for row in range(len(triples))]


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 2000, 4000, 10000])
    parser.add_argument("--worlds", nargs="+", default=["family", "published"], choices=["family", "published"])
    parser.add_argument("--out", type=Path, help="CSV file to write instead of standard output")
    options = parsed(parser, budgets=[100], worlds=["family"])
    made = {"family": family, "published": published}
    rows = [row for name in options.worlds for row in made[name]().rows(options.budgets)]
    table = pd.DataFrame(rows, columns=["world", "strategy", "judged", "true"])
    table.to_csv(options.out or sys.stdout, index=False)


if __name__ == "__main__":
    main()
