"""Ranked lists and ranks of triples against the scores that they come from."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import RankedLists, TripleRanks
from tests.collections_by_hand import collection_of
from tests.ranking.test_rank import judged_qrels, rank_rows, takes
from tests.ranking.test_rank import worlds as any_worlds

SPLITS = ("train", "valid", "test")
MACRO = ("macro.MRR", "macro.Hits@3", "AP", "nDCG@3", "micro.MRR", "micro.MR")


def worlds():
    """Those whose questions have anchors among the entities, as all real ones do."""
    return any_worlds().filter(lambda world: world[1].shape[0] <= world[1].shape[1])


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        return function(*arguments, **options)


def answers_of(collection):
    """The answers of each question."""
    qrels = collection.qrels
    pairs = zip(qrels.question.tolist(), qrels.entity.tolist(), qrels.grade.tolist(), strict=True)
    found = [set() for _ in range(len(collection.questions))]
    for question, entity, grade in pairs:
        if grade >= 1:
            found[question].add(entity)
    return found


def lists_of(collection, scores, *, without=(), each=False, length=None, seed=0):
    """Ranked lists of scores under vocabularies of their own.

    without: pairs (question, entity) that no list has; each: one list for each answer, without the other answers;
    length: how many entities each list holds, or one more, so that none ends with one entity of several that tie.
    """
    rng = np.random.default_rng(seed)
    entities, relations = collection.entities, collection.relations
    order = rng.permutation(len(entities) + 1)
    labels = [*entities, "of the system alone"]
    own = Vocabulary.of([labels[code] for code in order])
    code_of = np.argsort(order)
    lists = []
    for question, answers in enumerate(answers_of(collection)):
        if each and answers:
            lists += [(question, answer, answers - {answer}) for answer in sorted(answers)]
        else:
            lists.append((question, -1, set()))
    rng.shuffle(lists)
    asked, entity, level, start = [], [], [], [0]
    for question, answer, left_out in lists:
        row = scores[question]
        listed = [e for e in range(len(row)) if e not in left_out and (question, e) not in without]
        rng.shuffle(listed)
        listed.sort(key=lambda e, row=row: -row[e])
        if length is not None:
            end = min(length(rng), len(listed))
            tied = [place for place, e in enumerate(listed) if end and row[e] == row[listed[end - 1]]]
            listed = listed[: end + (len(tied) > 1 and tied[0] == end - 1)]
        values = sorted({float(row[e]) for e in listed}, reverse=True)
        asked.append((question, answer))
        entity += [code_of[e] for e in listed]
        level += [values.index(float(row[e])) for e in listed]
        start.append(len(entity))
    question = np.array([q for q, _ in asked], np.int64)
    answer = np.array([a for _, a in asked], np.int64)
    own_questions = collection.questions
    return RankedLists(
        "lists",
        own,
        relations,
        own_questions.is_head[question],
        code_of[own_questions.anchor[question]].astype(np.int32),
        own_questions.relation[question],
        np.where(answer >= 0, code_of[answer], -1).astype(np.int32),
        np.array(start),
        np.array(entity, np.int32),
        np.array(level, np.int64),
    )


def filtered_pairs(collection, filtered_by):
    filtered = collection.filtered
    rows = zip(filtered.question.tolist(), filtered.entity.tolist(), filtered.split.tolist(), strict=True)
    return {(q, e) for q, e, split in rows if SPLITS[split] in filtered_by}


def without_answers(collection, pairs):
    answers = answers_of(collection)
    return {(q, e) for q, e in pairs if e not in answers[q]}


def options_of(collection, filtered_by, judged):
    return {"filtered_by": tuple(filtered_by), "judged": judged_qrels(collection, sorted(judged)) if judged else None}


def with_answers_that_share_places(collection, scores, filtered_by):
    """The scores, where answers of a question tie if no other candidate is between them, as single lists have it."""
    answers, filtered = answers_of(collection), filtered_pairs(collection, filtered_by)
    merged = scores.astype(np.float64)
    for question, row in enumerate(merged):
        out = {e for e in range(len(row)) if (question, e) in filtered or not takes(collection, question, e)}
        others = [row[e] for e in range(len(row)) if e not in answers[question] | out]
        for entity in answers[question]:
            if row[entity] not in others:
                row[entity] = sum(score < row[entity] for score in others) - 100.5  # between two candidates
        for entity in range(len(row)):
            if entity not in answers[question] or row[entity] in others:
                row[entity] = sum(score < row[entity] for score in others) - 100
    return merged


def at_open_ends(scores, answers, left_out, each):
    """Entities in ties of several, which may go on, at the end of every list that has them."""
    lists = [(answer, answers - {answer}) for answer in answers] if each and answers else [(None, set())]
    found = {}
    for answer, others in lists:
        listed = [e for e in range(len(scores)) if e not in others | left_out]
        last = [e for e in listed if scores[e] == min(scores[listed])]
        for e in listed:
            if answer in (None, e) or e not in answers:
                found.setdefault(e, []).append(e in last and len(last) > 1)
    return {e for e, is_open in found.items() if all(is_open)}


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(worlds(), st.booleans(), st.integers(0, 2**32))
def test_whole_lists_give_the_ranks_of_their_scores(world, each, seed):
    """One list for all answers or one for each, other answers left out, filtered answers listed or not: same counts."""
    collection, scores, filtered_by, judged, _ = world
    lists = lists_of(collection, scores, each=each, seed=seed)
    options = options_of(collection, filtered_by, judged)
    found = quietly(rank_system, collection, lists, depth=0, **options).answer_ranks
    expected = rank_scores(collection, scores, questions=collection, entities=collection, depth=0, **options)
    assert [row[:6] for row in rank_rows(found)] == [row[:6] for row in rank_rows(expected.answer_ranks)]
    assert not found.cut.any()
    filtered = without_answers(collection, filtered_pairs(collection, filtered_by))
    shorter = lists_of(collection, scores, without=filtered, each=each, seed=seed)
    again = quietly(rank_system, collection, shorter, depth=0, **options).answer_ranks
    for own, row, cut in zip(rank_rows(again), rank_rows(expected.answer_ranks), again.cut, strict=True):
        if row[:2] in filtered:  # nobody knows where a judged pair stands that the lists leave out
            assert own[:6] == (*row[:3], 0, row[5], row[5])
            ranked = {r[1] for r in rank_rows(again) if r[0] == row[0]}
            left_out = {e for q, e in filtered if q == row[0]}
            # the entities whose place among those at the end of a list nobody knows
            unplaced = ranked & (
                left_out | at_open_ends(scores[row[0]], answers_of(collection)[row[0]], left_out, each)
            )
            assert cut == (row[5] > 0 or len(unplaced) > 1)
        else:
            assert own[:6] == row[:6]
            assert not cut


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(worlds(), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_a_cut_list_is_exact_above_its_end_and_bounds_what_is_below(world, each, filtered, seed):
    """The exact rank of an answer that its list lacks is from above + 1 to above + tied + 1."""
    collection, scores, filtered_by, judged, _ = world
    left_out = without_answers(collection, filtered_pairs(collection, filtered_by)) if filtered else set()
    lists = lists_of(
        collection,
        scores,
        without=left_out,
        each=each,
        length=lambda rng: int(rng.integers(0, scores.shape[1] + 1)),
        seed=seed,
    )
    options = options_of(collection, filtered_by, judged)
    found = quietly(rank_system, collection, lists, depth=0, **options).answer_ranks
    exact = rank_scores(collection, scores, questions=collection, entities=collection, depth=0, **options).answer_ranks
    assert [row[:3] for row in rank_rows(found)] == [row[:3] for row in rank_rows(exact)]
    assert found.n_other.tolist() == exact.n_other.tolist()
    assert (found.above <= exact.above).all()
    assert (found.above + found.tied >= exact.above + exact.tied).all()
    ends = lists.level[np.maximum(lists.start[1:] - 1, 0)] if len(lists.level) else lists.start[1:]
    length = np.diff(lists.start)
    of_list = np.repeat(np.arange(len(length)), length)
    is_inside = lists.level < ends[of_list]
    anchor = lists.entities.encode(collection.entities.labels)[collection.questions.anchor]
    inside = {
        (int(lists.anchor[own]), lists.entities[entity])
        for own, entity in zip(of_list[is_inside], lists.entity[is_inside], strict=True)
    }
    for own, row, cut in zip(rank_rows(found), rank_rows(exact), found.cut, strict=True):
        if (int(anchor[row[0]]), collection.entities[row[1]]) in inside:
            assert not cut
        if not cut:
            assert own[:6] == row[:6]


@settings(deadline=None)
@given(worlds(), st.integers(1, 16), st.integers(0, 2**32))
def test_whole_lists_give_the_run_and_the_macro_measures_of_their_scores(world, depth, seed):
    """The same entities in the same order, cut at the same depth; and the same numbers of every kind."""
    collection, scores, filtered_by, _, _ = world
    options = options_of(collection, filtered_by, None)
    lists = lists_of(collection, scores, seed=seed)
    found = quietly(rank_system, collection, lists, depth=depth, **options)
    expected = rank_scores(collection, scores, questions=collection, entities=collection, depth=depth, **options)
    assert found.run.question.tolist() == expected.run.question.tolist()
    assert found.run.entity.tolist() == expected.run.entity.tolist()
    assert found.run.filtered_by == expected.run.filtered_by
    assert found.run.collection == collection.stamp
    if any(answers_of(collection)):
        numbers = [
            quietly(evaluate, collection, ranked.answer_ranks, measures=MACRO).values for ranked in (found, expected)
        ]
        np.testing.assert_array_equal(*numbers)


@settings(deadline=None)
@given(worlds(), st.integers(0, 2**32))
def test_lists_of_single_answers_give_the_macro_measures_where_no_two_share_a_place(world, seed):
    """What two answers have between the same two candidates is not in the lists: they tie, and nothing else changes."""
    collection, scores, filtered_by, _, _ = world
    merged = with_answers_that_share_places(collection, scores, filtered_by)
    options = options_of(collection, filtered_by, None)
    lists = lists_of(collection, scores, each=True, seed=seed)
    found = quietly(rank_system, collection, lists, **options)
    expected = rank_scores(collection, merged, questions=collection, entities=collection, **options)
    if any(answers_of(collection)):
        numbers = [
            quietly(evaluate, collection, ranked.answer_ranks, measures=MACRO).values for ranked in (found, expected)
        ]
        np.testing.assert_array_equal(*numbers)


# a collection of both sides


@st.composite
def graphs(draw):
    """A collection of random triples, with both sides."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_entities, n_relations = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    every = [(h, r, t) for h in range(n_entities) for r in range(n_relations) for t in range(n_entities)]
    chosen = [every[i] for i in rng.permutation(len(every))[: draw(st.integers(3, 40))]]
    split = np.r_[2, rng.integers(3, size=len(chosen) - 1)]  # there is a test triple
    parts = [
        Triples.of([(f"e{h}", f"r{r}", f"e{t}") for (h, r, t), own in zip(chosen, split, strict=True) if own == part])
        for part in range(3)
    ]
    collection = build_questions(*parts, unseen_entities="keep", unseen_relations="keep")
    scores = rng.integers(0, draw(st.integers(1, 6)) + 1, (len(collection.questions), len(collection.entities)))
    return collection, scores.astype(np.float64), rng


