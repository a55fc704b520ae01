"""Writing lines of text: TREC's, and tables whose columns are separated by tabs; no quoting, labels unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import bytes_and_offsets, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import WHITE_SPACE, Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.outputs import update_text


def write_tsv(
    stream: BinaryIO, n_rows: int, columns: Callable[[slice], Sequence[pa.StringArray]], header: Sequence[str] = ()
) -> None:
    """Write a header, if there is one, and the columns, which are given for some rows at a time and are not checked."""
    if header:
        stream.write(("\t".join(header) + "\n").encode())
    write_lines(stream, n_rows, columns, between="\t")


def require_writable_labels(
    path: PathLike, labels: pa.StringArray, what: str, way_out: str, *, refused: str = r"[\t\n\r\x{00}]|^$"
) -> None:
    """Raise KgtrecError for the first label that matches ``refused``, a regular expression."""
    if len(wrong := labels.filter(pc.match_substring_regex(labels, refused))):
        raise KgtrecError(
            f"{path}: expected {what} labels without tabs and line breaks, not empty, found {wrong[0].as_py()!r}; "
            f"{way_out}"
        )


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


_ROWS_AT_A_TIME = 1 << 18  # lines formatted at once, to bound a writer's memory

# at the beginning of a line these make a comment, or are dropped
_BAD_FIRST = r"^[#\x{feff}]"
_NAMED = 3


@lru_cache(maxsize=4)  # all parts of a run have one vocabulary
def _is_unwritable(labels: Vocabulary, is_first: bool) -> NDArray[np.bool_]:
    return values_of(pc.match_substring_regex(labels.labels, f"{WHITE_SPACE}|^$" + f"|{_BAD_FIRST}" * is_first))


def require_writable(
    path: PathLike, column: str, labels: Vocabulary, codes: NDArray[Any] | None = None, *, is_first: bool = False
) -> None:
    """Refuse labels that cannot be written in a TREC text file, those of ``codes`` (default: all of the vocabulary).

    ``is_first``: whether they begin the lines.

    Raises
    ------
    KgtrecError
        With the first labels that have white space or are empty, or that would begin a comment.

    Examples
    --------
    >>> require_writable("x.run", "entity", Vocabulary.of(["a", "a b", ""]), np.array([0, 2]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: x.run: expected entity labels without white space, not empty, found ''; see kgtrec que...
    """
    is_wrong = _is_unwritable(labels, is_first)
    if not is_wrong.any() or (codes is not None and not is_wrong[codes].any()):
        return
    wrong, first = np.unique(np.flatnonzero(is_wrong) if codes is None else codes[is_wrong[codes]], return_index=True)
    named = [labels[code] for code in wrong[np.argsort(first)][:_NAMED]]
    found = ", ".join(map(repr, named)) + (f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else "")
    kind = "without white space, not empty"
    if any(label[:1] in ("#", "\ufeff") for label in named):
        kind += ", not beginning with '#' or a byte-order mark"
    way_out = "a run's name may not have any" if column == "tag" else "see kgtrec questions --ids, or write .parquet"
    raise KgtrecError(f"{path}: expected {column} labels {kind}, found {found}; {way_out}")


def lines_of(*columns: pa.StringArray | str, between: str = " ") -> memoryview:
    """Return the bytes of text lines: the columns, string arrays or one string for all lines, with ``between`` them."""
    *first, last = (labels_of([column])[0] if isinstance(column, str) else column for column in columns)
    separator, newline, nothing = labels_of([between, "\n", ""])
    last = pc.binary_join_element_wise(last, newline, nothing)
    data, bounds = bytes_and_offsets(pc.binary_join_element_wise(*first, last, separator))
    return data[bounds[0] : bounds[-1]].data


def write_lines(
    stream: BinaryIO, n_rows: int, columns: Callable[[slice], Sequence[pa.StringArray | str]], *, between: str = " "
) -> None:
    """Write lines of the columns, which are given for some rows at a time and are not checked."""
    for first in range(0, n_rows, _ROWS_AT_A_TIME):
        stream.write(lines_of(*columns(slice(first, first + _ROWS_AT_A_TIME)), between=between))
