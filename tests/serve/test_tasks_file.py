"""A person's tasks as one file: what is in it, and what is not."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.tasks import phrase_tasks, tasks_for, tasks_for_adjudicator
from kgtrec.campaign.verdict_rules import link_patterns, wrong_link
from kgtrec.cli import main
from kgtrec.data.judgements import Tasks
from kgtrec.data.triples import check_numbers
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.serve.service import CampaignService
from kgtrec.serve.tasks_file import tasks_file
from kgtrec.serve.views import work_of
from tests.campaign_folders import folder_of
from tests.campaigns_by_hand import ENTITIES, campaign_of
from tests.serve.conftest import JUDGED, WIKI, campaign_with_roles

#: of three triples that wait for eve: two in conflict, one doubted
EVENTS = [
    (3, "ann", "annotator", "Y", WIKI, "ann's note"),
    (3, "bob", "annotator", "N", WIKI, "bob's note"),
    (4, "ann", "annotator", "N", "https://en.wikipedia.org/wiki/Lyon", ""),
    (4, "bob", "annotator", "Y", "https://en.wikipedia.org/wiki/Lyon#a", ""),
    (1, "ann", "annotator", "unsure", "", ""),
    (1, "bob", "annotator", "N", WIKI, ""),
]


def data_of(page: str) -> dict[str, Any]:
    """What the script is given."""
    found = re.search(r'<script type="application/json" id="tasks">(.*?)</script>', page)
    assert found
    read: dict[str, Any] = json.loads(found[1])
    return read


def cards_of(page: str) -> list[dict[str, Any]]:
    return [card for question in data_of(page)["questions"] for card in question["cards"]]


def downloaded(page: str, path: Path, **words: str) -> Path:
    """What the page gives when every task has the same verdict."""
    data = data_of(page)
    lines = [
        {
            "task": card["number"],
            "annotator": data["person"],
            "head": data["entities"][card["head"]][0],
            "relation": data["relations"][card["relation"]],
            "tail": data["entities"][card["tail"]][0],
            "verdict": "N",
            "source": WIKI,
            "note": "",
            "time": "2026-11-22T10:00:00Z",
        }
        | words
        for card in cards_of(page)
    ]
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    return path


def file_of(person: str = "ann", events: Any = (), guidelines: str = "") -> str:
    campaign = campaign_with_roles(events)
    return tasks_file(campaign, tasks_for(campaign, person), person=person, guidelines=guidelines)


def require_the_same(folder: Path, n_questions: int, n_known: int) -> None:
    """The same questions in the same order, with the same candidates, numbers, known answers and searches."""
    service = CampaignService(folder)
    work = work_of(service, service.look("ann"), "annotator")
    campaign = read_campaign(folder)
    data = data_of(tasks_file(campaign, tasks_for(campaign, "ann"), person="ann"))
    assert len(data["questions"]) == len(work.numbers) == n_questions
    assert sum(len(asked["known"]) for asked in data["questions"]) == n_known
    for number, asked in zip(work.numbers.tolist(), data["questions"], strict=True):
        shown = work.page(number)
        assert shown is not None
        assert asked["title"] == shown["title"]
        assert [(card["task"], card["question"]) for card in asked["cards"]] == [
            (one["task"], one["question"]) for one in shown["candidates"]
        ]
        assert [(data["entities"][card[asked["varies"]]] * 2)[1] for card in asked["cards"]] == [
            one["entity"]["name"] for one in shown["candidates"]
        ]
        names = [(data["entities"][row] * 2)[1] for row in asked["known"]]
        assert names == [one["name"] for one in shown["known"]]
        assert [host for host, _ in data["searches"]] == [host for host, _ in shown["searches"]]
        assert [url + asked["search"].replace(" ", "+") for _, url in data["searches"]] == [
            url.replace("%7B", "{").replace("%7D", "}") for _, url in shown["searches"]
        ]


def test_the_file_asks_what_the_page_asks(tmp_path: Path):
    """With the known answer of one question."""
    require_the_same(folder_of(campaign_with_roles(), tmp_path / "campaign"), n_questions=2, n_known=1)


def test_the_file_counts_known_answers():
    """There are as many as the script finds, which says so where there is one."""
    assert "[[n_known]] answers are known already" in file_of()


def test_equal_tasks_give_equal_bytes():
    """Whenever the file is written."""
    assert file_of(guidelines="# How") == file_of(guidelines="# How")


def test_two_campaigns_on_one_pool_keep_their_verdicts_apart(tmp_path: Path):
    """In the browser, by the names of their folders; a later file of one of them finds what was given before."""
    editions = []
    for name, events in (("pilot", ()), ("campaign", ()), ("campaign", JUDGED)):
        folder = folder_of(campaign_with_roles(events), tmp_path / str(len(editions)) / name)
        out = tmp_path / f"{len(editions)}.html"
        main(["campaign", "export", str(folder), "--annotator", "bob", "--out", str(out)])
        editions.append(data_of(out.read_text())["edition"])
    assert editions[0] != editions[1] == editions[2]


def test_the_file_can_load_and_send_nothing():
    """Its policy has the hashes of the script and the style that it holds, and allows no other source."""
    import base64
    import hashlib

    page = file_of()
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found
    policy = dict(part.strip().split(" ", 1) for part in found[1].replace("&#39;", "'").split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    for name, directive in (("style", "style-src"), ("script", "script-src")):
        texts = re.findall(rf"<{name}>(.*?)</{name}>", page, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert policy[directive].split() == [f"'sha256-{one}'" for one in hashes]
    assert not re.findall(r'(?:src|href)="(?!data:,"|#|\[\[)[^"]*"', page)


def test_an_annotators_file_tells_nothing_of_others():
    """No verdict, link, note or name of another one, no run and no rank."""
    campaign = campaign_with_roles([event for event in EVENTS if event[1] == "bob"])
    page = tasks_file(campaign, tasks_for(campaign, "ann"), person="ann")
    assert len(cards_of(page)) == 5
    for hidden in ("bob", "secret-run", WIKI, "Lyon", '"eve"'):
        assert hidden not in page
    plain = campaign_with_roles()
    assert page == tasks_file(plain, tasks_for(plain, "ann"), person="ann")


def test_an_adjudicators_file_holds_both_sides_without_names():
    """As A and B, in the order of the other files."""
    campaign = campaign_with_roles(EVENTS)
    tasks = tasks_for_adjudicator(campaign, "eve")
    page = tasks_file(campaign, tasks, person="eve", role="adjudicator")
    cards = cards_of(page)
    assert len(cards) == 3
    by_number = dict(zip(check_numbers(campaign.pool.triples).tolist(), range(6), strict=True))
    for card in cards:
        said = {event[1]: event for event in EVENTS if event[0] == by_number[card["number"]]}
        answers = {"Y": "Yes", "N": "No", "unsure": "Unsure"}
        assert [side["LETTER"] for side in card["sides"]] == ["A", "B"]
        assert sorted((side["answer"], side["side_source"], side["side_note"]) for side in card["sides"]) == sorted(
            (answers[event[3]], event[4], event[5]) for event in said.values()
        )
    shown = [tasks.shown[f"verdict_{nth}"].to_pylist() for nth in (1, 2)]
    first = {card["number"]: card["sides"][0]["answer"][0] for card in cards}
    numbers = check_numbers(campaign.pool.triples.take(tasks.task - 1)).tolist()
    assert [first[number].upper() for number in numbers] == [verdict[0].upper() for verdict in shown[0]]
    for hidden in ('"ann"', '"bob"', "secret-run"):
        assert hidden not in page


def test_candidates_of_one_question_stand_together_whatever_their_order():
    """Those of an expert's sample come in another one."""
    campaign = campaign_of()
    tasks = phrase_tasks(campaign, np.array([5, 0, 3, 1, 4, 2]), [("ivy",)] * 6, role="expert")
    data = data_of(tasks_file(campaign, tasks, person="ivy", role="expert"))
    questions = [[card["question"] for card in question["cards"]] for question in data["questions"]]
    asked = tasks.question.to_pylist()
    assert [sorted(one) for one in questions] == [
        sorted([asked[0], asked[2], asked[4]]),
        [asked[1]],
        sorted([asked[3], asked[5]]),
    ]


