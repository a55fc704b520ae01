"""Score arrays -> answer ranks and a run, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks, joined_answer_ranks
from kgtrec.data.arrays import as_array, require_exact
from kgtrec.data.collection import Collection, why_another
from kgtrec.data.frames import is_frame
from kgtrec.data.identity import entity_names, entity_places, question_places, warn_of_extra
from kgtrec.data.progress import Progress
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.errors import CollectionError, KgtrecError, kind_of, require
from kgtrec.kernels.integer_keys import distinct, is_among_sorted, ranges
from kgtrec.kernels.ranking.answer_ranks import Counts, ScoreError, count_above_and_tied, score_in_words
from kgtrec.kernels.ranking.on_device import DeviceRanker, extremes, stays_on_device
from kgtrec.kernels.ranking.pairs import Aside, Pairs
from kgtrec.kernels.ranking.top_k import TopK, top_k
from kgtrec.ranking.options import RankOptions, ScoreKeywords

_BLOCK_BYTES = 64 << 20  # of a whole matrix, this much is ranked at a time


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """The result of ranking the scores of one system, or of one block of its questions."""

    answer_ranks: AnswerRanks
    run: Run | None  # None where no run was asked for (depth 0)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The pairs of each question that are ranked or left out, as keys question * n_entities + entity, ascending."""

    collection: Collection
    options: RankOptions
    ranked: NDArray[np.int64]  # pairs that get a row in the answer ranks
    is_answer: NDArray[np.bool_]  # of each ranked pair
    uncounted: NDArray[np.int64]  # pairs that are not counted: answers and filtered ones, of what a question takes
    filtered: NDArray[np.int64]  # pairs that are no candidates: filtered by a split, and no answers, likewise

    @classmethod
    def of(cls, collection: Collection, options: RankOptions) -> Plan:
        """Decide what the scores of each question of some sides are counted for."""
        if not isinstance(collection, Collection):
            raise KgtrecError(
                "expected a collection, of kgtrec.read_collection or kgtrec.build_questions, found "
                f"{kind_of(collection)}"
            )
        answers, filtered = collection.answers_and_filtered(options.filtered_by)
        qrels, width = collection.qrels, len(collection.entities)
        ranked = np.concatenate(
            [qrels.question.astype(np.int64) * width + qrels.entity, _judged_keys(collection, options.judged)]
        )
        ranked, uncounted = distinct(ranked), np.sort(np.concatenate([filtered, answers]))
        rows = collection.questions.rows_of(options.sides)
        if len(rows) < len(collection.questions):
            ranked, uncounted, filtered = (keys[np.isin(keys // width, rows)] for keys in (ranked, uncounted, filtered))
        return cls(collection, options, ranked, is_among_sorted(ranked, answers), uncounted, filtered)

    @property
    def width(self) -> int:
        """How many entities there are."""
        return len(self.collection.entities)

    def n_other(self) -> NDArray[np.int64]:
        """Count the candidates of each ranked pair's question that are no answers, itself left out, (n,)."""
        n = self.collection.sizes - np.bincount(self.uncounted // self.width, minlength=len(self.collection.questions))
        return n[self.ranked // self.width] - self.are_counted(self.ranked)

    def are_counted(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs are candidates and no answers, (n,)."""
        return ~is_among_sorted(keys, self.uncounted) & self.collection.takes(*np.divmod(keys, self.width))

    def aside(self, rows: NDArray[np.intp]) -> tuple[Aside, Aside]:
        """Find what is not counted, and what is not listed, of the questions of a block."""
        pairs = [pairs_of(keys, rows, self.width)[1] for keys in (self.uncounted, self.filtered)]
        uncounted = self.collection.others(rows)
        if uncounted is None:
            return pairs[0], pairs[1]
        unlisted = uncounted.copy()
        uncounted[pairs[0]], unlisted[pairs[0]], unlisted[pairs[1]] = True, False, True
        return uncounted, unlisted

    def ranks(self, name: str, pairs: NDArray[np.intp] | slice = slice(None), **counts: Any) -> AnswerRanks:
        """Make a system's answer ranks of the counts of all ranked pairs, or of those at some places."""
        question, entity = np.divmod(self.ranked[pairs], self.width)
        of_pairs = {"question": question, "entity": entity, "answer": self.is_answer[pairs]}
        return AnswerRanks.of(name, self.collection, tuple(self.options.filtered_by), **of_pairs, **counts)

    def run(self, name: str, question: NDArray[Any], entity: NDArray[Any], score: NDArray[Any]) -> Run:
        """Make a system's run of columns in order."""
        columns = question.astype(np.int32), entity.astype(np.int32), score.astype(np.float64)
        own, filtered_by = self.collection, tuple(self.options.filtered_by)
        return Run(name, *columns, own.questions.ids, own.entities, own.stamp, filtered_by)

    def result(self, name: str, rows: NDArray[np.intp], counts: Counts, best: TopK | None) -> Ranked:
        """Make the result of a block of questions, whose ranked pairs have been counted."""
        pairs, _ = pairs_of(self.ranked, rows, self.width)
        ranks = self.ranks(name, pairs, **{each.name: getattr(counts, each.name) for each in fields(counts)})
        return Ranked(ranks, None if best is None else self.run(name, rows[best.row], best.entity, best.score))


def rank_scores(
    collection: Collection,
    blocks: Any,
    *,
    questions: Any = None,
    entities: Any = None,
    name: str = "system",
    progress: Progress | None = None,
    **options: Unpack[ScoreKeywords],
) -> Ranked:
    """Compute the exact rank of every answer among all candidates, and the run cut at ``depth``, from scores.

    Parameters
    ----------
    collection : Collection
        Questions, answers and filtered triples.
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
        Splits whose triples are removed from the candidates; empty for the raw setting. Answers stay.
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

    See Also
    --------
    kgtrec.ranked_blocks : For runs that are written as they come.
    kgtrec.rank_model : From two functions that score.
    kgtrec.rank_system : From a file of another program.

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
    >>> scores = np.array([[0.5, 0.1, 0.9, 0.1], [0.2, 0.8, 0.4, 0.4]])  # bob likes jam, and ann tea: filtered
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
    plan = Plan.of(collection, RankOptions(**options))
    return joined(list(rank_blocks(plan, blocks, questions, entities, name, progress)))


def ranked_blocks(
    collection: Collection,
    blocks: Any,
    *,
    questions: Any = None,
    entities: Any = None,
    name: str = "system",
    progress: Progress | None = None,
    **options: Unpack[ScoreKeywords],
) -> Iterator[Ranked]:
    """Rank scores one block at a time, for runs that are written as they come; see :func:`rank_scores`.

    Parts are in block order. That every question came is known, and an error raised otherwise, only after the last
    block. Without any block (a collection without questions) there is one empty part.

    Parameters
    ----------
    collection : Collection
        The questions, their answers, and what is filtered.
    blocks : iterable of (rows, scores), array or DataFrame
        The scores, as for :func:`rank_scores`; read one block at a time.
    questions : optional
        What the rows are of, as for :func:`rank_scores`.
    entities : optional
        What the columns are of, as for :func:`rank_scores`.
    name : str
        Name of the system. Default: "system".
    progress : function, optional
        Called with the number of further questions that are ranked.
    **options
        ``sides``, ``filtered_by``, ``depth`` and ``judged``, as for :func:`rank_scores`.

    See Also
    --------
    kgtrec.rank_scores : All blocks at once.

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
    yield from rank_blocks(Plan.of(collection, RankOptions(**options)), blocks, questions, entities, name, progress)


def rank_blocks(
    plan: Plan, blocks: Any, questions: Any, entities: Any, name: str, progress: Progress | None
) -> Iterator[Ranked]:
    """Rank the scores of a plan's questions; see :func:`ranked_blocks`."""
    collection = plan.collection
    asked = collection.questions.rows_of(plan.options.sides)
    order, seen = _Order(collection, asked, questions, entities), np.ones(len(collection.questions), np.bool_)
    seen[asked] = False
    by_label = collection.entities.byte_order if plan.options.depth else None
    ranker = DeviceRanker(plan.width, order.column, by_label)
    if len(seen) == 0:
        yield _ranked_block(plan, name, ranker, np.zeros(0, np.intp), np.zeros((0, plan.width), np.float32))
    if is_frame(blocks):
        order.require_rows(questions, blocks)
        order.require_columns(blocks)
    for number, block in enumerate(order.blocks(blocks)):
        rows, scores = order.checked(*block, seen, f"block {number}")
        if len(rows) == 0 and len(seen):
            continue  # of questions that the collection lacks
        yield _ranked_block(plan, name, ranker, rows, scores)
        if progress is not None:
            progress(len(rows))
    missing = np.flatnonzero(~seen)
    if len(missing):
        raise KgtrecError(
            f"expected scores for each of {len(asked)} questions, found none for {len(missing)} of them, "
            f"the first being {collection.questions.ids[missing[0]]!r}"
        )


def joined(parts: Sequence[Ranked]) -> Ranked:
    """Several blocks of one system as one, with a run where they have one."""
    runs = [part.run for part in parts if part.run is not None]
    run = runs[0].joined(*runs[1:]) if runs else None
    if run is not None and np.any(run.question[1:] < run.question[:-1]):
        # a question lies in one block, where its list is in order
        run = run.take(np.argsort(run.question, kind="stable"))
    return Ranked(joined_answer_ranks([part.answer_ranks for part in parts]), run)


def _ranked_block(plan: Plan, name: str, device_ranker: DeviceRanker, rows: NDArray[np.intp], scores: Any) -> Ranked:
    entities, width, depth = plan.collection.entities, plan.width, plan.options.depth
    ranked, (uncounted, excluded) = pairs_of(plan.ranked, rows, width)[1], plan.aside(rows)
    best: TopK | None = None
    try:
        if stays_on_device(scores):
            counts, best = device_ranker.rank(scores, ranked, uncounted, depth, excluded)
        else:
            counts = count_above_and_tied(scores, ranked, uncounted)
            if depth:
                best = top_k(scores, min(depth, width), excluded, entities.byte_order)
    except ScoreError as error:
        raise wrong_score(plan.collection, rows[error.row], error.entity, error.score) from None
    result = plan.result(name, rows, counts, best)
    return result if np.all(rows[1:] > rows[:-1]) else joined([result])


def wrong_score(collection: Collection, question: int, entity: int, score: float) -> KgtrecError:
    """Make the error for a score that is NaN or +inf, of a question and an entity by their rows."""
    about = f"question {collection.questions.ids[question]!r}, entity {collection.entities[entity]!r}"
    way_out = (
        "use -inf for an entity that should come last"
        if np.isnan(score)
        else "beyond the largest number of a type (3.4e38 in float32, 65,504 in float16) all tie; make scores smaller"
    )
    return KgtrecError(f"expected numbers as scores, found {score_in_words(score)} for {about}; {way_out}")


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
        if len(codes) and codes.min() < 0:
            raise CollectionError(
                f"expected judgements of the collection's questions and entities, found the {what} "
                f"{labels[int(np.argmax(codes < 0))].as_py()!r}, which the collection lacks"
            )
    # those of a negative grade too: infAP counts what was pooled and not sampled
    return question.astype(np.int64) * len(collection.entities) + entity


def pairs_of(keys: NDArray[np.int64], rows: NDArray[np.intp], width: int) -> tuple[NDArray[np.intp], Pairs]:
    """Places in ``keys`` of the questions ``rows``, and their pairs of a row in the block and an entity."""
    low, high = np.searchsorted(keys, rows * width), np.searchsorted(keys, (rows + 1) * width)
    row, place = ranges(low, high - low)
    return place, Pairs(row, (keys[place] - rows[row] * width).astype(np.intp))


class _Order:
    """What the rows and columns of a system's scores are about."""

    def __init__(self, collection: Collection, asked: NDArray[np.intp], questions: Any, entities: Any) -> None:
        if entities is None:
            raise KgtrecError(
                "expected entities=, what each column of the scores is about, found none: give labels in the order of "
                "the columns, a mapping such as PyKEEN's entity_to_id, or the collection itself if they follow its own "
                "order"
            )
        if questions is None:
            raise KgtrecError(
                "expected questions=, what each row of the scores is about, found none: give (side, anchor, relation) "
                "for each row, topics, or the collection itself if they follow its own order"
            )
        rows, columns = question_places(collection, questions), entity_places(collection, entities)
        warn_of_extra(rows, "questions")
        warn_of_extra(columns, "entities")
        self.collection, self.n_columns = collection, columns.size
        # (entities,) column of each entity of the collection; None: as they are
        self.column = None if columns.is_same else columns.place
        self.question = rows.own()  # (rows,) the collection's row, -1 where it lacks it, or is not asked about it
        self.question[~np.isin(self.question, asked)] = -1

    def blocks(self, blocks: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (rows, scores) of whatever ``rank_scores`` takes; a matrix is cut into pieces of bounded size."""
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
        n_rows = len(self.question)
        self._require_shape(matrix, n_rows, "expected a score matrix")
        step = max(1, _BLOCK_BYTES // (8 * max(self.n_columns, 1)))
        for first in range(0, n_rows, step):
            piece = matrix[first : first + step]
            yield np.arange(first, first + len(piece)), piece

    def _require_shape(self, scores: Any, n_rows: int, expected: str) -> None:
        if (shape := tuple(scores.shape)) != (n_rows, self.n_columns):
            raise KgtrecError(
                f"{expected} of {n_rows} questions x {self.n_columns} entities, found shape {_shape(shape)}"
            )

    def require_columns(self, frame: Any) -> None:
        """Refuse a data frame of scores whose columns bear other entities' names than the order that was given says."""
        labels = list(frame.columns)
        if len(labels) != self.n_columns or not all(isinstance(label, str) for label in labels):
            return  # of another shape, which is refused elsewhere, or without names
        names, ids = list(entity_names(self.collection)), list(self.collection.entities)
        columns = range(len(names)) if self.column is None else self.column.tolist()
        for column, name, own in zip(columns, names, ids, strict=True):
            if labels[column] not in (name, own):
                raise KgtrecError(
                    f"expected column {column} of the data frame to be about {name!r}, as entities= says, found "
                    f"{labels[column]!r}; give entities=list(frame.columns), or frame.to_numpy() if its names mean "
                    "nothing"
                )

    def require_rows(self, questions: Any, frame: Any) -> None:
        """Refuse a data frame of scores whose rows bear the names of a collection's questions in another order."""
        if not isinstance(questions, Collection):
            return  # tuples and topics have no names that an index would repeat
        labels = list(frame.index)
        for expected in (list(questions.questions.ids), list(range(len(questions.questions)))):
            if labels != expected and sorted(map(str, labels)) == sorted(map(str, expected)):
                raise KgtrecError(
                    f"expected the rows of the data frame in the order of the collection's questions, as questions= "
                    f"says, found {labels[0]!r} first; give frame.loc[...] in that order, or frame.to_numpy() if its "
                    "names mean nothing"
                )

    def checked(self, rows: Any, scores: Any, seen: NDArray[np.bool_], where: str) -> tuple[NDArray[np.intp], Any]:
        """Check a block and give it in the collection's terms; its questions are marked in ``seen``.

        Scores are a numpy array, or a tensor that stays on its device, where columns are put in order when it is
        ranked.
        """
        rows = as_array(rows, f"{where}: question rows")
        if rows.ndim != 1 or (rows.dtype.kind not in "iu" and len(rows)):
            raise KgtrecError(
                f"{where}: expected a list of whole numbers as question rows, found {rows.dtype} of shape "
                f"{_shape(rows.shape)}"
            )
        require(
            (rows >= 0) & (rows < len(self.question)),
            lambda row: KgtrecError(
                f"{where}: expected question rows from 0 to {len(self.question) - 1}, found {rows[row]}"
            ),
        )
        rows = self.question[rows.astype(np.intp)]
        if is_frame(scores):
            self.require_columns(scores)
        on_device = stays_on_device(scores)
        scores = scores.detach() if on_device else as_array(scores, f"{where}: scores")
        self._require_shape(scores, len(rows), f"{where}: expected scores")
        if on_device:
            require_exact(*extremes(scores), where)
        else:
            scores = _checked_type(scores, where)
        if (rows < 0).any():
            kept = np.flatnonzero(rows >= 0)
            rows, scores = rows[kept], scores[kept]
        ordered = np.sort(rows)
        repeated = np.concatenate([rows[seen[rows]], ordered[1:][ordered[1:] == ordered[:-1]]])
        if len(repeated):
            raise KgtrecError(
                f"{where}: expected each question once, found {self.collection.questions.ids[repeated[0]]!r} more than "
                "once"
            )
        seen[rows] = True
        return rows, scores if self.column is None or on_device else np.take(scores, self.column, axis=1)


def _checked_type(scores: NDArray[Any], where: str) -> NDArray[Any]:
    kind, size = scores.dtype.kind, scores.dtype.itemsize
    if kind == "b":
        return scores.view(np.uint8)
    if kind not in "fiu" or size > 8:
        raise KgtrecError(
            f"{where}: expected scores as 16, 32 or 64 bit floats or as integers, found {scores.dtype}; "
            "convert them to float32 first"
        )
    if kind in "iu" and size == 8 and scores.size:
        require_exact(int(scores.max()), int(scores.min()), where)
    return scores


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of a single number"
