"""Who may ask for a page: people who take part, so many requests of each, and forms of its own pages."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from kgtrec.campaign.verdict_rules import roles_of
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.campaign.folder import read_people
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import PEOPLE

_MOST_WATCHED = 10_000


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
