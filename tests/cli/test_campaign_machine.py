"""Machines in a campaign: kgtrec campaign import --machine, qrels --machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgtrec.formats.campaign.folder import JUDGEMENTS, read_campaign
from kgtrec.formats.campaign.machines import read_machine
from kgtrec.formats.trec.qrels import read_qrels
from tests.campaign_folders import folder_of, people_of
from tests.campaigns_by_hand import ENTITIES, ROWS, campaign_of
from tests.judged_pools import judgements_of
from tests.program import exit_code, kgtrec, printed_by, refusal, said_by
from tests.trees import tree

PEOPLE = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
#: agreed Y, conflict, undecidable, the other three open
EVENTS = [
    *[(0, name, "annotator", "Y") for name in ("ann", "bob")],
    *[(row, name, "annotator", verdict) for row in (1, 2) for name, verdict in (("ann", "Y"), ("bob", "N"))],
    (2, "eve", "adjudicator", "unsure"),
]


def lines(*said: tuple[int, str, float | None], model: str = "") -> str:
    relations = ("@near", "capital")
    rows = [
        {
            "head": ENTITIES[ROWS[row][0]],
            "relation": relations[ROWS[row][1]],
            "tail": ENTITIES[ROWS[row][2]],
            "verdict": verdict,
            "probability": probability,
            "model": model,
        }
        for row, verdict, probability in said
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


SAID = lines(
    (0, "N", 0.1), (1, "Y", 0.8), (2, "Y", 0.9), (3, "N", 0.2), (4, "unsure", 0.5), (5, "Y", None), model="llama"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    campaign = replace(campaign_of(), people=PEOPLE, judgements=judgements_of(EVENTS))
    (tmp_path / "llama.jsonl").write_text(SAID)
    return folder_of(campaign, tmp_path / "C")


def test_what_a_machine_says_is_stored_beside_the_people(folder: Path, capsys):
    """In a file of its own; judgements, status and agreement are as before."""
    judgements = (folder / JUDGEMENTS).read_bytes()
    before = [printed_by(capsys, "campaign", name, "C") for name in ("status", "agreement")]
    said = said_by(capsys, "campaign", "import", "C", "llama.jsonl", "--machine", "llama-8b")
    assert said == "C/machine/llama-8b.jsonl: stored 6 verdicts; 0 stored before\nnext: kgtrec campaign machines C\n"
    assert (folder / JUDGEMENTS).read_bytes() == judgements
    assert [printed_by(capsys, "campaign", name, "C") for name in ("status", "agreement")] == before
    stored = read_machine("C", "llama-8b", read_campaign("C").pool)
    assert stored.verdict.tolist() == [0, 1, 1, 0, 2, 1]


def test_importing_again_and_importing_more(folder: Path, tmp_path: Path, capsys):
    """The same is passed over, more is added, whatever the order of the files."""
    parts = {"one": (1, "Y", 0.8), "two": (4, "unsure", None)}
    for name, row in parts.items():
        (tmp_path / f"{name}.jsonl").write_text(lines(row))
    kgtrec("campaign", "import", "C", "two.jsonl", "one.jsonl", "--machine", "a")
    kgtrec("campaign", "import", "C", "one.jsonl", "--machine", "b")
    said = said_by(capsys, "campaign", "import", "C", "one.jsonl", "two.jsonl", "--machine", "b")
    assert "stored 1 verdict; 1 stored before" in said
    files = [(folder / "machine" / f"{name}.jsonl").read_bytes() for name in "ab"]
    assert files[0] == files[1]


def test_another_verdict_needs_correct(folder: Path, tmp_path: Path, capsys):
    """Nothing is lost silently, and nothing of the file is stored."""
    kgtrec("campaign", "import", "C", "llama.jsonl", "--machine", "a")
    before = tree(folder)
    (tmp_path / "more.jsonl").write_text(lines((5, "Y", None), (1, "N", 0.3), model="llama"))
    said = refusal(capsys, "campaign", "import", "C", "more.jsonl", "--machine", "a")
    assert "more.jsonl: expected what a said before of de capital 'n, Y (probability 0.8), found N (" in said
    assert "1 such triple in all; give --correct to replace them" in said
    assert tree(folder) == before
    said = said_by(capsys, "campaign", "import", "C", "more.jsonl", "--machine", "a", "--correct")
    assert "stored 1 verdict, 1 in place of an earlier one; 1 stored before" in said
    assert read_machine("C", "a", read_campaign("C").pool).verdict.tolist() == [0, 0, 1, 0, 2, 1]


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (SAID + "{", (), "llama.jsonl:7: expected JSON"),
        (SAID.replace("0.8", "1.5"), (), "llama.jsonl:2: expected a number from 0 to 1"),
        ("", (), "found an empty file"),
        (SAID, ("--person", "ann"), "found --person with --machine"),
        (SAID, ("--keep-going",), "found --keep-going with --machine"),
    ],
)
def test_what_is_refused_leaves_nothing(folder: Path, tmp_path: Path, capsys, text, words, message):
    """No file, not even a part of one."""
    before = tree(folder)
    (tmp_path / "llama.jsonl").write_text(text)
    assert message in refusal(capsys, "campaign", "import", "C", "llama.jsonl", "--machine", "a", *words)
    assert tree(folder) == before


def test_a_name_that_leaves_the_folder_is_refused(folder: Path, capsys):
    """A name is no path."""
    assert "expected the name of a machine" in refusal(
        capsys, "campaign", "import", "C", "llama.jsonl", "--machine", "../../x"
    )
    assert exit_code("campaign", "qrels", "C", "--out", "q", "--machine", "nobody") == 2


def test_qrels_have_a_machine_only_where_asked_and_marked(folder: Path, tmp_path: Path, capsys):
    """Agreed stays, an undecidable triple stays unjudged; the second column and the texts name the machine."""
    kgtrec("campaign", "import", "C", "llama.jsonl", "--machine", "llama-8b")
    kgtrec("campaign", "qrels", "C", "--out", "people")
    assert (tmp_path / "people" / "qrels.txt").read_text() == "tail2 0 de 1\n"
    assert "llama" not in (tmp_path / "people" / "README.md").read_text()
    capsys.readouterr()
    kgtrec("campaign", "qrels", "C", "--out", "q", "--machine", "llama-8b")
    told = capsys.readouterr()
    assert "warning: 3 triples judged by llama-8b alone, which nobody has checked" in told.err
    assert (tmp_path / "q" / "qrels.txt").read_text().splitlines() == [
        "tail0 llama-8b <script>alert(1)</script> 0",
        "tail0 llama-8b paris 1",
        "tail1 llama-8b 'n 1",
        "tail2 0 de 1",
    ]
    assert read_qrels("q/qrels.txt").grade.tolist() == [0, 1, 1, 1]
    readme = (tmp_path / "q" / "README.md").read_text()
    assert "**3 triples were judged by a machine alone, llama-8b**, 2 as true and 1 as false" in readme
    report = json.loads((tmp_path / "q" / "report.json").read_text())
    assert report["machine"] == "llama-8b"
    assert report["positives_from"] == {"seeds": 0, "agreed": 1, "adjudicated": 0, "machine": 2}
    assert "machine" in told.out


def test_triple_level_is_marked_too(folder: Path, tmp_path: Path):
    """Also for questions that only a machine's Y has made."""
    kgtrec("campaign", "import", "C", "llama.jsonl", "--machine", "m")
    kgtrec("campaign", "qrels", "C", "--level", "triple", "--out", "q", "--machine", "m")
    rows = [line.split(" ") for line in (tmp_path / "q" / "qrels.txt").read_text().splitlines()]
    by_people = [row for row in rows if row[1] == "0"]
    assert len(rows) == 7
    assert {row[2] for row in by_people} == {"de", "paris"}
    assert len(by_people) == 2
    assert not np.any(read_qrels("q/qrels.txt").grade > 1)


@pytest.mark.slow
def test_the_report_of_all_machines(folder: Path, tmp_path: Path, capsys):
    """Every machine of the folder, or those named; tables, a figure, and the systems under both labels."""
    assert "found none; kgtrec campaign import --machine" in refusal(capsys, "campaign", "machines", "C")
    for name in ("llama-8b", "other"):
        kgtrec("campaign", "import", "C", "llama.jsonl", "--machine", name)
    text = printed_by(capsys, "campaign", "machines", "C", "--resamples", "20")
    assert text.startswith("llama-8b: 6 verdicts, 1 of them unsure, 1 on triples that people have settled. Too few")
    assert "other: 6 verdicts" in text
    assert "statistic" in text
    (tmp_path / "mine.run").write_text("tail2 Q0 de 1 9 mine\ntail0 Q0 paris 1 9 mine\n")
    text = printed_by(capsys, "campaign", "machines", "C", "mine.run", "--machine", "other", "-m", "AP@20")
    assert "llama-8b" not in text
    assert "Kendall's tau-b between the two orders of 1 system" in text
    kgtrec("campaign", "machines", "C", "--out", "reliability.svg")
    assert "reliability.svg" in tree(tmp_path)
