"""kgtrec check."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from kgtrec.cli.check_campaign import checked_campaign
from kgtrec.collection.check import Finding, check_together
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection, has_validation
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Topics
from kgtrec.data.run import AnyRun, StreamedRun
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning, counted, legible
from kgtrec.evaluation.matching import match
from kgtrec.evaluation.plausibility import (
    against_chance,
    check_ranks,
    doubtful_triples,
    known_listed,
    no_better_than_chance,
    of_other_questions,
    questions_of_one_score,
    read_ranks,
)
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import OWN_FILES, damaged_parts, read_collection
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.formats.output.folders import ENTITY_IDS, ENTITY_LABELS, POOL, SETTINGS, STEPS
from kgtrec.formats.parquet import holds_ranks, is_in_parts, is_parquet, read_schema
from kgtrec.formats.score_matrix import order_beside, read_score_matrix
from kgtrec.formats.sniff import kind_of_parquet, read_any
from kgtrec.formats.trec.origins import is_origin_path, origin_path, read_origin
from kgtrec.formats.trec.qrels import QrelsFile
from kgtrec.formats.trec.runs import RunFile, default_name
from kgtrec.formats.trec.streamed_runs import is_streamed, open_run
from kgtrec.formats.trec.text import TextColumns
from kgtrec.formats.trec.topics import read_entity_labels
from kgtrec.study.folder import damaged_steps, is_study, read_study
from kgtrec.study.steps import STEP, damaged_files

_ENTITY_FILES = (ENTITY_LABELS, ENTITY_IDS)
_QRELS_BY_DEPTH = "qrels.depth*.txt"
_RUNS = (".ranks.parquet", ".run", ".run.gz", ".run.zst", ".ranks")
_FLAT_WORTH_TELLING = 0.1  # with a smaller share of lists without an order, some hard questions may be the reason
_SPLITS = {"train": "train", "valid": "valid", "test": "test triples that were left out"}


@dataclass
class _Input:
    """Everything that was read, by file, with its findings as text."""

    systems: dict[str, AnyRun | AnswerRanks] = field(default_factory=dict)
    qrels: dict[str, Qrels] = field(default_factory=dict)
    topics: dict[str, Topics] = field(default_factory=dict)
    entities: dict[str, Vocabulary] = field(default_factory=dict)
    collections: dict[str, Collection] = field(default_factory=dict)  # those that are whole
    partial: set[str] = field(default_factory=set)  # qrels of a depth, which need not judge every topic
    matrices: list[str] = field(default_factory=list)  # those whose order is known
    about: dict[str, str] = field(default_factory=dict)  # file -> what is in it
    wrong: dict[str, list[str]] = field(default_factory=dict)  # file -> findings
    notes: dict[str, list[str]] = field(default_factory=dict)  # file -> what can be intended or an error

    def note(self, file: str, text: str) -> None:
        self.notes.setdefault(file, []).append(f"{file}: note: {text}")


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, type=click.Path())
def command(files: tuple[str, ...]) -> None:
    """Validate runs, qrels, topics and answer ranks, each by itself and all FILES together.

    The kind of a file is recognised from its content; - is standard input. The folder of a collection, a campaign, a
    study or one of its steps is read as a whole, with all checksums. Any other folder means the runs and answer ranks
    in it.

    In addition to what readers refuse, these are findings: question ids that are not among the topics, entities that
    are not in the KG, questions that a run lacks, topics without judgements, several run tags in one file, a rank
    column whose order differs from that of the scores, answers of the qrels without a rank, answer ranks of another
    collection or with different filters, known answers in a run if the answer ranks with the same name beside it
    were filtered, and a run without a record whose lists are no more about their own questions than about others.

    Every recorded verdict of a campaign is checked by the rules of kgtrec campaign import, in the order in which they
    were recorded: a person and role of people.tsv, a link for Y and N, only https links, nobody in two roles on one
    triple, no correction older than the corrected verdict, an adjudicator only if annotators disagree or are unsure.
    What can have been correct when it was recorded is not a finding: people who have left, corrections, verdicts on
    triples that were not assigned.

    Notes report what can be intended or an error: systems no better than chance beside good ones, test and train or
    head and tail that seem to be swapped, known answers in other runs (as in raw ones), lists of candidates with equal
    scores, a rank column without numbers, a collection whose qrels were replaced, links to hosts that sources.txt does
    not list now, and who judged what if labels were published elsewhere.

    Prints one line per file that is ok, and one per finding and note (for refused verdicts the first 20, and the number
    of each kind). Exit code: 0 if there are only notes, 2 if there is any finding.

    \b
    kgtrec check transe.run.gz
    kgtrec check topics.tsv qrels.txt transe.run.gz
    kgtrec check COLLECTION ranks
    kgtrec check CAMPAIGN
    kgtrec check STUDY
    """
    read = _Input()
    for file in dict.fromkeys(files):
        if Path(file).is_dir() and not is_in_parts(Path(file)):
            _read_folder(file, read)
        else:
            _read(file, read)
    for finding in check_together(read.systems, read.qrels, read.topics, read.entities, partial=read.partial):
        read.wrong[finding.source].append(_placed(finding, read))
    _check_systems_together(read)
    _check_order(read)
    _check_known(read)
    _check_against_chance(read)
    for file, wrong in read.wrong.items():
        for line in (*wrong, *read.notes.get(file, ())):
            click.echo(legible(line))
        if not wrong:
            click.echo(legible(f"{file}: ok, {read.about[file]}"))
    if any(read.wrong.values()):
        sys.exit(2)


def _read_folder(folder: str, read: _Input) -> None:
    path = Path(folder)
    if any((path / name).exists() for name in (POOL, SETTINGS)):
        for name, found in checked_campaign(folder).items():
            read.wrong[name], read.about[name] = found.wrong, found.about
            for note in found.notes:
                read.note(name, note)
    elif is_study(path):
        _read_study(folder, read)
    elif (path / STEP).exists():
        wrong = damaged_files(path)
        read.wrong[folder] = [str(error) for error in wrong]
        read.about[folder] = f"step: {counted(sum(1 for each in path.rglob('*') if each.is_file()) - 1, 'file')}"
    elif parts := list(_parts(path)):
        for part in parts:
            if part not in read.wrong:
                _read(part, read)
        if any((path / name).exists() for name in OWN_FILES):
            _read_collection(folder, read)
    elif systems := sorted(str(file) for file in path.iterdir() if _is_system(file)):
        for file in systems:
            if file not in read.wrong:
                _read(file, read)
    else:
        error = FormatError(
            "expected the folder of a collection, a campaign, a study, or runs and answer ranks, found another one",
            path=folder,
        )
        read.wrong[folder] = [str(error)]


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
    is_collection = any((folder / name).exists() for name in OWN_FILES)
    names = ("topics.tsv", "qrels.txt")
    if is_collection or any((folder / name).exists() for name in names):
        yield from (str(folder / name) for name in names)
    depths = [path for path in folder.glob(_QRELS_BY_DEPTH) if path.stem.removeprefix("qrels.depth").isdecimal()]
    yield from map(str, sorted(depths, key=lambda path: int(path.stem.removeprefix("qrels.depth"))))
    yield from (str(folder / name) for name in _ENTITY_FILES if (folder / name).exists())


def _read_collection(folder: str, read: _Input) -> None:
    """Read a collection as every command does; findings of its files are not repeated."""
    told = {line for lines in read.wrong.values() for line in lines}
    wrong = [str(error) for error in damaged_parts(folder)]
    if not wrong:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = read_collection(folder)
            except KgtrecError as error:
                wrong.append(str(error))
            else:
                read.collections[folder] = found
                read.about[folder] = (
                    f"collection {found.fingerprint}: {counted(len(found.known), 'known answer')}, "
                    f"{counted(len(found.train), 'train triple')}, {counted(len(found.relations), 'relation')}"
                )
                for line in doubtful_triples(found):
                    read.note(folder, line)
                if not has_validation(found.report):
                    read.note(folder, "no validation split")
        for warning in caught:
            if issubclass(warning.category, KgtrecWarning):
                read.note(folder, str(warning.message).removeprefix(f"{folder}/"))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    read.wrong[folder] = [line for line in wrong if line not in told]
    if wrong and not read.wrong[folder]:
        del read.wrong[folder]  # a part of it is damaged, which was reported before


def _read_study(folder: str, read: _Input) -> None:
    try:
        found = read_study(folder)
        read.wrong[folder] = [str(error) for error in damaged_steps(folder)]
    except KgtrecError as error:
        read.wrong[folder] = [str(error)]
        return
    steps = sum(1 for _ in Path(folder, STEPS).glob(f"*/{STEP}"))
    read.about[folder] = (
        f"study: {counted(len(found.systems), 'system')}, {counted(len(found.labels), 'label set')}, "
        f"{counted(len(found.tables), 'table')}, {counted(steps, 'step')}"
    )


def _read(file: str, read: _Input) -> None:
    if is_origin_path(file):
        return  # read with the file that it is about
    read.wrong[file] = []
    name = Path(file).name
    if name.lower().endswith(".npy"):
        _check_matrix(file, read)
        return
    try:
        found = _contents(file)
    except KgtrecError as error:
        read.wrong[file].append(str(error))
        return
    if isinstance(found, RunFile):
        (tag, tag_line), *others = found.tags.items()
        if others:
            message = (
                f"expected one run tag, found {len(found.tags)}: {others[0][0]!r} here, {tag!r} on line {tag_line}; "
                "write one file per system"
            )
            read.wrong[file].append(str(FormatError(message, path=file, line=others[0][1])))
        if found.columns is not None:
            _check_rank_column(file, found.columns, read)
        _add_run(file, found.run, read)
    elif isinstance(found, StreamedRun):
        try:
            _add_run(file, found, read)
        except KgtrecError as error:  # of one of its parts
            read.wrong[file].append(str(error))
    elif isinstance(found, AnswerRanks):
        read.systems[file] = found
        read.about[file] = f"answer ranks {found.name!r}: {counted(len(found), 'row')}"
    elif isinstance(found, QrelsFile):
        qrels = found.qrels
        read.qrels[file] = qrels
        if Path(file).match(_QRELS_BY_DEPTH):
            read.partial.add(file)
        read.about[file] = f"qrels: {counted(len(qrels), 'row')}, {counted(len(qrels.questions), 'question')}"
    elif isinstance(found, Topics):
        read.topics[file] = found
        read.about[file] = f"topics: {counted(len(found), 'question')}"
    else:
        read.entities[file] = found
        read.about[file] = f"entities: {counted(len(found), 'label')}"


def _contents(file: str) -> RunFile | StreamedRun | QrelsFile | Topics | AnswerRanks | Vocabulary:
    if Path(file).name in _ENTITY_FILES:
        return read_entity_labels(file)
    if Path(file).is_dir() and holds_ranks(file):
        return read_answer_ranks(file)
    if not is_streamed(file) or (is_parquet(file) and kind_of_parquet(file) != "run"):
        return read_any(file, ranks=True)
    return open_run(file)


def _add_run(file: str, run: AnyRun, read: _Input) -> None:
    """Add a run, of which all parts are read for this."""
    flat, several = questions_of_one_score(run)
    read.systems[file] = run
    read.about[file] = f"run {run.name!r}: {counted(len(run), 'row')}, {counted(len(run.questions), 'question')}"
    if len(flat) >= max(1, _FLAT_WORTH_TELLING * several):
        which = (
            f"all {counted(several, 'list')}"
            if len(flat) == several
            else f"{len(flat):,} of {counted(several, 'list')}, such as that of {run.questions[flat[0]]}"
        )
        read.note(file, f"no order of candidates in {which}: equal scores, so labels decide the order")


def _check_matrix(file: str, read: _Input) -> None:
    """A score matrix: whether it is complete, and what is known about its order."""
    try:
        shape, origin = mapped_matrix(file).shape, read_origin(file, "scores")
    except KgtrecError as error:
        read.wrong[file].append(str(error))
        return
    of = f", of collection {origin.collection}" if origin else ""
    read.about[file] = f"scores: {' x '.join(map(str, shape))}{of}"
    if origin is not None or None not in order_beside(file):
        read.matrices.append(file)
    else:
        read.note(file, "no file beside it records the order of its rows and columns; see kgtrec convert --stamp")


def _check_rank_column(file: str, columns: TextColumns, read: _Input) -> None:
    """Check a run's rank column by its scores."""
    labels, codes = list(columns.vocabularies["rank"]), columns.codes["rank"]
    ranks = check_ranks(columns.codes["question"], read_ranks(labels, codes), columns.number)
    off, of_all = ranks.off, f"of {counted(len(codes), 'line')}"
    if n := len(ranks.no_number):
        row = int(ranks.no_number[0])
        first = f"line {columns.line(row)} ({labels[codes[row]]!r})"
        read.note(
            file,
            f"the rank column has no number on {n:,} {of_all}, first on {first}; kgtrec and trec_eval do not use "
            "this column",
        )
    if n := len(off.row):
        hint = "; check whether the scores are distances, where lower is better" if n > len(codes) / 2 else ""
        message = (
            f"expected the rank column to have the order of the scores, found another order on {n:,} {of_all}, "
            f"first here (position {off.by_rank[0]:,} by rank, {off.by_score[0]:,} by score); kgtrec and trec_eval "
            f"use the scores{hint}"
        )
        read.wrong[file].append(str(FormatError(message, path=file, line=columns.line(int(off.row[0])))))


