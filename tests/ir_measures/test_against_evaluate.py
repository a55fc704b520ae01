"""What ir-measures gives for kgtrec's measures is what `kgtrec.evaluate` gives, to the bit."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from hypothesis import given

import kgtrec.ir_measures
from kgtrec.errors import KgtrecError, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.ir_measures import micro_MRR
from kgtrec.ir_measures.measures import KgtrecMeasure
from tests.worlds import World, worlds

pytestmark = pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")


def written(measure: KgtrecMeasure) -> KgtrecMeasure:
    """The measure with a number after @ if it takes one."""
    at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    return measure if at is None else measure @ (1.5 if measure.AT_PARAM == "multiple" else 2)


MEASURES = [written(each) for name, each in kgtrec.ir_measures.MEASURES.items() if name != "micro_WMR"]
WITH_CHANCE = [each for each in MEASURES if each.RECORD.has_chance]


def ours(qrels, system, measures, **more):
    return evaluate(qrels, system, [measure.parsed for measure in measures], **more).values[0]


def theirs(qrels, system, measures):
    """(measures, questions) values and (measures,) totals that ir-measures gives, in the order of the qrels."""
    found = ir_measures.calc(measures, qrels, system)
    values = {(row.measure, row.query_id): row.value for row in found.per_query}
    assert len(values) == len(found.per_query)
    questions = list(dict.fromkeys(row.query_id for row in found.per_query))
    return (
        np.array([[values[measure, question] for question in sorted(questions)] for measure in measures]),
        np.array([found.aggregated[measure] for measure in measures]),
    )


def assert_same(found, qrels, system, measures):
    """The worlds' questions q0, q1, ... are in the order of their labels."""
    np.testing.assert_array_equal(found[0], ours(qrels, system, measures, per="question"))
    np.testing.assert_array_equal(found[1], ours(qrels, system, measures)[:, 0])


@pytest.mark.slow
@given(worlds(regraded=True))
def test_answer_ranks_give_every_measure(world: World):
    """Passed on as the run, they have exact ranks and numbers of candidates."""
    if all(grade < 1 for grade in world.grades.values()):
        return
    graded = max(world.grades.values()) > 1
    measures = [each for each in MEASURES if not (graded and each.RECORD.binary)]
    qrels, ranks = world.qrels(), world.answer_ranks()
    assert_same(theirs(qrels, ranks, measures), qrels, ranks, measures)


@given(worlds(regraded=True))
def test_a_run_gives_what_needs_no_candidates(world: World):
    """As named tuples, as a frame, and as a dict of dicts."""
    measures = [each for each in MEASURES if not each.needs_candidates]
    qrels, run = world.qrels(), world.run()
    rows = [ir_measures.ScoredDoc(*row) for row in run.to_frame().itertuples(index=False)]
    judged = {question: {} for question in qrels.questions}
    for row in qrels.to_frame().itertuples(index=False):
        judged[row.query_id][row.doc_id] = row.relevance
    for system in (rows, run.to_frame(), run):
        assert_same(theirs(judged, system, measures), judged, {"run": run}, measures)


@given(worlds())
def test_whole_lists_give_every_measure_with_a_chance_level(world: World):
    """A run of all filtered candidates is as good as answer ranks of the same scores."""
    qrels, run, ranks = world.qrels(), world.run(), world.answer_ranks()
    measures = [each(candidates="listed") for each in WITH_CHANCE]
    assert_same(theirs(qrels, run.to_frame(), measures), qrels, ranks, WITH_CHANCE)


@pytest.mark.slow
@given(worlds())
def test_whole_raw_lists_have_raw_ranks(world: World):
    """A frame that kgtrec made of a raw run says so: an answer is then ranked among the other answers too."""
    raw = World(world.scores, [set() for _ in world.filtered], world.answers, world.grades)
    run = replace(raw.run(), filtered_by=())
    measures = [each(candidates="listed") for each in WITH_CHANCE]
    assert_same(theirs(raw.qrels(), run.to_frame(), measures), raw.qrels(), raw.answer_ranks(()), WITH_CHANCE)


@pytest.mark.slow
@given(worlds())
def test_cut_lists_give_the_number_of_whole_ones_or_none(world: World):
    """With the number of candidates: each measure's value is that of the answer ranks, or it is refused."""
    plain = World(world.scores, [set() for _ in world.filtered], world.answers, world.grades)
    qrels, ranks, n = plain.qrels(), plain.answer_ranks(), len(plain.entities)
    whole = plain.run()
    for depth in range(1, n + 1):
        run = whole.cut(depth)
        for measure in WITH_CHANCE:
            try:
                found = theirs(qrels, run, [measure(candidates=n)])
            except MeasureError as error:
                if depth == n or not re.search("its (value|total) is open", str(error)):
                    raise
                continue
            assert_same(found, qrels, ranks, [measure])


def test_some_of_the_questions_have_their_own_total():
    """The aggregator is given values of questions, and finds the total of these: not the mean of the values."""
    world = World([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], [set(), set()], [{0, 1}, {0}], {(0, 0): 1, (0, 1): 1, (1, 0): 1})
    values = [row.value for row in ir_measures.iter_calc([micro_MRR], world.qrels(), world.answer_ranks())]
    assert values == [1.0, 1 / 3]

    def total(parts):
        found = micro_MRR.aggregator()
        for part in parts:
            found.add(part)
        return found.result()

    assert total(values) == (1 + 1 + 1 / 3) / 3
    assert [total([value]) for value in values] == values
    assert math.isnan(total([]))
    with pytest.raises(KgtrecError, match=r"expected the values that ir_measures\.iter_calc gave for one run"):
        total([1.0, 1 / 3])
