"""kgtrec campaign calibration."""

from __future__ import annotations

import click

from kgtrec.cli.options import SHARE, option
from kgtrec.cli.output import Output, output_options

TABLES = ("people", "triples")


@click.command(name="calibration")
@click.argument("campaign", type=click.Path())
@option("--confidence", "Of the intervals.", SHARE, 0.95)
@output_options(TABLES)
def command(campaign: str, confidence: float, output: Output) -> None:
    """Tell how often each annotator of CAMPAIGN is right on triples whose verdict is known: those of gold.tsv.

    They are triples of the pool, which annotators judge like all others; kgtrec campaign init --gold-share 0.05 draws
    some, and you fill in their verdicts. right and wrong count the last verdict of the annotator on each; unsure is
    neither. share is that of right, with Wilson's interval. Below it stand the gold
    triples that were judged, most often wrong first: one that most people get wrong may be wrong itself.

    \b
    kgtrec campaign calibration CAMPAIGN
    kgtrec campaign calibration CAMPAIGN --table triples --out gold.csv
    """
    from kgtrec.campaign.calibrate import calibration
    from kgtrec.errors import KgtrecError
    from kgtrec.formats.campaign.folder import read_campaign, require_initialised

    require_initialised(campaign)
    read = read_campaign(campaign)
    found = calibration(read, confidence=confidence)
    if len(found.gold) == 0:
        raise KgtrecError(
            f"{campaign}: found no triple of the pool with a known verdict; see kgtrec campaign init --gold-share"
        )
    output.show(found)
