"""What exists is replaced only with force and by the same kind, and what is written is whole, old or new."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, nullcontext, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.errors import FormatError
from kgtrec.formats.contents import TABLE, WORKBOOK
from kgtrec.formats.output import outputs
from kgtrec.formats.output.outputs import (
    clear_parts,
    free_names,
    keep_aside,
    protecting,
    replacing,
    update_text,
    write_text,
    writing,
    writing_folder,
)
from tests.trees import faulty_runs, is_part, tree, without_parts

OLD = {"a.txt": "old a", "gone.txt": "old", "list": "a.txt gone.txt"}
NEW = {"a.txt": "new a", "more.txt": "new", "list": "a.txt more.txt"}


def owned(folder: Path) -> list[str]:
    """A manifest of names, and the files that it names."""
    manifest = folder / "list"
    return ["list", *manifest.read_text().split()] if manifest.is_file() else []


def fill(folder: Path, files: dict[str, str], *, force: bool = True) -> None:
    """Write a folder as a command does."""
    with writing_folder(folder, "list", owned=owned, force=force) as part:
        for name, text in files.items():
            write_text(part / name, text)


def held(files: dict[str, str]) -> dict[str, bytes]:
    """What ``tree`` should find of them."""
    return {name: text.encode() for name, text in files.items()}


# --- one file


def test_what_exists_is_replaced_with_force_only(tmp_path):
    """The message names the way out of Python, or in a command its option; an empty file has nothing to lose."""
    path = tmp_path / "a.csv"
    path.touch()
    write_text(path, "one")
    with pytest.raises(FormatError) as caught:
        write_text(path, "two")
    assert str(caught.value) == f"{path}: exists; force=True replaces it"
    with protecting([]), pytest.raises(FormatError, match=r"a\.csv: exists; --force replaces it$"):
        write_text(path, "two")
    assert tree(tmp_path) == {"a.csv": b"one"}
    write_text(path, "two", force=True)
    with replacing():
        write_text(path, "three")
    with replacing(False), pytest.raises(FormatError, match="exists"):
        write_text(path, "four")
    assert tree(tmp_path) == {"a.csv": b"three"}


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
RUN, QRELS = b"q1 Q0 paris 1 0.7 transe\n", b"q1 0 paris 1\n"
TASKS = b"verdict,question,source,note,task,annotator,head,relation,tail\r\n%s,,,,7,,a,r,b\r\n"


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    ("before", "kind", "is_replaced"),
    [
        (RUN, "a run", True),
        (RUN, "", False),
        (RUN, "qrels", False),
        (QRELS, "qrels", True),
        (QRELS, "answer ranks", False),
        (b"system,MRR\nx,.1\n", "", True),
        (b"system,MRR\nx,.1\n", "a run", False),
        (PNG, "a PNG", True),
        (PNG, "", False),
        (b"\0\1\2", "", False),
        (TASKS % b"", "", True),
        (TASKS % b"Y", "", False),
        (("\ufeff" + (TASKS % b"Y").decode()).encode("utf-16"), "", False),
        (b'{"task": 1, "head": "a", "relation": "r", "tail": "b", "verdict": ""}\n', "", True),
        (b'{"task": 1, "head": "a", "relation": "r", "tail": "b", "verdict": "N"}\n', "", False),
        (b'{"time": "2026", "person": "ann", "head": "a", "relation": "r", "tail": "b", "verdict": "N"}\n', "", False),
        (b'[{"id": 1, "annotations": [{"result": [{"from_name": "verdict"}]}]}]', "", False),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", WORKBOOK, False),  # somebody's own, or one with verdicts
        (b"\x93NUMPY\x01\0", "arrays", True),
        (b"\x93NUMPY\x01\0", TABLE, False),
        (b"PAR1damaged", TABLE, True),
    ],
)
def test_force_replaces_by_the_same_kind_only(tmp_path, before, kind, is_replaced, suffix):
    """By what it holds, whatever it is called, and compressed or not; verdicts are replaced by nothing."""
    path = tmp_path / f"x{suffix}"
    with writing(path, kind="any") as stream:
        stream.write(before)
    stored = path.read_bytes()
    if is_replaced:
        write_text(path, "new", kind=kind, force=True)
        assert path.read_bytes() != stored
    else:
        with pytest.raises(FormatError, match=r": holds .*, which (stays|nothing else replaces); choose another name$"):
            write_text(path, "new", kind=kind, force=True)
        assert path.read_bytes() == stored
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["judgements.jsonl", "pool.tsv", "people.tsv", "judgements.jsonl.torn"])
def test_the_names_of_a_campaign_are_its_own(tmp_path, name):
    """Also before it has a file of that name; others are free."""
    (tmp_path / "campaign.json").write_text("{}")
    with pytest.raises(FormatError, match="expected a name of its own, found that of a file of the campaign"):
        write_text(tmp_path / name, "x", force=True)
    write_text(tmp_path / "ann.csv", "x")
    assert tree(tmp_path) == {"campaign.json": b"{}", "ann.csv": b"x"}


@pytest.mark.parametrize("spelling", ["in.txt", "./in.txt", "../{0}/in.txt", "link", "hard", "in.run/part"])
def test_an_input_is_no_output(tmp_path, spelling, monkeypatch):
    """By whatever name it goes."""
    monkeypatch.chdir(tmp_path)
    write_text("in.txt", "input")
    Path("link").symlink_to("in.txt")
    os.link("in.txt", "hard")
    write_text("in.run/part", "input")
    name = spelling.format(tmp_path.name)
    with protecting(["in.txt", "in.run"]), pytest.raises(FormatError, match="another file than those that are read"):
        write_text(name, "x", force=True)
    assert Path(name).read_text() == "input"
    write_text(name, "x", force=True)


def test_a_link_stands_for_what_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/x")
    write_text(tmp_path / "link", "one")
    with pytest.raises(FormatError, match="exists"):
        write_text(tmp_path / "link", "two")
    write_text(tmp_path / "link", "two", force=True)
    assert tree(tmp_path) == {"real/": b"", "real/x": b"two", "link": b"link to real/x"}


@pytest.mark.parametrize("name", ["ü€\U0001f600", 'a"b\\c', "a\nb", "a\tb", "x" * 255, "文" * 85, os.fsdecode(b"\xff")])
def test_any_name_will_do(tmp_path, name):
    """Even one that no text can hold, and one that is as long as names can be."""
    for text in ("one", "two"):
        write_text(tmp_path / name, text, force=True)
        assert (tmp_path / name).read_text() == text
    with pytest.raises(FormatError, match="cannot write here: File name too long"):
        write_text(tmp_path / ("x" * 256), "x")
    assert len(list(tmp_path.iterdir())) == 1


def test_an_empty_name_is_not_the_folder_in_which_one_stands(tmp_path, monkeypatch):
    """As ``--out "$OUT"`` gives it where nothing was set."""
    monkeypatch.chdir(tmp_path)
    for act in (lambda: fill("", NEW), lambda: write_text("", "ours")):
        with pytest.raises(FormatError, match=r"^expected the name of a file or folder, found an empty one$"):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_is_no_file(tmp_path, monkeypatch):
    """Others than devices and pipes it has something to lose."""
    monkeypatch.setattr(Path, "is_block_device", lambda path: path.name == "sda")
    with pytest.raises(FormatError, match="expected a file to write, found a disk"):
        write_text(tmp_path / "sda", "ours")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_without_room_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "x")


def test_a_file_keeps_its_rights(tmp_path):
    """Whom its owner has shut out stays out."""
    for number, write in enumerate((lambda *words: write_text(*words, force=True), update_text)):
        place = tmp_path / str(number)
        write(place, "one")
        place.chmod(0o640)
        write(place, "two")
        assert (place.read_text(), place.stat().st_mode & 0o777) == ("two", 0o640)


@pytest.mark.parametrize("place", ["f/a.txt", "f", "x", "."])
def test_what_is_read_only_stays(tmp_path, place):
    """A file, a file of a folder, a folder or the one above it, even for root; said before anything is written."""
    fill(tmp_path / "f", OLD)
    write_text(tmp_path / "x", "old")
    before = tree(tmp_path)
    (tmp_path / place).chmod(0o555)
    try:
        if place in ("x", "."):
            with pytest.raises(FormatError, match=r"cannot write here: .* is read-only; choose another place"):
                write_text(tmp_path / "x", "new", force=True)
        if place in ("f", "f/a.txt"):
            with pytest.raises(FormatError, match=r"cannot write here: .* is read-only; choose another place"):
                fill(tmp_path / "f", NEW)
    finally:
        (tmp_path / place).chmod(0o755)
    assert tree(tmp_path) == before


def test_a_second_name_takes_nobodys_place(tmp_path, monkeypatch):
    """Also where files can have but one name, and if another program takes the name first."""
    for turn in range(2):
        (tmp_path / "x").write_text("edited")
        (tmp_path / "x.1").write_text("theirs")
        names = [tmp_path / "x.1", tmp_path / f"x.{turn + 2}"]
        monkeypatch.setattr(outputs, "free_names", lambda _, names=names: iter(names))
        assert keep_aside(tmp_path / "x") == names[1]
        assert (names[0].read_text(), names[1].read_text()) == ("theirs", "edited")
        monkeypatch.setattr(os, "link", _no_links)
    assert next(free_names(tmp_path / "x.tar.gz")).name == "x.1.tar.gz"


def _no_links(*_: object, **__: object) -> None:
    raise PermissionError


# --- several programs


def test_of_two_programs_that_write_one_name_the_first_wins(tmp_path, monkeypatch):
    """The other one gets the one sentence, file or folder, with links or without; with force the later one wins."""
    for links in (True, False):
        for number, write in enumerate((lambda place, text, **f: write_text(place, text, **f), _fill_one)):
            place = tmp_path / f"{links}{number}"
            for force, text in ((False, b"first"), (True, b"late")):
                _disturb(monkeypatch, lambda place=place, write=write: write(place, "first", force=False))
                with nullcontext() if force else pytest.raises(FormatError, match="exists; force=True replaces it"):
                    write(place, "late", force=force)
                assert text in tree(tmp_path).values()
                shutil.rmtree(place) if place.is_dir() else place.unlink()
                assert tree(tmp_path) == {}
        monkeypatch.setattr(os, "link", _no_links)


def _fill_one(place: Path, text: str, *, force: bool) -> None:
    fill(place, {"a.txt": text, "list": "a.txt"}, force=force)


def _disturb(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something when the next output is written, and is about to take its place."""
    real = outputs._do

    def disturbed(each: outputs.Move, **how: bool) -> None:
        monkeypatch.setattr(outputs, "_do", real)
        act()
        real(each, **how)

    monkeypatch.setattr(outputs, "_do", disturbed)


