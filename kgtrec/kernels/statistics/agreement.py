"""Agreement of several people; each statistic is computed from counts.

``counts`` says how many people put an item into each category; not everyone needs to judge all items.
``times`` says how often each item is drawn, so that all bootstrap samples are computed at once, and items with the same
counts can share one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.integer[Any]]
Values = NDArray[np.float64]


def raw_agreement(counts: Counts, times: Values | None = None) -> Values:
    r"""Share of the pairs of verdicts on one item that agree.

    :math:`p_o = \sum_i \sum_k n_{ik} (n_{ik} - 1) / \sum_i r_i (r_i - 1)`, where :math:`n_{ik}` of the :math:`r_i`
    people who judged item i put it into category k. An item judged by three people has three pairs, and counts three
    times.

    Parameters
    ----------
    counts : (n, c) int array, people
    times : (..., n) float array, optional
        How often each item is drawn; default once.

    Returns
    -------
    (...) float array, in 0 to 1
        NaN where no item was judged by two people.

    References
    ----------
    Fleiss (1971), Psychological Bulletin 76, 378-382.

    Examples
    --------
    >>> raw_agreement(np.array([[2, 0], [2, 0], [0, 2], [1, 1]])).item()
    0.75
    """
    alike, possible = _pairs(counts)
    return _ratio(_summed(alike.sum(axis=1), times), _summed(possible.sum(axis=1), times))


def specific_agreement(counts: Counts, category: int, times: Values | None = None) -> Values:
    r"""The share of the verdicts for one category that another person's verdict on the item agrees with.

    :math:`\sum_i n_{ik} (n_{ik} - 1) / \sum_i n_{ik} (r_i - 1)`. For two people and a table of a times both yes, b and
    c times one yes, d times both no, that is :math:`2a / (2a + b + c)` for yes, the positive agreement, and
    :math:`2d / (2d + b + c)` for no, the negative one. The raw agreement is the mean of the specific ones, weighted by
    how often each category is used.

    Parameters
    ----------
    counts, times
        As in :func:`raw_agreement`.
    category : int
        Column of ``counts``.

    Returns
    -------
    (...) float array, in 0 to 1
        NaN where nobody chose the category for an item judged by two.

    References
    ----------
    Cicchetti, Feinstein (1990), Journal of Clinical Epidemiology 43, 551-558.

    Examples
    --------
    >>> specific_agreement(np.array([[2, 0], [2, 0], [0, 2], [1, 1]]), 0).item()
    0.8
    """
    alike, possible = _pairs(counts)
    return _ratio(_summed(alike[:, category], times), _summed(possible[:, category], times))


def pooled_kappa(tables: NDArray[Any]) -> Values:
    r"""Cohen's kappa of one pair of people, or of many pairs combined.

    :math:`\kappa = (p_o - p_e) / (1 - p_e)`. The observed agreement is that of all pairs of people, the chance
    agreement is computed for each pair from how often either uses each category, and averaged:
    :math:`p_o = \sum_g \sum_k n_{gkk} / \sum_g n_g` and
    :math:`p_e = \sum_g \sum_k n_{gk\cdot} n_{g\cdot k} / n_g / \sum_g n_g` over pairs g. With one pair this is Cohen's
    kappa; if all people judge all items it is Conger's generalisation; if they do not, a pair counts for as many items
    as both judged. The order of the two does not matter.

    Parameters
    ----------
    tables : (..., g, c, c) array
        How many items the first of each pair put into the row's category and the second into the column's.

    Returns
    -------
    (...) float array, at most 1
        NaN where there are no items, or where no disagreement can be expected since each pair uses one category only.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46. Conger (1980), Psychological Bulletin 88,
    322-328. De Vries, Elliott, Kanouse, Teleki (2008), Field Methods 20, 272-282.

    Examples
    --------
    >>> pooled_kappa(np.array([[[20, 5], [10, 15]]])).item()
    0.4
    """
    tables = np.asarray(tables, np.float64)
    n = tables.sum(axis=(-2, -1))
    alike = np.trace(tables, axis1=-2, axis2=-1).sum(axis=-1)
    products = np.sum(tables.sum(axis=-1) * tables.sum(axis=-2), axis=-1)
    expected = np.divide(products, n, out=np.zeros_like(products), where=n > 0).sum(axis=-1)
    return _ratio(alike - expected, n.sum(axis=-1) - expected)


def gwet_ac1(counts: Counts, times: Values | None = None) -> Values:
    r"""Gwet's first-order agreement coefficient, whose chance agreement falls where one category is rare.

    :math:`(p_a - p_e) / (1 - p_e)`, where :math:`p_a` is the mean over the items judged by at least two of
    :math:`\sum_k n_{ik} (n_{ik} - 1) / (r_i (r_i - 1))`, :math:`p_e = \sum_k \pi_k (1 - \pi_k) / (c - 1)`, and
    :math:`\pi_k` is the mean of :math:`n_{ik} / r_i` over all items judged at all. The number of categories, c, is that
    of the columns, used or not. Where everybody chooses the same category it is 1.

    Parameters
    ----------
    counts, times
        As in :func:`raw_agreement`; at least two categories.

    Returns
    -------
    (...) float array, in -1 to 1
        NaN where no item was judged by two people.

    References
    ----------
    Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29-48.

    Examples
    --------
    >>> gwet_ac1(np.array([[2, 0]] * 118 + [[1, 1]] * 7)).round(4).item()
    0.9408
    """
    alike, possible = _pairs(counts)
    people, pairs = counts.sum(axis=1), possible.sum(axis=1)
    share = alike.sum(axis=1) / np.maximum(pairs, 1)
    agreement = _ratio(_summed(share, times), _summed(pairs > 0, times))
    used = _ratio(_summed(counts / np.maximum(people, 1)[:, None], times), _summed(people > 0, times)[..., None])
    chance = np.sum(used * (1 - used), axis=-1) / (counts.shape[1] - 1)
    return np.asarray((agreement - chance) / (1 - chance))


def krippendorff_alpha(counts: Counts, times: Values | None = None) -> Values:
    r"""Krippendorff's alpha for nominal categories, any number of people, and verdicts that are missing.

    :math:`\alpha = 1 - D_o / D_e` with the observed disagreement
    :math:`D_o = \frac{1}{n} \sum_i \sum_{k \ne l} n_{ik} n_{il} / (r_i - 1)` and the one expected of randomly assigned
    verdicts, :math:`D_e = \sum_{k \ne l} n_k n_l / (n (n - 1))`. Only items judged by at least two count, n is the
    number of their verdicts, and :math:`n_k` of these are k.

    Parameters
    ----------
    counts, times
        As in :func:`raw_agreement`.

    Returns
    -------
    (...) float array, at most 1
        NaN where no item was judged by two people, or all verdicts are the same, so that no disagreement is expected.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> krippendorff_alpha(np.array([[2, 0], [2, 0], [0, 2], [1, 1]])).round(4).item()
    0.5333
    """
    people = counts.sum(axis=1)
    paired = people >= 2
    differing = (people**2 - np.sum(counts**2, axis=1)) / np.maximum(people - 1, 1)
    verdicts = _summed(counts * paired[:, None], times)
    n = verdicts.sum(axis=-1)
    expected = n**2 - np.sum(verdicts**2, axis=-1)
    return 1 - _ratio((n - 1) * _summed(differing * paired, times), expected)


def _pairs(counts: Counts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n, c) each: ordered pairs of verdicts on an item of which both are k, and of which the first is k."""
    counts = counts.astype(np.int64)
    return counts * (counts - 1), counts * (counts.sum(axis=1, keepdims=True) - 1)


def _summed(terms: NDArray[Any], times: Values | None) -> Values:
    """The terms of the items drawn, added up: (n, ...) -> (..., ...)."""
    terms = np.asarray(terms, np.float64)
    return terms.sum(axis=0) if times is None else times @ terms


def _ratio(part: Values, whole: Values) -> Values:
    """``part / whole``, NaN where the whole is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
