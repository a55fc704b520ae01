"""Triples with a known verdict among the tasks of annotators: who is given which, and where nobody can tell them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.judgements import Judgements
from kgtrec.data.label_hashes import label_hashes, triple_keys
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples
from kgtrec.kernels.sampling.random_order import Keys, mixed


@dataclass(frozen=True, slots=True, eq=False)
class GivenTasks:
    """What annotators are given, gold among it, in the order in which they should do it; one row per task.

    Rows of triples and of questions count on behind those of the pool: with n triples and q questions in it, row n is
    the first gold triple, and row q the first question of gold that the annotator has no other candidates of.
    """

    annotator: NDArray[np.int32]  # (m,) row in the annotators of the assignments
    triple: NDArray[np.int64]  # (m,) row in the pool's triples, or len(pool) + row in those of gold
    question: NDArray[np.int64]  # (m,) row in the pool's questions, or len(pool.questions) + row in those of gold

    def __len__(self) -> int:
        return len(self.triple)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> GivenTasks:
        """The tasks at ``rows`` (places, or a mask)."""
        return GivenTasks(self.annotator[rows], self.triple[rows], self.question[rows])


def given_to_annotators(campaign: Campaign) -> GivenTasks:
    """The assignments of a campaign with gold mixed in.

    Each annotator gets as many gold triples as make ``campaign.gold_share`` of the tasks, to the nearest number, if
    there are so many: those of the lowest hashes of seed, person and labels, without those that were chosen for the
    training round. One that answers a question of which the annotator has other candidates stands among these; the
    others stand between two questions, all candidates of one question together. The places are hashes too. So a person
    is always given the same ones, more of them as more is assigned, and no order, number or date tells them from what
    is judged for its own sake.

    Parameters
    ----------
    campaign : Campaign

    Returns
    -------
    GivenTasks
        Without gold, the assignments, in their order.

    Examples
    --------
    See ``kgtrec campaign export``.
    """
    own, pool = campaign.assignments, campaign.pool
    group = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed).astype(np.int64)
    plain = GivenTasks(own.annotator, own.triple.astype(np.int64), group[own.triple])
    share = campaign.gold_share
    if share <= 0 or len(own) == 0:
        return plain
    mixer = _Mixer(campaign)
    people, first = np.unique(own.annotator, return_index=True)
    parts = []
    for code in people[np.argsort(first)].tolist():
        tasks = plain.take(own.annotator == code)
        parts.append(mixer.mixed_in(tasks, code, n_gold_wanted(len(tasks), share)))
    columns = ((part.annotator, part.triple, part.question) for part in parts)
    return GivenTasks(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def n_gold_wanted(n_tasks: int, share: float) -> int:
    """How many gold triples, beside so many tasks, make a share of all, to the nearest number.

    Examples
    --------
    >>> n_gold_wanted(95, 0.05), n_gold_wanted(95, 0.0)
    (5, 0)
    """
    return int(np.floor(n_tasks * share / (1 - share) + 0.5))


def unmarked_gold(campaign: Campaign) -> NDArray[np.bool_]:
    """(g,) which gold triples nobody is told of: all but those that were chosen for the training round."""
    rows = campaign.gold.rows(campaign.training_gold)
    found = np.ones(len(campaign.gold), np.bool_)
    found[rows[rows >= 0]] = False
    return found


class _Mixer:
    """Chooses gold for people, and the places where it stands."""

    def __init__(self, campaign: Campaign) -> None:
        pool, gold = campaign.pool, campaign.gold.pool
        self.n_triples, self.n_questions = len(pool), len(pool.questions)
        self.seed = campaign.assignment_seed
        self.person_key = label_hashes(campaign.assignments.annotators)
        self.gold_key, self.is_unmarked = triple_keys(gold.triples), unmarked_gold(campaign)
        asked = gold.questions  # whose ids change with what else is gold
        relation, anchor = label_hashes(asked.relations)[asked.relation], label_hashes(asked.entities)[asked.anchor]
        self.question_key = mixed(relation, anchor, asked.is_head.astype(np.uint64))
        self.home = homes_of_gold(campaign) - self.n_questions  # (g,) row in gold's questions
        # (2, g): rows in the pool's questions that a gold triple is a candidate of, -1 where there is none
        shared = _rows_of(gold.questions, pool.questions)
        by_side = np.lexsort((gold.questions.is_head[gold.question], gold.triple))
        self.candidate_of = shared[gold.question[by_side]].reshape(len(gold), 2).T

    def mixed_in(self, tasks: GivenTasks, code: int, n_gold: int) -> GivenTasks:
        """One annotator's tasks with so many gold triples among them."""
        own_key = mixed(self.seed, self.person_key[code : code + 1])
        order = np.argsort(mixed(own_key, self.gold_key), kind="stable")
        chosen = order[self.is_unmarked[order]][:n_gold]
        new = np.r_[True, tasks.question[1:] != tasks.question[:-1]]
        start = np.append(np.flatnonzero(new), len(tasks))
        n_blocks = len(start) - 1
        block_of = np.full(self.n_questions, -1)
        block_of[tasks.question[start[:-1]]] = np.arange(n_blocks)
        fits = np.where(self.candidate_of[:, chosen] >= 0, block_of[self.candidate_of[:, chosen]], -1)
        key = mixed(own_key, self.gold_key[chosen], 1)
        side = np.where(fits.min(axis=0) >= 0, (key & np.uint64(1)).astype(np.intp), np.argmax(fits, axis=0))
        block = fits[side, np.arange(len(chosen))]
        is_within = block >= 0
        size = np.diff(start)
        # a task stands before the one at its place: at the end of a block, between two blocks, or in the next block
        within = start[block] + np.floor(_shares(key) * (size[block] + 1)).astype(np.int64)
        home = self.home[chosen]
        between = start[np.floor(_shares(mixed(own_key, self.question_key[home])) * (n_blocks + 1)).astype(np.int64)]
        place = np.where(is_within, within, between)
        turn = np.where(is_within, np.where(within == start[block] + size[block], 0, 2), 1)

        n = len(tasks)
        order = np.lexsort(
            (
                np.concatenate([np.zeros(n, np.uint64), key]),
                np.concatenate([np.zeros(n, np.int64), np.where(is_within, 0, home)]),
                np.concatenate([np.full(n, 3), turn]),
                np.concatenate([np.arange(n), place]),
            )
        )
        question = np.where(is_within, self.candidate_of[side, chosen], self.n_questions + home)
        return GivenTasks(
            np.full(n + len(chosen), code, np.int32),
            np.concatenate([tasks.triple, self.n_triples + chosen])[order],
            np.concatenate([tasks.question, question])[order],
        )


