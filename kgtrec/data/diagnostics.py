"""What each run of a pool brought in, and what the collection would be without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary

LEFT_OUT_KINDS = ("run", "family")


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """The systems under qrels that lack what only some runs had brought in; one row per run, then per family.

    Ranks are among all the systems, from 1 for the best; equal scores share the better rank.
    """

    kind: NDArray[np.int8]  # (g,) row in LEFT_OUT_KINDS
    names: tuple[str, ...]  # (g,) of the run or the family
    members: tuple[tuple[str, ...], ...]  # (g,) the runs that are left out
    triples: NDArray[np.int64]  # (g,) that no other run had put in
    positives: NDArray[np.int64]  # (g,) of them, judged Y
    negatives: NDArray[np.int64]  # (g,) of them, judged N
    scores: NDArray[np.float64]  # (g, s, m) of every system
    ranks: NDArray[np.int64]  # (g, s, m)
    tau: NDArray[np.float64]  # (g, m) Kendall's tau-b between the systems' scores before and after; NaN if one is flat
    tau_ap: NDArray[np.float64]  # (g, m) AP correlation of the order after, judged by the order before

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostics:
    """Tables about a judged pool: by run, by depth, by question, and by what is left out.

    Contributions are counted in triples, each once per run.
    """

    runs: tuple[str, ...]  # (r,)
    families: tuple[str, ...]  # (r,) "" where a run has none
    contributed: NDArray[np.int64]  # (r,) triples that the run put in
    unique: NDArray[np.int64]  # (r,) of them, by no other run
    run_judged: NDArray[np.int64]  # (r,) of what it put in, settled
    positive: NDArray[np.int64]  # (r,) of them, Y
    unique_positive: NDArray[np.int64]  # (r,) of those, by no other run
    overlap: NDArray[np.float64]  # (r, r) Jaccard of the triples of two runs; NaN if neither put any in
    pooled_at: NDArray[np.int64]  # (depth,) triples of pool depth 1, 2, ...
    judged_at: NDArray[np.int64]  # (depth,) of them, settled
    positive_at: NDArray[np.int64]  # (depth,) of them, Y
    questions: Vocabulary  # (q,)
    question_pooled: NDArray[np.int64]  # (q,) triples of the pool that answer the question, or not
    question_judged: NDArray[np.int64]  # (q,) of them, settled
    question_positive: NDArray[np.int64]  # (q,) of them, Y
    question_seeds: NDArray[np.int64]  # (q,) answers known before
    nothing_pooled: NDArray[np.bool_]  # (q,) no run put anything in for it
    systems: tuple[str, ...]  # (s,) those evaluated, best not first; empty: none were
    measures: tuple[str, ...]  # (m,)
    scores: NDArray[np.float64]  # (s, m) under all the judgements
    ranks: NDArray[np.int64]  # (s, m)
    cutoff: int  # k of judged@k
    judged: NDArray[np.float64]  # (s,) mean share of a question's first k candidates that are judged
    left_out: LeftOut

    def __repr__(self) -> str:
        return f"<Diagnostics: {len(self.runs)} runs, {len(self.questions):,} questions, {len(self.systems)} systems>"

    @property
    def positive_rate(self) -> NDArray[np.float64]:
        """(q,) share of positives among the settled triples of each question; NaN where none is settled."""
        with np.errstate(invalid="ignore"):
            rate: NDArray[np.float64] = self.question_positive / np.where(
                self.question_judged > 0, self.question_judged, np.nan
            )
        return rate

    def to_tables(self) -> dict[str, pa.Table]:
        """The same as flat tables: runs, overlap, depths, questions, systems, left_out."""
        left = self.left_out
        n_groups, n_systems, n_measures = left.scores.shape
        pairs = [(one, other) for one in range(len(self.runs)) for other in range(len(self.runs))]
        cells = [
            (group, system, measure)
            for group in range(n_groups)
            for system in range(n_systems)
            for measure in range(n_measures)
        ]
        totals = [(system, measure) for system in range(n_systems) for measure in range(n_measures)]
        return {
            "runs": pa.table(
                {
                    "run": list(self.runs), "family": list(self.families), "contributed": self.contributed,
                    "unique": self.unique, "judged": self.run_judged, "positive": self.positive,
                    "unique_positive": self.unique_positive,
                }
            ),
            "overlap": pa.table(
                {
                    "run": [self.runs[one] for one, _ in pairs], "other": [self.runs[other] for _, other in pairs],
                    "jaccard": self.overlap.ravel(),
                }
            ),
            "depths": pa.table(
                {
                    "depth": np.arange(1, len(self.pooled_at) + 1), "pooled": self.pooled_at,
                    "judged": self.judged_at, "positive": self.positive_at,
                    "positive_down_to": np.cumsum(self.positive_at),
                }
            ),
            "questions": pa.table(
                {
                    "question": self.questions.labels, "seeds": self.question_seeds, "pooled": self.question_pooled,
                    "judged": self.question_judged, "positive": self.question_positive,
                    "positive_rate": self.positive_rate, "nothing_pooled": pa.array(self.nothing_pooled),
                }
            ),
            "systems": pa.table(
                {
                    "system": [self.systems[system] for system, _ in totals],
                    "judged_at": pa.array([self.cutoff] * len(totals), pa.int64()),
                    "judged": pa.array([self.judged[system] for system, _ in totals], pa.float64()),
                    "measure": [self.measures[measure] for _, measure in totals],
                    "value": self.scores.ravel(), "rank": self.ranks.ravel(),
                }
            ),
            "left_out": pa.table(
                _columns(
                    [
                        {
                            "kind": LEFT_OUT_KINDS[left.kind[group]], "name": left.names[group],
                            "triples": int(left.triples[group]), "positives": int(left.positives[group]),
                            "system": self.systems[system], "is_left_out": self.systems[system] in left.members[group],
                            "measure": self.measures[measure], "before": float(self.scores[system, measure]),
                            "after": float(left.scores[group, system, measure]),
                            "rank_before": int(self.ranks[system, measure]),
                            "rank_after": int(left.ranks[group, system, measure]),
                            "tau_b": float(left.tau[group, measure]), "tau_ap": float(left.tau_ap[group, measure]),
                        }
                        for group, system, measure in cells
                    ]
                )
            ),
        }  # fmt: skip


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
