"""The published results of Hoyt et al. (2022) against chance levels of the data sets, as a user would find them."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.evaluation.chance import adjust, candidate_counts, chance_table
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.kernels.chance import ranks as chance
from tests.kernels.chance import published

NAMES = {"small/nations": "nations", "small/kinships": "kinships", "fb15k-237": "fb15k237", "wn18rr": "wn18rr"}


@pytest.fixture(scope="module", params=NAMES)
def world(request, data):
    """A collection without unseen entities, as the file's results were made, and the file's rows for it."""
    collection = build_questions(*map(read_triples, find_splits(data / request.param)), unseen_entities="drop")
    with (data / "rank-metrics" / "collated.tsv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["dataset"] == NAMES[request.param]]
    assert len(rows) >= 4
    for row in rows:
        assert int(float(row["count"])) == len(collection.qrels)
    return collection, rows


def candidates_per_answer(collection) -> np.ndarray:
    list_length, relevant = candidate_counts(collection)
    question = collection.qrels.question
    return list_length[question] - relevant[question] + 1


def test_published_numbers_adjust_to_the_published_indices(world):
    """AMR, AMRI and AHits@k through chance_table and adjust, N the number of candidates with the true one."""
    collection, rows = world
    cutoffs = (1, 3, 5, 10)
    table = chance_table(collection, ["micro.MR", *(f"micro.Hits@{k}" for k in cutoffs)])
    for row in rows:
        adjusted = adjust("micro.MR", float(row["arithmetic_mean_rank"]), table)
        assert adjusted.ratio == pytest.approx(float(row["adjusted_arithmetic_mean_rank"]), abs=1e-6)
        assert adjusted.index == pytest.approx(float(row["adjusted_arithmetic_mean_rank_index"]), abs=1e-6)
        for k in cutoffs:
            index = adjust(f"micro.Hits@{k}", float(row[f"hits_at_{k}"]), table).index
            assert index == pytest.approx(float(row[f"adjusted_hits_at_{k}"]), abs=1e-6)


def test_z_and_agmri_of_the_file_need_one_candidate_fewer(world):
    """Its zMR is turned the other way round; its zGMR is not."""
    collection, rows = world
    fewer = published.Items(published.compatible_candidates(candidates_per_answer(collection), "one fewer"))
    mean_rank = published.mean_moments(fewer, chance.expected_rank, chance.variance_rank)
    reciprocal = published.mean_moments(fewer, chance.expected_reciprocal_rank, chance.variance_reciprocal_rank)
    geometric = chance.geometric_mean_moments(*fewer)
    for row in rows:
        at = {key: float(value) for key, value in row.items() if key not in ("dataset", "model", "training")}
        z = (at["arithmetic_mean_rank"] - mean_rank.expectation) / mean_rank.variance**0.5
        assert z == pytest.approx(at["z_arithmetic_mean_rank"], rel=1e-5)
        z = (at["inverse_harmonic_mean_rank"] - reciprocal.expectation) / reciprocal.variance**0.5
        assert z == pytest.approx(at["z_inverse_harmonic_mean_rank"], rel=1e-5)
        z = (geometric.expectation - at["geometric_mean_rank"]) / geometric.variance**0.5
        assert z == pytest.approx(at["z_geometric_mean_rank"], rel=1e-4)
        index = (at["geometric_mean_rank"] - geometric.expectation) / (1 - geometric.expectation)
        assert index == pytest.approx(at["adjusted_geometric_mean_rank_index"], abs=1e-6)


def test_amrr_of_the_file_needs_the_mean_number_of_candidates(world):
    """ln m / (m - 1) instead of the mean of H(N) / N."""
    collection, rows = world
    level = published.continuous_reciprocal_rank(candidates_per_answer(collection))
    for row in rows:
        index = (float(row["inverse_harmonic_mean_rank"]) - level) / (1 - level)
        assert index == pytest.approx(float(row["adjusted_inverse_harmonic_mean_rank"]), abs=1e-6)


def test_what_is_right_where_the_file_is_not(data):
    """Nations: ComplEx' zMRR is 3.4157, not -0.7145; TransE's AMRR is 0.0296, not 0.1489."""
    collection = build_questions(*map(read_triples, find_splits(data / "small/nations")), unseen_entities="drop")
    table = chance_table(collection, "micro.MRR")
    with (data / "rank-metrics" / "collated.tsv").open(encoding="utf-8") as lines:
        rows = {r["model"]: r for r in csv.DictReader(lines, delimiter="\t") if r["dataset"] == "nations"}
    complex_, transe = rows["complex"], rows["transe"]
    assert float(complex_["z_inverse_harmonic_mean_rank"]) == pytest.approx(-0.7145, abs=5e-5)
    name = "inverse_harmonic_mean_rank"
    assert adjust(name, float(complex_[name]), table).z == pytest.approx(3.4157, abs=5e-5)
    assert float(transe["adjusted_inverse_harmonic_mean_rank"]) == pytest.approx(0.1489, abs=5e-5)
    assert adjust(name, float(transe[name]), table).index == pytest.approx(0.0296, abs=5e-5)
