"""Gold on the page: nothing that anybody is sent depends on it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kgtrec.campaign.calibrate import calibration
from kgtrec.data.judgements import Gold
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.output.folders import GOLD
from tests.serve.conftest import URL, WIKI, Browser, Page

#: four triples that the pool does not ask for, two of them with an explanation
ROWS = (
    ("fr", "capital", "berlin", "N", "Berlin is in Germany"),
    ("de", "capital", "paris", "Y", ""),
    ("oslo", "capital", "sweden", "N", ""),
    ("norway", "capital", "oslo", "Y", "see the page"),
)
#: and two of the pool
POOLED = (("de", "capital", "berlin", "Y", "Berlin is in Germany"), ("fr", "capital", "=lyon", "N", "see the page"))
SECRETS = ("gold", "Gold", "Berlin is in Germany", "see the page")


def walk(browser: Browser) -> dict[str, str]:
    """Every page of a question that the browser's owner has, in the order of work, by its address."""
    found: dict[str, str] = {}
    path = browser.get("/question").location
    while path not in found:
        found[path] = browser.get(path).text
        following = re.search('<a id="next" href="(/question/[0-9]+)"', found[path])
        if following is None:
            break
        path = following[1]
    return found


def tasks_on(text: str) -> list[int]:
    return [int(task) for task in re.findall('name="before-([0-9]+)"', text)]


def judge(browser: Browser, path: str, task: int, verdict: str = "N") -> Any:
    """One verdict, as the script sends it."""
    shown = browser.get(path).text
    known = dict(re.findall('type="hidden" name="([^"]+)" value="([^"]*)"', shown))
    fields = {f"verdict-{task}": verdict, f"source-{task}": WIKI, f"before-{task}": known[f"before-{task}"]}
    headers = {"Origin": URL, "Accept": "application/json"}
    data = {"token": known["token"], "edition": known["edition"], "only": str(task)} | fields
    return browser.client.post(browser.page.numbers.large(path), base_url=URL, data=data, headers=headers)


class Plain:
    """Numbers as they are."""

    def large(self, text: str) -> str:
        return text

    small = large


def signed_in(page: Page, person: str = "ann") -> Browser:
    page.numbers = Plain()  # type: ignore[assignment]
    return page.browser(person)


@pytest.fixture
def page(make: Callable[..., Page]) -> Page:
    """A page of a campaign without gold."""
    found = make()
    found.numbers = Plain()  # type: ignore[assignment]
    return found


def test_every_page_is_the_same_with_gold_and_without(page: Page):
    """Byte for byte, before and after it is judged, whatever gold says, and whatever bob."""
    ann, bob = page.browser("ann"), page.browser("bob")
    before = walk(ann)
    assert sum(len(tasks_on(text)) for text in before.values()) == 5
    for rows in (POOLED, [(*row[:3], "YN"[row[3] == "Y"], "") for row in POOLED], (*POOLED, *ROWS)):
        write_gold(page.folder, Gold.of(rows))
        assert walk(ann) == before
    assert not any(secret in text for secret in SECRETS for text in before.values())
    for path, text in walk(bob).items():
        for task in tasks_on(text):
            assert judge(bob, path, task).status_code == 200
    assert walk(ann) == before
    for path, text in before.items():
        for task in tasks_on(text):
            assert judge(ann, path, task).status_code == 200
    paths = (*before, "/question", "/question/verdicts")
    after = [ann.get(path).text for path in paths]
    (page.folder / GOLD).unlink()
    assert [ann.get(path).text for path in paths] == after


def test_verdicts_on_gold_are_stored_among_the_others_and_calibrate(page: Page):
    """In one file, in the order in which they came."""
    write_gold(page.folder, Gold.of(POOLED))
    ann = page.browser("ann")
    for path, text in walk(ann).items():
        for task in tasks_on(text):
            assert judge(ann, path, task).status_code == 200
    assert len(page.events()) == 5
    found = calibration(read_campaign(page.folder))
    people = found["people"].select(["annotator", "right", "wrong"]).to_pydict()
    assert people == {"annotator": ["ann"], "right": [1], "wrong": [1]}


def test_a_verdict_on_gold_opens_and_writes_as_many_files_as_any_other(page: Page, monkeypatch):
    """From the second on, so that no time that it takes tells what is gold."""
    write_gold(page.folder, Gold.of(POOLED))
    browser = page.browser("ann")
    place = {task: path for path, text in walk(browser).items() for task in tasks_on(text)}
    calls: Counter[str] = Counter()

    def counting(name: str) -> None:
        own = getattr(os, name)

        def counted(*values: Any, **named: Any) -> Any:
            calls[name] += 1
            return own(*values, **named)

        monkeypatch.setattr(os, name, counted)

    for name in ("open", "write", "fsync", "close"):
        counting(name)
    found = []
    for turn, verdict in enumerate(("Y", "N")):
        for task, path in place.items():
            calls.clear()
            assert judge(browser, path, task, verdict).status_code == 200
            found += [dict(calls)] * turn
    assert found == [found[0]] * 5
    assert found[0]["fsync"] == 1