def _shares(key: Keys) -> NDArray[np.float64]:
    """(n,) numbers from 0 to below 1 out of hashes."""
    return ((key >> np.uint64(11)) * 2.0**-53).astype(np.float64)


def same_questions(campaign: Campaign) -> NDArray[np.int64]:
    """(q + h,) for the pool's questions, and behind them those of gold: the row of the first that asks the same."""
    own, others = campaign.pool.questions, campaign.gold.pool.questions
    shared = _rows_of(others, own)
    rows = np.arange(len(own) + len(others))
    rows[len(own) :] = np.where(shared >= 0, shared, rows[len(own) :])
    return rows.astype(np.int64)


def homes_of_gold(campaign: Campaign) -> NDArray[np.int64]:
    """(g,) the question of each gold triple when it is no candidate of the pool's, row as in :class:`GivenTasks`."""
    gold = campaign.gold.pool
    home = groups_of(gold, Automatic.none(len(gold)), seed=campaign.assignment_seed)
    return len(campaign.pool.questions) + home.astype(np.int64)


def known_to_tell(campaign: Campaign, given: GivenTasks | None = None) -> Qrels:
    """The known answers to the pool's questions that people may be told without telling which triples are gold.

    A triple that is known already is asked about only if it is gold, so no gold is among them. A question of which
    nothing is known would stand out too: if gold is given to anybody with such a question, nothing is told of any.

    Parameters
    ----------
    campaign : Campaign
    given : GivenTasks, optional
        The result of :func:`given_to_annotators`, from those who have it.
    """
    known = campaign.known_answers
    if len(campaign.gold) == 0:
        return known
    if given is None:
        given = given_to_annotators(campaign)
    with_gold = same_questions(campaign)[given.question[given.triple >= len(campaign.pool)]]
    left = ~_is_gold(campaign, known)
    if not np.isin(with_gold, known.question[left]).all():
        left = np.zeros(len(left), np.bool_)
    return replace(known, question=known.question[left], entity=known.entity[left], grade=known.grade[left])


def _is_gold(campaign: Campaign, answers: Qrels) -> NDArray[np.bool_]:
    """(n,) which answers to the pool's questions are gold triples, whatever is known of these."""
    asked, gold = campaign.pool.questions, campaign.gold.pool
    code_of = gold.triples.entities.encode(answers.entities.labels)
    relation = gold.triples.relations.encode(asked.relations.labels)[asked.relation[answers.question]]
    anchor = gold.triples.entities.encode(asked.entities.labels)[asked.anchor[answers.question]]
    entity, is_head = code_of[answers.entity], asked.is_head[answers.question]
    return gold.rows(np.where(is_head, entity, anchor), relation, np.where(is_head, anchor, entity)) >= 0


def _rows_of(questions: Questions, others: Questions) -> NDArray[np.intp]:
    """(n,) row in ``others`` of each of ``questions``, -1 where it is not among them."""
    relation = others.relations.encode(questions.relations.labels)[questions.relation]
    anchor = others.entities.encode(questions.entities.labels)[questions.anchor]
    known = (relation >= 0) & (anchor >= 0)
    found = np.full(len(questions), -1, np.intp)
    found[known] = others.rows(questions.is_head[known], relation[known], anchor[known])
    return found


def asked_triples(campaign: Campaign) -> Triples:
    """(n + g,) the pool's triples, and behind them those of gold."""
    own = campaign.pool.triples
    if len(campaign.gold) == 0:
        return own
    gold = campaign.gold.pool.triples
    entities, relations = own.entities.extended(gold.entities.labels), own.relations.extended(gold.relations.labels)
    gold = gold.recoded(entities, relations)
    head, relation, tail = (
        np.concatenate([getattr(part, name) for part in (own, gold)]) for name in ("head", "relation", "tail")
    )
    return Triples(head, relation, tail, entities, relations)


def asked_judgements(campaign: Campaign) -> Judgements:
    """What was said of the pool's triples, and behind it what was said of gold, with rows as in ``asked_triples``."""
    said = campaign.gold.judgements
    if len(said) == 0:
        return campaign.judgements
    return campaign.judgements.joined(replace(said, triple=said.triple + np.int32(len(campaign.pool))))
