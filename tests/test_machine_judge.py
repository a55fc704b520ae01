"""The script that asks a model to judge a campaign, beside a server that is late, cuts, lies and refuses."""

from __future__ import annotations

import email.utils
import errno
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.campaign import Assignments, read_campaign, write_assignments, write_people
from kgtrec.formats.campaign.folder import JUDGEMENTS, write_names, write_sources, write_templates
from tests.campaign_folders import people_of, pool_folder

SCRIPT = Path(__file__).parents[1] / "examples" / "machine_judge.py"
KEY = "sk-0123456789-nobody-may-see-it"
N = 6  # questions, beside one triple that a rule has judged


def _imported() -> Any:
    spec = importlib.util.spec_from_file_location("machine_judge", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["machine_judge"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = _imported()


@dataclass
class Reply:
    """What the server sends."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0  # seconds before it, and between its pieces
    pieces: int = 1
    cut: bool = False  # half of it, and the connection is closed


def content(number: int, **changes: Any) -> str:
    """A model's answer to a task; odd ones are true."""
    own = {"task": number, "reason": "known", "verdict": "NY"[number % 2], "probability": [0.2, 0.9][number % 2]}
    return json.dumps(own | changes)


def completion(text: Any, tokens: Any = 100) -> Reply:
    reply = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return Reply(json.dumps(reply | {"usage": {"total_tokens": tokens}}).encode())


def good(number: int, **changes: Any) -> Reply:
    return completion(content(number, **changes))


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(json.dumps({"error": {"message": message}}).encode(), status, named)


class Server(ThreadingHTTPServer):
    """It answers as ``reply`` says, of the task and how many times it was asked before."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply: Callable[[int, int], Reply] = lambda number, _: good(number)
        self.asked: list[int] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.most_at_a_time = self.now = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, *_: Any) -> None:
        """A client that has gone away is no error of a test."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        server = self.server
        assert self.path == "/v1/chat/completions"
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = int(re.search(r"\nTask ([0-9]+):", body["messages"][0]["content"])[1])  # type: ignore[index]
        with server.lock:
            before = server.asked.count(number)
            server.asked.append(number)
            server.bodies.append(body)
            server.keys.append(self.headers["Authorization"])
            server.times.append(time.monotonic())
            server.now += 1
            server.most_at_a_time = max(server.most_at_a_time, server.now)
        reply = server.reply(number, before)
        time.sleep(reply.wait)
        with server.lock:
            server.now -= 1
        self.send_response(reply.status)
        for name, text in ({"Content-Length": str(len(reply.body))} | reply.headers).items():
            self.send_header(name, text)
        self.end_headers()
        size = len(reply.body) // reply.pieces + 1
        sent = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
        for first in range(0, len(sent), size):
            self.wfile.write(sent[first : first + size])
            time.sleep(reply.wait if reply.pieces > 1 else 0)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made
        made.shutdown()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are short, loopback has no proxy, and there is a key."""
    monkeypatch.setattr(script, "FIRST_WAIT", 0.001)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("MACHINE_JUDGE_KEY", KEY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign of two questions and seven triples, of which a rule has judged the first."""
    path, nobody = pool_folder(tmp_path / "campaign", (4, 3), automatic=(0,)), people_of()
    (path / "guidelines.md").write_text("# Be fair\nJudge {both} sides.\n")
    write_templates(path, {"r0": "Does {head} like {tail}?"})
    write_sources(path, [])
    write_names(path, {"e0": "Ann"})
    write_names(path, {"e0": "a {painter}"}, "description")
    write_assignments(path, read_campaign(path).pool, Assignments.none(nobody.names))
    (path / JUDGEMENTS).touch()
    write_people(path, nobody)
    return path


class Runs:
    """Runs of the script on one campaign, and its output."""

    def __init__(self, folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.server, self.capsys = folder, server, capsys
        self.out = folder.parent / "out.jsonl"

    def __call__(self, *options: str, status: int = 0, out: Path | None = None) -> str:
        words = [str(self.folder), "--base", self.server.base, "--model", "m", "--out", str(out or self.out), *options]
        assert script.main(words) == status
        said = self.capsys.readouterr()
        return said.out + said.err

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    @property
    def verdicts(self) -> list[str]:
        return [row["verdict"] for row in self.rows]


@pytest.fixture
def run(folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> Runs:
    return Runs(folder, server, capsys)


def test_a_campaign_is_judged_in_the_order_of_its_pool(run: Runs, server: Server):
    """Each triple that no rule has judged is asked once; the hash is of the prompt that was sent."""
    said = run()
    assert run.verdicts == ["N", "Y", "N", "Y", "N", "Y"]  # tasks 2 to 7
    assert [row["head"] for row in run.rows] == ["e0"] * 3 + ["e1"] * 3
    sent = {hashlib.sha256(body["messages"][0]["content"].encode()).hexdigest() for body in server.bodies}
    assert {row["prompt"] for row in run.rows} == sent
    assert list(run.rows[0]) == ["head", "relation", "tail", "verdict", "probability", "reason", "model", "prompt"]
    assert run.rows[1]["probability"] == 0.9
    assert sorted(server.asked) == [2, 3, 4, 5, 6, 7]
    assert "6 of 6 triples, 3 N, 3 Y, 0 unsure; in this run 6 requests, 600 tokens" in said
    assert "kgtrec campaign import" in said


def test_the_prompt_is_what_people_see(run: Runs, server: Server):
    """Guidelines, the question in the template's words, labels, descriptions; braces in names mean nothing."""
    said = run("--show")
    assert server.asked == []
    assert "# Be fair\nJudge {both} sides.\n--- end" in said
    assert "Task 2: Does Ann like e3?\nhead: e0 a {painter}\nrelation: r0\ntail: e3\n" in said
    run()
    body = server.bodies[0]
    assert body["model"] == "m"
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"]["required"][0] == "task"


def test_the_output_is_the_same_for_any_concurrency(run: Runs, server: Server):
    """Its bytes, though answers come in any order; no more requests than wanted are under way."""
    server.reply = lambda number, _: Reply(good(number).body, wait=0.002 * (number * 5 % 7))
    written = set()
    for most in (1, 3, 32):
        run.out = run.out.with_name(f"{most}.jsonl")
        run("--concurrency", str(most))
        written.add(run.out.read_bytes())
        assert server.most_at_a_time <= most
    assert len(written) == 1


def test_a_restart_asks_no_question_twice(run: Runs, server: Server):
    """Nor after a crash that has torn the last line, which alone is asked again; another model is asked anew."""
    run()
    whole, cache = run.out.read_bytes(), Path(f"{run.out}.cache")
    run()
    assert len(server.asked) == N
    cache.write_bytes(cache.read_bytes()[:-9])
    run()
    assert len(server.asked) == N + 1
    assert run.out.read_bytes() == whole
    run("--model", "other")
    assert len(server.asked) == 2 * N + 1
    assert {row["model"] for row in run.rows} == {"other"}


def test_a_budget_of_requests_holds_and_is_no_error(run: Runs, server: Server):
    """Repeated requests count too; the next run goes on."""
    server.reply = lambda number, before: good(number) if before else refusal(500)
    said = run("--most-requests", "5")
    assert "the budget has no room for another request; the same command goes on from here" in said
    assert len(server.asked) == 5
    assert len(run.rows) < N
    run("--most-requests", "50")
    assert len(run.rows) == N


def test_a_budget_of_tokens_holds(run: Runs, server: Server):
    """Requests under way count as the dearest so far."""
    run("--most-tokens", "399", "--concurrency", "8")
    assert len(server.asked) == 3
    assert len(run.rows) == 3


def test_a_budget_of_tokens_needs_a_server_that_counts_them(run: Runs, server: Server):
    """Else it would never be spent."""
    server.reply = lambda number, _: completion(content(number), tokens=None)
    assert "use --most-requests instead" in run("--most-tokens", "500", status=1)
    assert len(server.asked) == 1
    assert "6 requests, 0 tokens" in run()


LIES = {
    "wrong JSON": (completion("It is true."), "it is no JSON object"),
    "half of it": (completion(content(3)[:-9]), "it is no JSON object"),
    "nothing": (completion(None), "it is no JSON object"),
    "deep": (completion('{"a":' * 50_000 + "}"), "it is no JSON object"),
    "Maybe": (good(3, verdict="Maybe"), "its verdict is Maybe"),
    "a list": (good(3, verdict=["Y"]), "its verdict is"),
    "another triple": (good(2), "it is not about task 3"),
    "true": (good(3, task=True), "it is not about task 3"),
    "likely": (good(3, probability="high"), "its probability"),
    "above 1": (good(3, probability=1.5), "its probability"),
    "NaN": (good(3, probability=float("nan")), "its probability"),
    "contradiction": (good(3, verdict="N", probability=0.9), "its probability"),
    "10 MB": (Reply(b" " * 10_000_000 + good(3).body), "it has more than 1,000,000 bytes"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_wrong_answer_is_asked_for_once_more(run: Runs, server: Server, name: str):
    """With what was wrong; then the verdict is unsure, with the reason and no probability."""
    lie, wrong = LIES[name]
    server.reply = lambda number, before: good(number) if before or number != 3 else lie
    run()
    assert run.rows[1]["verdict"] == "Y"
    assert (
        wrong
        in next(b for b, n in zip(server.bodies[::-1], server.asked[::-1], strict=True) if n == 3)["messages"][0][
            "content"
        ]
    )
    server.reply = lambda number, _: lie if number == 3 else good(number)
    run.out = run.out.with_name("again.jsonl")
    run()
    assert run.verdicts == ["N", "unsure", "N", "Y", "N", "Y"]
    assert run.rows[1]["probability"] is None
    assert wrong in run.rows[1]["reason"]
    assert server.asked.count(3) == 4


def test_an_answer_may_have_text_around_it(run: Runs, server: Server):
    """A model may think aloud, and put the answer in a fence; no probability and no reason are answers too."""
    server.reply = lambda number, _: completion(
        '<think>{"task": 1}</think>So:\n```json\n' + content(number, probability=None, reason=None) + "\n```"
    )
    run()
    assert run.verdicts == ["N", "Y", "N", "Y", "N", "Y"]
    assert {(row["probability"], row["reason"]) for row in run.rows} == {(None, "")}


FAULTS = {
    "500": refusal(500),
    "529": refusal(529),
    "429": refusal(429),
    "cut": Reply(good(3).body, cut=True),
    "cut without a length": Reply(good(3).body[:40], headers={"Content-Length": "0", "X": "y"}),
    "HTML": Reply(b"<html>"),
    "no choice": Reply(b'{"choices": []}'),
    "cut pieces": Reply(b"ff\r\n{}", headers={"Content-Length": "7", "Transfer-Encoding": "chunked"}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_may_pass_is_tried_again(run: Runs, server: Server, name: str):
    """Up to five times; then the question has no line, the others do, and the next run asks it again."""
    server.reply = lambda number, before: FAULTS[name] if number == 3 and before < 4 else good(number)
    run()
    assert len(run.rows) == N
    assert server.asked.count(3) == 5
    run.out = run.out.with_name("again.jsonl")
    first = server.asked[0]
    server.reply = lambda number, _: FAULTS[name] if number == (3 if first != 3 else 4) else good(number)
    said = run(status=1)
    assert "1 without an answer: " in said
    assert len(run.rows) == N - 1
    server.reply = lambda number, _: good(number)
    run()
    assert len(run.rows) == N


@pytest.mark.parametrize("pieces", [1, 30])
def test_a_late_answer_is_not_waited_for(run: Runs, server: Server, pieces: int):
    """Neither one that does not begin in time nor one whose bytes drip."""
    late = Reply(good(3).body, wait=0.4 if pieces == 1 else 0.02, pieces=pieces)
    server.reply = lambda number, before: good(number) if number != 3 or before else late
    run("--timeout", "0.25")
    assert len(run.rows) == N
    assert server.asked.count(3) > 1


@pytest.mark.parametrize("as_date", [False, True])
@pytest.mark.slow
def test_retry_after_is_honoured_by_all_threads(run: Runs, server: Server, as_date: bool):
    """No request for so long, of whatever question; as seconds or as a date."""
    begin: list[float] = []

    def reply(number: int, before: int) -> Reply:
        if len(server.asked) == 3:
            begin.append(time.monotonic())
            wish = email.utils.formatdate(time.time() + 2, usegmt=True) if as_date else "1"
            return refusal(429, "slow down", Retry_After=wish)
        return Reply(good(number).body, wait=0.05)

    server.reply = reply
    run("--concurrency", "2")
    later = [moment - begin[0] for moment in server.times if moment > begin[0] + 0.1]
    assert min(later) > 0.95
    assert len(run.rows) == N


def test_a_server_that_asks_for_an_hour_is_not_waited_for(run: Runs, server: Server):
    """The run ends, and says for how long."""
    server.reply = lambda number, _: refusal(429, "quota", Retry_After="3600")
    said = run(status=1)
    assert "error: status 429: quota; it asks to wait 3,600 seconds" in said
    assert len(server.asked) == 1
    assert not run.out.exists()


@pytest.mark.parametrize("status", [401, 404, 307])
def test_what_retrying_cannot_help_stops_the_run(run: Runs, server: Server, status: int):
    """One request, and no file of verdicts."""
    server.reply = lambda number, _: refusal(status, "wrong")
    assert f"error: status {status}: wrong" in run(status=1)
    assert len(server.asked) == 1
    assert not run.out.exists()


@pytest.mark.parametrize("status", [302, 307, 308])
def test_no_redirect_carries_the_key_away(run: Runs, server: Server, status: int):
    """The other server is not asked at all."""
    with Server() as other:
        server.reply = lambda number, _: refusal(status, Location=f"{other.base}/chat/completions")
        assert "redirects are not followed" in run(status=1)
        other.shutdown()
    assert other.asked == []


def test_a_dead_server_is_given_up(run: Runs, server: Server):
    """After five questions in a row; a refused connection after the first."""
    server.reply = lambda number, _: refusal(503, "overloaded")
    assert "error: 5 questions in a row without an answer; status 503: overloaded" in run(status=1)
    assert len(server.asked) == 25
    server.shutdown()
    server.server_close()
    assert "refused" in run(status=1)


@pytest.mark.parametrize("number", range(2, 8))
def test_a_filter_may_refuse_single_questions(run: Runs, server: Server, number: int):
    """They have no line; the others do, whichever comes first, and are asked with all fields."""
    server.reply = lambda task, _: refusal(400, "content filter") if task == number else good(task)
    assert "1 without an answer: status 400: content filter" in run(status=1)
    assert len(run.rows) == N - 1
    others = [body for body, task in zip(server.bodies, server.asked, strict=True) if task != number]
    assert all({"response_format", "temperature"} <= body.keys() for body in others)


@pytest.mark.parametrize("message", ["unknown field temperature", "bad request"])
def test_a_server_may_not_know_structured_answers(run: Runs, server: Server, message: str):
    """The field that it names is left out, else response_format; all further requests are without it."""
    lacking = "temperature" if "temperature" in message else "response_format"
    server.reply = lambda number, _: refusal(400, message) if lacking in server.bodies[-1] else good(number)
    run("--concurrency", "1")
    assert len(server.asked) == N + 1
    assert len(run.rows) == N


def files_and(said: str, folder: Path) -> bytes:
    """Every byte that a run leaves behind."""
    return said.encode() + b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_key_is_nowhere(run: Runs, server: Server, tmp_path: Path):
    """Not even where the server gives it back: in a reason, a verdict, an error, or a broken status line."""
    run()
    assert server.keys == [f"Bearer {KEY}"] * N
    server.reply = lambda number, _: good(number, reason=f"my {KEY}")
    said = run("--model", "a")
    server.reply = lambda number, _: good(number, verdict=f"{KEY}")
    said += run("--model", "b")
    server.reply = lambda number, _: refusal(401, f"bad {' ' * 3000}{KEY}")
    said += run("--model", "c", status=1)
    server.reply = lambda number, _: Reply(KEY.encode() * 200, 403)
    said += run("--model", "d", status=1)
    server.reply = lambda number, _: good(number)
    server.reply = lambda number, _: refusal(429, KEY, Retry_After=KEY)
    said += run("--model", "e", status=1)
    left = files_and(said, tmp_path)
    assert b"[key]" in left
    assert KEY[:12].encode() not in left
    assert KEY[-12:].encode() not in left


@pytest.mark.parametrize("key", ["sk-secret\nX: y", "sk-secret ", "sk-secret\N{GREEK SMALL LETTER ALPHA}"])
def test_a_key_that_no_header_can_hold_is_not_shown(run: Runs, monkeypatch: pytest.MonkeyPatch, key: str):
    """The error of the library would show it."""
    monkeypatch.setenv("MACHINE_JUDGE_KEY", key)
    said = run(status=1)
    assert "MACHINE_JUDGE_KEY" in said
    assert "secret" not in said


def test_without_a_key_none_is_sent(run: Runs, server: Server, monkeypatch: pytest.MonkeyPatch):
    """As for a server of one's own."""
    monkeypatch.delenv("MACHINE_JUDGE_KEY")
    run()
    assert set(server.keys) == {None}


@pytest.mark.parametrize(
    "base", ["file:///etc/passwd", "ftp://h/v1", "https://me:secret@h/v1", "h", "http://", "http://[", ""]
)
def test_only_http_without_a_password_is_opened(run: Runs, base: str):
    """What is wrong is said without the password."""
    said = run("--base", base, status=1)
    assert "error: expected a server" in said
    assert "secret" not in said


def test_a_file_of_others_is_not_replaced(run: Runs, server: Server):
    """Verdicts replace those of an earlier run only, which has a cache beside it."""
    run.out.write_text("mine")
    assert "name another file as --out" in run(status=1)
    assert run.out.read_text() == "mine"
    assert server.asked == []


def test_a_cache_of_another_form_is_an_error_with_its_line(run: Runs):
    """Nothing is asked, and the file is as it was."""
    cache = Path(f"{run.out}.cache")
    cache.write_text('{"a": 1}\n')
    assert "out.jsonl.cache:1: expected an answer of an earlier run" in run(status=1)
    cache.write_text("{\n")
    assert "out.jsonl.cache:1: expected JSON" in run(status=1)


def test_a_full_disk_leaves_a_cache_that_reads(run: Runs, server: Server, monkeypatch: pytest.MonkeyPatch):
    """The run ends with the error, and nothing is written behind the line that may be torn."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(script.os, "fsync", full)
        assert "No space left" in run(status=1)
    run()
    assert len(run.rows) == N
    assert len(server.asked) == N  # the line was whole here


def test_half_a_surrogate_pair_is_no_text(run: Runs, server: Server):
    """A reason of it, and of control characters, is written as one line of text."""
    server.reply = lambda number, _: good(number, reason="a\ud800b\n\u202ec\0")
    run()
    assert {row["reason"] for row in run.rows} == {"a b c"}


_VALUES = st.sampled_from(["Y", "N", "unsure", "Maybe", 3, 2, 0.2, 0.7, -1.0, True, None, [3], {}, float("nan")])
_OBJECTS = st.fixed_dictionaries({}, optional=dict.fromkeys(("task", "verdict", "probability"), _VALUES))


@given(st.text() | _VALUES.map(json.dumps) | _OBJECTS.map(json.dumps))
def test_any_text_is_an_answer_or_unusable(text: str):
    """What is an answer has one of three verdicts, and a probability that does not contradict it."""
    try:
        answer = script.answer_of(text, 3)
    except script.UnusableError:
        return
    assert answer["verdict"] in ("Y", "N", "unsure")
    chance = answer["probability"]
    assert chance is None or 0 <= chance <= 1
    assert not (answer["verdict"] == "Y" and (chance or 1) < 0.5)


def process(run: Runs, *options: str) -> subprocess.Popen[str]:
    words = [sys.executable, str(SCRIPT), str(run.folder), "--base", run.server.base, "--model", "m"]
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parents[1])}
    return subprocess.Popen(
        [*words, "--out", str(run.out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on(run: Runs, server: Server, number: signal.Signals):
    """Ctrl-C ends it though the server is silent, with a valid file; what was answered is not asked again."""
    silent = threading.Event()

    def reply(task: int, _: int) -> Reply:
        if len(server.asked) > 3 and not silent.is_set():
            silent.wait(20)
        return good(task)

    server.reply = reply
    started = process(run, "--concurrency", "2")
    cache = Path(f"{run.out}.cache")
    while len(server.asked) < 5 or cache.read_bytes().count(b"\n") < 3:
        time.sleep(0.02)
        assert started.poll() is None
    begin = time.monotonic()
    started.send_signal(number)
    said = started.communicate(timeout=10)[0]
    assert time.monotonic() - begin < 5
    if number == signal.SIGINT:
        assert started.returncode == 130
        assert "interrupted; the same command goes on from here" in said
        assert len(run.rows) == 3
    silent.set()
    answered = [json.loads(line)["prompt"] for line in cache.read_text().splitlines()]
    before = len(server.asked)
    run()
    assert len(run.rows) == N
    assert len(server.asked) == before + N - len(answered)


@pytest.mark.slow
def test_help_has_examples_and_says_how_far_it_is(run: Runs, server: Server, monkeypatch: pytest.MonkeyPatch):
    """As a user runs it; progress goes to standard error."""
    shown = subprocess.run([sys.executable, SCRIPT, "--help"], capture_output=True, text=True, check=True).stdout
    assert "--most-requests 5000" in shown
    monkeypatch.setattr(script, "PROGRESS", 0.01)
    server.reply = lambda number, _: Reply(good(number).body, wait=0.05)
    assert re.search(r"[1-5] of 6 answered, [1-6] requests, [1-5]00 tokens", run())
