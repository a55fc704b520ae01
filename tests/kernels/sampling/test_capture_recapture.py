"""Missing answers out of labels and finders: the claims of the module against every labelling, and values by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.sampling.capture_recapture import (
    BESIDE,
    FOUND,
    FOUND_PAIRS,
    MORE,
    PAIRS,
    FoundAnswers,
    estimates,
    question_sums,
    standing_for_more,
)
from tests.examples import examples


def answers_of(*questions, weight=None):
    """Known answers of questions, each a text with one letter per answer: how many systems find it, L: and labelled.

    "2L 0L 1" has a label that two systems find, one that none does, and a missing answer that one finds.
    """
    rows = [(number, part) for number, text in enumerate(questions) for part in text.split()]
    return FoundAnswers(
        np.array([number for number, _ in rows], np.intp),
        np.array([part.endswith("L") for _, part in rows], bool),
        np.array([int(part.rstrip("L")) for _, part in rows], np.int64),
        np.ones(len(rows)) if weight is None else np.array(weight, float),
    )


def total(*questions, weight=None):
    return question_sums(answers_of(*questions, weight=weight), len(questions)).sum(axis=0)


def labellings(world, alpha):
    """Every labelling of a world with its probability; the sums, what stands for more, and who is missing.

    A world is a list of questions, each a list of (found, value). What is neither labelled nor found is not known, and
    questions without a label are not asked.

    Yields
    ------
    probability : Fraction
    sums : list of Fractions
        Of :func:`question_sums`, over the asked questions.
    standing, missing, found_missing : Fraction
        Values of the labels that stand for more; of all missing answers of asked questions; of those found.
    """
    flat = [(number, found, value) for number, question in enumerate(world) for found, value in question]
    for labelled in itertools.product((False, True), repeat=len(flat)):
        probability = Fraction(1)
        for has_label in labelled:
            probability *= alpha if has_label else 1 - alpha
        asked = sorted({row[0] for row, has_label in zip(flat, labelled, strict=True) if has_label})
        of_asked = [(row, has) for row, has in zip(flat, labelled, strict=True) if row[0] in asked]
        used = [(row, has) for row, has in of_asked if has or row[1]]
        answers = FoundAnswers(
            np.array([asked.index(row[0]) for row, _ in used], np.intp),
            np.array([has for _, has in used], bool),
            np.array([int(row[1]) for row, _ in used], np.int64),
            np.ones(len(used)),
        )
        sums = [Fraction(value) for value in question_sums(answers, len(asked)).sum(axis=0).tolist()]
        stands = standing_for_more(answers, len(asked))
        yield (
            probability,
            sums,
            sum((row[2] for (row, _), more in zip(used, stands.tolist(), strict=True) if more), Fraction(0)),
            sum((row[2] for row, has in of_asked if not has), Fraction(0)),
            sum((row[2] for row, has in used if not has), Fraction(0)),
        )


def require_unbiased(world, alpha):
    """(a) the odds, (b) the number of missing answers, (c) what they are worth: equal as fractions."""
    odds = (1 - alpha) / alpha
    beside = found_pairs = missing = estimated = worth = worth_estimated = Fraction(0)
    for probability, sums, standing, missing_worth, found_worth in labellings(world, alpha):
        beside += probability * sums[BESIDE]
        found_pairs += probability * sums[FOUND_PAIRS]
        worth += probability * missing_worth
        worth_estimated += probability * (found_worth + odds * standing)
    for probability, sums, _, number, _ in labellings([[(found, 1) for found, _ in row] for row in world], alpha):
        missing += probability * number
        estimated += probability * (sums[FOUND] + odds * sums[MORE])
    assert beside * alpha == found_pairs * (1 - alpha)
    assert missing == estimated
    assert worth == worth_estimated


ANSWER = st.tuples(st.booleans(), st.fractions(-3, 3, max_denominator=8))


@settings(max_examples=examples(25))
@given(
    st.lists(st.lists(ANSWER, min_size=1, max_size=3), min_size=1, max_size=2),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
def test_any_small_world_is_estimated_without_bias(world, alpha):
    require_unbiased(world, alpha)


@pytest.mark.parametrize("alpha", [Fraction(1, 4), Fraction(3, 5)])
def test_where_all_is_found_pairs_of_labels_give_beta(alpha):
    """E[S C] : E[S (S - 1)] = beta : alpha, the method "found"."""
    world = [[(True, Fraction(0))] * size for size in (1, 2, 4)]
    beside = pairs = Fraction(0)
    for probability, sums, *_ in labellings(world, alpha):
        beside += probability * sums[BESIDE]
        pairs += probability * sums[PAIRS]
        assert sums[PAIRS] == sums[FOUND_PAIRS]
        assert sums[MORE] == 0
    assert beside * alpha == pairs * (1 - alpha)


def test_sums_by_hand():
    """Two labels, one found, beside missing ones that 1, 2 and 5 systems find; a lone label; two that none finds."""
    sums = question_sums(answers_of("2L 0L 1 2 5", "0L", "0L 0L"), 3)
    assert sums.tolist() == [[2, 3, 1, 1, 2, 6, 1, 1], [1, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 2, 0, 0, 2]]


def test_estimates_by_hand():
    """Odds 6 / 1: three labels that none finds stand for 18, to 5 labels and 3 found."""
    found = estimates(total("2L 0L 1 2 5", "0L", "0L 0L"), 5)
    assert found.odds == 6
    assert found.answers.tolist() == [8, 8, 5 + 3 + 6 * 3]
    np.testing.assert_allclose(found.share, [3 / 8, 3 / 8, 21 / 26])
    np.testing.assert_allclose(found.missing, [6 / 10, 6 / 10, 6 / 7])


def test_chao_by_hand():
    """Four missing answers found by one of 4 systems, two by two, one label: 7 + 3/4 . 4 . 3 / (2 . 3) = 8.5."""
    found = estimates(total("1L 1 1 1 1 2 2", "0L 1L"), 4)
    assert found.answers[1] - found.answers[0] == pytest.approx(1.5)
    assert estimates(total("1L 1 1 1 1 2 2"), 4).answers[1] == pytest.approx(8.5)
    # six beside one label become 7.5, to two ordered pairs of labels
    assert found.missing[1] == pytest.approx(7.5 / 9.5)


def test_a_single_system_tells_nothing_by_others():
    found = estimates(total("1L 1 1", "0L 1L"), 1)
    assert np.isnan([found.answers[1], found.share[1], found.missing[1]]).all()
    assert np.isfinite([found.answers[0], found.missing[0]]).all()


@pytest.mark.filterwarnings("error")
def test_without_a_pair_of_a_found_label_labels_say_nothing():
    """A missing answer beside one that nobody finds; all else is known."""
    found = estimates(total("0L 0L 1 1"), 2)
    assert np.isnan([found.odds, found.answers[2], found.share[2], found.missing[2]]).all()
    assert np.isfinite([*found.answers[:2], *found.missing[:2]]).all()


@pytest.mark.filterwarnings("error")
def test_without_a_question_of_two_labels_beta_is_not_known():
    """What is missing beside lone labels would look like beta = 1; where nothing is, it is 0."""
    found = estimates(total("1L 1", "1L 2 2"), 2)
    assert np.isnan(found.missing).all()
    assert found.answers[0] == 5
    nothing = estimates(total("1L", "0L"), 2)
    assert nothing.missing[:2].tolist() == [0, 0]
    assert nothing.share[:2].tolist() == [0, 0]


def test_a_sampled_answer_counts_as_what_it_stands_for():
    """One missing answer of weight 2.5 is as good as five of weight one half."""
    one = total("1L 1L 0L 1", weight=[1, 1, 1, 2.5])
    many = total("1L 1L 0L 1 1 1 1 1", weight=[1, 1, 1, *[0.5] * 5])
    np.testing.assert_allclose(one, many)
    assert one[FOUND] == 2.5
    assert one[BESIDE] == 7.5


QUESTION = st.lists(st.sampled_from(["0L", "1L", "3L", "1", "2", "4"]), min_size=1, max_size=5).map(
    lambda parts: " ".join(["1L", *parts])
)


@given(st.lists(QUESTION, min_size=1, max_size=6), st.integers(2, 5))
def test_questions_that_come_k_times_say_the_same(questions, k):
    """Probabilities stay, numbers grow k times; Chao's correction of bias alone does not scale, and not below it."""
    one, many = (estimates(total(*questions * times), 5) for times in (1, k))
    for place in (0, 2):
        assert many.answers[place] == pytest.approx(k * one.answers[place], nan_ok=True)
        assert many.missing[place] == pytest.approx(one.missing[place], nan_ok=True)
        assert many.share[place] == pytest.approx(one.share[place], nan_ok=True)
    assert many.answers[1] >= k * one.answers[1] - 1e-9


