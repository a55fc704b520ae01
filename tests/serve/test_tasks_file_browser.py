"""A person's tasks as one file, in a real browser, opened as a person would. Needs Debian's chromium, or the like."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.tasks import tasks_for, tasks_for_adjudicator
from kgtrec.cli import main
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.tasks import write_tasks
from kgtrec.formats.output.folders import GUIDELINES
from kgtrec.serve.tasks_file import tasks_file
from tests.accessibility import violations_in_every_look
from tests.campaign_folders import folder_of, said
from tests.campaigns_by_hand import ENTITIES
from tests.report.test_browser import opened, requests
from tests.serve.conftest import WIKI, campaign_with_roles
from tests.serve.test_browser import keys, until
from tests.serve.test_tasks_file import EVENTS, HOSTILE

pytestmark = pytest.mark.slow  # a browser for each

UNKEPT = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"


def downloaded(path: Path) -> Path:
    """A file once the browser has written it: a browser makes an empty one first."""
    return until(lambda: path.is_file() and path.stat().st_size > 0 and path)


@pytest.fixture
def open_file(browser: Any, tmp_path: Path) -> Callable[..., str]:
    """A function that opens a file of tasks in a browser that knows nothing of it; its address."""

    def made(path: Path, *, begins: bool = True, width: int = 1280) -> str:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", folder)
        opened(browser, path.as_uri())
        browser.execute_script("try { localStorage.clear(); } catch {}")
        opened(browser, "about:blank")
        opened(browser, path.as_uri(), width)
        until(lambda: "#/guidelines" in browser.current_url)
        if begins:
            browser.find_element("css selector", "main button.main").click()
            until(lambda: browser.find_elements("css selector", ".card"))
        return path.as_uri()

    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = folder_of(campaign_with_roles(), tmp_path / "campaign")
    (made / GUIDELINES).write_text("# How to judge\n\nLook *closely*.\n")
    return made


@pytest.fixture
def ann(folder: Path, tmp_path: Path) -> Path:
    """The file of ann's five tasks, two of a first question and three of a second."""
    main(["campaign", "export", str(folder), "--annotator", "ann", "--out", str(tmp_path / "ann.html")])
    return tmp_path / "ann.html"


def text(browser: Any) -> str:
    found: str = browser.find_element("id", "main").text
    return found


def counts(browser: Any) -> tuple[int, int]:
    """What is done and left, as the page tells."""
    done, left = re.findall(r"([0-9]+) done, ([0-9]+) left", text(browser))[0]
    return int(done), int(left)


