"""An annotation campaign: a pool, the people who judge it and their judgements, templates, and an expert's sample."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrays import RowsByCode
from kgtrec.data.arrow import long_table
from kgtrec.data.columns import Columns
from kgtrec.data.design import Design
from kgtrec.data.frames import Framed
from kgtrec.data.judgements import NO, ROLES, VERDICTS, YES, Gold, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.table import Column, Result, Table, interval_columns
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError

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
_FOR_PEOPLE, NOT_DRAWN = -1, -2  # codes in place of a rule


@dataclass(frozen=True, slots=True, eq=False)
class Automatic(Columns):
    """Which triples of a pool people are not asked about: those judged N by a rule, and those not drawn by a design."""

    rule: NDArray[np.int8]  # (n,) per triple of the pool, row in rules; -1: for people to judge; NOT_DRAWN
    rules: tuple[str, ...]
    design: Design | None = None  # of the pool, if it is not all for people

    @property
    def is_automatic(self) -> NDArray[np.bool_]:
        """(n,) whether a rule judged the triple N."""
        return self.rule >= 0

    @property
    def for_people(self) -> NDArray[np.bool_]:
        """(n,) whether people are asked to judge the triple."""
        return self.rule == _FOR_PEOPLE

    def with_design(self, design: Design | None) -> Automatic:
        """Return the same, where people are asked only about the triples that a design has drawn."""
        if design is None:
            return self
        asked = np.where(design.asked(len(self)), np.int8(_FOR_PEOPLE), np.int8(NOT_DRAWN))
        return replace(self, rule=np.where(self.is_automatic, self.rule, asked), design=design)

    @classmethod
    def none(cls, n: int) -> Automatic:
        """Make an empty one, without a rule for any of ``n`` triples."""
        return cls(np.full(n, _FOR_PEOPLE, np.int8), ())


@dataclass(frozen=True, slots=True, eq=False)
class People(Columns):
    """Who takes part, and in which role; one row per person and role."""

    names: Vocabulary  # every person once
    person: NDArray[np.int32]  # (m,) row in names
    role: NDArray[np.int8]  # (m,) row in PERSON_ROLES
    is_active: NDArray[np.bool_]  # (m,) False: has left; their judgements still count

    @property
    def judging_managers(self) -> tuple[str, ...]:
        """Who is an active manager and active in another role too, which nobody may be: managers see all verdicts."""
        is_manager = self.role == MANAGER
        both = np.intersect1d(self.person[self.is_active & is_manager], self.person[self.is_active & ~is_manager])
        return tuple(self.names[row] for row in both)

    @classmethod
    def none(cls) -> People:
        """Make an empty one, of nobody."""
        return cls(Vocabulary.of([]), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.bool_))


@dataclass(frozen=True, eq=False)
class Assignments(Columns):
    """Who is asked to judge which triple as an annotator, in the order in which they should, one row per task."""

    annotator: NDArray[np.int32]  # (n,) row in annotators
    triple: NDArray[np.int32]  # (n,) row in the pool's triples
    annotators: Vocabulary

    def about(self, triples: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the rows of the tasks that are about some triples, which are distinct, in no order that matters.

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
        """Make an empty one, without a task for any of ``annotators``."""
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
    design: Design | None = None  # the sample that people judge; None: all that no rule has judged

    @property
    def per_triple(self) -> int:
        """How many annotators should judge each triple."""
        return int(self.settings.get("annotators_per_triple", ANNOTATORS_PER_TRIPLE))

    @property
    def chance(self) -> NDArray[np.float64]:
        """(n,) how likely each triple of the pool was to be judged by people: in the pool, and drawn by the design."""
        return self.pool.probability if self.design is None else self.design.chance(len(self.pool))

    @property
    def training(self) -> tuple[tuple[str, str, str], ...]:
        """The gold triples that annotators judge first, and whose answer they are then shown."""
        return self.training_gold[: int(self.settings.get("training", 0))]

    @property
    def training_gold(self) -> tuple[tuple[str, str, str], ...]:
        """Those that were ever chosen for it."""
        return tuple((head, relation, tail) for head, relation, tail in self.settings.get("training_gold", ()))

    def links(self, role: str) -> str:
        """Return which of ``LINKS`` holds for the verdicts of a role."""
        return rule_for_links(self.settings, role)

    @property
    def assignment_seed(self) -> int:
        """Seed of the assignment and its order: the pool's seed unless the settings give another."""
        return int(self.settings.get("assignment_seed", self.settings.get("seed", 0)))


def rule_for_links(settings: Mapping[str, Any], role: str) -> str:
    """Return which of ``LINKS`` the settings of a campaign hold for a role.

    Examples
    --------
    >>> rule_for_links({"links": {"adjudicator": "asked"}}, "adjudicator"), rule_for_links({}, "annotator")
    ('asked', 'required')
    """
    return str(settings.get("links", {}).get(role, REQUIRED))


