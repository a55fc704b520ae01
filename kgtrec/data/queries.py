"""Complex queries, such as "what do both Ann and Bob like?", and their easy and hard answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.triples import BETWEEN
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, one_of
from kgtrec.kernels.integer_keys import distinct
from kgtrec.kernels.triples.queries import STRUCTURES, Shape, letters

_NAMES = tuple(STRUCTURES)
_WIDTH = max(letters(shape).count("r") for shape in STRUCTURES.values())
#: structure -> the place of its last link that is not negated, among its anchors and relations
_LAST = {name: letters(shape).replace("rn", "-").replace("u", "").rindex("r") for name, shape in STRUCTURES.items()}
#: the marks of negation and union in the text of a query
MARKS = {"n": "n", "u": "u"}


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Complex queries by structure, and their answers: hard ones need held-out triples, easy ones do not."""

    structure: NDArray[np.int8]  # (n,) row in STRUCTURES, never decreasing
    anchors: NDArray[np.int32]  # (n, 4) rows in entities, from left to right; -1 where there are fewer
    hops: NDArray[np.int32]  # (n, 4) rows in relations, likewise
    query: NDArray[np.int32]  # (m,) row of the query of each answer; m = 0: the answers are still to be found
    answer: NDArray[np.int32]  # (m,) row in entities; each pair once, sorted by (query, answer)
    is_hard: NDArray[np.bool_]  # (m,)
    entities: Vocabulary
    relations: Vocabulary

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Queries:
        """Make queries of mappings with structure, query, and lists of easy and hard answers.

        The query is nested as BetaE's, with labels for numbers: ``[["ann", ["likes"]], ["bob", ["likes", "n"]]]`` of
        2in is what Ann likes and Bob does not. They are sorted by structure, otherwise in their order. Without any
        answers, :func:`kgtrec.collection.build_queries` finds them.

        Raises
        ------
        KgtrecError
            If a query does not have the shape of its structure.

        Examples
        --------
        >>> Queries.of([{"structure": "2i", "query": [["ann", ["likes"]], ["bob", ["likes"]]], "hard": ["tea"]}])
        <Queries: 1 (1 2i), 0 easy and 1 hard answers>
        """
        rows = list(rows)
        for each in rows:
            one_of("a structure of", str(each.get("structure")), STRUCTURES)
        rows.sort(key=lambda row: _NAMES.index(row["structure"]))
        own = {name: [row.get("query") for row in rows if row["structure"] == name] for name in STRUCTURES}
        columns = {name: columns_of(STRUCTURES[name], queries, MARKS) for name, queries in own.items() if queries}
        found = [[row.get(kind, []) for row in rows] for kind in ("easy", "hard")]
        answers = [*chain.from_iterable(chain(*found))]
        labels: dict[str, list[Any]] = {"e": [answers], "r": []}
        for _, kind, column in with_kinds(columns):
            labels[kind].append(column)
        if wrong := [label for each in chain(*labels.values()) for label in each if type(label) is not str]:
            raise KgtrecError(f"expected texts as entities and relations, found {wrong[0]!r}")
        vocabulary = {
            kind: Vocabulary.encoding(labels_of([*chain.from_iterable(own)]))[0] for kind, own in labels.items()
        }
        parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in columns}
        for name, kind, column in with_kinds(columns):
            parts[name].append(vocabulary[kind].encode(labels_of(column)))
        sizes = np.array([len(each) for each in chain(*found)], np.int64)
        query = np.repeat(np.tile(np.arange(len(rows)), 2), sizes)
        is_hard = np.repeat(np.arange(len(sizes)) >= len(rows), sizes)
        answer = vocabulary["e"].encode(labels_of(answers))
        return cls.of_codes(parts, query, answer, is_hard, vocabulary["e"], vocabulary["r"])

    @classmethod
    def of_codes(
        cls,
        parts: Mapping[str, Sequence[NDArray[np.integer]]],
        query: NDArray[np.integer],
        answer: NDArray[np.integer],
        is_hard: NDArray[np.bool_],
        entities: Vocabulary,
        relations: Vocabulary,
    ) -> Queries:
        """Make them of the columns of codes of each structure; an answer that is both easy and hard is easy."""
        sizes = [len(columns[0]) for columns in parts.values()]
        structure = np.repeat(np.array([_NAMES.index(name) for name in parts], np.int8), sizes)
        anchors, hops = (np.full((len(structure), _WIDTH), -1, np.int32) for _ in range(2))
        first = 0
        for (name, columns), size in zip(parts.items(), sizes, strict=True):
            kinds = kinds_of(STRUCTURES[name])
            for kind, into in (("e", anchors), ("r", hops)):
                own = [column for each, column in zip(kinds, columns, strict=True) if each == kind]
                into[first : first + size, : len(own)] = np.stack(own, axis=1)
            first += size
        width = max(len(entities), 1)
        key = distinct((query.astype(np.int64) * width + answer) * 2 + is_hard)
        pair = key // 2
        once = np.append(True, pair[1:] != pair[:-1])[: len(pair)]
        row, code = (each.astype(np.int32) for each in np.divmod(pair[once], width))
        return cls(structure, anchors, hops, row, code, key[once] % 2 == 1, entities, relations)

    def __len__(self) -> int:
        return len(self.structure)

    def __repr__(self) -> str:
        counts = np.bincount(self.structure, minlength=len(_NAMES)).tolist()
        named = ", ".join(f"{count:,} {name}" for name, count in zip(_NAMES, counts, strict=True) if count)
        hard = int(self.is_hard.sum())
        return f"<Queries: {len(self):,} ({named}), {len(self.query) - hard:,} easy and {hard:,} hard answers>"

    def by_structure(self) -> Iterator[tuple[str, NDArray[np.intp]]]:
        """Yield the structures that there are, and the rows of their queries."""
        for code in np.unique(self.structure).tolist():
            yield _NAMES[code], np.flatnonzero(self.structure == code)

    def texts(self) -> pa.StringArray:
        """Return the (n,) query of each as JSON of labels.

        Examples
        --------
        >>> Queries.of([{"structure": "2p", "query": ["ann", ["knows", "likes"]]}]).texts().to_pylist()
        ['["ann", ["knows", "likes"]]']
        """
        texts = []
        quoted = {
            kind: labels_of([json.dumps(label, ensure_ascii=False) for label in labels])
            for kind, labels in (("e", self.entities), ("r", self.relations))
        }
        for name, rows in self.by_structure():
            columns = {"e": iter(self.anchors[rows].T), "r": iter(self.hops[rows].T)}
            pieces = [
                quoted[piece].take(arrow_of(next(columns[piece]))) if piece in columns else pa.scalar(piece)
                for piece in _pieces(STRUCTURES[name])
            ]
            texts.append(pc.binary_join_element_wise(*pieces, ""))
        return pa.concat_arrays(texts) if texts else labels_of([])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield what :meth:`of` takes."""
        names, labels = np.array(_NAMES)[self.structure].tolist(), self.entities.decode(self.answer).to_pylist()
        first, hard = np.searchsorted(self.query, np.arange(len(self) + 1)), self.is_hard.tolist()
        for row, (name, text) in enumerate(zip(names, self.texts().to_pylist(), strict=True)):
            own: tuple[list[str], list[str]] = [], []
            for place in range(first[row], first[row + 1]):
                own[hard[place]].append(labels[place])
            yield {"structure": name, "query": json.loads(text), "easy": own[0], "hard": own[1]}

    def labels(self) -> pa.StringArray:
        """Return the (n,) relation of each query's question: its structure, qualified by the query."""
        return pc.binary_join_element_wise(labels_of(_NAMES).take(arrow_of(self.structure)), self.texts(), BETWEEN)


