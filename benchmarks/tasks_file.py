"""What a file of tasks takes: how large it is, how long it takes to write, and to open in a browser.

    python benchmarks/tasks_file.py [--tasks 200 2000 20000]

Makes tasks of an annotator with names and known answers, writes `kgtrec campaign export --out ann.html`'s page of them,
and opens it in Chromium (with selenium, where both are installed): until the first question is shown, until the next
one is, and until it is shown again when all tasks are judged. Prints the best of three.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from one_verdict import PER_QUESTION, synthetic_pool
from sizes import parsed

from kgtrec import Qrels, Vocabulary
from kgtrec.campaign import Assignments, Automatic, Campaign, Judgements, People, tasks_for
from kgtrec.serve.tasks_file import tasks_file

N_KNOWN = 20  # answers to each question that were known before
_ALL_SAID = """
const data = JSON.parse(document.getElementById("tasks").textContent);
const source = "https://en.wikipedia.org/wiki/Some_page";
const words = [{verdict: "N", source, note: "", time: new Date().toISOString()}];
for (const question of data.questions) for (const card of question.cards)
  localStorage.setItem(`kgtrec ${data.edition} ${data.role} ${data.person} ${card.task}`, JSON.stringify(words));
"""


def campaign_of(n_tasks: int) -> Campaign:
    """A campaign in which ann has so many tasks."""
    rng = np.random.default_rng(0)
    pool = synthetic_pool(n_tasks // PER_QUESTION, rng)
    asked = pool.questions
    question = np.repeat(np.arange(len(asked), dtype=np.int32), N_KNOWN)
    known = rng.integers(0, len(asked.entities), len(question)).astype(np.int32)
    pairs = np.unique(np.stack([question, known]), axis=1)
    ann = Vocabulary.of(["ann"])
    zero = np.zeros(1, np.int32)
    rows = np.arange(len(pool), dtype=np.int32)
    return Campaign(
        pool,
        Qrels.of(pairs[0], pairs[1], np.ones(pairs.shape[1], np.int32), asked.ids, asked.entities),
        Automatic.none(len(pool)),
        People(ann, zero, zero.astype(np.int8), zero == 0),
        Assignments(zero.repeat(len(pool)), rows, ann),
        Judgements.none(),
        sources=("wikipedia.org", "wikidata.org", "bnf.fr"),
        names={label: f"The name of {label}" for label in asked.entities},
    )


def opened(path: Path) -> tuple[float, float, float] | None:
    """Seconds until the first question is shown, until the next one is, and until one is when all are judged."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        browser.get(f"{path.as_uri()}#/question/1")
        first = [_shown(browser) for _ in range(3)]
        following = [_following(browser) for _ in range(3)]
        browser.execute_script(_ALL_SAID)
        return min(first), min(following), min(_shown(browser) for _ in range(3))
    finally:
        browser.quit()


def _shown(browser: Any) -> float:
    browser.refresh()
    took = "return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd / 1000"
    return float(browser.execute_script(took))


def _following(browser: Any) -> float:
    done = browser.execute_async_script(
        "const done = arguments[0], begin = performance.now(), before = document.title;"
        "document.getElementById('next').click();"
        "(function wait() { document.title === before ? setTimeout(wait, 0) : done(performance.now() - begin); })();"
    )
    return float(done) / 1000


def main() -> None:
    """Print a line for each number of tasks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, nargs="+", default=[200, 2000, 20_000])
    print("tasks\tMB\twrite s\topen s\tnext s\topen, all judged s")
    for n_tasks in parsed(parser, tasks=[60]).tasks:
        campaign = campaign_of(n_tasks)
        took = []
        for _ in range(3):
            begin = time.perf_counter()
            page = tasks_file(campaign, tasks_for(campaign, "ann"), person="ann", guidelines="# How to judge\n")
            took.append(time.perf_counter() - begin)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ann.html")
            path.write_text(page, encoding="utf-8")
            seconds = opened(path)
            size = path.stat().st_size / 1e6
        shown = "\t".join(f"{one:.3f}" for one in seconds) if seconds else "no browser"
        print(f"{n_tasks}\t{size:.2f}\t{min(took):.3f}\t{shown}")


if __name__ == "__main__":
    main()
