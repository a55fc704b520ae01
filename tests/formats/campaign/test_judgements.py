"""The file of judgements: what goes in comes out, and nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.arrow import labels_of
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.campaign import judgements as judgements_module
from kgtrec.formats.campaign.judgements import (
    INCOMPLETE,
    KEYS,
    JudgementsFile,
    append_judgements,
    append_lines,
    read_judgements,
)
from kgtrec.formats.output import locks
from kgtrec.formats.output.locks import campaign_lock
from tests.campaign_folders import said
from tests.campaigns_by_hand import campaign_of
from tests.examples import examples
from tests.windows import pretend_windows

POOL = campaign_of().pool
TAILS = POOL.triples.entities.decode(POOL.triples.tail).to_pylist()
PARIS, SCRIPT = (TAILS.index(label) for label in ("paris", "<script>alert(1)</script>"))
GOOD = {
    "time": "2026-11-21T20:00:00Z",
    "person": "ann",
    "role": "annotator",
    "head": "fr",
    "relation": "capital",
    "tail": "paris",
    "verdict": "Y",
    "source": "https://en.wikipedia.org/",
    "note": "",
}
LINE = json.dumps(GOOD).encode()


def events_of(*events, time="2026-11-21T20:00:00Z"):
    judgements = campaign_of(events).judgements
    return replace(judgements, time=labels_of([time] * len(events)))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8) | st.sampled_from(
    [
        "line\nbreak\r\n",
        '"',
        "\\",
        "\\n",
        "<script>",
        "NA",
        "null",
        "\u2028\x85",
        "{}",
        '"}{"',
        "\0",
        "\ufeff",
        "é" * 30,
    ]
)


@given(
    events=st.lists(
        st.tuples(
            st.integers(0, len(POOL) - 1),
            texts.filter(bool),
            st.sampled_from(["annotator", "adjudicator", "expert"]),
            st.sampled_from(["Y", "N", "unsure"]),
            texts,
            texts,
        ),
        max_size=6,
    ),
    cut=st.integers(0, 6),
    block_size=st.sampled_from([40, 1 << 20]),
    indented=st.booleans(),
)
def test_events_come_back_as_they_went_in(events, cut, block_size, indented, tmp_path_factory):
    """In one call or two, by either way of reading, whatever the blocks; no text adds a line of its own."""
    path = tmp_path_factory.mktemp("store") / "judgements.jsonl"
    path.touch()
    for part in (events[:cut], events[cut:]):
        append_judgements(path, POOL, campaign_of(part).judgements)
    data = path.read_bytes().decode()
    assert data.count("\n") == len(data.splitlines()) == len(events)
    if indented:  # which is read line by line
        path.write_text("".join(f" {line}\n" for line in data.splitlines()), encoding="utf-8", newline="\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judgements_module, "_BLOCK_SIZE", block_size)
        assert said(read_judgements(path, POOL, as_written=True)) == said(campaign_of(events).judgements)


def test_a_line_is_an_object_with_its_keys_in_order(tmp_path):
    """The form that docs and other programs rely on, byte for byte."""
    path = tmp_path / "judgements.jsonl"
    append_judgements(path, POOL, events_of((SCRIPT, "ann", "annotator", "unsure", "", 'é "x"\n')))
    assert path.read_bytes().decode() == (
        '{"time": "2026-11-21T20:00:00Z", "person": "ann", "role": "annotator", "head": "fr", "relation": "capital", '
        '"tail": "<script>alert(1)</script>", "verdict": "unsure", "source": "", "note": "é \\"x\\"\\n"}\n'
    )


def test_both_ways_of_reading_are_in_use(tmp_path, monkeypatch):
    """Arrow reads a regular file; lines that it might take otherwise go one by one, and give the same."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + LINE + b"\n")
    asked = []
    monkeypatch.setattr(judgements_module, "_event", lambda *given: asked.append(given))
    assert len(read_judgements(path, POOL)) == 2
    assert asked == []
    monkeypatch.undo()
    path.write_bytes(b"\xef\xbb\xbf" + LINE + b"\r\n  " + LINE + b"\r\n")
    assert len(read_judgements(path, POOL)) == 2


