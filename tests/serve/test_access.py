"""Nobody in: every route times every role, links, cookies, origins, hosts, limits."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kgtrec.errors import KgtrecError
from kgtrec.formats.output.folders import GUIDELINES, PEOPLE, SERVE_KEY, SERVE_STATE, SOURCES
from kgtrec.serve.app import EVERY, PUBLIC, ROUTES, STARTS, create_app
from kgtrec.serve.auth import Limit, is_own_origin
from kgtrec.serve.state import State, key_of
from kgtrec.serve.views import ROLE_PAGES
from tests.serve.conftest import FRANCE, NOTE, URL, WIKI, Browser, Page, judged_in
from tests.serve.conftest import PEOPLE as PERSON

#: an address for each rule
ADDRESS = {
    "/static/<name>": "/static/judge.css",
    "/in/<token>": "/in/nobody",
    **{f"{pages.path}/<int:number>": f"{pages.path}/{FRANCE}" for pages in ROLE_PAGES.values()},
    "/training/<int:number>": "/training/17",
    "/manage/template": "/manage/template?relation=capital",
}
CASES = [(route, method, role) for route in ROUTES for method in route.methods for role in (None, *sorted(EVERY))]


def test_every_route_of_the_application_is_in_the_table(page: Page):
    """So that none is left out of the test below."""
    rules = {(rule.rule, method) for rule in page.app.url_map.iter_rules() for method in rule.methods - {"HEAD"}}
    assert rules == {(route.rule, method) for route in ROUTES for method in route.methods}
    assert {route.answer for route in ROUTES if route.roles is PUBLIC} == {"app.static", "app.come_in"}


@pytest.fixture(scope="module")
def browsers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Browser]:
    """A function that gives a role's browser, of a judged page that forms without anything in them do not change."""
    page = judged_in(tmp_path_factory.mktemp("judged"))
    signed_in: dict[str | None, Browser] = {None: page.browser()}

    def of(role: str | None) -> Browser:
        if role not in signed_in or (role and signed_in[role].get("/").status_code == 401):  # signed out
            signed_in[role] = page.browser(PERSON[role])
        return signed_in[role]

    return of


@pytest.mark.parametrize(
    ("route", "method", "role"), CASES, ids=[f"{route.rule} {method} {role}" for route, method, role in CASES]
)
def test_a_role_reaches_its_own_pages_only(browsers: Callable[[str | None], Browser], route, method, role):
    """Without a role 401, with another role 403, and nothing of the page in either answer."""
    browser = browsers(role)
    address = ADDRESS.get(route.rule, route.rule)
    token = browser.token() if role else ""
    answer = browser.get(address) if method == "GET" else browser.post(address, token=token)
    if route.roles is PUBLIC:
        assert answer.status_code == (403 if "/in/" in address else 200)
    elif role is None:
        assert answer.status_code == 401
        assert "capital" not in answer.text
    elif role in route.roles:
        assert answer.status_code in (200, 204, 303, 404, 409, 422)  # 404, 409, 422: the form holds nothing
        may_see_all = route.role == "adjudicator" or route.rule.startswith("/manage")
        assert may_see_all or NOTE not in answer.text
    else:
        assert answer.status_code == 403
        assert "capital" not in answer.text
        assert "-note" not in answer.text


def test_the_beginning_leads_everybody_to_their_work(page: Page):
    """Each role has a first address."""
    assert STARTS.keys() == EVERY
    for role, (address, _) in STARTS.items():
        assert page.browser(PERSON[role]).get("/").location == address


def test_an_id_of_others_answers_as_one_that_does_not_exist(page: Page):
    """Question 3 is bob's alone, and there is no question 99; likewise the tasks on them."""
    ann = page.browser("ann")
    others, none = ann.get("/question/3"), ann.get("/question/99")
    assert others.status_code == none.status_code == 404
    assert others.data == none.data
    assert {name: value for name, value in others.headers if name != "Date"} == {
        name: value for name, value in none.headers if name != "Date"
    }
    token, edition = ann.token(), ann.hidden("/question/1", "edition")
    for path, own in (("/question/seen", {"seconds": "1"}), (f"/question/{FRANCE}", {"edition": edition})):
        field = "task" if path == "/question/seen" else "only"
        others, none = (ann.post(path, token=token, **own, **{field: task}) for task in ("1", "77"))
        assert others.status_code == none.status_code == 404
        assert others.data == none.data


