"""Missing labels estimated out of a judged pool: a world by hand, laws, and kgtrec.evaluate as the oracle of scores."""

from __future__ import annotations

import json
import math
import warnings
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.judgements import Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.kernels.sampling.capture_recapture import FoundAnswers, estimates, question_sums
from kgtrec.openworld import estimate as module
from kgtrec.openworld.estimate import estimate_missing, judged_answers
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.openworld.labels import TrueFacts, found_answers, hide_labels
from kgtrec.openworld.theory import OpenWorld, expected_score, questions_needed
from kgtrec.pooling.pool_runs import pool_runs
from kgtrec.ranking.rank import rank_scores
from kgtrec.report.show import shown
from kgtrec.systems.baselines import baseline_checkpoints, score_blocks
from tests.campaign.test_estimates import STRATA, judged, world
from tests.examples import examples

pytestmark = pytest.mark.filterwarnings("error")

FOUND, RUNS, LABELS = range(3)


def marked(questions, mark):
    """(question, letter, whether the mark stands before it) of texts of single letters."""
    for question, text in questions.items():
        for place, letter in enumerate(text):
            if letter != mark:
                yield question, letter, text[place - 1 : place] == mark


def qrels(**questions):
    """Judgements of questions, each a text of single-letter answers; ``-`` before a letter: judged wrong."""
    rows = [(question, letter, int(not wrong)) for question, letter, wrong in marked(questions, "-")]
    return Qrels.from_frame(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]))


def run(name="one", **questions):
    """A run that lists single-letter candidates in order; ``=`` before a letter: it ties with the one above."""
    rows = list(marked(questions, "="))
    scores = -np.cumsum([not tied for *_, tied in rows])
    frame = {"query_id": [row[0] for row in rows], "doc_id": [row[1] for row in rows], "score": scores.astype(float)}
    return Run.from_frame(pd.DataFrame(frame), name)


LABELLED = qrels(q1="ab", q2="e", q3="g")
JUDGED = qrels(q1="acd-x", q2="ef-x", q3="h", q9="a")
ONE = run("one", q1="acxb", q2="fe", q3="x")
TWO = run("two", q1="cdxa", q2="fxe", q3="x")


def test_a_world_by_hand():
    """b, a label that no system finds to rank 3, stands for as many as are beside the found labels: 5 to 1."""
    found = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", depth=3)
    assert (found.n_questions, found.n_labels, found.found_labels, found.found_missing) == (3, 4, 2, 3)
    assert (found.set_aside, found.label_pairs) == (1, 1)
    assert (found.systems, found.measures, found.method) == (("one", "two"), ("micro.MRR",), "runs")
    # listed to rank 3: a c x, f e, x of the first, c d x, f x e, x of the second; nobody judged x for q3
    np.testing.assert_allclose(found.judged, [5 / 6, 6 / 7])
    np.testing.assert_allclose(found.answers.value, [7, 7, 4 + 3 + 5 * 1])
    np.testing.assert_allclose(found.share.value, [3 / 7, 3 / 7, 8 / 12])
    np.testing.assert_allclose(found.missing.value, [5 / 7, 5 / 7, 5 / 6])
    # one: a, b, e, g as they stand; with c, d, f out of the lists; and these with the labels out
    np.testing.assert_allclose(found.sparse[0], [(1 + 1 / 3 + 1 / 2 + 0) / 4, (1 / 4 + 0 + 1 / 3 + 0) / 4])
    np.testing.assert_allclose(found.filtered.value[0], [(1 + 1 / 2 + 1 + 0) / 4, (1 / 2 + 0 + 1 / 2 + 0) / 4])
    np.testing.assert_allclose(found.completed.value[0], [(2.5 + 2) / 7, (1 + 3) / 7])
    np.testing.assert_allclose(found.estimated.value[0], [(4.5 + 5 * 1 / 2) / 12, (4 + 5 * 0) / 12])
    assert math.isnan(found.true_answers)
    assert np.isnan(found.true).all()


def test_known_answers_count_as_judged_true():
    """b and d, known otherwise, are found or set aside as what was judged is."""
    bare = qrels(q1="ac-x", q2="ef-x")
    known = qrels(q1="abd", q3="h", q7="z")
    found = estimate_missing(LABELLED, bare, [ONE, TWO], "micro.MRR", depth=3, known=known)
    expected = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", depth=3)
    assert shown(found, "json") == shown(expected, "json")


def test_the_truth_is_told_beside_and_is_not_a_judgement():
    """Answers that only the truth knows change no estimate, and do not pass for judged."""
    truth = qrels(q1="abcdi", q2="ef", q3="ghx")
    found = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", depth=3, truth=truth)
    bare = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", depth=3)
    assert found.true_answers == 10
    assert found.true_share == pytest.approx(6 / 10)
    assert found.true_missing == pytest.approx((2 * 3 + 1 * 1 + 1 * 2) / (2 * 3 + 1 * 1 + 1 * 2 + 2))
    # one: of the labels a, b and e; of the others c, f and the x of q3, each with all that is true out of the list
    np.testing.assert_allclose(found.true_filtered[0], [(1 + 1 / 2 + 1) / 4, (1 / 2 + 1 / 2) / 4])
    np.testing.assert_allclose(found.true[0], [(2.5 + 1 + 1 + 1) / 10, (1 + 1 + 1 + 1 + 1) / 10])
    for name in ("answers", "share", "missing", "filtered", "completed", "estimated", "strength"):
        for end in ("value", "low", "high"):
            np.testing.assert_array_equal(getattr(getattr(found, name), end), getattr(getattr(bare, name), end))
    np.testing.assert_array_equal(found.judged, bare.judged)