def changed(**values) -> bytes:
    return json.dumps({**GOOD, **values}).encode()


ALL_KEYS = ", ".join(KEYS)


@pytest.mark.parametrize("indent", [b"", b" "])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (b"", f"expected JSON, found something else (expecting value); {INCOMPLETE}"),
        (b"{}{}", f"expected JSON, found something else (extra data); {INCOMPLETE}"),
        (LINE + LINE, f"expected JSON, found something else (extra data); {INCOMPLETE}"),
        (LINE[:-9], f"expected JSON, found something else (unterminated string starting at); {INCOMPLETE}"),
        (b"[]", f"expected a JSON object with {ALL_KEYS}, got '[]'"),
        (b'[["time", "x"]]', f"expected a JSON object with {ALL_KEYS}, got '[["),
        (b"[" * 100_000, "expected JSON, found brackets nested too deeply"),
        (b"1" * 10_000, "expected JSON, found a number too long to read"),
        (b"{}", f"expected the keys {ALL_KEYS}, found no time: '{{}}'"),
        (changed(more="x"), f"expected only the keys {ALL_KEYS}, found 'more'"),
        (LINE[:-1] + b', "verdict": "N"}', "expected JSON, found the key 'verdict' twice in one object"),
        (changed(verdict=1), "expected text as verdict, found '1'"),
        (changed(note=None), "expected text as note, found 'null'"),
        (changed(note={"a": "b"}), 'expected text as note, found \'{"a": "b"}\''),
        (changed(note="\ud800"), "expected JSON, found half a surrogate pair in a text"),
        (LINE.replace(b"ann", b"caf\xe9"), "expected JSON, found something else (not UTF-8)"),
        (changed(verdict="yes"), "expected N, Y, unsure as verdict, found 'yes'"),
        (changed(verdict="y"), "expected N, Y, unsure as verdict, found 'y'; did you mean Y?"),
        (changed(role="Expert"), "expected annotator, adjudicator, expert as role, found 'Expert'; did you mean ex"),
        (changed(person=""), "expected the name of a person, found an empty one"),
        (changed(time="yesterday"), "expected a time in UTC such as 2026-11-21T20:00:00Z, found 'yesterday'"),
        (changed(time="2026-19-39T29:59:69Z"), "expected a time in UTC such as 2026-11-21T20:00:00Z, found '2026-19"),
        (changed(time=GOOD["time"] + "\n"), "expected a time in UTC such as 2026-11-21T20:00:00Z, found '2026"),
        (changed(head="paris", tail="fr"), "expected a triple of the pool, found 'paris capital fr'; are these the"),
        (changed(head="nowhere"), "expected a triple of the pool, found 'nowhere capital paris'; are these the"),
        (LINE.replace(b'"note": ""', b'"note": "\x01"'), "expected JSON, found something else (invalid control char"),
        (LINE[:20] + b"\x00" + LINE[20:], "expected JSON, found something else (invalid control char"),
    ],
)
def test_a_wrong_line_is_named(wrong, message, indent, tmp_path, monkeypatch):
    """By its number, by either way of reading; the lines before it are right."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(indent + LINE + b"\n" + LINE + b"\n" + wrong + b"\n" + LINE + b"\n")
    for block_size in (1 << 20, 100):
        monkeypatch.setattr(judgements_module, "_BLOCK_SIZE", block_size)
        with pytest.raises(FormatError) as caught:
            read_judgements(path, POOL)
        assert str(caught.value).startswith(f"{path}:3: {message}")
        assert "\n" not in str(caught.value)


def test_the_first_wrong_line_is_named_whatever_is_wrong(tmp_path):
    """Not the one whose column is looked at first."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(b"\n".join([LINE, changed(verdict="?"), changed(time="?"), b""]))
    with pytest.raises(FormatError, match=r"jsonl:2: expected N, Y, unsure as verdict"):
        read_judgements(path, POOL)


