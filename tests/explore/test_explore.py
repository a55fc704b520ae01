"""The page's numbers, read back out of its slices: by hand, against evaluate and power, and by laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgtrec
from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.qrels import with_judgements
from kgtrec.data.campaign import Automatic, Campaign
from kgtrec.data.collection import Collection, FilteredAnswers, RelationCategories
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import StreamedRun
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.explore.explore import explore
from kgtrec.explore.labels import NO, NO_BY_RULE, STATUSES, UNJUDGED, UNSETTLED, YES
from kgtrec.meta.correlation import swaps
from kgtrec.meta.power import power
from kgtrec.ranking.rank import rank_scores
from kgtrec.report.cells import table_cells
from tests.campaigns_by_hand import campaign_of
from tests.examples import examples
from tests.explore.reading import Page
from tests.meta.test_comparison import N_ENTITIES, run_of, world

MEASURES = ("micro.MRR", "micro.MR", "micro.GMR", "macro.MRR", "AP@5")
GRAPH = (
    [("ann", "likes", "tea"), ("bob", "likes", "tea"), ("ann", "in", "rome")],
    [("cem", "likes", "rye")],
    [("ann", "likes", "rye"), ("bob", "likes", "rye"), ("bob", "in", "rome")],
)


def systems_of(collection, seed: int, n_systems: int = 3):
    """Systems of random scores, of which some tie: answer ranks, and runs of the same names."""
    rng = np.random.default_rng(seed)
    shape = len(collection.questions), len(collection.entities)
    found = [
        rank_scores(
            collection, rng.integers(0, 9, shape) / 8, questions=collection, entities=collection, name=name, depth=6
        )
        for name in "cab"[:n_systems]
    ]
    return [each.answer_ranks for each in found], [each.run for each in found]


def test_a_small_case_by_hand():
    """(?, likes, rye) has ann and bob: one list has bob, then tea tied with ann; the other has only rome."""
    graph = kgtrec.build_questions(*GRAPH)
    ids = {
        (graph.relations[r], graph.entities[a], bool(h)): graph.questions.ids[q]
        for q, (r, a, h) in enumerate(
            zip(graph.questions.relation, graph.questions.anchor, graph.questions.is_head, strict=True)
        )
    }
    question = ids["likes", "rye", True]
    one = {question: {"bob": 2.0, "tea": 1.0, "ann": 1.0}}
    two = {question: {"rome": 3.25}}
    judged = {question: {"ann": 1, "bob": 0, "rome": 0}}
    with pytest.warns(KgtrecWarning, match="lacks"):
        found = explore(graph, {"one": one, "two": two}, "RR", labels={"again": judged})
    page = Page(found.to_html())
    data, index, entities, block = page.data, *(page.slice(name) for name in ("index", "entities", "block-0"))
    assert data["systems"] == ["one", "two"]
    assert [label["name"] for label in data["labels"]] == ["test answers", "again"]
    assert index["question"] == sorted(graph.questions.ids)
    row = index["question"].index(question)
    assert (index["side"][row], data["relations"][index["relation"][row]]) == (0, "likes")
    assert entities["label"] == sorted(graph.entities)
    assert entities["label"][index["anchor"][row]] == "rye"
    assert (index["n_answers"][row], index["n_known"][row]) == (2, 1)
    assert index["value.0.0"][:, row].tolist() == [1.0, 0.0]  # bob comes first
    assert index["value.1.0"][:, row].tolist() == [1 / 3, 0.0]  # tea before ann, as trec_eval breaks ties
    assert index["weight.0.0"].tolist() == [1 / 5] * 5
    assert index["weight.1.0"][row] == 1.0
    assert np.isnan(np.delete(index["value.1.0"], row, axis=1)).all()  # questions that the second set lacks
    assert index["top_unjudged"][row] == 0
    pool = slice(*block["pool_at"][row : row + 2])
    labels = [entities["label"][at] for at in block["pool"][pool]]
    assert labels == ["ann", "bob", "rome", "tea"]
    status = [[STATUSES[code] for code in block[f"status.{at}"][pool]] for at in (0, 1)]
    assert status[0] == ["test answer", "test answer", "unjudged", "unjudged"]
    assert status[1] == ["test answer", "judged no", "judged no", "unjudged"]
    own = slice(*block["list_at.0"][row : row + 2])
    assert [labels[at] for at in block["list.0"][own]] == ["bob", "tea", "ann"]
    assert block["tie.0"][own].tolist() == [0, 1, 1]
    assert block["score.0"][own].tolist() == [2.0, 1.0, 1.0]
    own = slice(*block["answer_at"][row : row + 2])
    assert [labels[at] for at in block["answer"][own]] == ["ann", "bob"]
    own = slice(*block["known_at"][row : row + 2])
    assert [entities["label"][at] for at in block["known"][own]] == ["cem"]
    assert block["known_split"][own].tolist() == [1]
    (pair,) = [each for each in data["pairs"] if each["label"] == 0]
    assert pair["difference"] == pytest.approx(1 / 5)
    assert (pair["wins"], pair["losses"], pair["ties"], pair["n90"]) == (1, 0, 4, 1)
    assert pair["better"] == -1
    assert "do not differ significantly" in pair["sentence"]


@given(st.integers(0, 10_000))
@settings(max_examples=examples(10), deadline=None)
def test_weights_and_values_give_the_totals_and_influences_the_differences(seed):
    """For every measure that adds up, under every label set; and a seventh of the items never outweighs its share."""
    collection, *_ = world(seed)
    ranks, _ = systems_of(collection, seed)
    found = explore(collection, ranks, MEASURES)
    page = Page(found.to_html())
    index, data = page.slice("index"), page.data
    for place, measure in enumerate(data["measures"]):
        value, weight = index[f"value.0.{place}"], index[f"weight.0.{place}"]
        if not measure["adds"]:
            assert measure["name"] == "micro.GMR"
            continue
        total = found.scored[0, measure["name"]].total
        np.testing.assert_allclose((weight * value).sum(axis=1), total, rtol=1e-12)
        for a, b in ((0, 1), (0, 2), (1, 2)):
            influence = found.influences(0, measure["name"], a, b)
            assert influence.sum() == pytest.approx(total[a] - total[b], abs=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=examples(8), deadline=None)
def test_numbers_are_those_of_evaluate_and_power(seed):
    """Texts digit for digit, intervals, letters' tests, differences and adjusted p."""
    collection, *_ = world(seed)
    ranks, runs = systems_of(collection, seed)
    page = Page(explore(collection, [*ranks, *runs], MEASURES).to_html())
    data = page.data
    ordered = sorted(ranks, key=lambda own: own.name)
    scores = evaluate(collection, ordered, MEASURES, confidence=0.95)
    (table,) = [table for table in scores.tables() if table.key == "scores"]
    cells = [[cell.text for cell in row[1:]] for row in table_cells(table)]
    intervals = [[cell.interval for cell in row[1:]] for row in table_cells(table)]
    assert [[own["text"] for own in row] for row in np.transpose(data["scores"][0])] == cells
    assert [[own["interval"] for own in row] for row in np.transpose(data["scores"][0])] == intervals
    tested = power(collection, ordered, MEASURES, tests=["clustered"])
    of_power = [value if value == value else None for value in tested.adjusted[:, 0].ravel().tolist()]
    assert [pair["p"] for pair in data["pairs"]] == pytest.approx(of_power)
    for pair in data["pairs"]:
        measure = pair["measure"]
        apart = scores.values[pair["a"], measure, 0] - scores.values[pair["b"], measure, 0]
        assert pair["difference"] == pytest.approx(apart)
        if pair["low"] is not None:
            assert pair["low"] <= pair["difference"] <= pair["high"]


