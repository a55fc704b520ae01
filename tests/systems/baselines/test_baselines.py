"""Every baseline: scores worked by hand, and what must hold of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.kernels.integer_keys import ranges
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import BASELINES, baseline, baseline_blocks, fit_baseline
from kgtrec.systems.baselines.graph import Graph, slices
from tests.examples import examples

SYSTEMS = [name for name, record in BASELINES.items() if record.is_in_all]
WITHOUT_TIMES = [name for name, record in BASELINES.items() if not record.knows]


def questions_on(triples: Triples, asked: list[tuple[str | None, str, str | None]]) -> Questions:
    """Questions of (head, relation, tail) with None for what is asked."""
    anchors = triples.entities.encode([tail if head is None else head for head, _, tail in asked])
    relations = triples.relations.encode([relation for _, relation, _ in asked])
    is_head = np.array([head is None for head, _, _ in asked])
    ids = Vocabulary.of([f"q{i}" for i in range(len(asked))])
    return Questions(ids, is_head, relations, anchors, triples.entities, triples.relations)


def scores_of(name, rows, asked, extra=(), **options):
    """Per question, label -> score; ``extra`` labels are entities without facts."""
    triples = Triples.of(rows)
    entities = triples.entities.extended(list(extra))
    triples = triples.recoded(entities=entities)
    block = fit_baseline(name, triples, **options).scores(questions_on(triples, [asked]), np.array([0]))
    return dict(zip(entities, block[0].tolist(), strict=True))


def everything_asked(train: Triples) -> Questions:
    """Each (side, relation, anchor) of a KG as a question."""
    sides, relations, anchors = np.meshgrid(
        [False, True], np.arange(len(train.relations)), np.arange(len(train.entities)), indexing="ij"
    )
    ids = Vocabulary.of([f"q{i}" for i in range(sides.size)])
    return Questions(
        ids,
        sides.ravel(),
        relations.ravel().astype(np.int32),
        anchors.ravel().astype(np.int32),
        train.entities,
        train.relations,
    )


def all_scores(name: str, train: Triples, **options: object) -> np.ndarray:
    asked = everything_asked(train)
    return fit_baseline(name, train, **options).scores(asked, np.arange(len(asked)))


GRAPHS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("rst"), st.sampled_from("abcdefg")), min_size=1, max_size=25
).map(Triples.of)


def test_popularity_counts_facts_at_the_place_and_backs_off_to_all_facts():
    """Rome is the birthplace of two; ann stands in one fact of at most two, so 1 / (2 + 1)."""
    rows = [("ann", "born_in", "rome"), ("bob", "born_in", "rome"), ("cid", "born_in", "oslo")]
    found = scores_of("popularity", rows, ("cid", "born_in", None), extra=["zoe"])
    assert found == {"ann": 0.333333, "rome": 2, "bob": 0.333333, "cid": 0.333333, "oslo": 1, "zoe": 0}


def test_inverse_gives_the_share_of_the_body_that_the_relation_follows():
    """Three likings, two of them answered by liked_by: 2 / (3 + discount 1)."""
    rows = [("a", "likes", "b"), ("b", "liked_by", "a"), ("c", "likes", "a"), ("a", "liked_by", "c")]
    rows += [("e", "likes", "f")]
    found = scores_of("inverse", rows, ("f", "liked_by", None), discount=1)
    assert found == {"a": 0, "b": 0, "c": 0, "e": 0.5, "f": 0}


def test_inverse_finds_symmetric_relations_and_puts_evidence_together():
    """c befriends d and d is c's mate: 4/7 by symmetry, 1/4 by matehood, 1 - (1 - 4/7)(1 - 1/4) together."""
    rows = [("a", "friend", "b"), ("b", "friend", "a"), ("c", "friend", "d"), ("a", "mate", "b"), ("d", "mate", "c")]
    rows += [("x", "friend", "y"), ("y", "friend", "x")]
    options = {"discount": 2, "support": 1}
    # of five friendships four are returned: 4 / (5 + 2); of two mates one is a friend too: 1 / (2 + 2)
    both = scores_of("inverse", rows, ("d", "friend", None), **options)
    assert both["c"] == pytest.approx(1 - (1 - 4 / 7) * (1 - 1 / 4), abs=1e-12)
    most = scores_of("inverse", rows, ("d", "friend", None), aggregate="max", **options)
    assert most["c"] == pytest.approx(4 / 7, abs=1e-12)


