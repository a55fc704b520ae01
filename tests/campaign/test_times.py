"""A campaign about facts with a time: one template for a relation, the time in each question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kgtrec.campaign.tasks import phrase, relations_without_template, search_text
from kgtrec.campaign.track import track
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.campaign.folder import read_templates
from kgtrec.serve.manager import _relations, _some_triples
from kgtrec.serve.views import phrased, titles
from tests.campaigns_by_hand import campaign_of
from tests.program import kgtrec


def with_times():
    """The campaign by hand, whose capitals are of 1990 and 2000."""
    campaign = campaign_of(templates={"capital": "Was {tail} the capital of {head} in {time}?"})
    relations = Vocabulary.of(["@near", "capital @ 1990", "capital @ 2000"])
    questions = replace(campaign.pool.questions, relation=np.array([1, 2, 0], np.int32), relations=relations)
    triples = replace(campaign.pool.triples, relation=np.array([0, 2, 2, 1, 1, 1], np.int32), relations=relations)
    return replace(campaign, pool=replace(campaign.pool, questions=questions, triples=triples))


def test_people_are_asked_about_the_time():
    """On the page, in the titles of questions, and in files of tasks."""
    campaign = with_times()
    rows = np.array([2, 5])
    expected = ["Was berlin the capital of Germany {tail} in 2000?", "Was Paris the capital of France in 1990?"]
    assert phrase(campaign, rows) == expected
    assert [
        text.replace("\u2068", "").replace("\u2069", "") for text in phrased(campaign, campaign.pool.triples.take(rows))
    ] == expected
    assert "the capital of France in 1990?" in titles(campaign, np.array([0]))[0]


def test_a_search_has_the_time_as_a_word():
    """Without the sign that separates it from the relation."""
    asked = with_times().pool.questions
    texts = search_text(asked, np.arange(len(asked)), {}).to_pylist()
    assert any("capital 2000" in text for text in texts)
    assert not any("@ " in text.replace("@near", "") for text in texts)


def test_progress_and_templates_are_of_the_relation_at_all_times():
    """One line each for two relations, of which one has no template."""
    campaign = with_times()
    assert track(campaign).relations["relation"].to_pylist() == ["all", "@near", "capital"]
    assert relations_without_template(campaign) == {"@near": 1}
    assert [(row["relation"], row["triples"]) for row in _relations(campaign)] == [("@near", 1), ("capital", 5)]
    assert {campaign.pool.triples.relations[code] for code in _some_triples(campaign, "capital").relation} == {
        "capital @ 1990",
        "capital @ 2000",
    }


def test_templates_of_complex_queries_are_of_the_relations_in_them():
    """Each relation once for a query, with the triples of all its queries; progress is by structure."""
    campaign, two = with_times(), '2p @ ["ann", ["capital", "@near"]]'
    relations = Vocabulary.of(["@near", two, '2i @ [["ann", ["@near"]], ["bob", ["-@near"]]]'])
    pool = campaign.pool
    pool = replace(
        pool, questions=replace(pool.questions, relations=relations), triples=replace(pool.triples, relations=relations)
    )
    campaign = replace(campaign, pool=pool)
    assert relations_without_template(campaign) == {"@near": 6}
    assert track(campaign).without_template == ("@near",)
    assert track(campaign).relations["relation"].to_pylist() == ["all", "2i", "2p", "@near"]
    assert [(row["relation"], row["triples"]) for row in _relations(campaign)] == [("@near", 6), ("capital", 3)]
    assert {relations[code] for code in _some_triples(campaign, "capital").relation} == {two}
    own = replace(campaign, templates={two: "{head}: {tail}?"})
    assert relations_without_template(own) == {"@near": 3}


def test_init_drafts_one_template_for_a_relation_at_all_times(tmp_path):
    """Of two questions at two times."""
    for name, rows in (("train", "ann\tin\trome\t1\n"), ("test", "ann\tin\toslo\t2\nann\tin\trome\t3\n")):
        (tmp_path / f"{name}.txt").write_text(rows)
    kgtrec("questions", tmp_path, "--out", tmp_path / "C")
    kgtrec("rank", tmp_path / "C", "--baseline", "recent", "--out", tmp_path / "r")
    kgtrec("pool", tmp_path / "C", tmp_path / "r" / "recent.run.gz", "--depth", 2, "--out", tmp_path / "P")
    kgtrec("campaign", "init", tmp_path / "P")
    assert read_templates(tmp_path / "P" / "templates.tsv") == {
        "in": "On a fact sheet about {head}, is the line “in: {tail}” true?"
    }
