"""Shares of relations: ``relation TAB share`` lines, for scores under another relation distribution."""

from __future__ import annotations

import math

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading
from kgtrec.formats.trec.text import decoded, text_of


def read_relation_shares(path: PathLike) -> dict[str, float]:
    r"""The share of each relation, on any scale.

    Raises
    ------
    FormatError
        For the first line that is not UTF-8, has no tab, no number of at least 0, or a repeated relation; for an empty
        file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shares.tsv"
    >>> _ = path.write_text("born_in\t3\nlives_in\t1\n")
    >>> read_relation_shares(path)
    {'born_in': 3.0, 'lives_in': 1.0}
    """
    shares: dict[str, float] = {}
    with reading(path) as stream:
        for number, data in enumerate(text_of(stream, path).split(b"\n"), 1):
            line = decoded(data.removesuffix(b"\r"), path, number)
            if not line:
                continue
            relation, tab, text = line.rpartition("\t")
            try:
                share = float(text) if text.isascii() and "_" not in text else math.nan
            except ValueError:
                share = math.nan
            if not tab or not math.isfinite(share) or share < 0:
                raise FormatError(
                    f"expected relation TAB share, a number of at least 0, found {line[:100]!r}",
                    path=str(path),
                    line=number,
                )
            if relation in shares:
                raise FormatError(f"expected each relation once, found {relation!r} again", path=str(path), line=number)
            shares[relation] = share
    if not shares:
        raise FormatError("expected lines of relation TAB share, found none", path=str(path))
    return shares
