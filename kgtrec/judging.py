"""A system's run or answer ranks, held against qrels: where the judged entities stand."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.hashing import pair_hashes
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, nearest, whole_number
from kgtrec.kernels.judged_ranking import JudgedRanking
from kgtrec.kernels.positions import TIE_POLICIES, TIES, Ties, higher_and_equal, places_in_tied_groups, rank_among
from kgtrec.kernels.random_order import mixed, places_among_unknown, places_by_key
from kgtrec.kernels.tied_ranking import TiedRanking
from kgtrec.label_hashes import label_hashes

_ROWS_AT_A_TIME = 1 << 17
_TABLE_BITS = 20


@dataclass(frozen=True, slots=True, eq=False)
class RankedAnswers:
    """Micro ranks: one row per relevant judgement, in the order of the qrels."""

    question: NDArray[np.int32]  # (n,) row in the qrels' questions
    entity: NDArray[np.int32]  # (n,) row in the qrels' entities
    rank: NDArray[np.float64]  # (n,) from 1; the mean of best and worst where the order of ties is left open
    candidates: NDArray[np.int64]  # (n,) how many the answer was ranked among, itself included
    best: NDArray[np.int64]  # (n,) the optimistic rank
    worst: NDArray[np.int64]  # (n,) the pessimistic rank


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each judged entity that the system returned stands in the list, in no order."""

    judged: NDArray[np.intp]  # (m,) row of the qrels
    first: NDArray[np.int64]  # (m,) first place of the group of candidates that it ties with, from 1
    size: NDArray[np.int64]  # (m,) how many candidates are in that group, itself included
    position: NDArray[np.float64]  # (m,) its place under the rule for ties


@dataclass(frozen=True, slots=True, eq=False)
class JudgedSystem:
    """One system, seen through one set of qrels and one rule for ties."""

    name: str
    ties: str
    ranking: JudgedRanking  # under "expected" that of the realistic rule, for what depends on no order
    tied_ranking: TiedRanking | None  # under "expected" what measures are given instead; None under all other rules
    answers: RankedAnswers | None  # None for a run, which is cut and so has no exact ranks
    group_size: NDArray[np.int64]  # (r,) of each relevant, retrieved entity: how many candidates tie, itself included
    run: Run | None  # what ir-measures' own providers are given; None for answer ranks
    places: Places  # what `ranking` was made of

    @property
    def tied(self) -> float:
        """Share of the relevant, retrieved entities that another candidate ties with."""
        return float(np.mean(self.group_size > 1)) if len(self.group_size) else 0.0


def judge(system: Run | AnswerRanks, qrels: Qrels, ties: str | None = None, seed: int = 0) -> JudgedSystem:
    """Hold one system against qrels.

    Parameters
    ----------
    system : Run or AnswerRanks
    qrels : Qrels
    ties : {"trec", "realistic", "optimistic", "pessimistic", "expected", "nondeterministic"}, optional
        ``trec`` (a run's default) breaks ties by label, as trec_eval does; answer ranks, which do not know the
        labels of all tied candidates, default to ``realistic`` and take all others. ``expected`` leaves the order of
        tied candidates open, and ``nondeterministic`` draws one at random.
    seed : int
        Of the random order; that depends on seed and labels alone.

    Raises
    ------
    CollectionError
        If the system has no question in common with the qrels, or has no rank for a relevant judgement.
    KgtrecError
        If the rule for ties is unknown, or not possible for this kind of system.
    """
    if ties is None:
        ties = "trec" if isinstance(system, Run) else "realistic"
    if ties not in TIE_POLICIES:
        raise KgtrecError(
            f"expected a tie rule of {', '.join(TIE_POLICIES)}, found {ties!r}{nearest(ties, TIE_POLICIES)}"
        )
    seed = whole_number("seed", seed, least=None)
    if isinstance(system, Run):
        return _judge_run(system, qrels, ties, seed)
    if ties == "trec":
        raise KgtrecError(
            "an answer-rank table has no tie rule 'trec': it does not hold the labels of all tied candidates; "
            f"choose one of {', '.join(TIE_POLICIES[1:])}, or evaluate the run"
        )
    return _judge_ranks(system, qrels, ties, int(seed))


def _by_counts(ties: str) -> Ties:
    """The rule that counts alone decide; where the order is left open, the one whose ranks are the mean ranks."""
    return next((rule for rule in TIES if rule == ties), "realistic")


