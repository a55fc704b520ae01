"""Opening and writing files: damage is noticed, and nothing half-written stays."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess

import numpy as np
import pyarrow as pa
import pytest

from kgtrec.errors import FormatError
from kgtrec.formats.files import alone_in, reading
from kgtrec.formats.output.outputs import write_text, writing
from tests.trees import tree

CONTENT = np.random.default_rng(0).bytes(300_000)


def whole(path):
    with reading(path) as stream:
        return stream.read()


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_what_was_written_is_read(suffix, tmp_path):
    """In all compressions; equal content gives equal bytes, whatever the name."""
    for name in ("a", "b"):
        with writing(tmp_path / f"{name}{suffix}") as stream:
            stream.write(CONTENT)
    assert whole(tmp_path / f"a{suffix}") == CONTENT
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [3, 10, 1000, 131_072, 131_090, 262_144, -9, -4, -1])
def test_a_cut_off_file_is_refused(suffix, kept, tmp_path):
    """Wherever it was cut, at the borders of compressed blocks too."""
    path = tmp_path / f"x{suffix}"
    with writing(path) as stream:
        stream.write(CONTENT)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FormatError) as caught:
        whole(path)
    assert str(caught.value).startswith(f"{path}: expected whole compressed data, found damaged or cut-off data (")
    assert str(caught.value).endswith("); copy or create the file again")


FLIPPED = gzip.compress(CONTENT)[:-6] + bytes([gzip.compress(CONTENT)[-6] ^ 1]) + gzip.compress(CONTENT)[-5:]


@pytest.mark.parametrize(
    ("suffix", "data"), [(".gz", b"q Q0 a\n" * 100), (".zst", b"q Q0 a\n" * 100), (".gz", FLIPPED)]
)
def test_a_file_that_is_not_compressed_or_is_damaged_is_refused(suffix, data, tmp_path):
    """Its name promises what its content is not; or a byte of the check sum is flipped."""
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="expected whole compressed data"):
        whole(path)


def test_files_joined_end_to_end_are_read_as_one(tmp_path):
    """As gunzip and unzstd do."""
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    frame = pa.Codec("zstd").compress(b"a\n", asbytes=True)
    (tmp_path / "x.zst").write_bytes(frame + frame)
    assert whole(tmp_path / "x.gz") == b"a\nb\n"
    assert whole(tmp_path / "x.zst") == b"a\na\n"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_missing_file_and_a_folder_are_refused(suffix, tmp_path):
    """Each with its own message."""
    with pytest.raises(FormatError, match="no such file"):
        whole(tmp_path / f"none{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FormatError, match="expected a file, found a folder"):
        whole(tmp_path / f"folder{suffix}")
    with pytest.raises(FormatError, match="expected a file to write, found a folder"):
        write_text(tmp_path / f"folder{suffix}", "x")


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    """To read, and to write beside; simulated, since root may do both."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    write_text(tmp_path / "x", "x")
    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(FormatError, match="cannot write here: Permission denied"):
        write_text(tmp_path / "y", "x")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(FormatError, match="expected a readable file, found one without read permission"):
        whole(tmp_path / "x")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_error_while_writing_changes_nothing(suffix, error, tmp_path):
    """The old file stays and no part of the new one is left."""
    path = tmp_path / f"x{suffix}"
    write_text(path, "before")
    before = path.read_bytes()
    with pytest.raises(error), writing(path, force=True) as stream:  # noqa: PT012 (the block is what is interrupted)
        stream.write(CONTENT)
        raise error
    assert tree(tmp_path) == {path.name: before}


def test_folders_made_for_a_file_go_with_it(tmp_path):
    """But not those that were there, or that hold something else by then."""
    with pytest.raises(RuntimeError), writing(tmp_path / "a" / "b" / "x"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError), writing(tmp_path / "a" / "b" / "x"):  # noqa: PT012 (the block is what fails)
        write_text(tmp_path / "a" / "other", "x")
        raise RuntimeError
    assert list(tree(tmp_path / "a")) == ["other"]


