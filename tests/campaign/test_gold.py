"""Triples with a known verdict: mixed in where nobody can tell them, and counted nowhere but in calibration."""

from __future__ import annotations

import csv
import itertools
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.campaign import OpenCampaign, annotator_agreement, calibration, decide, tasks_for, track
from kgtrec.campaign.accept import RefusedError, accept
from kgtrec.campaign.assign import assign
from kgtrec.campaign.gold import given_to_annotators
from kgtrec.campaign.tasks import search_text
from kgtrec.cli import main
from kgtrec.data.campaign import Assignments, Automatic, Campaign
from kgtrec.data.gold import Gold
from kgtrec.data.incoming import Incoming
from kgtrec.data.label_hashes import check_numbers
from kgtrec.data.qrels import Qrels
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign import judgements as judgements_module
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.gold import read_gold, write_gold
from kgtrec.kernels.sampling.proportions import wilson_interval
from tests.campaign_folders import folder_of, people_of, said
from tests.campaigns_by_hand import campaign_of
from tests.examples import examples
from tests.judged_pools import judgements_of, pool_of
from tests.trees import tree

NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
PEOPLE = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("eve", "adjudicator", True))
#: of the campaign by hand: a candidate of two of its questions, one of a question of its own, one with strange labels
ROWS = (
    ("de", "capital", "paris", "N", "Berlin is"),
    ("oslo", "capital", "sweden", "N", ""),
    ("norway", "capital", "oslo", "Y", "=see the page"),
    ("'n", "@near", "=lyon", "Y", ""),
)


def by_hand(events=(), gold=(), share=0.5) -> Campaign:
    made = campaign_of(events)
    own = Gold.of(ROWS)
    own = replace(own, judgements=judgements_of(gold))
    return replace(made, people=PEOPLE, settings={"seed": 0, "gold_share": share}, gold=own)


def pooled(n_questions: int, size: int, n_gold: int, share: float, seed: int) -> Campaign:
    """A pool of tail questions of one relation, two annotators; half of gold answers questions of the pool."""
    pool = pool_of([size] * n_questions)
    people = people_of(("ann", "annotator", True), ("bob", "annotator", True), ("cleo", "annotator", True))
    none = np.zeros(0, np.int32)
    no_tasks = Assignments(none, none, people.names)
    automatic = Automatic.none(len(pool))
    tasks = assign(pool, automatic, people, judgements_of([]), no_tasks, seed=seed)
    rows = [(f"e{i % n_questions}" if i % 2 else f"g{i // 4}", "r0", f"new{i}", "YN"[i % 2], "") for i in range(n_gold)]
    return Campaign(
        pool,
        Qrels(none, none, none, pool.questions.ids, pool.questions.entities),
        automatic,
        people,
        tasks,
        judgements_of([]),
        settings={"seed": seed, "gold_share": share},
        gold=Gold.of(rows),
    )


CAMPAIGNS = st.builds(
    pooled,
    st.integers(1, 8),
    st.integers(1, 5),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.05, 0.3, 0.7]),
    st.integers(0, 99),
)


@given(CAMPAIGNS)
def test_gold_takes_its_share_of_everybodys_tasks_and_changes_nothing_else(campaign: Campaign):
    """The pool's tasks keep their order; gold is as many as the share asks for, if there are, each once."""
    mixed, n = given_to_annotators(campaign), len(campaign.pool)
    own, share = campaign.assignments, campaign.gold_share
    for code in np.unique(own.annotator):
        theirs = mixed.triple[mixed.annotator == code]
        assert theirs[theirs < n].tolist() == own.triple[own.annotator == code].tolist()
        tasks, golden = int((own.annotator == code).sum()), theirs[theirs >= n]
        assert len(set(golden.tolist())) == len(golden)
        assert len(golden) == min(len(campaign.gold), int(tasks * share / (1 - share) + 0.5))
    people = [code for code, _ in zip(*np.unique(mixed.annotator, return_index=True), strict=True)]
    assert people == np.unique(own.annotator).tolist()


