"""Baselines of mined Horn rules: inverse and equivalent relations, and paths of two steps.

A rule says that where its body leads from x to y, the fact (x, d, y) holds, where d is a direction
(:mod:`kgtrec.systems.baselines.graph`). Its confidence is hits / (body pairs + a discount), as in AnyBURL, so that a
rule with few observations is never certain. Different variables of a rule are different entities. Rules know no entity:
those of an inductive collection are mined in the graph of the training, and applied to the graph of the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgtrec.kernels.integer_keys import begins, distinct, ranges
from kgtrec.systems.baselines.graph import Codes, Graph, slices
from kgtrec.systems.baselines.record import Baseline, Option, Scorer, each

_CHUNK = 4_000_000  # body pairs in memory at a time
_DIGITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Mined rules, sorted by the concluded direction, then by rising confidence."""

    target: Codes  # (n,) direction concluded
    first: Codes  # (n,) direction of the first step
    second: Codes  # (n,) direction of the second step, n_directions where the body has only one step
    confidence: NDArray[np.float64]  # (n,) in (0, 1)

    def __len__(self) -> int:
        return len(self.target)

    def span(self, target: Codes) -> tuple[Codes, Codes]:
        """Find the first rule and the number of rules of each direction."""
        first = np.searchsorted(self.target, target, "left")
        return first, np.searchsorted(self.target, target, "right") - first


def mine_one_step(graph: Graph, *, discount: int, support: int) -> Rules:
    """Mine all rules with one step: every relation that holds between the same pairs, in either direction.

    Examples
    --------
    >>> from kgtrec.data.triples import Triples
    >>> facts = [("a", "likes", "b"), ("b", "liked_by", "a"), ("c", "likes", "a"), ("a", "liked_by", "c")]
    >>> rules = mine_one_step(Graph.of(Triples.of(facts)), discount=2, support=1)
    >>> list(zip(rules.target.tolist(), rules.first.tolist(), rules.confidence.tolist(), strict=True))
    [(0, 3, 0.5), (1, 2, 0.5), (2, 1, 0.5), (3, 0, 0.5)]
    """
    from scipy.sparse import csr_array

    keep = graph.anchor != graph.answer
    _, pair = np.unique(graph.anchor[keep] * graph.n_entities + graph.answer[keep], return_inverse=True)
    direction = graph.direction[keep]
    holds = csr_array((np.ones(len(pair), np.int64), (direction, pair)), shape=(graph.n_directions, len(pair)))
    together = (holds @ holds.T).tocoo()
    first, target, hits = (np.asarray(a, np.int64) for a in (together.row, together.col, together.data))
    body = np.bincount(direction, minlength=graph.n_directions)
    kept = (first != target) & (hits >= support)
    first, target, hits = first[kept], target[kept], hits[kept]
    return _sorted(target, first, np.full(len(first), graph.n_directions), hits / (body[first] + discount))


