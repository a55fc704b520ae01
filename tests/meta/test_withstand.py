"""Labels that are taken away: laws, an independent recount of a cell, and measures that do not keep their promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import kgtrec
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.qrels import Qrels
from kgtrec.errors import KgtrecError
from kgtrec.evaluation.prepared import prepared
from kgtrec.evaluation.scoring import Scoring
from kgtrec.meta.withstand import MEASURES, NUMBERS, POOL_MEASURES, REASONS, Withstanding, _Work, withstand
from kgtrec.ranking.rank import rank_scores
from kgtrec.report import drawing
from tests.examples import examples
from tests.executors import Copying
from tests.openworld.test_labels import world

LONG = "micro.PROBE(alpha=0.5,beta=0.5)"
AT_RANDOM = ("random", "popularity", "correlated")


def judged_world(seed: int, n: int = 4, facts: int = 30) -> tuple[Collection, Qrels, list[AnswerRanks]]:
    """A small closed world: all its true answers and a third of the false candidates are judged."""
    collection, _ = world(seed, facts)
    rng = np.random.default_rng(seed)
    true = collection.qrels
    is_false = rng.random((len(collection.questions), len(collection.entities))) < 0.3
    is_false[true.question, true.entity] = False
    question, entity = (part.astype(np.int32) for part in np.nonzero(is_false))
    grade = np.r_[true.grade, np.zeros(len(question), np.int32)].astype(np.int32)
    rows = np.r_[true.question, question], np.r_[true.entity, entity]
    judged = Qrels.of(*rows, grade, true.questions, true.entities, collection=collection.stamp)
    # half of the systems put true answers first more often
    scores = rng.random((n, len(collection.questions), len(collection.entities)))
    scores[:, true.question, true.entity] += np.linspace(0, 0.6, n)[:, None]
    own = {"questions": collection, "entities": collection, "depth": 0, "judged": judged}
    return (
        collection,
        judged,
        [rank_scores(collection, part, **own, name=f"s{number}").answer_ranks for number, part in enumerate(scores)],
    )


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=examples(8), deadline=None)
def test_with_all_labels_tau_is_1_bias_0_and_no_pair_wrong(seed: int):
    """To the last bit, for all measures; where all systems score alike there is no tau."""
    collection, judged, ranks = judged_world(seed)
    found = withstand(judged, ranks, collection=collection, reasons=AT_RANDOM, densities=[1.0], draws=1, seed=seed)
    rows = found.draws.to_pandas()
    assert rows.achieved.eq(1).all()
    assert set(rows.measure) == {*MEASURES, *POOL_MEASURES}
    assert rows.tau.dropna().round(12).eq(1).all()
    assert rows[["wrong", "bias"]].eq(0).all(axis=None)
    assert rows.favour.dropna().eq(0).all()


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from(REASONS), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
@settings(max_examples=examples(25), deadline=None)
def test_labels_are_as_many_as_asked_for_and_a_part_of_denser_ones(seed: int, reason: str, one: float, other: float):
    """Correlated ones are as many, but no part of each other; a pool has as many if it is deep enough."""
    collection, judged, ranks = judged_world(seed)
    inputs = prepared(judged, ranks, ["AP"], Scoring(collection=collection, seed=seed))
    work = _Work.of(inputs, None, 1_000, 0.2)
    is_true, (low, high) = work.answers > 0, sorted((one, other))
    (sparse, favoured), (dense, _) = (work.kept(reason, density, 1) for density in (low, high))
    for kept, density in ((sparse, low), (dense, high)):
        assert kept[is_true].sum() == max(1, int(density * is_true.sum() + 1e-9))
    assert reason == "correlated" or not (sparse & ~dense).any()
    assert favoured.sum() == {"pooled": 2, "left-out": 3}.get(
        reason, 4 - work.is_family.sum() if reason == "correlated" else 0
    )


@pytest.mark.slow
def test_a_cell_is_what_pandas_and_scipy_find():
    """Tau, significant and wrong pairs, bias, favour of AP in a pool, from kgtrec's own qrels of this pool only."""
    collection, judged, ranks = judged_world(5, 6, 60)
    found = withstand(judged, ranks, "AP", collection=collection, reasons="left-out", densities=[0.4], depth=3, seed=3)
    work = _Work.of(prepared(judged, ranks, ["AP"], Scoring(collection=collection, seed=3)), None, 3, 0.2)
    for draw, row in enumerate(found.draws.to_pylist()):
        kept = work.kept("left-out", 0.4, draw)[0]
        frame = judged.to_frame()[kept[work.triple]]
        frame = frame[frame.groupby("query_id").relevance.transform("max") > 0]
        scores = {}
        for name, qrels in (("sparse", frame), ("full", judged.to_frame())):
            own = kgtrec.evaluate(
                Qrels.from_frame(qrels),
                ranks,
                "AP",
                per="question",
                collection=collection,
                unlisted_answers="candidates",
            )
            scores[name] = own.to_frame().pivot(index="system", columns="question", values="value")
        sparse, full = (scores[name].mean(axis=1) for name in ("sparse", "full"))
        assert row["tau"] == pytest.approx(stats.kendalltau(sparse, full).statistic)
        assert row["bias"] == pytest.approx((sparse - full).mean())
        out = f"s{draw}"
        assert row["favour"] == pytest.approx((sparse - full).drop(out).mean() - (sparse - full)[out])
        pairs = [(a, b) for a in sparse.index for b in sparse.index if a < b]
        p = np.array([stats.ttest_rel(scores["sparse"].loc[a], scores["sparse"].loc[b]).pvalue for a, b in pairs])
        opposite = np.array([(sparse[a] - sparse[b]) * (full[a] - full[b]) < 0 for a, b in pairs])
        assert row["significant"] == pytest.approx((p < 0.05).mean())
        assert row["wrong"] == pytest.approx(((p < 0.05) & opposite).mean())


