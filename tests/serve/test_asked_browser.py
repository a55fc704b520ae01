"""What the page asks in a real browser: links that are corrected, and verdicts that were sent back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.store import OpenCampaign
from kgtrec.data.judgements import Incoming
from kgtrec.formats.campaign.folder import write_names
from kgtrec.serve.service import CampaignService, Statement
from tests.report.test_browser import browser  # noqa: F401  # one fixture for all pages
from tests.serve.conftest import FRANCE, WIKI
from tests.serve.test_browser import Served, keys, served, sign_in, until  # noqa: F401
from tests.serve.test_manager_browser import enter

pytestmark = pytest.mark.slow  # a browser for each

BETTER = "https://en.wikipedia.org/wiki/List_of_capitals"


def main_text(browser: Any) -> str:  # noqa: F811
    return str(browser.find_element("id", "main").text)


def to_france(browser: Any, served: Served) -> None:  # noqa: F811
    browser.get(f"{served.url}{served.numbers.large(f'/question/{FRANCE}')}")
    until(lambda: browser.find_elements("css selector", ".card"))


@pytest.mark.long
@pytest.mark.parametrize("answer", ["Correct it there too", "Leave it"])
def test_a_corrected_link_asks_and_corrects_the_answers_before_it(browser: Any, served: Served, answer: str):  # noqa: F811
    """A, A, then B, by keys; the question stands by the link, and its buttons come next in the order of Tab."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served)
    to_france(browser, served)
    keys(browser, "/", WIKI, Keys.ENTER, "n", Keys.ENTER, "y")
    until(lambda: len(served.events()) == 2)
    keys(browser, "/", f"{BETTER}_of_the_world", Keys.ENTER)
    until(lambda: browser.find_element("id", "relink").is_displayed())
    keys(browser, "/", WIKI, Keys.ENTER)  # back to it: nothing is left to ask
    until(lambda: not browser.find_element("id", "relink").is_displayed())
    keys(browser, "/", f"{BETTER}_of_the_world", Keys.ENTER, "/", BETTER, Keys.ENTER)
    until(lambda: f"2 answers of this question have the former link, {WIKI}." in main_text(browser))
    button = next(one for one in browser.find_elements("css selector", "#relink button") if one.text == answer)
    browser.find_element("id", "source").click()
    keys(browser, Keys.TAB, *[Keys.TAB] * (answer == "Leave it"))
    assert browser.switch_to.active_element == button
    keys(browser, Keys.ENTER)
    until(lambda: not browser.find_element("id", "relink").is_displayed())
    if answer == "Leave it":
        assert [event[4] for event in served.events()] == [WIKI, WIKI]
        return
    until(lambda: len(served.events()) == 4)
    assert sorted(event[:5] for event in served.events()[2:]) == [
        (*event[:4], BETTER) for event in sorted(event[:4] for event in served.events()[:2])
    ]
    assert browser.get_log("browser") == []


@pytest.mark.long
@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("keeps", [True, False])
def test_what_was_sent_back_is_judged_again_or_kept(browser: Any, served: Served, script: bool, keeps: bool):  # noqa: F811
    """A manager's remark, typed on the page, is shown to the annotator; with a script and without."""
    said = [Incoming("x", "ann", "N", task, source=WIKI) for task in range(2, 7)]
    OpenCampaign(served.folder).store(said)
    enter(browser, served, script=script)
    browser.get(f"{served.url}/manage/verdicts?person=ann&source=Paris")
    browser.find_element("css selector", ".verdicts summary").click()
    browser.find_element("css selector", ".verdicts textarea").send_keys("See <i>the other</i> Paris")
    browser.find_element("css selector", ".verdicts button").click()
    until(lambda: browser.find_element("name", "sure")).click()
    until(lambda: "Sent back to ann" in main_text(browser))
    assert "Sent back by max, and waits: See <i>the other</i> Paris" in main_text(browser)
    browser.delete_all_cookies()
    sign_in(browser, served, script=script)
    assert "Sent back to you: See <i>the other</i> Paris" in main_text(browser)
    assert browser.find_element("id", "left").text == "1"
    card = browser.find_element("css selector", ".card:has(.sent-back)")
    if keeps:
        card.find_element("css selector", ".sent-back button").click()
    else:
        card.find_element("css selector", "input[value=Y]").click()
        if not script:
            card.find_element("css selector", "button[name=only].plain").click()
    until(lambda: not browser.find_elements("css selector", ".sent-back"))
    until(lambda: len(served.events()) == len(said) + (not keeps))
    browser.get(f"{served.url}/question")
    until(lambda: "All your tasks are done" in main_text(browser))
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_enter_leads_to_what_was_sent_back_and_a_key_answers_it(browser: Any, served: Served):  # noqa: F811
    """The same answer again keeps it, as the button does."""
    from selenium.webdriver.common.keys import Keys

    OpenCampaign(served.folder).store([Incoming("x", "ann", "N", task, source=WIKI) for task in range(2, 7)])
    task = served.numbers.tasks[4 - 1]
    CampaignService(served.folder).send_back(
        "max", "ann", "annotator", task, Statement("N", WIKI, "").digest, "Really?"
    )
    sign_in(browser, served)
    assert served.place(browser) == FRANCE
    assert browser.switch_to.active_element.get_attribute("data-task") == str(task)
    keys(browser, "n")
    until(lambda: not browser.find_elements("css selector", ".sent-back"))
    assert browser.find_element("id", "left").text == "0"
    keys(browser, Keys.ENTER)
    until(lambda: "All your tasks are done" in main_text(browser))
    assert len(served.events()) == 5


