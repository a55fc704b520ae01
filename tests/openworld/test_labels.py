"""Sparse labels: subsets of the complete ones, at the density and correlation asked for, and what ranks they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.openworld.labels import SparseLabels, TrueFacts, found_answers, hide_labels, possible_correlations, rows_of
from kgtrec.openworld.theory import correlation_range
from kgtrec.ranking.rank import rank_scores
from kgtrec.ranking.system import rank_system
from kgtrec.systems.kinds import RankedLists
from tests.examples import examples

SEEDS = st.integers(0, 10_000)
DENSITIES = st.floats(0.05, 1.0)


def world(seed: int, facts: int = 30) -> tuple[Collection, np.ndarray]:
    """A small collection, and scores with many ties for its questions."""
    rng = np.random.default_rng(seed)
    rows = sorted({(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rng.integers(0, [8, 2, 8], (facts, 3)).tolist()})
    rng.shuffle(rows)
    rows = [tuple(row) for row in rows]
    train = [(f"e{number}", "r0", f"e{number}") for number in range(8)] + [("e0", "r1", "e0")]
    true = [row for row in rows if row not in train]
    collection = build_questions(Triples.of(train), Triples.of([]), Triples.of(true))
    values = rng.integers(0, 5, (len(collection.questions), len(collection.entities))).astype(float)
    return collection, values


def ranked(collection: Collection, scores: np.ndarray) -> AnswerRanks:
    return rank_scores(collection, scores, questions=collection, entities=collection, depth=0, name="s").answer_ranks


def built_anew(sparse: SparseLabels, scores: np.ndarray) -> tuple[Collection, AnswerRanks]:
    """The collection of the labelled facts alone, and the same scores ranked for it."""
    true = sparse.true.collection
    nothing = Triples.of([])
    collection = build_questions(true.train, nothing, sparse.true.facts.take(sparse.labelled))
    row = true.questions.rows(
        collection.questions.is_head,
        true.relations.encode(collection.relations.labels)[collection.questions.relation],
        true.entities.encode(collection.entities.labels)[collection.questions.anchor],
    )
    column = true.entities.encode(collection.entities.labels)
    return collection, ranked(collection, scores[row][:, column])


def table(ranks: AnswerRanks, collection: Collection) -> set[tuple[object, ...]]:
    """Rows of ranks, a question named by what it asks."""
    asked = collection.questions
    return {
        (
            bool(asked.is_head[q]),
            asked.relations[asked.relation[q]],
            asked.entities[asked.anchor[q]],
            ranks.entities[e],
            int(above),
            int(tied),
            int(others),
            float(score),
        )
        for q, e, above, tied, others, score in zip(
            ranks.question, ranks.entity, ranks.above, ranks.tied, ranks.n_other, ranks.score, strict=True
        )
    }


def pairs(qrels: Qrels) -> set[tuple[str, str]]:
    return {(qrels.questions[q], qrels.entities[e]) for q, e in zip(qrels.question, qrels.entity, strict=True)}


@given(SEEDS, DENSITIES)
@settings(max_examples=examples(60), deadline=None)
def test_sparse_ranks_are_those_of_a_collection_built_of_the_labelled_facts(seed, density):
    """Counts that follow from the complete ones equal those of ranking the scores again."""
    collection, scores = world(seed)
    sparse = hide_labels(TrueFacts.of(collection), density, seed=seed)
    anew, expected = built_anew(sparse, scores)
    assert table(sparse.ranks(ranked(collection, scores)), collection) == table(expected, anew)


@given(SEEDS, DENSITIES, DENSITIES)
@settings(max_examples=examples(40), deadline=None)
def test_labels_are_a_part_of_the_complete_ones_and_of_every_denser_one(seed, one, other):
    """At random, the same seed and draw; and there are as many as the density says."""
    true = TrueFacts.of(world(seed)[0])
    sparse, dense = (hide_labels(true, density, seed=seed) for density in sorted((one, other)))
    assert not np.any(sparse.labelled & ~dense.labelled)
    assert sparse.labelled.sum() == max(1, int(min(one, other) * len(true) + 1e-9))
    complete = true.collection.qrels
    labelled = sparse.qrels()
    assert pairs(labelled) <= pairs(complete)
    assert len(labelled) == 2 * sparse.labelled.sum()  # every fact answers a head and a tail question


def test_labels_hang_on_the_facts_labels_not_on_their_order():
    """The triples of a test set in another order lose the same labels."""
    rows = [(f"e{h}", "r", f"e{t}") for h in range(6) for t in range(6)]
    kept = []
    for order in (rows, rows[::-1]):
        true = TrueFacts.of(build_questions(Triples.of([]), Triples.of([]), Triples.of(order)))
        facts = true.facts.take(hide_labels(true, 0.4, seed=3).labelled)
        kept.append({(facts.entities[h], facts.entities[t]) for h, t in zip(facts.head, facts.tail, strict=True)})
    assert kept[0] == kept[1]
    assert len(kept[0]) == 14


@given(SEEDS, st.floats(0.1, 0.9), st.floats(-1, 1), st.floats(0.1, 0.9))
@settings(max_examples=examples(60), deadline=None)
def test_the_correlation_comes_within_the_rounding_to_whole_facts(seed, density, part, strength):
    """Some share of the way to either end; what is reported is the correlation of the two bits over answers."""
    collection, _ = world(seed, facts=120)
    true = TrueFacts.of(collection)
    found = np.random.default_rng(seed).random(len(true.fact)) < strength
    low, high = possible_correlations(true, found, density)
    if np.isnan(low):
        return
    wanted = part * (high if part > 0 else -low)
    sparse = hide_labels(true, density, found=found, correlation=wanted, seed=seed)
    missing = ~sparse.labelled[true.fact]
    assert sparse.correlation == pytest.approx(np.corrcoef(missing, found)[0, 1], abs=1e-12)
    spread = np.sqrt(missing.mean() * (1 - missing.mean()) * found.mean() * (1 - found.mean()))
    assert abs(sparse.correlation - wanted) <= 3 / len(true) / spread + 1e-9
    assert sparse.density == pytest.approx(max(1, int(density * len(true) + 1e-9)) / len(true))


@pytest.fixture(scope="module", name="true")
def a_hundred_facts() -> TrueFacts:
    """Each is the only answer of its two questions."""
    test = Triples.of([(f"h{place}", "r", f"t{place}") for place in range(100)])
    return TrueFacts.of(build_questions(Triples.of([]), Triples.of([]), test))


def test_the_range_of_correlations_is_that_of_the_model_where_both_answers_are_found_or_neither(true):
    """70 of 100 facts found, 20 missing: -0.7638 to 0.3273, as the theory has it."""
    found = true.fact < 70
    assert possible_correlations(true, found, 0.8) == pytest.approx(correlation_range(0.2, 0.7), abs=1e-12)


def test_the_ends_that_an_error_tells_are_taken(true):
    """Ends are told with four digits, which may be a little beyond the end itself; then it is the end that comes."""
    for known in (30, 67, 70):
        found = true.fact < known
        for end in possible_correlations(true, found, 0.8):
            assert hide_labels(true, 0.8, found=found, correlation=float(f"{end:.4g}")).correlation == pytest.approx(
                end, abs=1e-12
            )


def test_a_correlation_that_cannot_be_names_those_that_can(true):
    """The message has both ends, the density and the strength."""
    message = (
        r"^expected a correlation from -0\.7638 to 0\.3273 at a density of 0\.8 and a system that finds 0\.7 of the "
        r"answers, found 0\.5$"
    )
    with pytest.raises(KgtrecError, match=message):
        hide_labels(true, 0.8, found=true.fact < 70, correlation=0.5)
    with pytest.raises(KgtrecError, match=r"if all answers or none are missing, or found, there is no correlation$"):
        hide_labels(true, 1.0, found=true.fact < 70, correlation=0.1)
    with pytest.raises(KgtrecError, match=r"expected the answers that a system finds, for labels whose absence"):
        hide_labels(true, 0.8, correlation=0.1)
    for density in (0, -1, 2, float("nan"), True, "0.5"):
        told = rf"^expected a density above 0 and at most 1, found {density!r}$"
        with pytest.raises(KgtrecError, match=told):
            hide_labels(true, density)
        with pytest.raises(KgtrecError, match=told):
            possible_correlations(true, true.fact < 70, density)
    for option in ("seed", "draw"):
        with pytest.raises(KgtrecError, match=rf"^expected {option} to be a whole number from 0 on, found 1\.5$"):
            hide_labels(true, 0.5, **{option: 1.5})


@pytest.mark.parametrize("density", [np.float32(0.5), np.float64(0.5), np.float16(0.5)])
def test_densities_of_any_float_type_are_taken(density):
    true = TrueFacts.of(world(2)[0])
    assert np.array_equal(hide_labels(true, density).labelled, hide_labels(true, 0.5).labelled)


@given(SEEDS, st.integers(1, 4))
@settings(max_examples=examples(30), deadline=None)
def test_found_is_ranked_above_every_false_candidate(seed, at):
    """Against a count, answer by answer, over the scores; a tie with a false candidate does not count as above."""
    collection, scores = world(seed)
    true = TrueFacts.of(collection)
    qrels, filtered = collection.qrels, collection.filtered
    expected = []
    for q, e in zip(qrels.question.tolist(), qrels.entity.tolist(), strict=True):
        aside = set(qrels.entity[qrels.question == q]) | set(filtered.entity[filtered.question == q])
        expected.append(sum(s >= scores[q, e] for c, s in enumerate(scores[q]) if c not in aside) < at)
    assert found_answers(true, ranked(collection, scores), at=at).tolist() == expected


def test_ranks_under_other_codes_are_found_by_label():
    """A table whose vocabularies number entities otherwise gives the same rows."""
    collection, scores = world(5)
    true, ranks = TrueFacts.of(collection), ranked(collection, scores)
    n = len(collection.entities)
    turned = Vocabulary.of([collection.entities[n - 1 - code] for code in range(n)])
    entity = (n - 1 - ranks.entity).astype(np.int32)
    order = np.lexsort((entity, ranks.question))
    columns = {
        name: getattr(ranks, name)[order] for name in ("question", "answer", "above", "tied", "n_other", "score")
    }
    other = replace(ranks, entity=entity[order], entities=turned, **columns)
    sparse = hide_labels(true, 0.5)
    assert table(sparse.ranks(other), collection) == table(sparse.ranks(ranks), collection)


def test_ranks_that_lack_answers_or_are_of_another_collection_are_refused():
    collection, scores = world(1)
    true, ranks = TrueFacts.of(collection), ranked(collection, scores)
    with pytest.raises(
        CollectionError,
        match=r"^s: expected answer ranks of the complete collection .* found those of another collection \(abc\)",
    ):
        rows_of(true, replace(ranks, collection="abc"))
    with pytest.raises(
        CollectionError, match=r"^s: expected answer ranks made with all answers of the complete collection known"
    ):
        rows_of(true, replace(ranks, answer=np.zeros(len(ranks), np.bool_)))


def test_ranks_of_cut_lists_stay_cut():
    """Of two answers the lists have one; where only the other one is labelled, it has bounds."""
    train = Triples.of([("dot", "likes", "eve"), ("gil", "likes", "ann")])
    collection = build_questions(train, Triples.of([]), Triples.of([("ann", "likes", "bob"), ("ann", "likes", "cid")]))
    asked = collection.questions
    start = 2 * np.cumsum(np.r_[False, ~asked.is_head])  # lists of heads are empty
    lists = RankedLists(
        "lists", collection.entities, asked.relations, asked.is_head, asked.anchor, asked.relation,
        np.full(len(asked), -1, np.int32), start, collection.entities.encode(["eve", "bob"]), np.array([0, 1]),
    )  # fmt: skip
    ranks = rank_system(collection, lists).answer_ranks
    true = TrueFacts.of(collection)
    for seed in range(4):
        sparse = hide_labels(true, 0.5, seed=seed)
        found = sparse.ranks(ranks)
        tails = [not asked.is_head[question] for question in found.question]
        is_bob = [found.entities[entity] == "bob" for entity in found.entity[tails]]
        assert found.cut[tails].tolist() == [not each for each in is_bob]
        assert found.above[tails].tolist() == [1 if each else 2 for each in is_bob]
