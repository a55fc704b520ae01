"""Verdicts on their way into a campaign's folder: checked against what it holds, and appended, under one lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from kgtrec.campaign.accept import Accepted, RefusedError, accept, triples_of
from kgtrec.campaign.verdict_rules import has_half_a_pair
from kgtrec.data.campaign import Campaign
from kgtrec.data.incoming import Incoming
from kgtrec.formats.campaign.folder import (
    EDITED,
    read_campaign_without_judgements,
    require_initialised,
    require_whole_settings,
    reread,
)
from kgtrec.formats.campaign.judgements import JudgementWriter, ReadJudgements
from kgtrec.formats.campaign.parts import CampaignPart, Labels, read_part
from kgtrec.formats.campaign.pools import GUARDED, read_settings
from kgtrec.formats.files import FileState, PathLike
from kgtrec.formats.output.folders import JUDGEMENTS, RUNS, SETTINGS

POOL_FILES = (SETTINGS, *GUARDED, RUNS)
_FEW = 8  # triples up to which a search for each is sooner done than all of a large campaign is read


class Policies(TypedDict, total=False):
    """What :func:`kgtrec.campaign.accept` may be told to let pass."""

    correct: bool
    unassigned: bool
    keep_going: bool


class OpenCampaign:
    """The folder of a campaign, held open by a program that takes verdicts in, so that each costs what it costs.

    Other programs may add verdicts and people may edit files meanwhile: at each verdict it is looked whether anything
    has changed, and what has is read again; of the judgements only what was added, unless anything before was changed.
    Nothing is locked between two calls.

    The campaign is read when it is first needed. A program that stores a few verdicts and ends never reads all of it:
    see :func:`kgtrec.formats.campaign.parts.read_part`. One that goes on asks for :attr:`campaign` first.

    Parameters
    ----------
    folder : path

    Raises
    ------
    FormatError
        If it is not the folder of a campaign, or nobody can judge in it yet.

    Examples
    --------
    Store verdicts as they come, say from a form on a page::

        opened = OpenCampaign("campaign")
        opened.campaign  # reads it; a page needs it to show tasks
        opened.store([Incoming("page", "ann", "Y", 17, source="https://en.wikipedia.org/wiki/Paris")])
    """

    def __init__(self, folder: PathLike) -> None:
        require_initialised(folder)
        self.folder = Path(folder)
        self._campaign: Campaign | None = None  # with whatever judgements; those are in _said
        self._said: ReadJudgements | None = None
        self._states: dict[str, FileState | None] = {}

    @property
    def campaign(self) -> Campaign:
        """All that the folder holds now.

        Raises
        ------
        FormatError
            As :func:`kgtrec.campaign.read_campaign`.
        """
        campaign, said = self._updated()
        return replace(campaign, judgements=said.events)

    def store(self, incoming: Iterable[Incoming], *, time: str | None = None, **policies: Unpack[Policies]) -> Accepted:
        """Take verdicts in; whoever sees this return can rely on it that they are stored.

        What the campaign holds is read, the verdicts are checked against it, and appended, all under one lock, so that
        two programs at once can neither lose a verdict nor record it twice.

        Parameters
        ----------
        incoming : iterable of Incoming
        time : str, optional
            When they were given, UTC, as 2026-11-21T20:00:00Z. Default: now.
        **policies
            ``correct``, ``unassigned`` and ``keep_going``, as :func:`kgtrec.campaign.accept` takes them.

        Raises
        ------
        RefusedError
            If any verdict is refused; not with ``keep_going``. Nothing is stored then.
        FormatError
            If anything of the campaign that they depend on is wrong.
        """
        rows = list(incoming)
        with JudgementWriter(self.folder / JUDGEMENTS, make=False) as writer:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time is None else time
            if self._campaign is None and (part := self._part(rows, policies)) is not None:
                without_number = [replace(row, task=None) for row in rows]
                try:
                    accepted = accept(part.campaign, without_number, time=now, **policies)
                except RefusedError:
                    pass  # the whole campaign knows why
                else:
                    if not accepted.refused:
                        writer.append(part.campaign.pool, accepted.judgements)
                        whole = (part.task - 1)[accepted.judgements.triple].astype(np.int32)
                        return replace(accepted, judgements=replace(accepted.judgements, triple=whole))
            campaign, said = self._updated()
            about = said.about(np.unique(triples_of(campaign, rows)))
            accepted = accept(replace(campaign, judgements=about), rows, time=now, **policies)
            if len(accepted):
                writer.append(campaign.pool, accepted.judgements)
                said.update(only_ours=True)
            return accepted

    def _part(self, rows: Sequence[Incoming], policies: Policies) -> CampaignPart | None:
        """The part of the campaign that some verdicts are about; None where it does not do for them."""
        labels: list[Labels] = []
        for row in rows:
            if row.wrong or row.head is None or row.relation is None or row.tail is None:
                return None
            if any(map(has_half_a_pair, (row.head, row.relation, row.tail))):
                return None
            labels.append((row.head, row.relation, row.tail))
        if not 0 < len(set(labels)) <= _FEW:
            return None
        part = read_part(self.folder, labels)
        if part is None:
            return None
        is_right = all(row.task in (None, part.task_of(own)) for row, own in zip(rows, labels, strict=True))
        return part if is_right else None

    def _updated(self) -> tuple[Campaign, ReadJudgements]:
        """The campaign as it is in the folder now, but for its judgements, and these."""
        require_initialised(self.folder)
        states = {name: FileState.of(self.folder / name) for name in (*POOL_FILES, *EDITED)}  # before they are read
        changed = {name for name, state in states.items() if name not in self._states or state != self._states[name]}
        campaign, said = self._campaign, self._said
        if campaign is not None and changed.intersection(POOL_FILES) == {SETTINGS}:
            settings = read_settings(self.folder)  # assigning changes them, and no pool
            require_whole_settings(self.folder, settings)
            same_pool = settings["files"] == campaign.settings["files"]
            campaign = replace(campaign, settings=settings) if same_pool else None
        elif changed.intersection(POOL_FILES):
            campaign = None
        if campaign is None or said is None:
            campaign = read_campaign_without_judgements(self.folder)
            said = ReadJudgements(self.folder / JUDGEMENTS, campaign.pool)
        elif names := changed.intersection(EDITED):
            campaign = reread(self.folder, campaign, names)
        self._campaign, self._said = campaign, said
        self._states = {name: state for name, state in states.items() if state is None or state.is_old}
        said.update()
        return campaign, said
