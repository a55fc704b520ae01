"""The judgements of a campaign: events, one JSON object a line, to which lines are only ever added.

A line holds, as texts, and in this order, time, person, role, head, relation, tail, verdict, source and note.

Lines are added by :class:`JudgementWriter` only. It holds the lock of the campaign
(:mod:`kgtrec.formats.output.locks`), which the system lets go when the process ends, however it ends. All lines of one
call go out in one write and are on the disk (``fsync``) before the call returns; from then on they count as
acknowledged. Readers take no lock. A process that is killed while it writes can leave a last line without its line
feed. Nobody was told that it was stored, and a reader leaves it out with a warning; the next writer moves it to a file
beside, ``judgements.jsonl.torn``, since nothing that somebody wrote is ever thrown away. Where only the line feed is
missing the line is whole, and counts.
"""

from __future__ import annotations

import errno
import io
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.arrow import labels_of, values_of
from kgtrec.data.judgements import ROLES, TIME, VERDICTS, Judgements
from kgtrec.data.pool import Pool
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, nearest, warn
from kgtrec.formats.files import FileState, PathLike, reading, require_regular
from kgtrec.formats.output.locks import campaign_lock
from kgtrec.formats.trec.text import joined_codes, shown

KEYS = ("time", "person", "role", "head", "relation", "tail", "verdict", "source", "note")
_BLOCK_SIZE = 1 << 24  # bytes
_LONGEST_LINE = 1 << 26
_LOOK_BLOCK = 1 << 18  # bytes; they stay in the processor's cache
_MOST_LINES = 10_000  # that are parsed one by one
_SUM_BLOCK = 1 << 18
_BOM = b"\xef\xbb\xbf"
_BREAKS = "\x85\u2028\u2029"  # legal in JSON, but many programs take these for the end of a line


