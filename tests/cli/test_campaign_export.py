"""kgtrec campaign export: what annotators get, and what they must not see."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest

from kgtrec.cli import main
from kgtrec.formats.campaign.filled_tasks import read_tasks
from kgtrec.formats.campaign.folder import write_assignments, write_names, write_people, write_sources, write_templates
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.campaign.pools import write_pool
from tests.campaigns_by_hand import campaign_of
from tests.program import exit_code, kgtrec, said_by
from tests.trees import tree

EVENTS = [
    (0, "ann", "annotator", "Y", "https://en.wikipedia.org/wiki/Ann", "said by ann"),
    (0, "bob", "annotator", "N", "https://en.wikipedia.org/wiki/Bob", "said by bob"),
    (1, "bob", "annotator", "unsure", "", "bob's doubt"),
]


@pytest.fixture
def folder(tmp_path) -> str:
    """A campaign of six triples, all assigned to ann and bob, three verdicts given."""
    campaign = campaign_of(EVENTS)
    path = tmp_path / "campaign"
    write_pool(path, campaign.pool, campaign.known_answers)
    (path / "guidelines.md").write_text("Judge.\n")
    write_templates(path, campaign.templates)
    write_sources(path, campaign.sources)
    write_names(path, campaign.names)
    write_assignments(path, campaign.pool, campaign.assignments)
    append_judgements(path / "judgements.jsonl", campaign.pool, campaign.judgements)
    write_people(path, campaign.people)
    return str(path)


def refused(arguments, capsys) -> str:
    """What is said about a call that ends with exit code 2."""
    assert exit_code("campaign", "export", *arguments) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("name", ["ann.csv", "ann.jsonl"])
def test_an_annotator_sees_open_tasks_only(folder, name, tmp_path, capsys):
    """Nothing of others' verdicts, nor the run that put a triple forward; the general question is told of."""
    out = tmp_path / name
    kgtrec("campaign", "export", folder, "--annotator", "ann", "--out", out)
    text = out.read_text("utf-8-sig")
    for hidden in ("bob", "secret-run", "said by", "fact sheet", "rank"):
        assert hidden not in text
    assert read_tasks(out).not_done == 5
    assert capsys.readouterr().err == (
        "warning: 1 relation without question template, so 1 triple in the pool has a general question; most: @near "
        f"(1); see {folder}/templates.tsv\n{out}: 5 tasks for ann\n"
    )


def test_all_tasks_come_with_ones_own_verdicts(folder, tmp_path):
    """As they were given; bob's are not ann's."""
    out = tmp_path / "ann.csv"
    kgtrec("campaign", "export", folder, "--annotator", "ann", "--all", "--out", out)
    returned = read_tasks(out)
    assert returned.not_done == 5
    assert [(one.person, one.verdict, one.note) for one in returned.incoming] == [("ann", "Y", "said by ann")]
    assert "bob" not in out.read_text("utf-8-sig")


def test_the_form_can_be_named(folder, tmp_path):
    """Whatever the file is called."""
    kgtrec("campaign", "export", folder, "--annotator", "bob", "--format", "jsonl", "--out", tmp_path / "bob")
    records = [json.loads(line) for line in (tmp_path / "bob").read_text().splitlines()]
    assert [record["task"] for record in records] == [6, 5, 4, 3]


def test_a_part_of_the_tasks_can_be_written(folder, tmp_path, capsys):
    """The first ones that are open."""
    kgtrec("campaign", "export", folder, "--annotator", "bob", "--first", "2", "--out", tmp_path / "bob.jsonl")
    records = [json.loads(line) for line in (tmp_path / "bob.jsonl").read_text().splitlines()]
    assert [record["task"] for record in records] == [6, 5]
    assert capsys.readouterr().err.endswith("bob.jsonl: 2 tasks for bob\n")