@given(CAMPAIGNS)
def test_candidates_of_one_question_stand_together(campaign: Campaign):
    """Gold ones among the pool's where these are of the same question."""
    tasks = tasks_for(campaign, "ann")
    number, search = tasks.question_number, tasks.search.to_pylist()
    begin = np.flatnonzero(np.r_[True, number[1:] != number[:-1]][: len(number)])
    assert len(np.unique(number)) == len(begin)
    heads = tasks.head.to_pylist()
    for first, last in itertools.pairwise([*begin, len(number)]):
        assert len(set(search[first:last])) == 1
    asked = {head for head, tail in zip(heads, tasks.tail.to_pylist(), strict=True) if not tail.startswith("new")}
    together = {number[place] for place, head in enumerate(heads) if head in asked}
    assert len(together) <= len(asked)


@given(CAMPAIGNS, st.data())
def test_what_is_given_is_given_for_good(campaign: Campaign, data: st.DataObject):
    """Some gold is judged: of what was given before the rest is given still, in its order."""
    before = tasks_for(campaign, "ann")
    triples = [
        tuple(row) for row in zip(*(getattr(before, name).to_pylist() for name in ("head", "tail")), strict=True)
    ]
    golden = [row for row in triples if row[1].startswith("new")]
    own = campaign.gold.pool.triples
    labels = list(
        zip(own.entities.decode(own.head).to_pylist(), own.entities.decode(own.tail).to_pylist(), strict=True)
    )
    done = data.draw(st.lists(st.sampled_from(golden), unique=True)) if golden else []
    events = [(labels.index(row), "ann", "annotator", "Y") for row in done]
    judged = replace(campaign, gold=replace(campaign.gold, judgements=judgements_of(events)))
    after = tasks_for(judged, "ann")
    left = [tuple(row) for row in zip(after.head.to_pylist(), after.tail.to_pylist(), strict=True)]
    assert left == [row for row in triples if row not in done]
    everything = tasks_for(judged, "ann", everything=True)
    assert everything.verdict.to_pylist() == ["Y" if row in done else "" for row in triples]


@settings(max_examples=examples(30))
@given(st.integers(0, 10**6))
def test_gold_is_anywhere_in_the_order(seed: int):
    """Not at the ends, and with each person elsewhere: over seeds its mean place is the middle."""
    campaign = pooled(40, 3, 40, 0.2, seed)
    mixed, n = given_to_annotators(campaign), len(campaign.pool)
    places = {}
    for code in range(3):
        theirs = mixed.triple[mixed.annotator == code]
        places[code] = (np.flatnonzero(theirs >= n) / (len(theirs) - 1), set(theirs[theirs >= n].tolist()))
        where, which = places[code]
        assert 0.2 < where.mean() < 0.8  # 20 uniform places: 5 standard errors are 0.32
        assert len(which) == 20
    assert not places[0][1] == places[1][1] == places[2][1]


def test_nothing_in_a_task_tells_gold():
    """The number is a check number for all; names, questions and searches are made in one way."""
    tasks = tasks_for(by_hand(), "ann")
    rows = list(zip(tasks.head.to_pylist(), tasks.relation.to_pylist(), tasks.tail.to_pylist(), strict=True))
    assert sum(row in [one[:3] for one in ROWS] for row in rows) == 4
    assert len(rows) == 10
    assert all(10**8 <= number < 10**9 for number in tasks.task)
    assert tasks.annotators == (("ann",),) * 10
    by_row = dict(zip(rows, zip(tasks.question.to_pylist(), tasks.search.to_pylist(), strict=True), strict=True))
    assert by_row["de", "capital", "paris"] == ("Is Paris the capital of Germany {tail}?", "Germany {tail} capital")
    assert by_row["norway", "capital", "oslo"][0] == "Is oslo the capital of norway?"
    assert by_row["'n", "@near", "=lyon"][0] == "Is this true: 'n | @near | =lyon?"


def test_without_gold_tasks_have_the_numbers_of_the_pool():
    """And a share of 0 mixes nothing in."""
    assert tasks_for(campaign_of(), "ann").task.tolist() == [1, 2, 3, 4, 5, 6]
    assert len(tasks_for(by_hand(share=0.0), "ann")) == 6


def test_everybodys_tasks_name_whom_gold_was_given_to():
    """As an export for Label Studio holds them: each triple once."""
    campaign = pooled(20, 3, 30, 0.2, 7)
    everybody = tasks_for(campaign)
    rows = list(zip(everybody.head.to_pylist(), everybody.tail.to_pylist(), strict=True))
    assert len(set(rows)) == len(rows)
    for name in ("ann", "bob", "cleo"):
        own = tasks_for(campaign, name)
        mine = set(zip(own.head.to_pylist(), own.tail.to_pylist(), strict=True))
        assert mine == {row for row, people in zip(rows, everybody.annotators, strict=True) if name in people}


