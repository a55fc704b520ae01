"""A published table, its numbers held against what is possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from kgtrec.data.scores import ChanceTable, PublishedTable, PublishedValue
from kgtrec.data.table import Column, Result, Table
from kgtrec.errors import KgtrecError, counted, warn
from kgtrec.evaluation.published.bounds import bounds_of, falling_hits, within_range
from kgtrec.evaluation.published.comparisons import both_sides, filtered_and_raw, small_leads
from kgtrec.evaluation.published.doubts import against_chance, of_no_count, unfitting_indices
from kgtrec.evaluation.published.findings import SEVERITIES, MeanBounds, PaperFinding, Row
from kgtrec.evaluation.published.sizes import Size, size_of


@dataclass(frozen=True, slots=True, eq=False)
class PaperCheck(Result):
    """What was found in a published table."""

    name: str
    findings: tuple[PaperFinding, ...]  # the most severe first
    bounds: tuple[MeanBounds, ...]
    n_values: int  # numbers that were checked
    n_systems: int

    def count(self, severity: str) -> int:
        """Return how many findings are of one severity: "impossible", "doubtful" or "note"."""
        return sum(finding.severity == severity for finding in self.findings)

    def tables(self) -> tuple[Table, Table]:
        """Return ``findings``, and ``bounds`` of each MRR and MR by the other numbers of its row."""
        caption = (
            f"{self.name}: {counted(self.n_values, 'number')} of {counted(self.n_systems, 'system')}: "
            f"{self.count('impossible')} impossible, {self.count('doubtful')} doubtful, "
            f"{counted(self.count('note'), 'note')}\nBounds of shares are decimals, also where percentages are printed"
        )
        names = "severity system data_set setting measure printed low high reason source line"
        data = _columns_of(self.findings, names)
        view = data.append_column("bound", pa.array([found.bound for found in self.findings], pa.string()))
        shown = ("severity", "system", *_used(data), "measure", "printed", "bound", "source", "reason")
        columns = tuple(Column(name, name.replace("_", " ")) for name in shown)
        findings = Table("findings", "Findings", caption, data, columns, view=view)
        caption = "Bounds of each mean by the other numbers of its row"
        data = _columns_of(self.bounds, "system data_set setting measure printed low high given")
        shown = ("system", *_used(data), "measure", "given", "printed")
        ends = (Column(end, digits="measure") for end in ("low", "high"))
        columns = (*(Column(name, name.replace("_", " ")) for name in shown), *ends)
        return findings, Table("bounds", "Bounds", caption, data, columns)


def _columns_of(rows: Sequence[PaperFinding] | Sequence[MeanBounds], names: str) -> pa.Table:
    kinds = {"low": pa.float64(), "high": pa.float64(), "line": pa.int64()}
    return pa.table(
        {name: pa.array([getattr(row, name) for row in rows], kinds.get(name, pa.string())) for name in names.split()}
    )


def _used(data: pa.Table) -> list[str]:
    """Columns that are shown only where they say something."""
    return [name for name in ("data_set", "setting") if any(data.column(name).to_pylist())]


def check_paper(
    table: PublishedTable,
    data_set: str = "",
    *,
    entities: int | None = None,
    triples: int | None = None,
    chance: ChanceTable | None = None,
) -> PaperCheck:
    """Find impossible or doubtful numbers in a published table.

    Each number is the mean of n ranks from 1 to N, printed with some digits. These are checked: ranges; Hits@k that
    fall as k grows; MRR and MR outside the bounds that Hits@k give, and MRR outside those that Hits@k and MR give;
    filtered numbers worse than raw ones; numbers of both sides that are not the mean of head and tail; systems like a
    random order; AMR and AMRI that do not fit MR; Hits@k that no count of n ranks gives; and leads that rounding, one
    rank or sampling noise may explain.

    Parameters
    ----------
    table : PublishedTable
        The numbers as printed; see :func:`read_published_table`.
    data_set : str
        Of the numbers without one in the table: a name that ``kgtrec data list`` has, or any other.
    entities, triples : int, optional
        Entities of the data set, and its test triples; by default those known by the name. Without them the checks that
        need them are left out.
    chance : ChanceTable, optional
        Of the data set; by default the one that comes with kgtrec, if there is one.

    Returns
    -------
    PaperCheck
        Its findings are *impossible* where no ranks have such numbers, however they were rounded and whatever scores
        tied; *doubtful* where only cut digits, tied scores or other test triples explain them; or *notes*.

    Raises
    ------
    KgtrecError
        If sizes are given for a table of several data sets, or are not positive.

    Warns
    -----
    KgtrecWarning
        Of data sets whose sizes are not known.

    Examples
    --------
    >>> table = PublishedTable(
    ...     (
    ...         PublishedValue("a", "micro.Hits@1", ".20", 0.2, 0.01, 2),
    ...         PublishedValue("a", "micro.MRR", ".90", 0.9, 0.01, 2),
    ...     )
    ... )
    >>> found = check_paper(table, "fb15k-237").findings[0]
    >>> found.severity, found.measure, found.bound
    ('impossible', 'micro.MRR', '0.195055 to 0.6025')
    """
    for what, number in (("entities", entities), ("test triples", triples)):
        if number is not None and number < 1:
            raise KgtrecError(f"expected a number of {what} of at least 1, found {number}")
    if data_set:
        table = table.of_data_set(data_set)
    names = list(dict.fromkeys(value.data_set for value in table.values))
    if len(names) > 1 and not (entities is None and triples is None and chance is None):
        raise KgtrecError(f"expected a table of one data set with its size, found {', '.join(names)}")
    sizes = {name: size_of(name, entities=entities, triples=triples, chance=chance) for name in names}
    for name, size in sizes.items():
        if size.entities is None or size.triples is None:
            of = f"of {name} is not known" if name else "of the data set is not known"
            warn(f"the size {of}: checks that need its entities or test triples are left out; give its name or both")
    findings: list[PaperFinding] = []
    bounds: list[MeanBounds] = []
    kept = []
    for whole in _rows(table, sizes):
        row, outside = within_range(whole)
        falling = list(falling_hits(row))
        own_bounds, impossible = bounds_of(row, [*outside, *falling])
        findings += [*outside, *falling, *impossible, *against_chance(row), *unfitting_indices(row), *of_no_count(row)]
        bounds += own_bounds
        kept.append(row)
    findings += [*filtered_and_raw(kept), *both_sides(kept), *small_leads(kept)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return PaperCheck(
        table.name, tuple(findings), tuple(bounds), len(table), len({value.system for value in table.values})
    )


def _rows(table: PublishedTable, sizes: dict[str, Size]) -> list[Row]:
    """The numbers that come from the same ranks; a measure that comes again begins another row of its system."""
    by_row: dict[tuple[str, ...], list[dict[str, PublishedValue]]] = defaultdict(lambda: [{}])
    for value in table.values:
        level, _, name = value.measure.partition(".")
        rows_of_key = by_row[value.system, value.data_set, value.setting, value.side, value.part, level]
        if name in rows_of_key[-1]:
            rows_of_key.append({})
        rows_of_key[-1][name] = value
    rows = []
    for (system, data_set, setting, side, part, level), several in by_row.items():
        for place, values in enumerate(several):
            size, count = sizes[data_set], next(iter(values.values())).count
            ranks = size.ranks(level, side) if count is None or level == "macro" else count
            rows.append(Row(system, size, setting, side, part, level, values, place, ranks))
    return rows
