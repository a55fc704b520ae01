from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.campaign.assign import assign, groups_of
from kgtrec.data.campaign import Assignments, Automatic, People
from kgtrec.data.judgements import ANNOTATOR, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples, label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.pooling.designs import DESIGNS, drawing
from kgtrec.pooling.pool_runs import known_answers_of, pool_runs
from tests.examples import examples
from tests.judged_pools import judgements_of, pool_of
from tests.pool_worlds import pool_worlds

NAMES = ("ann", "bob", "cleo", "dan", "eve", "Zoë")


def people_of(active: Iterable[str], left: Iterable[str] = ()) -> People:
    names = [*active, *left]
    code = np.arange(len(names), dtype=np.int32)
    role = np.full(len(names), ANNOTATOR, np.int8)
    return People(Vocabulary.of(names), code, role, np.isin(names, list(active)))


def nobody() -> Assignments:
    return Assignments.none(Vocabulary.of([]))


def tasks(assignments: Assignments) -> list[tuple[str, int]]:
    """(annotator, triple) in order."""
    names = assignments.annotators.decode(assignments.annotator).to_pylist()
    return list(zip(names, assignments.triple.tolist(), strict=True))


def annotators_of(assignments: Assignments) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for name, triple in tasks(assignments):
        assert name not in found.setdefault(triple, set()), "the same person twice"
        found[triple].add(name)
    return found


def done(judgements: Judgements) -> set[tuple[str, int]]:
    """(annotator, triple) of every event."""
    names = judgements.annotators.decode(judgements.annotator).to_pylist()
    return set(zip(names, judgements.triple.tolist(), strict=True))


def to_do(assignments: Assignments, people: People, judgements: Judgements) -> dict[str, int]:
    """How much each active annotator has still to judge."""
    count = Counter(name for name, _ in set(tasks(assignments)) - done(judgements))
    return {people.names[code]: count[people.names[code]] for code in people.person[people.is_active]}


def judged_first(assigned: Assignments, share: Sequence[int]) -> Judgements:
    """Each annotator has judged the first so many tasks."""
    events = []
    for place, name in enumerate(sorted({name for name, _ in tasks(assigned)})):
        mine = [triple for who, triple in tasks(assigned) if who == name]
        events += [(triple, name, "annotator", "Y") for triple in mine[: share[place % len(share)]]]
    return judgements_of(events)


NOTHING = judgements_of([])
sizes = st.lists(st.integers(1, 6), min_size=1, max_size=12)
people_counts = st.integers(2, len(NAMES))
known_answers = st.integers(0, 9)


def assign_all(
    pool: Pool,
    people: People,
    judgements: Judgements = NOTHING,
    previous: Assignments | None = None,
    per_triple: int = 2,
    seed: int = 0,
) -> Assignments:
    return assign(
        pool, Automatic.none(len(pool)), people, judgements, previous or nobody(), per_triple=per_triple, seed=seed
    )


@given(sizes, people_counts, st.integers(1, 3), known_answers)
def test_a_first_assignment_is_complete_whole_and_level(sizes: list[int], n: int, per_triple: int, seed: int):
    """Each triple has so many annotators, a question's triples the same ones; loads are a group apart at most."""
    pool, people = pool_of(sizes), people_of(NAMES[: max(n, per_triple)])
    assigned = assign_all(pool, people, per_triple=per_triple, seed=seed)
    found = annotators_of(assigned)
    assert sorted(found) == list(range(len(pool)))
    assert all(len(who) == per_triple for who in found.values())
    group = groups_of(pool, Automatic.none(len(pool)), seed=seed)
    for question in set(group.tolist()):
        assert len({frozenset(found[triple]) for triple in np.flatnonzero(group == question)}) == 1
    load = to_do(assigned, people, NOTHING).values()
    assert max(load) - min(load) <= max(sizes)


@given(sizes, people_counts, known_answers, st.permutations(range(len(NAMES))))
def test_the_order_of_people_changes_nothing(sizes: list[int], n: int, seed: int, order: list[int]):
    """Labels and the seed decide, to the last row."""
    names = NAMES[:n]
    shuffled = [NAMES[place] for place in order if place < n]
    pool = pool_of(sizes)
    assert tasks(assign_all(pool, people_of(names), seed=seed)) == tasks(
        assign_all(pool, people_of(shuffled), seed=seed)
    )


