"""A world in which some true answers have no label; measures as functions of a rank in it, and systems' strengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.errors import KgtrecError, MeasureError, is_number, whole_number
from kgtrec.kernels.openworld.moments import Weights, correlated_strengths, correlation_bounds
from kgtrec.measures.names import ParsedMeasure, named_by_pykeen, parse_measure

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


Floats = NDArray[np.float64]

_SLACK = 1e-12  # tolerance: by rounding, a strength may be this far outside of [0, 1]


def weights_of(measure: Any, *, bare: bool = True) -> tuple[str, Weights]:
    """Return the name and weights w(rank) of a measure that is the mean of w over answers.

    Parameters
    ----------
    measure : str, measure or function
        ``"MRR"``, ``"Hits@10"``, ``"logMRR"``, ``"pMRR(p=0.3)"``, with or without ``micro.``; one of PyKEEN's names; or
        a function from an array of 1-based ranks to an array of the values of answers at these ranks.
    bare : bool
        Whether ``"MRR"`` means ``"micro.MRR"``. If False, it is an error, as everywhere that systems are scored.

    Raises
    ------
    MeasureError
        If the measure is not a mean over answers of a function of their ranks, or if an answer that is not found does
        not count 0.

    Examples
    --------
    >>> name, weights = weights_of("Hits@3")
    >>> name, weights(np.array([1.0, 3.0, 4.0])).tolist()
    ('micro.Hits@3', [1.0, 1.0, 0.0])
    """
    if callable(measure) and not isinstance(measure, ParsedMeasure):
        return getattr(measure, "__name__", "w"), _checked(measure)
    if isinstance(measure, str):
        name = measure.strip()
        is_full = not bare or name.startswith(("micro.", "macro.", "pykeen."))
        measure = parse_measure(name if is_full or named_by_pykeen(name) else f"micro.{name}")
    parsed = parse_measure(measure)
    if (
        not isinstance(parsed, ParsedMeasure)
        or parsed.items != "answers"
        or parsed.record.aggregate != "mean"
        or parsed.record.better != "higher"
        or parsed.record.form != "plain"
        or parsed.record.weighting is not None
    ):
        raise MeasureError(
            f"{parsed.label}: expected a measure that is the mean over answers of a function of the rank, with 0 for "
            "an answer that is not found, such as micro.MRR, micro.Hits@10, micro.logMRR or micro.pMRR(p=0.5), or a "
            'function of ranks; for the mean over questions use the same measure with average="questions"'
        )
    return parsed.label, parsed


def named_weights(measures: Any, *, bare: bool = True) -> dict[str, Weights]:
    """Return measures by name, from one measure or several; a string may hold several, separated by spaces.

    Examples
    --------
    >>> list(named_weights(["MRR", "Hits@1 Hits@10"]))
    ['micro.MRR', 'micro.Hits@1', 'micro.Hits@10']
    """
    single = isinstance(measures, str | ParsedMeasure) or callable(measures)
    many: Iterable[Any] = [measures] if single else measures
    named: dict[str, Weights] = {}
    for measure in chain.from_iterable(one.split() if isinstance(one, str) else [one] for one in many):
        name, weights = weights_of(measure, bare=bare)
        if name in named and callable(measure):
            raise MeasureError(f"expected functions with different names, found {name!r} twice")
        named.setdefault(name, weights)
    if not named:
        raise MeasureError("expected at least one measure, found none")
    return named


def strengths_of(strength: ArrayLike) -> Floats:
    """Return (s,) strengths from one or several numbers; an error if one is outside [0, 1]."""
    try:
        found = np.atleast_1d(np.asarray(strength, np.float64))
    except (TypeError, ValueError):
        raise KgtrecError(f"expected strengths as numbers from 0 to 1, found {strength!r}") from None
    if found.ndim != 1 or len(found) == 0:
        raise KgtrecError(f"expected a strength or a list of strengths, found an array of shape {found.shape}")
    outside = found[~((found >= 0) & (found <= 1))]
    if len(outside):
        raise KgtrecError(f"expected strengths from 0 to 1, found {outside[0]:g}")
    return found


def strengths_apart(world: OpenWorld, strength: Floats) -> tuple[Floats, Floats]:
    """Return the strengths on missing and on labelled answers; the error gives the possible correlations.

    Examples
    --------
    >>> strengths_apart(OpenWorld(5, 0.5, 0.6), np.array([0.8]))
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected a correlation from -0.5 to 0.5 for a strength of 0.8 with a share of 0.5
    missing, found 0.6
    """
    apart = correlated_strengths(strength, world.missing, world.correlation) if world.missing else (strength, strength)
    if world.correlation == 0:
        return apart
    low, high = correlation_bounds(strength, world.missing)
    refused = ~((world.correlation >= low * (1 + _SLACK)) & (world.correlation <= high * (1 + _SLACK)))
    if refused.any():
        worst = int(refused.argmax())
        raise KgtrecError(
            f"expected a correlation from {low[worst]:.12g} to {high[worst]:.12g} for a strength of "
            f"{strength[worst]:g} with a share of {world.missing:g} missing, found {world.correlation:g}"
        )
    return np.clip(apart[0], 0.0, 1.0), np.clip(apart[1], 0.0, 1.0)


def _checked(function: Callable[[Any], Any]) -> Weights:
    def weights(ranks: Floats) -> Floats:
        try:
            found = np.asarray(function(ranks), np.float64)
        except TypeError as error:
            raise MeasureError(
                f"expected a function from an array of ranks to an array of numbers, such as numpy's: {error}"
            ) from None
        if found.shape != ranks.shape or not np.isfinite(found).all():
            raise MeasureError(
                f"expected a finite number for each of {len(ranks):,} ranks, found "
                + (f"shape {found.shape}" if found.shape != ranks.shape else "NaN or infinity")
            )
        return found

    return weights
