"""Who takes part in a campaign, and who has left."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.people import LONGEST_NAME, changed_people
from kgtrec.data.campaign import MANAGER, PERSON_ROLES, People
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR
from kgtrec.errors import KgtrecError
from tests.campaign_folders import people_of

NAMES = st.lists(st.sampled_from(["ann", "bob", "=1+1", "../eve", "{{7*7}}"]), unique=True)


def rows_of(people: People) -> set[tuple[str, str, bool]]:
    names = people.names.decode(people.person).to_pylist()
    return set(zip(names, (PERSON_ROLES[role] for role in people.role), people.is_active.tolist(), strict=True))


@given(NAMES, NAMES)
def test_who_has_left_stays_in_the_list_and_can_be_back(named: list[str], left: list[str]):
    """Everybody who was named before is there; active is who was named last; the same again changes nothing."""
    people, changes = changed_people(People.none(), {ANNOTATOR: named})
    assert changes == [f"{name} is now annotator" for name in named]
    gone = [name for name in left if name in named]
    people, _ = changed_people(people, {}, gone)
    assert rows_of(people) == {(name, "annotator", name not in gone) for name in named}
    same, changes = changed_people(people, {}, gone)
    assert same is people
    assert changes == []
    people, changes = changed_people(people, {ANNOTATOR: gone})
    assert changes == [f"{name} is back as annotator" for name in gone]
    assert rows_of(people) == {(name, "annotator", True) for name in named}


@pytest.mark.parametrize(
    ("named", "left", "message"),
    [
        ({ANNOTATOR: [" ann"]}, [], "expected a name without white space around it, of one line, got ' ann'"),
        ({ANNOTATOR: ["a\nb"]}, [], "expected a name without white space around it, of one line"),
        ({ANNOTATOR: ["a\u202eb"]}, [], "expected a name without white space around it, of one line"),
        ({ANNOTATOR: [""]}, [], "expected a name without white space around it, of one line, got ''"),
        ({ANNOTATOR: ["a" * 201]}, [], "expected a name of at most 200 characters, got 201"),
        ({}, ["anne"], "expected somebody of people.tsv who has left, got 'anne'; did you mean ann?"),
        ({ADJUDICATOR: ["ann"]}, ["ann"], "expected 'ann' either to take part or to have left, got both"),
        ({MANAGER: ["ann"]}, [], "expected a manager, who sees all verdicts, to judge nothing, found 'ann'"),
    ],
    ids=["blank", "two lines", "reversed", "empty", "long", "nobody", "both", "manager"],
)
def test_a_change_that_cannot_be_is_refused(named: dict[int, list[str]], left: list[str], message: str):
    """And says what was expected."""
    with pytest.raises(KgtrecError, match=re.escape(message)):
        changed_people(people_of(("ann", "annotator", True)), named, left)
    assert LONGEST_NAME == 200
