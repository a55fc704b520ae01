"""kgtrec campaign learn, and --machine of the commands that estimate from a sample."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgtrec.data.arrow import labels_of
from kgtrec.data.machines import MachineVerdicts
from kgtrec.formats.campaign.folder import JUDGEMENTS, read_campaign
from kgtrec.formats.campaign.machines import read_machine, write_machine
from kgtrec.formats.collections import write_collection
from kgtrec.formats.trec.runs import write_run
from kgtrec.pooling.designs import draw_design
from tests.campaign.learnable import family, judged, runs
from tests.campaign_folders import folder_of
from tests.program import printed_by, refusal, said_by
from tests.trees import tree


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A campaign P whose people have judged their half of the pool, its collection C, and runs."""
    folder = tmp_path_factory.mktemp("learn")
    campaign, collection, truth = family()
    design = draw_design(campaign.pool, campaign.known_answers, share=0.5, strategy="whole-questions")
    verdict = np.where(design.asked(len(truth)), truth, -1).astype(int)
    folder_of(replace(judged(campaign, verdict), design=design), folder / "P")
    write_collection(folder / "C", collection)
    for run in runs():
        write_run(folder / f"{run.name}.run", run)
    return folder


@pytest.fixture
def here(world, tmp_path, monkeypatch) -> Path:
    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_what_is_learnt_is_a_machine_of_the_campaign(here, capsys):
    """One file is new; the same command writes the same bytes again, and says how good it is."""
    before = tree(here)
    out = printed_by(capsys, "campaign", "learn", "P", "C", "--resamples", "20")
    assert "lower than that of predicting the share of Y" in out
    after = tree(here)
    assert set(after) - set(before) == {"P/machine/", "P/machine/learned.jsonl"}
    assert all(after[path] == before[path] for path in before)
    assert "next: kgtrec evaluate P RUNS --machine learned" in said_by(
        capsys, "campaign", "learn", "P", "C", "--resamples", "20"
    )
    assert tree(here) == after
    pool = read_campaign("P").pool
    said = read_machine("P", "learned", pool)
    assert len(said) == len(pool)
    assert set(said.model.to_pylist()) == {said.model[0].as_py()}
    assert said.model[0].as_py().startswith("logistic regression on what the runs and train say, kgtrec ")


def test_a_report_that_cannot_be_written_leaves_no_machine(here, capsys):
    """The file and the machine are written together or not at all."""
    Path("learned.csv").write_text("mine")
    refusal(capsys, "campaign", "learn", "P", "C", "--resamples", "20", "--out", "learned.csv")
    assert Path("learned.csv").read_text() == "mine"
    assert not Path("P/machine/learned.jsonl").exists()


@pytest.mark.slow
def test_estimates_with_the_machine_are_other_estimates(here, capsys):
    """Of evaluate, power and compare, with one that knows more than ranks show; whose labels are the same."""
    pool, (_, _, truth) = read_campaign("P").pool, family()
    right = np.random.default_rng(0).random(len(truth)) < 0.9
    p, text = np.where(truth == right, 0.9, 0.1)[in_order_of(pool)], labels_of([""] * len(pool))
    rows = np.arange(len(pool), dtype=np.int32)
    write_machine("P", "wise", pool, MachineVerdicts(rows, (p > 0.5).astype(np.int8), p, text, text, text))
    for words in (
        ("evaluate", "P", "rules.run", "inverse.run", "-m", "AP@20"),
        ("meta", "power", "P", "rules.run", "inverse.run", "-m", "AP@20"),
        ("meta", "compare", "P", "rules.run", "inverse.run", "-m", "AP@20"),
    ):
        without = printed_by(capsys, *words)
        assert printed_by(capsys, *words, "--machine", "wise") != without


def in_order_of(pool) -> np.ndarray:
    """The rows of the family's triples in the order of a pool that was read from its folder."""
    own = family()[0].pool.triples
    row_of = {own.labels_at(row): row for row in range(len(own))}
    return np.array([row_of[pool.triples.labels_at(row)] for row in range(len(pool))])


def test_a_machine_without_skill_is_named_in_a_warning(here, capsys):
    """And the estimates are those without it."""
    pool = read_campaign("P").pool
    text = labels_of([""] * len(pool))
    p = np.random.default_rng(0).random(len(pool))
    rows = np.arange(len(pool), dtype=np.int32)
    write_machine("P", "dice", pool, MachineVerdicts(rows, (p > 0.5).astype(np.int8), p, text, text, text))
    words = "evaluate", "P", "rules.run", "-m", "AP@20"
    assert "warning: machine left out: No skill is shown" in said_by(capsys, *words, "--machine", "dice")
    assert printed_by(capsys, *words, "--machine", "dice") == printed_by(capsys, *words)


def test_machines_that_cannot_be_used(here, capsys):
    """An unknown name, qrels that are no campaign, --ties all; no verdicts; an entity alignment is no collection."""
    assert "found 'larned'" in refusal(capsys, "evaluate", "P", "rules.run", "--machine", "larned")
    for words in (("evaluate", "C"), ("meta", "power", "C"), ("meta", "compare", "C")):
        error = refusal(capsys, *words, "rules.run", "inverse.run", "--machine", "learned")
        assert "found --machine with QRELS that are no campaign; leave it out" in error
    assert "--ties all" in refusal(capsys, "evaluate", "P", "rules.run", "--machine", "x", "--ties", "all")
    Path("P", JUDGEMENTS).write_text("")
    assert "judge some first" in refusal(capsys, "campaign", "learn", "P", "C")
    assert "machine" not in {path.name for path in Path("P").iterdir()}