def test_what_somebody_said_before_comes_with_the_file():
    """With --all, to be corrected."""
    campaign = campaign_with_roles(EVENTS)
    page = tasks_file(campaign, tasks_for(campaign, "ann", everything=True), person="ann")
    before = [card["before"] for card in cards_of(page) if "before" in card]
    assert {"verdict": "Y", "source": WIKI, "note": "ann's note"} in before
    assert len(before) == 3
    assert "bob" not in page


def test_no_tasks_give_a_page_that_says_so():
    """Instead of one that thanks for them."""
    campaign = campaign_with_roles()
    tasks = phrase_tasks(campaign, np.zeros(0, np.intp), [])
    page = tasks_file(campaign, tasks, person="ann")
    assert data_of(page)["questions"] == []
    assert "There is nothing for you to judge yet" in page


HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--",
    "a\u2028b",
    "\u202eevil",
    "[[title]] {{ 7*7 }} {% x %}",
    "]]>&amp;",
)


def test_labels_are_data_whatever_they_hold():
    """They come back as they are; the page has no more tags than without them."""
    plain = campaign_of()
    names = dict(zip(ENTITIES, HOSTILE, strict=False))
    campaign = replace(plain, names=names, templates={"capital": "Is {tail} </template> of {head}?"})
    page = tasks_file(campaign, tasks_for(campaign, "ann"), person="ann", guidelines=HOSTILE[0])
    data = data_of(page)
    assert {tuple(one) for one in data["entities"]} >= set(names.items())
    harmless = tasks_file(plain, tasks_for(plain, "ann"), person="ann", guidelines="plain")
    for tag in ("<script", "</script", "<template", "</template", "<!--", "<style"):
        assert page.count(tag) == harmless.count(tag)
    assert "\u2028" not in page
    assert "&lt;/script&gt;" in page  # of the guidelines, in which HTML is text