def test_a_full_disk_names_the_file(tmp_path):
    """The system's own error does not."""
    with pytest.raises(OSError, match="No space left on device") as found, writing(tmp_path / "x"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert found.value.filename == str(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be(tmp_path):
    """The system would say that it exists."""
    write_text(tmp_path / "x", "x")
    for path in (tmp_path / "x" / "y", tmp_path / "x" / "y" / "z"):
        with pytest.raises(FormatError, match=r"cannot write here: .*/x is a file, not a folder"):
            write_text(path, "y")


@pytest.mark.parametrize(("suffix", "name"), [(".gz", "gzip"), (".zst", "zstd")])
def test_compressed_data_need_their_suffix(suffix, name, tmp_path, monkeypatch):
    """On standard input there is none, so they are decompressed on the way."""
    write_text(tmp_path / f"x{suffix}", "x")
    (tmp_path / "x").write_bytes((tmp_path / f"x{suffix}").read_bytes())
    with pytest.raises(FormatError, match=rf"found {name} data; give it a name that ends in {suffix}"):
        whole(tmp_path / "x")
    with (tmp_path / "x").open() as piped:
        monkeypatch.setattr("sys.stdin", piped)
        with pytest.raises(FormatError, match=rf"^-: expected plain data, found {name} data; decompress it first"):
            whole("-")


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_name_that_no_file_can_have(name):
    """The system's own error is not one of files."""
    with pytest.raises(FormatError, match=r"^'a\\.*': expected the name of a file, found one that no file can have$"):
        whole(name)


def test_closed_standard_streams_are_refused(monkeypatch):
    """As a shell closes them with <&- and >&-; Python then has None for them."""
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(FormatError, match="expected standard input, found it closed"):
        whole("-")
    with pytest.raises(FormatError, match="expected standard output, found it closed"):
        write_text("-", "x")


def test_an_error_of_the_body_is_not_the_files(tmp_path):
    """A file that the body misses is not taken for the one being read."""
    write_text(tmp_path / "x", "x")
    with pytest.raises(FileNotFoundError), reading(tmp_path / "x"):
        (tmp_path / "other").read_text()


def test_a_pipe_is_written_to_not_replaced(tmp_path):
    """So that /dev/null and named pipes stay what they are."""
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        write_text(tmp_path / "pipe", "through")
        assert reader.communicate()[0] == b"through"
    assert (tmp_path / "pipe").is_fifo()


def test_a_written_file_has_ordinary_permissions(tmp_path):
    """Not those of a temporary file."""
    write_text(tmp_path / "x", "x")
    (tmp_path / "y").write_text("x")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode


@pytest.mark.parametrize("name", ["", ".lock"])
def test_one_program_at_a_time_is_alone(tmp_path, name):
    """With a folder, or with a file in it, which stays; the next one is let in once the block has ended."""
    place = tmp_path / name
    for _ in range(2):
        with alone_in(place, wait=False):
            with pytest.raises(BlockingIOError), alone_in(place, wait=False):
                pass
            with alone_in(tmp_path / "another", wait=False):
                pass
    assert place.exists()


def test_what_goes_wrong_within_is_told_and_the_next_one_is_let_in(tmp_path):
    """Not taken for a lock that is held."""
    with pytest.raises(BlockingIOError, match="of the block"), alone_in(tmp_path):
        raise BlockingIOError("of the block")
    with alone_in(tmp_path, wait=False):
        pass


def test_where_nothing_can_be_locked_nobody_waits(tmp_path, monkeypatch):
    """Some network file systems have no locks."""
    import fcntl

    def refused(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    with alone_in(tmp_path):
        monkeypatch.setattr(fcntl, "flock", refused)
        with alone_in(tmp_path), alone_in(tmp_path, wait=False), alone_in(tmp_path / "no" / "folder"):
            pass
