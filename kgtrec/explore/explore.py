"""Look into the numbers, question by question."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.data.arrow import labels_of, long_table
from kgtrec.data.collection import Collection
from kgtrec.data.questions import SIDES
from kgtrec.data.run import AnyRun
from kgtrec.data.table import Column, Result, Table, TabledResult
from kgtrec.errors import KgtrecError, legible, nearest, whole_number
from kgtrec.evaluation.given import qrels_of
from kgtrec.explore.labels import STATUSES, UNJUDGED, LabelSet, label_sets
from kgtrec.explore.lists import BLOCK, Candidates, Lists, Numbering, kept_lists
from kgtrec.explore.numbers import (
    CONFIDENCE,
    Floats,
    Jobs,
    Pairs,
    Scored,
    Stratum,
    StratumTests,
    exact_ranks,
    pairs_of,
    scored_systems,
    strata_of,
)
from kgtrec.explore.page import to_page
from kgtrec.explore.slices import packed
from kgtrec.explore.systems import NamedSystem, named_systems
from kgtrec.explore.texts import letters, pair_rows, score_text, swapped_rows
from kgtrec.meta.comparison import per_question


@dataclass(frozen=True, slots=True, eq=False)
class Exploration(Result):
    """Everything that the page shows, as arrays; questions, entities and relations are in byte order of their labels.

    ``save`` writes the page, ``question`` gives the tables of one question.
    """

    title: str
    about: tuple[str, ...]
    systems: tuple[str, ...]
    labels: tuple[LabelSet, ...]
    measures: tuple[str, ...]
    scored: Mapping[tuple[int, str], Scored]  # by label set and measure
    pairs: Mapping[tuple[int, str], Pairs]
    strata: Mapping[str, Stratum]
    numbering: Numbering
    candidates: Candidates
    names: Mapping[str, str]  # entity -> its name in plain language
    depth: int

    def __repr__(self) -> str:
        return f"<Exploration: {len(self.systems)} systems, {len(self.numbering):,} questions>"

    def values(self, label: int, measure: str) -> tuple[Floats, Floats]:
        """Return (systems, questions) values and (questions,) weights, as ``per_question`` gives them."""
        n = len(self.numbering)
        scored = self.scored.get((label, measure))
        if scored is None:
            return np.full((len(self.systems), n), np.nan), np.zeros(n)
        items = scored.items
        row = self.numbering.question[self.numbering.collection.topics_of(items.questions)]
        return per_question(items, row[items.question], n)

    def influences(self, label: int, measure: str, first: int, second: int) -> Floats:
        """Return, (questions,), what each question adds to the difference of two systems; NaN where it has no items.

        Where the measure's total is a sum over questions, they add up to the difference.
        """
        value, weight = self.values(label, measure)
        apart: Floats = weight * (value[first] - value[second])
        return apart

    def tables(self) -> tuple[Table, ...]:
        """Return ``scores``, a row per label set, system and measure, and ``pairs``, the tests of all pairs."""
        keys = list(self.scored)
        n = len(self.systems)
        low, high = np.concatenate([own.ends for own in self.scored.values()], axis=1)
        data = {
            "labels": labels_of([self.labels[label].name for label, _ in keys for _ in range(n)]),
            "system": labels_of([*self.systems] * len(keys)),
            "measure": labels_of([measure for _, measure in keys for _ in range(n)]),
            "value": np.concatenate([own.total for own in self.scored.values()]),
            "low": low,
            "high": high,
            "groups": labels_of([each for key in keys for each in letters(self.scored[key], self.pairs.get(key))]),
        }
        value = Column("value", "", "measure", "measure", low="low", high="high", groups="groups", across="measure")
        shared = f"Systems that share a letter do not differ (p < 0.05, Holm); {100 * CONFIDENCE:g}% intervals."
        scores = Table("scores", "Scores", shared, pa.table(data), (Column("labels"), Column("system"), value))
        return scores, self._pair_table()

    def _pair_table(self) -> Table:
        rows = self.pair_rows()
        names = ("labels", "measure", "first", "second", "difference", "low", "high", "p", "wins", "losses", "n90")
        of = {
            "labels": [self.labels[row["label"]].name for row in rows],
            "measure": [self.measures[row["measure"]] for row in rows],
            "first": [self.systems[row["a"]] for row in rows],
            "second": [self.systems[row["b"]] for row in rows],
        }
        data = pa.table(
            {name: labels_of(of[name]) if name in of else pa.array([row[name] for row in rows]) for name in names}
        )
        forms: dict[str, Any] = {"difference": "difference", "low": "difference", "high": "difference", "p": "p"}
        shown = {"n90": "questions that make 90%", "p": "p, Holm", "low": f"{100 * CONFIDENCE:g}% from", "high": "to"}
        columns = tuple(Column(name, shown.get(name, ""), form=forms.get(name, "number")) for name in names)
        return Table("pairs", "Pairs of systems", "differences are first minus second", data, columns)

    def pair_rows(self) -> list[dict[str, Any]]:
        """Return a row for each label set, measure and pair, with the sentence that its tests support."""
        return pair_rows(self)

    def question(self, label: str) -> TabledResult:
        """Return the tables of one question: what it asks, its answers with their ranks, the lists, and the values.

        Raises
        ------
        KgtrecError
            If the collection has no such question.
        """
        collection, numbering = self.numbering.collection, self.numbering
        (code,) = collection.questions.ids.encode([label])
        if code < 0:
            ids = collection.questions.ids
            raise KgtrecError(
                f"expected a question of the collection, such as {ids[0]}, found {legible(label)!r}"
                f"{nearest(label, ids)}"
            )
        row = int(numbering.question[code])
        block, labels = self.candidates.block(row, row + 1), numbering.all_labels()
        pool = [labels[at] for at in block["pool"]]
        shown = [self.names.get(entity, entity) for entity in pool]
        status = {
            f"status under {own.name}": [STATUSES[code] for code in block[f"status.{at}"]]
            for at, own in enumerate(self.labels)
        }
        return TabledResult(
            (
                self._asked(label, int(code), block),
                self._answers(block, shown, status),
                self._listed(block, shown, status),
                self._valued(row),
            )
        )

    def _asked(self, label: str, code: int, block: Mapping[str, Any]) -> Table:
        collection, labels = self.numbering.collection, self.numbering.all_labels()
        asked = collection.questions
        anchor = labels[self.numbering.entity[asked.anchor[code]]] if asked.anchor[code] >= 0 else ""
        known = [self.names.get(labels[at], labels[at]) for at in block["known"]]
        data = {
            "question": [label],
            "asks for": [SIDES[0] if asked.is_head[code] else SIDES[1]],
            "anchor": [self.names.get(anchor, anchor)],
            "relation": [collection.relations[asked.relation[code]]],
            "known": [", ".join(known[:10]) + (f", and {len(known) - 10:,} more" if len(known) > 10 else "")],
        }
        return Table("question", "The question", "", pa.table(data))

    def _answers(self, block: Mapping[str, Any], shown: list[str], status: Mapping[str, list[str]]) -> Table:
        place = block["answer"]
        data: dict[str, Any] = {"answer": [shown[at] for at in place]}
        data |= {name: [own[at] for at in place] for name, own in status.items()}
        data |= {f"rank in {self.systems[at]}": block[f"rank.{at}"] for at in self.candidates.rank}
        columns = tuple(Column(name, digits=1) for name in data)
        return Table("answers", "Answers", "Answers, and their exact ranks", pa.table(data), columns)

    def _listed(self, block: Mapping[str, Any], shown: list[str], status: Mapping[str, list[str]]) -> Table:
        """The lists, one below the other in the data and side by side for people."""
        parts = []
        last = list(status.values())[-1]
        for at in self.candidates.lists:
            place, tie = block[f"list.{at}"], np.asarray(block[f"tie.{at}"], np.int64)
            is_tied = np.bincount(tie)[tie] > 1
            data: dict[str, Any] = {"system": [self.systems[at]] * len(place), "place": np.arange(1, len(place) + 1)}
            data |= {"candidate": labels_of([shown[own] for own in place]), "score": block[f"score.{at}"], "tie": tie}
            data |= {name: labels_of([own[each] for each in place]) for name, own in status.items()}
            data["shown"] = labels_of(
                [
                    "= " * tied + shown[own] + f" ({last[own]})" * (last[own] != STATUSES[UNJUDGED])
                    for own, tied in zip(place, is_tied.tolist(), strict=True)
                ]
            )
            parts.append(pa.table(data))
        empty = {"place": pa.array([], pa.int64()), "system": labels_of([]), "shown": labels_of([])}
        whole = pa.concat_tables(parts) if parts else pa.table(empty)
        columns = (Column("place"), Column("shown", across="system"))
        caption = f"Lists, first {self.depth}; =: same score as a neighbour" if parts else "No lists were given"
        return Table("lists", "Lists", caption, whole, columns)

    def _valued(self, row: int) -> Table:
        keys = list(self.scored)
        columns = {
            "labels": (0, [self.labels[label].name for label, _ in keys]),
            "measure": (0, [measure for _, measure in keys]),
            "system": (1, self.systems),
            "value": np.array([self.values(*key)[0][:, row] for key in keys]),
        }
        data = long_table((len(keys), len(self.systems)), columns)
        value = Column("value", digits="measure", across="measure")
        return Table("values", "Values", "", data, (Column("labels"), Column("system"), value))

    def data(self) -> dict[str, Any]:
        """Return what the page has at once, as JSON; see docs/explore.md."""
        n_systems, collection = len(self.systems), self.numbering.collection
        blank = [{"text": "-", "interval": "", "letters": ""}] * n_systems
        scores = [
            [
                score_text(self.scored[at, measure], self.pairs.get((at, measure)))
                if (at, measure) in self.scored
                else blank
                for measure in self.measures
            ]
            for at in range(len(self.labels))
        ]
        first = {
            measure: next(own for (_, name), own in self.scored.items() if name == measure) for measure in self.measures
        }
        order = np.argsort(self.numbering.relation)
        relations = collection.relations.decode(order).to_pylist()
        templates: dict[str, str] = {}
        for label in self.labels:
            templates |= label.templates
        from kgtrec.campaign.wording import template_of

        return {
            "format": 1,
            "title": self.title,
            "about": list(self.about),
            "systems": list(self.systems),
            "labels": [{"name": label.name, "about": label.about} for label in self.labels],
            "measures": [
                {
                    "name": measure,
                    "items": own.items.items,
                    "higher": own.items.higher_is_better,
                    "digits": _digits(measure),
                    "adds": own.adds,
                }
                for measure, own in first.items()
            ],
            "scores": scores,
            "strata": [{"kind": kind, "labels": own.labels} for kind, own in self.strata.items()],
            "relations": relations,
            "relation_words": [template_of(templates, own) if templates else "" for own in relations],
            "block": BLOCK,
            "n_questions": len(self.numbering),
            "depth": self.depth if self.candidates.lists else 0,
            "lists": sorted(self.candidates.lists),
            "ranks": sorted(self.candidates.rank),
            "pairs": self.pair_rows(),
            "swapped": swapped_rows(self),
            "commands": {"pool": "kgtrec pool COLLECTION"},
        }

    def slices(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name and the columns of each slice."""
        yield "index", self._index()
        labels = self.numbering.all_labels()
        yield "entities", {"label": labels_of(labels), "name": labels_of([self.names.get(own, "") for own in labels])}
        yield "strata", self._strata()
        for place, block in enumerate(self.candidates.blocks(len(self.numbering))):
            yield f"block-{place}", block

    def _index(self) -> dict[str, Any]:
        numbering, n = self.numbering, len(self.numbering)
        collection, order = numbering.collection, np.argsort(numbering.question)
        asked, qrels = collection.questions.take(order), collection.qrels
        filtered = numbering.question[collection.filtered.question]
        answers = np.bincount(numbering.question[qrels.question[qrels.grade >= 1]], minlength=n)
        columns: dict[str, Any] = {
            "question": collection.questions.ids.decode(order),
            "side": (~asked.is_head).astype(np.uint8),
            "relation": numbering.relation[asked.relation],
            "anchor": np.append(numbering.entity, len(numbering.all_labels()))[asked.anchor],
            "n_answers": answers,
            "n_known": np.bincount(filtered, minlength=n),
        }
        columns |= {f"stratum.{kind}": own.group[order] for kind, own in self.strata.items()}
        if self.candidates.lists:
            columns["top_unjudged"] = self.candidates.unjudged_at_top(n)
        for at in range(len(self.labels)):
            for place, measure in enumerate(self.measures):
                value, weight = self.values(at, measure)
                columns |= {f"value.{at}.{place}": value, f"weight.{at}.{place}": weight}
        return columns

    def _strata(self) -> dict[str, Any]:
        place = {
            (row["label"], self.measures[row["measure"]]): at for at, row in reversed([*enumerate(self.pair_rows())])
        }
        parts: list[dict[str, Any]] = []
        if len(self.systems) > 1:
            for (label, measure), scored in self.scored.items():
                row = self.numbering.collection.topics_of(self.labels[label].qrels.questions)
                groups = {kind: own.group[row] for kind, own in self.strata.items()}
                sizes = {kind: len(own.labels) for kind, own in self.strata.items()}
                for kind, pair, columns in StratumTests(scored, groups, sizes).rows():
                    whole = np.full(len(columns["n"]), 1)
                    parts.append({"pair": whole * (place[label, measure] + pair), "kind": whole * kind, **columns})
        names = ("pair", "kind", "group", "n", "first", "second", "difference", "p", "wins", "losses")
        return {name: np.concatenate([part[name] for part in parts] or [np.zeros(0, np.int64)]) for name in names}

    def to_html(self) -> str:
        """Return the page: the same inputs, in any order, give the same text."""
        return to_page(self.data(), ((name, packed(columns)) for name, columns in self.slices()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        from kgtrec.formats.output.outputs import write_text

        write_text(path, self.to_html())


def _digits(measure: str) -> int:
    from kgtrec.measures.names import digits_of

    return digits_of(measure)


def explore(
    collection: Any,
    systems: Any,
    measures: Any = None,
    *,
    labels: Any = (),
    names: Mapping[str, str] | None = None,
    depth: int = 20,
    title: str = "",
) -> Exploration:
    """Look into the numbers of several systems, question by question.

    Parameters
    ----------
    collection : Collection or path
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
    title : str
        Default: of the systems.

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
    jobs = Jobs(named, sets, measures)
    lists: dict[int, Lists] = {}

    def loaded() -> Iterator[tuple[NamedSystem, AnyRun | None]]:
        for place, system in enumerate(named):
            run = None if system.read is None else system.read().renamed(system.name)
            if run is not None:
                lists[place] = kept_lists(run, numbering, depth)
            yield system, run

    scored = scored_systems(given, loaded(), len(named), sets, jobs)
    found: dict[tuple[int, str], Pairs] = {}
    for at in range(len(sets)):
        own = {measure: each.items for (label, measure), each in scored.items() if label == at}
        found |= {(at, measure): each for measure, each in pairs_of(own).items()}
    ranks = {
        place: [exact_ranks(system.ranks, label, given) for label in sets]
        for place, system in enumerate(named)
        if system.ranks is not None
    }
    candidates = Candidates.of(numbering, sets, lists, ranks)
    systems_text = ", ".join(system.name for system in named)
    about = [
        f"{given.report.get('name') or 'Collection'} {given.fingerprint}: {len(given.questions):,} questions, "
        f"{len(given.entities):,} entities, {len(given.relations):,} relations",
        *(f"{label.name}: {label.about}" for label in sets),
        f"Numbers are those of {'lists for measures over questions' if jobs.by_lists else 'kgtrec evaluate'}.",
    ]
    about.append(
        f"The first {depth} candidates of each list are kept; scores are rounded for display, and candidates tie where "
        "the stored scores are equal."
        if lists
        else "No lists were given: numbers and ranks only."
    )
    measures = tuple(dict.fromkeys(measure for _, measure in scored))
    return Exploration(
        title or f"Why: {systems_text}",
        tuple(about),
        tuple(system.name for system in named),
        tuple(sets),
        measures,
        scored,
        found,
        strata_of(given),
        numbering,
        candidates,
        dict(names or {}),
        depth,
    )
