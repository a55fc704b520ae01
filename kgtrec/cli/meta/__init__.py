"""kgtrec meta: one file per command of the group."""

from __future__ import annotations

import click

from kgtrec.cli import LazyGroup

COMMANDS = {
    "correlate": "Tell how far two label sets rank the systems alike.",
    "sparsity": "Tell what sparse labels do to the ranking of the systems, measure by measure.",
    "stability": "Tell how the ranking of the systems holds on ever smaller test sets.",
    "power": "Tell how many pairs of systems a measure can tell apart.",
    "compare": "Set two systems side by side, down to the questions that differ most.",
}


@click.group(name="meta", cls=LazyGroup, package="kgtrec.cli.meta", commands_of=COMMANDS)
def command() -> None:
    """Find out which measures can be trusted.

    A measure can be trusted as far as it ranks systems alike whatever labels happen to be known, and tells systems
    apart with few of them.

    \b
    kgtrec meta correlate O/evaluation.csv SC/evaluation.csv
    kgtrec meta sparsity campaign/qrels --systems ranks
    kgtrec meta stability COLLECTION ranks/*.ranks.parquet
    kgtrec meta power COLLECTION ranks/*.ranks.parquet
    kgtrec meta compare COLLECTION ranks/transe.ranks.parquet ranks/rotate.ranks.parquet
    """
