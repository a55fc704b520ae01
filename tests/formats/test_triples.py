"""Triples in every format, and what is said about damaged ones."""

from __future__ import annotations

import builtins
import gzip
import io
import sys
import warnings

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.triples import Triples
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.triples import describe_input, find_splits, input_files, read_splits, read_triples, write_triples

ROWS = [("NA", "null", "007"), ('he"said', "a,b", "x#1"), ("#c", "r s", "ice cream")]


def rows_of(triples: Triples) -> list[tuple[str, str, str]]:
    columns = (triples.decoded(name).to_pylist() for name in ("head", "relation", "tail"))
    return list(zip(*columns, strict=True))


def text_of(rows, delimiter="\t", end="\n"):
    return "".join(delimiter.join(row) + end for row in rows).encode()


def put(path, content: bytes):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        content = gzip.compress(content)
    if path.suffix == ".zst":
        content = pa.compress(content, "zstd", asbytes=True)
    path.write_bytes(content)
    return path


def put_openke(folder, splits):
    entities, relations = numbered(splits)
    put(folder / "entity2id.txt", counted([f"{label}\t{i}" for label, i in entities.items()]))
    put(folder / "relation2id.txt", counted([f"{label}\t{i}" for label, i in relations.items()]))
    for name, rows in splits.items():
        lines = [f"{entities[h]} {entities[t]} {relations[r]}" for h, r, t in rows]
        put(folder / f"{name}2id.txt", counted(lines))


def put_libkge(folder, splits):
    entities, relations = numbered(splits)
    put(folder / "entity_ids.del", "".join(f"{i}\t{label}\n" for label, i in entities.items()).encode())
    put(folder / "relation_ids.del", "".join(f"{i}\t{label}\n" for label, i in relations.items()).encode())
    for name, rows in splits.items():
        lines = (f"{entities[h]}\t{relations[r]}\t{entities[t]}\n" for h, r, t in rows)
        put(folder / f"{name}.del", "".join(lines).encode())


def put_nt(folder, splits):
    for name, rows in splits.items():
        lines = (f"<{h}> <{r}> <{t}> .\n" for h, r, t in rows)
        put(folder / f"{name}.nt.gz", "".join(lines).encode())


def put_tsv(folder, splits):
    for name, rows in splits.items():
        put(folder / f"{name}.txt.zst", text_of(rows))


def numbered(splits):
    rows = [row for name in ("test", "valid", "train") for row in splits[name]]
    entities = {label: i for i, label in enumerate(dict.fromkeys(label for h, _, t in rows for label in (t, h)))}
    return entities, {label: i for i, label in enumerate(dict.fromkeys(r for _, r, _ in rows))}


def counted(lines):
    return f"{len(lines)}\n{''.join(f'{line}{chr(10)}' for line in lines)}".encode()


SPLITS = {
    "train": [("http://e/a", "http://r/1", "http://e/b"), ("http://e/b", "http://r/2", "http://e/c")],
    "valid": [("http://e/c", "http://r/1", "http://e/a")],
    "test": [("http://e/a", "http://r/2", "http://e/d"), ("http://e/d", "http://r/1", "http://e/a")],
}


@pytest.mark.parametrize("name", ["kg.tsv", "kg.txt.gz", "kg.tsv.zst"])
def test_labels_stay_as_they_are(tmp_path, name):
    """NA, null, 007, quotes, commas, hashes and inner blanks are ordinary labels, compressed or not."""
    assert rows_of(read_triples(put(tmp_path / name, text_of(ROWS)))) == ROWS


@pytest.mark.parametrize("columns", ["hrt", "htr", "rht", "rth", "thr", "trh"])
def test_columns_come_in_any_order(tmp_path, columns):
    """The option names the order of the file."""
    places = ["hrt".index(letter) for letter in columns]
    path = put(tmp_path / "kg.tsv", text_of([tuple(row[place] for place in places) for row in ROWS]))
    assert rows_of(read_triples(path, columns=columns)) == ROWS


def test_crlf_blank_lines_a_byte_order_mark_and_no_final_newline(tmp_path):
    """None of these is part of a label."""
    content = b"\xef\xbb\xbf" + text_of(ROWS[:2], end="\r\n") + b"\r\n  \r\n" + "\t".join(ROWS[2]).encode()
    assert rows_of(read_triples(put(tmp_path / "kg.tsv", content))) == ROWS


def test_standard_input(monkeypatch):
    """`-` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text_of(ROWS))))
    assert rows_of(read_triples("-")) == ROWS


@pytest.mark.parametrize(
    ("delimiter", "content"),
    [
        (",", b"a,r,b\nc,r,d\n"),
        (" ", b"a r b\nc r d\n"),
        ("whitespace", b" a  r\t b \n\t\nc r d\t\r\n"),
        ("|", b"a|r|b\nc|r|d"),
    ],
)
def test_other_delimiters(tmp_path, delimiter, content):
    """One character, or any run of white space."""
    path = put(tmp_path / "kg.txt", content)
    assert rows_of(read_triples(path, delimiter=delimiter)) == [("a", "r", "b"), ("c", "r", "d")]


@pytest.mark.parametrize("put_splits", [put_tsv, put_openke, put_libkge, put_nt])
def test_every_format_gives_the_same_splits(tmp_path, put_splits):
    """A folder's train, valid and test triples, by label and in order."""
    put_splits(tmp_path, SPLITS)
    found = [rows_of(read_triples(path)) for path in find_splits(tmp_path)]
    assert found == list(SPLITS.values())


