"""Run files: what is read, what is refused, and that nothing is lost on the way through any format."""

from __future__ import annotations

import gzip
import io
import math
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.output.outputs import write_text
from kgtrec.formats.trec.runs import RunWriter, default_name, read_run, write_run
from kgtrec.formats.trec.streamed_runs import open_run
from tests.formats.trec_files import (
    HOSTILE,
    first_labels,
    irregular,
    labels,
    messy_files,
    read_bytes,
    rows_of,
    runs,
    spelled_scores,
    written,
)
from tests.trees import tree

RUN_COLUMNS = [first_labels, st.sampled_from(["Q0", "0"]), labels, st.sampled_from(["1", "x"]), spelled_scores, labels]
SUFFIXES = [".run", ".run.gz", ".run.zst", ".parquet"]


def refused(data: bytes, **options: object) -> str:
    with pytest.raises(FormatError) as caught:
        read_bytes(data, **options)
    return str(caught.value)


def slow_rows(rows: list[tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """The rows of a run, by the definition: questions as they come, score descending, then label bytes descending."""
    order = {question: place for place, question in reversed(list(enumerate(row[0] for row in rows)))}
    found = [(row[0], row[2], float(row[4])) for row in rows]
    found.sort(key=lambda row: row[1].encode(), reverse=True)
    found.sort(key=lambda row: (order[row[0]], -row[2]))
    return [(question, entity, score.hex()) for question, entity, score in found]


@pytest.mark.slow
@given(messy_files(RUN_COLUMNS, key=(0, 2)), st.integers(1, 60))
@settings(max_examples=4 * settings.default.max_examples)
def test_regular_and_irregular_lines_are_the_same_run(file, block_size):
    """Whatever a file holds that trec_eval forgives, both parsers and any block size give the rows by definition."""
    data, rows = file
    for found in (read_bytes(data), read_bytes(irregular(data)), read_bytes(data, block_size)):
        assert rows_of(found.run) == slow_rows(rows)
        assert list(found.run.questions) == list(dict.fromkeys(row[0] for row in rows))
        assert list(found.run.entities) == list(dict.fromkeys(row[2] for row in rows))
        assert list(found.tags) == list(dict.fromkeys(row[5] for row in rows))
        assert found.run.name == rows[-1][5]


@given(messy_files(RUN_COLUMNS, key=(0, 2)), st.integers(1, 60))
def test_every_row_knows_its_line(file, block_size):
    """Blank lines and comments count as lines, and the row of a line is the one that stands there."""
    data, rows = file
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for found in (read_bytes(data), read_bytes(data, block_size=block_size)):
        for place, row in enumerate(rows):
            assert lines[found.columns.line(place) - 1].split() == [field.encode() for field in row]


def test_the_three_ways_to_end_a_line_and_a_late_oddity():
    """A tab, a double space, a comment and CRLF in the middle of a regular file change nothing."""
    regular = b"".join(b"q%d Q0 e%d 1 %d.5 t\n" % (i // 50, i, i) for i in range(200))
    lines = regular.split(b"\n")
    lines[100] = b"\t" + lines[100].replace(b" ", b"  ") + b"\v\r"
    lines[101] = b"# comment\n\n" + lines[101]
    odd = b"\n".join(lines)
    assert rows_of(read_bytes(odd, block_size=1000).run) == rows_of(read_bytes(regular).run)


def test_hostile_labels_are_opaque():
    """No label becomes a missing value, a number, a quote or a comment."""
    data = "".join(f"q Q0 {label} 1 {-place} {label}\n" for place, label in enumerate(HOSTILE)).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_bytes(data)
    assert [row[1] for row in rows_of(found.run)] == HOSTILE


def test_a_byte_order_mark_goes_only_at_the_beginning():
    """A label that begins with the same character in a later block keeps it."""
    data = "\ufeffq Q0 a 1 1 t\n\ufeffq Q0 a 1 1 t\n".encode()
    for found in (read_bytes(data), read_bytes(irregular(data)), read_bytes(data, 16)):
        assert list(found.run.questions) == ["q", "\ufeffq"]


@pytest.mark.parametrize("text", ["+1.5", "1e5", ".5", "5.", "-inf", "-Infinity", "-1e400", "-1E-400", "007"])
def test_every_decimal_number_of_c_is_a_score(text):
    """As Python's float reads it."""
    for data in (line := f"q Q0 e 1 {text} t".encode(), irregular(line)):
        assert read_bytes(data).run.score.tolist() == [float(text)]


@pytest.mark.parametrize("form", [bytes, irregular])
@pytest.mark.parametrize(
    "text", ["nan", "-NaN", "nan(1)", "foo", "0x1p3", "1_000", "1e", "--1", "1,5", "\u0661", "1\x01", "inf", "1e400"]
)
def test_what_is_no_number_is_refused(text, form):
    """NaN, +inf, hexadecimal and grouped digits included; the message names the line, the score and the way out."""
    message = refused(form(f"q Q0 a 1 1 t\nq Q0 b 2 {text} t\nq Q0 c 3 foo t\n".encode()))
    assert message.startswith("x.run:2: expected a number as score, got ")
    assert message.endswith("ranks it last." if text in ("nan", "-NaN") else "such as 0.71, 1e-5 or -inf.")


@pytest.mark.parametrize("form", [bytes, irregular])
def test_a_wrong_column_count_names_the_line(form):
    """The first such line is quoted, and the message says how labels with spaces are written."""
    data = b"# head\n\nq12 Q0 Rome 1 0.9 t\nq12 Q0 Paris 3 0.71\nq12 Q0 a b 3 0.71 t\n"
    assert refused(form(data)) == (
        "x.run:4: expected 6 columns (question Q0 entity rank score tag), got 5: 'q12 Q0 Paris 3 0.71'. "
        "An entity label may not contain spaces: see kgtrec questions --ids."
    )


def test_columns_are_those_of_trec_eval():
    """A doubled delimiter stands for no empty column, and a lone carriage return is white space and ends no line."""
    assert "x.run:1: expected 6 columns (question Q0 entity rank score tag), got 5" in refused(b"q  e 1 1 t\n")
    assert "got 12" in refused(b"q Q0 a 1 1 t\rq Q0 b 1 2 t\n")


def test_a_long_line_is_shortened():
    """An error stays readable."""
    message = refused(b"q Q0 " + b"x" * 10_000)
    assert "got 3: 'q Q0 xxx" in message
    assert "xxx...'." in message
    assert len(message) < 350


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"q Q0 a 1 1 t\nq Q0 caf\xe9 1 0 t\n", "x.run:2: expected UTF-8 text as entity, got 'caf\\xe9'"),
        (b"q Q0 a 1 1 t\0\n", "x.run:1: expected UTF-8 text, found a NUL byte"),
        ("q Q0 a 1 1 t\n".encode("utf-16-le"), "x.run:1: expected UTF-8 text, found a NUL byte"),
        (b"", "x.run: expected lines of 6 columns (question Q0 entity rank score tag), found an empty file"),
        (b"#\n\n \n", "found only comments and blank lines"),
    ],
)
def test_a_file_that_is_no_text_is_refused(data, expected):
    """Other encodings, binary data and empty files, with the line where there is one."""
    assert expected in refused(data)


@pytest.mark.parametrize("block_size", [16, 1 << 20])
def test_a_repeated_pair_is_refused_with_both_lines(block_size):
    """The first repetition in the file is named, comments counted as lines."""
    data = b"q Q0 a 1 3 t\n# c\nq Q0 b 2 2 t\nr Q0 a 2 2 t\nq Q0 b 3 1 t\nq Q0 a 3 1 t\n"
    assert refused(data, block_size=block_size) == (
        "x.run:5: expected each (question, entity) once, found 'q' 'b' here and on line 3; remove one of the two"
    )


@pytest.mark.slow
def test_the_first_wrong_line_comes_before_damage_further_on(tmp_path):
    """A wrong line in front of a cut-off gzip end is what the reader hears of."""
    rng = np.random.default_rng(0)
    data = b"q Q0 a 1 x t\n" + b"".join(b"q Q0 %d 1 1 t\n" % value for value in rng.integers(0, 2**40, 200_000))
    path = written(tmp_path, "x.run.gz", gzip.compress(data)[:-1_000])
    with pytest.raises(FormatError, match=r"x\.run\.gz:1: expected a number as score"):
        read_run(path)


def test_several_tags_warn_and_the_last_one_names_the_run(tmp_path):
    """As trec_eval does; a given name silences the warning."""
    path = written(tmp_path, "x.run", "q Q0 a 1 2 one\nq Q0 b 1 1 two\n")
    with pytest.warns(KgtrecWarning, match="expected one run tag, found 2 .'one', 'two'"):
        assert read_run(path).name == "two"
    assert read_run(path, name="mine").name == "mine"


def test_standard_input(monkeypatch):
    """``-`` is read once, whatever it holds."""

    class Stdin:
        buffer = io.BytesIO(b"q  Q0 a 1 +1 t\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_run("-").score.tolist() == [1.0]


@given(run=runs(), suffix=st.sampled_from(SUFFIXES))
@settings(max_examples=3 * settings.default.max_examples)
def test_round_trip(run, suffix, tmp_path_factory):
    """Writing and reading gives the same lists, exact scores and name, in every format; and the same bytes again."""
    folder = tmp_path_factory.mktemp("runs")
    path, again = folder / f"x{suffix}", folder / f"y{suffix}"
    write_run(path, run)
    found = read_run(path)
    assert rows_of(found) == rows_of(run)
    assert found.name == run.name
    write_run(again, found)
    assert rows_of(read_run(again)) == rows_of(run)
    if suffix != ".parquet":
        assert again.read_bytes() == path.read_bytes()


def test_ranks_are_places_and_scores_are_shortest(tmp_path):
    """The whole text of a small run."""
    codes = np.array([[0, 0, 0, 1], [0, 1, 2, 0]], np.int32)
    score = np.array([0.1, 1e22, -math.inf, 0.30000000000000004])
    run = Run.of("sys", *codes, score, Vocabulary.of(["q", "r"]), Vocabulary.of(["a", "b", "c"]))
    write_run(tmp_path / "x.run", run)
    assert (tmp_path / "x.run").read_text() == (
        "q Q0 b 1 1e+22 sys\nq Q0 a 2 0.1 sys\nq Q0 c 3 -inf sys\nr Q0 a 1 0.30000000000000004 sys\n"
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_make_the_same_file_as_the_whole(suffix, tmp_path):
    """A run streamed question by question is the run written at once."""
    rng = np.random.default_rng(3)
    question, entity = np.repeat(np.arange(30, dtype=np.int32), 40), np.tile(np.arange(40, dtype=np.int32), 30)
    questions, entities = Vocabulary.of(map("q{}".format, range(30))), Vocabulary.of(map("e{}".format, range(40)))
    run = Run.of("sys", question, entity, rng.normal(size=1200).round(1), questions, entities)
    write_run(tmp_path / f"whole{suffix}", run)
    with RunWriter(tmp_path / f"parts{suffix}", "sys") as out:
        for first in range(0, 1200, 80):
            rows = slice(first, first + 80)
            out.write(Run("", run.question[rows], run.entity[rows], run.score[rows], questions, entities))
    assert rows_of(read_run(tmp_path / f"parts{suffix}")) == rows_of(run)
    if suffix == ".run":
        assert (tmp_path / "parts.run").read_bytes() == (tmp_path / "whole.run").read_bytes()


def one_row(question: str = "q", entity: str = "e", name: str = "sys") -> Run:
    zero = np.zeros(1, np.int32)
    return Run.of(name, zero, zero, np.ones(1), Vocabulary.of([question]), Vocabulary.of([entity]))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (one_row(entity="New York"), "found 'New York'; see kgtrec questions --ids, or write .parquet"),
        (one_row(entity="a\u00a0b"), "found 'a\\xa0b'"),
        (one_row(question=""), "expected question labels without white space, not empty, found ''"),
        (one_row(question="#1"), "not beginning with '#' or a byte-order mark, found '#1'"),
        (one_row(name="my run"), "expected tag labels without white space, not empty, found 'my run'"),
        (one_row(entity="a\0"), "found 'a\\x00'"),
    ],
)
def test_labels_that_no_text_file_can_hold_are_refused(run, expected, tmp_path):
    """No file appears, not even an empty one; Parquet takes them."""
    with pytest.raises(KgtrecError) as caught:
        write_run(tmp_path / "x.run", run)
    assert expected in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    write_run(tmp_path / "x.parquet", run)
    assert rows_of(read_run(tmp_path / "x.parquet")) == rows_of(run)


def test_unused_labels_may_be_anything(tmp_path):
    """A vocabulary with a hostile label that no row uses is written."""
    write_run(tmp_path / "x.run", replace(one_row(), entities=Vocabulary.of(["e", "a b"])))
    assert (tmp_path / "x.run").read_text() == "q Q0 e 1 1 sys\n"


def test_a_question_in_two_parts_is_refused(tmp_path):
    """Its ranks would start anew; the target stays as it was."""
    path = tmp_path / "x.run"
    write_text(path, "")
    message = "expected the whole list of a question at once, found a question again"
    with pytest.raises(KgtrecError, match=message), RunWriter(path, "s") as out:  # noqa: PT012 (the block is what is interrupted)
        out.write(one_row())
        out.write(one_row())
    assert path.read_text() == ""
    assert list(tree(tmp_path)) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_run_is_not_written(suffix, tmp_path):
    """Reading would refuse it."""
    with pytest.raises(KgtrecError, match="one row"), RunWriter(tmp_path / f"x{suffix}", "s"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_error_half_way_leaves_no_file(suffix, tmp_path):
    """Neither the target nor a part of it."""
    with pytest.raises(RuntimeError), RunWriter(tmp_path / f"x{suffix}", "s") as out:  # noqa: PT012 (the block is what is interrupted)
        out.write(one_row())
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_parquet_of_other_tools(tmp_path):
    """ir-measures' column names, plain strings, float32, any order; the name is the file's."""
    columns = {"query_id": ["q", "q"], "score": pa.array([1, 2], pa.float32()), "doc_id": ["a", "007"], "more": [1, 2]}
    pq.write_table(pa.table(columns), tmp_path / "other.parquet")
    run = read_run(tmp_path / "other.parquet")
    assert run.name == "other"
    assert rows_of(run) == [("q", "007", (2.0).hex()), ("q", "a", (1.0).hex())]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"question": ["q"], "entity": ["e"]}, "expected a column score, found question, entity"),
        ({"question": [7], "entity": ["e"], "score": [1.0]}, "expected text in column question, found int64"),
        ({"question": ["q"], "entity": [None], "score": [1.0]}, "column entity, found none in row 0"),
        ({"question": ["q"], "entity": ["e"], "score": ["1"]}, "expected numbers in column score, found string"),
        ({"question": ["q"], "entity": ["e"], "score": [math.nan]}, r"found NaN for \(q, e\)"),
        ({"question": ["q"], "entity": ["e"], "score": [math.inf]}, r"found \+inf for \(q, e\)"),
        ({"question": ["q", "q"], "entity": ["e", "e"], "score": [1, 2]}, r"found \(q, e\) more than once"),
        (dict.fromkeys(("question", "entity", "score"), pa.array([], pa.string())), "expected rows, found an empty"),
    ],
)
@pytest.mark.parametrize("read", [read_run, lambda path: list(open_run(path).parts())], ids=["whole", "parts"])
def test_wrong_parquet_is_refused(read, columns, expected, tmp_path):
    """With the file and what is wrong with it; a run in parts when it is opened, or when the part is read."""
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match=expected) as caught:
        read(tmp_path / "x.parquet")
    assert str(caught.value).startswith(f"{tmp_path / 'x.parquet'}: ")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"q Q0 a 1 1 t\n", b"PAR1" + bytes(100) + b"PAR1"])
