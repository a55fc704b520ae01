"""What a page keeps beside a campaign: who is signed in, how long people looked, and what they said in training.

Verdicts that count are never in it: they are in ``judgements.jsonl`` alone. So it may be lost; then everybody needs a
new link, and is shown the guidelines and the training round again. It is one SQLite file in the folder, which
other programs may write to at the same time, and beside it the key that signs cookies, which only its owner can read.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike, require_regular
from kgtrec.formats.output.folders import SERVE_KEY, SERVE_STATE

_KEY_SIZE = 32  # bytes
LONGEST_SESSION = 30 * 24 * 3600.0  # seconds
_MOST_SESSIONS = 50  # of one person
_PATIENCE = 5.0  # seconds to wait for another program that writes
_SCHEMA = """
create table if not exists links (person text primary key, hash blob not null, made real not null) without rowid;
create table if not exists sessions (
    hash blob primary key, person text not null, link blob not null, made real not null
) without rowid;
create table if not exists guidelines (person text primary key, digest text not null) without rowid;
create table if not exists training (
    person text not null, task integer not null, verdict text not null, primary key (person, task)
) without rowid;
create table if not exists settings (name text primary key, value text not null) without rowid;
create table if not exists views (
    person text not null, role text not null, task integer not null, at real not null, seconds real not null,
    opened integer not null
);
create index if not exists views_of on views (person, role, task);
"""


class View(NamedTuple):
    """Some time that a person looked at a task, with the page in front of them."""

    person: str
    role: str
    task: int  # number on the page, see kgtrec.serve.service.Numbers
    at: float  # when it ended, seconds since 1970
    seconds: float
    opened: int  # how many pages of sources they opened meanwhile


class State:
    """Links, sessions and view times of a campaign, in its folder; may be used by several threads.

    A file that is removed while it is in use is made anew, empty.

    Parameters
    ----------
    folder : path
    clock : callable, optional
        Seconds since 1970. Default: the time.

    Raises
    ------
    KgtrecError
        If the file is there and is no state of a page, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> state = State(tempfile.mkdtemp())
    >>> state.set_link("ann", b"hash of a token")
    >>> state.links()
    [('ann', b'hash of a token')]
    """

    def __init__(self, folder: PathLike, clock: Callable[[], float] = time.time) -> None:
        self.path, self.clock = Path(folder, SERVE_STATE), clock
        self._lock = threading.Lock()
        self._open: sqlite3.Connection | None = None
        self._inode = -1
        with self._lock:
            self._connection()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None

    def set_link(self, person: str, token_hash: bytes) -> None:
        """Give somebody a link; the sessions of the former one end."""
        self._write("insert or replace into links values (?, ?, ?)", person, token_hash, self.clock())
        self._write("delete from sessions where person = ?", person)

    def links(self) -> list[tuple[str, bytes]]:
        """List everybody who has a link, and its hash."""
        return self._read("select person, hash from links order by person")

    def begin_session(self, session_hash: bytes, person: str, link: bytes) -> None:
        """Remember that somebody came in by a link; of very many sessions of theirs the oldest end."""
        self._write("delete from sessions where made < ?", self.clock() - LONGEST_SESSION)
        self._write("insert into sessions values (?, ?, ?, ?)", session_hash, person, link, self.clock())
        self._write(
            "delete from sessions where hash in "
            "(select hash from sessions where person = ? order by made desc limit -1 offset ?)",
            person,
            _MOST_SESSIONS,
        )

    def person_of(self, session_hash: bytes) -> str | None:
        """Find whose session it is; None where it has ended, is too old, or its link was renewed."""
        rows = self._read(
            "select person from sessions join links using (person) "
            "where sessions.hash = ? and sessions.link = links.hash and sessions.made >= ?",
            session_hash,
            self.clock() - LONGEST_SESSION,
        )
        return str(rows[0][0]) if rows else None

    def end_session(self, session_hash: bytes) -> None:
        """Forget a session."""
        self._write("delete from sessions where hash = ?", session_hash)

    def has_read(self, person: str, digest: str) -> bool:
        """Say whether somebody has read these guidelines."""
        return bool(self._read("select 1 from guidelines where person = ? and digest = ?", person, digest))

    def set_read(self, person: str, digest: str) -> None:
        """Remember that somebody has read these guidelines."""
        self._write("insert or replace into guidelines values (?, ?)", person, digest)

    def set_trained(self, person: str, task: int, verdict: str) -> None:
        """Remember what somebody said of a task of the training round; the first time counts."""
        self._write("insert or ignore into training values (?, ?, ?)", person, task, verdict)

    def trained(self) -> list[tuple[str, int, str]]:
        """List person, task and verdict of all that was said in the training round."""
        return self._read("select person, task, verdict from training order by person, task")

    def trained_of(self, person: str) -> dict[int, str]:
        """Map each task to what one person said of it."""
        return dict(self._read("select task, verdict from training where person = ?", person))

    def set_url(self, url: str) -> None:
        """Remember under which address people reach the page, for links that are made later."""
        self._write("insert or replace into settings values ('url', ?)", url)

    def url(self) -> str | None:
        """Give that address; None where it was never served."""
        rows = self._read("select value from settings where name = 'url'")
        return str(rows[0][0]) if rows else None

    def add_view(self, view: View) -> None:
        """Add to the time that somebody looked at a task."""
        self._write("insert into views values (?, ?, ?, ?, ?, ?)", *view)

    def views(self) -> list[View]:
        """List all views, in their order."""
        return [View(*row) for row in self._read("select * from views order by rowid")]

    def n_views(self) -> int:
        """Count the views."""
        return int(self._read("select coalesce(max(rowid), 0) from views")[0][0])

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection().execute(query, values).fetchall()

    def _write(self, query: str, *values: Any) -> None:
        with self._lock, self._connection() as connection:
            connection.execute(query, values)

    def _connection(self) -> sqlite3.Connection:
        """The open file, opened anew where another one or none has its name now."""
        with suppress(FileNotFoundError):
            if self._open is not None and self.path.stat().st_ino == self._inode:
                return self._open
        if self._open is not None:
            self._open.close()
            self._open = None
        require_regular(self.path)
        try:
            with suppress(FileExistsError):  # to close one that is there ends the locks of this process on it
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            opened = sqlite3.connect(self.path, timeout=_PATIENCE, check_same_thread=False)
            try:
                opened.execute("pragma journal_mode = wal")
                opened.execute("pragma synchronous = normal")
                opened.executescript(_SCHEMA)
            except BaseException:
                opened.close()
                raise
        except sqlite3.DatabaseError as error:
            raise KgtrecError(
                f"{self.path}: cannot be used ({error}); no verdict is in it: move it away, and give everybody a new "
                "link with kgtrec campaign serve"
            ) from None
        self._open, self._inode = opened, self.path.stat().st_ino
        return opened


def view_totals(folder: PathLike, role: str) -> list[tuple[str, int, float, int]]:
    """Sum the views in a role: person, task, seconds and opened pages, each task of a person once.

    They are read on a connection of their own, so that nobody waits for many of them. None where the file is lost.
    """
    address = f"{Path(folder, SERVE_STATE).absolute().as_uri()}?mode=rw"  # makes no file
    query = "select person, task, sum(seconds), sum(opened) from views where role = ? group by person, task"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, timeout=_PATIENCE, uri=True)) as connection:
        return connection.execute(query, (role,)).fetchall()
    return []


def key_of(folder: PathLike) -> bytes:
    """Read the key that signs the cookies of a campaign's page; it is made where there is none, for its owner alone.

    Raises
    ------
    KgtrecError
        If others can read it, or it is no key.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> len(key_of(folder)), key_of(folder) == key_of(folder)
    (32, True)
    """
    path = Path(folder, SERVE_KEY)
    require_regular(path)
    if not path.exists():
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, secrets.token_bytes(_KEY_SIZE))
            os.fsync(descriptor)
            with suppress(FileExistsError):  # another program was first
                os.link(part, path)
        except OSError:  # a file system without links
            part.replace(path)
        finally:
            os.close(descriptor)
            part.unlink(missing_ok=True)
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KgtrecError(f"{path}: expected a key that only its owner can read, found others can; run chmod 600 on it")
    key = path.read_bytes()
    if len(key) != _KEY_SIZE:
        raise KgtrecError(f"{path}: expected a key of {_KEY_SIZE} bytes, found {len(key):,}; remove it")
    return key
