"""A torch model -> answer ranks and measures, beyond its own scoring: kgtrec beside PyKEEN's evaluator, on one device.

    python benchmarks/rank_torch.py [--device cuda] [--model DistMult] [--triples 20466] [--rounds 3]

Both rank the same PyKEEN model, with random weights, on a sample of FB15k-237's test triples (KGTREC_DATA), or of
made-up triples of that size, filtered by train, valid and the sample. Scoring is timed inside each run and subtracted,
the device being waited for before and after, so that what is left is filters, ranks, MRR, MR and Hits@10. PyKEEN scores
each triple from both sides and kgtrec each question once; what that saves is in the times with scoring. PyKEEN gets
each of the batch sizes, and its fastest counts. Times are medians over rounds. kgtrec's questions are built once for
all systems, and are timed apart. A GPU gets all test triples, in larger batches and blocks.
PyKEEN comes with ``pip install kgtrec[peers]``.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from rank_scores import made_up_splits, real_splits
from sizes import data_folder, parsed

from kgtrec import Collection, Triples, build_questions, evaluate, rank_scores

try:
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import model_resolver
    from pykeen.triples import CoreTriplesFactory
except ImportError as missing:
    sys.exit(f'{missing}; install PyKEEN and torch: pip install "kgtrec[peers]"')

# PyKEEN's name of each of our measures
MEASURES = {
    "micro.MRR": "both.realistic.inverse_harmonic_mean_rank",
    "micro.MR": "both.realistic.arithmetic_mean_rank",
    "micro.Hits@10": "both.realistic.hits_at_10",
}
# test triples, batch sizes of PyKEEN's, questions in a block of kgtrec's: what fits, and ends within two minutes
DEFAULTS = {"cpu": (1024, [32, 256], 256), "gpu": (20_466, [256, 2048], 2048)}


@dataclass
class Stopwatch:
    """Seconds of the calls that it wraps, the device being waited for on both sides."""

    device: torch.device
    seconds: float = 0.0

    def timed(self, work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What the call gives; its time is added."""
        self.wait()
        start = time.perf_counter()
        found = work(*arguments, **options)
        self.wait()
        self.seconds += time.perf_counter() - start
        return found

    def wait(self) -> None:
        """Wait until the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def sampled(triples: Triples, n: int) -> Triples:
    """Some of the triples, chosen by a seed."""
    chosen = np.random.default_rng(0).permutation(len(triples))[:n]
    return Triples(
        triples.head[chosen], triples.relation[chosen], triples.tail[chosen], triples.entities, triples.relations
    )


def mapped(triples: Triples, collection: Collection) -> torch.Tensor:
    """(n, 3) in the collection's codes."""
    own = triples.recoded(entities=collection.entities, relations=collection.relations)
    return torch.from_numpy(np.stack([own.head, own.relation, own.tail], axis=1).astype(np.int64))


def pykeen(
    model: Any, test: torch.Tensor, others: list[torch.Tensor], batch: int, clock: Stopwatch
) -> tuple[float, dict[str, float]]:
    """Seconds of PyKEEN's evaluator, scoring included, and its measures."""
    evaluator = RankBasedEvaluator(
        metrics=["mrr", "mr", "hits_at_k"], metrics_kwargs=[None, None, {"k": 10}], add_defaults=False
    )
    scoring = model.predict
    model.predict = lambda *arguments, **options: clock.timed(scoring, *arguments, **options)
    whole = Stopwatch(clock.device)
    results = whole.timed(
        evaluator.evaluate, model, test, batch_size=batch, additional_filter_triples=others, use_tqdm=False
    )
    del model.predict
    return whole.seconds, {own: results.get_metric(theirs) for own, theirs in MEASURES.items()}


def blocks(
    model: Any, collection: Collection, size: int, clock: Stopwatch
) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
    """(rows, scores) of all questions, scores on the model's device."""
    questions = collection.questions
    pairs = torch.from_numpy(np.stack([questions.anchor, questions.relation], axis=1).astype(np.int64))
    for is_head in (True, False):
        rows = np.flatnonzero(questions.is_head == is_head)
        for first in range(0, len(rows), size):
            block = rows[first : first + size]
            asked = pairs[torch.from_numpy(block)].to(model.device)
            if is_head:
                yield block, clock.timed(model.predict_h, asked.flip(1))
            else:
                yield block, clock.timed(model.predict_t, asked)


