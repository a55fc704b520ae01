from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.ranking.positions import places_in_tied_groups
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.kernels.sampling.subsamples import JudgedRows, ListedRows, MicroRanks, drawn, sample_of, subsample_means
from tests.examples import examples

HASHES = hashed(9, np.arange(400, dtype=np.uint64))


def test_every_thing_is_drawn_equally_often():
    """5,000 subsets of 100 of 400: counts within five standard errors of 1,250, and pairs no likelier than chance."""
    subsets = np.array([drawn(HASHES, 100, 1, repeat) for repeat in range(5_000)])
    assert np.all(subsets.sum(axis=1) == 100)
    assert np.abs(subsets.sum(axis=0) - 1250).max() < 5 * np.sqrt(5_000 * 0.25 * 0.75)
    together = (subsets[:, 0::2] & subsets[:, 1::2]).sum(axis=0)
    chance = 100 * 99 / (400 * 399)
    assert np.abs(together - 5_000 * chance).max() < 5 * np.sqrt(5_000 * chance)


def test_seed_size_and_repeat_each_matter():
    """Another of any of them is another subset; sizes are not nested."""
    first = drawn(HASHES, 100, 1, 0)
    assert all(not np.array_equal(first, drawn(HASHES, *other)) for other in ((100, 2, 0), (100, 1, 1)))
    assert not np.all(drawn(HASHES, 200, 1, 0)[first])
    assert np.all(drawn(HASHES, 400, 1, 0))


@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 1000))
def test_means_are_those_of_the_kept_rows(n_samples, n, seed):
    """To the last digits, and no row depends on the others."""
    rng = np.random.default_rng(seed)
    kept = rng.random((n_samples, n)) < 0.5
    kept[:, rng.integers(n)] = True
    value = rng.normal(size=(n, 3))
    means = subsample_means(kept, value)
    expected = [[np.mean(column[mask]) for column in value.T] for mask in kept]
    np.testing.assert_allclose(means, expected, rtol=1e-12, atol=1e-14)
    assert np.array_equal(subsample_means(kept[-1:], value)[0], means[-1])


def listed(*, removes: bool = False) -> tuple[JudgedRows, ListedRows]:
    """One question, a list of six: a at 1, b and c tied with an unjudged candidate at 2 to 4, w (judged wrong) at 6."""
    rows = JudgedRows(np.zeros(4, np.int32), np.array([1, 1, 1, 0], np.int32), 1)
    first, size = np.array([1, 2, 2, 6]), np.array([1, 3, 3, 1])
    position = np.array([1.0, 2.5, 3.5, 6.0])  # b has the higher label
    label_order = np.array([0, 2, 1, 3], np.int32)
    removable = np.full(4, removes)
    return rows, ListedRows(
        rows, np.arange(4), first, size, position, label_order, np.array([6]), "realistic", removable=removable
    )


def places(kept: list[bool], *, removes: bool) -> list[float]:
    rows, system = listed(removes=removes)
    sample = sample_of(rows, np.array([*kept, True]))
    ranking = system.ranking(sample)
    return [*ranking.position.tolist(), float(ranking.num_retrieved[0])]


@pytest.mark.parametrize(
    ("kept", "removes", "expected"),
    [
        ([True, True, True], False, [1, 2.5, 3.5, 6, 6]),
        ([False, True, True], False, [2.5, 3.5, 6, 6]),
        ([True, False, True], False, [1, 3, 6, 6]),  # alone of its kind among three that tie: their middle
        ([True, False, True], True, [1, 2.5, 5, 5]),
        ([False, False, True], True, [1.5, 4, 4]),
        ([False, True, True], True, [1.5, 2.5, 5, 5]),
    ],
)
def test_places_by_hand(kept, removes, expected):
    """Discarded answers stay as candidates, or the list closes over them; the last number is its length."""
    assert places(kept, removes=removes) == expected


