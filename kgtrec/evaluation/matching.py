"""A system's run or answer ranks, matched with qrels: the positions of the judged entities."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.columns import Columns
from kgtrec.data.pair_set import pair_hashes
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.data.triples import label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, warn
from kgtrec.evaluation.scoring import TIE_POLICIES
from kgtrec.kernels.integer_keys import begins
from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.tied_ranking import TiedRanking
from kgtrec.kernels.ranking.positions import TIES, Ties, higher_and_equal, places_in_tied_groups, rank_among
from kgtrec.kernels.sampling.random_order import hashed, places_among_unknown, places_by_key
from kgtrec.measures.names import ParsedMeasure

Below = Literal["best", "worst"]
BELOW: tuple[Below, ...] = ("best", "worst")
_ROWS_AT_A_TIME = 1 << 17
_TABLE_BITS = 20


@dataclass(frozen=True, slots=True, eq=False)
class RankedAnswers:
    """Micro ranks: one row per relevant judgement, in the order of the qrels."""

    question: NDArray[np.int32]  # (n,) row in the qrels' questions
    entity: NDArray[np.int32]  # (n,) row in the qrels' entities
    rank: NDArray[np.float64]  # (n,) 1-based; the mean of best and worst if the order of ties is left open
    candidates: NDArray[np.int64]  # (n,) how many the answer was ranked among, including itself
    best: NDArray[np.int64]  # (n,) the optimistic rank
    worst: NDArray[np.int64]  # (n,) the pessimistic rank


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPositions:
    """The position of each judged entity that the system returned, in no order."""

    judged: NDArray[np.intp]  # (m,) row of the qrels
    first: NDArray[np.int64]  # (m,) 1-based first position of the group of candidates tied with it
    size: NDArray[np.int64]  # (m,) how many candidates are in that group, including itself
    position: NDArray[np.float64]  # (m,) its position by the rule for ties


@dataclass(frozen=True, slots=True, eq=False)
class MatchedSystem:
    """One system with one set of qrels and one rule for ties."""

    name: str
    ties: str | None  # the rule; None: of answer ranks the default, "expected" or "realistic" depending on the measure
    ranking: JudgedRanking  # if the order of ties may be left open, that of the realistic rule
    tied_ranking: TiedRanking | None  # the input of measures that leave it open; None for rules that never do
    answers: RankedAnswers | None  # None for a run, which is cut and has no exact ranks
    group_size: NDArray[np.int64]  # (r,) for each relevant, retrieved entity: how many candidates tie, including itself
    run: AnyRun | None  # input of ir-measures' own providers; None for answer ranks
    places: JudgedPositions  # from which `ranking` was made
    is_cut: bool = False  # whether judged candidates are below the ends of cut lists, and so at no known place
    # with `below`: answers of different grades may stand in orders that neither end of a measure of grades has
    grades_open: bool = False

    def in_order(self, ties: Ties, qrels: Qrels) -> MatchedSystem:
        """Put the relevant candidates first ("optimistic") or last ("pessimistic") among those they tie with.

        Rows below the ends of cut lists tie with all that the lists lack.
        """
        places = self.places
        judged, answers = places.judged, self.answers
        position = places_in_tied_groups(
            qrels.question[judged],
            places.first,
            places.size,
            qrels.grade[judged],
            qrels.entities.byte_order[qrels.entity[judged]],
            ties,
        )
        if answers is not None:
            end = answers.best if ties == "optimistic" else answers.worst
            answers = replace(answers, rank=end.astype(np.float64))
        ranking, _ = _rankings(qrels, self.ranking.num_retrieved, replace(places, position=position), ties)
        return replace(self, ties=ties, ranking=ranking, tied_ranking=None, answers=answers)

    @property
    def tied(self) -> float:
        """Share of the relevant, retrieved entities that are tied with another candidate."""
        return float(np.mean(self.group_size > 1)) if len(self.group_size) else 0.0


def leaves_order_open(ties: str | None, measure: ParsedMeasure) -> bool:
    """Check whether a measure's values are the means over all orders of tied candidates.

    By default those over questions of answer ranks are, if the mean is exact: half positions belong to no order.
    """
    if ties is None:
        return measure.items == "questions" and measure.record.expected is not None
    return ties == "expected"


def match(
    system: AnyRun | AnswerRanks, qrels: Qrels, ties: str | None = None, seed: int = 0, below: Below | None = None
) -> MatchedSystem:
    """Match one system with qrels.

    Answer ranks are those that ranking the scores again with these qrels would give, independent of the answers at the
    time of ranking.

    Parameters
    ----------
    system : Run, StreamedRun or AnswerRanks
        Of a streamed run one part at a time is in memory.
    qrels : Qrels
    ties : {"trec", "realistic", "optimistic", "pessimistic", "expected", "nondeterministic"}, optional
        ``trec`` (a run's default) breaks ties by label, as in trec_eval; answer ranks, which do not have the labels of
        all tied candidates, accept all others. ``expected`` leaves the order of tied candidates open, and
        ``nondeterministic`` draws one at random. By default the order is left open for answer ranks by the measures
        over questions that have an exact mean over all orders; all others use ``realistic``.
    seed : int
        Of the random order, which depends only on it and on the labels of the judged pairs.
    below : {"best", "worst"}, optional
        Where relevant entities below the end of a cut list stand (:attr:`AnswerRanks.cut`): right below it, or last of
        all candidates; judged wrong ones the other way round. Default: they tie with all that the list lacks.

    Raises
    ------
    CollectionError
        If the system has no question in common with the qrels, or has no rank for a relevant judgement.
    KgtrecError
        If the rule for ties is not possible for this kind of system.
    """
    if not isinstance(system, AnswerRanks):
        return _judge_run(system, qrels, ties or "trec", seed)
    if ties == "trec":
        raise KgtrecError(
            "an answer-rank table has no tie rule 'trec': it does not have the labels of all tied candidates; "
            f"choose one of {', '.join(TIE_POLICIES[1:])}, or evaluate the run"
        )
    return _judge_ranks(system, qrels, ties, int(seed), below)


def _by_counts(ties: str | None) -> Ties:
    """The rule for counts; if the order is left open, the one whose ranks are the mean ranks."""
    return next((rule for rule in TIES if rule == ties), "realistic")


def _judge_run(run: AnyRun, qrels: Qrels, ties: str, seed: int) -> MatchedSystem:
    question = _question_codes(run.name, run.questions, qrels)
    _report_questions(run, question)
    pairs = JudgedPairs(question, run.entities, qrels)
    num_retrieved = np.zeros(len(qrels.questions), np.int64)
    # all at once: small arrays that stay, between large ones that go, would keep the memory of these
    judged, first, size = np.empty((3, len(qrels)), np.int64)
    places, n = JudgedPositions(judged, first, size, np.empty(len(qrels))), 0
    for part in run.parts():
        starts = np.flatnonzero(begins(part.question))
        asked = question[part.question[starts]]
        num_retrieved[asked[asked >= 0]] = np.diff(np.append(starts, len(part)))[asked >= 0]
        of_part = _places_in(part, starts, pairs, qrels, ties, seed)
        rows = slice(n, n + len(of_part.judged))  # each pair is in the run once at most
        for column in fields(places):
            getattr(places, column.name)[rows] = getattr(of_part, column.name)
        n = rows.stop
    places = JudgedPositions(*(getattr(places, column.name)[:n] for column in fields(places)))
    group_size = places.size[qrels.grade[places.judged] >= 1]
    return MatchedSystem(run.name, ties, *_rankings(qrels, num_retrieved, places, ties), None, group_size, run, places)


def _places_in(
    run: Run, starts: NDArray[np.intp], pairs: JudgedPairs, qrels: Qrels, ties: str, seed: int
) -> JudgedPositions:
    """The positions of the judged entities in a run; ``starts``: the first row of each list."""
    row, judged = pairs.rows_of(run.question, run.entity)
    place = row - starts[np.searchsorted(starts, row, side="right") - 1] + 1
    first, size = _tied_groups(run, row, place)
    position = place.astype(np.float64)
    if ties == "nondeterministic":
        position = _shuffled_places(run, row, place, first, size, seed).astype(np.float64)
    elif ties != "trec":
        rule, label_order = _by_counts(ties), run.entities.byte_order[run.entity[row]]
        position = places_in_tied_groups(qrels.question[judged], first, size, qrels.grade[judged], label_order, rule)
    return JudgedPositions(judged, first, size, position)


def _tied_groups(
    run: Run, row: NDArray[np.intp], place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First position and size of the group of equal scores of each of ``row``."""
    like_above = (run.score[1:] == run.score[:-1]) & (run.question[1:] == run.question[:-1])
    tied = np.flatnonzero(like_above) + 1  # rows tied with the row above; each stretch of them is one group
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
    """(n,) positions of some rows of the run with each group of equal scores in random order."""
    top = row - (place - first)  # the row of the run at which each group begins
    starts, where = np.unique(top[size > 1], return_index=True)
    sizes = size[size > 1][where]
    at = np.cumsum(sizes) - sizes
    group = np.repeat(np.arange(len(starts)), sizes)
    members = np.arange(len(group)) + (starts - at)[group]
    within = places_by_key(group, _keys(run, members, seed))
    shuffled = first.copy()
    tied = np.flatnonzero(size > 1)
    shuffled[tied] += within[at[np.searchsorted(starts, top[tied])] + (place - first)[tied]] - 1
    return shuffled


def _keys(system: Run | AnswerRanks, rows: NDArray[np.intp] | slice, seed: int) -> NDArray[np.uint64]:
    """(n,) random key of each row: a hash of seed, question label and entity label."""
    question, entity = label_hashes(system.questions), label_hashes(system.entities)
    return hashed(seed, question[system.question[rows]], entity[system.entity[rows]])


def _judge_ranks(ranks: AnswerRanks, qrels: Qrels, ties: str | None, seed: int, below: Below | None) -> MatchedSystem:
    question = _question_codes(ranks.name, ranks.questions, qrels)
    row, judged = JudgedPairs(question, ranks.entities, qrels).rows_of(ranks.question, ranks.entity)
    _require_relevant(ranks, qrels, judged)

    is_answer = ranks.answer & (question[ranks.question] < 0)  # those of questions that are not judged stay
    is_answer[row[qrels.grade[judged] >= 1]] = True
    row_grade = np.zeros(len(ranks), np.int64)
    row_grade[row] = qrels.grade[judged]
    counts = _counts(ranks, is_answer, row_grade, below)
    num_retrieved = np.zeros(len(qrels.questions), np.int64)
    asked = question[ranks.question]
    num_retrieved[asked[asked >= 0]] = counts.length[asked >= 0]

    listed = counts.is_listed[row]  # filtered entities that are judged wrong are not in the list
    row, judged = row[listed], judged[listed]
    counts, grade, rule = counts.take(row), qrels.grade[judged], _by_counts(ties)
    relevant, above, tied = grade >= 1, counts.above, counts.tied
    first, size = counts.listed_above + 1, counts.listed_tied + 1
    if ties == "nondeterministic":
        position = _places_at_random(ranks, row, counts, seed).astype(np.float64)
        if "test" in ranks.filtered_by:  # other answers are not counted
            rank = position - higher_and_equal(ranks.question[row], -position, relevant)[0]
        else:
            rank = position - counts.listed_above + above
    else:
        label_order = ranks.entities.byte_order[ranks.entity[row]]
        position = places_in_tied_groups(qrels.question[judged], first, size, grade, label_order, rule)
        rank = rank_among(above, tied, rule)
    places = JudgedPositions(judged, first, size, position)
    rankings = _rankings(qrels, num_retrieved, places, ties)
    answers = np.flatnonzero(relevant)
    answers = answers[np.argsort(judged[answers])]  # the order of the qrels
    micro = RankedAnswers(
        qrels.question[judged[answers]],
        qrels.entity[judged[answers]],
        rank[answers],
        counts.candidates[answers],
        (above + 1)[answers],
        (above + tied + 1)[answers],
    )
    # what is below a cut list ties by ignorance, not by its scores
    of_scores = relevant if ranks.cut is None else relevant & ~ranks.cut[row]
    group_size = np.where(of_scores, size, 1)[relevant]
    is_cut = ranks.cut is not None and bool(ranks.cut[row].any())
    grades_open = ranks.cut is not None and below is not None and _grades_open(ranks, ranks.cut, is_answer, row_grade)
    return MatchedSystem(ranks.name, ties, *rankings, micro, group_size, None, places, is_cut, grades_open)


@dataclass(frozen=True, slots=True, eq=False)
class _Counts(Columns):
    """Counts for rows of an answer-rank table: of what an answer is ranked among, and of the list with answers."""

    above: NDArray[np.int64]  # (n,) what scores higher: candidates that are not answers, or if raw, all
    tied: NDArray[np.int64]  # (n,) others of these that score the same
    candidates: NDArray[np.int64]  # (n,) all of these, and the row itself
    listed_above: NDArray[np.int64]  # (n,) candidates that score higher, including answers
    listed_tied: NDArray[np.int64]  # (n,) others that score the same, including answers
    length: NDArray[np.int64]  # (n,) of the list of all candidates of the question
    is_listed: NDArray[np.bool_]  # (n,) False: filtered, and not an answer


def ranked_again(
    ranks: AnswerRanks, is_answer: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count what ranking the scores again with these rows as the answers would, instead of the earlier ones.

    An earlier answer that is not one now becomes a candidate like any other, which counts wherever it scores higher,
    unless it is filtered (:attr:`AnswerRanks.filtered`); an earlier candidate that is an answer now is no longer
    counted. The table has the scores of both, so that the result is exact. Filtered entities were never counted.

    Parameters
    ----------
    ranks : AnswerRanks
    is_answer : (n,) bool array
        Whether each row is an answer.

    Returns
    -------
    above, tied, n_other : (n,) int arrays
        As in :class:`AnswerRanks`.

    Raises
    ------
    CollectionError
        If an earlier answer below the end of its cut list may stand above, or tie with, an entity of a longer list.
    """
    gone, new = _no_longer_answers(ranks, is_answer), _were_candidates(ranks) & is_answer
    _require_places(ranks, gone)
    question, n = ranks.question, len(ranks.questions)
    above, tied, n_other = (getattr(ranks, name).astype(np.int64) for name in ("above", "tied", "n_other"))
    for changed, sign in ((gone, 1), (new, -1)):
        if changed.any():
            higher, equal = _higher_and_equal(ranks, changed)
            above += sign * higher
            tied += sign * equal
            n_other += sign * (np.bincount(question[changed], minlength=n)[question] - changed)
    return above, tied, n_other


def _no_longer_answers(ranks: AnswerRanks, is_answer: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n,) earlier answers that are candidates now."""
    gone: NDArray[np.bool_] = ranks.answer & ~is_answer
    return gone if ranks.filtered is None else gone & ~ranks.filtered


def _require_places(ranks: AnswerRanks, gone: NDArray[np.bool_]) -> None:
    """Refuse earlier answers below the end of a list where another list of the question has a row further down."""
    if ranks.cut is None or not (gone & ranks.cut).any():
        return
    question, above = ranks.question, ranks.above.astype(np.int64)
    is_gone = gone & ranks.cut
    reach = np.full(len(ranks.questions), np.iinfo(np.int64).max)
    np.minimum.at(reach, question[is_gone], above[is_gone])
    place = _place(ranks)
    ties = (place >= above + 1) | (higher_and_equal(question, -place, np.ones(len(ranks), np.bool_))[1] > 0)
    unsure = np.unique(question[~ranks.cut & ((above > reach[question]) | (ties & (above == reach[question])))])
    lost = np.flatnonzero(is_gone & np.isin(question, unsure))
    if len(lost):
        first = ranks.questions[question[lost[0]]], ranks.entities[ranks.entity[lost[0]]]
        raise CollectionError(
            f"{ranks.name}: expected earlier answers whose places are known, or that are answers still, found "
            f"{len(lost):,} below the ends of cut lists, such as ({first[0]}, {first[1]}), while other answers of the "
            "question are further down in theirs; longer lists, or scores, have all places"
        )


def _higher_and_equal(ranks: AnswerRanks, changed: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Per row, how many other changed rows of its question are among what stands above it, and what ties with it.

    A row below the end of a cut list has only those above it that its counts have there: the others, further down in a
    longer list or below its end too, are among what it ties with.
    """
    question, place = ranks.question, _place(ranks)
    higher, equal = higher_and_equal(question, -place, changed)
    if ranks.cut is None:
        return higher, equal
    rows = np.flatnonzero(ranks.cut)
    others = np.bincount(question[changed], minlength=len(ranks.questions))[question] - changed
    # the ends of the lists are rows of their own, which are not counted
    from_end = np.r_[place, ranks.above[rows] + 1.0]
    above = higher_and_equal(np.r_[question, question[rows]], -from_end, np.r_[changed, np.zeros(len(rows), np.bool_)])
    higher[rows] = above[0][len(question) :]
    equal[rows] = (others - higher)[rows]
    return higher, equal


def _place(ranks: AnswerRanks) -> NDArray[np.float64]:
    """(n,) minus the scores, which orders the rows of a question; what is below the end of a cut list is last.

    For lists it is the number of candidates down to the entity, see :func:`kgtrec.ranking.lists.rank_lists`.
    """
    return -ranks.score if ranks.cut is None else np.where(ranks.cut, np.inf, -ranks.score)


def _counts(ranks: AnswerRanks, is_answer: NDArray[np.bool_], grade: NDArray[np.int64], below: Below | None) -> _Counts:
    """Counts after ranking again, and in the list with answers, which has filtered entities that are answers now."""
    above, tied, n_other = ranked_again(ranks, is_answer)
    question, place, cut = ranks.question, _place(ranks), ranks.cut
    is_other = _no_longer_answers(ranks, is_answer) | (_were_candidates(ranks) & ~is_answer)
    length = n_other + is_other + np.bincount(question[is_answer], minlength=len(ranks.questions))[question]
    if cut is not None and below is not None:
        is_first = cut & (is_answer == (below == "best"))
        place = _settled(ranks, cut, is_first, grade)
        # candidates below the ends of lists are in no row's `above` yet, and in `tied` of all of these rows
        counted = cut & is_other
        higher = higher_and_equal(question, -place, counted)[0]
        others = np.bincount(question[counted], minlength=len(ranks.questions))[question] - counted
        above = np.select([is_first, cut], [above + higher, above + tied - (others - higher)], above)
        tied = np.where(cut, 0, tied)
    higher, equal = higher_and_equal(question, -place, is_answer)
    listed_above, listed_tied = above + higher, tied + equal
    if cut is not None and below is None:
        first = _ends_of_lists(ranks, cut, above, tied, n_other, is_answer, is_other)
        listed_above, listed_tied = np.where(cut, first, listed_above), np.where(cut, length - first - 1, listed_tied)
    is_listed = is_answer | is_other
    if "test" in ranks.filtered_by:
        return _Counts(above, tied, n_other + 1, listed_above, listed_tied, length, is_listed)
    raw_above, raw_tied = listed_above, listed_tied
    if cut is not None and below is not None:
        # each answer on its own: at best no other one that is below the end of a list is above it, at worst all are
        counted = is_answer if below == "worst" else is_answer & ~cut
        higher, equal = higher_and_equal(question, -_settled(ranks, cut, cut, grade), counted)
        raw_above = np.where(cut & (below == "worst"), length - 1, above + higher)
        raw_tied = tied + np.where(cut, 0, equal)
    return _Counts(raw_above, raw_tied, length, listed_above, listed_tied, length, is_listed)


def _ends_of_lists(
    ranks: AnswerRanks,
    cut: NDArray[np.bool_],
    above: NDArray[np.int64],
    tied: NDArray[np.int64],
    n_other: NDArray[np.int64],
    is_answer: NDArray[np.bool_],
    is_other: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """(n,) how many of each question's list of all candidates stand above all that is below the ends of its cut lists.

    Where the lists of one question have different lengths, the longest counts.
    """
    question, n = ranks.question, len(ranks.questions)
    ends = np.zeros(n, np.int64)
    np.maximum.at(ends, question, np.where(is_answer | is_other, above + np.where(cut, 0, tied + is_other), 0))
    # lists that contradict each other may have more candidates than there are
    others = n_other + is_other - np.bincount(question[cut & is_other], minlength=n)[question]
    placed = np.bincount(question[is_answer & ~cut], minlength=n)
    return np.minimum(ends[question], others) + placed[question]


def _settled(
    ranks: AnswerRanks, cut: NDArray[np.bool_], is_first: NDArray[np.bool_], grade: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(n,) places where rows below the ends of cut lists are right below them (``is_first``), or last of all.

    What is right below the end of a list follows all entities between its last candidate and the next; of several, the
    one of the highest grade comes first. Of several that are last of all, it comes last. Each has a place of its own,
    those of one grade in the order of their labels.
    """
    question = ranks.question
    is_last = cut & ~is_first
    place = np.select([is_first, is_last], [ranks.above + 1.0, np.inf], _place(ranks))
    by_grade = np.select([is_first, is_last], [-grade, grade], 0)
    by_label = np.where(cut, ranks.entities.byte_order[ranks.entity], 0)
    order = np.lexsort((by_label, by_grade, ~cut, place, question))
    new = cut[order]
    new[1:] |= new[:-1] | (place[order][1:] != place[order][:-1]) | (question[order][1:] != question[order][:-1])
    place[order] = np.cumsum(new)
    return place


def _grades_open(
    ranks: AnswerRanks, cut: NDArray[np.bool_], is_answer: NDArray[np.bool_], grade: NDArray[np.int64]
) -> bool:
    """Whether answers of different grades may stand in orders that neither end of a measure of grades has.

    They may where lists of one question have different lengths, so that an answer below the end of one may be above, or
    below, an answer of another grade further down. Right below one end the highest grade is first, or last.
    """
    own, place = is_answer & cut, np.where(cut, ranks.above + 1.0, _place(ranks))
    first = np.full(len(ranks.questions), np.inf)
    np.minimum.at(first, ranks.question[own], place[own])
    rows = np.flatnonzero(own | (is_answer & (place >= first[ranks.question])))
    if len(rows) == 0:
        return False
    rows = rows[np.argsort(ranks.question[rows], kind="stable")]
    start = np.flatnonzero(np.r_[True, np.diff(ranks.question[rows]) > 0])
    several = [
        np.maximum.reduceat(each[rows], start) > np.minimum.reduceat(each[rows], start)
        for each in (np.where(cut, place, place + 0.5), grade)
    ]
    return bool((several[0] & several[1]).any())


def _were_candidates(ranks: AnswerRanks) -> NDArray[np.bool_]:
    """(n,) which rows were candidates and not answers when the scores were ranked, by the counts in the table.

    Such a row has one other candidate fewer than the answers of its question, since it does not count itself. A
    filtered one has as many. If a question has rows of only one kind and no answer, they are assumed to be candidates.
    """
    question, n_other = ranks.question, ranks.n_other.astype(np.int64)
    most = np.zeros(len(ranks.questions), np.int64)
    np.maximum.at(most, question, n_other)
    is_decided = np.zeros(len(ranks.questions), np.bool_)
    is_decided[question[ranks.answer | (n_other < most[question])]] = True
    return ~ranks.answer & ((n_other < most[question]) | ~is_decided[question])


def _places_at_random(ranks: AnswerRanks, row: NDArray[np.intp], counts: _Counts, seed: int) -> NDArray[np.int64]:
    """(n,) positions of some rows in the list of all candidates, in one random order of tied ones."""
    question, first = ranks.question[row], counts.listed_above
    order = np.lexsort((first, question))
    new = np.r_[True, (question[order][1:] != question[order][:-1]) | (first[order][1:] != first[order][:-1])]
    group = np.empty(len(row), np.int64)
    group[order] = np.cumsum(new[: len(row)]) - 1
    size = np.bincount(group)  # lists that contradict each other may have more entities in a place than each has there
    np.maximum.at(size, group, counts.listed_tied + 1)
    return first + places_among_unknown(group, size[group], _keys(ranks, row, seed))


def _rankings(
    qrels: Qrels, num_retrieved: NDArray[np.int64], places: JudgedPositions, ties: str | None
) -> tuple[JudgedRanking, TiedRanking | None]:
    """The input of measures: by positions, and by groups that tie, if the rule leaves their order open."""
    judged = places.judged
    whole: dict[str, Any] = {"n_questions": len(qrels.questions), "num_retrieved": num_retrieved}
    whole |= {"judged_question": qrels.question, "judged_grade": qrels.grade}

    def rows(order: NDArray[np.intp]) -> dict[str, Any]:
        return {"question": qrels.question[judged[order]], "grade": qrels.grade[judged[order]]} | whole

    order = np.lexsort((-qrels.grade[judged], places.position, qrels.question[judged]))
    ranking = JudgedRanking(position=places.position[order], **rows(order))
    if ties not in (None, "expected"):
        return ranking, None
    order = np.lexsort((places.first, qrels.question[judged]))
    return ranking, TiedRanking(first=places.first[order], size=places.size[order], **rows(order))


def _question_codes(name: str, questions: Vocabulary, qrels: Qrels) -> NDArray[np.int32]:
    """(len(questions),) codes in the qrels, -1 where a question is not judged."""
    codes = qrels.questions.codes_of(questions)
    if len(questions) and not np.any(codes >= 0):
        raise CollectionError(
            f"{name} has no question of the qrels; it has {questions[0]!r}, the qrels have "
            f"{qrels.questions[0]!r}: they are of different collections"
        )
    return codes


def _report_questions(run: AnyRun, question: NDArray[np.int32]) -> None:
    unknown = np.flatnonzero(question < 0)
    if len(unknown):
        names = ", ".join(run.questions[code] for code in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        doubt = (
            "; if these qrels are of another collection, such as a sample, the same ids may mean other questions "
            "there: see kgtrec check"
            if not run.collection and 2 * len(unknown) > len(run.questions)
            else ""
        )
        warn(f"{run.name}: {len(unknown):,} of its questions are not in the qrels and are left out ({names}){doubt}")


class JudgedPairs:
    """Which rows of a system's table are judged; ``question``: the qrels' codes of the system's questions."""

    def __init__(self, question: NDArray[np.int32], entities: Vocabulary, qrels: Qrels) -> None:
        self._question, self._entity = question, qrels.entities.encode(entities.labels)
        self._n_entities = np.int64(max(len(qrels.entities), 1))
        self._keys = qrels.question * self._n_entities + qrels.entity  # sorted, as the qrels are
        # a table of hashes rules out almost every row; only the others are searched for
        self._is_hash_of_one = np.zeros(1 << _TABLE_BITS, np.bool_)
        self._is_hash_of_one[pair_hashes(qrels.question, qrels.entity, _TABLE_BITS)] = True

    def rows_of(
        self, question: NDArray[np.int32], entity: NDArray[np.int32]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows that are judged, and the row of the qrels of each; both in the system's codes."""
        rows, judged = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for first in range(0, len(question), _ROWS_AT_A_TIME):
            asked = self._question[question[first : first + _ROWS_AT_A_TIME]]
            candidate = self._entity[entity[first : first + _ROWS_AT_A_TIME]]
            likely = np.flatnonzero(self._is_hash_of_one[pair_hashes(asked, candidate, _TABLE_BITS)])
            likely = likely[(asked[likely] >= 0) & (candidate[likely] >= 0)]
            keys = asked[likely] * self._n_entities + candidate[likely]
            place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            is_judged = self._keys[place] == keys
            rows.append(likely[is_judged] + first)
            judged.append(place[is_judged])
        return np.concatenate(rows), np.concatenate(judged)


def _require_relevant(ranks: AnswerRanks, qrels: Qrels, judged: NDArray[np.intp]) -> None:
    without = rows_without(qrels, judged)
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
        lacking = [f"{wrong:,} judged non-answers"] if wrong else []
        lacking += [f"{unsampled:,} pairs of a negative grade (pooled, not sampled)"] if unsampled else []
        seeing = "bpref, infAP, Judged, RBPResidual, judged_only and unj count" if wrong else "infAP counts"
        warn(
            f"{ranks.name} has no rank for {' and '.join(lacking)}; {seeing} them as not retrieved. Rank its scores "
            "again with these qrels (kgtrec rank --judged)"
        )


def unranked(ranks: AnswerRanks, qrels: Qrels) -> NDArray[np.intp]:
    """Return (n,) rows of the qrels for which the answer ranks have no row."""
    question = qrels.questions.encode(ranks.questions.labels)
    return rows_without(qrels, JudgedPairs(question, ranks.entities, qrels).rows_of(ranks.question, ranks.entity)[1])


def rows_without(qrels: Qrels, judged: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return (n,) rows of the qrels that are not in ``judged``."""
    without = np.ones(len(qrels), np.bool_)
    without[judged] = False
    return np.flatnonzero(without)
