"""kgtrec rank, from the command line to the files."""

from __future__ import annotations

import shutil
from functools import partial

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.runs import read_run
from kgtrec.ranking.rank import rank_scores
from tests.program import exit_code, refusal
from tests.trees import tree

TRAIN = [("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "knows", "ann")]
TEST = [("ann", "likes", "jam"), ("bob", "knows", "cid"), ("cid", "likes", "tea")]


@pytest.fixture
def collection(tmp_path):
    """Five entities, six questions, written to C."""
    made = build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST))
    write_collection(tmp_path / "C", made)
    return made


@pytest.fixture
def matrix(tmp_path, collection):
    """Scores with ties, written to a.npy; topics.tsv and entities.txt beside it tell their order."""
    scores = np.random.default_rng(8).integers(0, 3, (6, 5)).astype(np.float32)
    np.save(tmp_path / "a.npy", scores)
    copy_order(tmp_path, tmp_path)
    return scores


def copy_order(tmp_path, folder):
    for name in ("topics.tsv", "entities.txt"):
        shutil.copy(tmp_path / "C" / name, folder)


run = partial(exit_code, "rank")


def rows(ranks):
    labels = ranks.questions.decode(ranks.question).to_pylist(), ranks.entities.decode(ranks.entity).to_pylist()
    return list(zip(*labels, ranks.above.tolist(), ranks.tied.tolist(), ranks.n_other.tolist(), strict=True))


def lists(system_run):
    labels = system_run.questions.decode(system_run.question), system_run.entities.decode(system_run.entity)
    return list(zip(*(column.to_pylist() for column in labels), system_run.score.tolist(), strict=True))


@pytest.mark.parametrize("block", [[], ["--block", "1"], ["--block", "4"]])
def test_files_hold_what_the_verb_gives(tmp_path, collection, matrix, block):
    """NAME.ranks.parquet and NAME.run.gz, for any block size, under the name of the scores' file."""
    assert run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / "out", *block) == 0
    expected = rank_scores(collection, matrix, questions=collection, entities=collection, name="a")
    ranks = read_answer_ranks(tmp_path / "out" / "a.ranks.parquet")
    assert rows(ranks) == rows(expected.answer_ranks)
    assert (ranks.name, ranks.filtered_by, ranks.collection) == ("a", ("train", "valid", "test"), collection.stamp)
    written = read_run(tmp_path / "out" / "a.run.gz")
    assert lists(written) == lists(expected.run)
    assert sorted(tree(tmp_path / "out")) == ["a.ranks.parquet", "a.run.gz", "a.run.gz.json"]


def test_bytes_do_not_depend_on_the_block(tmp_path, matrix):
    """The same scores in blocks of one and of all make the same files."""
    for block in (1, 100):
        run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / str(block), "--block", block)
    for name in ("a.ranks.parquet", "a.run.gz"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "100" / name).read_bytes()


@pytest.mark.parametrize(
    ("value", "splits"), [("raw", ()), ("train", ("train",)), ("valid, train", ("train", "valid"))]
)
def test_filters(tmp_path, collection, matrix, value, splits):
    """--filter names the splits that are removed."""
    assert run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path, "--filter", value, "--depth", 0) == 0
    ranks = read_answer_ranks(tmp_path / "a.ranks.parquet")
    assert ranks.filtered_by == splits
    assert rows(ranks) == rows(
        rank_scores(collection, matrix, questions=collection, entities=collection, filtered_by=splits).answer_ranks
    )
    assert not list(tmp_path.glob("a.run*"))


@pytest.mark.parametrize("form", ["run", "run.zst", "parquet"])
def test_run_formats(tmp_path, collection, matrix, form):
    """--run-format is the suffix of the run."""
    assert run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / "o", "--run-format", form, "--depth", 2) == 0
    assert lists(read_run(tmp_path / "o" / f"a.{form}")) == lists(
        rank_scores(collection, matrix, questions=collection, entities=collection, depth=2).run
    )


def test_folders_and_several_systems(tmp_path, matrix):
    """A folder stands for its .npz and .npy files."""
    (tmp_path / "s").mkdir()
    for name in ("x.npy", "y.npy"):
        shutil.copy(tmp_path / "a.npy", tmp_path / "s" / name)
    (tmp_path / "s" / "readme.txt").write_text("not scores")
    copy_order(tmp_path, tmp_path / "s")
    assert run(tmp_path / "C", tmp_path / "s", tmp_path / "a.npy", "--out", tmp_path / "o", "--depth", 0) == 0
    assert sorted(tree(tmp_path / "o")) == [f"{name}.ranks.parquet" for name in "axy"]


