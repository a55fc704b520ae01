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
    """The files of a campaign, with what is in each and what is wrong with it; the folder, if it is no campaign."""
    from kgtrec.campaign.check import check_judgements
    from kgtrec.campaign.gold import gold_notes
    from kgtrec.formats.campaign import folder as campaigns
    from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample
    from kgtrec.formats.campaign.judgements import read_judgements
    from kgtrec.formats.campaign.sent_back import read_sent_back
    from kgtrec.report.refusals import refusal_lines

    try:
        found = campaigns.read_campaign_without_judgements(folder)
        if campaigns.is_initialised(folder):
            said = read_judgements(Path(folder, folders.JUDGEMENTS), found.pool, as_written=True)
            found = replace(found, judgements=said)
        sample = read_expert_sample(folder, found.pool) if is_drawn(folder) else None
        sent_back = read_sent_back(folder)
    except KgtrecError as error:
        return {folder: CheckedFile(folder, wrong=[str(error)])}
    pool, automatic = found.pool, int(found.automatic.is_automatic.sum())
    about = {
        folders.POOL: f"pool: {counted(len(pool), 'triple')} for {counted(len(pool.questions), 'question')} out of "
        f"{counted(len(pool.runs), 'run')}",
        folders.SEEDS: f"known answers: {counted(len(found.known_answers), 'row')}",
        folders.AUTOMATIC: f"automatic: {counted(automatic, 'triple')}",
    }
    if campaigns.is_initialised(folder):
        about |= {
            folders.PEOPLE: f"people: {counted(len(found.people.names), 'name')}",
            folders.TEMPLATES: f"templates: {counted(len(found.templates), 'relation')}",
            folders.SOURCES: f"sources: {counted(len(found.sources), 'host')}",
            folders.NAMES: f"names: {counted(len(found.names), 'name')} of the pool's entities",
            folders.ASSIGNMENTS: f"assignments: {counted(len(found.assignments), 'task')}",
            folders.JUDGEMENTS: f"judgements: {counted(len(found.judgements), 'event')}",
        }
    if Path(folder, folders.DESCRIPTIONS).exists():
        about[folders.DESCRIPTIONS] = (
            f"descriptions: {counted(len(found.descriptions), 'description')} of the pool's entities"
        )
    if sample is not None:
        about[folders.EXPERT_SAMPLE] = f"expert sample: {counted(len(sample), 'triple')}"
    if len(found.gold):
        about[folders.GOLD] = f"gold: {counted(len(found.gold), 'triple')}"
    if sent_back:
        about[folders.SENT_BACK] = f"sent back: {counted(len(sent_back), 'verdict')}"
    files = {path: CheckedFile(path, text) for name, text in about.items() if (path := str(Path(folder, name)))}
    if campaigns.is_initialised(folder):
        path = str(Path(folder, folders.JUDGEMENTS))
        checked = check_judgements(found, path)
        files[path].wrong += refusal_lines(checked.wrong)
        files[path].notes += checked.notes
    if len(found.gold):
        files[str(Path(folder, folders.GOLD))].notes += gold_notes(found).splitlines()
    return files
