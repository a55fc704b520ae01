"""kgtrec rank with workers and plans: the same files as without."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.formats.score_matrix import write_score_matrix
from tests.program import exit_code
from tests.trees import tree

TRAIN = [(f"e{number}", "knows", f"e{(number * 7 + 3) % 30}") for number in range(30)]
TEST = [(f"e{number}", "knows", f"e{(number * 5 + 1) % 30}") for number in range(0, 30, 3)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A collection C of thirty entities and a factorised system a.npz, in the current folder."""
    monkeypatch.chdir(tmp_path)
    made = build_questions(Triples.of(TRAIN), Triples.of([]), Triples.of(TEST))
    write_collection("C", made)
    rng, questions = np.random.default_rng(5), made.questions
    asked = np.stack([questions.is_head, questions.relation, questions.anchor], axis=1).astype(np.int64)
    E, Q = rng.integers(-2, 3, (len(made.entities), 3)), rng.integers(-2, 3, (len(questions), 3))
    np.savez("a.npz", E=E.astype(np.float32), Q=Q.astype(np.float32), questions=asked)
    for name, labels in (("entities", made.entities), ("relations", made.relations)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{label}\n" for label in labels))
    return tmp_path


run = partial(exit_code, "rank")


@pytest.fixture
def expected(folder):
    assert run("C", "a.npz", "--out", "one", "--block", 4) == 0
    return tree(folder / "one")


@pytest.mark.parametrize("options", [["--workers", 2], ["--shards", 3], ["--workers", 2, "--shards", 2]], ids=str)
def test_workers_and_shards_change_no_byte(folder, expected, options):
    assert run("C", "a.npz", "--out", "many", "--block", 4, *options) == 0
    assert tree(folder / "many") == expected


def test_a_plan_is_done_unit_by_unit_and_joined(folder, expected, capsys):
    """One unit twice; what is left by workers; the same again without any."""
    assert run("C", "a.npz", "--plan", "plan", "--block", 4) == 0
    told = capsys.readouterr().err
    assert "plan: 4 units, 0 to 3: kgtrec rank plan --unit N; then kgtrec rank plan --collect --out OUT" in told
    for unit in (3, 3, 0):
        assert run("plan", "--unit", unit) == 0
    told = capsys.readouterr().err
    assert "plan: did unit 3 (" in told
    assert "plan: unit 3 (" in told
    assert "was done before" in told
    assert run("plan", "--collect", "--out", "joined") == 2
    assert "found 2 that are not: 1, 2;" in capsys.readouterr().err
    assert not (folder / "joined").exists()
    assert run("plan", "--collect", "--out", "joined", "--workers", 2) == 0
    assert tree(folder / "joined") == expected
    assert run("plan", "--collect", "--out", "again") == 0
    assert tree(folder / "again") == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["C"], "expected at least one SOURCE"),
        (["C", "a.npz"], "expected --out for the results, or --plan for units of work, and not both"),
        (["C", "a.npz", "--out", "o", "--plan", "p"], "and not both"),
        (["C", "a.npz", "--unit", 0], "expected the folder of a plan and --unit or --collect, found more"),
        (["p", "--collect"], "expected --out, a folder for the joined results"),
        (["p", "--unit", 0, "--out", "o"], "expected --unit without --out"),
        (["C", "--unit", 0], "C: expected a plan of kgtrec rank --plan, found none"),
    ],
    ids=["no-source", "no-out", "two-outs", "two-things", "collect-nowhere", "unit-out", "no-plan"],
)
def test_what_does_not_go_together_is_told(folder, capsys, arguments, told):
    assert run(*arguments) == 2
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["C", "a.npz", "--plan", "p", "--run-format", "parquet"], "--run-format with --plan, which does no unit"),
        (["C", "a.npz", "--plan", "p", "--workers", 2, "--patience", 9], "--workers, --patience with --plan"),
        (["C", "a.npz", "--out", "o", "--patience", 9], "--patience with one process"),
        (["C", "a.npz", "--out", "o", "--depth", 0, "--run-format", "run"], "--run-format with --depth 0, which"),
        (["C", "a.npz", "--out", "o", "--topics", "C/topics.tsv", "--device", "cpu"], "--topics, --device with these"),
        (["C", "m.npy", "--out", "o", "--unknown-entities", "last"], "--unknown-entities with these sources; leave it"),
        (["C", "m.npy", "--out", "o", "--relations", "relations.txt"], "--relations with these sources"),
        (["C", "a.jsonl", "--out", "o", "--sides", "tail", "--block", 2], "--block with these sources"),
        (["C", "a.jsonl", "--out", "o", "--sides", "tail", "--data", "."], "--data with these sources"),
        (
            ["C", "a.jsonl", "m.npy", "--sides", "tail", "--out", "o", "--unknown-entities", "last"],
            "--unknown-entities",
        ),
        (["plan", "--unit", 0, "--depth", 3, "--filter", "raw"], "--depth, --filter with --unit"),
        (["plan", "--unit", 0, "--workers", 2], "--workers with --unit"),
        (["plan", "--collect", "--out", "o", "--shards", 2], "--shards with --collect"),
        (["plan", "--collect", "--out", "o", "--patience", 9], "--patience with --collect"),
    ],
)
def test_an_option_without_effect_is_refused(folder, capsys, arguments, told):
    """Whoever gives one expects it to change something."""
    made = read_collection("C")
    write_score_matrix("m.npy", np.zeros((len(made.questions), len(made.entities)), np.float32), made)
    (folder / "a.jsonl").write_text('{"head": "e0", "relation": "knows", "tail": null, "candidates": ["e1"]}\n')
    assert run("C", "a.npz", "--plan", "plan") == 0
    capsys.readouterr()
    assert run(*arguments) == 2
    assert f"expected options that have an effect, found {told}" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "o").exists()
    assert not (folder / "p").exists()


