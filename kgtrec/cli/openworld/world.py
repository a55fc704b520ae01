"""kgtrec openworld world."""

from __future__ import annotations

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import MOST_PEOPLE, PATH, SHARE, Real, Whole, force_option, option, seed_option


@click.command(name="world")
@option("--people", "Number of entities.", Whole(2, MOST_PEOPLE), 6004)
@option("--hidden", "Share of the facts that are hidden from the systems.", SHARE, 0.5)
@option("--valid", "Share of the facts in valid.", Real(0, 1, max_open=True), 0.0)
@seed_option
@option("--out", "Folder of the collection.", PATH, required=True)
@force_option
def command(people: int, hidden: float, valid: float, seed: int, out: str) -> None:
    """Make a family tree with all its kinship facts, hide a part of them, and make questions from the hidden facts,
    whose labels are complete.

    \b
    # 6,004 people
    kgtrec openworld world --out W
    # a small one
    kgtrec openworld world --people 200 --hidden 0.3 --seed 7 --out W

    Docs: docs/open-world.md
    """
    from kgtrec.collection.questions import build_questions
    from kgtrec.formats.collections import require_writable, write_collection
    from kgtrec.openworld.family_tree import family_statistics, family_tree, hide_facts
    from kgtrec.report.show import shown

    require_writable(out)
    tree = family_tree(people, seed)
    parts = hide_facts(tree.facts, hidden=hidden, density=1.0, valid=valid, seed=seed)
    collection = build_questions(parts.splits.train, parts.splits.valid, parts.complete)
    about = {"name": "openworld world", "people": people, "hidden": hidden, "valid": valid, "seed": seed}
    write_collection(out, collection, command=about)
    click.echo(shown(family_statistics(tree), "table"), nl=False)
    say(f"wrote {out}: {len(parts.complete):,} facts to find, {len(collection.questions):,} questions")
