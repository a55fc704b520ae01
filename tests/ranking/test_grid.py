"""Blocks of a ranking: the same numbers whoever counts them, and however often it is interrupted."""

from __future__ import annotations

import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children

import numpy as np
import pytest

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.numpy_files import mapped_rows
from kgtrec.kernels.ranking import panels
from kgtrec.kernels.ranking.comparisons import PRODUCT, MinusSquares
from kgtrec.ranking import grid as module
from kgtrec.ranking.grid import CountTiles
from kgtrec.ranking.rank import joined
from kgtrec.ranking.tiles import Tiling
from kgtrec.systems.kinds import Factors
from kgtrec.workers import results
from tests.executors import threads
from tests.ranking.test_tiles import columns, grid_of, model, wide_model, world


def made(seed=0, dtype=np.float32, comparison=PRODUCT, depth=5, n_shards=3):
    """Nine questions in blocks of two, forty entities."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 9, 40)
    factors = model(rng, collection, comparison, n_unknown=2, n_extra=2, dtype=dtype)
    return grid_of(collection, factors, Tiling(2, 8, n_shards, panel=4), depth)


@pytest.fixture
def grid():
    return made()


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """As if all took long: processes are started, and blocks are kept, after the first."""
    monkeypatch.setattr(results, "_WORTH", 0)


def ranks_of(grid, **options):
    return columns(joined(list(grid.parts(**options))))


def interrupted(grid, n, folder):
    """Rank some blocks only."""
    parts = grid.parts(unfinished=folder)
    for _ in range(n):
        next(parts)
    parts.close()


def blocks_in(folder):
    return sorted(path.name for path in folder.glob("*.block"))


@pytest.fixture
def counted(monkeypatch):
    """The questions of each tile that is counted in this process."""
    found, count = [], module.count_tile

    def counting(candidates, block, *others):
        found.append(block.rows.tolist())
        return count(candidates, block, *others)

    monkeypatch.setattr(module, "count_tile", counting)
    return found


def test_threads_give_the_same_and_each_block_in_its_turn(grid):
    told = []
    assert ranks_of(grid, executor=threads, progress=told.append) == ranks_of(grid)
    assert told == [grid.n_questions(number) for number in range(len(grid))]


@pytest.mark.parametrize("folder", [True, False])
def test_processes_give_the_same(grid, tmp_path, folder):
    """With the vectors in a file, or sent to each."""
    unfinished = tmp_path / "m.unfinished" if folder else None
    assert ranks_of(grid, workers=2, unfinished=unfinished) == ranks_of(grid)
    if folder:
        assert len(list(unfinished.glob("array-*.npy"))) == (3 if grid.candidates.vectors.b is None else 4)


@pytest.mark.slow
def test_a_process_that_is_killed_three_times_changes_nothing(tmp_path):
    """With a block or more done each time; new processes do the rest."""
    rng = np.random.default_rng(4)
    collection = world(rng, 40, 60)
    grid = grid_of(collection, model(rng, collection, PRODUCT), Tiling(1, 1024), 3)
    others, killed, found = set(active_children()), [], []
    for part in grid.parts(workers=2, unfinished=tmp_path / "m.unfinished"):
        found.append(part)
        own = [process.pid for process in set(active_children()) - others if process.pid not in killed]
        if own and len(killed) < 3:
            os.kill(own[0], signal.SIGKILL)
            killed.append(own[0])
    assert columns(joined(found)) == ranks_of(grid)
    assert len(killed) == 3


@pytest.mark.parametrize("n", range(1, 6))
def test_an_interrupted_ranking_goes_on(grid, tmp_path, counted, n):
    """Blocks that are finished are not counted again; the others are, by whoever goes on."""
    expected, folder = ranks_of(grid), tmp_path / "m.unfinished"
    interrupted(grid, n, folder)
    done = {int(name.split("-")[0]) for name in blocks_in(folder)}
    assert done == set(range(n))
    counted.clear()
    assert ranks_of(made(), unfinished=folder) == expected
    again = [rows for number in range(len(grid)) if number not in done for rows in [grid.block(number).rows.tolist()]]
    assert counted == [rows for rows in again for _ in range(3)]
    interrupted(grid, n, folder)
    assert ranks_of(made(), unfinished=folder, executor=threads) == expected


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"dtype": np.float64}, {"comparison": MinusSquares()}, {"depth": 6}, {"depth": 0}], ids=str
)
def test_blocks_of_other_scores_or_options_are_not_joined(tmp_path, other):
    """They are removed, with a word."""
    folder = tmp_path / "m.unfinished"
    interrupted(made(**other), 4, folder)
    theirs = blocks_in(folder)
    with pytest.warns(KgtrecWarning, match=r"m\.unfinished:.*found blocks of other"):
        found = ranks_of(made(), unfinished=folder)
    assert found == ranks_of(made())
    assert theirs
    assert not set(theirs) & set(blocks_in(folder))


@pytest.mark.parametrize("array", ["E", "b", "queries", "answers"])
def test_one_number_that_differs_makes_another_block(tmp_path, array):
    """Of a vector, of a query, or of what is counted."""
    rng = np.random.default_rng(3)
    collection = world(rng, 6, 20)
    E, b, shift = rng.normal(size=(20, 3)).astype(np.float32), np.zeros(20, np.float32), np.zeros(1)
    queries = [lambda anchor, relation: np.ones((len(anchor), 3)) + shift] * 2
    factors = Factors("made", collection.entities, collection.relations, E, b, *queries)
    folder, tiling = tmp_path / "m.unfinished", Tiling(2, 8, panel=4)
    interrupted(grid_of(collection, factors, tiling, 3), 3, folder)
    filtered_by = ("train",) if array == "answers" else ("train", "valid", "test")
    changed = {"E": E[7], "b": b[7:8], "queries": shift, "answers": np.zeros(1)}[array]
    changed += 1e-3
    with pytest.warns(KgtrecWarning, match="of other scores"):
        found = ranks_of(grid_of(collection, factors, tiling, 3, filtered_by), unfinished=folder)
    assert found == ranks_of(grid_of(collection, factors, tiling, 3, filtered_by))


@pytest.mark.slow
def test_a_block_file_that_is_damaged_anywhere_is_counted_again(grid, tmp_path):
    """Cut off after any byte, or with one bit turned: nothing of it is used."""
    expected, folder = ranks_of(grid), tmp_path / "m.unfinished"
    interrupted(grid, 2, folder)
    path = folder / blocks_in(folder)[0]
    whole = path.read_bytes()
    assert module.read_block(path) is not None
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            assert module.read_block(path) is None
    assert ranks_of(grid, unfinished=folder) == expected


def test_a_block_that_is_gone_meanwhile_is_counted_again(grid, tmp_path):
    """As if the same command, given twice, had finished."""
    expected, folder = ranks_of(grid), tmp_path / "m.unfinished"
    interrupted(grid, 3, folder)
    parts = grid.parts(unfinished=folder)
    found = [next(parts)]
    module.remove_unfinished(folder)
    assert columns(joined(found + list(parts))) == expected


def test_what_somebody_else_put_into_the_folder_stays(grid, tmp_path):
    folder = tmp_path / "m.unfinished"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    interrupted(grid, 3, folder)
    ranks_of(grid, unfinished=folder)
    module.remove_unfinished(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_a_score_that_is_none_is_told_with_its_labels_and_leaves_nothing(grid, tmp_path):
    """By threads and by processes; the same command would end in the same way."""
    rng = np.random.default_rng(0)
    collection = world(rng, 9, 40)
    factors = model(rng, collection, PRODUCT)
    factors.E[:, 0] = np.nan
    broken = grid_of(collection, factors, Tiling(2, 8, 3, panel=4), 5)
    for options in ({}, {"executor": threads}, {"workers": 2}):
        interrupted(grid, 2, tmp_path / "m.unfinished")
        with pytest.raises(KgtrecError, match=r"found NaN for question '[a-z]+[0-9]', entity 'e"), pytest.warns():
            list(broken.parts(unfinished=tmp_path / "m.unfinished", **options))
        assert not (tmp_path / "m.unfinished").exists()


@pytest.mark.parametrize("n_shards", [1, 3])
def test_what_rounding_takes_is_an_error_by_workers_too(tmp_path, n_shards):
    """Factors in float64 that all tie in float32: whoever counts them, and whoever goes on."""
    rng = np.random.default_rng(0)
    collection = world(rng, 9, 40)
    factors, _ = wide_model(rng, collection, lambda E, b: (E, b + 1e9))
    grid = grid_of(collection, factors, Tiling(2, 8, n_shards, panel=4), 5)
    for options in ({"executor": threads}, {}, {"executor": threads}):
        with pytest.raises(KgtrecError, match=r"made:.*scores"):
            list(grid.parts(unfinished=tmp_path / "m.unfinished", **options))


@pytest.mark.parametrize("turned", [False, True])
def test_vectors_in_a_mapped_file_stay_where_they_are(grid, tmp_path, turned):
    """Unless the array is not what the file holds."""
    vectors, E = grid.candidates.vectors, tmp_path / "E.npy"
    np.save(E, vectors.E)
    mapped = mapped_rows([E])[::-1] if turned else mapped_rows([E])
    object.__setattr__(grid.candidates, "vectors", panels.Vectors(mapped, vectors.b, vectors.comparison))
    folder = tmp_path / "m.unfinished"
    sent = pickle.dumps(CountTiles(grid.candidates, grid.tiling, folder))
    assert any(np.load(path).shape == mapped.shape for path in folder.glob("array-*.npy")) == turned
    received = pickle.loads(sent)  # noqa: S301
    np.testing.assert_array_equal(received.candidates.vectors.E, mapped)
    assert pickle.dumps(received) == sent, "a worker may pass it on"


def test_a_mapped_file_that_changes_while_it_is_ranked_is_told(grid, tmp_path):
    """A new file under its name, which other processes would map, or new numbers in it."""
    vectors, E = grid.candidates.vectors, tmp_path / "E.npy"
    np.save(E, vectors.E)
    mapped = panels.Vectors(mapped_rows([E]), vectors.b, vectors.comparison)
    object.__setattr__(grid.candidates, "vectors", mapped)
    parts = grid.parts()
    next(parts)
    np.save(tmp_path / "other.npy", -vectors.E)
    (tmp_path / "other.npy").replace(E)
    with pytest.raises(KgtrecError, match=r"E\.npy:.*ranked"):
        list(parts)


def test_a_worker_that_does_not_see_the_files_says_so(grid, tmp_path):
    """As one of a cluster without the folder."""
    sent = pickle.dumps(CountTiles(grid.candidates, grid.tiling, tmp_path / "m.unfinished"))
    module.remove_unfinished(tmp_path / "m.unfinished")
    received = pickle.loads(sent)  # noqa: S301
    with pytest.raises(FormatError, match=r"array-.*\.npy: "):
        received(grid.block(0), (0, 8))


def test_a_model_that_knows_no_question_has_no_queries():
    """Blocks of questions that cannot be asked are counted as well."""
    rng = np.random.default_rng(5)
    collection = world(rng, 4, 9)
    known = model(rng, collection, PRODUCT)
    anchors = {collection.entities[code] for code in collection.questions.anchor.tolist()}
    others = [place for place, label in enumerate(known.entities) if label not in anchors]
    names = known.entities.decode(np.array(others, np.int32))
    queries = known.tail_queries, known.head_queries
    few = Factors("few", Vocabulary(names), known.relations, known.E[others], None, *queries)
    grid = grid_of(collection, few, Tiling.of(9), 3)
    with ThreadPoolExecutor(2) as pool:
        found = list(grid.parts(executor=pool))
    assert columns(joined(found)) == ranks_of(grid)
    assert all(part.answer_ranks.above.max(initial=0) == 0 for part in found)
