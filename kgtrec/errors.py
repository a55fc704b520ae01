"""What kgtrec raises and warns: one base class, so that a caller can catch all of it at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable


class KgtrecError(ValueError):
    """Anything that is wrong with what the caller gave: data, names or options."""


class FormatError(KgtrecError):
    """A file that is not what it should be; the message begins with the file and, where known, the line.

    Parameters
    ----------
    message : str
        What was expected, what was found, and the way out.
    path : str or path, optional
        The file at fault; ``-`` is standard input.
    line : int, optional
        Line number in that file, from 1.
    """

    def __init__(self, message: str, *, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{os.fspath(path)}:" if line is None else f"{os.fspath(path)}:{line}:"
        super().__init__(f"{place} {message}" if place else message)
        self.path = path
        self.line = line


class MeasureError(KgtrecError):
    """A measure that is unknown, or that the given input cannot yield."""


class CollectionError(KgtrecError):
    """Inputs that do not belong together: other questions, other entities, another filter."""


class KgtrecWarning(UserWarning):
    """Something that the caller should know but that does not stop the work."""


def nearest(name: str, choices: Iterable[str], *, limit: int = 3) -> str:
    """The clause ``"; did you mean A or B?"`` for a misspelt name, or the empty string.

    Examples
    --------
    >>> nearest("nDGC@20", ["nDCG@20", "AP@20"])
    '; did you mean nDCG@20?'
    >>> nearest("zzz", ["AP@20"])
    ''
    """
    by_folded = {choice.casefold(): choice for choice in choices}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=limit, cutoff=0.6)
    return f"; did you mean {' or '.join(by_folded[key] for key in found)}?" if found else ""
