"""N-Triples, through pyoxigraph."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kgtrec.data.triples import Triples
from kgtrec.errors import FormatError, KgtrecError, extra_text, warn
from kgtrec.formats.files import PathLike, reading

LITERALS = ("skip", "keep")


def read_ntriples(path: PathLike, *, literals: str = "skip") -> Triples:
    """Read the triples of an N-Triples file.

    IRIs become labels without their angle brackets, blank nodes keep their ``_:x``: the same ``_:x`` in two files
    counts as one entity. A literal, if kept, is labelled as in N-Triples, ``"Rome"@it``.

    Parameters
    ----------
    path : path
    literals : {"skip", "keep"}
        What to do with triples whose object is a literal. Literals are values, not entities, so they are skipped by
        default.

    Raises
    ------
    KgtrecError
        If pyoxigraph is not installed.
    FormatError
        For the first line that is not N-Triples.

    Warns
    -----
    KgtrecWarning
        If triples were skipped.
    """
    try:
        import pyoxigraph as ox
    except ImportError:
        raise KgtrecError(f"{path}: expected pyoxigraph to read N-Triples with; {extra_text('rdf')}") from None
    rows: list[tuple[str, str, str]] = []
    skipped = 0
    with reading(path) as stream:
        try:
            for quad in ox.parse(stream, format=ox.RdfFormat.N_TRIPLES):
                subject, target = quad.subject, quad.object
                if isinstance(subject, ox.Triple) or isinstance(target, ox.Triple):
                    raise FormatError(f"expected plain triples, found a triple about a triple: {quad}", path)
                if literals == "skip" and isinstance(target, ox.Literal):
                    skipped += 1
                else:
                    rows.append((_label(subject, ox), quad.predicate.value, _label(target, ox)))
        except SyntaxError as error:
            raise FormatError(
                f"expected N-Triples, found something else: {error.msg}", path, line=error.lineno
            ) from None
    if skipped:
        warn(
            f"{path}: skipped {skipped:,} triples whose object is a literal, which is not an entity; "
            "keep them with --literals keep"
        )
    return Triples.of_columns(*(pa.array([row[i] for row in rows], pa.string()) for i in range(3)))


def _label(term: Any, ox: Any) -> str:
    return term.value if isinstance(term, ox.NamedNode) else str(term)
