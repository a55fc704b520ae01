"""Files with OGB's y_pred_pos and y_pred_neg."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.systems.sampled_scores import read_sampled_scores

SCORES = {"y_pred_pos": np.array([0.5, 0.1], np.float32), "y_pred_neg": np.array([[0.9, 0.5], [0.0, 0.0]], np.float32)}


def test_archives_and_folders_hold_the_same(tmp_path):
    """Under the name of the file; an archive may hold more."""
    np.savez(tmp_path / "mine.npz", **SCORES, n_candidates=[7, 8], sample=[3, 3])
    (tmp_path / "mine").mkdir()
    for name, values in SCORES.items():
        np.save(tmp_path / "mine" / f"{name}.npy", values)
    archive, folder = read_sampled_scores(tmp_path / "mine.npz"), read_sampled_scores(tmp_path / "mine", n_candidates=9)
    for ranks in (archive, folder):
        assert (ranks.name, ranks.above.tolist(), ranks.tied.tolist()) == ("mine", [1, 0], [1, 0])
    assert archive.sample is not None
    assert (archive.n_candidates.tolist(), archive.sample.tolist()) == ([7, 8], [0, 0])
    assert (folder.n_candidates.tolist(), folder.sample) == ([9, 9], None)


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
