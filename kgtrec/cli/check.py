"""kgtrec check."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import click

from kgtrec.checking import Finding, check_together
from kgtrec.cli.common import counted
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.topics import Topics
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, legible
from kgtrec.formats.folders import ENTITY_IDS, ENTITY_LABELS, POOL, SETTINGS
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.qrels import QrelsFile
from kgtrec.formats.runs import RunFile
from kgtrec.formats.sniff import read_any
from kgtrec.formats.topics import read_entity_labels

_ENTITY_FILES = (ENTITY_LABELS, ENTITY_IDS)


@dataclass
class _Input:
    """Everything that was read, by file, and what is wrong with it, as text."""

    systems: dict[str, Run | AnswerRanks] = field(default_factory=dict)
    qrels: dict[str, Qrels] = field(default_factory=dict)
    topics: dict[str, Topics] = field(default_factory=dict)
    entities: dict[str, Vocabulary] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)  # file -> what is in it
    wrong: dict[str, list[str]] = field(default_factory=dict)  # file -> findings


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> None:
    """Validate runs, qrels, topics and answer ranks, each alone and all of FILES together.

    A file's kind is told by its content; - is standard input. A collection stands for its topics.tsv, qrels.txt and
    entities. The folder of a campaign is read as a whole: its pool, which must be as it was made, and all that people
    edit or have said. Beside what no reader accepts, these are findings: question ids that are not among the topics,
    entities that are not in the KG, questions that a run lacks, topics without judgements, several run tags in one
    file.

    Prints one line per file that is ok, and one per finding. Exit code: 0 if all is ok, 2 if anything is found.

    \b
    kgtrec check transe.run.gz
    kgtrec check topics.tsv qrels.txt transe.run.gz
    kgtrec check COLLECTION ranks/*
    kgtrec check CAMPAIGN
    """
    read = _Input()
    for file in dict.fromkeys(_expanded(files)):
        if Path(file).is_dir():
            _read_campaign(file, read)
        else:
            _read(file, read)
    for finding in check_together(read.systems, read.qrels, read.topics, read.entities):
        read.wrong[finding.source].append(_placed(finding, read))
    for file, wrong in read.wrong.items():
        for line in wrong:
            click.echo(legible(line))
        if not wrong:
            click.echo(legible(f"{file}: ok, {read.about[file]}"))
    if any(read.wrong.values()):
        sys.exit(2)


def _expanded(files: tuple[str, ...]) -> list[str]:
    """The files, and for a folder those of the collection in it; that of a campaign stays one."""
    found: list[str] = []
    for file in files:
        if not Path(file).is_dir() or any(Path(file, name).exists() for name in (POOL, SETTINGS)):
            found.append(file)
            continue
        parts = [Path(file, name) for name in ("topics.tsv", "qrels.txt")]
        parts += [Path(file, name) for name in _ENTITY_FILES if Path(file, name).exists()]
        if not any(part.exists() for part in parts):
            raise FormatError(
                "expected a collection with topics.tsv and qrels.txt, or a campaign, found another folder", path=file
            )
        found += map(str, parts)
    return found


def _read(file: str, read: _Input) -> None:
    read.wrong[file] = []
    try:
        found = read_entity_labels(file) if Path(file).name in _ENTITY_FILES else read_any(file)
    except KgtrecError as error:
        read.wrong[file].append(str(error))
        return
    if isinstance(found, RunFile):
        run = found.run
        read.systems[file] = run
        read.about[file] = f"run {run.name!r}: {counted(len(run), 'row')}, {counted(len(run.questions), 'question')}"
        read.wrong[file] += _tags(file, found)
    elif isinstance(found, AnswerRanks):
        read.systems[file] = found
        read.about[file] = f"answer ranks {found.name!r}: {counted(len(found), 'row')}"
    elif isinstance(found, QrelsFile):
        qrels = found.qrels
        read.qrels[file] = qrels
        read.about[file] = f"qrels: {counted(len(qrels), 'row')}, {counted(len(qrels.questions), 'question')}"
    elif isinstance(found, Topics):
        read.topics[file] = found
        read.about[file] = f"topics: {counted(len(found), 'question')}"
    else:
        read.entities[file] = found
        read.about[file] = f"entities: {counted(len(found), 'label')}"


def _read_campaign(folder: str, read: _Input) -> None:
    from kgtrec.formats import campaigns, folders
    from kgtrec.formats.expert_samples import is_drawn, read_expert_sample

    try:
        found = campaigns.read_campaign(folder)
        sample = read_expert_sample(folder, found.pool) if is_drawn(folder) else None
    except KgtrecError as error:
        read.wrong[folder] = [str(error)]
        return
    pool, automatic = found.pool, int(found.automatic.is_automatic.sum())
    about = {
        POOL: f"pool: {counted(len(pool), 'triple')} for {counted(len(pool.questions), 'question')} out of "
        f"{counted(len(pool.runs), 'run')}",
        folders.SEEDS: f"seeds: {counted(len(found.seeds), 'row')}",
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
    if sample is not None:
        about[folders.EXPERT_SAMPLE] = f"expert sample: {counted(len(sample), 'triple')}"
    for name, text in about.items():
        path = str(Path(folder, name))
        read.wrong[path], read.about[path] = [], text


def _tags(file: str, found: RunFile) -> list[str]:
    (first, first_line), *others = found.tags.items()
    if not others:
        return []
    message = f"expected one run tag, found {len(found.tags)}: {others[0][0]!r} here, {first!r} on line {first_line}"
    return [str(FormatError(f"{message}; write one file per system", path=file, line=others[0][1]))]


def _placed(finding: Finding, read: _Input) -> str:
    """A finding as a line of text, with the line of its file where it has one; the file is read again for that."""
    file, line = finding.source, None
    if finding.column and file != "-" and not is_parquet(file):
        again = read_any(file, "qrels" if file in read.qrels else "run")
        if isinstance(again, RunFile | QrelsFile) and again.columns is not None:
            line = again.columns.line(again.columns.first_row(finding.column, finding.label))
    return str(FormatError(finding.message, path=file, line=line))