def test_a_pool_holds_what_its_systems_have_on_top():
    """Left out: what only the system that was not pooled has among its first is unjudged."""
    collection, judged, ranks = judged_world(2)
    work = _Work.of(prepared(judged, ranks, ["AP"], Scoring(collection=collection)), None, 2, 0.2)
    for draw in range(4):
        kept, favoured = work.kept("left-out", 1.0, draw)
        assert np.array_equal(np.flatnonzero(~favoured), [draw])
        assert np.array_equal(kept, (work.place[favoured] <= 2).any(axis=0))


def test_popular_facts_keep_their_labels_and_found_ones_lose_them():
    """Means over draws: kept weights above those of the missing; found ones are more often missing."""
    collection, judged, ranks = judged_world(1, facts=80)
    work = _Work.of(prepared(judged, ranks, ["AP"], Scoring(collection=collection)), None, 10, 0.2)
    work = replace(work, weight=np.where(work.triples.head == 0, 50.0, 1.0))
    is_true = work.answers > 0
    kept = np.mean([work.kept("popularity", 0.4, draw)[0] for draw in range(50)], axis=0)[is_true]
    assert kept[work.weight[is_true] > 1].min() > kept[work.weight[is_true] == 1].max()
    for draw in range(5):
        kept = work.kept("correlated", 0.5, draw)[0][is_true]
        answers, found = work.answers[is_true], work.found[is_true]
        assert found[~kept].sum() / answers[~kept].sum() > found[kept].sum() / answers[kept].sum()


@pytest.mark.slow
def test_the_same_bytes_from_other_processes_and_any_order_of_input():
    """The same bytes from any order of the systems, the same digits from any order of the judgements."""
    collection, judged, ranks = judged_world(4)
    options = {"collection": collection, "densities": [0.5], "draws": 2, "measures": "micro.MRR micro.Hits@1 Bpref RBP"}
    one = withstand(judged, ranks, **options).draws.to_pandas()
    assert one.equals(withstand(judged, ranks, executor=Copying(), **options).draws.to_pandas())
    assert one.equals(withstand(judged, ranks[::-1], **options).draws.to_pandas())
    order = np.random.default_rng(0).permutation(len(judged))
    again = withstand(Qrels.from_frame(judged.to_frame().iloc[order]), ranks, **options)
    pd.testing.assert_frame_equal(one, again.draws.to_pandas(), rtol=1e-12)


