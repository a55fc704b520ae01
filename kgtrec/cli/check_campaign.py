"""What kgtrec check finds in the folder of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgtrec.campaign.check import check_judgements
from kgtrec.campaign.gold import gold_notes
from kgtrec.campaign.verdict_rules import refusal_lines
from kgtrec.errors import FormatError, KgtrecError, counted
from kgtrec.formats.campaign import folder as campaigns
from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.sent_back import read_sent_back
from kgtrec.formats.output import folders


@dataclass
class CheckedFile:
    """A file or folder with its content, its findings and notes."""

    path: str
    about: str = ""
    content: object = None  # None: it is not compared with other files
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what can be intended or an error

    def refuse(self, message: str, line: int | None = None) -> None:
        """Add a finding about this file."""
        self.wrong.append(str(FormatError(message, path=self.path, line=line)))

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Make an error of the block a finding."""
        try:
            yield
        except KgtrecError as error:
            self.wrong.append(str(error))


def checked_campaign(folder: str) -> dict[str, CheckedFile]:
    """Check the files of a campaign, each by itself; or the folder, if it is no campaign."""
    is_initialised = campaigns.is_initialised(folder)
    try:
        campaign = campaigns.read_campaign_without_judgements(folder)
        if is_initialised:
            judgements = read_judgements(Path(folder, folders.JUDGEMENTS), campaign.pool, as_written=True)
            campaign = replace(campaign, judgements=judgements)
        sample = read_expert_sample(folder, campaign.pool) if is_drawn(folder) else None
        sent_back = read_sent_back(folder)
    except KgtrecError as error:
        return {folder: CheckedFile(folder, wrong=[str(error)])}
    pool, described = campaign.pool, Path(folder, folders.DESCRIPTIONS).exists()
    automatic, sampled = int(campaign.automatic.is_automatic.sum()), 0 if sample is None else len(sample)
    asked = f"{counted(len(pool), 'triple')} for {counted(len(pool.questions), 'question')}"
    contents = (  # file, whether it is there, what it holds
        (folders.POOL, True, f"pool: {asked} out of {counted(len(pool.runs), 'run')}"),
        (folders.SEEDS, True, f"known answers: {counted(len(campaign.known_answers), 'row')}"),
        (folders.AUTOMATIC, True, f"automatic: {counted(automatic, 'triple')}"),
        (folders.PEOPLE, is_initialised, f"people: {counted(len(campaign.people.names), 'name')}"),
        (folders.TEMPLATES, is_initialised, f"templates: {counted(len(campaign.templates), 'relation')}"),
        (folders.SOURCES, is_initialised, f"sources: {counted(len(campaign.sources), 'host')}"),
        (folders.NAMES, is_initialised, f"names: {counted(len(campaign.names), 'name')} of the pool's entities"),
        (folders.ASSIGNMENTS, is_initialised, f"assignments: {counted(len(campaign.assignments), 'task')}"),
        (folders.JUDGEMENTS, is_initialised, f"judgements: {counted(len(campaign.judgements), 'event')}"),
        (
            folders.DESCRIPTIONS,
            described,
            f"descriptions: {counted(len(campaign.descriptions), 'description')} of the pool's entities",
        ),
        (folders.EXPERT_SAMPLE, sample is not None, f"expert sample: {counted(sampled, 'triple')}"),
        (folders.GOLD, len(campaign.gold), f"gold: {counted(len(campaign.gold), 'triple')}"),
        (folders.SENT_BACK, sent_back, f"sent back: {counted(len(sent_back), 'verdict')}"),
    )
    files = {name: CheckedFile(str(Path(folder, name)), about) for name, is_there, about in contents if is_there}
    if is_initialised:
        file = files[folders.JUDGEMENTS]
        checked = check_judgements(campaign, file.path)
        file.wrong += refusal_lines(checked.wrong)
        file.notes += checked.notes
    if len(campaign.gold):
        files[folders.GOLD].notes += gold_notes(campaign).splitlines()
    return {file.path: file for file in files.values()}
