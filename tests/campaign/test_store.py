"""A campaign held open: what is stored is what the whole of it allows, and no more of it is read than is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtrec.campaign import store as store_module
from kgtrec.campaign.accept import RefusedError, accept
from kgtrec.campaign.check import check_judgements
from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.store import OpenCampaign
from kgtrec.data.campaign import Automatic
from kgtrec.data.judgements import ROLES, STATES, VERDICTS, Incoming
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.formats.campaign import judgements as judgements_module
from kgtrec.formats.campaign.folder import (
    ASSIGNMENTS,
    JUDGEMENTS,
    PEOPLE,
    SOURCES,
    read_campaign,
    write_assignments,
    write_people,
    write_sources,
)
from kgtrec.formats.campaign.judgements import KEYS, append_judgements
from kgtrec.formats.campaign.pools import read_settings, write_settings
from tests.campaign_folders import folder_of, people_of, said
from tests.campaigns_by_hand import ROWS, campaign_of
from tests.examples import examples
from tests.judged_pools import judgements_of

NOW = "2026-11-22T08:00:00Z"
WIKI = "https://en.wikipedia.org/wiki/Paris"
OTHER = "https://example.org/x"
PEOPLE_OF_ALL_KINDS = people_of(
    ("ann", "annotator", True),
    ("bob", "annotator", True),
    ("cleo", "annotator", False),
    ("eve", "adjudicator", True),
    ("bob", "adjudicator", True),
    ("ivy", "expert", True),
    ("ann", "expert", True),
)
CONFLICT = [(0, "ann", "annotator", "Y", WIKI, ""), (0, "bob", "annotator", "N", WIKI, "")]
TRIPLES = campaign_of().pool.triples
LABELS = [TRIPLES.labels_at(row) for row in range(len(ROWS))]


def made(folder: Path, events=(), automatic=()) -> Path:
    """A campaign of six triples; ``automatic``: those a rule has judged."""
    rule = np.full(len(ROWS), -1, np.int8)
    rule[list(automatic)] = 0
    campaign = replace(campaign_of(events), people=PEOPLE_OF_ALL_KINDS, automatic=Automatic(rule, ("types",)))
    return folder_of(campaign, folder)


def row(task=1, person="ann", verdict="Y", source=WIKI, note="", role="annotator", place="a.csv:2", labels=1):
    """``labels``: 1 for those of the task, 0 for none, 2 for those of another task."""
    own = LABELS[(task - labels) % len(LABELS)] if labels and task <= len(LABELS) else (None, None, None)
    return Incoming(place, person, verdict, task, *own, source, note, role)


def outcome(action) -> object:
    """What an action comes to: the events and counts, or the refusals, or the error."""
    try:
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):
            done = action()
    except RefusedError as error:
        return [str(one) for one in error.refused]
    except KgtrecError as error:
        return type(error), str(error)
    return said(done.judgements), done.repeated, done.again, done.corrections, done.refused


def by_reading_all(folder: Path, rows, **policies):
    return accept(read_campaign(folder), rows, time=NOW, **policies)


class Hand:
    """What other programs and people do to the files meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def nothing(self, _: int) -> None:
        pass

    def somebody_leaves(self, seed: int) -> None:
        people = PEOPLE_OF_ALL_KINDS
        write_people(self.folder, replace(people, is_active=people.is_active & (np.arange(len(people)) != seed % 7)))

    def other_sources(self, seed: int) -> None:
        write_sources(self.folder, [["example.org"], [], ["en.wikipedia.org"]][seed % 3])

    def other_assignments(self, seed: int) -> None:
        campaign = read_campaign(self.folder)
        kept = np.random.default_rng(seed).random(len(campaign.assignments)) < 0.6
        own = campaign.assignments
        fewer = replace(own, annotator=own.annotator[kept], triple=own.triple[kept])
        write_assignments(self.folder, campaign.pool, fewer)

    def no_assignments(self, _: int) -> None:
        (self.folder / ASSIGNMENTS).unlink(missing_ok=True)

    def more_annotators(self, seed: int) -> None:
        write_settings(self.folder, {**read_settings(self.folder), "annotators_per_triple": 1 + seed % 3})

    def another_program(self, seed: int) -> None:
        event = (seed % 6, ("ann", "bob")[seed % 2], "annotator", VERDICTS[seed % 3], WIKI, f"{seed}")
        append_judgements(self.folder / JUDGEMENTS, read_campaign(self.folder).pool, judgements_of([event]))

    def _lines(self) -> list[bytes]:
        return (self.folder / JUDGEMENTS).read_bytes().splitlines(keepends=True)

    def _rewrite(self, lines: list[bytes], *, in_place: bool = True) -> None:
        path = self.folder / JUDGEMENTS
        time.sleep(0.02)  # or it would be within the same tick of the clock as what was stored last
        if not in_place:
            path.unlink()
        with path.open("r+b" if in_place else "xb") as stream:
            stream.write(b"".join(lines))
            stream.truncate()

    def change_a_verdict(self, seed: int) -> None:
        """In place, and no byte more or less."""
        lines = self._lines()
        if lines:
            place = seed % len(lines)
            lines[place] = lines[place].replace(b'"verdict": "Y"', b'"verdict": "N"')
            self._rewrite(lines)

    def change_and_add(self, seed: int) -> None:
        """A change that a file that only grew would hide."""
        self.change_a_verdict(seed)
        self.another_program(seed)

    def remove_a_line(self, seed: int) -> None:
        lines = self._lines()
        del lines[seed % max(len(lines), 1) :][:1]
        self._rewrite(lines[: seed % max(len(lines), 1)] + lines[seed % max(len(lines), 1) + 1 :])

    def another_file(self, seed: int) -> None:
        lines = self._lines()
        self._rewrite(lines[::-1] if seed % 2 else lines, in_place=False)

    def spell_otherwise(self, seed: int) -> None:
        """Other white space, other escapes, other order of keys: the same to whoever reads JSON."""
        lines = []
        for line in self._lines():
            if not line.endswith(b"\n"):
                continue
            event = json.loads(line)
            keys = KEYS if seed % 2 else KEYS[::-1]
            text = json.dumps({key: event[key] for key in keys}, ensure_ascii=True, separators=(",", ":"))
            text = text.replace("/", "\\/") if seed % 3 == 0 else text
            for sign in "ab" if seed % 5 == 0 else "":
                text = text.replace(f'"{sign}', f'"\\u00{ord(sign):02x}') if sign != "a" else text
            lines.append(text.encode() + b"\n")
        self._rewrite(lines)

    def no_last_line_feed(self, _: int) -> None:
        lines = self._lines()
        if lines:
            self._rewrite([*lines[:-1], lines[-1].removesuffix(b"\n")])

    def torn(self, seed: int) -> None:
        lines = self._lines()
        if lines:
            self._rewrite([*lines, lines[-1][: 1 + seed % 40]])


