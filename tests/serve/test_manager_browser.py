"""The managers' pages in a real browser: by keyboard, without a script, on every width."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from kgtrec.formats.campaign.folder import read_people, read_templates
from kgtrec.formats.output.folders import PEOPLE, TEMPLATES
from tests.report.test_browser import requests
from tests.serve.test_browser import Served, served, until  # noqa: F401  # a fixture

pytestmark = pytest.mark.slow  # a browser for each

PATHS = ("", "/people", "/templates", "/template?relation=capital", "/downloads")


def enter(browser: Any, served: Served, *, width: int = 1280, script: bool = True) -> None:  # noqa: F811
    """Come in by the manager's link, which the program has printed."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    size = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.delete_all_cookies()
    browser.get_log("browser")
    browser.get(served.links["max"])
    until(lambda: browser.current_url.endswith("/manage"))


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_page_of_a_manager_scrolls_sideways(browser: Any, served: Served, width: int):  # noqa: F811
    """With a name that has no place to break, and all details open."""
    people = served.folder / PEOPLE
    people.write_text(people.read_text() + f"{'long-name' * 20}\tannotator\tyes\n")
    enter(browser, served, width=width)
    for path in PATHS:
        browser.get(f"{served.url}/manage{path}")
        browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


def test_a_manager_needs_no_script_and_no_mouse(browser: Any, served: Served, tmp_path: Path):  # noqa: F811
    """People, a template and a download, by keys in plain forms; no other host is asked."""
    from selenium.webdriver.common.keys import Keys

    enter(browser, served, script=False)
    browser.get_log("performance")
    browser.get(f"{served.url}/manage/people")
    browser.find_element("id", "name").send_keys("cleo", Keys.TAB, "adj", Keys.TAB, Keys.ENTER)
    until(lambda: "cleo is now adjudicator" in browser.find_element("id", "main").text)
    assert "/in/" in browser.find_element("id", "link").get_attribute("value")
    assert "cleo" in list(read_people(served.folder / PEOPLE).names)

    browser.get(f"{served.url}/manage/template?relation=capital")
    field = browser.find_element("id", "template")
    field.clear()
    field.send_keys("Has {head} {tail} as <b>capital</b>?", Keys.TAB, Keys.ENTER)
    until(lambda: "Has France Paris as <b>capital</b>?" in browser.find_element("id", "main").text)
    browser.find_element("name", "save").send_keys(Keys.ENTER)
    until(lambda: "Stored." in browser.find_element("id", "main").text)
    assert read_templates(served.folder / TEMPLATES)["capital"] == "Has {head} {tail} as <b>capital</b>?"

    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    browser.get(f"{served.url}/manage/downloads")
    browser.find_element("css selector", "[action$=campaign] button").send_keys(Keys.ENTER)
    until(lambda: any(path.stat().st_size for path in tmp_path.glob("campaign.zip")))  # it is empty at first
    assert "campaign/judgements.jsonl" in zipfile.ZipFile(tmp_path / "campaign.zip").namelist()

    asked = requests(browser)
    assert asked
    assert all(url.startswith(served.url) for url in asked)
    assert browser.get_log("browser") == []
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_template_is_previewed_while_it_is_typed(browser: Any, served: Served):  # noqa: F811
    """On triples of the pool; what cannot be filled in is said there, markup is text, and nothing is stored."""
    before = (served.folder / TEMPLATES).read_bytes()
    enter(browser, served)
    browser.get(f"{served.url}/manage/template?relation=capital")
    field, preview = browser.find_element("id", "template"), browser.find_element("id", "preview")
    field.clear()
    field.send_keys("Has {head} <img src=x onerror=alert(1)>")
    until(lambda: "No preview: expected a template with {head} and {tail}, found no {tail}" in preview.text)
    field.send_keys(" {tail}?")
    until(lambda: "Has France <img src=x onerror=alert(1)> Paris?" in preview.text)
    assert len(preview.find_elements("tag name", "li")) > 1
    assert preview.find_elements("tag name", "img") == []
    assert field == browser.switch_to.active_element
    assert (served.folder / TEMPLATES).read_bytes() == before
    assert browser.get_log("browser") == []
    served.stop()
    field.send_keys("!")
    until(lambda: "the server does not answer" in preview.text)