def triples_of(collection, ranks, rng, **more):
    """The ranks of answers as another program writes them: test triples in any order, with labels of its own order."""
    questions = collection.questions
    order = rng.permutation(len(ranks))
    question, entity = ranks.question[order], ranks.entity[order]
    is_head, anchor = questions.is_head[question], questions.anchor[question]
    places = rng.permutation(len(collection.entities))
    entities = Vocabulary.of([collection.entities[code] for code in places])
    code = np.argsort(places).astype(np.int32)
    return TripleRanks(
        "theirs",
        entities,
        collection.relations,
        is_head,
        code[np.where(is_head, entity, anchor)],
        questions.relation[question],
        code[np.where(is_head, anchor, entity)],
        ranks.above[order].astype(np.int64),
        ranks.tied[order].astype(np.int64),
        **{name: values[order] for name, values in more.items()},
    )


@settings(deadline=None)
@given(graphs(), st.sampled_from([SPLITS, ("test",), ("train", "test")]))
def test_ranks_of_triples_are_those_of_the_scores(graph, filtered_by):
    """In any order and under any numbers; what is asked for is told by the side."""
    collection, scores, rng = graph
    options = {"filtered_by": filtered_by, "depth": 0}
    exact = rank_scores(collection, scores, questions=collection, entities=collection, **options).answer_ranks
    theirs = triples_of(collection, exact, rng, candidates=exact.n_other.astype(np.int64) + 1)
    found = rank_system(collection, theirs, filtered_by=filtered_by)
    assert found.run is None
    assert [row[:6] for row in rank_rows(found.answer_ranks)] == [row[:6] for row in rank_rows(exact)]
    assert found.answer_ranks.filtered_by == exact.filtered_by
    numbers = [
        evaluate(collection, ranks, measures=["micro.MRR", "micro.MR"]).values for ranks in (found.answer_ranks, exact)
    ]
    np.testing.assert_array_equal(*numbers)