def test_the_interval_is_that_of_the_clustered_test():
    """It ends at 0 where p is alpha: p below .05 and an interval without 0 are one statement, before adjusting."""
    collection, *_ = world(5, 30)
    ranks, _ = systems_of(collection, 5)
    found = explore(collection, ranks, "micro.MRR")
    pairs = found.scored[0, "micro.MRR"]
    p = power(collection, sorted(ranks, key=lambda own: own.name), "micro.MRR", tests=["clustered"]).p[0, 0]
    assert ((pairs.low > 0) | (pairs.high < 0)).tolist() == (p < 0.05).tolist()


@given(st.integers(0, 10_000))
@settings(max_examples=examples(5), deadline=None)
def test_strata_are_those_of_compare(seed):
    """Values, wins and losses of each side and relation; counts add up to those of the pair."""
    collection, *_ = world(seed)
    ranks, _ = systems_of(collection, seed)
    page = Page(explore(collection, ranks, ("micro.MRR", "micro.MR")).to_html())
    data, strata = page.data, page.slice("strata")
    kinds = [kind["kind"] for kind in data["strata"]]
    ordered = sorted(ranks, key=lambda own: own.name)
    for place, pair in enumerate(data["pairs"]):
        measure = data["measures"][pair["measure"]]["name"]
        compared = kgtrec.meta.compare(collection, [ordered[pair["a"]], ordered[pair["b"]]], measure, resamples=2)
        for kind in ("side", "relation"):
            own = (strata["pair"] == place) & (strata["kind"] == kinds.index(kind))
            labels = [data["strata"][kinds.index(kind)]["labels"][at] for at in strata["group"][own]]
            columns = [strata[name][own].tolist() for name in ("n", "first", "second", "wins", "losses")]
            found = {label: row for label, *row in zip(labels, *columns, strict=True)}
            names = (kind, "n_items", "first", "second", "wins", "losses")
            expected = compared.group_table(kind).select(names).to_pylist()
            assert found == {row[kind]: pytest.approx([row[name] for name in names[1:]]) for row in expected}
        whole = (strata["pair"] == place) & (strata["kind"] == kinds.index("number of answers"))
        assert strata["wins"][whole].sum() == pair["wins"]
        assert strata["losses"][whole].sum() == pair["losses"]


