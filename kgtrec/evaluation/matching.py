"""A system's run or answer ranks, held against qrels: where the judged entities stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.hashing import pair_hashes
from kgtrec.data.label_hashes import label_hashes
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, nearest, warn, whole_number
from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking
from kgtrec.kernels.ranking.positions import (
    TIE_POLICIES,
    TIES,
    Ties,
    higher_and_equal,
    places_in_tied_groups,
    rank_among,
)
from kgtrec.kernels.sampling.random_order import mixed, places_among_unknown, places_by_key

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
class MatchedSystem:
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


def match(system: Run | AnswerRanks, qrels: Qrels, ties: str | None = None, seed: int = 0) -> MatchedSystem:
    """Hold one system against qrels.

    Answer ranks stand where ranking the scores again with these qrels would have them, whatever was an answer when
    they were ranked.

    Parameters
    ----------
    system : Run or AnswerRanks
    qrels : Qrels
    ties : {"trec", "realistic", "optimistic", "pessimistic", "expected", "nondeterministic"}, optional
        ``trec`` (a run's default) breaks ties by label, as trec_eval does; answer ranks, which do not know the
        labels of all tied candidates, default to ``realistic`` and take all others. ``expected`` leaves the order of
        tied candidates open, and ``nondeterministic`` draws one at random.
    seed : int
        Of the random order; that depends on the seed and on the labels of what is judged alone.

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


def _judge_run(run: Run, qrels: Qrels, ties: str, seed: int) -> MatchedSystem:
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
    return MatchedSystem(run.name, ties, ranking, tied_ranking, None, group_size, run, places)


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


def _judge_ranks(ranks: AnswerRanks, qrels: Qrels, ties: str, seed: int) -> MatchedSystem:
    question = _question_codes(ranks.name, ranks.questions, qrels)
    row, judged = _pairs_found(question, ranks.question, ranks.entity, ranks.entities, qrels)
    _require_relevant(ranks, qrels, judged)

    is_answer = np.zeros(len(ranks), np.bool_)  # of questions that are not judged, it does not matter
    is_answer[row[qrels.grade[judged] >= 1]] = True
    counts = _counts(ranks, is_answer)
    num_retrieved = np.zeros(len(qrels.questions), np.int64)
    asked = question[ranks.question]
    num_retrieved[asked[asked >= 0]] = counts.length[asked >= 0]

    listed = counts.is_listed[row]  # what was filtered and is judged wrong is not in the list
    row, judged = row[listed], judged[listed]
    counts, grade, rule = counts.of(row), qrels.grade[judged], _by_counts(ties)
    relevant = grade >= 1
    shuffled = _places_at_random(ranks, row, counts, seed) if ties == "nondeterministic" else None
    if shuffled is not None:
        position = shuffled.astype(np.float64)
    else:
        label_order = ranks.entities.byte_order[ranks.entity[row]]
        position = places_in_tied_groups(
            qrels.question[judged], counts.listed_above + 1, counts.listed_tied + 1, grade, label_order, rule
        )
    ranking = _ranking(qrels, num_retrieved, judged, position)
    tied_ranking = None
    if ties == "expected":
        tied_ranking = _tied_ranking(qrels, num_retrieved, judged, counts.listed_above + 1, counts.listed_tied + 1)

    if "test" in ranks.filtered_by:
        above, tied, candidates = counts.above, counts.tied, counts.n_other + 1
        if shuffled is not None:
            shuffled = shuffled - higher_and_equal(ranks.question[row], -position, relevant)[0]
    else:
        above, tied, candidates = counts.listed_above, counts.listed_tied, counts.length
    rank = rank_among(above, tied, rule) if shuffled is None else shuffled.astype(np.float64)
    answers = np.flatnonzero(relevant)
    answers = answers[np.argsort(judged[answers])]  # the order of the qrels
    micro = RankedAnswers(
        qrels.question[judged[answers]],
        qrels.entity[judged[answers]],
        rank[answers],
        candidates[answers],
        (above + 1)[answers],
        (above + tied + 1)[answers],
    )
    places = Places(judged, counts.listed_above + 1, counts.listed_tied + 1, position)
    return MatchedSystem(ranks.name, ties, ranking, tied_ranking, micro, counts.listed_tied[relevant] + 1, None, places)


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """Where rows of an answer-rank table stand, in the terms of :class:`AnswerRanks`, and in the list with answers."""

    above: NDArray[np.int64]  # (n,) candidates that are no answers and score higher
    tied: NDArray[np.int64]  # (n,) those that score the same
    n_other: NDArray[np.int64]  # (n,) all of them, the row's own entity left out
    listed_above: NDArray[np.int64]  # (n,) candidates that score higher, answers included
    listed_tied: NDArray[np.int64]  # (n,) others that score the same, answers included
    length: NDArray[np.int64]  # (n,) of the list of all candidates of the question
    is_listed: NDArray[np.bool_]  # (n,) False: filtered, and no answer

    def of(self, row: NDArray[np.intp]) -> _Counts:
        """Those of some rows."""
        return _Counts(*(getattr(self, name)[row] for name in self.__slots__))


def ranked_again(
    ranks: AnswerRanks, is_answer: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What ranking the scores again would count, if these rows were the answers, and not those of the time.

    An answer of the time that is none now becomes a candidate like any other, which counts wherever it stands above;
    a candidate of the time that is an answer now is no longer counted. The table has the score of either, so that
    nothing is estimated. Entities known from a filtered split were never counted.

    Parameters
    ----------
    ranks : AnswerRanks
    is_answer : (n,) bool array
        Of each row.

    Returns
    -------
    above, tied, n_other : (n,) int arrays
        In the terms of :class:`AnswerRanks`.
    """
    question, n = ranks.question, len(ranks.questions)
    above, tied, n_other = (getattr(ranks, name).astype(np.int64) for name in ("above", "tied", "n_other"))
    for changed, sign in ((ranks.answer & ~is_answer, 1), (_were_candidates(ranks) & is_answer, -1)):
        if changed.any():
            higher, equal = higher_and_equal(question, ranks.score, changed)
            above += sign * higher
            tied += sign * equal
            n_other += sign * (np.bincount(question[changed], minlength=n)[question] - changed)
    return above, tied, n_other


def _counts(ranks: AnswerRanks, is_answer: NDArray[np.bool_]) -> _Counts:
    """The same, and the places in the list with answers, which a filtered entity that is an answer now has joined."""
    above, tied, n_other = ranked_again(ranks, is_answer)
    question = ranks.question
    higher, equal = higher_and_equal(question, ranks.score, is_answer)
    n_answers = np.bincount(question[is_answer], minlength=len(ranks.questions))[question]
    is_other = ~is_answer & (ranks.answer | _were_candidates(ranks))
    length = n_other + is_other + n_answers
    return _Counts(above, tied, n_other, above + higher, tied + equal, length, is_answer | is_other)


def _were_candidates(ranks: AnswerRanks) -> NDArray[np.bool_]:
    """(n,) which rows were candidates and no answers when the scores were ranked; the table tells by its counts.

    Such a row has one other candidate less than the answers of its question, since it does not count itself. One that
    was filtered has as many. Where a question has rows of one kind only and no answer, they are taken for candidates.
    """
    question, n_other = ranks.question, ranks.n_other.astype(np.int64)
    most = np.zeros(len(ranks.questions), np.int64)
    np.maximum.at(most, question, n_other)
    tells = np.zeros(len(ranks.questions), np.bool_)
    tells[question[ranks.answer | (n_other < most[question])]] = True
    return ~ranks.answer & ((n_other < most[question]) | ~tells[question])


def _places_at_random(ranks: AnswerRanks, row: NDArray[np.intp], counts: _Counts, seed: int) -> NDArray[np.int64]:
    """(n,) places of some rows in the list of all candidates, in one random order of those that tie."""
    question, first = ranks.question[row], counts.listed_above
    order = np.lexsort((first, question))
    new = np.r_[True, (question[order][1:] != question[order][:-1]) | (first[order][1:] != first[order][:-1])]
    group = np.empty(len(row), np.int64)
    group[order] = np.cumsum(new[: len(row)]) - 1
    return first + places_among_unknown(group, counts.listed_tied + 1, _keys(ranks, row, seed))


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
    qrels: Qrels, num_retrieved: NDArray[np.int64], judged: NDArray[np.intp], position: NDArray[np.float64]
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
        doubt = (
            "; if these qrels are of another collection, such as a sample, the same ids may stand for other questions "
            "there: see kgtrec check"
            if not run.collection and 2 * len(unknown) > len(run.questions)
            else ""
        )
        warn(f"{run.name}: {len(unknown):,} of its questions are not in the qrels and are left out ({names}){doubt}")


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
    without = _without(qrels, judged)
    missing = without[qrels.grade[without] >= 1]
    if len(missing):
        pair = qrels.questions[qrels.question[missing[0]]], qrels.entities[qrels.entity[missing[0]]]
        raise CollectionError(
            f"{ranks.name} has no rank for {len(missing):,} of the qrels' {np.count_nonzero(qrels.grade >= 1):,} "
            f"relevant judgements, such as ({pair[0]}, {pair[1]}): "
            "rank its scores again with these qrels (kgtrec rank --judged)"
        )
    wrong, unsampled = (np.count_nonzero(np.sign(qrels.grade[without]) == kind) for kind in (0, -1))
    if wrong or unsampled:
        found = [f"{wrong:,} judged non-answers"] if wrong else []
        found += [f"{unsampled:,} pairs of a negative grade (pooled, not sampled)"] if unsampled else []
        seeing = "bpref, infAP, Judged and unj count" if wrong else "infAP counts"
        warn(
            f"{ranks.name} has no rank for {' and '.join(found)}; {seeing} them as not retrieved. Rank its scores "
            "again with these qrels (kgtrec rank --judged)"
        )


def unranked(ranks: AnswerRanks, qrels: Qrels) -> NDArray[np.intp]:
    """(n,) rows of the qrels for which the answer ranks have no row."""
    question = qrels.questions.encode(ranks.questions.labels)
    _, judged = _pairs_found(question, ranks.question, ranks.entity, ranks.entities, qrels)
    return _without(qrels, judged)


def _without(qrels: Qrels, judged: NDArray[np.intp]) -> NDArray[np.intp]:
    """(n,) rows of the qrels that are none of ``judged``."""
    without = np.ones(len(qrels), np.bool_)
    without[judged] = False
    return np.flatnonzero(without)
