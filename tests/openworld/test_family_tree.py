"""The family tree: what holds of it, and three independent ways to its facts."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError
from kgtrec.openworld.family_tree import KINSHIP, FamilyTree, family_statistics, family_tree, hide_facts
from kgtrec.openworld.labels import TrueFacts, found_answers
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import baseline_blocks
from tests.examples import examples

SIZES = st.integers(2, 60)
SEEDS = st.integers(0, 10_000)


def rows(tree: FamilyTree) -> set[tuple[int, str, int]]:
    facts = tree.facts
    return {(int(h), KINSHIP[r], int(t)) for h, r, t in zip(facts.head, facts.relation, facts.tail, strict=True)}


def slow_facts(tree: FamilyTree) -> set[tuple[int, str, int]]:
    """The definitions of the module's table, person by person."""
    people = range(len(tree))
    parents = {p: {int(tree.father[p]), int(tree.mother[p])} - {-1} for p in people}
    children = {p: {c for c in people if p in parents[c]} for p in people}
    spouse = {p: {int(tree.spouse[p])} - {-1} for p in people}
    siblings = {p: {s for s in people if s != p and parents[p] and parents[s] == parents[p]} for p in people}

    def reached(start: set[int], step: dict[int, set[int]]) -> set[int]:
        return {end for person in start for end in step[person]}

    kin = {}
    for y in people:
        uncles = reached(parents[y], siblings)
        kin[y] = {
            ("father_of", "mother_of"): parents[y],
            ("son_of", "daughter_of"): children[y],
            ("husband_of", "wife_of"): spouse[y],
            ("brother_of", "sister_of"): siblings[y],
            ("grandfather_of", "grandmother_of"): reached(parents[y], parents),
            ("grandson_of", "granddaughter_of"): reached(children[y], children),
            ("uncle_of", "aunt_of"): uncles | reached(uncles, spouse),
            ("nephew_of", "niece_of"): reached(reached({y} | spouse[y], siblings), children),
            ("cousin_of", "cousin_of"): reached(uncles, children),
            ("father_in_law_of", "mother_in_law_of"): reached(spouse[y], parents),
            ("son_in_law_of", "daughter_in_law_of"): reached(children[y], spouse),
            ("brother_in_law_of", "sister_in_law_of"): reached(spouse[y], siblings) | reached(siblings[y], spouse),
        }
    return {
        (x, names[0] if tree.is_male[x] else names[1], y)
        for y in people
        for names, found in kin[y].items()
        for x in found
    }


PROGRAM = """
parent(X, Y) :- father(X, Y).   parent(X, Y) :- mother(X, Y).
couple(X, Y) :- spouse(X, Y).
sibling(X, Y) :- father(F, X), father(F, Y), mother(M, X), mother(M, Y), X != Y.
elder(X, Y) :- sibling(X, P), parent(P, Y).
elder(X, Y) :- couple(X, Z), sibling(Z, P), parent(P, Y).
inlaw(X, Y) :- couple(Z, Y), sibling(X, Z).   inlaw(X, Y) :- couple(X, Z), sibling(Z, Y).
sexed(father_of, mother_of, X, Y) :- parent(X, Y).
sexed(son_of, daughter_of, X, Y) :- parent(Y, X).
sexed(husband_of, wife_of, X, Y) :- couple(X, Y).
sexed(brother_of, sister_of, X, Y) :- sibling(X, Y).
sexed(grandfather_of, grandmother_of, X, Y) :- parent(X, Z), parent(Z, Y).
sexed(grandson_of, granddaughter_of, X, Y) :- parent(Y, Z), parent(Z, X).
sexed(uncle_of, aunt_of, X, Y) :- elder(X, Y).
sexed(nephew_of, niece_of, X, Y) :- elder(Y, X).
sexed(cousin_of, cousin_of, X, Y) :- parent(P, X), parent(Q, Y), sibling(P, Q).
sexed(father_in_law_of, mother_in_law_of, X, Y) :- parent(X, Z), couple(Z, Y).
sexed(son_in_law_of, daughter_in_law_of, X, Y) :- couple(X, Z), parent(Y, Z).
sexed(brother_in_law_of, sister_in_law_of, X, Y) :- inlaw(X, Y).
fact(X, M, Y) :- sexed(M, W, X, Y), male(X).
fact(X, W, Y) :- sexed(M, W, X, Y), not male(X).
#show fact/3.
"""