def row_of(tasks, place, person="ann", verdict="Y", source=WIKI, role="annotator") -> Incoming:
    labels = (getattr(tasks, name)[place].as_py() for name in ("head", "relation", "tail"))
    return Incoming(f"a.csv:{place + 2}", person, verdict, int(tasks.task[place]), *labels, source, "", role)


def test_verdicts_on_gold_are_events_of_their_own():
    """By check number or none; those on the pool are as if there were no gold."""
    campaign = by_hand()
    tasks = tasks_for(campaign, "ann")
    rows = [row_of(tasks, place) for place in range(len(tasks))]
    accepted = accept(campaign, rows, time=NOW)
    assert len(accepted) == 10
    assert sorted(event[0] for event in said(accepted.judgements)) == [0, 1, 2, 3, 4, 5]
    assert sorted(event[0] for event in said(accepted.gold)) == [0, 1, 2, 3]
    columns = (getattr(tasks_for(campaign_of(), "ann"), name).to_pylist() for name in ("head", "relation", "tail"))
    own = set(zip(*columns, strict=True))
    of_pool = [row for row in rows if (row.head, row.relation, row.tail) in own]
    assert said(accept(replace(campaign, gold=Gold.none()), of_pool, time=NOW).judgements) == said(accepted.judgements)
    stored = replace(by_hand(), judgements=accepted.judgements)
    stored = replace(stored, gold=replace(campaign.gold, judgements=accepted.gold))
    again = accept(stored, rows, time=NOW)
    assert (len(again), again.repeated) == (0, 10)
    unnumbered = accept(campaign, [replace(row, task=None) for row in rows], time=NOW)
    assert said(unnumbered.gold) == said(accepted.gold)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "maybe"}, "expected one of N, Y, unsure, found 'maybe'"),
        ({"source": ""}, "expected a link to the source of a Y, found none"),
        ({"person": "dan"}, "expected one of the campaign's people, found 'dan'"),
        ({"task": 3}, "expected task 3 to be 'de' 'capital' 'berlin', found 'norway' 'capital' 'oslo'"),
        ({"task": 123456789}, "expected a triple of the pool's 6, found 'norway' 'capital' 'oslo' as task 123456789"),
        (
            {"person": "eve", "role": "adjudicator"},
            "expected a triple of the pool's 6, found 'norway' 'capital' 'oslo'",
        ),
    ],
)
def test_a_verdict_on_gold_is_refused_like_any_other(changes, message):
    """With the words that a triple of the pool, or of no campaign, would get."""
    row = Incoming("a.csv:2", "ann", "Y", None, "norway", "capital", "oslo", WIKI)
    with pytest.raises(RefusedError) as caught:
        accept(by_hand(), [replace(row, **changes)], time=NOW)
    assert message in str(caught.value)


def test_what_was_said_of_gold_is_corrected_like_any_other():
    row = Incoming("a.csv:2", "ann", "Y", None, "norway", "capital", "oslo", WIKI)
    campaign = by_hand(gold=[(3, "ann", "annotator", "N", WIKI, "")])
    assert campaign.gold.pool.triples.entities[campaign.gold.pool.triples.head[3]] == "oslo"
    campaign = by_hand(gold=[(2, "ann", "annotator", "N", WIKI, "")])
    with pytest.raises(RefusedError, match="expected the earlier verdict of 'ann', verdict 'N'"):
        accept(campaign, [row], time=NOW)
    assert accept(campaign, [row], time=NOW, correct=True).corrections == 1


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["ann", "bob", "zoe"]),
        st.just("annotator"),
        st.sampled_from(["N", "Y", "unsure"]),
    ),
    max_size=30,
)