@given(st.integers(0, 10_000), st.randoms())
@settings(max_examples=examples(6), deadline=None)
def test_the_page_does_not_depend_on_the_order_of_what_is_given(seed, random):
    """Systems, rows of lists, and the order of questions and entities."""
    collection, *_ = world(seed)
    ranks, runs = systems_of(collection, seed)
    page = explore(collection, [*ranks, *runs], MEASURES).to_html()
    rng = np.random.default_rng(seed)
    shuffled = _shuffled(collection, rng)
    systems = [*(_recoded(own, rng) for own in ranks), *runs]
    random.shuffle(systems)
    systems = [replace(own, collection="") for own in systems]
    assert explore(shuffled, systems, MEASURES).to_html() == page


def _shuffled(collection, rng):
    """The same collection with its questions and entities in another order."""
    questions, qrels = collection.questions, collection.qrels
    order, entities = rng.permutation(len(questions)), _permuted(collection.entities, rng)
    asked = questions.take(order)
    asked = replace(asked, ids=Vocabulary(questions.ids.decode(order))).recoded(entities=entities)
    own = qrels.recoded(questions=asked.ids, entities=entities)
    own = Qrels.of(own.question, own.entity, own.grade, asked.ids, entities)
    train = collection.train.recoded(entities=entities)
    return replace(collection, questions=asked, qrels=own, train=train)


def _permuted(labels, rng):
    return Vocabulary(labels.decode(rng.permutation(len(labels))))


def _recoded(ranks, rng):
    own = ranks.recoded(entities=_permuted(ranks.entities, rng))
    return own.take(np.lexsort((own.entity, own.question)))


