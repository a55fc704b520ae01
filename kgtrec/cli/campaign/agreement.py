"""kgtrec campaign agreement."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import SEED, SHARE, option, refuse_idle, samples
from kgtrec.cli.output import Output, output_options
from kgtrec.errors import KgtrecError


@click.command(name="agreement")
@click.argument("campaign", type=click.Path())
@option(
    "--per",
    "Show it for each relation, for each two annotators who judged the same triples, or for each "
    "triple, with --gold or --model.",
    ["relation", "pair", "triple"],
)
@option("--gold", "Compare each annotator with the known verdicts of gold.tsv instead.", is_flag=True)
@option("--model", "Estimate each annotator's error rates by this model of the verdicts instead.", ["dawid-skene"])
@option("--leave-out-unsure", "Take unsure for no verdict. Default: for one like Y and N.", is_flag=True)
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
    per: Any,
    gold: bool,
    model: str | None,
    leave_out_unsure: bool,
    confidence: float,
    output: Output,
    **resampling: Any,
) -> None:
    """Measure how far the annotators of CAMPAIGN agree: on what they said last, before anybody adjudicated.

    prevalence is the share of Y among the verdicts; raw the share of pairs of verdicts that are alike; positive and
    negative the same for the verdicts Y and N alone; kappa (Cohen's), AC1 (Gwet's) and alpha (Krippendorff's) are
    corrected for chance, each in its own way. Where few triples are true, kappa and alpha are low however well people
    agree: look at positive and AC1. docs/agreement.md has the formulas.

    --gold shows how often each annotator is right on triples of the pool whose verdict is known, which annotators judge
    like all others; kgtrec campaign init --gold-share 0.05 draws some, and you fill in their verdicts. right and wrong
    count the last verdict of the annotator on each; unsure is neither. share is that of right, with Wilson's interval.
    Below it are the gold triples that were judged, most often wrong first: one that most people get wrong may be wrong
    itself.

    --model dawid-skene estimates without known verdicts the sensitivity of each annotator (the share of Y on true
    triples) and the specificity (the share of N on false ones), and with --per triple how probable it is that each
    triple is true, beside what the majority and an adjudicator say. It names annotators whose verdicts carry no shown
    information: that sensitivity + specificity - 1 is above 0 is not shown. Unsure is no verdict here. The model
    replaces no adjudicator.

    \b
    kgtrec campaign agreement CAMPAIGN
    kgtrec campaign agreement CAMPAIGN --per relation --out agreement.csv
    kgtrec campaign agreement CAMPAIGN --per pair --leave-out-unsure --format latex
    kgtrec campaign agreement CAMPAIGN --gold --per triple --out gold.csv
    kgtrec campaign agreement CAMPAIGN --model dawid-skene
    kgtrec campaign agreement CAMPAIGN --model dawid-skene --per triple --out triples.csv
    """
    from kgtrec.campaign.agreement import campaign_agreement
    from kgtrec.campaign.annotator_errors import campaign_errors
    from kgtrec.campaign.calibrate import calibration
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised

    require_initialised(campaign)
    read = read_campaign(campaign)
    if gold and model:
        raise click.UsageError("expected --gold or --model, found both")
    if (gold or model) and per in ("relation", "pair"):
        raise click.UsageError(
            f"expected {'--gold' if gold else '--model'} alone or with --per triple, found --per {per}"
        )
    if model:
        refuse_idle(("leave_out_unsure",), "--model")
        errors = campaign_errors(read, confidence=confidence, **resampling)
        output.show(errors, ("triples",) if per else ("annotators",))
        return
    if gold:
        refuse_idle(("leave_out_unsure", "resample", "resamples", "seed"), "--gold")
        known = calibration(read, confidence=confidence)
        if known["triples"].num_rows == 0:
            raise KgtrecError(
                f"{campaign}: found no triple of the pool with a known verdict; see kgtrec campaign init --gold-share"
            )
        output.show(known, ("triples",) if per else None)
        return
    if per == "triple":
        raise click.UsageError("expected --gold or --model together with --per triple, found neither")
    unsure: Any = "leave out" if leave_out_unsure else "own category"
    output.show(campaign_agreement(read, per=per, unsure=unsure, confidence=confidence, **resampling))