SLOTS = ("{head}", "{tail}")
#: what a template may have too, for facts with a time
TIME_SLOT = "{time}"
_SLOT = re.compile(r"(\{head\}|\{tail\})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def template_parts(template: str) -> tuple[str, ...]:
    """Return the template split at its slots, which are parts too; the joined parts give the template again.

    Only the two slots have a meaning here, and ``{time}`` in :func:`kgtrec.campaign.wording.template_of`. A template is
    never passed to ``str.format``, which would evaluate ``{head.__class__}``, and the names put into the slots are not
    parsed again, so that they may contain braces.

    Raises
    ------
    KgtrecError
        If a slot is missing, anything else is in braces, or the template is not one line of text.

    Examples
    --------
    >>> template_parts("Is {head} in {tail}?")
    ('Is ', '{head}', ' in ', '{tail}', '?')
    >>> template_parts("Is {head.__class__} in {tail}?")
    Traceback (most recent call last):
    ...
    kgtrec.errors.KgtrecError: expected a template with {head} and {tail}, found no {head} in 'Is {head.__class__} in {tail}?'
    """  # noqa: E501
    parts = tuple(part for part in _SLOT.split(template) if part)
    if missing := [slot for slot in SLOTS if slot not in parts]:
        raise KgtrecError(
            f"expected a template with {{head}} and {{tail}}, found no {' and no '.join(missing)} in {template!r}"
        )
    for part in parts:
        if part not in SLOTS and (braces := re.search(r"\{[^{}]*\}?|\}", part.replace(TIME_SLOT, ""))):
            raise KgtrecError(
                f"expected nothing but {{head}}, {{tail}} and {{time}} in braces, found {braces[0]!r} in {template!r}"
            )
    if control := _CONTROL.search(template):
        raise KgtrecError(f"expected a template of one line of text, found {control[0]!r} in {template!r}")
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class ExpertSample(Columns):
    """Decided triples sampled for an expert, in the order of the pool; the strata are the labels N and Y."""

    triple: NDArray[np.int32]  # (n,) row in the pool's triples, ascending
    verdict: NDArray[np.int8]  # (n,) the label when the sample was drawn: 0 = N, 1 = Y
    probability: NDArray[np.float64]  # (n,) of being in the sample: drawn / settled in the stratum

    def __repr__(self) -> str:
        n_no, n_yes = self.drawn
        return f"<ExpertSample: {n_yes:,} Y of {self.population[YES]:,}, {n_no:,} N of {self.population[NO]:,}>"

    @property
    def drawn(self) -> NDArray[np.int64]:
        """(2,) triples in the sample that were labelled N, and Y."""
        return np.bincount(self.verdict, minlength=2)

    @property
    def population(self) -> NDArray[np.int64]:
        """(2,) triples that had been settled as N, and as Y, when the sample was drawn."""
        return np.rint(np.bincount(self.verdict, weights=1 / self.probability, minlength=2)).astype(np.int64)


#: as :func:`kgtrec.campaign.sample_report` explains them
SAMPLE_STATISTICS = (
    "agreement on Y",
    "agreement on N",
    "agreement in the sample",
    "agreement in the pool",
    "positives missed",
    "recall of positives",
    "prevalence in the pool",
)
_COUNTS = ("positives missed",)  # those that are numbers of triples, not shares


@dataclass(frozen=True, slots=True, eq=False)
class SampleReport(Framed, Result):
    """Quality of the labels by an expert; one value per name in ``SAMPLE_STATISTICS``, NaN where undefined."""

    values: NDArray[np.float64]  # (statistics,)
    low: NDArray[np.float64]  # (statistics,) lower ends of confidence intervals
    high: NDArray[np.float64]  # (statistics,) upper ends
    population: NDArray[np.int64]  # (2,) settled as N, and as Y, when the sample was drawn
    drawn: NDArray[np.int64]  # (2,) of those, in the sample
    judged: NDArray[np.int64]  # (2,) of those, judged Y or N by the expert
    agreed: NDArray[np.int64]  # (2,) of those, given the same label by the expert
    unsure: NDArray[np.int64]  # (2,) in the sample, and the expert was unsure
    confidence: float
    pooled: int | None = None  # triples of the pool, if some were still undecided when the sample was drawn

    def __repr__(self) -> str:
        return f"<SampleReport: {self.agreed.sum():,} of {self.judged.sum():,} labels agree>"

    def value(self, statistic: str) -> float:
        """Return one of ``SAMPLE_STATISTICS``."""
        return float(self.values[SAMPLE_STATISTICS.index(statistic)])

    def to_table(self) -> pa.Table:
        """Return a row per statistic: statistic, value, low, high."""
        ends = {"value": self.values, "low": self.low, "high": self.high}
        return long_table(self.values.shape, {"statistic": (0, SAMPLE_STATISTICS), **ends})

    def labels_table(self) -> pa.Table:
        """Return a row per label, Y and N: label, drawn_from, drawn, judged, agree, disagree, unsure."""
        counts = {
            "drawn_from": self.population,
            "drawn": self.drawn,
            "judged": self.judged,
            "agree": self.agreed,
            "disagree": self.judged - self.agreed,
            "unsure": self.unsure,
        }
        columns = {name: count[[YES, NO]] for name, count in counts.items()}
        return long_table((2,), {"label": (0, [VERDICTS[label] for label in (YES, NO)]), **columns})

    def tables(self) -> tuple[Table, ...]:
        """Return ``statistics``, the estimates, and ``labels``, how many of each label were drawn and judged."""
        caption, of = "", int(self.population.sum())
        if self.pooled is not None and of < self.pooled:
            caption = (
                f"Drawn from {of:,} of the pool's {self.pooled:,} triples, those that had been settled by then; "
                'here "the pool" means these.'
            )
        digits = [0 if name in _COUNTS else 4 for name in SAMPLE_STATISTICS]
        ends = [replace(column, digits=digits) for column in interval_columns(self.confidence)]
        columns = (Column("statistic"), Column("value", digits=digits), *ends)
        labels = self.labels_table()
        counts = tuple(Column(name, name.replace("_", " ")) for name in labels.column_names)
        return Table("statistics", "", caption, self.to_table(), columns), Table("labels", "", "", labels, counts)
