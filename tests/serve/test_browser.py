"""The annotators' page in a real browser. Needs Debian's chromium and chromium-driver, or the like."""

from __future__ import annotations

import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.store import OpenCampaign
from kgtrec.data.judgements import Incoming
from kgtrec.formats.campaign.pools import read_settings, write_settings
from kgtrec.formats.output.folders import GUIDELINES
from tests.campaign_folders import folder_of
from tests.serve.conftest import FRANCE, JUDGED, WIKI, Page, PlaceNumbers, campaign_with_roles, draw

pytestmark = pytest.mark.slow  # a browser for each


class Served:
    """A campaign that the program serves, and its links."""

    def __init__(self, folder: Path, errors: Path) -> None:
        self.folder = folder
        words = [sys.executable, "-m", "kgtrec", "campaign", "serve", str(folder), "--port", "0"]
        self.errors = errors
        with errors.open("w") as stream:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=stream, text=True)
        self.links = {}
        assert self.process.stdout is not None
        for _ in range(5):
            who, _, link = self.process.stdout.readline().strip().partition(": ")
            self.links[who.partition(" ")[0]] = link
        self.numbers = PlaceNumbers(folder)
        self.url = next(iter(self.links.values())).partition("/in/")[0]

    def events(self) -> list[tuple[Any, ...]]:
        return Page(self.folder, None).events()

    def place(self, browser: Any) -> int | None:
        """Of the question that a browser shows."""
        found = re.search("/(?:question|conflict|sample)/([0-9]+)", self.numbers.small(browser.current_url))
        return int(found[1]) if found else None

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    (folder / GUIDELINES).write_text("# How to judge\n")
    found = Served(folder, tmp_path / "errors.txt")
    yield found
    if found.process.poll() is None:
        assert found.stop() == 0
    found.process.stdout.close()
    assert "Traceback" not in found.errors.read_text()


def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What a condition gives once it is true."""
    from selenium.common.exceptions import WebDriverException

    deadline = time.monotonic() + seconds
    while True:
        with suppress(WebDriverException):  # the page is being replaced: several errors, by when it is asked
            if found := condition():
                return found
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(0.03)


def sign_in(browser: Any, served: Served, person: str = "ann", *, width: int = 1280, script: bool = True) -> None:
    """Open somebody's link, read the guidelines, and come to the first question."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.delete_all_cookies()
    browser.get_log("browser")
    browser.get(served.links[person])
    until(lambda: browser.current_url.endswith("/guidelines"))
    until(lambda: browser.find_element("css selector", "button.main")).click()
    until(lambda: re.search("/(question|conflict|sample)/[0-9]", browser.current_url))


def keys(browser: Any, *words: str) -> None:
    """Press keys, wherever the focus is."""
    from selenium.webdriver import ActionChains

    for word in words:
        ActionChains(browser).send_keys(word).perform()


def test_a_link_leaves_the_address_bar_and_the_history(browser: Any, served: Served):
    """What stays is an address without it, also when going back; nor is it in what the server writes."""
    sign_in(browser, served)
    assert "/in/" not in browser.current_url
    token = served.links["ann"].rpartition("/")[2]
    assert token not in browser.page_source
    assert browser.execute_script("return document.cookie") == ""
    assert browser.execute_script("return document.referrer") == ""
    history = browser.execute_cdp_cmd("Page.getNavigationHistory", {})["entries"]
    assert any("/guidelines" in entry["url"] for entry in history)
    assert not any("/in/" in entry["url"] for entry in history)
    assert token not in served.errors.read_text()