def test_damaged_parquet_is_refused(data, tmp_path):
    """In one line."""
    with pytest.raises(FormatError, match="expected a whole Parquet file, found damaged or other data"):
        read_run(written(tmp_path, "x.parquet", data))


def test_golden_inputs_read_as_they_are_written(data: Path, tmp_path):
    """Every golden run has as many rows as its file has lines, and survives a round trip."""
    for path in sorted((data / "trec_eval-golden").glob("*/run")):
        run = read_run(path)
        lines = [line.split() for line in path.read_bytes().splitlines() if line.strip() and not line.startswith(b"#")]
        assert len(run) == len(lines)
        assert {row[1] for row in rows_of(run)} == {line[2].decode() for line in lines}
        write_run(tmp_path / "x.run", run, force=True)
        assert rows_of(read_run(tmp_path / "x.run")) == rows_of(run)


def test_default_name():
    """The suffixes that tell format and compression go, other dots stay."""
    assert [default_name(name) for name in ("a/b.run.gz", "b.v2.run", "c.parquet", "-")] == ["b", "b.v2", "c", "-"]


def test_reading_and_writing_runs_needs_no_pandas(tmp_path):
    """Importing it takes as long as reading a large run; pyarrow's own conversions from and to numpy would."""
    code = (
        "import sys; from kgtrec.formats.trec.runs import read_run, write_run; from kgtrec.formats.sniff import sniff; "
        "path, out = sys.argv[1:]; sniff(path); write_run(out, read_run(path)); write_run('-', read_run(out)); "
        "print('pandas' in sys.modules, file=sys.stderr, flush=True)"
    )
    path = written(tmp_path, "x.run", "q Q0 a 1 2 s\nq Q0 b 2 1 s\n")
    # not its return code: pyarrow 17 may abort while the interpreter ends, when all has been said
    done = subprocess.run([sys.executable, "-c", code, path, tmp_path / "x.parquet"], capture_output=True, check=False)
    assert done.stdout == path.read_bytes()
    assert done.stderr.startswith(b"False\n"), done.stderr
