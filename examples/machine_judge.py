r"""Ask a language model to judge the triples of a campaign, as a machine beside its people.

    python examples/machine_judge.py CAMPAIGN --base https://api.example.org/v1 --model MODEL --out verdicts.jsonl
    kgtrec campaign import CAMPAIGN verdicts.jsonl --machine NAME

The server is any one with the chat-completions interface (POST BASE/chat/completions), a service or one of your own.
Its key is read from the environment variable MACHINE_JUDGE_KEY and from nowhere else; without it none is sent.

    python examples/machine_judge.py CAMPAIGN --base http://localhost:8000/v1 --model MODEL --out verdicts.jsonl --show
    python examples/machine_judge.py CAMPAIGN --base http://localhost:8000/v1 --model MODEL --out verdicts.jsonl \
        --concurrency 16 --most-requests 5000 --most-tokens 2000000

The first of these prints one prompt and asks nothing; the second has a budget.

The prompt is what people see: the guidelines, the question in the words of templates.tsv and names.tsv, identifiers and
descriptions. Triples that a rule has judged are left out. The others are asked in the order of their prompts' SHA-256,
so that what a budget allows is spread over all relations; the lines of OUT are in the order of the pool.

Every answer goes to OUT.cache at once: after Ctrl-C, a crash, or a spent budget the same command goes on where it
stopped. An answer that is not of the asked form is asked for once more; then the verdict is unsure. A question without
any answer has no line in OUT. Exit status: 0 if all is judged or a budget is spent, 1 if not, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import math
import os
import re
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

from kgtrec.campaign import phrase, read_campaign
from kgtrec.data.judgements import VERDICTS
from kgtrec.errors import KgtrecError
from kgtrec.formats.campaign.folder import read_text
from kgtrec.formats.json_text import json_value
from kgtrec.formats.output.outputs import updating

KEY = "MACHINE_JUDGE_KEY"
FIRST_WAIT = 1.0  # seconds before the second try; each further wait is twice as long
LONGEST_WAIT = 600.0  # seconds; a server that asks for more is not waited for
PROGRESS = 10.0  # seconds between lines that say how far it is
MOST_TRIES = 5  # requests for one answer
MOST_FAILED = 5  # questions in a row without an answer, after which no more are asked
MOST_BYTES = 1_000_000  # of a reply
_NO_JSON = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError)  # raised by JSON of another form
_BASE = re.compile(r"https?://([\w.-]+|\[[0-9a-f:]+\])(:[0-9]+)?(/[\w./~-]*)?", re.ASCII)  # without a password
_TRIPLE = ("head", "relation", "tail")
# the reason comes first, so that the verdict can follow from it
_KINDS = {"task": "integer", "reason": "string", "verdict": "string", "probability": ["number", "null"]}
_FIELDS = {name: {"type": kind} for name, kind in _KINDS.items()}
_SCHEMA = {"type": "object", "properties": _FIELDS, "required": [*_FIELDS], "additionalProperties": False}
_PROMPT = """You judge facts that a knowledge graph may lack, as people do by the guidelines below. You cannot open
pages: judge by what you know, and name in your reason what you rely on, not a link. If you do not know, say unsure.
--- guidelines ---
{}--- end of the guidelines ---
"""
_TASK = """Task {number}: {question}
{triple}
Answer with one JSON object and nothing else:
{{"task": {number}, "reason": "one sentence", "verdict": "Y, N or unsure", "probability": 0 to 1, or null}}
The probability is that of the fact being true: above 0.5 with Y, below 0.5 with N."""


class StoppedError(Exception):
    """Why no further question is asked: retrying cannot help."""


class SpentError(StoppedError):
    """Which budget is spent."""


class FailedError(Exception):
    """Why one question has no answer."""


class UnusableError(Exception):
    """What is wrong with an answer."""


class Task(NamedTuple):
    """One triple, and what is asked."""

    number: int  # 1-based row in the pool's triples, as on the annotation page
    triple: dict[str, str]  # labels of head, relation and tail
    text: str  # the end of the prompt
    prompt: str  # SHA-256 of the prompt


def tasks_of(folder: Path) -> tuple[str, list[Task]]:
    """Read how prompts of a campaign begin, and its tasks in the order of the pool."""
    campaign, begin = read_campaign(folder), _PROMPT.format(read_text(folder / "guidelines.md"))
    rows, tasks = (~campaign.automatic.is_automatic).nonzero()[0], []
    labels = zip(*(campaign.pool.triples.take(rows).decoded(name).to_pylist() for name in _TRIPLE), strict=True)
    for number, question, triple in zip((rows + 1).tolist(), phrase(campaign, rows), labels, strict=True):
        own = dict(zip(_TRIPLE, triple, strict=True))
        about = [f"{name}: {label} {campaign.descriptions.get(label, '')}".strip() for name, label in own.items()]
        text = _TASK.format(number=number, question=question, triple="\n".join(about))
        tasks.append(Task(number, own, text, hashlib.sha256((begin + text).encode()).hexdigest()))
    return begin, tasks


def answer_of(content: str, number: int) -> dict[str, Any]:
    """Read the answer to a task: verdict, probability and reason.

    Raises
    ------
    UnusableError
        If it is of another form, about another task, or contradicts itself.
    """
    found = re.search(r"\{.*\}", content.rpartition("</think>")[2], re.DOTALL)
    try:
        value = json.loads(found[0] if found else "")
    except _NO_JSON:
        raise UnusableError("it is no JSON object") from None
    verdict, chance = value.get("verdict"), value.get("probability")
    if type(value.get("task")) is not int or value["task"] != number:
        raise UnusableError(f"it is not about task {number}")
    if verdict not in VERDICTS:
        raise UnusableError(f"its verdict is {verdict}, not Y, N or unsure")
    low, high = {"Y": (0.5, 1), "N": (0, 0.5)}.get(verdict, (0, 1))
    if chance is not None and (type(chance) not in (int, float) or not low <= chance <= high):
        raise UnusableError(f"its probability that the fact is true is {chance}, not {low} to {high} as with {verdict}")
    return {"verdict": verdict, "probability": chance, "reason": str(value.get("reason") or "")}


def read_cache(path: Path, model: str) -> dict[str, dict[str, Any]]:
    """Read a model's answers by prompt; a last line that a crash has torn is removed."""
    answers: dict[str, dict[str, Any]] = {}
    with path.open("a+b") as stream:
        stream.seek(0)
        *lines, torn = stream.read().split(b"\n")
        stream.truncate(stream.tell() - len(torn))
    for number, line in enumerate(lines, 1):
        row = json_value(line, path, first_line=number)
        if not isinstance(row, dict) or row.keys() != {"prompt", "model", "verdict", "probability", "reason"}:
            raise KgtrecError(f"{path}:{number}: expected an answer of an earlier run; remove this line")
        if row["model"] == model:
            answers.setdefault(row.pop("prompt"), row)
    return answers


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """A reply of any status is a reply; a redirect would send the key to an address that nobody named."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


class Judge:
    """A server and a model, asked by threads that share a budget."""

    def __init__(self, given: argparse.Namespace, key: str, cache: Path, begin: str) -> None:
        self.given, self.key, self.cache, self.begin = given, key, cache, begin
        self.answers = read_cache(cache, given.model)
        self.opener = urllib.request.build_opener(_AsItIs)
        schema = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": _SCHEMA}}
        self.optional = {"response_format": schema, "temperature": 0}  # what a server may not support
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.requests = self.tokens = self.dearest = self.under_way = self.answered = self.in_a_row = 0
        self.failed, self.closed = Counter[str](), False  # reason -> questions; whether answers are no longer kept
        self.not_before = 0.0  # monotonic seconds; the server wishes no request earlier
        self.why: Exception | None = None  # no further question is asked

    def judge_all(self, tasks: Sequence[Task]) -> None:
        """Ask what is not in the cache; the first question alone, to see how the server answers."""
        wanted = [task for task in tasks if task.prompt not in self.answers]
        todo = iter(sorted(wanted, key=lambda task: task.prompt))
        threads, shown = list[threading.Thread](), time.monotonic()
        while not threads or any(thread.is_alive() for thread in threads):
            if not threads or (self.answered and len(threads) < self.given.concurrency):
                # a daemon, since Ctrl-C waits for no server
                threads.append(threading.Thread(target=self._work, args=(todo,), daemon=True))
                threads[-1].start()
            elif time.monotonic() > shown + PROGRESS:
                shown = time.monotonic()
                print(f"{self.answered:,} of {len(wanted):,} answered, {self.spent()}", file=sys.stderr)
            else:
                threads[-1].join(0.02)

    def spent(self) -> str:
        """Return what the run has cost so far, in words."""
        return f"{self.requests:,} requests, {self.tokens:,} tokens, {self.failed.total():,} without an answer"

    def _work(self, todo: Iterator[Task]) -> None:
        try:
            for task in todo:  # what one thread takes, no other takes; after the end of the run the server is not asked
                try:
                    self._keep(task, self._answer(task))
                except FailedError as error:
                    with self.lock:
                        self.failed[str(error)] += 1
                        self.in_a_row += 1
                    if self.in_a_row >= MOST_FAILED:
                        raise StoppedError(f"{MOST_FAILED} questions in a row without an answer; {error}") from None
        except Exception as error:
            with self.lock:
                self.why = self.why or error
            self.stop.set()

    def _keep(self, task: Task, answer: dict[str, Any]) -> None:
        with self.lock:
            if not self.closed:  # it is where the disk is full: nothing may follow a torn line
                self.closed = True
                with self.cache.open("ab") as stream:
                    stream.write(_line({"prompt": task.prompt} | answer))
                    stream.flush()
                    os.fsync(stream.fileno())
                self.answers[task.prompt] = answer
                self.closed = False
                self.answered, self.in_a_row = self.answered + 1, 0

    def _answer(self, task: Task) -> dict[str, Any]:
        prompt, fault = self.begin + task.text, ""
        for again in ("", f"\nYour earlier answer was of no use: {{}}. Answer task {task.number} as asked above."):
            try:
                answer = answer_of(self._content(prompt + again.format(fault)), task.number)
                return answer | {"reason": self._clean(answer["reason"]), "model": self.given.model}
            except UnusableError as error:
                fault = self._clean(str(error))
        return {"verdict": "unsure", "probability": None, "reason": f"unusable: {fault}", "model": self.given.model}

    def _content(self, prompt: str) -> str:
        """Ask until the model says something."""
        last, optional = "", dict(self.optional)
        for attempt in range(MOST_TRIES):
            self.stop.wait(FIRST_WAIT * 2 ** (attempt - 1) if last else 0)
            self._take()
            tokens, status = 0, 0
            try:
                status, later, data = self._post(prompt, optional)
                if status == 200:
                    content, tokens = self._completion(data)
                    self.optional = optional
                    return content
            except (OSError, http.client.HTTPException, EOFError) as error:
                last = self._clean(f"no reply of a model: {getattr(error, 'reason', error) or type(error).__name__}")
                continue
            finally:
                with self.lock:
                    self.under_way -= 1
                    self.tokens += tokens
                    self.dearest = max(self.dearest, tokens)
            said = f"status {status}: {self._message(data)}"
            if status in (408, 425, 429) or status >= 500:
                last = said
                self._heed(later or "0", said)
            elif status in (400, 422) and not self.answered and optional:
                # the field that the server names, else the one that most servers lack
                optional.pop(next((name for name in optional if name in said), next(iter(optional))))
            elif status in (400, 403, 413, 422):  # a filter, or a prompt that is too long: others may be answered
                raise FailedError(said)
            else:
                raise StoppedError(f"{said} (redirects are not followed); see --base, --model and {KEY}")
        raise StoppedError(last) if not (self.answered or status) else FailedError(last)

    def _take(self) -> None:
        """Wait until the server may be asked, and take one request of the budget."""
        while (left := self.not_before - time.monotonic()) > 0 and not self.stop.wait(left):
            pass
        with self.lock:
            if self.stop.is_set():
                raise StoppedError("stopped")
            # requests under way, and this one, may each take as many as the dearest so far
            expected = self.tokens + max(1, self.dearest) * (self.under_way + 1)
            if self.requests >= self.given.most_requests or expected > self.given.most_tokens:
                raise SpentError("the budget has no room for another request")
            self.requests += 1
            self.under_way += 1

    def _post(self, prompt: str, optional: dict[str, Any]) -> tuple[int, str | None, bytes]:
        """Send one request: status, Retry-After, and at most ``MOST_BYTES`` and a few more of the reply."""
        body = {"model": self.given.model, "messages": [{"role": "user", "content": prompt}], **optional}
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        url, until = f"{self.given.base.rstrip('/')}/chat/completions", time.monotonic() + self.given.timeout
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  (checked in run)
        with self.opener.open(request, timeout=self.given.timeout) as reply:
            data = b""
            while len(data) <= MOST_BYTES and (part := reply.read1(1 << 16)):
                data += part
                if time.monotonic() > until:
                    raise TimeoutError(f"it took more than {self.given.timeout:g} seconds")
            if len(data) <= MOST_BYTES and reply.length:
                raise EOFError("it was cut")
            return reply.status, reply.headers.get("Retry-After"), data

    def _completion(self, data: bytes) -> tuple[str, int]:
        """Read what the model says, and the tokens that it took; an EOFError if the reply is none of a model."""
        if len(data) > MOST_BYTES:
            raise UnusableError(f"it has more than {MOST_BYTES:,} bytes")
        try:
            reply = json.loads(data)
            content = reply["choices"][0]["message"]["content"]
        except _NO_JSON:
            raise EOFError("expected a chat completion, found something else") from None
        tokens = 0
        with suppress(*_NO_JSON):
            tokens = max(0, int(reply["usage"]["total_tokens"]))
        if not tokens and self.given.most_tokens < math.inf:
            raise StoppedError("the server does not say how many tokens it took; use --most-requests instead")
        return content if isinstance(content, str) else "", tokens

    def _heed(self, wish: str, said: str) -> None:
        """Let all threads wait as long as the server wishes: seconds, or until a date."""
        seconds = 0.0
        with suppress(ValueError):
            seconds = float(wish) if wish[0].isdigit() else parsedate_to_datetime(wish).timestamp() - time.time()
        if seconds > LONGEST_WAIT:
            raise StoppedError(f"{said}; it asks to wait {seconds:,.0f} seconds: run the same command again then")
        with self.lock:
            self.not_before = max(self.not_before, time.monotonic() + seconds)

    def _message(self, data: bytes) -> str:
        with suppress(*_NO_JSON):
            data = str(json.loads(data)["error"]["message"]).encode(errors="replace")
        return self._clean(data.decode(errors="replace"))[:200]

    def _clean(self, text: str) -> str:
        """Make one short line that UTF-8 can encode, without the key, whoever said it."""
        text = text.replace(self.key, "[key]") if self.key else text
        text = "".join(letter if letter.isprintable() else " " for letter in text)  # half a surrogate pair is not
        return " ".join(text.split())[:500]


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def run(given: argparse.Namespace) -> int:
    """Judge what is not judged yet, and write all verdicts; the exit status."""
    key, cache = os.environ.get(KEY, ""), Path(f"{given.out}.cache")
    if not re.fullmatch("[!-~]*", key):  # an error of the HTTP library would print it
        raise KgtrecError(f"expected a key of printable ASCII without blanks in {KEY}")
    if not _BASE.fullmatch(given.base):
        raise KgtrecError("expected a server such as https://api.example.org/v1 as --base, without name and password")
    begin, tasks = tasks_of(given.campaign)
    if given.show:
        print(begin + tasks[0].text if tasks else "nothing to judge")
        return 0
    if given.out.exists() and not cache.exists():
        raise KgtrecError(f"{given.out} exists, and {cache} does not; name another file as --out")
    judge, interrupted = Judge(given, key, cache, begin), True
    with suppress(KeyboardInterrupt):
        judge.judge_all(tasks)
        interrupted = False
    judge.stop.set()
    judge.lock.acquire()  # for good: an answer that comes after Ctrl-C is not kept
    judged = [(task, judge.answers[task.prompt]) for task in tasks if task.prompt in judge.answers]
    if judged:
        with updating(given.out) as stream:
            stream.writelines(_line(task.triple | answer | {"prompt": task.prompt}) for task, answer in judged)
    said = [answer["verdict"] for _, answer in judged]
    split = ", ".join(f"{said.count(verdict):,} {verdict}" for verdict in VERDICTS)
    print(f"{given.out}: {len(judged):,} of {len(tasks):,} triples, {split}; in this run {judge.spent()}")
    for reason, count in judge.failed.most_common(3):
        print(f"{count:,} without an answer: {reason}", file=sys.stderr)
    if interrupted or isinstance(judge.why, SpentError):
        print(f"{'interrupted' if interrupted else judge.why}; the same command goes on from here", file=sys.stderr)
        return 130 if interrupted else 0
    if judge.why is not None:
        raise KgtrecError(str(judge.why))
    print(f"next: kgtrec campaign import {given.campaign} {given.out} --machine NAME")
    return min(1, judge.failed.total())


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path, help="folder of a campaign, after kgtrec campaign init")
    parser.add_argument("--base", required=True, help="address below which chat/completions is")
    parser.add_argument("--model", required=True, help="the server's name of the model")
    parser.add_argument("--out", type=Path, required=True, help="file of verdicts (jsonl); OUT.cache is beside it")
    parser.add_argument("--concurrency", type=int, default=4, help="requests at a time (default: 4)")
    parser.add_argument("--most-requests", type=int, default=math.inf, help="in this run, repeated ones included")
    parser.add_argument("--most-tokens", type=int, default=math.inf, help="in this run, as the server counts them")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for a whole reply (default: 120)")
    parser.add_argument("--show", action="store_true", help="print the first prompt, and ask nothing")
    try:
        return run(parser.parse_args(arguments))
    except (KgtrecError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