def test_neighbours_counts_walks_of_up_to_three_steps():
    """On the path a - b - c: from a one walk of one step to b, one of two to a and c, two of three to b."""
    rows = [("a", "r", "b"), ("b", "s", "c")]
    found = scores_of("neighbours", rows, ("a", "r", None), extra=["z"], damping=10, candidates="any")
    assert found == {"a": 10, "b": 102, "c": 10, "z": 0}


def test_neighbours_puts_those_seen_at_the_place_first():
    """c is the only tail of s; it gets one more than the largest score on top."""
    found = scores_of("neighbours", [("a", "r", "b"), ("b", "s", "c")], ("a", "s", None), damping=10)
    assert found == {"a": 10, "b": 102, "c": 10 + 103}


def test_rules_find_the_parent_of_a_parent():
    """One grandparent known, one pair of parent and parent from there: 1 / (1 + discount 1)."""
    rows = [("a", "parent", "b"), ("b", "parent", "c"), ("a", "grand", "c"), ("d", "parent", "e"), ("e", "parent", "f")]
    options = {"discount": 1, "support": 1}
    assert scores_of("rules", rows, ("d", "grand", None), **options) == dict.fromkeys("abcde", 0) | {"f": 0.5}
    assert scores_of("rules", rows, (None, "grand", "f"), **options) == dict.fromkeys("abcef", 0) | {"d": 0.5}


def test_a_rule_speaks_once_for_an_answer_however_many_paths_lead_there():
    """Two ways from d to f, one rule, so noisy-or and max agree."""
    rows = [("a", "p", "b"), ("b", "p", "c"), ("a", "g", "c")]
    rows += [("d", "p", "e"), ("e", "p", "f"), ("d", "p", "e2"), ("e2", "p", "f")]
    found = [
        scores_of("rules", rows, ("d", "g", None), discount=1, support=1, aggregate=way)["f"]
        for way in ("noisy-or", "max")
    ]
    assert found == [0.5, 0.5]


def test_svd_of_full_rank_gives_back_the_incidence():
    """1 for a train fact, 0 for another entity seen there, -1 for one that never was."""
    rows = [("a", "r", "x"), ("b", "r", "y"), ("b", "r", "x")]
    found = scores_of("svd", rows, ("a", "r", None))
    assert found == pytest.approx({"a": -1, "x": 1, "b": -1, "y": 0}, abs=1e-5)


def test_rescal_with_a_factor_for_each_entity_gives_back_the_facts():
    """A cycle of three: 1 for what is a fact and 0 for what is not, either side."""
    rows = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]
    assert scores_of("rescal", rows, ("a", "r", None), decay=0.001) == pytest.approx({"a": 0, "b": 1, "c": 0}, abs=0.01)
    assert scores_of("rescal", rows, (None, "r", "a"), decay=0.001) == pytest.approx({"a": 0, "b": 0, "c": 1}, abs=0.01)


def test_controls_know_nothing():
    rows = [("a", "r", "b"), ("b", "r", "c")]
    assert set(scores_of("constant", rows, ("a", "r", None)).values()) == {0}
    known_answers = [scores_of("random", rows, ("a", "r", None), seed=seed) for seed in (0, 1)]
    assert len(set(known_answers[0].values())) == 3
    assert known_answers[0] != known_answers[1]


