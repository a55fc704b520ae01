"""kgtrec campaign machines."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.common import counting
from kgtrec.cli.inputs import by_name, files_of, read_systems
from kgtrec.cli.options import SEED, SHARE, measure_option, option, samples
from kgtrec.cli.output import Output, output_options
from kgtrec.formats.parquet import holds_ranks
from kgtrec.formats.trec.runs import default_name
from kgtrec.report.progress import progress_bar

TABLES = ("machines", "relations", "reliability", "systems", "orders")


@click.command(name="machines")
@click.argument("campaign", type=click.Path())
@click.argument("systems", nargs=-1, type=click.Path(), metavar="[RUNS]...")
@option("--machine names", "Only this one; may be repeated. Default: all of CAMPAIGN.", multiple=True, metavar="NAME")
@measure_option("Measure of the systems; may be repeated, or hold several. Default: AP@20 and nDCG@20.")
@option("--confidence", "Of the bootstrap intervals.", SHARE, 0.95)
@option("--resamples", "Bootstrap samples of questions.", samples(1), 1000)
@option("--seed", "Of the samples, and of the folds for recalibration.", SEED, 0)
@output_options(TABLES, has_figures=True)
def command(
    campaign: str,
    systems: tuple[str, ...],
    names: tuple[str, ...],
    measures: tuple[str, ...],
    output: Output,
    **options: Any,
) -> None:
    """Compare what machines say of the triples of CAMPAIGN with what people have settled.

    sensitivity is the share of Y among the triples that are Y by people, specificity that of N among their N, phi the
    correlation of both. Y corrected is the machine's share of Y after Rogan and Gladen, which has no value where the
    machine says Y of true triples no more often than of false ones. Above them stands whether the machine, recalibrated
    on people's verdicts, is better than no machine. reliability shows how often its probabilities are right.

    Given RUNS, also their scores if the machine's labels had been taken for the truth, beside those by people, on the
    triples that both have judged; and Kendall's tau between the two orders.

    \b
    kgtrec campaign import CAMPAIGN llama.jsonl --machine llama-8b
    kgtrec campaign machines CAMPAIGN
    kgtrec campaign machines CAMPAIGN ranks/*.run.gz -m AP@20 -m macro.MRR
    kgtrec campaign machines CAMPAIGN --out reliability.svg
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
