"""The tables that kgtrec began with, made again: one test, in each reading of a table that has two.

Files: github zhouying20/kgc-sparsity, result/ (FB-Test-O: the test triples, FB-Test-S: a sample of them, FB-Test-S-C:
its labels completed by pooling), and the collated results of Hoyt et al., read where KGTREC_DATA says.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.collection import Collection
from kgtrec.evaluation import adjust, chance_table, read_chance_table
from kgtrec.evaluation.chance import candidate_counts
from kgtrec.formats.score_tables import read_score_table
from kgtrec.formats.triples import find_splits, read_triples
from kgtrec.kernels.chance import ranks as chance
from kgtrec.meta import correlate
from kgtrec.openworld import OpenWorld, expected_score
from tests.kernels.chance import published

Row = tuple[str, float, float, float]  # what, theirs, ours, and by how much they may differ
PRINTED = Path(__file__).parents[2] / "examples" / "published" / "berrendorf-2020.csv"
MEAN_CANDIDATES = {
    "small/nations": 7.955224,
    "small/kinships": 94.438082,
    "fb15k-237": 14270.3379,
    "wn18rr": 40544.0959,
}
NAMES = {"small/nations": "nations", "small/kinships": "kinships", "fb15k-237": "fb15k237", "wn18rr": "wn18rr"}


def lines_of(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter=delimiter))


def mean_ranks_adjusted(_: Path) -> Iterator[Row]:
    """Table 1 of Berrendorf et al. 2020, from mean ranks that others published."""
    for row in lines_of(PRINTED):
        ours = adjust("micro.MR", float(row["MR"]), read_chance_table(row["data set"])).index
        yield f"{row['model']} on {row['data set']}", float(row["AMRI (%)"]) / 100, ours, 0.0005


def rankings_turned_over(data: Path) -> Iterator[Row]:
    """Table 4 and figures 3 to 5 of Zhou et al. 2022: Kendall's tau of 13 systems, as published."""
    full, sparse, complete, depths = (
        read_score_table(data / "kgc-sparsity/result" / f"{name}.csv")
        for name in (
            "FB-Test-O/evaluation",
            "FB-Test-S/evaluation",
            "FB-Test-S-C/evaluation",
            "FB-Test-S-C/pooling_depth",
        )
    )
    taus = {"micro.Hits@1": -0.0520, "micro.Hits@3": -0.4359, "micro.Hits@10": 0.2598, "micro.MR": 0.2308}
    taus |= {"micro.MRR": -0.2308, "macro.MRR": 0.1795, "macro.Hits@10": 0.4000}
    for measure, tau in taus.items():
        yield f"S - S-C, {measure}", tau, correlate(sparse, complete, None, measure, "tau").of("tau"), 5e-5
    yield "O - S", 0.7949, correlate(full, sparse, None, "micro.MRR", "tau").of("tau"), 5e-5
    yield "depth 2", 0.359, correlate(sparse, depths, None, "micro.MRR", "tau").of("tau", Depth="2"), 5e-5


def rankings_of_fixed_relations(data: Path) -> Iterator[Row]:
    """The same table's second row: the completed labels weighted as if relations were as frequent as in the sample."""
    sparse, fixed = (
        read_score_table(data / "kgc-sparsity/result" / name)
        for name in ("FB-Test-S/evaluation.csv", "FB-Test-S-C/lp_sample_rel_dist.csv")
    )
    for measure, tau in {"micro.MRR": -0.2051, "micro.MR": 0.2308, "micro.Hits@3": -0.2051}.items():
        yield measure, tau, correlate(sparse, fixed, None, measure, "tau").of("tau"), 5e-5


@cache
def world(data: Path, folder: str) -> tuple[Collection, np.ndarray, list[dict[str, str]]]:
    """A collection without unseen entities, the candidates of each answer, and the file's rows for it."""
    collection = build_questions(*map(read_triples, find_splits(data / folder)), unseen_entities="drop")
    list_length, relevant = (counts[collection.qrels.question] for counts in candidate_counts(collection))
    rows = lines_of(data / "rank-metrics" / "collated.tsv", "\t")
    return collection, list_length - relevant + 1, [row for row in rows if row["dataset"] == NAMES[folder]]


def indices_of_all_candidates(data: Path, folder: str) -> Iterator[Row]:
    """AMR, AMRI and AHits@k of the file have the candidates with the true one."""
    collection, candidates, rows = world(data, folder)
    yield "mean number of candidates", MEAN_CANDIDATES[folder], candidates.mean(), 5e-5
    table = chance_table(collection, ["micro.MR", *(f"micro.Hits@{k}" for k in (1, 3, 5, 10))])
    for row in rows:
        assert int(float(row["count"])) == len(collection.qrels)
        adjusted = adjust("micro.MR", float(row["arithmetic_mean_rank"]), table)
        yield f"AMR of {row['model']}", float(row["adjusted_arithmetic_mean_rank"]), adjusted.ratio, 1e-6
        yield f"AMRI of {row['model']}", float(row["adjusted_arithmetic_mean_rank_index"]), adjusted.index, 1e-6
        for k in (1, 3, 5, 10):
            index = adjust(f"micro.Hits@{k}", float(row[f"hits_at_{k}"]), table).index
            yield f"AHits@{k} of {row['model']}", float(row[f"adjusted_hits_at_{k}"]), index, 1e-6


