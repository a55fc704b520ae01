"""Weights of answers and questions, worked by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import KgtrecError, KgtrecWarning, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.summarise import ItemValues
from kgtrec.evaluation.weighting import Weighting
from kgtrec.measures.names import parse_measure
from tests.examples import examples
from tests.laws.tables import Table, tables

# question 0: ranks 1 and 3, relation r0; question 1: rank 5, r0; question 2: rank 10, r1
THREE = Table((9, 9, 9), ((0, 2), (4,), (9,)), (0, 0, 1))


def weights_of(measure: str, how) -> list[float] | None:
    collection = THREE.collection()
    parsed = parse_measure(measure)
    question = np.array([0, 0, 1, 2] if parsed.items == "answers" else [0, 1, 2], np.int32)
    n = len(question)
    items = ItemValues(np.ones(n), np.zeros(n, np.int32), question, None, np.full(n, 10), None)
    weight = Weighting(how, collection.qrels, collection).of(items, parsed)
    return None if weight is None else weight.tolist()


@pytest.mark.parametrize(
    ("measure", "how", "expected"),
    [
        ("micro.MR", None, None),
        ("micro.MR", "question", [1 / 2, 1 / 2, 1, 1]),
        ("micro.MR", "relation", [1 / 3, 1 / 3, 1 / 3, 1]),
        ("micro.MR", {"r0": 3, "r1": 1}, [1 / 4, 1 / 4, 1 / 4, 1 / 4]),
        ("macro.MRR", "relation", [1 / 2, 1 / 2, 1]),
        ("macro.MRR", "question", [1, 1, 1]),
        ("micro.WMR", None, [1 / 3, 1 / 3, 1 / 3, 1]),
        ("micro.WMR", "question", [1 / 3, 1 / 3, 1 / 3, 1]),
        ("pykeen.macro.MR", None, [1 / 2, 1 / 2, 1, 1]),
        ("NumQ", "relation", None),
    ],
)
def test_weights_by_hand(measure, how, expected):
    """One over how many items share the question or relation; WMR and PyKEEN's macro have their own; sums have none.

    Shares are scaled by a power of 2.
    """
    found = weights_of(measure, how)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("measure", "weights", "expected"),
    [
        ("micro.MR", None, (1 + 3 + 5 + 10) / 4),
        ("micro.MR", "question", ((1 + 3) / 2 + 5 + 10) / 3),
        ("micro.MR", "relation", ((1 + 3 + 5) / 3 + 10) / 2),
        ("micro.MR", {"r0": 0.9, "r1": 0.1}, 0.9 * 3 + 0.1 * 10),
        ("micro.MR", {"r0": 0, "r1": 7.0}, 10.0),
        ("micro.WMR", None, (15 ** (1 / 3) * 10) ** 0.5),
        ("macro.Hits@3", None, 1 / 3),
        ("macro.Hits@3", "relation", (1 / 2 + 0) / 2),
        ("pykeen.macro.MRR", None, ((1 + 1 / 3) / 2 + 1 / 5 + 1 / 10) / 3),
        ("micro.AMRI", "relation", (6.5 - 5.5) / (1 - 5.5)),
    ],
)
def test_weighted_numbers_by_hand(measure, weights, expected):
    """Ranks 1 and 3, 5, 10 among ten candidates in three questions of two relations."""
    scores = evaluate(THREE.collection(), THREE.inputs()[1], measure, weights=weights)
    assert scores.values[0, 0, 0] == pytest.approx(expected, rel=1e-12)


@settings(max_examples=examples(25))
@given(table=tables())
def test_the_own_distribution_as_shares_changes_nothing(table: Table):
    """Shares that are the numbers of answers per relation give the unweighted mean, and their scale does not matter."""
    n = [sum(len(own) for q, own in enumerate(table.above) if table.relation[q] == r) for r in (0, 1)]
    shares = {f"r{r}": n[r] for r in range(max(table.relation) + 1)}
    plain, weighted, scaled = (
        evaluate(table.collection(), table.inputs()[1], ["micro.MR", "micro.MRR"], weights=weights).values
        for weights in (None, shares, {name: 1e-7 * share for name, share in shares.items()})
    )
    np.testing.assert_allclose(weighted, plain, rtol=1e-12)
    np.testing.assert_allclose(scaled, plain, rtol=1e-12)


@settings(max_examples=examples(10))
@given(table=tables(), scale=st.sampled_from([2.0**1020, 2.0**-1060]))
def test_shares_may_be_as_large_or_small_as_numbers_go(table: Table, scale: float):
    """Sums of shares near 1e308 overflowed, and gave no value and no word of it."""
    collection, ranks = table.collection(), table.inputs()[1]
    shares = {f"r{r}": r + 1.0 for r in range(max(table.relation) + 1)}
    one, other = (
        evaluate(collection, ranks, ["micro.MR", "micro.MRR"], weights=weights, confidence=0.9, drawn="question")
        for weights in (shares, {name: scale * share for name, share in shares.items()})
    )
    for name in ("values", "low", "high", "effective"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=examples(25))
@given(table=tables(), share=st.floats(0, 1))
def test_weighting_relations_is_the_weighted_mean_of_their_means(table: Table, share: float):
    """As --per relation gives them."""
    collection, ranks = table.collection(), table.inputs()[1]
    if len(set(table.relation)) < 2:
        return
    each = evaluate(collection, ranks, "micro.MRR", per="relation").values[0, 0]
    total = evaluate(collection, ranks, "micro.MRR", weights={"r0": share, "r1": 1 - share}).values[0, 0, 0]
    assert total == pytest.approx(share * each[0] + (1 - share) * each[1], rel=1e-12)


def test_relations_that_the_shares_leave_out_count_0_and_are_told():
    """Once for all systems and measures; a relation that no question asks for may be left out quietly."""
    ranks = THREE.inputs()[1]
    with pytest.warns(KgtrecWarning) as told:
        found = evaluate(THREE.collection(), [ranks, ranks.renamed("t")], "micro.MR macro.MR", weights={"r1": 7.0})
    assert found.values[:, :, 0].tolist() == [[10.0, 10.0]] * 2
    assert [str(one.message) for one in told] == [
        "the shares leave out 1 of the 2 relations of the qrels, such as 'r0'; they and their answers count 0"
    ]
    unasked = Table((9,), ((1,),), (1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(unasked.collection(), unasked.inputs()[1], "micro.MR", weights={"r1": 1}).values[0, 0, 0] == 2


def test_measures_that_fix_their_weights_say_so():
    """They ignore other weights; the same weights, or none, are no news."""
    collection, ranks = THREE.collection(), THREE.inputs()[1]
    plain = evaluate(collection, ranks, "micro.WMR pykeen.macro.MR").values
    with pytest.warns(KgtrecWarning) as told:
        weighted = evaluate(collection, ranks, "micro.WMR pykeen.macro.MR micro.MR", weights="relation").values
    assert [str(one.message) for one in told] == [
        "pykeen.macro.MR counts each question equally by definition; the weights do not change it"
    ]
    np.testing.assert_array_equal(weighted[:, :2], plain)
    with pytest.warns(KgtrecWarning, match=r"micro\.WMR counts each relation equally by definition"):
        evaluate(collection, ranks, "micro.WMR", weights={"r0": 1, "r1": 1})


def test_all_weight_on_an_unasked_relation_is_undefined_and_told():
    """No item has any weight: NaN and a warning, never 0."""
    table = Table((9,), ((1,),), (1,))
    with pytest.warns(KgtrecWarning, match=r"micro\.MRR of s is undefined where there are no answers"):
        value = evaluate(table.collection(), table.inputs()[1], "micro.MRR", weights={"r0": 1}).values[0, 0, 0]
    assert np.isnan(value)
    with unwarned():
        for label in ("micro.AMRI", "micro.AGMRI", "micro.AMedianRankI", "micro.ZGMR", "macro.AMRR", "AAP@3"):
            assert np.isnan(
                evaluate(table.collection(), table.inputs()[1], label, weights={"r0": 1}).values[0, 0, 0]
            ), label


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            "relations",
            r"expected weights by question, relation, question-relation or popularity, .*; did you mean relation",
        ),
        ({"r9": 1}, "expected relations of the collection, found a share of 'r9'"),
        ({"r0": -1}, "expected shares of relations that are numbers of at least 0, and not all 0"),
        ({"r0": float("nan")}, "expected shares of relations that are numbers"),
        ({"r0": 0}, "and not all 0"),
    ],
)
def test_what_is_wrong_with_weights_is_named(weights, message):
    """With the nearest name."""
    with pytest.raises(KgtrecError, match=message):
        evaluate(THREE.collection(), THREE.inputs()[1], "micro.MR", weights=weights)


def test_relations_need_a_collection():
    """Qrels alone have no relations; questions they have."""
    qrels, ranks = THREE.inputs()
    with pytest.raises(KgtrecError, match="weights by relation need the questions' topics"):
        evaluate(qrels, ranks, "micro.MR", weights="relation")
    with pytest.raises(KgtrecError, match=r"weights by relation need the questions' topics|shares of relations need"):
        evaluate(qrels, ranks, "micro.MR", weights={"r0": 1})
    assert evaluate(qrels, ranks, "micro.MR", weights="question").values[0, 0, 0] == pytest.approx(17 / 3)
