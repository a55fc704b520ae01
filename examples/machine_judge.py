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
import email.utils
import hashlib
import http.client
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

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
_ABOUT_THE_QUESTION = {400, 403, 413, 422}  # a content filter, or a prompt that is too long: others may be answered
_NO_JSON = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError)  # raised by JSON of another form
_TRIPLE = ("head", "relation", "tail")
# the reason comes first, so that the verdict can follow from it
_FIELDS = {"task": "integer", "reason": "string", "verdict": "string", "probability": ["number", "null"]}
_PROPERTIES = {name: {"type": kind} for name, kind in _FIELDS.items()}
_SCHEMA = {"type": "object", "properties": _PROPERTIES, "required": [*_FIELDS], "additionalProperties": False}
_PROMPT = """\
You judge facts that a knowledge graph may lack, as people do by the guidelines below. You cannot open pages: judge by
what you know, and name in your reason what you rely on instead of a link. If you do not know, say unsure.

--- guidelines ---
{}--- end of the guidelines ---
"""
_TASK = """
Task {number}: {question}
{triple}

Answer with one JSON object and nothing else:
{{"task": {number}, "reason": "one sentence", "verdict": "Y, N or unsure", "probability": 0 to 1, or null}}
The probability is that of the fact being true: above 0.5 with Y, below 0.5 with N.
"""


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
    triples = campaign.pool.triples.take(rows)
    labels = zip(*(triples.decoded(name).to_pylist() for name in _TRIPLE), strict=True)
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
    chance = None if chance is None else float(chance)
    return {"verdict": verdict, "probability": chance, "reason": str(value.get("reason") or "")}


class Cache:
    """Answers on the disk, a line each; one that a crash has torn is dropped."""

    def __init__(self, path: Path, model: str) -> None:
        self.path, self.model, self.answers = path, model, dict[str, dict[str, Any]]()  # by prompt
        with path.open("a+b") as stream:
            stream.seek(0)
            *lines, torn = stream.read().split(b"\n")
            stream.truncate(stream.tell() - len(torn))
        for number, line in enumerate(lines, 1):
            row = json_value(line, path, first_line=number)
            if not isinstance(row, dict) or row.keys() != {"prompt", "model", "verdict", "probability", "reason"}:
                raise KgtrecError(f"{path}:{number}: expected an answer of an earlier run; remove this line")
            prompt = row.pop("prompt")
            if row.pop("model") == model:
                self.answers.setdefault(prompt, row)

    def add(self, prompt: str, answer: dict[str, Any]) -> None:
        """Keep an answer; it is on the disk afterwards."""
        with self.path.open("ab") as stream:
            stream.write(_line({"prompt": prompt, "model": self.model, **answer}))
            stream.flush()
            os.fsync(stream.fileno())
        self.answers[prompt] = answer


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the key to an address that nobody named."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Judge:
    """A server and a model, asked by threads that share a budget."""

    def __init__(self, given: argparse.Namespace, key: str, cache: Cache, begin: str) -> None:
        self.given, self.key, self.cache, self.begin = given, key, cache, begin
        self.opener = urllib.request.build_opener(_NoRedirects)
        schema = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": _SCHEMA}}
        self.optional = {"response_format": schema, "temperature": 0}  # what a server may not support
        self.lock, self.stop = threading.Lock(), threading.Event()
        self.requests = self.tokens = self.dearest = self.under_way = self.answered = self.in_a_row = 0
        self.failed, self.closed = Counter[str](), False  # reason -> questions; whether answers are no longer kept
        self.not_before = 0.0  # monotonic seconds; the server wishes no request earlier
        self.why: Exception | None = None  # no further question is asked

    def judge_all(self, tasks: Sequence[Task]) -> None:
        """Ask what is not in the cache; the first question alone, to see how the server answers."""
        wanted = [task for task in tasks if task.prompt not in self.cache.answers]
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
            while not self.stop.is_set():
                with self.lock:
                    task = next(todo, None)
                if task is None:
                    return
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
            if not self.closed:  # after Ctrl-C, and where the disk is full: nothing may follow a torn line
                self.closed = True
                self.cache.add(task.prompt, answer)
                self.closed = False
                self.answered += 1
                self.in_a_row = 0

    def _answer(self, task: Task) -> dict[str, Any]:
        prompt, fault = self.begin + task.text, ""
        for _ in range(2):
            again = f"\nAn earlier answer was of no use: {fault}. Answer task {task.number} as asked above.\n"
            try:
                answer = answer_of(self._content(prompt + again if fault else prompt), task.number)
                return answer | {"reason": self._clean(answer["reason"])}
            except UnusableError as error:
                fault = self._clean(str(error))
        return {"verdict": "unsure", "probability": None, "reason": f"no usable answer: {fault}"}

    def _content(self, prompt: str) -> str:
        """Ask until the model says something."""
        last = ""
        for attempt in range(MOST_TRIES):
            if last:
                self.stop.wait(FIRST_WAIT * 2 ** (attempt - 1))
            self._take()
            tokens, status = 0, 0
            try:
                status, later, data = self._post(prompt)
                if status == 200:
                    content, tokens = self._completion(data)
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
                self._heed(later, said)
            elif status in (400, 422) and not self.answered and self.optional:
                # the field that the server names, else the one that most servers lack
                self.optional.pop(next((name for name in self.optional if name in said), next(iter(self.optional))))
            elif status in _ABOUT_THE_QUESTION:
                raise FailedError(said)
            else:
                raise StoppedError(f"{said} (redirects are not followed); see --base, --model and {KEY}")
        raise StoppedError(last) if not (self.answered or status) else FailedError(last)

    def _take(self) -> None:
        """Wait until the server may be asked, and take one request of the budget."""
        self.stop.wait(max(0.0, self.not_before - time.monotonic()))
        most, most_tokens = self.given.most_requests, self.given.most_tokens
        with self.lock:
            if self.stop.is_set():
                raise StoppedError("stopped")
            if most is not None and self.requests >= most:
                raise SpentError(f"the budget of {most:,} requests is spent")
            # requests under way, and this one, may each take as many as the dearest so far
            expected = self.tokens + max(1, self.dearest) * (self.under_way + 1)
            if most_tokens is not None and expected > most_tokens:
                raise SpentError(f"the budget of {most_tokens:,} tokens has no room for another question")
            self.requests += 1
            self.under_way += 1

    def _post(self, prompt: str) -> tuple[int, str | None, bytes]:
        """Send one request: status, Retry-After, and at most ``MOST_BYTES`` and a few more of the reply."""
        body = {"model": self.given.model, "messages": [{"role": "user", "content": prompt}], **self.optional}
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        url, until = f"{self.given.base}/chat/completions", time.monotonic() + self.given.timeout
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310  (checked by base_of)
        try:
            reply = self.opener.open(request, timeout=self.given.timeout)
        except urllib.error.HTTPError as error:
            reply = error
        with reply:
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
        if self.given.most_tokens is not None and not tokens:
            raise StoppedError("the server does not say how many tokens it took; use --most-requests instead")
        return content if isinstance(content, str) else "", tokens

    def _heed(self, wish: str | None, said: str) -> None:
        """Let all threads wait as long as the server wishes: seconds, or until a date."""
        seconds, wish = 0.0, wish or "0"
        with suppress(ValueError):
            date = None if wish[0] in "0123456789" else email.utils.parsedate_to_datetime(wish)
            seconds = date.timestamp() - time.time() if date else float(wish)
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


