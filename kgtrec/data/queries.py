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
from kgtrec.kernels.integer_keys import begins, distinct
from kgtrec.kernels.triples.queries import STRUCTURES, Shape, letters

#: structure -> the place of its last link that is not negated, among its anchors and relations
_LAST = {name: -3 if name in ("2in", "3in", "pin") else -1 for name in STRUCTURES}
#: the marks of negation and union in the text of a query
MARKS = {"n": "n", "u": "u"}


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Complex queries by structure, and their answers: hard ones need held-out triples, easy ones do not."""

    codes: Mapping[str, NDArray[np.int32]]  # structure -> (q, k) rows in entities and relations, from left to right
    query: NDArray[np.int32]  # (m,) row of the query of each answer, of all; m = 0: the answers are still to be found
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
        rows, order = list(rows), [*STRUCTURES]
        for row in rows:
            one_of("a structure of", str(row.get("structure")), STRUCTURES)
        rows.sort(key=lambda row: order.index(row["structure"]))
        own = {name: [row.get("query") for row in rows if row["structure"] == name] for name in STRUCTURES}
        columns = {name: columns_of(STRUCTURES[name], queries, MARKS) for name, queries in own.items() if queries}
        answers = [row.get(kind, []) for kind in ("easy", "hard") for row in rows]
        labels: dict[str, list[Any]] = {"e": [*chain.from_iterable(answers)], "r": []}
        for name, parts in columns.items():
            for kind, column in zip(letters(STRUCTURES[name]), parts, strict=True):
                labels[kind].extend(column)
        if wrong := {*map(type, chain(*labels.values()))} - {str}:
            raise KgtrecError(f"expected texts as entities and relations, found {wrong.pop().__name__}")
        words = {kind: Vocabulary.encoding(labels_of(each))[0] for kind, each in labels.items()}
        encode = {kind: lambda column, own=own: own.encode(labels_of(column)) for kind, own in words.items()}
        return cls.of_columns(columns, answers, encode, words["e"], words["r"])

    @classmethod
    def of_columns(
        cls, columns: Mapping[str, Any], answers: Sequence[Any], encode: Mapping[str, Any], *words: Vocabulary
    ) -> Queries:
        """Make them of the columns of each structure's queries, see :func:`columns_of`, and of their answers.

        Parameters
        ----------
        columns : mapping of str to list of (q,) sequences
            By structure, the columns of its queries.
        answers : (2n,) sequence of collections
            The easy answers of each query, then the hard ones; one that is both is easy.
        encode : mapping of str to function
            For e and r: sequence of entities or relations -> their codes.
        *words : Vocabulary
            Of entities, and of relations.
        """
        codes = {}
        for name, parts in columns.items():
            pairs = zip(letters(STRUCTURES[name]), parts, strict=True)
            codes[name] = np.stack([encode[kind](column) for kind, column in pairs], axis=1)
        n, width, sizes = len(answers) // 2, max(len(words[0]), 1), np.array([*map(len, answers)], np.int64)
        pair = np.repeat(np.tile(np.arange(n), 2), sizes) * width + encode["e"]([*chain.from_iterable(answers)])
        key = distinct(pair * 2 + np.repeat(np.arange(2 * n) >= n, sizes))
        key = key[begins(key // 2)]
        query, answer = (each.astype(np.int32) for each in np.divmod(key // 2, width))
        return cls(codes, query, answer, key % 2 == 1, *words)

    def __len__(self) -> int:
        return sum(map(len, self.codes.values()))

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(codes):,} {name}" for name, codes in self.codes.items())
        hard = int(self.is_hard.sum())
        return f"<Queries: {len(self):,} ({counts}), {len(self.query) - hard:,} easy and {hard:,} hard answers>"

    def labels(self) -> pa.StringArray:
        """Return the (n,) relation of each query's question: its structure, qualified by the query as JSON of labels.

        Examples
        --------
        >>> Queries.of([{"structure": "2p", "query": ["ann", ["knows", "likes"]]}]).labels().to_pylist()
        ['2p @ ["ann", ["knows", "likes"]]']
        """
        texts = [labels_of([])]
        quoted = {
            kind: labels_of([json.dumps(label, ensure_ascii=False) for label in labels])
            for kind, labels in (("e", self.entities), ("r", self.relations))
        }
        for name, codes in self.codes.items():
            column = iter(codes.T)
            pieces = [
                quoted[piece].take(arrow_of(next(column))) if piece in quoted else pa.scalar(piece)
                for piece in _pieces(STRUCTURES[name])
            ]
            texts.append(pc.binary_join_element_wise(name, BETWEEN, *pieces, ""))
        return pa.concat_arrays(texts)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield what :meth:`of` takes."""
        first, labels = np.searchsorted(self.query, np.arange(len(self) + 1)), self.entities.decode(self.answer)
        for row, label in enumerate(self.labels().to_pylist()):
            name, _, text = label.partition(BETWEEN)
            own, is_hard = labels[first[row] : first[row + 1]], pa.array(self.is_hard[first[row] : first[row + 1]])
            answers = {"easy": own.filter(pc.invert(is_hard)).to_pylist(), "hard": own.filter(is_hard).to_pylist()}
            yield {"structure": name, "query": json.loads(text), **answers}


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
        raise KgtrecError(f"expected queries nested like {''.join(_pieces(shape))}, found another")
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
