"""Systems that cannot be compared are refused, whoever asks, in whatever order they come."""

from __future__ import annotations

import itertools
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.errors import CollectionError, KgtrecWarning, unwarned
from kgtrec.evaluation.belonging import different_systems
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.item_scores import item_scores
from kgtrec.evaluation.ties import compare_ties
from kgtrec.measures.names import parse_measure, parse_measures
from kgtrec.measures.registry import registered
from kgtrec.meta.comparison import compare
from kgtrec.meta.sparsity import label_scores
from kgtrec.meta.stability import stability
from kgtrec.openworld.curve import open_world_curve
from kgtrec.openworld.estimate import estimate_missing
from kgtrec.ranking.rank import rank_scores
from tests.collections_by_hand import collection_of
from tests.examples import examples
from tests.laws.tables import spelled

FILTERS = ((), ("train",), ("train", "valid", "test"))
SEEING = ("bpref", "infAP", "Judged@3", "unj@2", "AP(judged_only=True)")
BLIND = ("micro.MRR", "micro.MR", "macro.MRR", "AP", "nDCG@3", "micro.AMRI")


def collection(grades=None, filtered=((0, 1, 0), (1, 2, 1))):
    """Two questions and six entities; by default one answer each, and an entity filtered by train and one by valid."""
    return collection_of(2, 6, grades or {(0, 0): 1, (1, 3): 1}, set(filtered))


SCORES = np.random.default_rng(0).choice([0.0, 1.0, 2.0, 3.0], (2, 6))


def ranks(name, filtered_by=FILTERS[-1], judged=(), scores=SCORES):
    """One system's answer ranks, with ranks of further pairs."""
    made = collection()
    further = collection(dict.fromkeys(judged, 0)).qrels if judged else None
    return rank_scores(
        made, scores, questions=made, entities=made, name=name, filtered_by=filtered_by, depth=0, judged=further
    ).answer_ranks


@cache
def drawn_ranks(name, judged, seed):
    """The same with scores from a seed."""
    return ranks(name, judged=judged, scores=np.random.default_rng(seed).choice([0.0, 1.0, 2.0, 3.0], (2, 6)))


WRONG = {(0, 2): 0, (0, 4): 0, (1, 0): 0, (1, 5): 0}
QRELS = {(0, 0): 1, (1, 3): 1, **WRONG}
systems_drawn = st.lists(
    st.tuples(st.sampled_from(FILTERS), st.sets(st.sampled_from(sorted(WRONG)))), min_size=1, max_size=4
)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(systems_drawn, st.sampled_from([*SEEING, *BLIND]))
def test_what_was_filtered_alike_and_judged_alike_is_accepted_in_any_order_and_nothing_else(drawn, measure):
    """Unequal filters are refused always; unequal ranks of judged non-answers where the measure looks at them."""
    found = [ranks(f"s{place}", filtered, tuple(sorted(judged))) for place, (filtered, judged) in enumerate(drawn)]
    alike = len({filtered for filtered, _ in drawn}) == 1
    if measure in SEEING:
        alike &= len({frozenset(judged) for _, judged in drawn}) == 1
    made, parsed = collection(QRELS), parse_measures(measure)
    with unwarned():
        for order in itertools.permutations(found):
            given_so = {"qrels": made.qrels, "measures": parsed}
            assert len(list(different_systems(order, made, **given_so, mixed=True))) == len(found)
            if alike:
                list(different_systems(order, made, **given_so))
                evaluate(made, order, measure)
            else:
                with pytest.raises(CollectionError, match=r"expected .* (filtered in the same way|same judged)"):
                    list(different_systems(order, made, **given_so))


@settings(max_examples=examples(30), deadline=None)
@given(st.sets(st.sampled_from(sorted(WRONG))), st.sampled_from(["realistic", "optimistic", "nondeterministic"]))
def test_equal_scores_are_worth_the_same_whatever_else_was_judged(judged, ties):
    """That is why blind measures need no equal judged pairs."""
    made = collection(QRELS)
    with unwarned():
        found = evaluate(
            made, [ranks("few", judged=tuple(sorted(judged))), ranks("all", judged=tuple(WRONG))], BLIND, ties=ties
        )
    np.testing.assert_array_equal(found.values[0], found.values[1])


@pytest.mark.parametrize("kind", ["sees_wrong", "sees_unsampled"])
@pytest.mark.parametrize("measure", registered(), ids=lambda measure: measure.name)
def test_measures_say_which_candidates_they_look_at(measure, kind):
    """Every registered measure has the same value without ranks of judged non-answers, unless it says otherwise.

    So of what was pooled and not sampled, under every rule for ties.
    """
    made, judged, rules = collection(QRELS), {"bare": (), "full": tuple(WRONG)}, [None]
    seeds = 4
    if kind == "sees_unsampled":
        made = collection({(0, 0): 1, (1, 3): 1, **dict.fromkeys(WRONG, -1), (0, 3): 0, (1, 2): 0})
        judged = {name: ((0, 3), (1, 2), *pairs) for name, pairs in judged.items()}
        rules, seeds = ["realistic", "optimistic", "pessimistic"], 3
    for name in (name for name in spelled(measure) if measure.weighting is None):
        apart = False
        for seed, ties in itertools.product(range(seeds), rules):
            both = [drawn_ranks(who, pairs, seed) for who, pairs in judged.items()]
            with unwarned():
                values = evaluate(made, both, name, mixed=True, ties=ties).values
            apart |= not np.array_equal(values[0], values[1], equal_nan=True)
        assert apart == getattr(parse_measure(name), kind)


