r"""How many true answers lack a label: capture-recapture, over questions that were asked because of a label.

Systems *find* an answer if one of them ranks it at the top. Of each question that has a label, S answers are labelled,
L of these are found, and C are found and true without a label. Three ways to estimate how many are missing:

- "found": there are no others than those found.
  - "runs": systems find answers independently of each other; the numbers found by exactly one and by exactly two give
  the number that none has found (Chao2, the estimate for incidence).
- "labels": labels are a random sample of the true answers; nothing is assumed about what systems find.

For "labels", a question is asked because it has a label, so its labels are too frequent. The answers beside one of
them are not: the other answers of its question are labelled with probability :math:`\alpha = 1 - \beta`, as all are.
So, over all labels, the numbers of other answers found with and without a label give

.. math:: \frac{\beta}{\alpha} = \frac{\sum_q S_q C_q}{\sum_q L_q (S_q - 1)}.

Of M answers of a question that no system finds, :math:`s \ge 1` are labelled and give the others by

.. math:: E\left[\frac{\beta}{\alpha} s \cdot [s \ge 2]\right] = M \beta - M \beta^M = E[(M - s) [s \ge 1]]

exactly, for every M, and by :math:`\beta s / \alpha` where the question has been asked because of a found label.

References
----------
Chao (1987), Biometrics 43, Estimating the population size for capture-recapture data with unequal catchability, in the
bias-corrected form; Petersen (1896) and Lincoln (1930) for labels against found. The sums over the answers beside a
label are the usual remedy for size-biased samples, see Cochran (1977), Sampling Techniques.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: the columns of :func:`question_sums`
LABELS, FOUND, ONCE, TWICE, PAIRS, BESIDE, FOUND_PAIRS, MORE = range(8)


class FoundAnswers(NamedTuple):
    """Known answers of questions, all of which have a label."""

    question: NDArray[np.intp]  # (n,) from 0
    labelled: NDArray[np.bool_]  # (n,)
    times: NDArray[np.int64]  # (n,) how many systems find it; at least one if it is not labelled
    weight: Floats  # (n,) how many answers it represents: above 1 where only a sample was judged; 1 for labels


def standing_for_more(answers: FoundAnswers, n_questions: int) -> NDArray[np.bool_]:
    r"""(n,) labelled answers that no system finds, each of which represents :math:`\beta / \alpha` missing ones.

    Examples
    --------
    >>> answers = FoundAnswers(np.array([0, 0, 1, 2, 2]), np.array([1, 1, 1, 1, 1], bool), np.array([1, 0, 0, 0, 0]),
    ...                        np.ones(5))
    >>> standing_for_more(answers, 3).tolist()  # the only label of question 1 gives no information
    [False, True, False, True, True]
    """
    question, labelled, times, _ = answers
    labels = np.bincount(question[labelled], minlength=n_questions)
    return labelled & (times == 0) & (labels[question] >= 2)


def question_sums(answers: FoundAnswers, n_questions: int) -> Floats:
    """(n_questions, 8) per question the numbers that :func:`estimates` adds up.

    ``LABELS``; missing answers that any system found, exactly one, exactly two (``FOUND``, ``ONCE``, ``TWICE``);
    ordered pairs of two labels (``PAIRS``), of a label and a found missing answer (``BESIDE``), of a found label and
    another label (``FOUND_PAIRS``); labels that represent missing ones (``MORE``).
    """
    question, labelled, times, weight = answers

    def count(which: NDArray[np.bool_], value: Floats | None = None) -> Floats:
        own = None if value is None else value[which]
        return np.bincount(question[which], own, minlength=n_questions).astype(np.float64)

    labels, found_labels = count(labelled), count(labelled & (times > 0))
    found = count(~labelled, weight)
    once, twice = (count(~labelled & (times == number), weight) for number in (1, 2))
    more = count(standing_for_more(answers, n_questions))
    return np.stack(
        [labels, found, once, twice, labels * (labels - 1), labels * found, found_labels * (labels - 1), more], axis=1
    )


def found_by_none(once: Floats, twice: Floats, n_systems: int) -> Floats:
    """Chao2: how many answers no system finds, from how many one and two find; NaN for one system.

    Examples
    --------
    >>> found_by_none(np.array([4.0, 1.0]), np.array([2.0, 0.0]), 4).tolist()  # 3/4 . 4 . 3 / (2 . 3)
    [1.5, 0.0]
    """
    unseen = (n_systems - 1) / n_systems * once * np.maximum(once - 1, 0) / (2 * (twice + 1))
    return np.where(n_systems > 1, unseen, np.nan)


class Estimates(NamedTuple):
    """Estimates from sums over questions; the last axis of the first three is found, runs, labels."""

    answers: Floats  # (..., 3) true answers of the questions
    share: Floats  # (..., 3) of them that lack a label
    missing: Floats  # (..., 3) beta, the probability that a true answer, of any question, lacks its label
    odds: Floats  # (...,) beta / alpha by labels


def estimates(sums: Floats, n_systems: int) -> Estimates:
    """Estimates from sums of :func:`question_sums` over questions; NaN where there is no estimate.

    Parameters
    ----------
    sums : (..., 8) float array
    n_systems : int

    Examples
    --------
    Two questions of two labels and one missing answer each, all found by two systems: beta is 2 . 2 / (4 + 4).

    >>> answers = FoundAnswers(np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 0, 1, 1, 0], bool), np.full(6, 2),
    ...                        np.ones(6))
    >>> found = estimates(question_sums(answers, 2).sum(axis=0), 2)
    >>> found.answers.tolist(), found.share.round(3).tolist(), found.missing.tolist(), found.odds.tolist()
    ([6.0, 6.0, 6.0], [0.333, 0.333, 0.333], [0.5, 0.5, 0.5], 1.0)
    """
    labels, found, once, twice, pairs, beside, found_pairs, more = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        unseen = found_by_none(once, twice, n_systems)
        odds = np.where(found_pairs > 0, beside / found_pairs, np.nan)
        more_by_runs = np.where(found > 0, 1 + unseen / found, 1.0)
        answers = np.stack([labels + found, labels + found + unseen, labels + found + odds * more], axis=-1)
        missing = np.stack(
            [beside / (pairs + beside), beside * more_by_runs / (pairs + beside * more_by_runs), odds / (1 + odds)],
            axis=-1,
        )
        # without a question of two labels the quotients would make all answers missing, unless none is
        missing[..., :2] = np.where(pairs[..., None] > 0, missing[..., :2], np.nan)
        missing[..., :2] = np.where(found[..., None] > 0, missing[..., :2], 0.0)
        missing[..., 1] = np.where(n_systems > 1, missing[..., 1], np.nan)
        share = 1 - labels[..., None] / answers
    return Estimates(answers, share, missing, odds)
