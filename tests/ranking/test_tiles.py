"""Ranking by tiles: the same as ranking the whole matrix, whatever the cut."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data import arrays
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.kernels.ranking import panels
from kgtrec.kernels.ranking.comparisons import PRODUCT, MinusModuli, MinusNorm, MinusSquares, Product
from kgtrec.ranking import grid as module
from kgtrec.ranking import tiles
from kgtrec.ranking.grid import Grid
from kgtrec.ranking.mapping import mapped
from kgtrec.ranking.options import RankOptions
from kgtrec.ranking.rank import Plan, joined, rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.ranking.tiles import Tiling, count_tile
from kgtrec.systems.kinds import Factors
from tests.collections_by_hand import collection_of
from tests.executors import threads

COMPARISONS = {
    "product": PRODUCT,
    "bounded": Product(2.0),
    "squares": MinusSquares(),
    "norm-1": MinusNorm(1.0),
    "norm-3": MinusNorm(3.0),
    "moduli": MinusModuli(),
}
SPLITS = ("train", "valid", "test")


def world(rng, n_questions, n_entities):
    """A collection with answers, judged pairs and filtered triples at random."""
    pairs = [(q, e) for q in range(n_questions) for e in range(n_entities)]
    grades = {pair: int(rng.integers(0, 2)) for pair in pairs if rng.random() < 0.2}
    grades |= {(q, int(rng.integers(n_entities))): 1 for q in range(n_questions)}
    filtered = {(*pair, int(rng.integers(3))) for pair in pairs if rng.random() < 0.1}
    share = rng.choice([0.1, 0.6])
    candidates = {(relation, e) for relation in range(2) for e in range(n_entities) if rng.random() < share}
    return collection_of(n_questions, n_entities, grades, filtered, candidates if rng.random() < 0.5 else None)


def model(rng, collection, comparison, n_unknown=0, n_extra=0, dtype=np.float32):
    """Factors with few levels, so that scores tie; without some of the collection's entities, with some others."""
    anchors = set(collection.questions.anchor.tolist())
    own = [label for code, label in enumerate(collection.entities) if code in anchors]
    rest = [label for code, label in enumerate(collection.entities) if code not in anchors]
    labels = own + rest[min(n_unknown, len(rest)) :] + [f"other{number}" for number in range(n_extra)]
    labels = [labels[place] for place in rng.permutation(len(labels))]
    E = rng.integers(-2, 3, (len(labels), 4)).astype(dtype)
    b = rng.integers(-1, 2, len(labels)).astype(dtype) if rng.random() < 0.5 else None
    R = rng.normal(size=(len(collection.relations), 4)).round(1)
    queries = [lambda anchor, relation, sign=sign: E[anchor] * R[relation] * sign for sign in (1, -1)]
    return Factors("made", Vocabulary.of(labels), collection.relations, E, b, *queries, comparison)


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        return call(*arguments, **options)


def grid_of(collection, factors, tiling, depth, filtered_by=SPLITS):
    plan = Plan.of(collection, RankOptions(unknown_entities="last", filtered_by=filtered_by, depth=depth))
    return Grid(factors, quietly(mapped, factors, collection, plan.options), plan, tiling)


def whole_matrix(grid, collection, factors):
    """The scores of all blocks in one matrix, in the collection's order, computed panel by panel."""
    scores = np.full((len(collection.questions), len(collection.entities)), -np.inf, np.float32)
    own = factors.entities.encode(collection.entities.labels)
    for number in range(len(grid)):
        block = grid.block(number)
        if block.queries is not None:
            found = panels.scores_of(grid.candidates.vectors, block.queries, panel=grid.tiling.panel)
            scores[np.ix_(block.rows, np.flatnonzero(own >= 0))] = found[:, own[own >= 0]]
    return scores


