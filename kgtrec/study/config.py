"""A study: its configuration and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from kgtrec.data.lazy import imported
from kgtrec.data.table import Provenance
from kgtrec.evaluation.scoring import UnlistedAnswers
from kgtrec.meta.coefficients import COEFFICIENTS

#: the kinds of label sets
LABEL_KINDS = ("test", "sample", "qrels", "campaign", "published")
#: the kinds made from a pool, which have depths
POOLED_KINDS = ("campaign", "published")
#: the collection of all test triples, which is the default collection of label sets
WHOLE = "test"


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder, and its name in messages, manifest and report."""

    shown: str  # as in the configuration: relative, or with ${VARIABLE}
    path: Path

    def within(self, name: str) -> Source:
        """Return a file of the folder."""
        return Source(f"{self.shown}/{name}", self.path / name)

    def beside(self, path: Path) -> Source:
        """Return a file in the folder of this file, or this file itself."""
        folder = self.shown.rpartition("/")
        return self if path == self.path else Source(f"{folder[0]}{folder[1]}{path.name}", path)


@dataclass(frozen=True, slots=True)
class StudyData:
    """The triples, or a collection built from them."""

    splits: tuple[Source, Source | None, Source] | None  # train, valid (None: there is none), test
    collection: Source | None  # None: it is built from the splits
    columns: str = "hrt"
    header: bool = True  # whether a first line may name the columns
    options: Mapping[str, Any] = field(default_factory=dict)  # of kgtrec.collection.questions.build_questions


@dataclass(frozen=True, slots=True)
class StudySystems:
    """The systems to evaluate: systems that the study ranks itself, or answer ranks and runs of one collection."""

    scores: tuple[Source, ...] = ()  # .npz or .npy
    baselines: tuple[str, ...] = ()
    ranks: tuple[Source, ...] = ()
    runs: tuple[Source, ...] = ()
    filtered_by: tuple[str, ...] = ("train", "valid", "test")
    # ranks, runs and qrels of other collections are matched by ids; systems that cannot be compared cause a warning
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class LabelSet:
    """One of the label sets that the systems are evaluated on."""

    name: str
    kind: str  # one of LABEL_KINDS
    on: str  # the label set whose collection it judges, or WHOLE
    about: str = ""
    source: Source | None = None  # the folder or file that it is read from
    size: int | float | None = None  # of a random sample
    seed: int = 0
    depths: tuple[int, ...] | None = None  # depths of the pool that are evaluated one by one; None: all; (): none

    @property
    def path(self) -> Path:
        """The folder or file of a label set that is read from one."""
        return cast("Source", self.source).path

    @property
    def collection(self) -> str:
        """Name of the collection with its questions; a sample has a collection of its own."""
        return self.name if self.kind == "sample" else self.on


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """The options that a report shows together with the results."""

    confidence: float = 0.95  # of all intervals
    alpha: float = 0.05  # below which p counts as significant
    coefficients: tuple[str, ...] = COEFFICIENTS  # between label sets, and between depths; sentences use the first
    coefficient: str = COEFFICIENTS[0]  # between subsamples and the whole test set


@dataclass(frozen=True, slots=True)
class StudyConfig:
    """All settings that the results of a study depend on."""

    title: str
    out: Path
    data: StudyData
    systems: StudySystems
    labels: tuple[LabelSet, ...]
    subtitle: str = ""
    about: tuple[str, ...] = ()
    seed: int = 0
    measures: tuple[str, ...] = ()  # empty: the default ones
    main: tuple[str, ...] = ()  # measures of figures with few measures; empty: the first over answers and questions
    ties: str | None = None
    unlisted_answers: UnlistedAnswers = "filtered"
    resamples: int = 1000
    pairs: tuple[tuple[str, str], ...] = ()  # label sets to correlate
    fixed_relations: bool = True
    options: StudyOptions = field(default_factory=StudyOptions)
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # stability, power, ties -> options
    formats: tuple[str, ...] = ()  # of the report; empty: the default ones
    settings: Mapping[str, Any] = field(default_factory=dict)  # the configuration as it was read
    written: bytes = b""  # the bytes of the configuration file

    def label_set(self, name: str) -> LabelSet:
        """Return the label set with this name, which must exist."""
        return next(labels for labels in self.labels if labels.name == name)


@dataclass(frozen=True, slots=True)
class LabelFacts:
    """The contents of a label set."""

    name: str
    kind: str
    collection: str  # name of the collection with its questions: that of a sample, or WHOLE
    about: str
    questions: int
    answers: int
    judged_wrong: int
    triples: int | None = None  # pooled
    depth: int | None = None  # of the pool


@dataclass(frozen=True, slots=True)
class Note:
    """A warning from the computation of a study; repeated warnings are one note."""

    text: str
    labels: tuple[str, ...] = ()  # the label sets that it is about; empty: it is not about a label set


@dataclass(frozen=True, slots=True)
class Study:
    """The results of a study; tables are named PART/LABELS, such as scores/O, or PART/FIRST/SECOND."""

    title: str
    systems: tuple[str, ...]
    measures: tuple[str, ...]
    main: tuple[str, ...]
    labels: tuple[LabelFacts, ...]
    collections: Mapping[str, Mapping[str, Any]]  # name -> the counts of build_questions
    tables: Mapping[str, pa.Table]
    subtitle: str = ""
    about: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    options: StudyOptions = field(default_factory=StudyOptions)
    provenance: Provenance = field(default_factory=Provenance)
    exploration: str = ""  # the page of single questions, within the folder of steps; "" where there is none

    def _repr_html_(self) -> str:
        """What a notebook shows: the summary of the report."""
        return cast("str", imported("report.show", "summary_html")(imported("study.report", "study_report")(self)))

    def part(self, name: str) -> dict[str, pa.Table]:
        """Return the tables of a part: name without the name of the part -> table."""
        head = f"{name}/"
        return {key.removeprefix(head): table for key, table in self.tables.items() if key.startswith(head)}