DEEDS = [name for name in vars(Hand) if not name.startswith("_")]
incoming = st.builds(
    row,
    task=st.integers(0, 7),
    person=st.sampled_from(["ann", "bob", "cleo", "eve", "ivy", "dan"]),
    verdict=st.sampled_from([*VERDICTS, "y"]),
    source=st.sampled_from([WIKI, "", OTHER]),
    note=st.sampled_from(["", "x", "y\nz", 'a "b" é\u2028']),
    role=st.sampled_from(ROLES),
    labels=st.sampled_from([1, 1, 0, 2]),
)
# verdicts that are mostly accepted, or the law would be of refusals
good = st.builds(
    row,
    task=st.integers(1, 6),
    person=st.sampled_from(["ann", "bob"]),
    verdict=st.sampled_from(VERDICTS),
    source=st.just(WIKI),
    note=st.sampled_from(["", "y\nz"]),
    labels=st.sampled_from([1, 1, 1, 1, 0, 2]),
)
steps = st.tuples(
    st.sampled_from(DEEDS),
    st.integers(0, 30),
    st.lists(good, min_size=1, max_size=2) | st.lists(incoming, max_size=4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    events=st.lists(st.sampled_from([*CONFLICT, (1, "bob", "annotator", "unsure", "", "é\n")]), unique=True),
    automatic=st.sampled_from([(), (5,)]),
    history=st.lists(steps, min_size=1, max_size=5),
)
def test_every_way_accepts_and_refuses_the_same(events, automatic, history, tmp_path_factory):
    """By a campaign held open, by one opened for this alone, and by reading the folder: the same events and words.

    Whatever was stored before, and whatever happened to the files in between.
    """
    folder = made(tmp_path_factory.mktemp("store") / "C", events, automatic)
    held = OpenCampaign(folder)
    assert len(held.campaign.judgements) == len(events)
    for deed, seed, rows, correct, unassigned, keep_going in history:
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):
            getattr(Hand(folder), deed)(seed)
        policies = {"correct": correct, "unassigned": unassigned, "keep_going": keep_going}
        expected = outcome(lambda rows=rows, policies=policies: by_reading_all(folder, rows, **policies))
        copy = folder.with_name("copy")
        if isinstance(expected, tuple) and expected[0] is FormatError:  # two deeds in a row can break a line
            assert outcome(lambda rows=rows, p=policies: held.store(rows, time=NOW, **p)) == expected
            return
        shutil.copytree(folder, copy)
        fresh = OpenCampaign(copy)
        assert outcome(lambda rows=rows, p=policies, f=fresh: f.store(rows, time=NOW, **p)) == expected
        assert outcome(lambda rows=rows, p=policies: held.store(rows, time=NOW, **p)) == expected
        assert (copy / JUDGEMENTS).read_bytes() == (folder / JUDGEMENTS).read_bytes()
        with warnings.catch_warnings(action="ignore", category=KgtrecWarning):
            assert said(held.campaign.judgements) == said(read_campaign(folder).judgements)
        shutil.rmtree(copy)


