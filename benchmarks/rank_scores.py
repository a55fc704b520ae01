"""Scores -> answer ranks (and a top-100 run), beyond the matrix product: kgtrec beside one max pass and PyKEEN.

    python benchmarks/rank_scores.py [--rounds 5] [--block 1024] [--triples 20466] [--batch 256]

FB15k-237's questions, filters and a trained system where the data are at hand (KGTREC_DATA), else random ones of that
size: 22,850 questions x 14,541 entities in float32, 40,932 answers. Everything runs in turn over the same blocks, which
are made before the clock starts. Ratios are medians over rounds. PyKEEN (``pip install kgtrec[peers]``) gets its score
rows gathered before the clock starts; what is timed is what its evaluator does with them: filter, ranks, metrics.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sizes import data_folder, parsed

from kgtrec import Collection, Splits, Triples, Vocabulary, build_questions, rank_scores, ranked_blocks, read_triples
from kgtrec.data.identity import entity_places, question_places
from kgtrec.formats.factor_folders import numbered_questions, read_factor_archive
from kgtrec.kernels.ranking.answer_ranks import count_above_and_tied
from kgtrec.kernels.ranking.pairs import Pairs

ENTITIES, RELATIONS, SIZES = 14_541, 237, (272_115, 17_535, 20_466)
Blocks = list[tuple[np.ndarray, np.ndarray]]


def real_splits() -> Splits:
    """FB15k-237."""
    folder = data_folder() / "fb15k-237"
    return Splits.of(*(read_triples(folder / f"{name}.tsv.gz") for name in ("train", "valid", "test")))


def real(block: int) -> tuple[Splits, Collection, Blocks]:
    """FB15k-237 and the scores of a trained system."""
    splits = real_splits()
    collection = build_questions(splits.train, splits.valid, splits.test)
    path = data_folder() / "systems" / "fb15k-237" / "transe.npz"
    model = read_factor_archive(path)
    asked = numbered_questions(path, model.questions, model.entities, model.relations)
    row, column = question_places(collection, asked).place, entity_places(collection, model.entities).place
    E, Q, b = (
        model.E[column].astype(np.float32),
        model.Q[row].astype(np.float32),
        0 if model.b is None else model.b[column],
    )
    firsts = range(0, len(Q), block)
    return splits, collection, [(np.arange(len(Q))[at : at + block], Q[at : at + block] @ E.T + b) for at in firsts]


def made_up_splits() -> Splits:
    """Seeded triples of FB15k-237's size, entities and relations Zipf-like."""
    rng = np.random.default_rng(0)
    entities = Vocabulary.of([f"/m/0{code:05x}" for code in range(ENTITIES)])
    relations = Vocabulary.of([f"/r/{code}" for code in range(RELATIONS)])

    def draw(n: int) -> Triples:
        def skewed(top: int) -> np.ndarray:
            return np.minimum(rng.pareto(0.7, n) * top / 100, top - 1).astype(np.int32)

        return Triples(skewed(ENTITIES), skewed(RELATIONS), skewed(ENTITIES), entities, relations)

    return Splits(*map(draw, SIZES))


def made_up(block: int) -> tuple[Splits, Collection, Blocks]:
    """Seeded triples of FB15k-237's size and the scores of random vectors."""
    splits = made_up_splits()
    rng = np.random.default_rng(1)
    collection = build_questions(splits.train, splits.valid, splits.test)
    vectors = rng.standard_normal((ENTITIES, 100), np.float32)
    questions = rng.standard_normal((len(collection.questions), 100), np.float32)
    spans = range(0, len(questions), block)
    return (
        splits,
        collection,
        [(np.arange(len(questions))[i : i + block], questions[i : i + block] @ vectors.T) for i in spans],
    )


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def exhaust(parts: Iterable[object]) -> None:
    """Take every part and keep none."""
    for _ in parts:
        pass


