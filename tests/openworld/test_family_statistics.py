"""What is told of a family tree."""

from __future__ import annotations

import numpy as np

from kgtrec.openworld.family_tree import FamilyStatistics
from kgtrec.report.show import shown


def test_relations_and_lengths_of_lists_are_counted():
    """Two relations: of the second nobody asks anything; 3 of 4 questions have one answer, the other has three."""
    answers = np.array([[0, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    found = FamilyStatistics(1_234, 3, ("father_of", "wife_of"), np.array([3, 0]), answers)
    assert (
        shown(found, "table")
        == """\
1,234 people in 3 generations, 3 facts of 2 relations

relation   facts  head questions  answers each  most  tail questions  answers each  most
father_of      3               3          1.00     1               1          3.00     3
wife_of        0               0             -     0               0             -     0

answers  questions   share
      1          3  75.00%
      3          1  25.00%
"""
    )
