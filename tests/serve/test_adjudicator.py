"""The pages of adjudicators and experts: what they are shown, what they are not, and what becomes of what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from kgtrec.campaign.store import OpenCampaign
from kgtrec.campaign.tasks import tasks_for_adjudicator
from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import Incoming
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.output.folders import EXPERT_SAMPLE, GUIDELINES, PEOPLE
from kgtrec.serve.app import create_app
from kgtrec.serve.views import work_of
from tests.campaign_folders import folder_of
from tests.serve.conftest import FRANCE, JUDGED, NOTE, URL, WIKI, Browser, Page, campaign_with_roles, draw

CONFLICT = f"/conflict/{FRANCE}"
PAGES = (CONFLICT, "/conflict", "/conflict/verdicts", "/guidelines", "/")


def without_secrets(text: str) -> str:
    return re.sub(r'name="(token|edition)" value="[^"]*"', "", text)


def sides(text: str) -> dict[int, list[tuple[str, str, str, str]]]:
    """Task -> letter, answer, link and note of each side."""
    found = {}
    for task, card in re.findall(r'id="task-([0-9]+)"(.*?)</section>', text, re.DOTALL):
        found[int(task)] = [
            (
                *re.findall(r'class="letter">(.)</span> <strong>(.*?)<', side)[0],
                re.findall(r'data-source="(.*?)"', side)[0],
                (re.findall(r'class="note"><bdi>(.*?)<', side) or [""])[0],
            )
            for side in re.findall(r'(?s)(<li class="side".*?)</li>', card)
        ]
    return found


def test_what_is_decided_while_a_page_is_made_stays_on_it(judged: Page):
    """A request that began before the person's decision was stored has the task, with its sides."""
    service = judged.app.extensions["kgtrec"].service
    look = service.look("eve")
    task = int(judged.numbers.tasks[3])
    service.store([Incoming("page", "eve", "Y", 4, source=WIKI, role="adjudicator")])
    work = work_of(service, look, "adjudicator")
    assert task in work.task_numbers
    shown = {one["task"]: one["sides"] for one in work.page(int(judged.numbers.questions[FRANCE - 1]))["candidates"]}
    assert len(shown[task]) == 2


def test_the_whole_way_of_an_adjudicator(judged: Page):
    """From the guidelines over the conflicts of one question to the list of decisions, one of them corrected."""
    browser = judged.browser("eve", has_read=False)
    assert browser.get("/").location == "/conflict"
    assert browser.get("/conflict").location == "/guidelines"
    browser.post("/guidelines", token=browser.token())
    assert browser.get("/conflict").location == CONFLICT
    shown = browser.get(CONFLICT).text
    assert sorted(sides(shown)) == [4, 5]
    assert "Undecidable" in shown
    answer = browser.judge(at="/conflict", verdict_4="Y", source_4=WIKI, verdict_5="unsure", note_5="no source")
    assert answer.location == "/conflict?stored=2"
    done = browser.get(answer.location).text
    assert "Nothing is left to decide" in done
    assert "2 stored." in done
    listed = browser.get("/conflict/verdicts").text
    assert "2 found." in listed
    assert "Undecidable</strong>" in listed
    assert f'href="{CONFLICT}#task-4"' in listed
    assert browser.judge(at="/conflict", verdict_4="N", source_4=WIKI, only="4").status_code == 303
    decided = [event for event in judged.events() if event[1] == "eve"]
    assert [(event[0], *event[2:4]) for event in decided] == [
        (3, "adjudicator", 1),
        (4, "adjudicator", 2),
        (3, "adjudicator", 0),
    ]


def test_what_is_decided_leaves_the_queue_and_stays_on_its_page(judged: Page, eve: Browser):
    """With the sides, so that it can be corrected; undo brings the former decision back."""
    eve.judge(at="/conflict", verdict_4="Y", source_4=WIKI, only="4")
    shown = eve.get(CONFLICT).text
    assert '<span id="done">1</span> done, <span id="left">1</span> left' in shown
    assert [len(found) for found in sides(shown).values()] == [2, 2]
    assert "Stored: Yes" in shown
    eve.judge(at="/conflict", verdict_4="N", source_4=WIKI, only="4")
    eve.judge(at="/conflict", undo="4")
    assert [event[3] for event in judged.events() if event[1] == "eve"] == [1, 0, 1]


