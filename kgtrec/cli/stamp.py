"""kgtrec stamp."""

from __future__ import annotations

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import force_option, option
from kgtrec.cli.systems import read_questions, splits
from kgtrec.formats.score_matrix import stamp_score_matrix
from kgtrec.formats.trec.origins import origin_path


@click.command(name="stamp")
@click.argument("collection", type=click.Path())
@click.argument("files", nargs=-1, required=True, type=click.Path())
@option(
    "--filter filtered_by",
    "Splits whose known triples were removed from the runs; not recorded by default.",
    callback=splits,
    metavar="SPLITS|raw",
)
@force_option
def command(collection: str, files: tuple[str, ...], filtered_by: tuple[str, ...] | None) -> None:
    """Record in NAME.json that FILES of other tools belong to COLLECTION.

    FILES are score matrices (.npy), with rows in the order of the collection's topics.tsv and columns in that of its
    entities, or runs with the question ids of the collection. kgtrec rank and kgtrec.write_score_matrix write this
    record themselves. It is checked whenever such a file is used with a collection, so scores, ids and orders of
    different collections are never mixed up.

    \b
    kgtrec stamp C transe.npy
    kgtrec stamp C runs/*.run.gz --filter train,valid,test
    """
    from kgtrec.formats.trec.runs import stamp_run

    test = read_questions(collection)
    for file in files:
        if file.lower().endswith(".npy"):
            stamp_score_matrix(file, test)
        else:
            stamp_run(file, test, filtered_by)
        say(f"wrote {origin_path(file)}")
