"""kgtrec check."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from kgtrec.collection.check import Finding, check_together
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection, has_validation
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Topics
from kgtrec.data.run import AnyRun, Run, StreamedRun
from kgtrec.data.triples import plain
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning, counted, legible, unwarned
from kgtrec.evaluation.belonging import Belonging
from kgtrec.evaluation.given import System
from kgtrec.evaluation.matching import match, unranked
from kgtrec.evaluation.plausibility import (
    against_chance,
    doubtful_triples,
    filtered_listed,
    no_better_than_chance,
    of_other_questions,
    questions_of_one_score,
    ranks_off,
    read_ranks,
)
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import OWN_FILES, damaged_parts, read_collection
from kgtrec.formats.contents import kind_of_parquet
from kgtrec.formats.factor_folders import FACTORS, read_factor_folder
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.formats.output import folders
from kgtrec.formats.parquet import holds_ranks, is_in_parts, is_parquet, read_schema
from kgtrec.formats.score_matrix import order_beside, read_score_matrix
from kgtrec.formats.sniff import read_any
from kgtrec.formats.trec.origins import is_origin_path, origin_path, read_origin
from kgtrec.formats.trec.qrels import QrelsFile
from kgtrec.formats.trec.runs import RunFile, default_name
from kgtrec.formats.trec.streamed_runs import is_streamed, open_run
from kgtrec.formats.trec.text import TextColumns
from kgtrec.formats.trec.topics import read_entity_labels
from kgtrec.study.folder import damaged_steps, is_study, read_study
from kgtrec.study.steps import STEP, damaged_files

_ENTITY_FILES = (folders.ENTITY_LABELS, folders.ENTITY_IDS)
_QRELS_BY_DEPTH = "qrels.depth*.txt"
_RUNS = (".ranks.parquet", ".run", ".run.gz", ".run.zst", ".ranks")
_FLAT_WORTH_TELLING = 0.1  # with a smaller share of lists without an order, some hard questions may be the reason
_SPLITS = {"train": "train", "valid": "valid", "test": "test triples that were left out"}


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


Checked = dict[str, CheckedFile]


def _contents_of(checked: Checked, kinds: Any) -> dict[str, Any]:
    return {path: file.content for path, file in checked.items() if isinstance(file.content, kinds)}


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> None:
    """Validate FILES, each by itself and all together: runs, qrels, topics, answer ranks, and the folders of
    collections, campaigns and studies. The exit code is 2 if there is a finding, 0 if there are only notes.

    \b
    # a run with the topics and qrels it belongs to
    kgtrec check topics.tsv qrels.txt transe.run.gz
    # a collection, and the systems of a folder
    kgtrec check COLLECTION ranks

    Docs: docs/files.md
    """
    checked: Checked = {}
    for file in dict.fromkeys(files):
        if Path(file).is_dir() and not is_in_parts(Path(file)):
            _add_folder(file, checked)
        else:
            _add_file(file, checked)
    _check_together(checked)
    lines: list[str] = []
    for file, entry in checked.items():
        lines += [*entry.wrong, *(f"{file}: note: {note}" for note in entry.notes)]
        lines += [] if entry.wrong else [f"{file}: ok, {entry.about}"]
    for line in dict.fromkeys(lines):  # what is wrong with two files together is found in both
        click.echo(legible(line))
    if any(entry.wrong for entry in checked.values()):
        sys.exit(2)


def _add_folder(folder: str, checked: Checked) -> None:
    path = Path(folder)
    if any((path / name).exists() for name in (folders.POOL, folders.SETTINGS)):
        checked |= _checked_campaign(folder)
    elif is_study(path):
        entry = checked[folder] = CheckedFile(folder)
        with entry.reading():
            study, steps = read_study(folder), sum(1 for _ in Path(folder, folders.STEPS).glob(f"*/{STEP}"))
            entry.wrong += [str(error) for error in damaged_steps(folder)]
            entry.about = (
                f"study: {counted(len(study.systems), 'system')}, {counted(len(study.labels), 'label set')}, "
                f"{counted(len(study.tables), 'table')}, {counted(steps, 'step')}"
            )
    elif (path / STEP).exists():
        about = f"step: {counted(sum(1 for file in path.rglob('*') if file.is_file()) - 1, 'file')}"
        checked[folder] = CheckedFile(folder, about, wrong=[str(error) for error in damaged_files(path)])
    elif (path / FACTORS).exists():
        entry = checked[folder] = CheckedFile(folder)
        with entry.reading():
            entry.content = labels = read_factor_folder(folder).entities
            entry.about = f"factors: {counted(len(labels), 'entity label')}"
    elif parts := list(_parts(path)):
        for part in parts:
            _add_file(part, checked)
        if any((path / name).exists() for name in OWN_FILES):
            _add_collection(folder, checked)
    elif systems := sorted(str(file) for file in path.iterdir() if _is_system(file)):
        for file in systems:
            _add_file(file, checked)
    else:
        checked[folder] = CheckedFile(folder)
        checked[folder].refuse(
            "expected the folder of a collection, a campaign, a study, or runs and answer ranks, found another one"
        )


def _checked_campaign(folder: str) -> dict[str, CheckedFile]:
    """Check the files of a campaign, each by itself; or the folder, if it is no campaign."""
    from kgtrec.campaign.check import check_judgements
    from kgtrec.campaign.gold import gold_notes
    from kgtrec.campaign.verdict_rules import refusal_lines
    from kgtrec.formats.campaign import folder as campaigns
    from kgtrec.formats.campaign.expert_samples import is_drawn, read_expert_sample
    from kgtrec.formats.campaign.judgements import read_judgements
    from kgtrec.formats.campaign.machines import machines_in, read_machine
    from kgtrec.formats.campaign.sent_back import read_sent_back

    is_initialised = campaigns.is_initialised(folder)
    try:
        campaign = campaigns.read_campaign_without_judgements(folder)
        if is_initialised:
            judgements = read_judgements(Path(folder, folders.JUDGEMENTS), campaign.pool, as_written=True)
            campaign = replace(campaign, judgements=judgements)
        sample = read_expert_sample(folder, campaign.pool) if is_drawn(folder) else None
        sent_back = read_sent_back(folder)
        machines = {name: read_machine(folder, name, campaign.pool) for name in machines_in(folder)}
    except KgtrecError as error:
        return {folder: CheckedFile(folder, wrong=[str(error)])}
    pool, described = campaign.pool, Path(folder, folders.DESCRIPTIONS).exists()
    automatic, sampled = int(campaign.automatic.is_automatic.sum()), 0 if sample is None else len(sample)
    asked = f"{counted(len(pool), 'triple')} for {counted(len(pool.questions), 'question')}"
    contents = (  # file, whether it is there, what it holds
        (folders.POOL, True, f"pool: {asked} out of {counted(len(pool.runs), 'run')}"),
        (folders.SEEDS, True, f"known answers: {counted(len(campaign.known_answers), 'row')}"),
        (folders.AUTOMATIC, True, f"automatic: {counted(automatic, 'triple')}"),
        (folders.DESIGN, campaign.design is not None, f"design: {campaign.design!r}"),
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
        *(
            (f"{folders.MACHINES}/{name}.jsonl", True, f"machine: {counted(len(said), 'verdict')}")
            for name, said in machines.items()
        ),
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


def _is_system(file: Path) -> bool:
    """Whether it is a run or answer ranks, by its name; a Parquet file also by its columns, unless it is damaged."""
    if file.name.endswith(_RUNS):
        return file.is_file() or is_in_parts(file)
    if not is_parquet(file) or not file.is_file():
        return False
    try:
        return "score" in read_schema(file).names
    except KgtrecError:
        return True  # which is a finding


def _parts(folder: Path) -> Iterator[str]:
    """The files of a collection, or of qrels only, to check one by one, including required files that are missing."""
    names = ("topics.tsv", "qrels.txt")
    if any((folder / name).exists() for name in (*OWN_FILES, *names)):
        yield from (str(folder / name) for name in names)
    depths = [path for path in folder.glob(_QRELS_BY_DEPTH) if path.stem.removeprefix("qrels.depth").isdecimal()]
    yield from map(str, sorted(depths, key=lambda path: int(path.stem.removeprefix("qrels.depth"))))
    yield from (str(folder / name) for name in _ENTITY_FILES if (folder / name).exists())


def _add_collection(folder: str, checked: Checked) -> None:
    """Read a collection as every command does."""
    entry = checked[folder] = CheckedFile(folder, wrong=[str(error) for error in damaged_parts(folder)])
    if not entry.wrong:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with entry.reading():
                content = entry.content = read_collection(folder)
                relations = plain(content.questions).relations
                entry.about = (
                    f"collection {content.fingerprint}: {counted(len(content.filtered), 'filtered answer')}, "
                    f"{counted(len(content.train), 'train triple')}, {counted(len(relations), 'relation')}"
                )
                entry.notes += doubtful_triples(content)
                if not has_validation(content.report):
                    entry.notes.append("no validation split")
        for warning in caught:
            if issubclass(warning.category, KgtrecWarning):
                entry.notes.append(str(warning.message).removeprefix(f"{folder}/"))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _add_file(file: str, checked: Checked) -> None:
    if file in checked or is_origin_path(file):
        return  # an origin is read with the file that it is about
    entry = checked[file] = CheckedFile(file)
    with entry.reading():
        if Path(file).name.lower().endswith(".npy"):
            _read_matrix(entry)
        else:
            _read(entry)


def _read(file: CheckedFile) -> None:
    content: Any = _contents(file.path)
    if isinstance(content, RunFile):
        (tag, tag_line), *others = content.tags.items()
        if others:
            file.refuse(
                f"expected one run tag, found {len(content.tags)}: {others[0][0]!r} here, {tag!r} on line {tag_line}; "
                "write one file per system",
                others[0][1],
            )
        if content.columns is not None:
            _check_rank_column(file, content.columns)
        content = content.run
    elif isinstance(content, QrelsFile):
        content = content.qrels
    if isinstance(content, AnyRun):
        _check_scores(file, content)
        about = f"run {content.name!r}: {counted(len(content), 'row')}, {counted(len(content.questions), 'question')}"
    elif isinstance(content, AnswerRanks):
        about = f"answer ranks {content.name!r}: {counted(len(content), 'row')}"
    elif isinstance(content, Qrels):
        about = f"qrels: {counted(len(content), 'row')}, {counted(len(content.questions), 'question')}"
    elif isinstance(content, Topics):
        about = f"topics: {counted(len(content), 'question')}"
    else:
        about = f"entities: {counted(len(content), 'label')}"
    file.content, file.about = content, about


def _contents(file: str) -> RunFile | StreamedRun | QrelsFile | Topics | AnswerRanks | Vocabulary:
    if Path(file).name in _ENTITY_FILES:
        return read_entity_labels(file)
    if Path(file).is_dir() and holds_ranks(file):
        return read_answer_ranks(file)
    if not is_streamed(file) or (is_parquet(file) and kind_of_parquet(file) != "run"):
        return read_any(file, ranks=True)
    return open_run(file)


def _check_scores(file: CheckedFile, run: AnyRun) -> None:
    """Note lists of one score; all parts of a run are read for this."""
    flat, several = questions_of_one_score(run)
    if len(flat) >= max(1, _FLAT_WORTH_TELLING * several):
        which = (
            f"all {counted(several, 'list')}"
            if len(flat) == several
            else f"{len(flat):,} of {counted(several, 'list')}, such as that of {run.questions[flat[0]]}"
        )
        file.notes.append(f"no order of candidates in {which}: equal scores, so labels decide the order")


def _read_matrix(file: CheckedFile) -> None:
    """A score matrix: whether it is complete, and what is known about its order."""
    shape, origin = mapped_matrix(file.path).shape, read_origin(file.path, "scores")
    of = f", of collection {origin.collection}" if origin else ""
    file.about = f"scores: {' x '.join(map(str, shape))}{of}"
    if origin is not None or None not in order_beside(file.path):
        file.content = Path(file.path)
    else:
        file.notes.append("no file beside it records the order of its rows and columns; see kgtrec convert --stamp")


def _check_rank_column(file: CheckedFile, columns: TextColumns) -> None:
    """Check a run's rank column by its scores."""
    labels, codes = list(columns.vocabularies["rank"]), columns.codes["rank"]
    ranks, of_all = read_ranks(labels, codes), f"of {counted(len(codes), 'line')}"
    if n := int(np.isnan(ranks).sum()):
        row = int(np.isnan(ranks).argmax())
        file.notes.append(
            f"the rank column has no number on {n:,} {of_all}, first on line {columns.line(row)} "
            f"({labels[codes[row]]!r}); kgtrec and trec_eval do not use this column"
        )
    off = ranks_off(columns.codes["question"], ranks, columns.number)
    if n := len(off.row):
        hint = "; check whether the scores are distances, where lower is better" if n > len(codes) / 2 else ""
        file.refuse(
            f"expected the rank column to have the order of the scores, found another order on {n:,} {of_all}, "
            f"first here (position {off.by_rank[0]:,} by rank, {off.by_score[0]:,} by score); kgtrec and trec_eval "
            f"use the scores{hint}",
            columns.line(int(off.row[0])),
        )


