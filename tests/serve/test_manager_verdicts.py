"""Managers look through verdicts and notes, and send one back; its person finds it among what is to be done."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.store import OpenCampaign
from kgtrec.cli import main
from kgtrec.data.judgements import Incoming
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.sent_back import SentBack, append_sent_back, read_sent_back
from kgtrec.formats.output.folders import SENT_BACK
from tests.serve.conftest import FRANCE, JUDGED, URL, WIKI, Browser, Page

pytestmark = pytest.mark.slow

LIST = "/manage/verdicts"
REMARK = "The link is about <b>another</b> Paris."


@pytest.fixture
def judged(make: Callable[..., Page]) -> Page:
    """Ann and bob are done: what both have said of tasks 2 to 6."""
    return make(JUDGED)


def listed(text: str) -> list[dict[str, str]]:
    """The verdicts of a page, each by the names of its form's hidden fields, and with all its text."""
    items = re.findall(r"(?s)<li>\n<h2>(.*?)</li>\n(?=<li>|</ol>)", text)
    return [
        dict(re.findall(r'type="hidden" name="([a-z]+)" value="([^"]*)"', item))
        | {"text": " ".join(html.unescape(re.sub("<[^>]*>", " ", item)).split())}
        for item in items
    ]


def send_back(page: Page, whose: str = "ann", place: int = 4, **other: str) -> Any:
    """Send back what somebody has said of a task, from the list as it is."""
    browser = page.browser("max")
    shown = listed(browser.client.get(LIST, base_url=URL).text)
    number = str(page.numbers.tasks[place - 1])
    one = next(item for item in shown if (item.get("person"), item.get("task")) == (whose, number))
    fields = {name: one[name] for name in ("token", "person", "role", "task", "before")} | {"remark": REMARK} | other
    asked = browser.client.post(LIST, base_url=URL, data=fields, headers={"Origin": URL})
    sure = re.search('name="sure" value="([0-9a-f]+)"', asked.text)
    again = fields | dict(re.findall('type="hidden" name="([a-z]+)" value="([^"]*)"', asked.text.partition("<ol")[0]))
    assert not sure or {name: html.unescape(text) for name, text in again.items()} == fields  # it sends the same again
    return (
        browser.client.post(LIST, base_url=URL, data=fields | {"sure": sure[1]}, headers={"Origin": URL})
        if sure
        else asked
    )


def progress(browser: Browser) -> tuple[str, ...]:
    found = re.search(r'id="done">(\d+)</span> done, <span id="left">(\d+)<', browser.get(f"/question/{FRANCE}").text)
    assert found
    return found.groups()


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("", 10),
        ("person=ann", 5),
        ("person=nobody", 0),
        ("verdict=unsure", 1),
        ("verdict=N&person=bob", 2),
        ("relation=CAPITAL", 10),
        ("relation=nothing", 0),
        ("source=paris%23", 5),
        ("source=wikipedia.org&person=bob", 4),
        ("waiting=yes", 0),
    ],
)
def test_verdicts_are_found_by_person_relation_answer_and_source(judged: Page, query: str, n: int):
    """Each with question, person, role, answer, link and note; text in any case."""
    shown = judged.browser("max").get(f"{LIST}?{query}")
    assert shown.status_code == 200
    assert len(listed(shown.text)) == n
    assert f"{n} found" in shown.text


def test_a_list_shows_everything_that_was_said(judged: Page):
    """The latest first; what was corrected is there as it is now."""
    browser = judged.browser("ann")
    browser.judge(verdict_4="N", source_4=WIKI, note_4="was wrong")
    first, *rest = listed(judged.browser("max").get(f"{LIST}?person=ann").text)
    assert "No ann , annotator" in first["text"]
    assert "was wrong Send back the verdict of ann on: " in first["text"]
    assert len(rest) == 4
    assert not any("own-note 3" in item["text"] for item in rest)