def test_a_link_becomes_a_cookie_that_no_script_and_no_other_site_can_use(page: Page):
    """And the page goes on by itself to an address without the token."""
    browser = page.browser()
    link = page.link_of("ann")
    answer = browser.get(link)
    assert 'http-equiv="refresh" content="0; url=/"' in answer.text
    assert link.removeprefix("/in/") not in answer.text
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-kgtrec=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert browser.get("/question").status_code == 303


def test_a_cookie_over_plain_http_is_not_marked_secure(page: Page, tmp_path: Path):
    """Or a browser would not send it back."""
    app = create_app(page.folder, "http://127.0.0.1:8765")
    link = page.link_of("ann")
    answer = app.test_client().get(link, base_url="http://127.0.0.1:8765")
    assert "Secure" not in answer.headers["Set-Cookie"]
    assert answer.headers["Set-Cookie"].startswith("kgtrec-8765=")


def test_nothing_that_is_stored_lets_anybody_in(page: Page):
    """Neither the token of a link nor that of a session is in the folder, and the key alone signs for nobody."""
    token = page.link_of("ann").removeprefix("/in/")
    browser = page.browser("bob")
    session = browser.client.get_cookie("__Host-kgtrec", domain="judge.example.org").value.split(".")[0]
    for path in page.folder.iterdir():
        assert token.encode() not in path.read_bytes()
        assert session.encode() not in path.read_bytes()
    forged = page.state._cookies.sign("x" * 43).decode()
    browser.client.set_cookie("__Host-kgtrec", forged, domain="judge.example.org", secure=True)
    assert browser.get("/question").status_code == 401


