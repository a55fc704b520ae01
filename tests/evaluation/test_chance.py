"""Chance levels of data sets, from their triples alone, and published numbers set against them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.scores import ChanceTable
from kgtrec.data.triples import SPLITS, Triples
from kgtrec.errors import KgtrecError, MeasureError
from kgtrec.evaluation.chance import adjust, adjustable_measures, candidate_counts, chance_of_split, chance_table
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ranking.rank import rank_scores
from tests.examples import examples

triple = st.tuples(st.sampled_from("abcdef"), st.sampled_from(["r", "s"]), st.sampled_from("abcdef"))
graphs = st.tuples(
    st.lists(triple, max_size=10), st.lists(triple, max_size=3), st.lists(triple, min_size=1, max_size=4)
)
filters = st.sampled_from([SPLITS, ("train",), ("train", "valid"), ("test",), ()])


def built(train, valid, test) -> Collection:
    return build_questions(
        *(Triples.of(sorted(set(rows))) for rows in (train, valid, test)),
        unseen_entities="keep",
        unseen_relations="keep",
    )


def slow_counts(collection: Collection, filtered_by) -> tuple[list[int], list[int]]:
    """Candidates and answers of each question, one entity at a time."""
    rows = collection.filtered
    filtered = {(int(q), int(e), SPLITS[s]) for q, e, s in zip(rows.question, rows.entity, rows.split, strict=True)}
    answers = {(int(q), int(e)) for q, e in zip(collection.qrels.question, collection.qrels.entity, strict=True)}
    candidates, relevant = [], []
    for question in range(len(collection.questions)):
        own = [e for e in range(len(collection.entities)) if (question, e) in answers]
        removed = {
            e
            for e in range(len(collection.entities))
            for split in filtered_by
            if (question, e, split) in filtered and e not in own
        }
        candidates.append(len(collection.entities) - len(removed))
        relevant.append(len(own))
    return candidates, relevant


@given(graph=graphs, filtered_by=filters)
def test_candidate_counts_are_those_of_a_slow_count(graph, filtered_by):
    """All entities but those of the filtered splits; raw, all entities."""
    collection = built(*graph)
    candidates, relevant = candidate_counts(collection, filtered_by)
    assert (candidates.tolist(), relevant.tolist()) == slow_counts(collection, filtered_by)
    if not filtered_by:
        assert set(candidates) == {len(collection.entities)}


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")  # of lists that leave no choice
@settings(max_examples=examples(25))
@given(graph=graphs, filtered_by=filters, seed=st.integers(0, 9))
def test_a_table_from_triples_has_the_levels_that_a_ranked_system_is_set_against(graph, filtered_by, seed):
    """Index and z of numbers adjusted by the table are those that evaluate finds from the ranks; sides included."""
    collection = built(*graph)
    scores = np.random.default_rng(seed).random((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(
        collection, scores, questions=collection, entities=collection, name="s", filtered_by=filtered_by
    ).answer_ranks
    pairs = [
        ("micro.MR", "micro.AMRI", "micro.ZMR"),
        ("micro.MRR", "micro.AMRR", "micro.ZMRR"),
        ("micro.Hits@3", "micro.AHits@3", "micro.ZHits@3"),
        ("micro.GMR", "micro.AGMRI", "micro.ZGMR"),
        ("macro.MRR", "macro.AMRR", "macro.ZMRR"),
        ("AP@2", "AAP@2", "ZAP@2"),
        ("nDCG@2", "AnDCG@2", "ZnDCG@2"),
    ]
    table = chance_table(collection, [pair[0] for pair in pairs], filtered_by=filtered_by)
    total = evaluate(collection, ranks, [label for pair in pairs for label in pair]).values[0, :, 0]
    per_side = evaluate(collection, ranks, [label for pair in pairs for label in pair], per="side")
    for place, (plain, _, _) in enumerate(pairs):
        sides = {"both": total, **dict(zip(per_side.items["side"].to_pylist(), per_side.values[0].T, strict=True))}
        for side, found in sides.items():
            value, index, z = found[3 * place : 3 * place + 3]
            own = adjust(plain, float(value), table, side=side)
            if not math.isnan(index):
                assert own.index == pytest.approx(index, rel=1e-9, abs=1e-9), (plain, side)
            if not math.isnan(z):
                assert own.z == pytest.approx(z, rel=1e-9, abs=1e-9), (plain, side)


def people() -> Collection:
    """Five people; 'likes' of a: b and c are filtered, d is asked for."""
    return built([("a", "likes", "b"), ("a", "likes", "c"), ("d", "boss", "e")], [], [("a", "likes", "d")])


def test_a_table_by_hand():
    """Head question (?, likes, d): five candidates; tail question (a, likes, ?): b, c are filtered, three are left."""
    collection = people()
    assert [part.tolist() for part in candidate_counts(collection)] == [[5, 3], [1, 1]]
    assert [part.tolist() for part in candidate_counts(collection, ())] == [[5, 5], [1, 1]]
    table = chance_table(collection, "micro.MR macro.MRR micro.Hits@1")
    frame = table.to_frame().set_index(["measure", "side"])
    assert list(frame.columns) == ["items", "expectation", "variance"]
    assert frame.loc[("micro.MR", "both")].tolist() == pytest.approx([2, (3 + 2) / 2, (24 + 8) / 12 / 4])
    assert frame.loc[("micro.MR", "head")].tolist() == pytest.approx([1, 3, 2])
    assert frame.loc[("micro.MR", "tail")].tolist() == pytest.approx([1, 2, 8 / 12])
    assert frame.loc[("macro.MRR", "tail")].tolist() == pytest.approx(
        [1, 11 / 18, (1 + 1 / 4 + 1 / 9) / 3 - (11 / 18) ** 2]
    )
    assert frame.loc[("micro.Hits@1", "head")].tolist() == pytest.approx([1, 1 / 5, 4 / 25])


def test_without_names_every_measure_that_knows_its_chance_level_is_there():
    """On both sides and either, with finite moments."""
    table = chance_table(people())
    assert list(dict.fromkeys(table.measure)) == adjustable_measures()
    assert len(table) == 3 * len(adjustable_measures())
    assert np.isfinite(table.expectation).all()
    assert (table.variance >= 0).all()


def slow_mean_rank(splits: dict[str, list], split: str, filtered_by) -> float:
    """E[MR] of a split's triples, one answer and one entity at a time."""
    entities = {label for rows in splits.values() for h, _, t in rows for label in (h, t)}
    filtered = {triple for name in filtered_by for triple in splits[name]}
    answers = set(splits[split])
    total, n = 0.0, 0
    for h, r, t in answers:
        for completed in ([(e, r, t) for e in entities], [(h, r, e) for e in entities]):
            removed = {other for other in completed if other in filtered and other != (h, r, t)}
            if split not in filtered_by:
                removed -= answers
            total += (len(completed) - len(removed) + 1) / 2
            n += 1
    return total / n


