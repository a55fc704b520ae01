"""Complex queries as questions: answers, filters, missing links; and KGReasoning's numbers from the same scores."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kgtrec.collection.queries import build_queries
from kgtrec.collection.questions import build_questions
from kgtrec.data.qrels import Qrels
from kgtrec.data.queries import Queries, read_label
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection, report_text, write_collection
from kgtrec.formats.queries import numbered, read_queries, write_queries
from kgtrec.formats.triples import read_splits
from kgtrec.kernels.triples.queries import STRUCTURES, letters
from kgtrec.ranking.rank import rank_scores
from kgtrec.systems.baselines import baseline_blocks, baselines_of
from tests.queries_by_hand import write_betae

TRAIN = [("ann", "knows", "bob"), ("bob", "likes", "tea"), ("ann", "knows", "cid"), ("cid", "likes", "tea")]
VALID = [("bob", "likes", "jam")]
TEST = [("cid", "likes", "pie"), ("ann", "knows", "dan"), ("dan", "likes", "rye")]
TWO = {"structure": "2p", "query": ["ann", ["knows", "likes"]]}


def of_betae(folder, seed=0, **more):
    """The collection of a folder in BetaE's layout, and its (name, easy, hard) by query."""
    found = write_betae(folder, seed=seed, **more)
    splits = read_splits(*(folder / f"{split}.txt" for split in ("train", "valid", "test")))
    return build_queries(folder / "test-queries.pkl", *splits), found


def by_query(collection, found):
    """(structure, labels) of each query by hand, and the row of its question."""
    labels = collection.relations.decode(collection.questions.relation).to_pylist()
    rows = {(name, tuple(parts)): row for row, (name, parts) in enumerate(map(read_label, labels))}
    for query, (name, easy, hard) in found.items():
        flat = iter(number for number in _numbers(query) if number >= 0)
        names = {"e": lambda at: f"/m/{at}", "r": lambda at: f"{'+-'[at % 2]}/rel/{at // 2}"}
        yield rows[name, tuple(names[kind](next(flat)) for kind in letters(STRUCTURES[name]))], name, easy, hard


def _numbers(query):
    return [query] if isinstance(query, int) else [number for part in query for number in _numbers(part)]


