"""kgtrec explore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_questions
from kgtrec.cli.options import PATH, at_least, measure_option, option
from kgtrec.cli.output import Output, form_of, raw_output_options
from kgtrec.errors import KgtrecError

TABLES = ("question", "answers", "lists", "values")


@click.command(name="explore")
@click.argument("collection", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@option(
    "--labels",
    "Qrels, or a campaign with its settled triples, beside the collection's test answers; may be repeated.",
    PATH,
    multiple=True,
    metavar="QRELS|CAMPAIGN",
)
@measure_option("Measure to show; may be repeated, or hold several. Default: five, over answers if there are ranks.")
@option("--names", "File of entity TAB name, to show names instead of labels.", PATH)
@option("--depth", "How many candidates of each list to keep.", at_least(1), 20)
@option("--question", "Print the tables of this question instead of writing the page.", metavar="ID")
@raw_output_options(TABLES, "The page, NAME.html; with --question a file for its tables.")
def command(
    collection: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    names: str | None,
    question: str | None,
    form: str | None,
    part: str | None,
    out: str | None,
    **options: Any,
) -> None:
    """Write a page that shows why SYSTEMS get their numbers on COLLECTION, question by question.

    SYSTEMS are answer ranks, runs, or folders of them; answer ranks and a run of one name are one system, of which the
    ranks give the numbers and the run the lists. The page has all scores with their tests, where each pair of systems
    differs, every question with its lists side by side, and what other label sets change. It is one file that needs no
    network.

    \b
    kgtrec explore C ranks --out explore.html
    kgtrec explore C ranks --labels campaign --names names.tsv -m "micro.MRR AP@20" --out explore.html
    kgtrec explore C ranks --question tail12
    """
    from kgtrec.explore.explore import explore
    from kgtrec.formats.campaign.folder import read_names
    from kgtrec.formats.output.outputs import require_file

    if question is None:
        if form or part:
            raise click.UsageError("expected --question ID together with --format or --table, found none")
        if out is None or Path(out).suffix.lower() not in (".html", ".htm"):
            raise KgtrecError(f"--out: expected a name that ends in .html for the page, found {out or 'none'}")
        require_file(out)
    output = Output(form_of(out, form), out, part) if question is not None else None
    whole = read_questions(collection)
    named = {} if names is None else read_names(names, whole.labels or whole.entities)
    found = explore(whole, list(systems), measures or None, names=named, **options)
    if output is not None and question is not None:
        output.show(found.question(question))
        return
    found.save(str(out))
    say(f"wrote {out}")
