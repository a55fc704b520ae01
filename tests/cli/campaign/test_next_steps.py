"""How far a campaign is, and how much work it makes, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtrec.campaign import read_campaign
from kgtrec.campaign.track import track
from kgtrec.cli.campaign.import_kgc_sparsity import findings_text
from kgtrec.cli.campaign.next_steps import much_text, next_text, work_text
from tests.campaign.test_plan import campaign_in
from tests.campaign_folders import people_of


@pytest.mark.parametrize(
    ("triples", "per_triple", "expected"),
    [
        (58918, 2, "58,918 triples for people to judge, 117,836 verdicts with two annotators each"),
        (1, 1, "1 triple for people to judge, 1 verdict with one annotator each"),
        (10, 5, "10 triples for people to judge, 50 verdicts with 5 annotators each"),
    ],
)
def test_the_work_is_told(triples, per_triple, expected):
    """In triples and in verdicts."""
    assert work_text(triples, per_triple) == expected


def test_a_pool_that_nobody_can_judge_is_told_of():
    """With the two ways to a smaller one; from 20,000 triples on."""
    assert much_text(20_000) == ""
    told = much_text(20_001)
    assert "--budget" in told
    assert "--known" in told


def test_findings_are_told_by_kind():
    """How many, and the first three of each."""
    found = [("padded", f"a.txt:{line}: blanks") for line in range(1, 6)]
    text = findings_text({"seeds": 7}, [*found, ("empty", "b.txt:1: no label")], "all.txt")
    assert text == (
        "5 findings: padded\n  a.txt:1: blanks\n  a.txt:2: blanks\n  a.txt:3: blanks\n  ... and 2 more in all.txt\n"
        "1 finding: empty\n  b.txt:1: no label\n\nseeds  7\n"
    )


@pytest.mark.parametrize("annotators", [[], ["ann"]])
def test_one_verdict_per_triple_is_offered_before_two_annotators_are_named(tmp_path, annotators):
    """The way to it, while there are too few of them for two."""
    campaign = read_campaign(campaign_in(tmp_path / "C", 0.3))
    people = people_of(*((name, "annotator", True) for name in annotators))
    text = next_text(track(replace(campaign, people=people)), "C")
    assert text.startswith("next: kgtrec campaign init C --annotator NAME")
    assert "kgtrec campaign assign C --per-triple " in text
