"""The judgements of a campaign: events, one JSON object per line; lines are only ever added.

A line has, as texts and in this order, time, person, role, head, relation, tail, verdict, source and note.

Whoever adds lines holds the lock of the campaign (:mod:`kgtrec.formats.output.locks`). All lines of one call are
written at once and are on the disk (``fsync``) before the call returns; from then on they count as stored. Readers take
no lock. A process that is killed while it writes can leave a last line without its line feed. It was never reported as
stored, and a reader leaves it out with a warning; the next writer moves it to a file ``judgements.jsonl.torn``, since
no input is ever thrown away. Where only the line feed is missing, the line is complete and counts.

Two copies of a campaign that both grew can be merged line by line, in any order: of several events of one person on one
triple the order of their times decides which is the last, see :meth:`kgtrec.data.judgements.Judgements.in_time`.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrays import RowsByCode
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of, values_of
from kgtrec.data.judgements import ROLES, TIME, VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, nearest, require, warn
from kgtrec.formats.files import FileState, PathLike, reading, require_regular
from kgtrec.formats.json_text import json_lines, json_value
from kgtrec.formats.lines import Lines, TextLine
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.trec.text import joined_codes, shown
from kgtrec.formats.tsv import triple_labels

KEYS = ("time", "person", "role", "head", "relation", "tail", "verdict", "source", "note")
_TEXTS = ("source", "note", "time")
_BLOCK_SIZE = 1 << 24  # bytes to parse at once
_SUM_SIZE = 1 << 18  # bytes; fits into the processor's cache
_MOST_RECENT = 4096  # events that are kept one by one
_BOM = b"\xef\xbb\xbf"
#: what to do about a line that is no JSON, as git puts one between others when two copies are merged
INCOMPLETE = "if a program was stopped while it wrote this line, nothing in it was stored: remove the line"


def read_judgements(path: PathLike, pool: Pool, *, as_written: bool = False) -> Judgements:
    r"""Read the events of a file, oldest first; it may be read while a program adds to it.

    An incomplete last line is left out, with a warning.

    Parameters
    ----------
    path : path
        The file of events.
    pool : Pool
        The pool that was judged.
    as_written : bool
        Whether the events stay in the order of the lines, which differs where copies of a campaign were merged.

    Raises
    ------
    FormatError
        If there is no such file; for the first line that is not UTF-8 or not a JSON object, lacks a key, has an
        unknown or repeated key, a value that is not text, an unknown role or verdict, a malformed time, no person, or
        a triple that is not in the pool.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> triples = Triples.of([("france", "capital", "paris")])
    >>> none = np.zeros(1, np.int32)
    >>> asked = Questions(Vocabulary.of(["tail0"]), none > 0, none, none, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, none, none, none, none + 1, ["mine"], asked)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgements.jsonl"
    >>> _ = path.write_text('{"time": "2026-11-21T20:00:00Z", "person": "ann", "role": "annotator", "head": "france", '
    ...     '"relation": "capital", "tail": "paris", "verdict": "Y", "source": "https://example.org/", "note": ""}\n')
    >>> read_judgements(path, pool)
    <Judgements: 1 events of 1 people>
    """
    with reading(path) as stream:
        data = stream.read(FileState.of_open(stream).size)
    events = _events(_whole_lines(data, path), path, pool, line=1)
    return events if as_written else events.in_time()


def _events(data: bytes, path: PathLike, pool: Pool, *, line: int) -> Judgements:
    """The events of whole lines, of which the first one is ``line`` of the file."""
    blocks, end = [_columns(memoryview(b""), line, path, pool)], 0
    while (begin := end) < len(data):
        end = data.find(b"\n", begin + _BLOCK_SIZE) + 1 or len(data)
        begin += len(_BOM) if line == 1 and data.startswith(_BOM) else 0
        blocks.append(_columns(memoryview(data)[begin:end], line, path, pool))
        line += len(blocks[-1]["triple"])

    annotators, annotator = joined_codes([block.pop("person") for block in blocks])
    columns: dict[str, Any] = {
        name: (pa.concat_arrays if name in _TEXTS else np.concatenate)([block[name] for block in blocks])
        for name in blocks[0]
    }
    return Judgements(**columns, annotator=annotator, annotators=annotators)


def _whole_lines(data: bytes, path: PathLike) -> bytes:
    """The bytes of a file, a line feed at the end of each line; an incomplete last line is left out."""
    tail = data[data.rfind(b"\n") + 1 :]
    if not tail:
        return data
    if _is_whole(tail):
        return data + b"\n"
    warn(
        f"{os.fspath(path)}: left out the incomplete last line: a program is writing it now, or was stopped "
        f"before it was stored: {shown(tail)}"
    )
    return data[: -len(tail)]


def _is_whole(line: bytes) -> bool:
    """Whether a line lacks only its line feed: no proper prefix of a JSON object is a JSON object."""
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line.removeprefix(_BOM).decode()), dict)
    return False


def _columns(data: memoryview, line: int, path: PathLike, pool: Pool) -> dict[str, Any]:
    """The columns of lines, coded; the first one is ``line`` of the file."""
    table = _parsed(data)
    if table is None:
        events = [_event(text) for text in Lines(str(path), bytes(data), line).every()]
        table = {key: labels_of([event[key] for event in events]) for key in KEYS}
    entities, relations = pool.questions.entities, pool.questions.relations
    role = Vocabulary.of(ROLES).encode(table["role"])
    verdict = Vocabulary.of(VERDICTS).encode(table["verdict"])
    head, tail = entities.encode(table["head"]), entities.encode(table["tail"])
    relation = relations.encode(table["relation"])
    triple = pool.rows(head, relation, tail)
    is_right = {
        "time": values_of(pc.match_substring_regex(table["time"], f"^{TIME}$")),
        "person": values_of(pc.binary_length(table["person"])) > 0,
        "role": role >= 0,
        "verdict": verdict >= 0,
        "head": triple >= 0,
    }

    def error(row: int) -> FormatError:
        key = next(key for key, right in is_right.items() if not right[row])
        event = {name: column[row].as_py() for name, column in table.items()}
        return FormatError(_wrong(key, event), path, line=line + row)

    require(np.logical_and.reduce(list(is_right.values())), error)
    return {
        "triple": triple.astype(np.int32),
        "role": role.astype(np.int8),
        "verdict": verdict.astype(np.int8),
        **{key: table[key] for key in _TEXTS},
        "person": table["person"].dictionary_encode(),
    }


def _wrong(key: str, event: dict[str, str]) -> str:
    found, triple = (shown(text.encode()) for text in (event[key], "{head} {relation} {tail}".format(**event)))
    choices = {"role": ROLES, "verdict": VERDICTS}.get(key, ())
    return {
        "time": f"expected a time in UTC such as 2026-11-21T20:00:00Z, found {found}",
        "person": "expected the name of a person, found an empty one",
        "head": f"expected a triple of the pool, found {triple}; are these the judgements of another campaign?",
    }.get(key, f"expected {', '.join(choices)} as {key}, found {found}{nearest(event[key], choices)}")


def _parsed(data: memoryview) -> dict[str, pa.StringArray] | None:
    """The columns of regular lines; None where there is anything that Arrow might take unlike :func:`_event`.

    Every command of a campaign reads the file: 120,000 lines in 0.2 s, where :func:`_event` takes 1.1 s.
    """
    import pyarrow.json as pa_json

    if not data:
        return None
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(codes == 10)
    starts = np.r_[0, ends[:-1] + 1]
    # Arrow splits objects at their braces, so each line must begin and end with one, and be one object
    if np.any(codes[starts] != ord("{")) or np.any(codes[ends - 1] != ord("}")):
        return None
    try:
        str(data, "utf-8")
        table = pa_json.read_json(
            pa.BufferReader(data),
            parse_options=pa_json.ParseOptions(
                explicit_schema=pa.schema(dict.fromkeys(KEYS, pa.string())), unexpected_field_behavior="error"
            ),
            memory_pool=pa.system_memory_pool(),
        )
        columns = {key: table.column(key).combine_chunks() for key in KEYS}
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != len(ends) or any(column.null_count for column in columns.values()):
        return None
    return columns


def _event(line: TextLine) -> dict[str, str]:
    """The texts of one line, by key."""
    event = json_value(line.data, line.path, first_line=line.number, way_out=INCOMPLETE)
    if not isinstance(event, dict):
        raise line.error(f"expected a JSON object with {', '.join(KEYS)}, got {shown(line.data)}; {INCOMPLETE}")
    for key in KEYS:
        if key not in event:
            raise line.error(f"expected the keys {', '.join(KEYS)}, found no {key}: {shown(line.data)}")
        if not isinstance(event[key], str):
            raise line.error(f"expected text as {key}, found {shown(json.dumps(event[key]).encode())}")
    if len(event) != len(KEYS):
        extra = next(key for key in event if key not in KEYS)
        raise line.error(f"expected only the keys {', '.join(KEYS)}, found {extra!r}")
    return event


class JudgementsFile:
    """The events of a growing file, held in memory: of a file that has only grown, the added lines alone are read.

    Most are held as columns, and the last ones one by one, so that adding one costs little.

    As long as the system reports the same for the file (inode, size, times) nothing is read. Otherwise the checksum of
    the bytes read before is computed again; if it differs, because the file was edited or replaced, all of it is read
    again. Only an edit that keeps the size, within some milliseconds after the caller's own addition, would not be
    noticed.

    Parameters
    ----------
    path : path
    pool : Pool
        The pool that was judged.
    """

    def __init__(self, path: PathLike, pool: Pool) -> None:
        self.path, self.pool = Path(path), pool
        self._forget()

    def _forget(self) -> None:
        self.edition = object()  # another one whenever all of the file is read again
        self.added: list[NDArray[np.int32]] = []  # triples of the events, as they came
        self._most = Judgements.none()
        self._rows: dict[str, RowsByCode] = {}  # of columns of most of them
        self._recent: list[tuple[Any, ...]] = []  # the others: triple, person, role, verdict, source, note, time
        self._places: dict[int | str, list[int]] = {}  # triple or person -> where their events are in the list
        self._of: dict[str, Judgements] = {}  # person -> their events: a page asks for them several times
        self._state: FileState | None = None  # in which there is nothing new to read
        self._size = self._lines = self._checksum = 0  # of the whole lines that were read

    @property
    def events(self) -> Judgements:
        """All events read so far, oldest first."""
        if self._recent:
            self._settle(Judgements.none())
        return self._most

    def about(self, triples: NDArray[np.integer]) -> Judgements:
        """Find the events on some of the pool's triples, oldest first."""
        distinct = np.unique(triples)
        return self._chosen("triple", distinct, distinct.tolist())

    def of(self, person: str) -> Judgements:
        """Find the events of one person, in every role, oldest first."""
        if person not in self._of:
            self._of[person] = self._chosen("annotator", self._most.annotators.encode([person]), [person])
        return self._of[person]

    def _chosen(self, column: str, codes: NDArray[np.integer], keys: Sequence[int | str]) -> Judgements:
        """The events with some distinct codes in a column, which are these keys of recent ones."""
        if column not in self._rows:
            self._rows[column] = RowsByCode.of(getattr(self._most, column))
        most = self._most.take(np.sort(self._rows[column].rows(codes)))
        places = sorted(place for key in keys for place in self._places.get(key, ()))
        return most.joined(_events_of([self._recent[place] for place in places]))

    def _take(self, new: Judgements, data: bytes) -> None:
        """Add events that are the ``data`` after what was read of the file."""
        self._size, self._checksum = self._size + len(data), zlib.crc32(data, self._checksum)
        self._lines += len(new)
        self.added.append(new.triple)
        if len(self._recent) + len(new) > _MOST_RECENT:
            self._settle(new)
            return
        names, texts = new.annotators.decode(new.annotator), (new.source, new.note, new.time)
        columns = (new.triple, names, new.role, new.verdict, *texts)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            for key in row[:2]:
                self._places.setdefault(key, []).append(len(self._recent))
            self._recent.append(row)
            self._of.pop(row[1], None)

    def _settle(self, new: Judgements) -> None:
        """Put what is recent, and new events, into the columns."""
        self._most = self._most.joined(_events_of(self._recent)).joined(new).in_time()
        for held in (self._rows, self._recent, self._places, self._of):
            held.clear()

    def update(self) -> None:
        """Read the added lines, or the whole file if it was replaced.

        Raises
        ------
        FormatError
            As :func:`read_judgements`; then the next update reads the whole file.
        """
        state = FileState.of(self.path)
        if state is not None and state == self._state:
            return
        require_regular(self.path)
        with reading(self.path) as stream:
            state = FileState.of_open(stream)
            if state.size < self._size:
                warn(f"{self.path}: has {self._size - state.size:,} bytes less than before; verdicts in them are lost")
            if not (self._size and self._is_continued(stream)):
                self._forget()
            stream.seek(self._size)
            data = stream.read(max(state.size - self._size, 0))
        whole = _whole_lines(data, self.path)
        try:
            new = _events(whole, self.path, self.pool, line=self._lines + 1)
        except FormatError:
            self._forget()
            raise
        self._take(new, whole)
        if self._recent and (about := self.about(new.triple)).in_time() is not about:  # those of another copy, say
            self._settle(Judgements.none())
        self._state = state if state.is_old else None  # it may be changed again before the clock's next tick

    def _is_continued(self, stream: BinaryIO) -> bool:
        """Whether the file still begins with the lines that were read."""
        checksum, left = 0, self._size
        while left and (data := stream.read(min(left, _SUM_SIZE))):
            checksum, left = zlib.crc32(data, checksum), left - len(data)
        return left == 0 and checksum == self._checksum

    def append(self, new: Judgements) -> None:
        """Add events to the file and take them in: they are on the disk when this returns.

        The caller holds the lock of the campaign, and has called :meth:`update` under it. Events are later than those
        in whose place they come.

        Raises
        ------
        FormatError, KgtrecError, OSError
            As :func:`append_lines`.
        """
        if not len(new):
            return
        data = _lines_of(self.pool, new)
        append_lines(self.path, data)
        state = FileState.of(self.path)
        if state is None or state.size != self._size + len(data):  # changed by a program that takes no lock
            self.update()
            return
        self._take(new, data)
        self._state = state


