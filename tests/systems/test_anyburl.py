"""Ranking files as AnyBURL, PyClause and SAFRAN write them, whole and damaged."""

from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import FormatError
from kgtrec.systems import anyburl
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import lists_in, refused

TWO = (
    "ann parent bob\n"
    "Heads: dot\t0.9\tann\t0.5\t\n"
    "Tails: eve\t0.8\tbob\t0.8\tcid\t0.1\t\n"
    "ann parent cid\n"
    "Heads: \n"
    "Tails: eve\t0.8\tcid\t0.1\t\n"
)


def written(folder, text, name="preds.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


EXPECTED = [
    ("head", "bob", "parent", "ann", ["dot", "ann"], [0, 1]),
    ("tail", "ann", "parent", "bob", ["eve", "bob", "cid"], [0, 1, 2]),
    ("head", "cid", "parent", "ann", [], []),
    ("tail", "ann", "parent", "cid", ["eve", "cid"], [0, 1]),
]


def test_a_triple_has_a_list_of_heads_and_one_of_tails(tmp_path):
    """In the order of the file: equal scores do not tie."""
    path = written(tmp_path, TWO)
    assert lists_in(path, "anyburl") == EXPECTED
    assert adapter_of(path).name == "anyburl"
    assert read_system(path).name == "preds"
    assert read_system(path).kind == "ranked heads and tails of 2 triples, as AnyBURL, PyClause and SAFRAN write them"


@pytest.mark.parametrize(
    "text",
    [
        TWO.replace("\n", "\r\n"),
        TWO.removesuffix("\t\n"),
        "\ufeff" + TWO,
        "\n" + TWO.replace("\nann", "\n\n\nann"),
        TWO.replace("\t\n", "\n"),
        TWO.replace("ann parent", "ann\tparent")
        .replace("parent bob", "parent\tbob")
        .replace("parent cid", "parent\tcid"),
        TWO.replace("\t", " "),
        TWO.replace("\t", "  "),
        TWO.replace("Heads: ", "Heads:").replace("Tails: ", "Tails:\t"),
    ],
    ids=["CRLF", "no end", "mark", "blank lines", "no last tab", "tabs in triples", "spaces", "two spaces", "no space"],
)
def test_layouts_of_one_file(tmp_path, text):
    """Whatever stands between the columns, and at the ends of lines."""
    assert lists_in(written(tmp_path, text), "anyburl") == EXPECTED


def test_the_two_lists_come_in_either_order(tmp_path):
    """PyClause's evaluation takes both."""
    lines = TWO.splitlines()
    swapped = "\n".join([lines[0], lines[2], lines[1], *lines[3:]])
    found = lists_in(written(tmp_path, swapped), "anyburl")
    assert found == [EXPECTED[1], EXPECTED[0], *EXPECTED[2:]]


def test_compressed_files(tmp_path):
    """By their suffix; the name is without."""
    path = written(tmp_path, gzip.compress(TWO.encode()), "preds-100.txt.gz")
    assert lists_in(path, "anyburl") == EXPECTED
    assert adapter_of(path).name == "anyburl"
    assert read_system(path).name == "preds-100"


def test_labels_with_spaces_stand_between_tabs(tmp_path):
    """In triples and lists alike; a label may also begin as a list does."""
    text = "new york\tcity of\tHeads: up\nHeads: los angeles\t1\t\nTails: Heads: up\t1\tmexico\t0.5\t\n"
    assert lists_in(written(tmp_path, text), "anyburl") == [
        ("head", "Heads: up", "city of", "new york", ["los angeles"], [0]),
        ("tail", "new york", "city of", "Heads: up", ["Heads: up", "mexico"], [0, 1]),
    ]


def test_scores_of_any_form(tmp_path):
    """Six digits, sixteen, fifty, exponents, infinity and NaN: the order is what counts."""
    scores = ["0.9", "0.1234567890123456", f"0.{'3' * 50}", "1.2e-05", "inf", "-Infinity", "nan", "1"]
    listed = "".join(f"e{place}\t{score}\t" for place, score in enumerate(scores))
    found = lists_in(written(tmp_path, f"a r b\nHeads: {listed}\nTails: \n"), "anyburl")
    assert found[0][4] == [f"e{place}" for place in range(len(scores))]


LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0 "), min_size=1, max_size=4)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.tuples(LABELS, LABELS, LABELS),
            st.lists(LABELS, unique=True, max_size=5),
            st.lists(LABELS, unique=True, max_size=5),
        ),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 40),
    st.booleans(),
)
def test_what_is_written_is_read_back(tmp_path_factory, triples, block_size, tabs):
    """Any labels, and any cut of the file into blocks."""
    blank = "\t" if tabs else " "
    text, expected = [], []
    for (head, relation, tail), heads, tails in triples:
        text.append(blank.join((head, relation, tail)))
        for word, listed in (("Heads", heads), ("Tails", tails)):
            text.append(f"{word}: " + "".join(f"{label}\t{1 / (place + 1)}\t" for place, label in enumerate(listed)))
        expected.append(("head", tail, relation, head, heads, list(range(len(heads)))))
        expected.append(("tail", head, relation, tail, tails, list(range(len(tails)))))
    path = written(tmp_path_factory.mktemp("any"), "\n".join(text) + "\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(anyburl, "_BLOCK_SIZE", block_size)
        found = lists_in(path, "anyburl")
    assert found == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ranked"),
        ("\n \n".replace(" ", ""), "ranked"),
        (
            TWO.rpartition("Tails")[0],
            "preds.txt:5: expected a list of heads and one of tails below each triple, found the end of the file; was "
            "it cut off?",
        ),
        (
            TWO.replace("Tails: eve\t0.8\tbob\t0.8\tcid\t0.1\t\n", ""),
            "preds.txt:3: expected a line of 'Heads: ...' or 'Tails: ...' below a triple: 'ann parent cid'",
        ),
        (
            TWO.replace("Tails", "Heads", 1),
            "preds.txt:3: expected one list of heads and one of tails for each triple, found two of heads",
        ),
        (
            TWO.replace("\t0.5", ""),
            "preds.txt:2: expected a score for each entity, found 3 columns; labels with spaces need tabs between the "
            "columns of every line: 'Heads: dot",
        ),
        (
            TWO.replace("ann parent cid", "ann is parent cid"),
            "preds.txt:4: expected head, relation and tail, found 4 columns; labels with spaces need tabs",
        ),
        (
            TWO.partition(" parent cid")[0],
            "preds.txt:4: expected head, relation and tail, found 1 column; the file may be cut off: 'ann'",
        ),
        (TWO.replace("0.5", "half"), "preds.txt:2: expected a number behind each entity, found 'half'"),
        (
            TWO.replace("dot\t0.9", "dot\t\t0.9\t"),
            "preds.txt:2: expected a label or a score between two tabs, found none",
        ),
        (
            TWO.replace("eve\t0.8\tcid", "cid\t0.8\tcid"),
            "preds.txt:6: expected each entity once in a list, found 'cid'",
        ),
        (TWO.encode().replace(b"eve", b"\xe9ve"), "preds.txt:3: expected UTF-8 text, found 'Tails: "),
        (TWO.replace("cid\n", "c\0d\n"), "preds.txt:4: expected text in UTF-8, found a zero byte"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, text, message):
    """With its line, what was expected and what was found."""
    path = written(tmp_path, text)
    assert refused(re.escape(message), path, "anyburl").startswith(str(path))


@settings(deadline=None)
@given(st.integers(1, len(TWO) - 1))
def test_a_file_that_is_cut_off_is_refused_or_ends_after_a_list(tmp_path_factory, end):
    """At any byte: what is read holds no part of a triple."""
    path = written(tmp_path_factory.mktemp("cut"), TWO[:end])
    try:
        found = lists_in(path, "anyburl")
    except FormatError:
        return
    assert len(found) in (2, 4)
    assert [row[:4] for row in found] == [row[:4] for row in EXPECTED[: len(found)]]


def test_other_files_are_not_taken_for_one(tmp_path):
    """By the second line."""
    for text in ("", "a\tr\tb\n", "tail0 Q0 a 1 0.5 x\n", "Heads: a\t1\t\n"):
        assert not anyburl._recognises(written(tmp_path, text))
    assert not anyburl._recognises(tmp_path)
    assert not anyburl._recognises(tmp_path / "none.txt")
    assert not anyburl._recognises(written(tmp_path, b"no gzip", "a.txt.gz"))
