"""The data sets that are available by name: their files, where those are, and what they are known by."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgtrec.data.table import Column, Result, Table
from kgtrec.data.triples import SPLITS
from kgtrec.errors import KgtrecError, nearest

#: how the files of a data set are laid out
LAYOUTS = {
    "splits": "train.txt, valid.txt and test.txt: head TAB relation TAB tail",
    "labels": "published labels, for kgtrec campaign import-kgc-sparsity",
    "ogb": "train.pt, valid.pt and test.pt in split/, and tables of labels in mapping/",
}
_REGISTRY = Path(__file__).with_name("registry.toml")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a data set, and what it is known by."""

    path: str  # below the data set's folder, with /
    url: str = ""  # empty: it is unpacked from an archive
    size: int | None = None  # bytes; None: not confirmed
    sha256: str = ""  # hex digits; empty: not confirmed
    git_blob: str = ""  # id of the file in git's tree of the commit in the URL, where there is no SHA-256
    member: str = ""  # its name in the archive; empty: its path
    members: tuple[DataFile, ...] = ()  # what is unpacked from it


@dataclass(frozen=True, slots=True)
class DataSet:
    """A public data set: what is in it, where it comes from, and how that was confirmed."""

    name: str
    title: str
    layout: str  # one of LAYOUTS
    files: tuple[DataFile, ...]
    source: str  # URL for people
    citation: str
    licence: str = ""  # of the repository that publishes the files; empty: not known
    entities: int | None = None
    relations: int | None = None
    triples: Mapping[str, int] = field(default_factory=dict)  # split -> number of triples
    checked: str = ""  # how sizes, checksums and counts were confirmed, or where counts are stated
    unconfirmed: str = ""  # why they could not be; such a data set is not downloaded

    @property
    def size(self) -> int | None:
        """Bytes to download; None where that is not confirmed."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size or 0 for size in sizes)

    def parts(self) -> Iterator[DataFile]:
        """Return the files that are used in the end: those of an archive instead of the archive."""
        for file in self.files:
            yield from file.members or (file,)


@dataclass(frozen=True, slots=True)
class DataSets(Result):
    """Several data sets, as a table."""

    data_sets: tuple[DataSet, ...]

    def tables(self) -> tuple[Table, ...]:
        """Lay out one row per data set."""
        data_sets = self.data_sets
        numbers = ("entities", "relations", *SPLITS, "bytes")
        texts = ("licence", "source", "citation", "layout", "checked", "unconfirmed")
        kinds = {"name": pa.string()} | dict.fromkeys(numbers, pa.int64()) | dict.fromkeys(texts, pa.string())
        own = ("name", "entities", "relations", *texts)
        rows = [
            {name: getattr(each, name) or None for name in own} | dict(each.triples) | {"bytes": each.size}
            for each in data_sets
        ]
        data = pa.Table.from_pylist(rows, schema=pa.schema(kinds))
        columns = [Column("name", "data set"), *(Column(name, digits=0) for name in numbers), Column("licence")]
        if any(each.unconfirmed for each in data_sets):
            columns.append(Column("unconfirmed", "not listed because"))
        caption = "Triples of each split; bytes to download; licence of the repository that publishes the files."
        return (Table("data-sets", "Data sets", caption, data, tuple(columns)),)


def data_set(name: str) -> DataSet:
    """Return the record of a data set; upper and lower case are the same.

    Parameters
    ----------
    name : str
        One of :func:`list_data_sets`, such as "FB15k-237".

    Returns
    -------
    DataSet
        Also one that is not confirmed.

    Raises
    ------
    KgtrecError
        If there is none of that name; the message has the nearest names.

    Examples
    --------
    >>> found = data_set("FB15k-237")
    >>> found.entities, dict(found.triples)
    (14541, {'train': 272115, 'valid': 17535, 'test': 20466})
    """
    known = _read()
    if name.casefold() not in known:
        raise KgtrecError(
            f"no data set {name!r}{nearest(name, known)}; there are "
            + ", ".join(each.name for each in known.values() if not each.unconfirmed)
        )
    return known[name.casefold()]


def list_data_sets(*, unconfirmed: bool = False) -> DataSets:
    """List the data sets that are available by name.

    Parameters
    ----------
    unconfirmed : bool
        Whether to list those too whose checksums could not be confirmed, which have to be put in place by hand.

    Returns
    -------
    DataSets

    Examples
    --------
    >>> [found.name for found in list_data_sets().data_sets][:3]
    ['fb15k-237', 'wn18rr', 'nations']
    """
    return DataSets(tuple(found for found in _read().values() if unconfirmed or not found.unconfirmed))


@cache
def _read() -> Mapping[str, DataSet]:
    """By name, every data set of the registry, in its order."""
    records = tomllib.loads(_REGISTRY.read_text(encoding="utf-8"))
    return {
        name: DataSet(name, files=tuple(_file(**file) for file in record.pop("files")), **record)
        for name, record in records.items()
    }


def _file(*, members: list[dict[str, Any]] | None = None, **record: Any) -> DataFile:
    return DataFile(**record, members=tuple(DataFile(**member) for member in members or ()))
