from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgtrec.campaign.diagnostics import diagnose
from kgtrec.campaign.qrels import question_level
from kgtrec.cli.campaign.diagnostics import TABLES
from kgtrec.data.judgements import AGREED, Decisions
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions
from kgtrec.data.run import Run
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.report.show import shown
from tests.examples import examples

N_QUESTIONS, N_ENTITIES, DEPTH = 3, 8, 3
NAMES = ("w", "x", "y", "z")
FAMILIES = {"w": "alike", "y": "alike", "z": ""}


@st.composite
def judged_pools(draw: st.DrawFn):
    """Four runs over three tail questions, the pool of their first three, verdicts, and known answers."""
    entities = Vocabulary.of([f"e{i}" for i in range(N_ENTITIES)])
    rows = np.arange(N_QUESTIONS, dtype=np.int32)
    zeros = np.zeros(N_QUESTIONS, np.int32)
    ids = Vocabulary.of([f"tail{i}" for i in rows])
    questions = Questions(ids, zeros > 0, zeros, rows, entities, Vocabulary.of(["r"]))
    seed_of = [draw(st.integers(0, N_ENTITIES - 1)) for _ in rows]
    known_answers = Qrels.of(rows, np.array(seed_of, np.int32), zeros + 1, ids, entities)
    runs, put_in = [], {}
    for number, name in enumerate(NAMES):
        lists = [draw(st.permutations(range(N_ENTITIES))) for _ in rows]
        question = np.repeat(rows, N_ENTITIES)
        entity = np.concatenate(lists).astype(np.int32)
        score = np.tile(np.arange(N_ENTITIES, 0, -1.0), N_QUESTIONS)
        runs.append(Run.of(name, question, entity, score, ids, entities))
        for row, ranked in enumerate(lists):
            others = [candidate for candidate in ranked if candidate != seed_of[row]]
            for rank, candidate in enumerate(others[:DEPTH], start=1):
                put_in.setdefault((row, candidate), []).append((number, rank))
    pairs = sorted(put_in)
    head, tail = (np.array([pair[i] for pair in pairs], np.int32) for i in range(2))
    triples = Triples(head, np.zeros(len(pairs), np.int32), tail, entities, questions.relations)
    rows_of = [(place, pair[0], run, rank) for place, pair in enumerate(pairs) for run, rank in put_in[pair]]
    columns = np.array(rows_of, np.int32).T
    pool = Pool.of(triples, *columns, NAMES, questions)
    verdict = np.array([draw(st.sampled_from([-1, 0, 0, 1])) for _ in pairs], np.int8)
    return pool, Decisions(np.full(len(pairs), AGREED, np.int8), verdict), known_answers, runs


