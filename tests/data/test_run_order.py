"""A run's order: trec_eval's, however the rows came."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.run import Run, repeated_row
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

LABELS = ["b", "a", "é", "Z", "aa", "日"]
rows_with_ties = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.sampled_from([-np.inf, 0.0, -0.0, 1.0, 2.5])),
    min_size=1,
    max_size=20,
    unique_by=lambda row: row[:2],
)


def run_of(rows) -> Run:
    question, entity, score = zip(*rows, strict=True)
    codes = np.array([question, entity], np.int32)
    return Run.of("s", *codes, np.array(score), Vocabulary.of(["q0", "q1", "q2", "q3"]), Vocabulary.of(LABELS))


@given(rows_with_ties, st.sampled_from(["as they come", "by question", "by question and score", "in order"]))
@settings(max_examples=4 * settings.default.max_examples)
def test_rows_of_any_order_become_the_one_order(rows, how):
    """Question, then score descending, then label bytes descending; also where only ties are out of order."""
    ordered = sorted(rows, key=lambda row: LABELS[row[1]].encode(), reverse=True)
    ordered.sort(key=lambda row: (row[0], -row[2]))
    given_rows = {
        "as they come": rows,
        "by question": sorted(rows, key=lambda row: row[0]),
        "by question and score": sorted(rows, key=lambda row: (row[0], -row[2])),
        "in order": ordered,
    }[how]
    run = run_of(given_rows)
    found = list(zip(run.question.tolist(), run.entity.tolist(), run.score.tolist(), strict=True))
    assert found == ordered
    assert [str(row[2]) for row in found] == [str(row[2]) for row in ordered] or how != "in order"  # -0.0 stays


@given(rows_with_ties, st.data())
def test_a_repeated_pair_is_found_wherever_it_stands(rows, data):
    """And named; a run without one passes."""
    assert repeated_row(*(np.array([row[i] for row in sorted(rows)], np.int32) for i in (0, 1)), len(LABELS)) is None
    again = data.draw(st.sampled_from(rows))
    place = data.draw(st.integers(0, len(rows)))
    with pytest.raises(KgtrecError, match=rf"found \(q{again[0]}, {LABELS[again[1]]}\) more than once"):
        run_of([*rows[:place], (*again[:2], 7.0), *rows[place:]])
