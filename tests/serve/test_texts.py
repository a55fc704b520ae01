"""Texts of others on the pages: isolated, with signs that turn the direction of reading shown; long notes folded."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from kgtrec.campaign.tasks import tasks_for, tasks_for_adjudicator
from kgtrec.cli import main
from kgtrec.formats.campaign.folder import read_campaign, write_names
from kgtrec.formats.output.folders import CAMPAIGN_FILES, PEOPLE, README, SERVE_FILES, TEMPLATES
from kgtrec.serve.tasks_file import tasks_file
from tests.serve.conftest import FRANCE, JUDGED, WIKI, Page

TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
PAGES = {
    "ann": (f"/question/{FRANCE}", "/question/verdicts"),
    "eve": (f"/conflict/{FRANCE}",),
    "max": ("/manage", "/manage/people", "/manage/verdicts", "/manage/templates", "/manage/template?relation=capital"),
}


def turned(make: Callable[..., Page], sign: str) -> Page:
    """A page whose names, notes and people hold a sign that turns the direction of reading."""
    made = make([(*event[:5], f"note{sign}end") for event in JUDGED])
    write_names(made.folder, {"fr": f"Fra{sign}nce", "paris": f"Pa{sign}ris"})
    with (made.folder / PEOPLE).open("a") as stream:
        stream.write(f"zoe{sign}x\tannotator\tno\n")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("sign", TURNS)
def test_signs_that_turn_the_direction_are_shown_and_not_obeyed(make: Callable[..., Page], sign: str):
    """Nowhere on a page but in fields that people edit; each is where it was, by its number."""
    made, token = turned(make, sign), f"[U+{ord(sign):04X}]"
    for person, paths in PAGES.items():
        for path in paths:
            text = made.browser(person).get(path).text
            shown = re.sub(r"(?s)<textarea.*?</textarea>|<title>.*?</title>|<[^>]*>", "", text)
            others = shown.replace("\u2068", "").replace("\u2069", "") if sign in "\u2068\u2069" else shown
            assert sign not in others, path
    assert f"Fra{token}nce" in made.browser("ann").get(f"/question/{FRANCE}").text
    assert f"<bdi>note{token}end</bdi>" in made.browser("eve").get(f"/conflict/{FRANCE}").text
    assert f"<bdi>note{token}end</bdi>" in made.browser("max").get("/manage/verdicts").text
    assert f"<bdi>zoe{token}x</bdi>" in made.browser("max").get("/manage/people").text


def test_a_name_of_another_direction_stands_where_the_sentence_has_it(make: Callable[..., Page]):
    """Isolated inside the question, so that two names cannot change places; other names are as they were."""
    made = make()
    write_names(made.folder, {"fr": "\u05e6\u05e8\u05e4\u05ea", "paris": "\u05e4\u05e8\u05d9\u05d6"})
    (made.folder / TEMPLATES).write_text("relation\ttemplate\n")
    text = made.browser("ann").get(f"/question/{FRANCE}").text
    first, second = "\u2068\u05e6\u05e8\u05e4\u05ea\u2069", "\u2068\u05e4\u05e8\u05d9\u05d6\u2069"
    assert f"On a fact sheet about {first}, is the line “capital: {second}” true?" in text
    assert "<bdi>\u05e4\u05e8\u05d9\u05d6</bdi>" in text


def test_a_file_of_tasks_isolates_the_same_texts(make: Callable[..., Page]):
    """Its script shows the signs; the labels that it gives back are those of the campaign."""
    made = turned(make, "\u202e")
    campaign = read_campaign(made.folder)
    nobody = replace(campaign, judgements=campaign.judgements.take(np.zeros(0, np.intp)))
    text = tasks_file(campaign, tasks_for(nobody, "ann"), person="ann")
    assert "<bdi>[[known_name]]</bdi>" in text
    assert "<bdi>[[entity_name]]</bdi>" in text
    assert "<bdi>[[note]]</bdi>" in text
    assert "Fra[U+202E]nce" in text
    assert "<bdi>[[side_note]]</bdi>" in tasks_file(
        campaign, tasks_for_adjudicator(campaign, "eve"), person="eve", role="adjudicator"
    )


@pytest.mark.parametrize(("note", "is_folded"), [("x" * 10_000, True), ("a\n" * 20, True), ("a note " * 20, False)])
def test_a_long_note_is_folded(make: Callable[..., Page], note: str, is_folded: bool):
    """Wherever it is shown; all of it is there."""
    made = make([(*event[:5], note) for event in JUDGED])
    paths = {"ann": "/question/verdicts", "eve": f"/conflict/{FRANCE}", "max": "/manage/verdicts"}
    for person, path in paths.items():
        text = made.browser(person).get(path).text
        assert ('<details class="note"><summary>' in text) == is_folded
        assert f"<bdi>{note}</bdi>" in text
        assert (f"({len(note):,} characters)</summary>" in text) == is_folded


def test_a_long_note_does_not_fill_what_is_said_of_a_conflict(page: Page):
    """Both are shown by their beginnings."""
    browser = page.browser("ann")
    browser.judge(verdict_4="N", source_4=WIKI, note_4="y" * 10_000)
    answer = browser.judge(verdict_4="Y", source_4=WIKI, note_4="x" * 10_000, before_4="0")
    told = re.search(r'(?s)<span class="bad" role="alert">(.*?)</span>', answer.text)
    assert told
    assert 400 < len(told[1]) < 1_000


def test_a_campaign_has_a_readme_that_names_every_file(make: Callable[..., Page], capsys: pytest.CaptureFixture[str]):
    """What each is and which may be edited; one that somebody has written stays."""
    folder = make(JUDGED).folder
    main(["campaign", "init", str(folder)])
    assert "wrote README.md" in capsys.readouterr().err
    text = (folder / README).read_text()
    named = set(re.findall("`([a-z_]*\\.[a-z]+(?:\\.torn)?)`", text))
    unnamed = {README, "sent_back.jsonl.torn", "serve.sqlite-wal", "serve.sqlite-shm"}
    assert named == {*CAMPAIGN_FILES, *SERVE_FILES} - unnamed
    may, must_not = text.split("## Must not be edited")
    assert "`templates.tsv`" in may
    assert "`judgements.jsonl`" in must_not
    (folder / README).write_text("mine\n")
    main(["campaign", "init", str(folder), "--annotator", "zoe"])
    assert (folder / README).read_text() == "mine\n"
