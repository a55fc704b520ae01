"""No page that anybody is shown keeps people from using it: axe-core on each, light and dark, on desktop and phone."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kgtrec.campaign.rounds import draw_round
from kgtrec.campaign.training import with_training
from kgtrec.data.judgements import Gold
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.campaign.pools import read_settings, write_settings
from kgtrec.formats.output.folders import GUIDELINES, JUDGEMENTS
from kgtrec.serve.app import EVERY, PUBLIC, ROUTES
from tests.accessibility import violations_in_every_look
from tests.campaign_folders import folder_of
from tests.judged_pools import judgements_of
from tests.serve.conftest import FRANCE, PEOPLE, WIKI, campaign_with_roles, draw
from tests.serve.test_browser import Served, keys, until

#: what people have said before: bob has done all his tasks and ivy hers, ann and eve have not
EVENTS = [
    *((triple, "bob", "annotator", "N", WIKI, "a note") for triple in range(6)),
    (1, "ann", "annotator", "N", WIKI, ""),
    (2, "ann", "annotator", "unsure", "", "no page about it"),
    (3, "ann", "annotator", "Y", "javascript:alert(1)", ""),
    (2, "eve", "adjudicator", "unsure", "", "nobody knows"),
    (1, "ivy", "expert", "Y", WIKI, ""),
]
TEXT = """# How to judge

