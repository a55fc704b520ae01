"""How many entities and test triples the data set of a published table has, and its chance level."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgtrec.data.scores import ChanceTable
from kgtrec.data_sets.registry import list_data_sets
from kgtrec.errors import KgtrecError
from kgtrec.formats.chance_tables import read_chance_table, shipped_chance_tables


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of a data set; None where nothing is."""

    data_set: str
    entities: int | None = None
    triples: int | None = None  # in test
    chance: ChanceTable | None = None  # filtered

    def ranks(self, level: str, side: str) -> int | None:
        """Return how many ranks a mean is taken over: each test triple has one on either side.

        Examples
        --------
        >>> size = size_of("nations")
        >>> size.ranks("micro", "both"), size.ranks("micro", "tail"), size.ranks("macro", "both")
        (402, 201, 288)
        """
        if level == "micro" and self.triples is not None:
            return self.triples * (2 if side == "both" else 1)
        if self.chance is not None:
            for measure, own_side, items in zip(self.chance.measure, self.chance.side, self.chance.items, strict=True):
                if measure.startswith(f"{level}.") and own_side == side:
                    return int(items)
        return None

    def level(self, measure: str, side: str) -> tuple[float, float] | None:
        """Return expectation and variance of a measure by chance, None if they are not known."""
        try:
            return None if self.chance is None else self.chance.level(measure, side)
        except KgtrecError:
            return None


def known_names() -> list[str]:
    """Return every data set whose size is known."""
    return list(
        dict.fromkeys([found.name for found in list_data_sets(unconfirmed=True).data_sets] + shipped_chance_tables())
    )


def size_of(
    name: str, *, entities: int | None = None, triples: int | None = None, chance: ChanceTable | None = None
) -> Size:
    """Return the size of a data set: what is given, else what is known by its name, in any spelling.

    Examples
    --------
    >>> size = size_of("FB15k237")
    >>> size.data_set, size.entities, size.triples
    ('fb15k-237', 14541, 20466)
    >>> size_of("mine", entities=100).triples
    """
    plain = {re.sub(r"[^a-z0-9]", "", known.casefold()): known for known in known_names()}
    known = plain.get(re.sub(r"[^a-z0-9]", "", name.casefold()))
    if known is None:
        return Size(name, entities, triples, chance)
    registered = next((each for each in list_data_sets(unconfirmed=True).data_sets if each.name == known), None)
    if registered is not None:
        # the chance level is that of the data set as it is known, not of one with other numbers
        own = entities in (None, registered.entities) and triples in (None, registered.triples.get("test"))
        entities = registered.entities if entities is None else entities
        triples = registered.triples.get("test") if triples is None else triples
        if chance is None and own and known in shipped_chance_tables():
            chance = read_chance_table(known)
    return Size(known, entities, triples, chance)
