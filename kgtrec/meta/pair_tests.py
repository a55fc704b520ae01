"""The paired tests of all pairs of systems under several measures, by anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.evaluation.item_scores import ItemScores, higher_terms_are_better, terms
from kgtrec.kernels.statistics import paired_tests
from kgtrec.kernels.statistics.resampled_tests import BootstrapTest, Part, ResampledTest, TukeyTest
from kgtrec.workers.results import Helper, Piece, results

Floats = NDArray[np.float64]
_RESAMPLED: dict[str, type[ResampledTest]] = {"tukey": TukeyTest, "bootstrap": BootstrapTest}
#: the averaged quantity if it is not the value itself, with the sign for which it rises with the measure's value
_SCALES = {
    "geometric mean": "ln value",
    "floored geometric mean": "ln value",
    "harmonic mean": "-1 / value",
    "inverse mean": "-value",
    "inverse geometric mean": "-ln value",
}


@dataclass(frozen=True, slots=True, eq=False)
class PairedSample:
    """The averaged values of one measure, in an order that depends only on labels."""

    value: Floats  # (systems, n) rising with the measure's value
    cluster: NDArray[np.int64]  # (n,) question of each item, by the bytes of its label
    clustered: bool  # whether a question may have several items
    known: NDArray[np.bool_]  # (systems,) whether all items have a value


def paired_sample(scores: ItemScores) -> PairedSample:
    """Return the items of one measure in the form for the paired tests.

    Raises
    ------
    MeasureError
        If the measure's value is not a mean of items.
    """
    value = rising_terms(scores)
    cluster = scores.questions.byte_order[scores.question].astype(np.int64)
    keys = [cluster]
    if scores.entity is not None and scores.entities is not None:
        keys.insert(0, scores.entities.byte_order[scores.entity].astype(np.int64))
    order = np.lexsort(keys)
    known = np.isfinite(value).sum(axis=1) == max(len(scores), 1)
    return PairedSample(value[:, order], cluster[order], scores.items == "answers", known)


def rising_terms(scores: ItemScores) -> Floats:
    """Return, (systems, n), the averaged quantity, with the sign for which its mean rises with the measure's value.

    Raises
    ------
    MeasureError
        If the measure's value is not a mean of items.
    """
    value = terms(scores)
    return value if higher_terms_are_better(scores) == scores.higher_is_better else -value


def scale_of(scores: ItemScores) -> str:
    """Return the averaged and tested quantity, in words."""
    return _SCALES.get(scores.aggregate, "value")


class PairTests:
    """All tests under all measures, which processes have a copy of.

    Parameters
    ----------
    samples : sequence of PairedSample
    systems : sequence of str
    tests : sequence of str
        Of t, clustered, bootstrap and tukey.
    repeats : int
    by_question : bool
        Whether the last two resample and shuffle questions, not items.
    seed : int
    """

    def __init__(
        self,
        samples: Sequence[PairedSample],
        systems: Sequence[str],
        tests: Sequence[str],
        repeats: int,
        *,
        by_question: bool,
        seed: int,
    ) -> None:
        self._n_systems, self._tests, self._repeats, self._seed = len(systems), tuple(tests), repeats, seed
        self._by_question = by_question
        # by name, so that shuffles do not depend on the order of the systems
        by_name = np.array(sorted(range(len(systems)), key=systems.__getitem__), np.intp)
        self._own = [by_name[sample.known[by_name]] for sample in samples]
        self._value = [sample.value[own] for sample, own in zip(samples, self._own, strict=True)]
        self._cluster = [sample.cluster if sample.clustered else None for sample in samples]
        self._last: tuple[tuple[int, str], ResampledTest] | None = None  # the one that was used last

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": None}

    def outcomes(
        self, workers: int | None, executor: Helper | None, progress: Callable[[int], None] | None
    ) -> tuple[Floats, Floats]:
        """Return t and p, (measures, tests, pairs) each; NaN for tests without t, and for systems without values."""
        n_pairs = len(paired_tests.pairs(self._n_systems)[0])
        statistic, p = np.full((2, len(self._value), len(self._tests), n_pairs), np.nan)
        pieces = list(self._pieces(several=executor is not None or (workers or 1) > 1))
        found = results(self, pieces, workers=workers, executor=executor, name="power")
        for (measure, test), own in groupby(zip(pieces, found, strict=True), key=lambda each: each[0][:2]):
            t, share = np.add.reduce([part for _, part in own])
            place, systems = (measure, self._tests.index(test)), self._own[measure]
            statistic[place] = spread(t, systems, self._n_systems, turns=True)
            if test in _RESAMPLED:
                share = share / self._repeats
            p[place] = spread(share, systems, self._n_systems, turns=False)
            if progress is not None:
                progress(1)
        return statistic, p

    def _pieces(self, *, several: bool) -> Iterator[Piece]:
        """A measure, a test, and for those that resample a part of the samples; the longest first."""
        parts: dict[tuple[str, int, int], list[Part]] = {}
        for test in sorted(self._tests, key=[*_RESAMPLED, *self._tests].index):
            for measure, value in enumerate(self._value):
                if test not in _RESAMPLED or len(value) < 2:
                    yield measure, test
                    continue
                drawn = self._drawn(measure)
                n_units = value.shape[1] if drawn is None else len(np.unique(drawn))
                shape = len(value), n_units
                if (test, *shape) not in parts:
                    made = _RESAMPLED[test].parts(shape, self._repeats, self._seed, several=several)
                    parts[test, *shape] = list(made)
                for part in parts[test, *shape]:
                    yield measure, test, *part

    def _drawn(self, measure: int) -> NDArray[np.int64] | None:
        """The question of each item if questions are sampled, and are not the items."""
        return self._cluster[measure] if self._by_question else None

    def __call__(self, measure: int, test: str, *part: Any) -> Floats:
        """(2, pairs) of the systems with values: t, NaN where the test has none, and p, or samples beyond the data."""
        value, cluster = self._value[measure], self._cluster[measure]
        n_systems, n = value.shape
        nothing = np.full(n_systems * (n_systems - 1) // 2, np.nan)
        if n_systems < 2:
            return np.stack([nothing, nothing])
        if test in _RESAMPLED:
            return np.stack([nothing, self._resampled(measure, test).beyond(*part)])
        mean, deviation = paired_tests.differences(value)
        if test == "clustered" and cluster is not None:
            error, n_clusters = paired_tests.clustered_errors(value, cluster)
            return np.stack(paired_tests.t_test(mean, error, n_clusters - 1))
        return np.stack(paired_tests.t_test(mean, deviation / np.sqrt(n), n - 1))

    def _resampled(self, measure: int, test: str) -> ResampledTest:
        last = self._last
        if last is None or last[0] != (measure, test):
            last = (measure, test), _RESAMPLED[test].of(self._value[measure], self._drawn(measure))
            self._last = last
        return last[1]


def spread(found: Floats, own: NDArray[np.intp], n_systems: int, *, turns: bool) -> Floats:
    """Return the values of the pairs of some systems, in any order, as those of the pairs of all; NaN for the others.

    ``turns``: a pair in the opposite order has the opposite sign.
    """
    square = np.full((n_systems, n_systems), np.nan)
    first, second = paired_tests.pairs(len(own))
    square[own[first], own[second]] = found
    square[own[second], own[first]] = 0.0 - found if turns else found
    return square[paired_tests.pairs(n_systems)]
