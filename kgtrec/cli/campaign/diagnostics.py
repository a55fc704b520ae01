"""kgtrec campaign diagnostics."""

from __future__ import annotations

import click

from kgtrec.cli.common import counting, say
from kgtrec.cli.inputs import by_name, files_of, read_systems
from kgtrec.cli.options import COUNT, is_mixed, measure_option, mixed_option, option
from kgtrec.cli.output import Output, output_options
from kgtrec.formats.parquet import holds_ranks
from kgtrec.formats.trec.runs import default_name
from kgtrec.report.progress import progress_bar

TABLES = ("runs", "overlap", "depths", "questions", "systems", "left_out")
_MOST_RUNS = 12  # side by side in the table of overlaps


@click.command(name="diagnostics")
@click.argument("campaign", type=click.Path())
@click.argument("systems", nargs=-1, type=click.Path(), metavar="[RUNS]...")
@measure_option("AP@20 and nDCG@20")
@option("--judged-at", "The k of Judged@k.", COUNT, 10)
@mixed_option
@output_options(TABLES)
def command(campaign: str, systems: tuple[str, ...], measures: tuple[str, ...], judged_at: int, output: Output) -> None:
    """Show what each run contributed to the pool of CAMPAIGN and, given RUNS (or answer ranks, or folders of them), how
    scores change without the triples of one run.

    \b
    # the pool
    kgtrec campaign diagnostics CAMPAIGN
    # each run left out
    kgtrec campaign diagnostics CAMPAIGN ranks/*.run.gz --table left_out

    Docs: docs/qrels.md
    """
    from kgtrec.campaign.decide import decisions_of
    from kgtrec.campaign.diagnostics import MEASURES, diagnose
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.campaign.pools import read_families
    from kgtrec.formats.output.folders import RUNS

    systems = files_of(systems)
    by_name((default_name(path), path) for path in systems)
    read = read_campaign(campaign)
    families = read_families(f"{campaign}/{RUNS}")
    are_ranks = [holds_ranks(path) for path in systems]
    with progress_bar("scoring", len(systems), "systems") as advance:
        diagnosed = diagnose(
            read.pool,
            decisions_of(read),
            read.known_answers,
            counting(read_systems(systems, are_ranks), advance),
            measures or MEASURES,
            families,
            judged_at=judged_at,
            mixed=is_mixed(),
        )
    runs = diagnosed["runs"]["run"].to_pylist()
    if strangers := [name for name in diagnosed["systems"]["system"].unique().to_pylist() if name not in runs]:
        say(f"note: not pooled, and so never left out: {', '.join(strangers)}")
    names = None
    if output.is_laid_out and not 1 < len(runs) <= _MOST_RUNS:
        names = tuple(table.key for table in diagnosed.tables() if table.key != "overlap" and table.shown.num_rows)
    output.show(diagnosed, names)