def test_the_refusal_names_what_differs_and_the_ways_out():
    """And a mixture that is meant is a warning."""
    made, mixture = collection(), [ranks("one"), ranks("other", ())]
    with pytest.raises(CollectionError, match=r"train, valid, test and other not filtered \(raw\).*--filter.*--mixed"):
        evaluate(made, mixture, "micro.MRR")
    with pytest.warns(KgtrecWarning, match="a mixture"):
        evaluate(made, mixture, "micro.MRR", mixed=True)
    unequal = [ranks("one"), ranks("other", judged=((0, 2), (1, 0)))]
    options = {"qrels": collection(QRELS).qrels, "measures": parse_measures("AP bpref")}
    with pytest.raises(CollectionError, match=r"bpref uses, found that one lacks 4 of 4 and other 2.*--judged"):
        list(different_systems(unequal, None, **options))


def test_ranks_of_what_was_not_sampled_must_be_alike_for_infap_alone():
    """A negative grade means something to infAP, and to no other measure unless gains give it a worth."""
    made = collection({(0, 0): 1, (1, 3): 1, (0, 2): -1, (0, 4): -1})
    unequal = [ranks("one"), ranks("other", judged=((0, 2),))]
    for measure in ("infAP", "nDCG(gains={-1:1})"):
        with pytest.raises(CollectionError, match=r"uses, found that one lacks 2 of 2 and other 1; rank the sc"):
            list(different_systems(unequal, made, qrels=made.qrels, measures=parse_measures(f"AP {measure}")))
    assert len(list(different_systems(unequal, made, qrels=made.qrels, measures=parse_measures("bpref Judged@3")))) == 2


def test_every_verb_that_takes_systems_refuses_mixtures():
    """One rule, in one place."""
    test = [("a", "r", "b"), ("b", "r", "c"), ("a", "r", "d"), ("c", "r", "d")]
    made = build_questions(Triples.of([("b", "r", "a")]), Triples.of([]), Triples.of(test))
    scores = np.random.default_rng(0).random((len(made.questions), len(made.entities)))
    mixture = [
        rank_scores(made, scores, questions=made, entities=made, name=name, filtered_by=by, depth=0).answer_ranks
        for name, by in (("one", FILTERS[-1]), ("other", ()))
    ]
    half = Qrels(
        *(getattr(made.qrels, name)[::2] for name in ("question", "entity", "grade")),
        made.qrels.questions,
        made.qrels.entities,
    )
    verbs = {
        "evaluate": lambda **more: evaluate(made, mixture, "micro.MRR", **more),
        "item_scores": lambda **more: item_scores(made, mixture, "micro.MRR", **more),
        "compare": lambda **more: compare(made, mixture, "micro.MRR", resamples=10, **more),
        "ties": lambda **more: compare_ties(made, mixture, "micro.MRR", **more),
        "stability": lambda **more: stability(made, mixture, "micro.MRR", sizes=[2], repeats=1, **more),
        "sparsity": lambda **more: label_scores({"all": made}, mixture, "micro.MRR", **more),
        "curve": lambda **more: open_world_curve(made, mixture, "micro.MRR", densities=[1.0], **more),
        "estimate": lambda **more: estimate_missing(half, made.qrels, mixture, **more),
    }
    for verb in verbs.values():
        with pytest.raises(CollectionError, match="filtered in the same way"):
            verb()
        with pytest.warns(KgtrecWarning, match="a mixture"):
            verb(mixed=True)


def test_an_answer_that_left_the_qrels_and_is_filtered_is_told():
    """Ranking again would filter it; the table has counted without it, but cannot say which entity is filtered."""
    before = collection({(0, 0): 1, (0, 1): 1, (1, 3): 1})
    made = rank_scores(before, SCORES, questions=before, entities=before, name="one", depth=0).answer_ranks
    with pytest.raises(CollectionError, match=r"found 1 answers that the qrels lack now .* such as \(tail0, e1\)"):
        evaluate(collection(), made, "micro.MRR")
    raw = rank_scores(
        before, SCORES, questions=before, entities=before, name="one", depth=0, filtered_by=()
    ).answer_ranks
    evaluate(collection(), raw, "micro.MRR")


def test_a_run_without_any_entity_of_the_qrels_is_told():
    """Question ids such as head0 are those of many collections, so that nothing else shows it."""
    pd = pytest.importorskip("pandas")
    qrels = Qrels.from_frame(pd.DataFrame({"query_id": ["head0"], "doc_id": ["vienna"], "relevance": [1]}))
    frame = pd.DataFrame({"query_id": ["head0", "head0"], "doc_id": ["ann", "bob"], "score": [2.0, 1.0]})
    with pytest.warns(KgtrecWarning, match="mine has no entity of the qrels .*: are they of one collection"):
        evaluate(qrels, Run.from_frame(frame, "mine"), ["AP"])
    frame.loc[1, "doc_id"] = "vienna"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(qrels, Run.from_frame(frame, "mine"), ["AP"])