def _judge_run(run: Run, qrels: Qrels, ties: str, seed: int) -> JudgedSystem:
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
    if ties == "nondeterministic":
        position = _shuffled_places(run, row, place, first, size, seed).astype(np.float64)
    elif ties != "trec":
        rule, label_order = _by_counts(ties), run.entities.byte_order[run.entity[row]]
        position = places_in_tied_groups(qrels.question[judged], first, size, qrels.grade[judged], label_order, rule)
    ranking = _ranking(qrels, num_retrieved, judged, position)
    tied_ranking = _tied_ranking(qrels, num_retrieved, judged, first, size) if ties == "expected" else None
    group_size, places = size[qrels.grade[judged] >= 1], Places(judged, first, size, position)
    return JudgedSystem(run.name, ties, ranking, tied_ranking, None, group_size, run, places)


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


def _shuffled_places(
    run: Run,
    row: NDArray[np.intp],
    place: NDArray[np.int64],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
    seed: int,
) -> NDArray[np.int64]:
    """(n,) places of some rows of the run after a random order of each group of equal scores."""
    top = row - (place - first)  # the row of the run where each one's group begins
    starts, where = np.unique(top[size > 1], return_index=True)
    sizes = size[size > 1][where]
    group = np.repeat(np.arange(len(starts)), sizes)
    number = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = starts[group] + number
    within = places_by_key(group, _keys(run, members, seed))
    at = np.cumsum(sizes) - sizes
    shuffled = first.copy()
    own = np.flatnonzero(size > 1)
    shuffled[own] += within[at[np.searchsorted(starts, top[own])] + (place - first)[own]] - 1
    return shuffled


def _keys(system: Run | AnswerRanks, rows: NDArray[np.intp] | slice, seed: int) -> NDArray[np.uint64]:
    """(n,) what is random about each row: a hash of seed, question label and entity label."""
    question, entity = label_hashes(system.questions), label_hashes(system.entities)
    return mixed(seed, question[system.question[rows]], entity[system.entity[rows]])


def _judge_ranks(ranks: AnswerRanks, qrels: Qrels, ties: str, seed: int) -> JudgedSystem:
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

    grade, rule = qrels.grade[judged], _by_counts(ties)
    seen = _InList(above, tied, list_length)
    shuffled = _places_at_random(ranks, above, tied, seed) if ties == "nondeterministic" else None
    if shuffled is not None:
        position = shuffled[row].astype(np.float64)
    else:
        label_order = ranks.entities.byte_order[ranks.entity[row]]
        position = places_in_tied_groups(
            qrels.question[judged], above[row] + 1, tied[row] + 1, grade, label_order, rule
        )
    ranking = _ranking(qrels, num_retrieved, judged, position)
    tied_ranking = None
    if ties == "expected":
        tied_ranking = _tied_ranking(qrels, num_retrieved, judged, above[row] + 1, tied[row] + 1)

    relevant = grade >= 1
    answers = _micro(ranks, qrels, row[relevant], judged[relevant], seen, rule, shuffled)
    places = Places(judged, above[row] + 1, tied[row] + 1, position)
    return JudgedSystem(ranks.name, ties, ranking, tied_ranking, answers, tied[row[relevant]] + 1, None, places)


@dataclass(frozen=True, slots=True, eq=False)
class _InList:
    """Where each row of an answer-rank table stands in the list of all candidates, the other answers included."""

    above: NDArray[np.int64]  # (n,) candidates that score higher
    tied: NDArray[np.int64]  # (n,) others that score the same
    candidates: NDArray[np.int64]  # (n,) length of the list


def _places_at_random(
    ranks: AnswerRanks, above: NDArray[np.int64], tied: NDArray[np.int64], seed: int
) -> NDArray[np.int64]:
    """(n,) places of all rows of the table in the list of all candidates, in one random order of those that tie."""
    order = np.lexsort((above, ranks.question))
    question, first = ranks.question[order], above[order]
    new = np.r_[True, (question[1:] != question[:-1]) | (first[1:] != first[:-1])][: len(ranks)]
    group = np.empty(len(ranks), np.int64)
    group[order] = np.cumsum(new) - 1
    return above + places_among_unknown(group, tied + 1, _keys(ranks, slice(None), seed))


