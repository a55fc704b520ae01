"""What the verdicts on a designed share of a pool say of the whole pool: half-widths, bias and coverage of intervals.

    python benchmarks/judged_share.py WORLD [--share 0.2 0.1] [--replications 300] [--strategy whole-questions] [--grid]
    python benchmarks/judged_share.py WORLD --machine random perfect [--as-is]

Three worlds, in which the whole pool's labels are known:

- published: the labels that Zhou et al. (2022) had 12,570 triples of FB15k-237 judged for (KGTREC_DATA), and the ranks
  of eight systems in examples/fb15k-237. The pool's contributions are made from these ranks down to 10; triples that
  none of the eight has there count as pooled by one more run, at the best rank that one of the eight gives them.
- demo: the campaign of `kgtrec demo`, with the truth of its family tree of 200 people.
- family: a family tree of 2,000 people, pooled to depth 10 from three baselines and five copies of the truth with
  noise, which rank the true answers and what the three have first.

In each replication another design is drawn, the true labels of what is drawn are revealed, and estimates are compared
with the whole pool's values. The tables show, for the systems' values and for the differences of all pairs (of orders
one and two), the mean half-width of the 95% intervals, 1.96 standard deviations of the estimates, the largest bias of a
system or pair in its mean half-widths, in these replications and exactly (the expectation over all samples under the
predictions of one), the mean and the lowest coverage, and how many have a coverage that is significantly below .93
(exact test, one-sided, p < .05, Holm's method over the measure's systems or pairs); then the share of pairs that differ
significantly with the wrong sign, and Kendall's tau between estimated and true values over all pairs and over those
that differ by at least .005.

With --machine, unjudged triples are predicted with a machine's verdicts too, which are made up anew in each
replication. Above its tables is the number of replications in which the machine is shown to have skill; in the others
it is left out. The machines:

- none: there is no machine.
- random: Y or N by a fair coin, with a probability of .9 or .1.
- yes: Y to 98% of the true triples and 97% of the false ones; probabilities from .5 to 1 for Y, from 0 to .5 for N.
- one-system: Y (.9) to what the first system has at its first five ranks, N (.1) to all else.
- useless: N to all, with a random probability from 0 to .5.
- perfect: the truth, with a probability of .99 or .01.
- calibrated: a probability that is right (AUC .85), Y from .5.
- favouring: the same, but Y (.9) to what the first system has at its first five ranks.

With --as-is the prediction is the machine's probability itself, which kgtrec does not do: to show why.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sizes import data_folder, parsed

import kgtrec
from kgtrec.campaign import question_level, read_campaign, sampled_qrels
from kgtrec.campaign.decide import decisions_of
from kgtrec.cli.demo_steps import POOLED, make_world, write_demo_campaign
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
from kgtrec.data.judgements import Judgements
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.pool import Pool
from kgtrec.data.sampled_qrels import SampledQrels
from kgtrec.data.triples import Triples, label_hashes
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.evaluation import sampled
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.prepared import prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.kernels.lists.credit import Credit
from kgtrec.kernels.sampling.random_order import hashed
from kgtrec.kernels.sampling.uncertain_labels import LabelEstimates, Lists, expansion
from kgtrec.kernels.statistics.logistic import expit
from kgtrec.openworld.family_tree import family_tree, hide_facts
from kgtrec.pooling import designs, draw_design
from kgtrec.pooling.pool_runs import known_answers_of
from kgtrec.systems.baselines import baseline_blocks

ROOT = Path(__file__).parents[1]
MEASURES = ("nDCG@20", "AP@20", "macro.MRR", "P@10", "micro.MRR")
DEPTH, APART, LEAST = 10, 0.005, 0.93
#: what a design is chosen from: share of the questions in shares of the triples, floor, prior
GRID = (
    *((opened, 0.3, 0.15) for opened in (1.5, 2.0, 2.5, 3.0, 4.0)),
    *((2.5, floor, 0.15) for floor in (0.1, 0.2, 0.5, 0.8)),
    *((2.5, 0.3, prior) for prior in (0.05, 0.3)),
)
NOISY = (
    (0.5, 0.0),
    (0.9, 0.7),
    (1.3, 0.7),
    (1.35, 0.7),
    (2.0, 0.3),
)  # how far truth is above noise, and what is shared
Floats = NDArray[np.float64]


class Replay:
    """A campaign whose labels are all known, and systems at fixed positions."""

    def __init__(self, campaign: Campaign, systems: Any):
        self.campaign = campaign
        qrels = question_level(campaign.pool, campaign.known_answers, decisions_of(campaign))
        inputs = prepared(qrels, systems, MEASURES, Scoring(ties="nondeterministic"))
        sample = sampled_qrels(self.drawn(in_full(campaign)))
        self.vocabularies = {"questions": inputs.qrels.questions, "entities": inputs.qrels.entities}
        sample = self.coded(sample)
        names, position = [], []
        for system in inputs.systems:
            matched = match(system, inputs.qrels, inputs.scoring.ties, inputs.scoring.seed)
            names.append(matched.name)
            position.append(sampled._positions(matched, sample, inputs))
        self.names, self.position = tuple(names), np.array(position)
        self.measures = inputs.measures
        self.credits = [sampled._credit_of(measure) for measure in inputs.measures]
        verdict = np.where(sample.is_uncertain, sample.label, sample.prediction)
        whole = replace(
            sample, label=verdict, rate=np.ones(len(sample)), prediction=verdict, is_opened=sample.is_uncertain
        )
        self.label, self.truth = verdict, self.estimates(whole).levels()[0]

    def drawn(self, design: designs.Design) -> Campaign:
        """The campaign if people judge this sample."""
        automatic = self.campaign.automatic.with_design(design)
        return replace(self.campaign, design=design, automatic=automatic)

    def coded(self, sample: SampledQrels) -> SampledQrels:
        sample = sample.recoded(**self.vocabularies)
        return sample.take(np.lexsort((sample.entity, sample.question)))

    def estimates(self, sample: SampledQrels) -> sampled.SampleEstimates:
        """The same as `kgtrec.evaluation.sampled.sample_estimates`, without reading and ranking again."""
        return sampled._at_positions(self.names, self.position, sample, self.measures, self.credits)

    def judged(self, options: argparse.Namespace, share: float, seed: int) -> Campaign:
        """The campaign if people judge a sample of a share."""
        own = self.campaign
        parts = own.pool, own.known_answers, own.automatic
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.drawn(draw_design(*parts, strategy=options.strategy, share=share, seed=seed))

    def sample(self, options: argparse.Namespace, judged: Campaign, seed: int, machine: str = "none") -> SampledQrels:
        """What is judged of a design, with predictions."""
        own = self.campaign
        said = MACHINES[machine](own.pool, decisions_of(own).verdict == 1, np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = sampled_qrels(judged, None if options.as_is else said)
        if options.as_is and said is not None:
            asked = own.pool.questions.triples(sample.question, sample.entity)
            given = said.probability[own.pool.rows(*parts_of(asked))]
            sample = replace(sample, prediction=np.where(sample.is_uncertain, given, sample.prediction))
        return self.coded(sample if options.prediction == "ranks" else by_shares(sample))

    def once(self, options: argparse.Namespace, share: float, seed: int) -> list[tuple[Floats, ...]]:
        """For each machine the estimates and half-widths, and whether the machine is used.

        (systems, measures) of levels, and (pairs, measures) by order one, and two.
        """
        judged = self.judged(options, share, seed)
        parts: dict[bytes, list[Floats]] = {}  # the same predictions give the same
        found = []
        plain = self.sample(options, judged, seed).prediction.tobytes()
        for machine in options.machine:
            sample = self.sample(options, judged, seed, machine)
            prediction = sample.prediction.tobytes()
            if prediction not in parts:
                both = self.estimates(sample)
                pairs = [each.differences()[:2] for each in (first_order(both), both)]
                scale = 1, both.quantile(0.95)
                parts[prediction] = [
                    part * by for each in (both.levels(), *pairs) for part, by in zip(each, scale, strict=True)
                ]
            found.append((*parts[prediction], np.array(prediction != plain)))
        return found

    def bias(self, options: argparse.Namespace, share: float, machine: str) -> tuple[Floats, ...]:
        """The exact bias under the predictions of one sample: of levels, and of pairs by order one, and two."""
        sample = self.sample(options, self.judged(options, share, options.seed), options.seed, machine)
        whole = replace(sample, label=self.label, is_opened=sample.is_uncertain)
        with mock.patch.object(sampled, "label_estimates", around_the_mean):
            found = self.estimates(whole)
        apart = np.subtract(*(self.truth[rows] for rows in np.triu_indices(len(self.names), 1)))
        pairs = [each.differences()[0] - apart for each in (first_order(found), found)]
        return found.levels()[0] - self.truth, *pairs


def first_order(found: sampled.SampleEstimates) -> sampled.SampleEstimates:
    """The same without the second order."""
    orders = found.orders.copy()
    orders[:, :, 2] = 0.0
    return replace(found, orders=orders)


def around_the_mean(
    lists: Lists, prediction: Floats, label: Floats, rate: Floats, measures: Sequence[Credit]
) -> LabelEstimates:
    """What the estimates are on average over all samples."""
    label = np.where(np.isnan(label), prediction, label)
    middle = prediction + rate * (label - prediction)
    orders = expansion(lists, middle, label - middle, measures)
    return LabelEstimates(orders, np.zeros((len(measures), *label.shape)))


def in_full(campaign: Campaign) -> designs.Design:
    """All triples of all questions."""
    parts = campaign.pool, campaign.known_answers, campaign.automatic
    return draw_design(*parts, strategy="whole-questions", share=1.0)


def by_shares(sample: SampledQrels) -> SampledQrels:
    """Predict every label by the share of Y among the verdicts in other folds."""
    fold = (hashed(0, label_hashes(sample.questions)) % np.uint64(10)).astype(np.intp)[sample.question]
    weight = np.where(sample.judged, 1.0 / sample.rate, 0.0)
    judged, yes = (np.bincount(fold, part, 10) for part in (weight, weight * np.nan_to_num(sample.label)))
    share = ((yes.sum() - yes + 0.5) / (judged.sum() - judged + 1.0))[fold]
    return replace(sample, prediction=np.where(sample.is_uncertain, share, sample.prediction))


def published() -> Replay:
    """The published labels, in a pool of eight systems' first ranks."""
    with tempfile.TemporaryDirectory() as work:
        collection, campaign = Path(work, "C"), Path(work, "L")
        data = data_folder()
        for words in (
            ("questions", data / "fb15k-237", "--out", collection),
            (
                "campaign",
                "import-kgc-sparsity",
                data / "kgc-sparsity",
                "--topics",
                collection / "topics.tsv",
                "--out",
                campaign,
            ),
        ):
            subprocess.run([sys.executable, "-m", "kgtrec", *map(str, words)], check=True, capture_output=True)
        own = read_campaign(campaign)
    systems = sorted(map(str, (ROOT / "examples/fb15k-237/ranks").glob("*.ranks.parquet")))
    replay = Replay(own, systems)
    return Replay(replace(own, pool=pool_of(replay)), systems)