def test_a_page_shows_the_sides_as_the_spreadsheet_does(judged: Page):
    """In one order, without names; both sides' verdict, link and note."""
    tasks = tasks_for_adjudicator(read_campaign(judged.folder), "eve")
    expected = {
        int(task): [
            (
                "AB"[nth - 1],
                {"Y": "Yes", "N": "No", "unsure": "Unsure"}[tasks.shown[f"verdict_{nth}"][place].as_py()],
                *(tasks.shown[f"{name}_{nth}"][place].as_py() for name in ("source", "note")),
            )
            for nth in (1, 2)
        ]
        for place, task in enumerate(tasks.task)
    }
    shown = sides(judged.browser("eve").get(CONFLICT).text)
    assert shown == expected
    assert {words for found in shown.values() for words in found[0][1:2] + found[1][1:2]} == {"Yes", "No", "Unsure"}


@pytest.mark.parametrize("change", ["names", "order", "times", "systems"])
def test_who_said_it_and_when_changes_nothing_that_an_adjudicator_gets(judged: Page, tmp_path: Path, change: str):
    """Ann's words by bob and bob's by ann, in another order, at other times, of other systems: the same pages."""
    swapped = {"ann": "bob", "bob": "ann"}
    events = [(row, swapped[name], *rest) for row, name, *rest in JUDGED] if change == "names" else JUDGED
    campaign = campaign_with_roles(events[::-1] if change == "order" else events)
    if change == "times":
        late = labels_of([f"2031-01-01T00:00:{59 - nth:02}Z" for nth in range(len(campaign.judgements))])
        campaign = replace(campaign, judgements=replace(campaign.judgements, time=late))
    if change == "systems":
        pool = campaign.pool
        campaign = replace(campaign, pool=replace(pool, rank=pool.rank[::-1] + 7, runs=("another-run",)))
    folder = folder_of(campaign, tmp_path / "other")
    (folder / GUIDELINES).write_text((judged.folder / GUIDELINES).read_text())
    one, other = (page.browser("eve") for page in (judged, Page(folder, create_app(folder, URL))))
    for path in PAGES:
        assert without_secrets(one.get(path).text) == without_secrets(other.get(path).text)
    fields = {"verdict_4": "Y", "source": WIKI, "only": "4"}
    first, second = (browser.judge(at="/conflict", json=True, **fields) for browser in (one, other))
    assert first.status_code == 200
    assert first.json == second.json


def test_an_adjudicators_pages_name_neither_people_nor_times_nor_systems(eve: Browser):
    """Of the pages of a conflict; eve's own name is on them."""
    for path in PAGES:
        text = re.sub("<script[^>]*>|judge.(css|js)| max=", "", without_secrets(eve.get(path).text))
        assert not re.search(r"\b(ann|bob|ivy|max|gone)\b", text)
        assert not re.search(r"20[0-9]{2}-|secret-run|rank", text)


@pytest.mark.parametrize("text", ['"><img src=x onerror=alert(1)>', "</textarea></title><script>alert(1)</script>"])
def test_notes_and_links_are_text_to_whoever_sees_them(make: Callable[..., Page], text: str):
    """To their own person, on the question and in the list, and to an adjudicator as a side; also stored by others."""
    page = make([(3, "ann", "annotator", "Y", text, text), (3, "bob", "annotator", "N", f"{WIKI}#{text}", text)])
    ann, eve = page.browser("ann"), page.browser("eve")
    for browser, path in ((ann, f"/question/{FRANCE}"), (ann, "/question/verdicts"), (eve, CONFLICT)):
        shown = browser.get(path).text
        assert text not in shown
        assert str(escape(text)) in shown


def test_what_others_say_changes_nothing_that_an_expert_gets(judged: Page, tmp_path: Path):
    """Nor do the labels: swapped, every page is the same, byte for byte."""
    other_labels = {"Y": "N", "N": "Y", "unsure": "unsure"}
    events = [(*said[:3], other_labels[said[3]], WIKI if said[4] else "", "other") for said in JUDGED]
    folder = folder_of(campaign_with_roles(events), tmp_path / "other")
    (folder / GUIDELINES).write_text((judged.folder / GUIDELINES).read_text())
    other = Page(folder, create_app(folder, URL))
    draw(folder)
    path = folder / EXPERT_SAMPLE
    flipped = {"\tN\t1.0": "\tY\t0.5", "\tY\t0.5": "\tN\t1.0"}
    path.write_text(re.sub(r"\t[NY]\t[0-9.]+", lambda found: flipped[found[0]], path.read_text()))
    browsers = [page.browser("ivy") for page in (judged, other)]
    for address in (f"/sample/{FRANCE}", "/sample/2", "/sample/3", "/sample", "/sample/verdicts", "/guidelines"):
        one, two = (browser.get(address) for browser in browsers)
        assert one.status_code == two.status_code
        assert without_secrets(one.text) == without_secrets(two.text)
        assert "note" not in re.sub("note-[0-9]+|Link, note|to the note|>Note<", "", one.text)
    one, two = (browser.judge(at="/sample", json=True, verdict_6="Y", source_6=WIKI, only="6") for browser in browsers)
    assert one.status_code == 200
    assert one.json == two.json