@given(SIZES, SEEDS)
@settings(max_examples=examples(40), deadline=None)
def test_the_closure_is_what_the_definitions_say_person_by_person(people, seed):
    """Sparse products and a slow reading of the table find the same facts, each once."""
    tree = family_tree(people, seed)
    assert rows(tree) == slow_facts(tree)
    assert len(rows(tree)) == len(tree.facts)


@pytest.mark.parametrize("seed", range(4))
def test_the_closure_is_what_a_logic_engine_derives(seed):
    """clingo derives the same facts from parents, spouses and sexes alone."""
    clingo = pytest.importorskip("clingo", reason="clingo, an independent logic engine, is not installed")
    tree = family_tree(80, seed)
    given_facts = [
        f"{name}({person},{child})."
        for name, column in (("father", tree.father), ("mother", tree.mother), ("spouse", tree.spouse))
        for child, person in enumerate(column.tolist())
        if person >= 0
    ] + [f"male({person})." for person in np.flatnonzero(tree.is_male)]
    control = clingo.Control()
    control.add("base", [], PROGRAM + " ".join(given_facts))
    control.ground([("base", [])])
    derived = set()
    control.solve(
        on_model=lambda model: derived.update(
            (a[0].number, a[1].name, a[2].number) for a in (symbol.arguments for symbol in model.symbols(shown=True))
        )
    )
    assert derived == rows(tree)


@given(SIZES, SEEDS)
@settings(max_examples=examples(30), deadline=None)
def test_families_are_possible(people, seed):
    """Both parents or none, of either sex and wed to each other; nobody is kin to themselves, or their own forebear."""
    tree = family_tree(people, seed)
    assert len(tree) == people
    child = np.flatnonzero(tree.father >= 0)
    assert np.array_equal(child, np.flatnonzero(tree.mother >= 0))
    assert tree.is_male[tree.father[child]].all()
    assert not tree.is_male[tree.mother[child]].any()
    assert np.array_equal(tree.spouse[tree.father[child]], tree.mother[child])
    wed = np.flatnonzero(tree.spouse >= 0)
    assert np.array_equal(tree.spouse[tree.spouse[wed]], wed)
    assert (tree.is_male[wed] != tree.is_male[tree.spouse[wed]]).all()
    # parents come before their children, so nobody can descend from themselves
    assert (tree.generation[tree.father[child]] == tree.generation[child] - 1).all()
    assert (tree.father[child] < child).all()
    assert (tree.mother[child] < child).all()
    assert not np.any(tree.facts.head == tree.facts.tail)


@given(st.integers(20, 120), SEEDS)
@settings(max_examples=examples(20), deadline=None)
def test_nobody_marries_kin(people, seed):
    """No spouse is also a sibling, cousin, uncle, aunt, parent or grandparent."""
    tree = family_tree(people, seed)
    wed = {(int(x), int(y)) for x, y in enumerate(tree.spouse) if y >= 0}
    kin = {"brother_of", "sister_of", "cousin_of", "father_of", "mother_of", "grandfather_of", "grandmother_of"}
    assert not any((x, y) in wed for x, r, y in rows(tree) if r in kin)


def test_the_paper_s_size_gives_about_the_paper_s_number_of_facts():
    """6,004 people: within 2% of the 192,532 facts of Yang et al. (2022)."""
    tree = family_tree(6004)
    assert abs(len(tree.facts) / 192_532 - 1) < 0.02
    assert set(tree.facts.head) | set(tree.facts.tail) == set(range(6004))


