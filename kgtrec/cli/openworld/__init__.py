"""kgtrec openworld: one file per command of the group."""

from __future__ import annotations

import click

from kgtrec.cli import LazyGroup

COMMANDS = {
    "world": "Make a collection from a family tree whose facts are all known.",
    "curve": "Score systems on sparse labels of many densities against complete ones.",
    "estimate": "Estimate how many true answers lack a label, and the scores without this lack.",
}


@click.group(name="openworld", cls=LazyGroup, package="kgtrec.cli.openworld", commands_of=COMMANDS)
def command() -> None:
    """Show the effect of missing facts on measures.

    \b
    kgtrec openworld world --people 6004 --out W
    kgtrec rank W --baseline svd --option factors=8,32,128 --depth 0 --out ranks
    kgtrec openworld curve W ranks --out curve
    kgtrec openworld estimate CAMPAIGN ranks/*.run.gz
    """