def test_an_expert_judges_the_sample_and_nothing_else(judged: Page):
    """As role expert, which changes no label; a triple that is not in the sample is as one that does not exist."""
    browser = judged.browser("ivy")
    assert browser.get("/").location == "/sample"
    assert browser.get("/sample").location == "/sample/2"
    assert browser.judge(2, at="/sample", verdict_2="N", verdict_3="N", source=WIKI).location == (
        f"/sample/{FRANCE}?stored=2"
    )
    assert browser.judge(at="/sample", verdict_4="Y", source_4=WIKI, only="4").status_code == 404
    assert browser.judge(at="/sample", verdict_6="unsure").location == "/sample?stored=1"
    assert "You have judged the whole sample" in browser.get("/sample").text
    said = [event for event in judged.events() if event[1] == "ivy"]
    assert sorted((event[0], event[2], event[3]) for event in said) == [
        (1, "expert", 0),
        (2, "expert", 0),
        (5, "expert", 2),
    ]


def test_without_a_sample_there_is_nothing_for_an_expert(page: Page):
    """Until one is drawn, at the next page; a new one takes its place, and what was judged stays in the list."""
    browser = page.browser("ivy")
    assert "There is no sample for you" in browser.get("/sample").text
    draw(page.folder, (4, 5))
    assert browser.get("/sample").location == f"/sample/{FRANCE}"
    browser.judge(at="/sample", verdict_4="Y", source=WIKI)
    draw(page.folder, (5, 6))
    assert sorted(re.findall('id="task-([0-9]+)"', browser.get(f"/sample/{FRANCE}").text)) == ["4", "5", "6"]
    assert "1 found." in browser.get("/sample/verdicts").text


def test_a_sample_that_cannot_be_read_is_told(judged: Page):
    """503, without its labels; mended, it goes on."""
    path = judged.folder / EXPERT_SAMPLE
    before = path.read_text()
    path.write_text(before.replace("berlin", "bonn"))
    browser = judged.browser("ivy")
    answer = browser.get("/sample")
    assert answer.status_code == 503
    assert "berlin" not in answer.text
    path.write_text(before)
    assert browser.get("/sample").status_code == 303


def with_roles(page: Page, *roles: str) -> None:
    """Give ann more roles."""
    path = page.folder / PEOPLE
    path.write_text(path.read_text() + "".join(f"ann\t{role}\tyes\n" for role in roles))


def test_a_person_with_several_roles_sees_the_start_of_each(judged: Page):
    """And judges no triple in two of them: ann judged all but one, which nobody disagrees on."""
    with_roles(judged, "adjudicator", "expert")
    browser = judged.browser("ann")
    first = browser.get("/").text
    for address, name in (("/question", "Judge"), ("/conflict", "Decide"), ("/sample", "Judge the sample")):
        assert f'<li><a href="{address}">{name}</a></li>' in first
        assert f'<a href="{address}/verdicts">' in first
    assert "nothing to decide" in browser.get("/conflict").text
    assert "no sample for you" in browser.get("/sample").text
    assert browser.get(CONFLICT).status_code == 404


def test_who_is_still_to_judge_a_triple_does_not_see_what_others_say_of_it(make: Callable[..., Page]):
    """An adjudicator who is assigned a triple as a third annotator: the conflict is not in her queue."""
    page = make(JUDGED)
    path = page.folder / PEOPLE
    path.write_text(path.read_text() + "eve\tannotator\tyes\n")
    assert page.browser("eve").get("/conflict").location == CONFLICT
    assignments = page.folder / "assignments.tsv"
    lines = assignments.read_text().splitlines()
    own = next(line for line in lines if "\t4\t" in line)
    assignments.write_text("\n".join([*lines, re.sub("ann|bob", "eve", own)]) + "\n")
    browser = page.browser("eve")
    assert list(sides(browser.get(CONFLICT).text)) == [5]
    assert NOTE + " 3" not in browser.get(f"/question/{FRANCE}").text


