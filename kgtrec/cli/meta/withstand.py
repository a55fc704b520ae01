"""kgtrec meta withstand."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import (
    COUNT,
    MOST_DRAWS,
    Real,
    Whole,
    choices_option,
    listed,
    numbers_of,
    option,
    workers_options,
)
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, qrels_and_systems, scoring_options
from kgtrec.meta.withstand import DENSITIES, REASONS, withstand
from kgtrec.report.progress import progress_bar

TABLES = ("summary", "numbers", "draws")


@click.command(name="withstand")
@qrels_and_systems
@scoring_options("nine, or 13 with judged candidates")
@choices_option("--reason", "reasons", choices=REASONS, about="Why. Default: all.", default=REASONS)
@option(
    "--densities",
    "Shares of the facts that keep their labels.",
    default=" ".join(f"{density:g}" for density in DENSITIES),
    callback=numbers_of,
    metavar="NUMBERS",
)
@option("--repeats --draws draws", "Sets of labels per reason and density.", Whole(1, MOST_DRAWS), 5)
@option("--depth", "Depth of the pools, for pooled and left-out.", COUNT, 20)
@option(
    "--correlated-with",
    "Systems correlated with missing labels. Default: strongest family.",
    metavar="NAMES",
    callback=lambda _, __, text: listed(text),
)
@option("--correlation", "Correlation of missing and found.", Real(-1, 1), 0.2)
@workers_options
@output_options(TABLES, has_figures=True)
def command(qrels: str, systems: tuple[str, ...], scoring: ScoringRequest, output: Output, **options: Any) -> None:
    """Take labels away from QRELS, which are taken as complete, and show which measures keep the order of SYSTEMS
    (answer ranks, runs, or folders of them).

    \b
    # all reasons
    kgtrec meta withstand C ranks --workers 2
    # labels missing at random, as a figure
    kgtrec meta withstand C ranks --reason random --densities "0.25 0.5" --out withstand.svg

    Docs: docs/which-measure.md
    """
    n_sets = sum(len(systems) if reason == "left-out" else options["draws"] for reason in options["reasons"])
    with progress_bar("withstand", n_sets * len(options["densities"]), "sets of labels") as advance:
        labels, ranked, _ = scoring.inputs(qrels, systems)
        keywords = scoring.keywords()
        found = withstand(labels, ranked, scoring.measures or None, progress=advance, **options, **keywords)
    output.show(found, TABLES[:2])
