"""The blocks that a ranking has finished, in a folder beside its results, from which the same command continues.

A block's file is named after its number and a hash of all that its numbers depend on: the model's vectors, the queries,
the pairs that are counted, the length of the lists, and the versions of kgtrec and numpy. So a block of other scores or
options has another name, and is removed. The folder is gone when all is ranked.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.errors import warn
from kgtrec.formats.files import kgtrec_version
from kgtrec.formats.numpy_files import pieces_of
from kgtrec.kernels.ranking.top_k import TopK
from kgtrec.kernels.rows import LargeArray
from kgtrec.ranking.tiles import Candidates, Counted, QuestionBlock, Tiling

_OWN = re.compile(r"([0-9]{5,9})-[0-9a-f]{32}\.block|[0-9]{5,9}-[0-9a-f]{32}\.part|array-[0-9a-f]{16}\.npy")
_SUM = 32  # bytes of the hash with which a file begins
_COUNTS = ("above", "tied", "used", "by_rounding")


class Journal:
    """The finished blocks of a ranking.

    Parameters
    ----------
    folder : path
        It is created when a block is kept.
    candidates : Candidates
    tiling : Tiling
    """

    def __init__(self, folder: Path, candidates: Candidates, tiling: Tiling) -> None:
        self._folder, self._candidates, self._tiling = folder, candidates, tiling

    def finished(self, block: Callable[[int], QuestionBlock], n_blocks: int) -> dict[int, Path]:
        """Find the files of finished blocks, by number; those of other scores or options are removed.

        Warns
        -----
        KgtrecWarning
            If there are such blocks.
        """
        finished, others = {}, False
        for path, number in _own_files(self._folder):
            if number is not None and number < n_blocks and path == self._path(number, block(number)):
                finished[number] = path
            else:
                others |= number is not None
                path.unlink(missing_ok=True)
        if others:
            warn(f"{self._folder}: found blocks of other scores or options, which are removed and not used")
        return finished

    def keep(self, number: int, block: QuestionBlock, counts: Counted) -> None:
        """Keep what was counted for a block."""
        arrays = {name: getattr(counts, name) for name in _COUNTS}
        if counts.best is not None:
            lengths = np.bincount(counts.best.row, minlength=len(block))
            arrays |= {"lengths": lengths, "entity": counts.best.entity, "score": counts.best.score}
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        path = self._path(number, block)
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        with naming_place(path):
            draft.write_bytes(hashlib.sha256(stream.getbuffer()).digest() + stream.getbuffer())
            draft.replace(path)

    def _path(self, number: int, block: QuestionBlock) -> Path:
        digest = hashlib.sha256(self._common)
        pairs = *block.ranked, block.is_answer, *block.uncounted, *block.excluded
        for array in (block.rows, block.queries, *pairs):
            _add(digest, array)
        return self._folder / f"{number:05}-{digest.hexdigest()[:32]}.block"

    @cached_property
    def _common(self) -> bytes:
        """The hash of what all blocks depend on."""
        own, vectors = self._candidates, self._candidates.vectors
        options = kgtrec_version(), np.__version__, vectors.comparison, vectors.is_wide, own.depth, self._tiling.panel
        digest = hashlib.sha256(repr(options).encode())
        for array in (vectors.E, vectors.b, own.entity, own.tie_order):
            _add(digest, array)
        return digest.digest()


def read_block(path: Path) -> Counted | None:
    """Read the counts of a finished block; None if its file is damaged, as after a loss of power, or gone."""
    data = memoryview(path.read_bytes() if path.exists() else b"")
    if hashlib.sha256(data[_SUM:]).digest() != data[:_SUM]:
        return None
    with np.load(io.BytesIO(data[_SUM:]), allow_pickle=False) as archive:
        above, tied, used, by_rounding = (archive[name] for name in _COUNTS)
        best = None
        if "lengths" in archive:
            row = np.repeat(np.arange(len(archive["lengths"])), archive["lengths"])
            best = TopK(row, archive["entity"], archive["score"])
    return Counted(above, tied, used, used, by_rounding, best)


@contextmanager
def naming_place(path: Path) -> Iterator[None]:
    """Let an error of the disk name the file that was to be written."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def remove_unfinished(folder: Path) -> None:
    """Remove the folder of a ranking that is finished, but not what somebody else put there."""
    with suppress(OSError):  # there is none, something else is in it, or a worker elsewhere maps a file of it
        for path, _ in _own_files(folder):
            path.unlink(missing_ok=True)
        folder.rmdir()


def _own_files(folder: Path) -> list[tuple[Path, int | None]]:
    """The files of a journal; with the block's number those of finished blocks."""
    names = {path: _OWN.fullmatch(path.name) for path in sorted(folder.glob("*")) if path.is_file()}
    return [(path, int(name[1]) if name[1] else None) for path, name in names.items() if name]


def _add(digest: Any, array: LargeArray | None) -> None:
    """Add an array to a hash: its type, its shape and its numbers."""
    digest.update(repr(None if array is None else (array.dtype.str, array.shape)).encode())
    for piece in () if array is None else pieces_of(array):
        digest.update(piece.data)