def test_a_conflict_that_is_resolved_meanwhile_is_told_kindly(judged: Page, eve: Browser):
    """Nothing is stored; the others of the form are, and a question without anything left leads on."""
    hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', eve.get(CONFLICT).text))
    hidden = {name.replace("-", "_"): value for name, value in hidden.items()}
    opened = OpenCampaign(judged.folder)
    opened.store([Incoming("x", "bob", "Y", 4, source=WIKI)], correct=True)
    for json in (True, False):
        headers = {"Accept": "application/json"} if json else None
        answer = eve.post(CONFLICT, headers=headers, **hidden, verdict_4="N", source_4=WIKI, only="4")
        assert answer.status_code == 404
        assert "have come to agree" in (answer.json["outcomes"][0]["message"] if json else answer.text)
    answer = eve.post(CONFLICT, **hidden, verdict_4="N", source_4=WIKI, verdict_5="unsure")
    assert answer.location == "/conflict?stored=1&gone=1"
    done = eve.get(answer.location).text
    assert "1 stored." in done
    assert "have come to agree" in done
    assert [event[0] for event in judged.events() if event[1] == "eve"] == [4]


def test_a_doubt_that_is_cleared_after_it_was_undecidable_is_told_kindly(judged: Page, eve: Browser):
    """The rules take no decision where annotators agree; the page says so in words, and stores nothing."""
    eve.judge(at="/conflict", verdict_5="unsure", only="5")
    OpenCampaign(judged.folder).store([Incoming("x", "bob", "Y", 5, source=WIKI)], correct=True)
    for json in (True, False):
        answer = eve.judge(at="/conflict", json=json, verdict_5="N", source_5=WIKI, only="5")
        if json:
            assert answer.status_code == 404
            assert answer.json["outcomes"][0]["kind"] == "gone"
        else:
            assert "have come to agree" in eve.get(answer.location.partition("#")[0]).text
    assert [event[3] for event in judged.events() if event[1] == "eve"] == [2]


def test_a_conflict_that_another_adjudicator_has_decided_is_left_to_them(judged: Page):
    """It is not in the queue any more, and what is sent for it is not stored over theirs."""
    path = judged.folder / PEOPLE
    path.write_text(path.read_text() + "zoe\tadjudicator\tyes\n")
    eve, zoe = judged.browser("eve"), judged.browser("zoe")
    edition = eve.hidden(CONFLICT, "edition")
    zoe.judge(at="/conflict", verdict_4="Y", source_4=WIKI, only="4")
    answer = eve.post(CONFLICT, token=eve.token(), edition=edition, verdict_4="N", source_4=WIKI, only="4")
    assert answer.status_code == 404
    assert list(sides(eve.get(CONFLICT).text)) == [5]
    assert [event[1] for event in judged.events() if event[2] == "adjudicator"] == ["zoe"]


@pytest.mark.parametrize(("path", "person"), [("/conflict", "eve"), ("/sample", "ivy"), ("/question", "ann")])
def test_a_task_that_is_not_theirs_answers_as_one_that_does_not_exist(judged: Page, path: str, person: str):
    """Questions, tasks and view times of every role."""
    browser = judged.browser(person)
    token, edition = browser.token(), browser.hidden(f"{path}/{FRANCE}", "edition")
    strange = {"eve": "6", "ivy": "4", "ann": "1"}[person]
    for wanted in (f"{path}/{FRANCE}", f"{path}/seen"):
        field = "task" if wanted.endswith("seen") else "only"
        own, none = (
            browser.post(wanted, token=token, edition=edition, seconds="1", **{field: task}) for task in (strange, "77")
        )
        assert own.status_code == none.status_code == 404
        assert own.data == none.data
    assert browser.get(f"{path}/3").data == browser.get(f"{path}/99").data


def test_sides_are_for_active_adjudicators_and_for_what_is_theirs(judged: Page):
    """Whoever asks for them in the program: nobody else, and no other triple."""
    service = judged.app.extensions["kgtrec"].service
    for person in ("ann", "ivy", "max", "gone", "nobody"):
        with pytest.raises(KgtrecError, match="expected an active adjudicator"):
            service.sides(service.look(person), np.array([3]))
        with pytest.raises(KgtrecError, match="expected an active adjudicator"):
            work_of(service, service.look(person), "adjudicator")
    assert len(service.sides(service.look("eve"), np.array([3]))) == 2
    (judged.folder / "pool.tsv").touch()  # so that it is read again, and is the same
    assert len(service.sides(service.look("eve"), np.array([3]))) == 2
    with pytest.raises(KgtrecError, match="the pool was replaced meanwhile"):
        service.sides(replace(service.look("eve"), edition="of another pool"), np.array([3]))
    with pytest.raises(KgtrecError, match="may not see what others have said"):
        service.sides(service.look("eve"), np.array([3, 5]))