def pool_of(replay: Replay) -> Pool:
    """The campaign's triples as the systems pooled them."""
    own = replay.campaign.pool
    design = in_full(replay.campaign)
    sample = replay.coded(sampled_qrels(replay.drawn(design)))
    question = own.questions.ids.encode(sample.questions.labels)[sample.question]
    entity = own.questions.entities.encode(sample.entities.labels)[sample.entity]
    triple = own.rows(*parts_of(own.questions.triples(question, entity)))
    run, pair = np.nonzero((replay.position <= DEPTH) & (triple >= 0))
    best = replay.position.min(axis=0)
    others = np.flatnonzero((triple >= 0) & ~np.isin(triple, triple[pair]))
    rank = np.r_[replay.position[run, pair], np.minimum(best[others], 1000)]
    run, pair = np.r_[run, np.full(len(others), len(replay.names))], np.r_[pair, others]
    lacking = np.setdiff1d(np.arange(len(own)), triple[pair])  # judged by a rule
    at = np.flatnonzero(np.isin(own.triple, lacking))
    columns = (
        np.r_[triple[pair], own.triple[at]],
        np.r_[question[pair], own.question[at]],
        np.r_[run, np.full(len(at), len(replay.names))],
        np.r_[rank, own.rank[at]],
    )
    return Pool.of(
        own.triples, *(part.astype(np.int32) for part in columns), (*replay.names, "published"), own.questions
    )


