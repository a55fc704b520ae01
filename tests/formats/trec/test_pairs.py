"""Run and answer ranks of one system: of the same scores, or refused."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.collections import write_collection
from kgtrec.formats.output.outputs import protecting, replacing
from kgtrec.formats.trec.runs import read_run, write_run
from kgtrec.formats.trec.streamed_runs import open_run, read_any_run
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.ranking import rank_scores, write_ranked
from kgtrec.ranking.rank import joined
from kgtrec.ranking.tiles import Tiling
from kgtrec.systems.kinds import Scorer
from tests.executors import threads
from tests.program import exit_code
from tests.ranking.test_tiles import grid_of, model, whole_matrix, world
from tests.trees import tree

FORMS = {"run": "m.run", "run.gz": "m.run.gz", "run.zst": "m.run.zst", "parquet": "m.parquet", "parts": "m.run"}


@pytest.fixture(autouse=True)
def force():
    """What exists is replaced."""
    with replacing():
        yield


TOLD = r"does not belong to .*m\.ranks\.parquet: they are of different scores; rank again with --force"


def scorer(collection, seed):
    """A model of random scores."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(2, len(collection.entities), len(collection.entities)))
    tails, heads = (lambda anchor, relation, own=own: own[anchor] for own in scores)
    return Scorer("m", collection.entities, collection.relations, tails, heads)


@pytest.fixture
def collection():
    return world(np.random.default_rng(1), 5, 12)


@pytest.fixture
def pair(collection, tmp_path):
    """Writes a run and answer ranks into the folder ``o``, of other scores if they are asked for."""

    def write(run_format, *, same):
        write_ranked(collection, scorer(collection, 1), tmp_path / "o", depth=4, run_format=run_format)
        if not same:
            write_ranked(collection, scorer(collection, 2), tmp_path / "other", depth=0)
            (tmp_path / "other" / "m.ranks.parquet").replace(tmp_path / "o" / "m.ranks.parquet")
        return tmp_path / "o" / FORMS[run_format], tmp_path / "o" / "m.ranks.parquet"

    return write


@pytest.mark.parametrize("run_format", FORMS)
def test_a_run_and_ranks_of_different_scores_are_refused(pair, run_format):
    """Whichever of the two is read; those of the same scores are not."""
    for same in (True, False):
        run, ranks = pair(run_format, same=same)
        readers = [partial(read_any_run, run), partial(read_answer_ranks, ranks)]
        readers += [partial(open_run, run)] if run_format in ("parquet", "parts") else [partial(read_run, run)]
        for read in readers:
            if same:
                assert len(read())
            else:
                with pytest.raises(FormatError, match=TOLD) as caught:
                    read()
                assert str(caught.value).startswith(str(run))


def test_commands_refuse_them(collection, pair, tmp_path, monkeypatch, capsys):
    """Those that are given one of the two, or their folder."""
    monkeypatch.chdir(tmp_path)
    write_collection("C", collection)
    pair("run.gz", same=False)
    for words in (
        ("check", "o"),
        ("check", "o/m.run.gz"),
        ("evaluate", "C", "o"),
        ("evaluate", "C", "o/m.run.gz"),
        ("pool", "C", "o", "--out", "P"),
        ("evaluate", "C", "o", "--ties", "all"),
        ("meta", "stability", "C", "o"),
    ):
        assert exit_code(*words) == 2, words
        told = capsys.readouterr()
        assert "o/m.run.gz: does not belong to o/m.ranks.parquet: they are of different" in told.out + told.err, words


@pytest.mark.parametrize("loss", ["run's record", "ranks' record", "ranks", "damaged ranks", "damaged record"])
def test_what_is_not_known_is_accepted(pair, loss):
    """A run of another program, ranks that are elsewhere, and what another reader refuses."""
    run, ranks = pair("run.gz", same=False)
    beside = run.with_name("m.run.gz.json")
    if loss == "run's record":
        beside.unlink()
    elif loss == "ranks' record":
        table = pq.read_table(ranks)
        of_kgtrec = {b"kgtrec": table.schema.metadata[b"kgtrec"]}
        pq.write_table(table.replace_schema_metadata(of_kgtrec), ranks)
        assert len(read_answer_ranks(ranks))
    elif loss == "ranks":
        ranks.unlink()
    elif loss == "damaged ranks":
        ranks.write_bytes(ranks.read_bytes()[:-9])
    else:
        beside.write_text("{")
        assert len(read_answer_ranks(ranks))
        with pytest.raises(FormatError, match="JSON"):
            read_run(run)
        return
    assert len(read_run(run))


def test_a_copy_keeps_what_binds_it(pair, tmp_path):
    """Of the folder, and of the answer ranks that are read and written again."""
    _, ranks = pair("run.gz", same=True)
    shutil.copytree(tmp_path / "o", tmp_path / "copy")
    write_answer_ranks(tmp_path / "copy" / "m.ranks.parquet", read_answer_ranks(ranks))
    assert len(read_run(tmp_path / "copy" / "m.run.gz"))


@pytest.mark.parametrize("run_format", FORMS)
def test_ranking_again_without_a_run_removes_the_one_of_other_scores(collection, pair, tmp_path, run_format):
    """And its record; a run of the same scores, one that is not ours, and all else stay."""
    run, ranks = pair(run_format, same=True)
    (tmp_path / "o" / "notes.txt").write_text("mine")
    before = tree(tmp_path / "o")
    write_ranked(collection, scorer(collection, 1), tmp_path / "o", depth=0)
    assert tree(tmp_path / "o") == before
    write_ranked(collection, scorer(collection, 2), tmp_path / "o", depth=0)
    assert sorted(tree(tmp_path / "o")) == ["m.ranks.parquet", "notes.txt"]
    assert len(read_answer_ranks(ranks))
    write_run(run, read_run_of(collection), parts=run_format == "parts")
    write_ranked(collection, scorer(collection, 1), tmp_path / "o", depth=0)
    assert run.exists()
    assert len(read_any_run(run))