def indices_of_one_candidate_fewer(data: Path, folder: str) -> Iterator[Row]:
    """Z forms and AGMRI of the file have one candidate fewer, AMRR the mean number; its zMR is turned round."""
    _, candidates, rows = world(data, folder)
    fewer = published.Items(published.compatible_candidates(candidates, "one fewer"))
    mean_rank = published.mean_moments(fewer, chance.expected_rank, chance.variance_rank)
    reciprocal = published.mean_moments(fewer, chance.expected_reciprocal_rank, chance.variance_reciprocal_rank)
    geometric, level = chance.geometric_mean_moments(*fewer), published.continuous_reciprocal_rank(candidates)
    for row in rows:
        at = {key: float(value) for key, value in row.items() if key not in ("dataset", "model", "training")}
        gmr = at["geometric_mean_rank"]
        ours = {
            "z_arithmetic_mean_rank": (at["arithmetic_mean_rank"] - mean_rank.expectation) / mean_rank.variance**0.5,
            "z_inverse_harmonic_mean_rank": (at["inverse_harmonic_mean_rank"] - reciprocal.expectation)
            / reciprocal.variance**0.5,
            "z_geometric_mean_rank": (geometric.expectation - gmr) / geometric.variance**0.5,
            "adjusted_geometric_mean_rank_index": (gmr - geometric.expectation) / (1 - geometric.expectation),
            "adjusted_inverse_harmonic_mean_rank": (at["inverse_harmonic_mean_rank"] - level) / (1 - level),
        }
        for k in (1, 3, 5, 10):
            hits = published.mean_moments(fewer, chance.expected_hit, chance.variance_hit, cutoff=k)
            ours[f"z_hits_at_{k}"] = (at[f"hits_at_{k}"] - hits.expectation) / hits.variance**0.5
        for name, value in ours.items():
            relative = 1e-4 if name == "z_geometric_mean_rank" else 1e-5
            room = max(abs(at[name]) * relative, 1e-6) if name[0] == "z" else 1e-6
            yield f"{name} of {row['model']}", at[name], value, room


def nations_as_it_is_right(data: Path) -> Iterator[Row]:
    """ComplEx' zMRR is 3.4157, where the file has -0.7145; TransE's AMRR 0.0296, where it has 0.1489."""
    collection, _, rows = world(data, "small/nations")
    table, mrr = chance_table(collection, "micro.MRR"), "inverse_harmonic_mean_rank"
    complex_, transe = (next(row for row in rows if row["model"] == name) for name in ("complex", "transe"))
    yield "zMRR in the file", -0.7145, float(complex_[f"z_{mrr}"]), 5e-5
    yield "zMRR", 3.4157, adjust("micro.MRR", float(complex_[mrr]), table).z, 5e-5
    yield "AMRR in the file", 0.1489, float(transe[f"adjusted_{mrr}"]), 5e-5
    yield "AMRR", 0.0296, adjust("micro.MRR", float(transe[mrr]), table).index, 5e-5


def values_of_the_theory(_: Path) -> Iterator[Row]:
    """MRR of Yang et al. 2022 at N = 5, beta = .5, l = .8: the lemma, per question with a label, and per label."""
    for average, value in {"lemma": 0.5141, "questions": 0.5187, "labels": 0.5534}.items():
        yield average, value, expected_score(OpenWorld(5, 0.5), "MRR", 0.8, average=average), 5e-5


TABLES: dict[str, tuple[Callable[..., Iterator[Row]], int, str]] = {
    "Berrendorf 2020, table 1": (mean_ranks_adjusted, 12, ""),
    "Zhou 2022, table 4, as published": (rankings_turned_over, 9, ""),
    "Zhou 2022, table 4, relations held fixed": (rankings_of_fixed_relations, 3, ""),
    "Hoyt 2022, Nations, as it is right": (nations_as_it_is_right, 4, ""),
    "Yang 2022, by its three means": (values_of_the_theory, 3, ""),
} | {
    f"Hoyt 2022, {NAMES[folder]}, {reading}": (rows, least, folder)
    for folder in NAMES
    for reading, rows, least in (
        ("all candidates", indices_of_all_candidates, 24),
        ("one candidate fewer", indices_of_one_candidate_fewer, 20),
    )
}


@pytest.mark.parametrize("table", TABLES)
def test_the_seeds_tables_come_out_again(data: Path, table: str):
    """Every number that the papers print, or publish as files, to their last digit."""
    rows_of, least, folder = TABLES[table]
    rows = list(rows_of(data, folder) if folder else rows_of(data))
    assert len(rows) >= least
    assert {what: (theirs, ours) for what, theirs, ours, room in rows if not abs(theirs - ours) <= room} == {}
