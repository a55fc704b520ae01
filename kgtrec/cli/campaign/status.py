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
@option("--per", "Show the states for each relation, or side, too.", ("relation", "side"))
@output_options(TABLES)
def command(campaign: str, per: str | None, output: Output) -> None:
    """Show the progress of CAMPAIGN, and what to do next.

    Of its triples: automatic (judged N by a rule), open (fewer annotators have judged it than should), agreed,
    conflict (the annotators disagree), doubted (one of them is unsure), adjudicated, undecidable (the adjudicator is
    unsure); Y and N are those that are settled. Of each annotator: tasks assigned, judged and still to do, and which
    verdicts they gave how often. A triple counts for the side, head or tail, that its question asks for.

    \b
    kgtrec campaign status CAMPAIGN
    kgtrec campaign status CAMPAIGN --per relation
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
