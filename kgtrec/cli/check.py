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
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.parquet import is_parquet
from kgtrec.formats.pools import POOL, SETTINGS
from kgtrec.formats.qrels import QrelsFile
from kgtrec.formats.runs import RunFile
from kgtrec.formats.sniff import read_any
from kgtrec.formats.topics import ENTITY_IDS, ENTITY_LABELS, read_entity_labels

_ENTITY_FILES = (ENTITY_LABELS, ENTITY_IDS)


@dataclass
class _Input:
    """Everything that was read, by file, and what is wrong with it, as text."""

    systems: dict[str, Run | AnswerRanks] = field(default_factory=dict)
    qrels: dict[str, Qrels] = field(default_factory=dict)
    topics: dict[str, Topics] = field(default_factory=dict)
    entities: dict[str, Vocabulary] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)  # file -> what is in it
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # file -> what is worth knowing, and not wrong
    wrong: dict[str, list[str]] = field(default_factory=dict)  # file -> findings


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> None:
    """Validate runs, qrels, topics and answer ranks, each alone and all of FILES together.

    A file's kind is told by its content; - is standard input. A collection stands for its topics.tsv, qrels.txt and
    entities. The folder of a campaign is read as a whole: its pool, which must be as it was made, and all that people
    edit or have said. Every recorded verdict is held against the rules by which kgtrec campaign import takes verdicts,
    in the order in which they were recorded: a person and role of people.tsv, a link for Y and N, no link but https,
    nobody in two roles on one triple, no correction older than what it corrects, an adjudicator only where annotators
    disagree or doubt. What may have been right when it was recorded is no finding: people who have left, corrections,
    verdicts on what is not assigned; links to hosts that sources.txt does not list now are told in a note, and so is
    who judged what where labels were published elsewhere.

    Beside what no reader accepts, these are findings: question ids that are not among the topics, entities that are not
    in the KG, questions that a run lacks, topics without judgements, several run tags in one file.

    Prints one line per file that is ok, one per finding (of the verdicts that no rule allows the first 20, and how
    many there are of each kind), and one per note. Exit code: 0 if all is ok, 2 if anything is found; a note is no
    finding.

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
            click.echo(line)
        if not wrong:
            click.echo(f"{file}: ok, {read.about[file]}")
        for note in read.notes.get(file, ()):
            click.echo(f"{file}: note: {note}")
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
    from kgtrec.campaign.check import check_judgements
    from kgtrec.formats import campaigns
    from kgtrec.formats.expert_samples import EXPERT_SAMPLE, is_drawn, read_expert_sample
    from kgtrec.formats.pools import AUTOMATIC, SEEDS
    from kgtrec.report.refusals import refusal_lines

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
        SEEDS: f"seeds: {counted(len(found.seeds), 'row')}",
        AUTOMATIC: f"automatic: {counted(automatic, 'triple')}",
    }
    if campaigns.is_initialised(folder):
        about |= {
            campaigns.PEOPLE: f"people: {counted(len(found.people.names), 'name')}",
            campaigns.TEMPLATES: f"templates: {counted(len(found.templates), 'relation')}",
            campaigns.SOURCES: f"sources: {counted(len(found.sources), 'host')}",
            campaigns.NAMES: f"names: {counted(len(found.names), 'name')} of the pool's entities",
            campaigns.ASSIGNMENTS: f"assignments: {counted(len(found.assignments), 'task')}",
            campaigns.JUDGEMENTS: f"judgements: {counted(len(found.judgements), 'event')}",
        }
    if sample is not None:
        about[EXPERT_SAMPLE] = f"expert sample: {counted(len(sample), 'triple')}"
    for name, text in about.items():
        path = str(Path(folder, name))
        read.wrong[path], read.about[path] = [], text
    if campaigns.is_initialised(folder):
        path = str(Path(folder, campaigns.JUDGEMENTS))
        checked = check_judgements(found, path)
        read.wrong[path], read.notes[path] = list(refusal_lines(checked.wrong)), checked.notes


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