def test_a_link_is_in_no_log(page: Page, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """Not even where its answer fails: what is logged names the route."""

    def fails(_: str) -> None:
        raise RuntimeError("nothing can be signed")

    monkeypatch.setattr(page.state, "sign_in", fails)
    link = page.link_of("ann")
    with caplog.at_level(logging.DEBUG):
        assert page.browser().get(link).status_code == 500
    assert "GET /in/<token>" in caplog.text
    assert link.removeprefix("/in/") not in caplog.text


def test_a_changed_cookie_is_nobodys(ann: Browser):
    """Its signature is not that of what it says."""
    value = ann.client.get_cookie("__Host-kgtrec", domain="judge.example.org").value
    for wrong in (value[:-1], value + "x", value.split(".")[0], "", "\x00", "é"):
        ann.client.set_cookie("__Host-kgtrec", wrong, domain="judge.example.org", secure=True)
        assert ann.get("/question").status_code == 401


def test_a_renewed_link_is_out_at_the_next_request(page: Page):
    """The former link and the session that it began."""
    browser, former = page.browser(), page.link_of("ann")
    browser.get(former)
    assert browser.get("/question").status_code == 303
    page.link_of("ann")
    assert browser.get("/question").status_code == 401
    assert browser.get(former).status_code == 403


def test_a_person_who_has_left_is_out_at_the_next_request(page: Page):
    """As soon as people.tsv says so; and back when it says so again."""
    browser, link = page.browser("ann"), page.link_of("bob")
    path = page.folder / PEOPLE
    before = path.read_text()
    path.write_text(before.replace("ann\tannotator\tyes", "ann\tannotator\tno"))
    assert browser.get("/question").status_code == 401
    path.write_text(before.replace("bob\tannotator\tyes", "bob\tannotator\tno"))
    assert browser.get(link).status_code == 403
    path.write_text(before)
    assert browser.get(link).status_code == 200


def test_who_signs_out_is_out(ann: Browser):
    """Also with the cookie as it was."""
    value = ann.client.get_cookie("__Host-kgtrec", domain="judge.example.org").value
    assert "signed out" in ann.post("/out", token=ann.token()).text
    assert ann.get("/question").status_code == 401
    ann.client.set_cookie("__Host-kgtrec", value, domain="judge.example.org", secure=True)
    assert ann.get("/question").status_code == 401


def test_a_session_ends_by_itself(tmp_path: Path):
    """After thirty days."""
    now = 0.0
    state = State(tmp_path, clock=lambda: now)
    cookie = state.sign_in(state.link("ann").removeprefix("/in/"))
    now = 29 * 86400.0
    assert state.session_of(cookie) is not None
    now = 31 * 86400.0
    assert state.session_of(cookie) is None


def test_wrong_links_are_limited(page: Page):
    """Ten tries, then not even a right one until some time has gone."""
    browser, link = page.browser(), page.link_of("ann")
    assert [browser.get(f"/in/wrong{nth}").status_code for nth in range(11)] == [403] * 10 + [429]
    assert browser.get(link).status_code == 429


def test_requests_are_limited_by_person(make: Callable[..., Page]):
    """One who sends too many does not hold the others up."""
    page = make()
    page.app.extensions["kgtrec"].requests = Limit(5, 0.0)
    ann, bob = page.browser("ann", has_read=False), page.browser("bob", has_read=False)
    assert [ann.get("/guidelines").status_code for _ in range(7)] == [200] * 5 + [429] * 2
    assert bob.get("/guidelines").status_code == 200


def test_a_limit_fills_up_again():
    """One request a second after a burst of two."""
    now = 0.0
    limit = Limit(2, 1.0, clock=lambda: now)
    assert [limit.allows("ann") for _ in range(3)] == [True, True, False]
    now = 1.0
    assert [limit.allows("ann") for _ in range(2)] == [True, False]


def test_who_comes_without_a_cookie_keeps_the_one_that_was_not_sent(page: Page):
    """Browsers send a strict cookie with no link of another site: such a link must not sign anybody out."""
    browser = page.browser()
    assert "Set-Cookie" not in browser.get("/question").headers
    browser.client.set_cookie("__Host-kgtrec", "x", domain="judge.example.org", secure=True)
    assert "__Host-kgtrec=;" in browser.get("/question").headers["Set-Cookie"]


def test_a_right_link_is_limited_by_person(page: Page):
    """Twenty times at once; somebody else comes in meanwhile."""
    browser, link = page.browser(), page.link_of("ann")
    assert [browser.get(link).status_code for _ in range(21)] == [200] * 20 + [429]
    assert browser.get(page.link_of("bob")).status_code == 200


def test_of_many_sessions_of_a_person_the_oldest_end(tmp_path: Path):
    """Fifty stay; those of others are not touched."""
    now = 0.0
    state = State(tmp_path, clock=lambda: now)
    ann, bob = (state.link(name).removeprefix("/in/") for name in ("ann", "bob"))
    other, cookies = state.sign_in(bob), []
    for _ in range(52):
        now += 1.0
        cookies.append(state.sign_in(ann))
    assert [state.session_of(cookie) is not None for cookie in cookies] == [False] * 2 + [True] * 50
    assert state.session_of(other) is not None


def test_a_large_form_counts_as_several_requests(make: Callable[..., Page]):
    """Twelve thousand fields cost what five requests do; of twelve, one was for the token, and six are left."""
    page = make()
    page.app.extensions["kgtrec"].requests = Limit(12, 0.0)
    ann, bob = page.browser("ann", has_read=False), page.browser("bob", has_read=False)
    data = {"token": ann.token()} | {f"a{place}": "" for place in range(12_000)}
    form = "&".join(f"{name}={value}" for name, value in data.items())
    assert 100_000 > len(form) > 80_000
    told = ann.client.post(
        "/guidelines",
        base_url=URL,
        data=form,
        content_type="application/x-www-form-urlencoded",
        headers={"Origin": URL},
    )
    assert told.status_code == 303
    assert [ann.get("/guidelines").status_code for _ in range(7)] == [200] * 6 + [429]
    assert bob.get("/guidelines").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": URL}, 303),
        ({"Origin": "https://evil.example.org"}, 403),
        ({"Origin": "http://judge.example.org"}, 403),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({}, 403),
    ],
)
def test_a_form_of_another_origin_is_refused(page: Page, ann: Browser, headers, status):
    """Even with the right token; browsers send null from a page that sends no referrer."""
    token = ann.token()
    answer = ann.client.post("/guidelines", base_url=URL, data={"token": token}, headers=headers)
    assert answer.status_code == status


