"""Triples whose verdict is known, of `head relation tail verdict explanation` lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtrec.data.gold import Gold
from kgtrec.data.judgements import NO, VERDICTS, YES
from kgtrec.data.pool import Pool
from kgtrec.errors import FormatError, KgtrecError, nearest
from kgtrec.formats.campaign.pools import BY
from kgtrec.formats.files import PathLike, require_regular
from kgtrec.formats.output.folders import GOLD, POOL
from kgtrec.formats.output.outputs import update_text
from kgtrec.formats.trec.text import shown
from kgtrec.formats.triples.text import Lines

COLUMNS = ("head", "relation", "tail", "verdict")
EXPLAINED = (*COLUMNS, "explanation")
_KNOWN = (VERDICTS[NO], VERDICTS[YES])


def read_gold(path: PathLike, pool: Pool) -> Gold:
    r"""Gold for a pool; the column ``explanation`` may be missing, and each of its cells empty.

    Raises
    ------
    FormatError
        For the first line that is wrong, names a triple again, a triple of the pool, or a relation that the pool does
        not ask for, which would tell gold from the rest; for a verdict that is neither Y nor N.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples = Triples.of([("france", "capital", "paris")])
    >>> none = np.zeros(1, np.int32)
    >>> asked = Questions(Vocabulary.of(["tail0"]), none > 0, none, none, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, none, none, none, none + 1, ["mine"], asked)
    >>> path = Path(tempfile.mkdtemp(), "gold.tsv")
    >>> _ = path.write_text("head\trelation\ttail\tverdict\nitaly\tcapital\trome\tY\n")
    >>> read_gold(path, pool)
    <Gold: 1 triples, 0 judgements>
    """
    require_regular(path)
    lines = Lines.read(path)
    header, rest = lines.without_first()
    columns = EXPLAINED if header == "\t".join(EXPLAINED).encode() else COLUMNS
    if header != "\t".join(columns).encode():
        raise FormatError(
            f"expected the header line {' '.join(COLUMNS)}, or {' '.join(EXPLAINED)}, separated by tabs, got "
            f"{shown(header)}",
            path=path,
            line=lines.first,
        )
    rows: dict[tuple[str, str, str], tuple[str, str]] = {}
    line_of: dict[tuple[str, str, str], int] = {}
    for line, data in rest.numbered:
        fields = _fields(path, line, data, columns)
        head, relation, tail, verdict, explanation = *fields, *[""] * (len(EXPLAINED) - len(fields))
        triple = head, relation, tail
        if verdict not in _KNOWN:
            raise FormatError(
                f"expected Y or N as the known verdict, got {verdict[:100]!r}{nearest(verdict, _KNOWN)}",
                path=path,
                line=line,
            )
        if triple in line_of:
            raise FormatError(
                f"expected each triple once, found {' '.join(triple)!r} here and on line {line_of[triple]}; remove one "
                "of them",
                path=path,
                line=line,
            )
        rows[triple], line_of[triple] = (verdict, explanation), line
    _refuse_pooled(path, pool, line_of)
    return Gold.of((*triple, *known) for triple, known in rows.items())


def _fields(path: PathLike, line: int, data: bytes, columns: tuple[str, ...]) -> list[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise FormatError(f"expected UTF-8 text, got {shown(data)}", path=path, line=line) from None
    fields = text.split("\t")
    if len(fields) != len(columns) or not all(fields[: len(COLUMNS)]) or "\0" in text:
        found = "an empty one" if len(fields) == len(columns) and "\0" not in text else len(fields)
        raise FormatError(
            f"expected {len(columns)} columns ({' '.join(columns)}) separated by tabs, got {found}: {shown(data)}",
            path=path,
            line=line,
        )
    return fields


def _refuse_pooled(path: PathLike, pool: Pool, line_of: dict[tuple[str, str, str], int]) -> None:
    if not line_of:
        return
    own = pool.triples
    heads, relations, tails = ([triple[place] for triple in line_of] for place in range(3))
    relation = own.relations.encode(relations)
    is_asked = np.isin(relation, np.unique(own.relation))
    if not is_asked.all():
        name = relations[int(np.argmin(is_asked))]
        line = next(line for triple, line in line_of.items() if triple[1] == name)
        asked = [own.relations[int(code)] for code in np.unique(own.relation)]
        raise FormatError(
            f"expected a relation that the pool asks for, since another would tell which triples are gold, got "
            f"{name!r}{nearest(name, asked)}",
            path=path,
            line=line,
        )
    row = pool.rows(own.entities.encode(heads), relation, own.entities.encode(tails))
    if (pooled := np.flatnonzero(row >= 0)).size:
        triple = list(line_of)[int(pooled[0])]
        raise FormatError(
            f"expected a triple that is not in {POOL}, whose verdict people are to find out, got {' '.join(triple)!r}, "
            f"task {row[pooled[0]] + 1} of it",
            path=path,
            line=line_of[triple],
        )


def write_gold(folder: PathLike, gold: Gold) -> None:
    """Write gold.tsv, sorted by relation, head and tail; without explanations where there are none.

    Raises
    ------
    KgtrecError
        If a text has a tab or a line break, or a label is empty.
    """
    triples, path = gold.pool.triples, Path(folder, GOLD)
    explanations = gold.explanation.to_pylist()
    columns = EXPLAINED if any(explanations) else COLUMNS
    rows = zip(
        triples.entities.decode(triples.head).to_pylist(),
        triples.relations.decode(triples.relation).to_pylist(),
        triples.entities.decode(triples.tail).to_pylist(),
        (VERDICTS[verdict] for verdict in gold.verdict),
        explanations,
        strict=True,
    )
    lines = ["\t".join(columns)]
    for row in rows:
        for place, text in enumerate(row):
            if set("\t\r\n\0") & set(text) or not (text or place >= len(COLUMNS)):
                raise KgtrecError(f"{path}: expected text without tabs and line breaks, not empty, found {text!r}")
        lines.append("\t".join(row[: len(columns)]))
    update_text(path, "\n".join([*lines, ""]), by=BY)
