"""kgtrec openworld curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import files_of, read_questions, refuse_twice
from kgtrec.cli.options import (
    COUNT,
    MOST_DRAWS,
    Whole,
    is_mixed,
    measure_option,
    mixed_option,
    numbers_of,
    option,
    seed_option,
    ties_option,
)
from kgtrec.cli.output import FORMATS, Output, raw_output_options
from kgtrec.errors import KgtrecError
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.files import suffixes
from kgtrec.formats.output.outputs import require_file
from kgtrec.formats.parquet import holds_ranks
from kgtrec.openworld.curve import CURVE_TABLES, DENSITIES, MEASURES, open_world_curve
from kgtrec.report.progress import progress_bar
from kgtrec.report.records import table_csv


@click.command(name="curve")
@click.argument("collection", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@measure_option("nine, over answers and over questions")
@option(
    "--densities",
    "Shares of the facts that keep their labels.",
    default=" ".join(f"{density:g}" for density in DENSITIES),
    callback=numbers_of,
    metavar="NUMBERS",
)
@option(
    "--correlations",
    "Correlations of missing and found; 0: random.",
    default="0",
    callback=numbers_of,
    metavar="NUMBERS",
)
@option("--correlated-with", "System correlated with missing labels. Default: the strongest.", metavar="NAME")
@option("--repeats --draws draws", "Sets of labels per density.", Whole(1, MOST_DRAWS), 1)
@option("--found-at", "Rank among false candidates at which an answer is found.", COUNT, 1)
@ties_option()
@mixed_option
@seed_option
@raw_output_options(CURVE_TABLES, "Folder for the report, figures and tables.", FORMATS[:-1])
def command(
    collection: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    form: str | None,
    part: str | None,
    out: str | None,
    **options: Any,
) -> None:
    """Score SYSTEMS (answer ranks, or folders of them) with labels for only some of the answers of COLLECTION, whose
    labels are complete.

    \b
    # labels missing at random
    kgtrec openworld curve W ranks --out curve
    # missing in correlation with what systems find
    kgtrec openworld curve W ranks --densities "0.1 0.5" --correlations "0 0.2" --repeats 5

    Docs: docs/open-world.md
    """
    from kgtrec.report.files import PAGE, report_files, write_report

    output = Output(form or "table", part=part)
    if out is not None:
        if suffixes(out)[0] in (".svg", ".pdf", ".png"):
            raise click.UsageError(f"expected a folder as --out, found {out!r}; all figures are put into the folder")
        for name in (*(f"{key}.csv" for key in CURVE_TABLES), PAGE):
            require_file(Path(out, name))
    paths = files_of(systems)
    refuse_twice(collection, paths)
    complete = read_questions(collection)
    if run := next((path for path in paths if not holds_ranks(path)), None):
        raise KgtrecError(
            f"{run}: expected answer ranks (NAME.ranks.parquet of kgtrec rank); a run does not have all ranks"
        )
    ranks = [read_answer_ranks(path) for path in paths]
    total = len(ranks) * len(options["densities"]) * len(options["correlations"]) * options["draws"]
    with progress_bar("curve", total, "scorings") as advance:
        curve = open_world_curve(complete, ranks, measures or MEASURES, progress=advance, mixed=is_mixed(), **options)
    if output.form == "table" and part is None:
        click.echo(f"{curve.summary()}\n")
    tables = curve.tables()
    whole = [table for table in tables if table.key in CURVE_TABLES]
    names = [table.key for table in (whole if not output.is_laid_out else tables[len(whole) :])]
    output.show(curve, names)
    if out is None:
        return
    files = {f"{table.key}.csv": table_csv(table.data).encode() for table in whole}
    write_report({**files, **report_files(curve.report(), ("html", "svg"))}, Path(out, PAGE))
    say(f"wrote {out}")
