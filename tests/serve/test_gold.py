"""Gold on the page: judged like the rest, and nothing that anybody is sent tells it from the rest."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgtrec.campaign import tasks_for
from kgtrec.campaign.gold import asked_triples
from kgtrec.data.gold import Gold
from kgtrec.data.label_hashes import triple_keys
from kgtrec.data.qrels import Qrels
from kgtrec.formats.campaign.folder import read_campaign, write_settings
from kgtrec.formats.campaign.gold import write_gold
from kgtrec.formats.campaign.pools import read_settings
from kgtrec.formats.output.folders import GOLD_JUDGEMENTS, GUIDELINES, JUDGEMENTS
from kgtrec.serve.app import create_app
from tests.campaign_folders import folder_of
from tests.serve.conftest import URL, WIKI, Browser, Page, campaign_with_roles

#: two candidates of questions of the pool, of which one is known; two of questions of their own
ROWS = (
    ("fr", "capital", "berlin", "N", "Berlin is in Germany"),
    ("de", "capital", "paris", "Y", ""),
    ("oslo", "capital", "sweden", "N", ""),
    ("norway", "capital", "oslo", "Y", "see the page"),
)
PARIS = 'Paris <small class="label">paris</small>'
SECRETS = ("gold", "Gold", "Berlin is in Germany", "see the page")


@pytest.fixture
def golden(tmp_path: Path) -> Callable[..., Page]:
    """A function that makes the page of a campaign with gold; an entity that is known of a question of the pool."""

    def made(rows: Sequence[tuple[str, ...]] = ROWS, known: Sequence[tuple[int, int]] = ((0, 3),), **settings: Any):
        campaign = campaign_with_roles()
        question, entity = np.array(known, np.int32).reshape(-1, 2).T
        asked = campaign.pool.questions
        qrels = Qrels.of(question.copy(), entity.copy(), question * 0 + 1, asked.ids, asked.entities)
        folder = folder_of(replace(campaign, known_answers=qrels), tmp_path / "campaign")
        write_settings(folder, read_settings(folder) | {"gold_share": 0.5} | settings)
        write_gold(folder, Gold.of(rows))
        (folder / GUIDELINES).write_text("# How to judge\n")
        return Page(folder, create_app(folder, URL, burst=10_000, per_second=1e6))

    return made


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


def gold_tasks(page: Page) -> set[int]:
    campaign = read_campaign(page.folder)
    keys = triple_keys(campaign.gold.pool.triples) >> np.uint64(11)
    return set(keys.astype(np.int64).tolist())


def test_a_verdict_on_gold_opens_and_writes_as_many_files_as_any_other(golden: Callable[..., Page], monkeypatch):
    """From the second on, so that no time that it takes tells what is gold: 0.4 ms did, over a hundred verdicts."""
    page = golden()
    browser = signed_in(page)
    place = {task: path for path, text in walk(browser).items() for task in tasks_on(text)}
    assert len(place.keys() & gold_tasks(page)) == 4
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
    assert found == [found[0]] * 9
    assert found[0]["fsync"] == 1


def test_a_person_has_the_tasks_of_an_export(golden: Callable[..., Page]):
    """Gold among them, question by question in the same order, and counted like them."""
    page = golden()
    browser = signed_in(page)
    campaign = read_campaign(page.folder)
    exported = tasks_for(campaign, "ann")
    keys = (triple_keys(asked_triples(campaign)) >> np.uint64(11)).astype(np.int64).tolist()
    columns = (labels(campaign, name) for name in ("head", "relation", "tail"))
    number_of = dict(zip(zip(*columns, strict=True), keys, strict=True))
    columns = (getattr(exported, name).to_pylist() for name in ("head", "relation", "tail"))
    tasks = [number_of[triple] for triple in zip(*columns, strict=True)]
    new = np.flatnonzero(np.diff(exported.question_number, prepend=-1))
    shown = [tasks_on(text) for text in walk(browser).values()]
    assert [set(part) for part in shown] == [set(part.tolist()) for part in np.split(np.array(tasks), new[1:])]
    assert len(tasks) == 9
    assert len(gold_tasks(page) & set(tasks)) == 4
    assert '<span id="left">9</span>' in browser.get(browser.get("/question").location).text


def labels(campaign: Any, name: str) -> list[str]:
    triples = asked_triples(campaign)
    words = triples.relations if name == "relation" else triples.entities
    found: list[str] = words.decode(getattr(triples, name)).to_pylist()
    return found


def test_verdicts_on_gold_are_stored_beside_the_others(golden: Callable[..., Page]):
    """By the rules of accept: once however often they are sent, corrected by what the page showed, undone."""
    page = golden()
    browser, golden_ones = signed_in(page), gold_tasks(page)
    place_of = {task: path for path, text in walk(browser).items() for task in tasks_on(text)}
    for nth, (task, path) in enumerate(place_of.items(), 1):
        answer = judge(browser, path, task).get_json()
        assert (answer["outcomes"][0]["kind"], answer["done"], answer["left"]) == ("stored", nth, 9 - nth)
        assert judge(browser, path, task).get_json()["outcomes"][0]["kind"] == "unchanged"
    events = [json.loads(line) for line in (page.folder / GOLD_JUDGEMENTS).read_text().splitlines()]
    assert {(one["head"], one["tail"]) for one in events} == {(row[0], row[2]) for row in ROWS}
    assert (len(events), len((page.folder / JUDGEMENTS).read_text().splitlines())) == (4, 5)
    task = min(golden_ones)
    assert judge(browser, place_of[task], task, "Y").get_json()["outcomes"][0]["can_undo"]
    undone = {"token": browser.token(), "edition": browser.hidden(place_of[task], "edition"), "undo": str(task)}
    digest = re.findall(f'name="before-{task}" value="([^"]*)"', browser.get(place_of[task]).text)
    browser.client.post(place_of[task], base_url=URL, data=undone | {f"before-{task}": digest}, headers={"Origin": URL})
    events = [json.loads(line) for line in (page.folder / GOLD_JUDGEMENTS).read_text().splitlines()]
    assert [one["verdict"] for one in events[4:]] == ["Y", "N"]
    listed = re.findall(r'href="(/question/[0-9]+)[^"]*#task-([0-9]+)"', browser.get("/question/verdicts").text)
    assert {int(task): path for path, task in listed} == place_of


def shape(text: str) -> str:
    """A candidate's card without what is of its triple."""
    text = re.sub('(task|asked|verdict|source|note|before|only|undo)([-=" a-z]*)[0-9]{8,}', r"\1\2#", text)
    text = re.sub('value="[0-9]{8,}"', 'value="#"', text)
    text = re.sub("(?s)<h2[^>]*>.*?</h2>", "<h2>", text)
    text = re.sub('Answer to: [^<]*|Undo the answer to: [^"]*', "", text)
    return re.sub('(?s)<p class="names">.*?</p>\n', "", text)