def test_ranking_again_in_another_format_removes_the_former_run(collection, pair, tmp_path):
    pair("run.gz", same=True)
    write_ranked(collection, scorer(collection, 2), tmp_path / "o", depth=3, run_format="parquet")
    assert sorted(tree(tmp_path / "o")) == ["m.parquet", "m.ranks.parquet"]


def read_run_of(collection):
    scores = np.random.default_rng(5).normal(size=(len(collection.questions), len(collection.entities)))
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=2).run


def again(collection, tmp_path, seed=2):
    write_ranked(collection, scorer(collection, seed), tmp_path / "o", depth=0)


def test_a_run_that_is_an_input_or_read_only_is_not_removed(collection, pair, tmp_path):
    """Nothing is ranked then."""
    run, _ = pair("run.gz", same=True)
    before = tree(tmp_path)
    with protecting([run]), pytest.raises(FormatError, match="expected another file than those that are read"):
        again(collection, tmp_path)
    run.chmod(0o444)
    with pytest.raises(FormatError, match=r"m\.run\.gz is read-only"):
        again(collection, tmp_path)
    assert tree(tmp_path) == before


def test_what_a_link_leads_to_stays(collection, pair, tmp_path):
    """The link goes."""
    run, _ = pair("run.gz", same=True)
    other = run.rename(tmp_path / "kept.run.gz")
    run.symlink_to(other)
    again(collection, tmp_path)
    assert other.exists()
    assert not run.is_symlink()


def test_other_files_in_the_folder_of_a_run_stay(collection, pair, tmp_path):
    """Its parts are removed."""
    run, _ = pair("parts", same=True)
    (run / ".git").mkdir()
    (run / ".git" / "x").write_text("x")
    again(collection, tmp_path)
    assert tree(run) == {".git/": b"", ".git/x": b"x"}


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 4), n_shards=st.integers(1, 3))
def test_the_same_scores_have_one_digest_on_every_path(tmp_path_factory, seed, rows, n_shards):
    """By tiles of any cut, by others, from the matrix, in any order of questions and labels, and read from a file."""
    rng = np.random.default_rng(seed)
    collection = world(rng, 5, 20)
    factors = model(rng, collection, PRODUCT)
    grid = grid_of(collection, factors, Tiling(rows, 8, n_shards, panel=4), 0)
    parts = list(grid.parts())
    ranks = joined(parts).answer_ranks
    scores = whole_matrix(grid, collection, factors)
    order = rng.permutation(len(scores))
    given = {"questions": collection, "entities": collection, "depth": 0}
    turned = Vocabulary(ranks.entities.labels[::-1])
    path = tmp_path_factory.mktemp("digest") / "m.ranks.parquet"
    assert write_answer_ranks(path, ranks) == ranks.digest()
    others = [
        joined(list(grid.parts(executor=threads))).answer_ranks,
        joined(parts[::-1]).answer_ranks,
        rank_scores(collection, scores, **given).answer_ranks,
        rank_scores(collection, [(order, scores[order])], **given).answer_ranks,
        replace(ranks, entities=turned, entity=turned.encode(ranks.entities.labels)[ranks.entity]).renamed("other"),
        read_answer_ranks(path),
    ]
    assert {each.digest() for each in others} == {ranks.digest()}


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_tensors_have_the_digest_of_their_numbers(collection):
    import torch

    scores = np.random.default_rng(3).integers(0, 5, (len(collection.questions), len(collection.entities)))
    ranked = [
        rank_scores(collection, each, questions=collection, entities=collection).answer_ranks.digest()
        for each in (scores.astype(np.float32), torch.tensor(scores, dtype=torch.float16))
    ]
    assert ranked[0] == ranked[1]


@pytest.mark.parametrize("column", ["question", "entity", "answer", "above", "tied", "n_other", "score", "cut"])
def test_another_cell_has_another_digest(collection, column):
    ranks = joined([rank(collection, 1)]).answer_ranks
    ranks = replace(ranks, cut=np.zeros(len(ranks), np.bool_))
    values = getattr(ranks, column).copy()
    values[3] = not values[3] if values.dtype == np.bool_ else values[3] + 1
    changed = replace(ranks, **{column: values})
    assert changed.digest() != ranks.digest()
    assert rank(collection, 2).answer_ranks.digest() != ranks.digest()


def rank(collection, seed):
    scores = np.random.default_rng(seed).normal(size=(len(collection.questions), len(collection.entities)))
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=0)


@pytest.mark.parametrize("other", [["a", "bc"], ["ab\0c", ""]])
def test_labels_are_not_mixed_up(other):
    """Those that give the same text one after the other."""
    ranks = rank(world(np.random.default_rng(1), 2, 4), 1).answer_ranks
    columns = {name: getattr(ranks, name)[:2] for name in ("answer", "above", "tied", "n_other", "score")}
    columns |= {name: np.array([0, 1], np.int32) for name in ("question", "entity")}
    labels = [replace(ranks, **columns, entities=Vocabulary.of(names)).digest() for names in (["ab", "c"], other)]
    assert labels[0] != labels[1]
