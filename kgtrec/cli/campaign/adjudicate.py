"""kgtrec campaign adjudicate."""

from __future__ import annotations

import click

from kgtrec.cli.campaign.storing import storing_options, take_in
from kgtrec.cli.common import say
from kgtrec.data.judgements import ADJUDICATOR, ROLES


@click.command(name="adjudicate")
@click.argument("campaign", type=click.Path())
@click.option("--out", type=click.Path(), help="File to write what waits to, .csv or .jsonl, for an adjudicator.")
@click.option("--import", "files", multiple=True, type=click.Path(), metavar="FILE",
              help="File with an adjudicator's verdicts to take in; may be repeated.")  # fmt: skip
@storing_options
def command(campaign: str, out: str | None, files: tuple[str, ...], person: str | None, **options: object) -> None:
    """List what waits for an adjudicator in CAMPAIGN: triples on which annotators disagree, or of which one is unsure.

    Each comes with what every annotator said, with link and note, but not with who said it. --person leaves out what
    that person has judged as an annotator. --out writes the same as tasks to be filled in, and --import takes them
    back, checked as by kgtrec campaign import.

    \b
    kgtrec campaign adjudicate CAMPAIGN
    kgtrec campaign adjudicate CAMPAIGN --person eve --out eve.csv
    kgtrec campaign adjudicate CAMPAIGN --person eve --import eve.csv
    """
    from kgtrec.adjudication_tasks import tasks_for_adjudicator
    from kgtrec.formats.campaigns import read_campaign, require_initialised
    from kgtrec.formats.tasks import write_tasks
    from kgtrec.report.adjudication import queue_text

    if files and out:
        raise click.UsageError("expected --out or --import, found both; import first, then write what still waits")
    if files:
        take_in(campaign, files, role=ROLES[ADJUDICATOR], person=person, **options)  # type: ignore[arg-type]
        return
    require_initialised(campaign)
    tasks = tasks_for_adjudicator(read_campaign(campaign), person)
    if out:
        write_tasks(out, tasks)
        say(f"{out}: {len(tasks):,} tasks")
    elif len(tasks):
        click.echo(queue_text(tasks), nl=False)
    else:
        say("nothing waits for an adjudicator")
