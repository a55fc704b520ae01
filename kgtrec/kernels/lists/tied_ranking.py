"""The input of a ranking measure for one system when the order of tied candidates is left open."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import JudgedRanking

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TiedRanking:
    """The groups of tied candidates that contain the judged candidates of each question, in list order.

    One row per judged candidate that was returned. Candidates of a group without a row are unjudged; groups without
    a judged candidate are the gaps between the others. Every order of the candidates of a group is equally likely.
    """

    n_questions: int
    num_retrieved: Counts  # (n_questions,) length of the list; 0 where the system returned nothing
    question: NDArray[np.int32]  # (m,) never decreasing
    first: Counts  # (m,) 1-based first position of the row's group; never decreasing within a question
    size: Counts  # (m,) candidates in the row's group, at least 1
    grade: NDArray[np.int32]  # (m,) negative = in the qrels but unjudged
    judged_question: NDArray[np.int32]  # (j,) every row of the qrels, retrieved or not; never decreasing
    judged_grade: NDArray[np.int32]  # (j,)

    def in_some_order(self) -> JudgedRanking:
        """One possible order, for what does not depend on the order: counts, sets, the best possible list."""
        groups = groups_of(self, np.ones(len(self.question)))
        starts = np.cumsum(groups.members) - groups.members
        position = (self.first + np.arange(len(self.first)) - np.repeat(starts, groups.members)).astype(np.float64)
        return JudgedRanking(
            self.n_questions,
            self.num_retrieved,
            self.question,
            position,
            self.grade,
            self.judged_question,
            self.judged_grade,
        )


@dataclass(frozen=True, slots=True, eq=False)
class TiedGroups:
    """Groups of tied candidates, some of which have a gain; question by question, in list order."""

    question: NDArray[np.int32]  # (g,)
    before: Counts  # (g,) candidates above the group
    size: Counts  # (g,) candidates in the group
    members: Counts  # (g,) those of them that have a gain
    worth: NDArray[np.float64]  # (g,) the sum of their gains

    def up_to(self, place: Counts | int | None) -> Counts:
        """(g,) how many positions of each group are at or above ``place``: one for all groups, or one per group."""
        return self.size if place is None else np.clip(place - self.before, 0, self.size)


def groups_of(ranking: TiedRanking, worth: NDArray[np.float64]) -> TiedGroups:
    """The groups that have a candidate whose ``worth``, (m,) per row of the ranking, is above 0.

    Examples
    --------
    >>> ranking = tied_ranking_of([[[1, None, None], [0], [1, 1]]])
    >>> groups = groups_of(ranking, (ranking.grade > 0).astype(float))
    >>> groups.before, groups.size, groups.worth
    (array([0, 4]), array([3, 2]), array([1., 2.]))
    """
    rows = np.flatnonzero(worth > 0)
    question, first = ranking.question[rows], ranking.first[rows]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (question[1:] != question[:-1]) | (first[1:] != first[:-1])
    starts = np.flatnonzero(new)
    total = np.add.reduceat(worth[rows], starts) if len(starts) else np.zeros(0)
    members = np.diff(np.append(starts, len(rows)))
    return TiedGroups(question[starts], first[starts] - 1, ranking.size[rows][starts], members, total)


def only_judged_of_tied(ranking: TiedRanking) -> TiedRanking:
    """The ranking without its unjudged candidates, the others moved up; ties between judged candidates are kept.

    Examples
    --------
    >>> shorter = only_judged_of_tied(tied_ranking_of([[[None], [None, 1, 0], [-1], [1]]]))
    >>> shorter.first, shorter.size
    (array([1, 1, 3]), array([2, 2, 1]))
    """
    judged = ranking.grade >= 0
    kept = dataclasses.replace(
        ranking,
        question=ranking.question[judged],
        first=ranking.first[judged],
        size=ranking.size[judged],
        grade=ranking.grade[judged],
    )
    groups = groups_of(kept, np.ones(len(kept.question)))
    length = np.bincount(kept.question, minlength=kept.n_questions).astype(np.int64, copy=False)
    above = np.cumsum(groups.members) - groups.members
    first = above - (np.cumsum(length) - length)[groups.question] + 1
    return dataclasses.replace(
        kept,
        num_retrieved=length,
        first=np.repeat(first, groups.members),
        size=np.repeat(groups.members, groups.members),
    )


def tied_ranking_of(lists: list[list[list[int | None]]], not_retrieved: list[list[int]] | None = None) -> TiedRanking:
    """A ranking written out by hand, for examples and tests.

    Parameters
    ----------
    lists : list of lists of lists
        Per question its groups of tied candidates from the top, and the grade of each candidate; None for unjudged.
    not_retrieved : list of lists, optional
        Per question the grades of the judged candidates that are not in the list.

    Examples
    --------
    >>> ranking = tied_ranking_of([[[None], [1, None]]])
    >>> ranking.first, ranking.size
    (array([2]), array([2]))
    """
    rows, judged, lengths = [], [], []
    for question, groups in enumerate(lists):
        place = 1
        for group in groups:
            rows += [(question, place, len(group), grade) for grade in group if grade is not None]
            place += len(group)
        lengths.append(place - 1)
        judged += [(question, grade) for group in groups for grade in group if grade is not None]
        judged += [(question, grade) for grade in (not_retrieved[question] if not_retrieved else [])]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    pairs = np.array(judged, np.int32).reshape(-1, 2).T
    return TiedRanking(
        len(lists),
        np.array(lengths, np.int64),
        columns[0].astype(np.int32),
        columns[1],
        columns[2],
        columns[3].astype(np.int32),
        pairs[0],
        pairs[1],
    )
