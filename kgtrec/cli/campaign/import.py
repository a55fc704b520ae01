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
@storing_options("Who judged. Default: the annotator whom each row names.")
@option("--role", "As what they judged; for an adjudicator see kgtrec campaign adjudicate.", ROLES, ROLES[0])
@option("--unassigned", "Let annotators judge what they were not assigned.", is_flag=True)
@option(
    "--machine",
    "Take in what a program says, as that of the machine NAME: in no agreement, no decision, and no qrels unless asked "
    "for. Lines of JSON or a table with head, relation, tail, verdict, and probability, reason, model, prompt.",
    metavar="NAME",
)
def command(campaign: str, files: tuple[str, ...], machine: str | None, **options: Any) -> None:
    """Take the verdicts of FILES into CAMPAIGN: tasks that kgtrec campaign export wrote, filled in.

    Each verdict is checked: its person, its triple, and its link, which must be https and lead to a host of
    sources.txt. If any is refused, each such row is reported and nothing of any file is stored, unless --keep-going
    takes the others; the exit code is 2 either way. A verdict that is stored already is passed over, so importing a
    file again changes nothing, and a file can be imported as it grows.

    The message at the end comes once the verdicts are on the disk. Importing several files at the same time is safe.

    \b
    kgtrec campaign import CAMPAIGN ann.csv bob.csv
    kgtrec campaign import CAMPAIGN table.csv --person ann --correct
    kgtrec campaign import CAMPAIGN project-1.json --user-map users.tsv --keep-going
    kgtrec campaign import CAMPAIGN llama.jsonl --machine llama-8b
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
