from __future__ import annotations

import dataclasses
import itertools
import math

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import each_system
from kgtrec.ranking.rank import rank_scores
from tests.worlds import World, worlds


def obvious_scores(world: World, rule: str) -> dict[str, float]:
    """Micro and macro measures by their definitions, one answer at a time."""

    def rank(question: int, entity: int, others: list[int]) -> float:
        scores = world.scores[question]
        first = 1 + sum(scores[e] > scores[entity] for e in others)
        last = first + sum(scores[e] == scores[entity] for e in others)
        return {"optimistic": first, "pessimistic": last, "realistic": (first + last) / 2}[rule]

    micro, best = [], []
    for question, answers in enumerate(world.answers):
        candidates = world.candidates(question)
        others = [e for e in candidates if e not in answers]
        micro += [rank(question, a, others) for a in answers]
        # the first answer of any order: the answers that tie with it stand behind it
        best.append(min(rank(question, a, others) for a in answers))
    return {
        "micro.MR": math.fsum(micro) / len(micro),
        "micro.MRR": math.fsum(1 / r for r in micro) / len(micro),
        "micro.Hits@2": sum(r <= 2 for r in micro) / len(micro),
        "macro.MR": math.fsum(best) / len(best),
        "macro.MRR": math.fsum(1 / r for r in best) / len(best),
        "macro.Hits@2": sum(r <= 2 for r in best) / len(best),
    }


@given(worlds(), st.sampled_from(["optimistic", "realistic", "pessimistic"]))
def test_micro_and_macro_are_what_their_definitions_say(world: World, rule: str):
    """The table's measures equal a slow and obvious count, under every rule for ties."""
    expected = obvious_scores(world, rule)
    scores = evaluate(world.qrels(), world.answer_ranks(), list(expected), ties=rule)
    found = {measure: scores.value("w", measure) for measure in expected}
    assert found == pytest.approx(expected, rel=1e-12)


def collection() -> Collection:
    """Two relations over five people; 'likes' is 1-N, 'boss' is N-1."""
    train = Triples.of([("a", "likes", "b"), ("a", "likes", "c"), ("b", "boss", "c"), ("d", "boss", "c")])
    test = Triples.of([("a", "likes", "d"), ("a", "boss", "c"), ("e", "boss", "c")])
    return build_questions(train, Triples.of([]), test, unseen_entities="keep")


def ranks_of(built: Collection, above: list[int], name: str = "s") -> AnswerRanks:
    """Answer ranks with these counts above, no ties, ten others."""
    n = len(built.qrels)
    return AnswerRanks(
        name,
        built.qrels.question,
        built.qrels.entity,
        np.ones(n, np.bool_),
        np.array(above, np.int32),
        np.zeros(n, np.int32),
        np.full(n, 10, np.int32),
        -np.arange(n, dtype=float),
        built.questions.ids,
        built.entities,
        ("train", "valid", "test"),
        built.stamp,
    )


def test_per_side_relation_and_category_partition_the_answers():
    """The mean over groups, weighted by their answers, is the total."""
    built = collection()
    ranks = ranks_of(built, [0, 1, 3, 0, 4, 9][: len(built.qrels)])
    total = evaluate(built, ranks, "micro.MRR").value("s", "micro.MRR")
    for per in ("side", "relation", "category", "question"):
        scores = evaluate(built, ranks, "micro.MRR", per=per)
        labels = scores.items[per].to_pylist()
        row = built.questions.ids.encode(built.qrels.questions.labels)[built.qrels.question]
        own = {
            "side": ["head" if h else "tail" for h in built.questions.is_head[row]],
            "relation": [built.relations[r] for r in built.questions.relation[row]],
            "category": [
                ("1-1", "1-N", "N-1", "N-N")[built.categories.category[r]] for r in built.questions.relation[row]
            ],
            "question": [built.questions.ids[q] for q in row],
        }[per]
        weights = [own.count(label) for label in labels]
        assert sum(weights) == len(built.qrels)
        assert np.average(scores.values[0, 0], weights=weights) == pytest.approx(total)


def test_per_answer_keeps_every_rank():
    """One row per answer, in the order of the qrels."""
    built = collection()
    scores = evaluate(built, ranks_of(built, list(range(len(built.qrels)))), "micro.MR", per="answer")
    assert list(scores.items) == ["question", "entity"]
    assert scores.values[0, 0].tolist() == [float(place + 1) for place in range(len(built.qrels))]
    with pytest.raises(MeasureError, match=r"macro\.MRR has one value per question, not per answer"):
        evaluate(built, ranks_of(built, [0] * len(built.qrels)), "macro.MRR", per="answer")


