"""A study: what it is made of, as its configuration says, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.table import Provenance
from kgtrec.meta.coefficients import COEFFICIENTS

#: what a label set can be
LABEL_KINDS = ("test", "sample", "qrels", "campaign", "published")
#: those that come out of a pool, and so have depths
POOLED_KINDS = ("campaign", "published")
#: the collection of all test triples, and of label sets that are on no other
WHOLE = "test"


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder, and what it is called wherever the study tells of it."""

    shown: str  # as the configuration has it: relative, or with ${VARIABLE}
    path: Path

    def within(self, name: str) -> Source:
        """A file of the folder."""
        return Source(f"{self.shown}/{name}", self.path / name)

    def beside(self, path: Path) -> Source:
        """A file of the folder that this one is in, or this one."""
        folder = self.shown.rpartition("/")
        return self if path == self.path else Source(f"{folder[0]}{folder[1]}{path.name}", path)


@dataclass(frozen=True, slots=True)
class StudyData:
    """The triples, or a collection that was made of them."""

    splits: tuple[Source, Source, Source] | None  # train, valid, test
    collection: Source | None  # None: it is built of the splits
    columns: str = "hrt"
    options: Mapping[str, Any] = field(default_factory=dict)  # of kgtrec.collection.questions.build_questions

    @property
    def ready(self) -> Source:
        """The collection; only where there are no splits."""
        if self.collection is None:
            raise ValueError("the collection of this study is built of its splits")
        return self.collection


@dataclass(frozen=True, slots=True)
class StudySystems:
    """What is evaluated: systems that are still to be ranked, or answer ranks and runs of one collection."""

    scores: tuple[Source, ...] = ()  # .npz or .npy
    baselines: tuple[str, ...] = ()
    ranks: tuple[Source, ...] = ()
    runs: tuple[Source, ...] = ()
    filtered_by: tuple[str, ...] = ("train", "valid", "test")
    mixed: bool = False  # systems that cannot be compared are warned of, and not refused
    trust_ids: bool = False  # ready ranks and runs are taken for the collection's, whatever they say

    @property
    def are_ranked(self) -> bool:
        """Whether the study ranks them itself, so that each label set may have a collection of its own."""
        return bool(self.scores or self.baselines)


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One of the label sets that the systems are evaluated on."""

    name: str
    kind: str  # of LABEL_KINDS
    on: str  # the label set whose collection it judges, or WHOLE
    about: str = ""
    source: Source | None = None  # the folder or file that it comes from
    size: int | float | None = None  # of a sample that is drawn
    seed: int = 0
    depths: tuple[int, ...] | None = None  # of the pool, to be looked at one by one; None: all of them; (): none

    @property
    def path(self) -> Path:
        """The folder or file that it comes from; only of a kind that is read."""
        if self.source is None:
            raise ValueError(f"label set {self.name} is not read from a file")
        return self.source.path

    @property
    def collection(self) -> str:
        """Whose questions are asked: its own if it is a sample."""
        return self.name if self.kind == "sample" else self.on


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """The options that a report tells together with the numbers that they gave."""

    confidence: float = 0.95  # of all intervals
    alpha: float = 0.05  # below which p counts as significant
    coefficients: tuple[str, ...] = COEFFICIENTS  # between label sets, and between depths; the first speaks for them
    coefficient: str = COEFFICIENTS[0]  # of subsamples with the whole test set


@dataclass(frozen=True, slots=True)
class StudyConfig:
    """All that decides what a study finds."""

    title: str
    out: Path
    data: StudyData
    systems: StudySystems
    labels: tuple[LabelSet, ...]
    subtitle: str = ""
    about: tuple[str, ...] = ()
    seed: int = 0
    measures: tuple[str, ...] = ()  # none: the usual ones
    main: tuple[str, ...] = ()  # those that single figures show; none: the first over answers and over questions
    ties: str | None = None
    resamples: int = 1000
    pairs: tuple[tuple[str, str], ...] = ()  # label sets to correlate
    fixed_relations: bool = True
    options: StudyOptions = field(default_factory=StudyOptions)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # stability, power, ties -> options
    formats: tuple[str, ...] = ()  # of the report; none: the usual ones
    settings: Mapping[str, Any] = field(default_factory=dict)  # the configuration as it was read
    written: bytes = b""  # the file itself

    def label_set(self, name: str) -> LabelSet:
        """The label set of that name, which must be there."""
        return next(labels for labels in self.labels if labels.name == name)


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """What a label set holds."""

    name: str
    kind: str
    collection: str  # whose questions are asked: the name of a sample, or WHOLE
    about: str
    questions: int
    answers: int
    judged_wrong: int
    triples: int | None = None  # pooled
    depth: int | None = None  # of the pool


@dataclass(frozen=True, slots=True)
class Note:
    """What was warned of while a study was computed, once however often it was."""

    text: str
    labels: tuple[str, ...] = ()  # the label sets that it is about; none: it is about none of them


@dataclass(frozen=True, slots=True)
class Study:
    """What a study found; tables are named PART/LABELS, such as scores/O, or PART/FIRST/SECOND."""

    title: str
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    main: tuple[str, ...]
    labels: tuple[LabelFacts, ...]
    collections: Mapping[str, Mapping[str, Any]]  # name -> what build_questions counted
    tables: Mapping[str, pa.Table]
    subtitle: str = ""
    about: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    options: StudyOptions = field(default_factory=StudyOptions)
    provenance: Provenance = field(default_factory=Provenance)

    def part(self, name: str) -> dict[str, pa.Table]:
        """The tables of a part: what follows its name -> table."""
        head = f"{name}/"
        return {key.removeprefix(head): table for key, table in self.tables.items() if key.startswith(head)}
