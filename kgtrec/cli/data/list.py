"""kgtrec data list."""

from __future__ import annotations

import click

from kgtrec.cli.options import option
from kgtrec.cli.output import Output, output_options
from kgtrec.data_sets.registry import list_data_sets


@click.command(name="list")
@option("--all unconfirmed", "Also those that cannot be downloaded, with the reason.", is_flag=True)
@output_options()
def command(unconfirmed: bool, output: Output) -> None:
    """List the data sets that are available by name, with their sizes and licences.

    \b
    # sizes and licences
    kgtrec data list
    # all that is known of each
    kgtrec data list --all --format json

    Docs: docs/data-sets.md
    """
    output.show(list_data_sets(unconfirmed=unconfirmed))
