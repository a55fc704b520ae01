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

    A file is used only if its SHA-256 is the published one. If it cannot be downloaded from here, the message has its
    URL, and the place to put it.

    \b
    kgtrec data get fb15k-237
    kgtrec campaign import-kgc-sparsity "$(kgtrec data get kgc-sparsity)" --out FB-Test-S-C
    KGTREC_DATA_MIRROR=/mnt/data kgtrec data get wn18rr nations
    """
    for name in names:
        data_set(name)  # none is downloaded if another is mistyped
    for name in names:
        click.echo(get(name, progress=progress_bar))
