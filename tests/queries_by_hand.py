"""Small graphs and complex queries, with answers by enumeration of explanations, and files in BetaE's layout."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kgtrec.kernels.triples.queries import STRUCTURES, letters

Link = tuple[int, int, int]
NUMBERS = {"n": -2, "u": -1}


def nested(shape: Any, codes: Iterator[int]) -> Any:
    """A query as BetaE nests it, of its anchors and relations from left to right."""
    if isinstance(shape, str):
        return NUMBERS[shape] if shape in NUMBERS else next(codes)
    return tuple(nested(part, codes) for part in shape)


def explanations(query: Any, x: int, known: set[Link], graph: set[Link], n: int) -> list[int]:
    """The missing links of every explanation of x as an answer: all entities are tried for every variable."""
    if isinstance(query, int):
        return [0] * (query == x)
    if query[-1] == (-1,):
        return [cost for branch in query[:-1] for cost in explanations(branch, x, known, graph, n)]
    is_path = len(query) == 2 and all(isinstance(step, int) for step in query[1])
    if not is_path:
        return [sum(costs) for costs in product(*(explanations(branch, x, known, graph, n) for branch in query))]
    start, steps = query
    if not steps:
        return explanations(start, x, known, graph, n)
    before, last = (start, steps[:-1]), steps[-1]
    if last == -2:
        return [] if explanations(before, x, known, graph, n) else [0]
    return [
        cost + ((y, last, x) not in known)
        for y in range(n)
        if (y, last, x) in graph
        for cost in explanations(before, y, known, graph, n)
    ]


def answers(query: Any, known: set[Link], graph: set[Link], n: int) -> tuple[set[int], dict[int, int]]:
    """Easy answers, over the known links; hard ones, which only the whole graph gives, with their missing links."""
    easy = {x for x in range(n) if explanations(query, x, known, known, n)}
    costs = {x: explanations(query, x, known, graph, n) for x in range(n)}
    return easy, {x: min(own) for x, own in costs.items() if own and x not in easy}


@st.composite
def split_graphs(draw: Any, n: int = 5, n_relations: int = 2) -> tuple[set[Link], set[Link]]:
    """Known links, and all links: at least one is missing."""
    link = st.tuples(*(st.integers(0, top - 1) for top in (n, n_relations, n)))
    links = draw(st.lists(link, min_size=2, max_size=14, unique=True))
    cut = draw(st.integers(1, len(links) - 1))
    return set(links[:cut]), set(links)


def drawn_queries(seed: int, n: int, n_relations: int, each: int) -> dict[str, np.ndarray]:
    """Random anchors and relations of every structure, each query once."""
    rng = np.random.default_rng(seed)
    most = {"e": n, "r": n_relations}
    return {
        name: np.unique(np.stack([rng.integers(0, most[kind], each) for kind in letters(shape)], axis=1), axis=0)
        for name, shape in STRUCTURES.items()
    }


def a_graph(seed: int, n: int, n_relations: int, size: int) -> dict[str, set[Link]]:
    """Links by split, each with its inverse, numbered as BetaE does: 2k and 2k + 1."""
    rng = np.random.default_rng(seed)
    links = np.unique(
        np.stack([rng.integers(0, n, size), rng.integers(0, n_relations, size), rng.integers(0, n, size)], axis=1),
        axis=0,
    )
    parts = np.array_split(rng.permutation(links), [len(links) * 6 // 10, len(links) * 8 // 10])
    return {
        split: {link for h, r, t in part.tolist() for link in ((h, 2 * r, t), (t, 2 * r + 1, h))}
        for split, part in zip(("train", "valid", "test"), parts, strict=True)
    }


def write_betae(
    folder: Path, seed: int = 0, n: int = 7, n_relations: int = 2, each: int = 15, size: int = 30
) -> dict[Any, Any]:
    """Write a folder in BetaE's layout, its queries with answers by enumeration; return (easy, hard) of each query."""
    graph = a_graph(seed, n, n_relations, size)
    known, whole = graph["train"] | graph["valid"], graph["train"] | graph["valid"] | graph["test"]
    queries, easy, hard, found = defaultdict(set), defaultdict(set), defaultdict(set), {}
    for name, codes in drawn_queries(seed, n, 2 * n_relations, each).items():
        if name in ("4p", "4i"):
            continue
        for row in codes.tolist():
            query = nested(STRUCTURES[name], iter(row))
            own, missing = answers(query, known, whole, n)
            if missing:
                queries[STRUCTURES[name]].add(query)
                easy[query], hard[query] = own, set(missing)
                found[query] = name, own, missing
    folder.mkdir(exist_ok=True, parents=True)
    for name, content in {
        "test-queries": queries,
        "test-easy-answers": easy,
        "test-hard-answers": hard,
        "id2ent": {number: f"/m/{number}" for number in range(n)},
        "id2rel": {number: f"{'+-'[number % 2]}/rel/{number // 2}" for number in range(2 * n_relations)},
    }.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(content))
    for split, links in graph.items():
        (folder / f"{split}.txt").write_text("".join("\t".join(map(str, link)) + "\n" for link in sorted(links)))
    (folder / "stats.txt").write_text(f"numentity: {n}\nnumrelations: {2 * n_relations}")
    return found
