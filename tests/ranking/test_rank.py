"""Scores to answer ranks and runs, against an obvious reading of the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError
from kgtrec.ranking.rank import rank_scores, ranked_blocks
from tests.collections_by_hand import collection_of

SPLITS = ("train", "valid", "test")


def obvious(collection, scores, filtered_by, depth, judged):
    """Answer-rank rows and run rows, entity by entity."""
    ranks, run = [], []
    rows = list(zip(collection.filtered.question, collection.filtered.entity, collection.filtered.split, strict=True))
    qrels = list(zip(collection.qrels.question, collection.qrels.entity, collection.qrels.grade, strict=True))
    order = collection.entities.byte_order
    for q, row in enumerate(scores):
        answers = {e for p, e, grade in qrels if p == q and grade >= 1}
        removed = {e for p, e, split in rows if p == q and SPLITS[split] in filtered_by} - answers
        candidates = [e for e in range(len(row)) if e not in removed and (e in answers or takes(collection, q, e))]
        placed = {e for p, e, _ in qrels if p == q} | {e for p, e in judged if p == q}
        for e in sorted(placed):
            others = [c for c in candidates if c not in answers and c != e]
            above, tied = sum(row[c] > row[e] for c in others), sum(row[c] == row[e] for c in others)
            ranks.append((q, e, e in answers, above, tied, len(others), float(row[e])))
        candidates.sort(key=lambda e, row=row: (row[e], order[e]), reverse=True)
        run += [(q, e, float(row[e])) for e in candidates[:depth]]
    return ranks, run


def takes(collection, question, entity):
    """Whether an entity is one that the side of the question's relation takes."""
    own = collection.candidates
    if own is None:
        return True
    rows = list(zip((own.place // 2).tolist(), own.entity.tolist(), strict=True))
    relation = int(collection.questions.relation[question])
    return (relation, entity) in rows or all(of != relation for of, _ in rows)


def rank_rows(ranks):
    columns = ranks.question, ranks.entity, ranks.answer, ranks.above, ranks.tied, ranks.n_other, ranks.score
    return list(zip(*(column.tolist() for column in columns), strict=True))


def run_rows(run):
    return list(zip(run.question.tolist(), run.entity.tolist(), run.score.tolist(), strict=True))


@st.composite
def worlds(draw):
    """A collection, a score matrix with many ties and infinities, a filter, further judged pairs, and a partition."""
    n_questions, n_entities = draw(st.integers(1, 6)), draw(st.integers(1, 15))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = [(q, e) for q in range(n_questions) for e in range(n_entities)]
    grades = {pair: int(rng.integers(-1, 3)) for pair in pairs if rng.random() < 0.3}
    filtered = {(*pair, int(rng.integers(3))) for pair in pairs if rng.random() < 0.4}
    judged = {pair for pair in pairs if rng.random() < 0.2}
    values = np.array([-np.inf, -1, -0.0, 0.0, 2.5])[: draw(st.integers(1, 5))]
    scores = rng.choice(values, (n_questions, n_entities)).astype(draw(st.sampled_from(["f2", "f4", "f8"])))
    blocks = np.array_split(rng.permutation(n_questions), draw(st.integers(1, 3)))
    filtered_by = draw(st.sets(st.sampled_from(SPLITS)))
    share = draw(st.sampled_from([None, 0.1, 0.6]))
    places = [(relation, e) for relation in range(2) for e in range(n_entities)]
    candidates = None if share is None else {place for place in places if rng.random() < share}
    return collection_of(n_questions, n_entities, grades, filtered, candidates), scores, filtered_by, judged, blocks


def judged_qrels(collection, pairs):
    """The pairs under vocabularies of their own order."""
    questions, entities = Vocabulary.of(list(collection.questions.ids)[::-1]), collection.entities
    question = len(questions) - 1 - np.array([q for q, _ in pairs], np.int32)
    entity = np.array([e for _, e in pairs], np.int32)
    return Qrels.of(question, entity, np.zeros(len(pairs), np.int32), questions, entities)


@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@given(worlds(), st.integers(0, 16))
def test_ranks_and_run_equal_the_obvious_loop(world, depth):
    """Any ties, filter, grades, judged pairs and order of blocks; a list cut at depth k is a prefix."""
    collection, scores, filtered_by, judged, blocks = world
    ranked = rank_scores(
        collection,
        ((rows, scores[rows]) for rows in blocks),
        questions=collection,
        entities=collection,
        name="s",
        filtered_by=tuple(filtered_by),
        depth=depth,
        judged=judged_qrels(collection, sorted(judged)),
    )
    ranks, run = obvious(collection, scores, filtered_by, depth, judged)
    assert rank_rows(ranked.answer_ranks) == ranks
    assert ranked.answer_ranks.filtered_by == tuple(split for split in SPLITS if split in filtered_by)
    assert ranked.answer_ranks.collection == collection.stamp
    if depth == 0:
        assert ranked.run is None
    else:
        assert run_rows(ranked.run) == run
        made = Run.of(
            "s", ranked.run.question, ranked.run.entity, ranked.run.score, ranked.run.questions, ranked.run.entities
        )
        assert run_rows(made) == run, "the run is in the order that Run.of would give it"


@pytest.fixture
def two():
    """Two questions over five entities; question 0: answers 2 and 4, entity 0 filtered; question 1: answer 1."""
    return collection_of(2, 5, {(0, 2): 1, (0, 4): 1, (1, 1): 1}, {(0, 0, 0), (0, 1, 2)})


SCORES = np.array([[9, 8, 7, 7, 6], [1, 1, 1, 1, 1]], np.float32)


def test_by_hand(two):
    """Question 0 over e3 alone when train and test are removed; question 1 is one tie of five."""
    ranks = rank_scores(two, SCORES, questions=two, entities=two).answer_ranks
    assert rank_rows(ranks) == [(0, 2, True, 0, 1, 1, 7.0), (0, 4, True, 1, 0, 1, 6.0), (1, 1, True, 0, 4, 4, 1.0)]


def test_test_triples_left_out_by_sampling_stay_without_the_test_filter(two):
    """filtered_by train and valid keeps e1, a test answer that sampling left out; raw keeps e0 too."""
    partial = rank_scores(two, SCORES, questions=two, entities=two, filtered_by=("train", "valid")).answer_ranks
    assert (partial.above.tolist(), partial.n_other.tolist()) == ([1, 2, 0], [2, 2, 4])
    raw = rank_scores(two, SCORES, questions=two, entities=two, filtered_by=()).answer_ranks
    assert (raw.above.tolist(), raw.n_other.tolist(), raw.filtered_by) == ([2, 3, 0], [3, 3, 4], ())


def test_an_answer_that_is_also_filtered_is_not_removed():
    """Leakage from train: the answer keeps its row and its place in the run."""
    collection = collection_of(1, 3, {(0, 1): 1}, {(0, 1, 0)})
    ranked = rank_scores(collection, np.array([[1.0, 5.0, 2.0]]), questions=collection, entities=collection)
    assert rank_rows(ranked.answer_ranks) == [(0, 1, True, 0, 0, 2, 5.0)]
    assert ranked.run.entity.tolist() == [1, 2, 0]


def test_ties_in_the_run_follow_the_bytes_of_the_labels(two):
    """All five tie: the label that is last in byte order comes first, also where the list is cut."""
    run = rank_scores(two, SCORES, questions=two, entities=two, depth=2).run
    assert run.entity[run.question == 1].tolist() == [4, 3]


def test_parts_come_one_per_block(two):
    """The streaming form gives each block's rows, and progress hears of each block."""
    done = []
    blocks = [(np.array([0]), SCORES[:1]), (np.array([1]), SCORES[1:])]
    parts = list(ranked_blocks(two, iter(blocks), questions=two, entities=two, depth=3, progress=done.append))
    assert [len(part.answer_ranks) for part in parts] == [2, 1]
    assert [part.run.question.tolist() for part in parts] == [[0, 0, 0], [1, 1, 1]]
    assert done == [1, 1]


@pytest.mark.parametrize("kind", ["list", "bool", "int64", "big-endian", "fortran", "strided", "frame"])
def test_anything_that_becomes_an_array_is_taken(two, kind):
    """Nested lists, integers, flags, any byte order and memory layout, a data frame."""
    whole = SCORES.astype(np.int64)
    if kind == "list":
        blocks = [([0, 1], whole.tolist())]
    elif kind == "bool":
        whole = (whole > 1).astype(int)
        blocks = whole.astype(bool)
    elif kind == "frame":
        blocks = pytest.importorskip("pandas").DataFrame(whole)
    else:
        made = {"int64": whole, "big-endian": whole.astype(">f8"), "fortran": np.asfortranarray(whole)}
        blocks = made.get(kind, np.repeat(whole, 2, axis=1)[:, ::2])
    expected = obvious(two, whole.astype(float), SPLITS, 3, set())
    ranked = rank_scores(two, blocks, questions=two, entities=two, depth=3)
    assert (rank_rows(ranked.answer_ranks), run_rows(ranked.run)) == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_torch_tensors_are_taken(two, dtype):
    """Tensors that require a gradient, as blocks and as a whole matrix."""
    torch = pytest.importorskip("torch", reason="torch is not installed; pip install kgtrec[peers]")
    tensor = torch.tensor(SCORES, dtype=getattr(torch, dtype), requires_grad=True) * 1
    expected = rank_rows(rank_scores(two, SCORES, questions=two, entities=two).answer_ranks)
    assert rank_rows(rank_scores(two, tensor, questions=two, entities=two).answer_ranks) == expected
    assert (
        rank_rows(rank_scores(two, [(torch.tensor([1, 0]), tensor.flip(0))], questions=two, entities=two).answer_ranks)
        == expected
    )


def at_1_3(score, dtype=SCORES.dtype):
    scores = SCORES.astype(dtype)
    scores[1, 3] = score
    return scores


WRONG = {
    "nan": (lambda: at_1_3(np.nan), "found NaN for question"),
    "infinite": (lambda: at_1_3(np.inf), "largest"),
    "infinite half": (lambda: [([0, 1], at_1_3(np.inf, np.float16))], "scores"),
    "width": (lambda: SCORES[:, :4], "found shape 2 x"),
    "block width": (lambda: [([0], SCORES[:1, :4])], "found shape 1 x"),
    "rows": (lambda: [([0, 1], SCORES[:1])], "found shape 1 x"),
    "missing": (lambda: [([1], SCORES[:1])], "scores"),
    "none": (list, "expected scores for each of 2 questions, found none for 2 of them"),
    "again": (lambda: [([0, 1], SCORES), ([1], SCORES[1:])], "found 'tail1' more than"),
    "twice": (lambda: [([1, 1], SCORES)], "found 'tail1' more than"),
    "range": (lambda: [([0, 2], SCORES)], "block"),
    "negative": (lambda: [([-1, 0], SCORES)], "block"),
    "float rows": (lambda: [([0.0, 1.0], SCORES)], "shape"),
    "text": (lambda: SCORES.astype(str), "integers"),
    "complex": (lambda: SCORES.astype(complex), "found complex128; convert them to float32 first"),
    "large": (lambda: SCORES.astype(np.int64) + 2**53, r"expected integer scores within \+-2\*\*53"),
    "ragged": (lambda: [([0, 1], [[1, 2], [3]])], "converts"),
    "no pair": (lambda: [SCORES], "found ndarray"),
    "number": (lambda: 3, "found int"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_scores_get_one_clear_error(two, case):
    """Every way to hand in the wrong scores is named, with the place and the question."""
    make, message = WRONG[case]
    with pytest.raises(KgtrecError, match=message):
        rank_scores(two, make(), questions=two, entities=two)


def test_rows_may_be_named_by_an_array_of_text(two):
    """numpy's rows of side, anchor and relation are as good as tuples of them."""
    asked = np.array([("tail", "e1", "r"), ("tail", "e0", "r")])
    ranked = rank_scores(two, SCORES[::-1], questions=asked, entities=np.array([f"e{i}" for i in range(5)]))
    expected = rank_scores(two, SCORES, questions=two, entities=two)
    assert rank_rows(ranked.answer_ranks) == rank_rows(expected.answer_ranks)


def test_names_that_are_none_get_one_clear_error(two):
    """Numbers in place of labels, and a row for each test triple in place of each question."""
    with pytest.raises(KgtrecError, match=r"entities:.*columns"):
        rank_scores(two, SCORES, questions=two, entities=range(5))
    asked = [("tail", "e0", "r"), ("tail", "e1", "r"), ("tail", "e0", "r")]
    with pytest.raises(KgtrecError, match="keep"):
        rank_scores(two, SCORES[[0, 1, 0]], questions=asked, entities=two)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"depth": -1}, "depth"), ({"depth": 1.5}, r"found 1\.5"), ({"filtered_by": ["tran"]}, "found 'tran'")],
)
def test_wrong_options(two, options, message):
    """A depth or filter that cannot be."""
    with pytest.raises(KgtrecError, match=message):
        rank_scores(two, SCORES, questions=two, entities=two, **options)


def test_judgements_of_another_collection(two):
    """A judged question that the collection lacks is named."""
    zero = np.zeros(1, np.int32)
    judged = Qrels.of(zero, zero, zero, Vocabulary.of(["tail9"]), two.entities)
    with pytest.raises(CollectionError, match="lacks"):
        rank_scores(two, SCORES, questions=two, entities=two, judged=judged)


def test_a_pair_of_a_negative_grade_gets_a_row(two):
    """Pooled and not sampled: infAP counts it, so it needs its rank as a judged one does."""
    judged = Qrels.of(
        np.array([1, 1], np.int32),
        np.array([0, 2], np.int32),
        np.array([-1, 0], np.int32),
        two.questions.ids,
        two.entities,
    )
    ranks = rank_scores(two, SCORES, questions=two, entities=two, judged=judged).answer_ranks
    assert ranks.entity[ranks.question == 1].tolist() == [0, 1, 2]
    assert ranks.answer[ranks.question == 1].tolist() == [False, True, False]


def test_a_collection_without_questions():
    """Nothing to rank is an empty table and an empty run."""
    ranked = rank_scores(
        collection_of(0, 3, {}), np.zeros((0, 3)), questions=collection_of(0, 3, {}), entities=collection_of(0, 3, {})
    )
    assert (len(ranked.answer_ranks), len(ranked.run)) == (0, 0)


def test_the_names_of_a_data_frame_do_not_contradict_the_order(two):
    """Its columns and rows are matched by place, so that another order of their names is refused."""
    pd = pytest.importorskip("pandas")
    scores = np.arange(len(two.questions) * len(two.entities), dtype=float).reshape(len(two.questions), -1)
    names, ids = list(two.entities), list(two.questions.ids)
    frame = pd.DataFrame(scores, index=ids, columns=names)
    turned = frame[names[::-1]]
    expected = rank_scores(two, scores, questions=two, entities=two).answer_ranks.above.tolist()
    for good, entities in (
        (frame, two),
        (turned, names[::-1]),
        (turned, turned.columns),
        (frame.reset_index(drop=True), two),
    ):
        found = rank_scores(two, good, questions=two, entities=entities)
        assert found.answer_ranks.above.tolist() == expected
    for wrong in (turned, [(np.arange(len(ids)), turned)]):
        with pytest.raises(KgtrecError, match=f"column 0 of the data frame to be about '{names[0]}'"):
            rank_scores(two, wrong, questions=two, entities=two)
    for wrong in (frame.iloc[::-1], frame.reset_index(drop=True).iloc[::-1]):
        with pytest.raises(KgtrecError, match="frame"):
            rank_scores(two, wrong, questions=two, entities=two)


def test_a_set_has_no_order(two):
    """Neither of entities nor of questions."""
    scores = np.zeros((len(two.questions), len(two.entities)))
    with pytest.raises(KgtrecError, match=r"entities: expected labels in order.*found set"):
        rank_scores(two, scores, questions=two, entities=set(two.entities))
    with pytest.raises(KgtrecError, match=r"questions: expected a collection.*found frozenset"):
        rank_scores(two, scores, questions=frozenset([("head", "a", "r")]), entities=two)
