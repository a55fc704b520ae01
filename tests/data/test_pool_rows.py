"""Where a triple stands in a pool."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.judged_pools import pool_of


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.data())
def test_a_triple_is_found_exactly_where_it_is(sizes, data):
    """Against a dictionary; -1 as a code is no label, and never found."""
    pool = pool_of(sizes, data.draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes))))
    own = pool.triples
    row_of = {key: row for row, key in enumerate(zip(own.head, own.relation, own.tail, strict=True))}
    code, relation = (st.integers(-1, len(labels) - 1) for labels in (own.entities, own.relations))
    asked = data.draw(st.lists(st.tuples(code, relation, code))) + list(row_of)
    columns = np.array(asked, np.int32).reshape(-1, 3).T
    assert pool.rows(*columns).tolist() == [row_of.get(key, -1) for key in asked]
