"""Campaigns as the folders that commands work on: one that only has a pool, and whole ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import PERSON_ROLES, Automatic, Campaign, People
from kgtrec.data.judgements import ROLES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.campaign.folder import (
    JUDGEMENTS,
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.campaign.pools import read_pool, write_pool
from tests.judged_pools import judgements_of, pool_of


def people_of(*rows: tuple[str, str, bool]) -> People:
    """Rows (name, role, active)."""
    names, person = Vocabulary.encoding(labels_of([row[0] for row in rows]))
    role = np.array([PERSON_ROLES.index(row[1]) for row in rows], np.int8)
    return People(names, person, role, np.array([row[2] for row in rows], np.bool_))


def folder_of(campaign: Campaign, folder: Path) -> Path:
    """Write the campaign to ``folder``."""
    write_pool(folder, campaign.pool, campaign.known_answers, campaign.automatic, design=campaign.design)
    write_templates(folder, campaign.templates)
    write_sources(folder, campaign.sources)
    write_names(folder, campaign.names)
    write_assignments(folder, campaign.pool, campaign.assignments)
    (folder / JUDGEMENTS).touch()
    append_judgements(folder / JUDGEMENTS, campaign.pool, campaign.judgements)
    write_people(folder, campaign.people)
    return folder


def task_fields(pool: Pool, task: int) -> dict[str, str | int]:
    """Number, head, relation and tail, as files of tasks name them."""
    own = pool.triples.take(np.array([task - 1]))
    return {
        "task": task,
        "head": own.entities[own.head[0]],
        "relation": own.relations[own.relation[0]],
        "tail": own.entities[own.tail[0]],
    }


def said(judgements: Judgements) -> list[tuple[int, str, str, int, str, str, str]]:
    """Events as (triple, person, role, verdict, source, note, time)."""
    return list(
        zip(
            judgements.triple.tolist(),
            judgements.annotators.decode(judgements.annotator).to_pylist(),
            (ROLES[role] for role in judgements.role),
            judgements.verdict.tolist(),
            judgements.source.to_pylist(),
            judgements.note.to_pylist(),
            judgements.time.to_pylist(),
            strict=True,
        )
    )


def pool_folder(folder: Path, sizes: tuple[int, ...] = (2, 1), automatic: tuple[int, ...] = ()) -> Path:
    """What `kgtrec pool` might have written: so many triples a question; ``automatic``: those a rule has judged."""
    pool = pool_of(sizes, range(len(sizes)))
    none = np.zeros(0, np.int32)
    known_answers = Qrels(none, none, none, pool.questions.ids, pool.questions.entities)
    rule = np.full(len(pool), -1, np.int8)
    rule[list(automatic)] = 0
    write_pool(folder, pool, known_answers, Automatic(rule, ("types",) if automatic else ()))
    return folder


def say_in(folder: Path, *events: tuple[int, str, str, str]) -> None:
    """Add events (triple, person, role, verdict) to the judgements."""
    append_judgements(folder / JUDGEMENTS, read_pool(folder).pool, judgements_of(events))
