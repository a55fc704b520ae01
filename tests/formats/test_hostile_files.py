"""Damaged and hostile files end in one clear error that names the file; none of them hangs or is misread."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.errors import FormatError, KgtrecWarning, warn
from kgtrec.formats import parquet
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.campaign.filled_tasks import read_tasks
from kgtrec.formats.campaign.label_studio import read_users
from kgtrec.formats.campaign.pools import read_settings
from kgtrec.formats.chance_tables import read_chance_table
from kgtrec.formats.collections import is_collection, read_collection
from kgtrec.formats.json_text import json_value, read_json
from kgtrec.formats.numpy_files import archived_arrays, mapped_matrix
from kgtrec.formats.published_tables import read_published_table
from kgtrec.formats.relation_shares import read_relation_shares
from kgtrec.formats.score_tables import read_score_table
from kgtrec.formats.sniff import sniff
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run
from kgtrec.formats.trec.topics import read_entity_labels, read_label_lines, read_topics
from kgtrec.formats.triples import read_triples
from kgtrec.study.folder import MANIFEST, read_study
from kgtrec.study.steps import STEP, Steps
from kgtrec.systems.registry import read_system

# .npy


def npy(header: str | bytes, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    text = header.encode() if isinstance(header, str) else header
    length = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + length + text + data


def described(shape: str, kind: str = "<f4", order: str = "False") -> str:
    return f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"


HEADERS = {
    "unclosed bracket": described("(6, 5"),
    "unclosed quote": "{'descr': '<f4",
    "negative": described("(-1, 45)"),
    "truth values": described("(True, True)"),
    "no tuple": described("30"),
    "bracketed number": described("(30)"),
    "expression": described("(2*3, 5)"),
    "huge": described("(9223372036854775807, 2)"),
    "beyond 64 bits": described("(99999999999999999999, 2)"),
    "5,000 digits": described(f"({'9' * 5000}, 2)"),
    "two sizes in one": described("(5\f 3)"),
    "100 dimensions": described(f"({'1, ' * 100})"),
    "nested": "[" * 10_000,
    "nested shape": described("(" * 5000),
    "no type": "{'fortran_order': False, 'shape': (6, 5), }",
    "type twice": "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, }",
    "type of no length": described("(6, 5)", "<f3"),
    "objects": described("(6, 5)", "|O"),
    "text": described("(6, 5)", "<U4"),
    "complex": described("(6, 5)", "<c8"),
    "records": "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6, 5), }",
    "tokens": "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 5), } $ ?",
    "code": "__import__('os').getcwd()",
    "indented": "  \n {\n   'descr'",
    "other bytes": b"\xff\xfe\0",
}


@pytest.mark.parametrize("case", HEADERS)
@pytest.mark.parametrize("version", [b"\1\0", b"\2\0", b"\3\0"])
def test_headers_of_npy_that_are_none(tmp_path: Path, case: str, version: bytes):
    """What numpy's own parser stumbles over, each as its own kind of exception."""
    path = tmp_path / "s.npy"
    path.write_bytes(npy(HEADERS[case], bytes(120), version))
    with pytest.raises(FormatError, match=r"expected (a whole \.npy matrix of numbers|numbers in)") as told:
        mapped_matrix(path)
    assert str(told.value).startswith(f"{path}: ")
    assert len(str(told.value)) < 400


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "no bytes"),
        (b"\x93NUMPY", "cut-off data"),
        (b"\x93NUMPZ\1\0", "does not begin like an array"),
        (b"\x93NUMPY\1\0", "EOF: reading array header length"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", "EOF: reading array header, expected 4294967295 bytes"),
        (b"\x93NUMPY\1\0\xff\xff{'descr'", "EOF: reading array header, expected 65535 bytes got 8"),
        (b"\x93NUMPY\7\0\1\0{", r"we only support format version .* not \(7, 0\)"),
        (npy(described("(6, 5)"), bytes(119)), "mmap length is greater than file size"),
        (npy(described("(6, 5)"), bytes(121)), "but its header of shape"),
    ],
)
def test_npy_files_that_are_cut_off(tmp_path: Path, data: bytes, found: str):
    path = tmp_path / "s.npy"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=found):
        mapped_matrix(path)


