"""What an adjudicator gets to see: what waits, and what each annotator has said about it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kgtrec.campaign.decide import decisions_of, queue
from kgtrec.campaign.tasks import phrase_tasks
from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import ANNOTATOR, VERDICTS, YES
from kgtrec.data.tasks import Tasks


def tasks_for_adjudicator(campaign: Campaign, person: str | None = None) -> Tasks:
    """The triples in conflict or doubted as tasks for an adjudicator, in the order of the pool.

    Every annotator's verdict, link and note is shown, as ``verdict_1``, ``source_1``, ``note_1``, ``verdict_2`` and so
    on, those of Y first, then N, then unsure. Who said what is not told: arguments are to be weighed, not people.

    Parameters
    ----------
    campaign : Campaign
    person : str, optional
        Whose tasks: those that they judged as annotators are left out.
    """
    rows = queue(decisions_of(campaign))
    said = campaign.judgements.take(campaign.judgements.role == ANNOTATOR).latest()
    if person is not None:
        own = said.annotators.encode([person])[0]
        rows = np.setdiff1d(rows, said.triple[said.annotator == own])
    said = said.take(np.isin(said.triple, rows))
    names = said.annotators.byte_order[said.annotator]
    said = said.take(np.lexsort((names, said.verdict, said.verdict != YES, said.triple)))
    first = np.searchsorted(said.triple, rows)
    count = np.searchsorted(said.triple, rows, "right") - first
    verdicts = labels_of([*VERDICTS, ""])
    shown = {}
    for nth in range(int(count.max(initial=0))):
        # a triple that more have judged than others leaves cells of the others empty
        place = np.where(nth < count, first + nth, len(said))
        verdict = np.append(said.verdict, len(VERDICTS))[place]
        shown[f"verdict_{nth + 1}"] = verdicts.take(arrow_of(verdict))
        for name, texts in (("source", said.source), ("note", said.note)):
            shown[f"{name}_{nth + 1}"] = pa.concat_arrays([texts, labels_of([""])]).take(arrow_of(place))
    people = None if person is None else [(person,)] * len(rows)
    return phrase_tasks(campaign, rows, people, shown=shown)