@pytest.mark.parametrize("put_splits", [put_openke, put_libkge])
def test_dictionaries_keep_their_numbers(tmp_path, put_splits):
    """Entity codes are the folder's own, so that score matrices of its models fit; unused labels stay too."""
    put_splits(tmp_path, SPLITS)
    for path in find_splits(tmp_path):
        triples = read_triples(path)
        assert list(triples.entities) == list(numbered(SPLITS)[0])
        assert list(triples.relations) == list(numbered(SPLITS)[1])


def test_openke_labels_may_hold_blanks(tmp_path):
    """The number is what follows the last white space, be it a blank or a TAB."""
    put_openke(tmp_path, SPLITS)
    put(tmp_path / "entity2id.txt", b"4\nice cream\t3\nd d 0\na\t1\nNA\t2\n")
    assert list(read_triples(tmp_path / "train2id.txt").entities) == ["d d", "a", "NA", "ice cream"]


label = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1, max_size=4)


@given(
    st.lists(st.tuples(label, label, label), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"])
)
def test_fields_are_what_stands_between_tabs(rows, end):
    """Whatever the labels and line ends; a lone carriage return ends no line, though Arrow takes it for one."""
    for own in (rows, [*rows, ("a", "lone\rreturn", "b")]):
        columns = read_fields(Lines("kg.tsv", text_of(own, end=end)), 3, "three")
        assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == own


@given(st.lists(st.tuples(label, label, label), min_size=1, max_size=8), st.sampled_from(["kg.tsv", "kg.txt.zst"]))
def test_what_is_written_reads_back(tmp_path_factory, rows, name):
    """Labels, order and repeats."""
    path = tmp_path_factory.mktemp("kg") / name
    if not rows[0][0].startswith("\ufeff"):  # at the beginning of a file this is a byte-order mark
        write_triples(path, Triples.of(rows))
        assert rows_of(read_triples(path)) == rows


@pytest.mark.parametrize("wrong", ["", "a\tb", "a\nb", "a\rb"])
def test_a_label_that_would_not_read_back_is_not_written(tmp_path, wrong):
    """Named, and no file is left."""
    with pytest.raises(KgtrecError, match=r"expected relation labels without tabs and line breaks, not empty, found"):
        write_triples(tmp_path / "kg.tsv", Triples.of([("a", wrong, "b")]))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_and_a_cut_off_file(tmp_path):
    """The path comes first."""
    with pytest.raises(FormatError, match=r"gone.tsv: no such file"):
        read_triples(tmp_path / "gone.tsv")
    for name in ("kg.tsv.gz", "kg.nt.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"<http://a> <http://r> <http://b> .\n" * 5000)[:-9])
        with pytest.raises(FormatError, match="expected whole compressed data, found damaged or cut-off data"):
            read_triples(path)


def test_a_missing_dictionary_is_named(tmp_path):
    """Numbers alone say nothing."""
    put_openke(tmp_path, SPLITS)
    (tmp_path / "relation2id.txt").unlink()
    with pytest.raises(FormatError, match=r"train2id.txt: expected relation2id.txt beside it"):
        read_triples(tmp_path / "train2id.txt")


NT = b'<http://a> <http://p> "Rome\\t1"@it .\n_:x <http://p> <http://a> .\n'


def test_ntriples_skip_literals_and_say_so(tmp_path):
    """A literal is a value, not an entity; on request it is kept as it is written. A blank node keeps its label."""
    path = put(tmp_path / "kg.nt", NT)
    blank = ("_:x", "http://p", "http://a")
    with pytest.warns(KgtrecWarning, match="1 triples .*--literals keep"):
        assert rows_of(read_triples(path)) == [blank]
    assert rows_of(read_triples(path, literals="keep")) == [("http://a", "http://p", '"Rome\\t1"@it'), blank]


def test_ntriples_without_the_parser(tmp_path, monkeypatch):
    """The message says what to install."""
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "pyoxigraph":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(KgtrecError, match=r'pip install "kgtrec\[rdf\]"'):
        read_triples(put(tmp_path / "kg.nt", NT))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "hhr"}, "expected columns with h, r and t (head, relation, tail) once each, and q"),
        ({"format": "tvs"}, "found 'tvs'; did you mean tsv?"),
        ({"delimiter": "::"}, "expected delimiter to be one ASCII character or 'whitespace', found '::'"),
        ({"literals": "drop"}, "expected literals to be one of skip, keep, found 'drop'"),
        ({"format": "nt", "columns": "htr"}, "expected no columns or delimiter for format nt, which has its own"),
    ],
)
def test_a_wrong_option_is_named(tmp_path, options, message):
    """Before anything is read."""
    with pytest.raises(KgtrecError) as caught:
        read_triples(tmp_path / "kg.tsv", **options)
    assert message in str(caught.value)


