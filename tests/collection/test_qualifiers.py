"""Facts with a time: other questions at other times, and what is filtered at the same time, the same split, or any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.collection.questions import build_questions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.triples import FILTERS, SPLITS, Triples, plain, qualifiers_of
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.formats.triples import read_triples
from kgtrec.pooling.trivial import judge_trivial, trivial_counts
from kgtrec.ranking.rank import rank_scores

TRAIN = [("ann", "in", "rome", "1"), ("bob", "in", "rome", "1"), ("ann", "in", "oslo", "2")]
VALID = [("ann", "in", "bonn", "3"), ("bob", "in", "oslo", "3")]
TEST = [("ann", "in", "bonn", "4"), ("ann", "in", "oslo", "4"), ("bob", "in", "bonn", "3")]

_quads = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), st.sampled_from("abc"), st.sampled_from("12")), max_size=12
)


def built(train=TRAIN, valid=VALID, test=TEST):
    return build_questions(*(Triples.of(part) for part in (train, valid, test)))


def filtered(collection):
    found = set()
    for name in FILTERS:
        rows = collection.filtered_pairs((name,))
        columns = collection.questions.ids.decode(rows.question), collection.entities.decode(rows.entity)
        found |= {(*row, name) for row in zip(*(column.to_pylist() for column in columns), strict=True)}
    return found


def test_a_question_has_its_time_by_hand():
    """Where ann was at time 4 has two answers; rome, where she was before, is filtered by ``other-times`` only."""
    collection = built()
    asked = collection.questions.to_frame()
    assert asked.query("side == 'tail'")[["relation", "anchor"]].to_numpy().tolist() == [
        ["in @ 4", "ann"],
        ["in @ 3", "bob"],
    ]
    assert collection.qrels.to_dict()["tail0"] == {"bonn": 1, "oslo": 1}
    assert {row for row in filtered(collection) if row[0].startswith("tail")} == {
        ("tail0", "rome", "other-times"),
        ("tail1", "oslo", "valid"),
        ("tail1", "rome", "other-times"),
    }
    assert (collection.report["relations"], collection.report["times"]) == (1, 4)


@given(_quads, _quads, _quads.filter(len))
def test_each_filter_equals_its_definition(train, valid, test):
    """The completions at the question's time are filtered by their split, all others by ``other-times``."""
    collection = built(train, valid, test)
    expected = set()
    for row in collection.questions.to_frame().itertuples():
        relation, _, time = row.relation.partition(" @ ")
        answers = set(collection.qrels.to_dict()[row.question])

        def completing(part, row=row, relation=relation):
            for head, own, tail, when in part:
                if own == relation and row.anchor == (tail if row.side == "head" else head):
                    yield (head if row.side == "head" else tail), when

        every = [(name, set(completing(part))) for name, part in zip(SPLITS, (train, valid, test), strict=True)]
        now = {(name, entity) for name, found in every for entity, when in found if when == time} - {
            (name, entity) for name in SPLITS for entity in answers
        }
        ever = {entity for _, found in every for entity, _ in found} - answers - {entity for _, entity in now}
        expected |= {(row.question, entity, name) for name, entity in now}
        expected |= {(row.question, entity, "other-times") for entity in ever}
    assert filtered(collection) == expected


def test_the_filter_of_ranks_is_recorded_and_changes_them():
    """With equal reasons to be anywhere, ann's own past is no rival once facts of all times are filtered."""
    collection = built()
    scores = np.zeros((len(collection.questions), len(collection.entities)))
    scores[:, collection.entities.encode(["rome"])[0]] = 1
    ranks = [
        rank_scores(
            collection, scores, questions=collection, entities=collection, sides="tail", filtered_by=filters
        ).answer_ranks
        for filters in ((), SPLITS, FILTERS)
    ]
    assert [found.filtered_by for found in ranks] == [(), SPLITS, FILTERS]
    assert [found.above.tolist() for found in ranks] == [[1, 1, 1], [1, 1, 1], [0, 0, 0]]
    assert [found.n_other.tolist() for found in ranks] == [[3, 3, 4], [3, 3, 3], [2, 2, 2]]


