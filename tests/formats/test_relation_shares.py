"""Shares of relations are read to the letter, or refused with their line."""

from __future__ import annotations

from kgtrec.formats.relation_shares import read_relation_shares


def test_labels_are_read_to_the_letter(tmp_path):
    """After a byte-order mark too, and with the signs at which some programs break lines."""
    path = tmp_path / "shares.tsv"
    path.write_bytes("\ufefflikes\t3\r\nborn\u2028in\t1e-3\nknows\x85\t0\n".encode())
    assert read_relation_shares(path) == {"likes": 3.0, "born\u2028in": 1e-3, "knows\x85": 0.0}