def test_a_question_is_judged_by_keys_alone(browser: Any, served: Served):
    """A link once, then one key for No, and one more for the next; Enter goes on when all are done."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    assert served.place(browser) == 2
    keys(browser, "/", WIKI, Keys.ENTER, "n", Keys.ENTER, "n", Keys.ENTER)
    until(lambda: served.place(browser) == FRANCE)
    assert len(served.events()) == 2
    keys(browser, "n")
    told = "Not stored: expected a link to the source of a No, found none. Give one above: this answer is stored then."
    until(lambda: told in browser.find_element("id", "main").text)
    keys(browser, WIKI, Keys.ENTER)
    until(lambda: len(served.events()) == 3)
    keys(browser, Keys.ARROW_DOWN, "u", "j", "m", "a river", Keys.ESCAPE, "y")
    until(lambda: len(served.events()) == 5)
    keys(browser, Keys.ARROW_UP, "z")
    until(lambda: "Unsure is stored until you give another" in browser.find_element("id", "main").text)
    keys(browser, "n", "?")
    until(lambda: len(served.events()) == 6)
    assert [event[3] for event in served.events()] == [0, 0, 0, 2, 1, 0]
    assert [event[5] for event in served.events()] == ["", "", "", "", "a river", ""]
    assert browser.find_element("id", "keys").is_displayed()
    keys(browser, Keys.ESCAPE, Keys.ENTER)
    until(lambda: "All your tasks are done" in browser.find_element("id", "main").text)
    assert [entry for entry in browser.get_log("browser") if "422" not in entry["message"]] == []


def test_the_next_question_follows_by_itself(browser: Any, served: Served):
    """Once all is stored, and not to somebody who came back to correct, or presses a key meanwhile."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    keys(browser, "u", Keys.ENTER, "u")
    said = "Nothing of this question left. The next question follows; any key stays here."
    until(lambda: said in browser.execute_script("return document.getElementById('live').textContent"))
    assert served.place(browser) == 2
    until(lambda: served.place(browser) == FRANCE)
    until(lambda: browser.find_element("css selector", ".before")).click()
    until(lambda: served.place(browser) == 2)
    until(lambda: browser.find_elements("css selector", ".card:focus"))
    keys(browser, "m", "a river", Keys.ESCAPE)
    until(lambda: len(served.events()) == 3)
    time.sleep(2)
    assert served.place(browser) == 2
    keys(browser, Keys.ENTER)
    until(lambda: served.place(browser) == FRANCE)
    keys(browser, "u", Keys.ENTER, "u", Keys.ENTER, "u")
    until(lambda: said in browser.execute_script("return document.getElementById('live').textContent"))
    keys(browser, "k")
    time.sleep(2)
    assert served.place(browser) == FRANCE
    keys(browser, Keys.ENTER)
    until(lambda: "All your tasks are done" in browser.find_element("id", "main").text)


def test_ten_candidates_are_in_sight(browser: Any, served: Served):
    """On a screen of 1280 x 900, as long as question and names take a line each."""
    sign_in(browser, served)
    browser.get(served.url + served.numbers.large(f"/question/{FRANCE}"))
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    bottom = browser.execute_script(
        "const one = document.querySelector('.card'); scrollTo(0, 0);"
        "for (let n = 3; n < 10; n += 1) one.after(one.cloneNode(true));"
        "return [...document.querySelectorAll('.card')].at(-1).getBoundingClientRect().bottom"
    )
    assert bottom <= 900


def test_nothing_that_has_the_focus_is_behind_the_link(browser: Any, served: Served):
    """There and back by Tab on a small screen, where the link for all stays at the top."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served, width=390)
    browser.get(served.url + served.numbers.large(f"/question/{FRANCE}"))
    size = {"width": 390, "height": 500, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    hidden = (
        "const [one, bar] = [document.activeElement, document.querySelector('.link')];"
        "if (!one.closest('.card')) return null;"
        "return bar.getBoundingClientRect().bottom - one.getBoundingClientRect().top"
    )
    for back in (False, True):
        places = []
        for _ in range(14):
            chain = ActionChains(browser)
            (chain.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT) if back else chain.send_keys(Keys.TAB))
            chain.perform()
            places.append(browser.execute_script(hidden))
        found = [place for place in places if place is not None]
        assert len(found) >= 8
        assert max(found) <= 0


def test_where_no_links_are_asked_for_one_key_is_a_verdict(browser: Any, served: Served):
    """The key of the link does nothing, and the script misses no field."""
    write_settings(served.folder, read_settings(served.folder) | {"links": {"annotator": "none"}})
    sign_in(browser, served)
    assert browser.find_elements("css selector", "[name^=source]") == []
    keys(browser, "/", "y", "j", "n")
    until(lambda: len(served.events()) == 2)
    assert [event[3:5] for event in served.events()] == [(1, ""), (0, "")]
    assert browser.get_log("browser") == []


def test_without_a_script_plain_forms_do(browser: Any, served: Served):
    """The buttons of the form, and the browser's own requests, whose origin is null."""
    sign_in(browser, served, script=False)
    for task in ("verdict-2", "verdict-3"):
        browser.find_element("css selector", f"[name={served.numbers.large(task)}][value=N]").click()
    browser.find_element("id", "source").send_keys(WIKI)
    browser.find_element("css selector", ".link button").click()
    until(lambda: served.place(browser) == FRANCE)
    until(lambda: "2 stored." in browser.find_element("id", "main").text)
    browser.find_element("css selector", f"[name={served.numbers.large('verdict-4')}][value=unsure]").click()
    browser.find_element("css selector", f"[name=only][value='{served.numbers.tasks[3]}']").click()
    until(lambda: "Stored: Unsure" in browser.find_element("id", served.numbers.large("task-4")).text)
    assert [event[3] for event in served.events()] == [0, 0, 2]
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_page_scrolls_sideways(browser: Any, served: Served, width: int):
    """On a phone, a tablet and a desktop; buttons are large enough for a finger."""
    sign_in(browser, served, width=width)
    for path in (served.numbers.large(f"/question/{FRANCE}"), "/guidelines", "/question/verdicts", "/nothing"):
        browser.get(served.url + path)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.get(served.url + served.numbers.large(f"/question/{FRANCE}"))
    heights = browser.execute_script("return [...document.querySelectorAll('.answer')].map((e) => e.offsetHeight)")
    assert len(heights) == 9
    assert min(heights) >= 44


