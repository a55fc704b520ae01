"""Make the pictures and recordings of the pages of kgtrec, in the middle of the demo's campaign, and of its study.

    python docs/pictures.py [stills] [recordings]

writes docs/images/serve-NAME.png (a question, a conflict, the dashboard), explore-NAME.png and
study-summary.png (of the demo's study), as wide as a page of the documentation shows them, and two recordings of
20 to 25 s, judge.webp and explore.webp, which play once. Needs kgtrec[test] and Pillow, and chromium with chromedriver.
Links and sessions are those of a campaign that is removed afterwards, and none of them is on a picture. Dates and hours
are those of the day. Look at what comes out before it is committed.
"""

from __future__ import annotations

import base64
import io
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from kgtrec.campaign.store import OpenCampaign
from kgtrec.campaign.tasks import tasks_for, tasks_for_adjudicator
from kgtrec.cli import main
from kgtrec.cli.demo_steps import write_demo_campaign
from kgtrec.data.judgements import Incoming, Tasks
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.openworld.annotators import annotate
from kgtrec.openworld.family_tree import family_tree
from kgtrec.serve.service import CampaignService
from kgtrec.serve.state import State, View

IMAGES = Path(__file__).parent / "images"
LARGEST, LARGEST_RECORDING = 150_000, 1_000_000  # bytes
WINDOW, STILL = 840, 1134  # width of the window, and of a picture: text is about as large as that of a page
FRAME, BAR = (800, 500), 44  # a recording, and the bar below that says what is done
FRAME_MS, LONG_MS = 500, 1500  # of a frame; of one that is read
_COLOURS = 256  # enough for marks and shadows
_SOURCES = {"annotator-1": "https://register.example/births", "annotator-2": "https://register.example/marriages"}
_OWN = "https://register.example/families"  # of who is on a picture, and of the adjudicator
#: annotator -> tasks judged in an hour, by how many hours ago
_HOURS = {
    "annotator-1": {30: 90, 29: 120, 28: 80, 6: 100, 5: 130, 4: 90},
    "annotator-2": {29: 70, 28: 110, 27: 60, 5: 80, 4: 95, 3: 60},
}
_ROLES = {"annotator-1": "question", "adjudicator": "conflict"}
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--force-prefers-reduced-motion",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


def judge(folder: Path) -> None:
    """Make programs judge as people would: half of the tasks, and some conflicts."""
    truth, now = family_tree(200, 0).facts, datetime.now(UTC)
    draws, state = np.random.default_rng(0), State(folder)
    numbers = CampaignService(folder).look("").numbers.task
    for person, hours in _HOURS.items():
        asked = tasks_for(read_campaign(folder), person)
        told = annotate(asked, truth, person, error=0.06, unsure=0.03, source=_SOURCES[person])
        first = 0
        for ago, n_tasks in hours.items():
            _store(folder, told, person, "annotator", slice(first, first + n_tasks), now - timedelta(hours=ago))
            first += n_tasks
        for task, seconds in zip(asked.task[:first].tolist(), draws.lognormal(3, 0.6, first), strict=True):
            state.add_view(View(person, "annotator", int(numbers[task - 1]), now.timestamp(), round(seconds, 1), 1))
    state.close()
    told = annotate(tasks_for_adjudicator(read_campaign(folder), "adjudicator"), truth, "adjudicator", source=_OWN)
    _store(folder, told, "adjudicator", "adjudicator", slice(12), now - timedelta(hours=2))


def _store(folder: Path, tasks: Tasks, person: str, role: str, part: slice, when: datetime) -> None:
    columns = (tasks.task.tolist(), tasks.verdict.to_pylist(), tasks.source.to_pylist())
    rows = [
        Incoming(person, person, verdict, task, source=source, role=role)
        for task, verdict, source in zip(*(column[part] for column in columns), strict=True)
    ]
    OpenCampaign(folder).store(rows, time=f"{when:%Y-%m-%dT%H:%M:%SZ}")


def screenshot(browser: Any, width: int, height: int, scale: float) -> Image.Image:
    """What a window of that size shows."""
    about = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)
    time.sleep(0.3)
    data = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
    return Image.open(io.BytesIO(data)).convert("RGB")


def take(browser: Any, name: str, height: int, width: int = WINDOW) -> None:
    """A picture of the beginning of the page, in few colours."""
    browser.execute_script("scrollTo(0, 0)")
    picture = screenshot(browser, width, height, STILL / width).quantize(_COLOURS, dither=Image.Dither.NONE)
    path = IMAGES / f"{name}.png"
    picture.save(path, optimize=True)
    checked(path, LARGEST)


