"""The lock of a campaign: one program at a time, on the folder that is there."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from pathlib import Path

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.formats.output import locks
from kgtrec.formats.output.locks import JUDGEMENTS, campaign_lock


def in_another_thread(action) -> threading.Thread:
    thread = threading.Thread(target=action)
    thread.start()
    return thread


@pytest.mark.parametrize("with_judgements", [True, False])
def test_one_program_at_a_time(with_judgements, tmp_path, monkeypatch):
    """The next one waits, is told so, and goes on when the first is done."""
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    if with_judgements:
        (tmp_path / JUDGEMENTS).touch()
    told, order = threading.Event(), []
    monkeypatch.setattr(locks, "warn", lambda text, *_, **__: (order.append(text), told.set()))

    def second():
        with campaign_lock(tmp_path):
            order.append("second")

    with campaign_lock(tmp_path):
        waiting = in_another_thread(second)
        assert told.wait(30)
        order.append("first")
    waiting.join(30)
    assert order == [f"{tmp_path}: another program is changing it; waiting", "first", "second"]


@pytest.mark.parametrize("exchange", ["folder", "file"])
def test_what_was_replaced_while_waiting_is_not_what_is_locked(exchange, tmp_path, monkeypatch):
    """An exchange of folders, as when a pool is replaced, or an editor's new file: the lock is on what is there now."""
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    told, held, done = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(locks, "warn", lambda *_, **__: told.set())
    folder = tmp_path / "C"
    folder.mkdir()
    (folder / JUDGEMENTS).touch()

    def second():
        with campaign_lock(folder):
            held.set()
            assert done.wait(30)

    with campaign_lock(folder):
        waiting = in_another_thread(second)
        assert told.wait(30)
        if exchange == "folder":
            folder.rename(tmp_path / "old")
            folder.mkdir()
        else:
            (folder / JUDGEMENTS).rename(tmp_path / "old")
        (folder / JUDGEMENTS).touch()
    assert held.wait(30)
    for place, flags in ((folder, os.O_RDONLY), (folder / JUDGEMENTS, os.O_RDWR)):
        descriptor = os.open(place, flags)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    done.set()
    waiting.join(30)


def test_no_file_is_made_and_no_folder(tmp_path):
    """Where there is none, there is nothing to be locked."""
    with campaign_lock(tmp_path / "none"), campaign_lock(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_the_lock_goes_with_an_error(tmp_path):
    """Whatever happens inside."""
    for _ in range(2):
        with pytest.raises(RuntimeError), campaign_lock(tmp_path):
            raise RuntimeError


def test_where_nothing_can_be_locked(tmp_path, monkeypatch):
    """Only who must not go on without it is stopped."""
    (tmp_path / JUDGEMENTS).touch()
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "Operation not supported")))
        with campaign_lock(tmp_path):
            pass
        refused = pytest.raises(KgtrecError, match=r"judgements\.jsonl: cannot be locked against other programs: Op")
        with refused, campaign_lock(tmp_path, needed=True):
            pass
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with campaign_lock(tmp_path):
        pass
    with pytest.raises(KgtrecError, match="has no fcntl"), campaign_lock(tmp_path, needed=True):
        pass


def test_a_folder_that_cannot_be_locked_is_locked_by_its_file(tmp_path, monkeypatch):
    """As on a network file system: the file alone keeps others out."""
    (tmp_path / JUDGEMENTS).touch()
    real = fcntl.flock

    def no_folders(descriptor: int, flags: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(9, "Bad file descriptor")
        real(descriptor, flags)

    monkeypatch.setattr(fcntl, "flock", no_folders)
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    passed = threading.Event()

    def second():
        with campaign_lock(tmp_path, needed=True):
            passed.set()

    monkeypatch.setattr(locks, "warn", lambda *_, **__: None)
    with campaign_lock(tmp_path, needed=True):
        waiting = in_another_thread(second)
        assert not passed.wait(0.3)
    waiting.join(30)
    assert passed.is_set()
