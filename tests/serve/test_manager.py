"""The pages of those who manage: figures, people, templates, downloads, and what attackers put into them."""

from __future__ import annotations

import csv
import errno
import hashlib
import html
import io
import json
import re
import shutil
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.agreement import annotator_agreement, campaign_agreement
from kgtrec.campaign.calibrate import calibration
from kgtrec.campaign.plan import sample_state
from kgtrec.campaign.rounds import draw_round
from kgtrec.campaign.track import track
from kgtrec.campaign.verdict_rules import hosts_of
from kgtrec.cli import main
from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import Gold
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.folder import default_guidelines, read_campaign, read_people, read_templates
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.output.folders import CAMPAIGN_FILES, PEOPLE, SERVE_FILES, TEMPLATES
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.report.cells import MINUS
from kgtrec.report.show import table_text
from kgtrec.serve import manager_figures
from kgtrec.serve.app import create_app
from kgtrec.serve.manager import grid, set_template
from kgtrec.serve.manager_downloads import folder_archive, safe_name
from kgtrec.serve.manager_figures import (
    DAYS,
    FEW,
    TOO_FAST,
    Figures,
    agreement_with_others,
    needs,
    overview,
    pace_of,
    per_day,
    time_of,
)
from kgtrec.serve.service import Numbers
from kgtrec.serve.state import View, view_totals
from tests.campaign_folders import folder_of
from tests.judged_pools import judgements_of
from tests.serve.conftest import URL, WIKI, Browser, Page, campaign_with_roles, draw

pytestmark = pytest.mark.slow

EVENTS = [
    *((triple, "bob", "annotator", "N", WIKI, "") for triple in range(6)),
    (1, "ann", "annotator", "N", "https://bnf.fr/x", ""),
    (2, "ann", "annotator", "unsure", "", "no page about it"),
    (3, "ann", "annotator", "Y", WIKI, ""),
]
HOSTILE = ("<script>alert(1)</script>", "{{7*7}}", "{0.__class__}", "../../etc", "=1+1", '"><img src=x>', "ann'; --")
MANAGE = "/manage/people"


@pytest.fixture
def judged(make: Callable[..., Page]) -> Page:
    """A page of a campaign with verdicts, whose figures are made anew whenever it has changed."""
    made = make(EVENTS)
    made.app.extensions["kgtrec"].figures.share = np.inf
    return made


def act(browser: Browser, action: str, **fields: Any) -> Any:
    """Send one of the forms of the people's page, and say yes where it asks."""
    answer = posted(browser, MANAGE, action=action, **fields)
    sure = re.search('name="sure" value="([0-9a-f]+)"', answer.text)
    return posted(browser, MANAGE, action=action, **fields, sure=sure[1]) if sure else answer


def raw(browser: Browser, path: str) -> Any:
    """An answer as it is."""
    return browser.get(path).response


def posted(browser: Browser, path: str, **fields: str) -> Any:
    """A form whose field names have underscores."""
    data = {"token": browser.token(MANAGE)} | fields
    return browser.client.post(path, base_url=URL, data=data, headers={"Origin": URL}, buffered=True)


