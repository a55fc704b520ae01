"""kgtrec campaign agreement."""

from __future__ import annotations

from typing import Literal

import click

from kgtrec.cli.options import SEED, SHARE, option, samples
from kgtrec.cli.output import Output, output_options


@click.command(name="agreement")
@click.argument("campaign", type=click.Path())
@option(
    "--per", "Tell it for each relation, or for each two annotators who judged the same triples.", ["relation", "pair"]
)
@click.option("--leave-out-unsure", is_flag=True, help="Take unsure for no verdict. Default: for one like Y and N.")
@option("--confidence", "Of the bootstrap intervals.", SHARE, 0.95)
@option(
    "--resample",
    "What is drawn for the intervals. The candidates of a question are judged together.",
    ["question", "triple"],
    "question",
)
@option("--resamples", "Bootstrap samples.", samples(1), 1000)
@option("--seed", "Of the samples.", SEED, 0)
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
