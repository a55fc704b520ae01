"""Ranked lists as JSON Lines, and names in place of labels."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.errors import FormatError
from kgtrec.systems.registry import adapter_of, read_system
from tests.systems.model_worlds import lists_in, refused


def row(**more):
    return {"head": "ann", "relation": "parent", "tail": None, "candidates": [["bob", 0.9], ["cid", 0.2]]} | more


def written(folder, rows, name="kgt5.jsonl"):
    path = folder / name
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
    return path


def test_a_line_is_a_list(tmp_path):
    """The side of null is asked for; equal scores tie; labels alone do not; a list may be for one answer."""
    path = written(
        tmp_path,
        [
            row(),
            row(head=None, tail="bob", candidates=[["ann", 1], ["dot", 1.0], ["cid", -2]]),
            row(candidates=["cid", "bob"], answer="bob", model="kgt5"),
            "",
            row(candidates=[]),
            {"relation": "parent", "tail": "cid", "candidates": [["ann", float("-inf")]]},
        ],
    )
    assert lists_in(path, "jsonl") == [
        ("tail", "ann", "parent", None, ["bob", "cid"], [0, 1]),
        ("head", "bob", "parent", None, ["ann", "dot", "cid"], [0, 0, 1]),
        ("tail", "ann", "parent", "bob", ["cid", "bob"], [0, 1]),
        ("tail", "ann", "parent", None, [], []),
        ("head", "cid", "parent", None, ["ann"], [0]),
    ]
    assert adapter_of(path).name == "jsonl"
    assert read_system(path).name == "kgt5"


def test_compressed_lists_with_a_byte_order_mark(tmp_path):
    """As any other text."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + json.dumps(row()).encode() + b"\r\n"))
    assert lists_in(path, "jsonl") == [("tail", "ann", "parent", None, ["bob", "cid"], [0, 1])]
    assert adapter_of(path).name == "jsonl"


LABELS = st.text(st.characters(codec="utf-8"), max_size=4)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), LABELS, LABELS, st.none() | LABELS, st.lists(LABELS, unique=True, max_size=4)),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_what_is_written_is_read_back(tmp_path_factory, rows, ascii_only):
    """Any labels, the empty one among them, as escapes or not."""
    lines = [
        json.dumps(
            {
                "head": None if is_head else anchor,
                "tail": anchor if is_head else None,
                "relation": relation,
                "answer": answer,
                "candidates": [[label, -place] for place, label in enumerate(listed)],
            },
            ensure_ascii=ascii_only,
        )
        for is_head, anchor, relation, answer, listed in rows
    ]
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_bytes(("\n".join(lines) + "\n").encode())
    assert lists_in(path, "jsonl") == [
        ("head" if is_head else "tail", anchor, relation, answer, listed, list(range(len(listed))))
        for is_head, anchor, relation, answer, listed in rows
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"head": "ann", ',
            "expected JSON, found something else (expecting property name enclosed in double quotes); a",
        ),
        ("[1]", "expected an object such as"),
        (
            row(tail="bob"),
            "expected the side that is asked for to be null, head or tail, found neither; the answer that a",
        ),
        (row(head=None), "expected the side that is asked for to be null, head or tail, found both"),
        (row(head=7), "expected a text as head, found int"),
        (row(relation=None), "expected a text as relation, found nothing"),
        (row(answer=["bob"]), "expected a text as answer, or null, found list"),
        (row(candidates=None), "expected a list as candidates, found none"),
        (row(candidates="bob"), "expected a list as candidates, found str"),
        (row(candidates=["bob", ["cid", 0.2]]), "expected candidates that are all [label, score], or all labels"),
        (row(candidates=[["bob", 0.9], ["cid"]]), "expected candidates that are all [label, score], or all labels"),
        (row(candidates=[["bob", "0.9"]]), "expected [label, score] as candidates, a text and a number, found others"),
        (row(candidates=[["bob", True]]), "expected [label, score] as candidates, a text and a number, found others"),
        (row(candidates=[[0.9, "bob"]]), "expected [label, score] as candidates, a text and a number, found others"),
        (row(candidates=[["bob", float("nan")]]), "expected numbers as scores, found NaN or +inf"),
        (row(candidates=[["bob", float("inf")]]), "expected numbers as scores, found NaN or +inf"),
        (row(candidates=[["bob", 10**400]]), "expected scores that a float can hold, found a larger number"),
        (
            row(candidates=[["bob", 0.2], ["cid", 0.9]]),
            "expected candidates from the best to the worst, the highest score first, found 0.9 below 0.2; sort them, "
            "change the sign of distances, or leave the scores out",
        ),
        (
            row(candidates=["bob", "cid", "bob"]),
            "expected each entity once among the candidates, found 'bob' more than",
        ),
        (json.dumps(row()).replace("bob", "\\ud800"), "expected JSON, found half a surrogate pair in a text"),
        ("[" * 100_000, "expected JSON, found brackets nested too deeply"),
        (json.dumps(row()).replace("0.9", "9" * 5000), "expected JSON, found a number too long to read"),
    ],
)
def test_a_wrong_line_is_refused(tmp_path, line, message):
    """With its number, what was expected and what was found."""
    path = written(tmp_path, [row(), "", line, row()])
    with pytest.raises(FormatError) as refused:
        read_system(path, "jsonl")
    assert str(refused.value).startswith(f"{path}:3: {message}")
    assert "\n" not in str(refused.value)