def test_a_seed_names_one_tree_for_ever():
    """The labels and facts of two seeds, as they were first made; another machine or version must find the same."""
    digests = []
    for seed in (0, 7):
        facts = family_tree(200, seed).facts
        text = "\n".join(facts.entities) + "".join(
            f"{h},{r},{t};" for h, r, t in zip(facts.head, facts.relation, facts.tail, strict=True)
        )
        digests.append(hashlib.sha256(text.encode()).hexdigest()[:12])
    assert digests == ["d6484e2a4562", "53bbcc1db3a9"]


def test_facts_are_sorted_and_labels_have_no_blank():
    tree = family_tree(100)
    facts = tree.facts
    order = np.lexsort((facts.tail, facts.head, facts.relation))
    assert np.array_equal(order, np.arange(len(facts)))
    assert tuple(facts.relations) == KINSHIP
    assert len(set(KINSHIP)) == 23
    assert not any(set(label) & set(" \t\n") for label in facts.entities)
    assert len(set(facts.entities)) == 100


@pytest.mark.parametrize("people", [2, 3, 4, 5, 11])
def test_the_smallest_trees_have_exactly_the_people_asked_for(people):
    for seed in range(20):
        tree = family_tree(people, seed)
        assert len(tree) == len(tree.facts.entities) == people
        assert set(tree.facts.head.tolist()) == set(range(people))


@pytest.mark.parametrize("people", [1, 2_000_000, 2.5, "3", True])
def test_people_and_seeds_are_whole_numbers_that_can_be(people):
    told = rf"^expected people to be a whole number from 2 to 1,000,000, found {people!r}$"
    with pytest.raises(KgtrecError, match=told):
        family_tree(people)
    for seed in (-1, 1.5, "x"):
        with pytest.raises(KgtrecError, match=rf"^expected seed to be a whole number from 0 on, found {seed!r}$"):
            family_tree(10, seed=seed)
    assert len(family_tree(np.int32(10), seed=np.uint8(1))) == 10


@given(st.integers(10, 60), SEEDS, st.floats(0.05, 0.4), st.floats(0.05, 1), st.floats(0, 0.1))
@settings(max_examples=examples(30), deadline=None)
def test_hiding_parts_the_facts_and_leaves_every_entity_and_relation_in_train(people, seed, hidden, density, valid):
    """Train, valid and complete are the facts; test is a part of complete, of the size asked for."""
    facts = family_tree(people, seed).facts
    world = hide_facts(facts, hidden=hidden, density=density, valid=valid, seed=seed)
    parts = [world.splits.train.keys(), world.splits.valid.keys(), world.complete.keys()]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.sort(facts.keys()))
    assert np.isin(world.splits.test.keys(), world.complete.keys()).all()
    assert len(world.complete) == max(1, int(hidden * len(facts) + 1e-9))
    assert len(world.splits.test) == max(1, int(density * len(world.complete) + 1e-9))
    train = world.splits.train
    assert set(train.head.tolist()) | set(train.tail.tolist()) == set(range(people))
    assert set(train.relation.tolist()) == set(facts.relation.tolist())


def test_full_density_labels_all_that_is_hidden():
    world = hide_facts(family_tree(50).facts, density=1.0)
    assert np.array_equal(world.splits.test.keys(), world.complete.keys())
    assert world.density == 1.0


def test_more_density_only_adds_labels():
    """At one seed the same facts are hidden, and the sparser labels are among the denser."""
    facts = family_tree(50).facts
    sparse, dense = (hide_facts(facts, density=d, seed=3) for d in (0.2, 0.6))
    assert np.array_equal(sparse.complete.keys(), dense.complete.keys())
    assert np.isin(sparse.splits.test.keys(), dense.splits.test.keys()).all()


