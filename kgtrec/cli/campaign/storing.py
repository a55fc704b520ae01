"""What the commands share that take verdicts in: reading them, storing them, and saying what became of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, Command, option, stacked
from kgtrec.data.judgements import Returned
from kgtrec.errors import KgtrecError, counted

if TYPE_CHECKING:
    from kgtrec.campaign.verdict_rules import Refusal

FORMATS = ("auto", "csv", "xlsx", "jsonl", "label-studio")
_NAMED = 3  # places of rows that were begun


def storing_options(about_person: str) -> Callable[[Command], Command]:
    """Add ``--format``, ``--person``, ``--user-map``, ``--correct``, ``--keep-going`` and ``--time``."""
    return stacked(
        option(
            "--format form",
            "Form of the files; auto goes by the suffix: .csv, .tsv or .txt (commas, "
            "semicolons or tabs), .xlsx, .jsonl, or .json of Label Studio.",
            FORMATS,
            "auto",
        ),
        option("--person", about_person, metavar="NAME"),
        option("--user-map", "Lines `user person`: whose account in Label Studio is whose.", PATH, metavar="FILE"),
        option(
            "--correct", "Let a verdict take the place of what the same person said of the triple before.", is_flag=True
        ),
        option("--keep-going", "Take the other verdicts where some are refused.", is_flag=True),
        option("--time", "When they judged, UTC, as 2026-11-21T20:00:00Z. Default: now.", metavar="TIME"),
    )


def take_in(
    folder: str, files: Sequence[str], *, role: str, form: str, person: str | None, user_map: str | None, **storing: Any
) -> None:
    """Record the verdicts of files; whoever reads the message that they are stored can rely on it.

    Raises
    ------
    KgtrecError
        If a file is wrong, or any verdict is refused; nothing is stored then, unless ``keep_going``.
    """
    from kgtrec.campaign.accept import RefusedError
    from kgtrec.campaign.store import OpenCampaign
    from kgtrec.formats.output.folders import JUDGEMENTS

    opened = OpenCampaign(folder)
    returned = [read_returned(path, role=role, form=form, person=person, user_map=user_map) for path in files]
    incoming = [row for one in returned for row in one.incoming]
    try:
        accepted = opened.store(incoming, **storing)
    except RefusedError as error:
        _say_refused(error.refused)
        raise KgtrecError(
            f"{counted(len(error.refused), 'verdict')} of {len(incoming):,} refused, nothing is stored; fix the file, "
            "or take the others with --keep-going"
        ) from None
    _say_refused(accepted.refused)
    _say_rest(returned)
    corrections = f", {accepted.corrections:,} in place of an earlier one" if accepted.corrections else ""
    refused = f", {len(accepted.refused):,} refused" if accepted.refused else ""
    stored = f"stored {counted(len(accepted), 'verdict')}{corrections}"
    again = f", {accepted.again:,} repeated in the file{'' if len(files) == 1 else 's'}" if accepted.again else ""
    say(f"{Path(folder, JUDGEMENTS)}: {stored}; {accepted.repeated:,} stored before{again}{refused}")
    if accepted.refused:
        sys.exit(2)


def read_returned(path: str, *, role: str, form: str, person: str | None, user_map: str | None) -> Returned:
    """Read what was filled in, in a file of any of ``FORMATS``."""
    from kgtrec.formats.campaign.filled_tasks import read_tasks
    from kgtrec.formats.files import suffixes

    if form == "auto" and suffixes(path)[0] == ".json":
        form = "label-studio"
    if form == "label-studio":
        if user_map is None:
            raise click.UsageError(f"{path}: expected --user-map FILE, which says whose account is whose")
        if person is not None:
            raise click.UsageError(f"{path}: expected --user-map alone for Label Studio, found --person too")
        from kgtrec.formats.campaign.label_studio import read_label_studio, read_users

        return read_label_studio(path, read_users(user_map), role=role)
    return read_tasks(path, person=person, role=role, form=None if form == "auto" else form)


def _say_refused(refused: Sequence[Refusal]) -> None:
    from kgtrec.campaign.verdict_rules import refusal_lines

    for line in refusal_lines(refused):
        say(line)


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
