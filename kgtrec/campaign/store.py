"""Storing verdicts in a campaign's folder: checked against its contents, and appended, under one lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kgtrec.campaign.accept import Accepted, accept, triples_about
from kgtrec.campaign.decide import decisions_of, states_of_triples
from kgtrec.data.campaign import Campaign
from kgtrec.data.judgements import Incoming
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import (
    EDITED,
    read_campaign_without_judgements,
    require_initialised,
    require_right_settings,
    reread,
)
from kgtrec.formats.campaign.judgements import JudgementsFile
from kgtrec.formats.campaign.pools import GUARDED, read_settings
from kgtrec.formats.files import FileState, PathLike
from kgtrec.formats.output.folders import DESIGN, GUIDELINES, JUDGEMENTS, RUNS, SETTINGS, TEMPLATES
from kgtrec.formats.output.locks import campaign_lock

POOL_FILES = (SETTINGS, *GUARDED, DESIGN, RUNS)


class OpenCampaign:
    """The folder of a campaign, kept open by a program that stores verdicts, so that each costs little.

    Other programs may add verdicts and people may edit files meanwhile: at each verdict changed files are detected and
    read again; of the judgements only the added ones, unless earlier lines were changed. Nothing is locked between two
    calls.

    Lines of templates.tsv that cannot be read are left out and kept in :attr:`broken`: nobody has to wait for who mends
    them.

    The campaign is read when it is first needed.

    Parameters
    ----------
    folder : path
        Folder of a campaign that is initialised.

    Raises
    ------
    FormatError
        If it is not the folder of a campaign, or the campaign is not initialised.

    Examples
    --------
    Store verdicts as they arrive, for example from a form on a page::

        opened = OpenCampaign("campaign")
        opened.store([Incoming("page", "ann", "Y", 17, source="https://en.wikipedia.org/wiki/Paris")])
    """

    def __init__(self, folder: PathLike) -> None:
        require_initialised(folder)
        self.folder = Path(folder)
        self._paths = {name: str(self.folder / name) for name in (*POOL_FILES, *EDITED, GUIDELINES)}
        self._campaign: Campaign | None = None  # with arbitrary judgements; the current ones are in _said
        self._judgements: JudgementsFile | None = None
        self._states: dict[str, FileState | None] = {}
        #: the edition of the events and what else decides; how many additions to them there were; the states then
        self._decided: tuple[tuple[object, ...], int, NDArray[np.int8]] = (), 0, np.zeros(0, np.int8)
        self.broken: list[FormatError] = []

    @property
    def campaign(self) -> Campaign:
        """The current contents of the folder.

        Raises
        ------
        FormatError
            As :func:`kgtrec.campaign.read_campaign`.
        """
        campaign, judgements = self._updated()
        return replace(campaign, judgements=judgements.events)

    def campaign_of(self, person: str) -> Campaign:
        """Read all that the folder holds now, but of the judgements only those of one person.

        What a page shows to somebody who judges blind. It costs much less than all of them where there are many.

        Raises
        ------
        FormatError
            As :func:`kgtrec.campaign.read_campaign`.
        """
        campaign, judgements = self._updated()
        return replace(campaign, judgements=judgements.of(person))

    def campaign_about(self, triples: NDArray[np.integer]) -> Campaign:
        """Read all that the folder holds now, but of the judgements only those on some of the pool's triples.

        Raises
        ------
        FormatError
            As :func:`kgtrec.campaign.read_campaign`.
        """
        campaign, judgements = self._updated()
        return replace(campaign, judgements=judgements.about(np.asarray(triples, np.intp)))

    def states(self) -> NDArray[np.int8]:
        """Find the state of each of the pool's triples now, (n,) row in ``STATES``, see :func:`kgtrec.campaign.decide`.

        After the first time it costs no more than what was added since.

        Raises
        ------
        FormatError
            As :func:`kgtrec.campaign.read_campaign`.
        """
        campaign, judgements = self._updated()
        decided_by = judgements.edition, campaign.automatic, campaign.per_triple
        before, n_added, states = self._decided
        if before != decided_by:
            states = decisions_of(replace(campaign, judgements=judgements.events)).state
        elif len(changed := np.unique(np.concatenate([np.zeros(0, np.intp), *judgements.added[n_added:]]))):
            states = states.copy()
            states[changed] = states_of_triples(replace(campaign, judgements=judgements.about(changed)), changed)
        self._decided = decided_by, len(judgements.added), states
        return states

    def store(self, incoming: Iterable[Incoming], *, time: str | None = None, **policies: bool) -> Accepted:
        """Store verdicts; when this returns, they are on the disk.

        The campaign is read, and the verdicts are checked against it and appended, all under one lock, so that
        two programs at once can neither lose a verdict nor record it twice.

        Parameters
        ----------
        incoming : iterable of Incoming
            The verdicts to store, in the order in which they were given.
        time : str, optional
            When they were given, UTC, as 2026-11-21T20:00:00Z. Default: now.
        **policies
            ``correct``, ``unassigned`` and ``keep_going``, as for :func:`kgtrec.campaign.accept`.

        Raises
        ------
        RefusedError
            If any verdict is refused; not with ``keep_going``. Then nothing is stored.
        FormatError
            If the campaign is malformed, or has lost its judgements.
        """
        rows, path = list(incoming), self.folder / JUDGEMENTS
        with campaign_lock(self.folder):
            if not path.exists():
                raise FormatError("expected the judgements of this campaign, found no such file; put it back", path)
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time is None else time
            campaign, judgements = self._updated()
            triples = triples_about(campaign, rows)
            known = replace(campaign, judgements=judgements.about(triples[triples >= 0]))
            accepted = accept(known, rows, time=now, triples=triples, **policies)
            judgements.append(accepted.judgements)
            return accepted

    def _updated(self) -> tuple[Campaign, JudgementsFile]:
        """The current campaign in the folder, with these judgements instead of its own."""
        states = {name: FileState.of(path) for name, path in self._paths.items()}  # before they are read
        changed = {name for name, state in states.items() if name not in self._states or state != self._states[name]}
        if changed:
            require_initialised(self.folder)
        campaign, judgements = self._campaign, self._judgements
        if campaign is not None and changed.intersection(POOL_FILES) == {SETTINGS}:
            settings = read_settings(self.folder)  # assigning changes the settings, but not the pool
            require_right_settings(self.folder, settings)
            same_pool = settings["files"] == campaign.settings["files"]
            campaign = replace(campaign, settings=settings) if same_pool else None
        elif changed.intersection(POOL_FILES):
            campaign = None
        broken: list[FormatError] = []
        if campaign is None or judgements is None:
            self.broken = broken
            campaign = read_campaign_without_judgements(self.folder, broken)
            judgements = JudgementsFile(self.folder / JUDGEMENTS, campaign.pool)
        elif names := changed.intersection(EDITED):
            self.broken = broken if TEMPLATES in names else self.broken
            campaign = reread(self.folder, campaign, names, broken)
        self._campaign, self._judgements = campaign, judgements
        if changed:
            self._states = {name: state for name, state in states.items() if state is None or state.is_old}
        judgements.update()
        return campaign, judgements
