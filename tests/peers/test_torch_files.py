"""Files that torch itself writes are read without it."""

from __future__ import annotations

import numpy as np
import pytest

from kgtrec.errors import FormatError
from kgtrec.formats.triples.pickled_arrays import read_pickled_arrays

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("protocol", [2, 4])
def test_arrays_that_torch_saved(tmp_path, is_zip: bool, protocol: int):
    """Of numbers and types, as OGB's splits are, in the form of today and in that before torch 1.6."""
    found = {"head": np.arange(5), "head_neg": np.arange(6, dtype=np.int32).reshape(2, 3), "head_type": ["a", "b"]}
    path = tmp_path / "train.pt"
    torch.save(found, path, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    read = read_pickled_arrays(path)
    np.testing.assert_array_equal(read["head"], found["head"])
    np.testing.assert_array_equal(read["head_neg"], found["head_neg"])
    assert read["head_type"] == ["a", "b"]


@pytest.mark.parametrize("is_zip", [True, False])
def test_tensors_that_torch_saved(tmp_path, is_zip: bool):
    """They are refused: OGB's splits have none."""
    torch.save({"head": torch.arange(5)}, tmp_path / "train.pt", _use_new_zipfile_serialization=is_zip)
    with pytest.raises(
        FormatError, match=r"found (tensors of torch|torch\._utils\._rebuild_tensor_v2, which may be code)"
    ):
        read_pickled_arrays(tmp_path / "train.pt")
