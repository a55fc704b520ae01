"""One small example of every format: ``python -m tests.released.make tests/released/0.2`` as version 0.2 is released.

A folder is made once, and stays as it is.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import numpy as np

from kgtrec import read_collection, read_run, write_run, write_score_matrix, write_triples
from kgtrec.campaign import read_campaign, tasks_for, write_gold, write_machine, write_people, write_tasks
from kgtrec.cli import main
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import ExpertSample
from kgtrec.data.judgements import Gold
from kgtrec.data.machines import MachineVerdicts
from kgtrec.formats.campaign.expert_samples import write_expert_sample
from kgtrec.formats.campaign.folder import write_names
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.factor_folders import FactorArrays, write_factor_folder
from kgtrec.formats.queries import read_queries, write_queries
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of
from tests.released.contents import READERS, contents_of

EXAMPLES = Path(__file__).parents[2] / "examples"
STUDY = """title = "A study"
[data]
folder = "kg"
[systems]
baselines = ["rules", "popularity"]
[measures]
names = ["macro.MRR"]
resamples = 2
[stability]
labels = []
[report]
formats = ["csv"]
"""
SCORES = "evaluate collection ranks/rules.ranks.parquet -m micro.MRR --ties expected --per question --out scores."
BEFORE = f"""questions kg --out collection
questions kg --ids --out with-ids
questions --train kg/train.tsv --inference kg/train.tsv kg/valid.tsv kg/test.tsv --out inductive
questions dated/train.tsv dated/valid.tsv dated/test.tsv --out timed
questions kg --candidates train --out restricted
questions kg --queries asked.jsonl --out complex
rank collection --baseline rules --out ranks --depth 4
rank collection --baseline popularity --out ranks --depth 4 --run-format run
rank collection --baseline random --out ranks --depth 4 --run-format parquet
rank collection predictions.txt --out ranks --depth 4
{SCORES}csv
{SCORES}json
{SCORES}parquet
chance collection -m micro.MRR --format csv --out chance.csv
convert collection/qrels.txt qrels.parquet
pool collection ranks/rules.run.gz ranks/popularity.run --depth 2 --out campaign
pool collection ranks/rules.run.gz ranks/popularity.run --strategy two-level --share 0.5 --depth 2 --out sampled
campaign init campaign --annotator ann --annotator bob
campaign init sampled --annotator ann --annotator bob
campaign assign campaign
campaign assign sampled
study study.toml --out study"""
AFTER = """campaign qrels campaign --collection collection --out qrels
campaign qrels campaign --out qrels-alone
campaign export campaign --annotator ann --all --format label-studio --out label-studio"""


def run(commands: str) -> None:
    """Every command has to succeed."""
    for words in commands.splitlines():
        try:
            main(words.split())
        except SystemExit as leaving:
            if leaving.code:
                raise


def inputs() -> None:
    """What the commands read: the cities, with times too, and queries."""
    shutil.copytree(EXAMPLES / "cities", "kg")
    Path("dated").mkdir()
    for path in Path("kg").iterdir():
        lines = path.read_text().splitlines()
        Path("dated", path.name).write_text("".join(f"{line}\t{2000 + row % 3}\n" for row, line in enumerate(lines)))
    shutil.copy(EXAMPLES / "anyburl" / "predictions.txt", "predictions.txt")
    shutil.copy(EXAMPLES / "cities-queries.jsonl", "asked.jsonl")
    answered = (
        '{"structure": "2in", "query": [["ann", ["likes"]], ["bob", ["likes", "n"]]], "easy": ["tea"], "hard": ["jam"]}'
    )
    Path("answered.jsonl").write_text(answered)
    write_queries("queries.jsonl", read_queries("answered.jsonl"))
    Path("study.toml").write_text(STUDY)


def judged() -> None:
    """Verdicts of two people, who differ on every fifth triple; a third, known verdicts, an expert and a machine."""
    campaign, folder = read_campaign("campaign"), Path("campaign")
    pool, n = campaign.pool, len(campaign.pool)
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
    write_people(folder, people)
    own = {"ann": [row % 2 for row in range(n)], "bob": [(row + (row % 5 == 0)) % 2 for row in range(n)]}
    events = [
        (row, name, "annotator", "NY"[own[name][row]], "https://example.org/", "a note")
        for row in range(n)
        for name in own
    ]
    append_judgements(folder / "judgements.jsonl", pool, judgements_of(events))
    append_judgements(
        folder / "judgements.jsonl", pool, judgements_of([(row, "eve", "adjudicator", "Y") for row in range(0, n, 5)])
    )
    first = pool.triples.take(np.array([1]))
    labels = first.entities[first.head[0]], first.relations[first.relation[0]], first.entities[first.tail[0]]
    write_gold(folder, Gold.of([(*labels, "Y", "it is known")]))
    write_names(folder, {labels[0]: "A name"})
    drawn = np.arange(3, dtype=np.int32)
    verdict = np.array([0, 1, 0], np.int8)
    write_expert_sample(folder, pool, ExpertSample(drawn, verdict, np.array([0.5, 0.25, 0.5])))
    texts = labels_of(["", "why", ""])
    machine = MachineVerdicts(drawn, verdict, np.array([0.75, 0.5, 0.1]), texts, labels_of(["one"] * 3), texts)
    write_machine(folder, "m", pool, machine)


def arrays() -> None:
    """A matrix, vectors, a run in parts, and tasks that are filled in."""
    collection = read_collection("collection")
    n = len(collection.questions), len(collection.entities)
    write_score_matrix("scores.npy", np.arange(n[0] * n[1], dtype=np.float16).reshape(n), collection)
    ours = np.arange(2.0 * n[1]).reshape(-1, 2), np.arange(2.0 * len(collection.relations)).reshape(-1, 2)
    names = collection.entities, collection.relations
    write_factor_folder("factors", FactorArrays("transe", {"p": 1}, False, *names, E=ours[0], R=ours[1]))
    write_run("ranks/parts.run", read_run("ranks/rules.run.gz"), parts=True)
    write_triples("triples.tsv", collection.train)
    tasks = tasks_for(read_campaign("campaign"), "ann", everything=True)
    filled = replace(tasks, verdict=labels_of(["Y", "N"] * len(tasks))[: len(tasks)])
    for form in ("csv", "jsonl", "xlsx"):
        write_tasks(f"tasks.{form}", filled)


def make(folder: Path) -> None:
    """Write one of each into a folder that is not there yet, and beside them what they hold."""
    folder.mkdir(parents=True)
    with chdir(folder):
        inputs()
        run(BEFORE)
        judged()
        run(AFTER)
        arrays()
        left = (f"study/{part}" for part in ("tables", "figures", "data"))
        for name in (*left, "kg", "dated", "asked.jsonl", "answered.jsonl", "predictions.txt", "study.toml"):
            shutil.rmtree(name) if Path(name).is_dir() else Path(name).unlink()
        expected = {name: contents_of(Path(), name) for name in READERS}
        with gzip.GzipFile("expected.json.gz", "wb", mtime=0) as stream:
            stream.write(json.dumps(expected, indent=0).encode())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