def columns(ranked):
    ranks = {
        name: getattr(ranked.answer_ranks, name).tolist()
        for name in ranked.answer_ranks.__slots__[:8]
        if name != "name"
    }
    run = ranked.run
    return ranks, None if run is None else [getattr(run, name).tolist() for name in ("question", "entity", "score")]


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    comparison=st.sampled_from(sorted(COMPARISONS)),
    sizes=st.tuples(st.integers(1, 7), st.integers(2, 40)),
    cut=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 6)),
    depth=st.sampled_from([0, 1, 3, 100]),
    n_unknown=st.integers(0, 3),
    n_extra=st.integers(0, 3),
)
def test_any_cut_gives_what_the_whole_matrix_gives(seed, comparison, sizes, cut, depth, n_unknown, n_extra):
    """Ties, entities that the model lacks, others that the collection lacks; shards counted in any order."""
    rng = np.random.default_rng(seed)
    collection = world(rng, min(sizes), sizes[1])
    factors = model(rng, collection, COMPARISONS[comparison], n_unknown, n_extra)
    rows, n_panels, n_shards = cut
    filtered_by = SPLITS[: rng.integers(0, 4)]
    tiling = Tiling(rows, 4 * n_panels, n_shards, panel=4)
    grid = grid_of(collection, factors, tiling, depth, filtered_by)
    parts = []
    for number in rng.permutation(len(grid)):
        block, shards = grid.block(int(number)), tiling.shards(len(grid.candidates))
        counted = {}
        for place in rng.permutation(len(shards)):
            counted[place] = count_tile(grid.candidates, block, shards[place], tiling)
        parts.append(grid.ranked(block, grid.joined(block, [counted[place] for place in range(len(shards))])))
    found = joined(parts)
    scores = whole_matrix(grid, collection, factors)
    expected = rank_scores(
        collection, scores, questions=collection, entities=collection, depth=depth, filtered_by=filtered_by
    )
    assert columns(found) == columns(expected)


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), wrong=st.sampled_from([0.1, 0.5, 1.0]), n_shards=st.integers(1, 4))
def test_own_scores_that_differ_alone_are_counted_again(seed, wrong, n_shards):
    """Where a pair's score alone is not that of its panel, the panel's counts, whoever counts."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 5, 30)
    factors = model(rng, collection, PRODUCT)
    right = panels.pair_scores

    def often_wrong(*arguments):
        found = right(*arguments)
        return np.where(rng.random(len(found)) < wrong, np.nextafter(found, np.float32(np.inf)), found)

    with pytest.MonkeyPatch.context() as patch:
        expected = [*grid_of(collection, factors, Tiling(3, 32, panel=4), 5).parts()]
        patch.setattr(tiles, "pair_scores", often_wrong)
        grid = grid_of(collection, factors, Tiling(3, 4, n_shards, panel=4), 5)
        found = [[*grid.parts()], [*grid.parts(executor=threads)]]
    assert columns(joined(found[0])) == columns(joined(found[1])) == columns(joined(expected))


@pytest.mark.parametrize("comparison", sorted(COMPARISONS))
@settings(deadline=None)
@given(seed=st.integers(0, 2**32), dtype=st.sampled_from([np.float16, np.float32, np.float64]))
def test_a_pair_alone_scores_as_in_its_panel(comparison, seed, dtype):
    """But for the last digit of float32, in one of some hundred million."""
    rng = np.random.default_rng(seed)
    E, queries = rng.normal(size=(20, 6)).astype(dtype), rng.normal(size=(5, 6))
    vectors = panels.Vectors(E, rng.normal(size=20), COMPARISONS[comparison])
    row, entity = np.repeat(np.arange(5), 20), np.tile(np.arange(20), 5)
    alone = panels.pair_scores(vectors, queries[row], entity)
    np.testing.assert_allclose(alone, panels.scores_of(vectors, queries)[row, entity], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("wrong", "found"), [(np.nan, "NaN"), (1e39, r"\+inf")])
def test_nan_and_infinity_are_told_with_their_question_and_entity(wrong, found):
    """Also a score that is +inf only in float32."""
    rng = np.random.default_rng(0)
    collection = world(rng, 4, 12)
    factors = model(rng, collection, PRODUCT)
    E = factors.E.astype(np.float64)
    E[factors.entities.encode(["e7"])[0]] = wrong
    queries = [lambda anchor, relation: np.ones((len(anchor), 4))] * 2
    broken = Factors("made", factors.entities, factors.relations, E, None, *queries)
    with pytest.raises(KgtrecError, match=rf"found {found} for question '[a-z]+0', entity 'e7'"):
        rank_system(collection, broken)


@pytest.mark.parametrize(("n_entities", "rows", "expected"), [(14_541, None, 1), (2_500_604, None, 3), (9, 1, 1)])
def test_a_tile_has_a_few_hundred_million_scores_at_most(n_entities, rows, expected):
    """So that all workers have something to do where few questions meet many entities."""
    assert Tiling.of(n_entities, rows).n_shards == expected


def test_shards_begin_and_end_with_panels_and_hold_all():
    """Also where there are fewer panels than shards, or no entity at all."""
    assert Tiling(256, 1024, 3).shards(10_000) == [(0, 3072), (3072, 7168), (7168, 10_000)]
    assert Tiling(256, 1024, 8).shards(1500) == [(0, 1024), (1024, 1500)]
    assert Tiling(256, 1024, 8).shards(0) == [(0, 0)]


def test_a_block_is_counted_once_where_all_entities_are_scored_at_once(monkeypatch):
    """Then own scores are those of the block, and no pair is scored alone."""
    rng = np.random.default_rng(1)
    collection = world(rng, 4, 12)
    grid = grid_of(collection, model(rng, collection, PRODUCT), Tiling.of(12), 3)
    monkeypatch.setattr(tiles, "pair_scores", None)
    calls = []
    monkeypatch.setattr(module, "count_tile", lambda *arguments: calls.append(1) or count_tile(*arguments))
    assert all(len(part.answer_ranks) for part in grid.parts())
    assert len(calls) == len(grid)


def wide_model(rng, collection, change):
    """Factors in float64 of any numbers, changed, and the matrix of their scores in float64."""
    E, b = rng.normal(size=(len(collection.entities), 4)), rng.normal(size=len(collection.entities))
    E, b = change(E, b)
    R = rng.normal(size=(len(collection.relations), 4))
    queries = [lambda anchor, relation, sign=sign: R[relation] * np.cos(anchor + sign)[:, None] for sign in (1, -1)]
    factors = Factors("made", collection.entities, collection.relations, E, b, *queries)
    questions = collection.questions
    of_tails, of_heads = (make(questions.anchor, questions.relation) for make in queries)
    return factors, np.where(questions.is_head[:, None], of_heads, of_tails) @ E.T + b


#: case -> the change, and whether ranks survive rounding; None: with some numbers
WIDE = {
    "as they are": (lambda E, b: (E, b), True),
    **{f"b + 1e{n}": (lambda E, b, n=n: (E, b + 10.0**n), None if n < 8 else False) for n in (2, 3, 4, 6, 9, 12)},
    **{f"1e{n}": (lambda E, b, n=n: (E * 10.0**n, b * 10.0**n), None) for n in (-44, -40, -36)},
    **{f"1e{n}": (lambda E, b, n=n: (E * 10.0**n, b * 10.0**n), True) for n in (-30, -6, 6, 30)},
    **{f"1e{n}": (lambda E, b, n=n: (E * 10.0**n, b * 10.0**n), False) for n in (-200, -60)},
    "down to minus infinity": (lambda E, b: (E, -(10.0 ** (60 + b))), False),
    "equal vectors, b + 1e9": (lambda E, b: (np.ones_like(E), np.full_like(b, 1e9)), True),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WIDE)
@pytest.mark.parametrize("n_shards", [1, 3])
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_wide_factors_rank_as_their_matrix_in_float64_or_are_refused(case, n_shards, seed):
    """Where rounding to float32 ties, overflows or underflows what differs in float64, an error; real ties stay."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 6, 30)
    change, survives = WIDE[case]
    factors, matrix = wide_model(rng, collection, change)
    grid = grid_of(collection, factors, Tiling(3, 8, n_shards, panel=4), 5)
    try:
        found = joined(quietly(lambda: [*grid.parts()])).answer_ranks
    except KgtrecError as error:
        assert "expected scores that differ in float32 where they differ in float64, found" in str(error)  # noqa: PT017
        assert not survives
        return
    assert survives is not False
    if "equal" not in case:  # whose scores may differ in the last digit of float64
        expected = rank_scores(collection, matrix, questions=collection, entities=collection).answer_ranks
        own = found.answer
        for name in ("above", "tied", "n_other"):
            assert getattr(found, name)[own].tolist() == getattr(expected, name)[own].tolist()


