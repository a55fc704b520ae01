"""What kgtrec did not write never changes, and what it writes is whole, old or new."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import chdir, nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.errors import FormatError, KgtrecWarning
from kgtrec.formats.output import exchange, outputs
from kgtrec.formats.output.exchange import is_part
from kgtrec.formats.output.outputs import (
    claim_folder,
    clear_parts,
    free_names,
    protecting,
    remove_file,
    require_file,
    require_folder,
    update_text,
    write_text,
    writing,
    writing_folder,
    written_by,
)
from kgtrec.formats.output.record import RECORD, read_record
from tests.trees import faulty_runs, tree, without_parts

OLD, NEW = {"a.txt": "old a", "sub/b.txt": "old b", "gone.txt": "old"}, {"a.txt": "new a", "sub/c.txt": "new c"}


def fill(folder: Path, files: dict[str, str], **options: object) -> None:
    """Write a folder as a command does."""
    with writing_folder(folder, by="test", **options) as part:
        for name, text in files.items():
            write_text(part / name, text)


def held(files: dict[str, str]) -> dict[str, bytes]:
    """What ``tree`` should find of them."""
    folders = {f"{parent}/": b"" for name in files for parent in Path(name).parents if parent != Path()}
    return {name: text.encode() for name, text in files.items()} | folders


def visible(folder: Path) -> dict[str, bytes]:
    return without_parts(tree(folder))


# --- one file


def test_a_file_of_somebody_else_is_refused_by_name(tmp_path):
    """And the next free name is offered; an empty file has nothing to lose."""
    (tmp_path / "thesis.csv").write_text("mine")
    with pytest.raises(FormatError) as caught:
        write_text(tmp_path / "thesis.csv", "ours")
    assert str(caught.value) == (
        f"{tmp_path}/thesis.csv: expected a new name, or a file that kgtrec wrote before, found one that it did not "
        "write, which would be lost; choose another name, such as thesis.1.csv, or move the file away"
    )
    assert tree(tmp_path) == {"thesis.csv": b"mine"}
    (tmp_path / "empty").touch()
    write_text(tmp_path / "empty", "ours")
    assert (tmp_path / "empty").read_text() == "ours"


def test_a_file_is_written_again_unless_somebody_has_changed_it(tmp_path):
    """However often, and whatever it held before."""
    for text in ("one", "two", "one", "one", ""):
        write_text(tmp_path / "x", text)
        assert tree(tmp_path) == {"x": text.encode()}
    write_text(tmp_path / "x", "three")
    (tmp_path / "x").write_text("three, and a note")
    with pytest.raises(FormatError, match=r"found one that was changed since, which would be lost; .* such as x\.1"):
        write_text(tmp_path / "x", "four")
    assert tree(tmp_path) == {"x": b"three, and a note"}


def test_a_file_of_a_folder_of_ours_is_not_replaced_by_itself(tmp_path):
    """The folder is one thing."""
    fill(tmp_path / "f", OLD)
    with pytest.raises(FormatError, match="found a part of what kgtrec wrote as test; choose another name"):
        write_text(tmp_path / "f" / "a.txt", "x")
    assert visible(tmp_path / "f") == held(OLD)


@pytest.mark.parametrize("name", ["judgements.jsonl", "pool.tsv", "people.tsv", "judgements.jsonl.torn"])
def test_the_names_of_a_campaign_are_its_own(tmp_path, name):
    """Also before it has a file of that name; others are free."""
    (tmp_path / "campaign.json").write_text("{}")
    with pytest.raises(FormatError, match="expected a name of its own, found that of a file of the campaign"):
        write_text(tmp_path / name, "x")
    write_text(tmp_path / "ann.csv", "x")
    assert tree(tmp_path) == {"campaign.json": b"{}", "ann.csv": b"x"}


@pytest.mark.parametrize("spelling", ["in.txt", "./in.txt", "../{0}/in.txt", "link", "hard"])
def test_an_input_is_no_output(tmp_path, spelling, monkeypatch):
    """By whatever name it goes, and though kgtrec wrote it."""
    monkeypatch.chdir(tmp_path)
    write_text("in.txt", "input")
    Path("link").symlink_to("in.txt")
    os.link("in.txt", "hard")
    name = spelling.format(tmp_path.name)
    with protecting(["in.txt"]), pytest.raises(FormatError, match="expected another file than those that are read"):
        write_text(name, "x")
    assert Path("in.txt").read_text() == "input"
    write_text("in.txt", "x")


def test_a_link_stands_for_what_it_leads_to(tmp_path):
    """It stays a link, and what it leads to is asked about."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/x")
    write_text(tmp_path / "link", "one")
    write_text(tmp_path / "link", "two")
    assert tree(tmp_path) == {"real/": b"", "real/x": b"two", "link": b"link to real/x"}
    (tmp_path / "real" / "x").write_text("mine")
    with pytest.raises(FormatError, match="found one that was changed since"):
        write_text(tmp_path / "link", "three")


