"""The input of a ranking measure for one system when the order of tied candidates is left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.lists.judged_ranking import Counts, Ranking


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TiedRanking(Ranking):
    """A ranking of which the groups of tied candidates are known: those that contain a judged candidate.

    Candidates of a group without a row are unjudged; groups without a judged candidate are the gaps between the others.
    Every order of the candidates of a group is equally likely.
    """

    first: Counts  # (m,) 1-based first position of the row's group; never decreasing within a question
    size: Counts  # (m,) candidates in the row's group, at least 1

    def count(self, rel: int, place: Counts | int | None = None) -> NDArray[np.float64]:
        """Count the candidates of grade ``rel`` or more, down to a position, in the mean over all orders."""
        groups = groups_of(self, (self.grade >= rel).astype(np.float64))
        places = groups.up_to(place[groups.question] if isinstance(place, np.ndarray) else place)
        return self.total(groups.question, places * groups.members / groups.size)

    def only_judged(self) -> Self:
        """Leave out the unjudged candidates; ties between judged candidates are kept.

        Examples
        --------
        >>> shorter = tied_ranking_of([[[None], [None, 1, 0], [-1], [1]]]).only_judged()
        >>> shorter.first, shorter.size
        (array([1, 1, 3]), array([2, 2, 1]))
        """
        columns = ("question", "first", "size", "grade")
        kept = replace(self, **{column: getattr(self, column)[self.grade >= 0] for column in columns})
        groups = groups_of(kept, np.ones(len(kept.question)))
        length = self.per_question(kept.question)
        first = np.cumsum(groups.members) - groups.members - (np.cumsum(length) - length)[groups.question] + 1
        return replace(
            kept,
            num_retrieved=length,
            first=np.repeat(first, groups.members),
            size=np.repeat(groups.members, groups.members),
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
    length = np.diff(np.append(starts, len(rows)))
    return TiedGroups(question[starts], first[starts] - 1, ranking.size[rows][starts], length, total)


def tied_ranking_of(
    lists: Sequence[Sequence[Sequence[int | None]]], not_retrieved: Sequence[Sequence[int]] | None = None
) -> TiedRanking:
    """A ranking written out by hand, for examples and tests.

    Parameters
    ----------
    lists : sequence of sequences of sequences
        Per question its groups of tied candidates from the top, and the grade of each candidate; None for unjudged.
    not_retrieved : sequence of sequences, optional
        Per question the grades of the judged candidates that are not in the list.

    Examples
    --------
    >>> ranking = tied_ranking_of([[[None], [1, None]]])
    >>> ranking.first, ranking.size
    (array([2]), array([2]))
    """
    rows, judged, lengths = [], [], []
    for question, groups in enumerate(lists):
        position = 1
        for group in groups:
            rows += [(question, position, len(group), grade) for grade in group if grade is not None]
            position += len(group)
        lengths.append(position - 1)
        judged += [(question, grade) for group in groups for grade in group if grade is not None]
        judged += [(question, grade) for grade in (not_retrieved[question] if not_retrieved else [])]
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    pairs = np.array(judged, np.int32).reshape(-1, 2).T
    return TiedRanking(
        n_questions=len(lists),
        num_retrieved=np.array(lengths, np.int64),
        question=columns[0].astype(np.int32),
        first=columns[1],
        size=columns[2],
        grade=columns[3].astype(np.int32),
        judged_question=pairs[0],
        judged_grade=pairs[1],
    )
