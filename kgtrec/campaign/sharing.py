"""The triples of a campaign shared out among its annotators, and written to its folder."""

from __future__ import annotations

from dataclasses import replace

from kgtrec.campaign.assign import assign
from kgtrec.data.campaign import Campaign, People
from kgtrec.formats.campaign.folder import write_assignments, write_people, write_settings
from kgtrec.formats.files import PathLike


def share_out(
    folder: PathLike,
    campaign: Campaign,
    *,
    people: People | None = None,
    per_triple: int | None = None,
    seed: int | None = None,
) -> Campaign:
    """Share the open triples of a campaign out among its active annotators, see :func:`kgtrec.campaign.assign`.

    Parameters
    ----------
    folder : path
        Of the campaign, whose lock the caller holds (:func:`kgtrec.formats.output.locks.campaign_lock`).
    campaign : Campaign
        What the folder holds now.
    people : People, optional
        Others who take part from now on; they are written too, once the triples can be shared out among them.
    per_triple, seed : int, optional
        New settings. Default: as before.

    Returns
    -------
    Campaign
        What the folder holds then.

    Raises
    ------
    KgtrecError
        If there are not enough active annotators; nothing is written then.
    """
    settings = dict(campaign.settings)
    if per_triple is not None:
        settings["annotators_per_triple"] = per_triple
    if seed is not None:
        settings["assignment_seed"] = seed
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
    if settings != campaign.settings:  # first: whoever is stopped here can share out again without the options
        write_settings(folder, settings)
    if changed.people is not campaign.people:
        write_people(folder, changed.people)
    write_assignments(folder, changed.pool, assignments)
    return replace(changed, assignments=assignments)
