"""What a manager is told of gold, and sets: how much of it annotators judge first."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest

from kgtrec.data.judgements import Gold
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.pools import read_settings
from tests.serve.conftest import URL, Page
from tests.serve.test_gold import POOLED, ROWS, Plain


@pytest.fixture
def golden(make: Callable[..., Page]) -> Page:
    """A page of a campaign with four gold triples, and figures that are made anew whenever it has changed."""
    page = make()
    write_gold(page.folder, Gold.of(ROWS))
    page.numbers = Plain()  # type: ignore[assignment]
    page.app.extensions["kgtrec"].figures.share = float("inf")
    return page


def shown(text: str) -> str:
    """The text of a page without markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_what_keeps_gold_from_being_of_use_is_told(golden: Page):
    """As the commands tell it."""
    browser = golden.browser("max")
    told = "gold.tsv: 4 of 4 triples, as de capital paris, would stand out among what annotators judge"
    assert told in shown(browser.get("/manage").text)
    write_gold(golden.folder, Gold.of(POOLED))
    text = shown(browser.get("/manage").text)
    assert "stand out" not in text
    assert "gold.tsv: 2 of the 5 tasks of ann are gold" in text


def test_a_campaign_without_gold_is_told_how_it_is_drawn(make: Callable[..., Page]):
    """And asks for no training round."""
    text = make().browser("max").get("/manage").text
    assert "kgtrec campaign init --gold-share 0.05 draws some" in text
    assert 'name="training"' not in text


def test_a_form_of_somebody_else_changes_nothing(golden: Page):
    """Of who judges, or without the token."""
    before = read_settings(golden.folder)
    ann, max_ = golden.browser("ann"), golden.browser("max")
    for browser, token, status in ((ann, ann.token(), 403), (max_, "x", 403), (max_, max_.token("/manage"), 200)):
        assert read_settings(golden.folder) == before
        data = {"token": token, "training": "2"}
        answer = browser.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL})
        assert answer.status_code == status
    assert read_settings(golden.folder)["training"] == 2