def checked(path: Path, largest: int) -> None:
    """Say what was written; the program ends if it is too large."""
    n_bytes = path.stat().st_size
    print(f"{path.name}: {' x '.join(map(str, Image.open(path).size))}, {n_bytes:,} bytes")
    if n_bytes > largest:
        raise SystemExit(f"{path.name}: expected at most {largest:,} bytes")


class Recording:
    """Frames of a page, each with a bar that says what is done, and a pointer where something is clicked."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.frames, self.lasts = browser, [], []
        family = font_manager.FontProperties(family="DejaVu Sans")
        self.font = ImageFont.truetype(font_manager.findfont(family), 17)
        screenshot(browser, FRAME[0], FRAME[1] - BAR, 1)

    def add(self, words: str, at: Any = None, ms: int = FRAME_MS) -> None:
        """The page as it is now."""
        frame = Image.new("RGB", FRAME, "#1d2733")
        frame.paste(screenshot(self.browser, FRAME[0], FRAME[1] - BAR, 1))
        pen = ImageDraw.Draw(frame)
        pen.text((16, FRAME[1] - BAR / 2), words, "white", self.font, "lm")
        if at is not None:
            box = self.browser.execute_script(
                "const b = arguments[0].getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]",
                at,
            )
            pen.polygon(_pointer(*box), "black", "white")
        self.frames.append(frame)
        self.lasts.append(ms)

    def click(self, words: str, selector: str, then: str) -> None:
        """Point, click, and what comes."""
        element = until(self.browser, selector)
        self.browser.execute_script(
            "const r = arguments[0].getBoundingClientRect();"
            "if (r.bottom > innerHeight || r.top < 0) arguments[0].scrollIntoView({block: 'center'})",
            element,
        )
        self.add(words, element, LONG_MS)
        element.click()
        until(self.browser, then)
        time.sleep(0.5)

    def key(self, words: str, *keys: str, stores: bool = False) -> None:
        """The key, and what it does; it must store a verdict if it is to."""
        before = len(self.browser.find_elements("css selector", ".card.is-stored"))
        ActionChains(self.browser).send_keys(*keys).perform()
        time.sleep(0.6)
        self.browser.execute_script("document.activeElement.closest('.card')?.scrollIntoView({block: 'nearest'})")
        if len(self.browser.find_elements("css selector", ".card.is-stored")) != before + stores:
            raise SystemExit(f"{words}: expected {int(stores)} verdict to be stored")
        self.add(words, ms=2 * FRAME_MS)

    def save(self, path: Path) -> None:
        """One file, which plays once and ends with its last frame."""
        first, *others = self.frames
        first.save(path, save_all=True, append_images=others, duration=self.lasts, loop=1, lossless=True, method=6)
        print(f"{sum(self.lasts) / 1000:g} seconds")
        checked(path, LARGEST_RECORDING)


def _pointer(x: float, y: float) -> list[tuple[float, float]]:
    return [(x + a, y + b) for a, b in ((0, 0), (0, 24), (6, 19), (10, 28), (14, 26), (10, 17), (18, 17))]


def until(browser: Any, selector: str) -> Any:
    """The first element that a selector finds, once there is one."""
    for _ in range(200):
        with suppress(WebDriverException):
            if found := browser.find_elements("css selector", selector):
                return found[0]
        time.sleep(0.05)
    raise SystemExit(f"expected {selector} on {browser.current_url.partition('/in/')[0]}")


def press(browser: Any, *words: str) -> None:
    """Keys, one after another, and time for what they do."""
    ActionChains(browser).send_keys(*words).perform()
    time.sleep(0.5)


def fresh(browser: Any) -> None:
    """Go on to a question of which nothing is judged."""
    while browser.find_elements("css selector", ".card.is-stored"):
        browser.find_element("id", "next").click()
        time.sleep(0.5)
        until(browser, ".card")


def enter(browser: Any, link: str) -> None:
    """Come in by the link of a person who judges, past the guidelines."""
    browser.delete_all_cookies()
    browser.get(link)
    until(browser, ".card, .answers, form[action='/guidelines'] button.main")
    if begin := browser.find_elements("css selector", "form[action='/guidelines'] button.main"):
        begin[0].click()


def of_roles(browser: Any, links: dict[str, str]) -> None:
    """Each role's page, a question begun where there is one."""
    for person, path in _ROLES.items():
        enter(browser, links[person])
        until(browser, ".card")
        if path != "conflict":
            fresh(browser)
            press(browser, "/", _OWN, Keys.ENTER, "n", Keys.ENTER)
        take(browser, f"serve-{path}", 720)
    enter(browser, links["manager"])
    until(browser, ".answers")
    take(browser, "serve-dashboard", 760)


