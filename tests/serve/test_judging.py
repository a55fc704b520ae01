"""The annotators' pages: what is shown, and what becomes of what is sent."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.store import OpenCampaign
from kgtrec.data.campaign import Assignments
from kgtrec.data.judgements import Incoming
from kgtrec.formats.campaign import judgements as judgements_module
from kgtrec.formats.campaign.pools import read_pool
from kgtrec.formats.output.folders import GUIDELINES, JUDGEMENTS, SOURCES, TEMPLATES
from kgtrec.serve.submissions import Submission, submit
from kgtrec.serve.views import pace, work_of
from tests.campaign_folders import folder_of, people_of, pool_folder
from tests.campaigns_by_hand import campaign_of
from tests.serve.conftest import FRANCE, NOTE, WIKI, Browser, Page, app_of, campaign_with_roles


def test_the_whole_way_of_an_annotator(page: Page):
    """From the link over the guidelines to the last verdict, by plain forms alone."""
    browser = page.browser("ann", has_read=False)
    assert browser.get("/").location == "/question"
    assert browser.get("/question").location == "/guidelines"
    assert browser.post("/guidelines", token=browser.token()).location == "/"
    first = browser.get("/question").location
    assert first == "/question/2"
    answered = browser.judge(2, verdict_2="N", verdict_3="unsure", source=WIKI)
    assert (answered.status_code, answered.location) == (303, f"/question/{FRANCE}?stored=2")
    answered = browser.judge(verdict_4="N", verdict_5="N", verdict_6="Y", source=WIKI)
    assert (answered.status_code, answered.location) == (303, "/question?stored=3")
    assert "All your tasks are done" in browser.get("/question").text
    assert page.events() == [
        (1, "ann", "annotator", 0, WIKI, ""),
        (2, "ann", "annotator", 2, "", ""),
        *((row, "ann", "annotator", int(row == 5), WIKI, "") for row in (3, 4, 5)),
    ]


OTHER = "https://en.wikipedia.org/wiki/France"
OF_BOB = [
    (row, "bob", "annotator", verdict, f"{WIKI}/bob{row}", f"{NOTE}{row}") for row, verdict in enumerate("YNYNYN")
]
OF_ANN = [(3, "ann", "annotator", "N", WIKI, "mine")]
PAGES = ("/question/2", "/question/1", "/question/3", "/question/verdicts", "/question", "/guidelines", "/")


def without_secrets(text: str) -> str:
    return re.sub(r'name="(token|edition)" value="[^"]*"', "", text)


def test_what_others_say_changes_nothing_that_an_annotator_gets(make: Callable[..., Page], tmp_path: Path):
    """Every page is the same, byte for byte, whatever bob has said; and so is every answer to a verdict."""
    alone = make(OF_ANN)
    folder = folder_of(campaign_with_roles(OF_BOB + OF_ANN), tmp_path / "other")
    (folder / GUIDELINES).write_text((alone.folder / GUIDELINES).read_text())
    both = Page(folder, app_of(folder))
    browsers = [page.browser("ann") for page in (alone, both)]
    for path in PAGES:
        one, other = (browser.get(path) for browser in browsers)
        assert one.status_code == other.status_code
        assert without_secrets(one.text) == without_secrets(other.text)
        assert NOTE not in other.text
    for fields in ({"verdict_5": "Y"}, {"verdict_5": "Y", "source": WIKI}, {"verdict_4": "Y", "before_4": ""}):
        one, other = (browser.judge(json=True, **fields) for browser in browsers)
        assert (one.status_code, one.json) == (other.status_code, other.json)


def test_neither_run_nor_rank_changes_what_an_annotator_gets(make: Callable[..., Page], tmp_path: Path):
    """Other systems, other ranks, the same pages."""
    first = make()
    campaign = campaign_with_roles()
    pool = replace(campaign.pool, rank=campaign.pool.rank[::-1] + 7, runs=("another-run",))
    folder = folder_of(replace(campaign, pool=pool), tmp_path / "other")
    (folder / GUIDELINES).write_text((first.folder / GUIDELINES).read_text())
    second = Page(folder, app_of(folder))
    one, other = (page.browser("ann") for page in (first, second))
    for path in PAGES:
        assert without_secrets(one.get(path).text) == without_secrets(other.get(path).text)
        assert "run" not in re.sub("<script[^>]*>", "", one.get(path).text)


def test_everybody_has_an_order_of_their_own(page: Page):
    """Of the candidates; the same at every visit, and the same in the page as in the tasks that are exported."""
    orders = {}
    for person in ("ann", "bob"):
        browser = page.browser(person)
        orders[person] = re.findall(r'id="task-([0-9]+)"', browser.get(f"/question/{FRANCE}").text)
        assert orders[person] == re.findall(r'id="task-([0-9]+)"', browser.get(f"/question/{FRANCE}").text)
        assert sorted(orders[person]) == ["4", "5", "6"]
    assert orders["ann"] != orders["bob"]


def test_what_is_known_is_marked_and_names_are_text(page: Page):
    """The known answer is no candidate; a script as a name runs nowhere."""
    shown = page.browser("ann").get(f"/question/{FRANCE}").text
    known = shown[shown.index('class="known"') : shown.index("</details>")]
    assert "1 answer is known already" in known
    assert "berlin" in known
    assert "berlin" not in shown.replace(known, "")
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert 'rel="noreferrer noopener" target="_blank">en.wikipedia.org</a>' in shown


def test_the_guidelines_are_shown_once_and_again_when_they_change(page: Page):
    """HTML in them is text; without any, work begins at once."""
    browser = page.browser("ann", has_read=False)
    shown = browser.get("/guidelines").text
    assert "<em>closely</em>" in shown
    assert "&lt;script&gt;alert(1)" in shown
    browser.post("/guidelines", token=browser.token())
    assert "I have read this" not in browser.get("/guidelines").text
    assert browser.get("/question").location == "/question/2"
    (page.folder / GUIDELINES).write_text("# Something else\n")
    assert browser.get("/question").location == "/guidelines"
    (page.folder / GUIDELINES).unlink()
    assert browser.get("/question").location == "/question/2"


def test_one_answer_can_be_saved_by_itself(page: Page, ann: Browser):
    """The others on the form are left, and the page comes back at the next open one."""
    answer = ann.judge(verdict_4="N", verdict_5="Y", source=WIKI, only="4")
    assert answer.location.startswith(f"/question/{FRANCE}?stored=1#task-")
    assert [event[0] for event in page.events()] == [3]
    assert "1 stored." in ann.get(answer.location.partition("#")[0]).text


def test_the_same_verdict_twice_is_one_event(page: Page, ann: Browser):
    """A double click, a retry, the back button, a second tab: all of them are told that it is stored."""
    for _ in range(3):
        answer = ann.judge(json=True, verdict_4="N", source_4=WIKI, note_4="a\r\nb ", before_4="", only="4")
        assert answer.status_code == 200
        assert answer.json["outcomes"][0]["answer"] == "No"
    assert page.events() == [(3, "ann", "annotator", 0, WIKI, "a\nb")]


def test_another_verdict_takes_the_place_of_the_one_that_the_page_showed(page: Page, ann: Browser):
    """A correction is an event of its own; the earlier one stays in the file."""
    ann.judge(verdict_4="N", source_4=WIKI, only="4")
    assert ann.judge(verdict_4="Y", source_4=OTHER, only="4").status_code == 303
    assert [event[3:5] for event in page.events()] == [(0, WIKI), (1, OTHER)]


@pytest.mark.parametrize("json", [False, True])
def test_a_verdict_that_the_page_did_not_show_is_never_replaced(page: Page, ann: Browser, json):
    """Two tabs with different verdicts: the second is told both, and may then say it again."""
    ann.judge(verdict_4="N", source_4=WIKI, note_4="first tab", only="4")
    answer = ann.judge(json=json, verdict_4="Y", source_4=OTHER, before_4="", only="4")
    assert answer.status_code == 409
    assert len(page.events()) == 1
    if json:
        now = answer.json["outcomes"][0]
        assert (now["kind"], now["verdict"], now["note"]) == ("conflict", "N", "first tab")
        digest = now["digest"]
    else:
        assert "first tab" in answer.text
        assert OTHER in answer.text
        digest = re.search('name="before-4" value="([^"]+)"', answer.text)[1]
    assert ann.judge(verdict_4="Y", source_4=OTHER, before_4=digest, only="4").status_code == 303
    assert [event[3] for event in page.events()] == [0, 1]


def test_a_verdict_of_another_program_at_the_same_moment_is_not_replaced(page: Page, monkeypatch):
    """It comes between the look and the lock: what is checked is what is in the file."""
    service = page.app.extensions["kgtrec"].service
    store = service._opened.store

    def late(rows: Any, **policies: Any) -> Any:
        OpenCampaign(page.folder).store([Incoming("x", "ann", "N", 4, source=WIKI)])
        return store(rows, **policies)

    monkeypatch.setattr(service._opened, "store", late)
    (outcome,), _ = submit(service, service.look("ann"), "annotator", [Submission(page.numbers.tasks[3], "Y", OTHER)])
    assert (outcome.kind, outcome.now.verdict) == ("conflict", "N")
    assert [event[3] for event in page.events()] == [0]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"verdict_4": "Y"}, "expected a link to the source of a Yes, found none"),
        ({"verdict_4": "N", "source_4": "http://en.wikipedia.org/"}, "expected a link that begins with https://"),
        ({"verdict_4": "N", "source_4": "https://evil.example.org/"}, "expected a link to one of the campaign"),
        ({"verdict_4": "N", "source_4": "javascript:alert(1)"}, "expected a link"),
        ({"verdict_4": "unsure", "note_4": "x" * 10_001}, "expected a note of at most 10,000 characters"),
        ({"verdict_4": "unsure", "note_4": "a\x1b[31m"}, "expected a note without control characters"),
        ({"verdict_4": "maybe"}, "no answer was chosen"),
        ({"note_4": "only a note"}, "no answer was chosen"),
    ],
)
def test_what_the_campaign_refuses_is_told_and_what_was_typed_stays(page: Page, ann: Browser, fields, why):
    """Nothing is stored of it, and the rules are those of the import."""
    answer = ann.judge(**fields)
    assert answer.status_code == 422
    assert why in answer.text.replace("&#39;", "'")
    for text in (fields.get("source_4", ""), fields.get("note_4", "")[:50].replace("\x1b", "")):
        assert text in answer.text.replace("\x1b", "")
    assert page.events() == []


def test_good_answers_beside_a_refused_one_are_stored(page: Page):
    """The refused one is told."""
    answer = page.browser("ann").judge(verdict_4="N", source_4=WIKI, verdict_5="Y", verdict_6="unsure")
    assert answer.status_code == 422
    assert [(event[0], event[3]) for event in page.events()] in ([(3, 0), (5, 2)], [(5, 2), (3, 0)])


def test_a_full_disk_is_told_and_nothing_is_stored_in_part(page: Page, ann: Browser, monkeypatch):
    """507; once there is room the same form is stored."""
    fsync = os.fsync

    def full(descriptor: int) -> None:
        monkeypatch.setattr(judgements_module.os, "fsync", fsync)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for json in (False, True):
        monkeypatch.setattr(judgements_module.os, "fsync", full)
        answer = ann.judge(json=json, verdict_4="unsure", verdict_5="unsure")
        assert answer.status_code == 507
        assert "Nothing was stored" in (answer.json["say"] if json else answer.text)
        assert (page.folder / JUDGEMENTS).read_bytes() == b""
    assert ann.judge(verdict_4="unsure", verdict_5="unsure").status_code == 303


def test_undo_brings_the_former_verdict_back(page: Page, ann: Browser):
    """As an event; a first verdict stays until another is given, and the page says so."""
    ann.judge(verdict_4="N", source_4=WIKI, note_4="first", only="4")
    answer = ann.judge(undo="4")
    assert answer.location == f"/question/{FRANCE}?again=4#task-4"
    again = ann.get(answer.location.partition("#")[0]).text
    assert "No is stored until you give another answer" in again
    assert not re.search('name="verdict-4"[^>]*checked', again)
    ann.judge(verdict_4="unsure", only="4")
    assert ann.judge(undo="4").location.startswith(f"/question/{FRANCE}?stored=1#task-")
    assert [event[3:] for event in page.events()] == [(0, WIKI, "first"), (2, "", ""), (0, WIKI, "first")]
    assert ann.judge(undo="5").status_code == 404
    assert ann.judge(undo="1").status_code == 404


def test_tasks_of_another_pool_are_not_taken(page: Page, ann: Browser):
    """Numbers may mean something else there."""
    assert ann.judge(verdict_4="unsure", edition="0" * 16).status_code == 409
    assert page.events() == []


def test_what_was_typed_for_one_campaign_is_not_for_another(make: Callable[..., Page], tmp_path: Path):
    """Browsers keep it under the edition: the same after a new start, another one for each campaign on a pool."""
    first = make()
    other = Page(folder_of(campaign_with_roles(), tmp_path / "other"), app_of(tmp_path / "other"))
    again = Page(first.folder, app_of(first.folder))
    editions = [page.browser("ann").hidden("/question/1", "edition") for page in (first, other, again)]
    assert editions[0] == editions[2] != editions[1]
    answer = other.browser("ann").judge(verdict_4="unsure", edition=editions[0])
    assert answer.status_code == 409
    assert other.events() == []


def test_my_verdicts_can_be_looked_through_and_corrected(make: Callable[..., Page]):
    """By answer and words; each leads to its question. Those of others are not among them."""
    page = make([*OF_BOB, (3, "ann", "annotator", "N", WIKI, "a river"), (4, "ann", "annotator", "Y", OTHER, "")])
    browser = page.browser("ann")
    every = browser.get("/question/verdicts").text
    assert "2 found." in every
    assert f'href="/question/{FRANCE}#task-4"' in every
    assert "a river" in browser.get("/question/verdicts?verdict=N").text
    assert "1 found." in browser.get("/question/verdicts?text=RIVER").text
    assert "0 found." in browser.get("/question/verdicts?verdict=unsure").text
    assert "2 found." in browser.get("/question/verdicts?verdict=__class__&page=-1").text
    assert NOTE not in every
    browser.judge(verdict_4="Y", source_4=WIKI, note_4="no river", only="4")
    assert [event[3] for event in page.events() if event[1] == "ann"] == [0, 1, 1]


def test_a_stored_source_that_is_no_link_is_shown_as_text(make: Callable[..., Page]):
    """Other programs may have written it."""
    page = make([(3, "ann", "annotator", "N", "javascript:alert(1)", "")])
    shown = page.browser("ann").get("/question/verdicts").text
    assert "javascript:alert(1)" in shown
    assert 'href="javascript' not in shown


def test_what_changes_in_the_folder_is_seen_at_the_next_page(page: Page, ann: Browser):
    """A template edited by hand, a verdict imported from a spreadsheet."""
    assert "Is paris the capital" in ann.get("/question/1").text.replace("Paris", "paris")
    (page.folder / TEMPLATES).write_text("relation\ttemplate\ncapital\tDoes {head} have {tail} as its seat?\n")
    assert "Does France have Paris as its seat?" in ann.get("/question/1").text
    OpenCampaign(page.folder).store([Incoming("ann.csv:2", "ann", "N", 4, source=WIKI)])
    assert "Stored: No" in ann.get("/question/1").text


FORMER, BETTER = WIKI, "https://en.wikipedia.org/wiki/List_of_capitals"


def test_a_link_that_is_corrected_asks_about_the_answers_under_the_former_one(page: Page, ann: Browser):
    """A, A, then B: without a script, the answers with A are counted, and get B when the person says so."""
    ann.judge(source=FORMER, verdict_4="N", verdict_5="Y", note_5="kept")
    asked = ann.judge(source=BETTER, verdict_6="N")
    assert asked.status_code == 200
    assert "2 answers of this question have the former link" in asked.text
    assert f'name="relink" value="{FORMER}"' in asked.text
    assert 'id="relink" class="notice" role="alert">' in asked.text
    assert [event[4] for event in page.events()] == [FORMER, FORMER, BETTER]
    fields = dict(re.findall(r'name="([^"]+)"[^>]* value="([^"]*)"', asked.text))
    known = {name.replace("-", "_"): value for name, value in fields.items() if name.startswith(("before", "edit"))}
    token = ann.token(f"/question/{FRANCE}")
    answer = ann.post(
        f"/question/{FRANCE}", **(known | {"token": token, "link": BETTER, "source": BETTER, "relink": FORMER})
    )
    assert answer.status_code == 303
    events = page.events()
    assert sorted(event[:6] for event in events[3:]) == [
        (3, "ann", "annotator", 0, BETTER, ""),
        (4, "ann", "annotator", 1, BETTER, "kept"),
    ]
    assert 'id="relink" class="notice" role="alert" hidden>' in ann.get(f"/question/{FRANCE}").text


@pytest.mark.parametrize(
    "fields",
    [
        {"source": FORMER, "verdict_6": "N"},  # the same link
        {"source": "", "verdict_6": "unsure"},  # none
        {"source": BETTER, "verdict_4": "N", "source_4": BETTER, "verdict_5": "Y", "source_5": BETTER},  # all have it
    ],
)
def test_a_link_that_leaves_no_answer_behind_asks_nothing(ann: Browser, fields):
    """Nor does one that was not there before."""
    assert ann.judge(source=FORMER, verdict_4="N", verdict_5="Y").status_code == 303
    assert ann.judge(**fields).status_code == 303


def test_a_folder_that_cannot_be_read_is_told_without_its_secrets(
    page: Page, ann: Browser, caplog: pytest.LogCaptureFixture
):
    """503, and the place of the mistake is not for annotators but in one line of the log; mended, it goes on."""
    path = page.folder / SOURCES
    before = path.read_text()
    path.write_text("no host\n")
    answer = ann.get("/question/1")
    assert answer.status_code == 503
    assert str(page.folder) not in answer.text
    assert f"GET /question/<int:number>: {path}:1: " in caplog.text
    assert "Traceback" not in caplog.text
    path.write_text(before)
    assert ann.get("/question/1").status_code == 200


def test_view_times_are_kept_apart_from_verdicts(page: Page, ann: Browser):
    """Of one's own tasks only, and of a bounded length."""
    token = ann.token()
    assert ann.post("/question/seen", token=token, task="4", seconds="12.5", opened="2").status_code == 204
    assert ann.post("/question/seen", token=token, task="4", seconds="1e9").status_code == 400
    assert ann.post("/question/seen", token=token, task="4", seconds="99999").status_code == 204
    number = page.numbers.tasks[3]
    assert [view[:3] + view[4:] for view in page.state.views()] == [
        ("ann", "annotator", number, 12.5, 2),
        ("ann", "annotator", number, 3600.0, 0),
    ]
    assert (page.folder / JUDGEMENTS).read_bytes() == b""