@pytest.mark.parametrize("seed", range(4))
def test_hard_answers_are_judged_easy_ones_filtered_and_links_counted(tmp_path, seed):
    """Of every query in BetaE's layout, as the enumeration of explanations has them; all entities are candidates."""
    collection, found = of_betae(tmp_path, seed)
    assert list(collection.entities) == [f"/m/{number}" for number in range(7)]
    assert len(collection.questions) == len(found)
    qrels, filtered, links = collection.qrels, collection.filtered, collection.missing_links
    for row, _, easy, hard in by_query(collection, found):
        assert set(qrels.entity[qrels.question == row].tolist()) == set(hard)
        assert set(filtered.entity[filtered.question == row].tolist()) == easy
        own = links.question == row
        assert dict(zip(links.entity[own].tolist(), links.count[own].tolist(), strict=True)) == hard
    assert (filtered.split == 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_answers_that_are_found_are_those_of_the_files(tmp_path, seed):
    """JSON Lines without answers, and the pickles, give the same collection."""
    collection, _ = of_betae(tmp_path, seed)
    queries = read_queries(tmp_path / "test-queries.pkl")
    rows = [{key: row[key] for key in ("structure", "query")} for row in queries.rows()]
    found = build_queries(Queries.of(rows), collection.train, *_named(tmp_path, queries))
    assert found.questions.to_frame().equals(collection.questions.to_frame())
    assert found.qrels.to_frame().equals(collection.qrels.to_frame())
    assert found.missing_links.count.tolist() == collection.missing_links.count.tolist()
    assert len(found.filtered) == len(collection.filtered)


def _named(folder, queries):
    splits = read_splits(*(folder / f"{split}.txt" for split in ("train", "valid", "test")))
    return [numbered(split, queries) for split in splits[1:]]


def test_a_worked_example():
    """Ann knows Bob and Cid, who like tea and jam; of pie and rye one and two links are missing."""
    collection = build_queries(Queries.of([TWO]), TRAIN, VALID, TEST)
    assert collection.questions.to_frame().to_dict("records") == [
        {"question": "tail0", "side": "tail", "relation": '2p @ ["ann", ["knows", "likes"]]', "anchor": "ann"}
    ]
    assert collection.qrels.decoded("entity").to_pylist() == ["pie", "rye"]
    assert collection.missing_links.count.tolist() == [1, 2]
    assert collection.entities.decode(collection.filtered.entity).to_pylist() == ["tea", "jam"]
    assert collection.report["structures"]["2p"] == {
        "queries": 1, "hard": 2, "easy": 2, "missing_links": {"1": 1, "2": 1}
    }  # fmt: skip
    assert "2p               1             2               1                1             2" in report_text(
        collection.report
    )


def test_a_relation_read_from_tail_to_head():
    """-likes is likes backwards, where no triple has -likes: who likes pie?"""
    collection = build_queries(Queries.of([{"structure": "1p", "query": ["pie", ["-likes"]]}]), TRAIN, VALID, TEST)
    assert collection.qrels.decoded("entity").to_pylist() == ["cid"]


def test_entities_with_ids(tmp_path):
    """Queries name anchors by their ids, as runs do; the folder reads back."""
    rows = [{"structure": "2i", "query": [["an n", ["likes"]], ["bob", ["likes"]]]}]
    train, test = [("an n", "likes", "tea")], [("bob", "likes", "tea")]
    with pytest.raises(KgtrecError, match="without white space"):
        build_queries(Queries.of(rows), train, test=test)
    collection = build_queries(Queries.of(rows), train, test=test, ids=True)
    assert list(collection.relations)[-1] == '2i @ [["e0", ["likes"]], ["e1", ["likes"]]]'
    assert list(collection.labels) == ["an n", "tea", "bob"]
    write_collection(tmp_path / "c", collection)
    assert read_collection(tmp_path / "c").numbering == collection.numbering


def test_the_folder_reads_back_and_has_the_same_bytes_for_any_order(tmp_path):
    """Missing links too; a changed file is an error."""
    collection, _ = of_betae(tmp_path / "betae")
    write_collection(tmp_path / "c", collection)
    read = read_collection(tmp_path / "c")
    assert read.fingerprint == collection.fingerprint
    for name in ("question", "entity", "count"):
        assert (getattr(read.missing_links, name) == getattr(collection.missing_links, name)).all()
    for split in ("train", "valid", "test"):
        path = tmp_path / "betae" / f"{split}.txt"
        path.write_text("".join(sorted(path.read_text().splitlines(keepends=True), reverse=True)))
    splits = read_splits(*(tmp_path / "betae" / f"{split}.txt" for split in ("train", "valid", "test")))
    again = build_queries(tmp_path / "betae" / "test-queries.pkl", *splits)
    assert (again.stamp, again.matrix_stamp) == (collection.stamp, collection.matrix_stamp)
    shutil.copy(tmp_path / "c" / "known.parquet", tmp_path / "c" / "links.parquet")
    with pytest.raises(KgtrecError, match=r"links.parquet: expected the file that kgtrec questions wrote"):
        read_collection(tmp_path / "c")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"structure": "1p", "query": ["eve", ["likes"]]}],
            "expected entities and relations of the triples in queries, found 'eve'",
        ),
        ([{"structure": "1p", "query": ["ann", ["like"]]}], "found 'like'; did you mean likes"),
        ([{"structure": "1p", "query": ["ann", ["-eats"]]}], "found '-eats'"),
        ([{"structure": "1p", "query": ["tea", ["likes"]]}], "expected at least one query with a hard answer"),
        ([TWO, TWO], "expected distinct labels"),
    ],
)
def test_queries_that_are_refused(rows, message):
    """An anchor or a relation that no triple has, no hard answer, a query that is there twice."""
    with pytest.raises(KgtrecError, match=message):
        build_queries(Queries.of(rows), TRAIN, VALID, TEST)


@pytest.mark.parametrize("hard", ["tea", "bob"])
def test_answers_that_contradict_the_triples_are_reported(hard):
    """A hard answer that is easy, and one that no explanation gives, as with the triples of another split."""
    with pytest.warns(
        KgtrecWarning, match="1 of 1 hard answers do not follow from the triples, or from train and valid"
    ):
        build_queries(Queries.of([TWO | {"hard": [hard]}]), TRAIN, VALID, TEST)


# ---- KGReasoning


def as_kgreasoning(scores, easy, hard, order=None):
    """MRR and Hits of one query: argsort of all entities, positions of the answers less the answers above them."""
    order = np.argsort(-scores, kind="stable") if order is None else order
    position = np.empty(len(scores), int)
    position[order] = np.arange(len(scores))
    answers = sorted(easy | hard, key=lambda entity: position[entity])
    rank = {entity: position[entity] - above + 1 for above, entity in enumerate(answers)}
    ranks = np.array([rank[entity] for entity in sorted(hard)], float)
    return [np.mean(1 / ranks), *(np.mean(ranks <= cutoff) for cutoff in (1, 3, 10))]