def mine(graph: Graph, *, seed: int, anchors: int, discount: int, support: int, most: int) -> Rules:
    """Rules with one and two steps, from the bodies that start at a random sample of each direction's anchors.

    A body pair (x, y) counts only where x has some answer in the concluded direction (the partial-completeness
    confidence of AMIE): nothing is known about the others.
    """
    n_directions, n_bodies = graph.n_directions, graph.n_directions * (graph.n_directions + 1)
    if not len(graph.anchor):  # a training graph of other relations
        none = np.zeros(0, np.int64)
        return Rules(none, none, none, np.zeros(0))
    sample = _sampled_anchors(graph, anchors, np.random.Generator(np.random.PCG64(seed)))
    sizes, (rule, hits) = _observed(graph, sample)
    target, body = rule // n_bodies, rule % n_bodies
    # a direction that follows from itself is not a rule
    kept = (hits >= support) & (body != target * (n_directions + 1) + n_directions)
    target, body, hits = target[kept], body[kept], hits[kept]
    total = _body_totals(graph, sample, sizes, target, body)
    confidence = hits / (total + discount)
    best = np.lexsort((body, -confidence, target))
    place = np.arange(len(best)) - np.searchsorted(target[best], target[best], "left")
    best = best[place < most]
    target, body, confidence = target[best], body[best], confidence[best]
    return _sorted(target, body // (n_directions + 1), body % (n_directions + 1), confidence)


def _sorted(target: Codes, first: Codes, second: Codes, confidence: NDArray[np.float64]) -> Rules:
    order = np.lexsort((second, first, confidence, target))
    return Rules(target[order], first[order], second[order], confidence[order])


def _sampled_anchors(graph: Graph, most: int, rng: np.random.Generator) -> Codes:
    """At most ``most`` anchors of each direction, together and sorted."""
    starts = np.unique(graph.key)
    anchor, direction = starts // graph.n_directions, starts % graph.n_directions
    order = np.lexsort((rng.permutation(graph.n_entities)[anchor], direction))
    place = np.arange(len(order)) - np.searchsorted(direction[order], direction[order], "left")
    return np.unique(anchor[order[place < most]])


def _bodies(graph: Graph, sample: Codes) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Distinct (x, body, y) in chunks, x a row of ``sample``, body = first * (n_directions + 1) + second."""
    n_directions, n = graph.n_directions, graph.n_entities
    n_bodies = n_directions * (n_directions + 1)
    degree = np.bincount(graph.anchor, minlength=n)
    reach = np.bincount(graph.anchor, weights=degree[graph.answer] + 1, minlength=n).astype(np.int64)
    # at least a thousandth of a chunk for each anchor, so that the keys below fit into 64 bits
    for begin, end in slices(np.maximum(reach[sample], _CHUNK // 1000), _CHUNK):
        own = sample[begin:end]
        x, edge = graph.from_anchor(own)
        x, edge = _where(graph.answer[edge] != own[x], x, edge)
        start, between = graph.direction[edge] * (n_directions + 1), graph.answer[edge]
        step, edge = graph.from_anchor(between)
        y = graph.answer[edge]
        step, edge, y = _where((y != between[step]) & (y != own[x[step]]), step, edge, y)
        one, two = x * n_bodies + start + n_directions, x[step] * n_bodies + start[step] + graph.direction[edge]
        key = distinct(np.concatenate([one * n + between, two * n + y]))
        yield key // (n_bodies * n) + begin, key // n % n_bodies, key % n


def _where(kept: NDArray[np.bool_], *columns: Codes) -> tuple[Codes, ...]:
    return tuple(column[kept] for column in columns)


def _observed(graph: Graph, sample: Codes) -> tuple[tuple[Codes, Codes, Codes], tuple[Codes, Codes]]:
    """The number of y that each (x, body) reaches, as (x, body, count), and of concluded facts, as (rule, hits)."""
    n_bodies = graph.n_directions * (graph.n_directions + 1)
    by_pair = np.argsort(graph.anchor * graph.n_entities + graph.answer, kind="stable")
    pair = (graph.anchor * graph.n_entities + graph.answer)[by_pair]
    sizes: list[tuple[Codes, ...]] = []
    found: list[tuple[Codes, ...]] = []
    for x, body, y in _bodies(graph, sample):
        start = np.flatnonzero(begins(body, x))
        sizes.append((x[start], body[start], np.diff(np.r_[start, len(x)])))
        asked = sample[x] * graph.n_entities + y
        first = np.searchsorted(pair, asked, "left")
        owner, place = ranges(first, np.searchsorted(pair, asked, "right") - first)
        found.append(np.unique(graph.direction[by_pair[place]] * n_bodies + body[owner], return_counts=True))
    rules, chunk_rule = np.unique(np.concatenate([rule for rule, _ in found]), return_inverse=True)
    hits = np.bincount(chunk_rule, weights=np.concatenate([count for _, count in found]), minlength=len(rules))
    x, body, count = (np.concatenate(column) for column in zip(*sizes, strict=True))
    return (x, body, count), (rules, hits.astype(np.int64))


def _body_totals(graph: Graph, sample: Codes, sizes: tuple[Codes, Codes, Codes], target: Codes, body: Codes) -> Codes:
    """Body pairs of each rule over the sampled anchors that have an answer in its target direction."""
    from scipy.sparse import csr_array

    used = np.unique(body)
    x, size_body, count = _where(np.isin(sizes[1], used), *sizes)
    counts = csr_array((count, (x, np.searchsorted(used, size_body))), shape=(len(sample), len(used)))
    starts = np.unique(graph.key)
    anchor, direction = starts // graph.n_directions, starts % graph.n_directions
    anchor, direction = _where(np.isin(anchor, sample), anchor, direction)
    order = np.argsort(direction, kind="stable")
    row, direction = np.searchsorted(sample, anchor[order]), direction[order]
    total = np.zeros(len(target), np.int64)
    for one in np.unique(target):
        of_target = np.flatnonzero(target == one)
        rows = row[slice(*np.searchsorted(direction, [one, one + 1]))]
        total[of_target] = counts[rows].sum(axis=0)[np.searchsorted(used, body[of_target])]
    return total


def _reached(
    graph: Graph, rules: Rules, anchor: Codes, direction: Codes
) -> Iterator[tuple[Codes, Codes, Codes, Codes]]:
    """The conclusions of rules for questions: chunks of (question, rule, answer, number of the question-rule pair)."""
    question, rule = ranges(*rules.span(direction))
    pair, edge = graph.from_anchor_in(anchor[question], rules.first[rule])
    between = graph.answer[edge]
    pair, between = _where(between != anchor[question[pair]], pair, between)
    second = rules.second[rule[pair]]
    is_last = second == graph.n_directions
    ends, last = pair[is_last], between[is_last]
    yield question[ends], rule[ends], last, ends
    pair, between, second = _where(~is_last, pair, between, second)
    first, count = graph.span(between, second)
    size = np.bincount(question[pair], weights=count, minlength=len(anchor)).astype(np.int64)
    for begin, end in slices(size, _CHUNK):
        some = slice(*np.searchsorted(question[pair], [begin, end]))
        owner, place = ranges(first[some], count[some])
        y = graph.answer[place]
        kept = (y != between[some][owner]) & (y != anchor[question[pair[some]]][owner])
        ends, last = pair[some][owner[kept]], y[kept]
        yield question[ends], rule[ends], last, ends


def _scorer(graph: Graph, rules: Rules, aggregate: str) -> Scorer:
    n = graph.n_entities

    def best(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        score = np.zeros(len(anchor) * n)
        for question, rule, answer, _ in _reached(graph, rules, anchor, direction):
            np.maximum.at(score, question * n + answer, rules.confidence[rule])
        return np.round(score, _DIGITS).reshape(-1, n)

    def noisy_or(anchor: Codes, direction: Codes) -> NDArray[np.float64]:
        doubt = np.ones(len(anchor) * n)
        for question, rule, answer, pair in _reached(graph, rules, anchor, direction):
            # a rule counts once for an answer, however many paths lead there
            once = np.unique(pair * n + answer, return_index=True)[1]
            np.multiply.at(doubt, (question * n + answer)[once], 1 - rules.confidence[rule[once]])
        return np.round(1 - doubt, _DIGITS).reshape(-1, n)

    return best if aggregate == "max" else noisy_or


def _fit_inverse(graph: Graph, *, seed: int, discount: int, support: int, aggregate: str) -> Scorer:
    return _scorer(graph, mine_one_step(graph.training or graph, discount=discount, support=support), aggregate)


def _fit_rules(
    graph: Graph, *, seed: int, anchors: int, discount: int, support: int, most: int, aggregate: str
) -> Scorer:
    rules = mine(graph.training or graph, seed=seed, anchors=anchors, discount=discount, support=support, most=most)
    return _scorer(graph, rules, aggregate)


_DISCOUNT = Option(5, "added to the number of body pairs, so that a rule with few observations is not certain")
_SUPPORT = Option(2, "lowest number of train facts that a rule must conclude correctly")
_AGGREGATE = "how several rules for one answer are combined"
_KINDS = ("max", "noisy-or")
INVERSE = Baseline(
    "inverse",
    each(_fit_inverse),
    "Inverse, symmetric and equivalent relations: the relations between anchor and candidate, and how often the "
    "asked relation holds there too.",
    "Toutanova and Chen, Observed versus latent features for knowledge base and text inference, CVSC 2015; Dettmers "
    "et al., Convolutional 2D knowledge graph embeddings, AAAI 2018 (the inverse model)",
    {"discount": _DISCOUNT, "support": _SUPPORT, "aggregate": Option("noisy-or", _AGGREGATE, _KINDS)},
)
RULES = Baseline(
    "rules",
    each(_fit_rules),
    "Mined rules of one and two steps, such as the father of a father being a grandfather, by their confidence.",
    "Galarraga et al., AMIE, WWW 2013 (confidence); Meilicke et al., Anytime bottom-up rule learning for knowledge "
    "graph completion, IJCAI 2019 (discount, aggregation)",
    {
        "anchors": Option(100, "how many anchors of each direction are sampled"),
        "most": Option(200, "how many rules of each direction are kept"),
        "discount": _DISCOUNT,
        "support": _SUPPORT,
        "aggregate": Option("noisy-or", _AGGREGATE, _KINDS),
    },
)
