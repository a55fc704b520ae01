"""Baselines of facts with a time: what answered the same question before its time, the more recent the better.

The strict form of the recurrency baseline, and with ``unseen=frequent`` below it the relaxed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.triples import qualifiers_of, steps_of
from kgtrec.kernels.integer_keys import begins, ranges
from kgtrec.systems.baselines.graph import Codes, Graph
from kgtrec.systems.baselines.record import Baseline, Option, Scorer, each


def _fit_recent(graph: Graph, *, seed: int, decay: float, unseen: str) -> Scorer:
    relation_of, time_of = qualifiers_of(graph.relations)[1].astype(np.int64), steps_of(graph.relations)
    n_plain = len(qualifiers_of(graph.relations)[0])

    def apart(direction: Codes) -> tuple[Codes, Codes]:
        """The direction without time, and the time."""
        backwards, relation = np.divmod(direction, graph.n_relations)
        return relation_of[relation] + n_plain * backwards, time_of[relation]

    direction, time = apart(graph.direction)
    strict = _history(graph.anchor * (2 * n_plain) + direction, graph.answer, time, decay)
    relaxed = _history(direction, graph.answer, time, 0) if unseen == "frequent" else None
    n_times = time_of.max() + 2
    never, most = -decay * n_times - 1, 2 + np.log2(max(len(time), 1))

    def score(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        block = np.full((len(anchor), graph.n_entities), never)
        own, time = apart(direction)
        if relaxed is not None:
            # once for each direction and time; below 1, so that they order only what the strict form does not
            pair, place = np.unique(own * n_times + time + 1, return_inverse=True)
            shares = np.zeros((len(pair), graph.n_entities))
            asked, answer, amount = relaxed(pair // n_times, pair % n_times - 1)
            shares[asked, answer] = (1 + amount) / most
            block += shares[place]
        asked, answer, amount = strict(anchor * (2 * n_plain) + own, time)
        block[asked, answer] = amount
        return block

    return score


def _history(
    group: Codes, answer: Codes, time: Codes, decay: float
) -> Callable[[Codes, Codes], tuple[Codes, Codes, NDArray[np.float64]]]:
    r"""Answers of each group by time; gives for (groups, times) what was there before, as (which, answer, amount).

    The amount is :math:`\log_2 \sum_k 2^{d (k - t)}` over the times k of the answer before the question's time t: a
    logarithm, so that no past is too far away.
    """
    order = np.lexsort((time, answer, group))
    group, answer, time = group[order], answer[order], time[order]
    new = begins(group, answer)
    since = np.where(new, 0, np.diff(time, prepend=time[:1]))
    amount, carried = np.ones(len(time)), np.where(new, 0.0, np.exp2(-decay * since))
    run, first = np.cumsum(new) - 1, np.flatnonzero(new)
    # amount[i] = 1 + carried[i] * amount[i - 1], all rows at a time, over windows of 1, 2, 4, ... rows
    for step in 2 ** np.arange(int(np.diff(np.append(first, len(time))).max(initial=1)).bit_length()):
        amount[step:] += carried[step:] * amount[:-step]
        carried[step:] = carried[step:] * carried[:-step]
    amount = np.log2(amount)
    width = time.max(initial=0) + 2
    key, of_run = run * width + time + 1, group[first]

    def before(asked_group: Codes, asked_time: Codes) -> tuple[Codes, Codes, NDArray[np.float64]]:
        start = np.searchsorted(of_run, asked_group, "left")
        which, own = ranges(start, np.searchsorted(of_run, asked_group, "right") - start)
        last = np.searchsorted(key, own * width + np.minimum(asked_time[which] + 1, width)) - 1
        known = last >= first[own]
        which, last = which[known], last[known]
        return which, answer[last], amount[last] - decay * (asked_time[which] - time[last])

    return before


_OPTIONS = {
    "decay": Option(1.0001, "a fact counts 2 to the power of this less with each step of time; 0: all the same", (), 0),
    "unseen": Option(
        "tied",
        "answers that the question never had. tied: all the same; frequent: by how often the relation had them",
        ("tied", "frequent"),
    ),
}
_SOURCE = (
    "Gastinger et al., History repeats itself: a baseline for temporal knowledge graph forecasting, IJCAI 2024; "
    "Poursafaei et al., Towards better evaluation for dynamic link prediction, NeurIPS 2022 (EdgeBank)"
)
RECENT = Baseline(
    "recent",
    each(_fit_recent),
    "Answers that the same question had before its time in train and valid, the more recent the better; the other "
    "candidates are tied.",
    _SOURCE,
    _OPTIONS,
    knows=("train", "valid"),
)
RECENT_SINGLE_STEP = Baseline(
    "recent-single-step",
    each(_fit_recent),
    "The same with test facts before the question's time too: for comparison with systems that are given these.",
    _SOURCE,
    _OPTIONS,
    knows=("train", "valid", "test"),
)
