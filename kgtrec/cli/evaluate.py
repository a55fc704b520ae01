"""kgtrec evaluate."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.scores import Scores
from kgtrec.errors import KgtrecError
from kgtrec.evaluation import BREAKDOWNS, Missing, default_measures, evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import read_collection
from kgtrec.formats.files import suffixes, writing
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.qrels import read_qrels
from kgtrec.formats.runs import read_run
from kgtrec.formats.sniff import sniff
from kgtrec.report.tables import TEXT_FORMATS, to_csv, to_json, to_latex, to_table

FORMATS = (*TEXT_FORMATS, "parquet")
_RENDERERS: dict[str, Callable[[Scores], str]] = {"csv": to_csv, "json": to_json, "latex": to_latex}
_BY_SUFFIX = {".csv": "csv", ".json": "json", ".tex": "latex", ".parquet": "parquet"}
_TIES_WORTH_TELLING = 0.001  # share of tied answers from which a table of four decimals may hang on the tie rule


def _list_measures(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from kgtrec.measures.names import describe_measures

    for about in describe_measures():
        also = f" (trec_eval: {', '.join(about.trec_eval)})" if about.trec_eval else ""
        click.echo(f"{about.name:<20} {about.description}{also}")
    ctx.exit()


@click.command(name="evaluate")
@click.argument("qrels", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="Measure to compute; may be repeated, or hold several. See --list-measures.",
)
@click.option("--per", type=click.Choice(BREAKDOWNS), help="One value for each of these instead of one total.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Form of the output; by default that of --out's suffix, else table.",
)
@click.option("--out", type=click.Path(), help="File to write instead of standard output.")
@click.option(
    "--ties",
    type=click.Choice(("trec", "realistic", "optimistic", "pessimistic")),
    help="Order of equal scores (rank type). Default: trec (by label) for runs, realistic for answer ranks.",
)
@click.option(
    "--missing",
    type=click.Choice(("zero", "skip")),
    default="zero",
    show_default=True,
    help="Questions that a run lacks: count as empty lists (trec_eval -c), or leave out.",
)
@click.option(
    "--float32", is_flag=True, help="Compare runs' scores as 32-bit floats, as trec_eval 9 and pytrec_eval do."
)
@click.option(
    "--collection",
    "folder",
    type=click.Path(),
    help="Collection that tells sides, relations and categories, if QRELS is a file.",
)
@click.option("--list-measures", is_flag=True, is_eager=True, expose_value=False, callback=_list_measures,
              help="List the measures and leave.")  # fmt: skip
def command(
    qrels: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    per: str | None,
    form: str | None,
    out: str | None,
    ties: str | None,
    missing: Missing,
    float32: bool,
    folder: str | None,
) -> None:
    """Score SYSTEMS (runs or answer ranks) against QRELS (a file or a collection).

    Measures over answers (micro.MRR, micro.MR, micro.Hits@10) need answer ranks; macro.MRR, macro.Hits@10, AP@20,
    nDCG@20 and every other name of ir-measures or trec_eval take either.

    \b
    kgtrec evaluate C ranks/*.ranks.parquet
    kgtrec evaluate qrels.txt transe.run.gz -m AP@20 -m nDCG@20 -m RR
    kgtrec evaluate C ranks/*.ranks.parquet -m micro.MRR --per relation --out relations.csv
    zcat transe.run.gz | kgtrec evaluate qrels.txt - -m "P@10 Success@10" --format json
    """
    form = form or (_BY_SUFFIX.get(suffixes(out)[0], "table") if out else "table")
    if form == "parquet" and not out:
        raise KgtrecError("--format parquet is a binary form and needs --out FILE")
    judgements: Qrels | Collection = read_collection(qrels) if Path(qrels).is_dir() else read_qrels(qrels)
    collection = read_collection(folder) if folder else None
    ranks = {path: _holds_ranks(path) for path in systems}
    wanted = measures or default_measures(ranks=all(ranks.values()))
    scores = evaluate(
        judgements, _read(ranks), wanted, per=per, collection=collection, ties=ties, missing=missing, float32=float32
    )
    if not measures and not per:
        _report_ties(scores, ties)
    _write(scores, form, out)


def _holds_ranks(path: str) -> bool:
    """Whether a system's file holds answer ranks; if not, it is read as a run, which says what is wrong with it."""
    return is_parquet(path) and sniff(path) == "answer ranks"


def _read(ranks: dict[str, bool]) -> Iterator[Run | AnswerRanks]:
    """The systems one by one, each under the name of its file."""
    for path, holds_ranks in ranks.items():
        system: Run | AnswerRanks = read_answer_ranks(path) if holds_ranks else read_run(path)
        yield system if path == "-" else system.renamed(system_name(path))


def system_name(path: str) -> str:
    """The name of a system's file without what only tells its format.

    >>> system_name("runs/transe.run.gz"), system_name("transe-0.5.ranks.parquet"), system_name("run")
    ('transe', 'transe-0.5', 'run')
    """
    name = Path(path).name
    for suffix in (".gz", ".zst", ".parquet", ".run", ".ranks", ".txt", ".trec"):
        name = name.removesuffix(suffix) or name
    return name


def _report_ties(scores: Scores, ties: str | None) -> None:
    for system, share in zip(scores.systems, scores.tied, strict=True):
        if share >= _TIES_WORTH_TELLING:
            say(
                f"note: {share:.1%} of the relevant entities of {system} tie with another candidate"
                + ("" if ties else "; --ties optimistic and --ties pessimistic show how much hangs on it")
            )


def _write(scores: Scores, form: str, out: str | None) -> None:
    if form == "parquet":
        import pyarrow.parquet as pq

        with writing(str(out)) as stream:
            pq.write_table(scores.to_table(), stream)
        return
    terminal = out is None and sys.stdout.isatty()
    if form == "table":
        import shutil

        text = to_table(scores, width=shutil.get_terminal_size().columns if terminal else None, bold=terminal)
    else:
        text = _RENDERERS[form](scores)
    with writing(out or "-") as stream:
        stream.write(text.encode())
