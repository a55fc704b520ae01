"""Simulation of the open-world model, beside the closed forms of :mod:`kgtrec.openworld.theory`."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.errors import KgtrecError, nearest, whole_number
from kgtrec.kernels.openworld.moments import Weights
from kgtrec.kernels.openworld.simulation import Sums, simulated_sums
from kgtrec.openworld.open_world import OpenWorld, OpenWorldSimulation, Shared
from kgtrec.openworld.weights import named_weights, strengths_apart, strengths_of

Floats = NDArray[np.float64]
_MOST_ENTITIES = 10_000_000


def simulate(
    world: OpenWorld,
    measures: Any,
    strength: ArrayLike,
    *,
    n_questions: int = 10_000,
    repeats: int = 1,
    n_entities: int | None = None,
    shared: Shared = "everything",
    seed: int = 0,
) -> OpenWorldSimulation:
    r"""Scores of systems of given strengths on questions whose answers lack labels at random.

    Each answer draws whether it has a label, with probability :math:`1 - \beta`, and whether the system finds it, with
    probability :math:`l_1` if it has none and :math:`l_2` if it has one. The found answers take the first places in
    random order. What is not found, answers and wrong candidates alike, follows in a random order of its own. A
    labelled answer's rank is filtered: the other labelled answers are taken out. Without ``n_entities`` there are so
    many wrong candidates that an answer which is not found counts 0, as in the theory.

    Parameters
    ----------
    world : OpenWorld
    measures : str, measure, function or an iterable of them
        ``"MRR Hits@10"``; see :func:`kgtrec.openworld.weights.weights_of`.
    strength : float or (s,) array, probabilities
        Of each system.
    n_questions : int
        Of one repeat; those without a label are not scored.
    repeats : int
        How many such sets of questions, all independent.
    n_entities : int, optional
        All candidates of a question, its N answers included, so at least N; at most 10 million. None: infinitely many.
    shared : str
        "everything": systems are scored on the same labels, and the stronger finds what the weaker finds and more
        (rho = 0), in the same order, so that a curve over strengths is smooth. "labels": the same labels, with answers
        found and ordered independently. "nothing": questions of its own for every system.
    seed : int
        At least 0. The same seed gives the same bytes. Systems' numbers depend on their places in ``strength``, and a
        repeat's on ``n_questions`` and the repeats before it, not on those after it.

    Returns
    -------
    OpenWorldSimulation

    Raises
    ------
    KgtrecError
        If a number is out of its domain, or no joint distribution has the correlation at one of the strengths.
    MeasureError
        If a measure is not the mean of what answers are worth.

    References
    ----------
    Yang et al. (2022), NeurIPS, whose model it is.

    Examples
    --------
    >>> found = simulate(OpenWorld(5, 0.5), "MRR", 0.8, n_questions=20_000)
    >>> found.mean.round(3).ravel().tolist()  # over labels, over questions: 0.553 and 0.519 in theory
    [0.555, 0.519]
    """
    named = named_weights(measures)
    strengths = strengths_of(strength)
    on_missing, on_labelled = strengths_apart(world, strengths)
    n_questions, repeats = whole_number("n_questions", n_questions, 1), whole_number("repeats", repeats, 1)
    seed = whole_number("seed", seed)
    if shared not in get_args(Shared):
        raise KgtrecError(
            f"expected shared to be everything, labels or nothing, found {shared!r}"
            f"{nearest(str(shared), get_args(Shared))}"
        )
    if n_entities is not None:  # a question's answers are among them
        n_entities = whole_number("n_entities", n_entities, world.n_answers, _MOST_ENTITIES)
    sums = simulated_sums(
        _tables(named, world.n_answers if n_entities is None else n_entities),
        world.n_answers,
        world.missing,
        on_missing,
        on_labelled,
        n_questions=n_questions,
        repeats=repeats,
        n_entities=n_entities,
        seed=seed,
        own_labels=shared == "nothing",
        own_luck=shared != "everything",
    )
    return OpenWorldSimulation(
        world,
        tuple(named),
        strengths,
        n_questions,
        n_entities,
        seed,
        shared,
        sums.scored.sum(axis=1).astype(np.int64),
        *_moments(sums),
        _scores(sums),
    )


def _tables(named: dict[str, Weights], most: int) -> Floats:
    ranks = np.arange(1.0, most + 1)
    return np.stack([np.concatenate([[0.0], weights(ranks)]) for weights in named.values()])


def _scores(sums: Sums) -> Floats:
    """(2, m, s, repeats) averages over labels and over questions of each repeat."""
    with np.errstate(invalid="ignore"):
        return np.stack([sums.total / sums.labels, sums.value / sums.scored])


def _moments(sums: Sums) -> tuple[Floats, Floats]:
    """(2, m, s) averages over everything simulated, and variances of what one question with a label adds to them."""
    value, value_square, total, total_square, product = (
        part.sum(axis=-1) for part in (sums.value, sums.value_square, sums.total, sums.total_square, sums.product)
    )
    labels, labels_square, scored = (part.sum(axis=-1) for part in (sums.labels, sums.labels_square, sums.scored))
    with np.errstate(invalid="ignore", divide="ignore"):
        per_label, per_question = total / labels, value / scored
        linear = total_square - 2 * per_label * product + per_label**2 * labels_square
        of_label = np.maximum(linear, 0.0) / (scored - 1) * (scored / labels) ** 2
        of_question = np.maximum(value_square - scored * per_question**2, 0.0) / (scored - 1)
    return np.stack([per_label, per_question]), np.stack([of_label, of_question])