def demo() -> Replay:
    """The campaign of `kgtrec demo`."""
    tree, world = make_world(seed=0)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "annotation")
        write_demo_campaign(folder)
        own = read_campaign(folder)
    collection = kgtrec.build_questions(*(getattr(world.splits, name) for name in ("train", "valid", "test")))
    return closed(own, tree.facts, collection, scores_of(collection))


def family(people: int = 2000, labels: int = 200) -> Replay:
    """A family tree, pooled from baselines and from noisy copies of the truth."""
    tree = family_tree(people, 1)
    hidden = 0.3
    world = hide_facts(tree.facts, hidden=hidden, density=min(1.0, labels / (hidden * len(tree.facts))), seed=1)
    splits = world.splits
    collection = kgtrec.build_questions(splits.train, splits.valid, splits.test)
    scores = scores_of(collection, ("inverse", "neighbours", "rules"))
    asked, rng = collection.questions, np.random.default_rng(0)
    n, width = len(asked), len(asked.entities)
    rows, columns = (part.ravel().astype(np.int32) for part in np.indices((n, width)))
    is_true = is_fact(asked.triples(rows, columns), tree.facts).reshape(n, width)
    shared = rng.normal(size=is_true.shape)
    # among the true answers and what the other systems have first
    is_near = is_true.copy()
    for score in scores.values():
        np.put_along_axis(is_near, np.argpartition(-score, DEPTH, axis=1)[:, :DEPTH], True, axis=1)
    for row, (above, share) in enumerate(NOISY):
        noise = np.sqrt(share) * shared + np.sqrt(1 - share) * rng.normal(size=is_true.shape)
        scores[f"noisy-{row}"] = above * is_true + noise + 20.0 * is_near
    runs = [ranked(collection, name, score, depth=50).run for name, score in scores.items()]
    pool = kgtrec.pooling.pool_runs(collection, runs, depth=DEPTH)
    campaign = Campaign(
        pool,
        known_answers_of(pool, collection),
        Automatic.none(len(pool)),
        People.none(),
        Assignments.none(Vocabulary.of([])),
        Judgements.none(),
    )
    return closed(campaign, tree.facts, collection, scores)