def test_a_folder_without_one_file_per_split(tmp_path):
    """None, or several."""
    put(tmp_path / "train.tsv", b"a\tr\tb\n")
    with pytest.raises(FormatError, match=r"expected one file of test triples .*, found none; name the files"):
        find_splits(tmp_path)
    put(tmp_path / "train.txt", b"a\tr\tb\n")
    with pytest.raises(FormatError, match=r"found train.tsv, train.txt; name the files instead"):
        find_splits(tmp_path)


def test_the_files_behind_a_path(tmp_path):
    """Dictionaries count as inputs; the manifest names files without folders."""
    put_libkge(tmp_path, SPLITS)
    found = {path.name for path in input_files(tmp_path / "test.del")}
    assert found == {"test.del", "entity_ids.del", "relation_ids.del"}
    assert input_files("-") == []
    about = describe_input(put(tmp_path / "empty", b""), split="train")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert about == {"name": "empty", "sha256": empty, "split": "train"}


@pytest.mark.parametrize(
    "header",
    [
        *("head relation tail", "Subject PREDICATE Object", "h r t", "source type target"),
        *("head_id relation_id tail_id", '"head" "relation" "tail"'),
    ],
)
def test_a_line_of_column_names_is_no_triple(tmp_path, header):
    """It is skipped with a warning that says how to read it; a byte-order mark and blank lines may stand before it."""
    path = put(tmp_path / "kg.tsv", f"\ufeff\n{header}\na r b\n".replace(" ", "\t").encode())
    with pytest.warns(KgtrecWarning, match=r"kg.tsv: skipped the first line, which names the columns \(.*--no-header"):
        assert rows_of(read_triples(path)) == [("a", "r", "b")]
    assert len(read_triples(path, header=False)) == 2


@pytest.mark.parametrize("form", [("rht", ",", "relation,head,tail\nr,a,b\n"), ("hrt", "whitespace", " h  r t\na r b")])
def test_column_names_are_in_the_order_of_the_columns(tmp_path, form):
    """Under any delimiter."""
    columns, delimiter, text = form
    with pytest.warns(KgtrecWarning, match="names the columns"):
        found = read_triples(put(tmp_path / "kg.csv", text.encode()), columns=columns, delimiter=delimiter)
    assert rows_of(found) == [("a", "r", "b")]


@pytest.mark.parametrize("text", ["tail\trelation\thead", "h\tp\tt", "head\tlikes\ttail", "heads\trelation\ttail"])
def test_a_line_that_reads_otherwise_is_a_triple(tmp_path, text):
    """Names at other places, letters of two kinds, one word that names no column; and any line but the first."""
    path = put(tmp_path / "kg.tsv", f"{text}\nhead\trelation\ttail\n".encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read_triples(path)) == 2


def test_a_file_of_a_header_alone_has_no_triples(tmp_path):
    path = put(tmp_path / "kg.tsv", b"head\trelation\ttail\n")
    with pytest.warns(KgtrecWarning), pytest.raises(FormatError, match="expected at least one triple, found none"):
        read_triples(path)
    with pytest.warns(KgtrecWarning):
        assert len(read_triples(path, may_be_empty=True)) == 0


def test_valid_may_be_empty_and_no_other_split(tmp_path):
    """In any format; an empty train or test is an error, as before."""
    full, empty = put(tmp_path / "train.tsv", b"a\tr\tb\n"), put(tmp_path / "valid.tsv", b"")
    assert [len(split) for split in read_splits(full, empty, full)] == [1, 0, 1]
    for paths in ((empty, full, full), (full, full, empty)):
        with pytest.raises(FormatError, match="found an empty file"):
            read_splits(*paths)
    put(tmp_path / "kg" / "entity2id.txt", b"2\na\t0\nb\t1\n")
    put(tmp_path / "kg" / "relation2id.txt", b"1\nr\t0\n")
    assert len(read_triples(put(tmp_path / "kg" / "valid2id.txt", b"0\n"), may_be_empty=True)) == 0


def test_a_folder_without_validation_triples(tmp_path):
    """There is no valid split, unless a file of its name is in another format than the others."""
    train, test = (put(tmp_path / f"{name}.txt", b"a\tr\tb\n") for name in ("train", "test"))
    assert find_splits(tmp_path) == (train, None, test)
    put(tmp_path / "valid.parquet", b"")
    with pytest.raises(FormatError, match=r"expected one file of valid triples .*, found none; name the files"):
        find_splits(tmp_path)
    (tmp_path / "valid.parquet").unlink()
    val = put(tmp_path / "val.tsv", b"a\tr\tb\n")
    assert find_splits(tmp_path) == (train, val, test)