@settings(deadline=None)
@given(graphs(), st.sampled_from(["head", "tail"]), st.integers(0, 2**32))
def test_lists_of_one_side_are_those_of_both(graph, side, seed):
    """The rows of the side's questions, whatever else the lists answer."""
    collection, scores, _ = graph
    lists = lists_of(collection, scores, each=True, seed=seed)
    both, one = rank_system(collection, lists), rank_system(collection, lists, sides=[side])
    is_own = collection.questions.is_head[both.answer_ranks.question] == (side == "head")
    rows = rank_rows(both.answer_ranks)
    assert rank_rows(one.answer_ranks) == [row for row, own in zip(rows, is_own, strict=True) if own]
    assert (collection.questions.is_head[one.run.question] == (side == "head")).all()


@pytest.fixture
def kinship():
    """Ann is a parent of bob and cid; of whom is asked. Dot is a parent in train."""
    train = Triples.of([("dot", "parent", "ann"), ("dot", "parent", "eve"), ("ann", "likes", "eve")])
    test = Triples.of([("ann", "parent", "bob"), ("ann", "parent", "cid")])
    return build_questions(train, Triples.of([]), test, unseen_entities="keep")


def some_lists(collection, lists, *, levels=None, **fields):
    """Lists by label: (side, anchor, relation, answer or None, entities)."""
    labels = list(dict.fromkeys([label for row in lists for label in (row[1], row[3], *row[4]) if label]))
    entities, relations = Vocabulary.of(labels), Vocabulary.of(list(dict.fromkeys(row[2] for row in lists)))
    listed = [entities.encode(row[4]) if row[4] else np.zeros(0, np.int32) for row in lists]
    length = [len(own) for own in listed]
    return RankedLists(
        "lists",
        entities,
        relations,
        np.array([row[0] == "head" for row in lists]),
        entities.encode([row[1] for row in lists]),
        relations.encode([row[2] for row in lists]),
        np.array([-1 if row[3] is None else entities.encode([row[3]])[0] for row in lists], np.int32),
        np.concatenate([[0], np.cumsum(length)]),
        np.concatenate(listed) if listed else np.zeros(0, np.int32),
        np.concatenate([np.arange(n) for n in length]) if levels is None else np.array(levels),
        **fields,
    )


