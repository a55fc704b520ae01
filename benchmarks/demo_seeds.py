"""What README says of `kgtrec demo`, for seeds that its world was not chosen with.

    python benchmarks/demo_seeds.py [--seeds 100-119]

Makes the demo's campaign for each seed, and tests the pair of systems that its known labels put in the wrong order by
AP@20, as its study does: paired t-tests clustered by question, p adjusted by Holm's method for all pairs of systems. A
seed shows what README says if the known labels (K) have the pair in the wrong order, the labels of the campaign (C) and
the truth (T) in the right one, each with p below .05, and Kendall's tau to the truth is higher with C than with K.
Exits with 1 if fewer than nine seeds in ten show it. A seed takes some ten seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from sizes import parsed

import kgtrec
from kgtrec import meta
from kgtrec.cli.demo import LABEL_SETS, PAIR, evaluate_baselines, write_truth
from kgtrec.cli.demo_steps import ERROR, PEOPLE, Script, make_world, run_campaign, write_world
from kgtrec.meta import kendall_tau_b

MEASURE, ALPHA, LEAST = "AP@20", 0.05, 0.9


def make(folder: Path, seed: int) -> None:
    """What `kgtrec demo --seed SEED` writes, without what this does not read: the complete ranks and the study."""
    tree, world = make_world(seed=seed)
    folder.mkdir()
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        write_world(Path("kg"), tree, world)
        script = Script()
        evaluate_baselines(script, "sparse", PEOPLE, seed)
        run_campaign(script, tree.facts, ERROR, seed)
        write_truth("kg/truth.txt", world.complete)


def seen(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a demo: the pair's differences and adjusted p, and tau to the truth, with K, C and T each."""
    runs = [kgtrec.read_run(path) for path in sorted(folder.glob("sparse-ranks/*.run"))]
    known = kgtrec.read_collection(folder / "sparse")
    tested = [
        meta.power(kgtrec.read_qrels(folder / file), runs, MEASURE, tests=["clustered"], collection=known)
        for file, _ in LABEL_SETS.values()
    ]
    pairs = [own.to_frame() for own in tested]
    (rows,) = zip(
        *(own[(own["first"] == PAIR[0]) & (own["second"] == PAIR[1])].itertuples() for own in pairs), strict=True
    )
    values = np.stack([own.value[0] for own in tested])
    return (
        np.array([row.difference for row in rows]),
        np.array([row.p_adjusted for row in rows]),
        kendall_tau_b(values, values[-1]),
    )


def measure() -> int:
    """Make and test the demo of each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="100-119", metavar="FIRST-LAST")
    low, high = map(int, parsed(parser, seeds="0-0").seeds.split("-"))
    seeds = range(low, high + 1)
    better, other = PAIR
    print(f"{MEASURE}: {better} less {other}, its adjusted p, and tau to T, with {', '.join(LABEL_SETS)}", flush=True)
    n_wrong = n_repaired = n_shown = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work, "demo")
            make(folder, seed)
            difference, p, tau = seen(folder)
        cells = [f"{d:+.3f} (p {q:.4f}, tau {t:.3f})" for d, q, t in zip(difference, p, tau, strict=True)]
        print(f"seed {seed}:  {'  '.join(cells)}", flush=True)
        wrong = difference[0] > 0 and p[0] < ALPHA
        repaired = (difference[1:] < 0).all() and (p[1:] < ALPHA).all() and tau[1] > tau[0]
        n_wrong, n_repaired, n_shown = n_wrong + wrong, n_repaired + repaired, n_shown + (wrong and repaired)
    print(f"{len(seeds)} seeds: wrong with K in {n_wrong}, right with C and T in {n_repaired}, both in {n_shown}")
    return 0 if n_shown >= LEAST * len(seeds) else 1


if __name__ == "__main__":
    sys.exit(measure())