def read_judgements(path: PathLike, pool: Pool, *, fast: bool = True, block_size: int = _BLOCK_SIZE) -> Judgements:
    r"""The events of a file, oldest first; it may be read while a program adds to it.

    A last line that is not whole is left out, with a warning.

    Parameters
    ----------
    path : path
    pool : Pool
        Whose triples were judged.
    fast : bool
        False reads line by line throughout, which gives the same result.
    block_size : int, bytes
        Read at a time.

    Raises
    ------
    FormatError
        If there is no such file; for the first line that is not UTF-8 or not a JSON object, lacks a key, has another
        or the same one twice, holds anything but text, an unknown role or verdict, a time of another form, no
        person, or a triple that is not in the pool.

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
    """The events of a stream from where it is on, which is at the beginning of a ``line`` of the file."""
    blocks = [_columns(b"", line, path, pool, fast)]
    for data in _whole_lines(stream, path, block_size, is_start=line == 1):
        columns = _columns(data, line, path, pool, fast)
        blocks.append(columns)
        line += len(columns["triple"])

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
    """The bytes of a stream in blocks of lines, a line feed at the end of each; what is torn is left out."""
    rest = stream.read(len(_BOM)) if is_start else b""
    rest = b"" if rest == _BOM else rest
    while data := stream.read(size):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((rest, memoryview(data)[:cut]))
            rest = data[cut:]
        else:
            rest += data
        if len(rest) > _LONGEST_LINE:
            raise FormatError(f"expected lines of text, found one longer than {_LONGEST_LINE >> 20} MiB", path=path)
    if cut := rest.rfind(b"\n") + 1:  # a file shorter than a byte-order mark
        yield rest[:cut]
        rest = rest[cut:]
    if rest and _is_whole(rest):
        yield rest + b"\n"
    elif rest:
        warn(
            f"{os.fspath(path)}: the last line is not whole and is left out: a program is writing it now, or was "
            f"stopped before it had stored it: {shown(rest)}"
        )


def _is_whole(line: bytes) -> bool:
    """Whether a line lacks nothing but its line feed: no beginning of a JSON object is itself one."""
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line.decode()), dict)
    return False


def _columns(data: bytes, line: int, path: PathLike, pool: Pool, fast: bool) -> dict[str, Any]:
    """The columns of lines, coded, of which the first is ``line`` of the file."""
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
        "person": table["person"].dictionary_encode(),
        "source": table["source"],
        "note": table["note"],
        "time": table["time"],
    }


def _wrong(key: str, event: dict[str, str]) -> str:
    found = shown(event[key].encode())
    if key == "time":
        return f"expected a time in UTC such as 2026-11-21T20:00:00Z, found {found}"
    if key == "person":
        return "expected the name of a person, found an empty one"
    if key == "head":
        triple = shown(" ".join(event[name] for name in ("head", "relation", "tail")).encode())
        return f"expected a triple of the pool, found {triple}; is it the judgements of another campaign?"
    choices = ROLES if key == "role" else VERDICTS
    return f"expected {', '.join(choices)} as {key}, found {found}{nearest(event[key], choices)}"


def _parsed(data: bytes) -> dict[str, pa.StringArray] | None:
    """The columns of regular lines; None where there is anything that Arrow might take unlike :func:`_event`."""
    import pyarrow.json as pa_json

    if not data:
        return None
    codes = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(codes == 10)
    starts = np.r_[0, ends[:-1] + 1]
    # Arrow splits objects at their braces: so each line must begin and end with one, and be one object
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
    """A JSON object as its pairs, so that a key that is there twice can be seen."""


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
    """Whether it has a form in UTF-8, which half a surrogate pair has not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_judgements_of(path: PathLike, pool: Pool) -> Judgements | None:
    r"""The events on the triples of ``pool``, of a file that may hold events on many others.

    Only the lines that can be about these triples are parsed. A line is about a triple if its labels stand in it as
    JSON strings; the only other ways to write the same labels need an escape, ``\u`` or ``\/``, and a line with one
    is looked at too. So no event is missed, and what is wrong with other lines is not noticed.

    Parameters
    ----------
    path : path
    pool : Pool
        A few triples.

    Returns
    -------
    Judgements or None
        None where the lines to look at are many, or the last line of the file is not whole: read all of it then.

    Raises
    ------
    FormatError
        If there is no such file, or a line that can be about these triples is wrong; its number is not that in the
        file.
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
    """A stream that keeps count and checksum of what was read of it, and its last byte."""

    def __init__(self, stream: BinaryIO, size: int = 0, checksum: int = 0, last: bytes = b"\n") -> None:
        self._stream, self.size, self.checksum, self.last = stream, size, checksum, last

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.size += len(data)
        self.checksum = zlib.crc32(data, self.checksum)
        self.last = data[-1:] or self.last
        return data


class ReadJudgements:
    """The events of a file that grows: after a first reading, only what was added since is read.

    What was read before is not taken for what is there now. As long as the system tells the same of the file (inode,
    size, times) nothing is read. Otherwise the checksum of the bytes that were read before is worked out again; if they
    are not the same, as after somebody edited or replaced the file, all of it is read anew. Only an edit that leaves
    the size, within some milliseconds after the caller's own addition, would not be seen.

    Parameters
    ----------
    path : path
    pool : Pool
        Whose triples were judged.
    """

    def __init__(self, path: PathLike, pool: Pool) -> None:
        self.path, self.pool = Path(path), pool
        self._forget()

    def _forget(self) -> None:
        self._parts: list[Judgements] = []  # oldest first, each longer than the next: so few are long
        self._file: FileState | None = None  # what was read
        self._state: FileState | None = None  # with which there is nothing to be read
        self._size = self._checksum = 0
        self._is_whole = True  # whether what was read ended with a line feed

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @property
    def events(self) -> Judgements:
        """All that was read."""
        while len(self._parts) > 1:
            self._join()
        return self._parts[0]

    def about(self, triples: NDArray[np.intp]) -> Judgements:
        """The events on some of the pool's triples, oldest first."""
        found = [part.take(np.isin(part.triple, triples)) for part in self._parts]
        return reduce(Judgements.joined, found)

    def update(self, *, only_ours: bool = False) -> None:
        """Read what was added, or all of it if it is another file now.

        Parameters
        ----------
        only_ours : bool
            Whether, since the last update, nobody but the caller can have changed the file, who has added lines to it
            under the lock.

        Raises
        ------
        FormatError
            As :func:`read_judgements`; the next update reads all of it then.
        """
        with reading(self.path) as stream:
            state = FileState.of_open(stream)
            if state == self._state:
                return
            continued = only_ours or self._is_continued(stream, state)
            if not (self._parts and self._is_whole and continued):
                self._forget()
            stream.seek(self._size)
            summed = _Summed(stream, self._size, self._checksum)
            self._state = self._file = None
            new = _events(summed, self.path, self.pool, line=len(self) + 1)
        if len(new) or not self._parts:
            self._parts.append(new)
        while len(self._parts) > 1 and len(self._parts[-2]) <= len(self._parts[-1]):
            self._join()
        self._size, self._checksum, self._is_whole = summed.size, summed.checksum, summed.last == b"\n"
        self._file = state
        # another program may have added more meanwhile, or may do something else before the clock goes on
        self._state = state if state.size == summed.size and (only_ours or state.is_old) else None

    def _join(self) -> None:
        self._parts[-2:] = [self._parts[-2].joined(self._parts[-1])]

    def _is_continued(self, stream: BinaryIO, state: FileState) -> bool:
        """Whether the file still begins with what was read of it."""
        if self._file is None or not state.is_same_file(self._file) or state.size < self._size:
            return False
        checksum, rest, block = 0, self._size, memoryview(bytearray(_SUM_BLOCK))
        stream.seek(0)
        while rest and (n := cast(io.BufferedReader, stream).readinto(block[: min(rest, _SUM_BLOCK)])):
            checksum = zlib.crc32(block[:n], checksum)
            rest -= n
        return rest == 0 and checksum == self._checksum


