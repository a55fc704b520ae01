"""Systems under every policy for ties: how much a score depends on the order of tied candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import long_table, places_of
from kgtrec.data.collection import Collection
from kgtrec.data.frames import Framed
from kgtrec.data.lazy import imported
from kgtrec.data.table import Column, Figure, PlottedResult, Table
from kgtrec.errors import each_warned_once, one_of, unwarned
from kgtrec.evaluation.belonging import different_systems
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.given import AnyQrels, System, Systems, qrels_of
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.prepared import systems_and_measures
from kgtrec.evaluation.scoring import TIE_POLICIES, Scoring, ScoringOptions
from kgtrec.evaluation.unlisted import without_unlisted_answers
from kgtrec.measures.names import AnyMeasure, ParsedMeasure


@dataclass(frozen=True, slots=True, eq=False)
class TieComparison(Framed, PlottedResult):
    """How often each system's answers tie, and its values under every policy for ties; NaN where one is not possible.

    A group is all candidates of a question that have one score, in the list with the other answers.
    """

    systems: tuple[str, ...]
    measures: tuple[str, ...]  # as spelled by the caller
    policies: tuple[str, ...]
    values: NDArray[np.float64]  # (systems, measures, policies)
    tied: NDArray[np.float64]  # (systems,) share of the relevant, retrieved entities that are tied with another
    mean_group: NDArray[np.float64]  # (systems,) mean size of the groups of those; NaN where none is tied
    largest_group: NDArray[np.int64]  # (systems,) size of the largest group with a relevant entity

    @property
    def apart(self) -> NDArray[np.float64]:
        """(systems, measures) difference between the optimistic and the pessimistic value."""
        ends = [self.policies.index(name) for name in ("optimistic", "pessimistic")]
        return np.abs(self.values[:, :, ends[0]] - self.values[:, :, ends[1]])

    def value(self, system: str, measure: str, ties: str) -> float:
        """Look up one number."""
        return float(self.values[self.systems.index(system), self.measures.index(measure), self.policies.index(ties)])

    def to_table(self) -> pa.Table:
        """Return a row per system and measure: system, tied, mean_group, largest_group, measure, each policy, apart."""
        groups = {"tied": self.tied, "mean_group": self.mean_group, "largest_group": self.largest_group}
        columns: dict[str, Any] = {"system": (0, self.systems), **{name: (0, each) for name, each in groups.items()}}
        values = {name: self.values[:, :, place] for place, name in enumerate(self.policies)}
        return long_table(self.apart.shape, {**columns, "measure": (1, self.measures), **values, "apart": self.apart})

    def tables(self) -> tuple[Table, Table]:
        """Return ``scores``, a row per system and measure, and ``groups``, how often the answers of each system tie."""
        policies = (Column(name, digits="measure") for name in (*self.policies, "apart"))
        each = (
            Column("system"),
            Column("tied", form="share", digits=2),
            Column("mean_group", "mean group", form="count", digits=1),
            Column("largest_group", "largest"),
        )
        data = self.to_table()
        groups = data.select([column.name for column in each]).take(places_of(range(0, len(data), len(self.measures))))
        return (
            Table("scores", "", "", data, (Column("system"), Column("measure"), *policies)),
            Table("groups", "", "", groups, each),
        )

    def figures(self) -> tuple[Figure, ...]:
        """Return the values under every policy, with a panel per measure."""
        return (imported("report.figures", "tie_report")(imported("report.figures", "by_policy")(self.to_table())),)


#: from the least favourable order to the most favourable one, then those with one of many possible orders
_COLUMNS = ("pessimistic", "realistic", "expected", "optimistic", "nondeterministic", "trec")


def compare_ties(
    qrels: AnyQrels,
    systems: Systems,
    measures: Any = None,
    *,
    policies: Sequence[str] | None = None,
    **scoring: Unpack[ScoringOptions],
) -> TieComparison:
    """Compute every measure under every policy for ties, and how often answers tie.

    Parameters
    ----------
    qrels, systems, measures, **scoring
        As for :func:`kgtrec.evaluate`: collection, missing, unlisted_answers, weights, mixed, and the seed of the
        policy "nondeterministic".
    policies : sequence of str, optional
        In addition to "optimistic" and "pessimistic", which are always included. Default: all possible ones;
        "trec" is for runs only.

    Returns
    -------
    TieComparison
        NaN where a policy is not possible: "trec" for answer ranks, "expected" for a measure without a closed form,
        any other than "trec" for a measure of ir-measures' providers.

    See Also
    --------
    kgtrec.evaluate : One policy.

    References
    ----------
    Berrendorf et al. (2020), arXiv:2002.06914; McSherry, Najork (2008), ECIR.

    Examples
    --------
    >>> import pandas as pd
    >>> qrels = pd.DataFrame({"query_id": ["q1"], "doc_id": ["a"], "relevance": [1]})
    >>> run = pd.DataFrame({"query_id": ["q1", "q1"], "doc_id": ["x", "a"], "score": [1.0, 1.0]})
    >>> compared = compare_ties(qrels, {"mine": run}, "RR", policies=["expected"])
    >>> compared.policies, compared.values.tolist(), compared.apart.tolist()
    (('pessimistic', 'expected', 'optimistic'), [[[0.5, 0.75, 1.0]]], [[0.5]])
    """
    qrels = qrels_of(qrels)  # once: a path is read, an iterable is used up
    how = Scoring(**scoring).without("sides", "ties")
    judgements = qrels.qrels if isinstance(qrels, Collection) else qrels
    if isinstance(qrels, Collection):
        how = replace(how, collection=qrels)
    systems, parsed = systems_and_measures(systems, measures)
    asked = _asked(policies)
    names: list[str] = []
    has_runs = False
    values, sizes = [], []
    # each is checked against the collection when it is evaluated
    for system in different_systems(systems, None, qrels=judgements, measures=parsed, mixed=how.mixed):
        names.append(system.name)
        has_runs |= not isinstance(system, AnswerRanks)
        values.append(_values(qrels, system, parsed, asked, scoring))
        with unwarned():  # reported when the system was evaluated
            compared = next(without_unlisted_answers([system], judgements, how, parsed))
            sizes.append(match(compared, judgements).group_size)
    shown = [place for place, policy in enumerate(asked) if policy != "trec" or has_runs or policies is not None]
    tied = [size[size > 1] for size in sizes]
    return TieComparison(
        tuple(names),
        tuple(measure.label for measure in parsed),
        tuple(asked[place] for place in shown),
        np.array(values)[:, :, shown],
        np.array([len(own) / max(len(size), 1) for own, size in zip(tied, sizes, strict=True)]),
        np.array([own.mean() if len(own) else np.nan for own in tied]),
        np.array([size.max(initial=0) for size in sizes], np.int64),
    )


def _asked(policies: Sequence[str] | None) -> tuple[str, ...]:
    wanted = set(TIE_POLICIES if policies is None else [policies] if isinstance(policies, str) else policies)
    for policy in sorted(wanted):
        one_of("policies for ties among", policy, TIE_POLICIES)
    return tuple(policy for policy in _COLUMNS if policy in wanted | {"optimistic", "pessimistic"})


def _values(
    qrels: AnyQrels, system: System, measures: Sequence[AnyMeasure], policies: Sequence[str], scoring: ScoringOptions
) -> NDArray[np.float64]:
    """(measures, policies) values of one system."""
    values = np.full((len(measures), len(policies)), np.nan)
    warned: set[str] = set()  # each policy gives the same warnings
    for column, policy in enumerate(policies):
        possible = [place for place, measure in enumerate(measures) if _is_possible(system, measure, policy)]
        if not possible:
            continue
        with each_warned_once(warned):
            scores = evaluate(qrels, system, [measures[place] for place in possible], **scoring | {"ties": policy})
        values[possible, column] = scores.values[0, :, 0]
    return values


def _is_possible(system: System, measure: AnyMeasure, policy: str) -> bool:
    if policy == "trec":
        return not isinstance(system, AnswerRanks)
    return isinstance(measure, ParsedMeasure) and (policy != "expected" or measure.record.expected is not None)
