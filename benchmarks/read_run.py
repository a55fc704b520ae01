"""Reading and writing a large run: kgtrec in each format, and trec_eval's Python binding, as whole processes in turn.

    python benchmarks/read_run.py [--questions 22850] [--depth 100] [--repeat 3]

Prints, per reader, the best wall-clock time of a whole process (start and imports included), lines per second and
peak memory, and how these compare with pytrec_eval's, which only parses here. Needs pytrec-eval-terrier.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sizes import parsed

from kgtrec import Run, Vocabulary, read_run, write_run

N_ENTITIES = 14_541  # FB15k-237
_LETTERS = np.array(list("0123456789bcdfghjklmnpqrstvwxyz_"))

_OURS = "from kgtrec.formats.trec.runs import read_run; assert len(read_run({path!r})) == {lines}"
_PEER = (
    "import pytrec_eval; run = pytrec_eval.parse_run(open({path!r}, encoding='utf-8')); "
    "assert sum(map(len, run.values())) == {lines}"
)
# the peak of this very process, in kB; ru_maxrss would include its parent's at the time of the fork (Linux)
_MEMORY = "; print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0].split()[1])"


def synthetic_run(n_questions: int, depth: int, seed: int = 0) -> Run:
    """A run with labels of Freebase's form, scores of six decimals, and so with ties."""
    rng = np.random.default_rng(seed)
    labels = [f"/m/0{''.join(rng.choice(_LETTERS, rng.integers(2, 5)))}{code:x}" for code in range(N_ENTITIES)]
    entity = np.concatenate([rng.choice(N_ENTITIES, depth, replace=False) for _ in range(n_questions)])
    score = rng.normal(0, 3, n_questions * depth).round(6)
    question = np.repeat(np.arange(n_questions, dtype=np.int32), depth)
    n_head = int(n_questions * 0.4)
    ids = [f"head{row}" if row < n_head else f"tail{row - n_head}" for row in range(n_questions)]
    return Run.of("transe", question, entity.astype(np.int32), score, Vocabulary.of(ids), Vocabulary.of(labels))


def whole_process(code: str, repeat: int) -> tuple[float, float]:
    """Seconds of the best of ``repeat`` processes, and its peak memory in MB."""
    times, memory = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code + _MEMORY], check=True, capture_output=True, text=True)
        times.append(time.perf_counter() - start)
        memory.append(int(done.stdout) / 1024)
    return min(times), min(memory)


def best_of(action: Callable[[], object], repeat: int) -> float:
    """Seconds of the best of ``repeat`` calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Make the files, time each reader and writer, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--questions", type=int, default=22_850)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    options = parsed(parser, questions=20, depth=10, repeat=1)
    run = synthetic_run(options.questions, options.depth)
    lines = len(run)
    with tempfile.TemporaryDirectory() as folder:
        paths = {suffix: str(Path(folder, f"transe{suffix}")) for suffix in (".run", ".run.gz", ".run.zst", ".parquet")}
        print(f"{lines:,} lines\n{'write':<24}{'s':>8}{'M lines/s':>11}{'MB':>8}")
        for suffix, path in paths.items():
            seconds = best_of(lambda path=path: write_run(path, run, force=True), options.repeat)
            size = Path(path).stat().st_size / 1e6
            print(f"{suffix:<24}{seconds:>8.2f}{lines / seconds / 1e6:>11.2f}{size:>8.1f}")
        # the oddities that send every line through the general path: CRLF, tabs, a comment
        messy = str(Path(folder, "messy.run"))
        text = Path(paths[".run"]).read_bytes().replace(b" Q0 ", b"\t Q0 ").replace(b"\n", b"\r\n")
        Path(messy).write_bytes(b"# comment\n" + text)
        shuffled = str(Path(folder, "shuffled.run"))
        rows = Path(paths[".run"]).read_bytes().splitlines(keepends=True)
        Path(shuffled).write_bytes(b"".join(rows[row] for row in np.random.default_rng(0).permutation(len(rows))))
        del text, rows

        peer = whole_process(_PEER.format(path=paths[".run"], lines=lines), options.repeat)
        print(f"\n{'read, whole process':<24}{'s':>8}{'M lines/s':>11}{'MB':>8}{'times faster':>14}{'memory':>9}")
        ours = {f"kgtrec {suffix}": path for suffix, path in paths.items()}
        ours |= {"kgtrec .run, messy": messy, "kgtrec .run, shuffled": shuffled}
        for name, path in ours.items():
            found = whole_process(_OURS.format(path=path, lines=lines), options.repeat)
            print(_line(name, lines, found, peer))
        print(_line("pytrec_eval .run", lines, peer, peer))
        seconds = best_of(lambda: read_run(paths[".run"]), options.repeat)
    print(f"\nread .run once all is imported: {seconds:.2f} s, {lines / seconds / 1e6:.2f} M lines/s")


def _line(name: str, lines: int, found: tuple[float, float], peer: tuple[float, float]) -> str:
    seconds, memory = found
    rate = lines / seconds / 1e6
    return f"{name:<24}{seconds:>8.2f}{rate:>11.2f}{memory:>8.0f}{peer[0] / seconds:>14.1f}{memory / peer[1]:>9.2f}"


if __name__ == "__main__":
    main()