class JudgementWriter:
    """A file of judgements under the lock of its folder's campaign: whoever holds one is alone in changing them.

    To be used in a ``with`` block; entering waits for whoever holds the lock now. What is read of the campaign inside
    the block stays true until its end.

    Parameters
    ----------
    path : path
    make : bool
        Whether to make the file where there is none.

    Raises
    ------
    FormatError
        On entering, if the file cannot be opened for writing, or is not there and not to be made.
    KgtrecError
        On entering, on systems without ``fcntl`` (Windows itself; its Linux subsystem has it): judgements could be
        lost there, so none are taken. Reading needs no lock.
    """

    def __init__(self, path: PathLike, *, make: bool = True) -> None:
        self.path, self._make = Path(path), make
        self._descriptor = -1
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as taken:
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

    def append(self, pool: Pool, judgements: Judgements) -> None:
        """Add events at the end, all in one write; they are on the disk when this returns.

        When it fails, none of them is in the file. When the process is killed meanwhile, some of them may be.

        Raises
        ------
        OSError
            If there is no room, or the disk fails.
        KgtrecError
            If another file has taken the place of this one meanwhile.
        """
        if len(judgements) == 0:
            return
        if self._descriptor < 0:
            raise KgtrecError(f"{self.path}: expected an open writer; use it in a with block")
        data = _lines_of(pool, judgements)
        self._mend()
        before = os.fstat(self._descriptor).st_size
        try:
            _write(self._descriptor, data)
            os.fsync(self._descriptor)
            if before == 0:  # the file itself may be new
                _sync_folder(self.path)
            if not self._is_ours(self._descriptor):
                raise KgtrecError(
                    f"{self.path}: another file has taken its place while judgements were added, and has none of them; "
                    "add them again"
                )
        except BaseException as failure:
            # what is not acknowledged must not stay in part
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
                os.fsync(self._descriptor)
            if isinstance(failure, OSError) and failure.filename is None:
                failure.filename = os.fspath(self.path)
            raise

    def _is_ours(self, descriptor: int) -> bool:
        """Whether the file that is open is still the one of that name."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        return False

    def _mend(self) -> None:
        """End the file with a line feed: what a killed process left of a line is moved aside."""
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
        os.ftruncate(self._descriptor, start)  # only now that it is safe elsewhere
        os.fsync(self._descriptor)
        warn(f"{self.path}: the last line was not whole: a program was stopped before it had stored it; see {aside}")


def append_judgements(path: PathLike, pool: Pool, judgements: Judgements) -> None:
    """Add events to a file, all in one write; they are on the disk when this returns.

    What they say is not checked: that is what :func:`kgtrec.campaign.accept` is for, and it must know what the file
    holds, so whoever uses it does so inside the block of a :class:`JudgementWriter`.

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
        "role": Vocabulary.of(ROLES).decode(judgements.role),
        "head": triples.entities.decode(triples.head[row]),
        "relation": triples.relations.decode(triples.relation[row]),
        "tail": triples.entities.decode(triples.tail[row]),
        "verdict": Vocabulary.of(VERDICTS).decode(judgements.verdict),
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
    """A descriptor that reads anywhere and writes at the end."""
    try:
        require_regular(path)
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    except OSError as error:
        raise FormatError(f"cannot be opened for adding judgements: {error.strerror}", path=path) from None


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # one write, but where the system takes only part of it
        rest = rest[os.write(descriptor, rest) :]


def _last_line(descriptor: int, step: int = 1 << 16) -> tuple[int, bytes]:
    """Where the bytes after the last line feed begin, and these bytes."""
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
    """Have a new file's name on the disk too."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems sync no folders
            raise
    finally:
        os.close(descriptor)
