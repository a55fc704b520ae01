"""What adjudicators are asked: which triples, and what each side has said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.adjudicate import queue_of, sides_of
from kgtrec.data.campaign import Assignments, Campaign
from kgtrec.data.judgements import VERDICTS, YES
from kgtrec.data.vocabulary import Vocabulary
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import judgements_of, pool_of

SAID = [
    (3, "ann", "annotator", "Y", "https://en.wikipedia.org/a", "yes, as of 2020"),
    (3, "bob", "annotator", "N", "https://en.wikipedia.org/b", "no"),
    (4, "ann", "annotator", "N", "https://en.wikipedia.org/c", "first"),
    (4, "bob", "annotator", "unsure", "", ""),
    (4, "ann", "annotator", "Y", "https://en.wikipedia.org/d", "corrected"),
    (4, "eve", "adjudicator", "unsure", "", "of eve"),
]


def told(campaign: Campaign, rows: list[int]) -> list[tuple[int, str, str, str]]:
    """The sides as (place, verdict, source, note)."""
    found = sides_of(campaign, np.array(rows))
    texts = found.source.to_pylist(), found.note.to_pylist()
    verdicts = [VERDICTS[verdict] for verdict in found.verdict]
    return list(zip(found.place.tolist(), verdicts, *texts, strict=True))


def test_sides_are_the_last_words_of_annotators():
    """Not the corrected ones, nor those of an adjudicator; in the order of the rows that were asked for."""
    found = told(campaign_of(SAID), [4, 0, 3])
    assert sorted(found) == [
        (0, "Y", "https://en.wikipedia.org/d", "corrected"),
        (0, "unsure", "", ""),
        (2, "N", "https://en.wikipedia.org/b", "no"),
        (2, "Y", "https://en.wikipedia.org/a", "yes, as of 2020"),
    ]
    assert [side[0] for side in found] == [0, 0, 2, 2]
    assert told(campaign_of(SAID), [0]) == []


@given(st.permutations(range(4)), st.permutations(["ann", "bob", "kim", "lee"]))
def test_neither_people_nor_the_order_of_events_decide_which_side_is_a(order: list[int], names: list[str]):
    """Four people on one triple, two of whom say the same verdict, and one pair the same words."""
    words = [("Y", "a", "1"), ("Y", "b", ""), ("N", "c", "2"), ("N", "c", "2")]
    said = [(3, name, "annotator", *one) for name, one in zip(["ann", "bob", "kim", "lee"], words, strict=True)]
    again = [(3, names[place], "annotator", *words[place]) for place in order]
    one, other = (campaign_of(events, annotators=("ann", "bob", "kim", "lee")) for events in (said, again))
    assert told(one, [3]) == told(other, [3])


def test_yes_is_as_often_side_a_as_no():
    """Of 2,000 conflicts within four standard deviations of half; another seed draws anew."""
    n = 2000
    pool = pool_of((n,), (0,))
    events = [(row, name, "annotator", verdict, "", "") for row in range(n) for name, verdict in ("aY", "bN")]
    shares = []
    for seed in (0, 1):
        campaign = replace(campaign_of(), pool=pool, judgements=judgements_of(events), settings={"seed": seed})
        found = sides_of(campaign, np.arange(n))
        shares.append(found.verdict[::2] == YES)
    for share in shares:
        assert abs(share.sum() - n / 2) < 4 * np.sqrt(n / 4)
    assert abs((shares[0] == shares[1]).sum() - n / 2) < 4 * np.sqrt(n / 4)


def test_a_queue_is_without_what_a_person_judged_or_is_to_judge():
    """In another role: ann and bob judged the conflict, ivy as an expert; kim is to judge it."""
    said = [*SAID[:2], (3, "ivy", "expert", "Y", "", "")]
    campaign = campaign_of(said)
    names = Vocabulary.of(["kim", "lee"])
    tasks = Assignments(np.array([0, 1], np.int32), np.array([3, 5], np.int32), names)
    campaign = replace(campaign, assignments=tasks)
    found = {name: queue_of(campaign, name).tolist() for name in (None, "ann", "bob", "ivy", "kim", "lee", "eve")}
    assert found == {None: [3], "ann": [], "bob": [], "ivy": [], "kim": [], "lee": [3], "eve": [3]}