def test_label_studio_gets_everybodys_tasks_or_ones_own(folder, tmp_path):
    """Each triple once; what all have judged only with --all, and never a verdict."""
    counts = []
    for number, options in enumerate(([], ["--all"], ["--annotator", "bob"])):
        out = tmp_path / str(number)
        kgtrec("campaign", "export", folder, "--format", "label-studio", "--out", out, *options)
        text = (out / "tasks.json").read_text()
        assert "said by" not in text
        assert "secret-run" not in text
        counts.append([(one["data"]["task"], one["data"]["annotators"]) for one in json.loads(text)])
    assert sorted(counts[0]) == [(task, "ann, bob") for task in (2, 3, 4, 5, 6)]
    assert sorted(counts[1]) == [(task, "ann, bob") for task in (1, 2, 3, 4, 5, 6)]
    assert counts[2] == [(6, "bob"), (5, "bob"), (4, "bob"), (3, "bob")]


def test_what_cannot_be_exported(folder, tmp_path, capsys):
    """One line and exit code 2; nothing is written."""
    out = str(tmp_path / "out.csv")
    assert "expected --annotator PERSON" in refused([folder, "--out", out], capsys)
    assert "found nobody called 'anna'; did you" in refused([folder, "--annotator", "anna", "--out", out], capsys)
    assert "found --guidelines with a file" in refused(
        [folder, "--annotator", "ann", "--out", out, "--guidelines", "https://x.org"], capsys
    )
    xls = str(tmp_path / "ann.xls")
    assert "expected a name that ends in .csv" in refused([folder, "--annotator", "ann", "--out", xls], capsys)
    assert "run kgtrec pool first" in refused([str(tmp_path / "none"), "--annotator", "ann", "--out", out], capsys)
    Path(folder, "assignments.tsv").write_text("annotator\ttask\thead\trelation\ttail\n")
    assert "run kgtrec campaign assign first" in refused([folder, "--annotator", "ann", "--out", out], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["campaign"]


# --- files in which somebody has worked


def fill_in(path, row, verdict) -> None:
    """As somebody who works in the file."""
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        records[row] |= {"verdict": verdict, "source": "https://en.wikipedia.org/", "note": "my work"}
        path.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in records))
    elif path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        names = [cell.value for cell in book["tasks"][1]]
        for name, text in (("verdict", verdict), ("source", "https://en.wikipedia.org/"), ("note", "my work")):
            book["tasks"].cell(row + 2, names.index(name) + 1).value = text
        book.save(path)
    else:
        text = path.read_text("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text), delimiter=";" if text.startswith("verdict;") else ","))
        for name, typed in (("verdict", verdict), ("source", "https://en.wikipedia.org/"), ("note", "my work")):
            rows[row + 1][rows[0].index(name)] = typed
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, delimiter=";").writerows(rows)


@pytest.mark.parametrize("name", ["bob.csv", "bob.jsonl", "bob.xlsx"])
def test_a_file_in_which_somebody_has_worked_is_never_replaced(folder, name, tmp_path, capsys):
    """Another name and --merge are offered; one in which nothing is filled in is replaced with --force."""
    out = tmp_path / name
    export = [folder, "--annotator", "bob", "--out", str(out)]
    kgtrec("campaign", "export", *export)
    assert "exists; --force replaces it" in refused(export, capsys)
    kgtrec("campaign", "export", *export, "--force")
    fill_in(out, 1, "yes")
    before = out.read_bytes()
    for words in (export, [*export, "--force"]):
        told = refused(words, capsys)
        assert "holds verdicts, or what people have typed, which nothing else replaces" in told
        assert "choose another name, or bring along what is filled in there with --merge" in told
        assert out.read_bytes() == before


@pytest.mark.parametrize("name", ["bob.csv", "bob.jsonl", "bob.xlsx"])
def test_merge_brings_along_what_is_filled_in(folder, name, tmp_path, capsys):
    """To the letter; the former file stays, and what is not asked for any more is told."""
    out = tmp_path / name
    export = ["campaign", "export", folder, "--annotator", "bob", "--out", str(out)]
    main(export)
    tasks = len(read_tasks(out).incoming) + read_tasks(out).not_done
    for row, verdict in ((1, "yes"), (2, "Perhaps")):
        fill_in(out, row, verdict)
    worked = out.read_bytes()
    err = said_by(capsys, *export, "--merge")
    assert f"kept as bob.1{out.suffix}" in err
    assert "no longer asked for" not in err
    assert (tmp_path / f"bob.1{out.suffix}").read_bytes() == worked
    found = read_tasks(out)
    assert [(row.verdict, row.source, row.note) for row in found.incoming] == [
        ("Y", "https://en.wikipedia.org/", "my work"),
        ("Perhaps", "https://en.wikipedia.org/", "my work"),
    ]
    assert len(found.incoming) + found.not_done == tasks
    err = said_by(capsys, *export, "--merge", "--first", "2")
    assert "warning: 1 row of the file that was there is filled in and no longer asked for; import the former" in err
    assert len(read_tasks(out).incoming) == 1
    assert len(read_tasks(tmp_path / f"bob.2{out.suffix}").incoming) == 2