def test_the_command_does_without_what_takes_long_to_import(tmp_path):
    """pandas alone would take longer than everything else."""
    folder = made(tmp_path / "C", CONFLICT)
    one = dict(zip(("head", "relation", "tail"), LABELS[1], strict=True))
    line = {"task": 2, "annotator": "ann", **one, "verdict": "Y", "source": WIKI}
    (tmp_path / "ann.jsonl").write_text(json.dumps(line) + "\n")
    code = "import sys; from kgtrec.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    words = ["campaign", "import", str(folder), str(tmp_path / "ann.jsonl")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stderr.endswith("stored 1 verdict; 0 stored before\n")
    assert not {"pandas", "scipy", "urllib.request"} & set(done.stdout.split())


def test_what_is_read_is_what_was_added(tmp_path, monkeypatch):
    """Of a campaign held open: not what was read before, whoever added what is new."""
    folder = made(tmp_path / "C", [(task, "ann", "annotator", "Y", WIKI, "x" * 5000) for task in range(5)])
    time.sleep(0.11)  # until then it is not clear whether the pool can have changed
    held, other = OpenCampaign(folder), OpenCampaign(folder)
    assert len(held.campaign.judgements) == len(other.campaign.judgements) == 5
    parsed: list[int] = []
    real = judgements_module._columns
    monkeypatch.setattr(
        judgements_module, "_columns", lambda data, *rest: (parsed.append(len(data)), real(data, *rest))[1]
    )
    for task in range(1, 7):
        assert len((held, other)[task % 2].store([row(task, "bob")], time=NOW)) == 1
    assert 0 < max(parsed) < 1000
    assert held.store([row(task, "bob") for task in range(1, 7)], time=NOW).repeated == 6
    assert len(held.campaign.judgements) == 11


def test_files_are_read_again_only_when_they_changed(tmp_path, monkeypatch):
    """Each of those that people edit; the pool not at all."""
    folder = made(tmp_path / "C")
    time.sleep(0.11)  # until then it is not clear whether they can have changed
    held = OpenCampaign(folder)
    held.store([row(1)], time=NOW)
    held.campaign  # noqa: B018  # reads it
    monkeypatch.setattr(store_module, "read_campaign_without_judgements", lambda _: pytest.fail("the pool was read"))
    again: list[set[str]] = []
    real = store_module.reread
    monkeypatch.setattr(store_module, "reread", lambda *given: (again.append(set(given[2])), real(*given))[1])
    assert len(held.store([row(2)], time=NOW)) == 1
    assert again == []
    write_sources(folder, ["example.org"])
    assert "expected a link to one of the campaign's sources (example.org)" in outcome(lambda: held.store([row(3)]))[0]
    assert again == [{SOURCES}]
    write_people(folder, people_of(("zoe", "annotator", True), ("ann", "annotator", True), ("bob", "annotator", True)))
    assert len(held.store([row(3, source=OTHER)], time=NOW)) == 1
    time.sleep(0.11)
    held.campaign  # noqa: B018  # for once more
    again.clear()
    write_settings(folder, {**read_settings(folder), "annotators_per_triple": 3})
    assert held.campaign.per_triple == 3
    assert again == []


def test_what_is_wrong_is_told_until_it_is_mended(tmp_path):
    """In the same words as by reading all of it; the campaign can stay open."""
    folder = made(tmp_path / "C", CONFLICT)
    held = OpenCampaign(folder)
    held.campaign  # noqa: B018  # reads it
    for name in (PEOPLE, SOURCES, ASSIGNMENTS, JUDGEMENTS, "pool.tsv", "campaign.json"):
        good_bytes = (folder / name).read_bytes()
        (folder / name).write_bytes(good_bytes + b"?\n")
        with pytest.raises(FormatError, match=name) as caught:
            read_campaign(folder)
        for _ in range(2):
            assert outcome(lambda: held.store([row(2)], time=NOW)) == (FormatError, str(caught.value))
        assert outcome(lambda: OpenCampaign(folder).store([row(1, "eve", verdict="Y")])) == (
            FormatError,
            str(caught.value),
        )
        (folder / name).write_bytes(good_bytes)
        assert held.store([row(1)], time=NOW).repeated == 1


