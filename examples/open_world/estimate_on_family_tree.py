"""How far the estimates of `kgtrec openworld estimate` are off, on a family tree whose truth is known.

    kgtrec openworld world --people 6004 --out W
    kgtrec rank W --baseline all --depth 0 --out ranks
    python examples/open_world/estimate_on_family_tree.py W ranks/*.ranks.parquet

Labels are hidden at random, or in correlation with what the strongest system finds. What the systems rank high is
judged without error. Prints a row per set of labels: the true share without a label and beta, and the estimates of each
method.
"""

from __future__ import annotations

import argparse
import sys

import kgtrec
from kgtrec.openworld.estimate import METHODS
from kgtrec.openworld.labels import TrueFacts, found_answers, hide_labels


def main() -> None:
    """Hide, estimate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("systems", nargs="+", help="answer ranks")
    parser.add_argument("--densities", nargs="+", type=float, default=[0.1, 0.3, 0.7], help="of the labels")
    parser.add_argument("--correlations", nargs="+", type=float, default=[0.0, 0.15])
    parser.add_argument("--depths", nargs="+", type=int, default=[1, 10], help="of the pool")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    complete = kgtrec.read_collection(options.collection)
    systems = [kgtrec.read_answer_ranks(path) for path in options.systems]
    true = TrueFacts.of(complete)
    found = max((found_answers(true, system) for system in systems), key=lambda answers: answers.mean())
    sys.stdout.write("correlation density depth found_labels truth " + " ".join(METHODS))
    sys.stdout.write(" beta " + " ".join(f"beta_{name}" for name in METHODS) + "\n")
    for correlation in options.correlations:
        for density in options.densities:
            labels = hide_labels(true, density, found=found, correlation=correlation, seed=options.seed).qrels()
            for depth in options.depths:
                estimate = kgtrec.openworld.estimate_missing(
                    labels, complete.qrels, systems, truth=complete.qrels, depth=depth
                )
                row = [f"{correlation:g} {density:g} {depth} {estimate.found_labels / estimate.n_labels:.3f}"]
                row += [f"{value:.3f}" for value in (estimate.true_share, *estimate.share.value)]
                row += [f"{value:.3f}" for value in (estimate.true_missing, *estimate.missing.value)]
                sys.stdout.write(" ".join(row) + "\n")


if __name__ == "__main__":
    main()
