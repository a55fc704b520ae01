"""One reading of sizes, whoever asks: subsamples, drawn test alignments, samples of test triples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.alignment.by_size import study_alignment
from kgtrec.collection.questions import build_questions
from kgtrec.data.alignments import Alignments
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, count_of
from kgtrec.meta.stability import subsample

N = 8
TRAIN = Triples.of([("a", "r", "b")])
TEST = Triples.of([(f"h{row}", "r", f"t{row}") for row in range(N)])


def of_subsample(size: object) -> int:
    """Test triples of a subsample of stability."""
    collection = build_questions(TRAIN, Triples.of([]), TEST)
    return len(subsample(collection, size)) // 2


def of_alignments(size: object) -> int:
    """Test alignments of a set that study_alignment draws."""
    alignments = Alignments.of([(row, row) for row in range(N)])
    return int(study_alignment(np.eye(N), alignments, [size], repeats=1, measures="micro.MR").size[0])


def of_questions(size: object) -> int:
    """Test triples of a sample that questions are built of."""
    return len(build_questions(TRAIN, Triples.of([]), TEST, sample=size).qrels) // 2


CALLERS = (of_subsample, of_alignments, of_questions)


@pytest.mark.parametrize("counted", CALLERS)
@pytest.mark.parametrize(
    ("size", "count"), [(1, 1), (N, N), (np.int32(3), 3), (0.5, 4), (np.float64(0.25), 2), (1e-9, 1), (0.99, N)]
)
def test_a_number_is_itself_and_a_share_the_nearest_number(counted, size, count):
    assert counted(size) == count


@pytest.mark.parametrize("counted", CALLERS)
@pytest.mark.parametrize("size", [0, N + 1, -1, 0.0, 1.5, -0.5, float("nan"), True, "5", None, [1]])
def test_what_is_no_size_is_refused(counted, size):
    """Of a sample of questions, None is none: all test triples."""
    if counted is of_questions and size is None:
        assert counted(size) == N
        return
    if counted is of_questions and size == "5":  # a file of triples
        with pytest.raises(KgtrecError, match="5: no such file"):
            counted(size)
        return
    with pytest.raises(KgtrecError) as caught:
        counted(size)
    assert f"of 1 to {N} test " in str(caught.value)
    assert str(caught.value).endswith(f"found {size!r}")


def test_all_of_them_is_no_share_that_a_sample_can_have():
    """1.0 and 1 look alike, and all test triples are no sample; a subsample of all is the full set."""
    assert of_subsample(1.0) == of_alignments(1.0) == N
    with pytest.raises(KgtrecError) as caught:
        of_questions(1.0)
    assert str(caught.value) == (
        f"expected a sample of 1 to {N} test triples, or of a share of them above 0 and below 1.0, found 1.0"
    )


@given(st.integers(1, 10**6), st.floats(0, 1, exclude_min=True))
def test_a_share_is_less_than_one_triple_off(n, share):
    """At least one, at most all, and within half a triple of the share, or the one that there must be."""
    count = count_of(share, n)
    assert 1 <= count <= n
    assert abs(count - share * n) <= 0.5 or count == 1
