"""Where measures are registered; names.py looks them up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kgtrec.measures.record import Items, Measure

_MEASURES: list[Measure] = []
_NAMES: dict[str, tuple[Measure, Mapping[str, Any]]] = {}  # spelling -> the measure and the parameters it fixes
# "map_cut_{cutoff}" -> its form, the measure, the parameter in braces, and the other parameters that the spelling fixes
_PATTERNS: dict[str, tuple[re.Pattern[str], Measure, str, Mapping[str, Any]]] = {}


def register(measure: Measure) -> Measure:
    """Register a measure under its name, its aliases and trec_eval's names.

    Raises
    ------
    ValueError
        If one of them is taken.
    """
    aliases: dict[str, Mapping[str, Any]] = {**{name: {} for name in measure.trec_eval}, **measure.aliases}
    spellings = [measure.name, *(alias for alias in aliases if alias != measure.name)]
    if taken := [name for name in spellings if name in _NAMES or name in _PATTERNS]:
        raise ValueError(f"a measure named {taken[0]} is already registered")
    _MEASURES.append(measure)
    for name in spellings:
        parameter = re.search(r"[_.]\{(\w+)\}$", name)
        if parameter is None:
            _NAMES[name] = measure, aliases.get(name, {})
        else:
            # trec_eval prints map_cut_20 and reads map_cut.20
            form = re.escape(name[: parameter.start()]) + r"[_.](\d+(?:\.\d+)?)"
            _PATTERNS[name] = re.compile(form), measure, parameter[1], aliases[name]
    return measure


def registered(items: Items | None = None) -> tuple[Measure, ...]:
    """Return all measures, or those over answers or over questions, in the order of their registration."""
    return tuple(measure for measure in _MEASURES if items is None or measure.items == items)


def lookup(name: str) -> tuple[Measure, Mapping[str, Any]] | None:
    """Return the measure of that exact name or alias and the parameters that the alias fixes; None if there is none.

    A number inside a name such as ``map_cut_20`` is returned as it is written.
    """
    if name in _NAMES:
        return _NAMES[name]
    for form, measure, parameter, fixed in _PATTERNS.values():
        if match := form.fullmatch(name):
            return measure, {**fixed, parameter: match[1]}
    return None


def spellings(number: str = "10") -> Iterator[str]:
    """Return every name and alias, with ``number`` where trec_eval's names contain one."""
    yield from _NAMES
    for name in _PATTERNS:
        yield re.sub(r"\{\w+\}", number, name)
