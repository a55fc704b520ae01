"""kgtrec study."""

from __future__ import annotations

from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, force_option, option
from kgtrec.cli.workers import executor_of, workers_options
from kgtrec.report.progress import progress_bar


@click.command(name="study")
@click.argument("config", type=click.Path())
@option("--out", "Folder of the study. Default: the folder in CONFIG.", PATH)
@workers_options
@option("--prune", "Remove steps of earlier inputs or options at the end.", is_flag=True)
@force_option
def command(config: str, out: str | None, workers: int | None, scheduler: str | None, prune: bool) -> None:
    """Run a whole study, from triples and scores to the report, as configured in CONFIG, a TOML file.

    Rank the systems, score them under each label set, correlate the label sets, evaluate every pool depth, test all
    pairs of systems, subsample the test set, compare policies for ties, and write report.html with its figures and
    tables. docs/study.md lists the options of CONFIG.

    Each step is stored with the checksums of its inputs, and is not computed again. A study that was stopped continues
    when the command is given again. After a change, only the steps that depend on it are computed.

    \b
    kgtrec study study.toml
    kgtrec study examples/fb15k-237/study.toml --out fb15k-237 --workers 2
    kgtrec report fb15k-237 --out report.html
    """
    from kgtrec.report.files import PAGE
    from kgtrec.study.config_file import read_study_config
    from kgtrec.study.run import run_study

    read = read_study_config(config)
    folder = Path(out) if out else read.out
    executor = executor_of(scheduler)
    run_study(config, folder, workers=workers, executor=executor, prune=prune, say=say, progress=progress_bar)
    say(f"wrote {folder / PAGE if not read.formats or 'html' in read.formats else folder}")