def test_of_systems_that_find_as_much_the_family_is_that_of_one_name_in_any_order():
    """A system and its copy of another name."""
    collection, judged, ranks = judged_world(4)
    twins = {"a": ranks[3], "b": ranks[3]}
    for systems in (twins, dict(reversed(twins.items()))):
        work = _Work.of(prepared(judged, systems, ["AP"], Scoring(collection=collection)), None, 3, 0.2)
        assert [system.name for system, own in zip(work.systems, work.is_family, strict=True) if own] == ["b"]


def test_intervals_are_students_over_worlds():
    """Of the means of the worlds' draws; over draws if there is one world; none for a single one."""
    collection, judged, ranks = judged_world(6)
    how = {"measures": "AP", "collection": collection, "reasons": "random", "densities": [0.5]}
    worlds = {name: withstand(judged, ranks, draws=2, seed=seed, **how) for seed, name in enumerate("abc")}
    (row,) = Withstanding.of_worlds(worlds).to_table().to_pylist()
    means = [np.mean(one.draws["bias"].to_pylist()) for one in worlds.values()]
    low, high = stats.t.interval(0.95, 2, np.mean(means), stats.sem(means))
    assert row["units"] == 3
    assert [row["bias"], row["bias_low"], row["bias_high"]] == pytest.approx([np.mean(means), low, high])
    (row,) = worlds["a"].to_table().to_pylist()
    low, high = stats.t.interval(0.95, 1, np.mean(worlds["a"].draws["bias"]), stats.sem(worlds["a"].draws["bias"]))
    assert [row["bias_low"], row["bias_high"]] == pytest.approx([low, high])
    assert row["tau_high"] <= 1
    (row,) = withstand(judged, ranks, draws=1, **how).to_table().to_pylist()
    assert np.isnan(row["tau_low"])


def with_tau(n_systems: int, *values: float) -> Withstanding:
    """Draws of AP with these values of tau, and no pair significant or wrong."""
    rows = [
        {"world": "", "reason": "random", "density": 0.5, "draw": draw, "achieved": 0.5, "measure": "AP"}
        | dict.fromkeys(NUMBERS, 0.0)
        | {"tau": tau}
        for draw, tau in enumerate(values)
    ]
    return Withstanding(tuple(f"s{number}" for number in range(n_systems)), pa.Table.from_pylist(rows))


@pytest.mark.parametrize(("n", "shown"), [(10, np.nan), (11, 0.5)])
def test_that_all_draws_agree_shows_no_more_than_so_many_draws_can(n: int, shown: float):
    """Of four systems, a pair is a third of tau: 1 - .3085 / 3 = .897 after ten draws, 1 - .2849 / 3 = .905 with 11."""
    found = with_tau(4, *[1.0] * n)
    (row,) = found.to_table().to_pylist()
    share = stats.binomtest(0, n).proportion_ci(0.95, "exact").high
    assert row["tau_low"] == pytest.approx(1 - share * 2 / 6)
    assert (row["wrong_low"], row["wrong_high"]) == (0.0, pytest.approx(share / 6))
    assert (row["bias_low"], row["bias_high"]) == (0.0, 0.0)  # a score is no count of pairs
    assert found.holds_table()["holds"].to_pylist() == [pytest.approx(shown, nan_ok=True)]
    assert ("cannot show this; at least 11 are needed" in found.tables()[0].caption) == (n == 10)