def of_study(browser: Any, study: Path) -> None:
    """Two systems of the demo's study, the question that makes most of their difference, and the report."""
    page = (study / "explore.html").as_uri()
    browser.get(f"{page}#a=rules&b=inverse&m=AP@20")
    most = until(browser, "a[href*='q=']")
    take(browser, "explore-pair", 960)
    browser.get(most.get_attribute("href"))
    until(browser, ".list")
    take(browser, "explore-question", 900, 960)
    browser.get((study / "report.html").as_uri())
    until(browser, "svg")
    take(browser, "study-summary", 760)


def record_judging(browser: Any, links: dict[str, str]) -> None:
    """An annotator comes in by the link, judges three candidates by keys and goes on; then the manager's dashboard."""
    browser.delete_all_cookies()
    browser.get(links["annotator-2"])
    shown = Recording(browser)
    if browser.find_elements("css selector", "form[action='/guidelines']"):
        shown.click("A link signs in; the guidelines come first", "form[action='/guidelines'] button.main", ".card")
    until(browser, ".card")
    fresh(browser)
    shown.add("A question and its candidates", ms=2 * LONG_MS)
    shown.key("Key /, paste: the link of a source, for the whole question", "/", _SOURCES["annotator-2"], Keys.ENTER)
    shown.key("Key n: No, stored at once", "n", stores=True)
    shown.key("Key Enter: the next candidate", Keys.ENTER)
    shown.key("Key n: No", "n", stores=True)
    shown.key("Key Enter: the next candidate", Keys.ENTER)
    shown.key("Key u: Unsure; the adjudicator decides", "u", stores=True)
    browser.find_element("id", "next").click()
    until(browser, ".card")
    time.sleep(0.7)
    shown.add("The next question", ms=LONG_MS)
    enter(browser, links["adjudicator"])
    until(browser, ".card")
    shown.add("The adjudicator: two verdicts that differ, each with its link", ms=2 * LONG_MS)
    shown.click("The link of B shows that it is true", ".card:not(.is-stored) .side:last-of-type .take", ".card")
    shown.key("Key y: Yes, the decision", "y", stores=True)
    enter(browser, links["manager"])
    until(browser, ".answers")
    shown.add("The manager: what is done, and how well people agree", ms=2 * LONG_MS)
    for _ in range(3):
        browser.execute_script("scrollBy(0, 300)")
        shown.add("The manager: what is done, and how well people agree", ms=LONG_MS)
    shown.save(IMAGES / "judge.webp")


def record_exploring(browser: Any, study: Path) -> None:
    """From all systems to a pair of them, to a question, to the labels."""
    browser.get((study / "explore.html").as_uri())
    until(browser, "a[href*='b=']")
    shown = Recording(browser)
    shown.add("All systems, under each label set", ms=2 * LONG_MS)
    shown.click("A pair: why is one above the other?", "a[href*='a=rules'][href*='b=inverse']", "a[href*='q=']")
    shown.add("The parts of the difference", ms=LONG_MS)
    for _ in range(2):
        browser.execute_script("scrollBy(0, 350)")
        shown.add("The parts of the difference, and the questions that make it", ms=LONG_MS)
    shown.click("A question that makes much of it", "a[href*='q=']", ".list")
    shown.add("Both lists of candidates, with what is known of each", ms=2 * LONG_MS)
    browser.execute_script("scrollBy(0, 350)")
    shown.add("Both lists of candidates, with what is known of each", ms=LONG_MS)
    browser.execute_script("scrollTo(0, 0)")
    shown.click("Labels: what judging changed", "a[href^='#labels']", "main")
    Select(browser.find_elements("css selector", "#bar select")[-1]).select_by_visible_text("judged")
    time.sleep(0.5)
    for _ in range(3):
        shown.add("Labels: what judging changed", ms=LONG_MS)
        browser.execute_script("scrollBy(0, 300)")
    shown.save(IMAGES / "explore.webp")


def pictures(kinds: list[str]) -> None:
    """All of them, or those of a kind."""
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        folder = work / "campaign"
        write_demo_campaign(folder)
        judge(folder)
        main(["demo", "--out", str(work / "demo")])
        study = work / "demo" / "study"
        options, driver = webdriver.ChromeOptions(), Service(shutil.which("chromedriver"))
        for flag in _FLAGS:
            options.add_argument(flag)
        words = [sys.executable, "-m", "kgtrec", "campaign", "serve", str(folder), "--port", "0"]
        with (
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server,
            webdriver.Chrome(options, driver) as browser,
        ):
            try:
                lines = (server.stdout.readline().strip().partition(": ") for _ in range(5)) if server.stdout else ()
                links = {who.partition(" ")[0]: link for who, _, link in lines}
                if "stills" in kinds:
                    of_roles(browser, links)
                    of_study(browser, study)
                if "recordings" in kinds:
                    record_judging(browser, links)
                    record_exploring(browser, study)
            finally:
                server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    pictures(sys.argv[1:] or ["stills", "recordings"])
