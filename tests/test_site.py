"""The documentation as a site, which README tells how to build; `.ci/run` names the folder in KGTREC_SITE."""

from __future__ import annotations

import functools
import html
import http.server
import json
import os
import re
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.report.test_browser import requests, started
from tests.test_docs import ROOT, api_pages

#: words of a search -> the page that comes first
SEARCHES = {
    "install": "install",
    "MRR": "micro-macro",
    "nDCG": "micro-macro",
    "p-value": "comparing",
    "discriminative power": "comparing",
    "licence": "licence",
    "rank_scores": "api/kgtrec",
}
ENTRY = re.compile(r'<a class="[^"]*\binternal\b[^"]*" href="([^"#]+)">(.*?)</a>', re.DOTALL)
HEADING = re.compile(r"<h1>(.*?)<a class=\"headerlink\"", re.DOTALL)


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site."""
    named = os.environ.get("KGTREC_SITE")
    if named is None:
        pytest.skip("no site; build it as README tells, and name its folder in KGTREC_SITE")
    return Path(named)


class Links(HTMLParser):
    """The addresses that a page links or loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        self.anchors.add(own.get("id", ""))
        if tag == "a" and "href" in own:
            self.links.append(own["href"])
        if tag == "link" and own.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(own["href"])
        if tag in ("img", "script", "iframe", "source", "video") and "src" in own:
            self.loaded.append(own["src"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    """Every page of the site."""
    return {path: Links(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_link_leads_to_a_page_and_an_anchor(site: Path, pages: dict[Path, Links]):
    """Of all pages, those with the docstrings of public names among them."""
    assert len(pages) > 40
    wrong = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or link in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                wrong.append((path.name, link))
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Links]):
    """Scripts, styles and pictures are the site's own."""
    loaded = {link for page in pages.values() for link in page.loaded}
    assert len(loaded) > 5
    assert {link for link in loaded if urlsplit(link).scheme not in ("", "data")} == set()


def test_every_page_of_the_folder_is_on_the_front_page(site: Path, pages: dict[Path, Links]):
    """So that a reader who does not search finds it."""
    linked = {unquote(urlsplit(link).path) for link in pages[site / "index.html"].links}
    own = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README", "index"}
    assert {name for name in own if f"{name}.html" not in linked} == set()


def test_the_navigation_shows_the_heading_of_each_page(site: Path):
    """As text, whatever the contents call it."""
    front = (site / "index.html").read_text(encoding="utf-8")
    menu = front.partition('class="sidebar-tree"')[2].partition("</aside>")[0]
    entries = dict(ENTRY.findall(menu))
    assert len(entries) > 30

    def words(text: str) -> str:
        return html.unescape(re.sub(r"<[^>]+>", "", text)).strip()

    headings = {page: HEADING.search((site / page).read_text(encoding="utf-8")) for page in entries}
    shown = {page: words(text) for page, text in entries.items()}
    assert shown == {page: words(found[1]) for page, found in headings.items() if found}


def test_the_project_is_reachable(pages: dict[Path, Links], site: Path):
    """Changes, licence, citation and how to contribute are pages; no link leads to the repository's own files."""
    for page, words in {
        "changelog": "0.1.0",
        "licence": "Permission is hereby granted",
        "contributing": "pytest",
    }.items():
        assert words in (site / f"{page}.html").read_text(encoding="utf-8")
    assert "@software{kgtrec" in re.sub(r"<[^>]+>", "", (site / "licence.html").read_text(encoding="utf-8"))
    linked = {link for page in pages.values() for link in page.links if not urlsplit(link).scheme}
    assert [link for link in linked if link.endswith(".md")] == []


def test_every_public_name_is_on_one_page(site: Path):
    """The inventory that other projects link by holds each name once."""
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    lines = zlib.decompress(inventory).decode().splitlines()
    places = Counter(line.split()[0] for line in lines if " py:" in line)
    public = [f"{page}.{name}" for page in api_pages.PAGES for name in api_pages.names_of(page)]
    assert len(public) > 150
    assert {name: places[name] for name in public if places[name] != 1} == {}


def test_the_notebook_is_kept_without_what_it_printed():
    """It is run when the site is built: what a page shows is what comes out."""
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 10
    assert [cell["outputs"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, served."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium, where there is a site to look at."""
    found = started(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


def look(browser: Any, address: str, width: int, scheme: str = "light") -> None:
    """Open a page in a window of that width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get_log("performance")
    browser.get(address)


@pytest.mark.slow
def test_every_page_works_in_a_browser(browser: Any, address: str, site: Path, pages: dict[Path, Links]):
    """No request to another host, nothing in the console, and no scrolling sideways on a phone: tables scroll alone."""
    wrong = []
    for path in pages:
        name = path.relative_to(site).as_posix()
        look(browser, f"{address}/{name}", 320)
        wrong += [(name, url) for url in requests(browser) if not url.startswith((address, "data:"))]
        wrong += [(name, entry["message"]) for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
        if browser.execute_script("return document.documentElement.scrollWidth > window.innerWidth"):
            wrong.append((name, "wider than a phone"))
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["measures", "cli"])
def test_wide_pages_fit_a_screen(browser: Any, address: str, name: str):
    """Nothing of them scrolls sideways in a window of 1280 pixels."""
    look(browser, f"{address}/{name}.html", 1280)
    wide = browser.execute_script(
        "return [...document.querySelectorAll('html, .table-wrapper, .highlight pre')]"
        ".filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText.slice(0, 60))"
    )
    assert wide == []


@pytest.mark.slow
def test_a_search_finds_the_page(browser: Any, address: str):
    """First where the subject is explained, and the name of a function."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    firsts = {}
    for words in SEARCHES:
        look(browser, f"{address}/search.html?q={words.replace(' ', '+')}", 1280)
        WebDriverWait(browser, 20).until(lambda own: own.find_elements(By.CSS_SELECTOR, "ul.search li a"))
        first = browser.find_element(By.CSS_SELECTOR, "ul.search li a").get_attribute("href")
        firsts[words] = urlsplit(first).path.removeprefix("/").removesuffix(".html")
    assert firsts == SEARCHES


@pytest.mark.slow
def test_a_dark_page_is_dark(browser: Any, address: str):
    """A browser that prefers dark pages gets one, and drawings turn dark with it."""
    shown = {}
    for scheme in ("light", "dark"):
        look(browser, f"{address}/which-measure.html", 1280, scheme)
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        drawing = browser.execute_script(
            "return getComputedStyle(document.querySelector('article img[src$=\".svg\"]')).filter"
        )
        shown[scheme] = sum(map(int, re.findall(r"\d+", colour)[:3]))
        assert ("invert" in drawing) == (scheme == "dark")
    assert shown["dark"] < 200 < 600 < shown["light"]
