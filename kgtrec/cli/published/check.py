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
@option("--data data_set", "Data set, if the table names none; see kgtrec data list.", metavar="DATASET")
@option("--entities", "Entities of the data set. Default: by --data.", Whole(1, MOST_COUNT))
@option("--triples", "Test triples of the data set. Default: by --data.", Whole(1, MOST_COUNT))
@option("--chance", "Chance table or data set. Default: by --data.", metavar="FILE|DATASET")
@option("--unit", "Unit of MRR, Hits@k and AMRI. Default: detected from the numbers.", UNITS)
@output_options(TABLES)
def command(
    table: str, data_set: str | None, chance: str | None, unit: Unit | None, output: Output, **sizes: int | None
) -> None:
    """Find impossible or doubtful numbers in TABLE, a CSV file of systems and measures; the exit code is 2 if any
    number is impossible.

    \b
    # a table on a known data set
    kgtrec published check table-5.csv --data fb15k-237
    # bounds, given the data set's sizes
    kgtrec published check table-2.csv --entities 40559 --triples 2924 --table bounds

    Docs: docs/check-paper.md
    """
    numbers = read_published_table(table, data_sets=known_names(), unit=unit)
    level = None if chance is None else read_chance_table(chance)
    checked = check_paper(numbers, data_set or "", chance=level, **sizes)
    output.show(checked, TABLES[:1] if output.form != "json" else None)
    if checked.count("impossible"):
        sys.exit(2)
