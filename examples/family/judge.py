"""Judge all open tasks of a campaign on this folder's family tree, as two people who know the truth.

    python examples/family/judge.py CAMPAIGN COLLECTION

Adds the annotators ann and bob, and assigns, exports, fills in and imports their tasks. A triple is Y if truth.txt has
it for a question of COLLECTION.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

TRUTH = Path(__file__).with_name("truth.txt")


def facts_of(collection: Path) -> set[tuple[str, str, str]]:
    """The true triples, from the answers of truth.txt."""
    topics = pd.read_csv(collection / "topics.tsv", sep="\t", names=["question", "anchor", "relation"])
    answers = pd.read_csv(TRUTH, sep=" ", names=["question", "zero", "entity", "grade"]).merge(topics)
    is_head = answers["question"].str.startswith("head")
    head, tail = (answers["entity"].where(side, answers["anchor"]) for side in (is_head, ~is_head))
    return set(zip(head, answers["relation"], tail, strict=True))


def main() -> None:
    """Judge what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path)
    parser.add_argument("collection", type=Path)
    given = parser.parse_args()
    campaign, facts, files = given.campaign, facts_of(given.collection), []

    def kgtrec(*words: object) -> None:
        command = [sys.executable, "-m", "kgtrec", "campaign", words[0], campaign, *words[1:]]
        done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)  # noqa: S603  # ours
        if done.returncode:
            raise SystemExit(done.stderr)

    kgtrec("init", "--annotator", "ann", "--annotator", "bob", "--links", "none")
    kgtrec("assign")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ann", "bob"):
            files.append(Path(folder, f"{name}.csv"))
            kgtrec("export", "--annotator", name, "--out", files[-1])
            tasks = pd.read_csv(files[-1])
            triples = zip(tasks["head"], tasks["relation"], tasks["tail"], strict=True)
            tasks["verdict"] = ["Y" if triple in facts else "N" for triple in triples]
            tasks.to_csv(files[-1], index=False)
        kgtrec("import", *files)


if __name__ == "__main__":
    main()
