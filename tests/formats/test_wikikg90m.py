"""The arrays of OGB's WikiKG90Mv2 as triples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.errors import FormatError
from kgtrec.formats.collections import read_collection
from kgtrec.formats.triples import find_splits, input_files, read_triples


def rows(path: Path) -> list[tuple[str, str, str]]:
    found = read_triples(path)
    codes = zip(found.head, found.relation, found.tail, strict=True)
    return [(found.entities[h], found.relations[r], found.entities[t]) for h, r, t in codes]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(0, 30)), min_size=1))
def test_both_layouts_give_the_same_triples(tmp_path_factory, triples):
    """Triples in one array, or heads and relations in one and tails in another; a label is a number."""
    folder = tmp_path_factory.mktemp("arrays")
    array = np.array(triples, np.int32)
    np.save(folder / "train_hrt.npy", array)
    np.save(folder / "val_hr.npy", array[:, :2])
    np.save(folder / "val_t.npy", array[:, 2])
    expected = [tuple(map(str, row)) for row in triples]
    assert rows(folder / "train_hrt.npy") == rows(folder / "val_hr.npy") == expected
    assert list(map(int, read_triples(folder / "val_hr.npy").entities)) == sorted({*array[:, 0], *array[:, 2]})
    assert [path.name for path in input_files(folder / "train_hrt.npy")] == ["train_hrt.npy"]
    assert [path.name for path in input_files(folder / "val_hr.npy")] == ["val_hr.npy", "val_t.npy"]


def test_validation_can_be_the_test(tmp_path: Path):
    """Test answers are not public, so that the folder alone is no data set."""
    np.save(tmp_path / "train_hrt.npy", np.array([[0, 0, 1], [1, 1, 2]]))
    np.save(tmp_path / "val_hr.npy", np.array([[0, 0]]))
    np.save(tmp_path / "val_t.npy", np.array([2]))
    np.save(tmp_path / "test-dev_hr.npy", np.array([[0, 0]]))
    with pytest.raises(FormatError, match=r"not public; .* train_hrt\.npy val_hr\.npy val_hr\.npy"):
        find_splits(tmp_path)
    with pytest.raises(FormatError, match=r"expected the tails in test-dev_t\.npy .*OGB keeps those of test to itself"):
        read_triples(tmp_path / "test-dev_hr.npy")
    files = [str(tmp_path / name) for name in ("train_hrt.npy", "val_hr.npy", "val_hr.npy")]
    main(["questions", *files, "--out", str(tmp_path / "C")])
    collection = read_collection(tmp_path / "C")
    assert (len(collection.qrels), list(collection.entities)) == (2, ["0", "1", "2"])


@pytest.mark.parametrize(
    ("hr", "t", "message"),
    [
        (np.zeros((2, 3), int), np.zeros(2, int), r"val_hr\.npy: expected numbers of shape \(triples, 2\), found"),
        (np.zeros((2, 2), int), np.zeros(3, int), r"val_t\.npy: expected 2 tails, .*, found \(3,\)"),
        (np.zeros((2, 2)), np.zeros(2, int), r"val_hr\.npy: expected whole numbers, found float64"),
        (np.zeros((2, 2), int), np.array([0, -1]), r"val_t\.npy: expected numbers from 0 on, found -1"),
        (np.array([[{}, {}]]), np.zeros(1, int), r"val_hr\.npy: expected a whole \.npy array of numbers, found other"),
    ],
)
def test_other_arrays_end_in_one_line(tmp_path: Path, hr, t, message: str):
    np.save(tmp_path / "val_hr.npy", hr, allow_pickle=True)
    np.save(tmp_path / "val_t.npy", t)
    with pytest.raises(FormatError, match=message) as told:
        read_triples(tmp_path / "val_hr.npy")
    assert "\n" not in str(told.value)
