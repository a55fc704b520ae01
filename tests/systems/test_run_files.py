"""TREC runs as sources: answer ranks with bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecWarning
from kgtrec.formats.trec.runs import stamp_run, write_run
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.registry import adapter_of, read_system
from kgtrec.systems.run_files import run_lists


@st.composite
def ranked(draw):
    """A collection and the ranks and run of scores with ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    every = [(f"e{h}", "r", f"e{t}") for h in range(5) for t in range(5)]
    chosen = [every[i] for i in rng.permutation(len(every))[:12]]
    collection = build_questions(Triples.of(chosen[:6]), Triples.of(chosen[6:8]), Triples.of(chosen[8:]))
    scores = rng.integers(0, 4, (len(collection.questions), len(collection.entities)))
    depth = draw(st.integers(1, 6))
    whole = rank_scores(collection, scores, questions=collection, entities=collection, depth=10)
    return collection, whole, depth


@settings(deadline=None)
@given(ranked())
def test_a_whole_run_gives_the_ranks_and_the_run_of_its_scores(system):
    """Equal scores tie."""
    collection, whole, _ = system
    found = rank_system(collection, run_lists(whole.run, collection), depth=10)
    for column in ("question", "entity", "above", "tied", "n_other"):
        assert getattr(found.answer_ranks, column).tolist() == getattr(whole.answer_ranks, column).tolist()
    assert found.run.entity.tolist() == whole.run.entity.tolist()


@settings(deadline=None)
@given(ranked())
def test_a_cut_run_bounds_the_ranks(system):
    """At any depth; the exact count above is never out of bounds."""
    collection, whole, depth = system
    found = rank_system(collection, run_lists(whole.run.cut(depth), collection)).answer_ranks
    exact = whole.answer_ranks
    score = [whole.run.score[whole.run.question == question].tolist() for question in range(len(collection.questions))]
    # nobody sees that one entity of several that tie is in the list
    alone = [
        depth < len(own) and own[depth - 1 :].count(own[depth - 1]) > 1 == own[:depth].count(own[depth - 1])
        for own in score
    ]
    seen = ~np.array(alone)[exact.question]
    assert (found.above <= exact.above)[seen].all()
    assert (found.above + found.tied >= exact.above + exact.tied)[seen].all()
    assert (found.above == exact.above)[seen & ~found.cut].all()
    assert (found.tied == exact.tied)[seen & ~found.cut].all()


@pytest.fixture
def collection():
    train = Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")])
    return build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "jam")]))


def test_a_run_file_is_recognised(tmp_path, collection):
    """The system has the file's name; what lies beside it says what was filtered."""
    path = tmp_path / "mine.run.gz"
    scores = np.array([[0.5, 0.1, 0.9, 0.1], [0.2, 0.8, 0.5, 0.4]])
    write_run(path, rank_scores(collection, scores, questions=collection, entities=collection, depth=1).run)
    assert adapter_of(path).name == "run"
    system = read_system(path)
    assert system.name == "mine"
    ranks = rank_system(collection, system).answer_ranks
    assert (ranks.above.tolist(), ranks.tied.tolist(), ranks.cut.tolist()) == ([0, 1], [0, 1], [False, True])
    with pytest.raises(CollectionError, match="valid"):
        rank_system(collection, system, filtered_by=())


def test_a_run_of_another_program(tmp_path, collection):
    """Nothing lies beside it; a question is of another collection; ann may tie with jam and bob."""
    path = tmp_path / "a.txt"
    path.write_text("tail0 Q0 jam 1 2 x\ntail0 Q0 bob 2 2 x\ntail9 Q0 bob 1 1 x\nhead0 Q0 ann 1 -1 x\n")
    with pytest.warns(KgtrecWarning, match=r"a:.*lacks"):
        ranks = rank_system(collection, read_system(path)).answer_ranks
    assert (ranks.above.tolist(), ranks.tied.tolist(), ranks.cut.tolist()) == ([0, 0], [0, 2], [False, True])


@pytest.mark.parametrize(
    ("text", "message"),
    [("q1 Q0 jam 1 1 x\n", r"a:.*found 1 of 1"), ("tail0 Q0 jam 1 2 x\ntail0 Q0 e7 2 1 x\n", r"a:.*found 1 of 2")],
)
def test_ids_of_another_collection_are_refused(tmp_path, collection, text, message):
    """With how many, and examples."""
    path = tmp_path / "a.run"
    path.write_text(text)
    with pytest.raises(CollectionError, match=message):
        rank_system(collection, read_system(path))


def test_a_run_of_another_collection_is_refused(tmp_path, collection):
    """Its file says so."""
    path = tmp_path / "a.run"
    path.write_text("tail0 Q0 jam 1 2 x\n")
    stamp_run(path, collection)
    other = build_questions(
        Triples.of([("ann", "likes", "tea"), ("bob", "likes", "jam")]),
        Triples.of([]),
        Triples.of([("ann", "likes", "jam"), ("bob", "likes", "tea")]),
    )
    with pytest.raises(CollectionError, match=f"expected a run of collection {other.stamp}, found one of"):
        rank_system(other, read_system(path))


def test_a_run_names_entities_by_the_ids_of_its_collection():
    """Labels with spaces have ids there."""
    train = Triples.of([("ann lee", "likes", "ice cream"), ("bob", "likes", "jam")])
    collection = build_questions(train, Triples.of([]), Triples.of([("ann lee", "likes", "jam")]), ids=True)
    scores = np.arange(8.0).reshape(2, 4)
    whole = rank_scores(collection, scores, questions=collection, entities=collection)
    found = rank_system(collection, run_lists(whole.run, collection))
    assert found.answer_ranks.above.tolist() == whole.answer_ranks.above.tolist()
    assert found.run.entity.tolist() == whole.run.entity.tolist()