@given(
    st.sampled_from(["<f2", "<f4", ">f8", "|i1", "|b1", "<u2", ">i8"]),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.booleans(),
    st.sampled_from([(1, 0), (2, 0)]),
)
def test_what_numpy_writes_is_what_is_mapped(
    tmp_path_factory: pytest.TempPathFactory, kind: str, shape: tuple[int, int], fortran: bool, version: tuple[int, int]
):
    """Any type of number, order and version."""
    array = np.arange(shape[0] * shape[1]).reshape(shape).astype(kind)
    path = tmp_path_factory.mktemp("npy") / "s.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array(stream, np.asfortranarray(array) if fortran else array, version)
    found = mapped_matrix(path)
    assert (found.dtype, found.shape) == (np.dtype(kind), shape)
    np.testing.assert_array_equal(found, array)


def test_the_header_of_another_writer(tmp_path: Path):
    """Keys in any order, double quotes, no comma at the end; numbers as of Python 2, of which numpy warns."""
    path = tmp_path / "s.npy"
    path.write_bytes(npy('{"shape": (2L, 1L), "fortran_order":False,"descr":"<i2"}\n', b"\1\0\2\0"))
    with pytest.warns(UserWarning, match="created on Python 2"):
        assert mapped_matrix(path).tolist() == [[1], [2]]


# .npz


def npz(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path.read_bytes()


ONE = npy(described("(100,)"), np.arange(100, dtype="<f4").tobytes())


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"no magic", "E: the magic string is not correct"),
        (b"", "E: EOF: reading magic string"),
        (npy(described("(100,)"), bytes(399)), "E: EOF: reading array data, expected 400 bytes got 399"),
        (npy(described("(100,)"), bytes(401)), r"E: more bytes than its header of shape \(100,\) requires"),
        (npy(described("(9999999999999,)"), bytes(4)), "E: Unable to allocate|E: EOF"),
        (npy(described("(1,)", "|O"), b"\x80\4K\1."), "E: Object arrays cannot be loaded"),
        (npy(described("(1,)", "<U1"), bytes(4)), "expected numbers in E, found <U1"),
        (npy(described("(-1,)"), bytes(4)), "E: negative dimensions"),
    ],
)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_members_that_are_no_arrays(tmp_path: Path, data: bytes, found: str, method: int):
    """However they are compressed; nothing is unpickled."""
    path = tmp_path / "s.npz"
    npz(path, ("E.npy", data), method=method)
    with pytest.raises(FormatError, match=found):
        archived_arrays(path, ("E",), ())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_in_compressed_members(tmp_path: Path, method: int):
    """Every byte of the member in turn; what is read all the same has not changed."""
    path = tmp_path / "s.npz"
    data = npz(path, ("E.npy", ONE), method=method)
    for place in range(40, len(data) - 110, 7):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert archived_arrays(path, ("E",), ())["E"].tolist() == list(range(100))
        except FormatError as error:
            assert str(error).startswith(f"{path}: expected ")  # noqa: PT017  # most are refused, some flips do nothing


def test_a_member_twice_and_one_that_is_encrypted(tmp_path: Path):
    """Which of the two would count is not to be guessed."""
    path = tmp_path / "s.npz"
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = npz(path, ("E.npy", ONE), ("E.npy", ONE))
    with pytest.raises(FormatError, match="expected the array E once, found it 2 times"):
        archived_arrays(path, ("E",), ())
    data = bytearray(npz(path, ("E.npy", ONE)))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"found other or damaged data .*encrypted"):
        archived_arrays(path, ("E",), ())


# Parquet

READERS: list[Callable[[Path], object]] = [read_run, read_qrels, read_answer_ranks, sniff]
RUN = pa.table({"question": ["q", "q"], "entity": ["a", "b"], "score": [0.5, 0.25]})


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("twice", ["question", "score", ""])
def test_a_column_twice(tmp_path: Path, read: Callable[[Path], object], twice: str):
    """Whichever of the two is meant."""
    path = tmp_path / "s.parquet"
    names = [*RUN.column_names, *["question", "entity", "score"], twice, twice]
    pq.write_table(pa.Table.from_arrays([RUN.column(0)] * len(names), names), path)
    with pytest.raises(FormatError, match=r"s\.parquet: expected each column once, found"):
        read(path)


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        (b"[" * 100_000, "brackets nested too deeply"),
        (b"\xff\xfe", r"something else \(not UTF-8\)"),
        (b"{", "something else"),
        (b"9" * 5000, "a number too long to read"),
        (b'{"name": "\\ud800"}', "half a surrogate pair"),
        (b"[]", "another value"),
    ],
)
@pytest.mark.parametrize("read", [read_run, read_answer_ranks, sniff])
def test_metadata_of_parquet_that_is_none(tmp_path: Path, metadata: bytes, found: str, read: Callable[[Path], object]):
    path = tmp_path / "s.parquet"
    pq.write_table(RUN.replace_schema_metadata({b"kgtrec": metadata}), path)
    with pytest.raises(FormatError, match=f"s.parquet: expected .* in the file's metadata, found {found}"):
        read(path)


