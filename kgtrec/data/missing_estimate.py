"""How many answers are estimated to lack a label, and what that makes of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: how missing answers are estimated; see :mod:`kgtrec.kernels.sampling.capture_recapture`
METHODS = ("found", "runs", "labels")
FEWEST_FOUND = 10  # labels, that tell whether systems find independently


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A value with its interval, arrays of one shape; NaN where nothing can be said, and for the ends of a count."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Two systems next to each other, and how many questions would tell them apart."""

    measure: str
    higher: str  # the system that the sparse labels put first
    lower: str
    difference: float  # of their sparse scores
    by_data: int | None  # questions, by the variance that the questions show; None: no number is enough
    by_theory: int | None  # questions, by the model at the strengths of the two


@dataclass(frozen=True, slots=True, eq=False)
class MissingEstimate:
    """Missing labels, estimated from a judged pool; the first axis of intervals over methods is ``METHODS``."""

    depth: int  # an answer is found if a system ranks it so high, in every order of what ties
    n_questions: int  # with a label
    n_labels: int
    found_labels: int  # of them
    found_missing: float  # true answers found without a label; a sampled one counts as what it stands for
    set_aside: int  # true answers without a label that no system finds
    label_pairs: int  # of a found label and another one of its question, that "labels" depends on
    missed_by_runs: float  # labels that the systems would miss if they found independently; NaN where none can tell
    independent: bool  # whether the labels say that this may be so: if not, "runs" has no interval
    by_fact: bool  # whether intervals know which two answers are of one fact, and have their labels together
    judged: Floats  # (s,) share of what a system ranks so high that is judged; NaN where that cannot be told
    answers: Interval  # (3,) true answers of the questions
    share: Interval  # (3,) of them that lack a label
    missing: Interval  # (3,) beta, the probability that a true answer lacks its label
    method: str  # the one of METHODS that scores and separations assume
    systems: tuple[str, ...]  # (s,)
    measures: tuple[str, ...]  # (m,)
    sparse: Floats  # (m, s) scores on the labels
    filtered: Interval  # (m, s) on the labels, with what was found taken out of the lists
    completed: Interval  # (m, s) on the labels and what was found; no interval where too few questions carry it
    estimated: Interval  # (m, s) on all true answers of the questions, if labels are a random sample of them
    strength: Interval  # (m, s) of the model's system with that sparse score; its interval is that of beta
    separations: tuple[Separation, ...]
    p: float  # of a wrong order, for the separations
    confidence: float
    true_answers: float  # NaN where the truth was not given
    true_share: float
    true_missing: float
    true_filtered: Floats  # (m, s) on the labels, with all true answers taken out of the lists; NaN without the truth
    true: Floats  # (m, s) on all true answers

    @property
    def knows_truth(self) -> bool:
        """Whether the estimates can be held against the truth."""
        return bool(np.isfinite(self.true_answers))

    def missing_table(self) -> pa.Table:
        """One row per method, and one of the truth if it was given."""
        methods: Sequence[str] = METHODS
        columns: dict[str, object] = {"method": list(methods)}
        for name in ("answers", "share", "missing"):
            found: Interval = getattr(self, name)
            columns |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
        table = pa.table(columns)
        if not self.knows_truth:
            return table
        truth = [self.true_answers, self.true_share, self.true_missing]
        row = {name: [value] for name, value in zip(table.column_names[1:], np.repeat(truth, 3), strict=True)}
        return pa.concat_tables([table, pa.table({"method": ["truth"], **row})])

    def scores_table(self) -> pa.Table:
        """One row per measure and system."""
        m, s = np.indices(self.sparse.shape).reshape(2, -1)
        columns = {
            "measure": [self.measures[place] for place in m],
            "system": [self.systems[place] for place in s],
            "sparse": self.sparse.ravel(),
        }
        for name in ("filtered", "completed", "estimated", "strength"):
            found: Interval = getattr(self, name)
            columns |= {name: found.value.ravel(), f"{name}_low": found.low.ravel(), f"{name}_high": found.high.ravel()}
        if self.knows_truth:
            columns |= {"true_filtered": self.true_filtered.ravel(), "true": self.true.ravel()}
        return pa.table(columns)

    def separations_table(self) -> pa.Table:
        """One row per measure and pair of systems next to each other, the best first."""
        rows = self.separations
        return pa.table(
            {
                "measure": pa.array([row.measure for row in rows], pa.string()),
                "higher": pa.array([row.higher for row in rows], pa.string()),
                "lower": pa.array([row.lower for row in rows], pa.string()),
                "difference": pa.array([row.difference for row in rows], pa.float64()),
                "by_data": pa.array([row.by_data for row in rows], pa.int64()),
                "by_theory": pa.array([row.by_theory for row in rows], pa.int64()),
            }
        )

    def __repr__(self) -> str:
        place = METHODS.index(self.method)
        return (
            f"<MissingEstimate: {self.share.value[place]:.3f} of the answers of {self.n_questions:,} questions lack a "
            f"label, by {self.method}; {len(self.systems)} systems x {len(self.measures)} measures>"
        )
