"""Systems that were trained several times, with other random seeds: which of them are one family."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import KgtrecError, nearest, warn

#: in place of a mapping: names say what was trained several times
SEEDS = "seeds"
_SEED = re.compile(r"(?P<family>.+?)[._-](s|seed)[._-]?[0-9]+", re.IGNORECASE | re.DOTALL)


def seeds_of(names: Sequence[str]) -> dict[str, str]:
    """Map the systems with the number of a seed at the end of their names to the rest of the name.

    Examples
    --------
    >>> seeds_of(["transe.s1", "transe.s2", "rotate-seed_7", "rules"])
    {'transe.s1': 'transe', 'transe.s2': 'transe', 'rotate-seed_7': 'rotate'}
    """
    return {name: found["family"] for name in names if (found := _SEED.fullmatch(name))}


def family_of_each(names: Sequence[str] | None, families: str | Mapping[str, str]) -> dict[str, str]:
    """Return the family of each system; without names only what is wrong in any case is refused.

    Raises
    ------
    KgtrecError
        If a family is given to a system that is not there, is no text, or has the name of a system outside it.

    Examples
    --------
    >>> family_of_each(["a.s1", "b", "a.s2"], "seeds")
    {'a.s1': 'a', 'b': 'b', 'a.s2': 'a'}
    """
    if not (isinstance(families, Mapping) or families == SEEDS):
        raise KgtrecError(f"expected {SEEDS!r} or a mapping from system to family, found {families!r}")
    family_of = families if isinstance(families, Mapping) else seeds_of(names or ())
    if wrong := next((name for name, family in family_of.items() if not isinstance(family or "", str)), None):
        raise KgtrecError(
            f"expected a text as the family of {wrong!r}, found {family_of[wrong]!r}; leave out one without"
        )
    if names is None:
        return {}
    if wrong := next((name for name in family_of if name not in names), None):
        raise KgtrecError(f"expected families of these systems, found {wrong!r}{nearest(str(wrong), names)}")
    named = set(family_of.values())
    if wrong := next((name for name in names if name in named and not family_of.get(name)), None):
        raise KgtrecError(
            f"expected another name for the family {wrong!r}, found a system of that name outside it; rename one, or "
            f"give the system that family too (--family {wrong}={wrong})"
        )
    return {name: family_of.get(name) or name for name in names}


def families_of(names: Sequence[str], families: str | Mapping[str, str]) -> dict[str, NDArray[np.intp]]:
    """Return the places of the systems of each family, by name; the families are in the order of their first ones.

    Parameters
    ----------
    names : sequence of str
        Of the systems.
    families : "seeds" or mapping of str to str
        System to family, or see :func:`seeds_of`. A system that has none counts as one.

    Raises
    ------
    KgtrecError
        As :func:`family_of_each`.

    Warns
    -----
    KgtrecWarning
        If no family has several systems.

    Examples
    --------
    >>> {family: own.tolist() for family, own in families_of(["a.s1", "b", "a.s2"], "seeds").items()}
    {'a': [0, 2], 'b': [1]}
    """
    family_of = family_of_each(names, families)
    # by name, so that no digit depends on the order of the systems
    places: dict[str, list[int]] = {family: [] for family in family_of.values()}
    for name in sorted(names):
        places[family_of[name]].append(names.index(name))
    if len(places) == len(names):
        warn(
            "no family has several systems, so deviations, intervals and tests are without seeds; names such as "
            "NAME.s1 and NAME.s2 are seeds of NAME, and a mapping or a file can name others"
        )
    return {family: np.array(own, np.intp) for family, own in places.items()}
