"""Which opened questions of a designed sample are done."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.campaign.sampled import opened_and_done
from kgtrec.data.design import Design
from kgtrec.data.judgements import AGREED, OPEN, UNDECIDABLE, Decisions
from kgtrec.data.vocabulary import Vocabulary

IDS = Vocabulary.of([f"tail{row}" for row in range(50)])


@pytest.mark.parametrize("n_done", [0, 1, 5, 20])
def test_questions_of_which_nothing_was_drawn_are_done_as_fast_as_the_others(n_done):
    """40 opened questions of a triple each, 20 of them drawn, of which some are decided, and 10 that are not opened."""
    row = np.arange(50, dtype=np.int32)
    drawn = row < 20
    design = Design(row, row, np.full(50, 0.8), np.full(50, 0.4), row < 40, drawn)
    state = np.where(row < n_done, AGREED, OPEN).astype(np.int8)
    done = opened_and_done(IDS, design, Decisions(state, np.where(row < n_done, 1, -1).astype(np.int8)))
    assert np.flatnonzero(done & drawn).tolist() == [*range(n_done)]
    assert (done & ~drawn).sum() == n_done
    assert not done[40:].any()


def test_a_question_is_done_when_all_its_drawn_triples_are():
    """Undecidable is done, open is not; what was not drawn does not count; without any draw all are done."""
    question, row = np.array([0, 0, 0, 1, 1], np.int32), np.arange(5, dtype=np.int32)
    is_so, drawn = np.ones(5, bool), np.array([True, True, False, True, True])
    state = np.array([AGREED, UNDECIDABLE, OPEN, AGREED, OPEN], np.int8)
    decisions = Decisions(state, np.array([1, -1, -1, 0, -1], np.int8))
    done = opened_and_done(IDS, Design(question, row, is_so / 1, is_so / 2, is_so, drawn), decisions)
    assert done.tolist() == [True] * 3 + [False] * 2
    assert opened_and_done(IDS, Design(question, row, is_so / 1, is_so / 2, is_so, ~is_so), decisions).all()
