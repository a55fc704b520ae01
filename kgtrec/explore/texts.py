"""Numbers and sentences of the page as they are shown; a sentence concludes only what its test supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgtrec.errors import unwarned
from kgtrec.explore.numbers import ALPHA, Pairs, Scored
from kgtrec.kernels.statistics.compact_letters import compact_letters
from kgtrec.kernels.statistics.paired_tests import outcomes, pairs
from kgtrec.measures.names import digits_of
from kgtrec.meta.comparison import n_of_difference
from kgtrec.meta.correlation import swaps
from kgtrec.report.cells import letters_of, p_text, value_text

if TYPE_CHECKING:
    from kgtrec.explore.explore import Exploration


_VERDICTS = {
    "both": "both differences are significant (p not adjusted)",
    "first": "only the first is significant (p not adjusted)",
    "second": "only the second is significant (p not adjusted)",
    "neither": "neither is significant (p not adjusted)",
    "unknown": "no test says whether they are significant",
}


def _p(value: float) -> str:
    text = p_text(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _number(value: float, measure: str) -> str:
    return value_text(value, digits=digits_of(measure), typeset=True)


def _apart(value: float) -> str:
    return value_text(value, "difference", typeset=True)


def letters(scored: Scored, own: Pairs | None) -> list[str]:
    """Return the letters of each system: those that share one do not differ."""
    n = len(scored.total)
    if own is None:
        return [""] * n
    first, second = pairs(n)
    differ = np.zeros((n, n), np.bool_)
    differ[first, second] = differ[second, first] = own.tested.adjusted[0, 0] < ALPHA
    order = np.argsort(-scored.total if scored.items.higher_is_better else scored.total, kind="stable")
    found = [""] * n
    for place, text in zip(order, letters_of(compact_letters(differ[np.ix_(order, order)])), strict=True):
        found[place] = text
    return found


def score_text(scored: Scored, own: Pairs | None) -> list[dict[str, str]]:
    """Return the value of each system, its interval, and its letters."""
    measure = scored.items.measure
    return [
        {
            "text": _number(total, measure),
            "interval": "" if np.isnan([low, high]).any() else f"[{_number(low, measure)}, {_number(high, measure)}]",
            "letters": groups,
        }
        for total, low, high, groups in zip(scored.total, *scored.ends, letters(scored, own), strict=True)
    ]


def pair_rows(found: Exploration) -> list[dict[str, Any]]:
    """Return a row for each label set, measure and pair."""
    rows = []
    first, second = pairs(len(found.systems))
    for (label, measure), scored in found.scored.items():
        own = found.pairs.get((label, measure))
        items = scored.items
        value, weight = found.values(label, measure)
        one = np.zeros(len(items), np.int32)
        falls = items.aggregate in ("inverse mean", "inverse geometric mean")
        for at, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            higher, lower, ties = (int(n[0]) for n in outcomes(items.value[a], items.value[b], one, 1))
            wins, losses = (higher, lower) if items.higher_is_better != falls else (lower, higher)
            p, low, high, better = np.nan, np.nan, np.nan, -1
            if own is not None:
                p, low, high = own.tested.adjusted[0, 0, at], own.low[at], own.high[at]
                better = int(own.better[at])
            row = {"a": a, "b": b, "label": label, "measure": found.measures.index(measure)}
            row["difference"] = scored.total[a] - scored.total[b]
            row |= {"low": low, "high": high, "p": p, "wins": wins, "losses": losses, "ties": ties, "better": better}
            row["n90"] = n_of_difference(items, value, weight, (a, b))
            row["sentence"] = _sentence(found, scored, row)
            rows.append({key: _plain(each) for key, each in row.items()})
    return rows


def _plain(value: Any) -> Any:
    """A number that JSON has; None where it is undefined or infinite."""
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value


def _sentence(found: Exploration, scored: Scored, row: dict[str, Any]) -> str:
    measure = scored.items.measure
    pair = row["a"], row["b"]
    ahead, behind = pair if row["better"] != 1 else pair[::-1]
    sign = 1 if row["better"] != 1 else -1
    names = [found.systems[at] for at in (ahead, behind)]
    numbers = [_number(scored.total[at], measure) for at in (ahead, behind)]
    under = f"under {measure} with {found.labels[row['label']].name}"
    n_pairs = len(found.systems) * (len(found.systems) - 1) // 2
    holm = f", Holm over {n_pairs} pairs" * (n_pairs > 1)
    tested = (
        f"p {'' if (text := p_text(row['p'])).startswith('<') else '= '}{text}{holm}" if row["p"] == row["p"] else ""
    )
    ends = sorted((sign * row["low"], sign * row["high"]))
    interval = f", 95% interval [{_apart(ends[0])}, {_apart(ends[1])}]" if row["low"] == row["low"] else ""
    apart = f"{numbers[0]} and {numbers[1]}, a difference of {_apart(sign * row['difference'])}{interval}"
    if row["better"] >= 0:
        return f"{names[0]} is better than {names[1]} {under}: {apart} ({tested})."
    if tested:
        return f"{names[0]} and {names[1]} do not differ significantly {under}: {apart} ({tested})."
    return f"No test says which of {names[0]} and {names[1]} is better {under}: {apart}."


def swapped_rows(found: Exploration) -> list[dict[str, Any]]:
    """Return the pairs that another label set puts in the opposite order, as ``kgtrec meta correlate --swaps``."""
    rows = []
    for label in range(1, len(found.labels)):
        both = [
            {measure: found.scored[at, measure].items for measure in found.measures if (at, measure) in found.scored}
            for at in (0, label)
        ]
        measures = [measure for measure in both[0] if measure in both[1]]
        if not measures or len(found.systems) < 2:
            continue
        names = found.labels[0].name, found.labels[label].name
        with unwarned():
            swapped = swaps(both[0], both[1], measures=measures, names=names)
        for row in swapped.to_table().to_pylist():
            gaps = [
                f"by {_apart(abs(row[key]))} ({_p(p)})"
                for key, p in (("first", row.get("first_p", np.nan)), ("second", row.get("second_p", np.nan)))
            ]
            sentence = (
                f"Under {row['measure']}, {row['better']} is ahead of {row['worse']} with {names[0]}, {gaps[0]}, and "
                f"behind it with {names[1]}, {gaps[1]}; {_VERDICTS[row.get('significant', 'unknown')]}."
            )
            pair = [found.systems.index(row[key]) for key in ("better", "worse")]
            rows.append(
                {
                    "a": pair[0],
                    "b": pair[1],
                    "label": label,
                    "measure": found.measures.index(row["measure"]),
                    "sentence": sentence,
                }
            )
    return rows