@pytest.mark.slow
@pytest.mark.parametrize("force", [False, True])
def test_of_many_programs_at_once_each_output_is_that_of_one(tmp_path, force):
    """Whole; without force the others say that it exists."""
    program = """
import sys, time
from kgtrec.errors import FormatError
from kgtrec.formats.output.outputs import write_text, writing_folder
place, number, at, force = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4] == "True"
def owned(folder):
    return ("a", "b", "list") if force and (folder / "list").exists() else ()
time.sleep(max(0, at - time.time()))
for what in range(20):
    try:
        if what % 2:
            write_text(f"{place}/{what}", number * 100_000, force=force)
        else:
            with writing_folder(f"{place}/{what}", "list", owned=owned, force=force) as part:
                for name in ("a", "b", "list"):
                    (part / name).write_text(number * 1000)
        print("wrote", what)
    except FormatError as error:
        assert not force and ("exists" in str(error) or "found one with a, b, list" in str(error)), error
"""
    import time

    for round_ in range(5):
        place, at = tmp_path / str(round_), str(time.time() + 2)
        place.mkdir()
        children = [
            subprocess.Popen(
                [sys.executable, "-c", program, place, str(number), at, str(force)], stdout=subprocess.PIPE, text=True
            )
            for number in range(4)
        ]
        said = [line for child in children for line in child.communicate()[0].splitlines()]
        assert [child.returncode for child in children] == [0] * 4
        assert sorted(said) == sorted(f"wrote {what}" for what in range(20) for _ in range(4 if force else 1))
        assert not [name for name in tree(place) if is_part(name)]
        for what in range(20):
            output = place / str(what)
            texts = [file.read_text() for file in output.iterdir()] if output.is_dir() else [output.read_text()]
            assert len(texts) == (1 if what % 2 else 3)
            assert len(set("".join(texts))) == 1