@pytest.mark.parametrize("which", ["E", "b", "queries", "none"])
def test_only_wide_numbers_are_looked_at_again(which, monkeypatch):
    """Factors in float16 and float32 are ranked as before, and as fast."""
    rng = np.random.default_rng(2)
    collection, n = world(rng, 4, 12), 12
    types = {name: np.float64 if name == which else np.float32 for name in ("E", "b", "queries")}
    queries = [lambda anchor, relation: np.ones((len(anchor), 2), types["queries"])] * 2
    E, b = np.ones((n, 2), types["E"]), np.arange(n).astype(types["b"])
    factors = Factors("made", collection.entities, collection.relations, E, b, *queries)
    calls = []
    monkeypatch.setattr(tiles, "tied_by_rounding", lambda *arguments: calls.append(arguments) or 0)
    rank_system(collection, factors)
    assert bool(calls) == (which != "none")


def test_a_few_answers_that_tie_by_rounding_far_down_are_noted(monkeypatch):
    """Where ranks move by less than one in a hundred thousand, as they do in most systems of common size."""
    rng = np.random.default_rng(3)
    collection = world(rng, 2, 30)
    factors, _ = wide_model(rng, collection, lambda E, b: (np.ones_like(E), np.ones_like(b)))
    monkeypatch.setattr(arrays, "_MOST_MOVED", 1e9)
    grid = grid_of(collection, factors, Tiling(3, 8, panel=4), 0)
    monkeypatch.setattr(tiles, "tied_by_rounding", lambda *arguments: np.arange(len(arguments[5])) == 0)
    with pytest.warns(KgtrecWarning, match=r"made:.*scores"):
        list(grid.parts())