def test_the_whole_way_without_a_server(browser: Any, open_file: Any, ann: Path, folder: Path, tmp_path: Path):
    """Judged by keys alone, kept over a reload, downloaded and imported: the same as what a CSV brings."""
    from selenium.webdriver.common.keys import Keys

    address = open_file(ann, begins=False)
    assert "Look closely." in text(browser)
    assert browser.find_element("css selector", "nav [aria-current=page]").text == "Guidelines"
    browser.find_element("css selector", "main button.main").send_keys(Keys.ENTER)
    until(lambda: counts(browser) == (0, 5))
    assert [one.text for one in browser.find_elements("css selector", "nav [aria-current=page]")] == ["Judge"]
    keys(browser, "/", WIKI, Keys.ENTER, "n", Keys.ENTER, "y", Keys.ENTER)
    until(lambda: counts(browser) == (2, 3) and "France" in browser.title)
    assert "1 answer is known already\nYou are not asked about it." in text(browser)
    keys(browser, "n")
    until(lambda: "expected a link to the source of a No, found none" in text(browser))
    keys(browser, f"{WIKI}#b", Keys.ENTER)
    until(lambda: counts(browser) == (3, 2))
    keys(browser, "j", "u", "j", "m", "a <b>river</b>", Keys.ESCAPE, "y")
    until(lambda: counts(browser) == (5, 0))

    browser.refresh()
    until(lambda: counts(browser) == (5, 0))
    assert "Stored: Unsure" in text(browser)
    browser.find_element("id", "next").click()
    until(lambda: "All your tasks are done" in text(browser))
    browser.find_element("css selector", "main .download").click()
    path = downloaded(tmp_path / "ann-5.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["annotator"] for row in rows} == {"ann"}
    assert [row["note"] for row in rows if row["note"]] == ["a <b>river</b>"]

    main(["campaign", "import", str(folder), str(path)])
    main(["campaign", "import", str(folder), str(path)])
    other = folder_of(campaign_with_roles(), tmp_path / "other")
    write_tasks(tmp_path / "ann.csv", tasks_for(campaign_with_roles(), "ann"))
    cells = list(csv.DictReader(io.StringIO((tmp_path / "ann.csv").read_text("utf-8-sig"))))
    by_question = {row["head"] + row["tail"]: row for row in rows}
    with (tmp_path / "ann.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(cells[0]))
        writer.writeheader()
        for row in cells:
            own = by_question[row["head"] + row["tail"].removeprefix("'" if row["tail"] != "'n" else "")]
            writer.writerow(row | {name: own[name] for name in ("verdict", "source", "note")})
    main(["campaign", "import", str(other), str(tmp_path / "ann.csv")])
    came, expected = (sorted(event[:-1] for event in said(read_campaign(one).judgements)) for one in (folder, other))
    assert came == expected
    assert len(came) == 5

    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.seen") == {"alerts": 0, "forbidden": []}
    assert {one.partition("#")[0] for one in requests(browser) if not one.startswith("blob:")} == {address}


def test_a_verdict_is_corrected_found_and_undone(browser: Any, open_file: Any, ann: Path):
    """In the list of one's own verdicts, by its answer and its words."""
    open_file(ann)
    keys(browser, "u")
    until(lambda: counts(browser) == (1, 4))
    keys(browser, "m", "not sure", "\ue00c", "/", WIKI, "\ue007", "n")
    until(lambda: "Stored: No" in text(browser))
    browser.find_element("link text", "My verdicts").click()
    until(lambda: "1 found" in text(browser))
    assert "not sure" in text(browser)
    browser.find_element("id", "text").send_keys("nothing like it\ue007")
    until(lambda: "0 found" in text(browser))
    browser.back()
    until(lambda: "1 found" in text(browser))
    browser.find_element("css selector", ".verdicts a").click()
    until(lambda: "Stored: No" in text(browser))
    keys(browser, "z")
    until(lambda: "Stored: Unsure" in text(browser))
    assert counts(browser) == (1, 4)


def test_a_download_goes_on_in_another_browser(browser: Any, open_file: Any, ann: Path, tmp_path: Path):
    """What is newer there is taken, and what is of somebody else's tasks is not."""
    open_file(ann)
    keys(browser, "u", "j", "u")
    until(lambda: counts(browser) == (2, 3))
    browser.find_element("css selector", "header .download").click()
    path = downloaded(tmp_path / "ann-2.jsonl")
    with path.open("a") as stream:
        stream.write(json.dumps(json.loads(path.read_text().splitlines()[0]) | {"annotator": "bob"}) + "\n")
    open_file(ann, begins=False)
    for found in ("2 taken, 0 not newer than here, 1 of other tasks.", "0 taken, 2 not newer than here"):
        browser.find_element("id", "load").send_keys(str(path))
        until(lambda found=found: found in text(browser))
    browser.find_element("css selector", "main button.main").click()
    until(lambda: counts(browser) == (2, 3))
    (tmp_path / "wrong.jsonl").write_text("no JSON\n")
    browser.find_element("link text", "Guidelines").click()
    until(lambda: browser.find_elements("id", "load"))
    browser.find_element("id", "load").send_keys(str(tmp_path / "wrong.jsonl"))
    until(lambda: "This is not a file that was downloaded here." in text(browser))


def test_a_browser_that_keeps_nothing_says_so(browser: Any, open_file: Any, ann: Path, tmp_path: Path):
    """Before anything is lost; the download still holds all."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": UNKEPT})
    try:
        open_file(ann)
        assert browser.find_element("id", "warning").is_displayed()
        leaves = "const e = new Event('beforeunload', {cancelable: true}); dispatchEvent(e); return !e.defaultPrevented"
        assert browser.execute_script(leaves)
        keys(browser, "u")
        until(lambda: "Stored: Unsure, until this page is closed" in text(browser))
        assert not browser.execute_script(leaves)
        browser.find_element("css selector", "header .download").click()
        assert downloaded(tmp_path / "ann-1.jsonl").read_text().count("\n") == 1
        assert browser.execute_script(leaves)
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_two_windows_do_not_undo_each_other(browser: Any, open_file: Any, ann: Path):
    """The second one is told what was said in the first, and asked."""
    address = open_file(ann)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        browser.get(f"{address}#/question/1")
        until(lambda: counts(browser) == (0, 5))
        keys(browser, "u")
        until(lambda: counts(browser) == (1, 4))
        second = browser.current_window_handle
        browser.switch_to.window(first)
        keys(browser, "/", WIKI, "\ue007", "n")
        until(lambda: "You have said something else meanwhile: Unsure" in text(browser))
        browser.find_element("xpath", "//button[text()='Store what is here']").click()
        until(lambda: "Stored: No" in text(browser))
        browser.switch_to.window(second)
        browser.close()
    finally:
        browser.switch_to.window(first)


def test_two_campaigns_on_one_pool_share_nothing_in_one_browser(browser: Any, open_file: Any, tmp_path: Path):
    """Ann's files of both, each from a disk: what she has given and typed in one is not in the other."""
    paths = []
    for name in ("pilot", "campaign"):
        made = folder_of(campaign_with_roles(), tmp_path / name)
        paths.append(tmp_path / f"{name}.html")
        main(["campaign", "export", str(made), "--annotator", "ann", "--out", str(paths[-1])])

    def typed() -> list[str]:
        return [field.get_attribute("value") for field in browser.find_elements("css selector", "textarea")]

    first = open_file(paths[0])
    keys(browser, "u", "j", "m", "only typed", "\ue00c")
    until(lambda: counts(browser) == (1, 4))
    opened(browser, paths[1].as_uri())
    until(lambda: "#/guidelines" in browser.current_url)  # nor has she read these
    browser.find_element("css selector", "main button.main").click()
    until(lambda: counts(browser) == (0, 5))
    assert set(typed()) == {""}
    keys(browser, "/", WIKI, "\ue007", "n", "\ue007", "n")
    until(lambda: counts(browser) == (2, 3))
    opened(browser, first)
    until(lambda: counts(browser) == (1, 4))
    assert sorted(typed()) == ["", "only typed"]
    assert "Stored: No" not in text(browser)


def test_an_adjudicator_decides_between_two_sides(browser: Any, open_file: Any, tmp_path: Path):
    """With a link of one of them; downloaded and taken in."""
    folder = folder_of(campaign_with_roles(EVENTS), tmp_path / "campaign")
    main(["campaign", "adjudicate", str(folder), "--person", "eve", "--out", str(tmp_path / "eve.html")])
    open_file(tmp_path / "eve.html")
    assert counts(browser) == (0, 3)
    keys(browser, "u")
    until(lambda: "Stored: Undecidable" in text(browser))
    browser.find_element("css selector", ".take").click()
    keys(browser, "y")
    until(lambda: "Stored: Yes" in text(browser))
    browser.find_element("css selector", "header .download").click()
    path = downloaded(tmp_path / "eve-1.jsonl")
    main(["campaign", "adjudicate", str(folder), "--import", str(path)])
    event = said(read_campaign(folder).judgements)[-1]
    assert event[1:5] == ("eve", "adjudicator", 1, WIKI)


def test_labels_are_text_whatever_they_hold(browser: Any, open_file: Any, tmp_path: Path):
    """They are shown as they are, and nothing of them runs."""
    campaign = replace(campaign_with_roles(), names=dict(zip(ENTITIES, HOSTILE, strict=False)))
    path = tmp_path / "ann.html"
    path.write_text(tasks_file(campaign, tasks_for(campaign, "ann"), person="ann", guidelines=HOSTILE[0]))
    open_file(path)
    shown = " ".join(browser.execute_script("return [...document.querySelectorAll('.card')].map((e) => e.ariaLabel)"))
    browser.get(f"{path.as_uri()}#/question/2")
    until(lambda: len(browser.find_elements("css selector", ".card")) == 3)
    shown += " ".join(browser.execute_script("return [...document.querySelectorAll('.card')].map((e) => e.ariaLabel)"))
    for label in ("</script><script>alert(1)</script>", "<!--", "[[title]] {{ 7*7 }} {% x %}"):
        assert label in shown
    assert browser.execute_script("return window.seen") == {"alerts": 0, "forbidden": []}
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_page_of_the_file_scrolls_sideways(browser: Any, open_file: Any, ann: Path, width: int):
    """On a phone, a tablet and a desktop."""
    address = open_file(ann, width=width)
    for path in ("#/guidelines", "#/question/2", "#/question/verdicts", "#/question/99"):
        browser.get(address + path)
        until(lambda path=path: browser.execute_script("return location.hash") == path)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("person", ["ann", "eve"])
def test_nothing_on_the_file_keeps_people_from_using_it(browser: Any, open_file: Any, tmp_path: Path, person: str):
    """axe-core finds no violation on any of its pages, light or dark, on a desktop or a phone."""
    campaign = campaign_with_roles(EVENTS)
    role = "annotator" if person == "ann" else "adjudicator"
    tasks = tasks_for(campaign, "ann") if person == "ann" else tasks_for_adjudicator(campaign, "eve")
    path = tmp_path / f"{person}.html"
    path.write_text(tasks_file(campaign, tasks, person=person, role=role, guidelines="# How to judge\n"))
    address = open_file(path)
    keys(browser, "u")
    until(lambda: "Stored: " in text(browser))
    home = browser.current_url.partition("#")[2].rpartition("/")[0]
    for page in ("/guidelines", f"{home}/1", f"{home}/verdicts", f"{home}/99"):
        browser.get(f"{address}#{page}")
        until(lambda page=page: browser.execute_script("return location.hash") == f"#{page}")
        assert violations_in_every_look(browser) == {}, page


def test_without_a_script_the_file_says_what_it_needs(browser: Any, open_file: Any, ann: Path):
    """Instead of showing nothing."""
    open_file(ann)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get("about:blank")
        browser.get(ann.as_uri())
        assert "This file needs JavaScript." in text(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_double_brackets_in_guidelines_and_labels_are_text(browser: Any, open_file: Any, folder: Path, tmp_path: Path):
    """Also those that a template has for its own, and the names of what every JavaScript object has."""
    (folder / GUIDELINES).write_text("See [[link]], [[Paris]] and [[constructor]].\n")
    campaign = read_campaign(folder)
    names = dict(campaign.names) | dict.fromkeys(ENTITIES, "[[constructor]] [[note]] [[__proto__]]")
    campaign = replace(campaign, names=names)
    text_of = tasks_file(
        campaign, tasks_for(campaign, "ann"), person="ann", guidelines=(folder / GUIDELINES).read_text()
    )
    (tmp_path / "ann.html").write_text(text_of)
    open_file(tmp_path / "ann.html", begins=False)
    assert "See [[link]], [[Paris]] and [[constructor]]." in text(browser)
    browser.find_element("css selector", "main button.main").click()
    until(lambda: counts(browser) == (0, 5))
    assert "[[constructor]] [[note]] [[__proto__]]" in text(browser)
    assert "native code" not in browser.find_element("css selector", "body").get_attribute("innerHTML")
    assert browser.get_log("browser") == []
