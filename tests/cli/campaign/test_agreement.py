"""kgtrec campaign agreement and kgtrec campaign sample, on folders."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgtrec.cli import main
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.campaign.folder import write_people
from tests.campaign_folders import folder_of, people_of, say_in
from tests.judged_pools import judgements_of, pool_of
from tests.program import exit_code, kgtrec, printed_by, refusal

N = 40
TRUTH = "YNNNNNNN" * 5


def verdict_of(row, who) -> str:
    """ann errs on every 8th triple from the 4th on, bob on every 10th from the 6th on."""
    wrong = row % 8 == 3 if who == "ann" else row % 10 == 5
    return {"Y": "N", "N": "Y"}[TRUTH[row]] if wrong else TRUTH[row]


@pytest.fixture
def campaign(tmp_path) -> str:
    """Five questions of two relations with eight triples each, judged by ann and bob."""
    pool = pool_of([8] * 5, [0, 1, 0, 1, 0])
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("xia", "expert", True))
    events = [(row, who, "annotator", verdict_of(row, who)) for row in range(N) for who in ("ann", "bob")]
    none = np.zeros(0, np.int32)
    made = Campaign(
        pool,
        Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities),
        Automatic.none(N),
        people,
        Assignments.none(people.names),
        judgements_of(events),
        sources=("en.wikipedia.org",),
    )
    return str(folder_of(made, tmp_path / "campaign"))


def test_the_table(campaign, capsys):
    """5 and 4 of 40 verdicts are wrong, two of them on the same triple: 33 agree."""
    lines = printed_by(capsys, "campaign", "agreement", campaign, "--resamples", "50").splitlines()
    assert lines[0] == (
        "40 triples of 5 questions judged by at least two of 2 annotators, 40 pairs of verdicts; unsure is a verdict "
        "like Y and N; 95% bootstrap intervals, questions resampled"
    )
    assert lines[2].split() == ["statistic", "value", "95%", "from", "to"]
    assert lines[4].split()[:2] == ["raw", "0.8250"]
    assert [line.split()[0] for line in lines[3:]] == [
        "prevalence",
        "raw",
        "positive",
        "negative",
        "kappa",
        "AC1",
        "alpha",
    ]


@pytest.mark.parametrize("per", ["pair", "relation"])
def test_broken_down_where_nobody_judged_the_same(per, campaign, capsys):
    """A header alone."""
    path = Path(campaign, "judgements.jsonl")
    path.write_text("".join(line for line in path.read_text().splitlines(True) if '"ann"' in line))
    kgtrec("campaign", "agreement", campaign, "--per", per, "--format", "csv")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_broken_down(campaign, capsys):
    """A row per relation or pair, statistics across."""
    kgtrec("campaign", "agreement", campaign, "--per", "relation", "--resamples", "20")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:5] == ["relation", "triples", "questions", "pairs", "prevalence"]
    assert [line.split()[:4] for line in lines[3:]] == [["r0", "24", "3", "24"], ["r1", "16", "2", "16"]]
    kgtrec("campaign", "agreement", campaign, "--per", "pair", "--leave-out-unsure", "--confidence", "0.9")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("unsure is left out; 90% bootstrap intervals, questions resampled")
    assert lines[3].split()[:5] == ["ann", "bob", "40", "5", "40"]


def test_other_forms(campaign, tmp_path, capsys):
    """CSV, JSON and LaTeX tell the same; the form follows the suffix."""
    kgtrec("campaign", "agreement", campaign, "--out", tmp_path / "agreement.json")
    records = json.loads((tmp_path / "agreement.json").read_text())
    rows = list(csv.DictReader(io.StringIO(printed_by(capsys, "campaign", "agreement", campaign, "--format", "csv"))))
    assert [{name: str(value) for name, value in record.items()} for record in records] == rows
    assert list(rows[0]) == ["triples", "questions", "pairs", "statistic", "value", "low", "high"]
    assert rows[1]["value"] == "0.825"
    latex = printed_by(capsys, "campaign", "agreement", campaign, "--format", "latex")
    assert r"raw & 0.8250 &" in latex
    assert r"\bottomrule" in latex


def test_nothing_judged_yet(campaign, capsys):
    """A warning and dashes; null and empty cells in the other forms."""
    Path(campaign, "judgements.jsonl").write_text("")
    kgtrec("campaign", "agreement", campaign)
    told = capsys.readouterr()
    assert told.out.splitlines()[3].split() == ["prevalence", "-", "-", "-"]
    assert told.err.startswith("warning: no triple was judged by two annotators, so there is no value for any of prev")
    kgtrec("campaign", "agreement", campaign, "--format", "json")
    assert {record["value"] for record in json.loads(capsys.readouterr().out)} == {None}


def filled(path) -> int:
    """Fill in the expert's tasks with the truth; how many there are."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))
    for row in rows:
        row["verdict"] = "Y" if row["tail"] == "e5" else "N"  # the first candidate of each question, as in TRUTH
        row["source"] = "https://en.wikipedia.org/wiki/Triple"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def test_a_sample_goes_out_comes_back_and_tells_the_quality(campaign, tmp_path, capsys):
    """27 of the 33 agreed triples are N; ann and bob err alike on one, which they call Y."""
    out = tmp_path / "sample.csv"
    kgtrec("campaign", "sample", campaign, "--size", "12", "--out", out, "--expert", "xia")
    assert capsys.readouterr().err == f"{out}: 12 tasks, 6 of 6 labels Y and 6 of 27 labels N\n"
    assert filled(out) == 12
    kgtrec("campaign", "import", campaign, out, "--person", "xia", "--role", "expert")
    lines = printed_by(capsys, "campaign", "sample", campaign, "--report").splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["Y", "6", "6", "6", "5", "1", "0"],
        ["N", "27", "6", "6", "6", "0", "0"],
    ]
    assert lines[4] == (
        'Drawn from 33 of the pool\'s 40 triples, those that had been settled by then; here "the pool" means these.'
    )
    assert lines[7].split()[:4] == ["agreement", "on", "Y", "0.8333"]
    kgtrec("campaign", "sample", campaign, "--report", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["statistic"] for row in rows[3:6]] == [
        "agreement in the pool",
        "positives missed",
        "recall of positives",
    ]
    assert [float(row["value"]) for row in rows[3:6]] == pytest.approx([32 / 33, 0, 1])
    kgtrec("campaign", "sample", campaign, "--report", "--out", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())[3]["statistic"] == "agreement in the pool"


