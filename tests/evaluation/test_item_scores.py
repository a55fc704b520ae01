from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import CollectionError, MeasureError, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import higher_terms_are_better, item_scores, terms, totals
from kgtrec.measures.aggregate import LINKS
from kgtrec.measures.names import parse_measure
from tests.evaluation.test_evaluate import collection, ranks_of
from tests.examples import examples
from tests.laws.tables import names
from tests.worlds import World, worlds

MEASURES = names("""
    micro.MR micro.MRR micro.Hits@2 micro.GMR micro.HMR micro.IMR micro.IGMR micro.AMRI micro.AMR micro.AMRR
    micro.ZMR micro.ZMR(flipped=False) micro.ZMRR micro.AHits@2 macro.MR macro.MRR macro.Hits@2 AP@3 nDCG@3 AnDCG@3
""")


@settings(max_examples=examples(60))
@given(worlds(), st.sampled_from(["optimistic", "realistic", "expected"]))
def test_totals_are_what_evaluate_gives(world: World, ties: str):
    """The aggregate of the items' values is the table's number, plain and set against chance."""
    with unwarned():
        expected = evaluate(world.qrels(), world.answer_ranks(), MEASURES, ties=ties)
        found = item_scores(world.qrels(), world.answer_ranks(), MEASURES, ties=ties)
    assert tuple(found) == MEASURES
    for measure, scores in found.items():
        np.testing.assert_allclose(totals(scores)[0], expected.value("w", measure), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:micro.WMR counts each relation alike")
def test_means_of_terms_brought_back_are_the_totals():
    """Whatever the aggregate and the weights, linked and weighted values have the number as their linked mean."""
    built = collection()
    systems = [ranks_of(built, [0, 1, 2, 5, 3, 8], "a"), ranks_of(built, [4, 0, 2, 1, 9, 0], "b")]
    measures = ["micro.MR", "micro.GMR", "micro.HMR", "micro.IMR", "micro.WMR", "macro.MRR"]
    for weights in (None, "relation", "question"):
        expected = evaluate(built, systems, measures, weights=weights)
        for measure, scores in item_scores(built, systems, measures, weights=weights).items():
            back = LINKS[parse_measure(measure).record.aggregate].back
            numbers = [expected.value(name, measure) for name in scores.systems]
            np.testing.assert_allclose(back(terms(scores).mean(axis=1)), numbers, rtol=1e-12)
            np.testing.assert_allclose(totals(scores), numbers, rtol=1e-12)


@pytest.mark.parametrize("measure", [name for name in MEASURES if name not in ("micro.Hits@2", "macro.Hits@2")])
def test_the_better_system_has_the_better_terms(measure: str):
    """Ranks that are all better move the mean of the terms the way that higher_terms_are_better says."""
    built = collection()
    systems = [ranks_of(built, [0] * 6, "good"), ranks_of(built, [4] * 6, "bad")]
    scores = item_scores(built, systems, measure)[measure]
    good, bad = terms(scores).mean(axis=1)
    assert (good > bad) == higher_terms_are_better(scores)
    assert good != bad


def test_answers_come_in_the_order_of_the_qrels_and_questions_in_that_of_their_ids():
    """Rows say which answer of which question a column is."""
    built = collection()
    ranks = ranks_of(built, [0, 1, 2, 3, 4, 5])
    scores = item_scores(built, ranks, "micro.MR macro.MRR")
    micro = scores["micro.MR"]
    np.testing.assert_array_equal(micro.question, built.qrels.question)
    np.testing.assert_array_equal(micro.entity, built.qrels.entity)
    assert micro.value.tolist() == [[1, 2, 3, 4, 5, 6]]
    macro = scores["macro.MRR"]
    assert macro.entity is None
    ids = list(macro.questions.decode(macro.question).to_pylist())
    assert ids == sorted(ids)
    frame = micro.to_frame()
    assert list(frame.columns) == ["system", "measure", "question", "entity", "value"]
    expected = evaluate(built, ranks, "micro.MR", per="answer").to_frame()
    pd.testing.assert_frame_equal(frame[["question", "entity", "value"]], expected[["question", "entity", "value"]])


def test_items_that_differ_between_systems_are_an_error():
    """Left-out questions would make pairs of different questions."""
    qrels = pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "relevance": [1, 1]})
    runs = {
        "one": pd.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "score": [1.0]}),
        "two": pd.DataFrame({"query_id": ["q2"], "doc_id": ["b"], "score": [1.0]}),
    }
    with pytest.raises(CollectionError, match=r"^RR: two was scored on 1 questions, one on 1 or on others"):
        item_scores(qrels, runs, "RR", missing="skip")
    assert item_scores(qrels, runs, "RR")["RR"].value.tolist() == [[1, 0], [0, 1]]


def test_a_number_of_all_items_together_has_no_values_of_items():
    """AGMRI is told to be replaced by GMR; a median has no terms."""
    built = collection()
    ranks = ranks_of(built, [0, 1, 2, 3, 4, 5])
    with pytest.raises(MeasureError, match=r"micro.AGMRI compares one number .* use micro.GMR"):
        item_scores(built, ranks, "micro.AGMRI")
    with pytest.raises(MeasureError, match=r"micro.MedianRank has no values of answers while the order of ties"):
        item_scores(built, ranks, "micro.MedianRank", ties="expected")
    median = item_scores(built, ranks, "micro.MedianRank")["micro.MedianRank"]
    assert totals(median).tolist() == [3.5]
    with pytest.raises(MeasureError, match=r"micro.MedianRank is a median, not a mean of items"):
        terms(median)
