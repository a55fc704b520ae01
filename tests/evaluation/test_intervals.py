"""Confidence intervals over other test sets."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.intervals import Intervals, answer_triples, drawn_triples, units_of_lists
from kgtrec.evaluation.summarise import ItemValues
from kgtrec.kernels.statistics.ratio_intervals import Units, quotients
from kgtrec.measures.names import parse_measure
from kgtrec.ranking.rank import rank_scores
from kgtrec.report.show import shown
from tests.evaluation.test_summarise import items
from tests.laws.tables import Table


def qrels_of(n: int) -> Qrels:
    return Table((9,) * n, ((0,),) * n).inputs()[0]


def interval(label: str, own: ItemValues, *, confidence=0.95, triple=None, size=1):
    intervals = Intervals(confidence, qrels_of(len(own.value)), triple)
    return intervals.of(parse_measure(label), own, size, "s", alike=False)


@pytest.fixture(scope="module")
def collection() -> Collection:
    """Sixty test triples among twelve entities and two relations."""
    rng = np.random.default_rng(1)
    names = [f"e{i}" for i in range(12)]
    every = [(names[h], f"r{r}", names[t]) for h in range(12) for r in range(2) for t in range(12)]
    chosen = [every[place] for place in rng.permutation(len(every))]
    return build_questions(*(Triples.of(part) for part in (chosen[:80], chosen[80:90], chosen[90:150])))


@pytest.fixture(scope="module")
def ranks(collection: Collection):
    scores = np.random.default_rng(2).random((len(collection.questions), 12))
    return rank_scores(collection, scores, questions=collection, entities=collection, name="s").answer_ranks


def test_a_triple_is_one_unit_of_two_answers(collection: Collection):
    """Each of the 60 has a head and a tail answer; the number of a triple says nothing else."""
    triple = answer_triples(collection.qrels, collection)
    assert np.bincount(triple).tolist() == [2] * 60
    questions = collection.questions.is_head[collection.qrels.question]
    assert all(set(questions[triple == one]) == {True, False} for one in range(60))


def test_a_fact_is_one_unit_at_all_its_times():
    """Two facts, one at two times: two units, of four and of two answers."""
    facts = [("a", "in", "b", "2"), ("a", "in", "b", "3"), ("c", "in", "b", "3")]
    collection = build_questions([("a", "in", "c", "1")], test=facts)
    assert sorted(np.bincount(answer_triples(collection.qrels, collection))) == [2, 4]


def test_over_triples_by_hand(collection: Collection, ranks):
    """micro.MRR is a mean over 60 pairs: its error is that of the pairs' means."""
    scores = evaluate(collection, ranks, "micro.MRR", confidence=0.95)
    each = evaluate(collection, ranks, "micro.MRR", per="answer").values[0, 0]
    pair = np.bincount(answer_triples(collection.qrels, collection), weights=each) / 2
    found = quotients(Units.of(np.arange(60), np.zeros(60, np.int32), 1), pair, np.ones(60))
    value, error = pair.mean(), scipy.stats.sem(pair)
    assert scores.drawn == "triple"
    assert scores.effective[0, 0, 0] == pytest.approx(found.effective[0])
    reach = scipy.stats.t.ppf(0.975, found.effective[0] - 1) * error / (value * (1 - value))
    odds = np.log(value / (1 - value)) + reach * np.array([-1, 1])
    assert [scores.low[0, 0, 0], scores.high[0, 0, 0]] == pytest.approx(1 / (1 + np.exp(-odds)))


def test_triples_of_lists_by_hand():
    """Question 0 has answers in triples 0 and 1, question 1 in triple 0: parts e0 / 2 + e1 and e0 / 2."""
    units = units_of_lists(
        np.array([0, 1, 0]), np.array([0, 0, 1], np.int32), np.array([0, 1], np.int32), np.zeros(2, np.int32), 1
    )
    assert units.parts(np.array([0.4, -0.4])) == pytest.approx([0.2 - 0.4, 0.2])


def test_questions_of_one_answer_each_are_drawn_with_their_triples():
    """A list measure over pairs of questions that share a triple has the error of the pairs' means."""
    rng = np.random.default_rng(3)
    value = rng.random(80)
    triple, question = np.repeat(np.arange(40), 2), np.arange(80, dtype=np.int32)
    units = units_of_lists(triple, question, question, np.zeros(80, np.int32), 1)
    found = quotients(units, value, np.ones(80))
    assert found.error == pytest.approx([scipy.stats.sem(value.reshape(40, 2).mean(axis=1))])


