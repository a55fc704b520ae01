"""What a pool holds, as text for a person and as JSON."""

from __future__ import annotations

import json

from kgtrec.pooling.summary import PoolSummary
from kgtrec.report.tables import aligned

_EACH = 10  # ranks that have a line of their own; those below share one, in steps of 1, 2 and 5 times a power of ten
_COMMON = "share of the row's triples that the column put in too\n"


def pool_text(found: PoolSummary) -> str:
    """Aligned tables: the size of a pool, what each rank and each run adds, and what runs have in common."""
    least, median, most = found.per_question
    rows = [
        ["triples", f"{found.triples:,}"],
        ["contributions", f"{found.contributions:,}"],
        ["questions", f"{found.questions:,}"],
        ["seeds, answers known before", f"{found.seeds:,}"],
        ["questions with nothing pooled", f"{found.empty_questions:,}"],
        ["triples a question, min", f"{least:,}"],
        ["triples a question, median", f"{median:,g}"],
        ["triples a question, max", f"{most:,}"],
    ]
    if round(found.stood_for) != found.triples:
        rows.insert(1, ["sampled from", f"{found.stood_for:,.0f}"])
    if found.automatic:
        automatic = sum(found.automatic.values())
        rows.append(["judged N without a person", f"{automatic:,}"])
        rows += [[f"  {rule}", f"{count:,}"] for rule, count in found.automatic.items()]
        rows.append(["for people to judge", f"{found.triples - automatic:,}"])
    parts = [aligned(rows, 1), aligned(_by_rank(found), 1), aligned(_by_run(found), 2)]
    if len(found.runs) > 1:
        parts += [_COMMON + aligned(_in_common(found), 1), aligned(_by_number(found), 1)]
    return "\n".join(parts)


def _by_rank(found: PoolSummary) -> list[list[str]]:
    new = found.new_by_depth
    bounds = [*range(1, min(_EACH, len(new)) + 1)]
    power = _EACH
    while power < len(new):
        bounds += [step * power for step in (2, 5, 10) if step * power < len(new)]
        power *= 10
    if bounds and bounds[-1] < len(new):
        bounds.append(len(new))
    rows, first = [["rank", "new triples", "so far"]], 1
    for last in bounds:
        name = str(last) if last == first else f"{first}-{last}"
        rows.append([name, f"{new[first - 1 : last].sum():,}", f"{new[:last].sum():,}"])
        first = last + 1
    return rows


def _by_run(found: PoolSummary) -> list[list[str]]:
    rows = [["run", "family", "triples", "no other run's", "share"]]
    for run, family, size, unique in zip(found.runs, found.families, found.size, found.unique, strict=True):
        rows.append([run, family or "-", f"{size:,}", f"{unique:,}", f"{unique / max(size, 1):.1%}"])
    return rows


def _in_common(found: PoolSummary) -> list[list[str]]:
    rows = [["run", *found.runs]]
    for place, run in enumerate(found.runs):
        shares = found.shared[place] / max(int(found.size[place]), 1)
        rows.append([run, *("-" if place == other else f"{share:.1%}" for other, share in enumerate(shares))])
    return rows


def _by_number(found: PoolSummary) -> list[list[str]]:
    rows = [["put in by", "triples", "share"]]
    for number, count in enumerate(found.by_runs.tolist(), 1):
        rows.append([f"{number} run{'s' if number > 1 else ''}", f"{count:,}", f"{count / max(found.triples, 1):.1%}"])
    return rows


def pool_json(found: PoolSummary) -> str:
    """The same numbers as one JSON object."""
    return json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
