"""How people get in: a personal link, exchanged for a signed cookie, and a token on each form.

A link holds 256 random bits, of which only the hash is stored. Who comes with it gets a cookie; what the cookie names
is looked up at every request, so that a renewed link, a person who has left and a session that was ended are out at
once. The cookie is signed too, but the key alone lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from itsdangerous import BadSignature, Signer

from kgtrec.campaign.verdict_rules import roles_of
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.campaign.folder import read_people
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import PEOPLE
from kgtrec.serve.state import State

_MOST_WATCHED = 10_000


class Session(NamedTuple):
    """Somebody who is signed in."""

    id: str
    person: str


class Access:
    """Lets people in by their links, and knows them again by their cookies.

    Parameters
    ----------
    state : State
    key : bytes
        Of :func:`kgtrec.serve.state.key_of`.

    Examples
    --------
    >>> import tempfile
    >>> access = Access(State(tempfile.mkdtemp()), b"k" * 32)
    >>> token = access.new_link("ann")
    >>> cookie = access.sign_in(token)
    >>> session = access.session_of(cookie)
    >>> session.person, access.is_token_of(session, access.token_of(session)), access.sign_in("x" * 43)
    ('ann', True, None)
    >>> _ = access.new_link("ann")
    >>> access.session_of(cookie) is None
    True
    """

    def __init__(self, state: State, key: bytes) -> None:
        self.state, self._key = state, key
        self._cookies = Signer(key, salt="kgtrec.serve.cookie", digest_method=hashlib.sha256)

    def new_link(self, person: str) -> str:
        """Make a new token for somebody; the one they had is void, and so are its sessions."""
        token = secrets.token_urlsafe(32)
        self.state.set_link(person, hash_of(token))
        return token

    def link(self, url: str, person: str) -> str:
        """Make a new link for somebody, as they open it, see :meth:`new_link`."""
        return f"{url.rstrip('/')}/in/{self.new_link(person)}"

    def person_of(self, token: str) -> str | None:
        """Find whose link holds a token; None where it is nobody's."""
        wanted, found = hash_of(token), None
        for person, own in self.state.links():  # all of them, so that the time taken shows nothing
            if hmac.compare_digest(own, wanted):
                found = person
        return found

    def sign_in(self, token: str) -> str | None:
        """Give a cookie in exchange for a link's token; None where it is nobody's."""
        person = self.person_of(token)
        if person is None:
            return None
        session = secrets.token_urlsafe(32)
        self.state.begin_session(hash_of(session), person, hash_of(token))
        return self._cookies.sign(session).decode()

    def session_of(self, cookie: str | None) -> Session | None:
        """Find the session of a cookie; None where it was not signed here, or the session has ended."""
        if not cookie or len(cookie) > 200:
            return None
        try:
            session = self._cookies.unsign(cookie).decode()
        except (BadSignature, UnicodeError):
            return None
        person = self.state.person_of(hash_of(session))
        return None if person is None else Session(session, person)

    def sign_out(self, session: Session) -> None:
        """End a session."""
        self.state.end_session(hash_of(session.id))

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


def active_roles(folder: PathLike) -> dict[str, list[str]]:
    """Map everybody who takes part in a campaign to their active roles, in the order of the file."""
    everybody = roles_of(read_people(Path(folder, PEOPLE)))
    return {
        name: own for name, roles in everybody.items() if (own := [role for role, active in roles.items() if active])
    }


def require_active(folder: PathLike, person: str) -> None:
    """Refuse a person who takes no part in a campaign.

    Raises
    ------
    KgtrecError
        With names like it.
    """
    if person not in (roles := active_roles(folder)):
        raise KgtrecError(
            f"expected somebody who takes part, found {person!r}{nearest(person, roles)}; see people.tsv, and name "
            "people with kgtrec campaign init"
        )


def hash_of(secret: str) -> bytes:
    """Hash a secret of 256 random bits for storing; there are too many to make a table of."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class Limit:
    """So many requests at once, and then so many a second, for each of whoever asks.

    One that costs more than what is left is let through, and those after it wait the longer.

    Parameters
    ----------
    burst : int
    per_second : float
    clock : callable, optional
        Seconds that never go back.

    Examples
    --------
    >>> limit = Limit(2, 1.0, clock=lambda: 0.0)
    >>> [limit.allows("ann") for _ in range(3)], limit.allows("bob")
    ([True, True, False], True)
    """

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.burst, self.per_second, self.clock = burst, per_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # who -> how many are left, and when
        self._lock = threading.Lock()

    def allows(self, who: str, cost: int = 1) -> bool:
        """Say whether somebody may go on; ``cost``: as how many of their requests this counts, 0 for none."""
        now = self.clock()
        with self._lock:
            left, since = self._left.pop(who, (float(self.burst), now))
            left = min(self.burst, left + (now - since) * self.per_second)
            may = left >= 1
            self._left[who] = (left - cost if may else left), now
            if len(self._left) > _MOST_WATCHED:
                self._left.popitem(last=False)
        return may


def is_own_origin(origin: str | None, site: str | None, url: str) -> bool:
    """Say whether a request that changes something comes from a page of this server.

    A page that sends no referrer sends ``null`` as the origin of its plain forms. Then what browsers say of the site
    counts, which no page can set. Over plain HTTP to another machine they say nothing: the form's token is left, and a
    cookie that no other site's page can send.

    Parameters
    ----------
    origin, site : str or None
        The headers ``Origin`` and ``Sec-Fetch-Site``.
    url : str
        Of this server, without a path.

    Examples
    --------
    >>> own = "https://judge.example.org"
    >>> [is_own_origin(origin, None, own) for origin in (own, "https://evil.example.org", "null", None)]
    [True, False, False, False]
    >>> is_own_origin("null", "same-origin", own), is_own_origin("null", "cross-site", own)
    (True, False)
    """
    if origin is not None and origin != "null":
        return origin == url
    if site is not None:
        return site == "same-origin"
    return url.startswith("http://") and not is_local(url.removeprefix("http://"))


def is_local(host: str) -> bool:
    """Say whether a host, with or without a port, is this machine to itself, where browsers trust plain HTTP.

    Examples
    --------
    >>> is_local("127.0.0.1:8765"), is_local("[::1]:80"), is_local("judge.example.org")
    (True, True, False)
    """
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name in ("localhost", "[::1]") or name.startswith("127.")
