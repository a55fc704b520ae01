"""Files of alignments, vectors and similarities."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from kgtrec.data.alignments import EntityVectors
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.alignment import read_alignment_system, read_pairs


def test_archive_folder_and_matrix(tmp_path):
    """The three forms of a system hold what was saved; only an archive tells the test rows."""
    left, right = np.arange(6.0).reshape(3, 2), np.ones((4, 2), np.float16)
    np.savez(tmp_path / "a.npz", left=left, right=right, is_test=np.array([True, False, True]))
    (tmp_path / "b").mkdir()
    np.save(tmp_path / "b" / "left.npy", left)
    np.save(tmp_path / "b" / "right.npy", right)
    np.save(tmp_path / "c.npy", np.zeros((3, 4), np.float32))
    systems = [read_alignment_system(tmp_path / name) for name in ("a.npz", "b", "c.npy")]
    assert [system.shape for system in systems] == [(3, 4)] * 3
    for system in systems[:2]:
        assert isinstance(system.scores, EntityVectors)
        assert np.array_equal(system.scores.left, left)
        assert np.array_equal(system.scores.right, right)
    assert systems[0].is_test.tolist() == [True, False, True]
    assert systems[1].is_test is systems[2].is_test is None
    assert isinstance(systems[2].scores, np.memmap), "a matrix is not read"


def test_pairs_by_label_and_by_row(tmp_path):
    """Labels are opaque, and compressed files and blank lines are fine."""
    left, right = Vocabulary.of(["NA", "007"]), Vocabulary.of(["x y", '"', "0"])
    path = tmp_path / "test.tsv.gz"
    path.write_bytes(gzip.compress(b'007\t0\n\nNA\t"\n007\tx y\n'))
    assert read_pairs(path, left, right).tolist() == [[1, 2], [0, 1], [1, 0]]
    (tmp_path / "rows.tsv").write_text("1\t2\n0\t0\n")
    assert read_pairs(tmp_path / "rows.tsv", 2, 3).tolist() == [[1, 2], [0, 0]]


def saved(path, **arrays):
    np.savez(path, **arrays)


WRONG = {
    "absent": ("a.npz", lambda path: None, "a.npz: no such file"),
    "damaged": ("a.npz", lambda path: path.write_bytes(b"PK\3\4 not really"), "expected a whole .npz archive"),
    "names": ("a.npz", lambda path: saved(path, E=np.ones(3)), "expected the arrays left and right (and is_test"),
    "lengths": ("a.npz", lambda path: saved(path, left=np.ones((2, 3)), right=np.ones((2, 4))), "3 and 4 numbers"),
    "nan": ("a.npz", lambda path: saved(path, left=np.full((2, 3), np.nan), right=np.ones((2, 3))), "nan in row 0"),
    "axis": ("a.npy", lambda path: np.save(path, np.ones(3)), "a.npy: expected a .npy matrix, found an array of shape"),
    "cut": ("a.npy", lambda path: path.write_bytes(b"\x93NUMPY"), "a.npy: expected a whole .npy matrix of numbers"),
    "half a folder": (
        "a",
        lambda path: path.mkdir() or np.save(path / "left.npy", np.ones((2, 3))),
        "right.npy: no su",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_systems(tmp_path, case):
    """The message names the file, what was expected and what was found."""
    name, make, message = WRONG[case]
    make(tmp_path / name)
    with pytest.raises(FormatError) as raised:
        read_alignment_system(tmp_path / name)
    assert message in str(raised.value)
