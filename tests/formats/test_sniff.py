"""A file's kind is told by its content."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.contents import data_in
from kgtrec.formats.sniff import opened_kind, read_any, sniff
from tests.formats.trec_files import written


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# head\n\nq Q0 e 1 0.5 t\n", "run"),
        ("q\tQ0\te\t1\t-inf\tt", "run"),
        ("q 0 e 1\r\n", "qrels"),
        ("q\t0\te 1\n", "qrels"),
        ("q\ta\tr\n", "topics"),
        ("q\ta b c\tr\n", "topics"),
        ("q\ta b c d\tr\n", "topics"),
        ("q Q0 e 1 0.5\nq Q0 e 2 0.4 t\n", "run"),
        ("q Q0 e 1 foo t\n", "run"),
    ],
)
def test_text(text, kind, tmp_path):
    """Whatever the file is called; a wrong first line does not mislead."""
    assert sniff(written(tmp_path, "file", text)) == kind


@pytest.mark.parametrize(("name", "kind"), [("my.qrels", "qrels"), ("x.run", "run"), ("topics.txt", "topics")])
def test_the_name_decides_where_no_line_is_well_formed(name, kind, tmp_path):
    """So that its reader can say what is wrong."""
    assert sniff(written(tmp_path, name, "a b c d e\n")) == kind


def test_parquet(tmp_path):
    """By columns, or by what kgtrec wrote about it."""
    one = np.zeros(1, np.int32)
    ranks = AnswerRanks(
        "s", one, one, one == 0, one, one, one, np.zeros(1), Vocabulary.of(["q"]), Vocabulary.of(["e"]), (), ""
    )
    write_answer_ranks(tmp_path / "s.ranks.parquet", ranks)
    assert sniff(tmp_path / "s.ranks.parquet") == "answer ranks"
    assert isinstance(read_any(tmp_path / "s.ranks.parquet"), AnswerRanks)
    for columns, kind in (({"query_id": ["q"], "score": [1.0]}, "run"), ({"relevance": [1]}, "qrels")):
        pq.write_table(pa.table(columns), tmp_path / "x.parquet")
        assert sniff(tmp_path / "x.parquet") == kind
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match="found the columns a"):
        sniff(tmp_path / "x.parquet")


def test_an_opened_stream_is_told_apart_and_still_whole():
    """Standard input is read once, however much is read ahead."""
    data = b"q Q0 e%d 1 1 t\n" * 20_000
    kind, stream = opened_kind("-", io.BytesIO(data))
    assert kind == "run"
    assert stream.read() == data


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b"# made by x\nq Q0 e 1 0.5 t\n", "a run"),
        (b"q 0 e 1\n", "qrels"),
        (b'{\n "origin": "run"}', "the origin of a run or of scores"),
        (b"system  AP@20  a  b  c  d\nrules  0.8  1  2  3  4\n", ""),
        (b"system  AP@20  n  m\nrules  0.8  1  2\n", ""),
        (b"system,AP@20\nrules,0.8\n", ""),
        (b'{"system": "rules"}', ""),
        (b"\x1f\x8b", ""),
        (b"", ""),
    ],
)
def test_data_are_told_from_tables(tmp_path, content, data):
    """A table, which has a header line, may be replaced by another table; a run may not."""
    (tmp_path / "x.csv").write_bytes(content)
    assert data_in(tmp_path / "x.csv") == data


def test_arrays_and_tables_in_binary_files_are_told_apart(tmp_path):
    """By their content; a name says nothing."""
    import openpyxl

    for data, write in (
        ("arrays", lambda stream: np.save(stream, np.zeros(3))),
        ("arrays", lambda stream: np.savez(stream, E=np.zeros(3))),
        ("verdicts, or what people have typed", openpyxl.Workbook().save),  # as far as one can tell
        ("a table in Parquet", lambda stream: pq.write_table(pa.table({"system": ["rules"], "value": [0.8]}), stream)),
        ("a run", lambda stream: pq.write_table(pa.table({"question": ["q"], "score": [0.8]}), stream)),
    ):
        write(stream := io.BytesIO())
        (tmp_path / "x.txt").write_bytes(stream.getvalue())
        assert data_in(tmp_path / "x.txt") == data
