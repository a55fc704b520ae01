"""A server that is killed under load: what it called stored is in the file, once."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import threading
import time
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from urllib.parse import SplitResult, urlencode

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.formats.campaign.pools import read_pool
from kgtrec.formats.output.folders import JUDGEMENTS
from kgtrec.serve.run import serve
from tests.campaign_folders import task_fields
from tests.serve.servers import served
from tests.serve.test_judging import big

N_PEOPLE, N_KILLS = 30, 200


class Person:
    """An annotator who changes one answer again and again, with a note that is never the same."""

    def __init__(self, name: str, url: SplitResult, link: str, path: str, task: int) -> None:
        self.name, self.url, self.path, self.task = name, url, path, task
        self.stored: list[str] = []  # notes that were called stored
        self.turn, self.before = 0, ""
        self.cookie = self.ask("GET", link)[1]
        self.ask("POST", "/guidelines", token=self.hidden("/guidelines", "token"))
        self.token, self.edition = (self.hidden(path, name) for name in ("token", "edition"))

    def ask(self, method: str, path: str, **fields: str) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(str(self.url.hostname), self.url.port, timeout=20)
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        headers["Origin"] = f"http://{self.url.netloc}"
        if hasattr(self, "cookie"):
            headers["Cookie"] = self.cookie
        try:
            connection.request(method, path, urlencode(fields) if fields else None, headers)
            answer = connection.getresponse()
            return answer.status, (answer.getheader("Set-Cookie") or "").partition(";")[0], answer.read()
        finally:
            connection.close()

    def hidden(self, path: str, name: str) -> str:
        found = re.search(f'name="{name}" value="([^"]*)"', self.ask("GET", path)[2].decode())
        assert found
        return found[1]

    def judge(self) -> None:
        """Until the server is gone."""
        with suppress(OSError, http.client.HTTPException):
            while True:
                self.say()

    def say(self) -> None:
        """One verdict; a conflict tells of one that was stored without an answer, whose place the next one takes."""
        self.turn += 1
        note = f"{self.name} {self.turn}"
        fields = {f"verdict-{self.task}": "unsure", f"note-{self.task}": note, f"before-{self.task}": self.before}
        status, _, body = self.ask(
            "POST", self.path, token=self.token, edition=self.edition, only=str(self.task), **fields
        )
        assert status in (200, 409)
        self.before = json.loads(body)["outcomes"][0]["digest"]
        if status == 200:
            self.stored.append(note)


def serve_and_tell(folder: Path, port: int, told: Connection) -> None:
    serve(folder, port=port, ready=lambda site: told.send(site.url))


def imported() -> ForkServerContext:
    """Forks processes from one that has imported everything, since two hundred imports would take minutes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "kgtrec.serve.judging", "pandas", "pyarrow.compute"])
    return context


def tear(path: Path) -> bytes:
    """Leave half a line at the end of a file, as a program that was killed while it wrote; what was left."""
    whole = path.read_bytes()
    if not whole.endswith(b"\n"):
        return b""  # torn already
    last = whole[:-1].rpartition(b"\n")[2]
    half = last[: len(last) // 2]
    with path.open("ab") as stream:
        stream.write(half)
    return half


@pytest.mark.long
def test_what_was_called_stored_before_a_kill_is_in_the_file_once(tmp_path: Path):
    """Two hundred times under load; nobody signs in again, and a torn line is moved aside by the next verdict."""
    page = big(tmp_path / "campaign", N_PEOPLE)
    names = [f"p{place:02}" for place in range(N_PEOPLE)]
    links = [page.link_of(name) for name in names]
    page.state.close()
    rng = np.random.default_rng(0)
    port, people, torn = 0, [], []

    def n_stored() -> int:
        return sum(len(person.stored) for person in people)

    for nth in range(N_KILLS):
        with served(imported(), serve_and_tell, page.folder, port) as url:
            if not people:
                port = url.port or 0
                path, task = page.numbers.large("/question/1"), page.numbers.tasks[0]
                people = [Person(name, url, link, path, task) for name, link in zip(names, links, strict=True)]
            enough, deadline = n_stored() + rng.integers(1, N_PEOPLE), time.monotonic() + 20
            threads = [threading.Thread(target=person.judge) for person in people]
            for thread in threads:
                thread.start()
            while n_stored() < enough:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.01))
        for thread in threads:
            thread.join()
        if nth % 10 == 5:  # mended by the next server
            torn.append(tear(page.folder / JUDGEMENTS))
    notes = [event[5] for event in page.events()]
    assert len(notes) == len(set(notes))
    for person in people:
        assert set(person.stored) <= set(notes)
    assert set(notes) <= {f"{person.name} {turn}" for person in people for turn in range(1, person.turn + 1)}
    aside = page.folder.joinpath(f"{JUDGEMENTS}.torn").read_bytes().split(b"\n")
    assert set(torn) <= {*aside, b""}


@pytest.mark.slow
def test_two_servers_and_a_command_store_every_verdict_once(tmp_path: Path):
    """On one folder at once; the servers are killed at the end, and each sees what came by another way."""
    page = big(tmp_path / "campaign", N_PEOPLE + 1)
    names = [f"p{place:02}" for place in range(N_PEOPLE)]
    links = [page.link_of(name) for name in names]
    page.state.close()
    path, task = page.numbers.large("/question/1"), page.numbers.tasks[0]
    importer, fields = f"p{N_PEOPLE:02}", task_fields(read_pool(page.folder).pool, 1)
    with ExitStack() as servers:
        urls = [servers.enter_context(served(imported(), serve_and_tell, page.folder, 0)) for _ in range(2)]
        people = [Person(name, urls[nth % 2], links[nth], path, task) for nth, name in enumerate(names)]
        threads = [threading.Thread(target=person.judge) for person in people]
        for thread in threads:
            thread.start()
        turn, deadline = 0, time.monotonic() + 60
        while turn < 20 or min(len(person.stored) for person in people) < 5:
            assert time.monotonic() < deadline
            turn += 1
            line = {"annotator": importer, **fields, "verdict": "unsure", "note": f"{importer} {turn}"}
            file = tmp_path / "one.jsonl"
            file.write_text(f"{json.dumps(line)}\n")
            main(["campaign", "import", str(page.folder), str(file), "--correct"])
    for thread in threads:
        thread.join()
    notes = [event[5] for event in page.events()]
    assert len(notes) == len(set(notes))
    assert {f"{importer} {nth}" for nth in range(1, turn + 1)} <= set(notes)
    for person in people:
        assert set(person.stored) <= set(notes)
