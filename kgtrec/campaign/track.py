"""How far a campaign is, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.decide import decisions_of, queue
from kgtrec.campaign.tasks import relations_without_template
from kgtrec.data.campaign import Campaign
from kgtrec.data.decisions import OPEN, STATES, Decisions
from kgtrec.data.judgements import ANNOTATOR, NO, UNSURE, VERDICTS, YES
from kgtrec.data.table import Column, Table

STEPS = ("init", "people", "assign", "judge", "adjudicate", "qrels")  # what comes next, the first that is lacking


@dataclass(frozen=True, slots=True, eq=False)
class CampaignProgress:
    """Triples by state, in all and per relation, and what each annotator has done."""

    states: NDArray[np.int64]  # (relations, states) how many triples, columns as in STATES
    verdicts: NDArray[np.int64]  # (relations, 2) how many triples are settled as N and as Y, automatic ones too
    relations: tuple[str, ...]  # those of the pool, in byte order
    annotators: tuple[str, ...]  # whoever is named or has judged as one, in byte order
    is_active: NDArray[np.bool_]  # (annotators,)
    assigned: NDArray[np.int64]  # (annotators,) tasks given, judged ones too
    to_do: NDArray[np.int64]  # (annotators,) tasks given and not judged
    said: NDArray[np.int64]  # (annotators, 3) triples judged, by last verdict, columns as in VERDICTS
    without_template: tuple[str, ...]  # relations that people are asked about in general words
    step: str  # one of STEPS
    per_triple: int  # how many annotators a triple should have
    any_host: bool = False  # no verified source is named, so that a page of any host proves a verdict

    def tables(self) -> tuple[Table, ...]:
        """``states`` of all triples, ``relations``, those of each relation's too, and ``annotators``, their work."""
        counts = np.column_stack([self.states.sum(axis=1), self.states, self.verdicts[:, ::-1]])
        counts = np.vstack([counts.sum(axis=0), counts])
        labels = {"relation": pa.array(["all", *self.relations], pa.string())}
        states = pa.table(labels | dict(zip(("triples", *STATES, "Y", "N"), counts.T, strict=True)))
        total = (Column("relation", " "), *map(Column, states.column_names[1:]))
        judged = self.said.sum(axis=1)
        shares = self.said / np.where(judged > 0, judged, np.nan)[:, None]
        annotators = {
            "annotator": pa.array(self.annotators, pa.string()),
            "active": pa.array(self.is_active),
            "assigned": self.assigned,
            "judged": judged,
            "to_do": self.to_do,
        } | {VERDICTS[place]: shares[:, place] for place in (YES, NO, UNSURE)}
        columns = (
            Column("annotator"),
            Column("active", names={"True": "yes", "False": "no"}),
            Column("assigned"),
            Column("judged"),
            Column("to_do", "to do"),
            *(Column(VERDICTS[place], form="share", digits=1) for place in (YES, NO, UNSURE)),
        )
        return (
            Table("states", "", "", states.slice(0, 1), total),
            Table("relations", "", "", states),
            Table("annotators", "", "", pa.table(annotators), columns),
        )


def track(campaign: Campaign) -> CampaignProgress:
    """Count the triples of a campaign by state, and the tasks of its annotators; tell which step comes next.

    Examples
    --------
    >>> from kgtrec.data.campaign import Assignments, Automatic, People
    >>> from kgtrec.data.judgements import Judgements
    >>> from kgtrec.data.pool import Pool
    >>> from kgtrec.data.qrels import Qrels
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples = Triples.of([("ann", "knows", "bob")])
    >>> zero, nobody, texts = np.zeros(1, np.int32), Vocabulary.of([]), triples.relations.labels[:0]
    >>> asked = Questions(Vocabulary.of(["tail0"]), zero > 0, zero, zero, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, zero, zero, zero, zero + 1, ["mine"], asked)
    >>> none = zero[:0]
    >>> campaign = Campaign(
    ...     pool, Qrels(none, none, none, asked.ids, asked.entities), Automatic.none(1),
    ...     People.none(), Assignments.none(nobody),
    ...     Judgements(none, none, none, none, texts, texts, texts, nobody),
    ... )
    >>> progress = track(campaign)
    >>> progress.states.tolist(), progress.without_template, progress.step
    ([[0, 1, 0, 0, 0, 0, 0]], ('knows',), 'init')
    """
    pool, people, judgements = campaign.pool, campaign.people, campaign.judgements
    decisions = decisions_of(campaign)

    code, relation = np.unique(pool.triples.relation, return_inverse=True)
    labels = pool.questions.relations.decode(code).to_pylist()
    order = sorted(range(len(labels)), key=lambda place: labels[place].encode())
    settled = decisions.verdict >= 0
    states = _counted(relation, decisions.state, (len(labels), len(STATES)))
    verdicts = _counted(relation[settled], decisions.verdict[settled], (len(labels), 2))
    lacking = relations_without_template(campaign)

    named = people.names.extended(judgements.annotators.labels)
    latest = judgements.take(judgements.role == ANNOTATOR).latest()
    judge = named.encode(judgements.annotators.labels)[latest.annotator]
    asked = named.encode(campaign.assignments.annotators.labels)[campaign.assignments.annotator]
    is_waiting = ~_in(asked, campaign.assignments.triple, judge, latest.triple, len(pool))
    is_active = np.zeros(len(named), np.bool_)
    is_active[people.person[(people.role == ANNOTATOR) & people.is_active]] = True
    shown = np.unique(np.concatenate([people.person[people.role == ANNOTATOR], judge, asked]))
    shown = shown[np.argsort(named.byte_order[shown])]
    waiting = is_waiting & is_active[asked]
    return CampaignProgress(
        states=states[order],
        verdicts=verdicts[order],
        relations=tuple(labels[place] for place in order),
        annotators=tuple(named.decode(shown).to_pylist()),
        is_active=is_active[shown],
        assigned=np.bincount(asked, minlength=len(named))[shown],
        to_do=np.bincount(asked[waiting], minlength=len(named))[shown],
        said=_counted(judge, latest.verdict, (len(named), len(VERDICTS)))[shown],
        without_template=tuple(labels[place] for place in order if labels[place] in lacking),
        step=_step(
            campaign,
            decisions,
            np.bincount(campaign.assignments.triple[waiting], minlength=len(pool)),
            np.bincount(latest.triple, minlength=len(pool)),
            int(is_active.sum()),
        ),
        per_triple=campaign.per_triple,
        any_host=not campaign.sources,
    )


def _step(
    campaign: Campaign, decisions: Decisions, n_waiting: NDArray[np.int64], n_judged: NDArray[np.int64], n_active: int
) -> str:
    is_open = decisions.state == OPEN
    if is_open.any():
        if len(campaign.people) == 0:
            return "init"
        # more than that, as after an interrupted change of annotators per triple, are for assigning to take away
        if np.all((n_waiting + n_judged)[is_open] == campaign.per_triple):
            return "judge"
        return "people" if n_active < campaign.per_triple else "assign"
    return "adjudicate" if len(queue(decisions)) else "qrels"


def _counted(row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int]) -> NDArray[np.int64]:
    counts = np.bincount(row.astype(np.int64) * shape[1] + column, minlength=shape[0] * shape[1])
    return counts.reshape(shape).astype(np.int64)


def _in(
    person: NDArray[np.int32],
    triple: NDArray[np.int32],
    others: NDArray[np.int32],
    of_others: NDArray[np.int32],
    n: int,
) -> NDArray[np.bool_]:
    return np.isin(person.astype(np.int64) * n + triple, others.astype(np.int64) * n + of_others)
