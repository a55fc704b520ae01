"""kgtrec data get."""

from __future__ import annotations

import click

from kgtrec.data_sets.get import get
from kgtrec.data_sets.registry import data_set
from kgtrec.report.progress import progress_bar


@click.command(name="get")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def command(names: tuple[str, ...]) -> None:
    """Download each data set NAME, unless it is there, and print its folder.

    \b
    # one data set
    kgtrec data get fb15k-237
    # two, copied from a local folder
    KGTREC_DATA_MIRROR=/mnt/data kgtrec data get wn18rr nations

    Docs: docs/data-sets.md
    """
    for name in names:
        data_set(name)  # none is downloaded if another is mistyped
    for name in names:
        click.echo(get(name, progress=progress_bar))
