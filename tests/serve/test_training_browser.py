"""The training round in a real browser: by keys alone, and without a script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgtrec.data.judgements import Gold
from kgtrec.formats.campaign.gold import write_gold
from tests.campaign_folders import folder_of
from tests.serve.conftest import campaign_with_roles
from tests.serve.test_browser import Served, keys, until
from tests.serve.test_training import GIVEN, train

pytestmark = pytest.mark.slow  # a browser for each


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = folder_of(campaign_with_roles(), tmp_path / "campaign")
    write_gold(folder, Gold.of(GIVEN))
    train(folder, 2)
    found = Served(folder, tmp_path / "errors.txt")
    yield found
    assert found.stop() == 0
    found.process.stdout.close()
    assert "Traceback" not in found.errors.read_text()


def begin(browser: Any, served: Served, *, script: bool) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    size = {"width": 320, "height": 700, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.delete_all_cookies()
    browser.get(served.links["ann"])
    until(lambda: browser.current_url.endswith("/guidelines"))
    until(lambda: browser.find_element("css selector", "button.main")).click()
    until(lambda: "/training/" in browser.current_url)


def main_text(browser: Any) -> str:
    found: str = browser.find_element("id", "main").text
    return found


def test_it_is_done_by_keys_alone(browser: Any, served: Served):
    """A key for an answer, Enter to go on; the focus is on what is told, which a screen reader reads."""
    from selenium.webdriver.common.keys import Keys

    begin(browser, served, script=True)
    for nth, told in enumerate(("Right: the answer is No.", "Not right: the answer is Yes."), 1):
        until(lambda nth=nth: browser.title == f"Training {nth} of 2")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 320
        keys(browser, "n")
        until(lambda told=told: browser.title.startswith(told))
        until(lambda told=told: told in main_text(browser))
        until(lambda: browser.execute_script("return document.activeElement.id") == "answer")
        keys(browser, Keys.ENTER)
    until(lambda: browser.title == "The training is over")
    until(lambda: "The training is over: 1 of 2 right" in main_text(browser))
    keys(browser, Keys.ENTER)
    until(lambda: "/question/" in browser.current_url)
    assert browser.get_log("browser") == []


def test_it_is_done_without_a_script(browser: Any, served: Served):
    """By its buttons and links."""
    begin(browser, served, script=False)
    for nth in range(1, 3):
        until(lambda nth=nth: browser.title == f"Training {nth} of 2")
        browser.find_element("css selector", "button[value=N]").click()
        until(lambda: "answer is" in browser.title)
        until(lambda: "You said No." in main_text(browser))
        browser.find_element("css selector", ".steps a").click()
    until(lambda: browser.title == "The training is over")
    until(lambda: "The training is over: 1 of 2 right" in main_text(browser))
    browser.find_element("link text", "Begin").click()
    until(lambda: "/question/" in browser.current_url)
