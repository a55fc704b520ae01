"""What a format is to tests/fuzz.py."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True)
class Target:
    """A format: valid files of it, how one is put in place, and its reader."""

    examples: list[bytes]
    put: Callable[[bytes], object]
    read: Callable[[], object]


def npy(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def array_text(name: str, array: np.ndarray) -> bytes:
    """An array as lines: its name, its type, its shape, and its numbers."""
    lines = name, array.dtype.str, " ".join(map(str, array.shape)), " ".join(map(str, array.ravel().tolist()))
    return "\n".join(lines).encode()


def array_of(text: bytes) -> tuple[str, np.ndarray]:
    """The array that such lines stand for, whatever became of them; what is no number is 0."""
    name, kind, shape, numbers, *_ = [*text.decode("latin-1").split("\n"), "", "", "", ""]
    try:
        dtype = np.dtype(kind)
        if dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError, SyntaxError):
        dtype = np.dtype(np.float64)
    values = np.array([_number(each) for each in numbers.split()[:200]], np.float64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = values.astype(dtype)
    sizes = [int(each) for each in shape.split() if each.isascii() and each.isdigit() and len(each) < 4][:4]
    return name, array.reshape(sizes) if np.prod(sizes) == len(array) else array


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def parts(
    folder: Path,
    files: dict[str, bytes],
    read: Callable[[], object],
    after: Callable[[str], object] = lambda name: None,
    more: Mapping[str, bytes] = MappingProxyType({}),
) -> Target:
    """A folder of several files, one of which is changed; the examples begin with its name and a line end.

    Parameters
    ----------
    folder : path
    files : dict of str to bytes
        All of them, by name.
    read : callable
    after : callable, optional
        Called with the name of the file that was changed.
    more : mapping of str to bytes, optional
        Other content of some of the files, which is changed likewise.
    """
    for name, data in files.items():
        (folder / name).write_bytes(data)
    changed: list[str] = []

    def put(data: bytes) -> None:
        name, _, rest = data.partition(b"\n")
        for earlier in changed:
            (folder / earlier).write_bytes(files[earlier])
        # a name that was changed too stands for the first file
        own = name.decode("latin-1") if name.decode("latin-1") in files else next(iter(files))
        changed[:] = [own]
        (folder / own).write_bytes(rest)
        after(own)

    examples = [*files.items(), *more.items()]
    return Target([name.encode() + b"\n" + data for name, data in examples], put, read)