def _check_systems_together(read: _Input) -> None:
    """Find systems that cannot be evaluated together, or on these qrels."""
    from kgtrec.evaluation.belonging import Belonging
    from kgtrec.evaluation.matching import unranked

    collection = next(iter(read.collections.values())) if len(read.collections) == 1 else None
    qrels = next(iter(read.qrels.values())) if len(read.qrels) == 1 else None
    belongs = Belonging(collection, qrels=qrels)
    for file, ranks in read.systems.items():
        try:
            if not isinstance(ranks, AnswerRanks):  # check_together has checked its entities and questions
                belongs.check_collection(ranks)
                belongs.check_filter(ranks)
                continue
            belongs(ranks)
        except KgtrecError as error:
            read.wrong[file].append(str(FormatError(str(error).removeprefix(f"{file}: "), path=file)))
            continue
        for source, qrels in read.qrels.items():
            lacking = unranked(ranks, qrels)
            lacking = lacking[qrels.grade[lacking] >= 1]
            if len(lacking) and source not in read.partial:
                pair = qrels.questions[qrels.question[lacking[0]]], qrels.entities[qrels.entity[lacking[0]]]
                message = (
                    f"expected a rank for each of the {(qrels.grade >= 1).sum():,} answers of {source}, found none for "
                    f"{len(lacking):,}, such as ({pair[0]}, {pair[1]}); rank its scores again with these qrels (kgtrec "
                    "rank --judged)"
                )
                read.wrong[file].append(str(FormatError(message, path=file)))