def test_another_file_by_the_name_of_the_record_is_kept(tmp_path):
    """Nothing is added to it."""
    (tmp_path / RECORD).write_text("mine")
    with pytest.raises(FormatError, match="expected kgtrec's record of what it wrote in this folder, found another"):
        write_text(tmp_path / "x", "x")
    assert (tmp_path / RECORD).read_text() == "mine"
    assert tree(tmp_path) == {}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_without_room_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_by_the_name_of_the_record_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / RECORD)
    with pytest.raises(FormatError, match="found another file of that name; move it away"):
        require_file(tmp_path / "a.csv")
    with pytest.raises(FormatError, match="found another file of that name; move it away"):
        write_text(tmp_path / "a.csv", "ours")
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]


@pytest.mark.parametrize("name", [RECORD, ".a.csv.0123abcd.kgtrec-part"])
def test_the_names_that_kgtrec_keeps_for_itself_are_refused(tmp_path, name):
    """A record would be read as one, and a part would be removed as a killed program's; nothing is left behind."""
    told = "found one that kgtrec keeps for itself; choose another name"
    with pytest.raises(FormatError, match=told):
        write_text(tmp_path / name, "ours")
    with pytest.raises(FormatError, match=told):
        fill(tmp_path / name, NEW)
    with pytest.raises(FormatError, match=told):
        claim_folder(tmp_path / name, "test")
    with pytest.raises(FormatError, match=told):
        write_text(tmp_path / name / "a.csv", "ours")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_is_not_the_folder_in_which_one_stands(tmp_path, monkeypatch):
    """As ``--out "$OUT"`` gives it where nothing was set."""
    monkeypatch.chdir(tmp_path)
    for act in (lambda: fill("", NEW), lambda: write_text("", "ours"), lambda: claim_folder("", "test")):
        with pytest.raises(FormatError, match=r"^expected the name of a file or folder, found an empty one$"):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_is_no_file(tmp_path, monkeypatch):
    """Others than devices and pipes it has something to lose."""
    monkeypatch.setattr(Path, "is_block_device", lambda path: path.name == "sda")
    with pytest.raises(FormatError, match="expected a file to write, found a disk"):
        write_text(tmp_path / "sda", "ours")


def test_a_torn_record_stands_for_less(tmp_path):
    """What it cannot vouch for is not replaced, and the next line is not joined to the torn one."""
    write_text(tmp_path / "x", "x")
    write_text(tmp_path / "y", "y")
    record = (tmp_path / RECORD).read_bytes()
    (tmp_path / RECORD).write_bytes(record[:-20])
    with pytest.raises(FormatError, match="found one that it did not write"):
        write_text(tmp_path / "y", "z")
    write_text(tmp_path / "x", "z")
    write_text(tmp_path / "x", "again")
    assert tree(tmp_path) == {"x": b"again", "y": b"y"}


@pytest.mark.parametrize("change", [b"[" * 100_000, b"\xff\n", b"{}\n", b'{"by": 1}\n', b"\n\n", b'"x"\n'])
def test_lines_that_make_no_sense_are_passed_over(tmp_path, change):
    write_text(tmp_path / "x", "x")
    with (tmp_path / RECORD).open("ab") as record:
        record.write(change)
    write_text(tmp_path / "x", "y")
    write_text(tmp_path / "x", "z")
    assert tree(tmp_path) == {"x": b"z"}


@pytest.mark.parametrize("name", ["ü€\U0001f600", 'a"b\\c', "a\nb", "a\tb", "x" * 255, "文" * 85, os.fsdecode(b"\xff")])
def test_any_name_is_recorded(tmp_path, name):
    """Even one that no text can hold, and one that is as long as names can be."""
    write_text(tmp_path / name, "one")
    write_text(tmp_path / name, "two")
    assert (tmp_path / name).read_text() == "two"