@settings(max_examples=examples(30))
@given(st.integers(0, 10_000), st.sampled_from([0, 0.5, 1]))
def test_parts_and_stacks_of_lists_stand_as_the_whole_does(seed, share):
    """Questions taken out, named twice and stacked with another system's: the same places."""
    rng = np.random.default_rng(seed)
    question = np.sort(np.append(np.arange(4), rng.integers(0, 4, 12))).astype(np.int32)
    rows = JudgedRows(question, rng.integers(0, 3, 16).astype(np.int32), 4)
    systems = []
    for _ in range(2):
        row = np.sort(rng.permutation(16)[:11])
        first = rng.integers(1, 4, 11) * 20
        size, labels = np.full(11, 20), rng.permutation(11).astype(np.int32)
        place = places_in_tied_groups(question[row], first, size, rows.grade[row], labels, "realistic")
        lengths = np.full(4, 90)
        removable = rng.random(11) < share
        systems.append(ListedRows(rows, row, first, size, place, labels, lengths, "realistic", removable=removable))
    asked = np.array([2, 0, 2])
    part = rows.part(asked)
    chosen = np.where(rows.grade >= 1, rng.random(16) < 0.7, False)
    chosen[np.flatnonzero(rows.grade >= 1)[:1]] = True
    of_part = sample_of(part.rows, chosen[part.row])
    stacked = ListedRows.stacked([system.part(part) for system in systems]).ranking(of_part.copies(2))
    sample = sample_of(rows, chosen)
    left = [int(q) for q in asked if q in sample.questions]
    assert (stacked.n_questions, len(of_part.questions)) == (2 * len(left), len(left))
    for copy, system in enumerate(systems):
        whole = system.ranking(sample)
        for place, q in enumerate(left):
            number = copy * len(left) + place
            ours, theirs = stacked.question == number, whole.question == sample.number[q]
            assert np.array_equal(stacked.position[ours], whole.position[theirs])
            assert np.array_equal(stacked.grade[ours], whole.grade[theirs])
            assert stacked.num_retrieved[number] == whole.num_retrieved[sample.number[q]]
            judged = stacked.judged_grade[stacked.judged_question == number]
            assert np.array_equal(judged, whole.judged_grade[whole.judged_question == sample.number[q]])


def test_discarded_answers_come_back():
    """For c: a scores higher and b the same; for a nobody does."""
    rows, system = listed()
    only_a, only_c = ([True, False, False, False], [False, False, True, False])
    assert [count.tolist() for count in system.come_back(sample_of(rows, np.array(only_a)))] == [[0], [0], [2]]
    assert [count.tolist() for count in system.come_back(sample_of(rows, np.array(only_c)))] == [[1], [1], [2]]


@pytest.mark.parametrize(("ties", "rank"), [("optimistic", 4), ("realistic", 5), ("pessimistic", 6), (None, 5)])
def test_more_candidates_push_ranks_down(ties, rank):
    """Ranked 3 of 10 without ties; one more above, and two that tie."""
    three = MicroRanks(np.array([3.0]), np.array([10]), np.array([3]), np.array([3]))
    above = np.array([1]) if ties else np.array([2])
    found = three.among(above, np.array([2]), np.array([4]), ties)
    assert (found.rank.tolist(), found.candidates.tolist()) == ([rank], [14])


@settings(max_examples=examples(30))
@given(st.integers(0, 10_000))
def test_a_question_without_answers_is_gone(seed):
    """Questions are numbered anew, and keep what was judged wrong as long as they stay."""
    rng = np.random.default_rng(seed)
    question = np.sort(rng.integers(0, 5, 12)).astype(np.int32)
    rows = JudgedRows(question, rng.integers(0, 3, 12).astype(np.int32), 5)
    chosen = rng.random(12) < 0.4
    sample = sample_of(rows, chosen)
    left = sorted({int(q) for q, g, c in zip(question, rows.grade, chosen, strict=True) if g >= 1 and c})
    assert sample.questions.tolist() == left
    expected = [
        (left.index(int(q)), int(g))
        for q, g, c in zip(question, rows.grade, chosen, strict=True)
        if int(q) in left and (c or g < 1)
    ]
    assert list(zip(sample.judged_question.tolist(), sample.judged_grade.tolist(), strict=True)) == expected