def test_ranks_are_joined_with_runs_of_one_name_and_a_folder_has_both(tmp_path):
    """Numbers come from the ranks: a run cut at 1 changes the lists only."""
    collection, *_ = world(1)
    ranks, runs = systems_of(collection, 1, 2)
    for own, run in zip(ranks, runs, strict=True):
        kgtrec.write_answer_ranks(tmp_path / f"{own.name}.ranks.parquet", own)
        kgtrec.write_run(tmp_path / f"{run.name}.run", run.cut(1))
    data = Page(explore(collection, tmp_path, MEASURES).to_html()).data
    assert (data["systems"], data["lists"], data["ranks"]) == (["a", "c"], [0, 1], [0, 1])
    alone = Page(explore(collection, ranks, MEASURES).to_html()).data
    assert data["scores"] == alone["scores"]
    assert (alone["lists"], alone["depth"]) == ([], 0)
    assert "No lists were given: numbers and ranks only." in alone["about"]
    with pytest.raises(KgtrecError, match="found answer ranks of 'c' twice"):
        explore(collection, [ranks[0], ranks[0]])


def test_exact_ranks_and_their_ends():
    """Those of the answers under the filters; ends only where answers are tied."""
    collection, *_ = world(2)
    ranks, _ = systems_of(collection, 2, 2)
    found = explore(collection, ranks, "micro.MRR")
    block = Page(found.to_html()).slice("block-0")
    relevant = collection.qrels.grade >= 1
    matched = kgtrec.evaluation.item_scores(collection, sorted(ranks, key=lambda own: own.name), "micro.MR")["micro.MR"]
    assert sorted(block["rank.0"]) == sorted(matched.value[0])
    assert len(block["rank.0"]) == np.count_nonzero(relevant)
    assert (block["low.0"] <= block["rank.0"]).all()
    assert (block["rank.0"] == (block["low.0"] + block["high.0"]) / 2).all()


def test_a_streamed_run_is_read_part_by_part():
    """It gives the page of the whole run."""
    collection, *_ = world(3)
    _, runs = systems_of(collection, 3, 2)
    run = runs[0]
    n = len(run.questions)

    def parts():
        for rows in np.array_split(np.arange(n), 3):
            yield run.take(np.isin(run.question, rows))

    streamed = StreamedRun(run.name, len(run), run.questions, run.entities, parts, run.collection, run.filtered_by)
    whole, again = (explore(collection, [own, runs[1]], "AP@5").to_html() for own in (run, streamed))
    assert whole == again


def test_hostile_labels_are_text():
    """No label ends a script or begins a tag, whatever it is called; and every one comes back."""
    hostile = ["</script><b>", "<!--", "\"quoted'", "\u202erev", "🙂", "\u2028x", "&amp;", "]]>"]
    graph = [(label, f"{label} of", other) for label in hostile for other in hostile[:2]]
    collection = kgtrec.build_questions(graph[:10], None, graph[10:], ids=True)
    lists = {question: {"e0": 1.0, "<svg>": 2.0} for question in collection.questions.ids}
    with pytest.warns(KgtrecWarning):
        found = explore(collection, {"</script>": lists}, "RR", names={hostile[0]: "<i>Name</i>"})
    text = found.to_html()
    page = Page(text)
    assert set(page.slice("entities")["label"]) == {*hostile, "<svg>"}
    assert "<i>Name</i>" in page.slice("entities")["name"]
    assert page.data["systems"] == ["</script>"]
    assert page.data["title"] == "Why: </script>"
    assert text.count("</script>") == len(page.scripts) + 1  # and the page's own script


def test_names_that_a_run_alone_has_are_listed():
    """An entity outside the collection comes last, and is unjudged."""
    graph = kgtrec.build_questions(*GRAPH)
    run = {question: {"mars": 1.0} for question in graph.questions.ids}
    other = {question: {"rye": 1.0, "mars": 0.5} for question in graph.questions.ids}
    with pytest.warns(KgtrecWarning, match="not in the collection"):
        page = Page(explore(graph, {"one": run | {"head0": {"rye": 2.0}}, "two": other}, "RR").to_html())
    assert page.slice("entities")["label"][-1] == "mars"
    assert page.slice("index")["top_unjudged"].tolist() == [
        (0 if "rye" in answers else 2) if question == "head0" else 1  # both have rye; else one has mars
        for question, answers in _answers(graph).items()
    ]


