"""The pool's part of a campaign's folder: round trips, guards, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.campaign import Assignments, Automatic
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import write_assignments
from kgtrec.formats.campaign.pools import GUARDED, POOL, RUNS, SETTINGS, read_families, read_pool, write_pool
from kgtrec.formats.files import sha256_of
from kgtrec.pooling.pool_runs import known_answers_of, pool_runs
from tests.examples import examples
from tests.pool_worlds import contributions_of, labels_of_triples, pool_worlds
from tests.pooling.test_pool_runs import ranked, world_of
from tests.trees import faulty_runs, tree

pytestmark = pytest.mark.filterwarnings("ignore:.*are left out")
FILES = (*GUARDED, RUNS, SETTINGS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    world = world_of({"a": ranked("e2", "e3"), "b": ranked("e3", "e4")})
    pool = pool_runs(world.collection, world.runs())
    automatic = Automatic(np.array([-1, 0, -1], np.int8), ("head type",))
    write_pool(
        tmp_path / "C",
        pool,
        known_answers_of(pool, world.collection),
        automatic,
        {"a": "one"},
        collection=world.collection.stamp,
        seed=7,
        made={"strategy": "depth"},
    )
    return tmp_path / "C"


def test_the_files(folder):
    """As the folder's description says."""
    assert (folder / "pool.tsv").read_text() == (
        "question\tentity\trun\trank\tprobability\n"
        "tail0\te2\ta\t1\t1\ntail0\te3\tb\t1\t1\ntail0\te3\ta\t2\t1\ntail0\te4\tb\t2\t1\n"
    )
    assert (folder / "runs.tsv").read_text() == "run\tfamily\na\tone\nb\t\n"
    assert (folder / "automatic.tsv").read_text() == "head\trelation\ttail\trule\ne0\tr\te3\thead type\n"
    assert (folder / "seeds.txt").read_text() == "head0 0 e0 1\ntail0 0 e1 1\n"
    assert (folder / "topics.tsv").read_text() == "head0\te1\tr\ntail0\te0\tr\n"
    settings_ = json.loads((folder / SETTINGS).read_text())
    assert settings_["files"] == {name: sha256_of(folder / name) for name in GUARDED}
    assert (settings_["seed"], settings_["annotators_per_triple"], settings_["pool"]) == (7, 2, {"strategy": "depth"})


def test_what_is_read(folder):
    """Pool, known answers, automatic N and families come back."""
    found = read_pool(folder)
    assert labels_of_triples(found.pool) == [("e0", "r", "e2"), ("e0", "r", "e3"), ("e0", "r", "e4")]
    assert found.automatic.rule.tolist() == [-1, 0, -1]
    assert found.families == {"a": "one", "b": ""}
    assert len(found.known_answers) == 2
    assert found.settings["seed"] == 7


@settings(max_examples=examples(25))
@given(world=pool_worlds(), strategy=st.sampled_from(["depth", "stratified"]))
def test_round_trip(world, strategy, tmp_path_factory):
    """The same contributions, probabilities and runs; written again, the same bytes."""
    folder = tmp_path_factory.mktemp("pools")
    pool = pool_runs(world.collection, world.runs(), strategy=strategy, strata=[(1, 1.0), (9, 1 / 3)])
    write_pool(folder / "1", pool, known_answers_of(pool, world.collection))
    found = read_pool(folder / "1")
    assert contributions_of(found.pool) == contributions_of(pool)
    assert found.pool.runs == pool.runs
    assert found.pool.strata == pool.strata == ((1, 9) if strategy == "stratified" else ())
    assert dict(zip(labels_of_triples(found.pool), found.pool.probability, strict=True)) == dict(
        zip(labels_of_triples(pool), pool.probability, strict=True)
    )
    write_pool(folder / "2", found.pool, found.known_answers, found.automatic, found.families)
    for name in FILES:
        assert (folder / "1" / name).read_bytes() == (folder / "2" / name).read_bytes()
    assert labels_of_triples(found.pool) == sorted(
        labels_of_triples(found.pool), key=lambda row: [row[i].encode() for i in (1, 0, 2)]
    )


