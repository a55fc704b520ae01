"""Files of any kind, read by their contents."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, cast

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.questions import Topics
from kgtrec.errors import FormatError
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.contents import Kind, kind_of_parquet
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.parquet import MAGIC, is_parquet
from kgtrec.formats.trec.qrels import QrelsFile, read_qrels_file
from kgtrec.formats.trec.runs import RunFile, read_run_file
from kgtrec.formats.trec.text import NUMBER, shown, whole_lines
from kgtrec.formats.trec.topics import read_topics

_HEAD = 1 << 16
_LINES = 100


def sniff(path: PathLike) -> Kind:
    r"""Return the kind of file that ``path`` is; for text, by most of its first lines.

    Standard input cannot be read twice: see :func:`opened_kind`.

    Raises
    ------
    FormatError
        If it is not a run, qrels, topics or answer ranks.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "some.txt"
    >>> _ = path.write_text("tail0 0 paris 1\n")
    >>> sniff(path)
    'qrels'
    """
    if is_parquet(path):
        return kind_of_parquet(path)
    with reading(path) as stream:
        return opened_kind(path, stream)[0]


def opened_kind(path: PathLike, stream: BinaryIO) -> tuple[Kind, BinaryIO]:
    """Return the kind of an open text file, and a stream that still has all of its bytes."""
    head = b""
    while len(head) < _HEAD and (data := stream.read(_HEAD - len(head))):
        head += data
    return _kind_of_text(path, head), cast(BinaryIO, io.BufferedReader(_Rejoined(head, stream)))


class _Rejoined(io.RawIOBase):
    """The bytes already read from a stream, followed by the rest of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the protocol's Buffer is a memoryview here
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def read_any(
    path: PathLike, kind: Kind | None = None, *, ranks: bool = False
) -> RunFile | QrelsFile | Topics | AnswerRanks:
    """Read the contents of a file, or of standard input (``-``), of any kind; ``ranks``: a run with its rank column.

    Raises
    ------
    FormatError
        If it is of no known kind, or malformed.
    """
    if is_parquet(path):
        kind = kind or kind_of_parquet(path)
        if kind == "answer ranks":
            return read_answer_ranks(path)
        if kind == "topics":
            raise FormatError("expected topics as text, found a Parquet file", path)
        return read_run_file(path) if kind == "run" else read_qrels_file(path)
    with reading(path) as stream:
        if kind is None:
            kind, stream = opened_kind(path, stream)
        if kind == "answer ranks":
            raise FormatError("expected answer ranks as a .parquet file, found text", path)
        if kind == "topics":
            return read_topics(path, stream=stream)
        if kind == "run":
            return read_run_file(path, stream=stream, ranks=ranks)
        return read_qrels_file(path, stream=stream)


def _kind_of_text(path: PathLike, head: bytes) -> Kind:
    if head.startswith(MAGIC):
        raise FormatError("expected text, found Parquet data; give the file a name that ends in .parquet", path)
    whole = b"".join(whole_lines(io.BytesIO(head), str(path)))
    numbered = enumerate(whole.split(b"\n"), start=1)
    lines = {number: line for number, line in numbered if line.strip() and not line.lstrip().startswith(b"#")}
    lines = dict(list(lines.items())[:_LINES])
    if len(lines) > 1 and len(head) == _HEAD:
        lines.popitem()  # it may be cut off
    name = Path(path).name.lower()
    if name.startswith("topics") and any(line.count(b"\t") == 3 for line in lines.values()):
        return "topics"  # with qualifiers, which may be numbers as grades are
    votes = [kind for kind in map(_kind_of_line, lines.values()) if kind]
    if votes:
        return max(votes, key=votes.count)
    # no line is well formed: the reader of the nearest kind has the best message
    kinds: dict[str, Kind] = {"qrel": "qrels", ".run": "run", "topics": "topics"}
    if named := next((kind for part, kind in kinds.items() if part in name), None):
        return named
    if not lines:
        raise FormatError("expected a run, qrels or topics, found an empty file", path)
    number, line = next(iter(lines.items()))
    found = len(line.split())
    raise FormatError(
        f"expected a run (6 columns), qrels (4 columns) or topics (3 columns separated by tabs), found "
        f"{found} column{'' if found == 1 else 's'}: {shown(line)}",
        path,
        line=number,
    )


def _kind_of_line(line: bytes) -> Kind | None:
    fields = line.split()
    if len(fields) == 6 and (NUMBER.fullmatch(fields[4]) or line.count(b"\t") != 2):
        return "run"
    if len(fields) == 4 and (NUMBER.fullmatch(fields[3]) or line.count(b"\t") != 2):
        return "qrels"
    return "topics" if line.count(b"\t") == 2 else None
