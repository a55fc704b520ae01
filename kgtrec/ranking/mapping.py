"""The collection's questions and entities in a system's own numbers, by label; what has none is an error or last."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import as_array, require_exact
from kgtrec.data.collection import Collection
from kgtrec.data.frames import is_frame
from kgtrec.data.identity import entity_names, question_places, warn_of_extra
from kgtrec.data.questions import SIDES, only_side
from kgtrec.data.triples import plain, qualifiers_of
from kgtrec.errors import CollectionError, KgtrecError, warn
from kgtrec.ranking.options import RankOptions
from kgtrec.systems.kinds import Factors, ScoreBlock, Scorer, Scoring

_BLOCK_BYTES = 64 << 20  # scores in a block
_WORK_BYTES = 512 << 20  # numbers that a model holds while it computes a block, on a processor
_SHOWN = 3  # examples in a message


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """Where each question and entity of a collection is in a system's own numbers."""

    rows: NDArray[np.intp]  # (n,) the questions of the sides that are asked, as rows of the collection
    anchor: NDArray[np.int64]  # (n,) of each of them; -1: unknown to the system
    relation: NDArray[np.int64]  # (n,) of each of them; -1: unknown to the system
    entity: NDArray[np.int64]  # (entities,) of each of the collection's; -1: unknown to the system

    @property
    def can_ask(self) -> NDArray[np.bool_]:
        """(n,) whether the system knows the anchor and the relation of each question."""
        return (self.anchor >= 0) & (self.relation >= 0)


def mapped(system: Scorer | Factors, collection: Collection, options: RankOptions) -> Mapped:
    """Find the questions and entities of a collection among the labels of a model.

    Parameters
    ----------
    system : Scorer or Factors
    collection : Collection
    options : RankOptions
        Which ``sides`` are asked, and what becomes of ``unknown_entities`` and of questions about them: an error, or
        they rank last and tie; a question that cannot be asked has all candidates tied.

    Raises
    ------
    CollectionError
        If an entity or a relation that is needed is unknown to the system; with ``"last"`` only if it knows none.
    KgtrecError
        If the system cannot answer a side.

    Warns
    -----
    KgtrecWarning
        How many entities rank last, how many questions cannot be asked, and how many entities of the system the
        collection lacks: they are no candidates.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> scores = lambda anchors, relations: np.zeros((len(anchors), 4))
    >>> model = Scorer("m", Vocabulary.of(["ann", "bob", "jam", "tea"]), Vocabulary.of(["likes"]), scores, scores)
    >>> found = mapped(model, collection, RankOptions())
    >>> found.anchor.tolist(), found.entity.tolist()
    ([2, 0], [0, 3, 1, 2])
    """
    if isinstance(system, Factors):
        if (own := system.question_vectors) is not None:
            # it must have what is asked, whatever becomes of entities that it lacks
            where = os.fspath(own.path)
            warn_of_extra(question_places(collection, own.questions, where=where), "questions", where=where)
        answers = system.head_queries, system.tail_queries
    else:
        answers = system.score_heads, system.score_tails
    able = [side for side, scoring in zip(SIDES, answers, strict=True) if scoring]
    if lacking := [side for side in options.sides if side not in able]:
        raise KgtrecError(
            f"{system.name}: expected a model that predicts {lacking[0]}s, found one that predicts "
            + (f"{able[0]}s only; {only_side(able[0])}" if able else "neither heads nor tails")
        )
    entities, relations = system.entities, system.relations
    # a model of times has relations with them
    knows_times = qualifiers_of(relations)[0] is not relations
    questions, names = collection.questions, entity_names(collection)
    questions = questions if knows_times else plain(questions)
    rows = questions.rows_of(options.sides)
    entity = entities.encode(names.labels).astype(np.int64)
    relation = relations.encode(questions.relations.labels).astype(np.int64)
    numbers = Mapped(rows, entity[questions.anchor[rows]], relation[questions.relation[rows]], entity)

    unknown, knows_none = [], False
    for noun, asked, number, labels in (
        ("entities", np.arange(len(entity)), entity, names),
        ("relations", np.unique(questions.relation[rows]), relation, questions.relations),
    ):
        new = asked[number[asked] < 0]
        if len(new):
            some = ", ".join(labels.decode(new[:_SHOWN]).to_pylist())
            unknown.append(f"{len(new):,} of the collection's {len(asked):,} {noun} are unknown to it, such as {some}")
            knows_none |= len(new) == len(asked)
    extra = np.flatnonzero(names.encode(entities.labels) < 0)
    more = (
        f"; it knows {len(extra):,} entities that the collection lacks, such as "
        f"{', '.join(entities.decode(extra[:_SHOWN]).to_pylist())}"
        if len(extra)
        else ""
    )
    if not unknown:
        if len(extra):
            warn(f"{system.name}: {len(extra):,} of its entities are not in the collection and are no candidates")
        return numbers
    lost = int(np.count_nonzero(~numbers.can_ask))
    text = f"{system.name}: {' and '.join(unknown)}{more}; {lost:,} of {len(rows):,} questions cannot be asked"
    if knows_none:
        raise CollectionError(text + "; are its labels those of the collection, and not numbers or names?")
    if options.unknown_entities == "error":
        raise CollectionError(
            text + "; --unknown-entities last (unknown_entities='last' in Python) ranks them last, or build the "
            "collection without them (kgtrec questions --unseen-entities drop --unseen-relations drop)"
        )
    warn(text + "; what it does not know ranks last")
    return numbers


