"""The verdicts of machines: ``machine/NAME.jsonl`` in the folder of a campaign, one JSON object per line.

A line has head, relation, tail and verdict (Y, N or unsure), and may have probability (a number from 0 to 1, or null),
reason, model and prompt (a hash of the text that the machine was asked with); no other keys, and each triple once.
Programs may also write a table of CSV with these columns, which :func:`read_machine_file` takes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.data.arrow import labels_of
from kgtrec.data.judgements import VERDICTS
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.pool import Pool
from kgtrec.errors import FormatError, KgtrecError, nearest, one_of, some_of
from kgtrec.formats.csv_text import csv_table, csv_text, finite
from kgtrec.formats.files import PathLike, require_regular, suffixes
from kgtrec.formats.json_text import json_lines, json_value
from kgtrec.formats.lines import Line, Lines
from kgtrec.formats.output.folders import MACHINES
from kgtrec.formats.output.outputs import updating
from kgtrec.formats.trec.text import shown
from kgtrec.formats.tsv import triple_labels

KEYS = ("head", "relation", "tail", "verdict", "probability", "reason", "model", "prompt")
_NEEDED, _TEXTS = KEYS[:4], KEYS[5:]
LONGEST_TEXT = 100_000  # characters of a reason, a model's name, a hash
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TABLES = (".csv", ".tsv", ".txt")


def machine_file(folder: PathLike, name: str) -> Path:
    """Return the file of a machine in a campaign's folder.

    Raises
    ------
    KgtrecError
        If the name cannot be that of a file on every system.

    Examples
    --------
    >>> machine_file("campaign", "llama-8b").as_posix()
    'campaign/machine/llama-8b.jsonl'
    """
    if not _NAME.fullmatch(name):
        raise KgtrecError(
            "expected the name of a machine of at most 64 letters a to z, digits, dots, dashes and underscores, "
            f"beginning with a letter or digit, found {name!r}"
        )
    return Path(folder, MACHINES, f"{name}.jsonl")


def machines_in(folder: PathLike) -> tuple[str, ...]:
    """Return the names of the machines whose verdicts a campaign has, sorted.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    """
    names = (path.stem for path in Path(folder, MACHINES).glob("*.jsonl"))
    return tuple(sorted(name for name in names if _NAME.fullmatch(name)))


def read_machine(folder: PathLike, name: str, pool: Pool) -> MachineVerdicts:
    r"""Read what a machine of a campaign said of the triples of its pool.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    name : str
        Name of the machine.
    pool : Pool
        The campaign's pool.

    Raises
    ------
    FormatError
        As :func:`read_machine_file`.
    KgtrecError
        If the campaign has no such machine.

    Examples
    --------
    >>> import tempfile
    >>> from kgtrec.data.questions import Questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> triples, none = Triples.of([("france", "capital", "paris")]), np.zeros(1, np.int32)
    >>> asked = Questions(Vocabulary.of(["tail0"]), none > 0, none, none, triples.entities, triples.relations)
    >>> pool = Pool.of(triples, none, none, none, none + 1, ["mine"], asked)
    >>> text = labels_of([""])
    >>> said = MachineVerdicts(none, np.array([1], np.int8), np.array([0.75]), text, labels_of(["llama"]), text)
    >>> folder = tempfile.mkdtemp()
    >>> write_machine(folder, "llama-8b", pool, said)
    >>> machines_in(folder), read_machine(folder, "llama-8b", pool).probability.tolist()
    (('llama-8b',), [0.75])
    """
    path = machine_file(folder, name)
    if not path.exists():
        known = machines_in(folder)
        raise KgtrecError(
            f"{folder}: expected the verdicts of a machine, {some_of(known) if known else 'none has any yet'}, found "
            f"{name!r}{nearest(name, known)}; kgtrec campaign import --machine {name} takes them in"
        )
    require_regular(path)
    return read_machine_file(path, pool)


def read_machine_file(path: PathLike, pool: Pool) -> MachineVerdicts:
    """Read what a machine said of triples of a pool, from JSON Lines, or from a table if the name says so.

    Raises
    ------
    FormatError
        If there is no such file, or it is empty; for the first line that is malformed, has an unknown key, a
        verdict, a probability or a text that cannot be one, a triple that is not in the pool, or one that an earlier
        line has.
    """
    lines: list[Line] = []
    rows: list[tuple[Any, ...]] = []
    for line, record in _records(path):
        row = _row(line, record)
        line.once(row[:3], " ".join(row[:3]), "each triple")
        lines.append(line)
        rows.append(row)
    if not rows:
        raise FormatError(f"expected verdicts, a line with {', '.join(_NEEDED)} each, found an empty file", path)
    head, relation, tail, verdict, probability, *texts = zip(*rows, strict=True)
    entities, relations = pool.questions.entities, pool.questions.relations
    triple = pool.rows(
        entities.encode(labels_of(head)), relations.encode(labels_of(relation)), entities.encode(labels_of(tail))
    )
    if (triple < 0).any():
        place = int(np.argmax(triple < 0))
        found = shown(f"{head[place]} {relation[place]} {tail[place]}".encode())
        raise lines[place].error(f"expected a triple of the pool, found {found}; is this file about another pool?")
    said = MachineVerdicts(
        triple.astype(np.int32), np.array(verdict, np.int8), np.array(probability, np.float64), *map(labels_of, texts)
    )
    return said.take(np.argsort(triple))


def _records(path: PathLike) -> Iterator[tuple[Line, Mapping[str, Any]]]:
    """The lines, and the keys of each."""
    if suffixes(path)[0] in _TABLES:
        header, rows = csv_table(str(path), csv_text(path, "a table of verdicts"))
        if len(set(header.cells)) < len(header.cells):
            raise header.error(f"expected each column once: {shown(','.join(header.cells).encode())}")
        for row in rows:
            cells = dict(zip(header.cells, row.cells, strict=True))
            text = cells.get("probability", "").strip()
            number = finite(text)
            yield row, cells | {"probability": (text or None) if number is None else number}
        return
    for line in Lines.read(path).rows:
        record = json_value(line.data, line.path, first_line=line.number, way_out="write one JSON object a line")
        if not isinstance(record, dict):
            raise line.error(f"expected a JSON object with {', '.join(_NEEDED)}, found {shown(line.data)}")
        yield line, record


def _row(line: Line, record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of ``KEYS``, checked, except against the pool."""
    if missing := [key for key in _NEEDED if key not in record]:
        raise line.error(f"expected {missing[0]} in every row, found {some_of(list(record)) or 'nothing'}")
    if unknown := [key for key in record if key not in KEYS]:
        raise line.error(f"expected no keys but {', '.join(KEYS)}, found {unknown[0]!r}{nearest(unknown[0], KEYS)}")
    texts = {key: record.get(key) for key in (*_NEEDED, *_TEXTS)}
    texts |= {key: "" for key in _TEXTS if texts[key] is None}
    for key, text in texts.items():
        if not isinstance(text, str) or (key in _NEEDED and not text):
            raise line.error(f"expected text as {key}, found {str(text)[:40]!r}")
        if len(text) > LONGEST_TEXT or "\0" in text:
            found = "NUL" if "\0" in text else f"{len(text):,}"
            raise line.error(f"expected at most {LONGEST_TEXT:,} characters of text as {key}, found {found}")
    one_of("a verdict of", texts["verdict"], VERDICTS, path=line.path, line=line.number)
    probability = record.get("probability")
    if probability is not None and not (type(probability) in (int, float) and 0 <= probability <= 1):
        raise line.error(f"expected a number from 0 to 1 as probability, or null, found {str(probability)[:40]}")
    return (
        *(texts[key] for key in _NEEDED[:3]),
        VERDICTS.index(str(texts["verdict"])),
        np.nan if probability is None else float(probability),
        *(texts[key] for key in _TEXTS),
    )


def write_machine(folder: PathLike, name: str, pool: Pool, said: MachineVerdicts) -> None:
    """Write what a machine said into the folder of a campaign, in place of what it said before, all of it or nothing.

    Parameters
    ----------
    folder : path
        Folder of the campaign.
    name : str
        Name of the machine.
    pool : Pool
        The campaign's pool.
    said : MachineVerdicts
        What to write.

    Raises
    ------
    KgtrecError
        If the name cannot be that of a file; if the file cannot be written.
    """
    path = machine_file(folder, name)
    columns = (
        *(labels.to_pylist() for labels in triple_labels(pool.triples, said.triple)),
        [VERDICTS[verdict] for verdict in said.verdict],
        [None if np.isnan(number) else number for number in said.probability.tolist()],
        *(getattr(said, key).to_pylist() for key in _TEXTS),
    )
    data = json_lines(dict(zip(KEYS, row, strict=True)) for row in zip(*columns, strict=True))
    path.parent.mkdir(exist_ok=True)
    with updating(path) as stream:
        stream.write(data)