MEASURES = "micro.MRR micro.Hits@1 micro.Hits@3 micro.Hits@10"


@pytest.mark.parametrize("seed", range(3))
def test_means_of_questions_are_kgreasonings(tmp_path, seed):
    """Per structure by --weights question, over structures by --weights question-relation: equal to 1e-12."""
    collection, found = of_betae(tmp_path, seed, n=12, size=60, each=8)
    scores = np.random.default_rng(seed).permuted(np.tile(np.arange(12.0), (len(collection.questions), 1)), axis=1)
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    per_structure = {}
    for row, name, easy, hard in by_query(collection, found):
        per_structure.setdefault(name, []).append(as_kgreasoning(scores[row], easy, set(hard)))
    means = {name: np.mean(rows, axis=0) for name, rows in per_structure.items()}
    own = evaluate(collection, ranks, MEASURES, per="relation", weights="question")
    assert {*own.items["relation"].to_pylist()} == {*means}
    for place, name in enumerate(own.items["relation"].to_pylist()):
        np.testing.assert_allclose(own.values[0, :, place], means[name], rtol=0, atol=1e-12)
    total = evaluate(collection, ranks, MEASURES, weights="question-relation")
    np.testing.assert_allclose(total.values[0, :, 0], np.mean([*means.values()], axis=0), rtol=0, atol=1e-12)
    macro = [
        evaluate(collection, ranks, "macro.MRR", per=per, weights="question-relation").values
        for per in ("relation", None)
    ]
    np.testing.assert_allclose(macro[0].mean(), macro[1].item(), rtol=0, atol=1e-12)


def test_micro_weighs_answers_alike():
    """Ranks 1 and 1 of one query, 2 of another: mean over answers 5/6, over queries 3/4."""
    rows = [
        {"structure": "1p", "query": ["a", ["r"]], "hard": ["x", "y"]},
        {"structure": "1p", "query": ["b", ["r"]], "hard": ["x"]},
    ]
    collection = build_queries(
        Queries.of(rows), [("b", "r", "y")], test=[("a", "r", "x"), ("a", "r", "y"), ("b", "r", "x")]
    )
    names = list(collection.entities)
    scores = np.array(
        [
            [{"x": 4, "y": 3, "a": 1, "b": 2}[name] for name in names],
            [{"x": 3, "y": 1, "a": 4, "b": 2}[name] for name in names],
        ],
        float,
    )
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    assert evaluate(collection, ranks, "micro.MRR").values.item() == pytest.approx(5 / 6, abs=1e-15)
    assert evaluate(collection, ranks, "micro.MRR", weights="question").values.item() == pytest.approx(3 / 4, abs=1e-15)


def test_ties_make_kgreasonings_number_depend_on_argsort():
    """One hard answer tied with one other entity: 1 or 1/2 by the order of argsort; the realistic rank is 1.5."""
    collection = build_queries(
        Queries.of([{"structure": "1p", "query": ["a", ["r"]]}]), [("b", "s", "y")], test=[("a", "r", "x")]
    )
    names = list(collection.entities)
    scores = np.array([[{"x": 2, "y": 2}.get(name, 0) for name in names]], float)
    x, y = names.index("x"), names.index("y")
    others = [place for place in range(len(names)) if place not in (x, y)]
    assert as_kgreasoning(scores[0], set(), {x}, np.array([x, y, *others]))[0] == 1
    assert as_kgreasoning(scores[0], set(), {x}, np.array([y, x, *others]))[0] == 0.5
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    own = {
        ties: evaluate(collection, ranks, "micro.MRR", ties=ties).values.item()
        for ties in ("optimistic", "pessimistic", "realistic")
    }
    assert own == {"optimistic": 1, "pessimistic": 0.5, "realistic": pytest.approx(2 / 3, abs=1e-15)}


# ---- strata