def cards(text: str) -> dict[int, str]:
    found = re.findall(r'(?s)<section class="card.*?</section>', text)
    return {int(re.findall('data-task="([0-9]+)"', card)[0]): card for card in found}


def test_no_card_and_no_answer_tells_gold(golden: Callable[..., Page]):
    """But for the words of its triple, and a number of as many digits, all are the same, headers too."""
    page = golden()
    browser, golden_ones = signed_in(page), gold_tasks(page)
    shapes: dict[bool, set[str]] = {True: set(), False: set()}
    answers: dict[bool, set[str]] = {True: set(), False: set()}
    for path, text in walk(browser).items():
        assert not any(secret in text for secret in SECRETS)
        for task, card in cards(text).items():
            shapes[task in golden_ones].add(shape(card))
            answer = judge(browser, path, task)
            said = answer.get_json()["outcomes"][0]
            kept = {name: value for name, value in said.items() if name not in ("task", "digest")}
            headers = {name: value for name, value in answer.headers if name != "Content-Length"}
            answers[task in golden_ones].add(json.dumps([kept, headers], sort_keys=True))
        for task, card in cards(browser.get(path).text).items():
            shapes[task in golden_ones].add(re.sub('value="[0-9a-f]{16}"', 'value="#"', shape(card)))
    assert shapes[True] == shapes[False]
    assert len(shapes[True]) <= 4  # before and after, the only one on its page or not
    assert answers[True] == answers[False]
    assert len(answers[True]) == 1


