"""Two systems side by side, against scipy, an obvious loop, and evaluate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import CATEGORIES, Collection, RelationCategories
from kgtrec.data.questions import SIDES, Questions
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores
from kgtrec.meta.comparison import compare
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples

N_ENTITIES = 12
MEASURES = ("micro.MRR", "micro.MR", "micro.GMR", "micro.HMR", "micro.IMR", "micro.MedianRank", "macro.MRR", "AP@5")


def world(seed: int, n_questions: int = 12) -> tuple[Collection, AnswerRanks, AnswerRanks]:
    """Questions of three relations on both sides with one to three answers, and two systems."""
    rng = np.random.default_rng(seed)
    grades = {
        (question, int(entity)): 1
        for question in range(n_questions)
        for entity in rng.choice(N_ENTITIES, rng.integers(1, 4), replace=False)
    }
    plain = collection_of(n_questions, N_ENTITIES, grades)
    asked = plain.questions
    relations = Vocabulary.of(["born in", "<b>", "名"])
    questions = Questions(
        asked.ids,
        rng.random(n_questions) < 0.5,
        rng.integers(0, 3, n_questions).astype(np.int32),
        rng.integers(0, N_ENTITIES, n_questions).astype(np.int32),
        asked.entities,
        relations,
    )
    categories = RelationCategories(np.array([0, 3, -1], np.int8), np.ones(3), np.ones(3))
    collection = replace(plain, questions=questions, categories=categories)
    return collection, *(ranks_of(collection, name, rng) for name in ("one", "other"))


def ranks_of(collection: Collection, name: str, rng: np.random.Generator) -> AnswerRanks:
    """Answer ranks of random scores, some of which tie."""
    score = rng.integers(0, 9, (len(collection.questions), N_ENTITIES)).astype(float)
    return rank_scores(collection, score, questions=collection, entities=collection, depth=0, name=name).answer_ranks


def run_of(name: str, lists: dict[str, str]) -> Run:
    """A run of lists of entities, with blanks between them."""
    rows = [(question, entity, -place) for question, own in lists.items() for place, entity in enumerate(own.split())]
    questions, question = Vocabulary.encoding([row[0] for row in rows])
    entities, entity = Vocabulary.encoding([row[1] for row in rows])
    return Run.of(name, question, entity, np.array([row[2] for row in rows], float), questions, entities)


@given(st.integers(0, 10_000))
@settings(max_examples=examples(25))
def test_wins_losses_and_ties_are_those_of_an_obvious_loop(seed: int):
    """Item by item, with Python's own comparisons, for every kind of group."""
    collection, one, other = world(seed)
    found = compare(collection, [one, other], MEASURES, resamples=2, top=0)
    scores = item_scores(collection, [one, other], MEASURES)
    topics = collection.questions
    for place, measure in enumerate(MEASURES):
        own = scores[measure]
        rank_like = measure in ("micro.MR", "micro.GMR", "micro.HMR", "micro.IMR", "micro.MedianRank")
        tally: dict[tuple[str, str], list[int]] = {}
        for item in range(len(own)):
            a, b = own.value[:, item]
            outcome = 2 if a == b else int((a > b) == rank_like)
            row = own.question[item]
            relation = topics.relation[row]
            category = collection.categories.category[relation]
            for key in (
                ("all", ""),
                ("side", SIDES[0] if topics.is_head[row] else SIDES[1]),
                ("category", "none" if category < 0 else CATEGORIES[category]),
                ("relation", topics.relations[relation]),
            ):
                tally.setdefault(key, [0, 0, 0])[outcome] += 1
        assert tally.pop(("all", "")) == [found.wins[place], found.losses[place], found.ties[place]]
        for kind, groups in found.groups.items():
            expected = {label: counts for (own_kind, label), counts in tally.items() if own_kind == kind}
            columns = zip(groups.wins[place], groups.losses[place], groups.ties[place], strict=True)
            counted = dict(zip(groups.labels.to_pylist(), map(list, columns), strict=True))
            assert {label: counts for label, counts in counted.items() if sum(counts)} == expected


