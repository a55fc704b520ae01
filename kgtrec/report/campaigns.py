"""How far a campaign is, as text."""

from __future__ import annotations

import numpy as np

from kgtrec.data.decisions import STATES
from kgtrec.data.judgements import NO, UNSURE, YES
from kgtrec.data.progress import Progress
from kgtrec.report.tables import aligned

_NAMED = 3


def progress_text(progress: Progress, *, per_relation: bool = False) -> str:
    """Aligned tables: triples by state, in all or also per relation, then what each annotator has done."""
    parts = [aligned(_states(progress, per_relation), 1)]
    if progress.annotators:
        parts.append(aligned(_annotators(progress), 2))
    if progress.without_template:
        parts.append(without_template(progress) + "\n")
    return "\n".join(parts)


def _states(progress: Progress, per_relation: bool) -> list[list[str]]:
    header = ["relation" if per_relation else "", "triples", *STATES, "Y", "N"]
    counts = np.column_stack([progress.states.sum(axis=1), progress.states, progress.verdicts[:, ::-1]])
    rows = [["all", *(f"{count:,}" for count in counts.sum(axis=0))]]
    if per_relation:
        rows += [
            [label, *(f"{count:,}" for count in row)] for label, row in zip(progress.relations, counts, strict=True)
        ]
    return [header, *rows]


def _annotators(progress: Progress) -> list[list[str]]:
    rows = [["annotator", "active", "assigned", "judged", "to do", "Y", "N", "unsure"]]
    for place, name in enumerate(progress.annotators):
        said = progress.said[place]
        judged = int(said.sum())
        shares = [f"{said[verdict] / judged:.1%}" if judged else "-" for verdict in (YES, NO, UNSURE)]
        active = "yes" if progress.is_active[place] else "no"
        counts = [progress.assigned[place], judged, progress.to_do[place]]
        rows.append([name, active, *(f"{count:,}" for count in counts), *shares])
    return rows


def without_template(progress: Progress) -> str:
    """One line about the relations that have no template of their own."""
    lacking = progress.without_template
    named = ", ".join(lacking[:_NAMED]) + (f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else "")
    return (
        f"{len(lacking):,} of {len(progress.relations):,} relations have no template of their own and are asked for in "
        f"general words: {named}; edit templates.tsv"
    )


def loads_text(progress: Progress) -> str:
    """What each annotator has been given, has judged and has still to do."""
    return aligned([row[:1] + row[2:5] for row in _annotators(progress)], 1)


def next_text(progress: Progress, folder: str) -> str:
    """What to do next, with ``folder`` as a shell takes it."""
    busiest = progress.annotators[int(np.argmax(progress.to_do))] if progress.annotators else "NAME"
    command = {
        "init": f"init {folder} --annotator NAME --annotator NAME --adjudicator NAME",
        "people": f"init {folder} --annotator NAME, for {progress.per_triple} have to judge each triple",
        "assign": f"assign {folder}",
        "judge": f"export {folder} --annotator {_quoted(busiest)} --out tasks.csv, and import what comes back",
        "adjudicate": f"adjudicate {folder} --out queue.csv",
        "qrels": f"qrels {folder} --out qrels",
    }[progress.step]
    return f"next: kgtrec campaign {command}"


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