def parts_of(triples: Triples) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Head, relation and tail."""
    return triples.head, triples.relation, triples.tail


def is_fact(triples: Triples, facts: Triples) -> NDArray[np.bool_]:
    """Which triples are true."""
    return np.isin(triples.keys(), facts.recoded(entities=triples.entities, relations=triples.relations).keys())


def scores_of(collection: kgtrec.Collection, names: Sequence[str] = POOLED) -> dict[str, Floats]:
    """(questions, entities) of baselines."""
    scores = {}
    for name in names:
        scores[name] = np.zeros((len(collection.questions), len(collection.entities)))
        for rows, block in baseline_blocks(name, collection):
            scores[name][rows] = block
    return scores


def ranked(collection: kgtrec.Collection, name: str, scores: Floats, **options: Any) -> Any:
    """Ranks and run of scores."""
    return kgtrec.rank_scores(collection, scores, questions=collection, entities=collection, name=name, **options)


def closed(campaign: Campaign, facts: Triples, collection: kgtrec.Collection, scores: dict[str, Floats]) -> Replay:
    """A campaign whose every triple is judged by the truth."""
    pool = campaign.pool
    frame = pool.triples.to_frame().assign(annotator="truth", time="2026-01-01T00:00:00Z")
    frame["verdict"] = np.where(is_fact(pool.triples, facts), "Y", "N")
    frame = frame[~campaign.automatic.is_automatic]
    settings = {**campaign.settings, "annotators_per_triple": 1}
    campaign = replace(campaign, judgements=Judgements.from_frame(frame, pool), settings=settings)
    qrels = question_level(pool, campaign.known_answers, decisions_of(campaign))
    systems = [ranked(collection, name, score, depth=0, judged=qrels).answer_ranks for name, score in scores.items()]
    return Replay(campaign, systems)


WORLDS = {"published": published, "demo": demo, "family": family}


def says(yes: NDArray[np.bool_], probability: NDArray[np.floating[Any]]) -> MachineVerdicts:
    """A machine that judges every triple of a pool."""
    text = labels_of([""] * len(yes))
    return MachineVerdicts(np.arange(len(yes), dtype=np.int32), yes.astype(np.int8), probability, *[text] * 3)


def sure(yes: NDArray[np.bool_], probability: float = 0.9) -> MachineVerdicts:
    """The same, with one probability for all Y, and its opposite for all N."""
    return says(yes, np.where(yes, probability, 1.0 - probability))


def first_of(pool: Pool) -> NDArray[np.bool_]:
    """(n,) what the first system has at its first five ranks."""
    return np.isin(np.arange(len(pool)), pool.triple[(pool.run == 0) & (pool.rank <= 5)])


def eager(truth: NDArray[np.bool_], rng: np.random.Generator) -> MachineVerdicts:
    """Y to nearly all."""
    yes = rng.random(len(truth)) < np.where(truth, 0.98, 0.97)
    return says(yes, 0.5 * (yes + rng.random(len(truth))))


def right(truth: NDArray[np.bool_], rng: np.random.Generator, is_favoured: Any = False) -> MachineVerdicts:
    """Calibrated log odds, normal with as much spread for true triples as for false ones."""
    apart = 2**0.5 * 1.0364  # so that the AUC is .85
    odds = apart * (rng.normal(size=len(truth)) + apart * (truth - 0.5))
    p = np.where(is_favoured, 0.9, expit(odds + np.log(truth.mean() / (1 - truth.mean()))))
    return says(p >= 0.5, p)


MACHINES: dict[str, Callable[[Pool, NDArray[np.bool_], np.random.Generator], MachineVerdicts | None]] = {
    "none": lambda pool, truth, rng: None,
    "random": lambda pool, truth, rng: sure(rng.random(len(truth)) < 0.5),
    "yes": lambda pool, truth, rng: eager(truth, rng),
    "one-system": lambda pool, truth, rng: sure(first_of(pool)),
    "useless": lambda pool, truth, rng: says(np.zeros(len(truth), np.bool_), 0.5 * rng.random(len(truth))),
    "perfect": lambda pool, truth, rng: sure(truth, 0.99),
    "calibrated": lambda pool, truth, rng: right(truth, rng),
    "favouring": lambda pool, truth, rng: right(truth, rng, first_of(pool)),
}


@contextmanager
def chosen(opened: float, floor: float, prior: float) -> Iterator[None]:
    """Designs with other parameters."""
    before = designs._OPENED, designs._FLOOR, designs.PRIOR
    designs._OPENED, designs._FLOOR, designs.PRIOR = opened, floor, prior
    try:
        yield
    finally:
        designs._OPENED, designs._FLOOR, designs.PRIOR = before


_REPLAY: list[Any] = []  # what processes share


def _once(task: tuple[float, int, tuple[float, float, float] | None]) -> list[tuple[Floats, ...]]:
    replay, options = _REPLAY
    share, seed, parameters = task
    with chosen(*parameters) if parameters else contextlib.nullcontext():
        return list(replay.once(options, share, seed))


def shown(replay: Replay, results: list[tuple[Floats, ...]], exact: tuple[Floats, ...]) -> None:
    """Print the tables of one share."""
    from scipy.stats import binom

    first, second = np.triu_indices(len(replay.names), 1)
    truth = replay.truth
    apart = truth[first] - truth[second]
    print(f"{'':11}{'':10} half-width  1.96 SD  |bias|   exact  coverage  lowest  below .93")
    columns = [np.array(part) for part in zip(*results, strict=True)]
    for what, value, half, true, expected in (
        ("level", *columns[:2], truth, exact[0]),
        ("pair, 1", *columns[2:4], apart, exact[1]),
        ("pair, 2", *columns[4:6], apart, exact[2]),
    ):
        off = value - true
        is_in = (np.abs(off) <= half + 1e-12).sum(axis=0)
        bias = np.abs(off.mean(axis=0)) / half.mean(axis=0)
        chance = np.sort(binom.cdf(is_in, len(value), LEAST), axis=0) * np.arange(len(true), 0, -1)[:, None]
        n_below = (np.minimum.accumulate(chance < 0.05, axis=0)).sum(axis=0)
        exactly = np.abs(expected) / half.mean(axis=0)
        for at, name in enumerate(MEASURES):
            covered = is_in[:, at] / len(value)
            print(
                f"{name:11}{what:10} {half[..., at].mean():10.4f} {1.96 * value[..., at].std(axis=0).mean():8.4f} "
                f"{bias[:, at].max():7.3f} {exactly[:, at].max():7.3f} {covered.mean():9.3f} {covered.min():7.3f} "
                f"{n_below[at]:6d} of {len(true)}"
            )
    print(f"{'':11}wrong sign: pair, 1  pair, 2     tau  tau of pairs at least {APART} apart")
    for at, name in enumerate(MEASURES):
        wrong = [
            ((np.abs(value) > half) & (value * apart < 0))[..., at].mean()
            for value, half in (columns[2:4], columns[4:6])
        ]
        estimated = columns[0][..., at]
        agree = np.sign(estimated[:, first] - estimated[:, second]) * np.sign(apart[:, at])
        far = np.abs(apart[:, at]) >= APART
        tau = agree[:, far].mean() if far.any() else np.nan
        print(f"{name:11}{wrong[0]:19.2%} {wrong[1]:8.2%} {agree.mean():7.3f} {tau:7.3f} ({far.sum()} of {len(apart)})")


def main() -> None:
    """Print the tables of a world, or the half-widths of a grid of designs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", nargs="?", default="published", choices=WORLDS)
    parser.add_argument("--share", type=float, nargs="+", default=[0.2], help="of the triples, to be judged")
    parser.add_argument("--replications", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first replication")
    parser.add_argument("--strategy", choices=designs.DESIGNS, default="two-level")
    parser.add_argument("--prediction", choices=("ranks", "shares"), default="ranks")
    parser.add_argument("--machine", nargs="+", default=["none"], choices=MACHINES, help="that helps to predict")
    parser.add_argument("--as-is", action="store_true", help="predict by the machine's probabilities themselves")
    parser.add_argument("--grid", action="store_true", help="compare designs with other parameters")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parsed(parser, world="demo", replications=3, machine=["none", "yes", "perfect"])
    if options.prediction == "shares" and set(options.machine) != {"none"}:
        parser.error("--prediction shares is of no machine")
    replay = WORLDS[options.world]()
    own = replay.campaign
    n_people = int((~own.automatic.is_automatic).sum())
    print(
        f"{options.world}: {len(own.pool.questions):,} questions, {n_people:,} triples to judge, "
        f"{(decisions_of(own).verdict == 1).sum():,} of them true, {len(replay.names)} systems, {options.strategy}, "
        f"prediction by {options.prediction}"
    )
    _REPLAY[:] = [replay, options]
    seeds = range(options.seed, options.seed + options.replications)
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        for share in options.share:
            start = time.perf_counter()
            if not options.grid:
                results = pool.map(_once, [(share, seed, None) for seed in seeds], chunksize=1)
                asked = draw_design(own.pool, own.known_answers, own.automatic, strategy=options.strategy, share=share)
                n_asked = asked.asked(len(own.pool)).sum()
                print(
                    f"\n{share:.0%}: {n_asked:,} triples asked with seed 0; {options.replications} replications, "
                    f"{(time.perf_counter() - start) / options.replications:.2f} s each"
                )
                for machine, own_results in zip(options.machine, zip(*results, strict=True), strict=True):
                    if machine != "none":
                        print(f"\n{machine}: used in {sum(int(result[-1]) for result in own_results)}")
                    shown(replay, list(own_results), replay.bias(options, share, machine))
                continue
            print(f"\n{share:.0%}: half-widths of levels, coverage\nopened floor prior  " + "  ".join(MEASURES))
            for parameters in GRID:
                if parameters[0] * share > 1:
                    continue
                results = pool.map(_once, [(share, seed, parameters) for seed in seeds], chunksize=1)
                value, half = (np.array([result[0][part] for result in results]) for part in (0, 1))
                covered = (np.abs(value - replay.truth) <= half).mean(axis=(0, 1))
                cells = "  ".join(f"{h:.4f} {c:.3f}" for h, c in zip(half.mean(axis=(0, 1)), covered, strict=True))
                print(f"{parameters[0]:6} {parameters[1]:5} {parameters[2]:5}  {cells}", flush=True)


if __name__ == "__main__":
    main()
