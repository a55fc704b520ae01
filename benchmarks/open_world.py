"""Simulation of the open-world model: kgtrec beside a loop over questions, and what the closed forms take.

    python benchmarks/open_world.py [--questions 10000] [--strengths 50] [--peer-questions 200]

The figure to hold is 10,000 questions x 50 strengths in under 5 s on one core. The peer is what one writes first: for
every strength and question, numpy draws labels, found answers and their order and adds up 1 / rank. It is run on fewer
questions, and its time per question is what is compared. Both give MRR over labels, which is held against the theory.
Nothing in the simulation uses more than one core.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sizes import parsed

from kgtrec.openworld.simulate import simulate
from kgtrec.openworld.theory import OpenWorld, expected_score, question_variance

WORLD = OpenWorld(43, 0.2)
MEASURES = "MRR Hits@10 logMRR pMRR(p=0.5)"
ENTITIES = 14_541


def by_loop(strength: np.ndarray, n_questions: int) -> np.ndarray:
    """(strengths,) MRR over labels, question after question."""
    rng = np.random.default_rng(0)
    scores = []
    for one in strength:
        total, labels = 0.0, 0
        for _ in range(n_questions):
            labelled = rng.random(WORLD.n_answers) >= WORLD.missing
            found = np.flatnonzero(rng.random(WORLD.n_answers) < one)
            ranked = labelled[rng.permutation(found)]
            ranks = 1 + np.cumsum(~ranked)[ranked]
            total += (1 / ranks).sum()
            labels += int(labelled.sum())
        scores.append(total / labels)
    return np.array(scores)


def timed(work: Callable[[], np.ndarray], rounds: int) -> tuple[float, np.ndarray]:
    """Median seconds of a call, and what it gives."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def main() -> None:
    """Print times, the ratio, and how far the simulated scores are from theory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--strengths", type=int, default=50)
    parser.add_argument("--peer-questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    given = parsed(parser, questions=50, strengths=3, peer_questions=5, rounds=1)
    strength = np.linspace(1 / given.strengths, 1, given.strengths)
    exact = expected_score(WORLD, "MRR", strength)
    error = np.sqrt(question_variance(WORLD, "MRR", strength))
    print(f"{WORLD}, {given.strengths} strengths, one core")
    print(f"{'':<46}{'questions':>10}{'s':>9}{'us/question':>13}{'ratio':>8}{'largest error':>15}")

    def line(name: str, work: Callable[[], np.ndarray], n_questions: int, peer: float | None) -> float:
        seconds, found = timed(work, given.rounds)
        each = seconds / n_questions / given.strengths
        # in standard errors of the simulated score
        apart = float(np.max(np.abs(found - exact) / error) * np.sqrt(n_questions))
        ratio = "" if peer is None else f"{peer / each:.0f}x"
        print(f"{name:<46}{n_questions:>10,}{seconds:>9.2f}{each * 1e6:>13.3f}{ratio:>8}{apart:>11.1f} s.e.")
        return each

    n = given.questions
    peer = line("loop over questions, MRR", lambda: by_loop(strength, given.peer_questions), given.peer_questions, None)
    for name, measures, options in (
        ("kgtrec, MRR", "MRR", {}),
        ("kgtrec, MRR Hits logMRR pMRR", MEASURES, {}),
        ("kgtrec, MRR Hits logMRR pMRR, nothing shared", MEASURES, {"shared": "nothing"}),
    ):
        line(name, lambda m=measures, o=options: simulate(WORLD, m, strength, n_questions=n, **o).mean[0, 0], n, peer)
    start = time.perf_counter()
    simulate(WORLD, MEASURES, strength, n_questions=n, n_entities=ENTITIES)
    print(f"the four among {ENTITIES:,} entities: {time.perf_counter() - start:.2f} s")
    start = time.perf_counter()
    simulate(WORLD, "MRR", 0.7, n_questions=200, repeats=5000)
    print(f"5,000 repeats of 200 questions, one strength: {time.perf_counter() - start:.2f} s")
    for world in (WORLD, OpenWorld(100_000, 0.2)):
        start = time.perf_counter()
        expected_score(world, "MRR", strength)
        mean = time.perf_counter() - start
        start = time.perf_counter()
        question_variance(world, "MRR", strength[-2])
        print(
            f"theory, N = {world.n_answers:,}: {given.strengths} means {mean * 1e3:.0f} ms, "
            f"one variance {(time.perf_counter() - start) * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
