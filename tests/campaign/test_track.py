from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.assign import assign
from kgtrec.campaign.decide import decide
from kgtrec.campaign.track import track
from kgtrec.campaign.wording import draft_template
from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, STATES, VERDICTS
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from tests.judged_pools import judgements_of, pool_of

EVENTS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from(["ann", "bob", "eve", "gone"]),
        st.sampled_from(["annotator", "adjudicator", "expert"]),
        st.sampled_from(VERDICTS),
    ),
    max_size=20,
)


def campaign_of(events: list[tuple[int, str, str, str]], *, people: bool = True, assigned: bool = True) -> Campaign:
    """Five triples of three relations, the last one automatic; ann and bob judge, cleo has left, eve adjudicates."""
    pool = pool_of((2, 1, 2), (0, 1, 2))
    none = np.zeros(0, np.int32)
    names = Vocabulary.of(["ann", "bob", "cleo", "eve"] if people else [])
    role = np.array([ANNOTATOR, ANNOTATOR, ANNOTATOR, ADJUDICATOR][: len(names)], np.int8)
    whoever = People(
        names, np.arange(len(names), dtype=np.int32), role, np.array([True, True, False, True][: len(names)], np.bool_)
    )
    automatic = Automatic(np.array([-1, -1, -1, -1, 0], np.int8), ("types",))
    nothing = Assignments(none, none, names)
    judgements = judgements_of(events)
    tasks = assign(pool, automatic, whoever, judgements_of([]), nothing) if assigned and people else nothing
    known_answers = Qrels(none, none, none, pool.questions.ids, pool.questions.entities)
    return Campaign(pool, known_answers, automatic, whoever, tasks, judgements)


def counts_of(table: pa.Table) -> list[list[int]]:
    """Of each row: triples by state, and those settled as Y and as N."""
    return [[row.get(name, 0) for name in (*STATES, "Y", "N")] for row in table.to_pylist()]


@given(EVENTS)
def test_counts_add_up(events: list[tuple[int, str, str, str]]):
    """Over relations to what decide says, over annotators to the last verdicts of each."""
    campaign = campaign_of(events)
    decisions = decide(campaign.pool, campaign.automatic, campaign.judgements)
    progress = track(campaign)
    assert progress.relations["relation"].to_pylist() == ["all", "r0", "r1", "r2"]
    assert progress.relations["triples"].to_pylist() == [5, 2, 1, 2]
    total, *by_relation = counts_of(progress.relations)
    assert total == [sum(counts) for counts in zip(*by_relation, strict=True)]
    assert total[: len(STATES)] == np.bincount(decisions.state, minlength=len(STATES)).tolist()
    assert total[len(STATES) :] == [int((decisions.verdict == verdict).sum()) for verdict in (1, 0)]
    said = {(name, triple): verdict for triple, name, role, verdict in events if role == "annotator"}
    for row in progress.annotators.to_pylist():
        name = row["annotator"]
        mine = [verdict for (who, _), verdict in said.items() if who == name]
        assert row["judged"] == len(mine)
        shares = [mine.count(verdict) / (len(mine) or np.nan) for verdict in VERDICTS]
        assert [row[verdict] for verdict in VERDICTS] == pytest.approx(shares, nan_ok=True)
        asked = 4 if name in ("ann", "bob") else 0
        assert row["assigned"] == asked
        assert row["to_do"] == sum((name, triple) not in said for triple in range(4)) * bool(asked)
    assert set(progress.to_do) == {"ann", "bob", "cleo"} | {who for who, _ in said}


def test_what_comes_next():
    """People, tasks, verdicts, an adjudicator, qrels: the first that is lacking."""
    agreed = [(triple, name, "annotator", "N") for triple in range(4) for name in ("ann", "bob")]
    assert track(campaign_of([], people=False)).step == "init"
    assert track(campaign_of([], assigned=False)).step == "assign"
    assert track(campaign_of([])).step == "judge"
    assert track(campaign_of(agreed[:-1])).step == "judge"
    assert track(campaign_of(agreed)).step == "qrels"
    assert track(campaign_of([*agreed[:-1], (3, "bob", "annotator", "Y")])).step == "adjudicate"
    settled = [*agreed[:-1], (3, "bob", "annotator", "unsure"), (3, "eve", "adjudicator", "unsure")]
    assert track(campaign_of(settled)).step == "qrels"
    # somebody leaves before all is judged: what they had is open to others, and one is too few
    campaign = campaign_of(agreed[:-1])
    active = campaign.people.is_active & (campaign.people.person != 1)
    assert track(replace(campaign, people=replace(campaign.people, is_active=active))).step == "people"
    assert track(replace(campaign, settings={"annotators_per_triple": 3})).step == "people"


def test_a_draft_is_no_template_of_its_own():
    """r0 has a sentence, r1 the draft, r2 nothing."""
    templates = {"r0": "Is {head} in {tail}?", "r1": draft_template("r1")}
    assert track(replace(campaign_of([]), templates=templates)).without_template == ("r1", "r2")


@given(EVENTS)
def test_each_triple_counts_for_the_side_that_its_question_asks_for(events: list[tuple[int, str, str, str]]):
    """The counts by side add up to those by relation; the table says the same."""
    progress = track(campaign_of(events))
    total, *by_side = counts_of(progress.sides)
    assert total == counts_of(progress.relations)[0] == [sum(counts) for counts in zip(*by_side, strict=True)]
    table = {table.key: table for table in progress.tables()}["sides"].data.to_pydict()
    assert table["side"] == ["all", "head", "tail"]
    assert table["triples"] == [5, *(sum(counts[: len(STATES)]) for counts in by_side)]
    assert progress.waiting == sum(total[3:5])


def test_triples_by_the_side_of_their_question():
    """Of two questions the first asks for a tail, and the second for a head."""
    campaign = campaign_of([])
    asked = campaign.pool.questions
    questions = replace(asked, is_head=np.array([False, True, True]))
    progress = track(replace(campaign, pool=replace(campaign.pool, questions=questions)))
    assert progress.sides["triples"].to_pylist() == [5, 3, 2]
