"""What a system can give: scores on request, factors, files of scores, ranked lists, or ranks of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.questions import Questions
from kgtrec.data.run import repeated_row
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.comparisons import PRODUCT, Comparison
from kgtrec.kernels.ranking.panels import are_wide
from kgtrec.kernels.rows import LargeArray

if TYPE_CHECKING:
    from kgtrec.formats.factor_folders import FactorArrays

#: (n,) anchors and (n,) relations, in the system's own numbers, to its (n, entities) scores: numpy, or torch on any
#: device
Scoring = Callable[[NDArray[np.int64], NDArray[np.int64]], Any]
#: rows of the collection's questions and their scores, columns as in the collection
ScoreBlock = tuple[NDArray[np.intp], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """A model that scores all of its entities for the questions that it is asked, in its own numbers."""

    name: str
    entities: Vocabulary  # labels by number, which is the order of the columns of its scores
    relations: Vocabulary  # labels by number
    score_tails: Scoring | None  # heads, relations -> scores of each entity as tail; None: it cannot
    score_heads: Scoring | None  # tails, relations -> scores of each entity as head; None: it cannot
    kind: str = "a model"  # what it is, in words
    work_per_score: int = 1  # numbers that the model holds at a time to get one score, which bounds a block
    remarks: tuple[str, ...] = ()  # what a person should know of its ranks
    no_factors: str = ""  # why it is none of those that compare a query with entities' vectors; "": not known


@dataclass(frozen=True, slots=True, eq=False)
class QuestionVectors:
    """The queries of a model that has one for each of some questions, and none for others."""

    questions: Questions  # (n,) under the model's labels
    Q: LargeArray  # (n, d)
    path: Path  # where they were read, for messages

    def queries(self, is_head: bool, anchor: NDArray[np.int64], relation: NDArray[np.int64]) -> NDArray[Any]:
        """Give the queries of some questions of one side."""
        sides = np.full(len(anchor), is_head)
        return self.Q[self.questions.rows(sides, relation.astype(np.int32), anchor.astype(np.int32))]


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """A model that compares a query with each entity's vector, in its own numbers; by default ``query @ E.T + b``.

    Scores are computed in float64 and rounded once, to float32. If the model has wider numbers, ranks that rounding
    moves are an error.
    """

    name: str
    entities: Vocabulary  # labels by number, which is the row of E
    relations: Vocabulary  # labels by number
    E: LargeArray  # (entities, d) of any float type; may be mapped
    b: LargeArray | None  # (entities,)
    tail_queries: Scoring | None  # heads, relations -> (n, d) queries; None: it cannot
    head_queries: Scoring | None  # tails, relations -> (n, d) queries; None: it cannot
    comparison: Comparison = PRODUCT
    kind: str = "a factorised model"
    remarks: tuple[str, ...] = ()
    arrays: FactorArrays | None = None  # what it is made of, for a factor folder; None: queries are made in another way
    question_vectors: QuestionVectors | None = None  # the queries, if they are of these questions alone

    @property
    def is_wide(self) -> bool:
        """Whether some of its numbers are of a type that float32 does not hold."""
        if self.arrays is not None and self.arrays.R is not None:
            return are_wide(self.E, self.b, self.arrays.R)
        none = np.zeros(0, np.int64)
        queries = [make(none, none) for make in (self.tail_queries, self.head_queries) if make is not None]
        return are_wide(self.E, self.b, *map(np.asarray, queries))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreBlocks:
    """Scores that come in the order of the collection, such as those of a file that names its questions."""

    name: str
    #: the collection and how many questions a block may hold -> blocks of all questions, in the collection's order
    blocks: Callable[[Collection, int | None], Iterator[ScoreBlock]]
    kind: str = "scores"
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, blocks: Iterator[ScoreBlock]) -> ScoreBlocks:
        """Wrap blocks that exist already, of any size."""
        return cls(name, lambda collection, block: blocks)


@dataclass(frozen=True, slots=True, eq=False)
class RankedLists:
    """Lists of entities, best first, each for one question; what a list lacks stands somewhere below its end.

    A question may have several lists: systems that rank for each test triple leave out its other answers, so that
    the lists of one question differ by its answers alone, and in how far they reach.
    """

    name: str
    entities: Vocabulary  # labels in the file
    relations: Vocabulary  # labels in the file
    is_head: NDArray[np.bool_]  # (lists,) True: the head is asked for
    anchor: NDArray[np.int32]  # (lists,) row in entities
    relation: NDArray[np.int32]  # (lists,) row in relations
    answer: NDArray[np.int32]  # (lists,) row in entities: the one answer that the list was made for; -1: for all
    start: NDArray[np.int64]  # (lists + 1,) where each list begins in `entity`
    entity: NDArray[np.int32]  # (n,) row in entities, best first, each once in a list
    level: NDArray[np.int64]  # (n,) ascending in a list; entities of one level tie
    kind: str = "ranked lists"
    remarks: tuple[str, ...] = ()
    filtered_by: tuple[str, ...] | None = None  # splits whose triples the lists leave out; None: unknown

    @property
    def of_list(self) -> NDArray[np.int32]:
        """(n,) the list of each entity."""
        return np.repeat(np.arange(len(self.anchor), dtype=np.int32), np.diff(self.start))

    def require_once(self, error: Callable[[str, int], KgtrecError]) -> RankedLists:
        """Refuse an entity that is twice in a list, with the error of its label and the list."""
        of_list = self.of_list
        if (row := repeated_row(of_list, self.entity, len(self.entities))) is not None:
            raise error(self.entities[self.entity[row]], int(of_list[row]))
        return self


@dataclass(frozen=True, slots=True, eq=False)
class CollectionLists:
    """Ranked lists with the ids of a collection, which are only known with it."""

    name: str
    lists: Callable[[Collection], RankedLists]
    kind: str = "ranked lists"
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TripleRanks:
    """The rank of each test triple on either side, other answers removed, as another program counted them."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    is_head: NDArray[np.bool_]  # (n,) True: the head is asked for
    head: NDArray[np.int32]  # (n,) row in entities
    relation: NDArray[np.int32]  # (n,) row in relations
    tail: NDArray[np.int32]  # (n,) row in entities
    above: NDArray[np.int64]  # (n,) candidates that score higher
    tied: NDArray[np.int64]  # (n,) other candidates that score the same
    candidates: NDArray[np.int64] | None = None  # (n,) how many, the answer included; None: the file does not say
    kind: str = "ranks of test triples"
    remarks: tuple[str, ...] = ()


SystemOutput = Scorer | Factors | ScoreBlocks | RankedLists | CollectionLists | TripleRanks


def kind_in_words(system: SystemOutput) -> str:
    """Describe a system, for messages where factors are expected; of a model with the reason why it has none."""
    why = f": {system.no_factors}" if isinstance(system, Scorer) and system.no_factors else ""
    return f"{system.kind}{why}"