def _micro(
    ranks: AnswerRanks,
    qrels: Qrels,
    row: NDArray[np.intp],
    judged: NDArray[np.intp],
    seen: _InList,
    rule: Ties,
    shuffled: NDArray[np.int64] | None,
) -> RankedAnswers:
    """Ranks of the relevant rows: among non-answers if test triples were filtered, else in the list as it is.

    ``shuffled``, if there is one, has the place of every row of the table in one order of the list.
    """
    above, tied, candidates = seen.above[row], seen.tied[row], seen.candidates[row]
    if "test" in ranks.filtered_by:
        # an entity judged relevant only later was counted as a non-answer; it is an answer now, so it leaves the list
        found_later = np.zeros(len(ranks), np.bool_)
        found_later[row] = ~ranks.answer[row]
        higher, equal = higher_and_equal(ranks.question, ranks.score, found_later)
        others = np.bincount(ranks.question[found_later], minlength=len(ranks.questions))[ranks.question] - found_later
        above = ranks.above[row].astype(np.int64) - higher[row]
        tied = ranks.tied[row].astype(np.int64) - equal[row]
        candidates = ranks.n_other[row].astype(np.int64) + 1 - others[row]
        if shuffled is not None:
            before, _ = higher_and_equal(ranks.question, -shuffled.astype(np.float64), ranks.answer | found_later)
            shuffled = shuffled - before
    rank = rank_among(above, tied, rule) if shuffled is None else shuffled[row].astype(np.float64)
    order = np.argsort(judged)  # the order of the qrels
    return RankedAnswers(
        qrels.question[judged][order], qrels.entity[judged][order], rank[order], candidates[order],
        (above + 1)[order], (above + tied + 1)[order],
    )  # fmt: skip


def _tied_ranking(
    qrels: Qrels,
    num_retrieved: NDArray[np.int64],
    judged: NDArray[np.intp],
    first: NDArray[np.int64],
    size: NDArray[np.int64],
) -> TiedRanking:
    order = np.lexsort((first, qrels.question[judged]))
    judged = judged[order]
    return TiedRanking(
        n_questions=len(qrels.questions),
        num_retrieved=num_retrieved,
        question=qrels.question[judged],
        first=first[order],
        size=size[order],
        grade=qrels.grade[judged],
        judged_question=qrels.question,
        judged_grade=qrels.grade,
    )


def _ranking(
    qrels: Qrels,
    num_retrieved: NDArray[np.int64],
    judged: NDArray[np.intp],
    position: NDArray[np.float64],
) -> JudgedRanking:
    order = np.lexsort((-qrels.grade[judged], position, qrels.question[judged]))
    judged = judged[order]
    return JudgedRanking(
        n_questions=len(qrels.questions),
        num_retrieved=num_retrieved,
        question=qrels.question[judged],
        position=position[order],
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
            f"{run.name}: {len(unknown):,} of its questions are not in the qrels and are left out ({names})",
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
    is_hash_of_one[pair_hashes(qrels.question, qrels.entity, _TABLE_BITS)] = True
    found_rows, found_judged = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for first in range(0, len(rows), _ROWS_AT_A_TIME):
        asked = question[rows[first : first + _ROWS_AT_A_TIME]]
        candidate = codes[entity[first : first + _ROWS_AT_A_TIME]]
        likely = np.flatnonzero(is_hash_of_one[pair_hashes(asked, candidate, _TABLE_BITS)])
        likely = likely[(asked[likely] >= 0) & (candidate[likely] >= 0)]
        keys = asked[likely] * n_entities + candidate[likely]
        place = np.minimum(np.searchsorted(judged_keys, keys), len(judged_keys) - 1)
        found = judged_keys[place] == keys
        found_rows.append(likely[found] + first)
        found_judged.append(place[found])
    return np.concatenate(found_rows), np.concatenate(found_judged)


def _require_relevant(ranks: AnswerRanks, qrels: Qrels, judged: NDArray[np.intp]) -> None:
    without = np.ones(len(qrels), np.bool_)
    without[judged] = False
    missing = np.flatnonzero(without & (qrels.grade >= 1))
    if len(missing):
        pair = qrels.questions[qrels.question[missing[0]]], qrels.entities[qrels.entity[missing[0]]]
        raise CollectionError(
            f"{ranks.name} has no rank for {len(missing):,} of the qrels' {np.count_nonzero(qrels.grade >= 1):,} "
            f"relevant judgements, such as ({pair[0]}, {pair[1]}): "
            "rank its scores again with these qrels (kgtrec rank --judged)"
        )
    unranked = np.count_nonzero(without & (qrels.grade == 0))
    if unranked:
        warnings.warn(
            f"{ranks.name} has no rank for {unranked:,} judged non-answers; bpref, infAP, Judged and unj count them as "
            "not retrieved. Rank its scores again with these qrels (kgtrec rank --judged)",
            KgtrecWarning, stacklevel=4,
        )  # fmt: skip
