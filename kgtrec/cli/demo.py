"""kgtrec demo."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kgtrec.baselines import BASELINES, baseline_blocks
from kgtrec.cli.systems import write_system
from kgtrec.data.collection import Collection
from kgtrec.evaluation import default_measures, evaluate
from kgtrec.formats.collections import write_collection
from kgtrec.formats.files import replacing_folder, write_text
from kgtrec.formats.triples import read_triples, write_triples
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.questions import build_questions
from kgtrec.report.tables import to_csv, to_table

STEPS = "steps.sh"
_DEPTH = 100
_EXPLAINED = {
    "sparse": "sparse labels: only the facts in kg/test.tsv count as answers, as in a real benchmark",
    "complete": "complete labels: every true fact counts as an answer, which only a closed world can tell",
}


@click.command(name="demo")
@click.option(
    "--out", required=True, type=click.Path(), help="Folder to write; it must not exist, or be an earlier demo."
)
@click.option(
    "--people",
    type=click.IntRange(min=20),
    default=200,
    show_default=True,
    help="Entities of the family tree. 6004 gives about 190,000 facts, and takes minutes.",
)
@click.option(
    "--hidden",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    show_default=True,
    help="Share of the true facts that systems do not see.",
)
@click.option(
    "--density",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.25,
    show_default=True,
    help="Share of the hidden facts that become sparse labels; the others are true but unlabelled.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Same seed, same folder.")  # fmt: skip
def command(out: str, people: int, hidden: float, density: float, seed: int) -> None:
    """Run the whole job on a made-up family tree; needs no data and no network.

    Builds a closed-world KG of 23 kinship relations, hides facts from the baseline systems, ranks what they
    score, and evaluates them on sparse and on complete labels.

    \b
    kgtrec demo --out demo
    kgtrec demo --out demo --people 6004 --density 0.1
    """
    tree = family_tree(people, seed)
    world = hide_facts(tree.facts, hidden=hidden, density=density, seed=seed)
    splits = world.splits
    click.echo(
        f"A family tree of {people:,} people: {len(tree.facts):,} true facts under "
        f"{len(tree.facts.relations)} relations.\n"
        f"Hidden from the systems: {len(world.complete):,} facts, of which {len(splits.test):,} become sparse labels."
    )
    with replacing_folder(out, made_by=STEPS) as folder:
        triples = {"train": splits.train, "valid": splits.valid, "test": splits.test, "complete": world.complete}
        for name, split in triples.items():
            write_triples(folder / "kg" / f"{name}.tsv", split)
        for labels, test in (("sparse", "test"), ("complete", "complete")):
            # from the files, so that the steps as commands give the same bytes
            train, valid, judged = (read_triples(folder / "kg" / f"{name}.tsv") for name in ("train", "valid", test))
            table = _evaluated(folder, labels, build_questions(train, valid, judged), seed)
            click.echo(f"\n{_EXPLAINED[labels][0].upper()}{_EXPLAINED[labels][1:]}\n\n{table}", nl=False)
        write_text(folder / STEPS, _steps(people, hidden, density, seed))
    click.echo(f"\nEverything is in {out}/; {Path(out, STEPS)} has each step as a command of its own.")


def _evaluated(folder: Path, labels: str, collection: Collection, seed: int) -> str:
    """Write a collection and all baselines' ranks and scores on it, and give back the table of scores."""
    write_collection(folder / labels, collection)
    ranks = [
        write_system(
            collection, baseline_blocks(name, collection, seed=seed), name, folder / f"{labels}-ranks", depth=_DEPTH
        )
        for name, record in BASELINES.items() if not record.is_control
    ]  # fmt: skip
    scores = evaluate(collection, ranks, default_measures(ranks=True))
    write_text(folder / f"{labels}-scores.csv", to_csv(scores))
    return to_table(scores)


def _steps(people: int, hidden: float, density: float, seed: int) -> str:
    """The demo as commands, to be run in its folder."""
    lines = [
        "# What kgtrec demo did, step by step, once the triples in kg/ are there. Run it in this folder.",
        f"# They came from: {shlex.join(['kgtrec', 'demo', '--people', str(people), '--hidden', f'{hidden:g}'])} "
        f"{shlex.join(['--density', f'{density:g}', '--seed', str(seed), '--out', 'demo'])}",
        "set -e",
    ]
    for labels, test in (("sparse", "test"), ("complete", "complete")):
        lines += [
            f"kgtrec questions kg/train.tsv kg/valid.tsv kg/{test}.tsv --out {labels} --force",
            f"kgtrec baseline all {labels} --out {labels}-ranks --depth {_DEPTH} --seed {seed}",
            f"kgtrec evaluate {labels} {labels}-ranks/*.ranks.parquet",
        ]
    return "\n".join(lines) + "\n"
