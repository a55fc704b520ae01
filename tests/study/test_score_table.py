from __future__ import annotations

import numpy as np

from kgtrec.data.scores import Scores
from kgtrec.study.report import score_table
from tests.report.sample import SYSTEMS, sample_scores


def test_the_best_system_of_the_first_measure_is_on_top_and_the_undefined_last():
    """micro.MRR is better high."""
    table = score_table(sample_scores())
    assert table.data["system"].to_pylist() == [SYSTEMS[place] for place in (3, 1, 0, 2, 4, 5)]


def test_a_rank_is_better_low_and_has_two_decimals():
    """Direction and decimals come from the measure's record."""
    column = score_table(sample_scores()).columns[2]
    assert (column.name, column.better, column.digits) == ("micro.MR", "lower", 2)
    only_ranks = Scores(("a", "b"), ("micro.MR",), np.array([[[9.0]], [[3.0]]]))
    assert score_table(only_ranks).data["system"].to_pylist() == ["b", "a"]


def test_letters_follow_each_measures_own_order():
    """Of three systems the outer two differ: the best has a, the worst b, the middle one both."""
    scores = Scores(("x", "y", "z"), ("RR",), np.array([[[0.1]], [[0.3]], [[0.2]]]))
    differ = np.zeros((3, 3), np.bool_)
    differ[0, 1] = differ[1, 0] = True
    data = score_table(scores, {"RR": differ}).data.to_pydict()
    assert dict(zip(data["system"], data["RR groups"], strict=True)) == {"y": "a", "z": "ab", "x": "b"}