def test_a_file_keeps_its_rights(tmp_path):
    """Whom its owner has shut out stays out."""
    for write in (write_text, partial(update_text, by="test")):
        place = tmp_path / str(write)[:5]
        write(place, "one")
        place.chmod(0o640)
        write(place, "two")
        assert (place.read_text(), place.stat().st_mode & 0o777) == ("two", 0o640)


def test_a_record_that_this_user_may_not_write_is_no_obstacle(tmp_path, monkeypatch):
    """As in a folder for all, such as /tmp: what is written there is not known as kgtrec's, and not replaced."""

    def refusing(call):
        def wrapper(path, *words, **options):
            if Path(path).name == RECORD:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return call(path, *words, **options)

        return wrapper

    monkeypatch.setattr(os, "open", refusing(os.open))
    monkeypatch.setattr(Path, "read_bytes", refusing(Path.read_bytes))
    with pytest.warns(KgtrecWarning, match=rf"{RECORD}: cannot be written \(Permission denied\); x will not be"):
        write_text(tmp_path / "x", "one")
    with pytest.raises(FormatError, match="found one that it did not write"):
        write_text(tmp_path / "x", "two")
    assert visible(tmp_path) == {"x": b"one"}


def test_records_need_no_more_than_every_system_has(tmp_path, monkeypatch):
    """Windows has no pread, and turns line ends into others unless it is asked not to."""
    monkeypatch.delattr(os, "pread")
    flags = []
    real = os.open
    monkeypatch.setattr(os, "O_BINARY", getattr(os, "O_LARGEFILE", 0) or 1 << 15, raising=False)
    monkeypatch.setattr(os, "open", lambda path, flag, *args: (flags.append(flag), real(path, flag, *args))[1])
    monkeypatch.setattr(outputs, "held", lambda _: nullcontext(False))
    for text in ("one", "two"):
        write_text(tmp_path / "x", text)
    assert (tmp_path / "x").read_text() == "two"
    assert flags
    assert all(flag & os.O_BINARY for flag in flags)


def test_a_file_that_is_kept_up_to_date_is_on_the_disk_before_the_old_one_goes(tmp_path, monkeypatch):
    update_text(tmp_path / "people.tsv", "1", by="test")
    done = []
    real_sync, real_renamed = os.fsync, outputs.renamed
    monkeypatch.setattr(
        os, "fsync", lambda handle: (done.append(("sync", os.fstat(handle).st_size)), real_sync(handle))
    )
    monkeypatch.setattr(outputs, "renamed", lambda *words: (done.append("renamed"), real_renamed(*words))[1])
    update_text(tmp_path / "people.tsv", "12", by="test")
    assert done == [("sync", 2), "renamed"]


# --- several programs


def test_of_two_programs_that_write_a_file_the_later_one_wins(tmp_path, monkeypatch):
    """Though the other one comes when the first has all written, and not yet put in its place."""
    real = outputs.record
    turns = []

    def disturbed(*words):
        if turns:
            write_text(tmp_path / "x", turns.pop())
        real(*words)

    monkeypatch.setattr(outputs, "record", disturbed)
    for text in ("new", "again"):
        turns.append("theirs")
        write_text(tmp_path / "x", text)
        assert tree(tmp_path) == {"x": text.encode()}


@pytest.mark.parametrize("write", [lambda place: write_text(place, "x"), lambda place: fill(place, NEW)])
def test_what_was_just_begun_is_not_taken_for_abandoned(tmp_path, monkeypatch, write):
    """Between its first moment and its lock."""
    real, times = outputs.lock, []

    def late(handle, **options):
        times.append(handle)
        if len(times) == 1:
            outputs._remove_stale(tmp_path / "x")
        return real(handle, **options)

    monkeypatch.setattr(outputs, "lock", late)
    write(tmp_path / "x")
    assert len(times) > 1
    assert not [name for name in tree(tmp_path) if "kgtrec-part" in name]


def test_of_two_programs_that_write_a_folder_the_later_one_wins(tmp_path, monkeypatch):
    """What the other one wrote is kgtrec's as well."""
    real = outputs._exchange_folder
    turns = iter([lambda: fill(tmp_path / "f", OLD)])

    def disturbed(*words):
        next(turns, lambda: None)()
        real(*words)

    monkeypatch.setattr(outputs, "_exchange_folder", disturbed)
    fill(tmp_path / "f", NEW)
    assert visible(tmp_path / "f") == held(NEW)
    fill(tmp_path / "f", OLD)


