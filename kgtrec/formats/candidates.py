"""Which entities a side of a relation takes, as other programs write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgtrec.data.arrow import values_of
from kgtrec.data.candidates import Candidates
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import EntityTypes, Triples, qualifiers_of
from kgtrec.errors import FormatError, warn
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.triples.ids import read_openke_lists


def read_candidates(path: PathLike, train: Triples) -> Candidates:
    r"""Read which entities a side of a relation takes.

    ``type_constrain.txt``, as OpenKE writes it: the number of relations; then two lines for each relation, the first
    for heads and the second for tails: the relation, how many entities, and these, in the numbers of entity2id.txt
    and relation2id.txt beside it. Other files have labels between tabs, without a header. With three columns these are
    a relation, ``head`` or ``tail``, and an entity. With two columns they are an entity and a type of it: a side takes
    the entities of all types that train has there; so do files ``.csv`` such as TGB's ``thgl-software_nodetype.csv``,
    with commas and a header.

    Raises
    ------
    FormatError
        For the first line that is different, or a file that names no entity of the collection.

    Warns
    -----
    KgtrecWarning
        How many rows are of entities or relations that the collection lacks.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "candidates.tsv")
    >>> _ = path.write_text("likes\ttail\ttea\nlikes\ttail\tjam\n")
    >>> len(read_candidates(path, Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])))
    2
    """
    relations = qualifiers_of(train.relations)[0]
    if Path(path).name.startswith("type_constrain"):
        place, codes, labels = read_openke_lists(path)
        entity, own = (
            ours.encode(theirs.labels) for ours, theirs in zip((train.entities, relations), labels, strict=True)
        )
        relation, is_head, entity = own[place // 2], place % 2 == 1, entity[codes]
    else:
        is_csv = Path(path).name.endswith(".csv")
        lines = Lines.read(path).without_first()[1] if is_csv else Lines.read(path)
        if is_csv or lines.data.partition(b"\n")[0].count(b"\t") == 1:
            expected = f"an entity and its type, separated by {'a comma' if is_csv else 'a tab'}"
            columns = read_fields(lines, 2, expected, delimiter="," if is_csv else "\t")
            known = _known(path, train.entities.encode(columns[0]))
            return Candidates.seen_in(
                train, EntityTypes.of_columns(*(column.filter(pa.array(known)) for column in columns))
            )
        columns = read_fields(lines, 3, "a relation, head or tail, and an entity, separated by tabs")
        lines.require(
            values_of(pc.is_in(columns[1], pa.array(SIDES))),
            lambda row: f"expected head or tail in the second column, found {columns[1][row].as_py()!r}",
        )
        relation, entity = relations.encode(columns[0]), train.entities.encode(columns[2])
        is_head = values_of(pc.equal(columns[1], SIDES[0]))
    known = _known(path, np.minimum(relation, entity))
    return Candidates.of((relation * 2 + is_head)[known], entity[known], train)


def _known(path: PathLike, codes: np.ndarray) -> np.ndarray:
    """Which rows are of labels that the collection has: some, else it is an error."""
    known = codes >= 0
    if not known.any():
        raise FormatError("expected entities and relations of the collection, found none", path)
    if lost := np.count_nonzero(~known):
        warn(f"{path}: left out {lost:,} of {len(known):,} rows, of entities or relations that the collection lacks")
    return known