@pytest.mark.slow
@given(st.lists(st.tuples(*[st.text(max_size=5)] * 3), min_size=1, max_size=6, unique=True))
def test_every_label_comes_back(rows: list[tuple[str, str, str]]):
    """As a download names it, which the campaign knows again."""
    from kgtrec.data.arrow import labels_of
    from kgtrec.data.triples import Triples

    try:
        triples = Triples.of(rows)
    except (ValueError, UnicodeEncodeError):
        return
    campaign = campaign_of()
    texts = [labels_of([row[place] for row in rows]) for place in range(3)]
    blank = labels_of([""] * len(rows))
    tasks = Tasks(
        np.arange(1, len(rows) + 1, dtype=np.int32),
        (("ann",),) * len(rows),
        blank,
        *texts,
        *[blank] * 6,
        question_number=np.zeros(len(rows), np.int32),
    )
    data = data_of(tasks_file(campaign, tasks, person="ann"))
    (asked,) = data["questions"]
    found = [
        (data["entities"][one["head"]][0], data["relations"][one["relation"]], data["entities"][one["tail"]][0])
        for one in asked["cards"]
    ]
    assert sorted(found) == sorted(rows)
    numbers = dict(zip(rows, check_numbers(triples).tolist(), strict=True))
    assert [card["number"] for card in asked["cards"]] == [numbers[row] for row in found]


def test_what_the_page_gives_is_taken_in(tmp_path: Path):
    """By the same check as all other files; again it adds nothing, and a change needs --correct."""
    folder = str(folder_of(campaign_with_roles(), tmp_path / "campaign"))
    out = tmp_path / "ann.html"
    main(["campaign", "export", folder, "--annotator", "ann", "--out", str(out)])
    back = downloaded(out.read_text(), tmp_path / "ann-5.jsonl")
    for n_stored in (5, 5):
        main(["campaign", "import", folder, str(back)])
        assert len(read_campaign(folder).judgements) == n_stored
    changed = downloaded(out.read_text(), tmp_path / "ann-6.jsonl", note="after all")
    with pytest.raises(SystemExit):
        main(["campaign", "import", folder, str(changed)])
    assert len(read_campaign(folder).judgements) == 5
    main(["campaign", "import", folder, str(changed), "--correct"])
    assert len(read_campaign(folder).judgements) == 10