def test_what_comes_at_the_last_moment_survives_an_interruption(tmp_path, monkeypatch):
    """Wherever in the removal of the old folder it comes; and what is left of that is not removed with it later."""
    real_renamed, real_unlink = outputs.renamed, Path.unlink

    def disturbed(source, place, flags):
        if place.name == "f":
            (place / "sub" / "mine").write_text("mine")
        return real_renamed(source, place, flags)

    for number in range(1, 6):
        folder = tmp_path / str(number) / "f"
        fill(folder, OLD)
        left = [number]

        def interrupted(path, left=left, **options):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            real_unlink(path, **options)

        with monkeypatch.context() as patch:
            patch.setattr(outputs, "renamed", disturbed)
            patch.setattr(Path, "unlink", interrupted)
            with suppress(KeyboardInterrupt):
                fill(folder, NEW)
        for _ in range(2):
            write_text(folder.parent / "g", "g")
            with suppress(FormatError):
                fill(folder, OLD)
        assert b"mine" in tree(folder.parent).values(), number


def test_a_second_name_takes_nobodys_place(tmp_path, monkeypatch):
    """Also where files can have but one name."""
    for turn in range(2):
        update_text(tmp_path / "x", "ours", by="test")
        (tmp_path / "x").write_text("edited")
        (tmp_path / "x.1").write_text("theirs")
        names = [tmp_path / "x.1", tmp_path / f"x.{turn + 2}"]
        monkeypatch.setattr(outputs, "free_names", lambda _, names=names: iter(names))
        if turn:
            monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EPERM, "no links")))
        with pytest.warns(KgtrecWarning, match=rf"it is kept as x\.{turn + 2}"):
            update_text(tmp_path / "x", f"new {turn}", by="test")
        assert (tmp_path / "x.1").read_text() == "theirs"
        assert (tmp_path / f"x.{turn + 2}").read_text() == "edited"
        (tmp_path / "x").unlink()


def test_who_is_at_work_in_a_folder_is_not_disturbed_when_it_is_cleared(tmp_path):
    (tmp_path / ".f.0123abcd.kgtrec-part").mkdir()
    with writing(tmp_path / "x") as stream:
        clear_parts(tmp_path)
        stream.write(b"x")
    assert tree(tmp_path) == {"x": b"x"}


def test_somebody_who_comes_meanwhile_is_not_overwritten(tmp_path):
    """Whether there was nothing before, or a file of ours."""
    with pytest.raises(FormatError, match="found one that it did not write"), writing(tmp_path / "x") as stream:  # noqa: PT012 (the block is what is disturbed)
        stream.write(b"ours")
        (tmp_path / "x").write_text("mine")
    assert tree(tmp_path) == {"x": b"mine"}
    write_text(tmp_path / "y", "ours")
    with pytest.raises(FormatError, match="found one that was changed since"), writing(tmp_path / "y") as stream:  # noqa: PT012 (the block is what is disturbed)
        stream.write(b"new")
        (tmp_path / "y").write_text("mine too")
    assert tree(tmp_path) == {"x": b"mine", "y": b"mine too"}


def test_a_file_that_is_kept_up_to_date_is_set_aside_once_somebody_edits_it(tmp_path):
    """Every byte of theirs stays on the disk."""
    update_text(tmp_path / "people.tsv", "1", by="test")
    update_text(tmp_path / "people.tsv", "2", by="test")
    assert tree(tmp_path) == {"people.tsv": b"2"}
    (tmp_path / "people.tsv").write_text("edited")
    with pytest.warns(KgtrecWarning, match=r"people.tsv: was edited since kgtrec wrote it, .* kept as people\.1\.tsv"):
        update_text(tmp_path / "people.tsv", "3", by="test")
    update_text(tmp_path / "people.tsv", "4", by="test")
    (tmp_path / "people.tsv").write_text("again")
    update_text(tmp_path / "people.tsv", "again", by="test")  # nothing is lost
    assert tree(tmp_path) == {"people.tsv": b"again", "people.1.tsv": b"edited"}


