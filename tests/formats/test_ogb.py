"""The split files of the Open Graph Benchmark, written here as its loader and PyKEEN's read them."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import types
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgtrec.cli import main
from kgtrec.errors import FormatError
from kgtrec.formats.collections import read_collection
from kgtrec.formats.triples import find_splits, input_files, read_triples
from kgtrec.formats.triples.pickled_arrays import read_pickled_arrays

MAGIC = 0x1950A86A20F9469CFC6C


def as_torch(found: object, protocol: int = 2) -> bytes:
    """As torch.save writes since 1.6."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("train/data.pkl", pickle.dumps(found, protocol=protocol))
        file.writestr("train/version", "3\n")
    return stream.getvalue()


def as_torch_before(found: object, protocol: int = 2) -> bytes:
    """And before."""
    parts = (MAGIC, 1001, {"little_endian": True}, found, [])
    return b"".join(pickle.dumps(part, protocol=protocol) for part in parts)


def as_pickle(found: object, protocol: int = 2) -> bytes:
    return pickle.dumps(found, protocol=protocol)


WAYS = (as_torch, as_torch_before, as_pickle)


def table(folder: Path, name: str, columns: str, rows: Mapping[int, str]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [columns, *(f"{number},{label}" for number, label in rows.items())]
    (folder / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def split(rows: list[tuple[int, int, int]], **more: Any) -> dict[str, Any]:
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return dict(zip(("head", "relation", "tail"), columns.copy(), strict=True)) | more


@pytest.fixture
def wikikg(tmp_path: Path) -> Path:
    """Three entities, one of which no triple has; its tables are not in order."""
    table(tmp_path / "mapping", "nodeidx2entityid.csv.gz", "node idx,entity id", {1: "Q20", 0: "Q10", 2: "NA"})
    table(tmp_path / "mapping", "reltype2relid.csv.gz", "reltype,rel id", {0: "P1", 1: "P2"})
    place = tmp_path / "split" / "time"
    place.mkdir(parents=True)
    negatives = np.zeros((1, 500), np.int64)
    (place / "train.pt").write_bytes(as_torch(split([(0, 1, 1), (1, 0, 0)])))
    for name in ("valid", "test"):
        (place / f"{name}.pt").write_bytes(as_torch(split([(1, 1, 0)], head_neg=negatives, tail_neg=negatives), 4))
    return tmp_path


@pytest.fixture
def biokg(tmp_path: Path) -> Path:
    """Two diseases and a drug, each type with numbers of its own."""
    table(tmp_path / "mapping", "disease_entidx2name.csv.gz", "ent idx,ent name", {0: "C1", 1: "C2"})
    table(tmp_path / "mapping", "drug_entidx2name.csv.gz", "ent idx,ent name", {0: "C1"})
    table(tmp_path / "mapping", "relidx2relname.csv.gz", "rel idx,rel name", {0: "drug-disease"})
    place = tmp_path / "split" / "random"
    place.mkdir(parents=True)
    for name in ("train", "valid", "test"):
        found = split([(0, 0, 1), (0, 0, 0)], head_type=["drug"] * 2, tail_type=["disease", "disease"])
        (place / f"{name}.pt").write_bytes(as_torch(found))
    return tmp_path


def rows(path: Path) -> list[tuple[str, str, str]]:
    found = read_triples(path)
    entities, relations = list(found.entities), list(found.relations)
    codes = zip(found.head.tolist(), found.relation.tolist(), found.tail.tolist(), strict=True)
    return [(entities[head], relations[relation], entities[tail]) for head, relation, tail in codes]


def test_numbers_are_labels_of_the_tables(wikikg: Path):
    """As the tables number them, whatever their order, and with those that no triple has."""
    train, valid, test = find_splits(wikikg)
    assert rows(train) == [("Q10", "P2", "Q20"), ("Q20", "P1", "Q10")]
    assert rows(test) == rows(valid) == [("Q20", "P2", "Q10")]
    assert list(read_triples(train).entities) == ["Q10", "Q20", "NA"]
    assert [path.name for path in input_files(train)] == ["train.pt", "nodeidx2entityid.csv.gz", "reltype2relid.csv.gz"]


def test_numbers_of_biokg_are_among_those_of_a_type(biokg: Path):
    """The same number and name of two types are two entities."""
    train = find_splits(biokg)[0]
    assert rows(train) == [("drug:C1", "drug-disease", "disease:C2"), ("drug:C1", "drug-disease", "disease:C1")]
    assert list(read_triples(train).entities) == ["disease:C1", "disease:C2", "drug:C1"]


def test_questions_of_a_folder(wikikg: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["questions", str(wikikg), "--out", "c"])
    assert len(read_collection("c").questions) == 2


@pytest.mark.parametrize("way", WAYS)
@given(
    found=st.dictionaries(
        st.text(max_size=5),
        arrays.arrays(
            st.sampled_from([np.int64, np.int32, np.uint8, np.dtype(">i8")]),
            arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
        )
        | st.lists(st.text(max_size=3), max_size=4),
        max_size=3,
    ),
    protocol=st.integers(2, pickle.HIGHEST_PROTOCOL),
    is_fortran=st.booleans(),
)
def test_what_was_written_is_read(tmp_path_factory, way, found: dict[str, Any], protocol: int, is_fortran: bool):
    """Arrays of whole numbers of any type, shape and order, and lists of texts, in every form and protocol."""
    if is_fortran:
        found = {k: np.asfortranarray(v) if isinstance(v, np.ndarray) else v for k, v in found.items()}
    path = tmp_path_factory.mktemp("arrays") / "train.pt"
    path.write_bytes(way(found, protocol))
    read = read_pickled_arrays(path)
    assert read.keys() == found.keys()
    for name, value in found.items():
        if isinstance(value, list):
            assert read[name] == value
        else:
            assert read[name].dtype == value.dtype
            np.testing.assert_array_equal(read[name], value)


class Evil:
    """Whose pickle would run a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch was-run",)


def evil_text() -> bytes:
    """The same in the oldest protocol, by its official name."""
    return b"cos\nsystem\n(S'touch was-run'\ntR."


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (as_torch({"head": Evil()}), r"found posix\.system, which may be code; nothing of it was run"),
        (as_torch_before({"head": Evil()}), r"found posix\.system, which may be code"),
        (as_pickle(Evil()), r"found posix\.system, which may be code"),
        (evil_text(), r"found os\.system, which may be code"),
        (as_pickle({"head": types.SimpleNamespace()}), r"found types\.SimpleNamespace, which may be code"),
        (as_pickle({"head": np.array([object()])}), r"found __builtin__\.object, which may be code"),
        (as_pickle({"head": np.array([None])}), r"expected arrays of whole numbers, found some of 'O8'"),
        (as_pickle({"head": np.array([0.5])}), r"expected arrays of whole numbers, found some of 'f8'"),
        (as_pickle({"head": np.array(["a"])}), r"expected arrays of whole numbers, found some of 'U1'"),
        (as_pickle({"head": [1, 2]}), r"expected an array or a list of texts as head, found list"),
        (as_pickle([1]), r"expected a dict, found list"),
        (as_torch({"head": np.arange(99)})[:-30], r"expected a whole file of torch or pickle, found a damaged one"),
        (as_pickle({"head": np.arange(99)})[:-30], r"expected a whole file of torch or pickle, found a damaged one"),
        (b"", r"expected a whole file of torch or pickle, found a damaged one"),
        (b"no pickle at all", r"expected a whole file of torch or pickle, found a damaged one"),
        (as_torch_before({})[:30], r"expected a whole file of torch or pickle, found a damaged one"),
    ],
)
def test_anything_else_is_refused_and_nothing_is_run(tmp_path: Path, monkeypatch, data: bytes, message: str):
    monkeypatch.chdir(tmp_path)
    Path("train.pt").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        read_pickled_arrays("train.pt")
    assert not Path("was-run").exists()


@pytest.mark.parametrize("second", [20, 30])
def test_a_zip_file_that_is_cut_is_damaged_whenever_it_was_written(tmp_path: Path, second: int):
    """Whatever its bytes of the time would mean in a pickle: at 21:16:20 they end a line."""
    path = tmp_path / "train.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(zipfile.ZipInfo("train/data.pkl", (2026, 11, 24, 21, 16, second)), as_pickle({}))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match=r"expected a whole file of torch or pickle, found a damaged one"):
        read_pickled_arrays(path)


def test_a_zip_file_without_data(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "train.pt", "w") as file:
        file.writestr("other", "")
    with pytest.raises(FormatError, match=r"expected a file of torch, found a zip file without data\.pkl"):
        read_pickled_arrays(tmp_path / "train.pt")


@given(data=st.binary(max_size=60).filter(lambda data: b"r" not in data))  # which can ask for all memory
def test_no_bytes_are_run_or_end_in_another_error(tmp_path_factory, data: bytes):
    """Whatever they are, they are refused or hold arrays and texts; a frame may claim more than all memory."""
    path = tmp_path_factory.getbasetemp() / "any.pt"
    path.write_bytes(data)
    before = set(sys.modules)
    with suppress(FormatError, MemoryError):
        read_pickled_arrays(path)
    assert not {"antigravity", "this"} & (set(sys.modules) - before)


def test_tensors_are_refused(tmp_path: Path):
    """torch.save writes them as references to other files."""

    class Reference(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return "storage" if isinstance(obj, float) else None

    with (tmp_path / "train.pt").open("wb") as stream:
        Reference(stream, 2).dump({"head": 0.5})
    with pytest.raises(FormatError, match=r"train\.pt: expected NumPy's arrays, found tensors of torch"):
        read_pickled_arrays(tmp_path / "train.pt")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (split([(0, 0, 3)]), r"expected a tail below 3, which is how many labels there are, found 3 \(triple 1\)"),
        (split([(0, 0, 0), (-1, 0, 0)]), r"expected a head below 3, .*, found -1 \(triple 2\)"),
        (split([(0, 2, 0)]), r"expected a relation below 2, which is how many labels there are, found 2"),
        ({"head": np.array([0])}, r"expected a list of numbers 'tail', found \['head'\]"),
        (split([(0, 0, 0)], head=np.zeros((1, 1), int)), r"expected a list of numbers 'head', found "),
        (split([(0, 0, 0)], head=np.array([0, 1])), r"expected as many heads as relations and tails, found 2, 1 and 1"),
        (split([]), r"expected at least one triple, found none"),
    ],
)
def test_numbers_that_stand_for_nothing(wikikg: Path, found: dict[str, Any], message: str):
    path = find_splits(wikikg)[0]
    path.write_bytes(as_torch(found))
    with pytest.raises(FormatError, match=rf"train\.pt: {message}"):
        read_triples(path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"head_type": ["drug"], "tail_type": ["drug"]}, r"tail below 1, .*, found 1"),
        ({"head_type": ["drug"], "tail_type": ["gene"]}, "disease, drug in tail_type, found 'gene'"),
        ({"head_type": ["drug"]}, "type of each tail"),
        ({"head_type": [], "tail_type": []}, "type of each head"),
    ],
)
def test_types_that_stand_for_nothing(biokg: Path, more: dict[str, Any], message: str):
    path = find_splits(biokg)[0]
    path.write_bytes(as_torch(split([(0, 0, 1)], **more)))
    with pytest.raises(FormatError, match=rf"train\.pt: .*{message}"):
        read_triples(path)


ENTITIES, RELATIONS = "nodeidx2entityid.csv.gz", "reltype2relid.csv.gz"


@pytest.mark.parametrize(
    ("name", "columns", "of", "message"),
    [
        (ENTITIES, "node idx,entity id", {0: "a", 2: "b"}, f"{ENTITIES}: expected each number from 0 to 1 once"),
        (ENTITIES, "node idx,entity id", {0: "a", 1: "a"}, f"{ENTITIES}: expected distinct labels, found 'a'"),
        (ENTITIES, "node,entity", {0: "a"}, f"{ENTITIES}: .* 'node idx' and"),
        (RELATIONS, "reltype,rel id", {"x": "a"}, f"{RELATIONS}: .* 'reltype' and 'rel id'"),
        (ENTITIES, "", {}, rf"train\.pt: expected labels of entities in \S+mapping, as {ENTITIES} or TY"),
        (RELATIONS, "", {}, rf"train\.pt: expected labels of relations in \S+mapping, as {RELATIONS} or rel"),
    ],
)
def test_tables_of_labels_that_are_wrong_or_missing(wikikg: Path, name: str, columns: str, of: dict, message: str):
    if columns:
        table(wikikg / "mapping", name, columns, of)
    else:
        (wikikg / "mapping" / name).unlink()
    with pytest.raises(FormatError, match=message):
        read_triples(find_splits(wikikg)[0])
