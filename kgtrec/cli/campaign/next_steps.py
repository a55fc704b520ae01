"""What commands say of a campaign: how much work it is, what somebody could still edit, and the next step."""

from __future__ import annotations

import shlex

from kgtrec.campaign.track import CampaignProgress
from kgtrec.data.judgements import STATES, UNDRAWN
from kgtrec.errors import counted, legible, some_of

_NAMED = 3
_MUCH = 20_000  # triples from which on two people have work for months


def notes_text(progress: CampaignProgress) -> str:
    """Name the templates and sources that somebody could still edit, a line each.

    Empty before the campaign has the files to edit.
    """
    if progress.step == "init":
        return ""
    notes = []
    if lacking := progress.without_template:
        notes.append(
            "relations without a template of their own are asked about in general words: "
            f"{some_of([legible(name) for name in lacking], _NAMED)}; edit templates.tsv"
        )
    if progress.any_host:
        notes.append("sources.txt lists no host, so that any https page counts as a source")
    return "\n".join(notes)


def work_text(triples: int, per_triple: int) -> str:
    """Say how much there is for people to judge.

    Examples
    --------
    >>> work_text(58918, 2)
    '58,918 triples for people to judge, 117,836 verdicts with two annotators each'
    """
    each = {1: "one annotator", 2: "two annotators", 3: "three annotators"}.get(per_triple, f"{per_triple} annotators")
    return (
        f"{counted(triples, 'triple')} for people to judge, {counted(triples * per_triple, 'verdict')} with {each} each"
    )


def much_text(triples: int) -> str:
    """Say what to do where there is more to judge than people will; empty where there is not."""
    if triples <= _MUCH:
        return ""
    return (
        "note: that is more than most campaigns can judge; kgtrec pool --strategy two-level --share 0.2 lets people "
        "judge a sample, for estimates; --budget N pools the N triples that matter most, and --known FILE pools for a "
        "sample of the test triples"
    )


def next_text(progress: CampaignProgress, folder: str) -> str:
    """Say what to do next, with ``folder`` as a shell takes it."""
    fewer = f"one is enough with kgtrec campaign assign {folder} --per-triple 1"
    command = {
        "init": f"init {folder} --annotator NAME --annotator NAME --adjudicator NAME; {fewer}",
        "people": f"init {folder} --annotator NAME, for each triple needs {progress.per_triple}; {fewer}",
        "assign": f"assign {folder}",
        "judge": _export(progress, folder),
        "adjudicate": f"adjudicate {folder} --out queue.csv",
        "qrels": f"qrels {folder} --out qrels",
    }[progress.step]
    if progress.step == "qrels" and STATES[UNDRAWN] in progress.relations.column_names:
        return f"next: kgtrec evaluate {folder} RUNS"
    return f"next: kgtrec campaign {command}"


def _export(progress: CampaignProgress, folder: str) -> str:
    """Where people judge, or to whom tasks go: the one who has some left, or all of those."""
    busy = [name for name, n_tasks in progress.to_do.items() if n_tasks]
    name, file, whose = "NAME", "NAME.csv", f" for each annotator ({some_of([legible(name) for name in busy], _NAMED)})"
    if len(busy) == 1:
        name, file, whose = shlex.quote(busy[0]), "tasks.csv", ""
    return f"serve {folder}, or export {folder} --annotator {name} --out {file}{whose}, and import what comes back"
