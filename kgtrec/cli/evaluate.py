"""kgtrec evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.common import counting, say
from kgtrec.cli.inputs import is_campaign, read_families_of, read_judgements, read_sampled, read_systems, systems_of
from kgtrec.cli.options import (
    PATH,
    SHARE,
    Whole,
    family_option,
    listing_option,
    option,
    per_option,
    refuse_idle,
    sides_option,
    ties_option,
)
from kgtrec.cli.output import FIGURES, Output, output_options
from kgtrec.cli.scoring import NO_CAMPAIGN, ScoringRequest, machine_option, scoring_options
from kgtrec.data.scores import BREAKDOWNS, OF_POPULARITY, QUANTILES
from kgtrec.errors import KgtrecError, KgtrecWarning, in_file, one_of
from kgtrec.evaluation.scoring import MACRO_DEFAULTS, MICRO_DEFAULTS, has_only_answers
from kgtrec.report.progress import progress_bar

if TYPE_CHECKING:
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels


_WORTH_TELLING = 0.00005  # what four decimals show


def _measures() -> Iterator[str]:
    from kgtrec.measures.names import describe_measures

    for about in describe_measures():
        also = f" (trec_eval: {', '.join(about.trec_eval)})" if about.trec_eval else ""
        yield f"{about.name:<20} {about.description}{also}"


@click.command(name="evaluate")
@click.argument("qrels", type=PATH)
@click.argument("systems", nargs=-1, type=PATH)
@scoring_options(
    f"{', '.join(MACRO_DEFAULTS)}; for answer ranks also {', '.join(MICRO_DEFAULTS)}", ties=ties_option("all")
)
@per_option(BREAKDOWNS)
@option("--quantiles", f"Strata of popularity. Default: {QUANTILES}.", Whole(2, 1000))
@output_options(has_figures=True)
@option("--sort", "Sort systems by this measure, best first. Default: as given.", metavar="MEASURE")
@sides_option
@option("--float32", "Compare the scores of runs as 32-bit floats, as trec_eval 9 does.", is_flag=True)
@option(
    "--weights",
    "Equal weight for each question, relation or question-relation, 1 / degree (popularity), or shares in a FILE.",
    metavar="NAME|FILE",
)
@option("--confidence", "Add intervals of this level, such as 0.95.", SHARE)
@option(
    "--drawn",
    "Sampling unit of the intervals. Default: triple, if all answers are test triples.",
    ("triple", "question"),
)
@family_option
@machine_option
@listing_option("--list-measures", "List the measures and exit.", _measures)
def command(
    qrels: str,
    systems: tuple[str, ...],
    scoring: ScoringRequest,
    per: str | None,
    output: Output,
    sort: str | None,
    weights: str | None,
    machine: str | None,
    families: tuple[str, ...],
    **options: Any,
) -> None:
    """Score SYSTEMS (answer ranks, runs, or folders of them) against QRELS (a file, a collection, or a campaign).
    Without SYSTEMS, QRELS is a folder of collections of several graphs, each with its ranks.

    \b
    # default measures of all systems
    kgtrec evaluate C ranks
    # two measures with intervals, as CSV
    kgtrec evaluate C ranks -m "micro.MRR AP@20" --confidence 0.95 --out scores.csv

    Docs: docs/micro-macro.md
    """
    if not systems:
        _show_graphs(qrels, scoring, output, options)
        return
    refuse_idle(("machine",), NO_CAMPAIGN, when=not is_campaign(qrels))
    if scoring.options["ties"] == "all":
        idle = ("sort", "per", "quantiles", "sides", "float32", "confidence", "weights", "machine", "families")
        refuse_idle(idle, "--ties all")
        if is_campaign(qrels):
            raise KgtrecError(f"expected qrels or a collection with --ties all, found the campaign {qrels}")
        _show_all_orders(qrels, systems, scoring, output)
        return
    if per is not None and sort is not None:
        raise KgtrecError("expected --sort without --per, found both; leave one out")
    systems, holds_ranks = systems_of(qrels, systems)
    measures = scoring.measures_of(holds_ranks, only_answers=has_only_answers(per, weights))
    if sort is not None:
        sort = _among(measures, sort)
    loaded = read_systems(systems, holds_ranks)
    with ThreadPoolExecutor(1) as reader:
        # the first system, often the only one, is read while the rest of the program is loaded and the qrels are read:
        # up to 0.05 s of 0.85 for a run of 2.3 million lines, nothing for answer ranks. A pipe is not: a signal could
        # not stop a thread that waits for it
        early = reader.submit(next, loaded) if any(Path(path).is_file() for path in systems[:1]) else None
        import pyarrow.compute  # noqa: F401

        import kgtrec.report.show  # noqa: F401
        from kgtrec.data.sampled_qrels import SampledQrels
        from kgtrec.evaluation.evaluate import evaluate

        judgements = read_sampled(qrels, machine) if is_campaign(qrels) else read_judgements(qrels)
        keywords = scoring.keywords()
        if families:
            options["families"] = read_families_of(families, systems)
        if isinstance(judgements, SampledQrels):
            keywords["weights"] = weights
        else:
            keywords["weights"] = _weights(weights, judgements, keywords.get("collection"))
        with progress_bar("evaluating", len(systems), "systems") as advance:
            given = counting(chain([early.result()] if early else [], loaded), advance)
            scores = evaluate(judgements, given, measures, per=per, **options, **keywords)
    if scoring.options["ties"] == "realistic" and any(scores.tied):
        _report_half_places(scores.measures, "--ties expected gives the mean")
    if scores.low is not None and scores.confidence and (scores.low == scores.low).any():  # not all are NaN
        is_map = output.form in FIGURES and per not in (None, *OF_POPULARITY)
        about = scores.population + "; a heat map shows none, the table has them" * is_map
        say(f"note: {100 * scores.confidence:.12g}% intervals are over {about}")
    output.show(scores if sort is None else scores.sorted_by(sort))


def _among(measures: Sequence[str], sort: str) -> str:
    """The measure to sort by, as the scores will spell it."""
    from kgtrec.measures.names import parse_measure, parse_measures

    label = parse_measure(sort).label
    one_of("--sort to be one of", label, [measure.label for measure in parse_measures(measures)])
    return label


def _show_graphs(folder: str, scoring: ScoringRequest, output: Output, options: dict[str, Any]) -> None:
    from kgtrec.evaluation.graphs import evaluate_graphs, graphs_in

    if not graphs_in(folder):
        raise click.UsageError(
            f"expected SYSTEMS, or a folder of collections of several graphs (FOLDER/NAME), found neither in {folder}"
        )
    idle = ("sort", "per", "quantiles", "weights", "machine", "families", "drawn", "folder")
    refuse_idle(idle, "several graphs")
    if scoring.options["ties"] == "all":
        raise KgtrecError("expected one order of ties with several graphs, found --ties all; evaluate one graph")
    keywords = scoring.keywords()
    del keywords["collection"]
    how: dict[str, Any] = {"confidence": options["confidence"] or 0.95}
    how |= {name: options[name] for name in ("sides", "float32")} | keywords
    output.show(evaluate_graphs(folder, scoring.measures or None, **how))


def _show_all_orders(qrels: str, systems: tuple[str, ...], scoring: ScoringRequest, output: Output) -> None:
    import numpy as np

    from kgtrec.evaluation.ties import compare_ties

    keywords = scoring.keywords()
    del keywords["ties"]
    compared = compare_ties(*scoring.inputs(qrels, systems), **keywords)
    realistic, expected = (
        compared.values[:, :, compared.policies.index(policy)] for policy in ("realistic", "expected")
    )
    differs = np.any(np.abs(realistic - expected) >= _WORTH_TELLING, axis=0)
    differing = [compared.measures[place] for place in np.flatnonzero(differs)]
    _report_half_places(differing, "the mean is under expected")
    output.show(compared, ("groups", "scores") if output.is_laid_out else ("scores",))


def _weights(
    weights: str | None, judgements: Qrels | Collection, collection: Collection | None
) -> str | dict[str, float] | None:
    import warnings

    from kgtrec.data.collection import Collection
    from kgtrec.evaluation.weighting import WEIGHTS, Weighting
    from kgtrec.formats.relation_shares import read_relation_shares

    if weights is None or weights in WEIGHTS:
        return weights
    shares = read_relation_shares(weights)
    whole = judgements if isinstance(judgements, Collection) else collection
    with in_file(Path(weights)), warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)  # shown when the systems are weighted
        Weighting(shares, judgements.qrels if isinstance(judgements, Collection) else judgements, whole)
    return shares


def _report_half_places(measures: Sequence[str], way_out: str) -> None:
    """Print a note about measures for which the realistic rule gives neither the value of an order nor the mean."""
    from kgtrec.measures.names import parse_measure

    summed = [label for label in measures if getattr(parse_measure(label), "sums_over_places", False)]
    if summed:
        say(
            f"note: {', '.join(summed)}: realistic ranks of tied answers may be half ranks; the value is then not that "
            f"of any order, and mostly below the mean over all orders; {way_out}"
        )
