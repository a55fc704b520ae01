"""kgtrec meta stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kgtrec.cli.inputs import read_folder, read_judgements, read_systems, systems_of
from kgtrec.cli.options import (
    SHARE,
    collection_option,
    measure_option,
    missing_option,
    mixed_option,
    samples,
    seed_option,
    sizes_of,
    ties_option,
    trust_ids_option,
    unlisted_option,
)
from kgtrec.cli.output import form_of, output_options, show
from kgtrec.cli.workers import executor_of, workers_options
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.report.progress import progress_bar

if TYPE_CHECKING:
    from kgtrec.evaluation.evaluate import Missing
    from kgtrec.evaluation.unlisted import UnlistedAnswers

TABLES = ("summary", "repeats", "scores")


@click.command(name="stability")
@click.argument("qrels", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@measure_option("Measure to study; may be repeated, or hold several. Default: those of kgtrec evaluate.")
@click.option(
    "--sizes",
    callback=sizes_of,
    metavar="SIZES",
    help='Sizes of the subsamples, such as "1% 5% 50%" or "100 1000" triples. Default: 1%, 5%, 10%, ..., 95%.',
)
@click.option("--repeats", type=samples(1), default=50, show_default=True, help="Subsamples of each size.")
@seed_option("Random seed of the subsamples.")
@click.option(
    "--coefficient",
    type=click.Choice(COEFFICIENTS),
    default="tau",
    show_default=True,
    help="Kendall's tau-b, tau_AP, Spearman's rho, or rank-biased overlap.",
)
@ties_option
@missing_option
@unlisted_option
@mixed_option
@trust_ids_option
@click.option(
    "--confidence", type=SHARE, default=0.95, show_default=True, help="Share of the repeats that an interval holds."
)
@workers_options
@collection_option("that tells the triples, if QRELS is a file.")
@output_options(TABLES)
def command(
    qrels: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    sizes: list[int | float] | None,
    repeats: int,
    seed: int,
    coefficient: str,
    ties: str | None,
    missing: Missing,
    unlisted_answers: UnlistedAnswers,
    mixed: bool,
    confidence: float,
    workers: int | None,
    scheduler: str | None,
    folder: str | None,
    form: str | None,
    part: str | None,
    out: str | None,
) -> None:
    """Show how the ranking of SYSTEMS changes when only some of the test triples of QRELS are known.

    Random subsamples of many sizes, each drawn many times: how the systems are ranked on each, against how all test
    triples rank them. SYSTEMS are answer ranks or runs, or folders of them; QRELS is a collection, or a file with
    --collection. docs/stability.md explains what becomes of the discarded answers, and what the curves do not say.

    \b
    kgtrec meta stability C ranks/*.ranks.parquet
    kgtrec meta stability C ranks -m "micro.MRR macro.MRR AP@20" --workers 2 --out stability.csv
    kgtrec meta stability C ranks --sizes "1% 10% 50%" --repeats 200 --unlisted-answers candidates
    kgtrec meta stability C ranks --table scores --out scores.csv
    """
    from kgtrec.meta.stability import SIZES, stability

    form = form_of(out, form)
    systems, holds_ranks = systems_of(qrels, systems)
    judgements = read_judgements(qrels)
    sizes = list(SIZES) if sizes is None else sizes
    with progress_bar("stability", len(sizes) * repeats, "subsamples") as advance:
        found = stability(
            judgements,
            read_systems(systems, holds_ranks),
            list(measures) or None,
            collection=read_folder(folder) if folder else None,
            sizes=sizes,
            repeats=repeats,
            seed=seed,
            coefficient=coefficient,
            ties=ties,
            missing=missing,
            unlisted_answers=unlisted_answers,
            workers=workers,
            executor=executor_of(scheduler),
            progress=advance,
            mixed=mixed,
            confidence=confidence,
        )
    show(found, form, out, (part or TABLES[0],))
