from __future__ import annotations

import csv
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from kgtrec.data.qrels import Qrels
from kgtrec.data.scores import ScoreTable
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.score_tables import read_score_table
from kgtrec.meta.sparsity import label_scores, relation_shares, sparsity
from tests.meta.test_stability import quietly, study_set

RESULT = "kgc-sparsity/result"
DEPTH_COLUMNS = {
    "micro.MRR": "micro_mrr",
    "micro.MR": "micro_mr",
    "micro.Hits@1": "micro_hits@1",
    "micro.Hits@10": "micro_hits@10",
    "macro.MRR": "macro_mrr",
    "macro.Hits@10": "macro_hits@10",
    "macro.MR": "macro_mr",
    "AP@20": "map_cut_20",
    "nDCG@20": "ndcg_cut_20",
    "RR": "recip_rank",
}


def published(path, **wanted: str) -> dict[str, dict[str, str]]:
    """Rows of a published table by system, those whose cells are as wanted."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if all(row[name] == value for name, value in wanted.items())]
    return {row["System"]: row for row in rows}


def tau(one: dict[str, dict[str, str]], other: dict[str, dict[str, str]], column: str) -> float:
    assert one.keys() == other.keys()
    return kendalltau(*([float(rows[name][column]) for name in one] for rows in (one, other))).statistic


@pytest.fixture(scope="module")
def by_depth(data):
    table = quietly(lambda: read_score_table(data / RESULT / "FB-Test-S-C" / "pooling_depth.csv"))
    return quietly(lambda: sparsity(table))


@pytest.mark.parametrize("measure", DEPTH_COLUMNS)
def test_every_depth_is_what_scipy_says(data, by_depth, measure):
    """Zhou et al. (2022), FB-Test-S-C at depths 0 to 10 against depth 0, which are the labels of FB-Test-S."""
    path = data / RESULT / "FB-Test-S-C" / "pooling_depth.csv"
    column = DEPTH_COLUMNS[measure]
    for depth in map(str, range(11)):
        expected = tau(published(path, Depth="0"), published(path, Depth=depth), column)
        assert by_depth.of(measure=measure, second=depth) == pytest.approx(expected, abs=1e-12)


def test_depth_two_is_published(by_depth):
    """micro.MRR falls to 0.359 with the answers of two places, and the order is turned round in the end."""
    assert round(by_depth.of(measure="micro.MRR", second="2"), 3) == 0.359
    assert round(by_depth.of(measure="micro.MRR", second="10"), 4) == -0.2308
    assert by_depth.of(measure="micro.MRR", second="0") == 1.0


def test_categories_are_ranked_apart(data):
    """Each side and relation category of FB-Test-S against the same of FB-Test-S-C."""
    paths = [data / RESULT / name / "lp_per_rel_type.csv" for name in ("FB-Test-S", "FB-Test-S-C")]
    found = sparsity([read_score_table(path, name=path.parent.name) for path in paths])
    for side in ("head", "tail"):
        for category in ("one_to_one", "one_to_many", "many_to_one", "many_to_many"):
            key = {"QuestionType": side, "RelationType": category}
            rows = [published(path, **key) for path in paths]
            for measure, column in (("micro.MRR", "micro_mrr"), ("micro.MR", "micro_mr")):
                value = found.of(measure=measure, second="FB-Test-S-C", **key)
                assert value == pytest.approx(tau(*rows, column), abs=1e-12)
    of_many = {"QuestionType": "head", "RelationType": "many_to_many"}
    assert round(found.of(measure="micro.MRR", second="FB-Test-S-C", **of_many), 4) == -0.3333


def test_the_fixed_distribution_is_published(data):
    """Table 4's second row: with the relations of FB-Test-S, micro.MRR still comes to -0.2051."""
    sparse = data / RESULT / "FB-Test-S" / "evaluation.csv"
    fixed = data / RESULT / "FB-Test-S-C" / "lp_sample_rel_dist.csv"
    found = quietly(lambda: sparsity([read_score_table(sparse, name="S"), read_score_table(fixed, name="fixed")]))
    for measure in ("micro.MRR", "micro.MR", "micro.Hits@1", "micro.Hits@10"):
        expected = tau(published(sparse), published(fixed), DEPTH_COLUMNS[measure])
        assert found.of(measure=measure, second="fixed") == pytest.approx(expected, abs=1e-12)
    assert round(found.of(measure="micro.MRR", second="fixed"), 4) == -0.2051


COLLECTION, SYSTEMS = study_set(n_systems=6)
MEASURES = ("micro.MRR", "micro.MR", "AP@20")


def sparser(share: float) -> Qrels:
    """Some of the judgements, every question keeping one."""
    qrels = COLLECTION.qrels
    first = np.r_[True, qrels.question[1:] != qrels.question[:-1]]
    kept = first | (np.random.default_rng(1).random(len(qrels)) < share)
    return replace(qrels, question=qrels.question[kept], entity=qrels.entity[kept], grade=qrels.grade[kept])


