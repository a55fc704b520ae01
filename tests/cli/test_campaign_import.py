"""kgtrec campaign import and adjudicate: what is taken, what is told, and that nothing is ever lost."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kgtrec.campaign.store import OpenCampaign
from kgtrec.campaign.tasks import phrase
from kgtrec.cli import main
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.judgements import Incoming
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.errors import KgtrecWarning
from kgtrec.formats.campaign.folder import JUDGEMENTS, read_campaign
from kgtrec.formats.campaign.judgements import JudgementsFile, append_judgements
from kgtrec.formats.csv_text import guarded
from kgtrec.formats.output.locks import campaign_lock
from tests.campaign_folders import folder_of, people_of, said, task_fields
from tests.campaigns_by_hand import campaign_of
from tests.full_disks import TOLD, full_disk_runs, needs_full_disk
from tests.judged_pools import judgements_of, pool_of
from tests.program import exit_code, kgtrec, said_by

NOW = "2026-11-21T20:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
PEOPLE = people_of(
    ("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True), ("ivy", "expert", True)
)
CONFLICT = [(0, "ann", "annotator", "Y", WIKI, "line\n\x1b[2J"), (0, "bob", "annotator", "N", WIKI + "?b", "no")]


@pytest.fixture
def folder(tmp_path) -> Path:
    return folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "C")


def table(path, rows, labels) -> str:
    """A file of (task, verdict, source, note) rows."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["task", "head", "relation", "tail", "verdict", "source", "note"])
        writer.writerows([task, *labels[task - 1], *rest] for task, *rest in rows)
    return str(path)


def labels_of_tasks(campaign) -> list[tuple[str, str, str]]:
    """Label triples by task number, guarded as an export does it."""
    triples = campaign.pool.triples
    columns = (
        triples.entities.decode(triples.head),
        triples.relations.decode(triples.relation),
        triples.entities.decode(triples.tail),
    )
    return [
        tuple(guarded(cell, is_returned=True) for cell in row)
        for row in zip(*(column.to_pylist() for column in columns), strict=True)
    ]


def events(folder) -> list[tuple]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)  # of a line that a killed process left
        return [event[:6] for event in said(read_campaign(folder).judgements)]


def refused(*words: str) -> None:
    assert exit_code("campaign", *words) == 2


def test_verdicts_are_taken_and_counted(folder, tmp_path, capsys):
    """Rows without one are for later."""
    labels = labels_of_tasks(read_campaign(folder))
    path = table(tmp_path / "ann.csv", [(1, "Y", WIKI, "x"), (2, "unsure", "", ""), (3, "", "", "")], labels)
    kgtrec("campaign", "import", folder, path, "--person", "ann")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"1 task without a verdict\n{folder / JUDGEMENTS}: stored 2 verdicts; 0 stored before\n"
    assert events(folder) == [(0, "ann", "annotator", 1, WIKI, "x"), (1, "ann", "annotator", 2, "", "")]


def test_a_second_import_changes_not_one_byte(folder, tmp_path, capsys):
    """Of any file of the campaign; and a file can be imported as it grows."""
    labels = labels_of_tasks(read_campaign(folder))
    path = table(tmp_path / "ann.csv", [(1, "Y", WIKI, "x"), (2, "unsure", "", "")], labels)
    kgtrec("campaign", "import", folder, path, "--person", "ann")
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    capsys.readouterr()
    kgtrec("campaign", "import", folder, path, path, "--person", "ann")
    assert capsys.readouterr().err == f"{folder / JUDGEMENTS}: stored 0 verdicts; 4 stored before\n"
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == before
    path = table(tmp_path / "ann.csv", [(1, "Y", WIKI, "x"), (2, "unsure", "", ""), (3, "N", WIKI, "")], labels)
    kgtrec("campaign", "import", folder, path, "--person", "ann")
    assert "stored 1 verdict; 2 stored before" in capsys.readouterr().err
    assert (folder / JUDGEMENTS).read_bytes().startswith(before[folder / JUDGEMENTS][0])