def big(folder: Path, n_people: int) -> Page:
    """Fifteen triples of three questions, each of them everybody's."""
    names = [f"p{place:02}" for place in range(n_people)]
    made = read_pool(pool_folder(folder.with_name("pool"), (5,) * 3))
    pool = made.pool
    people = people_of(*((name, "annotator", True) for name in names))
    every = np.arange(len(pool), dtype=np.int32)
    assignments = Assignments(
        np.repeat(np.arange(n_people, dtype=np.int32), len(pool)), np.tile(every, n_people), people.names
    )
    campaign = replace(
        campaign_of(),
        pool=pool,
        people=people,
        assignments=assignments,
        automatic=made.automatic,
        known_answers=made.known_answers,
        names={},
        templates={},
    )
    folder_of(campaign, folder)
    return Page(folder, app_of(folder))


@pytest.mark.slow
def test_twenty_people_at_once_lose_nothing_and_nothing_is_stored_twice(tmp_path: Path):
    """Each sends every verdict twice, and an import runs beside them."""
    n_people, n_tasks = 20, 15
    page = big(tmp_path / "campaign", n_people + 1)
    start = threading.Barrier(n_people + 1)

    def work(person: str) -> int:
        browser = page.browser(person)
        edition, token = browser.hidden("/question/1", "edition"), browser.token()
        start.wait()
        stored = 0
        for task in range(1, n_tasks + 1):
            number = (task - 1) // 5 + 1
            fields = {f"verdict_{task}": "N", f"source_{task}": f"{WIKI}/{person}/{task}", "only": task}
            for _ in range(2):
                answer = browser.post(
                    f"/question/{number}",
                    headers={"Accept": "application/json"},
                    token=token,
                    edition=edition,
                    **fields,
                )
                stored += answer.status_code == 200
        return stored

    def import_all() -> int:
        opened = OpenCampaign(page.folder)
        start.wait()
        for task in range(1, n_tasks + 1):
            opened.store([Incoming("x", f"p{n_people}", "N", task, source=f"{WIKI}/import/{task}")])
        return 2 * n_tasks

    with ThreadPoolExecutor(n_people + 1) as pool:
        done = [pool.submit(work, f"p{place:02}") for place in range(n_people)] + [pool.submit(import_all)]
        assert [each.result() for each in done] == [2 * n_tasks] * (n_people + 1)
    events = page.events()
    assert len(events) == len({event[:2] for event in events}) == (n_people + 1) * n_tasks
    assert {event[4] for event in events if event[1] == "p03"} == {f"{WIKI}/p03/{task}" for task in range(1, 16)}


