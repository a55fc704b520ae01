"""Which pairs of systems a measure can tell apart: its discriminative power."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.item_scores import ItemScores
from kgtrec.data.power import POWER_TESTS, RESAMPLES, Power, Resample
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError, nearest
from kgtrec.evaluation.item_scores import higher_terms_are_better, terms, totals
from kgtrec.kernels.statistics import paired_tests

Floats = NDArray[np.float64]
#: what is averaged where it is not the value itself; turned so that it rises with the measure's number
_SCALES = {
    "geometric mean": "ln value",
    "floored geometric mean": "ln value",
    "harmonic mean": "-1 / value",
    "inverse mean": "-value",
    "inverse geometric mean": "-ln value",
}


def power(
    item_scores: Mapping[str, ItemScores],
    *,
    tests: Sequence[str] = ("t", "clustered"),
    alpha: float = 0.05,
    repeats: int = 1000,
    resample: Resample = "question",
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Power:
    """Test every pair of systems under every measure.

    Parameters
    ----------
    item_scores : mapping of str to ItemScores
        What :func:`kgtrec.evaluation.item_scores.item_scores` yields: a measure's name to what each system scored on each item.
    tests : sequence of {"t", "clustered", "bootstrap", "tukey"}
        Two-tailed paired t-test over items; the same with errors that are robust where items of one question are not
        independent (for measures over questions it is the t-test); achieved significance level of the paired
        bootstrap; randomised Tukey HSD.
    alpha : float
        Level below which a p-value counts as significant.
    repeats : int
        Samples of the bootstrap, and shuffles of Tukey's test.
    resample : {"question", "item"}
        What those two draw and shuffle as one.
    seed : int
        The result depends on seed and labels, not on the order of systems, questions or answers, nor on ``workers``.
    workers : int, optional
        Threads. Default: as many as there are processors.
    progress : callable, optional
        Called with 1 whenever a measure is through with one of the tests.

    Returns
    -------
    Power

    Raises
    ------
    KgtrecError
        If there is no measure, there are fewer than two systems, or an option is none of its choices.
    MeasureError
        If a measure's number is no mean of items, such as a median.

    Warns
    -----
    KgtrecWarning
        If p is undefined for a pair: systems that differ by the same on every item, or have items without a value.

    References
    ----------
    Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR.
    Carterette (2012). Multiple testing in statistical analysis of systems-based information retrieval experiments.
    ACM TOIS 30(1).
    Zhou et al. (2022). Re-thinking knowledge graph completion evaluation from an information retrieval perspective.
    SIGIR, section on discriminative power.

    Examples
    --------
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> value = np.array([[1.0, 0.5, 1.0, 0.5], [0.5, 0.25, 1.0, 0.25], [0.5, 0.25, 0.5, 0.5]])
    >>> row, questions = np.arange(4, dtype=np.int32), Vocabulary.of(["q1", "q2", "q3", "q4"])
    >>> scores = ItemScores("macro.MRR", "questions", True, "mean", ("a", "b", "c"), value, row, questions)
    >>> tested = power({"macro.MRR": scores}, tests=["t"])
    >>> tested.p.round(3).tolist()
    [[[0.092, 0.08, 0.718]]]
    >>> tested.curve("macro.MRR").round(3).tolist(), tested.area.round(3).tolist()
    ([0.718, 0.092, 0.08], [[0.296]])
    """
    tests = _checked_tests(tests)
    _check_options(alpha, repeats, resample, workers)
    if not item_scores:
        raise KgtrecError("expected scores under at least one measure, found none")
    systems = next(iter(item_scores.values())).systems
    if len(systems) < 2:
        raise KgtrecError(f"expected at least two systems to tell apart, found {len(systems)}")
    for label, scores in item_scores.items():
        if scores.systems != systems:
            raise KgtrecError(
                f"expected the same systems in the same order under every measure, found others at {label}"
            )
    samples = [_sample(scores) for scores in item_scores.values()]
    return _tested(item_scores, samples, tests, alpha, repeats, resample, seed, workers, progress)


def _checked_tests(tests: Sequence[str]) -> tuple[str, ...]:
    asked = [tests] if isinstance(tests, str) else list(tests)
    for test in asked:
        if test not in POWER_TESTS:
            raise KgtrecError(
                f"expected tests among {', '.join(POWER_TESTS)}, found {test!r}{nearest(str(test), POWER_TESTS)}"
            )
    if not asked:
        raise KgtrecError(f"expected at least one test of {', '.join(POWER_TESTS)}, found none")
    return tuple(test for test in POWER_TESTS if test in asked)


def _check_options(alpha: float, repeats: int, resample: str, workers: int | None) -> None:
    if not 0 < alpha < 1:
        raise KgtrecError(f"expected an alpha between 0 and 1, found {alpha}")
    if repeats < 1:
        raise KgtrecError(f"expected at least 1 repeat, found {repeats}")
    if resample not in RESAMPLES:
        raise KgtrecError(f"expected to resample {' or '.join(map(repr, RESAMPLES))}, found {resample!r}")
    if workers is not None and workers < 1:
        raise KgtrecError(f"expected at least 1 worker, found {workers}")


@dataclass(frozen=True, slots=True, eq=False)
class PairedSample:
    """What is averaged under one measure, in an order that depends on labels alone."""

    value: Floats  # (systems, n) higher where the measure's number is
    cluster: NDArray[np.int64]  # (n,) question of each item, by the bytes of its label
    known: NDArray[np.bool_]  # (systems,) whether all items have a value


def paired_sample(scores: ItemScores) -> PairedSample:
    """The items of one measure as the paired tests want them.

    Raises
    ------
    MeasureError
        If the measure's number is no mean of items.
    """
    value = rising_terms(scores)
    cluster = scores.questions.byte_order[scores.question].astype(np.int64)
    keys = [cluster]
    if scores.entity is not None and scores.entities is not None:
        keys.insert(0, scores.entities.byte_order[scores.entity].astype(np.int64))
    order = np.lexsort(keys)
    known = np.isfinite(value).sum(axis=1) == max(len(scores), 1)
    return PairedSample(value[:, order], cluster[order], known)


def rising_terms(scores: ItemScores) -> Floats:
    """(systems, n) what is averaged, turned so that its mean rises with the measure's number.

    Raises
    ------
    MeasureError
        If the measure's number is no mean of items.
    """
    value = terms(scores)
    return value if higher_terms_are_better(scores) == scores.higher_is_better else -value


def scale_of(scores: ItemScores) -> str:
    """What is averaged, and so tested, in words."""
    return _SCALES.get(scores.aggregate, "value")


def _sample(scores: ItemScores) -> PairedSample:
    try:
        return paired_sample(scores)
    except MeasureError as error:
        raise MeasureError(
            f"{error}; leave it out, or test one that is a mean, such as micro.GMR for micro.MedianRank "
            "(kgtrec meta compare has its bootstrap interval)"
        ) from None


def _tested(
    item_scores: Mapping[str, ItemScores],
    samples: Sequence[PairedSample],
    tests: tuple[str, ...],
    alpha: float,
    repeats: int,
    resample: Resample,
    seed: int,
    workers: int | None,
    progress: Callable[[int], None] | None,
) -> Power:
    every = list(item_scores.values())
    systems = every[0].systems
    # by name, so that shuffles do not depend on the order in which the systems came
    by_name = np.array(sorted(range(len(systems)), key=systems.__getitem__), np.intp)

    def outcome(task: tuple[PairedSample, ItemScores, str]) -> tuple[Floats, Floats]:
        sample, scores, test = task
        own = by_name[sample.known[by_name]]
        cluster = sample.cluster if scores.items == "answers" else None
        found = _one_test(sample.value[own], cluster, test, repeats, resample, seed)
        if progress is not None:
            progress(1)
        return _spread(found[0], own, len(systems), turns=True), _spread(found[1], own, len(systems), turns=False)

    tasks = [
        (sample, scores, test) for sample, scores in zip(samples, every, strict=True) for test in tests
    ]  # fmt: skip
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        found = list(pool.map(outcome, tasks))
    n_pairs = len(systems) * (len(systems) - 1) // 2
    shape = (len(every), len(tests), n_pairs)
    statistic, p = (np.array([part[place] for part in found]).reshape(shape) for place in (0, 1))
    adjusted = p.copy()
    for place, test in enumerate(tests):
        if test != "tukey":
            adjusted[:, place] = [paired_tests.holm(own) for own in p[:, place]]
    difference, d_z, d_pooled = (np.array(part) for part in zip(*map(_means, samples), strict=True))
    tested = Power(
        systems, tuple(item_scores), tests, float(alpha), repeats,
        tuple(scores.items for scores in every),
        tuple(scores.higher_is_better for scores in every),
        tuple(scale_of(scores) for scores in every),
        np.array([len(scores) for scores in every], np.int64),
        np.array([len(np.unique(scores.question)) for scores in every], np.int64),
        np.array([totals(scores) for scores in every]),
        difference, d_z, d_pooled, statistic, p, adjusted,
    )  # fmt: skip
    _tell_undefined(tested, samples)
    return tested


def _means(sample: PairedSample) -> tuple[Floats, Floats, Floats]:
    """(pairs,) each: difference, d_z and pooled d; NaN for systems with items that have no value."""
    own = np.flatnonzero(sample.known)
    known = sample.value[own]
    if len(own) < 2:
        nothing = np.full(len(sample.known) * (len(sample.known) - 1) // 2, np.nan)
        return nothing, nothing, nothing
    found = (paired_tests.differences(known)[0], *paired_tests.effect_sizes(known))
    difference, d_z, d_pooled = (_spread(part, own, len(sample.value), turns=True) for part in found)
    return difference, d_z, d_pooled


def _one_test(
    value: Floats, cluster: NDArray[np.int64] | None, test: str, repeats: int, resample: Resample, seed: int
) -> tuple[Floats, Floats]:
    """(pairs,) each: t, NaN where the test has none, and p; ``cluster``: None where each item is a question."""
    n_systems, n = value.shape
    nothing = np.full(n_systems * (n_systems - 1) // 2, np.nan)
    if n_systems < 2:
        return nothing, nothing
    if test in ("t", "clustered"):
        mean, deviation = paired_tests.differences(value)
        if test == "clustered" and cluster is not None:
            error, n_clusters = paired_tests.clustered_errors(value, cluster)
            return paired_tests.t_test(mean, error, n_clusters - 1)
        return paired_tests.t_test(mean, deviation / np.sqrt(n), n - 1)
    drawn = cluster if resample == "question" else None
    resampled = paired_tests.achieved_significance if test == "bootstrap" else paired_tests.randomised_tukey
    return nothing, resampled(value, drawn, repeats, seed)


def _spread(found: Floats, own: NDArray[np.intp], n_systems: int, *, turns: bool) -> Floats:
    """Values of the pairs of some systems, in any order, as those of the pairs of all; NaN for the others.

    ``turns``: a pair the other way round has the opposite sign.
    """
    square = np.full((n_systems, n_systems), np.nan)
    first, second = paired_tests.pairs(len(own))
    square[own[first], own[second]] = found
    square[own[second], own[first]] = 0.0 - found if turns else found
    return square[paired_tests.pairs(n_systems)]


def _tell_undefined(tested: Power, samples: Sequence[PairedSample]) -> None:
    first, second = tested.pairs
    for place, sample in enumerate(samples):
        label, p = tested.measures[place], tested.p[place]
        if not sample.known.all():
            without = [name for name, known in zip(tested.systems, sample.known, strict=True) if not known]
            warnings.warn(
                f"{label} has no value for some {tested.items[place]} of {', '.join(without)}: their pairs have no "
                "p-value and are left out of the shares and the area",
                KgtrecWarning, stacklevel=4,
            )  # fmt: skip
        flat = np.isnan(p).any(axis=0) & sample.known[first] & sample.known[second]
        if flat.any():
            one = int(np.flatnonzero(flat)[0])
            warnings.warn(
                f"{label} has no variance for {np.count_nonzero(flat)} of {len(flat)} pairs of systems, such as "
                f"{tested.systems[first[one]]} and {tested.systems[second[one]]}, which differ by the same everywhere: "
                "p is undefined there, and they are left out of the shares and the area",
                KgtrecWarning, stacklevel=4,
            )  # fmt: skip