def test_no_row_grows_when_its_answer_is_stored(browser: Any, served: Served):
    """The rows below stay under the mouse."""
    sign_in(browser, served)
    rows = "return [...document.querySelectorAll('.card')].map((e) => e.offsetHeight)"
    before = browser.execute_script(rows)
    keys(browser, "u")
    until(lambda: "Stored: Unsure" in browser.find_element("id", "main").text)
    assert browser.execute_script(rows) == before


def test_what_was_typed_without_a_network_is_sent_when_it_is_back(browser: Any, served: Served):
    """It stays in the browser meanwhile, and not longer."""
    sign_in(browser, served)
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    keys(browser, "u")
    until(lambda: "No network" in browser.find_element("id", "main").text)
    assert served.events() == []
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    until(lambda: len(served.events()) == 1, 12)
    until(lambda: "Stored: Unsure" in browser.find_element("id", "main").text)
    assert browser.execute_script("return Object.values(localStorage).join()") == "{}"


def test_on_a_full_disk_what_was_typed_stays_and_is_stored_when_there_is_room(browser: Any, served: Served):
    """The page says so; the answer waits in the browser, over a reload too."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))  # no file takes a byte more
    keys(browser, "m", "a river", Keys.ESCAPE, "u")
    told = "Not stored. The disk of the server is full."
    until(lambda: told in browser.find_element("id", "main").text)
    assert "What you typed is kept in this browser." in browser.find_element("id", "main").text
    browser.refresh()
    until(lambda: told in browser.find_element("id", "main").text)
    notes = [field.get_attribute("value") for field in browser.find_elements("css selector", "textarea")]
    assert sorted(notes) == ["", "a river"]
    assert served.events() == []
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, limits)
    until(lambda: "Stored: Unsure" in browser.find_element("id", "main").text)
    assert [event[3:] for event in served.events()] == [(2, "", "a river")]


def test_without_a_network_the_next_question_waits(browser: Any, served: Served):
    """Enter stays on the page and says why, until the answer is stored; then it leads on."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    keys(browser, "u", Keys.ENTER)
    until(lambda: len(served.events()) == 1)
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    try:
        keys(browser, "u")
        until(lambda: "No network" in browser.find_element("id", "main").text)
        keys(browser, Keys.ENTER)
        until(lambda: "The next question can be opened when it is back" in browser.find_element("id", "main").text)
    finally:
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    until(lambda: len(served.events()) == 2, 12)
    assert served.place(browser) == 2
    until(lambda: "Stored: Unsure" in browser.find_element("id", served.numbers.large("task-3")).text)
    keys(browser, Keys.ENTER)
    until(lambda: served.place(browser) == FRANCE)


