"""Types: ``entity TAB type`` lines, and ``relation TAB type of its head TAB type of its tail`` lines; no header."""

from __future__ import annotations

import pyarrow as pa

from kgtrec.data.triples import EntityTypes, RelationTypes
from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines, read_fields


def read_entity_types(path: PathLike) -> EntityTypes:
    r"""Read the types of entities, one type per line: an entity with several types has several lines.

    Labels are opaque: a comma in a type is part of its name, and no line is a header or a comment. Blank lines are
    skipped, and a repeated line counts once.

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


def _columns(path: PathLike, n_columns: int, expected: str) -> list[pa.StringArray]:
    columns = read_fields(Lines.read(path), n_columns, expected)
    if len(columns[0]) == 0:
        raise FormatError(f"expected lines of {expected}, found none", path)
    return columns
