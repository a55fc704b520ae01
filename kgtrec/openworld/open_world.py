"""A world in which some true answers have no label, and scores of systems in simulations of it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import long_table
from kgtrec.data.frames import frame_of_table
from kgtrec.errors import KgtrecError, between_0_and_1, is_number, whole_number

if TYPE_CHECKING:
    import pandas as pd

#: the random draws that simulated systems share
Shared = Literal["everything", "labels", "nothing"]
#: over labelled answers (micro); over questions with a label, of the mean over the labels of the question
AVERAGES = ("labels", "questions")
_MOST_ANSWERS = 10_000_000  # an array of that length is 80 MB


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """The number of true answers per question, and the model of missing labels.

    Parameters
    ----------
    n_answers : int
        N, the number of true answers of a question, from 1 to 10 million.
    missing : float
        beta, the probability that an answer lacks its label, in [0, 1).
    correlation : float
        rho, the correlation of two events: the label of an answer is missing, and the system finds the answer. Above 0
        if systems find missing answers more easily than labelled ones. The possible range depends on the strength of
        the system.

    Raises
    ------
    KgtrecError
        If a parameter is out of its domain.

    Examples
    --------
    >>> OpenWorld(43, 0.2)
    OpenWorld(n_answers=43, missing=0.2, correlation=0.0)
    """

    n_answers: int
    missing: float
    correlation: float = 0.0

    def __post_init__(self) -> None:
        whole_number("n_answers", self.n_answers, 1, _MOST_ANSWERS)
        if not is_number(self.missing) or not 0 <= self.missing < 1:
            raise KgtrecError(
                f"expected a share of missing labels of at least 0 and below 1, found {self.missing!r}; without any "
                "label there is nothing to score"
            )
        if not is_number(self.correlation) or not -1 <= self.correlation <= 1:
            raise KgtrecError(f"expected a correlation from -1 to 1, found {self.correlation!r}")


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
        """Lower and upper ends for every mean.

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
        """The long form: average, measure, strength, mean, low, high; strengths innermost."""
        low, high = self.interval(kind, confidence)
        along = {"average": (0, AVERAGES), "measure": (1, self.measures), "strength": (2, self.strength)}
        return frame_of_table(long_table(self.mean.shape, along | {"mean": self.mean, "low": low, "high": high}))
