"""Plain tables of systems' scores, such as papers publish."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.frames import Framed
from kgtrec.data.scores import Scores
from kgtrec.errors import KgtrecError, nearest

_MANY_CELLS = 1 << 24
_CELLS_PER_VALUE = 1_000


def _size(digits: str) -> tuple[int, str]:
    """Sort key of whole numbers of any length, since Python converts at most 4,300 digits."""
    significant = digits.lstrip("0")
    return len(significant), significant


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable(Framed):
    """One number per system, measure and key, such as a pool depth; NaN where there is none."""

    systems: tuple[str, ...]  # distinct
    measures: tuple[str, ...]  # distinct, as the table spells them
    values: NDArray[np.float64]  # (systems, measures, keys)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> (keys,) labels; empty = one total
    name: str = ""  # of the labels that the scores were computed with, for messages and reports

    @classmethod
    def of_scores(cls, scores: Scores, name: str = "") -> ScoreTable:
        """The scores of :func:`kgtrec.evaluate`; the keys are what they are broken down by."""
        keys = {column: tuple(labels.to_pylist()) for column, labels in scores.items.items()}
        return cls(scores.systems, scores.measures, scores.values, keys, name)

    @classmethod
    def of_rows(
        cls,
        systems: Iterable[str],
        measures: Iterable[str],
        keys: Mapping[str, Iterable[str]],
        value: NDArray[np.float64],
        name: str = "",
    ) -> ScoreTable:
        """The table of one row per system, measure and key; key rows whose labels are all whole numbers are sorted.

        Parameters
        ----------
        systems, measures : (n,) labels
        keys : mapping from column to (n,) labels
        value : (n,) float array

        Raises
        ------
        KgtrecError
            If a system has two values for one measure and key, or nearly all cells would be empty.
        """
        places, labels = [], []
        for column in (systems, measures):
            found: dict[str, int] = {}
            places.append(np.array([found.setdefault(label, len(found)) for label in column], np.int64))
            labels.append(tuple(found))
        columns = {column: tuple(texts) for column, texts in keys.items()}
        rows: dict[tuple[str, ...], int] = {}
        ordered = list(zip(*columns.values(), strict=True)) or [()] * len(value)
        for row in ordered:
            rows.setdefault(row, len(rows))
        if rows and columns and all(label.isascii() and label.isdigit() for row in rows for label in row):
            rows = {row: place for place, row in enumerate(sorted(rows, key=lambda row: tuple(map(_size, row))))}
        places.append(np.array([rows[row] for row in ordered], np.int64))
        shape = (len(labels[0]), len(labels[1]), len(rows))
        if math.prod(shape) > max(_MANY_CELLS, _CELLS_PER_VALUE * len(value)):
            raise KgtrecError(
                f"expected a table in which systems have measures and keys in common, found {len(value):,} values of "
                f"{shape[0]:,} systems, {shape[1]:,} measures and {shape[2]:,} keys"
            )
        cell = np.ravel_multi_index(tuple(places), shape) if len(value) else np.empty(0, np.int64)
        used, first, count = np.unique(cell, return_index=True, return_counts=True)
        if len(used) < len(cell):
            again = first[np.argmax(count > 1)]
            told = [labels[0][places[0][again]], labels[1][places[1][again]], *ordered[again]]
            raise KgtrecError(f"expected one value of each system and measure, found another of {', '.join(told)}")
        values = np.full(shape, np.nan)
        values.reshape(-1)[cell] = value
        kept = {column: tuple(row[place] for row in rows) for place, column in enumerate(columns)}
        return cls(labels[0], labels[1], values, kept, name)

    @property
    def key_rows(self) -> tuple[tuple[str, ...], ...]:
        """(keys,) what identifies each key: one label per key column; one empty tuple where there are none."""
        return tuple(zip(*self.keys.values(), strict=True)) if self.keys else ((),)

    def at(self, **key: str) -> ScoreTable:
        """The rows of one label of a key column, which is then no longer a key: ``at(Depth="2")``.

        Raises
        ------
        KgtrecError
            If there is no such column or label.
        """
        kept = self
        for column, label in key.items():
            if column not in kept.keys:
                there = ", ".join(kept.keys) or "none"
                raise KgtrecError(f"expected a key column of the table ({there}), found {column!r}")
            rows = [place for place, found in enumerate(kept.keys[column]) if found == str(label)]
            if not rows:
                known = list(dict.fromkeys(kept.keys[column]))
                raise KgtrecError(
                    f"expected a {column} of the table ({', '.join(known[:12])}), found {str(label)!r}"
                    f"{nearest(str(label), known)}"
                )
            rest = {
                name: tuple(labels[place] for place in rows) for name, labels in kept.keys.items() if name != column
            }
            kept = replace(kept, values=kept.values[:, :, rows], keys=rest)
        return kept

    def to_table(self) -> pa.Table:
        """The long form: system, measure, the key columns, value; keys innermost."""
        scores = Scores(
            self.systems, self.measures, self.values, {name: pa.array(labels) for name, labels in self.keys.items()}
        )
        return scores.to_table()

    def __repr__(self) -> str:
        n_systems, n_measures, n_keys = self.values.shape
        per = f" per {', '.join(self.keys)} ({n_keys})" if self.keys else ""
        called = f" {self.name}:" if self.name else ""
        return f"<ScoreTable:{called} {n_systems} systems x {n_measures} measures{per}>"
