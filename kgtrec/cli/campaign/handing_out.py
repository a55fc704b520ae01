"""What the commands share that write tasks for one person, to a file of any form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from kgtrec.cli.common import say
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import Tasks
from kgtrec.errors import counted

_PAGES = ("html", ".html", ".htm")


def tasks_writer(
    out: str, form: str | None = None, *, role: str, person: str | None, option: str, merge: bool | None = None
) -> Callable[[str, Campaign, Tasks], None]:
    """Give what writes a person's tasks: a function of the campaign's folder, the campaign and the tasks.

    The form is ``form``, or what the file's name says; ``merge`` is None where there is no such option.

    Raises
    ------
    click.UsageError
        If it is a page, and nobody is named by ``option``, or ``merge`` is given.
    KgtrecError
        If there is no such form, its packages are missing, or the file cannot be written.
    """
    from kgtrec.formats.campaign.tasks import form_of_tasks, require_tasks_file, write_tasks
    from kgtrec.formats.files import suffixes
    from kgtrec.formats.output.outputs import require_file, write_text

    if (form or suffixes(out)[0]) not in _PAGES:
        chosen = form or form_of_tasks(out, others=_PAGES[1:2])
        require_tasks_file(out, chosen, merge=merge)

        def write_file(_: str, __: Campaign, tasks: Tasks) -> None:
            if left := write_tasks(out, tasks, form=chosen, merge=bool(merge)):
                say(
                    f"warning: {counted(left, 'row')} of the file that was there {'is' if left == 1 else 'are'} filled "
                    "in and no longer asked for; import the former file, unless that is done"
                )

        return write_file
    from kgtrec.cli.campaign.serve import require_serve

    if person is None:
        raise click.UsageError(f"expected {option} PERSON: a page is for one person")
    if merge:
        raise click.UsageError("--merge is for files in which verdicts are filled in; a page keeps them in the browser")
    require_serve(("jinja2", "markdown_it"))
    require_file(out)

    def write_page(folder: str, campaign: Campaign, tasks: Tasks) -> None:
        from kgtrec.formats.campaign.folder import read_text
        from kgtrec.formats.output.folders import GUIDELINES
        from kgtrec.serve.tasks_file import tasks_file

        path, name = Path(folder, GUIDELINES), Path(folder).absolute().name
        guidelines = read_text(path) if path.exists() else ""
        write_text(out, tasks_file(campaign, tasks, person=person, role=role, guidelines=guidelines, name=name))

    return write_page
