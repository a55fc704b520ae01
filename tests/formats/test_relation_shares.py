"""Shares of relations are read to the letter, or refused with their line."""

from __future__ import annotations

import pytest

from kgtrec.errors import FormatError
from kgtrec.formats.relation_shares import read_relation_shares


def test_labels_are_read_to_the_letter(tmp_path):
    """After a byte-order mark too, and with the signs at which some programs break lines."""
    path = tmp_path / "shares.tsv"
    path.write_bytes("\ufefflikes\t3\r\nborn\u2028in\t1e-3\nknows\x85\t0\n".encode())
    assert read_relation_shares(path) == {"likes": 3.0, "born\u2028in": 1e-3, "knows\x85": 0.0}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"caf\xe9\t1", r"2: expected UTF-8 text, found 'caf\\xe9\\t1'"),
        (b"knows\t1_000", "2: expected relation TAB share, a number"),
        ("knows\t\N{ARABIC-INDIC DIGIT ONE}".encode(), "2: expected relation TAB share, a number"),
        (b"likes\t2", "2: expected each relation once, found 'likes' here and on line 1; remove one"),
    ],
)
def test_what_is_no_share_is_told_with_its_line(tmp_path, line, told):
    path = tmp_path / "shares.tsv"
    path.write_bytes(b"likes\t1\n" + line + b"\n")
    with pytest.raises(FormatError, match=told):
        read_relation_shares(path)
