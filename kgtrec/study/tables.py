"""The tables of a study: the columns that a report needs, and the values allowed in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from kgtrec.data.arrow import compute as pc
from kgtrec.errors import FormatError
from kgtrec.meta.coefficients import COEFFICIENTS
from kgtrec.meta.power import POWER_TESTS
from kgtrec.study.config import Study

_TEXT, _NUMBER, _COUNT = "text", "numbers", "whole numbers"
_CORRELATION = {"measure": _TEXT, "coefficient": _TEXT, "value": _NUMBER}
_BY_CATEGORY = {"measure": _TEXT, "side": _TEXT, "category": _TEXT, "value": _NUMBER}
_LARGEST = 2**53  # a float can represent every whole number up to this one
#: part -> its columns; one that ends in ? may be missing
_COLUMNS: dict[str, dict[str, str]] = {
    "scores": {"system": _TEXT, "measure": _TEXT, "value": _NUMBER, "low?": _NUMBER, "high?": _NUMBER},
    "parts": {"system": _TEXT, **_BY_CATEGORY},
    "growth": {"depth": _COUNT, "triples": _COUNT, "positives": _COUNT},
    "power": {
        "measure": _TEXT,
        "test": _TEXT,
        "items": _TEXT,
        "n_items": _COUNT,
        "pairs": _COUNT,
        "below": _COUNT,
        "share": _NUMBER,
        "below_adjusted": _COUNT,
        "share_adjusted": _NUMBER,
        "area": _NUMBER,
        "smallest": _NUMBER,
        "largest_missed": _NUMBER,
    },
    "pairs": {"measure": _TEXT, "first": _TEXT, "second": _TEXT, "test": _TEXT, "p_adjusted": _NUMBER},
    "p-values": {"measure": _TEXT, "test": _TEXT, "place": _COUNT, "p": _NUMBER},
    "correlation": {**_CORRELATION, "low?": _NUMBER, "high?": _NUMBER},
    "correlation-fixed": _CORRELATION,
    "correlation-parts": _BY_CATEGORY,
    "swaps": {"measure": _TEXT, "better": _TEXT, "worse": _TEXT, "first": _NUMBER, "second": _NUMBER},
    "depths": {**_CORRELATION, "depth": _COUNT, "low?": _NUMBER, "high?": _NUMBER},
    "stability": {
        "measure": _TEXT,
        "share": _NUMBER,
        "triples": _COUNT,
        "repeats": _COUNT,
        "mean": _NUMBER,
        "low": _NUMBER,
        "high": _NUMBER,
    },
    "ties": {
        "system": _TEXT,
        "measure": _TEXT,
        "tied": _NUMBER,
        "mean_group": _NUMBER,
        "largest_group": _COUNT,
        "apart": _NUMBER,
    },
}
_OF_ALL_MEASURES = (
    "scores",
    "correlation",
    "correlation-fixed",
    "swaps",
    "depths",
)  # other parts may have their own measures
_SYSTEMS = {"parts": ("system",), "pairs": ("first", "second"), "swaps": ("better", "worse"), "ties": ("system",)}


def require_study_tables(study: Study, paths: Mapping[str, Path]) -> None:
    """Raise FormatError for the first table of a study that a report cannot show.

    Parameters
    ----------
    study : Study
    paths : mapping of str to path
        The file of each table.
    """
    for name, table in study.tables.items():
        if wrong := next(_wrong(name, table, study), ""):
            raise FormatError(f"{wrong}; run kgtrec study again", path=paths[name])


def _wrong(name: str, table: pa.Table, study: Study) -> Iterator[str]:
    """The errors in a table, the most severe first."""
    part, _, labels = name.partition("/")
    found = ", ".join(table.column_names) or "none"
    columns = {column.removesuffix("?"): kind for column, kind in _COLUMNS.get(part, {}).items()}
    for column in _COLUMNS.get(part, {}):
        if column not in table.column_names and not column.endswith("?"):
            yield f"expected columns {', '.join(columns)}, found {found}"
    if "low" in columns and ("low" in table.column_names) != ("high" in table.column_names):
        yield f"expected columns low and high, or neither, found {found}"
    if part == "ties":
        policies = table.column_names[table.column_names.index("measure") + 1 : table.column_names.index("apart")]
        if not policies:
            yield f"expected a column for each policy for ties between measure and apart, found {found}"
        columns |= dict.fromkeys(policies, _NUMBER)
    for column in table.column_names:
        if told := _wrong_column(table.column(column), columns.get(column, "")):
            yield f"expected {told} in column {column}"
    allowed: dict[str, Collection[str]] = {"test": POWER_TESTS, "coefficient": COEFFICIENTS}
    allowed |= dict.fromkeys(_SYSTEMS.get(part, ()), study.systems)
    if part in _OF_ALL_MEASURES:
        allowed["measure"] = study.measures
    for column, names in allowed.items():
        if column in columns and table.num_rows:
            for label in pc.unique(table.column(column)).to_pylist():
                if label not in names:
                    yield f"expected {', '.join(names)} in column {column}, found {label!r}"[:300]
    yield from _wrong_rows(part, labels, table, study)


def _wrong_column(column: pa.ChunkedArray, kind: str) -> str:
    """Expected and found type of a wrong column, else ""; a column that no report needs may be text or numbers."""
    of, types = column.type, pa.types
    is_whole = types.is_integer(of) or len(column) == 0
    is_number = is_whole or types.is_floating(of) or types.is_null(of)
    fits = {
        _TEXT: types.is_string(of) or len(column) == 0,
        _NUMBER: is_number,
        _COUNT: is_whole,
        "": is_number or types.is_string(of) or types.is_boolean(of),
    }[kind]
    if not fits:
        return f"{kind or 'text or numbers'}, found {of}"
    if kind in (_TEXT, _COUNT) and column.null_count:
        return f"{kind} in every row, found none in row {column.is_null().index(True).as_py()}"
    if types.is_integer(of) and len(column):
        ends = pc.min_max(column).as_py()
        if any(end is not None and abs(end) > _LARGEST for end in ends.values()):
            return f"numbers up to 2^53, found {max(ends.values(), key=abs)}"
    return ""


def _wrong_rows(part: str, labels: str, table: pa.Table, study: Study) -> Iterator[str]:
    """The errors in the rows of a table as a whole."""
    if part == "scores":
        pairs = [(system, measure) for system in study.systems for measure in study.measures]
        rows = list(zip(*(table.column(column).to_pylist() for column in ("system", "measure")), strict=True))
        if rows != pairs:
            yield f"expected a row for each of {len(pairs)} systems and measures in their order, found {len(rows)} rows"
    if part in ("power", "stability", "ties") and not table.num_rows:
        yield "expected rows, found none"
    if part == "power" and f"p-values/{labels}" not in study.tables:
        yield f"expected a table p-values/{labels} beside this one, found none"
    if part == "depths" and study.options.coefficients[0] not in table.column("coefficient").to_pylist():
        yield f"expected rows of {study.options.coefficients[0]}, found none"
    if part == "stability":
        shares: dict[str, list[float]] = {}
        for measure, share in zip(*(table.column(name).to_pylist() for name in ("measure", "share")), strict=True):
            shares.setdefault(measure, []).append(share)
        if len(set(map(tuple, shares.values()))) != 1 or not all(
            share is not None and 0 < share <= 1 for each in shares.values() for share in each
        ):
            yield "expected the same shares for each measure, above 0 and up to 1, found others"