def test_other_bytes_and_empty_files_are_refused(tmp_path):
    """A file of blank lines is empty too."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(row()).encode() + b"\n" + b'{"head": "caf\xe9"}\n')
    refused(r"a.jsonl:2: expected JSON, found something else \(not UTF-8\)", path, "jsonl")
    path.write_bytes(b"\n\n")
    refused(r"expected lines such as .*, found an empty file", path, "jsonl")


# names


@pytest.fixture
def names(tmp_path):
    """Ann has two names, and Bob shares his with Rob."""
    path = tmp_path / "names.tsv"
    path.write_text("Q1\tAnn\twriter\nQ1\tAnnie\tthe same\nQ2\tBob\tx\nQ3\tBob\ty\nQ4\tCid\tz\n")
    return path


def test_names_stand_for_labels(tmp_path, names):
    """Of anchors, answers and candidates; a name that the file lacks is taken for a label."""
    relations = tmp_path / "relations.tsv"
    relations.write_text("P40\tparent\n")
    path = written(tmp_path, [row(head="Annie", answer="Cid", candidates=["Cid", "Q3", "Dot"])])
    assert lists_in(path, "jsonl", entities=names, relations=relations) == [
        ("tail", "Q1", "P40", "Q4", ["Q4", "Q3", "Dot"], [0, 1, 2])
    ]


def test_a_name_of_two_entities_is_refused_where_it_is_used(tmp_path, names):
    """With both; a file that does not use it is read."""
    assert lists_in(written(tmp_path, [row(head="Ann", candidates=["Cid"])]), "jsonl", entities=names)
    path = written(tmp_path, [row(head="Ann", candidates=["Bob"])])
    with pytest.raises(FormatError) as refused:
        read_system(path, "jsonl", entities=names)
    assert str(refused.value) == (
        f"{names}: expected each name to belong to one entity, found 'Bob' for Q2 and Q3 (1 such name in the lists); "
        "put labels there in place of these names"
    )


def test_two_names_of_one_entity_in_a_list_are_refused(tmp_path, names):
    """It would have two places."""
    path = written(tmp_path, [row(head="Q4", candidates=["Ann", "Annie"])])
    message = (
        r"kgt5.jsonl:1: expected each entity once among the candidates, found 'Q1' more than once, perhaps under two"
    )
    refused(message, path, "jsonl", entities=names)


def test_wrong_files_of_names_are_refused(tmp_path):
    """Lines without a name, and no lines."""
    path, names = written(tmp_path, [row()]), tmp_path / "names.tsv"
    for text, message in (
        ("Q1\tAnn\nQ2\n", "names.tsv:2: expected "),
        ("", "expected lines of a label, a tab and a name, found an empty file"),
    ):
        names.write_text(text)
        refused(message, path, "jsonl", entities=names)
