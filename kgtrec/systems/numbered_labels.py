"""Labels of a system's entities and relations, in the order of their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.files import reading
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.formats.triples.ids import read_numbered_labels
from kgtrec.systems.adapter import ReadOptions

_HEAD = 1 << 16  # bytes of a first line
_NUMBERED = re.compile(rb"[0-9]+\t[^\t\r\n]+")


def labels_in(path: Path) -> Vocabulary:
    r"""Read labels: ``number TAB label`` lines in any order, or one label per line in the order of the numbers.

    Raises
    ------
    FormatError
        If a label or a number is repeated, or a number is missing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "entities.dict")
    >>> _ = path.write_text("1\tbob\n0\tann\n")
    >>> list(labels_in(path))
    ['ann', 'bob']
    """
    with reading(path) as stream:
        first = stream.readline(_HEAD).rstrip(b"\r\n")
    return read_numbered_labels(path) if _NUMBERED.fullmatch(first) else read_label_lines(path)


def labels_beside(source: Path, folder: Path, names: Iterable[str], what: str, options: ReadOptions) -> Vocabulary:
    """Read the labels that the user named, or the first file of these names in the user's folder or another one.

    Raises
    ------
    FormatError
        If there is none.
    """
    own: Path | None = getattr(options, what)
    if own is not None:
        return labels_in(own)
    names = list(names)
    for place in (options.data, folder):
        for name in names:
            if place is not None and (place / name).is_file():
                return labels_in(place / name)
    raise FormatError(
        f"expected the labels of its {what} in {' or '.join(names)} beside it, found no such file; name the folder of "
        f"the data set with --data, or the file with --{what}",
        path=source,
    )


def require_labels(
    labels: Vocabulary,
    expected: int,
    what: str,
    way_out: str = "are they those of this model's data set?",
    *,
    of_each: int = 1,
    path: Path | None = None,
) -> None:
    """Refuse labels that are not as many as the entities, or relations, of a model, which has ``of_each`` so many.

    Raises
    ------
    KgtrecError
        With both numbers and the way out; of a file or a folder a FormatError that names it.
    """
    if len(labels) * of_each != expected:
        several = "" if of_each == 1 else f", {of_each} for each label"
        message = f"expected labels for the {expected:,} {what} of the model{several}, found {len(labels):,}; {way_out}"
        raise KgtrecError(message) if path is None else FormatError(message, path)
