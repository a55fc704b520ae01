"""kgtrec convert."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, force_option, option
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.errors import FormatError, in_file
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.output.outputs import require_file, require_folder
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.sniff import Kind, kind_of_parquet, read_any
from kgtrec.formats.trec.qrels import QrelsFile, write_qrels
from kgtrec.formats.trec.runs import RunFile, files_of_run, several_tags, write_run
from kgtrec.formats.trec.sorting import sort_run
from kgtrec.formats.trec.streamed_runs import is_streamed, open_run


@click.command(name="convert")
@click.argument("source", metavar="IN", type=click.Path())
@click.argument("target", metavar="OUT", type=click.Path())
@option("--kind", "What IN holds, if its content does not show it.", ("run", "qrels"))
@option("--name", "The run's name (tag) in OUT, instead of the one in IN.")
@option("--sort", "Put the rows of each question together, in bounded memory.", is_flag=True)
@option(
    "--to",
    "Write a folder: of the run IN as Parquet files in parts, of the vectors of the model IN, or of the texts of "
    "the collection IN for ir_datasets.",
    ("parts", "factors", "ir-datasets"),
)
@option("--topics", "Topics with the question ids of IN, as in OLD/topics.tsv.", PATH)
@option("--collection", "With --topics: give OUT the ids of this one, by what each asks.", PATH)
@option("--entities", "With --to factors: labels of the model's entities, as for rank.", PATH)
@option("--relations", "With --to factors: labels of its relations, as for rank.", PATH)
@option("--data", "With --to factors: the framework's folder of the data set.", PATH)
@option("--templates", "With --to ir-datasets: relation and template, as for a campaign.", PATH)
@option("--names", "With --to ir-datasets: entity and name, as for a campaign.", PATH)
@option("--descriptions", "With --to ir-datasets: entity and description, likewise.", PATH)
@force_option
def command(
    source: str,
    target: str,
    kind: str | None,
    name: str | None,
    sort: bool,
    to: str | None,
    topics: str | None,
    collection: str | None,
    entities: str | None,
    relations: str | None,
    data: str | None,
    templates: str | None,
    names: str | None,
    descriptions: str | None,
) -> None:
    """Convert a run or qrels between TREC text and Parquet, a model to a factor folder, a collection to ir_datasets.

    The name of OUT sets the format: .parquet, or text, plain or compressed (.gz, .zst). - is standard input or output,
    as text. Labels, scores and grades are preserved exactly. Ranks are computed again in trec_eval's order (score, then
    label). The second column, which no tool reads, is written as Q0 in runs and 0 in qrels.

    With --to factors, IN is a model that kgtrec rank reads and that is made of vectors (.npz, LibKGE, DGL-KE,
    PyTorch-BigGraph), and OUT a folder of its arrays, which are mapped when they are ranked: a model may be larger than
    the memory. Partitions stay files of their own.

    A Parquet run of more than 16 million rows, and a folder NAME.run of Parquet files in parts, are read part by part,
    and need the rows of each question together. --sort puts them so, in files of any size: it holds a few million rows
    in memory and the others, 16 bytes each, in temporary files beside OUT. The questions come in no useful order.

    With --topics and --collection, IN is a run, answer ranks or qrels with the question ids of a topics file, and OUT
    has those of the collection, which asks the same questions: its test triples stood in another order.

    With --to ir-datasets, IN is a collection, and OUT a folder with queries.tsv (the questions in words), docs.tsv (the
    entities) and qrels.txt, which ir_datasets and PyTerrier read. docs/neighbours.md shows how.

    \b
    kgtrec convert transe.run.gz transe.parquet
    kgtrec convert transe.parquet transe.run.zst --name transe-2
    zcat transe.run.gz | kgtrec convert - transe.parquet
    kgtrec convert huge.run.gz huge.run --sort --to parts
    kgtrec convert big.npz big --to factors
    kgtrec convert model/wikidata wikidata --to factors --data data/wikidata
    kgtrec convert old.run.gz new.run.gz --topics OLD/topics.tsv --collection NEW
    kgtrec convert COLLECTION texts --to ir-datasets --names names.tsv
    """
    if to != "ir-datasets" and (templates or names or descriptions):
        raise click.UsageError("--templates, --names and --descriptions are for --to ir-datasets")
    if (topics is None) != (collection is None) or (topics is not None and (sort or to in ("factors", "ir-datasets"))):
        raise click.UsageError("--topics and --collection go together, and not with --sort or --to factors|ir-datasets")
    if to == "ir-datasets":
        if sort or name is not None or kind is not None:
            raise click.UsageError("--sort, --name and --kind are for runs and qrels, and not for --to ir-datasets")
        _to_ir_datasets(source, target, templates, names, descriptions)
        return
    if sort and (target == "-" or to == "factors"):
        raise click.UsageError("--sort is for runs, and needs the name of a file or a folder as OUT")
    if to == "factors":
        _to_factors(source, target, *(None if path is None else Path(path) for path in (entities, relations, data)))
        return
    if to == "parts":
        require_folder(target, files_of_run)
    else:
        require_file(target, kind=None)  # IN will say
    if sort:
        say(f"{target}: {sort_run(source, target, name=name, parts=to == 'parts'):,} rows")
        return
    in_ids = _renumbering(source, topics, collection)
    if is_streamed(source) and (Path(source).is_dir() or kind_of_parquet(source) == "run"):
        run = in_ids(open_run(source))
        write_run(target, run, name=name, parts=to == "parts")
        say(f"{target}: {len(run):,} rows")
        return
    found = read_any(source, cast("Kind | None", kind))
    if isinstance(found, RunFile):
        if name is None and len(found.tags) > 1:
            raise several_tags(source, found.tags)
        write_run(target, in_ids(found.run), name=name, parts=to == "parts")
        rows = len(found.run)
    elif isinstance(found, QrelsFile):
        if name is not None or to is not None:
            raise click.UsageError("--name and --to are for runs, and IN holds qrels")
        write_qrels(target, in_ids(found.qrels))
        rows = len(found.qrels)
    elif isinstance(found, AnswerRanks) and topics is not None:
        if name is not None or to is not None:
            raise click.UsageError("--name and --to are for runs, and IN holds answer ranks")
        if not is_parquet(target):
            raise FormatError("expected a name that ends in .parquet for answer ranks, found another", path=target)
        write_answer_ranks(target, in_ids(found))
        rows = len(found)
    else:
        kinds = "topics" if not source.endswith(".parquet") else "answer ranks"
        raise FormatError(f"expected a run or qrels, found {kinds}", path=source)
    if target != "-":
        say(f"{target}: {rows:,} rows")


def _renumbering(source: str, topics: str | None, folder: str | None) -> Callable[[Any], Any]:
    """What gives a run, answer ranks or qrels the question ids of a collection; nothing changes without ``topics``."""
    if topics is None or folder is None:
        return lambda system: system
    from kgtrec.data.identity import renumbered
    from kgtrec.formats.collections import read_collection
    from kgtrec.formats.score_matrix import read_questions_in_order

    collection, questions = read_collection(folder), read_questions_in_order(topics)

    def in_ids(system: Any) -> Any:
        with in_file(source):
            return renumbered(system, collection, questions, where=topics)

    return in_ids


def _to_factors(source: str, target: str, entities: Path | None, relations: Path | None, data: Path | None) -> None:
    from kgtrec.formats.factor_folders import write_factor_folder
    from kgtrec.systems.adapter import Given
    from kgtrec.systems.factor_folders import arrays_of
    from kgtrec.systems.registry import read_system

    with in_file(source):
        found = arrays_of(read_system(source, given=Given(entities, relations, data=data)))
    write_factor_folder(target, found)
    say(f"{target}: {found.score}, {len(found.E):,} entities x {found.E.shape[1]} numbers ({found.E.dtype})")


def _to_ir_datasets(
    source: str, target: str, templates: str | None, names: str | None, descriptions: str | None
) -> None:
    from kgtrec.campaign.queries import documents_of, queries_of
    from kgtrec.data.identity import entity_names
    from kgtrec.formats.campaign.folder import read_descriptions, read_names, read_templates
    from kgtrec.formats.collections import read_collection
    from kgtrec.formats.ir_datasets import require_ir_datasets_folder, write_ir_datasets

    require_ir_datasets_folder(target)
    collection = read_collection(source)
    labels = entity_names(collection)
    called = read_names(names, labels) if names else {}
    told = read_descriptions(descriptions, labels) if descriptions else {}
    queries = queries_of(collection, read_templates(templates) if templates else {}, called)
    write_ir_datasets(target, collection, queries, documents_of(collection, called, told))
    say(f"{target}: {len(queries):,} queries, {len(labels):,} documents, {len(collection.qrels):,} judgements")