@given(st.integers(0, 10_000))
@settings(max_examples=examples(25))
def test_groups_sum_to_the_whole(seed: int):
    """Items, wins, losses and ties of every kind of group; what they add to the difference of a mean."""
    collection, *systems = world(seed)
    found = compare(collection, systems, MEASURES, resamples=2, top=0)
    for groups in found.groups.values():
        np.testing.assert_array_equal(groups.n_items.sum(axis=1), found.n_items)
        for name in ("wins", "losses", "ties"):
            np.testing.assert_array_equal(getattr(groups, name).sum(axis=1), getattr(found, name))
        for place in (0, 1, 6, 7):  # plain means
            assert groups.share[place].sum() == pytest.approx(found.difference[place], abs=1e-12)
    np.testing.assert_array_equal(found.wins + found.losses + found.ties, found.n_items)


def test_numbers_are_those_of_evaluate_and_p_that_of_scipy():
    """Totals, totals per side, and scipy.stats.ttest_rel over items."""
    collection, one, other = world(3, 30)
    found = compare(collection, [one, other], MEASURES, resamples=10)
    scores = evaluate(collection, [one, other], MEASURES)
    np.testing.assert_allclose(found.value, scores.values[:, :, 0].T)
    sides = evaluate(collection, [one, other], MEASURES, per="side")
    np.testing.assert_allclose(found.groups["side"].value, sides.values.transpose(1, 2, 0))
    assert found.groups["side"].labels.to_pylist() == sides.items["side"].to_pylist()
    items = item_scores(collection, [one, other], MEASURES)
    for place, linked in {0: lambda rank: rank, 1: lambda rank: rank, 2: np.log, 6: lambda rank: rank}.items():
        expected = stats.ttest_rel(*linked(items[MEASURES[place]].value))
        assert found.t[place] == pytest.approx(expected.statistic)
        assert found.p[place] == pytest.approx(expected.pvalue)
    assert np.isnan(found.p[5])  # a median has no paired test
    assert found.low[5] <= found.difference[5] <= found.high[5]
    assert found.p_clustered[6] == found.p[6]
    assert found.p_clustered[0] != found.p[0]


def test_intervals_are_those_of_a_slow_bootstrap():
    """Questions drawn one by one with all their answers, the same for both systems."""
    collection, one, other = world(5, 20)
    found = compare(collection, [one, other], ["micro.MRR", "micro.GMR"], resamples=300, seed=4, confidence=0.9)
    items = item_scores(collection, [one, other], "micro.MR")["micro.MR"]
    order = np.argsort(collection.questions.ids.byte_order)
    rng = np.random.default_rng(4)
    slow = []
    for _ in range(300):
        rows = np.concatenate([np.flatnonzero(items.question == order[drawn]) for drawn in rng.integers(0, 20, 20)])
        rank = items.value[:, rows]
        numbers = np.stack([(1 / rank).mean(axis=1), np.exp(np.log(rank).mean(axis=1))])
        slow.append(numbers[:, 0] - numbers[:, 1])
    expected = np.quantile(slow, [0.05, 0.95], axis=0)
    np.testing.assert_allclose([found.low, found.high], expected)


def test_a_system_against_itself_has_no_variance():
    collection, one, _ = world(1)
    with pytest.warns(KgtrecWarning, match="variance"):
        found = compare(collection, [one, one.renamed("again")], "micro.MRR", resamples=10)
    assert (found.wins[0], found.losses[0], found.questions.num_rows) == (0, 0, 0)
    assert (found.low[0], found.high[0]) == (0, 0)
    assert np.isnan(found.p[0])


