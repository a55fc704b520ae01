"""Look into the numbers, question by question."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.campaign.wording import relations_in, template_of
from kgtrec.data.arrow import labels_of, long_table
from kgtrec.data.collection import Collection
from kgtrec.data.questions import SIDES
from kgtrec.data.run import AnyRun
from kgtrec.data.table import Column, Result, Table, TabledResult
from kgtrec.data_sets.wording import shipped_templates
from kgtrec.errors import KgtrecError, legible, nearest, whole_number
from kgtrec.evaluation.given import qrels_of
from kgtrec.explore import numbers, texts
from kgtrec.explore.labels import STATUSES, UNJUDGED, LabelSet, label_sets
from kgtrec.explore.lists import BLOCK, Candidates, Lists, Numbering, kept_lists
from kgtrec.explore.page import to_page
from kgtrec.explore.slices import packed
from kgtrec.explore.systems import NamedSystem, named_systems
from kgtrec.formats.output.outputs import write_text
from kgtrec.measures.names import digits_of
from kgtrec.meta.comparison import per_question


@dataclass(frozen=True, slots=True, eq=False)
class Exploration(Result):
    """Everything that the page shows, as arrays; questions, entities and relations are in byte order of their labels.

    ``save`` writes the page, ``question`` gives the tables of one question.
    """

    about: tuple[str, ...]
    systems: tuple[str, ...]
    labels: tuple[LabelSet, ...]
    measures: tuple[str, ...]
    scored: Mapping[tuple[int, str], numbers.Scored]  # by label set and measure
    strata: Mapping[str, numbers.Stratum]
    numbering: Numbering
    candidates: Candidates
    names: Mapping[str, str]  # entity -> its name in plain language
    depth: int

    def __repr__(self) -> str:
        return f"<Exploration: {len(self.systems)} systems, {len(self.numbering):,} questions>"

    def values(self, label: int, measure: str) -> tuple[numbers.Floats, numbers.Floats]:
        """Return (systems, questions) values and (questions,) weights, as ``per_question`` gives them."""
        n = len(self.numbering)
        if (label, measure) not in self.scored:
            return np.full((len(self.systems), n), np.nan), np.zeros(n)
        items = self.scored[label, measure].items
        return per_question(items, self.numbering.question[self._rows(items)], n)

    def _rows(self, items: Any) -> numbers.Ints:
        """The row of each item's question in the collection."""
        rows: numbers.Ints = self.numbering.collection.topics_of(items.questions)[items.question]
        return rows

    def influences(self, label: int, measure: str, first: int, second: int) -> numbers.Floats:
        """Return, (questions,), what each question adds to the difference of two systems; NaN where it has no items.

        Where the measure's total is a sum over questions, they add up to the difference.
        """
        value, weight = self.values(label, measure)
        apart: numbers.Floats = weight * (value[first] - value[second])
        return apart

    def pairs(self) -> list[dict[str, Any]]:
        """Return a row for each label set, measure and pair of systems, with the sentence that its tests support."""
        return [
            row | {"label": label, "measure": self.measures.index(measure)}
            for (label, measure), own in self.scored.items()
            for row in texts.pair_rows(own, *self.values(label, measure), self.labels[label].name)
        ]

    def tables(self) -> tuple[Table, ...]:
        """Return ``scores``, a row per label set, measure and system; :meth:`pairs` has the tests of all pairs."""
        every = list(self.scored.values())
        low, high = np.stack([own.ends for own in every], axis=1)
        groups = np.array([texts.letters(own) for own in every], object)
        data = self._by_system([own.total for own in every], low=low, high=high, groups=groups)
        value = Column("value", "", "measure", "measure", low="low", high="high", groups="groups", across="measure")
        about = "Systems that share a letter do not differ (p < 0.05, Holm); 95% intervals."
        return (Table("scores", "Scores", about, data, (Column("labels"), Column("system"), value)),)

    def _by_system(self, values: list[numbers.Floats], **more: Any) -> pa.Table:
        """A row per label set, measure and system."""
        columns: dict[str, Any] = {"labels": (0, [self.labels[label].name for label, _ in self.scored])}
        columns |= {"measure": (0, [measure for _, measure in self.scored]), "system": (1, self.systems)}
        return long_table((len(self.scored), len(self.systems)), columns | {"value": np.stack(values)} | more)

    def question(self, label: str) -> TabledResult:
        """Return the tables of one question: what it asks, its answers with their ranks, the lists, and the values.

        Raises
        ------
        KgtrecError
            If the collection has no such question.
        """
        asked, numbering = self.numbering.collection.questions, self.numbering
        (code,) = asked.ids.encode([label])
        if code < 0:
            raise KgtrecError(
                f"expected a question of the collection, such as {asked.ids[0]}, found '{legible(label)}'"
                f"{nearest(label, asked.ids)}"
            )
        row = int(numbering.question[code])
        block = self.candidates.block(row, row + 1)
        names = [*(self.names.get(own, own) for own in numbering.all_labels()), ""]
        known, shown = ([names[at] for at in block[name]] for name in ("known", "pool"))
        data: dict[str, Any] = {"question": [label], "asks for": [SIDES[0] if asked.is_head[code] else SIDES[1]]}
        data |= {"anchor": [names[numbering.anchors[code]]], "relation": [asked.relations[asked.relation[code]]]}
        data["known"] = [", ".join(known[:10]) + f", and {len(known) - 10:,} more" * (len(known) > 10)]
        status = {
            f"status under {own.name}": np.array([STATUSES[code] for code in block[f"status.{at}"]], object)
            for at, own in enumerate(self.labels)
        }
        answers: dict[str, Any] = {"answer": [shown[at] for at in block["answer"]]}
        answers |= {name: own[block["answer"]].tolist() for name, own in status.items()}
        answers |= {f"rank in {self.systems[at]}": block[f"rank.{at}"] for at in self.candidates.rank}
        ranks = tuple(Column(name, digits=1) for name in answers)
        values = self._by_system([self.values(*key)[0][:, row] for key in self.scored])
        of_values = (Column("labels"), Column("system"), Column("value", digits="measure", across="measure"))
        return TabledResult(
            (
                Table("question", "The question", "", pa.table(data)),
                Table("answers", "Answers", "Answers, and their exact ranks", pa.table(answers), ranks),
                self._listed(block, shown, status),
                Table("values", "Values", "", values, of_values),
            )
        )

    def _listed(self, block: Mapping[str, Any], shown: list[str], status: Mapping[str, Any]) -> Table:
        """The lists, one below the other in the data and side by side for people."""
        parts, last = [], list(status.values())[-1]
        for at in self.candidates.lists:
            place, tie = block[f"list.{at}"], np.asarray(block[f"tie.{at}"], np.int64)
            of_system = labels_of([self.systems[at]] * len(place))  # maybe of an empty list
            data: dict[str, Any] = {"system": of_system, "place": np.arange(1, len(place) + 1)}
            data |= {"candidate": labels_of([shown[own] for own in place]), "score": block[f"score.{at}"], "tie": tie}
            data |= {name: labels_of(own[place].tolist()) for name, own in status.items()}
            is_tied, known = np.bincount(tie)[tie] > 1, last != STATUSES[UNJUDGED]
            data["shown"] = labels_of(
                [
                    "= " * int(tied) + shown[own] + f" ({last[own]})" * int(known[own])
                    for own, tied in zip(place, is_tied, strict=True)
                ]
            )
            parts.append(pa.table(data))
        empty = {"place": pa.array([], pa.int64()), "system": labels_of([]), "shown": labels_of([])}
        caption = f"Lists, first {self.depth}; =: same score as a neighbour" if parts else "No lists were given"
        columns = (Column("place"), Column("shown", across="system"))
        return Table("lists", "Lists", caption, pa.concat_tables(parts) if parts else pa.table(empty), columns)

    def data(self) -> dict[str, Any]:
        """Return what the page has at once, as JSON; see docs/explore.md."""
        places = range(len(self.labels))
        blank = [{"text": "-", "interval": "", "letters": ""}] * len(self.systems)
        shown = {key: texts.score_texts(own) for key, own in self.scored.items()}
        first = {measure: own for (_, measure), own in reversed([*self.scored.items()])}
        relations = self.numbering.collection.relations
        named = relations.decode(np.argsort(self.numbering.relation)).to_pylist()
        templates = shipped_templates({part for own in named for part in relations_in(own)})[1]
        templates |= {key: own for label in self.labels for key, own in label.templates.items()}
        of_labels = [{own: each for (label, own), each in self.scored.items() if label == at} for at in places]
        swapped = [
            row | {"label": at, "measure": self.measures.index(row["measure"])}
            for at in places[1:]
            for row in texts.swapped_rows(of_labels[0], of_labels[at], [self.labels[0].name, self.labels[at].name])
        ]
        measures = [
            {"name": name, "items": own.items.items, "higher": own.items.higher_is_better, "digits": digits_of(name)}
            | {"adds": own.adds}
            for name, own in ((name, first[name]) for name in self.measures)
        ]
        return {
            "format": 1,
            "title": f"Why: {', '.join(self.systems) if len(self.systems) < 4 else f'{len(self.systems)} systems'}",
            "about": list(self.about),
            "systems": list(self.systems),
            "labels": [{"name": label.name, "about": label.about} for label in self.labels],
            "measures": measures,
            "scores": [[shown.get((at, own), blank) for own in self.measures] for at in places],
            "strata": [{"kind": kind, "labels": own.labels} for kind, own in self.strata.items()],
            "relations": named,
            "relation_words": [template_of(templates, own) if templates else "" for own in named],
            "block": BLOCK,
            "n_questions": len(self.numbering),
            "depth": self.depth if self.candidates.lists else 0,
            "lists": sorted(self.candidates.lists),
            "ranks": sorted(self.candidates.rank),
            "pairs": self.pairs(),
            "swapped": swapped,
            "commands": {"pool": "kgtrec pool COLLECTION"},
        }

    def slices(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name and the columns of each slice."""
        yield "index", self._index()
        labels = self.numbering.all_labels()
        yield "entities", {"label": labels_of(labels), "name": labels_of([self.names.get(own, "") for own in labels])}
        n_pairs = len(self.systems) * (len(self.systems) - 1) // 2
        parts = [
            {**columns, "pair": columns["pair"] + place * n_pairs}
            for place, own in enumerate(self.scored.values())
            for columns in numbers.stratum_tests(own, self.strata, self._rows(own.items))
        ]
        yield "strata", {name: np.concatenate([part[name] for part in parts]) for name in (parts or [{}])[0]}
        for place, first in enumerate(range(0, len(self.numbering), BLOCK)):
            yield f"block-{place}", self.candidates.block(first, min(first + BLOCK, len(self.numbering)))

    def _index(self) -> dict[str, Any]:
        numbering, n = self.numbering, len(self.numbering)
        collection, order = numbering.collection, np.argsort(numbering.question)
        asked, qrels = collection.questions, collection.qrels
        answered = (qrels.question[qrels.grade >= 1], collection.filtered.question)
        answers, known = (np.bincount(numbering.question[own], minlength=n) for own in answered)
        columns: dict[str, Any] = {
            "question": asked.ids.decode(order),
            "side": (~asked.is_head[order]).astype(np.uint8),
        }
        columns |= {"relation": numbering.relation[asked.relation[order]], "anchor": numbering.anchors[order]}
        columns |= {"n_answers": answers, "n_known": known}
        columns |= {f"stratum.{kind}": own.group[order] for kind, own in self.strata.items()}
        if self.candidates.lists:
            columns["top_unjudged"] = self.candidates.unjudged_at_top(n)
        for at in range(len(self.labels)):
            for place, measure in enumerate(self.measures):
                columns[f"value.{at}.{place}"], columns[f"weight.{at}.{place}"] = self.values(at, measure)
        return columns

    def to_html(self) -> str:
        """Return the page: the same inputs, in any order, give the same text."""
        return to_page(self.data(), ((name, packed(columns)) for name, columns in self.slices()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        write_text(path, self.to_html())


def explore(
    collection: Any,
    systems: Any,
    measures: Any = None,
    *,
    labels: Any = (),
    names: Mapping[str, str] | None = None,
    depth: int = 20,
) -> Exploration:
    """Look into the numbers of several systems, question by question.

    Parameters
    ----------
    collection : Collection or path
        The questions that the systems answered.
    systems
        As for :func:`kgtrec.evaluate`; answer ranks and a run of one name are one system. A folder means both.
    measures : str, measure, or several of them, optional
        Default: five, some over answers where there are answer ranks.
    labels : path, Qrels, Campaign, several of them, or mapping from names, optional
        Further label sets, beside the collection's own qrels.
    names : mapping of str to str, optional
        Names of entities in plain language, by their labels.
    depth : int
        Number of candidates of each list to keep.

    Returns
    -------
    Exploration

    Raises
    ------
    KgtrecError
        If a label set or a system does not belong to the collection; or as :func:`kgtrec.evaluate`.

    Warns
    -----
    KgtrecWarning
        If the answer ranks lack answers of a label set, so that runs are scored instead.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.data.run import Run
    >>> graph = build_questions([("a", "likes", "b")], None, [("a", "likes", "c"), ("b", "likes", "c")])
    >>> one = {"head0": {"a": 2.0, "b": 1.0}, "tail0": {"a": 1.0}, "tail1": {"c": 1.0}}
    >>> two = {"head0": {"c": 2.0, "b": 1.0}, "tail0": {"c": 1.0}, "tail1": {"c": 1.0}}
    >>> found = explore(graph, {"one": one, "two": two}, "RR")
    >>> found.influences(0, "RR", 0, 1).round(4).tolist()
    [0.1667, -0.3333, 0.0]
    """
    whole_number("depth", depth, least=1)
    given = qrels_of(collection)
    if not isinstance(given, Collection):
        raise KgtrecError("expected the collection that the systems answer, found qrels, which have no topics")
    named, sets, numbering = named_systems(systems), label_sets(given, labels), Numbering(given)
    jobs = numbers.jobs_of(named, sets, measures)
    lists: dict[int, Lists] = {}

    def loaded() -> Iterator[tuple[NamedSystem, AnyRun | None]]:
        for place, system in enumerate(named):
            run = None if system.read is None else system.read().renamed(system.name)
            if run is not None:
                lists[place] = kept_lists(run, numbering, depth)
            yield system, run

    scored = numbers.scored_systems(given, loaded(), sets, jobs)
    ranks = {
        place: [numbers.exact_ranks(system.ranks, label, given) for label in sets]
        for place, system in enumerate(named)
        if system.ranks is not None
    }
    source = "the answer ranks (measures over answers) and the runs (over questions)"
    source = source if any(kind != "own" for *_, kind in jobs) else "each system"
    kept = (
        f"The first {depth} candidates of each list are kept; scores are rounded for display, and candidates tie where "
        "the stored scores are equal."
    )
    about = (
        f"Collection {given.fingerprint}: {len(given.questions):,} questions, {len(given.entities):,} entities, "
        f"{len(given.relations):,} relations",
        *(f"{label.name}: {label.about}" for label in sets),
        f"Numbers are those of kgtrec evaluate from {source}; tests are clustered by question.",
        kept if lists else "No lists were given: numbers and ranks only.",
    )
    return Exploration(
        about,
        tuple(system.name for system in named),
        tuple(sets),
        tuple(dict.fromkeys(measure for _, measure in scored)),
        scored,
        numbers.strata_of(given),
        numbering,
        Candidates.of(numbering, sets, lists, ranks),
        dict(names or {}),
        depth,
    )
