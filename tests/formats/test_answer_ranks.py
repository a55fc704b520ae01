"""Answer-rank files: round trips, equal bytes, and errors for everything else."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.trec.runs import read_run
from tests.examples import examples
from tests.trees import tree
from tests.worlds import worlds

COLUMNS = ("answer", "above", "tied", "n_other", "score")


def rows(ranks):
    """Every row with labels instead of codes."""
    labels = ranks.questions.decode(ranks.question).to_pylist(), ranks.entities.decode(ranks.entity).to_pylist()
    return list(zip(*labels, *(getattr(ranks, name).tolist() for name in COLUMNS), strict=True))


def table():
    """Two questions; labels that other readers take for missing values or numbers."""
    entities = Vocabulary.of(["unused", "NA", "007", 'he"said', "a,b", "Zürich"])
    questions = Vocabulary.of(["tail1", "tail0"])
    codes = np.array([0, 0, 1, 1], np.int32), np.array([1, 4, 2, 5], np.int32)
    counts = (np.array(column, np.int32) for column in ([0, 3, 1, 0], [1, 0, 0, 2], [7, 7, 5, 5]))
    answer, score = np.array([True, False, True, True]), np.array([-np.inf, 0.1, 1e-300, 16777217.0])
    return AnswerRanks("transe", *codes, answer, *counts, score, questions, entities, ("train", "test"), "0123abcd")


def test_answer_ranks_are_no_run(tmp_path):
    """They have its columns, and read as one, without their candidates, every system would be perfect."""
    path = tmp_path / "a.parquet"
    write_answer_ranks(path, table())
    with pytest.raises(FormatError, match=r"a.parquet: expected a run, found answer ranks, which have the answers on"):
        read_run(path)


@settings(max_examples=examples(50), deadline=None)
@given(world=worlds(regraded=True))
def test_round_trip(world, tmp_path_factory):
    """Every row, its order, the name, the filter and the stamp come back."""
    path, ranks = tmp_path_factory.mktemp("ranks") / "w.ranks.parquet", world.answer_ranks(("valid",))
    write_answer_ranks(path, ranks)
    back = read_answer_ranks(path)
    assert rows(back) == rows(ranks)
    assert (back.name, back.filtered_by, back.collection) == (ranks.name, ("valid",), "")


def test_hostile_labels_and_extreme_scores_come_back(tmp_path):
    """-inf, a tiny score and labels such as NA and 007 are stored as they are; the second read-and-write is equal."""
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_answer_ranks(first, table())
    back = read_answer_ranks(first)
    assert rows(back) == rows(table())
    assert (back.name, back.filtered_by, back.collection) == ("transe", ("train", "test"), "0123abcd")
    assert "unused" not in list(back.entities)
    write_answer_ranks(second, back)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.slow
def test_many_rows_come_back(tmp_path):
    """More rows than a Parquet row group usually holds, still one table under one vocabulary."""
    n = 1_200_000
    question, entity = np.divmod(np.arange(n, dtype=np.int32), 1000)
    zeros = np.zeros(n, np.int32)
    questions, entities = (Vocabulary.of([f"x{i}" for i in range(size)]) for size in (1200, 1000))
    columns = question, entity, zeros == 0, zeros, zeros, zeros + 5, question / 7
    ranks = AnswerRanks("s", *columns, questions, entities, (), "")
    write_answer_ranks(tmp_path / "s.parquet", ranks)
    back = read_answer_ranks(tmp_path / "s.parquet")
    assert np.array_equal(back.question, question)
    assert np.array_equal(back.entity, entity)
    assert np.array_equal(back.score, ranks.score)


def rewritten(path, *, columns=None, drop=(), **metadata):
    """The file of ``table()`` with some columns or metadata changed by another hand."""
    write_answer_ranks(path, table())
    found = pq.read_table(path)
    own = json.loads(found.schema.metadata[b"kgtrec"]) | metadata
    for name, values in (columns or {}).items():
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(values))
    found = found.drop_columns(list(drop)).replace_schema_metadata({b"kgtrec": json.dumps(own)})
    pq.write_table(found, path)


WRONG = {
    "format": ({"format": "run"}, "expected answer ranks, as kgtrec rank writes them, found run"),
    "version": ({"version": 3}, "version 1 or 2, found version 3; a later kgtrec wrote it"),
    "splits": ({"filtered_by": ["tset"]}, "expected a name, a collection and splits in the file's metadata"),
    "column": ({"drop": ["tied"]}, "expected a column tied"),
    "type": ({"columns": {"above": [0.5, 3, 1, 0]}}, "expected int32 in column above, found double"),
    "counts": ({"columns": {"above": pa.array([0, 9, 1, 0], pa.int32())}}, r"counts in row 1 \(tail1, a,b\)"),
    "negative": ({"columns": {"tied": pa.array([-1, 0, 0, 0], pa.int32())}}, "found other counts in row 0"),
    "nan": ({"columns": {"score": [0.0, 1.0, np.nan, 0.0]}}, "expected a number as score, found NaN in row 2"),
    "null": ({"columns": {"score": [0.0, None, 1.0, 0.0]}}, "expected a value in every row of column score"),
    "again": ({"columns": {"entity": ["NA", "NA", "x", "y"]}}, r"expected each pair once, found one again in row 1"),
    "numbers": ({"columns": {"entity": [7, 8, 9, 10]}}, "expected text in column entity, found int64"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tables_are_refused(tmp_path, case):
    """A file that kgtrec did not write so is named, with what is wrong."""
    changes, message = WRONG[case]
    path = tmp_path / "x.ranks.parquet"
    rewritten(path, **changes)
    with pytest.raises(FormatError, match=message) as caught:
        read_answer_ranks(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_foreign_truncated_and_missing_files(tmp_path):
    """A Parquet file of another tool, half a file, a text file, no file."""
    pq.write_table(pa.table({"x": [1]}), tmp_path / "foreign.parquet")
    write_answer_ranks(tmp_path / "half.parquet", table())
    (tmp_path / "half.parquet").write_bytes((tmp_path / "half.parquet").read_bytes()[:-100])
    (tmp_path / "text.parquet").write_text("tail0 0 paris 1\n")
    whole = "expected a whole Parquet file, found damaged or other data"
    for name, word in (("foreign", "another tool"), ("half", whole), ("text", whole), ("none", "no such file")):
        with pytest.raises(FormatError, match=word):
            read_answer_ranks(tmp_path / f"{name}.parquet")


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    """The old file stays when the disk fills up half way."""

    def fill_up(_, stream, **__):
        stream.write(b"PAR1")
        raise OSError(28, "No space left on device")

    path = tmp_path / "x.ranks.parquet"
    write_answer_ranks(path, table())
    before = path.read_bytes()
    monkeypatch.setattr(pq, "write_table", fill_up)
    with pytest.raises(OSError, match="No space left"):
        write_answer_ranks(path, table(), force=True)
    assert path.read_bytes() == before
    assert list(tree(tmp_path)) == [path.name]
