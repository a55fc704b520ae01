"""kgtrec meta power."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.inputs import files_of, is_campaign, read_families_of
from kgtrec.cli.options import (
    SHARE,
    choices_option,
    family_option,
    option,
    per_option,
    refuse_idle,
    samples,
    workers_options,
)
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import NO_CAMPAIGN, ScoringRequest, machine_option, qrels_and_systems, scoring_options
from kgtrec.errors import KgtrecError
from kgtrec.meta.power import POWER_TESTS, RESAMPLES, power
from kgtrec.report.progress import progress_bar

TABLES = ("measures", "pairs", "families")


@click.command(name="power")
@qrels_and_systems
@scoring_options(
    "Measure to test; may be repeated, or hold several. Default: those of kgtrec evaluate.",
    "with the relations, if QRELS is a file and a measure weighs them.",
)
@choices_option(
    "--test",
    "tests",
    choices=POWER_TESTS,
    about="Test to make; may be repeated. Default: t and clustered.",
    default=("t", "clustered"),
)
@option("--alpha", "Level below which p counts as significant.", SHARE, 0.05)
@option("--resamples --repeats repeats", "Samples of --test bootstrap, and shuffles of --test tukey.", samples(1), 1000)
@option("--resample", "What they draw and shuffle: questions with their answers, or answers.", RESAMPLES, RESAMPLES[0])
@per_option("Test the pairs")
@family_option("Test families of systems that were trained several times, over seeds and questions.")
@machine_option
@workers_options
@output_options(TABLES, has_figures=True)
def command(
    qrels: str,
    systems: tuple[str, ...],
    scoring: ScoringRequest,
    tests: tuple[str, ...],
    families: tuple[str, ...],
    machine: str | None,
    per: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Count the pairs of SYSTEMS (answer ranks, runs, or folders of them) that each measure distinguishes.

    For every measure all pairs of systems are tested on QRELS (a file or a collection): paired t-tests over answers
    (micro) or questions, the same with errors clustered by question, the paired bootstrap (ASL), the randomised Tukey
    HSD, or the sign test of the list that each question prefers of two. Shown are the pairs with p below alpha, before
    and after adjusting for their number (Holm; Tukey is adjusted as it is), the area under the curve of p-values, the
    smallest difference that was significant and the largest that was not. docs/power.md has the formulas and the
    limits.

    Of a campaign whose people judge a sample (kgtrec pool --strategy two-level), the differences are estimates of those
    that judging the whole pool would give: tested over other samples of the pool, and over other questions too.

    \b
    kgtrec meta power C ranks/*.ranks.parquet
    kgtrec meta power C ranks -m "micro.MRR macro.MRR AP@20" --test clustered --test bootstrap --test tukey
    kgtrec meta power C ranks -m "AP@20 RR Q@20" --test clustered --test sign
    kgtrec meta power campaign ranks -m AP@20
    kgtrec meta power C ranks -m micro.MRR --family seeds
    kgtrec meta power C ranks -m micro.MRR --per time
    kgtrec meta power C ranks -m AP@20 --table pairs --out pairs.csv
    """
    from kgtrec.evaluation.item_scores import item_scores

    files = files_of(systems)
    if len(files) < 2:
        raise KgtrecError(f"expected at least two systems to distinguish, found {len(files)}: {', '.join(files)}")
    if is_campaign(qrels):
        refuse_idle(("tests", "repeats", "resample", "families", "per"), "a campaign")
        result = power(*scoring.inputs_of_sample(qrels, files, machine), alpha=options["alpha"], **scoring.keywords())
        output.show(result, TABLES[:2] if output.form != "json" else None)
        return
    refuse_idle(("machine",), NO_CAMPAIGN)
    if families:
        refuse_idle(("tests", "repeats", "resample", "workers", "scheduler", "per"), "--family")
        family_of = read_families_of(families, files, range(2, len(files) + 1))
        inputs = scoring.inputs(qrels, files)
        result = power(*inputs, alpha=options["alpha"], families=family_of, **scoring.keywords())
        output.show(result, ("families", "pairs") if output.form != "json" else None)
        return
    if output.part == "families":
        raise KgtrecError("expected --family together with --table families, found none")
    if per:
        found = scoring.per_stratum(power, per, [qrels], systems, tests=tests, **options)
        output.show(found, TABLES[:1] if output.form != "json" else None)
        return
    scores = item_scores(*scoring.inputs(qrels, files), **scoring.keywords())
    with progress_bar("power", len(scores) * len(set(tests)), "tests") as advance:
        result = power(scores, tests=tests, seed=scoring.options["seed"], progress=advance, **options)
    output.show(result, TABLES[:1] if output.form != "json" else None)
