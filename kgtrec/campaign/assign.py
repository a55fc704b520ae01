"""Assignments: every open triple to a number of annotators, with questions kept together and balanced loads."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.campaign import Assignments, Automatic, People
from kgtrec.data.judgements import ANNOTATOR, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.triples import Triples, label_hashes, triple_keys
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.kernels.sampling.random_order import Keys, hashed, places_by_key

_Codes = NDArray[np.int64]


def assign(
    pool: Pool,
    automatic: Automatic,
    people: People,
    judgements: Judgements,
    previous: Assignments,
    *,
    per_triple: int = 2,
    seed: int = 0,
) -> Assignments:
    """Assign the open triples of a pool to the active annotators.

    Triples of one question form a group and are assigned to the same people, so that one search is enough for several
    candidates (see :func:`groups_of` for triples that were pooled for both questions). Groups are assigned largest
    first, each to those with the fewest tasks. So the loads of a first assignment differ by at most the size of the
    largest group, and by little if small groups come last.

    It can be repeated at any time. A judged task stays with its annotator and counts towards ``per_triple``, even if
    the annotator has left. Tasks of active annotators stay with them; unjudged tasks of those who have left go to
    others, if possible to those of the same group. A new annotator, without tasks and judgements, gets free tasks, and
    then whole groups, not begun, from those who have more than an even share, up to that share. Repeating it at once
    changes nothing.

    An annotator's tasks are ordered by group. The order of groups is random but the same for everybody, so that two
    annotators who have done a part of their tasks have done mostly the same ones; within a group each annotator has a
    separate order. No order, and no task, reveals verdicts of others.

    Parameters
    ----------
    pool : Pool
        The campaign's pool.
    automatic : Automatic
        Triples that need no person.
    people : People
        Its active annotators get tasks.
    judgements : Judgements
        Events so far; a triple with verdicts of ``per_triple`` annotators is not open.
    previous : Assignments
        The last result, or none.
    per_triple : int
        Annotators per triple.
    seed : int
        Random seed of every order and every tie; the result depends on it and on labels, not on the order of people or
        triples.

    Returns
    -------
    Assignments
        With the names of ``people``; judged tasks are included.

    Raises
    ------
    KgtrecError
        If there are not enough active annotators.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> entities, relations = Vocabulary.of(["france", "paris", "lyon"]), Vocabulary.of(["capital"])
    >>> zero, asked = np.zeros(1, np.int32), np.array([1, 2], np.int32)
    >>> tail0 = Questions(Vocabulary.of(["tail0"]), np.array([False]), zero, zero, entities, relations)
    >>> triples = Triples(asked * 0, asked * 0, asked, entities, relations)
    >>> pool = Pool.of(triples, asked - 1, asked * 0, asked * 0, asked, ["transe"], tail0)
    >>> names = Vocabulary.of(["ann", "bob", "eve"])
    >>> code, texts = np.arange(3, dtype=np.int32), names.labels[:0]
    >>> people = People(names, code, np.zeros(3, np.int8), np.ones(3, np.bool_))
    >>> nobody = Assignments.none(names)
    >>> nothing = Judgements(code[:0], code[:0], code[:0], code[:0], texts, texts, texts, names)
    >>> assigned = assign(pool, Automatic.none(2), people, nothing, nobody, seed=1)
    >>> sorted(zip(names.decode(assigned.annotator).to_pylist(), assigned.triple.tolist()))
    [('ann', 0), ('ann', 1), ('eve', 0), ('eve', 1)]
    """
    if per_triple < 1:
        raise KgtrecError(f"expected at least one annotator per triple, got {per_triple}")
    everybody = people.names.extended(judgements.annotators.labels)  # the codes of people.names are first
    person_key, question_key = (hashed(seed, label_hashes(labels)) for labels in (everybody, pool.questions.ids))
    group = groups_of(pool, automatic, seed=seed)
    active = np.unique(people.person[(people.role == ANNOTATOR) & people.is_active]).astype(np.int64)

    is_annotator, n = judgements.role == ANNOTATOR, max(len(pool), 1)
    judge = everybody.encode(judgements.annotators.labels)[judgements.annotator[is_annotator]]
    pairs = np.unique(judge.astype(np.int64) * n + judgements.triple[is_annotator])
    judged = Assignments((pairs // n).astype(np.int32), (pairs % n).astype(np.int32), everybody)
    lacking = per_triple - np.bincount(judged.triple, minlength=len(pool))
    lacking[~automatic.for_people] = 0
    lacking = np.maximum(lacking, 0)

    before = previous.recoded(annotators=everybody)
    # earlier tasks that still wait for their annotator; where there are too many, the lowest keys are kept
    is_judged = np.isin(before.annotator.astype(np.int64) * n + before.triple, pairs)
    kept = before.take(np.isin(before.annotator, active) & (lacking[before.triple] > 0) & ~is_judged)
    key = hashed(person_key[kept.annotator], question_key[group[kept.triple]])
    kept = kept.take(places_by_key(kept.triple, key) <= lacking[kept.triple])
    lacking -= np.bincount(kept.triple, minlength=len(pool))
    workload = _Workload(active, person_key[active], question_key, group, judged.joined(kept), kept)
    dealt = workload.deal(lacking, per_triple)
    is_new = np.isin(active, before.joined(judged).annotator, invert=True)
    todo = workload.hand_over(kept.joined(dealt), judged, is_new)

    tasks = judged.take(judged.annotator < len(people.names)).joined(todo)  # a person may have been removed
    by_group = question_key[group[tasks.triple]]  # the same for everybody: partly done tasks overlap
    by_triple = hashed(person_key[tasks.annotator], triple_keys(pool.triples.take(tasks.triple)))
    order = np.lexsort((by_triple, by_group, people.names.byte_order[tasks.annotator]))
    return replace(tasks.take(order), annotators=people.names)


def own_order(triples: Triples, person: str, *, seed: int = 0) -> NDArray[np.intp]:
    """Put triples into the order in which one person sees them, (n,) rows: seed and labels decide, and nothing else.

    That of :func:`assign` within a group. It reveals nothing about systems, ranks, times and other people.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> triples = Triples.of([("france", "capital", name) for name in ("paris", "lyon", "nice", "lille")])
    >>> [own_order(triples, name).tolist() for name in ("ann", "bob")]
    [[0, 2, 3, 1], [2, 0, 1, 3]]
    """
    person_key = hashed(seed, label_hashes(Vocabulary.of([person])))
    return np.argsort(hashed(person_key, triple_keys(triples)), kind="stable")


def groups_of(pool: Pool, automatic: Automatic, *, seed: int = 0) -> NDArray[np.int32]:
    """Find the question with whose triples each triple of the pool is judged, (n,) row in its questions.

    A triple that was pooled for its head and its tail question belongs to the one that has more triples for people to
    judge; if both have equally many, a hash of seed and question id decides. Judgements do not change groups. One that
    a design has drawn belongs to the question that it was drawn for, if for both to the first in the order of tasks:
    so questions are done in this random order, whatever they share.
    """
    pair = np.unique(np.stack([pool.triple, pool.question]), axis=1)
    triple, question = pair[0], pair[1]
    for_people = automatic.for_people[triple]
    size = np.bincount(question[for_people], minlength=len(pool.questions))[question]
    if (design := automatic.design) is not None:
        drawn = design.take(design.is_drawn)
        triple, question = np.r_[triple, drawn.triple], np.r_[question, drawn.question]
        size = np.r_[size, np.full(len(drawn), len(pool) + 1)]  # before all others
    key = hashed(seed, label_hashes(pool.questions.ids))
    best = np.lexsort((key[question], -size, triple))
    _, first = np.unique(triple[best], return_index=True)
    return np.asarray(question[best][first])


class _Workload:
    """Assigns tasks: keeps everybody's load, and who has which group."""

    def __init__(
        self,
        active: _Codes,  # (m,) codes of those who may get tasks
        person_key: Keys,  # (m,)
        question_key: Keys,  # (questions,)
        group: NDArray[np.int32],  # (triples,) row in questions
        taken: Assignments,  # tasks that were judged or stay with their annotator
        waiting: Assignments,  # of these, the unjudged ones
    ) -> None:
        self.active, self.person_key, self.question_key, self.group = active, person_key, question_key, group
        self.row_of = np.full(1 + int(max(active.max(initial=-1), taken.annotator.max(initial=-1))), -1)
        self.row_of[active] = np.arange(len(active))
        self.taken = taken.take(self.row_of[taken.annotator] >= 0)
        self.load = np.bincount(self.row_of[waiting.annotator], minlength=len(active))
        self.is_in_group = np.zeros((len(question_key), len(active)), np.bool_)
        self.is_in_group[group[self.taken.triple], self.row_of[self.taken.annotator]] = True

    def deal(self, lacking: _Codes, per_triple: int) -> Assignments:
        """Assign each triple to as many more people as it lacks.

        Triples of a group that lack equally many people and have the same ones form a unit. The loop is over units,
        largest first; there are hardly more of them than questions.
        """
        open_triples = np.flatnonzero(lacking)
        holders = np.zeros(len(lacking), np.uint64)  # equal for triples that the same people have
        np.add.at(holders, self.taken.triple, hashed(self.person_key[self.row_of[self.taken.annotator]], 1))
        keys = self.group[open_triples], lacking[open_triples], holders[open_triples]
        units = _units(*(key.astype(np.uint64) for key in keys))
        first = open_triples[units.first]
        has = np.zeros((len(first), len(self.active)), np.bool_)
        unit_of = np.full(len(lacking), -1)
        unit_of[first] = np.arange(len(first))
        mine = unit_of[self.taken.triple] >= 0
        has[unit_of[self.taken.triple[mine]], self.row_of[self.taken.annotator[mine]]] = True
        key = hashed(self.question_key[self.group[first]], holders[first])
        wanted = lacking[first]
        chosen = [np.zeros((2, 0), np.intp)]  # units, and the row in active of a person for each
        for unit in np.lexsort((key, -units.size)).tolist():
            at = self.group[first[unit]]
            best = self._best(~has[unit], key[unit], prefer=self.is_in_group[at])[: wanted[unit]]
            if len(best) < wanted[unit]:
                names = ", ".join(sorted(self.taken.annotators[code] for code in self.active)) or "none"
                raise KgtrecError(
                    f"expected at least {per_triple} active annotators, as every triple is judged by so many, found "
                    f"{len(self.active)} ({names}): {wanted[unit] - len(best)} too few; name more with kgtrec campaign "
                    "init --annotator, or ask for fewer with --per-triple"
                )
            self.load[best] += units.size[unit]
            self.is_in_group[at, best] = True
            chosen.append(np.stack([np.full(len(best), unit), best]))
        unit_of_pair, row = np.concatenate(chosen, axis=1)
        n_rows = units.size[unit_of_pair]
        within = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
        rows = units.order[np.repeat(units.start[unit_of_pair], n_rows) + within]
        person, triple = np.repeat(self.active[row], n_rows), open_triples[rows]
        return Assignments(person.astype(np.int32), triple.astype(np.int32), self.taken.annotators)

    def hand_over(self, todo: Assignments, judged: Assignments, is_new: NDArray[np.bool_]) -> Assignments:
        """Move whole groups that are not begun to new people, from those who have more than an even share."""
        if not is_new.any() or is_new.all():
            return todo
        share = -(-len(todo.triple) // len(self.active))
        n_active = len(self.active)
        begun = np.zeros_like(self.is_in_group)
        judged = judged.take(np.isin(judged.annotator, self.active))
        begun[self.group[judged.triple], self.row_of[judged.annotator]] = True
        who, group = self.row_of[todo.annotator], self.group[todo.triple]
        rows = np.flatnonzero((self.load > share)[who] & ~is_new[who] & ~begun[group, who])
        units = _units((group[rows].astype(np.int64) * n_active + who[rows]).astype(np.uint64))
        person = todo.annotator.copy()
        unit_group, unit_who = group[rows[units.first]], who[rows[units.first]]
        key = hashed(self.question_key[unit_group], self.person_key[unit_who])
        for unit in np.lexsort((key, -units.size)):
            size, of, at = units.size[unit], unit_who[unit], unit_group[unit]
            if self.load[of] - size < share:
                continue
            takers = self._best(is_new & (self.load + size <= share) & ~self.is_in_group[at], key[unit])
            if len(takers):
                self.load[of] -= size
                self.load[takers[0]] += size
                self.is_in_group[at, takers[0]] = True
                person[rows[units.order[units.start[unit] :][:size]]] = self.active[takers[0]]
        return replace(todo, annotator=person)

    def _best(
        self, may: NDArray[np.bool_], key: np.uint64, prefer: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Possible people, preferred ones first, then by load; for equal loads, a hash decides."""
        rows = may.nonzero()[0]
        tie = self.person_key[rows] * (key | np.uint64(1))
        is_other = np.zeros(len(rows), np.bool_) if prefer is None else ~prefer[rows]
        return np.asarray(rows[np.lexsort((tie, self.load[rows], is_other))])


class _Units(NamedTuple):
    """Rows that share all their keys."""

    order: NDArray[np.intp]  # (n,) rows, those of a unit together
    start: NDArray[np.intp]  # (u,) start of each unit in it
    size: NDArray[np.intp]  # (u,)
    first: NDArray[np.intp]  # (u,) one row of each


def _units(*keys: Keys) -> _Units:
    order = np.lexsort(keys)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    start = np.flatnonzero(new)
    return _Units(order, start, np.diff(np.append(start, len(order))), order[start])
