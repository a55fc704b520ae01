"""Entity alignment on test sets of many sizes: how a measure depends on the size of the test set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.alignment.align import Side, Task, alignment_task, require_system, similarity_blocks
from kgtrec.data.alignments import Alignments, AlignmentStudy, EntityVectors
from kgtrec.data.answer_ranks import AnswerRanks, joined_answer_ranks
from kgtrec.data.collection import Collection
from kgtrec.data.progress import Progress
from kgtrec.data.qrels import Qrels
from kgtrec.data.scores import Scores
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, count_of, whole_number
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.ranking.pairs import Pairs
from kgtrec.kernels.ranking.similarity import Similarity
from kgtrec.kernels.ranking.subset_ranks import SubsetCounts, count_within_subsets
from kgtrec.measures.names import parse_measures
from kgtrec.ranking.options import RankOptions
from kgtrec.ranking.rank import Plan
from kgtrec.systems.kinds import ScoreBlock

# adjusted measures are registered with their chance levels; others are left out of the defaults
STUDY_MEASURES = ("micro.MR", "micro.Hits@1", "micro.MRR", "micro.AMRI")


def study_alignment(
    system: EntityVectors | NDArray[Any],
    alignments: Alignments,
    sizes: Sequence[int | float],
    *,
    repeats: int = 10,
    seed: int = 0,
    measures: Any = None,
    similarity: Similarity = "cosine",
    name: str = "system",
    block: int | None = None,
    progress: Progress | None = None,
) -> AlignmentStudy:
    """Measure the same similarities on test sets of several sizes, sampled from the test alignments.

    The candidates of a sampled set are its own entities, as in the common protocol. So the mean rank grows with the
    size of the set and Hits@1 falls, though the system is the same; AMRI is designed to stay constant. The
    similarities are computed once for all sets, and compared once with those of the answers; this needs 12 bytes
    per answer and set of additional memory.

    Parameters
    ----------
    system, alignments, similarity, name, block, progress
        As in :func:`kgtrec.alignment.align`.
    sizes : sequence of int or float
        Numbers of test alignments, or shares of them (a float in (0, 1]).
    repeats : int
        Sets per size. The sets of one repeat are nested, and do not depend on the other repeats.
    seed : int
        Random seed of the sampled test sets.
    measures : names or measures, optional
        Any that :func:`kgtrec.evaluate` takes; over both directions. Default: ``STUDY_MEASURES``.

    Returns
    -------
    AlignmentStudy
        With the answer ranks of the whole test set.

    Raises
    ------
    KgtrecError
        If a size is out of range, or as :func:`kgtrec.alignment.align` does.

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914, section 4.

    Examples
    --------
    >>> alignments = Alignments.of([(row, row) for row in range(6)])
    >>> similarities = np.add.outer(np.zeros(6), np.arange(6))  # every left entity prefers right5, then right4, ...
    >>> study = study_alignment(similarities, alignments, [3, 6], repeats=2, measures="micro.MR")
    >>> study.size.tolist(), study.values[study.size == 6, 0].tolist()
    ([3, 6, 3, 6], [3.5, 3.5])
    """
    parsed = parse_measures(STUDY_MEASURES if measures is None else measures)
    require_system(system, alignments, similarity, block)
    task = alignment_task(alignments, "test")
    pairs = distinct(_pair_keys(task.collection))
    sets = _drawn(len(pairs), sizes, repeats, seed)
    ranks: list[AnswerRanks] = []
    counts: list[SubsetCounts] = []  # rows as in the qrels
    for side in task.sides:
        blocks = _watched(task, side, pairs, sets, similarity_blocks(system, side, similarity, block), counts)
        ranks.append(task.ranks(side, blocks, name, progress))
    whole = joined_answer_ranks(ranks)
    holds = sets.holds[np.searchsorted(pairs, _pair_keys(task.collection))]
    scores = [
        _scores(task.collection, whole, counts, holds[:, column], column, parsed) for column in range(len(sets.size))
    ]
    values = np.array([score.values[0, :, 0] for score in scores])
    return AlignmentStudy(name, sets.size, sets.repeat, scores[0].measures, values, whole)


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    """Sampled test sets, one column each."""

    size: NDArray[np.int64]  # (k,)
    repeat: NDArray[np.int64]  # (k,)
    holds: NDArray[np.bool_]  # (n_pairs, k)


def _drawn(n: int, sizes: Sequence[int | float], repeats: int, seed: int) -> _Sets:
    counts = sorted({count_of(size, n, of="test alignments") for size in sizes})
    if not counts:
        raise KgtrecError("expected at least one size of test sets, found none")
    repeats, seed = whole_number("repeats", repeats, 1), whole_number("seed", seed)
    holds = np.zeros((n, repeats * len(counts)), np.bool_)
    for repeat in range(repeats):
        place = np.argsort(np.random.default_rng([seed, repeat]).permutation(n))
        for column, count in enumerate(counts, start=repeat * len(counts)):
            holds[:, column] = place < count
    return _Sets(np.tile(counts, repeats), np.repeat(np.arange(repeats), len(counts)), holds)


def _pair_keys(collection: Collection) -> NDArray[np.int64]:
    """(n,) one integer per row of the qrels, the same for the two questions of an alignment."""
    question, entity = collection.qrels.question, collection.qrels.entity
    anchor, is_head = collection.questions.anchor[question], collection.questions.is_head[question]
    left, right = np.where(is_head, entity, anchor), np.where(is_head, anchor, entity)
    return left.astype(np.int64) * len(collection.entities) + right


def _watched(
    task: Task,
    side: Side,
    pairs: NDArray[np.int64],
    sets: _Sets,
    blocks: Iterator[ScoreBlock],
    counts: list[SubsetCounts],
) -> Iterator[ScoreBlock]:
    """The same blocks, in the order of the questions; each is counted within the sets when its scores were checked."""
    plan = Plan.of(side.collection, RankOptions(depth=0))
    ranked, uncounted = (Pairs(*np.divmod(keys.astype(np.intp), plan.width)) for keys in (plan.ranked, plan.uncounted))
    first, last = np.searchsorted(
        task.collection.qrels.question, [side.first_question, side.first_question + len(side.anchors)]
    )
    pair = np.searchsorted(pairs, _pair_keys(task.collection)[first:last])
    members = np.zeros((plan.width, sets.holds.shape[1]), np.bool_)
    for column, holds in enumerate(sets.holds.T):
        members[ranked.entity[holds[pair]], column] = True
    for rows, scores in blocks:
        yield rows, scores
        start, stop = int(rows[0]), int(rows[-1]) + 1
        counts.append(
            count_within_subsets(scores, ranked.of_rows(start, stop), uncounted.of_rows(start, stop), members)
        )


def _scores(
    collection: Collection,
    whole: AnswerRanks,
    counts: list[SubsetCounts],
    kept: NDArray[np.bool_],
    column: int,
    measures: Sequence[Any],
) -> Scores:
    """Scores of one sampled set, which has the rows ``kept`` of the ranks."""
    used, codes = np.unique(whole.question[kept], return_inverse=True)
    question = codes.astype(np.int32)
    ids = Vocabulary(collection.questions.ids.decode(used))

    # ranks and qrels have the same rows: every answer has a rank, and nothing else is judged
    own: dict[str, Any] = {
        name: np.concatenate([part[name][:, column] for part in counts])[kept] for name in ("above", "tied", "n_other")
    }
    ranks = replace(whole.take(kept), question=question, **own, questions=ids, collection="")
    qrels = Qrels(question, ranks.entity, np.ones(len(question), np.int32), ids, collection.entities)
    return evaluate(qrels, ranks.renamed(f"{whole.name} at size {len(question) // 2}"), measures)