def test_lost_judgements_are_not_begun_anew(tmp_path):
    """Nobody's work must look like nobody has worked."""
    folder = made(tmp_path / "C", CONFLICT)
    held = OpenCampaign(folder)
    held.campaign  # noqa: B018  # reads it
    (folder / JUDGEMENTS).rename(tmp_path / "kept")
    for opened in (held, OpenCampaign(folder)):
        with pytest.raises(FormatError, match=r"judgements.jsonl: expected the judgements of this campaign, found no"):
            opened.store([row(2)])
        assert not (folder / JUDGEMENTS).exists()
    (tmp_path / "kept").rename(folder / JUDGEMENTS)
    assert len(held.store([row(2)])) == 1


def test_an_edit_within_the_same_tick_of_the_clock_is_seen(tmp_path):
    """By the checksum of what was read before, where the file has grown."""
    folder = made(tmp_path / "C", CONFLICT)
    time.sleep(0.11)  # until then it is not clear whether the pool can have changed
    held = OpenCampaign(folder)
    held.campaign  # noqa: B018  # reads it
    times = (folder / JUDGEMENTS).stat()
    Hand(folder).change_and_add(0)
    os.utime(folder / JUDGEMENTS, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert said(held.campaign.judgements) == said(read_campaign(folder).judgements)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(good | incoming, max_size=4), max_size=5), st.integers(1, 3))
def test_whatever_was_stored_passes_the_check(batches, per_triple):
    """The rules are the same; also where the number of annotators per triple was another one then."""
    campaign = replace(campaign_of(CONFLICT), people=PEOPLE_OF_ALL_KINDS)
    for number, rows in enumerate(batches):
        done = accept(
            campaign, rows, time=f"2026-11-22T08:00:0{number}Z", correct=True, unassigned=True, keep_going=True
        )
        campaign = replace(
            campaign,
            judgements=campaign.judgements.joined(done.judgements),
            settings={**campaign.settings, "annotators_per_triple": 1 + (number + per_triple) % 3},
        )
    left = replace(PEOPLE_OF_ALL_KINDS, is_active=np.zeros(len(PEOPLE_OF_ALL_KINDS), np.bool_))
    now = replace(
        campaign,
        people=left,
        assignments=replace(campaign.assignments, annotator=np.zeros(0, np.int32), triple=np.zeros(0, np.int32)),
    )
    assert check_judgements(now, "j").wrong == ()


steps = st.tuples(st.sampled_from(["held", "other", "edit", "fewer"]), st.integers(1, 6), st.sampled_from(VERDICTS))


@pytest.mark.slow
@settings(max_examples=examples(25), deadline=None)
@given(history=st.lists(steps, max_size=8), seed=st.integers(0, 1))
def test_the_states_of_triples_are_kept_up_to_date(history, seed, tmp_path_factory):
    """By this program's verdicts, another one's, an edit of the file, and another number of annotators per triple."""
    folder = made(tmp_path_factory.mktemp("states") / "C", CONFLICT)
    time.sleep(0.11)  # until then it is not clear whether the pool can have changed
    held, other = OpenCampaign(folder), OpenCampaign(folder)
    path = folder / JUDGEMENTS
    for number, (what, task, verdict) in enumerate(history):
        if what == "edit":
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
        elif what == "fewer":
            now = read_settings(folder)
            write_settings(folder, {**now, "annotators_per_triple": 1 + task % 3})
        else:
            role, person = ("annotator", ["ann", "bob"][(number + seed) % 2]) if task < 5 else ("adjudicator", "eve")
            place = task if task < 5 else 1
            (held if what == "held" else other).store(
                [row(place, person, verdict, role=role)], correct=True, unassigned=True, keep_going=True
            )
        assert held.states().tolist() == decisions_of(read_campaign(folder)).state.tolist()


def test_states_cost_no_more_than_what_was_said_since(tmp_path, monkeypatch):
    """All events are looked at once; after that those on triples of new ones."""
    folder = made(tmp_path / "C", CONFLICT)
    time.sleep(0.11)
    held = OpenCampaign(folder)
    before = held.states()
    monkeypatch.setattr(store_module, "decisions_of", None)
    held.store([row(1, "bob", "Y")], correct=True)
    assert [STATES[state] for state in (before[0], held.states()[0])] == ["conflict", "agreed"]
    assert said(held.campaign_about([0]).judgements) == said(held.campaign.judgements)
    assert len(held.campaign_about([1]).judgements) == 0