@pytest.mark.parametrize("name", WITHOUT_TIMES)
@given(graph=GRAPHS)
@settings(max_examples=examples(15), deadline=None)
def test_scores_are_numbers_and_the_same_again_in_any_block(name, graph):
    """No NaN, whatever the graph; a question's scores are the same bits alone and among others."""
    asked = everything_asked(graph)
    model, again = (fit_baseline(name, graph, seed=5) for _ in range(2))
    rows = np.arange(len(asked))
    whole = model.scores(asked, rows)
    assert whole.shape == (len(asked), len(graph.entities))
    assert np.isfinite(whole).all()
    assert whole.tobytes() == again.scores(asked, rows).tobytes()
    assert all(model.scores(asked, rows[i : i + 1]).tobytes() == whole[i : i + 1].tobytes() for i in rows[::5])


@pytest.mark.parametrize("name", SYSTEMS)
def test_other_names_for_entities_only_permute_the_scores(name):
    """Codes mean nothing: under a permutation of them each entity keeps its scores."""
    facts = hide_facts(family_tree(30, 1).facts).splits.train
    order = np.random.default_rng(0).permutation(len(facts.entities))
    code = np.argsort(order).astype(np.int32)
    renamed = Triples(
        code[facts.head], facts.relation, code[facts.tail], Vocabulary(facts.entities.decode(order)), facts.relations
    )
    before, after = all_scores(name, facts), all_scores(name, renamed)
    shape = (2, len(facts.relations), len(facts.entities), len(facts.entities))
    moved = after.reshape(shape)[:, :, code][:, :, :, code]
    np.testing.assert_allclose(moved, before.reshape(shape), atol=1e-4 if name in ("svd", "rescal") else 1e-9)


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_entity_without_facts_changes_nothing_for_the_others(name):
    facts = hide_facts(family_tree(30, 2).facts).splits.train
    larger = facts.recoded(entities=facts.entities.extended(["nobody"]))
    n, shape = len(facts.entities), (2, len(facts.relations), len(larger.entities), len(larger.entities))
    found = all_scores(name, larger).reshape(shape)[:, :, :n, :n]
    expected = all_scores(name, facts).reshape(found.shape)
    np.testing.assert_allclose(found, expected, atol=1e-4 if name in ("svd", "rescal") else 0)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_relation_without_facts_and_an_entity_without_facts_have_defined_scores(name):
    """No relation to go by: no evidence, or the back-off; the same for anchors that nothing is known of."""
    facts = Triples.of([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
    facts = facts.recoded(entities=facts.entities.extended(["z"]), relations=facts.relations.extended(["unseen"]))
    asked = questions_on(facts, [("a", "unseen", None), (None, "r", "z"), ("z", "unseen", None)])
    found = fit_baseline(name, facts).scores(asked, np.arange(3))
    assert np.isfinite(found).all()
    if name in ("inverse", "rules", "rescal"):
        assert not found.any()
    if name == "svd":
        assert (found[[0, 2]] == -1).all()
    if name == "popularity":
        assert found[0].tolist() == [0.666667, 0.666667, 0.666667, 0]


def test_repeated_train_facts_count_once():
    rows = [("a", "r", "b"), ("c", "r", "d"), ("a", "s", "d")]
    for name in SYSTEMS:
        once, twice = (all_scores(name, Triples.of(some)) for some in (rows, rows + rows))
        assert np.array_equal(once, twice)


@pytest.mark.slow
def test_on_the_family_tree_rules_are_nearly_right_and_popularity_is_not():
    """The world is made of rules: mined ones rank the true answers first, popularity knows little of kin."""
    world = hide_facts(family_tree(120).facts)
    splits = world.splits
    collection = build_questions(splits.train, splits.valid, world.complete)
    reciprocal = {}
    for name in SYSTEMS:
        ranks = rank_scores(
            collection,
            baseline_blocks(name, collection, block=50),
            questions=collection,
            entities=collection,
            name=name,
            depth=0,
        ).answer_ranks
        reciprocal[name] = float(np.mean(1 / (ranks.above + ranks.tied / 2 + 1)))
    assert reciprocal["rules"] > 0.9
    assert reciprocal["popularity"] < 0.15
    assert all(reciprocal["popularity"] < reciprocal[name] for name in SYSTEMS if name != "popularity")


def test_blocks_cover_the_questions_in_order():
    splits = hide_facts(family_tree(30).facts).splits
    collection = build_questions(splits.train, splits.valid, splits.test)
    rows = [rows for rows, _ in baseline_blocks("inverse", collection, block=7)]
    assert max(map(len, rows)) == 7
    assert np.array_equal(np.concatenate(rows), np.arange(len(collection.questions)))
    with pytest.raises(KgtrecError, match="block"):
        baseline_blocks("inverse", collection, block=0)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 15))
