"""Machines beside people: error rates, the corrected share, reliability, and what their labels would have said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign.machine_report import STATISTICS, MachineReport, machine_report
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.design import Design
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from tests.campaign_folders import people_of
from tests.judged_pools import judgements_of, pool_of

YES, NO, UNSURE, NONE = 1, 0, 2, -1


def campaign_of(sizes, people, relations=None, automatic=()) -> Campaign:
    """Decisions by two annotators who agree; -1: nobody has judged it."""
    pool = pool_of(sizes, relations)
    events = [
        (row, name, "annotator", "NY"[says]) for row, says in enumerate(people) if says >= 0 for name in ("ann", "bob")
    ]
    none, who = np.zeros(0, np.int32), people_of(("ann", "annotator", True), ("bob", "annotator", True))
    known = Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities)
    rule = np.full(len(pool), -1, np.int8)
    rule[list(automatic)] = 0
    rules = Automatic(rule, ("types",) if automatic else ())
    return Campaign(pool, known, rules, who, Assignments.none(who.names), judgements_of(events))


def said_of(verdicts, probability=None) -> MachineVerdicts:
    rows = np.flatnonzero(np.array(verdicts) >= 0).astype(np.int32)
    p = np.full(len(verdicts), np.nan) if probability is None else np.array(probability, float)
    texts = labels_of([""] * len(rows))
    return MachineVerdicts(rows, np.array(verdicts, np.int8)[rows], p[rows], texts, texts, texts)


def values(report: MachineReport, end: str = "value", table: str = "machines") -> dict[str, float]:
    return {row["statistic"]: row[end] for row in report[table].to_pylist()}


PEOPLE = [YES, YES, YES, NO, NO, NO, NO, NONE, NONE, NONE]
MACHINE = [YES, YES, NO, YES, NO, NO, UNSURE, YES, YES, NO]


def test_the_statistics_by_hand():
    """Sensitivity 2/3, specificity 2/3, phi 1/3; 3 of 7 by people, 5 of 9 by the machine, (5/9 - 1/3) / (1/3) = 2/3."""
    report = machine_report(campaign_of([1] * 10, PEOPLE), {"a": said_of(MACHINE)}, resamples=50)
    got = values(report)
    expected = [2 / 3, 2 / 3, 1 / 3, 3 / 7, 5 / 9, 2 / 3]
    assert list(got) == list(STATISTICS)
    assert list(got.values()) == pytest.approx(expected)
    low, high = values(report, "low"), values(report, "high")
    assert all(low[name] <= got[name] <= high[name] for name in STATISTICS)
    assert low["Y corrected"] == 0
    assert high["Y corrected"] == 1  # few triples: in some samples the machine has no skill
    assert "a: 10 verdicts, 1 of them unsure, 6 on triples that people have settled." in report.tables()[0].caption


def test_weights_and_what_a_rule_has_judged():
    """A triple that the design draws with probability 1/4 counts four times; those of a rule count nowhere."""
    made = campaign_of([1] * 10, PEOPLE, automatic=[6])
    chance = np.array([0.25, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    row, is_so = np.arange(10, dtype=np.int32), np.ones(10, bool)
    made = replace(made, design=Design(row, row, np.ones(10), chance, is_so, is_so))
    got = values(machine_report(made, {"a": said_of(MACHINE)}, resamples=50))
    assert got["sensitivity"] == pytest.approx(5 / 6)
    assert got["Y by people"] == pytest.approx(6 / 9)
    assert got["Y by machine"] == pytest.approx(5 / 9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=4, max_size=30))
def test_where_both_judge_everything_the_corrected_share_is_that_of_people(pairs):
    """Rogan and Gladen: se * share + (1 - sp) * (1 - share) is the machine's share."""
    people, machine = (list(column) for column in zip(*pairs, strict=True))
    got = values(machine_report(campaign_of([1] * len(pairs), people), {"a": said_of(machine)}, resamples=5))
    if got["sensitivity"] + got["specificity"] > 1 + 1e-9:
        assert got["Y corrected"] == pytest.approx(got["Y by people"])
    else:
        assert np.isnan(got["Y corrected"])


