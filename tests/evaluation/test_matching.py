from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.matching import match
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.worlds import World, worlds

RULES = ("optimistic", "realistic", "pessimistic")


def obvious_rank(score: float, others: list[float], rule: str) -> float:
    """Rank by counting, one item at a time."""
    optimistic = 1 + sum(other > score for other in others)
    pessimistic = optimistic + sum(other == score for other in others)
    return {"optimistic": optimistic, "pessimistic": pessimistic, "realistic": (optimistic + pessimistic) / 2}[rule]


@given(worlds(regraded=True), st.sampled_from(RULES), st.sampled_from([("train", "valid", "test"), (), ("train",)]))
def test_micro_ranks_are_those_of_a_slow_count(world: World, rule: str, filtered_by: tuple):
    """Filtered by test triples, an answer is ranked without those that the qrels call answers now; else with them.

    The list is as long as a judged question has candidates.
    """
    matched = match(world.answer_ranks(filtered_by), world.qrels(), rule)
    answers = matched.answers
    for question in {question for question, _ in world.grades}:
        assert matched.ranking.num_retrieved[question] == len(world.candidates(question))
    relevant = sorted(pair for pair, grade in world.grades.items() if grade >= 1)
    assert list(zip(answers.question.tolist(), answers.entity.tolist(), strict=True)) == relevant
    for (question, entity), rank, n in zip(relevant, answers.rank, answers.candidates, strict=True):
        correct = {e for q, e in relevant if q == question} if "test" in filtered_by else {entity}
        others = [world.scores[question][e] for e in world.candidates(question) if e not in correct]
        assert rank == obvious_rank(world.scores[question][entity], others, rule)
        assert n == len(others) + 1


@given(worlds(regraded=True), st.sampled_from(["optimistic", "pessimistic"]))
def test_places_are_those_of_an_order_that_could_be(world: World, rule: str):
    """Optimistic: sort by (score, relevant first); pessimistic: (score, relevant last); wrong ones the other way."""
    ranking = match(world.answer_ranks(), world.qrels(), rule).ranking
    for question, scores in enumerate(world.scores):
        best_first = 1 if rule == "optimistic" else -1

        def kind(entity: int, question: int = question) -> int:
            grade = world.grades.get((question, entity))
            return 0 if grade is None else -1 if grade >= 1 else 1

        ordered = sorted(world.candidates(question), key=lambda e: (-scores[e], best_first * kind(e)))
        expected = {(place, kind(e)) for place, e in enumerate(ordered, 1) if (question, e) in world.grades}
        own = ranking.question == question
        found = {
            (place, -1 if grade >= 1 else 1)
            for place, grade in zip(ranking.position[own], ranking.grade[own], strict=True)
        }
        assert found == expected


@given(worlds(regraded=True))
def test_realistic_places_lie_midway(world: World):
    """The i-th relevant place of a question under the realistic rule is the mean of the other two rules' i-th."""
    by_rule = {rule: match(world.answer_ranks(), world.qrels(), rule).ranking for rule in RULES}
    for question in range(len(world.scores)):
        places = {rule: np.sort(r.position[(r.question == question) & (r.grade >= 1)]) for rule, r in by_rule.items()}
        np.testing.assert_array_equal(places["realistic"], (places["optimistic"] + places["pessimistic"]) / 2)


@given(worlds(regraded=True), st.sampled_from(RULES))
def test_an_uncut_run_and_the_answer_ranks_agree(world: World, rule: str):
    """The same system read from its uncut run or from its answer ranks stands in the same places."""
    from_run = match(world.run(), world.qrels(), rule).ranking
    from_ranks = match(world.answer_ranks(), world.qrels(), rule).ranking
    for column in ("question", "grade", "position"):
        np.testing.assert_array_equal(getattr(from_run, column), getattr(from_ranks, column))
    asked = np.unique(from_ranks.judged_question)
    np.testing.assert_array_equal(from_run.num_retrieved[asked], from_ranks.num_retrieved[asked])


@given(worlds(regraded=True))
def test_runs_stand_in_trec_evals_order(world: World):
    """Score descending, then label descending."""
    ranking = match(world.run(), world.qrels()).ranking
    found = {
        (int(q), float(p), int(g)) for q, p, g in zip(ranking.question, ranking.position, ranking.grade, strict=True)
    }
    expected = set()
    for question, scores in enumerate(world.scores):
        by_label = sorted(world.candidates(question), key=lambda e: f"e{e}", reverse=True)
        ordered = sorted(by_label, key=lambda e: -scores[e])
        expected |= {
            (question, float(place), world.grades[question, e])
            for place, e in enumerate(ordered, 1)
            if (question, e) in world.grades
        }
    assert found == expected


def test_the_share_of_tied_answers_is_told():
    """One of two answers ties with a wrong entity."""
    world = World([[1.0, 1.0, 0.0]], [set()], [{0, 2}], {(0, 0): 1, (0, 2): 1})
    assert match(world.answer_ranks(), world.qrels()).tied == 0.5
    assert match(world.run(), world.qrels()).tied == 0.5


