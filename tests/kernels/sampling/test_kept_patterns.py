from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.kernels.sampling.kept_patterns import KeptPatterns
from kgtrec.kernels.sampling.subsamples import JudgedRows


def made(seed: int) -> tuple[JudgedRows, np.random.Generator]:
    rng = np.random.default_rng(seed)
    question = np.sort(rng.integers(0, 6, rng.integers(1, 20))).astype(np.int32)
    return JudgedRows(question, rng.integers(0, 3, len(question)).astype(np.int32), 6), rng


@given(st.integers(0, 10_000), st.integers(0, 8))
def test_a_case_keeps_what_the_subsample_keeps(seed, most):
    """The case of a question has exactly the answers that are left of it; questions without any have none."""
    rows, rng = made(seed)
    relevant = np.flatnonzero(rows.grade >= 1)
    kept = rng.random((3, len(relevant))) < 0.5
    patterns = KeptPatterns(rows, most)
    part, chosen = patterns.cases()
    found, counts = patterns.of(kept)
    assert patterns.n_cases == KeptPatterns.count(rows, most) == part.rows.n_questions
    few = [q for q in range(6) if 1 <= np.count_nonzero(rows.question[relevant] == q) <= most]
    for mask, cases in zip(kept, np.split(found, np.cumsum(counts)[:-1]), strict=True):
        left = [q for q in few if np.any(mask & (rows.question[relevant] == q))]
        assert part.questions[cases].tolist() == left
        for q, case in zip(left, cases, strict=True):
            own = part.row[(part.rows.question == case) & chosen]
            assert own.tolist() == relevant[mask & (rows.question[relevant] == q)].tolist()


@given(st.integers(0, 10_000), st.integers(0, 8))
def test_other_questions_have_more_answers(seed, most):
    """Every question with an answer is of one kind or the other, and so is every answer."""
    rows, _ = made(seed)
    part, answers = KeptPatterns(rows, most).others()
    size = rows.num_relevant
    assert part.questions.tolist() == [q for q in range(6) if size[q] > most]
    relevant = np.flatnonzero(rows.grade >= 1)
    assert relevant[answers].tolist() == part.row[part.rows.grade >= 1].tolist()


@given(st.integers(0, 10_000))
def test_cases_of_a_question_are_all_different(seed):
    """Judged wrong rows come along with each; no two keep the same answers, and none keeps nothing."""
    rows, _ = made(seed)
    part, chosen = KeptPatterns(rows, 8).cases()
    seen = set()
    for case, question in enumerate(part.questions.tolist()):
        own = part.rows.question == case
        assert np.array_equal(part.row[own], np.flatnonzero(rows.question == question))
        assert not np.any(chosen[own] & (part.rows.grade[own] < 1))
        seen.add((question, tuple(part.row[own & chosen].tolist())))
    assert len(seen) == len(part.questions)
    assert all(kept for _, kept in seen)
