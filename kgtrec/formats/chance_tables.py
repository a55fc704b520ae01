"""Chance tables: CSV with the columns measure, side, items, expectation, variance; some come with the package."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

from kgtrec.data.scores import ChanceTable
from kgtrec.errors import FormatError, nearest
from kgtrec.formats.csv_text import csv_table, csv_text, finite
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.outputs import write_text
from kgtrec.measures.names import over_answers, warn_of_bare

_COUNT = re.compile("[0-9]{1,18}")
_COLUMNS = ["measure", "side", "items", "expectation", "variance"]
_SHIPPED = Path(__file__).with_name("chance_of_data_sets")


def shipped_chance_tables() -> list[str]:
    """Return the names of the data sets whose tables come with the package.

    Examples
    --------
    >>> shipped_chance_tables()
    ['fb15k-237', 'kinships', 'nations', 'umls', 'wn18rr']
    """
    return sorted(path.stem for path in _SHIPPED.glob("*.csv"))


def read_chance_table(name: PathLike) -> ChanceTable:
    """Read the table in a file, or of one of the data sets in :func:`shipped_chance_tables`.

    Parameters
    ----------
    name : path or str
        A CSV file, or one of :func:`shipped_chance_tables`.

    Raises
    ------
    FormatError
        If there is neither a file nor a data set of that name, or the file is not a chance table.

    Examples
    --------
    >>> read_chance_table("nations").level("micro.MR", "both")[0] > 1
    True
    """
    path = Path(name)
    if not path.exists():
        known = shipped_chance_tables()
        if str(name).lower() not in known:
            raise FormatError(
                f"no such file, and no data set of that name{nearest(str(name), known)}; known are {', '.join(known)}",
                path=str(name),
            )
        path = _SHIPPED / f"{str(name).lower()}.csv"
    header, below = csv_table(str(path), csv_text(path, "a chance table"))
    if header.cells != _COLUMNS:
        raise header.error(f"expected the columns {', '.join(_COLUMNS)}, found {', '.join(header.cells) or 'none'}")
    rows: list[tuple[str, str, int, float, float]] = []
    names: dict[str, None] = {}  # as they are written
    for row in below:
        name, side, items, expectation, variance = row.cells
        if not _COUNT.fullmatch(items) or any(cell and finite(cell) is None for cell in (expectation, variance)):
            raise row.error(f"expected {', '.join(_COLUMNS)}, found {row.excerpt}")
        names[name] = None
        measure = over_answers(name)
        row.once((measure, side), f"{measure}, {side}", "each measure and side")
        rows.append((measure, side, int(items), float(expectation or "nan"), float(variance or "nan")))
    if not rows:
        raise FormatError("expected rows of a chance table, found none", path)
    warn_of_bare(names, str(path))
    return ChanceTable.of(rows)


def chance_csv(table: ChanceTable) -> str:
    """Return a table as CSV, at full precision; an undefined value is empty."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(_COLUMNS)
    columns = (table.measure, table.side, table.items, table.expectation, table.variance)
    for measure, side, items, *moments in zip(*columns, strict=True):
        writer.writerow([measure, side, int(items), *("" if math.isnan(one) else repr(float(one)) for one in moments)])
    return sink.getvalue()


def write_chance_table(path: PathLike, table: ChanceTable, *, force: bool = False) -> None:
    """Write a table as CSV, atomically.

    Parameters
    ----------
    path : path
        The file to write.
    table : ChanceTable
        What to write.
    force : bool
        Replace a file that exists already. Default: refuse.
    """
    write_text(path, chance_csv(table), force=force)