@pytest.mark.parametrize("seed", range(5))
def test_the_better_system_is_named_whichever_way_is_better(seed: int):
    """Lower ranks, higher reciprocals: what the difference says is what most wins say in a group of one answer."""
    collection, one, other = world(seed)
    found = compare(collection, [one, other], "micro.MR micro.MRR macro.MR AP", resamples=5)
    assert found.higher_is_better == (False, True, False, True)
    assert found.to_table()["better"].to_pylist() == list(found.better)
    for place, (name, apart) in enumerate(zip(found.better, found.difference, strict=True)):
        ahead = apart if found.higher_is_better[place] else -apart
        assert name == ("one" if ahead > 0 else "other" if ahead < 0 else "")
    for kind, groups in found.groups.items():
        better = found.better_on(kind)
        assert found.group_table(kind)["better"].to_pylist() == [name for own in better for name in own]
        for measure, group in zip(*np.nonzero(groups.n_items == 1), strict=True):
            wins = groups.wins[measure, group], groups.losses[measure, group]
            assert better[measure][group] == {(1, 0): "one", (0, 1): "other", (0, 0): ""}[wins]


def test_swapping_the_systems_turns_every_sign():
    collection, one, other = world(8)
    found, turned = (compare(collection, pair, MEASURES, resamples=50) for pair in ((one, other), (other, one)))
    np.testing.assert_array_equal(found.difference, -turned.difference)
    np.testing.assert_array_equal(found.wins, turned.losses)
    assert found.better == turned.better
    np.testing.assert_array_equal(found.p_clustered, turned.p_clustered)
    np.testing.assert_allclose(found.low, -turned.high, atol=1e-12)
    assert found.questions["question"].equals(turned.questions["question"])


def test_questions_that_differ_most_come_from_both_sides():
    """By hand: q1 and q3 are the first system's, q2 the second's; top 2 takes one of each, the largest first."""
    grades = {(0, 0): 1, (1, 1): 1, (2, 2): 1, (2, 3): 1, (3, 4): 1}
    collection = collection_of(4, 6, grades)
    one = {"tail0": "e0 e5 e1", "tail1": "e5 e0 e1", "tail2": "e2 e3 e5", "tail3": "e4 e5"}
    other = {"tail0": "e5 e1 e0", "tail1": "e1 e5 e0", "tail2": "e5 e2 e3", "tail3": "e4 e5"}
    runs = [run_of("one", one), run_of("other", other)]
    found = compare(collection, runs, "RR", top=2, resamples=10, names={"e1": "<script>", "e0": "Zürich"})
    expected = (
        (1, "tail0", "tail", "e0", "Zürich", "r", "RR", 1.0, 1 / 3, "one", "e0", "Zürich", 1.0, 3.0),
        (2, "tail1", "tail", "e1", "<script>", "r", "RR", 1 / 3, 1.0, "other", "e1", "<script>", 3.0, 1.0),
    )
    assert [tuple(row.values()) for row in found.questions.to_pylist()] == list(expected)
    everything = compare(collection, runs, "RR", top=9, resamples=10).questions
    assert everything["question"].to_pylist() == ["tail0", "tail1", "tail2", "tail2"]  # all that differ
    assert everything["first_rank"].to_pylist()[2:] == [1.0, 2.0]


def test_an_answer_below_the_cut_of_a_run_has_no_rank():
    collection = collection_of(1, 3, {(0, 0): 1, (0, 1): 1})
    with pytest.warns(KgtrecWarning, match="no variance"):  # of a single question
        found = compare(
            collection, [run_of("one", {"tail0": "e0 e2"}), run_of("other", {"tail0": "e2 e0"})], "RR", resamples=10
        )
    assert found.questions["entity"].to_pylist() == ["e0", "e1"]
    ranks = [found.questions[name].to_pylist() for name in ("first_rank", "second_rank")]
    np.testing.assert_array_equal(ranks, [[1.0, np.nan], [2.0, np.nan]])


