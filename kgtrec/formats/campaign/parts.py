"""The part of a campaign that concerns a few triples, read without the rest.

Accepting one verdict needs little of a large campaign: whether its triple is in the pool and under which number, who is
asked about it, and its verdicts so far. So the long files, ``pool.tsv``, ``assignments.tsv`` and ``judgements.jsonl``,
are searched instead of being read into tables. Unusual cases are left to the reader of the whole campaign, which has
the error messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import values_of
from kgtrec.data.campaign import Assignments, Automatic, Campaign, People
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, Questions
from kgtrec.data.topics import Topics
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError
from kgtrec.formats.campaign.folder import (
    ASSIGNMENT_COLUMNS,
    is_initialised,
    read_people,
    read_sources,
    require_right_settings,
)
from kgtrec.formats.campaign.judgements import read_judgements_of
from kgtrec.formats.campaign.pools import POOL_COLUMNS, read_settings, require_unchanged
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.output.folders import ASSIGNMENTS, AUTOMATIC, JUDGEMENTS, PEOPLE, POOL, SOURCES, TOPICS
from kgtrec.formats.trec.text import whole_lines
from kgtrec.formats.trec.topics import read_topics

Labels = tuple[str, str, str]  # of head, relation and tail
_BLOCK = 1 << 18  # bytes; they stay in the processor's cache
_NUMBER = re.compile(rb"[1-9][0-9]{0,8}")
_RUN = "?"  # the runs of a triple do not matter for a verdict, and are not read


@dataclass(frozen=True, slots=True, eq=False)
class CampaignPart:
    """A campaign whose pool is reduced to a few triples; templates, names and known answers are left out."""

    campaign: Campaign
    task: NDArray[np.intp]  # (n,) number, in the whole pool, of each triple of the part

    def task_of(self, labels: Labels) -> int:
        """The number of a triple's task in the whole pool; 0: it is not in the part."""
        pool = self.campaign.pool
        head, relation, tail = labels
        entities, relations = pool.triples.entities, pool.triples.relations
        (row,) = pool.rows(entities.encode([head]), relations.encode([relation]), entities.encode([tail]))
        return int(self.task[row]) if row >= 0 else 0


def read_part(folder: PathLike, triples: Iterable[Labels]) -> CampaignPart | None:
    """The part of a campaign about some triples; None if all of it must be read.

    The result equals that of :func:`kgtrec.campaign.read_campaign` if that finds no error: the pool's files are checked
    against their checksums, and people, sources and settings are read completely, but assignments and judgements of
    other triples are not checked. Nothing is written or cached.

    Parameters
    ----------
    folder : path
        The caller should hold its lock, or files may change while they are read.
    triples : iterable of (head, relation, tail)
        A few; each costs a search through all judgements.

    Returns
    -------
    CampaignPart or None
        None if a triple is not in the pool or judged by a rule, if a file is not in the form that kgtrec writes, or if
        anything is wrong.
    """
    own, wanted = Path(folder), sorted(set(triples))
    with suppress(FormatError, UnicodeDecodeError):
        settings = read_settings(folder)
        require_right_settings(folder, settings)
        if not wanted or not is_initialised(folder):
            return None
        require_unchanged(folder, settings)
        people, sources = read_people(own / PEOPLE), read_sources(own / SOURCES)
        asked = _tasks(own / ASSIGNMENTS, wanted)
        if asked is None or _is_automatic(own / AUTOMATIC, wanted):
            return None
        number = {task.labels: task.number for task in asked.tasks}
        if len(number) < len(wanted):  # people are asked about triples of the pool, by number
            numbers = _task_numbers(own / POOL, read_topics(own / TOPICS), wanted)
            if numbers is None:
                return None
            number |= dict(zip(wanted, numbers, strict=True))
        in_order = sorted(wanted, key=lambda labels: number[labels])
        pool = _pool_of(in_order)
        assignments = _assignments(asked, in_order, people)
        said = read_judgements_of(own / JUDGEMENTS, pool)
        if assignments is None or said is None:
            return None
        none = np.zeros(0, np.int32)
        known_answers = Qrels.of(none, none, none, pool.questions.ids, pool.questions.entities)
        return CampaignPart(
            Campaign(
                pool,
                known_answers,
                Automatic.none(len(pool)),
                people,
                assignments,
                said,
                sources=sources,
                settings=settings,
            ),
            np.array([number[labels] for labels in in_order], np.intp),
        )
    return None


def _pool_of(triples: list[Labels]) -> Pool:
    """A pool of triples, in their order, from an unknown run."""
    entities = sorted({label for head, _, tail in triples for label in (head, tail)}, key=str.encode)
    relations = sorted({relation for _, relation, _ in triples}, key=str.encode)
    entity, relation = Vocabulary.of(entities), Vocabulary.of(relations)
    heads, names, tails = (list(column) for column in zip(*triples, strict=True))
    coded = Triples(entity.encode(heads), relation.encode(names), entity.encode(tails), entity, relation)
    each = np.arange(len(triples), dtype=np.int32)
    ids = Vocabulary.of([f"{SIDES[1]}{row}" for row in each.tolist()])
    questions = Questions(ids, np.zeros(len(each), np.bool_), coded.relation, coded.head, entity, relation)
    return Pool.of(coded, each, each, each * 0, each * 0 + 1, [_RUN], questions)


