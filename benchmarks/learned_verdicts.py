"""What predicting verdicts from runs and train facts is worth, alone and for estimates from a sample.

    python benchmarks/learned_verdicts.py [--samples 20] [--halves 10] [--share 0.2] [--seed 0]

The worlds are the published labels of FB15k-237 (KGTREC_DATA) with the positions of the eight systems in
examples/fb15k-237 as runs, and family trees of 500 and 2,000 people with the six baselines as runs. Printed are what
`kgtrec campaign learn` says of all published labels; its log loss beside that of gradient boosting (scikit-learn) on
held-out questions, from some verdicts on random halves of the questions; and what it does to estimates from two-level
samples of the published labels: mean half-width, 1.96 standard deviations, bias with its standard error, and coverage
of the 95% intervals, means over the systems.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sizes import data_folder, parsed
from sklearn.ensemble import HistGradientBoostingClassifier

from kgtrec import Collection, evaluate
from kgtrec.campaign import (
    Assignments,
    Automatic,
    Campaign,
    Judgements,
    People,
    decide,
    learn,
    question_level,
    read_campaign,
    sampled_qrels,
)
from kgtrec.campaign.features import triple_features
from kgtrec.collection import build_questions
from kgtrec.data.arrow import labels_of
from kgtrec.data.pool import Pool
from kgtrec.data.questions import completed_rows
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.evaluation.sampled import estimated_scores
from kgtrec.evaluation.scoring import Scoring
from kgtrec.formats.collections import read_collection
from kgtrec.kernels.statistics.logistic import expit, penalised_logistic
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.pooling import draw_design, pool_runs
from kgtrec.pooling.pool_runs import known_answers_of
from kgtrec.ranking.rank import rank_scores
from kgtrec.report.show import shown
from kgtrec.systems.baselines import baseline_blocks, baselines_of

ROOT = Path(__file__).parents[1]
MEASURES = ("nDCG@20", "AP@20", "macro.MRR", "P@10", "micro.MRR")
DEPTH, MOST_QUESTIONS = 10, 3000
FAMILIES = {"transe": "translation", "rotate": "translation"}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A campaign in which everything is judged, its collection, and the systems."""

    campaign: Campaign
    collection: Collection
    systems: list[Any]

    @property
    def label(self) -> Floats:
        """(n,) of each triple; NaN: judged by a rule."""
        own = self.campaign
        verdict = decide(own.pool, own.automatic, own.judgements, per_triple=1).verdict
        return np.where(own.automatic.is_automatic | (verdict < 0), np.nan, verdict)


def published(folder: Path) -> World:
    """The published labels; what no system has among its first candidates stays as the authors pooled it."""
    data, C, L = data_folder(), folder / "C", folder / "L"
    for words in (
        ("questions", data / "fb15k-237", "--out", C),
        ("campaign", "import-kgc-sparsity", data / "kgc-sparsity", "--topics", C / "topics.tsv", "--out", L),
    ):
        subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)
    campaign = read_campaign(L)
    pool = campaign.pool
    asked = pool.questions
    qrels = question_level(
        pool, campaign.known_answers, decide(pool, campaign.automatic, campaign.judgements, per_triple=1)
    )
    is_head, anchor, entity = asked.is_head[qrels.question], asked.anchor[qrels.question], qrels.entity
    triple = pool.rows(
        np.where(is_head, entity, anchor), asked.relation[qrels.question], np.where(is_head, anchor, entity)
    )
    pairs = pd.DataFrame(
        {"question": asked.ids.decode(qrels.question).to_pylist(), "entity": asked.entities.decode(entity).to_pylist()}
    )
    systems = sorted((ROOT / "examples/fb15k-237/ranks").glob("*.parquet"))
    columns = [(pool.triple, pool.question, np.zeros(len(pool.triple), np.int32), pool.rank)]
    for run, path in enumerate(systems, 1):
        ranks = pairs.merge(pd.read_parquet(path), how="left", on=["question", "entity"], validate="1:1")
        is_answer = ranks.answer.to_numpy(bool)
        # a rank is counted without the other test answers, which are in the list
        test = ranks[is_answer].groupby("question").score.apply(np.sort)
        better = [
            len(test[name]) - np.searchsorted(test[name], score, side="right") if name in test.index else 0
            for name, score in zip(ranks.question, ranks.score, strict=True)
        ]
        position = 1 + ranks.above.to_numpy() + np.array(better)
        kept = np.flatnonzero((position <= DEPTH) & (triple >= 0))
        columns.append((triple[kept], qrels.question[kept], np.full(len(kept), run), position[kept]))
    of, question, run, rank = (np.concatenate(parts).astype(np.int32) for parts in zip(*columns, strict=True))
    kept = (run > 0) | ~np.isin(of, of[run > 0])
    names = ["published", *(path.name.partition(".")[0] for path in systems)]
    whole = Pool.of(pool.triples, of[kept], question[kept], run[kept], rank[kept], names, pool.questions)
    return World(replace(campaign, pool=whole), read_collection(C), systems)


