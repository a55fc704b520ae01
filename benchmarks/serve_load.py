"""How long verdicts and pages take when many people judge at once.

    python benchmarks/serve_load.py [--triples 100000] [--people 200] [--seconds 60] [--arrive 20]

Makes a campaign in which every triple is assigned to five annotators, who have judged four fifths of their tasks, and
serves it by `kgtrec campaign serve`. Simulated annotators arrive within 20 seconds. Each gives a verdict every two
seconds on average, after one to three seconds, and opens the page of the next question when one is done. Prints the
time until the server is ready, the median, 95th percentile and the maximum of the times that a verdict (waiting for the
disk included) and a page took, the memory of the server at the beginning and at the end, and its processor time. With
`--arrive 0` all open their first page at the same instant.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import numpy as np
from one_verdict import LINK, synthetic_pool
from sizes import parsed

from kgtrec import Qrels, Vocabulary
from kgtrec.campaign import Assignments, Judgements, People, read_pool, write_assignments, write_people, write_pool
from kgtrec.data.arrow import labels_of
from kgtrec.formats.campaign.folder import write_names, write_sources, write_templates
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.output.folders import GUIDELINES, JUDGEMENTS

PER_TRIPLE, SHARE_DONE, CANDIDATES = 5, 0.8, 20
SHORTEST, LONGEST = 1.0, 3.0  # seconds from one verdict to the next


def made(folder: Path, n_triples: int, n_people: int) -> int:
    """Write the campaign; how many verdicts it has."""
    rng = np.random.default_rng(0)
    pool = synthetic_pool(n_triples // CANDIDATES, rng)
    none = np.zeros(0, np.int32)
    write_pool(folder, pool, Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities))
    pool = read_pool(folder).pool
    write_templates(folder, {})
    write_sources(folder, ["wikipedia.org"])
    write_names(folder, {label: f"name of {label}" for label in pool.questions.entities})
    names = Vocabulary.of([f"p{place:03}" for place in range(n_people)])
    question = np.zeros(len(pool), np.int64)
    question[pool.triple] = pool.question
    person = ((question[:, None] * PER_TRIPLE + np.arange(PER_TRIPLE)) % n_people).astype(np.int32).ravel()
    triple = np.repeat(np.arange(len(pool), dtype=np.int32), PER_TRIPLE)
    order = np.lexsort((question[triple], person))
    person, triple = person[order], triple[order]
    write_assignments(folder, pool, Assignments(person, triple, names))
    n_tasks = np.bincount(person, minlength=n_people)
    place = np.arange(len(person)) - (np.cumsum(n_tasks) - n_tasks)[person]
    done = rng.permutation(np.flatnonzero(place < SHARE_DONE * n_tasks[person]))
    n = len(done)
    links = labels_of([f"https://en.wikipedia.org/wiki/Page_{page}" for page in rng.integers(0, 50_000, n)])
    times = labels_of([f"2026-01-{1 + nth * 28 // n:02d}T20:00:00Z" for nth in range(n)])
    no = np.zeros(n, np.int8)
    said = Judgements(triple[done], person[done], no, no, links, labels_of([""] * n), times, names)
    (folder / JUDGEMENTS).touch()
    append_judgements(folder / JUDGEMENTS, pool, said)
    codes = np.arange(n_people, dtype=np.int32)
    write_people(folder, People(names, codes, np.zeros(n_people, np.int8), np.ones(n_people, np.bool_)))
    (folder / GUIDELINES).write_text("# Guidelines\n")
    return n


class Person:
    """A simulated annotator with one connection."""

    def __init__(self, link: str) -> None:
        self.url = urlsplit(link)
        self.cookie = ""
        self.verdicts: list[float] = []
        self.pages: list[float] = []

    async def ask(self, method: str, path: str, **fields: str) -> tuple[int, dict[str, str], str]:
        body = urlencode(fields).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.url.netloc}",
            f"Origin: {self.url.scheme}://{self.url.netloc}",
            "Accept: application/json",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
            f"Cookie: {self.cookie}",
            "",
            "",
        ]
        self.writer.write("\r\n".join(head).encode() + body)
        status, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        text = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(status.split()[1]), headers, text.decode()

    async def enter(self) -> None:
        """Sign in, and read the guidelines."""
        place = (self.url.hostname, self.url.port)
        self.reader, self.writer = await asyncio.open_connection(*place, limit=1 << 22)
        self.cookie = (await self.ask("GET", self.url.path))[1]["set-cookie"].partition(";")[0]
        text = (await self.ask("GET", "/guidelines"))[2]
        self.token = re.findall('name="token" value="([^"]*)"', text)[0]
        await self.ask("POST", "/guidelines", token=self.token)

    async def judge(self, until: float, begin: float, rng: np.random.Generator) -> None:
        """Verdicts, question by question, after ``begin`` seconds."""
        await asyncio.sleep(begin)
        while time.monotonic() < until:
            path = (await self.ask("GET", "/question"))[1]["location"]
            start = time.perf_counter()
            text = (await self.ask("GET", path))[2]
            self.pages.append(time.perf_counter() - start)
            edition = re.findall('name="edition" value="([^"]*)"', text)[0]
            tasks = re.findall(r'type="hidden" name="before-([0-9]+)" value=""', text)
            for task in tasks:
                fields = {f"verdict-{task}": "N", f"source-{task}": LINK}
                start = time.perf_counter()
                status, _, said = await self.ask("POST", path, token=self.token, edition=edition, only=task, **fields)
                taken = time.perf_counter() - start
                if status != 200:
                    raise SystemExit(f"expected a verdict to be stored, got {status}: {said[:200]}")
                self.verdicts.append(taken)
                await asyncio.sleep(max(rng.uniform(SHORTEST, LONGEST) - taken, 0))
                if time.monotonic() >= until:
                    break
        self.writer.close()


async def load(people: list[Person], arrive: float, seconds: float) -> None:
    """All of them, who arrive evenly spread, and judge for so many seconds after the last one has come."""
    for person in people:
        await person.enter()
    until, rng = time.monotonic() + arrive + seconds, np.random.default_rng(0)
    begins = np.linspace(0, arrive, len(people))
    await asyncio.gather(*(one.judge(until, begin, rng) for one, begin in zip(people, begins, strict=True)))


def memory(process: int) -> float:
    """Resident memory in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+([0-9]+)", status)[0]) / 1024


