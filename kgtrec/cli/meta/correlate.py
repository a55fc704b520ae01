"""kgtrec meta correlate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.inputs import files_of, refuse_second_input
from kgtrec.cli.meta.label_sets import coefficients_option, is_score_table, read_scores, systems_option
from kgtrec.cli.options import (
    PATH,
    SHARE,
    alpha_option,
    direction_options,
    option,
    per_option,
    refuse_idle,
    resamples_option,
    workers_options,
)
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, scoring_options
from kgtrec.data.scores import STRATA
from kgtrec.errors import KgtrecError, in_file
from kgtrec.formats.collections import is_collection
from kgtrec.formats.files import suffixes
from kgtrec.report.progress import progress_bar

if TYPE_CHECKING:
    from kgtrec.data.scores import ScoreTable
    from kgtrec.evaluation.item_scores import ItemScores
    from kgtrec.evaluation.scoring import ScoringOptions
    from kgtrec.meta.known_measures import Better


@click.command(name="correlate")
@click.argument("labels", nargs=-1, required=True, type=click.Path(), metavar="FIRST [SECOND]")
@systems_option
@option("--second-systems", "Files of the same systems for SECOND, if it needs others.", PATH, multiple=True)
@scoring_options("all of the tables, or as kgtrec evaluate")
@coefficients_option("all")
@option("--key keys", "Column that distinguishes rows of one system; repeatable.", multiple=True, metavar="COLUMN")
@direction_options
@option("--swaps wants_swaps", "List the pairs of systems in opposite order instead.", is_flag=True)
@alpha_option
@option("--confidence", "Add ranges over resampled questions, such as 0.95.", SHARE)
@resamples_option
@option("--unpaired", "Equal ids are different questions in FIRST and SECOND.", is_flag=True)
@per_option(STRATA)
@workers_options
@option("--name names", "Name of FIRST, then of SECOND. Default: their paths.", multiple=True, metavar="NAME")
@output_options(has_figures=True)
def command(
    labels: tuple[str, ...],
    systems: tuple[str, ...],
    second_systems: tuple[str, ...],
    scoring: ScoringRequest,
    coefficients: tuple[str, ...],
    keys: tuple[str, ...],
    better: dict[str, Better],
    wants_swaps: bool,
    alpha: float,
    unpaired: bool,
    per: str | None,
    names: tuple[str, ...],
    output: Output,
    **options: Any,
) -> None:
    """Correlate the rankings of systems under two label sets, FIRST and SECOND (tables of scores, or qrels with
    --systems), or by two measures under one.

    \b
    # two label sets
    kgtrec meta correlate C qrels.txt --systems ranks
    # two measures
    kgtrec meta correlate C --systems ranks -m "micro.MRR AP@20"

    Docs: docs/comparing.md
    """
    _refuse(labels, names, wants_swaps=wants_swaps)
    measures = scoring.measures or None
    if systems and all(map(is_score_table, labels)):
        raise KgtrecError(f"expected no systems together with tables of scores, found {systems[0]}")
    sources = files_of(systems), files_of(second_systems or systems)
    if scoring.collection and not systems:
        raise KgtrecError("expected qrels and --systems together with --collection, found no systems")
    if not scoring.collection and systems and not second_systems:
        scoring = replace(scoring, collection=next((path for path in labels if is_collection(path)), None))
    label_names: Any = (*names, *labels[len(names) :])
    from kgtrec.meta.correlation import between_measures, correlate, swaps

    if per:
        refuse_idle(("second_systems", "keys"), "--per")
        if not systems:
            raise KgtrecError("expected qrels and --systems together with --per, found no systems")
        given: dict[str, Any] = {**options, "coefficients": coefficients, "better": better}
        verb: Any = between_measures
        if wants_swaps:
            verb, given = swaps, {"better": better, "alpha": alpha, "names": label_names}
        elif len(labels) == 2:
            verb, given = correlate, {**given, "names": label_names, "paired": not unpaired}
        else:
            given["name"] = label_names[0]
        found = scoring.per_stratum(verb, per, labels, systems, **given)
        output.show(found, ("swaps",) if wants_swaps and output.form != "table" else None)
        return
    keywords = scoring.keywords()
    scored: list[Any] = [
        _labelled(path, source, keys, scoring, keywords) for path, source in zip(labels, sources, strict=False)
    ]
    if wants_swaps:
        swapped = swaps(scored[0], scored[1], measures=measures, names=label_names, better=better, alpha=alpha)
        output.show(swapped, None if output.form == "table" else ("swaps",))
        return
    options |= {"better": better, "seed": scoring.options["seed"]}
    asked: Any = None, measures, coefficients
    with _resampling(scored, options["confidence"]) as options["progress"]:
        if len(scored) == 2:
            correlations = correlate(*scored, *asked, names=label_names, paired=not unpaired, **options)
        else:
            correlations = between_measures(*scored, *asked, name=label_names[0], **options)
    output.show(correlations)


def _resampling(scored: Sequence[Any], confidence: float | None) -> AbstractContextManager[Any]:
    """How far the resampling is, if there is any: of tables of scores there is none."""
    if confidence is None or not all(isinstance(scores, Mapping) for scores in scored):
        return nullcontext()
    return progress_bar("resampling", len(set.intersection(*map(set, scored))), "measures")


def _holds_systems(path: str) -> bool:
    """Whether a file is a run or answer ranks, or a folder has such files."""
    from kgtrec.formats.sniff import sniff

    if Path(path).is_dir():
        return not is_collection(path) and any(
            file.name.endswith(".ranks.parquet") or ".run" in file.name for file in Path(path).iterdir()
        )
    return not is_score_table(path) and suffixes(path)[0] != ".csv" and sniff(path) in ("run", "answer ranks")


def _refuse(labels: Sequence[str], names: Sequence[str], *, wants_swaps: bool) -> None:
    if wrong := next((path for path in labels if _holds_systems(path)), ""):
        raise KgtrecError(
            f"expected label sets as FIRST and SECOND, found systems: {wrong}; give systems, or their folder, with "
            "--systems"
        )
    if len(labels) > 2:
        raise KgtrecError(
            f"expected FIRST and SECOND, found a third label set, {labels[2]}; kgtrec meta sparsity compares several "
            "label sets with one"
        )
    refuse_second_input(labels)
    if wants_swaps and len(labels) < 2:
        raise KgtrecError("expected SECOND together with --swaps, which compares two label sets, found none")
    if len(names) > 2:
        raise KgtrecError(f"expected a --name for FIRST and one for SECOND, found {len(names)}")


def _labelled(
    path: str, systems: tuple[str, ...], keys: Sequence[str], scoring: ScoringRequest, keywords: ScoringOptions
) -> ScoreTable | Mapping[str, ItemScores]:
    """A table of scores, or the scores of the systems on each item under qrels."""
    if not systems or is_score_table(path):
        return read_scores(path, keys)
    from kgtrec.evaluation.item_scores import item_scores

    inputs = scoring.inputs(path, systems)
    with in_file(Path(path)):
        return item_scores(*inputs, **keywords)
