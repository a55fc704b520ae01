"""What kgtrec raises and warns: one base class, so that a caller can catch all of it at once."""

from __future__ import annotations

import difflib
import errno
import itertools
import math
import operator
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# controls, marks of direction, signs that nobody sees, line separators and halves of characters; but not the joiners,
# which Persian and Indic scripts are written with
_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)

_NEAR_0 = 1e-12  # at 1 minus less, the quantile of 0.5 + confidence / 2 may be infinite
_NEAR = 0.6  # of difflib's ratio, for names that may have been meant

#: numbers of the system's errors on a disk without room
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


# a quoted text of more than 200 characters, the first 100 apart; and what is too long even for a path
_LONG_QUOTE = re.compile(r"""(?<!\w)(['"])((?:\\.|(?!\1)[^\\]){100})(?:\\.|(?!\1)[^\\]){100,}+\1(?!\w)""", re.DOTALL)
_LONG_WORD = re.compile(r"(\S{100})\S{5000,}")


def brief(message: str) -> str:
    """Shorten a message, so that nothing that it quotes is longer than about a line.

    Examples
    --------
    >>> len(brief("x.tsv:1: expected 3 columns, found " + repr("a" * 10**6)))
    140
    """
    if len(message) <= 200:
        return message
    return _LONG_WORD.sub(r"\1...", _LONG_QUOTE.sub(r"\1\2...\1", message))


class KgtrecError(ValueError):
    """Anything that is wrong with what the caller gave: data, names or options."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(brief(each) if isinstance(each, str) else each for each in args))


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

    def __init__(self, message: str, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
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


def warn(message: str) -> None:
    """Warn with a :class:`KgtrecWarning`, as of the line outside kgtrec that called it."""
    level, frame = 2, sys._getframe(1)
    own = "kgtrec", "contextlib"  # the second: a block of kgtrec that ends
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    warnings.warn(brief(message), KgtrecWarning, stacklevel=level)


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return the clause ``"; did you mean A or B?"`` for a misspelt name, or the empty string.

    Examples
    --------
    >>> nearest("nDGC@20", ["nDCG@20", "AP@20"])
    '; did you mean nDCG@20?'
    >>> nearest("zzz", ["AP@20"])
    ''
    """
    by_folded, folded = {choice.casefold(): choice for choice in choices}, name.casefold()
    matcher = difflib.SequenceMatcher(b=folded)
    near: list[tuple[float, int, str]] = []
    for key in by_folded:
        matcher.set_seq1(key)
        if matcher.quick_ratio() >= _NEAR and (ratio := matcher.ratio()) >= _NEAR:
            alike = itertools.takewhile(bool, map(operator.eq, key, folded))
            near.append((-ratio, -sum(alike), key))
    # of choices that are equally near, those that begin like the name
    found = [key for *_, key in sorted(near, key=lambda each: each[:2])[:3]]
    return f"; did you mean {' or '.join(by_folded[key] for key in found)}?" if found else ""


def extra_text(name: str) -> str:
    """Say how an extra of the package is installed."""
    return f'pip install "kgtrec[{name}]" (in a clone ".[{name}]")'


def one_of(
    what: str,
    value: Any,
    choices: Iterable[str],
    *,
    path: str | os.PathLike[str] | None = None,
    line: int | None = None,
) -> None:
    """Refuse a value that is none of its choices.

    Parameters
    ----------
    what : str
        What is expected, up to the choices: "ties to be one of", "a tie rule of".
    value, choices
    path, line
        Where it was read, if it was.

    Raises
    ------
    KgtrecError
        If it is none of them; FormatError if it was read.

    Examples
    --------
    >>> one_of("a side of", "head", ("head", "tail"))
    >>> one_of("a side of", "heads", ("head", "tail"))
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected a side of head, tail, found 'heads'; did you mean head?
    """
    choices = list(choices)
    if value not in choices:
        message = f"expected {what} {', '.join(choices)}, found {value!r}{nearest(str(value), choices)}"
        raise KgtrecError(message) if path is None else FormatError(message, path, line=line)


def require(is_right: NDArray[np.bool_], error: Callable[[int], KgtrecError]) -> None:
    """Raise the error of the first row that is not right.

    Examples
    --------
    >>> import numpy as np
    >>> ranks = np.array([1, 0])
    >>> require(ranks > 0, lambda row: KgtrecError(f"expected a rank from 1 on, found {ranks[row]} in row {row}"))
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected a rank from 1 on, found 0 in row 1
    """
    if not is_right.all():
        raise error(int(is_right.argmin()))


def legible(text: str) -> str:
    r"""Return a text on one line, with whatever would steer a terminal or turn the direction of reading as an escape.

    Examples
    --------
    >>> print(legible("caf\u00e9\x1b[31m \u202eevil\nnext"))
    café\x1b[31m \u202eevil\nnext
    """
    return text if text.isprintable() else _STEERING.sub(lambda sign: repr(sign[0])[1:-1], text)


