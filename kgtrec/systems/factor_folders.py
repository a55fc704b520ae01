"""Factorised models of our own formats: factor folders, whose arrays are mapped, and the arrays of archives."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.factor_folders import BY_QUESTION, FACTORS, FactorArrays, numbered_questions, read_factor_folder
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.formulas import factorised
from kgtrec.systems.kinds import Factors, QuestionVectors, RelationVectors, Scoring, SystemOutput, kind_in_words


def _read(path: Path, given: Given) -> Factors:
    arrays = read_factor_folder(path, entities=given.entities, relations=given.relations)
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
        own = QuestionVectors(asked, arrays.Q, path)
        tails, heads = (partial(own.queries, is_head) for is_head in (False, True))
        labels = arrays.entities, arrays.relations
        return Factors(name, *labels, arrays.E, arrays.b, tails, heads, kind=kind, question_vectors=own)
    if arrays.R is None:
        raise FormatError("expected R.npy, or Q.npy and questions.npy, found neither", path=path)
    vectors = RelationVectors(arrays.score, arrays.R, arrays.parameters, arrays.has_reciprocals)
    try:
        model = factorised(name, arrays.entities, arrays.relations, arrays.E, vectors, kind, b=arrays.b)
        first = np.zeros(1 if len(arrays.E) and len(arrays.R) else 0, np.int64)
        model.comparison.pairs(
            cast("Scoring", model.head_queries)(first, first), np.asarray(arrays.E[first], np.float64)
        )
    except (KgtrecError, ValueError, IndexError) as error:
        raise FormatError(
            f"expected vectors that the score {arrays.score!r} takes, found others ({error})", path=path
        ) from None
    return model


def arrays_of(system: SystemOutput) -> FactorArrays:
    """Give the arrays that a factor folder of a system holds.

    Raises
    ------
    KgtrecError
        If the system is not made of vectors, as most models that a framework scores are not.
    """
    if isinstance(system, Factors) and (own := system.question_vectors) is not None:
        asked = own.questions
        numbers = np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32)
        labels = system.entities, system.relations
        return FactorArrays(BY_QUESTION, {}, False, *labels, system.E, system.b, Q=own.Q, questions=numbers)
    if isinstance(system, Factors) and (made := system.relation_vectors) is not None:
        about = made.score, made.parameters, made.has_reciprocals
        return FactorArrays(*about, system.entities, system.relations, system.E, system.b, R=made.R)
    raise KgtrecError(
        f"expected a model that is made of vectors, such as an .npz archive, found {kind_in_words(system)}; "
        "kgtrec rank takes it as it is"
    )


ADAPTERS = (
    Adapter(
        "factors",
        "arrays of any framework, larger than the memory",
        f"a folder with {FACTORS}, E.npy (or its shards, E-00000.npy and so on), R.npy (or Q.npy and questions.npy), "
        "b.npy if there are biases, entities.txt and relations.txt",
        "scores",
        "",
        lambda path: (path / FACTORS).is_file(),
        _read,
    ),
)
