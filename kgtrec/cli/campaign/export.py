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
@option("--annotator", "Whose tasks. Needed but for Label Studio, which can take everybody's.", metavar="PERSON")
@option("--out", "File to write; for Label Studio a folder.", PATH, required=True)
@option("--format form", "Form of the tasks. Default: that of --out's suffix.", FORMATS)
@option("--all everything", "Write judged tasks too, with the annotator's own verdicts.", is_flag=True)
@option("--first", "Write the first N tasks only.", COUNT, metavar="N")
@option("--merge", "Bring along what is filled in in OUT, which stays under another name.", is_flag=True)
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
    """Write an annotator's tasks of CAMPAIGN, to be filled in and taken back by kgtrec campaign import.

    A task is a triple as a question to be answered with yes or no. The candidates of one question stand together, so
    that one search serves them all. Nothing shows what others have said, nor which system put a triple forward, or
    how high. Tasks that are judged already are left out, unless --all is given. Questions come in one order for
    everybody: with --first 100 both annotators of a triple are mostly given it, so that part of the work can be used.

    The workbook (.xlsx) and the CSV are for a spreadsheet: fill in verdict (Y, N or unsure), source and note, and save
    it as what it is. The workbook has a list of verdicts to choose from, and keeps what is typed as text. In the CSV an
    apostrophe at the beginning of a cell keeps it from being taken for a formula or a number; leave it there. A file in
    which somebody has worked is not replaced: name another one, or bring along what is filled in with --merge.

    A page (.html) holds the tasks as the page of kgtrec campaign serve shows them, in one file that needs no network:
    send it by mail, or put it on a stick. It keeps the verdicts in the browser, and gives them as a file for import.
    Needs kgtrec[serve].

    For Label Studio, OUT holds the tasks, the labelling configuration and a README with the steps; see
    docs/label-studio.md. Without --annotator everybody's tasks are in it, each once, with the people it is assigned to.

    \b
    kgtrec campaign export CAMPAIGN --annotator ann --out ann.xlsx
    kgtrec campaign export CAMPAIGN --annotator ann --out ann.csv
    kgtrec campaign export CAMPAIGN --annotator ann --out ann.html
    kgtrec campaign export CAMPAIGN --annotator ann --first 100 --out ann-1.csv
    kgtrec campaign export CAMPAIGN --annotator ann --merge --out ann.csv
    kgtrec campaign export CAMPAIGN --annotator ann --all --out ann.jsonl
    kgtrec campaign export CAMPAIGN --annotator ann --format label-studio --out ann-label-studio
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