def test_labels_from_a_system_are_facts_that_it_finds():
    """Ranked above every false candidate as head and as tail, from what it learns of train; the rest is the same."""
    facts = family_tree(80, 4).facts
    random, biased = (
        hide_facts(facts, hidden=0.5, density=0.1, labels_from=name, seed=4) for name in (None, "inverse")
    )
    assert triples(biased.complete) == triples(random.complete)
    assert triples(biased.splits.train) == triples(random.splits.train)
    assert len(biased.splits.test) == len(random.splits.test)
    collection = build_questions(biased.splits.train, biased.splits.valid, biased.complete)
    ranked = rank_scores(
        collection, baseline_blocks("inverse", collection), questions=collection, entities=collection, depth=0
    )
    true = TrueFacts.of(collection)
    missed = true.facts.take(np.unique(true.fact[~found_answers(true, ranked.answer_ranks)]))
    assert not triples(biased.splits.test) & triples(missed)
    assert triples(random.splits.test) & triples(missed)


def test_labels_from_a_system_are_others_too_where_it_finds_too_few():
    """The number of labels is the same in any case."""
    facts = family_tree(40).facts
    assert len(hide_facts(facts, density=0.9, labels_from="popularity").splits.test) == len(
        hide_facts(facts, density=0.9).splits.test
    )
    with pytest.raises(KgtrecError, match=r"^expected a baseline of popularity, inverse, .*, found 'inversed'"):
        hide_facts(facts, labels_from="inversed")


def triples(facts: Triples) -> set[tuple[str, str, str]]:
    return set(facts.to_frame().itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"hidden": share}, "a share of hidden facts between 0 and 1") for share in (0.0, 1.0, True)),
        *(({"density": share}, "a density above 0 and at most 1") for share in (0.0, "0.5")),
        ({"valid": 0.8}, "valid facts of at least 0 and below 0.7 (1 less the hidden share), found 0.8"),
        ({"seed": -1}, "seed"),
        ({"hidden": 0.99, "valid": 0.0}, "every entity and relation must keep a fact in train"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(KgtrecError) as caught:
        hide_facts(family_tree(30).facts, **options)
    assert message in str(caught.value)


def test_a_share_of_a_hundred_facts_is_so_many_of_them():
    """57% of 100 facts are 57, though 0.57 * 100 is a hair less."""
    facts = family_tree(15, seed=2).facts
    hundred = Triples(facts.head[:100], facts.relation[:100], facts.tail[:100], facts.entities, facts.relations)
    assert len(hundred) == 100
    assert len(hide_facts(hundred, hidden=0.57).complete) == 57


def test_repeated_facts_are_refused():
    facts = Triples.of([("a", "r", "b"), ("a", "r", "b"), ("b", "r", "a")])
    with pytest.raises(
        KgtrecError, match=r"^expected each fact once, found 1 repeated; remove the repeated ones first$"
    ):
        hide_facts(facts)


@given(SIZES, SEEDS)
@settings(max_examples=examples(20), deadline=None)
def test_statistics_count_facts_and_answers_one_by_one(people, seed):
    """Per relation and side, against a count over the facts."""
    tree = family_tree(people, seed)
    found = family_statistics(tree)
    facts = rows(tree)
    lists = Counter()
    for row in found.relations.data.to_pylist():
        own = [(h, t) for h, r, t in facts if r == row["relation"]]
        assert row["facts"] == len(own)
        for side, given_end in (("head", 1), ("tail", 0)):
            sizes = list(Counter(pair[given_end] for pair in own).values())
            assert (row[f"{side}_questions"], row[f"{side}_most"]) == (len(sizes), max(sizes, default=0))
            np.testing.assert_equal(row[f"{side}_answers"], np.mean(sizes) if sizes else np.nan)
            lists.update(sizes)
    assert [(row["answers"], row["questions"]) for row in found.answers.data.to_pylist()] == sorted(lists.items())
    assert found.relations.caption.startswith(f"{people:,} people in {tree.generation.max() + 1} generations, ")
