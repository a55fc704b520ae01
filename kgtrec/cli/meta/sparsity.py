"""kgtrec meta sparsity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.inputs import read_judgements, read_systems, systems_of
from kgtrec.cli.meta.label_sets import coefficients_option, read_scores, systems_option
from kgtrec.cli.options import choices_option, direction_options, option, refuse_idle
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import ScoringRequest, scoring_options
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.scores import ScoreTable

PER = ("side", "category", "relation")
_BY_DEPTH = re.compile(r"qrels\.depth(\d+)\.txt")


@click.command(name="sparsity")
@click.argument("labels", nargs=-1, required=True, type=click.Path())
@systems_option
@scoring_options("all of the tables, or as kgtrec evaluate")
@option("--reference", "Label set to compare with. Default: the first.", metavar="NAME")
@option("--by", "Column of the label sets. Default: depth, or the only key.", metavar="COLUMN")
@choices_option("--per", choices=PER, about="One result for each, or combined with side.")
@option("--relations", "Label set or file whose shares of relations all sets get.", metavar="NAME|FILE")
@coefficients_option("tau", ("tau",))
@direction_options
@output_options(has_figures=True)
def command(
    labels: tuple[str, ...],
    systems: tuple[str, ...],
    scoring: ScoringRequest,
    by: str | None,
    per: tuple[str, ...],
    relations: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Show how sparse LABELS (qrels, the sparsest first, with --systems; or tables of scores) change the ranking of the
    systems, for each measure.

    \b
    # qrels of every pool depth
    kgtrec meta sparsity campaign/qrels --systems ranks
    # a table of scores
    kgtrec meta sparsity scores.csv --by Depth -m micro.MRR

    Docs: docs/comparing.md
    """
    from kgtrec.meta.sparsity import sparsity

    measures = scoring.measures or None
    tables: ScoreTable | list[ScoreTable]
    if systems:
        if by is not None:
            raise KgtrecError("expected a table of scores together with --by, found qrels and systems")
        tables = _scored(labels, systems, per, relations, scoring)
        by = "labels"
    else:
        refuse_idle(("per", "relations", "folder", "ties"), "tables of scores; qrels need --systems, tables do not")
        tables = _tables(labels, by)
    output.show(sparsity(tables, measures, by=by, **options))


def _tables(paths: Sequence[str], by: str | None) -> ScoreTable | list[ScoreTable]:
    names = _distinct([Path(path).stem for path in paths], paths)
    tables = [read_scores(path, [by] if by else [], name) for path, name in zip(paths, names, strict=True)]
    if len(tables) > 1 and by is not None:
        raise KgtrecError(f"expected a single table of scores together with --by, found {len(tables)} tables")
    return tables[0] if len(tables) == 1 else tables


def _scored(
    paths: Sequence[str], systems: Sequence[str], per: Sequence[str], relations: str | None, scoring: ScoringRequest
) -> ScoreTable:
    from kgtrec.formats.relation_shares import read_relation_shares
    from kgtrec.meta.sparsity import label_scores

    files = [file for path in paths for file in _by_depth(path)]
    names = _distinct([_name(file) for file in files], files)
    sources, holds_ranks = systems_of(files[0], systems)
    judged = {name: read_judgements(file) for name, file in zip(names, files, strict=True)}
    shares: str | dict[str, float] | None = relations
    if relations is not None and relations not in judged:
        if not Path(relations).is_file():
            raise KgtrecError(
                f"--relations: expected a label set ({', '.join(judged)}) or a file of shares, found {relations!r}"
            )
        shares = read_relation_shares(relations)
    return label_scores(
        judged,
        read_systems(sources, holds_ranks),
        scoring.measures or None,
        per=per,
        relations=shares,
        reduced_from=_deepest(files, judged),
        **scoring.keywords(),
    )


def _deepest(files: Sequence[str], judged: Mapping[str, Qrels | Collection]) -> Qrels | None:
    """The qrels of the greatest depth, if all are those of one pool by depth."""
    from kgtrec.evaluation.given import judgements_of

    depths = [int(match[1]) for file in files if (match := _BY_DEPTH.fullmatch(Path(file).name))]
    if len(depths) < len(files) or len({Path(file).absolute().parent for file in files}) > 1:
        return None
    return judgements_of(list(judged.values())[depths.index(max(depths))])


def _by_depth(path: str) -> list[str]:
    """Folders with qrels by depth become the qrels of every depth, shallowest first; other paths do not change."""
    if not Path(path).is_dir():
        return [path]
    found = [(int(match[1]), str(file)) for file in Path(path).iterdir() if (match := _BY_DEPTH.fullmatch(file.name))]
    return [file for _, file in sorted(found)] or [path]


def _name(path: str) -> str:
    name = Path(path).name
    return f"depth{match[1]}" if (match := _BY_DEPTH.fullmatch(name)) else name.removesuffix(".txt")


def _distinct(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The names, or where two share one those of the folders, or else the paths."""
    folders = [Path(path).absolute().parent.name for path in paths]
    return next(list(each) for each in (names, folders, paths) if len(set(each)) == len(each) or each is paths)
