"""Simulation of the open-world model, beside the closed forms of :mod:`kgtrec.openworld.theory`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.data.open_world import OpenWorld, OpenWorldSimulation
from kgtrec.errors import KgtrecError
from kgtrec.kernels.open_world_simulation import Sums, simulated_sums
from kgtrec.openworld.weights import Weights, named_weights, strengths_apart, strengths_of

Floats = NDArray[np.float64]
_MOST_ENTITIES = 10_000_000
_SHARED = ("everything", "labels", "nothing")


def simulate(
    world: OpenWorld,
    measures: Any,
    strength: ArrayLike,
    *,
    n_questions: int = 10_000,
    repeats: int = 1,
    n_entities: int | None = None,
    shared: Literal["everything", "labels", "nothing"] = "everything",
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
        All candidates of a question, its N answers included; at most 10 million. None: infinitely many.
    shared : str
        "everything": systems are scored on the same labels, and the stronger finds what the weaker finds and more
        (rho = 0), in the same order, so that a curve over strengths is smooth. "labels": the same labels, with answers
        found and ordered independently. "nothing": questions of its own for every system.
    seed : int
        At least 0. The same seed gives the same bytes. Systems' numbers hang on their places in ``strength``, and a
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
    for what, number in (("questions", n_questions), ("repeats", repeats)):
        if not _is_whole(number) or number < 1:
            raise KgtrecError(f"expected a whole number of {what} of at least 1, found {number!r}")
    if not _is_whole(seed) or seed < 0:
        raise KgtrecError(f"expected a whole number of at least 0 as seed, found {seed!r}")
    if shared not in _SHARED:
        raise KgtrecError(f"expected shared to be everything, labels or nothing, found {shared!r}")
    if n_entities is not None and not (_is_whole(n_entities) and world.n_answers <= n_entities <= _MOST_ENTITIES):
        raise KgtrecError(
            f"expected at least as many entities as a question has answers, {world.n_answers:,}, and at most "
            f"{_MOST_ENTITIES:,}, found {n_entities!r}"
        )
    sums = simulated_sums(
        _tables(named, world.n_answers if n_entities is None else int(n_entities)),
        world.n_answers, world.missing, on_missing, on_labelled, n_questions=int(n_questions), repeats=int(repeats),
        n_entities=n_entities, seed=int(seed), own_labels=shared == "nothing", own_luck=shared != "everything",
    )  # fmt: skip
    return OpenWorldSimulation(
        world, tuple(named), strengths, int(n_questions), n_entities, int(seed), shared,
        sums.scored.sum(axis=1).astype(np.int64), *_moments(sums), _scores(sums),
    )  # fmt: skip


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


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