def by_label(collection, ranks):
    ids, names = collection.questions.ids, collection.entities
    return {
        (ids[q], names[e]): (int(above), int(tied), bool(cut))
        for q, e, above, tied, cut in zip(ranks.question, ranks.entity, ranks.above, ranks.tied, ranks.cut, strict=True)
    }


def tails_of_ann(collection, *rows, **fields):
    return some_lists(collection, [("tail", "ann", "parent", answer, listed) for answer, listed in rows], **fields)


def test_each_answer_has_its_place_in_the_list_that_was_made_for_it(kinship):
    """Bob stands below dot; cid, whose list ends before it, somewhere below dot and eve."""
    lists = tails_of_ann(kinship, ("bob", ["dot", "bob", "eve"]), ("cid", ["dot", "eve"]))
    ranks = rank_system(kinship, lists, sides=["tail"])
    assert by_label(kinship, ranks.answer_ranks) == {("tail0", "bob"): (1, 0, False), ("tail0", "cid"): (2, 1, True)}
    names = [kinship.entities[entity] for entity in ranks.run.entity]
    assert names == ["dot", "bob", "eve"]


def test_what_is_filtered_does_not_set_answers_apart_in_their_own_lists():
    """Answers a and b are above the one candidate d; c, filtered, is above a and below b in their two lists."""
    collection = collection_of(1, 4, {(0, 0): 1, (0, 1): 1}, {(0, 2, 0)})
    single = ("tail", "e0", "r", "e0", ["e2", "e0", "e3"]), ("tail", "e0", "r", "e1", ["e1", "e2", "e3"])
    assert rank_system(collection, some_lists(collection, single)).answer_ranks.score.tolist() == [-1 / 2, -1 / 2]
    whole = [("tail", "e0", "r", None, ["e0", "e2", "e1", "e3"])]
    assert rank_system(collection, some_lists(collection, whole)).answer_ranks.score.tolist() == [-1 / 3, -2 / 3]