@given(_quads, _quads, _quads.filter(len))
def test_a_collection_with_times_is_read_back(tmp_path_factory, train, valid, test):
    """All files hold qualifiers, and the stamp is the same."""
    folder = tmp_path_factory.mktemp("times") / "C"
    collection = built(train, valid, test)
    write_collection(folder, collection)
    again = read_collection(folder)
    assert again.stamp == collection.stamp
    assert filtered(again) == filtered(collection)
    pd.testing.assert_frame_equal(again.questions.to_frame(), collection.questions.to_frame())


def test_the_static_filter_is_of_the_facts_whatever_the_qrels():
    """Ranks with further judgements, and ranks of a collection that has them as qrels, give the same value."""
    test = [("ann", "in", "oslo", "2014"), ("bob", "in", "rome", "2014"), ("cid", "in", "oslo", "2015")]
    collection = build_questions([("ann", "in", "bonn", "2012"), ("bob", "in", "kiel", "2012")], test=test)
    asked, entities = collection.questions.ids, collection.entities
    found = {("tail0", "rome"): 0, ("tail0", "bonn"): 0, ("tail0", "kiel"): 1, ("tail1", "oslo"): 1}
    labels = zip(*(collection.qrels.decoded(name).to_pylist() for name in ("question", "entity")), strict=True)
    grade = dict.fromkeys(labels, 1) | found
    codes = [
        np.array(own.encode([*each])) for own, each in zip((asked, entities), zip(*grade, strict=True), strict=True)
    ]
    judged = replace(collection, qrels=Qrels.of(*codes, np.array([*grade.values()], np.int32), asked, entities))
    scores = np.random.default_rng(0).random((len(collection.questions), len(collection.entities)))
    values = []
    for each, options in ((collection, {"judged": judged.qrels}), (judged, {})):
        ranked = rank_scores(each, scores, questions=each, entities=each, filtered_by=FILTERS, **options)
        values.append(evaluate(judged, ranked.answer_ranks, "micro.MR micro.MRR").to_table()["value"].to_pylist())
    assert values[0] == values[1]


