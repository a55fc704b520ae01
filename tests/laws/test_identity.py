"""The same scores give the same number by every path, or an error: never another number."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.arrow import labels_of
from kgtrec.data.collection import Collection
from kgtrec.data.identity import entity_names
from kgtrec.data.questions import SIDES
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError, KgtrecWarning, unwarned
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.formats.score_matrix import read_score_matrix, stamp_score_matrix, write_score_matrix
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run, write_run
from kgtrec.ranking.rank import Ranked, rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import read_system

Triple = tuple[str, str, str]
Question = tuple[str, str, str]  # side, anchor, relation
ENTITIES = ("ann", "bob", "é", "e0", "head0", "NA")
RELATIONS = ("knows", "likes")
MEASURES = ("micro.MRR", "micro.MR", "micro.Hits@1", "macro.MRR", "macro.Hits@1", "AP@20", "nDCG@20")
FROM_RUNS = MEASURES[3:]


@dataclass(frozen=True)
class Model:
    """A scoring function, of questions and entities by name, and a data set in one order."""

    train: tuple[Triple, ...]
    test: tuple[Triple, ...]
    sample: tuple[Triple, ...]
    table: NDArray[np.float64]  # side, anchor, relation, entity

    def scores(self, questions: Sequence[Question], entities: Sequence[str]) -> NDArray[np.float64]:
        """A matrix in any order."""
        side, anchor, relation = (
            np.array([names.index(question[place]) for question in questions], np.intp)
            for place, names in enumerate((SIDES, ENTITIES, RELATIONS))
        )
        column = [ENTITIES.index(entity) for entity in entities]
        return self.table[side, anchor, relation][:, column]

    def collection(self, draw: st.DataObject, *, part: bool, ids: bool = False) -> Collection:
        """The data set, its lines in some order."""
        train, test, sample = (draw.draw(st.permutations(rows)) for rows in (self.train, self.test, self.sample))
        chosen = Triples.of(sample) if part else None
        return build_questions(Triples.of(train), Triples.of([]), Triples.of(test), sample=chosen, ids=ids)


@st.composite
def models(draw: st.DrawFn) -> Model:
    """All entities and relations are in train; a test triple is not."""
    ends = st.sampled_from(ENTITIES)
    triples = st.tuples(ends, st.sampled_from(RELATIONS), ends)
    train = [(entity, RELATIONS[place % 2], ENTITIES[place - 1]) for place, entity in enumerate(ENTITIES)]
    test = draw(st.lists(triples.filter(lambda triple: triple not in train), min_size=2, max_size=8, unique=True))
    sample = draw(st.lists(st.sampled_from(test), min_size=1, max_size=len(test), unique=True))
    seed = draw(st.integers(0, 2**32 - 1))
    table = np.random.default_rng(seed).integers(0, draw(st.sampled_from([3, 1000])), (2, 6, 2, 6)).astype(float)
    return Model(tuple(train), tuple(test), tuple(sample), table)


def asked(collection: Collection) -> list[Question]:
    questions, names = collection.questions, entity_names(collection)
    rows = zip(questions.is_head.tolist(), questions.anchor.tolist(), questions.relation.tolist(), strict=True)
    return [(SIDES[not is_head], names[anchor], questions.relations[relation]) for is_head, anchor, relation in rows]


def own_order(model: Model, collection: Collection) -> NDArray[np.float64]:
    return model.scores(asked(collection), list(entity_names(collection)))


def ranked(model: Model, collection: Collection) -> Ranked:
    scores = own_order(model, collection)
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=10, name="m")


def numbers(qrels: object, system: Run | AnswerRanks, **options: object) -> dict[str, float]:
    measures = FROM_RUNS if isinstance(system, Run) else MEASURES
    with unwarned():
        found = evaluate(qrels, system, list(measures), **options)  # type: ignore[arg-type]
    return dict(zip(found.measures, found.values[0, :, 0].tolist(), strict=True))


Way = Callable[[Model, Collection, Collection, st.DataObject, Path], Ranked]


def matrix_and_names(model: Model, _: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """In an order of its own, told by labels, a mapping, tuples or a frame."""
    questions = draw.draw(st.permutations(asked(whole)))
    entities = draw.draw(st.permutations(ENTITIES))
    scores = model.scores(questions, entities)
    numbered = {entity: place for place, entity in enumerate(entities)}
    named = draw.draw(st.sampled_from([entities, numbered, Vocabulary.of(entities), labels_of(entities)]))
    return rank_scores(_, scores, questions=questions, entities=named, depth=10, name="m")


def blocks(model: Model, collection: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """Of the whole collection's rows, in any order and size."""
    scores, rows = own_order(model, whole), draw.draw(st.permutations(range(len(whole.questions))))
    size = draw.draw(st.integers(1, len(rows)))
    pieces = [np.array(rows[first : first + size]) for first in range(0, len(rows), size)]
    given = [(piece, scores[piece]) for piece in pieces]
    return rank_scores(collection, given, questions=whole, entities=whole, depth=10, name="m")


