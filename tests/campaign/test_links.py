"""Whether Y and N need a link: a campaign's choice, for each role."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign import OpenCampaign
from kgtrec.campaign.accept import RefusedError, accept
from kgtrec.campaign.check import check_judgements
from kgtrec.cli import main
from kgtrec.data.campaign import LINKS
from kgtrec.data.judgements import ROLES, VERDICTS, Incoming
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import default_guidelines, read_campaign
from kgtrec.formats.campaign.pools import write_pool
from tests.campaign_folders import folder_of, people_of, pool_folder, said
from tests.campaigns_by_hand import campaign_of

NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
PEOPLE = people_of(*((role, role, True) for role in ROLES), ("bob", "annotator", True))
CONFLICT = [(1, "annotator", "annotator", "Y", WIKI, ""), (1, "bob", "annotator", "N", WIKI, "")]
_TASK = {"annotator": 1, "adjudicator": 2, "expert": 1}


def campaign(links, events=()):
    made = replace(campaign_of(events), people=PEOPLE)
    return replace(made, settings=dict(made.settings) | ({} if links is None else {"links": links}))


@given(
    st.none() | st.dictionaries(st.sampled_from(ROLES), st.sampled_from(LINKS)),
    st.sampled_from(ROLES),
    st.sampled_from(VERDICTS),
    st.sampled_from(["", WIKI, "http://example.org"]),
)
def test_only_where_a_link_is_required_its_absence_is_wrong(links, role, verdict, source):
    """By role, Y and N alone; a link that is there must be right whatever the rule is."""
    row = Incoming("a.csv:2", role, verdict, _TASK[role], source=source, role=role)
    needed = (links or {}).get(role, "required") == "required" and verdict != "unsure"
    if source.startswith("http:"):
        message = "expected a link that begins with https://"
    elif not source and needed:
        message = f"expected a link to the source of a {verdict}, found none"
    else:
        assert len(accept(campaign(links, CONFLICT), [row], time=NOW, unassigned=True)) == 1
        return
    with pytest.raises(RefusedError, match=message):
        accept(campaign(links, CONFLICT), [row], time=NOW)


def test_what_is_recorded_is_held_against_the_rule_that_can_have_held(tmp_path: Path):
    """Without a link: a finding where one was always required, a note where it was not, nothing where it is not now."""
    events = [(0, "annotator", "annotator", "Y", "", ""), (1, "annotator", "annotator", "unsure", "", "")]
    found = check_judgements(campaign(None, events), "j")
    assert [str(one) for one in found.wrong] == ["j:1: expected a link to the source of a Y, found none"]
    assert found.notes == ()
    tightened = check_judgements(campaign({"annotator": "required"}, events), "j")
    assert tightened.wrong == ()
    assert tightened.notes == ("1 verdicts Y and N have no link, and were recorded when none was required",)
    for rule in ("asked", "none"):
        loose = check_judgements(campaign({"annotator": rule}, events), "j")
        assert (loose.wrong, loose.notes) == ((), ())
    other = check_judgements(campaign({"expert": "none"}, events), "j")
    assert len(other.wrong) == 1


def test_init_sets_the_rule_of_a_role_or_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It is in force at once, also for a program that holds the campaign open; the other roles keep theirs."""
    folder = pool_folder(tmp_path / "campaign")
    main(["campaign", "init", str(folder), "--annotator", "ann", "--annotator", "bob", "--links", "asked"])
    assert "annotator: Y and N may have a link\n" in capsys.readouterr().err
    assert "please give a link to a page that shows it, if you have one" in (folder / "guidelines.md").read_text()
    opened = OpenCampaign(folder)
    assert opened.campaign.links("adjudicator") == "asked"
    assert len(opened.store([Incoming("page", "ann", "N", 1)], time=NOW)) == 1
    main(["campaign", "init", str(folder), "--links", "none", "--links", "annotator=required"])
    told = capsys.readouterr().err
    assert "annotator: Y and N need a link\n" in told
    assert "guidelines.md says which verdicts need a link; edit it if that has changed" in told
    with pytest.raises(RefusedError, match="expected a link to the source of a N, found none"):
        opened.store([Incoming("page", "ann", "N", 2)], time=NOW)
    settings = json.loads((folder / "campaign.json").read_text())
    assert settings["links"] == {"annotator": "required", "adjudicator": "none", "expert": "none"}
    before = (folder / "campaign.json").read_bytes()
    main(["campaign", "init", str(folder), "--links", "annotator=required"])
    assert (folder / "campaign.json").read_bytes() == before
    assert said(read_campaign(folder).judgements)[0][3:5] == (0, "")


def test_the_default_is_not_written_down(tmp_path: Path):
    """So that "required" in the settings tells that it was not always."""
    folder = pool_folder(tmp_path / "campaign")
    before = (folder / "campaign.json").read_bytes()
    main(["campaign", "init", str(folder), "--annotator", "ann", "--annotator", "bob", "--links", "required"])
    assert (folder / "campaign.json").read_bytes() == before
    assert "Yes and No need a link" in (folder / "guidelines.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--links", "yes"], "expected a rule for --links among required, asked, none, found 'yes'"),
        (["--links", "manager=asked"], "a role for --links among annotator, adjudicator, expert, found 'manager'"),
        (["--links", "expert=asked", "--links", "expert=none"], "--links: expected one rule for expert, found"),
        (["--sources", "asked"], "found 'asked'; whether Y and N need a link is --links asked"),
    ],
)
def test_a_rule_that_is_none_is_refused(options, message, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Before anything is written."""
    folder = pool_folder(tmp_path / "campaign")
    with pytest.raises(SystemExit) as left:
        main(["campaign", "init", str(folder), "--annotator", "ann", *options])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
    assert not (folder / "people.tsv").exists()


@pytest.mark.parametrize("links", ["asked", {"annotator": "maybe"}, {"manager": "asked"}, {"annotator": ["asked"]}])
def test_settings_with_a_wrong_rule_are_refused(links, tmp_path: Path):
    """As a whole, and by what reads a part of a campaign for one verdict."""
    folder = folder_of(campaign(None), tmp_path / "campaign")
    settings = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps(settings | {"links": links}))
    with pytest.raises(FormatError, match=r"campaign\.json: .*links"):
        read_campaign(folder)
    row = Incoming("page", "annotator", "N", None, "de", "capital", "berlin", source=WIKI)
    with pytest.raises(FormatError, match=r"campaign\.json: .*links"):
        OpenCampaign(folder).store([row], time=NOW)


def test_the_rule_is_kept_when_the_pool_is_replaced(tmp_path: Path):
    """People chose it, whatever is judged."""
    folder = pool_folder(tmp_path / "campaign")
    main(["campaign", "init", str(folder), "--annotator", "ann", "--annotator", "bob", "--links", "asked"])
    made = campaign_of()
    write_pool(folder, made.pool, made.known_answers, force=True)
    assert read_campaign(folder).links("annotator") == "asked"
    assert np.array_equal(read_campaign(folder).pool.triples.head, made.pool.triples.head)


@pytest.mark.parametrize("links", LINKS)
def test_the_default_guidelines_tell_the_rule(links: str):
    needed = "Yes and No need a link" in default_guidelines(links)
    assert needed == (links == "required")
    assert "begins with `https://`" in default_guidelines(links)