@pytest.mark.parametrize("name", GUARDED)
def test_a_changed_file_is_refused(folder, name):
    """A pool never changes."""
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    with pytest.raises(FormatError, match=f"{name}: expected the file that kgtrec pool wrote, found another one"):
        read_pool(folder)
    (folder / name).unlink()
    with pytest.raises(FormatError, match=f"{name}: expected this file of the campaign, found none"):
        read_pool(folder)


@pytest.mark.parametrize("strata", [[0, 5], [5, 5], ["5"], 5, [True]])
def test_strata_that_are_none_are_refused(folder, strata):
    """Last ranks, ascending; a campaign that was made before they were written has none."""
    settings_ = json.loads((folder / SETTINGS).read_text())
    assert "strata" not in settings_
    (folder / SETTINGS).write_text(json.dumps({**settings_, "strata": strata}))
    with pytest.raises(FormatError, match=r"json: expected ascending last ranks, from 1 on, as strata, got [\[5]"):
        read_pool(folder)


def meant(folder: Path, name: str, text: str | bytes) -> None:
    """Write a file of the pool, with its checksum in the settings."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    settings_ = json.loads((folder / SETTINGS).read_text())
    settings_["files"][name] = sha256_of(folder / name)
    (folder / SETTINGS).write_text(json.dumps(settings_))


HEADER = "question\tentity\trun\trank\tprobability\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: expected the header line question entity run rank probability, separated by tabs, found an empty"),
        (HEADER + "tail0\te2\ta\t1\n", "2: expected 5 columns (question entity run rank probability) separated by"),
        (HEADER + "tail0\te2\ta\t1\t1\tx\n", "2: expected 5 columns"),
        (HEADER + "tail0\t\ta\t1\t1\n", "2: expected 5 columns"),
        (HEADER + "tail9\te2\ta\t1\t1\n", "2: expected a question of topics.tsv, got 'tail9'"),
        (HEADER + "tail0\te2\tz\t1\t1\n", "2: expected a run of runs.tsv, got 'z'"),
        (HEADER + "tail0\te2\ta\t0\t1\n", "2: expected a rank from 1 on, got 0"),
        (HEADER + "tail0\te2\ta\t-1\t1\n", "2: expected a whole number as rank, found '-1'"),
        (HEADER + "tail0\te2\ta\t1\t0\n", "2: expected a probability from 1e-12 to 1, got '0'"),
        (HEADER + "tail0\te2\ta\t1\tnan\n", "2: expected a probability from 1e-12 to 1, got 'nan'"),
        (HEADER + "tail0\te2\ta\t1\t1\ntail0\te2\ta\t2\t1\n", "3: expected each (question, entity, run) once, found"),
        (HEADER + "tail0\te2\ta\t1\t1\ntail0\te2\tb\t2\t0.5\n", "3: expected one probability for a triple, got two"),
        (HEADER + "tail0\te\0\ta\t1\t1\n", "2: expected UTF-8 text, found a NUL byte"),
        (HEADER.encode() + b"tail0\te\xff\ta\t1\t1\n", "2: expected UTF-8 text, found"),
    ],
)
def test_hostile_pools_are_refused(folder, text, expected):
    """Even where the checksum says that they were meant."""
    meant(folder, POOL, text)
    with pytest.raises(FormatError) as caught:
        read_pool(folder)
    assert str(caught.value).startswith(f"{folder / POOL}:{expected}")


def test_an_automatic_triple_must_be_pooled(folder):
    """And stand there once."""
    for lines, expected in (
        ("e0\tr\te9\tx\n", ":2: expected a triple of pool.tsv, got another: "),
        ("e0\tr\te2\tx\n" * 2, ":3: expected each triple once"),
    ):
        meant(folder, "automatic.tsv", "head\trelation\ttail\trule\n" + lines)
        with pytest.raises(FormatError, match=expected):
            read_pool(folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "expected JSON, found something else"),
        ("[]", "expected the settings of a campaign"),
        (
            '{"files": {}, "campaign_format": 9}',
            "expected a campaign of format version 1, found version 9; a later kgtrec wrote it",
        ),
    ],
)
def test_what_is_no_campaign(folder, text, expected):
    """One line with the way out."""
    (folder / SETTINGS).write_text(text)
    with pytest.raises(FormatError, match=expected):
        read_pool(folder)
    with pytest.raises(
        FormatError, match="expected the folder of a campaign, found nothing; make one with kgtrec pool"
    ):
        read_pool(folder / "nothing")


def test_families_may_be_edited(folder):
    """By hand, with or without the tab; a run may not be named twice."""
    (folder / RUNS).write_text("run\tfamily\r\nb\tx\r\na\r\n")
    assert read_pool(folder).families == {"a": "", "b": "x"}
    (folder / RUNS).write_text("run\tfamily\na\tx\na\ty\n")
    with pytest.raises(FormatError, match=r"runs\.tsv:3: expected each run once, found 'a' here and on line 2"):
        read_families(folder / RUNS)


def test_a_pool_is_replaced_only_on_demand_and_before_it_is_judged(folder, tmp_path):
    """Other files stay; assignments, which name the tasks of the former pool, go."""
    world = world_of({"a": ranked("e5")})
    pool = pool_runs(world.collection, world.runs())
    known_answers = known_answers_of(pool, world.collection)
    (folder / "guidelines.md").write_text("ask")
    asked = read_pool(folder).pool
    write_assignments(folder, asked, Assignments.none(Vocabulary.of(["ann"])))
    with pytest.raises(FormatError, match="exists; force=True replaces it"):
        write_pool(folder, pool, known_answers)
    write_pool(folder, pool, known_answers, force=True)
    assert len(read_pool(folder).pool) == 1
    others = [".gitattributes", ".gitignore", "judgements.jsonl", "guidelines.md"]
    assert sorted(tree(folder)) == sorted([*FILES, *others])
    assert (folder / "guidelines.md").read_text() == "ask"
    (folder / "judgements.jsonl").write_text("{}\n")
    with pytest.raises(FormatError, match="expected a campaign without judgements, found some"):
        write_pool(folder, pool, known_answers, force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pool.tsv").write_text("")
    with pytest.raises(FormatError, match=r"found one with pool\.tsv; choose another folder"):
        write_pool(tmp_path / "other", pool, known_answers, force=True)


@pytest.mark.parametrize("name", ["a\tb", "a\nb", ""])
def test_names_that_the_format_cannot_hold_are_not_written(name, tmp_path):
    """No folder appears."""
    world = world_of({name: ranked("e2")})
    pool = pool_runs(world.collection, world.runs())
    with pytest.raises(KgtrecError, match="expected run labels without tabs and line breaks, not empty, found"):
        write_pool(tmp_path / "C", pool, known_answers_of(pool, world.collection))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_pool_is_the_old_or_the_new_one_wherever_its_writer_is_stopped(tmp_path):
    """Killed, interrupted or refused by the disk at any call of the system; what people wrote stays."""
    target = tmp_path / "C"
    worlds = [world_of({"a": ranked("e2"), "b": ranked("e4")}), world_of({"a": ranked("e3", "e2"), "c": ranked("e4")})]
    pools = [pool_runs(world.collection, world.runs(), depth=1) for world in worlds]

    def reset() -> None:
        shutil.rmtree(target, ignore_errors=True)
        write_pool(target, pools[0], known_answers_of(pools[0], worlds[0].collection))
        (target / "guidelines.md").write_text("ask")

    def act() -> None:
        write_pool(target, pools[1], known_answers_of(pools[1], worlds[1].collection), force=True)

    for fault, number, _ in faulty_runs(act, reset):
        if (target / SETTINGS).exists() or not fault.startswith("kill"):  # nobody reads a folder without it
            assert read_pool(target).pool.runs in (("a", "b"), ("a", "c")), (fault, number)
        act()
        assert read_pool(target).pool.runs == ("a", "c"), (fault, number)
        assert set(tree(target)) == {*FILES, ".gitattributes", ".gitignore", "judgements.jsonl", "guidelines.md"}
        assert (target / "guidelines.md").read_text() == "ask"
