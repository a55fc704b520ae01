"""kgtrec align, from the command line to the files."""

from __future__ import annotations

import csv
import warnings
from functools import partial

import numpy as np
import pytest

from kgtrec.alignment.align import align, alignment_collection
from kgtrec.data.alignments import Alignments, EntityVectors
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import read_collection
from tests.program import exit_code, kgtrec, refusal

N = 12
IS_TEST = np.arange(N) % 3 > 0
ALIGNMENTS = Alignments.by_row(N, N, IS_TEST)


@pytest.fixture
def vectors(tmp_path):
    """Two systems with ties, saved as a.npz and b.npz."""
    made = {}
    for seed, name in enumerate("ab"):
        rng = np.random.default_rng(seed)
        left = rng.integers(0, 4, (N, 3)).astype(np.float16)
        made[name] = EntityVectors(left, (left + rng.integers(0, 2, (N, 3))).astype(np.float16))
        np.savez(tmp_path / f"{name}.npz", left=made[name].left, right=made[name].right, is_test=IS_TEST)
    return made


run = partial(exit_code, "align")


def records(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def columns(ranks):
    return [getattr(ranks, name).tolist() for name in ("above", "tied", "n_other", "score")] + [
        ranks.questions.decode(ranks.question).to_pylist(),
        ranks.entities.decode(ranks.entity).to_pylist(),
    ]


@pytest.mark.parametrize("candidates", ["test", "all"])
def test_files_hold_what_the_verb_gives(tmp_path, vectors, candidates):
    """Ranks of each system beside one collection, from which kgtrec evaluate scores them."""
    out = tmp_path / "out"
    given = [tmp_path / "a.npz", tmp_path / "b.npz", "--similarity", "neg-l1", "--candidates", candidates]
    assert run(*given, "--out", out) == 0
    collection = read_collection(out / "collection")
    assert collection.fingerprint == alignment_collection(ALIGNMENTS, candidates=candidates).fingerprint
    for name, system in vectors.items():
        expected = align(system, ALIGNMENTS, similarity="neg-l1", candidates=candidates, name=name)
        written = read_answer_ranks(out / f"{name}.ranks.parquet")
        assert columns(written) == columns(expected)
        assert written.collection == collection.stamp
    kgtrec("evaluate", out / "collection", out / "a.ranks.parquet", "--per", "side", "--out", tmp_path / "s.csv")
    rows = records(tmp_path / "s.csv")
    assert {row["side"] for row in rows} == {"head", "tail"}
    assert (
        f"{N if candidates == 'all' else IS_TEST.sum()} right ones" in (out / "collection" / "report.txt").read_text()
    )


def test_alignments_labels_and_other_forms(tmp_path, vectors):
    """A matrix, and a folder of two matrices, with files of labels and alignments: the ranks of the archive."""
    one = vectors["a"]
    np.save(tmp_path / "m.npy", -np.abs(one.left[:, None].astype(float) - one.right[None]).sum(axis=2))
    (tmp_path / "f").mkdir()
    for side in ("left", "right"):
        np.save(tmp_path / "f" / f"{side}.npy", getattr(one, side))
        (tmp_path / f"{side}.txt").write_text("".join(f"{side[0]}{row}\tmore\n" for row in range(N)))
    for name, rows in (("test", ALIGNMENTS.test), ("train", ALIGNMENTS.train)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"l{left}\tr{right}\n" for left, right in rows))
    options = [
        "--alignments",
        tmp_path / "test.tsv",
        "--train",
        tmp_path / "train.tsv",
        "--left-labels",
        tmp_path / "left.txt",
        "--right-labels",
        tmp_path / "right.txt",
    ]
    out = tmp_path / "out"
    assert run(tmp_path / "m.npy", tmp_path / "f", *options, "--similarity", "neg-l1", "--out", out) == 0
    matrix, folder = (read_answer_ranks(out / f"{name}.ranks.parquet") for name in "mf")
    expected = align(one, ALIGNMENTS, similarity="neg-l1")
    assert columns(matrix)[:4] == columns(folder)[:4] == columns(expected)[:4]
    assert matrix.entities[0] == "l1"


def test_a_study_writes_tables_and_prints_the_summary(tmp_path, vectors, capsys):
    """study.csv has a row per system, set and measure; the largest size gives what evaluate gives."""
    out = tmp_path / "out"
    code = run(
        tmp_path / "a.npz",
        tmp_path / "b.npz",
        "--out",
        out,
        "--by-size",
        "2,0.5,1.0",
        "--repeats",
        3,
        "-m",
        "micro.MR",
        "-m",
        "macro.MRR",
    )
    assert code == 0
    rows = records(out / "study.csv")
    assert len(rows) == 2 * 3 * 3 * 2
    assert {row["size"] for row in rows} == {"2", "4", "8"}
    collection = read_collection(out / "collection")
    ranks = read_answer_ranks(out / "b.ranks.parquet").renamed("b")
    expected = evaluate(collection, ranks, "micro.MR").value("b", "micro.MR")
    found = {
        float(row["value"])
        for row in rows
        if row["system"] == "b" and row["size"] == "8" and row["measure"] == "micro.MR"
    }
    assert found == {expected}
    summary = records(out / "study-summary.csv")
    assert list(summary[0]) == ["system", "measure", "size", "repeats", "mean", "low", "high"]
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 1 + len(summary) == 1 + 2 * 3 * 2


