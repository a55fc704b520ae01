"""How far an annotation campaign is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEPS = ("init", "people", "assign", "judge", "adjudicate", "qrels")  # what comes next, the first that is lacking


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
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
