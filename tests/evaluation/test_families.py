"""Scores of families of systems that were trained several times."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats

from kgtrec.errors import CollectionError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.evaluation.families import families_of, seeds_of
from kgtrec.meta.power import power
from kgtrec.report.show import shown

N = 40
QRELS = {f"q{place}": {"a": 1} for place in range(N)}


def run(seed, n=N, most=10):
    """One answer at some place of a list of ten, at most ``most``, for each question."""
    rng = np.random.default_rng(seed)
    return {
        f"q{q}": {"a" if place == rank else f"x{place}": -float(place) for place in range(1, 11)}
        for q, rank in enumerate(rng.integers(1, most + 1, n))
    }


def runs():
    return {
        **{f"a.s{seed}": run(seed, most=3 * seed) for seed in (1, 2, 3)},
        "b.s1": run(4),
        "b.s2": run(5),
        "c": run(6),
    }


def test_a_family_has_mean_and_deviation_over_its_seeds():
    """And the interval of Student's t over them, on the scale of the logit; c has neither."""
    alone = evaluate(QRELS, runs(), ["RR", "P@5"])
    found = evaluate(QRELS, runs(), ["RR", "P@5"], families="seeds", confidence=0.9)
    assert (found.systems, found.seeds) == (("a", "b", "c"), (3, 2, 1))
    of_seeds = alone.values[:3, 0, 0]
    assert found["a", "RR"] == pytest.approx(of_seeds.mean())
    assert found.over_seeds["deviation"][0, 0, 0] == pytest.approx(of_seeds.std(ddof=1))
    mean, known = of_seeds.mean(), scipy.stats.ttest_1samp(of_seeds, 0).confidence_interval(0.9)
    half = (known.high - mean) / mean / (1 - mean)
    ends = [found.over_seeds[f"seeds_{end}"][0, 0, 0] for end in ("low", "high")]
    assert ends == pytest.approx(scipy.special.expit(scipy.special.logit(mean) + np.array([-half, half])))
    assert np.isnan([found.over_seeds["deviation"][2], found.over_seeds["seeds_low"][2], found.low[2]]).all()


def test_equal_seeds_have_the_intervals_of_one():
    """Over test sets, and over seeds too, since those add nothing."""
    same = {f"a.s{seed}": run(1) for seed in range(4)}
    alone = evaluate(QRELS, {"a": run(1)}, "RR", confidence=0.95)
    found = evaluate(QRELS, same, "RR", confidence=0.95, families="seeds")
    for low, high in ((found.over_seeds["test_low"], found.over_seeds["test_high"]), (found.low, found.high)):
        np.testing.assert_allclose([low, high], [alone.low, alone.high])
    assert found.over_seeds["deviation"].item() == 0


def test_one_seed_has_the_interval_of_the_system():
    """Over test sets; over seeds it is unknown."""
    alone = evaluate(QRELS, runs(), "RR", confidence=0.95)
    found = evaluate(QRELS, runs(), "RR", confidence=0.95, families="seeds")
    assert (found.over_seeds["test_low"][2], found.over_seeds["test_high"][2]) == (alone.low[5], alone.high[5])
    assert "c           1            " in shown(found, "table").splitlines()[3]


def test_the_interval_over_both_contains_that_over_test_sets():
    """Of both families that have seeds."""
    found = evaluate(QRELS, runs(), ["RR", "P@2"], confidence=0.95, families="seeds")
    assert (found.low[:2] <= found.over_seeds["test_low"][:2]).all()
    assert (found.high[:2] >= found.over_seeds["test_high"][:2]).all()


def test_the_interval_over_both_step_by_step():
    """Variances of the mean over questions and over seeds, Satterthwaite's freedom, and ends on the logit's scale."""
    value = evaluate(QRELS, runs(), "RR", per="question").values[:3, 0]
    found = evaluate(QRELS, runs(), "RR", confidence=0.95, families="seeds")
    mean, left = value.mean(), value - value.mean(axis=0) - value.mean(axis=1, keepdims=True) + value.mean()
    unit = (value.mean(axis=0) - mean) / N
    question, freedom = N / (N - 1) * (unit**2).sum(), (unit**2).sum() ** 2 / (unit**4).sum() - 1
    between, noise = value.mean(axis=1).var(ddof=1), (left**2).sum() / 2 / (N - 1) / N
    assert between > noise
    total = question + (between - noise) / 3
    below = question**2 / freedom + ((between / 3) ** 2 + (noise / 3) ** 2 / freedom) / 2
    reach = scipy.stats.t.ppf(0.975, total**2 / below) * np.sqrt(total) / mean / (1 - mean)
    ends = scipy.special.expit(scipy.special.logit(mean) + np.array([-reach, reach]))
    assert (found.low.flat[0], found.high.flat[0]) == pytest.approx(ends)


def test_values_are_shown_with_their_deviations():
    """In text, LaTeX and Markdown; sorting takes them along; CSV has all columns."""
    found = evaluate(QRELS, runs(), "RR", families="seeds").sorted_by("RR")
    best = found.systems[0]
    value, sd = found[best, "RR"], found.over_seeds["deviation"][0, 0, 0]
    assert f"{value:.4f} ± {sd:.4f}" in shown(found, "table")
    assert rf"{value:.4f} $\pm$ {sd:.4f}" in found.to_latex()
    assert "% mean ± standard deviation over seeds\n" in found.to_latex()
    assert f"{value:.4f} ± {sd:.4f}" in found.to_markdown()
    assert list(found.to_frame()) == ["system", "measure", "seeds", "value", "deviation"]


