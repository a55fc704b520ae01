"""What systems score on bootstrap samples of the questions of two label sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, between_0_and_1
from kgtrec.evaluation.item_scores import ItemScores, higher_terms_are_better, terms
from kgtrec.kernels.statistics.resampling import BootstrapSamples, resampled_quotients
from kgtrec.measures.aggregate import Medians

Floats = NDArray[np.float64]
Items = Mapping[str, ItemScores]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionDraws:
    """The samples, and what every system scores on each question; called with a label set, 0 or 1, and a measure."""

    systems: tuple[str, ...]
    items: tuple[Items, Items]
    place: tuple[NDArray[Any], NDArray[Any]]  # (questions of either,) which of what is drawn
    samples: tuple[BootstrapSamples, BootstrapSamples]

    @classmethod
    def of(cls, systems: tuple[str, ...], items: tuple[Items | None, Items | None], how: Bootstrap) -> QuestionDraws:
        """Draw a question that both label sets have once if they are paired, and otherwise each for itself.

        Raises
        ------
        KgtrecError
            If there are no scores of questions.
        """
        if items[0] is None or items[1] is None:
            raise KgtrecError(
                "resampling ranges need what each system scored on each question, and a table of scores has only "
                "totals; give qrels and the systems' answer ranks or runs, or leave out the confidence"
            )
        both = items[0], items[1]
        one, other = (next(iter(own.values())).questions for own in both)
        union = one.extended(other.labels)
        if how.paired and len(union) < len(one) + len(other):
            drawn = BootstrapSamples(len(union), how.repeats, how.seed)
            # by the ids' order, so that a sample depends on no file's line order
            place = union.byte_order
            return cls(systems, both, (place[: len(one)], place[union.encode(other.labels)]), (drawn, drawn))
        own_seed = int(np.random.SeedSequence([how.seed, 1]).generate_state(1)[0])
        samples = (
            BootstrapSamples(len(one), how.repeats, how.seed),
            BootstrapSamples(len(other), how.repeats, own_seed),
        )
        return cls(systems, both, (one.byte_order, other.byte_order), samples)

    def __call__(self, side: int, measure: str) -> Floats:
        """(samples, systems) scores, the better the higher."""
        scores, samples = self.items[side][measure], self.samples[side]
        rows = [scores.systems.index(name) for name in self.systems]
        cluster = self.place[side][scores.question]
        n = len(scores)
        if n == 0:
            return np.full((samples.repeats, len(rows)), np.nan)
        weight = np.ones(n) if scores.weight is None else scores.weight
        if scores.aggregate == "median":
            drawn = resampled_medians(scores.value[rows], weight, samples, cluster)
            return drawn if scores.higher_is_better else -drawn
        # the weights' scale does not matter: only the order of the systems does
        above = list(terms(scores)[rows])
        quotients = resampled_quotients(samples, cluster, np.zeros(n, np.int32), 1, above, [weight] * len(above))
        numbers = quotients[:, :, 0].T
        return numbers if higher_terms_are_better(scores) else -numbers


def resampled_medians(value: Floats, weight: Floats, samples: BootstrapSamples, cluster: NDArray[Any]) -> Floats:
    """Return (samples, systems) weighted medians of (systems, n) values, whose clusters are drawn."""
    n_systems, n = value.shape
    medians = Medians(value.ravel(), np.repeat(np.arange(n_systems, dtype=np.int32), n), n_systems)
    return np.array([medians(np.tile(weight * counts[cluster], n_systems)) for block in samples for counts in block])


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Samples of questions, with all their answers, and the intervals from them."""

    confidence: float = 0.95
    repeats: int = 1000
    seed: int = 0
    paired: bool = True  # whether questions of one id are the same question in two label sets

    def __post_init__(self) -> None:
        between_0_and_1("a confidence", self.confidence)
        if self.repeats < 2:
            raise KgtrecError(f"expected at least 2 bootstrap samples, found {self.repeats}")