@pytest.mark.parametrize("seed", range(3))
def test_strata_of_missing_links_partition_the_answers_of_a_structure(tmp_path, seed):
    """Each stratum's mean is that of its answers by hand; other strata are out, as all other answers are."""
    collection, found = of_betae(tmp_path, seed)
    scores = np.random.default_rng(seed).permuted(np.tile(np.arange(7.0), (len(collection.questions), 1)), axis=1)
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    expected = {}
    for row, name, easy, hard in by_query(collection, found):
        for entity, links in hard.items():
            above = sum(scores[row] > scores[row, entity]) - sum(
                scores[row, other] > scores[row, entity] for other in easy | {*hard}
            )
            expected.setdefault((name, str(links)), []).append(1 / (1 + above))
    own = evaluate(collection, ranks, "micro.MRR", per="missing-links")
    keys = zip(own.items["relation"].to_pylist(), own.items["missing-links"].to_pylist(), strict=True)
    values = dict(zip(keys, own.values[0, 0].tolist(), strict=True))
    assert values == {key: pytest.approx(np.mean(values), abs=1e-12) for key, values in expected.items()}
    assert list(values) == sorted(values, key=lambda key: (list(STRUCTURES).index(key[0]), key[1]))


def test_missing_links_of_other_answers_and_collections(tmp_path):
    """An answer found later is unknown; triples have no missing links; measures over questions have no strata."""
    collection = build_queries(Queries.of([TWO]), TRAIN, VALID, TEST)
    names = list(collection.entities)
    entity = np.array([names.index(name) for name in ("pie", "rye", "dan")], np.int32)
    more = Qrels.of(entity * 0, entity, entity * 0 + 1, collection.questions.ids, collection.entities)
    own = {"questions": collection, "entities": collection, "judged": more}
    ranks = rank_scores(collection, np.arange(float(len(names)))[None], **own).answer_ranks
    own = evaluate(more, ranks, "micro.Hits@1", per="missing-links", collection=collection)
    assert own.items["missing-links"].to_pylist() == ["1", "2", "unknown"]
    with pytest.raises(MeasureError, match="whose answers differ in missing links"):
        evaluate(collection, ranks, "macro.MRR", per="missing-links")
    assert evaluate(collection, ranks, "micro.MRR", per="category").items["category"].to_pylist() == ["none"]
    with pytest.raises(KgtrecError, match="of one link, to score them per seen, found complex queries"):
        evaluate(collection, ranks, "micro.MRR", per="seen")
    triples = build_questions(TRAIN, VALID, TEST)
    with pytest.raises(KgtrecError, match="needs a collection of complex queries"):
        evaluate(triples, [], "micro.MRR", per="missing-links")


@pytest.mark.parametrize("per", ["half-link", "seen", "time"])
def test_what_is_said_of_one_link_is_refused_for_queries(per):
    """A query has no half-links or time: one clear error instead of a stratum without meaning."""
    collection = build_queries(Queries.of([TWO]), TRAIN, VALID, TEST)
    with pytest.raises(KgtrecError, match=f"questions of one link, to score them per {per}"):
        evaluate(collection, [], "micro.MRR", per=per)


def test_intervals_are_over_questions():
    """Answers of queries are no test triples; asking for triples is an error."""
    collection = build_queries(Queries.of([TWO, {"structure": "1p", "query": ["cid", ["likes"]]}]), TRAIN, VALID, TEST)
    scores = np.random.default_rng(0).random((2, len(collection.entities)))
    ranks = rank_scores(collection, scores, questions=collection, entities=collection, depth=0).answer_ranks
    with pytest.warns(KgtrecWarning):
        assert evaluate(collection, ranks, "micro.MRR", confidence=0.9).drawn == "question"
    with pytest.raises(KgtrecError, match="answers of complex queries are no test triples"):
        evaluate(collection, ranks, "micro.MRR", confidence=0.9, drawn="triple")


def test_popularity_counts_the_last_link_and_rules_are_refused():
    """What is liked often comes first for "knows, likes"; a baseline for one link is one clear error."""
    collection = build_queries(Queries.of([TWO]), TRAIN, VALID, TEST)
    ((_, scores),) = baseline_blocks("popularity", collection)
    assert list(collection.entities)[int(np.argmax(scores[0]))] == "tea"
    with pytest.raises(KgtrecError, match="expected questions of one link for rules, found complex queries"):
        list(baseline_blocks("rules", collection))
    assert [record.name for record in baselines_of("all", queries=True)] == ["popularity"]


def test_written_queries_make_the_same_collection(tmp_path):
    """Pickles -> JSON Lines -> collection."""
    collection, _ = of_betae(tmp_path)
    queries = read_queries(tmp_path / "test-queries.pkl")
    write_queries(tmp_path / "queries.jsonl", queries)
    again = build_queries(tmp_path / "queries.jsonl", collection.train, *_named(tmp_path, queries))
    assert again.stamp == collection.stamp