def test_what_any_label_set_judges_is_not_unjudged():
    """A label set of one question leaves the test answers of all others judged."""
    graph = kgtrec.build_questions(*GRAPH)
    run = {question: {answers[0]: 1.0} for question, answers in _answers(graph).items()}
    found = explore(graph, {"one": run, "two": run}, "RR", labels={"few": graph.qrels.of_questions(np.array([0]))})
    assert not Page(found.to_html()).slice("index")["top_unjudged"].any()


def _answers(collection):
    found = {question: [] for question in sorted(collection.questions.ids)}
    for question, entity in zip(collection.qrels.question, collection.qrels.entity, strict=True):
        found[collection.questions.ids[question]].append(collection.entities[entity])
    return found


def test_swapped_pairs_are_those_of_correlate():
    """Of another label set that judges answers wrong."""
    collection, *_ = world(4)
    ranks, _ = systems_of(collection, 4)
    qrels = collection.qrels
    other = replace(qrels, grade=(np.random.default_rng(4).random(len(qrels)) < 0.5).astype(np.int32))
    found = Page(explore(collection, ranks, MEASURES, labels={"other": other}).to_html()).data
    expected = swaps(collection, other, ranks, MEASURES, collection=collection).to_table().to_pylist()
    rows = [
        (found["measures"][row["measure"]]["name"], *(found["systems"][row[end]] for end in "ab"))
        for row in found["swapped"]
    ]
    assert sorted(rows) == sorted((row["measure"], row["better"], row["worse"]) for row in expected)
    assert len(rows) > 0


def test_lists_are_scored_where_ranks_lack_answers():
    """Measures over questions are then those of the runs under all label sets; of ranks alone that is refused."""
    collection, *_ = world(6)
    ranks, runs = systems_of(collection, 6, 2)
    qrels = collection.qrels
    new = ~np.isin(np.arange(N_ENTITIES), qrels.entity[qrels.question == 0])
    more = Qrels.of(
        np.append(qrels.question, np.int32(0)),
        np.append(qrels.entity, np.int32(np.flatnonzero(new)[0])),
        np.append(qrels.grade, np.int32(1)),
        qrels.questions,
        qrels.entities,
        collection=collection.stamp,
    )
    with pytest.warns(KgtrecWarning, match="the answer ranks lack answers of more: measures over questions are those"):
        data = Page(explore(collection, [*ranks, *runs], ("micro.MRR", "AP@5"), labels={"more": more}).to_html()).data
    ordered = [sorted(own, key=lambda own: own.name) for own in (ranks, runs)]
    expected = [
        [f"{value:.4f}" for value in evaluate(given, systems, measure, collection=collection).values.ravel()]
        for given, systems, measure in (
            (collection, ordered[0], "micro.MRR"),
            (collection, ordered[1], "AP@5"),
            (more, ordered[1], "AP@5"),
        )
    ]
    texts = [[own["text"] for own in row] for label in data["scores"] for row in label]
    assert [texts[0], texts[1], texts[3]] == expected
    assert texts[2] == ["-", "-"]
    with pytest.raises(CollectionError, match=r"has no rank for 1 of the qrels' .* relevant judgements"):
        explore(collection, ranks, "micro.MRR", labels={"more": more})


def test_a_label_set_of_another_collection_is_refused():
    """By its stamp; and a question that the collection lacks."""
    collection, *_ = world(7)
    ranks, _ = systems_of(collection, 7, 2)
    foreign = replace(collection.qrels, collection="feedfeedfeedfeed_0c1d2e3f")
    with pytest.raises(CollectionError, match="expected qrels of collection"):
        explore(collection, ranks, labels={"other": foreign})
    with pytest.raises(CollectionError, match="question 'q9' of the qrels is not in the collection's topics"):
        explore(collection, ranks, labels={"other": {"q9": {"e1": 1}}})