@given(sizes, people_counts, known_answers, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.data())
def test_assigning_again_changes_nothing(sizes: list[int], n: int, seed: int, share: list[int], data: st.DataObject):
    """Neither after some judging nor after people have come and gone: one run does all that two would."""
    pool, first = pool_of(sizes), people_of(NAMES[:n])
    assigned = assign_all(pool, first, seed=seed)
    judged = judged_first(assigned, share)
    again = assign_all(pool, first, judged, assigned, seed=seed)
    assert tasks(again) == tasks(assigned)
    active = data.draw(st.sets(st.sampled_from(NAMES), min_size=2), label="active")
    people = people_of(sorted(active), sorted(set(NAMES[:n]) - active))
    once = assign_all(pool, people, judged, assigned, seed=seed)
    assert tasks(assign_all(pool, people, judged, once, seed=seed)) == tasks(once)


@given(sizes, people_counts, known_answers, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.data())
def test_people_come_and_go_and_nothing_is_lost(
    sizes: list[int], n: int, seed: int, share: list[int], data: st.DataObject
):
    """What was judged stays; every triple has two people, who are there or have judged it; nobody is asked twice."""
    pool = pool_of(sizes)
    assigned = assign_all(pool, people_of(NAMES[:n]), seed=seed)
    judged = judged_first(assigned, share)
    active = data.draw(st.sets(st.sampled_from(NAMES), min_size=2), label="active")
    people = people_of(sorted(active), sorted(set(NAMES[:n]) - active))
    after = assign_all(pool, people, judged, assigned, seed=seed)
    assert done(judged) <= set(tasks(after))
    found = annotators_of(after)
    for triple in range(len(pool)):
        assert len(found[triple]) == 2
        assert all(name in active or (name, triple) in done(judged) for name in found[triple])