@pytest.mark.parametrize(
    ("grades", "match_of"),
    [({1: 0}, "1 judged non-answers"), ({1: -1, 2: -1}, r"2 pairs of a negative grade .*; infAP counts them")],
)
def test_a_judged_entity_without_a_rank_is_told(grades, match_of):
    """Measures that need judged non-answers would be off; infAP alone looks at what was pooled and not sampled."""
    world = World([[1.0, 0.5, 0.2]], [set()], [{0}], {(0, 0): 1})
    newer = World(world.scores, [set()], [{0}], {(0, 0): 1, **{(0, entity): grade for entity, grade in grades.items()}})
    with pytest.warns(KgtrecWarning, match=match_of):
        match(world.answer_ranks(), newer.qrels())


def test_what_cannot_be_matched_stops():
    """Newly judged answers need their ranks, a run a question, and the rule of runs a run; rules have names."""
    world = World([[1.0, 0.5]], [set()], [{0}], {(0, 0): 1})
    newer = World([[1.0, 0.5]], [set()], [{0}], {(0, 0): 1, (0, 1): 1})
    other = Qrels.of(*(np.zeros(1, np.int32),) * 2, np.ones(1, np.int32), Vocabulary.of(["x"]), world.entities)
    with pytest.raises(CollectionError, match=r"1 of the qrels' 2 .*\(q0, e1\)"):
        match(world.answer_ranks(), newer.qrels())
    with pytest.raises(CollectionError, match="'q0', the qrels have 'x'"):
        match(world.run(), other)
    with pytest.raises(KgtrecError, match="rule 'trec'"):
        match(world.answer_ranks(), world.qrels(), "trec")
    with pytest.raises(KgtrecError, match="realistic"):
        evaluate(world.qrels(), world.run(), "RR", ties="best")


@given(worlds(regraded=True), st.integers(0, 3), st.booleans())
def test_a_random_order_is_one_that_could_be(world: World, seed: int, of_run: bool):
    """Each judged entity stands among those of its score, each at a place of its own, under every seed."""
    system = world.run() if of_run else world.answer_ranks()
    ranking = match(system, world.qrels(), "nondeterministic", seed).ranking
    for question, scores in enumerate(world.scores):
        candidates = world.candidates(question)
        own = ranking.question == question
        places = ranking.position[own].tolist()
        assert len(set(places)) == len(places)
        expected = []
        for entity in sorted(e for q, e in world.grades if q == question):
            first = 1 + sum(scores[e] > scores[entity] for e in candidates)
            last = first - 1 + sum(scores[e] == scores[entity] for e in candidates)
            expected.append((first, last, world.grades[question, entity]))
        grades = ranking.grade[own].tolist()
        # the rows do not tell who they are: each kind of row fills the room that its kind has
        for kind in set(grades):
            found = sorted(place for place, grade in zip(places, grades, strict=True) if grade == kind)
            room = sorted((first, last) for first, last, grade in expected if grade == kind)
            assert all(first <= place <= last for place, (first, last) in zip(found, room, strict=True))


@given(worlds(regraded=True), st.integers(0, 3))
def test_micro_ranks_of_a_random_order_leave_the_other_answers_out(world: World, seed: int):
    """One order serves micro and macro: a micro rank is the place less the answers above, in the same list."""
    seen = match(world.answer_ranks(), world.qrels(), "nondeterministic", seed)
    assert np.all((seen.answers.best <= seen.answers.rank) & (seen.answers.rank <= seen.answers.worst))
    for question in range(len(world.scores)):
        relevant = (seen.ranking.question == question) & (seen.ranking.grade >= 1)
        places = np.sort(seen.ranking.position[relevant])
        own = seen.answers.question == question
        assert sorted(seen.answers.rank[own]) == (places - np.arange(len(places))).tolist()


def has_answer(grades: dict[tuple[int, int], int], question: int) -> bool:
    return any(q == question and grade >= 1 for (q, _), grade in grades.items())


@st.composite
def regraded_collections(draw):
    """A collection, scores with many ties, a filter, and the same collection with other qrels; both judge any pairs.

    Answers may come and go, and further pairs be judged, some of them filtered; an answer that goes was not filtered.
    """
    n_questions, n_entities = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = [(q, e) for q in range(n_questions) for e in range(n_entities)]
    before, after = ({pair: int(rng.integers(-1, 3)) for pair in pairs if rng.random() < 0.5} for _ in range(2))
    # of a question without an answer, rows do not tell whether all of them were filtered or none
    before |= {(q, 0): 1 for q in range(n_questions) if not has_answer(before, q)}
    filtered = {(*pair, int(rng.integers(3))) for pair in pairs if rng.random() < 0.4 and before.get(pair, 0) < 1}
    after = {
        pair: g for pair, g in after.items() if has_answer(after, pair[0]) or not any(pair == k[:2] for k in filtered)
    }
    scores = rng.choice(np.array([-np.inf, -1, -0.0, 0.0, 2.5]), (n_questions, n_entities)).astype("f4")
    filtered_by = tuple(sorted(draw(st.sets(st.sampled_from(["train", "valid", "test"])))))
    old, new = (collection_of(n_questions, n_entities, grades, filtered) for grades in (before, after))
    return old, new, scores, filtered_by