def test_a_missing_file_is_an_error_and_an_empty_one_is_not(tmp_path):
    """A campaign that lost its judgements must not pass for one that nobody has judged."""
    with pytest.raises(FormatError, match="no such file"):
        read_judgements(tmp_path / "judgements.jsonl", POOL)
    (tmp_path / "judgements.jsonl").touch()
    assert len(read_judgements(tmp_path / "judgements.jsonl", POOL)) == 0


@settings(max_examples=examples(30))
@given(cut=st.integers(1, len(LINE) - 1), alone=st.booleans())
def test_a_torn_last_line_is_left_out_and_then_moved_aside(cut, alone, tmp_path_factory):
    """Wherever it is torn; nothing of it is thrown away, and what was whole stays."""
    path = tmp_path_factory.mktemp("store") / "judgements.jsonl"
    before = b"" if alone else LINE + b"\n"
    path.write_bytes(before + LINE[:cut])
    with pytest.warns(KgtrecWarning, match="left out the incomplete last line"):
        assert len(read_judgements(path, POOL)) == (not alone)
    event = events_of((PARIS, "ann", "annotator", "Y", "https://en.wikipedia.org/", ""))
    with pytest.warns(KgtrecWarning, match=r"moved its incomplete last line to .*judgements.jsonl.torn"):
        append_judgements(path, POOL, event)
    assert path.read_bytes() == before + LINE.replace(b"}", b"}\n")
    assert path.with_name("judgements.jsonl.torn").read_bytes() == LINE[:cut] + b"\n"
    assert len(read_judgements(path, POOL)) == 1 + (not alone)


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"   ", b"\xc3", b"{", b"[]", b"7"])
def test_what_a_crash_may_leave_counts_as_torn(tail, tmp_path):
    """Zeros of blocks that were never written, too."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + tail)
    with pytest.warns(KgtrecWarning, match="incomplete"):
        assert len(read_judgements(path, POOL)) == 1


def test_a_last_line_that_lacks_only_its_line_feed_counts(tmp_path):
    """An editor may have saved the file without it; the next line begins on a line of its own."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + LINE)
    assert len(read_judgements(path, POOL)) == 2
    append_judgements(path, POOL, events_of((0, "bob", "annotator", "Y", "", "")))
    assert lines_of(path)[:2] == [LINE, LINE]
    assert len(read_judgements(path, POOL)) == 3
    assert not path.with_name("judgements.jsonl.torn").exists()