def test_only_what_is_ours_is_removed(tmp_path):
    write_text(tmp_path / "x", "x", by="test")
    write_text(tmp_path / "y", "y", by="test")
    (tmp_path / "y").write_text("edited")
    (tmp_path / "z").write_text("mine")
    assert written_by(tmp_path, "test") == ("x", "y")
    assert [remove_file(tmp_path / name, by="test") for name in "xyzw"] == [True, False, False, True]
    assert tree(tmp_path) == {"y": b"edited", "z": b"mine"}


def test_free_names_are_like_the_name(tmp_path):
    (tmp_path / "a.1.run.gz").touch()
    names = free_names(tmp_path / "a.run.gz")
    assert [next(names).name, next(names).name] == ["a.2.run.gz", "a.3.run.gz"]
    assert next(free_names(tmp_path / "folder")).name == "folder.1"


# --- folders


def test_a_folder_is_replaced_by_who_wrote_it(tmp_path):
    """As a whole: what the new one lacks is gone."""
    for files in (OLD, NEW, NEW, OLD):
        fill(tmp_path / "f", files)
        assert tree(tmp_path) == held({f"f/{name}": text for name, text in files.items()})


def test_a_folder_that_another_program_replaces_meanwhile_is_looked_at_again(tmp_path, monkeypatch):
    """Its record and its files are not of one folder then, and none of them was changed by anybody."""
    fill(tmp_path / "f", OLD)
    others = [NEW]

    def read_slowly(*where):
        found = read_record(*where)
        if others:
            fill(tmp_path / "f", others.pop())
        return found

    monkeypatch.setattr(outputs, "read_record", read_slowly)
    fill(tmp_path / "f", {"a.txt": "newest"})
    assert visible(tmp_path / "f") == {"a.txt": b"newest"}


def test_with_force_only(tmp_path):
    fill(tmp_path / "f", OLD, force=False)
    with pytest.raises(FormatError, match=r"found what kgtrec wrote before \(test\); replace it with --force"):
        fill(tmp_path / "f", NEW, force=False)
    assert visible(tmp_path / "f") == held(OLD)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda f: (f / "thesis.tex").write_text("x"), "what kgtrec did not write there: thesis.tex;"),
        (lambda f: (f / "sub" / "mine").write_text("x"), "what kgtrec did not write there: sub/mine;"),
        (lambda f: (f / "mine").mkdir(), "what kgtrec did not write there: mine/;"),
        (lambda f: (f / "link").symlink_to("a.txt"), "what kgtrec did not write there: link;"),
        (lambda f: os.mkfifo(f / "pipe"), "what kgtrec did not write there: pipe;"),
        (lambda f: (f / "a.txt").write_text("edited"), "what was changed since: a.txt;"),
        (lambda f: [(f / f"{n}").touch() for n in range(9)], "0, 1, 2 and 6 more;"),
        (lambda f: write_text(f / "scores.csv", "x"), "what another command of kgtrec wrote there: scores.csv;"),
        (lambda f: fill(f / "campaign", NEW), "what another command of kgtrec wrote there: campaign/;"),
        (lambda f: (f / RECORD).unlink(), "what kgtrec did not write there: a.txt, gone.txt, sub/;"),
    ],
)
def test_anything_else_in_it_is_refused_by_name(tmp_path, change, told):
    """Whoever forces it."""
    fill(tmp_path / "f", OLD)
    change(tmp_path / "f")
    before = {**tree(tmp_path / "f")} if not (tmp_path / "f" / "pipe").exists() else None
    with pytest.raises(FormatError) as caught:
        fill(tmp_path / "f", NEW)
    assert told in str(caught.value)
    without = "" if (tmp_path / "f" / RECORD).exists() else " (a copy of a folder needs its record, .kgtrec)"
    assert str(caught.value).endswith(f"; choose another folder, or move them away{without}")
    if before is not None:
        assert tree(tmp_path / "f") == before


def test_a_record_with_other_line_ends_is_a_record(tmp_path):
    """As git checks it out on some machines."""
    write_text(tmp_path / "a.csv", "old")
    (tmp_path / RECORD).write_bytes((tmp_path / RECORD).read_bytes().replace(b"\n", b"\r\n"))
    for text in ("new", "newer"):
        write_text(tmp_path / "a.csv", text)
        assert (tmp_path / "a.csv").read_text() == text


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitkeep", ".DS_Store"])
@pytest.mark.parametrize("stands_in_it", [True, False])
def test_what_git_and_finder_put_into_a_folder_stays(tmp_path, monkeypatch, name, stands_in_it):
    """In one that is empty but for it, and in one that is replaced."""
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / name).write_text("theirs")
    if stands_in_it:
        monkeypatch.chdir(folder)
    for files in (OLD, NEW):
        fill(folder, files)
        assert visible(folder) == held({**files, name: "theirs"})
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / name).write_text("theirs")
    claim_folder(tmp_path / "study", "test")


