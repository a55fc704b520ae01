"""kgtrec rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import by_name, is_campaign, read_questions
from kgtrec.cli.options import (
    COUNT,
    PATH,
    at_least,
    force_option,
    listing_option,
    option,
    refuse_idle,
    seed_option,
    sides_option,
    splits_option,
    workers_options,
)
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.errors import KgtrecError, in_file, unwarned
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.ranking.options import UNKNOWN, RankOptions
from kgtrec.ranking.system import require_fit
from kgtrec.ranking.write import outputs_of, require_outputs, unfinished_of, write_ranked
from kgtrec.report.progress import progress_bar
from kgtrec.systems.adapter import ReadOptions
from kgtrec.systems.baselines import BASELINES, baselines_of, score_blocks
from kgtrec.systems.kinds import (
    CollectionLists,
    Factors,
    RankedLists,
    ScoreBlock,
    ScoreBlocks,
    Scorer,
    SystemOutput,
    TripleRanks,
)
from kgtrec.systems.registry import adapter_of, adapters
from kgtrec.workers.results import Helper


def _sources() -> Iterator[str]:
    for adapter in adapters().values():
        yield f"{adapter.name}: {adapter.title}\n    reads {adapter.reads}"
        yield f"    gives {adapter.gives}" + (f"; needs {adapter.needs}" if adapter.needs else "")


def _baselines() -> Iterator[str]:
    for record in BASELINES.values():
        reason = "a control" if record.is_control else "for facts with a time"
        kind = "" if record.is_in_all else f" ({reason}: not part of all)"
        yield f"{record.name}{kind}\n    {record.description}\n    {record.source}."
        for name, setting in record.options.items():
            choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
            yield f"    --option {name}={setting.default}{choices}: {setting.description}"


def _settings(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str | list[str]]:
    settings: dict[str, str | list[str]] = {}
    for value in values:
        key, _equals, setting = value.partition("=")
        if not (key and setting):
            raise click.BadParameter(f"expected KEY=VALUE, such as factors=50, found {value!r}")
        if key in settings:
            raise click.BadParameter(f"expected each key once, found {key!r} twice")
        settings[key] = [part.strip() for part in setting.split(",")] if "," in setting else setting
    return settings


#: the options ``--out``, ``--depth``, ``--filter``, ``--run-format``, ``--block`` and ``--force``


@click.command(name="rank")
@click.argument("collection", type=PATH)
@click.argument("sources", nargs=-1, metavar="[SOURCE...]", type=PATH)
@option("--from kind", "Kind of the sources. Default: detected from the files.", metavar="NAME")
@listing_option("--list-sources", "List the kinds of sources and exit.", _sources)
@option(
    "--baseline baselines",
    "Fit this baseline, or all, to train, and rank it; repeatable.",
    multiple=True,
    metavar="NAME",
)
@listing_option("--list-baselines", "List the baselines with their options and exit.", _baselines)
@option(
    "--option settings",
    "Setting of the baseline, such as factors=8,32 (two systems); repeatable.",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_settings,
)
@seed_option
@option("--out", "Folder for each NAME.ranks.parquet and run.", PATH, required=True)
@option("--depth", "Length of the lists in the run; 0: no run.", at_least(0), 100)
@splits_option
@option(
    "--run-format",
    "Form of the run, parts (a folder) for the largest.",
    ("run.gz", "run.zst", "run", "parquet", "parts"),
    "run.gz",
)
@option("--block", "Questions scored at a time. Default: as many as fill 50 MiB.", COUNT)
@force_option
@sides_option
@option("--unknown-entities", "Entities that the model lacks.", UNKNOWN, "error")
@option("--judged judged_path", "Qrels or campaign whose judged pairs get answer ranks too.", PATH)
@option("--entities", "Entity labels in the model's order. Default: found beside the model.", PATH)
@option("--relations", "Relation labels in the model's order. Default: found beside the model.", PATH)
@option("--topics", "Topics in the order of a matrix's rows. Default: found beside it.", PATH)
@option("--data", "The framework's folder of the data set.", PATH)
@option("--trust", "Read files that can run code, such as PyKEEN's models.", is_flag=True)
@option("--device", "Where a model computes, such as cuda. Default: the processor.", metavar="NAME")
@workers_options
def command(
    collection: str,
    sources: tuple[str, ...],
    kind: str | None,
    baselines: tuple[str, ...],
    settings: dict[str, str | list[str]],
    seed: int,
    out: str,
    run_format: str,
    judged_path: str | None,
    trust: bool,
    device: str | None,
    workers: int | None,
    executor: Helper | None,
    **options: Any,
) -> None:
    """Turn the scores, models or lists of each SOURCE into exact answer ranks and a TREC run. A SOURCE is a file or
    folder of any kind in --list-sources.

    \b
    # a factorised model
    kgtrec rank C transe.npz --out ranks
    # all baselines
    kgtrec rank C --baseline all --out ranks

    Docs: docs/systems.md
    """
    if not sources and not baselines:
        raise click.UsageError("expected a SOURCE, or --baseline NAME, found none")
    refuse_idle(("kind", "trust"), "no SOURCE", when=not sources)
    refuse_idle(("seed", "settings"), "no --baseline", when=not baselines)
    refuse_idle(("run_format",), "--depth 0, which writes no run", when=options["depth"] == 0)
    test = read_questions(collection)
    queries = test.missing_links is not None
    records = list(dict.fromkeys(record.name for name in baselines for record in baselines_of(name, queries=queries)))
    if len(records) > 1 and settings:
        raise KgtrecError(
            f"expected --option with a single baseline, found it with {len(records)}; give the name of one"
        )
    files = {name: options.pop(name) for name in ("entities", "relations", "topics", "data")}
    given = _Watched(trust=trust, device=device, **{name: path and Path(path) for name, path in files.items()})
    options["judged"] = _judged_pairs(judged_path) if judged_path else None
    systems: list[tuple[Path, SystemOutput]] = []
    for path, adapter in [(path, adapter_of(path, kind)) for path in _each_source(sources)]:
        with in_file(path):
            systems.append((path, adapter.read(path, cast("ReadOptions", given))))
    chosen: dict[str, str] = {}  # system -> settings with several values, once it is fitted
    for name in records:
        systems += [(Path(system.name), system) for system in _baseline_systems(name, test, seed, settings, chosen)]
    by_name((system.name, path) for path, system in systems)
    for _, system in systems:
        gives_run = options["depth"] > 0 and not isinstance(system, TripleRanks)
        require_outputs(system.name, out, run_format, gives_run=gives_run)  # of all, before the first is ranked
    with unwarned():  # all files are opened before the first is ranked; their warnings are shown when they are ranked
        for path, system in systems:
            with in_file(path, name=system.name):
                require_fit(test, system, RankOptions(**options))
    refuse_idle(_idle_of([system for _, system in systems], given.used), "these systems")
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
                ranks, written = write_ranked(
                    test,
                    system,
                    out,
                    run_format=run_format,
                    workers=workers,
                    executor=executor,
                    progress=progress_bar,
                    **options,
                )
        except BaseException:
            if unfinished.is_dir():
                left = " for " + ", ".join(str(path) for path, _ in systems[number:]) if number else ""
                left += " with --force" if outputs_of(system.name, out, run_format)[0].exists() else ""
                say(f"{unfinished}: what is finished stays there, and the same command{left} goes on")
            raise
        more = f" and {written}" if written else ""
        say(f"{system.name}: wrote {ranks}{more}{chosen.get(system.name, '')}")


class _Watched:
    """What a person said about the sources, and the names of what was asked of it."""

    def __init__(self, **given: Any) -> None:
        self._given, self.used = given, {"trust"}  # a permission that nobody needs does no harm

    def __getattr__(self, name: str) -> Any:
        if name not in (given := self.__dict__.get("_given", {})):
            raise AttributeError(name)
        self.used.add(name)
        return given[name]


def _idle_of(systems: list[SystemOutput], used: set[str]) -> set[str]:
    """The options that none of the systems uses."""
    idle = {field.name for field in fields(ReadOptions)} - used
    if not any(isinstance(system, Scorer | Factors) for system in systems):
        idle.add("unknown_entities")
    if all(isinstance(system, RankedLists | CollectionLists | TripleRanks) for system in systems):
        idle.add("block")
    if all(isinstance(system, TripleRanks) for system in systems):
        idle |= {"depth", "run_format"}
    return idle


def _baseline_systems(
    name: str, collection: Collection, seed: int, settings: dict[str, str | list[str]], chosen: dict[str, str]
) -> list[ScoreBlocks]:
    """A baseline under each combination of settings, which is fitted when its turn comes."""
    record = BASELINES[name]
    several = [key for key, value in settings.items() if isinstance(value, list)]
    combinations = record.combinations(settings)
    models = enumerate(record.fitted(record.facts(collection), combinations, seed, collection.training), 1)

    def blocks(_: Collection, block: int | None) -> Iterator[ScoreBlock]:
        number, (own, model) = next(models)
        if several:
            chosen[f"{name}@{number}"] = f" ({', '.join(f'{key}={own[key]}' for key in settings)})"
        yield from score_blocks(model, collection, block)

    names = [f"{name}@{number}" for number in range(1, len(combinations) + 1)] if several else [name]
    return [ScoreBlocks(each, blocks, "a baseline") for each in names]


def _judged_pairs(path: str) -> Qrels:
    """Read the pairs that get ranks beside the answers: those of qrels, or of a campaign's pool, which may be open."""
    if not is_campaign(path):
        return read_qrels(path)
    from kgtrec.campaign.sampled import pool_pairs
    from kgtrec.formats.campaign.folder import read_campaign_without_judgements

    return pool_pairs(read_campaign_without_judgements(path))


def _each_source(sources: tuple[str, ...]) -> Iterator[Path]:
    """The sources; of a folder that is none itself, its files of scores."""
    for path in map(Path, sources):
        inside = [file for file in sorted(path.glob("*")) if file.suffix.lower() in (".npz", ".npy")]
        yield from inside if inside and not any(each.recognises(path) for each in adapters().values()) else [path]