Look *closely*, in [an encyclopedia](https://en.wikipedia.org/).

| verdict | when |
| --- | --- |
| Yes | a source says so |

1. Read the question.
2. Search.

> Doubt is an answer.
"""


def _nothing(browser: Any, served: Served) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as somebody sees it."""

    name: str
    rule: str  # in ROUTES; "": none of them
    role: str | None  # None: nobody is signed in
    address: str
    status: int = 200
    person: str = ""  # default: who has this role only
    ready: Callable[[Any, Served], None] = _nothing  # what they do there before it is looked at


def _read_guidelines(browser: Any, served: Served) -> None:
    for button in browser.find_elements("css selector", "button.main"):
        button.click()
        until(lambda: "/guidelines" not in browser.current_url)


def _told(browser: Any, served: Served) -> None:
    """The answer to what the training asks, unless it was given before."""
    for button in browser.find_elements("css selector", "button[data-key=n]"):
        button.click()
        until(lambda: browser.find_element("id", "answer"))


def _trained(browser: Any, served: Served) -> None:
    _told(browser, served)
    if browser.find_elements("id", "answer"):
        browser.find_element("css selector", "a[data-key=Enter]").click()
    until(lambda: "The training is over" in browser.find_element("id", "main").text)


def _done(browser: Any, served: Served) -> None:
    _read_guidelines(browser, served)
    if "/training" in browser.current_url:
        _trained(browser, served)
        browser.find_element("css selector", "a[data-key=Enter]").click()
    until(lambda: "Thank you!" in browser.find_element("id", "main").text)


def _filled_in(browser: Any, served: Served) -> None:
    """A refused verdict, details open, and the keys."""
    keys(browser, "j", "n")
    until(lambda: "Not stored" in browser.find_element("id", "main").text)
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")


def _with_keys(browser: Any, served: Served) -> None:
    keys(browser, "?")
    until(lambda: browser.find_element("id", "keys").is_displayed())


def _welcome(browser: Any, served: Served) -> None:
    """The page goes on at once, so its own text is put where another page was."""
    with urllib.request.urlopen(served.links["bob"]) as answer:  # noqa: S310  # our own server
        text = answer.read().decode()
    assert "refresh" in text
    frame = browser.execute_cdp_cmd("Page.getFrameTree", {})["frameTree"]["frame"]["id"]
    text = text.replace('http-equiv="refresh"', 'name="refresh"')
    browser.execute_cdp_cmd("Page.setDocumentContent", {"frameId": frame, "html": text})
    until(lambda: "Welcome" in browser.find_element("id", "main").text)


def _all_open(browser: Any, served: Served) -> None:
    browser.execute_script("for (const each of document.querySelectorAll('details')) each.open = true")


def _wrong_name(browser: Any, served: Served) -> None:
    browser.find_element("id", "name").send_keys("two  blanks")
    browser.find_element("css selector", "button[value=add].main").click()
    until(lambda: "Nothing was changed" in browser.find_element("id", "main").text)


def _asked(browser: Any, served: Served) -> None:
    browser.find_element("css selector", "button[value=leave]").click()
    until(lambda: "Then:" in browser.find_element("id", "main").text)


def _sent_back(browser: Any, served: Served) -> None:
    """A verdict of ann, whose page shows it after that."""
    browser.get(f"{served.url}/manage/verdicts?person=ann")
    browser.find_element("css selector", ".verdicts summary").click()
    browser.find_element("css selector", ".verdicts textarea").send_keys("The link leads elsewhere.")
    browser.find_element("css selector", ".verdicts button").click()
    until(lambda: browser.find_element("name", "sure")).click()
    until(lambda: "Sent back to ann" in browser.find_element("id", "main").text)


def _wrong_slot(browser: Any, served: Served) -> None:
    browser.find_element("id", "template").send_keys("{{7*7}}")
    browser.find_element("name", "save").click()
    until(lambda: "Not stored" in browser.find_element("id", "main").text)


#: every page, for each role that sees it; a new one needs a row here
PAGES = (
    *(Shown("guidelines", "/guidelines", role, "/guidelines") for role in sorted(EVERY)),
    *(Shown("home", "/", role, "/") for role in sorted(EVERY)),
    Shown("guidelines-read", "/guidelines", "annotator", "/guidelines", person="bob", ready=_read_guidelines),
    Shown("welcome", "/in/<token>", None, "/nothing", 404, ready=_welcome),
    Shown("signed-out", "", None, "/", 401),
    Shown("refusal", "", "annotator", "/nothing", 404),
    Shown("training", "/training/<int:number>", "annotator", "/training"),
    Shown("training-told", "/training/<int:number>", "annotator", "/training", person="bob", ready=_told),
    Shown("training-end", "/training", "annotator", "/training", person="bob", ready=_trained),
    Shown("done", "/question", "annotator", "/question", person="bob", ready=_done),
    Shown("question", "/question/<int:number>", "annotator", f"/question/{FRANCE}"),
    Shown("question-refused", "/question/<int:number>", "annotator", f"/question/{FRANCE}", ready=_filled_in),
    Shown("question-keys", "/question/<int:number>", "annotator", f"/question/{FRANCE}", ready=_with_keys),
    Shown("verdicts", "/question/verdicts", "annotator", "/question/verdicts"),
    Shown("queue", "/conflict", "adjudicator", "/conflict", ready=_read_guidelines),
    Shown("conflict", "/conflict/<int:number>", "adjudicator", f"/conflict/{FRANCE}"),
    Shown("conflict-decided", "/conflict/<int:number>", "adjudicator", "/conflict/2"),
    Shown("conflict-refused", "/conflict/<int:number>", "adjudicator", f"/conflict/{FRANCE}", ready=_filled_in),
    Shown("conflict-gone", "/conflict/<int:number>", "adjudicator", "/conflict/3", 404),
    Shown("conflict-keys", "/conflict/<int:number>", "adjudicator", f"/conflict/{FRANCE}", ready=_with_keys),
    Shown("decisions", "/conflict/verdicts", "adjudicator", "/conflict/verdicts"),
    Shown("sample-done", "/sample", "expert", "/sample", ready=_done),
    Shown("sample", "/sample/<int:number>", "expert", "/sample/2"),
    Shown("sample-verdicts", "/sample/verdicts", "expert", "/sample/verdicts"),
    Shown("dashboard", "/manage", "manager", "/manage", ready=_all_open),
    Shown("people", "/manage/people", "manager", "/manage/people"),
    Shown("people-refused", "/manage/people", "manager", "/manage/people", ready=_wrong_name),
    Shown("people-ask", "/manage/people", "manager", "/manage/people", ready=_asked),
    Shown("verdicts", "/manage/verdicts", "manager", "/manage/verdicts", ready=_all_open),
    Shown("verdicts-sent-back", "/manage/verdicts", "manager", "/manage/verdicts", ready=_sent_back),
    Shown("question-sent-back", "/question/<int:number>", "annotator", f"/question/{FRANCE}"),
    Shown("verdicts-returned", "/question/verdicts", "annotator", "/question/verdicts"),
    Shown("templates", "/manage/templates", "manager", "/manage/templates"),
    Shown("template", "/manage/template", "manager", "/manage/template?relation=capital"),
    Shown("template-refused", "/manage/template", "manager", "/manage/template?relation=capital", ready=_wrong_slot),
    Shown("downloads", "/manage/downloads", "manager", "/manage/downloads"),
)
#: rules that give no page, and what they give
NO_PAGES = {
    "/static/<name>": "files",
    "/manage/downloads/qrels": "an archive",
    "/manage/downloads/campaign": "an archive",
    "/manage/downloads/agreement": "a table",
    "/manage/explore": "the page of another command",
}


def test_every_page_is_in_the_table():
    """For each role that may ask for it, so that none is left out of the test below."""
    asked = {
        (route.rule, role)
        for route in ROUTES
        if "GET" in route.methods and route.rule not in NO_PAGES
        for role in ([None] if route.roles is PUBLIC else route.roles)
    }
    assert {(shown.rule, shown.role) for shown in PAGES if shown.rule} == asked


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all pages."""
    folder = folder_of(campaign_with_roles(), tmp_path_factory.mktemp("served") / "campaign")
    draw_round(folder, 1.0)
    append_judgements(folder / JUDGEMENTS, campaign_with_roles().pool, judgements_of(EVENTS))
    (folder / GUIDELINES).write_text(TEXT)
    gold = Gold.of([("oslo", "capital", "sweden", "N", "It is Stockholm.")])
    write_gold(folder, gold)
    settings, _ = with_training(read_settings(folder), campaign_with_roles().pool, gold, 1)
    write_settings(folder, settings)
    draw(folder, (2,))
    found = Served(folder, folder.parent / "errors.txt")
    yield found
    assert found.stop() == 0
    found.process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("shown", PAGES, ids=[f"{shown.name}-{shown.role}" for shown in PAGES])
def test_a_page_has_no_violation_of_accessibility(browser: Any, campaign: Served, shown: Shown):
    """Nor does a look at it leave anything in the console but what was refused."""
    browser.delete_all_cookies()
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    if shown.role is not None:
        browser.get(campaign.links[shown.person or PEOPLE[shown.role]])
        until(lambda: "/in/" not in browser.current_url)
    browser.get(campaign.url + campaign.numbers.large(shown.address))
    assert browser.execute_script("return performance.getEntries()[0].responseStatus") == shown.status
    shown.ready(browser, campaign)
    browser.get_log("browser")
    assert violations_in_every_look(browser) == {}
    assert browser.get_log("browser") == []
