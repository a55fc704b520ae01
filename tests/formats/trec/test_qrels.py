"""Qrels files: the same forgiveness as runs, whole-number grades, and exact round trips."""

from __future__ import annotations

import io
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.trec import text
from kgtrec.formats.trec.qrels import QrelsFile, read_qrels, read_qrels_file, write_qrels
from tests.formats.trec_files import first_labels, irregular, judgements_of, labels, messy_files, qrels, written

GRADES = st.builds(str, st.integers(-(2**31), 2**31 - 1)) | st.sampled_from(["+1", "007", "-0"])


def read(data: bytes, block_size: int = text.BLOCK_SIZE) -> QrelsFile:
    with patch.object(text, "BLOCK_SIZE", block_size):
        return read_qrels_file("x.qrels", stream=io.BytesIO(data))


@given(messy_files([first_labels, st.sampled_from(["0", "Q0"]), labels, GRADES], key=(0, 2)), st.integers(1, 60))
@settings(max_examples=3 * settings.default.max_examples)
def test_regular_and_irregular_lines_are_the_same_qrels(file, block_size):
    """Whatever a file holds that trec_eval forgives, both parsers and any block size give the rows by definition."""
    data, rows = file
    expected = {(question, entity, int(grade)) for question, _, entity, grade in rows}
    for found in (read(data), read(irregular(data)), read(data, block_size)):
        assert judgements_of(found.qrels) == expected


@pytest.mark.parametrize("form", [bytes, irregular])
@pytest.mark.parametrize("grade", ["0.7", "foo", "1.0", "0x1", "1e2", "2147483648", "1_0", "9" * 5000, "nan", "\u0661"])
def test_a_grade_that_is_no_whole_number_is_refused(grade, form):
    """trec_eval would read most of these as 0; the message names the line."""
    with pytest.raises(FormatError, match=r"x\.qrels:3: expected a whole number of 32 bits as grade, got '"):
        read(form(f"q 0 a 1\n\nq 0 b {grade}\n".encode()))


def test_a_wrong_column_count_names_the_line():
    """A run is no qrels."""
    with pytest.raises(FormatError) as caught:
        read(b"q 0 a 1\nq Q0 a 1 0.5 t\n")
    assert str(caught.value) == (
        "x.qrels:2: expected 4 columns (question iter entity grade), got 6: 'q Q0 a 1 0.5 t'. "
        "It looks like a line of a run; give the file of the qrels here."
    )


@pytest.mark.parametrize("grade", ["1", "2"])
def test_a_repeated_pair_is_refused_even_with_the_same_grade(grade):
    """As trec_eval does; both lines are named."""
    with pytest.raises(FormatError, match=r"x\.qrels:3: expected each .* found 'q' 'a' here and on line 1; remove"):
        read(f"q 0 a 1\nq 0 b 1\nq 0 a {grade}\n".encode())


@given(found=qrels(), suffix=st.sampled_from([".txt", ".txt.gz", ".txt.zst", ".parquet"]))
@settings(max_examples=2 * settings.default.max_examples)
def test_round_trip(found, suffix, tmp_path_factory):
    """Writing and reading gives the same judgements in every format; text that was read writes as it was."""
    folder = tmp_path_factory.mktemp("qrels")
    path, again = folder / f"x{suffix}", folder / f"y{suffix}"
    write_qrels(path, found)
    once = read_qrels(path)
    assert judgements_of(once) == judgements_of(found)
    write_qrels(again, once)
    assert judgements_of(read_qrels(again)) == judgements_of(found)
    if suffix != ".parquet":
        assert again.read_bytes() == path.read_bytes()


def test_rows_are_written_by_question_then_label(tmp_path):
    """Questions in their own order, entities by the bytes of their labels."""
    rows = np.array([[1, 0, 0], [0, 0, 1], [1, -1, 2]], np.int32)
    found = Qrels.of(*rows, Vocabulary.of(["q9", "q1"]), Vocabulary.of(["b", "a"]))
    write_qrels(tmp_path / "x", found)
    assert (tmp_path / "x").read_text() == "q9 0 a 2\nq9 0 b -1\nq1 0 b 1\n"


@pytest.mark.parametrize("pair", [("q 1", "e"), ("q", "")])
def test_labels_that_no_text_file_can_hold_are_refused(pair, tmp_path):
    """No file appears."""
    zero = np.zeros(1, np.int32)
    found = Qrels.of(zero, zero, zero, Vocabulary.of([pair[0]]), Vocabulary.of([pair[1]]))
    with pytest.raises(KgtrecError, match="see kgtrec questions --ids"):
        write_qrels(tmp_path / "x", found)
    assert list(tmp_path.iterdir()) == []


def test_empty_qrels_are_not_written(tmp_path):
    """Reading would refuse them."""
    none = np.zeros(0, np.int32)
    with pytest.raises(KgtrecError, match="expected qrels of at least one row"):
        write_qrels(tmp_path / "x", Qrels.of(none, none, none, Vocabulary.of([]), Vocabulary.of([])))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.float64()])
def test_parquet_of_other_tools(kind, tmp_path):
    """ir-measures' column names; whole numbers of any type."""
    table = pa.table({"query_id": ["q", "q"], "doc_id": ["NA", "b"], "relevance": pa.array([2, 0]).cast(kind)})
    pq.write_table(table, tmp_path / "x.parquet")
    assert judgements_of(read_qrels(tmp_path / "x.parquet")) == {("q", "NA", 2), ("q", "b", 0)}


@pytest.mark.parametrize("grades", [[0.7], [float("nan")], [2**31], ["1"], [True]])
def test_parquet_grades_are_whole_numbers(grades, tmp_path):
    """Nothing is rounded."""
    pq.write_table(pa.table({"question": ["q"], "entity": ["e"], "grade": grades}), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match="expected whole numbers of 32 bits in column grade"):
        read_qrels(tmp_path / "x.parquet")


def test_an_empty_file_is_refused(tmp_path):
    """With the columns that were expected."""
    with pytest.raises(FormatError, match=r"4 columns .* empty"):
        read_qrels(written(tmp_path, "x", ""))