def test_scores_per_relation_are_over_all_times():
    """A stratum per relation holds the questions of all times."""
    collection = built()
    scores = np.random.default_rng(0).random((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(collection, scores, questions=collection, entities=collection).answer_ranks
    whole = evaluate(collection, ranks, "micro.MRR").values.ravel()
    per = evaluate(collection, ranks, "micro.MRR", per="relation")
    assert per.to_frame()["relation"].tolist() == ["in"]
    assert per.values.ravel().tolist() == whole.tolist()


def test_plain_keeps_unknown_relations_and_qualified_ones_apart():
    """The code -1 stays -1; without qualifiers the same object comes back."""
    triples = Triples.of([("a", "r @ 1", "b"), ("a", "r", "b"), ("a", "s @ 1", "b")])
    assert list(plain(triples).relations) == ["r", "s"]
    assert plain(triples).relation.tolist() == [0, 0, 1]
    lost = triples.recoded(relations=Vocabulary.of(["r @ 1"]))
    assert plain(lost).relation.tolist() == [0, -1, -1]
    once = plain(triples)
    assert plain(once) is once
    assert qualifiers_of(triples.relations)[2].labels.to_pylist() == ["1", ""]


def test_columns_of_files_with_times(tmp_path):
    """q is the time, - is not read; a relation with the separator in it is refused, and the way out named."""
    path = tmp_path / "train.txt"
    path.write_text("0\t1\t2\t7\t0\n")
    assert list(read_triples(path, columns="hrtq-").relations) == ["1 @ 7"]
    path.write_text("0\t1\t2\tseven\t0\n")
    with pytest.raises(KgtrecError, match="3 columns"):
        read_triples(path)
    path.write_text("a\tr @ s\tb\n")
    with pytest.raises(KgtrecError, match=r"without ' @ '.*replace it"):
        read_triples(path)
    for rows, columns in (("a\tr @ s\tb\t7\n", "hrt"), ("a\tr @\tb\t7\n", "hrt"), ("a\tr @\tb\tx\n", "hrtq")):
        path.write_text(rows)  # r at the time "@ 7" would be the same label
        with pytest.raises(
            KgtrecError, match=rf"{path.name}: expected relation labels without ' @ '.* found 'r @( s)?'"
        ):
            read_triples(path, columns=columns)
    with pytest.raises(KgtrecError, match="h, r and t"):
        read_triples(path, columns="hrtqq")


@given(_quads, _quads, _quads.filter(len))
def test_scores_per_time_are_those_of_the_questions_of_each_time(train, valid, test):
    """In the order of times, as numbers: 2 before 10; weighted by answers they give the whole."""
    parts = ([(*quad[:3], {"1": "10"}.get(quad[3], quad[3])) for quad in part] for part in (train, valid, test))
    collection = built(*parts)
    scores = np.random.default_rng(1).random((len(collection.questions), len(collection.entities)))
    ranks = rank_scores(collection, scores, questions=collection, entities=collection).answer_ranks
    per = evaluate(collection, ranks, "micro.MRR", per="time").to_frame()
    each = evaluate(collection, ranks, "micro.MRR", per="answer").to_frame()
    asked = collection.questions.to_frame().set_index("question")["relation"].str.split(" @ ").str[1]
    expected = each.groupby(each["question"].map(asked))["value"].mean()
    assert per["time"].tolist() == sorted(expected.index, key=int)
    assert per["value"].tolist() == pytest.approx(expected[per["time"]].tolist())


def test_scores_per_time_need_times():
    """A static collection has none."""
    static = build_questions([("a", "r", "b")], test=[("a", "r", "c")])
    ranks = rank_scores(static, np.zeros((2, 3)), questions=static, entities=static).answer_ranks
    with pytest.raises(KgtrecError, match="expected questions with a time"):
        evaluate(static, ranks, "micro.MRR", per="time")


def trivial_of(train, test, pooled):
    """The rules that judge some triples as trivial, by observed types, in the words of a person."""
    collection = build_questions(Triples.of(train), test=Triples.of(test))
    triples = Triples.of(pooled).recoded(entities=collection.entities, relations=collection.relations)
    each, none = np.arange(len(triples)), np.zeros(len(triples), np.int32)
    asked = collection.questions.rows(none > 0, triples.relation, triples.head)
    pool = Pool.of(triples, each, asked.astype(np.int32), none, each + 1, ["mine"], collection.questions)
    automatic = judge_trivial(pool, collection, by="types", observed=True)
    return [automatic.rules[code] if code >= 0 else "" for code in automatic.rule], trivial_counts(pool, automatic)


def test_types_are_observed_at_all_times():
    """What was a town in 1 is one in 2: the same rules as without times, and one line for the relation."""
    train = [("ann", "in", "rome"), ("bob", "in", "oslo"), ("ann", "likes", "tea")]
    test, pooled = [("ann", "in", "oslo")], [("ann", "in", "tea"), ("ann", "in", "rome")]
    dated = [[(*row, time) for row in rows] for rows, time in ((train, "1"), (test, "2"), (pooled, "2"))]
    without, with_times = trivial_of(train, test, pooled), trivial_of(*dated)
    assert without[0] == with_times[0] == ["", "observed tail type"]
    assert [table.data.to_pydict() for table in without[1].tables()] == [
        table.data.to_pydict() for table in with_times[1].tables()
    ]


def test_the_static_filter_needs_facts_with_a_time():
    """Elsewhere it would be the default under another name."""
    collection = build_questions(*([row[:3] for row in part] for part in (TRAIN, VALID, TEST)))
    scores = np.zeros((len(collection.questions), len(collection.entities)))
    with pytest.raises(KgtrecError, match=r"expected facts with a time, as --filter static .* need"):
        rank_scores(collection, scores, questions=collection, entities=collection, filtered_by=FILTERS)