def test_an_answer_without_a_list_of_its_own_can_have_any_rank(kinship):
    """The list for bob leaves cid out, whatever its score was; ann, dot and eve are candidates."""
    ranks = rank_system(kinship, tails_of_ann(kinship, ("bob", ["dot", "bob", "eve"])), sides=["tail"]).answer_ranks
    assert by_label(kinship, ranks) == {("tail0", "bob"): (1, 0, False), ("tail0", "cid"): (0, 3, True)}


def test_a_question_without_a_list_has_bounds_and_is_told(kinship):
    """Of three questions, two are about heads."""
    lists = some_lists(kinship, [("tail", "ann", "parent", None, ["bob"]), ("head", "bob", "parent", None, ["ann"])])
    with pytest.warns(KgtrecWarning, match="rank"):
        ranks = rank_system(kinship, lists).answer_ranks
    found = by_label(kinship, ranks)
    assert [value for (question, _), value in found.items() if question == "head1"] == [(0, 4, True)]


def test_lists_that_contradict_each_other_are_told(kinship):
    """One question's candidates in two orders; each answer stands as its own list says, the run as the longest."""
    lists = tails_of_ann(kinship, ("bob", ["dot", "bob", "eve"]), ("cid", ["eve", "dot", "ann", "cid"]))
    with pytest.warns(KgtrecWarning, match="differently"):
        ranks = rank_system(kinship, lists, sides=["tail"])
    assert by_label(kinship, ranks.answer_ranks) == {("tail0", "bob"): (1, 0, False), ("tail0", "cid"): (3, 0, False)}
    names = [kinship.entities[entity] for entity in ranks.run.entity]
    assert [name for name in names if name not in ("bob", "cid")] == ["eve", "dot", "ann"]
    with pytest.warns(KgtrecWarning, match="order candidates differently"):
        rank_system(kinship, lists, sides=["tail"], depth=0)


@pytest.mark.parametrize("answer", [None, "bob"])
def test_two_lists_that_disagree_about_an_answer_are_refused(kinship, answer):
    """Whichever came first would be its rank; the same list twice is one list."""
    once, twice, other = (answer, ["bob", "dot"]), (answer, ["dot", "bob"]), ("cid", ["dot", "cid"])
    rank_system(kinship, tails_of_ann(kinship, once, other, once), sides=["tail"])
    with pytest.raises(CollectionError) as error:
        rank_system(kinship, tails_of_ann(kinship, once, other, twice), sides=["tail"])
    assert str(error.value) == (
        "lists: expected one place for the tail of (ann, parent, bob), found two different ones in lists of the same "
        "kind; keep one list for each answer, or one for each question"
    )


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((None, ["bob", "dot"]), (None, ["dot", "eve"])),
        (("bob", ["bob", "dot"]), ("bob", ["dot", "eve"])),
        ((None, ["bob", "dot"]), ("bob", ["dot", "eve"])),
        (("bob", ["dot", "bob"]), (None, ["dot", "eve", "ann"])),
        (("cid", ["bob", "dot", "cid"]), ("bob", ["dot"])),
    ],
)
def test_two_lists_of_which_one_lacks_an_answer_that_stands_above_its_end_are_refused(kinship, one, other, places):
    """The place that one gives it is none in the other: the rank would be that of the list that happens to hold it."""
    both = (one, other)
    with pytest.raises(CollectionError, match="below"):
        rank_system(kinship, tails_of_ann(kinship, *(both[place] for place in places)), sides=["tail"])


@pytest.mark.parametrize("answer", [None, "bob"])
def test_a_list_that_ends_above_an_answer_contradicts_none_that_goes_on(kinship, answer):
    """One is the beginning of the other."""
    lists = tails_of_ann(kinship, (answer, ["dot"]), (answer, ["dot", "bob", "eve"]), ("cid", ["dot", "eve", "cid"]))
    ranks = rank_system(kinship, lists, sides=["tail"]).answer_ranks
    assert by_label(kinship, ranks)["tail0", "bob"] == (1, 0, False)