def test_ties_at_the_cut_are_not_found():
    """c, d and x tie for places 2 to 4: at depth 3 none of them is found for sure, at depth 4 all are."""
    labels, everything = qrels(q="ab"), qrels(q="abcd-x")
    one = run(q="ac=d=xb")
    cut, whole = (estimate_missing(labels, everything, one, "micro.MRR", depth=depth) for depth in (3, 4))
    assert (cut.found_missing, cut.set_aside) == (0, 2)
    assert (whole.found_missing, whole.set_aside) == (2, 0)
    assert cut.judged.tolist() == [1.0]
    with pytest.raises(KgtrecError, match="expected a question with two labels, one of which is found"):
        estimate_missing(labels, everything, run(q="x=ab"), depth=1, method="labels")


def test_a_run_without_judged_wrong_rows_does_not_tell_what_was_judged():
    found = estimate_missing(LABELLED, qrels(q1="acd", q2="ef"), ONE, depth=3)
    assert np.isnan(found.judged).all()


@pytest.mark.parametrize("judged", [qrels(q8="a"), LABELLED])
def test_nothing_is_estimated_where_nothing_without_a_label_was_judged(judged):
    """Judgements of other questions, or the labels themselves: there would be nothing missing, whatever is."""
    with pytest.raises(KgtrecError, match="expected judgements of candidates that have no label, found none"):
        estimate_missing(LABELLED, judged, [ONE, TWO], "micro.MRR", depth=3)


