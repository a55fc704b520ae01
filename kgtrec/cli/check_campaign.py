"""What kgtrec check finds in the folder of a campaign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgtrec.errors import FormatError, KgtrecError, counted
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
    from kgtrec.campaign.check import check_judgements
    from kgtrec.campaign.gold import gold_notes
    from kgtrec.campaign.verdict_rules import refusal_lines
    from kgtrec.formats.campaign import folder as campaigns
    from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample
    from kgtrec.formats.campaign.judgements import read_judgements
    from kgtrec.formats.campaign.sent_back import read_sent_back

    try:
        campaign = campaigns.read_campaign_without_judgements(folder)
        if campaigns.is_initialised(folder):
            judgements = read_judgements(Path(folder, folders.JUDGEMENTS), campaign.pool, as_written=True)
            campaign = replace(campaign, judgements=judgements)
        sample = read_expert_sample(folder, campaign.pool) if is_drawn(folder) else None
        sent_back = read_sent_back(folder)
    except KgtrecError as error:
        return {folder: CheckedFile(folder, wrong=[str(error)])}
    pool, automatic = campaign.pool, int(campaign.automatic.is_automatic.sum())
    about = {
        folders.POOL: f"pool: {counted(len(pool), 'triple')} for {counted(len(pool.questions), 'question')} out of "
        f"{counted(len(pool.runs), 'run')}",
        folders.SEEDS: f"known answers: {counted(len(campaign.known_answers), 'row')}",
        folders.AUTOMATIC: f"automatic: {counted(automatic, 'triple')}",
    }
    if campaigns.is_initialised(folder):
        about |= {
            folders.PEOPLE: f"people: {counted(len(campaign.people.names), 'name')}",
            folders.TEMPLATES: f"templates: {counted(len(campaign.templates), 'relation')}",
            folders.SOURCES: f"sources: {counted(len(campaign.sources), 'host')}",
            folders.NAMES: f"names: {counted(len(campaign.names), 'name')} of the pool's entities",
            folders.ASSIGNMENTS: f"assignments: {counted(len(campaign.assignments), 'task')}",
            folders.JUDGEMENTS: f"judgements: {counted(len(campaign.judgements), 'event')}",
        }
    if Path(folder, folders.DESCRIPTIONS).exists():
        about[folders.DESCRIPTIONS] = (
            f"descriptions: {counted(len(campaign.descriptions), 'description')} of the pool's entities"
        )
    if sample is not None:
        about[folders.EXPERT_SAMPLE] = f"expert sample: {counted(len(sample), 'triple')}"
    if len(campaign.gold):
        about[folders.GOLD] = f"gold: {counted(len(campaign.gold), 'triple')}"
    if sent_back:
        about[folders.SENT_BACK] = f"sent back: {counted(len(sent_back), 'verdict')}"
    files = {path: CheckedFile(path, text) for name, text in about.items() if (path := str(Path(folder, name)))}
    if campaigns.is_initialised(folder):
        path = str(Path(folder, folders.JUDGEMENTS))
        checked = check_judgements(campaign, path)
        files[path].wrong += refusal_lines(checked.wrong)
        files[path].notes += checked.notes
    if len(campaign.gold):
        files[str(Path(folder, folders.GOLD))].notes += gold_notes(campaign).splitlines()
    return files