def test_on_windows_a_torn_line_is_moved_aside_too(tmp_path, monkeypatch):
    """No byte is changed on the way, and the folder, which cannot be opened there, is not synced."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + LINE[:20])
    pretend_windows(monkeypatch)
    with pytest.warns(KgtrecWarning, match="moved its incomplete last line"):
        append_judgements(path, POOL, events_of((PARIS, "ann", "annotator", "Y", "https://en.wikipedia.org/", "")))
    assert path.read_bytes() == 2 * (LINE + b"\n")
    assert path.with_name("judgements.jsonl.torn").read_bytes() == LINE[:20] + b"\n"


def test_no_events_change_nothing(tmp_path):
    """Not even a torn line is moved."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + LINE[:20])
    append_judgements(path, POOL, events_of())
    assert path.read_bytes() == LINE + b"\n" + LINE[:20]


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_a_failed_write_leaves_nothing_behind(failing, tmp_path, monkeypatch):
    """What could not be acknowledged is taken back, and the error names the file."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n")
    real, calls = getattr(os, failing), []
    new = events_of((0, "bob", "annotator", "Y", "", ""))

    def full(descriptor, *rest):
        calls.append(descriptor)
        if failing == "write" and len(calls) == 1:
            return real(descriptor, rest[0][:17])  # the disk takes a part of it
        if len(calls) > 2:
            return real(descriptor, *rest)
        raise OSError(28, "No space left on device")

    held = JudgementsFile(path, POOL)
    held.update()
    monkeypatch.setattr(judgements_module.os, failing, full)
    with pytest.raises(OSError, match="No space left") as caught:
        held.append(new)
    monkeypatch.undo()
    assert caught.value.filename == str(path)
    assert path.read_bytes() == LINE + b"\n"
    held.append(new)
    assert len(held.events) == len(read_judgements(path, POOL)) == 2


def test_events_are_on_the_disk_before_they_are_acknowledged(tmp_path, monkeypatch):
    """All bytes are written, in one write, then file and folder synced, then the call returns."""
    path = tmp_path / "judgements.jsonl"
    done = []
    real_write, real_sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda d, data: (done.append(("write", len(data))), real_write(d, data))[1])
    monkeypatch.setattr(os, "fsync", lambda d: (done.append(("sync", os.fstat(d).st_mode >> 12)), real_sync(d))[1])
    append_judgements(path, POOL, events_of(*[(row, "ann", "annotator", "Y", "", "x") for row in range(5)]))
    assert done == [("write", path.stat().st_size), ("sync", 0o10), ("sync", 0o04)]


def test_a_file_that_was_replaced_meanwhile_acknowledges_nothing(tmp_path, monkeypatch):
    """An editor that saves a file puts another one in its place; events that went to the old one must not be lost."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n")
    real = os.fsync

    def replaced(descriptor):
        real(descriptor)
        path.replace(tmp_path / "old")
        path.write_bytes(LINE + b"\n")

    monkeypatch.setattr(os, "fsync", replaced)
    with pytest.raises(KgtrecError, match="was replaced by another file"):
        append_lines(path, LINE + b"\n")


def test_a_writer_that_waited_takes_the_file_that_is_there_now(tmp_path, monkeypatch):
    """What it had locked of the file that was replaced while it waited is worth nothing."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n")
    told = threading.Event()
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    monkeypatch.setattr(locks, "warn", lambda *_, **__: told.set())
    with campaign_lock(tmp_path):
        waiting = threading.Thread(
            target=append_judgements, args=(path, POOL, events_of((0, "bob", "annotator", "Y", "", "")))
        )
        waiting.start()
        assert told.wait(30)
        path.replace(tmp_path / "old")
        path.write_bytes(LINE + b"\n" + LINE + b"\n")
    waiting.join()
    assert len(read_judgements(path, POOL)) == 3


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    """A folder in its place, or none around it."""
    for path in (tmp_path, tmp_path / "none" / "judgements.jsonl"):
        with pytest.raises(FormatError, match="cannot be opened for adding lines"):
            append_judgements(path, POOL, events_of((0, "bob", "annotator", "Y", "", "")))


APPENDS = """
import sys, pytest
from tests.windows import pretend_windows
if sys.argv[4] == "Windows":
    pretend_windows(pytest.MonkeyPatch())
