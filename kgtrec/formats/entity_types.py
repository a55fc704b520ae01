"""Types: ``entity TAB type`` lines, and ``relation TAB type of its head TAB type of its tail`` lines; no header.

And which entities a side of a relation takes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kgtrec.data.arrow import values_of
from kgtrec.data.questions import SIDES
from kgtrec.data.triples import EntityTypes, RelationTypes
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, suffixes
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.formats.triples.ids import read_openke_lists


def read_entity_types(path: PathLike) -> EntityTypes:
    r"""Read the types of entities, one type per line: an entity with several types has several lines.

    Labels are opaque: a comma in a type is part of its name, and no line is a header or a comment. Blank lines are
    skipped, and a repeated line counts once.

    Parameters
    ----------
    path : path
        The file, of ``entity TAB type`` lines.

    Raises
    ------
    FormatError
        For the first line without exactly two labels separated by a tab or with bytes that are not UTF-8; for an empty
        or damaged file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "entity_types.tsv"
    >>> _ = path.write_text("paris\tcity\nparis\tcapital\n")
    >>> read_entity_types(path)
    <EntityTypes: 1 entities, 2 types>
    """
    return EntityTypes.of_columns(*_columns(path, 2, "2 columns (entity type) separated by a tab, one type per line"))


def read_relation_types(path: PathLike) -> RelationTypes:
    r"""Read the types that each relation takes as head and tail; one with several lines takes the types of any of them.

    Parameters
    ----------
    path : path
        The file, of ``relation TAB type of head TAB type of tail`` lines.

    Raises
    ------
    FormatError
        For the first line without exactly three labels separated by tabs or with bytes that are not UTF-8; for an
        empty or damaged file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "relation_types.tsv"
    >>> _ = path.write_text("capital\tcountry\tcity\n")
    >>> read_relation_types(path)
    <RelationTypes: 1 relations, 2 types>
    """
    expected = "3 columns (relation, type of its head, type of its tail) separated by tabs"
    return RelationTypes.of_columns(*_columns(path, 3, expected))


def read_candidates(path: PathLike) -> EntityTypes | tuple[pa.StringArray, NDArray[np.bool_], pa.StringArray]:
    r"""Read which entities a side of a relation takes: types of entities; or rows of a relation, a side and an entity.

    ``type_constrain.txt``, as OpenKE writes it: the number of relations; then two lines for each relation, the first
    for heads and the second for tails: the relation, how many entities, and these, in the numbers of entity2id.txt
    and relation2id.txt beside it. ``.csv``: a header, then an entity and its type between commas, such as TGB's
    ``thgl-software_nodetype.csv``. Other files have tabs and no header: an entity and its type; or a relation, ``head``
    or ``tail``, and an entity.

    Returns
    -------
    EntityTypes; or (n,) relations, (n,) whether it is of heads, and (n,) entities

    Raises
    ------
    FormatError
        For the first line that is different.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "candidates.tsv"
    >>> _ = path.write_text("likes\ttail\ttea\nlikes\thead\tann\n")
    >>> read_candidates(path)[1].tolist()
    [False, True]
    """
    name, lines = Path(path).name, Lines.read(path)
    if name.startswith("type_constrain"):
        return read_openke_lists(path)
    if suffixes(name)[0] == ".csv":
        rest = lines.without_first()[1]
        return EntityTypes.of_columns(*read_fields(rest, 2, "an entity and its type between commas", delimiter=","))
    if lines.data.lstrip(b"\r\n").partition(b"\n")[0].count(b"\t") == 1:  # blank lines are skipped
        return read_entity_types(path)
    relation, side, entity = _columns(path, 3, "3 columns (relation, head or tail, entity) separated by tabs")
    is_head = values_of(pc.equal(side, SIDES[0]))
    lines.require(
        is_head | values_of(pc.equal(side, SIDES[1])),
        lambda row: f"expected head or tail in the second column, found {side[row].as_py()!r}",
    )
    return relation, is_head, entity


def _columns(path: PathLike, n_columns: int, expected: str) -> list[pa.StringArray]:
    columns = read_fields(Lines.read(path), n_columns, expected)
    if len(columns[0]) == 0:
        raise FormatError(f"expected lines of {expected}, found none", path)
    return columns
