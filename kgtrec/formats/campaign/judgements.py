"""The judgements of a campaign: events, one JSON object per line; lines are only ever added.

A line has, as texts and in this order, time, person, role, head, relation, tail, verdict, source and note.

Lines are added by :class:`JudgementWriter` only. It holds the lock of the campaign
(:mod:`kgtrec.formats.output.locks`), which the system releases when the process ends, even if it is killed. All lines
of one call are written at once and are on the disk (``fsync``) before the call returns; from then on they count as
acknowledged. Readers take no lock. A process that is killed while it writes can leave a last line without its line
feed. It was never reported as stored, and a reader leaves it out with a warning; the next writer moves it to a file
``judgements.jsonl.torn``, since no input is ever thrown away. Where only the line feed is missing, the line is complete
and counts.
"""

from __future__ import annotations

import errno
import io
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property, reduce
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrays import RowsByCode
from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of, values_of
from kgtrec.data.judgements import ROLES, TIME, VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, nearest, warn
from kgtrec.formats.files import FileState, PathLike, reading, require_regular
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.trec.text import blocks_of_lines, joined_codes, shown

KEYS = ("time", "person", "role", "head", "relation", "tail", "verdict", "source", "note")
_TEXTS = ("person", "source", "note", "time")
_BLOCK_SIZE = 1 << 24  # bytes
_LOOK_BLOCK = 1 << 18  # bytes; fits into the processor's cache
_MOST_LINES = 10_000  # to parse one by one
_MOST_RECENT = 4096  # events to keep one by one
_SUM_BLOCK = 1 << 18
_BOM = b"\xef\xbb\xbf"
_BREAKS = "\x85\u2028\u2029"  # legal in JSON, but many programs read these as the end of a line


def read_judgements(path: PathLike, pool: Pool, *, fast: bool = True, block_size: int = _BLOCK_SIZE) -> Judgements:
    r"""The events of a file, oldest first; it may be read while a program adds to it.

    An incomplete last line is left out, with a warning.

    Parameters
    ----------
    path : path
    pool : Pool
        The pool that was judged.
    fast : bool
        False reads line by line, with the same result.
    block_size : int, bytes
        Bytes read at a time.

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
        return _events(stream, path, pool, fast=fast, block_size=block_size)


def _events(
    stream: BinaryIO | _Summed,
    path: PathLike,
    pool: Pool,
    *,
    line: int = 1,
    fast: bool = True,
    block_size: int = _BLOCK_SIZE,
) -> Judgements:
    """The events in the rest of a stream, which begins at a ``line`` of the file."""
    blocks = [_columns(b"", line, path, pool, fast)]
    for data in _whole_lines(stream, path, block_size, is_start=line == 1):
        blocks.append(_columns(data, line, path, pool, fast))
        line += data.count(b"\n")

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([block[name] for block in blocks])

    def joined_texts(name: str) -> pa.StringArray:
        return pa.concat_arrays([block[name] for block in blocks])

    annotators, annotator = joined_codes([block["person"] for block in blocks])
    return Judgements(
        joined("triple"),
        annotator,
        joined("role"),
        joined("verdict"),
        joined_texts("source"),
        joined_texts("note"),
        joined_texts("time"),
        annotators,
    )


def _whole_lines(stream: BinaryIO | _Summed, path: PathLike, size: int, *, is_start: bool = True) -> Iterator[bytes]:
    """The bytes of a stream in blocks of lines, a line feed at the end of each; an incomplete line is left out."""
    for block in blocks_of_lines(stream, path, size, is_start=is_start):
        if block.endswith(b"\n"):
            yield block
        elif _is_whole(block):
            yield block + b"\n"
        else:
            warn(
                f"{os.fspath(path)}: left out the incomplete last line: a program is writing it now, or was stopped "
                f"before it was stored: {shown(block)}"
            )


def _is_whole(line: bytes) -> bool:
    """Whether a line lacks only its line feed: no proper prefix of a JSON object is a JSON object."""
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line.decode()), dict)
    return False


def _columns(data: bytes, line: int, path: PathLike, pool: Pool, fast: bool) -> dict[str, Any]:
    """The columns of lines, coded; the first one is ``line`` of the file."""
    table = _parsed(data) if fast else None
    if table is None:
        events = [_event(text, number, path) for number, text in enumerate(data.split(b"\n")[:-1], line)]
        table = {key: labels_of([event[key] for event in events]) for key in KEYS}
    entities, relations = pool.questions.entities, pool.questions.relations
    role = Vocabulary.of(ROLES).encode(table["role"])
    verdict = Vocabulary.of(VERDICTS).encode(table["verdict"])
    head, tail = entities.encode(table["head"]), entities.encode(table["tail"])
    relation = relations.encode(table["relation"])
    triple = pool.rows(head, relation, tail)
    is_wrong = {
        "time": ~values_of(pc.match_substring_regex(table["time"], f"^{TIME}$")),
        "person": values_of(pc.binary_length(table["person"])) == 0,
        "role": role < 0,
        "verdict": verdict < 0,
        "head": triple < 0,
    }
    first = {key: int(np.argmax(wrong)) for key, wrong in is_wrong.items() if wrong.any()}
    if first:
        key = min(first, key=lambda key: first[key])
        row = first[key]
        raise FormatError(
            _wrong(key, {name: column[row].as_py() for name, column in table.items()}), path=path, line=line + row
        )
    return {
        "triple": triple.astype(np.int32),
        "role": role.astype(np.int8),
        "verdict": verdict.astype(np.int8),
        **{key: table[key] for key in _TEXTS},
        "person": table["person"].dictionary_encode(),
    }


def _wrong(key: str, event: dict[str, str]) -> str:
    found = shown(event[key].encode())
    if key == "time":
        return f"expected a time in UTC such as 2026-11-21T20:00:00Z, found {found}"
    if key == "person":
        return "expected the name of a person, found an empty one"
    if key == "head":
        triple = shown(" ".join(event[name] for name in ("head", "relation", "tail")).encode())
        return f"expected a triple of the pool, found {triple}; are these the judgements of another campaign?"
    choices = ROLES if key == "role" else VERDICTS
    return f"expected {', '.join(choices)} as {key}, found {found}{nearest(event[key], choices)}"


def _parsed(data: bytes) -> dict[str, pa.StringArray] | None:
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
        data.decode()
        table = pa_json.read_json(
            pa.BufferReader(data),
            pa_json.ReadOptions(block_size=len(data) + 1, use_threads=False),
            pa_json.ParseOptions(
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


class _Object(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a repeated key can be seen."""


