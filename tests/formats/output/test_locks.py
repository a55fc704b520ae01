"""The lock of a campaign: one program at a time, on the file of judgements that is there."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.formats.output import locks
from kgtrec.formats.output.locks import JUDGEMENTS, campaign_lock
from tests.windows import LK_NBLCK, locking, pretend_windows


@pytest.fixture(params=["POSIX", "Windows"])
def system(request, monkeypatch):
    """The system as it is, and what stands in for the other."""
    if request.param == "Windows":
        pretend_windows(monkeypatch)
    return request.param


def in_another_thread(action) -> threading.Thread:
    thread = threading.Thread(target=action)
    thread.start()
    return thread


def test_one_program_at_a_time(system, tmp_path, monkeypatch):
    """The next one waits, is told so once, and goes on when the first is done; others can read meanwhile."""
    monkeypatch.setattr(locks, "_PATIENCE", 0.0)
    (tmp_path / JUDGEMENTS).write_text("a line\n")
    told, order = threading.Event(), []
    monkeypatch.setattr(locks, "warn", lambda text, *_, **__: (order.append(text), told.set()))

    def second():
        with campaign_lock(tmp_path):
            order.append("second")

    with campaign_lock(tmp_path):
        waiting = in_another_thread(second)
        assert told.wait(30)
        time.sleep(5 * locks._PAUSE)
        assert (tmp_path / JUDGEMENTS).read_text() == "a line\n"
        order.append("first")
    waiting.join(30)
    assert order == [f"{tmp_path}: another program is changing it; waiting", "first", "second"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [JUDGEMENTS]


def test_a_killed_program_gives_the_lock_free(tmp_path):
    """The system does."""
    (tmp_path / JUDGEMENTS).touch()
    code = (
        "import sys, time; from kgtrec.formats.output.locks import campaign_lock\n"
        "with campaign_lock(sys.argv[1]): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        holder.kill()
        with campaign_lock(tmp_path):
            pass


@pytest.mark.parametrize("exchange", ["folder", "file"])
def test_what_was_replaced_while_waiting_is_not_what_is_locked(exchange, system, tmp_path, monkeypatch):
    """An exchange of folders, or an editor's new file: the lock is on what is there now."""
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
            (tmp_path / "new").mkdir()
            (tmp_path / "new" / JUDGEMENTS).touch()
            (tmp_path / "new").rename(folder)
        else:
            (folder / "new").touch()
            (folder / "new").rename(folder / JUDGEMENTS)
    assert held.wait(30)
    descriptor = os.open(folder / JUDGEMENTS, os.O_RDWR)
    if system == "POSIX":
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        os.lseek(descriptor, locks._FAR, os.SEEK_SET)
        with pytest.raises(PermissionError):
            locking(descriptor, LK_NBLCK, 1)
    os.close(descriptor)
    done.set()
    waiting.join(30)


def test_no_file_is_made_and_no_folder(system, tmp_path):
    """Where there is none, there is nothing to be locked."""
    with campaign_lock(tmp_path / "none"), campaign_lock(tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_the_lock_goes_with_an_error(system, tmp_path):
    """Whatever happens inside."""
    (tmp_path / JUDGEMENTS).touch()
    for _ in range(2):
        with pytest.raises(RuntimeError), campaign_lock(tmp_path):
            raise RuntimeError


def test_where_nothing_can_be_locked(tmp_path, monkeypatch):
    """As on some network drives, or where the file cannot be written to: an error says so."""
    path = tmp_path / JUDGEMENTS
    path.touch()
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(95, "Operation not supported")))
        refused = pytest.raises(KgtrecError, match=r"judgements\.jsonl: cannot be locked against other programs: Op")
        with refused, campaign_lock(tmp_path):
            pass
    real = os.open

    def read_only(place, flags, *rest):
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(30, "Read-only file system")
        return real(place, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    refused = pytest.raises(KgtrecError, match=r"judgements\.jsonl: cannot be locked against other programs: Read-only")
    with refused, campaign_lock(tmp_path):
        pass