@pytest.mark.parametrize("n", [2, 5, 10, 20])
def test_intervals_over_draws_cover_the_mean_whatever_share_of_them_differs(n: int):
    """If those that differ do so in one pair of ten systems: in at least 91% of the repetitions for any such share.

    Exact: over the binomial number of draws that differ. Student's alone covers hardly ever where few do.
    """
    share, count = np.linspace(0.001, 0.999, 199)[:, None], np.arange(n + 1)
    rows = [with_tau(10, *[1 - 2 / 45] * k, *[1.0] * (n - k)).to_table().to_pylist()[0] for k in count]
    low, high = (np.array([row[f"tau_{end}"] for row in rows]) for end in ("low", "high"))
    is_in = (low <= 1 - share * 2 / 45) & (1 - share * 2 / 45 <= high)
    assert np.sum(stats.binom.pmf(count, n, share) * is_in, axis=1).min() > 0.91


def test_a_figure_shows_whole_names_and_all_bars_on_one_scale():
    """Also a measure with parameters; the axes of the panels end alike, beyond all intervals."""
    rows = with_tau(10, 1.0, 0.8, 0.9).draws.to_pylist()
    less = {"AP": 0, LONG: 0.5}
    named = [row | {"measure": name, "tau": row["tau"] - off} for name, off in less.items() for row in rows]
    for figure in Withstanding(tuple("abcdefghij"), pa.Table.from_pylist(named)).figures():
        axes = drawing.draw(figure).axes
        assert [ax.get_title(loc="left") or ax.get_title() for ax in axes] == ["AP", LONG]
        low, high = (figure.data[end].to_numpy() for end in ("low", "high"))
        assert axes[0].get_ylim() == axes[1].get_ylim()
        assert axes[0].get_ylim()[0] <= low.min() < high.max() <= axes[0].get_ylim()[1]


@given(st.integers(2, 12), st.lists(st.sampled_from([1.0, 0.8, 0.4]), min_size=2, max_size=12))
@settings(max_examples=examples(10), deadline=None)
def test_no_interval_vanishes_or_is_narrower_than_students(n_systems: int, values: list[float]):
    """And one more draw that agrees with all makes it narrower."""
    low, high = (with_tau(n_systems, *values).to_table()[f"tau_{end}"][0].as_py() for end in ("low", "high"))
    assert low < np.mean(values) <= high
    if len(set(values)) > 1:
        assert low <= max(-1, stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))[0]) + 1e-12
    else:
        assert low < with_tau(n_systems, *values, values[0]).to_table()["tau_low"][0].as_py()


def test_a_measure_holds_down_to_the_lowest_share_without_a_gap():
    """Where tau's interval is at least .9 at this share and all higher ones."""
    lows = {"a": (0.95, 0.8, 0.95), "b": (0.8, 0.95, 0.95), "c": (0.1, 0.1, 0.1)}
    rows = [
        {"world": world, "reason": "random", "density": density, "draw": 0, "achieved": density, "measure": name}
        | dict.fromkeys(NUMBERS, low)
        for world in "xy"
        for name, several in lows.items()
        for density, low in zip((0.25, 0.5, 0.75), several, strict=True)
    ]
    holds = Withstanding(tuple("abcdefghij"), pa.Table.from_pylist(rows)).holds_table()
    assert dict(zip(holds["measure"].to_pylist(), holds["holds"].to_pylist(), strict=True)) == {
        "a": 0.75,
        "b": 0.5,
        "c": pytest.approx(np.nan, nan_ok=True),
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reasons": "rare"}, "expected reasons among random"),
        ({"densities": [0.0]}, "expected a density between 0 and 1"),
        ({"densities": []}, "expected at least one reason and one density, found none"),
        ({"reasons": []}, "expected at least one reason and one density, found none"),
        ({"correlation": 2}, "expected a correlation from -1 to 1"),
        ({"correlated_with": ["s9"]}, "expected correlated_with among the systems"),
        ({"collection": None}, "give the collection"),
    ],
)
def test_what_cannot_be_taken_away_is_refused(options, words):
    """With what was expected."""
    collection, judged, ranks = judged_world(0)
    with pytest.raises(KgtrecError, match=words):
        withstand(judged, ranks, "AP", **{"collection": collection, **options})