@settings(max_examples=examples(40))
@given(graph=graphs, split=st.sampled_from(SPLITS), filtered_by=filters)
def test_the_questions_of_any_split_are_those_of_a_slow_count(graph, split, filtered_by):
    """Also where splits share triples, repeat them, or have entities that no other has."""
    splits = dict(zip(SPLITS, ([*map(tuple, rows)] for rows in graph), strict=True))
    if not splits[split]:
        with pytest.raises(KgtrecError, match=f"expected {split} triples to ask for, found none"):
            chance_of_split(*(Triples.of(rows) for rows in splits.values()), split)
        return
    triples = [Triples.of(rows) for rows in splits.values()]
    found = chance_of_split(*triples, split, "micro.MR", filtered_by=filtered_by).level("micro.MR", "both")[0]
    assert found == pytest.approx(slow_mean_rank(splits, split, filtered_by), rel=1e-12)


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
@settings(max_examples=examples(8))
@given(graph=graphs)
def test_the_test_split_has_the_table_of_its_collection(graph):
    """To the last bit, for every measure and side."""
    collection = built(*graph)
    triples = [Triples.of(sorted(set(rows))) for rows in graph]
    one, other = chance_table(collection), chance_of_split(*triples, "test")
    assert (one.measure, one.side) == (other.measure, other.side)
    assert one.items.tolist() == other.items.tolist()
    assert one.expectation.tobytes() == other.expectation.tobytes()
    assert one.variance.tobytes() == other.variance.tobytes()


def test_a_split_must_be_one_of_three():
    """The nearest name is given."""
    triples = Triples.of([("a", "r", "b")])
    with pytest.raises(KgtrecError, match="expected a split of train, valid, test, found 'vaild'; did you mean valid"):
        chance_of_split(triples, triples, triples, "vaild")


