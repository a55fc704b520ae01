"""Verbs on each stratum by itself: the digits of the verb on qrels of the stratum alone."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec import build_questions, evaluate
from kgtrec.data.table import Column, Table, stacked
from kgtrec.errors import KgtrecError, KgtrecWarning, MeasureError
from kgtrec.meta import between_measures, compare, correlate, per_stratum, power, stability, swaps
from kgtrec.ranking.rank import rank_scores


def world(seed=0, n=30, times=3, systems=4):
    """A temporal collection of eight entities, and answer ranks of systems that score at random."""
    rng = np.random.default_rng(seed)
    triples = sorted({(*map(str, rng.integers(8, size=2)), "rs"[rng.integers(2)]) for _ in range(2 * n)})
    rows = [(f"e{head}", relation, f"e{tail}") for head, tail, relation in triples]
    train, test = [(*row, "1") for row in rows[:n]], [(*row, str(5 + at % times)) for at, row in enumerate(rows[n:])]
    collection = build_questions(train, test=test)
    return collection, random_ranks(collection, [f"s{at}" for at in range(systems)], rng)


def random_ranks(collection, names, rng):
    """Answer ranks of random scores."""
    shape = len(collection.questions), len(collection.entities)
    scores, own = {name: rng.random(shape) for name in names}, {"questions": collection, "entities": collection}
    return {name: rank_scores(collection, score, **own, depth=0).answer_ranks for name, score in scores.items()}


def by_time(collection, qrels):
    """The judgements of each time, from the labels of the relations."""
    labels = collection.relations.decode(collection.questions.relation).to_pylist()
    time = dict(
        zip(collection.questions.ids.labels.to_pylist(), (label.split(" @ ")[1] for label in labels), strict=True)
    )
    own = np.array([time[question] for question in qrels.questions.labels.to_pylist()])
    return {each: qrels.of_questions(np.flatnonzero(own == each)) for each in sorted(set(own))}


def check_equal(found, alone):
    """Each table holds those of the strata, digit for digit, in their order, and so do the rows that are shown."""
    for at, table in enumerate(found.tables()):
        columns = [column for column in table.data.column_names if column != "time"]
        assert table.data.column_names[0] == "time"
        own = {time: result.tables()[at] for time, result in alone.items()}
        of_data = [(time, row) for time, part in own.items() for row in part.data.to_pylist()]
        of_shown = [(time, row) for time, part in own.items() for row in part.shown.to_pylist()]
        for data, expected in ((table.data, of_data), (table.shown, of_shown)):
            assert data["time"].to_pylist() == [time for time, _ in expected]
            assert repr(data.select(columns).to_pylist()) == repr([row for _, row in expected])


OPTIONS = {
    power: {"tests": ["t", "clustered", "bootstrap", "tukey", "sign"], "repeats": 20},
    stability: {"repeats": 3, "sizes": [0.5, 1.0]},
    between_measures: {"confidence": 0.9, "resamples": 20},
    compare: {"resamples": 20},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("verb", [power, stability, between_measures, compare])
def test_a_stratum_has_the_digits_of_its_qrels_alone(verb):
    """Data and shown rows of every table."""
    collection, systems = world()
    systems = dict(list(systems.items())[: 2 if verb is compare else 4])
    measures = ["micro.MRR", "micro.AMRI", "AP@5", "micro.MedianRank"][: 4 if verb is stability else 3]
    options = {"ties": "realistic", "seed": 3, **OPTIONS.get(verb, {})}
    parts = by_time(collection, collection.qrels)
    alone = {time: verb(part, systems, measures, collection=collection, **options) for time, part in parts.items()}
    check_equal(per_stratum(verb, "time", collection, systems=systems, measures=measures, **options), alone)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("verb", [correlate, swaps])
def test_a_stratum_of_two_label_sets_has_the_digits_of_both_alone(verb):
    """The second label set lacks every third answer."""
    collection, systems = world()
    fewer = collection.qrels.with_rows(np.arange(len(collection.qrels)) % 3 > 0)
    options = {"confidence": 0.9, "resamples": 20} if verb is correlate else {}
    one, other = by_time(collection, collection.qrels), by_time(collection, fewer)
    measures = ["micro.MRR", "AP@5"]
    alone = {time: verb(one[time], other[time], systems, measures, collection=collection, **options) for time in one}
    check_equal(per_stratum(verb, "time", collection, fewer, systems=systems, measures=measures, **options), alone)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(2, 4))
def test_power_of_a_stratum_is_that_of_its_qrels_for_any_world(seed, times, systems):
    """Whatever the number of strata."""
    collection, ranked = world(seed, times=times, systems=systems)
    parts = by_time(collection, collection.qrels)
    alone = {time: power(part, ranked, "micro.MRR AP", collection=collection) for time, part in parts.items()}
    check_equal(per_stratum(power, "time", collection, systems=ranked, measures="micro.MRR AP"), alone)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "per", ["side", "relation", "category", "popularity", "anchor-popularity", "half-link", "seen"]
)
def test_scores_of_strata_are_those_of_evaluate(per):
    """Of questions and of answers."""
    collection, systems = world()
    scores = evaluate(collection, systems, "micro.MRR", per=per).to_table()
    found = per_stratum(stability, per, collection, systems=systems, measures="micro.MRR", sizes=[1.0], repeats=1)
    full = {(row["system"], row[per]): row["full"] for row in found["scores"].to_pylist()}
    assert full == pytest.approx({(row["system"], row[per]): row["value"] for row in scores.to_pylist()}, rel=1e-12)


def test_default_measures_of_strata_of_answers_are_over_answers():
    """Measures over questions are refused, as by evaluate."""
    collection, systems = world()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = per_stratum(power, "half-link", collection, systems=systems)
    assert all(measure.startswith("micro.") for measure in found["measures"]["measure"].to_pylist())
    with pytest.raises(MeasureError, match="AP@20 has one value per question, whose answers differ in half-links"):
        per_stratum(power, "half-link", collection, systems=systems, measures="AP@20")


def test_a_warning_names_its_strata_and_a_refused_one_is_left_out():
    """A time with fewer triples than a subsample has does not stop the others."""
    collection = build_questions(
        [("a", "r", "b", "1")], test=[("b", "r", "c", "2"), ("c", "r", "a", "2"), ("a", "r", "c", "3")]
    )
    systems = random_ranks(collection, "xy", np.random.default_rng(0))
    with pytest.warns(KgtrecWarning, match="time 3: left out: expected sizes of 1 to 1 test triples"):
        found = per_stratum(stability, "time", collection, systems=systems, measures="micro.MRR", sizes=[2], repeats=1)
    assert found["summary"]["time"].to_pylist() == ["2"]
    with pytest.raises(KgtrecError, match="expected sizes"):
        per_stratum(stability, "time", collection, systems=systems, measures="micro.MRR", sizes=[9])
    parts = by_time(collection, collection.qrels)
    with pytest.raises(KgtrecError, match="expected the same time in both label sets, found none"):
        per_stratum(correlate, "time", *parts.values(), systems=systems, collection=collection)


def test_what_is_no_test_set_is_refused():
    """Single questions; quantiles of two label sets; qrels without a collection."""
    collection, systems = world()
    with pytest.raises(KgtrecError, match="expected per to be one of side, relation"):
        per_stratum(power, "question", collection, systems=systems)
    with pytest.raises(KgtrecError, match="expected one label set per popularity, found 2"):
        per_stratum(correlate, "popularity", collection, collection.qrels, systems=systems)
    with pytest.raises(KgtrecError, match="need the questions' topics"):
        per_stratum(power, "side", collection.qrels, systems=systems)


def test_stacked_tables_keep_what_belongs_to_rows():
    """Digits and least p of each row, rows in their order, a column that one table lacks, the best within each part."""
    one = pa.table({"x": [1.0, 2.0], "p": [0.1, 0.2]})
    columns = Column("x", digits=(1, 2), better="higher"), Column("p", form="p", least=0.01)
    first = Table("t", "T", "all; 2 rows", one, columns, rows=[1, 0])
    other = Column("x", digits=3, better="higher"), Column("p", form="p", least=(0.5,)), Column("z")
    second = Table("t", "T", "all; 1 row", pa.table({"x": [3.0], "p": [0.3], "z": [7]}), other)
    both = stacked({"part": ["u", "v"]}, [first, second], "each part")
    assert both.data.to_pydict() == {
        "part": ["u", "u", "v"],
        "x": [1, 2, 3],
        "p": [0.1, 0.2, 0.3],
        "z": [None, None, 7],
    }
    assert (both.rows, both.caption) == ((1, 0, 2), "each part; all")
    part, x, p, z = both.columns
    assert (part.name, x.digits, x.among, p.least, z.name) == ("part", (1, 2, 3), ("part",), (0.01, 0.01, 0.5), "z")


def test_a_stratum_of_one_label_set_is_left_out_with_a_warning():
    """The second label set has the first time alone."""
    collection, systems = world()
    first = next(iter(by_time(collection, collection.qrels).values()))
    own = {"systems": systems, "measures": "micro.MRR", "ties": "realistic"}
    with pytest.warns(KgtrecWarning) as caught:
        found = per_stratum(correlate, "time", collection, first, coefficients="tau", **own)
    assert "time 6, 7: left out: only one label set has it" in [str(warning.message) for warning in caught]
    assert found["correlations"]["time"].to_pylist() == ["5"]
    assert found["correlations"]["value"].to_pylist() == [1.0]
