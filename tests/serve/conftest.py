"""A campaign with people of every role, and its page without a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from kgtrec.data.campaign import Assignments, Campaign, ExpertSample
from kgtrec.data.qrels import Qrels
from kgtrec.formats.campaign.expert_samples import write_expert_sample
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.output.folders import GUIDELINES, JUDGEMENTS
from kgtrec.serve.app import create_app
from kgtrec.serve.auth import Limit
from kgtrec.serve.service import CampaignService
from kgtrec.serve.state import State
from tests.campaign_folders import folder_of, people_of, said
from tests.campaigns_by_hand import campaign_of
from tests.report.test_browser import browser  # noqa: F401  # one fixture for all pages

URL = "https://judge.example.org"
WIKI = "https://en.wikipedia.org/wiki/Paris"
#: role -> a person who has it and no other
PEOPLE = {"annotator": "ann", "adjudicator": "eve", "expert": "ivy", "manager": "max"}
FRANCE = 1  # number of the question with three candidates, tasks 4, 5 and 6
NOTE = "hidden-note"  # in all that bob has said
ANN, BOB = (2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1)  # their tasks


def campaign_with_roles(events: Any = ()) -> Campaign:
    """Six triples of three questions: ann has five of them, bob all; one answer for France is known."""
    campaign = campaign_of(events)
    people = people_of(
        ("ann", "annotator", True),
        ("bob", "annotator", True),
        ("eve", "adjudicator", True),
        ("ivy", "expert", True),
        ("max", "manager", True),
        ("gone", "annotator", False),
    )
    person = [people.names.encode([name])[0] for name, tasks in (("ann", ANN), ("bob", BOB)) for _ in tasks]
    triple = np.array([*ANN, *BOB], np.int32) - 1
    pool = campaign.pool
    known = Qrels.of(
        np.array([0], np.int32),
        np.array([3], np.int32),
        np.array([1], np.int32),
        pool.questions.ids,
        pool.questions.entities,
    )
    return replace(
        campaign,
        people=people,
        assignments=Assignments(np.array(person, np.int32), triple, people.names),
        known_answers=known,
    )


#: what ann and bob have said: a conflict on task 4, a doubt on task 5; they agree on tasks 2, 3 and 6
JUDGED = [
    *((row, "ann", "annotator", verdict, f"{WIKI}#{row}", f"own-note {row}") for row, verdict in enumerate("NYYYY", 1)),
    *((row, "bob", "annotator", verdict, f"{WIKI}?{row}", f"{NOTE} {row}") for row, verdict in enumerate("NYN?Y", 1)),
]
JUDGED = [(*said[:3], "unsure", "", said[5]) if said[3] == "?" else said for said in JUDGED]
SAMPLE = (2, 3, 6)  # tasks that ivy is asked to judge again, labels N, Y and Y


@dataclass
class Page:
    """A page, and browsers that people are signed in with."""

    folder: Path
    app: Flask

    @cached_property
    def numbers(self) -> PlaceNumbers:
        return PlaceNumbers(self.folder)

    @property
    def state(self) -> State:
        found: State = self.app.extensions["kgtrec"].state
        return found

    def link_of(self, person: str) -> str:
        """The path of a new link."""
        return self.state.link(person)

    def browser(self, person: str | None = None, *, has_read: bool = True) -> Browser:
        """One of somebody who is signed in, or of nobody."""
        found = Browser(self, self.app.test_client())
        if person is not None:
            assert found.get(self.link_of(person)).status_code == 200
            if has_read:
                found.post("/guidelines", token=found.token("/guidelines"))
        return found

    def events(self) -> list[tuple[int, str, str, int, str, str]]:
        """What is stored: triple, person, role, verdict, source, note."""
        stored = read_judgements(self.folder / JUDGEMENTS, read_campaign(self.folder).pool)
        return [event[:-1] for event in said(stored)]


@dataclass
class Answer:
    """What a server has answered, with the places of tasks and questions for their numbers."""

    response: Any
    small: Callable[[str], str]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.response, name)
        return self.small(found) if name in ("text", "location") else found


@dataclass
class Browser:
    """Asks as a browser does. Tasks and questions go by their places in the pool, from 1."""

    page: Page
    client: FlaskClient

    def get(self, path: str, **headers: str) -> Any:
        response = self.client.get(self.page.numbers.large(path), base_url=URL, headers=headers, buffered=True)
        return Answer(response, self.page.numbers.small)

    def post(self, path: str, *, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        """A form, its origin told; names of fields have dashes."""
        large = self.page.numbers.large
        data = {
            large(name.replace("_", "-")): large(f"task-{value}").removeprefix("task-")
            if name in ("only", "undo", "task")
            else value
            for name, value in fields.items()
        }
        response = self.client.post(large(path), base_url=URL, data=data, headers={"Origin": URL} | (headers or {}))
        return Answer(response, self.page.numbers.small)

    def token(self, path: str = "/guidelines") -> str:
        return self.hidden(path, "token")

    def hidden(self, path: str, name: str) -> str:
        """A hidden field of a page's forms."""
        found = re.search(f'name="{name}" value="([^"]*)"', self.get(path).text)
        assert found, f"no {name} on {path}"
        return found[1]

    def judge(self, number: int = FRANCE, *, at: str = "/question", json: bool = False, **fields: Any) -> Any:
        """Send the form of a role's question, with what the page shows unless it is named."""
        path = f"{at}/{number}"
        shown = self.get(path).text
        known = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', shown))
        known = {name.replace("-", "_"): value for name, value in known.items()}
        return self.post(path, headers={"Accept": "application/json"} if json else None, **(known | fields))


