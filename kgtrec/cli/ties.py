"""kgtrec ties."""

from __future__ import annotations

import click
import numpy as np

from kgtrec.cli.evaluate import report_half_places
from kgtrec.cli.options import choices_option
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, qrels_and_systems, scoring_options
from kgtrec.kernels.ranking.positions import TIE_POLICIES

TABLES = ("scores", "groups")
_WORTH_TELLING = 0.00005  # what four decimals show


@click.command(name="ties")
@qrels_and_systems
@scoring_options(
    "Measure to compute; may be repeated, or hold several. Default: those of kgtrec evaluate.",
    "whose answers runs list, if QRELS is a file that lacks some.",
    seed="Random seed of the nondeterministic order.",
    leave_out=("ties",),
)
@choices_option(
    "--ties",
    "policies",
    choices=TIE_POLICIES,
    about="Policy to show besides optimistic and pessimistic; may be repeated. Default: all.",
)
@output_options(TABLES)
def command(
    qrels: str, systems: tuple[str, ...], scoring: ScoringRequest, policies: tuple[str, ...], output: Output
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

    compared = compare_ties(*scoring.inputs(qrels, systems), policies=policies or None, **scoring.keywords())
    if {"realistic", "expected"} <= set(compared.policies):
        realistic, expected = (
            compared.values[:, :, compared.policies.index(policy)] for policy in ("realistic", "expected")
        )
        apart = np.any(np.abs(realistic - expected) >= _WORTH_TELLING, axis=0).tolist()
        differing = [label for label, differs in zip(compared.measures, apart, strict=True) if differs]
        report_half_places(differing, "the mean is under expected")
    output.show(compared, TABLES[::-1] if output.is_laid_out else TABLES[:1])
