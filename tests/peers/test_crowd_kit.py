"""crowd-kit: its Dawid-Skene, which has no priors and a full confusion matrix, finds what ours does without priors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from kgtrec.kernels.statistics.dawid_skene import dawid_skene
from tests.kernels.statistics.test_dawid_skene import world

aggregation = pytest.importorskip(
    "crowdkit.aggregation", reason="crowd-kit is not installed; pip install kgtrec[peers]"
)
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", range(4))
def test_same_probabilities_and_rates_without_priors(seed):
    """With two classes both begin with the share of yes; a prior of 1e-9 verdicts is none.

    On 1,000 items; with few, the maximum without priors is at rates of 0 or 1, which both only creep towards.
    """
    rates = ((0.95, 0.9), (0.8, 0.7), (0.7, 0.95), (0.85, 0.8))
    _, item, annotator, verdict = world(seed, 1_000, rates)
    ours = dawid_skene(item, annotator, verdict, 1_000, 4, prior=(1e-9, 1e-9))
    data = pd.DataFrame({"task": item, "worker": annotator, "label": verdict.astype(int)})
    theirs = aggregation.DawidSkene(n_iter=1_000, tol=1e-12).fit(data)
    judged = np.unique(item)
    assert theirs.probas_[1].loc[judged].to_numpy() == pytest.approx(ours.probability[judged], abs=1e-3)
    errors = theirs.errors_.unstack("label")
    assert errors[1][1].loc[range(4)].to_numpy() == pytest.approx(ours.sensitivity, abs=1e-3)
    assert errors[0][0].loc[range(4)].to_numpy() == pytest.approx(ours.specificity, abs=1e-3)