def test_judged_pairs_get_rows(tmp_path, collection, matrix):
    """--judged adds pairs that are no answers."""
    (tmp_path / "more.qrels").write_text("head0 0 cid 0\nhead0 0 tea 1\n")
    code = run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path, "--judged", tmp_path / "more.qrels", "--depth", 0)
    ranks = read_answer_ranks(tmp_path / "a.ranks.parquet")
    assert code == 0
    assert len(ranks) == len(collection.qrels) + 2
    assert np.count_nonzero(~ranks.answer) == 2


ORDERED = ("a.npy", "topics.tsv", "entities.txt")


def with_nan(folder):
    scores = np.load(folder / "a.npy")
    scores[5, 1] = np.nan
    np.save(folder / "a.npy", scores)


WRONG = {
    "nan": (with_nan, ["a.npy"], "a.npy: expected numbers as scores, found NaN for question 'tail2', entity 'tea'"),
    "shape": (
        lambda folder: np.save(folder / "b.npy", np.zeros((2, 2))),
        ["a.npy", "b.npy"],
        "b.npy: expected a matrix of 6 questions x 5 entities, as in the files of its order, found 2 x 2",
    ),
    "names": (
        lambda folder: (folder / "b").mkdir() or [shutil.copy(folder / name, folder / "b") for name in ORDERED],
        ["a.npy", "b"],
        "expected systems of different names, found 'a' twice",
    ),
    "suffix": (lambda folder: (folder / "a.txt").write_text("?"), ["a.txt"], "a.txt: expected scores, a trained"),
    "empty folder": (lambda f: (f / "b").mkdir(), ["b"], "b: expected scores, a trained model, ranked lists or ranks"),
    "absent": (lambda _: None, ["b.npy"], "b.npy: no such file or folder"),
    "white space": (lambda folder: shutil.copy(folder / "a.npy", folder / "a b.npy"), ["a b.npy"], "'a b'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, matrix, case, capsys):
    """And no file is left, not even of the systems before the wrong one, nor half a run."""
    spoil, scores, message = WRONG[case]
    spoil(tmp_path)
    paths = [tmp_path / score for score in scores]
    error = refusal(capsys, "rank", tmp_path / "C", *paths, "--out", tmp_path / "o", "--block", 1)
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "o").exists()


def test_neither_file_is_left_where_one_cannot_be_written(tmp_path, matrix, capsys):
    """Whichever of the two it is."""
    (tmp_path / "o" / "a.ranks.parquet").mkdir(parents=True)
    assert run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / "o") == 2
    assert capsys.readouterr().err.endswith("a.ranks.parquet: expected a file to write, found a folder\n")
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["a.ranks.parquet"]


@pytest.mark.parametrize("name", ["a.ranks.parquet", "a.run.gz"])
def test_what_is_no_output_of_rank_is_never_replaced(tmp_path, matrix, name, capsys):
    """Both files are checked before anything is computed."""
    folder, words = tmp_path / "o", [tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / "o"]
    folder.mkdir()
    (folder / name).write_bytes(b"mine")
    kind = "answer ranks" if name == "a.ranks.parquet" else "a run"
    for force in ([], ["--force"]):
        assert run(*words, *force) == 2
        told = f"{name}: holds something else than {kind}, which stays; choose another name\n"
        assert capsys.readouterr().err.endswith(told)
    assert tree(folder) == {name: b"mine"}


def test_an_unknown_filter(tmp_path, matrix, capsys):
    """The nearest name is offered."""
    assert run(tmp_path / "C", tmp_path / "a.npy", "--out", tmp_path / "o", "--filter", "trian") == 2
    assert "found 'trian'; did you mean train?" in capsys.readouterr().err


def test_trust_without_a_source_is_refused(tmp_path, collection, capsys):
    """It would do nothing for a baseline."""
    assert run(tmp_path / "C", "--baseline", "popularity", "--trust", "--out", tmp_path / "o") == 2
    assert "found --trust with no SOURCE" in capsys.readouterr().err
