"""What is told of a family tree."""

from __future__ import annotations

import numpy as np

from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.openworld.family_tree import FamilyTree, family_statistics
from kgtrec.report.show import shown


def test_relations_and_lengths_of_lists_are_counted():
    """Two relations: of the second nobody asks anything; 3 of 4 questions have one answer, the other has three."""
    people, relations = (
        Vocabulary.of([f"p{number}" for number in range(1_234)]),
        Vocabulary.of(["father_of", "wife_of"]),
    )
    facts = Triples(np.zeros(3, np.int32), np.zeros(3, np.int32), np.arange(1, 4, dtype=np.int32), people, relations)
    nobody = np.full(1_234, -1, np.int32)
    tree = FamilyTree(facts, np.arange(1_234, dtype=np.int32) % 3, nobody > 0, nobody, nobody, nobody)
    assert (
        shown(family_statistics(tree), "table")
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