def shown(text: str) -> str:
    """The text of a page without markup, words apart by one blank."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def contents(folder: Path, *names: str) -> dict[str, bytes]:
    """What the files of a campaign hold, or those with these names; not those of its page."""
    paths = [folder / name for name in names] or folder.iterdir()
    return {path.name: path.read_bytes() for path in paths if path.name not in SERVE_FILES}


# --- figures


def test_the_dashboard_shows_what_the_commands_print(judged: Page, capsys: pytest.CaptureFixture[str]):
    """Each row of status and agreement is on it, with the same numbers."""
    text = shown(judged.browser("max").get("/manage").text)
    campaign = read_campaign(judged.folder)
    tables = (*track(campaign).tables()[1:], campaign_agreement(campaign, warns=False).tables()[0])
    for table in tables:
        for row in grid(table)["rows"]:
            assert " ".join(row) in text
        printed = table_text(table).replace("-", MINUS).replace(",", "")
        for row in grid(table)["rows"]:
            assert all(cell.replace("-", MINUS).replace(",", "") in printed for cell in row)
    main(["campaign", "status", str(judged.folder), "--per", "side"])
    assert re.search(r"^tail +6 ", capsys.readouterr().out, re.MULTILINE)
    assert "2 wait for an adjudicator" in text
    assert "2 verdicts are left for annotators" in text


def test_the_dashboard_shows_how_well_a_sample_is_known(make: Callable[..., Page]):
    """In plain words, once two questions are done; of a whole pool it says nothing; a round needs no restart."""
    page = make()
    page.app.extensions["kgtrec"].figures.share = np.inf
    manager = page.browser("max")
    assert "random sample" not in shown(manager.get("/manage").text)
    draw_round(page.folder, 1.0)
    text = shown(manager.get("/manage").text)
    assert "Done are 0 of 3 questions, and 0 of 6 triples." in text
    assert "is shown once two questions are done" in text
    said = [(row, name, "annotator", "YNYNYY"[row], WIKI, "") for row in range(6) for name in ("ann", "bob")]
    append_judgements(page.folder / "judgements.jsonl", campaign_with_roles().pool, judgements_of(said[:6]))
    text, state = shown(manager.get("/manage").text), sample_state(read_campaign(page.folder))
    assert "Done are 2 of 3 questions, and 3 of 6 triples." in text
    assert state is not None
    assert [*state.widths] == ["P@6", "nDCG@6", "AP@6"]
    for measure, width in state.widths.items():
        assert f"{measure} is known to within ±{width:.3f}." in text
    assert "3 of 6 triples settled (50.0%)" in text


def test_of_what_is_seen_a_manager_sees_all_and_stores_nothing(judged: Page, manager: Browser):
    """Looking at every page changes no file."""
    before = contents(judged.folder)
    for path in ("/manage", MANAGE, "/manage/templates", "/manage/template?relation=capital", "/manage/downloads"):
        assert manager.get(path).status_code == 200
    for path in ("qrels", "campaign", "agreement"):
        assert raw(manager, f"/manage/downloads/{path}").status_code == 200
    assert contents(judged.folder) == before


def test_a_manager_judges_nothing(manager: Browser):
    """Neither the pages nor the forms of those who judge answer."""
    for path in ("/question", "/question/1", "/question/verdicts"):
        assert manager.get(path).status_code == 403
    assert posted(manager, "/question/1", edition="x").status_code == 403


def test_figures_follow_the_campaign(judged: Page, manager: Browser):
    """A verdict that somebody gives is in them at the next look."""
    assert "2 wait for an adjudicator" in shown(manager.get("/manage").text)
    ann = judged.browser("ann")
    assert ann.judge(1, verdict_6="Y", source=WIKI).status_code == 303
    assert "3 wait for an adjudicator" in shown(manager.get("/manage").text)


def test_figures_are_kept_while_nothing_changes_and_for_a_while_when_much_does(make: Callable[..., Page]):
    """They take at most a twentieth of the time, and ten minutes is the longest."""
    page = make(EVENTS)
    site = page.app.extensions["kgtrec"]
    now = 1e9
    figures = Figures(site.service, site.state, clock=lambda: now)
    first = figures.overview()
    now += 500
    site.state.add_view(View("ann", "annotator", 1, now, 1.0, 0))
    assert figures.overview() is not first  # long enough ago, and there is something new
    second = figures.overview()
    site.state.add_view(View("ann", "annotator", 1, now, 1.0, 0))
    figures.share = second["seconds"] / 60  # as if a twentieth were a minute
    now += 59
    assert figures.overview() is second
    now += 2
    third = figures.overview()
    assert third is not second
    now += 601
    assert figures.overview() is not third


def test_whoever_asks_while_figures_are_made_gets_the_former_ones(
    make: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
):
    """One request at a time is busy with them, and no other waits for it."""
    page = make(EVENTS)
    site = page.app.extensions["kgtrec"]
    figures = site.figures
    figures.share = np.inf
    first = figures.overview()
    go, calls = threading.Event(), []

    def slow(*values: Any) -> Any:
        calls.append(values)
        assert go.wait(10)
        return made_before(*values)

    made_before = manager_figures.overview
    monkeypatch.setattr(manager_figures, "overview", slow)
    site.state.add_view(View("ann", "annotator", 1, 0.0, 1.0, 0))
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(figures.overview)
        until(lambda: calls)
        assert figures.overview() is first
        assert page.browser("ann").judge(1, verdict_6="Y", source=WIKI).status_code == 303  # meanwhile
        go.set()
        assert making.result() is not first
    assert len(calls) == 1


def until(condition: Callable[[], Any]) -> Any:
    """What a condition gives once it is true."""
    import time

    deadline = time.monotonic() + 10
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_figures_that_cannot_be_made_are_an_error_and_no_lasting_one(
    manager: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """503, and the next look has them; the log says why in one line."""

    def wrong(*_: Any) -> Any:
        raise KgtrecError("cannot be read")

    with monkeypatch.context() as patched:
        patched.setattr(manager_figures, "overview", wrong)
        assert manager.get("/manage").status_code == 503
    assert [(entry.message, entry.exc_info) for entry in caplog.records] == [("GET /manage: cannot be read", None)]
    assert manager.get("/manage").status_code == 200


@given(
    st.lists(st.tuples(st.integers(0, 3_000_000), st.integers(0, 2)), max_size=50), st.integers(2_000_000, 3_000_000)
)
def test_verdicts_per_day_are_counts_by_the_calendar(given: list[tuple[int, int]], now: int):
    """Against a loop, for each of three people."""
    seconds, people = np.array(given, np.int64).reshape(-1, 2).T
    expected = [
        [sum(s // 86400 == now // 86400 - DAYS + 1 + place and p == person for s, p in given) for place in range(DAYS)]
        for person in range(3)
    ]
    assert per_day(seconds, people, 3, now).tolist() == expected


def test_the_pace_counts_first_verdicts_of_the_last_days():
    """Two tasks in two days, one of them corrected: one a day, so that four take four days; begun days are whole."""
    events = judgements_of([(0, "ann", "annotator", "N"), (0, "ann", "annotator", "Y"), (1, "ann", "annotator", "N")])
    events = replace(events, time=labels_of(["1970-01-02T00:00:00Z", "1970-01-03T00:00:00Z", "1970-01-03T00:00:00Z"]))
    pace = pace_of(events, 4, now=3 * 86400.0)
    assert pace == {"recent": 2, "days": 2, "left": 4, "per_day": 1.0, "done_at": 7 * 86400.0}
    assert pace_of(events, 4, now=60 * 86400.0)["done_at"] is None
    first_hour = pace_of(events, 100, now=86400.0 + 3600)
    assert [first_hour[name] for name in ("recent", "days", "per_day")] == [1, 1, 1.0]
    assert pace_of(events, 0, now=3 * 86400.0)["done_at"] is None


def test_too_fast_is_what_no_source_was_opened_for():
    """Of the question, for any candidate; unsure is never too fast, and what was not timed is not counted."""
    campaign = campaign_with_roles([event for event in EVENTS if event[1] == "bob"])
    numbers = Numbers.of_campaign(campaign)
    task = numbers.task.tolist()  # the first triple is alone, then two and three of one question
    seen = [
        ("bob", task[0], TOO_FAST - 0.1, 0),
        ("bob", task[1], 1.0, 0),
        ("bob", task[2], 20.0, 1),
        ("bob", task[3], TOO_FAST, 0),
        ("nobody", task[4], 1.0, 0),
        ("bob", 12345, 1.0, 0),
    ]
    assert time_of(campaign.judgements, numbers, seen).to_pylist() == [
        {"annotator": "bob", "verdicts": 4, "median": (TOO_FAST + TOO_FAST - 0.1) / 2, "too_fast": 1}
    ]
    unsure = replace(campaign.judgements, verdict=np.full(6, 2, np.int8))
    assert time_of(unsure, numbers, seen)["too_fast"].to_pylist() == [0]
    assert time_of(campaign.judgements, numbers, []).num_rows == 0


def test_view_times_come_from_the_state(judged: Page):
    """Two looks at a task are one time."""
    task = judged.numbers.tasks[0]
    for _ in range(2):
        judged.state.add_view(View("bob", "annotator", task, 0.0, 1.5, 0))
    assert view_totals(judged.folder, "annotator") == [("bob", task, 3.0, 0)]
    assert view_totals(judged.folder, "expert") == []
    assert " bob 1 3.0 1 " in shown(judged.browser("max").get("/manage").text)


def test_figures_do_without_the_state(tmp_path: Path):
    """It may be lost, and is not made by looking."""
    assert view_totals(tmp_path, "annotator") == []
    assert list(tmp_path.iterdir()) == []


@given(
    st.lists(
        st.from_regex(r"[hH]ttps://[A-Za-z0-9.]{0,9}([/?#][a-z/?#]{0,5})?", fullmatch=True)
        | st.sampled_from(["", "http://x.org/", "https://", "javascript:alert(1)", " https://x.org"]),
        max_size=8,
    )
)
def test_hosts_of_links_are_the_host_of_each(links: list[str]):
    """As the standard library reads it; none of texts that are no links."""
    hosts = [urlsplit(link).netloc.lower() if link.lower().startswith("https://") else "" for link in links]
    assert hosts_of(labels_of(links)).to_pylist() == hosts


def test_sources_are_counted_by_host(judged: Page):
    """The last verdicts of annotators with a link: seven of one host, one of another."""
    text = shown(judged.browser("max").get("/manage").text)
    assert "en.wikipedia.org 7 87.5%" in text
    assert "bnf.fr 1 12.5%" in text


def pair_events(n_questions: int, agrees: bool) -> list[tuple[int, str, str, str]]:
    """ann and bob agree on everything; cleo agrees with nobody, or with all."""
    rows = [(triple, name, "annotator", "N") for triple in range(n_questions) for name in ("ann", "bob")]
    return [*rows, *((triple, "cleo", "annotator", "N" if agrees else "Y") for triple in range(n_questions))]


@pytest.mark.parametrize(("n", "agrees", "expected"), [(12, False, 2), (12, True, 0), (9, False, 0)])
def test_pairs_that_agree_unusually_little(n: int, agrees: bool, expected: int):
    """The two pairs with who agrees with nobody; of few questions nothing is said."""
    from tests.campaign.test_track import campaign_of
    from tests.judged_pools import pool_of

    campaign = campaign_of([])
    pool = pool_of([1] * n)
    automatic = replace(campaign.automatic, rule=np.full(n, -1, np.int8))
    campaign = replace(campaign, pool=pool, automatic=automatic, judgements=judgements_of(pair_events(n, agrees)))
    none = replace(campaign.assignments, annotator=np.zeros(0, np.int32), triple=np.zeros(0, np.int32))
    campaign = replace(campaign, assignments=none)
    found = overview(campaign, Numbers.of_campaign(campaign), [], now=0.0)
    assert [row[:2] for row in grid(found["pairs"])["rows"]] == [("ann", "cleo"), ("bob", "cleo")][:expected]


def test_calibration_is_that_of_the_command(judged: Page):
    """Each person's hits on gold with their interval."""
    write_gold(judged.folder, Gold.of([("fr", "capital", "paris", "Y", "")]))
    text = shown(judged.browser("max").get("/manage").text)
    for row in grid(calibration(read_campaign(judged.folder)).tables()[0])["rows"]:
        assert " ".join(row) in text


