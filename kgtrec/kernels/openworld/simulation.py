"""Seeded questions whose answers lack labels at random, and the scores of systems of given strengths on them.

Every number is drawn from a stream of its own purpose at an offset that depends only on the question and the answer, so
results depend neither on how many questions are in memory at a time nor on how many follow. The answers of a question
have one random order from the start; found ones come first, the others follow, so that no further order is drawn for
another system.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.sampling.random_order import places_among_unknown

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_SEGMENT = 1024  # questions whose values are added up together, a fixed number however many are in memory
_CELLS = 1 << 18  # answers in memory at a time: a few arrays of 2 MB, which fit into caches
_BUFFERED = 1 << 22  # values of questions in memory at a time, 32 MB


class Sums(NamedTuple):
    """Over the questions of each repeat; x is the mean over a question's labels, t their sum, a their number."""

    value: Floats  # (m, s, repeats) of x, over questions with a label
    value_square: Floats  # (m, s, repeats) of x * x
    total: Floats  # (m, s, repeats) of t
    total_square: Floats  # (m, s, repeats) of t * t
    product: Floats  # (m, s, repeats) of t * a
    labels: Floats  # (s, repeats) of a
    labels_square: Floats  # (s, repeats) of a * a
    scored: Floats  # (s, repeats) questions with a label


