"""Shares of relations: ``relation TAB share`` lines, for scores under another relation distribution."""

from __future__ import annotations

from kgtrec.errors import FormatError
from kgtrec.formats.csv_text import finite
from kgtrec.formats.files import PathLike
from kgtrec.formats.lines import Lines


def read_relation_shares(path: PathLike) -> dict[str, float]:
    r"""Read the share of each relation, on any scale.

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
    for line in Lines.read(path).rows:
        relation, tab, text = line.text.rpartition("\t")
        share = finite(text)
        if not tab or share is None or share < 0:
            raise line.error(f"expected relation TAB share, a number of at least 0, found {line.text[:100]!r}")
        line.once(relation, repr(relation), "each relation")
        shares[relation] = share
    if not shares:
        raise FormatError("expected lines of relation TAB share, found none", path=str(path))
    return shares
