"""kgtrec campaign export."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from kgtrec.cli.campaign.handing_out import tasks_writer
from kgtrec.cli.common import say
from kgtrec.cli.options import COUNT, PATH, force_option, option, refuse_idle
from kgtrec.data.judgements import ANNOTATOR, ROLES
from kgtrec.errors import KgtrecError, counted

FORMATS = ("csv", "xlsx", "jsonl", "html", "label-studio")


@click.command(name="export")
@click.argument("campaign", type=click.Path())
@option("--annotator", "Whose tasks; required except for Label Studio.", metavar="PERSON")
@option("--out", "File to write; for Label Studio a folder.", PATH, required=True)
@option("--format form", "Form of the tasks. Default: by --out.", FORMATS)
@option("--all everything", "Write judged tasks too, with the annotator's own verdicts.", is_flag=True)
@option("--first", "Write the first N tasks only.", COUNT)
@option("--merge", "Copy what is filled in from OUT, which is kept under another name.", is_flag=True)
@option("--guidelines", "Link to the guidelines, shown in Label Studio.", metavar="URL")
@force_option
def command(
    campaign: str,
    annotator: str | None,
    out: str,
    form: str | None,
    everything: bool,
    first: int | None,
    merge: bool,
    guidelines: str | None,
) -> None:
    """Write an annotator's tasks of CAMPAIGN, to be filled in and imported by kgtrec campaign import: a spreadsheet, a
    page (.html), JSON Lines, or a Label Studio project.

    \b
    # a spreadsheet
    kgtrec campaign export CAMPAIGN --annotator ann --out ann.xlsx
    # a page that needs no network
    kgtrec campaign export CAMPAIGN --annotator ann --out ann.html

    Docs: docs/campaigns.md
    """
    import numpy as np

    from kgtrec.campaign.tasks import relations_without_template, tasks_for
    from kgtrec.campaign.wording import relations_in
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised
    from kgtrec.formats.campaign.label_studio import write_label_studio

    is_file = form != FORMATS[-1]
    if annotator is None and is_file:
        raise click.UsageError("expected --annotator PERSON: only --format label-studio can take everybody's tasks")
    refuse_idle(("guidelines",), "a file, which is not for Label Studio", when=is_file)
    refuse_idle(("merge",), "--format label-studio, whose files are not filled in", when=not is_file)
    if is_file:
        write = tasks_writer(out, form, role=ROLES[ANNOTATOR], person=annotator, option="--annotator", merge=merge)
    require_initialised(campaign)
    read = read_campaign(campaign)
    if len(read.assignments) == 0:
        raise KgtrecError(f"{campaign}: found no assigned tasks; run kgtrec campaign assign first")
    tasks = tasks_for(read, annotator, everything=everything, first=first)
    if is_file:
        write(campaign, read, tasks)
    else:
        write_label_studio(out, tasks, guidelines=guidelines)
    if missing := relations_without_template(read):
        relation, n = next(iter(missing.items()))
        triples = read.pool.triples.take(read.automatic.for_people)
        parts = ([name] if name in read.templates else relations_in(name) for name in triples.relations)
        total = int(np.array([not missing.keys().isdisjoint(names) for names in parts])[triples.relation].sum())
        say(
            f"warning: {counted(len(missing), 'relation')} without question template, so {counted(total, 'triple')} in "
            f"the pool {'has' if total == 1 else 'have'} a general question; most: {relation} ({n:,}); "
            f"see {Path(campaign, 'templates.tsv')}"
        )
    say(f"{out}: {counted(len(tasks), 'task')}" + (f" for {annotator}" if annotator else ""))
    asked = read.assignments.annotators.decode(read.assignments.annotator).unique().to_pylist()
    if annotator is not None and annotator not in asked:
        say(f"{annotator} was assigned nothing; kgtrec campaign assign {shlex.quote(campaign)} shares out what is open")