def test_the_name_of_a_run_is_a_text(tmp_path: Path):
    path = tmp_path / "s.parquet"
    pq.write_table(RUN.replace_schema_metadata({b"kgtrec": b'{"name": [1]}'}), path)
    with pytest.raises(FormatError, match=r"expected a text as the run's name in the file's metadata, found \[1\]"):
        read_run(path)


@pytest.mark.parametrize("read", READERS)
def test_names_and_labels_that_are_no_text(tmp_path: Path, read: Callable[[Path], object]):
    """Bytes that are no UTF-8, in the name of a column or in a label."""
    path = tmp_path / "s.parquet"
    pq.write_table(RUN.rename_columns(["question", "entity", "scorX"]), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"scorX", b"scor\xff"))
    with pytest.raises(FormatError, match="expected a whole Parquet file, found damaged or other data"):
        read(path)
    if read is read_run:
        labels = pa.table({"question": ["q", "q"], "entity": ["aXa", "b"], "score": [0.5, 0.25]})
        pq.write_table(labels, path, compression="none", store_schema=False, write_statistics=False)
        path.write_bytes(path.read_bytes().replace(b"aXa", b"a\xffa"))
        with pytest.raises(FormatError, match=r"expected a whole Parquet file, found damaged or other data .*UTF"):
            read(path)