from tests.formats.campaign.test_judgements import POOL, append_judgements, events_of
path, name, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(n):
    events = [(row, name, "annotator", "Y", "", f"{i}:{'x' * 3000}") for row in range(3)]
    append_judgements(path, POOL, events_of(*events))
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", ["POSIX", "Windows"])
def test_processes_that_append_at_once_lose_nothing(system, tmp_path):
    """Every event of each is there once, those of one call together; it reads well all the while."""
    n_processes = 4
    path = tmp_path / "judgements.jsonl"
    path.touch()
    names = [f"p{place}" for place in range(n_processes)]
    processes = [subprocess.Popen([sys.executable, "-c", APPENDS, str(path), name, "40", system]) for name in names]
    seen = 0
    while any(process.poll() is None for process in processes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # a line may be half written just now
            now = len(read_judgements(path, POOL))
        assert now >= seen
        seen = now
    assert [process.wait() for process in processes] == [0] * n_processes
    events = [(event[1], int(event[5].split(":")[0]), event[0]) for event in said(read_judgements(path, POOL))]
    assert sorted(events) == sorted((name, i, row) for name in names for i in range(40) for row in range(3))
    calls = [tuple(events[first : first + 3]) for first in range(0, len(events), 3)]
    assert all(len({event[:2] for event in call}) == 1 for call in calls)


def test_columns_of_the_types_that_the_rest_relies_on(tmp_path):
    """Codes of the widths that Judgements states."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n")
    read = read_judgements(path, POOL)
    kinds = [column.dtype for column in (read.triple, read.annotator, read.role, read.verdict)]
    assert kinds == [np.int32, np.int32, np.int8, np.int8]


TIMES = [f"2026-11-21T20:00:0{second}Z" for second in range(4)]


@pytest.mark.slow
@settings(max_examples=examples(50))
@given(
    batches=st.lists(
        st.tuples(
            st.sampled_from(["ours", "ours", "others", "ours beside others", "no line feed", "edited"]),
            st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc")), min_size=1, max_size=4),
            st.sampled_from(TIMES),
        ),
        min_size=3,
        max_size=8,
    ),
    most_recent=st.sampled_from([0, 3, 100]),
)
def test_a_file_that_grows_is_known_as_if_it_were_read_anew(batches, most_recent, tmp_path_factory):
    """Whoever added the events, whatever their times, and whether they are kept apart from the others or not."""
    path = tmp_path_factory.mktemp("growing") / "judgements.jsonl"
    path.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judgements_module, "_MOST_RECENT", most_recent)
        held = JudgementsFile(path, POOL)
        for nth, (by, pairs, when) in enumerate(batches):
            when = when if by == "others" else f"2026-11-21T21:00:{nth:02}Z"  # what is accepted is later than before
            new = events_of(*((triple, person, "annotator", "Y", "", str(nth)) for triple, person in pairs), time=when)
            if by == "others":
                append_judgements(path, POOL, new)
            elif by == "no line feed":
                path.write_bytes(path.read_bytes().removesuffix(b"\n"))
            elif by == "edited":  # in place, and hidden by a line that was added
                edited = path.read_bytes().replace(b'"verdict": "Y"', b'"verdict": "N"', 1)
                path.write_bytes(edited + (b"" if edited[-1:] in b"\n" else b"\n") + LINE + b"\n")
            else:
                held.update()
                if by == "ours beside others":  # a program that takes no lock
                    with path.open("ab") as stream:
                        stream.write(b"" if path.read_bytes()[-1:] in b"\n" else b"\n")
                        stream.write(LINE + b"\n")
                held.append(new)
            held.update()
            whole = read_judgements(path, POOL)
            for person in ("a", "b", "c", "ann", "nobody"):
                own = np.array(whole.annotators.decode(whole.annotator).to_pylist()) == person
                assert said(held.of(person)) == said(whole.take(own.reshape(-1)))
            for wanted in ([0], [1, 3], range(len(POOL))):
                rows = np.array(wanted, np.intp)
                assert said(held.about(rows)) == said(whole.take(np.isin(whole.triple, rows)))
        held.update()
        assert said(held.events) == said(read_judgements(path, POOL))


def test_a_file_that_was_edited_is_read_again(tmp_path):
    """What somebody took out is out, also of what one person said."""
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(LINE + b"\n" + LINE.replace(b'"ann"', b'"bob"') + b"\n")
    held = JudgementsFile(path, POOL)
    held.update()
    assert (len(held.of("ann")), len(held.of("bob"))) == (1, 1)
    path.write_bytes(LINE.replace(b'"ann"', b'"bob"') + b"\n")
    held.update()
    assert (len(held.of("ann")), len(held.of("bob")), len(held.events)) == (0, 1, 1)
