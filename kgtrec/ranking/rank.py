"""Score arrays -> answer ranks and a run, block by block."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks, joined_answer_ranks
from kgtrec.data.arrays import as_array, require_exact
from kgtrec.data.collection import Collection, why_another
from kgtrec.data.frames import is_frame
from kgtrec.data.identity import entity_names, entity_places, question_places, warn_of_extra
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS
from kgtrec.errors import CollectionError, KgtrecError, kind_of, one_of
from kgtrec.kernels.integer_keys import distinct, is_among_sorted
from kgtrec.kernels.ranking.answer_ranks import ScoreError, count_above_and_tied, score_in_words
from kgtrec.kernels.ranking.on_device import DeviceRanker, extremes, rows_at, stays_on_device
from kgtrec.kernels.ranking.top_k import TopK, top_k

Progress = Callable[[int], None]
#: what shows how far a long piece of work is: description, total, unit to a function that takes how much more is done
ShowProgress = Callable[[str, int, str], AbstractContextManager[Progress]]
_BLOCK_BYTES = 64 << 20  # of a whole matrix, this much is ranked at a time


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The result of ranking the scores of one system, or of one block of its questions."""

    answer_ranks: AnswerRanks
    run: Run | None  # None where no run was asked for (depth 0)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The pairs of each question that are ranked or left out, as keys question * n_entities + entity, ascending."""

    placed: NDArray[np.int64]  # pairs that get a row in the answer ranks
    is_answer: NDArray[np.bool_]  # of each placed pair
    aside: NDArray[np.int64]  # pairs that are not counted: answers and filtered ones
    filtered: NDArray[np.int64]  # pairs that are no candidates: known in a split that is filtered by, and no answers

    def of_questions(self, rows: NDArray[np.intp], width: int) -> Plan:
        """What is counted for some questions, given as rows, among ``width`` entities."""
        placed, aside, filtered = (np.isin(keys // width, rows) for keys in (self.placed, self.aside, self.filtered))
        return Plan(self.placed[placed], self.is_answer[placed], self.aside[aside], self.filtered[filtered])


def rank_scores(
    collection: Collection,
    blocks: Any,
    *,
    questions: Any = None,
    entities: Any = None,
    name: str = "system",
    filtered_by: Sequence[str] = SPLITS,
    depth: int = 1000,
    judged: Qrels | None = None,
    sides: Sequence[str] = SIDES,
    progress: Progress | None = None,
) -> Ranked:
    """The exact rank of every answer among all candidates, and the run cut at ``depth``, from one system's scores.

    Parameters
    ----------
    collection : Collection
        Questions, answers and known triples.
    blocks : iterable of (rows, scores), or (n_questions, n_entities) array
        ``rows``: rows in ``questions``, (n,) int; ``scores``: (n, n_entities), columns as in ``entities``, higher is
        better. numpy arrays, anything that converts to one, or torch tensors, which are ranked on the device where
        they are. Every question of the collection, or of ``sides``, must come once, in any order. A whole matrix holds
        all of ``questions`` in order. The names of a data frame's columns and rows must not contradict the order.
    questions : Collection, Questions, Topics, DataFrame, or sequence of (side, anchor, relation)
        What the rows are about, see :func:`kgtrec.data.identity.question_places`; the collection itself for its own
        order.
    entities : Collection, Vocabulary, sequence of str, or mapping of str to int
        What the columns are about, see :func:`kgtrec.data.identity.entity_places`: labels in order, a mapping such as
        PyKEEN's ``entity_to_id``, or the collection itself for its own order.
    name : str
        The system's name, which becomes the run tag.
    filtered_by : sequence of {"train", "valid", "test"}
        Splits whose known triples are removed from the candidates; empty for the raw setting. Answers stay.
    depth : int
        Length of the lists in the run; 0 for no run.
    judged : Qrels, optional
        Further judged pairs, by label, those of a negative grade ("pooled, not sampled") among them; those that are
        no answers get rows with ``answer=False``.
    sides : sequence of {"head", "tail"}
        Which questions must have scores; those of another side are left out.
    progress : callable, optional
        Called with the number of questions done after each block.

    Returns
    -------
    Ranked
        ``answer_ranks`` and ``run``.

    Raises
    ------
    KgtrecError
        If the order of the columns, or of a matrix's rows, is not given; a score is NaN or +inf (the message
        names the question); a block has the wrong shape or type; or a question is missing, repeated or out of range.
    CollectionError
        If ``questions`` or ``entities`` lack one of the collection's, or ``judged`` is of another collection.

    Warns
    -----
    KgtrecWarning
        If ``questions`` or ``entities`` have some that the collection lacks; they are left out.

    Notes
    -----
    Of torch tensors on a GPU only counts, lists and their scores come to the host. They are the same integers that
    numpy finds, in float16 and bfloat16 too; equal scores are listed in the same order.

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914: the optimistic, pessimistic and realistic ranks that the counts give.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> list(collection.questions.ids), list(collection.entities)
    (['head0', 'tail0'], ['ann', 'tea', 'bob', 'jam'])
    >>> scores = np.array([[0.5, 0.1, 0.9, 0.1], [0.2, 0.8, 0.4, 0.4]])  # bob is known to like jam, and ann tea
    >>> ranked = rank_scores(collection, scores, questions=collection, entities=collection, depth=2)
    >>> ranked.answer_ranks.above.tolist(), ranked.answer_ranks.tied.tolist(), ranked.answer_ranks.n_other.tolist()
    ([0, 0], [0, 1], [2, 2])
    >>> [collection.entities[entity] for entity in ranked.run.entity]
    ['ann', 'tea', 'jam', 'bob']

    The same model in a framework that sorts its entities:

    >>> sorted_scores = scores[:, [0, 2, 3, 1]]
    >>> same = rank_scores(collection, sorted_scores, questions=collection, entities=["ann", "bob", "jam", "tea"])
    >>> same.answer_ranks.above.tolist(), same.answer_ranks.tied.tolist()
    ([0, 0], [0, 1])
    """
    return joined(
        list(
            ranked_blocks(
                collection,
                blocks,
                questions=questions,
                entities=entities,
                name=name,
                filtered_by=filtered_by,
                depth=depth,
                judged=judged,
                sides=sides,
                progress=progress,
            )
        )
    )


def ranked_blocks(
    collection: Collection,
    blocks: Any,
    *,
    questions: Any = None,
    entities: Any = None,
    name: str = "system",
    filtered_by: Sequence[str] = SPLITS,
    depth: int = 1000,
    judged: Qrels | None = None,
    sides: Sequence[str] = SIDES,
    progress: Progress | None = None,
) -> Iterator[Ranked]:
    """:func:`rank_scores` one block at a time, for runs that are written as they come; parts are in block order.

    That every question came is known, and an error raised otherwise, only after the last block. Without any block
    (a collection without questions) there is one empty part.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> blocks = (([row], np.zeros((1, 4))) for row in range(2))
    >>> parts = ranked_blocks(collection, blocks, questions=collection, entities=collection, depth=2)
    >>> [(len(part.answer_ranks), len(part.run)) for part in parts]
    [(1, 2), (1, 2)]
    """
    require_collection(collection)
    filtered_by = checked_splits(filtered_by)
    depth = checked_depth(depth)
    order = _order(collection, questions, entities)
    plan = plan_of(collection, filtered_by, judged)
    asked = np.zeros(len(collection.questions), np.bool_)
    asked[collection.questions.rows_of(sides)] = True
    order, seen = order.of_questions(asked), ~asked
    device_ranker = DeviceRanker(
        len(collection.entities), order.column, collection.entities.byte_order if depth else None
    )
    if len(seen) == 0:
        yield _ranked_block(collection, plan, *_empty_block(collection), name, filtered_by, depth, device_ranker)
    if is_frame(blocks):
        _require_rows(collection, questions, blocks)
        _require_columns(collection, order, blocks)
    for number, block in enumerate(_blocks(order, blocks)):
        rows, scores = _checked_block(collection, order, *block, seen, f"block {number}")
        if len(rows) == 0 and len(seen):
            continue  # of questions that the collection lacks
        yield _ranked_block(collection, plan, rows, scores, name, filtered_by, depth, device_ranker)
        if progress is not None:
            progress(len(rows))
    missing = np.flatnonzero(~seen)
    if len(missing):
        raise KgtrecError(
            f"expected scores for each of {np.count_nonzero(asked)} questions, found none for {len(missing)} of them, "
            f"the first being {collection.questions.ids[missing[0]]!r}"
        )


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Several blocks of one system as one, with a run where they have one."""
    runs = [part.run for part in parts if part.run is not None]
    return Ranked(joined_answer_ranks([part.answer_ranks for part in parts]), _joined_runs(runs) if runs else None)


def _joined_runs(parts: Sequence[Run]) -> Run:
    question = np.concatenate([part.question for part in parts])
    entity = np.concatenate([part.entity for part in parts])
    score = np.concatenate([part.score for part in parts])
    if np.any(question[1:] < question[:-1]):
        order = np.argsort(question, kind="stable")  # a question lies in one block, where its list is in order
        question, entity, score = question[order], entity[order], score[order]
    return replace(parts[0], question=question, entity=entity, score=score)


def _ranked_block(
    collection: Collection,
    plan: Plan,
    rows: NDArray[np.intp],
    scores: Any,
    name: str,
    filtered_by: tuple[str, ...],
    depth: int,
    device_ranker: DeviceRanker,
) -> Ranked:
    questions, entities = collection.questions.ids, collection.entities
    width = len(entities)
    placed, row, entity = pairs_of(plan.placed, rows, width)
    _, aside_row, aside_entity = pairs_of(plan.aside, rows, width)
    _, out_row, out_entity = pairs_of(plan.filtered if depth else plan.filtered[:0], rows, width)
    best: TopK | None = None
    try:
        if stays_on_device(scores):
            counts, best = device_ranker.rank(scores, row, entity, aside_row, aside_entity, depth, out_row, out_entity)
        else:
            counts = count_above_and_tied(scores, row, entity, aside_row, aside_entity)
            if depth:
                best = top_k(scores, min(depth, width), out_row, out_entity, entities.byte_order)
    except ScoreError as error:
        raise wrong_score(questions[rows[error.row]], entities[error.entity], error.score) from None
    ranks = AnswerRanks.of(
        name,
        collection,
        filtered_by,
        question=rows[row],
        entity=entity,
        answer=plan.is_answer[placed],
        above=counts.above,
        tied=counts.tied,
        n_other=counts.n_other,
        score=counts.score,
    )
    in_order = bool(np.all(rows[1:] > rows[:-1]))
    ranks = ranks if in_order else joined_answer_ranks([ranks])
    if best is None:
        return Ranked(ranks, None)
    score = best.score.astype(np.float64)
    run = Run(
        name,
        rows[best.row].astype(np.int32),
        best.entity.astype(np.int32),
        score,
        questions,
        entities,
        collection.stamp,
        filtered_by,
    )
    return Ranked(ranks, run if in_order else _joined_runs([run]))


def wrong_score(question: str, entity: str, score: float) -> KgtrecError:
    """What to tell of a score that is NaN or +inf."""
    way_out = (
        "use -inf for an entity that should come last"
        if np.isnan(score)
        else "beyond the largest number of a type (3.4e38 in float32, 65,504 in float16) all tie; make scores smaller"
    )
    return KgtrecError(
        f"expected numbers as scores, found {score_in_words(score)} for question {question!r}, entity {entity!r}; "
        + way_out
    )


def plan_of(collection: Collection, filtered_by: tuple[str, ...], judged: Qrels | None) -> Plan:
    """What the scores of each question are counted for."""
    answers, filtered = answers_and_filtered(collection, filtered_by)
    qrels = collection.qrels
    key = qrels.question.astype(np.int64) * len(collection.entities) + qrels.entity
    placed = distinct(np.concatenate([key, _judged_keys(collection, judged)]))
    return Plan(placed, is_among_sorted(placed, answers), np.sort(np.concatenate([filtered, answers])), filtered)


def answers_and_filtered(
    collection: Collection, filtered_by: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs that are answers, and those that are no candidates: known in a split that is filtered by, no answers.

    Both are keys ``question * n_entities + entity``, each once, ascending.
    """
    qrels, known, width = collection.qrels, collection.known, len(collection.entities)
    is_answer = qrels.grade >= 1
    answers = distinct(qrels.question[is_answer].astype(np.int64) * width + qrels.entity[is_answer])
    in_filter = np.isin(known.split, [SPLITS.index(split) for split in filtered_by])
    filtered = distinct(known.question[in_filter].astype(np.int64) * width + known.entity[in_filter])
    return answers, filtered[~is_among_sorted(filtered, answers)]


def _judged_keys(collection: Collection, judged: Qrels | None) -> NDArray[np.int64]:
    if judged is None:
        return np.zeros(0, np.int64)
    if judged.collection and judged.collection != collection.stamp:
        raise CollectionError(
            f"expected judgements of collection {collection.stamp}, found those of collection "
            f"{judged.collection}, {why_another(judged.collection, collection.stamp, 'QRELS')}give those of this one"
        )
    question = collection.questions.ids.encode(judged.questions.labels)[judged.question]
    entity = collection.entities.encode(judged.entities.labels)[judged.entity]
    for codes, labels, what in (
        (question, judged.questions.decode(judged.question), "question"),
        (entity, judged.entities.decode(judged.entity), "entity"),
    ):
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            raise CollectionError(
                f"expected judgements of the collection's questions and entities, found the {what} "
                f"{labels[int(unknown[0])].as_py()!r}, which the collection lacks"
            )
    # those of a negative grade too: infAP counts what was pooled and not sampled
    return question.astype(np.int64) * len(collection.entities) + entity


def n_others(plan: Plan, n_questions: int, width: int) -> NDArray[np.int64]:
    """(n,) for each placed pair the candidates of its question that are no answers, itself left out."""
    aside = np.bincount(plan.aside // width, minlength=n_questions)
    counts_itself = ~is_among_sorted(plan.placed, plan.aside)
    found: NDArray[np.int64] = width - aside[plan.placed // width] - counts_itself
    return found


def pairs_of(
    keys: NDArray[np.int64], rows: NDArray[np.intp], width: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Places in ``keys`` of the questions ``rows``, and each one's row in the block (ascending) and entity."""
    low, high = np.searchsorted(keys, rows * width), np.searchsorted(keys, (rows + 1) * width)
    count = high - low
    row = np.repeat(np.arange(len(rows)), count)
    place = np.arange(len(row)) + np.repeat(low - (np.cumsum(count) - count), count)
    return place, row, (keys[place] - rows[row] * width).astype(np.intp)


def require_collection(collection: Any) -> None:
    """Refuse what is no collection, such as the path of one."""
    if not isinstance(collection, Collection):
        raise KgtrecError(
            f"expected a collection, of kgtrec.read_collection or kgtrec.build_questions, found {kind_of(collection)}"
        )


def checked_splits(filtered_by: Sequence[str]) -> tuple[str, ...]:
    """The splits that are named, each once, in the order of ``SPLITS``; a KgtrecError if there is no such split."""
    named = (filtered_by,) if isinstance(filtered_by, str) else tuple(filtered_by)
    for split in named:
        one_of("splits to filter by among", split, SPLITS)
    return tuple(split for split in SPLITS if split in named)


def checked_depth(depth: int) -> int:
    """The depth of a run as an int; a KgtrecError if it is no whole number from 0."""
    try:
        depth = operator.index(depth)
    except TypeError:
        raise KgtrecError(f"expected a whole number as depth, found {depth!r}") from None
    if depth < 0:
        raise KgtrecError(f"expected a depth of 0 (no run) or more, found {depth}")
    return depth


def _empty_block(collection: Collection) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    return np.zeros(0, np.intp), np.zeros((0, len(collection.entities)), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """What the rows and columns of a system's scores are about."""

    n_rows: int
    n_columns: int
    question: NDArray[np.intp] | None  # (n_rows,) the collection's row, -1 where it lacks it; None: as they are
    column: NDArray[np.intp] | None  # (n_entities,) column of each entity of the collection; None: as they are

    def of_questions(self, asked: NDArray[np.bool_]) -> _Order:
        """The same order, where scores of questions that are not asked are left out."""
        if asked.all():
            return self
        row = np.arange(self.n_rows) if self.question is None else self.question
        return replace(self, question=np.where((row >= 0) & asked[row], row, -1))


def _order(collection: Collection, questions: Any, entities: Any) -> _Order:
    if entities is None:
        raise KgtrecError(
            "expected entities=, what each column of the scores is about, found none: give labels in the order of the "
            "columns, a mapping such as PyKEEN's entity_to_id, or the collection itself if they follow its own order"
        )
    if questions is None:
        raise KgtrecError(
            "expected questions=, what each row of the scores is about, found none: give (side, anchor, relation) for "
            "each row, topics, or the collection itself if they follow its own order"
        )
    rows = question_places(collection, questions)
    columns = entity_places(collection, entities)
    warn_of_extra(rows, "questions")
    warn_of_extra(columns, "entities")
    return _Order(
        rows.size, columns.size, None if rows.is_same else rows.own(), None if columns.is_same else columns.place
    )


def _blocks(order: _Order, blocks: Any) -> Iterator[tuple[Any, Any]]:
    """(rows, scores) of whatever ``rank_scores`` takes; a matrix is cut into pieces of bounded size."""
    if not hasattr(blocks, "shape"):
        if not isinstance(blocks, Iterable):
            raise KgtrecError(f"expected blocks of scores or a whole score matrix, found {type(blocks).__name__}")
        for number, block in enumerate(blocks):
            if not isinstance(block, Sequence) or len(block) != 2:
                raise KgtrecError(
                    f"block {number}: expected a pair (question rows, score block), found {type(block).__name__}"
                )
            yield block[0], block[1]
        return
    # what slices and converts by itself is converted piece by piece; a data frame slices otherwise
    sliceable = hasattr(blocks, "__array__") and not hasattr(blocks, "iloc")
    matrix = blocks if sliceable else as_array(blocks, "scores")
    expected = order.n_rows, order.n_columns
    if tuple(matrix.shape) != expected:
        raise KgtrecError(
            f"expected a score matrix of {expected[0]} questions x {expected[1]} entities, "
            f"found shape {_shape(tuple(matrix.shape))}"
        )
    step = max(1, _BLOCK_BYTES // (8 * max(expected[1], 1)))
    for first in range(0, expected[0], step):
        piece = matrix[first : first + step]
        yield np.arange(first, first + len(piece)), piece


def _require_columns(collection: Collection, order: _Order, frame: Any) -> None:
    """Refuse a data frame of scores whose columns bear other entities' names than the order that was given says."""
    found = list(frame.columns)
    if len(found) != order.n_columns or not all(isinstance(label, str) for label in found):
        return  # of another shape, which is told elsewhere, or without names
    names, ids = list(entity_names(collection)), list(collection.entities)
    place = range(len(names)) if order.column is None else order.column.tolist()
    for column, name, own in zip(place, names, ids, strict=True):
        if found[column] not in (name, own):
            raise KgtrecError(
                f"expected column {column} of the data frame to be about {name!r}, as entities= says, found "
                f"{found[column]!r}; give entities=list(frame.columns), or frame.to_numpy() if its names mean nothing"
            )


def _require_rows(collection: Collection, questions: Any, frame: Any) -> None:
    """Refuse a data frame of scores whose rows bear the names of a collection's questions in another order."""
    if not isinstance(questions, Collection):
        return  # tuples and topics have no names that an index would repeat
    found = list(frame.index)
    for expected in (list(questions.questions.ids), list(range(len(questions.questions)))):
        if found != expected and sorted(map(str, found)) == sorted(map(str, expected)):
            raise KgtrecError(
                f"expected the rows of the data frame in the order of the collection's questions, as questions= says, "
                f"found {found[0]!r} first; give frame.loc[...] in that order, or frame.to_numpy() if its names mean "
                "nothing"
            )


def _checked_block(
    collection: Collection, order: _Order, rows: Any, scores: Any, seen: NDArray[np.bool_], place: str
) -> tuple[NDArray[np.intp], Any]:
    """The block in the collection's terms; its questions are marked in ``seen``.

    Scores are a numpy array, or a tensor that stays on its device, where columns are put in order when it is ranked.
    """
    rows = as_array(rows, f"{place}: question rows")
    if rows.ndim != 1 or (rows.dtype.kind not in "iu" and len(rows)):
        raise KgtrecError(
            f"{place}: expected a list of whole numbers as question rows, found {rows.dtype} of shape "
            f"{_shape(rows.shape)}"
        )
    outside = np.flatnonzero((rows < 0) | (rows >= order.n_rows))
    if len(outside):
        raise KgtrecError(f"{place}: expected question rows from 0 to {order.n_rows - 1}, found {rows[outside[0]]}")
    rows = rows.astype(np.intp)
    if is_frame(scores):
        _require_columns(collection, order, scores)
    on_device = stays_on_device(scores)
    scores = scores.detach() if on_device else as_array(scores, f"{place}: scores")
    expected = len(rows), order.n_columns
    if tuple(scores.shape) != expected:
        raise KgtrecError(
            f"{place}: expected scores of {expected[0]} questions x {expected[1]} entities, "
            f"found shape {_shape(tuple(scores.shape))}"
        )
    if on_device:
        require_exact(*extremes(scores), place)
    else:
        scores = _checked_type(scores, place)
    if order.question is not None:
        rows = order.question[rows]
        if (rows < 0).any():
            kept = np.flatnonzero(rows >= 0)
            rows, scores = rows[kept], rows_at(scores, kept) if on_device else scores[kept]
    ordered = np.sort(rows)
    repeated = np.concatenate([rows[seen[rows]], ordered[1:][ordered[1:] == ordered[:-1]]])
    if len(repeated):
        raise KgtrecError(
            f"{place}: expected each question once, found {collection.questions.ids[repeated[0]]!r} more than once"
        )
    seen[rows] = True
    return rows, scores if order.column is None or on_device else np.take(scores, order.column, axis=1)


def _checked_type(scores: NDArray[Any], place: str) -> NDArray[Any]:
    kind, size = scores.dtype.kind, scores.dtype.itemsize
    if kind == "b":
        return scores.view(np.uint8)
    if kind not in "fiu" or size > 8:
        raise KgtrecError(
            f"{place}: expected scores as 16, 32 or 64 bit floats or as integers, found {scores.dtype}; "
            "convert them to float32 first"
        )
    if kind in "iu" and size == 8 and scores.size:
        require_exact(int(scores.max()), int(scores.min()), place)
    return scores


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of a single number"