def _events_of(rows: Sequence[tuple[Any, ...]]) -> Judgements:
    """Columns of recent events."""
    if not rows:
        return Judgements.none()
    triple, person, role, verdict, *texts = zip(*rows, strict=True)
    annotators, annotator = Vocabulary.encoding(labels_of(person))
    source, note, time = map(labels_of, texts)
    codes = np.array(role, np.int8), np.array(verdict, np.int8)
    return Judgements(np.array(triple, np.int32), annotator, *codes, source, note, time, annotators)


def append_judgements(path: PathLike, pool: Pool, judgements: Judgements) -> None:
    """Add events to a file under the lock of its folder's campaign; they are on the disk when this returns.

    Their contents are not checked: :meth:`kgtrec.campaign.OpenCampaign.store` does that.

    Raises
    ------
    FormatError, KgtrecError, OSError
        As :func:`append_lines`.
    """
    with campaign_lock(Path(path).parent):
        if len(judgements):
            append_lines(Path(path), _lines_of(pool, judgements))


def append_lines(path: Path, data: bytes) -> None:
    """Add whole lines to a file, all in one write; they are on the disk when this returns.

    If it fails, none of them is in the file. If the process is killed meanwhile, some of them may be. An incomplete
    last line of a killed process is moved to another file first. The caller holds the lock of the campaign.

    Raises
    ------
    FormatError
        If the file cannot be opened for writing.
    OSError
        If there is no room, or the disk fails.
    KgtrecError
        If this file was replaced by another one meanwhile.
    """
    descriptor = _opened(path)
    try:
        _mend(path, descriptor)
        before = os.fstat(descriptor).st_size
        try:
            _write(descriptor, data)
            if before == 0:  # the file itself may be new
                _sync_folder(path.parent)
            if not path.exists() or not os.path.samestat(os.fstat(descriptor), path.stat()):
                found = "was replaced by another file while lines were added, and has none of them"
                raise KgtrecError(f"{path}: {found}; add them again")
        except BaseException:
            with suppress(OSError):  # a part of an unacknowledged write must not remain
                os.ftruncate(descriptor, before)
                os.fsync(descriptor)
            raise
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise
    finally:
        os.close(descriptor)


