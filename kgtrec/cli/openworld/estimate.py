"""kgtrec openworld estimate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from kgtrec.campaign.decide import decisions_of
from kgtrec.cli.common import counting, say
from kgtrec.cli.inputs import read_judgements, read_systems, systems_of
from kgtrec.cli.options import COUNT, PATH, Real, confidence_option, is_mixed, measure_option, mixed_option, option
from kgtrec.cli.output import Output, output_options
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.errors import KgtrecError, in_file
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.output.folders import SETTINGS
from kgtrec.formats.trec.runs import default_name
from kgtrec.openworld.estimate import MEASURES, METHODS, estimate_missing, judged_answers
from kgtrec.report.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray


TABLES = ("missing", "scores", "separations")
_DEPTH = 10  # of a pool whose depth is not recorded


@click.command(name="estimate")
@click.argument("judged", type=click.Path(), metavar="CAMPAIGN|QRELS")
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@option("--labels", "The sparse labels. Default: a campaign's known answers.", PATH, metavar="QRELS")
@option("--known", "Other answers known to be true, such as a whole test set.", PATH, metavar="QRELS")
@option("--truth", "All true answers, if they are known, for comparison.", PATH, metavar="QRELS")
@measure_option("micro.MRR and micro.Hits@10")
@option("--depth", "Depth of the pool. Default: that of the campaign; 10 with qrels.", COUNT)
@option("--method", "Method whose beta theory uses. Default: labels if enough.", METHODS)
@option("--top", "Systems to separate.", COUNT, 5)
@option("--wrong-order p", "Accepted error of an order.", Real(0, 0.5, min_open=True, max_open=True), 0.05)
@confidence_option
@mixed_option
@output_options(TABLES)
def command(
    judged: str,
    systems: tuple[str, ...],
    labels: str | None,
    known: str | None,
    truth: str | None,
    measures: tuple[str, ...],
    depth: int | None,
    output: Output,
    **options: Any,
) -> None:
    """Estimate how many true answers lack a label, and the scores without this lack, from a CAMPAIGN or judged QRELS
    and the SYSTEMS that were pooled.

    \b
    # from a campaign
    kgtrec openworld estimate CAMPAIGN ranks
    # from two label sets
    kgtrec openworld estimate complete.txt ranks/*.run.gz --labels sparse.txt --depth 10

    Docs: docs/open-world.md
    """
    paths, holds_ranks = systems_of(judged, systems)
    label_sets = [None if path is None else read_judgements(path) for path in (labels, known, truth)]
    sparse, complete, weight, pooled, questions = _judged(judged, label_sets[0], known)
    known_qrels, true_qrels = (None if qrels is None else _qrels(qrels) for qrels in label_sets[1:])
    questions = questions or next((qrels.questions for qrels in label_sets if isinstance(qrels, Collection)), None)
    with progress_bar("reading", len(paths), "systems") as advance:
        estimated = estimate_missing(
            sparse,
            complete,
            counting(read_systems(paths, holds_ranks), advance),
            measures or MEASURES,
            depth=depth or pooled,
            weight=weight,
            known=known_qrels,
            truth=true_qrels,
            questions=questions,
            mixed=is_mixed(),
            **options,
        )
    if cut := [default_name(path) for path, ranks in zip(paths, holds_ranks, strict=True) if not ranks]:
        say(f"note: answers that cut runs do not list count 0; cut runs: {', '.join(cut)}")
    output.show(estimated)


def _judged(
    path: str, labels: Qrels | Collection | None, known: str | None
) -> tuple[Qrels, Qrels, NDArray[np.float64] | None, int, Questions | None]:
    """Labels, judgements, number of answers that each judgement represents, depth of the pool, and questions."""
    if not Path(path, SETTINGS).exists():
        if labels is None:
            raise KgtrecError(
                f"{path}: expected a campaign, whose known answers are the labels, or qrels together with --labels, "
                "found neither"
            )
        judgements = read_judgements(path)
        asked = judgements.questions if isinstance(judgements, Collection) else None
        return _qrels(labels), _qrels(judgements), None, _DEPTH, asked
    campaign = read_campaign(path)
    with in_file(Path(path)):
        decisions = decisions_of(campaign)
        known_answers = replace(campaign.known_answers, collection="") if is_mixed() else campaign.known_answers
        judged, weight = judged_answers(campaign.pool, known_answers, decisions)
    if waiting := int((decisions.verdict < 0).sum()):
        say(
            f"note: {waiting:,} of {len(decisions):,} triples have no decision; triples decided by people represent "
            "them, as if chosen at random"
        )
    made = campaign.settings.get("pool", {}).get("command", {})
    of_seeds = made.get("questions") == "seeds" if isinstance(made, dict) else made == "campaign import-kgc-sparsity"
    if known is None and of_seeds:
        say(
            "note: the pool was made for known answers, perhaps from a larger test set; --known QRELS also counts the "
            "other known answers of that test set"
        )
    depth = int(campaign.pool.rank.max(initial=1))
    return (known_answers if labels is None else _qrels(labels)), judged, weight, depth, campaign.pool.questions


def _qrels(estimated: Qrels | Collection) -> Qrels:
    qrels = estimated.qrels if isinstance(estimated, Collection) else estimated
    return replace(qrels, collection="") if is_mixed() else qrels
