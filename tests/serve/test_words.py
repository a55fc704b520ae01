"""What a page says and asks by the campaign's own rules: links, readable names, descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pytest
from markupsafe import escape

from kgtrec.campaign.tasks import tasks_for
from kgtrec.cli import main
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.pools import read_settings, write_settings
from kgtrec.formats.output.folders import SOURCES
from kgtrec.serve.tasks_file import tasks_file
from tests.campaign_folders import folder_of
from tests.serve.conftest import FRANCE, WIKI, Browser, Page, campaign_with_roles


def with_rule(page: Page, rule: str) -> str:
    """The page of a question of ann's under a rule for links."""
    write_settings(page.folder, read_settings(page.folder) | {"links": {"annotator": rule}})
    found: str = page.browser("ann").get(f"/question/{FRANCE}").text
    return found


def file_of(folder: Path) -> str:
    campaign = read_campaign(folder)
    return tasks_file(campaign, tasks_for(campaign, "ann"), person="ann", role="annotator", guidelines="Judge.")


@pytest.mark.parametrize(
    ("rule", "asks", "status"),
    [("required", "Link that shows it, for every", 422), ("asked", "Link that shows it, if you have one, for", 200)],
    ids=["required", "asked"],
)
def test_a_page_asks_for_links_as_the_campaign_does(page: Page, rule: str, asks: str, status: int):
    """It says whether one may be left out, and takes what the rule takes."""
    shown = with_rule(page, rule)
    assert asks in shown
    assert shown.count("if you have one") == (0 if rule == "required" else 4)
    assert asks in file_of(page.folder)
    assert page.browser("ann").judge(only=4, json=True, verdict_4="N").status_code == status
    assert page.browser("ann").judge(only=5, json=True, verdict_5="N", source_5=WIKI).status_code == 200


def test_where_no_links_are_asked_for_there_is_no_place_for_one(page: Page):
    """Neither on the page nor among its keys; what was stored with a link keeps it."""
    page.browser("ann").judge(only=4, json=True, verdict_4="N", source_4=WIKI)
    shown = with_rule(page, "none")
    assert "<dt>/</dt>" not in shown
    assert re.findall("<label[^>]*>[^<]*[Ll]ink", shown) == []
    assert re.findall('<input[^>]*name="source[^>]*>', shown) == [
        f'<input type="hidden" name="source-4" value="{WIKI}">'
    ]
    assert '<input id="source"' not in file_of(page.folder)
    browser = page.browser("ann")
    assert browser.judge(verdict_4="N", verdict_5="Y", verdict_6="unsure").status_code == 303
    assert [(event[0], event[3], event[4]) for event in page.events()] == [(3, 0, WIKI), (4, 1, ""), (5, 2, "")]


def test_a_label_is_shown_in_words_and_small_beside_them(make: Callable[..., Page]):
    """A candidate's is in its details; a label that is readable as it is stands alone."""
    page = make()
    (page.folder / "names.tsv").write_text("entity\tname\nfr\tFrance\nparis\tLutetia\n")
    shown = page.browser("ann").get(f"/question/{FRANCE}").text
    assert re.findall('<p class="label"><bdi>(.*?)</bdi></p>', shown) == ["fr", "paris"]
    assert re.search(
        "(?s)<h2><bdi>Lutetia</bdi></h2>((?!</section>).)*<details>((?!</details>).)*<bdi>paris</bdi>", shown
    )
    assert "<bdi>berlin</bdi></li>" in shown


def test_each_candidate_has_a_search_with_its_name(page: Page, ann: Browser):
    """In the first source, for question and candidate together; the name of the link says so."""
    (page.folder / SOURCES).write_text("wikipedia.org\nbnf.fr\n")
    shown = ann.get(f"/question/{FRANCE}").text
    found = re.findall('<a class="find" href="([^"]*)"[^>]*>(.*?)</a>', shown)
    assert {(url, re.sub("<[^>]*>", "", name)) for url, name in found} == {
        (
            f"https://en.wikipedia.org/w/index.php?search=France+capital+{quote_plus(name)}",
            f"Search wikipedia.org for {escape(name)}, in a new tab",
        )
        for name in ("Paris", "=lyon", "<script>alert(1)</script>")
    }


def described(folder: Path, text: str) -> Path:
    path = folder / "texts.tsv"
    path.write_text(text)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(campaign_with_roles(), tmp_path / "campaign")


def test_descriptions_stand_at_the_question_and_its_candidates(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """From the file of a whole graph, as text; the same in a file of tasks; edited ones are seen at the next page."""
    texts = described(tmp_path, "entity\tdescription\nparis\tcity <b>in</b> France\nQ1\tthe universe\n")
    (folder / "guidelines.md").write_text("Judge.\n")
    main(["campaign", "init", str(folder), "--descriptions", str(texts)])
    assert f"{texts}: descriptions of 1 of the pool's 7 entities" in capsys.readouterr().err
    assert (folder / "descriptions.tsv").read_text() == "entity\tdescription\nparis\tcity <b>in</b> France\n"
    main(["check", str(folder)])
    assert "descriptions.tsv: ok, descriptions: 1 description of the pool's entities" in capsys.readouterr().out
    page = Page(folder, app_of(folder))
    browser = page.browser("ann")
    about = '<p class="about"><bdi>city &lt;b&gt;in&lt;/b&gt; France</bdi></p>'
    assert browser.get(f"/question/{FRANCE}").text.count(about) == 1
    assert "city \\u003cb\\u003ein" in file_of(folder)
    (folder / "descriptions.tsv").write_text("entity\tdescription\nfr\ta country\n")
    assert browser.get(f"/question/{FRANCE}").text.count('<p class="note"><bdi>France: a country</bdi></p>') == 1


def app_of(folder: Path) -> Any:
    from tests.serve import conftest

    return conftest.app_of(folder)


def test_without_descriptions_nothing_is_read_or_shown(page: Page):
    """As in campaigns that were made before there were any."""
    assert not (page.folder / "descriptions.tsv").exists()
    assert read_campaign(page.folder).descriptions == {}
    assert 'class="about"' not in page.browser("ann").get(f"/question/{FRANCE}").text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paris\n", "texts.tsv:1: expected 2 columns (entity description) separated by tabs, got 1"),
        ("paris\ta\nparis\tb\n", "texts.tsv:2: expected each entity once, found 'paris' here and on line 1"),
    ],
    ids=["columns", "twice"],
)
def test_a_wrong_description_is_named(folder: Path, tmp_path: Path, text: str, message: str, capsys):
    """And nothing is written."""
    with pytest.raises(SystemExit):
        main(["campaign", "init", str(folder), "--descriptions", str(described(tmp_path, text))])
    assert message in capsys.readouterr().err
    assert not (folder / "descriptions.tsv").exists()


def test_a_table_of_the_guidelines_scrolls_in_a_region(page: Page):
    """Which the keyboard reaches, so that no word in it has to be broken."""
    (page.folder / "guidelines.md").write_text("| verdict |\n| --- |\n| Yes |\n")
    shown = page.browser("ann").get("/guidelines").text
    assert '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>' in shown
    assert "</table></div>" in shown


def test_the_script_of_the_page_stays_small():
    """At most 470 lines without a build step, which people can read before they trust it."""
    script = files("kgtrec.serve").joinpath("static", "judge.js").read_text(encoding="utf-8")
    assert len(script.splitlines()) <= 470