@given(EVENTS)
def test_calibration_counts_the_last_word_of_each(events):
    """Against a count by hand, with Wilson's interval; people and triples add up to the same."""
    campaign = by_hand(gold=events)
    found = calibration(campaign, confidence=0.9)
    last = {(name, triple): verdict for triple, name, _, verdict in events}
    known = ["NY"[verdict] for verdict in campaign.gold.verdict]
    assert found.annotators == tuple(sorted({name for name, _ in last}))
    for place, name in enumerate(found.annotators):
        own = {triple: verdict for (who, triple), verdict in last.items() if who == name}
        right = sum(verdict == known[triple] for triple, verdict in own.items())
        told = sum(verdict != "unsure" for verdict in own.values())
        assert (found.right[place], found.told[place], found.said[place].sum()) == (right, told, len(own))
        np.testing.assert_allclose(found.interval[:, place], wilson_interval(np.array(right), np.array(told), 0.9))
    people, triples = (table.data for table in found.tables())
    for name in ("right", "wrong", "unsure"):
        assert sum(people.column(name).to_pylist()) == sum(triples.column(name).to_pylist())


def test_calibration_of_a_worked_case():
    """ann: 3 of 4 right; bob, unsure of all, has no share; a known N called Y is told apart."""
    events = [(triple, "ann", "annotator", verdict) for triple, verdict in enumerate(("Y", "N", "Y", "Y"))]
    known = by_hand().gold.verdict.tolist()
    assert known == [1, 0, 1, 0]
    found = calibration(by_hand(gold=[*events, (0, "bob", "annotator", "unsure")]))
    table = found.to_table().to_pydict()
    assert (table["right"], table["wrong"], table["unsure"]) == ([3, 0], [1, 0], [0, 1])
    assert (table["false_y"], table["false_n"]) == ([1, 0], [0, 0])
    assert table["share"][0] == 0.75
    assert np.isnan(table["share"][1])
    assert found.tables()[1].rows[0] == 3


def test_gold_is_in_no_other_figure():
    """States, agreement and progress are those of the campaign without it."""
    events = [(0, "ann", "annotator", "Y"), (0, "bob", "annotator", "N"), (1, "ann", "annotator", "N")]
    gold = [(triple, name, "annotator", "Y") for triple in range(4) for name in ("ann", "bob")]
    with_gold, without = by_hand(events, gold), replace(by_hand(events), gold=Gold.none())
    assert decide(with_gold.pool, with_gold.automatic, with_gold.judgements).state.tolist() == (
        decide(without.pool, without.automatic, without.judgements).state.tolist()
    )
    for verb in (track, lambda campaign: annotator_agreement(campaign.pool, campaign.judgements, resamples=10)):
        found, expected = (verb(campaign).tables() for campaign in (with_gold, without))
        assert [str(table.data.to_pydict()) for table in found] == [str(table.data.to_pydict()) for table in expected]


# --- the file


LABEL = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\t\r\n\0"), min_size=1, max_size=6
).filter(lambda text: text.strip(" \v\f\x1c\x1d\x1e\x85") != "")


@given(
    st.lists(
        st.tuples(LABEL, st.sampled_from(["capital", "@near"]), LABEL, st.sampled_from("YN"), st.just("") | LABEL),
        unique_by=lambda row: row[:3],
    )
)
def test_gold_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, rows):
    """Whatever the labels are, in the order of a pool; and the file written again is the same."""
    folder, pool = tmp_path_factory.mktemp("gold"), campaign_of().pool
    rows = [row for row in rows if not (set(row[:3:2]) <= {"de", "fr", "paris", "berlin", "'n", "=lyon"})]
    gold = Gold.of(rows)
    write_gold(folder, gold)
    again = read_gold(folder / "gold.tsv", pool)
    found = sorted(zip(*(column.to_pylist() for column in _columns(again)), strict=True))
    assert found == sorted(rows)
    first = (folder / "gold.tsv").read_bytes()
    write_gold(folder, again)
    assert (folder / "gold.tsv").read_bytes() == first


def _columns(gold: Gold):
    from kgtrec.data.arrow import labels_of

    triples = gold.pool.triples
    yield triples.entities.decode(triples.head)
    yield triples.relations.decode(triples.relation)
    yield triples.entities.decode(triples.tail)
    yield labels_of(["NY"[verdict] for verdict in gold.verdict])
    yield gold.explanation


