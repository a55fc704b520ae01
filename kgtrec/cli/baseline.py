"""kgtrec baseline."""

from __future__ import annotations

import click

from kgtrec.baselines import BASELINES, Baseline, baseline, baseline_blocks, baseline_checkpoints, score_blocks
from kgtrec.cli.common import progress, say
from kgtrec.cli.options import SEED
from kgtrec.cli.systems import read_questions, system_options
from kgtrec.errors import KgtrecError, nearest
from kgtrec.ranking.write import write_ranked, written

_ALL = "all"


def _list_baselines(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    for record in BASELINES.values():
        kind = " (a control: not part of all)" if record.is_control else ""
        click.echo(f"{record.name}{kind}\n    {record.description}\n    {record.source}.")
        for name, option in record.options.items():
            choices = f" ({', '.join(option.choices)})" if option.choices else ""
            click.echo(f"    --option {name}={option.default}{choices}: {option.description}")
    ctx.exit()


def _options(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str | list[str]]:
    options: dict[str, str | list[str]] = {}
    for value in values:
        key, equals, setting = value.partition("=")
        if not (key and equals and setting):
            raise click.BadParameter(f"expected KEY=VALUE, such as factors=50, got {value!r}")
        if key in options:
            raise click.BadParameter(f"expected each key once, got {key!r} twice")
        options[key] = [part.strip() for part in setting.split(",")] if "," in setting else setting
    return options


@click.command(name="baseline")
@click.argument("name")
@click.argument("collection", type=click.Path())
@system_options
@click.option(
    "--seed",
    type=SEED,
    default=0,
    show_default=True,
    help="Random seed of the baseline; the same seed gives the same files.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_options,
    help="A setting of the baseline, see --list; can be repeated. Several values, such as factors=8,32,128, give one "
    "system per combination: NAME@1, NAME@2, ...",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_baselines,
    help="List the baselines with their options and exit.",
)
def command(
    name: str,
    collection: str,
    out: str,
    depth: int,
    seed: int,
    options: dict[str, str | list[str]],
    filtered_by: tuple[str, ...],
    run_format: str,
    block: int | None,
) -> None:
    """Fit the baseline NAME to the train triples of COLLECTION, and write its answer ranks and its TREC run.

    NAME is one of those that --list shows, or all for all except the controls. COLLECTION is the folder that kgtrec
    questions wrote.

    \b
    kgtrec baseline --list
    kgtrec baseline rules C --out ranks
    kgtrec baseline rescal C --out ranks --option factors=200 --seed 7
    kgtrec baseline svd C --out ranks --depth 0 --option factors=8,32,128
    kgtrec baseline all C --out ranks --depth 100
    kgtrec evaluate C ranks/*.ranks.parquet
    """
    records = _chosen(name, options)
    several = any(isinstance(value, list) for value in options.values())
    for record in records:
        list(record.combinations(options))
    test = read_questions(collection)
    if several:
        for number, (settings, model) in enumerate(
            baseline_checkpoints(name, test.train, seed=seed, **options), start=1
        ):
            label = f"{name}@{number}"
            blocks = score_blocks(model, test, block)
            write_ranked(
                test, blocks, label, out, depth=depth, filtered_by=filtered_by, run_format=run_format, progress=progress
            )
            told = ", ".join(f"{key}={settings[key]}" for key in options)
            say(f"{written(label, out, depth, run_format)} ({told})")
        return
    for record in records:
        blocks = baseline_blocks(record.name, test, seed=seed, block=block, **options)
        write_ranked(
            test,
            blocks,
            record.name,
            out,
            depth=depth,
            filtered_by=filtered_by,
            run_format=run_format,
            progress=progress,
        )
        say(written(record.name, out, depth, run_format))


def _chosen(name: str, options: dict[str, str | list[str]]) -> list[Baseline]:
    if name != _ALL:
        if name not in BASELINES:
            known = (*BASELINES, _ALL)
            raise KgtrecError(f"no baseline {name!r}{nearest(name, known)}; there are {', '.join(known)}")
        return [baseline(name)]
    if options:
        raise KgtrecError("expected --option with one baseline, found it with all; run the baseline by its name")
    return [record for record in BASELINES.values() if not record.is_control]
