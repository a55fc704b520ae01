"""The area under the curve and the best threshold: pairs one by one, and scikit-learn as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef, roc_auc_score

from kgtrec.kernels.statistics.discrimination import best_threshold, weighted_auc

ITEMS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=12)


@given(ITEMS)
def test_the_area_is_the_share_of_pairs_in_the_right_order(items):
    """Each pair of a true and a false item counts with the product of their weights, a tie half."""
    p, y, w = np.array(items, float).T
    pairs = [
        (w[i] * w[j], (p[i] > p[j]) + 0.5 * (p[i] == p[j])) for i in np.flatnonzero(y) for j in np.flatnonzero(1 - y)
    ]
    total = sum(weight for weight, _ in pairs)
    area = weighted_auc(p, y, w)
    if total == 0:
        assert np.isnan(area)
    else:
        assert area == pytest.approx(sum(weight * right for weight, right in pairs) / total)


def test_as_scikit_learn():
    """With weights and ties; and no threshold has a higher correlation."""
    rng = np.random.default_rng(0)
    p, y, w = rng.integers(0, 30, 200) / 30, rng.integers(0, 2, 200).astype(float), rng.uniform(0, 2, 200)
    assert weighted_auc(p, y, w) == pytest.approx(roc_auc_score(y, p, sample_weight=w))
    found = matthews_corrcoef(y, p >= best_threshold(p, y, w), sample_weight=w)
    assert found == pytest.approx(max(matthews_corrcoef(y, p >= t, sample_weight=w) for t in np.unique(p)))


def test_labels_of_one_kind():
    """Have an area that is undefined, and some threshold."""
    p, y = np.array([0.2, 0.7]), np.ones(2)
    assert np.isnan(weighted_auc(p, y, np.ones(2)))
    assert best_threshold(p, y, np.ones(2)) in p
