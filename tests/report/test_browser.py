"""The report in a real browser. Needs Debian's chromium and chromium-driver, or the like."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgtrec.data.table import Report
from tests.accessibility import violations_in_every_look
from tests.report.sample import HOSTILE

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--force-prefers-reduced-motion",
    "--hide-scrollbars",
)
#: run before any script of the page: keeps count of alerts, and of what the page's policy forbids
WATCH = """
window.seen = {alerts: 0, forbidden: []};
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => { window.seen.alerts += 1; };
document.addEventListener("securitypolicyviolation", (event) => window.seen.forbidden.push(event.violatedDirective));
"""


def started(profile: Path) -> Any:
    """Headless Chromium with an empty profile in a new folder; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        message = "no chromium with chromedriver; on Debian: apt-get install chromium chromium-driver"
        if os.environ.get("KGTREC_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    found.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium with an empty profile."""
    found = started(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def address(page: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report as a file, opened as a person would."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def opened(browser: Any, address: str, width: int = 1280, *, phone: bool = False, media: str = "") -> Any:
    """The page, loaded anew in a window of that width."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": phone}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)
    # of a browser that has just started, the first page may be another one still
    WebDriverWait(browser, 20).until(
        lambda own: own.execute_script("return location.protocol != 'data:' && document.readyState == 'complete'")
    )
    return browser


def requests(browser: Any) -> list[str]:
    """What the page has asked for since it was opened; the browser's own first page may still be loading."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    asked = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    return [each["request"]["url"] for each in asked if not each["documentURL"].startswith("chrome")]


@pytest.mark.slow
def test_nothing_is_asked_for_and_nothing_goes_wrong(browser: Any, address: str):
    """One request, for the page itself; an empty console; no violation of its policy; no alert."""
    opened(browser, address)
    assert requests(browser) == [address]
    assert browser.get_log("browser") == []
    assert browser.execute_script("return window.seen") == {"alerts": 0, "forbidden": []}


@pytest.mark.slow
def test_a_server_is_asked_for_the_page_alone(browser: Any, address: str):
    """From a server as from a file, but that browsers may look for its icon, which is not the page's doing."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, template: str, *values: object) -> None:
            asked.append(self.path)

    folder = Path(address.removeprefix("file://")).parent
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        opened(browser, f"http://127.0.0.1:{server.server_port}/report.html")
        title = browser.title
        server.shutdown()
        thread.join()
    assert HOSTILE in title
    assert [path for path in asked if path != "/favicon.ico"] == ["/report.html"]


@pytest.mark.slow
def test_the_policy_is_in_force(browser: Any, address: str):
    """A script, a style or a picture that somebody smuggles in does not run, show or load."""
    opened(browser, address)
    browser.execute_script("""
        document.body.insertAdjacentHTML("beforeend", "<p id='in' style='color: red' onclick='alert(1)'>x</p>");
        const script = document.createElement("script");
        script.textContent = "window.seen.alerts += 1";
        document.body.append(script);
        const picture = document.createElement("img");
        picture.src = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
        document.body.append(picture);
        document.getElementById("in").click();
    """)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        seen = browser.execute_script("return window.seen")
        if len(set(seen["forbidden"])) == 4:
            break
        time.sleep(0.05)
    assert seen["alerts"] == 0
    assert set(seen["forbidden"]) == {"style-src-attr", "script-src-attr", "script-src-elem", "img-src"}


@pytest.mark.slow
def test_a_script_as_a_label_is_text(browser: Any, address: str):
    """The table and the pictures show it, letter by letter."""
    opened(browser, address)
    cells = browser.execute_script("return [...document.querySelectorAll('tbody th')].map((cell) => cell.textContent)")
    assert HOSTILE in cells
    drawn = browser.execute_script("return [...document.querySelectorAll('svg text')].map((text) => text.textContent)")
    assert HOSTILE in drawn
    assert browser.execute_script("return document.scripts.length") == 1


@pytest.mark.slow
def test_every_picture_has_a_name_and_a_description_for_who_cannot_see_it(browser: Any, address: str, report: Report):
    """As the browser tells assistive software, not as the source has it."""
    opened(browser, address)
    deadline, pictures = time.monotonic() + 20, []
    while not pictures and time.monotonic() < deadline:  # the tree is made after the page
        nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = ("image", "img", "graphics-document")
        pictures = [node for node in nodes if node.get("role", {}).get("value") in roles]
    assert len(pictures) == browser.execute_script("return document.querySelectorAll('figure svg').length")
    assert len(pictures) >= len(report.figures)
    for node in pictures:
        said = node["name"]["value"] + node.get("description", {}).get("value", "")
        assert any(sign.isdigit() for sign in said), said
    tables = [node for node in nodes if node.get("role", {}).get("value") == "table" and not node.get("ignored")]
    assert tables
    assert all(node["name"]["value"] for node in tables)


SHOWN = """
const table = document.querySelector("#table-scores table");
const cells = [...table.tBodies[0].rows].map((row) => row.cells[arguments[0]]);
return {keys: cells.map((cell) => cell.dataset.key ?? cell.textContent),
        ways: [...table.tHead.rows[0].cells].map((head) => head.getAttribute("aria-sort")),
        said: document.getElementById("said").textContent};
"""


def head(browser: Any, place: int) -> Any:
    from selenium.webdriver.common.by import By

    return browser.find_elements(By.CSS_SELECTOR, "#table-scores thead button")[place]


def test_tables_sort_by_click(browser: Any, address: str):
    """Numbers by value, best first and then the other way round; the undefined last either way; said aloud."""
    opened(browser, address)
    before = browser.execute_script(SHOWN, 2)
    assert before["ways"] == ["none"] * 3
    head(browser, 2).click()  # mean ranks: 9.5 before 90.25 before 1100, best first
    up = browser.execute_script(SHOWN, 2)
    assert up["keys"] == ["9.5", "88.0", "90.25", "1100.0", "1200.5", ""]
    assert up["ways"] == ["none", "none", "ascending"]
    assert up["said"] == "sorted by micro.MR, ascending"
    head(browser, 2).click()
    down = browser.execute_script(SHOWN, 2)
    assert down["keys"] == ["1200.5", "1100.0", "90.25", "88.0", "9.5", ""]
    assert down["ways"] == ["none", "none", "descending"]
    head(browser, 1).click()  # better high: the first click falls
    assert browser.execute_script(SHOWN, 1)["keys"] == ["0.4", "0.35", "0.31", "0.29", "0.05", ""]


def test_tables_sort_by_keyboard(browser: Any, address: str):
    """Tab leads to the headings; Enter and the space bar sort, labels by letter."""
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    button = head(browser, 0)
    assert browser.execute_script("return arguments[0].tabIndex", button) == 0
    button.send_keys(Keys.ENTER)
    up = browser.execute_script(SHOWN, 0)
    assert up["ways"][0] == "ascending"
    button.send_keys(Keys.SPACE)
    down = browser.execute_script(SHOWN, 0)
    assert down["ways"][0] == "descending"
    assert down["keys"] == up["keys"][::-1]
    assert up["keys"].index("ComplEx") < up["keys"].index("none") < up["keys"].index("RotatE")


OVERFLOWING = """
return [...document.querySelectorAll("body *")].filter((node) => {
    const box_of = node.closest(".scroll, nav ol");
    if (box_of && box_of !== node) return false;
    if (node.closest("svg") && !node.matches("svg")) return false;
    const box = node.getBoundingClientRect();
    return box.width > 1 && (box.right > arguments[0] + 0.5 || box.left < -0.5) && !node.matches(".skip, .hidden");
}).map((node) => node.outerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("width", [320, 375, 768])
def test_nothing_is_wider_than_a_phone(browser: Any, address: str, width: int):
    """Neither the page nor anything on it; wide tables scroll in boxes of their own, which a keyboard reaches."""
    opened(browser, address, width, phone=True)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") == width
    assert browser.execute_script(OVERFLOWING, width) == []
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].map((box) => [box.tabIndex, getComputedStyle(box).overflowX])"
    )
    assert boxes
    assert all(box == [0, "auto"] for box in boxes)


def test_a_caption_stands_beside_a_single_panel(browser: Any, address: str):
    """So that half of the card is not empty; on a phone it stands below."""
    place = """const box = document.querySelector("#figure-slopes svg").getBoundingClientRect();
               const text = document.querySelector("#figure-slopes figcaption").getBoundingClientRect();
               return [box.right <= text.left, box.bottom <= text.top];"""
    assert opened(browser, address).execute_script(place) == [True, False]
    assert opened(browser, address, 375, phone=True).execute_script(place) == [False, True]


def test_text_in_pictures_can_be_read_on_a_phone(browser: Any, address: str):
    """At 375 pixels no letter is smaller than 8.5 of them, and pictures stand below one another."""
    opened(browser, address, 375, phone=True)
    sizes = browser.execute_script("""
        return [...document.querySelectorAll("figure svg")].map((svg) => {
            const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
            const texts = [...svg.querySelectorAll("text")];
            return scale * Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize)));
        });
    """)
    assert min(sizes) >= 8.5
    lefts = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map((svg) => Math.round(svg.getBoundingClientRect().left))"
    )
    assert len(set(lefts)) == 1


def test_print_hides_what_paper_cannot_do_and_cuts_nothing_off(browser: Any, address: str):
    """No contents, links or arrows; boxes do not scroll; the page prints."""
    opened(browser, address, 720, media="print")
    hidden = browser.execute_script(
        "return [...document.querySelectorAll('nav, .links, details')].every((node) => node.offsetParent === null)"
    )
    assert hidden
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 720
    cut = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter((box) => box.offsetParent !== null)"
        ".map((box) => [getComputedStyle(box).overflowX, getComputedStyle(box).maxHeight])"
    )
    assert all(box == ["visible", "none"] for box in cut)
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert printed.startswith(b"%PDF")


