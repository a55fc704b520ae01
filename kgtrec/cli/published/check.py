"""kgtrec published check."""

from __future__ import annotations

import sys

import click

from kgtrec.cli.options import MOST_COUNT, Whole, option
from kgtrec.cli.output import Output, output_options
from kgtrec.evaluation.published.check_paper import check_paper
from kgtrec.evaluation.published.sizes import known_names
from kgtrec.formats.chance_tables import read_chance_table
from kgtrec.formats.published_tables import UNITS, Unit, read_published_table

TABLES = ("findings", "bounds")


@click.command(name="check")
@click.argument("table", type=click.Path())
@option(
    "--data data_set",
    "Data set of the numbers that have none in the table; kgtrec data list has those whose sizes are known.",
    metavar="DATASET",
)
@option("--entities", "Entities of the data set. Default: known by its name.", Whole(1, MOST_COUNT))
@option("--triples", "Its test triples. Default: known by its name.", Whole(1, MOST_COUNT))
@option(
    "--chance",
    "Its chance table, as kgtrec chance writes it. Default: the one that comes with kgtrec, if there is one.",
    metavar="FILE|DATASET",
)
@option(
    "--unit",
    "Unit of MRR, Hits@k and AMRI. Default: percent for each of the three where a heading or a cell says so, or "
    "most numbers are above 1.",
    UNITS,
)
@output_options(TABLES)
def command(
    table: str, data_set: str | None, chance: str | None, unit: Unit | None, output: Output, **sizes: int | None
) -> None:
    """Find impossible or doubtful numbers in a published TABLE.

    TABLE is a CSV file with a column of systems and columns of MR, MRR, Hits@k, AMR or AMRI under the names that papers
    use; headings and columns may name the data set, the setting (filtered or raw) and the side. Numbers keep their
    printed digits: .338 is anything from .3375 to .3385.

    Impossible is what no ranks give: Hits@k that fall as k grows, an MRR outside the bounds that Hits@k and MR leave
    it, filtered numbers worse than raw ones. Doubtful is what only cut digits, tied scores or other test triples
    explain, and what a random order has too. Notes are about leads that rounding, one test answer or the noise of two
    independent samples may explain.

    Exit code: 0 if nothing is impossible, else 2.

    \b
    kgtrec published check table-5.csv --data fb15k-237
    kgtrec published check table-2.csv --entities 40559 --triples 2924 --table bounds
    kgtrec published check results.csv --data mine --chance chance.csv --format json
    """
    numbers = read_published_table(table, data_sets=known_names(), unit=unit)
    level = None if chance is None else read_chance_table(chance)
    checked = check_paper(numbers, data_set or "", chance=level, **sizes)
    output.show(checked, TABLES[:1] if output.form != "json" else None)
    if checked.count("impossible"):
        sys.exit(2)