def test_what_is_sent_back_is_to_be_done_again_with_the_remark(judged: Page):
    """Until its person gives another verdict, which is a new event; all others are told nothing."""
    ann, bob = judged.browser("ann"), judged.browser("bob")
    before = {path: bob.get(path).text for path in ("/question", f"/question/{FRANCE}", "/question/verdicts")}
    assert progress(ann) == ("5", "0")
    assert ann.get("/question").status_code == 200  # all is done
    answer = send_back(judged)
    assert answer.status_code == 200
    assert "Sent back to ann" in answer.text
    assert progress(ann) == ("4", "1")
    assert ann.get("/question").location == f"/question/{FRANCE}"
    shown = ann.get(f"/question/{FRANCE}").text
    assert f"Sent back to you: <bdi>{html.escape(REMARK)}</bdi>" in shown
    assert shown.count("sent-back") == 1
    assert "Sent back to you" in ann.get("/question/verdicts").text
    events = judged.events()
    assert ann.judge(verdict_4="N", source_4=WIKI, note_4="the right one").status_code == 303
    assert judged.events() == [*events, (3, "ann", "annotator", 0, WIKI, "the right one")]
    assert progress(ann) == ("5", "0")
    assert "sent-back" not in ann.get(f"/question/{FRANCE}").text
    for path, text in before.items():
        assert re.sub('name="token" value="[^"]*"', "", bob.get(path).text) == re.sub(
            'name="token" value="[^"]*"', "", text
        )


def test_nothing_that_the_other_annotator_has_said_comes_with_it(judged: Page):
    """The page holds the remark and the person's own words."""
    send_back(judged)
    shown = judged.browser("ann").get(f"/question/{FRANCE}").text
    assert "own-note 3" in shown
    assert "hidden-note" not in shown
    assert "bob" not in shown
    assert "max" not in re.sub(r"max(length)?=", "", shown)


def test_a_verdict_is_sent_back_only_once_the_manager_has_said_yes(judged: Page):
    """The remark cannot be taken back, so that the page shows it before it is stored."""
    one = next(item for item in listed(judged.browser("max").client.get(LIST, base_url=URL).text) if "token" in item)
    browser = judged.browser("max")
    fields = {name: one[name] for name in ("person", "role", "task", "before")}
    fields |= {"token": browser.token(LIST), "remark": "a <b>\r\nsecond line"}
    asked = browser.client.post(LIST, base_url=URL, data=fields, headers={"Origin": URL})
    assert asked.status_code == 200
    assert f"Send the verdict back to {one['person']}?" in asked.text
    assert "a &lt;b&gt;" in asked.text
    assert not (judged.folder / SENT_BACK).exists()


@pytest.mark.parametrize("json_", [False, True])
def test_a_verdict_that_stands_is_kept_by_its_person(judged: Page, json_: bool):
    """Saved again alone it is no new event; saving everything else says nothing of it."""
    ann, events = judged.browser("ann"), judged.events()
    send_back(judged)
    ann.judge(verdict_5="N", source_5=WIKI)
    assert progress(ann) == ("4", "1")
    shown = ann.get(f"/question/{FRANCE}").text
    known = dict(re.findall(r'name="(source-4)"[^>]* value="([^"]*)"', shown))
    note = re.search(r'name="note-4"[^>]*>\n(.*?)</textarea>', shown)
    assert note
    fields = {"verdict_4": "Y", "source_4": known["source-4"], "note_4": note[1], "only": "4"}
    assert ann.judge(json=json_, **fields).status_code == (200 if json_ else 303)
    assert progress(ann) == ("5", "0")
    assert len(judged.events()) == len(events) + 1
    assert "Sent back" not in listed(judged.browser("max").get(f"{LIST}?person=ann&waiting=yes").text)
    send_back(judged, remark="Are you sure?")  # a second time
    assert progress(ann) == ("4", "1")


def test_what_an_adjudicator_and_an_expert_have_said_can_be_sent_back(judged: Page):
    """In their own pages."""
    for person, role, path, task in (("eve", "adjudicator", "/conflict", 4), ("ivy", "expert", "/sample", 2)):
        OpenCampaign(judged.folder).store([Incoming("x", person, "N", task, source=WIKI, role=role)])
        assert send_back(judged, person, task).status_code == 200
        assert html.escape(REMARK) in judged.browser(person).get(f"{path}/verdicts").text
        assert judged.browser(person).get(path).status_code == 303


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"remark": " "}, "expected a remark of 1 to 1,000 characters, got 0"),
        ({"remark": "x" * 1001}, "expected a remark of 1 to 1,000 characters, got 1,001"),
        ({"remark": "a\x1b[31m"}, "expected a note without control characters"),
        ({"person": "nobody"}, "expected an active annotator, found 'nobody'"),
        ({"role": "expert"}, "expected an active expert, found 'ann'"),
        ({"task": "17"}, "ann has said something else meanwhile"),
        ({"before": "0"}, "ann has said something else meanwhile"),
    ],
)
def test_what_cannot_be_sent_back_is_refused(judged: Page, fields: dict[str, str], why: str):
    """Nothing is stored, and the remark stays in the form."""
    answer = send_back(judged, **fields)
    assert answer.status_code == 422
    assert why in html.unescape(re.sub("<[^>]*>", "", answer.text))
    assert not (judged.folder / SENT_BACK).exists()


