"""Arrays and texts that torch or pickle wrote, read without torch and without running anything.

A pickle is a program that may call anything. Here it can name the few things that NumPy's arrays are made of, and gets
stand-ins for them, which keep the bytes; anything else is refused.
"""

from __future__ import annotations

import pickle  # nosec B403 # an Unpickler here finds a few names of NumPy, and refuses every other
import re
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import PathLike, reading

_MAGIC = 0x1950A86A20F9469CFC6C  # the first pickle of a file of torch before 1.6, which version, system and data follow
_ZIP = b"PK\x03\x04"
_WHOLE = re.compile(r"[iu][1248]")


def read_pickled_arrays(path: PathLike) -> dict[str, NDArray[np.integer[Any]] | list[str]]:
    """Read arrays of whole numbers and lists of texts of a dict that ``torch.save`` or ``pickle.dump`` wrote.

    Raises
    ------
    FormatError
        If it holds anything else, or is damaged.
    """
    try:
        with reading(path) as stream:
            # a zip file that is cut has no end by which zipfile.is_zipfile would recognise it, and is no pickle either
            is_zip = stream.read(len(_ZIP)) == _ZIP
        if is_zip:
            content = _of_zip(Path(path))
        else:
            with reading(path) as stream:
                content = _of_stream(stream)
        if not isinstance(content, dict):
            raise _RefusedError(f"expected a dict, found {type(content).__name__}")
        return {str(name): _value(str(name), value) for name, value in content.items()}
    except _RefusedError as error:
        raise FormatError(str(error), path) from None
    except (FormatError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged pickle raises
        raise FormatError(f"expected a whole file of torch or pickle, found a damaged one ({error})", path) from None


class _RefusedError(KgtrecError):
    """What is not read."""


def _of_zip(path: Path) -> object:
    with zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.rpartition("/")[2] == "data.pkl"]
        if len(names) != 1:
            raise _RefusedError("expected a file of torch, found a zip file without data.pkl")
        with file.open(names[0]) as stream:
            return _Reader(stream).load()


def _of_stream(stream: IO[bytes]) -> object:
    try:
        content = _Reader(stream).load()
        if content == _MAGIC:
            for _ in range(2):
                _Reader(stream).load()
            content = _Reader(stream).load()
    except EOFError as error:  # which would be taken for that of compressed data
        raise pickle.UnpicklingError(str(error)) from None
    return content


class _Dtype:
    """Stands for ``numpy.dtype``."""

    def __init__(self, code: str, *_: object) -> None:
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def real(self) -> np.dtype[Any]:
        if not isinstance(self.code, str) or not _WHOLE.fullmatch(self.code) or self.order not in ("<", ">", "|", "="):
            raise _RefusedError(f"expected arrays of whole numbers, found some of {self.code!r}")
        return np.dtype(self.order + self.code)


class _Array:
    """Stands for ``numpy.ndarray``, and for what makes one: of bytes, dtype, shape and order, or of its state."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, is_fortran, data = state
        self.parts = (data, dtype, shape, "F" if is_fortran else "C")

    def real(self) -> NDArray[Any]:
        data, dtype, shape, order = self.parts
        return np.frombuffer(data, dtype.real()).reshape(shape, order=order)


def _encode(text: str, coding: str = "") -> bytes:
    """How bytes are written before protocol 3."""
    if coding not in ("latin1", "latin-1"):
        raise _RefusedError(f"expected bytes, found text to be encoded as {coding!r}")
    return text.encode("latin-1")


def _no_bytes(*values: object) -> bytes:
    """How no bytes at all are written before protocol 3."""
    if values:
        raise _RefusedError("expected bytes, found a call that would make some")
    return b""


_STAND_INS = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    **{(module, "bytes"): _no_bytes for module in ("__builtin__", "builtins")},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _Array for core in ("core", "_core")},
}


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        stand_in = _STAND_INS.get((module_name, global_name))
        if stand_in is None:
            raise _RefusedError(
                f"expected arrays and texts alone, found {module_name}.{global_name}, which may be code; nothing of it "
                "was run"
            )
        return stand_in

    def persistent_load(self, pid: object) -> Any:
        raise _RefusedError("expected NumPy's arrays, found tensors of torch")


def _value(name: str, value: object) -> NDArray[np.integer[Any]] | list[str]:
    if isinstance(value, _Array):
        return value.real()
    if isinstance(value, list) and all(type(each) is str for each in value):
        return value
    raise _RefusedError(f"expected an array or a list of texts as {name}, found {type(value).__name__}")