def test_agreement_with_others_counts_every_pair_of_verdicts():
    """Of ann: equal to bob's in 12 of 12, to cleo's in 0 of 12; cleo agrees with nobody."""
    from tests.judged_pools import pool_of

    events = judgements_of(pair_events(12, agrees=False))
    report = annotator_agreement(pool_of([1] * 12), events, per="pair", warns=False)
    assert agreement_with_others(report) == {"ann": (0.5, 24), "bob": (0.5, 24), "cleo": (0.0, 24)}


def test_a_new_link_is_asked_for_only_where_there_is_one(judged: Page):
    """The former one is void for good; who has none loses nothing."""
    former, browser = judged.link_of("bob"), judged.browser("max")
    asked = shown(posted(browser, MANAGE, action="link", name="bob").text)
    assert "A new link for bob? Then: the former link of bob is void at once bob is signed out" in asked
    assert judged.browser().get(former).status_code == 200
    assert 'id="link"' in posted(browser, MANAGE, action="link", name="ivy").text


def made_by_hand(**other: Any) -> dict[str, Any]:
    """Figures of a campaign of which nothing has to be done."""
    progress = SimpleNamespace(step="judge", waiting=0, without_template=(), per_triple=2)
    return {"progress": progress, "annotators": [], "pairs": None, "gold": None} | other


def row_of(**other: Any) -> dict[str, Any]:
    return {"annotator": "a&b", "to_do": 1, "days": [0] * 13 + [1], "gold": None, "time": None} | other


def gold_of(right: int, wrong: int, high: float) -> dict[str, Any]:
    return {"right": right, "wrong": wrong, "share": right / (right + wrong), "low": 0.1, "high": high}


