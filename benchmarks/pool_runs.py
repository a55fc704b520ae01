"""Runs -> depth-10 pool, against the time to read them, and against trectools.

    python benchmarks/pool_runs.py [--rounds 3] [--runs 8] [--trectools PYTHON]

Eight seeded runs of FB15k-237's size: 22,850 questions x 100 of 14,541 entities each (2.3 M lines a run), and a
collection of as many questions with 262,000 filtered triples, of which each run holds some. First, in this process: the
time to read the runs, and the time to pool what was read; then the two together against reading alone. PYTHON is the
interpreter of an environment with trectools, which needs one of its own. Its time grows faster than the number of
questions (two runs of 200, 500 and 1,000 questions took 2, 6 and 17 s; of 22,850 it did not end within 5 minutes), so
both sides are timed on the first 500 questions of the runs. Its pool is not quite the same: it knows no filter, and
breaks ties by the order of lines.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from processes import measured
from sizes import parsed

from kgtrec import Collection, Run, Triples, Vocabulary, build_questions, pool_runs, read_run, write_run
from kgtrec.data.arrow import labels_of

ENTITIES, RELATIONS, DEPTH = 14_541, 237, 100
PEERS_QUESTIONS = 500

TRECTOOLS = """
import sys
from trectools import TrecRun, TrecPoolMaker
runs = [TrecRun(path) for path in sys.argv[1:]]
pool = TrecPoolMaker().make_pool(runs, strategy="topX", topX=10)
print(sum(map(len, pool.pool.values())))
"""


def collection_of(n_train: int, n_test: int) -> Collection:
    """Random triples."""
    rng = np.random.default_rng(0)
    entities = Vocabulary(labels_of([f"/m/0{code:05x}" for code in range(ENTITIES)]))
    relations = Vocabulary(labels_of([f"/r/{code}" for code in range(RELATIONS)]))

    def triples(n: int) -> Triples:
        head, tail = (np.sort(rng.integers(0, ENTITIES, (3, n)), axis=0)[0].astype(np.int32) for _ in range(2))
        relation = (rng.integers(0, RELATIONS, n) // 8).astype(np.int32)
        return Triples(head, relation, tail, entities, relations)

    return build_questions(triples(n_train), triples(0), triples(n_test))


def write_runs(folder: Path, collection: Collection, n: int) -> list[Path]:
    """Seeded runs of random entities, filtered as kgtrec rank does but for a filtered entity now and then."""
    rng = np.random.default_rng(1)
    questions = min(22_850, len(collection.questions))
    paths = []
    for place in range(n):
        entity = np.argsort(rng.random((questions, 400), np.float32), axis=1)[:, :DEPTH]
        entity = (entity * 36 + rng.integers(0, 36, (questions, 1))).astype(np.int32)
        score = np.sort(rng.normal(size=(questions, DEPTH)).round(5), axis=1)[:, ::-1]
        question = np.repeat(np.arange(questions, dtype=np.int32), DEPTH)
        ids, labels = collection.questions.ids, collection.entities
        run = Run.of(f"run{place}", question, entity.ravel(), score.ravel(), ids, labels)
        paths.append(folder / f"run{place}.run")
        write_run(paths[-1], run)
    return paths


def _first_lines(path: Path, n: int) -> Path:
    part = path.with_suffix(".part.run")
    with path.open("rb") as stream:
        part.write_bytes(b"".join(itertools.islice(stream, n)))
    return part


def main() -> None:
    """Write the files, then time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--trectools", help="interpreter of an environment with trectools")
    parser.add_argument("--train", type=int, default=272_115, help="triples of the collection")
    parser.add_argument("--test", type=int, default=20_466)
    options = parsed(parser, rounds=1, runs=2, train=200, test=20)
    with tempfile.TemporaryDirectory() as folder:
        collection = collection_of(options.train, options.test)
        paths = write_runs(Path(folder), collection, options.runs)
        lines = min(22_850, len(collection.questions)) * DEPTH
        print(f"{options.runs} runs of {lines:,} lines, {paths[0].stat().st_size / 1e6:.0f} MB each")
        reads, pools = [], []
        for _ in range(options.rounds):
            start = time.perf_counter()
            runs = [read_run(path) for path in paths]
            middle = time.perf_counter()
            pool = pool_runs(collection, runs, depth=10)
            reads.append(middle - start)
            pools.append(time.perf_counter() - middle)
        both = statistics.median((read + made) / read for read, made in zip(reads, pools, strict=True))
        read, made = statistics.median(reads), statistics.median(pools)
        print(f"{pool!r}, {len(pool.rank):,} contributions")
        print(f"reading {read:.2f} s, pooling {made:.2f} s ({made / read:.2f} of it), together {both:.2f} of reading")
        if options.trectools:
            parts = [_first_lines(path, PEERS_QUESTIONS * DEPTH) for path in paths]
            start = time.perf_counter()
            pool_runs(collection, [read_run(path) for path in parts], depth=10)
            ours = time.perf_counter() - start
            theirs = measured([options.trectools, "-c", TRECTOOLS, *map(str, parts)]).seconds
            print(
                f"{PEERS_QUESTIONS} questions, reading and pooling: trectools {theirs:.1f} s, ours {ours:.2f} s, "
                f"ratio {theirs / ours:.0f}"
            )


if __name__ == "__main__":
    main()
