"""What a page keeps beside a campaign: who is signed in, how long people looked, and what they said in training.

People get in by a personal link, which is exchanged for a signed cookie; each form carries a token. A link holds 256
random bits, of which only the hash is stored. What the cookie names is looked up at every request, so that a renewed
link, a person who has left and a session that was ended are out at once. The key alone lets nobody in.

Verdicts that count are never in it: they are in ``judgements.jsonl`` alone. So it may be lost; then everybody needs a
new link, and is shown the guidelines and the training round again. It is one SQLite file in the folder, which
other programs may write to at the same time, and beside it the key that signs cookies, which only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
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

from itsdangerous import BadSignature, Signer

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


class Session(NamedTuple):
    """Somebody who is signed in."""

    id: str
    person: str


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
        If the file is there and is no state of a page, or cannot be written; or as :func:`key_of`.

    Examples
    --------
    >>> import tempfile
    >>> state = State(tempfile.mkdtemp())
    >>> token = state.link("ann").removeprefix("/in/")
    >>> session = state.session_of(state.sign_in(token))
    >>> session.person, state.is_token_of(session, state.token_of(session)), state.sign_in("x" * 43)
    ('ann', True, None)
    >>> _ = state.link("ann")
    >>> state.session_of(state.sign_in(token)) is None
    True
    """

    def __init__(self, folder: PathLike, clock: Callable[[], float] = time.time) -> None:
        self.path, self.clock, self._key = Path(folder, SERVE_STATE), clock, key_of(folder)
        self._cookies = Signer(self._key, salt="kgtrec.serve.cookie", digest_method=hashlib.sha256)
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

    def link(self, person: str, url: str = "") -> str:
        """Make a new link for somebody, as they open it; the one they had is void, and so are its sessions."""
        token = secrets.token_urlsafe(32)
        self._write("insert or replace into links values (?, ?, ?)", person, hash_of(token), self.clock())
        self._write("delete from sessions where person = ?", person)
        return f"{url.rstrip('/')}/in/{token}"

    def links(self) -> list[tuple[str, bytes]]:
        """List everybody who has a link, and its hash."""
        return self._read("select person, hash from links order by person")

    def person_of(self, token: str) -> str | None:
        """Find whose link holds a token; None where it is nobody's."""
        wanted, holder = hash_of(token), None
        for person, own in self.links():  # all of them, so that the time taken shows nothing
            if hmac.compare_digest(own, wanted):
                holder = person
        return holder

    def sign_in(self, token: str) -> str | None:
        """Give a cookie in exchange for a link's token; None where it is nobody's. Of many sessions the oldest end."""
        person = self.person_of(token)
        if person is None:
            return None
        session = secrets.token_urlsafe(32)
        self._write("delete from sessions where made < ?", self.clock() - LONGEST_SESSION)
        row = hash_of(session), person, hash_of(token), self.clock()
        self._write("insert into sessions values (?, ?, ?, ?)", *row)
        self._write(
            "delete from sessions where hash in "
            "(select hash from sessions where person = ? order by made desc limit -1 offset ?)",
            person,
            _MOST_SESSIONS,
        )
        return self._cookies.sign(session).decode()

    def session_of(self, cookie: str | None) -> Session | None:
        """Find the session of a cookie; None if it was not signed here, or is over: by time, or by a new link."""
        if not cookie or len(cookie) > 200:
            return None
        try:
            session = self._cookies.unsign(cookie).decode()
        except (BadSignature, UnicodeError):
            return None
        rows = self._read(
            "select person from sessions join links using (person) "
            "where sessions.hash = ? and sessions.link = links.hash and sessions.made >= ?",
            hash_of(session),
            self.clock() - LONGEST_SESSION,
        )
        return Session(session, str(rows[0][0])) if rows else None

    def sign_out(self, session: Session) -> None:
        """End a session."""
        self._write("delete from sessions where hash = ?", hash_of(session.id))

    def token_of(self, session: Session) -> str:
        """Give what each form of a session carries, and nobody else can know."""
        return hmac.new(self._key, b"kgtrec.serve.form\0" + session.id.encode(), hashlib.sha256).hexdigest()

    def edition_of(self, edition: str) -> str:
        """Give the name of a pool's edition in forms: another one for each campaign, also where the pool is the same.

        Browsers keep under it what was typed, for all campaigns that one address has served.
        """
        return hmac.new(self._key, b"kgtrec.serve.edition\0" + edition.encode(), hashlib.sha256).hexdigest()[:16]

    def is_token_of(self, session: Session, token: str) -> bool:
        """Say whether a form is of this session."""
        return hmac.compare_digest(self.token_of(session).encode(), token.encode("utf-8", "replace"))

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


def hash_of(secret: str) -> bytes:
    """Hash a secret of 256 random bits for storing; there are too many to make a table of."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
