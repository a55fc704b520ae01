"""A verdict as it was received: nothing about it has been checked yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incoming:
    """One verdict of one person on one triple, with the texts as in the file.

    Nothing here is trusted: :func:`kgtrec.campaign.accept` checks all of it. None means that the file does not have
    the field; an empty text is "".
    """

    place: str  # how an error message begins: "ann.csv:12", or "export.json: task 3, annotation 7"
    person: str | None  # the judge
    verdict: str  # one of VERDICTS, if valid
    task: int | None = None  # 1-based row in the pool's triples; None: given by head, relation and tail
    head: str | None = None  # labels; all three, or none if the task number is given
    relation: str | None = None
    tail: str | None = None
    source: str = ""  # link that proves it
    note: str = ""  # free text
    role: str = "annotator"  # one of ROLES, if valid
    wrong: str = ""  # why the row cannot be read, such as an invalid task number
    #: verdict, source and note that the person saw as their last ones when giving this verdict: it may replace these,
    #: and no others; None: unknown
    before: tuple[str, str, str] | None = None