def test_the_pace_is_told_without_pauses_and_a_break_after_an_hour():
    """A minute each from 8 to 9 and from 10 to 11; the pause between does not count."""
    minutes = np.concatenate([np.arange(480, 540), np.arange(600, 660)])
    assert pace(minutes * 60, 90, 660 * 60) == (90, True)
    assert pace(minutes * 60, 90, 720 * 60) == (90, False)
    assert pace(minutes[60:] * 60, 90, 659 * 60) == (90, False)
    assert pace(minutes[:0], 90, 660 * 60) == (None, False)


@given(st.lists(st.integers(0, 10_000), max_size=40), st.integers(0, 500))
def test_the_pace_does_not_depend_on_the_order_of_verdicts(minutes: list[int], left: int):
    """Nor is it negative; nobody with nothing left needs time."""
    moments = np.array(minutes, np.int64) * 60
    found = pace(moments, left, 700_000)
    assert found == pace(moments[::-1], left, 700_000)
    assert found[0] is None or (found[0] >= 0 and (left > 0 or found[0] == 0))


def test_the_next_question_comes_round_to_those_that_were_skipped(page: Page):
    """After the last one the first with something to do; itself is never the next."""
    service = page.app.extensions["kgtrec"].service
    work = work_of(service, service.look("bob"), "annotator")
    numbers = work.numbers.tolist()
    assert work.next_question() == numbers[0]
    assert [work.next_question(number) for number in numbers] == [*numbers[1:], numbers[0]]
    assert work_of(service, service.look("eve"), "annotator").next_question() is None