def test_all_or_nothing_and_the_lines_that_are_refused(folder, tmp_path, capsys):
    """One wrong row keeps all files out; --keep-going takes the rest, and the exit code tells."""
    labels = labels_of_tasks(read_campaign(folder))
    good = table(tmp_path / "good.csv", [(4, "Y", WIKI, "")], labels)
    wrong = table(
        tmp_path / "wrong.csv", [(1, "Y", WIKI, "two\nlines"), (2, "N", "", ""), (3, "maybe", "", "")], labels
    )
    refused("import", str(folder), good, wrong, "--person", "ann")
    lines = [
        f"{wrong}:4: expected a link to the source of a N, found none",
        f"{wrong}:5: expected one of N, Y, unsure, found 'maybe'",
    ]
    nothing = "error: 2 verdicts of 4 refused, nothing is stored; fix the file, or take the others with --keep-going"
    assert capsys.readouterr().err.splitlines() == [*lines, nothing]
    assert (folder / JUDGEMENTS).read_bytes() == b""
    refused("import", str(folder), good, wrong, "--person", "ann", "--keep-going")
    stored = f"{folder / JUDGEMENTS}: stored 2 verdicts; 0 stored before, 2 refused"
    assert capsys.readouterr().err.splitlines() == [*lines, stored]
    assert [event[0] for event in events(folder)] == [3, 0]


def test_of_many_refusals_the_first_are_told_and_all_are_counted(folder, tmp_path, capsys):
    """By kind of reason, most first; wrong numbers are among them."""
    labels = labels_of_tasks(read_campaign(folder))
    rows = [(1, "Y", "", str(number)) for number in range(25)]
    path = table(tmp_path / "ann.csv", [(2, "maybe", WIKI, ""), *rows], labels)
    text = (tmp_path / "ann.csv").read_text().replace("\n2,", "\n2nd,", 1)
    (tmp_path / "ann.csv").write_text(text)
    refused("import", str(folder), path, "--person", "ann")
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"{path}:2: expected a task's number, found '2nd'; do not edit it"
    assert len([line for line in told if line.startswith(path)]) == 20
    assert told[20:23] == [
        "... and 6 more; in total",
        "  25 times: expected one verdict of ...",
        "  1 times: expected a task's number",
    ]
    assert told[23].startswith("error: 26 verdicts of 26 refused, nothing is stored")


def test_a_row_that_is_there_twice_is_told_apart_from_what_was_stored(folder, tmp_path, capsys):
    """Only a row of an earlier import was stored before."""
    labels = labels_of_tasks(read_campaign(folder))
    path = table(tmp_path / "ann.csv", [(1, "Y", WIKI, "")] * 3, labels)
    kgtrec("campaign", "import", folder, path, "--person", "ann")
    assert "stored 1 verdict; 0 stored before, 2 repeated in the file\n" in capsys.readouterr().err
    kgtrec("campaign", "import", folder, path, "--person", "ann")
    assert "stored 0 verdicts; 3 stored before\n" in capsys.readouterr().err


def test_a_correction_has_to_be_asked_for(folder, tmp_path, capsys):
    """It is told, and the earlier event stays in the file."""
    labels = labels_of_tasks(read_campaign(folder))
    kgtrec("campaign", "import", folder, table(tmp_path / "a.csv", [(1, "Y", WIKI, "")], labels), "--person", "ann")
    again = table(tmp_path / "b.csv", [(1, "N", WIKI, "")], labels)
    refused("import", str(folder), again, "--person", "ann")
    kgtrec("campaign", "import", folder, again, "--person", "ann", "--correct")
    assert "stored 1 verdict, 1 in place of an earlier one; 0 stored before" in capsys.readouterr().err
    assert [event[3] for event in events(folder)] == [1, 0]


