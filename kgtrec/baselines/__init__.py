"""Baseline systems, usable on any KG: a yardstick, and systems of other kinds to diversify a pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.baselines.counting import CONSTANT, POPULARITY, RANDOM
from kgtrec.baselines.factors import RESCAL, SVD
from kgtrec.baselines.neighbours import NEIGHBOURS
from kgtrec.baselines.record import Baseline, Model, Option, Settings
from kgtrec.baselines.rules import INVERSE, RULES
from kgtrec.data.collection import Collection
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, nearest

__all__ = [
    "BASELINES",
    "Baseline",
    "Model",
    "Option",
    "Settings",
    "baseline",
    "baseline_blocks",
    "baseline_checkpoints",
    "fit_baseline",
    "score_blocks",
]

BASELINES = {record.name: record for record in (POPULARITY, INVERSE, NEIGHBOURS, RULES, SVD, RESCAL, RANDOM, CONSTANT)}
_BLOCK_BYTES = 1 << 25


def baseline(name: str) -> Baseline:
    """The record of a baseline.

    Raises
    ------
    KgtrecError
        If there is none of that name; the message has the nearest names.

    Examples
    --------
    >>> baseline("svd").settings({"factors": "20"})
    {'factors': 20}
    """
    if name not in BASELINES:
        raise KgtrecError(f"no baseline {name!r}{nearest(name, BASELINES)}; there are {', '.join(BASELINES)}")
    return BASELINES[name]


def fit_baseline(name: str, train: Triples, *, seed: int = 0, **options: Any) -> Model:
    """A baseline fitted to train facts.

    Parameters
    ----------
    name : str
        One of ``BASELINES``.
    train : Triples
        What it may learn from; its vocabularies are those of the questions that it is to answer.
    seed : int
        Of whatever the baseline draws.
    **options
        Settings of the baseline, see its record; text is read as a number where one is due.

    Returns
    -------
    Model

    Raises
    ------
    KgtrecError
        If the baseline or an option is unknown, a value does not fit, or there are no facts.

    Examples
    --------
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> train = Triples.of([("ann", "born_in", "rome"), ("bob", "born_in", "rome"), ("cid", "born_in", "oslo")])
    >>> asked = Questions(Vocabulary.of(["tail0"]), np.array([False]), np.array([0], np.int32),
    ...                   np.array([2], np.int32), train.entities, train.relations)
    >>> list(train.entities)
    ['ann', 'rome', 'bob', 'cid', 'oslo']
    >>> fit_baseline("popularity", train).scores(asked, np.array([0])).tolist()
    [[0.333333, 2.0, 0.333333, 0.333333, 1.0]]
    """
    return baseline(name).fitted(train, seed=seed, **options)


def baseline_blocks(
    name: str, collection: Collection, *, seed: int = 0, block: int | None = None, **options: Any
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Scores of a baseline, fitted to the collection's train facts, for all its questions in order.

    Parameters
    ----------
    name, seed, **options
        As for :func:`fit_baseline`.
    collection : Collection
    block : int, optional
        How many questions at a time; by default as many as make a block of 32 MB. Scores do not depend on it.

    Yields
    ------
    rows : (b,) int array
        Rows of the collection's questions.
    scores : (b, n_entities) float array
        Ready for :func:`kgtrec.rank_scores`.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> train = Triples.of([("ann", "born_in", "rome"), ("bob", "born_in", "rome")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "born_in", "bob")]))
    >>> [(rows.tolist(), scores.shape) for rows, scores in baseline_blocks("popularity", collection)]
    [([0, 1], (2, 3))]
    """
    if block is not None and block < 1:
        raise KgtrecError(f"expected at least 1 question in a block, found {block}")
    return score_blocks(fit_baseline(name, collection.train, seed=seed, **options), collection, block)


def baseline_checkpoints(
    name: str, train: Triples, *, seed: int = 0, **options: Any | Sequence[Any]
) -> Iterator[tuple[Settings, Model]]:
    """A baseline under every combination of settings: systems that grow stronger step by step.

    What the combinations have in common is done once: all ranks of ``svd`` come out of one decomposition, and all
    numbers of rounds of ``rescal`` out of one run of least squares.

    Parameters
    ----------
    name, train, seed
        As for :func:`fit_baseline`.
    **options
        One value or several of each setting.

    Yields
    ------
    settings : dict
        Of all options.
    model : Model
        What :func:`fit_baseline` gives for them, but for the last digits of ``svd``.

    Raises
    ------
    KgtrecError
        As :func:`fit_baseline`, or if an option has no value or one twice.

    Examples
    --------
    >>> train = Triples.of([("ann", "born_in", "rome"), ("bob", "born_in", "rome"), ("cid", "born_in", "oslo")])
    >>> [settings["iterations"] for settings, _ in baseline_checkpoints("rescal", train, factors=2, iterations=[1, 3])]
    [1, 3]
    """
    return baseline(name).checkpoints(train, seed=seed, **options)


def score_blocks(
    model: Model, collection: Collection, block: int | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Scores of a fitted baseline for all questions of a collection, as :func:`baseline_blocks` yields them."""
    at_once = block or max(1, _BLOCK_BYTES // (8 * max(len(collection.entities), 1)))
    for first in range(0, len(collection.questions), at_once):
        rows = np.arange(first, min(first + at_once, len(collection.questions)))
        yield rows, model.scores(collection.questions, rows)
