"""Measures that ir-measures' providers compute."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.errors import MeasureError
from kgtrec.kernels.lists.relevant_rows import ranking_of
from kgtrec.measures.ir_measures_adapter import ProvidedMeasure
from kgtrec.measures.names import parse_measure

needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="ir-measures computes ERR with perl")

QRELS = Qrels.from_frame(
    pd.DataFrame(
        {"query_id": ["a b", "a b", "007", "missing"], "doc_id": ["x y", "NA", "x y", "w"], "relevance": [1, 2, 1, 1]}
    )
)
RUN = Run.from_frame(
    pd.DataFrame(
        {
            "query_id": ["007", "a b", "a b", "unjudged", "007"],
            "doc_id": ["x y", "x y", "new", "new", "a"],
            "score": [1.0, 2.0, 3.0, 1.0, 1.0],
        }
    )
)


def provided(name: str) -> ProvidedMeasure:
    found = parse_measure(name)
    assert isinstance(found, ProvidedMeasure)
    return found


@needs_perl
def test_err_by_hand():
    """(2^g - 1) / 16 at the first relevant place, over the place: labels with blanks, ties and other vocabularies.

    In question 007 two candidates tie, and "x y" stands before "a" as in trec_eval, not behind as in gdeval.
    """
    assert provided("ERR@10").per_question(QRELS, RUN) == pytest.approx([1 / 16 / 2, 1 / 16, 0.0])


def test_compat_is_one_for_the_ideal_list_and_zero_for_a_missing_one():
    """Values stand in the order of the qrels' questions; what the provider does not give is 0."""
    values = provided("Compat").per_question(QRELS, RUN)
    assert 0 < values[0] < 1
    assert values[1:] == pytest.approx([1.0, 0.0])


def test_a_measure_whose_provider_is_not_installed_says_how_to_install_it():
    """pip's command comes from ir-measures."""
    import ir_measures

    if ir_measures.pyndeval.is_available():
        pytest.skip("pyndeval is installed here")
    with pytest.raises(MeasureError, match=r"alpha_nDCG@5 needs a provider .* not installed: pyndeval \(pip install"):
        provided("alpha_nDCG@5").per_question(QRELS, RUN)


def test_a_measure_that_no_provider_computes_without_a_cutoff_says_so():
    """ir-measures lists ERR without a cutoff, but none of its providers has it."""
    with pytest.raises(MeasureError, match="no provider of ir-measures computes ERR without a cutoff; try ERR@10"):
        provided("ERR").per_question(QRELS, RUN)


def test_a_user_defined_measure_is_computed_by_itself():
    """What ir_measures.define makes has no name to parse."""
    import ir_measures

    length = ir_measures.define_byquery(lambda qrels, run: float(len(run)), name="Length")
    found = parse_measure(length)
    assert isinstance(found, ProvidedMeasure)
    assert found.per_question(QRELS, RUN).tolist() == [2.0, 2.0, 0.0]


def test_a_provider_that_fails_gives_one_error():
    """With the provider's own words."""
    import ir_measures

    def fail(qrels: object, run: object) -> float:
        raise RuntimeError("out of luck")

    with pytest.raises(MeasureError, match="ir-measures could not compute Broken: RuntimeError: out of luck"):
        parse_measure(ir_measures.define_byquery(fail, name="Broken")).per_question(QRELS, RUN)


def test_ranks_do_not_do():
    """A provider needs the whole list; the message says what to give."""
    with pytest.raises(MeasureError, match="need a run"):
        provided("Compat").per_question(QRELS, None)
    with pytest.raises(MeasureError, match="computed from a run, not from ranks"):
        provided("Compat").record.value(np.array([1.0]))


@needs_perl
def test_exponential_gains_are_those_of_gdeval():
    """nDCG(dcg='exp-log2')@k has a kernel; gdeval prints five decimals of the same."""
    import ir_measures

    rng = np.random.default_rng(5)
    qrels, run, lists, missing = {}, {}, [], []
    for question in range(1, 30):
        documents = [f"d{number}" for number in rng.permutation(40)]
        qrels[str(question)] = {document: int(rng.integers(0, 5)) for document in documents[:12]}
        listed = [str(document) for document in rng.permutation(documents)[:25]]
        run[str(question)] = {document: float(-place) for place, document in enumerate(listed)}
        lists.append([qrels[str(question)].get(document) for document in listed])
        missing.append([grade for document, grade in qrels[str(question)].items() if document not in listed])
    measure = ir_measures.nDCG(dcg="exp-log2") @ 10
    found = {row.query_id: row.value for row in ir_measures.gdeval.iter_calc([measure], qrels, run)}
    ours = parse_measure(measure)(ranking_of(lists, missing))
    assert dict(zip(qrels, ours, strict=True)) == pytest.approx({q: found[q] for q in qrels}, abs=0.6e-5)


def test_rr_with_a_cutoff_and_judged_are_ir_measures_own_where_nothing_ties():
    """Their providers order ties the other way round; without ties there is one answer."""
    import ir_measures

    qrels = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "z": 1}}
    run = {"1": {"x": 3.0, "b": 2.0, "a": 1.0}, "2": {"a": 2.0, "y": 1.0}}
    ranking = ranking_of([[None, 0, 1], [0, None]], [[2], [1]])
    for measure in (ir_measures.RR @ 2, ir_measures.RR @ 3, ir_measures.Judged @ 2, ir_measures.Judged @ 10):
        expected = {row.query_id: row.value for row in ir_measures.iter_calc([measure], qrels, run)}
        assert dict(zip(qrels, parse_measure(measure)(ranking), strict=True)) == pytest.approx(expected)