def family(people: int) -> World:
    """A family tree of which a quarter of the hidden facts is known."""
    tree = family_tree(people)
    hidden = hide_facts(tree.facts, hidden=0.3, density=0.25)
    collection = build_questions(hidden.splits.train, hidden.splits.valid, hidden.splits.test)
    options: dict[str, Any] = {"questions": collection, "entities": collection, "depth": 100}
    runs = [
        rank_scores(collection, baseline_blocks(record.name, collection), name=record.name, **options).run
        for record in baselines_of("all")
    ]
    rows = np.sort(np.random.default_rng(0).permutation(len(collection.questions))[:MOST_QUESTIONS]).astype(np.int32)
    pool = pool_runs(collection, runs, depth=DEPTH, questions=rows)
    facts = tree.facts.recoded(entities=pool.questions.entities, relations=pool.questions.relations)
    verdict = np.isin(pool.triples.keys(), facts.keys()).astype(np.int8)
    n, who, text = len(pool), Vocabulary.of(["ann"]), labels_of([""] * len(pool))
    zero = np.zeros(n, np.int32)
    judged = Judgements(np.arange(n, dtype=np.int32), zero, zero.astype(np.int8), verdict, text, text, text, who)
    known, settings = known_answers_of(pool, collection), {"annotators_per_triple": 1}
    nobody = Assignments.none(who)
    campaign = Campaign(pool, known, Automatic.none(n), People.none(), nobody, judged, settings=settings)
    return World(campaign, collection, runs)


def fitted(x: Floats, relation: NDArray[np.intp], label: Floats, used: NDArray[np.intp], ridge: float) -> Floats:
    """Log odds by the model of `kgtrec campaign learn`; an infinite ridge is no effect of relations."""
    mean, spread = x[used].mean(axis=0), x[used].std(axis=0)
    scaled = np.column_stack([(x - mean) / np.where(spread > 1e-9, spread, np.inf), np.ones(len(x))])
    penalty, group = np.append(np.full(x.shape[1], 10.0), 0.0), relation if ridge < np.inf else np.full(len(x), -1)
    found, effect = penalised_logistic(
        scaled[used], label[used], np.ones(len(used)), penalty, group[used], int(relation.max()) + 1, min(ridge, 1e9)
    )
    return expit(scaled @ found + effect[relation])


def boosted(x: Floats, relation: NDArray[np.intp], label: Floats, used: NDArray[np.intp], depth: int) -> Floats:
    """The same by gradient boosting, with the relation as a number."""
    model = HistGradientBoostingClassifier(
        max_depth=depth, learning_rate=0.05, min_samples_leaf=40, l2_regularization=1.0, random_state=0
    )
    both = np.column_stack([x, relation])
    return model.set_params(early_stopping=False).fit(both[used], label[used]).predict_proba(both)[:, 1]


MODELS: dict[str, Callable[..., Floats]] = {
    "learn": lambda *given: fitted(*given, 2.5),
    "without relations": lambda *given: fitted(*given, np.inf),
    "boosting, depth 3": lambda *given: boosted(*given, 3),
    "boosting, depth 6": lambda *given: boosted(*given, 6),
    "share of Y": lambda x, _, label, used: np.full(len(x), label[used].mean()),
}