def test_other_forms_and_roles(folder, tmp_path, capsys):
    """JSON Lines with the annotator in each row; what an expert says of a sample; what was not assigned."""
    (head, relation, tail), *_ = ((label.removeprefix("'") for label in row) for row in labels_of_tasks(campaign_of()))
    one = {"task": 1, "annotator": "bob", "head": head, "relation": relation, "tail": tail, "verdict": "unsure"}
    (tmp_path / "all.jsonl").write_text(json.dumps(one) + "\n")
    kgtrec("campaign", "import", folder, tmp_path / "all.jsonl")
    (tmp_path / "expert.txt").write_text(json.dumps({**one, "annotator": "ivy"}) + "\n")
    kgtrec("campaign", "import", folder, tmp_path / "expert.txt", "--format", "jsonl", "--role", "expert")
    assert [event[:3] for event in events(folder)] == [(0, "bob", "annotator"), (0, "ivy", "expert")]
    assert capsys.readouterr().err.count("stored 1 verdict; 0 stored before") == 2


def test_label_studio_needs_to_know_whose_account_is_whose(folder, tmp_path, capsys):
    """And takes nobody's word for it."""
    (tmp_path / "project.json").write_text("[]")
    refused("import", str(folder), str(tmp_path / "project.json"))
    assert "expected --user-map FILE, which says whose account is whose" in capsys.readouterr().err
    (tmp_path / "users.tsv").write_text("user\tperson\nann@example.org\tann\n")
    refused(
        "import",
        str(folder),
        str(tmp_path / "project.json"),
        "--user-map",
        str(tmp_path / "users.tsv"),
        "--person",
        "ann",
    )
    assert "expected --user-map alone for Label Studio" in capsys.readouterr().err


def test_a_folder_that_nobody_can_judge_in_is_left_alone(tmp_path, capsys):
    """No file of judgements appears in it."""
    refused("import", str(tmp_path), str(tmp_path / "x.csv"), "--person", "ann")
    assert "run kgtrec pool first" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_waits_is_listed_with_what_was_said(tmp_path, capsys):
    """On one line each, whatever a note holds; nobody is named."""
    folder = folder_of(replace(campaign_of(CONFLICT), people=PEOPLE), tmp_path / "C")
    question = campaign_of_question(folder)
    kgtrec("campaign", "adjudicate", folder)
    width, wide = len(question), len(WIKI) + 2
    assert capsys.readouterr().out == (
        f"task  {'question':{width}}  verdict  {'source':{wide}}  note\n"
        f"1     {question}  Y        {WIKI}    line \\x1b[2J\n"
        f"      {'':{width}}  N        {WIKI}?b  no\n"
    )
    empty = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "D")
    kgtrec("campaign", "adjudicate", empty)
    assert capsys.readouterr() == ("", "nothing waits for an adjudicator\n")


def campaign_of_question(folder) -> str:
    return phrase(read_campaign(folder), np.array([0]))[0]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_tasks_of_an_adjudicator_go_out_and_come_back(suffix, tmp_path, capsys):
    """With all that was said in columns of their own; what is adjudicated waits no more."""
    doubted = [(1, "ann", "annotator", "unsure", "", ""), (1, "bob", "annotator", "Y", WIKI, "")]
    events_before = [*CONFLICT[:1], (0, "bob", "annotator", "N", WIKI + "?b", "no"), *doubted]
    events_before[0] = (*events_before[0][:5], "line\nbreak")
    folder = folder_of(replace(campaign_of(events_before), people=PEOPLE), tmp_path / "C")
    out = tmp_path / f"eve.{suffix}"
    assert said_by(capsys, "campaign", "adjudicate", folder, "--person", "eve", "--out", out) == f"{out}: 2 tasks\n"
    if suffix == "csv":
        with out.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["verdict_1"], row["note_1"], row["verdict_2"]) for row in rows] == [
        ("Y", "line\nbreak", "N"),
        ("unsure", "", "Y"),
    ]
    rows[0].update(verdict="Y", source=WIKI)
    rows[1].update(verdict="unsure")
    with out.open("w", newline="") as stream:
        if suffix == "csv":
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        else:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    assert "stored 2 verdicts; 0 stored before" in said_by(capsys, "campaign", "adjudicate", folder, "--import", out)
    assert events(folder)[4:] == [(0, "eve", "adjudicator", 1, WIKI, ""), (1, "eve", "adjudicator", 2, "", "")]
    assert said_by(capsys, "campaign", "adjudicate", folder) == "nothing waits for an adjudicator\n"
    before = (folder / JUDGEMENTS).read_bytes()
    kgtrec("campaign", "adjudicate", folder, "--import", out)
    assert (folder / JUDGEMENTS).read_bytes() == before


