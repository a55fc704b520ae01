"""Bootstrap samples of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from kgtrec.errors import KgtrecError, between_0_and_1


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Samples of questions, with all their answers, and the intervals from them."""

    confidence: float = 0.95
    repeats: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        between_0_and_1("a confidence", self.confidence)
        if self.repeats < 2:
            raise KgtrecError(f"expected at least 2 bootstrap samples, found {self.repeats}")
