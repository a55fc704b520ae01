"""Answers of complex queries, and the missing links of their easiest explanations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.triples import queries as kernel
from kgtrec.kernels.triples.queries import (
    NO_ANSWER,
    STRUCTURES,
    WITHOUT_UNION,
    Links,
    each_block,
    letters,
    missing_links,
)
from tests.queries_by_hand import drawn_queries, explanations, nested, split_graphs

N, RELATIONS = 5, 2


def links_of(known: set, graph: set, n: int = N) -> Links:
    rows = sorted(graph)
    head, relation, tail = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    return Links.of(relation.astype(np.int64) * n + head, tail, np.array([row not in known for row in rows]), n)


@pytest.mark.parametrize("name", STRUCTURES)
@settings(max_examples=20)
@given(split_graphs(N, RELATIONS), st.integers(0, 2**20))
def test_every_structure_equals_the_enumeration_of_all_explanations(name, graph, seed):
    """The fewest missing links over all explanations, and no answer where there is none, at every entity."""
    known, whole = graph
    codes = drawn_queries(seed, N, RELATIONS, 6)[name]
    found = missing_links(STRUCTURES[name], codes, links_of(known, whole))
    expected = []
    for row in codes.tolist():
        query = nested(STRUCTURES[name], iter(row))
        expected.append([min(explanations(query, x, known, whole, N), default=NO_ANSWER) for x in range(N)])
    assert found.tolist() == expected


@given(split_graphs(N, RELATIONS), st.integers(0, 2**20), st.sampled_from(list(STRUCTURES)))
def test_hard_answers_need_at_least_one_missing_link(graph, seed, name):
    """An answer over all links that is none over the known ones has a missing link, under negation too."""
    known, whole = graph
    codes = drawn_queries(seed, N, RELATIONS, 6)[name]
    links = links_of(known, whole)
    costs, easy = (missing_links(STRUCTURES[name], codes, own) for own in (links, links.known()))
    hard = (costs < NO_ANSWER) & (easy == NO_ANSWER)
    assert (costs[hard] >= 1).all()


@given(split_graphs(N, RELATIONS), st.integers(0, 2**20))
def test_a_union_by_de_morgan_has_the_same_answers(graph, seed):
    """2u and up have the same answers in BetaE's other shape, which negates an intersection of negations."""
    links = links_of(*graph)
    for shape, name in WITHOUT_UNION.items():
        codes = drawn_queries(seed, N, RELATIONS, 6)[name]
        with_union, without = (missing_links(each, codes, links) for each in (STRUCTURES[name], shape))
        assert ((with_union < NO_ANSWER) == (without < NO_ANSWER)).all()


@given(split_graphs(N, RELATIONS), st.integers(0, 2**20), st.sampled_from(list(STRUCTURES)))
def test_blocks_and_parts_of_joins_change_nothing(graph, seed, name):
    """One query at a time, and joins of few pairs at a time, give the same."""
    links, codes = links_of(*graph), drawn_queries(seed, N, RELATIONS, 6)[name]
    whole = missing_links(STRUCTURES[name], codes, links)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CELLS", 1)
        patch.setattr(kernel, "_PAIRS", 2)
        blocks = list(each_block(STRUCTURES[name], codes, links))
    assert len(blocks) == len(codes)
    assert np.concatenate(blocks).tolist() == whole.tolist()


def test_a_link_that_is_known_and_held_out_is_known():
    """The fewest missing links count; 1p of one link that is there twice."""
    links = Links.of(np.array([0, 0]), np.array([1, 1], np.int32), np.array([True, False]), 2)
    assert missing_links(STRUCTURES["1p"], np.array([[0, 0]]), links).tolist() == [[NO_ANSWER, 0]]


def test_the_letters_of_every_structure():
    """As many anchors as branches, as many relations as links."""
    assert {name: (letters(shape).count("e"), letters(shape).count("r")) for name, shape in STRUCTURES.items()} == {
        "1p": (1, 1), "2p": (1, 2), "3p": (1, 3), "4p": (1, 4), "2i": (2, 2), "3i": (3, 3), "4i": (4, 4), "ip": (2, 3),
        "pi": (2, 3), "2u": (2, 2), "up": (2, 3), "2in": (2, 2), "3in": (3, 3), "inp": (2, 3), "pin": (2, 3),
        "pni": (2, 3),
    }  # fmt: skip
