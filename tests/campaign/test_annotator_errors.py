"""Annotators who err: estimated from verdicts alone, and nothing is concluded from noise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtrec.campaign import annotator_errors
from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning, unwarned
from kgtrec.kernels.statistics.dawid_skene import dawid_skene
from tests.campaign.test_agreement import said
from tests.examples import examples
from tests.judged_pools import judgements_of, pool_of

ROOT = Path(__file__).parents[2]
#: four triples of each of ten questions; three annotators who agree but for one verdict each, and one who says Y to all
FOUR = {"ann": "YNNN" * 9 + "YYNN", "bob": "YNNN" * 9 + "NNNN", "cat": "YNNN" * 9 + "YNYN", "yes": "YYYY" * 10}


def simulated(seed: int, rates: list[tuple[float, float]], n: int = 200, per_triple: int = 3):
    """Events of n triples, a third of them true, with random annotators of such sensitivities and specificities."""
    rng = np.random.default_rng(seed)
    is_true = rng.random(n) < 1 / 3
    who = np.argsort(rng.random((n, len(rates))), axis=1)[:, :per_triple]
    sensitivity, specificity = np.array(rates).T
    is_yes = rng.random(who.shape) < np.where(is_true[:, None], sensitivity[who], 1 - specificity[who])
    return [
        (row, f"p{person}", "annotator", "Y" if is_yes[row, place] else "N")
        for row in range(n)
        for place, person in enumerate(who[row])
    ]


def rows(result) -> dict[str, dict]:
    return {row["annotator"]: row for row in result["annotators"].to_pylist()}


def test_who_says_yes_to_everything_is_named():
    """Sensitivity 1, specificity 0 and J 0 exactly, whatever the prior; the others are informative."""
    result = annotator_errors(pool_of([4] * 10), judgements_of(said(FOUR)), resamples=100)
    own = rows(result)
    yes = own["yes"]
    assert (yes["sensitivity"], yes["specificity"], yes["youden"]) == pytest.approx((1, 0, 0), abs=1e-12)
    assert {name: row["is_informative"] for name, row in own.items()} == {
        "ann": True,
        "bob": True,
        "cat": True,
        "yes": False,
    }
    caption = result.tables()[0].caption
    assert caption.endswith(
        "; no information is shown in the verdicts of yes: an interval of J or covariance reaches 0"
    )
    assert caption.startswith("40 triples of 10 questions with 160 verdicts Y or N; ")


def test_rates_are_shares_of_verdicts_weighted_by_the_probabilities():
    """By hand from the kernel's probabilities: sum(p y) / sum(p), sum((1 - p)(1 - y)) / sum(1 - p)."""
    result = annotator_errors(pool_of([4] * 10), judgements_of(said(FOUR)), resamples=5)
    says = np.array([[sign == "Y" for sign in row] for row in FOUR.values()])
    annotator, item = np.indices(says.shape).reshape(2, -1)
    p = dawid_skene(item, annotator, says.ravel(), 40, 4).probability
    assert result["triples"]["probability"].to_numpy() == pytest.approx(p, abs=1e-6)
    for (name, row), verdicts in zip(rows(result).items(), says, strict=True):
        sensitivity = (p * verdicts).sum() / p.sum()
        specificity = ((1 - p) * ~verdicts).sum() / (1 - p).sum()
        assert row["sensitivity"] == pytest.approx(sensitivity, abs=1e-6), name
        assert row["specificity"] == pytest.approx(specificity, abs=1e-6), name
        assert row["youden"] == pytest.approx(sensitivity + specificity - 1, abs=1e-6), name
        others = says.sum(axis=0) - verdicts
        assert row["covariance"] == pytest.approx(np.cov(verdicts, others, bias=True)[0, 1], abs=1e-12)
        assert row["triples"] == 40


