"""Power of families of systems that were trained several times."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from kgtrec.collection.questions import build_questions
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.meta.power import power
from kgtrec.ranking.rank import rank_scores
from kgtrec.report.show import shown
from tests.meta.item_tables import answer_scores, question_scores

NAMES = ("a.s1", "a.s2", "a.s3", "b-seed1", "b-seed2", "c")


def scores(seed=0, spread=0.1):
    """Six systems on thirty questions: three seeds of a, two of b, one of c."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 0.1, (3, 30)) + np.array([[0.0], [0.02], [0.4]])
    value = rng.normal(0, 0.3, 30) + own[[0, 0, 0, 1, 1, 2]] + rng.normal(0, spread, (6, 1))
    return question_scores(value + rng.normal(0, 0.1, (6, 30)), systems=NAMES)


def test_families_are_tested_by_both_sources_step_by_step():
    """Variances over questions and over seeds, less what questions add to the latter, cell by cell."""
    items = scores()
    found = power({"macro.MRR": items}, families="seeds")
    assert (found.systems, found.seeds, found.tests) == (("a", "b", "c"), (3, 2, 1), ("seeds", "best"))
    one, other = items.value[:3], items.value[3:5]
    d = one.mean(axis=0) - other.mean(axis=0)
    total, below = d.var(ddof=1) / 30, (d.var(ddof=1) / 30) ** 2 / 29
    for own in (one, other):
        n = len(own)
        left = own - own.mean(axis=0) - own.mean(axis=1, keepdims=True) + own.mean()
        noise = (left**2).sum() / (n - 1) / 29 / 30
        between = own.mean(axis=1).var(ddof=1)
        total += max(between - noise, 0) / n
        below += ((between / n) ** 2 + (noise / n) ** 2 / 29) / (n - 1)
    t, freedom = d.mean() / np.sqrt(total), total**2 / below
    half = scipy.stats.t.ppf(0.975, freedom) * np.sqrt(total)
    assert found.statistic[0, 0, 0] == pytest.approx(t)
    assert found.p[0, 0, 0] == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))
    assert (found.low[0, 0, 0], found.high[0, 0, 0]) == pytest.approx((d.mean() - half, d.mean() + half))
    assert found.difference[0, 0] == pytest.approx(d.mean())
    assert found.deviation[0, :2] == pytest.approx([own.mean(axis=1).std(ddof=1) for own in (one, other)])
    assert np.isnan(found.deviation[0, 2])


@pytest.mark.parametrize("worst", [np.nan, np.inf])
def test_systems_without_a_value_have_no_test(worst):
    """None for all pairs of the family, told once; those of the others are as without it."""
    value = scores().value
    others = power({"m": question_scores(value[3:], systems=NAMES[3:])}, families="seeds")
    value[1, 4] = worst
    with pytest.warns(KgtrecWarning, match="of a: their pairs have no p-value"):
        found = power({"m": question_scores(value, systems=NAMES)}, families="seeds")
    assert np.isnan(found.p[0, 0]).tolist() == [True, True, False]
    assert found.p[0, :, 2].tolist() == others.p[0, :, 0].tolist()


@pytest.mark.parametrize("higher", [True, False])
def test_the_best_seeds_have_the_plain_t_test(higher):
    """Of the seed with the best value of each family, by the measure's direction, with its own difference."""
    items = replace(scores(3), higher_is_better=higher)
    found = power({"m": items}, families={"a.s1": "a", "a.s2": "a", "a.s3": "a", "b-seed1": "b", "b-seed2": "b"})
    mean = items.value.mean(axis=1)
    first, second = (max(own, key=lambda row: mean[row] if higher else -mean[row]) for own in ((0, 1, 2), (3, 4)))
    known = scipy.stats.ttest_rel(items.value[first], items.value[second])
    assert (found.statistic[0, 1, 0], found.p[0, 1, 0]) == pytest.approx((known.statistic, known.pvalue))
    row = found.to_table().to_pylist()[1]
    assert row["test"] == "best"
    assert row["difference"] == pytest.approx(mean[first] - mean[second])


def test_answers_of_one_question_are_one_unit():
    """Every answer twice changes nothing."""
    items = replace(answer_scores(systems=4), systems=("a.s1", "a.s2", "b.s1", "b.s2"))
    twice = replace(
        items,
        value=np.repeat(items.value, 2, axis=1),
        question=np.repeat(items.question, 2),
        entity=np.repeat(items.entity, 2),
    )
    one, other = (power({"m": each}, families="seeds") for each in (items, twice))
    np.testing.assert_allclose(one.p, other.p)


def test_the_order_of_systems_does_not_matter():
    """Same values, the families in the order of their first systems."""
    items, order = scores(5), [5, 4, 2, 0, 3, 1]
    turned = replace(items, value=items.value[order], systems=tuple(items.systems[place] for place in order))
    one, other = (power({"m": each}, families="seeds") for each in (items, turned))
    assert other.systems == ("c", "b", "a")
    np.testing.assert_allclose(one.p[..., [2, 1, 0]], other.p)


def test_one_seed_each_is_the_test_without_seeds():
    """The paired t-test, and a warning that seeds are not in it."""
    items = question_scores(scores().value[[0, 3]], systems=("a.s1", "b.s1"))
    with pytest.warns(KgtrecWarning, match="without seeds"):
        found = power({"m": items}, families="seeds")
    known = scipy.stats.ttest_rel(*items.value)
    assert found.p[0, :, 0] == pytest.approx([known.pvalue] * 2)


