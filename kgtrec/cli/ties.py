"""kgtrec ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from kgtrec.cli.evaluate import report_half_places
from kgtrec.cli.inputs import read_folder, read_judgements, read_systems, systems_of
from kgtrec.cli.options import (
    choices_option,
    collection_option,
    measure_option,
    missing_option,
    mixed_option,
    seed_option,
    trust_ids_option,
    unlisted_option,
)
from kgtrec.cli.output import form_of, output_options, show
from kgtrec.kernels.ranking.positions import TIE_POLICIES

if TYPE_CHECKING:
    from kgtrec.evaluation.evaluate import Missing
    from kgtrec.evaluation.unlisted import UnlistedAnswers

TABLES = ("scores", "groups")
_WORTH_TELLING = 0.00005  # what four decimals show


@click.command(name="ties")
@click.argument("qrels", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@measure_option("Measure to compute; may be repeated, or hold several. Default: those of kgtrec evaluate.")
@choices_option(
    "--ties",
    "policies",
    choices=TIE_POLICIES,
    about="Policy to show besides optimistic and pessimistic; may be repeated. Default: all.",
)
@seed_option("Random seed of the nondeterministic order.")
@missing_option
@unlisted_option
@collection_option("whose answers runs list, if QRELS is a file that lacks some.")
@mixed_option
@trust_ids_option
@output_options(TABLES)
def command(
    qrels: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    policies: tuple[str, ...],
    seed: int,
    missing: Missing,
    unlisted_answers: UnlistedAnswers,
    folder: str | None,
    mixed: bool,
    form: str | None,
    part: str | None,
    out: str | None,
) -> None:
    """Show how far the scores of SYSTEMS depend on the order of tied candidates.

    SYSTEMS are runs, answer ranks, or folders of them.

    First how many relevant entities tie with another candidate, in groups of which size; then each measure with the
    relevant entities last among those they tie with (pessimistic), midway (realistic), on average over all orders
    (expected), first (optimistic), in one random order (nondeterministic) and, for runs, by label (trec). apart is the
    distance between optimistic and pessimistic.

    \b
    kgtrec ties C ranks/*.ranks.parquet
    kgtrec ties qrels.txt transe.run.gz -m "RR AP@20" --format csv
    kgtrec ties C ranks/*.ranks.parquet -m micro.MRR --ties expected --out ties.json
    """
    from kgtrec.evaluation.ties import compare_ties

    form = form_of(out, form)
    systems, holds_ranks = systems_of(qrels, systems)
    judgements = read_judgements(qrels)
    asked = measures
    if not asked:
        from kgtrec.evaluation.evaluate import default_measures

        asked = default_measures(ranks=all(holds_ranks))
    compared = compare_ties(
        judgements,
        read_systems(systems, holds_ranks),
        asked,
        policies=policies or None,
        seed=seed,
        collection=read_folder(folder) if folder else None,
        missing=missing,
        unlisted_answers=unlisted_answers,
        mixed=mixed,
    )
    if {"realistic", "expected"} <= set(compared.policies):
        realistic, expected = (
            compared.values[:, :, compared.policies.index(policy)] for policy in ("realistic", "expected")
        )
        apart = np.any(np.abs(realistic - expected) >= _WORTH_TELLING, axis=0).tolist()
        differing = [label for label, differs in zip(compared.measures, apart, strict=True) if differs]
        report_half_places(differing, "the mean is under expected")
    show(compared, form, out, (part,) if part else TABLES[::-1] if form in ("table", "latex") else TABLES[:1])