def compare(name: str, world: World, sizes: tuple[int, ...], halves: int, seed: int) -> None:
    """Print the log loss on held-out questions, and how much higher it is than that of `kgtrec campaign learn`."""
    pool, label = world.campaign.pool, world.label
    x = np.stack(list(triple_features(world.campaign, world.collection, FAMILIES).values()), axis=1)
    relation = np.unique(pool.triples.relation, return_inverse=True)[1]
    question, _, row = completed_rows(pool.questions, pool.triples)
    for size in sizes:
        losses: dict[str, list[float]] = {model: [] for model in MODELS}
        for half in range(halves):
            rng = np.random.default_rng([seed, half])
            is_train = rng.random(len(pool.questions)) < 0.5
            n_train, n = (np.bincount(row, weight, len(pool)) for weight in (is_train[question], None))
            used = rng.permutation(np.flatnonzero((n_train == n) & ~np.isnan(label)))[:size]
            held = np.flatnonzero((n_train == 0) & ~np.isnan(label))
            for model, fit in MODELS.items():
                p = np.clip(fit(x, relation, label, used)[held], 1e-6, 1 - 1e-6)
                losses[model].append(-np.log(np.where(label[held] == 1, p, 1 - p)).mean())
        for model, values in losses.items():
            off = np.array(values) - losses["learn"]
            error = off.std(ddof=1) / np.sqrt(halves) if halves > 1 else np.nan
            print(f"{name:12} {len(used):6,} {model:18} {np.mean(values):.4f}  {off.mean():+.4f} ({error:.4f})")


def replay(world: World, share: float, samples: int, seed: int) -> None:
    """Print what is learnt from samples does to the estimates from them."""
    own, options = world.campaign, Scoring(ties="nondeterministic")
    measures = MEASURES if isinstance(world.systems[0], Path) else MEASURES[:-1]  # which a cut run has no ranks for
    whole = question_level(own.pool, own.known_answers, decide(own.pool, own.automatic, own.judgements, per_triple=1))
    truth = evaluate(whole, world.systems, measures, ties="nondeterministic").values[:, :, 0]
    design = draw_design(own.pool, own.known_answers, own.automatic, share=share, seed=seed)
    questions, n_opened = np.unique(design.question), len(np.unique(design.question[design.is_opened]))
    found, quality = [], []
    for sample in range(samples):  # the rates are those of every seed
        rng = np.random.default_rng([seed, sample])
        opened = np.isin(design.question, rng.permutation(questions)[:n_opened])
        drawn = opened & (rng.random(len(design)) < design.pi / design.theta)
        one = replace(design, is_opened=opened, is_drawn=drawn)
        campaign = replace(own, design=one, automatic=own.automatic.with_design(one))
        learned = learn(campaign, world.collection, FAMILIES, resamples=2)
        quality.append(learned.report["learned"]["value"].to_pylist())
        for machine in (None, learned.verdicts):
            scores = estimated_scores(sampled_qrels(campaign, machine), world.systems, measures, 0.95, options)
            found.append([values[:, :, 0] for values in (scores.values, scores.low, scores.high)])
    print(f"\n{samples} samples: mean AUC {np.mean(quality, axis=0)[0]:.3f}, phi {np.mean(quality, axis=0)[1]:.3f}")
    print("measure    predicted    half-width  1.96 SD     bias (error)   coverage")
    value, low, high = np.array(found).reshape(samples, 2, 3, *truth.shape).transpose(2, 1, 0, 3, 4)
    for place, measure in enumerate(measures):
        for name, v, a, b in zip(("share of Y", "learned"), value, low, high, strict=True):
            off, half = (v - truth)[..., place], (b - a)[..., place].mean() / 2
            spread, is_in = off.std(axis=0).mean(), ((a <= truth) & (truth <= b))[..., place].mean()
            bias = f"{off.mean():+.4f} ({off.mean(axis=1).std() / np.sqrt(samples):.4f})"
            print(f"{measure:10} {name:12} {half:10.4f} {1.96 * spread:8.4f}  {bias}  {is_in:9.3f}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--halves", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, samples=2, halves=1, share=0.5)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        worlds = {"family": family(40)} if options.smallest else {"published": published(Path(folder))}
    if not options.smallest:
        worlds |= {"family 500": family(500), "family 2000": family(2000)}
    first = next(iter(worlds.values()))
    print(shown(learn(first.campaign, first.collection, FAMILIES).report, "table", ("learned", "features")))
    print("world        verdicts model           log loss  above that of learn (standard error)")
    for name, world in worlds.items():
        compare(name, world, (200,) if options.smallest else (1250, 2500, 6000), options.halves, options.seed)
    replay(first, options.share, options.samples, options.seed)


if __name__ == "__main__":
    main()
