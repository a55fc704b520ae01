"""Changes of who takes part in a campaign: somebody comes, leaves, or is back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kgtrec.data.campaign import PERSON_ROLES, People
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, nearest
from kgtrec.formats.campaign.folder import judging_manager_text, read_people, write_people
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import PEOPLE
from kgtrec.formats.output.locks import campaign_lock

LONGEST_NAME = 200  # characters


def changed_people(
    people: People, named: Mapping[int, Sequence[str]], left: Sequence[str] = ()
) -> tuple[People, list[str]]:
    """Add people, and note who has left; nobody is ever removed.

    Parameters
    ----------
    people : People
    named : mapping of int to sequence of str
        Row in ``PERSON_ROLES`` -> who takes part in that role from now on.
    left : sequence of str
        Who takes part in no role any more.

    Returns
    -------
    People
        The same object where nothing is different.
    list of str
        What is different, in words.

    Raises
    ------
    KgtrecError
        If a name is not one line of text without white space around it, or too long; if nobody has the name of who has
        left; if somebody would both manage and judge.

    Examples
    --------
    >>> people, changes = changed_people(People.none(), {0: ["ann"], 3: ["max"]})
    >>> changes
    ['ann is now annotator', 'max is now manager']
    >>> changed_people(people, {}, ["ann"])[1]
    ['ann has left as annotator']
    """
    rows = {
        (people.names[person], int(role)): bool(active)
        for person, role, active in zip(people.person, people.role, people.is_active, strict=True)
    }
    before, changes = dict(rows), []
    for role, names in named.items():
        for name in names:
            if name != " ".join(name.split()) or not name.isprintable() or not name:
                raise KgtrecError(f"expected a name without white space around it, of one line, got {name!r}")
            if len(name) > LONGEST_NAME:
                raise KgtrecError(f"expected a name of at most {LONGEST_NAME} characters, got {len(name):,}")
            if not rows.get((name, role), False):
                changes.append(f"{name} is {'back as' if (name, role) in rows else 'now'} {PERSON_ROLES[role]}")
            rows[name, role] = True
    everybody = {name for name, _ in rows}
    for name in left:
        if name not in everybody:
            raise KgtrecError(f"expected somebody of {PEOPLE} who has left, got {name!r}{nearest(name, everybody)}")
        if any(name in names for names in named.values()):
            raise KgtrecError(f"expected {name!r} either to take part or to have left, got both")
        for key in [key for key in rows if key[0] == name and rows[key]]:
            rows[key] = False
            changes.append(f"{name} has left as {PERSON_ROLES[key[1]]}")
    if rows == before:
        return people, changes
    names_of, person = Vocabulary.encoding([name for name, _ in rows])
    role_of = np.array([role for _, role in rows], np.int8)
    changed = People(names_of, person, role_of, np.array(list(rows.values()), np.bool_))
    if both := changed.judging_managers:
        raise KgtrecError(judging_manager_text(both[0]))
    return changed, changes


def change_people(folder: PathLike, named: Mapping[int, Sequence[str]], left: Sequence[str] = ()) -> list[str]:
    """Change who takes part in the campaign of a folder, by :func:`changed_people`.

    Returns
    -------
    list of str
        What is different, in words; nothing is written where it is empty.

    Raises
    ------
    KgtrecError
        As :func:`changed_people`; nothing is written then.
    """
    path = Path(folder, PEOPLE)
    with campaign_lock(folder):
        people, changes = changed_people(read_people(path), named, left)
        if changes:
            write_people(folder, people)
        return changes