@pytest.mark.parametrize(
    ("progress", "figures", "n_sent_back", "expected"),
    [
        ({}, {"annotators": [row_of()]}, 0, []),
        ({"step": "people"}, {}, 0, ["Fewer annotators are active than should judge each triple"]),
        ({"step": "qrels", "without_template": ("r",)}, {}, 0, ["Everything is judged"]),
        ({"waiting": 1}, {}, 0, ["Waiting for an adjudicator: 1 triple (eve)"]),
        (
            {"without_template": ("r", "s")},
            {},
            3,
            ["Sent back and not answered yet: 3 verdicts", "Asked about in general words: 2 relations"],
        ),
        ({}, {"annotators": [row_of(days=[9] * 7 + [0] * 7)]}, 0, ["No verdict in 7 days: a&b"]),
        ({}, {"annotators": [row_of(days=[0] * 14, to_do=0)]}, 0, []),
        (
            {},
            {"annotators": [row_of(gold=gold_of(5, 5, 0.8))], "gold": (90, 100)},
            0,
            ["a&b is right on 50.0% [10.0%, 80.0%] of gold, all together on 90.0%"],
        ),
        ({}, {"annotators": [row_of(gold=gold_of(5, FEW - 6, 0.8))], "gold": (90, 100)}, 0, []),
        ({}, {"annotators": [row_of(gold=gold_of(5, 5, 0.9))], "gold": (90, 100)}, 0, []),
        ({}, {"annotators": [row_of(time={"verdicts": 10, "too_fast": 1})]}, 0, ["a&b gave 1 of 10 verdicts too fast"]),
        ({}, {"annotators": [row_of(time={"verdicts": 9, "too_fast": 9})]}, 0, []),
    ],
)
def test_what_needs_a_manager_is_what_intervals_and_counts_support(progress, figures, n_sent_back, expected):
    """Of few verdicts nothing is said, nor of an interval that reaches what all give."""
    made = made_by_hand(**figures)
    vars(made["progress"]).update(progress)
    found = needs(made, ["eve"], n_sent_back)
    assert [what for what, _, _ in found] == expected
    assert all(address == "/manage/verdicts?person=a%26b" for what, address, _ in found if what.startswith("a&b "))


def test_without_an_adjudicator_the_link_adds_one():
    """Since nobody else can decide."""
    made = made_by_hand()
    made["progress"].waiting = 2
    assert needs(made, [], 0) == [
        ("Waiting for an adjudicator: 2 triples, and there is none", "/manage/people#add", "Add one")
    ]


def test_every_need_links_to_a_page_that_is_there(judged: Page, manager: Browser, monkeypatch: pytest.MonkeyPatch):
    """And where there is none the page says so."""
    addresses = re.findall(r'<li><span>[^<]*</span> <a href="([^"#]*)', manager.get("/manage").text)
    assert addresses
    assert {manager.get(html.unescape(address)).status_code for address in addresses} == {200}
    monkeypatch.setattr("kgtrec.serve.manager.needs", lambda *_: [])
    assert "What needs you Nothing needs you." in shown(manager.get("/manage").text)


def test_a_campaign_without_a_verdict_has_a_dashboard(make: Callable[..., Page]):
    """Which says so, and divides by nothing."""
    text = shown(make().browser("max").get("/manage").text)
    for words in ("Nobody has judged yet.", "unknown", "No verdict has a link yet", "no view times yet"):
        assert words in text


# --- people


def test_somebody_is_added_with_a_link_that_works(judged: Page, manager: Browser):
    """It is shown once, and the list has the name."""
    answer = act(manager, "add", name="cleo", role="annotator")
    assert "cleo is now annotator" in answer.text
    link = re.search(r'value="(https://[^"]*/in/[\w-]{43})"', answer.text)
    assert link
    assert judged.browser().get(link[1].removeprefix(URL)).status_code == 200
    assert "cleo\tannotator\tyes" in (judged.folder / PEOPLE).read_text()
    assert "/in/" not in manager.get(MANAGE).text
    assert "/in/" not in act(manager, "add", name="cleo", role="annotator").text


def test_people_tells_what_waits_for_each_role(judged: Page):
    """Conflicts and doubts for an adjudicator, the sample for an expert; only tasks of annotators can go to others."""
    draw(judged.folder, (2, 3))
    browser = judged.browser("max")
    text = shown(browser.get(MANAGE).text)
    for person, n in (("ann annotator", 2), ("bob annotator", 0), ("eve adjudicator", 2), ("ivy expert", 2)):
        assert f" {person} {n} " in text
    assert re.findall('aria-label="([a-z]+) has left, hand over', browser.get(MANAGE).text) == ["ann"]
    judged.browser("eve").judge(at="/conflict", verdict_4="Y", source_4=WIKI, only="4")
    assert " eve adjudicator 1 " in shown(browser.get(MANAGE).text)


@pytest.mark.parametrize(
    ("person", "address", "name"),
    [
        ("max", "/manage", "Dashboard"),
        ("max", MANAGE, "People"),
        ("max", "/manage/template?relation=capital", "Templates"),
        ("max", "/manage/downloads", "Downloads"),
        ("max", "/guidelines", "Guidelines"),
        ("ann", "/question/1", "Judge"),
        ("ann", "/question/verdicts", "My verdicts"),
    ],
)
def test_the_list_of_pages_tells_which_one_is_shown(judged: Page, person: str, address: str, name: str):
    """To a screen reader, and by its look."""
    text = judged.browser(person).get(address).text
    assert re.findall('aria-current="page">([^<]*)<', text) == [name]


def test_a_new_link_voids_the_former_one_at_once(judged: Page):
    """And the session that it began; the new one is shown once."""
    ann, former, browser = judged.browser("ann"), judged.link_of("bob"), judged.browser("max")
    link = re.search(r'value="(https://[^"]*/in/[\w-]{43})"', act(browser, "link", name="bob").text)
    assert link
    assert judged.browser().get(former).status_code == 403
    assert judged.browser().get(link[1].removeprefix(URL)).status_code == 200
    assert ann.get("/question").status_code == 303
    act(browser, "link", name="ann")
    assert ann.get("/question").status_code == 401
    assert "/in/" not in browser.get(MANAGE).text


def test_who_has_left_is_out_and_can_be_back(judged: Page):
    """At the next request; tasks and verdicts stay."""
    ann, browser = judged.browser("ann"), judged.browser("max")
    assert "ann has left as annotator" in act(browser, "leave", name="ann").text
    assert ann.get("/question").status_code == 401
    assert "Back as annotator" in browser.get(MANAGE).text
    assert "ann is back as annotator" in act(browser, "add", name="ann", role="annotator").text
    assert judged.browser("ann").get("/question").status_code == 303
    assert len(judged.events()) == len(EVENTS)


