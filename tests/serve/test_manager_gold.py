"""What a manager says of gold: how much of it annotators are given."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from kgtrec.data.gold import Gold
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.pools import read_settings
from tests.serve.conftest import URL, Browser, Page
from tests.serve.test_gold import ROWS, Plain, tasks_on, walk


@pytest.fixture
def golden(make: Callable[..., Page]) -> Page:
    """A page of a campaign with four gold triples, and figures that are made anew whenever it has changed."""
    page = make()
    write_gold(page.folder, Gold.of(ROWS))
    page.numbers = Plain()  # type: ignore[assignment]
    page.app.extensions["kgtrec"].figures.share = float("inf")
    return page


def change(browser: Browser, **fields: str) -> Any:
    data = {"token": browser.token("/manage"), "percent": "5", "training": "0"} | fields
    return browser.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL})


def shown(text: str) -> str:
    """The text of a page without markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def n_tasks(browser: Browser) -> int:
    return sum(len(tasks_on(text)) for text in walk(browser).values())


def test_a_share_of_gold_holds_from_the_next_page_on(golden: Page):
    """Of ann's five tasks and the gold that makes a third of all, and none again."""
    max_, ann = golden.browser("max"), golden.browser("ann")
    assert n_tasks(ann) == 5
    for percent, share, n in (("30", 0.3, 7), ("33.3", 0.333, 7), ("0", 0.0, 5), ("5", 0.05, 5)):
        answer = change(max_, percent=percent)
        assert answer.status_code == 200
        assert f"{share:.1%} of each annotator's tasks are to be gold" in shown(answer.text)
        assert f'name="percent" type="number" min="0" max="99.9" step="any" required value="{percent}"' in answer.text
        assert read_campaign(golden.folder).gold_share == share
        assert n_tasks(ann) == n
    assert "Nothing is different." in change(max_, percent="5.0").text


@pytest.mark.parametrize("percent", ["100", "-1", "nan", "", "1e1", "5%", "5,5", "x" * 100])
def test_a_share_that_is_none_is_refused_and_stays_in_the_form(golden: Page, percent: str):
    """And what was typed stays in the form."""
    browser = golden.browser("max")
    before = read_settings(golden.folder)
    answer = change(browser, percent=percent)
    assert answer.status_code == 422
    assert "Nothing was changed: expected a number of percent of at least 0 and less than 100" in shown(answer.text)
    assert f'required value="{percent}">' in answer.text
    assert read_settings(golden.folder) == before


def test_too_little_gold_is_told_with_what_it_comes_to(golden: Page):
    """Bob has six tasks: with four gold triples these are 40% of ten, and half takes six."""
    told = "gold.tsv has 4 triples, which come to 40.0% of the 10 tasks of bob; 50.0% takes 6"
    browser = golden.browser("max")
    assert told in shown(change(browser, percent="50").text)
    assert told in shown(browser.get("/manage").text)
    assert told not in shown(change(browser, percent="40").text)


def test_a_campaign_without_gold_asks_for_no_share(make: Callable[..., Page]):
    """It tells how gold is added."""
    text = make().browser("max").get("/manage").text
    assert "kgtrec campaign init --gold adds some" in text
    assert 'name="percent"' not in text


def test_a_form_of_somebody_else_changes_nothing(golden: Page):
    """Of who judges, or without the token."""
    before = read_settings(golden.folder)
    ann, max_ = golden.browser("ann"), golden.browser("max")
    data = {"token": ann.token(), "percent": "10"}
    assert ann.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL}).status_code == 403
    data = {"token": "x", "percent": "10"}
    assert max_.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL}).status_code == 403
    assert read_settings(golden.folder) == before
