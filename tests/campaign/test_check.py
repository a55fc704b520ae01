"""Recorded events, held against the rules: what is a finding, and what is none."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgtrec.campaign.check import check_judgements
from kgtrec.cli import main
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Automatic
from kgtrec.data.judgements import Judgements
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.formats.campaign.folder import JUDGEMENTS, write_people
from tests.campaign_folders import folder_of, people_of
from tests.campaigns_by_hand import campaign_of
from tests.judged_pools import pool_of

WIKI = "https://en.wikipedia.org/wiki/Paris"
OTHER = "https://example.org/x"
PEOPLE = people_of(
    ("ann", "annotator", True),
    ("bob", "annotator", True),
    ("eve", "adjudicator", True),
    ("bob", "adjudicator", True),
    ("ivy", "expert", True),
    ("ann", "expert", True),
)
CONFLICT = [(0, "ann", "annotator", "Y", WIKI, ""), (0, "bob", "annotator", "N", WIKI, "")]


def wrong(events, **changes) -> list[str]:
    return [str(one) for one in check_judgements(campaign(events, **changes), "j").wrong]


def campaign(events, *, times=None, **changes):
    made = replace(campaign_of(events), people=PEOPLE, **changes)
    said = made.judgements
    return replace(made, judgements=replace(said, time=labels_of(times)) if times else said)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ((1, "dan", "annotator", "N", WIKI, ""), "expected one of the campaign's people, found 'dan'; did you"),
        ((1, "eve", "annotator", "N", WIKI, ""), "expected an annotator, found 'eve', who is an adjudicator"),
        ((1, "ann", "annotator", "Y", "", ""), "expected a link to the source of a Y, found none"),
        ((1, "ann", "annotator", "Y", "javascript:alert(1)", ""), "expected a link that begins with https://,"),
        ((1, "ann", "annotator", "unsure", "http://en.wikipedia.org/", ""), "expected a link that begins with"),
        ((1, "ann", "annotator", "Y", WIKI, "\x1b[2J"), "expected a note without control characters, found '\\x1b'"),
        ((1, "ann", "annotator", "Y", WIKI, "x" * 10_001), "expected a note of at most 10,000 characters"),
        ((1, "ann", "annotator", "Y", WIKI + "x" * 2048, ""), "expected a link of at most 2,048 characters"),
        ((5, "ann", "annotator", "N", WIKI, ""), "expected a triple for people to judge, found one that a rule has"),
        ((0, "bob", "adjudicator", "N", WIKI, ""), "expected an adjudicator who has not judged the triple, found"),
        ((0, "ann", "expert", "N", WIKI, ""), "expected an expert who has not judged the triple, found 'ann'"),
        ((1, "eve", "adjudicator", "N", WIKI, ""), "expected a triple in conflict or doubted, found one that is open"),
    ],
)
def test_what_no_import_would_have_let_in_is_a_finding(event, message):
    """With the line of the file, and in the words in which it would have been refused."""
    rule = np.array([-1] * 5 + [0], np.int8)
    (found,) = wrong([*CONFLICT, event], automatic=Automatic(rule, ("types",)))
    assert found.startswith(f"j:3: {message}")


def test_what_was_right_when_it_was_recorded_is_no_finding():
    """People who left, corrections, other numbers of annotators, verdicts of nobody's task; an expert on any triple."""
    events = [
        (1, "ann", "annotator", "unsure", "", ""),
        (1, "eve", "adjudicator", "N", WIKI, ""),
        *CONFLICT,
        (0, "eve", "adjudicator", "N", WIKI, ""),
        (0, "ann", "annotator", "N", WIKI, "mine"),
        (0, "eve", "adjudicator", "Y", WIKI, ""),
        (5, "ivy", "expert", "N", WIKI, ""),
    ]
    rule = np.array([-1] * 5 + [0], np.int8)
    times = [f"2026-11-21T20:00:{second:02}Z" for second in range(len(events))]
    now = campaign(events, times=times, automatic=Automatic(rule, ("types",)))
    none = np.zeros(0, np.int32)
    now = replace(
        now,
        people=replace(PEOPLE, is_active=~PEOPLE.is_active),
        settings={"annotators_per_triple": 3},
        assignments=replace(now.assignments, annotator=none, triple=none),
    )
    assert check_judgements(now, "j").wrong == ()


def test_which_of_two_verdicts_is_the_last_must_be_clear():
    """One time for both is a finding; not the order of lines, the same verdict again, or what others said."""
    first, second = "2026-11-22T08:00:00Z", "2026-11-22T08:00:01Z"
    corrected = [*CONFLICT, (0, "ann", "annotator", "N", WIKI, "")]
    assert wrong(corrected, times=[first, second, first]) == [
        "j:3: expected times that show which verdict on the triple is the last, found 2026-11-22T08:00:00Z here and on "
        "line 1, which says something else; change one of the times, or remove a line"
    ]
    assert wrong(corrected, times=[second, second, first]) == []
    assert wrong([*CONFLICT, (0, "ann", "annotator", "Y", WIKI, "x")], times=[first] * 3) == []
    assert wrong([*CONFLICT, (1, "ann", "annotator", "N", WIKI, "")], times=[first] * 3) == []
    settled = [(1, "ann", "annotator", "unsure", "", ""), *((1, "eve", "adjudicator", word, WIKI, "") for word in "NY")]
    assert len(wrong(settled, times=[first] * 3)) == 1