def test_a_file_by_the_name_of_the_record_is_kept_in_inner_folders_too(tmp_path):
    fill(tmp_path / "out", OLD)
    (tmp_path / "out" / "sub" / RECORD).write_text("mine")
    with pytest.raises(FormatError, match=rf"out/sub/{RECORD}: .* found another file of that name; move it away"):
        fill(tmp_path / "out", NEW)
    assert (tmp_path / "out" / "sub" / RECORD).read_text() == "mine"


def test_what_is_in_the_folders_of_others_is_not_looked_through(tmp_path, monkeypatch):
    """Else ``--out /`` would read the names of all files that there are before it is refused."""
    (tmp_path / "theirs" / "inner").mkdir(parents=True)
    seen = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda place: (seen.append(Path(place).name), scandir(place))[1])
    with pytest.raises(FormatError, match="found what kgtrec did not write there: theirs/;"):
        fill(tmp_path, NEW)
    assert "inner" not in seen
    assert "theirs" not in seen


def test_a_folder_that_others_filled_is_refused(tmp_path):
    """Though it holds a file of a name that ours have."""
    (tmp_path / "a.txt").touch()
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(FormatError, match=r"what kgtrec did not write there: a.txt, thesis.tex;"):
        fill(tmp_path, NEW)
    assert tree(tmp_path) == {"a.txt": b"", "thesis.tex": b"x"}


@pytest.mark.parametrize("inner", ["f", "f/sub/b.txt", "f/x/y"])
def test_a_folder_that_is_read_is_not_replaced(tmp_path, inner):
    fill(tmp_path / "f", OLD)
    with protecting([tmp_path / inner]), pytest.raises(FormatError, match="expected a folder of its own, found a"):
        fill(tmp_path / "f", NEW)
    assert visible(tmp_path / "f") == held(OLD)


@pytest.mark.parametrize(
    ("here", "spelling"),
    [("f", spelling) for spelling in (".", "./.", "../f", "../f/../f", "../link", "{0}", "{0}/")]
    + [(".", spelling) for spelling in ("f", "f/../f", "link", "{0}", "{0}/")],
)
def test_any_spelling_of_the_path(tmp_path, here, spelling, monkeypatch):
    """The folder in which somebody stands is filled and replaced too, and stays the folder in which they stand."""
    folder = tmp_path / "f"
    folder.mkdir()
    (tmp_path / "link").symlink_to("f")
    path = spelling.format(folder)
    monkeypatch.chdir(tmp_path / here)
    inode = Path().stat().st_ino
    for files in (OLD, NEW, OLD):
        fill(path, files)
        assert visible(folder) == held(files)
        assert Path().stat().st_ino == inode
    (folder / "thesis.tex").write_text("x")
    with pytest.raises(FormatError, match=r"what kgtrec did not write there: thesis.tex"):
        fill(path, NEW)
    assert visible(folder) == {**held(OLD), "thesis.tex": b"x"}
    assert (tmp_path / "link").is_symlink()


def test_a_mount_point_is_filled_and_replaced(tmp_path, monkeypatch):
    """It cannot be renamed, so what is in it is."""
    (tmp_path / "f").mkdir()
    inode = (tmp_path / "f").stat().st_ino
    monkeypatch.setattr(Path, "is_mount", lambda place: place.name == "f")
    for files in (OLD, NEW):
        fill(tmp_path / "f", files)
        assert tree(tmp_path / "f") == held(files)
    (tmp_path / "f" / "mine").write_text("x")
    with pytest.raises(FormatError, match="did not write there: mine"):
        fill(tmp_path / "f", OLD)
    assert (tmp_path / "f").stat().st_ino == inode