def test_majority_and_adjudicator_stand_beside_the_probability():
    """Of each triple that somebody judged Y or N; the adjudicator's verdict does not enter the model."""
    table = {"ann": "YYNu.Y", "bob": "YNNuuN", "cat": "YYN..."}
    events = said(table)
    adjudicated = [(5, "dan", "adjudicator", "N"), (1, "dan", "adjudicator", "unsure"), (0, "xia", "expert", "N")]
    with_both = annotator_errors(pool_of([6]), judgements_of([*events, *adjudicated]), resamples=5)
    triples = with_both["triples"].to_pylist()
    assert [row["tail"] for row in triples] == ["e1", "e2", "e3", "e6"]
    assert [(row["yes"], row["no"], row["unsure"]) for row in triples] == [(3, 0, 0), (2, 1, 0), (0, 3, 0), (1, 1, 0)]
    assert [row["majority"] for row in triples] == ["Y", "Y", "N", "tie"]
    assert [row["adjudicated"] for row in triples] == ["", "unsure", "", "N"]
    alone = annotator_errors(pool_of([6]), judgements_of(events), resamples=5)
    assert alone["triples"]["probability"].equals(with_both["triples"]["probability"])
    own = rows(with_both)
    assert [(name, row["triples"], row["unsure"]) for name, row in own.items()] == [
        ("ann", 4, 1),
        ("bob", 4, 2),
        ("cat", 3, 0),
    ]


def test_one_question_has_no_interval_and_shows_nothing():
    """NaN ends, and everybody is named."""
    result = annotator_errors(pool_of([40]), judgements_of(said(FOUR)), resamples=5)
    assert all(np.isnan(row["youden_low"]) and not row["is_informative"] for row in rows(result).values())
    by_triple = annotator_errors(pool_of([40]), judgements_of(said(FOUR)), resamples=100, resample="triple")
    assert rows(by_triple)["ann"]["is_informative"]


@pytest.mark.parametrize(("sign", "lacking"), [("Y", "specificity"), ("N", "sensitivity")])
def test_all_verdicts_equal(sign, lacking):
    """The rate on the other kind of triples has no value, as there are none, and no verdict is informative."""
    table = dict.fromkeys(("ann", "bob", "cat"), sign * 20)
    result = annotator_errors(pool_of([2] * 10), judgements_of(said(table)), resamples=20)
    for row in rows(result).values():
        assert np.isnan(row[lacking])
        assert np.isnan(row["youden"])
        assert not row["is_informative"]


def test_who_judged_no_false_triple_has_no_specificity():
    """And is named, however often right on true ones; who was only unsure has neither rate."""
    table = dict.fromkeys(("ann", "bob", "cat"), "YNNN" * 10) | {"dan": "Y..." * 10, "eve": "uuuu" * 10}
    own = rows(annotator_errors(pool_of([4] * 10), judgements_of(said(table)), resamples=50))
    assert own["dan"]["sensitivity"] > 0.99
    assert np.isnan(own["dan"]["specificity"])
    assert not own["dan"]["is_informative"]
    assert (own["eve"]["triples"], own["eve"]["unsure"], own["eve"]["is_informative"]) == (0, 40, False)
    assert np.isnan(own["eve"]["sensitivity"])


def test_one_verdict_on_each_triple_says_nothing():
    """An error with the way out, also where the second one is unsure."""
    for table in ({"ann": "YN..", "bob": "..NY"}, {"ann": "YN", "bob": "uu"}, {}):
        with pytest.raises(KgtrecError, match=r"at least two annotators judged Y or N, found none.*--per-triple"):
            annotator_errors(pool_of([4]), judgements_of(said(table)))


