"""Complex queries and their answers: the pickles of BetaE (KGReasoning), and JSON Lines.

``{valid,test}-queries.pkl`` maps a structure to its queries, ``{valid,test}-{easy,hard}-answers.pkl`` a query to the
numbers of its answers; ``id2ent.pkl`` and ``id2rel.pkl`` name the numbers. In JSON Lines a query is an object such as
``{"structure": "2in", "query": [["ann", ["likes"]], ["bob", ["likes", "n"]]], "easy": ["tea"], "hard": ["jam"]}``.
"""

from __future__ import annotations

import pickle  # nosec B403 # an Unpickler here finds sets and defaultdicts, and refuses every other name
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.queries import Queries, columns_of
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file
from kgtrec.formats.files import PathLike, reading, suffixes
from kgtrec.formats.json_text import json_lines, json_value
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.outputs import writing
from kgtrec.kernels.triples.queries import STRUCTURES, WITHOUT_UNION

_NUMBERS = {"n": -2, "u": -1}
_ANSWERS = ("easy-answers", "hard-answers")
_ALLOWED = {("collections", "defaultdict"): defaultdict, ("builtins", "set"): set, ("__builtin__", "set"): set}
_KEYS = ("structure", "query", "easy", "hard")
_LEVELS = 4  # folders in which the names of numbers are looked for, from that of the queries upwards


def is_pickled(path: PathLike) -> bool:
    """Return whether a file of queries has BetaE's numbers, by its name."""
    return suffixes(path)[0] == ".pkl"


def read_queries(path: PathLike) -> Queries:
    """Read complex queries and their answers.

    Parameters
    ----------
    path : path
        ``test-queries.pkl`` or ``valid-queries.pkl``, with the two files of answers beside it, and the names of the
        numbers there or in a folder above; anything else is JSON Lines. A query written without a union, by De
        Morgan's laws, is read as the same query with one, unless the file has that too.

    Returns
    -------
    Queries
        Of pickles sorted, with all entities and relations, a row for each number.

    Raises
    ------
    FormatError
        For a malformed line, a pickle that holds anything but sets, tuples, dicts, lists, texts and numbers, an
        unknown structure, a number without a name.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "queries.jsonl")
    >>> _ = path.write_text('{"structure": "2p", "query": ["ann", ["knows", "likes"]], "hard": ["tea"]}')
    >>> read_queries(path)
    <Queries: 1 (1 2p), 0 easy and 1 hard answers>
    """
    return _of_pickles(Path(path)) if is_pickled(path) else _of_lines(path)


def write_queries(path: PathLike, queries: Queries, *, force: bool = False) -> None:
    r"""Write queries as JSON Lines, compressed by suffix, atomically.

    Parameters
    ----------
    path : path
        The file to write; ``.gz`` and ``.zst`` are compressed, ``-`` is standard output.
    queries : Queries
        What to write.
    force : bool
        Replace a file that exists already. Default: refuse.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "queries.jsonl")
    >>> write_queries(path, Queries.of([{"structure": "1p", "query": ["ann", ["likes"]], "hard": ["tea"]}]))
    >>> path.read_text()
    '{"structure": "1p", "query": ["ann", ["likes"]], "easy": [], "hard": ["tea"]}\n'
    """
    with writing(path, force=force) as stream:
        stream.write(json_lines(queries.rows()))


def query_files(path: PathLike | None) -> list[Path]:
    """List the files of queries that :func:`read_queries` reads, without those that name numbers."""
    if path is None or not is_pickled(path):
        return [] if path is None or str(path) == "-" else [Path(path)]
    name = Path(path).name
    return [Path(path).with_name(name.replace("queries", what)) for what in ("queries", *_ANSWERS)]


def numbered(triples: Triples, queries: Queries) -> Triples:
    """Return triples of BetaE's numbers under the names of the numbers; triples that have names already, as they are.

    Examples
    --------
    >>> queries = Queries.of([{"structure": "1p", "query": ["ann", ["likes"]], "hard": ["tea"]}])
    >>> numbered(Triples.of([("0", "0", "1")]), queries).labels_at(0)
    ('tea', 'likes', 'ann')
    """
    names = queries.entities, queries.relations
    entities, relations = (Vocabulary.of([*map(str, range(len(own)))]) for own in names)
    coded = triples.recoded(entities=entities, relations=relations)
    wrong = (coded.head < 0) | (coded.relation < 0) | (coded.tail < 0)
    if wrong.all():
        return triples
    if wrong.any():
        expected = f"expected triples of numbers below {len(entities):,}, {len(relations):,} and {len(entities):,}"
        raise KgtrecError(f"{expected}, which have names, found {triples.labels_at(np.argmax(wrong))}")
    return replace(coded, entities=names[0], relations=names[1])


