"""Outputs that take their places together."""

from __future__ import annotations

import pytest

from kgtrec.formats.output.outputs import content_of, remove, together, write_text, writing_folder
from tests.trees import tree


def test_outputs_take_their_places_at_the_end_of_the_block(tmp_path):
    """Files and folders, new ones and those that replace others; until then their content is elsewhere."""
    file, folder = tmp_path / "new" / "a", tmp_path / "b"
    write_text(tmp_path / "gone", "0")
    with writing_folder(folder, "c", owned=lambda _: ["c"]) as part:
        (part / "c").write_text("1")
    with together():
        write_text(file, "2")
        remove(tmp_path / "gone")
        # a part of the outer block
        with together(), writing_folder(folder, "c", owned=lambda _: ["c"], force=True) as part:
            (part / "c").write_text("3")
        assert not file.exists()
        assert (folder / "c").read_text() == "1"
        assert (tmp_path / "gone").exists()
        assert content_of(file).read_text() == "2"
    assert content_of(file) == file
    assert tree(tmp_path) == {"b/": b"", "b/c": b"3", "new/": b"", "new/a": b"2"}


def test_a_block_that_fails_leaves_what_was_there(tmp_path):
    """And no folder that was made for its outputs."""
    write_text(tmp_path / "old", "1")
    before = tree(tmp_path)
    with pytest.raises(RuntimeError), together():  # noqa: PT012 (the block is what fails)
        write_text(tmp_path / "old", "2", force=True)
        write_text(tmp_path / "new" / "a", "3")
        with writing_folder(tmp_path / "new" / "b") as part:
            (part / "c").write_text("4")
        remove(tmp_path / "old")
        raise RuntimeError
    assert tree(tmp_path) == before


def test_an_output_that_fails_in_the_block_takes_none_with_it_if_it_is_caught(tmp_path):
    with together():
        write_text(tmp_path / "a", "1")
        with pytest.raises(RuntimeError), writing_folder(tmp_path / "b"):
            raise RuntimeError
    assert tree(tmp_path) == {"a": b"1"}
