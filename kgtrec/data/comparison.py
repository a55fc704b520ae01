"""Two systems side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of
from kgtrec.data.frames import frame_of_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class GroupOutcomes:
    """What two systems come to on each part of the questions: a side, a category, or a relation.

    Items are answers, or questions, as the measure has them. A win is an item on which the first system is better.
    """

    labels: pa.StringArray  # (groups,)
    n_items: NDArray[np.int64]  # (measures, groups)
    value: NDArray[np.float64]  # (measures, groups, 2) the measure's number for the first and for the second system
    wins: NDArray[np.int64]  # (measures, groups)
    losses: NDArray[np.int64]  # (measures, groups)
    ties: NDArray[np.int64]  # (measures, groups)
    share: NDArray[np.float64]  # (measures, groups) what the group adds to the difference of what is averaged

    @property
    def difference(self) -> NDArray[np.float64]:
        """(measures, groups) the first system's number less the second's."""
        apart: NDArray[np.float64] = self.value[:, :, 0] - self.value[:, :, 1]
        return apart


@dataclass(frozen=True, slots=True)
class AnswerPlaces:
    """One answer of a question, and its rank in each system; NaN below the cut of a run."""

    entity: str
    name: str  # "" where there is none
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class QuestionDifference:
    """One question on which two systems differ."""

    question: str  # id
    side: str  # "head" or "tail", what is asked for; "" where the question's topic is not known
    anchor: str
    anchor_name: str  # "" where there is none
    relation: str
    value: tuple[float, float]  # the measure's number on this question alone, for the first and the second system
    better: str  # name of the system that is
    answers: tuple[AnswerPlaces, ...]  # by their better rank


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two systems on the same items; a difference is the first one's number less the second's.

    So of a measure where lower is better, a positive one is in favour of the second: ``better`` names the system.

    What has no value, such as p without variance or of a median, is NaN.
    """

    first: str
    second: str
    measures: tuple[str, ...]  # as the caller spelled them
    items: tuple[str, ...]  # per measure, "answers" or "questions"
    higher_is_better: tuple[bool, ...]  # per measure
    n_items: NDArray[np.int64]  # (measures,)
    n_questions: NDArray[np.int64]  # (measures,) questions with an item
    value: NDArray[np.float64]  # (measures, 2)
    low: NDArray[np.float64]  # (measures,) lower end of the bootstrap interval of the difference, questions drawn
    high: NDArray[np.float64]  # (measures,) upper end
    confidence: float
    d_z: NDArray[np.float64]  # (measures,) mean difference of what is averaged over its standard deviation
    t: NDArray[np.float64]  # (measures,) Student's t over items
    p: NDArray[np.float64]  # (measures,)
    t_clustered: NDArray[np.float64]  # (measures,) t with errors clustered by question
    p_clustered: NDArray[np.float64]  # (measures,)
    wins: NDArray[np.int64]  # (measures,) items on which the first system is better
    losses: NDArray[np.int64]  # (measures,)
    ties: NDArray[np.int64]  # (measures,)
    groups: Mapping[str, GroupOutcomes]  # "side", "category", "relation"; empty where topics are not known
    by: str  # the measure by which questions were chosen
    questions: tuple[QuestionDifference, ...]  # those that differ most, the largest difference first

    def __repr__(self) -> str:
        return f"<Comparison: {self.first} and {self.second}, {len(self.measures)} measures>"

    @property
    def difference(self) -> NDArray[np.float64]:
        """(measures,) the first system's number less the second's."""
        apart: NDArray[np.float64] = self.value[:, 0] - self.value[:, 1]
        return apart

    @property
    def better(self) -> tuple[str, ...]:
        """(measures,) the system that is better by the measure's number, lower or higher as it may be; "" of equals."""
        return tuple(self._better(self.difference, np.array(self.higher_is_better)))

    def better_on(self, kind: str) -> list[list[str]]:
        """(measures, groups) the same on each group of one kind."""
        rising = np.array(self.higher_is_better)[:, None]
        apart = self.groups[kind].difference
        return [self._better(own, up) for own, up in zip(apart, rising, strict=True)]

    def _better(self, apart: NDArray[np.float64], rising: NDArray[np.bool_]) -> list[str]:
        named = np.array(["", self.first, self.second], object)
        ahead = np.where(rising, apart, -apart)
        found: list[str] = named[np.select([ahead > 0, ahead < 0], [1, 2], 0)].tolist()
        return found

    def to_table(self) -> pa.Table:
        """A row per measure.

        measure, items, n_items, n_questions, first, second, difference, better, low, high, d_z, t, p, t_clustered,
        p_clustered, wins, losses, ties.
        """
        columns: dict[str, Any] = {
            "measure": pa.array(self.measures, pa.string()), "items": pa.array(self.items, pa.string()),
            "n_items": arrow_of(self.n_items), "n_questions": arrow_of(self.n_questions),
            "first": arrow_of(self.value[:, 0]), "second": arrow_of(self.value[:, 1]),
            "difference": arrow_of(self.difference), "better": pa.array(self.better, pa.string()),
            "low": arrow_of(self.low), "high": arrow_of(self.high),
            "d_z": arrow_of(self.d_z), "t": arrow_of(self.t), "p": arrow_of(self.p),
            "t_clustered": arrow_of(self.t_clustered), "p_clustered": arrow_of(self.p_clustered),
            "wins": arrow_of(self.wins), "losses": arrow_of(self.losses), "ties": arrow_of(self.ties),
        }  # fmt: skip
        return pa.table(columns)

    def to_frame(self) -> pd.DataFrame:
        """:meth:`to_table` as a data frame."""
        return frame_of_table(self.to_table())

    def group_table(self, kind: str) -> pa.Table:
        """A row per measure and group of one kind.

        measure, KIND, n_items, first, second, difference, better, share, wins, losses, ties.
        """
        found = self.groups[kind]
        n_measures, n_groups = found.wins.shape
        each = [name for name in self.measures for _ in range(n_groups)]
        columns: dict[str, Any] = {
            "measure": pa.array(each, pa.string()),
            kind: found.labels.take(arrow_of(np.tile(np.arange(n_groups), n_measures))),
            "n_items": arrow_of(found.n_items.ravel()),
            "first": arrow_of(found.value[:, :, 0].ravel()), "second": arrow_of(found.value[:, :, 1].ravel()),
            "difference": arrow_of(found.difference.ravel()),
            "better": pa.array([name for own in self.better_on(kind) for name in own], pa.string()),
            "share": arrow_of(found.share.ravel()),
            "wins": arrow_of(found.wins.ravel()), "losses": arrow_of(found.losses.ravel()),
            "ties": arrow_of(found.ties.ravel()),
        }  # fmt: skip
        return pa.table(columns)

    def question_table(self) -> pa.Table:
        """A row per answer of the questions that differ most.

        place, question, side, anchor, anchor_name, relation, measure, first, second, better, entity, name, first_rank,
        second_rank.
        """
        rows = [
            (
                place, found.question, found.side, found.anchor, found.anchor_name, found.relation, self.by,
                *found.value, found.better, answer.entity, answer.name, answer.first, answer.second,
            )
            for place, found in enumerate(self.questions, 1)
            for answer in found.answers
        ]  # fmt: skip
        kinds = {
            "place": pa.int64(), "question": pa.string(), "side": pa.string(), "anchor": pa.string(),
            "anchor_name": pa.string(), "relation": pa.string(), "measure": pa.string(), "first": pa.float64(),
            "second": pa.float64(), "better": pa.string(), "entity": pa.string(), "name": pa.string(),
            "first_rank": pa.float64(), "second_rank": pa.float64(),
        }  # fmt: skip
        return pa.table(
            {name: pa.array([row[place] for row in rows], kind) for place, (name, kind) in enumerate(kinds.items())}
        )
