"""Triples whose verdict is known, of `head relation tail verdict explanation` lines."""

from __future__ import annotations

from pathlib import Path

from kgtrec.data.judgements import NO, VERDICTS, YES, Gold
from kgtrec.errors import nearest
from kgtrec.formats.files import PathLike, require_regular
from kgtrec.formats.lines import Lines
from kgtrec.formats.output.folders import GOLD
from kgtrec.formats.tsv import write_rows

COLUMNS = ("head", "relation", "tail", "verdict")
EXPLAINED = (*COLUMNS, "explanation")
_KNOWN = (VERDICTS[NO], VERDICTS[YES], "")  # the last one: not filled in yet


def read_gold(path: PathLike) -> Gold:
    r"""Read gold; the column ``explanation`` may be missing, and each of its cells and of the verdicts empty.

    Parameters
    ----------
    path : path
        The file ``gold.tsv``.

    Raises
    ------
    FormatError
        For the first line that is wrong, or names a triple again; for a verdict that is neither Y nor N nor empty.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "gold.tsv")
    >>> _ = path.write_text("head\trelation\ttail\tverdict\nitaly\tcapital\trome\tY\n")
    >>> read_gold(path)
    <Gold: 1 triples>
    """
    require_regular(path)
    lines = Lines.read(path).without_nul()
    columns = EXPLAINED if lines.without_first()[0].count(b"\t") >= len(COLUMNS) else COLUMNS
    rows: list[tuple[str, str, str, str, str]] = []
    for line in lines.below_header(COLUMNS, EXPLAINED[-1]).rows:
        fields = line.fields(columns, 3)
        head, relation, tail, verdict, explanation = *fields, *[""] * (len(EXPLAINED) - len(fields))
        triple = head, relation, tail
        if verdict not in _KNOWN:
            raise line.error(
                f"expected Y, N or nothing yet as the known verdict, got {verdict[:100]!r}{nearest(verdict, _KNOWN)}"
            )
        line.once(triple, repr(" ".join(triple)), "each triple")
        rows.append((*triple, verdict, explanation))
    return Gold.of(rows)


def write_gold(folder: PathLike, gold: Gold) -> None:
    """Write gold.tsv, sorted by relation, head and tail; without explanations where there are none.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    gold : Gold
        What to write.

    Raises
    ------
    KgtrecError
        If a text has a tab or a line break, or a label is empty.
    """
    columns = EXPLAINED if any(gold.explanation.to_pylist()) else COLUMNS
    write_rows(Path(folder, GOLD), columns, (row[: len(columns)] for row in gold.listed), 3)