def test_an_option_that_one_of_several_sources_uses_is_taken(folder):
    """A permission, which does nothing by itself, is always taken."""
    made = read_collection("C")
    write_score_matrix("m.npy", np.zeros((len(made.questions), len(made.entities)), np.float32), made)
    options = ["--unknown-entities", "last", "--block", 3, "--relations", "relations.txt", "--trust"]
    assert run("C", "a.npz", "m.npy", "--out", "o", *options) == 0


def test_a_unit_that_is_not_there_is_told(folder, capsys):
    run("C", "a.npz", "--plan", "plan")
    assert run("plan", "--unit", 9) == 2
    assert "plan: expected a unit from 0 to 1, found 9" in capsys.readouterr().err


def test_a_matrix_cannot_be_cut(folder, capsys):
    """Its scores are there already."""
    np.save("m.npy", np.zeros((len(np.load("a.npz")["questions"]), 30), np.float32))
    (folder / "topics.tsv").write_bytes((folder / "C" / "topics.tsv").read_bytes())
    (folder / "entities.txt").write_bytes((folder / "C" / "entities.txt").read_bytes())
    assert run("C", "m.npy", "--out", "o", "--workers", 2) == 2
    assert "m.npy: expected a factorised model for several workers or shards" in capsys.readouterr().err
    assert not (folder / "o").exists()


@pytest.mark.parametrize(
    ("error", "way_out"),
    [
        (OSError(5, "Input/output error"), "to go on: {again}\nerror: Input/output error\n"),
        (OSError(28, "Full", "o/a.run.gz"), "error: o/a.run.gz: Full; make room, and go on by {again}\n"),
    ],
)
def test_what_is_done_stays_when_it_fails(folder, capsys, expected, monkeypatch, error, way_out):
    """And the message says how to go on; the command as it was is refused."""
    from kgtrec.ranking import executors

    with monkeypatch.context() as patch:
        patch.setattr(executors, "collected_block", lambda *_: (_ for _ in ()).throw(error))
        assert run("C", "a.npz", "--out", "o", "--block", 4, "--workers", 2) != 0
    told = capsys.readouterr().err
    assert told.endswith(way_out.format(again="kgtrec rank o/a.units --collect --out o --workers 2"))
    assert "give the command again" not in told
    assert [path.name for path in (folder / "o").iterdir()] == ["a.units"]
    assert run("C", "a.npz", "--out", "o", "--block", 4, "--workers", 2) == 2
    assert "expected no units of another time, found some" in capsys.readouterr().err
    assert run("o/a.units", "--collect", "--out", "o", "--workers", 2) == 0
    assert {name: data for name, data in tree(folder / "o").items() if "a.units" not in str(name)} == expected