def test_an_adjudicator_is_not_asked_about_their_own_verdicts(tmp_path, capsys):
    """They would be refused."""
    both = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("ann", "adjudicator", True))
    folder = folder_of(replace(campaign_of(CONFLICT), people=both), tmp_path / "C")
    kgtrec("campaign", "adjudicate", folder, "--person", "ann")
    assert capsys.readouterr().err == "nothing waits for an adjudicator\n"
    labels = labels_of_tasks(read_campaign(folder))
    path = table(tmp_path / "ann.csv", [(1, "Y", WIKI, "")], labels)
    refused("adjudicate", str(folder), "--person", "ann", "--import", path)
    assert f"{path}:2: expected an adjudicator who has not judged the triple" in capsys.readouterr().err
    refused("adjudicate", str(folder), "--import", path, "--out", path)


@pytest.mark.slow
def test_imports_at_once_lose_nothing_and_store_nothing_twice(folder, tmp_path):
    """Four processes, of which two have the same file."""
    labels = labels_of_tasks(read_campaign(folder))
    files = {
        name: table(tmp_path / f"{name}.csv", [(task, "Y", WIKI, "") for task in range(1, 7)], labels)
        for name in ("ann", "bob")
    }
    commands = [["import", str(folder), path, "--person", name] for name, path in files.items()] * 2
    started = [subprocess.Popen([sys.executable, "-m", "kgtrec", "campaign", *words], stderr=-1) for words in commands]
    told = [process.communicate()[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * 4
    last = [text.splitlines()[-1] for text in told]  # a warning of a long wait may come before
    assert sorted(line.split(": ")[1] for line in last) == sorted(
        ["stored 6 verdicts; 0 stored before"] * 2 + ["stored 0 verdicts; 6 stored before"] * 2
    )
    assert Counter(events(folder)) == {(row, name, "annotator", 1, WIKI, ""): 1 for row in range(6) for name in files}


@pytest.mark.slow
def test_what_is_checked_is_still_so_when_it_is_stored(folder, tmp_path):
    """An import that comes while another program holds the lock sees what that one stores."""
    labels = labels_of_tasks(read_campaign(folder))
    path = table(tmp_path / "ann.csv", [(1, "N", WIKI, "")], labels)
    with campaign_lock(folder):
        waiting = subprocess.Popen(
            [sys.executable, "-m", "kgtrec", "campaign", "import", str(folder), path, "--person", "ann"],
            stderr=subprocess.PIPE,
            text=True,
        )
        first = waiting.stderr.readline()
        held = JudgementsFile(folder / JUDGEMENTS, read_campaign(folder).pool)
        held.update()
        held.append(campaign_of([(0, "ann", "annotator", "Y", WIKI, "")]).judgements)
    told = waiting.communicate()[1]
    assert first == f"warning: {folder}: another program is changing it; waiting\n"
    assert "expected the earlier verdict of 'ann', verdict 'Y'" in told
    assert waiting.returncode == 2
    assert len(events(folder)) == 1


@pytest.mark.slow
@needs_full_disk
def test_a_full_disk_stores_nothing_or_all(folder, tmp_path, capfd):
    """At any file that is opened, and any size; what could not be stored is stored by the same command later."""
    append_judgements(folder / JUDGEMENTS, campaign_of().pool, campaign_of(CONFLICT).judgements)
    before, size = events(folder), (folder / JUDGEMENTS).stat().st_size
    path, kept = tmp_path / "ann.jsonl", tmp_path / "kept"
    rows = [{**task_fields(campaign_of().pool, task), "verdict": "Y", "source": WIKI} for task in (2, 3)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = ["campaign", "import", str(folder), str(path), "--person", "ann"]
    shutil.copytree(folder, kept)

    def reset():
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)

    seen = set()
    for fault, number, code, errors in full_disk_runs(
        lambda: main(command), reset, folder, [size, size + 9, size + 400]
    ):
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):
            found = events(folder)
        if code:
            seen.add(fault)
            assert (code, found) == (2, before), (fault, number)
            assert f"error: {folder / JUDGEMENTS}: {TOLD[fault]}; make room" in errors
        main(command)
        assert events(folder) == [*before, (1, "ann", "annotator", 1, WIKI, ""), (2, "ann", "annotator", 1, WIKI, "")]
    assert seen == {"full", "limit"}


@pytest.mark.slow
def test_on_windows_an_import_stores_what_it_says(folder, tmp_path):
    """As far as what stands in for it tells: the whole command, in a process of its own."""
    path = tmp_path / "ann.jsonl"
    path.write_text(json.dumps({**task_fields(campaign_of().pool, 2), "verdict": "Y", "source": WIKI}) + "\n")
    code = (
        "import sys, pytest; from kgtrec.cli import main; from tests.windows import pretend_windows\n"
        "pretend_windows(pytest.MonkeyPatch()); main(sys.argv[1:])"
    )
    words = ["campaign", "import", str(folder), str(path), "--person", "ann"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, f"{folder / JUDGEMENTS}: stored 1 verdict; 0 stored before\n")
    assert (folder / JUDGEMENTS).read_bytes().endswith(b'"note": ""}\n')
    assert events(folder) == [(1, "ann", "annotator", 1, WIKI, "")]


N_TASKS, PER_FILE, NOTE, N_KILLS = 600, 5, 6000, 9
# One process that has all imported forks a child for each kill, so that a kill does not cost a start of Python. The
# child stores file after file and writes down what was acknowledged; the parent waits for an acknowledgement,
# then, where it is told so, for the next bytes to arrive in the store, and then for as long as it is told.
WORK = """
import os, signal, sys, time
from pathlib import Path
import pyarrow.compute, pyarrow.json
from kgtrec.cli import main
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign import judgements
from kgtrec.formats.campaign import label_studio
from kgtrec.formats.campaign import tasks
import kgtrec.campaign.accept, kgtrec.campaign.tasks
from tests.cli.test_campaign_import import PER_FILE, N_TASKS, one_call
mode, folder, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
store = folder / "judgements.jsonl"
def piecewise(descriptor, data):
    # as a slow disk would have it, so that many a kill comes in the middle of a line
    for first in range(0, len(data), 1000):
        os.write(descriptor, data[first : first + 1000])
        time.sleep(0.001)
judgements._write = piecewise
def child():
    acknowledged = os.open(log, os.O_WRONLY | os.O_APPEND)
    for i in range(len(log.read_bytes().split()), N_TASKS // PER_FILE):
        one_call(mode, folder, i)
        os.write(acknowledged, f"{i}\\n".encode())
    signal.pause()
for line in sys.stdin:
    before = log.stat().st_size
    pid = os.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(3)
    while log.stat().st_size == before:
        time.sleep(0.0005)
    size, (for_bytes, delay) = store.stat().st_size, line.split()
    while for_bytes == "True" and store.stat().st_size == size:
        time.sleep(0.0005)
    time.sleep(float(delay))
    os.kill(pid, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
ROLE_OF = {
    "append": ("ann", "annotator"),
    "import": ("ann", "annotator"),
    "adjudicate": ("eve", "adjudicator"),
    "held open": ("ann", "annotator"),
}


def rows_of_file(i) -> list[tuple[int, str, str, str]]:
    """(task, verdict, source, note) of the i-th file; long notes, so that a write takes its time."""
    return [
        (task, "Y", WIKI, " ".join([str(task)] * (NOTE // 5)))
        for task in range(i * PER_FILE + 1, (i + 1) * PER_FILE + 1)
    ]


def stored_file(folder, i) -> str:
    entities = [("e0", "r0", f"e{task}") for task in range(1, N_TASKS + 1)]
    order = sorted(entities, key=lambda labels: labels[2].encode())
    return table(folder.parent / f"{i}.csv", rows_of_file(i), order)


@cache
def pool_in(folder) -> Pool:
    return read_campaign(folder).pool


@cache
def opened_in(folder, process) -> OpenCampaign:
    """The campaign, held open by a process."""
    opened = OpenCampaign(folder)
    assert opened.campaign is not None  # reads it
    return opened


def one_call(mode, folder, i) -> None:
    """Have the verdicts of the i-th file stored; returns once they are acknowledged."""
    person, role = ROLE_OF[mode]
    if mode == "append":
        rows = rows_of_file(i)
        judgements = judgements_of([(task - 1, person, role, verdict) for task, verdict, _, _ in rows])
        texts = {"source": [row[2] for row in rows], "note": [row[3] for row in rows], "time": [NOW] * len(rows)}
        judgements = replace(judgements, **{name: labels_of(column) for name, column in texts.items()})
        append_judgements(folder / JUDGEMENTS, pool_in(folder), judgements)
    elif mode == "held open":
        incoming = [
            Incoming("page", person, verdict, task, source=link, note=note)
            for task, verdict, link, note in rows_of_file(i)
        ]
        opened_in(folder, os.getpid()).store(incoming, time=NOW)
    elif mode == "import":
        kgtrec("campaign", "import", folder, stored_file(folder, i), "--person", person)
    else:
        kgtrec("campaign", "adjudicate", folder, "--person", person, "--import", stored_file(folder, i))


def folder_to_fill(mode, folder) -> Path:
    """A campaign of one question with many candidates; for an adjudicator, all of them in conflict."""
    pool = pool_of([N_TASKS])
    small = campaign_of()
    none = np.zeros(0, np.int32)
    made = replace(
        small,
        pool=pool,
        automatic=Automatic.none(N_TASKS),
        people=PEOPLE,
        names={},
        known_answers=Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities),
        assignments=replace(small.assignments, annotator=none, triple=none),
    )
    if mode == "adjudicate":
        two = [
            (row, name, "annotator", verdict)
            for row in range(N_TASKS)
            for name, verdict in (("ann", "Y"), ("bob", "N"))
        ]
        made = replace(made, judgements=replace(judgements_of(two), time=labels_of([NOW] * len(two))))
    return folder_of(made, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["append", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("held open", "import", "adjudicate"))]
)
def test_nothing_acknowledged_is_lost_by_a_kill(mode, tmp_path):
    """After each of nine kill -9 the file reads, and holds every acknowledged event as it was given."""
    folder = folder_to_fill(mode, tmp_path / "C")
    before = Counter(events(folder))
    log = tmp_path / "acknowledged"
    log.touch()
    delays = np.random.default_rng(7).uniform(0, 0.03, N_KILLS)
    with subprocess.Popen(
        [sys.executable, "-c", WORK, mode, str(folder), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        for kill, delay in enumerate(delays):
            process.stdin.write(f"{kill % 3 > 0} {delay if kill % 3 else 10 * delay}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "-9\n"
            acknowledged = [int(i) for i in log.read_text().split()]
            assert acknowledged == list(range(len(acknowledged)))
            expected = Counter(
                (task - 1, *ROLE_OF[mode], 1, WIKI, note) for i in acknowledged for task, _, _, note in rows_of_file(i)
            )
            new = Counter(events(folder)) - before
            assert expected <= new
            if mode != "append":  # which does not look at what is stored
                assert max(new.values()) == 1
                # at most what was being stored just then is there without having been acknowledged
                assert {event[0] // PER_FILE for event in new - expected} <= {len(acknowledged)}
        process.stdin.close()
    assert len(acknowledged) >= N_KILLS