@given(st.lists(QUESTION, min_size=1, max_size=6), st.integers(2, 9))
def test_estimates_are_probabilities_and_at_least_what_was_found(questions, n_systems):
    found = estimates(total(*questions), n_systems)
    known = ~np.isnan(found.answers)
    assert (found.answers[known] >= found.answers[0] - 1e-9).all()
    assert ((found.share[known] >= 0) & (found.share[known] < 1)).all()
    beta = found.missing[~np.isnan(found.missing)]
    assert ((beta >= 0) & (beta < 1)).all()


@given(st.lists(QUESTION, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_sums_hang_on_no_order_of_rows(questions, random):
    answers = answers_of(*questions)
    rows = list(range(len(answers.question)))
    random.shuffle(rows)
    shuffled = FoundAnswers(*(column[rows] for column in answers))
    assert question_sums(shuffled, len(questions)).tolist() == question_sums(answers, len(questions)).tolist()
    more = standing_for_more(answers, len(questions))
    assert standing_for_more(shuffled, len(questions)).tolist() == more[rows].tolist()


def test_many_sums_at_once_are_those_of_each():
    """Any leading axes, as of bootstrap samples."""
    every = np.stack([total("1L 1L 1", "0L 0L 2"), total("1L 2"), total("0L 0L 1")])
    at_once = estimates(every.reshape(3, 1, 8), 3)
    for place, sums in enumerate(every):
        one = estimates(sums, 3)
        for part, own in zip(at_once, one, strict=True):
            np.testing.assert_array_equal(part[place, 0], own)