QRELS = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "relevance": [1, 1, 1]})
RUN = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["x", "a"], "score": [2.0, 1.0]})


def test_a_question_without_results_counts_zero_unless_told_otherwise():
    """q1 has RR 1/2, q2 is missing: 1/4, or 1/2 if missing questions are left out."""
    assert evaluate(QRELS, RUN, "RR").values.tolist() == [[[0.25]]]
    assert evaluate(QRELS, RUN, "RR", missing="skip").values.tolist() == [[[0.5]]]


def test_frames_and_measure_objects_are_taken_as_they_are():
    """ir-measures' frames and measure objects work, and frames come back."""
    from ir_measures import AP, RR

    scores = evaluate(QRELS, {"mine": RUN}, [RR, AP @ 20])
    assert scores.to_frame().to_dict("list") == {
        "system": ["mine", "mine"],
        "measure": ["RR", "AP@20"],
        "value": [0.25, 0.125],
    }


def test_a_run_most_of_whose_questions_have_no_judgements_may_be_of_another_collection():
    """Which is told of a run that does not say what it is of; a few more questions are no reason to."""
    few, many = (
        pd.concat([RUN, pd.DataFrame([(f"z{i}", "a", 1.0) for i in range(n)], columns=["query_id", "doc_id", "score"])])
        for n in (1, 9)
    )
    with pytest.warns(KgtrecWarning, match=r"\(z0\)$"):
        assert evaluate(QRELS, few, "RR").values.tolist() == [[[0.25]]]
    with pytest.warns(KgtrecWarning, match=r"\(z0, z1, z2, \.\.\.\); if these qrels are of another collection"):
        evaluate(QRELS, many, "RR")


def test_mean_rank_of_a_cut_run_is_undefined_where_no_answer_was_returned():
    """NaN with a warning that names measure and system, never a number made up."""
    with pytest.warns(KgtrecWarning, match=r"macro\.MR of run is undefined for 1 of 2 questions"):
        assert np.isnan(evaluate(QRELS, RUN, "macro.MR").values).all()


@pytest.mark.parametrize(
    ("label", "way_out"),
    [("micro.MRR", r"or use macro\.MRR$"), *((name, r"\(kgtrec rank\)$") for name in ("micro.AMRI", "micro.GMR"))],
)
def test_micro_measures_of_a_run_stop(label: str, way_out: str):
    """A cut run has no exact ranks; macro.AMRI asks for candidate counts, macro.GMR is no measure: no way out."""
    with pytest.raises(MeasureError, match=way_out):
        evaluate(QRELS, RUN, label)


def test_float32_compatibility_makes_close_scores_tie():
    """16777217 and 16777216 tie in 32 bits, and the greater label then comes first."""
    run = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["a", "x"], "score": [16777217.0, 16777216.0]})
    assert evaluate(QRELS, run, "RR").values[0, 0, 0] == 0.5
    assert evaluate(QRELS, run, "RR", float32=True).values[0, 0, 0] == 0.25


def test_systems_of_different_collections_stop():
    """Fingerprints tell."""
    built = collection()
    mine, other = ranks_of(built, [0] * len(built.qrels)), ranks_of(built, [0] * len(built.qrels), "t")
    foreign = dataclasses.replace(other, collection="feedfeedfeedfeed")
    with pytest.raises(CollectionError, match="t was ranked on collection feedfeedfeedfeed, these qrels are of"):
        evaluate(built, [mine, foreign])
    with pytest.raises(CollectionError, match="s and t were ranked on different collections"):
        evaluate(dataclasses.replace(built.qrels, collection=""), [mine, foreign])


def test_a_run_of_other_entities_stops():
    """A run that has none of the collection's entities is of another collection."""
    built = collection()
    run = pd.DataFrame({"query_id": [built.questions.ids[0]], "doc_id": ["mars"], "score": [1.0]})
    with pytest.raises(CollectionError, match="run has no entity of the collection"):
        evaluate(built, run, "RR")


def test_two_systems_of_one_name_stop():
    """A table could not tell them apart."""
    built = collection()
    ranks = ranks_of(built, [0] * len(built.qrels))
    with pytest.raises(KgtrecError, match="expected systems of different names, found 's' twice"):
        evaluate(built, [ranks, ranks])


def test_sides_need_a_collection():
    """Qrels alone do not tell what was asked."""
    with pytest.raises(KgtrecError, match="scores per side need the questions' topics"):
        evaluate(QRELS, RUN, "RR", per="side")
    with pytest.raises(KgtrecError, match=r"expected per to be one of .*did you mean relation"):
        evaluate(QRELS, RUN, "RR", per="relations")


