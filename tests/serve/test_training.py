"""The training round: gold with its answer right after, which counts nowhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign import tasks_for
from kgtrec.campaign.calibrate import calibration
from kgtrec.campaign.training import with_training
from kgtrec.cli import main
from kgtrec.data.judgements import Gold
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.pools import read_settings, write_settings
from kgtrec.formats.output.folders import GOLD, JUDGEMENTS, SERVE_STATE
from tests.campaigns_by_hand import campaign_of
from tests.serve.conftest import URL, Browser, Page
from tests.serve.test_gold import POOLED, ROWS, Plain, tasks_on, walk

LINK = "https://en.wikipedia.org/wiki/Oslo"
GIVEN = [(*row[:4], LINK if row[4] == "see the page" else row[4]) for row in ROWS]
#: what is told of the two triples with an explanation: the known N first
TOLD = [("is No.", "Berlin is in Germany"), ("is Yes.", f'<a href="{LINK}"')]


def train(folder: Path, n: int) -> None:
    """Set a training round."""
    main(["campaign", "init", str(folder), "--training", str(n)])


@pytest.fixture
def golden(make: Callable[..., Page]) -> Page:
    """A page with four gold triples, of which two have an explanation, and a training round of these two."""
    page = make()
    write_gold(page.folder, Gold.of(GIVEN))
    train(page.folder, 2)
    page.numbers = Plain()  # type: ignore[assignment]
    page.app.extensions["kgtrec"].figures.share = float("inf")
    return page


def answer(browser: Browser, path: str, verdict: str) -> Any:
    data = {"token": browser.token(path) if "token" in browser.get(path).text else "", "verdict": verdict}
    return browser.client.post(path, base_url=URL, data=data, headers={"Origin": URL})


def shown(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_annotators_begin_with_it_and_are_told_each_answer(golden: Page):
    """After the guidelines: right or not and why, its end, and then the questions; without a script."""
    browser = golden.browser("ann", has_read=False)
    assert browser.get("/question").location == "/guidelines"
    browser.post("/guidelines", token=browser.token())
    assert browser.get("/question").location == "/training"
    for nth, (verdict, right, (known, why)) in enumerate(zip("NN", ("Right", "Not right"), TOLD, strict=True), 1):
        path = browser.get("/training").location
        text = browser.get(path).text
        assert f"Training, {nth} of 2." in text
        assert 'aria-current="page">Judge<' in text
        assert why not in text
        assert "answer is" not in text
        told = answer(browser, path, verdict)
        assert (told.status_code, told.location) == (303, f"{path}#answer")
        text = browser.get(path).text
        assert f"<title>{right}: the answer {known}" in text
        assert f"You said {'No' if verdict == 'N' else 'Yes'}." in text
        assert why in text
        assert 'name="verdict"' not in text
    assert "The training is over: 1 of 2 right" in browser.get("/training").text
    assert browser.get("/question").location.startswith("/question/")


def test_who_is_unsure_is_neither_right_nor_wrong(golden: Page):
    """And is told the answer."""
    browser = golden.browser("ann")
    path = browser.get("/training").location
    answer(browser, path, "unsure")
    assert "<title>The answer is No. Training 1 of 2</title>" in browser.get(path).text


def test_what_is_no_answer_is_asked_for_again(golden: Page):
    browser = golden.browser("ann")
    path = browser.get("/training").location
    assert answer(browser, path, "maybe").status_code == 422
    assert browser.get("/training").location == path


def test_the_first_answer_stays(golden: Page):
    """A second one, from another tab, changes nothing."""
    browser = golden.browser("ann")
    path = browser.get("/training").location
    token = browser.token(path)
    for verdict in "YN":
        data = {"token": token, "verdict": verdict}
        assert browser.client.post(path, base_url=URL, data=data, headers={"Origin": URL}).status_code == 303
    assert "You said Yes." in browser.get(path).text


def test_it_counts_nowhere(golden: Page):
    """No verdict is in a file, and calibration knows nothing of it."""
    browser = golden.browser("ann")
    for _ in range(2):
        answer(browser, browser.get("/training").location, "N")
    assert (golden.folder / JUDGEMENTS).read_text() == ""
    assert calibration(read_campaign(golden.folder))["people"].num_rows == 0
    assert '<span id="done">0</span>' in browser.get(browser.get("/question").location).text


def test_nobody_is_asked_about_it_also_when_it_has_ended(golden: Page):
    """Neither on the page nor in a file."""
    for n in (2, 0):
        train(golden.folder, n)
        campaign = read_campaign(golden.folder)
        for person, n_own in (("ann", 5), ("bob", 6)):
            tasks = tasks_for(campaign, person)
            triples = set(
                zip(*(getattr(tasks, name).to_pylist() for name in ("head", "relation", "tail")), strict=True)
            )
            assert not triples & set(campaign.gold.labels)
            assert len(triples) == n_own
    browser = golden.browser("ann")
    assert browser.get("/question").location.startswith("/question/")  # it has ended
    assert sum(len(tasks_on(text)) for text in walk(browser).values()) == 5
    assert browser.get("/training").status_code == 404


def test_nobody_is_trained_on_what_they_are_to_judge(golden: Page):
    """A triple of the pool is never chosen, nor one without a verdict; and one that the pool asks for is left out."""
    write_gold(golden.folder, Gold.of([*GIVEN, *POOLED, ("oslo", "capital", "fr", "", "")]))
    with pytest.raises(SystemExit):
        train(golden.folder, 5)
    train(golden.folder, 4)
    settings = read_settings(golden.folder)
    assert {tuple(triple) for triple in settings["training_gold"]} == {row[:3] for row in ROWS}
    chosen = [list(row[:3]) for row in (*POOLED, *ROWS[:1])]
    write_settings(golden.folder, settings | {"training": 3, "training_gold": chosen})
    ann = golden.browser("ann")
    assert "Training, 1 of 1." in ann.get(ann.get("/training").location).text


def test_a_role_and_a_person_have_their_own_round(golden: Page):
    """What ann has answered is still open to bob; who is no annotator, and a number of another task, get nothing."""
    ann, bob = golden.browser("ann"), golden.browser("bob")
    path = ann.get("/training").location
    answer(ann, path, "Y")
    assert bob.get("/training").location == path
    assert "You said" not in bob.get(path).text
    for person in ("eve", "ivy", "max"):
        assert golden.browser(person).get(path).status_code == 403
    golden_ones = {int(path.rpartition("/")[2])}
    for task in [one for text in walk(ann).values() for one in tasks_on(text) if one not in golden_ones]:
        assert ann.get(f"/training/{task}").status_code == 404
    assert ann.get("/training/17").status_code == 404


def test_a_lost_state_begins_it_again(golden: Page):
    """And loses no verdict."""
    browser = golden.browser("ann")
    for _ in range(2):
        answer(browser, browser.get("/training").location, "N")
    golden.state.close()
    for path in golden.folder.glob(f"{SERVE_STATE}*"):
        path.unlink()
    assert golden.browser("ann").get("/question").location == "/training"


@pytest.mark.parametrize("why", ["<script>alert(1)</script>", "{{7*7}}", "javascript:alert(1)"])
def test_an_explanation_is_text(golden: Page, why: str):
    """Whatever stands in gold.tsv."""
    write_gold(golden.folder, Gold.of((*row[:4], why) for row in ROWS))
    browser = golden.browser("ann")
    path = browser.get("/training").location
    answer(browser, path, "N")
    assert f"<p><bdi>{html.escape(why)}</bdi></p>" in browser.get(path).text


# --- the setting


def test_managers_set_it_and_see_how_far_it_is(golden: Page):
    """By the verb of init; who has answered how much, and how much of it rightly."""
    max_, ann = golden.browser("max"), golden.browser("ann")
    assert "Nobody has begun it yet." in max_.get("/manage").text
    answer(ann, ann.get("/training").location, "N")
    answer(ann, ann.get("/training").location, "N")
    text = shown(max_.get("/manage").text)
    assert "Training round annotator answered of 2 right ann 2 1" in text
    for n, told in (("0", "There is no training round any more"), ("3", "a training round of 3 gold triples")):
        data = {"token": max_.token("/manage"), "training": n}
        answer_ = max_.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL})
        assert told in shown(answer_.text)
        assert read_settings(golden.folder)["training"] == int(n)
    assert ann.get("/question").location == "/training"  # the third is new
    for n, message in (("5", "expected 0 to 4 gold triples for the training round, got 5; gold.tsv has no more"),
                       ("x", "expected a number of gold triples for the training round, got 'x'")):  # fmt: skip
        data = {"token": max_.token("/manage"), "training": n}
        refused = max_.client.post("/manage", base_url=URL, data=data, headers={"Origin": URL})
        assert refused.status_code == 422
        assert message in shown(refused.text)
    assert read_settings(golden.folder)["training"] == 3


def test_the_explained_come_first_and_what_was_chosen_stays():
    """Known Y and N in turn; more gold, and less, changes nothing of what people were trained on."""
    rows = [(f"e{nth}", "r", "x", "YN"[nth % 3 == 0], "why" if nth < 6 else "") for nth in range(12)]
    gold = Gold.of(rows)
    verdict_of = {row[:3]: row[3] for row in rows}

    def chosen(settings: dict[str, Any], n: int, gold: Gold = gold) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
        settings, _ = with_training(settings, campaign_of().pool, gold, n)
        return settings, [tuple(triple) for triple in settings["training_gold"]]

    settings, first = chosen({"seed": 1}, 4)
    assert [verdict_of[triple] for triple in first] == ["N", "Y", "N", "Y"]
    assert all(int(head[1:]) < 6 for head, _, _ in first)
    more = Gold.of([*rows, *((f"f{nth}", "r", "x", "N", "why") for nth in range(20))])
    settings, second = chosen(settings, 6, more)
    assert second[:4] == first
    assert len(set(second)) == 6
    assert chosen(settings, 2, more)[1] == second
    fewer = Gold.of([row for row in rows if row[:3] != first[0]])
    _, third = chosen(settings, 3, fewer)
    assert third.index(first[0]) >= 3


def test_a_round_without_gold_is_refused(make: Callable[..., Page], capsys: pytest.CaptureFixture[str]):
    page = make()
    with pytest.raises(SystemExit):
        train(page.folder, 1)
    assert (
        "expected 0 to 0 gold triples for the training round, got 1; gold.tsv has no more outside the pool"
        in capsys.readouterr().err
    )
    with pytest.raises(KgtrecError, match=r"expected 0 to 50 gold triples for the training round, got 51\Z"):
        with_training({}, campaign_of().pool, Gold.of((f"e{nth}", "r", "x", "Y", "") for nth in range(60)), 51)


def test_check_takes_the_setting_and_refuses_what_is_none(golden: Page, capsys: pytest.CaptureFixture[str]):
    """With the file at fault."""
    main(["check", str(golden.folder)])
    settings = read_settings(golden.folder)
    for name, wrong in (("training", -1), ("training", "2"), ("training_gold", [["a", "b"]]), ("training_gold", "x")):
        path = golden.folder / "campaign.json"
        path.write_text(json.dumps(settings | {name: wrong}))
        with pytest.raises(FormatError, match=rf"campaign\.json: expected .*{name}"):
            read_campaign(golden.folder)
    assert (golden.folder / GOLD).exists()
    capsys.readouterr()
