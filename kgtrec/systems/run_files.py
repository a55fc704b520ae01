"""TREC runs of any program as cut lists: ranks of the listed answers, and bounds for the others."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtrec.data.collection import Collection, why_another
from kgtrec.data.identity import entity_names
from kgtrec.data.run import Run
from kgtrec.errors import CollectionError, FormatError, counted, warn
from kgtrec.formats.sniff import sniff
from kgtrec.formats.trec.runs import default_name, read_run
from kgtrec.kernels.integer_keys import begins
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.kinds import CollectionLists, RankedLists

_SHOWN = 3  # examples in a message


def _recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        return sniff(path) == "run"
    except (FormatError, OSError):
        return False


@Adapter.of(
    "run",
    "TREC runs of any program",
    "a run of the collection's questions: exact ranks of listed answers, bounds for the others",
    "ranked lists",
    "",
    _recognises,
)
def _read(path: Path, options: ReadOptions) -> CollectionLists:
    run = read_run(path, name=default_name(path))
    return CollectionLists(run.name, lambda collection: run_lists(run, collection), "a TREC run")


def run_lists(run: Run, collection: Collection) -> RankedLists:
    """Make ranked lists of a run, best first; entities of one score tie.

    Parameters
    ----------
    run : Run
    collection : Collection
        The one that its question and entity ids are of.

    Returns
    -------
    RankedLists
        One list for each of the run's questions that the collection has, made for all answers.

    Raises
    ------
    CollectionError
        If it is of another collection, or has none of its questions, or entities that it lacks.

    Examples
    --------
    >>> from kgtrec.collection.questions import build_questions
    >>> from kgtrec.data.triples import Triples
    >>> from kgtrec.data.vocabulary import Vocabulary
    >>> train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    >>> collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))
    >>> row, entity = np.zeros(2, np.int32), np.array([0, 1], np.int32)
    >>> run = Run.of("a", row, entity, np.array([0.9, 0.7]), Vocabulary.of(["tail0"]), Vocabulary.of(["jam", "bob"]))
    >>> lists = run_lists(run, collection)
    >>> [lists.entities[entity] for entity in lists.entity], lists.level.tolist()
    (['jam', 'bob'], [0, 1])
    """
    if run.collection and run.collection != collection.stamp:
        raise CollectionError(
            f"expected a run of collection {collection.stamp}, found one of collection {run.collection}, "
            f"{why_another(run.collection, collection.stamp)}give the collection that it was made for"
        )
    questions = collection.questions
    asked, entity = questions.ids.encode(run.questions.labels), collection.entities.encode(run.entities.labels)
    for codes, labels, noun in ((asked, run.questions, "question"), (entity, run.entities, "entity id")):
        lacking = np.flatnonzero(codes < 0)
        if len(lacking) == len(codes) or (noun != "question" and len(lacking)):
            some = ", ".join(labels.decode(lacking[:_SHOWN]).to_pylist())
            raise CollectionError(
                f"{run.name}: expected each {noun} to be one of the collection, found {len(lacking):,} of "
                f"{len(codes):,} that it lacks, such as {some}"
            )
    if lost := int(np.count_nonzero(asked < 0)):
        warn(f"{run.name}: left out {counted(lost, 'list')} for questions that the collection lacks")
    kept = asked[run.question] >= 0
    question, score = asked[run.question[kept]], run.score[kept]
    new = begins(question)
    row = question[new]
    columns = questions.is_head[row], questions.anchor[row], questions.relation[row], np.full(len(row), -1, np.int32)
    start = np.append(np.flatnonzero(new), len(question)).astype(np.int64)
    level = np.cumsum(begins(question, score)) - 1
    lists = *columns, start, entity[run.entity[kept]], level, "a TREC run"
    return RankedLists(run.name, entity_names(collection), questions.relations, *lists, filtered_by=run.filtered_by)
