"""Factorised models of our own formats: factor folders, whose arrays are mapped, and the arrays of archives."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.factor_folders import FACTORS, FactorArrays, numbered_questions, read_factor_folder
from kgtrec.kernels.ranking.comparisons import PRODUCT
from kgtrec.kernels.ranking.panels import wide
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.formulas import factorised
from kgtrec.systems.kinds import Factors, QuestionVectors, Scoring, SystemOutput, kind_in_words


@Adapter.of(
    "factors",
    "arrays of any framework, larger than the memory",
    f"a folder with {FACTORS}, E.npy (or its shards, E-00000.npy and so on), R.npy (or Q.npy and questions.npy), "
    "b.npy if there are biases, entities.txt and relations.txt",
    "scores",
    "",
    lambda path: (path / FACTORS).is_file(),
)
def _read(path: Path, options: ReadOptions) -> Factors:
    arrays = read_factor_folder(path, entities=options.entities, relations=options.relations)
    return factors_of(arrays, path, path.resolve().name, f"a factor folder ({arrays.score})")


def factors_of(arrays: FactorArrays, path: Path, name: str, kind: str) -> Factors:
    """Make a model of arrays that were read from a path.

    Raises
    ------
    FormatError
        If they are not those that the score takes.
    """
    if arrays.Q is not None and arrays.questions is not None:
        asked = numbered_questions(path, arrays.questions[:], arrays.entities, arrays.relations)
        numbers = np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32)
        own, stored = QuestionVectors(asked, arrays.Q, path), replace(arrays, questions=numbers)
        queries = partial(own.queries, False), partial(own.queries, True)
        labels = arrays.entities, arrays.relations
        return Factors(name, *labels, arrays.E, arrays.b, *queries, PRODUCT, kind, (), stored, own)
    if arrays.R is None:
        raise FormatError("expected R.npy, or Q.npy and questions.npy, found neither", path)
    try:
        factors = factorised(name, arrays, kind)
        first = np.zeros(1 if len(arrays.E) and len(arrays.R) else 0, np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            factors.comparison.pairs(cast("Scoring", factors.head_queries)(first, first), wide(arrays.E[first]))
    except (KgtrecError, ValueError, IndexError) as error:
        raise FormatError(
            f"expected vectors that the score {arrays.score!r} takes, found others ({error})", path
        ) from None
    return factors


def arrays_of(system: SystemOutput) -> FactorArrays:
    """Give the arrays that a factor folder of a system holds.

    Raises
    ------
    KgtrecError
        If the system is not made of vectors, as most models that a framework scores are not.
    """
    arrays = system.arrays if isinstance(system, Factors) else None
    if arrays is None:
        raise KgtrecError(
            f"expected a model that is made of vectors, such as an .npz archive, found {kind_in_words(system)}; "
            "kgtrec rank takes it as it is"
        )
    return arrays