@pytest.mark.slow
def test_phi_against_scikit_learn():
    """Matthews' correlation coefficient of scikit-learn."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    people, machine = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    got = values(machine_report(campaign_of([1] * 60, people), {"a": said_of(machine)}, resamples=5))
    assert got["phi"] == pytest.approx(metrics.matthews_corrcoef(people, machine))


def test_a_machine_that_always_says_yes():
    """No correlation, no corrected share, no skill; Wilson's interval of as many trials as questions."""
    people = [YES, NO, NO, NO] * 10
    report = machine_report(campaign_of([4] * 10, people), {"a": said_of([YES] * 40, [0.9] * 40)})
    got, low, high = (values(report, end) for end in ("value", "low", "high"))
    assert (got["sensitivity"], got["specificity"], got["Y by machine"]) == (1, 0, 1)
    assert high["specificity"] == pytest.approx(1 - 0.7225, abs=1e-3)  # 0 of 10
    assert low["sensitivity"] == pytest.approx(0.7225, abs=1e-3)
    assert np.isnan([got["phi"], low["phi"], got["Y corrected"]]).all()
    assert (low["Y corrected"], high["Y corrected"]) == (0, 1)
    assert "a: 40 verdicts" in report.tables()[0].caption
    assert "No skill is shown" in report.tables()[0].caption
    assert report["reliability"].to_pylist()[0]["share"] == 0.25


def test_relations_and_reliability():
    """A row for each relation and statistic, and for each filled bin; a probability of 1 is in the last bin."""
    people, p = [YES, NO, YES, NO], [1.0, 0.05, 0.15, 0.1]
    made = campaign_of([2, 2], people, relations=[0, 1])
    report = machine_report(made, {"a": said_of([YES, NO, NO, NO], p)}, resamples=20)
    rows = [row for row in report["relations"].to_pylist() if row["statistic"] == "sensitivity"]
    assert [(row["relation"], row["compared"], row["value"]) for row in rows] == [("r0", 2, 1.0), ("r1", 2, 0.0)]
    bins = report["reliability"].to_pylist()
    assert [(row["from"], row["triples"], row["share"]) for row in bins] == [(0.0, 1, 0), (0.1, 2, 0.5), (0.9, 1, 1)]
    assert bins[1]["mean"] == pytest.approx(0.125)
    assert report.figures()[0].data["measure"].to_pylist() == ["a"] * 3
    assert machine_report(made, {"a": said_of([YES, NO, NO, NO])}).figures() == ()


def test_what_the_labels_would_have_said():
    """Reciprocal ranks of 1 and 1/2 by people are 1/2 and 1 by a machine that says the opposite: tau -1."""
    made = campaign_of([2], [YES, NO])
    ids, entities = made.pool.questions.ids, made.pool.questions.entities
    row = np.zeros(2, np.int32)
    tails = made.pool.triples.tail
    runs = [
        Run.of(name, row, order, np.array([2.0, 1.0]), ids, entities)
        for name, order in (("one", tails), ("two", tails[::-1]))
    ]
    report = machine_report(made, {"a": said_of([NO, YES])}, runs, "macro.MRR", resamples=5)
    rows = [(row["system"], row["people"], row["labels"]) for row in report["systems"].to_pylist()]
    assert rows == [("one", 1.0, 0.5), ("two", 0.5, 1.0)]
    assert report["orders"].to_pylist() == [{"machine": "a", "measure": "macro.MRR", "tau": -1.0, "mean_difference": 0}]


def test_the_same_whatever_the_order_of_questions_and_machines():
    """And other seeds draw other samples."""
    rng = np.random.default_rng(1)
    people, machine = rng.integers(-1, 2, 60), said_of(rng.integers(-1, 3, 60))
    made = campaign_of([3] * 20, people)
    first = machine_report(made, {"a": machine, "b": said_of([YES] * 60)}, resamples=50)
    again = machine_report(made, {"b": said_of([YES] * 60), "a": machine}, resamples=50)
    own = [[row for row in report["machines"].to_pylist() if row["machine"] == "a"] for report in (first, again)]
    np.testing.assert_equal(own[0], own[1])
    other = machine_report(made, {"a": machine}, resamples=50, seed=1)
    assert values(other, "low") != values(machine_report(made, {"a": machine}, resamples=50), "low")


def test_nothing_in_common_and_nothing_at_all():
    """NaN throughout for a machine on which people have said nothing; no machine is an error."""
    made = campaign_of([2, 2], [NONE] * 4)
    report = machine_report(made, {"a": said_of([YES, NO, NONE, NONE])}, resamples=5)
    got = values(report)
    assert got["Y by machine"] == 0.5
    assert np.isnan([got["sensitivity"], got["phi"], got["Y by people"], got["Y corrected"]]).all()
    assert "Too few questions are settled" in report.tables()[0].caption
    with pytest.raises(KgtrecError, match="expected at least one machine"):
        machine_report(replace(made, names={}), {})


def test_vocabulary_of_relations_is_in_byte_order():
    """Whatever the order in which the pool has them."""
    made = campaign_of([1, 1], [YES, NO], relations=[1, 0])
    relations = made.pool.triples.relations
    assert isinstance(relations, Vocabulary)
    report = machine_report(made, {"a": said_of([YES, NO])}, resamples=5)
    assert list(dict.fromkeys(report["relations"]["relation"].to_pylist())) == ["r0", "r1"]
