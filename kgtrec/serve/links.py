"""Personal links: who has one, and new ones."""

from __future__ import annotations

from collections.abc import Mapping

from kgtrec.campaign.verdict_rules import roles_of
from kgtrec.data.campaign import People
from kgtrec.errors import KgtrecError, nearest
from kgtrec.serve.auth import Gate


def active_roles(people: People) -> dict[str, list[str]]:
    """Everybody who takes part -> as what, in the order of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> active_roles(People(Vocabulary.of(["ann", "bob"]), np.array([0, 1]), np.array([0, 0]), np.array([True, False])))
    {'ann': ['annotator']}
    """
    found = {name: [role for role, active in roles.items() if active] for name, roles in roles_of(people).items()}
    return {name: roles for name, roles in found.items() if roles}


def new_link(gate: Gate, url: str, person: str, roles: Mapping[str, list[str]]) -> str:
    """A new link for one of the people, as they open it; the one they had is void.

    Raises
    ------
    KgtrecError
        If nobody of that name takes part.
    """
    if person not in roles:
        raise KgtrecError(
            f"expected somebody who takes part, found {person!r}{nearest(person, roles)}; see people.tsv, and name "
            "people with kgtrec campaign init"
        )
    return f"{url}/in/{gate.new_link(person)}"
