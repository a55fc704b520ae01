"""How the bootstrap samples of a comparison are drawn."""

from __future__ import annotations

from dataclasses import dataclass

from kgtrec.errors import KgtrecError


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Samples of questions, with all their answers, and the intervals that come from them."""

    confidence: float = 0.95
    repeats: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise KgtrecError(f"expected a confidence between 0 and 1, found {self.confidence}")
        if self.repeats < 2:
            raise KgtrecError(f"expected at least 2 bootstrap samples, found {self.repeats}")
