"""Rounds of a campaign whose people judge a designed sample, each with the sample of the one before in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.data.campaign import Campaign
from kgtrec.data.design import DESIGNS
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.campaign.folder import read_campaign
from kgtrec.formats.campaign.pools import replace_design
from kgtrec.formats.files import PathLike
from kgtrec.formats.output.folders import DESIGN, JUDGEMENTS, SETTINGS
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.pooling.designs import draw_design


def draw_round(folder: PathLike, share: float, *, strategy: str | None = None) -> Campaign:
    """Draw a greater sample of a campaign's pool for its people to judge, or the first one while nobody has judged.

    It is the sample of :func:`kgtrec.pooling.draw_design` with the seed of the pool, so it contains the one before.
    What was judged stays; :func:`kgtrec.campaign.assign` gives out the new triples. ``campaign.json`` keeps the shares
    of all rounds.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    share : float
        Of the pool's triples, to be judged in all rounds together.
    strategy : {"two-level", "whole-questions"}, optional
        Default: that of the sample before, first two-level.

    Returns
    -------
    Campaign
        As it is now.

    Raises
    ------
    KgtrecError
        If the share is below that of the sample before, the strategy is another, or it cannot be drawn; then nothing
        is changed.
    FormatError
        If people judge the whole pool and somebody has judged; as :func:`kgtrec.campaign.read_campaign`.
    """
    with campaign_lock(folder):
        campaign = read_campaign(folder)
        if campaign.design is None and len(campaign.judgements):
            raise FormatError(
                "expected a campaign without judgements to draw its first sample, found some, of people who judge the "
                "whole pool; what they judge is not a random sample of it",
                path=Path(folder, JUDGEMENTS),
            )
        strategy, before = design_of(campaign, strategy)
        if share < before:
            raise KgtrecError(
                f"expected a share of {before:g} or more, which people judge already, found {share:g}; a sample only "
                "grows"
            )
        seed = int(campaign.settings.get("seed", 0))
        design = draw_design(
            campaign.pool, campaign.known_answers, campaign.automatic, strategy=strategy, share=share, seed=seed
        )
        old = campaign.design
        if old is not None and (len(old) != len(design) or np.any(old.is_drawn & ~design.is_drawn)):
            raise FormatError(
                "expected a sample that is part of the greater one, found another: it was drawn by another version of "
                "kgtrec or with another seed; go on with that version",
                path=Path(folder, DESIGN),
            )
        made = dict(campaign.settings.get("pool", {}))
        options = dict(made.get("options", {}))
        shares = options.get("shares", [before] if before else [])
        options |= {"share": share, "shares": list(dict.fromkeys([*shares, share]))}
        settings = dict(campaign.settings) | {"pool": made | {"strategy": strategy, "options": options}}
        replace_design(folder, settings, design, campaign.pool)
        return replace(campaign, design=design, automatic=campaign.automatic.with_design(design), settings=settings)


def design_of(campaign: Campaign, strategy: str | None = None) -> tuple[str, float]:
    """Return the strategy of a campaign's sample and its share, 0 where people judge the whole pool.

    Raises
    ------
    KgtrecError
        If another strategy is asked for.
    FormatError
        If the settings do not have them.
    """
    if campaign.design is None:
        return strategy or DESIGNS[0], 0.0
    made = campaign.settings.get("pool")
    options = made.get("options") if isinstance(made, Mapping) else None
    own: Any = made.get("strategy") if isinstance(made, Mapping) else None
    share: Any = options.get("share") if isinstance(options, Mapping) else None
    if own not in DESIGNS or not isinstance(share, int | float) or not 0 < share <= 1:
        raise FormatError(
            f"expected the strategy ({', '.join(DESIGNS)}) and the share of {DESIGN} under pool, found {own!r} and "
            f"{share!r}",
            path=SETTINGS,
        )
    if strategy not in (None, own):
        raise KgtrecError(f"expected the strategy of the sample that people judge, {own}, found {strategy}")
    return own, float(share)
