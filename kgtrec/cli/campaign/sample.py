"""kgtrec campaign sample."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from kgtrec.cli.campaign.handing_out import tasks_writer
from kgtrec.cli.common import say
from kgtrec.cli.options import at_least, confidence_option, option, refuse_idle, seed_option
from kgtrec.cli.output import Output, form_of, raw_output_options
from kgtrec.errors import KgtrecError, counted, nearest

if TYPE_CHECKING:
    from kgtrec.data.campaign import Campaign

TABLES = ("statistics", "labels")


@click.command(name="sample")
@click.argument("campaign", type=click.Path())
@option("--size", "Triples to draw.", at_least(2), 200)
@seed_option
@option("--with-automatic", "Also draw from the triples that a rule judged N.", is_flag=True)
@option("--expert", "Who judges them, of people.tsv.", metavar="PERSON")
@option("--report", "Estimate how good the labels are from the experts' verdicts.", is_flag=True)
@confidence_option
@raw_output_options(TABLES, "File of tasks: .csv, .xlsx, .jsonl or .html; with --report, of tables.")
def command(
    campaign: str,
    expert: str | None,
    report: bool,
    confidence: float,
    form: str | None,
    part: str | None,
    out: str | None,
    **draw: Any,
) -> None:
    """Draw settled triples of CAMPAIGN for an expert to judge again, and estimate from them how good the labels are.

    \b
    # tasks for the expert
    kgtrec campaign sample CAMPAIGN --out sample.csv
    # after kgtrec campaign import --role expert
    kgtrec campaign sample CAMPAIGN --report

    Docs: docs/agreement.md
    """
    from kgtrec.campaign.expert_sample import sample_report
    from kgtrec.formats.campaign.expert_samples import read_expert_sample
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised
    from kgtrec.formats.output.locks import campaign_lock

    if not report and out is None:
        raise click.UsageError("expected --out FILE for the expert's tasks, or --report")
    refuse_idle(("form", "part"), "no --report: the form of the tasks follows the suffix of --out", when=not report)
    if not report:
        click.get_current_context().with_resource(campaign_lock(campaign))
    require_initialised(campaign)
    read = read_campaign(campaign)
    if report:
        output = Output(form_of(out, form), out, part)
        sample, automatic = read_expert_sample(campaign, read.pool), read.automatic.is_automatic
        pooled = len(automatic) if automatic[sample.triple].any() else len(automatic) - int(automatic.sum())
        quality = replace(sample_report(sample, read.judgements, confidence=confidence), pooled=pooled)
        output.show(quality, TABLES[::-1] if output.is_laid_out else TABLES[:1])
    elif out is not None:
        _draw(campaign, read, expert, out, **draw)


def _draw(campaign: str, read: Campaign, expert: str | None, out: str, **draw: Any) -> None:
    from kgtrec.campaign.decide import decisions_of, judged_in_another_role
    from kgtrec.campaign.expert_sample import draw_sample
    from kgtrec.campaign.tasks import phrase_tasks
    from kgtrec.data.judgements import EXPERT, NO, ROLES, YES
    from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample, write_expert_sample
    from kgtrec.formats.output.folders import EXPERT_SAMPLE
    from kgtrec.formats.output.outputs import is_replacing

    role, people = ROLES[EXPERT], read.people
    write = tasks_writer(out, role=role, person=expert, option="--expert")
    experts = people.names.decode(people.person[people.role == EXPERT]).to_pylist()
    if expert is not None and expert not in experts:
        raise KgtrecError(
            f"{campaign}: expected a person with the role expert in people.tsv, found nobody called {expert!r}"
            f"{nearest(expert, experts)}"
        )
    if not experts:
        say(f"warning: {campaign}: nobody in people.tsv has the role expert yet; import will want one")
    sample = draw_sample(read.pool, decisions_of(read), **draw)
    if not is_replacing() and is_drawn(campaign):
        before = read_expert_sample(campaign, read.pool)
        names = "triple", "verdict", "probability"
        if not all(np.array_equal(getattr(before, name), getattr(sample, name)) for name in names):
            raise KgtrecError(
                f"{campaign}: another sample was drawn before, which {EXPERT_SAMPLE} holds and --report needs; "
                "--force replaces it"
            )
    rows = sample.triple.astype(np.intp)
    if expert is not None:
        rows = rows[~judged_in_another_role(read.judgements, expert, rows, role=EXPERT)]
        if own := len(sample) - len(rows):
            say(
                f"left out {counted(own, 'triple')} of the sample, on which {expert} has judged as annotator or "
                "adjudicator; another expert can be given all"
            )
        if not len(rows):
            raise KgtrecError(f"expected an expert who has not judged all triples of the sample, found {expert!r}")
    tasks = phrase_tasks(read, rows, [(expert,) if expert is not None else ()] * len(rows), role=role)
    write(campaign, read, tasks)
    write_expert_sample(campaign, read.pool, sample)
    of, drawn = sample.population, sample.drawn
    say(f"{out}: {len(tasks):,} tasks, {drawn[YES]:,} of {of[YES]:,} labels Y and {drawn[NO]:,} of {of[NO]:,} labels N")
