"""Numbers and sentences of the page as they are shown; a sentence concludes only what its test supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgtrec.errors import unwarned
from kgtrec.explore.numbers import ALPHA, CONFIDENCE, Floats, Scored
from kgtrec.kernels.statistics.compact_letters import compact_letters
from kgtrec.kernels.statistics.paired_tests import pairs
from kgtrec.measures.names import digits_of
from kgtrec.meta.comparison import n_of_difference, outcomes
from kgtrec.meta.correlation import swaps
from kgtrec.report.cells import letters_of, p_text, value_text

_VERDICTS = {
    "both": "both differences are significant (p not adjusted)",
    "first": "only the first is significant (p not adjusted)",
    "second": "only the second is significant (p not adjusted)",
    "neither": "neither is significant (p not adjusted)",
    "unknown": "no test says whether they are significant",
}


def letters(scored: Scored) -> list[str]:
    """Return the letters of each system: those that share one do not differ."""
    n = len(scored.total)
    differ, found = np.zeros((n, n), np.bool_), [""] * n
    if scored.tested is not None:
        first, second = pairs(n)
        differ[first, second] = differ[second, first] = scored.p < ALPHA
        order = np.argsort(-scored.total if scored.items.higher_is_better else scored.total, kind="stable")
        for place, text in zip(order, letters_of(compact_letters(differ[np.ix_(order, order)])), strict=True):
            found[place] = text
    return found


def score_texts(scored: Scored) -> list[dict[str, str]]:
    """Return the value of each system, its interval, and its letters."""
    rows = []
    for groups, *numbers in zip(letters(scored), scored.total, *scored.ends, strict=True):
        text, low, high = (_number(number, scored) for number in numbers)
        interval = "" if np.isnan(numbers).any() else f"[{low}, {high}]"
        rows.append({"text": text, "interval": interval, "letters": groups})
    return rows


def pair_rows(scored: Scored, value: Floats, weight: Floats, under: str) -> list[dict[str, Any]]:
    """Return a row for each pair of systems.

    Parameters
    ----------
    scored : Scored
    value, weight : arrays
        Of the questions, as :func:`kgtrec.meta.comparison.per_question` gives them.
    under : str
        The label set, for sentences.
    """
    rows, items = [], scored.items
    for at, (a, b) in enumerate(np.transpose(pairs(len(items.systems))).tolist()):
        wins, losses, ties = (int(n[0]) for n in outcomes(items, np.zeros(len(items), np.int32), 1, (a, b)))
        numbers = {"difference": scored.total[a] - scored.total[b], "low": scored.low[at], "high": scored.high[at]}
        row: dict[str, Any] = {"a": a, "b": b} | {key: finite(own) for key, own in numbers.items()}
        row |= {"p": finite(scored.p[at]), "wins": wins, "losses": losses, "ties": ties}
        row |= {"better": int(scored.better[at]), "n90": n_of_difference(items, value, weight, (a, b))}
        rows.append(row | {"sentence": _sentence(scored, row, under)})
    return rows


def finite(value: float) -> float | None:
    """Return a number as JSON has it; None where it is undefined or infinite."""
    return float(value) if np.isfinite(value) else None


def _sentence(scored: Scored, row: Mapping[str, Any], under: str) -> str:
    sign = -1 if row["better"] == 1 else 1
    ahead, behind = (row["a"], row["b"])[::sign]
    one, other = (scored.items.systems[at] for at in (ahead, behind))
    n_pairs = len(scored.p)
    tested = "" if row["p"] is None else f" ({_p(row['p'])}{f', Holm over {n_pairs} pairs' * (n_pairs > 1)})"
    interval = ""
    if row["low"] is not None:
        low, high = sorted((sign * row["low"], sign * row["high"]))
        interval = f", {100 * CONFIDENCE:g}% interval [{_apart(low)}, {_apart(high)}]"
    apart = scored.total[ahead] - scored.total[behind]
    numbers = f"{_number(scored.total[ahead], scored)} and {_number(scored.total[behind], scored)}"
    under = f"under {scored.items.measure} with {under}: {numbers}, a difference of {_apart(apart)}{interval}{tested}."
    if row["better"] >= 0:
        return f"{one} is better than {other} {under}"
    if tested:
        return f"{one} and {other} do not differ significantly {under}"
    return f"No test says which of {one} and {other} is better {under}"


def swapped_rows(
    first: Mapping[str, Scored], second: Mapping[str, Scored], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the pairs that two label sets put in opposite order, as ``kgtrec meta correlate --swaps``."""
    both = [
        {name: own.items for name, own in each.items() if name in first and name in second} for each in (first, second)
    ]
    if not both[0] or len(next(iter(first.values())).total) < 2:
        return []
    with unwarned():
        swapped = swaps(*both, names=(names[0], names[1])).to_table().to_pylist()
    rows = []
    for row in swapped:
        gaps = [f"by {_apart(abs(row[key]))} ({_p(row.get(f'{key}_p', np.nan))})" for key in ("first", "second")]
        sentence = (
            f"Under {row['measure']}, {row['better']} is ahead of {row['worse']} with {names[0]}, {gaps[0]}, and "
            f"behind it with {names[1]}, {gaps[1]}; {_VERDICTS[row.get('significant', 'unknown')]}."
        )
        systems = first[row["measure"]].items.systems
        a, b = systems.index(row["better"]), systems.index(row["worse"])
        rows.append({"a": a, "b": b, "measure": row["measure"], "sentence": sentence})
    return rows


def _p(value: float) -> str:
    text = p_text(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def _number(value: float, scored: Scored) -> str:
    return value_text(value, digits=digits_of(scored.items.measure), typeset=True)


def _apart(value: float) -> str:
    return value_text(value, "difference", typeset=True)
