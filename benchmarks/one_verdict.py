"""What one verdict costs in campaigns of several sizes: as a whole command, and in a process that goes on.

    python benchmarks/one_verdict.py [--triples 100000 200000] [--repeat 5]

Makes campaigns in which two annotators have judged every triple but one, and takes the last verdict in: by `kgtrec
campaign import` as a whole process (start and imports included), and by a campaign that is held open (with and without
waiting for the disk, and after another program has added a verdict). Prints the best of several times, and the
processor time of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from processes import measured
from sizes import parsed

from kgtrec import Pool, Qrels, Questions, Triples, Vocabulary
from kgtrec.campaign import (
    Assignments,
    Incoming,
    Judgements,
    OpenCampaign,
    People,
    read_pool,
    write_assignments,
    write_people,
    write_pool,
)
from kgtrec.data.arrow import labels_of
from kgtrec.formats.campaign.folder import JUDGEMENTS, write_names, write_sources, write_templates
from kgtrec.formats.campaign.judgements import append_judgements

N_ENTITIES, N_RELATIONS, PER_QUESTION = 14_541, 237, 20  # those of FB15k-237, and candidates of a question
PAIRS = ((0, 1), (2, 3))  # of annotators
LINK = "https://en.wikipedia.org/wiki/Paris"
_LETTERS = np.array(list("0123456789bcdfghjklmnpqrstvwxyz_"))


def made(folder: Path, n_triples: int, seed: int = 0) -> Incoming:
    """Write a campaign; the verdict that it still lacks."""
    rng = np.random.default_rng(seed)
    pool = synthetic_pool(n_triples // PER_QUESTION, rng)
    none = np.zeros(0, np.int32)
    write_pool(folder, pool, Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities))
    pool = read_pool(folder).pool  # the numbers of the tasks are by the order of the labels
    n = len(pool)
    write_templates(folder, {})
    write_sources(folder, ["wikipedia.org"])
    write_names(folder, {label: f"name of {label}" for label in pool.questions.entities})
    names = Vocabulary.of(["ann", "bob", "cleo", "dan", "eve"])
    role = np.array([0, 0, 0, 0, 1], np.int8)
    pair = np.array(PAIRS, np.int32)[np.arange(n) % 2]
    person, triple = pair.T.ravel(), np.tile(np.arange(n, dtype=np.int32), 2)
    write_assignments(folder, pool, Assignments(person, triple, names))
    last = n // 2
    order = rng.permutation(2 * n)
    order = order[order != last]  # what the first of its pair would say of it
    m = len(order)
    notes = [("" if place % 3 else f'see "Life", section {place}\nand below') for place in range(m)]
    said = Judgements(
        triple[order],
        person[order],
        np.zeros(m, np.int8),
        (rng.random(m) < 0.1).astype(np.int8),
        labels_of([f"https://en.wikipedia.org/wiki/Page_{page}" for page in rng.integers(0, 50_000, m)]),
        labels_of(notes),
        labels_of([f"2026-01-{1 + place * 28 // m:02d}T20:00:00Z" for place in range(m)]),
        names,
    )
    append_judgements(folder / JUDGEMENTS, pool, said)
    write_people(folder, People(names, np.arange(5, dtype=np.int32), role, np.ones(5, np.bool_)))
    own = pool.triples
    labels = own.entities[own.head[last]], own.relations[own.relation[last]], own.entities[own.tail[last]]
    return Incoming("page", names[int(pair[last, 0])], "Y", last + 1, *labels, LINK)


def synthetic_pool(n_questions: int, rng: np.random.Generator) -> Pool:
    """Tail questions with labels of Freebase's form, and about two runs for each triple."""
    labels = [f"/m/0{''.join(rng.choice(_LETTERS, rng.integers(2, 5)))}{code:x}" for code in range(N_ENTITIES)]
    entities = Vocabulary.of(labels)
    relations = Vocabulary.of([f"/people/person/place_{code}./location/of_{code}" for code in range(N_RELATIONS)])
    keys = rng.choice(N_ENTITIES * N_RELATIONS, n_questions, replace=False)
    anchor, relation = (keys // N_RELATIONS).astype(np.int32), (keys % N_RELATIONS).astype(np.int32)
    ids = Vocabulary.of([f"tail{row}" for row in range(n_questions)])
    questions = Questions(ids, np.zeros(n_questions, np.bool_), relation, anchor, entities, relations)
    question = np.repeat(np.arange(n_questions, dtype=np.int32), PER_QUESTION)
    tail = np.concatenate([rng.choice(N_ENTITIES, PER_QUESTION, replace=False) for _ in range(n_questions)])
    triples = Triples(anchor[question], relation[question], tail.astype(np.int32), entities, relations)
    each = np.arange(len(triples), dtype=np.int32)
    again = each[rng.random(len(each)) < 0.9]
    triple = np.concatenate([each, again])
    run = np.concatenate([each % 2, np.full(len(again), 2, np.int32)])
    rank = rng.integers(1, 11, len(triple)).astype(np.int32)
    return Pool.of(triples, triple, question[triple], run, rank, ["complex", "rules", "transe"], questions)


def best(action: Callable[[], object], repeat: int, before: Callable[[], object] = lambda: None) -> float:
    """Milliseconds of the best of ``repeat`` calls, after ``before`` each time."""
    times = []
    for _ in range(repeat):
        before()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def costs(folder: Path, verdict: Incoming, repeat: int) -> dict[str, float]:
    """Milliseconds by way of taking a verdict in."""
    kept, store = folder.with_name("kept.jsonl"), folder / JUDGEMENTS
    shutil.copy(store, kept)
    file = folder.with_name("page.jsonl")
    names = {
        "annotator": "person",
        **{name: name for name in ("task", "head", "relation", "tail", "verdict", "source")},
    }
    file.write_text(json.dumps({key: getattr(verdict, name) for key, name in names.items()}) + "\n")
    command = [sys.executable, "-m", "kgtrec", "campaign", "import", str(folder), str(file)]
    whole = []
    for _ in range(repeat):
        shutil.copy(kept, store)
        whole.append(measured(command))
    found = {
        "command": min(cost.seconds for cost in whole) * 1000,
        "command, processor time": min(cost.processor for cost in whole) * 1000,
    }
    shutil.copy(kept, store)
    opened = OpenCampaign(folder)
    found["opening it"] = best(lambda: opened.campaign, 1)
    opened.store([verdict])
    turn = iter(range(10**6))

    def corrected(by: OpenCampaign = opened) -> None:
        by.store([replace(verdict, note=f"{next(turn)}")], correct=True)

    found["held open"] = best(corrected, 10 * repeat)
    with mock.patch("os.fsync"):
        found["held open, no fsync"] = best(corrected, 10 * repeat)
    other = OpenCampaign(folder)
    found["held open, others add"] = best(corrected, repeat, lambda: corrected(other))
    return found


def main() -> None:
    """Make the campaigns, take the times, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triples", type=int, nargs="+", default=[100_000, 200_000])
    parser.add_argument("--repeat", type=int, default=5)
    options = parsed(parser, triples=[200], repeat=1)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    tables = []
    for number in options.triples:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "campaign")
            verdict = made(folder, number)
            tables.append(costs(folder, verdict, options.repeat))
    print(f"{'milliseconds':<26}" + "".join(f"{number:>12,} triples" for number in options.triples))
    for name in tables[0]:
        print(f"{name:<26}" + "".join(f"{table[name]:>20,.1f}" for table in tables))


if __name__ == "__main__":
    main()
