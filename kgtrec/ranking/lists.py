"""Ranked lists and ranks of triples, as other programs write them -> answer ranks and a run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names, question_text
from kgtrec.data.questions import SIDES, only_side
from kgtrec.data.run import Run
from kgtrec.data.triples import SPLITS, qualifiers_of
from kgtrec.errors import CollectionError, KgtrecError, counted, require, warn
from kgtrec.kernels.integer_keys import begins, is_among_sorted
from kgtrec.ranking.rank import Plan, Ranked
from kgtrec.systems.kinds import RankedLists, TripleRanks

_SHOWN = 3  # examples in a message


def rank_lists(plan: Plan, lists: RankedLists) -> Ranked:
    """Compute answer ranks and a run from ranked lists; an answer that its list lacks gets bounds.

    An answer that is not in its list stands somewhere below the end: ``above`` counts the listed candidates, ``tied``
    all others, and ``cut`` is True. Where a list ends in a tie of several, the tie may go on below: entities in it, and
    those that the list lacks, stand anywhere from its beginning.

    The lists of one question are merged: each answer has its place in the list that was made for it, and the run has
    the candidates of the longest list.

    Filtered triples are removed from the lists, if they are there, and from the candidates.

    Returns
    -------
    Ranked
        The scores of the run are minus the number of candidates that stand as high or higher.

    Raises
    ------
    CollectionError
        If no list is for a question of the collection, or none is for a side that is asked; if the lists leave out
        answers of a split that the plan keeps; or if two lists for one answer, or for all answers of one question,
        disagree about the place of an answer, as they do where only one has it and the other goes on below its place.

    Warns
    -----
    KgtrecWarning
        How many questions have no list, how many lists and listed entities the collection lacks, how many questions
        have lists that contradict each other, and that no list has any of the answers of a split that is not
        filtered by.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> whole = lambda *values: np.array(values, np.int32)
    >>> lists = RankedLists(
    ...     "rules", Vocabulary.of(["ann", "jam", "bob"]), Vocabulary.of(["likes"]), is_head=whole(1, 0) == 1,
    ...     anchor=whole(1, 0), relation=whole(0, 0), answer=whole(0, 1), start=np.array([0, 1, 2]),
    ...     entity=whole(0, 2), level=np.array([0, 0]))
    >>> from kgtrec.ranking.options import RankOptions
    >>> ranks = rank_lists(Plan.of(collection, RankOptions()), lists).answer_ranks
    >>> ranks.above.tolist(), ranks.tied.tolist(), ranks.cut.tolist()
    ([0, 1], [0, 1], [False, True])
    """
    require_sides(plan.collection, lists.name, lists.is_head, plan.collection.questions.rows_of(plan.options.sides))
    splits = plan.options.filtered_by
    if lists.filtered_by is not None and (lost := [split for split in lists.filtered_by if split not in splits]):
        raise CollectionError(
            f"{lists.name}: expected lists with the answers of {' and '.join(lost)}, found lists filtered "
            f"by {', '.join(lists.filtered_by)}; their places are unknown. See --filter"
        )
    entries = _Entries(plan, lists)
    _warn_of_filtered(entries)
    _warn_of_contradictions(entries)
    return Ranked(_ranks(entries), _run(entries) if plan.options.depth else None)


class _Entries:
    """The listed entities that the collection has, in lists of its questions, sorted by (list, level)."""

    def __init__(self, plan: Plan, lists: RankedLists) -> None:
        self.plan, self.name = plan, lists.name
        question, answer = _questions(plan, lists)
        #: (lists,) row of the collection, -1: none of those that are asked; and the entity that the list was made for,
        #: -1: for all answers
        self.question, self.answer = question, answer
        of_list = lists.of_list.astype(np.int64)
        code = entity_names(plan.collection).encode(lists.entities.labels).astype(np.int64)[lists.entity]
        is_asked = question[of_list] >= 0
        unknown = np.unique(lists.entity[(code < 0) & is_asked])
        if len(unknown):
            some = ", ".join(lists.entities.decode(unknown[:_SHOWN]).to_pylist())
            warn(
                f"{lists.name}: left out listed entities that the collection lacks, which are no candidates: "
                f"{len(unknown):,}, such as {some}"
            )
        rows = plan.collection.questions.rows_of(plan.options.sides)
        if without := len(rows) - len(np.unique(question[question >= 0])):
            warn(
                f"{lists.name}: no list for {without:,} of {len(rows):,} questions; their answers can have any rank, "
                "and every measure gets bounds"
            )
        kept = (code >= 0) & is_asked
        self.list, code = of_list[kept], code[kept]  # (n,)
        self.key = question[self.list] * plan.width + code  # (n,) question * n_entities + entity
        is_last = lists.level == lists.level[lists.start[1:][of_list] - 1]
        #: (n,) in a tie of several at the end of its list, which may go on below
        self.is_open = (is_last & (np.bincount(of_list, is_last, minlength=1)[of_list] > 1))[kept]
        # (n,) the lowest of a pair's entries counts: in its own list, in one for all, else
        made_for = answer[self.list]
        priority = np.where(made_for == code, 0, np.where(made_for < 0, 1, 2)) + 3 * self.is_open
        self.priority = priority.astype(np.int8)
        self.is_answer = is_among_sorted(self.key, plan.ranked[plan.is_answer])  # (n,)
        self.is_candidate = plan.are_counted(self.key)  # (n,) neither an answer nor filtered
        self._count(lists.level[kept])

    def _count(self, levels: NDArray[np.int64]) -> None:
        """Where each entry stands among the candidates that are no answers, and how many of them a list has."""
        is_candidate, n_lists = self.is_candidate, len(self.question)
        new_list, new_level = begins(self.list), begins(self.list, levels)
        before: NDArray[np.int64] = np.cumsum(is_candidate) - is_candidate  # candidates before each entry
        level = np.cumsum(new_level) - 1  # a number for each level of each list
        #: (n,) candidates of a better level in its list
        self.above: NDArray[np.int64] = before[new_level][level] - before[new_list][np.cumsum(new_list) - 1]
        in_level = np.bincount(level, is_candidate, minlength=1).astype(np.int64)[level]
        self.tied = in_level - is_candidate  # (n,) other candidates of its level
        self.score = _scores(
            self.above, in_level, self.list, new_level, self.is_answer
        )  # (n,) in the order of the list
        self.length = np.bincount(self.list, is_candidate, minlength=n_lists).astype(np.int64)  # (lists,) candidates
        #: (lists,) those of them that are above all that it lacks
        self.reach = self.length - np.bincount(self.list, is_candidate & self.is_open, minlength=n_lists).astype(
            np.int64
        )
        #: (lists,) the list of the same question with the most candidates
        order = np.lexsort((np.arange(n_lists), -self.length, self.question))
        is_first = begins(self.question[order])
        self.longest = np.empty(n_lists, np.int64)
        self.longest[order] = order[is_first][np.cumsum(is_first) - 1]


def require_sides(collection: Collection, name: str, is_head: NDArray[np.bool_], rows: NDArray[np.intp]) -> None:
    """Refuse predictions of one side, if questions of the other side are asked too.

    Raises
    ------
    CollectionError
        With the side that they are of; ``rows`` are the questions that are asked.
    """
    of_head, (heads, tails) = collection.questions.is_head[rows], SIDES
    for side, other, has, asked in ((heads, tails, is_head, of_head), (tails, heads, ~is_head, ~of_head)):
        if asked.any() and not has.any() and len(is_head):
            raise CollectionError(
                f"{name}: expected predictions of {side}s, found those of {other}s only; {only_side(other)}"
            )


def _warn_of_filtered(entries: _Entries) -> None:
    """Warn if answers of a split are candidates and no list has any, which suggests that the program filtered them."""
    filtered = entries.plan.collection.filtered
    for code, split in enumerate(SPLITS):
        if split in entries.plan.options.filtered_by:
            continue
        own = filtered.split == code
        key = filtered.question[own].astype(np.int64) * entries.plan.width + filtered.entity[own]
        key = np.unique(key[np.isin(filtered.question[own], entries.question)])
        if len(key) and not is_among_sorted(entries.key, key).any():
            warn(
                f"{entries.name}: none of the {len(key):,} answers of {split} is in any list, as if its program "
                f"had filtered them, which --filter keeps; if so, ranks are too good"
            )


def _questions(plan: Plan, lists: RankedLists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(lists,) the question of each list, -1 where it is not asked, and the entity that it was made for, -1 for all."""
    collection, questions = plan.collection, plan.collection.questions
    names = entity_names(collection)
    entity = names.encode(lists.entities.labels).astype(np.int64)
    relation = collection.relations.encode(lists.relations.labels)
    anchor = entity[lists.anchor].astype(np.int32)
    asked = relation[lists.relation]
    question = questions.rows(lists.is_head, asked, anchor).astype(np.int64)
    answer = np.where(lists.answer >= 0, entity[lists.answer], -1)
    question[(anchor < 0) | (asked < 0) | ((lists.answer >= 0) & (answer < 0))] = -1
    if len(question) and not (question >= 0).any():
        own = names[questions.anchor[0]], questions.relations[questions.relation[0]]
        raise CollectionError(
            f"{lists.name}: expected lists for the questions of the collection, found none among "
            f"{counted(len(question), 'list')}, the first being for {_asked(lists, 0)}; the collection has, for "
            f"example, {question_text(bool(questions.is_head[0]), *own)}{_no_time(collection, lists)}; are its "
            "labels those of the collection?"
        )
    others = np.flatnonzero(question < 0)
    if len(others):
        warn(
            f"{lists.name}: left out {counted(len(others), 'list')} for questions and answers that the collection "
            f"lacks, such as {_asked(lists, others[0])}"
        )
    is_asked = np.zeros(len(questions), np.bool_)
    is_asked[questions.rows_of(plan.options.sides)] = True
    question[(question >= 0) & ~is_asked[question]] = -1
    return question, answer