def test_slices_tile_the_items_within_the_limit(sizes, limit):
    size = np.array(sizes, np.int64)
    cuts = slices(size, limit)
    assert [place for cut in cuts for place in range(*cut)] == list(range(len(size)))
    assert all(size[first:last].sum() <= limit or last == first + 1 for first, last in cuts)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=10))
def test_ranges_are_the_ranges_one_after_another(pairs):
    first, count = (np.array([pair[i] for pair in pairs], np.int64) for i in range(2))
    owner, place = ranges(first, count)
    expected = [(i, f + step) for i, (f, c) in enumerate(pairs) for step in range(c)]
    assert list(zip(owner.tolist(), place.tolist(), strict=True)) == expected


@given(GRAPHS)
def test_the_graph_has_each_distinct_fact_in_both_directions(graph):
    made = Graph.of(graph)
    distinct = set(zip(graph.head.tolist(), graph.relation.tolist(), graph.tail.tolist(), strict=True))
    both = distinct | {(t, r + made.n_relations, h) for h, r, t in distinct}
    found = list(zip(made.anchor.tolist(), made.direction.tolist(), made.answer.tolist(), strict=True))
    assert found == sorted(both)
    assert len(found) == 2 * len(distinct)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "popularty",
            {},
            "expected a baseline of popularity, inverse, "
            "neighbours, rules, svd, rescal, random, constant, recent, "
            "recent-single-step, found 'popularty'; did you mean popularity?",
        ),
        ("svd", {"factor": 3}, "svd has no option 'factor'; did you mean factors?; its options: factors"),
        ("popularity", {"k": 3}, "popularity has no option 'k'; its options: none"),
        ("svd", {"factors": "3.5"}, "expected a whole number for factors, found '3.5'"),
        ("svd", {"factors": "inf"}, "expected a whole number for factors, found 'inf'"),
        ("svd", {"factors": 0}, "expected factors to be 1 or more, found 0"),
        ("rescal", {"decay": "much"}, "expected a number for decay, found 'much'"),
        ("rescal", {"decay": "nan"}, "expected decay to be 0.001 or more, found nan"),
        ("rules", {"aggregate": "sum"}, "expected aggregate to be one of max, noisy-or, found 'sum'"),
        ("rules", {"seed": -1}, "expected seed to be a whole number from 0 on, found -1"),
    ],
)
def test_what_cannot_be_fitted_says_why(name, options, message):
    with pytest.raises(KgtrecError) as caught:
        fit_baseline(name, Triples.of([("a", "r", "b")]), **options)
    assert str(caught.value) == message


def test_no_train_facts_is_an_error():
    with pytest.raises(KgtrecError, match=r"^expected train triples to fit svd to, found none$"):
        fit_baseline("svd", Triples.of([]))


def test_questions_over_other_entities_are_refused():
    model = fit_baseline("popularity", Triples.of([("a", "r", "b")]))
    asked = questions_on(Triples.of([("c", "r", "d")]), [("c", "r", None)])
    with pytest.raises(CollectionError, match="popularity"):
        model.scores(asked, np.array([0]))


@pytest.mark.parametrize("name", BASELINES)
def test_every_record_says_what_it_is_and_whence(name):
    record = baseline(name)
    assert record.name == name
    assert record.description.endswith(".")
    assert record.source
    assert all(option.description for option in record.options.values())
    assert record.settings({key: str(option.default) for key, option in record.options.items()}) == record.settings({})