def processor_time(process: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Make the campaign, serve it, judge, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--arrive", type=float, default=20)
    options = parsed(parser, triples=400, people=6, seconds=5, arrive=0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "campaign")
        n = made(folder, options.triples, options.people)
        start = time.perf_counter()
        words = [sys.executable, "-m", "kgtrec", "campaign", "serve", str(folder), "--port", "0"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            people = [Person(server.stdout.readline().strip().partition(": ")[2]) for _ in range(options.people)]
            ready = time.perf_counter() - start
            before, taken = memory(server.pid), processor_time(server.pid)
            try:
                asyncio.run(load(people, options.arrive, options.seconds))
                after, taken = memory(server.pid), processor_time(server.pid) - taken
            finally:
                server.terminate()
    print(f"{options.triples:,} triples, {n:,} verdicts, {options.people} annotators, {options.seconds:g} s")
    print(f"ready after {ready:.1f} s; memory {before:,.0f} MiB, at the end {after:,.0f} MiB")
    each = 1000 * taken / sum(len(person.verdicts) for person in people)
    print(f"processor time for each verdict, pages included: {each:.1f} ms")
    print(f"{'milliseconds':<14}{'number':>8}{'median':>9}{'p95':>9}{'max':>9}")
    for name in ("verdicts", "pages"):
        times = 1000 * np.concatenate([getattr(person, name) for person in people])
        print(f"{name:<14}{len(times):>8,}{np.median(times):>9.1f}{np.quantile(times, 0.95):>9.1f}{times.max():>9.1f}")


if __name__ == "__main__":
    main()