def test_in_merged_copies_of_a_campaign_the_times_decide_what_was_in_conflict():
    """The line of an adjudicator may come after a correction in another copy that was made later."""
    events = [*CONFLICT, (0, "bob", "annotator", "Y", WIKI, ""), (0, "eve", "adjudicator", "N", WIKI, "")]
    first, second, third, last = (f"2026-11-22T08:00:0{second}Z" for second in range(4))
    assert wrong(events, times=[first, second, last, third]) == []
    (found,) = wrong(events, times=[first, second, third, last])
    assert found.startswith("j:4: expected a triple in conflict or doubted, found one that is agreed")


def test_a_host_that_was_taken_off_the_list_is_a_note():
    """Nothing tells whether it was on it when the verdict came."""
    now = campaign([*CONFLICT, (1, "ann", "annotator", "Y", OTHER, ""), (2, "ann", "annotator", "Y", OTHER, "")])
    checked = check_judgements(now, "j")
    assert checked.wrong == ()
    assert checked.notes == ("2 links lead to hosts that sources.txt does not list now: example.org (2)",)
    assert check_judgements(replace(now, sources=()), "j").notes == ()


def test_published_labels_were_collected_by_other_rules():
    """Who judged what is a note; a link that is none is wrong all the same."""
    events = [*CONFLICT, (0, "bob", "adjudicator", "N", WIKI, ""), (1, "ann", "annotator", "Y", "x", "")]
    made = {"pool": {"source": "https://example.org/labels"}}
    checked = check_judgements(campaign(events, settings=made), "j")
    assert [str(one) for one in checked.wrong] == ["j:4: expected a link that begins with https://, found 'x'"]
    assert checked.notes == (
        "1 of 4 events would not be accepted now; they were published elsewhere (https://example.org/labels), where "
        "other rules held: 1 times: expected an adjudicator who has not judged the triple",
    )


def test_the_command_tells_the_first_and_counts_the_rest(tmp_path, capsys):
    """20 lines, then how many of each kind; the exit code is 2. Renaming a person is found."""
    many = [(row % 6, "ann", "annotator", "Y", "" if row % 2 else "http://x.org/", f"{row}") for row in range(30)]
    folder = folder_of(campaign(many), tmp_path / "C")
    with pytest.raises(SystemExit) as left:
        main(["check", str(folder)])
    assert left.value.code == 2
    told = [line for line in capsys.readouterr().out.splitlines() if ": ok," not in line]
    assert told[0] == f"{folder / JUDGEMENTS}:1: expected a link that begins with https://, found 'http://x.org/'"
    assert told[19].startswith(f"{folder / JUDGEMENTS}:20: ")
    assert told[20:] == [
        "... and 10 more; in total",
        "  15 times: expected a link that begins with https://",
        "  15 times: expected a link to the source of a Y",
    ]
    (folder / JUDGEMENTS).write_text("")
    (folder / "assignments.tsv").unlink()
    main(["check", str(folder)])
    write_people(folder, people_of(("anne", "annotator", True)))
    folder = folder_of(campaign(CONFLICT), tmp_path / "D")
    (folder / "assignments.tsv").unlink()
    write_people(folder, people_of(("anne", "annotator", True), ("bob", "annotator", True)))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["check", str(folder)])
    assert f"{folder / JUDGEMENTS}:1: expected one of the campaign's people, found 'ann'; did you mean anne?\n" in (
        capsys.readouterr().out
    )


def test_the_campaigns_of_the_repository_are_right(capsys):
    """The worked example, without a note."""
    main(["check", str(Path(__file__).parents[2] / "annotation")])
    lines = capsys.readouterr().out.splitlines()
    assert all(": ok, " in line for line in lines)
    assert any("judgements.jsonl: ok, judgements: 4,599 events" in line for line in lines)


@pytest.mark.slow
def test_published_labels_check_as_ok_with_a_note(data, tmp_path, capsys):
    """Those of Zhou et al., of which 61 were adjudicated under the same name, and three are of wrong types."""
    out = tmp_path / "published"
    main(["campaign", "import-kgc-sparsity", str(data / "kgc-sparsity" / "data"), "--out", str(out)])
    capsys.readouterr()
    main(["check", str(out)])
    notes = [line for line in capsys.readouterr().out.splitlines() if ": ok, " not in line]
    assert len(notes) == 1
    assert "note: 64 of 12,634 events would not be accepted now; they were published elsewhere" in notes[0]


@pytest.mark.slow
def test_many_events_are_checked_in_seconds():
    """400,000, of which some are wrong; a loop over each rule for each of them would take far longer."""
    n = 400_000
    pool = pool_of([n // 2])
    rng = np.random.default_rng(0)
    person = (np.arange(n) % 2).astype(np.int32)
    source = [f"{WIKI}_{number}" for number in rng.integers(0, 50_000, n).tolist()]
    source[n // 2] = "javascript:x"
    role = np.zeros(n, np.int8)
    role[-10:] = 1
    said = Judgements(
        (np.arange(n) // 2).astype(np.int32),
        person,
        role,
        np.ones(n, np.int8),
        labels_of(source),
        labels_of([json.dumps(place % 7) for place in range(n)]),
        labels_of(["2026-11-22T08:00:00Z"] * n),
        Vocabulary.of(["ann", "bob"]),
    )
    small = campaign([])
    big = replace(small, pool=pool, automatic=Automatic.none(len(pool)), judgements=said)
    start = time.process_time()
    found = check_judgements(big, "j").wrong
    assert time.process_time() - start < 20  # about two on an idle machine
    assert [one.place for one in found[:2]] == [f"j:{n // 2 + 1}", f"j:{n - 9}"]
    assert len(found) == 11