def test_what_is_drawn_by_default(collection: Collection, ranks):
    """Triples, if the answers are the collection's test triples, in any order; questions after judging, or alone."""
    qrels = collection.qrels
    assert evaluate(qrels, ranks, "AP", collection=collection, confidence=0.9).drawn == "triple"
    assert evaluate(qrels, ranks, "AP", confidence=0.9).drawn == "question"
    assert evaluate(collection, ranks, "AP", confidence=0.9, drawn="question").drawn == "question"
    turned = Qrels.from_frame(qrels.to_frame()[::-1])
    np.testing.assert_array_equal(
        np.bincount(drawn_triples(None, turned, collection)), np.bincount(drawn_triples(None, qrels, collection))
    )
    fewer = replace(qrels, grade=np.where(np.arange(len(qrels)) == 7, 0, qrels.grade))
    assert drawn_triples(None, fewer, collection) is None
    assert len(drawn_triples("triple", fewer, collection)) == len(qrels) - 1


def test_what_is_wrong_is_named(collection: Collection, ranks):
    """With what was expected, and the way out."""
    for word, qrels, options in (
        ("'answer'", collection, {"confidence": 0.9, "drawn": "answer"}),
        ("give a collection", collection.qrels, {"confidence": 0.9, "drawn": "triple"}),
        ("such as 0.95", collection, {"drawn": "triple"}),
        ("between 0 and 1", collection, {"confidence": 1.0}),
        *((f"one value per {per}", collection, {"confidence": 0.9, "per": per}) for per in ("answer", "question")),
    ):
        with pytest.raises(KgtrecError, match=word):
            evaluate(qrels, ranks, "micro.MRR", **options)


def test_an_interval_is_the_same_alone_and_in_company(collection: Collection, ranks):
    """To the last bit: with other measures, other systems, in any order, and for any seed."""
    wanted = ["micro.Hits@3", "micro.MRR", "micro.GMR", "macro.MRR", "AP", "micro.MedianRank", "P@2", "micro.AMRR"]
    both = evaluate(collection, [ranks, ranks.renamed("t")], wanted, confidence=0.9)
    turned = evaluate(collection, ranks, wanted[::-1], confidence=0.9, seed=5)
    for place, label in enumerate(wanted):
        alone = evaluate(collection, ranks, label, confidence=0.9)
        for end in ("low", "high", "effective"):
            own = getattr(alone, end)[0, 0, 0]
            assert not np.isnan(own), label
            assert getattr(both, end)[:, place, 0].tolist() == [own, own], label
            assert getattr(turned, end)[0, len(wanted) - 1 - place, 0] == own, label
        assert alone.low[0, 0, 0] <= alone.values[0, 0, 0] <= alone.high[0, 0, 0]


def test_equal_copies_in_a_unit_tell_no_more_than_one():
    """Nine copies of each answer in a question, or in a triple, have the interval of one."""
    value = np.random.default_rng(2).random(200)
    one = interval("micro.MRR", items(value))
    of_question = interval("micro.MRR", items(np.repeat(value, 9), np.repeat(np.arange(200), 9)))
    of_triple = interval("micro.MRR", items(np.repeat(value, 9)), triple=np.repeat(np.arange(200), 9))
    for other in (of_question, of_triple):
        np.testing.assert_allclose(other.ends, one.ends, rtol=1e-12)
        np.testing.assert_allclose(other.effective, one.effective, rtol=1e-12)


def test_linked_means_have_the_interval_of_what_they_are_a_link_of():
    """HMR is 1 / MRR, IMR 1 / MR, IGMR 1 / GMR: the ends turn round."""
    rank = np.random.default_rng(5).integers(1, 21, 400).astype(float)
    for one, other, value in (("HMR", "MRR", 1 / rank), ("IMR", "MR", rank), ("IGMR", "GMR", rank)):
        own, turned = interval(f"micro.{one}", items(rank)), interval(f"micro.{other}", items(value))
        np.testing.assert_allclose(own.ends, 1 / turned.ends[::-1])
    geometric = interval("micro.GMR", items(rank)).ends[:, 0]
    assert geometric[0] < scipy.stats.gmean(rank) < geometric[1]


def test_the_index_of_mean_ranks_is_that_of_the_ends_where_all_lists_are_equally_long():
    """(MR - 10.5) / (1 - 10.5): a better rank is a higher index, so the ends change places."""
    rank = np.random.default_rng(6).integers(1, 21, 500).astype(float)
    plain, index = interval("micro.MR", items(rank)), interval("micro.AMRI", items(rank))
    np.testing.assert_allclose(index.ends, (plain.ends[::-1] - 10.5) / (1 - 10.5))
    np.testing.assert_allclose(index.effective, plain.effective)
    simulated = interval("micro.AGMRI", items(rank)).ends[:, 0]
    assert simulated[0] < simulated[1] < 1