def columns_of(shape: Shape, queries: Sequence[Any], marks: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Take nested queries of one shape apart: a column for each anchor and relation, from left to right.

    Parameters
    ----------
    shape : one of STRUCTURES' values
    queries : (n,) sequence
        Lists or tuples, nested like the shape.
    marks : mapping
        What stands at n and u.

    Raises
    ------
    KgtrecError
        If one has another shape.

    Examples
    --------
    >>> columns_of(STRUCTURES["pin"], [((7, (3, 4)), (8, (5, -2)))], {"n": -2, "u": -1})
    [(7,), (3,), (4,), (8,), (5,)]
    """
    if isinstance(shape, str):
        if shape in marks:
            if wrong := [found for found in queries if found != marks[shape]]:
                raise KgtrecError(f"expected {marks[shape]!r} where a query is marked {shape}, found {wrong[0]!r}")
            return []
        return [queries]
    sizes = {len(query) if isinstance(query, list | tuple) else -1 for query in queries}
    if sizes != {len(shape)}:
        raise KgtrecError(f"expected queries nested like {_shown(shape)}, found another")
    parts = zip(shape, zip(*queries, strict=True), strict=True)
    return [column for part, own in parts for column in columns_of(part, own, marks)]


def read_label(label: str) -> tuple[str, list[str]]:
    """Return the structure and the entities and relations, from left to right, of the relation of a query's question.

    Examples
    --------
    >>> read_label('2in @ [["ann", ["likes"]], ["bob", ["likes", "n"]]]')
    ('2in', ['ann', 'likes', 'bob', 'likes'])
    """
    name, _, text = label.partition(BETWEEN)
    return name, [column[0] for column in columns_of(STRUCTURES[name], [json.loads(text)], MARKS)]


@lru_cache(maxsize=8)
def last_links(relations: Vocabulary) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Find the link of each complex query that leads to its answers; another relation is that link itself.

    Returns
    -------
    (n,) int array, (n,) bool array
        The row of its relation in ``relations``, and whether it is read from tail to head, as ``-R`` is where there is
        only R. Of a union or an intersection it is the last link that is not negated.

    Examples
    --------
    >>> relations = Vocabulary.of(["knows", "likes", '2in @ [["ann", ["-likes"]], ["bob", ["knows", "n"]]]'])
    >>> [column.tolist() for column in last_links(relations)]
    [[0, 1, 1], [False, False, True]]
    """
    labels = relations.labels.to_pylist()
    rows = [row for row, label in enumerate(labels) if is_query(label)]
    last = [parts[_LAST[name]] for name, parts in map(read_label, (labels[row] for row in rows))]
    code, is_backwards = np.arange(len(labels), dtype=np.int32), np.zeros(len(labels), np.bool_)
    forwards = relations.encode(labels_of(last))
    code[rows] = np.where(forwards >= 0, forwards, relations.encode(labels_of([label[1:] for label in last])))
    is_backwards[rows] = forwards < 0
    return code, is_backwards


def is_query(label: str) -> bool:
    """Return whether the relation of a question is a complex query.

    Examples
    --------
    >>> is_query('1p @ ["ann", ["likes"]]'), is_query("likes @ 1999"), is_query("1p")
    (True, False, False)
    """
    name, between, text = label.partition(BETWEEN)
    return bool(between) and name in STRUCTURES and text.startswith("[")


def with_kinds(columns: Mapping[str, list[Any]]) -> Iterator[tuple[str, str, Any]]:
    """Yield the structure and the kind, e or r, of each column of each structure."""
    for name, own in columns.items():
        for kind, column in zip(kinds_of(STRUCTURES[name]), own, strict=True):
            yield name, kind, column


def kinds_of(shape: Shape) -> str:
    """Return e for each anchor and r for each relation of a shape, from left to right.

    Examples
    --------
    >>> kinds_of(STRUCTURES["up"])
    'ererr'
    """
    return letters(shape).replace("n", "").replace("u", "")


def _pieces(shape: Shape) -> list[str]:
    """The text of a shape as JSON, in pieces of which e and r are to be filled in.

    Examples
    --------
    >>> _pieces(("e", ("r", "n")))
    ['[', 'e', ', ', '[', 'r', ', ', '"n"', ']', ']']
    """
    if isinstance(shape, str):
        return [shape if shape in "er" else f'"{shape}"']
    return ["[", *[piece for part in shape for piece in (", ", *_pieces(part))][1:], "]"]


def _shown(shape: Shape) -> str:
    return "".join(_pieces(shape))