@given(sizes, st.integers(3, len(NAMES)), known_answers, st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_who_stays_keeps_what_was_given(sizes: list[int], n: int, seed: int, share: list[int]):
    """Somebody leaves: the others keep all of theirs, and what the one did not judge goes to them."""
    pool = pool_of(sizes)
    assigned = assign_all(pool, people_of(NAMES[:n]), seed=seed)
    judged = judged_first(assigned, share)
    after = assign_all(pool, people_of(NAMES[1:n], NAMES[:1]), judged, assigned, seed=seed)
    kept = {task for task in tasks(assigned) if task[0] != NAMES[0]}
    assert kept <= set(tasks(after))


@given(sizes, st.integers(2, len(NAMES) - 1), known_answers, st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_somebody_new_gets_an_even_share_in_whole_groups(sizes: list[int], n: int, seed: int, share: list[int]):
    """At most the even share; less only where no more groups that nobody has begun fit; groups stay whole."""
    pool = pool_of(sizes)
    assigned = assign_all(pool, people_of(NAMES[:n]), seed=seed)
    judged = judged_first(assigned, share)
    people = people_of(NAMES[: n + 1])
    after = assign_all(pool, people, judged, assigned, seed=seed)
    load, before = to_do(after, people, judged), to_do(assigned, people, judged)
    even = -(-sum(load.values()) // (n + 1))
    new = NAMES[n]
    assert load[new] <= even
    assert all(min(before[name], even) <= load[name] <= before[name] for name in NAMES[:n])
    group = groups_of(pool, Automatic.none(len(pool)), seed=seed)
    begun = {(name, group[triple]) for name, triple in done(judged)}
    assert not any((name, group[triple]) in begun for name, triple in set(tasks(assigned)) - set(tasks(after)))
    of_new = {triple for name, triple in tasks(after) if name == new}
    for question in {group[triple] for triple in of_new}:
        assert of_new >= set(np.flatnonzero(group == question).tolist())


def test_somebody_new_gets_work_worth_the_name():
    """Of 40 groups of 5 for three, 400 tasks in all, a fourth gets 100, in whole groups."""
    pool = pool_of([5] * 40)
    assigned = assign_all(pool, people_of(NAMES[:3]))
    people = people_of(NAMES[:4])
    load = to_do(assign_all(pool, people, NOTHING, assigned), people, NOTHING)
    assert load["dan"] == 100
    assert sorted(load.values()) == [100, 100, 100, 100]


def test_pairs_are_mixed():
    """Everybody works with everybody, so that agreement is not that of two fixed pairs."""
    pool = pool_of([3] * 60)
    pairs = Counter(frozenset(who) for who in annotators_of(assign_all(pool, people_of(NAMES[:4]))).values())
    assert set(pairs) == {frozenset(pair) for pair in combinations(NAMES[:4], 2)}
    assert min(pairs.values()) >= 9


def test_groups_come_in_one_order_for_everybody_and_candidates_in_ones_own():
    """So what two have done in part is mostly the same; another seed gives other orders."""
    pool = pool_of([3] * 20)
    group = groups_of(pool, Automatic.none(len(pool)))
    assigned = assign_all(pool, people_of(NAMES[:2]))
    orders = {name: [triple for who, triple in tasks(assigned) if who == name] for name in NAMES[:2]}
    for order in orders.values():
        questions = group[order]
        assert len(np.flatnonzero(np.diff(questions))) == 19
    assert sorted(orders["ann"]) == sorted(orders["bob"])
    assert orders["ann"] != orders["bob"]
    assert list(dict.fromkeys(group[orders["ann"]])) == list(dict.fromkeys(group[orders["bob"]]))
    assert list(dict.fromkeys(group[orders["ann"]])) != sorted(set(group.tolist()))
    assert {tuple(orders["ann"][i : i + 3]) for i in range(0, 60, 3)} != {
        tuple(orders["bob"][i : i + 3]) for i in range(0, 60, 3)
    }
    half = len(orders["ann"]) // 2
    assert set(orders["ann"][:half]) == set(orders["bob"][:half])
    assert tasks(assign_all(pool, people_of(NAMES[:2]), seed=1)) != tasks(assigned)


def test_automatic_triples_are_for_nobody():
    """A rule has judged them; a task that somebody had of one is taken back."""
    pool = pool_of([2, 2])
    automatic = Automatic(np.array([0, -1, -1, 0], np.int8), ("type",))
    before = assign_all(pool, people_of(NAMES[:2]))
    for previous in (nobody(), before):
        assigned = assign(pool, automatic, people_of(NAMES[:2]), NOTHING, previous)
        assert annotators_of(assigned) == {1: {"ann", "bob"}, 2: {"ann", "bob"}}


def test_a_triple_pooled_for_both_its_questions_goes_with_the_larger_group():
    """e0's tail question has three triples for people, e3's head question two: the one of both goes to the former."""
    entities, relations = Vocabulary.of([f"e{i}" for i in range(6)]), Vocabulary.of(["r"])
    head, tail = np.array([0, 0, 0, 4], np.int32), np.array([1, 2, 3, 3], np.int32)
    zero = np.zeros(2, np.int32)
    questions = Questions(
        Vocabulary.of(["head0", "tail0"]),
        np.array([True, False]),
        zero,
        np.array([3, 0], np.int32),
        entities,
        relations,
    )
    triples = Triples(head, head * 0, tail, entities, relations)
    triple, question = np.array([0, 1, 2, 2, 3], np.int32), np.array([1, 1, 1, 0, 0], np.int32)
    pool = Pool.of(triples, triple, question, triple * 0, triple + 1, ["mine"], questions)
    assert groups_of(pool, Automatic.none(4)).tolist() == [1, 1, 1, 0]
    # of e0's, a rule has judged two
    assert groups_of(pool, Automatic(np.array([0, 0, -1, -1], np.int8), ("type",))).tolist() == [1, 1, 0, 0]


@settings(max_examples=examples(10), deadline=None)
@given(pool_worlds(), st.sampled_from([0.1, 0.3, 0.6, 1.0]), st.sampled_from(DESIGNS), st.integers(0, 9))
@pytest.mark.filterwarnings("ignore:.*are left out")
def test_what_a_design_has_drawn_for_a_question_is_judged_with_it_or_before_it(world, share, strategy, seed):
    """So the questions are done in their random order; a group is a question that the triple was drawn for."""
    pool = pool_runs(world.collection, world.runs())
    design = drawing(pool, known_answers_of(pool, world.collection), strategy=strategy, seed=seed)(share)
    group = groups_of(pool, Automatic.none(len(pool)).with_design(design), seed=seed)
    drawn = design.take(design.is_drawn)
    key = hashed(seed, label_hashes(pool.questions.ids))
    assert np.all(key[group[drawn.triple]] <= key[drawn.question])
    pairs = set(zip(drawn.triple.tolist(), drawn.question.tolist(), strict=True))
    assert all((row, int(group[row])) in pairs for row in drawn.triple.tolist())


def test_a_verdict_of_somebody_who_has_left_counts():
    """Bob judged one of three and left: eve gets the two others, and ann keeps all."""
    pool = pool_of([3])
    assigned = assign_all(pool, people_of(["ann", "bob"]))
    judged = judgements_of([(0, "bob", "annotator", "unsure")])
    after = assign_all(pool, people_of(["ann", "eve"], ["bob"]), judged, assigned)
    assert annotators_of(after) == {0: {"ann", "bob"}, 1: {"ann", "eve"}, 2: {"ann", "eve"}}


def test_a_judge_who_was_taken_out_of_the_people_counts_too():
    """The verdict is there, so one more is enough; no task names the person."""
    pool = pool_of([1])
    judged = judgements_of([(0, "gone", "annotator", "Y")])
    after = assign_all(pool, people_of(["ann", "bob"]), judged)
    assert len(tasks(after)) == 1


def test_a_verdict_that_nobody_asked_for_saves_a_task():
    """Ann and bob were asked, eve answered: one of the two is enough, and the same one for all triples of the group."""
    pool = pool_of([3])
    assigned = assign_all(pool, people_of(["ann", "bob"]))
    judged = judgements_of([(row, "eve", "annotator", "N") for row in range(3)])
    after = annotators_of(assign_all(pool, people_of(["ann", "bob", "eve"]), judged, assigned))
    assert all(len(who) == 2 and "eve" in who for who in after.values())
    assert len({frozenset(who) for who in after.values()}) == 1


def test_adjudicators_and_experts_are_no_annotators():
    """Their events do not count, and they get no task."""
    pool = pool_of([1])
    judged = judgements_of([(0, "eve", "adjudicator", "Y"), (0, "xan", "expert", "Y")])
    names = Vocabulary.of(["ann", "bob", "eve", "xan"])
    people = People(names, np.arange(4, dtype=np.int32), np.array([0, 0, 1, 2], np.int8), np.ones(4, np.bool_))
    assert annotators_of(assign_all(pool, people, judged)) == {0: {"ann", "bob"}}


def test_more_annotators_per_triple_can_be_asked_for_later():
    """Who has the triple keeps it, a third person comes in, for whole groups."""
    pool = pool_of([2, 3])
    people = people_of(NAMES[:4])
    two = assign_all(pool, people)
    three = assign_all(pool, people, NOTHING, two, per_triple=3)
    assert set(tasks(two)) <= set(tasks(three))
    assert all(len(who) == 3 for who in annotators_of(three).values())
    assert tasks(assign_all(pool, people, NOTHING, two, per_triple=2)) == tasks(two)


def test_too_few_annotators_are_named():
    """With the way out; but where everything is judged, nobody is needed."""
    pool = pool_of([1])
    with pytest.raises(KgtrecError, match=r"at least 2 active annotators.*found 1 \(ann\).*init --annotator"):
        assign_all(pool, people_of(["ann"], ["bob"]))
    with pytest.raises(KgtrecError, match=r"found 0 \(none\)"):
        assign_all(pool, people_of([]))
    with pytest.raises(KgtrecError, match="at least one annotator per triple, got 0"):
        assign_all(pool, people_of(["ann"]), per_triple=0)
    judged = judgements_of([(0, "ann", "annotator", "Y"), (0, "bob", "annotator", "Y")])
    assert len(tasks(assign_all(pool, people_of([], ["ann", "bob"]), judged))) == 2


def test_an_empty_pool_needs_nobody():
    """Runs may have brought up nothing new."""
    assert tasks(assign_all(pool_of([0, 0]), people_of([]))) == []