def test_two_verdicts_on_each_triple_do_not_determine_the_rates():
    """A warning, and indeed: two sets of parameters give every pair of verdicts the same probability."""
    table = {"ann": "YNNN" * 5, "bob": "YNNY" * 5}
    with pytest.warns(KgtrecWarning, match=r"^no triple was judged Y or N by three annotators"):
        annotator_errors(pool_of([4] * 5), judgements_of(said(table)), resamples=5)

    def pairs(share, deviation):
        """The probabilities of both verdicts of two annotators with P(Y) = .4 whose verdicts have covariance .05."""
        apart = np.sqrt(deviation / (share * (1 - share)))  # J of each
        of_true, of_false = 0.4 + (1 - share) * apart, 0.4 - share * apart
        both = np.array([[1 - of_true, of_true], [1 - of_false, of_false]])
        return share * np.outer(both[0], both[0]) + (1 - share) * np.outer(both[1], both[1])

    assert pairs(0.3, 0.05) == pytest.approx(pairs(0.5, 0.05))


@settings(max_examples=examples(3), deadline=None)
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_order_of_events_and_people_changes_nothing(seed, random):
    """The same bytes for the same seed."""
    events = simulated(seed, [(0.9, 0.9), (0.8, 0.9), (0.7, 0.7), (0.5, 0.5)], n=24)
    pool = pool_of([2] * 12)
    one = annotator_errors(pool, judgements_of(events), resamples=10, seed=seed)
    random.shuffle(events)
    other = annotator_errors(pool, judgements_of(events), resamples=10, seed=seed)
    for key in ("annotators", "triples"):
        assert one[key].equals(other[key]) or str(one[key].to_pylist()) == str(other[key].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("per_triple", [2, 3])
def test_annotators_who_guess_are_seldom_called_informative(per_triple):
    """Four people who guess, with rates of their own: at most 6 of 60 in 15 campaigns."""
    rates, named = [(0.3, 0.7), (0.3, 0.7), (0.5, 0.5), (0.7, 0.3)], 0
    for seed in range(15):
        events = simulated(seed, rates, n=120, per_triple=per_triple)
        with unwarned():
            result = annotator_errors(pool_of([1] * 120), judgements_of(events), resamples=40, seed=seed)
        named += sum(row["is_informative"] for row in rows(result).values())
    assert named <= 6


@pytest.mark.slow
def test_intervals_cover_the_rates():
    """95% intervals of 40 campaigns of 400 triples, three verdicts each: at least 88% of all rates."""
    rates, within = [(0.9, 0.95), (0.85, 0.9), (0.8, 0.9), (0.6, 0.6)], 0
    for seed in range(40):
        result = annotator_errors(
            pool_of([1] * 400), judgements_of(simulated(seed, rates, n=400)), resamples=100, seed=seed
        )
        for (sensitivity, specificity), row in zip(rates, rows(result).values(), strict=True):
            within += row["sensitivity_low"] <= sensitivity <= row["sensitivity_high"]
            within += row["specificity_low"] <= specificity <= row["specificity_high"]
    assert within >= 0.88 * 320


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resample": "answer"}, "expected resample to be one of question, triple, found 'answer'"),
        ({"confidence": 95}, "expected a confidence between 0 and 1, found 95"),
        ({"resamples": 0}, "expected at least 1 bootstrap sample, got 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(KgtrecError) as caught:
        annotator_errors(pool_of([4] * 10), judgements_of(said(FOUR)), **options)
    assert str(caught.value) == message


def test_judgements_of_another_pool_are_refused():
    with pytest.raises(CollectionError, match=r"they are of another pool"):
        annotator_errors(pool_of([9]), judgements_of(said(FOUR)))


@pytest.mark.slow
def test_the_docs_hold_what_the_benchmark_prints(data):
    """On real verdicts, to the letter."""
    shown = (ROOT / "docs" / "annotators-who-err.txt").read_text()
    command = [sys.executable, str(ROOT / "benchmarks" / "annotators_who_err.py")]
    environment = os.environ | {"KGTREC_DATA": str(data), "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    assert shown == printed


@pytest.mark.slow
def test_the_benchmark_runs_at_its_smallest():
    """It names the one who always says Y."""
    command = [sys.executable, str(ROOT / "benchmarks" / "annotators_who_err.py"), "--smallest"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout
    assert "verdicts of layman4:" in printed
