"""A slice of a large ranking: kgtrec's tiles beside PyKEEN's evaluator, the same model and triples, one thread each.

    OPENBLAS_NUM_THREADS=1 python benchmarks/tiles_beside_pykeen.py [--triples 16] [--train 2000000]

The model is a DistMult of PyKEEN's with random weights, as large as one of ogbl-wikikg2; the triples are made up. Both
rank the tails and heads of the same test triples among all entities, filtered by train and test, and compute MRR, MR
and Hits@10; processor seconds with scoring. PyKEEN gets each of the batch sizes, and its fastest counts. Its DistMult
makes an array of entities x dimensions, 2 GB, for each triple of a batch. kgtrec's questions are built once for all
systems, and are timed apart. PyKEEN comes with ``pip install kgtrec[peers]``.
"""

from __future__ import annotations

import argparse
import logging
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pykeen.models import DistMult
from pykeen.triples import CoreTriplesFactory
from rank_torch import MEASURES, Stopwatch, mapped, pykeen
from sizes import parsed

from kgtrec import Collection, Triples, Vocabulary, build_questions, evaluate
from kgtrec.ranking import grid_of
from kgtrec.ranking.rank import joined
from kgtrec.systems import Factors

RELATIONS = 535


def made_up(n: int, n_entities: int, seed: int) -> Triples:
    """Triples at random."""
    rng = np.random.default_rng(seed)
    head, relation, tail = (rng.integers(0, top, n).astype(np.int32) for top in (n_entities, RELATIONS, n_entities))
    entities = Vocabulary.of([f"e{number}" for number in range(n_entities)])
    return Triples(head, relation, tail, entities, Vocabulary.of([f"r{number}" for number in range(RELATIONS)]))


def kgtrec(collection: Collection, model: Any, depth: int) -> dict[str, float]:
    """The measures, by tiles of the same vectors."""
    E, R = (part().detach().numpy() for part in (model.entity_representations[0], model.relation_representations[0]))

    def queries(anchor: np.ndarray, relation: np.ndarray) -> np.ndarray:
        return E[anchor].astype(np.float64) * R[relation]

    factors = Factors("distmult", collection.entities, collection.relations, E, None, queries, queries)
    ranks = joined(list(grid_of(collection, factors, depth=depth).parts())).answer_ranks
    found = evaluate(collection, ranks, list(MEASURES)).to_frame()
    return dict(zip(found["measure"], found["value"], strict=True))


def timed(name: str, work: Callable[[], dict[str, float]]) -> float:
    """Processor seconds; prints them with the measures."""
    start = time.process_time()
    measures = work()
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    about = ", ".join(f"{measure} {value:.6g}" for measure, value in measures.items())
    print(f"{name:<24}{seconds:>9.1f} s   {about}   (at most {memory:.1f} GiB so far)", flush=True)
    return seconds


def main() -> None:
    """Print both, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=2_500_604)
    parser.add_argument("--dimensions", type=int, default=200)
    parser.add_argument("--train", type=int, default=2_000_000)
    parser.add_argument("--triples", type=int, default=16)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4])
    options = parsed(parser, entities=500, dimensions=4, train=1_000, triples=4, batches=[2])
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    train, test = made_up(options.train, options.entities, 0), made_up(options.triples, options.entities, 1)
    start = time.process_time()
    collection = build_questions(train, Triples.of([]), test)
    print(f"questions built in {time.process_time() - start:.1f} s")
    others, asked = mapped(train, collection), mapped(test, collection)
    factory = CoreTriplesFactory(others, len(collection.entities), len(collection.relations))
    model = DistMult(triples_factory=factory, embedding_dim=options.dimensions, random_seed=0)
    model.eval()
    print(
        f"{len(collection.entities):,} entities x {options.dimensions}, {len(train):,} train triples, "
        f"{len(test):,} test triples, {len(collection.questions):,} questions"
    )
    ours = timed("kgtrec", lambda: kgtrec(collection, model, 0))
    with_run = timed("  and top-100 run", lambda: kgtrec(collection, model, 100))
    theirs = []
    for batch in options.batches:
        clock, start = Stopwatch(torch.device("cpu")), time.perf_counter()
        theirs.append(timed(f"PyKEEN, batch {batch}", lambda: pykeen(model, asked, [others], batch, clock)[1]))  # noqa: B023
        print(f"{'':<24}{clock.seconds / (time.perf_counter() - start):.0%} of it is scoring")
    least = min(theirs)
    print(
        f"PyKEEN takes {least / ours:.1f} times as long as kgtrec, {least / with_run:.1f} times as long as with its run"
    )


if __name__ == "__main__":
    main()