@pytest.mark.parametrize(
    ("action", "fields", "commands"),
    [
        ("hand_over", {"name": "ann"}, (["init", "--left", "ann"], ["assign"])),
        ("share", {"per_triple": "3"}, (["assign", "--per-triple", "3"],)),
    ],
)
def test_tasks_are_shared_out_as_by_the_commands(
    judged: Page, manager: Browser, tmp_path: Path, action: str, fields, commands
):
    """Those of who has left too, and with another number of annotators per triple: the files are the same."""
    act(manager, "add", name="cleo", role="annotator")
    by_command = tmp_path / "by-command"
    shutil.copytree(judged.folder, by_command, ignore=shutil.ignore_patterns("serve.*"))
    for command, *options in commands:
        main(["campaign", command, str(by_command), *options])
    assert act(manager, action, **fields).status_code == 200
    names = "people.tsv", "assignments.tsv", "campaign.json"
    assert contents(judged.folder, *names) == contents(by_command, *names)


@pytest.mark.parametrize(
    ("action", "fields", "told"),
    [
        ("leave", {"name": "ann"}, ("Has ann left?", "ann is signed out", "nobody judges their 2 open tasks until")),
        (
            "hand_over",
            {"name": "ann"},
            ("do others get the open tasks?", "ann loses 2 open tasks", "cleo gets 3 open tasks"),
        ),
        ("share", {"per_triple": "1"}, ("Share out the open triples anew?", "ann loses 2 open tasks")),
    ],
)
def test_nobody_loses_tasks_before_the_page_has_said_what_will_change(
    judged: Page, manager: Browser, action: str, fields, told
):
    """Without an answer nothing is different; with one exactly that; if it is other than was asked, it asks again."""
    act(manager, "add", name="cleo", role="annotator")
    before = contents(judged.folder)
    asked = posted(manager, MANAGE, action=action, **fields)
    assert asked.status_code == 200
    for text in (*told, "What was judged stays.", "Yes, do it", "No, leave it as it is"):
        assert text in shown(asked.text)
    assert contents(judged.folder) == before
    again = posted(manager, MANAGE, action=action, **fields, sure="0" * 64)
    assert "The campaign has changed since you were asked." in shown(again.text)
    assert contents(judged.folder) == before
    hidden = dict(
        re.findall(
            'type="hidden" name="([a-z_]+)" value="([^"]*)"', re.findall("(?s)ask-title.*?</section>", asked.text)[0]
        )
    )
    sure = re.search('name="sure" value="([0-9a-f]+)"', asked.text)
    assert sure
    assert (
        posted(manager, MANAGE, sure=sure[1], **{name: hidden[name] for name in ("action", *fields)}).status_code == 200
    )
    assert contents(judged.folder) != before


def test_sharing_out_asks_nothing_where_nobody_loses_anything(manager: Browser):
    """Somebody new only gets tasks that nobody has begun; a second time nothing is different."""
    assert "Shared out: " in posted(manager, MANAGE, action="share", per_triple="2").text
    assert "Shared out: " in posted(manager, MANAGE, action="share", per_triple="2").text


def test_the_page_says_yes_and_no_and_never_y_and_n(make: Callable[..., Page]):
    """In every heading, caption and explanation of a manager's pages, on a role's pages, and in what is refused."""
    judged = make(EVENTS)
    write_gold(judged.folder, Gold.of([("fr", "capital", "=lyon", "N", "It is Paris.")]))
    pages = {"max": ("/manage", MANAGE, "/manage/verdicts", "/manage/templates", "/manage/downloads", "/guidelines")}
    pages |= {"ann": ("/question/1", "/question/verdicts"), "eve": ("/conflict", "/conflict/verdicts")}
    for person, paths in pages.items():
        for path in paths:
            (judged.folder / "guidelines.md").write_text(default_guidelines().replace("`Y`", "").replace("`N`", ""))
            text = shown(judged.browser(person).get(path).text)
            assert re.findall(r"(?<![\w'])[YN](?![\w'])", text) == [], path
    assert " Yes " in shown(judged.browser("max").get("/manage").text)
    refused = judged.browser("ann").judge(verdict_4="N")
    assert "expected a link to the source of a No, found none" in refused.text


@pytest.mark.parametrize(
    ("action", "fields", "message"),
    [
        ("add", {"name": "a\nb", "role": "annotator"}, "of one line"),
        ("add", {"name": "two  blanks", "role": "annotator"}, "white space"),
        ("add", {"name": "", "role": "annotator"}, "expected a name"),
        ("add", {"name": "x" * 201, "role": "annotator"}, "at most 200 characters, got 201"),
        ("add", {"name": "cleo", "role": "admin"}, "a role of"),
        ("add", {"name": "max", "role": "annotator"}, "to judge nothing"),
        ("add", {"name": "ann", "role": "manager"}, "to judge nothing"),
        ("leave", {"name": "nobody"}, "got 'nobody'"),
        ("leave", {"name": "max"}, "you cannot remove yourself"),
        ("hand_over", {"name": "max"}, "you cannot remove yourself"),
        ("hand_over", {"name": "ann"}, "expected at least 2 active annotators"),
        ("link", {"name": "gone"}, "expected somebody who takes part, found 'gone'"),
        ("link", {"name": "../ann"}, "expected somebody who takes part, found '../ann'"),
        ("share", {"per_triple": "0"}, "per triple, got '0'"),
        ("share", {"per_triple": "9"}, "expected at least 9 active annotators"),
        ("share", {"per_triple": "x"}, "per triple, got 'x'"),
        ("drop", {}, "found 'drop'"),
    ],
)
def test_what_cannot_be_done_is_said_in_the_form(
    judged: Page, manager: Browser, action: str, fields: dict[str, str], message: str
):
    """With what was typed, and nothing is changed."""
    before = contents(judged.folder)
    links = judged.state.links()
    answer = posted(manager, MANAGE, action=action, **fields)
    assert answer.status_code == 422
    assert message in html.unescape(answer.text)
    if action == "add" and "\n" not in fields["name"]:
        assert f'value="{fields["name"]}"' in answer.text
    assert contents(judged.folder) == before
    assert judged.state.links() == links


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_wherever_they_stand(judged: Page, name: str):
    """On every page of a manager, and in the table that a spreadsheet opens."""
    browser = judged.browser("max")
    assert act(browser, "add", name=name, role="annotator").status_code == 200
    for path in ("/manage", MANAGE):
        text = browser.get(path).text
        assert html.escape(name).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert ">49<" not in text
    assert act(browser, "link", name=name).status_code == 200
    assert act(browser, "leave", name=name).status_code == 200


