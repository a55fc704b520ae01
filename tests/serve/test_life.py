"""The whole life of a campaign in four browsers at once, from the demo's pool to qrels."""

from __future__ import annotations

import csv
import re
import shutil
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.tasks import phrase_tasks
from kgtrec.campaign.track import track
from kgtrec.cli import main
from kgtrec.cli.demo_steps import write_demo_campaign
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.openworld.annotators import annotate
from kgtrec.openworld.family_tree import family_tree
from tests.campaign_folders import said
from tests.report.test_browser import requests, started
from tests.serve.test_browser import Served, sign_in, until

pytestmark = pytest.mark.slow  # four browsers

#: Of the demo's pool. All ten ranks are 2,105 tasks each, which a person may not send within 90 seconds.
DEPTH = 2
PACE = 0.35  # seconds for each verdict, which takes three requests; the server takes ten a second from one person
LONGEST = 360.0  # seconds for everything, on a busy machine
NOTE = "no entry in the register"
KEY = {"Y": "y", "N": "n", "unsure": "u"}
PEOPLE = ("annotator-1", "annotator-2", "adjudicator", "manager")
ERRORS = {"annotator-1": (0.1, 0.05), "annotator-2": (0.1, 0.05), "adjudicator": (0.02, 0.02)}


@dataclass(frozen=True)
class Statement:
    """What somebody says to a question."""

    verdict: str
    source: str
    note: str


def plans_of(folder: Path) -> dict[str, dict[str, Statement]]:
    """person -> question -> what they will say to it, if they are asked."""
    campaign, truth = read_campaign(folder), family_tree(200, 0).facts
    n_triples = len(campaign.pool.triples.head)
    found = {}
    for person, (error, unsure) in ERRORS.items():
        asked = phrase_tasks(campaign, range(n_triples), [(person,)] * n_triples)
        told = annotate(asked, truth, person, error=error, unsure=unsure)
        questions, verdicts = told.question.to_pylist(), told.verdict.to_pylist()
        assert len(set(questions)) == n_triples
        found[person] = {
            question: Statement(verdict, "", NOTE)
            if verdict == "unsure"
            else Statement(verdict, f"https://register.example/{person}", "")
            for question, verdict in zip(questions, verdicts, strict=True)
        }
    return found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The demo's campaign, and beside it a copy that nobody has judged."""
    write_demo_campaign(tmp_path / "campaign", DEPTH)
    shutil.copytree(tmp_path / "campaign", tmp_path / "copy")
    found = Served(tmp_path / "campaign", tmp_path / "errors.txt")
    yield found
    if found.process.poll() is None:
        assert found.stop() == 0
    found.process.stdout.close()
    assert "Traceback" not in found.errors.read_text()