def test_tables_of_one_question():
    """What the terminal prints: the question, its answers, the lists and the values."""
    graph = kgtrec.build_questions(*GRAPH)
    run = {question: {"ann": 1.0, "bob": 1.0} for question in graph.questions.ids}
    found = explore(graph, {"one": run}, "RR", names={"ann": "Ann"})
    question = next(iter(graph.questions.ids))
    tables = {table.key: table for table in found.question(question).tables()}
    assert list(tables) == ["question", "answers", "lists", "values"]
    assert tables["lists"].data.column("candidate").to_pylist() == ["bob", "Ann"]
    assert tables["lists"].data.column("tie").to_pylist() == [0, 0]
    with pytest.raises(KgtrecError, match="expected a question of the collection, such as head0, found 'hed0'"):
        found.question("hed0")


def test_a_question_that_a_run_lacks_has_an_empty_list():
    """The tables of the question have the lists of the other systems; an escape in its id is shown once."""
    graph = kgtrec.build_questions(*GRAPH)
    first, *others = graph.questions.ids
    whole = {question: {"ann": 1.0, "bob": 0.5} for question in graph.questions.ids}
    with pytest.warns(KgtrecWarning, match="lacks"):
        found = explore(graph, {"one": whole, "two": {question: whole[question] for question in others}}, "RR")
    tables = {table.key: table for table in found.question(first).tables()}
    assert tables["lists"].data.column("system").to_pylist() == ["one", "one"]
    with pytest.raises(KgtrecError, match=r"found 'tail\\x1b'"):
        found.question("tail\x1b")


def _pooled_collection(campaign: Campaign):
    """The collection whose questions a campaign was made for: of its answers, none is known but those of question 2."""
    pool = campaign.pool
    qrels = Qrels.of(
        np.array([2], np.int32),
        np.array([1], np.int32),
        np.array([1], np.int32),
        pool.questions.ids,
        pool.questions.entities,
    )
    none = np.zeros(0, np.int32)
    return Collection(
        pool.questions,
        qrels,
        FilteredAnswers(none, none, none.astype(np.int8)),
        RelationCategories(np.zeros(2, np.int8), np.ones(2), np.ones(2)),
        Triples(none, none, none, pool.questions.entities, pool.questions.relations),
    )


def test_the_labels_of_a_campaign():
    """Settled triples are judgements of the pooled questions; doubts are shown, rules are marked, the rest is open."""
    events = [
        *((5, who, "annotator", "Y", "https://en.wikipedia.org/x", "") for who in ("ann", "bob")),
        *((4, who, "annotator", "N", "https://en.wikipedia.org/x", "") for who in ("ann", "bob")),
        (3, "ann", "annotator", "Y", "https://en.wikipedia.org/x", ""),
        (3, "bob", "annotator", "unsure", "", ""),
    ]
    campaign = campaign_of(events)
    rule = np.full(6, -1, np.int8)
    rule[1] = 0
    campaign = replace(campaign, automatic=Automatic(rule, ("types",)))
    collection = _pooled_collection(campaign)
    run = run_of("mine", {"tail0": "paris berlin 'n", "tail1": "de", "tail2": "de 'n"})
    found = explore(collection, [run], "RR", labels={"people": campaign})
    label = found.labels[1]
    said = {
        (collection.questions.ids[q], collection.entities[e]): status
        for q, e, status in zip(label.question, label.entity, label.status, strict=True)
    }
    entities, tail = collection.entities, campaign.pool.triples.tail
    assert said.pop(("tail0", entities[tail[5]])) == YES
    assert said.pop(("tail0", entities[tail[4]])) == NO
    assert said.pop(("tail0", entities[tail[3]])) == UNSETTLED
    assert said.pop(("tail1", entities[tail[1]])) == NO_BY_RULE
    assert UNJUDGED not in said.values()
    expected = with_judgements(collection, campaign.pool, decisions_of(campaign)).qrels
    assert label.qrels.to_dict() == expected.to_dict()
    page = Page(found.to_html())
    words = dict(zip(page.data["relations"], page.data["relation_words"], strict=True))
    assert words["capital"] == "Is {tail} the capital of {head}?"
    drawn = replace(campaign, automatic=Automatic(np.array([-1, -2, -1, -1, -1, -1], np.int8), ()))
    with pytest.raises(KgtrecError, match="found a designed sample"):
        explore(collection, [run], "RR", labels={"people": drawn})
