"""One random order of tied candidates that depends only on a seed and the candidates' labels.

Every candidate gets a key, a hash of seed, question label and entity label, and tied candidates are ordered by their
keys. So an order depends neither on the order of rows, questions or codes nor on how work is split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio
_FACTOR = 0xD6E8FEB86659FD93  # odd; label bytes are the coefficients of a polynomial in it, modulo 2**64
_LABELS_AT_A_TIME = 1 << 16


def hashes_of_texts(data: NDArray[np.uint8], offsets: NDArray[Any]) -> Keys:
    """A 64-bit hash of each text.

    Parameters
    ----------
    data : (b,) bytes of all texts
    offsets : (n + 1,) int array
        Offset at which each text begins in ``data``, and at which the last one ends.

    Examples
    --------
    >>> hashes = hashes_of_texts(np.frombuffer(b"abab", np.uint8), np.array([0, 2, 4, 4]))
    >>> bool(hashes[0] == hashes[1]), bool(hashes[0] == hashes[2])
    (True, False)
    """
    offsets = offsets.astype(np.int64)
    length = np.diff(offsets)
    hashes = length.astype(np.uint64)
    powers = np.full(int(length.max(initial=0)) + 1, _FACTOR, np.uint64).cumprod(dtype=np.uint64)
    for first in range(0, len(length), _LABELS_AT_A_TIME):
        own = np.flatnonzero(length[first : first + _LABELS_AT_A_TIME]) + first
        if len(own) == 0:
            continue
        start, end = int(offsets[own[0]]), int(offsets[own[-1] + 1])
        place = np.arange(start, end) - np.repeat(offsets[own], length[own])
        terms = (data[start:end].astype(np.uint64) + np.uint64(1)) * powers[place]
        hashes[own] += np.add.reduceat(terms, offsets[own] - start)
    return hashed(hashes)


def hashed(first: Keys | int, *others: Keys | int) -> Keys:
    """Hash several 64-bit numbers to one, element by element; whole numbers are broadcast.

    References
    ----------
    Steele, Lea, Flood (2014), OOPSLA: Fast splittable pseudorandom number generators, for the mixing steps.

    Examples
    --------
    >>> keys = hashed(7, np.arange(3, dtype=np.uint64))
    >>> len(set(keys.tolist()))
    3
    """
    value = np.zeros(1, np.uint64)
    for word in (first, *others):
        word = np.asarray(word if isinstance(word, np.ndarray) else np.uint64(word % 2**64), np.uint64)
        value = (value ^ word) + _GOLDEN
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value = value ^ (value >> np.uint64(31))
    return value


def places_by_key(group: NDArray[Any], key: Keys) -> Counts:
    """(n,) 1, 2, ... within each group, the lowest key first; rows of equal key in their order.

    Examples
    --------
    >>> places_by_key(np.array([0, 1, 0]), np.array([9, 5, 3], np.uint64))
    array([2, 1, 1])
    """
    n = len(group)
    order = np.lexsort((key, group))
    ordered = group[order]
    new = np.r_[True, ordered[1:] != ordered[:-1]][:n]
    start = np.flatnonzero(new)
    place = np.empty(n, np.int64)
    place[order] = np.arange(1, n + 1) - start[np.cumsum(new) - 1]
    return place


def places_among_unknown(group: Counts, size: Counts, key: Keys) -> Counts:
    """Positions of some candidates of each group in a random order of all of them, where the others are not listed.

    Parameters
    ----------
    group : (n,) int array
        From 0 on, in any order.
    size : (n,) int array
        How many candidates the row's group has; at least as many as it has rows.
    key : (n,) uint64 array
        Random key of each row.

    Returns
    -------
    (n,) int array from 1 to ``size``, all different within a group; every such choice is equally likely

    Examples
    --------
    >>> places = places_among_unknown(np.array([0, 0]), np.array([2, 2]), np.array([5, 3], np.uint64))
    >>> sorted(places.tolist())
    [1, 2]
    """
    rows = np.bincount(group) if len(group) else np.zeros(0, np.int64)
    dense = size <= 2 * rows[group]
    place = np.empty(len(group), np.int64)
    place[dense] = _by_keys_for_all(group[dense], size[dense], key[dense])
    place[~dense] = _by_drawing(group[~dense], size[~dense], key[~dense])
    return place


def _by_keys_for_all(group: Counts, size: Counts, key: Keys) -> Counts:
    """The unlisted candidates get keys too, made from those of the listed ones."""
    if len(group) == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort((key, group))
    groups, start, rows = np.unique(group[order], return_index=True, return_counts=True)
    others = size[order][start] - rows
    filler = np.repeat(groups, others)
    number = np.arange(len(filler)) - np.repeat(np.cumsum(others) - others, others)
    filler_key = hashed(np.repeat(key[order][start], others), number.astype(np.uint64) + np.uint64(1))
    return places_by_key(np.concatenate([group, filler]), np.concatenate([key, filler_key]))[: len(group)]


def _by_drawing(group: Counts, size: Counts, key: Keys) -> Counts:
    """Every row draws a position, and draws again if it is taken; groups are at most half full."""
    end = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    end[group] = size
    offset = (np.cumsum(end) - end)[group]
    place = np.zeros(len(group), np.int64)
    taken = np.zeros(0, np.int64)
    pending = np.arange(len(group))
    attempt = 0
    while len(pending):
        share = (hashed(key[pending], attempt) >> np.uint64(11)) * 2.0**-53
        drawn = np.floor(share * size[pending]).astype(np.int64)
        code = offset[pending] + drawn
        order = np.lexsort((key[pending], code))
        accepted = np.r_[True, code[order][1:] != code[order][:-1]]
        at = np.searchsorted(taken, code[order])
        accepted &= ~((at < len(taken)) & (np.append(taken, -1)[at] == code[order]))
        place[pending[order[accepted]]] = drawn[order[accepted]] + 1
        taken = np.sort(np.concatenate([taken, code[order[accepted]]]))
        pending = np.sort(pending[order[~accepted]])
        attempt += 1
    return place