def test_a_study_has_measures_of_its_own(tmp_path, vectors):
    """Without -m, the mean rank and Hits@1 are among them."""
    assert run(tmp_path / "a.npz", "--out", tmp_path / "o", "--by-size", "1.0") == 0
    measures = {row["measure"] for row in records(tmp_path / "o" / "study.csv")}
    assert {"micro.MR", "micro.Hits@1"} <= measures


def test_same_input_same_bytes(tmp_path, vectors):
    """Ranks and studies are equal to the byte; another seed draws other sets."""
    for folder, seed, block in (("x", 1, 100), ("y", 1, 3), ("z", 2, 100)):
        run(
            tmp_path / "a.npz",
            "--out",
            tmp_path / folder,
            "--by-size",
            "4",
            "--seed",
            seed,
            "--block",
            block,
            "-m",
            "micro.MR",
        )
    names = ("a.ranks.parquet", "study.csv", "study-summary.csv")
    x, y, z = ({name: (tmp_path / folder / name).read_bytes() for name in names} for folder in "xyz")
    assert x == y
    assert x["study.csv"] != z["study.csv"]


def test_a_second_system_joins_the_collection(tmp_path, vectors, capsys):
    """The same alignments: the collection stays. Others: refused, or replaced with --force."""
    out = tmp_path / "out"
    assert run(tmp_path / "a.npz", "--out", out) == run(tmp_path / "b.npz", "--out", out) == 0
    before = (out / "collection" / "manifest.json").read_bytes()
    (out / "b.ranks.parquet").unlink()
    assert run(tmp_path / "b.npz", "--out", out, "--candidates", "all") == 2
    assert "expected no collection with other alignments or candidates, found one" in capsys.readouterr().err
    assert (out / "collection" / "manifest.json").read_bytes() == before
    assert run(tmp_path / "b.npz", "--out", out, "--candidates", "all", "--force") == 0
    assert (out / "collection" / "manifest.json").read_bytes() != before


def other_alignments(folder):
    archive = dict(np.load(folder / "b.npz"))
    np.savez(folder / "b.npz", **{**archive, "is_test": ~IS_TEST})


WRONG = {
    "suffix": (None, ["a.txt"], "a.txt: expected vectors (.npz, or a folder with left.npy and right.npy)"),
    "empty": (lambda f: (f / "e").mkdir(), ["e"], "e: expected .npz or .npy files in this folder, found none"),
    "others": (other_alignments, ["a.npz", "b.npz"], "b.npz: expected the same alignments as in"),
    "names": (None, ["a.npz", "a.npz"], "expected systems of different names, found 'a' twice"),
    "sizes": (None, ["a.npz", "--by-size", "0.5,x"], "expected numbers, shares such as 0.05, or percentages such"),
    "zero": (None, ["a.npz", "--by-size", "0"], "a.npz: expected sizes of 1 to 8 test alignments, or of a share"),
    "too many": (None, ["a.npz", "--by-size", "99", "-m", "micro.MR"], "a.npz: expected sizes of 1 to 8 test align"),
    "all": (None, ["a.npz", "--by-size", "1.0", "--candidates", "all"], "expected --candidates test together"),
    "measure": (None, ["a.npz", "-m", "micro.MR"], "expected --by-size together with -m"),
    "misspelt": (None, ["a.npz", "-m", "micro.MRRR", "--by-size", "1.0"], "error: unknown measure 'micro.MRRR'"),
    "train": (None, ["a.npz", "--train", "x.tsv"], "expected --alignments together with --train"),
    "labels": (
        lambda f: (f / "l.txt").write_text("x\n"),
        ["a.npz", "--left-labels", "l.txt"],
        "l.txt: expected a label for each of the 12 left entities, found 1",
    ),
    "rectangle": (lambda f: np.save(f / "m.npy", np.ones((2, 3))), ["m.npy"], "m.npy: expected as many left rows"),
    "similarities": (
        lambda f: np.save(f / "m.npy", np.array([[1, np.nan], [0, 1]])),
        ["m.npy"],
        "m.npy: expected numbers as scores, found NaN for question",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_line_for_what_is_wrong(tmp_path, vectors, monkeypatch, capsys, case):
    """Exit code 2 and one line that says where, what and the way out; no ranks are written."""
    make, args, message = WRONG[case]
    monkeypatch.chdir(tmp_path)
    if make:
        make(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # main shows warnings its own way
        assert run(*args, "--out", "out") == 2
    err = capsys.readouterr().err.splitlines()
    assert message in err[-1]
    assert not list(tmp_path.glob("out/m.ranks.parquet"))


@pytest.mark.parametrize(
    "words",
    [["chance", "C"], ["rank", "C", "--baseline", "popularity", "--out", "x"], ["rank", "C", "s.npy", "--out", "x"]],
    ids=["chance", "rank baseline", "rank"],
)
def test_other_commands_refuse_an_alignment_collection(tmp_path, vectors, capsys, monkeypatch, words):
    """Its candidates are one side's entities, which they would not know: a wrong number is worse than none."""
    monkeypatch.chdir(tmp_path)
    assert run("a.npz", "--out", "out") == 0
    questions = len(read_collection("out/collection").questions)
    np.save("s.npy", np.zeros((questions, 2 * N)))
    assert "entity alignment" in refusal(capsys, *(word.replace("C", "out/collection") for word in words))
    assert not (tmp_path / "x").exists()
