"""The progress of a campaign, and its next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import cell_counts, decisions_of, waiting
from kgtrec.campaign.tasks import relations_without_template
from kgtrec.data.campaign import MANAGER, Campaign
from kgtrec.data.judgements import ANNOTATOR, CONFLICT, DOUBTED, NO, OPEN, STATES, UNSURE, VERDICTS, YES, Decisions
from kgtrec.data.questions import SIDES
from kgtrec.data.table import Column, Result, Table

STEPS = ("init", "people", "assign", "judge", "adjudicate", "qrels")  # the next step is the first that is not done


@dataclass(frozen=True, slots=True, eq=False)
class CampaignProgress(Result):
    """Triples by state, in total, per relation and per side, and the work of each annotator."""

    states: NDArray[np.int64]  # (relations, states) how many triples, columns as in STATES
    verdicts: NDArray[np.int64]  # (relations, 2) how many triples are settled as N and as Y, including automatic ones
    relations: tuple[str, ...]  # those of the pool, in byte order
    annotators: tuple[str, ...]  # everyone who is listed or has judged as one, in byte order
    is_active: NDArray[np.bool_]  # (annotators,)
    assigned: NDArray[np.int64]  # (annotators,) assigned tasks, including judged ones
    to_do: NDArray[np.int64]  # (annotators,) assigned tasks that are not judged
    said: NDArray[np.int64]  # (annotators, 3) judged triples by last verdict, columns as in VERDICTS
    without_template: tuple[str, ...]  # relations that people are asked about in general words
    step: str  # one of STEPS
    per_triple: int  # how many annotators a triple should have
    any_host: bool = False  # no verified source is listed, so that a page of any host proves a verdict
    managers: tuple[str, ...] = ()  # the active ones, who judge nothing, in byte order
    #: (2, states + 2) the same counts by SIDES, states and then N and Y: the side that a triple's question asks for
    sides: NDArray[np.int64] = field(default_factory=lambda: np.zeros((2, len(STATES) + 2), np.int64))

    @property
    def waiting(self) -> int:
        """How many triples wait for an adjudicator."""
        return int(self.states[:, [CONFLICT, DOUBTED]].sum())

    def tables(self) -> tuple[Table, ...]:
        """Make tables of the ``states`` of all triples, also by ``relations`` and ``sides``, and ``annotators``."""
        states = _states_table("relation", self.relations, np.hstack([self.states, self.verdicts]))
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
            *map(Column, ("assigned", "judged")),
            Column("to_do", "to do"),
            *(Column(VERDICTS[place], form="share", digits=1) for place in (YES, NO, UNSURE)),
        )
        return (
            Table("states", "", "", states.slice(0, 1), total),
            Table("relations", "", "", states),
            Table("annotators", "", "", pa.table(annotators), columns),
            Table("sides", "", "", _states_table("side", SIDES, self.sides)),
        )


def _states_table(name: str, labels: Sequence[str], counts: NDArray[np.int64]) -> pa.Table:
    """All triples, and those of each label, by state, and how many are settled as Y and as N."""
    states, verdicts = counts[:, : len(STATES)], counts[:, len(STATES) :]
    columns = np.column_stack([states.sum(axis=1), states, verdicts[:, ::-1]])
    columns = np.vstack([columns.sum(axis=0), columns])
    named = {name: pa.array(["all", *labels], pa.string())}
    return pa.table(named | dict(zip(("triples", *STATES, "Y", "N"), columns.T, strict=True)))


def track(campaign: Campaign) -> CampaignProgress:
    """Count the triples of a campaign by state, and the tasks of its annotators, and find the next step.

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
    group = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)
    side = (~pool.questions.is_head[group]).astype(np.intp)
    states, verdicts = _states_and_verdicts(relation, decisions, len(labels))
    lacking = relations_without_template(campaign)

    named = people.names.extended(judgements.annotators.labels)
    latest = judgements.take(judgements.role == ANNOTATOR).latest()
    judge = named.encode(judgements.annotators.labels)[latest.annotator]
    asked = named.encode(campaign.assignments.annotators.labels)[campaign.assignments.annotator]
    key = asked.astype(np.int64) * len(pool) + campaign.assignments.triple
    is_waiting = ~np.isin(key, judge.astype(np.int64) * len(pool) + latest.triple)
    is_active = np.zeros(len(named), np.bool_)
    is_active[people.person[(people.role == ANNOTATOR) & people.is_active]] = True
    shown = np.unique(np.concatenate([people.person[people.role == ANNOTATOR], judge, asked]))
    shown = shown[np.argsort(named.byte_order[shown])]
    waiting = is_waiting & is_active[asked]
    about = np.concatenate([campaign.assignments.triple[waiting], latest.triple])
    managers = people.person[(people.role == MANAGER) & people.is_active]
    return CampaignProgress(
        states=states[order],
        verdicts=verdicts[order],
        relations=tuple(labels[place] for place in order),
        annotators=tuple(named.decode(shown).to_pylist()),
        is_active=is_active[shown],
        assigned=np.bincount(asked, minlength=len(named))[shown],
        to_do=np.bincount(asked[waiting], minlength=len(named))[shown],
        said=cell_counts(judge, latest.verdict, (len(named), len(VERDICTS)))[shown],
        without_template=tuple(labels[place] for place in order if labels[place] in lacking),
        step=_step(campaign, decisions, np.bincount(about, minlength=len(pool)), int(is_active.sum())),
        per_triple=campaign.per_triple,
        any_host=not campaign.sources,
        managers=tuple(sorted((people.names[code] for code in managers), key=str.encode)),
        sides=np.hstack(_states_and_verdicts(side, decisions, len(SIDES))),
    )


def _step(campaign: Campaign, decisions: Decisions, n_asked: NDArray[np.int64], n_active: int) -> str:
    is_open = decisions.state == OPEN
    if not is_open.any():
        return "adjudicate" if len(waiting(decisions.state)) else "qrels"
    if len(campaign.people) == 0:
        return "init"
    # superfluous ones, as after an interrupted change of annotators per triple, are removed by assigning
    if np.all(n_asked[is_open] == campaign.per_triple):
        return "judge"
    return "people" if n_active < campaign.per_triple else "assign"


def _states_and_verdicts(row: NDArray[np.intp], decisions: Decisions, n: int) -> list[NDArray[np.int64]]:
    """(n, states) and (n, 2) how many triples of each row are in each state, and settled as N and as Y."""
    settled = decisions.verdict >= 0
    return [
        cell_counts(row, decisions.state, (n, len(STATES))),
        cell_counts(row[settled], decisions.verdict[settled], (n, 2)),
    ]