# --- a folder


def test_a_folder_that_is_written_twice_in_one_go_does_not_wait_for_itself(tmp_path):
    fill(tmp_path / "f", OLD)
    with outputs.together():
        fill(tmp_path / "f", OLD)
        fill(tmp_path / "f", NEW)
    assert tree(tmp_path / "f") == held(NEW)


def test_a_folder_is_replaced_with_force_and_what_is_not_its_own_stays(tmp_path):
    """README of the user, .git, checkpoints of notebooks: bytes, times, and names."""
    folder = tmp_path / "f"
    fill(folder, OLD, force=False)
    with pytest.raises(FormatError, match=r"/f: exists; force=True replaces it"):
        fill(folder, NEW, force=False)
    theirs = {"README.md": "mine", ".git/HEAD": "x", ".ipynb_checkpoints/a": "x", ".DS_Store": "", "notes/a": "mine"}
    for name, text in theirs.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    before = (folder / "README.md").stat()
    (folder / "a.txt").write_text("edited")
    (folder / "gone.txt").unlink()
    fill(folder, NEW)
    folders = {".git/": b"", ".ipynb_checkpoints/": b"", "notes/": b""}
    assert tree(folder) == held({**theirs, **NEW}) | folders
    assert (folder / "README.md").stat() == before


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ({"thesis.tex": "mine"}, "found one with thesis.tex; choose another folder"),
        ({"a.txt": ""}, "found one with a.txt; choose another folder"),
        ({str(n): "" for n in range(5)}, "found one with 0, 1, 2 and 2 more; choose another folder"),
        ({**OLD, "more.txt": "mine"}, "expected no other file more.txt in this folder, found one; move it away"),
    ],
)
def test_a_folder_of_another_kind_is_never_replaced(tmp_path, there, told):
    for name, text in there.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as caught:
        fill(tmp_path, NEW)
    assert told in str(caught.value)
    assert tree(tmp_path) == held(there)


