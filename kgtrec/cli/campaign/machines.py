"""kgtrec campaign machines."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.common import counting
from kgtrec.cli.inputs import by_name, files_of, read_systems
from kgtrec.cli.options import confidence_option, measure_option, option, resamples_option, seed_option
from kgtrec.cli.output import Output, output_options
from kgtrec.formats.parquet import holds_ranks
from kgtrec.formats.trec.runs import default_name
from kgtrec.report.progress import progress_bar

TABLES = ("machines", "relations", "reliability", "systems", "orders")


@click.command(name="machines")
@click.argument("campaign", type=click.Path())
@click.argument("systems", nargs=-1, type=click.Path(), metavar="[RUNS]...")
@option("--machine names", "Only this one; repeatable. Default: all of CAMPAIGN.", multiple=True, metavar="NAME")
@measure_option("AP@20 and nDCG@20")
@confidence_option
@resamples_option
@seed_option
@output_options(TABLES, has_figures=True)
def command(
    campaign: str,
    systems: tuple[str, ...],
    names: tuple[str, ...],
    measures: tuple[str, ...],
    output: Output,
    **options: Any,
) -> None:
    """Compare the verdicts of machines on the triples of CAMPAIGN with those of people, and the scores of RUNS by
    either.

    \b
    # how often probabilities are right
    kgtrec campaign machines CAMPAIGN --out reliability.svg
    # scores by machines and by people
    kgtrec campaign machines CAMPAIGN ranks/*.run.gz

    Docs: docs/machine-verdicts.md
    """
    from kgtrec.campaign.diagnostics import MEASURES
    from kgtrec.campaign.machine_report import machine_report
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.campaign.machines import machines_in, read_machine

    systems = files_of(systems)
    by_name((default_name(path), path) for path in systems)
    read = read_campaign(campaign)
    machines = {name: read_machine(campaign, name, read.pool) for name in names or machines_in(campaign)}
    with progress_bar("scoring", len(systems), "systems") as advance:
        given = counting(read_systems(systems, [holds_ranks(path) for path in systems]), advance)
        result = machine_report(read, machines, given, measures or MEASURES, **options)
    shown = tuple(table.key for table in result.tables() if table.shown.num_rows)
    output.show(result, shown if output.is_laid_out else None)
