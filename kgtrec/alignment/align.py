"""Entity alignment: similarities and test alignments -> answer ranks in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.collection.questions import build_questions
from kgtrec.data.alignments import Alignments, EntityVectors, Pairs
from kgtrec.data.answer_ranks import AnswerRanks, joined_answer_ranks
from kgtrec.data.collection import Collection, FilteredAnswers
from kgtrec.data.progress import Progress
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples, fingerprint_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of, whole_number
from kgtrec.kernels.ranking.similarity import SIMILARITIES, Similarity, similarity_block
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.kinds import ScoreBlock

Candidates = Literal["test", "all"]
CANDIDATES: tuple[Candidates, ...] = get_args(Candidates)
RELATION = "aligned_with"
_BLOCK_BYTES = 64 << 20
_Pairs = TypeVar("_Pairs", Qrels, FilteredAnswers)
_SPACE = r"[\x{00}\s\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x1c-\x1f]|^$"


def alignment_collection(alignments: Alignments, *, candidates: Candidates = "test") -> Collection:
    """Build the test collection of an entity alignment task, for ``evaluate`` and others that take a collection.

    A test alignment (l, r) is the triple (l, aligned_with, r), which gives two questions: ``tail`` questions go from
    left to right (the right entity is asked for), ``head`` questions from right to left. An entity with several
    partners makes one question with several answers. Train alignments of a question's anchor are filtered, and are not
    wrong answers.

    Parameters
    ----------
    alignments : Alignments
        The test alignments to ask for, and the train alignments that are filtered.
    candidates : {"test", "all"}
        The entities that answers are ranked among: the other side's entities of the test alignments, as is common, or
        all entities of the other side. The collection's entities are both sides' candidates, left ones first.

    Returns
    -------
    Collection

    Raises
    ------
    KgtrecError
        If there is no test alignment, or a label is on both sides or contains white space.

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914, section 2, for the two protocols.

    Examples
    --------
    >>> collection = alignment_collection(Alignments.of([(0, 0), (1, 1)], n_left=2, n_right=2))
    >>> list(collection.questions.ids), collection.qrels.entities.decode(collection.qrels.entity).to_pylist()
    (['head0', 'head1', 'tail0', 'tail1'], ['left0', 'left1', 'right0', 'right1'])
    """
    return alignment_task(alignments, candidates).collection


def align(
    system: EntityVectors | NDArray[Any],
    alignments: Alignments,
    *,
    candidates: Candidates = "test",
    similarity: Similarity = "cosine",
    name: str = "system",
    block: int | None = None,
    progress: Progress | None = None,
) -> AnswerRanks:
    """Rank the test alignments among the candidates, in both directions.

    Parameters
    ----------
    system : EntityVectors or (n_left, n_right) array
        Vectors, or a matrix of similarities, higher is more similar; a memory-mapped one is read as needed.
    alignments : Alignments
        The test alignments to rank, and the train alignments that are filtered.
    candidates : {"test", "all"}
        See :func:`alignment_collection`.
    similarity : {"cosine", "dot", "neg-l1", "neg-l2"}
        Of vectors, see :func:`kgtrec.kernels.ranking.similarity.similarity_block`; a matrix has its own.
    name : str
        Name of the system in the answer ranks. Default: "system".
    block : int, optional
        Questions at a time, which bounds memory; by default as many as fill 64 MiB of float64.
    progress : callable, optional
        Called with the number of questions done after each block.

    Returns
    -------
    AnswerRanks
        For the questions of ``alignment_collection(alignments, candidates=candidates)``, with its stamp.

    Raises
    ------
    KgtrecError
        If sizes do not fit, a similarity is NaN or +inf, or an option is unknown.

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914.

    Examples
    --------
    >>> ranks = align(np.array([[0.9, 0.1], [0.8, 0.7]]), Alignments.of([(0, 0), (1, 1)]))
    >>> ranks.questions.decode(ranks.question).to_pylist(), ranks.above.tolist()
    (['head0', 'head1', 'tail0', 'tail1'], [0, 0, 0, 1])
    """
    require_system(system, alignments, similarity, block)
    task = alignment_task(alignments, candidates)
    return joined_answer_ranks(
        [task.ranks(side, similarity_blocks(system, side, similarity, block), name, progress) for side in task.sides]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The questions of one direction, as a collection whose entities are the candidates of that direction only."""

    is_head: bool  # from right to left: the left entity is asked for
    collection: Collection  # its questions' anchors are not filled in
    anchors: NDArray[np.intp]  # (n_questions,) row of the vectors for each question's anchor
    candidates: NDArray[np.intp]  # (n_entities,) row of the vectors for each candidate
    first_question: int  # offset of the questions and of the entities in the whole collection
    first_entity: int


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A collection and its two directions."""

    collection: Collection
    sides: tuple[Side, Side]

    def ranks(self, side: Side, blocks: Iterator[ScoreBlock], name: str, progress: Progress | None) -> AnswerRanks:
        """Rank one direction, with the codes of the whole collection."""
        own = side.collection
        ranks = rank_scores(
            own, blocks, questions=own, entities=own, name=name, progress=progress, depth=0
        ).answer_ranks
        return replace(
            ranks,
            question=ranks.question + np.int32(side.first_question),
            entity=ranks.entity + np.int32(side.first_entity),
            questions=self.collection.questions.ids,
            entities=self.collection.entities,
            collection=self.collection.stamp,
        )


def similarity_blocks(
    system: EntityVectors | NDArray[Any], side: Side, similarity: Similarity, block: int | None
) -> Iterator[ScoreBlock]:
    """Yield (question rows, similarities) of one direction; columns are its candidates."""
    step = block or max(1, _BLOCK_BYTES // (8 * max(len(side.candidates), 1)))
    for first in range(0, len(side.anchors), step):
        anchors = side.anchors[first : first + step]
        if isinstance(system, EntityVectors):
            own, other = (system.right, system.left) if side.is_head else (system.left, system.right)
            similarities = similarity_block(own[anchors], other[side.candidates], similarity)
        elif side.is_head:
            similarities = np.asarray(system[np.ix_(side.candidates, anchors)]).T
        else:
            similarities = np.asarray(system[np.ix_(anchors, side.candidates)])
        yield np.arange(first, first + len(anchors)), similarities


def require_system(system: Any, alignments: Alignments, similarity: Similarity, block: int | None) -> None:
    """Refuse what is no system of the alignments' entities, and options that are none.

    Raises
    ------
    KgtrecError
        With what was expected.
    """
    one_of("similarity to be one of", similarity, SIMILARITIES)
    if not isinstance(system, EntityVectors) and not (isinstance(system, np.ndarray) and system.ndim == 2):
        raise KgtrecError(
            "expected EntityVectors or a matrix of similarities as a numpy array, found "
            + (f"an array of shape {system.shape}" if isinstance(system, np.ndarray) else type(system).__name__)
        )
    expected = len(alignments.left), len(alignments.right)
    if system.shape != expected:
        raise KgtrecError(
            f"expected a system of {expected[0]} left and {expected[1]} right entities, as the alignments have, "
            f"found {system.shape[0]} and {system.shape[1]}"
        )
    if block is not None:
        whole_number("block", block, 1)


def alignment_task(alignments: Alignments, candidates: Candidates) -> Task:
    """Build the collection of :func:`alignment_collection` and the inputs for ranking each direction."""
    one_of("candidates to be one of", candidates, CANDIDATES)
    if len(alignments.test) == 0:
        raise KgtrecError("expected at least one test alignment, found none")
    if candidates == "all":
        left, right = np.arange(len(alignments.left)), np.arange(len(alignments.right))
    else:
        left, right = (np.unique(rows).astype(np.intp) for rows in alignments.test.T)
    collection = _collection(alignments, left, right, candidates)
    is_head = collection.questions.is_head
    n_head = int(np.count_nonzero(is_head))
    rows = np.concatenate([left, right])
    sides = (
        _side(collection, rows, True, slice(0, n_head), slice(0, len(left))),
        _side(collection, rows, False, slice(n_head, len(is_head)), slice(len(left), len(rows))),
    )
    return Task(collection, sides)


def _collection(
    alignments: Alignments, left: NDArray[np.intp], right: NDArray[np.intp], candidates: Candidates
) -> Collection:
    entities = _entities(alignments.left.decode(left), alignments.right.decode(right))
    codes = [np.full(len(labels), -1, np.int32) for labels in (alignments.left, alignments.right)]
    codes[0][left] = np.arange(len(left), dtype=np.int32)
    codes[1][right] = np.arange(len(left), len(entities), dtype=np.int32)
    relations = Vocabulary.of([RELATION])

    def triples(pairs: Pairs) -> Triples:
        head, tail = codes[0][pairs[:, 0]], codes[1][pairs[:, 1]]
        known = (head >= 0) & (tail >= 0)  # a train alignment may be outside the candidates
        return Triples(head[known], np.zeros(known.sum(), np.int32), tail[known], entities, relations)

    train, test = triples(alignments.train), triples(alignments.test)
    collection = build_questions(train, test=test)
    about = {
        "candidates": candidates,
        "left_candidates": len(left),
        "right_candidates": len(right),
        "train_alignments": len(alignments.train),
    }
    own = codes[0][left]
    # the triples do not say which side all are of
    left_ones = Triples(own, np.zeros_like(own), own, entities, relations)
    fingerprint = fingerprint_of(train, test, left_ones)
    return replace(collection, report={**collection.report, "alignment": about}, fingerprint=fingerprint)


def _entities(left: pa.StringArray, right: pa.StringArray) -> Vocabulary:
    both = pa.concat_arrays([left, right])
    way_out = "name the entities by their row numbers instead (leave the labels out)"
    shared = left.filter(pc.is_in(left, value_set=right))
    if len(shared):
        raise KgtrecError(
            f"expected left and right entities of different labels, found {shared[0].as_py()!r} on both sides "
            f"({len(shared)} such labels); {way_out}"
        )
    wrong = both.filter(pc.match_substring_regex(both, _SPACE))
    if len(wrong):
        raise KgtrecError(
            f"expected entity labels without white space, not empty, since TREC files are split there, found "
            f"{wrong[0].as_py()!r} ({len(wrong)} such labels); {way_out}"
        )
    return Vocabulary(both)


def _side(collection: Collection, rows: NDArray[np.intp], is_head: bool, questions: slice, entities: slice) -> Side:
    labels = Vocabulary(collection.entities.labels[entities])
    asked, none = collection.questions.take(np.arange(questions.start, questions.stop)), np.zeros(0, np.int32)

    def of_side(pairs: _Pairs) -> _Pairs:
        pairs = pairs.take((pairs.question >= questions.start) & (pairs.question < questions.stop))
        return replace(pairs, question=pairs.question - questions.start, entity=pairs.entity - entities.start)

    view = Collection(
        replace(asked, anchor=np.zeros_like(asked.anchor), entities=labels),
        replace(of_side(collection.qrels), questions=asked.ids, entities=labels, collection=""),
        of_side(collection.filtered),
        collection.categories,
        Triples(none, none, none, labels, asked.relations),
    )
    return Side(is_head, view, rows[asked.anchor], rows[entities], questions.start, entities.start)