def _event(text: bytes, line: int, path: PathLike) -> dict[str, str]:
    """The texts of one line, by key."""
    try:
        found = json.loads(text.decode(), object_pairs_hook=_Object)
    except UnicodeDecodeError:
        raise FormatError(f"expected UTF-8 text, got {shown(text)}", path=path, line=line) from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, _Object):
        kind = shown(text) if text.strip() else "a blank line"
        raise FormatError(f"expected a JSON object with {', '.join(KEYS)}, got {kind}", path=path, line=line)
    event = dict(found)
    if missing := next((key for key in KEYS if key not in event), None):
        raise FormatError(
            f"expected the keys {', '.join(KEYS)}, found no {missing}: {shown(text)}", path=path, line=line
        )
    if len(found) != len(KEYS):
        keys = [key for key, _ in found]
        extra = next(key for place, key in enumerate(keys) if key not in KEYS or key in keys[:place])
        again = "a second " if extra in KEYS else ""
        raise FormatError(
            f"expected only the keys {', '.join(KEYS)}, each once, found {again}{extra!r}", path=path, line=line
        )
    for key in KEYS:
        if not isinstance(event[key], str):
            value = shown(json.dumps(dict(event[key]) if isinstance(event[key], _Object) else event[key]).encode())
            raise FormatError(f"expected text as {key}, found {value}", path=path, line=line)
        if not is_encodable(event[key]):
            raise FormatError(
                f"expected Unicode text as {key}, found half a surrogate pair in {event[key][:100]!r}",
                path=path,
                line=line,
            )
    return event


