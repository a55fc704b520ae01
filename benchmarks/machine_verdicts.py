"""What real language models are worth as judges: three of 7 to 8 billion parameters, and people on the same triples.

    python benchmarks/machine_verdicts.py [--resamples 1000] [--seed 0]

Reads dbpedia-accuracy of the shared data (KGTREC_DATA): DBpedia triples with labels of 60 people, and what Gemma,
Llama 3 and Mistral say of them. A subject is a question, and what is said of it are its candidates; the triples count
alike. Prints what `kgtrec campaign machines` says, with one person beside the machines: the one with the most verdicts,
which have a part in the labels. Then how many labels of people it takes to see that a machine has skill: beside the
real ones stands one that is made up, which is right on 85% of the triples.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from sizes import data_folder, parsed

from kgtrec import Pool, Qrels, Questions, Triples, Vocabulary
from kgtrec.campaign import Assignments, Automatic, Campaign, Judgements, MachineVerdicts, People, machine_report
from kgtrec.data.arrow import labels_of
from kgtrec.data.triples import label_hashes
from kgtrec.formats.csv_text import csv_text
from kgtrec.kernels.statistics.calibration import fold_of, recalibrated, skill
from kgtrec.report.show import shown

CODES = {"correct": 1, "incorrect": 0, "idk": 2, "i don't know": 2}  # Y, N, unsure; another word is no verdict
N, Y = 0, 1
Triple = tuple[str, str, str]


def columns_of(path: Path) -> list[list[str]]:
    """The rows of a table, without its header."""
    return [line.split("\t") for line in csv_text(path, "a table").splitlines()[1:]]


def real() -> tuple[dict[Triple, int], dict[str, dict[Triple, int]]]:
    """The label of each triple by people, and what each machine says, and the person with the most verdicts."""
    folder = data_folder() / "dbpedia-accuracy"
    people = {tuple(row[:3]): CODES[row[4].lower()] for row in columns_of(folder / "aggregated.tsv.gz")}
    machines: dict[str, dict[Triple, int]] = defaultdict(dict)
    for *triple, model, label, _, _ in columns_of(folder / "machine.tsv.gz"):
        if tuple(triple) in people and label in CODES:
            machines[model][tuple(triple)] = CODES[label]
    laymen = [row for row in columns_of(folder / "verdicts.tsv.gz") if not row[3].startswith("expert")]
    busiest = Counter(row[3] for row in laymen).most_common(1)[0][0]
    machines["one person"] = {tuple(row[:3]): CODES[row[4].lower()] for row in laymen if row[3] == busiest}
    return people, dict(sorted(machines.items(), key=lambda item: item[0] == "one person"))


def made_up(rng: np.random.Generator) -> tuple[dict[Triple, int], dict[str, dict[Triple, int]]]:
    """A few triples, and a machine that nearly always says Y."""
    people = {(f"s{row // 4}", "p", f"o{row}"): int(rng.random() < 0.8) for row in range(200)}
    return people, {"yes": {triple: int(rng.random() < 0.97) for triple in people}}


def campaign_of(people: dict[Triple, int]) -> Campaign:
    """A campaign in which somebody has judged each triple: a question for each subject."""
    triples = Triples.of([(subject, "is said of", f"{predicate} {obj}") for subject, predicate, obj in people])
    subjects, question = np.unique(triples.head, return_inverse=True)
    zeros, of_pool = np.zeros(len(subjects), np.int32), np.zeros(len(triples), np.int32)
    ids = Vocabulary.of(triples.entities.decode(subjects))
    questions = Questions(ids, zeros > 0, zeros, subjects, triples.entities, triples.relations)
    rank = np.arange(len(triples), dtype=np.int32) + 1
    pool = Pool.of(triples, rank - 1, question.astype(np.int32), of_pool, rank, ["all"], questions)
    who, no = Vocabulary.of(["people"]), np.zeros(0, np.int32)
    rows = rows_of(pool, people)
    texts = labels_of([""] * len(rows))
    verdict = np.array(list(people.values()), np.int8)
    said = Judgements(rows, 0 * rows, (0 * rows).astype(np.int8), verdict, texts, texts, texts, who)
    known = Qrels.of(no, no, no, questions.ids, questions.entities)
    persons = People(who, np.zeros(1, np.int32), np.zeros(1, np.int8), np.ones(1, np.bool_))
    settings = {"annotators_per_triple": 1}
    return Campaign(pool, known, Automatic.none(len(pool)), persons, Assignments.none(who), said, settings=settings)


def rows_of(pool: Pool, said: dict[Triple, int]) -> np.ndarray:
    """The pool's rows of some triples."""
    entities = pool.triples.entities
    head, tail = entities.encode([each[0] for each in said]), entities.encode([f"{each[1]} {each[2]}" for each in said])
    return pool.rows(head, np.zeros(len(head), np.int32), tail).astype(np.int32)


def machine_of(pool: Pool, said: dict[Triple, int]) -> MachineVerdicts:
    """What a machine says, as kgtrec keeps it."""
    rows = rows_of(pool, said)
    texts, verdict = labels_of([""] * len(rows)), np.array(list(said.values()), np.int8)
    verdicts = MachineVerdicts(rows, verdict, np.full(len(rows), np.nan), texts, texts, texts)
    return verdicts.take(np.flatnonzero(rows >= 0)).take(np.argsort(rows[rows >= 0]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=100, help="samples of labels for the second table")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, resamples=20, draws=3)
    rng = np.random.default_rng(options.seed)
    people, machines = made_up(rng) if options.smallest else real()
    campaign = campaign_of(people)
    pool, n = campaign.pool, len(campaign.pool)
    print(f"{n:,} triples of {len(pool.questions):,} subjects, {sum(code < 2 for code in people.values()):,} settled\n")
    said = {name: machine_of(pool, verdicts) for name, verdicts in machines.items()}
    report = machine_report(campaign, said, resamples=options.resamples, seed=options.seed)
    print(shown(report, "table", ("machines",)))

    label = np.full(n, np.nan)
    settled = {triple: code for triple, code in people.items() if code < 2}
    label[rows_of(pool, settled)] = list(settled.values())
    verdicts = {name: each.of_pool(n)[0] for name, each in said.items() if name != "one person"}
    truth = np.where(np.isnan(label), 0, label).astype(np.int64)
    verdicts["right on 85%"] = np.where(rng.random(n) < 0.85, truth, 1 - truth)
    nothing, ones, question = np.full(n, np.nan), np.ones(n), pool.home
    fold = fold_of(label_hashes(pool.questions.ids)[question], 5, options.seed)
    sizes = [size for size in (50, 100, 200, 500, 1000, 5000) if size < len(settled)]
    print("share of draws in which a machine is shown to have skill, by the number of labels of people")
    print("".join(["machine".ljust(14), *(f"{size:>8,}" for size in sizes)]))
    for name, verdict in verdicts.items():
        shares = []
        for size in sizes:
            found = 0
            for _ in range(options.draws):
                few = np.full(n, np.nan)
                drawn = rng.choice(np.flatnonzero(~np.isnan(label)), size, replace=False)
                few[drawn] = label[drawn]
                parts = [recalibrated(codes, nothing, few, ones, fold) for codes in (verdict, np.full(n, -1))]
                found += skill(*parts, few, ones, question, resamples=200, seed=options.seed).is_shown
            shares.append(f"{found / options.draws:8.2f}")
        print("".join([name.ljust(14), *shares]))


if __name__ == "__main__":
    main()