def stamped_npy(model: Model, collection: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """Written by kgtrec, or by numpy and stamped; without the whole collection at hand, a sample refuses it."""
    scores = own_order(model, whole)
    if draw.draw(st.booleans()):
        write_score_matrix(folder / "m.npy", scores, whole)
    else:
        np.save(folder / "m.npy", scores)
        stamp_score_matrix(folder / "m.npy", whole)
    made_for = draw.draw(st.sampled_from([whole, None]))
    read = read_score_matrix(folder / "m.npy", collection, made_for=made_for, block=draw.draw(st.integers(1, 5)))
    return rank_scores(collection, read, questions=collection, entities=collection, depth=10, name="m")


def npy_beside(model: Model, collection: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """With the files of the collection that it was made for beside it, or named; or without."""
    write_collection(folder / "W", whole)
    place = draw.draw(st.sampled_from(["W", "."]))
    np.save(folder / place / "m.npy", own_order(model, whole))
    entities = folder / "W" / ("entities.txt" if whole.labels is None else "entities.tsv")
    named = draw.draw(st.sampled_from([{}, {"topics": folder / "W" / "topics.tsv", "entities": entities}]))
    read = read_score_matrix(folder / place / "m.npy", collection, **named)  # type: ignore[arg-type]
    return rank_scores(collection, read, questions=collection, entities=collection, depth=10, name="m")


def bare_npy(model: Model, collection: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """Nothing tells its order."""
    np.save(folder / "m.npy", own_order(model, whole))
    read = read_score_matrix(folder / "m.npy", collection)
    return rank_scores(collection, read, questions=collection, entities=collection, depth=10, name="m")


def npz(model: Model, collection: Collection, whole: Collection, draw: st.DataObject, folder: Path) -> Ranked:
    """A factorised system in an order of its own."""
    questions, entities = draw.draw(st.permutations(asked(whole))), draw.draw(st.permutations(ENTITIES))
    coded = [
        (side == "head", RELATIONS.index(relation), entities.index(anchor)) for side, anchor, relation in questions
    ]
    E = np.eye(len(entities), dtype=np.float32)
    Q = model.scores(questions, entities).astype(np.float32)
    np.savez(folder / "m.npz", E=E, Q=Q, questions=np.array(coded, np.int32))
    (folder / "entities.txt").write_text("".join(f"{entity}\n" for entity in entities), "utf-8")
    (folder / "relations.txt").write_text("".join(f"{relation}\n" for relation in RELATIONS), "utf-8")
    return rank_system(collection, read_system(folder / "m.npz"), depth=10)


@pytest.mark.parametrize("way", [matrix_and_names, blocks, stamped_npy, npy_beside, bare_npy, npz])
@given(model=models(), part=st.booleans(), ids=st.booleans(), draw=st.data())
def test_scores_by_any_way_give_the_same_ranks(way: Way, model: Model, part: bool, ids: bool, draw: st.DataObject):
    """On all test triples or a sample, whatever the order of lines, entities and questions, with ids or labels."""
    expected = numbers(plain := model.collection(draw, part=part), ranked(model, plain).answer_ranks)
    collection = model.collection(draw, part=part, ids=ids)
    whole = model.collection(draw, part=False, ids=draw.draw(st.booleans()))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        try:
            found = way(model, collection, whole, draw, Path(folder))
        except KgtrecError:
            assert way in (bare_npy, stamped_npy, npy_beside)
            return
    assert way is not bare_npy
    assert numbers(collection, found.answer_ranks) == pytest.approx(expected, rel=1e-12)


def text_run(made: Ranked, folder: Path) -> Run:
    write_run(folder / "m.run.gz", made.run)  # type: ignore[arg-type]
    return read_run(folder / "m.run.gz")


def parquet_run(made: Ranked, folder: Path) -> Run:
    write_run(folder / "m.parquet", made.run)  # type: ignore[arg-type]
    return read_run(folder / "m.parquet")


def frame(made: Ranked, _: Path) -> Run:
    return Run.from_frame(made.run.to_frame(), "m")  # type: ignore[union-attr]


def ranks_file(made: Ranked, folder: Path) -> AnswerRanks:
    write_answer_ranks(folder / "m.ranks.parquet", made.answer_ranks)
    return read_answer_ranks(folder / "m.ranks.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("form", [text_run, parquet_run, frame, ranks_file])
@given(model=models(), parts=st.tuples(st.booleans(), st.booleans()), draw=st.data())
def test_a_system_of_another_collection_is_refused_and_one_of_its_own_gives_the_same(
    form: Callable[[Ranked, Path], Run | AnswerRanks], model: Model, parts: tuple[bool, bool], draw: st.DataObject
):
    """Against a collection, its qrels by path, and qrels with a collection beside; ids are names of one collection."""
    made_for, asked_of = (model.collection(draw, part=part) for part in parts)
    expected = numbers(asked_of, form_of_own(model, asked_of, form))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        system = form(ranked(model, made_for), folder)
        write_collection(folder / "C", asked_of)
        ways: list[tuple[object, dict[str, object]]] = [
            (asked_of, {}),
            (read_collection(folder / "C"), {}),
            (read_qrels(folder / "C" / "qrels.txt"), {}),
            (asked_of.qrels, {"collection": asked_of}),
        ]
        for qrels, options in ways:
            if made_for.stamp != asked_of.stamp:
                with pytest.raises(KgtrecError, match="collection"):
                    numbers(qrels, system, **options)
            else:
                assert numbers(qrels, system, **options) == pytest.approx(expected, rel=1e-12)


def form_of_own(
    model: Model, collection: Collection, form: Callable[[Ranked, Path], Run | AnswerRanks]
) -> Run | AnswerRanks:
    """What a system gives that was made for the collection itself, as it is in memory."""
    made = ranked(model, collection)
    return made.answer_ranks if form is ranks_file else made.run  # type: ignore[return-value]