def test_after_undo_by_its_button_enter_leads_on(browser: Any, served: Served):
    """The focus is on the candidate then, so that the next key does not undo again."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    keys(browser, "u", "/", WIKI, Keys.ENTER, "n")
    until(lambda: len(served.events()) == 2)
    first, second = (browser.find_element("id", served.numbers.large(f"task-{task}")) for task in (2, 3))
    if not first.find_element("css selector", ".undo").is_displayed():
        first, second = second, first
    first.find_element("css selector", ".undo").click()
    until(lambda: [event[3] for event in served.events()] == [2, 0, 2])
    keys(browser, Keys.ENTER, "n")
    until(lambda: "Stored: No" in second.text)
    assert [event[3] for event in served.events()] == [2, 0, 2, 0]


def test_view_times_come_from_the_page_in_front(browser: Any, served: Served):
    """A task that somebody looked at has a time, and its verdict none."""
    sign_in(browser, served)
    time.sleep(0.6)
    keys(browser, "u")
    until(lambda: len(served.events()) == 1)
    with closing(sqlite3.connect(served.folder / "serve.sqlite")) as connection:
        rows = until(lambda: connection.execute("select person, seconds from views").fetchall())
    assert rows[0][0] == "ann"
    assert 0.5 < rows[0][1] < 60


def test_time_in_the_background_does_not_count(browser: Any, served: Served):
    """Three seconds behind another tab are not in the task's time."""
    begin = time.monotonic()
    sign_in(browser, served)
    first = browser.current_window_handle
    task = until(lambda: browser.find_element("css selector", ".card:focus").get_attribute("data-task"))
    time.sleep(0.5)
    browser.switch_to.new_window("tab")
    time.sleep(3)
    browser.close()
    browser.switch_to.window(first)
    keys(browser, "u")
    until(lambda: len(served.events()) == 1)
    all_seconds = time.monotonic() - begin
    with closing(sqlite3.connect(served.folder / "serve.sqlite")) as connection:
        query = "select sum(seconds) from views where task = ?"
        assert 0 < until(lambda: connection.execute(query, (task,)).fetchone()[0]) < all_seconds - 2.5


def test_the_server_stops_cleanly_when_it_is_told(served: Served):
    """With exit code 0, and nothing of the state left open."""
    assert (served.folder / "serve.sqlite").exists()
    assert served.stop() == 0
    assert not (served.folder / "serve.sqlite-wal").exists()
    assert "stopped" in served.errors.read_text()


@pytest.fixture
def judged(tmp_path: Path) -> Iterator[Served]:
    """A campaign where annotators are done, with conflicts and a sample."""
    folder = folder_of(campaign_with_roles(JUDGED), tmp_path / "campaign")
    (folder / GUIDELINES).write_text("# How to judge\n")
    draw(folder)
    found = Served(folder, tmp_path / "errors.txt")
    yield found
    if found.process.poll() is None:
        assert found.stop() == 0
    found.process.stdout.close()
    assert "Traceback" not in found.errors.read_text()


def of(served: Served, person: str) -> list[tuple[Any, ...]]:
    """What a person has said: triple, verdict, link."""
    return [(event[0], *event[3:5]) for event in served.events() if event[1] == person]


def test_conflicts_are_decided_by_keys_alone(browser: Any, judged: Served):
    """The link of a side by one key, the decision by another; it is no other candidate's before somebody says so."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, judged, "eve")
    assert judged.place(browser) == FRANCE
    keys(browser, "j", "k")
    sides = until(lambda: browser.find_elements("css selector", ".card:focus .side"))
    side = next(side for side in sides if side.get_attribute("data-source"))
    source = side.get_attribute("data-source")
    keys(browser, side.get_attribute("data-key"), "n")
    until(lambda: len(of(judged, "eve")) == 1)
    assert of(judged, "eve")[0][1:] == (0, source)
    assert browser.find_element("id", "source").get_attribute("value") == ""
    keys(browser, Keys.ENTER)
    doubted = until(lambda: browser.find_element("css selector", ".card:focus .side[data-source='']"))
    letter = doubted.get_attribute("data-key")
    keys(browser, letter)
    told = f"{letter.upper()} has no link to take."
    until(lambda: browser.execute_script("return document.getElementById('live').textContent") == told)
    keys(browser, "u", "m", "no source says so", Keys.ESCAPE, "?")
    until(lambda: len(of(judged, "eve")) == 3)
    until(lambda: "Stored: Undecidable" in browser.find_element("id", "main").text)
    assert "take the link of A or B" in browser.find_element("id", "keys").text
    keys(browser, Keys.ESCAPE, Keys.ENTER)
    until(lambda: "Nothing is left to decide" in browser.find_element("id", "main").text)
    assert browser.get_log("browser") == []


def test_a_conflict_that_is_resolved_meanwhile_is_told_on_the_page(browser: Any, judged: Served):
    """In words, without an alarm; the answer is not sent again, and the next key goes on."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, judged, "eve")
    OpenCampaign(judged.folder).store([Incoming("x", "bob", "Y", task, source=WIKI) for task in (4, 5)], correct=True)
    keys(browser, "u")
    until(lambda: "have come to agree" in browser.find_element("id", "main").text)
    keys(browser, Keys.ENTER, "u", Keys.ENTER)
    until(lambda: "There is nothing to decide yet" in browser.find_element("id", "main").text)
    assert browser.execute_script("return Object.values(localStorage).join()") in ("", "{}")
    assert of(judged, "eve") == []