def test_files_of_others_stay_where_a_folder_lets_them(tmp_path):
    """Their bytes, their times, and the record of those that kgtrec wrote."""
    folder = tmp_path / "f"
    keeps = {"keeps": lambda name: name.startswith("my")}
    fill(folder, OLD, **keeps)
    (folder / "my.txt").write_text("mine")
    write_text(folder / "my.csv", "ours")
    stamp = (folder / "my.txt").stat()
    fill(folder, NEW, **keeps)
    assert tree(tmp_path) == held({f"f/{name}": text for name, text in NEW.items()}) | {
        "f/my.txt": b"mine",
        "f/my.csv": b"ours",
    }
    after = (folder / "my.txt").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_nlink) == (stamp.st_ino, stamp.st_mtime_ns, 1)
    write_text(folder / "my.csv", "again")


def test_what_comes_while_a_folder_is_made_stays(tmp_path):
    """In a folder that was not there, or was empty, or was ours."""
    for before in (None, {}, OLD):
        folder = tmp_path / f"f{before and len(before)}"
        if before is not None:
            folder.mkdir()
        if before:
            fill(folder, before)
        with pytest.raises(FormatError, match="did not write there: mine"), writing_folder(folder, by="test") as part:  # noqa: PT012
            write_text(part / "a.txt", "new")
            folder.mkdir(exist_ok=True)
            (folder / "mine").write_text("x")
        assert tree(folder) == {**held(before or {}), "mine": b"x"}
    assert not [name for name in tree(tmp_path) if is_part(name)]


def test_a_folder_keeps_its_rights(tmp_path):
    (tmp_path / "f").mkdir(mode=0o700)
    for files in (OLD, NEW):
        fill(tmp_path / "f", files)
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o700


def test_without_the_systems_exchange_the_same_comes_out(tmp_path, monkeypatch):
    """As on systems that lack it, or disks."""
    for module in (exchange, outputs):
        monkeypatch.setattr(module, "renamed", lambda *_: False)
    for files in (OLD, NEW):
        fill(tmp_path / "f", files)
        assert tree(tmp_path) == held({f"f/{name}": text for name, text in files.items()})
        write_text(tmp_path / "x", files["a.txt"])
        assert (tmp_path / "x").read_text() == files["a.txt"]
        (tmp_path / "x").unlink()
    (tmp_path / "x").write_text("mine")
    with pytest.raises(FormatError, match="found one that was changed since"):
        write_text(tmp_path / "x", "ours")


def test_a_folder_is_claimed_while_it_is_empty(tmp_path):
    """Once claimed, it may hold anything."""
    claim_folder(tmp_path / "a" / "b", "test")
    (tmp_path / "a" / "b" / "x").write_text("mine")
    claim_folder(tmp_path / "a" / "b", "test")
    for by in ("test", "other"):
        with pytest.raises(FormatError, match=rf"or one of kgtrec {by}, found one with other files: b; choose another"):
            claim_folder(tmp_path / "a", by)
    with pytest.raises(FormatError, match="expected a folder to write, found a file"):
        claim_folder(tmp_path / "a" / "b" / "x", "test")


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    """Not what another one is still at work on, and nothing of others."""
    (tmp_path / ".f.0123abcd.kgtrec-part").mkdir()
    (tmp_path / ".f.0123abcd.kgtrec-part" / "half").write_text("x")
    (tmp_path / ".x.part").mkdir()
    (tmp_path / ".f.mine.kgtrec-part").write_text("mine")
    with writing(tmp_path / "g") as stream:
        fill(tmp_path / "f", NEW)
        write_text(tmp_path / "h", "x")
        stream.write(b"g")
    assert {path.name for path in tmp_path.iterdir()} == {RECORD, "f", "g", "h", ".x.part", ".f.mine.kgtrec-part"}


# --- interruption