def _mend(path: Path, descriptor: int) -> None:
    """End a file with a line feed: an incomplete line of a killed process is moved to another file."""
    size, tail, step = os.fstat(descriptor).st_size, b"", 1 << 16
    while len(tail) < size and b"\n" not in tail:
        os.lseek(descriptor, -min(step, size), os.SEEK_END)
        tail, step = os.read(descriptor, step), step << 4
    tail = tail[tail.rfind(b"\n") + 1 :]
    if not tail:
        return
    if _is_whole(tail):
        _write(descriptor, b"\n")
        return
    aside = path.with_name(f"{path.name}.torn")
    torn = _opened(aside)
    try:
        _write(torn, tail + b"\n")
    finally:
        os.close(torn)
    _sync_folder(path.parent)
    os.ftruncate(descriptor, size - len(tail))  # only now that it is stored elsewhere
    os.fsync(descriptor)
    warn(f"{path}: moved its incomplete last line to {aside}; a program was stopped before storing it")


def _opened(path: Path) -> int:
    """A descriptor for reading anywhere and writing at the end."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        require_regular(path)
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise FormatError(f"cannot be opened for adding lines: {error.strerror}", path) from None


def _write(descriptor: int, data: bytes) -> None:
    """Write bytes that are on the disk when this returns."""
    rest = memoryview(data)
    while rest:  # one write, unless the system takes only part of it
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Write a new file's name to the disk too, on systems where a folder can be opened (all but Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)


def _lines_of(pool: Pool, judgements: Judgements) -> bytes:
    columns = (  # as KEYS
        judgements.time,
        judgements.annotators.decode(judgements.annotator),
        labels_of([ROLES[role] for role in judgements.role.tolist()]),
        *triple_labels(pool.triples, judgements.triple),
        labels_of([VERDICTS[verdict] for verdict in judgements.verdict.tolist()]),
        judgements.source,
        judgements.note,
    )
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return json_lines(dict(zip(KEYS, event, strict=True)) for event in rows)