def _check_together(checked: Checked) -> None:
    """Find contradictions between files, and what a collection shows about its systems."""
    systems: dict[str, System] = _contents_of(checked, (Run, StreamedRun, AnswerRanks))
    qrels = _contents_of(checked, Qrels)
    partial = {file for file in qrels if Path(file).match(_QRELS_BY_DEPTH)}  # which need not judge every topic
    topics, entities = _contents_of(checked, Topics), _contents_of(checked, Vocabulary)
    for finding in check_together(systems, qrels, topics, entities, partial=partial):
        checked[finding.source].refuse(finding.message, _line_of(finding, is_qrels=finding.source in qrels))
    collections = list(_contents_of(checked, Collection).values())
    collection = collections[0] if len(collections) == 1 else None
    belongs = Belonging(collection, qrels=next(iter(qrels.values())) if len(qrels) == 1 else None)
    _check_systems(checked, systems, {file: qrels[file] for file in qrels if file not in partial}, belongs)
    if collection is not None:
        for file in _contents_of(checked, Path):
            with unwarned(), checked[file].reading():  # a matrix may have more than the collection
                read_score_matrix(file, collection)
    for collection in collections:
        _check_filtered(checked, systems, collection)
        _check_against_chance(checked, systems, collection)


def _check_systems(
    checked: Checked, systems: Mapping[str, System], qrels: Mapping[str, Qrels], belongs: Belonging
) -> None:
    """Find systems that cannot be evaluated together, or on these qrels."""
    for file, system in systems.items():
        try:
            if not isinstance(system, AnswerRanks):  # check_together has checked its entities and questions
                belongs.check_collection(system)
                belongs.check_filter(system)
                continue
            belongs(system)
        except KgtrecError as error:
            checked[file].refuse(str(error).removeprefix(f"{file}: "))
            continue
        for source, judged in qrels.items():
            lacking = unranked(system, judged)
            lacking = lacking[judged.grade[lacking] >= 1]
            if len(lacking):
                pair = judged.questions[judged.question[lacking[0]]], judged.entities[judged.entity[lacking[0]]]
                checked[file].refuse(
                    f"expected a rank for each of the {(judged.grade >= 1).sum():,} answers of {source}, found none "
                    f"for {len(lacking):,}, such as ({pair[0]}, {pair[1]}); rank its scores again with these qrels "
                    "(kgtrec rank --judged)"
                )


