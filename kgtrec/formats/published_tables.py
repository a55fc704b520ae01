"""Tables of results as papers print them: CSV with the papers' own headings, digits and marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Literal

from kgtrec.data.scores import PublishedTable, PublishedValue
from kgtrec.errors import FormatError, one_of, warn
from kgtrec.formats.csv_text import CsvRow, csv_table, csv_text, excerpt
from kgtrec.formats.files import PathLike
from kgtrec.formats.score_tables import KEYS
from kgtrec.measures.names import warn_of_bare

Unit = Literal["decimals", "percent"]
UNITS: tuple[Unit, ...] = ("decimals", "percent")

_HEADINGS = {
    "system": ("system", "model", "method", "approach", "name"),
    "data set": ("dataset", "data set", "data", "benchmark", "kg"),
    "setting": ("setting", "filter", "filtering"),
    "side": ("side",),
    "count": ("count", "ranks", "items"),
}
_LONG = ("measure", "value")
_MEASURES = (  # longest first: the first that is found is the measure
    (r"(?:adjusted (?:arithmetic )?mean rank index|amri)", "AMRI"),
    (r"(?:adjusted (?:arithmetic )?mean rank|amr)", "AMR"),
    (r"(?:mean reciprocal rank|inverse harmonic mean rank|mrr)", "MRR"),
    (r"(?:(?:arithmetic )?mean rank|mr)", "MR"),
    (r"(?:hits?|h) ?(?:@|at )? ?([1-9]\d{0,5})", "Hits@"),
)
_SETTINGS = {"filtered": "filtered", "filter": "filtered", "filt": "filtered", "raw": "raw"}
_SIDES = {"both": "both", "head": "head", "tail": "tail"}
_LEVELS = {"micro": "micro", "macro": "macro"}
_SHARES = ("MRR", "Hits", "AMRI")
_NO_VALUE = frozenset(("", "-", "--", "---", "–", "—", "n/a", "n.a.", "na", "nan"))  # noqa: RUF001  # as papers print it
_NUMBER = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d*)(\.\d*)?([eE][+-]?\d{1,2})?", re.ASCII)
_DEVIATION = re.compile(r"\s*(?:±|\+/?-|\\pm|\(\s*±?\s*\.?\d).*")
_MARKS = re.compile(r"\\(?:textbf|underline|mathbf|textit|emph|bf|it|uline)\b|[*_${}†‡↑↓]|\\%|(?<=\d)\s*%|\^\S*$")
_PERCENT = re.compile(r"\\?%|\bpercent\b", re.IGNORECASE)


def read_published_table(
    path: PathLike, *, data_sets: Sequence[str] = (), unit: Unit | None = None, name: str | None = None
) -> PublishedTable:
    r"""Read the numbers of a published table that are means of ranks: MRR, MR, Hits@k, AMR, AMRI.

    Parameters
    ----------
    path : path
        UTF-8 text, cells separated by commas (or by tabs), with a header. A column of systems (``system``, ``model``
        or ``method``), and a column for each number, under any of its usual names: ``MRR``, ``Hits@10``, ``H@10``,
        ``hits_at_10``, ``Mean Rank``, ``micro.MRR``, ... A heading may say more: ``FB15k-237 MRR``, ``MR (raw)``,
        ``Hits@10 (%)``, ``tail MRR``. Columns ``data set``, ``setting`` (filtered or raw), ``side`` and ``count`` (of
        ranks) say the same for a row. Instead of a column for each number there may be ``measure`` and ``value``.
        Numbers over questions begin with ``macro``; all others are taken over answers.
    data_sets : sequence of str
        Names that a heading may have beside the measure.
    unit : {"decimals", "percent"}, optional
        Of MRR, Hits@k and AMRI. By default a cell with a percent sign is percent, and so are the other numbers of one
        of the three kinds if a heading says so or more than half of them are above 1.
    name : str, optional
        Name of the table; by default the file's.

    Returns
    -------
    PublishedTable
        A cell may hold marks (``**.338**``, ``\textbf{33.8}``, ``0.338*``) and a deviation (``.338 ± .002``). An empty
        cell or a dash is no number.

    Raises
    ------
    FormatError
        With the line, if the file is empty, is not UTF-8, has no column of systems or none of such numbers, a row of
        another length, a cell that is not a number, or two numbers for one measure of a system.

    Warns
    -----
    KgtrecWarning
        Of columns that are left out, and of bare names.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table-5.csv"
    >>> _ = path.write_text("Model,FB15k-237 MR,FB15k-237 H@10\nRotatE,177,**53.3**\nTransE,357,46.5\n")
    >>> for found in read_published_table(path, data_sets=["fb15k-237"]).values[:2]:
    ...     print(found.system, found.data_set, found.measure, found.text, round(found.value, 3), found.unit)
    RotatE fb15k-237 micro.MR 177 177.0 1.0
    RotatE fb15k-237 micro.Hits@10 **53.3** 0.533 0.001
    """
    place = str(path)
    if unit is not None:
        one_of("unit to be one of", unit, UNITS)
    header, rows = csv_table(place, csv_text(path, "a published table"))
    columns = _Columns(header, data_sets)
    values: list[tuple[PublishedValue, bool]] = []  # and whether the cell says that it is percent
    flagged: set[str] = set()
    bare: dict[str, None] = {}  # in the order of the file
    seen: dict[PublishedValue, str] = {}  # whose it is, and where it stands
    for row in rows:
        for heading, cell, about in columns.numbers(row):
            found = _number(cell, row, about)
            if found is None:
                continue
            number, last, is_mean = found
            if set(_words(about).split()).isdisjoint(_LEVELS):
                bare[heading.measure.partition(".")[2]] = None
            if _PERCENT.search(about):
                flagged.add(_kind(heading.measure))
            whose = columns.about(row, heading)
            if (same := replace(whose, line=0, count=None)) in seen:
                raise row.error(
                    f"expected one {about} of {whose.system!r}, found another one ({seen[same]}): distinguish them by "
                    "the name of the system, or by columns 'data set', 'setting' or 'side'"
                )
            seen[same] = f"{cell.strip()} in line {row.number}"
            value = replace(whose, text=cell.strip(), value=number, unit=last, is_mean=is_mean)
            values.append((value, _PERCENT.search(cell) is not None))
    if not values:
        raise FormatError("expected rows with numbers, found none", path=place)
    warn_of_bare(bare, place)
    return PublishedTable(tuple(_as_shares(values, flagged, unit)), Path(place).name if name is None else name)


class _Columns:
    """The roles of the columns of the header."""

    def __init__(self, row: CsvRow, data_sets: Sequence[str]) -> None:
        header = row.cells
        if not header:
            raise FormatError(
                "expected a table with a column of systems and one of MRR, Hits@k, ..., found none", path=row.path
            )
        self.header, self.data_sets = header, {_plain(name): name for name in data_sets}
        folded = [_words(cell) for cell in header]
        self.place = {
            role: next(folded.index(name) for name in names if name in folded)
            for role, names in _HEADINGS.items()
            if not set(names).isdisjoint(folded)
        }
        if "system" not in self.place:
            sign = next((sign for sign in ";|" if len(header) == 1 and sign in header[0]), None)
            way = f"; separate cells by commas or tabs, not by {sign!r}" if sign else "; each row is a system"
            raise row.error(f"expected a header with a column System, Model or Method, found {row.excerpt}{way}")
        used = set(self.place.values())
        self.keys = [at for at, cell in enumerate(folded) if cell in KEYS and at not in used]
        self.long = tuple(folded.index(name) for name in _LONG) if all(name in folded for name in _LONG) else None
        self.headings: dict[int, PublishedValue] = {}
        if self.long is None:
            found = {at: self._heading(cell) for at, cell in enumerate(header) if at not in {*used, *self.keys}}
            self.headings = {at: heading for at, heading in found.items() if heading is not None}
            left_out = [header[at].strip() for at, heading in found.items() if heading is None]
            if not self.headings:
                raise row.error(f"expected a column of MR, MRR, Hits@k, AMR or AMRI, found {row.excerpt}")
            if left_out:
                several = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
                warn(f"{row.path}: left out {several}, which are not MR, MRR, Hits@k, AMR or AMRI")

    def _heading(self, cell: str) -> PublishedValue | None:
        """What a heading says of the numbers below it; None if it is not that of a mean of ranks."""
        words = _words(cell)
        searched = ((re.search(rf"(?:^|(?<= )){pattern}(?= |$)", words), name) for pattern, name in _MEASURES)
        match, name = next((pair for pair in searched if pair[0] is not None), (None, ""))
        if match is None:
            return None
        rest = (words[: match.start()] + words[match.end() :]).split()
        said: dict[str, str] = {}
        for what, known in (("setting", _SETTINGS), ("side", _SIDES), ("level", _LEVELS)):
            own = [known[word] for word in rest if word in known]
            rest = [word for word in rest if word not in known]
            if len(own) > 1:
                return None
            said[what] = own[0] if own else ""
        data_set = self.data_sets.get(_plain(" ".join(rest))) if rest else ""
        if data_set is None:
            return None
        name = f"{name}{int(match[1])}" if name == "Hits@" else name
        measure = f"{said['level'] or 'micro'}.{name}"
        return PublishedValue("", measure, "", 0.0, 0.0, 0, data_set, said["setting"], said["side"])

    def numbers(self, row: CsvRow) -> Iterable[tuple[PublishedValue, str, str]]:
        """Return the cells of a row that hold numbers of known measures, each with its heading."""
        if self.long is None:
            return [(heading, row.cells[at], self.header[at].strip()) for at, heading in self.headings.items()]
        measure, value = (row.cells[at] for at in self.long)
        heading = self._heading(measure)
        if heading is None:
            warn(f"{row.path}:{row.number}: left out {measure.strip()!r}, which is not MR, MRR, Hits@k, AMR or AMRI")
            return []
        return [(heading, value, measure.strip())]

    def about(self, row: CsvRow, heading: PublishedValue) -> PublishedValue:
        """Return the system, data set, setting and side of the numbers of a row, without the number."""
        said = {role: row.cells[at].strip() for role, at in self.place.items()}

        def known(role: str, choices: Mapping[str, str], what: str) -> str:
            words = _words(said.get(role, ""))
            if words and words not in choices:
                raise row.error(f"expected {what}, found {said[role]!r}")
            return choices.get(words, "")

        system = _MARKS.sub("", said["system"]).strip()
        if not system:
            raise row.error("expected the name of a system, found an empty cell")
        data_set = heading.data_set or said.get("data set", "")
        count = said.get("count", "").replace(",", "")
        if count and not re.fullmatch(r"[1-9][0-9]{0,14}(\.0*)?", count):
            raise row.error(f"expected a number of ranks, found {excerpt(count)}")
        return replace(
            heading,
            system=system,
            line=row.number,
            data_set=self.data_sets.get(_plain(data_set), data_set),
            setting=heading.setting or known("setting", _SETTINGS, "the setting filtered or raw"),
            side=heading.side or known("side", _SIDES, "the side both, head or tail") or "both",
            part=", ".join(f"{self.header[at].strip()} {row.cells[at].strip()}" for at in self.keys),
            count=int(float(count)) if count else None,
        )


def _words(cell: str) -> str:
    """A heading as lower-case words, without marks, signs and percent."""
    text = re.sub(r"\\(?:uparrow|downarrow)|[↑↓$*{}\[\]]", " ", _PERCENT.sub(" ", cell).casefold())
    return " ".join(re.sub(r"[_/|:.,()\\]+", " ", text).split())


def _plain(name: str) -> str:
    """A data set's name without what spellings of it differ in."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _number(cell: str, row: CsvRow, column: str) -> tuple[float, float, bool] | None:
    """Value and unit of its last digit, and whether a deviation follows; None for an empty cell."""
    text = cell.strip()
    if text.casefold() in _NO_VALUE:
        return None
    main = _DEVIATION.sub("", text)
    is_mean = main != text
    match = _NUMBER.fullmatch(_MARKS.sub("", main).strip())
    if match is None or not (match[2] or len(match[3] or "") > 1):
        raise row.error(f"expected a number under {column!r}, found {excerpt(cell)}")
    exact = Decimal(match[0].replace(",", ""))
    if not isfinite(float(exact)):
        raise row.error(f"expected a finite number under {column!r}, found {excerpt(cell)}")
    return float(exact), float(Decimal(1).scaleb(int(exact.as_tuple().exponent))), is_mean


def _kind(measure: str) -> str:
    return measure.partition(".")[2].partition("@")[0]


def _as_shares(
    values: Sequence[tuple[PublishedValue, bool]], flagged: set[str], unit: Unit | None
) -> Iterable[PublishedValue]:
    """Percentages as shares: those that say so, and one unit for all others of a kind of measure."""
    percent = {kind for kind in _SHARES if unit == "percent" or (unit is None and kind in flagged)}
    if unit is None:
        for kind in _SHARES:
            own = [abs(each.value) for each, says in values if not says and _kind(each.measure) == kind and each.value]
            if own and median(own) > 1:
                percent.add(kind)
    for each, says in values:
        kind = _kind(each.measure)
        if kind in percent or (kind in _SHARES and says and unit is None):
            yield replace(each, value=each.value / 100, unit=each.unit / 100)
        else:
            yield each
