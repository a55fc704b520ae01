"""Numbers as a paper prints them: each with its digits, and with the values that it can be rounded from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from kgtrec.data.frames import Framed
from kgtrec.errors import KgtrecError

SINGLE_PRECISION = 1e-6  # relative error of a mean of many numbers of 32 bits; digits beyond it are not used


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A number of a table, and whose it is; empty where the table does not say."""

    system: str
    measure: str  # micro.MRR, macro.Hits@10, ...
    text: str  # as printed
    value: float  # shares as shares, also where they are printed as percentages
    unit: float  # value of one in the last printed digit
    line: int  # in the file
    data_set: str = ""
    setting: str = ""  # "filtered" or "raw"
    side: str = "both"  # of the questions: "both", "head" or "tail"
    part: str = ""  # of the table, where systems have several rows: "Depth 2"
    count: int | None = None  # ranks that the value is a mean of, where the table has them
    is_mean: bool = False  # of several runs: it is printed with a deviation

    @property
    def rounded(self) -> tuple[float, float]:
        """Lowest and highest number that is rounded to this one.

        Examples
        --------
        >>> [round(end, 5) for end in PublishedValue("a", "micro.MRR", ".338", 0.338, 0.001, 2).rounded]
        [0.3375, 0.3385]
        """
        room = max(self.unit / 2, SINGLE_PRECISION * abs(self.value))
        return self.value - room, self.value + room

    @property
    def cut(self) -> tuple[float, float]:
        """The same, or where further digits were cut off instead.

        Examples
        --------
        >>> [round(end, 5) for end in PublishedValue("a", "micro.MRR", ".338", 0.338, 0.001, 2).cut]
        [0.3375, 0.339]
        """
        low, high = self.rounded
        return min(low, self.value - self.unit * (self.value < 0)), max(high, self.value + self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable(Framed):
    """The numbers of a published table that are means of ranks or come from one, in the order of the file."""

    values: tuple[PublishedValue, ...]
    name: str = ""

    def of_data_set(self, name: str) -> PublishedTable:
        """The same with ``name`` for the data set of the numbers that have none.

        Raises
        ------
        KgtrecError
            If all of them have one.
        """
        if all(each.data_set for each in self.values):
            found = ", ".join(dict.fromkeys(each.data_set for each in self.values))
            raise KgtrecError(f"{self.name}: expected a table of one data set, found the table's own: {found}")
        return replace(self, values=tuple(replace(each, data_set=each.data_set or name) for each in self.values))

    def to_table(self) -> pa.Table:
        """Columns ``system, data_set, setting, side, part, measure, text, value, unit, line``."""
        names = ("system", "data_set", "setting", "side", "part", "measure", "text", "value", "unit", "line")
        return pa.table({name: [getattr(each, name) for each in self.values] for name in names})

    def __len__(self) -> int:
        return len(self.values)