def count_only(collection: Collection, blocks: Blocks) -> Callable[[], None]:
    """The counting kernel alone, its pairs laid out beforehand."""
    width = len(collection.entities)
    qrels, filtered = collection.qrels, collection.filtered
    answers = qrels.question.astype(np.int64) * width + qrels.entity
    aside = np.union1d(answers, filtered.question.astype(np.int64) * width + filtered.entity)

    def pairs(keys: np.ndarray, rows: np.ndarray) -> Pairs:
        own = keys[np.searchsorted(keys, rows[0] * width) : np.searchsorted(keys, (rows[-1] + 1) * width)]
        return Pairs(own // width - rows[0], own % width)

    laid_out = [(scores, pairs(answers, rows), pairs(aside, rows)) for rows, scores in blocks]
    return lambda: exhaust(count_above_and_tied(*arguments) for arguments in laid_out)


def pykeen_seconds(
    splits: Splits, collection: Collection, blocks: Blocks, n_triples: int, batch: int
) -> tuple[float, float, float]:
    """PyKEEN's time for its filter, for ranks and metrics, and the realistic MRR that it finds."""
    import torch
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_

    entities, relations = collection.entities, collection.relations
    triples = [
        split.recoded(entities=entities, relations=relations) for split in (splits.test, splits.train, splits.valid)
    ]
    stacked = [torch.from_numpy(np.stack([t.head, t.relation, t.tail], axis=1).astype(np.int64)) for t in triples]
    test, positives = stacked[0][:n_triples], torch.cat(stacked)
    evaluator = RankBasedEvaluator(filtered=True)
    whole = np.concatenate([scores for _, scores in blocks])
    filtering = ranking = 0.0
    for start in range(0, len(test), batch):
        triple = test[start : start + batch]
        relation_filter = None
        for target, column in (("tail", 2), ("head", 0)):
            head = np.full(len(triple), target == "head")
            asked = collection.questions.rows(head, triple[:, 1].numpy(), triple[:, 2 - column].numpy())
            scores = torch.from_numpy(whole[asked])
            clock = time.perf_counter()
            positive, relation_filter = create_sparse_positive_filter_(triple, positives, relation_filter, column)
            rows = torch.arange(len(triple))
            true = scores[rows, triple[:, column]]
            scores = filter_scores_(scores=scores, filter_batch=positive)
            scores[rows, triple[:, column]] = true
            filtered = time.perf_counter()
            evaluator.process_scores_(
                hrt_batch=triple, target=target, scores=scores, true_scores=true.unsqueeze(-1), dense_positive_mask=None
            )
            filtering += filtered - clock
            ranking += time.perf_counter() - filtered
    clock = time.perf_counter()
    metrics = evaluator.finalize()
    ranking += time.perf_counter() - clock
    return filtering, ranking, metrics.get_metric("both.realistic.inverse_harmonic_mean_rank")


def main() -> None:
    """Print what each takes, and its ratio to the pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--block", type=int, default=1024, help="questions in a block")
    parser.add_argument(
        "--triples", type=int, default=SIZES[2], help="test triples that PyKEEN gets; its time is scaled"
    )
    parser.add_argument("--batch", type=int, default=256, help="triples in a batch of PyKEEN's")
    options = parsed(parser, rounds=1, block=16)
    has_data = (data_folder() / "systems" / "fb15k-237").is_dir()
    splits, collection, blocks = (real if has_data else made_up)(options.block)
    origin = "FB15k-237, transe" if has_data else "made-up data of FB15k-237's size"
    print(
        f"{origin}: {len(collection.questions):,} questions x {len(collection.entities):,} entities, "
        f"{len(collection.qrels):,} answers, {len(collection.filtered):,} filtered; blocks of {options.block}"
    )
    works: dict[str, Callable[[], object]] = {
        "scores.max(axis=1)": lambda: exhaust(scores.max(axis=1) for _, scores in blocks),
        "counting kernel": count_only(collection, blocks),
        "answer ranks": lambda: exhaust(
            ranked_blocks(collection, blocks, questions=collection, entities=collection, depth=0)
        ),
        "and top-100 run": lambda: exhaust(
            ranked_blocks(collection, blocks, questions=collection, entities=collection, depth=100)
        ),
        "and top-1000 run": lambda: exhaust(
            ranked_blocks(collection, blocks, questions=collection, entities=collection, depth=1000)
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    passes = times["scores.max(axis=1)"]
    print(f"{'':<20}{'seconds':>9}{'x the max pass':>16}")
    for name, taken in times.items():
        ratio = statistics.median(own / base for own, base in zip(taken, passes, strict=True))
        print(f"{name:<20}{statistics.median(taken):>9.3f}{ratio:>16.1f}")
    compare_with_pykeen(splits, collection, blocks, options, statistics.median(times["answer ranks"]))


def compare_with_pykeen(
    splits: Splits, collection: Collection, blocks: Blocks, options: Any, own_seconds: float
) -> None:
    """Print PyKEEN's time as a multiple of ours, and both MRRs."""
    if importlib.util.find_spec("pykeen") is None or importlib.util.find_spec("torch") is None:
        print("PyKEEN is not installed, so it is left out: pip install kgtrec[peers]")
        return
    filtering, ranking, found = pykeen_seconds(splits, collection, blocks, options.triples, options.batch)
    scale = len(splits.test) / min(options.triples, len(splits.test))
    ranks = rank_scores(collection, blocks, questions=collection, entities=collection, depth=0).answer_ranks
    own = float(np.mean(1 / (ranks.above + 1 + ranks.tied / 2)))
    for name, taken in (("PyKEEN's evaluator", filtering + ranking), ("  without its filter", ranking)):
        print(f"{name:<20}{taken * scale:>9.3f}{taken * scale / own_seconds:>16.1f} x the answer ranks")
    print(f"micro MRR: {own:.6f}, PyKEEN's {found:.6f}" + ("" if scale == 1 else " (of the triples that it got)"))


if __name__ == "__main__":
    main()
