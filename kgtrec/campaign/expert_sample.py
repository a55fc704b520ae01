"""The quality of the labels, from a sample that an expert judges again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.decide import last_word
from kgtrec.data.campaign import SAMPLE_STATISTICS, ExpertSample, SampleReport
from kgtrec.data.judgements import AUTOMATIC, EXPERT, NO, UNSURE, VERDICTS, YES, Decisions, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.triples import triple_keys
from kgtrec.errors import CollectionError, KgtrecError, between_0_and_1, warn
from kgtrec.kernels.sampling.proportions import part_interval, weighted_interval, wilson_interval


def draw_sample(
    pool: Pool, decisions: Decisions, *, size: int = 200, seed: int = 0, with_automatic: bool = False
) -> ExpertSample:
    """Draw decided triples for an expert to judge again, half of them Y and half N, with one more Y if the size is odd.

    Within Y and within N all triples have the same probability. If there are too few of one label, all of them are
    taken, and correspondingly more of the other.

    Parameters
    ----------
    pool : Pool
        From which triples are drawn.
    decisions : Decisions
        For the same triples.
    size : int, triples
        At least 2.
    seed : int
        The sample depends only on it and on the labels of the settled triples.
    with_automatic : bool
        Whether to sample also from triples that a rule judged N. Default: only from those that people settled.

    Returns
    -------
    ExpertSample
        In an order that does not reveal the labels.

    Raises
    ------
    KgtrecError
        If fewer triples are settled than wanted.

    References
    ----------
    Zhou et al. (2022), SIGIR, section 4, draws 100 of each. Cochran (1977), Sampling Techniques, chapter 5.
    """
    if len(decisions) != len(pool):
        raise CollectionError(f"expected decisions on {len(pool):,} triples, those of the pool, got {len(decisions):,}")
    if size < 2:
        raise KgtrecError(f"expected a sample of at least 2 triples, one Y and one N, got {size}")
    settled = decisions.verdict >= 0
    if not with_automatic:
        settled &= decisions.state != AUTOMATIC
    rows = [np.flatnonzero(settled & (decisions.verdict == verdict)) for verdict in (NO, YES)]
    if size > sum(map(len, rows)):
        raise KgtrecError(
            f"expected at least {size:,} settled triples to draw from, found {len(rows[YES]):,} Y and "
            f"{len(rows[NO]):,} N; draw fewer, or continue judging"
        )
    from_yes = min((size + 1) // 2, len(rows[YES]))
    from_no = min(size - from_yes, len(rows[NO]))
    numbers = from_no, size - from_no
    for label in (NO, YES):
        if numbers[label] < size // 2:
            warn(
                f"only {len(rows[label]):,} triples are settled as {VERDICTS[label]}, so the sample has all of "
                f"them and {size - numbers[label]:,} of {VERDICTS[1 - label]}"
            )
    key = triple_keys(pool.triples, seed)
    chosen = [of_label[np.argsort(key[of_label], kind="stable")[:n]] for of_label, n in zip(rows, numbers, strict=True)]
    triple = np.concatenate(chosen)
    verdict = np.repeat(np.array([NO, YES], np.int8), numbers)
    share = np.repeat([n / max(len(of_label), 1) for of_label, n in zip(rows, numbers, strict=True)], numbers)
    order = np.argsort(triple)  # the order of the keys would reveal labels: a label with fewer triples has higher keys
    return ExpertSample(triple[order].astype(np.int32), verdict[order], share[order])


def sample_report(sample: ExpertSample, judgements: Judgements, *, confidence: float = 0.95) -> SampleReport:
    r"""Estimate the quality of the labels, as they were when the sample was drawn, by the experts' verdicts on it.

    The last verdict of any expert on a triple counts. A triple of the sample without one, or whose last one is
    "unsure", is left out. With agreement :math:`p_Y` on the labels Y and :math:`p_N` on N, and with :math:`N_Y` and
    :math:`N_N` of them in the pool when it was drawn:

    - "agreement on Y", "agreement on N": :math:`p_Y`, the precision of the positives, and :math:`p_N`; Wilson
      intervals.
    - "agreement in the sample": of both together, as in the sample; Wilson interval. This is usually published, but a
      pool is not half Y.
    - "agreement in the pool": :math:`(N_Y p_Y + N_N p_N) / (N_Y + N_N)`; the interval combines the Wilson intervals of
      the strata, :func:`kgtrec.kernels.sampling.proportions.weighted_interval`.
    - "positives missed": :math:`N_N (1 - p_N)`, the number of triples of label N that are true.
    - "recall of positives": :math:`N_Y p_Y / (N_Y p_Y + N_N (1 - p_N))`, the share of the true triples that have the
      label Y; the interval combines the Wilson intervals of the strata too,
      :func:`kgtrec.kernels.sampling.proportions.part_interval`.
    - "prevalence in the pool": :math:`(N_Y p_Y + N_N (1 - p_N)) / (N_Y + N_N)`, the share of true triples; interval as
      for the agreement in the pool.

    The pool here is the triples that were settled and sampled from: known answers, open and undecided triples are not
    in it, and automatic ones only if they were sampled from. The intervals assume that the expert is right, that
    triples are drawn with replacement (so they are too wide where much of a label is drawn), and that triples of one
    question are independent.

    Parameters
    ----------
    sample : ExpertSample
        The triples that were drawn for the expert.
    judgements : Judgements
        Events of the pool of the sample, oldest first.
    confidence : float, between 0 and 1
        Level of the intervals.

    Returns
    -------
    SampleReport
        NaN, and a warning, where experts have not judged a label yet.

    Raises
    ------
    KgtrecError
        If the confidence is out of range.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212. Cochran (1977), Sampling Techniques,
    chapter 5. Zou, Huang, Zhang (2009), Computational Statistics and Data Analysis 53, 1080-1085. Donner, Zou (2012),
    Statistical Methods in Medical Research 21, 347-359.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> sample = ExpertSample(np.arange(4), np.array([1, 1, 0, 0]), np.array([0.2, 0.2, 0.02, 0.02]))
    >>> empty = pa.array([""] * 4)
    >>> said = Judgements(np.arange(4), np.zeros(4, int), np.full(4, 2), np.array([1, 0, 0, 0]), empty, empty, empty,
    ...                   Vocabulary.of(["xia"]))
    >>> report = sample_report(sample, said)
    >>> report.value("agreement on Y"), report.value("agreement in the sample"), report.value("agreement in the pool")
    (0.5, 0.75, 0.9545454545454545)
    """
    between_0_and_1("a confidence", confidence)
    n = 1 + int(max(sample.triple.max(initial=-1), judgements.triple.max(initial=-1)))
    word = last_word(judgements, n, EXPERT)[sample.triple]
    is_sure = (word == YES) | (word == NO)
    judged = np.bincount(sample.verdict[is_sure], minlength=2)
    agreed = np.bincount(sample.verdict[word == sample.verdict], minlength=2)
    unsure = np.bincount(sample.verdict[word == UNSURE], minlength=2)
    population = sample.population
    for verdict in (YES, NO):
        if judged[verdict] == 0 and population[verdict] > 0:
            warn(
                f"no expert has judged a triple of label {VERDICTS[verdict]} Y or N, so there is no agreement on "
                f"{VERDICTS[verdict]}, nor any statistic that depends on it"
            )
    estimates = _estimates(agreed, judged, population, confidence)
    values, low, high = np.array([estimates[name] for name in SAMPLE_STATISTICS]).T
    return SampleReport(values, low, high, population, sample.drawn, judged, agreed, unsure, confidence)


def _estimates(
    agreed: NDArray[np.int64], judged: NDArray[np.int64], population: NDArray[np.int64], confidence: float
) -> dict[str, tuple[float, float, float]]:
    """Value, lower and upper end of each statistic."""
    share = np.divide(agreed, judged, out=np.full(2, np.nan), where=judged > 0)
    ends = wilson_interval(agreed, judged, confidence)
    both, both_ends = agreed.sum(), wilson_interval(agreed.sum(), judged.sum(), confidence)
    # 1 - share of N: the share of the labels N that are true
    is_true, true_ends = share.copy(), ends.copy()
    is_true[NO], true_ends[:, NO] = 1 - share[NO], 1 - ends[::-1, NO]

    # true triples of label Y, and of label N; none of a label that no triple has, whatever its share
    counts = [np.where(population > 0, population * each, 0.0)[[YES, NO]] for each in (is_true, *true_ends)]
    right, missing = counts[0].tolist()
    recall = right / (right + missing) if right + missing > 0 else math.nan

    def in_pool(of_label: NDArray[np.float64], around: NDArray[np.float64]) -> tuple[float, float, float]:
        drawn_from = population > 0  # a label that no triple has needs no expert
        weights = population[drawn_from] / population.sum()
        low, high = weighted_interval(weights, of_label[drawn_from], around[:, drawn_from])
        return float(weights @ of_label[drawn_from]), low, high

    n_no = float(population[NO])
    missed = (n_no * is_true[NO], *(n_no * true_ends[:, NO])) if n_no else (0.0, 0.0, 0.0)
    return {
        "agreement on Y": (share[YES], *ends[:, YES]),
        "agreement on N": (share[NO], *ends[:, NO]),
        "agreement in the sample": (both / judged.sum() if judged.any() else math.nan, *both_ends),
        "agreement in the pool": in_pool(share, ends),
        "positives missed": missed,
        "recall of positives": (recall, *part_interval(counts[0], np.array(counts[1:]))),
        "prevalence in the pool": in_pool(is_true, true_ends),
    }