def test_an_adjudicators_and_an_experts_file_are_taken_in(tmp_path: Path):
    """Each in their role."""
    folder = str(folder_of(campaign_with_roles(EVENTS), tmp_path / "campaign"))
    out = tmp_path / "eve.html"
    main(["campaign", "adjudicate", folder, "--person", "eve", "--out", str(out)])
    main(["campaign", "adjudicate", folder, "--import", str(downloaded(out.read_text(), tmp_path / "eve.jsonl"))])
    assert len(read_campaign(folder).judgements) == len(EVENTS) + 3
    out = tmp_path / "ivy.html"
    main(["campaign", "sample", folder, "--size", "2", "--expert", "ivy", "--out", str(out)])
    back = downloaded(out.read_text(), tmp_path / "ivy.jsonl")
    main(["campaign", "import", folder, str(back), "--role", "expert"])
    assert len(read_campaign(folder).judgements) == len(EVENTS) + 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["adjudicate", "--out", "x.html"], "expected --person PERSON: a page is for one", id="nobody"),
        pytest.param(["sample", "--out", "x.html"], "expected --expert PERSON: a page is for one", id="no-expert"),
        pytest.param(
            ["export", "--annotator", "ann", "--merge", "--out", "x.html"], "--merge is for files", id="merge"
        ),
        pytest.param(["export", "--annotator", "anna", "--out", "x.html"], "found nobody called 'anna'", id="unknown"),
    ],
)
def test_a_file_for_nobody_is_refused(tmp_path: Path, monkeypatch, capsys, words: list[str], message: str):
    """Before anything is written."""
    folder = str(folder_of(campaign_with_roles(EVENTS), tmp_path / "campaign"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["campaign", words[0], folder, *words[1:]])
    assert message in capsys.readouterr().err
    assert not Path("x.html").exists()


def test_a_file_of_somebody_elses_is_not_replaced(tmp_path: Path, capsys):
    """A page is replaced by another one with --force: the browser keeps what was said in it."""
    folder = str(folder_of(campaign_with_roles(), tmp_path / "campaign"))
    out = tmp_path / "ann.html"
    words = ["campaign", "export", folder, "--annotator", "ann", "--out", str(out)]
    main(words)
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "ann.html: exists; --force replaces it" in capsys.readouterr().err
    main([*words, "--force"])
    out.write_bytes(b"tail0 0 paris 1\n")
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--force"])
    assert "holds qrels, which nothing else replaces; choose another name" in capsys.readouterr().err


def test_without_its_packages_export_says_what_to_install(tmp_path: Path, monkeypatch, capsys):
    """In one line; other forms need none of them."""
    folder = str(folder_of(campaign_with_roles(), tmp_path / "campaign"))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "markdown_it" else found(name))
    with pytest.raises(SystemExit, match="2"):
        main(["campaign", "export", folder, "--annotator", "ann", "--out", str(tmp_path / "ann.html")])
    assert (
        capsys.readouterr().err
        == 'error: expected markdown-it-py for the page; pip install "kgtrec[serve]" (in a clone ".[serve]")\n'
    )
    main(["campaign", "export", folder, "--annotator", "ann", "--out", str(tmp_path / "ann.csv")])


@pytest.mark.parametrize(
    ("links", "needs_one"), [("required", ["N", "Y"]), ("asked", []), ("none", [])], ids=["required", "asked", "none"]
)
def test_a_file_asks_for_links_as_the_campaign_does(links: str, needs_one: list[str]):
    """By the rule of import, for the role."""
    campaign = campaign_with_roles()
    campaign = replace(campaign, settings=campaign.settings | {"links": {"annotator": links, "expert": "required"}})
    missing = data_of(tasks_file(campaign, tasks_for(campaign, "ann"), person="ann"))["missing"]
    assert sorted(verdict for verdict, wrong in missing.items() if wrong) == needs_one
    assert missing["unsure"] == ""


HOSTS = ["wikipedia.org", "bnf.fr"]
links = st.one_of(
    st.text(max_size=12).map("https://".__add__),
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["https", "HTTPS", "http", "javascript"]),
        st.sampled_from(["", "en.", "a.b-c.", "not", "user@"]),
        st.sampled_from([*HOSTS, "WIKIPEDIA.org", "example.org", "wikipedia.org:443", "wikipedia.org."]),
        st.text(max_size=6).map("/".__add__) | st.sampled_from(["", "?q=1", "#a", "/%20", "/a b"]),
    ),
)


@given(links, st.sampled_from([[], HOSTS]))
def test_a_file_refuses_no_link_that_import_takes(link: str, hosts: list[str]):
    """Each pattern matches whatever passes the check."""
    if not wrong_link(link, hosts):
        assert all(re.fullmatch(pattern, link, re.IGNORECASE) for pattern, _ in link_patterns(hosts))


@pytest.mark.parametrize(
    ("link", "nth"),
    [
        pytest.param("http://en.wikipedia.org/", 0, id="plain-http"),
        pytest.param("javascript:alert(1)", 0, id="script"),
        pytest.param("https://en.wikipedia.org/a b", 0, id="space"),
        pytest.param("https://notwikipedia.org/", 1, id="another-host"),
        pytest.param("https://example.org/?wikipedia.org", 1, id="host-in-the-query"),
    ],
)
def test_a_file_refuses_what_most_people_get_wrong(link: str, nth: int):
    """So that they see it while they judge."""
    patterns = [pattern for pattern, _ in link_patterns(HOSTS)]
    assert wrong_link(link, HOSTS)
    assert not re.fullmatch(patterns[nth], link, re.IGNORECASE)