def kgtrec(
    model: Any, collection: Collection, block: int, depth: int, clock: Stopwatch
) -> tuple[float, dict[str, float]]:
    """Seconds of kgtrec, scoring included, and its measures."""

    def work() -> dict[str, float]:
        scores = blocks(model, collection, block, clock)
        ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=depth).answer_ranks
        found = evaluate(collection, ranks, list(MEASURES)).to_frame()
        return dict(zip(found["measure"], found["value"], strict=True))

    whole = Stopwatch(clock.device)
    measures = whole.timed(work)
    return whole.seconds, measures


def main() -> None:
    """Print both times, with scoring and without, and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--model", default="DistMult", help="a model of PyKEEN")
    parser.add_argument("--dim", type=int, default=32, help="length of the model's vectors")
    parser.add_argument("--triples", type=int, help="test triples, at most 20,466")
    parser.add_argument("--batches", type=int, nargs="+", help="triples in a batch of PyKEEN's")
    parser.add_argument("--block", type=int, help="questions in a block of kgtrec's")
    parser.add_argument("--rounds", type=int, default=2)
    options = parsed(parser, device="cpu", dim=4, triples=8, batches=[4], block=8, rounds=1)
    logging.disable(logging.WARNING)
    device = torch.device(options.device)
    triples, batches, block = DEFAULTS["cpu" if device.type == "cpu" else "gpu"]
    batches, block = options.batches or batches, options.block or block
    has_data = (data_folder() / "fb15k-237").is_dir()
    splits = (real_splits if has_data else made_up_splits)()
    test = sampled(splits.test, options.triples or triples)
    start = time.perf_counter()
    collection = build_questions(splits.train, splits.valid, test)
    built = time.perf_counter() - start
    others = [mapped(split, collection) for split in (splits.train, splits.valid)]
    factory = CoreTriplesFactory(others[0], len(collection.entities), len(collection.relations))
    model = model_resolver.make(
        options.model, triples_factory=factory, embedding_dim=options.dim, random_seed=0, loss="softplus"
    ).to(device)
    model.eval()
    what = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    print(
        f"{'FB15k-237' if has_data else 'made-up data of its size'}, {options.model} on {device} ({what}): "
        f"{len(test):,} test triples, {len(collection.questions):,} questions x {len(collection.entities):,} entities; "
        f"questions built in {built:.2f} s"
    )
    asked = mapped(test, collection)
    works: dict[str, Callable[[Stopwatch], tuple[float, dict[str, float]]]] = {
        "kgtrec": lambda clock: kgtrec(model, collection, block, 0, clock),
        "  and top-100 run": lambda clock: kgtrec(model, collection, block, 100, clock),
        "  and top-1000 run": lambda clock: kgtrec(model, collection, block, 1000, clock),
    }
    for batch in batches:
        works[f"PyKEEN, batch {batch}"] = lambda clock, batch=batch: pykeen(model, asked, others, batch, clock)
    compare(works, device, options.rounds)


def compare(
    works: dict[str, Callable[[Stopwatch], tuple[float, dict[str, float]]]], device: torch.device, rounds: int
) -> None:
    """Run all in turn and print medians; the ratio is PyKEEN's fastest batch size to kgtrec's answer ranks."""
    beyond: dict[str, list[float]] = {name: [] for name in works}
    totals: dict[str, list[float]] = {name: [] for name in works}
    measures = {}
    for _ in range(rounds + 1):
        for name, work in works.items():
            clock = Stopwatch(device)
            total, measures[name] = work(clock)
            totals[name].append(total)
            beyond[name].append(total - clock.seconds)
    print(f"{'':<22}{'seconds':>9}{'beyond scoring':>16}{'MRR':>12}{'MR':>10}{'Hits@10':>10}")
    for name in works:
        # the first round warms up
        total, own = (statistics.median(taken[name][1:]) for taken in (totals, beyond))
        mrr, mr, hits = (measures[name][measure] for measure in MEASURES)
        print(f"{name:<22}{total:>9.3f}{own:>16.3f}{mrr:>12.7f}{mr:>10.2f}{hits:>10.6f}")
    peers = [name for name in works if name.startswith("PyKEEN")]
    best = min(peers, key=lambda name: statistics.median(beyond[name][1:]))
    for what, taken in (("beyond scoring", beyond), ("scoring included", totals)):
        ratio = statistics.median(
            theirs / own for theirs, own in zip(taken[best][1:], taken["kgtrec"][1:], strict=True)
        )
        print(f"{what}: {best} takes {ratio:.1f}x the time of kgtrec")


if __name__ == "__main__":
    main()
