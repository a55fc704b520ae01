"""Missing labels as text, CSV and JSON: the same numbers, undefined ones told as such."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import pytest

from kgtrec.openworld.estimate import estimate_missing
from kgtrec.report.show import shown
from tests.openworld.test_estimate import JUDGED, LABELLED, ONE, TWO, qrels, run

TRUTH = qrels(q1="abcdi", q2="ef", q3="ghx")


@pytest.fixture(scope="module")
def found():
    """The world that tests/openworld/test_estimate.py works by hand."""
    return estimate_missing(LABELLED, JUDGED, [ONE, TWO], "micro.MRR micro.Hits@1", depth=3, truth=TRUTH)


@pytest.fixture(scope="module")
def little():
    """One system, lone labels: no beta, no strength, nothing to separate, no truth."""
    return estimate_missing(qrels(q="a", r="a"), qrels(q="ac", r="ad"), run(q="ac", r="da"), "micro.MRR")


def test_text_tells_what_was_counted(found):
    lines = shown(found, "table").splitlines()
    assert lines[:4] == [
        "3 questions, 4 labels; to rank 3, 2 systems found 2 of the labels (50.0%) and 3 true answers without a label",
        "83.3% to 85.7% of a system's first 3 candidates are judged; an unjudged candidate counts as not true, so all "
        "estimates are too low",
        "left out: 1 true answer without a label that no system found",
        '"labels" depends on 1 pair of a found label and another label of its question',
    ]
    assert lines[4:8] == [
        "fewer than 10 labels are found, too few to test whether systems find answers independently: "
        '"runs" has no interval',
        "95% intervals are over which answers of these questions have labels; those of completed are over resampled "
        "questions; a score with too few of these has no interval",
        "estimated is too low where true answers that no system found to rank 3 are ranked above labels; filtered is "
        "too low by less; their intervals do not include this",
        "",
    ]


def test_text_holds_methods_systems_and_separations(found):
    text = shown(found, "table")
    rows = {line.split("  ")[0].strip(): line for line in reversed(text.splitlines())}  # the first of each name
    assert rows["labels"].split("true  ")[1].split()[0] == "12"
    assert rows["labels"].count("[") == 3
    assert rows["truth"].split()[1:] == ["10", "0.6000", f"{found.true_missing:.4f}"]
    header = ["sparse", "filtered", "completed", "estimated", "strength", "true", "filtered", "true"]
    assert rows["measure"].split()[2:] == header
    one = next(line for line in text.splitlines() if line.split()[:2] == ["micro.MRR", "one"])
    assert one.split()[2] == f"{found.sparse[0, 0]:.4f}"
    assert one.split()[-2:] == [f"{found.true_filtered[0, 0]:.4f}", f"{found.true[0, 0]:.4f}"]
    assert "questions that keep a wrong order of sparse scores below 0.05, here 3; theory with beta by runs" in text


def test_text_of_what_is_not_known_has_dashes(little):
    lines = shown(little, "table").splitlines()
    assert lines[1].startswith("the share of judged candidates is not known (answer ranks, or nothing judged wrong)")
    assert '"labels" depends on 0 pairs' in lines[2]
    assert lines[2].endswith("so it gives no estimate")
    by_name = {line.split()[0]: line for line in lines if line}
    assert by_name["found"].split()[-1] == "-"
    assert by_name["runs"].split()[-3:] == ["-"] * 3
    assert not any(name in line for line in lines for name in ("estimated", "strength"))  # known of no system
    assert not any("nan" in line for line in lines)
    assert "questions that keep" not in shown(little, "table")
    assert "truth" not in shown(little, "table")


def test_csv_and_json_hold_the_same_rows_at_full_precision(found, little):
    for estimate in (found, little):
        whole = json.loads(shown(estimate, "json"))
        for name in ("missing", "scores", "separations"):
            rows = list(csv.DictReader(io.StringIO(shown(estimate, "csv", [name]))))
            assert len(rows) == len(whole[name])
            for row, record in zip(rows, whole[name], strict=True):
                assert row == {key: "" if value is None else str(value) for key, value in record.items()}


def test_json_holds_what_it_was_made_of(found, little):
    about = json.loads(shown(found, "json"))
    assert about["judged"] == pytest.approx({"one": 5 / 6, "two": 6 / 7})
    counts = {"depth": 3, "n_questions": 3, "n_labels": 4, "found_labels": 2, "found_missing": 3.0, "set_aside": 1}
    options = {
        "label_pairs": 1,
        "independent": False,
        "by_fact": False,
        "method": "runs",
        "p": 0.05,
        "confidence": 0.95,
    }
    assert about.items() >= (counts | options).items()
    assert [row["method"] for row in about["missing"]] == ["found", "runs", "labels", "truth"]
    assert len(about["scores"]) == 4
    assert about["scores"][0]["true"] == found.true[0, 0]
    nothing = json.loads(shown(little, "json"))
    assert nothing["judged"] == {"one": None}
    assert nothing["missed_by_runs"] is None
    assert nothing["missing"][0]["missing"] is None
    assert nothing["separations"] == []
    assert "true" not in nothing["scores"][0]


def test_tables_have_a_row_per_measure_and_system(found):
    table = found.scores_table().to_pylist()
    assert [(row["measure"], row["system"]) for row in table] == [
        (measure, system) for measure in ("micro.MRR", "micro.Hits@1") for system in ("one", "two")
    ]
    for row in table:
        place = found.measures.index(row["measure"]), found.systems.index(row["system"])
        assert row["filtered"] == found.filtered.value[place]
        assert row["estimated_high"] == found.estimated.high[place]
    told = found.separations.to_pylist()
    assert [row["measure"] for row in told] == list(found.measures)
    assert (told[0]["higher"], told[0]["lower"]) == ("one", "two")
    assert all(row["by_data"] is None or row["by_data"] >= 1 for row in told)


def test_repr_names_the_share_and_the_method(found, little):
    assert repr(found) == (
        "<MissingEstimate: 0.429 of the answers of 3 questions lack a label, by runs; 2 systems x 2 measures>"
    )
    assert "by found" in repr(little)
    assert found.knows_truth
    assert not little.knows_truth
    assert math.isnan(little.true_share)
    assert np.isnan(little.true).all()