def test_one_system_has_no_order():
    """Two are needed."""
    collection, judged, ranks = judged_world(0)
    with pytest.raises(KgtrecError, match="at least two systems"):
        withstand(judged, ranks[:1], "AP", collection=collection)


# measures that do not keep the promise of their authors where a question has one answer, as most have


def scores_of(
    lists: dict[str, list[str]], qrels: dict[str, dict[str, int]], *measures: str
) -> dict[str, dict[str, float]]:
    """By measure and system; a list is text, one letter per candidate, of each question."""
    runs = {
        name: {
            f"q{number}": {entity: -float(place) for place, entity in enumerate(own)}
            for number, own in enumerate(texts)
        }
        for name, texts in lists.items()
    }
    frame = kgtrec.evaluate(qrels, runs, list(measures)).to_frame()
    return {name: own.set_index("system").value.to_dict() for name, own in frame.groupby("measure")}


def test_bpref_turns_the_order_round_where_judgements_are_missing_at_random():
    """Buckley, Voorhees (2004): the order stays. A is better, and with three of four false verdicts missing B is.

    A has the answer t first in two of four questions, and behind four false candidates in the others; B always has it
    behind one. With one answer Bpref is 1 if no judged candidate is above it, else 0.
    """
    lists = {"A": ["tvwxy", "tvwxy", "vwxyt", "vwxyt"], "B": ["vtwxy", "wtvxy", "xtvwy", "ytvwx"]}
    full = {f"q{number}": {"t": 1, "v": 0, "w": 0, "x": 0, "y": 0} for number in range(4)}
    sparse = {question: {"t": 1, "y": 0} for question in full}  # a quarter of the false ones
    every, some = (scores_of(lists, labels, "Bpref", "AP") for labels in (full, sparse))
    assert every["Bpref"] == {"A": 0.5, "B": 0.0}
    assert some["Bpref"] == {"A": 0.5, "B": 0.75}
    assert every["AP"] == some["AP"] == {"A": pytest.approx(0.6), "B": 0.5}


def test_bpref_and_condensed_lists_favour_a_system_that_was_not_pooled():
    """Pool of A's first two: what B has above the answer is unjudged, and a condensed list skips it."""
    lists = {"A": ["xtyz"], "B": ["yztx"]}
    full, pool_of_a = {"q0": {"t": 1, "x": 0, "y": 0, "z": 0}}, {"q0": {"t": 1, "x": 0}}
    names = "AP(judged_only=True)", "nDCG(judged_only=True)@20", "Bpref"
    every, some = (scores_of(lists, labels, "AP", *names) for labels in (full, pool_of_a))
    assert every["AP"] == some["AP"] == {"A": 0.5, "B": pytest.approx(1 / 3)}
    for name in names:
        assert every[name]["A"] >= every[name]["B"]
        assert some[name]["A"] < some[name]["B"] == 1.0


def test_infap_is_no_estimate_of_ap_where_a_question_has_one_answer():
    """Yilmaz, Aslam (2006): in expectation AP, but at least one more relevant candidate has to be among those above.

    The candidate above the answer was not sampled, and is taken for relevant with a probability of a half: .75, not .5.
    """
    lists = {"A": ["tx", "tx", "xt"], "B": ["xt", "xt", "xt"]}
    full = {f"q{number}": {"t": 1, "x": 0} for number in range(3)}
    sparse = {question: {"t": 1, "x": -1} for question in full}
    every, some = (scores_of(lists, labels, "infAP", "AP") for labels in (full, sparse))
    assert every["infAP"] == pytest.approx(every["AP"], abs=1e-4)
    assert some["AP"] == every["AP"] == {"A": pytest.approx(5 / 6), "B": 0.5}
    assert some["infAP"] == {"A": pytest.approx(11 / 12), "B": pytest.approx(0.75)}
