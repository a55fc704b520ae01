"""kgtrec meta stability."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import SHARE, option, per_option, samples, sizes_of, workers_options
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, qrels_and_systems, scoring_options
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.report.progress import progress_bar

TABLES = ("summary", "repeats", "scores")


@click.command(name="stability")
@qrels_and_systems
@scoring_options(
    "Measure to study; may be repeated, or hold several. Default: those of kgtrec evaluate.",
    "with the test triples, if QRELS is a file.",
    seed="Random seed of the subsamples.",
)
@option(
    "--sizes",
    'Sizes of the subsamples, such as "1% 5% 50%" or "100 1000" triples. Default: 1%, 5%, 10%, ..., 95%.',
    callback=sizes_of,
    metavar="SIZES",
)
@option("--repeats", "Subsamples of each size.", samples(1), 50)
@option("--coefficient", "Kendall's tau-b, tau_AP, Spearman's rho, or rank-biased overlap.", COEFFICIENTS, "tau")
@option("--confidence", "Share of the repeats that an interval holds.", SHARE, 0.95)
@per_option("Show this")
@workers_options
@output_options(TABLES, has_figures=True)
def command(
    qrels: str,
    systems: tuple[str, ...],
    scoring: ScoringRequest,
    sizes: list[int | float] | None,
    per: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Show how the ranking of SYSTEMS changes when only some of the test triples of QRELS are known.

    Random subsamples of many sizes, each drawn many times: how the systems are ranked on each, against how all test
    triples rank them. SYSTEMS are answer ranks or runs, or folders of them; QRELS is a collection, or a file with
    --collection. docs/stability.md explains what becomes of the discarded answers, and what the curves do not say.

    \b
    kgtrec meta stability C ranks/*.ranks.parquet
    kgtrec meta stability C ranks -m "micro.MRR macro.MRR AP@20" --workers 2 --out stability.csv
    kgtrec meta stability C ranks --sizes "1% 10% 50%" --repeats 200 --unlisted-answers candidates
    kgtrec meta stability C ranks -m micro.MRR --per time
    kgtrec meta stability C ranks --table scores --out scores.csv
    """
    from kgtrec.meta.stability import SIZES, stability

    sizes = list(SIZES) if sizes is None else sizes
    if per:
        output.show(scoring.per_stratum(stability, per, [qrels], systems, sizes=sizes, **options), TABLES[:1])
        return
    with progress_bar("stability", len(sizes) * options["repeats"], "subsamples") as advance:
        inputs, keywords = scoring.inputs(qrels, systems), scoring.keywords()
        result = stability(*inputs, sizes=sizes, progress=advance, **options, **keywords)
    output.show(result, TABLES[:1])
