"""kgtrec campaign import."""  # noqa: N999 - commands are found by name, and this one has that of a keyword

from __future__ import annotations

import shlex
from typing import Any

import click

from kgtrec.cli.campaign.storing import storing_options, take_in
from kgtrec.cli.common import say
from kgtrec.cli.options import option, refuse_idle
from kgtrec.data.judgements import ROLES
from kgtrec.errors import counted


@click.command(name="import")
@click.argument("campaign", type=click.Path())
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@storing_options
@option("--role", "Role of who judged.", ROLES, ROLES[0])
@option("--unassigned", "Let annotators judge what they were not assigned.", is_flag=True)
@option("--machine", "Import the verdicts of a program, under this name.", metavar="NAME")
def command(campaign: str, files: tuple[str, ...], machine: str | None, **options: Any) -> None:
    """Import the verdicts of each FILE into CAMPAIGN, each one checked; if any is refused nothing is stored, and the
    exit code is 2.

    \b
    # filled-in tasks of kgtrec campaign export
    kgtrec campaign import CAMPAIGN ann.csv bob.csv
    # verdicts of a language model
    kgtrec campaign import CAMPAIGN llama.jsonl --machine llama-8b

    Docs: docs/campaigns.md
    """
    if machine is not None:
        from kgtrec.campaign.machines import take_in_machine
        from kgtrec.formats.campaign.machines import machine_file

        refuse_idle(set(options) - {"correct"}, "--machine")
        taken = take_in_machine(campaign, machine, files, correct=options["correct"])
        corrected = f", {taken.corrected:,} in place of an earlier one" if taken.corrected else ""
        say(
            f"{machine_file(campaign, machine)}: stored {counted(taken.new + taken.corrected, 'verdict')}{corrected}; "
            f"{taken.before:,} stored before\nnext: kgtrec campaign machines {shlex.quote(campaign)}"
        )
        return
    take_in(campaign, files, **options)