def test_over_plain_http_to_another_machine_the_token_decides():
    """Browsers tell nothing else there."""
    assert is_own_origin("null", None, "http://192.168.1.5:8765")
    assert not is_own_origin("null", None, "http://127.0.0.1:8765")


@pytest.mark.parametrize("token", [None, "", "0" * 64, "é"])
def test_a_form_without_the_token_of_its_session_is_refused(page: Page, token):
    """The token of somebody else is none either."""
    browser, other = page.browser("ann"), page.browser("bob")
    for wrong in (token, other.token()):
        fields = {"verdict_4": "unsure"} | ({} if wrong is None else {"token": wrong})
        assert browser.judge(**({"token": ""} | fields)).status_code == 403
    assert page.events() == []


@pytest.mark.parametrize("host", ["evil.example.org", "judge.example.org.evil.org", "judge.example.org:81", ""])
def test_another_host_is_refused(page: Page, ann: Browser, host):
    """Whatever the page: a name that leads here by somebody else's doing must not work."""
    for path in ("/question", "/static/judge.css", "/in/x", "/nothing"):
        assert ann.get(path, Host=host).status_code == 421


def test_every_answer_carries_the_headers(ann: Browser):
    """Errors too; the policy allows no script and no style but the page's own files."""
    for path in ("/question/1", "/guidelines", "/nothing", "/static/judge.js", "/static/../app.py", "/in/x"):
        headers = ann.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'" in policy
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] in ("no-store", "no-cache")
    assert ann.get("/question/1").headers["Cache-Control"] == "no-store"


def test_no_page_holds_a_script_or_style_of_its_own(ann: Browser):
    """Nothing inline, and nothing from another host."""
    for path in ("/question/1", "/guidelines", "/question/verdicts", "/nothing"):
        text = ann.get(path).text
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text)
        assert re.findall(r"<script[^>]*>", text) == ['<script src="/static/judge.js" defer>']
        assert set(re.findall(r'(?:src|href)="([^"]+\.(?:js|css|svg))"', text)) == {
            "/static/look.css",
            "/static/judge.js",
            "/static/judge.css",
            "/static/icon.svg",
        }


@pytest.mark.parametrize("name", ["..%2fapp.py", "../app.py", "%2e%2e/auth.py", "judge.css/../../app.py", "templates"])
def test_no_other_file_is_served(page: Page, name):
    """There is a list of them."""
    assert page.browser("ann").get(f"/static/{name}").status_code == 404


@pytest.mark.slow
def test_the_server_follows_no_link_that_somebody_gives(judged: Page, monkeypatch: pytest.MonkeyPatch):
    """It opens no connection and looks up no name, whoever sees the link; one to a machine of its own is refused."""
    asked = []
    for owner, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
        monkeypatch.setattr(owner, name, lambda *about, **_: asked.append(about))
    judged.folder.joinpath(SOURCES).write_text("")  # every host counts
    judged.folder.joinpath(GUIDELINES).write_text(
        "![a](https://inside.example.org/a.png) <https://inside.example.org/>\n"
    )
    ann, eve, manager = (judged.browser(person) for person in ("ann", "eve", "max"))
    for link in (
        "https://localhost/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/",
        "file:///etc",
    ):
        assert ann.judge(verdict_4="N", source_4=link, only="4").status_code == 422
    link = "https://inside.example.org/admin"
    assert ann.judge(verdict_4="Y", source_4=link, note_4=link, only="4").status_code == 303
    for browser, path in (
        (ann, "/question/1"),
        (ann, "/question/verdicts"),
        (eve, "/conflict/1"),
        (eve, "/guidelines"),
    ):
        assert "https://inside.example.org/" in browser.get(path).text
    for path in ("", "/downloads/agreement", "/downloads/campaign"):
        assert manager.get(f"/manage{path}").status_code == 200
    assert "inside.example.org" in manager.get("/manage").text
    assert asked == []


