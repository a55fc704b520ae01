"""What who manages a campaign sees of it: pure functions from everybody's verdicts and view times to figures.

Each figure that a command shows is made by the verb of that command. :class:`Figures` keeps the last ones, since they
take seconds where there are many verdicts.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.agreement import AgreementReport, campaign_agreement
from kgtrec.campaign.calibrate import calibration
from kgtrec.campaign.gold import gold_notes
from kgtrec.campaign.plan import sample_state
from kgtrec.campaign.store import POOL_FILES
from kgtrec.campaign.track import CampaignProgress, track
from kgtrec.campaign.verdict_rules import hosts_of
from kgtrec.campaign.work_times import moments
from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ANNOTATOR, ROLES, UNSURE, Judgements
from kgtrec.data.table import Column, Table
from kgtrec.errors import counted, some_of
from kgtrec.formats.campaign.folder import EDITED
from kgtrec.formats.files import FileState
from kgtrec.formats.output.folders import JUDGEMENTS
from kgtrec.serve.service import CampaignService, Numbers
from kgtrec.serve.state import State, view_totals

DAYS = 14  # that the small charts show
RECENT_DAYS = 7  # from which the pace is computed
FEW = 10  # with fewer questions in common nothing is said of a pair, nor of a person with fewer verdicts
TOO_FAST = 5.0  # seconds
_OFTEN = 0.1  # the share of somebody's verdicts that are too fast from which something is said of it
MOST_HOSTS = 20
_DAY = 86_400  # seconds
_FILES = (*POOL_FILES, *EDITED, JUDGEMENTS)
_OLDEST = 600.0  # seconds after which figures are made anew in any case: they are about the last days
_TIME = (
    Column("annotator"),
    Column("verdicts", "with a time"),
    Column("median", "median seconds", digits=1),
    Column("too_fast", "too fast"),
)
_SHARE = 0.05  # of the time that figures may take, so that those who judge do not notice


def overview(
    campaign: Campaign, numbers: Numbers, seen: Sequence[tuple[str, int, float, int]], now: float
) -> dict[str, Any]:
    """Compute all figures of a campaign.

    Parameters
    ----------
    campaign : Campaign
        With everybody's verdicts.
    numbers : Numbers
        Of that campaign.
    seen : sequence of tuple
        Person, task, seconds and opened sources of annotators, see :func:`kgtrec.serve.state.view_totals`.
    now : float, seconds since 1970

    Returns
    -------
    dict
        ``at`` and ``seconds``: when they were made, and how long it took. ``progress``. ``sample``: how much of it
        is judged and what is known by it, None where people judge the whole pool. ``agreement`` of all, ``pairs``
        that agree unusually little, and their number, ``n_pairs``: None where no triple was judged by two annotators.
        ``calibration``: None where there is no gold; ``gold``: right verdicts on it of all, of how many;
        ``gold_notes``: what keeps it from being of use. ``annotators``, see :func:`annotator_rows`. ``last``: when the
        last verdict was given, None for none. ``pace``, see :func:`pace_of`. ``time`` and ``hosts``: tables.
        ``n_verdicts``: those of annotators that count.
    """
    start = time.perf_counter()
    progress = track(campaign)
    judgements = campaign.judgements
    own = judgements.take(judgements.role == ANNOTATOR)
    latest = own.latest()
    when = moments(judgements.time)
    agreement = pairs = None
    if np.any(np.bincount(latest.triple, minlength=1) > 1):
        agreement = campaign_agreement(campaign, warns=False)
        pairs = campaign_agreement(campaign, per="pair", warns=False)
    known = calibration(campaign) if len(campaign.gold) else None
    right, wrong = (sum(known.to_table()[name].to_pylist()) for name in ("right", "wrong")) if known else (0, 0)
    made = {
        "at": now,
        "progress": progress,
        "sample": sample_state(campaign),
        "agreement": agreement,
        "pairs": low_pairs(pairs, agreement.value("raw")) if agreement and pairs else None,
        "n_pairs": len(pairs.pairs) if pairs else 0,
        "calibration": known,
        "gold": (right, right + wrong) if known else None,
        "gold_notes": gold_notes(campaign),
        "last": float(when.max()) if len(when) else None,
        "pace": pace_of(own, sum(progress.to_do.values()), now),
        "time": Table("time", "", "", time_of(latest, numbers, seen), _TIME),
        "hosts": sources_by_host(latest),
        "n_verdicts": len(latest),
    }
    return made | {"annotators": annotator_rows(made, own, pairs), "seconds": time.perf_counter() - start}


def low_pairs(pairs: AgreementReport, agreement: float) -> Table:
    """List the pairs of annotators that agree unusually little, the least first.

    Those with :data:`FEW` in common whose interval of raw agreement lies below that of all.
    """
    is_low = (pc.field("questions") >= FEW) & (pc.field("high") < agreement)
    data = pairs.to_table().filter((pc.field("statistic") == "raw") & is_low).sort_by("value")
    columns = (
        Column("annotator"),
        Column("other", "and"),
        Column("triples"),
        Column("questions"),
        Column("value", "raw agreement", form="share", digits=1, low="low", high="high"),
    )
    return Table("pairs", "", "", data, columns)


def annotator_rows(made: Mapping[str, Any], events: Judgements, pairs: AgreementReport | None) -> list[dict[str, Any]]:
    """Put together what is known of each annotator, in the order of ``progress.annotators``.

    Parameters
    ----------
    made : mapping
        See :func:`overview`.
    events : Judgements
        Of annotators, corrections included.
    pairs : AgreementReport or None
        Of each pair.

    Returns
    -------
    list of dict
        The columns of ``progress.annotators``, with ``days``: verdicts on each of the last :data:`DAYS`; ``agreement``,
        see :func:`agreement_with_others`; ``gold`` and ``time``: the person's row of the other tables. None for none.
    """
    rows, known = made["progress"].annotators.to_pylist(), made["calibration"]
    names, shared = [row["annotator"] for row in rows], agreement_with_others(pairs) if pairs else {}
    gold = {row["annotator"]: row for row in known.to_table().to_pylist()} if known else {}
    time = {row["annotator"]: row for row in made["time"].data.to_pylist()}
    days = per_day(moments(events.time), events.annotator, len(events.annotators), made["at"])
    days = np.vstack([days, np.zeros(DAYS, np.int64)])  # the last row is of those who have not judged
    own = days[events.annotators.encode(names)].tolist()
    return [
        row | {"days": n, "agreement": shared.get(name), "gold": gold.get(name), "time": time.get(name)}
        for row, name, n in zip(rows, names, own, strict=True)
    ]


def agreement_with_others(pairs: AgreementReport) -> dict[str, tuple[float, int]]:
    """Give each annotator's raw agreement with all others, and the number of pairs of verdicts behind it.

    Parameters
    ----------
    pairs : AgreementReport
        Of each pair of annotators.
    """
    equal, n = Counter[str](), Counter[str]()
    for row in pairs.to_table().filter(pc.field("statistic") == "raw").to_pylist():
        for name in (row["annotator"], row["other"]):
            equal[name] += round(row["value"] * row["pairs"])
            n[name] += row["pairs"]
    return {name: (equal[name] / size, size) for name, size in n.items()}


def needs(made: Mapping[str, Any], adjudicators: Sequence[str], n_sent_back: int) -> list[tuple[str, str, str]]:
    """List what waits for a manager: what it is, the address where it is done, and the words of the link there.

    Parameters
    ----------
    made : mapping
        See :func:`overview`.
    adjudicators : sequence of str
        The active ones.
    n_sent_back : int
        Verdicts that were sent back and wait.
    """
    progress, rows, found = made["progress"], made["annotators"], []
    steps = {
        "people": ("Fewer annotators are active than should judge each triple", "/manage/people#add", "Add annotators"),
        "assign": ("Some open triples have too few annotators, or too many", "/manage/people#share", "Share them out"),
        "qrels": ("Everything is judged", "/manage/downloads", "Download the qrels"),
    }
    if progress.step in steps:
        found.append(steps[progress.step])
    if waiting := progress.waiting and f"Waiting for an adjudicator: {counted(progress.waiting, 'triple')}":
        see = f"{waiting} ({some_of(adjudicators)})", "/manage/people", "See who has open tasks"
        found.append(see if adjudicators else (f"{waiting}, and there is none", "/manage/people#add", "Add one"))
    if back := n_sent_back and f"Sent back and not answered yet: {counted(n_sent_back, 'verdict')}":
        found.append((back, "/manage/verdicts?waiting=yes", "See which"))
    if idle := [row["annotator"] for row in rows if row["to_do"] and not sum(row["days"][-RECENT_DAYS:])]:
        found.append((f"No verdict in {RECENT_DAYS} days: {some_of(idle)}", "/manage/people", "See their open tasks"))
    if made["pairs"] is not None and (n := made["pairs"].data.num_rows):
        found.append((f"Agreeing unusually little: {counted(n, 'pair')} of annotators", "#agreement", "See who"))
    right, sure = made["gold"] or (0, 0)
    for row in rows:
        name, gold, time, said = row["annotator"], row["gold"], row["time"], []
        if gold and gold["right"] + gold["wrong"] >= FEW and gold["high"] < right / sure:
            ends = "{share:.1%} [{low:.1%}, {high:.1%}]".format(**gold)
            said.append(f"{name} is right on {ends} of gold, all together on {right / sure:.1%}")
        if time and time["verdicts"] >= FEW and time["too_fast"] >= _OFTEN * time["verdicts"]:
            said.append(f"{name} gave {time['too_fast']:,} of {counted(time['verdicts'], 'verdict')} too fast")
        found += [(text, f"/manage/verdicts?person={quote(name, safe='')}", "Look at their verdicts") for text in said]
    if progress.step != "qrels" and (n := len(progress.without_template)):
        found.append((f"Asked about in general words: {counted(n, 'relation')}", "/manage/templates", "Write them"))
    return found


def per_day(
    moments: NDArray[np.int64], person: NDArray[np.integer], n: int, now: float, days: int = DAYS
) -> NDArray[np.int64]:
    """Count the moments of each person on each of the last days, UTC, the present one last, (n, days).

    Parameters
    ----------
    moments : (m,) int array, seconds since 1970
    person : (m,) int array, row in the result
    n : int
    now : float, seconds since 1970
    days : int

    Examples
    --------
    >>> per_day(np.array([0, 86399, 86400, 200000]), np.array([0, 1, 1, 1]), 2, now=200001.0, days=2)
    array([[0, 0],
           [1, 1]])
    """
    place = moments // _DAY - int(now // _DAY) + days - 1
    cell = (person.astype(np.int64) * days + place)[(place >= 0) & (place < days)]
    return np.bincount(cell, minlength=n * days).astype(np.int64).reshape(n, days)


def pace_of(events: Judgements, left: int, now: float) -> dict[str, Any]:
    """Measure how fast annotators judge what they had not judged before; corrections do not count.

    A day that has begun counts as a whole one: nobody works for 24 hours as in the first one.

    Parameters
    ----------
    events : Judgements
        Of annotators, oldest first.
    left : int
        Tasks that wait for annotators.
    now : float, seconds since 1970

    Returns
    -------
    dict
        ``recent`` tasks in the last ``days``, :data:`RECENT_DAYS`, or less where the campaign is younger; ``per_day``;
        those ``left``; ``done_at``: when nothing is left at this pace, seconds since 1970, None where that is unknown.
    """
    key = events.annotator.astype(np.int64) * (int(events.triple.max(initial=0)) + 1) + events.triple
    _, first = np.unique(key, return_index=True)
    when = moments(events.time.take(arrow_of(first)))
    begin = float(when.min()) if len(when) else now
    days = min(max(math.ceil((now - begin) / _DAY), 1), RECENT_DAYS)
    recent = int(np.count_nonzero((when > now - days * _DAY - 1) & (when <= now)))
    done_at = now + left / recent * days * _DAY if recent and left else None
    return {"recent": recent, "days": days, "left": left, "per_day": recent / days, "done_at": done_at}


def time_of(latest: Judgements, numbers: Numbers, seen: Sequence[tuple[str, int, float, int]]) -> pa.Table:
    """Summarise view times by person: verdicts that have one, their median in seconds, and those that were too fast.

    Too fast is a Y or N on a triple that was in front of the person for less than :data:`TOO_FAST` seconds, if they
    opened no source for any candidate of the question. Verdicts of people without a script have no time.

    Parameters
    ----------
    latest : Judgements
        The last verdict of each annotator on each triple.
    numbers : Numbers
    seen : sequence of tuple
        Likewise.
    """
    names, tasks, seconds, opened = zip(*seen, strict=True) if seen else ((), (), (), ())
    n = len(numbers.group)
    person = latest.annotators.encode(labels_of(names)).astype(np.int64)
    task = np.array(tasks, np.int64)
    place = np.minimum(np.searchsorted(numbers.task, task, sorter=numbers.by_task), n - 1)
    row = numbers.by_task[place]
    known = (person >= 0) & (numbers.task[row] == task)
    person, row = person[known], row[known]
    spent, pages = np.array(seconds, np.float64)[known], np.array(opened, np.int64)[known]

    n_questions = int(numbers.group.max(initial=0)) + 1
    with_page = np.unique((person * n_questions + numbers.group[row])[pages > 0])
    judge = latest.annotator.astype(np.int64)
    key, viewed = judge * n + latest.triple, person * n + row
    by_view = np.argsort(viewed)
    at = np.minimum(np.searchsorted(viewed, key, sorter=by_view), max(len(viewed) - 1, 0))
    is_timed = viewed[by_view[at]] == key if len(viewed) else np.zeros(len(key), np.bool_)
    judge, triple, verdict = judge[is_timed], latest.triple[is_timed], latest.verdict[is_timed]
    taken = spent[by_view[at[is_timed]]]
    has_page = np.isin(judge * n_questions + numbers.group[triple], with_page)
    is_fast = (taken < TOO_FAST) & ~has_page & (verdict != UNSURE)

    people, inverse = np.unique(judge, return_inverse=True)
    by_name = np.argsort(latest.annotators.byte_order[people])
    n_timed = np.bincount(inverse, minlength=len(people))
    return pa.table(
        {
            "annotator": latest.annotators.decode(people[by_name]),
            "verdicts": n_timed[by_name],
            "median": _medians(inverse, taken, n_timed)[by_name],
            "too_fast": np.bincount(inverse[is_fast], minlength=len(people))[by_name],
        }
    )


def _medians(group: NDArray[np.intp], values: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """(m,) median of the values of each group, none of them empty."""
    ordered = np.append(values[np.lexsort((values, group))], 0.0)
    start = np.cumsum(sizes) - sizes
    return (ordered[start + (sizes - 1) // 2] + ordered[start + sizes // 2]) / 2


def sources_by_host(latest: Judgements) -> Table:
    """Count verdicts by the host of their link: host, verdicts and their share of those with a link, most first."""
    hosts = hosts_of(latest.source)
    counts = pa.table({"host": hosts.filter(pc.not_equal(hosts, ""))}).group_by("host").aggregate([("host", "count")])
    names, numbers = counts["host"].to_pylist(), counts["host_count"].to_numpy()
    order = sorted(range(len(names)), key=lambda row: (-numbers[row], names[row].encode()))[:MOST_HOSTS]
    shown = counts.take(pa.array(order, pa.int64())).rename_columns(["host", "verdicts"])
    data = shown.append_column("share", pa.array(numbers[order] / max(int(numbers.sum()), 1)))
    return Table("hosts", "", "", data, (Column("host"), Column("verdicts"), Column("share", form="share", digits=1)))


class Figures:
    """The last figures of a campaign, made anew when it has changed, by one request at a time.

    While it changes all the time, figures stay until twenty times as long has gone as they took.

    Parameters
    ----------
    service : CampaignService
    state : State
    clock : callable, optional
        Seconds since 1970. Default: the time.
    """

    def __init__(self, service: CampaignService, state: State, clock: Callable[[], float] = time.time) -> None:
        self.service, self.state, self.clock, self.share = service, state, clock, _SHARE
        self._last: dict[str, Any] | None = None
        self._progress: tuple[object, CampaignProgress] | None = None
        self._lock = threading.Lock()

    def progress(self) -> CampaignProgress:
        """Summarise how far the campaign is now."""
        key, last = self._state_of_files(), self._progress
        if last is None or key is None or last[0] != key:
            last = self._progress = key, track(self.service.campaign())
        return last[1]

    def overview(self) -> dict[str, Any]:
        """Give the figures, as they are now or were shortly before, or while others are being made.

        Raises
        ------
        KgtrecError, OSError
            If they cannot be made.
        """
        last = self._last
        if last is not None and (self._is_good(last) or self._lock.locked()):
            return last
        with self._lock:
            if self._last is None or self._last is last:  # or another request has made them meanwhile
                key, campaign = self._whole_state(), self.service.campaign()
                seen = view_totals(self.service.folder, ROLES[ANNOTATOR])
                made = overview(campaign, Numbers.of_campaign(campaign), seen, self.clock())
                self._last = made | {"key": key}
            return self._last

    def _is_good(self, last: dict[str, Any]) -> bool:
        """Whether figures can be shown again."""
        age, key = self.clock() - last["at"], self._whole_state()
        return age <= _OLDEST and ((key is not None and key == last["key"]) or age < last["seconds"] / self.share)

    def _whole_state(self) -> object:
        files = self._state_of_files()
        return None if files is None else (files, self.state.n_views())

    def _state_of_files(self) -> object:
        """Identifies a campaign's contents; None while they may just be changing."""
        states = tuple(FileState.of(Path(self.service.folder, name)) for name in _FILES)
        return states if all(state is None or state.is_old for state in states) else None