def test_a_sample_is_judged_by_keys_alone(browser: Any, judged: Served):
    """As an annotator's tasks; nothing of the labels is on the page."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, judged, "ivy")
    assert judged.place(browser) == 2
    keys(browser, "/", WIKI, Keys.ENTER, "n", Keys.ENTER, "n", Keys.ENTER)
    until(lambda: judged.place(browser) == FRANCE)
    assert len(of(judged, "ivy")) == 2
    assert browser.find_elements("css selector", ".side") == []
    keys(browser, "u")
    until(lambda: len(of(judged, "ivy")) == 3)
    keys(browser, Keys.ENTER)
    until(lambda: "You have judged the whole sample" in browser.find_element("id", "main").text)


def test_conflicts_are_decided_without_a_script(browser: Any, judged: Served):
    """By the buttons of the form; those that need the script are not there."""
    sign_in(browser, judged, "eve", script=False)
    try:
        assert not any(button.is_displayed() for button in browser.find_elements("css selector", ".take"))
        for task, verdict in (("verdict-4", "N"), ("verdict-5", "unsure")):
            browser.find_element("css selector", f"[name={judged.numbers.large(task)}][value={verdict}]").click()
        browser.find_element("id", "source").send_keys(WIKI)
        browser.find_element("css selector", ".link button").click()
        until(lambda: "Nothing is left to decide" in browser.find_element("id", "main").text)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert sorted(event[:2] for event in of(judged, "eve")) == [(3, 0), (4, 2)]


@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize(("person", "path"), [("eve", "/conflict"), ("ivy", "/sample")])
def test_no_page_of_another_role_scrolls_sideways(browser: Any, judged: Served, width: int, person: str, path: str):
    """Long links of sides are broken; both sides are side by side where there is room."""
    note = "x" * 300
    OpenCampaign(judged.folder).store(
        [Incoming("x", "bob", "N", 4, source=f"{WIKI}/{'y' * 300}", note=note)], correct=True
    )
    sign_in(browser, judged, person, width=width)
    for address in (judged.numbers.large(f"{path}/{FRANCE}"), f"{path}/verdicts", f"{path}/99", "/"):
        browser.get(judged.url + address)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.get(judged.url + judged.numbers.large(f"{path}/{FRANCE}"))
    tops = browser.execute_script(
        "return [...document.querySelectorAll('.card')].map((card) => new Set([...card.querySelectorAll('.side')]"
        ".map((side) => side.offsetTop)).size)"
    )
    assert tops == ([0] if person == "ivy" else [2, 2] if width == 320 else [1, 1])


def counted(browser: Any, *words: str) -> int:
    """Press keys, and count them: a pasted link is one."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    for word in words:
        if word == "paste":
            ActionChains(browser).key_down(Keys.CONTROL).send_keys("v").key_up(Keys.CONTROL).perform()
        else:
            assert len(word) == 1
            keys(browser, word)
    return len(words)


def test_a_verdict_takes_as_few_keystrokes_as_the_docs_say(browser: Any, served: Served):
    """One for a candidate of a question with a link, another one to go on; a question's link takes three."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    browser.find_element("id", "source").send_keys(WIKI)
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("a", "x").key_up(Keys.CONTROL).perform()
    browser.get(f"{served.url}/question")
    link = counted(browser, "/", "paste", Keys.ENTER)
    verdict = counted(browser, "n")
    until(lambda: len(served.events()) == 1)
    onward = counted(browser, Keys.ENTER)
    last = counted(browser, "y", Keys.ENTER)
    until(lambda: served.place(browser) == FRANCE)
    assert [event[3:5] for event in served.events()] == [(0, WIKI), (1, WIKI)]
    unsure = counted(browser, "u", Keys.ENTER)
    until(lambda: len(served.events()) == 3)

    docs = Path(__file__).parents[2] / "docs"
    row = re.findall(r"^annotation page,(.*)$", (docs / "serve-keystrokes.csv").read_text(), re.MULTILINE)
    ten = link + 10 * last
    assert [int(cell) for cell in row[0].split(",")] == [verdict, verdict + onward, unsure, link, ten]
    said = " ".join((docs / "serve.md").read_text().split())
    assert f"Ten candidates with one link take {ten} keystrokes here" in said
