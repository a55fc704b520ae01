"""Variance of the means of systems that were trained several times, from seeds and from questions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.kernels.statistics.paired_tests import pairs

Floats = NDArray[np.float64]


def deviation(value: ArrayLike) -> Floats:
    """Standard deviation (divisor n - 1) over the first axis, the seeds; NaN for one.

    Examples
    --------
    >>> deviation([[1.0, 3.0], [3.0, 3.0]]).round(4).tolist(), deviation([[1.0]]).tolist()
    ([1.4142, 0.0], [nan])
    """
    several = np.sort(np.asarray(value, np.float64), axis=0)  # the same in any order of the seeds
    if len(several) < 2:
        return np.full(several.shape[1:], np.nan)
    with np.errstate(invalid="ignore"):  # of infinities
        return np.where(np.ptp(several, axis=0) == 0, 0.0, several.std(axis=0, ddof=1))


def seed_components(value: ArrayLike, error: ArrayLike, error_of_mean: ArrayLike) -> tuple[Floats, Floats]:
    r"""Variance between seeds of one system, and the part of it that is due to the sample of questions.

    Values of S seeds on the same Q questions are the sum of effects of the question, of the seed, and of both, the last
    of variance :math:`\sigma^2`. The variance :math:`B` of the seeds' means estimates that of seeds plus
    :math:`\sigma^2 / Q`. The latter is estimated by :math:`N = S / (S - 1) (\overline{e^2} - e_0^2)`, from the standard
    errors over questions e of each seed's mean and :math:`e_0` of the mean over all seeds: the mean square of a two-way
    analysis of variance divided by Q. Errors may be those of clusters or of quotients.

    Parameters
    ----------
    value : (seeds, ...) float array
        The mean of each seed.
    error : (seeds, ...) float array
        Its standard error over questions.
    error_of_mean : (...) float array
        That of the mean over seeds.

    Returns
    -------
    between, noise : (...) float arrays
        B and N; NaN for one seed.

    References
    ----------
    Searle, Casella, McCulloch (1992). Variance Components, chapter 4.
    Bodoff, Li (2007). Test theory for assessing IR test collections. SIGIR, for the same decomposition.

    Examples
    --------
    Two seeds, three questions: 1, 2, 3 and 2, 4, 3. The residuals are 0, -1/2, 1/2 and their opposites, their mean
    square is 1/2, and N is a third of it.

    >>> between, noise = seed_components([2.0, 3.0], [(1 / 3) ** 0.5] * 2, 0.5)
    >>> float(between.round(4)), float(noise.round(4))
    (0.5, 0.1667)
    """
    means, errors = np.asarray(value, np.float64), np.asarray(error, np.float64)
    n = len(means)
    if n < 2:
        return np.full(means.shape[1:], np.nan), np.full(means.shape[1:], np.nan)
    noise = n / (n - 1) * ((errors**2).mean(axis=0) - np.asarray(error_of_mean, np.float64) ** 2)
    return deviation(means) ** 2, np.maximum(noise, 0.0)


def both_sources(
    error: Floats, freedom: Floats, between: ArrayLike, noise: ArrayLike, weight: ArrayLike, n_seeds: ArrayLike
) -> tuple[Floats, Floats]:
    r"""Standard error over questions and seeds, and Satterthwaite's degrees of freedom.

    The variance is :math:`e^2 + \sum_f w_f \max(B_f - N_f, 0)`: that over questions, which contains the residuals of
    the seeds at hand, and that of the seeds of each system f. Seeds are nested in systems, questions are crossed with
    them; the variances of systems may differ, as in Welch's test.

    Parameters
    ----------
    error, freedom : (...) float arrays
        Standard error over questions of a mean over seeds, or of the difference of two, and its degrees of freedom.
    between, noise : (systems, ...) float arrays
        From :func:`seed_components`; not read where the weight is 0.
    weight : (systems, ...) float array
        1 / seeds; 0 for a system without a variance, and more for one that lends its variance to it.
    n_seeds : (systems, ...) int array

    Returns
    -------
    error, freedom : (...) float arrays

    References
    ----------
    Satterthwaite (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2.
    Searle, Casella, McCulloch (1992). Variance Components, chapter 4.

    Examples
    --------
    >>> error, freedom = both_sources(np.array(0.3), np.array(99), [0.08, 0.05], [0.0, 0.0], [0.2, 0.2], [5, 5])
    >>> float(error.round(4)), float(freedom.round(1))
    (0.3406, 78.8)
    """
    weights, n = np.asarray(weight, np.float64), np.asarray(n_seeds)
    spread, part = (np.where(weights > 0, weights * np.asarray(each, np.float64), 0.0) for each in (between, noise))
    squared = error**2
    variance = squared + np.maximum(spread - part, 0.0).sum(axis=0)
    own = np.maximum(n - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        uncertain = squared**2 / freedom + (spread**2 / own + part**2 / (own * freedom)).sum(axis=0)
        return np.sqrt(variance), variance**2 / uncertain


def pairs_over_both(
    error: Floats, freedom: Floats, between: Floats, noise: Floats, n_seeds: NDArray[np.integer[Any]]
) -> tuple[Floats, Floats]:
    """Standard errors of the differences of all pairs of systems over questions and seeds; see :func:`both_sources`.

    A system of one seed has no known variance, and gets that of the other of its pair. Of two systems of one seed
    the error is that over questions.

    Parameters
    ----------
    error, freedom : (pairs,) float arrays
        Over questions, pairs in the order of :func:`kgtrec.kernels.statistics.paired_tests.pairs`.
    between, noise : (systems,) float arrays
    n_seeds : (systems,) int array

    Returns
    -------
    error, freedom : (pairs,) float arrays

    Examples
    --------
    The one seed of the second system is as uncertain as one of the first: 0.09 + (1/2 + 1) 0.04 is 0.15.

    >>> between, noise = np.array([0.04, np.nan]), np.array([0.0, np.nan])
    >>> error, _ = pairs_over_both(np.array([0.3]), np.array([99.0]), between, noise, np.array([2, 1]))
    >>> (error**2).round(4)
    array([0.15])
    """
    own = np.stack(pairs(len(n_seeds)))
    other = own[::-1]
    lent = np.where(n_seeds[other] > 1, 0.0, 1 / n_seeds[other])
    weight = np.where(n_seeds[own] > 1, 1 / n_seeds[own] + lent, 0.0)
    return both_sources(error, freedom, between[own], noise[own], weight, n_seeds[own])
