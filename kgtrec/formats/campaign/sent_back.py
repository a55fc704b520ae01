"""Verdicts that a manager sends back with a remark: events, one JSON object per line; lines are only ever added.

A line has, in this order, time, by, person, role, head, relation, tail, events and remark: ``by`` has sent the verdict
of ``person`` back, who had given so many ``events`` on the triple in the role by then. It waits until the person gives
another one, or says that the verdict stands: by a later line, whose ``by`` is the person. Lines are added and torn ones
mended as in the judgements' files, see :mod:`kgtrec.formats.campaign.judgements`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kgtrec.data.judgements import ROLES
from kgtrec.formats.campaign.judgements import INCOMPLETE, append_lines
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.folders import SENT_BACK
from kgtrec.formats.trec.text import shown


class SentBack(NamedTuple):
    """A line."""

    time: str  # as of judgements
    by: str  # a manager; or the person themselves, whose verdict stands
    person: str
    role: str
    head: str
    relation: str
    tail: str
    events: int  # of the person on the triple in the role before
    remark: str

    @property
    def about(self) -> tuple[str, str, str, str, str]:
        """Person, role and triple."""
        return self.person, self.role, self.head, self.relation, self.tail


def read_sent_back(folder: PathLike) -> dict[tuple[str, str, str, str, str], SentBack]:
    """Read the latest line about each person, role and triple of a campaign; none where no verdict was ever sent back.

    An incomplete last line is left out.

    Raises
    ------
    FormatError
        For the first malformed line.
    """
    path = Path(folder, SENT_BACK)
    if not path.exists():
        return {}
    file = Lines.read(path)
    lines = list(file.every())
    if not file.data.endswith(b"\n") and lines and _line(lines[-1].data) is None:  # incomplete
        lines.pop()
    latest: dict[tuple[str, str, str, str, str], SentBack] = {}
    for text in lines:
        line = _line(text.data)
        if line is None:
            expected = f"expected a JSON object with {', '.join(SentBack._fields)}"
            raise text.error(f"{expected}, got {shown(text.data)}; {INCOMPLETE}")
        if line.about not in latest or line.time >= latest[line.about].time:  # copies that were merged are not in order
            latest[line.about] = line
    return latest


def _line(data: bytes) -> SentBack | None:
    with suppress(ValueError, TypeError, RecursionError):
        line = SentBack(**json.loads(data))
        "".join((*line.about, line.by, line.remark)).encode()  # an escape may encode half a character
        if line.role in ROLES and all(isinstance(value, kind) for value, kind in zip(line, _KINDS, strict=True)):
            return line
    return None


_KINDS = tuple(int if name == "events" else str for name in SentBack._fields)


def append_sent_back(folder: PathLike, line: SentBack) -> None:
    """Add a line, as :func:`kgtrec.formats.campaign.judgements.append_lines` does, under the lock of the caller."""
    append_lines(Path(folder, SENT_BACK), json.dumps(line._asdict(), ensure_ascii=False).encode() + b"\n")
