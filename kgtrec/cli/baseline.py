"""kgtrec baseline."""

from __future__ import annotations

from collections.abc import Iterator

import click

from kgtrec.baselines import ALL, BASELINES, baseline_blocks, baseline_checkpoints, baselines_of, score_blocks
from kgtrec.cli.common import say
from kgtrec.cli.options import listing_option, option, seed_option
from kgtrec.cli.systems import read_questions, system_options
from kgtrec.errors import KgtrecError
from kgtrec.ranking.write import require_outputs, write_ranked, written
from kgtrec.report.progress import progress_bar
from kgtrec.systems.kinds import ScoreBlocks


def _baselines() -> Iterator[str]:
    for record in BASELINES.values():
        kind = " (a control: not part of all)" if record.is_control else ""
        yield f"{record.name}{kind}\n    {record.description}\n    {record.source}."
        for name, setting in record.options.items():
            choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
            yield f"    --option {name}={setting.default}{choices}: {setting.description}"


def _options(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str | list[str]]:
    options: dict[str, str | list[str]] = {}
    for value in values:
        key, equals, setting = value.partition("=")
        if not (key and equals and setting):
            raise click.BadParameter(f"expected KEY=VALUE, such as factors=50, found {value!r}")
        if key in options:
            raise click.BadParameter(f"expected each key once, found {key!r} twice")
        options[key] = [part.strip() for part in setting.split(",")] if "," in setting else setting
    return options


@click.command(name="baseline")
@click.argument("name")
@click.argument("collection", type=click.Path())
@system_options
@seed_option("Random seed of the baseline; the same seed gives the same files.")
@option(
    "--option options",
    "A setting of the baseline, see --list; can be repeated. Several values, such as factors=8,32,128, give one "
    "system per combination: NAME@1, NAME@2, ...",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_options,
)
@listing_option("--list", "List the baselines with their options and exit.", _baselines)
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
    if name == ALL and options:
        raise KgtrecError("expected --option with a single baseline, found it with all; give the name of a baseline")
    records = baselines_of(name)
    several = any(isinstance(value, list) for value in options.values())
    for record in records:
        n_models = len(list(record.combinations(options)))
        for label in [f"{name}@{number + 1}" for number in range(n_models)] if several else [record.name]:
            require_outputs(label, out, run_format, gives_run=depth > 0)  # all of them before the first is computed
    test = read_questions(collection)
    systems = (
        (
            (f"{name}@{number}", score_blocks(model, test, block), settings)
            for number, (settings, model) in enumerate(baseline_checkpoints(name, test.train, seed=seed, **options), 1)
        )
        if several
        else (
            (record.name, baseline_blocks(record.name, test, seed=seed, block=block, **options), {})
            for record in records
        )
    )
    for label, blocks, settings in systems:
        paths = write_ranked(
            test,
            ScoreBlocks.of(label, blocks),
            out,
            depth=depth,
            filtered_by=filtered_by,
            run_format=run_format,
            progress=progress_bar,
        )
        about = ", ".join(f"{key}={settings[key]}" for key in options if key in settings)
        say(written(label, *paths) + (f" ({about})" if about else ""))
