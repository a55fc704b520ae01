"""Folders that `kgtrec pool` might have written, and verdicts in them, for tests of the commands of a campaign."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.qrels import Qrels
from kgtrec.formats.judgements import JudgementWriter
from kgtrec.formats.pools import read_pool, write_pool
from tests.judged_pools import judgements_of, pool_of


def pool_folder(folder: Path, sizes: tuple[int, ...] = (2, 1), automatic: tuple[int, ...] = ()) -> Path:
    """A folder with a pool of so many triples a question; ``automatic``: which of them a rule has judged."""
    pool = pool_of(sizes, range(len(sizes)))
    none = np.zeros(0, np.int32)
    seeds = Qrels(none, none, none, pool.questions.ids, pool.questions.entities)
    rule = np.full(len(pool), -1, np.int8)
    rule[list(automatic)] = 0
    write_pool(folder, pool, seeds, Automatic(rule, ("types",) if automatic else ()))
    return folder


def say_in(folder: Path, *events: tuple[int, str, str, str]) -> None:
    """Add events (triple, person, role, verdict) to the judgements."""
    said = judgements_of(events)
    said = replace(said, time=labels_of(["2026-11-21T20:00:00Z"] * len(said)))
    with JudgementWriter(folder / "judgements.jsonl") as writer:
        writer.append(read_pool(folder).pool, said)