@pytest.mark.slow
def test_the_report_has_no_violation_of_accessibility(browser: Any, address: str):
    """Light and dark, on a desktop and a phone, with all of its details open."""
    opened(browser, address)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
    assert violations_in_every_look(browser) == {}


def test_data_are_saved_by_a_click(browser: Any, address: str, report: Report, tmp_path: Path):
    """The file that the link leaves on the disk is the table's data."""
    from selenium.webdriver.common.by import By

    from kgtrec.report.files import report_files

    opened(browser, address)
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.find_element(By.CSS_SELECTOR, "#table-scores .links a").click()
    deadline = time.monotonic() + 20
    while not any(path.stat().st_size for path in tmp_path.glob("scores.csv")):  # it is empty at first
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (tmp_path / "scores.csv").read_bytes() == report_files(report, ("csv",))["tables/scores.csv"]


def test_the_page_reads_without_scripts(browser: Any, address: str):
    """Tables are there, without headings to press."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        opened(browser, address)
        browser.execute_cdp_cmd("DOM.enable", {})
        root = browser.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
        found = {
            what: len(browser.execute_cdp_cmd("DOM.querySelectorAll", {"nodeId": root, "selector": what})["nodeIds"])
            for what in ("table.sortable", "thead button")
        }
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert found["table.sortable"] > 1
    assert found["thead button"] == 0