def test_the_expert_is_blind(campaign, tmp_path):
    """Tasks of the sample tell no label: those of Y differ from those of N in the triple alone."""
    out = tmp_path / "sample.csv"
    kgtrec("campaign", "sample", campaign, "--size", "8", "--out", out)
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8-sig"))))
    assert {(row["annotator"], row["verdict"], row["source"], row["note"]) for row in rows} == {("", "", "", "")}
    assert [int(row["task"]) for row in rows] == sorted(int(row["task"]) for row in rows)
    assert not {"probability", "label", "rank", "run"} & set(rows[0])


def test_nobody_is_the_expert_on_their_own_labels(campaign, tmp_path, capsys):
    """What the expert has judged in another role is left out of the tasks, not of the sample; import refuses it."""
    folder, out = Path(campaign), tmp_path / "sample.csv"
    write_people(
        folder,
        people_of(
            ("ann", "annotator", True),
            ("bob", "annotator", True),
            ("ann", "expert", True),
            ("xia", "expert", True),
            ("xia", "annotator", True),
        ),
    )
    say_in(folder, *((row, "xia", "annotator", verdict_of(row, "ann")) for row in range(20)))
    kgtrec("campaign", "sample", campaign, "--size", "12", "--out", out, "--expert", "xia")
    told = capsys.readouterr().err.splitlines()
    left_out = int(told[0].split()[2])
    assert told[0] == (
        f"left out {left_out} triples of the sample, on which xia has judged as annotator or adjudicator; another "
        "expert can be given all"
    )
    assert 0 < left_out < 12
    rows = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8-sig"))))
    assert len(rows) == 12 - left_out == int(told[1].split(": ")[1].split()[0])
    assert min(int(row["task"]) for row in rows) > 20
    assert (folder / "expert_sample.tsv").read_text().count("\n") == 13
    filled(out)
    kgtrec("campaign", "import", campaign, out, "--person", "xia", "--role", "expert")
    kgtrec("campaign", "sample", campaign, "--report")
    assert refusal(
        capsys, "campaign", "sample", campaign, "--size", "12", "--out", tmp_path / "other.csv", "--expert", "ann"
    ).splitlines()[-1] == ("error: expected an expert who has not judged all triples of the sample, found 'ann'")
    out = tmp_path / "again.csv"
    kgtrec("campaign", "sample", campaign, "--size", "12", "--out", out)
    filled(out)
    capsys.readouterr()
    assert exit_code("campaign", "import", campaign, out, "--person", "ann", "--role", "expert") == 2
    assert ":2: expected an expert who has not judged the triple, found 'ann', its annotator" in capsys.readouterr().err