def test_a_form_of_a_manager_needs_its_token_and_its_origin(judged: Page, manager: Browser):
    """Each of them; and nothing is changed."""
    token, before = manager.token(MANAGE), (judged.folder / PEOPLE).read_bytes()
    fields = {"action": "add", "name": "cleo", "role": "manager", "relation": "capital", "save": "yes"}
    for path in (MANAGE, "/manage/template"):
        for data, origin in (({}, URL), ({"token": "x"}, URL), ({"token": token}, "https://evil.example.org")):
            answer = manager.client.post(path, base_url=URL, data=fields | data, headers={"Origin": origin})
            assert answer.status_code == 403
    assert (judged.folder / PEOPLE).read_bytes() == before


def test_changes_wait_for_another_program_that_changes_the_campaign(judged: Page, manager: Browser):
    """Under its lock, like those of the commands."""
    token = manager.token(MANAGE)
    done = threading.Event()

    def add() -> None:
        manager.post(MANAGE, token=token, action="add", name="cleo", role="annotator")
        done.set()

    with campaign_lock(judged.folder):
        thread = threading.Thread(target=add)
        thread.start()
        assert not done.wait(0.3)
    thread.join(10)
    assert done.is_set()
    assert "cleo" in list(read_people(judged.folder / PEOPLE).names)


# --- templates


@pytest.mark.parametrize("restarted", [False, True])
def test_a_broken_template_is_named_to_managers_and_stops_nobody(judged: Page, restarted: bool):
    """File and line on each of their pages; annotators are asked in general words about that relation alone."""
    text = "relation\ttemplate\n@near\tIs {head} near {tail}?\ncapital\tIs {tail} the capital?\n"
    (judged.folder / TEMPLATES).write_text(text)
    made = Page(judged.folder, create_app(judged.folder, URL)) if restarted else judged
    told = "templates.tsv:3: expected a template with {head} and {tail}, found no {head} in 'Is {tail} the capital?'."
    for path in ("/manage", MANAGE, "/manage/templates", "/manage/template?relation=capital", "/manage/downloads"):
        answer = made.browser("max").get(path)
        assert answer.status_code == 200
        assert told in shown(answer.text)
    asked = made.browser("ann").get("/question/1")
    assert asked.status_code == 200
    assert "On a fact sheet about " in shown(asked.text)
    assert "templates.tsv" not in asked.text
    stored = posted(made.browser("max"), "/manage/template", relation="@near", template="{head}, {tail}", save="yes")
    assert (stored.status_code, told in shown(stored.text)) == (422, True)
    assert (judged.folder / TEMPLATES).read_text() == text
    (judged.folder / TEMPLATES).write_text(text.replace("capital?", "capital of {head}?"))
    assert "templates.tsv:3" not in made.browser("max").get(MANAGE).text
    assert " the capital of " in shown(made.browser("ann").get("/question/1").text)


@pytest.mark.parametrize("text", ["", "\xff", "a\tb\n", "relation\ttemplate\nx\n", "relation\ttemplate\nx\t\ny"])
def test_no_file_of_templates_stops_those_who_judge(judged: Page, text: str):
    """Whatever is wrong with it, also where it is gone."""
    (judged.folder / TEMPLATES).write_bytes(text.encode("latin-1"))
    if not text:
        (judged.folder / TEMPLATES).unlink()
    assert "On a fact sheet about " in shown(judged.browser("ann").get("/question/1").text)
    assert "templates.tsv" in shown(judged.browser("max").get(MANAGE).text)


def test_a_template_is_shown_on_triples_of_the_pool_and_stored(judged: Page):
    """A preview stores nothing; what is stored is asked at the next page."""
    browser, path = judged.browser("max"), "/manage/template"
    before = (judged.folder / TEMPLATES).read_text()
    fields = {"relation": "capital", "template": "Does {head} have {tail} as capital?"}
    known = browser.hidden(f"{path}?relation=capital", "before")
    answer = posted(browser, path, **fields, before=known, preview="yes")
    assert "Does France have Paris as capital?" in answer.text
    assert '<div id="preview" aria-live="polite">' in answer.text
    assert (judged.folder / TEMPLATES).read_text() == before
    assert "Stored." in posted(browser, path, **fields, before=known, save="yes").text
    assert read_templates(judged.folder / TEMPLATES)["capital"] == fields["template"]
    assert "Does France have" in judged.browser("ann").get("/question/1").text
    assert "Stored." in posted(browser, path, **fields, before=known, save="yes").text  # sent twice
    assert "in general words" in browser.get("/manage/templates?text=near").text
    assert "capital" not in shown(browser.get("/manage/templates?text=near").text)


