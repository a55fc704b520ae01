"""How far a campaign is, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kgtrec.campaign.track import Progress
from kgtrec.data.decisions import STATES
from kgtrec.data.judgements import NO, UNSURE, YES
from kgtrec.errors import legible
from kgtrec.report.tables import aligned

_NAMED = 3
_MUCH = 20_000  # triples from which on two people have work for months


def progress_text(progress: Progress, *, per_relation: bool = False) -> str:
    """Aligned tables: triples by state, in all or also per relation, then what each annotator has done."""
    parts = [aligned(_states(progress, per_relation), 1)]
    if progress.annotators:
        parts.append(aligned(_annotators(progress), 2))
    if notes := notes_text(progress):
        parts.append(notes + "\n")
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


def notes_text(progress: Progress) -> str:
    """What people are asked and may answer by that somebody could still edit, a line each.

    Empty before the campaign has the files to edit.
    """
    if progress.step == "init":
        return ""
    notes = [_without_template(progress)] if progress.without_template else []
    if progress.any_host:
        notes.append("sources.txt lists no host, so that any https page counts as a source")
    return "\n".join(notes)


def _without_template(progress: Progress) -> str:
    """One line about the relations that have no template of their own."""
    lacking = progress.without_template
    return (
        f"{len(lacking):,} of {len(progress.relations):,} relations have no template of their own and are asked for in "
        f"general words: {_some(lacking)}; edit templates.tsv"
    )


def loads_text(progress: Progress) -> str:
    """What each annotator has been given, has judged and has still to do."""
    return aligned([row[:1] + row[2:5] for row in _annotators(progress)], 1)


def work_text(triples: int, per_triple: int) -> str:
    """How much there is for people to judge.

    Examples
    --------
    >>> work_text(58918, 2)
    '58,918 triples for people to judge, 117,836 verdicts with two annotators each'
    """
    each = {1: "one annotator", 2: "two annotators", 3: "three annotators"}.get(per_triple, f"{per_triple} annotators")
    return (
        f"{triples:,} triple{'' if triples == 1 else 's'} for people to judge, {triples * per_triple:,} "
        f"verdict{'' if triples * per_triple == 1 else 's'} with {each} each"
    )


def much_text(triples: int) -> str:
    """What to do where there is more to judge than people will; empty where there is not."""
    if triples <= _MUCH:
        return ""
    return (
        "note: that is more than most campaigns can judge; kgtrec pool --budget N pools the N triples that matter "
        "most, and --seeds FILE pools for a sample of the test triples"
    )


def next_text(progress: Progress, folder: str) -> str:
    """What to do next, with ``folder`` as a shell takes it."""
    command = {
        "init": f"init {folder} --annotator NAME --annotator NAME --adjudicator NAME",
        "people": f"init {folder} --annotator NAME, for {progress.per_triple} have to judge each triple",
        "assign": f"assign {folder}",
        "judge": _export(progress, folder),
        "adjudicate": f"adjudicate {folder} --out queue.csv",
        "qrels": f"qrels {folder} --out qrels",
    }[progress.step]
    return f"next: kgtrec campaign {command}"


def _export(progress: Progress, folder: str) -> str:
    """To whom tasks go: the one who has some left, or all of those."""
    import shlex

    busy = [progress.annotators[place] for place in np.flatnonzero(progress.to_do)]
    if len(busy) == 1:
        return f"export {folder} --annotator {shlex.quote(busy[0])} --out tasks.csv, and import what comes back"
    everybody = f"for each annotator ({_some(busy)})"
    return f"export {folder} --annotator NAME --out NAME.csv {everybody}, and import what comes back"


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(legible, names[:_NAMED])) + (
        f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    )