def test_a_folder_with_hidden_files_is_empty(tmp_path):
    """As git and notebooks leave them."""
    (tmp_path / ".gitignore").write_text("x")
    fill(tmp_path, NEW, force=False)
    assert tree(tmp_path) == held({**NEW, ".gitignore": "x"})


@pytest.mark.parametrize("inner", ["f", "f/a.txt", "hard"])
def test_a_folder_that_is_read_is_not_replaced(tmp_path, inner):
    """Nor one with a file that is read, under any name; a file in it that is not its own may be read."""
    fill(tmp_path / "f", OLD)
    os.link(tmp_path / "f" / "a.txt", tmp_path / "hard")
    with protecting([tmp_path / inner]), pytest.raises(FormatError, match="expected a folder of its own, found "):
        fill(tmp_path / "f", NEW)
    assert tree(tmp_path / "f") == held(OLD)
    with protecting([tmp_path / "f" / "notes"]):
        fill(tmp_path / "f", NEW)


def test_a_manifest_names_nothing_outside_of_its_folder(tmp_path):
    """Whoever wrote it."""
    (tmp_path / "thesis.tex").write_text("mine")
    (tmp_path / "f" / "sub").mkdir(parents=True)
    (tmp_path / "f" / "sub" / "x").write_text("mine")
    (tmp_path / "f" / "list").write_text("../thesis.tex sub/x . .. /etc/passwd")
    fill(tmp_path / "f", NEW)
    assert tree(tmp_path) == held({f"f/{name}": text for name, text in NEW.items()}) | {
        "thesis.tex": b"mine",
        "f/": b"",
        "f/sub/": b"",
        "f/sub/x": b"mine",
    }


