"""kgtrec chance."""

from __future__ import annotations

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import refuse_second_input
from kgtrec.cli.options import PATH, measure_option, option, splits_option
from kgtrec.cli.output import Output, output_options
from kgtrec.data.triples import SPLITS
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.chance import chance_of_split, chance_table
from kgtrec.formats.collections import read_collection
from kgtrec.formats.triples import read_splits


@click.command(name="chance")
@click.argument("collection", required=False, type=click.Path())
@option("--train", "Train triples, with --test instead of COLLECTION.", PATH)
@option("--valid", "Valid triples, if there are any.", PATH)
@option("--test", "Test triples.", PATH)
@option("--split", "Split whose triples become questions.", SPLITS, "test")
@measure_option("all with a known chance level")
@splits_option
@output_options()
def command(
    collection: str | None,
    train: str | None,
    valid: str | None,
    test: str | None,
    split: str,
    measures: tuple[str, ...],
    filtered_by: tuple[str, ...],
    output: Output,
) -> None:
    """Compute the chance level of COLLECTION or of files of triples: expectation and variance of every measure, for
    each side and both.

    \b
    # some measures, as a file
    kgtrec chance C -m "micro.MR micro.Hits@10 AP@20" --out chance.csv
    # of the validation triples
    kgtrec chance --train train.tsv --valid valid.tsv --test test.tsv --split valid

    Docs: docs/chance.md
    """
    _require_one_way(collection, {"train": train, "valid": valid, "test": test}, split)
    if train is not None and test is not None:
        table = chance_of_split(*read_splits(train, valid, test), split, measures or None, filtered_by=filtered_by)
    else:
        table = chance_table(read_collection(str(collection)), measures or None, filtered_by=filtered_by)
    output.show(table)
    if output.out:
        say(f"wrote {output.out}: {len(table)} rows")


def _require_one_way(collection: str | None, files: dict[str, str | None], split: str) -> None:
    """Refuse a collection together with files of triples, or neither."""
    named = {name: path for name, path in files.items() if path is not None}
    if collection is not None:
        if named:
            raise KgtrecError(
                f"expected COLLECTION or files of triples, found both: {collection} and --{next(iter(named))}"
            )
        if split != "test":
            raise KgtrecError(
                f"{collection}: expected --split test with a collection, which has only the questions of its test "
                f"triples, found --split {split}; give --train, --valid and --test instead of a collection"
            )
        return
    missing = [f"--{name}" for name in ("train", "test") if name not in named]
    if missing:
        lacking = "neither" if not named else f"no {' and no '.join(missing)}"
        raise KgtrecError(f"expected COLLECTION, or --train, --test and, if there is one, --valid, found {lacking}")
    refuse_second_input(named.values())
