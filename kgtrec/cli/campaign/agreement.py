"""kgtrec campaign agreement."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import confidence_option, option, refuse_idle, resamples_option, seed_option
from kgtrec.cli.output import Output, output_options
from kgtrec.errors import KgtrecError


@click.command(name="agreement")
@click.argument("campaign", type=click.Path())
@option("--per", "One result for each.", ["relation", "pair", "triple"])
@option("--gold", "Compare each annotator with the known verdicts of gold.tsv instead.", is_flag=True)
@option("--model", "Estimate each annotator's error rates by this model instead.", ["dawid-skene"])
@option("--leave-out-unsure", "Take unsure for no verdict. Default: for one like Y and N.", is_flag=True)
@confidence_option
@option("--resample", "Unit that is drawn.", ["question", "triple"], "question")
@resamples_option
@seed_option
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
    """Measure how far the annotators of CAMPAIGN agree, with each other before adjudication, or with known verdicts
    (--gold).

    \b
    # for each relation
    kgtrec campaign agreement CAMPAIGN --per relation
    # error rates of each annotator, estimated
    kgtrec campaign agreement CAMPAIGN --model dawid-skene

    Docs: docs/agreement.md
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
