"""Labels as integers: the one place where labels are mapped to codes and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import arrow_of, labels_of, values_of
from kgtrec.data.arrow import compute as pc
from kgtrec.errors import KgtrecError

Codes = NDArray[np.int32]
_FEW = 6  # labels that are faster to find one by one than by a hash table of the whole vocabulary

# white space by str.isspace, and NUL: some readers would split or cut a label of a TREC file there
WHITE_SPACE = (
    r"[\x{00}\x{09}-\x{0d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
)


def as_labels(labels: Iterable[str] | pa.Array | pa.ChunkedArray) -> pa.StringArray:
    """Return any sequence of strings as one Arrow string array, without nulls."""
    if isinstance(labels, pa.ChunkedArray):
        labels = labels.combine_chunks()
    if not isinstance(labels, pa.Array):
        listed = list(labels)
        labels = labels_of(listed) if all(type(label) is str for label in listed) else pa.array(listed, pa.string())
    if pa.types.is_dictionary(labels.type):
        labels = labels.dictionary_decode()
    if labels.type != pa.string():
        labels = labels.cast(pa.string())
    if labels.null_count:
        raise KgtrecError(f"expected labels, found a missing value at index {labels.is_null().index(True).as_py()}")
    return labels


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Distinct labels, one row per label; a label's code is its row.

    Labels are opaque: ``NA``, ``007`` and ``null`` are labels like any other.
    """

    labels: pa.StringArray  # (n,) distinct, no nulls

    @classmethod
    def of(cls, labels: Iterable[str] | pa.Array | pa.ChunkedArray) -> Vocabulary:
        """Make the vocabulary of ``labels``, which must be distinct; codes follow their order.

        Raises
        ------
        KgtrecError
            If a label is repeated.

        Examples
        --------
        >>> list(Vocabulary.of(["paris", "rome"]))
        ['paris', 'rome']
        """
        array = as_labels(labels)
        if pc.count_distinct(array).as_py() != len(array):
            counts = pc.value_counts(array)
            repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
            raise KgtrecError(f"expected distinct labels, found {repeated[0].as_py()!r} more than once")
        return cls(array)

    @classmethod
    def encoding(cls, labels: Iterable[str] | pa.Array | pa.ChunkedArray) -> tuple[Vocabulary, Codes]:
        """Make the vocabulary of possibly repeated ``labels`` in order of first appearance, and each one's code.

        Examples
        --------
        >>> vocabulary, codes = Vocabulary.encoding(["b", "a", "b"])
        >>> list(vocabulary), codes.tolist()
        (['b', 'a'], [0, 1, 0])
        """
        labels = as_labels(labels).dictionary_encode()
        return cls(labels.dictionary), values_of(labels.indices)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} labels>"

    def __getitem__(self, code: int) -> str:
        return str(self.labels[int(code)].as_py())

    def __iter__(self) -> Iterator[str]:
        yield from self.labels.to_pylist()

    def encode(self, labels: Iterable[str] | pa.Array | pa.ChunkedArray) -> Codes:
        """Return the codes of ``labels``, -1 where a label is not in the vocabulary.

        Examples
        --------
        >>> Vocabulary.of(["a", "b"]).encode(["b", "c"]).tolist()
        [1, -1]
        """
        labels = as_labels(labels)
        if len(labels) <= _FEW:
            return np.array([pc.index(self.labels, label).as_py() for label in labels], np.int32)
        codes = pc.index_in(labels, value_set=self.labels)
        if codes.null_count == 0:
            return values_of(codes)
        return np.where(values_of(codes.is_valid()), values_of(codes), np.int32(-1))

    def decode(self, codes: NDArray[Any]) -> pa.StringArray:
        """Return the labels of ``codes``."""
        return self.labels.take(arrow_of(codes.astype(np.int32, copy=False)))

    def columns(self, codes: NDArray[Any]) -> pa.DictionaryArray:
        """Return ``codes`` as a dictionary-encoded Arrow column, for Parquet files and data frames."""
        return pa.DictionaryArray.from_arrays(arrow_of(codes.astype(np.int32, copy=False)), self.labels)

    def extended(self, labels: Iterable[str] | pa.Array | pa.ChunkedArray) -> Vocabulary:
        """Return this vocabulary, codes unchanged, followed by those of ``labels`` that it lacks."""
        new = pc.unique(as_labels(labels))
        new = new.filter(pc.invert(pc.is_in(new, value_set=self.labels)))
        return self if len(new) == 0 else Vocabulary(pa.concat_arrays([self.labels, new]))

    def part(self, rows: NDArray[np.intp], codes: Codes) -> tuple[Vocabulary, NDArray[np.bool_], Codes]:
        """Return the labels at some ascending rows; which of ``codes`` are among them, and their new codes.

        Examples
        --------
        >>> vocabulary, kept, codes = Vocabulary.of(["a", "b", "c"]).part(np.array([1, 2]), np.array([0, 2, 1, 2]))
        >>> list(vocabulary), kept.tolist(), codes.tolist()
        (['b', 'c'], [False, True, True, True], [1, 0, 1])
        """
        code_of = np.full(len(self), -1, np.int32)
        code_of[rows] = np.arange(len(rows))
        kept = code_of[codes] >= 0
        return Vocabulary(self.decode(rows)), kept, code_of[codes[kept]]

    @cached_property
    def byte_order(self) -> Codes:
        """(n,) int: each label's position when labels are sorted by their UTF-8 bytes, as trec_eval sorts ids."""
        places = np.empty(len(self), np.int32)
        places[values_of(pc.array_sort_indices(self.labels))] = np.arange(len(self), dtype=np.int32)
        return places

    def places_of(self, codes: Codes) -> Codes:
        """Return the (n,) place of each code's label in byte order, which does not depend on how labels are numbered.

        A code of no label, as anchors of collections made by hand may be, has the last place.
        """
        return np.take(self.byte_order, codes, mode="clip")

    def codes_of(self, other: Vocabulary) -> Codes:
        """Return the (n,) code of each label of another vocabulary, -1 for a label that this one lacks."""
        return np.arange(len(other), dtype=np.int32) if self.same_as(other) else self.encode(other.labels)

    def same_as(self, other: Vocabulary) -> bool:
        """Return whether both hold the same labels under the same codes."""
        return self is other or bool(self.labels.equals(other.labels))
