"""Answers below the ends of cut lists: the least and the most that a measure can be."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.collection import Collection
from kgtrec.errors import CollectionError, KgtrecWarning, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.matching import match
from kgtrec.measures.names import parse_measure
from kgtrec.measures.registry import registered
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import RankedLists
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.laws.tables import names, spelled
from tests.ranking.test_lists import lists_of as lists_of_kind
from tests.ranking.test_lists import with_answers_that_share_places

MEASURES = names("""
    micro.MR micro.MRR micro.Hits@2 micro.AMRI macro.MR macro.MRR macro.Hits@2 AP@3 nDCG@3 RBP(p=0.8)
""")
WITH_PARAMETERS = ("AP(rel=2)", "AP(rel=0)", "P(judged_only=True)@2", "nDCG(judged_only=True)", "nDCG(gains={1:4})@3")
OF_QRELS = [
    parse_measure(name)
    for names in (*(spelled(each) for each in registered() if each.weighting != "relation"), WITH_PARAMETERS)
    for name in names  # weights of relations need a collection
]


def lists_of(collection, scores, length):
    """The first ``length`` candidates of each question, for all its answers."""
    questions = collection.questions
    n = len(scores)
    filtered = np.zeros(scores.shape, np.bool_)
    filtered[collection.filtered.question, collection.filtered.entity] = True
    filtered[collection.qrels.question, collection.qrels.entity] &= collection.qrels.grade < 1
    listed = [[e for e in np.argsort(-row, kind="stable") if not filtered[q, e]] for q, row in enumerate(scores)]
    cut = [each[:length] for each in listed]
    starts = np.cumsum([0, *map(len, cut)])
    entity = np.array(list(itertools.chain(*cut)), np.int32)
    level = np.concatenate([-scores[q, each] for q, each in enumerate(cut)]) if len(entity) else np.zeros(0)
    return listed, RankedLists(
        "lists",
        collection.entities,
        collection.relations,
        questions.is_head,
        questions.anchor,
        questions.relation,
        np.full(n, -1, np.int32),
        starts,
        entity,
        np.unique(level, return_inverse=True)[1].astype(np.int64),
    )


def quietly(*arguments, **options):
    with unwarned():
        return evaluate(*arguments, **options)


def value_and_ends(scores):
    """Of each measure."""
    return [(scores.values if each is None else each).ravel() for each in (scores.values, scores.least, scores.most)]


@st.composite
def worlds(draw, most_questions=3, most_entities=7):
    n, width = draw(st.integers(1, most_questions)), draw(st.integers(3, most_entities))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = [(q, e) for q in range(n) for e in range(width)]
    grades = {pair: int(rng.integers(0, 3)) for pair in pairs if rng.random() < 0.5}
    grades |= {(q, 0): 1 for q in range(n)}
    filtered = {(*pair, int(rng.integers(3))) for pair in pairs if rng.random() < 0.2}
    scores = rng.permutation(n * width).reshape(n, width).astype(float)
    return collection_of(n, width, grades, filtered), scores, draw(st.integers(0, width))


@dataclass(frozen=True)
class CutWorld:
    """Lists of one kind, cut anywhere: for each question, or for each answer; with ties, and whatever is filtered."""

    before: Collection  # for which they were made
    after: Collection  # the same questions, and later judgements
    scores: np.ndarray  # from which they come
    lists: RankedLists
    filtered_by: tuple[str, ...]
    each: bool
    has_ties: bool

    def cut(self, collection, **options):
        options |= {"filtered_by": self.filtered_by, "depth": 0}
        with unwarned():
            return replace(rank_system(collection, self.lists, **options).answer_ranks, collection="")

    def whole(self, collection):
        options = {"filtered_by": self.filtered_by, "depth": 0}
        ranked = rank_scores(collection, self.scores, questions=collection, entities=collection, **options)
        return replace(ranked.answer_ranks, collection="")


@st.composite
def cut_worlds(draw, kinds=(False, True), ties=(False, True), later=(False, True)):
    n, each, has_ties = draw(st.integers(1, 3)), draw(st.sampled_from(kinds)), draw(st.sampled_from(ties))
    width = draw(st.integers(max(n, 2), 7))
    least, most = draw(st.sampled_from([(0, 1), (0, 2), (-1, 1), (-1, 3)]))
    filtered_by = draw(st.sampled_from([("train", "valid", "test"), ("test",), ("train", "valid"), ()]))
    density, of_filtered = draw(st.sampled_from([0.1, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.2, 0.5]))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    pairs = [(q, e) for q in range(n) for e in range(width)]
    grades = {pair: int(rng.integers(least, most + 1)) for pair in pairs if rng.random() < density}
    grades |= {(q, 0): 1 for q in range(n)}
    filtered = {(*pair, int(rng.integers(3))) for pair in pairs if rng.random() < of_filtered}
    before = after = collection_of(n, width, grades, filtered)
    if draw(st.sampled_from(later)):
        more = {pair: int(rng.integers(least, most + 1)) for pair in pairs}
        more |= {(q, e): grades.get((q, e), 0) for q, e, _ in filtered}
        # lists of single answers do not say where another answer was that is none any more
        more |= {pair: grade for pair, grade in grades.items() if each and grade >= 1}
        after = collection_of(n, width, more | {(q, 0): 1 for q in range(n)}, filtered)
    scores = rng.integers(0, 4, (n, width)) if has_ties else rng.permutation(n * width).reshape(n, width)
    if each:
        scores = with_answers_that_share_places(before, scores, filtered_by)
    lists = lists_of_kind(before, scores, each=each, length=lambda rng: int(rng.integers(0, width + 1)), seed=seed)
    return CutWorld(before, after, scores.astype(float), lists, filtered_by, each, has_ties)


def cannot_be_ranked_again(ranks, qrels):
    """Whether an earlier answer below the end of its list may tie with what is at the end and above it."""
    of_qrels = zip(qrels.question.tolist(), qrels.entity.tolist(), qrels.grade.tolist(), strict=True)
    answers = {(question, entity) for question, entity, grade in of_qrels if grade >= 1}
    pairs = zip(ranks.question.tolist(), ranks.entity.tolist(), strict=True)
    gone = ranks.cut & ranks.answer & np.array([pair not in answers for pair in pairs])
    reach = dict(zip(ranks.question[gone].tolist(), ranks.above[gone].tolist(), strict=True))
    known = [column[~ranks.cut].tolist() for column in (ranks.question, ranks.above, ranks.score)]
    number = Counter(zip(known[0], known[2], strict=True))
    rows = zip(*known, strict=True)
    return any(reach.get(q) == above and (score == -(above + 1) or number[q, score] > 1) for q, above, score in rows)


def tie_across_the_end(cut, whole):
    """Whether an entity below the end of its list ties, in truth, with one that is above the end."""
    keys = zip(cut.question.tolist(), cut.entity.tolist(), strict=True)
    is_below = dict(zip(keys, cut.cut.tolist(), strict=True))
    rows = zip(whole.question.tolist(), whole.entity.tolist(), whole.score.tolist(), strict=True)
    kinds = {(question, score, is_below[question, entity]) for question, entity, score in rows}
    return any((question, score, not below) in kinds for question, score, below in kinds)


@given(cut_worlds(), st.sampled_from(["realistic", "optimistic", "pessimistic", "expected", "nondeterministic"]))
@settings(deadline=None)
def test_the_value_of_the_whole_list_is_between_the_least_and_the_most(world, ties):
    """Whatever is below the cut, and so is the value of the cut list; with the answers of then, or with later ones.

    Measures that count what is judged, such as Judged@k, have no ends. Those of grades have none where an answer below
    the end may tie with one above it, or be above one in a longer list. Lists of single answers lack their order. A
    random order of those that are known to tie is not that of a tie with more of them below the end.
    """
    qrels = replace(world.after.qrels, collection="")
    is_binary = qrels.grade.max() <= 1
    measures = [
        measure
        for measure in OF_QRELS
        if (ties != "expected" or measure.record.expected is not None)
        and (is_binary or not measure.record.binary)
        and not (world.each and measure.sees_grades and not is_binary)
        and not (world.each and measure.items == "answers" and "test" not in world.filtered_by)
    ]
    cut = world.cut(world.before, judged=qrels if world.after is not world.before else None)
    whole = world.whole(world.after)
    exact = quietly(qrels, whole, measures, ties=ties).values.ravel()
    is_drawn_again = ties == "nondeterministic" and tie_across_the_end(cut, whole)
    if cannot_be_ranked_again(cut, qrels):
        with pytest.raises(CollectionError, match="expected earlier answers whose places are known"):
            quietly(qrels, cut, measures, ties=ties)
        return
    found = quietly(qrels, cut, measures, ties=ties)
    value, least, most = value_and_ends(found)
    for number, measure in enumerate(measures):
        ends = least[number], most[number]
        has_none = found.least is not None and not measure.by_relevance(int(qrels.grade.max()))
        if has_none or (np.isnan(ends).all() and measure.sees_grades and not is_binary and world.has_ties):
            assert np.isnan(ends).all(), measure.label
        elif np.isnan(exact[number]):  # such as the AMRI where each answer is the only candidate
            assert np.isnan([*ends, value[number]]).all(), measure.label
        else:
            room = 1e-9 * max(1, abs(exact[number]))
            assert is_drawn_again or ends[0] - room <= exact[number] <= ends[1] + room, measure.label
            assert ends[0] - room <= value[number] <= ends[1] + room, measure.label


@pytest.mark.slow
@given(worlds(most_questions=1, most_entities=6))
@settings(deadline=None, max_examples=examples(30))
def test_the_least_and_the_most_are_those_of_some_order_of_the_rest(world):
    """Of all orders that what is below the cut can have, one gives either."""
    collection, scores, length = world
    listed, lists = lists_of(collection, scores, length)
    with unwarned():
        cut = rank_system(collection, lists).answer_ranks
    found = quietly(collection, cut, MEASURES)
    rest = listed[0][length:]
    values = []
    for order in itertools.permutations(rest):
        other = np.full(scores.shape, -np.inf)
        for place, entity in enumerate((*listed[0][:length], *order)):
            other[0, entity] = -place
        whole = rank_scores(collection, other, questions=collection, entities=collection, depth=0)
        values.append(quietly(collection, whole, MEASURES).values)
    low, high = np.min(values, axis=0), np.max(values, axis=0)
    np.testing.assert_allclose(found.values if found.least is None else found.least, low)
    np.testing.assert_allclose(found.values if found.most is None else found.most, high)


def test_an_answer_below_the_cut_by_hand():
    """Of ten candidates three are listed: the answer is fourth at best and tenth at worst."""
    collection = collection_of(1, 10, {(0, 9): 1}, set())
    _, lists = lists_of(collection, -np.arange(10.0)[None], 3)
    ranks = rank_system(collection, lists).answer_ranks
    with pytest.warns(KgtrecWarning, match="1 of 1 answers are below the ends of its lists"):
        scores = evaluate(collection, ranks, ["micro.MR", "micro.MRR"])
    assert scores.least.ravel().tolist() == [4, 1 / 10]
    assert scores.most.ravel().tolist() == [10, 1 / 4]
    assert scores.values.ravel().tolist() == [7, 1 / 7]
    frame = scores.to_frame()
    assert list(frame.columns) == ["system", "measure", "value", "least", "most"]


def positions(ranks, qrels, below, ties="realistic"):
    """Of each judged entity of one question the first position of the group that it ties with, and the last."""
    places = match(ranks, qrels, ties, below=below).places
    last = places.first + places.size - 1
    columns = (each.tolist() for each in (qrels.entity[places.judged], places.first, last))
    return {entity: ends for entity, *ends in zip(*columns, strict=True)}


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_what_is_judged_wrong_below_the_cut_ties_by_hand():
    """Nothing is listed: the two wrong ones tie for the last two positions, or for the first two."""
    collection = collection_of(1, 3, {(0, 0): 1, (0, 1): 0, (0, 2): 0})
    ranks = rank_system(collection, lists_of(collection, np.array([[2.0, 1.0, 0.0]]), 0)[1]).answer_ranks
    assert positions(ranks, collection.qrels, "best") == {0: [1, 1], 1: [2, 2], 2: [3, 3]}
    assert positions(ranks, collection.qrels, "worst") == {0: [3, 3], 1: [1, 1], 2: [2, 2]}
    for below, answer, others in (("best", 1, {2, 3}), ("worst", 3, {1, 2})):
        found = match(ranks, collection.qrels, "nondeterministic", below=below)
        place = dict(zip(found.places.judged.tolist(), found.places.position.tolist(), strict=True))
        assert place[0] == found.answers.rank[0] == answer
        assert {place[1], place[2]} == others


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_an_answer_that_is_the_only_candidate_by_hand():
    """The other two are filtered: the rank is 1, and AMRI = 1 - (1 - 1) / (1 - 1) stays undefined."""
    collection = collection_of(1, 3, {(0, 0): 1}, {(0, 1, 0), (0, 2, 1)})
    ranks = rank_system(collection, lists_of(collection, np.zeros((1, 3)), 0)[1]).answer_ranks
    scores = evaluate(collection, ranks, ["micro.MR", "micro.AMRI"])
    assert scores.least is None
    np.testing.assert_array_equal(scores.values.ravel(), [1, np.nan])


def lists_by_hand(collection, *rows):
    """Of the one question: the answer that each list was made for, or -1, and its levels."""
    entity = [code for _, levels in rows for level in levels for code in level]
    level = [number for _, levels in rows for number, level in enumerate(levels) for _ in level]
    length = [sum(map(len, levels)) for _, levels in rows]
    nought = np.zeros(len(rows), np.int32)
    return RankedLists(
        "lists",
        collection.entities,
        collection.relations,
        nought > 0,
        nought,
        nought,
        np.array([answer for answer, _ in rows], np.int32),
        np.cumsum([0, *length]),
        np.array(entity, np.int32),
        np.array(level, np.int64),
    )


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_lists_of_different_lengths_by_hand():
    """Of answers a, b and others x, y, z, a's list has x, a, y and b's nothing: b is first at best, and a then third.

    Whether b is above a is not known. If a has the higher grade, nDCG is neither highest nor lowest at the ends.
    """
    binary = collection_of(1, 5, {(0, 0): 1, (0, 1): 1})
    graded = collection_of(1, 5, {(0, 0): 2, (0, 1): 1})
    rows = (0, [[2], [0], [3]]), (1, [])
    ranks = rank_system(binary, lists_by_hand(binary, *rows)).answer_ranks
    assert ranks.above.tolist() == [1, 0]
    assert ranks.cut.tolist() == [False, True]
    assert positions(ranks, binary.qrels, "best") == {0: [3, 3], 1: [1, 1]}
    assert positions(ranks, binary.qrels, "worst") == {0: [2, 2], 1: [5, 5]}
    assert positions(ranks, binary.qrels, None) == {0: [2, 2], 1: [3, 5]}
    scores = evaluate(binary, ranks, ["AP", "nDCG", "Judged@2"])
    np.testing.assert_allclose(scores.least.ravel()[0], (1 / 2 + 2 / 5) / 2)
    np.testing.assert_allclose(scores.most.ravel()[0], (1 + 2 / 3) / 2)
    assert np.isnan(scores.least.ravel()).tolist() == [False, False, True]
    assert scores.tables()[0].note.endswith("below the ends of lists; not known for Judged@2")
    ranks = rank_system(graded, lists_by_hand(graded, *rows)).answer_ranks
    scores = evaluate(graded, ranks, ["AP", "AP(rel=2)", "nDCG"])
    assert np.isnan(scores.least.ravel()).tolist() == [False, True, True]


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_raw_ranks_below_the_cut_by_hand():
    """Of answers a, b and others x, y only x is listed: either answer alone is second at best, and fourth at worst."""
    collection = collection_of(1, 4, {(0, 0): 1, (0, 1): 1})
    ranks = rank_system(collection, lists_by_hand(collection, (-1, [[2]])), filtered_by=("train", "valid")).answer_ranks
    for ties, value in (("realistic", 3), ("optimistic", 2), ("pessimistic", 4), ("expected", 3)):
        scores = evaluate(collection, ranks, "micro.MR", per="answer", ties=ties)
        assert scores.least.ravel().tolist() == [2, 2]
        assert scores.most.ravel().tolist() == [4, 4]
        assert scores.values.ravel().tolist() == [value, value]


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
def test_an_answer_that_may_tie_with_the_end_of_its_list_by_hand():
    """The list ends in a tie of a and x, who is filtered by train. Answer b may tie with them, or be below."""
    collection = collection_of(1, 3, {(0, 0): 1, (0, 1): 1}, {(0, 2, 0)})
    ranks = rank_system(collection, lists_by_hand(collection, (-1, [[0, 2]]))).answer_ranks
    assert ranks.cut.tolist() == [False, True]
    assert positions(ranks, collection.qrels, "best") == {0: [2, 2], 1: [1, 1]}
    assert positions(ranks, collection.qrels, "worst") == {0: [1, 1], 1: [2, 2]}
    # b is an answer no more: whether it ties with a or is below decides a's rank
    later = replace(collection.qrels, grade=np.array([1, 0], np.int32))
    with pytest.raises(CollectionError, match=r"found 1 below the ends of cut lists, such as \(tail0, e1\)"):
        evaluate(later, ranks, "micro.MRR")


@pytest.mark.slow
@given(cut_worlds(kinds=[False], ties=[False], later=[True]))
@settings(deadline=None)
def test_later_qrels_give_what_ranking_the_lists_again_gives(world):
    """Answers that are judged later, and earlier ones that are judged wrong, whether listed or below the end."""
    qrels = replace(world.after.qrels, collection="")
    measures = [measure for measure in OF_QRELS if not measure.record.binary]
    found = value_and_ends(quietly(qrels, world.cut(world.before, judged=qrels), measures))
    expected = value_and_ends(quietly(qrels, world.cut(world.after), measures))
    for one, other in zip(found, expected, strict=True):
        apart = ~np.isclose(one, other, equal_nan=True)
        assert [measure.label for measure, differs in zip(measures, apart, strict=True) if differs] == []