HEADER = "head\trelation\ttail\tverdict\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r":1: expected the header line head relation tail verdict, or head relation tail verdict explanation"),
        ("head\ttail\n", r":1: expected the header line"),
        (HEADER + "no\tcapital\toslo\n", ":2: expected 4 columns .* separated by tabs, got 3: "),
        (HEADER + "no\tcapital\t\tY\n", ":2: expected 4 columns .* separated by tabs, got an empty one"),
        (HEADER + "no\tcapital\toslo\tyes\n", ":2: expected Y or N as the known verdict, got 'yes'"),
        (HEADER + "no\tcapital\toslo\tunsure\n", ":2: expected Y or N as the known verdict, got 'unsure'"),
        (
            HEADER + "no\tcapital\toslo\tY\nno\tcapital\toslo\tN\n",
            ":3: expected each triple once, found 'no capital oslo' here and on line 2",
        ),
        (
            HEADER + "no\tcapital\toslo\tY\nde\tcapital\tberlin\tY\n",
            r":3: expected a triple that is not in pool\.tsv, .* got 'de capital berlin', task 3 of it",
        ),
        (
            HEADER + "no\tcapitol\toslo\tY\n",
            ":2: expected a relation that the pool asks for, .* got 'capitol'; did you",
        ),
        (HEADER + "no\tcapital\tos\0lo\tY\n", ":2: expected 4 columns"),
    ],
)
def test_a_wrong_line_is_named(text: str, message: str, tmp_path: Path):
    (tmp_path / "gold.tsv").write_text(text)
    with pytest.raises(FormatError, match=r"gold\.tsv" + message):
        read_gold(tmp_path / "gold.tsv", campaign_of().pool)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path):
    (tmp_path / "gold.tsv").write_bytes(HEADER.encode() + b"no\tcapital\t\xff\tY\n")
    with pytest.raises(FormatError, match=r"gold\.tsv:2: expected UTF-8 text"):
        read_gold(tmp_path / "gold.tsv", campaign_of().pool)


def test_what_the_file_cannot_hold_is_not_written(tmp_path: Path):
    for row in (("a\tb", "capital", "c", "Y", ""), ("a", "capital", "", "Y", ""), ("a", "capital", "b", "Y", "x\ny")):
        with pytest.raises(KgtrecError, match="expected text without tabs and line breaks, not empty, found"):
            write_gold(tmp_path, Gold.of([row]))
    assert not (tmp_path / "gold.tsv").exists()


# --- the commands


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign of ann, bob and eve with four gold triples, half of everybody's tasks at most."""
    path = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "campaign")
    (path / "guidelines.md").write_text("Judge.\n")
    write_gold(tmp_path, Gold.of(ROWS))
    main(["campaign", "init", str(path), "--gold", str(tmp_path / "gold.tsv"), "--gold-share", "0.5"])
    return path


