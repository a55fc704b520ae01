"""kgtrec data list."""

from __future__ import annotations

import click

from kgtrec.cli.options import option
from kgtrec.cli.output import Output, output_options
from kgtrec.data_sets.registry import list_data_sets


@click.command(name="list")
@option("--all unconfirmed", "Also those without confirmed checksums, which are not downloaded, and why.", is_flag=True)
@output_options()
def command(unconfirmed: bool, output: Output) -> None:
    """List the data sets that are available by name.

    The counts of entities, relations and triples were confirmed, and so were the checksums that a download is compared
    with. CSV and JSON also have where a data set comes from, whom to cite, and how it was confirmed. The licence is
    that of the repository that publishes the files.

    \b
    kgtrec data list
    kgtrec data list --all --format json
    """
    output.show(list_data_sets(unconfirmed=unconfirmed))