def test_a_template_that_somebody_edited_meanwhile_is_a_conflict(judged: Page):
    """Both are shown, nothing is stored, and storing again is possible."""
    browser, path = judged.browser("max"), "/manage/template"
    known = browser.hidden(f"{path}?relation=capital", "before")
    (judged.folder / TEMPLATES).write_text("relation\ttemplate\ncapital\tIs <b>{tail}</b> its capital, {head}?\n")
    fields = {"relation": "capital", "template": "Mine: {head}, {tail}?", "save": "yes"}
    answer = posted(browser, path, **fields, before=known)
    assert answer.status_code == 409
    assert "Is &lt;b&gt;{tail}&lt;/b&gt; its capital, {head}?" in answer.text
    assert "Mine: {head}, {tail}?" in answer.text
    assert "Mine" not in (judged.folder / TEMPLATES).read_text()
    now = html.unescape(re.findall('name="before" value="([^"]*)"', answer.text)[0])
    assert posted(browser, path, **fields, before=now).status_code == 200
    assert read_templates(judged.folder / TEMPLATES)["capital"] == "Mine: {head}, {tail}?"


def test_another_relation_that_was_edited_meanwhile_is_no_conflict(judged: Page):
    """And stays as it is."""
    browser, path = judged.browser("max"), "/manage/template"
    known = browser.hidden(f"{path}?relation=capital", "before")
    assert set_template(judged.folder, "@near", "Is {head} near {tail}?", "") is None
    assert (
        posted(browser, path, relation="capital", template="{head} {tail}?", before=known, save="yes").status_code
        == 200
    )
    assert read_templates(judged.folder / TEMPLATES) == {"capital": "{head} {tail}?", "@near": "Is {head} near {tail}?"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Is {head} it?", "expected a template with {head} and {tail}, found no {tail}"),
        ("{head.__class__} {head} {tail}", "nothing but"),
        ("{{7*7}} {head} {tail}", "nothing but"),
        ("{head} {tail} {0}", "nothing but"),
        ("{head}\n{tail}", "expected a template of one line of text"),
        ("", "found no {head} and no {tail}"),
        ("{head}{tail}" + "x" * 2_000, "expected a template of at most 2,000 characters"),
    ],
)
@pytest.mark.parametrize("button", ["save", "preview"])
def test_a_template_that_cannot_be_filled_in_is_refused(judged: Page, template: str, message: str, button: str):
    """In the form, with what was typed; nothing is stored."""
    browser, before = judged.browser("max"), (judged.folder / TEMPLATES).read_text()
    fields = {"relation": "capital", "template": template, button: "yes"}
    answer = posted(browser, "/manage/template", **fields)
    assert answer.status_code == (422 if button == "save" else 200)
    assert message in html.unescape(answer.text)
    assert template in html.unescape(answer.text)
    assert ("Not stored" in answer.text, "No preview" in answer.text) == (button == "save", True)
    assert (judged.folder / TEMPLATES).read_text() == before


def test_markup_in_a_template_is_text(judged: Page):
    """In the list, in the preview and on the annotators' page."""
    template = "<script>alert(1)</script> {head} = {tail} % if"
    browser = judged.browser("max")
    known = browser.hidden("/manage/template?relation=capital", "before")
    fields = {"relation": "capital", "template": template, "before": known, "save": "yes"}
    assert posted(browser, "/manage/template", **fields).status_code == 200
    for person, path in (
        ("max", "/manage/templates"),
        ("max", "/manage/template?relation=capital"),
        ("ann", "/question/1"),
    ):
        text = judged.browser(person).get(path).text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert "<script>alert" not in text


@pytest.mark.parametrize("relation", ["", "nothing", "../capital", "{{7*7}}", "capital\t"])
def test_a_relation_that_is_not_of_the_pool_has_no_template(manager: Browser, relation: str):
    """Whatever it is called."""
    answer = manager.client.get("/manage/template", base_url=URL, query_string={"relation": relation})
    assert answer.status_code == 404
    fields = {"relation": relation, "template": "{head} {tail}", "save": "yes"}
    assert posted(manager, "/manage/template", **fields).status_code == 404


# --- downloads


def test_the_page_of_explore_is_shown_where_it_stands(manager: Browser, judged: Page):
    """Its scripts may run, in an origin that has no session; without the page, the command that makes it."""
    assert "kgtrec explore COLLECTION" in raw(manager, "/manage/downloads").get_data(as_text=True)
    assert raw(manager, "/manage/explore").status_code == 404
    (judged.folder / "explore.html").write_text("<h1>why</h1>")
    assert '<a href="/manage/explore">' in raw(manager, "/manage/downloads").get_data(as_text=True)
    answer = raw(manager, "/manage/explore")
    assert answer.data == b"<h1>why</h1>"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
    assert "allow-same-origin" not in policy


def test_the_qrels_are_those_of_the_command(judged: Page, tmp_path: Path):
    """File by file, byte by byte, at either level; the folder has nothing new."""
    browser, before = judged.browser("max"), sorted(path.name for path in judged.folder.iterdir())
    for level in ("question", "triple"):
        out = tmp_path / level
        main(["campaign", "qrels", str(judged.folder), "--out", str(out), "--level", level])
        answer = raw(browser, f"/manage/downloads/qrels?level={level}")
        assert answer.headers["Content-Disposition"] == 'attachment; filename="campaign-qrels.zip"'
        assert int(answer.headers["Content-Length"]) == len(answer.data)
        archive = zipfile.ZipFile(io.BytesIO(answer.data))
        assert {name: archive.read(name) for name in archive.namelist()} == {
            f"campaign-qrels/{path.name}": path.read_bytes() for path in out.iterdir()
        }
        assert raw(browser, f"/manage/downloads/qrels?level={level}").data == answer.data
    assert sorted(path.name for path in judged.folder.iterdir()) == before
    assert raw(browser, "/manage/downloads/qrels?level=../../x").status_code == 404


def test_qrels_of_nothing_are_refused_kindly(tmp_path: Path, make: Callable[..., Page]):
    """The page says why."""
    made = make()
    (made.folder / "seeds.txt").write_text("")
    settings = json.loads((made.folder / "campaign.json").read_text())
    settings["files"]["seeds.txt"] = hashlib.sha256(b"").hexdigest()
    (made.folder / "campaign.json").write_text(json.dumps(settings))
    answer = raw(made.browser("max"), "/manage/downloads/qrels")
    assert answer.status_code == 422
    assert "nothing is judged and nothing was known before" in answer.text


