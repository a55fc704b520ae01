"""The version of every format that kgtrec writes; a file of a later one is refused, and earlier ones are read.

A folder has it in its manifest, a run or a score matrix in ``NAME.json`` beside it, a Parquet file in its metadata.
Text that other programs read (TREC files, CSV, TSV) and figures have none.
"""

from __future__ import annotations

from kgtrec.errors import FormatError
from kgtrec.formats.files import PathLike

#: what -> the oldest version that is read, and the newest, which is written
FORMATS = {
    "a collection": (2, 2),
    "a campaign": (1, 1),
    "qrels of a campaign": (1, 1),
    "a study": (1, 1),
    "the origin of a file": (2, 2),
    "factors": (1, 1),
    "answer ranks": (1, 2),  # 2 where lists have ends
    "run": (1, 1),
    "qrels": (1, 1),
    "table": (1, 1),
}


def require_version(found: object, what: str, path: PathLike, way_out: str = "make it again") -> None:
    """Raise FormatError if this kgtrec does not read a version of ``what``; ``way_out``: if it is not a later one.

    Examples
    --------
    >>> require_version(9, "a campaign", "judged/campaign.json")
    Traceback (most recent call last):
    kgtrec.errors.FormatError: judged/campaign.json: expected a campaign of format version 1, found version 9; a later kgtrec wrote it, so upgrade this one: pip install --upgrade kgtrec
    """  # noqa: E501
    oldest, newest = FORMATS[what]
    if type(found) is not int or not oldest <= found <= newest:
        if type(found) is int and found > newest:
            way_out = "a later kgtrec wrote it, so upgrade this one: pip install --upgrade kgtrec"
        versions = f"{oldest} or {newest}" if oldest < newest else newest
        raise FormatError(
            f"expected {what} of format version {versions}, found version {repr(found)[:40]}; {way_out}", path
        )
