"""Options and checks of the commands that write answer ranks and runs of systems."""

from __future__ import annotations

import click

from kgtrec.cli.options import COUNT, PATH, at_least, force_option, listed_of, option, stacked
from kgtrec.data.collection import Collection
from kgtrec.data.triples import SPLITS
from kgtrec.errors import CollectionError
from kgtrec.formats.collections import read_collection

RUN_FORMATS = ("run.gz", "run.zst", "run", "parquet", "parts")
_RAW = "raw"


def splits(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the splits named in a text; an empty tuple for ``raw``, None for no text."""
    if value is None:
        return None
    expected = f"{', '.join(SPLITS)} separated by commas, or {_RAW}"
    names = listed_of(value, (*SPLITS, _RAW), expected)
    if not names or (_RAW in names and len(names) > 1):
        raise click.BadParameter(f"expected {expected}, found {value!r}")
    return () if names == (_RAW,) else names


splits_option = option(
    "--filter filtered_by",
    "Splits whose known triples are removed from the candidates.",
    default=",".join(SPLITS),
    callback=splits,
    metavar="SPLITS|raw",
)


#: the options ``--out``, ``--depth``, ``--filter``, ``--run-format``, ``--block`` and ``--force``
system_options = stacked(
    option("--out", "Folder for each NAME.ranks.parquet and run.", PATH, required=True),
    option(
        "--depth",
        "Length of the lists in the run; 0 writes no run. Answer ranks are exact at any depth.",
        at_least(0),
        100,
    ),
    splits_option,
    option(
        "--run-format",
        "Format of the run, by its suffix; parts: a folder NAME.run of Parquet files, for very large ones.",
        RUN_FORMATS,
        "run.gz",
    ),
    option("--block", "Questions scored at a time, which limits memory. Default: as many as fill about 50 MiB.", COUNT),
    force_option,
)


def read_questions(folder: str) -> Collection:
    """Return the collection of a folder, for systems that answer triple questions.

    Raises
    ------
    CollectionError
        If it is an entity alignment, whose candidates are not all entities.
    """
    collection = read_collection(folder)
    if collection.is_alignment:
        raise CollectionError(
            f"{folder}: expected a collection of triple questions, found the collection of an entity alignment, whose "
            "candidates are the entities of one side only; use kgtrec align"
        )
    return collection
