"""kgtrec campaign export: what annotators get, and what they must not see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtrec.cli import main
from kgtrec.formats.campaigns import (
    write_assignments,
    write_names,
    write_people,
    write_sources,
    write_templates,
)
from kgtrec.formats.judgements import JudgementWriter
from kgtrec.formats.pools import write_pool
from kgtrec.formats.tasks import read_tasks
from tests.campaigns_by_hand import campaign_of

EVENTS = [
    (0, "ann", "annotator", "Y", "https://en.wikipedia.org/wiki/Ann", "said by ann"),
    (0, "bob", "annotator", "N", "https://en.wikipedia.org/wiki/Bob", "said by bob"),
    (1, "bob", "annotator", "unsure", "", "bob's doubt"),
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A campaign of six triples, all assigned to ann and bob, three verdicts given."""
    campaign = campaign_of(EVENTS)
    path = tmp_path / "campaign"
    write_pool(path, campaign.pool, campaign.seeds)
    (path / "guidelines.md").write_text("Judge.\n")
    write_templates(path, campaign.templates)
    write_sources(path, campaign.sources)
    write_names(path, campaign.names)
    write_assignments(path, campaign.pool, campaign.assignments)
    with JudgementWriter(path / "judgements.jsonl") as writer:
        writer.append(campaign.pool, campaign.judgements)
    write_people(path, campaign.people)
    return str(path)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said about a call that ends with exit code 2."""
    with pytest.raises(SystemExit) as left:
        main(["campaign", "export", *arguments])
    assert left.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", ["ann.csv", "ann.jsonl"])
def test_an_annotator_sees_open_tasks_only(folder: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Nothing of others' verdicts, nor the run that put a triple forward; the general question is told of."""
    out = tmp_path / name
    main(["campaign", "export", folder, "--annotator", "ann", "--out", str(out)])
    text = out.read_text("utf-8-sig")
    for hidden in ("bob", "secret-run", "said by", "Is this true", "rank"):
        assert hidden not in text
    assert read_tasks(out).not_done == 5
    assert capsys.readouterr().err == (
        "warning: 1 relation without question template, so 1 triple in the pool has a general question; most: @near "
        f"(1); see {folder}/templates.tsv\n{out}: 5 tasks for ann\n"
    )


def test_all_tasks_come_with_ones_own_verdicts(folder: str, tmp_path: Path):
    """As they were given; bob's are not ann's."""
    out = tmp_path / "ann.csv"
    main(["campaign", "export", folder, "--annotator", "ann", "--all", "--out", str(out)])
    returned = read_tasks(out)
    assert returned.not_done == 5
    assert [(one.person, one.verdict, one.note) for one in returned.incoming] == [("ann", "Y", "said by ann")]
    assert "bob" not in out.read_text("utf-8-sig")


def test_the_form_can_be_named(folder: str, tmp_path: Path):
    """Whatever the file is called."""
    main(["campaign", "export", folder, "--annotator", "bob", "--format", "jsonl", "--out", str(tmp_path / "bob")])
    records = [json.loads(line) for line in (tmp_path / "bob").read_text().splitlines()]
    assert [record["task"] for record in records] == [6, 5, 4, 3]


def test_a_part_of_the_tasks_can_be_written(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The first ones that are open."""
    main(["campaign", "export", folder, "--annotator", "bob", "--first", "2", "--out", str(tmp_path / "bob.jsonl")])
    records = [json.loads(line) for line in (tmp_path / "bob.jsonl").read_text().splitlines()]
    assert [record["task"] for record in records] == [6, 5]
    assert capsys.readouterr().err.endswith("bob.jsonl: 2 tasks for bob\n")


def test_label_studio_gets_everybodys_tasks_or_ones_own(folder: str, tmp_path: Path):
    """Each triple once; what all have judged only with --all, and never a verdict."""
    counts = []
    for number, options in enumerate(([], ["--all"], ["--annotator", "bob"])):
        out = tmp_path / str(number)
        main(["campaign", "export", folder, "--format", "label-studio", "--out", str(out), *options])
        text = (out / "tasks.json").read_text()
        assert "said by" not in text
        assert "secret-run" not in text
        counts.append([(one["data"]["task"], one["data"]["annotators"]) for one in json.loads(text)])
    assert sorted(counts[0]) == [(task, "ann, bob") for task in (2, 3, 4, 5, 6)]
    assert sorted(counts[1]) == [(task, "ann, bob") for task in (1, 2, 3, 4, 5, 6)]
    assert counts[2] == [(6, "bob"), (5, "bob"), (4, "bob"), (3, "bob")]


def test_what_cannot_be_exported(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """One line and exit code 2; nothing is written."""
    out = str(tmp_path / "out.csv")
    assert "expected --annotator PERSON" in refused([folder, "--out", out], capsys)
    assert "found nobody called 'anna'; did you mean ann?" in refused(
        [folder, "--annotator", "anna", "--out", out], capsys
    )
    assert "--guidelines is for --format label-studio" in refused(
        [folder, "--annotator", "ann", "--out", out, "--guidelines", "https://x.org"], capsys
    )
    xlsx = str(tmp_path / "ann.xlsx")
    assert "expected a name that ends in .csv or .jsonl" in refused(
        [folder, "--annotator", "ann", "--out", xlsx], capsys
    )
    assert "run kgtrec pool first" in refused([str(tmp_path / "none"), "--annotator", "ann", "--out", out], capsys)
    Path(folder, "assignments.tsv").write_text("annotator\ttask\thead\trelation\ttail\n")
    assert "run kgtrec campaign assign first" in refused([folder, "--annotator", "ann", "--out", out], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]
