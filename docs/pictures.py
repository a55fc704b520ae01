"""Make the pictures of the pages of `kgtrec campaign serve`, in the middle of the demo's campaign, and of its study.

    python docs/pictures.py

writes docs/images/serve-NAME.png for an annotator, an adjudicator and a manager, in a small window and at twice the
resolution of a screen, so that it can be read in the column of a page; and explore-NAME.png and explore-NAME-phone.png
of the page of `kgtrec explore` that the demo's study makes. Needs kgtrec[test], and chromium with chromedriver. Links
and sessions are those of a campaign that is removed afterwards, and none of them is on a picture. Dates and hours are
those of the day. Look at what comes out before it is committed.
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
from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

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
LARGEST = 150_000  # bytes of a picture
# width and height, and pixels for each of CSS
QUESTION, CONFLICT, DASHBOARD = (800, 540, 2), (800, 720, 2), (1000, 870, 2)
LONG, PHONE = (1280, 1280, 1), (390, 844, 2)
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


def take(browser: Any, name: str, *sizes: tuple[int, int, int]) -> None:
    """A picture of the beginning of the page in each size, in few colours."""
    for size in sizes:
        about = {"width": size[0], "height": size[1], "deviceScaleFactor": size[2], "mobile": size == PHONE}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", about)
        browser.execute_script("scrollTo(0, 0)")
        time.sleep(0.5)
        data = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
        picture = Image.open(io.BytesIO(data)).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        path = IMAGES / f"{name}{'-phone' if size == PHONE else ''}.png"
        picture.save(path, optimize=True)
        n_bytes = path.stat().st_size
        print(f"{path.name}: {picture.width} x {picture.height}, {n_bytes:,} bytes")
        if n_bytes > LARGEST:
            raise SystemExit(f"{path.name}: expected at most {LARGEST:,} bytes")


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


def of_roles(browser: Any, links: dict[str, str]) -> None:
    """Each role's page, a question begun where there is one."""
    for person, path in _ROLES.items():
        browser.delete_all_cookies()
        browser.get(links[person])
        until(browser, "form[action='/guidelines'] button.main").click()
        until(browser, ".card")
        if path != "conflict":
            fresh(browser)
            press(browser, "/", _OWN, Keys.ENTER, "n", Keys.ENTER)
        take(browser, f"serve-{path}", CONFLICT if path == "conflict" else QUESTION)
    browser.delete_all_cookies()
    browser.get(links["manager"])
    until(browser, ".answers")
    take(browser, "serve-dashboard", DASHBOARD)


def of_study(browser: Any, work: Path) -> None:
    """Two systems of the demo's study, and the question that makes the greatest part of their difference."""
    main(["demo", "--out", str(work / "demo")])
    page = (work / "demo" / "study" / "explore.html").as_uri()
    browser.get(f"{page}#a=rules&b=inverse&m=AP@20")
    most = until(browser, "a[href*='q=']")
    take(browser, "explore-pair", LONG, PHONE)
    browser.get(most.get_attribute("href"))
    until(browser, ".list")
    take(browser, "explore-question", LONG, PHONE)


def pictures() -> None:
    """All of them."""
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        folder = work / "campaign"
        write_demo_campaign(folder)
        judge(folder)
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
                of_roles(browser, {who.partition(" ")[0]: link for who, _, link in lines})
                of_study(browser, work)
            finally:
                server.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    pictures()