LABELS = {"sparse": sparser(0.0), "half": sparser(0.5), "full": COLLECTION.qrels}


def test_label_sets_are_scored_by_evaluate():
    """One row of keys per label set; the taus are scipy's."""
    table = label_scores(LABELS, SYSTEMS, MEASURES)
    for place, qrels in enumerate(LABELS.values()):
        assert np.array_equal(table.values[:, :, place], evaluate(qrels, SYSTEMS, MEASURES).values[:, :, 0])
    found = sparsity(table, reference="full")
    for number, measure in enumerate(MEASURES):
        expected = kendalltau(table.values[:, number, 2], table.values[:, number, 0]).statistic
        assert found.of(measure=measure, first="full", second="sparse") == pytest.approx(expected)


@pytest.mark.parametrize("per", ["side", "category", "relation"])
def test_parts_are_those_of_evaluate(per):
    """A key for each part of each label set."""
    table = label_scores(LABELS, SYSTEMS, MEASURES, collection=COLLECTION, per=per)
    expected = ScoreTable.of_scores(evaluate(LABELS["half"], SYSTEMS, MEASURES, per=per, collection=COLLECTION))
    own = table.at(labels="half")
    assert own.keys == expected.keys
    assert np.array_equal(own.values, expected.values)


def test_side_and_relation_together_are_one_sides_questions():
    """The head questions of one relation, picked by hand."""
    table = label_scores(LABELS, SYSTEMS, "micro.MRR", collection=COLLECTION, per=("relation", "side"))
    qrels, topics = COLLECTION.qrels, COLLECTION.questions
    for side, relation in zip(table.at(labels="full").keys["side"], table.keys["relation"], strict=False):
        own = (topics.is_head == (side == "head")) & (topics.relation == list(topics.relations).index(relation))
        kept = own[qrels.question]
        ranks = SYSTEMS[0].above + 1 + SYSTEMS[0].tied / 2
        value = table.at(labels="full").at(side=side).at(relation=relation).values[0, 0, 0]
        assert value == pytest.approx(np.mean(1 / ranks[kept]))


def test_relations_can_be_held_fixed():
    """Every label set weighted to the shares of the sparse one; its own scores stay as they are."""
    table = label_scores(LABELS, SYSTEMS, MEASURES, collection=COLLECTION, relations="sparse")
    shares = relation_shares(LABELS["sparse"], COLLECTION)
    assert sum(shares.values()) == pytest.approx(1)
    expected = evaluate(LABELS["full"], SYSTEMS, MEASURES, collection=COLLECTION, weights=shares)
    assert np.array_equal(table.at(labels="full").values, expected.values)
    plain = evaluate(LABELS["sparse"], SYSTEMS, "micro.MRR")
    np.testing.assert_allclose(table.at(labels="sparse").values[:, 0], plain.values[:, 0])


def test_warnings_are_told_once():
    """A column that kgtrec does not know is told of once, not for each label set."""
    values = np.random.default_rng(0).random((3, 2, 4))
    table = ScoreTable(("a", "b", "c"), ("micro_mrr", "seconds"), values, {"Depth": tuple("0123")})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sparsity(table)
    assert len({str(warning.message) for warning in caught}) == len(caught)
    assert any("seconds" in str(warning.message) for warning in caught)


def two(**keys: tuple[str, ...]) -> ScoreTable:
    n = len(next(iter(keys.values()), ("",)))
    return ScoreTable(("a", "b"), ("RR",), np.arange(2.0 * n).reshape(2, 1, n), keys, "t")


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: sparsity(two()), "expected one key column of label sets, such as a depth, found none"),
        (lambda: sparsity(two(x=("1", "2"), y=("1", "2"))), "found x, y; name one"),
        (lambda: sparsity(two(Depth=("0", "1")), by="deptj"), "expected a key column of the table"),
        (lambda: sparsity(two(Depth=("0",))), "expected at least two label sets to compare, found 0"),
        (lambda: sparsity([two(), two()]), "expected label sets of different names, found 't', 't'"),
        (lambda: sparsity(two(Depth=("0", "1")), reference="2"), "expected a reference among the label sets 0, 1"),
        (lambda: label_scores({}, SYSTEMS, "RR"), "expected at least one label set, found none"),
        (lambda: label_scores(LABELS, SYSTEMS, "RR", per="sid"), "expected parts by side, category, relation"),
        (lambda: label_scores(LABELS, SYSTEMS, "RR", per=("category", "relation")), "or by side and another"),
        (lambda: label_scores(LABELS, SYSTEMS, "RR", per=("side", "category")), "give a collection"),
        (lambda: label_scores(LABELS, SYSTEMS, "RR", relations="full"), "give a collection"),
        (lambda: label_scores(LABELS, SYSTEMS, "RR", relations="fulk"), "did you mean full?"),
    ],
)
def test_what_cannot_be_compared_is_refused(work, message):
    with pytest.raises(KgtrecError) as error:
        work()
    assert message in str(error.value)
