"""Answer ranks of a run whose numbers of candidates are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS
from kgtrec.errors import CollectionError, counted
from kgtrec.evaluation.matching import JudgedPairs, rows_without
from kgtrec.kernels.ranking.positions import higher_and_equal


def ranks_of_lists(run: Run, qrels: Qrels, candidates: int | None) -> AnswerRanks:
    """Return the places of the judged entities in the lists of a run.

    An answer that its list lacks stands somewhere below the end, and so does what ties with the last entity of a list
    that is not whole: ``cut`` is True there.

    Parameters
    ----------
    run : Run
    qrels : Qrels
    candidates : int or None
        How many candidates each question has, its answers included; None: those that the run lists.

    Raises
    ------
    CollectionError
        If a list has more candidates, or a whole one lacks an answer.
    """
    n, question_of = len(qrels.questions), qrels.questions.encode(run.questions.labels)
    run = run.take(question_of[run.question] >= 0)
    question, score = question_of[run.question], run.score
    rows, judged = JudgedPairs(question_of, run.entities, qrels).rows_of(run.question, run.entity)
    relevant = qrels.grade >= 1
    answer = np.zeros(len(run), np.bool_)
    answer[rows] = relevant[judged]

    length = np.bincount(question, minlength=n)
    size = length if candidates is None else np.where(length > 0, candidates, 0)
    below = rows_without(qrels, judged)
    below = below[relevant[below]]
    if candidates is not None:
        size[qrels.question[below]] = candidates
    _require_sizes(run, qrels, below, length, size)

    lowest = np.full(n, np.inf)
    np.minimum.at(lowest, question, score)
    higher, equal = higher_and_equal(question, score, ~answer)
    is_open = (score == lowest[question]) & (length < size)[question]
    above_end = np.bincount(question[~answer & ~is_open], minlength=n)

    codes = np.r_[judged, below]  # rows of the qrels
    order = np.argsort(codes)
    codes = codes[order]
    own, is_answer = qrels.question[codes], relevant[codes]
    cut = np.r_[is_open[rows], np.ones(len(below), np.bool_)][order]
    n_other = (size - np.bincount(qrels.question[relevant], minlength=n))[own] - ~is_answer
    above = np.where(cut, above_end[own], np.r_[higher[rows], np.zeros(len(below), np.int64)][order])
    tied = np.where(cut, n_other - above, np.r_[equal[rows], np.zeros(len(below), np.int64)][order])
    return AnswerRanks(
        run.name,
        own,
        qrels.entity[codes],
        is_answer,
        above.astype(np.int32),
        tied.astype(np.int32),
        n_other.astype(np.int32),
        np.r_[score[rows], np.full(len(below), -np.inf)][order],
        qrels.questions,
        qrels.entities.extended(run.entities.labels),
        SPLITS if run.filtered_by is None else run.filtered_by,
        run.collection,
        cut if cut.any() else None,
    )


def _require_sizes(
    run: Run, qrels: Qrels, below: NDArray[np.intp], length: NDArray[np.intp], size: NDArray[np.intp]
) -> None:
    """Refuse lists that are longer than there are candidates, and answers for which no candidate is left."""
    wrong = np.flatnonzero(length > size)
    if len(wrong):
        raise CollectionError(
            f"{run.name}: expected lists of at most {counted(int(size[wrong[0]]), 'candidate')}, found "
            f"{length[wrong[0]]:,} for question {qrels.questions[int(wrong[0])]}"
        )
    lacking = np.bincount(qrels.question[below], minlength=len(length))
    wrong = np.flatnonzero(length + lacking > size)
    if len(wrong):
        row = below[qrels.question[below] == wrong[0]][0]
        raise CollectionError(
            f"{run.name}: expected every answer among the {counted(int(size[wrong[0]]), 'candidate')} of question "
            f"{qrels.questions[int(wrong[0])]}, found {length[wrong[0]]:,} listed, without the answer "
            f"{qrels.entities[int(qrels.entity[row])]}; if the lists are cut, give the number of candidates"
        )
