"""Factor folders whose arrays are in shards: the same bytes as of whole arrays, which are never joined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.cli import main
from kgtrec.errors import FormatError
from kgtrec.formats.collections import write_collection
from kgtrec.formats.factor_folders import read_factor_folder, write_factor_folder
from kgtrec.kernels.ranking.panels import PANEL
from kgtrec.kernels.rows import JoinedRows
from kgtrec.ranking.rank import joined
from kgtrec.ranking.system import grid_of, rank_system
from kgtrec.systems import read_system
from kgtrec.systems.formulas import FORMULAS
from tests.executors import Copying
from tests.ranking.test_tiles import columns, world
from tests.systems.test_factor_folders import folder_of
from tests.trees import tree

ARRAYS = ("E", "b", "R")


def cut(rng, rows):
    """The same rows in parts of any size."""
    n = min(len(rows) - 1, int(rng.integers(0, 5)))
    if n < 1:
        return rows
    return JoinedRows(np.split(rows, sorted(rng.choice(np.arange(1, len(rows)), n, replace=False))))


def tied(rng, made, dtype):
    """Vectors of few values, so that scores tie."""
    arrays = {name: rng.integers(-1, 2, getattr(made, name).shape).astype(dtype) for name in ARRAYS}
    return replace(made, **arrays)


@given(seed=st.integers(0, 2**32))
def test_joined_rows_are_those_of_the_whole_array(seed):
    """Slices with any bounds and steps, and rows in any order, some of them twice."""
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(int(rng.integers(1, 12)), *([2] * int(rng.integers(0, 3)))))
    rows = cut(rng, whole)
    assert (rows.shape, rows.dtype, len(rows)) == (whole.shape, whole.dtype, len(whole))
    first, last, step = (int(number) for number in rng.integers(-14, 14, 3))
    for asked in (slice(first, last), slice(first, last, step or None), rng.integers(0, len(whole), 7), slice(None)):
        np.testing.assert_array_equal(rows[asked], whole[asked])
    if isinstance(rows, JoinedRows):
        with pytest.raises(IndexError, match=f"expected rows from 0 to {len(whole) - 1}, found"):
            rows[np.array([0, len(whole)])]


@pytest.mark.slow
@pytest.mark.parametrize("score", sorted(FORMULAS))
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from([np.float16, np.float32, np.float64]),
    n_shards=st.integers(1, 3),
    has_ties=st.booleans(),
)
def test_shards_are_ranked_as_the_whole(score, seed, dtype, n_shards, has_ties):
    """By one process, and by others in any number of shards of the work, to which the files travel as their names."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 5, 12)
    made = folder_of(rng, collection, score, reciprocal=bool(rng.integers(2)), dtype=dtype)
    if has_ties:
        made = tied(rng, made, dtype)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_factor_folder(folder / "whole" / "model", made)
        write_factor_folder(
            folder / "cut" / "model", replace(made, **{name: cut(rng, getattr(made, name)) for name in ARRAYS})
        )
        expected = columns(rank_system(collection, read_system(folder / "whole" / "model"), depth=5, block=3))
        system = read_system(folder / "cut" / "model")
        assert columns(rank_system(collection, system, depth=5, block=3)) == expected
        grid, unfinished = grid_of(collection, system, depth=5, block=3), folder / "unfinished"
        grid.tiling = replace(grid.tiling, n_shards=n_shards)
        assert columns(joined(list(grid.parts(executor=Copying(), unfinished=unfinished)))) == expected
        written = [np.load(path).shape for path in unfinished.glob("array-*.npy")]
        assert written == [(len(grid.candidates),)] * 2, "the order of the entities, and none of the model's arrays"


def test_no_more_than_a_panel_is_taken_from_shards(tmp_path, monkeypatch):
    """Of a model of several panels, in shards that do not end with them, for any number of shards of the work."""
    rng = np.random.default_rng(5)
    collection = world(rng, 3, 4 * PANEL)
    made = folder_of(rng, collection, "complex", dtype=np.float16)
    places = [700, 701, 2500]
    write_factor_folder(tmp_path / "whole" / "model", made)
    cuts = {"E": JoinedRows(np.split(made.E, places)), "b": JoinedRows(np.split(made.b, places[1:]))}
    write_factor_folder(tmp_path / "cut" / "model", replace(made, **cuts))
    taken, between = [], JoinedRows._between

    def counting(rows, first, last):
        taken.append(last - first)
        return between(rows, first, last)

    monkeypatch.setattr(JoinedRows, "_between", counting)
    expected = columns(rank_system(collection, read_system(tmp_path / "whole" / "model"), depth=50))
    assert not taken
    system = read_system(tmp_path / "cut" / "model")
    assert all(isinstance(part, np.memmap) for part in system.E.parts)
    assert columns(rank_system(collection, system, depth=50)) == expected
    grid = grid_of(collection, system, depth=50)
    grid.tiling = replace(grid.tiling, n_shards=3)
    assert columns(joined(list(grid.parts(executor=Copying())))) == expected
    assert max(taken) == PANEL


