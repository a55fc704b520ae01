"""Archives: what was published comes out, and nothing else does."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from kgtrec.data_sets import unpack as module
from kgtrec.data_sets.registry import DataFile
from kgtrec.data_sets.unpack import unpack
from kgtrec.errors import FormatError
from tests.data_sets_by_hand import SPLITS, sha256, tar_gz, zipped

MEMBERS = tuple(DataFile(name, size=len(data), sha256=sha256(data)) for name, data in SPLITS.items())


def unpacked(folder: Path, archive: bytes, members: tuple[DataFile, ...] = MEMBERS) -> dict[str, bytes]:
    """What is in the folder afterwards, beside the archive."""
    (folder / "archive").write_bytes(archive)
    unpack(folder / "archive", members, folder)
    return there(folder)


def there(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "archive")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as file:
        for entry, data in entries:
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize("archive", [tar_gz, zipped])
def test_members_by_name_whatever_else_there_is(tmp_path: Path, archive):
    """Names that lead elsewhere are no paths."""
    evil = {"../out.txt": b"1", "/out.txt": b"2", "other.txt": b"3"}
    (folder := tmp_path / "in").mkdir()
    assert unpacked(folder, archive({**evil, **SPLITS})) == SPLITS
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert not Path("/out.txt").exists()


def test_a_tar_file_that_is_not_compressed_and_names_that_begin_with_a_dot(tmp_path: Path):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        for name, data in SPLITS.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    assert unpacked(tmp_path, stream.getvalue()) == SPLITS


def test_a_member_may_have_another_name_and_place(tmp_path: Path):
    member = DataFile("split/train.txt", member="deep/in/it.txt", size=2, sha256=sha256(b"hi"))
    assert unpacked(tmp_path, zipped({"deep/in/it.txt": b"hi"}), (member,)) == {"split/train.txt": b"hi"}


def link(kind: bytes) -> bytes:
    entry = tarfile.TarInfo("test.txt")
    entry.type, entry.linkname = kind, "/etc/passwd"
    return tar(*((tarfile.TarInfo(name), SPLITS[name]) for name in ("train.txt", "valid.txt")), (entry, b""))


def zipped_link() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        entry = zipfile.ZipInfo("train.txt")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(entry, "/etc/passwd")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (link(tarfile.SYMTYPE), r"archive:.*archive"),
        (link(tarfile.LNKTYPE), r"archive:.*archive"),
        (link(tarfile.FIFOTYPE), r"archive:.*archive"),
        (link(tarfile.DIRTYPE), r"archive:.*archive"),
        (zipped_link(), r"archive:.*archive"),
        (tar_gz({"train.txt": SPLITS["train.txt"]}), r"archive:.*archive"),
        (zipped({}), r"archive:.*archive"),
        (tar_gz({**SPLITS, "valid.txt": b"x" * 14}), r"archive:.*archive"),
        (tar_gz({**SPLITS, "valid.txt": b""}), r"archive:.*bytes"),
        (b"no archive", r"archive:.*archive"),
        (b"", r"archive:.*archive"),
        (b"\x1f\x8b damaged", r"archive:.*archive"),
        (tar_gz(SPLITS)[:60], r"archive:.*archive"),
    ],
    # not the bytes, which hold the time at which they were made
    ids=[
        "symbolic link",
        "hard link",
        "pipe",
        "folder",
        "zipped link",
        "missing members",
        "empty zip",
        "other bytes",
        "no bytes",
        "text",
        "empty",
        "damaged",
        "cut",
    ],
)
def test_what_was_not_published_is_refused_and_nothing_is_written(tmp_path: Path, archive: bytes, message: str):
    with pytest.raises(FormatError, match=message):
        unpacked(tmp_path, archive)
    assert there(tmp_path) == {}


@pytest.mark.parametrize("archive", [tar_gz, zipped])
def test_a_member_that_goes_on_and_on_is_stopped(tmp_path: Path, archive):
    """At the published size, before the disk is full of it."""
    with pytest.raises(FormatError, match=r"archive:.*found more"):
        unpacked(tmp_path, archive({**SPLITS, "valid.txt": bytes(10_000_000)}))
    assert there(tmp_path) == {}


def test_a_member_of_unknown_size_has_a_bound_too(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 1_000)
    with pytest.raises(FormatError, match=r"archive:.*found more"):
        unpacked(tmp_path, zipped({"big": bytes(1_001)}), (DataFile("big"),))
    assert unpacked(tmp_path, zipped({"big": bytes(1_000)}), (DataFile("big"),)) == {"big": bytes(1_000)}


def test_a_bomb_before_the_members_is_stopped(tmp_path: Path, monkeypatch):
    """What is not asked for is read too, in a tar file, to come to what is."""
    monkeypatch.setattr(module, "_MARGIN", 1 << 20)
    with pytest.raises(FormatError, match=r"archive:.*published"):
        unpacked(tmp_path, tar_gz({"bomb": bytes(20_000_000), **SPLITS}))
    assert there(tmp_path) == {}
