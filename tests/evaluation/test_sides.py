"""Systems that answer one side only, and all systems on that side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores
from kgtrec.meta import compare, power, stability
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_model, rank_system

MEASURES = ["macro.MRR", "AP@20", "nDCG@20", "macro.Hits@1"]


@st.composite
def worlds(draw):
    """A collection of both sides, and scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    triples = {(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rng.integers(0, [6, 2, 6], (20, 3)).tolist()}
    triples = sorted(triples)
    collection = build_questions(Triples.of(triples[:-4]), Triples.of([]), Triples.of(triples[-4:]))
    scores = rng.choice(5, (len(collection.questions), len(collection.entities))).astype(float)
    return collection, scores


def ranked(collection, scores, **options):
    return rank_scores(collection, scores, questions=collection, entities=collection, **options)


@pytest.mark.filterwarnings("ignore::kgtrec.errors.KgtrecWarning")
@given(worlds(), st.sampled_from(["head", "tail"]))
def test_a_side_is_the_same_by_every_path(world, side):
    """Ranked alone or with the other; evaluated by sides or per side; answer ranks or run."""
    collection, scores = world
    whole, alone = ranked(collection, scores), ranked(collection, scores, sides=[side])
    measures = ["micro.MRR", "micro.MR", *MEASURES]
    per = evaluate(collection, whole, measures, per="side")
    place = per.items["side"].to_pylist().index(side)
    for system in (whole, alone):
        found = evaluate(collection, system, measures, sides=[side])
        np.testing.assert_allclose(found.values[0, :, 0], per.values[0, :, place], rtol=1e-12)
    runs = [evaluate(collection, each.run, MEASURES, sides=[side]).values for each in (whole, alone)]
    np.testing.assert_array_equal(*runs)


def some_world():
    triples = [("a", "r", "b"), ("b", "r", "c"), ("a", "r", "c")]
    collection = build_questions(Triples.of(triples[:2]), Triples.of([]), Triples.of(triples[2:]))
    return collection, np.zeros((2, 3))


def test_one_side_is_not_compared_with_both():
    """Answer ranks are refused, a run is told of; both say how to compare."""
    collection, scores = some_world()
    tails = ranked(collection, scores, sides=["tail"])
    with pytest.raises(CollectionError, match="--sides tail"):
        evaluate(collection, tails, "micro.MRR")
    with pytest.warns(KgtrecWarning, match="--sides tail"):
        evaluate(collection, tails.run, "AP@20")
    with pytest.raises(KgtrecError, match="qrels alone"):
        evaluate(collection.qrels, tails, "micro.MRR", sides=["tail"])
    with pytest.raises(KgtrecError, match="'tails'; did you mean tail"):
        evaluate(collection, tails, "micro.MRR", sides=["tails"])


def test_one_side_may_be_named_alone():
    """Not as a sequence: ranked and evaluated, as for splits to filter by."""
    collection, scores = some_world()
    tails = ranked(collection, scores, sides="tail")
    assert collection.questions.rows_of("tail").tolist() == [1]
    assert evaluate(collection, tails, "micro.MRR", sides="tail").values.shape == (1, 1, 1)
    named = {"entities": list(collection.entities), "relations": ["r"]}
    of_model = rank_model(collection, lambda heads, relations: np.zeros((len(heads), 3)), None, sides="tail", **named)
    np.testing.assert_array_equal(of_model.answer_ranks.tied, tails.answer_ranks.tied)
    with pytest.raises(KgtrecError, match="expected a side of head, tail, found 'tails'"):
        rank_model(collection, None, None, sides=["tails"], **named)
    with pytest.raises(KgtrecError, match=r"predicts heads, found one .* tails only; --sides tail \(sides=\['tail'\]"):
        rank_model(collection, lambda heads, relations: np.zeros((len(heads), 3)), None, **named)


def test_paths_are_refused():
    """With the function that reads a collection, or a system."""
    with pytest.raises(KgtrecError, match="read_collection"):
        rank_scores("C", np.zeros((2, 3)))
    with pytest.raises(KgtrecError, match="read_collection"):
        rank_model("C", None, None, entities=["a"], relations=["r"])
    with pytest.raises(KgtrecError, match="read_system"):
        rank_system(some_world()[0], "transe.jsonl")


@pytest.mark.parametrize("verb", [item_scores, compare, power, stability])
def test_every_verb_that_compares_systems_warns_of_the_missing_side(verb):
    """Half of what it compares are zeros."""
    triples = [(f"e{h}", "r", f"e{t}") for h in range(6) for t in range(6) if (h + t) % 3]
    collection = build_questions(Triples.of(triples[:8]), Triples.of([]), Triples.of(triples[8:]))
    scores = np.random.default_rng(0).random((2, len(collection.questions), len(collection.entities)))
    runs = [
        ranked(collection, own, name=name, sides=sides).run
        for own, name, sides in zip(scores, ("both", "tails"), (["head", "tail"], ["tail"]), strict=True)
    ]
    with pytest.warns(KgtrecWarning, match="tails lacks .* questions of the qrels; they count zero .* tail questions"):
        verb(collection, runs, "macro.MRR")


def test_every_question_of_the_side_must_have_scores():
    """Those of the other side need not, and are left out where they have."""
    collection, scores = some_world()
    heads = np.flatnonzero(collection.questions.is_head)
    blocks = [(heads, scores[heads])]
    assert len(ranked(collection, blocks, sides=["head"]).answer_ranks) == 1
    with pytest.raises(KgtrecError, match="expected scores for each of 1 questions, found none for 1 of them"):
        ranked(collection, blocks, sides=["tail"])