def test_families_that_share_a_letter_do_not_differ():
    """C is far above a and b, which have one letter; the best is first."""
    found = power({"macro.MRR": scores(spread=0.01)}, families="seeds")
    table = {each.key: each for each in found.tables()}["families"]
    rows = table.data.to_pylist()
    assert [(row["system"], row["seeds"], row["groups"]) for row in rows] == [
        ("c", 1, "a"),
        ("b", 2, "b"),
        ("a", 3, "b"),
    ]
    assert f"{rows[1]['value']:.4f} ± {rows[1]['deviation']:.4f} b" in shown(found, "table", ["families"])
    assert rf"\textsuperscript{{b}} $\pm$ {rows[1]['deviation']:.4f}" in shown(found, "latex", ["families"])


def test_a_single_family_is_refused():
    with pytest.raises(KgtrecError, match="at least two families to distinguish, found 1: a"):
        power({"m": question_scores(scores().value[:3], systems=NAMES[:3])}, families="seeds")


def test_the_interval_of_a_difference_needs_as_many_questions_as_that_of_a_value():
    """Five, or sixty of mean ranks, by any name; p is that of the test, as without families."""
    value = scores().value[:5]
    kinds = {"macro.MRR": True, "macro.MR": False, "macro.AMRI": True, "mine": True, "ranks": False}
    items = {name: question_scores(value, name, NAMES[:5], higher=higher) for name, higher in kinds.items()}
    items["few"] = question_scores(value[:, :4], "few", NAMES[:5])
    with pytest.warns(KgtrecWarning) as warned:
        found = power(items, families="seeds")
    (text,) = {str(each.message) for each in warned}
    assert re.sub(r"[0-9. to]+ effective", "N effective", text) == (
        "no interval for macro.MR (N effective questions, 60 needed; 2 of 2 differences), "
        "macro.AMRI (N effective questions, 60 needed; 2 of 2 differences), "
        "ranks (N effective questions, 60 needed; 2 of 2 differences), "
        "few (N effective questions, 5 needed; 2 of 2 differences)"
    )
    assert np.isnan(found.low).all(axis=(1, 2)).tolist() == [False, True, True, False, True, True]
    assert not np.isnan(found.p).any()


def test_the_interval_of_a_difference_of_answers_needs_what_evaluate_needs():
    """Sixty questions of qrels, five where they are the test triples of a collection."""
    train, test = [("a", "r", "b")], [(f"h{place}", "r", f"t{place}") for place in range(30)]
    collection = build_questions(*(Triples.of(rows) for rows in (train, [], test)))
    rng, shape = np.random.default_rng(0), (len(collection.questions), len(collection.entities))
    own = {"questions": collection, "entities": collection, "depth": 0}
    ranks = {
        f"{name}.s{seed}": rank_scores(collection, rng.random(shape), **own).answer_ranks
        for name in "ab"
        for seed in (1, 2)
    }
    found = power(collection, ranks, "micro.Hits@20", families="seeds")
    assert not np.isnan(found.low).any()
    assert evaluate(collection, ranks, "micro.Hits@20", families="seeds", confidence=0.95).low is not None
    with pytest.warns(KgtrecWarning, match="effective questions, 60 needed; 2 of 2 differences"):
        found = power(collection.qrels, ranks, "micro.Hits@20", families="seeds", collection=collection)
    assert np.isnan(found.low).all()


@pytest.mark.parametrize(("n_families", "is_adjusted"), [(2, False), (3, True)])
def test_a_single_pair_is_not_adjusted(n_families, is_adjusted):
    """The table has no column of it, and its letters no method."""
    own = question_scores(scores().value[: 5 + (n_families > 2)], systems=NAMES[: 5 + (n_families > 2)])
    text = shown(power({"m": own}, families="seeds"), "table", ["families", "pairs"])
    assert ("adjusted" in text, ", Holm)" in text) == (is_adjusted, is_adjusted)


@pytest.mark.slow
def test_the_error_of_a_difference_is_that_of_restricted_likelihood():
    """Questions crossed with families and their seeds, in statsmodels: to the precision of its search."""
    mixed = pytest.importorskip("statsmodels.regression.mixed_linear_model")
    import pandas as pd

    rng = np.random.default_rng(2)
    value = rng.normal(0, 0.3, 12) + np.repeat(rng.normal(0, 0.1, (2, 12)), 4, axis=0)
    value += rng.normal(0, 0.15, (8, 1)) + rng.normal(0, 0.1, (8, 12))
    names = tuple(f"{family}.s{seed}" for family in "ab" for seed in range(4))
    found = power({"m": question_scores(value, systems=names)}, families="seeds")
    row, question = (part.ravel() for part in np.indices(value.shape))
    columns = {"y": value.ravel(), "family": row // 4, "seed": row, "question": question, "all": 1}
    columns["both"] = columns["family"] * 12 + question
    parts = {name: f"0 + C({name})" for name in ("question", "both", "seed")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = mixed.MixedLM.from_formula(
            "y ~ family", groups="all", vc_formula=parts, re_formula="0", data=pd.DataFrame(columns)
        ).fit()
    assert found.difference[0, 0] == pytest.approx(-fit.params["family"])
    assert found.difference[0, 0] / found.statistic[0, 0, 0] == pytest.approx(fit.bse["family"], rel=1e-3)
