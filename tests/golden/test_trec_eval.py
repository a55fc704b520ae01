"""Every number that trec_eval 10.0 printed for runs full of ties, odd labels and missing questions, from the files on.

Producer: trec_eval 10.0, command ``trec_eval -c -q -m all_trec qrels run``, files under ``trec_eval-golden``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run

TEXTS = {"runid", "relstring"}  # not numbers
CASES = [f"case-{number:03d}" for number in range(1, 21)]


def golden(path: Path) -> dict[tuple[str, str], str]:
    """(measure, question or "all") -> the text that trec_eval printed."""
    rows = (line.split() for line in path.read_text().splitlines())
    return {(row[0], row[1]): row[2] for row in rows if row[0] not in TEXTS}


def printed(value: float, like: str) -> str:
    """A value as trec_eval prints it."""
    return f"{value:.4f}" if "." in like else f"{value:.0f}"


@pytest.mark.parametrize("case", CASES)
def test_every_number_is_trec_evals(data: Path, case: str):
    """Each measure, each question and the total come out as trec_eval 10.0 printed them, no line more or less."""
    folder = data / "trec_eval-golden" / case
    expected = golden(folder / "trec_eval-10.0.txt")
    measures = sorted({measure for measure, _ in expected})
    qrels, run = read_qrels(folder / "qrels"), read_run(folder / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # questions without judgements, on purpose
        total = evaluate(qrels, run, measures)
        each = evaluate(qrels, run, measures, per="question")
    found = {(measure, "all"): total.values[0, place, 0] for place, measure in enumerate(measures)}
    for place, measure in enumerate(measures):
        for question, value in zip(each.items["question"].to_pylist(), each.values[0, place], strict=True):
            found[measure, question] = value
    only_total = {key for key in found if key[1] != "all" and key not in expected}
    assert {measure for measure, _ in only_total} <= {"num_q", "gm_map", "gm_bpref"}
    assert {key: printed(found[key], text) for key, text in expected.items()} == expected


def test_the_cases_have_what_trec_eval_is_particular_about(data: Path):
    """All of them are known here; questions without a list, negative grades, and grades above 1 occur."""
    folders = [path for path in sorted((data / "trec_eval-golden").iterdir()) if path.is_dir()]
    assert [path.name for path in folders] == CASES
    qrels, runs = ([read(path / name) for path in folders] for read, name in ((read_qrels, "qrels"), (read_run, "run")))
    assert any(len(own.questions) > len(run.questions) for own, run in zip(qrels, runs, strict=True))
    grades = np.concatenate([own.grade for own in qrels])
    assert {-1, 0, 1, 2} <= set(np.clip(grades, -1, 2).tolist())
