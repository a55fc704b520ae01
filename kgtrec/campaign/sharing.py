"""The triples of a campaign shared out among its annotators, and written to its folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kgtrec.campaign.assign import assign
from kgtrec.data.campaign import Assignments, Campaign, People
from kgtrec.formats.campaign.folder import write_assignments, write_people
from kgtrec.formats.campaign.pools import write_settings
from kgtrec.formats.files import PathLike


def shared_out(
    campaign: Campaign, *, people: People | None = None, per_triple: int | None = None, seed: int | None = None
) -> Campaign:
    """Share the open triples of a campaign out among its active annotators, see :func:`kgtrec.campaign.assign`.

    Parameters
    ----------
    campaign : Campaign
    people : People, optional
        Who takes part from now on. Default: as before.
    per_triple, seed : int, optional
        New settings. Default: as before.

    Returns
    -------
    Campaign
        For :func:`write_shares`.

    Raises
    ------
    KgtrecError
        If there are not enough active annotators.
    """
    new = {"annotators_per_triple": per_triple, "assignment_seed": seed}
    settings = dict(campaign.settings) | {name: number for name, number in new.items() if number is not None}
    changed = replace(campaign, settings=settings, people=campaign.people if people is None else people)
    assignments = assign(
        changed.pool,
        changed.automatic,
        changed.people,
        changed.judgements,
        changed.assignments,
        per_triple=changed.per_triple,
        seed=changed.assignment_seed,
    )
    return replace(changed, assignments=assignments)


def write_shares(folder: PathLike, campaign: Campaign, changed: Campaign) -> None:
    """Write what is different in a campaign after :func:`shared_out`.

    The caller holds the lock of the campaign (:func:`kgtrec.formats.output.locks.campaign_lock`).
    """
    if changed.settings != campaign.settings:  # first: whoever is stopped here can share out again without the options
        write_settings(folder, changed.settings)
    if changed.people is not campaign.people:
        write_people(folder, changed.people)
    write_assignments(folder, changed.pool, changed.assignments)


def moved_tasks(before: Assignments, after: Assignments) -> dict[str, tuple[int, int]]:
    """Count the tasks that each person loses and gets; those for whom nothing is different are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> people, tasks = Vocabulary.of(["ann", "bob"]), np.array([7, 5, 7])
    >>> before = Assignments(np.array([0, 0, 1]), tasks, people)
    >>> moved_tasks(before, Assignments(np.array([0, 1, 1]), tasks, people))
    {'ann': (1, 0), 'bob': (0, 1)}
    """
    old, new = (
        set(zip(own.annotators.decode(own.annotator).to_pylist(), own.triple.tolist(), strict=True))
        for own in (before, after)
    )
    lost, got = (Counter(person for person, _ in tasks) for tasks in (old - new, new - old))
    return {person: (lost[person], got[person]) for person in sorted({*lost, *got}, key=str.encode)}