def test_signs_that_turn_the_direction_are_shown_by_the_script_too(browser: Any, served: Served):  # noqa: F811
    """In what it says of a conflict between two windows."""
    write_names(served.folder, {"fr": "Fra\u202ence"})
    sign_in(browser, served)
    to_france(browser, served)
    assert "Fra[U+202E]nce" in main_text(browser)
    OpenCampaign(served.folder).store([Incoming("x", "ann", "N", 4, source=WIKI, note="a\u202eb" + "c" * 300)])
    card = browser.find_element("id", f"task-{served.numbers.tasks[3]}")
    card.find_element("css selector", "input[value=unsure]").click()
    until(lambda: "You have said something else meanwhile" in card.text)
    assert "a[U+202E]bccc" in card.text
    assert "\u202e" not in card.text
    assert re.search("c{100,200}\u2026", card.text)
    browser.get_log("browser")


def test_a_file_shows_them_and_folds_what_is_long(browser: Any, served: Served, tmp_path: Path):  # noqa: F811
    """A note typed there is shown as the server shows it; the download has it as it was typed."""
    from kgtrec.cli import main
    from tests.report.test_browser import opened

    write_names(served.folder, {"fr": "Fra\u202ence"})
    main(["campaign", "export", str(served.folder), "--annotator", "ann", "--out", str(tmp_path / "ann.html")])
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    opened(browser, (tmp_path / "ann.html").as_uri())
    until(lambda: browser.find_element("css selector", "main button.main")).click()
    until(lambda: browser.find_elements("css selector", ".card"))
    for note in ("n\u202eote", "long " * 200):
        card = next(one for one in browser.find_elements("css selector", ".card:not(.is-stored)"))
        browser.execute_script("arguments[0].querySelector('details').open = true", card)
        browser.execute_script("arguments[0].querySelector('textarea').value = arguments[1]", card, note)
        card.find_element("css selector", "input[value=unsure]").click()
        until(lambda card=card: "Stored: Unsure" in card.text)
    browser.find_element("css selector", "header a[href$=verdicts]").click()
    until(lambda: "n[U+202E]ote" in main_text(browser))
    summary = browser.find_element("css selector", "details.note summary")
    assert "(999 characters)" in summary.text
    assert "\u202e" not in main_text(browser)
    assert browser.get_log("browser") == []


def test_enter_in_the_link_saves_all_where_there_is_no_script(browser: Any, served: Served):  # noqa: F811
    """Also while the page asks about a former link: only its button corrects that."""
    from selenium.webdriver.common.keys import Keys

    sign_in(browser, served, script=False)
    to_france(browser, served)
    for tasks, link in (((4, 5), WIKI), ((6,), BETTER)):
        for task in tasks:
            browser.find_element("css selector", f"[name=verdict-{served.numbers.tasks[task - 1]}][value=N]").click()
        browser.find_element("id", "source").clear()
        browser.find_element("id", "source").send_keys(link, Keys.ENTER)
        until(lambda: "stored." in main_text(browser))
        if link == WIKI:
            to_france(browser, served)
    until(lambda: f"2 answers of this question have the former link, {WIKI}." in main_text(browser))
    assert [event[4] for event in served.events()] == [WIKI, WIKI, BETTER]
    browser.find_element("id", "source").send_keys(Keys.ENTER)
    until(lambda: not browser.find_element("id", "relink").is_displayed() if served.place(browser) == FRANCE else True)
    assert len(served.events()) == 3
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