def test_nobody_else_reaches_the_list(judged: Page):
    """Nor can they send anything back."""
    for person in ("ann", "eve", "ivy"):
        browser = judged.browser(person)
        assert browser.get(LIST).status_code == 403
        assert browser.post(LIST, token=browser.token(), person="bob", role="annotator", task="4").status_code == 403
    assert not (judged.folder / SENT_BACK).exists()


def line_of(**other: Any) -> SentBack:
    found = SentBack("2026-11-21T20:00:00Z", "max", "ann", "annotator", "fr", "capital", "paris", 1, "why")
    return found._replace(**other)


def test_lines_are_only_added_and_a_torn_one_counts_for_nothing(tmp_path: Path):
    """As in the judgements: the next writer moves it aside."""
    append_sent_back(tmp_path, line_of(remark="a\u2028b\n"))
    before = (tmp_path / SENT_BACK).read_bytes()
    (tmp_path / SENT_BACK).write_bytes(before + b'{"time": "2026')
    assert read_sent_back(tmp_path) == {line_of().about: line_of(remark="a\u2028b\n")}
    with pytest.warns(match="moved its incomplete last line"):
        append_sent_back(tmp_path, line_of(by="ann", remark=""))
    assert (tmp_path / SENT_BACK).read_bytes().startswith(before)
    assert read_sent_back(tmp_path) == {line_of().about: line_of(by="ann", remark="")}
    assert read_sent_back(tmp_path / "nothing") == {}
    append_sent_back(tmp_path, line_of(time="1999-01-01T00:00:00Z"))  # of a copy that was merged
    assert read_sent_back(tmp_path) == {line_of().about: line_of(by="ann", remark="")}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        "{}",
        *(json.dumps(line_of(**odd)._asdict()) for odd in ({"role": "manager"}, {"events": "1"}, {"remark": "\ud800"})),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str):
    """With its number."""
    append_sent_back(tmp_path, line_of())
    with (tmp_path / SENT_BACK).open("a") as stream:
        stream.write(f"{text}\n")
    with pytest.raises(FormatError, match=rf"{SENT_BACK}:2: expected a JSON object with time, by, person, role"):
        read_sent_back(tmp_path)


def test_check_counts_what_was_sent_back_and_names_a_line_that_is_none(
    judged: Page, capsys: pytest.CaptureFixture[str]
):
    """As it does for every other file of a campaign."""
    send_back(judged)
    main(["check", str(judged.folder)])
    assert "sent back: 1 verdict" in capsys.readouterr().out
    with (judged.folder / SENT_BACK).open("a") as stream:
        stream.write("nonsense\n")
    with pytest.raises(SystemExit):
        main(["check", str(judged.folder)])
    assert f"{SENT_BACK}:2: expected a JSON object" in capsys.readouterr().out


def test_what_was_sent_back_is_among_the_open_tasks_that_managers_see(judged: Page):
    """On the page of people."""
    open_tasks = '<td role="cell" data-label="open tasks" class="number-cell">'
    row = judged.browser("max").get("/manage/people").text.partition("<bdi>ann</bdi></th>")[2]
    assert row.partition(open_tasks)[2].startswith("0<")
    send_back(judged)
    row = judged.browser("max").get("/manage/people").text.partition("<bdi>ann</bdi></th>")[2]
    assert row.partition(open_tasks)[2].startswith("1<")


def test_the_order_of_the_clock_does_not_matter(judged: Page, monkeypatch: pytest.MonkeyPatch):
    """A verdict answers a remark that came before it, whatever the times say."""
    send_back(judged)
    path = judged.folder / SENT_BACK
    path.write_text(path.read_text().replace('"time": "20', '"time": "29'))
    ann = judged.browser("ann")
    assert progress(ann) == ("4", "1")
    ann.judge(verdict_4="N", source_4=WIKI)
    assert progress(ann) == ("5", "0")
    assert len(read_campaign(judged.folder).judgements) == len(JUDGED) + 1
