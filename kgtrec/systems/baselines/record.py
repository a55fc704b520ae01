"""The record by which every baseline is registered; the command line, its help and the tests read it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.collection import Collection
from kgtrec.data.queries import is_query, last_links
from kgtrec.data.questions import Questions
from kgtrec.data.triples import Triples, plain, steps_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, nearest, one_of, whole_number
from kgtrec.systems.baselines.graph import Codes, Graph, asked

# (b,) anchors and (b,) directions -> (b, n_entities) float64 scores, a new array, no NaN
Scorer = Callable[[Codes, Codes], NDArray[np.float64]]
#: option -> value
Settings = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a baseline."""

    default: int | float | str
    description: str
    choices: tuple[str, ...] = ()  # for a text option
    least: float = 1  # smallest value of a number

    def read(self, name: str, value: Any) -> int | float | str:
        """Return ``value``, which may be text, in the type of the default; a KgtrecError if it is invalid."""
        kind = type(self.default)
        try:
            read = kind(value if kind is str else float(value))
        except (TypeError, ValueError, OverflowError):
            read = None
        if read is None or (kind is int and read != float(value)):
            raise KgtrecError(f"expected {'a whole number' if kind is int else 'a number'} for {name}, found {value!r}")
        if isinstance(read, str):
            one_of(f"{name} to be one of", read, self.choices)
        elif not self.least <= read < float("inf"):
            raise KgtrecError(f"expected {name} to be {self.least:g} or more, found {value}")
        return read


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted baseline."""

    name: str
    entities: Vocabulary
    relations: Vocabulary
    score: Scorer

    def scores(self, questions: Questions, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Score all entities for some questions; higher is better.

        Parameters
        ----------
        questions : Questions
            With the same entities and relations as the facts that the baseline was fitted to.
        rows : (b,) int array
            Rows of the questions to score.

        Returns
        -------
        (b, n_entities) float array
            A question's scores do not depend on the others in the block.

        Raises
        ------
        CollectionError
            If the questions have other entities or relations.
        """
        questions = _as_last_links(questions.take(rows))  # of these alone: there may be very many blocks
        if not questions.relations.same_as(self.relations):
            questions = plain(questions)
        if not (questions.entities.same_as(self.entities) and questions.relations.same_as(self.relations)):
            raise CollectionError(
                f"expected questions with the entities and relations that {self.name} was fitted to, found others; "
                "fit it to the train triples of the same collection"
            )
        return self.score(*asked(questions))


def _as_last_links(questions: Questions) -> Questions:
    """The questions; those that are complex queries as questions for the link that leads to the answers."""
    relation, is_backwards = last_links(questions.relations)
    is_head = questions.is_head ^ is_backwards[questions.relation]
    return replace(questions, relation=relation[questions.relation], is_head=is_head)


def each(fit: Callable[..., Scorer]) -> Callable[..., Iterator[tuple[Settings, Scorer]]]:
    r"""Turn a fit to one of the settings, (graph, \*, seed, \*\*options) -> scorer, into one to several."""

    def fit_several(graph: Graph, several: Sequence[Settings], *, seed: int) -> Iterator[tuple[Settings, Scorer]]:
        return ((settings, fit(graph, seed=seed, **settings)) for settings in several)

    return fit_several


@dataclass(frozen=True, slots=True)
class Baseline:
    """One baseline system."""

    name: str
    #: ``(graph, settings, *, seed)`` -> each of the settings once, in any order, with its scorer; see :func:`each`
    fit: Callable[..., Iterator[tuple[Settings, Scorer]]]
    description: str  # one sentence, no formula markup
    source: str  # citation
    options: Mapping[str, Option] = field(default_factory=dict)
    is_control: bool = False  # True: ignores the facts, and shows the value of a measure without knowledge
    takes_queries: bool = False  # True: of a complex query it needs the last link alone
    knows: tuple[str, ...] = ()  # splits whose facts it may use, with their times; (): those of train, without times

    def facts(self, collection: Collection) -> Triples:
        """Return the facts of a collection that the baseline may use."""
        return collection.facts(self.knows) if self.knows else collection.train

    @property
    def is_in_all(self) -> bool:
        """Whether ``all`` stands for it too."""
        return not self.is_control and not self.knows

    def settings(self, options: Mapping[str, Any]) -> dict[str, int | float | str]:
        """Give all settings, those of ``options`` read and checked, the others at their defaults."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise KgtrecError(
                    f"{self.name} has no option {name!r}{nearest(name, self.options)}; its options: {known}"
                )
        return {
            name: option.read(name, options[name]) if name in options else option.default
            for name, option in self.options.items()
        }

    def fitted(
        self, train: Triples, several: Sequence[Settings], seed: int, training: Triples | None = None
    ) -> Iterator[tuple[Settings, Model]]:
        """Fit the baseline under each of some settings; same facts, seed and settings give the same scores.

        ``training`` is the graph that an inductive collection's models are trained on: rules are mined there.
        """
        if len(train) == 0:
            raise KgtrecError(f"expected train triples to fit {self.name} to, found none")
        if not self.takes_queries and any(map(is_query, train.relations)):
            raise KgtrecError(
                f"expected questions of one link for {self.name}, found complex queries, which popularity, random and "
                "constant rank the candidates of"
            )
        if self.knows and steps_of(train.relations).max() < 0:
            raise KgtrecError(f"expected facts with a time for {self.name}, found none")
        train = train if self.knows else plain(train)
        graph = Graph.of(train, None if training is None else plain(training))
        for settings, score in self.fit(graph, several, seed=whole_number("seed", seed)):
            yield settings, Model(self.name, train.entities, train.relations, score)

    def combinations(self, options: Mapping[str, Any]) -> list[Settings]:
        """List the settings of every combination of options, each of which has one value or several."""
        values = {
            name: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            for name, value in options.items()
        }
        several: list[Settings] = [
            self.settings(dict(zip(values, chosen, strict=True))) for chosen in itertools.product(*values.values())
        ]
        if not several or any(one in several[:place] for place, one in enumerate(several)):
            raise KgtrecError(
                f"expected one or several different values for each option of {self.name}, found {values}"
            )
        return several
