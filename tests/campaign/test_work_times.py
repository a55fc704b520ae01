"""Steps of work from the times of verdicts, and the times that are taken where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kgtrec.campaign.work_times import DEFAULT_TIMES, work_left, work_times
from kgtrec.data.arrow import labels_of
from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
from kgtrec.data.qrels import Qrels
from kgtrec.kernels.statistics.work_time import fit_work_times
from tests.judged_pools import judgements_of, pool_of


def campaign_of(sizes, events) -> Campaign:
    """Events (triple, person, second)."""
    pool, nobody, none = pool_of(sizes), People.none(), np.zeros(0, np.int32)
    said = judgements_of([(row, person, "annotator", "Y") for row, person, _ in events])
    times = [f"2026-11-21T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z" for _, _, at in events]
    return Campaign(
        pool,
        Qrels(none, none, none, pool.questions.ids, pool.questions.entities),
        Automatic.none(len(pool)),
        nobody,
        Assignments.none(nobody.names),
        replace(said, time=labels_of(times)),
    )


def working(person: str, n: int, opening: int, candidate: int, start: int = 0):
    """Someone who judges n questions of two candidates, one at a time."""
    at, events = start, []
    for row in range(2 * n):
        at += candidate + (opening if row % 2 == 0 else 0)
        events.append((row, person, at))
    return events


def test_times_are_those_of_the_people():
    """20 s for a question and 30 s for a candidate, of two people in turn, with a long lunch."""
    events = working("ann", 20, 20, 30)
    events = [(row, person, at + 5000 * (row > 19)) for row, person, at in events] + working("bob", 20, 20, 30, 7)
    found = work_times(campaign_of([2] * 20, sorted(events, key=lambda event: event[2])))
    assert found == (pytest.approx(20), pytest.approx(30), 2 * 39 - 1)


def test_candidates_that_are_sent_together_are_one_step():
    """Both of a question at one time take 80 s."""
    events = [(row, "ann", 80 * (row // 2)) for row in range(80)]
    found = work_times(campaign_of([2] * 40, events))
    assert found.n_steps == 39
    assert found.opening + 2 * found.candidate == pytest.approx(80)


def test_files_and_corrections_and_little_work_tell_nothing():
    """Many questions at one time, second verdicts on a triple, or fewer than 30 steps."""
    assert work_times(campaign_of([2] * 40, [(row, "ann", 60 * (row // 20)) for row in range(80)])) == DEFAULT_TIMES
    assert work_times(campaign_of([2] * 40, [(0, "ann", 60 * step) for step in range(80)])) == DEFAULT_TIMES
    assert work_times(campaign_of([2] * 15, working("ann", 15, 20, 30))) == DEFAULT_TIMES
    assert work_times(campaign_of([2], [])) == DEFAULT_TIMES


def test_what_is_left_is_counted_by_verdicts_and_openings():
    """Of two questions of three and one triples, two verdicts each, ann has judged the first triple."""
    campaign = campaign_of([3, 1], [(0, "ann", 0)])
    assert work_left(campaign, campaign.automatic) == (4, 7)
    rule = np.array([-1, 0, 0, -2], np.int8)
    assert work_left(campaign, Automatic(rule, ("types",))) == (1, 1)


def test_without_times_those_of_real_batches_are_taken(data: Path):
    """A fact takes people 53 s on average, and opening the page 7 s, rounded; medians grow by 34 s a fact."""
    verdicts = pd.read_csv(data / "dbpedia-accuracy" / "verdicts.tsv.gz", sep="\t")
    batches = verdicts.groupby(["annotator", "batch"]).agg(n=("verdict", "size"), seconds=("batch_seconds", "first"))
    batches = batches[batches.n <= 5]
    found = fit_work_times(batches.seconds.to_numpy(), np.ones(len(batches), bool), batches.n.to_numpy())
    assert (round(found.opening), round(found.candidate)) == DEFAULT_TIMES[:2]
    assert (found.n_steps, len(batches)) == (6744, 6961)
    assert batches.groupby("n").seconds.median().round().tolist() == [32, 66, 91, 112, 177]