class PlaceNumbers:
    """The numbers of tasks and questions on a page, for their places in the pool, from 1, and back."""

    def __init__(self, folder: Path) -> None:
        numbers = CampaignService(folder).look("").numbers
        self.tasks, self.questions = numbers.task.tolist(), numbers.question.tolist()

    def large(self, text: str) -> str:
        """With numbers for places: of a field's name, or an address."""

        def number(found: re.Match[str]) -> str:
            own, place = (self.questions if "/" in found[1] else self.tasks), int(found[2])
            return found[1] + str(own[place - 1] if 0 < place <= len(own) else place)

        text = re.sub("(again=)([0-9]+)", number, text)
        return re.sub("^(/question/|/conflict/|/sample/|(?:task|verdict|source|note|before)-)([0-9]+)", number, text)

    def small(self, text: str) -> str:
        """With places for numbers, wherever they stand."""
        for own in (self.tasks, self.questions):
            for place, number in enumerate(own, 1):
                text = text.replace(str(number), str(place))
        return text


def page_in(place: Path, events: Any = (), **options: Any) -> Page:
    """The page of a campaign in a new folder; with what was said before."""
    folder = folder_of(campaign_with_roles(events), place / "campaign")
    (folder / GUIDELINES).write_text("# How to judge\n\n<script>alert(1)</script> Look *closely*.\n")
    return Page(folder, app_of(folder, **options))


def app_of(folder: Path, **options: Any) -> Flask:
    """The page of a folder, to which one person may send as many requests as a test does."""
    app = create_app(folder, URL, **options)
    app.extensions["kgtrec"].requests = Limit(10_000, 1e6)
    return app


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Page]:
    """A function that makes the page of a campaign in the test's own folder."""
    return partial(page_in, tmp_path)


def judged_in(place: Path) -> Page:
    """A page where annotators are done: with conflicts, and a sample for the expert."""
    page = page_in(place, JUDGED)
    draw(page.folder)
    return page


@pytest.fixture
def judged(tmp_path: Path) -> Page:
    """The same in the test's own folder."""
    return judged_in(tmp_path)


def draw(folder: Path, tasks: Sequence[int] = SAMPLE) -> None:
    """A sample for the expert."""
    label = np.array([0, *[1] * (len(tasks) - 1)], np.int8)
    sample = ExpertSample(np.array(tasks, np.int32) - 1, label, np.where(label == 0, 1.0, 0.5))
    write_expert_sample(folder, read_campaign(folder).pool, sample)


@pytest.fixture
def page(make: Callable[..., Page]) -> Page:
    return make()


@pytest.fixture
def ann(page: Page) -> Browser:
    """A browser that an annotator is signed in with."""
    return page.browser("ann")


@pytest.fixture
def eve(judged: Page) -> Browser:
    """One of an adjudicator, where annotators are done."""
    return judged.browser("eve")


@pytest.fixture
def manager(judged: Page) -> Browser:
    return judged.browser("max")
