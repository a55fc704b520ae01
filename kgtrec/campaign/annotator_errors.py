"""How often each annotator errs on true and on false triples, by a model of the verdicts: Dawid and Skene's."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.agreement import RESAMPLED, questions_in_order
from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import last_word, require_judgements_of, verdict_counts
from kgtrec.data.arrow import arrow_of
from kgtrec.data.campaign import Campaign
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import ADJUDICATOR, ANNOTATOR, NO, UNSURE, VERDICTS, YES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.table import Column, Table, TabledResult
from kgtrec.errors import KgtrecError, between_0_and_1, legible, one_of, warn
from kgtrec.kernels.statistics.dawid_skene import Annotators, dawid_skene
from kgtrec.kernels.statistics.resampling import bootstrap_counts, percentile_interval

_VALUES = ("sensitivity", "specificity", "youden", "covariance")
_FEWEST = 1.0  # true or false triples that a rate needs, in expectation
_NOTHING = 1e-9  # a covariance that differs from 0 by rounding alone


class AnnotatorErrors(Framed, TabledResult):
    """What verdicts say of the annotators and of the triples, in the tables ``annotators`` and ``triples``.

    ``sensitivity`` is the share of Y among an annotator's verdicts on true triples, ``specificity`` that of N among
    those on false ones, where each triple is true with its probability; ``youden`` is Youden's J, their sum minus 1,
    which is 0 for whoever says Y equally often of true and of false triples. ``covariance`` is that of an annotator's
    verdicts (1 for Y, 0 for N) with the sum of the others' on the same triple. It needs no model: whose J is 0 says Y
    independently of the others, while the model counts everybody's own verdicts as evidence. Each has an interval, and
    ``is_informative`` says that those of J and of the covariance are above 0. A rate is NaN where fewer than one such
    triple is expected.
    """

    __slots__ = ()

    def to_table(self) -> pa.Table:
        """List a row per annotator: annotator, triples, unsure, four values with their ends, is_informative."""
        return self["annotators"]


def annotator_errors(
    pool: Pool,
    judgements: Judgements,
    *,
    confidence: float = 0.95,
    resample: Literal["question", "triple"] = "question",
    question: NDArray[np.int32] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> AnnotatorErrors:
    """Estimate each annotator's sensitivity and specificity and each triple's probability, with bootstrap intervals.

    The model: a triple is true with the same probability for all; given whether it is true, annotators say Y or N
    independently, each with rates that are the same for all true and for all false triples. The last verdict of each
    annotator on each triple counts. Unsure is no verdict, and those of adjudicators and experts do not count: the
    adjudicator's is listed beside the probability.

    Verdicts alone cannot distinguish this model from its mirror image, where everybody errs more often than not. The
    estimate begins with the majority's verdicts and has a prior of one right and half a wrong verdict for each rate, so
    it assumes that most annotators are mostly right. Each bootstrap sample begins at the estimate.

    Parameters
    ----------
    pool : Pool
        The triples that were judged.
    judgements : Judgements
        Events of that pool, oldest first.
    confidence : float, between 0 and 1
        Of the intervals. They are NaN with fewer than two questions (or triples, if these are resampled).
    resample, question, resamples, seed
        As for :func:`annotator_agreement`.

    Returns
    -------
    AnnotatorErrors
        A warning says so where no triple has three verdicts Y or N, so that they do not determine the rates.

    Raises
    ------
    KgtrecError
        If an option is unknown or out of range, the events are of another pool, or no triple has verdicts Y or N of two
        annotators: nothing can then be said of any of them.

    See Also
    --------
    kgtrec.campaign.annotator_agreement : How often annotators agree.
    kgtrec.campaign.calibration : The same by gold.

    References
    ----------
    Dawid, Skene (1979), Applied Statistics 28, 20-28; Youden (1950), Cancer 3, 32-35.

    Examples
    --------
    See :mod:`kgtrec.kernels.statistics.dawid_skene` for the estimate, and ``kgtrec campaign agreement --model``.
    """
    one_of("resample to be one of", resample, RESAMPLED)
    between_0_and_1("a confidence", confidence)
    if resamples < 1:
        raise KgtrecError(f"expected at least 1 bootstrap sample, got {resamples}")
    require_judgements_of(pool, judgements)
    asked = questions_in_order(pool, question)
    latest = judgements.take(judgements.role == ANNOTATOR).latest()
    names, annotator = np.unique(judgements.annotators.byte_order[latest.annotator], return_inverse=True)
    is_sure = latest.verdict != UNSURE
    triples, item = np.unique(latest.triple[is_sure], return_inverse=True)
    most = int(np.bincount(item).max(initial=0))
    if most < 2:
        raise KgtrecError(
            "expected triples that at least two annotators judged Y or N, found none: a single verdict says nothing of "
            "who gave it; ask more annotators, see kgtrec campaign init --per-triple"
        )
    if most < 3:
        warn(
            "no triple was judged Y or N by three annotators, so the verdicts do not determine the sensitivities and "
            "specificities: these depend on the prior too, and the intervals are too narrow"
        )
    model = _Model.of(item, annotator[is_sure], latest.verdict[is_sure] == YES, len(names))
    cluster = np.arange(len(triples)) if resample == "triple" else asked[triples]
    estimate, values = model.rates(np.bincount(model.pattern).astype(np.float64))
    low, high = model.intervals(cluster, estimate, confidence, resamples, seed)
    everybody = sorted(judgements.annotators, key=str.encode)
    data: dict[str, Any] = {
        "annotator": pa.array([everybody[name] for name in names], pa.string()),
        "triples": np.bincount(annotator[is_sure], minlength=len(names)),
        "unsure": np.bincount(annotator[~is_sure], minlength=len(names)),
    }
    for row, name in enumerate(_VALUES):
        data |= {name: values[row], f"{name}_low": low[row], f"{name}_high": high[row]}
    data["is_informative"] = is_informative = (low[2] > _NOTHING) & (low[3] > _NOTHING)
    caption = (
        f"{len(triples):,} triples of {len(np.unique(asked[triples])):,} questions with {len(item):,} verdicts Y or N; "
        f"{estimate.share:.1%} of the triples are true by the model; {confidence * 100:g}% bootstrap intervals, "
        f"{resample}s resampled"
    )
    if not is_informative.all():
        nobody = ", ".join(legible(everybody[name]) for name in names[~is_informative])
        caption += f"; no information is shown in the verdicts of {nobody}: an interval of J or covariance reaches 0"
    columns = [Column(name) for name in ("annotator", "triples", "unsure")]
    for name, label in zip(_VALUES, ("", "", "Youden's J", ""), strict=True):
        columns.append(Column(name, label, digits=3, low=f"{name}_low", high=f"{name}_high"))
    columns.append(Column("is_informative", "informative"))
    annotators = Table("annotators", "Annotators who err", caption, pa.table(data), tuple(columns))
    return AnnotatorErrors((annotators, _triples(pool, judgements, triples, estimate.probability[model.pattern])))


def campaign_errors(campaign: Campaign, **options: Any) -> AnnotatorErrors:
    """Estimate the error rates of a campaign's annotators, in which triples are judged with their questions.

    Parameters
    ----------
    campaign : Campaign
    **options
        As for :func:`annotator_errors`.

    Raises
    ------
    KgtrecError
        As :func:`annotator_errors`.

    Examples
    --------
    See ``kgtrec campaign agreement --model dawid-skene``.
    """
    question = groups_of(campaign.pool, campaign.automatic, seed=campaign.assignment_seed)
    return annotator_errors(campaign.pool, campaign.judgements, question=question, **options)


def _triples(pool: Pool, judgements: Judgements, rows: NDArray[np.integer], probability: NDArray[np.float64]) -> Table:
    """What the model, the majority and an adjudicator say of each triple with a verdict Y or N."""
    votes, word = verdict_counts(judgements, len(pool))[rows], last_word(judgements, len(pool), ADJUDICATOR)[rows]
    triples = pool.triples.take(rows)
    majority = np.sign(votes[:, YES] - votes[:, NO])
    data = pa.table(
        {
            **{name: triples.decoded(name) for name in ("head", "relation", "tail")},
            **{name: votes[:, code] for code, name in ((YES, "yes"), (NO, "no"), (UNSURE, "unsure"))},
            "probability": probability,
            "majority": pa.array(["tie", "Y", "N"]).take(arrow_of(majority % 3)),
            "adjudicated": pa.array([*VERDICTS, ""]).take(arrow_of(word % 4)),
        }
    )
    columns = [Column(name, digits=3) if name == "probability" else Column(name) for name in data.column_names]
    caption = "how probable the model holds each triple to be true, and what the majority and an adjudicator say of it"
    return Table("triples", "Triples", caption, data, tuple(columns))


class _Model(NamedTuple):
    """The verdicts by pattern: triples with the same verdicts of the same annotators are one item, counted often."""

    item: NDArray[np.intp]  # (v,) the pattern of each verdict
    annotator: NDArray[np.int64]  # (v,)
    is_yes: NDArray[np.bool_]  # (v,)
    pattern: NDArray[np.intp]  # (n,) the pattern of each triple
    n_annotators: int

    @classmethod
    def of(
        cls, item: NDArray[np.intp], annotator: NDArray[np.intp], is_yes: NDArray[np.bool_], n_annotators: int
    ) -> _Model:
        order = np.lexsort((annotator, item))
        item, code = item[order], 2 * annotator[order] + is_yes[order]
        size = np.bincount(item)
        cells = np.full((len(size), size.max()), -1)
        cells[item, np.arange(len(item)) - np.repeat(np.cumsum(size) - size, size)] = code
        patterns, pattern = np.unique(cells, axis=0, return_inverse=True)
        row, column = np.nonzero(patterns >= 0)
        annotator, yes = np.divmod(patterns[row, column], 2)
        return cls(row, annotator, yes == 1, pattern.reshape(-1), n_annotators)

    def rates(
        self, times: NDArray[np.float64], start: NDArray[np.float64] | None = None
    ) -> tuple[Annotators, NDArray[np.float64]]:
        """Estimates for a sample, (4, annotators): sensitivity, specificity, J, and the covariance with the others."""
        own = self.item, self.annotator, self.is_yes
        estimate = dawid_skene(*own, len(times), self.n_annotators, times=times, start=start)

        def total(weight: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(np.bincount(self.annotator, weight, self.n_annotators), np.float64)

        def share(of: NDArray[np.float64], is_right: NDArray[np.bool_]) -> NDArray[np.float64]:
            n = total(of)
            return total(of * is_right) / np.where(n >= _FEWEST, n, np.nan)

        weight, probability = times[self.item], estimate.probability[self.item]
        sensitivity = share(weight * probability, self.is_yes)
        specificity = share(weight * (1.0 - probability), ~self.is_yes)
        n = np.maximum(total(weight), 1.0)
        residual = self.is_yes - (total(weight * self.is_yes) / n)[self.annotator]
        others = np.bincount(self.item, residual)[self.item] - residual
        covariance = total(weight * residual * others) / n
        return estimate, np.stack([sensitivity, specificity, sensitivity + specificity - 1.0, covariance])

    def intervals(
        self, cluster: NDArray[np.integer], estimate: Annotators, confidence: float, resamples: int, seed: int
    ) -> NDArray[np.float64]:
        """Ends of the bootstrap intervals of the rates, (2, 4, annotators)."""
        from scipy.sparse import coo_matrix

        clusters, row = np.unique(cluster, return_inverse=True)
        if len(clusters) < 2:
            return np.full((2, 4, self.n_annotators), np.nan)
        counts = coo_matrix((np.ones(len(row)), (row, self.pattern))).tocsr()
        samples = [
            self.rates(times, estimate.probability)[1]
            for drawn in bootstrap_counts(len(clusters), resamples, seed)
            for times in np.asarray(drawn @ counts)
        ]
        return percentile_interval(np.array(samples), confidence)
