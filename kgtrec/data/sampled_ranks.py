"""Where each answer is ranked among a random sample of its candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import as_array
from kgtrec.data.columns import Columns
from kgtrec.errors import KgtrecError, one_of, whole_number

Draw = Literal["without replacement", "with replacement"]
#: how a sample was drawn, each candidate with equal probability; the first is the default
DRAWS: tuple[Draw, ...] = get_args(Draw)
_CELLS = 1 << 24  # scores that are compared at a time
_PYKEEN_SIDES = ("head", "tail")


@dataclass(frozen=True, slots=True, eq=False)
class SampledRanks(Columns):
    """One row per answer: how it compares with a uniform random sample of its candidates.

    It has no rank among all candidates, and so no full measure: see :func:`kgtrec.meta.sampled_bounds`.
    """

    name: str
    above: NDArray[np.int64]  # (n,) sampled candidates that score higher
    tied: NDArray[np.int64]  # (n,) sampled candidates that score the same
    n_candidates: NDArray[np.int64]  # (n,) all candidates that the sample was drawn from, the answer left out
    n_sampled: int  # candidates in each sample
    draw: Draw = "without replacement"
    sample: NDArray[np.int64] | None = None  # (n,) code of the sample; equal where answers share it. None: none do
    # (n, 2) candidates above and tied among chosen ones, which are in no draw; None: all are drawn
    certain: NDArray[np.int64] | None = None
    n_certain: int = 0  # how many are chosen, in addition to n_candidates and to n_sampled

    def __repr__(self) -> str:
        return f"<SampledRanks {self.name!r}: {len(self):,} answers, each among {self.n_sampled:,} {self.draw}>"

    @property
    def replace(self) -> bool:
        """Whether a candidate may be in a sample twice."""
        return self.draw == "with replacement"

    @classmethod
    def of(
        cls,
        name: str,
        above: Any,
        tied: Any,
        *,
        n_sampled: int,
        n_candidates: Any,
        draw: Draw = "without replacement",
        sample: Any = None,
    ) -> SampledRanks:
        """Make the ranks from counts.

        Parameters
        ----------
        name : str
            Name of the system.
        above, tied : (n,) whole numbers
            Candidates in the sample that score higher than the answer, and that score the same.
        n_sampled : int
            Size of each sample.
        n_candidates : int, or (n,) whole numbers
            How many candidates each sample was drawn from: those that a full, filtered rank would count, without the
            answer.
        draw : {"without replacement", "with replacement"}
            How the candidates of a sample are drawn. Default: "without replacement".
        sample : (n,) whole numbers, optional
            Which sample each answer was compared with, where some share one, such as those of a question. Default:
            each answer has another sample.

        Raises
        ------
        KgtrecError
            If no sample gives such counts.

        Examples
        --------
        >>> SampledRanks.of("transe", [0, 3], [0, 1], n_sampled=50, n_candidates=14_540)
        <SampledRanks 'transe': 2 answers, each among 50 without replacement>
        """
        one_of("a draw", draw, DRAWS)
        n_sampled = whole_number(f"{name}: the number of sampled candidates", n_sampled, 1)
        counts = {"above": above, "tied": tied, "n_candidates": n_candidates, "sample": sample}
        whole: dict[str, Any] = {
            column: _whole(values, f"{name}: {column}")
            for column, values in counts.items()
            if column != "sample" or values is not None
        }
        n = whole["above"].size
        if whole["n_candidates"].ndim == 0:
            whole["n_candidates"] = np.full(n, whole["n_candidates"])
        if lacking := next((column for column, values in whole.items() if values.shape != (n,)), None):
            raise KgtrecError(
                f"{name}: expected a number of {lacking} for each of {n:,} answers, found an array of shape "
                f"{whole[lacking].shape}"
            )
        if n == 0:
            raise KgtrecError(f"{name}: expected at least one answer, found none")
        if sample is not None:
            whole["sample"] = np.unique(whole["sample"], return_inverse=True)[1]
        ranks = cls(name, n_sampled=n_sampled, draw=draw, **whole)
        low = np.minimum(ranks.above, ranks.tied)
        least = 1 if ranks.replace else n_sampled
        drawn = ranks.above + ranks.tied
        for is_right, expected, found in (
            ((low >= 0) & (drawn <= n_sampled), f"from 0 to {n_sampled:,} above or tied", drawn),
            (ranks.n_candidates >= least, f"at least {least:,} candidates to draw from", ranks.n_candidates),
        ):
            if not is_right.all():
                row = int(is_right.argmin())
                raise KgtrecError(f"{name}: expected {expected}, found {found[row]:,} for answer {row + 1:,}")
        return ranks

    @classmethod
    def of_scores(cls, name: str, positive: Any, negative: Any, *, n_certain: int = 0, **sampling: Any) -> SampledRanks:
        """Make the ranks from scores, as ``ogb.linkproppred.Evaluator`` takes them.

        Parameters
        ----------
        name : str
            Name of the system.
        positive : (n,) array of any library
            Scores of the answers, OGB's ``y_pred_pos``.
        negative : (n, m) array
            Scores of the sampled candidates of each, OGB's ``y_pred_neg``.
        n_certain : int
            How many of the first columns of ``negative`` are no random candidates, but chosen, as those of
            :func:`kgtrec.meta.candidate_lists`.
        **sampling
            ``n_candidates``, without the chosen ones, ``draw`` and ``sample``, as for :meth:`of`.

        Raises
        ------
        KgtrecError
            If the shapes do not belong together, or a score is NaN.

        Examples
        --------
        >>> ranks = SampledRanks.of_scores("mine", [0.5, 0.1], [[0.9, 0.5], [0.0, 0.0]], n_candidates=10)
        >>> ranks.above, ranks.tied
        (array([1, 0]), array([1, 0]))
        """
        whole_number("n_certain", n_certain)
        own, others = as_array(positive, f"{name}: y_pred_pos"), as_array(negative, f"{name}: y_pred_neg")
        if own.ndim != 1 or others.ndim != 2 or len(own) != len(others) or others.shape[1] <= n_certain:
            raise KgtrecError(
                f"{name}: expected y_pred_pos of n scores and y_pred_neg of n x m, a row for each answer, found shapes "
                f"{own.shape} and {others.shape}"
            )
        if wrong := next((scores.dtype for scores in (own, others) if scores.dtype.kind not in "biuf"), None):
            raise KgtrecError(f"{name}: expected numbers as scores, found {wrong}")
        counts = np.empty((2, 2, len(own)), np.int64)
        step = max(1, _CELLS // others.shape[1])
        for rows in (slice(first, first + step) for first in range(0, len(own), step)):
            score, drawn = own[rows, None], np.asarray(others[rows])
            unknown = np.isnan(score[:, 0]) | np.isnan(drawn).any(axis=1)
            if unknown.any():
                row = rows.start + int(unknown.argmax()) + 1
                raise KgtrecError(f"{name}: expected numbers as scores, found NaN for answer {row:,}")
            for part, place in ((drawn[:, n_certain:], 0), (drawn[:, :n_certain], 1)):
                counts[place, :, rows] = np.stack([(part > score).sum(axis=1), (part == score).sum(axis=1)])
        ranks = cls.of(name, *counts[0], n_sampled=others.shape[1] - n_certain, **sampling)
        return replace(ranks, certain=counts[1].T, n_certain=n_certain) if n_certain else ranks

    @classmethod
    def of_pykeen(cls, name: str, evaluator: Any, n_candidates: Any) -> SampledRanks:
        """Make the ranks from PyKEEN's ``SampledRankBasedEvaluator`` after an evaluation.

        Parameters
        ----------
        name : str
            Name of the system.
        evaluator : pykeen.evaluation.SampledRankBasedEvaluator
            Made with ``clear_on_finalize=False``. Its samples are drawn without replacement.
        n_candidates : int, or (n,) whole numbers
            As for :meth:`of`; all head sides come first.

        Raises
        ------
        KgtrecError
            If it has no ranks.
        """
        parts = [
            [np.concatenate(evaluator.ranks[side, kind]) for side in _PYKEEN_SIDES if evaluator.ranks.get((side, kind))]
            for kind in ("optimistic", "pessimistic")
        ]
        if not all(parts):
            raise KgtrecError(
                f"{name}: expected an evaluator that keeps its ranks, found none; give it clear_on_finalize=False, and "
                "evaluate first"
            )
        best, worst = (np.concatenate(part).astype(np.int64) for part in parts)
        n_sampled = next(iter(evaluator.negative_samples.values())).shape[1]
        return cls.of(name, best - 1, worst - best, n_sampled=n_sampled, n_candidates=n_candidates)


def _whole(values: Any, what: str) -> NDArray[np.int64]:
    array = as_array(values, what)
    if array.dtype.kind not in "iuf" and array.size:
        raise KgtrecError(f"{what}: expected whole numbers, found {array.dtype}")
    with np.errstate(invalid="ignore"):  # of NaN, and of what no integer holds
        whole = array.astype(np.int64)
    if (differs := whole != array).any():
        raise KgtrecError(f"{what}: expected whole numbers, found {array[differs][0]}")
    return whole
