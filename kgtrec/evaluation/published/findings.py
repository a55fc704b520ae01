"""What is found in a published table, and the words for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from kgtrec.data.scores import PublishedValue
from kgtrec.evaluation.published.sizes import Size

Severity = Literal["impossible", "doubtful", "note"]
SEVERITIES: tuple[Severity, ...] = ("impossible", "doubtful", "note")
DEFINITION = "definition of the measures"
TOLERANCE = 1e-6  # of the bounds that a linear program gives


class Way(NamedTuple):
    """How printed numbers may come from ranks: with which ends, and with which distance of neighbouring ranks."""

    ends: Literal["rounded", "cut"]
    step: float
    excuse: str


#: from the usual one to what is still possible; a number that no way explains is impossible
WAYS = (
    Way("rounded", 1.0, ""),
    Way("cut", 1.0, "possible only if digits were cut off and not rounded"),
    Way("cut", 0.5, "possible only with tied scores, whose ranks lie between two positions"),
)


@dataclass(frozen=True, slots=True)
class PaperFinding:
    """A number that cannot be, or that should be doubted, or a difference that may mean nothing."""

    severity: Severity
    system: str
    measure: str
    printed: str
    low: float  # bounds of the printed number; NaN where there is none
    high: float
    reason: str  # in a sentence
    source: str  # where the bound comes from
    data_set: str = ""
    setting: str = ""
    line: int = 0  # in the file

    @property
    def bound(self) -> str:
        """The bounds as text.

        Examples
        --------
        >>> PaperFinding("note", "a", "micro.MRR", ".9", 0.25, 0.75, "", "").bound
        '0.25 to 0.75'
        """
        low, high = shown(self.low), shown(self.high)
        if low and high:
            return f"{low} to {high}"
        return f"at least {low}" if low else f"at most {high}" if high else ""


@dataclass(frozen=True, slots=True)
class MeanBounds:
    """Between which bounds a printed mean can be, by the other numbers of its row."""

    system: str
    measure: str
    printed: str
    low: float
    high: float
    given: str  # which other numbers
    data_set: str = ""
    setting: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of one system that come from the same ranks."""

    system: str
    size: Size
    setting: str
    side: str
    part: str
    level: str  # "micro" or "macro"
    values: Mapping[str, PublishedValue]  # measure without its level -> number
    place: int = 0  # of several rows of the same system
    ranks: int | None = field(default=None)  # that each number is a mean of

    def finding(
        self, severity: Severity, name: str, reason: str, source: str, low: float = np.nan, high: float = np.nan
    ) -> PaperFinding:
        """Return a finding about one of the numbers."""
        value = self.values[name]
        return PaperFinding(
            severity,
            self.system,
            value.measure,
            value.text,
            low,
            high,
            reason,
            source,
            self.size.data_set,
            " ".join(filter(None, (self.setting, self.side if self.side != "both" else "", self.part))),
            value.line,
        )

    def unless_possible(
        self,
        possible: Iterable[bool],
        name: str,
        reason: str,
        source: str = DEFINITION,
        low: float = np.nan,
        high: float = np.nan,
    ) -> Iterator[PaperFinding]:
        """Yield a finding about a number that is impossible, or possible only if it is printed in an unusual way.

        ``possible`` says of each of the WAYS whether the number is possible in it; what comes after the first is not
        computed.
        """
        for way, is_possible in zip(WAYS, possible, strict=False):
            if is_possible:
                if way.excuse:
                    yield self.finding("doubtful", name, f"{reason}; {way.excuse}", source, low, high)
                return
        yield self.finding("impossible", name, reason, source, low, high)

    def ends(self, name: str, way: Way) -> tuple[float, float]:
        """Return lowest and highest number that is printed as the one under a name."""
        value = self.values[name]
        return value.cut if way.ends == "cut" else value.rounded

    @property
    def hits(self) -> dict[int, str]:
        """Cutoff -> name of its number, in order."""
        return {k: f"Hits@{k}" for k in sorted(int(name[5:]) for name in self.values if name.startswith("Hits@"))}


def shown(number: float) -> str:
    """Return a bound with at most six significant digits; empty if it is not a finite number.

    Examples
    --------
    >>> shown(7153.3146071), shown(0.25), shown(float("inf"))
    ('7153.31', '0.25', '')
    """
    return f"{number:.6g}" if np.isfinite(number) else ""
