"""Factor folders: models as mapped arrays, of our own format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from kgtrec.errors import FormatError, KgtrecError
from kgtrec.formats.factor_folders import BY_QUESTION, FACTORS, FactorFolder, read_factor_folder
from kgtrec.formats.factorised import FactorArchive, numbered_questions, read_factor_archive
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.formulas import formula_of
from kgtrec.systems.kinds import CollectionFactors, Factors, RelationVectors, SystemOutput, kind_in_words
from kgtrec.systems.score_files import by_question


def _read(path: Path, given: Given) -> Factors | CollectionFactors:
    folder = read_factor_folder(path, entities=given.entities, relations=given.relations)
    name, kind = path.resolve().name, f"a factor folder ({folder.score})"
    if folder.Q is not None and folder.questions is not None:
        asked = numbered_questions(path, folder.questions[:], folder.entities, folder.relations)
        archive = FactorArchive(folder.E, folder.Q, folder.b, asked, path / "entities.txt")
        return replace(by_question(name, archive, path), kind=kind)
    if folder.R is None:
        raise FormatError("expected R.npy, or Q.npy and questions.npy, found neither", path=path)
    vectors = RelationVectors(folder.score, folder.R, folder.parameters, folder.has_reciprocals)
    try:
        formula = formula_of(folder.E, vectors)
        first = np.zeros(1 if len(folder.E) and len(folder.R) else 0, np.int64)
        formula.comparison.pairs(formula.head_queries(first, first), np.asarray(folder.E[first], np.float64))
    except (KgtrecError, ValueError, IndexError) as error:
        raise FormatError(
            f"expected vectors that the score {folder.score!r} takes, found others ({error})", path=path
        ) from None
    return replace(formula.factors(name, folder.entities, folder.relations, kind), b=folder.b)


def factor_folder_of(source: Path, system: SystemOutput, given: Given) -> FactorFolder:
    """What a factor folder of a source holds.

    Raises
    ------
    KgtrecError
        If the system is not made of vectors, as most models that a framework scores are not.
    """
    if isinstance(system, Factors) and system.relation_vectors is not None:
        vectors = system.relation_vectors
        return FactorFolder(
            vectors.score,
            vectors.parameters,
            vectors.has_reciprocals,
            system.entities,
            system.relations,
            system.E,
            system.b,
            R=vectors.R,
        )
    if isinstance(system, CollectionFactors) and source.suffix.lower() == ".npz":
        archive = read_factor_archive(source, entities=given.entities, relations=given.relations)
        asked = archive.questions
        numbers = np.stack([asked.is_head, asked.relation, asked.anchor], axis=1).astype(np.int32)
        return FactorFolder(
            BY_QUESTION,
            {},
            False,
            asked.entities,
            asked.relations,
            archive.E,
            archive.b,
            Q=archive.Q,
            questions=numbers,
        )
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
