"""kgtrec rank."""

from __future__ import annotations

import warnings
from collections.abc import Container
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from kgtrec.cli.common import say
from kgtrec.cli.inputs import by_name
from kgtrec.cli.options import sides_option
from kgtrec.cli.systems import read_questions, system_options
from kgtrec.cli.workers import executor_of, workers_options
from kgtrec.data.questions import SIDES
from kgtrec.errors import KgtrecError, KgtrecWarning, in_file
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.ranking.options import UNKNOWN, RankKeywords, RankOptions, Unknown
from kgtrec.ranking.system import require_fit
from kgtrec.ranking.write import outputs_of, require_outputs, unfinished_of, write_ranked, written
from kgtrec.report.progress import progress_bar
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.kinds import CollectionLists, Factors, RankedLists, ScoreBlocks, Scorer, SystemOutput, TripleRanks
from kgtrec.systems.registry import adapter_of, adapters


def _list_sources(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    for adapter in adapters().values():
        click.echo(f"{adapter.name}: {adapter.title}")
        click.echo(f"    reads {adapter.reads}")
        click.echo(f"    gives {adapter.gives}" + (f"; needs {adapter.needs}" if adapter.needs else ""))
    ctx.exit()


@click.command(name="rank")
@click.argument("collection", type=click.Path())
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path())
@click.option("--from", "kind", metavar="NAME", help="What the sources are; default: told by what lies in them.")
@click.option(
    "--list-sources",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_sources,
    help="List the kinds of sources, what each reads and needs, and leave.",
)
@system_options
@sides_option("Which questions to rank, for systems that answer one side only.")
@click.option(
    "--unknown-entities",
    type=click.Choice(UNKNOWN),
    default="error",
    show_default=True,
    help="What becomes of entities that a model has not seen: an error, or they rank last.",
)
@click.option(
    "--judged",
    "judged_path",
    type=click.Path(),
    help="Qrels with additional judged pairs, which also get answer ranks, even with a negative grade (pooled, not "
    "sampled).",
)
@click.option(
    "--entities",
    type=click.Path(),
    help="Entity labels in the order of the model's numbers: E's rows, a matrix's columns. Default: entities.txt "
    "beside the file; for a matrix, NAME.npy.json if it exists; else what the framework wrote. For lists of names: "
    "lines LABEL TAB NAME.",
)
@click.option(
    "--relations",
    type=click.Path(),
    help="Relation labels in the order of the model's numbers. Default: relations.txt beside an .npz archive; else "
    "what the framework wrote. For lists of names: lines LABEL TAB NAME.",
)
@click.option(
    "--topics",
    type=click.Path(),
    help="Topics in the order of a matrix's rows. Default: NAME.npy.json, else topics.tsv beside it.",
)
@click.option(
    "--data",
    type=click.Path(),
    help="The framework's own folder of the data set, which has its ids and the order of its test triples.",
)
@click.option("--trust", is_flag=True, help="Read files that can run code when they are read, such as PyKEEN's models.")
@click.option("--device", metavar="NAME", help="Where a model computes, such as cuda. Default: the processor.")
@workers_options
@click.pass_context
def command(
    ctx: click.Context,
    collection: str,
    sources: tuple[str, ...],
    kind: str | None,
    out: str,
    depth: int,
    filtered_by: tuple[str, ...],
    judged_path: str | None,
    run_format: str,
    sides: tuple[str, ...],
    unknown_entities: Unknown,
    entities: str | None,
    relations: str | None,
    topics: str | None,
    data: str | None,
    trust: bool,
    device: str | None,
    block: int | None,
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Turn the scores, models or lists of SOURCEs into exact answer ranks and TREC runs, two files per system.

    A SOURCE is a file or folder of PyKEEN, LibKGE, DGL-KE, PyTorch-BigGraph, AnyBURL, SimKGC, OGB or another program
    (--list-sources), a factorised system (.npz with E, Q, b and questions: a score is Q @ E.T + b), a score matrix
    (.npy, questions x entities, in the order given by --topics and --entities, by topics.tsv and entities.txt beside
    it, or by NAME.npy.json of convert --stamp), or a folder of .npz and .npy files. COLLECTION is the folder that
    kgtrec questions wrote. The two files are named after the source.

    Factorised models are ranked by several processes with --workers, or by a cluster with --scheduler; the files are
    the same. If ranking such a model is interrupted, its finished blocks stay in OUT/NAME.unfinished, and the same
    command goes on.

    \b
    kgtrec rank C transe/ --trust --out ranks
    kgtrec rank C transe.npz --out ranks
    kgtrec rank C systems/ --out ranks --depth 100 --run-format run.zst
    kgtrec rank C scores.npy --out ranks --topics C/topics.tsv --entities sorted.txt
    kgtrec rank C systems/ --out raw --filter raw --depth 0
    kgtrec rank C big.npz --out ranks --workers 8
    kgtrec evaluate C ranks/*.ranks.parquet
    """
    if depth == 0:
        _refuse_idle(ctx, ("run_format",), "--depth 0, which writes no run")
    test = read_questions(collection)
    options: RankKeywords = {
        "sides": sides or SIDES,
        "filtered_by": filtered_by,
        "depth": depth,
        "judged": read_qrels(judged_path) if judged_path else None,
        "unknown_entities": unknown_entities,
        "block": block,
    }
    given, used = _watched(Given(_path(entities), _path(relations), _path(topics), _path(data), trust, device))
    found = [(path, adapter_of(path, kind)) for path in _each_source(sources)]
    systems = [(path, _read(path, adapter, given)) for path, adapter in found]
    by_name((system.name, path) for path, system in systems)
    for path, system in systems:
        _require_another_place(path, outputs_of(system.name, out, run_format)[1])
        gives_run = depth > 0 and not isinstance(system, TripleRanks)
        require_outputs(system.name, out, run_format, gives_run=gives_run)  # of all, before the first is ranked
    with warnings.catch_warnings():
        # all files are opened before the first is ranked; their warnings are shown when they are ranked
        warnings.simplefilter("ignore", KgtrecWarning)
        for path, system in systems:
            with in_file(path, name=system.name):
                require_fit(test, system, RankOptions(**options))
    _refuse_idle(ctx, _idle_of([system for _, system in systems], used), "these sources")
    for number, (path, system) in enumerate(systems):
        if not isinstance(system, ScoreBlocks):
            say(f"{path}: {system.kind}")
        for remark in system.remarks:
            say(f"note: {system.name}: {remark}")
        unfinished = unfinished_of(system.name, out)
        if unfinished.is_dir():
            say(f"{unfinished}: an interrupted ranking, which goes on")
        try:
            with in_file(path, name=system.name):
                ranks, run = write_ranked(
                    test,
                    system,
                    out,
                    run_format=run_format,
                    workers=workers,
                    executor=executor_of(scheduler),
                    progress=progress_bar,
                    **options,
                )
        except BaseException:
            if unfinished.is_dir():
                left = " for " + ", ".join(str(path) for path, _ in systems[number:]) if number else ""
                left += " with --force" if outputs_of(system.name, out, run_format)[0].exists() else ""
                say(f"{unfinished}: what is finished stays there, and the same command{left} goes on")
            raise
        say(written(system.name, ranks, run))


def _watched(given: Given) -> tuple[Given, set[str]]:
    """The same, and the names of what was asked of it, as they come."""
    used: set[str] = set()

    class Watched(Given):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            used.add(name)
            return super().__getattribute__(name)

    return Watched(*(getattr(given, field.name) for field in fields(given))), used


def _idle_of(systems: list[SystemOutput], used: set[str]) -> set[str]:
    """The options that none of the systems uses; a permission that nobody needs does no harm."""
    idle = {field.name for field in fields(Given)} - used - {"trust"}
    if not any(isinstance(system, Scorer | Factors) for system in systems):
        idle.add("unknown_entities")
    if all(isinstance(system, RankedLists | CollectionLists | TripleRanks) for system in systems):
        idle.add("block")
    if all(isinstance(system, TripleRanks) for system in systems):
        idle |= {"depth", "run_format"}
    return idle


def _refuse_idle(ctx: click.Context, idle: Container[str], of: str) -> None:
    """Refuse options that were given and have no effect."""
    told = [
        option.opts[0]
        for option in ctx.command.params
        if option.name in idle and ctx.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    ]
    if told:
        raise click.UsageError(f"expected options that have an effect, found {', '.join(told)} with {of}; leave it out")


def _require_another_place(source: Path, run: Path) -> None:
    if run.is_file() and source.is_file() and run.samefile(source):
        raise KgtrecError(
            f"{source}: expected another folder as --out, found that of the run itself, which would be replaced by one "
            "of --depth"
        )


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _read(path: Path, adapter: Adapter, given: Given) -> SystemOutput:
    with in_file(path):
        return adapter.read(path, given)


def _each_source(sources: tuple[str, ...]) -> list[Path]:
    """The sources; of a folder that is none itself, its files of scores."""
    found: list[Path] = []
    for source in sources:
        path = Path(source)
        inside = (
            sorted(file for file in path.iterdir() if file.suffix.lower() in (".npz", ".npy")) if path.is_dir() else []
        )
        found += inside if inside and not any(each.recognises(path) for each in adapters().values()) else [path]
    return found