@settings(max_examples=4 * settings.default.max_examples)
@given(regraded_collections(), st.sampled_from([*RULES, "expected", "nondeterministic"]), st.integers(0, 2))
def test_answer_ranks_stand_where_ranking_again_has_them(worlds, rule: str, seed: int):
    """Answers that left the qrels or joined them since: every place and count is that of the qrels as they are."""
    old, new, scores, filtered_by = worlds
    assume(len(new.qrels))
    given_then = rank_scores(
        old, scores, questions=old, entities=old, depth=0, filtered_by=filtered_by, judged=new.qrels
    ).answer_ranks
    again = rank_scores(new, scores, questions=new, entities=new, depth=0, filtered_by=filtered_by).answer_ranks
    found, expected = (match(ranks, new.qrels, rule, seed) for ranks in (given_then, again))
    for column in ("question", "entity", "rank", "candidates", "best", "worst"):
        np.testing.assert_array_equal(getattr(found.answers, column), getattr(expected.answers, column))
    for column in ("question", "position", "grade"):
        np.testing.assert_array_equal(getattr(found.ranking, column), getattr(expected.ranking, column))
    judged = np.unique(new.qrels.question)
    np.testing.assert_array_equal(found.ranking.num_retrieved[judged], expected.ranking.num_retrieved[judged])
    np.testing.assert_array_equal(np.sort(found.group_size), np.sort(expected.group_size))


def test_a_filtered_entity_that_is_judged_wrong_is_not_in_the_list():
    """As in the run: it is no candidate, so that no place of the list is judged by it."""
    world = collection_of(1, 3, {(0, 0): 1}, {(0, 1, 0)})
    wrong = Qrels.of(
        *(np.array(column, np.int32) for column in ([0, 0], [0, 1], [1, 0])), world.questions.ids, world.entities
    )
    ranks = rank_scores(
        world, np.array([[1.0, 2.0, 0.0]]), questions=world, entities=world, depth=0, judged=wrong
    ).answer_ranks
    assert match(ranks, wrong).ranking.grade.tolist() == [1]


def recoded(world: World) -> tuple[AnswerRanks, Qrels]:
    """The world's answer ranks and qrels with questions and entities numbered backwards."""
    ranks, qrels = world.answer_ranks(), world.qrels()
    questions, entities = (Vocabulary.of(list(v)[::-1]) for v in (world.questions, world.entities))
    question, entity = len(questions) - 1 - ranks.question, len(entities) - 1 - ranks.entity
    order = np.lexsort((entity, question))
    rows = {name: getattr(ranks, name)[order] for name in ("answer", "above", "tied", "n_other", "score")}
    turned = dataclasses.replace(
        ranks, question=question[order], entity=entity[order], questions=questions, entities=entities, **rows
    )
    backwards = Qrels.of(
        len(questions) - 1 - qrels.question, len(entities) - 1 - qrels.entity, qrels.grade, questions, entities
    )
    return turned, backwards


@given(worlds(regraded=True), st.integers(0, 5))
def test_a_random_order_hangs_on_seed_and_labels_alone(world: World, seed: int):
    """Other codes and another order of questions and rows: the same ranks."""

    def by_label(ranks: AnswerRanks, qrels: Qrels) -> dict[tuple[str, str], float]:
        answers = match(ranks, qrels, "nondeterministic", seed).answers
        pairs = zip(
            qrels.questions.decode(answers.question).to_pylist(),
            qrels.entities.decode(answers.entity).to_pylist(),
            strict=True,
        )
        return dict(zip(pairs, answers.rank.tolist(), strict=True))

    assert by_label(world.answer_ranks(), world.qrels()) == by_label(*recoded(world))


def test_seeds_differ():
    """Ten candidates that all tie: some seed puts the answer elsewhere."""
    world = World([[1.0] * 10], [set()], [{0}], {(0, 0): 1})
    for system in (world.answer_ranks(), world.run()):
        places = {match(system, world.qrels(), "nondeterministic", s).ranking.position[0] for s in range(200)}
        assert places == set(range(1, 11))


@given(worlds(regraded=True), st.booleans())
def test_an_open_order_keeps_groups(world: World, of_run: bool):
    """Under "expected" each judged entity has the first place and the size of its group, from a run as from ranks."""
    tied = match(world.run() if of_run else world.answer_ranks(), world.qrels(), "expected").tied_ranking
    found = sorted(
        zip(tied.question.tolist(), tied.first.tolist(), tied.size.tolist(), tied.grade.tolist(), strict=True)
    )
    expected = []
    for (question, entity), grade in world.grades.items():
        scores = [world.scores[question][e] for e in world.candidates(question)]
        own = world.scores[question][entity]
        expected.append((question, 1 + sum(s > own for s in scores), sum(s == own for s in scores), grade))
    assert found == sorted(expected)
