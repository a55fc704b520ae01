"""kgtrec campaign learn."""

from __future__ import annotations

import shlex
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_questions
from kgtrec.cli.options import SEED, option, samples
from kgtrec.cli.output import Output, output_options
from kgtrec.errors import counted

TABLES = ("learned", "features", "reliability")


@click.command(name="learn")
@click.argument("campaign", type=click.Path())
@click.argument("collection", type=click.Path())
@option("--resamples", "Bootstrap samples of questions.", samples(1), 1000)
@option("--seed", "Of the folds, the samples and the exchanged values.", SEED, 0)
@output_options(TABLES, has_figures=True)
def command(campaign: str, collection: str, output: Output, **options: Any) -> None:
    """Predict people's verdicts on the triples of CAMPAIGN from its runs and the train facts of COLLECTION.

    From ranks, how many runs and families agree, the relation and how often head and tail occur in train, fitted to the
    verdicts that people have settled. Each triple is predicted from the verdicts on other questions only. The result is
    one more machine, CAMPAIGN/machine/learned.jsonl, with a probability for each triple that no rule has judged; it is
    never a judgement. Give the command again when more is judged: all is predicted anew.

    Shown are how good the predictions are, what each feature is worth, and how often the probabilities are right.

    \b
    kgtrec campaign learn CAMPAIGN C
    kgtrec campaign learn CAMPAIGN C --out reliability.svg
    kgtrec evaluate CAMPAIGN ranks --machine learned
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
