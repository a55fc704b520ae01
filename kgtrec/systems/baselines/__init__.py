"""Baseline systems for any KG: for comparison, and to make a pool more diverse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.triples import Triples
from kgtrec.errors import one_of, whole_number
from kgtrec.systems.baselines.counting import CONSTANT, NEIGHBOURS, POPULARITY, RANDOM
from kgtrec.systems.baselines.factors import RESCAL, SVD
from kgtrec.systems.baselines.recent import RECENT, RECENT_SINGLE_STEP
from kgtrec.systems.baselines.record import Baseline, Model, Settings
from kgtrec.systems.baselines.rules import INVERSE, RULES

#: name -> record, of every baseline
BASELINES = {
    record.name: record
    for record in (POPULARITY, INVERSE, NEIGHBOURS, RULES, SVD, RESCAL, RANDOM, CONSTANT, RECENT, RECENT_SINGLE_STEP)
}
#: stands for the names of those that are no controls, and need no facts with a time
ALL = "all"
_BLOCK_BYTES = 1 << 25


def baseline(name: str) -> Baseline:
    """Look up the record of a baseline.

    Parameters
    ----------
    name : str
        Name of the baseline.

    Raises
    ------
    KgtrecError
        If there is none of that name; the message has the nearest names.

    Examples
    --------
    >>> baseline("svd").settings({"factors": "20"})
    {'factors': 20}
    """
    one_of("a baseline of", name, BASELINES)
    return BASELINES[name]


def baselines_of(name: str, *, queries: bool = False) -> list[Baseline]:
    """Look up the record of a baseline, or of ``all``, those that are no controls and need no times.

    ``queries``: for complex queries, of which ``all`` leaves out those that ask for one link.

    Parameters
    ----------
    name : str
        Name of a baseline, or "all".
    queries : bool
        For complex queries, of which "all" leaves out the baselines that ask for one link. Default: no.

    Raises
    ------
    KgtrecError
        If there is none of that name.

    Examples
    --------
    >>> [record.name for record in baselines_of("svd")]
    ['svd']
    """
    one_of("a baseline of", name, (*BASELINES, ALL))
    whole = [record for record in BASELINES.values() if record.is_in_all and record.takes_queries >= queries]
    return whole if name == ALL else [BASELINES[name]]


def fit_baseline(name: str, train: Triples, *, training: Triples | None = None, seed: int = 0, **options: Any) -> Model:
    """Fit a baseline to train facts.

    Parameters
    ----------
    name : str
        One of ``BASELINES``.
    train : Triples
        The facts to learn from; with the vocabularies of the questions that it will answer. For a baseline that knows
        those of other splits, such as ``recent``: ``baseline(name).facts(collection)``.
    training : Triples, optional
        ``Collection.training`` of an inductive collection: rules are mined there, and applied to ``train``; what has no
        meaning for other entities, such as factors and counts, is fitted to ``train`` alone.
    seed : int
        Random seed of the baseline.
    **options
        Settings of the baseline, see its record; text is read as a number where one is needed.

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
    record = baseline(name)
    return next(record.fitted(train, [record.settings(options)], seed, training))[1]


def baseline_blocks(
    name: str, collection: Collection, *, seed: int = 0, block: int | None = None, **options: Any
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Yield scores of a baseline, fitted to a collection's facts that it may know, for all its questions in order.

    Parameters
    ----------
    name, seed, **options
        As for :func:`fit_baseline`.
    collection : Collection
        The facts to fit, and the questions to score.
    block : int, optional
        How many questions at a time; by default as many as fill 32 MB. Scores do not depend on it.

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
    if block is not None:
        whole_number("block", block, 1)
    facts = baseline(name).facts(collection)
    model = fit_baseline(name, facts, training=collection.training, seed=seed, **options)
    return score_blocks(model, collection, block)


def baseline_checkpoints(
    name: str, train: Triples, *, training: Triples | None = None, seed: int = 0, **options: Any | Sequence[Any]
) -> Iterator[tuple[Settings, Model]]:
    """Fit a baseline under every combination of settings, such as systems of increasing strength.

    Common work is done once: all ranks of ``svd`` use one decomposition, and all numbers of rounds of ``rescal`` one
    run of least squares.

    Parameters
    ----------
    name, train, training, seed
        As for :func:`fit_baseline`.
    **options
        One value or several for each setting.

    Yields
    ------
    settings : dict
        Values of all options.
    model : Model
        The result of :func:`fit_baseline` for them, apart from the last digits of ``svd``.

    Raises
    ------
    KgtrecError
        As :func:`fit_baseline`, or if an option has no value or a repeated one.

    Examples
    --------
    >>> train = Triples.of([("ann", "born_in", "rome"), ("bob", "born_in", "rome"), ("cid", "born_in", "oslo")])
    >>> [settings["iterations"] for settings, _ in baseline_checkpoints("rescal", train, factors=2, iterations=[1, 3])]
    [1, 3]
    """
    record = baseline(name)
    return record.fitted(train, record.combinations(options), seed, training)


def score_blocks(
    model: Model, collection: Collection, block: int | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Yield scores of a fitted baseline for all questions of a collection, as :func:`baseline_blocks` does.

    Parameters
    ----------
    model : Model
        A fitted baseline.
    collection : Collection
        The questions to score.
    block : int, optional
        Questions at a time. Default: as many as fill 32 MB. Scores do not depend on it.
    """
    at_once = block or max(1, _BLOCK_BYTES // (8 * max(len(collection.entities), 1)))
    for first in range(0, len(collection.questions), at_once):
        rows = np.arange(first, min(first + at_once, len(collection.questions)))
        yield rows, model.scores(collection.questions, rows)
