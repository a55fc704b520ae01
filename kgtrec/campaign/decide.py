"""Decisions from the verdicts of several people on each triple."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.judgements import (
    ADJUDICATED,
    ADJUDICATOR,
    AGREED,
    ANNOTATOR,
    AUTOMATIC,
    CONFLICT,
    DOUBTED,
    NO,
    OPEN,
    UNDECIDABLE,
    UNDRAWN,
    UNSURE,
    VERDICTS,
    YES,
    Decisions,
    Judgements,
)
from kgtrec.data.pool import Pool
from kgtrec.errors import CollectionError, KgtrecError, require


def decide(pool: Pool, automatic: Automatic, judgements: Judgements, *, per_triple: int = 2) -> Decisions:
    """Decide on each triple of a pool, and find whom an undecided one waits for.

    The first rule that applies decides:

    1. A triple that a rule judged is ``automatic``, and N, regardless of people's verdicts. One that the design of a
       sample has not drawn is ``not drawn``, and undecided.
    2. With fewer than ``per_triple`` annotators it is ``open``, even if an adjudicator has judged it.
    3. If the last verdict of an adjudicator is Y or N, it is ``adjudicated``, with that verdict.
    4. If all annotators, possibly more than ``per_triple``, say Y, or all say N, it is ``agreed``.
    5. If the last verdict of an adjudicator is "unsure", it is ``undecidable``.
    6. If an annotator is unsure it is ``doubted``, else the annotators disagree: a ``conflict``.

    The last verdict of each annotator counts, and the last one of all adjudicators. An adjudicator's Y or N holds even
    if the annotators agree, also by later corrections: the adjudicator saw both sides, the annotators may have seen the
    result by then, and a wrong adjudication can be corrected by an adjudicator. An adjudicator's "unsure" decides
    nothing, and does not change an agreement. Experts judge a sample again to estimate how good the labels are, so they
    do not change labels.

    Parameters
    ----------
    pool : Pool
        n triples.
    automatic : Automatic
        For the same n triples.
    judgements : Judgements
        Events, oldest first.
    per_triple : int, people
        How many annotators should judge each triple, at least 1.

    Returns
    -------
    Decisions
        One row per triple of the pool.

    Raises
    ------
    KgtrecError
        If ``per_triple`` is below 1, or the rules or the events are of another pool.

    Examples
    --------
    >>> from kgtrec.data.campaign import Automatic
    >>> from kgtrec.data.judgements import STATES
    >>> from kgtrec.data.judgements import Judgements
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples = Triples.of([("ann", "knows", "bob"), ("ann", "knows", "eve")])
    >>> asked = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0]), np.array([0]),
    ...                   triples.entities, triples.relations)
    >>> both, none = np.array([0, 1]), np.array([0, 0])
    >>> pool = Pool.of(triples, both, none, none, both + 1, ["mine"], asked)
    >>> empty = Vocabulary.of([""]).labels.take([0, 0, 0])
    >>> said = Judgements(np.array([0, 0, 1]), np.array([0, 1, 0]), np.zeros(3, int), np.array([1, 1, 0]),
    ...                   empty, empty, empty, Vocabulary.of(["kim", "lee"]))
    >>> decided = decide(pool, Automatic.none(2), said)
    >>> [STATES[state] for state in decided.state], decided.verdict.tolist()
    (['agreed', 'open'], [1, -1])
    """
    n = len(pool)
    if per_triple < 1:
        raise KgtrecError(f"expected at least 1 annotator per triple, got {per_triple}")
    if len(automatic) != n:
        raise CollectionError(
            f"expected automatic judgements of {n:,} triples, those of the pool, got {len(automatic):,}"
        )
    require_judgements_of(pool, judgements)
    votes = verdict_counts(judgements, n)
    word = last_word(judgements, n, ADJUDICATOR)
    state = states(automatic, votes, word, per_triple=per_triple)
    verdict = np.full(n, -1, np.int8)
    verdict[state == AUTOMATIC] = NO
    verdict[state == AGREED] = np.where(votes[:, YES] > 0, YES, NO)[state == AGREED]
    verdict[state == ADJUDICATED] = word[state == ADJUDICATED]
    return Decisions(state, verdict)


def require_whole(decisions: Decisions) -> None:
    """Raise KgtrecError if a design left triples out, where a verb would take them for unjudged ones."""
    if np.any(decisions.state == UNDRAWN):
        raise KgtrecError(
            "expected a campaign whose people judge the whole pool, found a designed sample (design.tsv); its "
            "estimates are those of kgtrec evaluate CAMPAIGN RUNS"
        )


def require_judgements_of(pool: Pool, judgements: Judgements) -> None:
    """Raise CollectionError unless all events are about triples of the pool."""
    n, triple = len(pool), judgements.triple
    message = f"expected judgements of the pool's {n:,} triples, found one of row {{}}; they are of another pool"
    require((triple >= 0) & (triple < n), lambda row: CollectionError(message.format(triple[row])))


def states(
    automatic: Automatic, votes: NDArray[np.int64], word: NDArray[np.int8], *, per_triple: int
) -> NDArray[np.int8]:
    """Find the state of each triple by the rules of :func:`decide`: (n,) row in ``STATES``.

    Parameters
    ----------
    automatic : Automatic
        Of the same n triples.
    votes : (n, 3) int array
        Number of annotators with each of ``VERDICTS``.
    word : (n,) int array
        Last verdict of an adjudicator, row in ``VERDICTS``; -1: there is none.
    per_triple : int
    """
    people = votes.sum(axis=1)
    unanimous = (votes == people[:, None]) & (people[:, None] > 0)
    rules = {
        AUTOMATIC: automatic.is_automatic,
        UNDRAWN: ~automatic.for_people,
        OPEN: people < per_triple,
        ADJUDICATED: (word == YES) | (word == NO),
        AGREED: unanimous[:, YES] | unanimous[:, NO],
        UNDECIDABLE: word == UNSURE,
        DOUBTED: votes[:, UNSURE] > 0,
    }
    return np.select(list(rules.values()), list(rules), CONFLICT).astype(np.int8)


def states_of_triples(campaign: Campaign, rows: NDArray[np.intp]) -> NDArray[np.int8]:
    """Find the states of some distinct, sorted triples of the pool, at the cost of reading their events."""
    events = campaign.judgements.take(np.isin(campaign.judgements.triple, rows))
    events = replace(events, triple=np.searchsorted(rows, events.triple).astype(np.int32))
    votes, word = verdict_counts(events, len(rows)), last_word(events, len(rows), ADJUDICATOR)
    return states(campaign.automatic.take(rows), votes, word, per_triple=campaign.per_triple)


def states_before(judgements: Judgements) -> NDArray[np.int8]:
    """Find the state of each event's triple when the event was recorded, (n,), by the verdicts until then.

    With one annotator per triple, since the number at that time is unknown but not lower.
    """
    n = len(judgements)
    by_annotator = np.flatnonzero(judgements.role == ANNOTATOR)
    change = np.zeros((n, len(VERDICTS)), np.int64)  # change of the votes by each event
    change[by_annotator, judgements.verdict[by_annotator]] += 1
    before = previous_of(judgements.annotator[by_annotator], judgements.triple[by_annotator])
    again = before >= 0
    change[by_annotator[again], judgements.verdict[by_annotator[before[again]]]] -= 1

    order = np.argsort(judgements.triple, kind="stable")
    triple, change = judgements.triple[order], change[order]
    first = np.searchsorted(triple, triple)
    votes = np.cumsum(change, axis=0) - change
    votes -= votes[first]
    said = np.where(judgements.role[order] == ADJUDICATOR, np.arange(n), -1)
    last = np.maximum.accumulate(np.concatenate([[-1], said[:-1]]))[:n]
    word = np.where(last >= first, judgements.verdict[order][last], -1).astype(np.int8)
    before_each = np.empty(n, np.int8)
    before_each[order] = states(Automatic.none(n), votes, word, per_triple=1)
    return before_each


def previous_of(*columns: NDArray[np.integer]) -> NDArray[np.intp]:
    """Find for each row, (n,), the row before it that has the same values in all columns; -1 where there is none.

    Examples
    --------
    >>> previous_of(np.array([0, 0, 1, 0]), np.array([5, 6, 5, 5])).tolist()
    [-1, -1, -1, 0]
    """
    order = np.lexsort(columns[::-1])  # a stable sort
    is_same = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
    before = np.full(len(order), -1, np.intp)
    before[order[1:][is_same]] = order[:-1][is_same]
    return before


def decisions_of(campaign: Campaign) -> Decisions:
    """Decide on each triple of a campaign's pool by its judgements and settings, as :func:`decide` does.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.

    Examples
    --------
    See docs/machine-verdicts.md.
    """
    return decide(campaign.pool, campaign.automatic, campaign.judgements, per_triple=campaign.per_triple)


def waiting(state: NDArray[np.int8]) -> NDArray[np.intp]:
    """Find the rows, (m,), of the triples that wait for an adjudicator, in the order of the pool: conflicts and doubts.

    A triple that an adjudicator could not decide does not wait any more, but can still be settled by a later verdict.
    """
    return np.flatnonzero((state == CONFLICT) | (state == DOUBTED))


def judged_in_another_role(
    judgements: Judgements, person: str, triples: NDArray[np.integer], *, role: int
) -> NDArray[np.bool_]:
    """Find the triples, (n,), that a person has judged in another role, which bars them from this one.

    Nobody decides about their own verdict as an adjudicator, or is the expert on their own labels.

    Parameters
    ----------
    judgements : Judgements
    person : str
    triples : (n,) int array
        Rows in the pool's triples.
    role : int
        Row in ``ROLES``.
    """
    (code,) = judgements.annotators.encode([person])
    theirs = (judgements.annotator == code) & (judgements.role != role)
    return np.isin(triples, judgements.triple[theirs])


def verdict_counts(judgements: Judgements, n: int) -> NDArray[np.int64]:
    """Count the annotators with each of ``VERDICTS`` on each of n triples, (n, 3), by their last verdicts."""
    of_annotators = judgements.take(judgements.role == ANNOTATOR).latest()
    return cell_counts(of_annotators.triple, of_annotators.verdict, (n, len(VERDICTS)))


def cell_counts(row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Count how often each pair of a row and a column occurs, in a table of a shape."""
    return np.bincount(row.astype(np.int64) * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)


def last_word(judgements: Judgements, n: int, role: int) -> NDArray[np.int8]:
    """Find the last verdict of any person in a role on each triple, (n,) row in ``VERDICTS``; -1: there is none."""
    events = np.flatnonzero(judgements.role == role)
    last = np.full(n, -1, np.intp)
    np.maximum.at(last, judgements.triple[events], events)  # events are oldest first
    return np.where(last >= 0, np.append(judgements.verdict, np.int8(-1))[last], np.int8(-1))
