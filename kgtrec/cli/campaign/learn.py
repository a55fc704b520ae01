"""kgtrec campaign learn."""

from __future__ import annotations

import shlex
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_questions
from kgtrec.cli.options import resamples_option, seed_option
from kgtrec.cli.output import Output, output_options
from kgtrec.errors import counted

TABLES = ("learned", "features", "reliability")


@click.command(name="learn")
@click.argument("campaign", type=click.Path())
@click.argument("collection", type=click.Path())
@resamples_option
@seed_option
@output_options(TABLES, has_figures=True)
def command(campaign: str, collection: str, output: Output, **options: Any) -> None:
    """Predict people's verdicts on the triples of CAMPAIGN from its runs and the train triples of COLLECTION, as the
    machine learned.

    \b
    # again when more is judged
    kgtrec campaign learn CAMPAIGN C
    # then use its probabilities
    kgtrec evaluate CAMPAIGN ranks --machine learned

    Docs: docs/machine-verdicts.md
    """
    from kgtrec.campaign.learn import LEARNED, learn
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.campaign.machines import machine_file, write_machine
    from kgtrec.formats.campaign.pools import read_families
    from kgtrec.formats.output.folders import RUNS
    from kgtrec.formats.output.locks import campaign_lock
    from kgtrec.formats.output.outputs import together

    questions = read_questions(collection)
    with campaign_lock(campaign):
        read = read_campaign(campaign)
        learned = learn(read, questions, read_families(f"{campaign}/{RUNS}"), **options)
        with together():
            write_machine(campaign, LEARNED, read.pool, learned.verdicts)
            output.show(learned.report, TABLES if output.is_laid_out else TABLES[:1])
    say(
        f"{machine_file(campaign, LEARNED)}: {counted(len(learned.verdicts), 'verdict')}\n"
        f"next: kgtrec evaluate {shlex.quote(campaign)} RUNS --machine {LEARNED}, if people judge a sample"
    )
