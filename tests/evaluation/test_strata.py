"""Strata of answers by popularity and half-links, and weights by popularity, worked by hand and by pandas."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError, MeasureError, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores, totals
from kgtrec.evaluation.strata import cut
from kgtrec.report.drawing import draw
from kgtrec.report.figures import gist
from tests.collections_by_hand import collection_of
from tests.examples import examples

STRATA = ("popularity", "anchor-popularity", "half-link")
# degrees in train: a 3, b 3, c 1, d 1; x only in test
TRAIN = [("a", "likes", "b"), ("a", "likes", "c"), ("a", "knows", "b"), ("d", "likes", "b")]
TEST = [("d", "likes", "c"), ("b", "likes", "c"), ("c", "knows", "b"), ("c", "knows", "x")]


def collection(train=tuple(TRAIN), test=tuple(TEST)) -> Collection:
    return build_questions(
        Triples.of(train), test=Triples.of(test), unseen_entities="keep", unseen_relations="keep", leaked="keep"
    )


def ranks_of(built: Collection, above: list[int], name: str = "s") -> AnswerRanks:
    """Answer ranks with these counts above, no ties, 20 others."""
    n = len(built.qrels)
    count = np.array(above, np.int32)
    own = built.qrels.question, built.qrels.entity, np.ones(n, np.bool_), count, count * 0, count * 0 + 20, -count / 1.0
    return AnswerRanks(name, *own, built.questions.ids, built.entities, ("train", "valid", "test"), built.stamp)


def answers_of(built: Collection) -> pd.DataFrame:
    """The answers with what train says of them, one by one from the labels of the triples."""
    train = list(zip(*(built.train.decoded(name).to_pylist() for name in ("head", "relation", "tail")), strict=True))
    degree = Counter(label for head, _, tail in train for label in (head, tail))
    outgoing = {(head, relation) for head, relation, _ in train}
    incoming = {(tail, relation) for _, relation, tail in train}
    asked_by = {row.question: row for row in built.questions.to_frame().itertuples()}
    rows = []
    for row in built.qrels.to_frame().itertuples():
        asked = asked_by[row.query_id]
        tail_side = asked.side == "tail"
        anchor = (asked.anchor, asked.relation) in (outgoing if tail_side else incoming)
        answer = (row.doc_id, asked.relation) in (incoming if tail_side else outgoing)
        name = {(1, 1): "both", (1, 0): "anchor only", (0, 1): "answer only", (0, 0): "none"}[anchor, answer]
        rows.append((row.query_id, row.doc_id, degree[row.doc_id], degree[asked.anchor], name))
    return pd.DataFrame(rows, columns=["question", "entity", *STRATA])


def test_half_links_by_hand():
    """(d, likes, c): both seen; (b, likes, c): only (likes, c); (c, knows, b): only (knows, b); (c, knows, x): none."""
    built = collection()
    scores = evaluate(built, ranks_of(built, [0, 1, 2, 3, 4, 5, 6, 7]), "micro.MR", per="half-link")
    about = answers_of(built)
    cell = dict(zip(about["question"] + about["entity"], about["half-link"], strict=True))
    # as tail questions; as head questions anchor and answer change places
    asked = built.questions.to_frame()
    name_of = {(row.anchor, row.relation, row.side): row.question for row in asked.itertuples()}
    assert cell[name_of["d", "likes", "tail"] + "c"] == "both"
    assert cell[name_of["b", "likes", "tail"] + "c"] == "answer only"
    assert cell[name_of["c", "likes", "head"] + "b"] == "anchor only"
    assert cell[name_of["c", "knows", "tail"] + "x"] == "none"
    expected = pd.Series(np.arange(1.0, 9)).groupby(about["half-link"]).mean()
    assert dict(zip(scores.items["half-link"].to_pylist(), scores.values[0, 0], strict=True)) == expected.to_dict()
    assert scores.items["half-link"].to_pylist() == ["both", "anchor only", "answer only", "none"]


def test_popularity_by_hand():
    """Answers of degree 0, 1, 1, 1, 1, 3, 3 and 1 in halves: those of at most 1, and those of 3."""
    built = collection()
    ranks = ranks_of(built, [0, 1, 2, 3, 4, 5, 6, 7])
    degree = answers_of(built)["popularity"].to_numpy()
    assert sorted(degree) == [0, 1, 1, 1, 1, 1, 3, 3]
    scores = evaluate(built, ranks, "micro.MR", per="popularity", quantiles=2)
    assert scores.items["popularity"].to_pylist() == ["0 to 1", "3"]
    assert scores.values[0, 0].tolist() == [np.arange(1, 9)[degree < 3].mean(), np.arange(1, 9)[degree == 3].mean()]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Collection, AnswerRanks]:
    """A few random triples, and a random rank of each answer."""
    triple = st.tuples(st.sampled_from("abcde"), st.sampled_from("rs"), st.sampled_from("abcdef"))
    train = draw(st.lists(triple, min_size=1, max_size=12))
    test = draw(st.lists(triple, min_size=1, max_size=8, unique=True))
    built = collection(train, test)
    n = len(built.qrels)
    return built, ranks_of(built, draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)))


@given(worlds(), st.sampled_from(STRATA), st.integers(2, 5))
@settings(max_examples=examples(5))
def test_strata_add_up_to_the_total(world, per, quantiles):
    """Every answer is in one stratum: values times sizes sum to the total times all, as by pandas' group-by."""
    built, ranks = world
    cuts = {} if per == "half-link" else {"quantiles": quantiles}
    scores = evaluate(built, ranks, "micro.MRR micro.Hits@3", per=per, **cuts)
    about = answers_of(built)
    about["rr"], about["hit"] = 1 / (1 + ranks.above), ranks.above < 3
    key = about[per]
    if cuts:
        ends = sorted({sorted(key)[-(-share * len(key) // quantiles) - 1] for share in range(1, quantiles)})
        key = key.map(lambda degree: sum(end < degree for end in ends))
    expected = about.assign(key=key).groupby("key")[["rr", "hit"]].mean()
    names = scores.items[per].to_pylist()
    found = scores.values[0].T[np.argsort(names)] if per == "half-link" else scores.values[0].T
    assert found == pytest.approx(expected.to_numpy(float), rel=1e-12)
    size = key.value_counts().sort_index().to_numpy()
    assert size.sum() == len(built.qrels)
    assert size @ found / size.sum() == pytest.approx(evaluate(built, ranks, "micro.MRR micro.Hits@3").values[0, :, 0])


@given(worlds(), st.integers(2, 5))
@settings(max_examples=examples(5))
def test_strata_of_anchors_hold_whole_questions(world, quantiles):
    """Measures over questions have values per anchor-popularity, which add up to the total by questions."""
    built, ranks = world
    scores = evaluate(built, ranks, "macro.MRR NumQ", per="anchor-popularity", quantiles=quantiles)
    value, number = scores.values[0]
    assert number.sum() == len(built.questions)
    assert value @ number / number.sum() == pytest.approx(evaluate(built, ranks, "macro.MRR").values[0, 0, 0])


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(2, 12))
def test_strata_are_ranges_of_degrees(rows, quantiles):
    """Equal degrees share a stratum, higher ones are never in a lower one, and the first k hold k/q of the rows."""
    degree = np.array(rows)
    stratum, names = cut(degree, degree, quantiles)
    order = np.argsort(degree, kind="stable")
    assert np.all(np.diff(stratum[order])[np.diff(degree[order]) == 0] == 0)
    assert np.all(np.diff(stratum[order]) >= 0)
    assert len(names) == stratum.max() + 1 <= quantiles
    ranges = [[int(end) for end in name.split(" to ")] for name in names]
    assert all(
        (own[0], own[-1]) == (degree[stratum == place].min(), degree[stratum == place].max())
        for place, own in enumerate(ranges)
    )
    if len(set(rows)) == len(rows):  # then the sizes differ by one at most
        assert np.ptp(np.bincount(stratum)) <= 1


@pytest.mark.parametrize("per", ["popularity", "half-link"])
def test_a_stratum_has_the_interval_of_its_answers_alone(per):
    """Values and intervals of a stratum are those of qrels with its answers only, the others filtered."""
    rng = np.random.default_rng(7)
    labels = [f"e{code}" for code in rng.zipf(1.3, 4000) % 300]
    rows = [(labels[row], f"r{row % 9}", labels[-row]) for row in range(1, 1500)]
    built = collection(rows[:900], sorted(set(rows[900:])))
    ranks = ranks_of(built, rng.integers(0, 20, len(built.qrels)).tolist())
    about, how = answers_of(built), {"confidence": 0.9, "drawn": "triple"}
    scores = evaluate(built, ranks, "micro.MRR micro.Hits@3", per=per, **how)
    key = about[per] if per == "half-link" else pd.Series(cut(*(about[per].to_numpy(),) * 2, 4)[0])
    order = ["both", "anchor only", "answer only", "none"] if per == "half-link" else range(4)
    for place, name in enumerate(order):
        own = built.qrels.take(np.flatnonzero(key == name))
        with unwarned():  # of the other answers
            alone = evaluate(own, ranks, "micro.MRR micro.Hits@3", collection=built, **how)
        for column in ("values", "low", "high"):
            assert getattr(scores, column)[0, :, place] == pytest.approx(getattr(alone, column)[0, :, 0]), column


def test_weights_by_popularity_by_hand():
    """Answers of degree 0, 1 and 3 count 1, 1 and 1/3; WMR keeps its own weights."""
    built = collection()
    ranks = ranks_of(built, [0, 1, 2, 3, 4, 5, 6, 7])
    weight = 1 / np.maximum(answers_of(built)["popularity"].to_numpy(), 1)
    found = evaluate(built, ranks, "micro.MR micro.MRR", weights="popularity")
    expected = [np.average(values, weights=weight) for values in (np.arange(1, 9), 1 / np.arange(1, 9))]
    assert found.values[0, :, 0] == pytest.approx(expected)
    scores = item_scores(built, ranks, "micro.MRR", weights="popularity")["micro.MRR"]
    assert totals(scores) == pytest.approx(expected[1:])
    with pytest.warns(match="counts each relation equally by definition"):
        evaluate(built, ranks, "micro.WMR", weights="popularity")


@given(worlds())
@settings(max_examples=examples(5))
def test_weighted_strata_are_the_weighted_answers(world):
    """Weights by popularity do not change with the stratum that an answer is in."""
    built, ranks = world
    about = answers_of(built)
    weight = 1 / np.maximum(about["popularity"], 1)
    frame = pd.DataFrame({"key": about["half-link"], "weight": weight, "part": weight / (1 + ranks.above)})
    sums = frame.groupby("key").sum()
    scores = evaluate(built, ranks, "micro.MRR", per="half-link", weights="popularity")
    found = dict(zip(scores.items["half-link"].to_pylist(), scores.values[0, 0], strict=True))
    assert found == pytest.approx((sums["part"] / sums["weight"]).to_dict())


def test_entities_that_the_collection_lacks_have_degree_0():
    """An answer of the qrels that no split has is unpopular, and its half-link unseen."""
    built = collection()
    qrels = Qrels.from_frame(pd.DataFrame({"query_id": ["tail0"], "doc_id": ["new"], "relevance": [1]}))
    entities = qrels.entities
    one, zero = np.ones(1, np.int32), np.zeros(1, np.int32)
    own = (zero, zero, one > 0, one, zero, one, np.zeros(1), qrels.questions, entities)
    ranks = AnswerRanks("s", *own, ("train", "valid", "test"), built.stamp)
    for per, name in (("popularity", "0"), ("half-link", "anchor only")):
        assert evaluate(qrels, ranks, "micro.MR", per=per, collection=built).items[per].to_pylist() == [name]


def test_by_default_strata_of_answers_have_the_measures_over_answers():
    """Without measures there are no macro ones per popularity, half-link and answer, or weighted by popularity."""
    built = collection()
    ranks = ranks_of(built, [0] * 8)
    for options in ({"per": "popularity"}, {"per": "half-link"}, {"per": "answer"}, {"weights": "popularity"}):
        measures = evaluate(built, ranks, **options).measures
        assert measures == ("micro.MR", "micro.MRR", "micro.Hits@1", "micro.Hits@3", "micro.Hits@10"), options


def test_what_has_no_strata_is_refused_with_a_way_out():
    """Measures over questions, qrels alone, collections without train, and quantiles of nothing."""
    built = collection()
    ranks = ranks_of(built, [0] * 8)
    for options in ({"per": "popularity"}, {"per": "half-link"}, {"weights": "popularity"}):
        with pytest.raises(MeasureError, match=r"macro\.MRR has one value per question, whose answers .*micro\.MRR"):
            evaluate(built, ranks, "micro.MRR macro.MRR", **options)
        with pytest.raises(KgtrecError, match="train triples, and qrels alone have none: give a collection"):
            evaluate(built.qrels, ranks, "micro.MRR", **options)
        bare = collection_of(1, 2, {(0, 1): 1})
        with pytest.raises(CollectionError, match=r"has none: build one .*kgtrec questions"):
            evaluate(bare, ranks_of(bare, [0]), "micro.MRR", **options)
    for several in (3, 4):  # as many as by default are given too
        with pytest.raises(KgtrecError, match="expected quantiles only of popularity or anchor-popularity"):
            evaluate(built, ranks, "micro.MRR", per="half-link", quantiles=several)
    for wrong in (1, 2.5, 1_001):
        with pytest.raises(KgtrecError, match="quantiles to be a whole number from 2 to 1,000"):
            evaluate(built, ranks, "micro.MRR", per="popularity", quantiles=wrong)


def test_popularity_is_drawn_as_lines_and_half_links_as_a_heat_map():
    """The strata of popularity have an order, the half-links have none."""
    built = collection()
    systems = [ranks_of(built, [0] * 8, "one"), ranks_of(built, [1] * 8, "two")]
    (lines,) = evaluate(built, systems, "micro.MR", per="popularity", quantiles=2).figures()
    assert (lines.kind, lines.caption) == ("strata", "micro.MR of each system by degree in train of the answer.")
    assert (
        gist(lines)
        == "First under 0 to 1: one with 1.00; first under 3: one with 1.00; from 0 to 1 to 3, no lines cross."
    )
    (cells,) = evaluate(built, systems, "micro.MR", per="half-link").figures()
    assert cells.kind == "heat_map"
    assert draw(cells).axes[0].get_xlabel() == "micro.MR"


def test_strata_are_drawn_with_titles_intervals_and_a_colour_for_each_system():
    """Also for those whose line crosses no other; names of many strata stand upright."""
    rng = np.random.default_rng(7)
    labels = [f"e{code}" for code in rng.zipf(1.3, 4000) % 300]
    rows = [(labels[row], f"r{row % 9}", labels[-row]) for row in range(1, 1500)]
    built = collection(rows[:900], sorted(set(rows[900:])))
    systems = [ranks_of(built, rng.integers(0, 20, len(built.qrels)).tolist(), f"s{n}") for n in range(3)]
    scores = evaluate(built, systems, "micro.MR", per="anchor-popularity", quantiles=9, confidence=0.9)
    (figure,) = scores.figures()
    assert figure.caption.endswith(" Bars: intervals over other test sets of as many triples from the same graph.")
    (axes,) = draw(figure).axes
    assert axes.get_xlabel() == "degree in train of the anchor"
    assert axes.get_ylabel() == "micro.MR (lower is better)"
    drawn = [segment[:, 1] for bars in axes.collections for segment in bars.get_segments() if len(segment)]
    known = ~np.isnan(scores.low[:, 0])
    assert np.array(drawn) == pytest.approx(np.stack([scores.low[:, 0][known], scores.high[:, 0][known]], axis=1))
    lines = [line for line in axes.lines if line.get_label()[:1] == "s"]
    assert len({line.get_color() for line in lines}) == 3
    ticks = axes.get_xticklabels()
    assert [tick.get_text() for tick in ticks] == scores.items["anchor-popularity"].to_pylist()
    assert {tick.get_rotation() for tick in ticks} == {90.0}
