"""kgtrec meta correlate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.inputs import files_of
from kgtrec.cli.options import PATH, SHARE, choices_option, direction_options, directions, option, samples
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, scoring_options
from kgtrec.cli.workers import executor_of, workers_options
from kgtrec.errors import KgtrecError, in_file
from kgtrec.formats.collections import is_collection
from kgtrec.formats.files import suffixes
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.report.progress import progress_bar

if TYPE_CHECKING:
    from kgtrec.data.scores import ScoreTable
    from kgtrec.evaluation.item_scores import ItemScores
    from kgtrec.evaluation.scoring import ScoringOptions


@click.command(name="correlate")
@click.argument("labels", nargs=-1, required=True, type=click.Path(), metavar="FIRST [SECOND]")
@option(
    "--systems", "Run, answer ranks, or a folder of them, to score under qrels; may be repeated.", PATH, multiple=True
)
@option("--second-systems", "The same systems, by name, where SECOND needs other files of them.", PATH, multiple=True)
@scoring_options(
    "Measure; may be repeated. Default: all of both tables, or those of kgtrec evaluate.",
    "whose answers runs list, if qrels lack some. Default: FIRST or SECOND, if it is one.",
)
@choices_option(
    "--coefficient",
    "coefficients",
    choices=COEFFICIENTS,
    about="Kendall's tau-b, tau_AP, Spearman's rho, rank-biased overlap; may be repeated. Default: all.",
)
@option(
    "--key keys",
    "Column of a table that tells several rows of one system apart. Depth, QuestionType, RelationType, "
    "side, relation, category, question and key are known.",
    multiple=True,
    metavar="COLUMN",
)
@option(
    "--against",
    "Compare FIRST's rows of this key, such as Depth=0, with those of every label, instead of with SECOND.",
    metavar="COLUMN=LABEL",
)
@direction_options
@option("--swaps wants_swaps", "List the pairs of systems in opposite order instead.", is_flag=True)
@option("--alpha", "Below which the difference of a swapped pair is significant.", SHARE, 0.05)
@option(
    "--confidence",
    "Add the range of this share of resampled sets of questions, such as 0.95, which is no confidence "
    "interval of the correlation; needs qrels and systems.",
    SHARE,
)
@option("--resamples", "How many bootstrap samples.", samples(2), 1000)
@option("--unpaired", "Questions of one id are not the same question in FIRST and SECOND.", is_flag=True)
@workers_options
@option("--name names", "Of FIRST, then of SECOND. Default: their paths.", multiple=True, metavar="NAME")
@output_options()
def command(
    labels: tuple[str, ...],
    systems: tuple[str, ...],
    second_systems: tuple[str, ...],
    scoring: ScoringRequest,
    coefficients: tuple[str, ...],
    keys: tuple[str, ...],
    against: str | None,
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    wants_swaps: bool,
    alpha: float,
    confidence: float | None,
    resamples: int,
    unpaired: bool,
    workers: int | None,
    scheduler: str | None,
    names: tuple[str, ...],
    output: Output,
) -> None:
    """Correlate the rankings of the systems under two label sets, FIRST and SECOND: tables of scores, or qrels.

    A table of scores is CSV with a column System and one for each measure, what kgtrec evaluate --format csv writes, or
    a leaderboard of TREC AutoJudge (run measure topic value); standard input (-) is one. Qrels are a file or a
    collection, and need --systems, the systems' runs or answer ranks; --second-systems may name other files of the same
    systems for SECOND. Without SECOND, the measures of FIRST are compared with each other. docs/correlation.md explains
    the coefficients.

    \b
    kgtrec meta correlate S/evaluation.csv SC/evaluation.csv -m micro.MRR -m macro.Hits@10
    kgtrec meta correlate S/evaluation.csv SC/pooling_depth.csv --coefficient tau
    kgtrec meta correlate SC/pooling_depth.csv --against Depth=0 --coefficient tau --out depths.csv
    kgtrec meta correlate C qrels/depth-10.qrels --systems ranks --confidence 0.95
    kgtrec meta correlate C qrels/depth-10.qrels --systems ranks --swaps
    kgtrec meta correlate C --systems ranks -m "micro.MRR macro.MRR AP@20"
    """
    better = directions(higher, lower)
    _refuse(labels, against, names, wants_swaps=wants_swaps)
    asked = list(scoring.measures) or None
    if systems and all(_is_table(path) for path in labels):
        raise KgtrecError(f"expected no systems together with tables of scores, found {systems[0]}")
    own = files_of(systems)
    sources = [own, files_of(second_systems) if second_systems else own]
    if scoring.collection and not systems:
        raise KgtrecError("expected qrels and --systems together with --collection, found no systems")
    if not scoring.collection and systems and not second_systems:
        scoring = replace(scoring, collection=next((path for path in labels if is_collection(path)), None))
    keywords = scoring.keywords()
    found = [_labelled(path, source, keys, scoring, keywords) for path, source in zip(labels, sources, strict=False)]
    called = [*names, *labels[len(names) :]]
    if against is not None:
        found, called = _against(found, against, called)
    from kgtrec.meta.correlation import between_measures, correlate, swaps

    if wants_swaps:
        swapped = swaps(found[0], found[1], measures=asked, names=(called[0], called[1]), better=better, alpha=alpha)
        output.show(swapped, None if output.form == "table" else ("swaps",))
        return
    options: dict[str, Any] = {
        "better": better,
        "confidence": confidence,
        "resamples": resamples,
        "seed": scoring.options["seed"],
        "workers": workers,
        "executor": executor_of(scheduler),
    }
    chosen = coefficients or COEFFICIENTS
    with _resampling(found, confidence) as options["progress"]:
        if len(found) == 2:
            both, paired = (called[0], called[1]), not unpaired
            correlations = correlate(found[0], found[1], None, asked, chosen, names=both, paired=paired, **options)
        else:
            correlations = between_measures(found[0], None, asked, chosen, name=called[0], **options)
    output.show(correlations)


def _resampling(found: Sequence[Any], confidence: float | None) -> AbstractContextManager[Callable[[int], None] | None]:
    """How far the resampling is, if there is any: of tables of scores there is none."""
    if confidence is None or not all(isinstance(labelled, Mapping) for labelled in found):
        return nullcontext()
    return progress_bar("resampling", len(set.intersection(*map(set, found))), "measures")


def _holds_systems(path: str) -> bool:
    """Whether a file is a run or answer ranks, or a folder has such files."""
    from kgtrec.formats.sniff import sniff

    if Path(path).is_dir():
        return not is_collection(path) and any(
            file.name.endswith(".ranks.parquet") or ".run" in file.name for file in Path(path).iterdir()
        )
    return not _is_table(path) and suffixes(path)[0] != ".csv" and sniff(path) in ("run", "answer ranks")


def _is_table(path: str) -> bool:
    """Whether a file is a table of scores, with the names of columns in its first line; standard input must be one."""
    if path == "-":
        return True
    from kgtrec.formats.score_tables import looks_like_table

    return not Path(path).is_dir() and looks_like_table(path)


def _refuse(labels: Sequence[str], against: str | None, names: Sequence[str], *, wants_swaps: bool) -> None:
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
    if labels.count("-") > 1:
        raise KgtrecError("expected standard input (-) once, found it again; it can be read once")
    if against is not None and len(labels) > 1:
        raise KgtrecError(
            f"expected no second label set together with --against, which compares rows of FIRST, found {labels[1]}"
        )
    if wants_swaps and against is None and len(labels) < 2:
        raise KgtrecError("expected SECOND together with --swaps, which compares two label sets, found none")
    if len(names) > 2:
        raise KgtrecError(f"expected a --name for FIRST and one for SECOND, found {len(names)}")


def _labelled(
    path: str, systems: tuple[str, ...], keys: Sequence[str], scoring: ScoringRequest, keywords: ScoringOptions
) -> ScoreTable | Mapping[str, ItemScores]:
    """A table of scores, or the scores of the systems on each item under qrels."""
    if _is_table(path) or (not systems and suffixes(path)[0] == ".csv"):
        from kgtrec.formats.score_tables import read_score_table

        return read_score_table(path, keys=keys)
    if not systems:
        raise KgtrecError(
            f"{path}: expected a table of scores, with a column System, or systems to score (--systems ranks), found "
            "neither"
        )
    from kgtrec.evaluation.item_scores import item_scores

    inputs = scoring.inputs(path, systems)
    with in_file(Path(path)):
        return item_scores(*inputs, **keywords)


def _against(found: list[Any], against: str, called: list[str]) -> tuple[list[Any], list[str]]:
    column, sign, label = against.partition("=")
    if not sign:
        raise KgtrecError(f"--against: expected COLUMN=LABEL, such as Depth=0, found {against!r}")
    if isinstance(found[0], Mapping):
        raise KgtrecError(f"--against: expected a table of scores with a column {column}, found qrels")
    with in_file(Path(called[0])):
        return [found[0].at(**{column: label}), found[0]], [f"{called[0]} {against}", called[0]]
