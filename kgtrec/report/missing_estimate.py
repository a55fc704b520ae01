"""Missing labels, estimated: text, CSV, JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from kgtrec.openworld.estimate import FEWEST_FOUND, METHODS, MissingEstimate
from kgtrec.report.cells import measure_text, number_text
from kgtrec.report.records import table_csv, tables_json
from kgtrec.report.tables import aligned

#: what a CSV file can hold, by name
TABLES: Mapping[str, Callable[[MissingEstimate], pa.Table]] = {
    "missing": MissingEstimate.missing_table,
    "scores": MissingEstimate.scores_table,
    "separations": MissingEstimate.separations_table,
}
_ASSUMES = {
    "found": "what was found is all there is",
    "runs": "systems find independently of each other",
    "labels": "labels are a random sample of what is true",
    "truth": "",
}
_ALL_JUDGED = 0.995


def estimate_text(found: MissingEstimate) -> str:
    """What was counted, and aligned tables: answers that lack a label, scores, and questions that separate systems."""
    parts = ["\n".join(_counted(found)) + "\n", _missing(found)]
    parts += [_scores(found, place) for place in range(len(found.measures))]
    if found.separations:
        parts.append(_separations(found))
    return "\n".join(parts)


def estimate_csv(found: MissingEstimate, table: str) -> str:
    """One of ``TABLES``, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(TABLES[table](found))


def estimate_json(found: MissingEstimate) -> str:
    """All tables and what they were made of; an undefined value is null."""
    about = {
        name: getattr(found, name)
        for name in (
            "depth", "n_questions", "n_labels", "found_labels", "found_missing", "set_aside", "label_pairs",
            "independent", "by_fact", "method", "p", "confidence",
        )
    }  # fmt: skip
    about["missed_by_runs"] = None if math.isnan(found.missed_by_runs) else found.missed_by_runs
    judged = [None if math.isnan(share) else share for share in found.judged.tolist()]
    about["judged"] = dict(zip(found.systems, judged, strict=True))
    return tables_json(about, {name: table(found) for name, table in TABLES.items()})


def _counted(found: MissingEstimate) -> list[str]:
    lines = [
        f"{_several(found.n_questions, 'question')}, {_several(found.n_labels, 'label')}; to rank {found.depth:,}, "
        f"{_several(len(found.systems), 'system')} found {found.found_labels:,} of the labels "
        f"({found.found_labels / found.n_labels:.1%}) and {_several(found.found_missing, 'true answer')} without a "
        "label"
    ]
    known = found.judged[~np.isnan(found.judged)]
    if len(known) and known.min() < _ALL_JUDGED:
        lines.append(
            f"judged of a system's first {found.depth:,}: {known.min():.1%} to {known.max():.1%}; an unjudged "
            "candidate counts as not true, so that all estimates are too low"
        )
    elif not len(known):
        lines.append(
            "how much is judged is not known (answer ranks, or nothing judged wrong); an unjudged candidate counts as "
            "not true"
        )
    if found.set_aside:
        lines.append(f"set aside: {_several(found.set_aside, 'true answer')} without a label that no system found")
    lines.append(
        f'"labels" depends on {_several(found.label_pairs, "pair")} of a found label and another label of its question'
        + ("" if found.label_pairs else ", so that it says nothing")
    )
    if math.isnan(found.missed_by_runs) and len(found.systems) > 1:
        lines.append(
            f"fewer than {FEWEST_FOUND} labels are found, too few to tell whether systems find independently: "
            '"runs" has no interval'
        )
    elif not found.independent and len(found.systems) > 1:
        missed = found.n_labels - found.found_labels
        which = "low" if missed > found.missed_by_runs else "high"
        lines.append(
            f'"runs" would have the systems miss {_several(found.missed_by_runs, "label")}, and they miss {missed:,}: '
            f"they do not find independently, and its numbers are too {which} and have no interval"
        )
    labelled = "facts" if found.by_fact else "answers of these questions"
    lines.append(
        f"{found.confidence * 100:g}% intervals: over which {labelled} have labels; of completed, over questions drawn "
        "anew; a score that too few of these carry has none"
    )
    if not np.isnan(found.estimated.value).all():
        lines.append(
            "estimated is too low, and filtered by less, where true answers that no system found to rank "
            f"{found.depth:,} stand above labels; their intervals do not allow for it"
        )
    return lines


def _several(number: float, noun: str) -> str:
    return f"{number:,.0f} {noun}{'' if round(number) == 1 else 's'}"


def _missing(found: MissingEstimate) -> str:
    rows = [["method", "assumes", "true answers", "without a label", "beta"]]
    for row in found.missing_table().to_pylist():
        name = row["method"]
        cells = [
            _within(row, "answers", lambda value: "-" if math.isnan(value) else f"{value:,.0f}", name),
            *(_within(row, key, number_text, name) for key in ("share", "missing")),
        ]
        rows.append([name, _ASSUMES[name], *cells])
    return aligned(rows, 2)


def _within(row: Mapping[str, float], key: str, shown: Callable[[float], str], name: str = "") -> str:
    """A value and its interval; the truth has none, nor has what is unknown."""
    value = shown(row[key])
    if name == "truth" or math.isnan(row[f"{key}_low"]):
        return value
    return f"{value} [{shown(row[f'{key}_low'])}, {shown(row[f'{key}_high'])}]"


def _scores(found: MissingEstimate, measure: int) -> str:
    name = found.measures[measure]
    names = ["sparse", "filtered", "completed"]
    names += [key for key in ("estimated", "strength") if not np.isnan(getattr(found, key).value).all()]
    header = [*names, *(("true filtered", "true") if found.knows_truth else ())]
    rows = [[name, *header]]
    for row in found.scores_table().to_pylist():
        if row["measure"] == name:
            cells = [measure_text(row["sparse"], name)]
            cells += [_within(row, key, lambda value: measure_text(value, name)) for key in names[1:]]
            if found.knows_truth:
                cells += [measure_text(row[key], name) for key in ("true_filtered", "true")]
            rows.append([row["system"], *cells])
    return aligned(rows, 1)


def _separations(found: MissingEstimate) -> str:
    rows = [["measure", "higher", "lower", "difference", "questions by data", "by theory"]]
    for one in found.separations:
        needed = ("-" if count is None else f"{count:,}" for count in (one.by_data, one.by_theory))
        rows.append([one.measure, one.higher, one.lower, measure_text(one.difference, one.measure), *needed])
    is_known = not math.isnan(found.missing.value[METHODS.index(found.method)])
    title = f"questions that keep a wrong order of sparse scores below {found.p:g}, here {found.n_questions:,}; " + (
        f"theory with beta by {found.method}\n" if is_known else "no theory, as beta is not known\n"
    )
    return title + aligned(rows if is_known else [row[:-1] for row in rows], 3)
