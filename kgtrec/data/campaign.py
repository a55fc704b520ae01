"""An annotation campaign: a pool, the people who judge it, and their judgements so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrays import RowsByCode
from kgtrec.data.gold import Gold
from kgtrec.data.judgements import ROLES, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.rows import Rows
from kgtrec.data.vocabulary import Vocabulary

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
#: a plain host name: no user, password, port or numeric address, though these may stand there in a link
HOST = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+(?![0-9]+\Z|0x[0-9a-f]*\Z){_LABEL}", re.ASCII)
PERSON_ROLES = (*ROLES, "manager")  # a manager judges nothing, and looks after the campaign on its page
MANAGER = len(ROLES)
#: whether Y and N need a link to a source: it must be there, may be there, or is not asked for
LINKS = REQUIRED, ASKED, NOT_ASKED = ("required", "asked", "none")
ANNOTATORS_PER_TRIPLE = 2  # unless a campaign says otherwise
MOST_PER_TRIPLE = 100
MOST_TRAINING = 50  # gold triples


@dataclass(frozen=True, slots=True, eq=False)
class Automatic(Rows):
    """Which triples of a pool are judged N without a person, and by which rule."""

    rule: NDArray[np.int8]  # (n,) per triple of the pool, row in rules; -1: for people to judge
    rules: tuple[str, ...]

    @property
    def is_automatic(self) -> NDArray[np.bool_]:
        """(n,) per triple of the pool."""
        return self.rule >= 0

    @classmethod
    def none(cls, n: int) -> Automatic:
        """No rule for any of ``n`` triples."""
        return cls(np.full(n, -1, np.int8), ())


@dataclass(frozen=True, slots=True, eq=False)
class People(Rows):
    """Who takes part, and in which role; one row per person and role."""

    names: Vocabulary  # every person once
    person: NDArray[np.int32]  # (m,) row in names
    role: NDArray[np.int8]  # (m,) row in PERSON_ROLES
    is_active: NDArray[np.bool_]  # (m,) False: has left; their judgements still count

    @property
    def judging_managers(self) -> tuple[str, ...]:
        """Who is an active manager and active in another role too, which nobody may be: managers see all verdicts."""
        active = self.person[self.is_active & (self.role == MANAGER)]
        both = np.isin(self.person, active) & self.is_active & (self.role != MANAGER)
        return tuple(self.names[row] for row in np.unique(self.person[both]))

    @classmethod
    def none(cls) -> People:
        """Nobody."""
        return cls(Vocabulary.of([]), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.bool_))


@dataclass(frozen=True, eq=False)
class Assignments(Rows):
    """Who is asked to judge which triple as an annotator, in the order in which they should, one row per task."""

    annotator: NDArray[np.int32]  # (n,) row in annotators
    triple: NDArray[np.int32]  # (n,) row in the pool's triples
    annotators: Vocabulary

    def about(self, triples: NDArray[np.integer]) -> NDArray[np.intp]:
        """Rows of the tasks that are about some triples, which are distinct, in no order that matters.

        Examples
        --------
        >>> given = Assignments(np.array([0, 0, 1]), np.array([7, 5, 7]), Vocabulary.of(["ann", "bob"]))
        >>> given.about(np.array([7])).tolist()
        [0, 2]
        """
        return self._by_triple.rows(triples)

    @cached_property
    def _by_triple(self) -> RowsByCode:
        return RowsByCode.of(self.triple)

    @classmethod
    def none(cls, annotators: Vocabulary) -> Assignments:
        """No task for any of ``annotators``."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), annotators)


@dataclass(frozen=True, eq=False)
class Campaign:
    """The contents of a campaign's folder; its pool's questions give the vocabularies."""

    pool: Pool
    known_answers: Qrels  # answers known before the campaign, of the pool's questions; grade 1 or more
    automatic: Automatic
    people: People
    assignments: Assignments
    judgements: Judgements
    templates: Mapping[str, str] = field(default_factory=dict)  # relation -> "Is {head} the capital of {tail}?"
    sources: tuple[str, ...] = ()  # verified hosts; empty: any https host will do
    names: Mapping[str, str] = field(default_factory=dict)  # entity -> its name in plain language
    settings: Mapping[str, Any] = field(default_factory=dict)  # seed, annotators per triple, how the pool was made
    gold: Gold = field(default_factory=Gold.none)  # triples whose verdict is known
    descriptions: Mapping[str, str] = field(default_factory=dict)  # entity -> what it is, in a line

    @property
    def per_triple(self) -> int:
        """How many annotators should judge each triple."""
        return int(self.settings.get("annotators_per_triple", ANNOTATORS_PER_TRIPLE))

    @property
    def training(self) -> tuple[tuple[str, str, str], ...]:
        """The gold triples that annotators judge first, and are told the answer of each."""
        return self.training_gold[: int(self.settings.get("training", 0))]

    @property
    def training_gold(self) -> tuple[tuple[str, str, str], ...]:
        """Those that were ever chosen for it."""
        return tuple((head, relation, tail) for head, relation, tail in self.settings.get("training_gold", ()))

    def links(self, role: str) -> str:
        """Which of ``LINKS`` holds for the verdicts of a role."""
        return rule_for_links(self.settings, role)

    @property
    def assignment_seed(self) -> int:
        """Seed of the assignment and its order: the pool's seed unless the settings give another."""
        return int(self.settings.get("assignment_seed", self.settings.get("seed", 0)))


def rule_for_links(settings: Mapping[str, Any], role: str) -> str:
    """Which of ``LINKS`` the settings of a campaign hold for a role.

    Examples
    --------
    >>> rule_for_links({"links": {"adjudicator": "asked"}}, "adjudicator"), rule_for_links({}, "annotator")
    ('asked', 'required')
    """
    return str(settings.get("links", {}).get(role, REQUIRED))
