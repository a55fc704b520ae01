"""An annotation campaign: a pool, the people who judge it, and what they have said so far."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.judgements import Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.vocabulary import Vocabulary

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
#: a plain host, and nothing else that may stand between a link's slashes: no user, password, port or address in numbers
HOST = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)+(?![0-9]+\Z|0x[0-9a-f]*\Z){_LABEL}", re.ASCII)
ANNOTATORS_PER_TRIPLE = 2  # unless a campaign says otherwise


@dataclass(frozen=True, slots=True, eq=False)
class Automatic:
    """Which triples of a pool are judged N without a person, and by which rule."""

    rule: NDArray[np.int8]  # (n,) per triple of the pool, row in rules; -1: for people to judge
    rules: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rule)

    @property
    def is_automatic(self) -> NDArray[np.bool_]:
        """(n,) per triple of the pool."""
        return self.rule >= 0

    @classmethod
    def none(cls, n: int) -> Automatic:
        """No rule for any of ``n`` triples."""
        return cls(np.full(n, -1, np.int8), ())


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Who may judge, and as what; one row per person and role."""

    names: Vocabulary  # every person once
    person: NDArray[np.int32]  # (m,) row in names
    role: NDArray[np.int8]  # (m,) row in ROLES
    is_active: NDArray[np.bool_]  # (m,) False: has left; what they judged stays

    def __len__(self) -> int:
        return len(self.person)

    @classmethod
    def none(cls) -> People:
        """Nobody."""
        return cls(Vocabulary.of([]), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class Assignments:
    """Who is asked to judge which triple as an annotator, in the order in which they should, one row per task."""

    annotator: NDArray[np.int32]  # (n,) row in annotators
    triple: NDArray[np.int32]  # (n,) row in the pool's triples
    annotators: Vocabulary

    def __len__(self) -> int:
        return len(self.triple)

    @classmethod
    def none(cls, annotators: Vocabulary) -> Assignments:
        """Nothing, for any of ``annotators``."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), annotators)


@dataclass(frozen=True, eq=False)
class Campaign:
    """All that a campaign's folder holds; its pool's questions give the vocabularies."""

    pool: Pool
    known_answers: (
        Qrels  # the answers that were known before anybody was asked, of the pool's questions; grade 1 or more
    )
    automatic: Automatic
    people: People
    assignments: Assignments
    judgements: Judgements
    templates: Mapping[str, str] = field(default_factory=dict)  # relation -> "Is {head} the capital of {tail}?"
    sources: tuple[str, ...] = ()  # verified hosts; empty: any https host will do
    names: Mapping[str, str] = field(default_factory=dict)  # entity -> what a person calls it
    settings: Mapping[str, Any] = field(default_factory=dict)  # seed, annotators per triple, how the pool was made

    @property
    def per_triple(self) -> int:
        """How many annotators should judge each triple."""
        return int(self.settings.get("annotators_per_triple", ANNOTATORS_PER_TRIPLE))

    @property
    def assignment_seed(self) -> int:
        """Of who is asked what, and in which order: that of the pool unless another one was asked for."""
        return int(self.settings.get("assignment_seed", self.settings.get("seed", 0)))
