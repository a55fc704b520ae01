"""Triples as questions, and what an annotator is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.tasks import phrase, phrase_tasks, phrase_triples, relations_without_template, tasks_for
from kgtrec.campaign.wording import draft_template, readable
from kgtrec.data.campaign import Automatic, template_parts
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from tests.campaigns_by_hand import campaign_of

labels = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
plain = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="{}\x85"), max_size=6)


def test_questions_of_a_campaign():
    """Names where there are any, else labels; braces in a name stay; general words without a template."""
    campaign = campaign_of()
    assert phrase(campaign, np.array([0, 5, 2, 4])) == [
        "On a fact sheet about Paris, is the line “@near: Germany {tail}” true?",
        "Is Paris the capital of France?",
        "Is berlin the capital of Germany {tail}?",
        "Is =lyon the capital of France?",
    ]
    assert phrase(campaign, np.zeros(0, np.intp)) == []


def test_what_to_look_up_is_in_words():
    """Anchor and relation as a triple orders them, whichever end is asked for; no path of a KG."""
    entities, relations = Vocabulary.of(["fr", "paris"]), Vocabulary.of(["/location/country/capital"])
    zero = np.zeros(2, np.int32)
    asked = Questions(
        Vocabulary.of(["head0", "tail0"]),
        np.array([True, False]),
        zero,
        np.array([1, 0], np.int32),
        entities,
        relations,
    )
    triples = Triples(zero, zero, np.array([0, 1], np.int32), entities, relations)
    one = np.arange(2, dtype=np.int32)
    for question, expected in ((0, "capital Paris"), (1, "France capital")):
        pool = Pool.of(triples.take(one[1:]), zero[:1], zero[:1] + question, zero[:1], zero[:1] + 1, ["run"], asked)
        campaign = replace(campaign_of(), pool=pool, automatic=Automatic.none(1))
        assert phrase_tasks(campaign, np.array([0])).search.to_pylist() == [expected]


def test_the_first_tasks():
    """Of those that are open, in the order of the annotator; the others follow when these are done."""
    events = [(row, "ann", "annotator", "Y") for row in (0, 2)]
    campaign = campaign_of(events)
    assert tasks_for(campaign, "ann", first=3).task.tolist() == [2, 4, 5]
    assert tasks_for(campaign, "ann", first=3, everything=True).task.tolist() == [1, 2, 3]
    assert tasks_for(campaign, first=100).task.tolist() == tasks_for(campaign).task.tolist()
    assert len(tasks_for(campaign, first=2)) == 2
    with pytest.raises(KgtrecError, match="expected at least 1 task to export, got 0"):
        tasks_for(campaign, "ann", first=0)


def test_relations_without_template():
    """With the number of triples that people are asked about in general words; a draft is no template of its own."""
    assert relations_without_template(campaign_of()) == {"@near": 1}
    assert relations_without_template(campaign_of(templates={})) == {"capital": 5, "@near": 1}
    drafts = {"capital": draft_template("capital"), "@near": "Is {head} near {tail}?"}
    assert relations_without_template(campaign_of(templates=drafts)) == {"capital": 5}
    campaign = campaign_of(templates={})
    automatic = Automatic(np.array([0, -1, -1, -1, -1, -1], np.int8), ("types",))
    assert relations_without_template(replace(campaign, automatic=automatic)) == {"capital": 5}


@given(
    rows=st.lists(st.tuples(labels, st.sampled_from(["r", "s", "{head}"]), labels), min_size=1, max_size=8),
    pieces=st.tuples(plain, plain, plain),
)
def test_a_template_is_filled_in_once(rows, pieces):
    """Whatever braces the labels hold: the question is the template's text with both labels' words between."""
    template = f"{pieces[0]}{{tail}}{pieces[1]}{{head}}{pieces[2]}"
    found = phrase_triples(Triples.of(rows), {"r": template}, {}).to_pylist()
    expected = [
        f"{pieces[0]}{tail}{pieces[1]}{head}{pieces[2]}"
        if relation == "r"
        else f"On a fact sheet about {head}, is the line “{readable(relation)}: {tail}” true?"
        for head, relation, tail in (
            (readable(head, is_entity=True), relation, readable(tail, is_entity=True)) for head, relation, tail in rows
        )
    ]
    assert found == expected


@given(plain, plain)
def test_the_parts_of_a_template_make_it_up(first, last):
    """Joined they give it back."""
    template = f"{first}{{head}}{{tail}}{{head}}{last}"
    assert "".join(template_parts(template)) == template


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("Is {head} in?", "found no {tail} in"),
        ("", "found no {head} and no {tail} in"),
        ("Is {head} in {tail} {0}?", "found '{0}' in"),
        ("{head}{tail}{head.__class__.__mro__}", "found '{head.__class__.__mro__}' in"),
        ("{head!r}{tail}{head}", "found '{head!r}' in"),
        ("{head:>9999999}{head}{tail}", "found '{head:>9999999}' in"),
        ("{{head}} {tail}", "found '{' in"),
        ("{head} {tail} }", "found '}' in"),
        ("{head}\n{tail}", r"one line of text, found '\n' in"),
        ("{HEAD} {head} {tail}", "found '{HEAD}' in"),
    ],
)
def test_what_is_no_template_is_refused(template, found):
    """Nothing but the two slots may stand in braces."""
    with pytest.raises(KgtrecError) as caught:
        template_parts(template)
    assert found in str(caught.value)


def test_a_wrong_template_names_its_relation():
    """Where one gets as far as the phrasing."""
    with pytest.raises(KgtrecError, match="relation 'capital': expected a template with"):
        phrase(campaign_of(templates={"capital": "?"}), np.array([1]))


def test_an_annotator_gets_what_is_not_judged():
    """In the order assigned; what another one said, or one said as an adjudicator, changes nothing and is not shown."""
    events = [
        (5, "ann", "annotator", "Y", "https://en.wikipedia.org/a", "mine"),
        (4, "bob", "annotator", "N", "https://en.wikipedia.org/secret", "not for ann"),
        (3, "ann", "adjudicator", "N", "https://en.wikipedia.org/b", "as another"),
    ]
    campaign = campaign_of(events)
    assert tasks_for(campaign, "ann").task.tolist() == [1, 2, 3, 4, 5]
    assert tasks_for(campaign, "bob").task.tolist() == [6, 4, 3, 2, 1]
    everything = tasks_for(campaign, "ann", everything=True)
    assert everything.task.tolist() == [1, 2, 3, 4, 5, 6]
    assert everything.verdict.to_pylist() == ["", "", "", "", "", "Y"]
    assert everything.note.to_pylist() == ["", "", "", "", "", "mine"]


def test_the_last_verdict_counts():
    """After a correction, --all shows what was said last."""
    events = [(0, "ann", "annotator", "Y", "https://a.b/1", ""), (0, "ann", "annotator", "unsure", "", "after all")]
    shown = tasks_for(campaign_of(events), "ann", everything=True)
    assert (shown.verdict[0].as_py(), shown.source[0].as_py(), shown.note[0].as_py()) == ("unsure", "", "after all")


def test_everybodys_tasks_hold_each_triple_once():
    """With all who are assigned it; one that all have judged is left out unless asked for."""
    events = [
        (0, "ann", "annotator", "Y", "https://a.b/1", ""),
        (0, "bob", "annotator", "N", "https://a.b/1", ""),
        (1, "bob", "annotator", "N", "https://a.b/1", ""),
    ]
    tasks = tasks_for(campaign_of(events))
    assert sorted(tasks.task.tolist()) == [2, 3, 4, 5, 6]
    assert set(tasks.annotators) == {("ann", "bob")}
    everything = tasks_for(campaign_of(events), everything=True)
    assert sorted(everything.task.tolist()) == [1, 2, 3, 4, 5, 6]
    assert everything.verdict.to_pylist() == [""] * 6


def test_one_search_serves_the_candidates_of_a_question():
    """The anchor's name and the relation."""
    tasks = tasks_for(campaign_of(), "ann")
    assert tasks.search.to_pylist() == ["Paris @near"] + ["Germany {tail} capital"] * 2 + ["France capital"] * 3


def test_an_unknown_annotator_is_named():
    """With the nearest there is."""
    with pytest.raises(KgtrecError, match=r"found nobody called 'anne'; did you mean ann\?"):
        tasks_for(campaign_of(), "anne")
