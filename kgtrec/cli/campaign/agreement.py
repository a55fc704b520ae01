"""kgtrec campaign agreement."""

from __future__ import annotations

from typing import Literal

import click

from kgtrec.cli.options import SEED, SHARE, samples
from kgtrec.cli.output import Output, output_options


@click.command(name="agreement")
@click.argument("campaign", type=click.Path())
@click.option(
    "--per",
    type=click.Choice(["relation", "pair"]),
    help="Tell it for each relation, or for each two annotators who judged the same triples.",
)
@click.option("--leave-out-unsure", is_flag=True, help="Take unsure for no verdict. Default: for one like Y and N.")
@click.option("--confidence", type=SHARE, default=0.95, show_default=True, help="Of the bootstrap intervals.")
@click.option(
    "--resample",
    type=click.Choice(["question", "triple"]),
    default="question",
    show_default=True,
    help="What is drawn for the intervals. The candidates of a question are judged together.",
)
@click.option("--resamples", type=samples(1), default=1000, show_default=True, help="Bootstrap samples.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the samples.")
@output_options()
def command(
    campaign: str,
    per: Literal["relation", "pair"] | None,
    leave_out_unsure: bool,
    confidence: float,
    resample: Literal["question", "triple"],
    resamples: int,
    seed: int,
    output: Output,
) -> None:
    """Tell how far the annotators of CAMPAIGN agree: on what they said last, before anybody adjudicated.

    prevalence is the share of Y among the verdicts; raw the share of pairs of verdicts that are alike; positive and
    negative the same for the verdicts Y and N alone; kappa (Cohen's), AC1 (Gwet's) and alpha (Krippendorff's) are
    corrected for chance, each in its own way. Where few triples are true, kappa and alpha are low however well people
    agree: look at positive and AC1. docs/agreement.md tells the formulas.

    \b
    kgtrec campaign agreement CAMPAIGN
    kgtrec campaign agreement CAMPAIGN --per relation --out agreement.csv
    kgtrec campaign agreement CAMPAIGN --per pair --leave-out-unsure --format latex
    """
    from kgtrec.campaign.agreement import campaign_agreement
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised

    require_initialised(campaign)
    found = campaign_agreement(
        read_campaign(campaign),
        per=per,
        unsure="leave out" if leave_out_unsure else "own category",
        confidence=confidence,
        resample=resample,
        resamples=resamples,
        seed=seed,
    )
    output.show(found)