def _check_order(read: _Input) -> None:
    """Find score matrices whose recorded order does not match the questions and entities of the collection."""
    if len(read.collections) != 1:
        return
    (collection,) = read.collections.values()
    for file in read.matrices:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # a matrix may have more than the collection
            try:
                read_score_matrix(file, collection)
            except KgtrecError as error:
                read.wrong[file].append(str(error))


def _check_known(read: _Input) -> None:
    """Known answers in runs: a finding if metadata or answer ranks beside say that they were removed, else a note.

    A run that lists them as lists of other questions do is one of other questions, which is a finding.
    """
    filters = {
        (Path(file).parent, default_name(file)): (file, ranks.filtered_by)
        for file, ranks in read.systems.items()
        if isinstance(ranks, AnswerRanks)
    }
    for file, run in read.systems.items():
        for collection in read.collections.values():
            if isinstance(run, AnswerRanks):
                continue
            if (other := of_other_questions(run, collection)) is not None:
                if other.is_certain:
                    read.wrong[file].append(str(FormatError(other.message, path=file)))
                    continue
                read.note(file, other.message)
            if (found := known_listed(run, collection)) is None:
                continue
            beside, said = filters.get((Path(file).parent, default_name(file)), ("", None))
            if run.filtered_by is not None:
                beside = "its metadata" if _has_metadata(file) else str(origin_path(file))
                said = run.filtered_by
            counts = " and ".join(f"{n:,} known from {_SPLITS[split]}" for split, n in found.by_split.items())
            n_of_all = f"{found.questions:,} of {counted(len(run.questions), 'question')}"
            told = f"{counts}, in {n_of_all}, such as ({', '.join(found.example)})"
            if said is None:
                read.note(file, f"it lists known answers, as runs do that are not filtered by all splits: {told}")
            elif set(said) & set(found.by_split):
                message = (
                    f"expected a run that was filtered by {', '.join(said)}, as recorded in {beside}, found answers "
                    f"{told}"
                )
                read.wrong[file].append(str(FormatError(message, path=file)))


def _check_against_chance(read: _Input) -> None:
    """Notes about systems that are no better than chance, if other systems are better."""
    for collection in read.collections.values():
        seen = {}
        for file, system in read.systems.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KgtrecWarning)
                try:
                    found = against_chance(match(system, collection.qrels), len(collection.entities))
                except KgtrecError:
                    continue  # reported before
            if found is not None:
                seen[file] = replace(found, name=file)
        for name, line in no_better_than_chance(list(seen.values())):
            read.note(name, line.removeprefix(f"{name} "))


def _has_metadata(file: str) -> bool:
    """Whether it is a Parquet file or a folder of them, which have no lines."""
    return is_parquet(file) or Path(file).is_dir()


def _placed(finding: Finding, read: _Input) -> str:
    """A finding as a line of text, with the line in its file if there is one; the file is read again for this."""
    file, line = finding.source, None
    if finding.column and file != "-" and not _has_metadata(file):
        again = read_any(file, "qrels" if file in read.qrels else "run")
        if isinstance(again, RunFile | QrelsFile) and again.columns is not None:
            line = again.columns.line(again.columns.first_row(finding.column, finding.label))
    return str(FormatError(finding.message, path=file, line=line))