def swollen(path: Path, n_rows: int, **columns: pa.Array) -> None:
    """So many rows, all the same, in a group for each million."""
    rows = min(n_rows, 1_000_000)
    table = pa.table({name: array.take(pa.array(np.zeros(rows, np.int32))) for name, array in columns.items()})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(n_rows // rows):
            writer.write_table(table)


@pytest.mark.slow
def test_millions_of_repeated_rows_are_refused_at_once(tmp_path: Path):
    """Rows that cannot all be different are not even read."""
    path = tmp_path / "s.parquet"
    label = pa.array(["a"]).dictionary_encode()
    swollen(path, 20_000_000, question=label, entity=label, score=pa.array([0.5]), grade=pa.array([1], pa.int32()))
    for read in (read_run, read_qrels):
        began = time.process_time()
        with pytest.raises(FormatError, match="expected at least one bit per row, found 20,000,000 rows in"):
            read(path)
        assert time.process_time() - began < 2


def test_repeated_rows_of_any_other_table(tmp_path: Path):
    """Parts of collections and tables of studies."""
    path = tmp_path / "known.parquet"
    swollen(path, 20_000_000, question=pa.array([0], pa.int32()))
    with pytest.raises(FormatError, match="expected at least one bit per row, found 20,000,000 rows in"):
        parquet.read_whole_table(path)


# CSV


# JSON

NESTED = b"[" * 200_000


@pytest.mark.parametrize(
    ("name", "read", "way_out"),
    [
        ("manifest.json", read_collection, "; build the collection again"),
        ("campaign.json", read_settings, ""),
        (MANIFEST, read_study, "; run kgtrec"),
    ],
)
def test_200_000_brackets_as_the_file_that_says_what_a_folder_is(tmp_path: Path, name: str, read, way_out: str):
    (tmp_path / name).write_bytes(NESTED)
    with pytest.raises(FormatError, match=rf"{name}: expected JSON, found brackets nested too deeply{way_out}"):
        read(tmp_path)
    assert not is_collection(tmp_path)


def test_a_step_that_tells_200_000_brackets_is_made_anew(tmp_path: Path):
    """As one whose files were changed."""

    def make(step: Path) -> None:
        (step / "a.txt").write_text("1")

    place = Steps(tmp_path).do("squares", make)
    (place / STEP).write_bytes(NESTED)
    again = Steps(tmp_path)
    again.do("squares", make)
    assert again.done == 1


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
def test_json_is_a_value_or_an_error(data: bytes):
    """And a value can be written again."""
    try:
        value = json_value(data, "x.json")
    except FormatError as error:
        assert str(error).startswith("x.json")  # noqa: PT017
    else:
        json.dumps(value, ensure_ascii=False).encode()


# bombs


def expanding(path: Path, pieces: Iterable[bytes]) -> Path:
    """A compressed file, by its suffix."""
    kinds = {".gz": lambda: gzip.GzipFile(path, "wb", 9), ".zst": lambda: pa.CompressedOutputStream(str(path), "zstd")}
    with kinds.get(path.suffix, lambda: path.open("wb"))() as stream:
        for piece in pieces:
            stream.write(piece)
    return path


LINE_READERS = [
    ("x.tsv", read_triples),
    ("x.run", read_run),
    ("x.qrels", read_qrels),
    ("topics.tsv", read_topics),
    ("entities.txt", read_entity_labels),
    ("labels.txt", read_label_lines),
    ("x.csv", read_score_table),
    ("published.csv", read_published_table),
    ("chance.csv", read_chance_table),
    ("shares.tsv", read_relation_shares),
    ("tasks.jsonl", read_tasks),
    ("users.tsv", read_users),
    ("lists.jsonl", lambda path: read_system(path, kind="jsonl")),
    ("ranking.txt", lambda path: read_system(path, kind="anyburl")),
]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize(("name", "read"), LINE_READERS, ids=[name for name, _ in LINE_READERS])
def test_a_line_that_no_file_has_is_refused_with_its_number(tmp_path: Path, name: str, read, suffix: str):
    """In little memory, and quoted by its beginning: 40 MiB of one letter on the second line."""
    path = tmp_path / f"{name}{suffix}"
    expanding(path, [b"\xef\xbb\xbf\n", *[b"a" * (1 << 20)] * 40])
    tracemalloc.start()
    with pytest.raises(FormatError) as told:
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(told.value).startswith(f"{path}:2: expected lines of at most 16 MiB, found a longer one: 'aaa")
    assert len(str(told.value)) < len(str(path)) + 200
    assert peak < 100 << 20


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("read", [read_run, read_triples, lambda path: read_json(path)])
def test_a_file_that_expands_without_end_is_refused(tmp_path: Path, read, suffix: str):
    """Each of 90 lines of a megabyte is allowed, and so is JSON on one line; what they compress to is a bomb's."""
    lines = (b"q1 Q0 %d%s 1 1 t\n" % (row, b"a" * (1 << 20)) for row in range(90))
    path = expanding(tmp_path / f"x.run{suffix}", lines)
    with pytest.raises(FormatError, match=r"expand to at most 500 times their compressed size, found more than 64 MiB"):
        read(path)


def test_the_most_regular_triples_are_far_from_the_limit(tmp_path: Path):
    """One relation, one tail, and numbered heads under long names: no real data compress better."""
    line = b"<http://dbpedia.org/resource/Person_%d>\t<http://dbpedia.org/ontology/birthPlace>\t<http://dbpedia.org/Paris>\n"
    text = b"".join(line % number for number in range(50_000))
    path = expanding(tmp_path / "x.tsv.zst", [text])
    assert 50 < len(text) / path.stat().st_size < 500 / 4
    assert len(read_triples(path)) == 50_000


def test_messages_quote_at_most_about_a_line():
    """Whatever is quoted; a path is never shortened, nor what kgtrec itself says."""
    path = "/" + "folder/" * 500 + "x.tsv"
    said = "expected one of " + ", ".join(f"name{number}" for number in range(100))
    for label in ("a" * 10**6, "it's " * 10**5, 'it\'s "x" ' * 10**5, "\\" * 10**6):
        error = FormatError(f"{said}, found {label!r} and 'b'; see kgtrec questions --ids", path=path, line=3)
        assert str(error).startswith(f"{path}:3: {said}, found {repr(label)[:100]}")
        assert str(error).endswith(" and 'b'; see kgtrec questions --ids")
        assert len(str(error)) < len(path) + len(said) + 300
        with pytest.warns(KgtrecWarning) as told:
            warn(f"{said}, found {label}")
        assert len(str(told[0].message)) < len(said) + 6_000 or " " in label
