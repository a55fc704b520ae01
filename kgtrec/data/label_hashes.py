"""Hashes of labels, by which triples are ordered and sampled independently of the order of rows or codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.arrow import bytes_and_offsets
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.kernels.sampling.random_order import Keys, hashes_of_texts, mixed


def label_hashes(labels: Vocabulary) -> Keys:
    """(n,) a 64-bit hash of each label.

    Examples
    --------
    >>> one, other = label_hashes(Vocabulary.of(["a", "b"])), label_hashes(Vocabulary.of(["b", "c", "a"]))
    >>> one.tolist() == other[[2, 0]].tolist()
    True
    """
    return hashes_of_texts(*bytes_and_offsets(labels.labels))


def triple_keys(triples: Triples, *of: Keys | int) -> Keys:
    """(n,) a hash of a seed, of the further keys ``of``, and of the labels of each triple.

    Examples
    --------
    >>> one = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "tea")])
    >>> other = Triples.of([("bob", "likes", "tea"), ("ann", "likes", "tea")])
    >>> triple_keys(one, 7).tolist() == triple_keys(other, 7)[::-1].tolist()
    True
    """
    entity, relation = label_hashes(triples.entities), label_hashes(triples.relations)
    return mixed(*of, entity[triples.head], relation[triples.relation], entity[triples.tail])


def check_numbers(triples: Triples) -> NDArray[np.int32]:
    """(n,) a number of nine digits for each triple, of its labels alone: it tells whether a row still is about them.

    Examples
    --------
    >>> check_numbers(Triples.of([("france", "capital", "paris"), ("paris", "capital", "france")])).tolist()
    [204431719, 205843775]
    """
    least, numbers = np.uint64(10**8), np.uint64(9 * 10**8)
    return (least + triple_keys(triples) % numbers).astype(np.int32)
