"""Two systems side by side, as text: one page, CSV, JSON, LaTeX."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from kgtrec.data.table import lower_text
from kgtrec.meta.comparison import AnswerPlaces, Comparison, GroupOutcomes, QuestionDifference
from kgtrec.report.cells import difference_text, label_text, measure_text, number_text, p_text
from kgtrec.report.records import table_csv, tables_json
from kgtrec.report.tables import aligned, booktabs

TABLES = ("measures", "side", "category", "relation", "questions")
_ANSWERS_SHOWN = 3  # of a question


def comparison_text(found: Comparison, *, relations: int = 10) -> str:
    """One page: measures, sides, categories, the relations that add most to the difference, and questions."""
    parts = [_head(found), aligned(_measures(found), 1)]
    place = found.measures.index(found.by)
    for kind in ("side", "category"):
        if kind in found.groups:
            rows = _group_rows(found, kind, _all(found.groups[kind]))
            parts += [f"{found.by} by {kind}\n{aligned(rows, 1)}"]
    if "relation" in found.groups and relations:
        parts.append(_relations(found, place, relations))
    if found.questions:
        parts.append(_questions(found))
    return "\n".join(parts)


def comparison_latex(found: Comparison, table: str = "measures") -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the measures, or for the measure ``by`` of one of ``TABLES``."""
    if table == "measures":
        return booktabs(_measures(found), 1)
    if table == "questions":
        return booktabs(_question_rows(found), 4)
    return booktabs(_group_rows(found, table, _all(found.groups[table])), 1)


def comparison_csv(found: Comparison, table: str = "measures") -> str:
    """One of ``TABLES``, a header, values at full precision; an undefined value is an empty cell."""
    return table_csv(_tables(found)[table])


def comparison_json(found: Comparison) -> str:
    """An object of the two names and of all tables, each a list of records; an undefined value is null."""
    about = {"first": found.first, "second": found.second, "by": found.by, "confidence": found.confidence}
    return tables_json(about, _tables(found))


def tables_of(found: Comparison) -> tuple[str, ...]:
    """Which of ``TABLES`` there are: without topics there are no groups."""
    return tuple(_tables(found))


def _tables(found: Comparison) -> dict[str, pa.Table]:
    groups = {kind: found.group_table(kind) for kind in found.groups}
    return {"measures": found.to_table(), **groups, "questions": found.question_table()}


def _head(found: Comparison) -> str:
    first, second = label_text(found.first), label_text(found.second)
    return (
        f"{first} against {second}; a difference is {first} less {second}, a win an answer (micro) or question on "
        f"which {first} is better{lower_text(found.measures, found.higher_is_better)}\n"
    )


def _measures(found: Comparison) -> list[list[str]]:
    percent = f"{found.confidence * 100:g}%"
    header = ["measure", label_text(found.first), label_text(found.second), "difference", f"{percent} from", "to"]
    rows = [[*header, "better", "d_z", "p", "p, clustered", "wins", "losses", "ties"]]
    for place, name in enumerate(found.measures):
        numbers = [measure_text(value, name) for value in found.value[place]]
        ends = (found.difference[place], found.low[place], found.high[place])
        counts = (found.wins[place], found.losses[place], found.ties[place])
        rows.append(
            [name, *numbers, *(difference_text(end) for end in ends), _system(found.better[place]),
             number_text(found.d_z[place], 3),
             p_text(found.p[place]), p_text(found.p_clustered[place]), *(f"{count:,}" for count in counts)]
        )  # fmt: skip
    return rows


def _system(name: str) -> str:
    return label_text(name) if name else "-"


def _all(groups: GroupOutcomes) -> list[int]:
    return list(range(len(groups.labels)))


def _group_rows(found: Comparison, kind: str, shown: list[int]) -> list[list[str]]:
    """The measure ``by`` on some groups of one kind."""
    groups, place = found.groups[kind], found.measures.index(found.by)
    items = found.items[place]
    header = [kind, items, label_text(found.first), label_text(found.second), "difference", "better"]
    rows = [[*header, "wins", "losses", "ties"]]
    better = found.better_on(kind)[place]
    for group in shown:
        if not groups.n_items[place, group]:
            continue
        counts = (groups.wins, groups.losses, groups.ties)
        rows.append(
            [
                label_text(groups.labels[group].as_py()), f"{groups.n_items[place, group]:,}",
                *(measure_text(value, found.by) for value in groups.value[place, group]),
                difference_text(groups.difference[place, group]), _system(better[group]),
                *(f"{count[place, group]:,}" for count in counts),
            ]
        )  # fmt: skip
    return rows


def _relations(found: Comparison, place: int, most: int) -> str:
    """How many relations each system is ahead on, and those that add most to the difference of the whole."""
    groups = found.groups["relation"]
    known = groups.n_items[place] > 0
    apart = groups.difference[place] * (1 if found.higher_is_better[place] else -1)
    level = np.abs(apart) <= 1e-12 * np.abs(groups.value[place]).max(axis=1)
    ahead, behind = ((known & ~level & side).sum() for side in (apart > 0, apart < 0))
    weight = np.abs(groups.share[place]) if not np.isnan(groups.share[place]).all() else np.abs(apart)
    order = [int(group) for group in np.argsort(-weight, kind="stable") if known[group]][:most]
    names = label_text(found.first), label_text(found.second)
    title = (
        f"{found.by} by relation: {names[0]} is ahead on {ahead:,} relations, {names[1]} on {behind:,}, "
        f"level on {(known & level).sum():,}"
    )
    if len(order) < known.sum():
        title += f"; the {len(order):,} that add most to the difference"
    return f"{title}\n{aligned(_group_rows(found, 'relation', order), 1)}"


def _questions(found: Comparison) -> str:
    title = f"questions that differ most by {found.by}, with the ranks of their answers in each system"
    return f"{title}\n{aligned(_question_rows(found), 4)}"


def _question_rows(found: Comparison) -> list[list[str]]:
    rows = [["question", "asks for", "answers", "better", label_text(found.first), label_text(found.second)]]
    for one in found.questions:
        values = (measure_text(value, found.by) for value in one.value)
        rows.append([label_text(one.question), _asked(one), f"{len(one.answers):,}", label_text(one.better), *values])
        shown = one.answers[:_ANSWERS_SHOWN]
        rows += [["", "  " + _answer(own), "", "", _rank(own.first), _rank(own.second)] for own in shown]
        if len(one.answers) > _ANSWERS_SHOWN:
            rows.append(["", f"  and {len(one.answers) - _ANSWERS_SHOWN:,} more", "", "", "", ""])
    return rows


def _asked(one: QuestionDifference) -> str:
    if not one.side:
        return "-"
    anchor, relation = _entity(one.anchor, one.anchor_name), label_text(one.relation)
    return f"(?, {relation}, {anchor})" if one.side == "head" else f"({anchor}, {relation}, ?)"


def _answer(answer: AnswerPlaces) -> str:
    return _entity(answer.entity, answer.name)


def _entity(label: str, name: str) -> str:
    return label_text(name) if name else label_text(label)


def _rank(rank: float) -> str:
    return "-" if math.isnan(rank) else f"{rank:,.10g}"
