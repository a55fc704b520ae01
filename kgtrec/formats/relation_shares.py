"""Shares of relations: ``relation TAB share`` lines, for scores under another relation distribution."""

from __future__ import annotations

import math

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike, reading


def read_relation_shares(path: PathLike) -> dict[str, float]:
    r"""The share of each relation, of any scale.

    Raises
    ------
    FormatError
        For the first line that has no tab, no number of at least 0, or a relation for the second time; for an empty
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
        for number, line in enumerate(stream.read().decode("utf-8", "replace").splitlines(), 1):
            if not line:
                continue
            relation, tab, text = line.rpartition("\t")
            try:
                share = float(text)
            except ValueError:
                share = math.nan
            if not tab or not math.isfinite(share) or share < 0:
                raise FormatError(
                    f"expected relation TAB share, a number of at least 0, found {line[:100]!r}",
                    path=str(path), line=number,
                )  # fmt: skip
            if relation in shares:
                raise FormatError(f"expected each relation once, found {relation!r} again", path=str(path), line=number)
            shares[relation] = share
    if not shares:
        raise FormatError("expected lines of relation TAB share, found none", path=str(path))
    return shares