def filled(path: Path, verdicts: dict[tuple[str, str], str], out: Path) -> Path:
    """A file as an annotator sends it back."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            key = row["head"].removeprefix("'"), row["tail"].removeprefix("'")
            writer.writerow(row | {"verdict": verdicts.get(key, "N"), "source": WIKI})
    return out


def test_gold_goes_out_and_comes_back(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Its verdicts lie beside those on the pool, and qrels, agreement and check know of nothing else."""
    capsys.readouterr()
    for name in ("ann", "bob"):
        main(["campaign", "export", str(folder), "--annotator", name, "--out", str(tmp_path / f"{name}.csv")])
        done = filled(tmp_path / f"{name}.csv", {("norway", "oslo"): "Y"}, tmp_path / f"{name}.done.csv")
        main(["campaign", "import", str(folder), str(done), "--time", NOW])
    told = capsys.readouterr().err
    assert f"{tmp_path}/ann.csv: 10 tasks for ann" in told
    assert f"{folder}/judgements.jsonl: stored 10 verdicts; 0 stored before" in told
    pool_events = [json.loads(line) for line in (folder / "judgements.jsonl").read_text().splitlines()]
    gold_events = [json.loads(line) for line in (folder / "gold_judgements.jsonl").read_text().splitlines()]
    assert (len(pool_events), len(gold_events)) == (12, 8)
    assert {(event["head"], event["relation"], event["tail"]) for event in gold_events} == {row[:3] for row in ROWS}
    main(["campaign", "import", str(folder), str(tmp_path / "ann.done.csv"), "--time", NOW])
    assert "stored 0 verdicts; 10 stored before" in capsys.readouterr().err
    main(["campaign", "status", str(folder)])
    assert "all        6          0     0       6" in capsys.readouterr().out
    main(["check", str(folder)])
    checked = capsys.readouterr().out
    assert f"{folder}/gold.tsv: ok, gold: 4 triples\n" in checked
    assert f"{folder}/gold_judgements.jsonl: ok, judgements of gold: 8 events\n" in checked
    main(["campaign", "calibration", str(folder)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["ann", "4", "3", "1", "0", "75.0%", "30.1%", "95.4%", "0", "1"]
    main(["campaign", "qrels", str(folder), "--out", str(tmp_path / "qrels")])
    assert "oslo" not in (tmp_path / "qrels" / "qrels.txt").read_text()


def test_a_program_that_holds_a_campaign_open_stores_gold(folder: Path):
    """Each verdict once, on the disk; another program's gold is seen, and so is a changed gold.tsv."""
    opened = OpenCampaign(folder)
    tasks = tasks_for(opened.campaign, "ann")
    rows = [row_of(tasks, place) for place in range(len(tasks))]
    for row in rows:
        assert len(opened.store([row], time=NOW)) == 1
    assert len(tasks_for(opened.campaign, "ann")) == 0
    assert OpenCampaign(folder).store(rows, time=NOW).repeated == 10
    assert len((folder / "gold_judgements.jsonl").read_bytes().splitlines()) == 4
    OpenCampaign(folder).store([row_of(tasks, place, "bob") for place in range(len(tasks))], time=NOW)
    assert len(opened.campaign.gold.judgements) == 8
    write_gold(folder, Gold.of(ROWS[:2]))
    assert len(opened.campaign.gold) == 2
    assert len(opened.campaign.gold.judgements) == 4


@pytest.mark.parametrize("failing", [1, 2, 3, 4], ids=["judgements", "the folder", "gold", "the folder again"])
def test_verdicts_on_the_pool_and_on_gold_are_stored_together_or_not_at_all(failing: int, folder: Path, monkeypatch):
    """Whichever of the two files the disk fails to take."""
    opened = OpenCampaign(folder)
    tasks = tasks_for(opened.campaign, "ann")
    rows = [row_of(tasks, place) for place in range(len(tasks))]
    real, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(judgements_module.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        opened.store(rows, time=NOW)
    monkeypatch.undo()
    for name in ("judgements.jsonl", "gold_judgements.jsonl"):
        assert not (folder / name).exists() or (folder / name).read_bytes() == b""
    assert len(opened.campaign.judgements) == len(opened.campaign.gold.judgements) == 0
    assert len(opened.store(rows, time=NOW)) == 10
    assert len(opened.campaign_of("ann").gold.judgements) == 4
    assert len(opened.campaign_of("bob").gold.judgements) == 0


def test_taking_a_triple_out_of_gold_keeps_what_was_said_of_it(folder: Path, capsys: pytest.CaptureFixture[str]):
    """It counts again once the triple is back; no other verdict is disturbed."""
    opened = OpenCampaign(folder)
    tasks = tasks_for(opened.campaign, "ann")
    opened.store([row_of(tasks, place) for place in range(len(tasks))], time=NOW)
    before = tree(folder)
    write_gold(folder, Gold.of(ROWS[1:]))
    assert calibration(read_campaign(folder)).told.tolist() == [3]
    main(["check", str(folder)])
    assert "gold_judgements.jsonl: ok, judgements of gold: 3 events" in capsys.readouterr().out
    write_gold(folder, Gold.of(ROWS))
    assert {name: data for name, data in tree(folder).items() if name != ".kgtrec"} == {
        name: data for name, data in before.items() if name != ".kgtrec"
    }
    assert calibration(read_campaign(folder)).told.tolist() == [4]


def test_files_that_were_out_before_there_was_gold_come_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Their task numbers are those of the pool."""
    path = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "campaign")
    (path / "guidelines.md").write_text("Judge.\n")
    main(["campaign", "export", str(path), "--annotator", "ann", "--out", str(tmp_path / "ann.csv")])
    write_gold(tmp_path, Gold.of(ROWS))
    main(["campaign", "init", str(path), "--gold", str(tmp_path / "gold.tsv")])
    main(["campaign", "import", str(path), str(filled(tmp_path / "ann.csv", {}, tmp_path / "done.csv"))])
    assert "stored 6 verdicts" in capsys.readouterr().err
    assert not (path / "gold_judgements.jsonl").exists()


def test_init_says_what_is_wrong_with_gold_and_what_would_mark_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Edited gold is not lost; names are kept for gold's entities too; a share is a share."""
    again = ["campaign", "init", str(folder), "--gold", str(tmp_path / "gold.tsv")]
    with pytest.raises(SystemExit):
        main(again)
    assert "may have been edited; replace it by" in capsys.readouterr().err
    for share in ("1", "-0.1", "nan"):
        with pytest.raises(SystemExit):
            main(["campaign", "init", str(folder), "--gold-share", share])
    capsys.readouterr()
    names = "".join(
        f"{entity}\tName of {entity}\n" for entity in ("'n", "=lyon", "berlin", "de", "fr", "paris", "oslo")
    )
    (tmp_path / "names.tsv").write_text(names)
    main(["campaign", "init", str(folder), "--names", str(tmp_path / "names.tsv"), "--force"])
    told = capsys.readouterr().err
    assert "warning: 2 labels of gold.tsv have no name, which tells annotators that they are gold: norway" in told
    assert read_campaign(folder).names["oslo"] == "Name of oslo"
    main(["campaign", "init", str(folder), "--gold-share", "0.25"])
    assert "25.0% of each annotator's tasks are to be gold" in capsys.readouterr().err
    assert read_campaign(folder).gold_share == 0.25


def test_too_little_gold_is_told_by_init_assign_and_status(folder: Path, capsys: pytest.CaptureFixture[str]):
    """With what it comes to for who has most tasks; with enough of it nothing is said."""
    read = read_campaign(folder)
    loads = np.bincount(read.assignments.annotator)
    n_tasks, name = int(loads.max()), read.assignments.annotators[int(loads.argmax())]
    n_gold = len(read.gold)
    main(["campaign", "init", str(folder), "--gold-share", "0.9"])
    told = (
        f"gold.tsv has {n_gold} triples, which come to {n_gold / (n_tasks + n_gold):.1%} of the {n_tasks + n_gold} "
        f"tasks of {name}; 90.0% takes {n_tasks * 9}"
    )
    assert told in capsys.readouterr().err
    main(["campaign", "assign", str(folder)])
    assert told in capsys.readouterr().err
    main(["campaign", "status", str(folder)])
    assert told in capsys.readouterr().out
    main(["campaign", "init", str(folder), "--gold-share", "0.1"])
    assert "gold.tsv has" not in capsys.readouterr().err


def test_a_share_that_is_none_is_refused(folder: Path):
    settings_ = json.loads((folder / "campaign.json").read_text())
    for share in (1, -0.1, "0.5", None, True, [0.5]):
        (folder / "campaign.json").write_text(json.dumps(settings_ | {"gold_share": share}))
        with pytest.raises(FormatError, match="expected a share of at least 0 and less than 1 as gold_share"):
            read_campaign(folder)


def test_calibration_without_gold_says_how_to_get_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = folder_of(replace(campaign_of(), people=PEOPLE), tmp_path / "campaign")
    with pytest.raises(SystemExit) as left:
        main(["campaign", "calibration", str(path)])
    assert left.value.code == 2
    assert "found no gold; see kgtrec campaign init --gold" in capsys.readouterr().err


@given(st.lists(st.tuples(LABEL, LABEL, LABEL), min_size=2, unique=True, max_size=20))
def test_check_numbers_are_of_the_labels_alone(rows):
    """In any order and beside any others; all of nine digits."""
    gold = Gold.of([(*row, "Y", "") for row in rows]).pool.triples
    one_by_one = {row: int(check_numbers(Gold.of([(*row, "Y", "")]).pool.triples)[0]) for row in rows}
    labels = zip(
        *(
            part.to_pylist()
            for part in (
                gold.entities.decode(gold.head),
                gold.relations.decode(gold.relation),
                gold.entities.decode(gold.tail),
            )
        ),
        strict=True,
    )
    numbers = check_numbers(gold).tolist()
    assert numbers == [one_by_one[row] for row in labels]
    assert all(len(str(number)) == 9 for number in numbers)


def test_searches_of_gold_are_those_of_its_own_questions():
    """Where the annotator has no other candidates of them."""
    campaign = by_hand()
    mixed = given_to_annotators(campaign)
    own = mixed.question >= len(campaign.pool.questions)
    assert own.any()
    rows = mixed.question[own] - len(campaign.pool.questions)
    expected = search_text(campaign.gold.pool.questions, rows, campaign.names).to_pylist()
    tasks = [tasks_for(campaign, name) for name in ("ann", "bob")]
    found = [text for one in tasks for text in one.search.to_pylist()]
    assert [text for text, is_own in zip(found, own, strict=True) if is_own] == expected
