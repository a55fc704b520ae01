"""Every measure that ir-measures' pytrec_eval provider offers, against that provider (pytrec_eval-terrier)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.relevant_rows import ranking_of
from kgtrec.measures.names import ParsedMeasure, parse_measure
from tests.laws.tables import names

PLAIN = (
    *names("""
    P@1 P@7 P(rel=2)@5 P(judged_only=True)@5 RR RR(rel=2) RR(judged_only=True) Rprec Rprec(rel=2)
    Rprec(judged_only=True) AP AP@5 AP@20 AP(rel=2)@10 AP(rel=3) AP(judged_only=True) AP(judged_only=True)@3 nDCG
    nDCG@1 nDCG@3 nDCG@20 nDCG(judged_only=True) nDCG(judged_only=True)@3 nDCG(gains={1: 3, 2: 1, 3: 7})
    nDCG(gains={0: 1, 3: 0})@5 R@1 R@5 R@1000 R(judged_only=True)@5 Bpref Bpref(rel=2) NumRet NumRet(rel=2)
    NumRelRet NumRel SetAP SetAP(rel=2) SetAP(judged_only=True) SetF SetF(rel=2) SetF(beta=0.5)
    SetF(beta=2.0,judged_only=True) SetP SetP(rel=2) SetP(judged_only=True) SetRelP SetP(relative=True,rel=2)
    SetP(relative=True,judged_only=True) SetR SetR(rel=2) Success@1 Success@5 Success(rel=3)@10
    Success(judged_only=True)@1 IPrec(rel=2)@0.3 IPrec(judged_only=True)@0.7 infAP infAP(rel=2) NumQ
"""),
    *(f"IPrec@{tenth / 10}" for tenth in range(11)),
)


#: measures that trec_eval has and ir-measures has not: pytrec_eval's request, and kgtrec's name
TREC_EVAL_ONLY = {"11pt_avg": "11pt_avg(rounding=0.9)"} | {
    name: name
    for name in names("""
        Rndcg ndcg_rel G binG utility num_nonrel_judged_ret Rprec_mult_0.20 Rprec_mult_1.40 relative_P_5 relative_P_30
    """)
}


def random_case(seed: int, *, grades: list[int]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels and a run with many ties, over questions of very different sizes."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for question in range(25):
        documents = [f"d{number}" for number in rng.permutation(60)]
        judged = documents[: rng.integers(1, 15)]
        qrels[f"q{question}"] = {document: int(rng.choice(grades)) for document in judged}
        listed = rng.permutation(documents)[: rng.integers(1, 50)]
        run[f"q{question}"] = {str(document): float(rng.integers(0, 8)) for document in listed}
    return qrels, run


def ranked(qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> JudgedRanking:
    """The same by sorting in Python."""
    lists, missing = [], []
    for question, grades in qrels.items():
        documents = [
            document
            for _, document in sorted(((score, document) for document, score in run[question].items()), reverse=True)
        ]
        lists.append([grades.get(document) for document in documents])
        missing.append([grade for document, grade in grades.items() if document not in documents])
    return ranking_of(lists, missing)


def measure_of(name: str) -> Any:
    """Their measure, whose name is an expression of Python; their own parser cannot read it on Python 3.14."""
    import ir_measures

    return eval(name, vars(ir_measures))  # noqa: S307  # a name of this file


@pytest.mark.parametrize("grades", [[0, 1], [0, 1, 2, 3], [-1, 0, 1, 2, 3]], ids=["binary", "graded", "negative"])
@pytest.mark.parametrize("name", PLAIN)
def test_values_are_those_of_pytrec_eval(name: str, grades: list[int]):
    """Per question to 1e-6, for relevance levels, judged candidates only, cutoffs and custom gains."""
    import ir_measures

    measure = parse_measure(name)
    assert isinstance(measure, ParsedMeasure)
    theirs = measure_of(name)
    assert ir_measures.pytrec_eval.supports(theirs)
    for seed in range(3):
        qrels, run = random_case(seed, grades=grades)
        ours = dict(zip(qrels, measure(ranked(qrels, run)), strict=True))
        expected = {row.query_id: row.value for row in ir_measures.pytrec_eval.iter_calc([theirs], qrels, run)}
        # where no judged candidate was retrieved, judged_only leaves an empty list, and pytrec_eval divides 0 by 0
        expected = {question: 0.0 if math.isnan(value) else value for question, value in expected.items()}
        assert ours == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize(("theirs", "name"), TREC_EVAL_ONLY.items())
def test_trec_evals_own_measures_are_those_of_pytrec_eval(theirs: str, name: str, rel: int):
    """The same for what only trec_eval has, at relevance level 1 and 2."""
    import pytrec_eval

    measure = parse_measure(name)
    assert isinstance(measure, ParsedMeasure)
    record = measure.record
    parameters = dict(measure.parameters) | ({"rel": rel} if "rel" in record.parameters else {})
    for seed in range(3):
        qrels, run = random_case(seed, grades=[0, 1, 2, 3])
        ours = dict(zip(qrels, record.value(ranked(qrels, run), **parameters), strict=True))
        found = pytrec_eval.RelevanceEvaluator(qrels, {theirs}, relevance_level=rel).evaluate(run)
        expected = {question: values[theirs] for question, values in found.items()}
        if name == "Rndcg":  # without a relevant candidate of that level trec_eval does not compute it
            enough = {question: max(grades.values()) >= rel for question, grades in qrels.items()}
            ours = {question: value if enough[question] else 0.0 for question, value in ours.items()}
        assert ours == pytest.approx(expected, abs=1e-6)


def test_all_measures_of_the_provider_are_tried():
    """No measure of the provider is missing above."""
    import ir_measures

    offered = {measure.NAME for measure in ir_measures.pytrec_eval.SUPPORTED_MEASURES}
    assert offered <= {measure_of(name).NAME for name in PLAIN}
