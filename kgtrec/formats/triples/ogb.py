"""Triples of the Open Graph Benchmark: ``split/KIND/train.pt`` and so on, with tables of labels in ``mapping/``.

In ogbl-wikikg2 a number is an entity. In ogbl-biokg it is one among the entities of its type, and an entity is called
``TYPE:NAME`` here, as in PyKEEN. The negatives that valid and test files also have are not used, but take memory.
WikiKG90Mv2 has arrays instead, and no labels: ``train_hrt.npy``, and ``val_hr.npy`` with ``val_t.npy``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, in_file, require
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.numpy_files import mapped_array
from kgtrec.formats.triples.pickled_arrays import read_pickled_arrays

_TYPED = "_entidx2name.csv.gz"  # after the type
_ENTITIES = ("nodeidx2entityid.csv.gz", "node idx", "entity id")  # file, column of numbers, column of labels
_APART = "_hr.npy"  # heads and relations, whose tails are in a file of their own
_RELATIONS = (("reltype2relid.csv.gz", "reltype", "rel id"), ("relidx2relname.csv.gz", "rel idx", "rel name"))


def mapping_files(path: PathLike) -> list[Path]:
    """Find the tables of labels for a split file such as ``split/time/train.pt``: of entities, of relations.

    Raises
    ------
    FormatError
        If there is none for either.
    """
    folder = Path(path).absolute().parents[2] / "mapping"
    entities = folder / _ENTITIES[0]
    tables = [entities] if entities.is_file() else sorted(folder.glob(f"*{_TYPED}"))
    relations = [folder / name for name, *_ in _RELATIONS if (folder / name).is_file()][:1]
    for what, found, names in (("entities", tables, (_ENTITIES[0], f"TYPE{_TYPED}")), ("relations", relations, ())):
        if not found:
            expected = " or ".join(names or [name for name, *_ in _RELATIONS])
            raise FormatError(f"expected labels of {what} in {folder}, as {expected}, found none", path)
    return tables + relations


def read_ogb(path: PathLike) -> Triples:
    """Read the triples of one split, with all entities and relations that the tables of labels have."""
    *tables, last = mapping_files(path)
    _, *columns = next(kind for kind in _RELATIONS if kind[0] == last.name)
    with in_file(last):
        relations = Vocabulary.of(_labels(last, *columns))
    split = read_pickled_arrays(path)
    sizes: dict[str, int] = {}
    if tables[0].name == _ENTITIES[0]:
        labels = _labels(tables[0], *_ENTITIES[1:])
    else:
        by_type = {table.name.removesuffix(_TYPED): _labels(table, "ent idx", "ent name") for table in tables}
        sizes = {kind: len(found) for kind, found in by_type.items()}
        labels = pa.concat_arrays([pc.binary_join_element_wise(kind, found, ":") for kind, found in by_type.items()])
    with in_file(tables[0]):
        entities = Vocabulary.of(labels)
    head, tail = (
        _typed(path, split, side, sizes) if sizes else _codes(path, split, side, len(entities))
        for side in ("head", "tail")
    )
    relation = _codes(path, split, "relation", len(relations))
    if not len(head) == len(relation) == len(tail):
        raise FormatError(
            f"expected as many heads as relations and tails, found {len(head):,}, {len(relation):,} and {len(tail):,}",
            path,
        )
    return Triples(head, relation, tail, entities, relations)


def tails_beside(path: PathLike) -> list[Path]:
    """Return the file of the tails of ``val_hr.npy``; none for triples in one array.

    Raises
    ------
    FormatError
        If it is not there, as that of test.
    """
    name = Path(path).name
    if not name.endswith(_APART):
        return []
    tails = Path(path).with_name(f"{name.removesuffix(_APART)}_t.npy")
    if not tails.is_file():
        raise FormatError(
            f"expected the tails in {tails.name} beside it, found no such file; OGB keeps those of test to itself, so "
            "give val_hr.npy as the test triples",
            path,
        )
    return [tails]


def read_wikikg90m(path: PathLike) -> Triples:
    """Read the triples of an array of WikiKG90Mv2; a label is a number, and entities are in the order of their numbers.

    Raises
    ------
    FormatError
        If an array is damaged, or of another shape than (triples, 3), or (triples, 2) and (triples,).
    """
    tails = tails_beside(path)
    array = mapped_array(path)
    width = 2 if tails else 3
    if array.ndim != 2 or array.shape[1] != width:
        raise FormatError(f"expected numbers of shape (triples, {width}), found {array.shape}", path)
    columns = [_from_zero(path, array[:, column]) for column in range(width)]
    if tails:
        last = mapped_array(tails[0])
        if last.shape != (len(array),):
            raise FormatError(
                f"expected {len(array):,} tails, one for each row of {Path(path).name}, found {last.shape}",
                path=tails[0],
            )
        columns.append(_from_zero(tails[0], last))
    head, relation, tail = columns
    entities, both = np.unique(np.concatenate([head, tail]), return_inverse=True)
    relations, relation = np.unique(relation, return_inverse=True)
    first, last = np.split(both.astype(np.int32), 2)
    labels = (Vocabulary(pc.cast(pa.array(numbers), pa.string())) for numbers in (entities, relations))
    return Triples(first, relation.astype(np.int32), last, *labels)


def _from_zero(path: PathLike, found: NDArray[Any]) -> NDArray[np.int64]:
    if found.dtype.kind not in "iu":
        raise FormatError(f"expected whole numbers, found {found.dtype}", path)
    if len(found) and found.min() < 0:
        raise FormatError(f"expected numbers from 0 on, found {found.min()}", path)
    return found.astype(np.int64)


def _labels(path: Path, numbers: str, labels: str) -> pa.StringArray:
    """The labels of a table, by their numbers, which are 0 to n - 1 in any order."""
    import pyarrow.csv

    options = pyarrow.csv.ConvertOptions(
        column_types={numbers: pa.int64(), labels: pa.string()}, include_columns=[numbers, labels]
    )
    try:
        with reading(path) as stream:
            table = pyarrow.csv.read_csv(stream, convert_options=options)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise FormatError(
            f"expected a table with columns {numbers!r} and {labels!r}, found another: {str(error).splitlines()[0]}",
            path,
        ) from None
    places = table.column(numbers).to_numpy()
    order = np.argsort(places, kind="stable")
    if not np.array_equal(places[order], np.arange(len(places))):
        raise FormatError(f"expected each number from 0 to {len(places) - 1:,} once in {numbers!r}", path)
    return cast(pa.StringArray, table.column(labels).combine_chunks().take(pa.array(order)))


def _numbers(path: PathLike, split: dict[str, Any], name: str) -> NDArray[np.integer[Any]]:
    numbers = split.get(name)
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 1:
        raise FormatError(f"expected a list of numbers {name!r}, found {sorted(split)}", path)
    return numbers


def _codes(path: PathLike, split: dict[str, Any], name: str, size: int) -> NDArray[np.int32]:
    """Numbers below ``size``."""
    numbers = _numbers(path, split, name)
    _require_below(path, name, numbers, np.full(len(numbers), size))
    return numbers.astype(np.int32)


def _typed(path: PathLike, split: dict[str, Any], name: str, sizes: dict[str, int]) -> NDArray[np.int32]:
    """Numbers among those of their type, as numbers among all."""
    found, kinds = _numbers(path, split, name), split.get(f"{name}_type")
    if not isinstance(kinds, list) or len(kinds) != len(found):
        raise FormatError(f"expected a type of each {name} as {f'{name}_type'!r}, found no such list", path)
    encoded = pa.array(kinds, pa.string()).dictionary_encode()
    types = encoded.dictionary.to_pylist()
    if unknown := [kind for kind in types if kind not in sizes]:
        raise FormatError(f"expected types {', '.join(sizes)} in {name}_type, found {unknown[0]!r}", path)
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))
    size, offset = (
        np.array([of_type[kind] for kind in types], np.int64)[encoded.indices.to_numpy()] for of_type in (sizes, first)
    )
    _require_below(path, name, found, size)
    return (offset + found).astype(np.int32)


def _require_below(path: PathLike, name: str, found: NDArray[Any], sizes: NDArray[Any]) -> None:
    require(
        (found >= 0) & (found < sizes),
        lambda row: FormatError(
            f"expected a {name} below {int(sizes[row]):,}, which is how many labels there are, found {found[row]} "
            f"(triple {row + 1:,})",
            path,
        ),
    )
