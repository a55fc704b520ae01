"""What the results of a study support: a record for each finding, with the p-values or the range that it rests on.

A macro of ``sentences.jinja`` words each kind. What is not tested, or has no range, is no finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from kgtrec.measures.names import better_of, digits_of
from kgtrec.meta.power import MAIN_TESTS
from kgtrec.report import figures
from kgtrec.report.cells import count_text, number_text, p_text
from kgtrec.study.config import Study

STABLE = 0.9  # with at least this tau, a sample ranks systems almost as the whole test set does
Row = dict[str, Any]
Finding = SimpleNamespace  # kind: the macro that words it; the others are facts, which that macro names


def sentence(finding: Finding) -> str:
    """Return the words of a finding.

    Examples
    --------
    >>> sentence(Finding(kind="pooled", labels="C", depth=10, triples=200, positives=50))
    'For C, 200 triples were pooled down to depth 10; 50 of them (25.0%) were judged true.'
    """
    return " ".join(str(getattr(_words(), finding.kind)(finding)).split())


@cache
def _words() -> Any:
    from jinja2 import Environment, StrictUndefined

    words = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701  # nosec B701 # text, escaped later
    words.filters |= {
        "count": count_text,
        "number": lambda value, digits=3: number_text(value, digits, typeset=True),
        "score": lambda value, measure: number_text(value, digits_of(measure), typeset=True),
        "p": _p_text,
        "each": lambda rows, macro: [macro(*row) for row in rows],
        "listed": listed,
        "test": name_of_test,
        "correlation": figures.CORRELATIONS.__getitem__,
    }
    source = (files("kgtrec.study") / "sentences.jinja").read_text(encoding="utf-8")
    return words.from_string(source, globals={"STABLE": STABLE}).module


def _p_text(p: float) -> str:
    text = p_text(p)
    return "no p-value" if math.isnan(p) else f"p {text}" if text.startswith("<") else f"p = {text}"


def name_of_test(test: str) -> str:
    """Return the name of a test, and how its p-values are adjusted."""
    return figures.TESTS[test] + ("" if test == "tukey" else ", adjusted by Holm's method")


def listed(names: Sequence[str]) -> str:
    """Return a few names, and the number of the others."""
    shown = names if len(names) < 5 else [*names[:3], f"{len(names) - 3:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


class Findings:
    """What a study supports: each method gives the findings of one part of the report."""

    def __init__(self, study: Study) -> None:
        self.study, self.main = study, study.main[0]
        #: label set -> measure -> system -> score
        self.scores: dict[str, dict[str, dict[str, float]]] = {}
        #: label set -> the test of its systems; measure -> pair of systems -> adjusted p
        self.tests: dict[str, str] = {}
        self.p: dict[str, dict[str, dict[frozenset[str], float]]] = {}
        for labels, table in study.part("scores").items():
            own = self.scores[labels] = {}
            for row in table.to_pylist():
                own.setdefault(row["measure"], {})[row["system"]] = _float(row["value"])
        for labels, table in study.part("pairs").items():
            for row in of_main_test(table):
                tested = self.p.setdefault(labels, {})
                self.tests[labels] = row["test"]
                pair = frozenset((row["first"], row["second"]))
                tested.setdefault(row["measure"], {})[pair] = _float(row["p_adjusted"])

    def best_systems(self) -> Iterator[Finding]:
        """Yield the best system by the main measure of each label set that is tested, joined where it is the same."""
        found: dict[str, Finding] = {}
        unsettled = []
        for labels, scores in self.scores.items():
            own = {name: value for name, value in scores[self.main].items() if not math.isnan(value)}
            tests = self.p.get(labels, {}).get(self.main)
            if tests is None or len(own) < 2:
                continue
            best, *others = sorted(own, key=own.__getitem__, reverse=better_of(self.main) == "higher")
            p = {name: tests.get(frozenset((best, name)), math.nan) for name in others}
            rivals = [(name, p[name]) for name in others if not p[name] < self.study.options.alpha]
            new = Finding(kind="best", measure=self.main, system=best, values=[], rivals=rivals)
            if rivals:
                unsettled.append(new)
            (new if rivals else found.setdefault(best, new)).values.append((labels, own[best]))
        yield from [*found.values(), *unsettled]

    def swapped(self, one: str, other: str, measure: str) -> list[tuple[str, str, float, float]] | None:
        """Return the significant swaps of two label sets: better and worse on the first, adjusted p; None: untested."""
        first, second = (self.p.get(labels, {}).get(measure) for labels in (one, other))
        if first is None or second is None:
            return None
        found, alpha = [], self.study.options.alpha
        higher_first = better_of(measure) == "higher"
        for pair, p in first.items():
            if p < alpha and second.get(pair, math.nan) < alpha:
                before, now = self.scores[one][measure], self.scores[other][measure]
                better, worse = sorted(pair, key=before.__getitem__, reverse=higher_first)
                leads = before[better] - before[worse], now[better] - now[worse]
                if min(leads) < 0 < max(leads):  # false where a score is NaN
                    found.append((better, worse, p, second[pair]))
        return found

    def swaps(self) -> Iterator[Finding]:
        """Yield the swaps by the main measure, over all pairs of label sets that are tested."""
        tested = {
            (one, other): found
            for one, other in (pair.split("/") for pair in self.study.part("correlation"))
            if (found := self.swapped(one, other, self.main)) is not None
        }
        if tested:
            swaps = [(*pair, *swap) for pair, several in tested.items() for swap in several]
            yield Finding(kind="swapped", measure=self.main, label_sets=list(tested), swaps=swaps)

    def counts(self) -> Iterator[Finding]:
        """Yield how many pairs differ by the main measure, for each label set that is tested."""
        found = {
            labels: row
            for labels, table in self.study.part("power").items()
            for row in of_main_test(table)
            if row["measure"] == self.main and _has(row, "share_adjusted")
        }
        if found:
            first = next(iter(found.values()))
            counts = [(labels, row["below_adjusted"]) for labels, row in found.items()]
            alpha = self.study.options.alpha
            yield Finding(kind="counted", measure=self.main, counts=counts, first=first, alpha=alpha)

    def correlated(self, ends: tuple[str, str], table: pa.Table) -> Iterator[Finding]:
        """Yield the findings of the table of correlations of two rankings."""
        options, n_systems = self.study.options, len(self.study.systems)
        rows = [row for row in table.to_pylist() if row["coefficient"] == options.coefficients[0]]
        rows = [row for row in rows if _has(row, "value", "low", "high")]
        if rows:
            by_measure = self._by_measure(rows, "value")
            yield Finding(kind="correlated", ends=ends, options=options, systems=n_systems, rows=by_measure)

    def enough(self, labels: str, table: pa.Table) -> Iterator[Finding]:
        """Yield the findings of the stability table of a label set."""
        needed = sizes_needed(table)
        rows = self._by_measure([row for row in needed.values() if row is not None], "triples")
        never = [measure for measure, row in needed.items() if row is None]
        repeats, options = table.column("repeats")[0].as_py(), self.study.options
        yield Finding(kind="enough", labels=labels, options=options, repeats=repeats, rows=rows, never=never)

    def pooled(self, labels: str, table: pa.Table) -> Iterator[Finding]:
        """Yield the findings of the growth of a pool."""
        last = table.slice(table.num_rows - 1).to_pylist()[0]
        if last["triples"]:
            yield Finding(kind="pooled", labels=labels, **last)

    def tied(self, labels: str, table: pa.Table) -> Iterator[Finding]:
        """Yield the findings of the table of ties of a label set."""
        rows = [row for row in table.to_pylist() if _has(row, "apart")]
        if rows:
            yield Finding(kind="tied", labels=labels, row=max(rows, key=itemgetter("apart")))

    def _by_measure(self, rows: Sequence[Row], value: str) -> Row:
        """The row of the main measure, and the others from the least to the greatest value."""
        main = next((row for row in rows if row["measure"] == self.main), None)
        return {"main": main, "others": sorted((row for row in rows if row is not main), key=itemgetter(value))}


def of_main_test(table: pa.Table) -> list[Row]:
    """Return the rows of the test that findings rest on."""
    rows = table.to_pylist()
    there = {row["test"] for row in rows}
    test = next((test for test in MAIN_TESTS if test in there), "")
    return [row for row in rows if row["test"] == test]


def sizes_needed(table: pa.Table) -> dict[str, Row | None]:
    """Return, by measure, the row of the least size from which on the middle 95% of samples have ``STABLE``."""
    needed: dict[str, Row | None] = {}
    for row in table.to_pylist():
        is_enough = _has(row, "low") and row["low"] >= STABLE
        needed[row["measure"]] = (needed.get(row["measure"]) or row) if is_enough else None
    return needed


def _has(row: Row, *names: str) -> bool:
    return not any(math.isnan(_float(row.get(name))) for name in names)


def _float(value: float | None) -> float:
    return math.nan if value is None else value
