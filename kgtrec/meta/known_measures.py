"""The measures of the columns of a table of scores, and their directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from kgtrec.data.scores import ScoreTable
from kgtrec.errors import KgtrecError, MeasureError, nearest, one_of, some_of, warn
from kgtrec.evaluation.item_scores import higher_is_better
from kgtrec.measures.names import ParsedMeasure, ProvidedMeasure, parse_measure, parse_measures, two_meanings
from kgtrec.measures.registry import registered

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class KnownMeasure:
    """A column of a table of scores."""

    name: str  # in kgtrec's spelling, for any spelling of the column
    higher_is_better: bool


def known_measure(column: str, better: Mapping[str, Better] | None = None) -> KnownMeasure | None:
    """Return the measure of a column; None if kgtrec does not know it.

    Parameters
    ----------
    column : str
        A name that :func:`kgtrec.parse_measure` reads, or of the form ``micro_hits@10``, ``macro_mr``.
    better : mapping of str to {"higher", "lower"}, optional
        The direction of columns that kgtrec does not know.

    Raises
    ------
    MeasureError
        If the name could be a measure over answers or over questions.

    Examples
    --------
    >>> [known_measure(column) for column in ("micro_mr", "map_cut_20")]
    [KnownMeasure(name='micro.MR', higher_is_better=False), KnownMeasure(name='AP@20', higher_is_better=True)]
    >>> known_measure("seconds"), known_measure("seconds", {"seconds": "lower"})
    (None, KnownMeasure(name='seconds', higher_is_better=False))
    """
    if better and column in better:
        one_of(f"{column} to be better one of", better[column], get_args(Better))
        return KnownMeasure(column, better[column] == "higher")
    if wrong := two_meanings(column):
        raise MeasureError(wrong)
    try:
        measure = parse_measure(_dotted(column))
    except MeasureError:
        return None
    return KnownMeasure(_canonical(measure), higher_is_better(measure))


def _dotted(column: str) -> str:
    """``micro_hits@10`` and ``micro.hits@10`` as ``micro.Hits@10``; others unchanged."""
    level, rest = column.strip()[:5], column.strip()[5:]
    if rest[:1] in ("_", ".") and level.casefold() in ("micro", "macro"):
        rest = rest[1:]
        base, at, cutoff = rest.partition("@")
        folded = f"{level}.{base}".casefold()
        for measure in registered():
            if measure.name.casefold() == folded:
                return f"{measure.name}{at}{cutoff}"
    return column


def _canonical(measure: ParsedMeasure | ProvidedMeasure) -> str:
    if isinstance(measure, ProvidedMeasure):
        return measure.label
    record = measure.record
    at = None if record.cutoff == "none" else measure.parameters.get(record.at)
    given = {
        name: value
        for name, value in measure.parameters.items()
        if (name != record.at or record.cutoff == "none") and value != record.parameters.get(name)
    }
    inside = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return record.name + (f"({inside})" if inside else "") + ("" if at is None else f"@{at}")


def named(table: ScoreTable, better: Mapping[str, Better] | None = None) -> tuple[ScoreTable, dict[str, bool]]:
    """Return the table with kgtrec's names of its columns, without columns of unknown measures.

    Returns
    -------
    table : ScoreTable
    higher_is_better : dict of str to bool
        Of each of its measures.

    Raises
    ------
    KgtrecError
        If two columns are one measure.

    Warns
    -----
    KgtrecWarning
        Of columns that are left out.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable(("a",), ("micro_mr", "P_10"), np.ones((1, 2, 1)))
    >>> named(table)[1]
    {'micro.MR': False, 'P@10': True}
    """
    places, unknown = [], []
    found: dict[str, KnownMeasure] = {}
    spelled: dict[str, str] = {}
    for place, column in enumerate(table.measures):
        known = known_measure(column, better)
        if known is None:
            unknown.append(column)
            continue
        if known.name in found:
            raise KgtrecError(
                f"{_of(table)}expected each measure once, found both {spelled[known.name]!r} and {column!r}, "
                f"which are {known.name}; leave one out"
            )
        found[known.name], spelled[known.name] = known, column
        places.append(place)
    if unknown:
        warn(
            f"{_of(table)}left out {some_of(unknown)}: kgtrec knows no measure of that name, and "
            "whether higher is better (give --higher NAME or --lower NAME)"
        )
    kept = replace(table, measures=tuple(found), values=table.values[:, places])
    return kept, {name: known.higher_is_better for name, known in found.items()}


def asked_for(measures: Any, known: Mapping[str, bool], better: Mapping[str, Better] | None, where: str) -> list[str]:
    """Return the names of the requested measures, in kgtrec's spelling, all of which are in ``known``.

    ``measures`` is what :func:`kgtrec.evaluate` takes, or columns' names; None asks for all.

    Raises
    ------
    MeasureError
        If one is missing.

    Examples
    --------
    >>> asked_for(["map_cut_20", "RR"], {"RR": True, "AP@20": True, "P@5": True}, None, "the table")
    ['AP@20', 'RR']
    """
    if measures is None:
        return list(known)
    several = measures if isinstance(measures, list | tuple | set) else [measures]
    names = [name for one in several for name in _names_in(one, better)]
    for name in names:
        if name not in known:
            raise MeasureError(
                f"expected measures of {where}, found {name}, which has no scores there{nearest(name, known)}"
            )
    return list(dict.fromkeys(names))


def _names_in(measures: Any, better: Mapping[str, Better] | None) -> list[str]:
    """Names from one column's name, several names in one text, or measure objects."""
    if isinstance(measures, str):
        for parts in ([measures], measures.replace(",", " ").split()):
            known = [known_measure(part, better) for part in parts]
            names = [one.name for one in known if one is not None]
            if names and len(names) == len(parts):
                return names
    return [_canonical(measure) for measure in parse_measures(measures)]


def _of(table: ScoreTable) -> str:
    return f"{table.name}: " if table.name else ""