def test_a_sample_is_drawn_once(campaign, tmp_path, capsys):
    """The same draw again is the same files; another one is refused, since verdicts may be on their way."""
    out, kept = tmp_path / "sample.csv", Path(campaign, "expert_sample.tsv")
    draw = ["campaign", "sample", campaign, "--out", str(out), "--size", "8"]
    main(draw)
    first = out.read_bytes(), kept.read_bytes()
    kgtrec(*draw, "--force")
    assert (out.read_bytes(), kept.read_bytes()) == first
    out.unlink()
    main(draw)
    assert (out.read_bytes(), kept.read_bytes()) == first
    out.unlink()
    assert refusal(capsys, *draw[:-1], "10") == (
        f"error: {campaign}: another sample was drawn before, which expert_sample.tsv holds and --report needs; "
        "--force replaces it\n"
    )
    assert (out.exists(), kept.read_bytes()) == (False, first[1])
    kgtrec(*draw[:-1], "14", "--force")
    assert capsys.readouterr().err.startswith("warning: only 6 triples are settled as Y, so the sample has all of")
    assert kept.read_bytes() != first[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "expected --out FILE for the expert's tasks, or --report"),
        (["--out", "s.csv", "--format", "csv"], "found --format with no --report"),
        (["--report"], "found no expert_sample.tsv, so no sample was drawn; run kgtrec campaign sample --out first"),
        (["--out", "s.csv", "--size", "34"], "expected at least 34 settled triples to draw from, found 6 Y and 27 N"),
        (["--out", "s.csv", "--expert", "xi"], "found nobody called 'xi'; did you mean xia?"),
        (["--out", "s.txt", "--size", "8"], "expected a name that ends in .csv, .xlsx, .jsonl or .html; nothing"),
    ],
)
def test_user_errors_are_one_line(campaign, options, told, tmp_path, capsys, monkeypatch):
    """Exit code 2, and nothing written."""
    monkeypatch.chdir(tmp_path)
    assert told in " ".join(refusal(capsys, "campaign", "sample", campaign, *options).split())
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]
    assert not Path(campaign, "expert_sample.tsv").exists()


def test_a_folder_without_campaign_is_refused(tmp_path, capsys):
    for command in ("agreement", "sample"):
        assert "run kgtrec pool first" in refusal(capsys, "campaign", command, tmp_path, "--out", tmp_path / "x.csv")


def test_the_states_of_a_campaign_come_in_every_form(campaign, capsys):
    """JSON holds all tables; a form for programs has no sentence about what comes next."""
    found = json.loads(printed_by(capsys, "campaign", "status", campaign, "--format", "json"))
    assert list(found) == ["states", "relations", "annotators", "sides"]
    assert [row["triples"] for row in found["relations"]] == [40, 24, 16]
    assert found["annotators"][0]["judged"] == 40
    kgtrec("campaign", "status", campaign, "--table", "annotators", "--format", "csv")
    assert capsys.readouterr().out.splitlines()[0] == "annotator,active,assigned,judged,to_do,Y,N,unsure"
    assert "next: kgtrec campaign " in printed_by(capsys, "campaign", "status", campaign)