def test_families_are_broken_down_too():
    """Each question has its mean and deviation."""
    alone = evaluate(QRELS, runs(), "RR", per="question")
    found = evaluate(QRELS, runs(), "RR", per="question", families={"b.s1": "b", "b.s2": "b"})
    assert found.systems == ("a.s1", "a.s2", "a.s3", "b", "c")
    np.testing.assert_allclose(found.values[3], alone.values[3:5].mean(axis=0))
    np.testing.assert_allclose(found.over_seeds["deviation"][3], alone.values[3:5].std(axis=0, ddof=1))


def test_seeds_need_the_same_questions():
    """One error, which names the family."""
    several = runs() | {"a.s2": run(2, N - 1)}
    with (
        pytest.warns(KgtrecWarning, match="lacks 1"),
        pytest.raises(CollectionError, match=r"RR: expected the same questions for all seeds of a, found 40 and 39"),
    ):
        evaluate(QRELS, several, "RR", families="seeds", missing="skip")


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("transe.s1", "transe"),
        ("transe-seed12", "transe"),
        ("rotate_S_03", "rotate"),
        ("a.b-seed.7", "a.b"),
        ("transe2", None),
        ("s1", None),
        ("bert-base", None),
        ("rules1", None),
    ],
)
def test_names_that_end_in_a_seed(name, family):
    assert seeds_of([name]).get(name) == family


def test_a_system_without_a_family_is_one_of_its_own():
    places = families_of(["x", "a.s2", "y", "a.s1"], "seeds")
    assert {name: own.tolist() for name, own in places.items()} == {"x": [0], "a": [3, 1], "y": [2]}


@pytest.mark.parametrize(
    ("names", "families", "match"),
    [
        ("x", {"z": "a"}, "expected families of these systems, found 'z'"),
        ("x", {1: "a"}, "expected families of these systems, found 1"),
        ("x", {"x": 1.0}, "expected a text as the family of 'x', found 1.0"),
        ("x", ["x"], "expected 'seeds' or a mapping from system to family, found"),
        ("a.s1 a a.s2", "seeds", r"another name for the family 'a', found a system .* too \(--family a=a\)"),
        ("x y", {"x": "y"}, "another name for the family 'y'"),
    ],
)
def test_wrong_families_are_refused(names, families, match):
    with pytest.raises(KgtrecError, match=match):
        families_of(names.split(), families)


@pytest.mark.parametrize("families", [{"b": "x"}, "sedes"])
@pytest.mark.parametrize("verb", [evaluate, power])
def test_families_are_checked_before_anything_is_scored(verb, families):
    """The system is none, which is not reached."""
    with pytest.raises(KgtrecError, match=r"'b'|'sedes'"):
        verb(QRELS, {"a": object()}, "RR", families=families)


def test_a_mean_of_geometric_means_has_no_interval_over_test_sets():
    """It is another number than the geometric mean of all; that of a single seed has its own."""
    several = {f"a.s{most}": run(most, most=most) for most in (1, 10)} | {"b": run(4)}
    with pytest.warns(KgtrecWarning, match=r"no interval for gm_map \(means over seeds are no means over questions\)"):
        found = evaluate(QRELS, several, "gm_map", families="seeds", confidence=0.95)
    alone = evaluate(QRELS, {"b": run(4)}, "gm_map", confidence=0.95)
    assert found["a", "gm_map"] == np.mean(
        [evaluate(QRELS, several, "gm_map").value(f"a.s{n}", "gm_map") for n in (1, 10)]
    )
    assert np.isnan(found.over_seeds["test_low"][:, 0, 0]).tolist() == [True, False]
    assert (found.over_seeds["test_low"][1], found.over_seeds["test_high"][1]) == (alone.low, alone.high)


def test_intervals_over_two_seeds_are_within_the_bounds():
    """Of 1 and .5, where Student's t reaches from -.8 to 2.3 on the scale of the values."""
    several = {"a.s1": run(0, most=1), "a.s2": {q: {"x": 1.0, "a": 0.0} for q in QRELS}}
    found = evaluate(QRELS, several, "RR", families="seeds", confidence=0.9).over_seeds
    assert 0 < found["seeds_low"].item() < 0.5
    assert 0.9 < found["seeds_high"].item() < 1


def test_no_digit_depends_on_the_order_of_systems_or_questions():
    one = evaluate(QRELS, runs(), ["RR", "P@5"], families="seeds", confidence=0.95).to_frame()
    turned = {name: dict(reversed(own.items())) for name, own in reversed(runs().items())}
    qrels = dict(reversed(QRELS.items()))
    other = evaluate(qrels, turned, ["RR", "P@5"], families="seeds", confidence=0.95).to_frame()
    by = ["system", "measure"]
    assert one.sort_values(by).to_csv(index=False) == other.sort_values(by).to_csv(index=False)
