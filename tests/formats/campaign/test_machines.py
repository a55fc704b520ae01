"""machine/NAME.jsonl: what a program says of pooled triples."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.arrow import labels_of
from kgtrec.data.machines import MachineVerdicts
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.machines import machine_file, machines_in, read_machine, read_machine_file, write_machine
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import pool_of

POOL = pool_of([3])  # e0 r0 e1, e0 r0 e2, e0 r0 e3
LARGE = pool_of([50])
LINE = {"head": "e0", "relation": "r0", "tail": "e2", "verdict": "Y", "probability": 0.75}


def text_of(*lines: object) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def read(folder: Path, data: bytes, name: str = "given.jsonl") -> MachineVerdicts:
    (folder / name).write_bytes(data)
    return read_machine_file(folder / name, POOL)


def test_the_file_as_it_is_written(tmp_path: Path):
    """Lines in the order of the pool, keys in one order, null for no probability, no line break within a line."""
    pool = campaign_of().pool
    texts = labels_of(["weil\u2028es", ""])
    rows, verdict = np.array([1, 3], np.int32), np.array([0, 2], np.int8)
    said = MachineVerdicts(rows, verdict, np.array([0.1, np.nan]), texts, labels_of(["m", "m"]), labels_of(["", "f0"]))
    write_machine(tmp_path, "llama-8b", pool, said)
    assert machine_file(tmp_path, "llama-8b").read_text() == (
        '{"head": "de", "relation": "capital", "tail": "\'n", "verdict": "N", "probability": 0.1, '
        '"reason": "weil\\u2028es", "model": "m", "prompt": ""}\n'
        '{"head": "fr", "relation": "capital", "tail": "<script>alert(1)</script>", "verdict": "unsure", '
        '"probability": null, "reason": "", "model": "m", "prompt": "f0"}\n'
    )
    assert machines_in(tmp_path) == ("llama-8b",)
    assert repr(read_machine(tmp_path, "llama-8b", pool)) == "<MachineVerdicts: 2>"


CELLS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=9)


@given(
    st.dictionaries(
        st.integers(0, 49), st.tuples(st.integers(0, 2), st.none() | st.floats(0, 1), CELLS, CELLS), min_size=1
    )
)
def test_what_is_written_is_read(rows):
    """Verdicts, probabilities to the last bit, and any text."""
    triple = sorted(rows)
    verdict, probability, reason, model = zip(*(rows[row] for row in triple), strict=True)
    numbers = np.array([np.nan if number is None else number for number in probability])
    texts = labels_of(reason), labels_of(model), labels_of(model)
    said = MachineVerdicts(np.array(triple, np.int32), np.array(verdict, np.int8), numbers, *texts)
    with tempfile.TemporaryDirectory() as folder:
        write_machine(folder, "a", LARGE, said)
        first = machine_file(folder, "a").read_bytes()
        again = read_machine(folder, "a", LARGE)
        write_machine(folder, "a", LARGE, again)
        assert machine_file(folder, "a").read_bytes() == first
    assert again.triple.tolist() == triple
    assert again.verdict.tolist() == list(verdict)
    np.testing.assert_array_equal(again.probability, numbers)
    assert again.reason.to_pylist() == list(reason)
    assert again.model.to_pylist() == list(model)


def test_only_triple_and_verdict_are_needed(tmp_path: Path):
    """The rest is none; lines may come in any order, with a byte-order mark, blank lines and other line ends."""
    lines = [{**LINE, "probability": None, "reason": None}, {**LINE, "tail": "e1", "verdict": "unsure"}]
    del lines[1]["probability"]
    said = read(tmp_path, b"\xef\xbb\xbf" + text_of(*lines).replace(b"\n", b"\r\n\r\n"))
    assert (said.triple.tolist(), said.verdict.tolist()) == ([0, 1], [2, 1])
    assert np.isnan(said.probability).all()
    assert said.reason.to_pylist() == ["", ""]
    assert said.of_pool(3)[0].tolist() == [2, 1, -1]


@pytest.mark.parametrize("tab", [",", "\t"])
def test_a_table(tmp_path: Path, tab: str):
    """CSV or TSV by the suffix, with columns in any order."""
    rows = [["verdict", "head", "relation", "tail", "probability"], ["N", "e0", "r0", "e3", ".25"]]
    said = read(tmp_path, "\n".join(map(tab.join, [*rows, ["Y", "e0", "r0", "e1", ""]])).encode(), "given.csv")
    assert (said.triple.tolist(), said.verdict.tolist()) == ([0, 2], [1, 0])
    np.testing.assert_array_equal(said.probability, [np.nan, 0.25])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probability": 1.5}, "expected a number from 0 to 1 as probability, or null, found 1.5"),
        ({"probability": -0.1}, "expected a number from 0 to 1"),
        ({"probability": float("nan")}, "expected a number from 0 to 1 as probability, or null, found nan"),
        ({"probability": float("inf")}, "expected a number from 0 to 1"),
        ({"probability": "0.5"}, "expected a number from 0 to 1"),
        ({"probability": True}, "expected a number from 0 to 1"),
        ({"verdict": "Maybe"}, "expected a verdict of N, Y, unsure, found 'Maybe'"),
        ({"verdict": "y"}, "did you mean Y?"),
        ({"verdict": 1}, "expected text as verdict, found '1'"),
        ({"tail": "e9"}, "expected a triple of the pool, found 'e0 r0 e9'; is this file about another pool?"),
        ({"tail": ""}, "expected text as tail, found ''"),
        ({"tail": "日本"}, "expected a triple of the pool, found 'e0 r0 日本'"),
        ({"reason": "x" * 3_000_000}, "expected at most 100,000 characters of text as reason, found 3,000,000"),
        ({"reason": ["x"]}, "expected text as reason"),
        ({"model": "a\0b"}, "characters of text as model, found NUL"),
        ({"probabilities": 0.5}, "found 'probabilities'; did you mean probability?"),
    ],
)
def test_a_line_that_cannot_be_one(tmp_path: Path, changes, message):
    """File, line, what was expected and what was found, of at most a few lines."""
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text_of({**LINE, "tail": "e1"}, {**LINE, **changes}))
    assert str(caught.value).startswith(f"{tmp_path / 'given.jsonl'}:2: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 0, "expected verdicts, a line with head, relation, tail, verdict each, found an empty file"),
        (b"\n\n", 0, "found an empty file"),
        (text_of(LINE) + b'{"head": "e0", "rela', 2, "expected JSON, found something else"),
        (text_of(LINE) + b"[1]", 2, "expected a JSON object with head, relation, tail, verdict, found '[1]'"),
        (text_of(LINE, LINE), 2, "expected each triple once, found e0 r0 e2 here and on line 1; remove one of them"),
        (text_of({"head": "e0", "relation": "r0", "verdict": "Y"}), 1, "expected tail in every row"),
        (text_of({}), 1, "expected head in every row, found nothing"),
        (b'{"head": "e0", "head": "e0"}', 1, "the key 'head' twice"),
        (b'{"head": "\xff"}', 1, "not UTF-8"),
        (b'{"head": "\\ud800"}', 1, "half a surrogate pair"),
        (b"[" * 100_000, 1, "brackets nested too deeply"),
        (text_of({**LINE, "probability": 1}).replace(b": 1}", b": " + b"9" * 5000 + b"}"), 1, "a number too long"),
    ],
)
def test_a_file_that_cannot_be_one(tmp_path: Path, data: bytes, line: int, message: str):
    """The first wrong line is named, and what is wrong with it."""
    with pytest.raises(FormatError) as caught:
        read(tmp_path, data)
    assert str(caught.value).startswith(f"{tmp_path / 'given.jsonl'}:{f'{line}:' if line else ''} ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"head,relation,tail,verdict,probability\ne0,r0,e1,Y,1.5\n", "expected a number from 0 to 1"),
        (b"head,relation,tail,verdict,probability\ne0,r0,e1,Y,nan\n", "probability, or null, found nan"),
        (b"head,relation,tail\ne0,r0,e1\n", "expected verdict in every row, found head, relation, tail"),
        (b"head,relation,tail,verdict,head\ne0,r0,e1,Y,e0\n", "expected each column once"),
        (b"", "found an empty file"),
    ],
)
def test_a_table_that_cannot_be_one(tmp_path: Path, data: bytes, message: str):
    """As for lines of JSON."""
    with pytest.raises(FormatError, match=message):
        read(tmp_path, data, "given.csv")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\\b", ".hidden", "x" * 65, "Größe", "a\n", "-x"])
def test_a_name_is_safe_as_that_of_a_file(name: str):
    """Letters of ASCII, digits and signs that no system treats in a special way."""
    with pytest.raises(KgtrecError, match="expected the name of a machine"):
        machine_file("campaign", name)


def test_a_machine_that_a_campaign_has_not(tmp_path: Path):
    """The error names those that it has."""
    with pytest.raises(KgtrecError, match="none has any yet, found 'llama'; kgtrec campaign import --machine llama"):
        read_machine(tmp_path, "llama", POOL)
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "llama-8b.jsonl").write_bytes(text_of(LINE))
    (tmp_path / "machine" / "notes.txt").write_bytes(b"")
    with pytest.raises(KgtrecError, match="llama-8b, found 'llama'; did you mean llama-8b"):
        read_machine(tmp_path, "llama", POOL)
    (tmp_path / "machine" / "folder.jsonl").mkdir()
    with pytest.raises(FormatError, match="expected a file, found a folder"):
        read_machine(tmp_path, "folder", POOL)
