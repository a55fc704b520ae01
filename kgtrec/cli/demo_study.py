"""The last part of `kgtrec demo`: a study of its label sets, and a report."""

from __future__ import annotations

from kgtrec.cli.demo_script import Script
from kgtrec.formats.output.outputs import write_text

CONFIG, STUDY = "study.toml", "study"

_TEXT = """# What kgtrec demo ends with: kgtrec study study.toml. docs/study.md tells what may stand here.
title = "A family tree: which measure can be trusted?"
subtitle = "Baselines on a made-up world in which the truth is known"
about = [
    "The labels of a benchmark are sparse: most true answers are in none of its files. Here the world is made up and \
closed, so that the labels known before, those of a pool and its judges, and the truth can be compared on the same \
questions.",
    "The labels known before are biased on purpose: they are facts that the system `inverse` finds, as if a program of \
that kind had collected them.",
]
out = "study"

[data]
collection = "sparse"

[systems]
runs = ["sparse-ranks/*.run"]

[[labels]]
name = "known"
kind = "qrels"
file = "qrels/qrels.depth0.txt"
about = "the labels known before: the facts in kg/test.tsv, each for its head and its tail question"

[[labels]]
name = "judged"
kind = "campaign"
folder = "annotation"
about = "the labels of the campaign: the same facts, and what annotators said about the pool"

[[labels]]
name = "truth"
kind = "qrels"
file = "kg/truth.txt"
about = "the truth: every hidden fact that answers one of these questions"

[measures]
main = ["AP@20"]
resamples = 200

[correlation]
pairs = [["known", "truth"], ["judged", "truth"]]

[stability]
labels = ["truth"]
sizes = [0.05, 0.1, 0.25, 0.5, 0.75, 0.95]
repeats = 20

[power]
labels = ["known", "judged", "truth"]

[ties]
labels = ["judged"]

[report]
formats = ["html"]
"""


def run_study(script: Script) -> None:
    """Write the study's configuration, and run it."""
    write_text(f"kg/{CONFIG}", _TEXT)
    script.note(f"A study of what these label sets say of systems and measures, and its report: {STUDY}/report.html.")
    script.copy(f"kg/{CONFIG}", CONFIG)
    script.run("study", CONFIG)