@pytest.mark.parametrize("per", ["relation", "pair"])
def test_no_label_and_no_name_is_a_formula_in_a_csv_file(tmp_path, per):
    """A spreadsheet shows =HYPERLINK(...) in it as a text; JSON holds the label as it is."""
    pool = pool_of([8] * 5, [0, 1, 0, 1, 0])
    bad = '=HYPERLINK("https://example.org","open")'
    relations = Vocabulary.of([bad if row == 0 else label for row, label in enumerate(pool.questions.relations)])
    questions = replace(pool.questions, relations=relations)
    pool = replace(pool, questions=questions, triples=replace(pool.triples, relations=relations))
    people = people_of(("ann", "annotator", True), (bad, "annotator", True))
    none = np.zeros(0, np.int32)
    made = Campaign(
        pool,
        Qrels.of(none, none, none, questions.ids, questions.entities),
        Automatic.none(N),
        people,
        Assignments.none(people.names),
        judgements_of([(row, who, "annotator", "N") for row in range(N) for who in ("ann", bad)]),
    )
    folder, names = folder_of(made, tmp_path / "campaign"), {"relation": ["relation"], "pair": ["annotator", "other"]}
    for form in ("csv", "json"):
        kgtrec("campaign", "agreement", folder, "--per", per, "--out", tmp_path / f"a.{form}")
    cells = [row[name] for row in csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text())) for name in names[per]]
    assert f"'{bad}" in cells
    assert bad not in cells
    assert bad in [row[name] for row in json.loads((tmp_path / "a.json").read_text()) for name in names[per]]


def said_by_three(campaign: str) -> None:
    """The campaign's events, and those of a third annotator, cat, who says Y to all, as events of the same file."""
    path = Path(campaign, "judgements.jsonl")
    lines = path.read_text().splitlines()
    third = [json.loads(line) | {"person": "cat", "verdict": "Y"} for line in lines if '"ann"' in line]
    path.write_text("".join(f"{line}\n" for line in (*lines, *map(json.dumps, third))))


def test_annotators_who_err(campaign, capsys):
    """Each with rates and intervals; cat, who says Y to all, is named."""
    said_by_three(campaign)
    command = "campaign", "agreement", campaign, "--model", "dawid-skene", "--resamples", "50"
    lines = printed_by(capsys, *command).splitlines()
    assert lines[0].startswith("40 triples of 5 questions with 120 verdicts Y or N; ")
    assert lines[0].endswith("in the verdicts of cat: an interval of J or covariance reaches 0")
    assert [line.split()[:2] for line in lines[-3:]] == [["ann", "40"], ["bob", "40"], ["cat", "40"]]
    rows = list(csv.DictReader(io.StringIO(printed_by(capsys, *command, "--per", "triple", "--format", "csv"))))
    assert len(rows) == N
    assert [row["majority"] for row in rows] == ["Y" if row["yes"] in ("2", "3") else "N" for row in rows]
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)


def test_two_annotators_do_not_determine_the_rates(campaign, capsys):
    """A warning, and a table all the same."""
    kgtrec("campaign", "agreement", campaign, "--model", "dawid-skene", "--resamples", "20")
    printed = capsys.readouterr()
    assert "warning: no triple was judged Y or N by three annotators" in printed.err
    assert len(printed.out.splitlines()) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gold"], "expected --gold or --model, found both"),
        (["--per", "pair"], "expected --model alone or with --per triple, found --per pair"),
        (["--leave-out-unsure"], "found --leave-out-unsure with --model; leave it out"),
    ],
)
def test_options_that_have_no_effect_on_the_model(campaign, capsys, options, message):
    command = "campaign", "agreement", campaign, "--model", "dawid-skene", *options
    assert exit_code(*command) == 2
    assert message in capsys.readouterr().err