@pytest.mark.parametrize(
    ("here", "spelling"),
    [("f", spelling) for spelling in (".", "./.", "../f", "../f/../f", "../link", "{0}", "{0}/")]
    + [(".", spelling) for spelling in ("f", "f/../f", "link", "{0}", "{0}/")],
)
def test_any_spelling_of_the_path(tmp_path, here, spelling, monkeypatch):
    """The folder in which somebody stands, or a mount point, is filled and replaced too, and stays the same one."""
    folder = tmp_path / "f"
    folder.mkdir()
    (tmp_path / "link").symlink_to("f")
    path = spelling.format(folder)
    monkeypatch.chdir(tmp_path / here)
    inode = folder.stat().st_ino
    tmp_path.chmod(0o555)  # nothing is written beside it
    try:
        for files in (OLD, NEW, OLD):
            fill(path, files)
            assert tree(folder) == held(files)
            assert folder.stat().st_ino == inode
    finally:
        tmp_path.chmod(0o755)
    assert (tmp_path / "link").is_symlink()


def test_a_new_folder_of_folders(tmp_path):
    """With any depth, whether its place is empty or absent."""
    (tmp_path / "empty").mkdir()
    for name in ("empty", "absent"):
        with writing_folder(tmp_path / name) as part:
            write_text(part / "sub" / "a", "x")
        assert tree(tmp_path / name) == {"sub/": b"", "sub/a": b"x"}


# --- interruption


CASES = {
    "a new file": ({}, lambda place: write_text(place / "new" / "x", "new"), {"new/": "", "new/x": "new"}),
    "a file": ({"x": "old"}, lambda place: write_text(place / "x", "new", force=True), {"x": "new"}),
    "a file of a campaign": ({"x": "old"}, lambda place: update_text(place / "x", "new"), {"x": "new"}),
    "a new folder": ({}, lambda place: fill(place / "f", NEW), {"f/": "", **{f"f/{n}": t for n, t in NEW.items()}}),
    "a folder": (
        {"f/": "", "f/mine": "mine", **{f"f/{n}": t for n, t in OLD.items()}},
        lambda place: fill(place / "f", NEW),
        {"f/": "", "f/mine": "mine", **{f"f/{n}": t for n, t in NEW.items()}},
    ),
    "several": (
        {"f/": "", "x": "old", **{f"f/{n}": t for n, t in OLD.items()}},
        lambda place: _several(place),
        {"f/": "", "x": "new", "new/": "", "new/y": "new", **{f"f/{n}": t for n, t in NEW.items()}},
    ),
}


