"""Measures over questions: values worked by hand, and what must hold of every list."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.relevant_rows import ranking_of
from kgtrec.measures.names import ParsedMeasure, parse_measure
from kgtrec.measures.registry import registered
from tests.examples import examples
from tests.laws.tables import names

log2 = math.log2

#: places: relevant, unjudged, wrong, grade 2, pooled but unjudged, wrong; not retrieved: relevant, wrong
LIST = ranking_of([[1, None, 0, 2, -1, 0]], [[1, 0]])

BY_HAND = {
    "AP": (1 / 1 + 2 / 4) / 3,
    "AP@3": 1 / 3,
    "AP(rel=2)": 1 / 4,
    "AP(judged_only=True)": (1 + 2 / 3) / 3,
    "P@5": 2 / 5,
    "P@10": 2 / 10,
    "R@4": 2 / 3,
    "RR": 1.0,
    "RR(rel=2)": 1 / 4,
    "RR(rel=2)@3": 0.0,
    "Success@1": 1.0,
    "Success(rel=2)@3": 0.0,
    "Rprec": 1 / 3,
    "Rprec_mult_2.00": 2 / 6,
    "relative_P_2": 1 / 2,
    "relative_P_10": 2 / 3,
    "nDCG": (1 + 2 / log2(5)) / (2 + 1 / log2(3) + 1 / 2),
    "nDCG@3": 1 / (2 + 1 / log2(3) + 1 / 2),
    "nDCG@2": 1 / (2 + 1 / log2(3)),
    "nDCG(dcg='exp-log2')": (1 + 3 / log2(5)) / (3 + 1 / log2(3) + 1 / 2),
    "nDCG(gains={2: 5})@4": (1 + 5 / log2(5)) / (5 + 1 / log2(3) + 1 / 2),
    "nDCG(judged_only=True)": (1 + 2 / log2(4)) / (2 + 1 / log2(3) + 1 / 2),
    "Bpref": (1 + (1 - 1 / 3)) / 3,
    "infAP": (1 + (1 + 2 * (1 + 1e-5) / (2 + 2e-5)) / 4) / 3,
    "IPrec@0.0": 1.0,
    "IPrec@0.4": 1 / 2,
    "iprec_at_recall_0.40": 1.0,
    "IPrec@0.8": 0.0,
    "11pt_avg": (5 * 1 + 4 / 2) / 11,
    "Judged": 4 / 6,
    "Judged@2": 1 / 2,
    "Judged@100": 4 / 6,
    "unj_2": 1 / 2,
    "unj_10": 2 / 10,
    "RBP(rel=1,p=0.5)": 0.5 * (1 + 1 / 8),
    "RBP(rel=1,p=0.5)@3": 0.5,
    "RBP(rel=1,p=0.5,judged_only=True)": 0.5 * (1 + 1 / 4),
    "RBPResidual(p=0.5)": 1 - 0.5 * (1 + 1 / 4 + 1 / 8 + 1 / 32),
    "RBPResidual(p=0.5)@2": 1 - 0.5,
    "Q": ((1 + 1) / (1 + 2) + (2 + 3) / (4 + 4)) / 3,
    "Q@2": (1 + 1) / (1 + 2) / 2,
    "Q(beta=0.5)": ((1 + 0.5) / (1 + 1) + (2 + 1.5) / (4 + 2)) / 3,
    "Q(gains={2: 5})": ((1 + 1) / (1 + 5) + (2 + 6) / (4 + 7)) / 3,
    "Q(judged_only=True)": ((1 + 1) / (1 + 2) + (2 + 3) / (3 + 4)) / 3,
    "rbp": 0.1 * (1 / 2 + 0.9**3),
    "rbp_resid": 0.9**6 + 0.1 * (0.9 + 0.9**4),
    "SetP": 2 / 6,
    "SetRelP": 2 / 3,
    "SetR": 2 / 3,
    "SetF": 2 * (1 / 3) * (2 / 3) / (1 / 3 + 2 / 3),
    "SetF(beta=2)": 3 * (1 / 3) * (2 / 3) / (2 / 3 + 2 / 3),
    "SetAP": 2 / 9,
    "utility": 2 - 4,
    "utility(missed=-0.5)": 2 - 4 - 0.5,
    "binG": (1 + 1 / log2(4)) / 3,
    "G": (1 / log2(2 + 2 - 1) + 2 / log2(2 + 5 - 3)) / 4,
    "ndcg_rel": (1 / 2 + 2 * (1 + 2 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)) / 3,
    "Rndcg": (1 / 2 + 1 / (2 + 1 / log2(3) + 1 / 2) + (1 + 2 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)) / 3,
    "NumQ": 1.0,
    "NumRet": 6.0,
    "NumRelRet": 2.0,
    "NumRel": 3.0,
    "NumRel(rel=2)": 1.0,
    "num_nonrel_judged_ret": 2.0,
    "gm_map": (1 / 1 + 2 / 4) / 3,
    "gm_bpref": (1 + (1 - 1 / 3)) / 3,
}


@pytest.mark.parametrize(("name", "expected"), BY_HAND.items())
def test_value_worked_by_hand(name: str, expected: float):
    """One list with a wrong, an unjudged, a pooled-but-unjudged and a missed candidate, measure by measure."""
    assert parse_measure(name)(LIST) == pytest.approx([expected], rel=1e-12)


def instances() -> list[ParsedMeasure]:
    """Every registered measure over lists, at a few cutoffs."""
    found = []
    for measure in registered("questions"):
        if measure.name.startswith("macro.") or measure.form != "plain":  # see tests/laws
            continue
        behind = {"cutoff": ["@1", "@3", "@50"]}.get(measure.at, ["@0.3", "@1.0"])
        if measure.cutoff != "required":
            behind = ["", *(behind if measure.cutoff == "optional" else [])]
        found += [parse_measure(measure.name + at) for at in behind]
    return [measure for measure in found if isinstance(measure, ParsedMeasure)]


INSTANCES = instances()
LABELS = [measure.label for measure in INSTANCES]

grades = st.sampled_from([None, None, None, -1, 0, 0, 1, 1, 2, 3])
questions = st.lists(
    st.tuples(st.lists(grades, max_size=12), st.lists(st.integers(-1, 3), max_size=4)), min_size=1, max_size=6
)


def as_ranking(drawn: list[tuple[list[int | None], list[int]]]) -> JudgedRanking:
    return ranking_of([listed for listed, _ in drawn], [missing for _, missing in drawn])


def test_every_measure_was_worked_by_hand():
    """No registered measure over lists lacks a worked value."""
    worked = {parse_measure(name).record.name for name in BY_HAND}
    assert worked == {measure.record.name for measure in INSTANCES}


@pytest.mark.parametrize("measure", INSTANCES, ids=LABELS)
@settings(max_examples=examples(40), deadline=None)
@given(drawn=questions, halves=st.booleans())
def test_values_are_within_the_bounds(measure: ParsedMeasure, drawn, halves: bool):
    """Whatever the list, also where ties put candidates between two places."""
    ranking = as_ranking(drawn)
    if halves:
        place = ranking.position + 0.5
        ranking = dataclasses.replace(ranking, position=place, num_retrieved=ranking.num_retrieved + 1)
    low, high = measure.record.bounds
    values = measure(ranking)
    assert values.shape == (len(drawn),)
    assert np.all((values >= low - 1e-9) & (values <= high + 1e-9))


@pytest.mark.parametrize("measure", INSTANCES, ids=LABELS)
@settings(max_examples=examples(25), deadline=None)
@given(drawn=questions, seed=st.integers(0, 1000))
def test_a_question_counts_by_itself(measure: ParsedMeasure, drawn, seed: int):
    """A question's value is the one it has alone, so reordering the questions reorders the values."""
    order = np.random.default_rng(seed).permutation(len(drawn))
    together = measure(as_ranking([drawn[place] for place in order]))
    alone = np.array([measure(as_ranking([question]))[0] for question in drawn])
    assert together == pytest.approx(alone[order], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("measure", INSTANCES, ids=LABELS)
def test_an_empty_list_scores_zero(measure: ParsedMeasure):
    """A question without a list counts 0, as with trec_eval -c; counts of the qrels stay, and all doubt."""
    others = {"NumQ": [1, 1, 1], "NumRel": [2, 0, 0], "RBPResidual": [1, 1, 1]}
    expected = others.get(measure.record.name, [0, 0, 0])
    assert measure(ranking_of([[], [], []], [[1, 2, 0], [0, -1], []])).tolist() == expected


@pytest.mark.parametrize("measure", INSTANCES, ids=LABELS)
def test_no_questions_give_no_values(measure: ParsedMeasure):
    """Arrays of length 0 in, an array of length 0 out."""
    assert measure(ranking_of([])).shape == (0,)


PROMOTED = names("""
    AP AP@3 nDCG nDCG@3 nDCG(dcg='exp-log2') RR RR@2 P@3 R@3 Success@2 RBP RBP(rel=1)@4 Rprec binG IPrec@0.5
    11pt_avg relative_P_3 ndcg_rel Rndcg Q Q@3 Q(beta=0.3) Q(beta=7)@4 Q(judged_only=True)
""")


@pytest.mark.parametrize("name", PROMOTED)
@settings(max_examples=examples(80), deadline=None)
@given(
    listed=st.lists(grades, min_size=2, max_size=12), missing=st.lists(st.integers(0, 3), max_size=4), data=st.data()
)
def test_promoting_a_better_candidate_never_lowers_the_value(name: str, listed, missing, data):
    """Swapping a candidate with the one right above it, which is worth less."""
    better = [place for place in range(1, len(listed)) if max(listed[place] or 0, 0) > max(listed[place - 1] or 0, 0)]
    assume(better)
    place = data.draw(st.sampled_from(better))
    promoted = list(listed)
    promoted[place - 1], promoted[place] = listed[place], listed[place - 1]
    before, after = parse_measure(name)(ranking_of([listed, promoted], [missing, missing]))
    assert after >= before - 1e-12


#: what NTCIREVAL's manual and pyNTCIREVAL 0.0.3's tests print for its sample: 10 relevant, an unjudged one at place 3
NTCIREVAL = {"Q": 0.0967, "Q@2": 0.25, "Q(judged_only=True)": 0.1083, "Q(gains={2: 4, 3: 9})": 0.0929}


def test_q_measure_is_that_of_ntcireval():
    """Whole, at a cutoff, of the condensed list and with other gains."""
    sample = ranking_of([[0, 3, None, 2]], [[3, 3, 2, 2, 1, 1, 1, 1]])
    found = {name: parse_measure(name)(sample)[0].round(4) for name in NTCIREVAL}
    assert found == NTCIREVAL


@given(drawn=questions, beta=st.floats(0, 20))
def test_q_measure_blends_precision_with_gain(drawn, beta: float):
    """Average precision without gain; of one grade precision as long as each place could be relevant."""
    ranking = as_ranking(drawn)
    assert parse_measure("Q(beta=0)")(ranking) == pytest.approx(parse_measure("AP")(ranking), abs=1e-12)
    one = ranking.regraded(dict.fromkeys((2, 3), 1))
    relevant = one.num_relevant()
    early = dataclasses.replace(one, grade=np.where(one.position <= relevant[one.question], one.grade, 0))
    assert parse_measure(f"Q(beta={beta})")(early) == pytest.approx(parse_measure("AP")(early), abs=1e-12)


@given(drawn=questions, p=st.floats(0, 1))
def test_the_residual_is_what_other_judgements_could_add(drawn, p: float):
    """RBP where all unjudged candidates are relevant, and after the list only relevant ones, is RBP + residual."""
    length = 400
    for listed, missing in drawn:
        full = [1 if grade is None or grade < 0 else int(grade > 0) for grade in listed] + [1] * length
        both = ranking_of([[grade and min(grade, 1) for grade in listed], full], [missing, []])
        least, most = parse_measure(f"RBP(p={p}, rel=1)")(both)
        residual = parse_measure(f"RBPResidual(p={p})")(both)[0]
        assert least + residual == pytest.approx(most + p ** len(full), abs=1e-12)


def test_g_alone_can_lose_by_a_better_order():
    """trec_eval's G discounts each gain by what the list is behind there: 1 2 3 scores 3/4, and 1 3 2 less."""
    before, after = parse_measure("G")(ranking_of([[1, 2, 3], [1, 3, 2]]))
    assert (before, after) == pytest.approx((0.75, (1 / log2(4) + 3 / log2(3) + 2 / log2(2)) / 6))
    assert after < before


@given(drawn=questions)
def test_only_judged_drops_the_others_and_moves_up(drawn):
    """The list that is left is the one written without unjudged candidates."""
    ranking = as_ranking(drawn).only_judged()
    written = ranking_of([[grade for grade in listed if grade is not None and grade >= 0] for listed, _ in drawn])
    assert ranking.num_retrieved.tolist() == written.num_retrieved.tolist()
    assert ranking.position.tolist() == written.position.tolist()
    assert ranking.grade.tolist() == written.grade.tolist()


@settings(deadline=None)
@given(drawn=questions)
def test_perfect_lists_score_one(drawn):
    """All relevant candidates first, the highest grades first: 1 wherever there is a relevant one."""
    perfect = [(sorted((g for g in [*listed, *missing] if g), reverse=True), []) for listed, missing in drawn]
    ranking = as_ranking(perfect)
    some = (ranking.num_relevant() > 0).astype(float)
    for name in names("AP nDCG nDCG@2 RR Rprec R@50 Success@1 Bpref G binG ndcg_rel Rndcg Q Q(beta=4)@2"):
        assert parse_measure(name)(ranking) == pytest.approx(some, abs=1e-12)


def test_ties_between_places_are_read_as_places():
    """A candidate at place 1.5 has reciprocal rank 2/3 and is not at the first place."""
    tied = dataclasses.replace(ranking_of([[1]]), position=np.array([1.5]))
    assert parse_measure("RR")(tied) == pytest.approx([2 / 3])
    assert parse_measure("AP")(tied) == pytest.approx([2 / 3])
    assert parse_measure("P@1")(tied).tolist() == [0.0]
    assert parse_measure("nDCG")(tied) == pytest.approx([1 / log2(2.5)])