def score_blocks(scorer: Scorer, collection: Collection, options: RankOptions) -> Iterator[ScoreBlock]:
    """Yield blocks of (question rows, scores) of a model, columns in the collection's order.

    The scores stay where the model computed them, on a GPU for example. A block has as many questions as fit 64 MiB of
    scores and 512 MiB of what the model computes with, unless ``options`` say how many.
    """
    places = mapped(scorer, collection, options)
    is_head = collection.questions.is_head[places.rows]
    arranged = _arranger(scorer, places.entity)
    n = len(scorer.entities)
    fits = min(_BLOCK_BYTES // max(4 * n, 1), _WORK_BYTES // max(4 * n * scorer.work_per_score, 1))
    step = options.block or max(1, fits)
    known = places.can_ask
    for scoring, asked in ((scorer.score_heads, is_head), (scorer.score_tails, ~is_head)):
        own = np.flatnonzero(asked & known)
        for first in range(0, len(own), step):
            part = own[first : first + step]
            score = cast("Scoring", scoring)  # score_blocks refuses a side without one
            yield places.rows[part], arranged(score(places.anchor[part], places.relation[part]))
    lost = places.rows[~known]
    for first in range(0, len(lost), step):
        part = lost[first : first + step]
        yield part, np.full((len(part), len(places.entity)), -np.inf, np.float32)


def _arranger(scorer: Scorer, entity: NDArray[np.int64]) -> Callable[[Any], Any]:
    """What puts a block's columns into the order of the collection; unknown entities get minus infinity."""
    n = len(scorer.entities)
    unknown = np.flatnonzero(entity < 0)
    column = np.maximum(entity, 0)
    is_in_order = len(unknown) == 0 and np.array_equal(column, np.arange(n))

    def arranged(scores: Any) -> Any:
        if is_frame(scores):
            raise KgtrecError(
                f"{scorer.name}: expected scores as an array, in the order of the entities, found a data frame; give "
                "frame.to_numpy() if its columns are in that order"
            )
        if not hasattr(scores, "detach"):  # all but torch's: lists, arrays that cannot be changed
            scores = as_array(scores, f"{scorer.name}: scores")
        shape = tuple(scores.shape)
        if len(shape) != 2 or shape[1] != n:
            raise KgtrecError(
                f"{scorer.name}: expected scores of {n:,} entities for each question, found a block of shape "
                f"{' x '.join(map(str, shape)) or 'a single number'}"
            )
        if is_in_order:
            return scores
        taken = scores[:, column]  # a copy, by torch as by numpy
        if len(unknown):
            if any(kind in str(taken.dtype) for kind in ("int", "bool")):  # which have no minus infinity
                if "64" in str(taken.dtype) and len(taken):
                    require_exact(int(taken.max()), int(taken.min()), scorer.name)
                taken = taken.astype(np.float64) if isinstance(taken, np.ndarray) else taken.double()
            taken[:, unknown] = -np.inf
        return taken

    return arranged