def base_of(text: str) -> str:
    """Read the server's address: http or https, and no password in it, which errors would show."""
    parts = urlsplit(text)
    host = re.fullmatch(r"([\w.-]+|\[[0-9a-f:]+\])(:[0-9]+)?", parts.netloc)
    if parts.scheme not in ("http", "https") or not host:
        raise argparse.ArgumentTypeError("expected a server such as https://api.example.org/v1")
    return text.rstrip("/")


def run(given: argparse.Namespace) -> int:
    """Judge what is not judged yet, and write all verdicts; the exit status."""
    key, cache_path = os.environ.get(KEY, ""), Path(f"{given.out}.cache")
    if not re.fullmatch("[!-~]*", key):  # an error of the HTTP library would print it
        raise KgtrecError(f"expected a key of printable ASCII without blanks in {KEY}")
    begin, tasks = tasks_of(given.campaign)
    if given.show:
        print(begin + tasks[0].text if tasks else "nothing to judge")
        return 0
    if given.out.exists() and not cache_path.exists():
        raise KgtrecError(f"{given.out} exists, and {cache_path} does not; name another file as --out")
    cache = Cache(cache_path, given.model)
    judge, interrupted = Judge(given, key, cache, begin), False
    try:
        judge.judge_all(tasks)
    except KeyboardInterrupt:
        interrupted = True
    judge.stop.set()
    with judge.lock:
        judge.closed = True
    judged = [(task, cache.answers[task.prompt]) for task in tasks if task.prompt in cache.answers]
    if judged:
        with updating(given.out) as stream:
            for task, answer in judged:
                stream.write(_line({**task.triple, **answer, "model": cache.model, "prompt": task.prompt}))
    counts = Counter(answer["verdict"] for _, answer in judged)
    split = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in VERDICTS)
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
    parser.add_argument("--base", type=base_of, required=True, help="address below which chat/completions is")
    parser.add_argument("--model", required=True, help="the server's name of the model")
    parser.add_argument("--out", type=Path, required=True, help="file of verdicts (jsonl); OUT.cache is beside it")
    parser.add_argument("--concurrency", type=int, default=4, help="requests at a time (default: 4)")
    parser.add_argument("--most-requests", type=int, help="in this run, repeated ones included")
    parser.add_argument("--most-tokens", type=int, help="in this run, as the server counts them")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for a whole reply (default: 120)")
    parser.add_argument("--show", action="store_true", help="print the first prompt, and ask nothing")
    try:
        return run(parser.parse_args(arguments))
    except (KgtrecError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
