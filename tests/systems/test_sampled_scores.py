"""Files with OGB's y_pred_pos and y_pred_neg."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.systems.sampled_scores import read_sampled_scores

SCORES = {"y_pred_pos": np.array([0.5, 0.1], np.float32), "y_pred_neg": np.array([[0.9, 0.5], [0.0, 0.0]], np.float32)}


def test_archives_and_folders_hold_the_same(tmp_path):
    """Under the name of the file; also the numbers of candidates, as any type, and codes of samples."""
    arrays = {**SCORES, "n_candidates": np.array([7.0, 8.0]), "sample": np.array([3, 3])}
    np.savez(tmp_path / "mine.npz", **arrays)
    (tmp_path / "mine").mkdir()
    for name, values in arrays.items():
        np.save(tmp_path / "mine" / f"{name}.npy", values)
    for ranks in map(read_sampled_scores, (tmp_path / "mine.npz", tmp_path / "mine")):
        assert (ranks.name, ranks.above.tolist(), ranks.tied.tolist()) == ("mine", [1, 0], [1, 0])
        assert ranks.sample is not None
        assert (ranks.n_candidates.tolist(), ranks.sample.tolist()) == ([7, 8], [0, 0])


def test_folders_keep_their_whole_name(tmp_path, monkeypatch):
    """Also where it has a point, and where the path is a point."""
    (tmp_path / "transe.s1").mkdir()
    for name, values in SCORES.items():
        np.save(tmp_path / "transe.s1" / f"{name}.npy", values)
    monkeypatch.chdir(tmp_path / "transe.s1")
    for path in (tmp_path / "transe.s1", "."):
        assert read_sampled_scores(path, n_candidates=9).name == "transe.s1"


def test_two_numbers_of_candidates_must_be_equal(tmp_path):
    """Else both are named."""
    np.savez(tmp_path / "mine.npz", **SCORES, n_candidates=[1_000, 2_000])
    with pytest.raises(FormatError, match=r"mine.npz: .*1,000 \(--candidates-total, n_candidates=\) and 2,000 in the"):
        read_sampled_scores(tmp_path / "mine.npz", n_candidates=1_000)
    np.savez(tmp_path / "mine.npz", **SCORES, n_candidates=1_000)
    assert read_sampled_scores(tmp_path / "mine.npz", n_candidates=1_000).n_candidates.tolist() == [1_000, 1_000]


@pytest.mark.parametrize("name", ["one.ranks.parquet", "one.ranks"])
def test_answer_ranks_are_recognised(tmp_path, name):
    """By their names, and in a folder; with the way out."""
    (tmp_path / name).touch()
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(FormatError, match="found answer ranks; give --candidates"):
            read_sampled_scores(path, n_candidates=9)
    for array, values in SCORES.items():
        np.save(tmp_path / f"{array}.npy", values)
    assert len(read_sampled_scores(tmp_path, n_candidates=9)) == 2


def test_the_number_of_candidates_is_needed(tmp_path):
    """With the way out."""
    np.savez(tmp_path / "mine.npz", **SCORES)
    with pytest.raises(FormatError, match=r"mine.npz: .*--candidates-total"):
        read_sampled_scores(tmp_path / "mine.npz")


def test_a_lacking_array_is_named(tmp_path):
    """With those that there are."""
    np.savez(tmp_path / "mine.npz", y_pred_pos=[1.0])
    with pytest.raises(FormatError, match=r"y_pred_neg.*found y_pred_pos"):
        read_sampled_scores(tmp_path / "mine.npz", n_candidates=9)


def test_an_error_in_the_arrays_names_the_file(tmp_path):
    """Once."""
    np.savez(tmp_path / "mine.npz", y_pred_pos=[np.nan], y_pred_neg=[[1.0]])
    with pytest.raises(KgtrecError, match=r"^\S*mine.npz: expected numbers as scores, found NaN for answer 1$"):
        read_sampled_scores(tmp_path / "mine.npz", n_candidates=9)


def test_a_file_that_is_not_there(tmp_path):
    """The usual error."""
    with pytest.raises((FormatError, OSError), match=r"none\.npz"):
        read_sampled_scores(tmp_path / "none.npz", n_candidates=9)