def test_a_file_with_what_was_brought_along_is_not_replaced_either(folder, tmp_path, capsys):
    """What somebody made may be nowhere else by then."""
    out = tmp_path / "bob.csv"
    export = [folder, "--annotator", "bob", "--out", str(out)]
    kgtrec("campaign", "export", *export)
    fill_in(out, 1, "yes")
    kgtrec("campaign", "export", *export, "--merge")
    (tmp_path / "bob.1.csv").unlink()
    before = out.read_bytes()
    assert "or bring along what is filled in there with --merge" in refused(export, capsys)
    assert out.read_bytes() == before
    kgtrec("campaign", "export", *export, "--merge", "--first", "1")
    assert (tmp_path / "bob.1.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["export", "--annotator", "ann"], "expected tasks of ann, found one that bob has filled in"),
        (["adjudicate", "--person", "eve"], "expected tasks of eve, found one that bob has filled in"),
        (["adjudicate"], "expected tasks that name nobody, found one that bob has filled in"),
    ],
)
def test_merge_takes_nobodys_verdicts_for_anothers(folder, words, told, tmp_path, capsys):
    """The file of one person, named as the output of another's tasks."""
    out = tmp_path / "bob.csv"
    kgtrec("campaign", "export", folder, "--annotator", "bob", "--out", out)
    fill_in(out, 1, "yes")
    before = tree(tmp_path)
    command, *options = words
    assert exit_code("campaign", command, folder, *options, "--out", out, "--merge") == 2
    assert f"bob.csv:3: {told}; write these tasks under another name" in capsys.readouterr().err
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["bob.csv", "bob.jsonl", "bob.xlsx"])
def test_what_merge_brought_along_is_a_persons_work(folder, name, tmp_path, capsys):
    """Not replaced without --merge, and set aside where a later --merge leaves some of it out."""
    out = tmp_path / name
    export = [folder, "--annotator", "bob", "--out", str(out)]
    kgtrec("campaign", "export", *export)
    for row in (1, 2):
        fill_in(out, row, "yes")
    kgtrec("campaign", "export", *export, "--merge")
    aside = tmp_path / f"bob.1{out.suffix}"
    aside.unlink()  # all of it is in the merged file
    merged = out.read_bytes()
    assert "or bring along what is filled in there with --merge" in refused(export, capsys)
    kgtrec("campaign", "export", *export, "--merge")
    assert (out.read_bytes(), aside.exists()) == (merged, False)
    err = said_by(capsys, "campaign", "export", *export, "--merge", "--first", "2")
    assert "1 row of the file that was there is filled in and no longer asked for; import the former" in err
    assert aside.read_bytes() == merged


def test_merge_refuses_a_file_that_holds_no_tasks(folder, tmp_path, capsys):
    (tmp_path / "bob.csv").write_text("thesis\n")
    assert "expected a header line with the columns" in refused(
        [folder, "--annotator", "bob", "--out", str(tmp_path / "bob.csv"), "--merge"], capsys
    )
    assert (tmp_path / "bob.csv").read_text() == "thesis\n"


@pytest.mark.parametrize("name", ["judgements.jsonl", "people.tsv", "pool.tsv", "sub/../judgements.jsonl"])
def test_a_file_of_the_campaign_is_no_file_of_tasks(folder, name, tmp_path, capsys):
    """Whatever it holds."""
    (Path(folder) / "sub").mkdir()
    before = tree(Path(folder))
    for merge in ([], ["--merge"]):
        out = ["--format", "jsonl", "--out", f"{folder}/{name}", *merge]
        told = refused([folder, "--annotator", "bob", *out], capsys)
        assert told.endswith(
            "expected a name of its own, found that of a file of the campaign in this folder; choose another name\n"
        )
        assert tree(Path(folder)) == before
