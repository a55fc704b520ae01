"""A run larger than the memory -> rows a second and peak memory of `kgtrec evaluate`, `check` and `convert --sort`.

    python benchmarks/streamed_run.py [--rows 200000000] [--depth 1000]

The files are seeded: as many questions as the rows need, 14,541 entities with labels as long as Freebase's, 1,000
entities a question. The same is measured on 2.3 million rows, in Parquet read at once, in one run. Then the lines of
the small run are shuffled, and sorted again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from processes import measured
from sizes import parsed

from kgtrec import Qrels, Run, RunWriter, Vocabulary, read_run, write_qrels

ENTITIES, AT_A_TIME = 14_541, 2_000
MEASURES = "macro.MRR AP@20 nDCG@20 macro.Hits@10"


def write_files(folder: Path, rows: int, depth: int) -> tuple[Path, Path]:
    """A Parquet run, and qrels of two answers a question."""
    rng = np.random.default_rng(0)
    entities = Vocabulary.of([f"/m/0{code:05x}" for code in range(ENTITIES)])
    n_questions = rows // depth
    questions = Vocabulary.of([f"tail{number}" for number in range(n_questions)])
    qrels, run = folder / f"qrels-{rows}.txt", folder / f"run-{rows}.parquet"
    with RunWriter(run, "system") as out:
        for first in range(0, n_questions, AT_A_TIME):
            own = np.arange(first, min(first + AT_A_TIME, n_questions), dtype=np.int32)
            # a stretch of a cycle through all entities, so that each is there once
            entity = (rng.integers(0, ENTITIES, len(own))[:, None] + 7 * np.arange(depth)) % ENTITIES
            score = -np.sort(-rng.normal(size=(len(own), depth)).round(5))
            columns = np.repeat(own, depth), entity.ravel().astype(np.int32), score.ravel()
            out.write(Run.of("", *columns, questions, entities))
    answer = rng.integers(0, ENTITIES // 2, n_questions)
    question = np.repeat(np.arange(n_questions, dtype=np.int32), 2)
    entity = np.stack([answer, answer + 1], axis=1).ravel().astype(np.int32)
    grade = np.ones(len(question), np.int32)
    write_qrels(qrels, Qrels.of(question, entity, grade, questions, entities))
    return run, qrels


def write_shuffled(run: Path, path: Path) -> None:
    """The lines of a run in random order, as text."""
    whole = read_run(run)
    order = np.random.default_rng(0).permutation(len(whole))
    labels = whole.questions.decode(whole.question[order]), whole.entities.decode(whole.entity[order])
    columns = zip(*(each.to_pylist() for each in labels), whole.score[order].tolist(), strict=True)
    path.write_text("".join(f"{question} Q0 {entity} 1 {score} system\n" for question, entity, score in columns))


def main() -> None:
    """Write the files, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000_000)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--small", type=int, default=2_300_000, help="rows of the small run")
    options = parsed(parser, rows=4_000, small=2_000, depth=100)
    # what a process has had in memory counts for those that it starts, so files are written by another one
    with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor(1, get_context("spawn")) as writer:
        folder = Path(place)
        print(f"{'':<34}{'rows':>13}{'seconds':>9}{'M rows/s':>10}{'peak MB':>9}")

        def show(what: str, rows: int, *words: str | Path) -> None:
            cost = measured([sys.executable, "-m", "kgtrec", *map(str, words)])
            rate = rows / cost.seconds / 1e6
            print(f"{what:<34}{rows:>13,}{cost.seconds:>9.1f}{rate:>10.2f}{cost.peak_mb:>9.0f}", flush=True)

        (small, small_qrels), (large, large_qrels) = (
            writer.submit(write_files, folder, rows, options.depth).result() for rows in (options.small, options.rows)
        )
        show("evaluate", options.small, "evaluate", small_qrels, small, "-m", MEASURES)
        show("evaluate", options.rows, "evaluate", large_qrels, large, "-m", MEASURES)
        show("check", options.rows, "check", large_qrels, large)
        writer.submit(write_shuffled, small, folder / "mixed.run").result()
        mixed = folder / "mixed.run"
        show("convert --sort, shuffled text", options.small, "convert", mixed, folder / "a.parquet", "--sort")
        show("convert --sort, Parquet", options.rows, "convert", large, folder / "b.parquet", "--sort")


if __name__ == "__main__":
    main()