def is_encodable(text: str) -> bool:
    """Whether it can be encoded in UTF-8, unlike half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_judgements_of(path: PathLike, pool: Pool) -> Judgements | None:
    r"""The events on the triples of ``pool``, from a file that may have events on many others.

    Only the lines that can be about these triples are parsed. A line is about a triple if it contains its labels as
    JSON strings; the only other ways to write the same labels need an escape, ``\u`` or ``\/``, and a line with one
    is parsed too. So no event is missed, and errors in other lines are not noticed.

    Parameters
    ----------
    path : path
    pool : Pool
        A few triples.

    Returns
    -------
    Judgements or None
        None if there are many lines to parse, or the last line of the file is incomplete: then read all of it.

    Raises
    ------
    FormatError
        If there is no such file, or a line that can be about these triples is malformed; the line number is not that
        in the file.
    """
    triples = pool.triples
    labels = list(
        zip(
            triples.entities.decode(triples.head).to_pylist(),
            triples.relations.decode(triples.relation).to_pylist(),
            triples.entities.decode(triples.tail).to_pylist(),
            strict=True,
        )
    )
    lines: list[bytes] = []
    with reading(path) as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) != b"\n":
                return None
        stream.seek(0)
        for data in _whole_lines(stream, path, _LOOK_BLOCK):
            lines += _lines_about(data, labels)
            if len(lines) > _MOST_LINES:
                return None
    wanted = set(labels)
    events = [(line, _event(line, number, path)) for number, line in enumerate(lines, 1)]
    ours = [line for line, event in events if (event["head"], event["relation"], event["tail"]) in wanted]
    return _events(io.BytesIO(b"".join(line + b"\n" for line in ours)), path, pool, fast=False)


def _lines_about(data: bytes, labels: Sequence[tuple[str, str, str]]) -> list[bytes]:
    """The lines that can be about triples of labels, without line feeds."""
    at: dict[int, int] = {}  # where such a line begins -> where it ends

    def found(place: int) -> tuple[int, int]:
        return data.rfind(b"\n", 0, place) + 1, data.index(b"\n", place)

    codes = np.frombuffer(data, np.uint8)
    escape = np.flatnonzero(codes == ord("\\"))
    following = codes[escape + 1]  # a line feed at least
    for place in escape[(following == ord("u")) | (following == ord("/"))].tolist():
        begin, end = found(place)
        at[begin] = end
    for head, relation, tail in labels:
        *others, last = (json.dumps(label, ensure_ascii=False).encode() for label in (head, relation, tail))
        place = data.find(last)
        while place >= 0:
            begin, end = found(place)
            if all(data.find(token, begin, end) >= 0 for token in others):
                at[begin] = end
            place = data.find(last, end)
    return [data[begin:end] for begin, end in sorted(at.items())]


class _Summed:
    """A stream that keeps the numbers of bytes and lines read from it, the checksum, and the last byte."""

    def __init__(self, stream: BinaryIO, size: int = 0, checksum: int = 0, last: bytes = b"\n") -> None:
        self._stream, self.size, self.checksum, self.last = stream, size, checksum, last
        self.lines = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.size += len(data)
        self.lines += data.count(b"\n")
        self.checksum = zlib.crc32(data, self.checksum)
        self.last = data[-1:] or self.last
        return data


class ReadJudgements:
    """The events of a growing file: after a first reading, only added lines are read.

    It is checked that the earlier part is unchanged. As long as the system reports the same for the file (inode,
    size, times) nothing is read. Otherwise the checksum of the bytes read before is computed again; if it differs,
    because the file was edited or replaced, all of it is read again. Only an edit that keeps the size, within some
    milliseconds after the caller's own addition, would not be noticed.

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
        self._parts: list[_Part] = []  # oldest first, each longer than the next, so few are long
        self._recent = _Recent()  # what came after them
        self._of: dict[str, Judgements] = {}  # the events of those who were asked for
        self._file: FileState | None = None  # the file that was read
        self._state: FileState | None = None  # in which there is nothing new to read
        self._size = self._checksum = self._lines = 0
        self._is_whole = True  # whether the part read so far ended with a line feed

    def __len__(self) -> int:
        return sum(len(part.events) for part in self._parts) + len(self._recent)

    @property
    def events(self) -> Judgements:
        """All events read so far."""
        self._settle()
        while len(self._parts) > 1:
            self._join()
        return self._parts[0].events

    def about(self, triples: NDArray[np.intp]) -> Judgements:
        """The events on some of the pool's triples, oldest first."""
        found = [part.events.take(part.about(triples)) for part in self._parts]
        return _joined([*found, self._recent.about(triples.tolist())])

    def triples_since(self, n: int) -> NDArray[np.int32]:
        """Triples of the events from the n-th on, of those that were read in the present edition."""
        found, begin = [np.zeros(0, np.int32)], 0
        for triple in (*(part.events.triple for part in self._parts), self._recent.triples):
            found.append(triple[max(n - begin, 0) :])
            begin += len(triple)
        return np.concatenate(found)

    def of(self, person: str) -> Judgements:
        """The events of one person, in every role, oldest first."""
        if person not in self._of:
            found = _joined([*(part.events.take(part.of(person)) for part in self._parts), self._recent.of(person)])
            self._of[person] = replace(found, annotator=found.annotator * 0, annotators=Vocabulary.of([person]))
        return self._of[person]

    def update(self, *, only_ours: bool = False) -> None:
        """Read the added lines, or the whole file if it was replaced.

        Parameters
        ----------
        only_ours : bool
            Whether only the caller, who has added lines under the lock, can have changed the file since the last
            update.

        Raises
        ------
        FormatError
            As :func:`read_judgements`; then the next update reads the whole file.
        """
        now = FileState.of(self.path)
        if self._state is not None and now == self._state:
            return
        require_regular(self.path)
        with reading(self.path) as stream:
            state = FileState.of_open(stream)
            continued = only_ours or self._is_continued(stream, state)
            if not (self._parts and self._is_whole and continued):
                self._forget()
            stream.seek(self._size)
            summed = _Summed(stream, self._size, self._checksum)
            self._state = self._file = None
            new = _events(summed, self.path, self.pool, line=self._lines + 1)
        if len(new) or not self._parts:
            self._add(new)
        self._size, self._checksum, self._is_whole = summed.size, summed.checksum, summed.last == b"\n"
        self._lines += summed.lines
        self._file = state
        # another program may have added more meanwhile, or may change it before the clock's next tick
        self._state = state if state.size == summed.size and (only_ours or state.is_old) else None

    def extend(self, events: Judgements, data: bytes) -> None:
        """Take in events that the caller has just added as ``data``, under the lock, after an update.

        Raises
        ------
        FormatError
            As :meth:`update`, if the file is longer than before by anything else.
        """
        state = FileState.of(self.path)
        is_ours = self._file is not None and state is not None and state.is_same_file(self._file)
        if not (is_ours and state and self._is_whole and self._parts and state.size == self._size + len(data)):
            self.update(only_ours=True)
            return
        self._add(events)
        self._size, self._checksum = state.size, zlib.crc32(data, self._checksum)
        self._lines += len(events)
        self._file = self._state = state

    def _add(self, new: Judgements) -> None:
        names = new.annotators.decode(new.annotator).to_pylist()
        for name in set(names) & self._of.keys():
            theirs, said = new.take(np.array([own == name for own in names], np.bool_)), self._of[name]
            self._of[name] = said.joined(replace(theirs, annotator=theirs.annotator * 0, annotators=said.annotators))
        if self._parts and len(new) < _MOST_RECENT:
            self._recent.add(new)
            if len(self._recent) >= _MOST_RECENT:
                self._settle()
            return
        self._settle()
        self._put(new)

    def _settle(self) -> None:
        """Make a part of what is recent."""
        if len(self._recent):
            new = self._recent.events()
            self._recent = _Recent()
            self._put(new)

    def _put(self, new: Judgements) -> None:
        self._parts.append(_Part(new))
        while len(self._parts) > 1 and len(self._parts[-2].events) <= len(self._parts[-1].events):
            self._join()

    def _join(self) -> None:
        self._parts[-2:] = [_Part(self._parts[-2].events.joined(self._parts[-1].events))]

    def _is_continued(self, stream: BinaryIO, state: FileState) -> bool:
        """Whether the file still begins with the part that was read."""
        if self._file is None or not state.is_same_file(self._file) or state.size < self._size:
            return False
        checksum, rest, block = 0, self._size, memoryview(bytearray(_SUM_BLOCK))
        stream.seek(0)
        while rest and (n := cast(io.BufferedReader, stream).readinto(block[: min(rest, _SUM_BLOCK)])):
            checksum = zlib.crc32(block[:n], checksum)
            rest -= n
        return rest == 0 and checksum == self._checksum


