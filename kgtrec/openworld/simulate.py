"""Simulation of the open-world model; :mod:`kgtrec.openworld.theory` has the closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.frames import frame_of_table
from kgtrec.errors import KgtrecError, between_0_and_1, one_of, whole_number
from kgtrec.kernels.openworld.simulation import Sums, simulated_sums
from kgtrec.openworld.theory import OpenWorld, named_weights, strengths_apart, strengths_of

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
#: the random draws that simulated systems share
Shared = Literal["everything", "labels", "nothing"]
#: over labelled answers (micro); over questions with a label, of the mean over the labels of the question
AVERAGES = ("labels", "questions")
_MOST_ENTITIES = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class OpenWorldSimulation:
    """Scores of systems of given strengths in simulated worlds; see :func:`kgtrec.openworld.simulate`.

    The first axis of the arrays is ``AVERAGES``. NaN where no question had a label.
    """

    world: OpenWorld
    measures: tuple[str, ...]  # (m,)
    strength: NDArray[np.float64]  # (s,)
    n_questions: int  # per repeat
    n_entities: int | None  # None: an answer that is not found has no rank and counts 0
    seed: int
    shared: Shared  # by the systems
    scored: NDArray[np.int64]  # (s,) questions that had a label, in all repeats
    mean: NDArray[np.float64]  # (2, m, s) over all repeats together
    variance: NDArray[np.float64]  # (2, m, s) of one question; divided by `scored`, the squared error of the mean
    repeats: NDArray[np.float64]  # (2, m, s, repeats) the score of each repeat

    def __repr__(self) -> str:
        return (
            f"<OpenWorldSimulation: {len(self.measures)} measures x {len(self.strength)} strengths, "
            f"{self.repeats.shape[3]:,} x {self.n_questions:,} questions>"
        )

    def interval(
        self, kind: Literal["normal", "percentile"] = "normal", confidence: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and upper ends for every mean.

        Parameters
        ----------
        kind : str
            "normal": interval of the expected score, from the standard error of the mean over all repeats.
            "percentile": interval of the score on a single set of ``n_questions`` questions, from the repeats.
        confidence : float
            In (0, 1).

        Returns
        -------
        two (2, m, s) float arrays
        """
        between_0_and_1("a confidence", confidence)
        if kind == "normal":
            with np.errstate(divide="ignore", invalid="ignore"):
                half = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(self.variance / self.scored)
            return self.mean - half, self.mean + half
        if kind != "percentile":
            raise KgtrecError(f"expected the kind of an interval to be normal or percentile, found {kind!r}")
        if self.repeats.shape[3] < 2:
            raise KgtrecError("expected at least 2 repeats for an interval by percentiles, found 1; increase repeats=")
        low, high = np.quantile(self.repeats, [(1 - confidence) / 2, (1 + confidence) / 2], axis=3)
        return low, high

    def to_frame(self, kind: Literal["normal", "percentile"] = "normal", confidence: float = 0.95) -> pd.DataFrame:
        """Return the long form: average, measure, strength, mean, low, high; strengths innermost."""
        low, high = self.interval(kind, confidence)
        along = {"average": (0, AVERAGES), "measure": (1, self.measures), "strength": (2, self.strength)}
        return frame_of_table(long_table(self.mean.shape, along | {"mean": self.mean, "low": low, "high": high}))


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
    r"""Simulate scores of systems of given strengths on questions whose answers lack labels at random.

    Each answer has a label with probability :math:`1 - \beta`. The system finds it with probability :math:`l_1` if it
    has no label, and with probability :math:`l_2` if it has one. The found answers are first, in random order. All
    other candidates, true and wrong, follow in a separate random order. The rank of a labelled answer is filtered: the
    other labelled answers are removed. Without ``n_entities``, there are infinitely many wrong candidates, so an answer
    that is not found counts 0, as in the theory.

    Parameters
    ----------
    world : OpenWorld
        The number of answers per question, and the model of missing labels.
    measures : str, measure, function or an iterable of them
        ``"MRR Hits@10"``; see :func:`kgtrec.openworld.theory.weights_of`.
    strength : float or (s,) array, probabilities
        Strength of each system.
    n_questions : int
        Questions per repeat; those without a label are not scored.
    repeats : int
        Number of such sets of questions, independent of each other.
    n_entities : int, optional
        Number of candidates of a question, including its N answers, so at least N; at most 10 million. None: infinitely
        many.
    shared : str
        "everything": systems are scored on the same labels. With rho = 0, a stronger system finds all answers that a
        weaker one finds, in the same order, so that a curve over strengths is smooth. "labels": systems are scored on
        the same labels, and find and order answers independently. "nothing": each system has questions of its own.
    seed : int
        At least 0. The same seed gives the same bytes. The numbers of a system depend on its position in ``strength``.
        The numbers of a repeat depend on ``n_questions`` and the repeats before it, but not on the repeats after it.

    Returns
    -------
    OpenWorldSimulation

    Raises
    ------
    KgtrecError
        If a number is out of its domain, or no joint distribution has the correlation at one of the strengths.
    MeasureError
        If a measure is not a mean over answers of a function of their ranks.

    See Also
    --------
    kgtrec.openworld.expected_score : The exact expectation.

    References
    ----------
    Yang et al. (2022), NeurIPS, for the model.

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
    one_of("shared to be one of", shared, get_args(Shared))
    if n_entities is not None:  # they include the answers of a question
        n_entities = whole_number("n_entities", n_entities, world.n_answers, _MOST_ENTITIES)
    ranks = np.arange(1.0, (world.n_answers if n_entities is None else n_entities) + 1)
    sums = simulated_sums(
        np.stack([np.concatenate([[0.0], weights(ranks)]) for weights in named.values()]),
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
    with np.errstate(invalid="ignore"):
        scores = np.stack([sums.total / sums.labels, sums.value / sums.scored])
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
        scores,
    )


def _moments(sums: Sums) -> tuple[Floats, Floats]:
    """(2, m, s) averages over all repeats, and variances of the contribution of one question with a label."""
    value, value_square, total, total_square, product, labels, labels_square, scored = (
        part.sum(axis=-1) for part in sums
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        per_label, per_question = total / labels, value / scored
        linear = total_square - 2 * per_label * product + per_label**2 * labels_square
        of_label = np.maximum(linear, 0.0) / (scored - 1) * (scored / labels) ** 2
        of_question = np.maximum(value_square - scored * per_question**2, 0.0) / (scored - 1)
    return np.stack([per_label, per_question]), np.stack([of_label, of_question])
