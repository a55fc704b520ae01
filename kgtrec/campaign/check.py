"""Recorded events, checked against the rules by which verdicts are accepted, whatever wrote the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import previous_of, states_before
from kgtrec.campaign.verdict_rules import (
    Refusal,
    hosts_of,
    roles_of,
    wrong_link,
    wrong_note,
    wrong_person,
    wrong_role,
    wrong_source,
    wrong_state,
    wrong_triple,
)
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.campaign import ASKED, REQUIRED, Campaign
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, ROLES, UNSURE, VERDICTS
from kgtrec.data.vocabulary import Vocabulary

_NAMED = 3


@dataclass(frozen=True, slots=True)
class JudgementCheck:
    """The result of checking recorded events by the rules."""

    wrong: tuple[Refusal, ...]  # one per event that cannot have been accepted, in the order of the file
    notes: tuple[str, ...]  # remarks that are not mistakes


def check_judgements(campaign: Campaign, place: str) -> JudgementCheck:
    """Check the events of a campaign, in the order in which they were recorded, by the rules of acceptance.

    Each event is checked against those recorded before it, and of verdicts of which only the last one counts it must be
    clear by their times which that is. An event that can have been right when it was recorded, and only looks wrong
    since something else has changed, is not a finding:

    - people who have left may have judged, and an unassigned task may have been accepted with ``--unassigned``;
    - another verdict of the same person on the same triple is a correction;
    - an adjudicator may have settled a triple when fewer annotators were asked about each: a finding is only a triple
      without verdicts, or with equal ones, which no number of annotators would have allowed;
    - a link to a host that ``sources.txt`` does not list now may have been good when the host was listed: a note
      gives the number of such links, and of verdicts without a link if one was not always required.

    Labels that were published elsewhere, as imported by ``kgtrec campaign import-kgc-sparsity``, were not collected
    by these rules, and one name may mean many people. Findings about their judges are reported as a note.

    Parameters
    ----------
    campaign : Campaign
        With the judgements in the order of the lines, see :func:`kgtrec.campaign.read_judgements`.
    place : str
        Name of the file; the line is added.

    Returns
    -------
    JudgementCheck

    Examples
    --------
    See ``kgtrec check``.
    """
    events = campaign.judgements
    shared = _wrong_states(campaign) | _wrong_roles(campaign) | _wrong_times(campaign) | _wrong_triples(campaign)
    notes = [*_unlisted(campaign), *_without_link(campaign)]
    made = campaign.settings.get("pool")
    source = made.get("source") if isinstance(made, dict) else None
    if source and shared:
        reasons = Counter(Refusal("", message).reason for message in shared.values())
        listed = "; ".join(f"{number:,} times: {reason}" for reason, number in reasons.most_common())
        notes.append(
            f"{len(shared):,} of {len(events):,} events would not be accepted now; they were published elsewhere "
            f"({source}), where other rules held: {listed}"
        )
        shared = {}
    # of several the one that acceptance reports first
    every = shared | _wrong_notes(campaign) | _wrong_sources(campaign) | _wrong_people(campaign)
    return JudgementCheck(tuple(Refusal(f"{place}:{row + 1}", every[row]) for row in sorted(every)), tuple(notes))


_Findings = dict[int, str]  # row of an event -> what is wrong with it


def _findings(rows: NDArray[np.intp], wrong: Callable[[int], str]) -> _Findings:
    return {row: message for row in rows.tolist() if (message := wrong(row))}


def _per_value(codes: NDArray[np.int64], wrong: Callable[[int], str]) -> _Findings:
    """Check each value once, with an event that has it, and report all events of the wrong ones."""
    _, first, code = np.unique(codes, return_index=True, return_inverse=True)
    messages = [wrong(row) for row in first.tolist()]
    is_wrong = np.array([bool(message) for message in messages], np.bool_)
    return {row: messages[code[row]] for row in np.flatnonzero(is_wrong[code]).tolist()}


def _codes(texts: pa.StringArray) -> NDArray[np.int64]:
    return Vocabulary.encoding(texts)[1].astype(np.int64)


def _wrong_people(campaign: Campaign) -> _Findings:
    events, roles = campaign.judgements, roles_of(campaign.people)
    return _per_value(
        events.annotator.astype(np.int64) * len(ROLES) + events.role,
        lambda row: wrong_person(events.annotators[events.annotator[row]], ROLES[events.role[row]], roles),
    )


def _wrong_sources(campaign: Campaign) -> _Findings:
    events, wrong_form = campaign.judgements, partial(wrong_link, hosts=())

    def wrong(row: int) -> str:
        needed = ASKED if _may_lack_links(campaign, events.role[row]) else REQUIRED
        return wrong_source(VERDICTS[events.verdict[row]], events.source[row].as_py(), wrong_form, needed)

    return _per_value((_codes(events.source) * len(VERDICTS) + events.verdict) * len(ROLES) + events.role, wrong)


def _wrong_notes(campaign: Campaign) -> _Findings:
    notes = campaign.judgements.note
    return _per_value(_codes(notes), lambda row: wrong_note(notes[row].as_py()))


def _may_lack_links(campaign: Campaign, role: int) -> bool:
    """Whether a Y or N without a link can have been right once: the settings name the rule if it ever was changed."""
    return ROLES[role] in campaign.settings.get("links", {})


def _without_link(campaign: Campaign) -> list[str]:
    """How many Y and N lack a link that they would need now, and did not always."""
    events = campaign.judgements
    changed = [
        code for code, role in enumerate(ROLES) if _may_lack_links(campaign, code) and campaign.links(role) == REQUIRED
    ]
    lacking = np.isin(events.role, changed) & (events.verdict != UNSURE) & values_of(pc.equal(events.source, ""))
    n = int(np.count_nonzero(lacking))
    return [f"{n:,} verdicts Y and N have no link, and were recorded when none was required"] if n else []


def _wrong_triples(campaign: Campaign) -> _Findings:
    events, automatic = campaign.judgements, campaign.automatic
    rows = np.flatnonzero(~automatic.for_people[events.triple])
    return _findings(rows, lambda row: wrong_triple(ROLES[events.role[row]], automatic, events.triple[row]))


def _wrong_times(campaign: Campaign) -> _Findings:
    events = campaign.judgements
    person = np.where(events.role == ANNOTATOR, events.annotator, -1)
    before = previous_of(person, events.role, events.triple, _codes(events.time))
    return _findings(
        np.flatnonzero((before >= 0) & (events.verdict != events.verdict[before])),
        lambda row: (
            f"expected times that show which verdict on the triple is the last, found {events.time[row]} here and on "
            f"line {before[row] + 1}, which says something else; change one of the times, or remove a line"
        ),
    )


def _wrong_roles(campaign: Campaign) -> _Findings:
    events = campaign.judgements
    before = previous_of(events.annotator, events.triple)
    first = np.where(before >= 0, before, np.arange(len(before)))
    while np.any(first != first[first]):  # halves the distance to the first one each time
        first = first[first]
    names, roles = events.decoded("annotator"), np.array(ROLES)[events.role]
    return _findings(
        np.flatnonzero(events.role != events.role[first]),
        lambda row: wrong_role(names[row].as_py(), str(roles[row]), str(roles[first[row]])),
    )


def _wrong_states(campaign: Campaign) -> _Findings:
    """A verdict is right if it is in the order of the lines, or, as in merged copies of a campaign, of the times."""
    events = campaign.judgements
    times, when = Vocabulary.encoding(events.time)
    by_time = np.argsort(times.byte_order[when], kind="stable")
    states = np.empty((2, len(events)), np.int8)
    states[0], states[1, by_time] = states_before(events), states_before(events.take(by_time))

    def wrong(row: int) -> str:
        messages = [wrong_state(int(state)) for state in states[:, row]]
        return messages[0] if all(messages) else ""

    return _findings(np.flatnonzero(events.role == ADJUDICATOR), wrong)


def _unlisted(campaign: Campaign) -> list[str]:
    """A note on the links to hosts that are not among the sources."""
    hosts: Counter[str] = Counter()
    if not campaign.sources:
        return []
    links, numbers = pc.value_counts(campaign.judgements.source).flatten()
    for link, host, number in zip(*(column.tolist() for column in (links, hosts_of(links), numbers)), strict=True):
        if link and not wrong_link(link, ()) and wrong_link(link, campaign.sources):
            hosts[host] += number
    if not hosts:
        return []
    some = ", ".join(f"{host} ({number:,})" for host, number in hosts.most_common(_NAMED))
    more = f" and {len(hosts) - _NAMED:,} more" if len(hosts) > _NAMED else ""
    return [f"{hosts.total():,} links lead to hosts that sources.txt does not list now: {some}{more}"]
