"""How good machines are by people's decisions, and what taking their labels for the truth would have said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.campaign.assign import groups_of
from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.diagnostics import MEASURES, system_scores
from kgtrec.campaign.predict import predict, skill_text
from kgtrec.campaign.qrels import question_level
from kgtrec.data.arrow import long_table
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import NO, UNSURE, YES, Decisions
from kgtrec.data.lazy import imported
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.table import Column, Figure, PlottedResult, Table, TabledResult
from kgtrec.data.triples import plain
from kgtrec.errors import KgtrecError, between_0_and_1, counted, each_warned_once
from kgtrec.evaluation.given import System, each_system
from kgtrec.kernels.sampling.proportions import wilson_interval
from kgtrec.kernels.statistics.calibration import phi_of, rogan_gladen
from kgtrec.kernels.statistics.correlation import kendall_tau_b
from kgtrec.kernels.statistics.resampling import BootstrapSamples, percentile_interval, resampled_quotients
from kgtrec.measures.names import parse_measures

#: in this order
STATISTICS = ("sensitivity", "specificity", "phi", "Y by people", "Y by machine", "Y corrected")
BINS = 10
_FEWEST = 3  # questions for an interval

_Floats = NDArray[np.float64]


class MachineReport(TabledResult, PlottedResult):
    """Machines in the tables ``machines``, ``relations``, ``reliability``, and with systems ``systems`` and ``orders``.

    ``sensitivity`` and ``specificity`` are the shares of the machine's Y among people's Y, and of its N among their N;
    ``phi`` is the correlation of the two. They are of the triples that people have settled and of which the machine
    says Y or N. ``Y by people`` is the share of Y among all that people have settled, ``Y by machine`` that among all
    that the machine says Y or N of, ``Y corrected`` the latter after Rogan and Gladen.
    """

    __slots__ = ()

    def figures(self) -> tuple[Figure, ...]:
        """Return the reliability diagram; none where no machine gives probabilities."""
        table = self["reliability"]
        return (imported("report.figures", "reliability")(table),) if table.num_rows else ()


class _Compared(NamedTuple):
    """The triples that people or a machine have judged, and how intervals of their statistics are made."""

    people: NDArray[np.int8]  # (n,) of YES, NO, -1
    machine: NDArray[np.int8]  # (n,) of YES, NO, -1
    weight: _Floats  # (n,) of people's verdicts
    of_pool: _Floats  # (n,) triples of the pool that each stands for
    cluster: NDArray[np.intp]  # (n,) question that it is judged with
    confidence: float
    resamples: int
    seed: int

    def sampled(
        self, group: NDArray[np.intp], size: int, above: Sequence[_Floats], below: Sequence[_Floats]
    ) -> _Floats:
        """(k, 1 + resamples, size) quotients of sums: of all triples, then of those of bootstrap samples of questions.

        Without two questions there is one sample, of no value.
        """
        n = int(self.cluster.max(initial=-1)) + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = [
                np.bincount(group, a, size) / np.bincount(group, b, size) for a, b in zip(above, below, strict=True)
            ]
        samples = np.full((len(above), 1, size), np.nan)
        if n > 1:
            drawn = BootstrapSamples(n, self.resamples, self.seed)
            samples = resampled_quotients(drawn, self.cluster, group.astype(np.int32), size, above, below)
        return np.concatenate([np.array(whole)[:, None], samples], axis=1)

    def questions_of(self, group: NDArray[np.intp], of: NDArray[np.bool_], size: int) -> NDArray[np.intp]:
        """(size,) how many questions the triples ``of`` each group are judged with."""
        width = len(self.cluster) + 1
        return np.bincount(np.unique(group[of] * width + self.cluster[of]) // width, minlength=size)

    def ends_of_share(self, values: _Floats, group: NDArray[np.intp], of: NDArray[np.bool_]) -> _Floats:
        """(2, size) ends of the intervals of shares among the triples ``of``, (1 + samples, size) values.

        Where a share is 0 or 1, so that hardly a sample differs, Wilson's interval for as many trials as questions. NaN
        where one or two questions have all the triples, whose samples differ too little.
        """
        n = self.questions_of(group, of, values.shape[1])
        ends = percentile_interval(values[1:], self.confidence)
        is_end = (n > 0) & np.isin(values[0], (0.0, 1.0))
        ends[:, is_end] = wilson_interval(values[0, is_end] * n[is_end], n[is_end], self.confidence)
        ends[:, ~is_end & (n < _FEWEST)] = np.nan
        return ends

    def statistics(self, group: NDArray[np.intp], size: int) -> _Floats:
        """(3, size, statistics) value, lower and upper end."""
        pairs = [(self.people == p) & (self.machine == m) for p, m in ((YES, YES), (YES, NO), (NO, YES), (NO, NO))]
        both, settled, judged = (self.people >= 0) & (self.machine >= 0), self.people >= 0, self.machine >= 0
        parts = [self.weight * pair for pair in pairs]
        parts += [self.weight * (self.people == YES), self.of_pool * (self.machine == YES)]
        wholes = [self.weight * both] * 4 + [self.weight * settled, self.of_pool * judged]
        *table, people, machine = self.sampled(group, size, parts, wholes)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = table[0] / (table[0] + table[1]), table[3] / (table[2] + table[3])
        shares = (*rates, phi_of(np.stack(table)), people, machine, rogan_gladen(machine, *rates))
        values = np.stack(shares, axis=-1)
        people_y, people_n = both & (self.people == YES), both & (self.people == NO)
        ends = np.full((2, *values.shape[1:]), np.nan)
        for column, of in ((0, people_y), (1, people_n), (3, settled), (4, judged)):
            ends[..., column] = self.ends_of_share(values[..., column], group, of)
        # a sample in which the machine always says the same has no correlation; one in which it has no skill, any share
        for column, worst in ((2, (0.0, 0.0)), (5, (0.0, 1.0))):
            samples = values[1:, :, column]
            ends[..., column] = [
                percentile_interval(np.where(np.isnan(samples), end, samples), self.confidence)[side]
                for side, end in enumerate(worst)
            ]
        ends[:, np.isnan(values[0, :, 2]), 2] = np.nan
        is_small = self.questions_of(group, both, size) < _FEWEST
        ends[:, is_small, 2] = ends[:, is_small, 5] = np.nan
        if len(values) == 2:
            ends[:] = np.nan
        return np.concatenate([values[:1], ends])


def machine_report(
    campaign: Campaign,
    machines: Mapping[str, MachineVerdicts],
    systems: System | Iterable[System] = (),
    measures: Any = MEASURES,
    *,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> MachineReport:
    """Compare machines with people's decisions, and the systems under the labels of both.

    Triples that a rule has judged are left out. Intervals are percentiles of bootstrap samples of questions; where a
    share is 0 or 1, Wilson's interval for their number. Where in some samples the machine has no skill, any corrected
    share is possible in them.

    Parameters
    ----------
    campaign : Campaign
        With its judgements so far.
    machines : mapping of str to MachineVerdicts
        By name, of the campaign's pool.
    systems : Run or AnswerRanks, or several of them
        To score with the labels of both on the triples that both have judged.
    measures : str, measure, or several of them
        Of the systems.
    confidence : float, between 0 and 1
        Level of the intervals.
    resamples : int
        Bootstrap samples.
    seed : int
        Of the samples, and of the folds of questions across which a machine is recalibrated.

    Returns
    -------
    MachineReport

    Raises
    ------
    KgtrecError
        If there is no machine, or an option is out of range; as :func:`kgtrec.evaluate`.

    References
    ----------
    See :mod:`kgtrec.kernels.statistics.calibration`.

    Examples
    --------
    See ``kgtrec campaign machines``.
    """
    if not machines:
        raise KgtrecError("expected at least one machine, found none; kgtrec campaign import --machine takes one in")
    between_0_and_1("a confidence", confidence)
    pool, decisions = campaign.pool, decisions_of(campaign)
    is_asked = ~campaign.automatic.is_automatic
    asked = pool.questions.ids
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    question = groups_of(pool, campaign.automatic, seed=campaign.assignment_seed)
    weight = 1.0 / campaign.chance
    whole, by_relation, bins, texts = [], [], [], []
    end = " Estimates leave it out." if campaign.design is None else ""
    for name, said in machines.items():
        verdict, given = said.of_pool(len(pool))
        rows = np.flatnonzero(is_asked & ((decisions.verdict >= 0) | (verdict >= 0)))
        machine = np.where(verdict == UNSURE, -1, verdict)
        _, cluster = np.unique(asked.byte_order[question[rows]], return_inverse=True)
        own = _Compared(
            decisions.verdict[rows], machine[rows], weight[rows], 1.0 / pool.probability[rows], cluster,
            confidence, resamples, seed,
        )  # fmt: skip
        whole.append(own.statistics(np.zeros(len(rows), np.intp), 1)[:, 0])
        triples = plain(pool.triples)
        relations, group = np.unique(triples.relation[rows], return_inverse=True)
        n_both = np.bincount(group[(own.people >= 0) & (own.machine >= 0)], minlength=len(relations))
        found = own.statistics(group, len(relations))
        order = np.argsort(triples.relations.byte_order[relations])
        labels = triples.relations.decode(relations[order])
        by_relation.append(_statistics_table(found[:, order], machine=name, relation=labels, compared=n_both[order]))
        bins.append(_reliability(name, own, given[rows]))
        worth = predict(campaign, said, **options).skill
        n_unsure = int(np.count_nonzero(said.verdict == UNSURE))
        texts.append(
            f"{name}: {counted(len(said), 'verdict')}, {n_unsure:,} of them unsure, {n_both.sum():,} on triples that "
            f"people have settled. {skill_text(worth, confidence, end=end)}"
        )
    data = pa.concat_tables(
        [_statistics_table(values[:, None], machine=name) for name, values in zip(machines, whole, strict=True)]
    )
    value = Column("value", low="low", high="high", across="machine")
    if campaign.design is not None:
        texts.append("kgtrec evaluate tests machines anew: in finished questions alone, beyond a prediction by ranks.")
    caption = "\n".join([*texts, f"{confidence * 100:g}% bootstrap intervals, questions resampled"])
    shown = replace(value, across="statistic")
    counts = (Column("machine"), Column("relation"), Column("compared"))
    several = pa.concat_tables(by_relation)
    few = several.filter(pa.array(several["compared"].to_numpy() > 0))
    tables = [
        Table("machines", "Machines by people's decisions", caption, data, (Column("statistic"), value)),
        Table("relations", "by relation", "", several, (*counts, shown), view=few),
        _reliability_table(pa.concat_tables(bins)),
    ]
    return MachineReport((*tables, *_under_both(campaign, decisions, machines, systems, measures)))


def _statistics_table(values: _Floats, **labels: Any) -> pa.Table:
    """Rows of (3, size, statistics) values and ends; labels are of each of size, or one for all."""
    groups = {name: label if isinstance(label, str) else (0, label) for name, label in labels.items()}
    value, low, high = values
    return long_table(value.shape, {**groups, "statistic": (1, STATISTICS), "value": value, "low": low, "high": high})


def _reliability(name: str, own: _Compared, given: _Floats) -> pa.Table:
    """A row per bin of the machine's probability in which people have settled a triple."""
    rows = np.flatnonzero((own.people >= 0) & ~np.isnan(given))
    group = np.minimum((given[rows] * BINS).astype(np.intp), BINS - 1)
    _, cluster = np.unique(own.cluster[rows], return_inverse=True)
    used = own._replace(people=own.people[rows], weight=own.weight[rows], cluster=cluster)
    w = used.weight
    share, mean = used.sampled(group, BINS, [w * (used.people == YES), w * given[rows]], [w, w])
    low, high = used.ends_of_share(share, group, np.ones(len(rows), np.bool_))
    filled = np.flatnonzero(np.bincount(group, minlength=BINS))
    return pa.table(
        {
            "machine": [name] * len(filled),
            "from": filled / BINS,
            "to": (filled + 1) / BINS,
            "triples": np.bincount(group, minlength=BINS)[filled],
            "mean": mean[0, filled],
            "share": share[0, filled],
            "low": low[filled],
            "high": high[filled],
        },
        schema=pa.schema(_OF_BINS),
    )


