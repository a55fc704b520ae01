"""Score matrices in HDF5 files, and what else such a file can hold."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.collections import write_collection
from kgtrec.formats.hdf5 import hdf5_matrix
from kgtrec.formats.score_matrix import read_score_matrix, stamp_score_matrix
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import world


def test_what_is_missing_is_told_where_h5py_is_not_installed(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    collection = world(np.random.default_rng(1))
    (tmp_path / "s.h5").write_bytes(b"")
    with pytest.raises(KgtrecError, match="HDF5 needs h5py, which is not installed here: pip install h5py"):
        read_score_matrix(tmp_path / "s.h5", collection)


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py", reason="HDF5 files need h5py")


def write(h5py, path, values, name="scores", **options):
    with h5py.File(path, "w") as file:
        file.create_dataset(name, data=values, **options)


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("block", [None, 1, 3])
def test_a_matrix_in_another_order_is_ranked_as_the_whole(h5py, tmp_path: Path, block, compression):
    """Rows and columns as topics.tsv and entities.txt beside it say."""
    rng = np.random.default_rng(2)
    collection = world(rng)
    scores = rng.integers(0, 4, (len(collection.questions), len(collection.entities))).astype("f4")
    write_collection(tmp_path / "C", collection)
    rows, columns = rng.permutation(len(scores)), rng.permutation(scores.shape[1])
    (tmp_path / "s").mkdir()
    write(h5py, tmp_path / "s" / "made.h5", scores[rows][:, columns], compression=compression)
    topics = (tmp_path / "C" / "topics.tsv").read_text().splitlines()
    (tmp_path / "s" / "topics.tsv").write_text("".join(f"{topics[row]}\n" for row in rows))
    (tmp_path / "s" / "entities.txt").write_text("".join(f"{collection.entities[c]}\n" for c in columns))
    assert adapter_of(tmp_path / "s" / "made.h5").name == "matrix-hdf5"
    system = read_system(tmp_path / "s" / "made.h5")
    found = rank_system(collection, system, block=block).answer_ranks
    expected = rank_scores(collection, scores, questions=collection, entities=collection).answer_ranks
    assert found.name == "made"
    np.testing.assert_array_equal(found.above, expected.above)
    np.testing.assert_array_equal(found.tied, expected.tied)


def test_a_stamp_says_the_order_of_a_matrix(h5py, tmp_path: Path):
    collection = world(np.random.default_rng(3))
    shape = len(collection.questions), len(collection.entities)
    write(h5py, tmp_path / "s.h5", np.zeros(shape))
    with pytest.raises(FormatError, match="which question each row is about"):
        read_score_matrix(tmp_path / "s.h5", collection)
    stamp_score_matrix(tmp_path / "s.h5", collection)
    assert sum(len(rows) for rows, _ in read_score_matrix(tmp_path / "s.h5", collection)) == shape[0]


def spoilt(h5py, path, how):
    values = np.zeros((2, 3))
    if how == "cut":
        write(h5py, path, np.zeros((200, 30)))
        path.write_bytes(path.read_bytes()[:3000])
    elif how == "name":
        write(h5py, path, values, "matrix")
    elif how == "text":
        write(h5py, path, np.array([["a"]], "S1"))
    elif how == "objects":
        with h5py.File(path, "w") as file:
            file.create_dataset("scores", (1, 1), h5py.vlen_dtype(float))
    elif how == "shape":
        write(h5py, path, np.zeros(3))
    elif how == "group":
        with h5py.File(path, "w") as file:
            file.create_group("scores")
    elif how in ("external link", "soft link"):
        write(h5py, path.with_name("other.h5"), values)
        with h5py.File(path, "w") as file:
            file["scores"] = h5py.ExternalLink("other.h5", "scores") if how == "external link" else h5py.SoftLink("/s")
    else:
        path.with_name("bytes").write_bytes(bytes(48))
        with h5py.File(path, "w") as file:
            file.create_dataset("scores", (2, 3), "f8", external=[(str(path.with_name("bytes")), 0, 48)])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", "expected a whole HDF5 file, found other or damaged data"),
        ("name", "expected a data set scores, found none; the file holds matrix"),
        ("text", "expected numbers in scores, found |S1"),
        ("objects", "expected numbers in scores, found object"),
        ("shape", "expected scores of 2 dimensions, found the shape (3,)"),
        ("group", "expected a data set scores, found a group"),
        ("external link", "expected scores in the file itself, found a link to elsewhere"),
        ("soft link", "expected scores in the file itself, found a link to elsewhere"),
        ("external storage", "expected scores in the file itself, found its data in other files"),
    ],
)
def test_another_file_ends_in_one_line(h5py, tmp_path: Path, how: str, message: str):
    spoilt(h5py, tmp_path / "s.h5", how)
    with pytest.raises(FormatError, match=re.escape(message)) as told:
        read_score_matrix(tmp_path / "s.h5", world(np.random.default_rng(4)))
    assert "\n" not in str(told.value)


def test_a_chunk_that_fills_the_memory_is_refused(h5py, tmp_path: Path):
    """One row of it would need all of its 1.5 GiB, which take 1.6 MB in the file, or nothing yet."""
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file.create_dataset("scores", (20_000, 20_000), "f4", chunks=(20_000, 20_000), compression="gzip")
    told = r"s\.h5: expected scores in chunks of at most 256 MiB, found chunks of 1,525 MiB, 20,000 x 20,000; store it"
    with pytest.raises(FormatError, match=told):
        hdf5_matrix(tmp_path / "s.h5", "scores")
