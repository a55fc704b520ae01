"""kgtrec meta power."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.inputs import files_of, is_campaign, read_families_of
from kgtrec.cli.options import (
    alpha_option,
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
from kgtrec.data.scores import STRATA
from kgtrec.errors import KgtrecError
from kgtrec.meta.power import POWER_TESTS, RESAMPLES, power
from kgtrec.report.progress import progress_bar

TABLES = ("measures", "pairs", "families")


@click.command(name="power")
@qrels_and_systems
@scoring_options("those of kgtrec evaluate")
@choices_option(
    "--test",
    "tests",
    choices=POWER_TESTS,
    about="Test; repeatable. Default: t and clustered.",
    default=("t", "clustered"),
)
@alpha_option
@option("--resamples --repeats repeats", "Bootstrap samples, or shuffles of tukey.", samples(1), 1000)
@option("--resample", "Unit that is drawn.", RESAMPLES, RESAMPLES[0])
@per_option(STRATA)
@family_option
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
    """Count the pairs of SYSTEMS (answer ranks, runs, or folders of them) that each measure distinguishes on QRELS.

    \b
    # all pairs of systems
    kgtrec meta power C ranks
    # another test, as a figure
    kgtrec meta power C ranks -m "micro.MRR AP@20" --test tukey --out power.svg

    Docs: docs/comparing.md
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
