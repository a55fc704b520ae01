"""Tests of the differences of all pairs of systems by resampling, in parts that anybody may compute.

A test is made ``of`` (systems, n) values, whose clusters, from 0 on, are sampled as one; None: single items. It gives
the ``parts`` of its samples for a number of systems and of units that are sampled, one if not several, and says of each
how many samples are at least as extreme as the data, ``beyond`` it: (pairs,), NaN where there is no test. Where a part
begins in the stream of random numbers depends on the data's size and the seed alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.statistics.paired_tests import clustered_errors, differences, pairs, t_test
from kgtrec.kernels.statistics.resampling import bootstrap_blocks, bootstrap_counts

Floats = NDArray[np.float64]
Clusters = NDArray[np.int64] | None
#: where a part begins in the stream of random numbers, and how many samples it has
Part = tuple[Any, int]

_SHUFFLED = 1 << 23  # values that are shuffled by one stream of random numbers


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapTest:
    r"""The paired bootstrap test: for each pair, its achieved significance level.

    Differences are shifted to mean 0, so that the null hypothesis holds; the level is the share of bootstrap
    samples whose studentised mean is at least as far from 0 as that of the data. The same samples are used for all
    pairs; a pair without variance has NaN.

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR, figure 2.
    Efron, Tibshirani (1993). An Introduction to the Bootstrap, algorithm 16.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.random(200)
    >>> value = np.array([quality + 0.1 + rng.normal(0, 0.1, 200), quality, quality + rng.normal(0, 0.1, 200)])
    >>> (BootstrapTest.of(value, None).beyond(0, 500) / 500 < 0.05).tolist()
    [True, True, False]
    """

    sums: Floats  # (clusters, pairs) of differences less their mean
    size: Floats  # (clusters,) items
    observed: Floats  # (pairs,) Student's t, NaN without variance

    @classmethod
    def of(cls, value: Floats, cluster: Clusters) -> Self:
        n_systems, n = value.shape
        place = np.arange(n) if cluster is None else np.unique(cluster, return_inverse=True)[1]
        n_clusters = int(place.max(initial=-1)) + 1
        first, second = pairs(n_systems)
        size = np.bincount(place, minlength=n_clusters).astype(np.float64)
        sums = np.empty((n_clusters, len(first)))
        if n_clusters < 2:
            return cls(sums, size, np.full(len(first), np.nan))
        for pair, (one, other) in enumerate(zip(first, second, strict=True)):
            difference = value[one] - value[other]
            sums[:, pair] = np.bincount(place, weights=difference - difference.mean(), minlength=n_clusters)
        observed = t_test(differences(value)[0], clustered_errors(value, place)[0], n_clusters - 1)[0]
        return cls(sums, size, observed)

    @staticmethod
    def parts(shape: tuple[int, int], repeats: int, seed: int, *, several: bool) -> Iterable[Part]:
        # where each block begins is found by drawing those before it
        return bootstrap_blocks(shape[1], repeats, seed) if several else [(seed, repeats)]

    def beyond(self, start: Any, repeats: int) -> Floats:
        extreme_samples = np.where(np.isnan(self.observed), np.nan, 0.0)
        if len(self.size) < 2:
            return extreme_samples
        for counts in bootstrap_counts(len(self.size), repeats, start):
            # a sample equal to the data counts as at least as extreme; rounding must not decide
            extreme = np.abs(self._studentised(counts)) >= np.abs(self.observed) * (1 - 1e-12)
            extreme_samples += extreme.sum(axis=0)
        return extreme_samples

    def _studentised(self, counts: Floats) -> Floats:
        """(b, pairs) mean divided by its cluster-robust error, for samples with each cluster ``counts`` times."""
        n_clusters, sums, size = counts.shape[1], self.sums, self.size
        items = (counts @ size)[:, None]
        mean = counts @ sums / items
        # sum of counts * (sums - size * mean) ** 2, multiplied out so that it is products of matrices
        squares = (
            counts @ sums**2 - 2 * mean * (counts @ (sums * size[:, None])) + mean**2 * (counts @ size**2)[:, None]
        )
        error = np.sqrt(n_clusters / (n_clusters - 1) * np.maximum(squares, 0)) / items
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class TukeyTest:
    """Tukey's honestly significant differences by randomisation, which hold for all pairs at once.

    Under the null hypothesis that all systems are the same, the systems' names can be shuffled on every item (or every
    cluster). A pair's p-value is the share of shuffles whose largest difference of means is at least as large as the
    pair's difference.

    References
    ----------
    Carterette (2012). Multiple testing in statistical analysis of systems-based information retrieval experiments.
    ACM TOIS 30(1), algorithm 1.  Sakai (2018). Laboratory Experiments in Information Retrieval, section 4.4.

    Examples
    --------
    >>> value = np.array([[1.0] * 20, [0.0] * 20, [0.0] * 20])
    >>> (TukeyTest.of(value, None).beyond(0, 200) / 200).tolist()
    [0.0, 0.0, 1.0]
    """

    value: Floats  # (systems, units) sums over the items on which names are shuffled together
    n_items: int
    gap: Floats  # (pairs,) absolute difference of means

    @classmethod
    def of(cls, value: Floats, cluster: Clusters) -> Self:
        n_systems, n = value.shape
        first, second = pairs(n_systems)
        if cluster is not None:
            place = np.unique(cluster, return_inverse=True)[1]
            value = np.array([np.bincount(place, weights=row) for row in value])
        sums = value.sum(axis=1)
        return cls(value, n, np.abs(sums[first] - sums[second]) / n)

    @staticmethod
    def parts(shape: tuple[int, int], repeats: int, seed: int, *, several: bool) -> Iterable[Part]:
        many = max(1, _SHUFFLED // max(1, shape[0] * shape[1]))
        firsts, whole = range(0, repeats, many), np.random.SeedSequence(seed)
        streams = [np.random.SeedSequence(seed), *whole.spawn(len(firsts) - 1)]
        return [(stream, min(many, repeats - first)) for stream, first in zip(streams, firsts, strict=True)]

    def beyond(self, start: Any, repeats: int) -> Floats:
        # a shuffle equal to the data counts as at least as extreme; rounding of the sums must not decide
        rounding = 64 * np.finfo(np.float64).eps * np.abs(self.value).sum(axis=1).max() / self.n_items
        extreme_samples = np.zeros(len(self.gap))
        rng = np.random.default_rng(start)
        for _ in range(repeats):
            shuffled = rng.permuted(self.value, axis=0).sum(axis=1) / self.n_items  # each unit separately
            extreme_samples += (shuffled.max() - shuffled.min()) >= self.gap - rounding
        return extreme_samples


ResampledTest = BootstrapTest | TukeyTest
