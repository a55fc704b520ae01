"""kgtrec chance."""

from __future__ import annotations

import sys

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import measure_option
from kgtrec.cli.systems import splits_option
from kgtrec.data.chance_table import ChanceTable
from kgtrec.data.triples import SPLITS
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.chance import chance_of_split, chance_table
from kgtrec.formats.chance_tables import chance_csv, write_chance_table
from kgtrec.formats.collections import read_collection
from kgtrec.formats.files import suffixes
from kgtrec.formats.triples import read_triples
from kgtrec.report.cells import measure_text
from kgtrec.report.tables import aligned


@click.command(name="chance")
@click.argument("collection", required=False, type=click.Path())
@click.option("--train", type=click.Path(), help="Train triples, with --valid and --test instead of COLLECTION.")
@click.option("--valid", type=click.Path(), help="Valid triples.")
@click.option("--test", type=click.Path(), help="Test triples.")
@click.option("--split", type=click.Choice(SPLITS), default="test", show_default=True,
              help="Whose triples are asked for; other than test only with --train, --valid and --test.")  # fmt: skip
@measure_option("Measure; may be repeated, or hold several. Default: every one whose chance level is known.")
@splits_option
@click.option("--out", type=click.Path(), help="CSV to write, for kgtrec adjust.")
@click.option("--format", "form", type=click.Choice(("table", "csv")), default="table", show_default=True,
              help="Form of the standard output.")  # fmt: skip
def command(
    collection: str | None,
    train: str | None,
    valid: str | None,
    test: str | None,
    split: str,
    measures: tuple[str, ...],
    filtered_by: tuple[str, ...],
    out: str | None,
    form: str,
) -> None:
    """Tell what chance would give on COLLECTION: expectation and variance of every measure, for each side and both.

    It takes no system, only the triples: the numbers depend on how many candidates and answers each question has. With
    them, numbers that others published can be adjusted afterwards (kgtrec adjust).

    A collection has the questions of its test triples. For numbers on valid or train triples give the three files
    (as for kgtrec questions) and --split: its triples are asked for, and those of the other two are known.

    \b
    kgtrec chance C
    kgtrec chance C -m "micro.MR micro.Hits@10 AP@20" --out chance.csv
    kgtrec adjust --measure micro.MRR --value 0.338 --chance chance.csv
    kgtrec chance --train train.tsv --valid valid.tsv --test test.tsv --split valid --out valid-chance.csv
    """
    if out and suffixes(out)[0] not in ("", ".csv"):
        raise KgtrecError(f"--out {out}: expected a name that ends in .csv, found {suffixes(out)[0]!r}")
    files = _three(collection, {"train": train, "valid": valid, "test": test}, split)
    if collection is not None:
        table = chance_table(read_collection(collection), measures or None, filtered_by=filtered_by)
    else:
        first, second, third = (read_triples(path) for path in files)
        table = chance_of_split(first, second, third, split, measures or None, filtered_by=filtered_by)
    _tell(table, out, form)


def _three(collection: str | None, files: dict[str, str | None], split: str) -> list[str]:
    """The files of the three splits, none with a collection."""
    given = {name: path for name, path in files.items() if path is not None}
    if collection is not None:
        if given:
            raise KgtrecError(
                f"expected COLLECTION or files of triples, found both: {collection} and --{next(iter(given))}"
            )
        if split != "test":
            raise KgtrecError(
                f"{collection}: a collection has the questions of its test triples alone; --split {split} needs "
                "--train, --valid and --test"
            )
        return []
    missing = [f"--{name}" for name in files if name not in given]
    if missing:
        found = "neither" if not given else f"no {' and no '.join(missing)}"
        raise KgtrecError(f"expected COLLECTION, or --train, --valid and --test, found {found}")
    if list(given.values()).count("-") > 1:
        raise KgtrecError("expected standard input (-) once, found it again; it can be read once")
    return list(given.values())


def _tell(table: ChanceTable, out: str | None, form: str) -> None:
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
        [measure, side, f"{items:,}", measure_text(expectation, measure), f"{variance**0.5:.3g}"]
        for measure, side, items, expectation, variance in zip(*columns, strict=True)
    ]
    click.echo(aligned(cells, 2), nl=False)