@settings(max_examples=examples(30))
@given(judged_pools())
def test_leaving_out_is_evaluating_without_what_only_they_brought_in(world):
    """Scores are those of evaluate on qrels of the pool of the others; tau is scipy's."""
    pool, decisions, known_answers, runs = world
    measures = ["nDCG@3", "AP@3", "macro.MR"]
    found = diagnose(pool, decisions, known_answers, runs, measures, FAMILIES, judged_at=4)
    qrels = question_level(pool, known_answers, decisions)
    whole = evaluate(qrels, runs, [*measures, "Judged@4"]).values[:, :, 0]
    systems = found["systems"].to_pydict()
    np.testing.assert_allclose(systems["value"], whole[:, :-1].ravel(), rtol=1e-12)
    np.testing.assert_allclose(systems["judged"], np.repeat(whole[:, -1], len(measures)), rtol=1e-12)
    left = found["left_out"].to_pydict()
    groups = [("run", name, (name,)) for name in NAMES] + [("family", "alike", ("w", "y"))]
    size = len(runs) * len(measures)
    for group, (kind, name, members) in enumerate(groups):
        rows = slice(group * size, (group + 1) * size)
        assert {(left["kind"][rows.start], left["name"][rows.start])} == {(kind, name)}
        assert left["is_left_out"][rows] == [run in members for run in NAMES for _ in measures]
        rest = pool.without(members)
        kept = np.isin(pool.triples.keys(), rest.triples.keys())
        others = Decisions(decisions.state, np.where(kept, decisions.verdict, -1).astype(np.int8))
        expected = evaluate(question_level(pool, known_answers, others), runs, measures).values[:, :, 0]
        np.testing.assert_allclose(left["after"][rows], expected.ravel(), rtol=1e-12)
        assert left["before"][rows] == systems["value"]
        assert set(left["triples"][rows]) == {len(pool) - len(rest)}
        assert set(left["positives"][rows]) == {np.count_nonzero(~kept & (decisions.verdict == 1))}
        for column in range(len(measures)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tau = stats.kendalltau(whole[:, column], expected[:, column]).statistic
            np.testing.assert_allclose(left["tau_b"][rows][column], tau, atol=1e-12)


@given(judged_pools())
def test_contributions_are_counted_in_triples(world):
    """Counts, overlap and tables by going through the contributions."""
    pool, decisions, known_answers, _ = world
    found = diagnose(pool, decisions, known_answers, families=FAMILIES)
    put_in = [set(pool.triple[pool.run == run].tolist()) for run in range(len(NAMES))]
    positive = set(np.flatnonzero(decisions.verdict == 1).tolist())
    by_run, overlap = found["runs"].to_pydict(), found["overlap"]["jaccard"].to_numpy().reshape(4, 4)
    for run, own in enumerate(put_in):
        others = set().union(*(put_in[other] for other in range(len(NAMES)) if other != run))
        assert by_run["contributed"][run] == len(own)
        assert by_run["unique"][run] == len(own - others)
        assert by_run["positive"][run] == len(own & positive)
        assert by_run["unique_positive"][run] == len((own - others) & positive)
        for other, theirs in enumerate(put_in):
            assert overlap[run, other] == len(own & theirs) / len(own | theirs)
    assert sum(found["depths"]["pooled"].to_pylist()) == len(pool)
    assert sum(found["depths"]["positive"].to_pylist()) == len(positive)
    assert sum(found["questions"]["pooled"].to_pylist()) == len(pool)
    rate = found["questions"]["positive_rate"].to_numpy()
    for question in range(N_QUESTIONS):
        verdicts = decisions.verdict[(pool.triples.head == question) & (decisions.verdict >= 0)]
        np.testing.assert_equal(rate[question], verdicts.mean() if len(verdicts) else np.nan)
    assert by_run["family"] == ["alike", "", "alike", ""]
    assert found["systems"].num_rows == found["left_out"].num_rows == 0


@settings(max_examples=examples(15))
@given(judged_pools())
def test_every_table_has_its_rows(world):
    """Text, CSV and JSON come out of the same tables."""
    pool, decisions, known_answers, runs = world
    found = diagnose(pool, decisions, known_answers, runs, ["AP@3"], FAMILIES)
    tables = {table.key: table.data for table in found.tables()}
    assert tuple(tables) == TABLES
    assert [table.num_rows for table in tables.values()] == [4, 16, pool.depth.max(), 3, 4, 5 * 4]
    for name, table in tables.items():
        assert shown(found, "csv", [name]).count("\n") == table.num_rows + 1
    assert "NaN" not in shown(found, "json")
    text = shown(found, "table")
    assert all(f"{name} " in text for name in NAMES)
    assert "AP@3" in text
    assert "AP@3" not in shown(diagnose(pool, decisions, known_answers), "table")


def small():
    """Two runs: one alone brings in a, judged Y, the other alone b, judged N, both c, judged Y."""
    entities = Vocabulary.of(["h", "seed", "a", "b", "c"])
    zero = np.zeros(1, np.int32)
    questions = Questions(Vocabulary.of(["tail0"]), zero > 0, zero, zero, entities, Vocabulary.of(["r"]))
    tail = np.array([2, 3, 4], np.int32)
    triples = Triples(tail * 0, tail * 0, tail, entities, questions.relations)
    zeros = np.zeros(4, np.int32)
    pool = Pool.of(
        triples,
        np.array([0, 2, 1, 2], np.int32),
        zeros,
        np.array([0, 0, 1, 1], np.int32),
        np.array([1, 2, 2, 1], np.int32),
        ["one", "two"],
        questions,
    )
    known_answers = Qrels.of(zero, zero + 1, zero + 1, questions.ids, entities)

    def run(name, order):
        entity = entities.encode(order)
        return Run.of(name, entity * 0, entity, np.arange(len(order), 0, -1.0), questions.ids, entities)

    runs = [run("one", ["a", "c", "seed"]), run("two", ["c", "b", "seed"])]
    return pool, Decisions(np.full(3, AGREED, np.int8), np.array([1, 0, 1], np.int8)), known_answers, runs


def test_what_is_left_out_by_hand():
    """Without a, one's P@1 goes from 1 to 0 and it falls behind two; without b nothing changes."""
    pool, decisions, known_answers, runs = small()
    found = diagnose(pool, decisions, known_answers, runs, ["P@1", "P@2"])
    systems, left = found["systems"].to_pydict(), found["left_out"].to_pydict()
    assert (systems["value"], systems["rank"]) == ([1, 1, 1, 0.5], [1, 1, 1, 2])
    assert (left["triples"], left["positives"]) == ([1] * 8, [1] * 4 + [0] * 4)
    assert left["after"] == [0, 0.5, 1, 0.5, *systems["value"]]
    assert left["rank_after"][:4] == [2, 1, 1, 1]
    assert np.isnan(left["tau_b"][:4]).all()  # P@1 ties before, P@2 after
    assert left["tau_b"][5] == left["tau_ap"][5] == 1


def test_ranks_follow_the_direction_of_the_measure():
    """The lowest mean rank is the best."""
    pool, decisions, known_answers, runs = small()
    runs[1] = replace(runs[1], entity=runs[1].entity[[1, 0, 2]])  # b before c
    found = diagnose(pool, decisions, known_answers, runs, ["macro.MR"])
    assert found["systems"].select(["value", "rank"]).to_pydict() == {"value": [1, 2], "rank": [1, 2]}


def test_what_does_not_fit_is_refused():
    """A family of a run that is not pooled, two systems of one name, no k."""
    pool, decisions, known_answers, runs = small()
    with pytest.raises(KgtrecError, match=r"families of the pool's runs, found 'tow'; did you mean two\?"):
        diagnose(pool, decisions, known_answers, families={"tow": "x"})
    with pytest.raises(KgtrecError, match=r"different names, found 'one' twice"):
        diagnose(pool, decisions, known_answers, [runs[0], runs[0]])
    with pytest.raises(KgtrecError, match=r"expected k of 1 or more for judged@k, found 0"):
        diagnose(pool, decisions, known_answers, judged_at=0)