CASES = {
    "a new file": (lambda place: None, lambda place: write_text(place / "x", "new"), {}, {"x": b"new"}),
    "a file of ours": (
        lambda place: write_text(place / "x", "old"),
        lambda place: write_text(place / "x", "new"),
        {"x": b"old"},
        {"x": b"new"},
    ),
    "a file that was edited": (
        lambda place: (place / "x").write_text("mine"),
        lambda place: update_text(place / "x", "new", by="test"),
        {"x": b"mine"},
        {"x": b"new", "x.1": b"mine"},
    ),
    "a new folder": (
        lambda place: None,
        lambda place: fill(place / "f", NEW),
        {},
        held({f"f/{name}": text for name, text in NEW.items()}),
    ),
    "an empty folder": (
        lambda place: (place / "f").mkdir(),
        lambda place: fill(place / "f", NEW),
        {"f/": b""},
        held({f"f/{name}": text for name, text in NEW.items()}),
    ),
    "a folder of ours": (
        lambda place: fill(place / "f", OLD),
        lambda place: fill(place / "f", NEW),
        held({f"f/{name}": text for name, text in OLD.items()}),
        held({f"f/{name}": text for name, text in NEW.items()}),
    ),
    "a folder with files to keep": (
        lambda place: (
            fill(place / "f", OLD, keeps=lambda name: name == "my"),
            (place / "f" / "my").write_text("mine"),
        ),
        lambda place: fill(place / "f", NEW, keeps=lambda name: name == "my"),
        held({f"f/{name}": text for name, text in OLD.items()}) | {"f/my": b"mine"},
        held({f"f/{name}": text for name, text in NEW.items()}) | {"f/my": b"mine"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case == "a file of ours" else pytest.mark.slow) for case in CASES]
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_stopped_at_any_call_of_the_system_it_is_old_or_new(tmp_path, case):
    """Killed before and after each call, interrupted before and after, or refused by the disk.

    What there was is as it was, or what is new is there as a whole; and once more, without a fault, it is new.
    """
    prepare, act, old, new = CASES[case]
    place = tmp_path / "place"
    foreign = {"thesis.tex": b"mine", "notes/": b"", "notes/a": b"mine"}

    def reset() -> None:
        shutil.rmtree(place, ignore_errors=True)
        (place / "notes").mkdir(parents=True)
        (place / "thesis.tex").write_text("mine")
        (place / "notes" / "a").write_text("mine")
        prepare(place)

    states = [{**foreign, **old}, {**foreign, **new}]
    # a file that is set aside has both names for a moment
    if case == "a file that was edited":
        states.append({**states[0], "x.1": b"mine"})
    seen = 0
    for fault, number, ended in faulty_runs(lambda: act(place), reset):
        found = visible(place)
        assert found in states, (fault, number)
        if ended == 0:
            assert found == states[1], (fault, number)
        if "kill" not in fault:
            assert not [name for name in tree(place) if "kgtrec-part" in name] or found == states[1], (fault, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)
            act(place)
        after = tree(place)
        after.pop("x.2", None)  # of who was set aside before and after
        assert {**after, **foreign} == after, (fault, number)
        assert {name: after.get(name) for name in new} == new, (fault, number)
        assert not [name for name in after if "kgtrec-part" in name], (fault, number)
        seen += 1
    assert seen > 20


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_large_folder_is_old_or_new_whenever_it_is_stopped(tmp_path, number):
    """500 files, replaced over and over by a process that is stopped at some moment."""
    program = f"""
import sys
from pathlib import Path
from kgtrec.formats.output.outputs import writing_folder
turn = 0
while True:
    turn += 1
    with writing_folder({str(tmp_path / "f")!r}, by="test") as part:
        for name in range(500):
            (part / str(name)).write_text(str(turn))
    print(turn, flush=True)
"""
    for delay in (0.01, 0.05, 0.1):
        with subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(delay)
            child.send_signal(number)
            child.wait()
        found = visible(tmp_path / "f")
        assert len(found) == 500
        assert len(set(found.values())) == 1


# --- any folder, any path


names = st.sampled_from(["a", "b", "sub/c", "sub/d", "sub/deep/e", ".hidden", "ü"])
texts = st.text("xyz", max_size=3)


@given(st.dictionaries(names, texts), st.dictionaries(names, texts), st.dictionaries(names, texts), st.booleans())
def test_no_byte_that_kgtrec_did_not_write_ever_changes(tmp_path_factory, ours, theirs, new, here):
    """Of a folder of ours in which somebody has put, changed and removed files at random."""
    folder = tmp_path_factory.mktemp("any") / "f"
    fill(folder, ours)
    for name, text in theirs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    before = tree(folder)
    foreign = {name for name, text in theirs.items() if ours.get(name) != text}
    with chdir(folder if here else folder.parent):
        try:
            require_folder(folder, by="test")
            is_refused = False
        except FormatError:
            is_refused = True
        with suppress(FormatError):
            fill("." if here else folder, new)
    assert is_refused == bool(foreign)
    assert visible(folder) == (before if foreign else held(new))
    assert not [name for name in tree(folder.parent) if "kgtrec-part" in name]