@pytest.mark.slow  # processes are started
def test_shards_give_the_same_files_by_any_number_of_workers(tmp_path, monkeypatch):
    """Answer ranks and runs, by one process and by two; and of a folder made from the shards."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    collection = world(rng, 6, 20)
    write_collection("C", collection)
    made = tied(rng, folder_of(rng, collection, "transe-squared"), np.float16)
    write_factor_folder("whole/model", made)
    write_factor_folder("cut/model", replace(made, E=JoinedRows(np.split(made.E, [3, 4, 15]))))
    main(["rank", "C", "whole/model", "--out", "expected"])
    main(["rank", "C", "cut/model", "--out", "one"])
    main(["rank", "C", "cut/model", "--out", "two", "--workers", "2"])
    main(["convert", "cut/model", "again/model", "--to", "factors"])
    assert tree(Path("cut/model")) == tree(Path("again/model"))
    for name in ("one", "two"):
        assert tree(tmp_path / name) == tree(tmp_path / "expected")


def test_vectors_of_questions_may_be_in_shards_too(tmp_path):
    rng = np.random.default_rng(7)
    collection = world(rng, 6, 9)
    asked = collection.questions
    made = replace(
        folder_of(rng, collection, "distmult"),
        score="query",
        R=None,
        entities=collection.entities,
        Q=rng.normal(size=(len(asked), 4)),
        questions=np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32),
    )
    write_factor_folder(tmp_path / "whole" / "model", made)
    cuts = {name: JoinedRows(np.split(getattr(made, name), [2])) for name in ("E", "b", "Q", "questions")}
    write_factor_folder(tmp_path / "cut" / "model", replace(made, **cuts))
    assert (tmp_path / "cut" / "model" / "questions-00001.npy").is_file()
    whole, parts = (
        columns(rank_system(collection, read_system(tmp_path / name / "model"), depth=5)) for name in ("whole", "cut")
    )
    assert whole == parts


def _number(folder, number, name="E"):
    return folder / f"{name}-{number:05}.npy"


def _save(number, array):
    return lambda folder: np.save(_number(folder, number), array)


def _truncate(folder):
    path = _number(folder, 1)
    path.write_bytes(path.read_bytes()[:-3])


def _twice(folder):
    _number(folder, 1).rename(folder / "E-1.npy")
    np.save(folder / "E-01.npy", np.zeros((3, 4), np.float32))


def _number_from_one(folder):
    for number in (2, 1, 0):
        _number(folder, number).rename(_number(folder, number + 1))


OF_ONE_MODEL = (
    "expected rows of float32 and of the shape (4,), as in E-00000.npy, found {}; write all shards again from one "
    "model, each with rows"
)
BAD_SHARDS = {
    "the last is missing": (
        lambda folder: _number(folder, 2).unlink(),
        "",
        "expected one row for each entity in E-00000.npy to E-00001.npy, 9, found shape (6, 4); is a shard missing?",
    ),
    "one between is missing": (
        lambda folder: _number(folder, 1).unlink(),
        "",
        "expected shards of E numbered from 0 without a gap, found E-00000.npy, E-00002.npy and no E-00001.npy; add "
        "what is missing, or number them again in the order of the labels",
    ),
    "numbered from 1": (
        _number_from_one,
        "",
        "expected shards of E numbered from 0 without a gap, found E-00001.npy, E-00002.npy, E-00003.npy and no "
        "E-00000.npy; add what is missing, or number them again in the order of the labels",
    ),
    "a number twice": (_twice, "", "expected one shard 1 of E, found E-01.npy and E-1.npy; remove one"),
    "another width": (
        _save(1, np.zeros((3, 5), np.float32)),
        "E-00001.npy",
        OF_ONE_MODEL.format("float32 and the shape (3, 5)"),
    ),
    "another type": (
        _save(2, np.zeros((3, 4), np.float64)),
        "E-00002.npy",
        OF_ONE_MODEL.format("float64 and the shape (3, 4)"),
    ),
    "empty": (
        _save(1, np.zeros((0, 4), np.float32)),
        "E-00001.npy",
        OF_ONE_MODEL.format("float32 and the shape (0, 4)"),
    ),
    "a single number": (
        _save(0, np.float32(1)),
        "E-00000.npy",
        OF_ONE_MODEL.replace("(4,)", "()").format("float32 and the shape ()"),
    ),
    "truncated": (
        _truncate,
        "E-00001.npy",
        "expected a whole .npy array of numbers, found other or cut-off data (mmap length is greater than "
        "file size); copy or write the file again",
    ),
    "no array": (
        lambda folder: _number(folder, 1).write_bytes(b"text"),
        "E-00001.npy",
        "expected a whole .npy array of numbers, found other or cut-off data (the array does not begin like an array "
        "of numpy: b'text'); copy or write the file again",
    ),
    "the whole too": (
        lambda folder: np.save(folder / "E.npy", np.zeros((9, 4), np.float32)),
        "",
        "expected E.npy or shards of it, found both, such as E-00000.npy; remove what is outdated",
    ),
}


@pytest.mark.parametrize("name", BAD_SHARDS)
def test_shards_that_do_not_fit_are_refused(tmp_path, name):
    """The error names the file, what was expected and found, and the way out."""
    spoil, place, told = BAD_SHARDS[name]
    rng = np.random.default_rng(8)
    made = folder_of(rng, world(rng, 4, 9), "distmult")
    folder = tmp_path / "model"
    write_factor_folder(folder, replace(made, E=JoinedRows(np.split(made.E, 3))))
    assert read_factor_folder(folder).E.shape == (9, 4)
    spoil(folder)
    with pytest.raises(FormatError) as caught:
        read_system(folder)
    assert str(caught.value) == f"{folder / place if place else folder}: {told}"
