"""kgtrec published adjust."""

from __future__ import annotations

import click

from kgtrec.cli.options import Real, option
from kgtrec.cli.output import Output, output_options
from kgtrec.evaluation.chance import SIDES, adjust
from kgtrec.formats.chance_tables import read_chance_table


@click.command(name="adjust")
@option("--measure", "Measure, such as micro.MRR.", required=True)
@option("--value", "The published number.", Real(), required=True)
@option("--chance table", "Chance table or data set, such as fb15k-237.", required=True, metavar="FILE|DATASET")
@option("--side", "Side of the questions.", SIDES, "both")
@output_options()
def command(measure: str, value: float, table: str, side: str, output: Output) -> None:
    """Adjust a published number for chance: index (0 = chance, 1 = best) and z (standard deviations from chance).

    \b
    # an MRR on a known data set
    kgtrec published adjust --measure micro.MRR --value 0.338 --chance fb15k-237
    # a mean rank, with a table of kgtrec chance
    kgtrec published adjust --measure micro.MR --value 170 --chance chance.csv --side tail

    Docs: docs/chance.md
    """
    output.show(adjust(measure, value, read_chance_table(table), side=side))