def _check_filtered(checked: Checked, systems: Mapping[str, System], collection: Collection) -> None:
    """Filtered answers in runs: a finding if metadata or answer ranks beside say that they were removed, else a note.

    A run that lists them as lists of other questions do is one of other questions, which is a finding.
    """
    filters = {
        (Path(file).parent, default_name(file)): (file, ranks.filtered_by)
        for file, ranks in systems.items()
        if isinstance(ranks, AnswerRanks)
    }
    for file, run in systems.items():
        if isinstance(run, AnswerRanks):
            continue
        if (other := of_other_questions(run, collection)) is not None:
            if other.is_certain:
                checked[file].refuse(other.message)
                continue
            checked[file].notes.append(other.message)
        if (listed := filtered_listed(run, collection)) is None:
            continue
        recorded_in, splits = filters.get((Path(file).parent, default_name(file)), ("", None))
        if run.filtered_by is not None:
            recorded_in = "its metadata" if _has_metadata(file) else str(origin_path(file))
            splits = run.filtered_by
        counts = " and ".join(f"{n:,} from {_SPLITS[split]}" for split, n in listed.by_split.items())
        n_of_all = f"{listed.questions:,} of {counted(len(run.questions), 'question')}"
        answers = f"{counts}, in {n_of_all}, such as ({', '.join(listed.example)})"
        if splits is None:
            checked[file].notes.append(
                f"it lists filtered answers, as runs do that are not filtered by all splits: {answers}"
            )
        elif set(splits) & set(listed.by_split):
            checked[file].refuse(
                f"expected a run that was filtered by {', '.join(splits)}, as recorded in {recorded_in}, found answers "
                f"{answers}"
            )


def _check_against_chance(checked: Checked, systems: Mapping[str, System], collection: Collection) -> None:
    """Note systems that are no better than chance, if other systems are better."""
    compared = []
    for file, system in systems.items():
        with unwarned(), suppress(KgtrecError):  # reported before
            if (own := against_chance(match(system, collection.qrels), collection.sizes)) is not None:
                compared.append(replace(own, name=file))
    for file, line in no_better_than_chance(compared):
        checked[file].notes.append(line.removeprefix(f"{file} "))


def _has_metadata(file: str) -> bool:
    """Whether it is a Parquet file or a folder of them, which have no lines."""
    return is_parquet(file) or Path(file).is_dir()


def _line_of(finding: Finding, *, is_qrels: bool) -> int | None:
    """The line of a finding in its file, which is read again for this; None if there is none."""
    file = finding.source
    if finding.column and file != "-" and not _has_metadata(file):
        again = read_any(file, "qrels" if is_qrels else "run")
        if isinstance(again, RunFile | QrelsFile) and again.columns is not None:
            return again.columns.line(again.columns.first_row(finding.column, finding.label))
    return None
