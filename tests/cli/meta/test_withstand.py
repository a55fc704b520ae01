"""kgtrec meta withstand."""

from __future__ import annotations

import csv
import io
import math

import pytest

from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.qrels import write_qrels
from kgtrec.meta.withstand import withstand
from tests.meta.test_withstand import judged_world
from tests.program import kgtrec, printed_by, refusal

COLLECTION, JUDGED, SYSTEMS = judged_world(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection, qrels with false candidates, and answer ranks of both."""
    path = tmp_path_factory.mktemp("withstand")
    write_collection(path / "C", COLLECTION)
    write_qrels(path / "qrels.txt", JUDGED)
    (path / "ranks").mkdir()
    for ranks in SYSTEMS:
        write_answer_ranks(path / "ranks" / f"{ranks.name}.ranks.parquet", ranks)
    return path


def test_withstand_writes_what_the_function_says(folder, capsys):
    """All numbers as CSV; a summary of the lowest shares, and the numbers with their intervals, as text."""
    inputs = [str(folder / "qrels.txt"), str(folder / "ranks"), "--collection", str(folder / "C"), "--repeats", "2"]
    chosen = ["-m", "AP Bpref", "--reason", "random pooled", "--densities", "0.5 1", "--correlated-with", "s3 s2"]
    found = withstand(
        JUDGED, SYSTEMS, "AP Bpref", collection=COLLECTION, reasons=["random", "pooled"], densities=[0.5, 1.0], draws=2
    )
    text = printed_by(capsys, "meta", "withstand", *inputs, *chosen, "--table", "numbers", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["reason"] for row in rows] == ["random"] * 4 + ["pooled"] * 4
    expected = found.to_table().to_pylist()
    for row, own in zip(rows, expected, strict=True):
        for name, value in own.items():
            if isinstance(value, float):
                assert math.isclose(float(row[name] or "nan"), value, rel_tol=1e-12) or math.isnan(value)
            else:
                assert row[name] == str(value)
    text = printed_by(capsys, "meta", "withstand", *inputs, *chosen)
    assert text.startswith("Lowest share of labelled facts from which on the interval of tau is at least 0.9")
    assert "2 draws of 4 systems cannot show this; at least 11 are needed\n" in text
    assert "measure  random  pooled\nAP            -       -\nBpref         -       -\n" in text


@pytest.mark.slow
def test_withstand_draws_a_panel_per_measure(folder, capsys, tmp_path):
    """The first figure is of tau."""
    inputs = [folder / "C", folder / "ranks", "-m", "micro.MRR AP", "--reason", "random", "--repeats", "2"]
    kgtrec("meta", "withstand", *inputs, "--out", tmp_path / "tau.svg")
    assert "keeps the order" in capsys.readouterr().err
    text = (tmp_path / "tau.svg").read_text()
    assert all(name in text for name in ("micro.MRR", "AP", "random"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reason", "rare"], "found 'rare'"),
        (["--densities", "half"], "expected numbers, such as 0.1 0.5 0.9, found 'half'"),
        (["--densities", "0"], "expected a density between 0 and 1"),
        (["--correlated-with", "transe"], "expected correlated_with among the systems"),
    ],
)
def test_withstand_refuses_in_one_line(folder, capsys, options, message):
    """With what was found."""
    assert message in refusal(capsys, "meta", "withstand", folder / "C", folder / "ranks", *options)