def test_a_path_is_no_collection():
    """What reads one is named."""
    with pytest.raises(KgtrecError, match=r"expected a collection, found 'C'; kgtrec\.read_collection"):
        evaluate(QRELS, RUN, "RR", collection="C")


@pytest.mark.parametrize(
    ("qrels", "systems", "message"),
    [
        (3, {}, "expected Qrels, a Collection, a path, a data frame, a dict of dicts or tuples .* as qrels, found int"),
        (None, None, "expected systems, found NoneType"),
        (None, {3: None}, "expected texts as names of systems, found 3"),
    ],
)
def test_other_things_than_qrels_and_systems_are_refused(qrels, systems, message):
    """With the type that was found."""
    frame = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})
    with pytest.raises(KgtrecError, match=message):
        evaluate(frame if qrels is None else qrels, systems, "RR")


def test_what_other_libraries_hold_is_accepted(tmp_path):
    """Dicts of dicts, named tuples, PyTerrier's frames, ranx's objects and paths: the same numbers."""
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 0.5}}
    rows = [(question, entity, value) for question, inner in qrels.items() for entity, value in inner.items()]
    found = [(question, entity, value) for question, inner in run.items() for entity, value in inner.items()]
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {e} {v}\n" for q, e, v in rows))
    (tmp_path / "mine.run").write_text("".join(f"{q} Q0 {e} 1 {v} t\n" for q, e, v in found))

    def of_ranx(name, rows):
        frame = pd.DataFrame(rows, columns=["q_id", "doc_id", "score"])
        return type(name, (), {"__module__": "ranx.data_structures", "to_dataframe": lambda _: frame})()

    judged = [
        qrels,
        [ir_measures.Qrel(*row) for row in rows],
        pd.DataFrame(rows, columns=["qid", "docno", "label"]),
        tmp_path / "qrels.txt",
        str(tmp_path / "qrels.txt"),
        of_ranx("Qrels", rows),
    ]
    systems = [
        run,
        [ir_measures.ScoredDoc(*row) for row in found],
        pd.DataFrame(found, columns=["qid", "docno", "score"]),
        tmp_path / "mine.run",
        [tmp_path / "mine.run"],
        of_ranx("Run", found),
        {"mine": run},
        {"mine": of_ranx("Run", found)},
        {"mine": str(tmp_path / "mine.run")},
    ]
    for own, system in itertools.product(judged, systems):
        assert evaluate(own, system, "RR AP").values.ravel().tolist() == [0.75, 0.75]


def test_what_rank_scores_gives_is_a_system():
    """Its answer ranks."""
    built = collection()
    scores = np.zeros((len(built.questions), len(built.entities)))
    ranked = rank_scores(built, scores, questions=built, entities=built, name="all alike")
    measured = evaluate(built, ranked, "micro.MRR")
    assert measured.systems == ("all alike",)
    assert measured.values.tolist() == evaluate(built, ranked.answer_ranks, "micro.MRR").values.tolist()
    with pytest.raises(KgtrecError, match=r"^all alike: expected a run, whose scores --float32"):
        evaluate(built, ranked.answer_ranks, "RR", float32=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": {1: 2.0}}, r"expected texts as entities, found 1; write str\(1\)"),
        ({"q": {"a": "2"}}, "expected a Run, AnswerRanks, a path, .* as system 'q', found dict"),
        ({"s": {"q": {"a": True}}}, "expected numbers as scores, found True"),
        ({"s": {"q": {"\ud800": 1.0}}}, "expected texts that UTF-8 can encode"),
        ({"s": {"q": {"a": float("nan")}}}, r"expected a number as score, found NaN for \(q, a\)"),
        ([3], "expected a Run, AnswerRanks or path, found int; give others as a mapping from names"),
        ({"s": 3}, "expected a Run, AnswerRanks, a path, .* as system 's', found int"),
    ],
)
def test_what_is_no_system_is_refused(given, message):
    with pytest.raises(KgtrecError, match=message):
        list(each_system(given))


@pytest.mark.parametrize("grade", [0.5, math.nan, math.inf, -math.inf, 2.0**31])
def test_what_is_no_grade_is_refused(grade):
    """In a dict as in a data frame, without a warning of numpy."""
    for qrels in ({"q": {"a": grade}}, pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [grade]})):
        with pytest.raises(KgtrecError, match=r"expected whole numbers of 32 bits|expected a number in every row"):
            evaluate(qrels, {"q": {"a": 1.0}}, "RR")
