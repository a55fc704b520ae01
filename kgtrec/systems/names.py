"""Names of entities and relations, which text models predict, and their labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError, counted
from kgtrec.formats.lines import Lines, read_fields
from kgtrec.systems.kinds import RankedLists


def _labelled(names: Vocabulary, path: Path, noun: str) -> tuple[Vocabulary, Codes]:
    """The labels of some names, and the row of each name's label; a name that is not in the file is taken as a label.

    The file has a label, a tab and its name on each line; further columns are ignored.
    """
    lines = Lines.read(path)
    n_columns = max(lines.data.partition(b"\n")[0].count(b"\t") + 1, 2)
    label, name = read_fields(lines, n_columns, "a label, a tab and a name")[:2]
    if len(label) == 0:
        raise FormatError("expected lines of a label, a tab and a name, found an empty file", path)
    labels, label_code = Vocabulary.encoding(label)
    known, name_code = Vocabulary.encoding(name)
    # of each name the first label that has it, and another one that has it too; -1: none
    first, other = np.zeros(len(known), np.int64), np.full(len(known), -1)
    first[name_code[::-1]] = label_code[::-1]  # in reverse, so that the first line of the file wins
    differs = label_code != first[name_code]
    other[name_code[differs]] = label_code[differs]
    code = known.encode(names.labels)
    rows = np.flatnonzero(code >= 0)
    several = rows[other[code[rows]] >= 0]
    if len(several):
        one = code[several[0]]
        raise FormatError(
            f"expected each name to belong to one {noun}, found {names[several[0]]!r} for {labels[first[one]]} and "
            f"{labels[other[one]]} ({counted(len(several), 'such name')} in the lists); put labels there in place of "
            "these names",
            path,
        )
    texts = names.labels.to_pylist()
    for row, text in zip(rows.tolist(), labels.decode(first[code[rows]]).to_pylist(), strict=True):
        texts[row] = text
    return Vocabulary.encoding(texts)


def with_labels(lists: RankedLists, entities: Path | None, relations: Path | None) -> RankedLists:
    """Ranked lists of names as ranked lists of labels; None: labels already."""
    if entities is not None:
        vocabulary, code = _labelled(lists.entities, entities, "entity")
        lists = replace(
            lists,
            entities=vocabulary,
            anchor=code[lists.anchor],
            answer=np.where(lists.answer >= 0, code[lists.answer], np.int32(-1)),
            entity=code[lists.entity],
        )
    if relations is not None:
        vocabulary, code = _labelled(lists.relations, relations, "relation")
        lists = replace(lists, relations=vocabulary, relation=code[lists.relation])
    return lists
