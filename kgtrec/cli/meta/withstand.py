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
@scoring_options(
    "Measure to study; may be repeated, or hold several. Default: nine, and four more if false candidates are judged.",
    "with the triples, if QRELS is a file.",
    seed="Random seed of the labels.",
)
@choices_option(
    "--reason",
    "reasons",
    choices=REASONS,
    about="Why labels are missing; may be repeated. Default: all.",
    default=REASONS,
)
@option(
    "--densities",
    "Shares of the true facts that keep their labels.",
    default=" ".join(f"{density:g}" for density in DENSITIES),
    callback=numbers_of,
    metavar="NUMBERS",
)
@option("--repeats --draws draws", "Sets of labels per reason and density.", Whole(1, MOST_DRAWS), 5)
@option("--depth", "Greatest depth of the pools of pooled and left-out.", COUNT, 20)
@option(
    "--correlated-with",
    "Systems whose found answers missing labels are correlated with. Default: those named like the one that finds "
    "most, up to @.",
    metavar="NAMES",
    callback=lambda _, __, text: listed(text),
)
@option("--correlation", "Of missing and found.", Real(-1, 1), 0.2)
@workers_options
@output_options(TABLES, has_figures=True)
def command(qrels: str, systems: tuple[str, ...], scoring: ScoringRequest, output: Output, **options: Any) -> None:
    """Take labels away from QRELS, and show which measures keep the order of SYSTEMS.

    QRELS, a collection or a file with --collection, are taken as complete. Labels are taken away at random, from
    unpopular entities, in correlation with what some systems find, or as if only half of the systems, or all
    except one, had been pooled. Shown are tau between the orders of the systems with these labels and with all, the
    share of pairs that a t-test distinguishes in the wrong order, and the bias of the scores. Bpref, infAP and
    condensed lists need judged false candidates. docs/which-measure.md has results.

    \b
    kgtrec meta withstand C ranks/*.ranks.parquet --workers 2
    kgtrec meta withstand C ranks --reason "random popularity" --densities "0.25 0.5" --table numbers --out found.csv
    kgtrec meta withstand qrels.txt ranks --collection C -m "nDCG@20 Bpref" --reason left-out --out withstand.svg
    """
    n_sets = sum(len(systems) if reason == "left-out" else options["draws"] for reason in options["reasons"])
    with progress_bar("withstand", n_sets * len(options["densities"]), "sets of labels") as advance:
        labels, ranked, _ = scoring.inputs(qrels, systems)
        keywords = scoring.keywords()
        found = withstand(labels, ranked, scoring.measures or None, progress=advance, **options, **keywords)
    output.show(found, TABLES[:2])