def _of_lines(path: PathLike) -> Queries:
    lines = Lines.read(path).rows
    values = [json_value(line.data, line.path, first_line=line.number) for line in lines]
    for line, value in zip(lines, values, strict=True):
        if not isinstance(value, dict) or not {"structure", "query"} <= value.keys() <= {*_KEYS}:
            raise line.error(f"expected an object with structure and query, easy and hard, found {line.text[:60]!r}")
        if not all(isinstance(value.get(kind, []), list) for kind in _KEYS[2:]):
            raise line.error("expected lists of easy and hard answers, found another value")
    if not values:
        raise FormatError("expected at least one query, found none", path)
    try:
        return Queries.of(values)
    except KgtrecError:
        for line, value in zip(lines, values, strict=True):
            with in_file(line.path, line.number):
                Queries.of([value])
        raise


def _of_pickles(path: Path) -> Queries:
    found, easy, hard = (_unpickled(file) for file in query_files(path))
    shapes = {name: shape for shape, name in WITHOUT_UNION.items() if shape in found}
    shapes |= {name: shape for name, shape in STRUCTURES.items() if shape in found}
    entities, relations = (_names(path, stem) for stem in ("ent", "rel"))
    with in_file(path):
        if unknown := [shape for shape in found if shape not in STRUCTURES.values() and shape not in WITHOUT_UNION]:
            raise KgtrecError(f"expected BetaE's structures {', '.join(STRUCTURES)}, found {str(unknown[0])[:200]}")
        queries = {name: _sorted(found[shapes[name]]) for name in STRUCTURES if name in shapes}
        columns = {name: columns_of(shapes[name], own, _NUMBERS) for name, own in queries.items() if own}
        if not columns:
            raise KgtrecError("expected at least one query, found none")
        listed = [*chain.from_iterable(queries.values())]
        try:
            answers = [*map(easy.get, listed, repeat(())), *map(hard.get, listed, repeat(()))]
        except TypeError:  # a list in place of a tuple
            raise KgtrecError("expected queries of nested tuples, which have answers, found other values") from None
        if wrong := {*map(type, answers)} - {set, frozenset, list, tuple}:
            raise KgtrecError(f"expected sets of answers, found {wrong.pop().__name__}")
        encode = {kind: partial(_codes, names=names) for kind, names in (("e", entities), ("r", relations))}
        return Queries.of_columns(columns, answers, encode, entities, relations)


def _sorted(queries: Any) -> list[Any]:
    try:
        return sorted(queries)
    except TypeError:
        raise KgtrecError("expected queries of numbers, found other values") from None


def _codes(numbers: Sequence[Any], names: Vocabulary) -> NDArray[np.int32]:
    if {*map(type, numbers)} - {int} or not 0 <= min(numbers, default=0) <= max(numbers, default=0) < len(names):
        wrong = next(number for number in numbers if type(number) is not int or not 0 <= number < len(names))
        raise KgtrecError(f"expected numbers from 0 to {len(names) - 1}, which have names, found {wrong!r}")
    return np.fromiter(numbers, np.int32, len(numbers))


def _names(path: Path, stem: str) -> Vocabulary:
    """The names of the numbers, from a file in the folder of the queries or above it."""
    names = f"id2{stem}.pkl", f"ind2{stem}.pkl"
    files = [folder / name for folder in path.absolute().parents[:_LEVELS] for name in names]
    file = next((file for file in files if file.is_file()), path.with_name(names[0]))
    named = _unpickled(file)
    labels = [named.get(number) for number in range(len(named))]
    if not all(type(label) is str for label in labels):
        raise FormatError(f"expected a text for each number from 0 to {len(labels) - 1}, found another value", file)
    with in_file(file):
        return Vocabulary.of(labels)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in _ALLOWED:
            return _ALLOWED[module_name, global_name]
        raise KgtrecError(
            f"expected sets, tuples, dicts, lists, texts and numbers, found {module_name}.{global_name}, which may be "
            "code; nothing of it was run"
        )


def _unpickled(path: Path) -> dict[Any, Any]:
    with in_file(path), reading(path) as stream:
        try:
            content = _Unpickler(stream).load()
        except KgtrecError:
            raise
        except MemoryError:  # damaged bytes may say that there are more than the file has
            raise KgtrecError(
                "expected a whole pickle that fits into memory, found a damaged or a larger one"
            ) from None
        except Exception as error:  # whatever a damaged pickle raises
            raise KgtrecError(f"expected a whole pickle, found a damaged one ({error})") from None
        if not isinstance(content, dict):
            raise KgtrecError(f"expected a dict, found {type(content).__name__}")
    return content
