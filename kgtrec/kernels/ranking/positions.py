"""From counts to positions: micro ranks, and positions in the full list, under each rule for ties."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import begins

Ties = Literal["realistic", "optimistic", "pessimistic"]
TIES: tuple[Ties, ...] = get_args(Ties)


def rank_among(above: NDArray[np.int64], tied: NDArray[np.int64], ties: Ties) -> NDArray[np.float64]:
    """Rank of an item when ``above`` others score higher and ``tied`` others score the same.

    Parameters
    ----------
    above, tied : (n,) int arrays
    ties : {"realistic", "optimistic", "pessimistic"}
        ``above + tied / 2 + 1``, ``above + 1`` or ``above + tied + 1``.

    Returns
    -------
    (n,) float array, from 1

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914, section 2.

    Examples
    --------
    >>> rank_among(np.array([0]), np.array([3]), "realistic")
    array([2.5])
    """
    share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
    return above + share * tied + 1.0


def higher_and_equal(
    question: NDArray[np.int32], score: NDArray[np.float64], counted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per row, how many *other* counted rows of its question score higher, and how many the same.

    Parameters
    ----------
    question : (n,) int array
        In any order.
    score : (n,) float array
        Higher is better; infinities are ordinary values.
    counted : (n,) bool array
        Which rows are counted; every row gets a result.

    Returns
    -------
    higher, equal : (n,) int arrays

    Examples
    --------
    >>> higher_and_equal(np.array([0, 0, 0]), np.array([3.0, 3.0, 5.0]), np.array([True, True, True]))
    (array([1, 1, 0]), array([1, 1, 0]))
    """
    n = len(question)
    order = np.lexsort((-score, question))
    q, s = question[order], score[order]
    new_question, new_group = begins(q), begins(q, s)
    before = np.r_[0, np.cumsum(counted[order])]  # counted rows before each position, over all questions
    group_first = np.flatnonzero(new_group)
    group_end = np.r_[group_first[1:], n]
    group = np.cumsum(new_group) - 1
    question_first = np.flatnonzero(new_question)[np.cumsum(new_question) - 1]
    higher, equal = np.empty(n, np.int64), np.empty(n, np.int64)
    higher[order] = before[group_first[group]] - before[question_first]
    equal[order] = before[group_end[group]] - before[group_first[group]] - counted[order]
    return higher, equal


def places_in_tied_groups(
    question: NDArray[np.int32],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    grade: NDArray[np.int32],
    label_order: NDArray[np.int32],
    ties: Ties,
) -> NDArray[np.float64]:
    """Positions in the list for judged rows, each of which belongs to a group of equally scored candidates.

    The relevant rows (grade at least 1) of a group are first in it (optimistic), last (pessimistic), or around
    its middle (realistic: the mean of the two positions); the judged wrong ones (grade 0) the other way round. Rows of
    a negative grade count as unjudged and are between the two kinds, so that they do not change the position of a
    judged row. Two rows of one kind in a group never share a position, so that a measure sees a possible order, not one
    in which every relevant row is the first.

    Parameters
    ----------
    question, first, size, grade : (n,) int arrays
        1-based first position of the row's group in the list, and how many candidates are in the group.
    label_order : (n,) int array
        Position of the row's label in byte order; among relevant rows of one group the higher label comes first
        where the rule does not order them by grade.
    ties : {"realistic", "optimistic", "pessimistic"}

    Returns
    -------
    (n,) float array, from 1; halves occur under "realistic"
    """
    n = len(question)
    relevant = grade >= 1
    if ties == "realistic":  # each kind is centred separately
        kind, by_grade = np.sign(grade), np.zeros(n, np.int32)
    else:
        kind = relevant.astype(np.int32)
        by_grade = np.where(relevant == (ties == "optimistic"), -grade, grade)
    order = np.lexsort((-label_order, by_grade, kind, first, question))
    q, f, k, r = question[order], first[order], kind[order], relevant[order]
    starts = np.flatnonzero(begins(q, f, k))
    members = np.diff(np.r_[starts, n])
    index = np.arange(n) - np.repeat(starts, members)  # from 0, within the rows of one group and kind
    room = size[order] - np.repeat(members, members)  # how far the rows can be shifted down
    shift = room * {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
    places = np.empty(n, np.float64)
    places[order] = f + index + np.where(r, shift, room - shift)
    return places