def test_intervals_of_medians_are_those_of_order_statistics():
    """scipy's exact interval of the median of 401 values, within two of them at either end."""
    rank = np.random.default_rng(7).permutation(np.arange(1.0, 402))
    found = interval("micro.MedianRank", items(rank, candidates=500)).ends[:, 0]
    exact = scipy.stats.quantile_test(rank, q=201, p=0.5).confidence_interval(0.95)
    assert found == pytest.approx([exact.low, exact.high], abs=2)


def test_intervals_of_medians_of_open_ranks():
    """Ranks open from r to r + 2 have the interval of r + 1; two halves far apart have one that joins them."""
    rank = np.random.default_rng(8).integers(1, 300, 200)
    opened = replace(items(rank + 1.0, candidates=400), open_ranks=(rank, rank + 2))
    plain = interval("micro.MedianRank", items(rank + 1.0, candidates=400)).ends
    np.testing.assert_allclose(interval("micro.MedianRank", opened).ends, plain, atol=2)


def test_each_group_has_its_own_interval():
    """Two groups in one call are the two groups of two calls, also where units reach into both."""
    rng = np.random.default_rng(9)
    value, group = rng.random(40), np.repeat([0, 1], 20)
    triple = np.tile(np.arange(20), 2)
    for label in ("micro.MRR", "micro.MedianRank"):
        both = interval(label, items(value, group=group), triple=triple, size=2)
        for own in (0, 1):
            alone = interval(label, items(value[group == own]), triple=np.arange(20))
            np.testing.assert_array_equal(both.ends[:, own], alone.ends[:, 0])


def test_z_forms_and_sums_have_no_interval_and_no_word_of_it(collection: Collection, ranks):
    """A z form's spread is chance's own; a number of questions has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = evaluate(collection, ranks, ["micro.ZMRR", "NumQ"], confidence=0.9)
    assert np.isnan([scores.low, scores.high, scores.effective]).all()


def test_too_few_effective_units_give_no_interval_and_are_counted():
    """One answer of rank 1,000 among 99 of rank 1 is the whole variance of MR, and none of Hits@10 to speak of."""
    table = Table((1000,) * 100, ((999,), *((0,),) * 99))
    qrels, ranks = table.inputs()
    with pytest.warns(KgtrecWarning) as told:
        scores = evaluate(qrels, ranks, "micro.MR macro.MR macro.Hits@1000 AP", confidence=0.95)
    assert [str(one.message) for one in told] == [
        "no interval for micro.MR (1.0 effective questions, 60 needed), macro.MR (1.0 effective questions, 60 needed), "
        "macro.Hits@1000 (one question, or all equal), AP (1.0 effective questions, 5 needed); intervals over test "
        "triples (--drawn triple) may have one"
    ]
    assert np.isnan([scores.low, scores.high]).all()
    assert scores.effective[0, 0, 0] == pytest.approx(1.02, abs=0.02)
    with pytest.warns(KgtrecWarning) as told:
        evaluate(qrels, ranks, "micro.Hits@1000 macro.MR", confidence=0.95)
    assert str(told[0].message) == (
        "no interval for micro.Hits@1000 (one question, or all equal), macro.MR (1.0 effective questions, 60 needed)"
    )


def test_an_undefined_item_leaves_its_group_without_an_interval():
    """And the other group as it is."""
    value = [*np.random.default_rng(0).random(20), np.nan, 0.5, 0.5]
    found = interval("micro.MRR", items(value, group=[0] * 20 + [1] * 3), triple=np.arange(23), size=2).ends
    assert np.isnan(found).tolist() == [[False, True]] * 2


def test_long_tables_say_what_is_drawn(collection: Collection, ranks):
    """Each row has the ends, the effective number, and what is drawn; without intervals none of them."""
    table = evaluate(collection, ranks, "micro.MRR AP", confidence=0.9).to_table()
    assert table.column_names == ["system", "measure", "value", "low", "high", "effective", "drawn"]
    assert table.column("drawn").to_pylist() == ["triple", "triple"]
    assert evaluate(collection, ranks, "AP").to_table().column_names == ["system", "measure", "value"]


def test_a_table_shows_no_brackets_where_there_is_no_interval_and_says_what_is_drawn(collection: Collection, ranks):
    """Of micro.MR, which a few of the 60 triples carry; LaTeX in a comment above."""
    with pytest.warns(KgtrecWarning, match=r"no interval for micro\.MR \([0-9.]+ effective triples, 60 needed\)"):
        scores = evaluate(collection, ranks, "micro.MR micro.MRR", confidence=0.95)
    row = shown(scores, "table").splitlines()[1].split()
    assert [cell[0] == "[" for cell in row[2:4]] == [False, True]
    comment, begin, *_ = shown(scores, "latex").splitlines()
    assert comment == "% 95% intervals over other test sets of as many triples from the same graph"
    assert begin.startswith(r"\begin{tabular}")
