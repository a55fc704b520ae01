"""What a family tree holds, as text."""

from __future__ import annotations

import numpy as np

from kgtrec.openworld.family_tree import FamilyStatistics
from kgtrec.report.tables import aligned


def statistics_text(found: FamilyStatistics) -> str:
    """People, generations and facts, in a line, and a table of relations; then how long the lists of answers are."""
    size = np.arange(found.answers.shape[1])
    n = len(found.relations)
    rows = [["relation", "facts", "head questions", "answers each", "most", "tail questions", "answers each", "most"]]
    for place, relation in enumerate(found.relations):
        cells = [relation, f"{found.facts[place]:,}"]
        for counts in (found.answers[place], found.answers[n + place]):
            questions = int(counts.sum())
            mean = f"{(counts * size).sum() / questions:.2f}" if questions else "-"
            cells += [f"{questions:,}", mean, str(int(np.flatnonzero(counts).max(initial=0)))]
        rows.append(cells)
    lists = found.answers.sum(axis=0)
    used = np.flatnonzero(lists)
    lengths = aligned(
        [
            ["answers", "questions", "share"],
            *([str(k), f"{lists[k]:,}", f"{lists[k] / lists.sum():.2%}"] for k in used),
        ],
        0,
    )
    head = (
        f"{found.n_people:,} people in {found.n_generations} generations, {found.facts.sum():,} facts of {n} relations"
    )
    return f"{head}\n\n{aligned(rows, 1)}\n{lengths}"
