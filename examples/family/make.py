"""Make this folder again: a made-up family tree of 200 people, of whose facts the systems see four in ten.

    python examples/family/make.py FOLDER

The tree, the hidden facts and what is known of people and relations are those of `kgtrec demo`; but the test triples
are a random tenth of the hidden facts. truth.txt holds every true answer to the questions of the test triples, except
those that train and valid have.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import kgtrec
from kgtrec.cli.demo_steps import HIDDEN, PEOPLE, write_world
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import completions
from kgtrec.openworld import family_tree, hide_facts


def main() -> None:
    """Make the tree, hide, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    tree = family_tree(PEOPLE)
    world = hide_facts(tree.facts, hidden=HIDDEN, density=0.1)
    write_world(folder, tree, world)
    for name in ("annotation.md", "complete.tsv", "sources.txt", "study.toml"):
        folder.joinpath(name).unlink()
    asked = kgtrec.build_questions(folder).questions
    question, entity = completions(asked, world.complete.recoded(entities=asked.entities, relations=asked.relations))
    truth = Qrels.of(question, entity, np.ones(len(question), np.int32), asked.ids, asked.entities)
    kgtrec.write_qrels(folder / "truth.txt", truth)


if __name__ == "__main__":
    main()
