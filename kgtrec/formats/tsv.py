"""Writing tables whose columns are separated by tabs: no quoting, labels unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.outputs import update_text
from kgtrec.formats.trec.labels import ROWS_AT_A_TIME, lines_of


def write_tsv(
    stream: BinaryIO, n_rows: int, columns: Callable[[slice], Sequence[pa.StringArray]], header: Sequence[str] = ()
) -> None:
    """Write a header, if there is one, and the columns, which are given for some rows at a time and are not checked."""
    if header:
        stream.write(("\t".join(header) + "\n").encode())
    for first in range(0, n_rows, ROWS_AT_A_TIME):
        stream.write(lines_of(*columns(slice(first, first + ROWS_AT_A_TIME)), between="\t"))


def require_writable_labels(
    path: PathLike, labels: pa.StringArray, what: str, way_out: str, *, refused: str = r"[\t\n\r\x{00}]|^$"
) -> None:
    """Raise KgtrecError for the first label that matches ``refused``, a regular expression."""
    wrong = labels.filter(pc.match_substring_regex(labels, refused))
    if len(wrong):
        expected = f"{what} labels without tabs and line breaks, not empty"
        raise KgtrecError(f"{path}: expected {expected}, found {wrong[0].as_py()!r}; {way_out}")


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]], n_filled: int | None = None) -> None:
    """Write a small table with a header, atomically; the first ``n_filled`` texts of a row (default: all) not empty.

    Raises
    ------
    KgtrecError
        For the first text that is empty, or has a tab or a line break.
    """
    lines = ["\t".join(columns)]
    for row in rows:
        wrong = [text for text in row[:n_filled] if not text] + [text for text in row if set("\t\r\n\0") & set(text)]
        if wrong:
            raise KgtrecError(f"{path}: expected text without tabs and line breaks, not empty, found {wrong[0]!r}")
        lines.append("\t".join(row))
    update_text(path, "\n".join([*lines, ""]))


def triple_labels(triples: Triples, rows: NDArray[Any] | slice) -> tuple[pa.StringArray, ...]:
    """Return the labels of heads, relations and tails."""
    head, relation, tail = triples.head[rows], triples.relation[rows], triples.tail[rows]
    return triples.entities.decode(head), triples.relations.decode(relation), triples.entities.decode(tail)
