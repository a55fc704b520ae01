"""Counts within subsets, against the counts of each subset by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.ranking import subset_ranks
from kgtrec.kernels.ranking.pairs import Pairs
from kgtrec.kernels.ranking.subset_ranks import count_within_subsets


@pytest.mark.parametrize(("pairs", "cached"), [(256, 4 << 20), (2, 1)])
@given(seed=st.integers(0, 2**32), width=st.integers(1, 150), dtype=st.sampled_from(["f2", "f4", "f8", "i4", ">f4"]))
def test_equals_the_obvious_loop(pairs, cached, seed, width, dtype):
    """Any type, ties, infinities, entities set aside, several pairs a row, and any size of what is done at a time."""
    rng = np.random.default_rng(seed)
    n_rows, k = int(rng.integers(1, 5)), int(rng.integers(0, 5))
    values = np.array([-3, -1, 0, 2]) if dtype == "i4" else np.array([-np.inf, -1.5, -0.0, 0.0, np.inf])
    scores = rng.choice(values, (n_rows, width)).astype(dtype)
    placed = Pairs(*np.nonzero(rng.random((n_rows, width)) < 0.3))
    aside = rng.random((n_rows, width)) < 0.2
    members = rng.random((width, k)) < 0.6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subset_ranks, "_PAIRS_AT_A_TIME", pairs)
        patch.setattr(subset_ranks, "_CACHED_BYTES", cached)
        counts = count_within_subsets(scores, placed, Pairs(*np.nonzero(aside)), members)
    for pair, (r, e) in enumerate(zip(*placed, strict=True)):
        for subset in range(k):
            counted = members[:, subset] & ~aside[r]
            counted[e] = False
            assert counts["above"][pair, subset] == np.count_nonzero(scores[r, counted] > scores[r, e])
            assert counts["tied"][pair, subset] == np.count_nonzero(scores[r, counted] == scores[r, e])
            assert counts["n_other"][pair, subset] == np.count_nonzero(counted)
