"""Candidates that are plausible, and a sample of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.data.sampled_ranks import SampledRanks
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.meta.candidate_lists import candidate_lists
from kgtrec.meta.sampled import sampled_bounds

RNG = np.random.default_rng(0)
ROWS = [(f"e{a}", f"r{r}", f"e{b}") for a, r, b in (RNG.pareto(1, (300, 3)) * (8, 1, 8)).astype(int) % (60, 3, 60)]
TRIPLES = list(dict.fromkeys(ROWS))
PARTS = TRIPLES[40:], TRIPLES[30:40], TRIPLES[:30]


def collection_of(parts=PARTS) -> Collection:
    return build_questions(*map(Triples.of, parts))


def labelled(collection: Collection, lists) -> dict[tuple[bool, str, str], list[str]]:
    """Question -> labels of its candidates."""
    asked = collection.questions
    keys = zip(
        asked.is_head.tolist(),
        asked.relations.decode(asked.relation).to_pylist(),
        asked.entities.decode(asked.anchor).to_pylist(),
        strict=True,
    )
    return {key: collection.entities.decode(row).to_pylist() for key, row in zip(keys, lists, strict=True)}


@pytest.mark.slow
def test_the_first_half_is_what_train_has_most_often_there():
    """By the place in triples of the relation, then by the place in any; without answers and known answers."""
    collection = collection_of()
    places: dict[tuple[bool, str], Counter[str]] = {}
    everywhere: Counter[str] = Counter()
    for head, relation, tail in PARTS[0]:
        places.setdefault((True, relation), Counter())[head] += 1
        places.setdefault((False, relation), Counter())[tail] += 1
        everywhere.update((head, tail))
    for (is_head, relation, anchor), found in labelled(collection, candidate_lists(collection, 12)).items():
        known = {
            row[0 if is_head else 2] for row in TRIPLES if row[1] == relation and row[2 if is_head else 0] == anchor
        }
        own = places.get((is_head, relation), Counter())
        order = sorted(
            collection.entities, key=lambda name: (-own[name], -everywhere[name] if not own[name] else 0, name)
        )
        assert found[:6] == [name for name in order if name not in known][:6]
        assert len(set(found)) == 12
        assert not known & set(found)


@pytest.mark.slow
def test_the_second_half_is_a_uniform_sample_of_the_others():
    """Of 400 seeds every other candidate has its share."""
    collection = collection_of()
    lists = np.array([candidate_lists(collection, 8, seed=seed)[0] for seed in range(400)])
    assert len(np.unique(lists[:, :4])) == 4
    answers, filtered = collection.answers_and_filtered(("train", "valid", "test"))
    n_others = len(collection.entities) - np.sum(np.r_[answers, filtered] < len(collection.entities)) - 4
    counts = np.unique(lists[:, 4:], return_counts=True)[1]
    assert len(counts) == n_others
    expected = 1_600 / n_others
    assert ((counts - expected) ** 2 / expected).sum() < n_others + 5 * np.sqrt(2 * n_others)


def test_lists_do_not_depend_on_the_order_of_triples():
    """Only on their labels, and on the seed."""
    turned = collection_of([part[::-1] for part in PARTS])
    one, other = (labelled(each, candidate_lists(each, 10, seed=3)) for each in (collection_of(), turned))
    assert one == other
    assert one != labelled(collection_of(), candidate_lists(collection_of(), 10, seed=4))


def test_neither_the_seed_nor_the_collection_is_of_another_kind():
    """A negative seed, and an entity alignment, whose candidates are the entities of one side."""
    collection = collection_of()
    with pytest.raises(KgtrecError, match="seed to be a whole number from 0 on, found -1"):
        candidate_lists(collection, 4, seed=-1)
    aligned = replace(collection, report={**collection.report, "alignment": {}})
    with pytest.raises(CollectionError, match="found that of an entity alignment"):
        candidate_lists(aligned, 4)


@pytest.mark.slow
def test_the_mean_rank_is_estimated_without_bias():
    """Over 600 seeds, from 6 chosen and 6 drawn candidates; nearly all intervals have the mean of the full ranks."""
    collection, rng = collection_of(), np.random.default_rng(0)
    width = len(collection.entities)
    answers, filtered = collection.answers_and_filtered(("train", "valid", "test"))
    out = np.zeros((len(collection.questions), width), bool)
    out.ravel()[np.r_[answers, filtered]] = True
    score = rng.integers(0, 12, out.shape).astype(float)
    question, answer = np.divmod(answers, width)
    own, others = score[question, answer], np.where(out, -np.inf, score)[question]
    full = 1 + ((others > own[:, None]).sum(axis=1) + (others >= own[:, None]).sum(axis=1)) / 2
    found = []
    for seed in range(600):
        drawn = np.take_along_axis(score, candidate_lists(collection, 12, seed=seed), axis=1)[question]
        n = (~out).sum(axis=1)[question] - 6
        ranks = SampledRanks.of_scores("s", own, drawn, n_certain=6, n_candidates=n, sample=question)
        row = sampled_bounds(ranks, "micro.MR")["bounds"].to_pylist()[1]
        found.append((row["value"], row["low"] <= full.mean() <= row["high"]))
    value, held = np.array(found).T
    assert abs(value.mean() - full.mean()) < 3 * value.std() / np.sqrt(600)
    assert held.mean() > 0.95


def test_more_candidates_than_there_are_is_refused():
    """With the question."""
    with pytest.raises(KgtrecError, match="expected 500 candidates for each question, found"):
        candidate_lists(collection_of())


@pytest.mark.slow
def test_bounds_hold_the_full_values():
    """With 40 chosen candidates and 200 sampled ones they are closer than with 240 sampled ones."""
    rng = np.random.default_rng(1)
    n = 3_000
    noise = rng.normal(size=n) + 3.5
    certain = rng.normal(size=(n, 40)) + 1.5 > noise[:, None]
    above = np.minimum(rng.geometric(0.3, n) - 1, 3) * (rng.random(n) < 0.3)
    rank = 1 + certain.sum(axis=1) + above
    drawn = rng.hypergeometric(above, 1_960 - above, 200)
    positive = np.zeros(n)
    negative = np.concatenate([np.where(certain, 1, -1), np.where(np.arange(200) < drawn[:, None], 1, -1)], axis=1)
    chosen = SampledRanks.of_scores("s", positive, negative, n_certain=40, n_candidates=1_960)
    assert (chosen.n_sampled, chosen.n_certain) == (200, 40)
    plain = SampledRanks.of(
        "s", rng.hypergeometric(rank - 1, 2_001 - rank, 240), 0 * rank, n_sampled=240, n_candidates=2_000
    )
    widths = []
    for ranks, name in ((chosen, "40+200"), (plain, "240")):
        table = sampled_bounds(ranks, "micro.MRR micro.MR micro.AMRI", model=True)["bounds"].to_pylist()
        found = {(row["measure"], row["assumption"]): row for row in table}
        assert (f"sampled.MRR({name})", "sample") in found
        truth = {
            "micro.MRR": (1 / rank).mean(),
            "micro.MR": rank.mean(),
            "micro.AMRI": 1 - 2 * (rank - 1).mean() / 2_000,
        }
        for measure, value in truth.items():
            row = found[measure, "none"]
            assert row["low"] <= value <= row["high"]
        widths.append(found["micro.MRR", "none"]["high"] - found["micro.MRR", "none"]["low"])
    assert widths[0] < widths[1] / 2
