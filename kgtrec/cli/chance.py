"""kgtrec chance."""

from __future__ import annotations

import sys

import click

from kgtrec.chance import chance_table
from kgtrec.cli.common import say
from kgtrec.cli.systems import splits_option
from kgtrec.formats.chance_tables import chance_csv, write_chance_table
from kgtrec.formats.collections import read_collection
from kgtrec.report.tables import aligned, number_of


@click.command(name="chance")
@click.argument("collection", type=click.Path())
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Measure; may be repeated, or hold several. Default: every one whose chance level is known.",
)
@splits_option
@click.option("--out", type=click.Path(), help="CSV to write, for kgtrec adjust.")
@click.option("--format", "form", type=click.Choice(("table", "csv")), default="table", show_default=True,
              help="Form of the standard output.")  # fmt: skip
def command(
    collection: str, measures: tuple[str, ...], filtered_by: tuple[str, ...], out: str | None, form: str
) -> None:
    """Tell what chance would give on COLLECTION: expectation and variance of every measure, for each side and both.

    It takes no system, only the triples: the numbers hang on how many candidates and answers each question has. With
    them, numbers that others published can be adjusted afterwards (kgtrec adjust).

    \b
    kgtrec chance C
    kgtrec chance C -m "micro.MR micro.Hits@10 AP@20" --out chance.csv
    kgtrec adjust --measure MRR --value 0.338 --chance chance.csv
    """
    table = chance_table(read_collection(collection), measures or None, filtered_by=filtered_by)
    if out:
        write_chance_table(out, table)
        say(f"wrote {out}: {len(table)} rows")
        return
    if form == "csv":
        sys.stdout.write(chance_csv(table))
        return
    cells = [["measure", "side", "items", "expectation", "std"]]
    columns = (table.measure, table.side, table.items, table.expectation, table.variance)
    cells += [
        [measure, side, f"{items:,}", number_of(expectation, measure), f"{variance**0.5:.3g}"]
        for measure, side, items, expectation, variance in zip(*columns, strict=True)
    ]
    click.echo(aligned(cells, 2), nl=False)