def _task_numbers(path: Path, topics: Topics, triples: list[Labels]) -> list[int] | None:
    """The number of each triple's task: its 1-based row in the pool; None if one is not in the pool."""
    import pyarrow.csv as pa_csv

    data = path.read_bytes()
    header = ("\t".join(POOL_COLUMNS) + "\n").encode()
    if not data.startswith(header) or b"\r" in data or b"\0" in data or b"\n\n" in data:
        return None
    coded = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            parse_options=pa_csv.ParseOptions(delimiter="\t", quote_char=False, double_quote=False),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(POOL_COLUMNS[:2], coded),
                include_columns=list(POOL_COLUMNS[:2]),
                null_values=[],
                strings_can_be_null=False,
            ),
        ).unify_dictionaries()
    except pa.ArrowInvalid:
        return None
    if table.num_rows == 0:
        return None
    questions, candidates = (table.column(name).combine_chunks() for name in POOL_COLUMNS[:2])
    topic = topics.ids.encode(questions.dictionary)
    if topic.min() < 0:
        return None
    relations = _in_byte_order([topics.relation])
    entities = _in_byte_order([topics.anchor, candidates.dictionary])
    is_head = values_of(pc.starts_with(topics.ids.labels, SIDES[0]))
    row = topic[values_of(questions.indices)]
    anchor = entities.encode(topics.anchor)[row]
    entity = entities.encode(candidates.dictionary)[values_of(candidates.indices)]
    relation = relations.encode(topics.relation)[row]
    if len(relations) * len(entities) ** 2 > np.iinfo(np.int64).max:
        return None
    head, tail = np.where(is_head[row], entity, anchor), np.where(is_head[row], anchor, entity)
    n = np.int64(len(entities))
    keys = (relation * n + head) * n + tail
    heads, names, tails = (list(column) for column in zip(*triples, strict=True))
    own = [entities.encode(heads), relations.encode(names), entities.encode(tails)]
    if any(codes.min() < 0 for codes in own):
        return None
    numbers = []
    for key in ((own[1] * n + own[0]) * n + own[2]).tolist():
        if not np.any(keys == key):
            return None
        before = np.sort(keys[keys < key])  # a triple may come from several runs, and for both its questions
        numbers.append(1 + int(np.count_nonzero(np.diff(before, prepend=-1))))
    return numbers


def _in_byte_order(labels: list[pa.StringArray]) -> Vocabulary:
    distinct = pc.unique(pa.concat_arrays(labels))
    return Vocabulary(distinct.take(pc.array_sort_indices(distinct)))


def _line_of(labels: Labels) -> bytes:
    return "\t".join(labels).encode()


def _is_automatic(path: Path, triples: list[Labels]) -> bool:
    """Whether a rule judged, or may have judged, any of the triples."""
    data = path.read_bytes()
    return any(_line_of(labels) + b"\t" in data for labels in triples)


class _Task(NamedTuple):
    annotator: str
    number: int
    labels: Labels


class _Tasks(NamedTuple):
    tasks: list[_Task]  # for some triples
    are_all: bool  # whether nobody is asked about any other triple


def _tasks(path: Path, triples: list[Labels]) -> _Tasks | None:
    """The assignments of the triples; None if the file is not as kgtrec writes it."""
    if not path.exists():
        return _Tasks([], True)
    header = ("\t".join(ASSIGNMENT_COLUMNS) + "\n").encode()
    ends = {labels: b"\t" + _line_of(labels) + b"\n" for labels in triples}
    found: list[_Task] = []
    n_bytes = 0
    with reading(path) as stream:
        if stream.read(len(header)) != header:
            return None
        for data in whole_lines(stream, str(path), _BLOCK):
            n_bytes += len(data)
            if b"\r" in data or b"\0" in data:
                return None
            for labels, end in ends.items():
                place = data.find(end)
                while place >= 0:
                    annotator, _, number = data[data.rfind(b"\n", 0, place) + 1 : place].partition(b"\t")
                    if not _NUMBER.fullmatch(number):
                        return None
                    found.append(_Task(annotator.decode(), int(number), labels))
                    place = data.find(end, place + 1)
    return _Tasks(found, n_bytes == 0)


def _assignments(asked: _Tasks, triples: list[Labels], people: People) -> Assignments | None:
    """Assignments that are empty only if nobody is asked about anything; None if that is unknown."""
    if len({(task.annotator, task.labels) for task in asked.tasks}) < len(asked.tasks):
        return None
    if len({(task.number, task.labels) for task in asked.tasks}) > len({task.labels for task in asked.tasks}):
        return None
    annotator = people.names.encode([task.annotator for task in asked.tasks])
    if np.any(annotator < 0) or not (asked.tasks or asked.are_all):
        return None  # if anybody is asked about other triples, not everybody may judge these
    rows = np.array([triples.index(task.labels) for task in asked.tasks], np.int32)
    return Assignments(annotator, rows, people.names)
