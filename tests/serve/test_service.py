"""The service: what several threads want to store at once is stored together, and each is told its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kgtrec.campaign.verdict_rules import Refusal
from kgtrec.data.judgements import Incoming
from kgtrec.formats.campaign import judgements as judgements_module
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.serve.service import CampaignService
from tests.campaign_folders import folder_of, said
from tests.serve.conftest import WIKI, campaign_with_roles


@pytest.fixture
def service(tmp_path: Path) -> CampaignService:
    return CampaignService(folder_of(campaign_with_roles(), tmp_path / "campaign"))


class Disk:
    """A disk that is busy with the first write until it is told to go on, and counts."""

    def __init__(self, fails: Callable[[int], bool]) -> None:
        self.is_busy, self.goes_on, self.n_writes, self.fails = threading.Event(), threading.Event(), 0, fails
        self.sync = os.fsync

    def __call__(self, descriptor: int) -> None:
        self.n_writes += 1
        if self.n_writes == 1:
            self.is_busy.set()
            assert self.goes_on.wait(30)
        if self.fails(self.n_writes):
            raise OSError(28, "No space left on device")
        self.sync(descriptor)


def no(person: str, task: int, source: str = WIKI, **values: Any) -> Incoming:
    return Incoming(f"task {task}", person, "N", task, source=source, **values)


def stored_at_once(
    service: CampaignService,
    monkeypatch: pytest.MonkeyPatch,
    orders: list[list[Incoming]],
    fails: Callable[[int], bool] = lambda _: False,
) -> tuple[list[Future[Any]], int]:
    """What becomes of orders that come, in their order, while the disk is busy with the first; the number of writes."""
    disk = Disk(fails)
    monkeypatch.setattr(judgements_module.os, "fsync", disk)
    with ThreadPoolExecutor(len(orders)) as pool:
        done = [pool.submit(service.store, orders[0])]
        assert disk.is_busy.wait(30)
        for nth, order in enumerate(orders[1:], 1):
            done.append(pool.submit(service.store, order))
            while len(service._waiting) < nth:
                time.sleep(0.001)
        disk.goes_on.set()
    monkeypatch.undo()
    return done, disk.n_writes


def test_what_comes_while_the_disk_is_busy_is_stored_by_one_write(
    service: CampaignService, monkeypatch: pytest.MonkeyPatch
):
    """Three people, two writes and a folder; each is told what is wrong with their own, at its own place."""
    orders = [[no("ann", 4)], [no("bob", 4), no("bob", 5, "http://x")], [no("eve", 6, role="adjudicator")]]
    done, n_writes = stored_at_once(service, monkeypatch, orders)
    first, second, third = (each.result() for each in done)
    assert first == ()
    assert second == (Refusal("task 5", "expected a link that begins with https://, found 'http://x'"),)
    assert [one.place for one in third] == ["task 6"]
    assert n_writes == 3  # the first is followed by the folder's own, since the file was empty
    events = said(read_campaign(service.folder).judgements)
    assert [event[:2] for event in events] == [(3, "ann"), (3, "bob")]


def test_what_one_person_says_twice_is_stored_one_after_the_other(
    service: CampaignService, monkeypatch: pytest.MonkeyPatch
):
    """Out of two tabs: the first one counts, and the second is refused, not both as among the lines of a file."""
    orders = [[no("bob", 1)], [no("ann", 4)], [no("ann", 4, f"{WIKI}/2")], [no("bob", 2)]]
    done, n_writes = stored_at_once(service, monkeypatch, orders)
    assert [len(each.result()) for each in done] == [0, 0, 1, 0]
    assert "expected the earlier verdict of 'ann'" in done[2].result()[0].message
    assert n_writes == 3
    events = said(read_campaign(service.folder).judgements)
    assert [event[:2] for event in events] == [(0, "bob"), (3, "ann"), (1, "bob")]


def test_a_disk_that_is_full_is_told_to_everybody_who_waited_for_it(
    service: CampaignService, monkeypatch: pytest.MonkeyPatch
):
    """What was stored before stays, and nothing of the rest is stored."""
    orders = [[no("bob", 1)], [no("ann", 4)], [no("bob", 2)]]
    done, _ = stored_at_once(service, monkeypatch, orders, fails=lambda nth: nth > 2)
    assert done[0].result() == ()
    for each in done[1:]:
        with pytest.raises(OSError, match="No space left"):
            each.result()
    assert [event[:2] for event in said(read_campaign(service.folder).judgements)] == [(0, "bob")]
    assert service.store([no("ann", 4)]) == ()
