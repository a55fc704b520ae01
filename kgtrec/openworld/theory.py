"""Expectation and variance of a measure when some true answers have no label.

The model: a question has N true answers. Each answer lacks its label with probability beta. Each answer is found, that
is, ranked above every false candidate, with probability l, the strength of the system. The correlation of these two
events is rho. Answers are independent of each other, and the found answers are in random order. A found labelled answer
then has rank 1 plus the number of missing answers found above it. A labelled answer that is not found counts 0.

There are three averages:

- "labels": over labelled answers, as in micro measures;
- "questions": over questions that have a label, of the mean over the labels of the question;
- "lemma": as published, where a question without a label counts as if it had one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgtrec.errors import KgtrecError, MeasureError, is_number, one_of, whole_number
from kgtrec.kernels.openworld import moments as kernel
from kgtrec.kernels.openworld.moments import Weights, correlated_strengths, correlation_bounds, mixed_mean, moments
from kgtrec.measures.names import ParsedMeasure, named_by_pykeen, parse_measure

Floats = NDArray[np.float64]
Average = Literal["labels", "questions", "lemma"]
_MOST_ANSWERS = 10_000_000  # an array of that length is 80 MB
_SLACK = 1e-12  # tolerance: by rounding, a strength may be this far outside of [0, 1]
_NOTHING = 1e-100  # for smaller probabilities the error bounds of the logarithm may overflow


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
        require_number("a correlation from -1 to 1", self.correlation, lambda rho: -1 <= rho <= 1)


def require_number(what: str, value: Any, is_allowed: Callable[[float], bool]) -> None:
    """Refuse what is no number of a range, which ``what`` names.

    Examples
    --------
    >>> require_number("a density above 0 and at most 1", 0, lambda share: 0 < share <= 1)
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected a density above 0 and at most 1, found 0
    """
    if not (is_number(value) and is_allowed(value)):
        raise KgtrecError(f"expected {what}, found {value!r}")


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
        strengths = np.atleast_1d(np.asarray(strength, np.float64))
    except (TypeError, ValueError):
        raise KgtrecError(f"expected strengths as numbers from 0 to 1, found {strength!r}") from None
    if strengths.ndim != 1 or len(strengths) == 0:
        raise KgtrecError(f"expected a strength or a list of strengths, found an array of shape {strengths.shape}")
    outside = strengths[~((strengths >= 0) & (strengths <= 1))]
    if len(outside):
        raise KgtrecError(f"expected strengths from 0 to 1, found {outside[0]:g}")
    return strengths


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


def expected_score(world: OpenWorld, measure: Any, strength: ArrayLike, *, average: Average = "labels") -> Floats:
    r"""Return the exact expectation of a measure.

    It is :math:`l_2 E[A(m)]`. Here :math:`l_1` and :math:`l_2` are the strengths on missing and on labelled answers,
    :math:`A(m)` is the mean of w(1) .. w(m + 1), and m is the number of missing answers that are found. The number m is
    binomial with probability :math:`\beta l_1`. For "labels" it has N - 1 trials. For "lemma" it has N trials. For
    "questions" it has N trials, conditional on at least one of the N answers having a label.

    Parameters
    ----------
    world : OpenWorld
        The number of answers per question, and the model of missing labels.
    measure : str, measure or function
        See :func:`weights_of`.
    strength : float or (s,) array, probabilities
        Probability that the system finds an answer.
    average : str
        "labels", "questions" or "lemma".

    Returns
    -------
    (s,) float array, or a float for a single strength

    Raises
    ------
    KgtrecError
        If a strength is outside [0, 1], or no joint distribution has the correlation at one of the strengths.
    MeasureError
        If the measure is not a mean over answers of a function of their ranks.

    See Also
    --------
    kgtrec.openworld.simulate : The same by simulation.
    kgtrec.openworld.score_slope : Its derivative.
    kgtrec.openworld.question_variance : The variance of one question.

    References
    ----------
    Yang et al. (2022), NeurIPS, theorems 1 and 2; the averages "labels" and "questions" correct the published "lemma".

    Examples
    --------
    >>> world = OpenWorld(5, 0.5)
    >>> [round(expected_score(world, "MRR", 0.8, average=average), 4) for average in ("labels", "questions", "lemma")]
    [0.5534, 0.5187, 0.5141]
    >>> expected_score(world, "Hits@1", [0.2, 0.8]).round(4)
    array([0.1638, 0.3689])
    """
    weights = weights_of(measure)[1]
    apart = strengths_apart(world, strengths_of(strength))
    n_draws, conditional = _draws(world, average)
    return _like(strength, kernel.mean_score(weights, n_draws, world.missing, *apart, conditional=conditional))


def score_slope(world: OpenWorld, measure: Any, strength: ArrayLike, *, average: Average = "labels") -> Floats:
    """Return the derivative of the expected score in the strength: the effect of a small improvement on the measure.

    Parameters and errors are those of :func:`expected_score`.

    Parameters
    ----------
    world : OpenWorld
        The number of answers per question, and the model of missing labels.
    measure : str, measure or function
        See :func:`weights_of`.
    strength : float or (s,) array, probabilities
        Probability that the system finds an answer.
    average : {"labels", "questions", "lemma"}
        What the average is over. Default: "labels".

    Returns
    -------
    (s,) float array, or a float for a single strength

    Examples
    --------
    >>> score_slope(OpenWorld(43, 0.5), "MRR", [0.2, 0.8]).round(3)  # at 0.8, a gain has a quarter of the effect
    array([0.23 , 0.058])
    """
    weights = weights_of(measure)[1]
    strengths = strengths_of(strength)
    strengths_apart(world, strengths)
    n_draws, conditional = _draws(world, average)
    slope = kernel.slope(weights, n_draws, world.missing, strengths, world.correlation, conditional=conditional)
    return _like(strength, slope)


@dataclass(frozen=True, slots=True, eq=False)
class Logarithm:
    """The logarithm that approximates MRR, with its error bounds: low <= lemma - value <= high."""

    value: Floats  # (s,)
    low: Floats  # (s,)
    high: Floats  # (s,)


def logarithmic_approximation(world: OpenWorld, strength: ArrayLike) -> Logarithm:
    r"""Approximate MRR (average "lemma") by a logarithm, with error bounds.

    The approximation is :math:`\frac{l_2}{l_1} \frac{\ln l_1 + \ln \beta + \ln(N + 2) + \gamma}{\beta (N + 1)}`. It
    exceeds MRR by at most :math:`\frac{l_2}{l_1} \frac{1}{\beta (N + 1) (N + 2)}`. It may be much lower than MRR where
    few missing answers are found, that is, where :math:`(N + 1) \beta l_1` is below about 3.

    Parameters
    ----------
    world : OpenWorld
        With missing labels.
    strength : float or (s,) array, above 0
        Probability that the system finds an answer.

    Returns
    -------
    Logarithm

    Raises
    ------
    KgtrecError
        If no answer is missing, or no missing answer is found: the logarithm then has no value.

    References
    ----------
    Yang et al. (2022), NeurIPS, the approximations of theorems 1 and 2.

    Examples
    --------
    >>> few, many = (logarithmic_approximation(OpenWorld(43, missing), 0.7) for missing in (0.01, 0.5))
    >>> few.value.round(2), few.high.round(2), many.value.round(4), many.high.round(4)
    (array([-1.31]), array([5.23]), array([0.1515]), array([-0.0005]))
    """
    strengths = strengths_of(strength)
    on_missing, on_labelled = strengths_apart(world, strengths)
    if (world.missing * on_missing < _NOTHING).any():
        raise KgtrecError(
            "expected missing answers of which some are found, found none; the logarithm is not defined there: use "
            "expected_score"
        )
    ratio = on_labelled / on_missing
    value, low, high = kernel.harmonic_approximation(world.n_answers, world.missing, on_missing)
    return Logarithm(ratio * value, ratio * low, ratio * high)


def question_variance(world: OpenWorld, measure: Any, strength: ArrayLike, *, average: Average = "labels") -> Floats:
    r"""Return the variance of one question's contribution to an average; divided by n, that over n questions.

    Only questions with a label count. For the average over questions the variance is exact for any n. The average over
    labels is a ratio of sums over questions. Its variance is that of the linear part of the ratio, with an error of
    order 1 / n^2.

    Parameters and errors are those of :func:`expected_score`, except that the lemma has no variance.

    Parameters
    ----------
    world : OpenWorld
        The number of answers per question, and the model of missing labels.
    measure : str, measure or function
        See :func:`weights_of`.
    strength : float or (s,) array, probabilities
        Probability that the system finds an answer.
    average : {"labels", "questions"}
        What the average is over. Default: "labels".

    Returns
    -------
    (s,) float array, or a float for a single strength

    Examples
    --------
    >>> round(question_variance(OpenWorld(43, 0.2), "MRR", 0.7, average="questions"), 5)
    0.01185
    """
    return _like(strength, _moments(world, measure, strengths_of(strength), average).variance)


def wrong_order_probability(
    world: OpenWorld,
    measure: Any,
    weaker: float,
    stronger: float,
    n_questions: int,
    *,
    average: Average = "labels",
    shared_labels: bool = True,
) -> float:
    r"""Return the probability that the stronger of two systems gets the lower score.

    It is :math:`\Phi(-\Delta \sqrt{n / V})` with :math:`V = V_1 + V_2 - 2 C`. This approximates the difference of the
    scores by a normal distribution with the mean and variance of the difference. By the theorem of Berry and Esseen,
    the error is of order :math:`1 / \sqrt{n}` in the number n of questions.

    Parameters
    ----------
    world, measure, average
        As in :func:`expected_score`, except that the average "lemma" is not possible.
    weaker, stronger : float
        Strengths of the two systems, which find answers independently of each other.
    n_questions : int
        Questions with a label.
    shared_labels : bool
        True: both systems are scored on the same labels, as is usual. Some sets of labels then favour both systems, so
        their scores have the covariance C, and a wrong order is less likely. False: each system is scored on labels of
        its own, and C is 0.

    Returns
    -------
    float, at least 0.5 if the stronger system is expected to score no higher

    Raises
    ------
    KgtrecError
        If the strengths are not in ascending order; otherwise as in :func:`expected_score`.

    Examples
    --------
    >>> world = OpenWorld(43, 0.5)
    >>> [round(wrong_order_probability(world, measure, 0.7, 0.72, 1000, average="questions"), 3)
    ...  for measure in ("MRR", "logMRR")]
    [0.328, 0.039]
    """
    gap, variance = _difference(world, measure, weaker, stronger, average, shared_labels=shared_labels)
    n = whole_number("n_questions", n_questions, 1)
    if variance == 0:
        return 0.5 if gap == 0 else float(gap < 0)
    return 0.5 * math.erfc(gap * math.sqrt(n / variance) / math.sqrt(2))


def questions_needed(
    world: OpenWorld,
    measure: Any,
    weaker: float,
    stronger: float,
    *,
    p: float = 0.05,
    average: Average = "labels",
    shared_labels: bool = True,
) -> int:
    r"""Return the least number of questions for a :func:`wrong_order_probability` of at most p.

    It is :math:`\lceil V (z_p / \Delta)^2 \rceil`.

    Parameters
    ----------
    world, measure, weaker, stronger, average, shared_labels
        As for :func:`wrong_order_probability`.
    p : float
        In (0, 0.5).

    Returns
    -------
    int, questions with a label, at least 1

    Raises
    ------
    KgtrecError
        If the stronger system is not expected to score higher, so that no number of questions is enough.

    Examples
    --------
    >>> world = OpenWorld(43, 0.5)
    >>> [questions_needed(world, measure, 0.7, 0.72, average="questions") for measure in ("MRR", "logMRR")]
    [13556, 866]
    """
    gap, variance = _difference(world, measure, weaker, stronger, average, shared_labels=shared_labels)
    number = needed_questions(variance, gap, p)
    if number is None:
        raise KgtrecError(
            f"expected the system of strength {stronger:g} to score higher than that of {weaker:g}, found a difference "
            f"of {gap:.3g}: no number of questions brings them into the right order"
        )
    return number


def questions_needed_by_logarithm(
    world: OpenWorld, strength: float, gap: float, *, p: float = 0.05, variance: float | None = None
) -> int:
    r"""Return the published number of questions: :math:`N_q \ge 2 V (\beta l (N + 1) z_p / \Delta l)^2`.

    It assumes that the slope of MRR is that of its logarithm, that both systems have the same variance, and that they
    are scored on independent labels.

    Parameters
    ----------
    world : OpenWorld
        Without correlation.
    strength, gap : float
        l of the systems, and the difference of their strengths, :math:`\Delta l`.
    p : float
        Probability of a wrong order, in (0, 0.5).
    variance : float, optional
        V, the variance of a question's MRR. Default: :func:`question_variance` over questions.

    Returns
    -------
    int

    References
    ----------
    Yang et al. (2022), NeurIPS, section on inconsistency.

    Examples
    --------
    >>> questions_needed_by_logarithm(OpenWorld(43, 0.5), 0.5, 0.05)
    1139
    """
    if world.correlation != 0:
        raise KgtrecError(f"expected no correlation in the published formula, found {world.correlation:g}")
    require_number("a difference of strengths above 0", gap, lambda number: number > 0)
    if variance is None:
        variance = float(question_variance(world, "MRR", strength, average="questions"))
    require_number("a variance of at least 0", variance, lambda number: number >= 0)
    level = float(strengths_of(strength)[0])
    scale = world.missing * level * (world.n_answers + 1) * wrong_order_quantile(p) / gap
    number = 2 * variance * scale * scale
    if not math.isfinite(number):
        raise KgtrecError("expected a larger difference between the two systems: the number of questions overflows")
    return max(1, math.ceil(number))


def correlation_range(missing: float, strength: ArrayLike) -> tuple[Floats, Floats]:
    """Return the least and greatest possible correlation between "missing" and "found".

    Parameters
    ----------
    missing : float, a probability
        Probability that an answer has no label.
    strength : float or (s,) array, probabilities
        Probability that the system finds an answer.

    Returns
    -------
    low, high : (s,) float arrays, or floats for a single strength

    References
    ----------
    Fréchet (1951), on the bounds of a joint distribution with given margins.

    Examples
    --------
    >>> [round(end, 4) for end in correlation_range(0.2, 0.7)]
    [-0.7638, 0.3273]
    """
    low, high = correlation_bounds(strengths_of(strength), OpenWorld(1, missing).missing)
    return _like(strength, low), _like(strength, high)


def _moments(world: OpenWorld, measure: Any, strength: Floats, average: Average) -> kernel.ScoreMoments:
    weights = weights_of(measure)[1]
    one_of("average to be one of", average, get_args(Average))
    if average == "lemma":
        raise KgtrecError(
            'expected average="labels" or "questions", found "lemma": it includes questions without a label, which '
            "have no score and so no variance"
        )
    apart = strengths_apart(world, strength)
    return moments(weights, world.n_answers, world.missing, *apart, per_label=average == "labels")


def _difference(
    world: OpenWorld, measure: Any, weaker: float, stronger: float, average: Average, *, shared_labels: bool
) -> tuple[float, float]:
    """Mean and variance of the contribution of one question to the difference of two systems' scores."""
    strength = strengths_of([weaker, stronger])
    if not strength[0] < strength[1]:
        raise KgtrecError(
            f"expected the weaker system's strength below the stronger one's, found {weaker:g}, {stronger:g}"
        )
    found = _moments(world, measure, strength, average)
    variance = float(found.variance.sum())
    if shared_labels:
        variance -= 2 * float(found.covariance[0, 1])
    return float(found.mean[1] - found.mean[0]), max(variance, 0.0)