def whole_number(what: str, value: Any, least: int | None = 0, most: int | None = None) -> int:
    """Return a whole number of any integer type, as int.

    Parameters
    ----------
    what : str
        What it is, for the error.
    value : int
    least, most : int, optional
        Between which it must be; None: any.

    Raises
    ------
    KgtrecError
        If it is no whole number (True and 2.0 are none), or not between the two.

    Examples
    --------
    >>> whole_number("seed", 7)
    7
    >>> whole_number("draws", 2.5, 1, 100_000)
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected draws to be a whole number from 1 to 100,000, found 2.5
    """
    try:
        number = None if type(value).__name__ in ("bool", "bool_") else operator.index(value)  # numpy's are none either
    except TypeError:
        number = None
    if number is None or (least is not None and number < least) or (most is not None and number > most):
        above = "" if least is None else f" from {least:,} on" if most is None else f" from {least:,}"
        below = "" if most is None else f" to {most:,}" if above else f" up to {most:,}"
        raise KgtrecError(f"expected {what} to be a whole number{above}{below}, found {value!r}")
    return number


def between_0_and_1(what: str, value: Any) -> None:
    """Refuse what is no number above 0 and below 1, or so near to one of them that quantiles are infinite.

    Examples
    --------
    >>> between_0_and_1("a confidence", 95)
    Traceback (most recent call last):
    kgtrec.errors.KgtrecError: expected a confidence between 0 and 1, found 95
    """
    if not (is_number(value) and 0 < value < 1):
        raise KgtrecError(f"expected {what} between 0 and 1, found {value!r}")
    if not _NEAR_0 <= value <= 1 - _NEAR_0:
        raise KgtrecError(f"expected {what} at least {_NEAR_0:g} away from 0 and 1, found {value!r}")


def some_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first few of some names, and the number of others, for messages.

    Examples
    --------
    >>> some_of(list("abcdefgh"))
    'a, b, c, d, e and 3 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def kind_of(thing: object) -> str:
    """Return what an error calls the type of something: with its module, since others have a Run too.

    Examples
    --------
    >>> import datetime
    >>> kind_of([]), kind_of(datetime.date(2022, 3, 17))
    ('list', 'datetime.date')
    """
    kind = type(thing)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def is_number(value: object) -> TypeGuard[float]:
    """Return whether something is a finite real number, of any type but that of True.

    Examples
    --------
    >>> is_number(0.5), is_number(3), is_number(float("nan")), is_number(True), is_number("0.5")
    (True, True, False, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def count_of(size: Any, n: int, *, what: str = "sizes", of: str = "test triples", whole: bool = True) -> int:
    """Return how many of ``n`` a size stands for.

    Parameters
    ----------
    size : int or float
        A number from 1 to ``n``; or a share, a float in (0, 1], which stands for the nearest number, at least 1.
    n : int
    what, of : str
        What the size is of, and what is counted, for the error.
    whole : bool
        Whether 1.0 is a share; if not, shares are below it.

    Returns
    -------
    int

    Raises
    ------
    KgtrecError
        If it is neither.

    Examples
    --------
    >>> count_of(5, 60), count_of(0.05, 60), count_of(0.001, 60), count_of(1.0, 60)
    (5, 3, 1, 60)
    """
    if isinstance(size, float):
        if 0 < size < 1 or (whole and size == 1):
            return max(1, round(size * n))
    elif not isinstance(size, bool):
        try:
            count = operator.index(size)
        except TypeError:
            count = 0
        if 1 <= count <= n:
            return count
    end = "up to 1.0" if whole else "below 1.0"
    raise KgtrecError(f"expected {what} of 1 to {n:,} {of}, or of a share of them above 0 and {end}, found {size!r}")


def counted(number: int, noun: str) -> str:
    """Return how many of what: 1 task, 2,000 tasks."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@contextmanager
def unwarned() -> Iterator[None]:
    """Leave out the :class:`KgtrecWarning` of the block, which was given before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        yield


@contextmanager
def each_warned_once(warned: set[str]) -> Iterator[None]:
    """Give each :class:`KgtrecWarning` of the block that is not in ``warned`` at its end, and add it there."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if not issubclass(warning.category, KgtrecWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif str(warning.message) not in warned:
            warned.add(str(warning.message))
            warn(str(warning.message))


@contextmanager
def in_file(path: str | os.PathLike[str], line: int | None = None, *, name: str = "") -> Iterator[None]:
    """Say which file an error of the block is about, where the error does not; a plain one is a :class:`FormatError`.

    The path takes the place of ``name``, if errors begin with it.

    Examples
    --------
    >>> with in_file("names.tsv", 7):
    ...     raise KgtrecError("expected a name, found none")
    Traceback (most recent call last):
    kgtrec.errors.FormatError: names.tsv:7: expected a name, found none
    """
    try:
        yield
    except FormatError:
        raise
    except KgtrecError as error:
        message = str(error).removeprefix(f"{path}: ").removeprefix(f"{name}: ")
        if type(error) is KgtrecError:
            raise FormatError(message, path, line=line) from None
        raise type(error)(f"{path}: {message}") from None
