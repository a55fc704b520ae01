from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.ranking.rank_column import off_place

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-2, 2)), max_size=14)


def arrays(drawn):
    question, rank, score = (np.array([row[i] for row in drawn]) for i in range(3))
    return question.astype(np.int32), rank.astype(float), score.astype(float)


@given(rows)
def test_a_row_is_off_if_its_place_by_rank_is_none_of_its_score(drawn):
    """Against a slow count; rows of one rank stand as their scores have it."""
    found = off_place(*arrays(drawn))
    expected = []
    for place, (question, rank, score) in enumerate(drawn):
        own = [(r, s, i) for i, (q, r, s) in enumerate(drawn) if q == question]
        by_rank = sorted(own, key=lambda row: (row[0], -row[1], row[2])).index((rank, score, place)) + 1
        best = 1 + sum(s > score for _, s, _ in own)
        if not best <= by_rank < best + sum(s == score for _, s, _ in own):
            expected.append((place, by_rank, best))
    assert list(zip(found.row.tolist(), found.by_rank.tolist(), found.by_score.tolist(), strict=True)) == expected


@given(rows, st.randoms(use_true_random=False))
def test_ranks_by_score_are_never_off(drawn, random):
    """In any order of lines, from any first rank, with gaps."""
    drawn = [(question, 0, score) for question, _, score in drawn]
    ordered = sorted(drawn, key=lambda row: -row[2])
    ranked = [(question, 3 + 2 * place, score) for place, (question, _, score) in enumerate(ordered)]
    random.shuffle(ranked)
    assert len(off_place(*arrays(ranked)).row) == 0