def _no_time(collection: Collection, system: RankedLists | TripleRanks) -> str:
    """What else is wrong with predictions of no time, where questions have one."""
    has_none = qualifiers_of(system.relations)[0] is system.relations
    if not (has_none and collection.held):
        return ""
    return ", a question of one time, while these are of none (a column or key time says it)"


def _asked(lists: RankedLists, row: int) -> str:
    anchor, relation = lists.entities[lists.anchor[row]], lists.relations[lists.relation[row]]
    return question_text(bool(lists.is_head[row]), anchor, relation)


def _scores(
    above: NDArray[np.int64],
    in_level: NDArray[np.int64],
    of_list: NDArray[np.int64],
    new_level: NDArray[np.bool_],
    is_answer: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Whole numbers for the levels that hold candidates; those between two of them share the room.

    Levels that hold answers share it evenly, and other ones what is between these: what is filtered does not set apart
    answers that stand between the same two candidates, each in its own list.
    """
    score = -(above + 1).astype(np.float64)
    between = np.flatnonzero(in_level == 0)
    if len(between) == 0:
        return score
    first = between[new_level[between]]  # of each level
    level = np.cumsum(new_level[between]) - 1
    new = begins(above[first], of_list[first])
    room = np.cumsum(new) - 1
    holds = np.bincount(level, is_answer[between]) > 0
    before: NDArray[np.int64] = np.cumsum(holds) - holds
    before -= before[new][room]
    rooms = np.bincount(room, holds)[room] + 1
    starts = np.flatnonzero(new | holds | np.r_[True, holds[:-1]])  # of what is between two levels that hold answers
    several = np.diff(np.r_[starts, len(first)])
    number = np.arange(len(first)) - np.repeat(starts, several) + 1
    share = np.where(holds, before + 1, before + number / (np.repeat(several, several) + 1)) / rooms
    score[between] = -(above[between] + share[level])
    return score


def _ranks(entries: _Entries) -> AnswerRanks:
    """The row of each ranked pair: from the list that was made for it, else from one that holds it, else below."""
    plan, width = entries.plan, entries.plan.width
    question = plan.ranked // width
    n_other = plan.n_other()
    rows = np.flatnonzero(is_among_sorted(entries.key, plan.ranked))
    _require_one_place(entries, rows)
    # of several lists that end in a tie with an entity, the one with the most of the tie
    rows = rows[np.lexsort((-entries.tied[rows], entries.priority[rows], entries.key[rows]))]
    first = np.searchsorted(entries.key[rows], plan.ranked)
    is_listed = np.zeros(len(plan.ranked), np.bool_)
    inside = first < len(rows)
    is_listed[inside] = entries.key[rows][first[inside]] == plan.ranked[inside]
    entry = rows[first[is_listed]]

    above, tied = np.zeros(len(plan.ranked), np.int64), n_other.copy()
    score = np.full(len(plan.ranked), -float(width) - 1)
    for column, of_entries in ((above, entries.above), (tied, entries.tied), (score, entries.score)):
        column[is_listed] = of_entries[entry]
    # an entity is below the end of each list that could have it: of those that were made for it or for all answers, and
    # for an entity that no list leaves out, of any list of the question
    is_candidate = plan.are_counted(plan.ranked)
    is_filtered = ~is_candidate & ~plan.is_answer
    for keys, wanted, counts_for in (
        (np.where(entries.answer >= 0, entries.question * width + entries.answer, -1), plan.ranked, plan.is_answer),
        (np.where(entries.answer < 0, entries.question, -1), question, ~is_filtered),
        (entries.question, question, is_candidate),
    ):
        order = np.lexsort((entries.reach, keys))  # of a key's lists the last one reaches farthest
        at = np.searchsorted(keys[order], wanted, side="right") - 1
        has = counts_for & (at >= 0)
        has[has] = keys[order[at[has]]] == wanted[has]
        is_ranked = has & is_listed & plan.is_answer
        _require_no_gap(entries, above, keys, wanted, is_ranked)
        has &= ~is_listed
        above[has] = np.maximum(above[has], entries.reach[order[at[has]]])
    # an entity that is listed elsewhere may itself be among the candidates of a list
    above[~is_listed] = np.minimum(above[~is_listed], n_other[~is_listed])
    is_bounded = ~is_listed
    is_bounded[is_listed] = entries.is_open[entry]
    tied[is_bounded] = (n_other - above)[is_bounded]
    # whatever the list lacks may tie with the entities at its end, which are no further up than it is then: another
    # candidate, or an answer, if the list was made for all of them
    lacks_answers = np.zeros(len(plan.collection.questions), np.bool_)
    lacks_answers[question[~is_listed]] = True
    is_for_all = np.zeros(len(plan.ranked), np.bool_)
    is_for_all[is_listed] = entries.answer[entries.list[entry]] < 0
    may_tie = is_bounded & is_listed & ((tied > 0) | (is_for_all & lacks_answers[question]))
    score[may_tie] = -(above + 1.0)[may_tie]
    # an entity that alone is missing is the last one, and a tie to which nothing can be added is known
    several = np.bincount(question[is_bounded], minlength=1) > 1
    cut = ~is_listed & ((tied > 0) | several[question * ~is_listed])
    cut[is_listed] = tied[is_listed] > entries.tied[entry]
    return plan.ranks(entries.name, above=above, tied=tied, n_other=n_other, score=score, cut=cut)


def _require_no_gap(
    entries: _Entries,
    above: NDArray[np.int64],
    keys: NDArray[np.int64],
    wanted: NDArray[np.int64],
    is_ranked: NDArray[np.bool_],
) -> None:
    """Refuse an answer that one list places, and another one lacks that goes on below that place.

    ``keys`` say for each list which pairs it could hold: those whose key in ``wanted`` is the same.
    """
    plan, reach = entries.plan, entries.reach
    span = int(reach.max(initial=0)) + 1
    beyond = np.minimum(above + 1, span)  # how far a list must go to hold the pair for certain
    farther = np.sort(keys * span + np.minimum(reach, span - 1))
    could = np.searchsorted(farther, (wanted + 1) * span) - np.searchsorted(farther, wanted * span + beyond)
    rows = np.flatnonzero(is_among_sorted(entries.key, plan.ranked))
    pair, of_list = np.searchsorted(plan.ranked, entries.key[rows]), entries.list[rows]
    does = (keys[of_list] == wanted[pair]) & (reach[of_list] >= beyond[pair])
    require(
        ~is_ranked | (could <= np.bincount(pair[does], minlength=len(could))),
        lambda row: CollectionError(
            f"{entries.name}: expected one place for the {_pair(plan.collection, plan.ranked[row])}, found it "
            f"below {counted(int(above[row]), 'candidate')} in one list, and missing in another that has more; keep "
            "one list for each answer, or one for each question"
        ),
    )


def _require_one_place(entries: _Entries, rows: NDArray[np.intp]) -> None:
    """Refuse two lists for the same answer, or for all of a question, where they have an entity at different places."""
    made_for = entries.answer[entries.list]
    rows = rows[(made_for[rows] < 0) | (made_for[rows] == entries.key[rows] % entries.plan.width)]
    is_general = made_for < 0
    rows = rows[np.lexsort((is_general[rows], entries.key[rows]))]
    one, other = rows[:-1], rows[1:]
    differ = entries.above[one] != entries.above[other]
    differ |= ~entries.is_open[one] & ~entries.is_open[other] & (entries.tied[one] != entries.tied[other])
    require(
        begins(entries.key[rows], is_general[rows])[1:] | ~differ,
        lambda row: CollectionError(
            f"{entries.name}: expected one place for the {_pair(entries.plan.collection, entries.key[one[row]])}, "
            "found two different ones in lists of the same kind; keep one list for each answer, or one for each "
            "question"
        ),
    )


def _run(entries: _Entries) -> Run:
    plan = entries.plan
    is_longest = entries.longest[entries.list] == entries.list
    # candidates of the longest list; of each answer the place in the list that was made for it
    kept = np.flatnonzero((entries.is_candidate & is_longest) | entries.is_answer)
    kept = kept[np.lexsort((entries.priority[kept], entries.key[kept]))]
    kept = kept[begins(entries.key[kept])]
    question, entity = np.divmod(entries.key[kept], plan.width)
    order = np.lexsort((-plan.collection.entities.byte_order[entity], -entries.score[kept], question))
    return plan.run(entries.name, question[order], entity[order], entries.score[kept][order]).cut(plan.options.depth)


def _warn_of_contradictions(entries: _Entries) -> None:
    """Warn of questions whose lists have candidates that are no answers in different orders."""
    is_longest = entries.longest == np.arange(len(entries.longest))
    of_longest = is_longest[entries.list]
    lead, others = np.flatnonzero(entries.is_candidate & of_longest), np.flatnonzero(entries.is_candidate & ~of_longest)
    if len(lead) == 0 or len(others) == 0:
        return  # one list for each question
    lead = lead[np.argsort(entries.key[lead])]
    at = np.minimum(np.searchsorted(entries.key[lead], entries.key[others]), len(lead) - 1)
    is_there = entries.key[lead[at]] == entries.key[others]
    # the longest list may be cut within a tie, and then holds some of its candidates
    last = np.zeros(len(is_longest), np.int64)
    np.maximum.at(last, entries.list[lead], entries.above[lead])
    expected = np.where(is_there, entries.above[lead[at]], last[entries.longest[entries.list[others]]])
    wrong = np.unique(entries.question[entries.list[others[expected != entries.above[others]]]])
    if len(wrong):
        some = ", ".join(entries.plan.collection.questions.ids[code] for code in wrong[:_SHOWN])
        warn(
            f"{entries.name}: the lists of {counted(len(wrong), 'question')} order candidates differently ({some}), as "
            "if ties were broken at random; each answer has its place in its own list, and the run follows the longest"
        )


def rank_triples(plan: Plan, ranks: TripleRanks) -> Ranked:
    """Turn the ranks that another program counted for each test triple into answer ranks.

    The plan filters by what the other program removed from the candidates; if the file has numbers of candidates, they
    are checked.

    Returns
    -------
    Ranked
        Without a run.

    Raises
    ------
    CollectionError
        If an answer of the collection has no rank, two different ones, or one that cannot be: below more candidates
        than there are, or among another number of them.

    Warns
    -----
    KgtrecWarning
        How many ranks are of triples that the collection lacks.
    """
    collection, width, filtered_by = plan.collection, plan.width, plan.options.filtered_by
    if plan.options.judged is not None:
        raise KgtrecError(f"{ranks.name}: expected scores to rank judged pairs by, found ranks of triples alone")
    asked = collection.questions.rows_of(plan.options.sides)
    require_sides(collection, ranks.name, ranks.is_head, asked)
    if "test" not in filtered_by:
        raise KgtrecError(
            f"{ranks.name}: expected ranks from which other answers are removed, found --filter without test"
        )
    # the file has ranks of answers only
    plan = replace(plan, ranked=plan.ranked[plan.is_answer], is_answer=plan.is_answer[plan.is_answer])
    names, questions = entity_names(collection), collection.questions
    code = names.encode(ranks.entities.labels).astype(np.int64)
    relation = collection.relations.encode(ranks.relations.labels)[ranks.relation]
    head, tail = code[ranks.head], code[ranks.tail]
    anchor, answer = np.where(ranks.is_head, tail, head), np.where(ranks.is_head, head, tail)
    question = questions.rows(ranks.is_head, relation, anchor.astype(np.int32)).astype(np.int64)
    known = (relation >= 0) & (anchor >= 0) & (answer >= 0) & (question >= 0)
    key = np.where(known, question * width + answer, -1)
    known &= is_among_sorted(key, plan.ranked) | ~np.isin(question, asked)  # its labels are, but not the triple
    if (lost := int(np.count_nonzero(~known))) and known.any():
        warn(f"{ranks.name}: left out {counted(lost, 'rank')} of triples that the collection lacks")
    key[~known] = -1
    order = np.argsort(key, kind="stable")
    order = order[key[order] >= 0]
    key, above, tied = key[order], ranks.above[order], ranks.tied[order]
    require(
        begins(key) | ~begins(above, tied),
        lambda row: CollectionError(
            f"{ranks.name}: expected one rank for {_pair(collection, key[row])}, found two different ones"
        ),
    )
    lacking = plan.ranked[~is_among_sorted(plan.ranked, key)]
    if len(lacking):
        raise CollectionError(
            f"{ranks.name}: expected a rank for each of {len(plan.ranked):,} answers, found none for {len(lacking):,}, "
            f"such as {_pair(collection, lacking[0])}{_no_time(collection, ranks)}; "
            + (
                f"it has {counted(lost, 'rank')} of triples that the collection lacks"
                if lost
                else "PyKEEN leaves out test triples with entities that train lacks: build the collection with kgtrec "
                "questions --like pykeen"
            )
        )
    at = np.searchsorted(key, plan.ranked)
    above, tied, n_other = above[at], tied[at], plan.n_other()
    if ranks.candidates is None and collection.candidates is not None:
        raise CollectionError(
            f"{ranks.name}: expected ranks among the candidates of each question, as the collection has them, found "
            "ranks without numbers of candidates, which may be among all entities; rank scores, or lists"
        )
    if ranks.candidates is not None:
        candidates = ranks.candidates[order][at]
        is_same = candidates == n_other + 1
        require(
            is_same,
            lambda row: CollectionError(
                f"{ranks.name}: expected {_pair(collection, plan.ranked[row])} to be ranked among {n_other[row] + 1:,} "
                f"candidates (filtered by {', '.join(filtered_by)}), found {candidates[row]:,}, and so for "
                f"{np.count_nonzero(~is_same):,} of {len(is_same):,} answers; was it filtered by other splits? See "
                "--filter"
            ),
        )
    require(
        (above >= 0) & (tied >= 0) & (above + tied <= n_other),
        lambda row: CollectionError(
            f"{ranks.name}: expected a rank from 1 to {n_other[row] + 1:,} for {_pair(collection, plan.ranked[row])}, "
            f"found {above[row] + 1:,} to {above[row] + tied[row] + 1:,}; was it filtered by other splits? See --filter"
        ),
    )
    # answers of one question in the order of what stands above them, and then of what ties with them
    score = -(above * (width + 1) + tied).astype(np.float64)
    return Ranked(plan.ranks(ranks.name, above=above, tied=tied, n_other=n_other, score=score), None)


def _pair(collection: Collection, key: int) -> str:
    question, entity = divmod(int(key), len(collection.entities))
    own, names = collection.questions, entity_names(collection)
    anchor, relation, answer = names[own.anchor[question]], own.relations[own.relation[question]], names[entity]
    if own.is_head[question]:
        return f"head of ({answer}, {relation}, {anchor})"
    return f"tail of ({anchor}, {relation}, {answer})"
