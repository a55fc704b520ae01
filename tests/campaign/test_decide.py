from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.decide import decide, previous_of, states_before, waiting
from kgtrec.data.campaign import Automatic
from kgtrec.data.judgements import ROLES, STATES, VERDICTS, Decisions
from kgtrec.errors import CollectionError, KgtrecError
from tests.judged_pools import judgements_of, pool_of

A, B, C = "ann", "bob", "cat"  # annotators
E, F = "eve", "fay"  # adjudicators

#: what happened to one triple, oldest first, and what it comes to with two annotators per triple
CASES = {
    "nobody": ("", "open", None),
    "one annotator": ("A:Y", "open", None),
    "one annotator twice": ("A:Y A:Y", "open", None),
    "one annotator, unsure": ("A:unsure", "open", None),
    "both yes": ("A:Y B:Y", "agreed", "Y"),
    "both no": ("A:N B:N", "agreed", "N"),
    "both unsure": ("A:unsure B:unsure", "doubted", None),
    "they disagree": ("A:Y B:N", "conflict", None),
    "one is unsure": ("A:unsure B:N", "doubted", None),
    "three agree": ("A:Y B:Y C:Y", "agreed", "Y"),
    "two of three": ("A:Y B:Y C:N", "conflict", None),
    "disagreement and doubt": ("A:Y B:N C:unsure", "doubted", None),
    "corrected to agreement": ("A:Y B:N B:Y", "agreed", "Y"),
    "corrected to conflict": ("A:Y B:Y A:N", "conflict", None),
    "corrected there and back": ("A:Y B:N A:N A:Y B:Y", "agreed", "Y"),
    "conflict settled": ("A:Y B:N E:N", "adjudicated", "N"),
    "doubt settled": ("A:Y B:unsure E:Y", "adjudicated", "Y"),
    "adjudicator unsure": ("A:Y B:N E:unsure", "undecidable", None),
    "adjudicator corrects": ("A:Y B:N E:unsure E:Y", "adjudicated", "Y"),
    "the last adjudicator counts": ("A:Y B:N E:Y F:N", "adjudicated", "N"),
    "the first one has the last word": ("A:Y B:N E:Y F:N E:Y", "adjudicated", "Y"),
    "the last one is unsure": ("A:Y B:N E:Y F:unsure", "undecidable", None),
    "settled, then corrected to agreement": ("A:Y B:N E:N B:Y", "adjudicated", "N"),
    "settled against an agreement": ("A:Y B:Y E:N", "adjudicated", "N"),
    "undecidable, then corrected to agreement": ("A:Y B:N E:unsure B:Y", "agreed", "Y"),
    "adjudicator too early": ("A:Y E:N", "open", None),
    "adjudicator early, then conflict": ("A:Y E:N B:N", "adjudicated", "N"),
    "an expert changes nothing": ("A:Y B:Y X:N", "agreed", "Y"),
    "an expert settles nothing": ("A:Y B:N X:N", "conflict", None),
    "an expert is no second annotator": ("A:Y X:Y", "open", None),
    "one person in two roles": ("A:Y B:N A!:Y", "adjudicated", "Y"),
}
PEOPLE = {
    "A": (A, "annotator"),
    "B": (B, "annotator"),
    "C": (C, "annotator"),
    "E": (E, "adjudicator"),
    "F": (F, "adjudicator"),
    "X": ("xia", "expert"),
    "A!": (A, "adjudicator"),
}


def events_of(story: str, triple: int = 0) -> list[tuple[int, str, str, str]]:
    """`A:Y E:N` as events."""
    pairs = (event.split(":") for event in story.split())
    return [(triple, *PEOPLE[who], verdict) for who, verdict in pairs]


def in_words(decisions: Decisions) -> list[tuple[str, str | None]]:
    """State and verdict of each triple."""
    pairs = zip(decisions.state, decisions.verdict, strict=True)
    return [(STATES[state], None if verdict < 0 else VERDICTS[verdict]) for state, verdict in pairs]


