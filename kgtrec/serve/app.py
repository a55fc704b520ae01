"""The page as a WSGI application: who may ask for what, and what every answer carries.

``ROUTES`` lists every address with the roles that may ask for it; there are no others. To add pages of a role, add rows
that name the functions which answer, and the role's first address to ``STARTS``. Such a function is called when the
person has one of the roles and, for a form, sent it from this page. It finds what the person may know in :func:`look`
and what all requests share in :func:`site`, and answers with :func:`page`, :func:`back` or :func:`refusal`. The tests
try every row with every role.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit

from flask import Flask, Response, g, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException

from kgtrec.errors import NO_ROOM, KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.serve.auth import Limit, is_own_origin
from kgtrec.serve.manager_figures import Figures
from kgtrec.serve.rendering import prepare
from kgtrec.serve.service import CampaignService, Look
from kgtrec.serve.state import LONGEST_SESSION, Session, State
from kgtrec.serve.views import ROLE_PAGES

LARGEST_BODY = 1 << 20  # bytes
_MOST_PARTS = 2_000  # of a multipart body, which no page here sends
_BYTES = 20_000  # of a body that count as one more request
_LONGEST_TOKEN = 100
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_NAMES = ("look.css", "judge.css", "manager.css", "judge.js", "template.js", "icon.svg")
_FILES = {name: _TYPES[name.partition(".")[2]] for name in _NAMES}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_WHY = {  # what people are shown
    400: "The request could not be understood.",
    401: "You are not signed in. Open your personal link, or ask for a new one.",
    403: "This page is not for you, or the form was not sent from it. Go back, load it again and try once more.",
    404: "There is no such page.",
    405: "There is no such page.",
    409: "The tasks of this campaign have changed since the page was loaded. Load it again.",
    413: "That was too long. Shorten the note and try again.",
    421: "This server is not called by that name.",
    429: "Too many requests. Wait a moment and try again.",
    500: "Something went wrong on the server. Nothing was stored. Try again, and inform the manager of the campaign.",
    503: "The campaign cannot be read at the moment. Nothing was stored. Try again, and inform its manager.",
    507: "The disk of the server is full. Nothing was stored. What you typed is still on your page; "
    "inform the manager of the campaign, and try again later.",
}

PUBLIC: frozenset[str] = frozenset()  # roles of a route that asks for none
EVERY = frozenset(("annotator", "adjudicator", "expert", "manager"))


@dataclass(frozen=True, slots=True)
class Route:
    """An address, and who may ask for it."""

    rule: str
    methods: tuple[str, ...]
    roles: frozenset[str]  # one of them is enough; PUBLIC: nobody has to be signed in
    answer: str  # the function that answers, as module.function below kgtrec.serve
    role: str = ""  # the one of ROLE_PAGES whose page it is, passed to the function


def _judging(role: str, path: str) -> tuple[Route, ...]:
    """The addresses of a role in which people judge."""
    own = frozenset((role,))
    return (
        Route(path, ("GET",), own, "judging.next_question", role),
        Route(f"{path}/<int:number>", ("GET", "POST"), own, "judging.question", role),
        Route(f"{path}/verdicts", ("GET",), own, "judging.verdicts", role),
        Route(f"{path}/seen", ("POST",), own, "judging.seen", role),
    )


def _managing(path: str, answer: str, *methods: str) -> Route:
    """An address of those who manage, below /manage."""
    return Route(f"/manage{path}", ("GET", *methods), frozenset(("manager",)), answer)


ROUTES = (
    Route("/static/<name>", ("GET",), PUBLIC, "app.static"),
    Route("/in/<token>", ("GET",), PUBLIC, "app.come_in"),
    Route("/", ("GET",), EVERY, "app.home"),
    Route("/out", ("POST",), EVERY, "app.go_out"),
    Route("/guidelines", ("GET", "POST"), EVERY, "judging.guidelines"),
    Route("/training", ("GET",), frozenset(("annotator",)), "training.begin"),
    Route("/training/<int:number>", ("GET", "POST"), frozenset(("annotator",)), "training.task"),
    *(route for role, pages in ROLE_PAGES.items() for route in _judging(role, pages.path)),
    _managing("", "manager.dashboard", "POST"),
    _managing("/people", "manager.people", "POST"),
    _managing("/verdicts", "manager_verdicts.verdicts", "POST"),
    _managing("/templates", "manager.templates"),
    _managing("/template", "manager.template", "POST"),
    _managing("/downloads", "manager.downloads"),
    _managing("/downloads/qrels", "manager.qrels"),
    _managing("/downloads/campaign", "manager.campaign"),
    _managing("/downloads/agreement", "manager.agreement"),
    _managing("/explore", "manager.exploration"),
)
#: role -> where its work begins, and what the link there is called
STARTS = {role: (pages.path, pages.start) for role, pages in ROLE_PAGES.items()} | {"manager": ("/manage", "Dashboard")}


class Site:
    """What the requests of one application share.

    Parameters
    ----------
    folder, url, aliases
        See :func:`create_app`.
    """

    def __init__(self, folder: PathLike, url: str, aliases: Sequence[str]) -> None:
        parts = urlsplit(url)
        rest = parts.path.strip("/"), parts.query, parts.fragment, parts.username
        if parts.scheme not in ("http", "https") or not parts.hostname or any(rest):
            raise KgtrecError(f"expected an address such as https://judge.example.org, without a path, found {url!r}")
        host = parts.netloc.lower()
        self.url = f"{parts.scheme}://{host}"  # under which people know the server
        self.hosts = frozenset((host, *aliases))  # the names by which it may be called
        # another name for each port: browsers send what one server has set to all others of the same host
        secure = f"__Host-kgtrec-{parts.port}".removesuffix("-None")
        self.cookie = secure if self.is_https else f"kgtrec-{parts.port or 80}"
        self.service, self.state = CampaignService(folder), State(folder)
        self.figures = Figures(self.service, self.state)  # what managers see
        self.requests = Limit(100, 10.0)  # of each person
        self.entries = Limit(20, 1 / 6)  # right links, of each person
        self.tries = Limit(10, 1 / 6)  # wrong links, of each address

    @property
    def is_https(self) -> bool:
        return self.url.startswith("https://")

    @property
    def cookie_rules(self) -> dict[str, Any]:
        """Where browsers send the cookie, and to whom they show it."""
        return {"path": "/", "secure": self.is_https, "httponly": True, "samesite": "Strict"}


def create_app(folder: PathLike, url: str = "http://127.0.0.1:8765", *, aliases: Sequence[str] = ()) -> Flask:
    """Make the page of a campaign.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    url : str
        Under which people reach it, without a path. Requests for other hosts, and forms of other origins, are refused.
    aliases : sequence of str
        Other names of the host, with port, such as ``localhost:8765``.

    Raises
    ------
    FormatError
        If it is not the folder of a campaign, or nobody can judge in it yet.
    KgtrecError
        If the address is none.
    """
    site = Site(folder, url, aliases)
    app = Flask("kgtrec.serve", static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=LARGEST_BODY, MAX_FORM_MEMORY_SIZE=LARGEST_BODY, MAX_FORM_PARTS=_MOST_PARTS)
    app.url_map.merge_slashes = False
    prepare(app.jinja_env)
    app.jinja_env.globals.update(ROLE_PAGES=ROLE_PAGES, STARTS=STARTS)
    app.extensions["kgtrec"] = site
    for route in ROUTES:
        app.add_url_rule(
            route.rule, route.rule, _guarded(route, site), methods=list(route.methods), provide_automatic_options=False
        )

    @app.before_request
    def check_host() -> Response | None:
        g.site, g.session, g.look, g.form_token = site, None, None, ""
        return None if request.headers.get("Host", "").lower() in site.hosts else refusal(421)

    @app.after_request
    def add_headers(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.errorhandler(Exception)
    def answer_error(error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return refusal(error.code or 500)
        if getattr(error, "errno", None) in NO_ROOM or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return refusal(507)
        says_why = isinstance(error, KgtrecError | sqlite3.Error)  # such as a malformed file, and its line
        about, traceback = (request.method, request.endpoint, error), None if says_why else error
        logging.getLogger("kgtrec.serve").error("%s %s: %s", *about, exc_info=traceback)
        return refusal(503 if says_why else 500)

    return app


def _guarded(route: Route, site: Site) -> Callable[..., Any]:
    """What answers a route, behind all that has to be right before."""
    module, function = route.answer.split(".")
    about = {"role": route.role} if route.role else {}

    def answer(**values: Any) -> Any:
        if route.roles is PUBLIC:
            return call(**values)
        g.session = site.state.session_of(request.cookies.get(site.cookie))
        if g.session is not None:
            g.look = site.service.look(g.session.person)
            g.form_token = site.state.token_of(g.session)
        return _refused(route, site) or call(**values)

    def call(**values: Any) -> Any:
        return getattr(import_module(f"kgtrec.serve.{module}"), function)(**about, **values)

    return answer


def _refused(route: Route, site: Site) -> Response | None:
    session = cast("Session | None", g.session)
    if session is None or not look().roles:
        return _without_cookie(refusal(401))
    if not site.requests.allows(session.person, 1 + (request.content_length or 0) // _BYTES):
        return refusal(429)
    if request.method == "POST":
        origin, fetch_site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        known = {site.url, *(f"{urlsplit(site.url).scheme}://{host}" for host in site.hosts)}
        is_own = origin in known or is_own_origin(origin, fetch_site, site.url)
        if not is_own or not site.state.is_token_of(session, request.form.get("token", "")):
            return refusal(403)
    return None if look().roles & route.roles else refusal(403)


def refusal(status: int, message: str = "") -> Response:
    """Answer what is wrong, as a page or, to a script, as JSON."""
    text = message or _WHY.get(status, _WHY[500 if status >= 500 else 400])
    if wants_json():
        response = make_response({"say": text}, status)
    else:
        response = make_response(render_template("refusal.html", status=status, message=text), status)
    if status == 429:
        response.headers["Retry-After"] = "6"
    return response


def wants_json() -> bool:
    """Say whether a script asks, and no browser on its way to a page."""
    return request.headers.get("Accept", "").startswith("application/json")


def site() -> Site:
    """Give what the requests share."""
    return cast("Site", g.site)


def look() -> Look:
    """Give what the person who asks may know."""
    return cast("Look", g.look)


def back(address: str) -> Response:
    """Redirect to another page, after a form."""
    return make_response(redirect(address, 303))


def static(name: str) -> Response:
    """Answer with a style sheet, a script or a picture; there are no others."""
    from importlib.resources import files

    from kgtrec.report.html import look

    if name not in _FILES:
        return refusal(404)
    content = look() if name == "look.css" else files("kgtrec.serve").joinpath("static", name).read_text("utf-8")
    response = Response(content, content_type=f"{_FILES[name]}; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.add_etag()
    response.make_conditional(request)
    return response


def come_in(token: str) -> Response:
    """Exchange a personal link for a cookie.

    The answer is a page that goes on by itself, and no redirect: browsers send a ``SameSite=Strict`` cookie with no
    redirect that follows a link in somebody's mail.
    """
    own, address = site(), request.remote_addr or ""
    if not own.tries.allows(address, 0):
        return refusal(429)
    person = own.state.person_of(token) if len(token) <= _LONGEST_TOKEN else None
    if person is None or not own.service.look(person).roles:
        own.tries.allows(address)
        return refusal(403, "This link is not valid any more, or not complete. Ask for a new one.")
    if not own.entries.allows(person):
        return refusal(429)
    cookie = own.state.sign_in(token)
    response = make_response(render_template("welcome.html", person=person))
    response.set_cookie(own.cookie, cookie or "", max_age=int(LONGEST_SESSION), **own.cookie_rules)
    return response


def home() -> Response:
    """Redirect to where the work of a person begins."""
    starts = [STARTS[role][0] for role in sorted(look().roles & STARTS.keys(), key=list(STARTS).index)]
    return back(starts[0]) if len(starts) == 1 else page("home.html")


def go_out() -> Response:
    """Sign out."""
    site().state.sign_out(g.session)
    g.look = None
    return _without_cookie(make_response(render_template("refusal.html", status=200, message="You are signed out.")))


def _without_cookie(response: Response) -> Response:
    """Take away a cookie that came: a browser that follows a link of another site keeps back one that is right."""
    own = site()
    if own.cookie in request.cookies:
        response.delete_cookie(own.cookie, **own.cookie_rules)
    return response


def whole(text: str) -> int | None:
    """Read a whole number of a form or an address; None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 16 else None


def paged(rows: Any, size: int) -> tuple[Any, dict[str, int]]:
    """Take the part of a list that the address asks for, and give the numbers of its page."""
    n_pages = max(-(-len(rows) // size), 1)
    nth = min(max(whole(request.args.get("page", "")) or 1, 1), n_pages)
    return rows[(nth - 1) * size : nth * size], {"n_found": len(rows), "nth": nth, "n_pages": n_pages}


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Render a page of somebody who is signed in."""
    values = {"person": g.session.person, "roles": look().roles, "here": request.path} | values
    if "manager" in look().roles:
        values["broken"] = site().service.broken
    return make_response(render_template(template, **values), status)
