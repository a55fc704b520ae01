"""kgtrec campaign adjudicate."""

from __future__ import annotations

from typing import Any

import click
import pyarrow as pa

from kgtrec.cli.campaign.handing_out import tasks_writer
from kgtrec.cli.campaign.storing import storing_options, take_in
from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, force_option, option
from kgtrec.data.judgements import ADJUDICATOR, ROLES, Tasks
from kgtrec.data.table import Table


@click.command(name="adjudicate")
@click.argument("campaign", type=click.Path())
@option("--out", "File of tasks: .csv, .xlsx, .jsonl or .html.", PATH)
@option("--import files", "Import this file of verdicts; repeatable.", PATH, multiple=True, metavar="FILE")
@option("--merge", "Copy what is filled in from OUT, which is kept under another name.", is_flag=True)
@storing_options
@force_option
def command(
    campaign: str, out: str | None, files: tuple[str, ...], merge: bool, person: str | None, **options: Any
) -> None:
    """List the triples of CAMPAIGN on which annotators disagree or one is unsure, write them as tasks for an
    adjudicator, and import the verdicts.

    \b
    # tasks for eve
    kgtrec campaign adjudicate CAMPAIGN --person eve --out eve.csv
    # her verdicts
    kgtrec campaign adjudicate CAMPAIGN --person eve --import eve.csv

    Docs: docs/campaigns.md
    """
    from kgtrec.campaign.tasks import tasks_for_adjudicator
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised
    from kgtrec.report.show import table_text

    if files and out:
        raise click.UsageError("expected --out or --import, found both; import first, then write what still waits")
    role = ROLES[ADJUDICATOR]
    if files:
        take_in(campaign, files, role=role, person=person, **options)
        return
    write = tasks_writer(out, role=role, person=person, option="--person", merge=merge) if out else None
    require_initialised(campaign)
    read = read_campaign(campaign)
    tasks = tasks_for_adjudicator(read, person)
    if write is not None:
        write(campaign, read, tasks)
        say(f"{out}: {len(tasks):,} tasks")
    elif len(tasks):
        click.echo(table_text(_queue(tasks)), nl=False)
    else:
        say("nothing waits for an adjudicator")


def _queue(tasks: Tasks) -> Table:
    """A row for each annotator's verdict on each triple; task and question stand in the first of them."""
    shown = {name: column.to_pylist() for name, column in tasks.shown.items()}
    rows = []
    for place, (task, question) in enumerate(zip(tasks.task, tasks.question.to_pylist(), strict=True)):
        about = {"task": str(task), "question": " ".join(question.split())}
        for nth in range(1, 1 + sum(name.startswith("verdict_") for name in shown)):
            said = {name: " ".join(shown[f"{name}_{nth}"][place].split()) for name in ("verdict", "source", "note")}
            if said["verdict"]:
                rows.append(about | said)
                about = {"task": "", "question": ""}
    return Table("queue", "", "", pa.Table.from_pylist(rows))
