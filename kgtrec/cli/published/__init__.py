"""kgtrec published: one file per command of the group."""

from __future__ import annotations

import click

from kgtrec.cli import LazyGroup

COMMANDS = {
    "adjust": "Adjust a published number for chance.",
    "check": "Find impossible or doubtful numbers in a published table.",
}


@click.group(name="published", cls=LazyGroup, package="kgtrec.cli.published", commands_of=COMMANDS)
def command() -> None:
    """Compare numbers that others published with what is possible, and with chance.

    \b
    kgtrec published adjust --measure micro.MRR --value 0.338 --chance fb15k-237
    kgtrec published check table-5.csv --data fb15k-237
    """
