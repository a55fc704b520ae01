"""What the commands share that take verdicts in: reading them, storing them, and saying what became of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, option, stacked
from kgtrec.data.judgements import Returned
from kgtrec.errors import KgtrecError, counted

FORMATS = ("auto", "csv", "xlsx", "jsonl", "label-studio")
_READING = ("role", "file_form", "person", "user_map")  # options of how files are read
_NAMED = 3  # places of rows that were begun


#: ``--format``, ``--person``, ``--user-map``, ``--correct``, ``--keep-going`` and ``--time``
storing_options = stacked(
    option("--format file_form", "Form of the files.", FORMATS, "auto"),
    option("--person", "Who judged, or whose tasks are written. Default: as in the file.", metavar="NAME"),
    option("--user-map", "Lines `user person`, for accounts in Label Studio.", PATH, metavar="FILE"),
    option("--correct", "Replace earlier verdicts of the same person.", is_flag=True),
    option("--keep-going", "Import the other verdicts if some are refused.", is_flag=True),
    option("--time", "When they judged, as 2026-11-21T20:00:00Z. Default: now.", metavar="TIME"),
)


def take_in(folder: str, files: Sequence[str], **options: Any) -> None:
    """Record the verdicts of files; whoever reads the message that they are stored can rely on it.

    Raises
    ------
    KgtrecError
        If a file is wrong, or any verdict is refused; nothing is stored then, unless ``keep_going``.
    """
    from kgtrec.campaign.accept import RefusedError
    from kgtrec.campaign.store import OpenCampaign
    from kgtrec.campaign.verdict_rules import refusal_lines
    from kgtrec.formats.output.folders import JUDGEMENTS

    opened, reading = OpenCampaign(folder), {name: options.pop(name) for name in _READING}
    returned = [_returned(path, **reading) for path in files]
    incoming = [row for one in returned for row in one.incoming]
    try:
        accepted = opened.store(incoming, **options)
    except RefusedError as error:
        say("\n".join(refusal_lines(error.refused)))
        raise KgtrecError(
            f"{counted(len(error.refused), 'verdict')} of {len(incoming):,} refused, nothing is stored; fix the file, "
            "or take the others with --keep-going"
        ) from None
    say("\n".join(refusal_lines(accepted.refused)))
    _say_rest(returned)
    corrections = f", {accepted.corrections:,} in place of an earlier one" if accepted.corrections else ""
    refused = f", {len(accepted.refused):,} refused" if accepted.refused else ""
    stored = f"stored {counted(len(accepted), 'verdict')}{corrections}"
    again = f", {accepted.again:,} repeated in the file{'' if len(files) == 1 else 's'}" if accepted.again else ""
    say(f"{Path(folder, JUDGEMENTS)}: {stored}; {accepted.repeated:,} stored before{again}{refused}")
    if accepted.refused:
        sys.exit(2)


def _returned(path: str, *, role: str, file_form: str, person: str | None, user_map: str | None) -> Returned:
    """What was filled in, in a file of any of ``FORMATS``."""
    from kgtrec.formats.campaign.filled_tasks import read_tasks
    from kgtrec.formats.files import suffixes

    if file_form == "label-studio" or (file_form == "auto" and suffixes(path)[0] == ".json"):
        if user_map is None:
            raise click.UsageError(f"{path}: expected --user-map FILE, which says whose account is whose")
        if person is not None:
            raise click.UsageError(f"{path}: expected --user-map alone for Label Studio, found --person too")
        from kgtrec.formats.campaign.label_studio import read_label_studio, read_users

        return read_label_studio(path, read_users(user_map), role=role)
    return read_tasks(path, person=person, role=role, form=None if file_form == "auto" else file_form)


def _say_rest(returned: Sequence[Returned]) -> None:
    """What else the files held."""
    begun = [place for one in returned for place in one.begun]
    if begun:
        more = f" and {len(begun) - _NAMED:,} more" if len(begun) > _NAMED else ""
        say(f"warning: a source or a note, but no verdict at {', '.join(begun[:_NAMED])}{more}")
    if not_done := sum(one.not_done for one in returned):
        say(f"{counted(not_done, 'task')} without a verdict")
    for one in returned:
        for what, number in one.left_out.items():
            say(f"left out: {number:,} {what}")