def test_questions_without_a_judged_candidate_need_not_be_there():
    found = estimate_missing(LABELLED, qrels(q1="-x"), [ONE, TWO], "micro.MRR", depth=3)
    assert (found.n_questions, found.found_missing) == (3, 0)
    assert found.share.value[FOUND] == 0
    np.testing.assert_array_equal(found.sparse, found.completed.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": qrels(q1="-a")}, "labels with at least one answer"),
        ({"labels": qrels(q1="x")}, r"not judged wrong, found \(q1, x\)"),
        ({"truth": qrels(q1="a", q2="e", q3="g")}, r"in the truth, found \(q1, b\)"),
        ({"truth": qrels(q1="ab", q2="-e", q3="g")}, r"in the truth, found \(q2, e\)"),
        ({"weight": np.ones(3)}, "weight"),
        ({"method": "run"}, "method of .*found 'run'; did you mean runs"),
        ({"systems": ONE, "method": "runs"}, "two systems"),
        *(({"labels": qrels(q1="a"), "method": method}, "two labels") for method in ("found", "runs", "labels")),
        *(({option: value}, option) for option in ("depth", "top") for value in (0, True)),
        *(({"p": value}, "wrong order") for value in (0.5, "0.1")),
        *(({"confidence": value}, "confidence") for value in (1, None)),
        ({"systems": []}, "at least one system"),
        ({"systems": [ONE, ONE]}, "different names"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    options = {"labels": LABELLED, "judged": JUDGED, "systems": [ONE, TWO], "depth": 3} | change
    with pytest.raises(KgtrecError, match=message):
        estimate_missing(**options)


def test_the_method_is_the_one_asked_for_or_the_best_that_there_is():
    """Ten pairs of labels tell of "labels"; with fewer it is "runs", and of one system "found"."""
    many = {f"q{i}": "ab" for i in range(5)}
    labels, everything = qrels(**many), qrels(**dict.fromkeys(many, "abc"))
    one, two = (run(name, **dict.fromkeys(many, "abc")) for name in ("one", "two"))
    assert estimate_missing(labels, everything, one).method == "labels"
    assert estimate_missing(labels, everything, [one, two], method="runs").method == "runs"
    assert estimate_missing(LABELLED, JUDGED, ONE, depth=3).method == "found"
    assert estimate_missing(LABELLED, JUDGED, [ONE, TWO], depth=3, method="labels").method == "labels"


def test_without_two_labels_of_a_question_beta_and_strength_are_not_known():
    """One label a question, as in many campaigns: counts and scores are there, nothing pretends that beta is 1."""
    found = estimate_missing(qrels(q="a", r="a"), qrels(q="ac", r="ad"), run(q="ac", r="da"), "micro.MRR")
    assert np.isnan(found.missing.value).all()
    assert np.isnan(found.strength.value).all()
    assert found.answers.value[FOUND] == 4
    np.testing.assert_allclose(found.filtered.value, 1.0)
    assert found.separations.num_rows == 0


# -- systems of random scores: laws and oracles


def random_world(seed, n_questions=12, n_entities=30, n_systems=3):
    """Labels among what is true, and untied scores of systems that know a little of it; nobody lists anything else."""
    rng = np.random.default_rng(seed)
    shape = (n_questions, n_entities)
    true = rng.random(shape) < 0.2
    true[:, 0] = True
    labelled = true & (rng.random(shape) < 0.5)
    labelled[0, 0] = True
    scores = [rng.random(shape) + true * rng.uniform(0.2, 1.0) for _ in range(n_systems)]
    return true, labelled, scores


def names(shape):
    return Vocabulary.of([f"q{i}" for i in range(shape[0])]), Vocabulary.of([f"e{i}" for i in range(shape[1])])


def qrels_of(grades, there=None):
    question, entity = np.nonzero(np.ones(grades.shape, bool) if there is None else there)
    return Qrels.of(
        question.astype(np.int32),
        entity.astype(np.int32),
        grades[question, entity].astype(np.int32),
        *names(grades.shape),
    )


def run_of(name, scores):
    question, entity = (axis.ravel().astype(np.int32) for axis in np.indices(scores.shape))
    return Run.of(name, question, entity, scores.ravel(), *names(scores.shape))


def ranks_of(name, scores, answers, rows=None):
    """Answer ranks, counted one by one: rows of the answers, or of more, which then are further judged pairs."""
    question, entity = np.nonzero(answers if rows is None else rows)
    other = [~answers[q] & (np.arange(scores.shape[1]) != e) for q, e in zip(question, entity, strict=True)]
    own = scores[question, entity]
    above, tied = (
        np.array([compare(scores[q][o], s).sum() for q, o, s in zip(question, other, own, strict=True)], np.int32)
        for compare in (np.greater, np.equal)
    )
    return AnswerRanks(
        name,
        question.astype(np.int32),
        entity.astype(np.int32),
        answers[question, entity],
        above,
        tied,
        np.array([o.sum() for o in other], np.int32),
        own,
        *names(scores.shape),
        ("train", "valid", "test"),
        "",
    )


def runs_of(scores):
    return [run_of(f"s{place}", own) for place, own in enumerate(scores)]


def found_by(scores, depth):
    """(questions, entities) who is within the depth of any system."""
    return np.any([(np.argsort(np.argsort(-own, axis=1), axis=1) < depth) for own in scores], axis=0)


OPTIONS = {"depth": 5}


def estimated(labelled, true, systems, measures="micro.MRR micro.Hits@3", **options):
    return estimate_missing(qrels_of(labelled * 1), qrels_of(true * 1), systems, measures, **(OPTIONS | options))


@given(st.integers(0, 10_000))
@settings(max_examples=examples(15))
def test_scores_are_those_of_evaluate(seed):
    """Sparse on the labels alone; filtered on labels and found, over the labels; completed on both; and the truth."""
    true, labelled, scores = random_world(seed)
    asked = labelled.any(axis=1)
    found = estimated(labelled, true, runs_of(scores), truth=qrels_of(true * 1))
    used = (labelled | (true & found_by(scores, 5))) & asked[:, None]
    for answers, whole, of_labels in (
        (labelled, found.sparse, None),
        (used, found.completed.value, None),
        (used, found.filtered.value, labelled),
        (true & asked[:, None], found.true, None),
        (true & asked[:, None], found.true_filtered, labelled),
    ):
        ranks = [ranks_of(f"s{place}", own, answers) for place, own in enumerate(scores)]
        values = evaluate(qrels_of(answers * 1, answers), ranks, ["micro.MRR", "micro.Hits@3"], per="answer").values
        own = np.ones(answers.sum(), bool) if of_labels is None else of_labels[answers]
        np.testing.assert_allclose(whole, values[:, :, own].mean(axis=2).T, rtol=1e-12)


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=examples(15))
def test_answer_ranks_say_what_runs_say(seed):
    """Whatever was known when scores were ranked: all that is true, the labels, or nothing; shares judged apart."""
    true, labelled, scores = random_world(seed)
    expected = json.loads(shown(estimated(labelled, true, runs_of(scores)), "json"))
    for answers in (true, labelled):
        ranks = [ranks_of(f"s{place}", own, answers, true) for place, own in enumerate(scores)]
        got = json.loads(shown(estimated(labelled, true, ranks), "json"))
        assert set(got.pop("judged").values()) == {None}
        assert got == {name: value for name, value in expected.items() if name != "judged"}


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=examples(15))
def test_the_order_of_rows_files_and_systems_does_not_matter(seed):
    """The same bytes, intervals included; of systems in another order but for the last digits."""
    true, labelled, scores = random_world(seed)
    scores[2] = scores[1].copy()  # two that tie

    def shuffled(frame):
        return frame.sample(frac=1, random_state=seed)

    labels, everything = qrels_of(labelled * 1), qrels_of(true * 1)
    runs = runs_of(scores)
    expected = estimate_missing(labels, everything, runs, **OPTIONS)
    again = estimate_missing(
        Qrels.from_frame(shuffled(labels.to_frame())),
        Qrels.from_frame(shuffled(everything.to_frame())),
        [Run.from_frame(shuffled(one.to_frame()), one.name) for one in runs],
        **OPTIONS,
    )
    assert shown(again, "json") == shown(expected, "json")
    turned = estimate_missing(labels, everything, runs[::-1], **OPTIONS)  # their rows come in that order
    assert turned.separations.equals(expected.separations)
    for name in ("missing", "answers", "filtered", "completed", "estimated", "strength"):
        for end in ("value", "low", "high"):
            one, other = (getattr(getattr(estimate, name), end) for estimate in (turned, expected))
            np.testing.assert_allclose(one if one.ndim == 1 else one[:, ::-1], other, rtol=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_where_all_that_is_true_is_found_all_methods_agree_with_the_truth(seed):
    """To the last rank: found, labels and truth are one, and completed and estimated are the true scores."""
    true, labelled, scores = random_world(seed)
    labelled[:, 0] = True
    labelled[0, 1] = true[0, 1] = True  # a pair
    found = estimated(labelled, true, runs_of(scores), depth=30, truth=qrels_of(true * 1))
    for interval, expected in (
        (found.answers, found.true_answers),
        (found.share, found.true_share),
        (found.missing, found.true_missing),
    ):
        np.testing.assert_allclose(interval.value[[FOUND, LABELS]], expected, rtol=1e-12)
    np.testing.assert_allclose(found.completed.value, found.true, rtol=1e-12)
    np.testing.assert_allclose(found.estimated.value, found.true, rtol=1e-12)
    np.testing.assert_allclose(found.filtered.value, found.true_filtered, rtol=1e-12)
    assert found.set_aside == 0


@given(st.integers(0, 10_000))
@settings(max_examples=examples(10))
def test_intervals_hold_their_values_and_grow_with_confidence(seed):
    true, labelled, scores = random_world(seed, n_questions=40)
    narrow, wide = (estimated(labelled, true, runs_of(scores), confidence=confidence) for confidence in (0.5, 0.99))
    for name in ("answers", "share", "missing", "filtered", "completed", "estimated", "strength"):
        inner, outer = getattr(narrow, name), getattr(wide, name)
        assert np.array_equal(inner.value, outer.value, equal_nan=True)
        known = np.isfinite(outer.low)
        assert np.array_equal(known, np.isfinite(inner.low))
        assert np.isfinite(outer.value[known]).all()
        assert (outer.low[known] <= outer.value[known]).all()
        assert (outer.value[known] <= outer.high[known]).all()
        assert (outer.low[known] <= inner.low[known]).all()
        assert (inner.high[known] <= outer.high[known]).all()


def numbered(*questions):
    """Labels, judgements and two runs: questions of "2L" (a label that two systems find), "1" (found by one), "0L"."""
    rows = {f"q{number}": text.split() for number, text in enumerate(questions)}
    letters = "abcdefghijklm"
    named = {question: list(zip(letters, parts, strict=False)) for question, parts in rows.items()}
    labels = qrels(**{q: "".join(name for name, part in own if part.endswith("L")) for q, own in named.items()})
    known = qrels(**{q: "".join(name for name, _ in own) for q, own in named.items()})
    runs = [
        run(f"s{n}", **{q: "z" + "".join(name for name, part in own if int(part[0]) > n) for q, own in named.items()})
        for n in range(2)
    ]
    return labels, known, runs


def test_what_is_counted_has_no_interval():
    """All that is found of these questions is known, however they were drawn; beta is not a count."""
    labels, known, runs = numbered(*["2L 1L 2 0L"] * 5, *["1L 2L 2L 1"] * 5)
    found = estimate_missing(labels, known, runs, "micro.MRR", depth=9)
    assert np.isnan([found.answers.low[FOUND], found.share.high[FOUND]]).all()
    assert found.missing.low[FOUND] < found.missing.value[FOUND] < found.missing.high[FOUND]
    assert found.answers.low[LABELS] < found.answers.value[LABELS] < found.answers.high[LABELS]


def test_of_a_sample_of_the_judgements_what_is_found_is_an_estimate():
    """It has an interval then, which starts no lower than what was seen; of "runs" nothing is said."""
    labels, known, runs = numbered(*["2L 1L 2 0L"] * 5, *["1L 2L 2L 1"] * 5)
    weight = np.full(len(known), 1.5)
    found = estimate_missing(labels, known, runs, "micro.MRR", depth=9, weight=weight)
    seen = found.n_labels + 10
    assert seen <= found.answers.low[FOUND] < found.answers.value[FOUND] == found.n_labels + 15
    assert np.isnan(found.answers.low[RUNS])


def uneven_world(n_questions, n_entities=30):
    """Questions of 1 to 8 labels and as many other answers, two systems, and all that a system finds judged."""
    rng = np.random.default_rng(n_questions)
    true, labelled = np.zeros((2, n_questions, n_entities), np.bool_)
    for question, size in enumerate(1 + rng.geometric(0.4, n_questions).clip(max=7)):
        true[question, : 2 * size] = labelled[question, :size] = True
    return true, labelled, rng.random((2, n_questions, n_entities)) + true * 0.5


def test_a_completed_score_has_the_interval_that_evaluate_gives_it():
    """One number has one interval: over questions drawn anew, none where fewer than 60 effective ones carry it."""
    measures = "micro.MRR micro.Hits@1"
    for n_questions, has_one in ((30, False), (600, True)):
        true, labelled, scores = uneven_world(n_questions)
        found = estimated(labelled, true, runs_of(scores), depth=30, measures=measures)
        ranks = [ranks_of(f"s{place}", own, true) for place, own in enumerate(scores)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # of no interval
            expected = evaluate(qrels_of(true * 1, true), ranks, measures, confidence=0.95, drawn="question")
        assert np.isfinite(found.completed.low).all() == has_one
        assert expected.low is not None
        assert expected.high is not None
        for own, ends in ((found.completed.low, expected.low), (found.completed.high, expected.high)):
            np.testing.assert_allclose(own, ends[:, :, 0].T, rtol=1e-9)


def test_a_filtered_score_knows_which_share_of_the_facts_has_no_label():
    """As of labels drawn anew, times the root of beta: if all have one, the score is that of all."""
    true, labelled, scores = uneven_world(200)
    found = estimated(labelled, true, runs_of(scores), depth=30, measures="micro.MRR")
    beta, low, high = found.missing.value[LABELS], found.filtered.low[0], found.filtered.high[0]
    assert found.label_pairs >= 10
    value, n = found.filtered.value[0], found.n_labels
    # on the scale of the logit; every label is a unit, and the run of each is worth 1 / rank
    worth = filtered_worth(true, labelled, scores)
    error = np.sqrt(beta * n / (n - 1) * np.sum((worth - worth.mean(axis=1, keepdims=True)) ** 2, axis=1)) / n
    apart = (worth - worth.mean(axis=1, keepdims=True)) ** 2
    effective = apart.sum(axis=1) ** 2 / (apart**2).sum(axis=1)
    reach = scipy.stats.t.ppf(0.975, effective - 1) * error / (value * (1 - value))
    np.testing.assert_allclose(low, scipy.special.expit(scipy.special.logit(value) - reach), rtol=1e-9)
    np.testing.assert_allclose(high, scipy.special.expit(scipy.special.logit(value) + reach), rtol=1e-9)


def filtered_worth(true, labelled, scores):
    """(s, labels) 1 / rank of each label among what is not true."""
    question, entity = np.nonzero(labelled)
    wrong = np.where(true, -np.inf, scores)[:, question]
    return 1 / (1 + np.sum(wrong > scores[:, question, entity][:, :, None], axis=2))


def test_of_labels_that_are_worth_alike_or_miss_nothing_filtered_has_no_interval():
    """Hits@10 of 1 does not tell how often it would be less; nor do labels beside which nothing is missing."""
    labels, known, runs = numbered(*["2L 2L 2"] * 10)
    found = estimate_missing(labels, known, runs, "micro.Hits@10", depth=9)
    assert (found.filtered.value == 1).all()
    assert np.isnan([found.filtered.low, found.filtered.high]).all()
    labels, _, runs = numbered(*["2L 1L 2L"] * 8)
    found = estimate_missing(labels, qrels(q0="-z"), runs, "micro.MRR", depth=9)
    assert found.missing.value[LABELS] == 0
    assert np.isnan([found.filtered.low, found.filtered.high]).all()


def test_of_a_function_the_interval_has_no_bounds_and_needs_more_labels():
    """What a function of ranks may be worth is not known: 60 effective labels, as for ranks, and the plain scale."""

    def shifted(ranks):
        return 1 / ranks + 5

    true, labelled, scores = uneven_world(200)
    found = estimated(labelled, true, runs_of(scores), depth=30, measures=[shifted])
    middle = (found.filtered.low + found.filtered.high) / 2
    np.testing.assert_allclose(middle, found.filtered.value, rtol=1e-12)
    true, labelled, scores = uneven_world(20)
    few = estimated(labelled, true, runs_of(scores), depth=30, measures=["micro.MRR", shifted])
    assert np.isfinite(few.filtered.low[0]).all()
    assert np.isnan(few.filtered.low[1]).all()


@pytest.mark.long
def test_intervals_of_95_percent_hold_the_truth_in_95_of_100_draws_of_labels():
    """The same 60 questions and system, labels of two answers in five drawn 300 times; within 3 standard errors."""
    rng = np.random.default_rng(0)
    true, _, scores = random_world(1, n_questions=60)
    one, everything = run_of("one", scores[0]), qrels_of(true * 1)
    options = {"measures": "micro.MRR", "depth": 5, "truth": everything, "top": 1}
    held = []
    for _ in range(300):
        labelled = true & (rng.random(true.shape) < 0.4)
        found = estimate_missing(qrels_of(labelled * 1, labelled), everything, one, **options)
        truth = (
            (found.answers, LABELS, found.true_answers),
            (found.share, LABELS, found.true_share),
            (found.missing, LABELS, 0.6),
            (found.estimated, (0, 0), found.true[0, 0]),
        )
        held.append([interval.low[place] <= value <= interval.high[place] for interval, place, value in truth])
    assert np.abs(np.mean(held, axis=0) - 0.95).max() < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_systems_that_miss_more_labels_than_independent_ones_would_do_not_find_independently():
    """Of 30 labels both find 20 and one alone 4: independent ones would miss 1/2 . 4 . 3 / (2 . 21) = 1/7, not 6."""
    labels, known, runs = numbered(*["2L 2L 1"] * 10, *["1L 2"] * 4, *["0L 0L 2"] * 3)
    found = estimate_missing(labels, known, runs, "micro.MRR", depth=9)
    assert found.missed_by_runs == pytest.approx(1 / 7)
    assert not found.independent
    for interval in (found.answers, found.share, found.missing):
        assert np.isfinite(interval.value[RUNS])
        assert np.isnan([interval.low[RUNS], interval.high[RUNS]]).all()
    assert (
        '"runs" expects the systems to miss 0 labels, and they miss 6: systems do not find answers independently, so '
        "its numbers are too low and have no interval"
    ) in shown(found, "table")


def test_systems_that_miss_as_many_labels_as_independent_ones_would_may_be_such():
    """Of 31 labels both find 9 and one alone 12: independent ones would miss 1/2 . 12 . 11 / 20 = 3.3 where 4 are."""
    labels, known, runs = numbered(*["2L 1L 1"] * 9, *["1L 2 1"] * 3, *["0L 0L 2 1"] * 2)
    found = estimate_missing(labels, known, runs, "micro.MRR", depth=9)
    assert found.missed_by_runs == pytest.approx(3.3)
    assert found.independent
    assert found.answers.low[RUNS] < found.answers.value[RUNS] < found.answers.high[RUNS]
    assert '"runs" would have' not in shown(found, "table")


def test_systems_that_miss_no_label_where_few_are_to_be_missed_may_be_independent():
    """Of 24 labels both find 20 and one alone 4, as of 1/7 that is missed; none is, which is as likely as can be."""
    labels, known, runs = numbered(*["2L 2L 1"] * 10, *["1L 2"] * 4)
    found = estimate_missing(labels, known, runs, "micro.MRR", depth=9)
    assert found.missed_by_runs == pytest.approx(1 / 7)
    assert found.independent


def test_a_bigger_weight_is_more_of_the_same_answer():
    """A found answer that stands for three is worth three, to counts and to scores; a label is worth one."""
    weight = np.ones(len(JUDGED))
    pairs = [(JUDGED.questions[q], JUDGED.entities[e]) for q, e in zip(JUDGED.question, JUDGED.entity, strict=True)]
    weight[pairs.index(("q2", "f"))] = 3.0
    weight[pairs.index(("q1", "a"))] = 50.0
    found = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", depth=3, weight=weight)
    assert found.found_missing == 5
    np.testing.assert_allclose(found.answers.value, [9, 9, 4 + 5 + 7 * 1])  # beside labels 2 . 2 + 1 . 3, to one pair
    np.testing.assert_allclose(found.completed.value[0], [(2.5 + 1 + 3) / 9, (1 + 1 + 1 + 3) / 9])
    np.testing.assert_allclose(found.estimated.value[0], [(6.5 + 7 / 2) / 16, (6 + 7 * 0) / 16])


def test_what_is_known_otherwise_counts_once_though_a_sample_of_it_was_judged():
    """All of it is there by itself, so what was sampled of it stands for nothing else."""
    options = {"known": JUDGED, "depth": 3}
    expected = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", **options)
    weight = np.where(JUDGED.grade >= 1, 2.5, 1.0)
    found = estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR", weight=weight, **options)
    assert found.found_missing == 3
    assert shown(found, "json") == shown(expected, "json")


# -- strengths and separations


@pytest.mark.parametrize(("method", "factor"), [("found", 1.0), ("runs", 1.125), ("labels", 4 / 3)])
def test_the_model_has_as_many_answers_as_the_method_says(method, factor):
    """Beside what was found: as many as found; 3/4 . 2 . 1 / (2 . 2) more by runs; 4 pairs of labels to 3 that begin
    with a found one by labels. An answer in parts counts for the whole numbers on both sides."""
    answers = FoundAnswers(
        np.array([0, 0, 0, 0, 0, 1, 1]),
        np.array([True, True, False, False, False, True, True]),
        np.array([1, 1, 1, 1, 2, 0, 1]),
        np.ones(7),
    )
    totals = module._Totals.of(answers, np.zeros((1, 1, 7)), None, 2, 4)
    beyond = estimates(question_sums(answers, 2).sum(axis=0), 4)
    model = module._mixed_world(totals, method)
    assert model.missing == beyond.missing[("found", "runs", "labels").index(method)]
    assert model.share.sum() == pytest.approx(2)
    assert float(model.share @ model.n_answers) == pytest.approx(4 + factor * 3)
    assert set(model.n_answers.tolist()) <= {2, int(2 + factor * 3), int(2 + factor * 3) + 1}


def test_of_questions_of_one_size_strengths_and_separations_are_those_of_theory():
    """Two labels and two found missing answers each: 4 answers, beta 4 / (2 + 4), and kgtrec.openworld.theory."""
    every = [f"q{i}" for i in range(30)]
    labels, everything = qrels(**dict.fromkeys(every, "ab")), qrels(**dict.fromkeys(every, "abcd"))
    orders = ["abcdx", "cxdab", "xcadb", "dxcba"]
    one = run("one", **{name: orders[i % 3] for i, name in enumerate(every)})
    two = run("two", **{name: orders[i % 4] for i, name in enumerate(every)})
    found = estimate_missing(labels, everything, [one, two], "micro.MRR", depth=5, method="found")
    assert found.missing.value[FOUND] == pytest.approx(2 / 3)
    model = OpenWorld(4, 2 / 3)
    np.testing.assert_allclose(expected_score(model, "MRR", found.strength.value[0]), found.sparse[0], atol=1e-9)
    (pair,) = found.separations.to_pylist()
    assert (pair["measure"], pair["higher"], pair["lower"]) == ("micro.MRR", "one", "two")
    assert pair["difference"] == pytest.approx(found.sparse[0, 0] - found.sparse[0, 1])
    strong, weak = found.strength.value[0]
    assert pair["by_theory"] == questions_needed(model, "MRR", weak, strong, p=0.05)


@pytest.mark.slow
def test_questions_by_data_come_of_the_clustered_variance_of_paired_differences():
    """Labels of a question go together: as a regression on a constant with errors clustered by question says."""
    import statsmodels.api as sm

    true, labelled, scores = random_world(11, n_questions=50, n_systems=4)
    found = estimated(labelled, true, runs_of(scores), "micro.MRR micro.Hits@3", top=3, p=0.1)
    assert found.separations.num_rows == 2 * 2
    ranks = [ranks_of(f"s{place}", own, labelled) for place, own in enumerate(scores)]
    values = evaluate(qrels_of(labelled * 1, labelled), ranks, list(found.measures), per="answer").values
    question = np.nonzero(labelled)[0]
    for pair in found.separations.to_pylist():
        measure = found.measures.index(pair["measure"])
        high, low = (values[found.systems.index(name), measure] for name in (pair["higher"], pair["lower"]))
        fit = sm.OLS(high - low, np.ones(len(high))).fit(
            cov_type="cluster", cov_kwds={"groups": question, "use_correction": False}
        )
        assert pair["difference"] == pytest.approx(fit.params[0])
        n = len(set(question.tolist()))
        needed = n * fit.bse[0] ** 2 * (NormalDist().inv_cdf(0.9) / fit.params[0]) ** 2
        assert pair["by_data"] == math.ceil(needed)


def test_systems_that_score_the_same_are_never_separated():
    """Put in the order of their names, whichever is given first."""
    same = [ONE.renamed(name) for name in ("b", "c", "a")]
    found = estimate_missing(LABELLED, JUDGED, same, "micro.MRR", depth=3)
    pairs = [tuple(pair.values())[1:] for pair in found.separations.to_pylist()]
    assert pairs == [("a", "b", 0.0, None, None), ("b", "c", 0.0, None, None)]
    assert estimate_missing(LABELLED, JUDGED, same, "micro.MRR", depth=3, top=1).separations.num_rows == 0


# -- judged pools


def test_judged_answers_of_a_sample_recover_the_pool_on_average():
    """60 samples: the mean of what settled positives stand for is the number of positives of the whole pool."""
    collection, runs, true = world()
    whole = pool_runs(collection, runs, depth=40)
    known_answers = collection.qrels
    everything, weight = judged_answers(whole, known_answers, judged(whole, true))
    assert (weight == 1).all()
    positive = everything.grade >= 1
    totals = []
    for seed in range(60):
        pool = pool_runs(collection, runs, strategy="stratified", strata=STRATA, seed=seed)
        rows, own = judged_answers(pool, known_answers, judged(pool, true))
        seed_rows = rows.question == rows.entity  # question i has the seed i
        assert (own[seed_rows] == 1).all()
        totals.append(float(own[rows.grade >= 1].sum()))
    error = np.std(totals) / np.sqrt(len(totals))
    assert 0 < error < 3
    assert abs(np.mean(totals) - positive.sum()) < 4 * error


def test_judgements_that_are_not_settled_are_stood_for():
    """Of a pool that was judged by half, the settled half counts twice; known answers count once."""
    collection, runs, _ = world()
    pool = pool_runs(collection, runs, depth=10)
    half = np.arange(len(pool)) % 2 == 0
    decisions = Decisions(np.full(len(pool), 2, np.int8), np.where(half, 1, -1).astype(np.int8))
    rows, weight = judged_answers(pool, collection.qrels, decisions)
    known_answers = rows.question == rows.entity
    assert (weight[known_answers] == 1).all()
    np.testing.assert_allclose(weight[~known_answers], len(pool) / half.sum())


def test_an_empty_pool_leaves_the_seeds():
    """All that the systems put on top was known: nothing was judged, so that nothing is told."""
    collection, runs, _ = world()
    pool = pool_runs(collection, runs, depth=5)
    nothing = np.zeros(0, np.int32)
    empty = Pool.of(pool.triples.take(np.zeros(0, np.intp)), nothing, nothing, nothing, nothing, ["a"], pool.questions)
    rows, weight = judged_answers(empty, collection.qrels, Decisions(np.zeros(0, np.int8), np.zeros(0, np.int8)))
    assert len(rows) == len(collection.qrels)
    assert (weight == 1).all()
    with pytest.raises(KgtrecError, match="judge some first"):
        estimate_missing(collection.qrels, rows, runs, weight=weight)


def test_answer_ranks_without_a_row_for_what_was_judged_true_are_refused():
    true, labelled, scores = random_world(5)
    with pytest.raises(CollectionError, match=r"s has no rank for .* \(kgtrec rank --judged\)"):
        estimated(labelled, true, [ranks_of("s", scores[0], labelled)])


# -- a world in which everything is known


@pytest.fixture(scope="module")
def tree():
    """The complete collection of 300 people, and four systems ranked for it."""
    hidden = hide_facts(family_tree(300).facts, hidden=0.5, density=1.0)
    complete = build_questions(hidden.splits.train, hidden.splits.valid, hidden.complete)
    models = [
        (name, model)
        for name, options in (("rules", {"most": [1, 4]}), ("svd", {"factors": [10, 40]}))
        for _, model in baseline_checkpoints(name, complete.train, **options)
    ]
    own = {"questions": complete, "entities": complete, "depth": 0}
    ranks = [
        rank_scores(complete, score_blocks(model, complete), name=f"{name}{place}", **own).answer_ranks
        for place, (name, model) in enumerate(models)
    ]
    return TrueFacts.of(complete), ranks


def test_facts_that_label_two_questions_are_known_from_what_the_questions_ask(tree):
    """They make intervals wider than labels that are independent would be; values stay."""
    true, ranks = tree
    labels, everything = hide_labels(true, 1 / 3).qrels(), hide_labels(true, 1.0).qrels()
    options = {"measures": "micro.MRR", "depth": 1, "top": 1}
    alone = estimate_missing(labels, everything, ranks, **options)
    by_fact = estimate_missing(labels, everything, ranks, questions=true.collection.questions, **options)
    assert (alone.by_fact, by_fact.by_fact) == (False, True)
    for name in ("answers", "missing"):
        one, other = getattr(alone, name), getattr(by_fact, name)
        np.testing.assert_array_equal(one.value, other.value)
        assert (other.high - other.low)[LABELS] > (one.high - one.low)[LABELS]
    one, other = alone.filtered, by_fact.filtered
    np.testing.assert_array_equal(one.value, other.value)
    assert ((other.high - other.low) > (one.high - one.low)).all()


def test_the_same_fact_is_the_answer_of_two_questions():
    """Ann likes tea and jam, Bob likes tea: of who likes tea, and of what Ann likes."""
    facts = Triples.of([("ann", "likes", "tea"), ("ann", "likes", "jam"), ("bob", "likes", "tea")])
    collection = build_questions(Triples.of([]), Triples.of([]), facts)
    rows = collection.qrels
    twin = module._twins(rows, np.ones(len(rows), bool), collection.questions)
    keys = collection.questions.triples(rows.question, rows.entity).keys()
    assert (twin >= 0).all()
    assert (keys[twin] == keys).all()
    assert (rows.question[twin] != rows.question).all()
    used = keys == keys[0]
    assert module._twins(rows, used, collection.questions).tolist() == [1, 0]
    used[np.flatnonzero(used)[1]] = False
    assert module._twins(rows, used, collection.questions).tolist() == [-1]


def betas(tree, correlation):
    """(draws, 3) beta by each method, and the true one, of ten draws of labels of a third of the facts."""
    true, ranks = tree
    everything = hide_labels(true, 1.0).qrels()
    found = found_answers(true, ranks[1]) if correlation else None
    rows = []
    for draw in range(10):
        labels = hide_labels(true, 1 / 3, found=found, correlation=correlation, draw=draw).qrels()
        told = estimate_missing(labels, everything, ranks, "micro.MRR", truth=everything)
        rows.append([*told.missing.value, told.true_missing])
    return np.array(rows)


@pytest.mark.slow
def test_labels_missing_at_random_tell_how_many_are_missing(tree):
    """Two of three: the mean of ten draws is within 3 standard errors, or half a percent where these are tiny."""
    by_found, _, by_labels, of_truth = betas(tree, 0.0).T
    error = by_labels.std(ddof=1) / np.sqrt(10)
    assert abs(by_labels.mean() - 2 / 3) < 3 * error + 0.005
    assert abs((by_labels - of_truth).mean()) < 0.01
    assert by_found.mean() < by_labels.mean()  # not all is found


@pytest.mark.slow
@pytest.mark.parametrize(("correlation", "sign"), [(0.3, 1), (-0.3, -1)])
def test_labels_missing_with_what_is_found_tell_too_many_and_the_other_way_round_too_few(tree, correlation, sign):
    """What systems find is what "labels" looks at: it takes the share that is missing there for the share of all."""
    *_, by_labels, of_truth = betas(tree, correlation).T
    apart = sign * (by_labels - of_truth)
    assert apart.min() > 0
    assert apart.mean() > 0.02