def simulated_sums(
    tables: Floats,
    n_answers: int,
    missing: float,
    on_missing: Floats,
    on_labelled: Floats,
    *,
    n_questions: int,
    repeats: int,
    n_entities: int | None,
    seed: int,
    own_labels: bool = False,
    own_luck: bool = False,
) -> Sums:
    """Scores of systems on simulated questions.

    Parameters
    ----------
    tables : (m, ranks + 1) float array
        Value of an answer of each rank under each measure; 0 first, for answers without rank. As many ranks as
        there are entities, or answers if entities are not limited.
    missing : float
        Probability that an answer lacks its label.
    on_missing, on_labelled : (s,) float arrays
        Each system's probability of finding such an answer.
    n_entities : int, optional
        Candidates, including the answers: those not found are in random order among all candidates not found. None:
        they have no rank.
    own_labels, own_luck : bool
        Every system has labels of its own, and found answers and orders of its own; False: equal systems find the same
        answers.

    Returns
    -------
    Sums
    """
    n_systems = len(on_missing)
    of_measures, of_labels = (len(tables), n_systems, repeats), (n_systems, repeats)
    sums = Sums(*(np.zeros(shape) for shape in [of_measures] * 5 + [of_labels] * 3))
    streams = _Streams(seed, n_answers, own_labels=own_labels, own_luck=own_luck)
    held = max(_SEGMENT, _BUFFERED // max(1, len(tables) * n_systems) // _SEGMENT * _SEGMENT)
    at_once = max(1, _CELLS // n_answers)
    for first, starts in _groups(n_questions, repeats, held):
        n = int(starts[-1, 1])
        total, labels = np.empty((len(tables), n_systems, n)), np.empty((n_systems, n))
        for low in range(0, n, at_once):
            part = slice(low, min(low + at_once, n))
            for system in range(n_systems):
                labelled = streams.uniform("labels", system, first + part.start, first + part.stop) >= missing
                luck = streams.uniform("luck", system, first + part.start, first + part.stop)
                found = luck < np.where(labelled, on_labelled[system], on_missing[system])
                wrong = None
                if n_entities is not None:
                    wrong = streams.wrong_above(system, first + part.start, first + part.stop, n_entities)
                rank = _ranks(labelled, found, wrong)
                for measure, table in enumerate(tables):
                    total[measure, system, part] = table[rank].sum(axis=1)
                labels[system, part] = labelled.sum(axis=1)
        _add(sums, total, labels, starts, first, n_questions)
    return sums


def _ranks(labelled: NDArray[np.bool_], found: NDArray[np.bool_], wrong: Counts | None) -> Counts:
    """(questions, answers) filtered ranks of labelled answers, 0 for others and those without rank."""
    above = np.cumsum(found & ~labelled, axis=1, dtype=np.int64)  # found missing answers, up to here
    rank = (above + 1) * (labelled & found)
    if wrong is not None:
        below = np.cumsum(~(found | labelled), axis=1, dtype=np.int64)  # missing answers not found, up to here
        rank += (above[:, -1:] + below + wrong + 1) * (labelled & ~found)
    return rank


class _Streams:
    """Random numbers by purpose, system and question; the last block of each stream is kept for the next system."""

    def __init__(self, seed: int, n_answers: int, *, own_labels: bool, own_luck: bool) -> None:
        self._seed, self._n_answers = seed, n_answers
        self._own = {"labels": own_labels, "luck": own_luck, "order": own_luck, "places": own_luck}
        self._kept: dict[str, tuple[tuple[int, int, int], NDArray[Any]]] = {}  # purpose -> key and numbers

    def uniform(self, purpose: str, system: int, first: int, end: int) -> Floats:
        """(end - first, answers) numbers in [0, 1)."""
        # labels that systems share are combined with other orders of the answers if ``own_luck``
        shuffled = purpose == "labels" and self._own["luck"] and not self._own["labels"]
        key = (system if self._own[purpose] or shuffled else 0, first, end)
        if purpose not in self._kept or self._kept[purpose][0] != key:
            stream = self._generator(purpose, key[0] if self._own[purpose] else 0, first)
            drawn = stream.random((end - first, self._n_answers))
            if shuffled:
                order = self._generator("order", system, first).random(drawn.shape).argsort(axis=1, kind="stable")
                drawn = np.take_along_axis(drawn, order, axis=1)
            self._kept[purpose] = key, drawn
        return self._kept[purpose][1]

    def wrong_above(self, system: int, first: int, end: int, n_entities: int) -> Counts:
        """(end - first, answers) how many wrong candidates are above each answer in a random order of all."""
        key = (system if self._own["places"] else 0, first, end)
        if "places" not in self._kept or self._kept["places"][0] != key:
            rows, n = end - first, self._n_answers
            keys = self._generator("places", key[0], first).integers(0, 2**64, rows * n, np.uint64)
            group = np.repeat(np.arange(rows), n)
            places = places_among_unknown(group, np.full(rows * n, n_entities), keys).reshape(rows, n)
            self._kept["places"] = key, np.sort(places, axis=1) - np.arange(1, n + 1)
        return self._kept["places"][1]

    def _generator(self, purpose: str, system: int, first: int) -> np.random.Generator:
        number = ("labels", "luck", "order", "places").index(purpose)
        bits = np.random.PCG64(np.random.SeedSequence([self._seed, number, system]))
        return np.random.Generator(bits.advance(first * self._n_answers))  # every answer takes one step


def _groups(n_questions: int, repeats: int, held: int) -> Iterator[tuple[int, Counts]]:
    """Whole segments of together at most ``held`` questions, as the first question and the bounds counted from it.

    No segment spans two repeats.
    """
    within = np.arange(0, n_questions, _SEGMENT)
    size = np.minimum(within + _SEGMENT, n_questions) - within
    repeats_at_once = max(1, held // n_questions)
    segments_at_once = len(within) if n_questions <= held else held // _SEGMENT
    for repeat in range(0, repeats, repeats_at_once):
        n_repeats = min(repeats_at_once, repeats - repeat)
        for segment in range(0, len(within), segments_at_once):
            sizes = np.tile(size[segment : segment + segments_at_once], n_repeats)
            ends = np.cumsum(sizes)
            yield repeat * n_questions + int(within[segment]), np.stack([ends - sizes, ends], axis=1)


def _add(sums: Sums, total: Floats, labels: Floats, bounds: Counts, first: int, n_questions: int) -> None:
    """Add a group's questions, segment by segment, to the sums of their repeats."""
    starts = bounds[:, 0]
    repeat = (first + starts) // n_questions
    scored = labels > 0
    value = total / np.where(scored, labels, 1.0)
    values = value, value**2, total, total**2, total * labels, labels, labels**2, scored.astype(np.float64)
    for into, of_questions in zip(sums, values, strict=True):
        parts = np.add.reduceat(of_questions, starts, axis=-1)
        np.add.at(into.T, repeat, parts.T)  # added one after the other, in the order of the segments