def test_lists_that_are_cut_within_a_tie_contradict_nothing(kinship):
    """Dot, eve and ann tie; one list holds two of them, the other all three, and cid may tie with them."""
    lists = tails_of_ann(
        kinship, ("bob", ["bob", "eve", "ann"]), ("cid", ["dot", "ann", "eve"]), levels=[0, 1, 1, 0, 0, 0]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranks = rank_system(kinship, lists, sides=["tail"]).answer_ranks
    assert by_label(kinship, ranks) == {("tail0", "bob"): (0, 0, False), ("tail0", "cid"): (0, 3, True)}


def test_a_candidate_in_two_ties_has_its_place_in_the_one_with_more_of_it(kinship):
    """Dot, eve and ann tie; one list holds two of them, the other all three, and so nothing is below its end."""
    lists = tails_of_ann(kinship, ("bob", ["eve", "ann"]), ("cid", ["dot", "ann", "eve"]), levels=[0, 0, 0, 0, 0])
    question = list(kinship.questions.ids).index("tail0")
    judged = judged_qrels(kinship, [(question, list(kinship.entities).index("eve"))])
    ranks = rank_system(kinship, lists, sides=["tail"], judged=judged).answer_ranks
    assert by_label(kinship, ranks)["tail0", "eve"] == (0, 2, False)


def test_a_tie_at_the_end_that_nothing_can_join_is_as_any_other():
    """e1 is filtered, all others are answers: e2 ties with e1 at the end of a list, e0 is below e1, and both tie."""
    collection = collection_of(1, 3, {(0, 0): 1, (0, 2): 1}, {(0, 1, 0)})
    lists = some_lists(
        collection,
        [("tail", "e0", "r", "e0", ["e1", "e0"]), ("tail", "e0", "r", "e2", ["e1", "e2"])],
        levels=[0, 1, 0, 0],
    )
    ranks = rank_system(collection, lists).answer_ranks
    assert [row[3:6] for row in rank_rows(ranks)] == [(0, 0, 0), (0, 0, 0)]
    assert not ranks.cut.any()
    assert ranks.score[0] == ranks.score[1]


def test_lists_for_other_questions_and_entities_are_told(kinship):
    """They are left out; a stranger is no candidate."""
    lists = some_lists(
        kinship,
        [
            ("tail", "ann", "parent", None, ["zoe", "bob"]),
            ("tail", "zoe", "parent", None, ["bob"]),
            ("tail", "ann", "parent", "zoe", ["dot"]),
        ],
    )
    with pytest.warns(KgtrecWarning) as told:
        ranks = rank_system(kinship, lists, sides=["tail"]).answer_ranks
    assert [str(each.message) for each in told] == [
        "lists: left out 2 lists for questions and answers that the collection lacks, such as (zoe, parent, ?)",
        "lists: left out listed entities that the collection lacks, which are no candidates: 1, such as zoe",
    ]
    assert by_label(kinship, ranks)["tail0", "bob"] == (0, 0, False)


@pytest.mark.parametrize(
    ("lists", "options", "message"),
    [
        ([("tail", "1", "parent", None, ["2"])], {"sides": ["tail"]}, r"lists:.*\(1, parent, \?\)"),
        ([("tail", "ann", "parent", None, ["bob"])], {}, r"lists:.*--sides tail"),
    ],
)
def test_lists_of_another_collection_or_of_one_side_are_refused(kinship, lists, options, message):
    """With an example; a model that predicts tails alone is not asked for heads."""
    with pytest.raises(CollectionError, match=message):
        rank_system(kinship, some_lists(kinship, lists), **options)


def test_lists_without_answers_of_a_split_that_are_candidates_are_refused_or_told():
    """Of a file that says what was filtered, an error; else a warning, if no list has any of them."""
    collection = collection_of(1, 5, {(0, 1): 1}, {(0, 0, 0), (0, 2, 1)})
    lists = some_lists(collection, [("tail", "e0", "r", None, ["e3", "e1"])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rank_system(collection, lists)
    with pytest.warns(KgtrecWarning, match="--filter"):
        rank_system(collection, lists, filtered_by=("valid", "test"))
    said = replace(lists, filtered_by=("train", "valid"))
    rank_system(collection, said)
    message = "found lists filtered by"
    with pytest.raises(CollectionError, match=message):
        rank_system(collection, said, filtered_by=("valid", "test"))


def test_judged_pairs_below_the_end_of_the_longest_list_are_below_it(kinship):
    """Eve and ann are judged, and no answers: both lists could hold them, and the longer one holds eve."""
    lists = tails_of_ann(kinship, ("bob", ["bob"]), ("cid", ["dot", "eve", "cid"]))
    question = list(kinship.questions.ids).index("tail0")
    pairs = [(question, list(kinship.entities).index(name)) for name in ("ann", "eve")]
    ranks = rank_system(kinship, lists, sides=["tail"], judged=judged_qrels(kinship, sorted(pairs))).answer_ranks
    found = by_label(kinship, ranks)
    assert found["tail0", "eve"] == (1, 0, False)
    assert found["tail0", "ann"][:2] == (2, 0)


def test_lists_are_by_label_where_the_collection_has_ids():
    """Entities e0, e1, ... stand for labels with spaces; the lists have the labels."""
    train = Triples.of([("ann lee", "likes", "ice cream"), ("bob", "likes", "jam")])
    collection = build_questions(train, Triples.of([]), Triples.of([("ann lee", "likes", "jam")]), ids=True)
    lists = some_lists(
        collection,
        [("tail", "ann lee", "likes", "jam", ["bob", "jam"]), ("head", "jam", "likes", "ann lee", ["ann lee"])],
    )
    ranks = rank_system(collection, lists).answer_ranks
    assert ranks.above.tolist() == [0, 1]
    assert list(ranks.entities) == ["e0", "e2", "e1", "e3"]


# ranks of triples


@pytest.fixture
def theirs(kinship):
    """What a program says of the two test triples: all tied."""
    scores = np.zeros((len(kinship.questions), len(kinship.entities)))
    exact = rank_scores(kinship, scores, questions=kinship, entities=kinship, depth=0).answer_ranks
    return triples_of(kinship, exact, np.random.default_rng(0), candidates=exact.n_other.astype(np.int64) + 1)


def only(ranks, rows):
    columns = ("is_head", "head", "relation", "tail", "above", "tied", "candidates")
    return replace(ranks, **{name: getattr(ranks, name)[rows] for name in columns})


#: what is wrong -> a change of the ranks, options, and a word of the error
WRONG_RANKS = {
    "another filter": (lambda own: replace(own, candidates=own.candidates + 1), {}, r"ranked among \d .* so for 4"),
    "a missing one": (lambda own: only(own, np.arange(3)), {}, "found none for 1"),
    "one below more than there are": (lambda own: replace(own, above=own.above + 4, candidates=None), {}, "from 1 to"),
    "one side": (lambda own: only(own, np.flatnonzero(~own.is_head)), {}, "found those of tails only"),
    "raw ranks": (lambda own: own, {"filtered_by": ()}, "removed"),
}


@pytest.mark.parametrize("wrong", WRONG_RANKS)
def test_ranks_of_triples_that_cannot_be_those_of_the_collection_are_refused(kinship, theirs, wrong):
    """Of another filter, incomplete, beyond the number of candidates, of one side, or with other answers in them."""
    change, options, message = WRONG_RANKS[wrong]
    with pytest.raises(KgtrecError if options else CollectionError, match=message):
        rank_system(kinship, change(theirs), **options)


def test_ranks_of_one_side_are_enough_if_the_other_is_not_asked(kinship, theirs):
    """With --sides tail."""
    tails = only(theirs, np.flatnonzero(~theirs.is_head))
    assert len(rank_system(kinship, tails, sides=["tail"]).answer_ranks) == 2


def test_two_ranks_of_one_answer_are_refused_unless_they_are_the_same(kinship, theirs):
    """A file may repeat a triple."""
    twice = only(theirs, np.array([0, 1, 2, 3, 0]))
    assert len(rank_system(kinship, twice).answer_ranks) == 4
    with pytest.raises(CollectionError, match="different"):
        rank_system(kinship, replace(twice, tied=np.array([*twice.tied[:4], 0])))


def test_ranks_of_other_triples_are_left_out(kinship, theirs):
    """With a warning; they change nothing."""
    entities = Vocabulary.of([*theirs.entities, "zoe"])
    more = only(replace(theirs, entities=entities), np.array([0, 1, 2, 3, 3]))
    more = replace(more, head=np.array([*more.head[:4], len(entities) - 1], np.int32))
    with pytest.warns(KgtrecWarning, match=r"theirs:.*lacks"):
        found = rank_system(kinship, more).answer_ranks
    assert rank_rows(found) == rank_rows(rank_system(kinship, theirs).answer_ranks)


def test_ranks_of_triples_of_known_labels_are_left_out_too(kinship, theirs):
    """All its labels are the collection's, but it is no test triple."""
    more = only(theirs, np.array([0, 1, 2, 3, 3]))
    more = replace(more, head=np.array([*more.head[:4], more.tail[3]], np.int32))
    with pytest.warns(KgtrecWarning, match=r"theirs:.*lacks"):
        found = rank_system(kinship, more).answer_ranks
    assert rank_rows(found) == rank_rows(rank_system(kinship, theirs).answer_ranks)
    with pytest.warns(KgtrecWarning, match="left out 1 rank"), pytest.raises(CollectionError, match="lacks"):
        rank_system(kinship, only(more, np.array([1, 2, 3, 4])))
    with pytest.raises(CollectionError, match=r"found none for 1, .* --like pykeen"):
        rank_system(kinship, only(theirs, np.array([1, 2, 3])))


def test_judged_pairs_have_no_rank_in_ranks_of_triples(kinship, theirs):
    """Whoever asks for them is told."""
    with pytest.raises(KgtrecError, match="found ranks of triples"):
        rank_system(kinship, theirs, judged=judged_qrels(kinship, [(0, 0)]))


def test_wrong_answers_of_the_collection_need_no_rank_in_ranks_of_triples():
    """They are no test triples."""
    collection = collection_of(1, 3, {(0, 1): 1, (0, 2): 0})
    one = np.zeros(1, np.int32)
    ranks = TripleRanks(
        "theirs", collection.entities, collection.relations, one > 0, one, one, one + 1, np.array([1]), np.array([0])
    )
    found = rank_system(collection, ranks).answer_ranks
    assert [row[:6] for row in rank_rows(found)] == [(0, 1, True, 1, 0, 2)]


def test_an_answer_that_is_judged_later_was_not_above_an_entity_whose_list_lacks_it(kinship):
    """Of three candidates cid's list has none: dot, which bob's list has, cannot have been above cid."""
    lists = tails_of_ann(kinship, ("bob", ["dot", "eve", "bob"]), ("cid", []))
    question = list(kinship.questions.ids).index("tail0")
    pairs = [(question, list(kinship.entities).index(name)) for name in ("bob", "cid", "dot")]
    judged = judged_qrels(kinship, sorted(pairs))
    ranks = rank_system(kinship, lists, sides=["tail"], judged=judged).answer_ranks
    scores = quietly(evaluate, replace(judged, grade=judged.grade + 1), ranks, ["micro.MR", "micro.MRR"], per="answer")
    assert scores.items["entity"].to_pylist() == ["dot", "bob", "cid"]
    assert scores.least[0, 0].tolist() == [1, 2, 1]
    assert scores.most[0, 0].tolist() == [1, 2, 3]
    assert (scores.most[0, 1] <= 1).all()


def test_an_earlier_answer_of_unknown_place_is_refused(kinship):
    """The list for cid is empty: whether cid stands above bob, who is below dot and eve, is not known."""
    lists = tails_of_ann(kinship, ("bob", ["dot", "eve", "bob"]), ("cid", []))
    ranks = rank_system(kinship, lists, sides=["tail"]).answer_ranks
    own = kinship.qrels
    without = replace(own, grade=np.where(own.entity == list(kinship.entities).index("cid"), 0, own.grade))
    with pytest.raises(CollectionError) as error:
        quietly(evaluate, without, ranks, "micro.MRR", collection=kinship, sides=["tail"])
    assert str(error.value) == (
        "lists: expected earlier answers whose places are known, or that are answers still, found 1 below the ends of "
        "cut lists, such as (tail0, cid), while other answers of the question are further down in theirs; longer "
        "lists, or scores, have all places"
    )
