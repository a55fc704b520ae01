"""torch's counts and lists against those of the numpy kernels, on the processor and on a GPU wherever there is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.kernels.ranking import on_device
from kgtrec.kernels.ranking.answer_ranks import ScoreError, count_above_and_tied
from kgtrec.kernels.ranking.on_device import DeviceRanker, extremes, is_rankable_tensor, stays_on_device
from kgtrec.kernels.ranking.pairs import Pairs
from kgtrec.kernels.ranking.top_k import top_k

torch = pytest.importorskip("torch", reason="torch is not installed; pip install kgtrec[peers]")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
DTYPES = ("bfloat16", "float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool")
NONE, FIRST, SECOND, THIRD = (Pairs(np.zeros(len(e), np.intp), np.array(e, np.intp)) for e in ([], [0], [1], [2]))


def as_array(tensor):
    """What numpy can hold of a tensor; float32 holds every bfloat16."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).cpu().numpy()


def extreme_values(dtype):
    """Some values of a type, the largest and smallest that are allowed among them, and close ones."""
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        bound = torch.iinfo(dtype)
        return torch.tensor([0, 1, 2, max(bound.min, -(2**53)), min(bound.max, 2**53), min(bound.max, 2**53) - 1])
    bound = torch.finfo(dtype)
    values = [0.0, -0.0, 1.0, 1 + bound.eps, -1.5, -np.inf, bound.max, bound.min, bound.smallest_normal]
    return torch.tensor([*values, bound.smallest_normal / 2, -bound.smallest_normal / 2], dtype=torch.float64)


@st.composite
def blocks(draw):
    """A block with many ties and extreme scores, columns in any order, pairs placed, set aside and left out."""
    n_rows, n_entities = draw(st.integers(0, 5)), draw(st.integers(1, 40))
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    seed = draw(st.integers(0, 2**32))
    rng, values = np.random.default_rng(seed), extreme_values(dtype)
    column = None
    n_columns = n_entities
    if draw(st.booleans()):
        n_columns += draw(st.integers(0, 3))
        column = rng.permutation(n_columns)[:n_entities]
    chosen = rng.choice(rng.permutation(len(values))[: draw(st.integers(1, len(values)))], (n_rows, n_columns))
    scores = values[torch.from_numpy(chosen)].to(dtype)
    if draw(st.booleans()):
        scores = scores.t().contiguous().t()
    flags = [rng.random((n_rows, n_entities)) < draw(st.sampled_from([0.0, 0.05, 0.3, 1.0])) for _ in range(3)]
    pairs, aside, left_out = (Pairs(*np.nonzero(flag)) for flag in flags)
    return scores, column, pairs, aside, left_out, rng.permutation(n_entities).astype(np.int32)


@pytest.mark.parametrize("device", DEVICES)
@settings(max_examples=8 * settings.default.max_examples, deadline=None)
@given(
    block=blocks(), k=st.integers(0, 45), most=st.sampled_from([1, 60, 1 << 25]), sort_from=st.sampled_from([1, 3, 256])
)
def test_integers_and_scores_equal_those_of_numpy(device, block, k, most, sort_from):
    """Any type, ties, infinities, zeros of both signs, column order and memory layout; in pieces or whole."""
    scores, column, pairs, aside, left_out, tie_order = block
    array = as_array(scores) if column is None else as_array(scores)[:, column]
    array = array.view(np.uint8) if array.dtype == bool else array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_device, "_MOST_SCORES", most)
        patch.setattr(on_device, "_SORT_FROM", sort_from)
        ranker = DeviceRanker(len(tie_order), column, tie_order)
        counts, best = ranker.rank(scores.to(device), pairs, aside, k, left_out)
    expected = count_above_and_tied(array, pairs, aside)
    for field in ("above", "tied", "n_other"):
        assert getattr(counts, field).dtype == np.int32
        assert getattr(counts, field).tolist() == getattr(expected, field).tolist()
    assert same_numbers(counts.score, expected.score)
    if k == 0:
        assert best is None
        return
    listed = top_k(array, k, left_out, tie_order)
    assert best.row.tolist() == listed.row.tolist()
    assert best.entity.tolist() == listed.entity.tolist()
    assert same_numbers(best.score, listed.score)