def test_ranks_shown_are_micro_ranks():
    """Of answer ranks, other answers left out, as micro measures have them."""
    collection, one, other = world(11)
    items = item_scores(collection, [one, other], "micro.MR")["micro.MR"]
    answers = compare(collection, [one, other], "micro.MR", top=99, resamples=10).questions.to_pylist()
    shown = {(own["question"], own["entity"]): (own["first_rank"], own["second_rank"]) for own in answers}
    assert shown
    for place in range(len(items)):
        key = collection.questions.ids[items.question[place]], collection.entities[items.entity[place]]
        if key in shown:
            assert shown[key] == tuple(items.value[:, place])


def test_qrels_alone_have_no_groups():
    """Numbers all the same; topics may be given apart."""
    collection, one, other = world(2)
    bare = compare(collection.qrels, [one, other], "AP@5", resamples=10)
    assert bare.groups == {}
    assert set(bare.questions["side"].to_pylist()) == {""}
    whole = compare(collection.qrels, [one, other], "AP@5", collection=collection, resamples=10)
    assert set(whole.groups) == {"side", "category", "relation"}
    assert whole.value.tolist() == bare.value.tolist()


def test_by_is_no_rank_unless_there_is_nothing_else():
    collection, one, other = world(2)
    assert compare(collection, [one, other], "micro.MR AP@5", resamples=2).by == "AP@5"
    assert compare(collection, [one, other], "micro.MR macro.MR", resamples=2).by == "micro.MR"
    assert compare(collection, [one, other], "micro.MRR AP@5", by="AP@5", resamples=2).by == "AP@5"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "AP@55"}, r"expected one of the measures as by \(.*AP@5.*\), found 'AP@55'; did you mean AP@5\?"),
        ({"confidence": 1.0}, "a confidence between 0 and 1"),
        ({"resamples": 1}, "at least 2 bootstrap samples"),
        ({"top": -1}, "at least 0 as top"),
    ],
)
def test_wrong_options_are_refused(options, message: str):
    collection, one, other = world(2)
    with pytest.raises(KgtrecError, match=message):
        compare(collection, [one, other], "AP@5", **options)


def test_tables_are_tidy():
    collection, one, other = world(2)
    found = compare(collection, [one, other], "AP@5 micro.MRR", resamples=10, top=3)
    assert found.to_frame()["measure"].tolist() == ["AP@5", "micro.MRR"]
    assert found.group_table("relation").num_rows == 2 * len(found.groups["relation"].labels)


def test_relations_and_answers_are_shown_as_many_as_asked():
    """Relations that contribute most to the difference first; three answers of a question; the data holds all."""
    collection, one, other = world(2)
    found = compare(collection, [one, other], "AP@5 micro.MRR", by="micro.MRR", resamples=10, top=3, relations=2)
    tables = {table.key: table for table in found.tables()}
    relations = tables["relation"]
    everything = [row for row in relations.data.to_pylist() if row["measure"] == "micro.MRR" and row["n_items"]]
    assert len(everything) > 2
    by_share = sorted(everything, key=lambda row: -abs(row["share"]))
    assert [row["share"] for row in relations.shown.to_pylist()] == [row["share"] for row in by_share[:2]]
    assert relations.title.endswith("; the 2 that contribute most to the difference")
    places = tables["questions"].shown["place"].to_pylist()
    answers = found.questions["place"].to_pylist()
    assert [places.count(place) for place in (1, 2, 3)] == [min(3, answers.count(place)) for place in (1, 2, 3)]


def test_how_many_questions_make_the_difference():
    """1, 1/2 and 1/4 of a sum of 7/4: 90% needs all three; a median does not add up."""
    run = {"q1": "a x", "q2": "x a", "q3": "x y z a"}
    qrels = {question: {"a": 1} for question in run}
    found = compare(qrels, [run_of("one", run), run_of("none", dict.fromkeys(run, "b"))], "RR", resamples=2)
    assert found.n_of_90 == 3
    assert "; 3 of 3 questions make 90% of the absolute differences" in found.tables()[-1].title
    collection, one, other = world(0)
    assert compare(collection, [one, other], "micro.MedianRank", resamples=2).n_of_90 is None
