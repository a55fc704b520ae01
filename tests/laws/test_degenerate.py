"""Degenerate input yields the documented value, or NaN with a warning that names the measure."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.errors import KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.measures.record import Measure
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import Table, spelled
from tests.worlds import World

EVERY = [pytest.param(measure, id=measure.name) for measure in registered()]
CHANCE_FORMS = [pytest.param(m, id=m.name) for m in registered() if m.form in ("index", "z")]
TIES = ("realistic", "optimistic", "pessimistic", "expected", "nondeterministic")


def told(qrels: Qrels, system, label: str, **options) -> tuple[float, list[str]]:
    """The value and what was warned of; nothing inside may divide by zero, overflow or yield NaN unnoticed."""
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="raise"):
        warnings.simplefilter("always")
        value = float(evaluate(qrels, system, label, **options).values[0, 0, 0])
    assert all(issubclass(warning.category, KgtrecWarning) for warning in heard)
    return value, [str(warning.message) for warning in heard]


def assert_told(label: str, value: float, messages: list[str]) -> None:
    """A number, or NaN and one warning that begins with the measure's name."""
    assert math.isfinite(value) or [message.startswith(f"{label} of ") for message in messages] == [True], messages


def qrels_with_grades(table: Table, grade: int) -> Qrels:
    qrels, _ = table.inputs()
    return replace(qrels, grade=np.full_like(qrels.grade, grade))


@pytest.mark.parametrize("measure", EVERY)
def test_no_answers(measure: Measure):
    """Means over answers and adjusted measures are undefined and say so; a question without answers scores 0 in
    trec_eval's measures, as there."""
    table = Table((3, 2), ((1, 0), (2,)), (0, 1))
    for label in spelled(measure):
        value, messages = told(qrels_with_grades(table, 0), table.inputs()[1], label, collection=table.collection())
        assert_told(label, value, messages)
        if measure.items == "answers" or measure.form != "plain":
            assert math.isnan(value), label
        elif measure.bounds == (0.0, 1.0) and measure.name not in ("Judged", "unj", "rbp_resid", "RBPResidual"):
            assert value == pytest.approx(0 if "gm_" not in label else 1e-5), label


@pytest.mark.parametrize("measure", CHANCE_FORMS)
@settings(max_examples=examples(8))
@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=5), data=st.data())
def test_no_choice_leaves_index_and_z_undefined(measure: Measure, counts: list[int], data):
    """Every candidate is an answer: M = E = 1, and never the quotient of two roundings."""
    relation = tuple(data.draw(st.integers(0, 1)) for _ in counts)
    table = Table((0,) * len(counts), tuple((0,) * count for count in counts), relation)
    for label in (name for name in spelled(measure) if "AAP@" not in name):
        value, messages = told(
            table.inputs()[0],
            table.inputs()[1],
            label,
            collection=table.collection(),
            weights=data.draw(st.sampled_from([None, "relation", "question"])),
        )
        assert math.isnan(value), label
        assert len(messages) == 1, messages
        assert messages[0].startswith(f"{label} of s is undefined where chance gives the best value too"), messages


@pytest.mark.parametrize("measure", EVERY)
def test_one_question_with_one_answer(measure: Measure):
    """The answer second of four: every measure has a value."""
    table = Table((3,), ((1,),), (0,))
    for label in spelled(measure):
        value, messages = told(table.inputs()[0], table.inputs()[1], label, collection=table.collection())
        assert_told(label, value, messages)
        assert math.isfinite(value) or measure.form == "z" or label in ("AP@1",), label


def tied(score: float) -> World:
    return World([[score] * 6, [score] * 6], [set(), {5}], [{1, 2}, {0}], {(0, 1): 1, (0, 2): 1, (1, 0): 1})


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("score", [0.0, -math.inf])
@pytest.mark.parametrize("measure", [m for m in EVERY if m.values[0].weighting != "relation"])
def test_all_tied_and_all_minus_infinity(measure: Measure, score: float, ties: str):
    """A finite number under every rule for ties, the same for -inf as for any score; or the way out is told."""
    world = tied(score)
    for label in spelled(measure):
        if ties == "expected" and measure.expected is None:
            with pytest.raises(MeasureError, match=r"has no exact expectation .* choose another rule"):
                told(world.qrels(), world.answer_ranks(), label, ties=ties)
            continue
        value, messages = told(world.qrels(), world.answer_ranks(), label, ties=ties, seed=3)
        assert math.isfinite(value), label
        assert messages == []
        assert value == told(tied(1.0).qrels(), tied(1.0).answer_ranks(), label, ties=ties, seed=3)[0]


CUT = Run.of(
    "cut",
    np.array([0, 0], np.int32),
    np.array([0, 1], np.int32),
    np.array([2.0, 1.0]),
    tied(0.0).questions,
    tied(0.0).entities,
)


@pytest.mark.parametrize("measure", CHANCE_FORMS)
def test_a_cut_run_cannot_be_set_against_chance(measure: Measure):
    """It does not tell how many candidates there were; the message says what to evaluate instead."""
    for label in spelled(measure):
        with pytest.raises(MeasureError, match=r"^(micro|macro|A|Z).* the cut run cut does.*NAME\.ranks\.parquet"):
            told(tied(0.0).qrels(), CUT, label)


@pytest.mark.parametrize("label", ["AnDCG", "AnDCG@20", "ZnDCG@20"])
def test_graded_qrels_have_no_chance_level_of_ndcg(label: str):
    """Its expectation is for grades 0 and 1; the plain measure works."""
    table = Table((3,), ((1, 0),))
    qrels = qrels_with_grades(table, 2)
    with pytest.raises(MeasureError, match=rf"{label} has a chance level for binary grades only"):
        told(qrels, table.inputs()[1], label)
    assert told(qrels, table.inputs()[1], label[1:])[0] > 0


def test_a_group_without_answers_is_undefined_and_told():
    """Per question, one of two has grade 0 only."""
    table = Table((3, 2), ((1,), (2,)))
    qrels = replace(table.inputs()[0], grade=np.array([1, 0], np.int32))
    with pytest.warns(KgtrecWarning, match=r"micro\.MR of s is undefined where there are no answers .*\(1 of 2 values"):
        values = evaluate(qrels, table.inputs()[1], "micro.MR", per="question").values[0, 0]
    assert values[0] == 2
    assert math.isnan(values[1])
