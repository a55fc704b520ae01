"""Every number that trec_eval 10.0 printed for the golden cases.

Producer: trec_eval 10.0, ``trec_eval -c -q -m all_trec qrels run``, four decimals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kgtrec.kernels.lists.judged_ranking import JudgedRanking
from kgtrec.kernels.lists.relevant_rows import ranking_of
from kgtrec.measures.names import ParsedMeasure, parse_measure
from tests.measures.test_aggregate import aggregate

CASES = [f"case-{number:03}" for number in range(1, 21)]
NOT_NUMBERS = {"runid", "relstring"}
ONLY_AGGREGATED = {"num_q", "gm_map", "gm_bpref"}  # trec_eval prints these for "all" only


def lines(path: Path) -> Iterator[list[str]]:
    """Lines of a TREC file, split at ASCII white space as trec_eval splits them."""
    for line in path.read_bytes().split(b"\n"):
        columns = line.split()
        if columns and not columns[0].startswith(b"#"):
            yield [column.decode() for column in columns]


def read_slowly(folder: Path) -> tuple[list[str], JudgedRanking]:
    """Questions of the qrels, and the ranking, by dictionaries and loops."""
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for question, _, entity, grade in lines(folder / "qrels"):
        qrels[question][entity] = int(grade)
    run: dict[str, list[tuple[float, bytes]]] = defaultdict(list)
    for question, _, entity, _, score, _ in lines(folder / "run"):
        run[question].append((float(score), entity.encode()))
    lists, missing = [], []
    for question, grades in qrels.items():
        entities = [entity.decode() for _, entity in sorted(run.get(question, []), reverse=True)]
        lists.append([grades.get(entity) for entity in entities])
        missing.append([grade for entity, grade in grades.items() if entity not in entities])
    return list(qrels), ranking_of(lists, missing)


def printed(folder: Path) -> dict[tuple[str, str], str]:
    """What trec_eval printed, without the lines that are no numbers."""
    rows = [line.split("\t") for line in (folder / "trec_eval-10.0.txt").read_text("utf-8").splitlines()]
    found = {(name.strip(), question): value for name, question, value in rows if name.strip() not in NOT_NUMBERS}
    assert len(found) == sum(name.strip() not in NOT_NUMBERS for name, _, _ in rows)
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_measure_of_trec_eval_comes_out_the_same(data: Path, case: str):
    """Per question and over all, to the last of trec_eval's four decimals; no line is left out on either side."""
    folder = data / "trec_eval-golden" / case
    expected = printed(folder)
    questions, ranking = read_slowly(folder)
    found = {}
    for name in sorted({name for name, _ in expected}):
        measure = parse_measure(name)
        assert isinstance(measure, ParsedMeasure)
        values = measure(ranking)
        assert values.shape == (len(questions),)
        if name not in ONLY_AGGREGATED:
            found |= {(name, question): value for question, value in zip(questions, values, strict=True)}
        found[name, "all"] = aggregate(values, measure.record.aggregate)
    assert found.keys() == expected.keys()
    wrong = {
        key: (value, expected[key]) for key, value in found.items() if abs(value - float(expected[key])) > 0.5001e-4
    }
    assert wrong == {}


def test_there_are_twenty_cases(data: Path):
    """So that a case that is added, or lost, is noticed."""
    assert sorted(path.name for path in (data / "trec_eval-golden").iterdir() if path.is_dir()) == CASES


def test_cases_have_ties_missing_questions_and_negative_grades(data: Path):
    """The golden cases exercise what trec_eval is known to be particular about."""
    rankings = [read_slowly(data / "trec_eval-golden" / case)[1] for case in CASES]
    assert any(np.any(ranking.num_retrieved == 0) for ranking in rankings)
    assert any(np.any(ranking.grade < 0) for ranking in rankings)
    assert any(np.any(ranking.judged_grade > 1) for ranking in rankings)
