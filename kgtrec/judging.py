"""A system's run or answer ranks, held against qrels: where the judged entities stand."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.kernels.positions import TIES, Ties, higher_and_equal, places_in_tied_groups, rank_among

_ROWS_AT_A_TIME = 1 << 17
_TABLE_BITS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio


@dataclass(frozen=True, slots=True, eq=False)
class RankedAnswers:
    """Micro ranks: one row per relevant judgement, in the order of the qrels."""

    question: NDArray[np.int32]  # (n,) row in the qrels' questions
    entity: NDArray[np.int32]  # (n,) row in the qrels' entities
    rank: NDArray[np.float64]  # (n,) from 1
    candidates: NDArray[np.int64]  # (n,) how many the answer was ranked among, itself included


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSystem:
    """One system, seen through one set of qrels and one rule for ties."""

    name: str
    ranking: JudgedRanking
    answers: RankedAnswers | None  # None for a run, which is cut and so has no exact ranks
    tied: float  # share of the relevant, retrieved entities that another candidate ties with
    run: Run | None  # what ir-measures' own providers are given; None for answer ranks


def judge(system: Run | AnswerRanks, qrels: Qrels, ties: str | None = None) -> JudgedSystem:
    """Hold one system against qrels.

    Parameters
    ----------
    system : Run or AnswerRanks
    qrels : Qrels
    ties : {"trec", "realistic", "optimistic", "pessimistic"}, optional
        ``trec`` (a run's default) breaks ties by label, as trec_eval does; answer ranks, which do not know the
        labels of all tied candidates, default to ``realistic`` and take the other two.

    Raises
    ------
    CollectionError
        If the system has no question in common with the qrels, or has no rank for a relevant judgement.
    KgtrecError
        If the rule for ties is unknown, or not possible for this kind of system.
    """
    if isinstance(system, Run):
        return _judge_run(system, qrels, ties or "trec")
    return _judge_ranks(system, qrels, ties or "realistic")


def _rule(ties: str, where: str) -> Ties:
    if ties == "trec":
        raise KgtrecError(f"{where} has no tie rule 'trec': it does not hold the labels of all tied candidates; "
                          f"choose one of {', '.join(TIES)}, or evaluate the run")  # fmt: skip
    found = next((rule for rule in TIES if rule == ties), None)
    if found is None:
        raise KgtrecError(f"expected a tie rule of trec, {', '.join(TIES)}, found {ties!r}")
    return found


def _judge_run(run: Run, qrels: Qrels, ties: str) -> JudgedSystem:
    question = _question_codes(run.name, run.questions, qrels)
    _report_questions(run, question)
    row, judged = _pairs_found(question, run.question, run.entity, run.entities, qrels)
    n = len(qrels.questions)
    starts = np.append(0, np.flatnonzero(run.question[1:] != run.question[:-1]) + 1)[: len(run)]
    lengths = np.diff(np.append(starts, len(run)))
    num_retrieved = np.zeros(n, np.int64)
    asked = question[run.question[starts]]
    num_retrieved[asked[asked >= 0]] = lengths[asked >= 0]

    place = row - starts[np.searchsorted(starts, row, side="right") - 1] + 1
    first, size = _tied_groups(run, row, place)
    position = place.astype(np.float64)
    if ties != "trec":
        label_order = run.entities.byte_order[run.entity[row]]
        rule = _rule(ties, "a run")
        position = places_in_tied_groups(qrels.question[judged], first, size, qrels.grade[judged], label_order, rule)
    own = position if ties == "trec" else rank_among(first - 1, size - 1, rule)
    ranking = _ranking(qrels, num_retrieved, judged, position, own)
    relevant = qrels.grade[judged] >= 1
    return JudgedSystem(run.name, ranking, None, _share(size[relevant] > 1), run)


def _tied_groups(
    run: Run, row: NDArray[np.intp], place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First place and size of the group of equal scores that each of ``row`` stands in."""
    like_above = (run.score[1:] == run.score[:-1]) & (run.question[1:] == run.question[:-1])
    tied = np.flatnonzero(like_above) + 1  # rows that tie with the row above; each stretch of them is one group
    begins = np.append(True, np.diff(tied) > 1)[: len(tied)]
    first_row = tied[begins] - 1
    last_row = tied[np.append(begins[1:], True)[: len(tied)]]
    group = np.searchsorted(first_row, row, side="right") - 1
    grouped = group >= 0
    grouped[grouped] = row[grouped] <= last_row[group[grouped]]
    first, size = place.copy(), np.ones(len(row), np.int64)
    first[grouped] -= row[grouped] - first_row[group[grouped]]
    size[grouped] = (last_row - first_row + 1)[group[grouped]]
    return first, size


def _judge_ranks(ranks: AnswerRanks, qrels: Qrels, ties: str) -> JudgedSystem:
    rule = _rule(ties, "an answer-rank table")
    question = _question_codes(ranks.name, ranks.questions, qrels)
    row, judged = _pairs_found(question, ranks.question, ranks.entity, ranks.entities, qrels)
    _require_relevant(ranks, qrels, judged)

    higher, equal = higher_and_equal(ranks.question, ranks.score, ranks.answer)
    above, tied = ranks.above.astype(np.int64) + higher, ranks.tied.astype(np.int64) + equal
    n_answers = np.bincount(ranks.question[ranks.answer], minlength=len(ranks.questions))
    list_length = ranks.n_other.astype(np.int64) + ~ranks.answer + n_answers[ranks.question]
    num_retrieved = np.zeros(len(qrels.questions), np.int64)
    asked = question[ranks.question]
    num_retrieved[asked[asked >= 0]] = list_length[asked >= 0]

    grade = qrels.grade[judged]
    label_order = ranks.entities.byte_order[ranks.entity[row]]
    position = places_in_tied_groups(qrels.question[judged], above[row] + 1, tied[row] + 1, grade, label_order, rule)
    ranking = _ranking(qrels, num_retrieved, judged, position, rank_among(above[row], tied[row], rule))

    relevant = grade >= 1
    answers = _micro(ranks, qrels, row[relevant], judged[relevant], (above, tied, list_length), rule)
    return JudgedSystem(ranks.name, ranking, answers, _share(tied[row[relevant]] > 0), None)


def _micro(
    ranks: AnswerRanks,
    qrels: Qrels,
    row: NDArray[np.intp],
    judged: NDArray[np.intp],
    in_list: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    rule: Ties,
) -> RankedAnswers:
    """Ranks of the relevant rows: among non-answers if test triples were filtered, else in the list as it is."""
    above, tied, candidates = (column[row] for column in in_list)
    if "test" in ranks.filtered_by:
        # an entity judged relevant only later was counted as a non-answer; it is an answer now, so it leaves the list
        found_later = np.zeros(len(ranks), np.bool_)
        found_later[row] = ~ranks.answer[row]
        higher, equal = higher_and_equal(ranks.question, ranks.score, found_later)
        others = np.bincount(ranks.question[found_later], minlength=len(ranks.questions))[ranks.question] - found_later
        above = ranks.above[row].astype(np.int64) - higher[row]
        tied = ranks.tied[row].astype(np.int64) - equal[row]
        candidates = ranks.n_other[row].astype(np.int64) + 1 - others[row]
    rank = rank_among(above, tied, rule)
    order = np.argsort(judged)  # the order of the qrels
    return RankedAnswers(qrels.question[judged][order], qrels.entity[judged][order], rank[order], candidates[order])


def _ranking(
    qrels: Qrels,
    num_retrieved: NDArray[np.int64],
    judged: NDArray[np.intp],
    position: NDArray[np.float64],
    rank: NDArray[np.float64],
) -> JudgedRanking:
    order = np.lexsort((-qrels.grade[judged], position, qrels.question[judged]))
    judged = judged[order]
    return JudgedRanking(
        n_questions=len(qrels.questions),
        num_retrieved=num_retrieved,
        question=qrels.question[judged],
        position=position[order],
        rank=rank[order],
        grade=qrels.grade[judged],
        judged_question=qrels.question,
        judged_grade=qrels.grade,
    )


def _question_codes(name: str, questions: Vocabulary, qrels: Qrels) -> NDArray[np.int32]:
    """(len(questions),) codes in the qrels, -1 where a question is not judged."""
    codes = np.arange(len(questions), dtype=np.int32)
    if not questions.same_as(qrels.questions):
        codes = qrels.questions.encode(questions.labels)
    if len(questions) and not np.any(codes >= 0):
        raise CollectionError(
            f"{name} has no question of the qrels; it has {questions[0]!r}, the qrels have "
            f"{qrels.questions[0]!r}: they are of different collections"
        )
    return codes


def _report_questions(run: Run, question: NDArray[np.int32]) -> None:
    unknown = np.flatnonzero(question < 0)
    if len(unknown):
        names = ", ".join(run.questions[code] for code in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        warnings.warn(
            f"{run.name}: {len(unknown)} of its questions are not in the qrels and are left out ({names})",
            KgtrecWarning, stacklevel=4,
        )  # fmt: skip


def _pairs_found(
    question: NDArray[np.int32], rows: NDArray[np.int32], entity: NDArray[np.int32], entities: Vocabulary, qrels: Qrels
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of a system's table that are judged, and the row of the qrels that judges each.

    ``question`` has the qrels' code of each of the system's questions, ``rows`` and ``entity`` the system's codes.
    """
    codes = qrels.entities.encode(entities.labels)
    n_entities = np.int64(max(len(qrels.entities), 1))
    judged_keys = qrels.question * n_entities + qrels.entity  # sorted, as the qrels are
    # one look at a table of hashes rules out almost every row; only the others are searched for
    is_hash_of_one = np.zeros(1 << _TABLE_BITS, np.bool_)
    is_hash_of_one[_hash(judged_keys)] = True
    found_rows, found_judged = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for first in range(0, len(rows), _ROWS_AT_A_TIME):
        asked = question[rows[first : first + _ROWS_AT_A_TIME]]
        candidate = codes[entity[first : first + _ROWS_AT_A_TIME]]
        keys = asked * n_entities + candidate
        likely = np.flatnonzero(is_hash_of_one[_hash(keys)] & (asked >= 0) & (candidate >= 0))
        place = np.minimum(np.searchsorted(judged_keys, keys[likely]), len(judged_keys) - 1)
        found = judged_keys[place] == keys[likely]
        found_rows.append(likely[found] + first)
        found_judged.append(place[found])
    return np.concatenate(found_rows), np.concatenate(found_judged)


def _hash(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) places in a table of ``2 ** _TABLE_BITS``, by Fibonacci hashing."""
    return ((keys.view(np.uint64) * _MIX) >> np.uint64(64 - _TABLE_BITS)).view(np.int64)


def _require_relevant(ranks: AnswerRanks, qrels: Qrels, judged: NDArray[np.intp]) -> None:
    without = np.ones(len(qrels), np.bool_)
    without[judged] = False
    missing = np.flatnonzero(without & (qrels.grade >= 1))
    if len(missing):
        pair = qrels.questions[qrels.question[missing[0]]], qrels.entities[qrels.entity[missing[0]]]
        raise CollectionError(
            f"{ranks.name} has no rank for {len(missing)} of the qrels' {np.count_nonzero(qrels.grade >= 1)} relevant "
            f"judgements, such as ({pair[0]}, {pair[1]}): rank its scores again with these qrels (kgtrec rank --judged)"
        )
    unranked = np.count_nonzero(without & (qrels.grade == 0))
    if unranked:
        warnings.warn(
            f"{ranks.name} has no rank for {unranked} judged non-answers; bpref, infAP, Judged and unj count them as "
            "not retrieved. Rank its scores again with these qrels (kgtrec rank --judged)",
            KgtrecWarning, stacklevel=4,
        )  # fmt: skip


def _share(flags: NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else 0.0
