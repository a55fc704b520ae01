"""kgtrec meta stability."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import confidence_option, option, per_option, samples, sizes_of, workers_options
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, qrels_and_systems, scoring_options
from kgtrec.data.scores import STRATA
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.report.progress import progress_bar

TABLES = ("summary", "repeats", "scores")


@click.command(name="stability")
@qrels_and_systems
@scoring_options("those of kgtrec evaluate")
@option("--sizes", 'Sizes, such as "5% 50%". Default: 1%, 5%, 10%, ..., 95%.', callback=sizes_of, metavar="SIZES")
@option("--repeats", "Subsamples of each size.", samples(1), 50)
@option("--coefficient", "Coefficient.", COEFFICIENTS, "tau")
@confidence_option
@per_option(STRATA)
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
    """Show how the ranking of SYSTEMS (answer ranks, runs, or folders of them) changes when only some of the test
    triples of QRELS are known.

    \b
    # subsamples of 1% to 95%
    kgtrec meta stability C ranks --workers 2 --out stability.csv
    # two sizes, one measure
    kgtrec meta stability C ranks --sizes "1% 10%" --repeats 200 -m micro.MRR

    Docs: docs/comparing.md
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
