"""kgtrec convert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_questions
from kgtrec.cli.options import PATH, force_option, option, refuse_idle, splits
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import read_collection
from kgtrec.formats.contents import Kind, kind_of_parquet
from kgtrec.formats.output.outputs import require_file, require_folder, together
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.score_matrix import stamp_score_matrix
from kgtrec.formats.sniff import read_any
from kgtrec.formats.trec.origins import origin_path
from kgtrec.formats.trec.qrels import QrelsFile, write_qrels
from kgtrec.formats.trec.runs import RunFile, files_of_run, several_tags, stamp_run, write_run
from kgtrec.formats.trec.streamed_runs import is_streamed, open_run, sort_run


@click.command(name="convert")
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", nargs=-1, type=click.Path())
@option("--kind", "What IN is. Default: detected from the file.", ("run", "qrels"))
@option("--name", "Tag of the run in OUT. Default: that of IN.")
@option("--sort", "Put the rows of each question together, in bounded memory.", is_flag=True)
@option("--to", "Write a folder instead of a file.", ("parts", "factors", "ir-datasets"))
@option("--topics", "Topics with the question ids of IN, for --collection.", PATH)
@option("--collection", "Give OUT the question ids of this collection.", PATH)
@option("--stamp", "Record that all files belong to this collection; convert nothing.", PATH)
@option(
    "--filter filtered_by", "With --stamp: splits that are filtered in the runs.", callback=splits, metavar="SPLITS|raw"
)
@option("--entities", "With --to factors: entity labels in the model's order.", PATH)
@option("--relations", "With --to factors: relation labels in the model's order.", PATH)
@option("--data", "With --to factors: the framework's folder of the data set.", PATH)
@option("--templates", "With --to ir-datasets: file of relation TAB template.", PATH)
@option("--names", "With --to ir-datasets: file of entity TAB name.", PATH)
@option("--descriptions", "With --to ir-datasets: file of entity TAB description.", PATH)
@force_option
def command(
    source: str, target: tuple[str, ...], stamp: str | None, filtered_by: tuple[str, ...] | None, **options: Any
) -> None:
    """Convert a run or qrels between TREC text and Parquet, by the suffix of OUT, or a model or collection to a folder
    for other programs.

    \b
    # text to Parquet
    kgtrec convert transe.run.gz transe.parquet
    # runs of other tools: record their collection
    kgtrec convert --stamp C runs/*.run.gz --filter train,valid,test

    Docs: docs/files.md
    """
    files = source, *target
    if stamp is not None:
        refuse_idle(options, "--stamp")
        _stamp(stamp, files, filtered_by)
        return
    if len(target) != 1:
        raise click.UsageError(f"expected IN and OUT, found {' '.join(files)}")
    if filtered_by is not None:
        raise click.UsageError("expected --filter only with --stamp")
    makes, used = _MAKERS.get(options["to"], (_convert, _OF_RUNS))
    if idle := sorted(name for name, value in options.items() if value and name not in ("to", *used)):
        owner = next((f"--to {to}" for to, (_, own) in _MAKERS.items() if idle[0] in own), "runs and qrels")
        raise click.UsageError(f"expected --{idle[0]} only with {owner}")
    makes(source, target[0], **{name: options[name] for name in used})


def _stamp(folder: str, files: Sequence[str], filtered_by: tuple[str, ...] | None) -> None:
    collection = read_questions(folder)
    with together():  # none is stamped where another is wrong
        for file in files:
            if file.lower().endswith(".npy"):
                stamp_score_matrix(file, collection)
            else:
                stamp_run(file, collection, filtered_by)
    for file in files:
        say(f"wrote {origin_path(file)}")


def _convert(
    source: str,
    target: str,
    *,
    kind: Kind | None,
    name: str | None,
    sort: bool,
    topics: str | None,
    collection: str | None,
    to: str | None,
) -> None:
    """Convert a run, qrels or answer ranks."""
    if (topics is None) != (collection is None) or (topics is not None and sort):
        raise click.UsageError("--topics and --collection go together, and not with --sort")
    if sort and target == "-":
        raise click.UsageError("--sort is for runs, and needs the name of a file or a folder as OUT")
    if to == "parts":
        require_folder(target, files_of_run)
    else:
        require_file(target, kind=None)  # IN will say
    if sort:
        say(f"{target}: {sort_run(source, target, name=name, parts=to == 'parts'):,} rows")
        return
    in_ids = _renumbering(source, topics, collection)
    table: Any = None
    if is_streamed(source) and (Path(source).is_dir() or kind_of_parquet(source) == "run"):
        table = open_run(source)
    else:
        table = read_any(source, kind)
        if isinstance(table, RunFile):
            if name is None and len(table.tags) > 1:
                raise several_tags(source, table.tags)
            table = table.run
        elif isinstance(table, QrelsFile):
            table = table.qrels
    is_ranks = isinstance(table, AnswerRanks)
    if not isinstance(table, AnyRun | Qrels) and not (is_ranks and topics is not None):
        raise FormatError(f"expected a run or qrels, found {'answer ranks' if is_ranks else 'topics'}", path=source)
    if isinstance(table, AnyRun):
        write_run(target, in_ids(table), name=name, parts=to == "parts")
    elif name is not None or to is not None:
        raise click.UsageError(f"--name and --to are for runs, and IN holds {'answer ranks' if is_ranks else 'qrels'}")
    elif isinstance(table, Qrels):
        write_qrels(target, in_ids(table))
    else:
        if not is_parquet(target):
            raise FormatError("expected a name that ends in .parquet for answer ranks, found another", path=target)
        write_answer_ranks(target, in_ids(table))
    if target != "-":
        say(f"{target}: {len(table):,} rows")


def _renumbering(source: str, topics: str | None, folder: str | None) -> Callable[[Any], Any]:
    """The function that gives a run, answer ranks or qrels the question ids of a collection; without topics none."""
    if topics is None or folder is None:
        return lambda table: table
    from kgtrec.data.identity import renumbered
    from kgtrec.formats.score_matrix import read_questions_in_order

    collection, questions = read_collection(folder), read_questions_in_order(topics)

    def in_ids(table: Any) -> Any:
        with in_file(source):
            return renumbered(table, collection, questions, where=topics)

    return in_ids


def _to_factors(source: str, target: str, **given: Any) -> None:
    from kgtrec.formats.factor_folders import write_factor_folder
    from kgtrec.systems.factor_folders import arrays_of
    from kgtrec.systems.registry import read_system

    with in_file(source):
        arrays = arrays_of(read_system(source, **given))
    write_factor_folder(target, arrays)
    say(f"{target}: {arrays.score}, {len(arrays.E):,} entities x {arrays.E.shape[1]} numbers ({arrays.E.dtype})")


def _to_ir_datasets(
    source: str, target: str, *, names: str | None, descriptions: str | None, templates: str | None
) -> None:
    from kgtrec.campaign.queries import documents_of, queries_of
    from kgtrec.data.identity import entity_names
    from kgtrec.formats.campaign.folder import read_names, read_templates
    from kgtrec.formats.ir_datasets import require_ir_datasets_folder, write_ir_datasets

    require_ir_datasets_folder(target)
    collection = read_collection(source)
    entities = entity_names(collection)
    name_of = read_names(names, entities) if names else {}
    described = read_names(descriptions, entities, "description") if descriptions else {}
    queries = queries_of(collection, read_templates(templates) if templates else {}, name_of)
    write_ir_datasets(target, collection, queries, documents_of(collection, name_of, described))
    say(f"{target}: {len(queries):,} queries, {len(entities):,} documents, {len(collection.qrels):,} judgements")


#: what is made with a value of --to, and the options for it; and those of runs, qrels and answer ranks
_MAKERS: dict[str | None, tuple[Callable[..., None], tuple[str, ...]]] = {
    "factors": (_to_factors, ("entities", "relations", "data")),
    "ir-datasets": (_to_ir_datasets, ("templates", "names", "descriptions")),
}
_OF_RUNS = ("kind", "name", "sort", "topics", "collection", "to")
