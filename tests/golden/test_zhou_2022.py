"""The published scores of Zhou et al. (2022), SIGIR: 13 systems on FB15k-237 under sparse and completed labels.

Files: github zhouying20/kgc-sparsity, result/, Apache-2.0; read where KGTREC_DATA says. FB-Test-O are the test triples
(O below), FB-Test-S a sample of them (S), FB-Test-S-C the sample with labels completed by pooling to depth 10 (S-C).
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kgtrec.data.scores import ScoreTable
from kgtrec.formats.score_tables import read_score_table
from kgtrec.meta.correlation import correlate, swaps

MICRO = (*(f"micro.Hits@{k}" for k in range(1, 11)), "micro.MR", "micro.MRR")
MACRO = tuple(name.replace("micro", "macro") for name in MICRO)


@pytest.fixture(scope="module")
def result(data: Path) -> Path:
    return data / "kgc-sparsity" / "result"


def columns_of(path: Path) -> dict[str, list[str]]:
    """A CSV file as the csv module alone sees it."""
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: [row[name] for row in rows] for name in rows[0]}


def column_name(measure: str) -> str:
    """How the published files spell a measure."""
    return measure.lower().replace(".", "_")


def obvious_tau(first: dict[str, list[str]], second: dict[str, list[str]], column: str, depth: str = "") -> float:
    """Kendall's tau-b by scipy, of the systems in the first file's order."""
    own = {
        system: float(value)
        for place, (system, value) in enumerate(zip(second["System"], second[column], strict=True))
        if not depth or second["Depth"][place] == depth
    }
    values = [own[system] for system in first["System"]]
    return float(stats.kendalltau([float(value) for value in first[column]], values).statistic)


@pytest.mark.parametrize("measure", MICRO)
def test_table_4_with_the_relation_distribution_held_fixed(result: Path, measure: str):
    """S-C weighted as if its relations were as frequent as in S: each micro measure's tau to S is scipy's."""
    fixed = result / "FB-Test-S-C" / "lp_sample_rel_dist.csv"
    sparse = result / "FB-Test-S" / "evaluation.csv"
    expected = obvious_tau(columns_of(sparse), columns_of(fixed), column_name(measure))
    found = correlate(read_score_table(sparse), read_score_table(fixed), None, measure, "tau")
    assert found.of("tau") == pytest.approx(expected, abs=1e-12)


def test_the_page_of_the_study_has_the_published_taus(result: Path):
    """docs/study-fb15k-237.md: from O to S, and from S to S-C."""
    page = (Path(__file__).parents[2] / "docs" / "study-fb15k-237.md").read_text()
    page = page.partition("for [Z22] from its published scores")[2].partition("The ranges overlap")[0]
    shown = {
        cells[1]: [cells[3], cells[5]]
        for cells in (re.split(r" *\| *", line) for line in page.splitlines())
        if len(cells) == 7
    }
    full, sparse, complete = (
        read_score_table(result / f"FB-Test-{name}" / "evaluation.csv") for name in ("O", "S", "S-C")
    )
    for measure in ("micro.MRR", "micro.Hits@1", "micro.Hits@10", "macro.MRR", "AP@20", "nDCG@20"):
        taus = (correlate(*pair, None, measure, "tau").of("tau") for pair in ((full, sparse), (sparse, complete)))
        assert shown[measure] == [f"{tau:.3f}" for tau in taus]


def test_the_depth_curve_of_every_measure_is_scipys(result: Path):
    """All micro and macro measures at depths 0 to 10, to depth 0."""
    path = result / "FB-Test-S-C" / "pooling_depth.csv"
    depths = read_score_table(path)
    found = correlate(depths.at(Depth="0"), depths, None, [*MICRO, *MACRO], "tau")
    plain = columns_of(path)
    depth_0 = {
        name: [v for v, d in zip(cells, plain["Depth"], strict=True) if d == "0"] for name, cells in plain.items()
    }
    expected = [
        obvious_tau(depth_0, plain, column_name(measure), str(depth))
        for measure in (*MICRO, *MACRO)
        for depth in range(11)
    ]
    assert found.rows["measure"] == tuple(measure for measure in (*MICRO, *MACRO) for _ in range(11))
    assert found.rows["Depth"] == tuple(str(depth) for depth in range(11)) * 24
    np.testing.assert_allclose(found.value[:, 0], expected, atol=1e-12)


def test_every_other_measure_of_the_files_is_known_too(result: Path):
    """All 104 columns are measures of kgtrec's, and their tau and rho from S to S-C are scipy's."""
    paths = [result / name / "evaluation.csv" for name in ("FB-Test-S", "FB-Test-S-C")]
    tables = [read_score_table(path) for path in paths]
    found = correlate(*tables, coefficients=("tau", "spearman"))
    assert len(set(found.rows["measure"])) == 104
    first, second = (columns_of(path) for path in paths)
    names = [name for name in first if name != "System"]
    assert first["System"] == second["System"]
    for place, name in enumerate(names):
        pair = [np.array(table[name], float) for table in (first, second)]
        assert found.value[place, 0] == pytest.approx(stats.kendalltau(*pair).statistic, abs=1e-12), name
        assert found.value[place, 1] == pytest.approx(stats.spearmanr(*pair).statistic, abs=1e-12), name


def test_tau_without_ties_is_told_by_the_number_of_swapped_pairs(result: Path):
    """1 - 2 * swapped / 78 is tau for micro.MRR and micro.MR, where no two systems tie."""
    tables = [read_score_table(result / name / "evaluation.csv") for name in ("FB-Test-S", "FB-Test-S-C")]
    for measure, tau in {"micro.MRR": -0.2308, "micro.MR": 0.2308, "macro.MRR": 0.1795}.items():
        swapped = swaps(*tables, measures=measure)
        assert round(1 - 2 * len(swapped) / swapped.n_pairs[measure], 4) == tau


def test_keys_of_two_columns_are_compared_with_their_likes(result: Path):
    """Side and category, whose rows come in another order in the two files."""
    paths = [result / name / "lp_per_rel_type.csv" for name in ("FB-Test-S", "FB-Test-S-C")]
    found = correlate(*(read_score_table(path) for path in paths), None, "micro.MRR", "tau")
    assert len(found) == 8
    first, second = (columns_of(path) for path in paths)
    for side, category in set(zip(first["QuestionType"], first["RelationType"], strict=True)):
        values = []
        for table in (first, second):
            rows = zip(table["System"], table["QuestionType"], table["RelationType"], table["micro_mrr"], strict=True)
            own = {system: float(value) for system, *key, value in rows if key == [side, category]}
            values.append([own[system] for system in sorted(own)])
        expected = stats.kendalltau(*values).statistic
        assert found.of("tau", QuestionType=side, RelationType=category) == pytest.approx(expected, abs=1e-12)


def test_reading_and_selecting_leaves_the_published_digits(result: Path):
    """A cell is the file's number."""
    table: ScoreTable = read_score_table(result / "FB-Test-S-C" / "pooling_depth.csv").at(Depth=2)
    assert table.systems[0] == "fb15k-237-atte"
    assert table.values[0, table.measures.index("micro_hits@1"), 0] == 0.26221374045801527
