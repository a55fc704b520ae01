from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from kgtrec.formats.answer_ranks import write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.qrels import write_qrels
from kgtrec.meta.stability import stability
from tests.meta.test_sparsity import LABELS
from tests.meta.test_stability import study_set
from tests.program import kgtrec, printed_by, refusal

COLLECTION, SYSTEMS = study_set(n_systems=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection, its systems' ranks, and qrels at two depths."""
    path = tmp_path_factory.mktemp("study")
    write_collection(path / "C", COLLECTION)
    (path / "ranks").mkdir()
    (path / "depths").mkdir()
    for ranks in SYSTEMS:
        write_answer_ranks(path / "ranks" / f"{ranks.name}.ranks.parquet", ranks)
    write_qrels(path / "depths" / "qrels.depth0.txt", LABELS["sparse"])
    write_qrels(path / "depths" / "qrels.depth10.txt", LABELS["full"])
    return path


def test_stability_writes_what_the_function_says(folder, capsys):
    """The CSV holds the summary at full precision; the table the means."""
    inputs = [str(folder / "C"), str(folder / "ranks"), "-m", "micro.MRR AP", "--sizes", "10% 30", "--repeats", "4"]
    expected = stability(COLLECTION, SYSTEMS, "micro.MRR AP", sizes=[0.1, 30], repeats=4)
    rows = list(csv.DictReader(io.StringIO(printed_by(capsys, "meta", "stability", *inputs, "--format", "csv"))))
    assert [float(row["mean"]) for row in rows] == expected.mean.ravel().tolist()
    assert [int(row["triples"]) for row in rows] == [6, 30, 6, 30]
    table = printed_by(capsys, "meta", "stability", *inputs)
    assert table.splitlines()[2].split() == ["share", "triples", "micro.MRR", "AP"]
    assert f"{expected.mean[0, 0]:.4f}" in table
    kgtrec("meta", "stability", *inputs, "--format", "json", "--table", "repeats")
    assert len(json.loads(capsys.readouterr().out)) == 16
    kgtrec("meta", "stability", *inputs, "--table", "scores")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1] == ["measure", "system", "share", "triples", "full", "mean"]
    assert (rows[-1][:2], rows[-1][4]) == (["AP", SYSTEMS[-1].name], f"{expected.full[1, -1]:.4f}")


def test_stability_takes_qrels_with_a_collection(folder, capsys):
    """A file of qrels does not tell triples."""
    qrels, ranks = str(folder / "depths" / "qrels.depth10.txt"), str(folder / "ranks")
    short = ["-m", "AP", "--sizes", "0.5", "--repeats", "2"]
    kgtrec("meta", "stability", qrels, ranks, "--collection", folder / "C", *short)
    assert "give a collection" in refusal(capsys, "meta", "stability", qrels, ranks, *short)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "a lot"], "expected numbers, shares such as 0.05, or percentages such as 5%, found 'a'"),
        (["--sizes", "0%"], "expected sizes of 1 to 60 test triples"),
    ],
)
def test_stability_refuses_in_one_line(folder, capsys, options, message):
    assert message in refusal(capsys, "meta", "stability", folder / "C", folder / "ranks", *options)


def test_sparsity_reads_the_depths_of_a_folder(folder, capsys):
    """Label sets are called depth0 and depth10; parts need the collection."""
    depths, ranks = str(folder / "depths"), str(folder / "ranks")
    lines = printed_by(capsys, "meta", "sparsity", depths, "--systems", ranks, "-m", "micro.MRR").splitlines()
    assert lines[0] == "tau to depth0; 4 systems"
    assert lines[2].split() == ["measure", "depth0", "depth10"]
    assert lines[3].split()[:2] == ["micro.MRR", "1.0000"]
    more = ["--collection", str(folder / "C"), "--per", "side", "--relations", "depth0", "--format", "csv"]
    kgtrec("meta", "sparsity", depths, "--systems", ranks, "-m", "micro.MRR", *more)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["second"], row["side"]) for row in rows] == [
        ("depth0", "head"),
        ("depth10", "head"),
        ("depth0", "tail"),
        ("depth10", "tail"),
    ]


def test_sparsity_reads_tables(tmp_path, capsys):
    """Two files of one name go by their folders; a key column tells the label sets of one table apart."""
    rng = np.random.default_rng(0)
    for name in ("S", "SC"):
        (tmp_path / name).mkdir()
        rows = [f"s{i},{rng.random()},{rng.random()}" for i in range(4)]
        (tmp_path / name / "evaluation.csv").write_text("\n".join(["System,micro_mrr,map", *rows]) + "\n")
    kgtrec("meta", "sparsity", *(str(tmp_path / name / "evaluation.csv") for name in ("S", "SC")))
    assert "tau to S; 4 systems" in capsys.readouterr().out
    rows = [f"s{i},{depth},{rng.random()}" for i in range(4) for depth in (0, 1)]
    (tmp_path / "depths.csv").write_text("\n".join(["System,round,map", *rows]) + "\n")
    kgtrec("meta", "sparsity", tmp_path / "depths.csv", "--by", "round", "--format", "latex")
    assert r"measure & 0 & 1 \\" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "expected a table of scores, with a column System, or systems to score"),
        (["--systems", "ranks", "--relations", "full"], "expected a label set (depth0, depth10) or a file of shares"),
        (["--per", "side"], "found --per with tables of scores"),
    ],
)
def test_sparsity_refuses_in_one_line(folder, capsys, monkeypatch, options, message):
    monkeypatch.chdir(folder)
    assert message in refusal(capsys, "meta", "sparsity", "depths", *options)
