"""A verdict as it came in from outside: nothing about it has been checked yet."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incoming:
    """One verdict of one person on one triple, with the texts as they stand in the file.

    Whatever made the file, nothing of this is to be trusted: :func:`kgtrec.campaign.accept` checks it all. What a
    file does not say is None; a text that is there but empty is "".
    """

    place: str  # how an error message begins: "ann.csv:12", or "export.json: task 3, annotation 7"
    person: str | None  # who judged
    verdict: str  # one of VERDICTS, if it is right
    task: int | None = None  # row in the pool's triples, from 1; None: head, relation and tail say which
    head: str | None = None  # labels; all three or none: the task number says which
    relation: str | None = None
    tail: str | None = None
    source: str = ""  # link that proves it
    note: str = ""  # free text
    role: str = "annotator"  # one of ROLES, if it is right
    wrong: str = ""  # what keeps the row from being read at all, such as a task number that is none
