"""Whether entities fit a side of a relation, against plain sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.triples import types
from kgtrec.kernels.triples.types import FITS, UNFIT, UNKNOWN_ENTITY, UNKNOWN_SLOT, fits_observed, fits_types

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=14)
asked = [(entity, slot) for entity in range(6) for slot in range(4)]
ASKED = np.array(asked).T


def columns(rows):
    return tuple(np.array(rows, np.int64).reshape(-1, 2).T)


@given(seen=pairs, share=st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_observed_types_are_what_their_definition_says(seen, share):
    """An entity fits a slot if it fills one that more than the share of those who fill the slot fill too."""
    filled = {slot: {e for e, s in seen if s == slot} for slot in range(4)}
    expected = []
    for entity, slot in asked:
        own = [s for s in range(4) if entity in filled[s]]
        fits = any(len(filled[s] & filled[slot]) > share * len(filled[slot]) for s in own)
        expected.append(UNKNOWN_ENTITY if not own else UNKNOWN_SLOT if not filled[slot] else FITS if fits else UNFIT)
    found = fits_observed(*ASKED, seen=columns(seen), shape=(6, 4), share=share)
    assert found.tolist() == expected


@given(seen=pairs, share=st.sampled_from([0.0, 0.3, 0.9]))
def test_whoever_fills_a_slot_fits_it(seen, share):
    """At every share below 1, so that no train triple is ever taken for a trivial one."""
    if seen:
        found = fits_observed(*columns(seen), seen=columns(seen), shape=(6, 4), share=share)
        assert set(found.tolist()) == {FITS}


@given(seen=pairs)
def test_a_larger_share_takes_more(seen):
    """Who does not fit at a small share does not at a larger one."""
    small, large = (fits_observed(*ASKED, seen=columns(seen), shape=(6, 4), share=s) for s in (0.1, 0.6))
    assert np.all(large[small == UNFIT] == UNFIT)


@given(
    of_entities=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 4))),
    of_slots=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4))),
)
def test_known_types_are_what_their_definition_says(of_entities, of_slots):
    """An entity fits if it has a type that is wanted; types that nobody has are not wanted."""
    had = {kind for _, kind in of_entities}
    expected = []
    for entity, slot in asked:
        own = {kind for e, kind in of_entities if e == entity}
        wanted = {kind for s, kind in of_slots if s == slot} & had
        expected.append(UNKNOWN_ENTITY if not own else UNKNOWN_SLOT if not wanted else FITS if own & wanted else UNFIT)
    found = fits_types(
        *ASKED,
        types_of_entities=columns(sorted(of_entities)),
        types_of_slots=columns(sorted(of_slots)),
        shape=(6, 4, 5),
    )
    assert found.tolist() == expected


def test_work_is_split_without_a_trace(monkeypatch):
    """Pairs are looked at so many at a time, and the answer is the same."""
    seen = columns([(0, 0), (1, 0), (1, 1), (2, 2), (3, 1)])
    whole = fits_observed(*ASKED, seen=seen, shape=(6, 4))
    monkeypatch.setattr(types, "_PAIRS_AT_A_TIME", 3)
    assert np.array_equal(fits_observed(*ASKED, seen=seen, shape=(6, 4)), whole)
