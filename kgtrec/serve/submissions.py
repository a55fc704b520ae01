"""A verdict from a page: held against what the page showed, and stored by the campaign's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from kgtrec.campaign.verdict_rules import wrong_state
from kgtrec.data.judgements import STATES, VERDICTS, Incoming
from kgtrec.serve.service import CampaignService, Look, Statement
from kgtrec.serve.views import in_words

STORED, UNCHANGED, CONFLICT, REFUSED, GONE = "stored", "unchanged", "conflict", "refused", "gone"
GOOD = STORED, UNCHANGED  # what was given is stored, now or before
_SETTLED = {wrong_state(state) for state in range(len(STATES))} - {""}  # what accept says of what waits no more


@dataclass(frozen=True, slots=True)
class Submission:
    """What somebody has filled in for a task, as it came."""

    task: int  # number on the page, see kgtrec.serve.service.Numbers
    verdict: str
    source: str = ""
    note: str = ""
    before: str = ""  # digest of what the page showed as their last words, empty for none
    is_alone: bool = False  # whether they have sent this one alone: the same words again then answer a remark

    @property
    def statement(self) -> Statement:
        """What it says, with line breaks as files have them."""
        note = self.note.replace("\r\n", "\n").replace("\r", "\n").strip()
        return Statement(self.verdict, self.source.strip(), note)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it."""

    task: int
    kind: str  # STORED, UNCHANGED, CONFLICT, REFUSED, or GONE: there is nothing to say of the task any more
    now: Statement | None = None  # what the person's last words on the task are
    message: str = ""  # why it was refused


def submit(
    service: CampaignService, look: Look, role: str, submissions: Sequence[Submission]
) -> tuple[list[Outcome], Look]:
    """Store what somebody has filled in; whoever sees this return can rely on what it says.

    What was said before, word for word, is stored already. What differs from it takes its place, as a new event, if it
    is what the page showed; otherwise nothing is stored, since the person has said something else meanwhile, on another
    page or in a file: the outcome says what.

    Parameters
    ----------
    service : CampaignService
    look : Look
        At what there was before, by the person who has filled it in.
    role : str
    submissions : sequence of Submission
        Of different tasks, which the person was shown.

    Returns
    -------
    list of Outcome
        One for each, in their order.
    Look
        At what there is now.

    Raises
    ------
    OSError
        If the disk is full or fails; nothing is stored then.
    """
    person = look.person
    last = _last_statements(look, role, submissions)
    outcomes: dict[int, Outcome] = {}
    rows: dict[str, Submission] = {}
    incoming = []
    for submission in submissions:
        now = last.get(submission.task)
        if now is not None and Submission(submission.task, *now.said).statement.said == submission.statement.said:
            outcomes[submission.task] = Outcome(submission.task, UNCHANGED, now)
            if submission.is_alone and (role, look.row_of(submission.task)) in look.sent_back:
                service.send_back(person, person, role, submission.task, now.digest, "")  # their verdict stands
                outcomes[submission.task], look = Outcome(submission.task, STORED, now), service.look(person)
        elif now is not None and submission.before != now.digest:
            outcomes[submission.task] = Outcome(submission.task, CONFLICT, now)
        elif submission.verdict not in VERDICTS:
            outcomes[submission.task] = Outcome(submission.task, REFUSED, now, "no answer was chosen")
        else:
            place = f"task {submission.task}"
            rows[place] = submission
            verdict, source, note = submission.statement.said
            labels = look.campaign.pool.triples.labels_at(cast("int", look.row_of(submission.task)))
            before = now.said if now else None
            incoming.append(Incoming(place, person, verdict, None, *labels, source, note, role, before=before))
    if incoming:
        refusals = service.store(incoming)
        look = service.look(person)
        after = _last_statements(look, role, submissions)
        refused = {refusal.place: refusal.message for refusal in refusals}
        for place, one in rows.items():
            now = after.get(one.task)
            if place not in refused:
                outcomes[one.task] = Outcome(one.task, STORED, now)
            elif now is not None and now != last.get(one.task):  # another program was faster
                outcomes[one.task] = Outcome(one.task, CONFLICT, now)
            else:
                kind = GONE if refused[place] in _SETTLED else REFUSED
                outcomes[one.task] = Outcome(one.task, kind, now, in_words(refused[place]))
    return [outcomes[one.task] for one in submissions], look


def _last_statements(look: Look, role: str, submissions: Sequence[Submission]) -> dict[int, Statement]:
    """Task, of those submitted -> what the person has said of it last."""
    task_of = {look.row_of(one.task): one.task for one in submissions}
    said = look.said(role, [row for row in task_of if row is not None])
    return {task_of[row]: statements[-1] for row, statements in said.items()}
