"""kgtrec campaign status."""

from __future__ import annotations

import shlex

import click

from kgtrec.campaign.track import track
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.report.campaigns import next_text, progress_text


@click.command(name="status")
@click.argument("campaign", type=click.Path())
@click.option("--per", type=click.Choice(("relation",)), help="Tell the states for each relation too.")
def command(campaign: str, per: str | None) -> None:
    """Tell how far CAMPAIGN is, and what to do next.

    Of its triples: automatic (judged N by a rule), open (fewer annotators have judged it than should), agreed,
    conflict (the annotators disagree), doubted (one of them is unsure), adjudicated, undecidable (the adjudicator is
    unsure); Y and N are those that are settled. Of each annotator: tasks assigned, judged and still to do, and which
    verdicts they gave how often.

    \b
    kgtrec campaign status CAMPAIGN
    kgtrec campaign status CAMPAIGN --per relation
    """
    progress = track(read_campaign(campaign))
    click.echo(progress_text(progress, per_relation=per == "relation"))
    click.echo(next_text(progress, shlex.quote(campaign)))
