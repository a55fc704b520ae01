"""kgtrec published adjust."""

from __future__ import annotations

import click

from kgtrec.cli.options import Number, option
from kgtrec.cli.output import Output, output_options
from kgtrec.evaluation.chance import SIDES, adjust
from kgtrec.formats.chance_tables import read_chance_table


@click.command(name="adjust")
@option("--measure", "Its name in the chance table, such as micro.MRR.", required=True)
@option("--value", "The number to adjust.", Number(), required=True)
@option(
    "--chance table",
    "Table that kgtrec chance wrote, or a data set: fb15k-237, wn18rr, nations, kinships, umls.",
    required=True,
    metavar="FILE|DATASET",
)
@option("--side", "Which side the number was taken over.", SIDES, "both")
@output_options()
def command(measure: str, value: float, table: str, side: str, output: Output) -> None:
    """Adjust a published number for chance: index (0 = chance, 1 = best) and z (standard deviations from chance).

    \b
    kgtrec published adjust --measure micro.MRR --value 0.338 --chance fb15k-237
    kgtrec published adjust --measure micro.MR --value 170 --chance chance.csv --side tail
    """
    output.show(adjust(measure, value, read_chance_table(table), side=side))
