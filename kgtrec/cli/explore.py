"""kgtrec explore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_questions
from kgtrec.cli.options import PATH, at_least, measure_option, names_option, option
from kgtrec.cli.output import Output, form_of, raw_output_options
from kgtrec.errors import KgtrecError

TABLES = ("question", "answers", "lists", "values")


@click.command(name="explore")
@click.argument("collection", type=click.Path())
@click.argument("systems", nargs=-1, required=True, type=click.Path())
@option("--labels", "Other label sets to show; repeatable.", PATH, multiple=True, metavar="QRELS|CAMPAIGN")
@measure_option("five, over answers if there are ranks")
@names_option
@option("--depth", "Candidates of each list.", at_least(1), 20)
@option("--question", "Print the tables of this question instead of the page.", metavar="ID")
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
    """Write a page that shows why SYSTEMS (answer ranks, runs, or folders of them) get their numbers on COLLECTION,
    question by question.

    \b
    # the page of all systems
    kgtrec explore C ranks --out explore.html
    # one question, printed
    kgtrec explore C ranks --question tail12

    Docs: docs/explore.md
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