class _Part:
    """Events, and where those of a person or on a triple are."""

    def __init__(self, events: Judgements) -> None:
        self.events = events

    def of(self, person: str) -> NDArray[np.intp]:
        """Rows of a person's events."""
        return self._by_person.get(person, np.zeros(0, np.intp))

    def about(self, triples: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rows of the events on some triples."""
        return np.sort(self._by_triple.rows(triples))

    @cached_property
    def _by_person(self) -> dict[str, NDArray[np.intp]]:
        own = self.events
        order = np.argsort(own.annotator, kind="stable")
        codes, start = np.unique(own.annotator[order], return_index=True)
        names = own.annotators.decode(codes).to_pylist()
        return dict(zip(names, np.split(order, start[1:]), strict=bool(names)))

    @cached_property
    def _by_triple(self) -> RowsByCode:
        return RowsByCode.of(self.events.triple)


class _Recent:
    """A few events, each found at once by its person and by its triple."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []  # triple, person, role, verdict, source, note, time
        self._of: dict[str, list[int]] = {}
        self._about: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def triples(self) -> NDArray[np.int32]:
        """Those of all events, oldest first."""
        return np.array([row[0] for row in self._rows], np.int32)

    def add(self, new: Judgements) -> None:
        people = new.annotators.decode(new.annotator).to_pylist()
        codes = new.role.tolist(), new.verdict.tolist()
        texts = new.source.to_pylist(), new.note.to_pylist(), new.time.to_pylist()
        for row in zip(new.triple.tolist(), people, *codes, *texts, strict=True):
            self._about.setdefault(row[0], []).append(len(self._rows))
            self._of.setdefault(row[1], []).append(len(self._rows))
            self._rows.append(row)

    def of(self, person: str) -> Judgements:
        return self._at(self._of.get(person, ()))

    def about(self, triples: Sequence[int]) -> Judgements:
        return self._at(sorted(row for triple in triples for row in self._about.get(triple, ())))

    def events(self) -> Judgements:
        return self._at(range(len(self)))

    def _at(self, rows: Sequence[int]) -> Judgements:
        if not rows:
            return Judgements.none()
        triple, person, role, verdict, *texts = zip(*(self._rows[row] for row in rows), strict=True)
        annotators, annotator = Vocabulary.encoding(labels_of(list(person)))
        source, note, time = (labels_of(list(text)) for text in texts)
        codes = np.array(role, np.int8), np.array(verdict, np.int8)
        return Judgements(np.array(triple, np.int32), annotator, *codes, source, note, time, annotators)


def _joined(parts: Sequence[Judgements]) -> Judgements:
    """One after the other; those without events do not matter."""
    return reduce(Judgements.joined, [part for part in parts if len(part)] or [Judgements.none()])


class JudgementWriter:
    """A file of judgements under the lock of its folder's campaign: only the holder of the lock changes them.

    To be used in a ``with`` block; entering waits for the current holder of the lock. The campaign as read inside the
    block does not change until its end.

    Parameters
    ----------
    path : path
    make : bool
        Whether to create the file if there is none.
    locks : bool
        Whether to take the lock; False: the caller holds it.

    Raises
    ------
    FormatError
        On entering, if the file cannot be opened for writing, or does not exist and is not to be created.
    KgtrecError
        On entering, on systems without ``fcntl`` (Windows, except its Linux subsystem): judgements could be lost there,
        so none are accepted. Reading needs no lock.
    """

    def __init__(self, path: PathLike, *, make: bool = True, locks: bool = True) -> None:
        self.path, self._make, self._locks = Path(path), make, locks
        self._descriptor = -1
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as taken:
            if self._locks:
                taken.enter_context(campaign_lock(self.path.parent, needed=True))
            if not self._make and not self.path.exists():
                raise FormatError(
                    "expected the judgements of this campaign, found no such file; put it back", path=self.path
                )
            self._descriptor = _opened(self.path)
            taken.callback(self._close)
            self._held = taken.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def _close(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1

    def append(self, pool: Pool, judgements: Judgements) -> bytes:
        """Add events at the end, all in one write; they are on the disk when this returns.

        If it fails, none of them is in the file. If the process is killed meanwhile, some of them may be.

        Returns
        -------
        bytes
            What was added.

        Raises
        ------
        OSError
            If there is no room, or the disk fails.
        KgtrecError
            If this file was replaced by another one meanwhile.
        """
        data = _lines_of(pool, judgements) if len(judgements) else b""
        if data:
            self.write(data)
        return data

    def write(self, data: bytes) -> None:
        """Add whole lines, as :meth:`append` does.

        Raises
        ------
        OSError, KgtrecError
            As :meth:`append`.
        """
        if self._descriptor < 0:
            raise KgtrecError(f"{self.path}: expected an open writer; use it in a with block")
        self._mend()
        before = os.fstat(self._descriptor).st_size
        try:
            _write(self._descriptor, data)
            os.fsync(self._descriptor)
            if before == 0:  # the file itself may be new
                _sync_folder(self.path)
            if not self._is_ours(self._descriptor):
                raise KgtrecError(
                    f"{self.path}: was replaced by another file while judgements were added, and has none of them; "
                    "add them again"
                )
        except BaseException as failure:
            # a part of an unacknowledged write must not remain
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
                os.fsync(self._descriptor)
            if isinstance(failure, OSError) and failure.filename is None:
                failure.filename = os.fspath(self.path)
            raise

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the open file is still the one of that name."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        return False

    def _mend(self) -> None:
        """End the file with a line feed: an incomplete line of a killed process is moved to another file."""
        start, tail = _last_line(self._descriptor)
        if not tail:
            return
        if _is_whole(tail.removeprefix(_BOM) if start == 0 else tail):
            _write(self._descriptor, b"\n")
            return
        aside = self.path.with_name(f"{self.path.name}.torn")
        descriptor = _opened(aside)
        try:
            _write(descriptor, tail + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _sync_folder(aside)
        os.ftruncate(self._descriptor, start)  # only now that it is stored elsewhere
        os.fsync(self._descriptor)
        warn(f"{self.path}: moved its incomplete last line to {aside}; a program was stopped before storing it")


def append_judgements(path: PathLike, pool: Pool, judgements: Judgements) -> None:
    """Add events to a file, all in one write; they are on the disk when this returns.

    Their contents are not checked: :func:`kgtrec.campaign.accept` does that, and it needs the events in the file, so
    call it inside the block of a :class:`JudgementWriter`.

    Raises
    ------
    FormatError, KgtrecError, OSError
        As :class:`JudgementWriter`.
    """
    with JudgementWriter(path) as writer:
        writer.append(pool, judgements)


def _lines_of(pool: Pool, judgements: Judgements) -> bytes:
    triples, row = pool.triples, judgements.triple
    columns = {
        "time": judgements.time,
        "person": judgements.annotators.decode(judgements.annotator),
        "role": labels_of([ROLES[role] for role in judgements.role.tolist()]),
        "head": triples.entities.decode(triples.head[row]),
        "relation": triples.relations.decode(triples.relation[row]),
        "tail": triples.entities.decode(triples.tail[row]),
        "verdict": labels_of([VERDICTS[verdict] for verdict in judgements.verdict.tolist()]),
        "source": judgements.source,
        "note": judgements.note,
    }
    rows = zip(*(columns[key].to_pylist() for key in KEYS), strict=True)
    encode = json.JSONEncoder(ensure_ascii=False).encode
    text = "".join(encode(dict(zip(KEYS, event, strict=True))) + "\n" for event in rows)
    for character in _BREAKS:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode()


def _opened(path: Path) -> int:
    """A descriptor for reading anywhere and writing at the end."""
    try:
        require_regular(path)
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise FormatError(f"cannot be opened for adding judgements: {error.strerror}", path=path) from None


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # one write, unless the system takes only part of it
        rest = rest[os.write(descriptor, rest) :]


def _last_line(descriptor: int, step: int = 1 << 16) -> tuple[int, bytes]:
    """The offset of the bytes after the last line feed, and these bytes."""
    place = os.fstat(descriptor).st_size
    tail = b""
    while place > 0:
        begin = max(place - step, 0)
        data = os.pread(descriptor, place - begin, begin)
        if cut := data.rfind(b"\n") + 1:
            return begin + cut, data[cut:] + tail
        tail, place = data + tail, begin
    return 0, tail


def _sync_folder(path: Path) -> None:
    """Write a new file's name to the disk too."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)