_OF_BINS = {"machine": pa.string(), "from": pa.float64(), "to": pa.float64(), "triples": pa.int64()}
_OF_BINS |= dict.fromkeys(("mean", "share", "low", "high"), pa.float64())


def _reliability_table(data: pa.Table) -> Table:
    title = "Share of Y by people, by the probability that a machine gives"
    columns = (
        Column("machine"), Column("from", digits=1), Column("to", digits=1), Column("triples"),
        Column("mean", "mean probability"), Column("share", "share of Y", low="low", high="high"),
    )  # fmt: skip
    return Table("reliability", title, "", data, columns)


def _under_both(
    campaign: Campaign,
    decisions: Decisions,
    machines: Mapping[str, MachineVerdicts],
    systems: System | Iterable[System],
    measures: Any,
) -> Iterable[Table]:
    """The systems' scores under the labels of people and of each machine, on triples that both have judged."""
    labels = [measure.label for measure in parse_measures(measures)]
    pairs = []
    for said in machines.values():
        verdict, _ = said.of_pool(len(decisions))
        is_rule = campaign.automatic.is_automatic
        is_both = (decisions.verdict >= 0) & (verdict >= 0) & (verdict != UNSURE)
        for own in (decisions.verdict, np.where(is_rule, decisions.verdict, verdict)):
            used = replace(decisions, verdict=np.where(is_both | is_rule, own, -1).astype(np.int8))
            pairs.append(question_level(campaign.pool, campaign.known_answers, used))
    names, scores = [], []
    warned: set[str] = set()
    for system in each_system(systems):
        names.append(system.name)
        with each_warned_once(warned):
            values = [system_scores(qrels, np.ones((1, len(qrels)), np.bool_), system, labels)[0] for qrels in pairs]
        scores.append(values)
    if not names:
        return
    by_people, by_machine = np.array(scores).reshape(len(names), len(machines), 2, len(labels)).transpose(2, 1, 0, 3)
    data = long_table(
        by_people.shape,
        {"machine": (0, list(machines)), "system": (1, names), "measure": (2, labels)}
        | {"people": by_people, "labels": by_machine, "difference": by_machine - by_people},
    )
    columns = (
        Column("machine"), Column("system"), Column("measure"), Column("people", "by people", digits="measure"),
        Column("labels", "by the machine", digits="measure"), Column("difference", digits="measure"),
    )  # fmt: skip
    title = "systems under the labels of people, and under those of a machine taken for the truth"
    yield Table("systems", title, "On the triples that both have judged, and what a rule has.", data, columns)
    tau = kendall_tau_b(by_people.swapaxes(1, 2), by_machine.swapaxes(1, 2))
    gap = np.mean(by_machine - by_people, axis=1)
    orders = long_table(
        tau.shape, {"machine": (0, list(machines)), "measure": (1, labels), "tau": tau, "mean_difference": gap}
    )
    shown = (
        Column("machine"),
        Column("measure"),
        Column("tau", digits=3),
        Column("mean_difference", "mean difference"),
    )
    caption = f"Kendall's tau-b between the two orders of {counted(len(names), 'system')}: one number, no interval."
    yield Table("orders", "the order of the systems", caption, orders, shown)
