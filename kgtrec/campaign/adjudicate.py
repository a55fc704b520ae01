"""What adjudicators are asked: the triples that wait for them, and what each side has said, without names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of, judged_in_another_role, waiting
from kgtrec.data.arrow import bytes_and_offsets
from kgtrec.data.campaign import Campaign
from kgtrec.data.columns import Columns
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR
from kgtrec.data.triples import Triples, triple_keys
from kgtrec.kernels.sampling.random_order import Keys, hashed, hashes_of_texts


@dataclass(frozen=True, slots=True, eq=False)
class Sides(Columns):
    """The last verdict, link and note of each annotator on some triples; side A of a triple is its first row."""

    place: NDArray[np.intp]  # (m,) which of the triples that were asked for, sorted
    verdict: NDArray[np.int8]  # (m,) row in VERDICTS
    source: pa.StringArray  # (m,)
    note: pa.StringArray  # (m,)


def queue_of(
    campaign: Campaign, person: str | None = None, *, state: NDArray[np.int8] | None = None
) -> NDArray[np.intp]:
    """Find the pool's triples that wait for an adjudicator, (m,) rows in the order of the pool: conflicts and doubts.

    Parameters
    ----------
    campaign : Campaign
        Where ``state`` is given, the person's own judgements are enough.
    person : str, optional
        The adjudicator: triples that the person has judged in another role, or is assigned as an annotator, are left
        out. Who is still to judge a triple must not see what others have said of it.
    state : (n,) int array, optional
        The states of the pool's triples, where they are known: see :meth:`kgtrec.campaign.OpenCampaign.states`.
    """
    rows = waiting(decisions_of(campaign).state if state is None else state)
    if person is not None:
        own = campaign.assignments
        assigned = own.triple[own.annotator == own.annotators.encode([person])[0]]
        others = judged_in_another_role(campaign.judgements, person, rows, role=ADJUDICATOR)
        rows = rows[~others & ~np.isin(rows, assigned)]
    return rows


def by_question(campaign: Campaign, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Put sorted rows of the pool that belong to one question together, questions in the order of their first rows."""
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)[rows]
    _, first, place = np.unique(question, return_index=True, return_inverse=True)
    return rows[np.argsort(first[place], kind="stable")]


def sides_of(campaign: Campaign, rows: NDArray[np.integer]) -> Sides:
    """Collect the annotators' verdicts on triples, without their names: arguments should count, not people.

    The order of a triple's sides is a hash of the campaign's seed, the labels of the triple and what is said: it does
    not depend on the annotators, nor on who judged first, and neither Yes nor No is more often side A.

    Parameters
    ----------
    campaign : Campaign
    rows : (n,) int array
        Distinct rows of the pool's triples.

    Returns
    -------
    Sides
        Of these triples, in their order.
    """
    events = campaign.judgements
    events = events.take((events.role == ANNOTATOR) & np.isin(events.triple, rows)).latest()
    order = np.argsort(rows)
    place = order[np.searchsorted(rows, events.triple, sorter=order)]
    own = campaign.pool.triples.take(np.asarray(rows, np.intp))
    own = Triples.of_columns(  # under vocabularies of their own, which cost no more than these
        own.entities.decode(own.head), own.relations.decode(own.relation), own.entities.decode(own.tail)
    )
    key = triple_keys(own, campaign.assignment_seed)[place]
    by_words = hashed(key, _hashes(events.source), _hashes(events.note))  # of those who say the same
    order = np.lexsort((by_words, hashed(key, events.verdict.astype(np.uint64)), place))
    events = events.take(order)
    return Sides(place[order], events.verdict, events.source, events.note)


def _hashes(texts: pa.StringArray) -> Keys:
    return hashes_of_texts(*bytes_and_offsets(texts))
