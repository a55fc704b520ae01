"""What the commands share that write tasks for one person, to a file of any form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgtrec.cli.campaign.storing import left_text
from kgtrec.cli.common import say

if TYPE_CHECKING:
    from kgtrec.data.campaign import Campaign
    from kgtrec.data.judgements import Tasks

PAGE = "html"
_SUFFIXES = (".html", ".htm")


def form_out(out: str, form: str | None = None, *, person: str | None, option: str, merge: bool | None = None) -> str:
    """The form of a file of tasks: ``form``, or what its name says; ``merge`` is None where there is no such option.

    Raises
    ------
    click.UsageError
        If it is a page, and nobody is named by ``option``, or ``merge`` is given.
    KgtrecError
        If there is no such form, its packages are missing, or the file cannot be written.
    """
    from kgtrec.formats.campaign.tasks import form_of_tasks, require_tasks_file
    from kgtrec.formats.files import suffixes
    from kgtrec.formats.output.outputs import require_file

    if (form or suffixes(out)[0]) not in (PAGE, *_SUFFIXES):
        chosen = form or form_of_tasks(out, others=_SUFFIXES[:1])
        require_tasks_file(out, chosen, merge=merge)
        return chosen
    from kgtrec.cli.campaign.serve import require_serve

    if person is None:
        raise click.UsageError(f"expected {option} PERSON: a page is for one person")
    if merge:
        raise click.UsageError("--merge is for files in which verdicts are filled in; a page keeps them in the browser")
    require_serve(("jinja2", "markdown_it"))
    require_file(out)
    return PAGE


def write_out(
    folder: str,
    campaign: Campaign,
    tasks: Tasks,
    out: str,
    form: str,
    *,
    person: str | None,
    role: str,
    merge: bool = False,
) -> None:
    """Write tasks in a form of :func:`form_out`, for a person in a role."""
    from kgtrec.formats.campaign.tasks import write_tasks

    if form != PAGE:
        if left := write_tasks(out, tasks, form=form, merge=merge):
            say(left_text(left))
        return
    from kgtrec.formats.campaign.folder import read_text
    from kgtrec.formats.output.folders import GUIDELINES
    from kgtrec.formats.output.outputs import write_text
    from kgtrec.serve.tasks_file import tasks_file

    path = Path(folder, GUIDELINES)
    guidelines = read_text(path) if path.exists() else ""
    name = Path(folder).absolute().name
    write_text(out, tasks_file(campaign, tasks, person=str(person), role=role, guidelines=guidelines, name=name))