def same_numbers(found, expected):
    """Whether float64 holds both alike, the sign of zero included."""
    return found.astype(np.float64).tobytes() == expected.astype(np.float64).tobytes()


@pytest.mark.parametrize("device", DEVICES)
def test_four_candidates_by_hand(device):
    """Scores 4 3 2 2 1, the first set aside: the 2 in the third column has one above, one tied, of three others."""
    scores = torch.tensor([[4.0, 3, 2, 2, 1]], device=device, requires_grad=True)
    ranker = DeviceRanker(5, tie_order=np.arange(5, dtype=np.int32))
    counts, best = ranker.rank(scores, THIRD, FIRST, 3, SECOND)
    assert (counts.above[0], counts.tied[0], counts.n_other[0], counts.score[0]) == (1, 1, 3, 2)
    assert best.entity.tolist() == [0, 3, 2], "of equal scores the later in tie order comes first"
    assert best.score.tolist() == [4, 2, 2]


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_is_left_as_it_was(device):
    """What is set aside is marked in a copy."""
    scores = torch.arange(6.0, device=device).view(2, 3)
    DeviceRanker(3, tie_order=np.arange(3, dtype=np.int32)).rank(scores, FIRST, FIRST, 2, FIRST)
    assert scores.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_the_first_nan_or_infinity_is_named_as_by_numpy(device, dtype, wrong, monkeypatch):
    """By the entity, not the column; also where no pair stands; one in a column that is left out is none."""
    scores = torch.zeros((50, 9), dtype=getattr(torch, dtype), device=device)
    scores[:, 8] = scores[33, 4] = scores[33, 6] = scores[40, 0] = wrong
    column = np.arange(8)[::-1].copy()
    with pytest.raises(ScoreError) as expected:
        count_above_and_tied(as_array(scores)[:, column], NONE, NONE)
    for most in (1, 1 << 25):
        monkeypatch.setattr(on_device, "_MOST_SCORES", most)
        with pytest.raises(ScoreError) as found:
            DeviceRanker(8, column).rank(scores, NONE, NONE, 0, NONE)
        assert (found.value.row, found.value.entity) == (expected.value.row, expected.value.entity) == (33, 1)
        assert str(found.value) == str(expected.value)


def test_what_stays_on_its_device():
    """Dense tensors of real numbers that are not in the processor's memory; there numpy reads them."""
    real, meta = torch.zeros((2, 2)), torch.zeros((2, 2), device="meta")
    assert is_rankable_tensor(real)
    assert not is_rankable_tensor(real.to(torch.complex64))
    assert not is_rankable_tensor(real.to_sparse())
    assert not is_rankable_tensor(real.numpy())
    assert [stays_on_device(scores) for scores in (real, meta, real.numpy())] == [False, False, False]
    if "cuda" in DEVICES:
        assert stays_on_device(real.cuda())
        assert not stays_on_device(real.cuda().to(torch.complex64))


def test_extremes_are_those_of_64_bit_integers():
    """The largest, then the smallest; other types cannot leave the range that is asked about."""
    assert extremes(torch.tensor([[3, -(2**60)], [5, 0]])) == (5, -(2**60))
    assert extremes(torch.zeros((0, 3), dtype=torch.int64)) == (0, 0)
    assert extremes(torch.tensor([3.0])) == (0, 0)


def test_pieces_fit_the_memory_that_is_free(monkeypatch):
    """Half of what the device has free, and of what torch holds there without using it; never none."""

    class Elsewhere:
        device = torch.device("cuda")

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1000 * on_device._BYTES_PER_SCORE, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 3000 * on_device._BYTES_PER_SCORE)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2000 * on_device._BYTES_PER_SCORE)
    assert on_device._most_scores(Elsewhere()) == 1000
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (0, 0))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 2000 * on_device._BYTES_PER_SCORE)
    assert on_device._most_scores(Elsewhere()) == 1