@pytest.fixture
def browsers(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """One for each person, with profiles of their own."""
    found: dict[str, Any] = {}
    try:
        for person in PEOPLE:
            found[person] = started(tmp_path / f"profile-{person}")
        yield found
    finally:
        for each in found.values():
            each.quit()


@dataclass(frozen=True)
class Life:
    """What the four threads share."""

    served: Served
    plans: dict[str, dict[str, Statement]]
    new_link: threading.Event  # the adjudicator has a new link
    failed: threading.Event  # somebody cannot go on, so that nobody waits for them

    def wait(self, condition: Any, seconds: float = 20.0) -> Any:
        """Until a condition holds, or somebody has failed."""
        return until(lambda: condition() or self.failed.is_set(), seconds)


def text(browser: Any) -> str:
    found: str = browser.find_element("id", "main").text
    return found


def open_cards(browser: Any) -> list[tuple[str, str]]:
    """The question on the page: id and question of each candidate that is not stored."""
    script = "return [...document.querySelectorAll('.card:not(.is-stored)')].map((card) => [card.id, card.ariaLabel])"
    return [(task, question) for task, question in browser.execute_script(script)]


def judge_by_keys(browser: Any, life: Life, person: str) -> None:
    """Judge the question on the page by keys alone, and go to the next."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    cards, plan = open_cards(browser), life.plans[person]
    browser.execute_script("window.isOld = true")
    chain = ActionChains(browser)
    links = {plan[question].source for _, question in cards} - {""}
    for link in links:
        chain.send_keys("/", link, Keys.ENTER)
    for _, question in cards:
        words = plan[question]
        if words.note:
            chain.send_keys("m", words.note, Keys.ESCAPE)
        chain.send_keys(KEY[words.verdict], Keys.ENTER)  # the last Enter goes on when all are stored
        chain.pause(PACE)
    chain.perform()
    life.wait(lambda: browser.execute_script("return !window.isOld && document.readyState == 'complete'"))


def annotate_by_keys(browser: Any, life: Life) -> None:
    """All tasks of the first annotator, without a mouse."""
    sign_in(browser, life.served, "annotator-1")
    while "All your tasks are done" not in text(browser) and not life.failed.is_set():
        judge_by_keys(browser, life, "annotator-1")


def tap(browser: Any, element: Any) -> None:
    """With a finger."""
    from selenium.webdriver.common.actions import interaction
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.pointer_input import PointerInput

    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    finger = ActionBuilder(browser, mouse=PointerInput(interaction.POINTER_TOUCH, "finger"), duration=0)
    finger.pointer_action.move_to(element).pointer_down().pointer_up()
    finger.perform()


def annotate_on_a_phone(browser: Any, life: Life) -> None:
    """Half the tasks of the second annotator by touch, then the rest by plain forms, without a script."""
    plan = life.plans["annotator-2"]
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    sign_in(browser, life.served, "annotator-2", width=390)
    n_tasks = int(re.findall("([0-9]+) left", text(browser))[0])
    n_done = 0
    while n_done < n_tasks / 2 and not life.failed.is_set():
        cards, address = open_cards(browser), browser.current_url
        if any(plan[question].source for _, question in cards):
            tap(browser, browser.find_element("id", "source"))
            browser.find_element("id", "source").send_keys("https://register.example/annotator-2")
        for task, question in cards:
            card = browser.find_element("id", task)
            note(browser, card, plan[question])
            tap(browser, card.find_element("css selector", f".answer-{plan[question].verdict}"))
            time.sleep(PACE)
        n_done += len(cards)
        life.wait(lambda: not open_cards(browser))
        tap(browser, browser.find_element("id", "next"))
        life.wait(lambda address=address: browser.current_url != address and open_cards(browser))

    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.refresh()
    while "All your tasks are done" not in text(browser) and not life.failed.is_set():
        cards, address = open_cards(browser), browser.current_url
        for task, question in cards:
            card = browser.find_element("id", task)
            card.find_element("css selector", f".answer-{plan[question].verdict}").click()
            note(browser, card, plan[question])
        browser.find_element("id", "source").send_keys("https://register.example/annotator-2")
        browser.find_element("css selector", ".link button").click()
        life.wait(lambda address=address: browser.current_url != address)


def note(browser: Any, card: Any, words: Statement) -> None:
    """Open the place for a note and write it there, if there is one to write."""
    if words.note:
        card.find_element("css selector", "summary").click()
        card.find_element("css selector", "textarea").send_keys(words.note)


def adjudicate(browser: Any, life: Life) -> None:
    """Decide conflicts and doubts as they come up, by a new link, until none can come any more."""
    old = life.served.links["adjudicator"]
    assert life.new_link.wait(60)
    browser.get(old)
    assert "This link is not valid any more" in text(browser)
    refused = browser.get_log("browser")
    assert len([entry for entry in refused if " 403 " in entry["message"]]) == len(refused)
    browser.get(life.served.links["adjudicator new"])
    until(lambda: browser.current_url.endswith("/guidelines"))
    until(lambda: browser.find_element("css selector", "button.main")).click()
    until(lambda: "/conflict" in browser.current_url)
    while not life.failed.is_set():
        if open_cards(browser):
            judge_by_keys(browser, life, "adjudicator")
        elif all_judged(life):
            browser.get(f"{life.served.url}/conflict")
            if not open_cards(browser):
                break
        else:
            time.sleep(1)
            browser.get(f"{life.served.url}/conflict")


def all_judged(life: Life) -> bool:
    """Whether both annotators are done."""
    return not any(track(read_campaign(life.served.folder)).to_do.values())


def manage(browser: Any, life: Life, downloads: Path) -> set[str]:
    """Make the adjudicator a new link, watch until everything is judged, and download the qrels; what was seen."""
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    browser.get(life.served.links["manager"])
    until(lambda: browser.current_url.endswith("/manage"))
    browser.find_element("link text", "People").click()
    until(lambda: browser.find_elements("css selector", "[aria-label='New link for adjudicator']"))[0].click()
    until(lambda: browser.find_element("name", "sure")).click()
    life.served.links["adjudicator new"] = until(lambda: browser.find_element("id", "link").get_attribute("value"))
    life.new_link.set()
    seen, deadline = set(), time.monotonic() + LONGEST
    while not life.failed.is_set():
        assert time.monotonic() < deadline, text(browser)
        browser.get(f"{life.served.url}/manage")
        seen.add(until(lambda: browser.find_element("css selector", ".lead strong")).text)
        if "Everything is judged" in text(browser):
            break
        time.sleep(2)
    browser.find_element("link text", "Download the qrels").click()
    until(lambda: browser.find_elements("id", "level"))
    browser.find_element("xpath", "//button[text()='Download qrels']").click()
    life.wait(lambda: [path for path in downloads.glob("*.zip") if path.stat().st_size])
    return seen


def import_the_same(folder: Path, plans: dict[str, dict[str, Statement]], work: Path) -> None:
    """The verdicts of all people, through CSV files and the commands."""
    for person in PEOPLE[:3]:
        path = work / f"{person}.csv"
        if person == "adjudicator":
            out = ["adjudicate", str(folder), "--person", person, "--out", str(path)]
            back = ["adjudicate", str(folder), "--person", person, "--import", str(path)]
        else:
            out = ["export", str(folder), "--annotator", person, "--out", str(path)]
            back = ["import", str(folder), str(path)]
        main(["campaign", *out])
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            for row in rows:
                words = plans[person][row["question"]]
                writer.writerow(row | {"verdict": words.verdict, "source": words.source, "note": words.note})
        main(["campaign", *back])


@pytest.mark.long
def test_the_life_of_a_campaign(served: Served, browsers: dict[str, Any], tmp_path: Path):
    """Judged on the page by four people at once: the same qrels, byte for byte, as those of CSV files."""
    life = Life(served, plans_of(served.folder), threading.Event(), threading.Event())
    downloads = tmp_path / "downloads"
    downloads.mkdir()

    def lived(person: str) -> Any:
        ways = {"annotator-1": annotate_by_keys, "annotator-2": annotate_on_a_phone, "adjudicator": adjudicate}
        browser = browsers[person]
        try:
            return manage(browser, life, downloads) if person == "manager" else ways[person](browser, life)
        except BaseException:
            life.failed.set()
            life.new_link.set()
            raise

    with ThreadPoolExecutor(len(PEOPLE)) as threads:
        futures = {person: threads.submit(lived, person) for person in PEOPLE}
        seen = {person: future.result() for person, future in futures.items()}["manager"]
    assert len(seen) > 2  # the dashboard moved

    import_the_same(tmp_path / "copy", life.plans, tmp_path)
    main(["campaign", "qrels", str(tmp_path / "copy"), "--out", str(tmp_path / "qrels")])
    events, expected = (
        sorted(event[:-1] for event in said(read_campaign(tmp_path / name).judgements)) for name in ("campaign", "copy")
    )
    assert events == expected
    (archive,) = downloads.glob("*.zip")
    with zipfile.ZipFile(archive) as packed:
        found = {Path(name).name: packed.read(name) for name in packed.namelist()}
    assert found == {path.name: path.read_bytes() for path in (tmp_path / "qrels").iterdir()}
    assert found["qrels.txt"].count(b"\n") > 200

    for person, browser in browsers.items():
        assert browser.get_log("browser") == [], person
        asked = [url for url in requests(browser) if not url.startswith(("data:", "blob:", "chrome:"))]
        assert asked, person
        assert {url for url in asked if not url.startswith(f"{served.url}/")} == set(), person