def _several(place: Path) -> None:
    with outputs.together(), replacing():
        write_text(place / "x", "new")
        fill(place / "f", NEW)
        write_text(place / "new" / "y", "new")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_stopped_at_any_call_of_the_system_it_is_old_or_new(tmp_path, case):
    """Interrupted before and after each call, or refused by the disk: what there was is as it was, or all is new.

    Killed, a file is old or new; a folder that is neither lacks its manifest. The same command with force mends it.
    """
    old, act, new = CASES[case]
    place = tmp_path / "place"
    foreign = {"thesis.tex": b"mine", "notes/": b"", "notes/a": b"mine"}

    def reset() -> None:
        shutil.rmtree(place, ignore_errors=True)
        (place / "notes").mkdir(parents=True)
        (place / "thesis.tex").write_text("mine")
        (place / "notes" / "a").write_text("mine")
        for name, text in old.items():
            (place / name).mkdir() if name.endswith("/") else (place / name).write_text(text)

    before, after = ({**foreign, **held(files)} for files in (old, new))
    seen = set()
    for fault, number, ended in faulty_runs(lambda: act(place), reset):
        found = without_parts(tree(place))
        where = fault, number, found
        if "kill" not in fault:
            assert found in (before, after), where
            assert not [name for name in tree(place) if is_part(name)] or found == after, where
        if ended == 0:
            assert found == after, where
        for name in {*found} | {*before} | {*after}:
            allowed = {texts.get(name) for texts in (before, after)}
            if name.startswith("f/") and "f/list" not in found:
                allowed.add(None)
            if name.endswith("/"):
                allowed |= {None, b""}  # a folder that was made for what is not there yet
            assert found.get(name) in allowed, where
        is_torn = any(name.startswith("f/") for name in found) and "f/list" not in found
        if not is_torn and case != "several":
            complete = {name: text for name, text in found.items() if name.startswith("f/")}
            states = [{n: t for n, t in state.items() if n.startswith("f/")} for state in (before, after)]
            assert complete in [*states, {}, {"f/": b""}], where
        with replacing():
            act(place)
        assert tree(place) == after, where
        seen.add((fault, is_torn))
    assert {fault for fault, _ in seen} == {"kill", "kill after", "interrupt", "interrupt after", "fail"}
    assert (("kill", True) in seen) == (case in ("a folder", "several"))


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    """Not what another one is still at work on, and nothing of others."""
    (tmp_path / ".f.0123abcd.part").mkdir()
    (tmp_path / ".f.0123abcd.part" / "half").write_text("x")
    (tmp_path / ".x.part").mkdir()
    (tmp_path / ".f.mine.part").write_text("mine")
    (tmp_path / ".other.0123abcd.part").write_text("half")
    with writing(tmp_path / "g") as stream:
        fill(tmp_path / "f", NEW)
        write_text(tmp_path / "h", "x")
        clear_parts(tmp_path)
        stream.write(b"g")
    assert {path.name for path in tmp_path.iterdir()} == {"f", "g", "h", ".x.part", ".f.mine.part"}


def test_what_is_written_is_on_the_disk_before_the_old_one_goes(tmp_path, monkeypatch):
    done = []
    real_sync, real_replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(os.fstat(handle).st_size), real_sync(handle)))
    monkeypatch.setattr(os, "replace", lambda *words: (done.append("replaced"), real_replace(*words)))
    for suffix in ("", ".gz", ".zst"):
        for text in ("1", "12"):
            write_text(tmp_path / f"x{suffix}", text, force=True)
        assert done[-2] == (tmp_path / f"x{suffix}").stat().st_size
        assert done[-1] == "replaced"


# --- any folder


names = st.sampled_from(["a.txt", "b", "c", ".hidden", "ü", "list"])
texts = st.text("xyz", max_size=3)


@given(st.dictionaries(names, texts), st.dictionaries(names, texts), st.dictionaries(names, texts), st.booleans())
def test_no_byte_that_is_not_its_own_ever_changes(tmp_path_factory, ours, theirs, new, force):
    """Of a folder of ours in which somebody has put, changed and removed files at random."""
    folder = tmp_path_factory.mktemp("any") / "f"
    ours, new = ({**files, "list": " ".join(files)} for files in (ours, new))
    fill(folder, ours)
    theirs.pop("list", None)
    for name, text in theirs.items():
        (folder / name).write_text(text)
    before = tree(folder)
    mine = {name: text for name, text in before.items() if name not in ours}
    is_refused = not force or bool(mine.keys() & new.keys())
    with chdir(folder if force else folder.parent), suppress(FormatError):
        fill("." if force else "f", new, force=force)
    assert tree(folder) == (before if is_refused else held(new) | mine)
    assert not [name for name in tree(folder.parent) if is_part(name)]