def test_a_body_of_more_than_a_megabyte_is_refused(page: Page, ann: Browser):
    """And nothing is stored."""
    answer = ann.judge(verdict_4="unsure", note_4="x" * (1 << 20))
    assert answer.status_code == 413
    assert page.events() == []


def test_the_key_and_the_state_are_their_owners_alone(page: Page):
    """Whatever the umask; a key that others can read is refused."""
    for name in (SERVE_KEY, SERVE_STATE):
        assert (page.folder / name).stat().st_mode & 0o777 == 0o600
    (page.folder / SERVE_KEY).chmod(0o644)
    with pytest.raises(KgtrecError, match=r"serve\.key: expected a key that only its owner can read, .* chmod 600"):
        key_of(page.folder)


def test_a_state_that_is_lost_loses_no_verdict(page: Page, ann: Browser):
    """Everybody needs a new link, that is all; the server goes on."""
    assert ann.judge(verdict_4="N", source=WIKI, only="4").status_code == 303
    for path in page.folder.glob(f"{SERVE_STATE}*"):
        path.unlink()
    assert ann.get("/question").status_code == 401
    again = page.browser("ann")
    assert "1</span> done" in again.get("/question/1").text
    assert len(page.events()) == 1


def test_a_state_that_is_none_is_told(tmp_path: Path):
    """With the way out."""
    (tmp_path / SERVE_STATE).write_text("no database " * 100)
    with pytest.raises(KgtrecError, match=r"serve\.sqlite: cannot be used .*; no verdict is in it: move it away"):
        State(tmp_path)


def test_a_disk_without_room_for_the_state_is_told(page: Page, monkeypatch: pytest.MonkeyPatch):
    """As one without room for a verdict is, by 507."""
    browser = page.browser("ann", has_read=False)
    token = browser.token()

    def full(*_: object) -> None:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("create table one (text)")
            connection.execute("pragma max_page_count = 2")
            connection.execute("insert into one values (?)", ("x" * 100_000,))

    monkeypatch.setattr(State, "_write", full)
    assert browser.post("/guidelines", token=token).status_code == 507


def test_two_programs_share_the_state(tmp_path: Path):
    """What one writes, as kgtrec campaign serve --new-link does, the other sees."""
    one, other = State(tmp_path), State(tmp_path)
    link = one.link("ann")
    assert other.person_of(link.removeprefix("/in/")) == "ann"
    with sqlite3.connect(one.path) as connection:
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_state_that_is_opened_twice_keeps_what_another_program_adds(tmp_path: Path):
    """A second one in the same process ends no lock of the first, so that a program that ends leaves the log alone."""
    one = State(tmp_path)
    one.link("ann")
    State(tmp_path).close()
    code = "import sys; from kgtrec.serve.state import State; s = State(sys.argv[1]); s.link('bob'); s.close()"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert tmp_path.joinpath(f"{SERVE_STATE}-wal").exists()
    link = one.link("ann")
    assert State(tmp_path).links() == one.links()
    assert [name for name, _ in one.links()] == ["ann", "bob"]
    assert State(tmp_path).person_of(link.removeprefix("/in/")) == "ann"


@pytest.mark.parametrize(
    "url", ["judge.example.org", "https://a@x.org", "ftp://x.org", "https://x.org/judge", "https://", "https://x?y=1"]
)
def test_an_address_that_is_none_is_refused(page: Page, url):
    """Before anything is served."""
    with pytest.raises(KgtrecError, match=r"expected an address such as https://judge\.example\.org"):
        create_app(page.folder, url)
