"""Names of entities and relations, which text models predict, and their labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Codes, Vocabulary
from kgtrec.errors import FormatError, counted
from kgtrec.formats.triples.text import Lines, read_fields
from kgtrec.systems.kinds import RankedLists


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The label of each name; a label may have several names."""

    names: Vocabulary
    labels: Vocabulary
    label: NDArray[np.int64]  # (names,) row in labels: the first that has the name
    other: NDArray[np.int64]  # (names,) row in labels: another one that has it too; -1: none
    path: Path

    @classmethod
    def read(cls, path: Path) -> Names:
        """The names in a file with a label, a tab and its name on each line; further columns are ignored.

        Raises
        ------
        FormatError
            For the first line that is wrong, or if the file is empty.
        """
        lines = Lines.read(path)
        n_columns = max(lines.data.partition(b"\n")[0].count(b"\t") + 1, 2)
        columns = read_fields(lines, n_columns, "a label, a tab and a name")
        if len(columns[0]) == 0:
            raise FormatError("expected lines of a label, a tab and a name, found an empty file", path=path)
        return cls.of(columns[0], columns[1], path)

    @classmethod
    def of(cls, label: pa.StringArray, name: pa.StringArray, path: Path) -> Names:
        """Of (n,) labels and (n,) names."""
        labels, label_code = Vocabulary.encoding(label)
        names, name_code = Vocabulary.encoding(name)
        first, other = np.zeros(len(names), np.int64), np.full(len(names), -1)
        first[name_code[::-1]] = label_code[::-1]  # in reverse, so that the first line of the file wins
        differs = label_code != first[name_code]
        other[name_code[differs]] = label_code[differs]
        return cls(names, labels, first, other, path)

    def labelled(self, found: Vocabulary, noun: str) -> tuple[Vocabulary, Codes]:
        """The labels of some names, and the row of each name's label.

        A name that is not in the file is taken as a label.

        Raises
        ------
        FormatError
            If a name has several labels.
        """
        code = self.names.encode(found.labels)
        known = np.flatnonzero(code >= 0)
        several = known[self.other[code[known]] >= 0]
        if len(several):
            first = code[several[0]]
            raise FormatError(
                f"expected each name to belong to one {noun}, found {found[several[0]]!r} for "
                f"{self.labels[self.label[first]]} and {self.labels[self.other[first]]} "
                f"({counted(len(several), 'such name')} in the lists); put labels there in place of these names",
                path=self.path,
            )
        texts = found.labels.to_pylist()
        for place, label in zip(known.tolist(), self.labels.decode(self.label[code[known]]).to_pylist(), strict=True):
            texts[place] = label
        return Vocabulary.encoding(texts)


def with_labels(lists: RankedLists, entities: Path | None, relations: Path | None) -> RankedLists:
    """Ranked lists of names as ranked lists of labels; None: labels already."""
    if entities is not None:
        vocabulary, code = Names.read(entities).labelled(lists.entities, "entity")
        lists = replace(
            lists,
            entities=vocabulary,
            anchor=code[lists.anchor],
            answer=np.where(lists.answer >= 0, code[lists.answer], np.int32(-1)),
            entity=code[lists.entity],
        )
    if relations is not None:
        vocabulary, code = Names.read(relations).labelled(lists.relations, "relation")
        lists = replace(lists, relations=vocabulary, relation=code[lists.relation])
    return lists
