"""Which pairs of systems a measure can tell apart, as text: tables, CSV, JSON, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kgtrec.meta.power import Power
from kgtrec.report.cells import label_text, number_text
from kgtrec.report.records import table_csv, tables_json
from kgtrec.report.tables import aligned, booktabs

_NAMES = {"t": "t", "clustered": "t, clustered", "bootstrap": "bootstrap", "tukey": "Tukey HSD"}
_SMALL = 1e-4  # below which a p-value is told as such


def power_text(found: Power, *, pairs: bool = False) -> str:
    """What was tested, in words, and aligned tables: a row per measure and test; ``pairs``: one per pair too."""
    parts = [_head(found, pairs=pairs), aligned(_summary(found), 2)]
    if pairs:
        parts += [f"{measure}\n{aligned(_pairs(found, place), 2)}" for place, measure in enumerate(found.measures)]
    return "\n".join(parts)


def power_latex(found: Power, *, pairs: bool = False) -> str:
    r"""A booktabs table (``\usepackage{booktabs}``) of the measures; ``pairs``: of their pairs instead, one each."""
    if not pairs:
        return booktabs(_summary(found), 2)
    return "\n".join(
        f"% {label_text(measure)}\n{booktabs(_pairs(found, place), 2)}" for place, measure in enumerate(found.measures)
    )


def power_csv(found: Power, *, pairs: bool = False) -> str:
    """A line per measure and test, or per measure, pair and test; full precision; an undefined value is empty."""
    return table_csv(found.to_table() if pairs else found.summary_table())


def power_json(found: Power) -> str:
    """An object: options, ``measures`` (a record per measure and test), ``pairs``; an undefined value is null."""
    about = {"systems": list(found.systems), "alpha": found.alpha, "repeats": found.repeats}
    tables = {"measures": found.summary_table(), "pairs": found.to_table()}
    return tables_json(about, tables)


def p_text(p: float, least: float = _SMALL) -> str:
    """A p-value as a person reads it; below ``least``, such as 1 / samples, it is not told from 0.

    Examples
    --------
    >>> p_text(0.03), p_text(1e-30), p_text(0.0, 0.001), p_text(float("nan"))
    ('0.0300', '<0.0001', '<0.001', '-')
    """
    if math.isnan(p):
        return "-"
    return f"<{least:g}" if p < least else f"{p:.4f}"


def difference_text(value: float) -> str:
    """A difference with at least three digits that count.

    Examples
    --------
    >>> difference_text(-45.006902), difference_text(0.0176312), difference_text(0.0), difference_text(float("nan"))
    ('-45.01', '0.0176', '0.0000', '-')
    """
    if math.isnan(value):
        return "-"
    digits = 2 if abs(value) >= 10 else 4
    if 0 < abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def lower_text(measures: Sequence[str], higher_is_better: Sequence[bool]) -> str:
    """What to mind of measures where lower is better, as the end of a sentence; nothing if there are none.

    Examples
    --------
    >>> lower_text(["micro.MR", "AP"], [False, True])
    '; lower is better under micro.MR, so a positive difference is in favour of the second'
    """
    lower = [name for name, rising in zip(measures, higher_is_better, strict=True) if not rising]
    return f"; lower is better under {', '.join(lower)}, so a positive difference is in favour of the second" * bool(
        lower
    )


def _head(found: Power, *, pairs: bool) -> str:
    n_pairs = found.difference.shape[1]
    lines = [
        f"{n_pairs:,} pair{'s' * (n_pairs != 1)} of {len(found.systems):,} systems; two-tailed, alpha {found.alpha:g}; "
        f"area: of the curve of p-values, less is better{lower_text(found.measures, found.higher_is_better) * pairs}"
    ]
    drawn = {"bootstrap": "bootstrap samples", "tukey": "shuffles"}
    resampled = [name for test, name in drawn.items() if test in found.tests]
    if resampled:
        lines.append(f"{found.repeats:,} {' and '.join(resampled)}")
    scaled = {f"{name} ({scale})" for name, scale in zip(found.measures, found.scale, strict=True) if scale != "value"}
    if scaled:
        lines.append(f"differences are those of what is averaged: {', '.join(sorted(scaled))}")
    return "\n".join(lines) + "\n"


def _shown(found: Power, measure: int) -> list[int]:
    """The tests of a measure that say something of their own: over questions nothing is left to be clustered."""
    same = found.items[measure] == "questions" and "t" in found.tests
    return [place for place, test in enumerate(found.tests) if not (same and test == "clustered")]


def _summary(found: Power) -> list[list[str]]:
    undefined = bool(found.undefined.any())
    below = f"p < {found.alpha:g}"
    header = [
        "measure",
        "test",
        "items",
        below,
        "share",
        "adjusted",
        "share",
        "area",
        "smallest found",
        "largest missed",
    ]
    rows = [[*header, *(["undefined"] if undefined else [])]]
    counts = (found.p < found.alpha).sum(axis=2), (found.adjusted < found.alpha).sum(axis=2)
    for place, measure in enumerate(found.measures):
        for test in _shown(found, place):
            cells = [
                measure, _NAMES[found.tests[test]], f"{found.n_items[place]:,}",
                f"{counts[0][place, test]:,}", _percent(found.share[place, test]),
                f"{counts[1][place, test]:,}", _percent(found.share_adjusted[place, test]),
                p_text(found.area[place, test]), difference_text(found.smallest[place, test]),
                difference_text(found.largest_missed[place, test]),
            ]  # fmt: skip
            rows.append([*cells, *([f"{found.undefined[place, test]:,}"] if undefined else [])])
    return rows


def _pairs(found: Power, measure: int) -> list[list[str]]:
    """A row per pair, the surest last as on the curve."""
    tests = _shown(found, measure)
    names = [name for test in tests for name in _headings(found.tests[test])]
    rows = [["first", "second", "difference", "better", "d_z", "d pooled", *names]]
    speaking = found.tests.index(found.speaking)
    descending = np.argsort(-found.p[measure, speaking], kind="stable")  # NaN last
    first, second = found.pairs
    for pair in descending:
        cells = [label_text(found.systems[first[pair]]), label_text(found.systems[second[pair]])]
        better = found.better[measure, pair]
        cells += [difference_text(found.difference[measure, pair]), label_text(better) if better else "-"]
        cells += [number_text(size[measure, pair], 3) for size in (found.d_z, found.d_pooled)]
        for test in tests:
            least = max(_SMALL, 1 / found.repeats) if found.tests[test] in ("bootstrap", "tukey") else _SMALL
            cells.append(p_text(found.p[measure, test, pair], least))
            if found.tests[test] != "tukey":
                cells.append(p_text(found.adjusted[measure, test, pair], least))
        rows.append(cells)
    return rows


def _headings(test: str) -> list[str]:
    name = {"t": "p", "clustered": "p, clustered", "bootstrap": "ASL", "tukey": "Tukey p"}[test]
    return [name] if test == "tukey" else [name, "Holm"]


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"
