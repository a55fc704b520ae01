"""A campaign as the folder that commands work on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Campaign, People
from kgtrec.data.judgements import ROLES, Judgements
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.campaigns import (
    JUDGEMENTS,
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from kgtrec.formats.judgements import append_judgements
from kgtrec.formats.pools import write_pool


def people_of(*rows: tuple[str, str, bool]) -> People:
    """Rows (name, role, active)."""
    names, person = Vocabulary.encoding(labels_of([row[0] for row in rows]))
    role = np.array([ROLES.index(row[1]) for row in rows], np.int8)
    return People(names, person, role, np.array([row[2] for row in rows], np.bool_))


def folder_of(campaign: Campaign, folder: Path) -> Path:
    """Write the campaign to ``folder``."""
    write_pool(folder, campaign.pool, campaign.seeds, campaign.automatic)
    write_templates(folder, campaign.templates)
    write_sources(folder, campaign.sources)
    write_names(folder, campaign.names)
    write_assignments(folder, campaign.pool, campaign.assignments)
    (folder / JUDGEMENTS).touch()
    append_judgements(folder / JUDGEMENTS, campaign.pool, campaign.judgements)
    write_people(folder, campaign.people)
    return folder


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