def _draws(world: OpenWorld, average: Average) -> tuple[int, bool]:
    """How many answers may be missing and found, and whether only questions with a label count."""
    one_of("average to be one of", average, get_args(Average))
    return world.n_answers - (average == "labels"), average == "questions"


def wrong_order_quantile(p: float) -> float:
    """Return the upper p-quantile of the standard normal distribution, for p in (0, 0.5)."""
    from scipy.special import ndtri

    require_number("a probability of a wrong order between 0 and 0.5", p, lambda number: 0 < number < 0.5)
    return -float(ndtri(p))


def _like(given: ArrayLike, found: Floats) -> Floats:
    """A float where a single number was given."""
    return cast(Floats, float(found[0])) if np.ndim(given) == 0 else found


_MOST_MISSING = 1 - 1e-9  # with no label at all there is nothing to score
_MOST_QUESTIONS = 2.0**53
_STRENGTHS, _STEPS = 17, 60  # number of strengths in the table of the curve; most steps from the table to a solution
_EXACT = 1e-12  # tolerance, as a share of the greatest score


@dataclass(frozen=True, slots=True, eq=False)
class MixedWorld:
    """The open-world model for questions of several numbers of answers."""

    n_answers: NDArray[np.int64]  # (k,)
    share: Floats  # (k,) proportional to the number of questions with a label
    missing: float  # beta

    @classmethod
    def of(cls, size: Floats, missing: float) -> MixedWorld:
        """Return questions of these (q,) numbers of answers; a fractional number is split between its two neighbours.

        Examples
        --------
        >>> world = MixedWorld.of(np.array([1.0, 2.25]), 0.5)
        >>> world.n_answers.tolist(), world.share.tolist()
        ([1, 2, 3], [1.0, 0.75, 0.25])
        """
        whole = np.floor(size).astype(np.int64)
        n_answers, place = np.unique(np.concatenate([whole, whole + 1]), return_inverse=True)
        share = np.bincount(place, np.concatenate([1 - (size - whole), size - whole])).astype(np.float64, copy=False)
        filled = share > 0
        return cls(n_answers[filled], share[filled], 0.0).with_missing(missing)

    def with_missing(self, missing: float) -> MixedWorld:
        """Return the same questions with another beta, which is cut off below 1; NaN if beta is not known."""
        return replace(self, missing=float(np.clip(missing, 0.0, _MOST_MISSING)))

    def expected(self, weights: Weights, strength: Floats) -> Floats:
        """Return (s,) expected scores over labels."""
        return mixed_mean(weights, self.n_answers, self.share, self.missing, strength, strength, per_label=True)

    def strengths(self, weights: Mapping[str, Weights], scores: Floats) -> Floats:
        """Return (m, s) strengths at which these scores are expected.

        1 where even strength 1 has a lower expected score; NaN if beta is not known. The method is false position in
        the Illinois form, for all systems at once.

        References
        ----------
        Dowell, Jarratt (1971), BIT 11, A modified regula falsi method for computing the root of an equation.
        """
        if math.isnan(self.missing):
            return np.full(scores.shape, np.nan)
        return np.stack([self._strength(own, score) for own, score in zip(weights.values(), scores, strict=True)])

    def _strength(self, weights: Weights, score: Floats) -> Floats:
        grid = np.linspace(0.0, 1.0, _STRENGTHS)
        curve = self.expected(weights, grid)
        target = np.minimum(score, curve[-1])
        place = np.clip(np.searchsorted(curve, target) - 1, 0, _STRENGTHS - 2)
        low, high, below, above = grid[place], grid[place + 1], curve[place] - target, curve[place + 1] - target
        strength, was_under = low, None
        # Illinois form: the value at an end that stays is halved; else a curved function would keep this end for long
        for _ in range(_STEPS):
            share = np.divide(above, above - below, out=np.zeros(len(score)), where=above > below)
            strength = np.clip(high - (high - low) * share, low, high)
            value = self.expected(weights, strength) - target
            if np.abs(value).max() <= _EXACT * curve[-1]:
                break
            under = value < 0
            stays = 1.0 if was_under is None else np.where(under == was_under, 0.5, 1.0)
            low, below = np.where(under, strength, low), np.where(under, value, below * stays)
            high, above = np.where(under, high, strength), np.where(under, above * stays, value)
            was_under = under
        return np.where(score >= curve[-1] * (1 - _EXACT), 1.0, strength)

    def questions_needed(self, weights: Weights, strength: Floats, p: float) -> int | None:
        """Return how many questions misorder two systems, the stronger first, with probability p."""
        found = moments(weights, self.n_answers, self.missing, strength, strength, per_label=True, share=self.share)
        variance = found.variance.sum() - 2 * found.covariance[0, 1]
        return needed_questions(float(variance), float(found.mean[0] - found.mean[1]), p)


def needed_questions(variance: float, difference: float, p: float) -> int | None:
    """Return the number of questions at which a normal difference of means has the wrong sign with probability p.

    None if no number is enough. A difference that needs more than 2^53 questions is a rounding error, so None too.
    """
    if not difference > 0:
        return None
    scale = wrong_order_quantile(p) / difference
    number = max(variance, 0.0) * scale * scale
    return max(1, math.ceil(number)) if number <= _MOST_QUESTIONS else None