def test_what_is_known_of_gold_and_what_others_say_of_it_changes_nothing(golden: Callable[..., Page]):
    """Byte for byte, on every page: of ann, whatever gold says and bob."""
    page = golden()
    ann, bob = signed_in(page), page.browser("bob")
    before = walk(ann)
    turned = [(*row[:3], "YN"[row[3] == "Y"], "not so") for row in ROWS]
    write_gold(page.folder, Gold.of(turned))
    assert walk(ann) == before
    for path, text in walk(bob).items():
        for task in tasks_on(text):
            assert judge(bob, path, task).status_code == 200
    assert (page.folder / GOLD_JUDGEMENTS).read_text().count('"bob"') == 4
    assert walk(ann) == before


def known_on(text: str) -> list[str]:
    part = re.findall('(?s)<details class="known".*?</details>', text)
    return re.findall("<li>(.*?)</li>", re.sub("</?bdi>", "", part[0])) if part else []


@pytest.mark.parametrize(
    ("rows", "known", "shown"),
    [
        # a known answer is gold, and another is left
        ([("fr", "capital", "berlin", "Y", "")], [(0, 3), (0, 0), (1, 6), (2, 2)], [["&#39;n"], [PARIS]]),
        # nothing else is known of the question, which nobody would believe of a question of the pool
        ([("fr", "capital", "berlin", "Y", "")], [(0, 3), (1, 6), (2, 2)], [[], []]),
        # gold that stands for itself, of which the campaign knows nothing
        ([("norway", "capital", "oslo", "Y", "")], [(0, 3), (1, 6), (2, 2)], [[], [], []]),
    ],
    ids=["among others", "the only one", "of its own"],
)
def test_what_is_known_already_tells_no_gold(golden: Callable[..., Page], rows, known, shown):
    """Gold is not listed as known, and no page stands out by a list that is empty."""
    browser = signed_in(golden(rows, known, gold_share=0.2))
    found = [known_on(text) for text in walk(browser).values()]
    assert sorted(found) == sorted(shown)


def test_without_gold_on_anybodys_page_all_that_is_known_is_told(golden: Callable[..., Page]):
    """But for what gold.tsv names, which may be given tomorrow."""
    browser = signed_in(golden(ROWS, [(0, 3), (1, 6), (2, 2)], gold_share=0.0))
    assert sorted(known_on(text) for text in walk(browser).values()) == [[], []]


def test_a_triple_that_is_gold_no_more_is_nobodys_task(golden: Callable[..., Page]):
    """What was said of it is kept; it is back with it when the triple is gold again."""
    page = golden()
    browser = signed_in(page)
    before = walk(browser)
    path, task = next(
        (path, task)
        for path, text in before.items()
        for task in tasks_on(text)
        if len(tasks_on(text)) == 1 and task in gold_tasks(page)
    )
    assert judge(browser, path, task).status_code == 200
    campaign = read_campaign(page.folder)
    keys = (triple_keys(campaign.gold.pool.triples) >> np.uint64(11)).astype(np.int64).tolist()
    gone = labels_of_gold(campaign)[keys.index(task)]
    write_gold(page.folder, Gold.of(row for row in ROWS if row[:3] != gone))
    assert browser.get(path).status_code == 404
    assert task not in [one for text in walk(browser).values() for one in tasks_on(text)]
    write_gold(page.folder, Gold.of(ROWS))
    assert "Stored: No" in cards(browser.get(path).text)[task]


def labels_of_gold(campaign: Any) -> list[tuple[str, ...]]:
    own = campaign.gold.pool.triples
    columns = own.entities.decode(own.head), own.relations.decode(own.relation), own.entities.decode(own.tail)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def test_gold_is_nobodys_but_an_annotators(golden: Callable[..., Page]):
    """To an adjudicator its number is that of no task."""
    page = golden()
    browser = signed_in(page, "eve")
    for task in gold_tasks(page):
        answer = browser.post("/conflict/seen", token=browser.token(), task=task, seconds="1")
        assert answer.status_code == 404