def test_the_folder_as_an_archive_is_a_campaign_without_what_is_secret(judged: Page, tmp_path: Path):
    """kgtrec reads it; no link, no key, no other file of the folder is in it."""
    (judged.folder / "secret.txt").write_text("private")
    (judged.folder / "serve.sqlite-journal").write_text("private")
    (judged.folder / "machine").mkdir()
    labels = zip(("head", "relation", "tail"), read_campaign(judged.folder).pool.triples.labels_at(0), strict=True)
    (judged.folder / "machine" / "llama.jsonl").write_text(json.dumps(dict(labels) | {"verdict": "Y"}) + "\n")
    answer = raw(judged.browser("max"), "/manage/downloads/campaign")
    archive = zipfile.ZipFile(io.BytesIO(answer.data))
    names = {name.removeprefix("campaign/") for name in archive.namelist()}
    there = {name for name in CAMPAIGN_FILES if (judged.folder / name).exists()}
    assert names == {*there, "machine/llama.jsonl"}
    assert not names & {*SERVE_FILES, "secret.txt"}
    archive.extractall(tmp_path / "taken")  # our own
    taken = read_campaign(tmp_path / "taken" / "campaign")
    assert len(taken.judgements) == len(EVENTS)
    main(["check", str(tmp_path / "taken" / "campaign")])


def test_what_is_added_while_an_archive_is_made_is_left_out_whole(judged: Page, monkeypatch: pytest.MonkeyPatch):
    """Judgements end with the last line that was there when it began."""
    before = (judged.folder / "judgements.jsonl").read_bytes()
    make = zipfile.ZipFile.open

    def slow(self: zipfile.ZipFile, name: Any, *rest: Any, **options: Any) -> Any:
        with (judged.folder / "judgements.jsonl").open("ab") as stream:
            stream.write(b"half a li")
        return make(self, name, *rest, **options)

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "open", slow)
        stream = folder_archive(judged.folder, "x")
    with stream:
        assert zipfile.ZipFile(stream).read("x/judgements.jsonl") == before


@pytest.mark.parametrize("per", ["", "relation", "pair"])
def test_agreement_is_that_of_the_command(judged: Page, capsys: pytest.CaptureFixture[str], per: str):
    """The same text."""
    main(["campaign", "agreement", str(judged.folder), "--format", "csv", *(["--per", per] if per else [])])
    printed = capsys.readouterr().out
    answer = raw(judged.browser("max"), f"/manage/downloads/agreement?per={per}")
    assert answer.text == printed
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    name = "-".join(filter(None, ("campaign-agreement", per)))
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'


def test_no_name_is_a_formula_in_a_table(make: Callable[..., Page]):
    """An apostrophe stands before what a spreadsheet would run."""
    events = [(triple, who, "annotator", "N", WIKI, "") for triple in range(6) for who in ("ann", "=cmd|' /C calc'!A0")]
    made = make(events)
    with (made.folder / PEOPLE).open("a") as stream:
        stream.write("=cmd|' /C calc'!A0\tannotator\tno\n")
    rows = list(csv.DictReader(io.StringIO(raw(made.browser("max"), "/manage/downloads/agreement?per=pair").text)))
    assert {row["annotator"] for row in rows} == {"'=cmd|' /C calc'!A0"}


@given(st.text(max_size=80))
def test_the_name_of_a_download_is_plain(text: str):
    """Nothing in it ends a header, leaves a folder or hides a file."""
    assert re.fullmatch(r"[A-Za-z0-9_-]([A-Za-z0-9._-]*[A-Za-z0-9_])?", safe_name(text))


@pytest.mark.parametrize("folder", ['a"; filename="x.exe', "a\r\nSet-Cookie: y=1", "...", "知识", "a\u202eb.exe"])
def test_a_folder_of_any_name_gives_a_header_of_one_line(tmp_path: Path, folder: str):
    """Also where it is called like a header."""
    made = folder_of(campaign_with_roles(EVENTS), tmp_path / folder)
    browser = Page(made, create_app(made, URL)).browser("max")
    header = raw(browser, "/manage/downloads/agreement").headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9._-]+\.csv"', header)
    assert "Set-Cookie" not in raw(browser, "/manage/downloads/agreement").headers


def test_one_download_is_made_at_a_time(judged: Page):
    """Another one is told to wait."""
    from kgtrec.serve import manager

    browser = judged.browser("max")
    with manager._MAKING:
        assert raw(browser, "/manage/downloads/qrels").status_code == 429
    assert raw(browser, "/manage/downloads/qrels").status_code == 200


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_nothing(judged: Page, manager: Browser, monkeypatch: pytest.MonkeyPatch):
    """507, and the next download works; who was added is not in the list, and no file is half written."""
    before = {path.name for path in judged.folder.iterdir()}
    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "open", full)
        assert raw(manager, "/manage/downloads/campaign").status_code == 507
    assert raw(manager, "/manage/downloads/campaign").status_code == 200
    with monkeypatch.context() as patched, suppress(KgtrecError):
        patched.setattr("kgtrec.formats.output.outputs._do", full)
        assert act(manager, "add", name="cleo", role="annotator").status_code == 507
    assert "cleo" not in list(read_people(judged.folder / PEOPLE).names)
    assert {path.name for path in judged.folder.iterdir()} == before


def test_a_table_is_shown_as_a_report_shows_it():
    """Counts with separators, intervals beside values, headings without underscores."""
    from kgtrec.data.table import Column, Table

    data = pa.table({"person_name": ["ann"], "raw": [0.5], "low": [0.25], "high": [0.75], "n": [1234]})
    columns = Column("person_name"), Column("raw", form="share", digits=1, low="low", high="high"), Column("n")
    assert grid(Table("t", "", "", data, columns)) == {
        "head": ["person name", "raw", "n"],
        "is_number": [False, True, True],
        "rows": [("ann", "50.0% [25.0%, 75.0%]", "1,234")],
    }