@pytest.mark.parametrize(("story", "state", "verdict"), CASES.values(), ids=CASES)
def test_a_story_and_what_it_comes_to(story: str, state: str, verdict: str | None):
    """Two annotators per triple."""
    decided = decide(pool_of([1]), Automatic.none(1), judgements_of(events_of(story)))
    assert in_words(decided) == [(state, verdict)]


def test_all_stories_at_once():
    """Triples do not get into each other's way, whatever the order in which their events mix."""
    stories = list(CASES.values())
    events_of_each = [events_of(story, triple) for triple, (story, *_) in enumerate(stories)]
    mixed = [events[place] for place in range(6) for events in events_of_each if place < len(events)]
    decided = decide(pool_of([len(stories)]), Automatic.none(len(stories)), judgements_of(mixed))
    assert in_words(decided) == [(state, verdict) for _, state, verdict in stories]
    assert waiting(decided.state).tolist() == [
        row for row, (_, state, _) in enumerate(stories) if state in ("conflict", "doubted")
    ]


def test_an_empty_pool():
    """No triples, no decisions."""
    decided = decide(pool_of([]), Automatic.none(0), judgements_of([]))
    assert (len(decided), len(waiting(decided.state))) == (0, 0)


def test_what_does_not_belong_together_is_refused():
    """Other sizes and other rows are another pool's."""
    pool, nothing = pool_of([2]), judgements_of([])
    with pytest.raises(KgtrecError, match=r"expected at least 1 annotator per triple, got 0"):
        decide(pool, Automatic.none(2), nothing, per_triple=0)
    with pytest.raises(CollectionError, match=r"automatic judgements of 2 triples, those of the pool, got 3"):
        decide(pool, Automatic.none(3), nothing)
    for row in (2, -1):
        with pytest.raises(CollectionError, match=rf"of the pool's 2 triples, found one of row {row}"):
            decide(pool, Automatic.none(2), judgements_of([(row, A, "annotator", "Y")]))


def read_plainly(events, triple: int, automatic: bool, per_triple: int) -> tuple[str, str | None]:
    """The rules, one event and one triple at a time."""
    annotators: dict[str, str] = {}
    last_word = None
    for row, person, role, verdict in events:
        if row == triple and role == "annotator":
            annotators[person] = verdict
        if row == triple and role == "adjudicator":
            last_word = verdict
    if automatic:
        return "automatic", "N"
    if len(annotators) < per_triple:
        return "open", None
    if last_word in ("Y", "N"):
        return "adjudicated", last_word
    said = set(annotators.values())
    if said in ({"Y"}, {"N"}):
        return "agreed", said.pop()
    if last_word == "unsure":
        return "undecidable", None
    return ("doubted", None) if "unsure" in said else ("conflict", None)


EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([A, B, C, E]), st.sampled_from(ROLES), st.sampled_from(VERDICTS)),
    max_size=30,
)


@given(EVENTS, st.lists(st.booleans(), min_size=3, max_size=3), st.integers(1, 3))
def test_decisions_are_the_plain_reading_of_the_rules(events, automatic, per_triple):
    """Vectorised over all events, equal to one triple at a time."""
    rules = Automatic(np.where(automatic, 0, -1).astype(np.int8), ("any",))
    decided = decide(pool_of([3]), rules, judgements_of(events), per_triple=per_triple)
    expected = [read_plainly(events, triple, automatic[triple], per_triple) for triple in range(3)]
    assert in_words(decided) == expected


@given(EVENTS)
def test_the_state_before_an_event_is_that_of_what_came_before(events):
    """Worked out for all events at once, equal to deciding on the events before each, one annotator being enough."""
    found = [STATES[state] for state in states_before(judgements_of(events))]
    plain = [read_plainly(events[:place], event[0], False, 1)[0] for place, event in enumerate(events)]
    assert found == plain


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=20))
def test_the_row_before_is_the_last_one_with_the_same_values(rows):
    """Minus one for the first of each."""
    columns = np.array(rows, np.int32).reshape(-1, 2).T
    expected = [max((p for p in range(place) if rows[p] == row), default=-1) for place, row in enumerate(rows)]
    assert previous_of(*columns).tolist() == expected