def test_an_adjusted_number_by_hand():
    """MR 2 where 5 is expected with variance 4: index (2 - 5) / (1 - 5), z 3 / 2, ratio 2 / 5; MRR is not turned."""
    table = ChanceTable.of([("micro.MR", "both", 9, 5.0, 4.0), ("micro.MRR", "both", 9, 0.2, 0.01)])
    mean_rank = adjust("micro.MR", 2.0, table)
    assert (mean_rank.measure, mean_rank.index, mean_rank.z, mean_rank.ratio) == ("micro.MR", 0.75, 1.5, 0.4)
    reciprocal = adjust("micro.MRR", 0.6, table)
    assert (reciprocal.index, reciprocal.z) == pytest.approx((0.5, 4.0))


def test_no_room_above_chance_is_undefined():
    """E = 1 and Var = 0: NaN, not a division by zero."""
    adjusted = adjust("micro.MR", 1.0, ChanceTable.of([("micro.MR", "both", 9, 1.0, 0.0)]))
    assert math.isnan(adjusted.index)
    assert math.isnan(adjusted.z)
    assert adjusted.ratio == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("micro.MRRR", 0.3), "the chance table has no measure 'micro.MRRR'; did you mean micro.MRR"),
        (("MRR", 0.3), "^MRR: expected micro.MRR, over answers, as link-prediction papers report it, or macro.MRR, "),
        (("sampled.MRR(50)", 0.8), "is computed among sampled candidates, and cannot be compared with"),
        (("micro.MRR", 33.8), "expected a value of micro.MRR from 0 to 1, found 33.8"),
        (("micro.MRR", math.nan), "expected a value of micro.MRR from 0 to 1, found nan"),
        (("micro.MRR", 0.3, "heads"), "expected a side of both, head, tail, found 'heads'; did you mean head"),
        (("micro.MRR", 0.3, "head"), "the chance table has no row for micro.MRR on side 'head'"),
    ],
)
def test_what_cannot_be_adjusted_is_named(arguments, message):
    """With what the table has."""
    table = ChanceTable.of([("micro.MRR", "both", 9, 0.2, 0.01)])
    measure, value, *side = arguments
    with pytest.raises(KgtrecError, match=message):
        adjust(measure, value, table, side=side[0] if side else "both")


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("micro.AMRI", "micro.AMRI is adjusted for chance already; expected a plain measure, such as micro.MR$"),
        ("adjusted_arithmetic_mean_rank", "micro.AMR is adjusted for chance already; expected a plain measure"),
        ("ZAP@20", "ZAP@20 is adjusted for chance already; expected a plain measure, such as AP@20$"),
        ("hits_at_20", "has no micro.Hits@20; make one with it: kgtrec chance COLLECTION -m micro.Hits@20 --out"),
        ("AP@10", "the chance table has no AP@10; make one with it: kgtrec chance COLLECTION -m AP@10 --out FILE"),
        ("nonsense", "the chance table has no measure 'nonsense'; it has micro.MRR"),
    ],
)
def test_a_measure_that_the_table_lacks_gets_the_way_out(measure, message):
    """Which plain measure it is, or how to make a table that has it."""
    with pytest.raises(KgtrecError, match=message):
        adjust(measure, 0.5, ChanceTable.of([("micro.MRR", "both", 9, 0.2, 0.01)]))


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("RR", "RR: its value by chance is unknown"),
        ("MRR", "MRR: expected micro.MRR, over answers, as link-prediction papers report it, or macro.MRR, over quest"),
        ("micro.AMRI", "micro.AMRI is adjusted for chance already; expected a plain measure, such as micro.MR$"),
        ("micro.ZHits@10", "expected a plain measure, such as micro.Hits@10$"),
        ("AAP@20", "expected a plain measure, such as AP@20$"),
    ],
)
def test_a_measure_of_another_kind_gets_the_right_name(label, message):
    """Of the plain measure over answers or questions."""
    with pytest.raises(MeasureError, match=message):
        chance_table(people(), label)


@pytest.mark.parametrize("label", ["P@5", "bpref", "RBP", "micro.WMR"])
def test_a_measure_without_a_chance_level_stops(label):
    """The message names it."""
    with pytest.raises(MeasureError, match=rf"{label}: its value by chance is unknown"):
        chance_table(people(), label)
