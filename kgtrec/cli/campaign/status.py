"""kgtrec campaign status."""

from __future__ import annotations

import shlex

import click

from kgtrec.campaign.gold import gold_notes
from kgtrec.campaign.track import track
from kgtrec.cli.campaign.next_steps import next_text, notes_text
from kgtrec.cli.options import option
from kgtrec.cli.output import Output, output_options
from kgtrec.errors import legible
from kgtrec.formats.campaign.folder import read_campaign

TABLES = ("states", "relations", "annotators", "sides")


@click.command(name="status")
@click.argument("campaign", type=click.Path())
@option("--per", "One result for each.", ("relation", "side"))
@output_options(TABLES)
def command(campaign: str, per: str | None, output: Output) -> None:
    """Show the progress of CAMPAIGN, and what to do next.

    \b
    # states and annotators
    kgtrec campaign status CAMPAIGN
    # for each relation
    kgtrec campaign status CAMPAIGN --per relation

    Docs: docs/campaigns.md
    """
    read = read_campaign(campaign)
    progress = track(read)
    states = {None: "states", "relation": "relations", "side": "sides"}[per]
    people = ("annotators",) if progress.annotators and output.is_laid_out else ()
    whole = None if output.form == "json" else (states, *people)
    output.show(progress, whole)
    if output.form == "table":
        notes = "\n".join(filter(None, (notes_text(progress), gold_notes(read))))
        managers = ", ".join(map(legible, progress.managers))
        texts = managers and f"managed by {managers}", notes, next_text(progress, shlex.quote(campaign))
        click.echo("".join(f"\n{text}\n" for text in texts if text), nl=False)
